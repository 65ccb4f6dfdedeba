package main

// Stops and questions on the real Claude Code (see real_api_test.go): what the contract claims about the client is seen
// here, in the requests that reach the scripted API. The fake claude of the other tests proves none of it.

import (
	"fmt"
	"os"
	"path/filepath"
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
		box.write(".claude/user-hook.sh", 0o700, "#!/bin/sh\necho \"hook=$CCC_SUPERVISOR_HOOK\" >>\"$HOME/user-hooks\"\n")
		box.setSettings(`{"permissions":{"allow":["Edit","Write","NotebookEdit"]},
			"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + box.home + `/.claude/user-hook.sh"}]}]}}`)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "fix the <bug>")
		expectRun(t, box, got, "second answer", verdictBlock, verdictAllow)

		agent, reviews := api.requests("agent"), api.requests("review")
		if len(agent) != 2 || len(reviews) < 6 {
			t.Fatalf("%d agent and %d review requests", len(agent), len(reviews))
		}
		if text := agent[1].last("user"); !strings.Contains(text, "Stop hook feedback:\n"+feedback) {
			t.Errorf("the agent got %q", text)
		}
		for i, r := range reviews {
			if !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.zh)) {
				t.Errorf("review request %d lacks the prompt in its system prompt", i)
			}
			for _, want := range []string{"fix the <bug>", "assistant: first answer"} {
				if !strings.Contains(r.text(), want) {
					t.Errorf("review request %d lacks %q", i, want)
				}
			}
		}
		if last := reviews[len(reviews)-1].text(); !strings.Contains(last, "assistant: second answer") || !strings.Contains(last, "上次反馈\n"+feedback) {
			t.Errorf("the second review does not see the second answer and the last feedback")
		}
		entries, _ := os.ReadDir(box.work)
		if notes, _ := os.ReadFile(filepath.Join(box.work, "notes.txt")); string(notes) != "a note\n" || len(entries) != 1 {
			t.Errorf("the reviewer changed the work: %q, %v", notes, entries)
		}
		var used tokens
		for _, r := range box.onlyTimeline() {
			if r.Tokens != nil {
				used.add(*r.Tokens)
			}
		}
		// The scripted API counts 10 and 5 for a request; up to 2.1.120 there is one more after the verdict.
		if used.Input < 10*len(reviews) || used.Output*2 != used.Input {
			t.Errorf("%d requests used %+v", len(reviews), used)
		}
		if ran := box.read("user-hooks"); ran != "hook=\nhook=\n" {
			t.Errorf("the user's hook ran %q, want twice for the agent, never in the reviewer", ran)
		}
		if sessions, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*-*-*-*-*.jsonl")); len(sessions) != 1 {
			t.Errorf("the reviewer left session files: %q", sessions)
		}
	})
}

// Ten rejections in a row are the default limit; the client itself would end
// the turn after eight.
func TestRealClientTenRejections(t *testing.T) {
	forClients(t, func() script {
		s := script{reviewer: []apiReply{replyVerdict(false, "not yet")}}
		for i := range 12 {
			s.agent = append(s.agent, replyText(fmt.Sprint("answer ", i+1)))
		}
		return s
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		want := slices.Repeat([]verdict{verdictBlock}, 10)
		expectRun(t, box, got, "answer 11", append(want, verdictLimit)...)
		if reviews := api.requests("review"); len(reviews) != 10 {
			t.Errorf("%d reviews, want 10", len(reviews))
		}
	})
}

// In a session that ccc did not launch the client's own limit holds, eight; the turn ends by ccc's, with its message,
// and not by force.
func TestRealClientUnlaunchedLimit(t *testing.T) {
	forClients(t, func() script {
		s := script{reviewer: []apiReply{replyVerdict(false, "not yet")}}
		for i := range 12 {
			s.agent = append(s.agent, replyText(fmt.Sprint("answer ", i+1)))
		}
		return s
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.launch() // of another session, which leaves the hooks
		got := box.run(120*time.Second, "", "claude", "-p", "/supervisor do it", "--output-format", "stream-json", "--verbose")
		want := append(slices.Repeat([]verdict{verdictBlock}, 8), verdictLimit)
		if verdicts := box.timelineVerdicts(); !slices.Equal(verdicts, want) || !strings.Contains(got.stdout, `"result":"answer 9"`) || strings.Contains(got.stdout, "blocked the turn from ending") {
			t.Errorf("verdicts %q, %.2000s", verdicts, got.stdout)
		}
	})
}

