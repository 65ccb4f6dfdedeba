package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile is what may stand in any text that a report quotes.
const hostile = "`````\n</details><script>alert(1)</script>\n\n| a | b |\n|---|---|\n# head\n@octocat #123 " +
	"[x](javascript:y) \x1b[31m <!--\n~~~\n```\n"

// reportRecords are a session's: a change of two reviews, then a joke, and a change that was not approved.
func reportRecords() []record {
	at := func(minute int) time.Time { return time.Date(2026, 11, 22, 10, minute, 0, 0, time.UTC) }
	place := look{tree: tree{Top: "/p", Repository: "/p/.git"}, Head: "c0ffee"}
	prompt := func(minute int, text string) record {
		return record{Time: at(minute), Kind: kindPrompt, Project: "/p", Prompt: text, look: place}
	}
	begin := func(minute int, review string, requests ...string) record {
		return record{Time: at(minute), Kind: kindBegin, Event: eventStop, Review: review, Requests: requests}
	}
	run := func(review, command string, code int, output string, seconds float64) record {
		return record{Time: at(1), Kind: kindRun, Review: review, Command: command, ExitCode: &code, Output: output,
			outcome: outcome{DurationSeconds: seconds}}
	}
	end := func(minute int, review string, iteration int, o outcome, paths ...string) record {
		return record{Time: at(minute), Kind: kindEnd, Event: eventStop, Review: review, Iteration: iteration, Limit: 10,
			PromptSource: builtinSource, Model: "claude-opus-4", look: place, outcome: o, Change: paths}
	}
	ofFile := end(4, "b", 2, outcome{Verdict: verdictAllow, Feedback: "The cache is not cleared: as you wished."},
		"A monthly.go", `M "caf\303\251.go"`)
	ofFile.PromptSource = "/home/u/p/SUPERVISOR.md"
	return []record{
		prompt(0, "Add --monthly"),
		begin(1, "a", "Add --monthly"),
		{Time: at(1), Kind: kindCall, Review: "a", Tool: "Bash(/x/ccc try 'go test ./...')"},
		run("a", "go test ./...", 1, "--- FAIL: TestMonthly", 2),
		run("a", "go vet ./...", 1, "", 1),
		{Time: at(1), Kind: kindRefused, Review: "a", Tool: "Bash(touch x)"},
		end(2, "a", 1, outcome{Verdict: verdictBlock, Feedback: "TestMonthly fails", DurationSeconds: 12, CostUSD: 0.31},
			"A monthly.go"),
		begin(3, "b", "Add --monthly"),
		run("b", "go test ./...", 0, "ok", 2),
		ofFile,
		prompt(5, "A joke of the boss?"),
		begin(5, "c", "Add --monthly", "A joke of the boss?"),
		end(6, "c", 1, outcome{Verdict: verdictAllow}),
		prompt(7, "Add --weekly"),
		begin(7, "d", "Add --monthly", "A joke of the boss?", "Add --weekly"),
		end(8, "d", 1, outcome{Verdict: verdictBlock, Feedback: "It counts from Sunday."}, "A weekly.go"),
	}
}

// anyOf returns the records as a timeline takes them.
func anyOf(records []record) (all []any) {
	for _, r := range records {
		all = append(all, r.entry())
	}
	return all
}

func TestReport(t *testing.T) {
	box := newShowBox(t, 80)
	box.timelineOf(testSession, anyOf(reportRecords())...)
	for _, locale := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
		box.vars = append(box.vars, "LC_ALL="+locale)
		golden(t, "report-"+locale[:2], box.ccc("report", testSession))
	}
}

