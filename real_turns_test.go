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

// Of twelve turns that Claude Code begins each is reviewed, whatever a review came to before, though a request
// has three reviews. A background task that ends begins them: the shortest interval of a /loop is a minute.
func TestRealClientTicks(t *testing.T) {
	const ticks = 12
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		var started atomic.Int32
		api := box.answering(func(r apiRequest) apiReply {
			switch n, last := len(box.timelineVerdicts()), r.last("user"); {
			case r.Kind == "review" && n == 3:
				return replyError(400, "invalid_request_error", "planted")
			case r.Kind == "review":
				return replyVerdict(n < 6 || n > 8, "show the tests")
			case strings.Contains(last, "start it"), strings.Contains(last, "<task-notification>"):
				if n := started.Add(1); n <= ticks {
					const format = `{"command":"until [ -e tick%d ]; do sleep 0.1; done",` +
						`"run_in_background":true,"description":"wait"}`
					return replyTool("Bash", fmt.Sprintf(format, n))
				}
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("start it")
		verdicts := 0
		for tick := range ticks + 1 { // 0 is the user's turn
			verdicts++
			if tick == 6 { // sent back three times, then let go
				verdicts += 3
			}
			box.awaitVerdicts(verdicts)
			box.write(fmt.Sprintf("../work/tick%d", tick+1), 0o600, "")
		}
		want := slices.Repeat([]verdict{verdictAllow}, 16)
		copy(want[3:], []verdict{verdictFailed})
		copy(want[6:], []verdict{verdictBlock, verdictBlock, verdictBlock, verdictLimit})
		expectEqual(t, "the verdicts", box.timelineVerdicts(), want)
		expectEqual(t, "the requests", requestsOf(t, api.lastReview(t)), []string{"start it"})
		expectEqual(t, "the user's prompts", box.loggedPrompts(), []string{"start it"})
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
