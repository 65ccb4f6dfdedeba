package main

// Scratch directories on disk, for copies: one that nobody has locked is swept.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// scratchRoot is where scratchParent makes its directory: on disk, for a copy may be large.
var scratchRoot = "/var/tmp"

// scratchParent returns the directory on disk that holds the scratch directories of this user, or "" if it
// can't be made or others can write to it. A copy does not see it.
func scratchParent() string {
	path := filepath.Join(resolved(scratchRoot), ".ccc-try-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(path, 0o700)
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 ||
		int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		return ""
	}
	return path
}

// newScratch makes a scratch directory and locks it until lock is closed. Where it can't, path is "" and lock
// nil.
func newScratch() (path string, lock *os.File) {
	// Another process may sweep what is not locked yet, and remove the parent with its last directory.
	for range 100 { // each takes some 20 µs
		if parent := scratchParent(); parent != "" {
			path, _ = os.MkdirTemp(parent, "")
		}
		if lock = lockScratch(path); lock != nil {
			return path, lock
		}
	}
	return "", nil
}

// lockScratch locks the scratch directory at path, nil if it is gone or another process has locked it.
func lockScratch(path string) *os.File {
	file, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !isFileAt(path, file) {
		file.Close()
		return nil
	}
	return file
}

// sweepScratch removes the scratch directories that nobody has locked, and the parent with the last of them.
func sweepScratch() {
	parent := scratchParent()
	entries, _ := os.ReadDir(parent) // none where parent is ""
	for _, entry := range entries {
		if lock := lockScratch(filepath.Join(parent, entry.Name())); lock != nil {
			removeTree(lock.Name())
			lock.Close()
		}
	}
	_ = os.Remove(parent)
}

// removeTree removes dir, also where its permissions let nobody enter a directory.
func removeTree(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
