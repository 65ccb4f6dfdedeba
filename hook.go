package main

// ccc supervisor-hook: one event of Claude Code's in on stdin, one decision out on stdout. Whatever goes
// wrong ends as no decision and exit code 0: Claude Code takes 2, Go's code for a panic, as "block".

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

// reviewersOwn is the answer to a hook of a reviewer's own claude. Claude Code decides nothing by it.
const reviewersOwn = `{"decision":"","":""}` + "\n"

// supervisorHook answers the event on stdin. It reports errors itself, so that the exit code is 0.
func supervisorHook(c *invocation) error {
	panicCode = 0
	defer exitOnPanic()
	if os.Getenv(reviewerVariable) == "1" {
		fmt.Print(reviewersOwn)
		return nil
	}
	decision, err := decide(c.flags["--state-dir"])
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
	caller    caller
}

// decide reads the event from stdin and returns the decision, which goes out as JSON, or nil for none. state
// is the --state-dir flag, or "".
func decide(state string) (decision any, err error) {
	event, err := readEvent(os.Stdin)
	if err != nil {
		return nil, err
	}
	if path := os.Getenv(trialVariable); path != "" {
		return answerTrial(path, event)
	}
	d, err := findDirs(state)
	if err != nil {
		return nil, err
	}
	event.Cwd = cmp.Or(event.Cwd, d.here) // Claude Code runs a hook where the agent is
	d.here = cmp.Or(os.Getenv(projectVariable), event.Cwd)
	h := &hook{supervision: supervision{dirs: d, project: d.here}, event: event}
	h.session = stateDir(d.state).session(event.SessionID)
	operand, isCommand := slashCommand(event.Prompt)
	isCommand = isCommand && event.HookEventName == eventPrompt && !commandIsTheirs(d, h.project)
	if inSession() {
		chain := clientAncestry()
		h.caller = callerOf(chain)
		if len(chain) > 0 {
			h.client = processNumber(chain[0].name)
		}
	} else { // a person or a script runs the hook by hand, and there is no client
		h.caller = callerOf(ancestry(os.Getpid()))
		h.caller.byHand = true
	}
	h.launched = !h.caller.launched.IsZero()
	h.isWanted = func() bool { return h.session.supervised(h.caller) }
	supervised := h.isWanted()
	if !supervised && !isCommand {
		return nil, nil
	}
	setLanguage(d)
	h.config, h.configErr = loadConfig(d)
	if h.caller.agents {
		return blocked(say(modeNotForAgent)), nil
	}
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.session.dir.create(); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	if len(event.odd) > 0 {
		err := errors.New("of another type than expected: " + strings.Join(event.odd, ", "))
		h.warn("reading the hook event", err)
	}
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		return h.command(operand, supervised), nil
	case event.HookEventName == eventPrompt:
		return h.prompt(event.Prompt), nil
	case event.HookEventName == eventStart:
		return h.introduce(), nil
	case event.isStop(), event.HookEventName == eventPreToolUse && event.ToolName == askUserQuestion:
		found := h.stop()
		h.keep(found)
		return h.decision(found), nil
	}
	return nil, nil
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

// stop counts a stop or a question and has it reviewed. It returns the end of the review.
func (h *hook) stop() record {
	entry := record{Kind: kindEnd, Event: h.event.HookEventName}
	entry.tree = treeOf(workingTree(h.project, h.event.Cwd))
	if h.configErr != nil {
		return h.failed(entry, h.configErr)
	}
	ctx, cancel := h.untilEnded(h.patience(entry.Event))
	defer cancel()
	request := h.request()
	entry.Limit, entry.Closes = h.reviewLimit(), request.closes()
	isAnew := h.event.isStop() && request.change.history.beginsAnew(h.event.StopHookActive)
	err := h.update(func(s *sessionState) {
		if isAnew {
			s.Count = 0
		}
		entry.Iteration = s.nextIteration(entry.Limit)
	})
	if err != nil {
		h.warn("counting the iteration", err)
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		if h.event.StopHookActive || !h.event.isStop() {
			return h.failed(entry, errNoCount)
		}
		entry.Iteration = 1
	}
	if entry.Iteration == 0 {
		entry.Verdict, entry.LastMessage = verdictLimit, request.lastMessage
		entry.Question = questionText(request.question)
		h.print(say(limitSkipped, entry.Limit))
		h.record(entry)
		entry.Feedback = request.openFeedback
		if !h.event.isStop() {
			entry.Feedback = say(limitReached, count(entry.Limit, reviews))
		}
		return entry
	}
	rule := strings.Repeat("─", 60)
	about := fmt.Sprintf("session: %s  event: %s  iteration %s", h.session.id, entry.Event, entry.ordinal())
	h.print(rule, say(hookBegun), about, rule)
	request.iteration, request.limit = entry.Iteration, entry.Limit
	return h.review(ctx, entry, request)
}

