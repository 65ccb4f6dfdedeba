package main

// Records in words: steps, paths, prices and receipts.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A step of a reviewer as people read it: what it called, was refused and said, with paths from the project's top or HOME.
func TestStepInWords(t *testing.T) {
	speakIn(t, english)
	home, err := os.UserHomeDir()
	check(t, err)
	for _, c := range []struct {
		kind, tool, words, want string
	}{
		{stepCall, "Read(/p/a.go)", "", "· reading a.go"},
		{stepCall, "Grep(needle)", "", "· searching for needle"},
		{stepCall, "Glob(/p/*.go)", "", "· searching for *.go"},
		{stepCall, "LS(/p/d)", "", "· LS(/p/d)"},
		{stepCall, "Bash(git status)", "", "· git status"},
		{stepCall, "Read()", "", "· Read()"},
		{stepCall, "Task", "", "· Task"},
		{stepRefused, "Bash(rm x)", "", "· refused rm x"},
		{stepRefused, "Read(/p/a)", "", "· refused reading a"},
		{stepWords, "", "I look.", "I look."},
		{"prompt", "", "", ""},
	} {
		expectIs(t, c.kind+" "+c.tool, step{Kind: c.kind, Tool: c.tool, Words: c.words}.inWords("/p"), c.want)
	}
	for _, c := range []struct{ top, path, want string }{
		{"/p", "/p/a/b", "a/b"}, {"/p", "/p", "/p"}, {"/p", "/pp/a", "/pp/a"}, {"/p", "/q/a", "/q/a"}, {"", "/a", "/a"}, {"/p", "a", "a"}, {"", "", ""},
		{"/p", filepath.Join(home, "x"), "~/x"}, {"", home, home}, {home, filepath.Join(home, "x"), "x"},
	} {
		expectIs(t, c.top+" "+c.path, pathFrom(c.top, c.path), c.want)
	}
}

// What a review is called, what it cost, how a run ended, and a question on one line.
func TestRecordInWords(t *testing.T) {
	speakIn(t, english)
	code := 7
	stop := review{Event: eventStop, Iteration: 2, Limit: 10, outcome: outcome{Verdict: verdictBlock, DurationSeconds: 61, CostUSD: 0.5,
		Tokens: &tokens{Input: 1000, CacheWrite: 234, CacheRead: 56789, Output: 12}}, reviewerFacts: reviewerFacts{Way: "cache"}}
	question, byHand := stop, stop
	question.Event, byHand.Event, byHand.Iteration = eventPreToolUse, eventReview, 0
	byHand.Way, byHand.Tokens, byHand.CostUSD, byHand.DurationSeconds = "own", &tokens{}, 0, 0
	for _, c := range []struct{ what, got, want string }{
		{"a stop", stop.reviewTitle(), "Review 2/10"},
		{"a question", question.reviewTitle(), "Review of a question 2/10"},
		{"by hand", byHand.reviewTitle(), "Review"},
		{"the price", stop.reviewPrice(), "1m01s · $0.50"},
		{"no price", byHand.reviewPrice(), ""},
		{"what was spent", stop.reviewSpending(), "1m01s · $0.50 · tokens: 1,234 new, 56,789 cached, 12 out · prompt cache: the agent's"},
		{"nothing", byHand.reviewSpending(), ""},
		{"the head without a number", byHand.receipt(), "Review: sent back"},
		{"the head of none", review{outcome: outcome{Verdict: verdictFailed, DurationSeconds: 1}}.receipt(), "Review: not reviewed · 1.0s"},
		{"the head of none, counted", review{Iteration: 1, Limit: 2, outcome: outcome{Verdict: verdictFailed}}.receipt(), "Review 1/2: not reviewed"},
		{"the head", stop.receipt(), "Review 2/10: sent back · 1m01s · $0.50"},
		{"a run", step{ExitCode: &code, DurationSeconds: 1.25}.runEnd(), "exit 7 · 1.2s"},
		{"a run without a code", step{}.runEnd(), "exit 0 · 0.0s"},
		{"a word of another version", review{outcome: outcome{Verdict: "odd"}}.verdictName(), "odd"},
		{"withheld", review{outcome: outcome{Withheld: true, NoVerdict: true}}.withoutVerdict(), say(unreadableVerdict)},
		{"no verdict", review{outcome: outcome{NoVerdict: true}}.withoutVerdict(), say(withoutVerdict)},
		{"a verdict", review{}.withoutVerdict(), ""},
	} {
		expectIs(t, c.what, c.got, c.want)
	}
	asked := questionText(json.RawMessage(`{"questions":[{"question":"Which\none?","options":[{"label":"A"},{"label":"B\tb"}]},{"question":"Why?"}]}`))
	expectIs(t, "the questions", asked, "Which one?\n- A\n- B b\nWhy?")
	expectIs(t, "questions in nothing", questionText(nil), "")
}

