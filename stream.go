package main

// What a reviewer writes to its stdout: each line is mirrored, and read for what people want to see and for the
// result.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A stream reads the reviewer's stdout, which is written to it.
type stream struct {
	lineWriter
	output   io.Writer     // takes each valid line, unchanged
	progress io.Writer     // takes the reviewer's text, for people
	warn     func(error)   // told of what goes wrong without ending the review
	lines    int           // valid ones so far
	outcome  outcome       // what is known so far, but for the verdict
	result   *resultLine   // the last one
	complete chan struct{} // closed at the first result of a turn
	once     sync.Once
	usage    map[string]tokens // by message: one message comes in several lines
}

func newStream(output, progress io.Writer, warn func(error)) *stream {
	s := &stream{output: output, progress: progress, warn: warn, complete: make(chan struct{}), usage: map[string]tokens{}}
	s.lineWriter.line = s.read
	s.lineWriter.tooLong = func() {
		warn(fmt.Errorf("dropped a line of the reviewer's stream: over %d MiB", lineLimit>>20))
	}
	return s
}

// close takes a last line that has no newline, and sums up.
func (s *stream) close() {
	s.lineWriter.close()
	s.outcome.Tokens = new(tokens)
	for _, u := range s.usage {
		s.outcome.Tokens.add(u)
	}
	if s.result != nil { // from 2.1.30 on messages tell what was sent, but of the answer its first tokens alone
		s.outcome.Tokens.Output = max(s.outcome.Tokens.Output, s.result.costs.Usage.Output)
	}
}

// read takes one line. It never panics: it runs in a goroutine of its own, where nothing else would keep a panic
// from ending ccc with the code that Claude Code takes for "block".
func (s *stream) read(line []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			s.warn(fmt.Errorf("reading the reviewer's stream: panic: %v", fault))
		}
	}()
	var l streamLine
	err := json.Unmarshal(line, &l)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if len(bytes.TrimSpace(line)) > 0 {
			s.warn(fmt.Errorf("dropped a line of the reviewer's stream: %w", err))
		}
		return
	}
	s.lines++
	if _, err := s.output.Write(line); err != nil {
		s.warn(fmt.Errorf("writing the reviewer's output: %w", err))
		s.output = io.Discard
	}
	if id := l.SessionID + l.OldSessionID; s.outcome.ReviewerSession == "" && validSession(id) {
		s.outcome.ReviewerSession = id
	}
	switch l.Type {
	case "assistant":
		s.assistant(l.Message)
	case "result":
		result := parseResult(line)
		if result.isOfNoTurn() {
			return
		}
		s.result = result
		s.outcome.CostUSD = s.result.ownCost()
		s.once.Do(func() { close(s.complete) })
	}
}

// A streamLine is what ccc reads of a line. It is read in one go, as lines are long; where a member is of another
// shape, the others still count.
type streamLine struct {
	Type         string           `json:"type"`
	Subtype      string           `json:"subtype"`
	SessionID    string           `json:"session_id"`
	OldSessionID string           `json:"sessionId"`
	Message      assistantMessage `json:"message"` // for type assistant
}

type assistantMessage struct {
	ID      string         `json:"id"`
	Usage   tokens         `json:"usage"`
	Content []contentBlock `json:"content"`
}

type contentBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (s *stream) assistant(m assistantMessage) {
	if len(s.usage) == 0 {
		s.outcome.FirstFresh = m.Usage.fresh()
	}
	s.usage[m.ID] = m.Usage
	for _, block := range m.Content {
		text, tool := block.shown()
		if text != "" {
			fmt.Fprintln(s.progress, printable(text))
		}
		if tool != "" {
			s.outcome.Tools = append(s.outcome.Tools, tool)
		}
	}
}

// shown is what people see of the block: its text or its tool call, or neither.
func (b contentBlock) shown() (text, tool string) {
	switch {
	case b.Type == "text":
		text = b.Text
	case b.Type == "tool_use" && b.Name != "StructuredOutput":
		tool = describeTool(b.Name, b.Input)
	}
	return text, tool
}

// describeTool writes a tool call as Claude Code's permission rules do: Bash(git status), Read(main.go). A long one
// is cut at 80 characters.
func describeTool(name string, input json.RawMessage) string {
	var about struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Pattern  string `json:"pattern"`
		Path     string `json:"path"`
	}
	_ = json.Unmarshal(input, &about)
	for _, text := range []string{about.Command, about.FilePath, about.Pattern, about.Path} {
		if text = oneLine(text); text != "" {
			if runes := []rune(text); len(runes) > 80 {
				text = string(runes[:79]) + "…"
			}
			return name + "(" + text + ")"
		}
	}
	return name
}
