package main

// The lines of a timeline: read, and written as a test needs them.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// lastReview returns the last review that has ended in a timeline, and ends the test where there is none.
func lastReview(t *testing.T, lines []entry) review {
	t.Helper()
	ends := endsOf(lines)
	if len(ends) == 0 {
		t.Fatal("no review has ended")
	}
	return ends[len(ends)-1]
}

// endsOf returns the reviews that have ended in a timeline.
func endsOf(lines []entry) (ends []review) {
	for _, e := range lines {
		if e.Review != nil && !e.Review.Ended.IsZero() {
			ends = append(ends, *e.Review)
		}
	}
	return ends
}

// timeline returns the timeline of a session, without what a reviewer called and said, and without the begins
// of reviews.
func (box *sandbox) timeline(session string) (lines []entry) {
	box.t.Helper()
	begun := map[string]review{}
	err := readLines(box.stateDir().session(session).timelineFile(), func(line []byte) {
		e, ok := parseEntry(line)
		isBegin := e.Review != nil && e.Review.Ended.IsZero()
		if isBegin {
			begun[e.Review.ID] = *e.Review
		} else if e.Review != nil { // whose begin is in a line of its own
			whole := begun[e.Review.ID]
			check(box.t, json.Unmarshal(encodeJSON(e.Review), &whole))
			e.Review = &whole
		}
		if ok && !isBegin && (e.Step == nil || e.Step.Kind != stepCall && e.Step.Kind != stepWords) {
			lines = append(lines, e)
		}
	})
	check(box.t, err)
	return lines
}

// onlyTimeline returns the timeline of the one session of the sandbox.
func (box *sandbox) onlyTimeline() []entry {
	box.t.Helper()
	files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	if len(files) > 1 {
		box.t.Fatalf("timelines: %q, want one", files)
	}
	for _, file := range files {
		id := strings.TrimPrefix(filepath.Base(file), "supervisor-")
		return box.timeline(strings.TrimSuffix(id, "-events.jsonl"))
	}
	return nil
}

// timelineVerdicts lists the verdicts of the one session of the sandbox.
func (box *sandbox) timelineVerdicts() (verdicts []verdict) {
	box.t.Helper()
	for _, r := range endsOf(box.onlyTimeline()) {
		verdicts = append(verdicts, r.Verdict)
	}
	return verdicts
}

// What happened in a session: each of these is its line in the timeline, as of now, where the rest does not
// say when.

// prompted is a prompt of the user's.
func prompted(text string) entry { return entry{Time: now(), Prompt: &prompt{Text: text}} }

// switchedTo is a switch of supervision.
func switchedTo(m mode) entry {
	return entry{Time: now(), Switch: &switched{Mode: m}}
}

// did is a step of a reviewer's.
func did(s step) entry { return entry{Time: now(), Step: &s} }

// began is the begin of a review. It runs until its deadline, without one for an hour: see runsOn.
func began(r review) entry {
	r.Deadline = cmp.Or(r.Deadline, ago(-time.Hour))
	return lineOf(r, r.Begun)
}

// ended is the end of a review. It need not say what its begin has said.
func ended(r review) entry {
	r.Ended = cmp.Or(r.Ended, now())
	return lineOf(r, r.Ended)
}

// unnamed counts the reviews without an id.
var unnamed atomic.Int64

// lineOf is a line of a review: of a stop, and with an id of its own, where it says nothing else.
func lineOf(r review, at time.Time) entry {
	r.Event, r.ID = cmp.Or(r.Event, eventStop), cmp.Or(r.ID, fmt.Sprint("unnamed-", unnamed.Add(1)))
	return entry{Review: &r}.at(cmp.Or(at, now()))
}

// at is the same at another time.
func (e entry) at(t time.Time) entry {
	if e.Time = t; e.Review != nil {
		r := *e.Review
		if r.Ended.IsZero() || r.Begun.IsZero() || r.Begun.After(t) {
			r.Begun = t
		}
		if !r.Ended.IsZero() {
			r.Ended = t
		}
		e.Review = &r
	}
	return e
}

// in is the same in a project, which is the working tree of a review.
func (e entry) in(project string) entry {
	if e.Project = project; e.Review != nil {
		r := *e.Review
		r.Seen.Top = cmp.Or(r.Seen.Top, project)
		e.Review = &r
	}
	return e
}

// written are lines as ccc writes them: the begin of a review says what its end does not.
func written(lines ...entry) []entry {
	begun := map[string]bool{}
	for i, e := range lines {
		if e.Review == nil {
			continue
		}
		r := *e.Review
		if begun[r.ID] {
			r = r.addition()
		}
		begun[r.ID], lines[i].Review = true, &r
	}
	return lines
}

// timelineOf writes the timeline of a session: of entries and, as strings, lines.
func (box *sandbox) timelineOf(session string, lines ...any) {
	entries, text := make([]entry, len(lines)), ""
	for i, line := range lines {
		entries[i], _ = line.(entry)
	}
	for i, e := range written(entries...) {
		if other, isText := lines[i].(string); isText {
			text += other
		} else {
			text += string(encodeJSON(e)) + "\n"
			runsOn(box.t, box.stateDir().session(session), e)
		}
	}
	box.write(".claude/ccc/supervisor-"+session+"-events.jsonl", 0o600, text)
	if n := len(entries); n > 0 && !entries[n-1].Time.IsZero() { // it was written then
		path := box.stateDir().session(session).timelineFile()
		check(box.t, os.Chtimes(path, time.Time{}, entries[n-1].Time))
	}
}

// running has a review of the session run until the end of the test.
func running(t testing.TB, session sessionFiles, id string) {
	t.Helper()
	check(t, session.dir.create())
	release, err := session.hold(id)
	check(t, err)
	t.Cleanup(release)
}

// runsOn has the review that a line begins run until its deadline, as where no lock tells of it, in a copy.
func runsOn(t testing.TB, session sessionFiles, e entry) {
	t.Helper()
	if e.Review == nil || !e.Review.Ended.IsZero() {
		return
	}
	path := session.runningFile(e.Review.ID)
	if _, err := os.Stat(path); err != nil { // it is not held
		check(t, session.dir.create())
		check(t, os.WriteFile(path, []byte("another"), 0o600))
	}
}

// readLines passes on each line of the file at path, which may be missing. A last line without newline gets
// one.
func readLines(path string, line func([]byte)) error {
	r := lineReader{path: path, lines: lineWriter{line: line}}
	err := r.read()
	r.lines.close()
	return err
}
