package main

// Stops and questions on the real Claude Code (see real_test.go): what the contract claims about the client is seen
// here, in the requests that reach the scripted API. The fake claude of the other tests proves none of it.
//
// Turns that Claude Code itself begins or goes on with, on the real Claude Code.
//
// Supervision switched on and off in the real Claude Code.

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
				seconds := 200 // on a busy machine what ends the review takes long to begin
				if name == "deadline" {
					seconds = 20
				}
				box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{"timeout_seconds":%d}}`, seconds))
				box.setSettings(`{"permissions":{"allow":["Bash"]}}`)
				done := make(chan commandResult, 1)
				go func() { done <- box.run(240*time.Second, "", "ccc", "--supervisor", "-p", "hello") }()
				test.end(box, box.awaitHook(180*time.Second))
				if name == "sigkill" { // the reviewer takes its time, and what it has put into the background outlives it
					box.awaitOnly("sleep 301", 60*time.Second)
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

// awaitOnly waits until of a review nothing runs but what that command may have put into the background, and ends that.
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
		if len(others) == 0 {
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
		tty.waitFor(earlierCancelled.zh, 30*time.Second)
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
			"says: [SUPERVISOR] 这次审查未完成，Agent 的工作未经检查。", "登录或密钥没有被接受：请运行 /login，或检查环境变量里的密钥；", "然后发一条“继续”",
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

// loggedPrompts are the user's prompts in the timeline of the one session.
func (box *sandbox) loggedPrompts() (prompts []string) {
	box.t.Helper()
	for _, r := range box.onlyTimeline() {
		if r.Prompt != nil {
			prompts = append(prompts, r.Prompt.Text)
		}
	}
	return prompts
}

// An agent that its own background tasks wake stays bounded: turns that Claude Code begins so share the reviews of the user's prompt,
// failed ones too. Behind a prompt they are counted anew; not behind an approval beside a task that is still to end.
func TestRealClientTicks(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		var started atomic.Int32
		api := box.answering(func(r apiRequest) apiReply {
			switch n, last := len(box.timelineVerdicts()), r.last("user"); {
			case r.Kind == "review" && n == 0:
				return replyError(400, "invalid_request_error", "planted")
			case r.Kind == "review":
				return replyVerdict(n == 5, "show the tests")
			case strings.Contains(last, "start it"), strings.Contains(last, "<task-notification>"):
				const format = `{"command":"until [ -e tick%d ]; do sleep 0.1; done","run_in_background":true,"description":"wait"}`
				return replyTool("Bash", fmt.Sprintf(format, started.Add(1)))
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
		tty := box.start("--permission-mode", "bypassPermissions")
		tick := func(n int) { box.write(fmt.Sprintf("../work/tick%d", n), 0o600, "") }
		tty.prompt("start it") // fails
		box.awaitVerdicts(1)
		tick(1) // sent back, then let go
		box.awaitVerdicts(3)
		tick(2) // let go
		box.awaitVerdicts(4)
		tty.prompt("start it over") // sent back, approved
		box.awaitVerdicts(6)
		tick(4) // let go
		box.awaitVerdicts(7)
		tick(5) // let go
		box.awaitVerdicts(8)
		want := []verdict{verdictFailed, verdictBlock, verdictLimit, verdictLimit, verdictBlock, verdictAllow,
			verdictLimit, verdictLimit}
		expectEqual(t, "the verdicts", box.timelineVerdicts(), want)
		expectEqual(t, "the requests", requestsOf(t, api.lastReview(t)), []string{"start it", "start it over"})
		expectEqual(t, "the user's prompts", box.loggedPrompts(), []string{"start it", "start it over"})
	})
}

// Beside a goal (/goal), which blocks each stop too, both are asked at each stop. A stop that either blocks
// counts once for Claude Code, which ends the turn behind max_iterations of them; a review that only the goal
// overrules is an approval, and the count begins anew.
func TestRealClientGoal(t *testing.T) {
	beside(t)
	for name, want := range map[string][]verdict{
		"approved":  {verdictAllow, verdictAllow, verdictAllow},
		"sent back": {verdictBlock, verdictBlock, verdictLimit},
	} {
		t.Run(name, func(t *testing.T) {
			forClients(t, func() script {
				verdict := replyVerdict(want[0] == verdictAllow, "not yet")
				return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{verdict}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				api.aside = replyText(`{"ok": false, "reason": "notes.txt lacks it"}`)
				box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
				tty := box.start()
				tty.prompt("/goal notes.txt says done")
				tty.waitFor("A hook blocked the turn from ending 3 consecutive times", 120*time.Second)
				expectEqual(t, "the verdicts", box.timelineVerdicts(), want)
				feedback := strings.Count(strings.Join(api.agentsUserTexts(), "\n"), "notes.txt lacks it")
				expectIs(t, "how often the agent got what the goal lacks", feedback > 1, true)
			})
		})
	}
}

// A pasted picture with words is one request, and the reviewer has both.
func TestRealClientPastedPicture(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		var shot bytes.Buffer
		check(t, png.Encode(&shot, image.NewGray(image.Rect(0, 0, 1, 1))))
		box.write("../work/shot.png", 0o600, shot.String())
		tty := box.start()
		tty.keys("-l", "--", "make it look like this \x1b[200~"+box.work+"/shot.png\x1b[201~")
		tty.waitFor("[Image #1]", 30*time.Second)
		tty.keys("-l", "--", " but blue")
		tty.waitFor("but blue", 30*time.Second)
		tty.keys("Enter")
		box.awaitVerdicts(1)
		requests := requestsOf(t, api.lastReview(t))
		expectEqual(t, "the requests", requests, box.loggedPrompts())
		expectIn(t, "the request", requests[0], "make it look like this", "but blue", "[Image #1]")
		if !bytes.Contains(api.requests("review")[0].Body, []byte(`"type":"image"`)) {
			t.Error("the reviewer does not have the picture")
		}
	})
}

// A stop at which subagents work is not reviewed yet: that of their end is, of one, of two at once, of one that fails or that the
// user stops. Where one hangs the next stop is reviewed, and the prompt before it tells that the last was not.
func TestRealClientSubagents(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			_, name, isStart := strings.Cut(last[strings.LastIndex(last, "\n")+1:], "start ")
			switch {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "ends: f") && !strings.Contains(last, "task-notification"):
				return replyError(400, "invalid_request_error", "it fails")
			case strings.Contains(last, "be the subagent "):
				_, name, _ := strings.Cut(last, "be the subagent ")
				return bash("until [ -e end-" + name[:1] + " ]; do sleep 0.1; done; echo ends: " + name[:1])
			case isStart:
				tool := "Task"
				if slices.Contains(r.Tools, "Agent") {
					tool = "Agent"
				}
				return replyTool(tool, fmt.Sprintf(`{"description":"look","prompt":"be the subagent %s","subagent_type":"general-purpose","run_in_background":true}`, name))
			}
			return replyText("my words")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		deferrals, verdicts := 0, 0
		expect := func(what string, moreDeferrals, moreVerdicts int) {
			t.Helper()
			deferrals, verdicts = deferrals+moreDeferrals, verdicts+moreVerdicts
			tty.waitUntil(what, 60*time.Second, func(string) bool {
				return strings.Count(box.log(), " stop not reviewed ") == deferrals && strings.Count(box.log(), " review ended ") == verdicts
			})
		}
		ends := func(name string) { box.write("../work/end-"+name, 0o600, "") }
		tty.prompt("start a")
		expect("one", 1, 0)
		tty.waitFor("这次停下先不审查", 30*time.Second)
		ends("a")
		expect("its end", 0, 1)
		tty.prompt("start b")
		expect("the first of two", 1, 0)
		tty.prompt("start c")
		tty.waitFor("上次停下时子代理还在工作", 30*time.Second)
		expect("two", 1, 0)
		ends("b")
		expect("the end of one", 1, 0)
		ends("c")
		expect("the end of both", 0, 1)
		tty.prompt("start d")
		expect("one that hangs", 1, 0)
		tty.prompt("go on")
		expect("beside it", 0, 1)
		ends("d")
		expect("its end", 0, 1)
		tty.prompt("start f")
		expect("one that fails", 1, 0)
		ends("f")
		expect("its end", 0, 1)
		tty.prompt("start g")
		expect("one that the user stops", 1, 0)
		tty.keys("C-x", "C-k")
		tty.waitUntil("its end", 60*time.Second, func(screen string) bool {
			if strings.Contains(screen, "again to stop") {
				tty.keys("C-x", "C-k")
			}
			return strings.Count(box.log(), " review ended ") == verdicts+1
		})
	})
}

// answersAndApprovals has the API answer the agent with a number, and each review with an approval.
func (box *sandbox) answersAndApprovals() (api *scriptedAPI) {
	api = box.answering(func(r apiRequest) apiReply {
		if r.Kind == "review" {
			return replyVerdict(true, "")
		}
		return replyText(fmt.Sprint("answer ", len(api.requests("agent"))))
	})
	return api
}

// submits types the prompt and waits for the answer, for that many reviews of the sandbox, and for an idle client.
func (tty *terminal) submits(prompt, answer string, reviews int) {
	tty.box.t.Helper()
	tty.prompt(prompt)
	tty.waitFor(answer, 90*time.Second)
	if reviews > 0 {
		tty.box.api.await(tty.box.t, "review", reviews, 90*time.Second)
	}
	tty.waitUntil("an idle client", 90*time.Second, func(screen string) bool { return !strings.Contains(screen, "esc to interrupt") })
	expectIs(tty.box.t, prompt, tty.box.reviewed(), reviews)
}

// clears types /clear and waits until what is shown is gone.
func (tty *terminal) clears(shown string) {
	tty.prompt("/clear")
	tty.waitUntil("an empty conversation", 60*time.Second, func(screen string) bool { return !strings.Contains(screen, shown) })
}

// switchesOff has the user type /supervisor off in a second client of the session.
func (box *sandbox) switchesOff(session string) {
	box.t.Helper()
	got := box.run(60*time.Second, "", "claude", "-p", "--resume", session, "/supervisor off")
	expectIn(box.t, "/supervisor off in a second client", got.stdout, "监督已关闭")
}

// onlySession returns the id of the only session that ccc knows.
func (box *sandbox) onlySession() string {
	box.t.Helper()
	ids, err := box.stateDir().sessions()
	check(box.t, err)
	expectIs(box.t, "the number of sessions", len(ids), 1)
	return ids[0]
}

// /supervisor in a running session, and the same from another terminal. After /clear it is as it was launched, and says
// so before the first prompt.
func TestRealClientSwitched(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answersAndApprovals()
		tty := box.start()
		tty.submits("/supervisor off", "监督已关闭：Agent", 0)
		if n := len(api.requests("agent")); n != 0 {
			t.Errorf("switching off took %d model calls", n)
		}
		tty.submits("hello", "answer 1", 0)
		tty.submits("/supervisor do the <task>", "answer 2", 1)
		expectIn(t, "what the agent got", api.requests("agent")[1].last("user"), "do the <task>")
		tty.waitFor("[SUPERVISOR] 审查 1/10：通过", 30*time.Second)
		tty.submits("/supervisor", "监督：已打开 · 这项要求已审查 1/10 次 · 通过", 1)
		box.switchesOff(box.onlySession())
		tty.submits("more", "answer 3", 1)
		tty.submits("and more", "answer 4", 1)
		tty.submits("/supervisor nonesuch", "不明白“/supervisor nonesuch”", 1)
		tty.submits("/supervisor", "监督：已关闭 · 这项要求已审查 1/10 次", 1)
		expectIs(t, "the model calls", len(api.requests("agent")), 4)
		tty.clears("answer 4")
		tty.waitFor("SessionStart:clear says: [SUPERVISOR] 本会话受监督", 60*time.Second)
		tty.submits("on again", "answer 5", 2)
	})
}

// A switch is of one of the sessions that a client runs: A is switched off, B in the same client, by /resume, is reviewed, and ccc
// status shows both. In a client that was not launched /clear ends what was switched on.
func TestRealClientSwitchOfOne(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answersAndApprovals()
		tty := box.start()
		tty.submits("the words of B", "answer 1", 1)
		tty.clears("answer 1")
		tty.submits("the words of A", "answer 2", 2)
		ids, _ := box.stateDir().sessions()
		slices.SortFunc(ids, func(a, b string) int { return box.timeline(b)[0].Time.Compare(box.timeline(a)[0].Time) }) // A first
		expectIs(t, "the number of sessions", len(ids), 2)
		box.switchesOff(ids[0])
		tty.submits("more of A", "answer 3", 2)
		tty.prompt("/resume " + ids[1])
		tty.waitUntil("B's conversation", 60*time.Second, func(screen string) bool {
			return strings.Contains(screen, "answer 1") && !strings.Contains(screen, "answer 3")
		})
		tty.submits("more of B", "answer 4", 3)
		for i, mode := range []mode{modeOff, modeOn} {
			expectIs(t, "the mode", box.modeOf(ids[i]), mode)
		}

		plain := box.open("claude")
		plain.submits("/supervisor on", "只对本会话有效", 3)
		plain.submits("reviewed", "answer 5", 4)
		plain.clears("answer 5")
		plain.submits("not reviewed", "answer 6", 4)
	})
}

// What follows /supervisor: a task at any white space and in Chinese, a word that is no mode, and a command that is the user's own.
func TestRealClientSlashCommand(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.run(60*time.Second, "/supervisor disable", "ccc", "--supervisor", "-p")
		if n := len(api.requests("agent")); n != 0 {
			t.Errorf("a word that means off reached the model %d times", n)
		}
		got := box.run(60*time.Second, "/supervisor\nwrite the tests", "ccc", "--supervisor", "-p")
		if agent := api.requests("agent"); len(agent) != 1 || !strings.Contains(agent[0].last("user"), "write the tests") {
			t.Errorf("the task did not reach the agent once: %v %+v", api, got)
		}
		expectIs(t, "the reviews of the task", box.reviewed(), 1)
		box.run(60*time.Second, "/supervisor 修复登录页面的错误", "ccc", "--supervisor", "-p")
		if agent := api.requests("agent"); len(agent) != 2 || !strings.Contains(agent[1].last("user"), "修复登录页面的错误") {
			t.Errorf("the task in Chinese did not reach the agent once: %v", api)
		}
		box.write(".claude/commands/supervisor.md", 0o600, "my own command: $ARGUMENTS\n")
		box.run(60*time.Second, "/supervisor off", "ccc", "--supervisor", "-p")
		if agent := api.requests("agent"); len(agent) != 3 || !strings.Contains(agent[2].last("user"), "my own command: off") {
			t.Errorf("the user's own command did not reach the agent: %v", api)
		}
	})
}

// An observed session shows what the reviewer found, and its agent stops. Switched on it is sent back, and the next
// reviewer learns what the agent had not seen.
func TestRealClientObserve(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("answer 1"), replyText("answer 2"), replyText("answer 3")},
			reviewer: []apiReply{replyVerdict(false, "add the tests"), replyVerdict(false, "run them"), replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"observe":true}}`)
		tty := box.start()
		tty.waitFor(introductionObserved.zh[:len(introductionObserved.zh)-2], 60*time.Second)
		tty.submits("write it", "反馈（Agent没有收到，由你决定是否转告）：addthetests", 1)
		expectIs(t, "the agent's calls", len(api.requests("agent")), 1)
		tty.submits("/supervisor on", "supervisor.observe为true", 1)
		box.write(".claude/ccc.json", 0o600, `{}`)
		tty.submits("thanks", "answer 3", 3)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock, verdictBlock, verdictAllow})
		reviews := api.requests("review")
		expectIn(t, "the second request", reviews[1].request(), "add the tests", sectionUnseen.zh)
		expectNotIn(t, "the third request", reviews[2].request(), sectionUnseen.zh)
	})
}

