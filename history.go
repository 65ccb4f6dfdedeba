package main

// The history of a session, which is made of the lines of its timeline: what each says adds to it.

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// A history is what a session's timeline holds. The order of its lines counts, not their clock.
type history struct {
	Reviews       []review // in the order of their last lines
	last          standing // as of the last read
	isPutOff      bool     // the last stop was put off for subagents, and no prompt came since
	session       sessionFiles
	project       string
	limit         int       // how many reviews a request has
	updated       time.Time // the last line's
	line          int       // the number of lines
	firstPrompted time.Time // when the first prompt came, zero before that
	newestPrompt  string    // the last with words, "" for none
	prompted      int       // the number of the last prompt's line, 0 before the first
	off           int       // that of the last switch to off
	switched      mode      // by the last switch, "" before one
	switchedAt    time.Time
	file          lineReader
}

// A standing sums up the reviews of a session. A review that is missing is empty.
type standing struct {
	stop review // the last of a stop
	// The last that sent the agent back. An approval clears it, and so does a prompt, unless it was observed:
	// then the agent has never seen it.
	refusal review

	// Since the user's last prompt; result also since supervision was switched off:
	result         *review // the one that runs, else the last of a stop, or by hand with a verdict
	number         int     // of the last review, 0 before the first
	withoutVerdict int     // how many of the last in a row gave no verdict, without those by hand
	spent          float64 // in US dollars, since the last end of a stop, without those by hand
	isRed          bool    // the check failed when it last ran, and nothing was approved since
}

// readHistory reads the session's timeline. With an error the history has what could be read.
func (s sessionFiles) readHistory() (*history, error) {
	h := s.openHistory((*history).add)
	return h, h.read()
}

// goOn has the history go on with that of the next session, which took this one over at that time. Reviews
// that had no end, or began later, are no part of it.
func (h *history) goOn(next sessionFiles, began time.Time) error {
	h.Reviews = slices.DeleteFunc(h.Reviews, func(r review) bool {
		return r.Ended.IsZero() || r.Begun.After(began)
	})
	h.session = next
	h.file = lineReader{path: next.timelineFile(), lines: lineWriter{line: h.file.lines.line}}
	return h.read()
}

// openHistory returns the history of the session, of which nothing is read yet. take gets each line.
func (s sessionFiles) openHistory(take func(*history, entry)) *history {
	h := &history{session: s, file: lineReader{path: s.timelineFile()}}
	h.file.lines.line = func(line []byte) {
		if e, ok := parseEntry(line); ok {
			take(h, e)
		}
	}
	return h
}

// read reads what has been added to the timeline since the last read. Then it gives each review without an
// end its verdict as of now: the review runs, or has ended without a verdict. A review writes its end before
// it releases its lock, so read reads the file both before and after it looks at the locks.
func (h *history) read() error {
	err := h.file.read()
	over := map[string]bool{}
	for _, r := range h.Reviews {
		latest := r.Deadline.Add(endingTime * time.Second)
		over[r.ID] = r.Ended.IsZero() && !h.session.isHeld(r.ID, latest)
	}
	err = cmp.Or(err, h.file.read())
	for i := range h.Reviews {
		r := &h.Reviews[i]
		switch {
		case !r.Ended.IsZero():
		case over[r.ID]:
			r.Verdict = verdictCancelled
			r.Error = errUserEnded.Error()
		default:
			r.Verdict = verdictReviewing
		}
	}
	h.sum()
	return err
}

// endingTime, in seconds, is what an end may take after the deadline: termGrace, killPatience, pipePatience.
const endingTime = 5

// review returns the review with that id, nil for none.
func (h *history) review(id string) *review {
	if i := slices.IndexFunc(h.Reviews, func(r review) bool { return r.ID == id }); i >= 0 {
		return &h.Reviews[i]
	}
	return nil
}

