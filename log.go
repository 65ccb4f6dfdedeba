package main

// ccc log: a session as a story for people. Each line of its timeline is written once, as it comes, with
// secrets redacted.

import (
	"cmp"
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
	if number, isSet := c.flags["-n"]; isSet {
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
	find := func() (stories []*story, err error) {
		ids, err := sessionsMeant(c.operands, d, seen)
		for _, id := range ids {
			stories = append(stories, p.newStory(d.state.session(id)))
		}
		return stories, err
	}
	all, err := find()
	if err != nil {
		return err
	}
	if !follow {
		all = all[:min(1, len(all))]
	}
	if err := readStories(all); err != nil {
		return err
	}
	switch {
	case len(all) > 0:
		first := all[0]
		if !follow {
			first.history.file.lines.close() // a last line without a newline may be complete
			first.history.settle()
		}
		if last > 0 {
			first.next = first.lastReviews(last)
		}
		first.writeSession()
		first.writeNew()
	case !p.raw:
		p.writeNothingIn(d.here, len(seen))
		if follow {
			p.writeBlock("", say(waitingForFirst))
			fmt.Fprintln(p)
		}
	}
	if !follow {
		return p.Flush()
	}
	return p.follow(untilSignal(), all, find)
}

// readStories reads the timelines; of all but the first only a review that runs is written, and what comes
// from now on.
func readStories(all []*story) error {
	for i, story := range all {
		if err := story.history.read(); err != nil {
			return err
		}
		if i > 0 {
			story.next = slices.DeleteFunc(story.next, func(e entry) bool {
				r := story.history.review(e.review())
				return r == nil || r.Verdict != verdictReviewing
			})
		}
	}
	return nil
}

// pollInterval is between two looks at the timelines: the standard library has no portable file watcher.
const pollInterval = 200 * time.Millisecond

// A page is what ccc log writes: one story, or with -f several, each as it goes on.
type page struct {
	*screen
	raw    bool   // write the lines themselves, with the session's id
	chosen string // how the next session was chosen, in words; "": the user named it
	latest *story // the one that was written from last
	titled string // the id of the review whose title was written last, "" after any other title
	date   string // of what was written last; at first today's
}

// A story is a session as its timeline has it, each line once, as it comes.
type story struct {
	*page
	session     sessionFiles
	history     *history
	next        []entry          // not written yet, with secrets redacted
	ended       map[string]bool  // by id of a review whose begin or end was written: whether its end was
	lastPrinted map[words]string // the last text behind a lead that is written only when its text changes
}

// review returns the id of the review that the line is of, "" for none.
func (e entry) review() string {
	switch {
	case e.Review != nil:
		return e.Review.ID
	case e.Step != nil:
		return e.Step.Review
	}
	return ""
}

func newPage(s *screen) *page { return &page{screen: s, date: time.Now().Format(time.DateOnly)} }

func (p *page) newStory(of sessionFiles) *story {
	// Reviewers have the built-in prompt unless a line names another.
	s := &story{page: p, session: of, ended: map[string]bool{},
		lastPrinted: map[words]string{leadBasis: say(builtinPrompt)}}
	s.history = of.openHistory(func(e entry) entry {
		e = e.redacted()
		s.next = append(s.next, e)
		return e
	})
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
			ended = true // what came before the end is written too
		case <-time.After(pollInterval):
		}
		if looks%5 == 0 {
			others, _ := find()
			slices.Reverse(others) // the newest comes last
			all = append(all, others...)
		}
		for _, story := range all {
			if err := story.history.read(); err != nil {
				return errors.Join(err, p.Flush())
			}
			story.writeNew()
		}
	}
}