// A change ends with its approval. What finds no file changed since belongs to it, as "push it" does.
func TestReportChanges(t *testing.T) {
	// Each review: event, verdict, the requests that it knew, and behind "=" the paths that it was shown.
	for _, c := range []struct{ name, reviews, want string }{
		{"sent back, then approved", "Stop block a=x, Stop allow a=x+y", "a=x+y of 2"},
		{"the next request", "Stop allow a=x, Stop block a+b=y, Stop allow a+b=z", "a=x of 1, b=z of 2"},
		{"push it", "Stop allow a=x, Stop allow a+push", "a+push=x of 2"},
		{"push it, then the next request", "Stop allow a=x, Stop allow a+push, Stop allow a+push+b=y", "a+push=x of 2, b=y of 1"},
		{"the same words once more", "Stop allow go=x, Stop allow go+go=y", "go=x of 1, go=y of 1"},
		{"what was sent back is taken back", "Stop block a=x, Stop allow a", "a= of 2"},
		{"no review took place", "Stop block a=x, Stop failed a", "a=x of 2"},
		{"no review behind an approval", "Stop allow a=x, Stop failed a+b, Stop allow a+b=y", "a+b=x of 2, b=y of 1"},
		{"the limit", "Stop block a=x, Stop limit ", "a=x of 2"},
		{"the user's edits, by hand", "Stop allow a=x, review allow a=y", "a=x of 1, a=y of 1"},
		{"words that the user took back", "Stop allow a+b=x, Stop allow a+c=y", "a+b=x of 1, c=y of 1"},
		{"another working tree", "Stop block a=x, @Stop block a=y, Stop allow a=z", "a=z of 2, a=y of 1"},
		{"outside git", "-Stop allow a, -Stop allow a+b", "a= of 1, b= of 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reviews []sessionReview
			for _, text := range strings.Split(c.reviews, ", ") {
				text, paths, _ := strings.Cut(text, "=")
				words := strings.SplitN(text, " ", 3)
				r := record{Event: words[0], outcome: outcome{Verdict: verdict(words[1])}}
				r.Requests, r.Change = strings.FieldsFunc(words[2], isPlus), strings.FieldsFunc(paths, isPlus)
				r.tree = map[byte]tree{'-': {"/p", ""}, '@': {"/side", "/p/.git"}, 'S': {"/p", "/p/.git"}, 'r': {"/p", "/p/.git"}}[text[0]]
				r.Event = strings.TrimLeft(r.Event, "-@")
				reviews = append(reviews, sessionReview{review: r.review()})
			}
			var got []string
			for _, s := range changeStories(reviews) {
				got = append(got, fmt.Sprintf("%s=%s of %d", strings.Join(s.newRequests(), "+"), strings.Join(s.paths, "+"), len(s.reviews)))
			}
			expectIs(t, "the changes", strings.Join(got, ", "), c.want)
		})
	}
}

func isPlus(r rune) bool { return r == '+' }

// The title is the last verdict as it stands now, and a reviewer is spoken of only where one answered.
func TestReportTitle(t *testing.T) {
	box := newShowBox(t, 80)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	here := look{tree: tree{box.work, box.work + "/.git"}, Head: box.gitIn(box.work, "git rev-parse HEAD")}
	looks := map[string]look{"": here, "gone": {tree: tree{box.work + "/gone", box.work + "/.git"}}, "nogit": {tree: tree{Top: box.work}},
		"many": {tree: here.tree, Head: here.Head, TreeID: "1234"}}
	const why, back = "\n\n```\n", "```\nsaid by "
	for _, c := range []struct {
		name, reviews, do string
		want              string // the beginning of the page
		isAnswered        bool
	}{
		{"approved", "Stop allow", "", "approved" + why + "nothing has changed since\n", true},
		{"approved, then a file changes", "Stop allow", "echo b >a", "approved, but changed since" + why + "changed since: a\n", true},
		{"of many paths", "Stop allow many", "", "approved, but changed since" + why + "something has changed since (of over", true},
		{"its directory is gone", "Stop allow gone", "", "approved; whether anything has changed since can't be told" + why, true},
		{"outside git", "Stop allow nogit", "", "approved" + why + "there is no git repository, so the verdict alone", true},
		{"sent back", "Stop allow, Stop block", "", "sent back\n\n- ", true},
		{"no review took place", "Stop failed", "", "not reviewed" + why + "said by failed\n", false},
		{"none behind a refusal", "Stop block, Stop failed", "", "not reviewed" + why + "said by failed\n", true},
		{"none behind an approval that holds", "Stop allow, Stop failed", "", "approved" + why + "nothing has changed since\n", true},
		{"none behind an approval of other files", "Stop allow, Stop failed", "echo b >a", "not reviewed" + why, true},
		{"none by hand", "review failed", "", "not reviewed" + why + "said by failed\n", false},
		{"none by hand, behind an approval", "Stop allow, review failed", "echo b >a", "approved, but changed since" + why, true},
		{"the limit", "Stop block, Stop limit", "", "limit reached\n\n", true},
		{"cancelled", "Stop cancelled", "", "cancelled" + why + "said by cancelled\n", false},
		{"under way", "Stop reviewing", "", "reviewing\n\n- ", false},
		{"a question behind it", "Stop block, PreToolUse allow", "", "sent back\n\n- ", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var records []any
			for i, text := range strings.Split(c.reviews, ", ") {
				words := append(strings.Fields(text), "")
				v := verdict(words[1])
				r := record{Time: ago(time.Duration(10-i) * time.Minute), Kind: kindEnd, Event: words[0], Review: fmt.Sprint(i),
					PromptSource: builtinSource, look: looks[words[2]], outcome: outcome{Verdict: v, Feedback: "said by " + words[1]}}
				switch v {
				case verdictFailed, verdictCancelled:
					r.Error, r.Feedback = r.Feedback, ""
				case verdictLimit:
					r.Review, r.Feedback, r.PromptSource = "", "", ""
				case verdictReviewing:
					r.Kind, r.outcome, r.Process, r.Deadline = kindBegin, outcome{}, "1-2-of-another-namespace", time.Now().Add(time.Hour)
				}
				records = append(records, r.entry())
			}
			box.timelineOf(testSession, append(records, record{Time: now(), Kind: kindPrompt, Prompt: "next"}.entry())...)
			box.gitIn(box.work, "git checkout -q .; "+c.do)
			page := box.ccc("report", testSession)
			if !strings.HasPrefix(page, "## ccc review: "+c.want) || strings.Contains(page, "The reviewer was") != c.isAnswered {
				t.Errorf("want %s:\n%s", c.want, page)
			}
			expectIs(t, "the feedback", strings.Count(page, back+"block\n"), strings.Count(c.reviews, "block"))
			expectIn(t, "the page", page, "\n- This is a record, not a proof: ")
			if !strings.Contains(c.reviews, "gone") && !strings.Contains(c.reviews, "nogit") {
				expectIs(t, "the report of this working tree", strings.HasPrefix(box.ccc("report"), "## ccc review: "+c.want), true)
			}
		})
	}
}

