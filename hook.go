package main

// One hook event in on stdin, one decision out on stdout. Whatever goes wrong on the way ends as "no decision" and
// exit code 0: Claude Code takes 2, and so Go's code for a panic, as "block".

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// A hookEvent is what Claude Code tells a hook.
type hookEvent struct {
	SessionID            string          `json:"session_id"`
	TranscriptPath       string          `json:"transcript_path"`
	Cwd                  string          `json:"cwd"`
	PermissionMode       string          `json:"permission_mode"`
	HookEventName        string          `json:"hook_event_name"`
	StopHookActive       bool            `json:"stop_hook_active"`       // this stop follows one that a hook blocked
	LastAssistantMessage json.RawMessage `json:"last_assistant_message"` // a string, or whatever a later version makes of it
	BackgroundTasks      json.RawMessage `json:"background_tasks"`
	ToolName             string          `json:"tool_name"`
	ToolInput            json.RawMessage `json:"tool_input"`
	ToolUseID            string          `json:"tool_use_id"`
	Prompt               string          `json:"prompt"`
	AgentID              string          `json:"agent_id"` // set when a subagent, not the session's own agent, is at work
}

// reviewersOwn answers the hook of a reviewer's own claude. Claude Code takes it for no decision.
const reviewersOwn = `{"decision":"","":""}` + "\n"

