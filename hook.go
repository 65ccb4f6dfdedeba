package main

// ccc supervisor-hook: one event of Claude Code's in on stdin, one decision out on stdout. Whatever goes
// wrong ends as no decision and exit code 0: Claude Code takes 2, Go's code for a panic, as "block".

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	if c.env.get(reviewerVariable) == "1" { // a reviewer's own claude, which decides nothing by that
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
	isCommand = isCommand && event.HookEventName == eventPrompt && theirCommand(d, h.project) == ""
	if h.state.modeIn(h.caller) == modeOff && !isCommand {
		return nil, nil
	}
	h.config, h.configErr = loadConfig(d)
	h.config.use(env)
	if h.caller.isHelper {
		return blocked(say(modeNotForAgent)), nil
	}
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.session.dir.create(); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	if event.odd != "" {
		h.warn("reading the hook event", errors.New("of another type than expected: "+event.odd))
	}
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		answer, isTask := h.command(operand)
		if isTask {
			return h.recordPrompt(operand), nil
		}
		return blocked(answer), nil
	case event.HookEventName == eventPrompt:
		return h.recordPrompt(string(event.Prompt)), nil
	case event.HookEventName == eventStart:
		if mark := env.get(triedVariable); mark != "" && h.launched() {
			h.warn("noting that the hooks run", os.WriteFile(mark, nil, 0o600))
		}
		return h.introduce(), nil
	}
	on := event.occasion()
	if on == nil || on.isQuestion && h.present() == modeObserve { // a question would only wait for its review
		return nil, nil
	}
	if answer := h.deferStop(); answer != nil {
		return answer, nil
	}
	return h.stop().decide(d.inSession()), nil
}

// deferStop returns the answer to a stop of an interactive session at which subagents still work, nil for any
// other: it is reviewed when they have ended, which wakes the session. Where the same ones worked at the last
// such stop, one may hang.
func (h *hook) deferStop() any {
	ids := h.event.subagents()
	isInteractive := h.dirs.env.get(entrypointVariable) == "cli"
	if !h.event.occasion().isStop || !isInteractive || len(ids) == 0 {
		return nil
	}
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	if slices.Equal(ids, past.awaited) {
		return nil
	}
	h.record(entry{Unreviewed: unreviewedYet, Subagents: ids})
	if h.lost != nil { // the next one would be deferred, too
		return nil
	}
	h.log("stop not reviewed", unreviewedYet, len(ids))
	return systemMessage(say(deferred))
}

// newHook returns the hook for an event in the project d.here, with its caller and the session's state.
func newHook(d dirs, event *hookEvent) *hook {
	h := &hook{supervision: supervision{dirs: d, project: d.here}, event: event}
	h.session = d.state.session(event.SessionID)
	answered := []string{eventStart, eventPrompt, eventStop, eventPreToolUse}
	claims := slices.Contains(answered, event.HookEventName) // `claude mcp list` of a tool's has a SessionEnd
	var err error
	if h.caller, err = d.callerNow(claims); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: noting whose the launch is:", err)
	}
	h.present = func() mode {
		state, _ := h.session.readState() // of one that can't be read the last switch
		return state.modeIn(h.caller).under(h.config.Supervisor.Observe)
	}
	h.state, _ = h.session.readState()
	return h
}

// answerTrial answers an event in a trial of the hooks (trial.go): it makes the file at path, with the id of
// the session, when that starts. A prompt would ask the model.
func answerTrial(path string, event *hookEvent) (decision any, err error) {
	switch event.HookEventName {
	case eventStart:
		return nil, os.WriteFile(path, []byte(event.SessionID), 0o600)
	case eventPrompt:
		return blocked("ccc tries the hooks, and no prompt is answered"), nil
	}
	return nil, nil
}

