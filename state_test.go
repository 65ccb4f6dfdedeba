package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sweeping removes what is ccc's and was not written to within 30 days, and puts aside a log over 5 MiB.
func TestStateSweep(t *testing.T) {
	const day = 24 * time.Hour
	own := "supervisor-a-events.jsonl supervisor-a-output.jsonl.1 supervisor-a.json supervisor-a.json.bad"
	for _, test := range []struct {
		age  time.Duration // since the files were written
		log  int64
		want string
	}{
		{30*day + time.Hour, 0, "mine.json state.lock"},
		{30*day - time.Hour, 5 << 20, "hook-invocation.log mine.json state.lock " + own},
		{0, 5<<20 + 1, "hook-invocation.log.1 mine.json state.lock " + own},
	} {
		d := stateDir(t.TempDir())
		for name := range strings.FieldsSeq(own + " mine.json hook-invocation.log") {
			check(t, os.WriteFile(d.file(name), nil, 0o600))
			if name == "hook-invocation.log" {
				check(t, os.Truncate(d.file(name), test.log))
			}
			check(t, os.Chtimes(d.file(name), ago(test.age), ago(test.age)))
		}
		check(t, d.sweep())
		left, _ := os.ReadDir(string(d))
		names := ""
		for _, entry := range left {
			names += " " + entry.Name()
		}
		expectIs(t, "what is left", strings.TrimSpace(names), test.want)
	}
}

// Whatever a value is, a record of the log stays on its line, and the value can be told from what is around
// it.
func TestStateLog(t *testing.T) {
	d := stateDir(t.TempDir())
	for value, want := range map[string]string{
		"plain-1/2": "plain-1/2",
		"":          `""`,
		"a\nb":      `"a\nb"`,
		`a"b`:       `"a\"b"`,
		"a\x7fb":    `"a\x7fb"`,
	} {
		os.Remove(d.logFile())
		check(t, d.log("event", "first", value, "second", 2))
		text, _ := os.ReadFile(d.logFile())
		_, line, _ := strings.Cut(string(text), " ")
		expectIs(t, value, line, "event first="+want+" second=2\n")
	}
}

// A file of the state directory is a session's, ccc's own, or somebody else's.
func TestStateOwner(t *testing.T) {
	for want, names := range map[bool]string{
		true: "supervisor-a.json supervisor-a.json.bad supervisor-a-output.jsonl supervisor-a-review.jsonl " +
			"supervisor-a-events.jsonl supervisor-a-feedback.txt supervisor-a-request.md state.lock " +
			"supervisor-A.b_c-1.json hook-invocation.log hook-invocation.log.1 .supervisor-a.json.ccc-tmp",
		false: "supervisor-.json supervisor--a.json supervisor-a.jsonx xsupervisor-a.json .a.ccc-tmp a.txt",
	} {
		for name := range strings.FieldsSeq(names) {
			d := stateDir(t.TempDir())
			check(t, os.WriteFile(d.file(name), nil, 0o600))
			paths, _, err := d.owned()
			check(t, err)
			expectIs(t, name, len(paths) == 1, want)
		}
	}
	s := stateDir(t.TempDir())
	for name := range strings.FieldsSeq("ab-events.jsonl ab-f.json ab-last-event.jsonl ab.json") {
		check(t, os.WriteFile(s.file("supervisor-"+name), nil, 0o600))
	}
	ids, err := s.sessions()
	check(t, err)
	expectEqual(t, "the sessions", slices.Sorted(slices.Values(ids)), []string{"ab", "ab-f"})
}

// What is remembered between two hooks is what was written. A state that can't be read is not changed.
func TestStateKept(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	begin := now()
	check(t, s.update(func(state *sessionState) { state.Count = 3 }))
	state, err := s.readState()
	check(t, err)
	isKept := state.SessionID == "a" && state.Count == 3 && state.Enabled == ""
	if !isKept || state.CreatedAt.Before(begin) {
		t.Errorf("%+v", state)
	}
	check(t, errors.Join(os.Remove(s.stateFile()), os.MkdirAll(s.stateFile()+"/x", 0o700)))
	isCalled := false
	err = s.update(func(*sessionState) { isCalled = true })
	expectError(t, "a state that can't be read", err, "is a directory")
	expectIs(t, "it is changed", isCalled, false)
	state, err = s.readState()
	expectError(t, "and read", err, "is a directory")
	expectIs(t, "it is fresh", state.SessionID == "a" && !state.CreatedAt.IsZero(), true)
	err = stateDir(s.stateFile() + "/none").session("a").update(func(*sessionState) {})
	expectError(t, "a lock that can't be had", err, "no such file")
}

// Of a state that can't be used the last switch counts, with its time, as the timeline has it.
func TestStateUnusable(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 3, 17, minute, 0, 0, time.UTC) }
	to := func(m mode, minute int) entry { return entry{Time: at(minute), Switch: &switched{Mode: m}} }
	stop := entry{Time: at(2), Review: &review{ID: "r", Event: eventStop, Begun: at(2)}}
	for _, test := range []struct {
		lines []entry
		want  mode
		at    time.Time
	}{
		{nil, modeOn, time.Time{}},
		{[]entry{to(modeOff, 1), to(modeOn, 2)}, modeOn, at(2)},
		{[]entry{to(modeObserve, 1), stop}, modeObserve, at(1)},
	} {
		s := stateDir(t.TempDir()).session("a")
		for _, line := range test.lines {
			check(t, s.append(line))
		}
		check(t, os.WriteFile(s.stateFile(), []byte("{"), 0o600))
		state, err := s.readState()
		expectError(t, "a corrupt one", err, "corrupt")
		expectIs(t, "switched to", state.Enabled, test.want)
		expectIs(t, "when", state.SwitchedAt.UTC(), test.at)
	}
}
