package main

// ccc supervisor-hook reads one event of Claude Code's from stdin and writes one decision to stdout. If it
// fails, it makes no decision and exits with 0: Claude Code takes 2, Go's code for a panic, as "block".

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// supervisorHook answers the event on stdin. It reports errors itself, so that the exit code is 0.
func supervisorHook(c *invocation) error {
	panicCode = 0
	defer exitOnPanic()
	if c.env.get(reviewerVariable) == "1" { // a reviewer's own claude: this decides nothing
		fmt.Println(`{"decision":"","":""}`)
		return nil
	}
	decision, err := answerEvent(c.env, c.flags["--state-dir"])
	if decision != nil {
		if _, err := os.Stdout.Write(append(encodeJSON(decision), '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "ccc: writing the decision:", err)
		}
	}
	reportError(os.Stderr, err)
	return nil
}

// answerEvent reads the event from stdin and returns the decision, nil for none. stateDir is --state-dir.
func answerEvent(env environ, stateDir string) (decision any, err error) {
	event, err := readEvent(os.Stdin)
	if err != nil {
		return nil, err
	}
	if path := env.get(trialVariable); path != "" {
		return answerTrial(path, event)
	}
	h, answer, err := newHook(env, stateDir, event)
	if h == nil {
		return answer, err
	}
	return h.answer(), nil
}

// answer returns the decision for an event of a supervised session, nil for none.
func (h *hook) answer() any {
	on := h.event.occasion()
	switch {
	case h.isCommand:
		answer, isTask := h.command(h.operand)
		if isTask {
			return h.recordPrompt(h.operand)
		}
		return blocked(h.withLost(answer))
	case h.event.HookEventName == eventPrompt:
		return h.recordPrompt(string(h.event.Prompt))
	case h.event.HookEventName == eventStart:
		return h.introduce()
	case on != nil:
		return h.stop(on)
	}
	return nil
}

// stop takes a stop or a question to its decision: due (due.go), judge (review.go), decide (event.go).
func (h *hook) stop(on *occasion) any {
	begun := now() // requests from here on are not judged
	ctx, cancel := h.untilEnded(h.patience())
	defer cancel()
	of, told, isDue := h.due(ctx, on)
	if !isDue {
		return told
	}
	return h.judge(ctx, on, begun, of, h.event.StopHookActive).decide(h.dirs.inSession())
}

// probePatience bounds the probe of a copy, for which the session waits: some 50 ms. A variable, for tests.
var probePatience = 2 * time.Second

// introduce tells the user, before the first prompt, that the session is supervised. Claude Code shows this
// at once, and the model does not get it (2.1.280, 2.1.332). A start after a compaction begins none.
func (h *hook) introduce() any {
	if mark := h.dirs.env.get(triedVariable); mark != "" && h.launched() {
		h.warn("noting that the hooks run", os.WriteFile(mark, nil, 0o600))
	}
	isNew := slices.Contains([]string{"startup", "resume", "clear", "fork"}, h.event.Source)
	if !h.dirs.inSession() || !isNew {
		return nil
	}
	if h.launched() { // Claude Code may move it before its first prompt, and no view has it before that
		h.warnLost("noting the launch", h.session.update(h.noteClient))
	}
	with := sayOf(introducedProvider, h.dirs.env.get(providerVariable))
	text := say(introduction, plural(h.reviewLimit(), reviews), with)
	if h.mode() == modeObserve {
		text = say(introductionObserved, with)
	}
	if own, _ := h.reviewersProvider(); own != nil {
		name := own.name
		if model := cmp.Or(h.config.Supervisor.Model, own.Env["ANTHROPIC_MODEL"]); model != "" {
			name = say(withReason, name, model)
		}
		text += say(introducedReviewer, name)
	}
	if h.config.Supervisor.Review == reviewWork {
		text += say(introducedWork)
	}
	if h.config.budgetFails(h.dirs.env) {
		text += say(introducedNoBudget)
	}
	if isCheckIdle(h.place.Top) {
		text += say(introducedIdleCheck)
	}
	if told := h.unjudged(); told != "" { // the session is resumed, or was moved in its review
		text += "\n" + told
	}
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	_, foreign, err := tryProbe(ctx, h.place.root, reviewerEnv(h.dirs.env))
	if err != nil && ctx.Err() == nil {
		text += say(introducedNoCopy)
	}
	text += sayOf(introducedForeign, foreign) + sayOf(introducedRule, h.bashRule())
	return systemMessage(h.withLost(text + say(introducedLog) + "\n" + h.config.englishOffer(h.dirs)))
}

// unjudged says that nobody has judged the last stop: its review was cancelled, or it waited for subagents.
// It is "" if somebody has, or if a prompt came after it.
func (h *hook) unjudged() string {
	last := h.past.last.stop
	isNew := last.line > h.past.prompted || last.isAbandoned()
	switch {
	case last.Verdict == verdictCancelled && last.Cause != causeOff && isNew:
		return say(earlierCancelled)
	case h.past.isPutOff:
		return say(earlierDeferred)
	}
	return ""
}

// recordPrompt records a prompt of the user's. A /loop may submit it for them, and an image has no words.
// The prompt resets the count of reviews, and if no change is open, one begins. If ccc was killed in a
// review, recordPrompt records the end of that review. It answers the prompt if nobody has judged the last
// stop.
func (h *hook) recordPrompt(text string) any {
	if text != "" && !isUsersOwn(text) {
		if h.state.PutOffFor != nil {
			h.notePutOff(nil)
		}
		return nil
	}
	told := h.unjudged()
	if last := h.past.last.stop; last.isAbandoned() {
		last.Ended = last.lastTime()
		h.recordEnd(last)
		lock := h.session.runningFile(last.ID)
		err := errors.Join(removeFile(lock), removeFile(lock+givenSuffix))
		h.warn("removing what a killed review left", err)
	}
	h.warnLost("resetting the count", h.changeState(func(s *sessionState) { s.Count = 0 }))
	h.append(entry{Prompt: &prompt{Text: text}})
	h.warnLost("recording where the change begins", h.place.beginAtPrompt(h.session, h.transcript))
	if told = h.withLost(told); told != "" {
		return systemMessage(told)
	}
	return nil
}
