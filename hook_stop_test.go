package main

// What a stop or a question comes to: what the reviewer gets, and what is said to whom.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is told in a session. By hand, with nobody to show it, a failed review and the limit leave stdout empty.
func TestShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, state string
		review      fakeReview
		shown       string
	}{
		{"approved", "", allows(""), "审查 1/8 通过 · "},
		{"left_to_the_user", "", allows("rotate the key"), "审查者给你的留言：rotate the key"},
		{"failed", "", fails("API Error: 529"), "这次审查没能完成，Agent 的工作未经检查。原因：审查者报错：API Error: 529\\n发一条“继续”，它停下时会再审；仍不行请运行 ccc doctor"},
		{"too_long", "", fails("Prompt is too long"), "原因：审查者报错：Prompt is too long\\n对话太长，审查者读不下：先运行 /compact，再发一条“继续”\"}"},
		{"limit", stateText(testSession, 10, ""), allows(""), `"[SUPERVISOR] 这项要求的 8 次审查已用完，这次停下没有再审。你再发消息会重新计数。"`},
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
			expectEnd(t, "by hand", box.stop(""), 0, "", "")
			box.inSession()
			box.submit("before")
			prepare()
			got := box.stop("")
			if got.code != 0 || !strings.HasPrefix(got.stdout, `{"systemMessage":"[SUPERVISOR] `) || !strings.Contains(got.stdout, test.shown) {
				t.Errorf("in a session: %+v", got)
			}
			// Told at once, it is not told again; the prompt is not the first.
			expectEnd(t, "the next prompt", box.submit("next"), 0, "", "")
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
	const want = `{"systemMessage":"[SUPERVISOR] 这项要求的 1 次审查已用完，这次停下没有再审。你再发消息会重新计数。\n上次的反馈还没有解决：two tests fail"}` + "\n"
	expectEnd(t, "the stop at the limit", box.stop(""), 0, want, "")
	// A review that failed has settled nothing.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	box.reviews(fails("API Error: 529"))
	box.stop("")
	if got := box.stop(""); !strings.HasSuffix(got.stdout, "two tests fail\"}\n") {
		t.Errorf("got %+v", got)
	}
	// What was approved since is open no more.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	box.reviews(allows(""))
	box.stop("")
	// A question at the limit goes to the user, and the log says so with the question.
	box.hook(box.event(eventPreToolUse, `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which one?","options":[{"label":"A"}]}]}`))
	if told := box.run(10*time.Second, "", "ccc", "log").stdout; !strings.Contains(told, "Which one?") || !strings.Contains(told, "问题直接交给用户") {
		t.Error(told)
	}
	if got := box.stop(""); strings.Contains(got.stdout, "two tests fail") || !strings.Contains(got.stdout, "已用完") {
		t.Errorf("got %+v", got)
	}
}

// The first prompt's answer says what the session has.
func TestIntroduced(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	box.vars = append(box.vars, "CCC_PROVIDER=kimi")
	const want = `{"systemMessage":"[SUPERVISOR] 本会话受监督：每项要求最多审查 3 次（提供商 kimi）。实时查看：ccc log -f"}` + "\n"
	expectEnd(t, "the first prompt", box.submit("hello"), 0, want, "")
	expectEnd(t, "the next prompt", box.submit("more"), 0, "", "")
	// A launch is said anew: that of a session that is resumed.
	box.vars = append(box.vars, fmt.Sprintf("CCC_LAUNCH=%s.%d", selfName(), time.Now().UnixMilli()))
	for _, told := range []string{want, ""} {
		expectEnd(t, "after a launch", box.submit("and on"), 0, told, "")
	}
}

