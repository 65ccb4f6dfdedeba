package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long it
// took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	chosen, ids, find := "", []string{""}, func() ([]string, error) { return nil, nil }
	if len(c.operands) > 0 {
		ids[0], err = page.session.dir.findSession(c.operands[0])
	} else {
		chosen, find = say(newestHere), func() ([]string, error) { return sessionsHere(d, seen) }
		ids, err = find()
	}
	if err != nil {
		return err
	}
	if !follow {
		ids = ids[:min(1, len(ids))]
	}
	var all []*story
	for i, id := range ids {
		one := page.of(id)
		one.timeline.last = int64(min(1, i)) // the others of the project are told from now on
		if err := one.timeline.read(); err != nil {
			return err
		}
		all = append(all, one)
	}
	switch {
	case len(all) > 0:
		first := all[0]
		if !follow {
			first.timeline.lines.close() // a last line that is not complete may be a record
		}
		if last > 0 {
			first.lines = lastReviews(first.lines, last)
		}
		first.title(chosen)
		first.tellNew()
	case !page.raw:
		page.block("", say(noSessionYet, page.session.dir))
		if follow {
			page.block("", say(waitingForFirst))
		}
	}
	if !follow {
		return page.Flush()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return page.tellOn(ctx, all, find)
}

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of a review are
// seconds apart. Every fifth is for sessions that have begun, too.
const pollInterval = 200 * time.Millisecond

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*screen
	session session // without an id: none yet
	raw     bool    // the records as they are, with the session's id, as JSON lines

	timeline *lineReader
	lines    [][]byte // of the timeline, not told yet
	h        history
	date     string           // of the last record
	told     map[words]string // what is told only when it changes: the last, by what leads it

	open   string            // the review that has begun, by its id
	output *lineReader       // what its reviewer writes, once its begin was told
	steps  []string          // of the reviewer, not told yet
	calls  map[string]string // of the reviewer, by id
}

// of is the story of a session on the same screen.
func (s story) of(id string) *story {
	t := &s
	t.session, t.told = s.session.dir.session(id), map[words]string{}
	t.timeline = t.session.followTimeline(func(line []byte) { t.lines = append(t.lines, bytes.Clone(line)) })
	return t
}

// tellOn goes on with the stories, the first of which was told last, and with those that find adds, until ctx ends.
func (s story) tellOn(ctx context.Context, all []*story, find func() ([]string, error)) (err error) {
	var current *story
	if len(all) > 0 {
		current = all[0]
	}
	for looks, ended := 1, false; ; looks++ {
		if err = cmp.Or(err, s.Flush()); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			ended = true // what came before the end is told too
		case <-time.After(pollInterval):
		}
		if looks%5 == 0 {
			ids, _ := find()
			for _, id := range slices.Backward(ids) {
				all = append(all, s.of(id))
			}
		}
		for _, one := range all {
			isNew, lookErr := one.look()
			if err = cmp.Or(err, lookErr); !isNew {
				continue
			}
			if one != current && !s.raw {
				fmt.Fprintln(s)
			}
			if one != current {
				one.title(say(anotherHere))
			}
			current = one
			one.tellNew()
		}
	}
}

// title says which session this is, and how it was chosen if the user did not name it.
func (s *story) title(chosen string) {
	what := say(sessionTitle, s.session.id)
	if chosen != "" {
		what = say(sessionChosen, s.session.id, chosen)
	}
	if !s.raw {
		s.block("", what)
	} else if chosen != "" {
		fmt.Fprintln(os.Stderr, what)
	}
}

// look reads what has come since the last look, and tells whether there is something new to tell.
func (s *story) look() (isNew bool, err error) {
	if err = s.timeline.read(); s.output != nil { // the steps of a review come before its end
		err = errors.Join(err, s.output.read())
	}
	return len(s.lines)+len(s.steps) > 0 || s.open != "" && s.running().Verdict == verdictFailed, err
}

// running is the review that has begun, as it is by now.
func (s *story) running() reviewRound {
	r := s.h.Rounds[s.h.of(s.open)]
	r.settle()
	return r
}

