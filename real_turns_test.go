package main

// Turns that Claude Code itself begins or goes on with, on the real Claude Code.

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
// failed ones too. Behind an approval and behind a prompt they are counted anew.
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
		tick(4) // sent back twice, then let go
		box.awaitVerdicts(9)
		tick(5) // let go
		box.awaitVerdicts(10)
		want := []verdict{verdictFailed, verdictBlock, verdictLimit, verdictLimit, verdictBlock, verdictAllow, verdictBlock, verdictBlock,
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
