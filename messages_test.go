package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
)

// speakIn makes the process of the test speak a language until the test ends.
func speakIn(t *testing.T, language messages) {
	t.Helper()
	was := lang
	lang = language
	t.Cleanup(func() { lang = was })
}

// chineseIn returns the first Chinese character or punctuation mark of text with
// what is around it, "" for none.
func chineseIn(text string) string {
	runes := []rune(text)
	for i, r := range runes {
		if unicode.Is(unicode.Han, r) || r >= 0x3000 && r < 0x3040 || r >= 0xff00 && r < 0xffef {
			return string(runes[max(0, i-60):min(len(runes), i+60)])
		}
	}
	return ""
}

// ccc.json comes before the locale, LC_ALL before LC_MESSAGES before LANG; an
// empty variable counts as none.
func TestLanguage(t *testing.T) {
	t.Parallel()
	const chineseHead, englishHead = "还没有受监督的会话", "No session has been supervised yet"
	tests := []struct {
		config string // language in ccc.json, "" for no file
		vars   string
		want   string
	}{
		{"", "LANG=", chineseHead},
		{"", "LANG=C", chineseHead},
		{"", "LANG=C.UTF-8", chineseHead},
		{"", "LANG=POSIX", chineseHead},
		{"", "LANG=zh", chineseHead},
		{"", "LANG=zh_CN.UTF-8", chineseHead},
		{"", "LANG=zh_TW.UTF-8", chineseHead},
		{"", "LANG=ZH_tw", chineseHead},
		{"", "LANG=zh_CN@pinyin", chineseHead},
		{"", "LANG=en_US.UTF-8", englishHead},
		{"", "LANG=de_DE.UTF-8", englishHead},
		{"", "LANG=ca_ES", englishHead},
		{"", "LANG=zh_CN.UTF-8 LC_MESSAGES=en_US.UTF-8", englishHead},
		{"", "LANG=en_US.UTF-8 LC_MESSAGES=zh_CN.UTF-8", chineseHead},
		{"", "LANG=zh_CN.UTF-8 LC_MESSAGES=zh_CN.UTF-8 LC_ALL=en_GB.UTF-8", englishHead},
		{"", "LANG=en_US.UTF-8 LC_ALL=C.UTF-8", chineseHead},
		{"", "LANG=en_US.UTF-8 LC_ALL= LC_MESSAGES=", englishHead},
		{"", "LANG=zh_CN.UTF-8 LC_ALL=zh_CN.UTF-8 CCC_LANGUAGE=en", englishHead}, // in a background session
		{`{"language":"zh"}`, "LANG=en_US.UTF-8 CCC_LANGUAGE=en", chineseHead},
		{"", "LANG=zh_CN.UTF-8 LC_CTYPE=en_US.UTF-8 LANGUAGE=en", chineseHead},
		{`{"language":"en"}`, "LANG=zh_CN.UTF-8", englishHead},
		{`{"language":"zh"}`, "LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8", chineseHead},
		{`{"supervisor":{}}`, "LANG=en_US.UTF-8", englishHead},
		{`{"language":"en","nonsense":1}`, "LANG=zh_CN.UTF-8", chineseHead}, // broken: the locale
		{`{"language":"zh"`, "LANG=en_US.UTF-8", englishHead},
	}
	for _, test := range tests {
		box := newFakeBox(t)
		box.vars = slices.DeleteFunc(box.vars, func(v string) bool { return strings.HasPrefix(v, "LANG=") })
		box.vars = append(box.vars, strings.Fields(test.vars)...)
		if test.config != "" {
			box.write(".claude/ccc.json", 0o600, test.config)
		}
		if got := box.run(10*time.Second, "", "ccc", "status"); !strings.HasPrefix(got.stdout, test.want) || got.code != 0 {
			t.Errorf("%s %s: got %+v, want %s", test.config, test.vars, got, test.want)
		}
	}
}

