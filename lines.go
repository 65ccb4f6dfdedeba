package main

// Lines: of a stream that is written to, of a file that grows, and the last ones of a text that is too long to
// keep.

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A tail keeps the last limit bytes of what is written to it.
type tail struct {
	limit int
	mu    sync.Mutex
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-t.limit):]...)
	t.text = t.text[max(0, len(t.text)-t.limit):]
	return len(p), nil
}

// end returns the last bytes of the text, most at most, once redact has been over all of it.
func (t *tail) end(most int, redact func(string) string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := redact(strings.ToValidUTF8(string(t.text), "\uFFFD"))
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}

// line returns the text on one line.
func (t *tail) line() string { return oneLine(string(t.text)) }

// A lineWriter splits what is written to it into lines.
type lineWriter struct {
	line    func(line []byte) // gets each line with its newline, and must not keep the slice
	tooLong func()            // if set, called once for each line over lineLimit, which is dropped
	part    []byte            // the beginning of a line that is not complete yet
	skip    bool              // drop what comes up to the next newline
}

// inputLimit is in bytes, of what Claude Code writes to stdin: an event holds one message of the agent's or one prompt
// of the user's.
const inputLimit = 64 << 20

// lineLimit is in bytes. A tool result with images can have tens of MiB; a line of more than this is dropped
// instead of held in memory.
const lineLimit = 32 << 20

// Write never fails.
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
			if size := len(w.part) + len(piece); size > cap(w.part) && size > 1<<20 {
				w.part = slices.Grow(w.part, lineLimit-len(w.part)) // growing in steps would hold a long line twice
			}
			w.part = append(w.part, piece...)
			if end > 0 {
				whole := w.part
				w.part = w.part[:0]
				w.line(whole)
			}
		}
	}
	return len(p), nil
}

// close passes on a last line that has no newline, with one added.
func (w *lineWriter) close() {
	if len(w.part) > 0 {
		_, _ = w.Write([]byte("\n"))
	}
}

// A lineReader passes on the lines of the file at path, and each time read is called again those that have come
// since, even if there was no file at first.
type lineReader struct {
	path  string
	last  int64 // begin with the first whole line in the last so many bytes; 0: at the beginning
	lines lineWriter
	file  *os.File
}

// read passes on what is there by now; a line without its newline has to wait. A file that has become shorter was
// begun anew.
func (r *lineReader) read() (err error) {
	if r.file != nil && !isFileAt(r.path, r.file) { // it was replaced
		r.file.Close()
		r.file, r.last, r.lines.part, r.lines.skip = nil, 0, nil, false
	}
	if r.file == nil {
		if r.file, err = os.Open(r.path); err != nil {
			r.file = nil
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
		if info, err := r.file.Stat(); err == nil && r.last > 0 && info.Size() > r.last {
			r.lines.skip = true // from the byte before, so that a line that begins right there counts
			_, _ = r.file.Seek(info.Size()-r.last-1, io.SeekStart)
		}
	}
	info, err := r.file.Stat()
	if at, _ := r.file.Seek(0, io.SeekCurrent); err == nil && info.Size() < at {
		r.lines.part, r.lines.skip = nil, false
		_, _ = r.file.Seek(0, io.SeekStart)
	}
	_, err = io.Copy(&r.lines, r.file)
	return err
}

// modified is when the file was last written to, the zero time without a file.
func (r *lineReader) modified() (at time.Time) {
	if r.file != nil {
		if info, err := r.file.Stat(); err == nil {
			at = info.ModTime()
		}
	}
	return at
}

// close passes on a last line that has no newline, and closes the file.
func (r *lineReader) close() {
	r.lines.close()
	if r.file != nil {
		r.file.Close()
	}
}

// A patientWriter passes on what is written to it and never makes its writer wait: it drops what comes while a reader
// that does not read has left a thousand pieces.
type patientWriter struct {
	pieces chan []byte // a nil piece is the end
	done   chan struct{}
}

func newPatientWriter(w io.Writer) *patientWriter {
	p := &patientWriter{pieces: make(chan []byte, 1000), done: make(chan struct{})}
	go func() {
		for piece := <-p.pieces; piece != nil; piece = <-p.pieces {
			_, _ = w.Write(piece)
		}
		close(p.done)
	}()
	return p
}

func (p *patientWriter) Write(piece []byte) (int, error) {
	select {
	case p.pieces <- append([]byte{}, piece...): // never nil
	default:
	}
	return len(piece), nil
}

// close waits a moment for the reader to take what there is. What is written after it is lost.
func (p *patientWriter) close() {
	late := time.After(200 * time.Millisecond)
	select {
	case p.pieces <- nil:
	case <-late:
		return
	}
	select {
	case <-p.done:
	case <-late:
	}
}

// readLines passes on every line of the file at path; a last one without newline gets one.
func readLines(path string, line func([]byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := lineWriter{line: line}
	_, err = io.Copy(&lines, file)
	lines.close()
	return err
}
