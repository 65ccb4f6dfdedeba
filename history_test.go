package main

// What the lines of a timeline make of a session, and how much they hold.

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toldHistory returns the history of a session with these lines, a second apart.
func toldHistory(t *testing.T, s sessionFiles, lines ...entry) *history {
	t.Helper()
	os.Remove(s.timelineFile())
	begin := ago(time.Hour)
	for i, e := range lines {
		lines[i] = e.at(begin.Add(time.Duration(i) * time.Second))
	}
	for _, e := range written(lines...) {
		runsOn(t, s, e)
		check(t, s.append(e))
	}
	h, err := s.readHistory()
	check(t, err)
	return h
}

// What the tests of the history begin and end reviews with.
var sentBack = outcome{Verdict: verdictBlock, Feedback: "do more"}

func endOf(id string, o outcome) entry { return ended(review{ID: id, outcome: o}) }

// The begin of a review tells its end what the agent had said and asked, and what the user; calls that were
// refused are none.
func TestHistory(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	begun := began(review{ID: "1", LastMessage: "all done", Question: "Which?", Request: "fix it"})
	call := func(kind, tool string) entry { return did(step{Review: "1", Kind: kind, Tool: tool}) }
	h := toldHistory(t, s, prompted("fix it"), begun.in("/p"),
		call(stepCall, "Read(a)"), call(stepRefused, "Read(a)"),
		call(stepCall, "Read(b)"), call(stepCall, "Read(c)"), call(stepRefused, "Read(none)"),
		call(stepCall, "Skill(x)"), call(stepError, "Skill(x)"),
		did(step{Kind: stepRun, Review: "1", Command: "make"}),
		did(step{Kind: stepRun, Review: "lost", Command: "make"}),
		endOf("1", sentBack))
	r := h.Reviews[0]
	expectIs(t, "the reviews", len(h.Reviews), 1)
	told := []string{h.project, r.LastMessage, r.Question, r.Request, string(r.Verdict)}
	expectEqual(t, "what is told", told, []string{"/p", "all done", "Which?", "fix it", "block"})
	expectIs(t, "the runs", len(r.did.Runs), 1)
	expectIs(t, "how long it took", r.Ended.Sub(r.Begun), 10*time.Second)
	expectIs(t, "its end is the last of the session", h.updated.Equal(r.Ended), true)
	expectEqual(t, "the calls", r.did.Tools, []string{"Read(b)", "Read(c)"})
	expectEqual(t, "what was refused", r.did.Refused, []string{"Read(a)", "Read(none)"})
	expectIs(t, "the present call", r.did.current, "")
	expectIs(t, "the request", toldHistory(t, s, prompted("a"), prompted("")).newestRequest(), "a")
}

// A review that ends after its begin was read, and before its lock was looked at, has its end.
func TestHistoryOfReviewThatEnds(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	check(t, errors.Join(s.append(began(review{ID: "1"})), syscall.Mkfifo(s.runningFile("1"), 0o600)))
	go func() {
		lock, _ := os.OpenFile(s.runningFile("1"), os.O_WRONLY, 0) // waits for who looks at it
		_ = s.append(endOf("1", sentBack))
		lock.Close()
	}()
	h, err := s.readHistory()
	check(t, err)
	expectIs(t, "the verdict", h.Reviews[0].Verdict, verdictBlock)
}

// A historyCase is a timeline, after a prompt "a", and what is wanted of it.
type historyCase struct {
	name  string
	lines []entry
	want  string
}

