package main

// Turns that Claude Code itself begins or goes on with, on the real Claude Code.

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// loggedPrompts are the user's prompts in the timeline of the one session.
func (box *sandbox) loggedPrompts() (prompts []string) {
	box.t.Helper()
	for _, r := range box.onlyTimeline() {
		if r.Kind == kindPrompt {
			prompts = append(prompts, r.Prompt)
		}
	}
	return prompts
}

// Of twelve turns that Claude Code begins each is reviewed, whatever a review came to before, though a request has three reviews. A
// background task that ends begins them, since the shortest interval of a /loop is a minute.
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
					const format = `{"command":"until [ -e tick%d ]; do sleep 0.1; done","run_in_background":true,"description":"wait"}`
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
