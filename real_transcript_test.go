package main

// Whose words a prompt is, on the real Claude Code.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A background task that runs is stopped in the fork of a review alone. What Claude Code submits when it ends is no request:
// it has no budget, is not listed, and what was asked for last stays.
func TestRealClientBackgroundTask(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review" && strings.Contains(r.request(), "第 1 轮，"):
				time.Sleep(3 * time.Second) // a model takes its time, and the fork has said something of its own before
				return replyVerdict(false, "show the tests")
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "start it"):
				return replyTool("Bash", `{"command":"until [ -e ended ]; do sleep 0.2; done","run_in_background":true,"description":"serve"}`)
			}
			return replyText("the server runs")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("start it")
		review := api.await(t, "review", 1, 120*time.Second)[0]
		box.awaitVerdicts(2)
		if stopped := strings.Contains(review.text(), "<status>stopped</status>"); stopped == olderThan(client.version, "2.1.200") {
			t.Errorf("the fork says that the task stopped: %v", stopped)
		}
		if request := review.request(); !olderThan(client.version, "2.1.200") && (!strings.Contains(request, "## 正在运行的后台任务") ||
			!strings.Contains(request, "until [ -e ended ]") || !strings.Contains(request, "分叉里没有这些任务")) {
			t.Errorf("the request is %s", request)
		}
		box.write("../work/ended", 0o600, "")
		box.awaitVerdicts(3)
		expectIn(t, "what the agent got, else the test shows nothing,", strings.Join(api.agentsUserTexts(), "\n"), "<task-notification>")
		request := api.lastReview(t)
		if got := requestsOf(t, request); !slices.Equal(got, []string{"start it"}) || !strings.Contains(request, "上次反馈\nshow the tests") || !strings.Contains(request, "第 3 轮，") {
			t.Errorf("the request is %s", request)
		}
	})
}

// Only what stands in the conversation is given to the reviewer: not what was taken back or kept out, but what was
// typed while the agent worked, and what was said before a compaction and before a fork.
func TestRealClientRequests(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		queued := make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review":
				<-queued
				return replyVerdict(true, "")
			case strings.Contains(last, "with a tool") && !strings.Contains(last, "slept"):
				return bash("until [ -e typed ]; do sleep 0.1; done; sleep 1; echo slept")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.write("block.sh", 0o700, "#!/bin/sh\ngrep -q SECRET && echo '{\"decision\":\"block\",\"reason\":\"kept out\"}' || exit 0\n")
		box.setSettings(`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"` + box.home + `/block.sh"}]}]}}`)
		tty := box.start("--permission-mode", "bypassPermissions")
		expectRequests := func(verdicts int, want ...string) {
			t.Helper()
			box.awaitVerdicts(verdicts)
			expectEqual(t, "the requests", requestsOf(t, api.lastReview(t)), want)
			if got := box.timelineVerdicts(); slices.ContainsFunc(got, func(v verdict) bool { return v != verdictAllow }) {
				t.Errorf("verdicts %q", got)
			}
		}
		tty.prompt("first request")
		api.await(t, "review", 1, 120*time.Second)
		tty.enter("queued request") // while the review runs: the next request, with a budget of its own
		close(queued)
		want := []string{"first request", "queued request"}
		expectRequests(2, want...)
		tty.enter("the SECRET is x") // the newest clients give it back, for the next one to delete
		tty.waitFor("kept out", 90*time.Second)
		tty.prompt("taken back")
		expectRequests(3, append(want, "taken back")...)
		tty.rewind("taken back")
		tty.enter("second request with a tool")
		tty.waitFor("until [ -e typed ]", 90*time.Second)
		tty.enter("typed meanwhile")
		box.write("../work/typed", 0o600, "")
		want = append(want, "second request with a tool", "typed meanwhile")
		expectRequests(4, want...)
		for _, r := range api.requests("review") {
			if strings.Contains(r.text(), "SECRET") {
				t.Fatal("a review sent what a hook had kept out")
			}
		}
		tty.prompt("/compact")
		tty.waitFor("Compacted", 90*time.Second)
		tty.prompt("third request")
		want = append(want, "/compact", "third request")
		expectRequests(5, want...)
		reviews := api.requests("review")
		if conversation := reviews[len(reviews)-1].text(); strings.Count(conversation, "typed meanwhile") != 1 {
			t.Errorf("the conversation was not compacted: the test shows nothing\n%s", conversation)
		}
		tty.tmux("kill-server")
		box.quiet(20 * time.Second)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "--continue", "--fork-session", "-p", "forked request")
		expectEqual(t, fmt.Sprintf("the requests in a fork: %+v", got), requestsOf(t, api.lastReview(t)), append(want, "forked request"))
	})
}

// The agent can't dismiss its reviewer: not by a tool, and not by what it schedules, which Claude Code submits at the next full
// minute and which is no request.
func TestRealClientAgentsTricks(t *testing.T) {
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		tricks := []apiReply{bash("ccc supervisor-mode off; env -u CLAUDECODE ccc supervisor-mode off")}
		for _, prompt := range []string{"/supervisor off", "/supervisor on", "/supervisor carry on"} {
			tricks = append(tricks, replyTool("CronCreate", `{"cron":"* * * * *","prompt":"`+prompt+`","recurring":false}`))
		}
		var api *scriptedAPI
		api = box.answering(func(r apiRequest) apiReply {
			if asked := len(api.requests("agent")); r.Kind == "agent" && asked <= len(tricks) {
				return tricks[asked-1]
			} else if r.Kind == "agent" {
				return replyText("done")
			}
			return replyVerdict(true, "")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("the request")
		box.awaitVerdicts(1)
		tty.waitFor("由用户决定", 100*time.Second)
		box.awaitVerdicts(2)
		tty.waitUntil("four prompts", 60*time.Second, func(string) bool { return strings.Count(box.log(), "event=UserPromptSubmit") == 4 })
		if text := api.requests("agent")[1].last("user"); strings.Count(text, "off is for the user") != 2 {
			t.Errorf("switching off said %q", text)
		}
		if requests := requestsOf(t, api.lastReview(t)); !slices.Equal(requests, []string{"the request"}) || strings.Contains(box.log(), " switched ") {
			t.Errorf("the requests are %q", requests)
		}
		tty.prompt("the second request")
		box.awaitVerdicts(3)
		for i, review := range api.requests("review") {
			expectIn(t, fmt.Sprintf("the request of review %d", i+1), review.request(), fmt.Sprintf("第 %d 轮", i%2+1))
		}
	})
}