func TestRealClientQuestion(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	expectRequest := func(t *testing.T, api *scriptedAPI) {
		t.Helper()
		text := api.await(t, "review", 1, 120*time.Second)[0].last("user")
		for _, want := range []string{"Which database?", "SQLite", "one file", "Postgres", "a server", "问题还没有显示给用户"} {
			if !strings.Contains(text, want) {
				t.Errorf("the reviewer's request lacks %q:\n%s", want, text)
			}
		}
	}
	t.Run("refused", func(t *testing.T) {
		forClients(t, func() script {
			return script{
				agent:    []apiReply{replyTool(askUserQuestion, question), replyText("I chose SQLite.")},
				reviewer: []apiReply{replyVerdict(false, "decide yourself: SQLite is enough"), replyVerdict(true, "")},
			}
		}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			tty := box.start()
			tty.prompt("set up storage")
			expectRequest(t, api)
			agent := api.await(t, "agent", 2, 120*time.Second)
			if text := agent[1].last("user"); !strings.Contains(text, "decide yourself: SQLite is enough") {
				t.Errorf("the agent got %q", text)
			}
			tty.waitFor("I chose SQLite.", 90*time.Second)
			if screen := tty.screen(); strings.Contains(screen, "one file") {
				t.Errorf("the user saw the dialog:\n%s", screen)
			}
			api.await(t, "review", 2, 120*time.Second)
		})
	})
	t.Run("allowed", func(t *testing.T) {
		forClients(t, func() script {
			return script{
				agent:    []apiReply{replyTool(askUserQuestion, question), replyText("As you wish.")},
				reviewer: []apiReply{replyVerdict(true, "")},
			}
		}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			tty := box.start()
			tty.prompt("set up storage")
			expectRequest(t, api)
			tty.waitFor("one file", 90*time.Second)
			time.Sleep(time.Second) // keys pressed before the dialog is ready are lost
			tty.keys("Enter")
			tty.waitFor("As you wish.", 90*time.Second)
			box.awaitVerdicts(2) // of the question, and of the stop
		})
	})
}

// A review that does not take place lets the agent end, and tells people.
func TestRealClientReviewFails(t *testing.T) {
	const secret = "UNIQUE-ERROR-TEXT"
	malformed := replyTool("StructuredOutput", `{"verdict":"`+secret+`"}`)
	tests := []struct {
		name   string
		reply  apiReply
		logged string
	}{
		{"401", replyError(401, "authentication_error", secret), secret},
		{"529", replyError(529, "overloaded_error", secret), "API Error"},
		{"malformed_verdicts", malformed, "error_max_structured_output_retries"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, func() script {
				return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{test.reply}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				expectRun(t, box, got, "the answer", verdictFailed)
				if n := len(api.requests("agent")); n != 1 {
					t.Errorf("%d agent requests, want 1: the error must not send the agent back", n)
				}
				if !strings.Contains(box.log(), test.logged) {
					t.Errorf("the log lacks %q", test.logged)
				}
			})
		})
	}
}

