package main

// What an event means: whose it is, whose words it brings, which tree it is about, and what is said to whom.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inSession gives the box the variables of a supervised session of Claude Code.
func (box *sandbox) inSession() {
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1")
}

// transcript writes what the events of testSession name as their transcript, and returns that member of an event.
func (box *sandbox) transcript(lines ...string) string {
	box.t.Helper()
	name := "projects/x/" + testSession + ".jsonl"
	box.write(name, 0o600, strings.Join(lines, "\n")+"\n")
	return fmt.Sprintf(`"transcript_path":%q`, filepath.Join(box.home, name))
}

// A client that the agent calls is not supervised, whatever variables it inherits, and ccc's launch is not about a wrapper.
func TestNested(t *testing.T) {
	t.Parallel()
	for _, wrapped := range []bool{false, true} {
		t.Run(fmt.Sprintf("wrapped_%v", wrapped), func(t *testing.T) {
			box := newFakeBox(t)
			box.reviews(blocks("not yet"), allows(""))
			box.turns(`sh [ -n "$NESTED" ] || NESTED=1 claude -p nested >"$FAKE_CLAUDE_DIR/nested"` + "\n" +
				`sh [ -n "$NESTED" ] || NESTED=1 ccc -p nested >"$FAKE_CLAUDE_DIR/nested-ccc"` + "\nDone.\n")
			if wrapped {
				box.claudeIs(fakeClaude() + ` "$@"` + "\nexit $?\n")
			}
			got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			introduced, answer, _ := strings.Cut(got.stdout, "\n")
			got.stdout = answer
			expectRun(t, box, got, "Done.\nStop hook feedback: not yet\nDone.", verdictBlock, verdictAllow)
			if !strings.Contains(introduced, "本会话受监督") {
				t.Errorf("the first line is %q", introduced)
			}
			for _, name := range []string{"nested", "nested-ccc"} {
				if answer := box.read("../fake/" + name); answer != "Done.\n" {
					t.Errorf("%s answered %q", name, answer)
				}
			}
		})
	}
}

// A wrapper that starts claude again when it has ended has both supervised.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.reviews(blocks("not yet"), allows(""), blocks("not yet"), allows(""))
	box.claudeIs(`case "$*" in *--fork-session*) exec ` + fakeClaude() + ` "$@" ;; esac` + "\nfor prompt in one two; do " + fakeClaude() + ` -p $prompt </dev/null` + "; done\nexit 0\n")
	got := box.run(30*time.Second, "", "ccc", "--supervisor")
	if strings.Count(got.stdout, "Stop hook feedback: not yet") != 2 {
		t.Errorf("%+v", got)
	}
}

// What is told in a session. By hand, with nobody to show it, a failed review and the limit leave stdout empty.
func TestShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, state string
		review      fakeReview
		shown       string
	}{
		{"approved", "", allows(""), ""},
		{"left_to_the_user", "", allows("rotate the key"), "审查通过。审查者留给你的话：rotate the key"},
		{"failed", "", fails("API Error: 529"), "审查失败，Agent 的工作未经审查：the reviewer failed"},
		{"limit", stateText(testSession, 10, ""), allows(""), `"[SUPERVISOR] 本请求的审查次数已用完（8 次），这次停下未经审查；你的下一条提示重新计数（日志: `},
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
			if got := box.stop(""); got.code != 0 || (got.stdout != "") != (test.name == "left_to_the_user") {
				t.Errorf("by hand: %+v", got)
			}
			box.inSession()
			box.submit("before")
			prepare()
			got := box.stop("")
			if message := strings.HasPrefix(got.stdout, `{"systemMessage":"[SUPERVISOR] `); got.code != 0 || message != (test.shown != "") || !strings.Contains(got.stdout, test.shown) {
				t.Errorf("in a session: %+v", got)
			}
			// Told at once, it is not told again; the prompt is not the first.
			if got := box.submit("next"); got.stdout != "" {
				t.Errorf("told again: %+v", got)
			}
		})
	}
}

