package main

// ccc log: a session as a story for people. Each line of its timeline is written as it comes, redacted.

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

func showLog(c *invocation, d dirs) (err error) {
	last := 0
	most := 1
	if number, isSet := c.flags["-n"]; isSet {
		if last, err = strconv.Atoi(number); err != nil || last < 1 {
			return usageError("log", "-n takes a number of reviews from 1 up, not %q", number)
		}
	}
	if c.has("-f") {
		most = -1
	}
	p := &page{screen: newScreen(os.Stdout), raw: c.has("--json")}
	seen := map[string]bool{}
	find := func() (found []*story, err error) {
		ids, err := d.sessionsMeant(c.operands, seen, most)
		for _, id := range ids {
			found = append(found, p.newStory(d.state.session(id)))
		}
		return found, err
	}
	all, err := find()
	if err != nil {
		return err
	}
	if len(all) == 0 && !p.raw {
		p.writeBlock("", say(noSessionYet, pathFrom("", d.here)))
		if c.has("-f") {
			fmt.Fprintf(p, "%s\n\n", say(waitingForFirst))
		}
	}
	for i, s := range all {
		if most == 1 && len(c.operands) == 0 {
			s.title = say(withReason, s.title, say(newestHere))
		}
		if err := s.writePast(last, i == 0); err != nil {
			return err
		}
	}
	if c.has("-f") {
		return p.follow(untilSignal(), all, find)
	}
	return p.Flush()
}

// pollInterval is between two looks at the timelines: the standard library has no portable file watcher.
const pollInterval = 200 * time.Millisecond

// A page is what ccc log writes: one story, or with -f several, each as it goes on.
type page struct {
	*screen
	raw   bool // write the lines themselves, with the session's id
	above struct {
		story  *story // whose title was written last, nil before the first
		review string // the id of the review that it is of, "" for another title
	}
}

// A story is a session as its timeline has it.
type story struct {
	*page
	title   string
	session sessionFiles
	history *history
	unread  []entry         // what has come and is not written yet
	written map[string]bool // by the id of a review that was written: whether its end was
}

// newStory returns the story of the session, of which nothing is read or written yet.
func (p *page) newStory(of sessionFiles) *story {
	s := &story{page: p, title: say(sessionTitle, of.id), session: of, written: map[string]bool{}}
	s.history = of.openHistory(func(h *history, e entry) {
		e = e.redacted()
		h.add(e)
		s.unread = append(s.unread, e)
	})
	return s
}

// writePast writes the story so far: all of it, or, if last is not 0, that many of the last reviews, with
// the prompt before them. If the story is not the first, it writes only the review that runs.
func (s *story) writePast(last int, isFirst bool) error {
	if err := s.history.read(); err != nil {
		return err
	}
	if isFirst {
		s.writeSession()
	} else {
		last = 1
	}
	from := ""
	for _, r := range slices.Backward(s.history.Reviews) {
		if r.Verdict == verdictReviewing || isFirst && r.Verdict != verdictLimit { // which is no review
			last--
			if last == 0 {
				from = r.ID
			}
		}
	}
	switch {
	case from != "":
		first := slices.IndexFunc(s.unread, func(e entry) bool { return e.reviewID() == from })
		var asked []entry // the last prompt before that
		for _, e := range s.unread[:first] {
			if e.Prompt != nil {
				asked = []entry{e}
			}
		}
		s.unread = append(asked, s.unread[first:]...)
	case !isFirst:
		s.unread = nil
	}
	return s.read()
}

// read writes what has come since the last read.
func (s *story) read() error {
	err := s.history.read()
	for _, e := range s.unread {
		s.write(e)
	}
	s.unread = nil
	s.writeAbandoned()
	return err
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
		for _, s := range all {
			if err := s.read(); err != nil {
				return errors.Join(err, p.Flush())
			}
		}
	}
}

// reviewID returns the id of the review that the line is of, "" for none.
func (e entry) reviewID() string {
	switch {
	case e.Review != nil:
		return e.Review.ID
	case e.Step != nil:
		return e.Step.Review
	}
	return ""
}

// write writes the next line. Unless that line is a step, write first ends the reviews that were abandoned.
func (s *story) write(e entry) {
	if e.Step == nil {
		s.writeAbandoned()
	}
	id := e.reviewID()
	r := s.history.review(id)
	isOver, isBegun := s.written[id]
	switch {
	case s.raw: // a line has members: the id becomes one, and the project, which ccc try does not know
		e.Project = cmp.Or(e.Project, s.history.project)
		fmt.Fprintf(s, "{\"session_id\":%q,%s\n", s.session.id, encodeJSON(e)[1:])
	case e.Prompt != nil:
		s.writeTitle(e.Time, "", say(titleUser), "")
		s.writeFact(words{}, cutMiddle(e.Prompt.Text, promptShown))
	case e.Switch != nil:
		s.writeTitle(e.Time, "", say(modeSwitched[e.Switch.Mode]), "")
	case e.Unreviewed == unreviewedYet:
		s.writeTitle(e.Time, "", "", say(subagentsWork))
	case e.Unreviewed != "":
		s.writeTitle(e.Time, "", "", say(onlyWords))
	case isOver, e.Step != nil && !isBegun: // a second end, or a step of a review that was passed over
	case e.Step != nil:
		s.writeStep(*e.Step, r, e.Time)
	case e.Review.Ended.IsZero():
		s.written[id] = false
		s.writeTitle(e.Time, id, e.Review.reviewTitle(), say(reviewBegins))
		if r.occasion().isByHand { // the session's prompts may be in no timeline
			s.writeFact(leadAsked, cutMiddle(r.Request, promptShown))
		}
		s.writeOccasion(r)
	default:
		s.written[id] = true
		s.writeEnd(r)
	}
}