// lastReviews returns the lines from the last n reviews on, and before them the request that the first was of.
func lastReviews(lines [][]byte, n int) [][]byte {
	var h history
	var begun, asked []int // the lines with which each review and each request begins
	for i, line := range lines {
		r, _ := parseRecord(line)
		if h.add(r); len(h.Rounds) > len(begun) {
			begun = append(begun, i)
		}
		if len(h.Requests) > len(asked) {
			asked = append(asked, i)
		}
	}
	first := len(begun)
	for ; n > 0 && first > 0; first-- {
		if h.Rounds[first-1].Verdict != verdictLimit {
			n--
		}
	}
	if first == 0 {
		return lines
	}
	last := lines[begun[first]:]
	if of := h.Rounds[first].requests; of > 0 {
		last = slices.Insert(last, 0, lines[asked[of-1]])
	}
	return last
}

// tellNew tells the lines and steps that have come, of a review that still runs its begin, and that one will have no end.
func (s *story) tellNew() {
	for _, line := range s.lines {
		if r, ok := parseRecord(line); ok && s.raw {
			fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(line, " \t{")) // a record has members
		} else if ok {
			s.tell(r)
		}
	}
	if s.lines = nil; s.raw || s.giveUp() || s.open == "" {
		return
	}
	if s.output == nil {
		r := s.running()
		s.show(r)
		s.calls = map[string]string{}
		s.output = s.session.steps(r, s.step)
		_ = s.output.read()
	}
	s.tellSteps()
}

// tell writes what the record says. What belongs to a review is told with its end, or as it comes once its begin was told.
func (s *story) tell(r record) {
	isOpen := s.open != "" && r.Review == s.open
	if !isOpen && r.Event != eventSwitch {
		s.giveUp()
	}
	s.h.add(r)
	switch {
	case r.Event == eventTry && isOpen && s.output != nil:
		_ = s.output.read()
		s.tellSteps()
		s.showFacts(ran(r))
	case r.Event == eventTry, r.Event == eventRefused:
	case r.Verdict != "":
		s.end(s.h.Rounds[s.h.of(r.Review)])
	case r.Review != "":
		s.open, s.output = r.Review, nil
	default:
		s.show(reviewRound{record: r})
	}
}

// giveUp tells of a review that has begun and will have no end, if there is one.
func (s *story) giveUp() bool {
	if s.open == "" {
		return false
	}
	r := s.running()
	if r.Verdict == verdictFailed {
		s.end(r)
	}
	return r.Verdict == verdictFailed
}

// end tells how a review ended. What was told with its begin is not told again.
func (s *story) end(r reviewRound) {
	if r.Review == s.open {
		if s.output != nil {
			_ = s.output.read()
			s.tellSteps()
			r.LastMessage, r.Question, r.Requests = "", nil, nil
		}
		s.open, s.output = "", nil
	}
	s.show(r)
}

// step notes what the reviewer does. Where a review begins, those before it are history.
func (s *story) step(b contentBlock) {
	text, tool := b.shown()
	switch {
	case b.Type == "":
		s.steps = nil
		return
	case b.isRefusal():
		text = "· " + say(leadRefused) + " " + s.calls[b.Call]
	case tool != "":
		s.calls[b.ID] = tool
		text = "· " + tool
	}
	s.steps = append(s.steps, text)
}

