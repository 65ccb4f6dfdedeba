package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile is what may stand in any text that a report quotes.
const hostile = "`````\n</details><script>alert(1)</script>\n\n| a | b |\n|---|---|\n# head\n@octocat #123 [x](javascript:y) \x1b[31m <!--\n~~~\n```\n"

// reportRecords are a session's: a change of two rounds, then a joke, and a change that was not approved.
func reportRecords() []any {
	at := func(minute int) time.Time { return time.Date(2026, 11, 22, 10, minute, 0, 0, time.UTC) }
	one, zero := 1, 0
	place := look{tree: tree{Top: "/p", Repository: "/p/.git"}, Head: "c0ffee"}
	monthly, joke, more := []string{"Add --monthly"}, []string{"Add --monthly", "A joke of the boss?"}, []string{"Add --monthly", "A joke of the boss?", "Add --weekly"}
	return []any{
		record{Time: at(0), Kind: kindPrompt, Project: "/p", Prompt: "Add --monthly", look: place},
		record{Time: at(1), Kind: kindBegin, Event: eventStop, Review: "a", Requests: monthly},
		record{Time: at(1), Kind: kindCall, Review: "a", Tool: "Bash(/x/ccc try 'go test ./...')"},
		record{Time: at(1), Kind: kindRun, Review: "a", Command: "go test ./...", ExitCode: &one, Output: "--- FAIL: TestMonthly", outcome: outcome{DurationSeconds: 2}},
		record{Time: at(1), Kind: kindRun, Review: "a", Command: "go vet ./...", ExitCode: &one, Output: "vet: no", outcome: outcome{DurationSeconds: 1}},
		record{Time: at(1), Kind: kindRefused, Review: "a", Tool: "Bash(touch x)"},
		record{Time: at(2), Kind: kindEnd, Event: eventStop, Review: "a", Iteration: 1, Limit: 10, PromptSource: builtinSource, Model: "claude-opus-4", look: place,
			outcome: outcome{Verdict: verdictBlock, Feedback: "TestMonthly fails", DurationSeconds: 12, CostUSD: 0.31}},
		record{Time: at(3), Kind: kindBegin, Event: eventStop, Review: "b", Requests: monthly},
		record{Time: at(3), Kind: kindRun, Review: "b", Command: "go test ./...", ExitCode: &zero, Output: "ok", outcome: outcome{DurationSeconds: 2}},
		record{Time: at(4), Kind: kindEnd, Event: eventStop, Review: "b", Iteration: 2, Limit: 10, PromptSource: "/home/u/p/SUPERVISOR.md", Model: "claude-opus-4", look: place,
			outcome: outcome{Verdict: verdictAllow, Feedback: "The cache is not cleared: as you wished."}},
		record{Time: at(5), Kind: kindPrompt, Project: "/p", Prompt: "A joke of the boss?", look: place},
		record{Time: at(5), Kind: kindBegin, Event: eventStop, Review: "c", Requests: joke},
		record{Time: at(6), Kind: kindEnd, Event: eventStop, Review: "c", Iteration: 1, Limit: 10, look: place, outcome: outcome{Verdict: verdictAllow}},
		record{Time: at(7), Kind: kindPrompt, Project: "/p", Prompt: "Add --weekly", look: place},
		record{Time: at(7), Kind: kindBegin, Event: eventStop, Review: "d", Requests: more},
		record{Time: at(8), Kind: kindEnd, Event: eventStop, Review: "d", Iteration: 1, Limit: 10, look: place,
			outcome: outcome{Verdict: verdictBlock, Feedback: "It counts from Sunday."}},
	}
}

func TestReport(t *testing.T) {
	box := newShowBox(t, 80)
	box.timelineOf(testSession, reportRecords()...)
	for _, locale := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
		box.vars = append(box.vars, "LC_ALL="+locale)
		golden(t, "report-"+locale[:2], box.ccc("report", testSession))
	}
	// The timeline's order counts, whatever the clock says.
	h := history{}
	for i, r := range reportRecords() {
		r := r.(record)
		r.Time = r.Time.Add(-time.Duration(i) * time.Hour)
		h.add(r)
	}
	stories := h.stories(testSession)
	if len(stories) != 3 || len(stories[0].rounds) != 2 || len(stories[1].rounds) != 1 {
		t.Fatalf("%+v", stories)
	}
	expectEqual(t, "the requests of the last", stories[2].requests, []string{"Add --weekly"})
	expectIs(t, "the requests of the session", len(stories[0].told), 3)
	runs := stories[0].runs()
	if len(runs) != 2 || len(runs[0].runs) != 2 || runs[0].isOpen || !runs[1].isOpen {
		t.Errorf("%+v", runs)
	}
}