// Who the reviewer was, and what it went by: what it only read is no evidence of a run.
func TestReportReviewer(t *testing.T) {
	speakIn(t, english)
	for _, c := range []struct {
		review review
		want   string
	}{
		{record{PromptSource: builtinSource, Model: "m`1", Kind: kindEnd}.withSteps(nil, []record{{Command: "go test"}}, nil),
			"it ran the commands below in throwaway copies (model: `m'1`; instructions: the built-in prompt)"},
		{record{PromptSource: "/home/u/SUPERVISOR.md"}.withSteps([]string{"Read(a)"}, nil, nil),
			"only files were read, nothing was run (model: not known; instructions: `SUPERVISOR.md`)"},
		{record{PromptSource: builtinSource}.review(),
			"only the conversation and the changes were read (model: not known; instructions: the built-in prompt)"},
	} {
		c.review.ID, c.review.Verdict = "r", verdictAllow
		story := &changeStory{reviews: []sessionReview{{review: c.review}, {review: c.review}}}
		page := report{stories: []*changeStory{story}}.markdown()
		expectIn(t, "the page", page, "had the conversation and the files; "+c.want+"\n")
	}
}

// Of a command its newest run counts: only that stands outside the fold.
func TestReportRuns(t *testing.T) {
	speakIn(t, english)
	code := func(n int) *int { return &n }
	review := func(iteration int, runs ...record) sessionReview {
		r := record{Event: eventStop, Review: "r", Iteration: iteration, Limit: 9, outcome: outcome{Verdict: verdictBlock}}
		return sessionReview{review: r.withSteps(nil, runs, nil)}
	}
	story := &changeStory{reviews: []sessionReview{
		review(1, record{Command: "test", ExitCode: code(1), Output: "FAIL\n"}, record{Command: "silent", ExitCode: code(0), Output: " \n"}),
		review(2, record{Command: "test", ExitCode: code(2)}, record{Command: "test", ExitCode: code(0), Output: "ok\n"}),
		review(3, record{Command: "long", ExitCode: code(124), Output: "...", outcome: outcome{Error: endedAtTimeout + "`1s`"}}),
	}}
	const fold = "<details><summary>the end of its output, earlier runs</summary>\n\n"
	expectIs(t, "the runs", strings.Join(report{}.runParts(story), "\n--\n"), "```sh\ntest\n```\n\n- Review 2/9 · exit 0 · 0.0s\n\n"+fold+
		"```\nok\n```\n\n- Review 2/9 · exit 2 · 0.0s\n\n- Review 1/9 · exit 1 · 0.0s\n\n```\nFAIL\n```\n\n</details>\n--\n"+
		"```sh\nsilent\n```\n\n- Review 1/9 · exit 0 · 0.0s\n--\n"+
		"```sh\nlong\n```\n\n- Review 3/9 · exit 124 · 0.0s · `ended at the timeout of '1s'`\n\n"+fold+"```\n...\n```\n\n</details>")
	expectIn(t, "the runs, cut", report{output: 3}.runParts(story)[0], "```\n… AIL\n```", "```\nok\n```")
}

// hostileRecords have hostile texts in all that a page quotes, each so many times.
func hostileRecords(times int) (all []any) {
	text := strings.Repeat(hostile, times)
	for _, r := range reportRecords() {
		r.Prompt, r.Feedback, r.Model = r.Prompt+text, r.Feedback+text, r.Model+text
		if r.Command != "" {
			r.Command, r.Output, r.Error = r.Command+text, text+r.Output, text
		}
		for i := range r.Requests {
			r.Requests[i] += text
		}
		for i := range r.Change {
			r.Change[i] = "M " + strconv.Quote("a/"+text)
		}
		all = append(all, r.entry())
	}
	return all
}

