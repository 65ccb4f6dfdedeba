package main

// What a reviewer writes: its stdout is split into lines, mirrored and read as
// it arrives; of its stderr the end is kept.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	if len(p) >= t.limit {
		t.text = append(t.text[:0], p[len(p)-t.limit:]...)
	} else {
		drop := max(0, len(t.text)+len(p)-t.limit)
		t.text = append(t.text[:copy(t.text, t.text[drop:])], p...)
	}
	return len(p), nil
}

// line returns the text on one line.
func (t *tail) line() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "")), " ")
}

// A lineWriter splits what is written to it into lines.
type lineWriter struct {
	line    func(line []byte) // gets each line with its newline; keeps none of it
	tooLong func()            // told once of each line over lineLimit, which is dropped
	part    []byte            // the beginning of a line that is not complete yet
	skip    bool              // the rest of a line that is too long
}

// lineLimit is more than a tool result with images has ever been (tens of MiB
// are possible), and small enough to hold in memory.
const lineLimit = 32 << 20

func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		piece := rest
		if end > 0 {
			piece = rest[:end]
		}
		rest = rest[len(piece):]
		switch {
		case w.skip:
			w.skip = end == 0
		case len(w.part)+len(piece) > lineLimit:
			w.part, w.skip = nil, end == 0
			if w.tooLong != nil {
				w.tooLong()
			}
		case end > 0 && len(w.part) == 0:
			w.line(piece)
		default:
			w.keep(piece)
			if end > 0 {
				whole := w.part
				w.part = w.part[:0]
				w.line(whole)
			}
		}
	}
	return len(p), nil
}

// keep adds piece to the line in hand. A long line gets the largest buffer at
// once: pages that are never touched cost nothing, and growing by copying would
// hold the line in memory twice.
func (w *lineWriter) keep(piece []byte) {
	if size := len(w.part) + len(piece); size > cap(w.part) && size > 1<<20 {
		w.part = append(make([]byte, 0, lineLimit), w.part...)
	}
	w.part = append(w.part, piece...)
}

// close passes on a last line that has no newline, with one.
func (w *lineWriter) close() {
	if len(w.part) > 0 {
		_, _ = w.Write([]byte("\n"))
	}
}

// A stream reads the reviewer's stdout.
type stream struct {
	lineWriter
	review   *review
	lines    int           // valid ones so far
	result   *resultLine   // the last one
	complete chan struct{} // closed at the first result
	once     sync.Once
	outcome  reviewResult
	usage    map[string]tokens // by message: one message comes in several lines
}

func newStream(r *review) *stream {
	s := &stream{review: r, complete: make(chan struct{}), usage: map[string]tokens{}}
	s.lineWriter.line = s.read
	s.lineWriter.tooLong = func() {
		r.warn(fmt.Errorf("dropped a line of the reviewer's stream: over %d MiB", lineLimit>>20))
	}
	return s
}

// Write never fails, and never panics: it runs in a goroutine of its own, where
// nothing else would keep a panic from ending ccc with the code for "block".
func (s *stream) Write(p []byte) (n int, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			n, err = len(p), nil // reading goes on with the next piece
			s.review.warn(fmt.Errorf("reading the reviewer's stream: panic: %v", fault))
		}
	}()
	return s.lineWriter.Write(p)
}

// close takes a last line that has no newline, and sums up.
func (s *stream) close() {
	if len(s.part) > 0 {
		_, _ = s.Write([]byte("\n"))
	}
	for _, u := range s.usage {
		s.outcome.tokens.add(u)
	}
}

// read takes one line: mirrors it, when it is valid JSON, and picks out what
// ccc needs to know.
func (s *stream) read(line []byte) {
	var l streamLine
	err := json.Unmarshal(line, &l)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if len(bytes.TrimSpace(line)) > 0 {
			s.review.warn(fmt.Errorf("dropped a line of the reviewer's stream: %w", err))
		}
		return
	}
	s.lines++
	if _, err := s.review.output.Write(line); err != nil {
		s.review.warn(fmt.Errorf("writing the reviewer's output: %w", err))
		s.review.output = io.Discard
	}
	if id := l.SessionID + l.OldSessionID; s.outcome.session == "" && validSession(id) {
		s.outcome.session = id
	}
	switch l.Type {
	case "assistant":
		s.assistant(l.Message)
	case "result":
		s.result = parseResult(line)
		s.outcome.costUSD = s.result.ownCost()
		s.once.Do(func() { close(s.complete) })
	}
}

// A streamLine is what ccc reads of a line. It is read in one go, as lines are
// long; where a member is of another shape, the others still count.
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

func (s *stream) assistant(m assistantMessage) {
	s.usage[m.ID] = m.Usage
	for _, block := range m.Content {
		text, tool := block.shown()
		if text != "" {
			fmt.Fprintln(s.review.progress, printable(text))
		}
		if tool != "" {
			s.outcome.tools = append(s.outcome.tools, tool)
		}
	}
}

// describeTool writes a tool call as Claude Code's permission rules do:
// Bash(git status), Read(main.go).
func describeTool(name string, input json.RawMessage) string {
	var about struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Pattern  string `json:"pattern"`
		Path     string `json:"path"`
	}
	_ = json.Unmarshal(input, &about)
	for _, text := range []string{about.Command, about.FilePath, about.Pattern, about.Path} {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			if runes := []rune(text); len(runes) > 80 {
				text = string(runes[:79]) + "…"
			}
			return name + "(" + text + ")"
		}
	}
	return name
}

// printable makes text safe for a terminal: control characters other than
// newline and tab are shown as what they are, not obeyed.
func printable(text string) string {
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return 0x2400 + r // the control pictures
		case r == 0x7f:
			return 0x2421
		case r > 0x7f && !strconv.IsPrint(r) && !strconv.IsGraphic(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// isPlain tells whether text is ASCII, without control characters but newlines
// and tabs. Nearly all text is, and this takes a fifth of the time of a look at
// each rune.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}
