package main

// This file alone opens the state directory. For a session abc123 it holds
// supervisor-abc123.json (the count), supervisor-abc123-output.jsonl (what the
// reviewers wrote, as they wrote it) and supervisor-abc123-events.jsonl (the
// timeline); for all sessions together hook-invocation.log and the lock.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stateDir is the path of the state directory.
type stateDir string

func (d stateDir) file(name string) string { return filepath.Join(string(d), name) }

// The names of a session's files: before and behind its id.
const (
	sessionPrefix = "supervisor-"
	stateSuffix   = ".json"
	outputSuffix  = "-output.jsonl"
	eventsSuffix  = "-events.jsonl"
	corruptSuffix = ".bad" // behind the name of a state that can't be read
)

func (d stateDir) stateFile(session string) string {
	return d.file(sessionPrefix + session + stateSuffix)
}
func (d stateDir) outputFile(session string) string {
	return d.file(sessionPrefix + session + outputSuffix)
}
func (d stateDir) eventsFile(session string) string {
	return d.file(sessionPrefix + session + eventsSuffix)
}
func (d stateDir) logFile() string     { return d.file("hook-invocation.log") }
func (d stateDir) lockFile() string    { return d.file("state.lock") }
func (d stateDir) writtenFile() string { return d.file("written.json") } // see keepFile

// validSession tells whether id may become part of a file name and an argument:
// [A-Za-z0-9][A-Za-z0-9._-]{0,127}. It is no regexp, nor is anything else here:
// to compile one costs an unsupervised hook as much as all the rest it does.
func validSession(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id[:1], letters+digits) == "" &&
		strings.Trim(id, letters+digits+"._-") == ""
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// create makes the directory, which everything else here expects.
func (d stateDir) create() error { return os.MkdirAll(string(d), 0o700) }

// createLog makes the empty log, so that `tail -f` works at once.
func (d stateDir) createLog() error { return d.appendTo(d.logFile(), nil) }

