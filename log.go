package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long it
// took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// showLog is ccc log [-f] [-n N] [--json] [SESSION].
func showLog(c *call, d dirs) (err error) {
	last, follow, seen := 0, c.has("-f"), map[string]bool{}
	if number, given := c.flags["-n"]; given {
		if last, err = strconv.Atoi(number); err != nil || last < 1 {
			return usageError("log", "-n takes how many reviews to tell, not %q", number)
		}
	}
	page := story{screen: newScreen(os.Stdout), session: stateDir(d.state).session(""), raw: c.has("--json")}
	chosen, ids := say(newestHere), []string{""}
	if len(c.operands) > 0 {
		chosen = ""
		ids[0], err = page.session.dir.findSession(c.operands[0])
	} else {
		ids, err = sessionsHere(d, seen)
	}
	if err != nil {
		return err
	}
	var all []*story
	for _, id := range ids {
		s := page.of(id)
		if len(all) > 0 { // the others of the project are told from now on
			s.timeline.last, s.live = 1, true
		}
		if err := s.timeline.read(); err != nil {
			return err
		}
		if all = append(all, s); len(all) > 1 {
			s.lines = nil
			continue
		}
		if !follow {
			s.timeline.close()
		}
		s.title(chosen)
		if s.tellSoFar(last); !follow {
			return s.Flush()
		}
	}
	if len(all) == 0 {
		page.title("")
	}
	if !follow {
		return page.Flush()
	}
	if len(all) == 0 && !page.raw {
		page.block("", say(waitingForFirst))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return page.tellOn(ctx, all, func() (ids []string) {
		if len(c.operands) == 0 {
			ids, _ = sessionsHere(d, seen)
		}
		return ids
	})
}

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of a
// review are seconds apart.
const pollInterval = 200 * time.Millisecond

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*screen
	session session // without an id: none yet
	raw     bool    // the records as they are, with the session's id, as JSON lines
	live    bool    // what comes is told as it comes

	timeline *lineReader
	lines    [][]byte // of the timeline, not told yet
	h        history
	date     string // of the last record
	rules    string // as last told
	unbound  string // as rules
	open     string // the review that has begun, by its id

	output  *lineReader             // of the review that runs, where its steps are told
	steps   []contentBlock          // of that review, not told yet
	held    string                  // the call among them that waits for its result
	refused map[string]bool         // its calls that have a result, by id
	told    map[string]contentBlock // its calls that were told
}

// of is the story of a session on the same screen.
func (s story) of(id string) *story {
	s.session = s.session.dir.session(id)
	t := &s
	t.timeline = t.session.followTimeline(func(line []byte) { t.lines = append(t.lines, bytes.Clone(line)) })
	return t
}

// tellOn goes on with the stories, the first of which was told last, and with those that next names, until ctx ends.
func (s story) tellOn(ctx context.Context, all []*story, next func() []string) (err error) {
	var current *story
	if len(all) > 0 {
		current = all[0]
	}
	for ended := false; ; {
		if err = cmp.Or(err, s.Flush()); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			ended = true // what came before the end is told too
		case <-time.After(pollInterval):
		}
		for _, id := range slices.Backward(next()) {
			all = append(all, s.of(id))
		}
		for _, one := range all {
			if err = cmp.Or(err, one.look()); one.isQuiet() {
				continue
			}
			if one != current {
				if !s.raw {
					fmt.Fprintln(s)
				}
				one.title(say(map[bool]words{false: newcomer, true: goesOn}[one.live]))
			}
			current, one.live = one, true
			one.tellLines()
		}
	}
}

// title says which session this is, and how it was chosen if the user did not name it.
func (s *story) title(chosen string) {
	what := say(sessionTitle, s.session.id, "")
	switch {
	case s.session.id == "":
		what = say(noSessionYet, s.session.dir)
	case chosen != "":
		what = say(sessionTitle, s.session.id, say(sessionChosen, chosen))
	}
	if !s.raw {
		s.block("", what)
	} else if chosen != "" {
		fmt.Fprintln(os.Stderr, what)
	}
}

// look reads what has come since the last look.
func (s *story) look() error {
	err := s.timeline.read()
	if s.output != nil && err == nil {
		err = s.output.read() // after the timeline: the steps of a review come before its end
	}
	return err
}

// isQuiet tells whether there is nothing new to tell.
func (s *story) isQuiet() bool {
	return len(s.lines)+len(s.steps) == 0 && (s.open == "" || s.running().Verdict != verdictFailed)
}

// running is the review that has begun, as it is by now.
func (s *story) running() reviewRound {
	r := s.h.Rounds[s.h.of(s.open)]
	r.settle()
	return r
}

// tellSoFar tells what the timeline holds, with last the last so many reviews.
func (s *story) tellSoFar(last int) {
	if last > 0 {
		s.lines = lastReviews(s.lines, last)
	}
	s.tellLines()
	s.live = true
	if s.open != "" && !s.raw {
		s.tellBegun()
		s.tellSteps(true)
	}
}

