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

// asked is what the event of a question holds.
const asked = `"tool_name":"AskUserQuestion","tool_use_id":"toolu_1","tool_input":` + question

// toolOutput is what a hook answers to a question: "allow" or "deny", and why.
func toolOutput(decision, reason string) string {
	return fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q,"permissionDecisionReason":%q}}`+"\n", decision, reason)
}

// A hookRow is an event, what is there before it, and what becomes of it.
type hookRow struct {
	name    string
	review  fakeReview // nil is "not yet"
	event   string     // its name
	members string     // added to the event
	stdin   string     // instead of an event
	state   string     // the state file before
	vars    string
	args    []string
	files   []string // of ccc's afterwards
	stdout  string
	stderr  []string
	silent  bool // stderr must be empty
	code    int
}

// The files that are there behind a review, and behind what is not reviewed.
var (
	reviewed   = []string{logPath, lockPath, eventPath, eventsPath, outputPath, requestPath, statePath}
	unreviewed = []string{logPath, lockPath, eventPath, eventsPath, statePath}
)

// expectHooks plays each row in a sandbox of its own.
func expectHooks(t *testing.T, tests []hookRow) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
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
			expectIs(t, "the exit code", got.code, test.code)
			expectIs(t, "stdout", decided(got.stdout), test.stdout)
			expectIn(t, "stderr", got.stderr, test.stderr...)
			if test.silent && got.stderr != "" {
				t.Errorf("stderr %q, want none", got.stderr)
			}
			expectEqual(t, "the files", box.files(), test.files)
			expectIs(t, "prompts in the log", strings.Count(box.log(), "SECRET PROMPT"), 0)
		})
	}
}

// What a stop comes to.
func TestHook(t *testing.T) {
	t.Parallel()
	expectHooks(t, []hookRow{
		{name: "stop_is_the_default_event", stdin: `{"session_id":"` + testSession + `"}`, files: reviewed,
			stdout: blockNotYet},
		{name: "stop_is_no_command", event: "Stop", members: `"prompt":"/supervisor off"`, files: reviewed, stdout: blockNotYet},
		{name: "stop_unknown_fields", event: "Stop",
			members: `"new":{"a":[1]},"background_tasks":{"odd":1},"last_assistant_message":[1]`,
			files:   reviewed, stdout: blockNotYet},
		{name: "stop_verdict_then_bad_exit", event: "Stop",
			review: fakeReview{decides(false, "not yet"), runs("exit 3")}, files: reviewed, stdout: blockNotYet},
		{name: "stop_escape_sequences", event: "Stop", review: blocks("red \x1b[31m\u009b31m bell \a"),
			files:  reviewed,
			stdout: `{"decision":"block","reason":"red \u001b[31m` + "\u009b" + `31m bell \u0007"}` + "\n",
			stderr: []string{"red ␛[31m\uFFFD31m bell ␇"}},
	})
}

// What a question comes to; another tool, and a question that was asked, is none.
func TestHookQuestion(t *testing.T) {
	t.Parallel()
	expectHooks(t, []hookRow{
		{name: "question_asked_before", event: "PostToolUse", members: asked, files: []string{logPath, eventPath}, silent: true},
		{name: "other_tool", event: "PreToolUse", members: `"tool_name":"Bash","tool_input":{}`,
			files: []string{logPath, eventPath}, silent: true},
	})
}

// What is recorded, or left alone: prompts, events of others, sessions that are not supervised.
func TestHookLeavesAlone(t *testing.T) {
	t.Parallel()
	expectHooks(t, []hookRow{
		{name: "prompt_recorded", event: "UserPromptSubmit", members: `"prompt":"SECRET PROMPT"`,
			state: stateText(testSession, 10, ""), files: unreviewed, silent: true},
		{name: "prompt_of_claude_code", event: "UserPromptSubmit", members: `"prompt":"<task-notification>\nx"`,
			state: stateText(testSession, 10, ""), files: []string{logPath, eventPath, statePath}, silent: true},
		{name: "subagent", event: "Stop", members: `"agent_id":"a1"`, files: []string{logPath, eventPath}, silent: true},
		{name: "subagent_stop", event: "SubagentStop", files: []string{logPath, eventPath}, silent: true},
		{name: "unknown_event", event: "SessionEnd", files: []string{logPath, eventPath}, silent: true},

		{name: "supervised_by_variable", event: "Stop", vars: "CLAUDE_PROJECT_DIR=. CCC_SUPERVISOR=1",
			files: reviewed, stdout: blockNotYet},
		{name: "reviewers_own", vars: "CCC_SUPERVISOR_HOOK=1", stdin: "not read",
			stdout: `{"decision":"","":""}` + "\n", silent: true},
		{name: "state_dir", event: "Stop", args: []string{"--state-dir", "elsewhere"}, stdout: blockNotYet},
	})
}

// What is no event ends as no decision.
func TestHookInput(t *testing.T) {
	t.Parallel()
	tests := []hookRow{
		{name: "stdin_empty", stdin: " ", stderr: []string{"stdin is empty"}},
		{name: "stdin_not_json", stdin: "hello",
			stderr: []string{"ccc: reading the hook event: invalid character 'h'"}},
		{name: "stdin_array", stdin: "[]", stderr: []string{"reading the hook event"}},
		{name: "stdin_truncated", stdin: `{"session_id":"a`, stderr: []string{"reading the hook event"}},
		{name: "session_missing", stdin: `{}`, stderr: []string{"no session_id"}},
		{name: "session_of_128",
			stdin: `{"session_id":"` + strings.Repeat("a", 126) + `_.","hook_event_name":"SessionEnd"}`,
			files: []string{logPath, strings.Replace(eventPath, testSession, strings.Repeat("a", 126)+"_.", 1)}, silent: true},

		{name: "unknown_flag", args: []string{"--nonsense"}, stdin: "{}",
			stderr: []string{"nonsense", "usage:"}, code: 1},
		{name: "operand", args: []string{"x"}, stdin: "{}", stderr: []string{`"x"`, "usage:"}, code: 1},
	}
	for _, id := range []string{`5`, `"../../x"`, `"-x"`, `"a/../../x"`, `"a b"`, `".a"`, `"` + strings.Repeat("a", 129) + `"`} {
		name := "session " + id[:min(len(id), 9)]
		tests = append(tests, hookRow{name: name, stdin: `{"session_id":` + id + `}`, stderr: []string{"session_id"}})
	}
	expectHooks(t, tests)
}