func TestRealClientNoSuchSession(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		event := `{"session_id":"01234567-89ab-4cde-8f01-23456789abcd","hook_event_name":"Stop","cwd":"` + box.work + `"}`
		got := box.hook(event)
		if got.code != 0 || got.stdout != "" {
			t.Errorf("got %+v, want no decision and exit 0", got)
		}
		for _, told := range []string{got.stderr, box.log()} {
			if !strings.Contains(told, "No conversation found") {
				t.Errorf("not told: %q", told)
			}
		}
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

// awaitHook waits until the reviewer's Bash command runs and returns the pid of
// the hook that waits for the review.
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

// expectNoReviewer fails the test when anything of a review is alive a second
// from now.
func (box *sandbox) expectNoReviewer() {
	box.t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = nil
		for _, process := range box.processes() {
			if strings.Contains(process, "--fork-session") || strings.Contains(process, "sleep 30") || strings.Contains(process, guardSubcommand) {
				left = append(left, process)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	box.t.Errorf("alive a second later: %q", left)
}

func TestRealClientInterrupted(t *testing.T) {
	tests := []struct {
		name string
		end  func(t *testing.T, hook int)
		want string
	}{
		{"deadline", func(t *testing.T, hook int) {
			for deadline := time.Now().Add(40 * time.Second); syscall.Kill(hook, 0) == nil; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the hook outlives its deadline")
				}
			}
		}, "no verdict within 20s"},
		{"sigterm", func(t *testing.T, hook int) { syscall.Kill(hook, syscall.SIGTERM) }, "it was interrupted"},
		{"sigkill", func(t *testing.T, hook int) { syscall.Kill(hook, syscall.SIGKILL) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, hangingReview, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":20,"permission_mode":"bypassPermissions"}}`)
				done := make(chan commandResult, 1)
				go func() { done <- box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello") }()
				test.end(t, box.awaitHook(30*time.Second))
				box.expectNoReviewer()
				if got := <-done; got.code != 0 || strings.TrimSpace(got.stdout) != "the answer" {
					t.Errorf("the session ended with %+v", got)
				}
				if !strings.Contains(box.log(), test.want) {
					t.Errorf("the log lacks %q", test.want)
				}
			})
		})
	}
}

func TestRealClientEscape(t *testing.T) {
	forClients(t, hangingReview, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"permission_mode":"bypassPermissions"}}`)
		tty := box.start()
		tty.prompt("hello")
		box.awaitHook(30 * time.Second)
		tty.waitFor("[SUPERVISOR] 正在审查工作", 90*time.Second)
		tty.keys("Escape")
		time.Sleep(500 * time.Millisecond)
		box.expectNoReviewer()
		tty.waitFor("the answer", 5*time.Second)
	})
}

// After the limit the next request of the user's is reviewed again; what happened
// to the one before was told at once, and so it is after a failure.
func TestRealClientFreshBudget(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("first answer"), replyText("second answer"), replyText("third answer"), replyText("fourth answer")},
			reviewer: []apiReply{replyVerdict(false, "not yet"), replyVerdict(true, ""), replyError(401, "authentication_error", "refused")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start()
		tty.prompt("first request")
		box.awaitVerdicts(2)
		tty.prompt("second request")
		tty.waitFor("审查次数已用完", 90*time.Second)
		box.awaitVerdicts(3)
		tty.prompt("third request")
		box.awaitVerdicts(4)
		if screen := tty.screen(); strings.Count(unspaced(screen), "审查次数已用完") != 1 {
			t.Errorf("told more than once:\n%s", screen)
		}
		if got := box.timelineVerdicts(); !slices.Equal(got, []verdict{verdictBlock, verdictLimit, verdictAllow, verdictFailed}) {
			t.Errorf("verdicts %q", got)
		}
		tty.waitFor("审查失败", 90*time.Second)
		tty.prompt("fourth request")
		box.awaitVerdicts(5)
		if screen := tty.screen(); strings.Contains(unspaced(screen), "上一次审查失败") {
			t.Errorf("told again:\n%s", screen)
		}
	})
}

// What models write in the place of the schema's verdict is read; what is no
// verdict is refused with its text, and leaves a question to the user.
func TestRealClientVerdictInText(t *testing.T) {
	t.Run("stop", func(t *testing.T) {
		forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
			api := newAnsweringAPI(t, "", byIteration(func(apiRequest) apiReply { return replyText("done") },
				replyText("I do not say [TASK_COMPLETED] yet."),
				replyText("```json\n{\"verdict\": {\"allowStop\": \"no\", \"feedback\": [\"add tests\", \"fix the race\"]}}\n```"),
				replyText("{\"allow_stop\": True, // all of it\n \"feedback\": \"\",}\nI read main.go: func f() { return }")))
			box.use(api)
			got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			expectRun(t, box, got, "done", verdictBlock, verdictBlock, verdictAllow)
			agent := api.requests("agent")
			if text := agent[1].last("user"); !strings.Contains(text, "I do not say [TASK_COMPLETED] yet.") {
				t.Errorf("the agent got %q", text)
			}
			if text := agent[2].last("user"); !strings.Contains(text, "add tests") || !strings.Contains(text, "fix the race") || strings.Contains(text, "{") {
				t.Errorf("the agent got %q", text)
			}
		})
	})
	t.Run("question", func(t *testing.T) {
		forNewest(t, func() script {
			return script{
				agent:    []apiReply{replyTool(askUserQuestion, question), replyText("As you wish.")},
				reviewer: []apiReply{replyText("I can not tell.")},
			}
		}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			tty := box.start()
			tty.prompt("set up storage")
			tty.waitFor("one file", 60*time.Second)
		})
	})
}

