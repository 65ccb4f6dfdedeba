package main

// Records in words: steps, paths, prices and receipts.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A step of a reviewer as people read it: what it called, was refused and said, with paths from the project's
// top or HOME.
func TestStepInWords(t *testing.T) {
	speakIn(t, english)
	home, err := os.UserHomeDir()
	check(t, err)
	for _, c := range []struct{ kind, tool, words, want string }{
		{stepCall, "Read(/p/a.go)", "", "· reading a.go"},
		{stepCall, "Grep(needle)", "", "· searching for needle"},
		{stepCall, "LS(/p/d)", "", "· LS(/p/d)"},
		{stepCall, "Bash(git status)", "", "· git status"},
		{stepCall, "Read()", "", "· Read()"},
		{stepRefused, "Bash(rm x)", "", "· refused rm x"},
		{stepWords, "", "I look.", "I look."},
	} {
		expectIs(t, c.kind+" "+c.tool, step{Kind: c.kind, Tool: c.tool, Words: c.words}.inWords("/p"), c.want)
	}
	inHome := filepath.Join(home, "x")
	for _, c := range []struct{ top, path, want string }{
		{"/p", "/p/a/b", "a/b"}, {"/p", "/p", "/p"}, {"/p", "/pp/a", "/pp/a"}, {"/p", "/q/a", "/q/a"},
		{"", "/a", "/a"}, {"/p", "a", "a"}, {"", "", ""},
		{"/p", inHome, "~/x"}, {"", home, home}, {home, inHome, "x"},
	} {
		expectIs(t, c.top+" "+c.path, pathFrom(c.top, c.path), c.want)
	}
}

// What a review is called, what it cost, how a run ended, and a question on one line.
func TestRecordInWords(t *testing.T) {
	speakIn(t, english)
	code := 7
	stop := review{Event: eventStop, Iteration: 2, Limit: 10}
	stop.Way, stop.Verdict, stop.DurationSeconds, stop.CostUSD = "cache", verdictBlock, 61, 0.5
	stop.Tokens = &tokens{Input: 1000, CacheWrite: 234, CacheRead: 56789, Output: 12}
	question, byHand := stop, review{Event: eventReview}
	question.Event = eventPreToolUse
	byHand.Way, byHand.Verdict, byHand.Tokens = "own", verdictBlock, &tokens{}
	failed := outcome{Verdict: verdictFailed, DurationSeconds: 1}
	for _, c := range []struct{ what, got, want string }{
		{"a stop", stop.reviewTitle(), "Review 2/10"},
		{"a question", question.reviewTitle(), "Review of a question 2/10"},
		{"by hand", byHand.reviewTitle(), "Review"},
		{"the price", stop.reviewPrice(), "1m01s · $0.50"},
		{"what was spent", stop.reviewSpending(),
			"1m01s · $0.50 · tokens: 1,234 new, 56,789 cached, 12 out · prompt cache: the agent's"},
		{"the head without a number", byHand.receipt(), "Review: sent back"},
		{"the head of none", review{outcome: failed}.receipt(), "Review: not reviewed · 1.0s"},
		{"the head", stop.receipt(), "Review 2/10: sent back · 1m01s · $0.50"},
		{"a run", step{ExitCode: &code, DurationSeconds: 1.25}.runEnd(), "exit 7 · 1.2s"},
		{"a word of another version", review{outcome: outcome{Verdict: "odd"}}.verdictName(), "odd"},
	} {
		expectIs(t, c.what, c.got, c.want)
	}
	asked := questionText(json.RawMessage(`{"questions":[` +
		`{"question":"Which\none?","options":[{"label":"A"},{"label":"B\tb"}]},{"question":"Why?"}]}`))
	expectIs(t, "the questions", asked, "Which one?\n- A\n- B b\nWhy?")
}

