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

const nestedAnswer = "answer of the nested one"

// useNested has the agent run a shell command for "the outer request", answers the claudes that this calls with
// "NESTED words", and sends the agent back once.
func (box *sandbox) useNested(command string) *scriptedAPI {
	api := newAnsweringAPI(box.t, "", byIteration(func(r apiRequest) apiReply {
		switch last := r.last("user"); {
		case strings.Contains(last, "NESTED words"):
			return replyText(nestedAnswer)
		case strings.Contains(last, "the outer request"):
			return replyTool("Bash", string(encodeJSON(map[string]string{"command": command, "description": "ask"})))
		}
		return replyText("done")
	}, replyVerdict(false, "not yet"), replyVerdict(true, "")))
	box.use(api)
	return api
}

// A claude that the agent calls is not supervised, in whatever way it calls it: its answer is its own. That holds where
// a script stands between ccc and claude, too.
func TestRealClientNested(t *testing.T) {
	ways := []string{"claude -p 'NESTED words'", "env -u CLAUDECODE claude -p 'NESTED words'", "ccc -p 'NESTED words'",
		"env -u CLAUDECODE -u CCC_LAUNCH -u CCC_SUPERVISOR -u CLAUDE_CODE_ENTRYPOINT claude -p 'NESTED words'",
		"git -c user.name=x -c user.email=x@x commit --allow-empty -qm x"}
	for _, wrapped := range []bool{false, true} {
		t.Run(fmt.Sprintf("wrapped_%v", wrapped), func(t *testing.T) {
			on := forClients
			if wrapped {
				on = forNewest
			}
			on(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				box.useNested("(" + strings.Join(ways, "; ") + ") </dev/null >nested.txt 2>&1; cat nested.txt")
				box.repository()
				box.write("../work/.git/hooks/pre-commit", 0o700, "#!/bin/sh\nclaude -p 'NESTED words'\n")
				if wrapped {
					box.claudeIs(client.path + ` "$@"` + "\nexit $?\n")
				}
				got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
				expectRun(t, box, got, "done", verdictBlock, verdictAllow)
				if text, _ := os.ReadFile(filepath.Join(box.work, "nested.txt")); strings.Count(string(text), nestedAnswer) != len(ways) {
					t.Errorf("the nested claudes answered %q", text)
				}
			})
		})
	}
}

// Nor does such a claude speak for the user where it goes on with the agent's own session.
func TestRealClientNestedInSession(t *testing.T) {
	const calls = `echo MILD >SUPERVISOR.md; for p in '/supervisor on' '/supervisor NESTED task' 'NESTED words'; do ` +
		`claude -p --resume "$(ls ../home/.claude/ccc | sed -n 's/^supervisor-\(.*\)-events.jsonl$/\1/p')" "$p" </dev/null; done >nested.txt 2>&1; cat nested.txt`
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.useNested(calls)
		box.write("../work/SUPERVISOR.md", 0o600, "STRICT")
		got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
		expectRun(t, box, got, "done", verdictBlock, verdictAllow)
		if requests := requestsOf(t, api.lastReview(t)); !slices.Equal(requests, []string{"the outer request"}) {
			t.Errorf("the requests are %q", requests)
		}
		for _, review := range api.requests("review") {
			if !strings.Contains(review.System, "STRICT") {
				t.Errorf("the reviewer was told %s", review.System)
			}
		}
		text, _ := os.ReadFile(filepath.Join(box.work, "nested.txt"))
		if strings.Count(string(text), nestedAnswer) != 1 {
			t.Errorf("the nested claudes answered %s", text)
		}
	})
}

// A terminal that an agent once opened is a terminal like any other: a tmux that its tool started, with all variables of
// its session, is the user's. A plain claude there is not supervised, both ways to switch work, and so does a launch.
func TestRealClientInheritedMark(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		inner := &terminal{box, filepath.Join(filepath.Dir(box.home), "inner")}
		box.use(newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			switch {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(r.last("user"), "open a terminal"):
				return replyTool("Bash", string(encodeJSON(map[string]string{"command": "tmux -S " + inner.socket + " -f /dev/null new-session -d -x 120 -y 40 sh", "description": "x"})))
			}
			return replyText("here is the answer")
		}))
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
			time.Sleep(time.Second)
		}
		begin("claude")
		inner.prompt("unsupervised words")
		inner.waitFor("here is the answer", 60*time.Second)
		inner.prompt("/supervisor on")
		inner.waitFor("监督已打开", 60*time.Second)
		reviewsAre(1)
		inner.prompt("supervised words")
		reviewsAre(2)
		for _, mode := range []string{"off", "on"} { // in a second window of that terminal
			result := filepath.Join(box.home, "switched-"+mode)
			inner.tmux("new-window", "-d", "ccc supervisor-mode "+mode+" >"+result+" 2>&1")
			inner.waitUntil("the switch", 30*time.Second, func(string) bool { return strings.HasSuffix(box.read("switched-"+mode), mode+"\n") })
		}
		inner.prompt("/supervisor off")
		inner.waitFor("监督已关闭", 60*time.Second)
		begin("ccc --supervisor")
		inner.prompt("launched words")
		reviewsAre(3)
		outer.prompt("and once more") // the session that opened it is what it was
		reviewsAre(4)
	})
}

