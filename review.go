package main

// One review of a stop, of a question or by hand: count, begin, look, check, call, reviewer, settle. It has
// a line in the timeline when it begins and another when it ends. If ccc was killed in the review of a stop,
// the next prompt writes the second. What goes wrong ends as a review that failed.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// newReview returns a review on the occasion of that name that begins now.
func newReview(occasion string) review {
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	return review{ID: id, Event: occasion, Begun: now()}
}

// judge reviews a stop or a question, if neither ccc.json nor the limit keeps it from that. Requests from
// begun on are not judged.
func (s *supervision) judge(
	ctx context.Context, on *occasion, begun time.Time, of judgedWork, isAgain bool,
) review {
	r := newReview(on.name)
	r.Begun = begun
	r.Observed = s.mode() == modeObserve
	s.describe(&r, of)
	isUsedUp := false
	err := s.configErr
	if err == nil {
		isUsedUp, err = s.count(&r, isAgain)
	}
	switch {
	case err != nil:
		r = s.end(r, err)
	case isUsedUp:
		r = s.endAtLimit(r)
	default:
		about := fmt.Sprintf("session: %s  event: %s", s.session.id, r.Event)
		if !r.Observed {
			about += "  iteration " + r.reviewNumber()
		}
		rule := strings.Repeat("─", 60)
		s.print(rule, say(hookBegun), about, rule)
		r = s.conduct(ctx, r, of)
	}
	r.Feedback = s.cutFeedback(r.Feedback)
	return r
}

// describe notes in r what it is of, and where.
func (s *supervision) describe(r *review, of judgedWork) {
	r.Seen.worktree = s.place.worktree
	r.Request = cutMiddle(of.talk.newest().String(), 4000)
	r.Awaited = of.awaited()
	r.Waiting = r.Awaited != ""
	r.LastMessage = cutMiddle(of.lastMessage, 2000)
	if on := r.occasion(); on.isQuestion {
		r.Question = on.quote(of.question)
	}
}

// count counts the review, and sets its number and its limit. An observed review has neither, but the budget
// covers it, too. count reports whether the limit is reached or the budget is used up. isAgain is set if a
// hook has sent the agent back before.
func (s *supervision) count(r *review, isAgain bool) (isUsedUp bool, err error) {
	err = s.changeState(func(state *sessionState) {
		state.PutOffFor = nil
		if !r.Observed {
			r.Limit = s.reviewLimit()
		}
		budget := s.config.Supervisor.MaxBudgetUSD
		switch {
		case budget > 0 && s.past.budgetLeft(budget) <= 0:
			r.Error = say(budgetUsed, budget)
		case state.Count < r.Limit:
			state.Count++
			r.Iteration = state.Count
		}
	})
	s.warnLost("counting the iteration", err)
	switch {
	case err == nil || r.Observed:
	case isAgain || !r.occasion().isStop:
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		return false, errNoCount
	default:
		r.Iteration = 1
		r.Limit = s.reviewLimit()
	}
	return r.Error != "" || r.Iteration == 0 && !r.Observed, nil
}

// conduct has a reviewer judge the work. It prints and records what comes of it, and returns r with that.
func (s *supervision) conduct(ctx context.Context, r review, of judgedWork) review {
	s.recordBegin(ctx, &r)
	r.changeFacts = s.takeChange(ctx, r.occasion(), &of)
	err := s.ask(ctx, &r, of)
	if err == nil {
		err = s.listening(ctx)
	}
	isHooks := !r.occasion().isByHand
	r.Observed = r.Observed || isHooks && s.mode() == modeObserve // typed meanwhile
	if err == nil && r.Verdict == "" {
		err = s.takeWords(&r)
	}
	return s.end(r, err)
}

// recordBegin records that the review has begun, and whose it is.
func (s *supervision) recordBegin(ctx context.Context, r *review) {
	if at, ok := ctx.Deadline(); ok {
		r.Deadline = at.UTC().Truncate(time.Millisecond)
	}
	var err error
	s.release, err = s.session.hold(r.ID)
	s.warn("locking the review's file", err)
	r.isRecorded = true
	s.append(entry{Review: r})
	s.warnLost("noting the last review", s.place.noteLast(s.session.id, *r))
}

// takeChange finds what has changed, unless of already has it, and returns what was seen.
func (s *supervision) takeChange(ctx context.Context, on *occasion, of *judgedWork) changeFacts {
	if of.change == nil {
		change := s.place.takeChange(ctx, s.session, s.transcript, on)
		of.change = &change
	}
	c := of.change
	if c.seen.Unseen != "" {
		s.log("no look at the working tree", "error", c.seen.Unseen)
	}
	return changeFacts{Seen: c.seen, Change: c.listedPaths(), from: c.from, held: c.held}
}

