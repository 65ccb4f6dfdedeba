package main

// The timeline of a session: its records, and the one history that all who ask read.

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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
	Verdict         verdict `json:"verdict,omitempty"`
	Feedback        string  `json:"feedback,omitempty"` // what is left to do; never empty with verdictBlock
	Error           string  `json:"error,omitempty"`    // why there was no review
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
	CostUSD         float64 `json:"cost_usd,omitempty"` // of this review alone
	Tokens          *tokens `json:"tokens,omitempty"`
	ReviewerSession string  `json:"reviewer_session,omitempty"`
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

// A record is one line of a session's timeline. Its kind says what it tells of.
type record struct {
	Time         time.Time         `json:"time"`
	Kind         string            `json:"kind"`
	Event        string            `json:"event,omitempty"` // of the begin and the end of a review: Claude Code's event, or eventReview
	Project      string            `json:"project,omitempty"`
	Prompt       string            `json:"prompt,omitempty"`
	Mode         string            `json:"mode,omitempty"` // of a switch: on or off
	By           string            `json:"by,omitempty"`   // of a switch: one of those below
	Iteration    int               `json:"iteration,omitempty"`
	Limit        int               `json:"max_iterations,omitempty"`
	Model        string            `json:"model,omitempty"` // of the reviewer, as far as ccc knows
	PromptSource string            `json:"prompt_source,omitempty"`
	Way          string            `json:"way,omitempty"`        // how the reviewer was asked: with the agent's prompt "cache" or with its "own" prompt
	NoVerdict    bool              `json:"no_verdict,omitempty"` // the reviewer gave none, and the feedback is what it said
	Withheld     bool              `json:"withheld,omitempty"`   // that held an approval, and the feedback is the default one
	Told         bool              `json:"told,omitempty"`       // the user was told at once that this stop was not reviewed
	Tool         string            `json:"tool,omitempty"`       // of a call and a refused one, as in Bash(git status)
	Words        string            `json:"words,omitempty"`      // the reviewer's, cut
	Command      string            `json:"command,omitempty"`    // what ccc try ran for a reviewer, with duration_seconds
	ExitCode     *int              `json:"exit_code,omitempty"`  // of the command
	Output       string            `json:"output,omitempty"`     // the end of what the command printed
	NoCopy       string            `json:"no_copy,omitempty"`    // why the reviewer could run nothing
	Review       string            `json:"review,omitempty"`     // of all records of one review the same
	Process      string            `json:"process,omitempty"`    // of a begun review: whose end is its end; see processInfo
	Deadline     time.Time         `json:"deadline,omitzero"`    // of a begun review
	look                           // of a prompt, and of an ended review the one before it
	Since        string            `json:"since,omitempty"`            // of an ended review: how its change begins
	Base         string            `json:"base,omitempty"`             // and the commit that it was compared with
	Files        map[string]string `json:"files,omitzero"`             // the change's paths with what was judged there, "" for no file
	Moved        []string          `json:"moved,omitempty"`            // paths that changed while the review ran
	Unbound      string            `json:"not_bound,omitempty"`        // why an approval speaks of no files
	SentBefore   bool              `json:"sent_back_before,omitempty"` // all of the change had been sent back as it is
	LastMessage  string            `json:"last_message,omitempty"`     // of a begun review: the agent's, cut
	Question     json.RawMessage   `json:"question,omitempty"`         // of a begun review: the input of AskUserQuestion
	Requests     []string          `json:"requests,omitempty"`         // of a begun review: the user's, each cut
	outcome
}

// The kinds of records. Those of a review have its id: its begin, what its reviewer called, was refused, said
// and ran with ccc try, and its end. A stop at the limit, or a review that failed before it began, is an end
// alone.
const (
	kindPrompt  = "prompt" // of the user's
	kindWake    = "wake"   // a prompt of Claude Code's own, such as a notification
	kindSwitch  = "switch" // supervision was switched on or off
	kindBegin   = "begin"
	kindCall    = "call"
	kindRefused = "refused" // Claude Code refused a call, which was recorded before
	kindWords   = "words"
	kindRun     = "run"
	kindEnd     = "end"
)

// Who switched.
const (
	switchedInSession = "/supervisor"
	switchedOutside   = "supervisor-mode"
	switchedByAgent   = "agent"
)

