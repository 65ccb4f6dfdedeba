package main

// One event of a supervised session: count a stop or a question, have it reviewed, tell and record what became of
// it.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A hook is the answer to one event.
type hook struct {
	event   *hookEvent
	dirs    dirs
	session session
	stderr  io.Writer
	caller  caller
	talk    conversation
}

func (h *hook) project() string { return cmp.Or(os.Getenv(projectVariable), h.event.Cwd) }

// isScheduled tells whether the event's prompt is one that the agent has scheduled, as of the session's last stop.
// A long one is told clipped.
func (h *hook) isScheduled() bool {
	state, _ := h.session.state()
	return slices.ContainsFunc(state.Scheduled, func(prompt string) bool {
		start, _, clipped := strings.Cut(prompt, "… [+")
		return prompt == h.event.Prompt || clipped && start != "" && strings.HasPrefix(h.event.Prompt, start)
	})
}

// isSupervised tells whether the session is supervised as of now.
func (h *hook) isSupervised() bool {
	return h.session.supervised(h.caller)
}

// reviewLimit is how many reviews a request has. In a session Claude Code's own limit counts too: a launch raises it,
// and the hook's environment tells what it is, whoever started the session.
func reviewLimit(config *config) int {
	if !inSession() {
		return config.Supervisor.MaxIterations
	}
	return limitUnder(config.Supervisor.MaxIterations, os.Getenv(blockCapVariable))
}

// supervise counts the event and has it reviewed.
func (h *hook) supervise() outcome {
	config, err := loadConfig(h.dirs)
	if err != nil {
		return h.failed(record{}, err)
	}
	ctx, cancel := h.untilEnded(h.patience(config))
	defer cancel()
	request := h.request()
	entry := record{Limit: reviewLimit(config)}
	err = h.update(func(s *sessionState) {
		entry.Iteration = s.nextIteration(entry.Limit, h.talk.newest)
		if h.event.HookEventName == eventStop {
			s.Scheduled = h.event.scheduled()
		}
	})
	if err != nil {
		h.warn("counting the iteration", err)
		// Without a count only Claude Code's own flag bounds the loop, and for questions nothing does.
		if h.event.StopHookActive || h.event.HookEventName != eventStop {
			return h.failed(entry, errors.New("without a count only the first stop is reviewed"))
		}
		entry.Iteration = 1
	}
	if entry.Iteration == 0 {
		entry.Verdict, entry.Told = verdictLimit, inSession() && h.event.HookEventName == eventStop
		h.print(say(limitSkipped, entry.Limit))
		h.record(entry)
		return outcome{Verdict: verdictLimit, Feedback: say(limitReached, count(entry.Limit, reviews))}
	}
	h.print(rule, say(hookBegun),
		fmt.Sprintf("session: %s  event: %s  iteration %d/%d", h.event.SessionID, h.event.HookEventName, entry.Iteration, entry.Limit), rule)
	return h.review(ctx, config, entry, request)
}

var rule = strings.Repeat("─", 60)

// review runs the reviewer and tells, records and returns what it decided.
func (h *hook) review(ctx context.Context, config *config, entry record, request reviewRequest) outcome {
	if olderThan(h.talk.version, oldestClaude) {
		return h.failed(entry, fmt.Errorf("version %s of Claude Code is older than %s: %s", h.talk.version, oldestClaude, installClaude))
	}
	prompt, kept, err := h.instructions()
	if err != nil {
		return h.failed(entry, err)
	}
	entry.PromptSource, entry.PromptKept = prompt.Source, kept
	entry.CacheSplit = config.Supervisor.KeepCache && config.Supervisor.Provider == "" &&
		os.Getenv(attributionVariable) != "0"
	env, err := h.environment(config)
	if err != nil {
		return h.failed(entry, err)
	}
	h.print(say(reviewing)+"...", say(detailsIn, h.session.outputFile()))
	h.log("review started", "iteration", fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit), "prompt_source", prompt.Source)
	request.iteration, request.limit, request.keepCache = entry.Iteration, entry.Limit, config.Supervisor.KeepCache
	r := &review{
		session:  h.event.SessionID,
		dirs:     slices.Compact([]string{request.tree, h.project()}),
		addDirs:  h.addDirs(request),
		version:  h.talk.version,
		model:    config.Supervisor.Model,
		prompt:   prompt.Text,
		config:   config.Supervisor,
		env:      env,
		output:   io.Discard,
		progress: h.stderr,
		warn:     func(err error) { h.warn("review", err) },
	}
	entry.NoCopy = h.offerCopy(ctx, r, &request)
	r.request = request.text()
	// From 2.1.200 on a fork has its session's model. Another provider does not know the model.
	if r.model == "" && config.Supervisor.Provider == "" && olderThan(h.talk.version, "2.1.200") {
		r.model = h.talk.model
	}
	path := h.session.outputFile()
	if entry.Iteration == 1 { // the file holds the reviews of the present request
		_ = os.Truncate(path, 0) // opening it says what is wrong
	}
	if output, err := openAppend(path); err != nil {
		h.warn("opening the reviewer's output", err)
	} else {
		defer output.Close()
		r.output = output
	}
	entry.outcome, err = r.run(ctx)
	switch {
	case err != nil:
	case !h.isSupervised():
		err = errSwitchedOff
	case entry.Verdict == "" && h.event.HookEventName != eventStop:
		err = fmt.Errorf("the reviewer gave no verdict: %s", cutMiddle(entry.Feedback, 500))
	case entry.Verdict == "":
		entry.Verdict = verdictBlock
	}
	if err != nil {
		return h.failed(entry, err)
	}
	if entry.Verdict == verdictAllow {
		h.print(say(finished))
	} else {
		entry.Feedback = cmp.Or(entry.Feedback, say(defaultFeedback)) // a reviewer that refuses may not say why
		h.print(say(unfinished, printable(entry.Feedback)))
	}
	h.record(entry)
	return entry.outcome
}

