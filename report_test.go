package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile is what may stand in any text that a report quotes.
const hostile = "`````\n</details><script>alert(1)</script>\n\n| a | b |\n|---|---|\n# head\n@octocat #123 [x](javascript:y) \x1b[31m <!--\n~~~\n```\n"

func reportRecords() []any {
	at := func(minute int) time.Time { return time.Date(2026, 11, 22, 10, minute, 0, 0, time.UTC) }
	one, zero := 1, 0
	return []any{
		record{Time: at(0), Kind: kindPrompt, Project: "/p", Prompt: "Add --monthly"},
		record{Time: at(1), Event: eventStop, Review: "a"},
		record{Time: at(1), Kind: kindCall, Review: "a", Tool: "Bash(/x/ccc try 'go test ./...')"},
		record{Time: at(1), Kind: kindRun, Review: "a", Command: "go test ./...", ExitCode: &one, Output: "--- FAIL: TestMonthly", outcome: outcome{DurationSeconds: 2}},
		record{Time: at(1), Kind: kindRefused, Tool: "Bash(touch x)"},
		record{Time: at(2), Event: eventStop, Review: "a", Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictBlock, Feedback: "TestMonthly fails", DurationSeconds: 12, CostUSD: 0.31}},
		record{Time: at(3), Event: eventStop, Review: "b"},
		record{Time: at(3), Kind: kindRun, Review: "b", Command: "go test ./...", ExitCode: &zero, Output: "ok", outcome: outcome{DurationSeconds: 2}},
		record{Time: at(4), Event: eventStop, Review: "b", Iteration: 2, Limit: 10, worktree: worktree{Top: "/p", Repo: "/p/.git", Head: "c0ffee", Tree: "beef"},
			outcome: outcome{Verdict: verdictAllow, Feedback: "The cache is not cleared: as you wished."}},
	}
}

func TestReport(t *testing.T) {
	box := newShowBox(t, 80)
	box.timelineOf(testSession, reportRecords()...)
	for _, locale := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
		box.vars = append(box.vars, "LC_ALL="+locale)
		golden(t, "report-"+locale[:2], box.ccc("report", testSession))
	}
	var parsed evidence
	last := reportRecords()[8].(record)
	last.Time = last.Time.Add(-time.Hour) // the clock was set back: the timeline's order counts
	box.timelineOf(testSession, append(reportRecords()[:8], last)...)
	check(t, json.Unmarshal([]byte(box.ccc("report", testSession, "--json")), &parsed))
	expectIn(t, "a run that is silent now", parsed.run(record{Command: "go test ./..."}, 2000), "--- FAIL: TestMonthly")
	if len(parsed.Earlier) != 1 || parsed.Review.Tree != "beef" || parsed.Since != filesChanged || len(parsed.Review.Runs) != 1 || len(parsed.SentBack) != 1 {
		t.Errorf("%+v", parsed)
	}
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
	records := []any{}
	for n := range 300 {
		records = append(records, record{Time: now(), Kind: kindPrompt, Project: "/p", Prompt: fmt.Sprint("request ", n, strings.Repeat(" 请求", 200))})
		id := fmt.Sprint(max(n, 281)) // the first has most of the runs
		if n == 0 || n > 281 {
			records = append(records, record{Time: now(), Event: eventStop, Review: id})
		}
		for range 3 {
			records = append(records, record{Time: now(), Kind: kindRun, Review: id, Command: strings.Repeat("true; ", 500), Output: strings.Repeat("x\n", 300)})
		}
		if n > 280 {
			records = append(records, record{Time: now(), Event: eventStop, Review: id, Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictBlock, Feedback: strings.Repeat("反馈", 4000)}})
		}
	}
	records = append(records, record{Time: now(), Event: eventStop, Iteration: 1, Limit: 10, worktree: worktree{Tree: "beef"}, outcome: outcome{Verdict: verdictAllow}})
	box.timelineOf(testSession, records...)
	text := box.ccc("report", testSession)
	if n := utf8.RuneCountInString(text); n > reportLimit {
		t.Errorf("%d characters", n)
	}
	withoutFences(t, text)
	expectIn(t, "the report", text, "beef", "request 0 ", "request 299 ", "反馈")
}