func TestLanguageUnknown(t *testing.T) {
	for _, value := range []string{`"fr"`, `""`, `"EN"`, `1`, `null`} {
		box := newFakeBox(t)
		box.write(".claude/ccc.json", 0o600, `{"language":`+value+`}`)
		got := box.run(10*time.Second, "", "ccc", "--supervisor")
		if got.code != 1 || !strings.Contains(got.stderr, "ccc.json: line 1: language: expected one of zh, en") || box.settings() != noFile {
			t.Errorf("%s: %+v", value, got)
		}
	}
}

// What ccc says in Chinese stands in messages_zh.go and the Chinese prompt. What
// it reads may stand elsewhere: punctuation, and words for on, off, yes and no.
func TestLanguageInOnePlace(t *testing.T) {
	reads := []string{"switch.go", "verdict.go", "json.go", "screen.go", "messages_zh.go"}
	for _, path := range slices.Concat(house, []string{"usage.txt", "supervisor_prompt_default_en.md"}) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := chineseIn(string(text)); found != "" && !slices.Contains(reads, path) {
			t.Errorf("%s holds Chinese: %s", path, found)
		}
	}
}

// Each language passes on what it is given, all of it.
func TestLanguageComplete(t *testing.T) {
	both := func(title, text string) string { return title + "\n" + text }
	for _, l := range languages {
		for _, test := range []struct{ got, given string }{ // given: in this order
			{l.announcement("1a", "2b", "3c", "4d"), "1a 2b 3c 4d"},
			{l.remembered("1a", "2b"), "1a 2b"},
			{l.introduction(71, "1a"), "71 1a"},
			{l.noReview("1a", "2b"), "1a 2b"},
			{l.earlierNoReview("1a", "2b"), "1a 2b"},
			{l.limitReached(71), "71"},
			{l.limitStop("1a", "2b"), "1a 2b"},
			{l.earlierLimit(71, "1a"), "71 1a"},
			{l.approved("1a"), "1a"},
			{l.feedbackCut("1a"), "1a"},
			{l.leftOut(71), "71"},
			{l.modeIs("1a"), "1a"},
			{l.modeUnclear("1a"), "1a"},
			{l.modeFailed("1a"), "1a"},
			{l.modeOn(71), "71"},
			{l.detailsIn("1a"), "1a"},
			{l.unfinished("1a"), "1a"},
			{l.limitSkipped(71), "71/71"},
			{both(l.running("1a", "")), "1a"},
			{both(l.running("", "1a")), "1a"},
			{both(l.place("1a", "1a", "1a")), "1a"},
			{both(l.place("1a", "2b", "3c")), "1a 3c 2b"},
			{both(l.tasks("1a")), "1a"},
			{both(l.round(71, 72)), "71 72"},
			{l.noSessions("1a"), "1a"},
			{l.supervised("1a"), "1a"},
			{l.supervisedLast("1a", "2b"), "1a 2b"},
			{l.sessionTitle("1a", "2b"), "1a 2b"},
			{l.tokensUsed("1a", "2b", "3c"), "1a 2b 3c"},
			{l.ran("1a", 71, 1), "1a 71"},
			{l.stoppedAtLimit(71), "71"},
		} {
			rest := test.got
			for _, want := range strings.Fields(test.given) {
				_, behind, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("%s: no %s where it belongs in %s", l.name(), want, test.got)
				}
				rest = behind
			}
		}
	}
}

