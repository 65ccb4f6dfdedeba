package main

// Stops and questions on the real Claude Code (see real_api_test.go): what the contract claims about the client is seen
// here, in the requests that reach the scripted API. The fake claude of the other tests proves none of it.

import (
	"bytes"
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

func TestRealClientLoop(t *testing.T) {
	const feedback = "add <tests> & 中文 \"quoted\"\nsecond line"
	forClients(t, func() script {
		return script{
			agent: []apiReply{replyText("first answer"), replyText("second answer")},
			reviewer: []apiReply{
				replyTool("Read", `{"file_path":"notes.txt"}`),
				replyTool("Edit", `{"file_path":"notes.txt","old_string":"a note","new_string":"edited"}`),
				replyTool("Write", `{"file_path":"new.txt","content":"written"}`),
				replyTool("Bash", `{"command":"touch touched.txt"}`),
				replyVerdict(false, feedback),
				replyVerdict(true, ""),
			},
		}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.setSettings(`{"permissions":{"allow":["Edit","Write","NotebookEdit"]},
			"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo \"hook=$CCC_SUPERVISOR_HOOK\" >>$HOME/user-hooks"}]}]}}`)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "fix the <bug>")
		expectRun(t, box, got, "second answer", verdictBlock, verdictAllow)

		agent, reviews := api.requests("agent"), api.requests("review")
		if len(agent) != 2 || len(reviews) < 6 {
			t.Fatalf("%d agent and %d review requests", len(agent), len(reviews))
		}
		expectIn(t, "what the agent got", agent[1].last("user"), "Stop hook feedback:\n"+feedback)
		for i, r := range reviews {
			if text := r.text(); !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.zh)) ||
				!strings.Contains(text, "fix the <bug>") || !strings.Contains(text, "assistant: first answer") {
				t.Errorf("review request %d lacks the prompt, the request or the answer", i)
			}
		}
		if last := reviews[len(reviews)-1].text(); !strings.Contains(last, "assistant: second answer") || !strings.Contains(last, "上次反馈\n"+feedback) {
			t.Errorf("the second review does not see the second answer and the last feedback")
		}
		entries, _ := os.ReadDir(box.work)
		if notes := box.read("../work/notes.txt"); notes != "a note\n" || len(entries) != 1 {
			t.Errorf("the reviewer changed the work: %q, %v", notes, entries)
		}
		var used tokens
		for _, r := range endsOf(box.onlyTimeline()) {
			if r.Tokens != nil {
				used.add(*r.Tokens)
			}
		}
		if used.Input != 10*len(reviews) || used.Output != 5*len(reviews) { // as the scripted API counts
			t.Errorf("%d requests used %+v", len(reviews), used)
		}
		expectIs(t, "the runs of the user's hook", box.read("user-hooks"), "hook=\nhook=\n")
		box.expectOneSession()
	})
}

// expectOneSession fails the test if a reviewer has left a session of its own.
func (box *sandbox) expectOneSession() {
	box.t.Helper()
	if sessions, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*-*-*-*-*.jsonl")); len(sessions) != 1 {
		box.t.Errorf("sessions: %q", sessions)
	}
}

// Ten rejections in a row are the default limit of a launched session: the client itself would end the turn after eight, as
// it does in a session that ccc did not launch. There too the turn ends by ccc's limit, and not by force.
func TestRealClientLimit(t *testing.T) {
	forClients(t, func() script {
		s := script{reviewer: []apiReply{replyVerdict(false, "not yet")}}
		for i := range 20 {
			s.agent = append(s.agent, replyText(fmt.Sprint("answer ", i+1)))
		}
		return s
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		launched := box.run(300*time.Second, "", "ccc", "--supervisor", "-p", "launched")
		plain := box.run(300*time.Second, "", "claude", "-p", "/supervisor the plain one", "--output-format", "stream-json", "--verbose")
		want := []string{"launched:" + strings.Repeat(" block", 10) + " limit", "the plain one:" + strings.Repeat(" block", 8) + " limit"}
		expectEqual(t, "the verdicts", box.supervised(), want)
		if launched.stdout != "answer 11\n" || !strings.Contains(plain.stdout, `"result":"answer 20"`) || strings.Contains(plain.stdout, "blocked the turn from ending") {
			t.Errorf("%+v\n%.2000s", launched, plain.stdout)
		}
	})
}

