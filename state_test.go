package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sweeping removes what is old and ccc's, a session's files only together; purging removes all that is ccc's.
func TestStateSweep(t *testing.T) {
	d := stateDir(t.TempDir())
	touch := func(at time.Time, names string) {
		t.Helper()
		for name := range strings.FieldsSeq(names) {
			check(t, errors.Join(os.WriteFile(d.file(name), []byte("{}\n"), 0o600), os.Chtimes(d.file(name), at, at)))
		}
	}
	expect := func(names string) {
		t.Helper()
		left, _ := filepath.Glob(d.file("*"))
		for i := range left {
			left[i] = filepath.Base(left[i])
		}
		expectIs(t, "what is left", strings.Join(left, " "), names)
	}
	const others = "12-345-settings.json client-list.txt written.json"
	touch(time.Now().Add(-retention-time.Hour), others+" mine.json hook-invocation.log supervisor-b.json supervisor-a.json supervisor-a-output.jsonl supervisor-a-events.jsonl supervisor-a.json.bad .supervisor-a.json.ccc-tmp")
	touch(time.Now(), "supervisor-b-events.jsonl supervisor-c.json")
	check(t, d.sweep())
	touch(time.Now().Add(-retention-time.Hour), "supervisor-d.json")
	check(t, d.sweep()) // not a day later
	check(t, os.Remove(d.file("supervisor-d.json")))
	expect(strings.Replace(others, " written.json", " hook-invocation.log mine.json state.lock supervisor-b-events.jsonl supervisor-b.json supervisor-c.json written.json", 1))
	os.Truncate(d.logFile(), logLimit+1)
	yesterday := time.Now().Add(-sweepInterval - time.Minute)
	check(t, os.Chtimes(d.lockFile(), yesterday, yesterday))
	check(t, d.sweep())
	if info, err := os.Stat(d.logFile() + ".1"); err != nil || info.Size() != logLimit+1 {
		t.Errorf("the older log: %v", err)
	}
	if removed, kept, err := d.purge(); removed != 5 || kept != 4 || err != nil {
		t.Errorf("purged %d, kept %d, %v", removed, kept, err)
	}
	expect(strings.Replace(others, "written.json", "mine.json written.json", 1))
}

// At the end of a review, whatever became of it and who asked for it, what is old goes and the log is rotated, once a day.
func TestSweepAfterReview(t *testing.T) {
	t.Parallel()
	for name, review := range map[string]fakeReview{"stop": allows(""), "failed": fails("API Error: 529"), "by_hand": allows("")} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			if name == "by_hand" {
				box = newFakeBox(t)
				box.run(60*time.Second, "", "claude", "-p", "fix the bug")
			}
			d := stateDir(filepath.Join(box.home, ".claude/ccc"))
			age := func() {
				for _, path := range []string{"supervisor-old-events.jsonl", "supervisor-old-output.jsonl"} {
					box.write(".claude/ccc/"+path, 0o600, "{}\n")
					check(t, os.Chtimes(d.file(path), ago(retention+time.Hour), ago(retention+time.Hour)))
				}
				box.write(logPath, 0o600, "")
				check(t, os.Truncate(d.logFile(), logLimit+1))
			}
			run := func() {
				if name == "by_hand" {
					box.run(60*time.Second, "", "ccc", "review")
				} else {
					box.stop("")
				}
			}
			box.reviews(review, review)
			age()
			box.write(lockPath, 0o600, "")
			check(t, os.Chtimes(d.lockFile(), ago(sweepInterval+time.Hour), ago(sweepInterval+time.Hour)))
			run()
			if ids, err := d.sessions(); err != nil || slices.Contains(ids, "old") || len(ids) != 1 {
				t.Errorf("%v: the sessions are %q", err, ids)
			}
			if info, err := os.Stat(d.logFile() + ".1"); err != nil || info.Size() <= logLimit {
				t.Errorf("the older log: %v", err)
			}
			age()
			run()
			if ids, _ := d.sessions(); !slices.Contains(ids, "old") {
				t.Error("swept twice a day")
			}
		})
	}
}

// Whatever a value is, a record of the log stays on its line, and the value can be told from what is around it.
func TestStateLog(t *testing.T) {
	d := stateDir(t.TempDir())
	for value, want := range map[string]string{"plain-1/2": "plain-1/2", "": `""`, "a b": `"a b"`, "a\nb": `"a\nb"`, `a"b`: `"a\"b"`, "a\u2028b": `"a\u2028b"`, "a\x7fb": `"a\x7fb"`, "审查": "审查"} {
		os.Remove(d.logFile())
		check(t, d.log("event", "first", value, "second", 2))
		text, _ := os.ReadFile(d.logFile())
		if _, line, _ := strings.Cut(string(text), " "); line != "event first="+want+" second=2\n" {
			t.Errorf("%q is logged as %s", value, line)
		}
	}
}

