package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// asked is what the event of a question holds, toolOutput the answer to it.
const asked = `"tool_name":"AskUserQuestion","tool_use_id":"toolu_1","tool_input":` + question

func toolOutput(decision, reason string) string {
	return fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q,"permissionDecisionReason":%q}}`+"\n", decision, reason)
}

func TestHook(t *testing.T) {
	reviewed := []string{logPath, lockPath, eventsPath, outputPath, statePath}
	unreviewed := []string{logPath, lockPath, eventsPath, statePath}
	prompted := []string{logPath, lockPath, eventsPath, promptPath, statePath}
	tests := []struct {
		name    string
		review  fakeReview // nil is "not yet"
		event   string     // its name
		members string     // added to the event
		stdin   string     // instead of an event
		state   string     // the state file before
		vars    string
		args    []string
		files   []string
		stdout  string
		stderr  []string
		silent  bool // stderr must be empty
		code    int
	}{
		{name: "stop_blocked", event: "Stop", files: reviewed, stdout: blockNotYet,
			stderr: []string{"[SUPERVISOR HOOK] 开始执行", testSession, "iteration 1/10", "[SUPERVISOR] 正在审查工作...",
				"请在新窗口查看日志文件了解详情", outputPath, "I have compared the changes", "[SUPERVISOR] 任务未完成",
				"not yet", "Agent 将根据反馈继续工作"}},
		{name: "stop_allowed", event: "Stop", review: allows(""), files: reviewed,
			stderr: []string{"[SUPERVISOR] 任务已完成", "允许停止"}},
		{name: "stop_is_the_default_event", stdin: `{"session_id":"` + testSession + `"}`, files: reviewed,
			stdout: blockNotYet},
		{name: "stop_unescaped", event: "Stop", review: blocks("a < b && c > d \"q\" 中文\nline"),
			files: reviewed, stdout: `{"decision":"block","reason":"a < b && c > d \"q\" 中文\nline"}` + "\n"},
		{name: "stop_counts", event: "Stop", members: `"stop_hook_active":true`,
			state: stateText(testSession, 9, ""),
			files: reviewed, stdout: blockNotYet, stderr: []string{"iteration 10/10"}},
		{name: "stop_at_limit", event: "Stop", state: stateText(testSession, 10, ""), files: unreviewed,
			stderr: []string{"10/10"}},
		{name: "stop_unknown_fields", event: "Stop",
			members: `"new":{"a":[1]},"background_tasks":{"odd":1},"last_assistant_message":[1]`,
			files:   reviewed, stdout: blockNotYet},
		{name: "stop_api_error", event: "Stop", review: fails("API Error: 529 SECRET"), files: reviewed,
			stderr: []string{"ccc: no review: ", "API Error: 529 SECRET"}},
		{name: "stop_no_result", event: "Stop", review: fakeReview{}, files: reviewed,
			stderr: []string{"ended without a result"}},
		{name: "stop_unanswered", event: "Stop", review: fakeReview{answers("Two tests fail.")}, files: reviewed,
			stdout: `{"decision":"block","reason":"Two tests fail."}` + "\n"},
		{name: "stop_blocked_without_words", event: "Stop", review: blocks(""), files: reviewed,
			stdout: `{"decision":"block","reason":"请继续完成任务"}` + "\n"},
		{name: "stop_verdict_then_bad_exit", event: "Stop",
			review: fakeReview{decides(false, "not yet"), runs("exit 3")}, files: reviewed, stdout: blockNotYet},
		{name: "stop_escape_sequences", event: "Stop", review: blocks("red \x1b[31m\u009b31m bell \a"),
			files:  reviewed,
			stdout: `{"decision":"block","reason":"red \u001b[31m` + "\u009b" + `31m bell \u0007"}` + "\n",
			stderr: []string{"red ␛[31m\uFFFD31m bell ␇"}},

		{name: "question_denied", event: "PreToolUse", members: asked, review: blocks("use SQLite"),
			files: reviewed, stdout: toolOutput("deny", "use SQLite")},
		{name: "question_allowed", event: "PreToolUse", members: asked, review: allows("fine"),
			files: reviewed, stdout: toolOutput("allow", "fine")},
		{name: "question_at_limit", event: "PreToolUse", members: asked, state: stateText(testSession, 10, ""),
			files: unreviewed, stdout: toolOutput("allow", "本请求的审查次数已用完（10 次）")},
		{name: "question_unanswered", event: "PreToolUse", members: asked, review: fakeReview{answers("I can't say.")},
			files: reviewed, stderr: []string{"no verdict: I can't say."}},
		{name: "question_failed", event: "PreToolUse", members: asked, review: fails("API Error: 401"),
			files: reviewed, stderr: []string{"ccc: no review: "}},
		{name: "other_tool", event: "PreToolUse", members: `"tool_name":"Bash","tool_input":{}`,
			files: []string{logPath}, silent: true},

		{name: "prompt_recorded", event: "UserPromptSubmit", members: `"prompt":"SECRET PROMPT"`,
			state: stateText(testSession, 10, ""), files: prompted, silent: true},
		{name: "prompt_of_claude_code", event: "UserPromptSubmit", members: `"prompt":"<task-notification>\nx"`,
			state: stateText(testSession, 10, ""), files: []string{logPath, statePath}, silent: true},
		{name: "subagent", event: "Stop", members: `"agent_id":"a1"`, files: []string{logPath}, silent: true},
		{name: "subagent_stop", event: "SubagentStop", files: []string{logPath}, silent: true},
		{name: "unknown_event", event: "SessionEnd", files: []string{logPath}, silent: true},

		{name: "unsupervised", event: "Stop", vars: "CLAUDE_PROJECT_DIR=.", silent: true},
		{name: "unsupervised_by_variable", event: "Stop", vars: "CCC_SUPERVISOR=0", silent: true},
		{name: "unsupervised_prompt", event: "UserPromptSubmit", members: `"prompt":"x"`,
			vars: "CLAUDE_PROJECT_DIR=.", silent: true},
		{name: "supervised_by_variable", event: "Stop", vars: "CLAUDE_PROJECT_DIR=. CCC_SUPERVISOR=1",
			files: reviewed, stdout: blockNotYet},
		{name: "switched_off", event: "Stop", vars: "CCC_SUPERVISOR=1",
			state: stateText(testSession, 0, `,"enabled":false`), files: []string{statePath}, silent: true},
		{name: "switched_on", event: "Stop", vars: "CLAUDE_PROJECT_DIR=. CCC_SUPERVISOR=0",
			state: stateText(testSession, 0, `,"enabled":true`), files: reviewed, stdout: blockNotYet},
		{name: "reviewers_own", vars: "CCC_SUPERVISOR_HOOK=1", stdin: "not read",
			stdout: `{"decision":"","":""}` + "\n", silent: true},
		{name: "state_dir", event: "Stop", args: []string{"--state-dir", "elsewhere"}, stdout: blockNotYet},

		{name: "stdin_empty", stdin: " ", stderr: []string{"stdin is empty"}},
		{name: "stdin_not_json", stdin: "hello",
			stderr: []string{"ccc: reading the hook event: invalid character 'h'"}},
		{name: "stdin_array", stdin: "[]", stderr: []string{"reading the hook event"}},
		{name: "stdin_truncated", stdin: `{"session_id":"a`, stderr: []string{"reading the hook event"}},
		{name: "session_missing", stdin: `{}`, stderr: []string{"no session_id"}},
		{name: "session_number", stdin: `{"session_id":5}`, stderr: []string{"session_id"}},
		{name: "session_path", stdin: `{"session_id":"../../x"}`, stderr: []string{"session_id"}},
		{name: "session_flag", stdin: `{"session_id":"-x"}`, stderr: []string{"session_id"}},
		{name: "session_path_inside", stdin: `{"session_id":"a/../../x"}`, stderr: []string{"session_id"}},
		{name: "session_blank", stdin: `{"session_id":"a b"}`, stderr: []string{"session_id"}},
		{name: "session_dot", stdin: `{"session_id":".a"}`, stderr: []string{"session_id"}},
		{name: "session_of_129", stdin: `{"session_id":"` + strings.Repeat("a", 129) + `"}`, stderr: []string{"session_id"}},
		{name: "session_of_128", stdin: `{"session_id":"` + strings.Repeat("a", 126) + `_.","hook_event_name":"SessionEnd"}`, files: []string{logPath}, silent: true},
		{name: "session_long", stdin: `{"session_id":"` + strings.Repeat("a", 10000) + `"}`,
			stderr: []string{"session_id"}},

		{name: "unknown_flag", args: []string{"--nonsense"}, stdin: "{}",
			stderr: []string{"nonsense", "usage:"}, code: 1},
		{name: "operand", args: []string{"x"}, stdin: "{}", stderr: []string{`"x"`, "usage:"}, code: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			box.vars = append(box.vars, strings.Fields(test.vars)...)
			if test.review != nil {
				box.reviews(test.review)
			}
			if test.state != "" {
				box.write(statePath, 0o600, test.state)
			}
			stdin := test.stdin
			if stdin == "" {
				stdin = box.event(test.event, test.members)
			}
			got := box.run(30*time.Second, stdin, append([]string{"ccc", "supervisor-hook"}, test.args...)...)
			if got.code != test.code || got.stdout != test.stdout {
				t.Errorf("got exit %d, stdout %q\nwant exit %d, stdout %q\nstderr %s", got.code, got.stdout, test.code, test.stdout, got.stderr)
			}
			for _, want := range test.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
				}
			}
			if test.silent && got.stderr != "" {
				t.Errorf("stderr %q, want none", got.stderr)
			}
			files := slices.DeleteFunc(box.files(), func(name string) bool { return name == ".claude/ccc/client-"+selfName()+".json" })
			if !slices.Equal(files, test.files) {
				t.Errorf("files %q, want %q", files, test.files)
			}
			if log := box.log(); strings.Contains(log, "SECRET PROMPT") {
				t.Errorf("the log holds a prompt: %s", log)
			}
		})
	}
}