// check tells whether hooks can write to the directory, and make it where it is
// not there yet; path is what they can't write to. It leaves nothing behind.
func (d stateDir) check() (path string, err error) {
	path = string(d)
	for {
		_, err := os.Stat(path)
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !missing || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	probe, err := os.CreateTemp(path, ".check-*.ccc-tmp")
	if err != nil {
		return path, err
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if file, openErr := os.OpenFile(d.logFile(), os.O_WRONLY|os.O_APPEND, 0); openErr == nil {
		file.Close()
	} else if !errors.Is(openErr, fs.ErrNotExist) {
		err = openErr
	}
	return path, err
}

// appendTo adds data to the file at path in a single write, which the kernel
// does not tear when several processes append at once.
func (d stateDir) appendTo(path string, data []byte) error {
	file, err := openAppend(path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// openOutput opens the file that mirrors the reviewers' streams.
func (d stateDir) openOutput(session string) (*os.File, error) {
	return openAppend(d.outputFile(session))
}

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID string    `json:"session_id"`
	Count     int       `json:"count"`             // reviews since the user's last prompt
	Enabled   *bool     `json:"enabled,omitempty"` // set once the session was switched on or off
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// read returns the state of session; one that has none yet gets a new one.
func (d stateDir) read(session string) (sessionState, error) {
	fresh := sessionState{SessionID: session, CreatedAt: now()}
	text, err := os.ReadFile(d.stateFile(session))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	var state sessionState
	if err := json.Unmarshal(text, &state); err != nil {
		return fresh, corruptError{err}
	}
	if state.SessionID != session || state.Count < 0 {
		return fresh, corruptError{errors.New("not the state of this session")}
	}
	return state, nil
}

type corruptError struct{ error }

// update changes the state of session under the lock. change returns false to
// leave the file as it is. A corrupt file is kept as .bad and the session
// starts anew; update then still returns the error, beside the new state.
func (d stateDir) update(session string, change func(*sessionState) bool) (sessionState, error) {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return sessionState{}, err
	}
	defer unlock()
	state, err := d.read(session)
	path := d.stateFile(session)
	var corrupt corruptError
	if errors.As(err, &corrupt) {
		err = fmt.Errorf("%s is corrupt, kept as %s: %w", path, path+corruptSuffix, corrupt.error)
		if renameErr := os.Rename(path, path+corruptSuffix); renameErr != nil {
			return state, renameErr
		}
	} else if err != nil {
		return state, err
	}
	if change(&state) {
		state.UpdatedAt = now()
		if writeErr := replaceFile(path, append(encodeJSON(state), '\n'), false); writeErr != nil {
			return state, writeErr
		}
	}
	return state, err
}

// nextIteration counts one more review of session and returns its number, from
// 1; at the limit it counts nothing and returns 0.
func (d stateDir) nextIteration(session string, limit int) (iteration int, err error) {
	_, err = d.update(session, func(s *sessionState) bool {
		if s.Count >= limit {
			return false
		}
		s.Count++
		iteration = s.Count
		return true
	})
	return iteration, err
}

// resetCount gives session a fresh budget of reviews.
func (d stateDir) resetCount(session string) error {
	_, err := d.update(session, func(s *sessionState) bool {
		changed := s.Count != 0 || s.UpdatedAt.IsZero()
		s.Count = 0
		return changed
	})
	return err
}

// switchMode turns supervision of session on or off, whatever it was started as.
func (d stateDir) switchMode(session string, on bool) error {
	_, err := d.update(session, func(s *sessionState) bool {
		changed := s.Enabled == nil || *s.Enabled != on
		s.Enabled = &on
		return changed
	})
	return err
}

// mode tells whether session is supervised, as far as can be told from outside:
// it was switched on, or not switched at all and has been supervised before,
// since only a supervised session has a state.
func (d stateDir) mode(session string) (on bool, err error) {
	state, err := d.read(session)
	if state.Enabled != nil {
		return *state.Enabled, err
	}
	return !state.UpdatedAt.IsZero(), err
}

// record is one line of a session's timeline: a prompt of the user's (event
// UserPromptSubmit) or what became of a stop or a question.
type record struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Project string    `json:"project,omitempty"`
	Prompt  string    `json:"prompt,omitempty"`

	Iteration       int      `json:"iteration,omitempty"`
	Limit           int      `json:"max_iterations,omitempty"`
	Verdict         string   `json:"verdict,omitempty"` // one of the verdict constants
	Feedback        string   `json:"feedback,omitempty"`
	Error           string   `json:"error,omitempty"` // why there was no review
	DurationSeconds float64  `json:"duration_seconds,omitempty"`
	CostUSD         float64  `json:"cost_usd,omitempty"` // of this review alone
	Tokens          *tokens  `json:"tokens,omitempty"`
	Tools           []string `json:"tools,omitempty"` // as in Bash(git status)
	PromptSource    string   `json:"prompt_source,omitempty"`
	ReviewerSession string   `json:"reviewer_session,omitempty"`
}

// The verdicts of a record.
const (
	verdictBlock  = "block"  // the agent goes on
	verdictAllow  = "allow"  // the agent may stop
	verdictFailed = "failed" // no review took place
	verdictLimit  = "limit"  // max_iterations was reached before
)

// append adds r to the timeline of session.
func (d stateDir) append(session string, r record) error {
	return d.appendTo(d.eventsFile(session), append(encodeJSON(r), '\n'))
}

// timeline returns the records of session, oldest first. Lines that a full disk
// or a crash left broken are passed over.
func (d stateDir) timeline(session string) (records []record, err error) {
	lines := d.readTimeline(session, 0, func(line []byte) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			records = append(records, r)
		}
	})
	err = lines.read()
	lines.close()
	return records, err
}