// keep notes for the next hooks whether the user ended the review of a stop with Esc: Claude Code no longer
// listens then. Who switched supervision off knows it.
func (h *hook) keep(found record) {
	if !h.event.isStop() {
		return
	}
	h.warn("keeping what came of the review", h.session.update(func(s *sessionState) {
		s.Cancelled = found.Verdict == verdictCancelled && h.isWanted()
	}))
}

// update changes the session's state. It also notes there which provider the client has, and when it was
// launched, if it was launched supervised.
func (h *hook) update(change func(*sessionState)) error {
	return h.session.update(func(s *sessionState) {
		if !h.caller.byHand {
			s.Provider = cmp.Or(os.Getenv(providerVariable), noProvider)
		}
		if h.caller.launched.After(s.LaunchedAt) {
			s.LaunchedAt = h.caller.launched
		}
		change(s)
	})
}

// request returns what the reviewer is told of the event. Which of the user's requests stand, the transcript
// tells; where it can't be read, the timeline's prompts take their place.
func (h *hook) request() reviewRequest {
	e := h.event
	r := reviewRequest{here: e.Cwd, tasks: e.BackgroundTasks, crons: e.SessionCrons, lastMessage: e.LastAssistantMessage}
	r.inPlanMode = e.PermissionMode == "plan"
	if !e.isStop() {
		r.question = encodeJSON(e.ToolInput)
	}
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	r.refusal, r.openFeedback = past.feedback()
	r.unread = past.unread()
	r.cacheMissed = slices.ContainsFunc(past.Rounds, func(r reviewRound) bool { return r.CacheMissed })
	var asked record
	if n := len(past.Requests); n > 0 {
		asked = past.Requests[n-1]
	}
	if r.conversation, err = e.conversation(asked.Prompt); err != nil {
		h.warn("reading the transcript", err)
		r.requests, r.unconfirmed = nil, true
		for _, submitted := range past.Requests {
			r.requests = append(r.requests, userRequest{words: submitted.Prompt, prompt: true})
		}
	}
	r.noteReviews(&past)
	r.change = changeOf{history: &past}
	if len(r.requests) > 0 {
		r.change.started = r.requests[0].at
	}
	return r
}

// blocked is the decision that sends the agent on with a reason, or keeps a prompt from it.
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
	return map[string]any{"systemMessage": "[SUPERVISOR] " + printable(redact(text))}
}

// decision returns the answer to a stop or a question whose review ended so, nil for none: what the agent may
// do, and in a session what the user is told.
func (h *hook) decision(found record) any {
	feedback, answer := h.cutFeedback(found.Feedback), map[string]any{}
	isStop, isBlock := h.event.isStop(), found.Verdict == verdictBlock
	switch {
	case isStop && isBlock:
		answer = blocked(feedback)
	case isStop, found.Verdict == verdictFailed, found.Verdict == verdictCancelled:
	case isBlock:
		answer = toolDecision("deny", feedback)
	default:
		answer = toolDecision("allow", feedback)
	}
	if inSession() && found.Verdict != verdictCancelled {
		maps.Copy(answer, systemMessage(h.message(found, feedback)))
	}
	if len(answer) == 0 {
		return nil
	}
	return answer
}

// message is what the user is told of a review that ended so: that it failed, that the limit is reached, or
// what the verdict rests on. A question that was sent back is told with its answer: the client shows neither
// the question nor whose words the agent gets.
func (h *hook) message(found record, feedback string) string {
	isStop := h.event.isStop()
	switch {
	case found.Verdict == verdictFailed && isStop:
		usual := adviceContinue
		if goneError(h.project) != nil { // no reviewer can be started there
			usual = adviceLog
		}
		return say(reviewFailed, cutMiddle(found.Error, 200), adviceFor(found.Error, usual))
	case found.Verdict == verdictFailed:
		return say(questionUnreviewed, cutMiddle(found.Error, 200))
	case found.Verdict == verdictLimit && !isStop:
		return say(limitQuestion, count(found.Limit, reviews))
	case found.Verdict == verdictLimit:
		text := say(limitStop, count(found.Limit, reviews))
		if found.Feedback != "" {
			text += "\n" + say(feedbackStillOpen, cutMiddle(found.Feedback, 1000))
		}
		return text
	}
	receipt := h.session.roundEndedBy(found).receipt()
	switch {
	case found.Verdict == verdictBlock && !isStop:
		return strings.Join([]string{say(questionAnswered), questionText(encodeJSON(h.event.ToolInput)),
			say(reviewersAnswer, cutMiddle(feedback, 500)), receipt, say(answerYourself)}, "\n")
	case found.Verdict == verdictAllow && feedback != "":
		receipt += "\n" + say(leftToUser, feedback)
	}
	return receipt
}