// eventReview is the event of a review by hand, with ccc review.
const eventReview = "review"

// append adds r to the session's timeline.
func (s sessionFiles) append(r record) error {
	return appendFile(s.timelineFile(), append(encodeJSON(r), '\n'))
}

// parseRecord reads a line of a timeline; ok is false for what is not one, as what ccc 1.2 wrote.
func parseRecord(line []byte) (r record, ok bool) {
	err := json.Unmarshal(line, &r)
	return r, err == nil && r.Kind != ""
}

func modeWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// A look is what git tells of a working tree at one time.
type look struct {
	Top    string `json:"worktree,omitempty"`   // the directory, "" outside git
	Repo   string `json:"repository,omitempty"` // the git directory that all working trees of the repository share
	Head   string `json:"head,omitempty"`       // the commit checked out, "" before the first
	Branch string `json:"branch,omitempty"`     // "" where no branch is checked out
	Paths  paths  `json:"paths,omitempty"`      // those that differ from Head
	Unseen string `json:"unseen,omitempty"`     // why Paths is not known
}

// paths are the paths of a working tree that differ from a commit, each as git quotes it: a name that is no
// UTF-8 can't stand in JSON. The values are what the commit has there and what `git add -A` would add now, each
// as mode and object id, and "" where there is no file. Ignored files are left out.
type paths map[string][2]string

// A reviewRound is one review of a session, or a stop at the limit, with what was recorded while it ran.
type reviewRound struct {
	record             // how it ended; of one that runs, or was killed, how it began
	Tools    []string  `json:"tools"`   // what the reviewer called, but for what was refused
	Runs     []record  `json:"runs"`    // what ccc try ran
	Refused  []string  `json:"refused"` // calls that Claude Code refused to the reviewer
	current  string    // the reviewer's last call, "" where it was refused
	start    time.Time // when it began
	requests int       // how many prompts of the user's came before it
	begun    int       // which of the timeline's records told of it first,
	told     int       // and which last
}

// A history is what a session's timeline tells.
type history struct {
	Requests []record
	prompts  []numbered    // all, Claude Code's own too
	Rounds   []reviewRound // as they began
	records  int
	project  string
	top      string    // the working tree that its last prompt or review was in, "" outside git
	limit    int       // of reviews a request
	updated  time.Time // the last record's
	present  int       // the first of Rounds since the user's last prompt, or since supervision was switched off
	asked    int       // which of the timeline's records is that prompt, 0 for none
}

// A numbered is a record with its number in the timeline, from 1.
type numbered struct {
	record
	number int
}

// readHistory reads the session's timeline. With an error the history holds what could be read.
func (s sessionFiles) readHistory() (h history, err error) {
	err = readLines(s.timelineFile(), func(line []byte) {
		if r, ok := parseRecord(line); ok {
			h.add(r)
		}
	})
	for i := range h.Rounds {
		h.Rounds[i] = h.Rounds[i].settled()
	}
	return h, err
}

// endingTime is how many seconds before Claude Code would end the hook the review is given up: the guard
// takes up to one, and what a killed guard left in its pipes up to pipePatience.
const endingTime = 5

// settled says of a review that has no end what has become of it by now: it runs, or was killed.
func (r reviewRound) settled() reviewRound {
	if r.Kind == kindEnd {
		return r
	}
	isOver := time.Now().After(r.Deadline.Add(endingTime * time.Second))
	if isVisible(r.Process) { // while a laptop sleeps, the time of a review goes on, and the review does not
		isOver = !isRunning(r.Process)
	}
	if r.Verdict = verdictReviewing; isOver {
		r.Verdict, r.Error = verdictFailed, errKilled.Error()
	}
	return r
}

// of returns the index of the review with that id, -1 for none.
func (h *history) of(review string) int {
	return slices.IndexFunc(h.Rounds, func(r reviewRound) bool { return review != "" && r.Review == review })
}

// isRunning reports whether the process of that name runs.
func isRunning(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(number)
	_, p := processInfo(pid)
	return name != "" && p.name == name
}

