package main

// One hook event in on stdin, one decision out on stdout. Whatever goes wrong
// on the way ends as "no decision" and exit code 0: Claude Code takes 2, and so
// Go's code for a panic, as "block".

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
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
	StopHookActive       bool            `json:"stop_hook_active"` // this stop follows one that a hook blocked
	LastAssistantMessage looseText       `json:"last_assistant_message"`
	BackgroundTasks      json.RawMessage `json:"background_tasks"`
	ToolName             string          `json:"tool_name"`
	ToolInput            json.RawMessage `json:"tool_input"`
	ToolUseID            string          `json:"tool_use_id"`
	Prompt               string          `json:"prompt"`
	AgentID              string          `json:"agent_id"` // set when a subagent, not the session's own agent, is at work
}

// The events that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// hookSubcommand is the subcommand that Claude Code's settings call.
const hookSubcommand = "supervisor-hook"

// reviewingText is what the user reads while a review runs.
const reviewingText = "[SUPERVISOR] 正在审查工作..."

// looseText is a string, or the JSON text of whatever stands in its place.
type looseText string

func (t *looseText) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	*t = looseText(s)
	return nil
}

// reviewersOwn answers the hook of a reviewer's own claude, which Claude Code
// takes for no decision.
const reviewersOwn = `{"decision":"","":""}` + "\n"

// supervisorHook answers the event on stdin. The exit code is 0 but for a
// command line that is wrong.
func supervisorHook(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	if os.Getenv(reviewerVariable) == "1" {
		fmt.Fprint(stdout, reviewersOwn)
		return 0
	}
	flags := flag.NewFlagSet(hookSubcommand, flag.ContinueOnError)
	dir := flags.String("state-dir", "", "")
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return min(exitWith(stderr, err), 1) // 2 would block
	}
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintln(stderr, "ccc: panic:", fault)
			code = 0
		}
	}()
	decision, err := decide(*dir, stdin, stderr)
	if err != nil {
		exitWith(stderr, err)
	}
	if decision != nil {
		if _, err := stdout.Write(append(encodeJSON(decision), '\n')); err != nil {
			fmt.Fprintln(stderr, "ccc: writing the decision:", err)
		}
	}
	return 0
}

