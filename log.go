package main

// ccc log: a session as a story for people.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// showLog is ccc log [-f] [-n N] [--json] [SESSION].
func showLog(c *invocation, d dirs) (err error) {
	last, follow := 0, c.has("-f")
	if number, given := c.flags["-n"]; given {
		if last, err = strconv.Atoi(number); err != nil || last < 1 {
			return usageError("log", "-n takes a number of reviews from 1 up, not %q", number)
		}
	}
	p := newPage(newScreen(os.Stdout))
	p.raw = c.has("--json")
	if len(c.operands) == 0 {
		p.chosen = say(newestHere)
	}
	seen := map[string]bool{}
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
		if i > 0 { // of the project's other sessions only a review that runs, and what comes from now on
			one.next = slices.DeleteFunc(one.next, func(r storyRecord) bool {
				return r.index < 0 || one.history.Rounds[r.index].settled().Verdict != verdictReviewing
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
		p.nothingIn(d.here, len(seen))
		if follow {
			p.block("", say(waitingForFirst))
			fmt.Fprintln(p)
		}
	}
	if !follow {
		return p.Flush()
	}
	return p.follow(untilSignal(), all, find)
}

// pollInterval is between two looks at the timelines: the standard library has no portable file watcher.
const pollInterval = 200 * time.Millisecond

// A page is what ccc log writes: one story, or with -f several, each as it goes on.
type page struct {
	*screen
	raw    bool   // write the records themselves, with the session's id, as JSON lines
	chosen string // says how the next session was chosen; "": the user named it
	latest *story // the one that was told from last
	under  string // the id of the review whose title was written last, "" after any other title
	date   string // of what was told last; at first today's
}

// A story is a session told from its timeline, each record once, as it comes.
type story struct {
	*page
	session  sessionFiles
	timeline *lineReader
	history  history
	next     []storyRecord    // not told yet
	open     []int            // indexes of the reviews whose begin was told, and whose end was not
	same     map[words]string // the last text behind a lead that is told only when its text changes
}

// A storyRecord is a record of the timeline, with secrets redacted.
type storyRecord struct {
	record
	index int // of its review in history.Rounds, -1 for a record of no review
}

func newPage(s *screen) *page { return &page{screen: s, date: time.Now().Format(time.DateOnly)} }

func (p *page) story(of sessionFiles) *story {
	// Reviewers have the built-in prompt unless something else is told.
	s := &story{page: p, session: of, timeline: &lineReader{path: of.timelineFile()},
		same: map[words]string{leadBasis: say(builtinPrompt)}}
	s.timeline.lines.line = func(line []byte) {
		if r, ok := parseRecord(line); ok {
			r = r.shown()
			s.next = append(s.next, storyRecord{record: r, index: s.history.add(r)})
		}
	}
	return s
}

// follow goes on with the stories, and with those that find adds, until ctx ends.
func (p *page) follow(ctx context.Context, all []*story, find func() ([]*story, error)) error {
	ended := false
	for looks := 1; ; looks++ {
		if err := p.Flush(); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			ended = true // what came before the end is told too
		case <-time.After(pollInterval):
		}
		if looks%5 == 0 {
			found, _ := find()
			slices.Reverse(found) // the newest is told last
			all = append(all, found...)
		}
		for _, one := range all {
			if err := one.timeline.read(); err != nil {
				return errors.Join(err, p.Flush())
			}
			one.tellNew()
		}
	}
}

// turn names the session, unless it is the one that was told from last. With --json the records name it.
func (s *story) turn() {
	if s.latest == s || s.raw {
		return
	}
	what := say(sessionTitle, s.session.id)
	if s.chosen != "" {
		what = say(sessionChosen, s.session.id, s.chosen)
	}
	if s.latest != nil {
		fmt.Fprintln(s)
	}
	s.block("", what)
	s.latest, s.chosen = s, say(anotherHere)
}

// lastReviews returns what is not told yet, from the nth last review on, with the prompt before it.
func (s *story) lastReviews(n int) []storyRecord {
	var reviewed []int // indexes: a stop at the limit is no review
	for i, r := range s.history.Rounds {
		if r.Verdict != verdictLimit {
			reviewed = append(reviewed, i)
		}
	}
	if len(reviewed) <= n {
		return s.next
	}
	from := reviewed[len(reviewed)-n]
	first := slices.IndexFunc(s.next, func(r storyRecord) bool { return r.index == from })
	for _, r := range slices.Backward(s.next[:first]) {
		if r.Kind == kindPrompt {
			return slices.Concat([]storyRecord{r}, s.next[first:])
		}
	}
	return s.next[first:]
}

// tellNew tells what has come.
func (s *story) tellNew() {
	for _, one := range s.next {
		if s.raw {
			// A record has members: the id becomes one of them.
			fmt.Fprintf(s, "{\"session_id\":%q,%s\n", s.session.id, encodeJSON(one.record)[1:])
			continue
		}
		if !slices.Contains(s.open, one.index) { // a review that was killed is told behind what it did
			s.tellKilled()
		}
		s.tell(one.record, one.index)
	}
	s.next = nil
	s.tellKilled()
}

// tell tells a record. index is that of its review, -1 for none.
func (s *story) tell(r record, index int) {
	var its reviewRound
	if index >= 0 {
		its = s.history.Rounds[index]
	}
	switch r.Kind {
	case kindPrompt:
		s.title(r.Time, say(titleUser), "")
		s.fact(words{}, cutMiddle(r.Prompt, promptShown))
	case kindSwitch:
		s.title(r.Time, say(modeSwitched, say(modeNames[r.Mode])), "")
		s.fact(leadBy, say(map[string]words{
			switchedInSession: byUser, switchedOutside: byOutside, switchedByAgent: byAgent}[r.By]))
	case kindBegin:
		s.open = append(s.open, index)
		s.titleOf(its, r.Time)
		if r.Event == eventReview { // the session's prompts may be in no timeline
			s.fact(leadAsked, cutMiddle(its.newestRequest(), promptShown))
		}
		s.occasion(its)
	case kindEnd:
		its.record = r
		s.title(r.Time, r.title(), s.paint(verdictColour(r.Verdict), oneLine(verdictName(r.Verdict))))
		s.end(its)
	default:
		s.step(r, its)
	}
}

// step tells what a reviewer did, under the title of its review: a call of ccc try as what it ran, a call
// that was refused only as that.
func (s *story) step(r record, its reviewRound) {
	lead, text := words{}, r.step(its.place())
	switch r.Kind {
	case kindCall:
		if tryCall().MatchString(r.Tool) || !slices.Contains(its.Tools, r.Tool) {
			return
		}
	case kindRun:
		lead, text = leadRan, ran(r)
	}
	if text == "" {
		return
	}
	if s.under != r.Review { // another review or the user came between
		s.titleOf(its, r.Time)
	}
	s.fact(lead, text)
}

// titleOf writes the title of a review that has begun.
func (s *story) titleOf(its reviewRound, at time.Time) {
	result := ""
	if its.settled().Verdict == verdictReviewing {
		result = say(underWay)
	}
	s.title(at, its.title(), result)
	s.under = its.Review
}

// tellKilled tells of the reviews that were killed: no record does.
func (s *story) tellKilled() {
	s.open = slices.DeleteFunc(s.open, func(index int) bool {
		its := s.history.Rounds[index].settled()
		if its.Kind == kindBegin && its.Verdict == verdictFailed {
			its.Kind = kindEnd
			s.tell(its.record, index)
		}
		return its.Kind == kindEnd // if that is a record, it is told in its turn
	})
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// title writes a time, what came then and with what result, "" for none.
func (s *story) title(at time.Time, what, result string) {
	s.turn()
	s.under = ""
	at = at.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	line := []string{s.paint(dim, at.Format(time.TimeOnly)), s.paint(bold, what), result}
	fmt.Fprintln(s, strings.TrimRight(strings.Join(line, " "), " "))
}

// fact writes text below a title, behind the word that says what it is; an empty text is left out. The rules
// of a review, why there was no look at the files, and why there was no copy, are written only where they
// change. Below the last stands what fixes it.
func (s *story) fact(lead words, text string) {
	fix := ""
	switch lead {
	case leadBasis, leadUnseen, leadNoCopy:
		if s.same[lead] == text {
			return
		}
		s.same[lead] = text
	}
	if lead == leadNoCopy {
		text, fix, _ = strings.Cut(text, "\n")
	}
	margin := "    "
	if lead != (words{}) {
		margin += say(leadFormat, say(lead))
	}
	s.block(margin, text)
	s.fix(strings.Repeat(" ", displayWidth(margin)), fix)
}

// end tells what became of a stop or a question.
func (s *story) end(r reviewRound) {
	isApproved, isLimit := r.Verdict == verdictAllow, r.Verdict == verdictLimit
	s.fact(words{}, r.spent())
	if isLimit { // it had no begin
		s.occasion(r)
	}
	switch r.PromptSource {
	case "":
	case builtinSource:
		s.fact(leadBasis, say(builtinPrompt))
	default:
		s.fact(leadBasis, oneLine(pathFrom(r.place(), r.PromptSource)))
	}
	for _, call := range r.unrecorded() {
		s.fact(leadTools, unbroken(doing(call)))
	}
	if isApproved && !r.hasLooked() {
		s.fact(words{}, r.basis())
	}
	s.fact(leadNoCopy, r.NoCopy)
	s.fact(leadUnseen, r.Unseen)
	s.fact(words{}, r.withoutVerdict())
	if isApproved {
		s.fact(leadForUser, r.Feedback)
	} else {
		s.fact(leadFeedback, r.Feedback)
	}
	s.fact(leadReason, r.Error)
	if r.Event == eventPreToolUse && (isLimit || r.Verdict == verdictFailed) {
		s.fact(words{}, say(questionPassed))
	}
}

// occasion tells what the review is of: what the agent said last, or its questions with their options.
func (s *story) occasion(r reviewRound) {
	const aLineOrTwo = 130 // columns
	if r.Question != "" {
		s.fact(leadAsks, r.Question)
	} else {
		s.fact(leadSaid, clip(oneLine(r.LastMessage), aLineOrTwo))
	}
}

// ran tells of a command that the reviewer ran, as ccc try saw it, how it ended, and the end of its output.
func ran(r record) string {
	const scriptLines, outputLines = 20, 8
	script := strings.TrimSpace(r.Command)
	end := " → "
	if strings.Contains(script, "\n") {
		script, end = cutLines(script, scriptLines/2, scriptLines/2), "\n→ "
	}
	text := cutMiddle(script, 2000) + end + r.ended()
	if why := r.Error; why != "" { // ccc's own words, for 124 and 125
		text += ": " + cutMiddle(oneLine(why), 200)
	}
	printed := cutLines(strings.TrimSpace(r.Output), 0, outputLines)
	return text + "\n" + lastCharacters(printed, 600)
}

// cutLines leaves out the lines between the first and the last of text, so many of each.
func cutLines(text string, first, last int) string {
	lines := strings.Split(text, "\n")
	missing := len(lines) - first - last
	if missing <= 1 {
		return text
	}
	kept := append(slices.Clone(lines[:first]), say(leftOut, count(missing, linesCounted)))
	return strings.Join(append(kept, lines[len(lines)-last:]...), "\n")
}