// What stops and prompts leave behind: the state, the timeline, the log and the request; a new prompt counts anew, and
// nobody else may read the files.
func TestHookNotes(t *testing.T) {
	box := newHookBox(t)
	state := func() (s sessionState) {
		t.Helper()
		check(t, json.Unmarshal([]byte(box.read(statePath)), &s))
		return s
	}
	box.submit("fix it")
	for range 2 {
		box.stop(box.transcript(transcriptOf("user: fix it; agent: done")))
	}
	s := state()
	expectIs(t, "the state's session", s.SessionID, testSession)
	expectIs(t, "the state's count", s.Count, 2)
	expectIs(t, "the state has a time", s.CreatedAt.IsZero() || s.UpdatedAt.Before(s.CreatedAt), false)
	expectIs(t, "the state's times are of", s.CreatedAt.Location(), time.UTC)
	lines := box.timeline(testSession)
	if len(lines) != 3 || lines[0].Prompt == nil || lines[2].Review == nil {
		t.Fatalf("timeline %+v", lines)
	}
	expectEqual(t, "the record of the prompt", []string{lines[0].Prompt.Text, lines[0].Project}, []string{"fix it", box.work})
	r := *lines[2].Review
	expectEqual(t, "the record of the review",
		[]string{r.Event, fmt.Sprint(r.Iteration, r.Limit), string(r.Verdict), r.Feedback, r.PromptSource},
		[]string{"Stop", "2 10", "block", "not yet", "built-in"})
	expectIs(t, "its reviewer's session is one: "+r.ReviewerSession, validSession(r.ReviewerSession), true)
	expectIs(t, fmt.Sprint("it has taken time: ", r.DurationSeconds), r.DurationSeconds > 0, true)
	expectIs(t, fmt.Sprint("it has cost something, but not much: ", r.CostUSD), r.CostUSD > 0 && r.CostUSD < 0.25, true)
	expectIs(t, "it has tokens of the cache", r.Tokens != nil && r.Tokens.CacheRead != 0, true)
	h, err := box.stateDir().session(testSession).readHistory()
	check(t, err)
	expectEqual(t, "what its reviewer did", h.Reviews[1].did.Tools, []string{"Bash(git diff --stat)"})
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "the request", request, "[1] fix it", "事件：Stop", "上次反馈\nnot yet", "第 2 轮，最多 10 轮")
	log := box.log()
	expectCounts(t, "the log", log, map[string]int{" iteration=2/10 prompt_source=built-in\n": 1})
	line := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [a-z -]+( [a-z_]+=("([^"\\]|\\.)*"|[^ "]+))+$`)
	for text := range strings.Lines(log) {
		if !line.MatchString(strings.TrimSuffix(text, "\n")) || !strings.Contains(text, "session_id="+testSession) {
			t.Errorf("log line %q", text)
		}
	}
	box.submit("/supervisor off")
	box.submit("/supervisor on") // of the same request
	box.stop("")
	expectIn(t, "the request after off and on", box.read("../fake/reviewer-3.stdin"), "上次反馈\nnot yet")
	// With a new prompt the reviews are counted anew.
	box.submit("and this")
	expectIs(t, "the count after a new prompt", state().Count, 0)
	box.stop("")
	request = box.read("../fake/reviewer-4.stdin")
	expectIn(t, "the request of the new prompt", request, "第 1 轮，最多 10 轮")
	expectNotIn(t, "the request of the new prompt", request, "上次反馈")
	filepath.Walk(filepath.Join(box.home, ".claude/ccc"), func(path string, info os.FileInfo, err error) error {
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
}

// The count begins anew with a prompt and with an approval of a stop, and with nothing else. The events of a row are a prompt
// ("the words of it"), stops and questions (?) with what their review comes to, and reviews by hand; the reviews are counted as
// they stand behind it, and one at the limit is "-".
func TestCount(t *testing.T) {
	for events, want := range map[string]string{
		"refused refused approved refused":                                             "1 2 3 1",
		"refused refused refused refused":                                              "1 2 3 -",
		"failed failed failed refused":                                                 "1 2 3 -",
		"refused 'go on' refused":                                                      "1 1",
		"approved 'more' ?refused ?refused refused":                                    "1 1 2 3",
		"approved ?refused ?refused ?refused ?refused":                                 "1 1 2 3 -",
		"?approved ?approved refused":                                                  "1 2 3",
		"refused byhand refused":                                                       "1 0 2",
		"refused refused refused '<task-notification>\n<task-id>x</task-id>' approved": "1 2 3 -",
		"refused refused refused '<cross-session-message from=\"x\">stop</cross-session-message>' refused": "1 2 3 -",
		"refused refused refused 'Background agent \"x\" was stopped by the user.' refused":                "1 2 3 -",
		"refused refused refused '2 background agents were stopped by the user: \"x\", \"y\".' refused":    "1 2 3 -",
		"refused refused refused '<agent-message from=\"x\">\nhalf done\n</agent-message>' refused":        "1 2 3 -",
		"refused refused refused '<teammate-message teammate_id=\"x\">hi</teammate-message>' refused":      "1 2 3 -",
		"refused refused refused '/supervisor status' refused":                                             "1 2 3 -",
		"refused refused refused '/supervisor off' '/supervisor on' refused":                               "1 2 3 -",
	} {
		t.Run(events, func(t *testing.T) {
			box := newHookBox(t)
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
			talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
			box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
			for _, event := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(events, -1) {
				switch {
				case strings.HasSuffix(event, "approved"), event == "byhand":
					box.reviews(allows(""))
				case strings.HasSuffix(event, "refused"):
					box.reviews(blocks("not yet"))
				case event == "failed":
					box.reviews(fails("API Error: 529"))
				}
				switch {
				case event[0] == '\'':
					box.submit(strings.ReplaceAll(strings.Trim(event, "'"), `\n`, "\n"))
				case event[0] == '?':
					box.hook(box.event(eventPreToolUse, asked))
				case event == "byhand":
					box.run(30*time.Second, "", "ccc", "review", testSession)
				default:
					box.stop("")
				}
			}
			past, err := box.stateDir().session(testSession).readHistory()
			check(t, err)
			counted := ""
			for _, r := range past.Reviews {
				number := strconv.Itoa(r.Iteration)
				if r.Verdict == verdictLimit {
					number = "-"
				}
				counted += " " + number
			}
			expectIs(t, "the reviews", counted, " "+want)
		})
	}
}

// The reviewer's output is appended to, request after request; a file over 20 MiB is put aside once, when a review begins.
func TestHookOutputAppended(t *testing.T) {
	box := newHookBox(t)
	box.reviews(blocks("one"), blocks("two"), blocks("three"), blocks("four"))
	feedback := regexp.MustCompile(`\\"feedback\\":\\"(\w+)`)
	for i, step := range []struct {
		size        int64 // of the file before the review, 0 for as it is
		want, aside string
	}{
		{0, "one", ""},
		{20 << 20, "one two", ""},
		{0, "three", "one two"},
		{20<<20 + 1, "four", "three"},
	} {
		if step.size > 0 {
			check(t, os.Truncate(filepath.Join(box.home, outputPath), step.size))
		}
		box.submit(fmt.Sprint("request ", i))
		box.stop("")
		for path, want := range map[string]string{outputPath: step.want, outputPath + ".1": step.aside} {
			var got []string
			for _, match := range feedback.FindAllStringSubmatch(box.read(path), -1) {
				got = append(got, match[1])
			}
			expectIs(t, fmt.Sprintf("after review %d, %s", i+1, path), strings.Join(got, " "), want)
		}
	}
}

// Feedback that is too long for the agent is cut, and names the file that has the whole of it.
func TestHookLongFeedback(t *testing.T) {
	box := newHookBox(t)
	box.reviews(blocks(strings.Repeat("长", 9000)))
	got := box.stop("")
	var d struct{ Reason string }
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatal(err, got)
	}
	file := filepath.Join(box.home, ".claude/ccc/supervisor-"+testSession+"-feedback.txt")
	expectIs(t, "the characters of the reason", utf8.RuneCountInString(d.Reason), feedbackLimit)
	end := d.Reason[max(0, len(d.Reason)-200):]
	expectIn(t, "the end of the reason", end, file)
	expectIs(t, "half a character is left", strings.ContainsRune(d.Reason, utf8.RuneError), false)
	whole, _ := os.ReadFile(file)
	expectIs(t, "the characters of the file", strings.Count(string(whole), "长"), 9000)
}

