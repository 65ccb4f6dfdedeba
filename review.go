package main

// A review: run a fork of the session as reviewer and bring home what it found. Whatever keeps a review from
// taking place ends as the error of run.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reviewCall is one call of the reviewer.
type reviewCall struct {
	session string   // the session to fork
	dirs    []string // where the reviewer may run, the best first: older versions find a session only in its project
	addDirs []string // what else it may read
	prompt  string
	shares  bool // it is asked with the agent's prompt cache: see sharesCache in cache.go
	request reviewRequest
	config  supervisorConfig
	env     []string
	output  io.Writer    // takes each valid line of the stream, unchanged
	note    func(record) // told of what the reviewer calls, is refused and says
	warn    func(error)  // told of what goes wrong without ending the review
}

// The reviewer ends by itself about 0.1 s after its result line; what takes longer has only cleaning up left
// to do and is ended.
const resultGrace = 500 * time.Millisecond

// run runs the review. An error means that no review took place; the outcome then holds what was known
// before.
func (r *reviewCall) run(ctx context.Context) (found outcome, err error) {
	start := time.Now()
	defer func() { found.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds() }()
	claude, err := findClaude()
	if err != nil {
		return found, err
	}
	flags := r.flags()
	for dirs := r.dirs; ; {
		stream := newStream(r.output, r.note, r.warn)
		stderr, err := r.call(ctx, dirs[0], slices.Concat([]string{claude}, slices.Concat(flags...)), stream)
		found = stream.outcome
		isOptional := func(f reviewerFlag) bool { return f[0] == optionalFlag }
		if stream.result == nil && unknownOption(stderr) == optionalFlag && slices.ContainsFunc(flags, isOptional) {
			r.warn(fmt.Errorf("this claude does not know %s: going on without it", optionalFlag))
			flags = slices.DeleteFunc(flags, isOptional)
			continue
		}
		switch {
		case stream.result != nil:
			found.Verdict, found.Feedback, err = stream.result.judge()
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err == nil:
			err = errNoResult
		case errors.As(err, new(*exec.ExitError)): // by itself it names nothing that ended
			err = fmt.Errorf("%w (%w)", errNoResult, err)
		}
		if err != nil && stderr != "" {
			err = fmt.Errorf("%w: %s", err, stderr)
		}
		if err != nil && len(dirs) > 1 && strings.Contains(err.Error(), "No conversation found") {
			dirs = dirs[1:]
			continue
		}
		return found, err
	}
}

// A reviewerFlag is one flag of the reviewer's command line with its values.
type reviewerFlag []string

// askedTools would change something, if only what Claude Code does later: a rule to ask for them refuses them
// in a review, where nobody answers, and leaves them on the list of tools, which the prompt cache wants. So
// do MCP tools that a rule of the user's allows, from 2.1.200 on; older versions do not know the asterisk.
var askedTools = []string{"CronCreate", "CronDelete", "EnterWorktree", "ExitWorktree", "Monitor", "ScheduleWakeup", "SendMessage", "Workflow"}

// sandboxHeeds is the first version whose sandbox keeps a whole directory from being written to and still
// reads it: before, each sandboxed command ends with "bwrap: Can't create file" there (2.1.200).
const sandboxHeeds = "2.1.329"

// reviewerSettings go to the reviewer's claude alone: no hook runs in it, ours included, and no tool of its
// own edits a file (Edit, Write and NotebookEdit all heed Edit rules), whatever its permission mode and the
// user's own rules. Two slashes begin an absolute path; with one the rule does nothing. 2.1.120 heeds //**/*
// only; //** makes each sandboxed command fail from 2.1.329 on. Denying by path keeps the list of tools as it
// was.
//
// The user may have Claude Code's own sandbox switched on. No copy can be made inside it, so command, unless
// it is "", runs outside. All else stays inside and is allowed nothing by that: up to 2.1.200 the sandbox let
// a redirection write to the project. Nothing there writes to the closed directories, not even what a rule of
// the user's allows.
func reviewerSettings(command string, closed []string, withMCP bool) string {
	asked, denied := askedTools, []string{"Edit(//**/*)"}
	if !withMCP {
		asked = append(slices.Clone(asked), "mcp__*")
	}
	for _, dir := range closed {
		denied = append(denied, "Edit(/"+dir+"/**)")
	}
	sandbox := map[string]any{"autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": false}
	if command != "" {
		sandbox["excludedCommands"] = []string{command + ":*"}
	}
	return string(encodeJSON(map[string]any{
		"disableAllHooks": true,
		"permissions":     map[string][]string{"deny": denied, "ask": asked},
		"sandbox":         sandbox,
	}))
}

// optionalFlag is dropped for a claude that does not know it. No other is: a spending limit is not optional.
const optionalFlag = "--system-prompt-snapshot"

