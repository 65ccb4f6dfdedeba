package main

// The timeline of a session: the user's prompts, what became of stops and questions, and switches of supervision, a
// line of JSON each.

import (
	"encoding/json"
	"time"
)

// A verdict is what became of a stop or a question.
type verdict string

const (
	verdictBlock  verdict = "block"  // the agent goes on
	verdictAllow  verdict = "allow"  // the agent may stop
	verdictFailed verdict = "failed" // no review took place
	verdictLimit  verdict = "limit"  // max_iterations was reached before
)

// An outcome is what a review came to, with all that is known of it.
type outcome struct {
	Verdict         verdict  `json:"verdict,omitempty"`
	Feedback        string   `json:"feedback,omitempty"` // what is left to do; never empty with verdictBlock
	Error           string   `json:"error,omitempty"`    // why there was no review
	DurationSeconds float64  `json:"duration_seconds,omitempty"`
	CostUSD         float64  `json:"cost_usd,omitempty"` // of this review alone
	Tokens          *tokens  `json:"tokens,omitempty"`
	FirstFresh      int      `json:"first_request_fresh_tokens,omitempty"` // what the first request had to send anew
	Tools           []string `json:"tools,omitempty"`                      // as in Bash(git status)
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

// A record is one line of a session's timeline: a prompt of the user's (event UserPromptSubmit), or what became of
// a stop or a question.
type record struct {
	Time         time.Time `json:"time"`
	Event        string    `json:"event"`
	Project      string    `json:"project,omitempty"`
	Prompt       string    `json:"prompt,omitempty"`
	Mode         string    `json:"mode,omitempty"` // of a switch: on or off
	By           string    `json:"by,omitempty"`   // of a switch: one of those below
	Iteration    int       `json:"iteration,omitempty"`
	Limit        int       `json:"max_iterations,omitempty"`
	PromptSource string    `json:"prompt_source,omitempty"`
	PromptKept   bool      `json:"prompt_kept,omitempty"`   // that file has changed since the user's prompt, and what it held then counted
	CacheSplit   bool      `json:"cache_split,omitempty"`   // keep_cache, but the attribution line stands in the way: a login is billed by it
	CacheSettled bool      `json:"cache_settled,omitempty"` // keep_cache is on, or can't help: the reviewer's model or provider is its own
	Told         bool      `json:"told,omitempty"`          // the user was told at once that this stop was not reviewed
	Command      string    `json:"command,omitempty"`       // what ccc try ran for a reviewer, with duration_seconds
	ExitCode     *int      `json:"exit_code,omitempty"`     // of the command
	NoCopy       string    `json:"no_copy,omitempty"`       // why the reviewer could run nothing
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
)

// append adds r to the timeline of session.
func (d stateDir) append(session string, r record) error {
	return appendFile(d.timelineFile(session), append(encodeJSON(r), '\n'))
}

// readTimeline passes on the records of session, oldest first. Lines that a full disk or a crash left broken are
// passed over.
func (d stateDir) readTimeline(session string, each func(record)) error {
	r := d.followTimeline(session, func(line []byte) {
		if r, ok := parseRecord(line); ok {
			each(r)
		}
	})
	defer r.close()
	return r.read()
}

// followTimeline and followOutput return readers of session's timeline and of the last bytes of its reviewers'
// output.
func (d stateDir) followTimeline(session string, line func([]byte)) *lineReader {
	return &lineReader{path: d.timelineFile(session), lines: lineWriter{line: line}}
}

func (d stateDir) followOutput(session string, last int64, line func([]byte)) *lineReader {
	return &lineReader{path: d.outputFile(session), last: last, lines: lineWriter{line: line}}
}

// parseRecord reads a line of a timeline; ok is false for what is not one.
func parseRecord(line []byte) (r record, ok bool) {
	err := json.Unmarshal(line, &r)
	return r, err == nil && r.Event != ""
}

func modeWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
