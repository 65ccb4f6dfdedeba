package main

// ccc's commands beside the real Claude Code.

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What `ccc --supervisor PROMPT -p && ccc verdict` says of each end that a session can have. The prompt, which comes first,
// names the end; a turn that an API error ends has no stop. A review that does not take place sends the agent nowhere.
func TestRealClientVerdict(t *testing.T) {
	const secret = "UNIQUE-ERROR-TEXT"
	failures := map[string]apiReply{"401": replyError(401, "authentication_error", secret), "529": replyError(529, "overloaded_error", secret),
		"malformed": replyTool("StructuredOutput", `{"verdict":"`+secret+`"}`)}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			_, end, _ := strings.Cut(r.text(), "it shall end with ")
			end, _, _ = strings.Cut(end, ".")
			again := strings.Contains(r.text(), "Stop hook feedback")
			failure, fails := failures[end]
			switch review := r.Kind == "review"; {
			case !review && end == "none", !review && end == "block" && again:
				return failures["401"]
			case review && fails:
				return failure
			case review:
				return replyVerdict(end == "allow" && again, "not yet")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
		for _, test := range []struct {
			end, verdict string
			code         int
			logged       string
		}{
			{"allow", "allow", 0, "verdict=allow"}, {"block", "block", 1, "verdict=block"}, {"limit", "limit", 1, ""}, {"none", "none", 3, ""},
			{"401", "failed", 1, secret}, {"529", "failed", 1, "API Error"}, {"malformed", "failed", 1, "error_max_structured_output_retries"},
		} {
			before, asked := len(box.log()), len(api.requests("agent"))
			run := box.run(90*time.Second, "", "ccc", "--supervisor", "it shall end with "+test.end+".", "-p")
			got := box.run(10*time.Second, "", "ccc", "verdict")
			if got.code != test.code || got.stdout != test.verdict+"\n" || test.verdict == "block" && !strings.Contains(got.stderr, "not yet") || !strings.Contains(box.log()[before:], test.logged) {
				t.Errorf("%s: got %+v after %+v", test.end, got, run)
			}
			if n := len(api.requests("agent")) - asked; test.verdict == "failed" && (n != 1 || run.code != 0 || run.stdout != "done\n") {
				t.Errorf("%s: %d agent requests, want 1, and %+v", test.end, n, run)
			}
		}
		expectEnd(t, "switched off: the one before", box.run(60*time.Second, "", "sh", "-c", `ccc --supervisor "/supervisor off" -p >/dev/null 2>&1; ccc verdict`), 1, "failed\n", "ccc")
		// A hook by hand, of a session that the client does not know.
		expectEnd(t, "no such session", box.hook(ofSession("01234567-89ab-4cde-8f01-23456789abcd", box.event(eventStop, ""))), 0, "", "No conversation found")
	})
}

// `ccc log -f` in another terminal goes on with the session that /clear begins.
func TestRealClientFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "COLUMNS=100")
		output, end := follow(t, box, "-f")
		defer end(syscall.SIGTERM)
		await(t, output, "等待第一个会话")
		tty := box.start()
		tty.prompt("the first request")
		await(t, output, "用户\n    the first request\n")
		box.awaitVerdicts(1)
		await(t, output, "审查 1/10：通过\n")
		tty.prompt("/clear")
		tty.waitUntil("an empty conversation", 60*time.Second, func(screen string) bool { return !strings.Contains(screen, "the first request") })
		tty.prompt("the second request")
		tty.shows(10*time.Second, func(string) bool { return strings.Count(output(), "会话 ") == 2 })
		await(t, output, "用户\n    the second request\n")
		api.await(t, "review", 2, 120*time.Second)
		tty.shows(10*time.Second, func(string) bool { return strings.Count(output(), "审查 1/10：通过\n") == 2 })
		if got := output(); strings.Count(got, "审查 1/10：通过\n") != 2 || strings.Count(got, "the first request") != 1 || strings.Contains(got, "提示词：") {
			t.Errorf("it says\n%s", got)
		}
	})
}

// A session in English, by the locale: the spinner, what the user and the agent
// are told, and what the reviewer is asked; the next launch in Chinese is Chinese.
func TestRealClientLanguage(t *testing.T) {
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		reviews := 0
		api := box.answering(func(r apiRequest) apiReply {
			switch {
			case r.Kind != "review":
				return replyText("the answer")
			case strings.Contains(r.last("user"), "second request"):
				return replyError(401, "authentication_error", "the key is gone")
			}
			time.Sleep(2 * time.Second) // for the spinner
			if reviews++; reviews == 1 {
				return replyVerdict(false, "")
			}
			return replyVerdict(true, "rotate the key yourself")
		})
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		tty := box.start()
		tty.prompt("first request")
		tty.waitFor("This session is supervised: up to 10 reviews per request.", 90*time.Second)
		tty.waitFor("[SUPERVISOR] Reviewing the work", 90*time.Second)
		tty.waitFor("Please go on until the task is done.", 90*time.Second)
		tty.waitFor("The reviewer leaves this to you: rotate the key yourself", 90*time.Second)
		box.awaitVerdicts(2)
		request := api.lastReview(t)
		expectIn(t, "the request", request, "\n## Running commands\n", "\n## The user's requests (in order, verbatim)\n\n[1] first request\n",
			"\n## Previous feedback\nPlease go on until the task is done.\n", "\n## Round\nRound 2 of at most 10. The whole review has ")
		if r := api.requests("review")[0]; !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.en)) || !strings.Contains(string(r.Body), "the work is impeccable") {
			t.Errorf("the reviewer was told %.300s", r.System)
		}
		tty.prompt("/supervisor")
		tty.waitFor("Supervision: on · reviews of this request: 0/10 · approved", 90*time.Second)
		tty.prompt("second request")
		tty.waitFor("There was no review, so nobody checked the agent's work. Cause: the reviewer failed", 90*time.Second)
		for what, text := range map[string]string{"the screen": tty.screen(), "the request": request, "settings.json": box.settings(),
			"the command": box.read(".claude/commands/supervisor.md"), "log": box.ccc("log"), "status": box.ccc("status")} {
			if found := chineseIn(text); found != "" {
				t.Errorf("Chinese in %s: %s", what, found)
			}
		}
		tty.tmux("kill-server")
		tty.shows(10*time.Second, func(string) bool { return tty.tmux("list-sessions").code != 0 }) // a server on its way out takes no session
		os.Remove(tty.socket)
		box.vars = append(box.vars, "LANG=zh_CN.UTF-8")
		tty = box.start()
		tty.prompt("first request")
		tty.waitFor("本会话受监督 每项要求最多审查 10 次", 90*time.Second)
		tty.waitFor("[SUPERVISOR] 正在审查工作", 90*time.Second)
		tty.waitFor("审查者给你的留言：rotate the key yourself", 90*time.Second)
	})
}