// Of what is past the last review counts, of a request the reviews since it; what the user withdrew is passed
// over. What is open is the last refusal since the newest prompt, unless work was approved since.
func TestLastReview(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	block, allow, failed := sentBack, outcome{Verdict: verdictAllow}, outcome{Verdict: verdictFailed}
	words := outcome{Verdict: verdictBlock, NoVerdict: true}
	begin1, begin2, off := began(review{ID: "1"}), began(review{ID: "2"}), switchedTo(modeOff)
	question := ended(review{ID: "q", Event: eventPreToolUse, outcome: block})
	observed := ended(review{ID: "o", Observed: true, outcome: block})
	byHand := func(o outcome) entry { return ended(review{ID: "h", Event: eventReview, outcome: o}) }
	for _, test := range []historyCase{
		{"the later", []entry{endOf("1", block), endOf("2", failed)}, "2"},
		{"before it was off", []entry{endOf("1", block), off}, ""},
		{"before it was on", []entry{endOf("1", block), switchedTo(modeOn)}, "1"},
		{"by hand", []entry{endOf("1", block), byHand(allow)}, "h"},
		{"by hand, without one", []entry{endOf("1", block), byHand(failed)}, "1"},
		{"by hand, in words", []entry{endOf("1", allow), byHand(words)}, "1"},
		{"ended last", []entry{begin1, begin2, endOf("2", block), endOf("1", allow)}, "1"},
	} {
		last := ""
		if r := toldHistory(t, s, append([]entry{prompted("a")}, test.lines...)...).last.result; r != nil {
			last = r.ID
		}
		expectIs(t, "the result: "+test.name, last, test.want)
	}
	for _, test := range []historyCase{
		{"approved since", []entry{endOf("1", block), endOf("2", allow)}, ""},
		{"by hand", []entry{byHand(block)}, ""},
		{"approved by hand since", []entry{endOf("1", block), byHand(allow)}, ""},
		{"that ended after a prompt", []entry{begin1, prompted("b"), endOf("1", block)}, "1"},
		{"a question", []entry{question}, "q"},
		{"observed, then a prompt", []entry{observed, prompted("b")}, "o"},
	} {
		h := toldHistory(t, s, append([]entry{prompted("a")}, test.lines...)...)
		expectIs(t, "the refusal: "+test.name, h.last.refusal.ID, test.want)
	}
}

// How many answers in a row held no verdict: a verdict, a failure and a prompt end the row, a review by hand
// does not.
func TestStateUnread(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	words := endOf("w", outcome{Verdict: verdictBlock, NoVerdict: true})
	again := endOf("w2", outcome{Verdict: verdictBlock, NoVerdict: true})
	verdict := func(v verdict) entry { return endOf("v", outcome{Verdict: v}) }
	byHand := ended(review{Event: eventReview, outcome: outcome{Verdict: verdictBlock, NoVerdict: true}})
	for want, rows := range map[int][][]entry{
		0: {nil, {words, verdict(verdictAllow)}, {words, prompted("a")}},
		1: {{words}, {words, verdict(verdictBlock), again}, {words, verdict(verdictFailed), again},
			{words, prompted("a"), again}},
		2: {{words, again}, {words, byHand, again}, {verdict(verdictBlock), words, again}},
	} {
		for i, lines := range rows {
			expectIs(t, i, toldHistory(t, s, lines...).last.withoutVerdict, want)
		}
	}
}

// A timeline grows with the work, not with its square: the last five of fifty rounds, each with a prompt of
// its own and never approved, add about what the first five did.
func TestTimelineGrows(t *testing.T) {
	h := testHook(t, eventStop)
	h.config.Supervisor.MaxIterations = 100
	h.dirs.env = setEnv(h.dirs.env, claudeVariable, "/none") // each review fails
	of, sizes := judgedWork{}, []int64{0}
	for range 50 {
		words := strings.Repeat("x", 1000)
		of.talk.requests = append(of.talk.requests, userRequest{words: words})
		h.append(entry{Prompt: &prompt{Text: words}})
		stderrOf(t, func() { h.conduct(t.Context(), newReview(eventStop), of) })
		info, err := os.Stat(h.session.timelineFile())
		check(t, err)
		sizes = append(sizes, info.Size())
	}
	if first, last := sizes[5], sizes[50]-sizes[45]; last > first+first/10 {
		t.Errorf("the first five rounds have %d bytes, the last five %d", first, last)
	}
}