// A plain claude goes on with a session that was launched supervised, and not with a fork of the reviewer's: the
// session is still supervised.
func TestRealClientContinued(t *testing.T) {
	for _, flag := range []string{"--continue", "--resume"} {
		t.Run(flag, func(t *testing.T) {
			forClients(t, func() script {
				return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "REVIEWED")}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "the first request")
				command := []string{"claude", flag}
				if flag == "--resume" {
					ids, _ := stateDir(filepath.Join(box.home, ".claude/ccc")).sessions()
					command = append(command, ids[0])
				}
				got := box.run(60*time.Second, "", append(command, "-p", "go on")...)
				agent := api.requests("agent")
				if text := agent[len(agent)-1].text(); !strings.Contains(text, "the first request") || strings.Contains(text, "REVIEWED") || strings.Contains(text, "审查") {
					t.Errorf("the agent's request is %s", text)
				}
				if n := box.reviewed(); n != 2 {
					t.Errorf("%d reviews, want 2: %+v", n, got)
				}
			})
		})
	}
}

// A claude that a script puts into a PID namespace of its own is supervised, and what its agent calls there is not.
func TestRealClientSandboxed(t *testing.T) {
	forNewest(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.useNested("claude -p 'NESTED words' </dev/null >nested.txt 2>&1; cat nested.txt")
		box.claudeIs("exec bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-pid --die-with-parent -- " + client.path + ` "$@"` + "\n")
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
		expectRun(t, box, got, "done", verdictBlock, verdictAllow)
		if text, _ := os.ReadFile(filepath.Join(box.work, "nested.txt")); strings.TrimSpace(string(text)) != nestedAnswer {
			t.Errorf("the nested claude answered %q", text)
		}
	})
}

// What a tool leaves behind when it ends speaks for nobody either.
func TestRealClientLeftBehind(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		const calls = `(nohup claude -p --continue 'NESTED words' </dev/null >nested.txt 2>&1 &); ` +
			`(setsid sh -c 'sleep 1; ccc supervisor-mode off' </dev/null >switched.txt 2>&1 &); for i in $(seq 100); do sleep 0.2; [ ! -s nested.txt ] || [ ! -s switched.txt ] || break; done`
		api := box.useNested(calls)
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
		expectRun(t, box, got, "done", verdictBlock, verdictAllow)
		for _, review := range api.requests("review") {
			if strings.Contains(review.last("user"), "] NESTED") {
				t.Errorf("the reviewer was told %s", review.last("user"))
			}
		}
		if strings.Contains(box.log(), " switched ") || !strings.Contains(box.read("../work/switched.txt"), "ccc: supervisor-mode: ") {
			t.Errorf("switching off said %q", box.read("../work/switched.txt"))
		}
		if text, _ := os.ReadFile(filepath.Join(box.work, "nested.txt")); !strings.Contains(string(text), nestedAnswer) {
			t.Errorf("the nested claude answered %q", text)
		}
	})
}

// Two sessions at once have each their own reviews, and a plain one beside them has none.
func TestRealClientTwoAtOnce(t *testing.T) {
	forNewest(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.use(newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			if r.Kind == "review" {
				return replyVerdict(!strings.Contains(r.last("user"), "第 1 轮"), "not yet")
			}
			return replyText("done")
		}))
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

// background has the command start a background session, and the service too if
// there is none. It returns the session's short id.
func (box *sandbox) background(command ...string) (id string) {
	box.t.Helper()
	got := box.run(30*time.Second, "", command...)
	_, line, found := strings.Cut(got.stdout, "claude attach ")
	if got.code != 0 || !found {
		box.t.Fatalf("%+v", got)
	}
	return strings.Fields(line)[0]
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
	ids, _ := stateDir(filepath.Join(box.home, ".claude/ccc")).sessions()
	for _, id := range ids {
		prompt, verdicts := "", ""
		for _, r := range box.timeline(id) {
			if prompt == "" {
				prompt = r.Prompt
			}
			if r.Verdict != "" {
				verdicts += " " + string(r.Verdict)
			}
		}
		sessions = append(sessions, prompt+":"+verdicts)
	}
	slices.Sort(sessions)
	return sessions
}

// expectSupervised waits until n stops were made in all, and then for the sessions
// that ccc knows to be these.
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
	time.Sleep(2 * time.Second) // for a review that should not be
	if got := box.supervised(); !slices.Equal(got, want) {
		box.t.Errorf("supervised %q, want %q", got, want)
	}
}

// A background session is supervised by /supervisor on in it, and in no other way: not by a flag, which is refused, nor by
// the variables that its service has from a supervised session that started it.
func TestRealClientBackground(t *testing.T) {
	const bypass = "--permission-mode=bypassPermissions"
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forNewest(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.use(newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			last := r.last("user")
			switch _, command, isRun := strings.Cut(last, "run: "); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case isRun && !strings.Contains(last, "HAS RUN"):
				return replyTool("Bash", fmt.Sprintf(`{"command":%s,"description":"run"}`, encodeJSON(strings.TrimSpace(command)+"; echo HAS RUN")))
			}
			return replyText("done")
		}))
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo stop >>$HOME/stops"}]}]}}`)
		box.launch() // the hooks are there
		box.endsService()
		got := box.run(60*time.Second, "", "ccc", "--supervisor", bypass, "-p", "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent'")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		first := "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent': allow"
		id := box.background("claude", bypass, "--bg", "plain")
		box.expectSupervised(4, first)
		tty := box.open("claude", "attach", id)
		tty.prompt("/supervisor on")
		tty.waitFor("监督已打开", 60*time.Second)
		tty.prompt("and more")
		box.expectSupervised(5, "and more: allow", first)
	})
}
