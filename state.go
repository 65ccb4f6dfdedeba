package main

// The state directory: which files are in it, the log, and what is removed after a time.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sessionFiles are the files in the state directory of one session of Claude Code's.
type sessionFiles struct {
	dir stateDir
	id  string // see validSession
}

func (d stateDir) session(id string) sessionFiles { return sessionFiles{dir: d, id: id} }

func (d stateDir) file(name string) string { return filepath.Join(string(d), name) }
func (d stateDir) logFile() string         { return d.file("hook-invocation.log") }
func (d stateDir) lockFile() string        { return d.file("state.lock") }

// trialDir is the directory in which hooks are tried, and trialFile the path of what belongs to a trial.
func (d stateDir) trialDir() string             { return d.file("trial") }
func (d stateDir) trialFile(name string) string { return d.file("trial-" + name) }

func (s sessionFiles) file(suffix string) string { return s.dir.file("supervisor-" + s.id + suffix) }
func (s sessionFiles) stateFile() string         { return s.file(".json") }
func (s sessionFiles) outputFile() string        { return s.file("-output.jsonl") }
func (s sessionFiles) byHandFile() string        { return s.file("-review.jsonl") }
func (s sessionFiles) feedbackFile() string      { return s.file("-feedback.txt") }
func (s sessionFiles) timelineFile() string      { return s.file("-events.jsonl") }

// runningFile is the path of the file whose lock a review holds while it runs.
func (s sessionFiles) runningFile(review string) string {
	return s.dir.file("running-" + s.id + "-" + review)
}

// files returns all paths that a session can have: also that of a corrupt state put aside, and the temporary
// file of a process that was killed while it wrote the state.
func (s sessionFiles) files() []string {
	return []string{s.outputFile(), s.outputFile() + ".1", s.byHandFile(), s.byHandFile() + ".1",
		s.timelineFile(), s.feedbackFile(), s.stateFile(), s.stateFile() + ".bad", temporaryOf(s.stateFile())}
}

// A place is where a session is at work: a working tree, or outside git a directory, with ccc's files of it.
type place struct {
	tree
	project string // where the session was started
	cwd     string // where its agent is
	root    string // where a reviewer runs: the project, or another working tree of its repository with cwd
	dir     stateDir
	env     []string // of its git
	key     string   // the names of its files have it
}

// place returns the place of a session of the project whose agent is in cwd. A linked worktree that was made
// anew is another.
func (d stateDir) place(project, cwd string, env []string) place {
	p := place{project: project, cwd: cwd, root: workingTree(project, cwd), dir: d, env: env}
	p.tree = treeOf(p.root)
	name := p.Top
	if info, err := os.Lstat(filepath.Join(p.Top, ".git")); err == nil && !info.IsDir() {
		name += info.ModTime().UTC().String()
	}
	p.key = checksum([]byte(name))
	return p
}

func (p place) file(suffix string) string { return p.dir.file("tree-" + p.key + suffix) }
func (p place) objects() string           { return p.file(objectsSuffix) }

const objectsSuffix = ".objects"

// outputLimit, in bytes, is from where on a reviewers' output file is put aside.
const outputLimit = 20 << 20

// openOutput opens the reviewers' output file at path for appending. A file over outputLimit is put aside
// first, as path.1, in the place of an older one.
func openOutput(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > outputLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return openAppend(path)
}

// otherFiles are the patterns of the files that belong to no session. The first three are of ccc 1.1 and 1.2,
// and stay until purge removes them.
var otherFiles = []string{"client*.json", "background-*-settings.json", "supervisor-*-prompt",
	"hook-invocation.log*", "state.lock", "trial", "trial-*", "launch-*", "running-*", "tree-*", ".tree-*"}

// ownerOf returns the session that the file belongs to, "" for a file of no session. It reports whether the
// file is ccc's.
func ownerOf(name string) (session string, isOurs bool) {
	for _, pattern := range (sessionFiles{id: "*"}).files() {
		before, behind, _ := strings.Cut(pattern, "*")
		id, begins := strings.CutPrefix(name, before)
		id, ends := strings.CutSuffix(id, behind)
		if begins && ends && validSession(id) {
			return id, true
		}
	}
	for _, pattern := range otherFiles {
		if isMatch, _ := filepath.Match(pattern, name); isMatch {
			return "", true
		}
	}
	return "", false
}

// validSession reports whether id may become part of a file name and an argument:
// [A-Za-z0-9][A-Za-z0-9._-]{0,127}. A regexp would double the time of an unsupervised hook.
func validSession(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id[:1], letters+digits) == "" &&
		strings.Trim(id, letters+digits+"._-") == ""
}

func (d stateDir) create() error { return os.MkdirAll(string(d), 0o700) }

// sessions returns the ids of the sessions that have a file here, sorted.
func (d stateDir) sessions() (ids []string, err error) {
	owned, _, err := d.owned()
	delete(owned, "")
	return slices.Sorted(maps.Keys(owned)), err
}

