package main

// Supervision switched on and off in the real Claude Code.

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// /supervisor in a running session, and the same from another terminal. A switch stays with the client over /clear.
func TestRealClientSwitched(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		var api *scriptedAPI
		api = box.answering(func(r apiRequest) apiReply {
			if r.Kind == "review" {
				return replyVerdict(true, "")
			}
			return replyText(fmt.Sprint("answer ", len(api.requests("agent"))))
		})
		tty := box.start()
		submit := func(prompt, answer string, reviews int) {
			t.Helper()
			tty.prompt(prompt)
			tty.waitFor(answer, 90*time.Second)
			if reviews > 0 {
				api.await(t, "review", reviews, 90*time.Second)
			}
			tty.waitUntil("an idle client", 90*time.Second, func(screen string) bool { return !strings.Contains(screen, "esc to interrupt") })
			expectIs(t, prompt, box.reviewed(), reviews)
		}
		submit("/supervisor off", "监督已关闭：Agent", 0)
		if n := len(api.requests("agent")); n != 0 {
			t.Errorf("switching off took %d model calls", n)
		}
		submit("hello", "answer 1", 0)
		submit("/supervisor do the <task>", "answer 2", 1)
		expectIn(t, "what the agent got", api.requests("agent")[1].last("user"), "do the <task>")
		expectIs(t, "ccc supervisor-mode", box.run(10*time.Second, "", "ccc", "supervisor-mode", "off").stdout, "off\n")
		submit("more", "answer 3", 1)
		submit("/supervisor", "监督：已关闭", 1)
		empty := func(shown string) {
			tty.prompt("/clear")
			tty.waitUntil("an empty conversation", 60*time.Second, func(screen string) bool { return !strings.Contains(screen, shown) })
		}
		empty("answer 3")
		submit("still off", "answer 4", 1)
		submit("/supervisor on", "监督已打开", 1)
		empty("answer 4")
		submit("still on", "answer 5", 2)
	})
}

// What follows /supervisor: a task at any white space, a word that means a mode
// and is none, and a command that is the user's own.
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
		box.write(".claude/commands/supervisor.md", 0o600, "my own command: $ARGUMENTS\n")
		box.run(60*time.Second, "/supervisor off", "ccc", "--supervisor", "-p")
		if agent := api.requests("agent"); len(agent) != 2 || !strings.Contains(agent[1].last("user"), "my own command: off") {
			t.Errorf("the user's own command did not reach the agent: %v", api)
		}
	})
}
