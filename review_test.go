package main

// What a stop or a question comes to: what the reviewer gets, and what is said to whom.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inTurn is the member of a stop's event behind a blocked one.
const inTurn = `"stop_hook_active":true`

// What is told in a session. By hand, with nobody to show it, a failed review and the limit leave stdout empty.
func TestShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, state string
		review      fakeReview
		said, shown string
	}{
		{"approved", "", allows(""), "任务已完成\n允许停止", "审查 1/8：通过 · "},
		{"left_to_the_user", "", allows("rotate the key"), "允许停止", "审查者给你的留言：rotate the key"},
		{"failed", "", fails("API Error: 529"), "no review: 审查者报错：API Error: 529", `这次审查未完成，Agent 的工作未经检查。\n原因：审查者报错：API Error: 529\n` +
			`发一条“继续”，它停下时会再审，或者运行 ccc review。\n仍不行请运行 ccc doctor`},
		{"too_long", "", fails("Prompt is too long"), "no review: 审查者报错：Prompt is too long", `原因：审查者报错：Prompt is too long\n` +
			`对话太长，审查者读不下：先运行 /compact，再发一条“继续”"}`},
		{"limit", stateText(testSession, 10, ""), allows(""), "这项要求的 10 次审查已用完，允许停止",
			`"[SUPERVISOR] 这项要求的 8 次审查已用完，这次停下没有再审。\n你再发消息会重新计数。"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newHookBox(t)
			box.reviews(test.review)
			prepare := func() {
				if test.state != "" {
					box.write(statePath, 0o600, test.state)
				}
			}
			prepare()
			expectEnd(t, "by hand", box.stop(""), 0, "", test.said)
			box.inSession()
			box.submit("before")
			prepare()
			got := box.stop(inTurn)
			expectIs(t, "the exit code in a session", got.code, 0)
			expectPrefix(t, "stdout in a session", got.stdout, `{"systemMessage":"[SUPERVISOR] `)
			expectIn(t, "stdout in a session", got.stdout, test.shown)
			// Told at once, it is not told again; the prompt is not the first.
			expectEnd(t, "the next prompt", box.submit("next"), 0, "", "")
		})
	}
}

// What does not help is not advised: where the conversation can't be found, or the directory of the session is gone, no review
// comes about.
func TestShownWithoutAdvice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ damage, cause string }{
		"no conversation": {"rm -r $HOME/.claude/projects", "No conversation found with session ID: " + testSession},
		"no directory":    {"rm -r $CLAUDE_PROJECT_DIR", "project 不在了"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+filepath.Join(box.home, "project"), "CCC_SUPERVISOR=1")
			box.write("project/x", 0o600, "")
			box.run(10*time.Second, "", "sh", "-c", test.damage)
			got := box.stop("")
			expectIn(t, "the message", got.stdout, test.cause+`\n详情见 ccc log"}`)
		})
	}
}

// At the limit the user reads what is still open.
func TestShownAtLimit(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	box.reviews(blocks("two tests fail"))
	box.submit("fix it")
	box.stop("")
	const want = `{"systemMessage":"[SUPERVISOR] 这项要求的 1 次审查已用完，这次停下没有再审。\n你再发消息会重新计数。\n` +
		`上次的反馈还没有解决：two tests fail"}` + "\n"
	expectEnd(t, "the stop at the limit", box.stop(inTurn), 0, want, "这项要求的 1 次审查已用完，允许停止")
	// A review that failed has settled nothing.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	box.reviews(fails("API Error: 529"))
	box.stop(inTurn)
	expectSuffix(t, "the limit behind a failed review", box.stop(inTurn).stdout, "two tests fail\"}\n")
	// What was approved since is open no more.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	box.reviews(allows(""))
	box.stop(inTurn)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	box.reviews(fails("API Error: 529"))
	box.stop(inTurn) // the first behind the approval
	// A question at the limit goes to the user, and the log says so with the question.
	box.hook(box.event(eventPreToolUse,
		`"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which one?","options":[{"label":"A"}]}]}`))
	expectIn(t, "ccc log", box.run(10*time.Second, "", "ccc", "log").stdout, "Which one?", "问题直接交给用户")
	shown := box.stop(inTurn).stdout
	expectIn(t, "the limit behind an approval", shown, "已用完")
	expectNotIn(t, "the limit behind an approval", shown, "two tests fail")
}