// The first prompt's answer says what the session has.
func TestIntroduced(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
	box.vars = append(box.vars, "CCC_PROVIDER=kimi")
	const want = `{"systemMessage":"[SUPERVISOR] 本会话受监督：每个请求最多审查 3 次，提供商：kimi。实时查看: ccc log -f"}` + "\n"
	if got := box.submit("hello"); got.stdout != want {
		t.Errorf("got %+v", got)
	}
	if got := box.submit("more"); got.stdout != "" {
		t.Errorf("said again: %+v", got)
	}
}

// A notification of Claude Code's refills no budget, takes no feedback away and is no request; nor does anything else
// that is not the user's.
func TestNotification(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	lines := []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}
	box.submit("fix it")
	for i := range 4 {
		if got := box.stop(box.transcript(lines...)); (got.stdout == blockNotYet) != (i < 2) {
			t.Errorf("stop %d: %+v", i+1, got)
		}
		box.submit("<task-notification>\n<task-id>x</task-id>")
		id := fmt.Sprint(i)
		lines = append(lines, userLine("n"+id, "2", "<task-notification>\n<task-id>x</task-id>"), agentLine("a"+id, "n"+id, "done"))
	}
	request := box.read("../fake/reviewer-2/stdin")
	if !strings.Contains(request, "\n[1] fix it\n") || strings.Contains(request, "task-id") || !strings.Contains(request, "上次反馈\nnot yet") {
		t.Errorf("the request is %s", request)
	}
	// The same holds where the notification is one that ccc does not know: the transcript says what is new.
	box.submit("what a later version submits itself")
	if got := box.stop(box.transcript(lines...)); got.stdout != "" {
		t.Errorf("a budget of its own: %+v", got)
	}
	box.submit("add tests")
	if got := box.stop(box.transcript(append(lines, userLine("u", "2", "add tests"), agentLine("v", "u", "done"))...)); got.stdout != blockNotYet {
		t.Errorf("the next request: %+v", got)
	}
}

// A prompt that was queued while a review ran has a budget of its own, whatever the client calls where it is from.
func TestQueuedPrompt(t *testing.T) {
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	lines := []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}
	box.submit("fix it")
	box.stop(box.transcript(lines...))
	box.submit("add tests")
	if got := box.stop(box.transcript(append(lines, userLine("3", "2", "add tests", `,"promptSource":"queued"`), agentLine("4", "3", "added"))...)); got.stdout != blockNotYet {
		t.Errorf("%+v", got)
	}
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "[2] add tests\n") || !strings.Contains(request, "第 1 轮，最多 1 轮") {
		t.Errorf("the request is %s", request)
	}
}

// What the agent has scheduled is no prompt of the user's: it changes no instructions, refills nothing, switches nothing.
func TestScheduledPrompt(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	long := strings.Repeat("long ", 300)
	crons := string(encodeJSON([]map[string]string{{"prompt": "go on"}, {"prompt": "/supervisor off"}, {"prompt": "/supervisor on"}, {"prompt": "/supervisor carry on"}, {"prompt": long[:1000] + "… [+500 chars]"}}))
	box.submit("fix it")
	box.stop(`"session_crons":` + crons)
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	for _, prompt := range []string{"go on", "/supervisor off", "/supervisor on", "/supervisor carry on", long} {
		refused := prompt == "/supervisor off" || prompt == "/supervisor on"
		if got := box.submit(prompt); got.code != 0 || strings.Contains(got.stdout, "由用户决定") != refused || !refused && got.stdout != "" {
			t.Errorf("%s: %+v", prompt, got)
		}
	}
	if strings.Contains(box.read(eventsPath), `"event":"switch"`) {
		t.Error("what the agent has scheduled switches the supervision")
	}
	if got := box.stop(`"session_crons":[]`); got.stdout != blockNotYet || strings.Contains(box.read("../fake/reviewer-2/args"), "MILD ONES") {
		t.Errorf("%+v", got)
	}
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "第 2 轮") || strings.Contains(request, "go on") || strings.Contains(request, "carry on") {
		t.Errorf("the request is %s", request)
	}
	box.submit("go on") // the user's now
	box.stop("")
	if !strings.Contains(box.read("../fake/reviewer-3/args"), "MILD ONES") {
		t.Error("a prompt of the user's did not count")
	}
	// One that only begins like a scheduled one is the user's.
	box.stop(`"session_crons":` + crons)
	box.submit("go on, and add tests")
	box.stop("")
	if request := box.read("../fake/reviewer-5/stdin"); !strings.Contains(request, "go on, and add tests") || !strings.Contains(request, "第 1 轮") {
		t.Errorf("the request is %s", request)
	}
}

