package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A subagent's message to the agent is no prompt of the user's, and a subagent that is resumed has the same
// id: no stop is reviewed before its end.
func TestRealClientAgentMessages(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		agentID := regexp.MustCompile(`agentId: (\w+)`)
		waits := func(file string) apiReply {
			return bash("until [ -e " + file + " ]; do sleep 0.1; done; echo there: " + file)
		}
		box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			isOfSubagent := strings.Contains(r.Messages[0].Text, "be the subagent")
			switch {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case isOfSubagent && strings.Contains(last, "there: a"):
				return replyTool("SendMessage", `{"to":"main","summary":"half done","message":"half is done"}`)
			case isOfSubagent && strings.Contains(last, "once more"):
				return waits("c")
			case isOfSubagent && strings.Contains(last, "there: c"):
				return replyText("the fix is there")
			case isOfSubagent && strings.Contains(last, "there: b"):
				return replyText("there is a bug")
			case isOfSubagent && strings.Contains(last, "be the subagent"):
				return waits("a")
			case isOfSubagent:
				return waits("b")
			case strings.Contains(last, "begin it"):
				tool := "Task"
				if slices.Contains(r.Tools, "Agent") {
					tool = "Agent"
				}
				return replyTool(tool, `{"description":"look","prompt":"be the subagent",
					"subagent_type":"general-purpose","run_in_background":true}`)
			case strings.Contains(last, "there is a bug"):
				id := agentID.FindStringSubmatch(r.text())
				message := fmt.Sprintf(`{"to":%q,"summary":"fix it","message":"once more"}`, id[1])
				return replyTool("SendMessage", message)
			}
			return replyText("my words")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		counts := func(what string, deferrals, verdicts int) {
			t.Helper()
			tty.waitUntil(what, 90*time.Second, func(string) bool {
				log := box.log()
				return strings.Count(log, " stop not reviewed ") == deferrals &&
					strings.Count(log, " review ended ") == verdicts
			})
		}
		tty.prompt("begin it")
		counts("the subagent works", 1, 0)
		box.write("../work/a", 0o600, "")
		counts("its message", 2, 0)
		box.write("../work/b", 0o600, "")
		counts("it is resumed", 3, 0)
		box.write("../work/c", 0o600, "")
		counts("its end", 3, 1)
		expectEqual(t, "the prompts", box.loggedPrompts(), []string{"begin it"})
	})
}

// /supervisor is heeded while it waits in the queue: off while the agent works, and while it is reviewed;
// observe before the decision; but not what was taken back with Up.
func TestRealClientQueuedSwitch(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		var isHeld atomic.Bool
		defer isHeld.Store(false)
		box.answering(func(r apiRequest) apiReply {
			switch {
			case r.Kind == "review":
				for isHeld.Load() {
					time.Sleep(10 * time.Millisecond)
				}
				return replyVerdict(strings.Contains(r.request(), "上次反馈"), "not yet")
			case strings.Contains(r.last("user"), "work"):
				return bash("until [ -e worked ]; do sleep 0.1; done; echo done")
			}
			return replyText("done")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		shows := func(text string, times int) {
			t.Helper()
			isShown := func(screen string) bool { return strings.Count(screen, text) == times }
			tty.waitUntil(text, 60*time.Second, isShown)
		}
		reviewing := func(prompt string, reviews int) {
			t.Helper()
			isHeld.Store(true)
			tty.prompt(prompt)
			begun := func() string { return strings.Repeat("+", box.reviewed()) }
			await(t, begun, strings.Repeat("+", reviews))
		}
		typed := func(words string) {
			t.Helper()
			tty.enter(words)
			await(t, box.transcripts, `"content":"`+words+`"`)
		}
		tty.prompt("work")
		tty.waitFor("until", 90*time.Second)
		typed("/supervisor off")
		box.write("../work/worked", 0o600, "")
		shows("监督已关闭", 1)
		expectIs(t, "the reviews", box.reviewed(), 0)

		tty.prompt("/supervisor on")
		shows("监督已打开", 1)
		reviewing("hello", 1)
		typed("/supervisor 关闭")
		shows("监督已关闭", 2)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})

		tty.prompt("/supervisor 打开")
		shows("监督已打开", 2)
		reviewing("hello again", 2)
		typed("/supervisor observe")
		isHeld.Store(false)
		tty.waitFor("改为旁观", 60*time.Second)
		tty.waitFor("会被退回", 60*time.Second)

		tty.clears("改为旁观")
		reviewing("hello once more", 3)
		typed("/supervisor 旁观")
		tty.keys("Up")
		await(t, box.transcripts, `"operation":"popAll"`)
		isHeld.Store(false)
		tty.waitFor("[SUPERVISOR] 审查 1/10：退回", 60*time.Second)
	})
}

// A wrapper of claude adds a permission mode: what the reviewer calls is refused in the mode that ccc asked
// for, or no review takes place.
func TestRealClientWrapperAddsMode(t *testing.T) {
	for flags, want := range map[string]verdict{
		"--dangerously-skip-permissions":      verdictAllow,
		"--permission-mode bypassPermissions": verdictFailed,
		"--permission-mode acceptEdits":       verdictFailed,
	} {
		t.Run(flags, func(t *testing.T) {
			forClients(t, func() script {
				return script{agent: []apiReply{replyText("done")},
					reviewer: []apiReply{bash("git init -q touched"), replyVerdict(true, "")}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.claudeIs("exec " + client.path + ` "$@" ` + flags + "\n")
				box.run(180*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{want})
				_, err := os.Stat(filepath.Join(box.work, "touched"))
				expectIs(t, "what the reviewer made is missing", errors.Is(err, fs.ErrNotExist), true)
			})
		})
	}
}

// Hooks that go out of settings.json in mid-session end the supervision there; ccc log shows the last that is
// known, and the next launch puts the hooks back.
func TestRealClientHooksGone(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answersAndApprovals()
		tty := box.start()
		tty.submits("hello", "answer 1", 1)
		box.setSettings(`{"disableAllHooks":true}`)
		answers, events := 1, -1
		for events != strings.Count(box.log(), " invoked ") { // the client reads its settings a moment later
			events = strings.Count(box.log(), " invoked ")
			answers++
			tty.prompt("and more")
			tty.waitFor(fmt.Sprint("answer ", answers), 90*time.Second)
			isIdle := func(screen string) bool { return !strings.Contains(screen, "esc to interrupt") }
			tty.waitUntil("an idle client", 90*time.Second, isIdle)
		}
		expectIn(t, "ccc log", box.run(60*time.Second, "", "ccc", "log").stdout, "hello", "通过")
		box.setSettings(`{}`)
		box.start().submits("hello again", fmt.Sprint("answer ", answers+1), box.reviewed()+1)
	})
}