// A review that ended without a word to the user is told at the next prompt, once, however it ended and whatever was reviewed by
// hand since, beside the introduction of a new launch; not while a review runs, nor once another stop has been told, nor of a
// question, which the user has answered.
func TestUntold(t *testing.T) {
	t.Parallel()
	killed, cancelled := "上次审查没能完成，Agent 的工作未经检查。原因：审查期间 ccc 被强行结束", "上次审查已取消（按了 Esc 或 Ctrl-C，或者 Claude Code 退出了），Agent 的工作未经检查。"
	for name, test := range map[string]struct {
		members string // of a question
		signal  syscall.Signal
		told    string
		verdict verdict
	}{
		"killed":             {signal: syscall.SIGKILL, told: killed, verdict: verdictFailed},
		"killed question":    {members: asked, signal: syscall.SIGKILL, verdict: verdictFailed},
		"escaped":            {signal: syscall.SIGTERM, told: cancelled, verdict: verdictCancelled},
		"escaped question":   {members: asked, signal: syscall.SIGTERM, verdict: verdictCancelled},
		"escaped, approved":  {signal: syscall.SIGTERM, verdict: verdictCancelled},
		"escaped, relaunch":  {signal: syscall.SIGTERM, told: cancelled, verdict: verdictCancelled},
		"killed, by hand":    {signal: syscall.SIGKILL, told: killed, verdict: verdictFailed},
		"killed, woken":      {signal: syscall.SIGKILL, told: killed, verdict: verdictFailed},
		"escaped, then asks": {signal: syscall.SIGTERM, told: cancelled, verdict: verdictCancelled},
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
			h, err := stateDir(filepath.Join(box.home, ".claude/ccc")).session(testSession).readHistory()
			check(t, err)
			expectIs(t, "the verdict", h.Rounds[0].Verdict, test.verdict)
			box.reviews(allows(""))
			introduced := ""
			switch _, then, _ := strings.Cut(name, ", "); then {
			case "approved":
				expectIn(t, "the next stop", box.stop("").stdout, "通过")
			case "by hand":
				check(t, stateDir(filepath.Join(box.home, ".claude/ccc")).session(testSession).append(record{Time: now(), Kind: kindEnd,
					Event: eventReview, Review: "h", outcome: outcome{Verdict: verdictAllow}}))
			case "woken":
				expectEnd(t, "a notification", box.submit("<task-notification>\nx"), 0, "", "")
			case "then asks":
				expectIn(t, "/supervisor", box.submit("/supervisor").stdout, "监督：已打开 · 这项要求已审查 0/8 次 · 本会话共审查 1 次")
			case "relaunch":
				box.vars = append(box.vars, fmt.Sprintf("CCC_LAUNCH=%s.%d", selfName(), time.Now().UnixMilli()))
				introduced = `\n本会话受监督：`
			}
			got := box.submit("next").stdout
			expectIn(t, "the next prompt", got, test.told, introduced)
			expectIs(t, "whether it says something", got != "", test.told != "")
			expectEnd(t, "the one behind it", box.submit("more"), 0, "", "")
		})
	}
}

