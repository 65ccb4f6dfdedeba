package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
	check(t, replaceFile(path, []byte("new"), true))
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
	for range 64 { // many that wait: one of them has just opened the file that goes
		group.Add(1)
		go func() {
			defer group.Done()
			for range 5 {
				unlock, err := lockFile(path)
				if errors.Is(err, syscall.EWOULDBLOCK) { // beside other load 5 s may not be enough for so many
					return
				} else if err != nil {
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
	expectIs(t, "the holders at once", most.Load(), 1)
}

// The reader goes on where it stopped.
func TestLinesReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	var got strings.Builder
	reader := &lineReader{path: path, lines: lineWriter{line: func(line []byte) { got.Write(line) }}}
	read := func(add, want string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		check(t, err)
		io.WriteString(file, add)
		file.Close()
		if err := reader.read(); err != nil || got.String() != want {
			t.Errorf("got %q, %v, want %q", got.String(), err, want)
		}
	}
	if err := reader.read(); err != nil || got.String() != "" {
		t.Errorf("without a file: %q, %v", got.String(), err)
	}
	read("one\ntwo\n", "one\ntwo\n")
	read("", "one\ntwo\n")
	read("fo", "one\ntwo\n")
	read("ur\nfi", "one\ntwo\nfour\n")
	if reader.lines.close(); got.String() != "one\ntwo\nfour\nfi\n" {
		t.Errorf("%q after close", got.String())
	}
}