// A session that starts, is resumed or comes behind /clear says what it has, and a prompt says nothing. One that goes
// on behind a compaction says nothing, nor does one that was switched off, nor one by hand; where no copy can be made
// that is said, too.
func TestIntroduced(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	box.vars = append(box.vars, "CCC_PROVIDER=kimi")
	const supervised = `{"systemMessage":"[SUPERVISOR] 本会话受监督\n每项要求最多审查 3 次（提供商 kimi）`
	const watch = `\n实时查看：ccc log -f\n切换：/supervisor off（关闭）、on（打开）、observe（旁观）"}` + "\n"
	expectStart := func(source, want string) {
		t.Helper()
		got := box.hook(box.event(eventStart, `"source":"`+source+`"`))
		got.stdout = strings.Replace(got.stdout, strings.ReplaceAll(introducedNoCopy.zh, "\n", `\n`), "", 1)
		expectEnd(t, source, got, 0, want, "")
	}
	for _, source := range []string{"startup", "resume", "clear", "fork"} {
		expectStart(source, supervised+watch)
	}
	expectStart("compact", "")
	expectEnd(t, "the first prompt", box.submit("hello"), 0, "", "")
	box.submit("/supervisor off")
	expectStart("resume", "")
	box.submit("/supervisor on")
	expectStart("resume", supervised+watch)
	ids, _ := box.stateDir().sessions()
	expectEqual(t, "the sessions", ids, []string{testSession})
	box.vars = append(box.vars, "HOME=", testTrustVariable+"=") // without a HOME there is no copy
	box.vars = append(box.vars, "CLAUDE_CONFIG_DIR="+box.home+"/.claude")
	got := box.hook(box.event(eventStart, `"source":"startup"`))
	expectEnd(t, "without copies", got, 0, supervised+`\n这里建不了副本，审查者只能读文件；解决办法：ccc doctor`+watch, "")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3,"review":"work"}}`)
	box.vars = append(box.vars, testTrustVariable+"=slow") // then nothing is known
	expectStart("startup", supervised+`\n只说话、没动手的回合不审查`+watch)
	box.vars = append(box.vars, "LC_ALL=C.UTF-8")
	offer := `\nFor English: {\"language\": \"en\"} in ` + box.home + `/.claude/ccc.json"}`
	expectIn(t, "without a language", box.hook(box.event(eventStart, `"source":"fork"`)).stdout, `observe（旁观）`+offer)
	box.vars = append(box.vars, "LC_ALL=zh_CN.UTF-8")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	expectEnd(t, "slow", box.hook(box.event(eventStart, `"source":"startup"`)), 0, supervised+watch, "")
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR=")
	expectStart("startup", "")
}

// A review that ended without a word to the user is told at the next prompt, once, however it ended and whatever was
// reviewed by hand since; not while a review runs, nor once another stop has been told, nor of a question, which the
// user has answered.
func TestUntold(t *testing.T) {
	t.Parallel()
	const told = "上次审查已取消，Agent 的工作未经检查。"
	for name, test := range map[string]struct {
		members string // of a question
		signal  syscall.Signal
		told    string
	}{
		"killed":             {signal: syscall.SIGKILL, told: told},
		"killed question":    {members: asked, signal: syscall.SIGKILL},
		"escaped":            {signal: syscall.SIGTERM, told: told},
		"escaped question":   {members: asked, signal: syscall.SIGTERM},
		"escaped, approved":  {signal: syscall.SIGTERM},
		"killed, by hand":    {signal: syscall.SIGKILL, told: told},
		"killed, woken":      {signal: syscall.SIGKILL, told: told},
		"escaped, then asks": {signal: syscall.SIGTERM, told: told},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.inSession()
			box.submit("fix it")
			hook, stdout := box.hangingHook(test.members)
			expectEnd(t, "a prompt during the review", box.submit("also this"), 0, "", "")
			check(t, hook.Process.Signal(test.signal))
			hook.Wait()
			expectIs(t, "stdout", stdout.String(), "")
			session := box.stateDir().session(testSession)
			h, err := session.readHistory()
			check(t, err)
			expectIs(t, "the verdict", h.Reviews[0].Verdict, verdictCancelled)
			box.reviews(allows(""))
			switch _, then, _ := strings.Cut(name, ", "); then {
			case "approved":
				expectIn(t, "the next stop", box.stop("").stdout, "通过")
			case "by hand":
				check(t, session.append(ended(review{ID: "h", Event: eventReview, outcome: outcome{Verdict: verdictAllow}})))
			case "woken":
				expectEnd(t, "a notification", box.submit("<task-notification>\nx"), 0, "", "")
			case "then asks":
				expectIn(t, "/supervisor", box.submit("/supervisor").stdout, "监督：已打开 · 这项要求已审查 1/8 次 · 已取消（")
			}
			got := box.submit("next").stdout
			expectIn(t, "the next prompt", got, test.told)
			expectIs(t, "whether it says something", got != "", test.told != "")
			expectEnd(t, "the one behind it", box.submit("more"), 0, "", "")
		})
	}
}

// A question that the reviewer answered is told with its options, whose answer the agent got, and how to say otherwise; one that
// was let through with what the reviewer says to it. By hand nobody is told.
func TestQuestionShown(t *testing.T) {
	beside(t)
	const twice = `"tool_name":"AskUserQuestion","tool_input":{"questions":[` +
		`{"question":"Which\ndatabase?","options":[{"label":"SQLite"},{"label":"Postgres"}]},` +
		`{"question":"And where?","options":[]}]}`
	opened := func(decision, reason string) string { return strings.TrimSuffix(toolOutput(decision, reason), "}\n") }
	for name, test := range map[string]struct {
		state  string
		review fakeReview
		answer string // in a session
		byHand string
		stderr []string
	}{
		"answered": {
			review: blocks("use SQLite"),
			answer: opened("deny", "use SQLite") + `,"systemMessage":"[SUPERVISOR] 审查者（不是你）回答了 Agent 的提问：\n` +
				`Which database?\n- SQLite\n- Postgres\nAnd where?\n它的回答：use SQLite\n` +
				`提问审查 1/8：退回 · SECONDS · 没有在副本里运行命令\n不同意：按 Esc，再输入你的回答"}`,
			byHand: toolOutput("deny", "use SQLite"),
			stderr: []string{"[SUPERVISOR] 正在审查提问...\n", "[SUPERVISOR] 提问退回\nuse SQLite\nAgent 将根据反馈继续工作\n"},
		},
		"let through": {
			review: allows("back it up"),
			answer: opened("allow", "back it up") + `,"systemMessage":"[SUPERVISOR] ` +
				`提问审查 1/8：通过 · SECONDS · 没有在副本里运行命令\n审查者给你的留言：back it up"}`,
			byHand: toolOutput("allow", "back it up"),
			stderr: []string{"[SUPERVISOR] 问题交给用户\n"},
		},
		"limit": {
			state:  stateText(testSession, 10, ""),
			review: allows(""),
			answer: opened("allow", "这项要求的 8 次审查已用完") +
				`,"systemMessage":"[SUPERVISOR] 这项要求的 8 次审查已用完，这个提问没有审查。"}`,
			byHand: toolOutput("allow", "这项要求的 10 次审查已用完"),
		},
		"failed": {
			review: fails("API Error: 529"),
			answer: `{"systemMessage":"[SUPERVISOR] 这个提问的审查未完成，直接交给了你。\n` +
				`原因：审查者报错：API Error: 529\n详情见 ccc log"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for where, want := range map[string]string{"by hand": test.byHand, "in a session": test.answer + "\n"} {
				box := newHookBox(t)
				if where == "in a session" {
					box.inSession()
				}
				if test.state != "" {
					box.write(statePath, 0o600, test.state)
				}
				box.reviews(test.review)
				got := box.hook(box.event(eventPreToolUse, twice))
				answer := regexp.MustCompile(`[\d.]+ 秒 · \$[\d.]+`).ReplaceAllString(got.stdout, "SECONDS")
				expectIs(t, "the answer "+where, answer, want)
				expectIn(t, "stderr "+where, got.stderr, test.stderr...)
				expectNotIn(t, "stderr "+where, got.stderr, "正在审查工作", "[SUPERVISOR] 任务")
			}
		})
	}
}

// What the receipt is made of where a disk was full: what the reviewer did is known from the timeline alone.
func TestReceiptUnrecorded(t *testing.T) {
	for _, isRecorded := range []bool{true, false} {
		h, want := testHook(t, eventReview), "审查：通过"
		r := review{ID: "r", Event: eventReview, outcome: outcome{Verdict: verdictAllow}}
		if isRecorded {
			want += " · " + receiptRead.zh
			check(t, h.session.append(entry{Review: &r}))
		} else {
			check(t, os.Mkdir(h.session.timelineFile(), 0o700))
		}
		h.past, _ = h.session.readHistory()
		_ = h.session.append(entry{Step: &step{Review: "r", Kind: stepCall, Tool: "Read(a)"}})
		expectIs(t, "the receipt", h.end(r, nil).receipt(), want)
	}
}

// What the reviewer of a review that failed has run is known, too, and the log has the end of one that was killed.
func TestFailedKeepsSteps(t *testing.T) {
	h := testHook(t, eventStop)
	r := newReview(eventStop)
	r.Iteration, r.Limit = 1, 10
	check(t, h.session.append(entry{Review: &r}))
	h.past, _ = h.session.readHistory()
	check(t, h.session.append(entry{Step: &step{Review: r.ID, Kind: stepRun, Command: "make"}}))
	expectIs(t, "the runs", len(h.end(r, errors.New("overloaded")).did.Runs), 1)
	killed := newReview(eventStop)
	killed.Deadline = time.Now().Add(-time.Hour)
	check(t, h.session.append(entry{Review: &killed}))
	h.recordPrompt("next")
	log, _ := os.ReadFile(h.session.dir.logFile())
	expectIn(t, "the log", string(log), "verdict=cancelled iteration=0/0 duration=0.000s error=", errUserEnded.zh)
}

// The reviewer stands in the worktree that the agent works in, and may read the main checkout; it is told which is
// which.
func TestWorktree(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1")
	tree := filepath.Join(box.work, "trees/feature")
	box.write("../work/.git/worktrees/feature/commondir", 0o600, "../..\n")
	box.write("../work/trees/feature/.git", 0o600, "gitdir: "+filepath.Join(box.work, ".git/worktrees/feature")+"\n")
	box.write("../work/trees/feature/sub/x", 0o600, "")
	event := strings.Replace(box.event("Stop", ""), box.work, filepath.Join(tree, "sub"), 1)
	expectEnd(t, "the stop", box.hook(event), 0, blockNotYet, saidNotYet)
	expectIs(t, "the reviewer's directory", strings.TrimSpace(box.read("../fake/reviewer-1.cwd")), tree)
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "worktree 里工作："+tree, "主目录 "+box.work)
	expectIn(t, "the reviewer's command line", box.read("../fake/reviewer-1.args"), "--add-dir\n"+box.work+"\n")
}

// Where the agent stands in another repository, or the project is named by a link, the project is reviewed.
func TestNoWorktree(t *testing.T) {
	for project, cwd := range map[string]string{"work": "other", "link": "work"} {
		box := newHookBox(t)
		root := filepath.Dir(box.home)
		box.write("../work/.git/HEAD", 0o600, "")
		box.write("../other/.git/HEAD", 0o600, "")
		check(t, os.Symlink(box.work, filepath.Join(root, "link")))
		box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+filepath.Join(root, project), "CCC_SUPERVISOR=1")
		box.hook(strings.Replace(box.event("Stop", ""), box.work, filepath.Join(root, cwd), 1))
		expectIs(t, project, strings.TrimSpace(box.read("../fake/reviewer-1.cwd")), box.work)
		request := box.read("../fake/reviewer-1.stdin")
		expectIn(t, "the request of "+project, request, "Agent 的当前目录")
		expectNotIn(t, "the request of "+project, request, "worktree")
	}

	// An event that does not say where the agent is: Claude Code runs the hook there.
	box := newHookBox(t)
	box.hook(`{"session_id":"` + testSession + `"}`)
	expectIs(t, "the project on record", box.onlyTimeline()[0].Project, box.work)
	expectNotIn(t, "the reviewer's environment outside git", box.environment("reviewer-1"), alternatesVariable)
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "Agent 的当前目录："+box.work)
}

// The session's directories go to the reviewer, and its model: the newest of which the transcript tells.
func TestSessionsModelAndDirectories(t *testing.T) {
	box := newHookBox(t)
	for _, name := range []string{"../launch", "../typed"} {
		box.write(name+"/x", 0o600, "")
	}
	dir := func(name string) string { return filepath.Join(filepath.Dir(box.home), name) }
	box.vars = append(box.vars, "CCC_ADD_DIRS="+dir("launch")+"\n"+dir("gone")+"\n"+dir("launch/x")+"\nrelative")
	command := userLine("1", "", "<command-name>/add-dir</command-name><command-args>"+dir("typed")+"</command-args>")
	for i, id := range []string{"m-1[1m]", ""} {
		box.stop(box.transcript(command, modelLine("2", "1", "m-0"), modelLine("3", "2", id), userLine("4", "3", "fix it"), agentLine("5", "4", "done")))
		args := box.read(fmt.Sprintf("../fake/reviewer-%d.args", i+1))
		model := cmp.Or(id, "m-0")
		expectIn(t, "the arguments", args, "--add-dir\n"+dir("launch")+"\n"+dir("typed")+"\n", "--model\n"+model+"\n")
		expectNotIn(t, "the arguments", args, dir("gone"), dir("launch/x"), "relative\n")
		expectIs(t, "the model on record", lastReview(t, box.timeline(testSession)).Model, model)
	}
	lines := []string{modelLine("1", "", "m-1"), userLine("2", "1", "fix it"), agentLine("3", "2", "done")}
	for i, test := range []struct {
		config, model string
	}{
		{`{"supervisor":{"model":"chosen"}}`, "--model\nchosen\n"}, // the model of ccc.json comes before the session's
		// Another provider does not know the model, nor has its cache anything of the session's.
		{`{"supervisor":{"provider":"b"},"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"t"}}}}`, ""},
		{`{}`, "--model\nm-1\n"},
	} {
		box.write(".claude/ccc.json", 0o600, test.config)
		box.stop(box.transcript(lines...))
		args := box.read(fmt.Sprintf("../fake/reviewer-%d.args", i+3))
		expectIs(t, test.config+": a review", args != "", true)
		expectIn(t, test.config, args, test.model)
		expectIs(t, test.config+": a model is named", strings.Contains(args, "--model"), test.model != "")
	}
}