// A question that the reviewer answered is told with its options, whose answer the agent got, and how to say otherwise; one that
// was let through with what the reviewer says to it. By hand nobody is told.
func TestQuestionShown(t *testing.T) {
	const twice = `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which\ndatabase?","options":[{"label":"SQLite"},{"label":"Postgres"}]},{"question":"And where?","options":[]}]}`
	deny, allow := strings.TrimSuffix(toolOutput("deny", "use SQLite"), "}\n"), strings.TrimSuffix(toolOutput("allow", "back it up"), "}\n")
	for _, test := range []struct {
		name   string
		state  string
		review fakeReview
		answer string // in a session
		byHand string
	}{
		{"answered", "", blocks("use SQLite"), deny + `,"systemMessage":"[SUPERVISOR] 审查者（不是你）回答了 Agent 的提问：\nWhich database?\n- SQLite\n- Postgres\nAnd where?\n` +
			`它的回答：use SQLite\n提问审查 1/8 退回 · SECONDS · 没有在副本里运行命令\n不同意：按 Esc，再输入你的回答"}`, toolOutput("deny", "use SQLite")},
		{"let through", "", allows("back it up"), allow + `,"systemMessage":"[SUPERVISOR] 提问审查 1/8 通过 · SECONDS · 没有在副本里运行命令\n审查者给你的留言：back it up"}`,
			toolOutput("allow", "back it up")},
		{"limit", stateText(testSession, 10, ""), allows(""), strings.TrimSuffix(toolOutput("allow", "这项要求的审查次数已用完（8 次）"), "}\n") +
			`,"systemMessage":"[SUPERVISOR] 这项要求的 8 次审查已用完，这个提问没有审查。"}`, toolOutput("allow", "这项要求的审查次数已用完（10 次）")},
		{"failed", "", fails("API Error: 529"), `{"systemMessage":"[SUPERVISOR] 这个提问没能审查，直接交给了你。原因：审查者报错：API Error: 529\n详情见 ccc log"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, byHand := range []bool{true, false} {
				box := newHookBox(t)
				want := test.byHand
				if !byHand {
					box.inSession()
					want = test.answer + "\n"
				}
				if test.state != "" {
					box.write(statePath, 0o600, test.state)
				}
				box.reviews(test.review)
				got := box.hook(box.event(eventPreToolUse, twice))
				expectIs(t, "the answer", regexp.MustCompile(`[\d.]+ 秒 · \$[\d.]+`).ReplaceAllString(got.stdout, "SECONDS"), want)
			}
		})
	}
}

// What the receipt is made of where a disk was full: the end is known, even if it, or the whole review, is in no timeline.
func TestRoundEndedBy(t *testing.T) {
	s := stateDir(t.TempDir()).session(testSession)
	check(t, s.append(record{Kind: kindBegin, Event: eventStop, Review: "r"}))
	check(t, s.append(record{Kind: kindCall, Review: "r", Tool: "Read(a)"}))
	for review, want := range map[string]string{"r": "审查 通过 · " + receiptRead.zh, "lost": "审查 通过"} {
		end := record{Kind: kindEnd, Event: eventStop, Review: review, outcome: outcome{Verdict: verdictAllow}}
		expectIs(t, "the receipt", s.roundEndedBy(end).receipt(), want)
	}
}

// The reviewer stands in the worktree that the agent works in, and may read the main checkout; it is told which is
// which. A version that does not find the session there runs in the project.
func TestWorktree(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.1.329", "2.1.120"} {
		t.Run(version, func(t *testing.T) {
			box := newHookBox(t)
			box.vars = append(box.vars, "FAKE_CLAUDE_VERSION="+version, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1")
			box.reviews(blocks("not yet"))
			tree := filepath.Join(box.work, "trees/feature")
			box.write("../work/.git/worktrees/feature/commondir", 0o600, "../..\n")
			box.write("../work/trees/feature/.git", 0o600, "gitdir: "+filepath.Join(box.work, ".git/worktrees/feature")+"\n")
			box.write("../work/trees/feature/sub/x", 0o600, "")
			event := strings.Replace(box.event("Stop", ""), box.work, filepath.Join(tree, "sub"), 1)
			if got := box.hook(event); decided(got.stdout) != blockNotYet {
				t.Fatalf("%+v", got)
			}
			call := "../fake/reviewer-1/"
			want := tree
			if version == "2.1.120" {
				call, want = "../fake/reviewer-2/", box.work // the first call finds no session
			}
			expectIs(t, "the reviewer's directory", strings.TrimSpace(box.read(call+"cwd")), want)
			expectIn(t, "the request", box.read(call+"stdin"), "worktree 里工作："+tree, "主目录 "+box.work)
			expectIn(t, "the reviewer's command line", box.read(call+"args"), "--add-dir\n"+tree+"\n"+box.work+"\n")
			if version == "2.1.329" { // another failure is no reason to pay for a second call
				box.reviews(fails("API Error: 529"))
				if got := box.hook(event); !strings.Contains(got.stderr, "API Error: 529") || box.read("../fake/reviewer-3/args") != "" {
					t.Errorf("%+v", got)
				}
			}
		})
	}
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
		expectIs(t, project, strings.TrimSpace(box.read("../fake/reviewer-1/cwd")), box.work)
		if request := box.read("../fake/reviewer-1/stdin"); strings.Contains(request, "worktree") || !strings.Contains(request, "Agent 的当前目录") {
			t.Errorf("%s: the request is %s", project, request)
		}
	}

	// An event that does not say where the agent is: Claude Code runs the hook there.
	box := newHookBox(t)
	box.hook(`{"session_id":"` + testSession + `"}`)
	if r := box.onlyTimeline(); r[0].Project != box.work || !strings.Contains(box.read("../fake/reviewer-1/stdin"), "Agent 的当前目录："+box.work) {
		t.Errorf("%+v", r)
	}
}

// The session's directories go to the reviewer, and up to 2.1.120 its model.
func TestSessionsModelAndDirectories(t *testing.T) {
	box := newHookBox(t)
	for _, name := range []string{"../launch", "../typed"} {
		box.write(name+"/x", 0o600, "")
	}
	dir := func(name string) string { return filepath.Join(filepath.Dir(box.home), name) }
	box.vars = append(box.vars, "CCC_ADD_DIRS="+dir("launch")+"\n"+dir("gone")+"\n"+dir("launch/x")+"\nrelative")
	command := userLine("1", "", "<command-name>/add-dir</command-name><command-args>"+dir("typed")+"</command-args>")
	for i, version := range []string{"2.1.329", "2.1.120"} {
		lines := []string{command, userLine("2", "1", "fix it"), agentLine("3", "2", "done")}
		box.stop(box.transcript(strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), "2.1.329", version), "\n")...))
		args := box.read(fmt.Sprintf("../fake/reviewer-%d/args", i+1))
		if !strings.Contains(args, "--add-dir\n"+dir("launch")+"\n"+dir("typed")+"\n") || strings.Contains(args, dir("gone")) || strings.Contains(args, dir("launch/x")) || strings.Contains(args, "relative\n") {
			t.Errorf("%s: arguments %s", version, args)
		}
		if strings.Contains(args, "--model\nm-1\n") != (version == "2.1.120") {
			t.Errorf("%s: arguments %s", version, args)
		}
	}
	lines := strings.ReplaceAll(userLine("1", "", "fix it")+"\n"+agentLine("2", "1", "done"), "2.1.329", "2.1.120")
	for i, test := range []struct {
		config, model string
	}{
		{`{"supervisor":{"model":"chosen"}}`, "--model\nchosen\n"}, // the model of ccc.json comes before the session's
		// Another provider does not know the model, nor has its cache anything of the session's.
		{`{"supervisor":{"provider":"b","keep_cache":true},"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b"}}}}`, ""},
		{`{"supervisor":{"keep_cache":true}}`, "--model\nm-1\n"},
	} {
		box.write(".claude/ccc.json", 0o600, test.config)
		box.stop(box.transcript(strings.Split(lines, "\n")...))
		args := box.read(fmt.Sprintf("../fake/reviewer-%d/args", i+3))
		if args == "" || !strings.Contains(args, test.model) || strings.Contains(args, "--model") != (test.model != "") {
			t.Errorf("%s: arguments %s", test.config, args)
		}
	}
}

// Which way a reviewer is asked: with the agent's prompt cache where that costs less and nothing stands in the way.
func TestWayTaken(t *testing.T) {
	t.Parallel()
	const server = `"mcpServers":{"x":{"command":"true"}}`
	for name, test := range map[string]struct {
		env, supervisor, account, settings, mcp string
		args                                    []string
		want                                    string
	}{
		"long":           {want: "cache"},
		"short":          {env: "FAKE_CLAUDE_TOKENS=39999", want: "own"},
		"a login":        {env: "ANTHROPIC_AUTH_TOKEN=", want: "own"},
		"kept line":      {env: "CLAUDE_CODE_ATTRIBUTION_HEADER=1", want: "own"},
		"own prompt":     {args: []string{"--append-system-prompt", "be brief"}, want: "own"},
		"own settings":   {env: "ANTHROPIC_AUTH_TOKEN=", args: []string{"--settings", `{"apiKeyHelper":"echo k"}`}, want: "own"},
		"own sources":    {args: []string{"--setting-sources", "user,project"}, want: "own"},
		"model variable": {env: "ANTHROPIC_MODEL=haiku", want: "cache"},
		"other model":    {supervisor: `"model":"haiku"`, want: "own"},
		"same model":     {supervisor: `"model":"claude-sonnet-4-6"`, want: "cache"},
		"other provider": {supervisor: `"provider":"b"`, want: "own"},
		"forced":         {env: "FAKE_CLAUDE_TOKENS=9 ANTHROPIC_AUTH_TOKEN=", supervisor: `"keep_cache":true`, want: "cache"},
		"forbidden":      {supervisor: `"keep_cache":false`, want: "own"},
		"server":         {account: `{` + server + `}`, want: "own"},
		"project server": {account: `{"projects":{"WORK":{` + server + `}}}`, want: "own"},
		"other project":  {account: `{"projects":{"/elsewhere":{` + server + `}}}`, want: "cache"},
		"server of .mcp": {mcp: `{` + server + `}`, want: "own"},
		"plugin":         {settings: `{"enabledPlugins":{"p@m":true}}`, want: "own"},
		"plugin off":     {settings: `{"enabledPlugins":{"p@m":false}}`, want: "cache"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(append(box.vars, "FAKE_CLAUDE_TOKENS=40000", "ANTHROPIC_AUTH_TOKEN=t"), strings.Fields(test.env)...)
			supervisor := strings.TrimSuffix(`"try":false,`+test.supervisor, ",")
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{`+supervisor+`},"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b"}}}}`)
			box.write(".claude.json", 0o600, strings.ReplaceAll(test.account, "WORK", box.work))
			box.write(".claude/settings.json", 0o600, test.settings)
			box.write("../work/.mcp.json", 0o600, test.mcp)
			box.run(30*time.Second, "", slices.Concat([]string{"ccc", "--supervisor"}, test.args, []string{"--", "hi"})...)
			records := box.onlyTimeline()
			if way := records[len(records)-1].Way; way != test.want {
				t.Errorf("%q, want %q", way, test.want)
			}
			if hasSchema := strings.Contains(box.read("../fake/reviewer-1/args"), "--json-schema"); hasSchema == (test.want == "cache") {
				t.Errorf("with a schema: %v", hasSchema)
			}
			if args := box.read("../fake/reviewer-1/args"); name == "model variable" && !strings.Contains(args, "--model\nclaude-sonnet-4-6\n") {
				t.Errorf("the reviewer has another model: %s", args)
			}
			box.vars = append(box.vars, "CLAUDE_CODE_ATTRIBUTION_HEADER=0", "CCC_CACHE=line") // as in a terminal that the session opened
			if got := box.run(30*time.Second, "", "ccc", "review", "--json").stdout; strings.Contains(got, `"way":"cache"`) != (name == "forced") {
				t.Errorf("a review by hand: %s", got)
			} else if env := box.read("../fake/reviewer-2/env"); env == "" || strings.Contains(env, "ATTRIBUTION_HEADER") {
				t.Errorf("a review by hand leaves out the line that a login is billed by: %s", env)
			}
		})
	}
}

