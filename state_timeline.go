package main

// The timeline of a session: its records, and the history that is read from them.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A verdict is what became of a stop, of a question or of a review by hand.
type verdict string

const (
	verdictBlock  verdict = "block"  // the agent goes on
	verdictAllow  verdict = "allow"  // the agent may stop
	verdictFailed verdict = "failed" // no review took place
	verdictLimit  verdict = "limit"  // the request had used up its reviews

	verdictCancelled verdict = "cancelled" // the user ended the review
	verdictReviewing verdict = "reviewing" // it is not known yet; never recorded
)

// An outcome is what a review came to.
type outcome struct {
	Verdict         verdict `json:"verdict,omitempty"`
	Feedback        string  `json:"feedback,omitempty"` // what is left to do; never empty with verdictBlock
	Error           string  `json:"error,omitempty"`    // why there was no review
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
	CostUSD         float64 `json:"cost_usd,omitempty"` // of this review alone
	Tokens          *tokens `json:"tokens,omitempty"`
	CacheMissed     bool    `json:"cache_missed,omitempty"` // the agent's did not serve: no later review asks with it
	ReviewerSession string  `json:"reviewer_session,omitempty"`
}

// tokens is what requests used, as the API counts it.
type tokens struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
}

// fresh returns how many input tokens the API did not have in its prompt cache.
func (t *tokens) fresh() int { return t.Input + t.CacheWrite }

// cacheMissed reports whether the first answer with these tokens shows that the cache did not serve: less than
// half of what was read came from it. Without any figure nothing is known.
func (t tokens) cacheMissed() bool { return 2*t.CacheRead < t.fresh()+t.CacheRead }

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
}