func TestHookNotes(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	state := func() (s sessionState) {
		t.Helper()
		if err := json.Unmarshal([]byte(box.read(statePath)), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	box.submit("fix it")
	for range 2 {
		box.stop("")
	}
	if s := state(); s.SessionID != testSession || s.Count != 2 || s.CreatedAt.IsZero() || s.UpdatedAt.Before(s.CreatedAt) || s.CreatedAt.Location() != time.UTC {
		t.Errorf("state %+v", s)
	}
	records := box.timeline(testSession)
	if len(records) != 3 {
		t.Fatalf("timeline %+v", records)
	}
	if r := records[0]; r.Event != "UserPromptSubmit" || r.Prompt != "fix it" || r.Project != box.work {
		t.Errorf("prompt record %+v", r)
	}
	if r := records[2]; r.Event != "Stop" || r.Iteration != 2 || r.Limit != 10 || r.Verdict != verdictBlock || r.Feedback != "not yet" ||
		r.PromptSource != "built-in" || !validSession(r.ReviewerSession) || r.DurationSeconds <= 0 || r.CostUSD <= 0 || r.CostUSD >= 0.25 ||
		r.Tokens == nil || r.Tokens.CacheRead == 0 || !slices.Equal(r.Tools, []string{"Bash(git diff --stat)"}) {
		t.Errorf("review record %+v %+v", r, r.Tokens)
	}
	request := box.read("../fake/reviewer-2/stdin")
	for _, want := range []string{"[1] fix it", "事件：Stop", "上次反馈\nnot yet", "第 2 轮，最多 10 轮"} {
		if !strings.Contains(request, want) {
			t.Errorf("the request lacks %q:\n%s", want, request)
		}
	}
	log := box.log()
	if strings.Count(log, " iteration=2/10 prompt_source=built-in\n") != 1 {
		t.Errorf("the log does not tell the source of the prompt:\n%s", log)
	}
	line := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [a-z -]+( [a-z_]+=("([^"\\]|\\.)*"|[^ "]+))+$`)
	for text := range strings.Lines(log) {
		if !line.MatchString(strings.TrimSuffix(text, "\n")) || !strings.Contains(text, "session_id="+testSession) {
			t.Errorf("log line %q", text)
		}
	}
	// A new prompt gives a fresh budget.
	box.submit("and this")
	if s := state(); s.Count != 0 {
		t.Errorf("count %d after a new prompt", s.Count)
	}
	box.stop("")
	if request := box.read("../fake/reviewer-3/stdin"); strings.Contains(request, "上一次审查的要求") || !strings.Contains(request, "第 1 轮，最多 10 轮") {
		t.Errorf("the request of the new prompt has feedback of the one before:\n%s", request)
	}
	filepath.Walk(filepath.Join(box.home, ".claude/ccc"), func(path string, info os.FileInfo, err error) error {
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
}

func TestHookOutputIsTheStream(t *testing.T) {
	box := newHookBox(t)
	lines := `{"type":"system","session_id":"r-1"}` + "\n" + `{"a" : "<&>\u4e2d 中"}` + "\r\nwarning: not json\n" +
		`{"type":"result","subtype":"success","structured_output":{"allow_stop":true,"feedback":""}}`
	box.write("../fake/stream", 0o600, lines)
	box.write("../fake/review", 0o600, `sh cat "$FAKE_CLAUDE_DIR/stream"`)
	box.stop("")
	want := strings.Replace(lines, "warning: not json\n", "", 1) + "\n"
	if got := box.read(outputPath); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if log := box.log(); !strings.Contains(log, "warning") || !strings.Contains(log, "verdict=allow") {
		t.Errorf("log %s", log)
	}
}

// The file of the reviewer's output holds the reviews of the present request.
func TestHookOutputOfRequest(t *testing.T) {
	box := newHookBox(t)
	box.reviews(blocks("one"), blocks("two"), blocks("three"))
	for i, want := range []string{"one", "one two", "three"} {
		if i != 1 {
			box.submit(fmt.Sprint("request ", i))
		}
		box.stop("")
		output, held := box.read(outputPath), ""
		for _, feedback := range []string{"one", "two", "three"} {
			if strings.Contains(output, `\"feedback\":\"`+feedback) {
				held += " " + feedback
			}
		}
		if strings.TrimSpace(held) != want {
			t.Errorf("after review %d the file holds those of%s, want %s:\n%s", i+1, held, want, output)
		}
	}
}