// Which way a reviewer is asked: with the agent's prompt cache where that costs less and nothing stands in the way.
func TestWayTaken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env, supervisor string
		args            []string
		want, byHand    string // byHand is of a review by hand, where one is made
	}{
		"long":           {want: "cache", byHand: "own"},
		"short":          {env: "FAKE_CLAUDE_TOKENS=39999", want: "own"},
		"a login":        {env: "ANTHROPIC_AUTH_TOKEN=", want: "own", byHand: "own"},
		"kept line":      {env: "CLAUDE_CODE_ATTRIBUTION_HEADER=1", want: "own"},
		"own settings":   {env: "ANTHROPIC_AUTH_TOKEN=", args: []string{"--settings", `{"apiKeyHelper":"echo k"}`}, want: "cache"},
		"own sources":    {args: []string{"--setting-sources", "user,project"}, want: "own"},
		"own prompt":     {args: []string{"--append-system-prompt", "be brief"}, want: "cache"}, // whether it serves is measured
		"model variable": {env: "ANTHROPIC_MODEL=haiku", want: "cache"},
		"other model":    {supervisor: `"model":"haiku"`, want: "own"},
		"same model":     {supervisor: `"model":"claude-sonnet-4-6"`, want: "cache"},
		"other provider": {supervisor: `"provider":"b"`, want: "own"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(append(box.vars, "FAKE_CLAUDE_TOKENS=40000", "ANTHROPIC_AUTH_TOKEN=t"), strings.Fields(test.env)...)
			supervisor := test.supervisor
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{`+supervisor+`},"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"t"}}}}`)
			box.run(30*time.Second, "", slices.Concat([]string{"ccc", "--supervisor"}, test.args, []string{"--", "hi"})...)
			expectIs(t, "the way", lastReview(t, box.onlyTimeline()).Way, test.want)
			args := box.read("../fake/reviewer-1.args")
			expectIs(t, "with a schema", strings.Contains(args, "--json-schema"), test.want != "cache")
			if name == "model variable" { // the reviewer has the session's model, not that
				expectIn(t, "the arguments", args, "--model\nclaude-sonnet-4-6\n")
			}
			if test.byHand == "" {
				return
			}
			box.vars = append(box.vars, "CLAUDE_CODE_ATTRIBUTION_HEADER=0", "CCC_CACHE=line") // as in a terminal that the session opened
			got := box.run(30*time.Second, "", "ccc", "review", "--json").stdout
			expectIs(t, "by hand, with the cache: "+got, strings.Contains(got, `"way":"cache"`), test.byHand == "cache")
			env := box.environment("reviewer-2")
			expectIs(t, "by hand, there is a reviewer", env != "", true)
			// The line stays that a login is billed by.
			expectNotIn(t, "by hand, the environment", env, "ATTRIBUTION_HEADER")
		})
	}
}

// A launch passes its --add-dir on.
func TestLaunchAddDirs(t *testing.T) {
	box := newFakeBox(t)
	box.write("../other/x", 0o600, "")
	other := filepath.Join(filepath.Dir(box.home), "other")
	box.run(30*time.Second, "hello", "ccc", "--supervisor", "--", "-p", "--add-dir", "../other", "--verbose")
	expectIn(t, "the reviewer's command line", box.read("../fake/reviewer-1.args"), "--add-dir\n"+other+"\n")
	box.claudeIs(`printf %s "$CCC_ADD_DIRS" >"$HOME/dirs"`)
	box.run(30*time.Second, "", "ccc", "--supervisor", "--",
		"a", "--add-dir", "../other", "/b", "--verbose", "c", "--add-dir=/d", "e", "--", "--add-dir", "/f")
	expectIs(t, "the directories", box.read("dirs"), other+"\n/b\n/d")
}

// What a user's rules let MCP servers do, they do not in a review, whichever way it is asked: they are kept out.
func TestReviewersServers(t *testing.T) {
	for name, test := range map[string]struct {
		config       string
		noTranscript bool
		kept         bool // out: --strict-mcp-config, and each of their tools asks
	}{
		"by default":                {config: `{}`, kept: true},
		"where ccc.json allows one": {config: `{"allowed_tools":["mcp__x"]}`},
	} {
		box := newHookBox(t)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":`+test.config+`}`)
		member := ""
		if !test.noTranscript {
			member = box.transcript(userLine("1", "", "fix it"), agentLine("2", "1", "done"))
		}
		box.stop(member)
		args := box.read("../fake/reviewer-1.args")
		expectIs(t, name+": --strict-mcp-config", strings.Contains(args, "--strict-mcp-config\n"), test.kept)
		expectIs(t, name+": their tools ask", strings.Contains(args, `"mcp__*"`), test.kept)
		expectIn(t, name, args, `"ask":["CronCreate",`)
	}
}

// Whether the agent's prompt cache served is measured: where less than half of what the reviewer's first request read came from
// it, the session's later reviews have a prompt of their own, and the log says so.
func TestCacheMeasured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fresh, cached int    // tokens of the reviewer's first request
		want          string // the ways of two reviews
		missed        bool
	}{
		"served":     {fresh: 50_000, cached: 50_000, want: "cache cache"},
		"missed":     {fresh: 50_001, cached: 50_000, want: "cache own", missed: true},
		"none_of_it": {fresh: 100_000, want: "cache own", missed: true},
		"no_figures": {want: "cache cache"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, "FAKE_CLAUDE_TOKENS=40000", "ANTHROPIC_AUTH_TOKEN=t")
			first := func(s *fakeStream) {
				s.add(`{"type":"assistant","message":{"id":"msg_first","model":%q,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,`+
					`"cache_read_input_tokens":%d,"output_tokens":1},"content":[]},"session_id":%q}`, fakeModel, test.fresh, test.cached, testReviewer)
			}
			box.reviews(fakeReview{first, decides(false, "go on")}, fakeReview{first, decides(true, "")})
			box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			var ways []string
			for _, r := range endsOf(box.onlyTimeline()) {
				ways = append(ways, r.Way)
			}
			expectIs(t, "the ways", strings.Join(ways, " "), test.want)
			log := box.run(10*time.Second, "", "ccc", "log").stdout
			expectIs(t, "the log says it", strings.Count(log, "没有命中，之后的审查不再用它"), map[bool]int{true: 1}[test.missed])
		})
	}
}

// /supervisor is the user's where they have a command or a skill of that name.
func TestUsersOwnCommand(t *testing.T) {
	for _, name := range []string{".claude/commands/supervisor.md", "../work/.claude/commands/supervisor.md", ".claude/skills/supervisor/SKILL.md"} {
		box := newFakeBox(t)
		box.write(name, 0o600, "mine: $ARGUMENTS\n")
		box.vars = append(box.vars, "FAKE_CLAUDE_SESSION="+testSession)
		box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		expectIs(t, name+": what is said", box.submit("/supervisor off").stdout, "")
		expectIs(t, name+": the file", box.read(name), "mine: $ARGUMENTS\n")
		h, err := box.stateDir().session(testSession).readHistory()
		check(t, err)
		expectIs(t, name+": the user's request", h.newestRequest(), "/supervisor off")
	}
}

// A session of a Claude Code that is too old is not reviewed, and the way out is named.
func TestReviewOfOldClient(t *testing.T) {
	box := newHookBox(t)
	lines := userLine("1", "", "fix it") + "\n" + agentLine("2", "1", "done")
	got := box.stop(box.transcript(strings.Split(strings.ReplaceAll(lines, "2.1.332", "2.1.279"), "\n")...))
	expectEnd(t, "the stop", got, 0, "", "Claude Code 2.1.279 太旧，至少要 2.1.280：claude update / npm install -g")
	expectIs(t, "the reviewer", box.read("../fake/reviewer-1.args"), "")
}