// Of a review by hand the page quotes all requests that it was given, also those that an approved
// stop, or another review by hand, was given before. A later stop's are those that were made since.
func TestReportRequests(t *testing.T) {
	h := history{}
	begun := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for i, c := range []struct{ event, requests string }{
		{eventStop, "one"}, {eventReview, "one two"}, {eventReview, "one two"}, {eventStop, "one two three"}, {eventStop, "one two three four"},
	} {
		id, at := fmt.Sprint(i), begun.Add(time.Duration(i)*time.Minute)
		h.add(record{Time: at, Kind: kindBegin, Event: c.event, Review: id, Requests: strings.Fields(c.requests)})
		h.add(record{Time: at, Kind: kindEnd, Event: c.event, Review: id, outcome: outcome{Verdict: verdictAllow}})
	}
	var quoted []string
	stories := h.stories(testSession)
	for _, one := range stories {
		quoted = append(quoted, strings.Join(one.requests, " "))
	}
	expectEqual(t, "the requests of each change", quoted, []string{"one", "one two", "one two", "three", "four"})
	// A question, a stop at the limit and a review that runs are no part of a change.
	for i, r := range []record{{Kind: kindEnd, Event: eventPreToolUse, Review: "q", outcome: outcome{Verdict: verdictAllow}}, {Kind: kindEnd, Event: eventStop, outcome: outcome{Verdict: verdictLimit}},
		{Kind: kindBegin, Event: eventStop, Review: "runs", outcome: outcome{Verdict: verdictReviewing}}} {
		other := history{}
		other.add(r)
		expectIs(t, fmt.Sprint("the changes of ", i), len(other.stories("x")), 0)
	}
	expectEqual(t, "what is left", without([]string{"a", "b", "a", "c", "a"}, []string{"a", "c", "d", "a"}), []string{"b", "a"})
	speakIn(t, english)
	expectIn(t, "the page", report{stories: stories[:2]}.markdown(), "not shown: 2 requests") // one is quoted twice
	expectIn(t, "the page", report{stories: stories[:3]}.markdown(), "not shown: 2 requests")
	expectNotIn(t, "the page", report{stories: stories}.markdown(), "not shown")
}

func hostileRecords() []any {
	records := reportRecords()
	for i := range records {
		r := records[i].(record)
		r.Prompt, r.Feedback = r.Prompt+hostile, r.Feedback+hostile
		if r.Command != "" {
			r.Command, r.Output = r.Command+hostile, hostile+r.Output
		}
		records[i] = r
	}
	return records
}

// Whatever stands in a prompt, a command, an output or feedback stays in its block of code.
func TestReportHostile(t *testing.T) {
	box := newShowBox(t, 80)
	box.timelineOf(testSession, hostileRecords()...)
	text := box.ccc("report", testSession)
	for _, line := range strings.Split(withoutFences(t, text), "\n") {
		expectNotIn(t, "what is outside of a block of code", line, "octocat", "script", "#123", "alert", "\x1b", "| a")
	}
	if strings.Count(text, "<details>") != strings.Count(withoutFences(t, text), "</details>") {
		t.Error("an output breaks out of its fold")
	}
	expectNotIn(t, "the report", text, "\x1b")
}