// A line that a full disk or a crash left torn takes no other with it.
func TestStateTornLine(t *testing.T) {
	box := newHookBox(t)
	for _, name := range []string{eventsPath, outputPath, logPath} {
		box.write(name, 0o600, `{"time":"2026-01-02T03:04:05Z","event":"Stop","verdict":"blo`)
	}
	box.write(statePath, 0o600, stateText(testSession, 1, "")) // the second review of a request
	box.stop("")
	expectEnd(t, "ccc verdict", box.run(10*time.Second, "", "ccc", "verdict", testSession), 1, "block\n", "")
	for _, name := range []string{outputPath, logPath} {
		if lines := strings.Split(box.read(name), "\n"); !strings.HasSuffix(lines[0], "blo") || len(lines) < 3 {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

// A stop whose request can't be told is one of the same budget as those after it.
func TestIterationOfUnknown(t *testing.T) {
	for _, requests := range [][]string{{"", "a", "a"}, {"a", "", "a"}, {"", "", "a"}} {
		s, last := sessionState{}, 0
		for _, request := range requests {
			last = s.nextIteration(10, request)
		}
		if last != 3 || s.nextIteration(10, "b") != 1 {
			t.Errorf("%q: %d", requests, last)
		}
	}
	s := sessionState{Request: "old", Count: 0, Spent: 4} // the hook of the prompt has set Count back
	if a, b := s.nextIteration(10, ""), s.nextIteration(10, "new"); a != 1 || b != 2 {
		t.Errorf("%d, %d", a, b)
	}
}

// A review that was switched off while it ran is the last that is told of; one that had ended before is not.
func TestHistorySwitchedOff(t *testing.T) {
	begin, end := record{Kind: kindBegin, Review: "r"}, record{Kind: kindEnd, Review: "r"}
	begin.Event, end.Event, end.Verdict = eventStop, eventStop, verdictCancelled
	off := record{Kind: kindSwitch, Mode: modeWord(false)}
	for _, test := range []struct {
		records []record
		told    bool
	}{{[]record{begin, off, end}, true}, {[]record{begin, end, off}, false}} {
		var h history
		for _, r := range test.records {
			h.add(r)
		}
		expectIs(t, "is told of", h.last() != nil, test.told)
	}
}

// FuzzTimeline: whatever lines stand between them, also the halves of records, exactly the records count, in their order.
func FuzzTimeline(f *testing.F) {
	f.Add([]byte{0, 1, 4, 3, 2, 5, 1, 10}, "{")
	f.Add([]byte{0, 1, 0, 2, 1, 4}, `{"kind":1}`)
	f.Fuzz(func(t *testing.T, steps []byte, other string) {
		s := stateDir(t.TempDir()).session(testSession)
		var text []byte
		var requests []string
		var calls []int
		verdicts, present, clock := []verdict{}, 0, time.Now().Add(-time.Hour)
		line := func(r record) []byte {
			clock = clock.Add(time.Second)
			r.Time, r.Review, r.Deadline = clock, fmt.Sprint("r", len(verdicts)), time.Now().Add(time.Hour)
			return append(encodeJSON(r), '\n')
		}
		for n, step := range steps[:min(len(steps), 50)] {
			runs := len(verdicts) > 0 && verdicts[len(verdicts)-1] == verdictReviewing
			switch {
			case step%6 == 0 && !runs:
				r := record{Kind: kindPrompt, Prompt: fmt.Sprint("prompt ", n)}
				requests, present = append(requests, r.Prompt), len(verdicts)
				text = append(text, line(r)...)
			case step%6 == 1 && !runs:
				verdicts, calls = append(verdicts, verdictReviewing), append(calls, 0)
				text = append(text, line(record{Kind: kindBegin, Event: eventStop})...)
			case step%6 == 2 && runs:
				end := record{Kind: kindEnd, Event: eventStop, outcome: outcome{Verdict: []verdict{verdictAllow, verdictBlock, verdictFailed}[step/6%3]}}
				verdicts[len(verdicts)-1] = end.Verdict
				text = append(text, line(end)...)
			case step%6 == 3 && runs:
				calls[len(calls)-1]++
				text = append(text, line(record{Kind: kindCall, Tool: other})...)
			case step%6 == 4:
				half := line(record{Kind: kindEnd, Prompt: other, outcome: outcome{Verdict: verdictAllow}})
				text = append(append(text, half[:int(step)%(len(half)-2)]...), '\n')
			default:
				for part := range strings.SplitSeq(other, "\n") {
					if _, isRecord := parseRecord([]byte(part)); !isRecord {
						text = append(append(text, part...), '\n')
					}
				}
			}
		}
		check(t, os.WriteFile(s.timelineFile(), text, 0o600))
		h, err := s.readHistory()
		check(t, err)
		var gotRequests []string
		var gotVerdicts []verdict
		var gotCalls []int
		for _, r := range h.Requests {
			gotRequests = append(gotRequests, r.Prompt)
		}
		for _, r := range h.Rounds {
			gotVerdicts, gotCalls = append(gotVerdicts, r.Verdict), append(gotCalls, len(r.Tools))
		}
		expectEqual(t, "the requests", gotRequests, requests)
		expectEqual(t, "the verdicts", gotVerdicts, verdicts)
		expectEqual(t, "the calls", gotCalls, calls)
		last, want := verdict(""), verdict("")
		if found := h.last(); found != nil {
			last = found.Verdict
		}
		if len(verdicts) > present {
			want = verdicts[len(verdicts)-1]
		}
		if last != want {
			t.Errorf("the last is %q, want %q in\n%s", last, want, text)
		}
	})
}

// Which reviews speak of files: a verdict of a stop or by hand, not one of a question, and none that failed.
func TestStandingOfReview(t *testing.T) {
	files := map[string]string{"a": "1"}
	for name, c := range map[string]struct {
		r              record
		judges, judged bool
	}{
		"approval":     {record{Event: eventStop, outcome: outcome{Verdict: verdictAllow}}, true, true},
		"refusal":      {record{Event: eventReview, outcome: outcome{Verdict: verdictBlock}}, true, true},
		"of_question":  {record{Event: eventPreToolUse, outcome: outcome{Verdict: verdictAllow}}, false, false},
		"no_verdict":   {record{Event: eventStop, NoVerdict: true, outcome: outcome{Verdict: verdictBlock}}, false, false},
		"not_reviewed": {record{Event: eventStop, outcome: outcome{Verdict: noReview}}, false, false},
	} {
		c.r.Files = files
		h := &history{Rounds: []reviewRound{{record: c.r}}}
		expectIs(t, name, c.r.judges(), c.judges)
		expectIs(t, name+": the file", h.judged("a", "1"), c.judged)
		expectIs(t, name+": in another content", h.judged("a", "2"), false)
		expectIs(t, name+": another file", h.judged("b", "1"), false)
		expectIs(t, name+": one that is absent", h.judged("b", ""), false)
	}
	approval := record{Event: eventStop, outcome: outcome{Verdict: verdictAllow, Feedback: "fine"}}
	approval.Top, approval.Files = "/w", files
	changed := func(paths ...string) func(look) ([]string, error) {
		return func(look) ([]string, error) { return paths, nil }
	}
	expect := func(r record, changed func(look) ([]string, error), word verdict, part string) {
		t.Helper()
		got, why := r.standing(changed)
		if got != word || !strings.HasPrefix(why, part) {
			t.Errorf("got %s %q, want %s %q", got, why, word, part)
		}
	}
	expect(approval, nil, verdictAllow, "fine")
	expect(approval, changed(), verdictAllow, "fine")
	expect(approval, changed("a"), answerChanged, say(changedSince, "a"))
	expect(approval, func(look) ([]string, error) { return nil, errors.New("broken") }, answerUnbound, joined(say(notBound), "broken"))
	moved := approval
	moved.Moved = []string{"m"}
	expect(moved, changed(), verdictAllow, say(movedMeanwhile, "m")+"\nfine")
	outside := approval
	outside.Top, outside.Unbound = "", "why not"
	expect(outside, nil, verdictAllow, joined(say(notBound), "why not"))
	outside.Top = "/w"
	expect(outside, nil, answerUnbound, joined(say(notBound), "why not"))
}

// What a timeline adds up: all four kinds of tokens, the newest limit, the newest time and the newest request.
func TestTimelineSums(t *testing.T) {
	sum := tokens{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}
	sum.add(tokens{Input: 10, CacheRead: 20, CacheWrite: 30, Output: 40})
	expectIs(t, "the sum", sum, tokens{Input: 11, CacheRead: 22, CacheWrite: 33, Output: 44})
	h, now := &history{}, time.Now()
	h.add(record{Kind: kindBegin, Time: now, Review: "1", Limit: 3, Project: "/a"})
	h.add(record{Kind: kindEnd, Time: now.Add(-time.Hour), Review: "1", Limit: 5, Project: "/b"})
	if h.limit != 5 || h.project != "/b" || !h.updated.Equal(now) || len(h.Rounds) != 1 {
		t.Errorf("limit %d, project %s, updated %v, %d rounds", h.limit, h.project, h.updated, len(h.Rounds))
	}
	for want, all := range map[string][]string{"": nil, "one": {"one"}, "two": {"one", "two"}} {
		r := reviewRound{}
		r.Requests = all
		expectIs(t, "the newest request", r.newestRequest(), want)
	}
}

// The names under which a session's files were kept stay: an upgrade finds them.
func TestStateNames(t *testing.T) {
	s := sessionFiles{dir: stateDir("/s"), id: "a"}
	for got, want := range map[string]string{s.feedbackFile(): "/s/supervisor-a-feedback.txt", s.byHandFile(): "/s/supervisor-a-review.jsonl",
		kindWake: "wake", switchedByAgent: "agent"} {
		expectIs(t, "the name", got, want)
	}
}