// flags is the command line of the review, the same for every review of a session, as the prompt cache wants
// it.
func (r *reviewCall) flags() (flags []reviewerFlag) {
	allowed, version, try := r.config.AllowedTools, r.request.version, r.request.tryCommand
	withMCP := slices.ContainsFunc(allowed, func(tool string) bool { return strings.HasPrefix(tool, "mcp__") })
	if try != "" {
		allowed = append(slices.Clone(allowed), "Bash("+try+":*)")
	}
	closed := slices.Concat(r.dirs, r.addDirs) // where the sandbox would let it write
	if olderThan(version, sandboxHeeds) {
		closed = nil
	}
	prompted, budget := !r.shares, r.config.MaxBudgetUSD
	for _, f := range []struct {
		wanted bool
		flag   reviewerFlag
	}{
		{true, reviewerFlag{"--print"}},
		{true, reviewerFlag{"--fork-session"}},
		{true, reviewerFlag{"--resume", r.session}},
		{true, reviewerFlag{"--verbose"}},
		{true, reviewerFlag{"--output-format", "stream-json"}},
		{prompted, reviewerFlag{"--json-schema", verdictSchema()}},
		{prompted, reviewerFlag{"--system-prompt", r.prompt}},
		// From 2.1.267 on a resumed session keeps its recorded system prompt, silently, unless this is off.
		{prompted, reviewerFlag{optionalFlag, "off"}},
		{true, reviewerFlag{"--no-session-persistence"}},
		{true, reviewerFlag{"--settings", reviewerSettings(try, closed, withMCP)}},
		{true, reviewerFlag{"--permission-mode", r.config.PermissionMode}},
		// A server of the user's would be started for each review, and a rule of the user's may let its tools
		// write.
		{!withMCP && (prompted || olderThan(cmp.Or(version, "0"), "2.1.200")), reviewerFlag{"--strict-mcp-config"}},
		{r.config.Model != "", reviewerFlag{"--model", r.config.Model}},
		{len(r.addDirs) > 0, slices.Concat(reviewerFlag{"--add-dir"}, r.addDirs)},
		{len(allowed) > 0, slices.Concat(reviewerFlag{"--allowedTools"}, allowed)},
		{budget > 0, reviewerFlag{"--max-budget-usd", strconv.FormatFloat(budget, 'f', -1, 64)}},
	} {
		if f.wanted {
			flags = append(flags, f.flag)
		}
	}
	return flags
}

// unknownOption returns the option that claude says it does not know, or "".
func unknownOption(stderr string) string {
	_, rest, _ := strings.Cut(stderr, "error: unknown option '")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// pipePatience is for what a reviewer that has ended left in its pipes: it arrives at once, but for a machine
// that is busy beyond measure.
const pipePatience = 3 * time.Second

// call runs the command line in dir under a guard (guard.go). It returns when the reviewer has ended, a
// moment after its result, or when ctx ends, and nothing of it runs any more then. stderr is the end of what
// it said there, on one line.
func (r *reviewCall) call(ctx context.Context, dir string, command []string, stream *reviewStream) (stderr string, err error) {
	complaints, input := &tail{limit: 2000}, r.request.text(r.shares)
	if r.shares { // no flag may carry the prompt and the form of the verdict
		input = r.prompt + "\n\n" + say(verdictForm) + "\n\n" + input
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, r.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), stream, complaints
	cmd.WaitDelay = pipePatience
	lifeline, err := startGuarded(cmd)
	if err != nil {
		return "", fmt.Errorf("%s: %w", say(notStarted), err)
	}
	exited := make(chan error, 1)
	running, ended := context.WithCancel(ctx)
	go func() {
		defer exitOnPanic()
		state, err := cmd.Process.Wait() // cmd.Wait waits for the pipes too, which the orphans of a killed guard hold
		if err == nil && !state.Success() {
			err = &exec.ExitError{ProcessState: state}
		}
		exited <- err
		ended()
	}()
	select {
	case <-running.Done():
	case <-stream.complete:
		select {
		case <-running.Done():
		case <-time.After(resultGrace):
		}
	}
	lifeline.Close()
	err = endGuard(cmd, exited)
	_ = cmd.Wait() // for what is left in the pipes; the process has been waited for
	stream.close()
	return complaints.line(), err
}

// olderThan reports whether a version such as 2.1.120 is older than another. A pre-release such as
// 2.1.331-dev.7 counts as its version, and an unknown one, "", as new.
func olderThan(version, other string) bool {
	number := func(v string) (n int) {
		v, _, _ = strings.Cut(v, "-")
		for _, part := range strings.SplitN(v, ".", 3) {
			digits, _ := strconv.Atoi(part)
			n = n*10000 + digits
		}
		return n
	}
	return version != "" && number(version) < number(other)
}