// Only what stands in the transcript is told; without one the request says that this is not known.
func TestRequests(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.submit("drop the table")
	box.submit("fix it")
	box.stop(box.transcript(userLine("1", "", "drop the table"), userLine("2", "", "fix it"), agentLine("3", "2", "done")))
	if request := box.read("../fake/reviewer-1/stdin"); strings.Contains(request, "drop the table") || !strings.Contains(request, "[1] fix it\n") {
		t.Errorf("the request is %s", request)
	}
	box.stop(box.transcript(userLine("2", "lost", "fix it"), agentLine("3", "2", "done")))
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "会话记录不完整") || !strings.Contains(request, "[1] fix it\n") {
		t.Errorf("where the beginning is lost the request is %s", request)
	}
	box.stop("")
	if request := box.read("../fake/reviewer-3/stdin"); !strings.Contains(request, "会话记录无法读取") || !strings.Contains(request, "[1] drop the table\n\n[2] fix it\n") {
		t.Errorf("without a transcript the request is %s", request)
	}
}

// The last entries may be on their way when the hook begins.
func TestTranscriptArrivesLate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		prompts      []string // the timeline's
		before, late []string
		event        string
		members      string
	}{
		{"typed_while_the_agent_worked", nil, []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok")},
			[]string{queuedLine("4", "3", "and quickly", ""), agentLine("5", "4", "all done")}, eventStop, `"last_assistant_message":"all done"`},
		{"words_not_told", nil, []string{userLine("1", "", "fix it"), callLine("2", "1", "t1")},
			[]string{outputLine("3", "2", "t1", "ok"), queuedLine("4", "3", "and quickly", ""), agentLine("5", "4", "all done")}, eventStop, ""},
		{"the_same_words_again", []string{"fix it", "and quickly"}, []string{userLine("1", "", "fix it"), agentLine("2", "1", "all done")},
			[]string{userLine("3", "2", "and quickly"), agentLine("4", "3", "all done")}, eventStop, `"last_assistant_message":"all done"`},
		{"question", nil, []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok")},
			[]string{queuedLine("4", "3", "and quickly", ""), callLine("5", "4", "t2")}, eventPreToolUse,
			`"tool_name":"AskUserQuestion","tool_use_id":"t2","tool_input":{"questions":[]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			for _, prompt := range test.prompts {
				box.submit(prompt)
			}
			member := box.transcript(test.before...)
			go func() {
				time.Sleep(100 * time.Millisecond)
				box.transcript(slices.Concat(test.before, test.late)...)
			}()
			if test.members != "" {
				member += "," + test.members
			}
			box.hook(box.event(test.event, member))
			if request := box.read("../fake/reviewer-1/stdin"); !strings.Contains(request, "[2] and quickly\n") {
				t.Errorf("the request is %s", request)
			}
		})
	}
}

// The instructions are those that held at the user's prompt.
func TestInstructionsHold(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	said := func(n int) string { return box.read(fmt.Sprintf("../fake/reviewer-%d/args", n)) }
	box.write("../work/SUPERVISOR.md", 0o600, "STRICT ONES")
	box.submit("fix it")
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	box.stop("")
	if !strings.Contains(said(1), "STRICT ONES") || strings.Contains(said(1), "MILD ONES") {
		t.Errorf("the agent's own instructions counted: %s", said(1))
	}
	os.Remove(filepath.Join(box.work, "SUPERVISOR.md"))
	box.stop("")
	if !strings.Contains(said(2), "STRICT ONES") {
		t.Errorf("removing them was enough: %s", said(2))
	}
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	box.submit("and now mildly")
	box.stop("")
	if !strings.Contains(said(3), "MILD ONES") {
		t.Errorf("the user's did not count from the next prompt on: %s", said(3))
	}
	var kept []bool
	for _, r := range box.timeline(testSession) {
		if r.Event == eventStop {
			kept = append(kept, r.PromptKept)
		}
	}
	if fmt.Sprint(kept) != "[true true false]" {
		t.Errorf("the timeline tells of kept instructions: %v", kept)
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
			if got := box.hook(event); got.stdout != blockNotYet {
				t.Fatalf("%+v", got)
			}
			call := "../fake/reviewer-1/"
			want := tree
			if version == "2.1.120" {
				call, want = "../fake/reviewer-2/", box.work // the first call finds no session
			}
			if cwd := strings.TrimSpace(box.read(call + "cwd")); cwd != want {
				t.Errorf("ran in %s, want %s", cwd, want)
			}
			if request := box.read(call + "stdin"); !strings.Contains(request, "worktree 里工作: "+tree) || !strings.Contains(request, "主目录 "+box.work) {
				t.Errorf("the request is %s", request)
			}
			if args := box.read(call + "args"); !strings.Contains(args, "--add-dir\n"+tree+"\n"+box.work+"\n") {
				t.Errorf("arguments %s", args)
			}
			if version == "2.1.329" { // another failure is no reason to pay for a second call
				box.reviews(fails("API Error: 529"))
				if got := box.hook(event); !strings.Contains(got.stderr, "API Error: 529") || box.read("../fake/reviewer-3/args") != "" {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// Where the agent stands in another repository, the project is reviewed all the same.
func TestOtherRepository(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1")
	box.write("../work/.git/HEAD", 0o600, "")
	box.write("../other/.git/HEAD", 0o600, "")
	box.hook(strings.Replace(box.event("Stop", ""), box.work, filepath.Join(filepath.Dir(box.home), "other"), 1))
	if cwd := strings.TrimSpace(box.read("../fake/reviewer-1/cwd")); cwd != box.work {
		t.Errorf("ran in %s, want %s", cwd, box.work)
	}
}

// A link to the project is no other tree.
func TestLinkedProject(t *testing.T) {
	box := newHookBox(t)
	box.write("../work/.git/HEAD", 0o600, "")
	link := filepath.Join(filepath.Dir(box.home), "link")
	if err := os.Symlink(box.work, link); err != nil {
		t.Fatal(err)
	}
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+link, "CCC_SUPERVISOR=1")
	box.stop("")
	if request := box.read("../fake/reviewer-1/stdin"); strings.Contains(request, "worktree") || !strings.Contains(request, "Agent 的当前目录") {
		t.Errorf("the request is %s", request)
	}
}

// The session's directories go to the reviewer, and up to 2.1.120 its model.
func TestSessionsModelAndDirectories(t *testing.T) {
	t.Parallel()
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
	// The model of ccc.json comes before the session's.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"model":"chosen"}}`)
	box.stop(box.transcript(strings.Split(lines, "\n")...))
	if args := box.read("../fake/reviewer-3/args"); !strings.Contains(args, "--model\nchosen\n") {
		t.Errorf("with a model in ccc.json: arguments %s", args)
	}
	// Another provider does not know the model.
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"b","keep_cache":true},"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b"}}}}`)
	box.stop(box.transcript(strings.Split(lines, "\n")...))
	if args := box.read("../fake/reviewer-4/args"); args == "" || strings.Contains(args, "--model") {
		t.Errorf("with another provider: arguments %s", args)
	}
	if records := box.timeline(testSession); records[len(records)-1].CacheSplit { // nor has its cache anything of the session's
		t.Error("the record tells of a cache that is parted by a line")
	}
	for _, keep := range []bool{true, false} {
		box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{"keep_cache":%v}}`, keep))
		box.stop(box.transcript(strings.Split(lines, "\n")...))
		if records := box.timeline(testSession); records[len(records)-1].CacheSplit != keep {
			t.Errorf("keep_cache %v: the record tells of a cache that is parted by a line: %v", keep, !keep)
		}
	}
}

