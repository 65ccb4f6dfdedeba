package main

// The timeline of a session, supervisor-ID-events.jsonl: a JSON object on each line, only ever appended to.
// It is ccc's format for programs: `ccc log --json` prints each line with "session_id" before the rest and
// with secrets redacted. The guide has the same members in tables; TestFormat compares them.
//
// A line has "time", "project" and exactly one of these members; "unreviewed" may have "subagents" beside it:
//
//	"prompt"  a prompt of the user's
//	"switch"  supervision was switched on or off
//	"review"  a review that begins, or what its end adds: the two have the same id
//	"step"    what the reviewer of a review did
//	"unreviewed"  why a stop was not reviewed: in the place of a review
//
// Their members are documented at the types below. What is empty, zero, false or not known is left out. Times
// are UTC, to the millisecond; durations are in seconds, costs in US dollars, as Claude Code reckons them.
// Texts are verbatim, except that runs are redacted. A shortened text is marked where something was left out.
// A line of any other form is passed over.

import (
	"cmp"
	"encoding/json"
	"time"
)

// An entry is a line of a timeline.
type entry struct {
	Time       time.Time `json:"time"`                 // when it was written
	Project    string    `json:"project,omitempty"`    // the directory in which the session was started
	Prompt     *prompt   `json:"prompt,omitempty"`     // of each line one of these five is there
	Switch     *switched `json:"switch,omitempty"`     // see switched
	Review     *review   `json:"review,omitempty"`     // see review
	Step       *step     `json:"step,omitempty"`       // see step
	Unreviewed string    `json:"unreviewed,omitempty"` // work: the agent had only talked; or subagents
	Subagents  []string  `json:"subagents,omitempty"`  // of the latter: the ids of those that worked on
}

// unreviewedYet is why a stop at which subagents worked was not reviewed.
const unreviewedYet = "subagents"

// A prompt is one that the user submitted, or Claude Code for them at a time that they have set.
type prompt struct {
	Text string `json:"text,omitempty"` // whole; none of an image alone
}

// A switched is a switch of supervision, by /supervisor.
type switched struct {
	Mode  mode `json:"mode"`                     // on, off or observe
	Limit int  `json:"max_iterations,omitempty"` // how many reviews a request has
}

// A review is one of a stop, of a question or by hand. A stop at the limit, and a review that could not
// begin, have one line.
type review struct {
	ID          string    `json:"id"`                       // unique in the session
	Event       string    `json:"event,omitempty"`          // Stop, PreToolUse (a question), review (by hand)
	Iteration   int       `json:"iteration,omitempty"`      // its number among those of the request, from 1
	Limit       int       `json:"max_iterations,omitempty"` // how many it has; not by hand or observed
	Begun       time.Time `json:"begun,omitzero"`           // when it began
	Observed    bool      `json:"observed,omitempty"`       // the agent stops, whatever the verdict
	Deadline    time.Time `json:"deadline,omitzero"`        // of its time: decides if locks can't tell
	Request     string    `json:"request,omitempty"`        // the newest that the reviewer gets, cut
	LastMessage string    `json:"last_message,omitempty"`   // the agent's, cut
	Question    string    `json:"question,omitempty"`       // a line for each, and "- " for an option
	Waiting     bool      `json:"waiting,omitempty"`        // an approval ends no request: more was to come
	Awaited     string    `json:"awaited,omitempty"`        // what was to come, in words

	// What follows is added by the end, but for the working tree's path and repository.
	reviewerFacts
	changeFacts
	Ended time.Time `json:"ended,omitzero"` // when it ended
	outcome

	isRecorded  bool      // the timeline has a line of it
	did         steps     // of the lines of its steps
	first, line int       // the numbers of its first and its last line in the timeline
	stepped     time.Time // when its last step was recorded
	lost        error     // see supervision
}

// reviewerFacts are who the reviewer was, and how it was asked.
type reviewerFacts struct {
	PromptSource string `json:"prompt_source,omitempty"` // path of the instructions, or built-in
	Provider     string `json:"provider,omitempty"`      // the reviewer's
	Model        string `json:"model,omitempty"`         // the reviewer's
	Judge        string `json:"judge,omitempty"`         // its provider and model, if not the session's
	Way          string `json:"way,omitempty"`           // with the agent's "cache", or its "own" prompt
	NoCopy       string `json:"no_copy,omitempty"`       // why no copy could be made
	Rule         string `json:"rule,omitempty"`          // of the user's: with it the reviewer runs nothing
}

