package main

// The state directory: what ccc remembers of sessions, their timelines, the log, and what is forgotten.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stateDir is the path of the state directory.
type stateDir string

// A session is one of Claude Code's sessions, as far as the state directory knows it.
type session struct {
	dir stateDir
	id  string // see validSession
}

func (d stateDir) session(id string) session { return session{d, id} }

// Of a session the count is in stateFile, what the reviewers of the present request wrote in outputFile, and what they are
// told in promptFile.
func (d stateDir) file(name string) string         { return filepath.Join(string(d), name) }
func (d stateDir) clientFile(client string) string { return d.file("client-" + client + ".json") }
func (d stateDir) logFile() string                 { return d.file("hook-invocation.log") }
func (d stateDir) lockFile() string                { return d.file("state.lock") }
func (s session) stateFile() string                { return s.dir.file("supervisor-" + s.id + ".json") }
func (s session) outputFile() string               { return s.dir.file("supervisor-" + s.id + "-output.jsonl") }
func (s session) timelineFile() string             { return s.dir.file("supervisor-" + s.id + "-events.jsonl") }
func (s session) byHandFile() string               { return s.dir.file("supervisor-" + s.id + "-review.jsonl") }
func (s session) promptFile() string               { return s.dir.file("supervisor-" + s.id + "-prompt") }

// files are all that a session can have, a state that could not be read among them.
func (s session) files() []string {
	return []string{s.outputFile(), s.byHandFile(), s.timelineFile(), s.promptFile(), s.stateFile(), s.stateFile() + ".bad"}
}

// The patterns of the files that belong to no session: those of clients, which go when nothing has touched them for long, with
// those of ccc 1.1, and those that stay.
var passingFiles = []string{"client*.json", "background-*-settings.json"}

var lastingFiles = []string{"hook-invocation.log", "hook-invocation.log.1", "state.lock", "*" + temporarySuffix}

// ownerOf returns the session that the file name belongs to, or the name itself for a file of no session; "" for one that ccc
// does not make.
func ownerOf(name string) (owner string, isSession bool) {
	for _, pattern := range (session{id: "*"}).files() {
		before, behind, _ := strings.Cut(pattern, "*")
		id, begins := strings.CutPrefix(name, before)
		id, ends := strings.CutSuffix(id, behind)
		if begins && ends && validSession(id) {
			return id, true
		}
	}
	if isOne(name, passingFiles) || isLasting(name) {
		return name, false
	}
	return "", false
}

func isLasting(name string) bool { return isOne(name, lastingFiles) }

func isOne(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok })
}

// validSession tells whether id may become part of a file name and an argument: [A-Za-z0-9][A-Za-z0-9._-]{0,127}.
// A regexp would double the time of an unsupervised hook.
func validSession(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id[:1], letters+digits) == "" &&
		strings.Trim(id, letters+digits+"._-") == ""
}

// create makes the directory, which everything else here expects.
func (d stateDir) create() error { return os.MkdirAll(string(d), 0o700) }

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID  string      `json:"session_id"`
	Count      int         `json:"count"`                // reviews since the user's last prompt
	Request    string      `json:"request,omitempty"`    // the transcript's id of the request that these reviews are for
	Spent      int         `json:"spent,omitempty"`      // reviews for it, whatever has set Count back since
	Enabled    *bool       `json:"enabled,omitempty"`    // what Switch says
	Switch     *modeSwitch `json:"switch,omitempty"`     // set once the session was switched on or off
	Scheduled  []string    `json:"scheduled,omitempty"`  // prompts that the agent had scheduled by its last stop
	Client     string      `json:"client,omitempty"`     // the one that ran its last hook
	Provider   string      `json:"provider,omitempty"`   // of that client, or the word for none
	LaunchedAt time.Time   `json:"launched_at,omitzero"` // of its last supervised launch
	CreatedAt  time.Time   `json:"created_at"`
	UpdatedAt  time.Time   `json:"updated_at"`
}

