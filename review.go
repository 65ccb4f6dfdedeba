package main

// A review: run a fork of the session as reviewer and bring home its verdict.
// Whatever keeps a review from taking place ends as the error of run.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A review is one call of the reviewer.
type review struct {
	session string // the session to fork
	project string // where the reviewer runs: older versions find a session only there
	prompt  string
	config  supervisorConfig
	env     []string

	// begin returns request and output. It is called when the reviewer has been
	// started: until it can read, a second later, there is time for that.
	begin    func() (request string, output io.Writer)
	request  string
	output   io.Writer   // takes each valid line of the stream, unchanged
	progress io.Writer   // takes the reviewer's text, for people
	warn     func(error) // told of what goes wrong without ending the review
}

// A reviewResult is what a review brought. Without a review it holds what was
// known before the failure.
type reviewResult struct {
	verdict
	session  string // the reviewer's own
	tokens   tokens
	costUSD  float64
	tools    []string
	duration time.Duration
}

// tokens is what requests used, as the API counts it.
type tokens struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
}

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
}

// The reviewer ends by itself about 0.1 s after its result line; what takes
// longer has only cleaning up left to do and is ended.
const resultGrace = 500 * time.Millisecond

// run runs the review. An error means that no review took place: the reviewer
// could not be started, failed, said nothing, or ctx ended before its verdict.
func (r *review) run(ctx context.Context) (result reviewResult, err error) {
	start := time.Now()
	defer func() { result.duration = time.Since(start) }()
	claude, err := findClaude()
	if err != nil {
		return result, err
	}
	flags := reviewerFlags(r)
	for {
		stream := newStream(r)
		stderr, err := r.call(ctx, slices.Concat([]string{claude}, slices.Concat(flags...)), stream)
		result = stream.outcome
		if stream.result == nil && ctx.Err() == nil {
			if i := unknownFlag(flags, stderr); i >= 0 && stream.lines == 0 {
				r.warn(fmt.Errorf("this claude does not know %s: going on without it", flags[i][0]))
				flags = slices.Delete(flags, i, i+1)
				continue
			}
		}
		switch {
		case stream.result != nil:
			result.verdict, err = stream.result.judge()
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err == nil:
			err = errors.New("the reviewer ended without a result")
		}
		if err != nil && stderr != "" {
			err = fmt.Errorf("%w: %s", err, stderr)
		}
		return result, err
	}
}

// A reviewerFlag is one flag of the reviewer's command line with its values.
type reviewerFlag []string

// optionalFlags may be dropped for a claude that does not know them.
var optionalFlags = []string{"--system-prompt-snapshot", "--no-session-persistence", "--max-budget-usd"}

// reviewerFlags is the command line of a review. It is the same, byte for byte,
// for every review of a session, as the prompt cache wants it.
func reviewerFlags(r *review) []reviewerFlag {
	flags := []reviewerFlag{
		{"--print"}, {"--fork-session"}, {"--resume", r.session},
		{"--verbose"}, {"--output-format", "stream-json"},
	}
	if !r.config.keepCache {
		flags = append(flags,
			reviewerFlag{"--json-schema", verdictSchema},
			reviewerFlag{"--system-prompt", r.prompt},
			// From 2.1.267 on a resumed session keeps its recorded system
			// prompt, silently, unless this is off.
			reviewerFlag{"--system-prompt-snapshot", "off"})
	}
	flags = append(flags,
		reviewerFlag{"--no-session-persistence"},
		reviewerFlag{"--settings", reviewerSettings},
		reviewerFlag{"--permission-mode", r.config.permissionMode})
	if r.config.model != "" {
		flags = append(flags, reviewerFlag{"--model", r.config.model})
	}
	if len(r.config.allowedTools) > 0 {
		flags = append(flags, append(reviewerFlag{"--allowedTools"}, r.config.allowedTools...))
	}
	if budget := r.config.maxBudgetUSD; budget > 0 {
		flags = append(flags, reviewerFlag{"--max-budget-usd", strconv.FormatFloat(budget, 'f', -1, 64)})
	}
	return flags
}

// input is what the reviewer reads on stdin. Where the prompt cache is to be
// kept, flags can't carry the prompt and the form of the verdict.
func (r *review) input() string {
	if r.config.keepCache {
		return r.prompt + "\n\n" + verdictForm + "\n\n" + r.request
	}
	return r.request
}

// unknownFlag returns the index of the optional flag that stderr complains
// about, or -1.
func unknownFlag(flags []reviewerFlag, stderr string) int {
	name := unknownOption(stderr)
	return slices.IndexFunc(flags, func(f reviewerFlag) bool {
		return f[0] == name && slices.Contains(optionalFlags, name)
	})
}

// unknownOption returns the option that claude says it does not know, or "".
func unknownOption(stderr string) string {
	_, rest, _ := strings.Cut(stderr, "error: unknown option '")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// pipePatience is for what a reviewer that has ended left in its pipes: it
// arrives at once, but for a machine that is busy beyond measure.
const pipePatience = 3 * time.Second

// call runs the command line under a guard (guard.go) with the request on stdin
// and its stdout going to stream. It returns as soon as the reviewer's result
// and the end of its stdout are there, or a moment after its result; the guard
// then ends what is left. Without a result it returns when the guard has ended,
// and stderr is the end of what the reviewer said there, on one line.
func (r *review) call(ctx context.Context, command []string, stream *stream) (stderr string, err error) {
	output, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer output.Close()
	defer write.Close()
	complaints := &tail{limit: 2000}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = r.project, r.env
	cmd.Stdout, cmd.Stderr = write, complaints
	cmd.WaitDelay = pipePatience
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	hold, err := startGuarded(cmd)
	if err != nil {
		return "", fmt.Errorf("starting the reviewer: %w", err)
	}
	defer hold.Close()
	write.Close()
	if r.output == nil {
		r.request, r.output = r.begin()
	}
	go func() {
		_, _ = io.WriteString(stdin, r.input()) // a reviewer that ends early does not read it
		stdin.Close()
	}()
	exited, read := make(chan error, 1), make(chan struct{})
	go func() { exited <- cmd.Wait() }()
	go func() {
		_, _ = io.Copy(stream, output)
		stream.close()
		close(read)
	}()
	select {
	case <-read:
	case <-ctx.Done():
	case <-stream.complete:
		select {
		case <-read:
		case <-ctx.Done():
		case <-time.After(resultGrace):
		}
		_ = output.SetReadDeadline(time.Now())
		<-read
		return "", nil
	}
	hold.Close()
	err = endGuard(cmd, exited)
	_ = output.SetReadDeadline(time.Now().Add(pipePatience))
	<-read
	return complaints.line(), err
}

const installClaude = "npm install -g @anthropic-ai/claude-code"

// findClaude returns the absolute path of the claude to run: $CCC_CLAUDE, else
// the one in PATH.
func findClaude() (string, error) {
	name := os.Getenv(claudeVariable)
	if name == "" {
		name = "claude"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", failure{code: 127, err: fmt.Errorf("finding claude: %w", err), hint: installClaude}
	}
	return filepath.Abs(path)
}