// A launch passes its --add-dir on.
func TestLaunchAddDirs(t *testing.T) {
	box := newFakeBox(t)
	box.write("../other/x", 0o600, "")
	other := filepath.Join(filepath.Dir(box.home), "other")
	box.run(30*time.Second, "hello", "ccc", "--supervisor", "--", "-p", "--add-dir", "../other", "--verbose")
	if args := box.read("../fake/reviewer-1/args"); !strings.Contains(args, "--add-dir\n"+other+"\n") {
		t.Errorf("arguments %s", args)
	}
	box.claudeIs(`printf %s "$CCC_ADD_DIRS" >"$HOME/dirs"`)
	box.run(30*time.Second, "", "ccc", "--supervisor", "--", "a", "--add-dir", "../other", "/b", "--verbose", "c", "--add-dir=/d", "e", "--", "--add-dir", "/f")
	if got := box.read("dirs"); got != other+"\n/b\n/d" {
		t.Errorf("directories %q", got)
	}
}

// What a user's rules let MCP servers do, they do not in a review: they are kept out, or asked for where the list of
// tools must stay and the version can.
func TestReviewersServers(t *testing.T) {
	t.Parallel()
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

// Off takes effect at once: the review ends, and decides nothing, of a stop or of a question.
func TestSwitchedOffDuringReview(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]string{"stop": "", "question": asked, "by_hand": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switchOffDuringReview(t, members, name != "by_hand")
		})
	}
}