// supervisorHook answers the event on stdin. The exit code is 0 but for a command line that is wrong.
func supervisorHook(args []string) (code int) {
	if os.Getenv(reviewerVariable) == "1" {
		fmt.Print(reviewersOwn)
		return 0
	}
	c, err := parseCall(hookSubcommand, args)
	if err != nil {
		reportError(os.Stderr, err)
		return 1 // 2 would block
	}
	if c.has("--help") || c.has("-h") {
		fmt.Print(usage)
		return 0
	}
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintln(os.Stderr, "ccc: panic:", fault)
			code = 0
		}
	}()
	decision, err := decide(c.flags["--state-dir"], os.Stdin, os.Stderr)
	reportError(os.Stderr, err)
	if decision != nil {
		if _, err := os.Stdout.Write(append(encodeJSON(decision), '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "ccc: writing the decision:", err)
		}
	}
	return 0
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
	h := &hook{event: event, dirs: d, stateDir: stateDir(d.state), stderr: stderr}
	operand, isCommand := slashCommand(event.Prompt)
	isCommand = isCommand && event.HookEventName == eventPrompt
	if !isCommand && !h.supervised() {
		return nil, nil
	}
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.stateDir.create(); err != nil {
		fmt.Fprintln(stderr, "ccc: creating the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	switch {
	case event.AgentID != "":
		return nil, nil
	case isCommand:
		return h.command(operand), nil
	case event.HookEventName == eventPrompt:
		return h.prompt(), nil
	case event.HookEventName == eventStop, event.HookEventName == eventPreToolUse && event.ToolName == askUserQuestion:
		return h.decision(h.supervise()), nil
	}
	return nil, nil
}

const (
	// Claude Code writes the event at once; a caller that has not done so in this time never will.
	inputPatience = 5 * time.Second
	// inputLimit is in bytes. An event holds one message of the agent's or one prompt of the user's.
	inputLimit = 64 << 20
)

// readEvent reads one event from stdin. It does not wait for the end of stdin.
func readEvent(stdin io.Reader) (*hookEvent, error) {
	event, read := new(hookEvent), make(chan error, 1)
	go func() { read <- json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(event) }()
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

// A hook is the answer to one event.
type hook struct {
	event    *hookEvent
	dirs     dirs
	stateDir stateDir
	stderr   io.Writer
}

// supervised tells whether the event's session is to be reviewed: what it was switched to counts first, then how it
// was started. Without either, a hook that Claude Code runs belongs to a session that nobody asked to supervise,
// and one that a person runs by hand is meant.
func (h *hook) supervised() bool {
	if state, err := h.stateDir.read(h.event.SessionID); err == nil && state.Enabled != nil {
		return *state.Enabled
	}
	if mode := os.Getenv(supervisorVariable); mode != "" {
		return mode == "1"
	}
	return os.Getenv(projectVariable) == ""
}

func (h *hook) project() string {
	if dir := os.Getenv(projectVariable); dir != "" {
		return dir
	}
	return h.event.Cwd
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
func systemMessage(format string, args ...any) any {
	return map[string]string{"systemMessage": fmt.Sprintf(format, args...)}
}

// decision is what Claude Code is told of a review of a stop or a question.
func (h *hook) decision(found outcome) any {
	feedback, isStop := h.cutFeedback(found.Feedback), h.event.HookEventName == eventStop
	switch {
	case isStop && found.Verdict == verdictBlock:
		return blocked(feedback)
	case isStop || found.Verdict == verdictFailed:
		return nil
	case found.Verdict == verdictBlock:
		return toolDecision("deny", feedback)
	}
	return toolDecision("allow", feedback)
}

// command carries out /supervisor. The answer keeps the prompt from the model; a task has none, and goes on as the
// user's prompt.
func (h *hook) command(operand string) any {
	on := operand != "off"
	if operand != "" {
		err := h.stateDir.switchMode(h.event.SessionID, on)
		h.log("switched", "mode", modeWord(on))
		if err != nil {
			h.warn("switching the mode", err)
			return blocked("无法切换 Supervisor 模式: " + err.Error())
		}
	}
	switch operand {
	case "on":
		return blocked("Supervisor 模式已打开：Agent 停下之前会先审查。")
	case "off":
		return blocked("Supervisor 模式已关闭：Agent 可以直接停下。")
	case "":
		return blocked(fmt.Sprintf("Supervisor 模式: %s（/supervisor on 打开，/supervisor off 关闭）", modeWord(h.supervised())))
	}
	h.event.Prompt = operand
	return h.prompt()
}

// prompt notes a new request of the user's, which has its own budget. The answer tells, once, when the last review
// did not take place or was not allowed any more: the record of this prompt then is the last one.
func (h *hook) prompt() any {
	var last record
	if err := h.stateDir.readTimeline(h.event.SessionID, func(r record) { last = r }); err != nil {
		h.warn("reading the timeline", err)
	}
	if err := h.stateDir.resetCount(h.event.SessionID); err != nil {
		h.warn("resetting the count", err)
	}
	h.record(record{Event: eventPrompt, Prompt: h.event.Prompt})
	switch last.Verdict {
	case verdictFailed:
		return systemMessage("[SUPERVISOR] 上一次审查没有进行，Agent 的工作未经审查：%s（日志: %s）", cutMiddle(last.Error, 200), h.stateDir.logFile())
	case verdictLimit:
		return systemMessage("[SUPERVISOR] 上一个任务已达到审查次数上限（%d 次），最后一次停止未经审查（日志: %s）", last.Limit, h.stateDir.logFile())
	}
	return nil
}

// supervise counts the event and has it reviewed.
func (h *hook) supervise() outcome {
	config, err := loadConfig(h.dirs)
	if err != nil {
		return h.failed(record{}, err)
	}
	limit := config.Supervisor.MaxIterations
	iteration, err := h.stateDir.nextIteration(h.event.SessionID, limit)
	if err != nil {
		h.warn("counting the iteration", err)
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		if h.event.StopHookActive || h.event.HookEventName != eventStop {
			return h.failed(record{}, errors.New("without a count only the first stop is reviewed"))
		}
		iteration = 1
	}
	entry := record{Iteration: iteration, Limit: limit}
	if iteration == 0 {
		entry.Verdict = verdictLimit
		h.say("[SUPERVISOR] 已达到审查次数上限 %d/%d，允许停止\n", limit, limit)
		h.record(entry)
		return outcome{Verdict: verdictLimit, Feedback: fmt.Sprintf("已达到审查次数上限（%d 次），不再审查", limit)}
	}
	h.say("%s\n[SUPERVISOR HOOK] 开始执行\nsession: %s  event: %s  iteration %d/%d\n%[1]s\n",
		rule, h.event.SessionID, h.event.HookEventName, iteration, limit)
	return h.review(config, entry)
}

var rule = strings.Repeat("─", 60)

// review runs the reviewer and tells, records and returns what it decided.
func (h *hook) review(config *config, entry record) outcome {
	prompt, source, err := supervisorPrompt(h.project(), h.dirs.ccc)
	if err != nil {
		return h.failed(entry, err)
	}
	entry.PromptSource = source
	env, err := reviewerEnv(os.Environ(), config.findProvider(config.Supervisor.Provider))
	if err != nil {
		return h.failed(entry, err)
	}
	h.say("%s\n请在新窗口查看日志文件了解详情: %s\n", reviewingText, h.stateDir.outputFile(h.event.SessionID))
	h.log("review started", "iteration", fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit), "prompt_source", source)
	r := &review{
		session:  h.event.SessionID,
		project:  h.project(),
		prompt:   prompt,
		request:  h.request(entry).text(),
		config:   config.Supervisor,
		env:      env,
		output:   io.Discard,
		progress: h.stderr,
		warn:     func(err error) { h.warn("review", err) },
	}
	if output, err := h.stateDir.openOutput(h.event.SessionID); err != nil {
		h.warn("opening the reviewer's output", err)
	} else {
		defer output.Close()
		r.output = output
	}
	timeout := time.Duration(config.Supervisor.TimeoutSeconds) * time.Second
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("the reviewer gave no verdict within %s", timeout))
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	if entry.outcome, err = r.run(ctx); err != nil {
		return h.failed(entry, err)
	}
	if entry.Verdict == verdictAllow {
		h.say("[SUPERVISOR] 任务已完成\n允许停止\n")
	} else {
		h.say("[SUPERVISOR] 任务未完成\n%s\nAgent 将根据反馈继续工作\n", printable(entry.Feedback))
	}
	h.record(entry)
	return entry.outcome
}

// request is what the reviewer is told of the event.
func (h *hook) request(entry record) reviewRequest {
	r := reviewRequest{
		lastMessage: string(h.event.LastAssistantMessage),
		tasks:       h.event.BackgroundTasks,
		iteration:   entry.Iteration,
		limit:       entry.Limit,
	}
	_ = json.Unmarshal(h.event.LastAssistantMessage, &r.lastMessage) // anything but a string stays as it is
	if h.event.HookEventName == eventPreToolUse {
		r.question = h.event.ToolInput
	}
	err := h.stateDir.readTimeline(h.event.SessionID, func(past record) {
		switch {
		case past.Prompt != "":
			r.userPrompts = append(r.userPrompts, past.Prompt)
			r.lastFeedback = ""
		case past.Verdict == verdictBlock:
			r.lastFeedback = past.Feedback
		}
	})
	if err != nil {
		h.warn("reading the timeline", err)
	}
	return r
}

// failed is the one place that decides that no review took place: the agent stops, a question goes to the user, and
// people are told.
func (h *hook) failed(entry record, err error) outcome {
	entry.Verdict, entry.Error = verdictFailed, err.Error()
	fmt.Fprintln(h.stderr, "ccc: no review:", printable(entry.Error))
	h.record(entry)
	return entry.outcome
}

// record completes entry and adds it to the timeline and, without prompt and feedback, to the log.
func (h *hook) record(entry record) {
	entry.Time, entry.Project = now(), h.project()
	if entry.Event == "" {
		entry.Event = h.event.HookEventName
	}
	if err := h.stateDir.append(h.event.SessionID, entry); err != nil {
		h.warn("writing the timeline", err)
	}
	if entry.Verdict == "" {
		return
	}
	pairs := []any{"event", entry.Event, "verdict", entry.Verdict,
		"iteration", fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit),
		"duration", fmt.Sprintf("%.3fs", entry.DurationSeconds), "cost_usd", entry.CostUSD}
	if entry.Error != "" {
		pairs = append(pairs, "error", entry.Error)
	}
	h.log("review ended", pairs...)
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
	note := fmt.Sprintf("\n……（反馈过长，全文见 %s）", h.stateDir.timelineFile(h.event.SessionID))
	return string(runes[:feedbackLimit-len([]rune(note))]) + note
}

// say writes progress for people to stderr.
func (h *hook) say(format string, args ...any) { fmt.Fprintf(h.stderr, format, args...) }

// warn tells of a fault that does not change the decision.
func (h *hook) warn(doing string, err error) {
	fmt.Fprintf(h.stderr, "ccc: %s: %s\n", doing, printable(err.Error()))
	h.log("warning", "during", doing, "error", err)
}

func (h *hook) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", h.event.SessionID}, pairs...)
	if err := h.stateDir.log(what, pairs...); err != nil {
		fmt.Fprintln(h.stderr, "ccc: writing the log:", err)
	}
}