// lastRecord returns the newest record of session, or none. It reads the end of
// the timeline only.
func (d stateDir) lastRecord(session string) (last record, err error) {
	const enough = 1 << 20 // a record holds one prompt or one feedback
	lines := d.readTimeline(session, enough, func(line []byte) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			last = r
		}
	})
	err = lines.read()
	lines.close()
	return last, err
}

// abridge appends a record's line without prompt and feedback to into. They are
// most of a timeline, and what is left is parsed several times as fast.
func abridge(into, line []byte) []byte {
	drop := false
	for {
		start := bytes.IndexByte(line, '"') + 1
		size := stringSize(line[start:])
		if start == 0 || size < 0 {
			return append(into, line...)
		}
		text := line[start : start+size]
		into = append(into, line[:start]...)
		if !drop {
			into = append(into, text...)
		}
		into = append(into, '"')
		line = line[start+size+1:]
		isKey := bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte(":"))
		drop = isKey && (string(text) == "prompt" || string(text) == "feedback")
	}
}

// stringSize is the length of the JSON string whose inside text begins with, or
// -1 when it does not end.
func stringSize(text []byte) int {
	for i := 0; ; i++ {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return -1
		}
		i += next
		before := bytes.TrimRight(text[:i], `\`)
		if (i-len(before))%2 == 0 {
			return i
		}
	}
}

// readTimeline and readOutput return a reader of a session's file that begins
// with the first line in its last bytes, or with all of it when last is 0.
func (d stateDir) readTimeline(session string, last int64, line func([]byte)) *lineReader {
	return &lineReader{path: d.eventsFile(session), last: last, lines: lineWriter{line: line}}
}

func (d stateDir) readOutput(session string, last int64, line func([]byte)) *lineReader {
	return &lineReader{path: d.outputFile(session), last: last, lines: lineWriter{line: line}}
}

// A lineReader passes on the lines of a file, and each time it is called again
// those that have come since, even if there was no file at first.
type lineReader struct {
	path    string
	last    int64
	earlier bool // the file has lines before those in its last bytes
	lines   lineWriter
	file    *os.File
}

// read passes on what is there by now; a line without its newline has to wait.
func (r *lineReader) read() (err error) {
	if r.file == nil {
		if r.file, err = os.Open(r.path); errors.Is(err, fs.ErrNotExist) {
			r.file = nil
			return nil
		} else if err != nil {
			return err
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
	_, err = io.Copy(&r.lines, r.file)
	return err
}

func (r *lineReader) begin() error {
	info, err := r.file.Stat()
	if err != nil || r.last == 0 || info.Size() <= r.last {
		return err
	}
	// From the byte before, so that a line that begins right there counts.
	r.earlier, r.lines.skip = true, true
	_, err = r.file.Seek(info.Size()-r.last-1, io.SeekStart)
	return err
}

// modified is when the file was last written to, if there is one.
func (r *lineReader) modified() (at time.Time) {
	if r.file != nil {
		if info, err := r.file.Stat(); err == nil {
			at = info.ModTime()
		}
	}
	return at
}

// close passes on a last line that has no newline, and closes the file.
func (r *lineReader) close() {
	r.lines.close()
	if r.file != nil {
		r.file.Close()
	}
}

// sessions returns the ids of the sessions that have left something here.
func (d stateDir) sessions() (ids []string, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if session, ok := sessionOf(entry.Name()); ok {
			ids = append(ids, session)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// log adds a line to hook-invocation.log: the time, what happened, and key,
// value pairs. Values are written on one line, quoted where they need it;
// prompts and values of variables do not belong here. What can't be logged is
// returned as an error and must not change the decision.
func (d stateDir) log(what string, pairs ...any) error {
	var line strings.Builder
	line.WriteString(now().Format("2006-01-02T15:04:05.000Z07:00"))
	line.WriteString(" " + what)
	for i := 0; i+1 < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }) {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&line, " %s=%s", pairs[i], value)
	}
	line.WriteByte('\n')
	return d.appendTo(d.logFile(), []byte(line.String()))
}

// now is the time as ccc writes it: UTC, to the millisecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// keepFile writes text to path if there is no file, or if the one there is what
// ccc wrote and nobody has changed since. Files of the user's are left alone.
func (d stateDir) keepFile(path, text string) error {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	sweepTemporary(path, d.writtenFile())
	written := d.written()
	switch old, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	case (string(old) == text) == (checksum(old) == written[path]):
		return nil // the user's, or up to date
	}
	if err := replaceFile(path, []byte(text), true); err != nil {
		return err
	}
	written[path] = checksum([]byte(text))
	return replaceFile(d.writtenFile(), append(encodeJSON(written), '\n'), true)
}

// written returns, by path, the checksums of the files that ccc keeps. When they
// can't be read every file counts as the user's.
func (d stateDir) written() map[string]string {
	sums := map[string]string{}
	if text, err := os.ReadFile(d.writtenFile()); err == nil {
		_ = json.Unmarshal(text, &sums)
	}
	return sums
}

// checksum is for noticing an edit, not an attack: package crypto would cost
// every start of ccc 0.1 ms.
func checksum(text []byte) string {
	hash := fnv.New128a()
	hash.Write(text)
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// wrote tells whether text, found at path, is what keepFile last wrote there.
func (d stateDir) wrote(path string, text []byte) bool {
	return d.written()[path] == checksum(text)
}

const (
	// retention is how long the files of a session stay that nothing touches.
	retention = 30 * 24 * time.Hour
	// logLimit keeps hook-invocation.log readable; one older file stays beside it.
	logLimit = 5 << 20
)

// sweep removes the files of sessions untouched for longer than retention, and
// puts a log that has grown over logLimit aside.
func (d stateDir) sweep() error {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	if info, err := os.Stat(d.logFile()); err == nil && info.Size() > logLimit {
		if err := os.Rename(d.logFile(), d.logFile()+".1"); err != nil {
			return err
		}
	}
	files, newest := map[string][]string{}, map[string]time.Time{}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if strings.HasSuffix(entry.Name(), temporarySuffix) {
			os.Remove(d.file(entry.Name())) // of a process that was killed: the lock is ours
		}
		session, ok := sessionOf(entry.Name())
		if err != nil || !ok {
			continue
		}
		files[session] = append(files[session], entry.Name())
		if info.ModTime().After(newest[session]) {
			newest[session] = info.ModTime()
		}
	}
	for session, names := range files {
		if time.Since(newest[session]) < retention {
			continue
		}
		for _, name := range names {
			if err := os.Remove(d.file(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sessionOf returns the session that the file name belongs to.
func sessionOf(name string) (session string, ok bool) {
	name, ok = strings.CutPrefix(name, sessionPrefix)
	for _, suffix := range []string{outputSuffix, eventsSuffix, stateSuffix, stateSuffix + corruptSuffix} {
		if session, found := strings.CutSuffix(name, suffix); found && ok && validSession(session) {
			return session, true
		}
	}
	return "", false
}

// owns tells whether the file name is one that ccc makes, or what a killed
// process left of one.
func (d stateDir) owns(name string) bool {
	_, ofSession := sessionOf(name)
	return ofSession || strings.HasSuffix(name, temporarySuffix) ||
		slices.Contains([]string{d.logFile(), d.logFile() + ".1", d.lockFile(), d.writtenFile()}, d.file(name))
}

// purge removes ccc's files, and the directory if nothing else is in it, and
// says so.
func (d stateDir) purge(stdout io.Writer) error {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	others := 0
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !d.owns(name) {
			others++
			continue
		}
		if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(stdout, "%s: removed\n", d.file(name))
	}
	if others > 0 {
		fmt.Fprintf(stdout, "%s: kept: it holds %d more, not ccc's\n", d, others)
		return nil
	}
	if err := os.Remove(string(d)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: removed\n", d)
	return nil
}