// A launch passes its --add-dir on.
func TestLaunchAddDirs(t *testing.T) {
	box := newFakeBox(t)
	box.write("../other/x", 0o600, "")
	other := filepath.Join(filepath.Dir(box.home), "other")
	box.run(30*time.Second, "hello", "ccc", "--supervisor", "--", "-p", "--add-dir", "../other", "--verbose")
	expectIn(t, "the reviewer's command line", box.read("../fake/reviewer-1/args"), "--add-dir\n"+other+"\n")
	box.claudeIs(`printf %s "$CCC_ADD_DIRS" >"$HOME/dirs"`)
	box.run(30*time.Second, "", "ccc", "--supervisor", "--", "a", "--add-dir", "../other", "/b", "--verbose", "c", "--add-dir=/d", "e", "--", "--add-dir", "/f")
	expectIs(t, "the directories", box.read("dirs"), other+"\n/b\n/d")
}

// What a user's rules let MCP servers do, they do not in a review: they are kept out, or asked for where the list of
// tools must stay and the version can.
func TestReviewersServers(t *testing.T) {
	tests := []struct {
		config, version string
		strict, asks    bool
	}{
		{`{}`, "2.1.329", true, true},
		{`{"keep_cache":true}`, "2.1.329", false, true},
		{`{"keep_cache":true}`, "2.1.120", true, true},
		{`{"keep_cache":true}`, "", true, true},
		{`{"allowed_tools":["mcp__x"]}`, "2.1.329", false, false},
		{`{"allowed_tools":["Bash(ls)","mcp__x"],"keep_cache":true}`, "2.1.120", false, false},
	}
	for _, test := range tests {
		box := newHookBox(t)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":`+test.config+`}`)
		member := ""
		if test.version != "" {
			member = box.transcript(strings.Split(strings.ReplaceAll(userLine("1", "", "fix it")+"\n"+agentLine("2", "1", "done"), "2.1.329", test.version), "\n")...)
		}
		box.stop(member)
		args := box.read("../fake/reviewer-1/args")
		if strings.Contains(args, "--strict-mcp-config\n") != test.strict || strings.Contains(args, `"mcp__*"`) != test.asks || !strings.Contains(args, `"ask":["CronCreate",`) {
			t.Errorf("%+v: arguments %s", test, args)
		}
	}
}