// An answer without a verdict sends the agent back with its words, or with the default feedback where it must
// not get them. The third in a row is no review, and the second already where the agent would not get its
// words. A verdict, a failure and a prompt of the user's end the row.
func TestWithoutVerdict(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	box.inSession()
	const approves = "```json\n{\"allow_stop\": true, \"feedback\": \"\"}\n```\nThat is my verdict."
	const repeated = "没有能读取的判定。最后只输出一个 JSON 对象"
	stops := []struct {
		says          string // "": it refuses
		reason, shown string // what the agent gets, and the user
		repeated      bool   // the request repeats the form
	}{
		{"Two tests fail.", "Two tests fail.", withoutVerdict.zh, false},
		{"One test fails.", "One test fails.", withoutVerdict.zh, true},
		{"No test fails.", "", say(noVerdictAgain, 3), true},
		{approves, defaultFeedback.zh, unreadableVerdict.zh, true},
		{approves, "", say(noVerdictAgain, 2), true},
		{"(no content)", defaultFeedback.zh, unreadableVerdict.zh, true},
		{"", "not yet", "退回", true},
		{" ", defaultFeedback.zh, unreadableVerdict.zh, false},
		{"None", defaultFeedback.zh, unreadableVerdict.zh, false}, // behind a prompt
		{"One test fails.", "One test fails.", withoutVerdict.zh, true},
	}
	var reviews []fakeReview
	for _, stop := range stops {
		review := fakeReview{answers(stop.says)}
		if stop.says == "" {
			review = blocks("not yet")
		}
		reviews = append(reviews, review)
	}
	box.reviews(reviews...)
	box.submit("fix it")
	for i, stop := range stops {
		if stop.says == "None" {
			box.submit("and this")
		}
		name := fmt.Sprint("stop ", i+1)
		got := box.stop("")
		want := fmt.Sprintf(`{"decision":"block","reason":%q}`+"\n", stop.reason)
		said := "任务未完成\n" + stop.reason + "\nAgent 将根据反馈继续工作"
		if stop.reason == "" {
			want, said = got.stdout, "没有给出判定"
			expectNotIn(t, name, want, "decision")
		}
		expectEnd(t, name, got, 0, want, said)
		expectIn(t, name, got.stdout, stop.shown)
		request := box.read(fmt.Sprintf("../fake/reviewer-%d.stdin", i+1))
		expectIs(t, name+": the form is repeated", strings.Contains(request, repeated), stop.repeated)
	}
	var recorded []string
	for _, r := range endsOf(box.timeline(testSession)) {
		recorded = append(recorded, fmt.Sprint(r.Verdict, " ", r.NoVerdict, " ", r.Withheld))
	}
	words, withheld := "block true false", "block true true"
	const failed = "failed false false"
	expectEqual(t, "the records", recorded, []string{words, words, failed, withheld, failed, withheld,
		"block false false", withheld, withheld, words})
	expectIs(t, "what the log tells", strings.Count(box.log(), " no_verdict=true"), 7)
	log := box.run(10*time.Second, "", "ccc", "log", testSession).stdout
	expectIn(t, "ccc log", log, withoutVerdict.zh, unreadableVerdict.zh)
}

// The reason of a failure is the result's own. What the reviewer wrote to stderr is added where there is no
// result, without what Claude Code says there of a model that it does not know.
func TestReasonOfFailure(t *testing.T) {
	beside(t)
	const notices = `echo '[claude-code:unrecognized_model] {"model":"glm-4.7"}' >&2` + "\n" +
		`echo "Claude Code doesn't recognize the model \"glm-4.7\", so it assumes 1m tokens." >&2`
	notice, said, exits, result := runs(notices), runs("echo Not logged in >&2"), runs("exit 1"), fails("API Error: 529")[1]
	noResult := say(withReason, errNoResult.zh, "exit status 1")
	for name, test := range map[string]struct {
		review fakeReview
		want   string
	}{
		"a result, and a notice":       {fakeReview{notice, result}, "审查者报错：API Error: 529"},
		"a result, and stderr":         {fakeReview{said, result}, "审查者报错：API Error: 529"},
		"no result":                    {fakeReview{exits}, noResult},
		"no result, and a notice":      {fakeReview{notice, exits}, noResult},
		"no result, and stderr":        {fakeReview{said, exits}, noResult + ": Not logged in"},
		"no result, notice and stderr": {fakeReview{notice, said, exits}, noResult + ": Not logged in"},
		"stderr, then a notice":        {fakeReview{said, notice, exits}, noResult + ": Not logged in"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.reviews(test.review)
			box.stop("")
			expectIs(t, "the reason", lastReview(t, box.timeline(testSession)).Error, test.want)
		})
	}
}

// Neither the reviewer nor the agent gets a redacted text: what a provider sets and what a variable names stands in the code, too.
func TestNothingRedacted(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	box.vars = append(box.vars, "GNOME_KEYRING_CONTROL=/run/user/1000/keyring")
	box.write(".claude/ccc.json", 0o600, `{"providers":{"kimi":{"env":{"ANTHROPIC_BASE_URL":"https://kimi.example","ANTHROPIC_MODEL":"kimi-k2-thinking"}}}}`)
	const code = `const model = "kimi-k2-thinking", control = "/run/user/1000/keyring"`
	box.submit("set it to kimi-k2-thinking")
	box.write("../work/notes.txt", 0o600, code+"\n")
	box.write("../work/.env", 0o600, "MODEL=kimi-k2-thinking\n")
	box.reviews(blocks(code))
	for range 2 {
		talk := box.transcript(transcriptOf("user: set it to kimi-k2-thinking; agent: done"))
		got := box.stop(talk + `,"last_assistant_message":` + string(encodeJSON("done: "+code+" it is")))
		expectEnd(t, "the stop", got, 0, string(encodeJSON(blocked(code)))+"\n", "任务未完成\n"+code+"\n")
	}
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "the request", request,
		"to kimi-k2-thinking", "\n+"+code+"\n", "\n+MODEL=kimi-k2-thinking\n", code+" it is", "上次反馈\n"+code)
	expectNotIn(t, "the request", request, "***")
}

// The reviewer's words are cut in the timeline, and shown whole as they come.
func TestWordsCut(t *testing.T) {
	box := newHookBox(t)
	box.reviews(fakeReview{says(strings.Repeat("x", 5000)), decides(false, "no")})
	expectIn(t, "stderr", box.stop("").stderr, strings.Repeat("x", 5000))
	events := box.read(eventsPath)
	expectIn(t, "the timeline", events, `"kind":"words"`, strings.Repeat("x", 900))
	expectNotIn(t, "the timeline", events, strings.Repeat("x", 2001))
}

// aSecret is one by its form.
var aSecret = "gh" + "p_" + run62(36, "a secret")

// testHook is a hook of that event in a state directory of its own, without a client.
func testHook(t *testing.T, event string) *hook {
	t.Helper()
	dir := t.TempDir()
	d := dirs{env: setEnv(os.Environ(), claudeVariable, "/bin/sh"), here: dir, claude: dir, ccc: dir, state: stateDir(filepath.Join(dir, "ccc"))}
	check(t, d.state.create())
	h := &hook{supervision: supervision{dirs: d, place: d.state.place(dir, dir, d.env), config: defaultConfig(),
		session: d.state.session(testSession), caller: caller{isScript: true}},
		event: &hookEvent{SessionID: testSession, HookEventName: event, ToolName: askUserQuestion, Cwd: dir}}
	h.past, _ = h.session.readHistory()
	return h
}

// speaking sets the language for a test that runs beside no other.
func speaking(t *testing.T, language string) {
	before := lang
	lang = language
	t.Cleanup(func() { lang = before })
}

// What becomes of each verdict, of a stop and of a question, by hand and in a session.
func TestHookDecision(t *testing.T) {
	speaking(t, "zh")
	deny, allow := strings.TrimSpace(toolOutput("deny", "words")), strings.TrimSpace(toolOutput("allow", "words"))
	for _, test := range []struct {
		event   string
		verdict verdict
		byHand  string
		told    string // in a session, of the message
	}{
		{eventStop, verdictBlock, `{"decision":"block","reason":"words"}`, "审查 1/10：退回"},
		{eventStop, verdictAllow, "null", "审查 1/10：通过\\n审查者给你的留言：words"},
		{eventStop, verdictFailed, "null", "这次审查未完成，Agent 的工作未经检查。\\n原因：why"},
		{eventStop, verdictLimit, "null",
			"这项要求的 10 次审查已用完，这次停下没有再审。\\n你再发消息会重新计数。\\n上次的反馈还没有解决：words"},
		{eventStop, verdictCancelled, "null", ""},
		{eventPreToolUse, verdictBlock, deny,
			"审查者（不是你）回答了 Agent 的提问：\\n\\n它的回答：words\\n提问审查 1/10：退回"},
		{eventPreToolUse, verdictAllow, allow, "提问审查 1/10：通过\\n审查者给你的留言：words"},
		{eventPreToolUse, verdictLimit, strings.Replace(allow, "words", "这项要求的 10 次审查已用完", 1), "这项要求的 10 次审查已用完，这个提问没有审查。"},
		{eventPreToolUse, verdictFailed, "null", "这个提问的审查未完成，直接交给了你。\\n原因：why"},
		{eventPreToolUse, verdictCancelled, "null", ""},
	} {
		found := review{Event: test.event, Iteration: 1, Limit: 10, outcome: outcome{Verdict: test.verdict, Feedback: "words"}}
		if test.verdict == verdictFailed {
			found.Error = "why"
		}
		name := fmt.Sprint(test.event, ", ", test.verdict, ", ")
		expectIs(t, name+"by hand", string(encodeJSON(found.decide(false))), test.byHand)
		got := string(encodeJSON(found.decide(true)))
		if test.told == "" {
			expectIs(t, name+"which the user ended", got, "null")
			continue
		}
		expectIn(t, name+"in a session", got, `"systemMessage":"[SUPERVISOR] `+test.told)
		if test.byHand != "null" {
			expectIn(t, name+"in a session", got, strings.Trim(test.byHand, "{}"))
		} else {
			expectNotIn(t, name+"in a session", got, "decision", "hookSpecificOutput")
		}
	}
	limit := review{Event: eventStop, Limit: 10, outcome: outcome{Verdict: verdictLimit}}
	expectNotIn(t, "without open feedback", limit.message(), "还没有解决")
	approved := review{Event: eventStop, outcome: outcome{Verdict: verdictAllow}}
	expectIs(t, "an approval without words", approved.message(), "审查：通过")
	for of, want := range map[cause]words{"": adviceContinue, causeTooLong: adviceCompact, causeGone: adviceLog} {
		failed := review{Event: eventStop, outcome: outcome{Verdict: verdictFailed, Error: "why", Cause: of}}
		expectIn(t, "the advice on "+string(of), failed.message(), want.zh)
	}
	h := testHook(t, eventStop)
	for length, whole := range map[int]bool{8000: true, 8001: false} {
		text := strings.Repeat("长", length)
		cut := h.cutFeedback(text)
		name := fmt.Sprintf("of %d characters of feedback, ", length)
		expectIs(t, name+"what the agent gets", len([]rune(cut)), 8000)
		expectIs(t, name+"whether that is all", cut == text, whole)
		kept, _ := os.ReadFile(h.session.feedbackFile())
		expectIs(t, name+"whether a file keeps it", string(kept) == text, !whole)
	}
	check(t, os.Remove(h.session.feedbackFile()))
	check(t, os.Mkdir(h.session.feedbackFile(), 0o700))
	expectIs(t, "what can't be kept", len([]rune(h.cutFeedback(strings.Repeat("长", 9000)))), 9000)
}

