package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Supervision switched on and off in the real Claude Code.

// The later of a launch and a switch counts, and a switch stays with the client
// over /clear.
func TestRealClientSwitchKept(t *testing.T) {
	answers := func() script {
		return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}
	t.Run("launched_again", func(t *testing.T) {
		forClients(t, answers, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
			session := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), "supervisor-"), "-events.jsonl")
			if got := box.run(10*time.Second, "", "ccc", "supervisor-mode", "off", session[:8]); got.stdout != "off\n" {
				t.Fatalf("%+v", got)
			}
			if got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--resume", session, "more"); !strings.Contains(got.stderr, "enabled") {
				t.Errorf("%+v", got)
			}
			if n := box.reviewed(); n != 2 {
				t.Errorf("%d reviews, want 2", n)
			}
		})
	})
	for _, mode := range []string{"on", "off"} {
		t.Run("clear_"+mode, func(t *testing.T) {
			forClients(t, answers, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.launch()
				command := []string{"ccc", "--supervisor"}
				if mode == "on" {
					command = []string{"claude"}
				}
				tty := box.open(command...)
				tty.prompt("/supervisor " + mode)
				tty.waitFor("监督已", 90*time.Second)
				tty.prompt("/clear")
				time.Sleep(1500 * time.Millisecond)
				tty.prompt("hello")
				if mode == "on" {
					api.await(t, "review", 1, 120*time.Second)
					return
				}
				tty.waitFor("the answer", 90*time.Second)
				time.Sleep(2 * time.Second)
				if n := box.reviewed(); n != 0 {
					t.Errorf("%d reviews after off and /clear", n)
				}
			})
		})
	}
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

// Switched off from another terminal, a review that runs ends at once and blocks
// nothing.
func TestRealClientSwitchedDuringReview(t *testing.T) {
	forNewest(t, hangingReview, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"permission_mode":"bypassPermissions"}}`)
		done := make(chan commandResult, 1)
		go func() { done <- box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello") }()
		box.awaitHook(30 * time.Second)
		files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
		session := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), "supervisor-"), "-events.jsonl")
		box.run(10*time.Second, "", "ccc", "supervisor-mode", "off", session)
		time.Sleep(600 * time.Millisecond)
		box.expectNoReviewer()
		expectRun(t, box, <-done, "the answer", verdictFailed)
		if got := box.run(10*time.Second, "", "ccc", "log", session); !strings.Contains(got.stdout, "switched off during the review") {
			t.Errorf("the story is %s", got.stdout)
		}
	})
}
