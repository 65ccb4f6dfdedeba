package main

// Whose session it is, on the real Claude Code: what a launch reaches, and what an agent's tools start.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A claude that the agent calls is not supervised, in whatever way it calls it, and its answer is its own: with a cleaned
// environment, from a git hook, behind a script, where it goes on with the agent's own session, when the tool that started it
// has ended. It speaks for nobody. All that holds where a script stands between ccc and
// claude, and where that script puts claude into a PID namespace of its own.
func TestRealClientNested(t *testing.T) {
	beside(t)
	const waits = "for i in $(seq 300); do sleep 0.2; [ ! -s left.txt ] || break; done"
	ways := []string{"claude -p 'NESTED words'", "env -u CLAUDECODE claude -p 'NESTED words'", "ccc -p 'NESTED words'",
		"env -u CLAUDECODE -u CCC_LAUNCH -u CCC_SUPERVISOR -u CLAUDE_CODE_ENTRYPOINT claude -p 'NESTED words'",
		"git -c user.name=x -c user.email=x@x commit --allow-empty -qm x",
		`claude -p --resume "$SESSION" 'NESTED words'`}
	command := `SESSION=$(ls ../home/.claude/ccc | sed -n 's/^supervisor-\(.*\)-events.jsonl$/\1/p'); (` +
		strings.Join(ways, "; ") + `; for p in '/supervisor on' '/supervisor NESTED task'; do claude -p --resume "$SESSION" "$p" >>refused.txt; done) </dev/null >nested.txt 2>&1; ` +
		`(nohup claude -p --resume "$SESSION" 'NESTED words' </dev/null >left.txt 2>&1 &); ` + waits
	for variant, shim := range map[string]string{"plain": "", "prefixed": "", "wrapped": "CLAUDE \"$@\"\nexit $?\n",
		"sandboxed": "[ -z \"$INSIDE\" ] || exec CLAUDE \"$@\"\nINSIDE=1 exec bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-pid --die-with-parent -- CLAUDE \"$@\"\n"} {
		t.Run(variant, func(t *testing.T) {
			on := forNewest
			if shim == "" {
				on = forClients
			}
			on(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				api := box.answering(byIteration(func(r apiRequest) apiReply {
					switch last := r.last("user"); {
					case strings.Contains(last, "NESTED words"):
						return replyText("answer of the nested one")
					case strings.Contains(last, "the outer request"):
						return replyTool("Bash", string(encodeJSON(map[string]any{"command": command, "description": "ask", "timeout": 400_000})))
					}
					return replyText("done")
				}, replyVerdict(false, "not yet"), replyVerdict(true, "")))
				box.write("../work/SUPERVISOR.md", 0o600, "STRICT")
				box.repository()
				box.write("../work/.git/hooks/pre-commit", 0o700, "#!/bin/sh\nclaude -p 'NESTED words'\n")
				if variant == "prefixed" { // a shell that stays between the client and its hooks and tools
					box.write("prefix", 0o700, "#!/bin/sh\n/bin/sh -c \"$*\"\nexit $?\n")
					box.vars = append(box.vars, "CLAUDE_CODE_SHELL_PREFIX="+filepath.Join(box.home, "prefix"))
				}
				if shim != "" {
					box.claudeIs(strings.ReplaceAll(shim, "CLAUDE", client.path))
				}
				got := box.run(300*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
				expectRun(t, box, got, "done", verdictBlock, verdictAllow)
				nested, refused := box.read("../work/nested.txt"), box.read("../work/refused.txt")
				if n := strings.Count(nested+box.read("../work/left.txt"), "answer of the nested one"); n != len(ways)+1 || strings.Contains(refused, "answer") {
					t.Errorf("the nested claudes answered %q, and %q", nested, refused)
				}
				expectNotIn(t, "the log", box.log(), " switched ")
				for _, review := range api.requests("review") {
					// A nested --resume of this very session writes into its transcript as the user's -p would.
					isNested := func(words string) bool { return words == "NESTED words" }
					if requests := slices.DeleteFunc(requestsOf(t, review.request()), isNested); !slices.Equal(requests, []string{"the outer request"}) || !strings.Contains(review.System, "STRICT") {
						t.Errorf("the requests are %q, and the reviewer was told %s", requests, review.System)
					}
				}
			})
		})
	}
}

// A terminal that an agent once opened is a terminal like any other: a tmux that its tool started, with all variables of
// its session, is the user's. A plain claude there is not supervised, /supervisor works, and so does a launch.
func TestRealClientInheritedMark(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		inner := &terminal{box, filepath.Join(filepath.Dir(box.home), "inner")}
		box.answering(func(r apiRequest) apiReply {
			switch {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(r.last("user"), "open a terminal"):
				return bash("tmux -S " + inner.socket + " -f /dev/null new-session -d -x 120 -y 40 sh")
			}
			return replyText("here is the answer")
		})
		outer := box.start("--permission-mode", "bypassPermissions")
		t.Cleanup(func() { inner.tmux("kill-server") })
		outer.prompt("open a terminal")
		box.awaitVerdicts(1)
		reviewsAre := func(n int) {
			t.Helper()
			inner.waitUntil(fmt.Sprintf("%d reviews", n), 60*time.Second, func(string) bool { return strings.Count(box.log(), "review ended") == n })
		}
		begin := func(command string) {
			inner.tmux("respawn-pane", "-k", command)
			inner.waitUntil("an input line", 60*time.Second, func(screen string) bool { return inputLine(screen) != "" })
		}
		begin("claude")
		inner.prompt("unsupervised words")
		inner.waitFor("here is the answer", 60*time.Second)
		inner.prompt("/supervisor on")
		inner.waitFor("监督已打开", 60*time.Second)
		reviewsAre(1)
		inner.prompt("supervised words")
		reviewsAre(2)
		inner.prompt("/supervisor off")
		inner.waitFor("监督已关闭", 60*time.Second)
		begin("ccc --supervisor")
		inner.prompt("launched words")
		reviewsAre(3)
		outer.prompt("and once more") // the session that opened it is what it was
		reviewsAre(4)
	})
}