// A claude that does not know a flag gives no review, and is not called again: no flag is optional. What a command of the reviewer's
// says is about something else, and a flag with nothing to say is left out.
func TestHookUnknownFlags(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, testTrustVariable+"=none")
	box.reviews(fakeReview{runs(`echo "error: unknown option '--max-budget-usd'" >&2`), decides(false, "not yet")})
	expectEnd(t, "said in a review", box.stop(""), 0, blockNotYet, saidNotYet)
	expectNotIn(t, "the arguments", box.read("../fake/reviewer-1.args"), "--max-budget-usd\n", "--allowedTools\n", "--add-dir\n", "--model\n")
	for _, flag := range []string{"--json-schema", "--max-budget-usd", "--system-prompt-snapshot"} {
		box.claudeIs(fmt.Sprintf(`echo called >>"$HOME/calls"; echo "error: unknown option '%s'" >&2; exit 1`, flag))
		box.write("calls", 0o600, "")
		got := box.stop("")
		expectIs(t, flag+": the decision", got.stdout, "")
		expectIn(t, flag+": stderr", got.stderr, "no review: ", flag)
		expectIs(t, flag+": the calls", box.read("calls"), "called\n")
	}
}

// What the reviewer is called with, and in: the flags in this order, the
// variables of the parent session gone.
func TestHookReviewersCall(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_MESSAGING_SOCKET=s", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_PROJECT_DIR="+box.work)
	box.write(".claude/SUPERVISOR.md", 0o600, "judge it")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"model":"m","allowed_tools":["Bash(npm test:*)","Read"],`+
		`"max_budget_usd":0.5}}`)
	box.vars = append(box.vars, testTrustVariable+"=none")
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	event := strings.Replace(box.event("Stop", ""), box.work, filepath.Join(box.work, "sub"), 1)
	box.hook(event)
	settings := `{"disableAllHooks":true,"permissions":{` +
		`"ask":["CronCreate","CronDelete","EnterWorktree","ExitWorktree","Monitor","ScheduleWakeup","SendMessage",` +
		`"Workflow","mcp__*"],"deny":["Edit(//**/*)","Edit(/` + box.work + `/**)"],"disableBypassPermissionsMode":"disable"},` +
		`"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false}}`
	want := []string{
		"--print", "--fork-session", "--resume", testSession,
		"--verbose", "--output-format", "stream-json", "--json-schema", verdictSchema(),
		"--system-prompt", "judge it", "--system-prompt-snapshot", "off", "--no-session-persistence",
		"--settings", settings,
		"--permission-mode", "dontAsk", "--strict-mcp-config", "--model", "m",
		"--allowedTools", "Bash(npm test:*)", "Read", "--max-budget-usd", "0.5",
	}
	args := strings.TrimSpace(box.read("../fake/reviewer-1.args"))
	expectIs(t, "the arguments", args, strings.Join(want, "\n"))
	expectIs(t, "the reviewer's directory", strings.TrimSpace(box.read("../fake/reviewer-1.cwd")), box.work)
	env := box.environment("reviewer-1")
	expectNotIn(t, "the reviewer's environment", env, "CLAUDECODE=", "CLAUDE_CODE_ENTRYPOINT=",
		"CLAUDE_CODE_CHILD_SESSION=", "CLAUDE_CODE_SESSION_ID=", "CLAUDE_CODE_MESSAGING_")
	expectIn(t, "the environment", env, "CCC_SUPERVISOR_HOOK=1\n")
}

// Without a state that can be kept, one review per stop of the user's is all.
func TestHookStateBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "\x00\x01", "[]", `{"count":"3"}`, `{"session_id":"` + testSession + `","count":-1}`,
		`{"session_id":"` + testSession + `","count":99999999999999999999}`, `{"session_id":"another","count":9}`} {
		t.Run(text, func(t *testing.T) {
			box := newHookBox(t)
			box.write(statePath, 0o600, text)
			expectEnd(t, "the stop", box.stop(""), 0, blockNotYet, "corrupt")
			expectIs(t, "what is kept", box.read(statePath+".bad"), text)
			expectIn(t, "the state", box.read(statePath), `"count":1`)
			box.write(statePath, 0o600, text)
			if got := box.stop(`"stop_hook_active":true`); got.code != 0 || got.stdout != "" || box.read("../fake/reviewer-2.args") != "" {
				t.Errorf("got %+v, want no review", got)
			}
		})
	}
	t.Run("directory_is_a_file", func(t *testing.T) {
		box := newHookBox(t)
		box.write(".claude/ccc", 0o600, "")
		expectEnd(t, "the stop", box.stop(""), 0, blockNotYet, "not a directory")
		expectEnd(t, "the next stop", box.stop(`"stop_hook_active":true`), 0, "", errNoCount.Error())
		expectEnd(t, "a question", box.hook(box.event(eventPreToolUse, asked)), 0, "", errNoCount.Error())
	})
}

// A caller that never closes stdin still gets its answer.
func TestHookStdinOpen(t *testing.T) {
	box := newHookBox(t)
	read, write, err := os.Pipe()
	check(t, err)
	defer read.Close()
	defer write.Close()
	write.WriteString(box.event("SessionEnd", ""))
	cmd := box.command("ccc", "supervisor-hook")
	cmd.Stdin = read
	defer time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() }).Stop()
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func TestHookConcurrent(t *testing.T) {
	box := newHookBox(t)
	const hooks = 32
	results := make(chan commandResult, hooks)
	for range hooks {
		go func() { results <- box.stop(inTurn) }() // of one turn
	}
	blocked := 0
	for range hooks {
		if r := <-results; decided(r.stdout) == blockNotYet {
			blocked++
		} else if r.stdout != "" || r.code != 0 {
			t.Errorf("got %+v", r)
		}
	}
	ends := endsOf(box.timeline(testSession))
	var iterations []int
	for _, r := range ends {
		if r.Verdict == verdictBlock {
			iterations = append(iterations, r.Iteration)
		}
	}
	slices.Sort(iterations)
	whole := regexp.MustCompile(`^20\S+Z [a-z -]+ session_id=\S+`)
	for line := range strings.Lines(box.log()) {
		if line != "\n" && !whole.MatchString(line) { // an empty one: a line looked torn as another wrote it
			t.Errorf("torn: %q", line)
		}
	}
	if len(ends) != hooks || blocked != 10 || !slices.Equal(iterations, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("%d records, %d blocked, iterations %v", len(ends), blocked, iterations)
	}
}

// Two reviews of one session have the same flags, prompt and opening of the
// request, byte for byte, so that the second finds the first in the cache.
func TestHookReviewsAlike(t *testing.T) {
	box := newHookBox(t)
	box.submit("fix it")
	for i := range 2 {
		talk := box.transcript(userLine("1", "", "fix it"), agentLine("2", "1", "done"))
		got := box.stop(talk + fmt.Sprintf(`,"last_assistant_message":"done, attempt %d"`, i))
		expectIs(t, "the stop", decided(got.stdout), blockNotYet)
	}
	args := box.read("../fake/reviewer-1.args")
	expectIn(t, "the arguments", args, "--json-schema", "--system-prompt")
	expectIs(t, "the second's arguments", box.read("../fake/reviewer-2.args"), args)
	first, _, found := strings.Cut(box.read("../fake/reviewer-1.stdin"), "done, attempt 0")
	second, _, _ := strings.Cut(box.read("../fake/reviewer-2.stdin"), "done, attempt 1")
	expectIs(t, "the attempt is in the request", found, true)
	expectIs(t, "what the second request opens with", second, first)
	expectIn(t, "the request", first, "[1] fix it")
	expectNotIn(t, "the request", first, defaultPrompt.zh, say(verdictForm))
}