func TestReportSecrets(t *testing.T) {
	box := newShowBox(t, 80)
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
	box.write(".claude/ccc.json", 0o600, `{"providers": {"kimi": {"env": {"KIMI_URL": "https://secret.example", "X": "${FROM_HERE}"}}}}`)
	box.vars = append(box.vars, "MY_PASSWORD=correct-horse", "SHORT_KEY=short", "FROM_HERE=from-the-environment")
	box.timelineOf(testSession,
		record{Time: now(), Kind: kindPrompt, Project: "/p", Prompt: "use correct-horse and short " + key},
		record{Time: now(), Event: eventStop, Review: "r", LastMessage: "correct-horse", Question: json.RawMessage(`{"q": "correct-horse"}`)},
		record{Time: now(), Kind: kindRun, Review: "r", Command: "curl https://secret.example", Output: "MIIE\n-----END PRIVATE KEY-----\nfrom-the-environment"},
		record{Time: now(), Kind: kindRefused, Review: "r", Tool: "Bash(correct-horse)"},
		record{Time: now(), Event: eventStop, Review: "r", Unbound: "correct-horse", outcome: outcome{Verdict: verdictBlock, Feedback: "correct-horse"}})
	for _, text := range []string{box.ccc("report", testSession), box.ccc("report", testSession, "--json")} {
		expectNotIn(t, "the report", text, "correct-horse", "MIIE", "secret.example", "from-the-environment")
		expectIn(t, "the report", text, "and short ***")
	}
}

func TestReceipt(t *testing.T) {
	lang = english
	t.Cleanup(func() { lang = chinese })
	run := func(command string, code int) record { return record{Command: command, ExitCode: &code} }
	for _, c := range []struct {
		round reviewRound
		want  string
	}{
		{reviewRound{record: record{Event: eventStop, Review: "r", Iteration: 2, Limit: 10, outcome: outcome{Verdict: verdictAllow, DurationSeconds: 12.3, CostUSD: 0.31}}},
			"Review 2/10 approved · 12.3s · $0.31 · nothing was looked at or run"},
		{reviewRound{record: record{Event: eventStop, Review: "r", Changed: true, outcome: outcome{Verdict: verdictBlock}}, Tools: []string{"Read(a)"}}, "Review sent back · only files were read, nothing was run"},
		{reviewRound{record: record{Event: eventStop, Review: "r", NoVerdict: true, outcome: outcome{Verdict: verdictBlock}}, Tools: []string{"Read(a)", "Bash(python3 t.py)"}},
			"Review sent back · nothing was run in a copy · The reviewer gave no verdict: what it said is the feedback"},
		{reviewRound{record: record{Event: eventPreToolUse, outcome: outcome{Verdict: verdictBlock}}, Runs: []record{run("a", 0), run("b\nc", 1), run("d", 0), run("e", 0)}},
			"Review of a question sent back · b ⏎ c → exit 1 · e → exit 0 · d → exit 0 · 1 more run"},
	} {
		expectIs(t, "the receipt", c.round.receipt(), c.want)
	}
}

// A session that is approved on one state of its files, and what ccc verdict says of it since.
func TestVerdictBound(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first; git worktree add -q ../other")
	box.reviews(allows("well done"))
	verdictIs := func(code int, want string) {
		t.Helper()
		got := box.run(20*time.Second, "", "ccc", "verdict", testSession)
		if word, why, _ := strings.Cut(want, ": "); got.code != code || strings.TrimSpace(got.stdout) != word || !strings.Contains(got.stderr, why) {
			t.Errorf("%+v, want %s, %d", got, want, code)
		}
	}
	verdictIs(2, "")
	box.submit("do it")
	verdictIs(3, "none")
	if got := box.stop(""); !strings.Contains(got.stdout, `"systemMessage":"[SUPERVISOR] Review 1/8 approved`) || strings.Contains(got.stdout, "decision") {
		t.Errorf("%+v", got)
	}
	verdictIs(0, "allow")
	os.WriteFile(box.work+"/notes.txt", []byte("other\n"), 0o600)
	verdictIs(3, "changed: files have changed since")
	os.WriteFile(box.work+"/notes.txt", []byte("a note\n"), 0o600)
	verdictIs(0, "allow")

	// While the reviewer looks, the files change: the approval speaks of no state.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	expectIn(t, "the answer", box.stop("").stdout, "files changed during the review")
	verdictIs(3, "changed: files changed during the review")

	// So does one that names no state, which is said. Programs get lists of it, not null.
	box.timelineOf("0ld", record{Time: now(), Event: eventStop, Project: box.work, outcome: outcome{Verdict: verdictAllow}})
	if text := box.ccc("report", "0ld", "--json"); strings.Contains(text, "null") {
		t.Error(text)
	}
	if got := box.run(20*time.Second, "", "ccc", "verdict", "0ld"); got.code != 0 || !strings.Contains(got.stderr, "not bound") {
		t.Errorf("%+v", got)
	}

	// Of a review whose begin was lost only the end is told.
	box.timelineOf("0ld", record{Time: now(), Kind: kindRun, Review: "torn", Command: "sleep 1"}, record{Time: now(), Event: eventStop, Project: box.work, Iteration: 2, Limit: 3, outcome: outcome{Verdict: verdictAllow}})
	expectIn(t, "the log", box.ccc("log", "0ld"), "Review 2/3 approved")
	if text := box.ccc("report", "0ld"); strings.Contains(text, "###") || strings.Contains(box.ccc("log", "0ld"), "sleep 1") {
		t.Errorf("a section of nothing: %s", text)
	}

	// Without git there is nothing to compare.
	os.Rename(box.work+"/.git", box.work+"/git")
	if box.stop(""); !strings.Contains(box.log(), "not bound") {
		t.Errorf("%s", box.log())
	}
	verdictIs(0, "allow")
}