// Whatever stands in a prompt, a command, an output, feedback or a path stays in its block of code, also where it is cut.
func TestReportHostile(t *testing.T) {
	box := newShowBox(t, 80)
	for _, times := range []int{1, 100, 1000} {
		box.timelineOf(testSession, hostileRecords(times)...)
		text := box.ccc("report", testSession)
		if n := utf8.RuneCountInString(text); n > 60_000 || n < 2000 {
			t.Errorf("%d characters", n)
		}
		outside := regexp.MustCompile("`[^`\n]+`").ReplaceAllString(withoutFences(t, text), "")
		for _, line := range strings.Split(outside, "\n") {
			expectNotIn(t, "what is outside of code", line, "octocat", "script", "#123", "alert", "| a", "`")
		}
		expectIs(t, "the folds that end", strings.Count(outside, "</details>"), strings.Count(outside, "<details>"))
		expectNotIn(t, "the report", text, "\x1b")
	}
}

// The same with the renderer that GitHub's is made from, where .ci/run has fetched it: what is hostile stands in code alone.
func TestReportRendered(t *testing.T) {
	renderer := os.Getenv("CCC_TEST_GFM")
	if renderer == "" {
		t.Skip("CCC_TEST_GFM names no cmark-gfm")
	}
	box := newShowBox(t, 80)
	for _, times := range []int{1, 100, 1000} {
		box.timelineOf(testSession, hostileRecords(times)...)
		cmd := exec.Command(renderer, "--unsafe", "-e", "table", "-e", "autolink", "-e", "tasklist", "-e", "strikethrough")
		text := box.ccc("report", testSession)
		cmd.Stdin = strings.NewReader(text)
		html, err := cmd.Output()
		check(t, err)
		rest := regexp.MustCompile(`(?s)<code[^>]*>.*?</code>`).ReplaceAllString(string(html), "")
		if n := strings.Count(string(html), "octocat"); n < 5 {
			t.Errorf("%d hostile texts: %s", n, html)
		}
		folds := strings.Count(withoutFences(t, text), "<details>")
		if strings.Count(rest, "<details>") != folds || strings.Count(rest, "</details>") != folds || times == 1 && folds == 0 {
			t.Errorf("not %d folds: %s", folds, html)
		}
		expectNotIn(t, "the report", rest, "octocat", "script", "#123", "<table", "<a ", "<!--", "<h1")
	}
}

// withoutFences returns the Markdown without its blocks of code, as CommonMark delimits them.
func withoutFences(t *testing.T, text string) string {
	var outside []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && len(ticks) >= len(fence) && strings.TrimSpace(line) == ticks:
			fence = ""
		case fence == "":
			outside = append(outside, line)
		}
	}
	if fence != "" {
		t.Error("a block of code does not end")
	}
	return strings.Join(outside, "\n")
}

// A record has the first 200 paths of its change, and how many more there are.
func TestReportPaths(t *testing.T) {
	c := judgedChange{paths: slices.Repeat([]changedPath{{name: "a b", letter: "D"}}, 200)}
	expectIs(t, "the paths", strings.Join(c.listedPaths(), ""), strings.Repeat("D a b", 200))
	c.paths = append(c.paths, c.paths[:2]...)
	expectEqual(t, "the last", c.listedPaths()[199:], []string{"D a b", "... (+2)"})
}

// Outputs are cut first. Of what is too long even so, whole parts are left out, in the middle.
func TestReportLength(t *testing.T) {
	speakIn(t, english)
	story := func(reviews, runs, length int) report {
		s := &changeStory{paths: []string{"M last.go"}}
		for n := range reviews {
			r := record{Event: eventStop, Review: "r", Requests: []string{"the request"}, Iteration: n + 1, Limit: reviews,
				outcome: outcome{Verdict: verdictBlock, Feedback: fmt.Sprint("feedback ", n, strings.Repeat(" 反馈", length))}}
			round := r.review()
			for i := range runs {
				round.did.Runs = append(round.did.Runs, step{Command: fmt.Sprint("command ", i), Output: strings.Repeat("x\n", 900) + "end"})
			}
			s.reviews = append(s.reviews, sessionReview{review: round})
		}
		return report{stories: []*changeStory{s}}
	}
	for name, c := range map[string]struct {
		r              report
		output, middle bool // whether that is whole
	}{
		"all fits":                   {story(2, 10, 100), true, true},
		"without the outputs":        {story(10, 10, 1000), false, true},
		"too much feedback":          {story(30, 10, 2000), false, false},
		"a command too often":        {story(300, 1, 1), false, false},
		"one text beyond all bounds": {story(1, 1, 1e6), true, true},
	} {
		page := c.r.markdown()
		if n := utf8.RuneCountInString(page); n > 60_000 || !utf8.ValidString(page) || !strings.HasSuffix(page, "\n") {
			t.Errorf("%s: %d characters", name, n)
		}
		withoutFences(t, page)
		expectIn(t, name, page, "## ccc review", "the request", "feedback 0 ", "M last.go")
		expectIs(t, name+": whole outputs", strings.Contains(page, strings.Repeat("x\n", 900)+"end"), c.output)
		expectIs(t, name+": all parts", !strings.Contains(page, "\n\n(too long: some of it is left out here)\n\n"), c.middle)
	}
	// As much as can be stays, from both ends.
	var parts []string
	for _, letter := range strings.Split("abcde", "") {
		parts = append(parts, strings.Repeat(letter, 98)) // with an empty line 100
	}
	mark := lengthOf([]string{say(reportLeftOut)})
	for most, want := range map[int]string{500: "abcde", 499: "ab(de", mark + 400: "ab(de", mark + 399: "a(e", mark + 199: "("} {
		got := ""
		for _, part := range withoutMiddle(parts, most) {
			got += part[:1]
		}
		expectIs(t, fmt.Sprint("of ", most), got, want)
	}
}