// stop has a stop or a question reviewed. It returns what came of it, with the feedback as the agent gets it;
// without a verdict where no review was due.
func (h *hook) stop() review {
	on := h.event.occasion()
	r := newReview(on.name)
	r.Seen.tree = h.place(h.event.Cwd).tree
	r.Observed = h.present() == modeObserve
	var err error
	h.past, err = h.session.readHistory()
	h.warn("reading the timeline", err)
	if h.configErr != nil {
		return h.endReview(r, h.configErr)
	}
	ctx, cancel := h.untilEnded(h.patience())
	defer cancel()
	request := h.buildRequest()
	h.request = request
	if on.isStop && h.config.Supervisor.Review == reviewWork && !h.hasWorked(ctx, request) {
		h.log("stop not reviewed", "review", reviewWork)
		h.record(entry{Unreviewed: reviewWork})
		h.warn("ending the change", h.place(h.event.Cwd).letGo(h.session))
		return r
	}
	r.Waiting = request.isWaiting()
	about := fmt.Sprintf("session: %s  event: %s", h.session.id, r.Event)
	switch err := h.count(&r); {
	case err != nil:
		return h.endReview(r, err)
	case r.Observed:
	case r.Iteration == 0:
		return h.endAtLimit(r, request)
	default:
		about += "  iteration " + r.reviewNumber()
	}
	rule := strings.Repeat("─", 60)
	h.print(rule, say(hookBegun), about, rule)
	wasCounted := r.Iteration > 0
	r = h.review(ctx, r, request)
	r.Feedback = h.cutFeedback(r.Feedback)
	h.warn("noting how the review ended", h.update(func(s *sessionState) {
		switch {
		case on.isStop && r.Verdict == verdictAllow:
			s.Count = 0
		case wasCounted && r.Observed:
			s.Count = max(0, s.Count-1)
		}
	}))
	return r
}

// count counts the review of the event, and gives it its number and its limit. At the limit the number is 0.
// One that is observed has neither.
func (h *hook) count(r *review) error {
	if !r.Observed {
		r.Limit = h.reviewLimit()
	}
	on := r.occasion()
	err := h.update(func(s *sessionState) {
		r.Iteration = s.countReview(r.Limit)
	})
	h.warnLost("counting the iteration", err)
	switch {
	case err == nil || r.Observed:
	case h.event.StopHookActive || !on.isStop:
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		return errNoCount
	default:
		r.Iteration = 1
	}
	return nil
}

// endAtLimit ends a review that would be beyond the limit. Its feedback is what is still open.
func (h *hook) endAtLimit(r review, request reviewRequest) review {
	h.print(say(limitSkipped, r.Limit))
	r.Verdict, r.LastMessage = verdictLimit, cutMiddle(request.lastMessage, 2000)
	on := r.occasion()
	if on.isQuestion {
		r.Question = on.quote(request.question)
	}
	r = h.endReview(r, nil)
	if r.Feedback = h.past.openFeedback(); on.isQuestion {
		r.Feedback = say(limitReached, count(r.Limit, reviews))
	}
	return r
}

// hasWorked reports whether a stop is of work: the last one is not approved, the agent has called a tool
// since then, or there is a change. A transcript that can't be read, or is not complete, may hold a call.
// Where the change is not known, the calls alone count.
func (h *hook) hasWorked(ctx context.Context, request reviewRequest) bool {
	last := h.past.lastStop()
	since := last.Begun
	switch {
	case request.incomplete, len(h.past.Prompts) == 0:
		return true
	case last.ID == "":
		since = h.past.Prompts[0].at.Add(-promptTimeout)
	case last.Verdict != verdictAllow:
		return true
	}
	return request.called.After(since) ||
		len(h.place(h.event.Cwd).takeChange(ctx, h.session, request.transcript, false).paths) > 0
}

// update changes the session's state. It also notes there which provider the client has, and when it was
// launched, if it was launched supervised.
func (h *hook) update(change func(*sessionState)) error {
	return h.session.update(func(s *sessionState) {
		if !h.caller.byHand {
			s.Provider = cmp.Or(h.dirs.env.get(providerVariable), noProvider)
		}
		s.noteLaunch(h.caller.launched)
		change(s)
	})
}