// writeSession names the session, unless it is the one that was written from last. With --json the lines
// name it.
func (s *story) writeSession() {
	if s.latest == s || s.raw {
		return
	}
	what := say(sessionTitle, s.session.id)
	if s.chosen != "" {
		what = say(withReason, what, s.chosen)
	}
	if s.latest != nil {
		fmt.Fprintln(s)
	}
	s.writeBlock("", what)
	s.latest, s.chosen = s, say(anotherHere)
}

// lastReviews returns what is not written yet, from the nth last review on, with the prompt before it.
func (s *story) lastReviews(n int) []entry {
	var reviewed []string // a stop at the limit is no review
	for _, r := range s.history.Reviews {
		if r.Verdict != verdictLimit {
			reviewed = append(reviewed, r.ID)
		}
	}
	if len(reviewed) <= n {
		return s.next
	}
	from := reviewed[len(reviewed)-n]
	first := slices.IndexFunc(s.next, func(e entry) bool { return e.review() == from })
	for _, e := range slices.Backward(s.next[:first]) {
		if e.Prompt != nil {
			return slices.Concat([]entry{e}, s.next[first:])
		}
	}
	return s.next[first:]
}

// writeNew writes what has come.
func (s *story) writeNew() {
	for _, e := range s.next {
		if s.raw {
			// A line has members: the id becomes one of them.
			fmt.Fprintf(s, "{\"session_id\":%q,%s\n", s.session.id, encodeJSON(e)[1:])
			continue
		}
		if _, begun := s.ended[e.review()]; !begun { // an abandoned review comes behind what it did
			s.writeAbandoned()
		}
		s.writeEntry(e)
	}
	s.next = nil
	s.writeAbandoned()
}

// writeEntry writes what a line records.
func (s *story) writeEntry(e entry) {
	switch {
	case e.Prompt != nil:
		s.writeTitle(e.Time, say(titleUser), "")
		s.writeFact(words{}, cutMiddle(e.Prompt.Text, promptShown))
	case e.Switch != nil:
		s.writeTitle(e.Time, say(modeSwitched[e.Switch.Mode]), "")
	case e.Step != nil:
		if of := s.history.review(e.Step.Review); of != nil {
			s.writeStep(*e.Step, of, e.Time)
		}
	case e.Unreviewed != "":
		why := onlyWords
		if e.Unreviewed == unreviewedYet {
			why = subagentsWork
		}
		s.writeTitle(e.Time, "", say(why))
	case e.Review.Ended.IsZero():
		s.ended[e.Review.ID] = false
		s.writeTitleOf(s.history.review(e.Review.ID), e.Time)
		if e.Review.occasion().isByHand { // the session's prompts may be in no timeline
			s.writeFact(leadAsked, cutMiddle(e.Review.Request, promptShown))
		}
		s.writeOccasion(e.Review)
	case !s.ended[e.Review.ID]:
		s.ended[e.Review.ID] = true
		s.writeEnd(s.history.review(e.Review.ID))
	}
}

// writeStep writes what a reviewer did, under the title of its review: a call of ccc try as what it ran, a
// call that was refused only as that.
func (s *story) writeStep(did step, of *review, at time.Time) {
	lead, text := words{}, did.inWords(of.Seen.Top)
	switch did.Kind {
	case stepCall:
		if tryCall().MatchString(did.Tool) || !slices.Contains(of.did.Tools, did.Tool) {
			return
		}
	case stepRun:
		lead, text = leadRan, ran(did)
	}
	if text == "" {
		return
	}
	if s.titled != of.ID { // another review or the user came between
		s.writeTitleOf(of, at)
	}
	s.writeFact(lead, text)
}

// writeTitleOf writes the title of a review that has begun.
func (s *story) writeTitleOf(r *review, at time.Time) {
	result := ""
	if r.Verdict == verdictReviewing {
		result = say(underWay)
	}
	s.writeTitle(at, r.reviewTitle(), result)
	s.titled = r.ID
}