// The reviewer decides a question for the user, or leaves it to the user, as it also does where it gives no verdict.
func TestRealClientQuestion(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	const asks, answered = "] to be ", "审查者（不是你）回答了Agent的提问：Whichdatabase?-SQLite-Postgres它的回答：decideyourself:SQLiteisenough提问审查1/10：退回"
	reviews := map[string]apiReply{"refused": replyVerdict(false, "decide yourself: SQLite is enough"), "allowed": replyVerdict(true, "back it up"), "unclear": replyText("I can not tell.")}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		var api *scriptedAPI
		shown := make(chan bool)
		api = box.answering(func(r apiRequest) apiReply {
			request := r.request()
			switch asked := len(api.requests("agent")); {
			case r.Kind != "review" && asked%2 == 1:
				return replyTool(askUserQuestion, question)
			case r.Kind != "review":
				return replyText("the agent goes on")
			case strings.Contains(request, "问题还没有显示给用户"):
				<-shown
				// Between the prompts stand the answers to the questions before.
				return reviews[strings.Fields(request[strings.LastIndex(request, asks)+len(asks):])[0]]
			}
			return replyVerdict(true, "")
		})
		tty := box.start()
		for i, review := range []string{"refused", "allowed", "unclear"} {
			tty.prompt("to be " + review)
			if i == 0 {
				tty.waitFor(reviewingQuestion.zh, 90*time.Second)
				close(shown)
			}
			if review != "refused" {
				tty.choose("one file")
			}
			box.awaitVerdicts(2 * (i + 1)) // of the question, and of the stop
			tty.waitFor(map[string]string{"refused": answered, "allowed": "审查者给你的留言：back it up", "unclear": "这个提问的审查未完成，直接交给了你"}[review], 60*time.Second)
			if screen := tty.screen(); review == "refused" && (strings.Contains(screen, "one file") || !strings.Contains(screen, "不同意：按 Esc，再输入你的回答")) {
				t.Errorf("the user saw the dialog, or not how to say otherwise:\n%s", screen)
			}
		}
		want := []verdict{verdictBlock, verdictAllow, verdictAllow, verdictAllow, verdictFailed, verdictAllow}
		expectEqual(t, "the verdicts", box.timelineVerdicts(), want)
		text := api.requests("review")[0].last("user")
		expectIn(t, "the reviewer's request", text, "Which database?", "SQLite", "one file", "Postgres", "a server")
		got := api.requests("agent")[1].last("user")
		expectIn(t, "what the agent got", got, "decide yourself: SQLite is enough")
		expectNotIn(t, "what the agent got", got, "不是你")
	})
}

// hangingReview is a reviewer in the middle of a Bash command, with one process
// in the background that left its process group and ignores SIGTERM.
func hangingReview() script {
	return script{
		agent: []apiReply{replyText("the answer")},
		reviewer: []apiReply{replyTool("Bash",
			`{"command":"(trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 301' & ) ; sleep 300","timeout":400000}`)},
	}
}

// awaitHook waits until the reviewer's Bash command runs and returns the pid of the hook that waits for the review.
func (box *sandbox) awaitHook(timeout time.Duration) (pid int) {
	box.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		list := strings.Join(box.processes(), "\n")
		if strings.Contains(list, "sleep 300") && strings.Contains(list, "sleep 301") {
			for line := range strings.Lines(list) {
				if first, command, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(command, " supervisor-hook") && !strings.Contains(command, "sh -c") {
					pid, _ = strconv.Atoi(first)
					return pid
				}
			}
		}
		if time.Now().After(deadline) {
			box.t.Fatalf("the review does not run:\n%s", list)
		}
	}
}

