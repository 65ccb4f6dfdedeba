package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long it
// took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
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
	p := &page{screen: newScreen(os.Stdout), raw: c.has("--json")}
	if len(c.operands) == 0 {
		p.chosen = say(newestHere)
	}
	find := func() (found []*story, err error) {
		ids, err := sessionsMeant(c.operands, d, seen)
		for _, id := range ids {
			found = append(found, p.story(stateDir(d.state).session(id)))
		}
		return found, err
	}
	all, err := find()
	if err != nil {
		return err
	}
	if !follow {
		all = all[:min(1, len(all))]
	}
	for i, one := range all {
		if err := one.timeline.read(); err != nil {
			return err
		}
		if i > 0 { // the others of the project are told from now on, with what runs there
			one.next = slices.DeleteFunc(one.next, func(r *storyRecord) bool {
				return r.round < 0 || r.Verdict != "" || one.h.Rounds[r.round].settled().Verdict != verdictReviewing
			})
		}
	}
	switch {
	case len(all) > 0:
		first := all[0]
		if !follow {
			first.timeline.lines.close() // a last line that is not complete may be a record
		}
		if last > 0 {
			first.next = first.lastReviews(last)
		}
		first.turn()
		first.tellNew()
	case !p.raw:
		p.block("", say(noSessionYet, d.state))
		if follow {
			p.block("", say(waitingForFirst))
			fmt.Fprintln(p)
		}
	}
	if !follow {
		return p.Flush()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return p.follow(ctx, all, find)
}

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of a review are
// seconds apart. Every fifth is for sessions that have begun, too.
const pollInterval = 200 * time.Millisecond

// A page is where stories are told, each as it goes on.
type page struct {
	*screen
	raw    bool   // the records as they are, with the session's id, as JSON lines
	chosen string // how the session that is told next was chosen, "" where the user named it
	told   *story // the last
}

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*page
	session  session
	timeline *lineReader
	h        history
	next     []*storyRecord   // not told yet, or not to the end
	date     string           // of what was told last
	under    *storyRecord     // the begin of the review whose steps were told last, nil if anything has come behind them
	same     map[words]string // what is told only when it changes: the last, by what leads it
}

// A storyRecord is one of the timeline's.
type storyRecord struct {
	record
	line  []byte
	round int // the index of the review that it begins or ends, -1 for none

	// Of the begin of a review, once it was told.
	output *lineReader       // what the reviewer writes
	steps  []string          // of the reviewer, not told yet
	calls  map[string]string // of the reviewer, by id
	runs   int               // that were told
}

func (p *page) story(of session) *story {
	s := &story{page: p, session: of, same: map[words]string{}, timeline: &lineReader{path: of.timelineFile()}}
	s.timeline.lines.line = func(line []byte) {
		r, ok := parseRecord(line)
		if !ok {
			return
		}
		s.next = append(s.next, &storyRecord{record: r, line: bytes.Clone(line), round: s.h.add(r)})
	}
	return s
}

// follow goes on with the stories, and with those that find adds, until ctx ends.
func (p *page) follow(ctx context.Context, all []*story, find func() ([]*story, error)) (err error) {
	for looks, ended := 1, false; ; looks++ {
		if err = cmp.Or(err, p.Flush()); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			ended = true // what came before the end is told too
		case <-time.After(pollInterval):
		}
		if looks%5 == 0 {
			found, _ := find()
			slices.Reverse(found)
			all = append(all, found...)
		}
		for _, one := range all {
			err = cmp.Or(err, one.timeline.read())
			one.tellNew()
		}
	}
}

// turn says, where another session was told last, which one it is from here on, and how it was chosen.
func (s *story) turn() {
	if s.told == s {
		return
	}
	what := say(sessionTitle, s.session.id)
	if s.chosen != "" {
		what = say(sessionChosen, s.session.id, s.chosen)
	}
	switch {
	case s.raw && s.chosen != "":
		fmt.Fprintln(os.Stderr, what)
	case s.raw:
	case s.told != nil:
		fmt.Fprintln(s)
		fallthrough
	default:
		s.block("", what)
	}
	s.told, s.chosen, s.under = s, say(anotherHere), nil
}

