package main

// ccc on the real Claude Code (see api_test.go): what the issues and the
// contract claim about the client is seen here, in the requests that reach the
// scripted API. The fake claude of the other tests proves none of it.

import (
	"encoding/json"
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

// Older versions find a session only from its project directory.
func TestRealClientChangedDirectory(t *testing.T) {
	forClients(t, func() script {
		return script{
			agent: []apiReply{
				replyTool("Bash", `{"command":"mkdir -p sub/dir && cd sub/dir && pwd","description":"go"}`),
				replyText("first answer"), replyText("second answer"),
			},
			reviewer: []apiReply{replyVerdict(false, "not yet"), replyVerdict(true, "")},
		}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"pwd >>$HOME/cwd"}]}]}}`)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "go there")
		expectRun(t, box, got, "second answer", verdictBlock, verdictAllow)
		if cwd := box.read("cwd"); !strings.Contains(cwd, "/sub/dir") {
			t.Errorf("the agent's hooks ran in %q: the test shows nothing", cwd)
		}
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

// The settings that ccc writes are ones that the client accepts and keeps.
func TestRealClientSettingsValid(t *testing.T) {
	forClients(t, func() script { return script{reviewer: []apiReply{replyVerdict(true, "")}} },
		func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			first := box.read(".claude/settings.json")
			box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			if second := box.read(".claude/settings.json"); second != first || !json.Valid([]byte(first)) {
				t.Errorf("settings.json was\n%s\nand is\n%s", first, second)
			}
		})
}

// What the user asked for survives a compaction of the conversation.
func TestRealClientCompacted(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("<summary>nothing of note</summary>")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		tty := box.start()
		for i, prompt := range []string{"ORIGINAL REQUEST in detail", "more"} { // 2.1.200 compacts no single turn
			tty.prompt(prompt)
			api.await(t, "review", i+1, 120*time.Second)
			time.Sleep(2 * time.Second)
		}
		tty.prompt("/compact")
		tty.waitFor("Compacted", 90*time.Second)
		time.Sleep(time.Second)
		tty.prompt("go on")
		last := api.await(t, "review", 3, 120*time.Second)[2]
		conversation, request := last.text(), last.last("user")
		if i := strings.LastIndex(conversation, request); strings.Contains(conversation[:i], "assistant: ORIGINAL") || strings.Count(conversation, "ORIGINAL REQUEST") != 1 {
			t.Errorf("the conversation was not compacted: the test shows nothing\n%s", conversation)
		}
		if !strings.Contains(request, "[1] ORIGINAL REQUEST in detail") || !strings.Contains(request, "go on") {
			t.Errorf("the request is\n%s", request)
		}
	})
}

// /supervisor in a running session, and the same from another terminal.
func TestRealClientSwitched(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("first answer"), replyText("second answer"), replyText("third answer"), replyText("fourth answer")},
			reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		tty := box.start()
		settle := func(answer string) {
			tty.waitFor(answer, 90*time.Second)
			time.Sleep(1500 * time.Millisecond)
		}
		tty.prompt("/supervisor off")
		tty.waitFor("监督已关闭：Agent", 90*time.Second)
		if n := len(api.requests("agent")); n != 0 {
			t.Errorf("switching off took %d model calls", n)
		}
		tty.prompt("hello")
		settle("first answer")
		if n := len(api.requests("review")); n != 0 {
			t.Errorf("%d reviews while switched off", n)
		}
		tty.prompt("/supervisor do the <task>")
		box.awaitVerdicts(1)
		if text := api.requests("agent")[1].last("user"); !strings.Contains(text, "do the <task>") {
			t.Errorf("the agent got %q", text)
		}
		if n := len(api.requests("review")); n != 1 {
			t.Errorf("%d reviews after the task, want 1", n)
		}
		files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
		session := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), "supervisor-"), "-events.jsonl")
		if got := box.run(10*time.Second, "", "ccc", "supervisor-mode", "off", session); got.stdout != "off\n" {
			t.Errorf("got %+v", got)
		}
		tty.prompt("more")
		settle("third answer")
		if n := len(api.requests("review")); n != 1 {
			t.Errorf("%d reviews after the switch from outside, want 1", n)
		}
		tty.prompt("/supervisor")
		tty.waitFor("监督：off", 90*time.Second)
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

// twoAPIs writes a ccc.json with the providers a and b, each an API of its own
// with its own token and model.
func (box *sandbox) twoAPIs(t *testing.T, supervisor string, s script) (a, b *scriptedAPI) {
	a, b = newScriptedAPI(t, s), newScriptedAPI(t, s)
	box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{%s},"providers":{
		"a":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"token-of-a","ANTHROPIC_MODEL":"model-of-a"}},
		"b":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"token-of-b","ANTHROPIC_MODEL":"model-of-b"}}}}`, supervisor, a.URL, b.URL))
	return a, b
}