// introduced is what a supervised session begins with.
const introduced = "SessionStart:startup says: [SUPERVISOR] 本会话受监督\n每项要求最多审查 10 次\n实时查看：ccc log -f\n切换：/supervisor off（关闭）、on（打开）、observe（旁观）\n"

// TestSession is a whole supervised session of the built program: launch, a
// stop that is sent back, a stop that is approved.
func TestSession(t *testing.T) {
	box := newFakeBox(t)
	box.turns("sh cd sub\nI think it is done.", "Now it is tested.")
	box.reviews(blocks("run the <tests>"), allows(""))
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it", "--model", "m")
	if want := introduced + "I think it is done.\nStop hook feedback: run the <tests>\nNow it is tested.\n"; got.code != 0 || withoutReceipts(got.stdout) != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	state := filepath.Join(box.home, ".claude/ccc")
	wantStderr := fmt.Sprintf(`Supervisor mode enabled
[Supervisor Mode] 日志文件：%s
  hook-invocation.log、supervisor-<session>-output.jsonl
结束后看判定：ccc verdict
`, state)
	notice := "ccc: " + tryingHooks.zh + "\n" // on a busy machine
	expectIs(t, "stderr", strings.Replace(got.stderr, notice, "", 1), wantStderr)
	expectIs(t, "the arguments", strings.TrimSpace(box.read("../fake/agent-1.args")), "-p\nfix it\n--model\nm")
	env := box.environment("agent-1")
	expectIn(t, "the environment", env, "CCC_SUPERVISOR=1\n", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10\n")
	expectIs(t, "SUPERVISOR.md", box.read(".claude/SUPERVISOR.md"), defaultPrompt.zh)
	for n, want := range []string{"", "I think it is done.", "Now it is tested."} {
		if request := box.read(fmt.Sprintf("../fake/reviewer-%d.stdin", n)); !strings.Contains(request, want) || n > 0 && !strings.Contains(request, "[1] fix it") {
			t.Errorf("request %d: %s", n, request)
		}
	}
	if box.read("../fake/reviewer-3.stdin") != "" {
		t.Error("a third review ran")
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock, verdictAllow})
	expectEnd(t, "ccc verdict, as in a script", box.run(10*time.Second, "", "ccc", "verdict"), 0, "allow\n", "到下一条消息为止")
}

// The limit is ccc's, not the client's own of eight.
func TestSessionLimit(t *testing.T) {
	box := newFakeBox(t)
	box.reviews(blocks("not yet"))
	got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	if n := strings.Count(got.stdout, "Stop hook feedback: not yet"); got.code != 0 || n != 10 || strings.Contains(got.stdout, "overriding") {
		t.Errorf("%d rejections: %+v", n, got)
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), append(slices.Repeat([]verdict{verdictBlock}, 10), verdictLimit))
	_, end, _ := strings.Cut(box.ccc("log"), say(verdictNames["limit"])) // the agent's last words are told there, too
	expectIn(t, "ccc log at the limit", end, "Agent：Done.")
}

func TestSessionQuestion(t *testing.T) {
	for want, review := range map[string]fakeReview{
		"PreToolUse says: [SUPERVISOR] 审查者（不是你）回答了 Agent 的提问：\nWhich database?\n- SQLite\n- Postgres\n它的回答：use SQLite\n" +
			"RECEIPT\n不同意：按 Esc，再输入你的回答\nAskUserQuestion denied: use SQLite\nI chose SQLite.\n": blocks("use SQLite"),
		"DIALOG: Which database?\n": allows(""),
	} {
		box := newFakeBox(t)
		box.turns("ask " + strings.ReplaceAll(question, "\n", "") + "\nI chose SQLite.")
		box.reviews(review, allows(""))
		got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
		shown := regexp.MustCompile(`(?m)^提问审查 1/10：退回 · .*`).ReplaceAllString(withoutReceipts(got.stdout), "RECEIPT")
		expectIs(t, "the session", shown, introduced+want)
		expectIs(t, "the exit code", got.code, 0)
	}
}

// A prompt is recognised in the transcript, which writes it with another white space, and behind /supervisor.
func TestIsRequest(t *testing.T) {
	for request, prompt := range map[string]string{
		"fix it":             "fix it\n",
		"fix\nit\n":          "fix\nit",
		"/plan a b":          "/plan  a\tb ",
		"/supervisor fix it": "fix it",
		"/supervisor on a b": "a\n b",
	} {
		name := fmt.Sprintf("%q in %q", prompt, request)
		expectIs(t, name, isRequest(request, prompt), true)
		expectIs(t, name+", with another letter", isRequest(request, prompt+"x"), false)
		expectIs(t, name+", in another's", isRequest("x", prompt), false)
	}
}

// What the user asked while a review ran does not outdate its feedback, which the agent gets behind it. A prompt whose text is not told
// is no request.
func TestFeedbackBehindPrompt(t *testing.T) {
	box := newHookBox(t)
	box.timelineOf(testSession, prompted("fix it"), began(review{ID: "r", Iteration: 1, Limit: 10}).in(box.work), prompted("and that"),
		ended(review{ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "the docs"}}).in(box.work))
	talk := box.transcript(transcriptOf("user: fix it; agent: done; user: and that; agent: done"))
	box.stop(talk)
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "[2] and that", "上次反馈\nthe docs")
	box.hook(box.event(eventPrompt, `"prompt":7`))
	box.stop(talk)
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "the request", request, "[2] and that", "第 1 轮，")
	expectNotIn(t, "the request", request, "[3]")
}