func TestHookLongFeedback(t *testing.T) {
	box := newHookBox(t)
	box.reviews(blocks(strings.Repeat("长", 9000)))
	got := box.stop("")
	var d struct{ Reason string }
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatal(err, got)
	}
	file := filepath.Join(box.home, eventsPath)
	if utf8.RuneCountInString(d.Reason) != feedbackLimit || !strings.Contains(d.Reason, file) || strings.ContainsRune(d.Reason, utf8.RuneError) {
		t.Errorf("%d characters, ending in %q", utf8.RuneCountInString(d.Reason), d.Reason[len(d.Reason)-200:])
	}
	if rest, _ := os.ReadFile(file); strings.Count(string(rest), "长") != 9000 {
		t.Error("the named file does not hold the whole feedback")
	}
}

// A claude that lacks an optional flag is called again without it; any other
// unknown flag is a failed review.
func TestHookUnknownFlags(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.vars = append(box.vars, "FAKE_CLAUDE_VERSION=2.1.120")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"try":false}}`)
	box.reviews(blocks("not yet"))
	if got := box.stop(""); got.stdout != blockNotYet {
		t.Errorf("got %+v", got)
	}
	args := box.read("../fake/reviewer-1/args")
	if strings.Contains(args, "snapshot") || !strings.Contains(args, "--settings\n"+reviewerSettings("", false)) {
		t.Errorf("arguments %s", args)
	}
	for _, flag := range []string{"--max-budget-usd", "--allowedTools", "--add-dir", "--model"} { // with nothing to say
		if strings.Contains(args, flag+"\n") {
			t.Errorf("%s is given: arguments %s", flag, args)
		}
	}
	if got := strings.Count(box.log(), " review started "); got != 1 {
		t.Errorf("begun %d times, want once", got)
	}
	if request := box.read("../fake/reviewer-1/stdin"); !strings.Contains(request, "第 1 轮，最多 10 轮") {
		t.Errorf("the request that was answered is %q", request)
	}
	// What is said once the review has begun is about something else.
	box.reviews(fakeReview{runs(`echo "error: unknown option '--max-budget-usd'" >&2`), decides(false, "not yet")})
	if got := box.stop(""); got.stdout != blockNotYet || strings.Contains(got.stderr, "--max-budget-usd: going on") || box.read("../fake/reviewer-3/args") != "" {
		t.Errorf("got %+v", got)
	}
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_budget_usd":1}}`)
	for _, flag := range []string{"--json-schema", "--system-prompt", "--settings", "--permission-mode", "--strict-mcp-config", "--max-budget-usd"} {
		box.claudeIs(fmt.Sprintf("case \" $* \" in *' %s '*) echo \"error: unknown option '%[1]s'\" >&2; exit 1 ;; esac\nexec %s \"$@\"\n", flag, fakeClaude()))
		if got := box.stop(""); got.stdout != "" || !strings.Contains(got.stderr, "no review: ") || !strings.Contains(got.stderr, flag) {
			t.Errorf("%s: %+v", flag, got)
		}
	}
}