// environment is the reviewer's. The settings files are checked again: they may have changed since the launch, or
// the session was not launched as supervised.
func (h *hook) environment(config *config) ([]string, error) {
	d, env := h.dirs, os.Environ()
	d.here = cmp.Or(h.project(), d.here)
	p := config.findProvider(config.Supervisor.Provider)
	if p == nil {
		return reviewerEnv(withoutRefusedKey(d, env), nil)
	}
	if err := checkProvider(d, sources(d, config, nil), env, []string{"--print"}, p); err != nil {
		return nil, err
	}
	return reviewerEnv(env, p)
}

// offerCopy lets the reviewer run commands in a throw-away copy, if one can be made and holds; request says so, or
// why not.
func (h *hook) offerCopy(ctx context.Context, r *review, request *reviewRequest) (noCopy string) {
	err := errors.New("supervisor.try is false in ccc.json")
	if r.config.Try {
		request.unchangeable, err = tryProbe(ctx, r.dirs[0], r.env)
	}
	var f failure
	if errors.As(err, &f) {
		err = f.err // doctor tells what mends it
	}
	if err != nil {
		request.noCopy = oneLine(err.Error())
		h.log("no copy to run commands in", "error", err)
		return request.noCopy
	}
	r.try = shellQuote(h.dirs.self) + " " + trySubcommand
	request.tryCommand = r.try
	r.env = setEnv(r.env, tryVariable, filepath.Join(string(h.session.dir), h.session.id))
	return ""
}

var (
	errSwitchedOff = errors.New("supervision was switched off during the review")
	errToldToEnd   = errors.New("it was interrupted, by Esc or because Claude Code ended")
)

// endingTime is how long before Claude Code would end the hook the review is given up: the guard takes up to a
// second, and what a killed guard left in its pipes up to pipePatience.
const endingTime = 5 * time.Second

// patience is how long the review may take, and what is wrong with one that takes longer. Claude Code ends the hook
// at the timeout that a launch has put into settings.json, whatever ccc.json says since.
func (h *hook) patience(config *config) (timeout time.Duration, late error) {
	timeout = time.Duration(config.Supervisor.TimeoutSeconds) * time.Second
	text, _ := os.ReadFile(h.dirs.settingsFile()) // without one there is no timeout
	installed := installedTimeout(text, h.dirs.hookPath(), h.event.HookEventName)
	if !inSession() || installed == 0 || timeout+endingTime <= installed {
		return timeout, fmt.Errorf("the reviewer gave no verdict within %s", timeout)
	}
	ended := max(installed-endingTime, time.Second)
	return ended, fmt.Errorf("the reviewer gave no verdict within %s: Claude Code ends the hook after %s, as settings.json says; ccc --supervisor makes that fit timeout_seconds, %d",
		ended, installed, config.Supervisor.TimeoutSeconds)
}

// untilEnded returns a context that ends after timeout, when ccc is told to end, or when the session is switched
// off; its cause says which, late the first.
func (h *hook) untilEnded(timeout time.Duration, late error) (context.Context, context.CancelFunc) {
	timed, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(timed)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for look := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-signals:
				cancel(errToldToEnd)
			case <-ctx.Done():
				return
			case <-look.C:
				if !h.isSupervised() {
					cancel(errSwitchedOff)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil); stop() }
}

// instructions returns what the reviewer is told: what held when the user submitted the request, so that the agent
// can't replace it. kept tells that it reads differently now.
func (h *hook) instructions() (in *instructions, kept bool, err error) {
	in, err = supervisorPrompt(h.project(), h.dirs.ccc)
	if earlier := h.session.keptInstructions(); earlier != nil {
		return earlier, err != nil || earlier.Text != in.Text, nil
	}
	return in, false, err
}