// What a verdict rests on.
func TestReceiptBasis(t *testing.T) {
	speakIn(t, english)
	of := func(v verdict, change func(r *review)) review {
		r := review{Event: eventStop, ID: "r", outcome: outcome{Verdict: v}, did: steps{Tools: []string{}}}
		change(&r)
		return r
	}
	run := func(command, output string, code int) step {
		return step{Command: command, Output: output, ExitCode: &code}
	}
	for _, c := range []struct {
		round review
		want  string
	}{
		{of(verdictAllow, func(r *review) {}), "Review: approved · only the conversation was read"},
		{of(verdictAllow, func(r *review) { r.NoCopy = "no namespaces\nmend it" }), "Review: approved · nothing was run: no copy can be made here (ccc doctor)"},
		{of(verdictBlock, func(r *review) { r.NoCopy, r.did.Tools, r.did.Refused = "no", []string{"Read(a)"}, []string{"x"} }), "Review: sent back · nothing was run: no copy can be made here (ccc doctor)"},
		{of(verdictAllow, func(r *review) { r.NoCopy, r.did.Tools = "no", []string{"Bash(npm test)"} }), "Review: approved · nothing was run in a copy: no copy can be made here (ccc doctor)"},
		{of(verdictFailed, func(r *review) { r.NoCopy = "no" }), "Review: not reviewed"},
		{of(verdictFailed, func(r *review) { r.did.Tools = []string{"Read(a)"} }), "Review: not reviewed"},
		{of(verdictCancelled, func(r *review) { r.did.Tools = []string{"Read(a)"} }), "Review: cancelled"},
		{of(verdictLimit, func(r *review) {}), "Review: limit reached"},
		{of(verdictAllow, func(r *review) { r.did.Refused = []string{"x"}; r.did.Tools = []string{"Read(a)"} }), "Review: approved · only files were read, nothing was run"},
		{of(verdictAllow, func(r *review) { r.did.Tools = []string{"Grep(Bash(x))"} }), "Review: approved · only files were read, nothing was run"},
		{of(verdictAllow, func(r *review) { r.did.Tools = []string{"ToolSearch", "TodoWrite", "Skill(x)", "Reader(x)"} }), "Review: approved · only the conversation was read"},
		{of(verdictAllow, func(r *review) { r.did.Tools, r.did.Refused = []string{"ToolSearch"}, []string{"x"} }), "Review: approved · Claude Code refused all its calls"},
		{of(verdictAllow, func(r *review) { r.did.Tools = []string{"Glob(*.go)"} }), "Review: approved · only files were read, nothing was run"},
		{of(verdictAllow, func(r *review) { r.did.Tools = []string{"Read(a)", "Bash(git status)"} }), "Review: approved · nothing was run in a copy"},
		{of(verdictAllow, func(r *review) {
			r.did.Runs = []step{run("a", "1", 0), run("b", "", 2), run("c", "2\n3\n", 0), run("d", "x", 0), run("e", "no", 1)}
		}), "Review: approved · b → exit 2 · d → x · e → exit 1 · 2 more runs"},
		{of(verdictAllow, func(r *review) {
			r.did.Runs = []step{run("a", "", 1), run("b", "", 2), run("c", "", 3), run("d", "", 4), run("e", "fine", 0)}
		}), "Review: approved · b → exit 2 · c → exit 3 · d → exit 4 · 2 more runs"},
		{of(verdictAllow, func(r *review) { r.did.Runs = []step{run("a", "1", 0), run("b", "2", 0), run("c", "3", 0)} }), "Review: approved · a → 1 · b → 2 · c → 3"},
		{of(verdictAllow, func(r *review) { r.did.Runs = []step{run(strings.Repeat("c", 60), strings.Repeat("o", 60), 0)} }), "Review: approved · " + strings.Repeat("c", 60) + " → " + strings.Repeat("o", 60)},
		{of(verdictAllow, func(r *review) { r.did.Runs = []step{run(strings.Repeat("c", 61), strings.Repeat("o", 61), 0)} }), "Review: approved · " + strings.Repeat("c", 59) + "… → " + strings.Repeat("o", 59) + "…"},
		{of(verdictAllow, func(r *review) { r.did.Runs = []step{run("cat <<A\nx <<B\nA\nmake <<C\nthis\nC\n", "fine", 0)} }), "Review: approved · make <<C → fine"},
		{of(verdictAllow, func(r *review) { r.did.Runs = []step{run("cat <<A\nx <<B\nA\nmake", "fine", 0)} }), "Review: approved · make → fine"},
		{of(verdictAllow, func(r *review) {
			r.did.Runs = []step{run("npm test", "10%\r 90%\r100%\r\n3 passed\r\n", 0), run("pull", "10%\r100%", 0)}
		}), "Review: approved · npm test → 3 passed · pull → 100%"},
	} {
		expectIs(t, "the receipt", c.round.receipt(), c.want)
	}
}