func switchOffDuringReview(t *testing.T, members string, inSession bool) {
	box := newHookBox(t)
	event := box.event(eventStop, "")
	if members != "" {
		event = box.event(eventPreToolUse, members)
	}
	if inSession {
		box.inSession()
	}
	box.submit("fix it")
	box.reviews(fakeReview{runs(`echo $$ >"$FAKE_CLAUDE_DIR/runs"; sleep 300`), decides(false, "not yet")})
	done := make(chan commandResult, 1)
	go func() { done <- box.hook(event) }()
	for deadline := time.Now().Add(20 * time.Second); box.read("../fake/runs") == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no review")
		}
	}
	start := time.Now()
	if got := box.run(10*time.Second, "", "ccc", "supervisor-mode", "off", testSession[:8]); got.stdout != "off\n" {
		t.Fatalf("%+v", got)
	}
	if got := <-done; got.stdout != "" || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %+v", time.Since(start), got)
	}
	records := box.timeline(testSession)
	if last, before := records[len(records)-1], records[len(records)-2]; last.Verdict != verdictFailed || before.Event != eventSwitch || before.Mode != "off" {
		t.Errorf("the timeline ends in %+v, %+v", before, last)
	}
	// Whoever switched it off need not be told.
	box.submit("/supervisor on")
	if got := box.submit("go on"); got.stdout != "" {
		t.Errorf("the next prompt is answered with %s", got.stdout)
	}
}