// A modeSwitch is one of supervision on or off.
type modeSwitch struct {
	On bool      `json:"on"`
	At time.Time `json:"at"`
}

var errCorrupt = errors.New("the file is corrupt")

// state returns the state of the session; one that has none yet gets a new one. With an error, which is errCorrupt for
// a file that makes no sense, the state is new.
func (s session) state() (sessionState, error) {
	fresh := sessionState{SessionID: s.id, CreatedAt: now()}
	text, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	var state sessionState
	if json.Unmarshal(text, &state) != nil || state.SessionID != s.id || state.Count < 0 {
		return fresh, fmt.Errorf("%s: %w", s.stateFile(), errCorrupt)
	}
	return state, nil
}

// update changes the state of the session under the lock. A corrupt file is kept as .bad and the session starts anew;
// update then still returns the error.
func (s session) update(change func(*sessionState)) error {
	unlock, err := lockFile(s.dir.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	path := s.stateFile()
	state, err := s.state()
	if errors.Is(err, errCorrupt) {
		err = errors.Join(fmt.Errorf("%w, kept as %s.bad", err, path), os.Rename(path, path+".bad"))
	} else if err != nil {
		return err
	}
	change(&state)
	state.UpdatedAt = now()
	return errors.Join(err, replaceFile(path, append(encodeJSON(state), '\n'), false))
}

// nextIteration counts one more review and returns its number, from 1; at the limit it counts nothing and returns
// 0. request tells the user's newest request from every other, "" where that is not known: a new one has a fresh
// budget, and one that is still the same goes on with its own, even if Claude Code has submitted a prompt since.
func (s *sessionState) nextIteration(limit int, request string) (iteration int) {
	if request != "" && request == s.Request {
		s.Count = max(s.Count, s.Spent)
	} else if request != "" && (s.Request != "" || s.Spent == 0) {
		s.Count, s.Request = 0, request
	} else if request != "" || s.Count == 0 { // "": the next stop tells which request it was
		s.Request = request
	}
	if s.Count >= limit {
		return 0
	}
	s.Count++
	s.Spent = s.Count
	return s.Count
}

// on tells whether the session is supervised, as far as can be told from outside: what was later, its launch or a
// switch; only supervised sessions have a state without either.
func (s *sessionState) on() bool {
	if s.Switch != nil && !s.Switch.At.Before(s.LaunchedAt) {
		return s.Switch.On
	}
	return !s.UpdatedAt.IsZero()
}

// instructions are what the reviewer is told, and where that is from.
type instructions struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// keepInstructions keeps in for the session's next reviews; nil forgets what was kept.
func (s session) keepInstructions(in *instructions) error {
	if in == nil {
		return removeFile(s.promptFile())
	}
	return s.dir.replace(s.promptFile(), append(encodeJSON(in), '\n'))
}

// replace puts data in the place of one of the directory's files, under the lock.
func (d stateDir) replace(path string, data []byte) error {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	return replaceFile(path, data, false)
}

// keptInstructions returns what was kept, nil for nothing.
func (s session) keptInstructions() *instructions {
	in := new(instructions)
	if text, err := os.ReadFile(s.promptFile()); err != nil || json.Unmarshal(text, in) != nil {
		return nil
	}
	return in
}

// sessions returns the ids of the sessions that have left something here.
func (d stateDir) sessions() (ids []string, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if id, isSession := ownerOf(entry.Name()); isSession {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// log adds a line to hook-invocation.log: the time, what happened, and key, value pairs, quoted where they need it. Prompts
// and values of variables do not belong here. An error must not change the decision.
func (d stateDir) log(what string, pairs ...any) error {
	var line strings.Builder
	line.WriteString(now().Format("2006-01-02T15:04:05.000Z07:00 ") + what)
	for pair := range slices.Chunk(pairs, 2) {
		value := fmt.Sprint(pair[1])
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }) {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&line, " %s=%s", pair[0], value)
	}
	line.WriteByte('\n')
	return appendFile(d.logFile(), []byte(line.String()))
}

// now is the time as ccc writes it: UTC, to the millisecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

const (
	// retention is how long the files of a session stay that nothing touches.
	retention = 30 * 24 * time.Hour
	// logLimit keeps hook-invocation.log readable; one older file stays beside it.
	logLimit = 5 << 20
)

// sweep removes what is untouched for longer than retention, a session's files together, and puts a log over logLimit aside.
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
	isRecent := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && time.Since(info.ModTime()) < retention
	}
	owned, _, err := d.owned()
	for owner, paths := range owned {
		isLeft := strings.HasSuffix(owner, temporarySuffix) // of a process that was killed: the lock is ours
		if isLeft || !isLasting(owner) && !slices.ContainsFunc(paths, isRecent) {
			err = errors.Join(err, removeFiles(paths))
		}
	}
	return err
}

