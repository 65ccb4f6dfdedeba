package main

// ccc supervisor-hook: one event of Claude Code's in on stdin, one decision out on stdout. Whatever goes
// wrong ends as no decision and exit code 0: Claude Code takes 2, Go's code for a panic, as "block". The
// decision is made of the event and what came of its review; no file is read for it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
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

// A hook is one event on its way to a decision.
type hook struct {
	supervision
	configErr error // why ccc.json can't be used
	event     *hookEvent
}

// answerEvent reads the event from stdin and returns the decision, which goes out as JSON, or nil for none.
// state is the --state-dir flag, or "".
func answerEvent(env environ, state string) (decision any, err error) {
	event, err := readEvent(os.Stdin)
	if err != nil {
		return nil, err
	}
	if path := env.get(trialVariable); path != "" {
		return answerTrial(path, event)
	}
	d, err := findDirs(env, state)
	if err != nil {
		return nil, err
	}
	event.Cwd = cmp.Or(event.Cwd, d.here) // Claude Code runs a hook where the agent is
	d.here = cmp.Or(env.get(projectVariable), event.Cwd)
	h := newHook(d, event)
	operand, isCommand := slashCommand(string(event.Prompt))
	isCommand = isCommand && event.HookEventName == eventPrompt && theirCommand(d, d.here) == ""
	if h.mode() == modeOff && !isCommand {
		return nil, nil
	}
	h.config, h.configErr = loadConfig(d)
	h.config.use(env)
	if h.caller.isHelper {
		return blocked(say(modeNotForAgent)), nil
	}
	h.place = d.state.place(d.here, event.Cwd, env)
	h.noteEvent()
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		answer, isTask := h.command(operand)
		if isTask {
			return h.recordPrompt(operand), nil
		}
		return blocked(answer), nil
	}
	return h.answer(), nil
}

// answer returns the decision for an event of a supervised session, nil for none.
func (h *hook) answer() any {
	on := h.event.occasion()
	switch {
	case h.event.HookEventName == eventPrompt:
		return h.recordPrompt(string(h.event.Prompt))
	case h.event.HookEventName == eventStart:
		return h.introduce()
	case on != nil:
		return h.stop(on)
	}
	return nil
}

// noteEvent keeps the event, and notes it in the log.
func (h *hook) noteEvent() {
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.session.dir.create(); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", h.event.HookEventName)
	h.warn("keeping the event", keep(h.session.eventFile(), h.event.text))
	if h.event.odd != "" {
		h.warn("reading the hook event", errors.New("of another type than expected: "+h.event.odd))
	}
}

// newHook returns the hook for an event in the project d.here, with its caller and the session's state.
func newHook(d dirs, event *hookEvent) *hook {
	h := &hook{event: event, supervision: supervision{dirs: d, config: defaultConfig(),
		session: d.state.session(event.SessionID), transcript: event.TranscriptPath}}
	answered := []string{eventStart, eventPrompt, eventStop, eventPreToolUse}
	claims := slices.Contains(answered, event.HookEventName) // a tool's `claude mcp list` has a SessionEnd
	var err error
	if h.caller, err = d.callerNow(claims); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: noting whose the launch is:", err)
	}
	h.state, err = h.session.readState() // if it can't be read, it has the last switch
	if claims && err == nil && d.env.get(jobVariable) != "" && len(h.state.MovedFrom) == 0 {
		before, isForked, isKnown := d.movedFrom(event.SessionID, event.TranscriptPath)
		if isKnown {
			h.warn("going on as the session that was moved", h.session.goOnAs(before, isForked))
			h.state, _ = h.session.readState()
		}
	}
	return h
}

// answerTrial answers an event in a trial of the hooks (trial.go): it makes the file at path, with the id of
// the session, when that starts. A prompt is blocked: it would reach the model.
func answerTrial(path string, event *hookEvent) (decision any, err error) {
	switch event.HookEventName {
	case eventStart:
		return nil, os.WriteFile(path, []byte(event.SessionID), 0o600)
	case eventPrompt:
		return blocked("ccc tries the hooks, and no prompt is answered"), nil
	}
	return nil, nil
}

