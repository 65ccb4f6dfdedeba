package main

// ccc verdict, for scripts and hooks: stdout has one word, stderr the reason, and the exit code is 0 only
// for an approval that still holds.

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// verdictCodes are the exit codes of ccc verdict.
var verdictCodes = map[verdict]int{
	verdictAllow: 0, verdictBlock: 1, verdictFailed: 1, verdictLimit: 1,
	answerNone: 3, verdictReviewing: 3, verdictCancelled: 3, answerChanged: 3,
}

// A sessionReview is a review with the session that it is of.
type sessionReview struct {
	review
	session string
	history *history
}

// showVerdict is ccc verdict [SESSION].
func showVerdict(c *invocation, d dirs) error {
	stops, err := d.stops(c.operands)
	if err != nil {
		return err
	}
	word, lines := answerNone, []string{say(nobodyHere, pathFrom("", treeOf(d.here).Top))}
	if len(stops) > 0 {
		last, a := lastJudged(stops, d.env)
		word, lines = a.word, last.reasonLines(a)
		if last.isTakenBack() {
			word = answerNone
		}
	}
	fmt.Println(word)
	code, isKnown := verdictCodes[word]
	if !isKnown { // a timeline may hold any word
		code = 1
	}
	if code != 0 && newScreen(os.Stderr).terminal {
		lines = append(lines, say(verdictAdvice))
	}
	notice(printable(redact(strings.Join(lines, "\n"))))
	return failure{code: code}
}

// isTakenBack reports whether the next prompt has taken the review back, as it does outside git.
func (s sessionReview) isTakenBack() bool {
	return s.Seen.Repository == "" && s.Begun.Before(s.history.lastPrompt())
}

// stops returns the reviews that count as a stop: of the session that the operand names, else of all sessions
// in the tree that holds d.here, as they ended. A session that can't be read may be the newest: an error.
func (d dirs) stops(operands []string) (stops []sessionReview, err error) {
	here := treeOf(d.here)
	ids, err := d.state.sessions()
	if len(operands) > 0 && err == nil {
		ids = []string{""}
		ids[0], err = d.state.findSession(operands[0])
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		h, err := d.state.session(id).readHistory()
		if err != nil {
			return nil, failure{code: 2, err: fmt.Errorf("session %s: %w", id, err), hint: sessionHint}
		}
		for _, r := range h.Reviews {
			stop := sessionReview{review: r, session: id, history: h}
			if stop.countsAsStop() && (r.Seen.tree == here || len(operands) > 0) {
				stops = append(stops, stop)
			}
		}
	}
	slices.SortStableFunc(stops, func(a, b sessionReview) int { return a.endTime().Compare(b.endTime()) })
	return stops, nil
}

// endTime is when the review ended; one that runs ends last.
func (s sessionReview) endTime() time.Time {
	if s.Verdict == verdictReviewing {
		return time.Now().Add(time.Hour)
	}
	return s.lastTime()
}

// lastJudged returns the last stop, and its answer. If that was not reviewed (failed, cancelled), an approval
// right before it counts, as long as no file has changed.
func lastJudged(stops []sessionReview, env []string) (sessionReview, answer) {
	last := len(stops) - 1
	before := last
	for before > 0 && (stops[before].Verdict == verdictFailed || stops[before].Verdict == verdictCancelled) {
		before--
	}
	if s := stops[before]; before < last && s.Verdict == verdictAllow && s.Seen.Repository != "" {
		if a := s.answer(env); a.word == verdictAllow {
			return s, a
		}
	}
	return stops[last], stops[last].answer(env)
}

// reasonLines are the reason: which review it was, when, and what follows from it.
func (s sessionReview) reasonLines(a answer) (lines []string) {
	when := howLongAgo(s.lastTime())
	head := say(verdictHead, s.reviewTitle(), s.verdictName(), when)
	switch s.Verdict {
	case verdictAllow:
		lines = append(lines, say(approvedHead, head, a.why))
		if s.Feedback != "" {
			lines = append(lines, say(leftToUser, s.Feedback))
		}
	case verdictReviewing:
		return []string{say(reviewRuns, s.reviewTitle(), runningSince(s.Begun))}
	case verdictLimit:
		lines = append(lines, say(withReason, say(limitReached, count(s.Limit, reviews)), when))
		if open := s.history.openFeedback(); open != "" {
			lines = append(lines, say(feedbackStillOpen, open))
		}
	case verdictBlock, verdictFailed, verdictCancelled:
		lines = append(lines, say(titleAndWord, head, a.why))
	default: // a timeline may hold any word
		lines = append(lines, head)
	}
	if s.history.lastPrompt().After(s.Begun) {
		lines = append(lines, say(newerRequest))
	}
	if len(a.untracked) > 0 {
		lines = append(lines, say(newUntracked, pathNames(a.untracked)))
	}
	return lines
}