// /supervisor is the user's where they have a command or a skill of that name.
func TestUsersOwnCommand(t *testing.T) {
	for _, name := range []string{".claude/commands/supervisor.md", "../work/.claude/commands/supervisor.md", ".claude/skills/supervisor/SKILL.md"} {
		box := newFakeBox(t)
		box.write(name, 0o600, "mine: $ARGUMENTS\n")
		box.vars = append(box.vars, "FAKE_CLAUDE_SESSION="+testSession)
		box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		if got := box.submit("/supervisor off"); got.stdout != "" || box.read(name) != "mine: $ARGUMENTS\n" {
			t.Errorf("%s: %+v, the file is %q", name, got, box.read(name))
		}
		if prompts := box.timeline(testSession); prompts[len(prompts)-1].Prompt != "/supervisor off" {
			t.Errorf("%s: it is not a request of the user's: %+v", name, prompts)
		}
	}
}

// A session of a Claude Code that is too old is not reviewed, and the way out is named.
func TestReviewOfOldClient(t *testing.T) {
	box := newHookBox(t)
	lines := userLine("1", "", "fix it") + "\n" + agentLine("2", "1", "done")
	got := box.stop(box.transcript(strings.Split(strings.ReplaceAll(lines, "2.1.329", "2.1.119"), "\n")...))
	if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "Claude Code 2.1.119 太旧，至少要 2.1.120：npm install -g") || box.read("../fake/reviewer-1/args") != "" {
		t.Errorf("%+v", got)
	}
}

