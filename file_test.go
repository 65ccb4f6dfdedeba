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
