package main

// Locks, atomic replacement and appending. Every file that ccc changes is replaced whole, by replaceFile, while a
// lock from lockFile is held. Only a log that has grown, a corrupt state and a copy's scratch files are moved otherwise.

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockPatience bounds the wait for a lock. The holder needs a millisecond or two, so 64 hooks at once are through
// long before; whoever waits longer meets a stopped process, and an error is better than a hook that hangs.
const lockPatience = 5 * time.Second

// lockFile takes the exclusive lock on path, creating the empty lock file, and returns the function that gives it
// back. The kernel gives it back too when the process ends, however it ends. path is never a file that is replaced:
// a lock on a file that is renamed over protects nothing. Whoever holds the lock may remove the file; a lock on a
// file that is gone is taken anew.
func lockFile(path string) (unlock func(), err error) {
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(2 * time.Millisecond) {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isFileAt(path, file) {
			return func() { file.Close() }, nil
		}
		file.Close()
		if err == nil {
			err = syscall.ESTALE // it was removed meanwhile
		}
		busy := errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ESTALE)
		if !busy || time.Now().After(deadline) {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
}

// isFileAt tells whether path still leads to file.
func isFileAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	named, namedErr := os.Stat(path)
	return err == nil && namedErr == nil && os.SameFile(opened, named)
}

// sameFile tells whether both paths lead to the same file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// replaceFile puts data in the place of the file at path, atomically: a reader, or whoever comes after a crash,
// finds the old bytes or the new ones, whole. An existing file keeps its mode and owner, a symbolic link stays and
// its target is replaced; a new file is 0600. durable also waits for the disk, which costs milliseconds: right for
// the user's files, needless for a counter.
//
// The caller holds the lock that guards path, so the temporary name is fixed and what a killed process left under
// it is removed here; where there may be nothing to write, by sweepTemporary.
func replaceFile(path string, data []byte, durable bool) error {
	target := followLinks(path)
	temporary := temporaryFor(target)
	os.Remove(temporary)
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if old, statErr := os.Stat(target); err == nil && statErr == nil {
		if owner, ok := old.Sys().(*syscall.Stat_t); ok {
			// Root may give a file back to its owner; for others it is theirs already.
			_ = file.Chown(int(owner.Uid), int(owner.Gid))
		}
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil && durable {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

const temporarySuffix = ".ccc-tmp"

func temporaryFor(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+temporarySuffix)
}

// sweepTemporary removes what a process that was killed in replaceFile left beside the files. The caller holds the
// lock that guards them.
func sweepTemporary(paths ...string) {
	for _, path := range paths {
		os.Remove(temporaryFor(followLinks(path)))
	}
}

// followLinks returns the file that path leads to; the last link may point at a file that does not exist yet. A relative
// link counts from the directory that it stands in, wherever the path to that leads.
func followLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := resolved(filepath.Dir(path))
	if next, err := os.Readlink(path); err == nil {
		return absoluteIn(dir, next)
	}
	return filepath.Join(dir, filepath.Base(path))
}

func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// resolved is path without symbolic links, or path itself where it does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// inside tells whether path is dir or below it; both are clean and absolute.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// readUserFile returns nil for a file that is not there. A named pipe would hold a launch or a hook up for ever.
func readUserFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// removeFile removes the file at path if there is one.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openAppend opens the file at path for appending lines, and makes it where there is none. A last line that a full
// disk or a crash left torn is ended, so that it does not take the next one with it. One that another process is just
// writing looks the same, for the kernel shows a write page by page: a torn one is no longer 50 ms later.
func openAppend(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if size := tornAt(file); size > 0 {
		time.Sleep(50 * time.Millisecond)
		if tornAt(file) == size {
			_, _ = file.Write([]byte{'\n'})
		}
	}
	return file, nil
}

// tornAt returns the size of a file that ends within a line, else 0.
func tornAt(file *os.File) int64 {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return 0
	}
	last := []byte{'\n'}
	if _, _ = file.ReadAt(last, info.Size()-1); last[0] == '\n' {
		return 0
	}
	return info.Size()
}

// appendFile adds data to the file at path in a single write, which the kernel does not tear when several processes
// append at once.
func appendFile(path string, data []byte) error {
	file, err := openAppend(path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// checksum is for noticing an edit, not an attack: package crypto would cost every start of ccc 0.1 ms.
func checksum(text []byte) string {
	hash := fnv.New128a()
	hash.Write(text)
	return fmt.Sprintf("%x", hash.Sum(nil))
}