// What a verdict rests on, which the receipt tells in one line and never claims more.
func TestReceipt(t *testing.T) {
	speakIn(t, english)
	type change = func(r *review)
	called := func(tools string) change {
		return func(r *review) { r.did.Tools = strings.Split(tools, "|") }
	}
	refused := func(tools ...string) change {
		return func(r *review) { r.did.Tools, r.did.Refused = tools, []string{"Bash(x)"} }
	}
	withoutCopy := func(why string, tools ...string) change {
		return func(r *review) { r.NoCopy, r.did.Tools = why, append([]string{}, tools...) }
	}
	ran := func(runs ...string) change { // each "exit code > command > output"
		return func(r *review) {
			for _, run := range runs {
				parts := strings.SplitN(run, ">", 3)
				code := int(parts[0][0] - '0')
				r.did.Runs = append(r.did.Runs, step{ExitCode: &code, Command: parts[1], Output: parts[2]})
			}
		}
	}
	const noCopy = ": no copy can be made here (ccc doctor)"
	const onlyRead, onlyTalk = "only files were read, nothing was run", "only the conversation was read"
	c60, o60 := strings.Repeat("c", 60), strings.Repeat("o", 60)
	nothing := func(*review) {}
	for _, c := range []struct {
		v      verdict
		change change
		want   string // after the name of the verdict
	}{
		{verdictAllow, nothing, onlyTalk},
		{verdictAllow, withoutCopy("no namespaces\nmend it"), "nothing was run" + noCopy},
		{verdictBlock, withoutCopy("no", "Read(a)"), "nothing was run" + noCopy},
		{verdictAllow, withoutCopy("no", "Bash(npm test)"), "nothing was run in a copy" + noCopy},
		{verdictFailed, withoutCopy("no"), ""},
		{verdictCancelled, called("Read(a)"), ""},
		{verdictLimit, nothing, ""},
		{verdictBlock, called("Read(a)"), onlyRead},
		{verdictAllow, refused("Read(a)"), onlyRead},
		{verdictAllow, called("Grep(Bash(x))"), onlyRead},
		{verdictAllow, called("ToolSearch|TodoWrite|Skill(x)|Reader(x)"), onlyTalk},
		{verdictAllow, refused("ToolSearch"), "Claude Code refused all its calls"},
		{verdictAllow, called("Read(a)|Bash(git status)"), "nothing was run in a copy"},
		{verdictBlock, func(r *review) { r.did.Tools, r.NoVerdict = []string{"Bash(x)"}, true },
			"nothing was run in a copy · the reviewer gave no verdict: what it said is the feedback"},
		// The last that failed and the last of the others, as they ran; what was printed where nothing
		// failed.
		{verdictAllow, ran("0>a>1", "2>b>", "0>c>2\n3\n", "0>d>x", "1>e>no"),
			"b → exit 2 · d → x · e → exit 1 · 2 more runs"},
		{verdictAllow, ran("1>a>", "2>b>", "3>c>", "4>d>", "0>e>fine"),
			"b → exit 2 · c → exit 3 · d → exit 4 · 2 more runs"},
		{verdictBlock, ran("0>a>", "1>b ||\n  c>no", "0>d>", "0>e>one\nt  wo\n"),
			"b || ⏎   c → exit 1 · d → exit 0 · e → t  wo · 1 more run"},
		{verdictAllow, ran("0>" + c60 + "c>" + o60 + "o"), c60[1:] + "… → " + o60[1:] + "…"},
		{verdictAllow, ran("0>npm test>10%\r 90%\r100%\r\n3 passed\r\n", "0>pull>10%\r100%"),
			"npm test → 3 passed · pull → 100%"},
	} {
		r := review{Event: eventStop, outcome: outcome{Verdict: c.v}, did: steps{Tools: []string{}}}
		c.change(&r)
		_, told, _ := strings.Cut(strings.TrimPrefix(r.receipt(), "Review: "+r.verdictName()), " · ")
		expectIs(t, r.receipt(), told, c.want)
	}
}