// A field of another type than expected, as a later release may send it, ends no review: it counts as absent, and
// the log says so.
func TestEventOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, event, members string
		field                string // the one that the warning names
		stdout               string
		request              string // a part of the reviewer's request
		absent               string // what is in no request
	}{
		{name: "cwd", event: eventStop, members: `"cwd":["/x"]`, field: "cwd", stdout: blockNotYet},
		{name: "transcript_path", event: eventStop, members: `"transcript_path":{"path":"/x"}`, field: "transcript_path", stdout: blockNotYet},
		{name: "background_tasks", event: eventStop, members: `"background_tasks":{"odd":1}`, field: "background_tasks", stdout: blockNotYet, absent: "odd"},
		{name: "session_crons", event: eventStop, members: `"session_crons":{"odd":1}`, field: "session_crons", stdout: blockNotYet, absent: "odd"},
		{name: "last_assistant_message", event: eventStop, members: `"last_assistant_message":[{"type":"text","text":"All is done."}]`,
			stdout: blockNotYet, request: "All is done."},
		{name: "last_assistant_message_number", event: eventStop, members: `"last_assistant_message":1234567`, field: "last_assistant_message", stdout: blockNotYet, absent: "1234567"},
		{name: "stop_hook_active", event: eventStop, members: `"stop_hook_active":"no"`, field: "stop_hook_active", stdout: blockNotYet},
		{name: "tool_input", event: eventPreToolUse, members: `"tool_name":"AskUserQuestion","tool_use_id":7,"tool_input":["odd"]`, field: "tool_use_id",
			stdout: toolOutput("deny", "not yet"), request: "事件：AskUserQuestion", absent: "odd"},
		{name: "tool_name", event: eventPreToolUse, members: `"tool_name":{"name":"AskUserQuestion"}`, field: "tool_name"},
		{name: "agent_id", event: eventStop, members: `"agent_id":{"id":1}`, field: "agent_id"},
		{name: "hook_event_name", event: eventStop, members: `"hook_event_name":["Stop"]`, field: "hook_event_name"},
		{name: "null", event: eventStop, members: `"agent_id":null,"cwd":null,"stop_hook_active":null`, stdout: blockNotYet},
	} {
		t.Run(test.name, func(t *testing.T) {
			box := newHookBox(t)
			answer := box.hook(box.event(test.event, test.members))
			if answer.code != 0 || decided(answer.stdout) != test.stdout {
				t.Errorf("got %+v, want stdout %q", answer, test.stdout)
			}
			warning := "of another type than expected: " + test.field
			if log := box.log(); strings.Contains(log, warning) != (test.field != "") {
				t.Errorf("the log does not warn of %q alone:\n%s", test.field, log)
			}
			if test.stdout == "" {
				return
			}
			request := box.read("../fake/reviewer-1.stdin")
			if !strings.Contains(request, test.request) || test.absent != "" && strings.Contains(request, test.absent) {
				t.Errorf("want %q, not %q in the request:\n%s", test.request, test.absent, request)
			}
		})
	}
}

// A prompt that comes as a list of blocks is read, recorded and obeyed.
func TestEventPromptInBlocks(t *testing.T) {
	box := newHookBox(t)
	blocks := func(text string) string { return `"prompt":[{"type":"text","text":"` + text + `"},{"type":"image"}]` }
	expectEnd(t, "a prompt", box.hook(box.event(eventPrompt, blocks("fix it"))), 0, "", "")
	if r := box.onlyTimeline(); len(r) != 1 || r[0].Prompt == nil || r[0].Prompt.Text != "fix it" {
		t.Errorf("timeline %+v", r)
	}
	expectIn(t, "the answer", box.hook(box.event(eventPrompt, blocks("/supervisor off"))).stdout, `"decision":"block"`)
	expectEnd(t, "a stop after /supervisor off", box.stop(""), 0, "", "")
}

// FuzzHookEvent: an event that is taken has a session id that is safe as a file
// name and an argument, and a name.
func FuzzHookEvent(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"session_id":"a"}`, `{"session_id":"-x","hook_event_name":1}`,
		`{"session_id":"a","tool_input":{"questions":[{}]},"last_assistant_message":{}} x`,
		`{"session_id":"a","SESSION_ID":"../x"}`, `{"session_id":"a","background_tasks":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		event, err := readEvent(strings.NewReader(input))
		if err != nil {
			return
		}
		id := event.SessionID
		isSafe := validSession(id) && filepath.Base(id) == id && !strings.HasPrefix(id, "-")
		if !isSafe || event.HookEventName == "" {
			t.Errorf("took %+v", event)
		}
	})
}

// A panickingReader panics where an event is read from it.
type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("planted") }

// A panic ends the hook without a decision, with a message and with exit code 0, in whichever goroutine it comes: in the
// hook's own, in those that ccc starts, and in those of os/exec.
func TestHookPanic(t *testing.T) {
	t.Parallel()
	plants := map[string]func(){
		"decision": func() { panic("planted") },
		"event":    func() { _, _ = readEvent(panickingReader{}) },
		"client": func() {
			(*supervision)(nil).untilEnded(time.Minute, nil) // of no session
			time.Sleep(time.Minute)
		},
		"stream": func() {
			cmd := exec.Command("echo", "{}")
			cmd.Stdout = &lineWriter{line: func([]byte) { panic("planted") }}
			_ = cmd.Run()
		},
		"complaints": func() {
			cmd := exec.Command("sh", "-c", "echo x >&2")
			cmd.Stderr = &tail{limit: -1} // it slices out of bounds
			_ = cmd.Run()
		},
	}
	const plantVariable = "CCC_TEST_PLANT"
	if plant := plants[os.Getenv(plantVariable)]; plant != nil { // this is the hook: it finds stdin empty, and goes on to the panic
		check(t, supervisorHook(&invocation{}))
		func() {
			defer exitOnPanic()
			plant()
		}()
		os.Exit(1)
	}
	for name := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			cmd := exec.Command(os.Args[0], "-test.run=^TestHookPanic$")
			cmd.Env = append(os.Environ(), plantVariable+"="+name)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil || stdout.String() != "" || !strings.Contains(stderr.String(), "ccc: panic: ") {
				t.Errorf("%v, stdout %q, stderr %s", err, stdout.String(), stderr.String())
			}
		})
	}
}

// What of an event's last words the transcript must hold before it is read as whole.
func TestEventLastWords(t *testing.T) {
	for _, test := range []struct {
		event, said, call, last string
		want                    bool
	}{
		{eventStop, "done", "", "done", true},
		{eventStop, " done\n", "", "done ", true},
		{eventStop, "all is done", "", "done", true},
		{eventStop, "done", "", "all is done", true},
		{eventStop, "done", "", "other", false},
		{eventStop, "done", "", "", false},
		{eventStop, "", "", "done", true},
		{eventStop, "", "", "", false},
		{eventStop, "done", "", " ", false},
		{eventStop, "done", "", "call 1", false},
		{eventStop, "tool_use 1", "", "tool_use 1", true},
		{eventPreToolUse, "", "1", "call 1", true},
		{eventPreToolUse, "", "1", "call 2", false},
		{eventPreToolUse, "", "1", "1", false},
		{eventPreToolUse, "", "", "x", true},
		{eventPreToolUse, "x", "1", "x", false},
	} {
		e := hookEvent{HookEventName: test.event, ToolName: askUserQuestion, LastAssistantMessage: blockText(test.said), ToolUseID: test.call}
		name := fmt.Sprintf("%s that says %q, of call %q, with the transcript's last %q", test.event, test.said, test.call, test.last)
		last := conversation{lastWords: test.last}
		if id, isCall := strings.CutPrefix(test.last, "call "); isCall {
			last = conversation{lastCall: id}
		}
		expectIs(t, name, e.saysLast(&last), test.want)
	}
	for prompt, want := range map[string]bool{"": false, "fix it": true, "<task-notification>\nx": false, " ": false,
		"<cross-session-message from=\"b\">hi</cross-session-message>": false, `Background agent "x" was stopped by the user.`: false,
		`Background agent "x" was stopped by the user. Why?`: true, "x was stopped by the user.": true,
		`2 background agents were stopped by the user: "x", "y".`: false, `1 background task was stopped by the user: "x".`: false,
		"The 2 background agents were stopped by the user: why?": true} {
		expectIs(t, prompt, isUsersOwn(prompt), want)
	}
}