// What is recorded of a client in a session's state: its provider and its launch, the later one; by hand neither.
func TestHookUpdates(t *testing.T) {
	h, at := testHook(t, eventStop), time.Now().UTC().Truncate(time.Millisecond)
	for _, test := range []struct {
		name         string
		byHand       bool
		provider     string
		launched     time.Time
		wantProvider string
		wantLaunched time.Time
	}{
		{"by hand, at first", true, "kimi", time.Time{}, "", time.Time{}},
		{"a session without a provider", false, "", time.Time{}, noProvider, time.Time{}},
		{"a launch with one", false, "kimi", at, "kimi", at},
		{"by hand, behind it", true, "glm", time.Time{}, "kimi", at},
		{"an earlier launch", false, "glm", at.Add(-time.Hour), "glm", at},
		{"a later launch", false, "", at.Add(time.Hour), noProvider, at.Add(time.Hour)},
	} {
		h.dirs.env = append(os.Environ(), providerVariable+"="+test.provider)
		h.caller = caller{isScript: test.byHand, launched: test.launched}
		check(t, h.changeState(func(s *sessionState) { s.Count++ }))
		state, err := h.session.readState()
		check(t, err)
		expectIs(t, test.name+": the provider", state.Provider, test.wantProvider)
		expectIs(t, test.name+": the launch", state.SwitchedAt.UTC(), test.wantLaunched.UTC())
		expectIs(t, test.name+": the rest is updated", state.Count != 0, true)
	}
}

// What the reviewer is told is of the event and of this session's request: the feedback as the agent got it, and what stands.
func TestHookRequest(t *testing.T) {
	speaking(t, "zh")
	h := testHook(t, eventStop)
	h.event.LastAssistantMessage, h.event.Cwd, h.event.PermissionMode = "done", "/agent", "plan"
	h.event.ToolInput = map[string]json.RawMessage{"q": []byte("1")}
	h.event.BackgroundTasks = []json.RawMessage{[]byte("7")}
	add := func(e entry) {
		t.Helper()
		check(t, h.session.append(e))
	}
	request := func() subject {
		h.past, _ = h.session.readHistory()
		return h.subject(h.event.occasion())
	}
	add(prompted("one"))
	add(prompted("two"))
	add(ended(review{ID: "r", Iteration: 1, outcome: outcome{Verdict: verdictBlock, Feedback: "a secret"}}))
	words := func(r subject) (all []string) {
		for _, asked := range r.requests {
			all = append(all, asked.words)
		}
		return all
	}
	r := request() // without a transcript
	expectIs(t, "it is incomplete", r.incomplete, true)
	expectIs(t, "it is in plan mode", r.inPlanMode, true)
	expectIs(t, "a stop's question", string(r.question), "")
	expectIs(t, "what the agent said", r.lastMessage, "done")
	expectIs(t, "the tasks", len(r.tasks), 1)
	expectIs(t, "the feedback", h.past.refusal().Feedback, "a secret")
	expectEqual(t, "the requests", words(r), nil)
	log, _ := os.ReadFile(h.session.dir.logFile())
	expectIn(t, "the log", string(log), `during="reading the transcript" error="the event names none"`)
	h.event.TranscriptPath = filepath.Join(t.TempDir(), "t.jsonl")
	transcript := userLine("1", "", "first", `,"timestamp":"2026-01-02T03:04:05Z"`) + "\n" +
		userLine("2", "1", "two") + "\n" + agentLine("3", "2", "done") + "\n"
	check(t, os.WriteFile(h.event.TranscriptPath, []byte(transcript), 0o600))
	r = request()
	expectIs(t, "with its transcript, it is incomplete", r.incomplete, false)
	expectIs(t, "with its transcript, when it began", r.began.Format(time.RFC3339), "2026-01-02T03:04:05Z")
	expectEqual(t, "the transcript's requests", words(r), []string{"first", "two"})
	add(ended(review{ID: "s", outcome: outcome{Verdict: verdictAllow}}))
	request()
	expectIs(t, "approved since, the feedback", h.past.refusal().Feedback, "")
	h.event.HookEventName, h.event.PermissionMode, h.event.ToolUseID = eventPreToolUse, "default", ""
	r = request()
	expectIs(t, "a question", string(r.question), `{"q":1}`)
	expectIs(t, "a question in plan mode", r.inPlanMode, false)
}

// A record is complete, as it came, and at the end of a review goes to the log, too, which quotes no secret.
func TestHookRecorded(t *testing.T) {
	h := testHook(t, eventStop)
	r := newReview(eventStop)
	r.Iteration, r.Limit = 2, 10
	h.append(entry{Review: &r})
	h.past, _ = h.session.readHistory()
	logged := func() string {
		text, _ := os.ReadFile(h.session.dir.logFile())
		return string(text)
	}
	expectIs(t, "the log at its begin", logged(), "")
	r.outcome = outcome{Verdict: verdictBlock, Feedback: "a " + aSecret, NoVerdict: true, DurationSeconds: 1.5, CostUSD: 0.25}
	stderr := stderrOf(t, func() { h.end(r, nil) })
	expectNotIn(t, "stderr", stderr, aSecret)
	failed := newReview(eventStop)
	failed.Iteration, failed.Limit, failed.DurationSeconds = 2, 10, 1.5
	why := errors.New("no " + aSecret + " key")
	h.end(failed, why)
	lines := strings.Split(strings.TrimSpace(logged()), "\n")
	for i, want := range []string{
		"verdict=block iteration=2/10 duration=1.500s cost_usd=0.25 no_verdict=true",
		`verdict=failed iteration=2/10 duration=1.500s error="no *** key"`,
	} {
		_, got, _ := strings.Cut(lines[i], " ")
		expectIs(t, "the log", got, "review ended session_id="+testSession+" event=Stop "+want)
	}
	past, err := h.session.readHistory()
	check(t, err)
	expectIs(t, "the reviews on record", len(past.Reviews), 2)
	expectIs(t, "the project", past.project, h.place.project)
	expectIs(t, "the first's feedback", past.Reviews[0].Feedback, "a "+aSecret)
	expectIs(t, "the first ends before its begin", past.Reviews[0].Ended.Before(r.Begun), false)
	expectIs(t, "the second's error", past.Reviews[1].Error, why.Error())
	h.warn("trying", nil)
	expectIs(t, "the lines", strings.Count(logged(), "\n"), 2)
	expectIs(t, "stderr", stderrOf(t, func() { h.warn("trying", errors.New("no "+aSecret)) }), "ccc: trying: no ***\n")
	expectIn(t, "the log", logged(), ` warning session_id=`+testSession+` during=trying error="no ***"`+"\n")
	h.log("told", "error", aSecret, "event", "x")
	expectIn(t, "the log", logged(), ` told session_id=`+testSession+` error=*** event=x`+"\n")
}