// decide reads the event and returns the decision, nil for none.
func decide(dir string, stdin io.Reader, stderr io.Writer) (decision any, err error) {
	event, err := readEvent(stdin)
	if err != nil {
		return nil, err
	}
	p, err := findPlaces(dir)
	if err != nil {
		return nil, err
	}
	h := &hook{event: event, places: p, state: stateDir(p.state), stderr: stderr}
	operand, isCommand := event.command()
	if !isCommand && !h.supervised() {
		return nil, nil
	}
	runtime.GOMAXPROCS(1) // threads that look for work take 0.1 ms from the reviewer's start
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.state.create(); err != nil {
		fmt.Fprintln(stderr, "ccc: creating the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", event.HookEventName)
	if event.AgentID != "" {
		return nil, nil
	}
	if isCommand {
		return h.obey(operand), nil
	}
	switch event.HookEventName {
	case eventStop:
		if o := h.supervise(); o.verdict == verdictBlock {
			return blocked(h.cutFeedback(o.feedback)), nil
		}
	case eventPreToolUse:
		if event.ToolName != askUserQuestion {
			return nil, nil
		}
		switch o := h.supervise(); o.verdict {
		case verdictBlock:
			return newToolDecision("deny", h.cutFeedback(o.feedback)), nil
		case verdictAllow, verdictLimit:
			return newToolDecision("allow", h.cutFeedback(o.feedback)), nil
		}
	case eventPrompt:
		return h.prompt(), nil
	}
	return nil, nil
}

type stopDecision struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// blocked is the decision that sends the agent on, or keeps a prompt from it.
func blocked(reason string) stopDecision { return stopDecision{"block", reason} }

type toolDecision struct {
	Output struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

func newToolDecision(decision, reason string) (d toolDecision) {
	d.Output.Event, d.Output.Decision, d.Output.Reason = eventPreToolUse, decision, reason
	return d
}

const (
	// Claude Code writes the event at once; a caller that has not done so in
	// this time never will.
	inputPatience = 5 * time.Second
	// An event holds one message of the agent's or one prompt of the user's.
	inputLimit = 64 << 20
)

// readEvent reads one event from stdin. It does not wait for the end of stdin.
func readEvent(stdin io.Reader) (event hookEvent, err error) {
	type reading struct {
		event hookEvent
		err   error
	}
	read := make(chan reading, 1)
	go func() {
		var r reading
		r.err = json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(&r.event)
		read <- r
	}()
	select {
	case r := <-read:
		event, err = r.event, r.err
	case <-time.After(inputPatience):
		return event, fmt.Errorf("reading the hook event: nothing complete on stdin after %s", inputPatience)
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
		return event, fmt.Errorf("reading the hook event: %w", err)
	}
	if event.HookEventName == "" {
		event.HookEventName = eventStop
	}
	return event, nil
}

// A hook is the answer to one event of a supervised session.
type hook struct {
	event  hookEvent
	places places
	state  stateDir
	stderr io.Writer
}

// supervised tells whether the event's session is to be reviewed: what it was
// switched to counts first, then how it was started. Without either, a hook
// that Claude Code runs belongs to a session that nobody asked to supervise,
// and one run by hand is meant.
func (h *hook) supervised() bool {
	if state, err := h.state.read(h.event.SessionID); err == nil && state.Enabled != nil {
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

// prompt notes a new request of the user's, which has its own budget. The answer
// tells, once, when the last review did not take place or was not allowed any
// more: the record of this prompt then is the last one.
func (h *hook) prompt() any {
	last, err := h.state.lastRecord(h.event.SessionID)
	if err != nil {
		h.complain("reading the timeline", err)
	}
	if err := h.state.resetCount(h.event.SessionID); err != nil {
		h.complain("resetting the count", err)
	}
	h.record(record{Event: eventPrompt, Prompt: h.event.Prompt})
	switch last.Verdict {
	case verdictFailed:
		return systemMessage{fmt.Sprintf("[SUPERVISOR] 上一次审查没有进行，Agent 的工作未经审查：%s（日志: %s）", cutMiddle(last.Error, 200), h.state.logFile())}
	case verdictLimit:
		return systemMessage{fmt.Sprintf("[SUPERVISOR] 上一个任务已达到审查次数上限（%d 次），最后一次停止未经审查（日志: %s）", last.Limit, h.state.logFile())}
	}
	return nil
}

type systemMessage struct {
	Text string `json:"systemMessage"`
}

// outcome is what became of a stop or a question.
type outcome struct {
	verdict  string // one of the verdict constants
	feedback string
}

// supervise counts the event and has it reviewed.
func (h *hook) supervise() outcome {
	config, err := loadConfig(h.places)
	if err != nil {
		return h.failed(record{}, err)
	}
	limit := config.supervisor.maxIterations
	iteration, err := h.state.nextIteration(h.event.SessionID, limit)
	if err != nil {
		h.complain("counting the iteration", err)
		// Without a count only Claude Code's own flag bounds the loop, and for
		// questions nothing does.
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
		return outcome{verdict: verdictLimit, feedback: fmt.Sprintf("已达到审查次数上限（%d 次），不再审查", limit)}
	}
	h.say("%s\n[SUPERVISOR HOOK] 开始执行\nsession: %s  event: %s  iteration %d/%d\n%[1]s\n",
		rule, h.event.SessionID, h.event.HookEventName, iteration, limit)
	return h.review(config, entry)
}

var rule = strings.Repeat("─", 60)

// review runs the reviewer and tells, records and returns what it decided.
func (h *hook) review(config *config, entry record) outcome {
	prompt, source, err := supervisorPrompt(h.project(), h.places.ccc)
	if err != nil {
		return h.failed(entry, err)
	}
	entry.PromptSource = source
	env, err := reviewerEnv(os.Environ(), config.findProvider(config.supervisor.provider))
	if err != nil {
		return h.failed(entry, err)
	}
	r := &review{
		session:  h.event.SessionID,
		project:  h.project(),
		prompt:   prompt,
		config:   config.supervisor,
		env:      env,
		begin:    func() (string, io.Writer) { return h.begin(entry) },
		progress: h.stderr,
		warn:     func(err error) { h.complain("review", err) },
	}
	ctx, cancel := untilToldToEnd(time.Duration(config.supervisor.timeoutSeconds) * time.Second)
	defer cancel()
	result, err := r.run(ctx)
	entry.DurationSeconds = result.duration.Round(time.Millisecond).Seconds()
	entry.CostUSD, entry.Tokens = result.costUSD, &result.tokens
	entry.Tools, entry.ReviewerSession = result.tools, result.session
	if err != nil {
		return h.failed(entry, err)
	}
	entry.Verdict, entry.Feedback = verdictBlock, result.feedback
	if result.allowStop {
		entry.Verdict = verdictAllow
		h.say("[SUPERVISOR] 任务已完成\n允许停止\n")
	} else {
		h.say("[SUPERVISOR] 任务未完成\n%s\nAgent 将根据反馈继续工作\n", printable(result.feedback))
	}
	h.record(entry)
	return outcome{verdict: entry.Verdict, feedback: entry.Feedback}
}

// begin tells that the review has begun and returns what the reviewer is asked
// and where its stream goes.
func (h *hook) begin(entry record) (request string, output io.Writer) {
	h.say("%s\n请在新窗口查看日志文件了解详情: %s\n", reviewingText, h.state.outputFile(h.event.SessionID))
	h.log("review started", "iteration", fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit), "prompt_source", entry.PromptSource)
	timeline, err := h.state.timeline(h.event.SessionID)
	if err != nil {
		h.complain("reading the timeline", err)
	}
	request = reviewRequest(h.event, timeline, entry.Iteration, entry.Limit)
	file, err := h.state.openOutput(h.event.SessionID) // until the hook ends
	if err != nil {
		h.complain("opening the reviewer's output", err)
		return request, io.Discard
	}
	return request, file
}

// failed is the one place that decides that no review took place: the agent
// stops, a question goes to the user, and people are told.
func (h *hook) failed(entry record, err error) outcome {
	entry.Verdict, entry.Error = verdictFailed, err.Error()
	fmt.Fprintln(h.stderr, "ccc: no review:", printable(entry.Error))
	h.record(entry)
	return outcome{verdict: verdictFailed}
}

// record completes entry and adds it to the timeline and, without prompt and
// feedback, to the log.
func (h *hook) record(entry record) {
	entry.Time, entry.Project = now(), h.project()
	if entry.Event == "" {
		entry.Event = h.event.HookEventName
	}
	if err := h.state.append(h.event.SessionID, entry); err != nil {
		h.complain("writing the timeline", err)
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

// untilToldToEnd returns a context that ends after timeout or when ccc is told
// to end, with that as its cause.
func untilToldToEnd(timeout time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("the reviewer gave no verdict within %s", timeout)
	ctx, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(ctx)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		select {
		case s := <-told:
			cancel(fmt.Errorf("told to end (%s)", s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); stop() }
}

// feedbackLimit is in characters. Claude Code passes a reason on whole, twice,
// so length costs; what an agent can act on is far below.
const feedbackLimit = 8000

// cutFeedback shortens feedback to feedbackLimit and says where the rest is.
func (h *hook) cutFeedback(feedback string) string {
	runes := []rune(feedback)
	if len(runes) <= feedbackLimit {
		return feedback
	}
	note := fmt.Sprintf("\n……（反馈过长，全文见 %s）", h.state.eventsFile(h.event.SessionID))
	return string(runes[:feedbackLimit-len([]rune(note))]) + note
}

// say writes progress for people to stderr.
func (h *hook) say(format string, args ...any) { fmt.Fprintf(h.stderr, format, args...) }

// complain tells of a fault that does not change the decision.
func (h *hook) complain(what string, err error) {
	fmt.Fprintf(h.stderr, "ccc: %s: %s\n", what, printable(err.Error()))
	h.log("warning", "during", what, "error", err)
}

func (h *hook) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", h.event.SessionID}, pairs...)
	if err := h.state.log(what, pairs...); err != nil {
		fmt.Fprintln(h.stderr, "ccc: writing the log:", err)
	}
}
