package main

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"
)

// A record is a line of a timeline as the tests write and read it, flat: its kind says which member of an entry has what is set.
type record struct {
	Time         time.Time
	Kind         string
	Project      string
	Review       string // the id of the review that it is of
	Prompt       string
	Mode         mode
	By           string
	Observed     bool
	Event        string
	Iteration    int
	Limit        int
	PromptSource string
	Closes       []string
	Change       []string
	look
	Process     string
	Deadline    time.Time
	LastMessage string
	Question    string
	Requests    []string
	outcome
	Way, NoCopy, Model  string
	NoVerdict, Withheld bool
	Tool, Words         string
	Command             string
	ExitCode            *int
	Output              string
	Begun               time.Time // of a review's end; by itself the time of its begin
}

// The kinds of records: of a review its begin, its end, and its steps.
const (
	kindPrompt  = "prompt"
	kindSwitch  = "switch"
	kindBegin   = "begin"
	kindEnd     = "end"
	kindCall    = stepCall
	kindRefused = stepRefused
	kindError   = stepError
	kindWords   = stepWords
	kindRun     = stepRun
)

// ofKind returns r with the kind that goes without saying: of the begin or the end of a review.
func ofKind(r record) record {
	if r.Kind == "" && r.Verdict == "" {
		r.Kind = kindBegin
	} else if r.Kind == "" {
		r.Kind = kindEnd
	}
	return r
}

// unnamed counts the reviews without an id.
var unnamed atomic.Int64

// review returns the review that the record is the begin or the end of. Without an id it has one of its own.
func (r record) review() review {
	v := review{ID: r.Review, Event: r.Event, Iteration: r.Iteration, Limit: r.Limit, Begun: r.Begun, Process: r.Process,
		Deadline: r.Deadline, Requests: r.Requests, LastMessage: r.LastMessage, Question: r.Question, Closes: r.Closes, Change: r.Change,
		PromptSource: r.PromptSource, Observed: r.Observed, Model: r.Model, Way: r.Way, NoCopy: r.NoCopy, Seen: r.look, outcome: r.outcome}
	v.did.Tools, v.Seen.Top = []string{}, cmp.Or(v.Seen.Top, r.Project)
	v.NoVerdict, v.Withheld = r.NoVerdict || r.outcome.NoVerdict, r.Withheld || r.outcome.Withheld
	if v.Begun.IsZero() {
		v.Begun = r.Time
	}
	if v.ID == "" {
		v.ID = fmt.Sprintf("unnamed-%d", unnamed.Add(1))
	}
	if r.Kind != kindBegin {
		v.Ended = r.Time
		if v.Ended.IsZero() {
			v.Ended = now()
		}
	}
	return v
}

// withSteps returns the review that ended so, whose reviewer called, ran and was refused that.
func (r record) withSteps(tools []string, runs []record, refused []string) review {
	v := r.review()
	v.did = steps{Tools: append([]string{}, tools...), Refused: refused}
	for _, run := range runs {
		v.did.Runs = append(v.did.Runs, run.step())
	}
	return v
}

// step returns the step that the record is.
func (r record) step() step {
	return step{Review: r.Review, Kind: r.Kind, Tool: r.Tool, Words: r.Words, Command: r.Command, ExitCode: r.ExitCode, Output: r.Output,
		Error: r.Error, DurationSeconds: r.DurationSeconds}
}

// entry returns the record as a line of a timeline.
func (r record) entry() entry {
	r = ofKind(r)
	e := entry{Time: r.Time, Project: r.Project}
	switch r.Kind {
	case kindPrompt:
		e.Prompt = &prompt{Text: r.Prompt, Seen: r.look}
	case kindSwitch:
		e.Switch = &switched{Mode: r.Mode, By: r.By, Limit: r.Limit}
	case kindBegin, kindEnd:
		v := r.review()
		e.Review = &v
	default:
		did := r.step()
		e.Step = &did
	}
	return e
}

// entries returns the records as lines of a timeline. The end of a review has what its begin has, where it says nothing else.
func entries(records ...record) (lines []entry) {
	begun := map[string]*review{}
	for _, r := range records {
		e := r.entry()
		if v := e.Review; v != nil {
			if begin := begun[v.ID]; begin != nil {
				v.Begun = begin.Begun
				if v.LastMessage+v.Question == "" {
					v.LastMessage, v.Question = begin.LastMessage, begin.Question
				}
				if v.Requests == nil {
					v.Requests = begin.Requests
				}
			}
			begun[v.ID] = v
		}
		lines = append(lines, e)
	}
	return lines
}

// historyOf returns the history of a timeline with these lines.
func historyOf(records ...record) *history {
	h := &history{}
	for _, e := range entries(records...) {
		h.add(e)
	}
	h.settle()
	return h
}

// flat returns the line of a timeline as a record.
func flat(e entry) record {
	r := record{Time: e.Time, Project: e.Project}
	switch {
	case e.Prompt != nil:
		r.Kind, r.Prompt, r.look = kindPrompt, e.Prompt.Text, e.Prompt.Seen
	case e.Switch != nil:
		r.Kind, r.Mode, r.By, r.Limit = kindSwitch, e.Switch.Mode, e.Switch.By, e.Switch.Limit
	case e.Review != nil:
		v := *e.Review
		r = record{Time: e.Time, Project: e.Project, Kind: kindEnd, Review: v.ID, Event: v.Event, Iteration: v.Iteration, Limit: v.Limit,
			Begun: v.Begun, Process: v.Process, Deadline: v.Deadline, Requests: v.Requests, LastMessage: v.LastMessage,
			Question: v.Question, Closes: v.Closes, Change: v.Change, PromptSource: v.PromptSource, Observed: v.Observed, Model: v.Model, Way: v.Way, NoCopy: v.NoCopy,
			look: v.Seen, outcome: v.outcome, NoVerdict: v.NoVerdict, Withheld: v.Withheld}
		if v.Ended.IsZero() {
			r.Kind = kindBegin
		}
	case e.Step != nil:
		s := *e.Step
		r.Kind, r.Review, r.Tool, r.Words, r.Command, r.ExitCode, r.Output = s.Kind, s.Review, s.Tool, s.Words, s.Command, s.ExitCode, s.Output
		r.Error, r.DurationSeconds = s.Error, s.DurationSeconds
	}
	return r
}