// With review "work" an answer is not reviewed, and what was done by a tool is.
func TestRealClientWork(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("hello"), replyTool("Read", `{"file_path":"go.mod"}`), replyText("read")},
			reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.repository()
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"work"}}`)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
		expectIs(t, "the answer", got.stdout, "hello\n")
		expectIs(t, "the reviews of an answer", box.reviewed(), 0)
		expectIs(t, "the lines in the log", strings.Count(box.log(), " stop not reviewed "), 1)
		box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--continue", "read go.mod")
		expectIs(t, "the reviews of work", box.reviewed(), 1)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow})
	})
}

// What the user types while the agent works, or behind Esc, makes no work unreviewed.
func TestRealClientWorkInterrupted(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "with a tool"):
				return bash("until [ -e ../home/typed ]; do sleep 0.1; done; sleep 1; echo slept")
			case strings.Contains(last, "with another"):
				return bash("until [ -e ../home/never ]; do sleep 0.1; done")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"work"}}`)
		box.repository()
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("work with a tool")
		tty.waitFor("home/typed", 90*time.Second)
		tty.enter("keep it short")
		box.write("typed", 0o600, "")
		box.awaitVerdicts(1)
		tty.prompt("work with another")
		tty.waitFor("home/never", 90*time.Second)
		tty.keys("Escape")
		tty.waitUntil("an input line", 60*time.Second, func(screen string) bool {
			return strings.Contains(screen, "Interrupted") && inputLine(screen) != ""
		})
		tty.submits("go on then", "done", 2)
		tty.submits("thanks", "done", 2)
	})
}