// The gate of a push, as the README shows it, in a real one.
func TestPushGate(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	readme, err := os.ReadFile("README.md")
	line := regexp.MustCompile(`(?m)^ *(ccc verdict --pushed)$`).FindString(string(readme))
	if err != nil || line == "" {
		t.Fatal("README.md shows no hook for pre-push")
	}
	remote := filepath.Join(box.home, "remote")
	box.gitIn(remote, "git init -q --bare")
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git remote add origin "+remote)
	os.WriteFile(box.work+"/.git/hooks/pre-push", []byte("#!/bin/sh\n"+line+"\n"), 0o700)
	push := func(wanted bool, what string) string {
		t.Helper()
		out := box.gitIn(box.work, "git push "+what+" 2>&1 && echo PUSHED || :")
		if strings.Contains(out, "PUSHED") != wanted {
			t.Errorf("push %s: %s", what, out)
		}
		return out
	}
	if out := push(false, "origin main"); !strings.Contains(out, "none") {
		t.Error(out)
	}
	box.reviews(allows(""))
	box.submit("do it at once")
	box.stop("")
	if out := push(true, "origin main"); !strings.Contains(out, testSession) || !strings.Contains(out, "do it at once") {
		t.Error(out)
	}
	// A commit that git replace shows with the approved files is pushed with its own.
	box.gitIn(box.work, "git checkout -qb bad; echo bad >bad; git add bad; git commit -qm bad; git replace bad main; git checkout -qf main")
	push(false, "origin bad")
	box.gitIn(box.work, "git replace -d bad; git branch -qD bad")
	// Another branch with the same files, a tag, a deletion.
	push(true, "origin main:refs/heads/other")
	box.gitIn(box.work, "git tag -m x v1; git branch third")
	push(true, "origin v1")
	push(true, "origin :other")
	box.gitIn(box.work, "echo more >>notes.txt; git commit -qam second; git worktree add -q ../side")
	expectIn(t, "the refusal", push(false, "origin main third"), "notes.txt")
	// What was approved in one working tree may be pushed from another, and after it was committed.
	box.stop("")
	box.gitIn(box.work, "git -C ../side push origin HEAD:main")
	box.gitIn(box.work, "echo 3 >>notes.txt; git commit -qam third; git revert --no-edit HEAD")

	for _, c := range []struct {
		stdin string
		code  int
		argv  []string
	}{
		{"", 2, []string{"--commit", "nowhere"}},
		{"", 2, []string{"--commit", "--all"}},
		{"", 2, []string{"--commit", "^HEAD"}},
		{"", 2, []string{"--commit", "HEAD", testSession}},
		{"", 0, []string{"--commit", "HEAD"}},
		{"HEAD@{1 day ago} " + strings.Repeat("0", 40) + " refs/heads/x " + strings.Repeat("1", 40) + "\n", 0, []string{"--pushed"}},
		{"what is this\n", 2, []string{"--pushed"}},
	} {
		got := box.run(20*time.Second, c.stdin, append([]string{"ccc", "verdict"}, c.argv...)...)
		if got.code != c.code || got.code != 0 && got.stderr == "" {
			t.Errorf("%q: %+v", c.argv, got)
		}
	}
	// What can't be read hides nothing that was approved, and is told where nothing was.
	unreadable := filepath.Join(box.home, ".claude/ccc/supervisor-other-events.jsonl")
	os.Mkdir(unreadable, 0o700)
	for rev, code := range map[string]int{"HEAD": 0, "HEAD~1": 1} {
		if got := box.run(20*time.Second, "", "ccc", "verdict", "--commit", rev); got.code != code || code != 0 && !strings.Contains(got.stderr, unreadable) {
			t.Errorf("%s: %+v", rev, got)
		}
	}
	box.vars = append(box.vars, "PATH="+filepath.Dir(box.program()))
	expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict", "--commit", "HEAD"), 2, "", `"git": executable file not found`)
}