// Words without a verdict are the feedback, by hand always; to a question, and in a session too often in a row, they are no
// review. What says nothing, or holds an approval, gives way to the default feedback.
func TestHookWords(t *testing.T) {
	h := testHook(t, eventStop)
	const approves = `{"allow_stop": true, "feedback": ""} so`
	for name, test := range map[string]struct {
		words, event string
		question     bool
		unread       int    // how many in a row went before
		byHand       bool   // no Claude Code runs the hook
		way          string // of asking
		feedback     string // "": the default one
		why          string // there was no review, if not ""
	}{
		"words":                         {words: "fix it", feedback: "fix it"},
		"words, a second time":          {words: "fix it", unread: 1, feedback: "fix it"},
		"words, a third time":           {words: "fix it", unread: 2, why: say(noVerdictAgain, 3)},
		"with the agent's cache":        {words: "fix it", unread: 2, way: "cache", why: say(noVerdictAgain, 3)},
		"an approval":                   {words: approves},
		"an approval, a second time":    {words: approves, unread: 1, why: say(noVerdictAgain, 2)},
		"nothing":                       {},
		"nothing, a second time":        {unread: 1, why: say(noVerdictAgain, 2)},
		"a placeholder":                 {words: "(no content)"},
		"another":                       {words: "No response requested."},
		"a third":                       {words: "None"},
		"a placeholder with words":      {words: "None of the tests pass.", feedback: "None of the tests pass."},
		"ccc review":                    {words: "fix it", event: eventReview, unread: 2, feedback: "fix it"},
		"words, by hand, a third time":  {words: "fix it", unread: 2, byHand: true, feedback: "fix it"},
		"nothing, by hand, again":       {unread: 5, byHand: true},
		"an approval by hand":           {words: approves, event: eventReview, feedback: approves},
		"nothing by hand":               {event: eventReview},
		"to a question":                 {words: "fix it", question: true, why: say(noVerdict, "fix it")},
		"nothing to a question":         {question: true, why: errNoVerdict.zh},
		"an approval to a question":     {words: approves, question: true, why: say(noVerdict, approves)},
		"to a question, a second time":  {words: "fix it", question: true, unread: 1, why: say(noVerdict, "fix it")},
		"the cache and a first refusal": {words: "fix it", way: "cache", feedback: "fix it"},
	} {
		entry := review{Event: test.event, reviewerFacts: reviewerFacts{Way: test.way}, outcome: outcome{Feedback: test.words}}
		if test.question {
			entry.Event = eventPreToolUse
		}
		h.past = &history{Reviews: slices.Repeat([]review{{Event: eventStop, Ended: now(), line: 1, outcome: outcome{NoVerdict: true}}}, test.unread)}
		h.dirs.env = setEnv(h.dirs.env, projectVariable, h.place.project)
		if test.byHand {
			h.dirs.env = setEnv(h.dirs.env, projectVariable, "")
		}
		err := h.takeWords(&entry)
		if test.why != "" {
			expectError(t, name, err, test.why)
			expectIs(t, name+": NoVerdict", entry.NoVerdict, false)
			expectIs(t, name+": the verdict", entry.Verdict, "")
			continue
		}
		want := outcome{Verdict: verdictBlock, Feedback: test.feedback, NoVerdict: true, Withheld: test.feedback == ""}
		expectIs(t, name+": the error", err, nil)
		expectIs(t, name+": what it came to", entry.outcome, want)
	}
}

// How long a review may take: as ccc.json says.
func TestHookPatience(t *testing.T) {
	h := testHook(t, eventStop)
	h.config.Supervisor.TimeoutSeconds = 1800
	timeout, late := h.patience()
	expectIs(t, "the time", timeout, 1800*time.Second)
	expectIn(t, "why there is no verdict", late.Error(), "1800", "supervisor.timeout_seconds")
}

// How many reviews a request has: as ccc.json says, and in a session no more than Claude Code lets a hook block.
func TestHookReviewLimit(t *testing.T) {
	h := testHook(t, eventStop)
	for _, test := range []struct {
		limit    int
		blockCap string
		byHand   bool
		want     int
	}{
		{limit: 10, blockCap: "", want: 8},
		{limit: 10, blockCap: "3", want: 3},
		{limit: 2, blockCap: "3", want: 2},
		{limit: 10, blockCap: "10", want: 10},
		{limit: 10, blockCap: "0", want: 10},
		{limit: 10, blockCap: "-1", want: 10},
		{limit: 10, blockCap: "x", want: 8},
		{limit: 10, blockCap: "12x", want: 10},
		{limit: 10, blockCap: "4.9", want: 4},
		{limit: 10, blockCap: "3", byHand: true, want: 10},
	} {
		h.dirs.env = setEnv(h.dirs.env, projectVariable, map[bool]string{false: "/p"}[test.byHand])
		h.dirs.env = setEnv(h.dirs.env, blockCapVariable, test.blockCap)
		h.config.Supervisor.MaxIterations = test.limit
		name := fmt.Sprintf("of %d, where the client's is %q, by hand %v", test.limit, test.blockCap, test.byHand)
		expectIs(t, name, h.reviewLimit(), test.want)
	}
}

// What a reviewer is called with: the directories that it may read, the session's model, and its time.
func TestHookPlanned(t *testing.T) {
	speaking(t, "zh")
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"project", "tree", "added", "typed"} {
		check(t, os.Mkdir(at(name), 0o700))
	}
	check(t, os.WriteFile(at("file"), nil, 0o600))
	t.Setenv(addDirsVariable, strings.Join([]string{at("added"), at("none"), at("file"), "relative", "", at("added")}, "\n"))
	t.Setenv(cacheVariable, "")
	before := tryProbe
	t.Cleanup(func() { tryProbe = before })
	tryProbe = func(context.Context, string, []string) (bool, string, error) {
		return false, "", errors.New(noNamespaces)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second+300*time.Millisecond)
	defer cancel()
	for _, test := range []struct {
		name, tree, own, current, known, model string // own, current, known: the provider of ccc.json, the session, its state
		id                                     string // of the model, in the transcript
		unlaunched                             bool
		want                                   string // of the model
	}{
		{name: "the transcript's", id: "m[1m]", want: "m[1m]"},
		{name: "the transcript's, not launched", id: "m[1m]", unlaunched: true, want: "m[1m]"},
		{name: "of none", want: ""},
		{name: "in a worktree", tree: "tree", id: "m", want: "m"},
		{name: "ccc.json's", id: "m", model: "chosen", want: "chosen"},
		{name: "another provider's", id: "m", own: "b", want: ""},
		{name: "another provider's than the session's", id: "m", own: "b", current: "a", known: "b", want: ""},
		{name: "of another provider, ccc.json's", id: "m", own: "b", model: "chosen", want: "chosen"},
		{name: "of the session's own provider", id: "m", own: "b", current: "b", want: "m"},
		{name: "of the session's own, by its state", id: "m", own: "b", known: "b", unlaunched: true, want: "m"},
	} {
		h := testHook(t, eventStop)
		h.dirs.here = at("project")
		h.place = place{project: at("project"), root: at(cmp.Or(test.tree, "project")), dir: h.dirs.state}
		h.config.Supervisor.Model, h.config.Supervisor.Provider = test.model, test.own
		h.config.Providers = map[string]*provider{"b": {name: "b", Env: map[string]string{"ANTHROPIC_BASE_URL": "https://b", "ANTHROPIC_AUTH_TOKEN": "t"}}}
		if !test.unlaunched {
			h.caller.launched = now()
		}
		h.state.Provider = test.known
		h.dirs.env = setEnv(h.dirs.env, providerVariable, test.current)
		of, r := subject{}, newReview(eventStop)
		of.version, of.model, of.dirs = "2.1.330", test.id, []string{at("typed"), at("added")}
		h.begin(ctx, &r)
		r.changeFacts = h.takeChange(ctx, r.occasion(), &of)
		plan, who, err := h.call(ctx, r, of)
		check(t, err)
		h.release()
		expectIs(t, test.name+": the model", plan.config.Model, test.want)
		var short []string
		for _, dir := range append([]string{plan.dir}, plan.addDirs...) {
			short = append(short, strings.TrimPrefix(dir, root+"/"))
		}
		readable := "project added typed"
		if test.tree != "" {
			readable = "tree added typed project"
		}
		expectIs(t, test.name+": the directories", strings.Join(short, " "), readable)
		expectIs(t, test.name+": the session", plan.session, testSession)
		expectIs(t, test.name+": the prompt", plan.prompt, say(defaultPrompt))
		end := plan.input[len(plan.input)-400:]
		inTime := regexp.MustCompile(`\b([678][0-9]|90)\b`).MatchString(end)
		expectIs(t, test.name+": its time in "+end, inTime, true)
		expectIs(t, test.name+": why there is no copy", who.NoCopy, noNamespaces)
		expectIs(t, test.name+": the command of a copy", plan.tryCommand, "")
		expectIs(t, test.name+": the reviewer's mark", lookupEnv(plan.env, reviewerVariable), "1")
		expectIs(t, test.name+": it shares the cache", plan.shares, false)
		url := ""
		if test.own != test.current { // a session of that provider has its values
			url = "https://b"
		}
		expectIs(t, test.name+": the API", lookupEnv(plan.env, "ANTHROPIC_BASE_URL"), url)
	}
	h, of, r := testHook(t, eventStop), subject{}, newReview(eventStop)
	of.version = "2.1.279"
	plan, _, err := h.call(ctx, r, of)
	expectIs(t, "a client that is too old: a plan", plan != nil, false)
	expectIs(t, "a client that is too old", fmt.Sprint(err), say(clientTooOld, "2.1.279", "2.1.280", "claude update / "+installClaude))
	refuses := func(name, why string) {
		t.Helper()
		plan, _, err := h.call(ctx, r, of)
		expectIs(t, name+": a plan", plan != nil, false)
		expectError(t, name, err, why)
	}
	of.version = "2.1.330"
	h.config.Supervisor.Provider = "b"
	h.dirs.env = setEnv(h.dirs.env, providerVariable, "")
	h.config.Providers = map[string]*provider{"b": {name: "b", Env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "${NO_SUCH_TOKEN}"}}}
	refuses("a provider without its token", "NO_SUCH_TOKEN")
	h.config.Providers["b"].Env = map[string]string{"ANTHROPIC_BASE_URL": "https://b", "ANTHROPIC_AUTH_TOKEN": "t"}
	check(t, os.WriteFile(h.dirs.settingsFile(), []byte(`{"apiKeyHelper":"echo k"}`), 0o600))
	refuses("what overrides it", "settings.json: apiKeyHelper\n")
}

