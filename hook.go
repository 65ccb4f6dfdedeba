package main

// One hook event in on stdin, one decision out on stdout. Whatever goes wrong on the way ends as "no
// decision" and exit code 0: Claude Code takes 2, and so Go's code for a panic, as "block".

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// reviewersOwn answers the hook of a reviewer's own claude. Claude Code takes it for no decision.
const reviewersOwn = `{"decision":"","":""}` + "\n"

// supervisorHook answers the event on stdin. It reports what goes wrong itself, and the exit code is 0.
func supervisorHook(c *invocation) error {
	panicCode = 0
	defer exitOnPanic()
	if os.Getenv(reviewerVariable) == "1" {
		fmt.Print(reviewersOwn)
		return nil
	}
	decision, err := decide(c.flags["--state-dir"], os.Stdin, os.Stderr)
	if decision != nil {
		if _, err := os.Stdout.Write(append(encodeJSON(decision), '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "ccc: writing the decision:", err)
		}
	}
	reportError(os.Stderr, err)
	return nil
}

// A hook is the answer to one event.
type hook struct {
	supervision
	event  *hookEvent
	caller caller
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
	event.Cwd = cmp.Or(event.Cwd, d.here) // Claude Code runs a hook where the agent is
	d.here = cmp.Or(os.Getenv(projectVariable), event.Cwd)
	h := &hook{supervision: supervision{dirs: d, project: d.here, stderr: stderr}, event: event}
	h.session = stateDir(d.state).session(event.SessionID)
	operand, isCommand := slashCommand(event.Prompt)
	isCommand = isCommand && event.HookEventName == eventPrompt && !commandIsTheirs(d, h.project)
	if inSession() {
		h.caller = callerOf(clientAncestry())
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
	if h.caller.agents {
		return blocked(say(modeNotForAgent)), nil
	}
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.session.dir.create(); err != nil {
		fmt.Fprintln(stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	if len(event.odd) > 0 {
		h.warn("reading the hook event", errors.New("of another type than expected: "+strings.Join(event.odd, ", ")))
	}
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		return h.command(operand, supervised), nil
	case event.HookEventName == eventPrompt:
		return h.prompt(event.Prompt), nil
	case event.isStop(), event.HookEventName == eventPreToolUse && event.ToolName == askUserQuestion:
		return h.decision(h.stop()), nil
	}
	return nil, nil
}

// stop counts a stop or a question and has it reviewed.
func (h *hook) stop() record {
	entry := record{Kind: kindEnd, Event: h.event.HookEventName}
	config, err := loadConfig(h.dirs)
	if err != nil {
		return h.failed(entry, err)
	}
	ctx, cancel := h.untilEnded(h.patience(config, h.event.HookEventName))
	defer cancel()
	request := h.request()
	entry.Limit = reviewLimit(config)
	newest := request.prompt().id
	err = h.update(func(s *sessionState) { entry.Iteration = s.nextIteration(entry.Limit, newest) })
	if err != nil {
		h.warn("counting the iteration", err)
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		if h.event.StopHookActive || !h.event.isStop() {
			return h.failed(entry, errNoCount)
		}
		entry.Iteration = 1
	}
	if entry.Iteration == 0 {
		entry.Verdict, entry.Question = verdictLimit, request.question
		h.print(say(limitSkipped, entry.Limit))
		h.record(entry)
		if entry.Feedback = request.openFeedback; !h.event.isStop() {
			entry.Feedback = say(limitReached, count(entry.Limit, reviews))
		}
		return entry
	}
	rule := strings.Repeat("─", 60)
	h.print(rule, say(hookBegun), fmt.Sprintf("session: %s  event: %s  iteration %s", h.session.id, entry.Event, roundOf(entry)), rule)
	request.iteration, request.limit = entry.Iteration, entry.Limit
	return h.review(ctx, config, entry, request)
}

// update changes the session's state, and notes the client's provider and, if there was one, its supervised
// launch in it.
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

// request is what the reviewer is told of the event. The transcript says which requests stand; the timeline
// is the fallback.
func (h *hook) request() reviewRequest {
	e := h.event
	r := reviewRequest{here: e.Cwd, tasks: e.BackgroundTasks, lastMessage: e.LastAssistantMessage}
	r.inPlanMode = e.PermissionMode == "plan"
	if !e.isStop() {
		r.question = encodeJSON(e.ToolInput)
	}
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	r.last, r.openFeedback = past.feedback()
	var prompts []userRequest
	for _, submitted := range past.Requests {
		prompts = append(prompts, userRequest{words: submitted.Prompt, prompt: true})
	}
	var asked record
	if n := len(past.Requests); n > 0 {
		asked = past.Requests[n-1]
	}
	if r.conversation, err = e.conversation(asked.Prompt); err != nil {
		h.warn("reading the transcript", err)
		r.requests, r.unconfirmed = prompts, true
	}
	r.change = changeOf{history: &past, stands: r.stands(&past)}
	if len(r.requests) > 0 {
		r.change.started = r.requests[0].asked
	}
	return r
}

// blocked is the decision that sends the agent on, or keeps a prompt from it.
func blocked(reason string) map[string]string {
	return map[string]string{"decision": "block", "reason": reason}
}

// toolDecision is the decision, allow or deny, about a call of a tool.
func toolDecision(decision, reason string) any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": eventPreToolUse, "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// systemMessage is shown to the user.
func systemMessage(text string) map[string]string {
	return map[string]string{"systemMessage": "[SUPERVISOR] " + printable(text)}
}

// decision is what Claude Code is told of a stop or a question: nothing, where the agent may stop or the
// question goes to the user anyway. In a session the user is told what a verdict rests on, and of a failed
// review and the limit.
func (h *hook) decision(found record) any {
	feedback := h.cutFeedback(found.Feedback)
	switch {
	case found.Verdict == verdictCancelled, found.Verdict == verdictFailed && !inSession():
		return nil
	case found.Verdict == verdictFailed && !h.event.isStop():
		return systemMessage(say(questionUnreviewed, cutMiddle(found.Error, 200)))
	case found.Verdict == verdictFailed:
		return systemMessage(say(reviewFailed, cutMiddle(found.Error, 200)))
	case found.Verdict == verdictBlock && !h.event.isStop():
		return toolDecision("deny", feedback)
	case !h.event.isStop():
		return toolDecision("allow", feedback)
	case found.Verdict == verdictBlock && !inSession():
		return blocked(feedback)
	case !inSession():
		return nil
	case found.Verdict == verdictLimit:
		text := say(limitStop, count(found.Limit, reviews))
		if found.Feedback != "" {
			text += "\n" + say(limitOpen, cutMiddle(found.Feedback, 1000))
		}
		return systemMessage(text)
	case found.Verdict == verdictBlock:
		decision := systemMessage(h.session.round(found).receipt())
		maps.Copy(decision, blocked(feedback))
		return decision
	case feedback != "":
		feedback = "\n" + say(leftToUser, feedback)
	}
	return systemMessage(h.session.round(found).receipt() + feedback)
}

// feedbackLimit is in characters: Claude Code passes a reason on whole, twice, so length costs.
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

// command carries out /supervisor. The answer keeps the prompt from the model; a task goes on as the user's
// prompt.
func (h *hook) command(operand string, supervised bool) any {
	switch {
	case operand == "":
		return blocked(say(modeIs, say(modeNames[modeWord(supervised)])))
	case isUnclear(operand):
		return blocked(say(modeUnclear, operand))
	}
	on, task := operand != "off", operand != "on" && operand != "off"
	if err := h.session.switchTo(on); err != nil {
		h.warn("switching the mode", err)
		return blocked(say(modeFailed, err.Error()))
	}
	h.log("switched", "mode", modeWord(on), "by", switchedInSession)
	config, _ := loadConfig(h.dirs)
	limit := reviewLimit(config)
	h.record(record{Kind: kindSwitch, Mode: modeWord(on), By: switchedInSession, Limit: limit})
	switch {
	case task:
		return h.prompt(operand)
	case on:
		return blocked(say(modeOn, count(limit, reviews)))
	}
	return blocked(say(modeOff))
}

// prompt notes a new request of the user's, which has its own budget. The answer tells, once, that the last
// review failed if that could not be told before; the first of a session, and the first since a launch, tells
// that the session is supervised. What Claude Code submits itself is no request.
func (h *hook) prompt(text string) any {
	seen := lookAtPrompt(h.dirs.self, workingTree(h.project, h.event.Cwd), os.Environ(), promptLookPatience)
	if text != "" && !isUsers(text) {
		h.record(record{Kind: kindWake, look: seen})
		return nil
	}
	past, err := h.session.readHistory()
	h.warn("reading the timeline", err)
	before, _ := h.session.state() // update says what is wrong
	h.warn("resetting the count", h.update(func(s *sessionState) { s.Count = 0 }))
	h.record(record{Kind: kindPrompt, Prompt: text, look: seen})
	hooks := slices.DeleteFunc(slices.Clone(past.Rounds[past.present:]), func(r reviewRound) bool { return r.Event == eventReview })
	switch n := len(hooks) - 1; {
	case n >= 0 && hooks[n].Verdict == verdictFailed && !hooks[n].Told:
		return systemMessage(say(earlierFailed, cutMiddle(hooks[n].Error, 200)))
	case past.asked > 0 && !h.caller.launched.After(before.LaunchedAt), !inSession():
		return nil
	}
	// The newest clients hide what was printed before they started.
	config, _ := loadConfig(h.dirs)
	provider := os.Getenv(providerVariable)
	if provider != "" {
		provider = say(introducedProvider, provider)
	}
	return systemMessage(say(introduction, count(reviewLimit(config), reviews), provider))
}

// A hookEvent is what Claude Code tells a hook.
type hookEvent struct {
	SessionID            string
	TranscriptPath       string
	Cwd                  string
	PermissionMode       string
	HookEventName        string
	StopHookActive       bool // this stop follows one that a hook blocked
	LastAssistantMessage string
	BackgroundTasks      []json.RawMessage
	ToolName             string
	ToolInput            map[string]json.RawMessage
	ToolUseID            string
	Prompt               string
	AgentID              string // set when a subagent, not the session's own agent, is at work

	odd []string // the fields that were of another type than expected
}

// UnmarshalJSON reads an event. A field of another type than expected counts as absent, so that a release of
// Claude Code that changes one does not end the reviews, unless absence would have ccc answer what is not for
// it or review without a bound. Of a prompt or a message that comes as a list of blocks the texts count.
func (e *hookEvent) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage // for a struct Session_ID would be session_id
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for name, value := range map[string]any{
		"session_id":             &e.SessionID,
		"transcript_path":        &e.TranscriptPath,
		"cwd":                    &e.Cwd,
		"permission_mode":        &e.PermissionMode,
		"hook_event_name":        &e.HookEventName,
		"stop_hook_active":       &e.StopHookActive,
		"last_assistant_message": &e.LastAssistantMessage,
		"background_tasks":       &e.BackgroundTasks,
		"tool_name":              &e.ToolName,
		"tool_input":             &e.ToolInput,
		"tool_use_id":            &e.ToolUseID,
		"prompt":                 &e.Prompt,
		"agent_id":               &e.AgentID,
	} {
		if member, given := members[name]; given && json.Unmarshal(member, value) != nil {
			e.odd = append(e.odd, name)
		}
	}
	slices.Sort(e.odd)
	const otherType = "of another type" // names no event that ccc answers, and an agent
	for _, name := range e.odd {
		switch name {
		case "hook_event_name":
			e.HookEventName = otherType
		case "stop_hook_active":
			e.StopHookActive = true
		case "last_assistant_message":
			_ = json.Unmarshal(members[name], (*blockText)(&e.LastAssistantMessage))
		case "prompt":
			_ = json.Unmarshal(members[name], (*blockText)(&e.Prompt))
		case "agent_id":
			e.AgentID = otherType
		}
	}
	return nil
}

// inputPatience is for the event: Claude Code writes it at once, and a caller that has not done so in this
// time never will.
const inputPatience = 5 * time.Second

// readEvent reads one event from stdin. It does not wait for the end of stdin. Only the session id is
// indispensable.
func readEvent(stdin io.Reader) (*hookEvent, error) {
	event, read := new(hookEvent), make(chan error, 1)
	go func() {
		defer exitOnPanic()
		read <- json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(event)
	}()
	var err error
	select {
	case err = <-read:
	case <-time.After(inputPatience):
		return nil, fmt.Errorf("reading the hook event: nothing complete on stdin after %s", inputPatience)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("stdin is empty")
	case err == nil && event.SessionID == "":
		err = errors.New("it has no session_id")
	case err == nil && !validSession(event.SessionID):
		err = errors.New("its session_id is not one")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the hook event: %w", err)
	}
	event.HookEventName = cmp.Or(event.HookEventName, eventStop)
	return event, nil
}

func (e *hookEvent) isStop() bool { return e.HookEventName == eventStop }

// transcriptPatience is for the last entries to arrive in the transcript, which Claude Code writes a moment
// later.
const transcriptPatience = 2 * time.Second

// conversation reads the transcript, once the last prompt is in it, if one is known, and what the agent said
// or asked last: what the user typed while the agent worked comes before that.
func (e *hookEvent) conversation(prompt string) (talk conversation, err error) {
	if e.TranscriptPath == "" {
		return talk, errors.New("the event names none")
	}
	for deadline := time.Now().Add(transcriptPatience); ; time.Sleep(20 * time.Millisecond) {
		talk, err = readConversation(e.TranscriptPath)
		isIt := func(r userRequest) bool { return isRequest(r.words, prompt) }
		arrived := prompt == "" || slices.ContainsFunc(talk.requests, isIt)
		if err == nil && arrived && e.saysLast(talk.last) || time.Now().After(deadline) {
			return talk, err
		}
	}
}

// saysLast reports whether words, the agent's last in the transcript, are those of the event.
func (e *hookEvent) saysLast(words string) bool {
	if !e.isStop() {
		return e.ToolUseID == "" || words == toolUse+e.ToolUseID
	}
	said, words := strings.TrimSpace(e.LastAssistantMessage), strings.TrimSpace(words)
	return words != "" && (strings.Contains(said, words) || strings.Contains(words, said))
}