// ask runs the project's check and, unless that sends the agent back, asks the reviewer. r gets the answer.
func (s *supervision) ask(ctx context.Context, r *review, of judgedWork) error {
	if s.isSentBackByCheck(ctx, r, &of) {
		return nil
	}
	call, who, err := s.call(ctx, *r, of)
	r.reviewerFacts = who
	if err != nil {
		return err
	}
	asked := []byte(call.asked(r.PromptSource))
	s.warnLost("keeping the request", keep(s.session.requestFile(), asked))
	path := s.session.byHandFile()
	if on := r.occasion(); !on.isByHand { // ccc review has printed its own
		path = s.session.outputFile()
		s.print(say(on.running)+"...", say(detailsIn, path))
	}
	s.log("review started", "iteration", r.reviewNumber(), "prompt_source", r.PromptSource)
	if output, err := openOutput(path); err != nil {
		s.warnLost("opening the reviewer's output", err)
	} else {
		defer output.Close()
		call.output = output
	}
	r.outcome, err = call.run(ctx, func(did step) { s.noteStep(*r, did) })
	return err
}

// isSentBackByCheck runs the project's own check, if there is one, in the review of a stop or by hand. If the
// check fails, that is the verdict. If it failed the time before, too, the reviewer is asked.
func (s *supervision) isSentBackByCheck(ctx context.Context, r *review, of *judgedWork) bool {
	if r.occasion().isQuestion || checkMode(s.place.Top) == "" {
		return false
	}
	left := time.Until(r.Deadline)
	most := min(tryTimeout, max(left/2, left-3*time.Minute)) // else no time is left for the reviewer
	ran := runCheck(ctx, s.place.Top, tryEnv(s.dirs.env, s.config), most)
	if ctx.Err() != nil { // nobody waits for it any more
		return false
	}
	recorded := ran.recorded(r.ID)
	s.append(entry{Step: &recorded})
	s.print("  · " + checkPath + " → " + printable(ran.runResult()))
	ran.Output = strings.TrimSpace(outputKept(ran.Output))
	if ran.isRed() && !s.past.last.isRed {
		r.Verdict = verdictBlock
		r.Feedback = say(feedbackOfCheck, ran.runExitCode(), duration(ran.DurationSeconds), ran.Output)
		return true
	}
	of.check = ran.told()
	return false
}

// noteStep prints and records one step of the reviewer: a call, a refusal, an error, or words. It prints
// words whole and records them cut. It does not print an error.
func (s *supervision) noteStep(r review, did step) {
	did.Review = r.ID
	if tool, about, ok := strings.Cut(did.Tool, "("); ok {
		columns := 80 + displayWidth(tryCall().FindString(did.Tool)) // the command of ccc try counts
		did.Tool = tool + "(" + clip(strings.TrimSuffix(about, ")"), columns) + ")"
	}
	text := did.inWords(r.Seen.Top)
	switch did.Kind {
	case stepWords:
		s.print(printable(text))
	case stepCall, stepRefused:
		s.print("  " + printable(text))
	}
	did.Words = cutMiddle(did.Words, 2000)
	s.append(entry{Step: &did})
}

// takeWords turns an answer without a verdict into a refusal, and the words of the answer into its feedback.
// If the words say nothing, or hold an approval, which an agent takes as an order, the default feedback goes
// out instead. For a question takeWords returns an error: there was no review. It does the same for a stop
// after too many such answers in a row.
func (s *supervision) takeWords(r *review) error {
	on := r.occasion()
	said := r.Feedback
	before := s.past.last.withoutVerdict
	isBounded := s.dirs.inSession() && !on.isByHand // by hand somebody reads each
	withheld := saysNothing(said) || !on.isByHand && holdsApproval(said)
	most := 2 // so many answers without a verdict in a row send the agent back
	if withheld {
		most = 1 // without their words a second refusal would tell it nothing new
	}
	switch {
	case on.isQuestion && saysNothing(said):
		return errNoVerdict
	case on.isQuestion:
		return errors.New(say(noVerdict, cutMiddle(said, 500)))
	case isBounded && before >= most:
		r.Cause = causeForm
		return errors.New(say(noVerdictAgain, before+1))
	}
	r.Verdict = verdictBlock
	r.NoVerdict = true
	r.Withheld = withheld
	if withheld {
		r.Feedback = ""
	}
	return nil
}