// The environment of a reviewer: with a launch's line only in the session that ccc launched, and with the values of a
// provider that is not the session's.
func TestHookReviewersEnvironment(t *testing.T) {
	t.Setenv(attributionVariable, "0")
	t.Setenv(cacheVariable, attributionLeftOut)
	t.Setenv("TOKEN", "session")
	t.Setenv(keyVariable, "mine")
	t.Setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
	for name, test := range map[string]struct {
		launched              bool
		reviewers, sessions   string // the provider of the reviewer by ccc.json, and of the session
		line, token, key, api string // of the reviewer
	}{
		"no provider":                        {launched: true, line: "0"},
		"no provider, by hand":               {},
		"a provider's key is its own":        {launched: true, sessions: "a", line: "0", key: "mine"},
		"another provider's values":          {launched: true, reviewers: "b", sessions: "a", token: "session", api: "https://b"},
		"the session has its values":         {launched: true, reviewers: "b", sessions: "b", line: "0", key: "mine"},
		"the session has them, not launched": {reviewers: "b", sessions: "b", key: "mine"},
	} {
		h := testHook(t, eventStop)
		if h.config.Supervisor.Provider = test.reviewers; test.launched {
			h.caller.launched = now()
		}
		h.config.Providers = map[string]*provider{
			"b": {name: "b", Env: map[string]string{"ANTHROPIC_BASE_URL": "https://b", tokenVariable: "${TOKEN}"}},
		}
		h.dirs.env = setEnv(h.dirs.env, providerVariable, test.sessions)
		env, err := h.environment()
		check(t, err)
		expectIs(t, name+": the line", lookupEnv(env, attributionVariable), test.line)
		expectIs(t, name+": the token", lookupEnv(env, tokenVariable), test.token)
		expectIs(t, name+": the key", lookupEnv(env, keyVariable), test.key)
		expectIs(t, name+": the API", lookupEnv(env, "ANTHROPIC_BASE_URL"), test.api)
	}
}

// stderrOf returns what a function of a test that runs beside no other writes to stderr.
func stderrOf(t *testing.T, write func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	defer file.Close()
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	write()
	text, err := os.ReadFile(file.Name())
	check(t, err)
	return string(text)
}

// What is recorded of a review when it begins: whose end is its own, its time, and what the reviewer gets.
func TestHookBegun(t *testing.T) {
	h := testHook(t, eventPreToolUse)
	h.dirs.env = setEnv(h.dirs.env, claudeVariable, "/none") // it begins, and fails
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	request := subject{question: []byte(`{"questions":[{"question":"Which?"}]}`), lastMessage: "all done " + strings.Repeat("x", 2000)}
	request.requests = []userRequest{{words: "one"}, {words: "two" + strings.Repeat("x", 4000)}}
	given := newReview(eventPreToolUse)
	given.Iteration, given.Limit = 2, 10
	expectIs(t, "another's id", newReview(eventStop).ID != given.ID, true)
	given.describe(request)
	ended := h.conduct(ctx, given, request)
	expectIs(t, "its end", ended.Verdict, verdictFailed)
	var lines []entry
	check(t, readLines(h.session.timelineFile(), func(line []byte) {
		e, _ := parseEntry(line)
		lines = append(lines, e)
	}))
	expectIs(t, "the records", len(lines), 2)
	expectIs(t, "the project", lines[0].Project, h.place.project)
	expectIs(t, "the begin has a time", lines[0].Time.IsZero(), false)
	r := lines[0].Review
	expectIs(t, "the id", r.ID, given.ID)
	expectIs(t, "it has no end", r.Ended.IsZero(), true)
	expectIs(t, "the event", r.Event, eventPreToolUse)
	expectIs(t, "the count", fmt.Sprint(r.Iteration, "/", r.Limit), "2/10")
	expectIs(t, "the time that is left", time.Until(r.Deadline).Round(time.Minute), time.Hour)
	expectIs(t, "the deadline is of", r.Deadline.Location(), time.UTC)
	expectIs(t, "the deadline's nanoseconds", r.Deadline.Nanosecond()%1e6, 0)
	expectIs(t, "the question", r.Question, "Which?")
	expectIs(t, "the last message", r.LastMessage, cutMiddle(request.lastMessage, 2000))
	expectIs(t, "the newest request", r.Request, cutMiddle(request.requests[1].words, 4000))
	expectIs(t, "the verdict", r.Verdict, "")
	last := lines[1].Review
	expectIs(t, "the end's id", last.ID, given.ID)
	expectIs(t, "the end's prompt", last.PromptSource, builtinSource)
	expectIs(t, "the end has a time", last.Ended.IsZero(), false)
	added := *last
	added.ID, added.PromptSource, added.Ended, added.Verdict, added.Error = "", "", time.Time{}, "", ""
	expectIs(t, "what else the end has", string(encodeJSON(added)), `{"id":""}`)
	_, err := strconv.ParseInt(given.ID, 36, 64)
	check(t, err)
}

// What the reviewer does is printed without secrets, in one line a call, and recorded as it came.
func TestHookSteps(t *testing.T) {
	h, given := testHook(t, eventPreToolUse), newReview(eventPreToolUse)
	long := strings.Repeat("y", 80)
	inDirectory := "Bash(cd /a/" + strings.Repeat("b", 80) + " && /bin/ccc try make)"
	words := " " + strings.Repeat("x", 3000)
	for name, test := range map[string]struct {
		step       step
		told, kept string
	}{
		"a call with a secret": {step{Kind: stepCall, Tool: "Bash(cat " + aSecret + ")"},
			"  · cat ***\n", `"tool":"Bash(cat ` + aSecret + `)"`},
		"words with a secret": {step{Kind: stepWords, Words: "a " + aSecret + words},
			"a ***" + words + "\n", `"words":"a ` + aSecret + ` xx`},
		"a call that failed": {step{Kind: stepError, Tool: "Skill(" + aSecret + ")"},
			"", `"tool":"Skill(` + aSecret + `)"`},
		"a call of 80 characters": {step{Kind: stepCall, Tool: "Bash(" + long + ")"},
			"  · " + long + "\n", `"tool":"Bash(` + long + `)"`},
		"a call without anything about it": {step{Kind: stepCall, Tool: "TodoWrite"},
			"  · TodoWrite\n", `"tool":"TodoWrite"`},
		"a run in a copy": {step{Kind: stepCall, Tool: inDirectory},
			"  · make\n", `"tool":"` + inDirectory + `"`},
		"a refused call of 81": {step{Kind: stepRefused, Tool: "Bash(yz" + long[1:] + ")"},
			"  · 被拒绝 yz" + long[:77] + "…\n", `"tool":"Bash(yz` + long[:77] + `…)"`},
	} {
		told := stderrOf(t, func() { h.noteStep(given, test.step) })
		expectIs(t, name, told, test.told)
		text, _ := os.ReadFile(h.session.timelineFile())
		expectIn(t, name, string(text), `"step":{"review":"`+given.ID+`","kind":"`+test.step.Kind+`"`, test.kept)
		expectNotIn(t, name, string(text), strings.Repeat("x", 4001), `"time":"0001`)
	}
}

// A review that did not take place is one that failed, or that the user ended; why is printed without secrets, by hand
// elsewhere, and recorded as it came.
func TestHookFailed(t *testing.T) {
	for err, want := range map[error]verdict{
		errors.New("no " + aSecret):       verdictFailed,
		errUserEnded:                      verdictCancelled,
		errSwitchedOff:                    verdictCancelled,
		fmt.Errorf("x: %w", errUserEnded): verdictCancelled,
		context.Canceled:                  verdictFailed,
	} {
		for _, event := range []string{eventStop, eventPreToolUse, eventReview} {
			h, found := testHook(t, eventStop), review{}
			told := stderrOf(t, func() {
				found = h.end(review{Event: event, ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "do"}}, err)
			})
			why, printed := err.Error(), ""
			if event != eventReview {
				printed = "ccc: no review: " + strings.Replace(why, aSecret, "***", 1) + "\n"
			}
			name := event + ", " + why
			expectIs(t, name+": what is printed", told, printed)
			past, _ := h.session.readHistory()
			recorded := append(past.Reviews, found)[0]
			expectIs(t, name+": how many are recorded", len(past.Reviews), 1)
			expectIs(t, name+": the cause of the user's switch", found.Cause == causeOff, err == errSwitchedOff)
			for which, r := range map[string]review{"what is returned": found, "what is recorded": recorded} {
				expectIs(t, name+": the verdict of "+which, r.Verdict, want)
				expectIs(t, name+": the error of "+which, r.Error, why)
				expectIs(t, name+": the feedback of "+which, r.Feedback, "")
			}
		}
	}
}

