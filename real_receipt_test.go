package main

// Evidence on the real Claude Code: receipts on the screen, a review by hand.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// runningReviewer answers as a reviewer that runs a command in the copy, refuses the first time, and approves from then on.
func runningReviewer(command string) func(apiRequest) apiReply {
	var calls atomic.Int32
	return func(r apiRequest) apiReply {
		if r.Kind != "review" {
			return replyText("done")
		}
		switch n := calls.Add(1); {
		case n%3 == 1:
			return bash(command)
		case n%3 == 2:
			return bash("touch made") // which is refused
		default:
			return replyVerdict(n >= 6, "not yet")
		}
	}
}

func TestRealClientReceipt(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		needCopy(t, box)
		reviewer := runningReviewer(tryCommand() + ` 'cat notes.txt; exit 3'`)
		api := newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			if strings.Contains(r.last("user"), "Do the work") && r.Kind != "review" {
				box.write("../work/made.txt", 0o600, "by the agent\n")
			}
			return reviewer(r)
		})
		box.use(api)
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		box.repository()
		box.gitIn(box.work, "git init -q --bare ../remote; git remote add origin ../remote; git push -q origin HEAD:main; git remote set-head origin main")
		tty := box.start()
		tty.prompt("Do the work")
		tty.waitFor("Review 1/10: sent back", 60*time.Second)
		tty.waitFor("Review 2/10: approved", 60*time.Second)
		tty.waitFor("cat notes.txt; exit 3 → exit 3", 10*time.Second)
		box.awaitVerdicts(2)
		tty.prompt("push it") // it changes no file
		box.awaitVerdicts(3)
		expectIn(t, "the last review in the log", box.ccc("log", "-n", "1"), "push it", "cat notes.txt; exit 3 → exit 3", "approved")
		refused := 0
		for _, r := range box.onlyTimeline() {
			if r.Step != nil && r.Step.Kind == stepRefused && r.Step.Tool == "Bash(touch made)" {
				refused++
			}
		}
		ids, _ := box.stateDir().sessions()
		h, err := box.stateDir().session(ids[0]).readHistory()
		check(t, err)
		for _, r := range h.Reviews {
			expectNotIn(t, "what was looked at", strings.Join(r.did.Tools, " "), "touch")
		}
		expectIs(t, "the refused calls", refused, 3)
		expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	})
}

// A session that ran without ccc is reviewed by hand: one of -p, and one that is open in a client, which goes on.
func TestRealClientReviewByHand(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "well"), replyVerdict(true, "well"), replyVerdict(false, "not yet")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		if got := box.run(90*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		got := box.run(90*time.Second, "", "ccc", "review")
		if got.code != 0 || !strings.HasPrefix(got.stdout, "[SUPERVISOR] Review: approved · ") || !strings.HasSuffix(got.stdout, "\nwell\n") || !strings.Contains(got.stderr, "fix the bug") {
			t.Errorf("%+v", got)
		}
		if reviews := api.requests("review"); len(reviews) == 0 || !strings.Contains(reviews[0].last("user"), "fix the bug") {
			t.Errorf("the reviewer was told %v", reviews)
		}
		expectIn(t, "the log", box.ccc("log", "-n", "1"), "fix the bug", "Review: approved")
		paths, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
		id := strings.TrimSuffix(filepath.Base(paths[0]), ".jsonl")
		box.write(".claude/projects/copied/"+id+".jsonl", 0o600, box.transcripts()) // it lies in two projects then
		got = box.run(90*time.Second, "", "ccc", "review", id[:8])
		expectIs(t, "a second review's exit code", got.code, 0)
		tty := box.open("claude")
		tty.prompt("another task")
		tty.waitUntil("the transcript tells of it", 60*time.Second, func(string) bool {
			paths, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
			return slices.ContainsFunc(paths, func(path string) bool {
				text, _ := os.ReadFile(path)
				return strings.Contains(string(text), "another task") && strings.Contains(string(text), `"text":"done"`)
			})
		})
		got = box.run(90*time.Second, "", "ccc", "review")
		if got.code == 2 && strings.Contains(got.stderr, "which of the sessions") { // nobody looks on here
			_, ids, _ := strings.Cut(got.stderr, "Name one: ")
			got = box.run(90*time.Second, "", "ccc", "review", strings.Fields(ids)[0])
		}
		if got.code != 1 || !strings.Contains(got.stderr, "another task") {
			t.Errorf("the command: %+v", got)
		}
		tty.prompt("go on")
		tty.waitUntil("the session goes on", 60*time.Second, func(screen string) bool { return strings.Count(screen, "done") > 1 })
		expectNotIn(t, "settings.json", box.settings(), "hooks")
	})
}

// A review by hand under nohup outlives its terminal.
func TestRealClientNohup(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		isGone := make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			if r.Kind == "review" {
				<-isGone
				return replyVerdict(true, "")
			}
			return replyText("done")
		})
		if got := box.run(90*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		tty := box.terminal("sh", "-c", "nohup ccc review >$HOME/shown 2>&1; echo $? >$HOME/code")
		api.await(t, "review", 1, 90*time.Second)
		tty.tmux("kill-server")
		time.Sleep(time.Second) // SIGHUP is under way
		close(isGone)
		box.awaitVerdicts(1)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow})
	})
}