// stop takes a stop or a question to its decision: due, begin, call, end, decide.
func (h *hook) stop(on *occasion) any {
	r := newReview(on.name)
	r.Seen.tree = h.place.tree
	var err error
	h.past, err = h.session.readPast(h.state)
	h.warn("reading the timeline", err)
	ctx, cancel := h.untilEnded(h.patience())
	defer cancel()
	of, told, isDue := h.due(ctx, on)
	if !isDue {
		return told
	}
	r.Observed = h.mode() == modeObserve
	r.describe(of)
	isUsedUp := false
	err = h.configErr
	if err == nil {
		isUsedUp, err = h.count(&r)
	}
	switch {
	case err != nil:
		r = h.end(r, err)
	case isUsedUp:
		r = h.endAtLimit(r)
	default:
		about := fmt.Sprintf("session: %s  event: %s", h.session.id, r.Event)
		if !r.Observed {
			about += "  iteration " + r.reviewNumber()
		}
		rule := strings.Repeat("─", 60)
		h.print(rule, say(hookBegun), about, rule)
		r = h.conduct(ctx, r, of)
	}
	r.Feedback = h.cutFeedback(r.Feedback)
	return r.decide(h.dirs.inSession())
}

// due returns what is to be judged of the event. If no review is due, told is the message for the user, nil
// for none.
func (h *hook) due(ctx context.Context, on *occasion) (of subject, told any, isDue bool) {
	isObservedQuestion := func() bool { return on.isQuestion && h.mode() == modeObserve }
	if isObservedQuestion() { // it would only wait for its review
		return of, nil, false
	}
	of = h.subject(on)
	switch { // the mode now heeds what waits in the queue
	case h.mode() == modeOff:
		h.log("stop not reviewed", "queued", modeOff)
		return of, nil, false
	case isObservedQuestion():
		return of, nil, false
	case on.isStop && h.putsOff():
		return of, systemMessage(say(deferred)), false
	}
	if h.configErr != nil || on.isQuestion || h.hasWorked(ctx, &of) {
		return of, nil, true
	}
	h.log("stop not reviewed", "review", reviewWork)
	h.append(entry{Unreviewed: reviewWork})
	if of.change.Repository != "" && of.change.Unseen == "" {
		h.warnLost("ending the change", h.place.endUnchanged(h.session, of.change.begin))
	}
	if h.lost != nil {
		told = systemMessage(say(notRecorded, h.lost))
	}
	return of, told, false
}

// putsOff reports whether a stop is not to be reviewed yet, and records that. Subagents of an interactive
// session still work, and their end wakes it. If the same ones worked at the last such stop, one may hang.
// That holds only if since then neither a review nor a word of Claude Code's own has come: a subagent that
// is resumed has the same id (2.1.280, 2.1.332).
func (h *hook) putsOff() bool {
	ids := h.event.subagents()
	isInteractive := h.dirs.env.get(entrypointVariable) == "cli"
	if !isInteractive || len(ids) == 0 || slices.Equal(ids, h.state.PutOffFor) {
		return false
	}
	h.notePutOff(ids)
	h.append(entry{Unreviewed: unreviewedYet, Subagents: ids})
	h.log("stop not reviewed", unreviewedYet, len(ids))
	return h.lost == nil // else the next one would wait, too
}

// notePutOff notes the subagents for which a stop was put off, nil for none.
func (h *hook) notePutOff(ids []string) {
	err := h.changeState(func(s *sessionState) { s.PutOffFor = ids })
	h.warnLost("noting which subagents work", err)
}

// hasWorked reports whether a stop is to be reviewed. It always is, but with `review: "work"` only if the
// last review did not approve, or the agent has called a tool since that began, or there is a change. A
// transcript that can't be read, or is not complete, may hold a call. If the change is not known, the calls
// alone count.
func (h *hook) hasWorked(ctx context.Context, of *subject) bool {
	last := h.past.last.stop
	since := last.Begun
	switch {
	case h.config.Supervisor.Review != reviewWork, of.incomplete, h.past.firstPrompted.IsZero():
		return true
	case last.ID == "":
		since = h.past.firstPrompted.Add(-promptTimeout)
	case last.Verdict != verdictAllow:
		return true
	}
	if of.called.After(since) {
		return true
	}
	h.takeChange(ctx, occasionNamed(eventStop), of)
	return len(of.change.paths) > 0 || ctx.Err() != nil // Esc, which is no stop of words
}