func (h *history) add(e entry) {
	h.line++
	h.project = cmp.Or(e.Project, h.project)
	if e.Time.After(h.updated) {
		h.updated = e.Time
	}
	switch {
	case e.Unreviewed != "":
		h.isPutOff = e.Unreviewed == unreviewedYet
	case e.Prompt != nil:
		h.firstPrompted = cmp.Or(h.firstPrompted, e.Time)
		h.newestPrompt = cmp.Or(e.Prompt.Text, h.newestPrompt)
		h.prompted = h.line
		h.isPutOff = false
	case e.Switch != nil:
		h.limit = cmp.Or(e.Switch.Limit, h.limit)
		h.switched = e.Switch.Mode
		h.switchedAt = e.Time
		if h.switched == modeOff {
			h.off = h.line
		}
	case e.Review != nil:
		h.addReview(*e.Review)
	case e.Step != nil:
		if r := h.review(e.Step.Review); r != nil {
			r.did.add(*e.Step)
			r.stepped = e.Time
		}
	}
}

// addReview adds a line of a review: one that begins, or what its end adds.
func (h *history) addReview(line review) {
	none := steps{Tools: []string{}, Runs: []step{}, Refused: []string{}} // as JSON lists, not null
	r := review{did: none, first: h.line}
	if known := h.review(line.ID); known != nil {
		r = *known
		h.Reviews = slices.DeleteFunc(h.Reviews, func(r review) bool { return r.ID == line.ID })
	}
	// The line of an end has only what is new: the other members of r stay as they are.
	_ = json.Unmarshal(encodeJSON(line), &r)
	r.isRecorded = true
	r.line = h.line
	h.limit = cmp.Or(line.Limit, h.limit)
	h.isPutOff = h.isPutOff && !r.occasion().isStop
	h.Reviews = append(h.Reviews, r)
}

func (d *steps) add(next step) {
	switch next.Kind {
	case stepCall:
		d.Tools = append(d.Tools, next.Tool)
		d.current = next.Tool
	case stepRefused, stepError:
		if i := slices.Index(d.Tools, next.Tool); i >= 0 {
			d.Tools = slices.Delete(d.Tools, i, i+1)
		}
		d.current = ""
		if next.Kind == stepRefused {
			d.Refused = append(d.Refused, next.Tool)
		}
	case stepRun:
		d.Runs = append(d.Runs, next)
	}
}

// newestRequest returns the newest prompt, or if no hook has recorded one, what the last review was given.
func (h *history) newestRequest() string {
	newest := h.newestPrompt
	for i := len(h.Reviews) - 1; i >= 0 && newest == ""; i-- {
		newest = h.Reviews[i].Request
	}
	return newest
}

// sum sums up the reviews. One that runs counts as one since the prompt.
func (h *history) sum() {
	var sum standing
	for _, r := range h.Reviews {
		on := r.occasion()
		isLater := r.line > h.prompted
		if on.isStop {
			sum.stop = r
		}
		isRefusal := r.Verdict == verdictBlock && !on.isByHand
		switch {
		case r.approves():
			sum.refusal = review{}
		case isRefusal && (r.Observed || isLater):
			sum.refusal = r
		}
		isRunning := r.Verdict == verdictReviewing
		if !isLater && !isRunning {
			continue
		}
		sum.number = cmp.Or(r.Iteration, sum.number)
		isVerdict := r.Verdict == verdictAllow || r.Verdict == verdictBlock && !r.NoVerdict
		countsAsStop := !on.isQuestion && (!on.isByHand || isVerdict)
		isFound := sum.result != nil && sum.result.Verdict == verdictReviewing
		if !isFound && (isRunning || r.line > h.off && countsAsStop) {
			sum.result = &r
		}
		if !on.isByHand {
			sum.spent += r.CostUSD
			sum.withoutVerdict++
			if !r.NoVerdict {
				sum.withoutVerdict = 0
			}
		}
		if r.endsRequest() && on.isStop {
			sum.spent = 0
		}
		if check := r.check(); check != nil && check.Error == "" {
			sum.isRed = check.isRed()
		}
		sum.isRed = sum.isRed && !r.approves()
	}
	h.last = sum
}

// budgetLeft returns, in US dollars, what the reviews of the request have left of its budget.
func (h *history) budgetLeft(budget float64) float64 {
	return math.Round((budget-h.last.spent)*1e6) / 1e6 // a difference of fractions has odd last digits
}