// lastReviews returns what is not told yet from the begin of the last n reviews on, those that run being the last of all, but
// nothing of other reviews; and before it the request that the first was of.
func (s *story) lastReviews(n int) []*storyRecord {
	var rounds []int
	for i, r := range s.h.Rounds {
		if r.Verdict != verdictLimit {
			rounds = append(rounds, i)
		}
	}
	told := func(round int) int {
		if r := s.h.Rounds[round]; r.settled().Verdict != verdictReviewing {
			return r.told
		}
		return math.MaxInt
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(told(a), told(b)) })
	if len(rounds) <= n {
		return s.next
	}
	others, last := rounds[:len(rounds)-n], rounds[len(rounds)-n:]
	first := slices.IndexFunc(s.next, func(r *storyRecord) bool { return slices.Contains(last, r.round) })
	var kept []*storyRecord
	for _, r := range slices.Backward(s.next[:first]) {
		if r.Event == eventPrompt {
			kept = append(kept, r)
			break
		}
	}
	for _, r := range s.next[first:] {
		if !slices.Contains(others, r.round) && !slices.Contains(others, s.h.of(r.Review)) {
			kept = append(kept, r)
		}
	}
	return kept
}

// tellNew tells what has come. The begin of a review stays until it has ended.
func (s *story) tellNew() {
	var left []*storyRecord
	for _, one := range s.next {
		if s.tell(one) {
			left = append(left, one)
		}
	}
	s.next = left
}

// tell tells a record: a whole review with the one of its end, and as long as it runs with the one of its begin how it began
// and what it does. It returns whether the review runs.
func (s *story) tell(one *storyRecord) (runs bool) {
	switch {
	case s.raw:
		s.turn()
		fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(one.line, " \t{")) // a record has members
	case one.round >= 0 && one.Verdict == "":
		known := &s.h.Rounds[one.round]
		r := known.settled()
		runs = r.Verdict == verdictReviewing
		if runs && one.output == nil {
			s.show(reviewRound{record: r.record}) // what it ran comes behind
			known.LastMessage, known.Question, known.Requests = "", nil, nil
			one.calls, one.output, s.under = map[string]string{}, s.session.steps(r, one.step), one
		}
		if one.output != nil {
			s.tellSteps(one, r.Runs)
		}
		if r.Verdict == verdictFailed && known.Verdict == "" { // it was killed: nothing else tells of its end
			s.show(r)
		}
	case one.round >= 0:
		s.show(s.h.Rounds[one.round])
	case one.Event == eventPrompt, one.Event == eventSwitch:
		s.show(reviewRound{record: one.record})
	}
	return runs
}

// step notes what the reviewer does. Where a review begins, those before it are history.
func (r *storyRecord) step(b contentBlock) {
	text, tool := b.shown()
	switch {
	case b.Type == "":
		r.steps = nil
		return
	case b.isRefusal():
		text = "· " + say(leadRefused) + " " + r.calls[b.Call]
	case tool != "":
		r.calls[b.ID] = tool
		text = "· " + tool
	}
	r.steps = append(r.steps, text)
}

// tellSteps tells what the reviewer has done since, and what it ran, under the title of its review.
func (s *story) tellSteps(review *storyRecord, runs []record) {
	_ = review.output.read()
	if more := len(review.steps) > 0 || len(runs) > review.runs; more && (s.under != review || s.told != s) {
		s.show(reviewRound{record: record{Time: review.Time, Event: review.Event, Iteration: review.Iteration, Limit: review.Limit, outcome: outcome{Verdict: verdictReviewing}}})
		s.under = review
	}
	for _, step := range review.steps {
		s.showFacts(fact{text: step})
	}
	for _, run := range runs[review.runs:] {
		s.showFacts(ran(run))
	}
	review.steps, review.runs = nil, len(runs)
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// show writes under its time what there is to tell of a record, or of a review.
func (s *story) show(r reviewRound) {
	s.turn()
	s.under = nil
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
	s.turn()
	for _, f := range facts {
		if f.lead == leadBasis || f.lead == leadUnbound {
			if s.same[f.lead] == f.text {
				continue
			}
			s.same[f.lead] = f.text
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
	tell(!isRunning, leadBasis, source)
	tell(true, leadTools, unbroken(strings.Join(r.looks(), " · ")))
	tell(isApproved && r.Review != "" && len(r.looks())+len(r.Runs) == 0, words{}, say(receiptNothing))
	for _, run := range r.Runs {
		facts = append(facts, ran(run))
	}
	tell(true, leadRefused, unbroken(strings.Join(r.Refused, " · ")))
	tell(true, leadNoCopy, r.NoCopy)
	tell(!isRunning && !isLimit && !r.NoVerdict, leadUnbound, r.Unbound)
	tell(true, words{}, r.withoutVerdict())
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
	told := cutMiddle(unbroken(r.Command), 300) + " → " + r.ended()
	if why := cmp.Or(r.NoCopy, r.Error); why != "" { // ccc's own words, for 124 and 125
		told += ": " + cutMiddle(oneLine(why), 200)
	}
	if r.code() != 0 {
		told += "\n" + lastCharacters(strings.TrimSpace(r.Output), 600)
	}
	return fact{leadRan, told}
}