// Where nothing comes of what is pushed, the gate asks for HEAD: it neither says yes to nothing nor waits for ever.
func TestPushUntold(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first")
	box.reviews(allows(""))
	box.submit("do it")
	expect := func(code int, stdout string) {
		t.Helper()
		_, terminal := openTerminal(t, 80)
		silent, writer, err := os.Pipe() // open, and nothing comes
		check(t, err)
		defer writer.Close()
		for name, stdin := range map[string]*os.File{"a terminal": terminal, "a silent pipe": silent} {
			cmd := box.command("ccc", "verdict", "--pushed")
			cmd.Stdin = stdin
			if got := box.finish(cmd, 20*time.Second); got.code != code || !strings.HasPrefix(got.stdout, stdout) || !strings.Contains(got.stderr, "asking for HEAD") {
				t.Errorf("%s: %+v, want %d", name, got, code)
			}
		}
		for _, script := range []string{"ccc verdict --pushed </dev/null", "ccc verdict --pushed <&-", "cat >/dev/null; ccc verdict --pushed"} {
			got := box.run(20*time.Second, "refs/heads/main 1 refs/heads/main 2\n", "sh", "-c", script)
			if got.code != code || !strings.HasPrefix(got.stdout, stdout) || !strings.Contains(got.stderr, "asking for HEAD") {
				t.Errorf("%s: %+v, want %d", script, got, code)
			}
		}
	}
	expect(3, "none\n")
	box.stop("")
	expect(0, testSession)
	deletion := "(delete) " + strings.Repeat("0", 40) + " refs/heads/x " + strings.Repeat("1", 40) + "\n"
	box.gitIn(box.work, "echo new >new; git add new; git commit -qm new")
	expectEnd(t, "a deletion", box.run(20*time.Second, deletion, "ccc", "verdict", "--pushed"), 0, "", "")
}

// An approval of which only the end is on record counts as every other.
func TestApprovalWithoutBegin(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	tree := strings.TrimSpace(box.gitIn(box.work, "git rev-parse HEAD^{tree}"))
	for _, review := range []string{"", "gone"} {
		box.timelineOf(testSession, record{Time: now(), Kind: kindPrompt, Project: box.work, Prompt: "do it"},
			record{Time: now(), Event: eventStop, Review: review, worktree: worktree{Top: box.work, Repo: box.work + "/.git", Tree: tree}, outcome: outcome{Verdict: verdictAllow}})
		expectIn(t, "ccc verdict", box.ccc("verdict", "--commit", "HEAD"), testSession, "do it")
		expectIn(t, "ccc report", box.ccc("report", "--commit", "HEAD"), tree)
		zero := strings.Repeat("0", 40)
		got := box.run(20*time.Second, "refs/heads/main HEAD refs/heads/main "+zero+"\n", "ccc", "verdict", "--pushed")
		expectIn(t, "the push hook", got.stdout, testSession)
	}
}

// ccc review of a session that ran without ccc.
func TestByHand(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	expect := func(code int, stdout string, argv ...string) commandResult {
		t.Helper()
		got := box.run(60*time.Second, "", append([]string{"ccc", "review"}, argv...)...)
		if got.code != code || !strings.Contains(got.stdout, stdout) {
			t.Errorf("%q: %+v, want %d and %s", argv, got, code, stdout)
		}
		return got
	}
	expectIn(t, "the answer", expect(2, "").stderr, "no session of Claude Code's in this project")
	if got := box.run(60*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	got := expect(0, "approved\n")
	expectIn(t, "stderr", got.stderr, "fix the bug", "I have compared the changes", "· Bash(git diff --stat)", "-review.jsonl")
	if !strings.Contains(got.stdout, "Review approved · ") || strings.Contains(got.stderr, "The agent") {
		t.Errorf("no receipt, or a word of the agent: %+v", got)
	}
	for _, view := range []string{"log", "status"} {
		if text := box.ccc(view); strings.Count(text, "fix the bug") != 1 {
			t.Errorf("%s: %s", view, text)
		}
	}
	box.reviews(blocks("not yet"))
	expect(1, "sent back\nnot yet\n")
	if text := box.ccc("report"); !strings.Contains(text, "### The feedback\n\n```\nnot yet\n") || strings.Contains(text, "What was sent back") {
		t.Errorf("the agent heard nothing of it: %s", text)
	}
	box.reviews(fails("API Error: 529"))
	expect(4, "failed\n")
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
	expect(0, "approved\n")
	box.repository()
	expect(3, "approved\n")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"b"},"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":"https://a"}},"b":{"env":{"ANTHROPIC_BASE_URL":"https://b"}}}}`)
	expectIn(t, "the answer", expect(2, "", "--provider", "a").stderr, "it goes to provider b")
	box.vars = append(box.vars, toolMark)
	expectIn(t, "the answer", expect(4, "").stderr, "for the user, not for the agent")
}