// The transcript is read once it holds the newest prompt and the agent's last words: at once where they are there, else when they come.
func TestEventConversation(t *testing.T) {
	if _, err := (&hookEvent{}).conversation(""); err == nil || err.Error() != "the event names none" {
		t.Errorf("an event without one: %v", err)
	}
	path := filepath.Join(t.TempDir(), "t.jsonl")
	e := &hookEvent{HookEventName: eventStop, TranscriptPath: path, LastAssistantMessage: "done"}
	write := func(lines ...string) { check(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)) }
	first, answer, second := userLine("1", "", "one"), agentLine("2", "1", "done"), userLine("3", "2", "two")
	write(first, answer)
	isQuick := false
	for range 5 { // a busy machine may take its time, but not five times in a row
		start := time.Now()
		talk, err := e.conversation("one")
		if err != nil || len(talk.requests) != 1 || talk.lastWords != "done" {
			t.Errorf("%+v, %v", talk, err)
		}
		if isQuick = time.Since(start) < transcriptPatience; isQuick {
			break
		}
	}
	expectIs(t, "it is read at once", isQuick, true)
	for name, prompt := range map[string]string{"the prompt comes": "two", "the agent's words come": ""} {
		if prompt != "" {
			write(first, answer)
		} else {
			write(first, agentLine("2", "1", "to be said"), second)
		}
		whole := []string{first, answer, second, agentLine("4", "3", "done")}
		time.AfterFunc(50*time.Millisecond, func() { write(whole...) })
		if talk, err := e.conversation(prompt); err != nil || len(talk.requests) != 2 || talk.lastWords != "done" {
			t.Errorf("%s: %+v, %v", name, talk, err)
		}
	}
	write(userLine("1", "", "/supervisor one"), answer)
	start := time.Now()
	_, err := e.conversation("one")
	check(t, err)
	expectIs(t, "/supervisor before the prompt: it is waited for", time.Since(start) > transcriptPatience, false)
	write(userLine("1", "", `<command-message>paint</command-message>\n<command-name>/paint</command-name>\n<command-args>red</command-args>`), answer)
	start = time.Now()
	talk, err := e.conversation("/paint red")
	check(t, err)
	expectIs(t, "a command is in tags: it is waited for", talk.incomplete || time.Since(start) > transcriptPatience, false)
	h := testHook(t, eventStop) // of one request, whose prompt comes late
	h.event.TranscriptPath, h.event.LastAssistantMessage = path, "done"
	check(t, h.session.append(entry{Prompt: &prompt{Text: "two"}}))
	write(first, answer)
	time.AfterFunc(50*time.Millisecond, func() { write(first, answer, second, agentLine("4", "3", "done")) })
	h.past, _ = h.session.readHistory()
	if r := h.subject(h.event.occasion()); len(r.requests) != 2 {
		t.Errorf("what the reviewer is told: %+v", r.requests)
	}
}

// What is read of an event: each field by its own name, an event without a name as a stop.
func TestEventRead(t *testing.T) {
	e, err := readEvent(strings.NewReader(`{"session_id":"s","transcript_path":"/t","cwd":"/c","permission_mode":"plan",` +
		`"hook_event_name":"PreToolUse","stop_hook_active":true,"last_assistant_message":"l",` +
		`"background_tasks":[1,2],"session_crons":[1,2,3],"tool_name":"n","tool_input":{"a":1},"tool_use_id":"u",` +
		`"prompt":"p","agent_id":"g","other":1}  `))
	check(t, err)
	for field, values := range map[string][2]any{
		"session_id":             {e.SessionID, "s"},
		"transcript_path":        {e.TranscriptPath, "/t"},
		"cwd":                    {e.Cwd, "/c"},
		"permission_mode":        {e.PermissionMode, "plan"},
		"hook_event_name":        {e.HookEventName, "PreToolUse"},
		"stop_hook_active":       {e.StopHookActive, true},
		"last_assistant_message": {e.LastAssistantMessage, "l"},
		"background_tasks":       {len(e.BackgroundTasks), 2},
		"session_crons":          {len(e.SessionCrons), 3},
		"tool_name":              {e.ToolName, "n"},
		"tool_input":             {string(e.ToolInput["a"]), "1"},
		"tool_use_id":            {e.ToolUseID, "u"},
		"prompt":                 {e.Prompt, "p"},
		"agent_id":               {e.AgentID, "g"},
		"what is odd":            {e.odd, ""},
	} {
		expectIs(t, field, fmt.Sprint(values[0]), fmt.Sprint(values[1]))
	}
	expectIs(t, "another tool's call is reviewed", e.occasion() != nil, false)
	e, err = readEvent(strings.NewReader(`{"session_id":"s"}`))
	check(t, err)
	expectIs(t, "an event without a name is a stop", e.occasion().isStop && e.HookEventName == eventStop && !e.StopHookActive, true)
	for text, want := range map[string]string{
		"":                     "stdin is empty",
		" ":                    "stdin is empty",
		"{}":                   `"" is no session_id`,
		`{"session_id":""}`:    `"" is no session_id`,
		`{"session_id":"a/b"}`: `"a/b" is no session_id`,
		"[":                    "unexpected EOF",
		"[]":                   "json: ",
	} {
		e, err := readEvent(strings.NewReader(text))
		expectIs(t, text+": an event", e != nil, false)
		expectPrefix(t, text+": why", fmt.Sprint(err), "reading the hook event: "+want)
	}
}

// A hook that can't say its decision, or has no place for its files, says that, and ends as one without a decision.
func TestHookUnheard(t *testing.T) {
	box := newHookBox(t)
	if _, err := os.Stat("/dev/full"); err == nil {
		got := box.run(30*time.Second, box.event(eventStop, ""), "sh", "-c", "exec ccc supervisor-hook >/dev/full")
		expectEnd(t, "nobody to tell", got, 0, "", "ccc: writing the decision: write /dev/stdout: no space left on device\n")
	}
	got := box.run(30*time.Second, box.event(eventStop, ""), "env", "-u", "HOME", "ccc", "supervisor-hook")
	expectEnd(t, "without a home", got, 0, "", "ccc: HOME is not defined")
	box = newHookBox(t)
	box.write(eventsPath+"/x", 0o600, "") // a directory in the place of the timeline
	got = box.submit("fix it")
	lost := string(encodeJSON(systemMessage(fmt.Sprintf(notRecorded.zh, "open "+filepath.Join(box.home, eventsPath)+": is a directory")))) + "\n"
	expectEnd(t, "a prompt", got, 0, lost, "ccc: reading the timeline: ")
	expectIn(t, "stderr", got.stderr, "ccc: writing the timeline: ")
	expectIn(t, "the log", box.log(), " supervisor-hook invoked session_id="+testSession+" event=UserPromptSubmit\n",
		` warning session_id=`+testSession+` during="reading the timeline" error=`)
	box = newHookBox(t)
	box.write(".claude/ccc", 0o600, "")
	expectEnd(t, "without a place for a state", box.stop(""), 0, blockNotYet, "ccc: writing to the state directory: ")
}

// The project is the directory that Claude Code names, else where the agent is, else where the hook runs.
func TestHookProject(t *testing.T) {
	for _, test := range []struct{ variable, cwd, want string }{
		{"other", "work", "other"},
		{"", "other", "other"},
		{"", "", "work"},
	} {
		box := newHookBox(t)
		at := func(name string) string {
			if name == "" {
				return ""
			}
			return filepath.Join(filepath.Dir(box.work), name)
		}
		check(t, os.Mkdir(at("other"), 0o700))
		box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CLAUDE_PROJECT_DIR="+at(test.variable))
		box.hook(box.event(eventPrompt, `"cwd":`+string(encodeJSON(at(test.cwd)))+`,"prompt":"do it"`))
		expectIs(t, test, box.onlyTimeline()[0].Project, at(test.want))
	}
}