// A claude, or a wrapper, that rejects an optional flag again and again, or one that ccc did not pass, is called again once at most.
func TestHookFlagRejectedAgain(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]int{"--system-prompt-snapshot": 2, "--max-budget-usd": 1} {
		box := newHookBox(t)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":10}}`)
		box.claudeIs(fmt.Sprintf(`echo called >>"$HOME/calls"; echo "error: unknown option '%s'" >&2; exit 1`, flag))
		got := box.stop("")
		if got.stdout != "" || !strings.Contains(got.stderr, "no review: ") || !strings.Contains(got.stderr, flag) || strings.Contains(got.stderr, "no verdict within") {
			t.Errorf("%s: %+v", flag, got)
		}
		if calls := strings.Count(box.read("calls"), "called"); calls != want {
			t.Errorf("%s: called %d times, want %d", flag, calls, want)
		}
	}
}

// What the reviewer's settings forbid, word by word: some versions heed only one of the two rules against edits.
func TestHookReviewersSettings(t *testing.T) {
	const common = `{"disableAllHooks":true,"permissions":{"ask":["CronCreate","CronDelete","EnterWorktree","ExitWorktree","Monitor","ScheduleWakeup","SendMessage","Workflow"%s],` +
		`"deny":["Edit(//**)","Edit(//**/*)"]}%s}`
	for want, got := range map[string]string{
		fmt.Sprintf(common, `,"mcp__*"`, ""): reviewerSettings("", false),
		fmt.Sprintf(common, "", ""):          reviewerSettings("", true),
		fmt.Sprintf(common, `,"mcp__*"`, `,"sandbox":{"autoAllowBashIfSandboxed":false,"excludedCommands":["ccc try:*"]}`): reviewerSettings("ccc try", false),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A claude that finds the session nowhere is a failed review.
func TestHookSessionNowhere(t *testing.T) {
	box := newHookBox(t)
	box.claudeIs("echo 'No conversation found with session ID: x' >&2; exit 1")
	if got := box.stop(""); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "no review: ") || !strings.Contains(got.stderr, "No conversation found") {
		t.Errorf("%+v", got)
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, []verdict{verdictFailed}) {
		t.Errorf("verdicts %q", got)
	}
}

// What the reviewer is called with, and in: the flags in this order, the
// variables of the parent session gone.
func TestHookReviewersCall(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_MESSAGING_SOCKET=s", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_PROJECT_DIR="+box.work)
	box.write(".claude/SUPERVISOR.md", 0o600, "judge it")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"model":"m","allowed_tools":["Bash(npm test:*)","Read"],"max_budget_usd":0.5,"permission_mode":"plan","try":false}}`)
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	event := strings.Replace(box.event("Stop", ""), box.work, filepath.Join(box.work, "sub"), 1)
	box.hook(event)
	want := strings.Join([]string{"--print", "--fork-session", "--resume", testSession, "--verbose", "--output-format", "stream-json",
		"--json-schema", verdictSchema(), "--system-prompt", "judge it", "--system-prompt-snapshot", "off", "--no-session-persistence",
		"--settings", reviewerSettings("", false), "--permission-mode", "plan", "--strict-mcp-config", "--model", "m", "--allowedTools", "Bash(npm test:*)", "Read", "--max-budget-usd", "0.5", ""}, "\n")
	if got := box.read("../fake/reviewer-1/args"); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("arguments\n%s\nwant\n%s", got, want)
	}
	if cwd := strings.TrimSpace(box.read("../fake/reviewer-1/cwd")); cwd != box.work {
		t.Errorf("ran in %s, want the project %s", cwd, box.work)
	}
	env := box.read("../fake/reviewer-1/env")
	for _, gone := range []string{"CLAUDECODE=", "CLAUDE_CODE_ENTRYPOINT=", "CLAUDE_CODE_CHILD_SESSION=", "CLAUDE_CODE_SESSION_ID=", "CLAUDE_CODE_MESSAGING_"} {
		if strings.Contains(env, gone) {
			t.Errorf("the reviewer has %s", gone)
		}
	}
	if !strings.Contains(env, "CCC_SUPERVISOR_HOOK=1\n") {
		t.Error("CCC_SUPERVISOR_HOOK is not set")
	}
}

// Without a state that can be kept, one review per stop of the user's is all.
func TestHookStateBroken(t *testing.T) {
	for _, text := range []string{"", "{", "\x00\x01", "[]", `{"count":"3"}`, `{"session_id":"` + testSession + `","count":-1}`,
		`{"session_id":"` + testSession + `","count":99999999999999999999}`, `{"session_id":"another","count":9}`} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			box.write(statePath, 0o600, text)
			got := box.stop("")
			if got.code != 0 || got.stdout != blockNotYet || !strings.Contains(got.stderr, "corrupt") {
				t.Errorf("got %+v", got)
			}
			if bad := box.read(statePath + ".bad"); bad != text {
				t.Errorf("kept %q, want %q", bad, text)
			}
			if s := box.read(statePath); !strings.Contains(s, `"count":1`) {
				t.Errorf("state %s", s)
			}
		})
	}
	t.Run("active", func(t *testing.T) {
		box := newHookBox(t)
		box.write(statePath, 0o600, "{")
		got := box.stop(`"stop_hook_active":true`)
		if got.code != 0 || got.stdout != "" || box.read("../fake/reviewer-1/args") != "" {
			t.Errorf("got %+v, want no review", got)
		}
	})
	t.Run("directory_is_a_file", func(t *testing.T) {
		box := newHookBox(t)
		box.write(".claude/ccc", 0o600, "")
		got := box.stop("")
		if got.code != 0 || got.stdout != blockNotYet || !strings.Contains(got.stderr, "not a directory") {
			t.Errorf("got %+v", got)
		}
		got = box.stop(`"stop_hook_active":true`)
		if got.code != 0 || got.stdout != "" {
			t.Errorf("got %+v, want no decision", got)
		}
	})
}

// A caller that never closes stdin still gets its answer, and one that never
// writes does not hold the hook.
func TestHookStdinOpen(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	for _, input := range []string{box.event("SessionEnd", ""), ""} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		write.WriteString(input)
		cmd := box.command("ccc", "supervisor-hook")
		cmd.Stdin = read
		start := time.Now()
		output, err := cmd.CombinedOutput()
		took := time.Since(start)
		read.Close()
		write.Close()
		if err != nil || took > inputPatience+2*time.Second || (input == "") != strings.Contains(string(output), "nothing complete") {
			t.Errorf("%v after %v: %s", err, took, output)
		}
	}
}

func TestHookConcurrent(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	const hooks = 64
	results := make(chan commandResult, hooks)
	for range hooks {
		go func() { results <- box.stop("") }()
	}
	blocked := 0
	for range hooks {
		if r := <-results; r.stdout == blockNotYet {
			blocked++
		} else if r.stdout != "" || r.code != 0 {
			t.Errorf("got %+v", r)
		}
	}
	records := box.timeline(testSession)
	var iterations []int
	for _, r := range records {
		if r.Verdict == verdictBlock {
			iterations = append(iterations, r.Iteration)
		}
	}
	slices.Sort(iterations)
	if len(records) != hooks || blocked != 10 || !slices.Equal(iterations, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("%d records, %d blocked, iterations %v", len(records), blocked, iterations)
	}
}

// Two reviews of one session have the same flags, prompt and opening of the
// request, byte for byte, so that the second finds the first in the cache.
func TestHookReviewsAlike(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`{}`, `{"supervisor":{"keep_cache":true}}`} {
		box := newHookBox(t)
		keep := strings.Contains(config, "true")
		box.write(".claude/ccc.json", 0o600, config)
		if keep {
			box.reviews(fakeReview{answers(`{"allow_stop":false,"feedback":"not yet"}`)})
		}
		box.submit("fix it")
		for i := range 2 {
			got := box.stop(fmt.Sprintf(`"last_assistant_message":"attempt %d"`, i))
			if got.stdout != blockNotYet {
				t.Errorf("%s: got %+v", config, got)
			}
		}
		if first, second := box.read("../fake/reviewer-1/args"), box.read("../fake/reviewer-2/args"); first != second || first == "" {
			t.Errorf("%s: arguments\n%s\nand\n%s", config, first, second)
		}
		for _, flag := range []string{"--json-schema", "--system-prompt"} {
			if strings.Contains(box.read("../fake/reviewer-1/args"), flag) == keep {
				t.Errorf("%s: %s", config, flag)
			}
		}
		first, _, found := strings.Cut(box.read("../fake/reviewer-1/stdin"), "attempt 0")
		second, _, _ := strings.Cut(box.read("../fake/reviewer-2/stdin"), "attempt 1")
		if !found || first != second || strings.Contains(first, defaultPrompt.zh) != keep || strings.Contains(first, say(verdictForm)) != keep || !strings.Contains(first, "[1] fix it") {
			t.Errorf("%s: the requests open with\n%s\nand\n%s", config, first, second)
		}
	}
}

// introduced is what the first prompt of a supervised session is answered with.
const introduced = "UserPromptSubmit says: [SUPERVISOR] 本会话受监督：每个请求最多审查 10 次。实时查看: ccc log -f\n"

// TestSession is a whole supervised session of the built program: launch, a
// stop that is sent back, a stop that is approved.
func TestSession(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.turns("sh cd sub\nI think it is done.", "Now it is tested.")
	box.reviews(blocks("run the <tests>"), allows(""))
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it", "--model", "m")
	if want := introduced + "I think it is done.\nStop hook feedback: run the <tests>\nNow it is tested.\n"; got.code != 0 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	state := filepath.Join(box.home, ".claude/ccc")
	wantStderr := fmt.Sprintf(`Supervisor mode enabled