// /supervisor is the user's where they have a command or a skill of that name.
func TestUsersOwnCommand(t *testing.T) {
	t.Parallel()
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

// Launches that would run no hooks are refused before anything is written; what only looks like one is not.
func TestHookless(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, content, variable string
		args                          []string
		code                          int
		names                         string
	}{
		{name: "bare", args: []string{"--bare"}, code: 2, names: "--bare"},
		{name: "safe_mode", args: []string{"--safe-mode"}, code: 2, names: "--safe-mode"},
		{name: "restricted", args: []string{"--restricted"}, code: 2, names: "--restricted"},
		{name: "cloud", args: []string{"--cloud=x"}, code: 2, names: "--cloud"},
		{name: "sources", args: []string{"--setting-sources", "project, local"}, code: 2, names: "--setting-sources project, local"},
		{name: "sources_with_user", args: []string{"--setting-sources=project,user"}},
		{name: "settings", args: []string{"--settings", `{"disableAllHooks":true}`}, code: 2, names: "disableAllHooks"},
		{name: "settings_file", args: []string{"--settings=../home/s.json"}, file: "s.json", content: `{"disableAllHooks":true}`, code: 2, names: "disableAllHooks"},
		{name: "settings_harmless", args: []string{"--settings", `{"disableAllHooks":false}`}},
		{name: "settings_last_counts", args: []string{"--settings", `{"disableAllHooks":true}`, "--settings", `{}`}},
		{name: "a_prompt", args: []string{"--", "--bare"}},
		{name: "project", file: "../work/.claude/settings.json", content: `{"disableAllHooks":true}`, code: 1, names: ".claude/settings.json: disableAllHooks"},
		{name: "local", file: "../work/.claude/settings.local.json", content: `{"disableAllHooks":true}`, code: 1, names: ".claude/settings.local.json: disableAllHooks"},
		{name: "local_false", file: "../work/.claude/settings.local.json", content: `{"disableAllHooks":false}`},
		{name: "administrators", file: "managed.json", content: `{"disableAllHooks":true}`, code: 1, names: "managed.json: disableAllHooks"},
		{name: "administrators_only", file: "managed.json", content: `{"allowManagedHooksOnly":true}`, code: 1, names: "managed.json: allowManagedHooksOnly"},
		{name: "only_of_project", file: "../work/.claude/settings.json", content: `{"allowManagedHooksOnly":true}`, code: 1, names: "settings.json: allowManagedHooksOnly"},
		{name: "remote", args: []string{"--remote"}, code: 2, names: "--remote"},
		{name: "safe_mode_variable", variable: "CLAUDE_CODE_SAFE_MODE=On", code: 1, names: "CLAUDE_CODE_SAFE_MODE"},
		{name: "restricted_variable", variable: "CLAUDE_CODE_RESTRICTED=yes", code: 1, names: "CLAUDE_CODE_RESTRICTED"},
		{name: "own_variable_of_administrators", file: "managed.json", content: `{"env":{"CCC_LAUNCH":""}}`, code: 1, names: "managed.json: env.CCC_LAUNCH"},
		{name: "simple", variable: "CLAUDE_CODE_SIMPLE=1", code: 1, names: "CLAUDE_CODE_SIMPLE"},
		{name: "simple_off", variable: "CLAUDE_CODE_SIMPLE=0"},
		{name: "own_variable", file: "../work/.claude/settings.json", content: `{"env":{"CCC_SUPERVISOR":""}}`, code: 1, names: "settings.json: env.CCC_SUPERVISOR"},
		{name: "own_variable_of_settings", args: []string{"--settings", `{"env":{"CCC_SUPERVISOR_HOOK":"1"}}`}, code: 2, names: "env.CCC_SUPERVISOR_HOOK"},
		{name: "own_empty_variable_of_settings", args: []string{"--settings", `{"env":{"CCC_SUPERVISOR":""}}`}, code: 2, names: "env.CCC_SUPERVISOR"},
		{name: "variable_of_settings", args: []string{"--settings", `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`}, code: 2, names: "env.CLAUDE_CODE_SIMPLE"},
		{name: "variable_of_settings_off", args: []string{"--settings", `{"env":{"CLAUDE_CODE_SIMPLE":"0","MINE":"1"}}`}},
		{name: "safe_mode_of_a_file", file: ".claude/settings.json", content: `{"env":{"CLAUDE_CODE_SAFE_MODE":"true"}}`, code: 1, names: "env.CLAUDE_CODE_SAFE_MODE"},
		{name: "simple_of_the_administrator", file: "managed.json", content: `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, code: 1, names: "managed.json: env.CLAUDE_CODE_SIMPLE"},
		{name: "restricted_of_ccc_json", file: ".claude/ccc.json", content: `{"settings":{"env":{"CLAUDE_CODE_RESTRICTED":"1"}}}`, code: 1, names: "settings.env.CLAUDE_CODE_RESTRICTED"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs("echo started")
			box.vars = append(box.vars, test.variable, testManagedVariable+"="+filepath.Join(box.home, "managed.json"))
			if test.file != "" {
				box.write(test.file, 0o600, test.content)
			}
			before := box.files()
			got := box.run(30*time.Second, "", append([]string{"ccc", "--supervisor", "--", "-p"}, test.args...)...)
			if test.code == 0 && got.stdout == "started\n" {
				return
			}
			if got.code != test.code || test.code == 0 || !strings.Contains(got.stderr, test.names) || !strings.Contains(got.stderr, "nothing would be reviewed") || got.stdout != "" {
				t.Errorf("got %+v", got)
			}
			if after := box.files(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("a refused launch leaves %q, was %q", after, before)
			}
			if got := box.run(30*time.Second, "", append([]string{"ccc", "--", "-p"}, test.args...)...); got.stdout != "started\n" {
				t.Errorf("without --supervisor: %+v", got)
			}
		})
	}
}

// A reader of the hook's stderr that does not read delays neither decision, deadline nor signal.
func TestFaultStderrUnread(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("what the reviewer thinks ", 4000)
	tests := []struct {
		name   string
		review fakeReview
		signal bool
		stdout string
	}{
		{"decision", fakeReview{says(long), says(long), says(long), decides(false, "not yet")}, false, blockNotYet},
		{"deadline", fakeReview{says(long), says(long), runs("sleep 300")}, false, ""},
		{"signal", fakeReview{says(long), says(long), runs(`echo x >"$FAKE_CLAUDE_DIR/runs"; sleep 300`)}, true, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":10}}`)
			box.reviews(test.review)
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			cmd := box.command("ccc", "supervisor-hook")
			cmd.Stdin, cmd.Stderr = strings.NewReader(box.event(eventStop, "")), write
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			write.Close()
			for test.signal && box.read("../fake/runs") == "" && time.Since(start) < 8*time.Second {
				time.Sleep(10 * time.Millisecond)
			}
			most := 14 * time.Second
			if test.signal {
				cmd.Process.Signal(syscall.SIGTERM)
				start, most = time.Now(), 3*time.Second
			}
			text, _ := io.ReadAll(stdout)
			if err := cmd.Wait(); err != nil || string(text) != test.stdout || time.Since(start) > most {
				t.Errorf("%v after %v: %q", err, time.Since(start), text)
			}
		})
	}
}