// count counts the review, and gives it its number and its limit. One that is observed has neither, but the
// budget is for those, too. It reports whether the limit is reached or the budget used up.
func (h *hook) count(r *review) (isUsedUp bool, err error) {
	err = h.changeState(func(s *sessionState) {
		s.PutOffFor = nil
		if !r.Observed {
			r.Limit = h.reviewLimit()
		}
		budget := h.config.Supervisor.MaxBudgetUSD
		switch {
		case budget > 0 && h.past.budgetLeft(budget) <= 0:
			r.Error = say(budgetUsed, budget)
		case s.Count < r.Limit:
			s.Count++
			r.Iteration = s.Count
		}
	})
	h.warnLost("counting the iteration", err)
	switch {
	case err == nil || r.Observed:
	case h.event.StopHookActive || !r.occasion().isStop:
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		return false, errNoCount
	default:
		r.Iteration = 1
		r.Limit = h.reviewLimit()
	}
	return r.Error != "" || r.Iteration == 0 && !r.Observed, nil
}

// subject returns what is to be judged of the event, once the transcript has what belongs to that.
func (h *hook) subject(on *occasion) subject {
	e := h.event
	of := subject{section: on.section, inPlanMode: e.PermissionMode == "plan", tasks: e.BackgroundTasks,
		crons: e.SessionCrons, lastMessage: string(e.LastAssistantMessage)}
	if on.isQuestion {
		of.question = encodeJSON(e.ToolInput)
	}
	var err error
	of.conversation, err = e.conversation(h.past.newestPrompt)
	h.warn("reading the transcript", err)
	if theirCommand(h.dirs, h.dirs.here) == "" {
		h.queue.follow(e.TranscriptPath, of.conversation)
	}
	return of
}

// feedbackLimit is in characters. Claude Code gives the agent a reason whole, and twice, so length costs.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit and names the file that has all of it. If that can't be
// written, the feedback stays whole.
func (h *hook) cutFeedback(feedback string) string {
	runes := []rune(feedback)
	if len(runes) <= feedbackLimit {
		return feedback
	}
	err := os.WriteFile(h.session.feedbackFile(), []byte(feedback), 0o600)
	if err != nil {
		h.warn("keeping the whole feedback", err)
		return feedback
	}
	note := "\n" + say(feedbackCut, h.session.feedbackFile())
	return string(runes[:feedbackLimit-len([]rune(note))]) + note
}

// probePatience bounds the probe of a copy, for which the session waits: some 50 ms. A variable, for tests.
var probePatience = 2 * time.Second

// introduce shows the user, before the first prompt, that the session is supervised. Claude Code shows it at
// once, and the model does not get it (2.1.280, 2.1.332). At source compact the session goes on.
func (h *hook) introduce() any {
	if mark := h.dirs.env.get(triedVariable); mark != "" && h.launched() {
		h.warn("noting that the hooks run", os.WriteFile(mark, nil, 0o600))
	}
	isNew := slices.Contains([]string{"startup", "resume", "clear", "fork"}, h.event.Source)
	if !h.dirs.inSession() || !isNew {
		return nil
	}
	with := sayOf(introducedProvider, h.dirs.env.get(providerVariable))
	text := say(introduction, count(h.reviewLimit(), reviews), with)
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
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	_, foreign, err := tryProbe(ctx, h.place.root, reviewerEnv(h.dirs.env))
	if err != nil && ctx.Err() == nil {
		text += say(introducedNoCopy)
	}
	text += sayOf(introducedForeign, foreign) + sayOf(introducedRule, h.bashRule())
	return systemMessage(strings.TrimSpace(text + say(introducedLog) + "\n" + h.config.englishOffer(h.dirs)))
}