// With review "work" only a stop behind a tool call, or a change of the working tree, is reviewed. What can't be known
// counts as work. The stop that is left out leaves a line in the log and in ccc log, and nothing else.
func TestReviewWork(t *testing.T) {
	beside(t)
	const hi, before, called = "user: hi | NEW", "user: fix it | OLD; call: toolu_1 | OLD; agent: done", "user: hi | NEW; call: toolu_1 | NEW; agent: hello"
	const behind = before + "; user: hi | NEW; agent: hello"
	for name, test := range map[string]struct {
		lines    string
		earlier  string  // what is done behind an earlier prompt, and approved with last
		event    string  // of a stop, unless it is named
		git      string  // what is done behind the prompt
		noTree   bool    // outside git
		queued   bool    // the user has typed "quickly" meanwhile
		switched bool    // and switched it on, behind a prompt that ccc did not get
		last     verdict // of the stop before the prompt
		reviewed bool
	}{
		"words":                           {lines: hi + "; agent: hello"},
		"words, outside git":              {lines: hi + "; agent: hello", noTree: true},
		"words behind an earlier call":    {lines: before + "; user: thanks | NEW; agent: gladly"},
		"a call":                          {lines: called, reviewed: true},
		"a call outside git":              {lines: called, noTree: true, reviewed: true},
		"a call, and the user said more":  {lines: "user: hi | NEW; call: toolu_1 | NEW; agent: hello; agent: more", reviewed: true},
		"words, and a new file":           {lines: hi + "; agent: hello", git: "echo > new", reviewed: true},
		"words, and a commit":             {lines: hi + "; agent: hello", git: "git -c user.name=x -c user.email=x commit -q --allow-empty -m y"},
		"words, and an ignored file":      {lines: hi + "; agent: hello", git: "mkdir -p .git/info && echo junk > .git/info/exclude; echo > junk"},
		"a call, and a prompt behind it":  {lines: "user: hi | NEW; call: toolu_1 | NEW; result: ok; queued: quickly | NEW; agent: done", queued: true, reviewed: true},
		"a call, Esc, and a prompt":       {lines: "user: hi | NEW; call: toolu_1 | NEW; result: ok; user: quickly | NEW; agent: done", queued: true, reviewed: true},
		"words, switched on in mid-turn":  {lines: hi + "; agent: hello", switched: true, reviewed: true},
		"words, the prompt is not there":  {lines: "user: hello | NEW; agent: hello", reviewed: true},
		"words behind an approval":        {lines: before + "; user: hi | NEW; agent: hello", last: verdictAllow},
		"words behind an approved file":   {lines: behind, earlier: "echo > new", last: verdictAllow},
		"words behind a refusal":          {lines: before + "; user: hi | NEW; agent: hello", last: verdictBlock, reviewed: true},
		"words behind a failure":          {lines: before + "; user: hi | NEW; agent: hello", last: verdictFailed, reviewed: true},
		"words behind the limit":          {lines: before + "; user: hi | NEW; agent: hello", last: verdictLimit, reviewed: true},
		"words behind a cancelled review": {lines: before + "; user: hi | NEW; agent: hello", last: verdictCancelled, reviewed: true},
		"no transcript":                   {reviewed: true},
		"a question":                      {lines: "user: hi | NEW; call: toolu_1 | NEW", event: eventPreToolUse, reviewed: true},
		"words, and git fails": {
			lines: hi + "; agent: hello", earlier: "echo > new", git: "echo > .git/index"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.inSession()
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"work"}}`)
			box.write("../work/main.go", 0o600, "package main\n")
			if !test.noTree {
				box.repository()
			}
			prompt := "hi"
			if test.switched {
				prompt = "/supervisor on"
			} else if strings.Contains(test.lines, "thanks") {
				prompt = "thanks"
			}
			if test.earlier != "" {
				box.submit("fix it")
				box.gitIn(box.work, test.earlier)
			}
			if test.earlier != "" && test.last != "" {
				box.reviews(allows(""))
				box.stop("")
				box.reviews(blocks("not yet"))
			} else if test.last != "" {
				box.timelineOf(testSession, ended(review{Ended: now().Add(-time.Minute), ID: "r", outcome: outcome{Verdict: test.last}}).in(box.work))
			}
			reviewed := box.reviewed()
			if box.submit(prompt); test.queued {
				box.submit("quickly")
			}
			if test.git != "" {
				box.gitIn(box.work, test.git)
			}
			members := asked
			if test.event == "" {
				members = `"last_assistant_message":""`
			}
			if test.lines != "" {
				at := func(when time.Time) string { return `"timestamp":"` + when.UTC().Format(time.RFC3339) + `"` }
				lines := transcriptOf(strings.NewReplacer("OLD", at(now().Add(-time.Hour)), "NEW", at(now().Add(time.Second))).Replace(test.lines))
				members += "," + box.transcript(lines)
			}
			records := strings.Count(box.read(eventsPath), "\n")
			got := box.hook(box.event(cmp.Or(test.event, eventStop), members))
			expectIs(t, "it is reviewed", box.reviewed() == reviewed+1, test.reviewed)
			expectIs(t, "the line in the log", strings.Contains(box.log(), " stop not reviewed session_id="+testSession+" review=work\n"), !test.reviewed)
			if !test.reviewed {
				expectEnd(t, "the answer", got, 0, "", "")
				expectIs(t, "the prompts and reviews", strings.Count(box.read(eventsPath), "\n"), records+1)
				expectIn(t, "ccc log", box.ccc("log", testSession), " "+onlyWords.zh+"\n")
				expectIn(t, "the state", box.read(statePath), `"count":0`)
			}
		})
	}
}

// A stop that is left out so ends the change: what the user does behind it is no part of the next one, and nothing of it is left
// open for another session.
func TestWorkEndsChange(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.repository()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"work"}}`)
	box.write("../work/before.txt", 0o600, "the user's\n")
	box.submit("hi")
	got := box.stop(`"last_assistant_message":"hello",` + box.transcript(transcriptOf("user: hi; agent: hello")))
	expectEnd(t, "the stop", got, 0, "", "")
	box.write("../work/between.txt", 0o600, "the user's\n")
	box.hook(box.event(eventPrompt, `"prompt":"fix it","transcript_path":"`+filepath.Join(box.home, "projects/x/"+testSession+".jsonl")+`"`))
	box.write("../work/fix.txt", 0o600, "the agent's\n")
	box.stop(`"last_assistant_message":"done",` + box.transcript(transcriptOf("user: hi; agent: hello; user: fix it; agent: done")))
	request := box.read("../fake/reviewer-1.stdin")
	expectIn(t, "the request", request, "A fix.txt")
	expectNotIn(t, "the request", request, "before.txt", "between.txt", "另一个会话的改动")
	// Where git could not tell whether anything has changed, the change goes on.
	box.reviews(allows(""))
	box.stop(box.transcript(transcriptOf("user: hi; agent: hello; user: fix it; agent: done")))
	box.submit("thanks")
	box.write("../work/meanwhile.txt", 0o600, "a background task's\n")
	box.gitIn(box.work, "mv .git/index .git/kept; echo >.git/index")
	started := box.reviewed()
	box.stop(box.transcript(transcriptOf("user: hi; agent: hello; user: fix it; agent: done; user: thanks; agent: gladly")))
	expectIs(t, "the reviews behind words, where git fails", box.reviewed(), started)
	box.gitIn(box.work, "mv .git/kept .git/index")
	box.submit("go on")
	box.stop(box.transcript(transcriptOf("user: hi; agent: hello; user: fix it; agent: done; user: thanks; agent: gladly; user: go on; agent: all is done")))
	expectIn(t, "the request behind it", box.read("../fake/reviewer-3.stdin"), "A meanwhile.txt")
}

