package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountState puts a small file system of its own under the state directory.
func (box *sandbox) mountState(options string) string {
	box.t.Helper()
	if os.Getuid() != 0 {
		box.t.Skip("only root can mount")
	}
	dir := filepath.Join(box.home, ".claude/ccc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		box.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		box.t.Skip("mounting a tmpfs:", err)
	}
	box.t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFaultDiskFull(t *testing.T) {
	box := newHookBox(t)
	dir := box.mountState("size=64k")
	file, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, zeros{})
	file.Close()
	if err == nil {
		t.Fatal("the disk does not get full")
	}
	got := box.stop("")
	if got.code != 0 || got.stdout != blockNotYet || !strings.Contains(got.stderr, "no space left") {
		t.Errorf("got %+v", got)
	}
	box.expectBounded(1)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFaultReadOnlyDirectory(t *testing.T) {
	box := newHookBox(t)
	dir := box.mountState("size=1m")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	got := box.stop("")
	if got.code != 0 || got.stdout != blockNotYet || !strings.Contains(got.stderr, "read-only file system") {
		t.Errorf("got %+v", got)
	}
	box.expectBounded(1)
}

// A state that belongs to another user can't be read: as nobody, so that the
// mode of the file counts.
func TestFaultOthersFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	box := newHookBox(t)
	box.write(statePath, 0o600, `{"session_id":"`+testSession+`","count":3}`)
	const nobody = 65534
	root := filepath.Dir(box.home)
	self, err := os.ReadFile(filepath.Join(root, "bin/ccc"))
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(root, "bin/ccc"))
	os.Remove(filepath.Join(root, "bin/claude"))
	fake, _ := os.ReadFile("testdata/claude")
	for name, program := range map[string][]byte{"bin/ccc": self, "bin/claude": fake} {
		if err := os.WriteFile(filepath.Join(root, name), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if filepath.Base(path) != filepath.Base(statePath) {
			os.Chown(path, nobody, nobody)
		}
		return nil
	})
	cmd := box.command("ccc", "supervisor-hook")
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(box.event("Stop", "")), &stdout, &stderr
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	if err := cmd.Run(); err != nil || stdout.String() != blockNotYet || !strings.Contains(stderr.String(), "permission denied") {
		t.Errorf("%v, %q, %s", err, stdout.String(), stderr.String())
	}
}
