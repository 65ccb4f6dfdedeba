package main

// The reviewer's process is a claude that forks the session. Its stream is read line by line: calls, refusals
// and words as they come, the result at the end. A line that can't be read ends no review. An error of the
// call means that no review took place.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// resultGrace is how long the reviewer may take to end by itself after its verdict. It takes about 0.1 s.
const resultGrace = 500 * time.Millisecond

// run runs the reviewer to its end. note takes its calls, refusals and words. An error means that no review
// took place; result is then what was known before.
func (c *reviewerCall) run(ctx context.Context, note func(step)) (result outcome, err error) {
	start := time.Now()
	defer func() { result.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds() }()
	stream, stderr, err := c.start(ctx, note)
	result = stream.outcome
	result.CacheMissed = c.shares && stream.first.cacheMissed()
	switch answer := stream.result; {
	case stream.fault != nil:
		err = stream.fault
	case answer != nil:
		result.Verdict = answer.decided
		result.Feedback = answer.feedback
		err = answer.fault
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
	if err != nil && stream.result == nil && stream.fault == nil && stderr != "" {
		err = fmt.Errorf("%w: %s", err, stderr)
	}
	if err != nil {
		result.Cause = causeOf(err, c.dir)
	}
	return result, err
}

// start runs the reviewer until it ends by itself, a moment after its verdict, or when ctx ends. Nothing of
// it runs on. stderr is the end of what it wrote there, on one line, without what explains no failure.
func (c *reviewerCall) start(ctx context.Context, note func(step)) (
	stream *reviewStream, stderr string, err error,
) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	stream = newStream(c.output, note, c.warn, func() {
		time.AfterFunc(resultGrace, func() { defer exitOnPanic(); stop() })
	})
	stream.abort = stop
	complaints := &tail{limit: 2000}
	args := slices.Concat(c.flags()...)
	if c.given != nil {
		at := slices.Index(args, argumentSource) + 1
		if err := os.WriteFile(c.givenFile, []byte(args[at]), 0o600); err != nil {
			return stream, "", err
		}
		defer os.Remove(c.givenFile)
		args[at] = c.givenFile
	}
	cmd := exec.Command(c.claude, args...)
	cmd.Dir = c.dir
	cmd.Env = c.env
	cmd.Stdin = strings.NewReader(c.input)
	cmd.Stdout = stream
	cmd.Stderr = complaints
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

// noReason matches what stderr says of a model that is not known: a notice (2.1.280, 2.1.332), a sentence.
var noReason = lazyRegexp(`(?m)^(\[claude-code:|.*doesn't recognize the model).*$`)

// A reviewStream reads the reviewer's stdout, which is written to it.
type reviewStream struct {
	lineWriter
	output  io.Writer         // takes each valid line, unchanged
	note    func(step)        // takes the reviewer's calls, with refusals and errors, and its words
	warn    func(error)       // takes what goes wrong without ending the review
	outcome outcome           // what is known so far, without the verdict
	first   tokens            // of the first message with any
	result  *resultLine       // the last with a verdict, else the last
	finish  func()            // called at each result with a verdict or an error
	fault   error             // the reviewer may do more than it should
	abort   func()            // called then
	written int               // output tokens, as the results count them
	isGuess bool              // the cost is a guess: Claude Code prices an unknown model as its dearest
	usage   map[string]tokens // by the id of a message, which may come in several lines
	calls   map[string]string // the tools called and not refused so far, by the id of the call
}

func newStream(output io.Writer, note func(step), warn func(error), finish func()) *reviewStream {
	s := &reviewStream{output: output, note: note, warn: warn, finish: finish,
		usage: map[string]tokens{}, calls: map[string]string{}}
	s.lineWriter.line = s.read
	s.lineWriter.dropped = func(why error) {
		warn(fmt.Errorf("dropped a line of the reviewer's stream: %w", why))
	}
	return s
}

func (s *reviewStream) read(line []byte) {
	var l streamLine
	err := json.Unmarshal(line, &l)
	if _, isSyntax := err.(*json.SyntaxError); isSyntax {
		if len(bytes.TrimSpace(line)) > 0 {
			s.dropped(err)
		}
		return
	}
	if _, err := s.output.Write(line); err != nil {
		s.warn(fmt.Errorf("writing the reviewer's output: %w", err))
		s.output = io.Discard
	}
	if id := cmp.Or(l.SessionID, l.OldSessionID); s.outcome.ReviewerSession == "" && validSession(id) {
		s.outcome.ReviewerSession = id
	}
	switch l.Type {
	case "system":
		if !slices.Contains([]string{"", ownPermissions, reviewersPermissions}, l.PermissionMode) {
			s.fault = errors.New(say(reviewersMode, l.PermissionMode, reviewersPermissions))
			s.abort()
		}
	case "assistant":
		s.usage[l.Message.ID] = l.Message.Usage
		s.first = cmp.Or(s.first, l.Message.Usage)
		for _, block := range l.Message.Content {
			words := beforeVerdict(withoutThinking(block.Text))
			switch {
			case l.Message.Model == "<synthetic>": // Claude Code's own error, which the result holds too
			case block.Type == "text" && words != "":
				s.note(step{Kind: stepWords, Words: words})
			case block.Type == "tool_use" && block.Name != "StructuredOutput":
				tool := describeTool(block.Name, block.Input)
				s.calls[block.ID] = tool
				s.note(step{Kind: stepCall, Tool: tool})
			}
		}
	case "user":
		for _, block := range l.Message.Content {
			tool := s.calls[block.Call]
			if block.isRefusal() {
				s.refuse(block.Call)
			} else if block.Error && tool != "" && !isCommand(tool) {
				s.note(step{Kind: stepError, Tool: tool})
			}
		}
	case "result":
		if result := parseResult(line); !result.isOfNoTurn() {
			s.takeResult(result)
		}
	}
}

// A streamLine is what ccc reads of a line. A member of another shape is left empty, and the others count.
type streamLine struct {
	Type         string `json:"type"`
	SessionID    string `json:"session_id"`
	OldSessionID string `json:"sessionId"` // an older name of session_id

	PermissionMode string   `json:"permissionMode"` // of the first line
	Message        struct { // for types assistant and user
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Usage   tokens         `json:"usage"`
		Content []contentBlock `json:"content"`
	} `json:"message"`
}

type contentBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Call  string          `json:"tool_use_id"` // this and what follows: of a tool_result
	Error bool            `json:"is_error"`
	Said  json.RawMessage `json:"content"`
}