func (s *story) tellSteps() {
	for _, step := range s.steps {
		s.block("    ", step)
	}
	s.steps = nil
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// show writes under its time what there is to tell of a record, or of a review.
func (s *story) show(r reviewRound) {
	at := r.Time.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	title, verdict, facts := say(titleUser), verdictName(r.Verdict), []fact{{words{}, cutMiddle(r.Prompt, promptShown)}}
	switch {
	case r.Verdict == verdictReviewing:
		verdict = say(underWay)
		fallthrough
	case r.Verdict != "":
		title, facts = r.title(), reviewFacts(r)
	case r.Event == eventSwitch:
		by := map[string]words{switchedInSession: byUser, switchedOutside: byOutside, switchedByAgent: byAgent}[r.By]
		title, facts = say(switched, say(modeNames[r.Mode])), []fact{{leadBy, say(by)}}
	}
	line := []string{s.paint(dim, at.Format(time.TimeOnly)), s.paint(bold, title), s.paint(verdictColour(r.Verdict), oneLine(verdict))}
	fmt.Fprintln(s, strings.TrimRight(strings.Join(line, " "), " "))
	s.showFacts(facts...)
}

func (s *story) showFacts(facts ...fact) {
	for _, f := range facts {
		if f.lead == leadBasis || f.lead == leadUnbound {
			if s.told[f.lead] == f.text {
				continue
			}
			s.told[f.lead] = f.text
		}
		lead := ""
		if f.lead != (words{}) {
			lead = say(leading, say(f.lead))
		}
		s.block("    "+lead, f.text)
	}
}

// A fact is one of the things to be told of a record. Without text there is nothing to tell.
type fact struct {
	lead words
	text string
}

// reviewFacts tells what became of a stop or a question, or of what a review that runs is.
func reviewFacts(r reviewRound) []fact {
	facts := []fact{{words{}, r.spent()}}
	tell := func(is bool, lead words, text string) {
		if is {
			facts = append(facts, fact{lead, text})
		}
	}
	tell(r.Event == eventReview, leadAsked, cutMiddle(r.asked(), promptShown)) // maybe no hook was told
	facts = append(facts, caseOf(r))
	isRunning, isApproved, isLimit := r.Verdict == verdictReviewing, r.Verdict == verdictAllow, r.Verdict == verdictLimit
	source := oneLine(r.PromptSource)
	if source == builtinSource {
		source = say(builtinPrompt)
	}
	if r.PromptKept {
		source += say(promptChanged)
	}
	tell(!isRunning, leadBasis, source)
	tell(true, leadTools, oneLine(strings.Join(r.looks(), " · ")))
	tell(isApproved && len(r.looks())+len(r.Runs) == 0, words{}, say(receiptNothing))
	for _, run := range r.Runs {
		facts = append(facts, ran(run))
	}
	tell(true, leadRefused, oneLine(strings.Join(r.Refused, " · ")))
	tell(true, leadNoCopy, r.NoCopy)
	tell(!isRunning && !isLimit, leadUnbound, r.Unbound)
	tell(r.NoVerdict, words{}, say(wordsOnly))
	tell(isApproved, leadForUser, r.Feedback)
	tell(!isApproved, leadFeedback, r.Feedback)
	tell(true, leadReason, r.Error)
	passed := questionPassed
	if r.Event != eventPreToolUse {
		passed = stopPassed
		tell(isLimit, words{}, say(limitReached, count(r.Limit, reviews)))
	}
	tell(isLimit || r.Verdict == verdictFailed, words{}, say(passed))
	return facts
}

// caseOf tells what the review was of: what the agent said last, in a line or two, or its question with the options.
func caseOf(r reviewRound) fact {
	const aLineOrTwo = 130 // columns
	var input struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	_ = json.Unmarshal(r.Question, &input)
	var asks []string
	for _, q := range input.Questions {
		asks = append(asks, oneLine(q.Question))
		for _, option := range q.Options {
			asks = append(asks, "- "+oneLine(option.Label))
		}
	}
	if len(asks) > 0 {
		return fact{leadAsks, strings.Join(asks, "\n")}
	}
	return fact{leadSaid, clip(oneLine(r.LastMessage), aLineOrTwo)}
}

// ran tells of a command that the reviewer ran: what ccc try saw, not what the reviewer says, and where the command failed
// the end of its output.
func ran(r record) fact {
	told := cutMiddle(oneLine(r.Command), 300) + " → " + r.ended()
	if why := cmp.Or(r.NoCopy, r.Error); why != "" { // ccc's own words, for 124 and 125
		told += ": " + cutMiddle(oneLine(why), 200)
	}
	if r.code() != 0 {
		told += "\n" + lastCharacters(strings.TrimSpace(r.Output), 600)
	}
	return fact{leadRan, told}
}
