package main

// One hook event in on stdin, one decision out on stdout. Whatever goes wrong on the way ends as "no decision" and
// exit code 0: Claude Code takes 2, and so Go's code for a panic, as "block".

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// reviewersOwn answers the hook of a reviewer's own claude. Claude Code takes it for no decision.
const reviewersOwn = `{"decision":"","":""}` + "\n"

// supervisorHook answers the event on stdin. It reports what goes wrong itself, and the exit code is 0.
func supervisorHook(c *call) error {
	if os.Getenv(reviewerVariable) == "1" {
		fmt.Print(reviewersOwn)
		return nil
	}
	stderr := newPatientWriter(os.Stderr)
	defer stderr.close()
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintln(stderr, "ccc: panic:", fault)
		}
	}()
	decision, err := decide(c.flags["--state-dir"], os.Stdin, stderr)
	if decision != nil {
		if _, err := os.Stdout.Write(append(encodeJSON(decision), '\n')); err != nil {
			fmt.Fprintln(stderr, "ccc: writing the decision:", err)
		}
	}
	reportError(stderr, err)
	return nil
}

// decide reads the event and returns the decision, nil for none. state is the --state-dir flag, or "".
func decide(state string, stdin io.Reader, stderr io.Writer) (decision any, err error) {
	event, err := readEvent(stdin)
	if err != nil {
		return nil, err
	}
	d, err := findDirs(state)
	if err != nil {
		return nil, err
	}
	h := &hook{event: event, dirs: d, session: stateDir(d.state).session(event.SessionID), stderr: stderr}
	operand, isCommand := slashCommand(event.Prompt)
	isCommand = isCommand && event.HookEventName == eventPrompt && !commandIsTheirs(d, h.project())
	if inSession() {
		h.caller = h.session.dir.callerOf(clientAncestry())
	} else { // a person or a script runs the hook by hand, and there is no client
		h.caller = h.session.dir.callerOf(ancestry(os.Getpid()))
		h.caller.client, h.caller.byHand = "", true
	}
	supervised := h.isSupervised()
	if !supervised && !isCommand {
		return nil, nil
	}
	setLanguage(d)
	if h.caller.agents {
		return blocked(say(modeNotForAgent)), nil
	}
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := errors.Join(h.session.dir.create(), h.session.dir.noteClient(h.caller.client)); err != nil {
		fmt.Fprintln(stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	h.warn("reading the hook event", event.oddity())
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		return h.command(operand, supervised), nil
	case event.HookEventName == eventPrompt:
		return h.prompt(), nil
	case event.HookEventName == eventStop, event.HookEventName == eventPreToolUse && event.ToolName == askUserQuestion:
		return h.decision(h.supervise()), nil
	}
	return nil, nil
}

// blocked is the decision that sends the agent on, or keeps a prompt from it. JSON members come in the order of
// their names, here as in the others.
func blocked(reason string) any { return map[string]string{"decision": "block", "reason": reason} }

// toolDecision is the decision, allow or deny, about a call of a tool.
func toolDecision(decision, reason string) any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": eventPreToolUse, "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// systemMessage is shown to the user.
func systemMessage(text string) any {
	return map[string]string{"systemMessage": "[SUPERVISOR] " + text}
}

// decision is what Claude Code is told of a stop or a question: nothing, where the agent may stop or the question
// goes to the user anyway. What the reviewer leaves to the user is shown, in a session a failed review and the
// limit too.
func (h *hook) decision(found outcome) any {
	feedback, isStop := h.cutFeedback(found.Feedback), h.event.HookEventName == eventStop
	switch {
	case found.Verdict == "":
		return nil
	case found.Verdict == verdictBlock && isStop:
		return blocked(feedback)
	case found.Verdict == verdictBlock:
		return toolDecision("deny", feedback)
	case found.Verdict == verdictFailed && inSession():
		return systemMessage(say(reviewFailed, cutMiddle(found.Error, 200), h.session.dir.logFile()))
	case found.Verdict == verdictFailed:
		return nil
	case !isStop:
		return toolDecision("allow", feedback)
	case found.Verdict == verdictLimit && inSession():
		return systemMessage(say(limitStop, found.Feedback, h.session.dir.logFile()))
	case found.Verdict == verdictAllow && feedback != "":
		return systemMessage(say(approved, feedback))
	}
	return nil
}

// feedbackLimit is in characters. Claude Code passes a reason on whole, twice, so length costs; what an agent can
// act on is far below.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit and says where the rest is.
func (h *hook) cutFeedback(feedback string) string {
	runes := []rune(feedback)
	if len(runes) <= feedbackLimit {
		return feedback
	}
	note := "\n" + say(feedbackCut, h.session.timelineFile())
	return string(runes[:feedbackLimit-len([]rune(note))]) + note
}

// command carries out /supervisor. The answer keeps the prompt from the model; a task has none, and goes on as the
// user's prompt.
func (h *hook) command(operand string, supervised bool) any {
	switch {
	case operand == "":
		return blocked(say(modeIs, modeWord(supervised)))
	case nearMode(operand):
		return blocked(say(modeUnclear, operand))
	}
	on, task := operand != "off", operand != "on" && operand != "off"
	switch scheduled := h.isScheduled(); {
	case scheduled && task: // it goes on as it is, like every prompt that the agent has scheduled
		return nil
	case scheduled:
		return blocked(say(modeNotForAgent))
	}
	if err := h.session.switchTo(on, h.caller.client); err != nil {
		h.warn("switching the mode", err)
		return blocked(say(modeFailed, err.Error()))
	}
	h.log("switched", "mode", modeWord(on), "by", switchedInSession)
	config, _ := loadConfig(h.dirs)
	limit := reviewLimit(config)
	h.record(record{Event: eventSwitch, Mode: modeWord(on), By: switchedInSession, Limit: limit})
	switch operand {
	case "on":
		h.keepInstructions()
		return blocked(say(modeOn, count(limit, reviews)))
	case "off":
		return blocked(say(modeOff))
	}
	h.event.Prompt = operand
	return h.prompt()
}

// prompt notes a new request of the user's, which has its own budget, and what the reviewer is told at this time.
// The answer tells, once, what became of the last review if that could not be told before; the first of a session
// tells that the session is supervised. What Claude Code submits itself is no request.
func (h *hook) prompt() any {
	if h.event.Prompt != "" && !isUsers(h.event.Prompt) || h.isScheduled() {
		return nil
	}
	var last record
	first := true
	err := h.session.readTimeline(func(r record) {
		if first = first && r.Event != eventPrompt; r.Event != eventSwitch && r.Event != eventTry {
			last = r
		}
	})
	h.warn("reading the timeline", err)
	h.warn("resetting the count", h.update(func(s *sessionState) { s.Count = 0 }))
	h.record(record{Event: eventPrompt, Prompt: h.event.Prompt})
	h.keepInstructions()
	switch {
	case last.Told:
	case last.Verdict == verdictFailed:
		return systemMessage(say(earlierFailed, cutMiddle(last.Error, 200), h.session.dir.logFile()))
	case last.Verdict == verdictLimit:
		return systemMessage(say(earlierLimit, count(last.Limit, reviews), h.session.dir.logFile()))
	}
	if first && inSession() {
		return h.introduction()
	}
	return nil
}

// introduction tells that the session is supervised: the newest clients hide what was printed before they started.
func (h *hook) introduction() any {
	config, _ := loadConfig(h.dirs)
	provider := os.Getenv(providerVariable)
	if provider != "" {
		provider = say(introducedProvider, provider)
	}
	return systemMessage(say(introduction, count(reviewLimit(config), reviews), provider))
}