// changeFacts are what the review saw of the working tree, and of the change in it.
type changeFacts struct {
	Seen   look            `json:"seen,omitzero"`    // the working tree, as the review began
	Change []string        `json:"change,omitempty"` // its first paths, each after git's letter
	from   begin           // where the change began
	held   map[string]held // see judgedChange
}

// held is how much of an open change is in a tree: something of it, only a part of what its last stop has
// left, and all of it.
type held struct{ isHere, isPart, isAll bool }

// addition returns what the line of the end adds to that of the begin.
func (r review) addition() review {
	r.Seen.worktree = worktree{}
	return review{ID: r.ID, Observed: r.Observed, reviewerFacts: r.reviewerFacts, changeFacts: r.changeFacts,
		Ended: r.Ended, outcome: r.outcome}
}

// A verdict is what became of a stop, of a question or of a review by hand.
type verdict string

const (
	verdictBlock     verdict = "block"     // the agent goes on
	verdictAllow     verdict = "allow"     // the agent may stop
	verdictFailed    verdict = "failed"    // no review took place
	verdictLimit     verdict = "limit"     // the request had used up its reviews
	verdictCancelled verdict = "cancelled" // ended by the user, with its client, or by a kill of ccc
	verdictReviewing verdict = "reviewing" // it is not known yet; never recorded
)

// A cause is a kind of error that decides what the user is told.
type cause string

const (
	causeTooLong cause = "too_long" // the conversation is too long for the model
	causeKey     cause = "key"      // a login, key or token is missing or refused
	causeModel   cause = "model"    // the model is not found
	causeForm    cause = "form"     // the reviewer does not keep to the form of a verdict
	causeGone    cause = "gone"     // the conversation, or the directory in which a reviewer starts, is gone
	causeOff     cause = "off"      // supervision was switched off
)

// An outcome is what a review came to. Its members are beside those of the review, from its end on.
type outcome struct {
	Verdict         verdict `json:"verdict,omitempty"`          // one of those above
	Feedback        string  `json:"feedback,omitempty"`         // what is left to do; if allow, to the user
	NoVerdict       bool    `json:"no_verdict,omitempty"`       // the reviewer gave only words: the feedback
	Withheld        bool    `json:"withheld,omitempty"`         // but not fit ones: the feedback is ccc's
	Error           string  `json:"error,omitempty"`            // why no verdict; of limit: the budget
	Cause           cause   `json:"cause,omitempty"`            // the kind of that, if one of those above
	DurationSeconds float64 `json:"duration_seconds,omitempty"` // of the reviewer's process
	CostUSD         float64 `json:"cost_usd,omitempty"`         // of this review alone
	Tokens          *tokens `json:"tokens,omitempty"`           // as the API counts them
	CacheMissed     bool    `json:"cache_missed,omitempty"`     // of way "cache": later reviews are "own"
	ReviewerSession string  `json:"reviewer_session,omitempty"` // the id of the fork
}

// tokens is what calls of the API used. All of its members are there.
type tokens struct {
	Input      int `json:"input_tokens"`                // neither read from the API's cache nor written to it
	CacheRead  int `json:"cache_read_input_tokens"`     // read from it
	CacheWrite int `json:"cache_creation_input_tokens"` // written to it
	Output     int `json:"output_tokens"`               // what the model wrote
}

// freshInput returns how many input tokens the API did not have in its prompt cache.
func (t *tokens) freshInput() int { return t.Input + t.CacheWrite }

// cacheMissed reports whether the first answer with these tokens shows that the cache did not serve: less
// than half of what was read came from it. Without any figure nothing is known.
func (t tokens) cacheMissed() bool { return 2*t.CacheRead < t.freshInput()+t.CacheRead }

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
}

// A look is a working tree at one time. Outside a repository only its worktree is there.
type look struct {
	worktree
	begin
	Unseen string `json:"unseen,omitempty"` // why its tree is not known
}