func TestPlural(t *testing.T) {
	for got, want := range map[string]string{
		english{}.daysAgo(1):               "1 day ago",
		english{}.daysAgo(2):               "2 days ago",
		english{}.hoursAgo(2):              "2 h ago",
		english{}.took(185.4):              "3m05s",
		english{}.took(41.237):             "41.2s",
		chinese{}.took(185.4):              "用时 3 分 05 秒",
		english{}.introduction(1, ""):      "This session is supervised: at most 1 review a request. To watch: ccc log -f",
		english{}.introduction(10, "kimi"): "This session is supervised: at most 10 reviews a request, provider: kimi. To watch: ccc log -f",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// wholeSession plays all that a supervised session can come to, and returns what
// ccc wrote: to stdout and stderr, to files, to Claude Code and to the reviewer.
func wholeSession(t *testing.T, locale string) (written string) {
	box := newShowBox(t, 100)
	box.vars = append(box.vars, "LANG="+locale, "FAKE_CLAUDE_SESSION="+testSession)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":4,"try":false},"current_provider":"kimi",
		"providers":{"kimi":{"env":{"ANTHROPIC_BASE_URL":"https://kimi.example","ANTHROPIC_AUTH_TOKEN":"t"}}}}`)
	note := func(got commandResult) {
		if got.timedOut || got.code != 0 {
			t.Errorf("%s: %+v", locale, got)
		}
		written += got.stdout + got.stderr
	}
	run := func(args ...string) { note(box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)) }
	run("status")
	run("log")
	output, end := follow(t, box, "-f")
	await(t, output, "\n")
	box.turns("I think it is done.", "ask "+strings.ReplaceAll(question, "\n", " ")+"\nask "+strings.ReplaceAll(question, "\n", " "))
	noWords := fakeReview{says("I say nothing."), decides(false, "")}
	box.reviews(blocks("run the tests"), blocks("choose SQLite"), allows(""), allows("rotate the key"), fails("API Error: 529"), noWords,
		blocks(strings.Repeat("long ", 2000)), allows(""), fakeReview{answers(`{"allow_stop": false, "feedback": "see a.txt"}`)}, allows(""))
	run("--supervisor", "-p", "fix it")
	box.inSession()
	note(box.submit("go on " + strings.Repeat("and on ", 2000)))
	for range 4 { // approved with words for the user, failed, without words, too long
		note(box.stop(`"background_tasks":[{"id":"b1","status":"running"}],"last_assistant_message":"` + strings.Repeat("Done. ", 1000) + `"`))
	}
	note(box.stop("")) // at the limit
	ask := `"tool_name":"AskUserQuestion","tool_input":` + question
	note(box.hook(box.event(eventPreToolUse, ask)))
	note(box.submit("and now")) // told of the limit
	note(box.hook(box.event(eventPreToolUse, ask)))
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"keep_cache":true,"max_iterations":4}}`)
	box.write(".claude/SUPERVISOR.md", 0o600, "Be kind.")
	note(box.stop(box.transcript(userLine("1", "0", "fix it"), agentLine("2", "1", "done"))))
	for _, operand := range []string{"", " status", " on", " off", " on", " a task"} {
		note(box.submit("/supervisor" + operand))
	}
	box.timelineOf("failed", record{Time: now(), Event: eventStop, Project: box.work, outcome: outcome{Verdict: verdictFailed, Error: "killed"}})
	note(box.hook(strings.ReplaceAll(box.event(eventPrompt, `"prompt":"again"`), testSession, "failed")))
	status := fmt.Sprintf(`{"session_id":%q}`, testSession)
	note(box.run(10*time.Second, status, "ccc", "statusline"))
	run("status")
	run("log", testSession)
	run("log")
	note(box.submit("/supervisor off"))
	note(box.run(10*time.Second, status, "ccc", "statusline"))
	box.vars = append(box.vars, "CCC_SUPERVISOR=", "CLAUDE_PROJECT_DIR=")
	run("supervisor-mode", "on", testSession)
	run("log", testSession)
	await(t, output, "\n")
	end(syscall.SIGTERM)
	written += output()
	err := filepath.Walk(filepath.Dir(box.home), func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(filepath.Base(path), "review-") {
			return err
		}
		text, err := os.ReadFile(path)
		written += "\n" + path + ":\n" + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// A whole session in English has no Chinese character in it, and one in Chinese
// has the literals of the contract.
func TestLanguageOfSession(t *testing.T) {
	t.Parallel()
	english := wholeSession(t, "en_US.UTF-8")
	if found := chineseIn(english); found != "" {
		t.Errorf("Chinese in an English session: %s", found)
	}
	chinese := wholeSession(t, "C.UTF-8")
	for _, pair := range [][2]string{
		{"Supervisor mode enabled", "Supervisor mode enabled"},
		{"[Supervisor Mode] 日志文件:", "[Supervisor Mode] Log files:"},
		{"提供商 kimi（沿用上次启动的选择；ccc default 不用提供商）", "provider kimi, remembered from an earlier launch; ccc default goes without one"},
		{"[SUPERVISOR] 本会话受监督：每个请求最多审查 4 次，提供商：kimi。实时查看: ccc log -f", "[SUPERVISOR] This session is supervised: at most 4 reviews a request, provider: kimi. To watch: ccc log -f"},
		{"\"statusMessage\": \"[SUPERVISOR] 正在审查工作...\"", "\"statusMessage\": \"[SUPERVISOR] Reviewing the work...\""},
		{"[SUPERVISOR HOOK] 开始执行\n", "[SUPERVISOR HOOK] Started\n"},
		{"[SUPERVISOR] 正在审查工作...\n请在新窗口查看日志文件了解详情: ", "[SUPERVISOR] Reviewing the work...\nFor details, follow this log file in another window: "},
		{"[SUPERVISOR] 任务未完成\n", "[SUPERVISOR] Task not finished\n"},
		{"\nAgent 将根据反馈继续工作\n", "\nThe agent goes on with this feedback\n"},
		{"[SUPERVISOR] 任务已完成\n允许停止\n", "[SUPERVISOR] Task finished\nThe agent may stop\n"},
		{"\"reason\":\"请继续完成任务\"", "\"reason\":\"Please go on until the task is done.\""},
		{"……（反馈过长，全文见 ", "... (too long; the whole feedback is in "},
		{"个字符）……", " characters left out) ..."},
		{"[SUPERVISOR] 审查通过。审查者留给你的话：rotate the key", "[SUPERVISOR] Approved. The reviewer leaves this to you: rotate the key"},
		{"[SUPERVISOR] 审查失败", "[SUPERVISOR] There was no review"},
		{"[SUPERVISOR] 上一次审查失败", "[SUPERVISOR] The last review did not take place"},
		{"[SUPERVISOR] 本请求的审查次数已用完（4 次），这次停下未经审查", "[SUPERVISOR] The limit of 4 reviews is reached; there are no more for this request. This stop was not reviewed"},
		{"[SUPERVISOR] 上一个请求的审查次数已用完（4 次）", "[SUPERVISOR] The last request reached the limit of 4 reviews"},
		{"是否允许 Agent 停止工作（true = 工作达到无可挑剔状态，false = 需要继续改进）", "Whether the agent may stop working (true = the work is impeccable, false = it needs further improvement)"},
		{"当 allow_stop 为 false 时，提供具体的、可执行的、包含足够细节的改进指令", "When allow_stop is false: specific, actionable instructions for improvement, in enough detail"},
		{"严格的任务审查者", "strict task reviewer"},
		{"\n## 运行命令\n", "\n## Running commands\n"},
		{"\n## 用户的要求（按时间顺序，原文）\n", "\n## The user's requests (in order, verbatim)\n"},
		{"\n## 事件：Stop\n", "\n## Event: Stop\n"},
		{"\n## 事件：AskUserQuestion\n", "\n## Event: AskUserQuestion\n"},
		{"\n## 等待回答的问题\n", "\n## The open question\n"},
		{"\n## 工作目录\n", "\n## Working directory\n"},
		{"\n## Agent 的最后一条消息\n", "\n## The agent's last message\n"},
		{"\n## 正在运行的后台任务\n", "\n## Running background tasks\n"},
		{"\n## 上次反馈\n", "\n## Previous feedback\n"},
		{"\n## 审查轮数\n第 2 轮，最多 4 轮。\n", "\n## Round\nRound 2 of at most 4.\n"},
		{"最后只输出一个 JSON 对象", "End with one JSON object"},
		{"监督：on", "Supervisor mode: on"},
		{"不明白“/supervisor status”", "What does /supervisor status mean?"},
		{"监督已打开：Agent", "Supervisor mode is on"},
		{"监督已关闭：Agent", "Supervisor mode is off"},
		{"description: 监督本会话", "description: \"Supervise this session"},
		{"监督中 0/4 · 上次：退回 刚刚", "supervised 0/4 · last: sent back just now"},
		{"\n监督已关闭\n", "\nsupervision is off\n"},
		{"会话      监督  轮数", "Session   On  Round"},
		{"还没有受监督的会话", "No session has been supervised yet"},
		{"等待第一个会话……", "Waiting for the first session..."},
		{"（当前项目最新的会话）", " (the newest of this project)"},
		{"审查进行中……", "Review under way..."},
		{"提问审查 2/4 退回", "Review of a question 2/4 sent back"},
		{"审查 1/4 通过", "Review 1/4 approved"},
		{"    依据 ", "    rules    "},
		{"keep_cache 用处不大", "keep_cache gains little"},
		{"请求提交之后改动过", "changed since the request"},
	} {
		if !strings.Contains(chinese, pair[0]) {
			t.Errorf("the Chinese session lacks %q", pair[0])
		}
		if !strings.Contains(english, pair[1]) {
			t.Errorf("the English session lacks %q", pair[1])
		}
	}
}

// What ccc keeps for the user follows a change of the language, at the next
// launch, as long as the user has not edited it; the spinner is updated in place.
func TestLanguageFollows(t *testing.T) {
	const spinner = `"statusMessage"`
	for _, recorded := range []bool{true, false} {
		box := newFakeBox(t)
		launch := func(language string, want messages) {
			t.Helper()
			box.write(".claude/ccc.json", 0o600, `{"language":"`+language+`"}`)
			if !recorded {
				os.Remove(filepath.Join(box.home, ".claude/.ccc-installed.json"))
			}
			box.launch()
			settings := box.settings()
			if box.read(".claude/SUPERVISOR.md") != want.defaultPrompt() || box.read(".claude/commands/supervisor.md") != want.commandFile() {
				t.Errorf("recorded %v: the files are not in %s", recorded, language)
			}
			if strings.Count(settings, spinner) != 2 || strings.Count(settings, want.reviewing()) != 2 || strings.Count(settings, "supervisor-hook") != 3 {
				t.Errorf("settings.json in %s: %s", language, settings)
			}
		}
		launch("zh", chinese{})
		launch("en", english{})
		launch("zh", chinese{})
		launch("en", english{})
		box.write(".claude/SUPERVISOR.md", 0o600, defaultPromptEnglish+"And be kind.\n")
		box.write(".claude/commands/supervisor.md", 0o600, "mine")
		box.write(".claude/ccc.json", 0o600, `{"language":"zh"}`)
		box.launch()
		if box.read(".claude/SUPERVISOR.md") != defaultPromptEnglish+"And be kind.\n" || box.read(".claude/commands/supervisor.md") != "mine" {
			t.Error("an edited file was changed")
		}
		// What is not edited goes with ccc uninstall, in whatever language.
		box.write(".claude/SUPERVISOR.md", 0o600, defaultPromptEnglish)
		got := box.run(10*time.Second, "", "ccc", "uninstall")
		if got.code != 0 || box.read(".claude/SUPERVISOR.md") != "" || box.read(".claude/commands/supervisor.md") != "mine" || chineseIn(got.stdout) != "" {
			t.Errorf("uninstall: %+v", got)
		}
	}
}

// A hook that nobody asked for says nothing and does not read ccc.json.
func TestLanguageUnsupervised(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "LANG=en_US.UTF-8")
	path := filepath.Join(box.home, ".claude/ccc.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil { // whoever reads it waits
		t.Fatal(err)
	}
	for _, got := range []commandResult{box.stop(""), box.submit("fix it")} {
		if got.stdout+got.stderr != "" || got.code != 0 || got.timedOut || got.took > 5*time.Second {
			t.Errorf("%+v", got)
		}
	}
}