// writeAbandoned ends the reviews that were abandoned: no line does before the next prompt comes.
func (s *story) writeAbandoned() {
	for i := range s.history.Reviews {
		r := &s.history.Reviews[i]
		if ended, begun := s.ended[r.ID]; begun && !ended && r.isAbandoned() {
			s.ended[r.ID] = true
			s.writeEnd(r)
		}
	}
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// writeTitle writes a time, what came then and with what result, each "" for none.
func (s *story) writeTitle(at time.Time, what, result string) {
	s.writeSession()
	s.titled = ""
	at = at.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	line := cmp.Or(result, s.paint(bold, what))
	if what != "" && result != "" {
		line = say(titleAndWord, s.paint(bold, what), result)
	}
	fmt.Fprintln(s, s.paint(dim, at.Format(time.TimeOnly)), line)
}

// writeFact writes text below a title, behind the word for what it is; an empty text is left out. The
// rules of a review, why there was no look at the files, and why there was no copy, are written only where
// they change. Below the last comes its hint.
func (s *story) writeFact(lead words, text string) {
	hint := ""
	switch lead {
	case leadBasis, leadUnseen, leadNoCopy:
		if s.lastPrinted[lead] == text {
			return
		}
		s.lastPrinted[lead] = text
	}
	if lead == leadNoCopy {
		text, hint, _ = strings.Cut(text, "\n")
	}
	margin := "    "
	if lead != (words{}) {
		margin += say(leadFormat, say(lead))
	}
	s.writeBlock(margin, text)
	s.writeHint(strings.Repeat(" ", displayWidth(margin)), hint)
}

// writeEnd writes what became of a stop or a question.
func (s *story) writeEnd(r *review) {
	isApproved, isLimit := r.Verdict == verdictAllow, r.Verdict == verdictLimit
	s.writeTitle(r.lastTime(), r.reviewTitle(), s.paint(verdictColour(r.Verdict), oneLine(r.verdictName())))
	s.writeFact(words{}, r.reviewSpending())
	if isLimit { // it had no begin
		s.writeOccasion(r)
	}
	switch r.PromptSource {
	case "":
	case builtinSource:
		s.writeFact(leadBasis, say(builtinPrompt))
	default:
		s.writeFact(leadBasis, oneLine(pathFrom(r.Seen.Top, r.PromptSource)))
	}
	for _, call := range r.did.unrecorded() {
		s.writeFact(leadTools, unbroken(doing(call)))
	}
	if len(r.did.Runs) == 0 && r.withoutVerdict() == "" {
		s.writeFact(words{}, r.verdictBasis())
	}
	s.writeFact(leadNoCopy, r.NoCopy)
	s.writeFact(leadUnseen, r.Seen.Unseen)
	s.writeFact(words{}, r.withoutVerdict())
	if isApproved {
		s.writeFact(leadForUser, r.Feedback)
	} else {
		s.writeFact(leadFeedback, r.Feedback)
	}
	s.writeFact(leadReason, r.Error)
	if r.occasion().isQuestion && (isLimit || r.Verdict == verdictFailed) {
		s.writeFact(words{}, say(r.occasion().passed))
	}
}

// writeOccasion writes what the review is of: what the agent said last, or its questions with their options.
func (s *story) writeOccasion(r *review) {
	const aLineOrTwo = 130 // columns
	if r.Question != "" {
		s.writeFact(r.occasion().asks, r.Question)
	} else {
		s.writeFact(leadSaid, clip(oneLine(r.LastMessage), aLineOrTwo))
	}
}

// ran returns a command that the reviewer ran, how ccc try saw it end, and the end of its output.
func ran(r step) string {
	const scriptLines, outputLines = 20, 8
	script := strings.TrimSpace(r.Command)
	end := " → "
	if strings.Contains(script, "\n") {
		script, end = cutLines(script, scriptLines/2, scriptLines/2), "\n→ "
	}
	text := cutMiddle(script, 2000) + end + r.runEnd()
	if why := r.cccError(); why != "" {
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