// A plain claude that goes on with a session that was launched supervised, and not with a fork of the reviewer's, is
// supervised too, until the session is switched off; a later launch counts more.
func TestRealClientContinued(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("the agents own answer")}, reviewer: []apiReply{replyVerdict(true, "REVIEWED")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		run := func(reviews int, command ...string) {
			t.Helper()
			got := box.run(60*time.Second, "", append(command, "-p", "go on")...)
			agent := api.requests("agent")
			if text := agent[len(agent)-1].text(); strings.Contains(text, "REVIEWED") || strings.Contains(text, "审查") || (reviews > 1) != strings.Contains(text, "the agents own answer") {
				t.Errorf("%q: the agent's request is %s", command, text)
			}
			expectIs(t, fmt.Sprintf("the reviews after %q: %+v", command, got), box.reviewed(), reviews)
		}
		run(1, "ccc", "--supervisor")
		ids, _ := box.stateDir().sessions()
		run(2, "claude", "--continue")
		run(3, "claude", "--resume", ids[0])
		box.switchesOff(ids[0])
		run(3, "claude", "--resume", ids[0])
		run(4, "ccc", "--supervisor", "--resume", ids[0])
	})
}

// Two sessions at once have each their own reviews, and a plain one beside them has none.
func TestRealClientTwoAtOnce(t *testing.T) {
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(byIteration(func(apiRequest) apiReply { return replyText("done") }, replyVerdict(false, "not yet"), replyVerdict(true, "")))
		box.launch()
		done := make(chan commandResult, 3)
		for prompt, command := range map[string]string{"one": "ccc --supervisor", "two": "ccc --supervisor", "three": "claude"} {
			argv := append(strings.Fields(command), "-p", prompt)
			go func() { done <- box.run(120*time.Second, "", argv...) }()
		}
		for range 3 {
			if got := <-done; got.code != 0 || strings.TrimSpace(got.stdout) != "done" {
				t.Errorf("%+v", got)
			}
		}
		if got, want := box.supervised(), []string{"one: block allow", "two: block allow"}; !slices.Equal(got, want) {
			t.Errorf("supervised: %q, want %q", got, want)
		}
	})
}

// endsService ends the background service of the sandbox when the test does.
func (box *sandbox) endsService() {
	box.t.Cleanup(func() {
		_, folder, _ := strings.Cut(box.run(30*time.Second, "", "claude", "daemon", "status").stdout, "sock dir:")
		got := box.run(30*time.Second, "", "claude", "daemon", "stop", "--any")
		box.quiet(20 * time.Second)
		if folder = strings.TrimSpace(strings.SplitN(folder, "\n", 2)[0]); strings.Contains(folder, "/cc-daemon-") {
			os.RemoveAll(folder) // it is outside of the sandbox
		} else {
			box.t.Errorf("ending the service: %q, %+v", folder, got)
		}
	})
}

// supervised lists the sessions that ccc knows: the first prompt of each and its
// verdicts, as "prompt: verdict verdict".
func (box *sandbox) supervised() (sessions []string) {
	box.t.Helper()
	ids, _ := box.stateDir().sessions()
	for _, id := range ids {
		prompt, verdicts := "", ""
		for _, r := range box.timeline(id) {
			if prompt == "" && r.Prompt != nil {
				prompt = r.Prompt.Text
			}
			if r.Review != nil {
				verdicts += " " + string(r.Review.Verdict)
			}
		}
		sessions = append(sessions, prompt+":"+verdicts)
	}
	slices.Sort(sessions)
	return sessions
}

// expectSupervised waits until n stops were made in all, and then for the sessions that ccc knows to be these.
func (box *sandbox) expectSupervised(n int, want ...string) {
	box.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		stops, got := strings.Count(box.read("stops"), "stop"), box.supervised()
		if stops >= n && slices.Equal(got, want) {
			break
		}
		if time.Now().After(deadline) {
			box.t.Fatalf("%d stops, want %d; supervised %q, want %q", stops, n, got, want)
		}
	}
}

// A background session is supervised by /supervisor on in it, and in no other way: not by a flag, which is refused, nor by
// the variables that its service has from a supervised session that started it.
func TestRealClientBackground(t *testing.T) {
	const bypass = "--permission-mode=bypassPermissions"
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			switch _, command, isRun := strings.Cut(last, "run: "); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case isRun && !strings.Contains(last, "HAS RUN"):
				return bash(strings.TrimSpace(command) + "; echo HAS RUN")
			}
			return replyText("done")
		})
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo stop >>$HOME/stops"}]}]}}`)
		box.launch() // the hooks are there
		box.endsService()
		got := box.run(60*time.Second, "", "ccc", "--supervisor", bypass, "-p", "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent'")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		first := "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent': allow"
		got = box.run(30*time.Second, "", "claude", bypass, "--bg", "plain")
		_, id, found := strings.Cut(got.stdout, "claude attach ")
		if got.code != 0 || !found {
			t.Fatalf("%+v", got)
		}
		box.expectSupervised(4, first)
		tty := box.open("claude", "attach", strings.Fields(id)[0])
		tty.prompt("/supervisor on")
		tty.waitFor("监督已打开", 60*time.Second)
		tty.prompt("and more")
		box.expectSupervised(5, "and more: allow", first)
	})
}