// A forked session says at its start that it is supervised, as any other does (source fork), and its stops are reviewed.
func TestRealClientForked(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		expectRun(t, box, box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "x"), "done", verdictAllow)
		tty := box.start("--resume", box.onlySession(), "--fork-session") // --continue takes no session of -p
		tty.waitFor("SessionStart:fork says: [SUPERVISOR] 本会话受监督", 60*time.Second)
		tty.submits("more", "done", 2)
	})
}

// The budget is for all reviews of a request, and what the agent itself has cost does not count. One that its budget ends is the
// limit. 2.1.280 tells no cost of a review, and the session's first line says so.
func TestRealClientBudget(t *testing.T) {
	forClients(t, func() script {
		answer, dear := replyText("an answer"), replyTool("Read", `{"file_path":"notes.txt"}`)
		answer.out = 100000 // two dollars
		dear.out = 100000
		return script{
			agent:    []apiReply{answer, answer, answer},
			reviewer: []apiReply{replyVerdict(false, "not yet"), dear, replyVerdict(false, "too late")},
		}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_budget_usd":1}}`)
		box.run(300*time.Second, "", "ccc", "--supervisor", "-p", "do it")
		expectEqual(t, "the verdicts", box.supervised(), []string{"do it: block limit"})
		last := lastReview(t, box.onlyTimeline())
		expectIs(t, "the budget that is used up", last.Error, fmt.Sprintf(budgetUsed.zh, 1.0))
		expectIs(t, "the last feedback", last.Feedback, "not yet")
	})
}
