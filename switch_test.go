package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// /supervisor in a session: the answers, what they leave behind, and that only a task reaches the model.
func TestSwitchCommand(t *testing.T) {
	t.Parallel()
	const on, off, query = `"enabled":"on" "mode":"on"`, `"enabled":"off" "mode":"off"`, ""
	const observe = `"enabled":"observe" "mode":"observe"`
	tests := []struct {
		prompt, vars string
		blocked      string // what the answer says; "" lets the prompt through
		left         string // in the state file, and in the timeline
	}{
		{"/supervisor on", "CLAUDE_PROJECT_DIR=.", "只对本会话有效；/clear 之后恢复为启动时的状态。\"}", on},
		{" /supervisor OFF ", "CCC_SUPERVISOR=1", "只对本会话有效；/clear 之后恢复为启动时的状态。\"}", off},
		{"/supervisor\tOn\n", "CLAUDE_PROJECT_DIR=.", "已打开", on},
		{"/supervisor 关闭", "CCC_SUPERVISOR=1", "已关闭", off},
		{"/supervisor　打开", "CLAUDE_PROJECT_DIR=.", "已打开", on}, // behind a full-width space
		{"/supervisor\n关闭", "CCC_SUPERVISOR=1", "已关闭", off},
		{"/supervisor observe", "CCC_SUPERVISOR=1", "只对本会话有效；/clear 之后恢复为启动时的状态。\"}", observe},
		{"/supervisor　旁观", "CLAUDE_PROJECT_DIR=.", "改为旁观", observe},
		{"/supervisor status", "CCC_SUPERVISOR=1", "监督：已打开", query},
		{"/supervisor 状态", "CLAUDE_PROJECT_DIR=.", "监督：已关闭", query},
		{"/supervisor observe it closely", "CLAUDE_PROJECT_DIR=.", "", `"enabled":"on" "prompt":{"text":"observe it closely"`},
		{"/supervisor", "CLAUDE_PROJECT_DIR=.", "监督：已关闭 · 这项要求已审查 0/8 次\\n本会话共审查 0 次\\n", query},
		{"/supervisor", "CCC_SUPERVISOR=1", "监督：已打开", query},
		{"/supervisor 修复登录页面的错误", "CLAUDE_PROJECT_DIR=.", "", `"enabled":"on" "prompt":{"text":"修复登录页面的错误"`},
		{"/supervisor 把监督关掉", "CCC_SUPERVISOR=1", "不明白“/supervisor 把监督关掉”", query},
		{"/supervisor 关", "CCC_SUPERVISOR=1", "已关闭", off},
		{"/supervisor 关闭。", "CCC_SUPERVISOR=1", "已关闭", off},
		{"/supervisor 开", "CLAUDE_PROJECT_DIR=.", "已打开", on},
		{"/supervisor 停", "CCC_SUPERVISOR=1", "不明白“/supervisor 停”。\\n可用：on（打开）、off（关闭）、observe（旁观）、status（状态）\\n或直接写任务", query},
		{"/supervisor 关闭监督", "CCC_SUPERVISOR=1", "不明白", query},
		{"/supervisor ＯＦＦ", "CCC_SUPERVISOR=1", "不明白", query},
		{"/supervisor turn it off", "CCC_SUPERVISOR=1", "不明白“/supervisor turn it off”", query},
		{"/supervisor fix <it>", "CLAUDE_PROJECT_DIR=.", "", `"enabled":"on" "prompt":{"text":"fix <it>"`},
		{"/supervisor\nrefactor it", "CLAUDE_PROJECT_DIR=.", "", `"enabled":"on" "prompt":{"text":"refactor it"`},
		{"/supervisor off.", "CLAUDE_PROJECT_DIR=.", "不明白“/supervisor off.”", query},
		{"/supervisor Stats", "CCC_SUPERVISOR=1", "不明白“/supervisor Stats”", query},
		{"/supervisor --stop", "CCC_SUPERVISOR=1", "不明白", query},
		{"/supervisor offline", "CCC_SUPERVISOR=1", "不明白", query},
		{" fix it \n", "CLAUDE_PROJECT_DIR=.", "", query},
		{" ", "CLAUDE_PROJECT_DIR=.", "", query},
		{"/supervisors on", "CLAUDE_PROJECT_DIR=.", "", query},
	}
	for _, test := range tests {
		t.Run(test.prompt, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, test.vars)
			got := box.submit(test.prompt)
			blocks := strings.HasPrefix(got.stdout, `{"decision":"block","reason":"`)
			if got.code != 0 || got.stderr != "" || blocks != (test.blocked != "") || !strings.Contains(got.stdout, test.blocked) {
				t.Errorf("got %+v, want %q", got, test.blocked)
			}
			enabled, recorded, _ := strings.Cut(test.left, " ")
			for path, want := range map[string]string{statePath: enabled, eventsPath: recorded} {
				if text := box.read(path); !strings.Contains(text, want) || (text == "") != (want == "") {
					t.Errorf("left %q, want %q", text, want)
				}
			}
		})
	}
}