// A review ends with its time, with the first signal that tells ccc to end, or with the supervision, each told by its own name.
func TestHookEnded(t *testing.T) {
	late := errors.New("late")
	h := testHook(t, eventStop)
	ctx, cancel := h.untilEnded(time.Millisecond, late)
	<-ctx.Done()
	expectIs(t, "over its time", context.Cause(ctx), late)
	cancel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		ctx, cancel = h.untilEnded(time.Minute, late)
		check(t, syscall.Kill(os.Getpid(), s))
		<-ctx.Done()
		expectIs(t, s, context.Cause(ctx), error(errUserEnded))
		cancel()
	}
	ctx, cancel = h.untilEnded(time.Minute, late)
	cancel()
	if ctx.Err() == nil {
		t.Error("it does not end with its end")
	}
}

// What ends a review while it is prepared is its reason, and no reason why there is no copy, or no look.
func TestPrepareEnded(t *testing.T) {
	h := testHook(t, eventStop)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSwitchedOff)
	ended := h.conduct(ctx, review{Event: eventStop}, subject{})
	expectIs(t, "the verdict", ended.Verdict, verdictCancelled)
	expectIs(t, "the reason, no copy, and no look", ended.Error+"|"+ended.NoCopy+"|"+ended.Seen.Unseen, errSwitchedOff.Error()+"||")
}

// What a prompt of the user's is answered with, what it sets back, and what is recorded of it.
func TestHookPrompted(t *testing.T) {
	speaking(t, "zh")
	untold := say(earlierCancelled)
	left := func(event string) entry {
		return began(review{ID: "left", Event: event, Iteration: 2})
	}
	before, runs := prompted(""), began(review{ID: "runs"})
	escaped := ended(review{ID: "e", Event: eventStop, outcome: outcome{Verdict: verdictCancelled}})
	off := ended(review{ID: "o", Event: eventStop, outcome: outcome{Verdict: verdictCancelled, Cause: causeOff}})
	over := ended(review{ID: "over", outcome: outcome{Verdict: verdictAllow}})
	byHand := ended(review{ID: "h", Event: eventReview, outcome: outcome{Verdict: verdictAllow}})
	at := now()
	for name, test := range map[string]struct {
		text    string
		before  []entry // of the timeline
		outside bool    // of a session
		want    string  // what is said
		ends    bool    // the end of a review is recorded
	}{
		"the first":                {text: "x"},
		"the first by hand":        {text: "x", outside: true},
		"the next":                 {text: "x", before: []entry{before}},
		"while a review runs":      {text: "x", before: []entry{before, runs}},
		"behind a review":          {text: "x", before: []entry{before, over}},
		"cancelled":                {text: "x", before: []entry{before, escaped}, want: untold},
		"cancelled, and told":      {text: "x", before: []entry{before, escaped, before}},
		"switched off":             {text: "x", before: []entry{before, off}},
		"without an end":           {text: "x", before: []entry{before, left(eventStop)}, want: untold, ends: true},
		"without an end, by hand":  {text: "x", before: []entry{before, left(eventStop)}, outside: true, want: untold, ends: true},
		"and a prompt came":        {text: "x", before: []entry{before, left(eventStop), before}, want: untold, ends: true},
		"then a review":            {text: "x", before: []entry{before, left(eventStop), over}},
		"then one that runs":       {text: "x", before: []entry{before, left(eventStop), runs}},
		"then one by hand":         {text: "x", before: []entry{before, left(eventStop), byHand}, want: untold, ends: true},
		"a question's":             {text: "x", before: []entry{before, left(eventPreToolUse)}},
		"one by hand":              {text: "x", before: []entry{before, left(eventReview)}},
		"a notification behind it": {text: "<task-notification>\nx", before: []entry{left(eventStop)}},
		"an image behind it":       {text: "", before: []entry{before, left(eventStop)}, want: untold, ends: true},
	} {
		h := testHook(t, eventPrompt)
		h.event.Prompt = blockText(test.text)
		h.dirs.env = setEnv(h.dirs.env, projectVariable, map[bool]string{false: "/p"}[test.outside])
		running(t, h.session, "runs")
		for _, e := range test.before {
			check(t, h.session.append(e.at(at)))
		}
		check(t, h.session.update(func(s *sessionState) { s.Count = 3 }))
		h.state, _ = h.session.readState()
		answer, want := string(encodeJSON(h.recordPrompt(test.text))), "null"
		if test.want != "" {
			want = string(encodeJSON(systemMessage(test.want)))
		}
		expectIs(t, name, answer, want)
		state, err := h.session.readState()
		check(t, err)
		past, err := h.session.readHistory()
		check(t, err)
		if strings.HasPrefix(test.text, "<task-notification>") {
			expectIs(t, name+": the prompts", len(past.Prompts), 0)
			expectIs(t, name+": the count", state.Count, 3)
		} else {
			expectIs(t, name+": the prompt", past.Prompts[len(past.Prompts)-1].Text, test.text)
			expectIs(t, name+": the count", state.Count, 0)
			expectIs(t, name+": told again", string(encodeJSON(h.recordPrompt(test.text))), "null")
		}
		ends := slices.ContainsFunc(past.Reviews, func(r review) bool { return r.ID == "left" && !r.Ended.IsZero() && r.Iteration == 2 })
		expectIs(t, name+": its end is recorded", ends, test.ends)
	}
}

// What a stop comes to where it can't be counted, or ccc.json can't be used, or the request's reviews are used up.
func TestHookStopped(t *testing.T) {
	speaking(t, "zh")
	t.Setenv(projectVariable, "/p")
	t.Setenv(blockCapVariable, "10")
	type ending struct {
		verdict  verdict
		feedback string
		err      string
	}
	for name, test := range map[string]struct {
		event     string
		active    bool
		configErr error
		state     string // "" is one at the limit, "/" a directory in its place
		want      ending
	}{
		"at the limit":                {event: eventStop, want: ending{verdictLimit, "open feedback", ""}},
		"a question at the limit":     {event: eventPreToolUse, want: ending{verdictLimit, say(limitReached, count(10, reviews)), ""}},
		"ccc.json can't be used":      {event: eventStop, configErr: errors.New("odd"), want: ending{verdictFailed, "", "odd"}},
		"not counted, behind a block": {event: eventStop, active: true, state: "/", want: ending{verdictFailed, "", errNoCount.zh}},
		"a question, not counted":     {event: eventPreToolUse, state: "/", want: ending{verdictFailed, "", errNoCount.zh}},
	} {
		h := testHook(t, test.event)
		h.event.StopHookActive, h.event.LastAssistantMessage, h.configErr = test.active, "all done", test.configErr
		if test.event != eventStop {
			h.event.ToolInput = map[string]json.RawMessage{"questions": []byte(`[{"question":"Which?"}]`)}
		}
		check(t, h.session.append(ended(review{ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "open feedback"}})))
		if test.state == "/" {
			check(t, os.Mkdir(h.session.stateFile(), 0o700))
		} else {
			check(t, h.session.update(func(s *sessionState) { s.Count = 10 }))
		}
		var answer any
		told := stderrOf(t, func() { answer = h.stop(h.event.occasion()) })
		expectIn(t, name, fmt.Sprint(answer), test.want.feedback)
		past, err := h.session.readHistory()
		check(t, err)
		last := past.Reviews[len(past.Reviews)-1]
		expectIs(t, name+": the reviews on record", len(past.Reviews), 2)
		expectIs(t, name+": the tree on record", last.Seen.tree, treeOf(h.place.project))
		expectIs(t, name+": the verdict on record", last.Verdict, test.want.verdict)
		expectIs(t, name+": the error on record", last.Error, test.want.err)
		expectIs(t, name+": the feedback on record", last.Feedback, map[string]string{"at the limit": "open feedback"}[name])
		expectIs(t, name+": the event on record", last.Event, test.event)
		expectIs(t, name+": it has a begin on record", last.Begun.IsZero(), false)
		if isLimit := test.want.verdict == verdictLimit; isLimit {
			expectIs(t, name+": the last message on record", last.LastMessage, "all done")
			expectIs(t, name+": the count on record", fmt.Sprint(last.Iteration, "/", last.Limit), "0/10")
			expectIs(t, name+": a question on record", last.Question != "", test.event != eventStop)
			expectIn(t, name, told, say(limitReached, count(10, reviews)), map[bool]string{true: "允许停止", false: "问题交给用户"}[test.event == eventStop])
			state, _ := h.session.readState()
			expectIs(t, name+": counted", state.Count, 10)
		} else {
			expectIn(t, name, told, "ccc: no review: "+test.want.err)
		}
	}
}

// The model of a review is the session's, and of a reviewer with a provider of its own what that is asked for.
func TestModelRecorded(t *testing.T) {
	const own = `"providers":{"kimi":{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:9",` +
		`"ANTHROPIC_AUTH_TOKEN":"t","ANTHROPIC_MODEL":"kimi-k2.5"}}}`
	for supervisor, want := range map[string]string{
		`{}`:                               "m-1",
		`{"provider":"kimi"}`:              "kimi-k2.5",
		`{"provider":"kimi","model":"k2"}`: "k2",
	} {
		t.Run(want, func(t *testing.T) {
			box := newHookBox(t)
			box.write(".claude/ccc.json", 0o600, `{"supervisor":`+supervisor+`,`+own+`}`)
			box.stop(box.transcript(userLine("1", "", "do it"), modelLine("2", "1", "m-1"), agentLine("3", "2", "Done.")))
			expectIn(t, "the timeline", box.read(eventsPath), `"model":"`+want+`"`)
		})
	}
}