// promptShown is in characters, of a prompt: the user wrote it and knows how it goes on.
const promptShown = 600

// writeAbandoned writes the end of each abandoned review: the timeline has none before the next prompt.
func (s *story) writeAbandoned() {
	for i := range s.history.Reviews {
		r := &s.history.Reviews[i]
		if isOver, isBegun := s.written[r.ID]; isBegun && !isOver && r.isAbandoned() {
			s.written[r.ID] = true
			s.writeEnd(r)
		}
	}
}

// writeSession names the session, unless what was written last is of it. With --json the lines name it.
func (s *story) writeSession() {
	if s.above.story == s || s.raw {
		return
	}
	if s.above.story != nil {
		fmt.Fprintln(s)
	}
	before := ""
	if state, _ := s.session.readState(); len(state.MovedFrom) > 0 { // whose last ccc status does not list
		before = say(movedSession, shortID(state.MovedFrom[len(state.MovedFrom)-1]))
	}
	s.writeBlock("", joined(s.title, before))
	s.above.story = s
	s.above.review = ""
}

// writeTitle writes a time, what came then, of which review, and with what result, each "" for none.
func (s *story) writeTitle(at time.Time, review, what, result string) {
	s.writeSession()
	s.above.review = review
	line := s.paint(bold, what)
	switch {
	case what == "":
		line = result
	case result != "":
		line = say(titleAndWord, line, result)
	}
	fmt.Fprintf(s, "\n%s %s\n", s.paint(dim, clock(at)), line)
}

// writeFact writes text below a title, after the word for what it is. An empty text is left out.
func (s *story) writeFact(lead words, text string) {
	margin := "    "
	if lead != (words{}) {
		margin += say(leadFormat, say(lead))
	}
	s.writeBlock(margin, text)
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

// writeStep writes what a reviewer did, under the title of its review: a call of ccc try as what it ran, a
// call that is known to have been refused only as that.
func (s *story) writeStep(did step, of *review, at time.Time) {
	lead := words{}
	text := did.inWords(of.Seen.Top)
	switch did.Kind {
	case stepCall:
		isGone := !of.Ended.IsZero() && !slices.Contains(of.did.Tools, did.Tool)
		if isGone || tryCall().MatchString(did.Tool) {
			return
		}
	case stepRun:
		lead = leadRan
		text = ran(did)
	}
	if text == "" {
		return
	}
	if s.above.story != s || s.above.review != of.ID { // another came between
		s.writeTitle(at, of.ID, of.reviewTitle(), "")
	}
	s.writeFact(lead, text)
}

// writeEnd writes what became of a stop or a question, and what that rests on.
func (s *story) writeEnd(r *review) {
	on := r.occasion()
	isLimit := r.Verdict == verdictLimit
	s.writeTitle(r.lastTime(), r.ID, r.reviewTitle(),
		s.paint(verdictColour(r.Verdict), oneLine(r.verdictName())))
	s.writeFact(words{}, r.reviewSpending())
	if isLimit { // it had no begin
		s.writeOccasion(r)
	}
	if r.isAnswered() && r.PromptSource != builtinSource {
		s.writeFact(leadBasis, oneLine(pathFrom(r.Seen.Top, r.PromptSource)))
	}
	s.writeFact(words{}, r.verdictBasis())
	s.writeFact(words{}, sayOf(reviewedBy, r.Judge))
	why, _, _ := strings.Cut(r.NoCopy, "\n") // ccc doctor has what fixes that
	s.writeFact(leadNoCopy, why)
	s.writeFact(words{}, r.withoutChange())
	s.writeFact(words{}, r.withoutVerdict())
	lead := leadFeedback
	if r.Verdict == verdictAllow {
		lead = leadForUser
	}
	s.writeFact(lead, r.Feedback)
	s.writeFact(leadReason, r.Error)
	if s.keepsRequest(r) && (r.Verdict == verdictBlock || r.Verdict == verdictFailed) {
		s.writeFact(leadRequest, pathFrom("", s.session.requestFile()))
	}
	if on.isQuestion && (isLimit || r.Verdict == verdictFailed) {
		s.writeFact(words{}, say(on.passed))
	}
}

// keepsRequest reports whether the kept request is that of the review: no later review has overwritten it.
func (s *story) keepsRequest(r *review) bool {
	isLater := func(other review) bool { return other.Way != "" && other.Begun.After(r.Begun) }
	return r.Way != "" && !slices.ContainsFunc(s.history.Reviews, isLater)
}

// ran returns a command that the reviewer ran, how ccc try saw it end, and the end of its output.
func ran(r step) string {
	const scriptLines, outputLines = 20, 8
	script := strings.TrimSpace(r.Command)
	end := " → "
	if strings.Contains(script, "\n") {
		script = cutLines(script, scriptLines/2, scriptLines/2)
		end = "\n→ "
	}
	text := cutMiddle(script, 2000) + end + r.runEnd()
	if why := r.runFault(); why != "" {
		text += ": " + why
	}
	return text + "\n" + cutLines(r.printed(), 0, outputLines)
}