// An answer without a verdict sends the agent on with its words, as often as it comes. One that holds an approval never reaches the
// agent, and the second in a row is no review.
func TestWithoutVerdict(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	box.inSession()
	const approves = "```json\n{\"allow_stop\": true, \"feedback\": \"\"}\n```\nThat is my verdict."
	const repeated = "没有能读取的判定。最后只输出一个 JSON 对象"
	box.reviews(fakeReview{answers("Two tests fail.")}, fakeReview{answers("One test fails.")}, fakeReview{answers(approves)}, blocks("not yet"),
		fakeReview{answers(approves)}, fakeReview{answers(approves)}, fakeReview{answers(approves)})
	box.submit("fix it")
	for i, c := range []struct {
		reason, receipt string
		repeated        bool // the request repeats the form
	}{
		{"Two tests fail.", withoutVerdict.zh, false},
		{"One test fails.", withoutVerdict.zh, true},
		{defaultFeedback.zh, unreadableVerdict.zh, true},
		{"not yet", "退回", true},
		{defaultFeedback.zh, unreadableVerdict.zh, false},
		{"", "没有给出判定：```json", true}, // the second in a row
		{defaultFeedback.zh, unreadableVerdict.zh, false},
	} {
		if i == 6 {
			box.submit("and this")
		}
		stop := fmt.Sprint("stop ", i+1)
		got := box.stop("")
		want := fmt.Sprintf(`{"decision":"block","reason":%q}`+"\n", c.reason)
		if c.reason == "" {
			want = got.stdout
			expectNotIn(t, stop, want, "decision")
		}
		expectEnd(t, stop, got, 0, want, "")
		expectIn(t, stop, got.stdout, c.receipt)
		request := box.read(fmt.Sprintf("../fake/reviewer-%d/stdin", i+1))
		expectIs(t, stop+": the form is repeated", strings.Contains(request, repeated), c.repeated)
	}
	var told []string
	for _, r := range box.timeline(testSession) {
		if r.Verdict != "" {
			told = append(told, fmt.Sprint(r.Verdict, " ", r.NoVerdict, " ", r.Withheld, " ", r.Unbound))
		}
	}
	words, withheld := "block true false "+errNoVerdict.zh, "block true true "+errNoVerdict.zh
	expectEqual(t, "the records", told, []string{words, words, withheld, "block false false ", withheld, "failed false false ", withheld})
	expectIs(t, "what the log tells", strings.Count(box.log(), " no_verdict=true"), 5)
	log := box.run(10*time.Second, "", "ccc", "log", testSession).stdout
	expectIn(t, "ccc log", log, withoutVerdict.zh, unreadableVerdict.zh)
	expectNotIn(t, "ccc log", log, "未绑定")
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
		got := box.stop(`"last_assistant_message":` + string(encodeJSON(code+" it is")))
		expectEnd(t, "the stop", got, 0, string(encodeJSON(blocked(code)))+"\n", "")
	}
	expectIn(t, "the request", box.read("../fake/reviewer-2/stdin"), "to kimi-k2-thinking", "\n+"+code+"\n", "\n+MODEL=kimi-k2-thinking\n", code+" it is", "上次反馈\n"+code)
	expectNotIn(t, "the request", box.read("../fake/reviewer-2/stdin"), "***")
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
