package main

// The reviewer's process is a claude that forks the session. No tool of its own edits a file, and no hook
// runs in it. What keeps a review from taking place is an error of the call.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reviewerCall is one call of the reviewer.
type reviewerCall struct {
	claude     string // the path of its program
	env        []string
	session    string   // the session to fork
	dir        string   // where the reviewer runs: the working tree
	addDirs    []string // what else it may read
	shares     bool     // the agent's prompt cache: its instructions are in input then
	prompt     string   // its instructions
	tryCommand string   // what runs a command in a copy, "" where none can be made
	config     supervisorConfig
	input      string      // what it is asked
	output     io.Writer   // takes each valid line of the stream, unchanged
	warn       func(error) // takes what goes wrong without ending the review
}

// resultGrace is for the reviewer to end by itself behind its verdict, which takes it about 0.1 s.
const resultGrace = 500 * time.Millisecond

// run runs the reviewer to its end. note takes its calls, refusals and words. With an error no review took
// place; result is then what was known before.
func (c *reviewerCall) run(ctx context.Context, note func(step)) (result outcome, err error) {
	start := time.Now()
	defer func() { result.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds() }()
	stream, stderr, err := c.start(ctx, note)
	result = stream.outcome
	result.CacheMissed = c.shares && stream.first.cacheMissed()
	switch answer := stream.result; {
	case answer != nil:
		result.Verdict, result.Feedback, err = answer.decided, answer.feedback, answer.fault
		if err == nil && result.Verdict == "" && ctx.Err() != nil { // it had only spoken, and went on
			err = context.Cause(ctx)
		}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil:
		err = errNoResult
	case errors.As(err, new(*exec.ExitError)): // its text alone does not name what has ended
		err = errors.New(say(withReason, errNoResult.Error(), err.Error()))
	}
	if err != nil && stream.result == nil && stderr != "" {
		err = fmt.Errorf("%w: %s", err, stderr)
	}
	if err != nil {
		result.Cause = causeOf(err, c.dir)
	}
	return result, err
}

// causeOf returns the cause of an error of a reviewer in dir, "" where another review may have none. The
// words are Claude Code's (2.1.280, 2.1.332).
func causeOf(err error, dir string) cause {
	said := strings.ToLower(err.Error())
	_, missing := os.Stat(dir)
	switch {
	case strings.Contains(said, "prompt is too long"):
		return causeTooLong
	case strings.Contains(said, "no conversation found"), errors.Is(missing, fs.ErrNotExist):
		return causeGone
	}
	return ""
}

// askedTools change something, if only what Claude Code does later. A rule to ask for a tool refuses it in a
// review, where nobody answers, and leaves it on the list of tools, which has to stay for the prompt cache.
var askedTools = []string{"CronCreate", "CronDelete", "EnterWorktree", "ExitWorktree", "Monitor",
	"ScheduleWakeup", "SendMessage", "Workflow"}

// reviewerSettings returns the settings of the reviewer's claude. No hook runs in it, ours included. No
// tool of its own edits a file, whatever its permission mode and the user's rules are: Edit, Write and
// NotebookEdit all heed Edit rules. Two slashes begin an absolute path; with one the rule does nothing. It
// is //**/* since //** makes each sandboxed command fail (2.1.329, 2.1.332). A rule by path leaves the list
// of tools as it is.
//
// The user may have Claude Code's own sandbox switched on. No copy can be made inside it, so command, unless
// it is "", runs outside. All else stays inside, which allows it nothing. Nothing in there writes to the
// closed directories, whatever the user's rules allow (2.1.280, 2.1.332).
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

// flags returns the reviewer's command line, each flag with its values. With the agent's prompt cache it is
// the same in every review of a session.
func (c *reviewerCall) flags() (flags [][]string) {
	allowed, command := c.config.AllowedTools, c.tryCommand
	isMCP := func(tool string) bool { return strings.HasPrefix(tool, "mcp__") }
	withMCP := slices.ContainsFunc(allowed, isMCP)
	if command != "" {
		allowed = append(slices.Clone(allowed), "Bash("+command+":*)")
	}
	closed := append([]string{c.dir}, c.addDirs...) // where the sandbox would let it write
	prompted, budget := !c.shares, c.config.MaxBudgetUSD
	add := func(isWanted bool, flag string, values ...string) {
		if isWanted {
			flags = append(flags, append([]string{flag}, values...))
		}
	}
	flags = [][]string{{"--print"}, {"--fork-session"}, {"--resume", c.session}, {"--verbose"},
		{"--output-format", "stream-json"}}
	add(prompted, "--json-schema", verdictSchema())
	add(prompted, "--system-prompt", c.prompt)
	// A resumed session keeps its recorded system prompt, silently, unless this is off (2.1.280, 2.1.332).
	add(prompted, "--system-prompt-snapshot", "off")
	add(true, "--no-session-persistence")
	add(true, "--settings", reviewerSettings(command, closed, withMCP))
	add(true, "--permission-mode", "dontAsk")
	// Without it each review starts the user's MCP servers, whose tools a rule of the user's may let write.
	add(!withMCP, "--strict-mcp-config")
	add(c.config.Model != "", "--model", c.config.Model)
	add(len(c.addDirs) > 0, "--add-dir", c.addDirs...)
	add(len(allowed) > 0, "--allowedTools", allowed...)
	add(budget > 0, "--max-budget-usd", strconv.FormatFloat(budget, 'f', -1, 64))
	return flags
}

// noReason matches what Claude Code writes to stderr of a model that it does not know: a notice (2.1.280,
// 2.1.332), and a sentence.
var noReason = lazyRegexp(`(?m)^(\[claude-code:|.*doesn't recognize the model).*$`)

// start runs the reviewer. It returns when the reviewer has ended, a moment after its verdict,
// or when ctx ends, and nothing of it runs any more. stderr is the end of what the reviewer wrote there, on
// one line, but for what is no reason of a failure.
func (c *reviewerCall) start(ctx context.Context, note func(step)) (
	stream *reviewStream, stderr string, err error,
) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	stream = newStream(c.output, note, c.warn, func() {
		time.AfterFunc(resultGrace, func() { defer exitOnPanic(); stop() })
	})
	complaints := &tail{limit: 2000}
	cmd := exec.Command(c.claude, slices.Concat(c.flags()...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.input), stream, complaints
	if err = runToEnd(running, cmd); cmd.Process == nil {
		err = errors.New(say(notStarted, err.Error())) // it names the program
		if _, missing := os.Stat(c.dir); errors.Is(missing, fs.ErrNotExist) {
			err = errors.New(say(notStarted, say(directoryGone, c.dir)))
		}
		return stream, "", err
	}
	// From here on nothing else uses stream and complaints.
	stream.close()
	return stream, oneLine(noReason().ReplaceAllString(complaints.end(), "")), err
}

// olderThan reports whether a version is older than another. 2.1.331-dev.7 counts as 2.1.331, an unknown
// version, "", as not older than any.
func olderThan(version, other string) bool {
	number := func(v string) (n int) {
		v, _, _ = strings.Cut(v, "-")
		for _, part := range strings.SplitN(v, ".", 3) {
			value, _ := strconv.Atoi(part)
			n = n*10000 + value
		}
		return n
	}
	return version != "" && number(version) < number(other)
}
