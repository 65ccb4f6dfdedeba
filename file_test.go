package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A file of another user's stays theirs when root changes it.
func TestReplacedOwner(t *testing.T) {
	onlyRoot(t)
	path := filepath.Join(t.TempDir(), "x")
	check(t, os.WriteFile(path, []byte("old"), 0o640))
	check(t, os.Chown(path, 65534, 65533))
	check(t, replaceDurably(path, []byte("new")))
	info, err := os.Stat(path)
	check(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	expectIs(t, "owner and mode", fmt.Sprint(owner.Uid, owner.Gid, info.Mode()), "65534 65533 -rw-r-----")
}

// A lock whose file its holder removes is still held by one at a time.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, most atomic.Int32
	var group sync.WaitGroup
	for range 64 { // many that wait: one of them has just opened the file that goes
		group.Add(1)
		go func() {
			defer group.Done()
			for range 5 {
				begun := time.Now()
				unlock, err := lockFile(path)
				if err != nil {
					if time.Since(begun) < lockPatience { // under load it may not be enough for so many
						t.Error(err)
					}
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
	expectIs(t, "the holders at once", most.Load(), 1)
}

// What goes wrong with a file is an error that names it, and leaves nothing behind; nothing is swallowed.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.MkdirAll(at("full/x"), 0o700))
	check(t, os.WriteFile(at("file"), nil, 0o600))
	ignore := func([]byte) {}
	for name, err := range map[string]error{
		"replaced":              replaceFile(at("full"), []byte("new")),
		"appended to a missing": appendFile(at("none/x"), []byte("new")),
		"appended to":           appendFile(at("full"), []byte("new")),
		"read as lines":         readLines(at("full"), ignore),
		"removed":               removeFile(at("full")),
		"read as the user's":    func() error { _, err := readUserFile(at("full")); return err }(),
		"read below a file":     func() error { _, err := readUserFile(at("file/x")); return err }(),
		"locked in a missing":   func() error { _, err := lockFile(at("none/x")); return err }(),
	} {
		expectError(t, name, err, dir)
	}
	left, _ := os.ReadDir(dir)
	expectIs(t, "what is left", len(left), 2)
	check(t, removeFile(at("gone")))
	check(t, readLines(at("gone"), ignore))
	for name, isThere := range map[string]bool{"gone": false, "file": true} {
		text, err := readUserFile(at(name))
		check(t, err)
		expectIs(t, name+" of the user's", text != nil, isThere)
	}
	if _, err := os.Stat("/dev/full"); err == nil { // a disk that is full, for one process
		expectError(t, "appended to a full disk", appendFile("/dev/full", []byte("x")), "no space left")
	}
}

// A file that can't be written whole stays as it was: nothing takes its place.
func TestReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	check(t, os.WriteFile(path, []byte("old"), 0o600))
	var before syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	const limit = 16 << 20 // for all that this process writes: go test has it log which files it opens
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: before.Max}))
	err := replaceFile(path, make([]byte, limit+1))
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	text, _ := os.ReadFile(path)
	left, _ := os.ReadDir(filepath.Dir(path))
	if !errors.Is(err, syscall.EFBIG) || string(text) != "old" || len(left) != 1 {
		t.Errorf("%v: the file holds %q, beside it %v", err, text, left)
	}
}

// A torn line of any length gets its newline before the next one; a whole one, and an empty file, get none.
func TestAppendTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for before, want := range map[string]string{"": "next\n", "x": "x\nnext\n", "a\nb": "a\nb\nnext\n",
		"\n": "\nnext\n", "whole\n": "whole\nnext\n"} {
		check(t, os.WriteFile(path, []byte(before), 0o600))
		check(t, appendFile(path, []byte("next\n")))
		text, _ := os.ReadFile(path)
		expectIs(t, before, string(text), want)
	}
}

// A line of the limit is passed on, in one piece or in several; a longer one is dropped whole and told, and
// the next one read.
func TestLinesLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("it takes seconds there, and nothing in it runs beside anything")
	}
	beside(t)
	for size, isWhole := range map[int]bool{32 << 20: true, 32<<20 + 1: false} {
		var lengths []int
		var dropped []string
		w := &lineWriter{
			line:    func(line []byte) { lengths = append(lengths, len(line)) },
			dropped: func(why error) { dropped = append(dropped, why.Error()) },
		}
		text := append(bytes.Repeat([]byte("x"), size-1), '\n')
		for piece := range slices.Chunk(text, size/3+1) {
			w.Write(piece)
		}
		w.Write([]byte("next\n"))
		want, why := []int{size, 5}, []string(nil)
		if !isWhole {
			want, why = []int{5}, []string{"over 32 MiB"}
		}
		expectEqual(t, fmt.Sprint("the lines, one of ", size), lengths, want)
		expectEqual(t, "what is told", dropped, why)
	}
	w := &lineWriter{line: func([]byte) {}} // to which nobody listens
	w.Write(bytes.Repeat([]byte("x"), 33<<20))
}

// Where a path leads, and whether two are one.
func TestPaths(t *testing.T) {
	for line, want := range map[string]bool{"/a /a": true, "/a/b /a": true, "/ab /a": false, "/ /a": false,
		"/a /": true, "/ /": true, "/a /a/b": false} {
		path, dir, _ := strings.Cut(line, " ")
		expectIs(t, path+" in "+dir, inside(path, dir), want)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		check(t, os.WriteFile(at(name), nil, 0o600))
	}
	check(t, os.Symlink("a", at("link")))
	for pair, want := range map[string]bool{"a a": true, "a link": true, "a b": false, "a none": false,
		"none a": false, "none none": false} {
		one, other, _ := strings.Cut(pair, " ")
		expectIs(t, pair, sameFile(at(one), at(other)), want)
	}
	expectIs(t, "an absolute path", absoluteIn("/d", "/a"), "/a")
	expectIs(t, "a relative path", absoluteIn("/d", "a"), "/d/a")
	expectIs(t, "a checksum, as records have it", checksum([]byte("ccc")), "a68d6bd91e8b5822836dbc797bc65040")
}