// owned returns the paths of ccc's files by their owners, and how many others are in the directory.
func (d stateDir) owned() (paths map[string][]string, others int, err error) {
	entries, err := os.ReadDir(string(d))
	paths = map[string][]string{}
	for _, entry := range entries {
		if owner, _ := ownerOf(entry.Name()); owner != "" && !entry.IsDir() {
			paths[owner] = append(paths[owner], d.file(entry.Name()))
		} else {
			others++
		}
	}
	return paths, others, err
}

func removeFiles(paths []string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, removeFile(path))
	}
	return err
}

// purge removes ccc's files, the lock that it holds among them, and the directory if nothing else is in it. It returns
// how many of either there were.
func (d stateDir) purge() (removed, others int, err error) {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return 0, 0, err
	}
	defer unlock()
	owned, others, err := d.owned()
	for _, paths := range owned {
		removed += len(paths)
		err = errors.Join(err, removeFiles(paths))
	}
	if err == nil && others == 0 {
		err = os.Remove(string(d))
	}
	return removed, others, err
}

// The events of Claude Code's that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// A verdict is what became of a stop or a question.
type verdict string

const (
	verdictBlock  verdict = "block"  // the agent goes on
	verdictAllow  verdict = "allow"  // the agent may stop
	verdictFailed verdict = "failed" // no review took place
	verdictLimit  verdict = "limit"  // max_iterations was reached before

	verdictCancelled verdict = "cancelled" // the user ended the review
	verdictReviewing verdict = "reviewing" // it is not known yet; never recorded
)

// An outcome is what a review came to, with all that is known of it.
type outcome struct {
	Verdict         verdict  `json:"verdict,omitempty"`
	Feedback        string   `json:"feedback,omitempty"` // what is left to do; never empty with verdictBlock
	Error           string   `json:"error,omitempty"`    // why there was no review
	DurationSeconds float64  `json:"duration_seconds,omitempty"`
	CostUSD         float64  `json:"cost_usd,omitempty"` // of this review alone
	Tokens          *tokens  `json:"tokens,omitempty"`
	Tools           []string `json:"tools,omitempty"` // as in Bash(git status)
	ReviewerSession string   `json:"reviewer_session,omitempty"`
}

// tokens is what requests used, as the API counts it.
type tokens struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
}

// fresh is how many of them the API had not in its prompt cache.
func (t *tokens) fresh() int { return t.Input + t.CacheWrite }

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
}

