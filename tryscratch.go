package main

// Scratch directories hold what is written in a copy. Who makes one locks it; what a killed process left behind is
// not locked, and the next one sweeps it.

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const scratchPrefix = ".ccc-try." // MkdirTemp adds digits

// scratchBases are where scratch directories may be. /var/tmp comes first: it is on disk, and a build writes more
// than memory should hold.
func scratchBases() []string { return []string{"/var/tmp", os.TempDir(), "/tmp"} }

// newScratch makes a scratch directory, locked until this process ends. Where none can be, the copy is written to
// memory: path is "". An overlay, the file system of containers, can't carry the upper layer of another one.
func newScratch() (path string, lock *os.File) {
	const overlayMagic = 0x794c7630
	for _, base := range scratchBases() {
		base = resolved(base)
		var system syscall.Statfs_t
		for try := 0; try < 3 && syscall.Statfs(base, &system) == nil && system.Type != overlayMagic; try++ {
			path, err := os.MkdirTemp(base, scratchPrefix)
			if err != nil {
				break
			}
			if lock = lockScratch(path); lock != nil { // nil: swept, as nobody had locked it
				return path, lock
			}
		}
	}
	return "", nil
}

// lockScratch locks the scratch directory at path. It returns nil for one that belongs to another process or to
// another user.
func lockScratch(path string) *os.File {
	file, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() ||
		syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !isFileAt(path, file) {
		file.Close()
		return nil
	}
	return file
}

// sweepScratch removes the scratch directories of processes that were killed.
func sweepScratch() {
	for _, base := range scratchBases() {
		dir, err := os.Open(base)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		for _, name := range names {
			number, ok := strings.CutPrefix(name, scratchPrefix)
			if !ok || strings.Trim(number, digits) != "" {
				continue
			}
			if lock := lockScratch(filepath.Join(base, name)); lock != nil {
				removeTree(lock.Name())
				lock.Close()
			}
		}
	}
}

// removeTree removes dir. Overlays and commands leave directories in it that nobody may enter.
func removeTree(dir string) {
	if dir != "" && os.RemoveAll(dir) != nil {
		makeEnterable(dir)
		_ = os.RemoveAll(dir)
	}
}