// add takes the next record. It returns the index of the review that the record is of, -1 for none.
func (h *history) add(r record) (round int) {
	h.records++
	h.project, h.top, h.limit = cmp.Or(r.Project, h.project), cmp.Or(r.Top, h.top), cmp.Or(r.Limit, h.limit)
	if r.Time.After(h.updated) {
		h.updated = r.Time
	}
	round = h.of(r.Review)
	if round < 0 && (r.Kind == kindBegin || r.Kind == kindEnd) {
		h.Rounds = append(h.Rounds, reviewRound{record: r, Tools: []string{}, Runs: []record{}, Refused: []string{},
			start: r.Time, requests: len(h.Requests), begun: h.records, told: h.records})
		return len(h.Rounds) - 1
	}
	if r.Kind == kindPrompt || r.Kind == kindWake {
		h.prompts = append(h.prompts, numbered{record: r, number: h.records})
	}
	switch {
	case r.Kind == kindPrompt:
		h.present, h.asked = len(h.Rounds), h.records
		if r.Prompt != "" { // as of a client that tells it in another way
			h.Requests = append(h.Requests, r)
		}
	case r.Kind == kindSwitch && r.Mode == modeWord(false):
		h.present = len(h.Rounds)
		if h.present > 0 && h.Rounds[h.present-1].Kind == kindBegin {
			h.present-- // it ends the review that runs
		}
	case round >= 0:
		h.Rounds[round].take(r, h.records)
	}
	return round
}

// take takes a record of the review that has begun, which is the timeline's of that number.
func (r *reviewRound) take(one record, number int) {
	switch one.Kind {
	case kindCall:
		r.Tools, r.current = append(r.Tools, one.Tool), one.Tool
	case kindRefused:
		if i := slices.Index(r.Tools, one.Tool); i >= 0 {
			r.Tools = slices.Delete(r.Tools, i, i+1)
		}
		r.Refused, r.current = append(r.Refused, one.Tool), ""
	case kindRun:
		r.Runs = append(r.Runs, one)
	case kindEnd:
		one.LastMessage, one.Question, one.Requests = r.LastMessage, r.Question, r.Requests
		r.record, r.told = one, number
	}
}

// last returns the review that runs, else of those since the user's last prompt the one that lastOf returns.
func (h *history) last() *reviewRound {
	for i := range h.Rounds {
		if h.Rounds[i].Verdict == verdictReviewing {
			return &h.Rounds[i]
		}
	}
	return lastOf(h.Rounds[h.present:])
}

// feedback returns the last review behind the user's last prompt that sent the agent on, and its feedback if
// no approval has followed it.
func (h *history) feedback() (last record, open string) {
	for _, r := range h.Rounds {
		if r.told < h.asked {
			continue
		}
		if r.Event == eventStop && r.Verdict == verdictAllow {
			open = ""
		}
		if r.Event != eventReview && r.Verdict == verdictBlock {
			last, open = r.record, r.Feedback
		}
	}
	return last, open
}

// lastOf returns the review that tells of the last stop, nil for none: that of the stop, whatever became of
// it, or one by hand that gave a verdict and began after it. Of reviews that overlapped, one that refused
// counts.
func lastOf(rounds []reviewRound) (last *reviewRound) {
	for i := range rounds {
		r := &rounds[i]
		isVerdict := r.Verdict == verdictAllow || r.Verdict == verdictBlock
		if r.Event == eventPreToolUse || r.Event == eventReview && !isVerdict {
			continue
		}
		overlapped := last != nil && last.told > r.begun
		if !overlapped || last.Verdict != verdictBlock || r.Verdict == verdictBlock {
			last = r
		}
	}
	return last
}

// wasPrompted reports whether another session than that one had a prompt of its user's in the working tree at top
// since then.
func (d stateDir) wasPrompted(top string, since time.Time, than string) bool {
	ids, _ := d.sessions()
	return slices.ContainsFunc(ids, func(id string) bool {
		other := d.session(id)
		info, err := os.Stat(other.timelineFile())
		if id == than || err != nil || info.ModTime().Before(since) {
			return false
		}
		h, _ := other.readHistory()
		return slices.ContainsFunc(h.Requests, func(r record) bool { return r.Top == top && r.Time.After(since) })
	})
}

// asked is the user's newest request that the review knew of.
func (r reviewRound) asked() string {
	return strings.Join(r.Requests[max(0, len(r.Requests)-1):], "")
}
