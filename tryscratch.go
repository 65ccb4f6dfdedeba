package main

// Scratch directories hold what is written in a copy. Who makes one locks it; what a killed process left behind is
// not locked, and the next one sweeps it.

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// scratchParent returns the directory that holds the scratch directories of this user, "" if it can't be made or
// others can write to it. It is on disk, as a build writes more than memory should hold. A copy does not see it, so
// that none reads what is written in another.
func scratchParent() string {
	path := filepath.Join(resolved("/var/tmp"), ".ccc-try-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(path, 0o700)
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		return ""
	}
	return path
}

// newScratch makes a scratch directory, locked until this process ends. The path is "" where none can be.
func newScratch() (path string, lock *os.File) {
	for range 3 { // the parent may go with another's last directory, and what nobody has locked yet be swept
		if parent := scratchParent(); parent != "" {
			path, _ = os.MkdirTemp(parent, "")
		}
		if lock = lockScratch(path); lock != nil {
			return path, lock
		}
	}
	return "", nil
}

// removeScratch removes what newScratch made, and the parent with the last.
func removeScratch(path string, lock *os.File) {
	removeTree(path)
	lock.Close()
	_ = os.Remove(filepath.Dir(path))
}

// lockScratch locks the scratch directory at path. It returns nil for one that belongs to another process.
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

// sweepScratch removes the scratch directories of processes that were killed.
func sweepScratch() {
	parent := scratchParent()
	entries, _ := os.ReadDir(parent) // none where parent is ""
	for _, entry := range entries {
		if lock := lockScratch(filepath.Join(parent, entry.Name())); lock != nil {
			removeScratch(lock.Name(), lock)
		}
	}
}

// removeTree removes dir. Overlays and commands leave directories in it that nobody may enter.
func removeTree(dir string) {
	if os.RemoveAll(dir) != nil {
		makeEnterable(dir)
		_ = os.RemoveAll(dir)
	}
}