// A record is one line of a session's timeline. Its kind says what it tells of.
type record struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // one of those below
	Project string    `json:"project,omitempty"`
	Review  string    `json:"review,omitempty"` // the id of the review that it is of

	// Of a prompt, with the look at the working tree that the agent was in.
	Prompt string `json:"prompt,omitempty"`

	// Of a switch.
	Mode string `json:"mode,omitempty"` // on or off
	By   string `json:"by,omitempty"`   // one of those below

	// Of the begin and the end of a review.
	Event        string   `json:"event,omitempty"` // Claude Code's, or eventReview
	Iteration    int      `json:"iteration,omitempty"`
	Limit        int      `json:"max_iterations,omitempty"`
	PromptSource string   `json:"prompt_source,omitempty"`
	Closes       []string `json:"closes,omitempty"` // ids of the user's requests that end with its approval
	look                  // as the review began; at the begin only where it is
	Change       []string `json:"change,omitempty"` // the first paths that the reviewer was shown, behind a letter

	// Of the begin. The history copies the last three to the end.
	Process     string    `json:"process,omitempty"` // whose end is the review's; see processInfo
	Deadline    time.Time `json:"deadline,omitzero"`
	LastMessage string    `json:"last_message,omitempty"` // the agent's, cut
	Question    string    `json:"question,omitempty"`     // see questionText
	Requests    []string  `json:"requests,omitempty"`     // the user's, each cut

	// Of the end.
	outcome
	Way       string `json:"way,omitempty"`        // with the agent's "cache" or its "own" prompt
	NoCopy    string `json:"no_copy,omitempty"`    // why nothing could be run; below it what fixes that
	NoVerdict bool   `json:"no_verdict,omitempty"` // the reviewer gave none, but words
	Withheld  bool   `json:"withheld,omitempty"`   // these are not the feedback
	Model     string `json:"model,omitempty"`      // the reviewer's, as far as ccc knows

	// Of what the reviewer called, was refused, said, and ran with ccc try. A run has its duration, too, and
	// Error where it did not take place or was ended by ccc.
	Tool     string `json:"tool,omitempty"`  // as in Bash(git status)
	Words    string `json:"words,omitempty"` // cut
	Command  string `json:"command,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Output   string `json:"output,omitempty"` // the end of what the command printed
}

// The kinds of records. Those of a review have its id: its begin, what its reviewer called, was refused, got
// an error for, said and ran with ccc try, and its end. A stop at the limit, or a review that failed before it
// began, is an end alone.
const (
	kindPrompt  = "prompt" // the user's
	kindSwitch  = "switch" // of supervision, on or off
	kindBegin   = "begin"
	kindCall    = "call"
	kindRefused = "refused" // a call, which was recorded before
	kindError   = "error"   // the result of such a call, which was no command
	kindWords   = "words"
	kindRun     = "run"
	kindEnd     = "end"
)

// What switched supervision.
const (
	switchedInSession = "/supervisor"
	switchedOutside   = "supervisor-mode"
	switchedByAgent   = "agent"
)

// eventReview is the event of a review by hand, with ccc review.
const eventReview = "review"

// append adds r, cut, to the session's timeline. Its texts are recorded as they came.
func (s sessionFiles) append(r record) error {
	return appendFile(s.timelineFile(), append(encodeJSON(r.cut()), '\n'))
}

// cut returns r with what it quotes cut to what is recorded.
func (r record) cut() record {
	r.Words, r.LastMessage = cutMiddle(r.Words, 2000), cutMiddle(r.LastMessage, 2000)
	r.Output = strings.ToValidUTF8(r.Output[max(0, len(r.Output)-2000):], "")
	if tool, about, ok := strings.Cut(r.Tool, "("); ok {
		r.Tool = tool + "(" + clip(strings.TrimSuffix(about, ")"), 80) + ")"
	}
	r.Requests = mapped(r.Requests, func(request string) string { return cutMiddle(request, 4000) })
	return r
}

// parseRecord reads a line of a timeline; ok is false for any other line, such as one of ccc 1.2.
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

// A look is what git finds in a working tree at one time.
type look struct {
	tree
	Head   string     `json:"head,omitempty"`   // the commit checked out, "" before the first
	Paths  pathStates `json:"paths,omitempty"`  // those that differ from Head
	TreeID string     `json:"tree,omitempty"`   // with more than pathsLimit: git's id of all that lies there
	Unseen string     `json:"unseen,omitempty"` // why neither is known
}

// pathStates are the paths in which a working tree differs from a commit, quoted by git: a name that is not
// UTF-8 can't stand in JSON. The values are what the commit has there and what `git add -A` would add now,
// each as mode and object id, or "" where there is no file. Ignored files are left out.
type pathStates map[string][2]string

// A reviewRound is one review of a session, or a stop at the limit, with what was recorded while it ran.
type reviewRound struct {
	record               // how it ended; of one that runs, or was killed, how it began
	Tools       []string `json:"tools"`   // what the reviewer called and was given
	Runs        []record `json:"runs"`    // what ccc try ran
	Refused     []string `json:"refused"` // calls that Claude Code refused to the reviewer
	current     string   // the reviewer's last call, "" where that came to nothing
	start       time.Time
	firstRecord int // the numbers, from 1, of the timeline's records of its begin
	lastRecord  int // and of its end; the same as long as it has none
}

// A history is what a session's timeline tells.
type history struct {
	Requests   []record      // the user's prompts
	prompts    []numbered    // these with their numbers, and those without words
	Rounds     []reviewRound // as they began
	records    int           // how many the timeline has
	project    string
	limit      int       // how many reviews a request has
	updated    time.Time // the last record's
	present    int       // the first of Rounds since the last prompt or switch to off
	lastPrompt int       // the number of the last prompt's record, 0 without one
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

// endingTime, in seconds, is how long before Claude Code would end the hook the time of its review is up. The
// guard takes up to one second, and pipes that a killed guard left open take pipePatience.
const endingTime = 5

// settled returns the review with what is known of one without an end: whether it runs or was killed.
func (r reviewRound) settled() reviewRound {
	if r.Kind == kindEnd {
		return r
	}
	isOver := time.Now().After(r.Deadline.Add(endingTime * time.Second))
	if isVisible(r.Process) { // the deadline of a review may pass while a laptop sleeps
		isOver = !isRunning(r.Process)
	}
	r.Verdict = verdictReviewing
	if isOver {
		r.Verdict, r.Error = verdictFailed, errKilled.Error()
	}
	return r
}

// indexOf returns the index of the review with that id, -1 for none.
func (h *history) indexOf(review string) int {
	return slices.IndexFunc(h.Rounds, func(r reviewRound) bool { return review != "" && r.Review == review })
}

// isRunning reports whether the process runs that processInfo named so.
func isRunning(name string) bool {
	_, p := processInfo(processNumber(name))
	return name != "" && p.name == name
}

// processNumber returns the number of the process that processInfo named so, 0 for none.
func processNumber(name string) int {
	number, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(number)
	return pid
}

// add adds the next record. It returns the index of the review that the record is of, -1 for none.
func (h *history) add(r record) (index int) {
	h.records++
	h.project, h.limit = cmp.Or(r.Project, h.project), cmp.Or(r.Limit, h.limit)
	if r.Time.After(h.updated) {
		h.updated = r.Time
	}
	index = h.indexOf(r.Review)
	switch {
	case index < 0 && (r.Kind == kindBegin || r.Kind == kindEnd):
		// A program that reads the history as JSON gets lists, not null.
		h.Rounds = append(h.Rounds, reviewRound{record: r, Tools: []string{}, Runs: []record{},
			Refused: []string{}, start: r.Time, firstRecord: h.records, lastRecord: h.records})
		return len(h.Rounds) - 1
	case r.Kind == kindPrompt:
		h.present, h.lastPrompt = len(h.Rounds), h.records
		h.prompts = append(h.prompts, numbered{record: r, number: h.records})
		if r.Prompt != "" { // a client of a later version may tell it in another way
			h.Requests = append(h.Requests, r)
		}
	case r.Kind == kindSwitch && r.Mode == modeWord(false):
		h.present = len(h.Rounds)
		if h.present > 0 && h.Rounds[h.present-1].Kind == kindBegin {
			h.present-- // the switch ends the review that runs
		}
	case index >= 0:
		h.Rounds[index].add(r, h.records)
	}
	return index
}

// add adds the next record of a review that has begun; number is its number in the timeline.
func (r *reviewRound) add(next record, number int) {
	switch next.Kind {
	case kindCall:
		r.Tools, r.current = append(r.Tools, next.Tool), next.Tool
	case kindRefused, kindError:
		if i := slices.Index(r.Tools, next.Tool); i >= 0 {
			r.Tools = slices.Delete(r.Tools, i, i+1)
		}
		if r.current = ""; next.Kind == kindRefused {
			r.Refused = append(r.Refused, next.Tool)
		}
	case kindRun:
		r.Runs = append(r.Runs, next)
	case kindEnd:
		next.LastMessage, next.Question, next.Requests = r.LastMessage, r.Question, r.Requests
		r.record, r.lastRecord = next, number
	}
}

// last returns the review that runs, else what lastOf returns of those since the user's last prompt.
func (h *history) last() *reviewRound {
	for i := range h.Rounds {
		if h.Rounds[i].Verdict == verdictReviewing {
			return &h.Rounds[i]
		}
	}
	return lastOf(h.Rounds[h.present:])
}

// beginsAnew reports whether the reviews are counted anew with a stop, as they are with a prompt of the
// user's. The count bounds how often one piece of work is sent back. So it begins anew behind an approval,
// and behind a failure or the limit in a turn that began without a prompt, as when a /loop ticks. isActive is
// true in the turn of the stop before, which another hook has blocked then (2.1.200, 2.1.332).
func (h *history) beginsAnew(isActive bool) bool {
	for _, r := range slices.Backward(h.Rounds) {
		if r.Event == eventStop {
			isOver := r.Verdict == verdictFailed || r.Verdict == verdictLimit
			return r.Verdict == verdictAllow || isOver && !isActive
		}
	}
	return false
}

// feedback returns the last review since the user's last prompt that sent the agent on, an empty one where
// there is none, and its feedback if no approval has followed it.
func (h *history) feedback() (last record, open string) {
	for _, r := range h.Rounds {
		if r.lastRecord < h.lastPrompt {
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

// unread returns how many of the last reviews in a row gave no verdict, since the user's last prompt. One by
// hand neither counts nor ends the row.
func (h *history) unread() (row int) {
	for _, r := range h.Rounds {
		switch {
		case r.Event == eventReview:
		case r.NoVerdict && r.lastRecord > h.lastPrompt:
			row++
		default:
			row = 0
		}
	}
	return row
}

// countsAsStop reports whether r is one of a stop, whatever became of it, or a review by hand that gave a
// verdict.
func (r record) countsAsStop() bool {
	isVerdict := r.Verdict == verdictAllow || r.Verdict == verdictBlock && !r.NoVerdict
	return r.Event != eventPreToolUse && (r.Event != eventReview || isVerdict)
}

// lastOf returns the review of a stop, or with a verdict by hand, that ended last; nil where there is none.
func lastOf(rounds []reviewRound) (last *reviewRound) {
	for i := range rounds {
		r := &rounds[i]
		if r.countsAsStop() && (last == nil || r.lastRecord > last.lastRecord) {
			last = r
		}
	}
	return last
}

// newestRequest returns the user's newest request that the review knew of, "" where it knew of none.
func (r reviewRound) newestRequest() string {
	return strings.Join(r.Requests[max(0, len(r.Requests)-1):], "")
}