[Supervisor Mode] 日志文件:
  状态目录: %[1]s
  Hook 日志: %[1]s/hook-invocation.log
  审查输出: %[1]s/supervisor-<session>-output.jsonl
查看日志: tail -f %[1]s/hook-invocation.log
`, state)
	if got.stderr != wantStderr {
		t.Errorf("stderr\n%s\nwant\n%s", got.stderr, wantStderr)
	}
	if args := strings.TrimSpace(box.read("../fake/agent-1/args")); args != "-p\nfix it\n--model\nm" {
		t.Errorf("claude got the arguments %q", args)
	}
	env := box.read("../fake/agent-1/env")
	for _, want := range []string{"CCC_SUPERVISOR=1\n", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %q", want)
		}
	}
	if prompt := box.read(".claude/SUPERVISOR.md"); prompt != defaultPrompt.zh {
		t.Errorf("SUPERVISOR.md is not the default: %.80q", prompt)
	}
	for n, want := range []string{"", "I think it is done.", "Now it is tested."} {
		if request := box.read(fmt.Sprintf("../fake/reviewer-%d/stdin", n)); !strings.Contains(request, want) || n > 0 && !strings.Contains(request, "[1] fix it") {
			t.Errorf("request %d: %s", n, request)
		}
	}
	if box.read("../fake/reviewer-3/stdin") != "" {
		t.Error("a third review ran")
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, []verdict{verdictBlock, verdictAllow}) {
		t.Errorf("verdicts %q", got)
	}
}

// The limit is ccc's, not the client's own of eight.
func TestSessionLimit(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.reviews(blocks("not yet"))
	got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	if n := strings.Count(got.stdout, "Stop hook feedback: not yet"); got.code != 0 || n != 10 || strings.Contains(got.stdout, "overriding") {
		t.Errorf("%d rejections: %+v", n, got)
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, append(slices.Repeat([]verdict{verdictBlock}, 10), verdictLimit)) {
		t.Errorf("verdicts %q", got)
	}
}

func TestSessionQuestion(t *testing.T) {
	t.Parallel()
	for want, review := range map[string]fakeReview{
		"AskUserQuestion denied: use SQLite\nI chose SQLite.\n": blocks("use SQLite"),
		"DIALOG: Which database?\n":                             allows(""),
	} {
		box := newFakeBox(t)
		box.turns("ask " + strings.ReplaceAll(question, "\n", "") + "\nI chose SQLite.")
		box.reviews(review, allows(""))
		if got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it"); got.stdout != introduced+want || got.code != 0 {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