// recordPrompt records a prompt of the user's. A /loop may submit it for them, and an image has no words.
// The reviews are counted anew from here, and if no change is open, one begins. It is answered if the user
// does not know yet that nobody has judged the last stop: its review was cancelled, or it waited for
// subagents. If ccc was killed in a review, the end of that is recorded now.
func (h *hook) recordPrompt(text string) any {
	if text != "" && !isUsersOwn(text) {
		if h.state.PutOffFor != nil {
			h.notePutOff(nil)
		}
		return nil
	}
	past, err := h.session.readPast(h.state)
	h.warn("reading the timeline", err)
	last := past.last.stop
	isNew := last.line > past.prompted || last.isAbandoned()
	isCancelled := last.Verdict == verdictCancelled && last.Cause != causeOff && isNew
	if last.isAbandoned() {
		last.Ended = last.lastTime()
		h.recordEnd(last)
		h.warn("removing a lock", removeFile(h.session.runningFile(last.ID)))
	}
	h.warnLost("resetting the count", h.changeState(func(s *sessionState) { s.Count = 0 }))
	h.append(entry{Prompt: &prompt{Text: text}})
	h.warnLost("recording where the change begins", h.place.beginAtPrompt(h.session, h.transcript))
	switch {
	case isCancelled:
		return systemMessage(say(earlierCancelled))
	case past.isPutOff:
		return systemMessage(say(earlierDeferred))
	case h.lost != nil:
		return systemMessage(say(notRecorded, h.lost))
	}
	return nil
}

// blocked is the decision that sends the agent back with a reason, or keeps a prompt from it.
func blocked(reason string) map[string]any {
	return map[string]any{"decision": "block", "reason": reason}
}

// toolDecision is the decision about a call of a tool: allow or deny.
func toolDecision(decision, reason string) map[string]any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": eventPreToolUse, "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// systemMessage is an answer that Claude Code shows to the user.
func systemMessage(text string) map[string]any {
	return map[string]any{"systemMessage": supervisorTag + " " + printable(redact(text))}
}

// decide returns the answer to the event of a review that ended so: what the agent may do, and in a session
// what the user reads. nil is no answer.
func (r review) decide(inSession bool) any {
	answer := map[string]any{}
	isQuestion := r.occasion().isQuestion
	isBlock := r.Verdict == verdictBlock && !r.Observed
	switch {
	case !isQuestion && isBlock:
		answer = blocked(r.Feedback)
	case !isQuestion, r.Observed, r.Verdict == verdictFailed, r.Verdict == verdictCancelled:
	case isBlock:
		answer = toolDecision("deny", r.Feedback)
	case r.Verdict == verdictLimit:
		answer = toolDecision("allow", r.usedUp())
	default:
		answer = toolDecision("allow", r.Feedback)
	}
	if inSession && r.Verdict != verdictCancelled {
		text := r.message()
		if r.lost != nil {
			text += "\n" + say(notRecorded, r.lost)
		}
		maps.Copy(answer, systemMessage(text))
	}
	if len(answer) == 0 {
		return nil
	}
	return answer
}

// message is what the user reads of a review that ended so: that it failed, that the limit is reached, or
// what the verdict rests on. A question that was sent back comes with its answer, since the client shows
// neither the question nor whose words the agent gets.
func (r review) message() string {
	on := r.occasion()
	switch {
	case r.Verdict == verdictFailed:
		return say(on.unreviewed, cutMiddle(r.Error, 200), r.advice())
	case r.Verdict == verdictLimit:
		text := say(on.overLimit, r.usedUp())
		if r.Feedback != "" {
			text += "\n" + say(feedbackStillOpen, cutMiddle(r.Feedback, 1000))
		}
		return text
	case r.Verdict == verdictBlock && r.Observed:
		return r.receipt() + "\n" + say(observedFeedback, r.Feedback)
	case r.Verdict == verdictBlock && on.isQuestion:
		answer := say(on.answer, cutMiddle(r.Feedback, 500))
		lines := []string{say(on.answered), r.Question, answer, r.receipt(), say(on.otherwise)}
		return strings.Join(lines, "\n")
	case r.Verdict == verdictAllow && r.Feedback != "":
		return r.receipt() + "\n" + say(leftToUser, r.Feedback)
	}
	return r.receipt()
}
