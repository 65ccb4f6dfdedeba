package main

// The reviewer's stream is read line by line: calls, refusals and words as they come, the result at the
// end. A line that can't be read ends no review.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

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

// close reads a last line that has no newline, and adds up what the review used.
func (s *reviewStream) close() {
	s.lineWriter.close()
	s.outcome.Tokens = new(tokens)
	for _, u := range s.usage {
		s.outcome.Tokens.add(u)
	}
	// A message has all its input tokens, but of its output only the first.
	s.outcome.Tokens.Output = max(s.outcome.Tokens.Output, s.written)
	if s.isGuess {
		s.outcome.CostUSD = 0
	}
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
	case "assistant":
		s.usage[l.Message.ID] = l.Message.Usage
		s.first = cmp.Or(s.first, l.Message.Usage)
		for _, block := range l.Message.Content {
			words := withoutThinking(block.Text)
			switch {
			case l.Message.Model == "<synthetic>": // Claude Code's own error, which the result holds too
			case block.Type == "text" && words != "" && !isAnswer(words):
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

// takeResult takes the result of a turn. There are several where the reviewer has started something in the
// background: Claude Code wakes it when that ends. The results of all turns come once the subagents have
// ended; beside a command each comes at once (2.1.280, 2.1.332). So a reviewer that has only spoken
// may be waiting for what it has started, and one that has given its verdict takes nothing back with words.
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

// A streamLine is what ccc reads of a line. A member of another shape is left empty, and the others count.
type streamLine struct {
	Type         string   `json:"type"`
	SessionID    string   `json:"session_id"`
	OldSessionID string   `json:"sessionId"` // an older name of session_id
	Message      struct { // for types assistant and user
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

// isCommand reports whether a call runs a command.
func isCommand(call string) bool { return strings.HasPrefix(call, "Bash(") }

// tryCall matches the beginning of a call of ccc try, up to the command that it runs.
var tryCall = lazyRegexp(
	`^Bash\(((cd|timeout) \S+ +(&& +)?)*(\S*/ccc[^/\s]*|'[^']*/ccc[^/']*') +try +(--timeout \S+ +)?`)

// doing returns a call, or the command that the call runs, without ccc try.
func doing(call string) string {
	command, isCommand := strings.CutPrefix(call, "Bash(")
	if !isCommand {
		return call
	}
	tried := tryCall().ReplaceAllString(call, "")
	if tried == call {
		return strings.TrimSuffix(command, ")")
	}
	tried = strings.TrimSuffix(tried, ")")
	if script, isQuoted := strings.CutPrefix(tried, "'"); isQuoted {
		script, rest, _ := strings.Cut(script, "'")
		return script + rest
	}
	return tried
}