// lastReviews returns the lines of the last n reviews, and before them the request of the first.
func lastReviews(lines [][]byte, n int) (last [][]byte) {
	found, isAsked := map[string]bool{}, false // reviews, and whether the request of the first is there
	for i, line := range slices.Backward(lines) {
		r, _ := parseRecord(line)
		id := r.Review
		if id == "" && r.Verdict != "" && r.Verdict != verdictLimit {
			id = strconv.Itoa(i)
		}
		isPrompt := r.Event == eventPrompt
		switch isNew := id != "" && !found[id]; {
		case n == 0:
		case isNew && len(found) == n:
			n = 0 // from here on the request alone
		case isNew:
			found[id], isAsked = true, false
		}
		if n > 0 || isPrompt && !isAsked {
			last, isAsked = append(last, line), isAsked || isPrompt
		}
	}
	slices.Reverse(last)
	return last
}

func (s *story) tellLines() {
	for _, line := range s.lines {
		if r, ok := parseRecord(line); ok && s.raw {
			fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(line, " \t{")) // a record has members
		} else if ok {
			s.tell(r)
		}
	}
	s.lines = nil
	s.tellSteps(false)
	s.giveUp()
}

// tell writes what the record says under its time. What belongs to a review is told with its end, and where it is told
// as it comes, its begin and what it runs too.
func (s *story) tell(r record) {
	isOpen := s.open != "" && r.Review == s.open
	if !isOpen && r.Event != eventSwitch {
		s.giveUp()
	}
	s.h.add(r)
	round := reviewRound{record: r}
	switch {
	case r.Event == eventRefused:
		return
	case r.Event == eventTry:
		if isOpen && s.live {
			s.tellSteps(true)
			s.tellRun(r)
		}
		return
	case r.Verdict == "" && r.Review != "":
		if s.open = r.Review; s.live {
			s.tellBegun()
		}
		return
	case r.Verdict != "":
		round = s.h.Rounds[s.h.of(r.Review)]
	}
	if isOpen {
		s.endReview(&round)
	}
	s.show(r.Time, round)
}

// giveUp tells of a review that has begun and will have no end.
func (s *story) giveUp() {
	if s.open == "" || s.raw {
		return
	}
	if r := s.running(); r.Verdict == verdictFailed {
		s.endReview(&r)
		s.show(r.Time, r)
	}
}

// endReview tells the last steps of the review that ran. What was told with its begin is not told again.
func (s *story) endReview(r *reviewRound) {
	if s.output != nil {
		_ = s.output.read()
		s.tellSteps(true)
		s.output.close()
		r.LastMessage, r.Question = "", nil
	}
	s.open, s.output, s.steps = "", nil, nil
}

// tellBegun tells that a review is under way, of what, and what it has done so far.
func (s *story) tellBegun() {
	r := s.running()
	s.head(r.Time)
	fmt.Fprintln(s, s.paint(bold, say(reviewUnderWay, r.title())))
	for _, f := range caseFacts(r) {
		s.block("    "+f.lead, f.text)
	}
	s.refused, s.told, s.steps = map[string]bool{}, map[string]contentBlock{}, nil
	s.output = s.session.outputOf(r, s.step)
	if err := s.output.read(); err != nil || s.output.modified().Before(r.Time) {
		s.steps = nil // they are of the reviews before it
	}
	for _, run := range r.Runs {
		s.tellRun(run)
	}
}

func (s *story) tellRun(run record) {
	s.block("    · "+strings.TrimRight(say(leadRan), " ")+" ", ran(run))
}

// head writes the time that something has.
func (s *story) head(at time.Time) {
	at = at.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	fmt.Fprint(s, s.paint(dim, at.Format(time.TimeOnly)), " ")
}

// show writes the record of a round under its time, with its rules where they are others than before.
func (s *story) show(at time.Time, r reviewRound) {
	s.head(at)
	if rules := fmt.Sprint(r.PromptSource, r.PromptKept); r.Verdict != "" && r.PromptSource != "" && rules == s.rules {
		r.PromptSource, r.PromptKept = "", false
	} else if r.PromptSource != "" {
		s.rules = rules
	}
	if r.Unbound == s.unbound {
		r.Unbound = ""
	} else if r.Verdict != "" && r.Verdict != verdictLimit {
		s.unbound = r.Unbound
	}
	showRecord(s.screen, r)
}

// step notes a line of the reviewer's output. Where a review begins, those before it are history.
func (s *story) step(line []byte) {
	var l streamLine
	_ = json.Unmarshal(line, &l)
	switch {
	case l.Type == "system" && l.Subtype == "init":
		s.steps = nil
	case l.Type == "assistant":
		s.steps = append(s.steps, l.Message.Content...)
	case l.Type == "user":
		for _, block := range l.Message.Content {
			s.refused[block.Call] = block.isRefusal()
			if call, isTold := s.told[block.Call]; isTold && block.isRefusal() {
				s.steps = append(s.steps, call)
			}
		}
	}
}

// tellSteps tells the steps noted since the last time. A call waits once for its result: Claude Code refuses at once.
func (s *story) tellSteps(all bool) {
	for len(s.steps) > 0 {
		step := s.steps[0]
		text, tool := step.shown()
		refused, answered := s.refused[step.ID]
		if tool != "" && !answered && !all && s.held != step.ID {
			s.held = step.ID
			return
		}
		lead := "    · "
		if refused {
			lead += strings.TrimRight(say(leadRefused), " ") + " "
		}
		if tool != "" {
			s.told[step.ID] = step
			s.block(lead, tool)
		} else {
			s.block("    ", text)
		}
		s.steps = s.steps[1:]
	}
}
