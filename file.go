package main

// Files and lines: locks, atomic replacement, appending, and reading lines of what grows. A file that ccc
// changes is replaced whole, by replaceFile, while a lock from lockFile is held; logs and timelines only
// grow, a line at a time.

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lockPatience bounds the wait for a lock. The holder needs a millisecond or two, so 64 hooks at once are
// through long before; whoever waits longer meets a stopped process, and an error is better than a hook that
// hangs.
const lockPatience = 5 * time.Second

// lockFile takes the exclusive lock on path, creating the empty lock file, and returns the function that
// gives it back; so does the end of the process. path is never a file that is replaced: a lock on a file that
// is renamed over protects nothing. Whoever holds the lock may remove the file; a lock on a file that is gone
// is taken anew.
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

func isFileAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	named, namedErr := os.Stat(path)
	return err == nil && namedErr == nil && os.SameFile(opened, named)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// replaceFile puts data in the place of the file at path, atomically: a reader, or whoever comes after a crash, finds
// the old bytes or the new ones. An existing file keeps its mode and owner, and a symbolic link stays; a new file is
// 0600. durable also waits for the disk, which costs milliseconds: right for the user's files, needless for a counter.
//
// The caller holds the lock that guards path, so the temporary name is fixed, and what a killed process left
// under it goes.
func replaceFile(path string, data []byte, durable bool) error {
	target := followLinks(path)
	temporary := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+temporarySuffix)
	os.Remove(temporary)
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if old, statErr := os.Stat(target); err == nil && statErr == nil {
		owner := old.Sys().(*syscall.Stat_t)
		// Root may give a file back to its owner; for others it is theirs already.
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
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

// followLinks returns the file that path leads to; the last link may point at a file that does not exist yet.
// A relative link counts from the directory that it stands in, wherever the path to that leads.
func followLinks(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	dir := resolved(filepath.Dir(path))
	if next, isLink := os.Readlink(path); isLink == nil && errors.Is(err, fs.ErrNotExist) {
		return followLinks(absoluteIn(dir, next))
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

// inside reports whether path is dir or below it; both are clean and absolute.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// userFileLimit is in bytes. Claude Code's record of the user, the largest of these files, can have tens of
// MiB.
const userFileLimit = 256 << 20

// readUserFile returns nil for a file that is not there. A named pipe would hold a launch or a hook up for
// ever; a file with a hole larger than the memory would end it, with Go's code 2, which Claude Code takes for
// "block".
func readUserFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case err == nil && info.Size() > userFileLimit:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, userFileLimit>>20)
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

// openAppend opens the file at path for appending lines, and makes it where there is none. A last line that a
// full disk or a crash left torn is ended, so that it does not take the next one with it. One that another
// process is just writing looks the same, for the kernel shows a write page by page: a torn one is no longer
// 50 ms later.
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

// appendFile adds data to the file at path in a single write, which the kernel does not tear when several
// processes append at once.
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

// A tail keeps the last limit bytes of what is written to it.
type tail struct {
	limit int
	mu    sync.Mutex
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	defer exitOnPanic()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-t.limit):]...)
	t.text = t.text[max(0, len(t.text)-t.limit):]
	return len(p), nil
}

// end returns them.
func (t *tail) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "\uFFFD")
}

func (t *tail) line() string { return oneLine(string(t.text)) }

// A lineWriter splits what is written to it into lines.
type lineWriter struct {
	line    func(line []byte) // gets each line with its newline, and must not keep the slice
	dropped func(why error)   // if set, told of each line that is over lineLimit
	part    []byte            // the beginning of a line that is not complete yet
	skip    bool              // drop what comes up to the next newline
}

// inputLimit is in bytes, of what Claude Code writes to stdin: an event holds one message or one prompt.
const inputLimit = 64 << 20

// lineLimit is in bytes. A tool result with images can have tens of MiB; a longer line is dropped.
const lineLimit = 32 << 20

// Write never fails.
func (w *lineWriter) Write(p []byte) (int, error) {
	defer exitOnPanic()
	for piece := range bytes.Lines(p) {
		ends := piece[len(piece)-1] == '\n'
		switch {
		case w.skip:
			w.skip = !ends
		case len(w.part)+len(piece) > lineLimit:
			w.part, w.skip = nil, !ends
			if w.dropped != nil {
				w.dropped(fmt.Errorf("over %d MiB", lineLimit>>20))
			}
		case ends && len(w.part) == 0:
			w.line(piece)
		default:
			if size := len(w.part) + len(piece); size > cap(w.part) && size > 1<<20 {
				w.part = slices.Grow(w.part, lineLimit-len(w.part)) // growing in steps would hold a long line twice
			}
			w.part = append(w.part, piece...)
			if ends {
				whole := w.part
				w.part = w.part[:0]
				w.line(whole)
			}
		}
	}
	return len(p), nil
}

// close passes on a last line that has no newline, with one added.
func (w *lineWriter) close() {
	if len(w.part) > 0 {
		_, _ = w.Write([]byte("\n"))
	}
}

// A lineReader passes on the lines of the file at path, and each time read is called again those that have
// come since, even if there was no file at first. Between two reads it holds no file open.
type lineReader struct {
	path  string
	lines lineWriter
	file  os.FileInfo // as it was when it was read; nil: it has not been
	at    int64       // how far it was read
}

// read passes on what is there by now; a line without its newline has to wait. A file that has become
// shorter, or stands in the place of another, is read from its beginning.
func (r *lineReader) read() error {
	info, err := os.Stat(r.path)
	if err == nil && r.file != nil && os.SameFile(info, r.file) && info.Size() == r.at {
		return nil
	}
	file, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err = file.Stat()
	switch {
	case err != nil:
		return err
	case r.file != nil && (!os.SameFile(info, r.file) || info.Size() < r.at):
		r.lines.part, r.lines.skip, r.at = nil, false, 0
	}
	r.file = info
	n, err := io.Copy(&r.lines, io.NewSectionReader(file, r.at, math.MaxInt64-r.at))
	r.at += n
	return err
}

// readLines passes on every line of the file at path, if there is one; a last one without newline gets one.
func readLines(path string, line func([]byte)) error {
	r := lineReader{path: path, lines: lineWriter{line: line}}
	err := r.read()
	r.lines.close()
	return err
}