func expectRequests(t *testing.T, requests []apiRequest, token, model string) {
	t.Helper()
	if len(requests) == 0 {
		t.Errorf("no request with %s", token)
	}
	for _, r := range requests {
		if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("X-Api-Key") != "" || r.Model != model {
			t.Errorf("a request came with %q, %q and model %q, want %s and %s", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Model, token, model)
		}
	}
}

func TestRealClientTwoProviders(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		a, b := box.twoAPIs(t, "", script{agent: []apiReply{replyText("the answer")}})
		box.setSettings("{ }")
		// Newer versions write to settings.json themselves at their first start.
		box.run(60*time.Second, "", "claude", "-p", "x")
		before, asked := box.read(".claude/settings.json"), len(api.requests(""))
		box.vars = append(box.vars, "ANTHROPIC_AUTH_TOKEN=stale", "ANTHROPIC_MODEL=stale", "ANTHROPIC_DEFAULT_HAIKU_MODEL=stale")
		done := make(chan commandResult, 2)
		for _, name := range []string{"a", "b"} {
			go func() { done <- box.run(60*time.Second, "", "ccc", name, "-p", "x") }()
		}
		for range 2 {
			if got := <-done; got.code != 0 || strings.TrimSpace(got.stdout) != "the answer" {
				t.Errorf("got %+v", got)
			}
		}
		expectRequests(t, a.requests("agent"), "token-of-a", "model-of-a")
		expectRequests(t, b.requests("agent"), "token-of-b", "model-of-b")
		if n := len(api.requests("")); n != asked {
			t.Errorf("%d requests reached the API of the shell's environment", n-asked)
		}
		if text := box.read(".claude/settings.json"); text != before {
			t.Errorf("settings.json was %q, is %q", before, text)
		}
	})
}

// Without ccc's check the API of a settings file would be called, with the
// provider's token: claude started directly does so.
func TestRealClientSettingsConflict(t *testing.T) {
	for _, file := range []string{"../home/.claude/settings.json", "../work/.claude/settings.json", "../work/.claude/settings.local.json"} {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file)))+"_"+filepath.Base(file), func(t *testing.T) {
			forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				a, _ := box.twoAPIs(t, "", script{})
				box.write(file, 0o600, fmt.Sprintf(`{"env":{"ANTHROPIC_BASE_URL":%q}}`, api.URL))
				got := box.run(60*time.Second, "", "ccc", "a", "-p", "x")
				path := filepath.Join(box.home, file)
				if got.code != 1 || !strings.Contains(got.stderr, path+": env.ANTHROPIC_BASE_URL") || strings.Contains(got.stderr, api.URL) {
					t.Errorf("got %+v, want a refusal that names %s", got, path)
				}
				if n := len(a.requests("")) + len(api.requests("")); n != 0 {
					t.Errorf("%d requests after a refusal", n)
				}
				box.vars = append(box.vars, "ANTHROPIC_BASE_URL="+a.URL, "ANTHROPIC_AUTH_TOKEN=token-of-a")
				box.run(60*time.Second, "", "claude", "-p", "x")
				if wrong := api.requests("agent"); len(wrong) == 0 || len(a.requests("agent")) != 0 || wrong[0].Header.Get("Authorization") != "Bearer token-of-a" {
					t.Errorf("claude by itself called the right API: then the check is not needed")
				}
			})
		})
	}
}

func TestRealClientReviewersProvider(t *testing.T) {
	answers := script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	for name, supervisor := range map[string]string{"own": `"provider":"b","model":"model-of-the-reviewer"`, "sessions": ""} {
		t.Run(name, func(t *testing.T) {
			forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				a, b := box.twoAPIs(t, supervisor, answers)
				got := box.run(60*time.Second, "", "ccc", "a", "--supervisor", "-p", "x")
				expectRun(t, box, got, "the answer", verdictAllow)
				expectRequests(t, a.requests("agent"), "token-of-a", "model-of-a")
				if name == "own" {
					expectRequests(t, b.requests("review"), "token-of-b", "model-of-the-reviewer")
				} else {
					expectRequests(t, a.requests("review"), "token-of-a", "model-of-a")
				}
				if n := len(api.requests("")) + len(a.requests("review")) + len(b.requests("review")) + len(b.requests("agent")); n == 0 || len(api.requests("")) > 0 || len(b.requests("agent")) > 0 {
					t.Errorf("requests went elsewhere")
				}
			})
		})
	}
}