// log adds a line to hook-invocation.log; pairs are keys and values by turns. Prompts and values of variables
// do not belong there, and secrets in an error are redacted.
func (d stateDir) log(what string, pairs ...any) error {
	var line strings.Builder
	line.WriteString(now().Format("2006-01-02T15:04:05.000Z07:00 ") + what)
	isOdd := func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }
	for pair := range slices.Chunk(pairs, 2) {
		value := redact(fmt.Sprint(pair[1]))
		if value == "" || strings.ContainsFunc(value, isOdd) {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&line, " %s=%s", pair[0], value)
	}
	line.WriteByte('\n')
	return appendFile(d.logFile(), []byte(line.String()))
}

// now returns the time as ccc writes it: UTC, to the millisecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

const (
	// retention is how long files stay that nothing is written to.
	retention = 30 * 24 * time.Hour
	// sweepInterval is the least time between two sweeps.
	sweepInterval = 24 * time.Hour
	// logLimit, in bytes, keeps hook-invocation.log readable; one older file stays beside it.
	logLimit = 5 << 20
	// objectsLimit, in bytes, is how much of a working tree is kept; where there is more, it goes.
	objectsLimit = 500 << 20
)

// sweep removes the files of a session together, once nothing was written to any of them for longer than
// retention, each file of a trial, a launch and a review by itself, and renames a log over logLimit. It does
// so once in sweepInterval. The time of the last sweep is that of the lock's file, which nothing else
// changes.
func (d stateDir) sweep() error {
	swept, err := os.Stat(d.lockFile())
	if err == nil && time.Since(swept.ModTime()).Abs() < sweepInterval { // a clock may be set back
		return nil
	}
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Chtimes(d.lockFile(), time.Time{}, time.Now()); err != nil {
		return err
	}
	if info, err := os.Stat(d.logFile()); err == nil && info.Size() > logLimit {
		if err := os.Rename(d.logFile(), d.logFile()+".1"); err != nil {
			return err
		}
	}
	isRecent := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && time.Since(info.ModTime()) < retention
	}
	owned, _, err := d.owned()
	for _, path := range owned[""] {
		kind, _, _ := strings.Cut(filepath.Base(path), "-")
		base := strings.TrimSuffix(path, filepath.Ext(path)) // of the record of a working tree
		isOld := slices.Contains([]string{"trial", "launch", "running"}, kind) && !isRecent(path) ||
			kind == "tree" && !isRecent(base+".json") ||
			strings.HasSuffix(path, objectsSuffix) && sizeOf(path) > objectsLimit
		if isOld {
			err = errors.Join(err, removeFiles([]string{path}))
		}
	}
	delete(owned, "")
	for _, paths := range owned {
		if !slices.ContainsFunc(paths, isRecent) {
			err = errors.Join(err, removeFiles(paths))
		}
	}
	return err
}

// owned returns the paths of ccc's files by session, those of none under "", and how many other files are in
// the directory, which may be missing.
func (d stateDir) owned() (paths map[string][]string, others int, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	paths = map[string][]string{}
	for _, entry := range entries {
		if session, isOurs := ownerOf(entry.Name()); isOurs {
			paths[session] = append(paths[session], d.file(entry.Name()))
		} else {
			others++
		}
	}
	return paths, others, err
}

func removeFiles(paths []string) (err error) {
	for _, path := range paths {
		if strings.HasSuffix(path, objectsSuffix) {
			err = errors.Join(err, os.RemoveAll(path))
		} else {
			err = errors.Join(err, removeFile(path))
		}
	}
	return err
}

// sizeOf returns how many bytes the files below dir have.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if info, infoErr := entry.Info(); err == nil && infoErr == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}

// purge removes all files of ccc's, with the lock that it holds, and the directory if it has no others. It
// returns how many files it removed and how many others there are.
func (d stateDir) purge() (removed, others int, err error) {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return 0, 0, err
	}
	defer unlock()
	owned, others, err := d.owned()
	err = errors.Join(err, os.RemoveAll(d.trialDir())) // a trial that was killed may have left files there
	for _, paths := range owned {
		removed += len(paths)
		err = errors.Join(err, removeFiles(paths))
	}
	if err == nil && others == 0 {
		err = os.Remove(string(d))
	}
	return removed, others, err
}

// hold locks the file of a review until it is released, or this process ends, however: no child inherits what
// Go opens. The file has in it on which device it lies.
func (s sessionFiles) hold(review string) (release func(), err error) {
	file, err := os.OpenFile(s.runningFile(review), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}, err
	}
	_, err = file.WriteString(deviceOf(file))
	release = func() {
		_ = os.Remove(file.Name())
		file.Close()
	}
	return release, errors.Join(err, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
}

// isHeld reports whether a review without an end runs: it holds the lock of its file. Where locks can't tell,
// as in a copy, where the file is another, or on a network drive without locks, the time over decides.
func (s sessionFiles) isHeld(review string, over time.Time) bool {
	file, err := os.Open(s.runningFile(review))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		defer file.Close()
		if device, _ := io.ReadAll(file); string(device) == deviceOf(file) {
			err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
			if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
				return err != nil
			}
		}
	}
	return time.Now().Before(over)
}

// deviceOf returns the number of the device that holds the file: in a copy it is another.
func deviceOf(file *os.File) string {
	var stat syscall.Stat_t
	err := syscall.Fstat(int(file.Fd()), &stat)
	return fmt.Sprint(stat.Dev, err)
}