// Where claude runs no hooks, ccc refuses to say that it supervises.
func TestRealClientHookless(t *testing.T) {
	tests := []struct {
		name, file, content, variable string
		args                          []string
	}{
		{name: "bare", args: []string{"--bare"}},
		{name: "safe_mode", args: []string{"--safe-mode"}},
		{name: "restricted", args: []string{"--restricted"}},
		{name: "sources", args: []string{"--setting-sources", "project,local"}},
		{name: "settings", args: []string{"--settings", `{"disableAllHooks":true}`}},
		{name: "simple", variable: "CLAUDE_CODE_SIMPLE=1"},
		{name: "safe_mode_variable", variable: "CLAUDE_CODE_SAFE_MODE=1"},
		{name: "restricted_variable", variable: "CLAUDE_CODE_RESTRICTED=1"},
		{name: "project", file: "../work/.claude/settings.json", content: `{"disableAllHooks":true}`},
		{name: "local", file: "../work/.claude/settings.local.json", content: `{"disableAllHooks":true}`},
		{name: "users_variable", file: ".claude/settings.json", content: `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forNewest(t, func() script {
				return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.launch() // the hooks are there
				if test.file != "" {
					text := test.content
					if test.file == ".claude/settings.json" {
						text = strings.Replace(box.settings(), "{", strings.TrimSuffix(text, "}")+",", 1)
					}
					box.write(test.file, 0o600, text)
				}
				box.vars = append(box.vars, test.variable, "CCC_SUPERVISOR=1")
				plain := append([]string{"claude", "-p"}, test.args...)
				if got := box.run(60*time.Second, "hello", plain...); len(api.requests("review")) != 0 {
					t.Errorf("claude runs the hooks: there is nothing to refuse: %+v", got)
				}
				asked := len(api.requests(""))
				got := box.run(60*time.Second, "hello", append([]string{"ccc", "--supervisor", "--", "-p"}, test.args...)...)
				if want := map[bool]int{true: 2, false: 1}[len(test.args) > 0]; got.code != want || !strings.Contains(got.stderr, "nothing would be reviewed") || strings.Contains(got.stderr, "enabled") {
					t.Errorf("got %+v, want a refusal with exit code %d", got, want)
				}
				if len(api.requests("")) != asked {
					t.Error("claude was started")
				}
			})
		})
	}
}

// What a review leaves to the user is shown to the user, in the session.
func TestRealClientShown(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			request := r.last("user")
			switch {
			case r.Kind != "review":
				return replyText("the answer")
			case strings.Contains(request, "third request"):
				return replyVerdict(false, "not yet")
			case strings.Contains(request, "second request"):
				return replyError(401, "authentication_error", "the key is gone")
			}
			return replyVerdict(true, "rotate the key yourself")
		})
		box.use(api)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start()
		tty.prompt("first request")
		tty.waitFor("本会话受监督：每个请求最多审查 1 次。实时查看: ccc log -f", 90*time.Second)
		tty.waitFor("rotate the key yourself", 90*time.Second)
		box.awaitVerdicts(1)
		tty.prompt("second request")
		tty.waitFor("审查失败", 90*time.Second)
		tty.waitFor("the key is gone", 90*time.Second)
		box.awaitVerdicts(2)
		tty.prompt("third request")
		tty.waitFor("审查次数已用完", 90*time.Second)
		if screen := unspaced(tty.screen()); strings.Contains(screen, "上一次审查失败") || strings.Count(screen, "本会话受监督") > 1 {
			t.Errorf("told twice:\n%s", screen)
		}
	})
}