// Esc while ccc looks whether there is work is a review that was cancelled, no stop of words: the change stays open.
func TestWorkEnded(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"work"}}`)
	box.repository()
	box.submit("hi")
	box.write("../work/notes.txt", 0o600, "changed\n")
	box.write("../bin/git", 0o700, `#!/bin/sh
case "$*" in *' add '*) kill $PPID; sleep 1 ;; esac
PATH=${PATH#*:} exec git "$@"`)
	said := transcriptOf("user: hi | " + `"timestamp":"` + now().Format(time.RFC3339) + `"` + "; agent: hello")
	expectEnd(t, "the stop", box.stop(`"last_assistant_message":"hello",`+box.transcript(said)), 0, "", errUserEnded.zh)
	check(t, os.Remove(filepath.Join(box.home, "../bin/git")))
	expectIn(t, "the next prompt", box.submit("go on").stdout, earlierCancelled.zh)
	box.stop("")
	expectIn(t, "the next request", box.read("../fake/reviewer-1.stdin"), "notes.txt")
}

// A stop of an interactive session at which subagents work is not reviewed yet, which is told and in the log; one with the same
// ones at work is, as one of them may hang. The next prompt tells it where no stop came behind.
func TestDeferred(t *testing.T) {
	tasks := func(list ...string) string {
		return `"background_tasks":[` + strings.Join(list, ",") + "]"
	}
	task := func(id, kind, status string) string {
		return fmt.Sprintf(`{"id":%q,"type":%q,"status":%q,"description":"x"}`, id, kind, status)
	}
	one, two, flow := task("a1", "subagent", "running"), task("b2", "subagent", "running"), task("w3", "workflow", "running")
	const defers, reviews, prompts, tells = "deferred", "reviewed", "prompt", "told"
	const ends = "<task-notification>\n<task-id>a1</task-id>"
	const sends = "<agent-message from=\"a1\">\nhalf done\n</agent-message>"
	for name, steps := range map[string][][2]string{
		"one":                      {{tasks(one), defers}, {tasks(), reviews}, {prompts, ""}},
		"a workflow":               {{tasks(flow), defers}, {tasks(), reviews}},
		"two":                      {{tasks(one, two), defers}, {tasks(two), defers}, {tasks(), reviews}},
		"one behind another":       {{tasks(one), defers}, {tasks(two), defers}, {tasks(two), reviews}},
		"one that hangs":           {{tasks(one), defers}, {tasks(one), reviews}},
		"resumed after a review":   {{tasks(one), defers}, {tasks(one), reviews}, {tasks(one), defers}, {tasks(), reviews}},
		"resumed at its end":       {{tasks(one), defers}, {ends, ""}, {tasks(one), defers}, {tasks(one), reviews}},
		"a message of its own":     {{tasks(one), defers}, {sends, ""}, {tasks(one), defers}, {prompts, tells}},
		"in another order":         {{tasks(one, two), defers}, {tasks(two, one), reviews}},
		"no stop behind it":        {{tasks(one), defers}, {prompts, tells}, {prompts, ""}},
		"none but a question":      {{tasks(one), defers}, {"a question", ""}, {prompts, tells}},
		"ended, by its status":     {{tasks(task("a1", "subagent", "completed")), reviews}},
		"a shell":                  {{tasks(task("s1", "shell", "running")), reviews}},
		"a teammate, a monitor":    {{tasks(task("t1", "teammate", "running"), task("m1", "monitor", "running")), reviews}},
		"a shell beside":           {{tasks(task("s1", "shell", "running"), one), defers}},
		"-p":                       {{tasks(one), reviews}},
		"not recorded":             {{tasks(one), reviews}},
		"observed":                 {{"/supervisor observe", "kept"}, {tasks(one), defers}},
		"off":                      {{"/supervisor off", "kept"}, {tasks(one), ""}},
		"what is no list of tasks": {{`"background_tasks":[7,{"type":"subagent","status":7}]`, reviews}},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.inSession()
			if name == "-p" {
				box.vars = append(box.vars, "CLAUDE_CODE_ENTRYPOINT=sdk-cli")
			}
			if name == "not recorded" {
				box.write(eventsPath+"/x", 0o600, "")
			}
			for i, step := range steps {
				got := ""
				switch {
				case step[0] == prompts:
					got = box.submit("go on").stdout
				case strings.HasPrefix(step[0], "/"), strings.HasPrefix(step[0], "<"):
					got = box.submit(step[0]).stdout
				case step[0] == "a question":
					box.hook(box.event(eventPreToolUse, asked))
				default:
					got = box.stop(step[0]).stdout
				}
				marks := map[string]string{defers: "子代理还在工作，这次停下先不审查", reviews: blockNotYet[:len(blockNotYet)-2], tells: earlierDeferred.zh, "kept": `"decision":"block"`}
				expectIn(t, fmt.Sprint(i, ": ", step), got, marks[step[1]])
				expectIs(t, fmt.Sprint(i, ": an answer"), got != "", step[1] != "")
			}
			deferredStops := 0
			for _, step := range steps {
				if step[1] == defers {
					deferredStops++
				}
			}
			if name != "not recorded" {
				expectIs(t, "the log", strings.Count(box.run(10*time.Second, "", "ccc", "log", testSession).stdout, subagentsWork.zh), deferredStops)
			}
		})
	}
}

// One more occasion is a row: its calls are reviewed, and the hooks of a launch are of both tools.
func TestOccasionAdded(t *testing.T) {
	t.Cleanup(func() { occasions = occasions[:3] })
	occasions = append(occasions, &occasion{name: "ExitPlanMode", event: eventPreToolUse, tool: "ExitPlanMode", isQuestion: true,
		title: words{"计划审查", "Review of a plan"}, quote: func(input json.RawMessage) string { return string(input) }})
	for tool, want := range map[string]string{askUserQuestion: eventPreToolUse, "ExitPlanMode": "ExitPlanMode", "Bash": "", "": ""} {
		name := ""
		if on := occasionOf(eventPreToolUse, tool); on != nil {
			name = on.name
		}
		expectIs(t, tool, name, want)
	}
	expectIs(t, "its title", review{Event: "ExitPlanMode"}.reviewTitle(), "计划审查")
	matchers := ""
	for _, wanted := range wantedHooks("ccc", 1) {
		matchers += wanted.event + " " + wanted.Matcher + ", "
	}
	expectIs(t, "the hooks", matchers, "Stop , PreToolUse AskUserQuestion|ExitPlanMode, UserPromptSubmit , SessionStart , ")
	expectIs(t, "an occasion of a ccc to come", review{Event: "New"}.reviewTitle(), "审查")
}