// expectNoReviewer fails the test when anything of a review is alive so long from now.
func (box *sandbox) expectNoReviewer(within time.Duration) {
	box.t.Helper()
	var left []string
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = nil
		for _, process := range box.processes() {
			if strings.Contains(process, "--fork-session") || strings.Contains(process, "sleep 30") {
				left = append(left, process)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	box.t.Errorf("alive %v later: %q", within, left)
}

// However a review ends before its verdict, nothing of it is left within a second, and the agent, if it is still there, stops. A switch is noticed
// within half a second; Esc sends SIGTERM.
func TestRealClientInterrupted(t *testing.T) {
	beside(t)
	tests := map[string]struct {
		end    func(box *sandbox, hook int)
		logged string
	}{
		"deadline": {func(box *sandbox, hook int) {
			for deadline := time.Now().Add(40 * time.Second); syscall.Kill(hook, 0) == nil && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
		}, "在 20 秒内没有给出判定"},
		"sigkill": {func(_ *sandbox, hook int) { syscall.Kill(hook, syscall.SIGKILL) }, ""},
		"client_killed": {func(_ *sandbox, hook int) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", hook))
			_, text, _ = bytes.Cut(text, []byte("\x00CLAUDE_PID="))
			client, _ := strconv.Atoi(string(text[:max(0, bytes.IndexByte(text, 0))]))
			syscall.Kill(client, syscall.SIGKILL)
		}, ""},
		"switched_off": {func(box *sandbox, _ int) { box.switchesOff(box.onlySession()) }, errSwitchedOff.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			forClients(t, hangingReview, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":20}}`)
				box.setSettings(`{"permissions":{"allow":["Bash"]}}`)
				done := make(chan commandResult, 1)
				go func() { done <- box.run(240*time.Second, "", "ccc", "--supervisor", "-p", "hello") }()
				test.end(box, box.awaitHook(180*time.Second))
				if name == "sigkill" { // the reviewer takes its time, and what it has put into the background outlives it
					box.awaitOnly("sleep 301", 10*time.Second)
				}
				box.expectNoReviewer(1600 * time.Millisecond)
				got := <-done
				if strings.HasSuffix(name, "kill") || name == "client_killed" {
					box.awaitCancelled()
				}
				if name == "client_killed" {
					expectIs(t, "claude's end", got.code, -1)
				} else if got.code != 0 || strings.TrimSpace(got.stdout) != "the answer" || !strings.Contains(box.log(), test.logged) {
					t.Errorf("the session ended with %+v", got)
				}
			})
		})
	}
}

// awaitCancelled waits until the views say that the last review was cancelled.
func (box *sandbox) awaitCancelled() {
	box.t.Helper()
	await(box.t, func() string { return box.run(10*time.Second, "", "ccc", "status", "--json").stdout }, `"verdict":"cancelled"`)
}

// awaitOnly waits until of a review nothing runs but what that command has put into the background, and ends that.
func (box *sandbox) awaitOnly(command string, within time.Duration) {
	box.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		var only []int
		var others []string
		for _, process := range box.processes() {
			pid, line, _ := strings.Cut(process, " ")
			if number, _ := strconv.Atoi(pid); strings.HasSuffix(line, command) {
				only = append(only, number)
			} else if strings.Contains(line, "--fork-session") || strings.Contains(line, "sleep 30") {
				others = append(others, process)
			}
		}
		if len(others) == 0 && len(only) > 0 {
			for _, pid := range only {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		if time.Now().After(deadline) {
			box.t.Fatalf("alive: %q", others)
		}
	}
}

func TestRealClientEscape(t *testing.T) {
	forClients(t, hangingReview, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.setSettings(`{"permissions":{"allow":["Bash"]}}`)
		tty := box.start()
		tty.prompt("hello")
		box.awaitHook(180 * time.Second)
		tty.waitFor("[SUPERVISOR] 正在审查工作", 90*time.Second)
		tty.keys("Escape")
		box.expectNoReviewer(3 * time.Second) // Claude Code takes some time for the key
		tty.waitFor("the answer", 5*time.Second)
		box.awaitCancelled()
		tty.prompt("once more") // which says so
		tty.waitFor(errUserEnded.zh, 30*time.Second)
		box.awaitHook(180 * time.Second)
		tty.keys("Escape")
		box.expectNoReviewer(3 * time.Second)
	})
}

