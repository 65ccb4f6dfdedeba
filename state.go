package main

// The state directory: its files, the log, and what is removed after a time. Where a session is at work.
// The lock of a review that runs.

import (
	"cmp"
	"context"
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

// trialDir is the directory in which hooks are tried, and trialFile the path of a file of a trial.
func (d stateDir) trialDir() string             { return d.file("trial") }
func (d stateDir) trialFile(name string) string { return d.file("trial-" + name) }

// newestLaunch returns the token of the newest supervised launch that went ahead, "" before the first.
func (d stateDir) newestLaunch() string {
	token, _ := os.ReadFile(d.file(newestLaunchName))
	return string(token)
}

const newestLaunchName = "launch-newest"

func (s sessionFiles) file(suffix string) string { return s.dir.file("supervisor-" + s.id + suffix) }
func (s sessionFiles) stateFile() string         { return s.file(".json") }
func (s sessionFiles) outputFile() string        { return s.file("-output.jsonl") }
func (s sessionFiles) byHandFile() string        { return s.file("-review.jsonl") }
func (s sessionFiles) feedbackFile() string      { return s.file("-feedback.txt") }
func (s sessionFiles) timelineFile() string      { return s.file("-events.jsonl") }
func (s sessionFiles) requestFile() string       { return s.file("-request.md") }
func (s sessionFiles) eventFile() string         { return s.file("-last-event.jsonl") } // 3.0 lists all .json

// runningFile is the path of the file whose lock a review holds while it runs.
func (s sessionFiles) runningFile(review string) string {
	return s.dir.file("running-" + s.id + "-" + review)
}

// A place is where a session is at work: a working tree, or outside git a directory, with ccc's files of it.
type place struct {
	worktree
	project string // where the session was started
	cwd     string // where its agent is
	root    string // where a reviewer runs: the project, or another working tree of its repository with cwd
	dir     stateDir
	env     []string        // of its git
	key     string          // of this tree, in the names of its files
	ctx     context.Context // how long git may run there for one event: see within
}

// place returns the place of a session of the project whose agent is in cwd: a session can enter another
// working tree. A linked one that was removed and made anew is another place.
func (d stateDir) place(project, cwd string, env []string) place {
	p := place{worktree: worktreeOf(project), project: project, cwd: cwd, root: project, dir: d, env: env}
	there := worktreeOf(cwd)
	if there.Repository != "" && there.Repository == p.Repository && there != p.worktree {
		p.worktree = there
		p.root = there.Top
	}
	name := p.Top
	if info, err := os.Lstat(filepath.Join(p.Top, ".git")); err == nil && !info.IsDir() {
		name += info.ModTime().UTC().String()
	}
	p.key = checksum([]byte(name))
	return p
}

// How long git may take: for a review or ccc verdict, and at a prompt, for which the user waits.
var reviewLookPatience, promptLookPatience = 5 * time.Second, time.Second

// within returns the place for an event in which git may take patience, all in all. end must be called.
func (p place) within(ctx context.Context, patience time.Duration) (bounded place, end func()) {
	p.ctx, end = context.WithTimeoutCause(ctx, patience, errors.New(say(gitTooSlow, patience)))
	return p, end
}

func (p place) file(suffix string) string { return p.dir.file("tree-" + p.key + suffix) }
func (p place) objects() string           { return p.file(objectsSuffix) }

const objectsSuffix = ".objects"

// lookPrefix begins the name of the directory with the index of a look that runs.
const lookPrefix = "look-"

// sweepObjects removes what killed looks have left with the objects.
func (p place) sweepObjects() {
	for _, pattern := range []string{"*/tmp_*", lookPrefix + "*"} {
		left, _ := fs.Glob(os.DirFS(p.objects()), pattern)
		for _, name := range left {
			path := filepath.Join(p.objects(), name)
			if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 2*reviewLookPatience {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// outputLimit, in bytes, is the size from which on a reviewers' output file is put aside.
const outputLimit = 20 << 20

// openOutput opens the reviewers' output file for appending. One over outputLimit is put aside, as path.1.
func openOutput(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > outputLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return openAppend(path)
}

// ownFiles are the patterns of ccc's files: those of a session, others, those of a working tree, and what a
// replacement of a file has left.
var ownFiles = []string{"supervisor-[A-Za-z0-9]*.json", "supervisor-*.json.bad", "supervisor-*.jsonl",
	"supervisor-*.jsonl.1", "supervisor-*-feedback.txt", "supervisor-*-request.md",
	"hook-invocation.log*", "state.lock", "trial",
	"trial-*", "launch-*", "running-*", "tree-*", ".*-*.ccc-tmp"}

// validSession reports whether id may become part of a file name and an argument, as
// [A-Za-z0-9][A-Za-z0-9._-]{0,127} does. A regexp would double the time of an unsupervised hook.
func validSession(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id[:1], letters+digits) == "" &&
		strings.Trim(id, letters+digits+"._-") == ""
}

func (d stateDir) create() error { return makeOwn(string(d)) }

// sessions returns the ids of the sessions that have a state or a timeline here, the newest first.
func (d stateDir) sessions() (ids []string, err error) {
	paths, _, err := d.owned()
	written := map[string]time.Time{}
	for _, path := range paths {
		name, isSession := strings.CutPrefix(filepath.Base(path), "supervisor-")
		id, isState := strings.CutSuffix(name, ".json")
		if !isState {
			id, isState = strings.CutSuffix(name, "-events.jsonl")
		}
		info, err := os.Stat(path)
		if isSession && isState && validSession(id) && err == nil && info.ModTime().After(written[id]) {
			written[id] = info.ModTime()
		}
	}
	newestFirst := func(a, b string) int {
		return cmp.Or(written[b].Compare(written[a]), strings.Compare(a, b))
	}
	return slices.SortedFunc(maps.Keys(written), newestFirst), err
}

// log adds a line to hook-invocation.log; pairs are keys and values in turn. Prompts and values of variables
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
	// retention is how long a file is kept that nobody writes to.
	retention = 30 * 24 * time.Hour
	// logLimit, in bytes, keeps hook-invocation.log readable; one older file stays beside it.
	logLimit = 5 << 20
	// objectsLimit, in bytes, is how much of a working tree is kept. If there is more, all of it goes.
	objectsLimit = 500 << 20
)

// sweep removes what nobody has written to for longer than retention. The files of a working tree go with its
// record, and its objects also if they are over objectsLimit. A log over logLimit is renamed.
func (d stateDir) sweep() error {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	if info, statErr := os.Stat(d.logFile()); statErr == nil && info.Size() > logLimit {
		err = os.Rename(d.logFile(), d.logFile()+".1")
	}
	paths, _, listErr := d.owned()
	err = errors.Join(err, listErr)
	isOld := func(paths ...string) bool { // the first of them that is there decides
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil {
				return time.Since(info.ModTime()) > retention
			}
		}
		return false
	}
	var trees []string
	for _, path := range paths {
		switch {
		case strings.HasPrefix(filepath.Base(path), "tree-"):
			trees = append(trees, path)
		case isOld(path) && path != d.lockFile(): // a session that is resumed would write to it
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	unlock() // a large store takes long

	for _, path := range slices.Backward(trees) { // a record after what goes with it
		record := strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
		isLarge := strings.HasSuffix(path, objectsSuffix) && sizeOf(path) > objectsLimit
		if isLarge || isOld(record, path) {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

// sweepDaily sweeps once a day: to measure a large store takes 0.4 s. The lock has the last sweep's time.
func (d stateDir) sweepDaily() error {
	const day = 24 * time.Hour
	if swept, err := os.Stat(d.lockFile()); err == nil && time.Since(swept.ModTime()).Abs() < day {
		return nil
	}
	return errors.Join(d.sweep(), os.Chtimes(d.lockFile(), time.Time{}, now()))
}

// owned returns the paths of ccc's files, sorted, and how many others there are. d may be missing.
func (d stateDir) owned() (paths []string, others int, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, entry := range entries {
		isName := func(pattern string) bool { is, _ := filepath.Match(pattern, entry.Name()); return is }
		if slices.ContainsFunc(ownFiles, isName) {
			paths = append(paths, d.file(entry.Name()))
		} else {
			others++
		}
	}
	return paths, others, err
}

// sizeOf returns the bytes of all files below dir; what is gone meanwhile does not count.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // another launch sweeps, too
			return nil
		}
		if info, err := entry.Info(); err == nil {
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
	paths, others, err := d.owned()
	for _, path := range paths {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err == nil && others == 0 {
		err = os.Remove(string(d))
	}
	return len(paths), others, err
}

// hold locks the file of a review until it is released, or until this process ends, in whichever way: no
// child inherits what Go opens. The file names the device on which it lies.
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

// isHeld reports whether a review without an end still runs. One that runs holds the lock of its file. If the
// lock can't tell, it runs until over: in a copy the file is another one, and a network drive may have no
// locks.
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