// end ends a review that has begun, or that could not begin. If there is an error, no review took place: the
// agent stops, or the question goes to the user. The review is cancelled if the user ended it (Claude Code
// then no longer listens to the hook), or if supervision was switched off.
func (s *supervision) end(r review, err error) review {
	on := r.occasion()
	isOff := errors.Is(err, errSwitchedOff)
	switch {
	case errors.Is(err, errOverBudget) && !on.isByHand:
		r.Error = say(budgetUsed, s.config.Supervisor.MaxBudgetUSD)
		return s.endAtLimit(r)
	case err != nil:
		r.Verdict = verdictFailed
		if isOff || errors.Is(err, errUserEnded) {
			r.Verdict = verdictCancelled
		}
		if isOff {
			r.Cause = causeOff
		}
		r.Error = err.Error()
		r.Feedback = ""
		if !on.isByHand { // ccc review prints it itself
			fmt.Fprintln(os.Stderr, "ccc: no review:", printable(redact(r.Error))) // it may quote a key
		}
	case r.Verdict == verdictBlock:
		r.Feedback = cmp.Or(r.Feedback, say(defaultFeedback)) // a reviewer may refuse without a word
		if r.Observed {
			s.print(say(unfinishedObserved, printable(r.Feedback)))
		} else if !on.isByHand {
			s.print(say(on.refused, printable(r.Feedback)))
		}
	case !on.isByHand:
		s.print(say(on.allowed))
	}
	s.countEnd(r)
	return s.settle(r)
}

// endAtLimit ends a review at the limit, or once the budget is used up. Its feedback is what is still open.
func (s *supervision) endAtLimit(r review) review {
	on := r.occasion()
	r.Verdict = verdictLimit
	if on.isStop {
		r.Feedback = s.past.last.refusal.Feedback
	}
	s.print(say(on.skipped, r.usedUp()))
	return s.settle(r)
}

// countEnd resets the count after an approved stop. If something is still to come, it will wake the agent
// without a prompt, and the count goes on. If the review turned out to be observed, it counts for no limit,
// so countEnd takes it off the count.
func (s *supervision) countEnd(r review) {
	isEnd := r.endsRequest() && r.occasion().isStop
	if !isEnd && (!r.Observed || r.Iteration == 0) {
		return
	}
	s.warnLost("counting the review", s.changeState(func(state *sessionState) {
		state.Count = max(0, state.Count-1)
		if isEnd {
			state.Count = 0
		}
	}))
}

// settle records the end of a review and what became of the change, and returns r with what ccc try recorded.
func (s *supervision) settle(r review) review {
	r.Ended = now()
	s.recordEnd(r)
	s.warnLost("recording what has become of the change", s.place.settleChange(s.session, r, s.transcript))
	if r.isRecorded {
		s.release()
	} else { // it has not begun
		s.warnLost("noting the last review", s.place.noteLast(s.session.id, r))
	}
	s.warn("reading the timeline", s.past.read())
	if recorded := s.past.review(r.ID); recorded != nil {
		r.did = recorded.did
	}
	r.lost = s.lost
	return r
}

// recordEnd adds the end of a review to the timeline, and without feedback to the log.
func (s *supervision) recordEnd(r review) {
	line := r
	if r.isRecorded {
		line = r.addition()
	}
	s.append(entry{Review: &line})
	pairs := []any{"event", r.Event, "verdict", r.Verdict, "iteration", r.reviewNumber(),
		"duration", fmt.Sprintf("%.3fs", r.DurationSeconds)}
	if r.CostUSD > 0 { // else it is not known
		pairs = append(pairs, "cost_usd", r.CostUSD)
	}
	if r.NoVerdict {
		pairs = append(pairs, "no_verdict", true)
	}
	if r.Error != "" {
		pairs = append(pairs, "error", r.Error)
	}
	s.log("review ended", pairs...)
}

// feedbackLimit is in characters. Claude Code gives the agent a reason whole, and twice, so length costs.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit, if a file can keep all of it, and names that file.
func (s *supervision) cutFeedback(feedback string) string {
	runes := []rune(feedback)
	if len(runes) <= feedbackLimit {
		return feedback
	}
	err := os.WriteFile(s.session.feedbackFile(), []byte(feedback), 0o600)
	if err != nil {
		s.warn("keeping the whole feedback", err)
		return feedback
	}
	note := "\n" + say(feedbackCut, s.session.feedbackFile())
	return string(runes[:feedbackLimit-len([]rune(note))]) + note
}