func TestReceipt(t *testing.T) {
	speakIn(t, english)
	run := func(command string, code int, output string) record {
		return record{Command: command, ExitCode: &code, Output: output}
	}
	ended := func(v verdict) record { return record{Event: eventStop, Review: "r", outcome: outcome{Verdict: v}} }
	unread := ended(verdictBlock)
	unread.NoVerdict = true
	for _, c := range []struct {
		round review
		want  string
	}{
		{record{Event: eventStop, Review: "r", Iteration: 2, Limit: 10, outcome: outcome{Verdict: verdictAllow, DurationSeconds: 12.3, CostUSD: 0.31}}.review(),
			"Review 2/10 approved · 12.3s · $0.31 · only the conversation and the changes were read"},
		{ended(verdictBlock).withSteps([]string{"Read(a)"}, nil, nil), "Review sent back · only files were read, nothing was run"},
		{ended(verdictBlock).withSteps(nil, nil, []string{"Bash(a)"}), "Review sent back · Claude Code refused all its calls"},
		{unread.withSteps([]string{"Read(a)", "Bash(python3 t.py)"}, nil, nil),
			"Review sent back · nothing was run in a copy · the reviewer gave no verdict: what it said is the feedback"},
		// The last that failed and the last of the others, as they ran; what was printed where nothing failed.
		{record{Event: eventPreToolUse, outcome: outcome{Verdict: verdictBlock}}.withSteps(nil,
			[]record{run("a", 0, ""), run("b ||\n  c", 1, "no"), run("d", 0, ""), run("e", 0, "one\nt  wo\n")}, nil),
			"Review of a question sent back · c → exit 1 · d → exit 0 · e → t  wo · 1 more run"},
		{ended(verdictBlock).withSteps(nil, []record{run("go run . --monthly 2026-01-31", 0, "2026-03-03\n")}, nil), "Review sent back · go run . --monthly 2026-01-31 → 2026-03-03"},
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

// A session that is approved, and what ccc verdict says of it since.
func TestVerdictChanged(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	box.reviews(allows("well done"))
	expect := func(code int, word string, lines ...string) {
		t.Helper()
		got := box.run(20*time.Second, "", "ccc", "verdict", testSession)
		if text := strings.Join(lines, "\n"); got.code != code || strings.TrimSpace(got.stdout) != word || strings.TrimSpace(got.stderr) != text {
			t.Errorf("%+v, want %s, %d, %s", got, word, code, text)
		}
	}
	expect(2, "", "ccc: no session \""+testSession+"\"\n     name one, as ccc status lists them")
	box.submit("do it")
	expect(3, "none", "No session has been reviewed in this working tree: "+box.work)
	if got := box.stop(""); !strings.Contains(got.stdout, `"systemMessage":"[SUPERVISOR] Review 1/8 approved`) || strings.Contains(got.stdout, "decision") {
		t.Errorf("%+v", got)
	}
	const left = "The reviewer leaves this to you: well done"
	same, changed := []string{"Review 1/8 approved just now; nothing has changed since", left}, []string{"Review 1/8 approved just now; changed since: notes.txt", left}
	expect(0, "allow", same...)
	box.write("../work/notes.txt", 0o600, "other\n")
	expect(3, "changed", changed...)
	expectIn(t, "the report", box.ccc("report"), "## ccc review: approved, but changed since\n\n```\nchanged since: notes.txt\n```\n")
	box.write("../work/notes.txt", 0o600, "a note\n")
	box.gitIn(box.work, "git commit -q --allow-empty -m second")
	expect(0, "allow", same...)
	expectIn(t, "the report", box.ccc("report"), "## ccc review: approved\n\n```\nnothing has changed since\n```\n")
	box.write("../work/junk", 0o600, "")
	box.submit("push it")
	expect(0, "allow", append(same, "A newer request has not been judged yet.", "New since, and not tracked by git (no push holds them): junk")...)
	// On a terminal a refusal says what to do.
	box.write("../work/notes.txt", 0o600, "other\n")
	expectIn(t, "on a terminal", onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 200), "\r\nWhat to do: ccc review judges what is here now; git push --no-verify skips this check\r\n")
	// A file that changes while the reviewer looks has changed since.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	box.stop("")
	expect(3, "changed", "Review 1/8 approved just now; changed since: notes.txt", "Approved, but not committed in this state: junk")
	expectIn(t, "the report", box.ccc("report"), "```\npush it\n```", "**The paths of the change**\n\n```\nM notes.txt\nA junk\n```\n")
	// Where the project is named by a link it is the same working tree.
	check(t, os.Symlink(box.work, filepath.Join(box.home, "link")))
	for _, command := range []string{"ccc verdict", "ccc report"} {
		expectIn(t, command+" through a link", box.gitIn(box.home, "cd link; "+command+" 2>&1 || :"), "changed since: notes.txt")
	}
}

// hookLines returns the lines of a README that make the pre-push hook.
func hookLines(t *testing.T, page string) string {
	t.Helper()
	for _, block := range blocksOf(t, page) {
		if strings.Contains(block.text, "exec ccc verdict") {
			return block.text
		}
	}
	t.Fatalf("%s shows no pre-push hook", page)
	return ""
}

// README's line works wherever git looks for hooks, and behind a hook that is there already.
func TestPushHook(t *testing.T) {
	beside(t)
	lines := hookLines(t, "README.md")
	expectIs(t, "the lines of README-CN.md", hookLines(t, "README-CN.md"), lines)
	for name, before := range map[string]string{
		"a clone": "rm -rf .git/hooks", "a linked worktree": "git worktree add -q ../side; cd ../side",
		"core.hooksPath": `git config core.hooksPath "$PWD/../my hooks"`,
		"another hook":   `mkdir -p .git/hooks; printf '#!/bin/sh\ncat >"$HOME/other"\n' >.git/hooks/pre-push`,
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.vars = append(box.vars, "LANG=en_US.UTF-8")
			box.gitIn(box.home+"/../remote", "git init -q --bare")
			box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git remote add origin ../remote; git push -q origin main; "+before+"; "+lines)
			push := func(wanted ...string) {
				t.Helper()
				in := map[bool]string{true: "../side", false: "."}[name == "a linked worktree"]
				expectIn(t, "the push", box.gitIn(filepath.Join(box.work, in), "git push origin HEAD:main 2>&1 && echo PUSHED || echo REFUSED"), wanted...)
			}
			box.gitIn(box.work, "echo 0 >a; git add a; git commit -qm x; git -C ../side merge -q main 2>/dev/null || :")
			push("none\n", "REFUSED")
			if name == "another hook" {
				expectIn(t, "what the other hook got", box.read("other"), "refs/heads/main")
			}
			if name == "a linked worktree" {
				return
			}
			box.inSession()
			box.submit("do it")
			box.gitIn(box.work, "echo 1 >a; git add a; git commit -qm x")
			box.reviews(allows(""))
			box.stop("")
			push("allow\n", "PUSHED")
			box.gitIn(box.work, "echo 2 >a; git commit -qam y")
			push("changed\n", "a\n", "REFUSED")
		})
	}
}