// A run in a copy is a look at the work, also where no call of a tool is on record.
func TestRunIsALook(t *testing.T) {
	r := review{Event: eventStop, outcome: outcome{Verdict: verdictAllow}, did: steps{Runs: []step{{Command: "make"}}}}
	expectIs(t, "the receipt", r.receipt(), "审查：通过 · make → 退出码 0")
}

func TestReceipt(t *testing.T) {
	speakIn(t, english)
	run := func(command string, code int, output string) step {
		return step{Command: command, ExitCode: &code, Output: output}
	}
	ended := func(v verdict, did steps) review {
		did.Tools = append([]string{}, did.Tools...) // all are known
		return review{Event: eventStop, outcome: outcome{Verdict: v}, did: did}
	}
	unread := ended(verdictBlock, steps{Tools: []string{"Read(a)", "Bash(python3 t.py)"}})
	unread.NoVerdict = true
	counted := ended(verdictAllow, steps{})
	counted.Iteration, counted.Limit, counted.DurationSeconds, counted.CostUSD = 2, 10, 12.3, 0.31
	asked := ended(verdictBlock, steps{Runs: []step{run("a", 0, ""), run("b ||\n  c", 1, "no"), run("d", 0, ""), run("e", 0, "one\nt  wo\n")}})
	asked.Event = eventPreToolUse
	for _, c := range []struct {
		round review
		want  string
	}{
		{counted, "Review 2/10: approved · 12.3s · $0.31 · only the conversation was read"},
		{ended(verdictBlock, steps{Tools: []string{"Read(a)"}}), "Review: sent back · only files were read, nothing was run"},
		{ended(verdictBlock, steps{Refused: []string{"Bash(a)"}}), "Review: sent back · Claude Code refused all its calls"},
		{unread, "Review: sent back · nothing was run in a copy · the reviewer gave no verdict: what it said is the feedback"},
		// The last that failed and the last of the others, as they ran; what was printed where nothing failed.
		{asked, "Review of a question: sent back · c → exit 1 · d → exit 0 · e → t  wo · 1 more run"},
		{ended(verdictBlock, steps{Runs: []step{run("go run . --monthly 2026-01-31", 0, "2026-03-03\n")}}), "Review: sent back · go run . --monthly 2026-01-31 → 2026-03-03"},
	} {
		expectIs(t, "the receipt", c.round.receipt(), c.want)
	}
	for script, want := range map[string]string{
		"dir=$(mktemp -d)\ncat > \"$dir/p.py\" <<\"EOF\"\nprint(1)\nEOF\npython3 \"$dir/p.py\"": "python3 \"$dir/p.py\"",
		"for i in 1 2; do\n  ./run $i\ndone":                                                    "./run $i",
		"if go test ./...; then\n  echo fine\nfi\n\n# the end":                                  "echo fine",
		"python3 - <<'X'\nimport json\nprint(json)\nX":                                          "python3 - <<'X'",
		"cd sub && {\n  make\n} 2>&1":                                                           "make",
		"cat <<-END | sort\n\tb\n\ta\n\tEND":                                                    "cat <<-END | sort",
		"":                                                                                      "",
		"done":                                                                                  "done",
	} {
		expectIs(t, script, mainLine(script), want)
	}
}