// In a session: off answers at once and the stop is not reviewed; a task turns supervision on again.
func TestSwitchInSession(t *testing.T) {
	box := newFakeBox(t)
	box.prompts("do more", "/supervisor finish it")
	box.reviews(blocks("add tests"), allows(""))
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "/supervisor off")
	if got.code != 0 || !strings.Contains(got.stdout, "已关闭") || strings.Count(got.stdout, "Stop hook feedback: add tests") != 1 {
		t.Errorf("got %+v", got)
	}
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "[1] do more\n\n[2] /supervisor finish it\n")
	timelines, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/*-events.jsonl"))
	timeline, err := os.ReadFile(timelines[0])
	check(t, err)
	for _, mode := range []string{"on", "off"} {
		expectIn(t, "the log", box.log(), " switched session_id=", " mode="+mode+"\n")
		expectIn(t, "the timeline", string(timeline), `"project":"`+box.work+`","switch":{"mode":"`+mode+`"`)
	}
}

// What could not be switched is said.
func TestSwitchFails(t *testing.T) {
	box := newHookBox(t)
	box.write(statePath+"/x", 0o600, "") // a directory in the place of the file
	got := box.submit("/supervisor off")
	expectIn(t, "the answer", got.stdout, "无法切换监督")
	expectIn(t, "stderr", got.stderr, "ccc: switching the mode: ")
	expectIs(t, "the timeline", box.read(eventsPath), "")
	// A corrupt state is replaced, and the switch counts.
	box = newHookBox(t)
	box.inSession()
	box.write(statePath, 0o600, "{")
	expectIn(t, "the answer", box.submit("/supervisor off").stdout, "已关闭")
	if got := box.stop(""); got.stdout+got.stderr != "" {
		t.Errorf("switched off, but %+v", got)
	}
}

// In a session of Claude Code's a request has no more reviews than Claude Code lets a turn be sent back; the answer, the
// introduction, ccc status and the reviews name the number, and the stop behind the last one is told.
func TestSwitchLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		blockCap string // of Claude Code, as the hook's environment has it
		session  bool   // and not a hook that is run by hand
		limit    string
	}{
		{"", true, "8"}, {"x", true, "8"}, {"3", true, "3"}, {"40", true, "9"}, {"08", true, "8"}, {"0", true, "9"}, {"", false, "9"},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			box := newHookBox(t)
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":9}}`)
			if test.session {
				box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, blockCapVariable+"="+test.blockCap)
				expectIn(t, "the answer", box.submit("/supervisor on").stdout, "最多 "+test.limit+" 次")
				expectIn(t, "status", box.run(10*time.Second, "", "ccc", "status").stdout, " 0/"+test.limit+" ")
				expectIn(t, "the introduction", box.hook(box.event(eventStart, `"source":"resume"`)).stdout, "最多审查 "+test.limit+" 次")
			}
			n, _ := strconv.Atoi(test.limit)
			box.write(statePath, 0o600, stateText(testSession, n-1, stateOn))
			if got := box.stop(""); decided(got.stdout) != blockNotYet || !strings.Contains(got.stderr, fmt.Sprintf("iteration %d/%[1]d", n)) {
				t.Errorf("the last review: %+v", got)
			}
			if got := box.stop(""); strings.Contains(got.stdout, "block") || !strings.Contains(got.stderr, "这项要求的 "+test.limit+" 次审查已用完，允许停止") ||
				test.session != strings.Contains(got.stdout, "这项要求的 "+test.limit+" 次审查已用完") {
				t.Errorf("behind it: %+v", got)
			}
		})
	}
}

// A prompt without words, as of an image alone, is the user's.
func TestPromptWithoutWords(t *testing.T) {
	box := newHookBox(t)
	box.write(statePath, 0o600, stateText(testSession, 10, ""))
	box.submit("")
	expectEnd(t, "a stop behind it", box.stop(""), 0, blockNotYet, saidNotYet)
}

// switches is a step of a reviewer's while which the user types /supervisor and the mode.
func switches(box *sandbox, to mode) fakeStep {
	box.vars = append(box.vars, "FAKE_CCC="+box.program())
	event := box.event(eventPrompt, fmt.Sprintf(`"prompt":"/supervisor %s"`, to))
	return runs(fmt.Sprintf("printf %%s %s | env -u %s \"$FAKE_CCC\" supervisor-hook", shellQuote(event), reviewerVariable))
}

// modeOf returns the mode of the session that ccc status shows.
func (box *sandbox) modeOf(session string) mode {
	box.t.Helper()
	var sessions []summary
	check(box.t, json.Unmarshal([]byte(box.ccc("status", "--json")), &sessions))
	for _, s := range sessions {
		if s.Session == session {
			return s.Mode
		}
	}
	return ""
}

// hangingHook starts the hook of a stop or, with the members of its event, of a question, and waits for its review to hang.
func (box *sandbox) hangingHook(members string) (hook *exec.Cmd, stdout *strings.Builder) {
	box.t.Helper()
	box.reviews(fakeReview{runs(`trap 'kill $!; exit' TERM; sh -c 'echo $$ >"$FAKE_CLAUDE_DIR/runs"; exec sleep 300' & wait`), decides(false, "not yet")})
	event, stdout := box.event(eventStop, ""), new(strings.Builder)
	if members != "" {
		event = box.event(eventPreToolUse, members)
	}
	hook = box.command("ccc", "supervisor-hook")
	hook.Stdin, hook.Stdout = strings.NewReader(event), stdout
	check(box.t, hook.Start())
	box.awaitIn("../fake/runs", "\n")
	return hook, stdout
}

// A session is known from its first prompt on. Switched off, it is so at once: the review ends, and decides nothing, of a stop
// or of a question. Who switched it off knows that, and the next prompt says nothing of it.
func TestSwitchedOffDuringReview(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{"stop": "", "question": asked, "by_hand": ""} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			if name != "by_hand" {
				box.inSession()
			}
			box.submit("fix it")
			expectIs(t, "the mode", box.modeOf(testSession), modeOn)
			hook, stdout := box.hangingHook(members)
			start := time.Now()
			expectIn(t, "/supervisor off", box.submit("/supervisor off").stdout, "已关闭")
			if hook.Wait(); stdout.Len() > 0 || time.Since(start) > 5*time.Second {
				t.Errorf("after %v: %s", time.Since(start), stdout)
			}
			lines := box.timeline(testSession)
			if last, before := lines[len(lines)-1].Review, lines[len(lines)-2].Switch; last == nil || last.Verdict != verdictCancelled || before == nil || before.Mode != modeOff {
				t.Errorf("the timeline ends in %+v, %+v", before, last)
			}
			box.submit("/supervisor on")
			expectEnd(t, "the next prompt", box.submit("go on"), 0, "", "")
		})
	}
}

// A switch counts behind a launch or a switch that a clock has dated later.
func TestSwitchBehindClock(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, fmt.Sprintf("%s=%d.token", launchVariable, now().Add(2*time.Hour).UnixMilli()))
	box.submit("fix it")
	expectIn(t, "/supervisor off", box.submit("/supervisor off").stdout, "已关闭")
	expectEnd(t, "a stop", box.stop(""), 0, "", "")
	expectIn(t, "/supervisor on", box.submit("/supervisor on").stdout, "已打开")
	expectIn(t, "the next", box.stop("").stdout, `"reason":"not yet"`)
}

// /supervisor tells how the session stands, in the words of the views, while a review runs, too.
func TestSwitchQuery(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.reviews(blocks("add tests"))
	box.submit("fix it")
	for range 2 {
		box.stop("")
	}
	expectIn(t, "the answer", box.submit("/supervisor").stdout,
		`{"decision":"block","reason":"监督：已打开 · 这项要求已审查 2/8 次 · 退回（`, `秒前）\n本会话共审查 2 次 · $0.0`, `\n要改：/supervisor on（打开）、off（关闭）、observe（旁观）"}`)
	box.submit("and this")
	hook, _ := box.hangingHook("")
	expectIn(t, "the answer during a review", box.submit("/supervisor").stdout, "已审查 1/8 次 · 审查中 1/8 · ")
	box.submit("/supervisor off")
	hook.Wait()
	box.vars = append(box.vars, "LC_ALL=en_US.UTF-8")
	expectIn(t, "the answer in English", box.submit("/supervisor").stdout,
		"Supervision: off · reviews of this request: 1/8 · cancelled ", ` ago\nThis session: 3 reviews · $0.0`, `\nTo switch it: /supervisor on, off or observe"}`)
}

// What of a prompt is /supervisor, with which operand, and which of these is rather a slip than a task.
func TestSlashCommand(t *testing.T) {
	for prompt, want := range map[string]string{"/supervisor": "true ", "/supervisor on": "true on", "/supervisor ON": "true on", "/supervisor\tOff\n": "true off", "/supervisor 打开": "true on", "/supervisor 关闭": "true off",
		"/supervisor 开": "true on", "/supervisor 关": "true off", "/supervisor 关闭。": "true off", "/supervisor 关。": "true off", "/supervisor\u3000关": "true off",
		"/supervisor 旁观": "true observe", "/supervisor 状态": "true ", "/supervisor 关闭监督": "true 关闭监督", "/supervisor 修好它。": "true 修好它。",
		"/supervisor fix it": "true fix it", " /supervisor\nfix": "true fix", "/supervisors": "false", "/supervisoron": "false", "x /supervisor": "false", "supervisor on": "false", "": "false", "/Supervisor on": "false"} {
		operand, is := slashCommand(prompt)
		if got := fmt.Sprint(is, " ", operand); !strings.HasPrefix(got, want) || is && got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
	for operand, want := range map[string]bool{"on": false, "off": false, "": false, "offf": true, "off.": true, "--stop": true, "fix it": false, "fix1": true, "a_b": true, "停用": true, "off please": true,
		"停": true, "关掉": true, "关闭监督": true, "关闭监督。": true, "观察": true, "ＯＦＦ": true, "关 了": true, "修好登录页": false, "修好登录页。": false, "修 bug": false,
		"把监督关掉": true, "turn it off": true, "please turn it off!": true, "STOP it": true, "帮我先停一停这个监督吧": true, "关 supervisor": true, "修好登录页，不要关掉旧的接口": false,
		"fix the offset": false, "stop the server when idle": false,
		"don't review": true, "turn off the review please": true, "stop reviewing my work now please": true,
		"不要再审查了": true, "别用全局变量": false, "review the login page": false} {
		expectIs(t, operand, isUnclear(operand), want)
	}
}

// /supervisor is left alone where the user or the project has a command or a skill of that name, and only there.
func TestSlashCommandIsTheirs(t *testing.T) {
	for name, test := range map[string]struct {
		path, text string
		theirs     bool
	}{
		"none":                  {"", "", false},
		"ccc's":                 {"claude/commands/supervisor.md", commandFile.zh, false},
		"ccc's, in English":     {"claude/commands/supervisor.md", commandFile.en, false},
		"an older ccc's":        {"claude/commands/supervisor.md", "older", false},
		"the user's":            {"claude/commands/supervisor.md", "mine", true},
		"empty":                 {"claude/commands/supervisor.md", "", true},
		"the project's":         {"project/.claude/commands/supervisor.md", "mine", true},
		"ccc's, in the project": {"project/.claude/commands/supervisor.md", commandFile.zh, false},
		"a skill":               {"claude/skills/supervisor/SKILL.md", "", true},
		"the project's skill":   {"project/.claude/skills/supervisor/SKILL.md", "", true},
		"another":               {"claude/commands/other.md", "mine", false},
		"another skill":         {"claude/skills/other/SKILL.md", "", false},
	} {
		dir := t.TempDir()
		d := dirs{claude: filepath.Join(dir, "claude")}
		check(t, os.MkdirAll(d.claude, 0o700))
		record := encodeJSON(&installation{Files: map[string]string{d.commandFile(): checksum([]byte("older"))}})
		check(t, os.WriteFile(d.installedFile(), record, 0o600))
		if path := filepath.Join(dir, test.path); test.path != "" {
			check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(test.text), 0o600)))
		}
		expectIs(t, name, theirCommand(d, filepath.Join(dir, "project")) != "", test.theirs)
	}
}

// A verdict that comes right behind a switch to off decides nothing.
func TestSwitchedOffBeforeVerdict(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.submit("fix it")
	box.reviews(fakeReview{switches(box, "off"), decides(false, "not yet")})
	expectEnd(t, "the stop", box.stop(""), 0, "", "ccc: no review: ")
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
}

// An observed session is judged and never sent back, whoever said so: the user reads what the reviewer found, and so
// does the next reviewer, who learns that the agent has not.
func TestObserve(t *testing.T) {
	beside(t)
	const inFile, bySwitch = "supervisor.observe", "/supervisor observe"
	for _, how := range []string{inFile, bySwitch} {
		t.Run(how, func(t *testing.T) {
			box := newHookBox(t)
			box.inSession()
			box.vars = append(box.vars, "LC_ALL=en_US.UTF-8")
			box.reviews(blocks("add tests"))
			answer := "Observed: each stop is judged"
			if how == inFile {
				box.write(".claude/ccc.json", 0o600, `{"supervisor":{"observe":true,"max_iterations":1}}`)
				answer = "Supervision is on, but supervisor.observe is true"
				expectIn(t, "/supervisor on", box.submit("/supervisor on").stdout, answer)
			} else {
				expectIn(t, how, box.submit(how).stdout, answer)
			}
			started := box.hook(box.event(eventStart, `"source":"startup"`)).stdout
			expectIn(t, "the session's first line", started, `"[SUPERVISOR] This session is observed: stops are judged`)
			box.submit("fix it")
			for range 2 { // it counts for no limit
				got := box.stop("")
				expectIn(t, "the answer to a stop", got.stdout, `{"systemMessage":"[SUPERVISOR] Review: would be sent back · `,
					`\nThe feedback, which the agent has not got; pass it on as you like: add tests"}`)
				expectIn(t, "stderr", got.stderr, "Observed only: the agent may stop")
			}
			question := box.hook(box.event(eventPreToolUse, asked))
			expectEnd(t, "a question", question, 0, "", "")
			expectIs(t, "the reviews", box.reviewed(), 2)
			for _, r := range endsOf(box.timeline(testSession)) {
				if !r.Observed || r.Verdict != verdictBlock || r.Iteration != 0 || r.Limit != 0 {
					t.Errorf("recorded: %+v", r)
				}
			}
			expectIn(t, "the state", box.read(statePath), `"count":0`)
			box.submit("thanks") // beyond which it holds
			box.reviews(allows(""))
			box.stop("")
			expectIn(t, "the next request", box.read("../fake/reviewer-3.stdin"), "## Previous feedback\nadd tests", sectionUnseen.en)
			expectIn(t, "the next request", box.read("../fake/reviewer-3.stdin"), "\nRound 1 of at most 1.")
			box.submit("more")
			box.stop("")
			expectNotIn(t, "a request behind an approval", box.read("../fake/reviewer-4.stdin"), "add tests", sectionUnseen.en)
			box.reviews(blocks("add docs"))
			box.stop("")
			box.installHooks()
			expectIn(t, "/supervisor", box.submit("/supervisor").stdout, "Supervision: observed · would be sent back")
			expectIn(t, "status", box.ccc("status"), " observed  would be sent back ")
			expectIn(t, "status --json", box.ccc("status", "--json"), `"mode":"observe"`, `"verdict":"block"`, `"observed":true`)
			expectIn(t, "log", box.ccc("log", testSession), "Review: would be sent back\n", "add docs")
			expectEnd(t, "verdict", box.run(10*time.Second, "", "ccc", "verdict"), 1, "block\n", "Review: would be sent back")
		})
	}
}
