package main

// Files and lines. A file that ccc changes is replaced whole, by replaceFile, under a lock from lockFile.
// Logs and timelines only grow, a line at a time.

import (
	"bytes"
	"cmp"
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

// lockPatience bounds the wait for a lock. Even 64 hooks at once are done long before, at a millisecond or
// two each. To wait for a stopped process would hang the hook: it gets an error.
const lockPatience = 5 * time.Second

// lockFile takes the exclusive lock on path, creating that file. unlock, or the end of the process, releases
// it. path is never replaced, which would unlock it. Its holder may remove it; those who wait lock a new one.
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
		busy := []error{syscall.EWOULDBLOCK, syscall.EINTR, syscall.ESTALE}
		if !slices.Contains(busy, err) || time.Now().After(deadline) {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
}

func isFileAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	named, namedErr := os.Stat(path)
	return err == nil && namedErr == nil && os.SameFile(opened, named)
}

// sameFile reports whether both paths lead to the same file; false if one leads nowhere.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// replaceFile replaces the file at path atomically: a reader finds the old bytes or the new, after a crash
// too. Mode, owner and a symbolic link stay; a new file has mode 0600. It does not wait for the disk.
//
// The caller holds the lock that guards path, so what a killed process left under the temporary name goes.
func replaceFile(path string, data []byte) error {
	return replace(path, data, func(*os.File) error { return nil })
}

// replaceDurably is replaceFile for a file of the user's: it waits for the disk, which takes milliseconds.
func replaceDurably(path string, data []byte) error { return replace(path, data, (*os.File).Sync) }

// replace is replaceFile, with what is done with the new file before it takes the place of the old one.
func replace(path string, data []byte, finish func(*os.File) error) error {
	target := followLinks(path)
	temporary := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".ccc-tmp")
	os.Remove(temporary)
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if old, statErr := os.Stat(target); err == nil && statErr == nil {
		owner := old.Sys().(*syscall.Stat_t)
		// Only root can do this, and others need not: the file is theirs.
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = finish(file)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// unreplaceable returns why replaceFile can't replace the file at path, nil if it can or will create it.
func unreplaceable(path string) error {
	target := followLinks(path)
	dir := filepath.Dir(target)
	if link, _ := os.Readlink(path); link == "" { // nothing creates what a link lacks
		dir = nearestThere(dir)
	}
	err := syscall.Access(target, mayWrite)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = cmp.Or(err, syscall.Access(dir, mayWrite))
	if mounts, _ := mountPoints(); slices.Contains(mounts, target) {
		err = cmp.Or(err, error(syscall.EBUSY))
	}
	if err != nil {
		err = &fs.PathError{Op: "replacing", Path: path, Err: err}
	}
	return err
}

const mayEnter, mayWrite, mayRead = 1, 2, 4 // for access(2)

// mountPoints returns where something is mounted, what holds another first. Only Linux tells that.
func mountPoints() (paths []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			paths = append(paths, unescape.Replace(fields[4]))
		}
	}
	slices.Sort(paths)
	return paths, err
}

// makeOwn makes ccc's directory at path, and those above it, and mends one that an odd umask has closed.
func makeOwn(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o700 != 0o700 {
		_ = os.Chmod(path, info.Mode().Perm()|0o700) // another owner's stays, and can't be written to
	}
	return nil
}

// followLinks returns the file that path leads to. The last link may point to a file that does not exist yet.
// A relative link starts from the directory in which it really lies.
func followLinks(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target
	}
	dir := resolved(filepath.Dir(path))
	if next, isLink := os.Readlink(path); isLink == nil && errors.Is(err, fs.ErrNotExist) {
		return followLinks(absoluteIn(dir, next))
	}
	return filepath.Join(dir, filepath.Base(path))
}

// absoluteIn returns path, taken from dir if it is relative.
func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// resolved returns path without symbolic links, or path itself if it does not exist.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// nearestThere returns path or the nearest directory above it that exists, with links resolved.
func nearestThere(path string) string {
	for {
		if there, err := filepath.EvalSymlinks(path); err == nil {
			return there
		} else if path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// missing returns what there is not of path and of the directories above it.
func missing(path string) (paths []string) {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			break
		}
		paths = append(paths, path)
	}
	return paths
}

// inside reports whether path is dir or below it; both are clean and absolute.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// readUserFile reads a file of the user's, nil if it is missing. A pipe, which could hang it, is refused.
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

// openAppend opens the file at path, or a new one, for appending lines. It ends a line that a full disk or a
// crash has torn. If another process is just writing that line, readers pass over the empty one.
func openAppend(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	last := []byte{'\n'}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		_, _ = file.ReadAt(last, info.Size()-1)
	}
	if last[0] != '\n' {
		_, _ = file.Write([]byte{'\n'})
	}
	return file, nil
}

// appendFile adds data to the file at path in one write, which the kernel keeps whole beside others.
func appendFile(path string, data []byte) error {
	file, err := openAppend(path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// checksum serves to notice an edit, not an attack. Package crypto would cost every start of ccc 0.1 ms.
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

// end returns these bytes as valid UTF-8.
func (t *tail) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "\uFFFD")
}

// line returns them on one line.
func (t *tail) line() string { return oneLine(t.end()) }

// A lineWriter splits what is written to it into lines.
type lineWriter struct {
	line    func(line []byte) // gets each line with its newline, and must not keep the slice
	dropped func(why error)   // called for each line over lineLimit, if set
	part    []byte            // the beginning of an incomplete line
	skip    bool              // the rest of the present line is dropped
}

// lineLimit bounds a line, in bytes: a longer one is dropped. A tool result with images can have tens of MiB.
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
			w.part = nil
			w.skip = !ends
			if w.dropped != nil {
				w.dropped(fmt.Errorf("over %d MiB", lineLimit>>20))
			}
		case ends && len(w.part) == 0:
			w.line(piece)
		default:
			if size := len(w.part) + len(piece); size > cap(w.part) && size > 1<<20 {
				// Growing in steps would keep a long line in memory twice.
				w.part = slices.Grow(w.part, lineLimit-len(w.part))
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

// close passes on a last line without newline, with one added.
func (w *lineWriter) close() {
	if len(w.part) > 0 {
		_, _ = w.Write([]byte("\n"))
	}
}

// A lineReader follows a file that grows and may not exist yet. Each call of read passes on the lines that
// have been added since the last. Between two reads no file is open.
type lineReader struct {
	path  string
	lines lineWriter
	at    int64 // how many bytes were read
}

// read passes on what is new since the last read, in whole lines. A shorter or replaced file is not noticed.
func (r *lineReader) read() error {
	file, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := io.Copy(&r.lines, io.NewSectionReader(file, r.at, math.MaxInt64-r.at))
	r.at += n
	return err
}

// lastBytes returns the last bytes of the file at path, at most so many; none if it can't be read.
func lastBytes(path string, most int64) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	size, _ := file.Seek(0, io.SeekEnd)
	text := make([]byte, min(size, most))
	n, _ := file.ReadAt(text, size-int64(len(text)))
	return text[:n]
}