// adviceFor says what helps after a review that failed for the cause, in the usual words unless the
// conversation was too long, or can't be found, where no other review helps.
func adviceFor(cause string, usual words) string {
	switch {
	case strings.Contains(strings.ToLower(cause), "prompt is too long"):
		return say(adviceCompact)
	case strings.Contains(cause, noConversation):
		return say(adviceLog)
	}
	return say(usual)
}

// feedbackLimit is in characters. Claude Code gives the agent a reason whole, and twice, so length costs.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit and says where it is whole. Where it can't be kept, it stays
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

// command carries out /supervisor with its operand. The answer keeps the prompt from the model, but for a
// task, which goes to it as the user's prompt. supervised is what the session was before.
func (h *hook) command(operand string, supervised bool) any {
	switch {
	case operand == "":
		return blocked(modeLine(summarize(h.session, h.config), supervised, h.reviewLimit()))
	case isUnclear(operand):
		return blocked(say(modeUnclear, operand))
	}
	on, task := operand != "off", operand != "on" && operand != "off"
	if err := h.session.switchTo(on); err != nil {
		h.warn("switching the mode", err)
		return blocked(say(modeFailed, err.Error()))
	}
	h.log("switched", "mode", modeWord(on), "by", switchedInSession)
	limit := h.reviewLimit()
	h.record(record{Kind: kindSwitch, Mode: modeWord(on), By: switchedInSession, Limit: limit})
	switch {
	case task:
		return h.prompt(operand)
	case on:
		return blocked(say(modeOn, count(limit, reviews)))
	}
	return blocked(say(modeOff))
}

// introducedSources are the sources of the session starts at which the user is told of supervision. At the
// one that is left, compact, the session goes on.
var introducedSources = []string{"startup", "resume", "clear"}

// introductionPatience is how long the probe for copies may take, which needs some 50 ms: the session waits
// for it.
const introductionPatience = 2 * time.Second

// introduce tells the user, before the first prompt, that the session is supervised. Claude Code shows it at
// once, and the model does not get it (2.1.200, 2.1.332).
func (h *hook) introduce() any {
	if !inSession() || !slices.Contains(introducedSources, h.event.Source) {
		return nil
	}
	with := os.Getenv(providerVariable)
	if with != "" {
		with = say(introducedProvider, with)
	}
	text := say(introduction, count(h.reviewLimit(), reviews), with)
	if h.config.Supervisor.Try {
		ctx, cancel := context.WithTimeout(context.Background(), introductionPatience)
		defer cancel()
		env, _ := reviewerEnv(os.Environ(), nil)
		_, err := tryProbe(ctx, workingTree(h.project, h.event.Cwd), env)
		if err != nil && ctx.Err() == nil {
			text += say(introducedNoCopy)
		}
	}
	return systemMessage(text + say(introducedLog))
}

// prompt records a prompt of the user's, from which on the reviews are counted anew. The answer tells that a
// review ended where nobody could be told, by Esc or because ccc was killed, unless another one runs.
func (h *hook) prompt(text string) any {
	if h.event.isWake() {
		return nil
	}
	seen := lookAtPrompt(workingTree(h.project, h.event.Cwd), os.Environ(), promptLookPatience)
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	before, _ := h.session.state() // update says what is wrong
	runs := slices.ContainsFunc(past.Rounds, func(r reviewRound) bool {
		return r.Event != eventReview && r.Verdict == verdictReviewing
	})
	// A prompt that the agent has scheduled looks the same here. It comes between two turns, never to an agent
	// that was sent back (2.1.200, 2.1.332).
	h.warn("resetting the count", h.update(func(s *sessionState) {
		s.Count, s.Cancelled = 0, s.Cancelled && runs
	}))
	h.record(record{Kind: kindPrompt, Prompt: text, look: seen})
	switch wasKilled := h.endKilled(past.Rounds); {
	case before.Cancelled && !runs:
		return systemMessage(say(earlierCancelled, errToldToEnd.Error()))
	case wasKilled:
		return systemMessage(say(earlierFailed, errKilled.Error(), say(adviceDoctor)))
	}
	return nil
}

// endKilled records the end of the last review of a stop where it was killed and so could not do it. It
// reports whether it was.
func (h *hook) endKilled(reviews []reviewRound) bool {
	for _, r := range slices.Backward(reviews) {
		if r.Event == eventStop {
			wasKilled := r.Kind == kindBegin && r.Verdict == verdictFailed
			if r.Kind = kindEnd; wasKilled {
				h.record(r.record)
			}
			return wasKilled
		}
	}
	return false
}
