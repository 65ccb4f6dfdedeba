package main

// Supervision switched on and off in the real Claude Code.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

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
		tty.submits("/supervisor", "监督：已打开 · 这项要求已审查 0/10 次 · 通过", 1)
		box.switchesOff(box.onlySession())
		tty.submits("more", "answer 3", 1)
		tty.submits("and more", "answer 4", 1)
		tty.submits("/supervisor nonesuch", "不明白“/supervisor nonesuch”", 1)
		tty.submits("/supervisor", "监督：已关闭 · 这项要求已审查 0/10 次 · 本会话共审查 1 次", 1)
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
