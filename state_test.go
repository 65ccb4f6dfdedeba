package main

// The state directory: what is kept, swept and read back.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file that ccc made follows a newer ccc until the user touches it.
func TestStateKeepFile(t *testing.T) {
	d := stateDir(t.TempDir())
	path := filepath.Join(t.TempDir(), "sub", "SUPERVISOR.md")
	expect := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	keep := func(text string) {
		t.Helper()
		if err := d.keepFile(path, text); err != nil {
			t.Error(err)
		}
	}
	keep("one")
	expect("one")
	keep("two")
	expect("two")
	os.WriteFile(path, []byte("mine"), 0o600)
	keep("three")
	expect("mine")
	os.WriteFile(path, nil, 0o600)
	keep("four")
	expect("")
	os.WriteFile(path, []byte("five"), 0o600)
	keep("five") // the user's own, by chance the same
	keep("six")
	expect("six")
	os.Remove(path)
	keep("seven")
	expect("seven")
}

func TestStateSweep(t *testing.T) {
	d := stateDir(t.TempDir())
	old := time.Now().Add(-retention - time.Hour)
	touch := func(name string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(d.file(name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(d.file(name), at, at)
	}
	for _, name := range []string{"supervisor-a.json", "supervisor-a-output.jsonl", "supervisor-a-events.jsonl", "supervisor-a.json.bad",
		"supervisor-b.json", "mine.json", "written.json", "hook-invocation.log"} {
		touch(name, old)
	}
	touch("supervisor-b-events.jsonl", time.Now())
	touch("supervisor-c.json", time.Now())
	if err := d.sweep(); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(string(d))
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := []string{"hook-invocation.log", "mine.json", "state.lock", "supervisor-b-events.jsonl", "supervisor-b.json", "supervisor-c.json", "written.json"}
	if !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	os.Truncate(d.logFile(), logLimit+1)
	if err := d.sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.logFile()); err == nil {
		t.Error("the log was not put aside")
	}
	if info, err := os.Stat(d.logFile() + ".1"); err != nil || info.Size() != logLimit+1 {
		t.Errorf("the older log: %v", err)
	}
}

func TestStateLastRecord(t *testing.T) {
	d := stateDir(t.TempDir())
	if last, err := d.lastRecord("a"); err != nil || last.Event != "" {
		t.Errorf("without a timeline: %+v, %v", last, err)
	}
	for _, prompt := range []string{"first", strings.Repeat("x", 2<<20), "last"} {
		if err := d.append("a", record{Event: eventPrompt, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := d.lastRecord("a"); err != nil || last.Prompt != "last" {
		t.Errorf("got %.20q, %v", last.Prompt, err)
	}
}

// The reader begins with a whole line and goes on where it stopped.
func TestStateLineReader(t *testing.T) {
	dir := stateDir(t.TempDir())
	for last, want := range map[int64]string{0: "one\ntwo\nthree\n", 100: "one\ntwo\nthree\n", 14: "one\ntwo\nthree\n", 13: "two\nthree\n", 10: "two\nthree\n", 9: "three\n", 6: "three\n", 5: "", 1: ""} {
		session := fmt.Sprint("s", last)
		var got strings.Builder
		reader := dir.readTimeline(session, last, func(line []byte) { got.Write(line) })
		read := func(add, want string) {
			t.Helper()
			if err := dir.appendTo(dir.eventsFile(session), []byte(add)); err != nil {
				t.Fatal(err)
			}
			if err := reader.read(); err != nil || got.String() != want {
				t.Errorf("last %d: got %q, %v, want %q", last, got.String(), err, want)
			}
		}
		if err := reader.read(); err != nil || got.String() != "" {
			t.Errorf("without a file: %q, %v", got.String(), err)
		}
		read("one\ntwo\nthree\n", want)
		if reader.earlier != (last > 0 && last < 14) {
			t.Errorf("last %d: earlier is %v", last, reader.earlier)
		}
		read("", want)
		read("fo", want)
		read("ur\nfi", want+"four\n")
		if reader.close(); got.String() != want+"four\nfi\n" {
			t.Errorf("last %d: %q after close", last, got.String())
		}
	}
}

// FuzzStateAbridge: a record without its texts is the record, without its texts.
func FuzzStateAbridge(f *testing.F) {
	f.Add("p\"\\", "\\", "feedback", "prompt")
	f.Fuzz(func(t *testing.T, prompt, feedback, failure, tool string) {
		line := encodeJSON(record{Event: eventStop, Prompt: prompt, Verdict: verdictBlock, Feedback: feedback, Error: failure, Tools: []string{tool}, CostUSD: 0.5})
		var want, got record
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		want.Prompt, want.Feedback = "", ""
		if err := json.Unmarshal(abridge(nil, line), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", err, got, want)
		}
	})
}