type begin struct {
	Tree   string    `json:"tree,omitempty"`   // git's id of what lay there, as `git add -A` would commit it
	Commit string    `json:"commit,omitempty"` // the commit checked out; none before the first
	Branch string    `json:"branch,omitempty"` // as git names it in full; none if none is checked out
	Time   time.Time `json:"time,omitzero"`    // of the look; zero is before all others
	Check  string    `json:"check,omitempty"`  // the mode and git's id of .claude/check
}

// A step is what the reviewer of a review did.
type step struct {
	Review   string `json:"review"`              // the id of the review
	Kind     string `json:"kind"`                // one of those below
	Tool     string `json:"tool,omitempty"`      // of call, refused and error: as in Bash(git status), cut
	Words    string `json:"words,omitempty"`     // of words, cut
	Command  string `json:"command,omitempty"`   // of run, as this and the rest; as it was written
	ExitCode *int   `json:"exit_code,omitempty"` // 2, 124 and 125 with an error are of ccc try
	Output   string `json:"output,omitempty"`    // the last 2,000 bytes of what it printed
	Error    string `json:"error,omitempty"`     // why it did not take place, or was ended by ccc

	DurationSeconds float64 `json:"duration_seconds,omitempty"` // how long it took
}

func (s step) redacted() step {
	for _, quoted := range []*string{&s.Tool, &s.Words, &s.Command, &s.Output, &s.Error} {
		*quoted = redact(*quoted)
	}
	return s
}

const (
	stepCall    = "call"    // a call of a tool
	stepRefused = "refused" // Claude Code refused the call, which was recorded before
	stepError   = "error"   // the call, which was recorded before, failed, and was no command
	stepWords   = "words"   // the reviewer said something
	stepRun     = "run"     // a command was run in a copy
)

// steps are what the reviewer of a review did, as lists.
type steps struct {
	Tools   []string `json:"tools"`   // calls that were neither refused nor errors, as in step.Tool
	Runs    []step   `json:"runs"`    // what was run in copies
	Refused []string `json:"refused"` // calls that Claude Code refused
	current string   // its last call, "" if that came to nothing
}

// append adds the entry to the session's timeline, as of now.
func (s sessionFiles) append(e entry) error {
	e.Time = cmp.Or(e.Time, now())
	return appendFile(s.timelineFile(), append(encodeJSON(e), '\n'))
}

// parseEntry reads a line of a timeline; ok is false for any other line.
func parseEntry(line []byte) (e entry, ok bool) {
	err := json.Unmarshal(line, &e)
	isOurs := e.Prompt != nil || e.Switch != nil || e.Review != nil || e.Step != nil || e.Unreviewed != ""
	return e, err == nil && isOurs
}

// isAbandoned reports whether the review has no end, and does not run any more.
func (r review) isAbandoned() bool { return r.Ended.IsZero() && r.Verdict == verdictCancelled }

// checkPath is the path of the project's own check in its working tree.
const checkPath = ".claude/check"

// isRed reports whether a run of the check failed.
func (s step) isRed() bool { return s.Error == "" && s.ExitCode != nil && *s.ExitCode != 0 }

// check returns the run of the check before the reviewer was asked, nil if there was none.
func (r review) check() *step {
	if r.occasion().isQuestion || len(r.did.Runs) == 0 || r.did.Runs[0].Command != checkPath {
		return nil
	}
	return &r.did.Runs[0]
}

// isByCheck reports whether the check sent the agent back, and no reviewer was asked.
func (r review) isByCheck() bool { return r.Verdict == verdictBlock && r.Way == "" && r.check() != nil }

// lastTime returns when the review ended, or began if it runs. An abandoned one has ended with its last step.
func (r review) lastTime() time.Time {
	if r.isAbandoned() {
		return cmp.Or(r.stepped, r.Begun)
	}
	return cmp.Or(r.Ended, r.Begun)
}

func (r review) occasion() *occasion { return occasionNamed(r.Event) }

// approves reports whether r approved work: not a question.
func (r review) approves() bool { return r.Verdict == verdictAllow && !r.occasion().isQuestion }

// endsRequest reports whether r approved work, and nothing was still to come.
func (r review) endsRequest() bool { return r.approves() && !r.Waiting }