// describeTool returns a tool call as Claude Code's permission rules write it: Bash(git status).
func describeTool(name string, input json.RawMessage) string {
	var about struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Pattern  string `json:"pattern"`
		Path     string `json:"path"`
	}
	_ = json.Unmarshal(input, &about)
	text := unbroken(cmp.Or(about.Command, about.FilePath, about.Pattern, about.Path))
	if text == "" {
		return name
	}
	return name + "(" + text + ")"
}

// refusals are the beginnings of what Claude Code answers to a call that it refuses (2.1.280 to 2.1.332).
var refusals = []string{"Permission to use ", "<tool_use_error>File is in a directory that is denied ",
	"<tool_use_error>InputValidationError", "<tool_use_error>Error: No such tool available"}

// isRefusal reports whether the block is Claude Code's refusal of a call.
func (b contentBlock) isRefusal() bool {
	said := ""
	_ = json.Unmarshal(b.Said, &said)
	isBeginning := func(start string) bool { return strings.HasPrefix(said, start) }
	return b.Type == "tool_result" && b.Error && slices.ContainsFunc(refusals, isBeginning)
}

// refuse notes once that the call with that id was refused.
func (s *reviewStream) refuse(id string) {
	if tool, known := s.calls[id]; known {
		delete(s.calls, id)
		s.note(step{Kind: stepRefused, Tool: tool})
	}
}

// takeResult takes the result of a turn. There are several if the reviewer has started something: its end
// wakes the reviewer. The results come at once, or all at the end of a subagent (2.1.280, 2.1.332). So a
// reviewer that has only spoken may be waiting, and words take no verdict back.
func (s *reviewStream) takeResult(result *resultLine) {
	for _, denial := range result.costs.Denials {
		s.refuse(denial.Call)
	}
	for _, model := range result.costs.SinceLast {
		s.outcome.CostUSD += model.CostUSD
		s.isGuess = s.isGuess || model.Basis == "unknown"
	}
	s.written += result.costs.Usage.Output
	if result.decided != "" || s.result == nil || s.result.decided == "" {
		s.result = result
	}
	if result.decided != "" || result.fault != nil {
		s.finish()
	}
}

// close reads a last line that has no newline, and adds up what the review used.
func (s *reviewStream) close() {
	s.lineWriter.close()
	s.outcome.Tokens = new(tokens)
	for _, u := range s.usage {
		s.outcome.Tokens.add(u)
	}
	// A message has all its input tokens, but of its output only the first.
	s.outcome.Tokens.Output = max(s.outcome.Tokens.Output, s.written)
	if *s.outcome.Tokens == (tokens{}) { // nobody has told
		s.outcome.Tokens = nil
	}
	s.outcome.CostUSD = math.Round(s.outcome.CostUSD*1e6) / 1e6 // a sum of fractions has odd last digits
	if s.isGuess {
		s.outcome.CostUSD = 0
	}
}

// What Claude Code says of an error with such a cause, in lower case (2.1.280, 2.1.332).
var (
	tooLong       = lazyRegexp(`prompt is too long|context window limit|request too large`)
	keyRefused    = lazyRegexp(`not logged in|\b401\b|invalid api key|token has expired`)
	modelNotFound = lazyRegexp(`issue with the selected model|model.*not[_ ]found|not_found_error.*model`)
)

// causeOf returns the cause of an error of a reviewer in dir, "" if another review may succeed.
func causeOf(err error, dir string) cause {
	said := strings.ToLower(err.Error())
	_, missing := os.Stat(dir)
	switch {
	case tooLong().MatchString(said):
		return causeTooLong
	case keyRefused().MatchString(said):
		return causeKey
	case modelNotFound().MatchString(said):
		return causeModel
	case strings.Contains(said, "no conversation found"), errors.Is(missing, fs.ErrNotExist):
		return causeGone
	}
	return ""
}