// ccc review of a session that ran without ccc.
func TestByHand(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8", "COLUMNS=120")
	expect := func(code int, stdout string, argv ...string) commandResult {
		t.Helper()
		got := box.run(60*time.Second, "", append([]string{"ccc", "review"}, argv...)...)
		if got.code != code || !strings.Contains(got.stdout, stdout) {
			t.Errorf("%q: %+v, want %d and %s", argv, got, code, stdout)
		}
		return got
	}
	expectIn(t, "the answer", expect(2, "").stderr, "no session of Claude Code's of this project")
	if got := box.run(60*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	got := expect(0, "[SUPERVISOR] Review approved · ")
	expectIn(t, "stderr", got.stderr, "fix the bug", "I have compared the changes", "· git diff --stat\n", "To watch it elsewhere: ccc log -f ")
	if strings.Count(got.stdout, "approved") != 1 || strings.Contains(got.stderr, "The agent") {
		t.Errorf("no receipt, or a word of the agent: %+v", got)
	}
	for _, view := range []string{"log", "status"} {
		if text := box.ccc(view); strings.Count(text, "fix the bug") != 1 {
			t.Errorf("%s: %s", view, text)
		}
	}
	box.reviews(fakeReview{answers("It is not done.")})
	for range 3 { // each is feedback, and leaves the verdict before it as it is
		expect(1, withoutVerdict.en+"\nIt is not done.\n")
	}
	expectEnd(t, "the verdict before words", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "")
	box.reviews(blocks("not yet"))
	if got := expect(1, "[SUPERVISOR] Review sent back · "); !strings.HasSuffix(got.stdout, "\nnot yet\n") {
		t.Errorf("%+v", got)
	}
	expectIn(t, "the report", box.ccc("report"), "Review sent back", "```\nnot yet\n")
	box.reviews(fails("API Error: 529"))
	if got := expect(4, "[SUPERVISOR] No review · "); strings.Count(got.stdout, "529") != 1 || strings.Contains(got.stderr, "no review") {
		t.Errorf("the reason is not told once: %+v", got)
	}
	// It does not run beside another review of that session.
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	path := strings.Join(paths, " ")
	known, err := os.ReadFile(path)
	check(t, err)
	begun := record{Time: now(), Kind: kindBegin, Event: eventStop, Review: "r", Process: "1-2-of-another-namespace", Deadline: ago(-time.Minute)}
	check(t, appendFile(path, append(encodeJSON(begun.entry()), '\n')))
	expectIn(t, "stderr", expect(4, "").stderr, "reviewed right now", "ccc log -f ")
	check(t, os.WriteFile(path, known, 0o600))
	box.reviews(allows("well"))
	var parsed struct {
		Session string `json:"session_id"`
		Project string `json:"project"`
		review
	}
	if err := json.Unmarshal([]byte(expect(0, "", "--json").stdout), &parsed); err != nil || !validSession(parsed.Session) || parsed.Verdict != verdictAllow || parsed.Feedback != "well" {
		t.Errorf("%v: %+v", err, parsed)
	}
	expect(2, "", "ffff")
	if got := box.run(20*time.Second, "", "ccc", "verdict"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if parsed.Ended.IsZero() || parsed.Project == "" {
		t.Errorf("%+v", parsed)
	}
	expectIn(t, "the report", box.ccc("report"), "```\nfix the bug\n```")
	// It leaves a record, and no state, settings or hooks.
	for _, name := range box.files() {
		if strings.HasSuffix(name, "settings.json") || regexp.MustCompile(`supervisor-[^/]*[0-9a-f]\.json$`).MatchString(name) {
			t.Errorf("there is %s", name)
		}
	}
	// An approval of files that changed meanwhile is told from others by the exit code, in a repository.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	expect(0, "Review approved · ")
	box.repository()
	expectIn(t, "stderr", expect(3, "Review approved · ").stderr, "\napproved, but changed since: notes.txt\n")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"b"},"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":"https://a"}},"b":{"env":{"ANTHROPIC_BASE_URL":"https://b"}}}}`)
	box.reviews(fails("Not logged in · Please run /login"))
	expectIn(t, "stderr", expect(4, "", "--provider", "a").stderr, otherProvider.en)
	expectIn(t, "the reviewer's environment", box.environment(fmt.Sprint("reviewer-", box.reviewed())), "\nANTHROPIC_BASE_URL=https://a\n")
	box.vars = append(box.vars, toolMark)
	expectIn(t, "the answer", expect(4, "").stderr, "for the user, not for the agent")
}

// What a page is of: the newest change of this working tree; or all of a session. What older versions took is refused with what
// it takes.
func TestReportOf(t *testing.T) {
	box := newShowBox(t, 80)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	review := func(session, top string, minutes ...int) {
		var records []any
		for _, minute := range minutes {
			records = append(records, record{Time: at.Add(time.Duration(minute) * time.Minute), Kind: kindEnd, Event: eventStop,
				Review: fmt.Sprint(session, minute), look: look{tree: tree{top, box.work + "/.git"}, Head: box.gitIn(box.work, "git rev-parse HEAD")},
				Change: []string{"M a"}, outcome: outcome{Verdict: verdictAllow, Feedback: fmt.Sprintf("said by %s at %d.", session, minute)}}.entry())
		}
		box.timelineOf(session, records...)
	}
	box.timelineOf("other", record{Time: at, Kind: kindEnd, Event: eventStop, Review: "other", Project: "/o", look: look{tree: tree{"/o", "/o/.git"}},
		outcome: outcome{Verdict: verdictAllow}}.entry())
	expectEnd(t, "a review of another repository", box.run(10*time.Second, "", "ccc", "report"), 3, "", "there is no review of "+box.work+" yet\n     ccc review\n")
	box.timelineOf("unreviewed", record{Time: at, Kind: kindPrompt, Prompt: "x"}.entry())
	expectEnd(t, "no review", box.run(10*time.Second, "", "ccc", "report", "unrev"), 3, "", "there is no review of unrev yet\n")
	review("one", box.work, 1, 5)
	review("older", box.work, 2, 3)
	review("side", "/side", 8)
	of := func(args, title, stderr string, said ...string) {
		t.Helper()
		got := box.run(10*time.Second, "", append([]string{"ccc", "report"}, strings.Fields(args)...)...)
		page := got.stdout
		expectIs(t, "stderr of report "+args, got.stderr, stderr)
		expectIn(t, "report "+args, page, "\n- "+title+"\n", " · 2026-01-02 03:0")
		expectEqual(t, "report "+args, regexp.MustCompile(`said by .*\.`).FindAllString(page, -1), said)
	}
	of("", "the newest change of this working tree (session `one`)", "A newer review of this project, of session side, was in another working tree: /side\n", "said by one at 5.")
	of("older", "all changes of session `older`", "", "said by older at 2.", "said by older at 3.")
	of("sid", "all changes of session `side`", "", "said by side at 8.")
	expectEnd(t, "an unknown session", box.run(10*time.Second, "", "ccc", "report", "nobody"), 2, "", `no session "nobody"`)
	for _, args := range []string{"--commit HEAD", "--base=HEAD", "one --base HEAD"} {
		expectEnd(t, args, box.run(10*time.Second, "", append([]string{"ccc", "report"}, strings.Fields(args)...)...), 2, "", "any more: it is of the newest change here, or of SESSION")
	}
	// A session that can't be read may have the newest change.
	box.write(".claude/ccc/supervisor-broken-events.jsonl/x", 0o600, "")
	expectEnd(t, "a session that can't be read", box.run(10*time.Second, "", "ccc", "report"), 2, "", "supervisor-broken-events.jsonl")
}

// A record is a line of a timeline as the tests write and read it, flat: its kind says which member of an entry has what is set.
type record struct {
	Time         time.Time
	Kind         string
	Project      string
	Review       string // the id of the review that it is of
	Prompt       string
	Mode         mode
	By           string
	Observed     bool
	Event        string
	Iteration    int
	Limit        int
	PromptSource string
	Closes       []string
	Change       []string
	look
	Process     string
	Deadline    time.Time
	LastMessage string
	Question    string
	Requests    []string
	outcome
	Way, NoCopy, Model  string
	NoVerdict, Withheld bool
	Tool, Words         string
	Command             string
	ExitCode            *int
	Output              string
	Begun               time.Time // of a review's end; by itself the time of its begin
}

// The kinds of records: of a review its begin, its end, and its steps.
const (
	kindPrompt  = "prompt"
	kindSwitch  = "switch"
	kindBegin   = "begin"
	kindEnd     = "end"
	kindCall    = stepCall
	kindRefused = stepRefused
	kindError   = stepError
	kindWords   = stepWords
	kindRun     = stepRun
)

// ofKind returns r with the kind that goes without saying: of the begin or the end of a review.
func ofKind(r record) record {
	if r.Kind == "" && r.Verdict == "" {
		r.Kind = kindBegin
	} else if r.Kind == "" {
		r.Kind = kindEnd
	}
	return r
}

// review returns the review that the record is the begin or the end of. Without an id it has one of its own.
func (r record) review() review {
	v := review{ID: r.Review, Event: r.Event, Iteration: r.Iteration, Limit: r.Limit, Begun: r.Begun, Process: r.Process,
		Deadline: r.Deadline, Requests: r.Requests, LastMessage: r.LastMessage, Question: r.Question, Closes: r.Closes, Change: r.Change,
		PromptSource: r.PromptSource, Observed: r.Observed, Model: r.Model, Way: r.Way, NoCopy: r.NoCopy, Seen: r.look, outcome: r.outcome}
	v.did.Tools, v.Seen.Top = []string{}, cmp.Or(v.Seen.Top, r.Project)
	v.NoVerdict, v.Withheld = r.NoVerdict || r.outcome.NoVerdict, r.Withheld || r.outcome.Withheld
	if v.Begun.IsZero() {
		v.Begun = r.Time
	}
	if v.ID == "" {
		v.ID = fmt.Sprintf("unnamed-%d", unnamed.Add(1))
	}
	if r.Kind != kindBegin {
		v.Ended = r.Time
		if v.Ended.IsZero() {
			v.Ended = now()
		}
	}
	return v
}

// withSteps returns the review that ended so, whose reviewer called, ran and was refused that.
func (r record) withSteps(tools []string, runs []record, refused []string) review {
	v := r.review()
	v.did = steps{Tools: append([]string{}, tools...), Refused: refused}
	for _, run := range runs {
		v.did.Runs = append(v.did.Runs, run.step())
	}
	return v
}

// step returns the step that the record is.
func (r record) step() step {
	return step{Review: r.Review, Kind: r.Kind, Tool: r.Tool, Words: r.Words, Command: r.Command, ExitCode: r.ExitCode, Output: r.Output,
		Error: r.Error, DurationSeconds: r.DurationSeconds}
}

// entry returns the record as a line of a timeline.
func (r record) entry() entry {
	r = ofKind(r)
	e := entry{Time: r.Time, Project: r.Project}
	switch r.Kind {
	case kindPrompt:
		e.Prompt = &prompt{Text: r.Prompt, Seen: r.look}
	case kindSwitch:
		e.Switch = &switched{Mode: r.Mode, By: r.By, Limit: r.Limit}
	case kindBegin, kindEnd:
		v := r.review()
		e.Review = &v
	default:
		did := r.step()
		e.Step = &did
	}
	return e
}