// keepInstructions notes what the reviewer is told as of now.
func (h *hook) keepInstructions() {
	in, err := supervisorPrompt(h.project(), h.dirs.ccc)
	if err != nil { // what was kept for an earlier request must not count; the review will say what is wrong
		h.warn("reading the reviewer's prompt", err)
		in = nil
	}
	h.warn("keeping the reviewer's prompt", h.session.keepInstructions(in))
}

// request is what the reviewer is told of the event. The transcript says which requests stand; the timeline is the
// fallback.
func (h *hook) request() (r reviewRequest) {
	r.tree, r.project = h.project(), h.project()
	if top, common := gitTree(h.event.Cwd); top != "" {
		if projectTop, projectCommon := gitTree(h.project()); common == projectCommon && !sameFile(top, projectTop) {
			r.tree = top
		}
	}
	r.here, r.tasks, r.lastMessage = h.event.Cwd, h.event.BackgroundTasks, h.event.LastAssistantMessage
	if h.event.HookEventName == eventPreToolUse {
		r.question = append(json.RawMessage{}, h.event.ToolInput...) // a question even if it does not say which
	}
	var prompts []string
	err := h.session.readTimeline(func(past record) {
		switch {
		case past.Prompt != "":
			prompts, r.lastFeedback = append(prompts, past.Prompt), ""
		case past.Verdict == verdictBlock:
			r.lastFeedback = past.Feedback
		}
	})
	h.warn("reading the timeline", err)
	h.talk, err = h.conversation(prompts)
	r.requests, r.incomplete = h.talk.requests, h.talk.broken
	if err != nil {
		h.warn("reading the transcript", err)
		r.requests, r.unconfirmed = prompts, true
	}
	return r
}

// transcriptPatience is for the last entries to arrive in the transcript, which Claude Code writes a moment later.
const transcriptPatience = 2 * time.Second

// conversation reads the transcript, once the last of prompts is in it, and what the agent said or asked last: what
// the user typed while the agent worked comes before that.
func (h *hook) conversation(prompts []string) (talk conversation, err error) {
	if h.event.TranscriptPath == "" {
		return talk, errors.New("the event names none")
	}
	for deadline := time.Now().Add(transcriptPatience); ; time.Sleep(20 * time.Millisecond) {
		talk, err = readConversation(h.event.TranscriptPath)
		arrived := len(prompts) == 0 || slices.ContainsFunc(talk.requests, func(request string) bool {
			return strings.HasSuffix(request, strings.TrimSpace(prompts[len(prompts)-1]))
		})
		if err == nil && arrived && h.event.saysLast(talk.last) || time.Now().After(deadline) {
			return talk, err
		}
	}
}

// addDirs are the directories that the reviewer may read besides the one it stands in: those of the session, and
// where the agent is in another tree than the project's, both.
func (h *hook) addDirs(r reviewRequest) (dirs []string) {
	candidates := slices.Concat(strings.Split(os.Getenv(addDirsVariable), "\n"), h.talk.dirs)
	if r.tree != r.project {
		candidates = append(candidates, r.tree, r.project)
	}
	for _, dir := range candidates {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// failed is the one place that decides that no review took place: the agent stops, a question goes to the user, and
// people are told. A client that told the hook to end, or was told to end the supervision, does not listen.
func (h *hook) failed(entry record, err error) outcome {
	entry.Verdict, entry.Error, entry.Feedback = verdictFailed, err.Error(), ""
	entry.Told = inSession() && !errors.Is(err, errToldToEnd) || errors.Is(err, errSwitchedOff)
	fmt.Fprintln(h.stderr, "ccc: no review:", printable(entry.Error))
	h.record(entry)
	if errors.Is(err, errSwitchedOff) {
		return outcome{}
	}
	return entry.outcome
}

// record completes entry and adds it to the timeline and, without prompt and feedback, to the log.
func (h *hook) record(entry record) {
	entry.Time, entry.Project = now(), h.project()
	entry.Event = cmp.Or(entry.Event, h.event.HookEventName)
	h.warn("writing the timeline", h.session.append(entry))
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

// update changes the session's state, and notes the client and, if there was one, its supervised launch in it.
func (h *hook) update(change func(*sessionState)) error {
	return h.session.update(func(s *sessionState) {
		s.Client = cmp.Or(h.caller.client, s.Client)
		if h.caller.launched.After(s.LaunchedAt) {
			s.LaunchedAt = h.caller.launched
		}
		change(s)
	})
}

// print writes progress for people to stderr.
func (h *hook) print(lines ...string) { fmt.Fprintln(h.stderr, strings.Join(lines, "\n")) }

// warn tells of a fault, if there is one, that does not change the decision.
func (h *hook) warn(doing string, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(h.stderr, "ccc: %s: %s\n", doing, printable(err.Error()))
	h.log("warning", "during", doing, "error", err)
}

func (h *hook) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", h.event.SessionID}, pairs...)
	if err := h.session.dir.log(what, pairs...); err != nil {
		fmt.Fprintln(h.stderr, "ccc: writing the log:", err)
	}
}