// The same with the renderer that GitHub's is made from, where .ci/run has fetched it: what is hostile stands in blocks of
// code alone.
func TestReportRendered(t *testing.T) {
	renderer := os.Getenv("CCC_TEST_GFM")
	if renderer == "" {
		t.Skip("CCC_TEST_GFM names no cmark-gfm")
	}
	box := newShowBox(t, 80)
	box.timelineOf(testSession, hostileRecords()...)
	cmd := exec.Command(renderer, "--unsafe", "-e", "table", "-e", "autolink", "-e", "tasklist", "-e", "strikethrough")
	text := box.ccc("report", testSession)
	cmd.Stdin = strings.NewReader(text)
	html, err := cmd.Output()
	check(t, err)
	rest := regexp.MustCompile(`(?s)<pre[^>]*><code[^>]*>.*?</code></pre>`).ReplaceAllString(string(html), "")
	if n := strings.Count(string(html), "octocat"); n < 5 {
		t.Errorf("%d hostile texts: %s", n, html)
	}
	folds := strings.Count(withoutFences(t, text), "<details>")
	if strings.Count(rest, "<details>") != folds || strings.Count(rest, "</details>") != folds {
		t.Errorf("not %d folds: %s", folds, html)
	}
	expectNotIn(t, "the report", rest, "octocat", "script", "#123", "<table", "<a ", "<!--")
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

func TestReportLength(t *testing.T) {
	box := newShowBox(t, 80)
	records := []any{record{Time: now(), Kind: kindPrompt, Project: "/p", Prompt: "x"}}
	var requests []string
	for n := range 300 {
		requests = append(requests, fmt.Sprint("request ", n, strings.Repeat(" 请求", 200)))
	}
	for n := range 20 {
		id := fmt.Sprint(n)
		records = append(records, record{Time: now(), Kind: kindBegin, Event: eventStop, Review: id, Requests: requests})
		for i := range 45 {
			records = append(records, record{Time: now(), Kind: kindRun, Review: id, Command: fmt.Sprint(i, strings.Repeat("true; ", 500)), Output: strings.Repeat("x\n", 300)})
		}
		end := record{Time: now(), Kind: kindEnd, Event: eventStop, Review: id, Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictBlock, Feedback: strings.Repeat("反馈", 4000)}}
		records = append(records, end)
	}
	box.timelineOf(testSession, records...)
	text := box.ccc("report", testSession)
	if n := utf8.RuneCountInString(text); n > 60_000 {
		t.Errorf("%d characters", n)
	}
	// What fits is not cut, what is a character too long is.
	rest := utf8.RuneCountInString(report{}.markdown())
	for length, whole := range map[int]bool{60_000: true, 60_001: false, 70_000: false} {
		r := report{of: strings.Repeat("长", length-rest)}
		text := r.markdown()
		if n := utf8.RuneCountInString(text); n > 60_000 || (n == length) != whole || !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
			t.Errorf("of %d characters: %d", length, n)
		}
	}
	withoutFences(t, text)
	expectIn(t, "the report", text, "request 0 ", "request 299 ", "反馈")
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
		round reviewRound
		want  string
	}{
		{reviewRound{record: record{Event: eventStop, Review: "r", Iteration: 2, Limit: 10, outcome: outcome{Verdict: verdictAllow, DurationSeconds: 12.3, CostUSD: 0.31}}},
			"Review 2/10 approved · 12.3s · $0.31 · only the conversation and the changes were read"},
		{reviewRound{record: ended(verdictBlock), Tools: []string{"Read(a)"}}, "Review sent back · only files were read, nothing was run"},
		{reviewRound{record: ended(verdictBlock), Refused: []string{"Bash(a)"}}, "Review sent back · Claude Code refused all its calls"},
		{reviewRound{record: unread, Tools: []string{"Read(a)", "Bash(python3 t.py)"}},
			"Review sent back · nothing was run in a copy · the reviewer gave no verdict: what it said is the feedback"},
		// The last that failed and the last of the others, as they ran; what was printed where nothing failed.
		{reviewRound{record: record{Event: eventPreToolUse, outcome: outcome{Verdict: verdictBlock}},
			Runs: []record{run("a", 0, ""), run("b ||\n  c", 1, "no"), run("d", 0, ""), run("e", 0, "one\nt  wo\n")}},
			"Review of a question sent back · c → exit 1 · d → exit 0 · e → t  wo · 1 more run"},
		{reviewRound{record: ended(verdictBlock), Runs: []record{run("go run . --monthly 2026-01-31", 0, "2026-03-03\n")}}, "Review sent back · go run . --monthly 2026-01-31 → 2026-03-03"},
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
	expectIn(t, "the report", box.ccc("report"), "\n```\nchanged since: notes.txt\n```\n")
	box.write("../work/notes.txt", 0o600, "a note\n")
	box.gitIn(box.work, "git commit -q --allow-empty -m second")
	expect(0, "allow", same...)
	expectNotIn(t, "the report", box.ccc("report"), "changed since")
	box.write("../work/junk", 0o600, "")
	box.submit("push it")
	expect(0, "allow", append(same, "A newer request has not been judged yet.", "New since, and not tracked by git (no push holds them): junk")...)
	// On a terminal a refusal says what to do.
	box.write("../work/notes.txt", 0o600, "other\n")
	expectIn(t, "on a terminal", onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 200), "\r\nWhat to do: ccc review judges what is here now; git push --no-verify skips this check\r\n")
	// A file that changes while the reviewer looks has changed since.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	box.stop("")
	expect(3, "changed", "Review 1/8 approved just now; changed since: notes.txt", "Approved, but not committed so: junk")
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
	lines := hookLines(t, "README.md")
	expectIs(t, "the lines of README-CN.md", hookLines(t, "README-CN.md"), lines)
	for name, before := range map[string]string{
		"a clone": "rm -rf .git/hooks", "a linked worktree": "git worktree add -q ../side; cd ../side",
		"core.hooksPath": `git config core.hooksPath "$PWD/../my hooks"`,
		"another hook":   `printf '#!/bin/sh\ncat >"$HOME/other"\n' >.git/hooks/pre-push`,
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
	if got := expect(4, "[SUPERVISOR] Review not reviewed · "); strings.Count(got.stdout, "529") != 1 || strings.Contains(got.stderr, "no review") {
		t.Errorf("the reason is not told once: %+v", got)
	}
	// It does not run beside another review of that session.
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	path := strings.Join(paths, " ")
	known, err := os.ReadFile(path)
	check(t, err)
	begun := record{Time: now(), Kind: kindBegin, Event: eventStop, Review: "r", Process: "1-2-of-another-namespace", Deadline: ago(-time.Minute)}
	check(t, appendFile(path, append(encodeJSON(begun), '\n')))
	expectIn(t, "stderr", expect(4, "").stderr, "reviewed right now", "ccc log -f ")
	check(t, os.WriteFile(path, known, 0o600))
	box.reviews(allows("well"))
	var parsed struct {
		Session string `json:"session_id"`
		reviewRound
	}
	if err := json.Unmarshal([]byte(expect(0, "", "--json").stdout), &parsed); err != nil || !validSession(parsed.Session) || parsed.Verdict != verdictAllow || parsed.Feedback != "well" {
		t.Errorf("%v: %+v", err, parsed)
	}
	expect(2, "", "ffff")
	if got := box.run(20*time.Second, "", "ccc", "verdict"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if parsed.Time.IsZero() || parsed.Project == "" {
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
	expectIn(t, "the answer", expect(2, "", "--provider", "a").stderr, "the reviewer's provider is b (")
	box.vars = append(box.vars, toolMark)
	expectIn(t, "the answer", expect(4, "").stderr, "for the user, not for the agent")
}

// The page says whether its reviewers ran commands in copies: what they only read is no evidence of a run.
func TestReportRan(t *testing.T) {
	for _, runs := range [][]record{nil, {{Kind: kindRun, Command: "go test", ExitCode: new(int)}}} {
		round := reviewRound{record: record{Event: eventStop, outcome: outcome{Verdict: verdictAllow}}, Runs: runs}
		page := report{stories: []changeStory{{rounds: []reviewRound{round}}}}.markdown()
		for text, want := range map[words]bool{reportRan: len(runs) > 0, reportRanNothing: len(runs) == 0} {
			if strings.Contains(page, say(text)) != want {
				t.Errorf("%d runs, %q:\n%s", len(runs), say(text), page)
			}
		}
	}
}

// A page that is too long shows the first and the last of the requests, runs and rounds, and tells that some are missing.
func TestReportParts(t *testing.T) {
	speakIn(t, english)
	one := changeStory{session: "0123456789"}
	for i := range 7 {
		one.requests = append(one.requests, fmt.Sprintf("request %d", i))
		r := reviewRound{record: record{Event: eventStop, Review: "r", Iteration: i + 1, Limit: 7, Model: "m`1", PromptSource: "/p/SUPERVISOR.md",
			outcome: outcome{Verdict: verdictBlock, Feedback: fmt.Sprintf("feedback %d", i)}}}
		code := i % 2
		r.Runs = []record{{Command: fmt.Sprintf("command %d", i), ExitCode: &code, Output: fmt.Sprintf("output %d\n", i)}}
		one.rounds = append(one.rounds, r)
	}
	one.rounds[6].Verdict = verdictAllow
	one.rounds[5].Verdict, one.rounds[5].Error = verdictFailed, "overloaded"
	shown := func(page, what string) (found string) {
		for i := range 7 {
			if strings.Contains(page, fmt.Sprintf("%s %d\n", what, i)) {
				found += fmt.Sprint(i)
			}
		}
		return found
	}
	for parts, want := range map[int]string{100: "0123456", 7: "0123456", 6: "012456", 5: "01256", 4: "0156", 2: "06", 1: "0"} {
		page := report{stories: []changeStory{one}}.page(reportCut{output: 100, request: 100, feedback: 100, parts: parts})
		expectIs(t, fmt.Sprint(parts, " requests"), shown(page, "request"), want)
		expectIs(t, fmt.Sprint(parts, " runs"), shown(page, "command"), want)
		expectIs(t, fmt.Sprint(parts, ": what is left out"), strings.Count(page, "(left out: too long)"), map[bool]int{true: 3}[len(want) < 7])
	}
	lengthy, pad := one, strings.Repeat("-", 110)
	lengthy.requests, lengthy.rounds = slices.Clone(one.requests), slices.Clone(one.rounds)
	for i := range lengthy.rounds {
		r := &lengthy.rounds[i]
		lengthy.requests[i] = strings.Replace(one.requests[i], "req", "req"+pad, 1)
		r.Feedback = strings.Replace(r.Feedback, "feed", "feed"+pad, 1)
		r.Error = strings.Replace(r.Error, "over", "over"+pad, 1)
	}
	page := report{stories: []changeStory{lengthy}, of: "OF", since: "SINCE"}.page(reportCut{output: 3, request: 6, feedback: 8, parts: 100})
	expectIn(t, "the page", page, "## Reviewed by ccc\n\n- OF\n- The reviewer was", "(model: `m'1`; instructions: `SUPERVISOR.md`)", "\n```\nSINCE\n```\n", "### A change (session `01234567`)",
		"```\nreq\n... (113 characters left out) ...\nt 0\n```", "- Review 1/7 sent back · 0001-01-01 00:00 UTC\n\n```\nfeed\n... (112 characters left out) ...\nck 0\n```",
		"- Review 6/7 not reviewed · 0001-01-01 00:00 UTC\n\n```\nover\n... (112 characters left out) ...\nded\n```"[:60], "- Review 7/7 approved · 0001-01-01 00:00 UTC\n",
		"**Left to the user**\n\n```\nfeed\n... (112 characters left out) ...\nck 6\n```", "```\n… t 1\n```", "- Review 2/7: exit 1 · 0.0s\n- **it failed, and no later review ran it again**\n")
	if strings.Count(page, "it failed") != 3 || strings.Count(page, "<details>") != 7 || strings.Contains(page, "feedback 5") {
		t.Errorf("the page:\n%s", page)
	}
	// Without outputs there is nothing to fold away; a command that printed nothing has none.
	page = report{stories: []changeStory{one}}.page(reportCut{request: 100, feedback: 100, parts: 100})
	expectNotIn(t, "the page", page, "<details>", "output 1", "SINCE", "not shown")
	one.rounds[1].Runs[0].Output = " \n"
	one.rounds[2].Runs[0].Command = "command 1" // a later run that went well
	page = report{stories: []changeStory{one}}.page(reportCut{output: 100, request: 100, feedback: 100, parts: 100})
	if strings.Count(page, "<details>") != 6 || strings.Count(page, "it failed") != 2 || !strings.Contains(page, "- Review 2/7: exit 1 · 0.0s\n- Review 3/7: exit 0 · 0.0s\n\n<details>") {
		t.Errorf("the page:\n%s", page)
	}
	// One run is what was run; one request that is not shown is counted.
	single := changeStory{session: "s", told: []string{"shown", "another"}, requests: []string{"shown"}, rounds: one.rounds[1:2]}
	page = report{stories: []changeStory{single}}.page(reportCut{output: 100, request: 100, feedback: 100, parts: 100})
	expectIn(t, "the page", page, "**What the reviewer ran**\n\n```sh\ncommand 1\n```", "(not shown: 1 request of session `s`, no part of this)")
	for length, cut := range map[int]bool{4100: false, 4101: true} {
		single.requests = []string{strings.Repeat("q", length)}
		if page := (report{stories: []changeStory{single}}).markdown(); strings.Contains(page, "left out") != cut {
			t.Errorf("a request of %d characters is cut: %v", length, !cut)
		}
	}
	// Whose instructions: by name alone. A review that was killed has told none.
	one.rounds = []reviewRound{{record: record{Event: eventStop, PromptSource: builtinSource}}, {record: record{Event: eventStop, Model: "of the killed"}}}
	expectIn(t, "the page", report{stories: []changeStory{one}}.page(reportCut{}), "it ran nothing in a copy (model: `not known`; instructions: `the built-in prompt`)")
}

// What a page is of: the newest change of this working tree, with what has changed since; or all of a session. What older versions
// took is refused with what it takes.
func TestReportOf(t *testing.T) {
	box := newShowBox(t, 80)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	review := func(session, top string, minute int) {
		place := look{tree: tree{top, box.work + "/.git"}, Head: box.gitIn(box.work, "git rev-parse HEAD")}
		box.timelineOf(session, record{Time: at.Add(time.Duration(minute) * time.Minute), Kind: kindEnd, Event: eventStop, Review: session, look: place,
			PromptSource: builtinSource, outcome: outcome{Verdict: verdictAllow, Feedback: "said by " + session}})
	}
	// A review of another repository is none.
	box.timelineOf("other", record{Time: at, Kind: kindEnd, Event: eventStop, Review: "other", Project: "/o", look: look{tree: tree{"/o", "/o/.git"}}, outcome: outcome{Verdict: verdictAllow}})
	expectEnd(t, "no review", box.run(10*time.Second, "", "ccc", "report"), 3, "", "there is no review of "+box.work+" yet\n     ccc review\n")
	review("one", box.work, 5)
	review("older", box.work, 2)
	review("side", "/side", 8)
	of := func(args, title, session string) string {
		t.Helper()
		page := box.ccc(append([]string{"report"}, strings.Fields(args)...)...)
		expectIn(t, args, page, "## Reviewed by ccc\n\n- "+title+"\n", "### A change (session `"+session+"`)", "said by "+session)
		expectIs(t, "report "+args+": the changes", strings.Count(page, "### A change"), 1)
		return page
	}
	expectNotIn(t, "the page", of("", "the newest change of this working tree", "one"), "changed since")
	box.write("../work/a", 0o600, "changed\n")
	expectIn(t, "the page", of("", "the newest change of this working tree", "one"), "```\nchanged since: a\n```\n")
	of("older", "all changes of session `older`", "older")
	expectEnd(t, "an unknown session", box.run(10*time.Second, "", "ccc", "report", "nobody"), 2, "", `no session "nobody"`)
	for _, args := range []string{"--commit HEAD", "--base=HEAD", "one --base HEAD"} {
		expectEnd(t, args, box.run(10*time.Second, "", append([]string{"ccc", "report"}, strings.Fields(args)...)...), 2, "", "any more: it is of the newest change here, or of SESSION")
	}
	// A timeline that can't be read is named, and hides no other.
	box.write(".claude/ccc/supervisor-broken-events.jsonl/x", 0o600, "")
	if got := box.run(10*time.Second, "", "ccc", "report"); got.code != 0 || !strings.Contains(got.stdout, " · 2026-01-02 03:05 UTC") || !strings.Contains(got.stderr, "supervisor-broken-events.jsonl") {
		t.Errorf("with a timeline that can't be read: %+v", got)
	}
	expectEnd(t, "a session that can't be read", box.run(10*time.Second, "", "ccc", "report", "broken"), 1, "", "supervisor-broken-events.jsonl")
}
