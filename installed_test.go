package main

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// keepFile does what a launch does to a file that the user may edit.
func keepFile(d dirs, path, text string) error {
	return withInstallation(d, func(in *installation) error { return keptFile{path, words{text, text}}.keep(d, in) })
}

// A file that ccc made follows a newer ccc until the user touches it.
func TestInstalledKeep(t *testing.T) {
	d := dirs{claude: t.TempDir()}
	path := filepath.Join(t.TempDir(), "sub", "SUPERVISOR.md")
	expect := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	keep := func(text string) {
		t.Helper()
		if err := keepFile(d, path, text); err != nil {
			t.Error(err)
		}
	}
	keep("one")
	expect("one")
	keep("two")
	expect("two")
	os.WriteFile(path, []byte("mine"), 0o600)
	keep("three")
	expect("mine")
	os.WriteFile(path, nil, 0o600)
	keep("four")
	expect("")
	os.WriteFile(path, []byte("five"), 0o600)
	keep("five") // the user's own, by chance the same
	keep("six")
	expect("six")
	os.Remove(path)
	keep("seven")
	expect("seven")
}

// What a killed launch left beside any of its files, the next sweeps up.
func TestInstalledSwept(t *testing.T) {
	box := newFakeBox(t)
	d := dirs{claude: filepath.Join(box.home, ".claude"), ccc: filepath.Join(box.home, ".claude")}
	var left []string
	for _, path := range []string{d.settingsFile(), d.installedFile(), d.promptFile(), d.commandFile()} {
		name, _ := filepath.Rel(box.home, temporaryFor(path))
		left = append(left, name)
	}
	for _, written := range []bool{true, false} { // and where the launch has nothing to write
		for _, name := range left {
			box.write(name, 0o600, "half a fi")
		}
		box.launch()
		for _, name := range left {
			if box.read(name) != "" {
				t.Errorf("the first launch: %v, %s is left", written, name)
			}
		}
	}
}

// A file of another user's stays theirs when root changes it.
func TestReplacedOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65533); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("new"), true); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if owner := info.Sys().(*syscall.Stat_t); err != nil || owner.Uid != 65534 || owner.Gid != 65533 || info.Mode().Perm() != 0o640 {
		t.Errorf("%v: owner %d, group %d, mode %v", err, owner.Uid, owner.Gid, info.Mode())
	}
}

// A lock whose file its holder removes is still held by one at a time.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, most atomic.Int32
	var group sync.WaitGroup
	for range 32 { // many that wait: one of them has just opened the file that goes
		group.Add(1)
		go func() {
			defer group.Done()
			for range 20 {
				unlock, err := lockFile(path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(200 * time.Microsecond)
				holders.Add(-1)
				os.Remove(path)
				unlock()
			}
		}()
	}
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held it at once", most.Load())
	}
}