// A reviewer that writes its verdict as text, in the place of the schema's. An approval is the last thing said; words refuse; and
// an approval that can't be read never reaches the agent.
func TestRealClientVerdictInText(t *testing.T) {
	const approval = "```json\n{\"allow_stop\": true, \"feedback\": \"\"}\n```"
	const torn = "{\"allow_stop\": true, \"feedback\": \"rotate the key,\nthen push\"}"
	const tornRefusal = "{\"allow_stop\": false, \"feedback\": \"add tests,\nthen run them\"}"
	plays := []struct {
		name     string
		says     []string
		agent    []string // what it gets after each
		verdicts string
	}{
		{"as asked", []string{"I do not say [TASK_COMPLETED] yet.", "It fails.\n```json\n{\"allowStop\": false, \"feedback\": \"fix the race\"}\n```", "allow_stop: true, because it passes now.\n" + approval},
			[]string{"I do not say [TASK_COMPLETED] yet.", "fix the race"}, "block block allow"},
		{"a closing sentence", []string{approval + "\nThat is my verdict.", approval}, []string{defaultFeedback.zh}, "block allow"},
		{"a raw line break", []string{torn, tornRefusal, approval}, []string{defaultFeedback.zh, tornRefusal}, "block block allow"},
		{"prose", []string{"TestNext 还是会 panic。", "It can't be {\"done\": true}: TestNext panics.", approval},
			[]string{"TestNext 还是会 panic。", "It can't be {\"done\": true}: TestNext panics."}, "block block allow"},
	}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		for _, play := range plays {
			var replies []apiReply
			for _, text := range play.says {
				replies = append(replies, replyText(text))
			}
			api := box.answering(byIteration(func(apiRequest) apiReply { return replyText("done") }, replies...))
			got := box.run(240*time.Second, "", "ccc", "--supervisor", "-p", play.name)
			expectIs(t, play.name, strings.TrimSpace(got.stdout), "done")
			if all := box.supervised(); !slices.Contains(all, play.name+": "+play.verdicts) {
				t.Errorf("%s: %q, want %s", play.name, all, play.verdicts)
			}
			agent, reviews := api.requests("agent"), api.requests("review")
			if len(agent) != len(play.agent)+1 {
				t.Fatalf("%s: %v", play.name, api)
			}
			for i, feedback := range play.agent {
				got := agent[i+1].last("user")
				expectIn(t, play.name, got, "Stop hook feedback:\n"+feedback)
				if feedback == defaultFeedback.zh {
					expectNotIn(t, play.name, got, "allow_stop")
				}
			}
			wasRead := strings.HasPrefix(play.agent[len(play.agent)-1], "fix")
			expectIs(t, play.name+": the form is repeated", strings.Contains(reviews[len(reviews)-1].request(), say(sectionNoVerdict, say(verdictForm))), !wasRead)
		}
	})
}

// What a review leaves to the user, a failure and the limit are shown to the user, once, in the session, at 80 columns with
// each sentence on a line of its own. The next request is reviewed again.
func TestRealClientShown(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			request := r.last("user")
			switch {
			case r.Kind != "review":
				return replyText("the answer")
			case strings.Contains(request, "fourth request"):
				return replyVerdict(true, "and push it")
			case strings.Contains(request, "third request"):
				return replyVerdict(false, "not yet")
			case strings.Contains(request, "second request"):
				return replyError(401, "authentication_error", "the key is gone")
			}
			return replyVerdict(true, "rotate the key yourself")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start()
		tty.tmux("resize-window", "-x", "80", "-y", "60")
		tty.prompt("first request")
		tty.waitFor("本会话受监督 每项要求最多审查 1 次 实时查看：ccc log -f", 90*time.Second)
		tty.waitFor("rotate the key yourself", 90*time.Second)
		tty.prompt("second request")
		tty.waitFor("这次审查未完成", 90*time.Second)
		tty.waitFor("the key is gone", 90*time.Second)
		tty.prompt("third request")
		tty.waitFor("审查已用完", 90*time.Second)
		tty.prompt("fourth request")
		tty.waitFor("and push it", 90*time.Second)
		for _, row := range []string{"says: [SUPERVISOR] 本会话受监督", "每项要求最多审查 1 次", "实时查看：ccc log -f",
			"says: [SUPERVISOR] 这次审查未完成，Agent 的工作未经检查。", "发一条“继续”，它停下时会再审，或者运行 ccc review。", "仍不行请运行 ccc doctor，详情见 ccc log",
			"says: [SUPERVISOR] 这项要求的 1 次审查已用完，这次停下没有再审。", "你再发消息会重新计数。", "上次的反馈还没有解决：not yet"} {
			if !regexp.MustCompile("(?m)(^| )" + regexp.QuoteMeta(row) + " *$").MatchString(tty.tmux("capture-pane", "-p").stdout) {
				t.Errorf("no row has just %q:\n%s", row, tty.screen())
			}
		}
		screen := unspaced(tty.screen())
		for _, once := range []string{"上次审查未完成", "上次审查已取消", "本会话受监督"} {
			if strings.Count(screen, once) > 1 || once != "本会话受监督" && strings.Contains(screen, once) {
				t.Errorf("told twice:\n%s", screen)
			}
		}
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow, verdictFailed, verdictBlock, verdictLimit, verdictAllow})
	})
}