// A session of a Claude Code that is too old is not reviewed, and the way out is named.
func TestReviewOfOldClient(t *testing.T) {
	box := newHookBox(t)
	lines := userLine("1", "", "fix it") + "\n" + agentLine("2", "1", "done")
	got := box.stop(box.transcript(strings.Split(strings.ReplaceAll(lines, "2.1.329", "2.1.119"), "\n")...))
	if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "2.1.119 of Claude Code is older than 2.1.120: npm install -g") || box.read("../fake/reviewer-1/args") != "" {
		t.Errorf("%+v", got)
	}
}

// Claude Code ends the hook at the timeout in settings.json. Where timeout_seconds was raised since the launch, the
// review is given up before, and the user is told why.
func TestHooksTimeoutInSettings(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.launch()
	box.setSettings(strings.ReplaceAll(box.settings(), `"timeout": 600`, `"timeout": 7`))
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":1800}}`)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1")
	box.reviews(fakeReview{runs("sleep 100")})
	const why = "no verdict within 2s: Claude Code ends the hook after 7s, as settings.json says"
	got := box.stop("")
	if got.code != 0 || !strings.Contains(got.stdout, why) || got.took > 6*time.Second {
		t.Errorf("got %+v", got)
	}
	if r := box.timeline(testSession); len(r) != 1 || r[0].Verdict != verdictFailed || !strings.Contains(r[0].Error, why) {
		t.Errorf("timeline %+v", r)
	}
}