// A record is one line of a session's timeline: a prompt of the user's (event UserPromptSubmit), a switch, a command or
// a refused call of a review, or a stop or a question: with a verdict its end, without one the begin of its review.
type record struct {
	Time         time.Time       `json:"time"`
	Event        string          `json:"event"`
	Project      string          `json:"project,omitempty"`
	Prompt       string          `json:"prompt,omitempty"`
	Status       string          `json:"git_status,omitempty"` // of a prompt: git status --porcelain, whose worktree is the one below
	Mode         string          `json:"mode,omitempty"`       // of a switch: on or off
	By           string          `json:"by,omitempty"`         // of a switch: one of those below
	Iteration    int             `json:"iteration,omitempty"`
	Limit        int             `json:"max_iterations,omitempty"`
	PromptSource string          `json:"prompt_source,omitempty"`
	PromptKept   bool            `json:"prompt_kept,omitempty"` // that file has changed since the user's prompt, and what it held then counted
	Way          string          `json:"way,omitempty"`         // how the reviewer was asked: with the agent's prompt "cache" or with its "own" prompt
	NoVerdict    bool            `json:"no_verdict,omitempty"`  // the feedback is what a reviewer said that gave none
	Told         bool            `json:"told,omitempty"`        // the user was told at once that this stop was not reviewed
	Command      string          `json:"command,omitempty"`     // what ccc try ran for a reviewer, with duration_seconds
	ExitCode     *int            `json:"exit_code,omitempty"`   // of the command
	Output       string          `json:"output,omitempty"`      // the end of what the command printed
	NoCopy       string          `json:"no_copy,omitempty"`     // why the reviewer could run nothing
	Review       string          `json:"review,omitempty"`      // of all records of one review the same
	Process      string          `json:"process,omitempty"`     // of a begun review: whose end is its end; see processName
	Deadline     time.Time       `json:"deadline,omitzero"`     // of a begun review
	worktree                     // what the review speaks of
	LastMessage  string          `json:"last_message,omitempty"`      // of a begun review: the agent's, cut
	Question     json.RawMessage `json:"question,omitempty"`          // of a begun review: the input of AskUserQuestion
	Requests     []string        `json:"requests,omitempty"`          // of a begun review: the user's, each cut
	Changed      bool            `json:"changed_meanwhile,omitempty"` // files changed while the review ran
	Unbound      string          `json:"not_bound,omitempty"`         // why it speaks of no state of the files
	outcome
}

// The events of records that are not Claude Code's: supervision was switched on or off, and by whom; a reviewer ran a
// command.
const (
	eventSwitch       = "switch"
	switchedInSession = "/supervisor"
	switchedOutside   = "supervisor-mode"
	switchedByAgent   = "agent"
	eventTry          = "try"
	eventRefused      = "refused" // Claude Code refused these tools to the reviewer
	eventReview       = "review"  // ccc review
)

// append adds r to the session's timeline.
func (s session) append(r record) error {
	return appendFile(s.timelineFile(), append(encodeJSON(r), '\n'))
}

// readTimeline passes on the session's records, oldest first, but for lines that a full disk or a crash left broken.
func (s session) readTimeline(each func(record)) error {
	return readLines(s.timelineFile(), func(line []byte) {
		if r, ok := parseRecord(line); ok {
			each(r)
		}
	})
}

// followTimeline and followOutput return readers of the session's timeline and of the last bytes of its reviewers' output.
func (s session) followTimeline(line func([]byte)) *lineReader {
	return &lineReader{path: s.timelineFile(), lines: lineWriter{line: line}}
}

func (s session) followOutput(last int64, line func([]byte)) *lineReader {
	return &lineReader{path: s.outputFile(), last: last, lines: lineWriter{line: line}}
}

// parseRecord reads a line of a timeline; ok is false for what is not one.
func parseRecord(line []byte) (r record, ok bool) {
	err := json.Unmarshal(line, &r)
	isOfReview := r.Verdict != "" || r.Review != "" // ccc writes no prompt and no switch that is
	return r, err == nil && r.Event != "" && !(isOfReview && (r.Event == eventPrompt || r.Event == eventSwitch))
}

func modeWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// A worktree is a working tree of git's at one time.
type worktree struct {
	Top  string `json:"worktree,omitempty"`   // the directory
	Repo string `json:"repository,omitempty"` // the git directory that all working trees of the repository share
	Head string `json:"head,omitempty"`       // the commit checked out, "" before the first
	Tree string `json:"tree,omitempty"`       // the id of its files as they are, "" where that can't be told
}
