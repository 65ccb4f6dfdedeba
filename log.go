package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long
// it took and what it cost.

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
func showLog(c *invocation, d dirs) (err error) {
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
			one.next = slices.DeleteFunc(one.next, func(r storyRecord) bool {
				return r.round < 0 || one.h.Rounds[r.round].settled().Verdict != verdictReviewing
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

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of
// a review are seconds apart. Every fifth is for sessions that have begun, too.
const pollInterval = 200 * time.Millisecond

// A page is where stories are told, each as it goes on.
type page struct {
	*screen
	raw    bool   // the records as they are, with the session's id, as JSON lines
	chosen string // how the session that is told next was chosen, "" where the user named it
	told   *story // the last
}

// A story is a session told from its timeline, each record once, as it comes.
type story struct {
	*page
	session  sessionFiles
	timeline *lineReader
	h        history
	next     []storyRecord    // not told yet
	date     string           // of what was told last
	under    int              // the index of the review under whose title it was told, -1 for none
	open     []int            // the reviews whose begin was told and whose end was not
	same     map[words]string // what is told only when it changes: the last, by what leads it
}

// A storyRecord is one of the timeline's.
type storyRecord struct {
	record
	line  []byte
	round int // the index of the review that it is of, -1 for none
}

func (p *page) story(of sessionFiles) *story {
	s := &story{page: p, session: of, same: map[words]string{}, timeline: &lineReader{path: of.timelineFile()}}
	s.timeline.lines.line = func(line []byte) {
		if r, ok := parseRecord(line); ok {
			s.next = append(s.next, storyRecord{record: r, line: bytes.Clone(line), round: s.h.add(r)})
		}
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
	s.told, s.chosen, s.under = s, say(anotherHere), -1
}

// lastReviews returns what is not told yet from the begin of the last n reviews on, those that run being the
// last of all, but nothing of other reviews; and before it the request that the first was of.
func (s *story) lastReviews(n int) []storyRecord {
	var rounds []int
	for i, r := range s.h.Rounds {
		if r.Verdict != verdictLimit {
			rounds = append(rounds, i)
		}
	}
	told := func(round int) int {
		if r := s.h.Rounds[round]; r.settled().Verdict != verdictReviewing {
			return r.lastRecord
		}
		return math.MaxInt
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(told(a), told(b)) })
	if len(rounds) <= n {
		return s.next
	}
	others, last := rounds[:len(rounds)-n], rounds[len(rounds)-n:]
	first := slices.IndexFunc(s.next, func(r storyRecord) bool { return slices.Contains(last, r.round) })
	var kept []storyRecord
	for _, r := range slices.Backward(s.next[:first]) {
		if r.Kind == kindPrompt {
			kept = append(kept, r)
			break
		}
	}
	for _, r := range s.next[first:] {
		if !slices.Contains(others, r.round) {
			kept = append(kept, r)
		}
	}
	return kept
}

// tellNew tells what has come.
func (s *story) tellNew() {
	for _, one := range s.next {
		if s.raw {
			s.turn()
			fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(one.line, " \t{")) // a record has members
			continue
		}
		if one.Kind == kindPrompt || one.Kind == kindSwitch || one.Kind == kindBegin {
			s.tellKilled()
		}
		s.tell(one.record, one.round)
	}
	s.next = nil
	s.tellKilled()
}

// tell tells a record, which is of the review with that index: under a title of its own, or as a step under
// its review's.
func (s *story) tell(r record, round int) {
	var its reviewRound
	if round >= 0 {
		its = s.h.Rounds[round]
	}
	switch r.Kind {
	case kindPrompt:
		s.head(r.Time, say(titleUser), "")
		s.showFacts(fact{words{}, cutMiddle(r.Prompt, promptShown)})
	case kindSwitch:
		s.head(r.Time, say(modeSwitched, say(modeNames[r.Mode])), "")
		by := map[string]words{switchedInSession: byUser, switchedOutside: byOutside, switchedByAgent: byAgent}[r.By]
		s.showFacts(fact{leadBy, say(by)})
	case kindBegin:
		s.open = append(s.open, round)
		s.begin(r.Time, its, round)
		if r.Event == eventReview { // maybe no hook was told
			s.showFacts(fact{leadAsked, cutMiddle(its.newestRequest(), promptShown)})
		}
		s.showFacts(caseOf(its))
	case kindEnd:
		s.open = slices.DeleteFunc(s.open, func(one int) bool { return one == round })
		s.head(r.Time, r.title(), s.paint(verdictColour(r.Verdict), oneLine(verdictName(r.Verdict))))
		its.record = r
		s.showFacts(endFacts(its)...)
	default:
		told := stepOf(r, its)
		if told.text == "" {
			return
		}
		if s.told != s || s.under != round {
			s.begin(r.Time, its, round)
		}
		s.showFacts(told)
	}
}

// stepOf tells what a reviewer did. A call that was refused by now is told as that, a command of ccc try when
// it has ended, and what is of a review whose begin was lost not at all.
func stepOf(r record, its reviewRound) (told fact) {
	switch {
	case its.Kind == "":
	case r.Kind == kindCall && slices.Contains(its.Tools, r.Tool) && !tryCall().MatchString(r.Tool):
		told.text = "· " + r.Tool
	case r.Kind == kindRefused:
		told.text = "· " + say(leadRefused) + " " + r.Tool
	case r.Kind == kindWords:
		told.text = r.Words
	case r.Kind == kindRun:
		told = ran(r)
	}
	return told
}

// begin writes the title under which the steps of a review stand.
func (s *story) begin(at time.Time, r reviewRound, round int) {
	verdict := ""
	if r.settled().Verdict == verdictReviewing {
		verdict = say(underWay)
	}
	s.head(at, r.title(), verdict)
	s.under = round
}

// tellKilled tells of the reviews that were killed: no record does.
func (s *story) tellKilled() {
	for _, round := range slices.Clone(s.open) {
		if r := s.h.Rounds[round].settled(); r.Verdict == verdictFailed {
			r.Kind = kindEnd
			s.tell(r.record, round)
		}
	}
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// head writes a title, and the time before it.
func (s *story) head(at time.Time, title, verdict string) {
	s.turn()
	s.under = -1
	at = at.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	line := []string{s.paint(dim, at.Format(time.TimeOnly)), s.paint(bold, title), verdict}
	fmt.Fprintln(s, strings.TrimRight(strings.Join(line, " "), " "))
}

func (s *story) showFacts(facts ...fact) {
	for _, f := range facts {
		if f.lead == leadBasis || f.lead == leadUnbound {
			if s.same[f.lead] == f.text {
				continue
			}
			s.same[f.lead] = f.text
		}
		lead := ""
		if f.lead != (words{}) {
			lead = say(leadFormat, say(f.lead))
		}
		s.block("    "+lead, f.text)
	}
}

// A fact is one of the things to be told of a record. Without text there is nothing to tell.
type fact struct {
	lead words
	text string
}

// endFacts tells what became of a stop or a question.
func endFacts(r reviewRound) []fact {
	facts := []fact{{words{}, r.spent()}}
	tell := func(is bool, lead words, text string) {
		if is {
			facts = append(facts, fact{lead, text})
		}
	}
	isApproved, isLimit := r.Verdict == verdictAllow, r.Verdict == verdictLimit
	if isLimit { // it had no begin
		facts = append(facts, caseOf(r))
	}
	source := oneLine(r.PromptSource)
	if source == builtinSource {
		source = say(builtinPrompt)
	}
	tell(true, leadBasis, source)
	tell(true, leadTools, unbroken(strings.Join(r.unrecorded(), " · ")))
	tell(isApproved && r.Review != "" && len(r.Tools)+len(r.Runs) == 0, words{}, say(receiptNothing))
	tell(true, leadNoCopy, r.NoCopy)
	tell(!isLimit && !r.NoVerdict, leadUnbound, r.Unbound)
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

// caseOf tells what the review was of: what the agent said last, in a line or two, or its question with the
// options.
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

// ran tells of a command that the reviewer ran: what ccc try saw, not what the reviewer says, and where the
// command failed the end of its output.
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