// buildRequest returns what the reviewer gets to know of the event.
func (h *hook) buildRequest() reviewRequest {
	e, past, on := h.event, h.past, h.event.occasion()
	r := reviewRequest{here: e.Cwd, transcript: e.TranscriptPath, section: on.section,
		tasks: e.BackgroundTasks, crons: e.SessionCrons, inPlanMode: e.PermissionMode == "plan",
		lastMessage: string(e.LastAssistantMessage)}
	if on.isQuestion {
		r.question = encodeJSON(e.ToolInput)
	}
	r.refusal = past.lastRefusal()
	newest := "" // of the prompts with words
	for _, p := range past.Prompts {
		newest = cmp.Or(p.Text, newest)
	}
	var err error
	r.conversation, err = e.conversation(newest)
	h.warn("reading the transcript", err)
	r.noteReviews(past)
	return r
}

// feedbackLimit is in characters. Claude Code gives the agent a reason whole, and twice, so length costs.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit and adds where it is whole. Where it can't be kept, it stays
// whole.
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

// introduce shows the user, before the first prompt, that the session is supervised. Claude Code shows it at
// once, and the model does not get it (2.1.280, 2.1.332). At source compact the session goes on.
func (h *hook) introduce() any {
	isNew := slices.Contains([]string{"startup", "resume", "clear", "fork"}, h.event.Source)
	if !h.dirs.inSession() || !isNew {
		return nil
	}
	with := h.dirs.env.get(providerVariable)
	if with != "" {
		with = say(introducedProvider, with)
	}
	text := say(introduction, count(h.reviewLimit(), reviews), with)
	if h.present() == modeObserve {
		text = say(introductionObserved, with)
	}
	if h.config.Supervisor.Review == reviewWork {
		text += say(introducedWork)
	}
	const patience = 2 * time.Second // the probe takes some 50 ms, and the session waits for it
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, foreign, err := tryProbe(ctx, workingTree(h.project, h.event.Cwd), reviewerEnv(h.dirs.env))
	if err != nil && ctx.Err() == nil {
		text += say(introducedNoCopy)
	} else if foreign != "" {
		text += say(introducedForeign, foreign)
	}
	return systemMessage(strings.TrimSpace(text + say(introducedLog) + "\n" + h.config.englishOffer(h.dirs)))
}

// beginChange notes that the session's change begins with this prompt, if none is open. Outside git the
// prompt takes back what the last review said.
func (h *hook) beginChange() error {
	p := h.place(h.event.Cwd)
	if p.Repository == "" {
		if r, err := p.record(); err == nil && r.Last == nil {
			return nil
		}
		return p.update(func(r *treeRecord) { r.Last = nil })
	}
	_, err := p.beginOf(context.Background(), h.session, h.event.TranscriptPath, true)
	return err
}

// recordPrompt records a prompt of the user's, also one that a /loop submits for them, or that has no words,
// as of an image; from it on the reviews are counted anew. It is answered where the user does not know yet
// that nobody has judged the last stop: its review has no end, which is recorded now, or it waited for
// subagents.
func (h *hook) recordPrompt(text string) any {
	if text != "" && !isUsersOwn(text) {
		return nil
	}
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	h.warnLost("resetting the count", h.update(func(s *sessionState) { s.Count = 0 }))
	h.record(entry{Prompt: &prompt{Text: text}})
	h.warnLost("recording where the change begins", h.beginChange())
	last := past.lastStop()
	if last.isAbandoned() {
		last.Ended = now()
		h.record(entry{Review: &last})
		h.logEnd(last)
		h.warn("removing a lock", removeFile(h.session.runningFile(last.ID)))
		return systemMessage(say(earlierCancelled, last.Error))
	}
	if past.isAwaited {
		return systemMessage(say(earlierDeferred))
	}
	if h.lost != nil {
		return systemMessage(say(notRecorded, h.lost))
	}
	return nil
}
