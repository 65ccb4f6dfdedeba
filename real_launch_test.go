package main

// Whose session it is, on the real Claude Code: what a launch reaches, and what an agent's tools start.
//
// Whether hooks run is tried on the real Claude Code, and a session says what it is before its first prompt.
//
// ccc on the real Claude Code, where it is about keys and who is billed: what
// arrives at which API, and what Claude Code takes for a setting.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// What the tools of a launched session have left behind starts claude after the session's end: nobody supervises it, and ccc
// verdict is as it was. In a PID namespace that a prefix of the user's makes, hooks review, and a claude that a tool starts in
// another one does not take the session's place.
func TestRealClientLeftBehind(t *testing.T) {
	const namespace = "unshare -Urpf --mount-proc"
	const command = namespace + ` claude -p 'NESTED words' </dev/null >nested.txt 2>&1; ` +
		`setsid sh -c 'while kill -0 '$CLAUDE_PID'; do sleep 0.1; done; claude -p "NESTED words" </dev/null >left.txt' >/dev/null 2>&1 &`
	for _, prefix := range []string{"", "#!/bin/sh\nexec " + namespace + " /bin/sh -c \"$*\"\n"} {
		t.Run(fmt.Sprint("prefix_", prefix != ""), func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				box.answering(func(r apiRequest) apiReply {
					switch last := r.last("user"); {
					case r.Kind == "review":
						return apiReply{takes: 2 * time.Second, tool: "StructuredOutput", input: `{"allow_stop":true,"feedback":""}`}
					case strings.Contains(last, "NESTED words"):
						return replyText("answer of the nested one")
					case strings.Contains(last, "the outer request"):
						return bash(command)
					}
					return replyText("done")
				})
				box.repository()
				if prefix != "" {
					box.write("prefix", 0o700, prefix)
					box.vars = append(box.vars, "CLAUDE_CODE_SHELL_PREFIX="+filepath.Join(box.home, "prefix"))
				}
				got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "the outer request")
				expectRun(t, box, got, "done", verdictAllow)
				expectIn(t, "the nested one", box.read("../work/nested.txt"), "answer of the nested one")
				if prefix == "" { // else it ends with its namespace
					await(t, func() string { return box.read("../work/left.txt") }, "answer of the nested one")
					box.quiet(20 * time.Second)
				}
				expectEqual(t, "the sessions that ccc knows", box.supervised(), []string{"the outer request: allow"})
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

// movesToBackground presses the left arrow at the empty prompt, and goes back to the session, whose screen has that text, and
// which runs below the service then.
func (tty *terminal) movesToBackground(text string) {
	tty.box.t.Helper()
	tty.shows(20*time.Second, func(screen string) bool { return strings.Contains(screen, text) }) // not always (2.1.332)
	tty.keys("Left")
	tty.waitFor("moved to the background", 60*time.Second)
	// An idle session may have stopped there already (2.1.280): Esc starts it again.
	tty.shows(15*time.Second, func(string) bool {
		return strings.Contains(tty.box.run(30*time.Second, "", "claude", "agents", "--json").stdout, "pid")
	})
	tty.keys("Escape")
	tty.waitUntil("the session", 60*time.Second, func(screen string) bool {
		return strings.Contains(screen, "bypass permissions on") && !strings.Contains(screen, "moved to the background")
	})
}

// usersHook is an entry of settings that notes each start of a session in the home.
const usersHook = `{"hooks":[{"type":"command","command":"echo start >>\"$HOME/starts\""}]}`

// approvedSession is done at once, and approved.
func approvedSession() script {
	return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "")}}
}

// "Supervisor mode enabled" is never said where hooks do not run, or no conversation is kept: each way that
// is known to bring that is refused, with its cause or with what claude said, and no model is asked.
func TestRealClientTrialRefused(t *testing.T) {
	const effect, muted = "claude was tried and ran no hooks", `{"disableAllHooks":true}`
	const said, mutes = effect + ", so nothing would be reviewed; it said: ", effect + ", so nothing would be reviewed. This mutes them:\n     "
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		reviewed, dropped := 0, said+"nothing\n"
		if !olderThan(client.version, "2.1.330") { // which says on stderr what it has dropped
			dropped = said + "These settings did not load, "
		}
		for _, test := range []struct {
			name, args, variable, settings, project string
			code                                    int
			stderr                                  string // "" for a session that is reviewed
		}{
			{"a session", "", "", "", "", 0, ""},
			{"muted for managed hooks", "", "", `{"allowManagedHooksOnly":true}`, "", 0, ""},
			{"for a reviewer", "", reviewerVariable + "=1", "", "", 0, ""},
			{"set to nothing", "", "CLAUDE_CONFIG_DIR=", "", "", 0, ""},
			{"no transcripts", "", "", `{"cleanupPeriodDays":0}`, "", 1, dropped},
			{"another type", "", "", `{"model":1}`, "", 1, dropped},
			{"muted by the user", "", "", muted, "", 1, mutes + box.home + "/.claude/settings.json: disableAllHooks\n     take that out:\n"},
			{"muted by the project", "", "", "", muted, 2,
				"work/.claude/settings.json: disableAllHooks: claude would run no hooks"},
			{"muted by the project, whatever --settings say", `--settings {"disableAllHooks":false}`, "", "", muted, 2,
				"work/.claude/settings.json: disableAllHooks: claude would run no hooks"},
			{"muted by --settings", `--settings {"disableAllHooks":true}`, "", "", "", 1, mutes + "--settings: disableAllHooks\n"},
			{"bare", "--bare", "", "", "", 1, mutes + "--bare\n"}, {"safe mode", "--safe-mode", "", "", "", 1, mutes + "--safe-mode\n"},
			{"restricted", "--restricted", "", "", "", 1, mutes + "--restricted\n"},
			{"a form of the answer", `--json-schema {"type":"object"}`, "", "", "", 2, "-p and --json-schema: claude would end the turn"},
			{"a token that hooks do not get", "", "ANTHROPIC_API_KEY=|CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy", "", "", 2,
				"CLAUDE_CODE_OAUTH_TOKEN as the only login"},
			{"scrubbed", "", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1", "", "", 2,
				"ANTHROPIC_API_KEY and CLAUDE_CODE_SUBPROCESS_ENV_SCRUB: claude would keep it from the reviewer"},
			{"scrubbed, a key of settings", "", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1",
				`{"env":{"ANTHROPIC_API_KEY":"` + sandboxKey + `"}}`, "", 0, ""},
			{"simple", "", "CLAUDE_CODE_SIMPLE=1", "", "", 1, mutes + "CLAUDE_CODE_SIMPLE\n"},
			{"simple, of the project", "", "", "", `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, 0, ""},
			{"another PATH for hooks", "", "", `{"env":{"PATH":"/usr/bin:/bin"}}`, "", 0, ""},
			{"no settings", "--settings=", "", "", "", 0, ""},
			{"simple, of settings", "", "", `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, "", 1, mutes + box.home + "/.claude/settings.json: env.CLAUDE_CODE_SIMPLE\n"},
			{"settings that are not there", "--settings nowhere.json", "", "", "", 1,
				said + "Error: Settings file not found: " + box.work + "/nowhere.json"},
			{"sources", "--setting-sources project", "", "", "", 2, "without user"},
			{"no persistence", "--no-session-persistence", "", "", "", 2,
				"claude would keep no conversation"},
			{"no history", "", "CLAUDE_CODE_SKIP_PROMPT_HISTORY=1", "", "", 2,
				"claude would keep no conversation"},
		} {
			box.setSettings("{}")
			if test.settings != "" {
				box.setSettings(test.settings)
			}
			check(t, os.RemoveAll(filepath.Join(box.work, ".claude")))
			if test.project != "" {
				box.write("../work/.claude/settings.json", 0o600, test.project)
			}
			vars, before := box.vars, box.settings()
			box.vars = append(box.vars[:len(vars):len(vars)], strings.Split(test.variable, "|")...)
			got := box.run(90*time.Second, "", append([]string{"ccc", "--supervisor", "-p", "hi"},
				strings.Fields(test.args)...)...)
			box.vars = vars
			if test.stderr == "" {
				reviewed++
				if got.code != 0 || got.stdout != "done\n" {
					t.Errorf("%s: %+v", test.name, got)
				}
				continue
			}
			if got.code != test.code || got.stdout != "" ||
				!strings.Contains(got.stderr, test.stderr) || strings.Contains(got.stderr, "enabled") {
				t.Errorf("%s: %+v, want %d and %q", test.name, got, test.code, test.stderr)
			}
			expectIs(t, test.name+": settings.json", box.settings(), before)
		}
		for _, kind := range []string{"agent", "review"} {
			expectIs(t, "the requests of "+kind, len(api.requests(kind)), reviewed)
		}

		// Another tool's entry that the client does not take drops itself alone.
		box.setSettings(`{"hooks":{"PostToolUse":[{"matcher":null,` +
			`"hooks":[{"type":"command","command":"true"}]}]}}`)
		got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hi")
		expectIs(t, fmt.Sprintf("the reviews after %+v", got), len(api.requests("review")), reviewed+1)
	})
}

// A SessionStart or SessionEnd hook of the user's that puts an older settings.json back is seen behind the trial.
func TestRealClientTrialRan(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		for _, event := range []string{"SessionStart", "SessionEnd"} {
			old := `{"hooks":{"` + event + `":[{"hooks":[{"type":"command","command":"cat \"$HOME/old\" >\"$HOME/.claude/settings.json\""}]}]}}`
			box.write("old", 0o600, old)
			box.setSettings(old)
			got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			expectEnd(t, event, got, 1, "", "went out of "+box.home+"/.claude/settings.json, so nothing would be reviewed")
			expectNotIn(t, event, got.stderr, "enabled")
		}
		expectIs(t, "the requests of the API", len(api.requests("")), 0)
	})
}

// Hooks that only the administrator's file turns off are refused with that file. It stands where the client
// looks for it, in a copy of /etc that the command alone has.
func TestRealClientTrialManaged(t *testing.T) {
	const managed, mounted = "claude-code/managed-settings.json", `mount --bind "$0" /etc && exec "$@"`
	flags := "-m"
	if os.Getuid() != 0 {
		flags = "-Urm"
	}
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.run(60*time.Second, "", "cp", "-a", "/etc", box.home) // what this user may read
		box.vars = append(box.vars, testManagedVariable+"=/etc/"+managed)
		box.run(90*time.Second, "", "claude", "-p", "hi") // moves a setting of .claude.json's into settings.json
		for _, text := range []string{`{"allowManagedHooksOnly":true}`, `{"disableAllHooks":true}`} {
			for i, stdout := range []string{"done\n", ""} {
				check(t, os.RemoveAll(box.home+"/etc/"+managed))
				if i > 0 {
					box.write("etc/"+managed, 0o644, text)
				}
				got := box.run(90*time.Second, "", "unshare", flags, "sh", "-c", mounted, box.home+"/etc",
					"ccc", "--supervisor", "-p", "hi")
				if got.stdout != stdout || strings.Contains(got.stderr, "claude was tried and ran no hooks") != (i == 1) {
					t.Errorf("%s, %d: %+v", text, i, got)
				}
			}
		}
		expectIs(t, "the reviews", len(api.requests("review")), 2)
	})
}

// Where a version manager's shim has no claude for the trial, the session starts with a warning, and is
// reviewed.
func TestRealClientTrialShim(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.claudeIs(shim(client.path, "echo 'No version is set for command claude'; exit 126"))
		box.write("../work/.tool-versions", 0o600, "claude "+client.version+"\n")
		got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hi")
		expectRun(t, box, got, "done", verdictAllow)
		expectIn(t, "stderr", got.stderr, "could not be tried: in ", "No version is set for command claude")
	})
}

// A wrapper around claude that is edited so that no hooks run is tried again; one that reads such a flag elsewhere
// costs one session.
func TestRealClientTrialWrapper(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		start := func(flags, flagsOfFile string, isEnabled bool, reviews int) {
			t.Helper()
			box.claudeIs("exec " + client.path + " " + flags + ` $(cat "$HOME/flags") "$@"`)
			check(t, os.Chtimes(filepath.Join(box.home, "../bin/claude"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
			box.write("flags", 0o600, flagsOfFile)
			got := box.run(90*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			expectIs(t, fmt.Sprintf("enabled: %+v", got), got.code == 0 && strings.Contains(got.stderr, "enabled"), isEnabled)
			expectIs(t, "the reviews", len(api.requests("review")), reviews)
		}
		box.run(90*time.Second, "", "claude", "-p", "hi") // moves a setting of .claude.json's into settings.json
		start("", "", true, 1)
		start("--safe-mode", "", false, 1)
		start("", "", true, 2)
		start("", "", true, 3)
		start("", "--safe-mode", true, 3)
		start("", "--safe-mode", false, 3)
	})
}

// A launch asks the API for nothing more than a session does, and lets the user's own hooks run once more
// only where something has changed; ccc doctor tries always. A file of --settings is found by a relative path.
// Nothing of a trial is left where the client keeps sessions.
func TestRealClientTrial(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.setSettings(`{"hooks":{"SessionStart":[` + usersHook + `]}}`)
		box.write("../work/own.json", 0o600, `{"env":{"MARK":"1"}}`)
		box.vars = append(box.vars, testTrustVariable+"=none")
		starts := 0
		expectStarts := func(what string, more int) {
			t.Helper()
			now := strings.Count(box.read("starts"), "start")
			expectIs(t, what+": the user's own hook", now-starts, more)
			starts = now
		}
		launch := func(what string, more int, args ...string) {
			t.Helper()
			before := len(api.requests(""))
			command := append([]string{"ccc", "--supervisor", "-p", "hi"}, args...)
			got := box.run(90*time.Second, "", command...)
			if got.code != 0 || got.stdout != "done\n" || strings.Contains(got.stderr, "warning") {
				t.Errorf("%s: %+v", what, got)
			}
			expectStarts(what, more)
			asked := api.requests("")[before:]
			asked = slices.DeleteFunc(asked, func(r apiRequest) bool { return r.Kind == "side" })
			expectIs(t, what+": the requests", len(asked), 2) // the agent's, and its review's
		}
		launch("the first launch", 2)
		launch("the second", 2) // the client has moved a setting of .claude.json's into settings.json
		launch("the third", 1)
		launch("with --settings", 2, "--settings", "own.json")
		launch("again", 1, "--settings", "own.json")
		for range 2 {
			expectIn(t, "doctor", box.run(90*time.Second, "", "ccc", "doctor").stdout,
				"ok       hooks tried: claude runs them\n")
			expectStarts("doctor", 1)
		}
		known, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
		expectIs(t, "the sessions", len(known), 5)
		entries, err := os.ReadDir(filepath.Join(box.home, ".claude/ccc/trial"))
		check(t, err)
		expectIs(t, "what is in the directory of trials", len(entries), 0)
	})
}

// Behind a proxy that never answers, a trial waits for nothing, also where the user has logged in.
func TestRealClientTrialOffline(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		proxy := serveHTTP(t, nil)
		expires := time.Now().Add(24 * time.Hour).UnixMilli()
		box.write(".claude/.credentials.json", 0o600, fmt.Sprintf(`{"claudeAiOauth":{"accessToken":`+
			`"sk-ant-oat01-dummy","refreshToken":"sk-ant-ort01-dummy","expiresAt":%d,`+
			`"scopes":["user:inference","user:profile"],"subscriptionType":"pro"}}`, expires))
		box.vars = append(box.vars, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "IS_SANDBOX=1")
		box.installHooks()
		box.setSettings(strings.ReplaceAll(box.settings(), "/bin/ccc ", box.program()+" "))
		box.vars = append(box.vars, testTrustVariable+"=none")
		start := time.Now()
		check(t, box.command("claude", "--version").Run())
		version := time.Since(start)
		got := box.run(90*time.Second, "", "ccc", "doctor")
		expectIn(t, "doctor", got.stdout, "ok       hooks tried: claude runs them\n")
		t.Logf("claude --version took %v, ccc doctor %v", version, got.took)
		if got.took > 40*time.Second {
			t.Errorf("it took %v", got.took)
		}
	})
}

// In a directory that nobody has trusted yet, no hook of the project has run when the client asks for trust.
func TestRealClientTrialUntrusted(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		var account map[string]any
		check(t, json.Unmarshal([]byte(box.read(".claude.json")), &account))
		delete(account, "projects")
		box.write(".claude.json", 0o600, string(encodeJSON(account)))
		box.write("../work/.claude/settings.json", 0o600,
			`{"hooks":{"SessionStart":[`+usersHook+`],"Setup":[`+usersHook+`]}}`)
		tty := box.terminal("ccc", "--supervisor")
		tty.waitUntil("a question for trust", 90*time.Second,
			func(screen string) bool { return strings.Contains(unspaced(screen), "trust") })
		expectIs(t, "what has run", box.read("starts"), "")
		trusts := func(screen string) bool {
			return strings.Contains(unspaced(screen), "❯Yes,I") ||
				strings.Contains(unspaced(screen), "❯1.Yes,I")
		}
		for range 10 { // 2.1.332 marks the other answer
			if tty.shows(time.Second, trusts) {
				break
			}
			tty.keys("Down")
		}
		tty.choose("trust this folder")
		tty.waitUntil("the project's hook", 60*time.Second,
			func(string) bool { return box.read("starts") != "" })
		tty.waitFor("本会话受监督", 60*time.Second)
	})
}

// Before the first prompt and after /clear the session says that it is supervised, and the model gets nothing
// of it; a session that is not says nothing.
func TestRealClientIntroduced(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answersAndApprovals()
		box.write(".claude/ccc.json", 0o600,
			`{"supervisor":{"max_iterations":5},"providers":{"kimi":{"env":{`+
				`"ANTHROPIC_BASE_URL":"`+box.api.URL+`","ANTHROPIC_AUTH_TOKEN":"t-0123456789"}}}}`)
		tty := box.start("kimi")
		const text = "SessionStart:%s says: [SUPERVISOR] 本会话受监督 每项要求最多审查 5 次（提供商 kimi）"
		tty.waitFor(fmt.Sprintf(text, "startup"), 60*time.Second)
		tty.waitFor("实时查看：ccc log -f", 10*time.Second)
		expectIs(t, "the requests before the first prompt", len(api.requests("agent")), 0)
		for line := range strings.Lines(tty.screen()) { // each sentence is a line
			if strings.Contains(line, "本会话受监督") && strings.Contains(line, "实时查看") {
				t.Errorf("one line: %s", line)
			}
		}
		tty.submits("hello", "answer 1", 1)
		tty.clears("answer 1")
		tty.waitFor(fmt.Sprintf(text, "clear"), 60*time.Second)
		tty.submits("more", "answer 2", 2)
		for _, r := range api.requests("") {
			expectNotIn(t, "a request", r.text(), "本会话受监督")
		}
		tty.submits("/supervisor off", "监督已关闭：Agent", 2)
		ids, _ := box.stateDir().sessions()
		expectIs(t, "the sessions", len(ids), 2)
		shown := box.run(60*time.Second, "", "claude", "-p", "plain", "--output-format", "stream-json",
			"--verbose")
		expectNotIn(t, "a plain session", shown.stdout, "SUPERVISOR")
	})
}

// ownKey is what must not leave for a provider.
const ownKey = "KEY-OF-THE-USER"

// sent tells whether the user's key is in a header of one of the requests.
func sent(requests []apiRequest) bool {
	return slices.ContainsFunc(requests, func(r apiRequest) bool { return strings.Contains(fmt.Sprint(r.Header), ownKey) })
}

// With a provider chosen nothing of the user's own goes to it: ccc refuses to
// start where it would, for the session and for the reviewer. claude by itself,
// with the provider's variables, sends it.
func TestRealClientOwnKey(t *testing.T) {
	beside(t)
	const settings, account = ".claude/settings.json", ".claude.json"
	for _, test := range []struct{ name, file, text, key string }{
		{"helper", settings, `{"apiKeyHelper":"echo ` + ownKey + `"}`, "apiKeyHelper"},
		{"project_helper", "../work/" + settings, `{"apiKeyHelper":"echo ` + ownKey + `"}`, "apiKeyHelper"},
		{"headers", settings, `{"env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Mine: ` + ownKey + `"}}`, "env.ANTHROPIC_CUSTOM_HEADERS"},
		{"account_headers", account, `{"env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Mine: ` + ownKey + `"}}`, "env.ANTHROPIC_CUSTOM_HEADERS"},
		{"token", settings, `{"env":{"ANTHROPIC_AUTH_TOKEN":"` + ownKey + `"}}`, "env.ANTHROPIC_AUTH_TOKEN"},
		{"local_token", "../work/.claude/settings.local.json", `{"env":{"ANTHROPIC_AUTH_TOKEN":"` + ownKey + `"}}`, "env.ANTHROPIC_AUTH_TOKEN"},
		{"console", account, `{"hasCompletedOnboarding":true,"primaryApiKey":"` + ownKey + `","projects":{%q:{"hasTrustDialogAccepted":true}}}`, "primaryApiKey"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				a, b := box.twoAPIs(t, `"provider":"b"`, script{})
				text := test.text
				if test.name == "console" {
					text = fmt.Sprintf(text, box.work)
				}
				box.write(test.file, 0o600, text)
				path := filepath.Join(box.home, test.file)
				for _, args := range [][]string{{"a", "-p", "x"}, {"--supervisor", "-p", "x"}} {
					got := box.run(60*time.Second, "", append([]string{"ccc"}, args...)...)
					if got.code != 1 || !strings.Contains(got.stderr, path+": "+test.key) || strings.Contains(got.stderr, ownKey) {
						t.Errorf("%q: got %+v, want a refusal that names %s and %s", args, got, path, test.key)
					}
				}
				if n := len(a.requests("")) + len(b.requests("")) + len(api.requests("")); n != 0 {
					t.Errorf("%d requests after a refusal", n)
				}
				box.vars = append(box.vars, "ANTHROPIC_BASE_URL="+a.URL, "ANTHROPIC_AUTH_TOKEN=token-of-a", "ANTHROPIC_API_KEY=")
				for range 5 { // beside other load the client may ask before the project's helper has answered
					if !sent(a.requests("agent")) {
						box.run(60*time.Second, "", "claude", "-p", "x")
					}
				}
				if requests := a.requests("agent"); !sent(requests) {
					t.Errorf("claude by itself kept the key (%d requests): then the check is not needed", len(requests))
				}
			})
		})
	}
}

// Nor does a login go to a provider that names no token of its own: ccc refuses to start. claude by itself, with the same URL,
// sends it.
func TestRealClientOwnLogin(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		a := newScriptedAPI(t, script{})
		box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":%q}}}}`, a.URL))
		box.vars = append(box.vars, "CLAUDE_CODE_OAUTH_TOKEN="+ownKey)
		got := box.run(60*time.Second, "", "ccc", "a", "-p", "x")
		expectEnd(t, "ccc", got, 1, "", "provider a has no ANTHROPIC_AUTH_TOKEN")
		expectIs(t, "the requests of a refused launch", len(a.requests(""))+len(api.requests("")), 0)
		box.vars = append(box.vars, "ANTHROPIC_BASE_URL="+a.URL, "ANTHROPIC_API_KEY=")
		box.run(60*time.Second, "", "claude", "-p", "x")
		if !sent(a.requests("")) {
			t.Error("claude by itself kept the login: then the token is not needed")
		}
	})
}

// Nor does a login go to a provider from an interactive session: where the provider's own key or header would not keep it
// away, ccc refuses to start. claude by itself, with the same variables, sends it.
func TestRealClientLoginKept(t *testing.T) {
	beside(t)
	key, headers := `"ANTHROPIC_API_KEY":"`+sandboxKey+`"`, `"ANTHROPIC_CUSTOM_HEADERS":`
	for _, test := range []struct {
		name, env string
		isRefused bool
	}{
		{"token", `"ANTHROPIC_AUTH_TOKEN":"t"`, false},
		{"header_of_a_token", headers + `"Authorization: Bearer t"`, false},
		{"header_beside_a_key", headers + `"x-api-key: k\nAuthorization: Bearer t"`, false},
		{"header_and_key", key + "," + headers + `"Authorization: Bearer t"`, false},
		{"nothing", `"ANTHROPIC_MODEL":"m"`, true},
		{"key", key, true},
		{"header_of_a_key", headers + `"x-api-key: k"`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.login()
				box.edit(".claude.json", `"approved"`, `"rejected"`) // or the client asks whether to use the key
				box.edit(".claude.json", `"rejected":[]`, `"approved":[]`)
				provider := fmt.Sprintf(`{"ANTHROPIC_BASE_URL":%q,%s}`, api.URL, test.env)
				box.write(".claude/ccc.json", 0o600, `{"providers":{"a":{"env":`+provider+`}}}`)
				if !test.isRefused {
					box.open("ccc", "a").prompt("hello")
				} else {
					got := box.run(60*time.Second, "", "ccc", "a")
					expectEnd(t, "ccc", got, 1, "", "provider a has no ANTHROPIC_AUTH_TOKEN")
					expectIs(t, "the requests of a refused launch", len(api.requests("")), 0)
					var values map[string]string
					check(t, json.Unmarshal([]byte(provider), &values))
					box.vars = append(box.vars, "ANTHROPIC_API_KEY="+values[keyVariable], headersVariable+"="+values[headersVariable])
					box.open("claude").prompt("hello")
				}
				api.await(t, "agent", 1, 60*time.Second)
				expectIs(t, "the login is sent", sent(api.requests("")), test.isRefused)
			})
		})
	}
}

// login makes the user one who is logged in with a subscription, by ownKey.
func (box *sandbox) login() {
	box.write(".claude/.credentials.json", 0o600, `{"claudeAiOauth":{"accessToken":"`+ownKey+`","refreshToken":"x","expiresAt":4102444800000,
		"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`)
}

// Reviews are paid as their session is: a key that the user keeps from
// interactive sessions does not pay for their reviews.
func TestRealClientRefusedKey(t *testing.T) {
	beside(t)
	for _, refused := range []bool{true, false} {
		t.Run(fmt.Sprintf("refused_%v", refused), func(t *testing.T) {
			forClients(t, func() script { return script{reviewer: []apiReply{replyVerdict(true, "")}} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.login()
				if refused {
					box.edit(".claude.json", `"approved"`, `"rejected"`)
					box.edit(".claude.json", `"rejected":[]`, `"approved":[]`)
				}
				box.start().prompt("hello")
				api.await(t, "review", 1, 120*time.Second)
				for _, r := range slices.Concat(api.requests("agent"), api.requests("review")) {
					if sent([]apiRequest{r}) != refused || (r.header("X-Api-Key") == "") != refused {
						t.Errorf("a %s request came with the login: %v, with the key: %v", r.Kind, sent([]apiRequest{r}), r.header("X-Api-Key") != "")
					}
				}
			})
		})
	}
}

// The line that a subscription is billed by stays for a login, goes where a key pays for the session, and is the user's to keep;
// where it stands reviews have a prompt of their own.
func TestRealClientAttribution(t *testing.T) {
	beside(t)
	for name, stays := range map[string]bool{"login": true, "key": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			forClients(t, func() script {
				return script{marker: say(verdictForm), agent: []apiReply{replyText("the answer").after(cacheLeast)}, reviewer: []apiReply{replyText(`{"allow_stop": true, "feedback": ""}`)}}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				way := "own"
				switch name {
				case "login":
					box.login()
					box.vars = append(box.vars, "ANTHROPIC_API_KEY=")
				case "kept":
					box.vars = append(box.vars, "CLAUDE_CODE_ATTRIBUTION_HEADER=1")
				default:
					way = "cache"
				}
				box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "x")
				requests := api.requests("agent")
				if len(requests) == 0 || sent(requests) != (name == "login") {
					t.Fatalf("%d requests; with the login: %v", len(requests), sent(requests))
				}
				if line := strings.Contains(requests[0].System, "x-anthropic-billing-header"); line != stays {
					t.Errorf("the line is there: %v\n%.300s", line, requests[0].System)
				}
				if last := lastReview(t, box.onlyTimeline()); last.Verdict != verdictAllow || last.Way != way {
					t.Errorf("%+v", last)
				}
			})
		})
	}
}

// A settings file behind a byte order mark counts for Claude Code and for ccc, which keeps it (TestUninstall); the
// client writes the file anew at its first start, without the mark (2.1.280, 2.1.332).
func TestRealClientByteOrderMark(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.setSettings("\ufeff{\n  \"env\": {\"MINE\": \"1\"}\n}\n")
		box.write(".claude/ccc.json", 0o600, "\ufeff{}")
		box.launch()
		expectIn(t, "settings.json", box.settings(), `"MINE": "1"`, "supervisor-hook")
		expectRun(t, box, box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "x"), "the answer", verdictAllow)
	})
}

// twoAPIs writes a ccc.json with the providers a and b, each an API of its own
// with its own token and model.
func (box *sandbox) twoAPIs(t *testing.T, supervisor string, s script) (a, b *scriptedAPI) {
	a, b = newScriptedAPI(t, s), newScriptedAPI(t, s)
	box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{%s},"providers":{
		"a":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"token-of-a","ANTHROPIC_MODEL":"model-of-a"}},
		"b":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"token-of-b","ANTHROPIC_MODEL":"model-of-b"}}}}`, supervisor, a.URL, b.URL))
	return a, b
}

func expectRequests(t *testing.T, requests []apiRequest, token, model string) {
	t.Helper()
	if len(requests) == 0 {
		t.Errorf("no request with %s", token)
	}
	for _, r := range requests {
		if r.header("Authorization") != "Bearer "+token || r.header("X-Api-Key") != "" || r.Model != model {
			t.Errorf("a request came with %q, %q and model %q, want %s and %s", r.header("Authorization"), r.header("X-Api-Key"), r.Model, token, model)
		}
	}
}

func TestRealClientTwoProviders(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		a, b := box.twoAPIs(t, "", script{agent: []apiReply{replyText("the answer")}})
		box.setSettings("{ }")
		// Newer versions write to settings.json themselves at their first start.
		box.run(60*time.Second, "", "claude", "-p", "x")
		before, asked := box.read(".claude/settings.json"), len(api.requests(""))
		box.vars = append(box.vars, "ANTHROPIC_AUTH_TOKEN=stale", "ANTHROPIC_MODEL=stale", "ANTHROPIC_DEFAULT_HAIKU_MODEL=stale")
		done := make(chan commandResult, 2)
		for _, name := range []string{"a", "b"} {
			go func() { done <- box.run(60*time.Second, "", "ccc", name, "-p", "x") }()
		}
		for range 2 {
			if got := <-done; got.code != 0 || strings.TrimSpace(got.stdout) != "the answer" {
				t.Errorf("got %+v", got)
			}
		}
		expectRequests(t, a.requests("agent"), "token-of-a", "model-of-a")
		expectRequests(t, b.requests("agent"), "token-of-b", "model-of-b")
		if n := len(api.requests("")); n != asked {
			t.Errorf("%d requests reached the API of the shell's environment", n-asked)
		}
		expectIs(t, "settings.json", box.read(".claude/settings.json"), before)
	})
}

func TestRealClientReviewersProvider(t *testing.T) {
	beside(t)
	answers := script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	const own = `"provider":"b","model":"model-of-the-reviewer"`
	for name, supervisor := range map[string]string{"own": own, "of_a_dropped_variable": own, "sessions": ""} {
		t.Run(name, func(t *testing.T) {
			forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				a, b := box.twoAPIs(t, supervisor, answers)
				if name == "of_a_dropped_variable" { // the session has a provider
					box.edit(".claude/ccc.json", `"token-of-b"`, `"${ANTHROPIC_API_KEY}"`)
				}
				got := box.run(60*time.Second, "", "ccc", "a", "--supervisor", "-p", "x")
				if name == "of_a_dropped_variable" {
					expectEnd(t, "the launch", got, 1, "", "${ANTHROPIC_API_KEY}, which a session of provider a does not have")
					expectIs(t, "the requests", len(a.requests(""))+len(b.requests(""))+len(api.requests("")), 0)
					return
				}
				expectRun(t, box, got, "the answer", verdictAllow)
				expectRequests(t, a.requests("agent"), "token-of-a", "model-of-a")
				if name == "sessions" {
					expectRequests(t, a.requests("review"), "token-of-a", "model-of-a")
				} else {
					expectRequests(t, b.requests("review"), "token-of-b", "model-of-the-reviewer")
				}
				if n := len(api.requests("")) + len(a.requests("review")) + len(b.requests("review")) + len(b.requests("agent")); n == 0 || len(api.requests("")) > 0 || len(b.requests("agent")) > 0 {
					t.Errorf("requests went elsewhere")
				}
			})
		})
	}
}

// Of two settings files that call ccc in other words, each runs: the stop is reviewed twice, and the launch says so. What has
// the same words Claude Code runs once.
func TestRealClientTwoEntries(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		for i, prefix := range []string{"", "env X=1 "} {
			command, asked := prefix+box.program()+" supervisor-hook", len(api.requests("review"))
			box.write("../work/.claude/settings.json", 0o600,
				fmt.Sprintf(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":%q}]}]}}`, command))
			got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			expectIs(t, command+": the exit code", got.code, 0)
			expectIs(t, command+": reviews", len(api.requests("review"))-asked, i+1)
			expectIs(t, command+": warnings", strings.Count(got.stderr, "/settings.json alone calls ccc"), i)
		}
	})
}

// A rule to ask for each command, or to deny it, refuses what would run in a copy: the request offers none and names the rule.
func TestRealClientBashRule(t *testing.T) {
	for _, rule := range []string{"ask: Bash", "ask: Bash(*)", "deny: Bash", "deny: Bash(*)"} {
		forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
			kind, tool, _ := strings.Cut(rule, ": ")
			box.setSettings(fmt.Sprintf(`{"permissions":{%q:[%q]}}`, kind, tool))
			run := fmt.Sprintf(`{"command":%q,"description":"x"}`, box.program()+" try true")
			api := newScriptedAPI(t, script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyTool("Bash", run), replyVerdict(true, "")}})
			box.use(api)
			expectIs(t, "the exit code", box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi").code, 0)
			keeps := say(keptFromRunning, rule, box.home+"/.claude/settings.json")
			expectIn(t, "the request", api.lastReview(t), keeps)
			expectNotIn(t, "the request", api.lastReview(t), " try '")
			review := lastReview(t, box.onlyTimeline())
			expectIn(t, "the receipt", review.receipt(), keeps)
			expectIs(t, "runs", strings.Count(box.ccc("log"), say(leadRan)), 0)
		})
	}
}

// A review by hand asks the provider of --provider, where another is on record, too. Where none is, and the session has run with a model
// that is none of Anthropic's, it asks nobody and says what to name; so does one for want of a login.
func TestRealClientByHandProvider(t *testing.T) {
	answers := script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		a, b := box.twoAPIs(t, "", answers)
		expectIs(t, "a session that ccc does not record", box.run(60*time.Second, "", "ccc", "a", "-p", "x").stdout, "the answer\n") // on stderr the client doubts the model
		asked := len(api.requests("")) + len(a.requests(""))
		box.vars = append(box.vars, "ANTHROPIC_BASE_URL=", "ANTHROPIC_API_KEY=", "LANG=en_US.UTF-8")
		expectEnd(t, "with nothing on record", box.run(60*time.Second, "", "ccc", "review"), 4, "", "ccc review --provider NAME")
		expectIs(t, "requests", len(api.requests(""))+len(a.requests(""))+len(b.requests("")), asked)
		expectIs(t, "with --provider", box.run(60*time.Second, "", "ccc", "review", "--provider", "b").code, 0)
		expectRequests(t, b.requests("review"), "token-of-b", "model-of-b")
		expectEnd(t, "a session of a", box.run(60*time.Second, "", "ccc", "a", "--supervisor", "-p", "x"), 0, "the answer\n", "Supervisor mode enabled")
		asked = len(b.requests("review"))
		expectIs(t, "beside another on record", box.run(60*time.Second, "", "ccc", "review", "--provider", "b").code, 0)
		expectRequests(t, b.requests("review")[asked:], "token-of-b", "model-of-b")
		got := box.run(60*time.Second, "", "ccc", "review", "--provider", noProvider)
		expectIs(t, "without a login", got.code, 4)
		expectIn(t, "without a login", got.stdout+got.stderr, "Not logged in", otherProvider.en)
		refusing := newScriptedAPI(t, script{reviewer: []apiReply{replyError(401, "authentication_error", "no such token")}})
		box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"providers":{"c":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"token-of-c"}}}}`, refusing.URL))
		got = box.run(60*time.Second, "", "ccc", "review", "--provider", "c")
		expectEnd(t, "a key that is refused", got, 4, got.stdout, fmt.Sprintf(providersLogin.en, "c"))
		expectIn(t, "a key that is refused", got.stdout, "401")
	})
}

// A review by hand in a terminal that a session of another provider has left: the reviewer asks the reviewed session's
// API, with its key and model, and nothing of the other's goes there.
func TestRealClientLeftTerminal(t *testing.T) {
	forClients(t, approvedSession, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		own := map[string]string{"ANTHROPIC_BASE_URL": api.URL, "ANTHROPIC_API_KEY": sandboxKey}
		box.setSettings(string(encodeJSON(map[string]any{"env": own})))
		expectRun(t, box, box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "x"), "done", verdictAllow)
		box.vars = append(box.vars, "CCC_PROVIDER=a", "ANTHROPIC_AUTH_TOKEN=token-of-a", "ANTHROPIC_MODEL=model-of-a")
		expectIs(t, "the exit code", box.run(60*time.Second, "", "ccc", "review").code, 0)
		reviews := api.requests("review")
		last, first := reviews[len(reviews)-1], reviews[0]
		expectIs(t, "two reviews", len(reviews) > 1, true)
		expectIs(t, "the token", last.header("Authorization"), "")
		expectIs(t, "the key", last.header("X-Api-Key"), sandboxKey)
		expectIs(t, "the model", last.Model, first.Model)
	})
}

// The provider that ccc help config and the guide show works as it stands: its token and its model arrive, from a
// subagent of another model too, and Claude Code takes its window for the model's, which it does not know, and does
// not assume another (2.1.332, where the variable is missing: "context assumed to be 1m tokens").
func TestRealClientExampleProvider(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		kimi := box.answering(func(r apiRequest) apiReply {
			for _, tool := range r.Tools {
				if strings.HasSuffix(r.last("user"), "delegate it") && (tool == "Task" || tool == "Agent") {
					return replyTool(tool, `{"description":"x","prompt":"be it","subagent_type":"general-purpose","model":"haiku"}`)
				}
			}
			return replyText("the answer")
		})
		example := strings.Replace(exampleProvider, "https://api.moonshot.cn/anthropic", kimi.URL, 1)
		box.write(".claude/ccc.json", 0o600, example)
		box.vars = append(box.vars, "KIMI_TOKEN=token-of-kimi")
		got := box.run(60*time.Second, "", "ccc", "kimi", "-p", "delegate it", "--output-format", "json")
		expectIn(t, "the result", got.stdout, `"result":"the answer"`)
		expectIn(t, "the result", got.stdout, `"contextWindow":262144`)
		isDelegated := func(r apiRequest) bool { return strings.HasSuffix(r.last("user"), "be it") }
		expectIs(t, "a subagent was asked", slices.ContainsFunc(kimi.requests(""), isDelegated), true)
		tty := box.open("ccc", "kimi")
		tty.prompt("hello")
		tty.waitFor("the answer", 60*time.Second)
		expectNotIn(t, "the screen", tty.screen(), "context assumed to be", "isn't recognized")
		expectRequests(t, kimi.requests(""), "token-of-kimi", "kimi-k2.5")
	})
}

// A supervised session goes on as such below Claude Code's background service, under another id, after the left arrow. One that
// was switched off stays off.
func TestRealClientMoved(t *testing.T) {
	beside(t)
	for name, test := range map[string]struct {
		play func(box *sandbox, tty *terminal)
		want []string // the sessions that ccc knows then
	}{
		"left": {func(box *sandbox, tty *terminal) {
			tty.movesToBackground("for agents")
			tty.prompt("two refused")
			tty.waitFor("not yet", 90*time.Second)
		}, []string{"one: allow", "two refused: block allow"}},
		"in mid-turn": {func(box *sandbox, tty *terminal) {
			tty.prompt("work")
			tty.waitFor("until", 90*time.Second)
			tty.keys("Left")
			tty.waitFor("after the current tool", 60*time.Second)
			box.write("../work/worked", 0o600, "")
		}, []string{": allow", "one: allow"}},
		"off": {func(box *sandbox, tty *terminal) {
			tty.prompt("/supervisor off")
			tty.waitFor("监督已关闭", 60*time.Second)
			tty.movesToBackground("for agents")
			tty.prompt("two refused")
			tty.waitUntil("a second stop", 90*time.Second, func(string) bool { return strings.Count(box.read("stops"), "stop") == 2 })
		}, []string{":", "one: allow"}},
	} {
		t.Run(name, func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				isRefused := atomic.Bool{}
				box.answering(func(r apiRequest) apiReply {
					switch {
					case r.Kind == "review" && strings.Contains(r.request(), "refused") && !isRefused.Swap(true):
						return replyVerdict(false, "not yet")
					case r.Kind == "review":
						return replyVerdict(true, "")
					case strings.HasSuffix(r.last("user"), "work"):
						return bash("until [ -e worked ]; do sleep 0.1; done; echo done")
					}
					return replyText("done")
				})
				box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo stop >>$HOME/stops"}]}]}}`)
				box.endsService()
				tty := box.start("--permission-mode", "bypassPermissions")
				tty.prompt("one")
				box.awaitVerdicts(1)
				test.play(box, tty)
				for deadline := time.Now().Add(60 * time.Second); !slices.Equal(box.supervised(), test.want) && time.Now().Before(deadline); {
					time.Sleep(100 * time.Millisecond)
				}
				expectEqual(t, "the sessions that ccc knows", box.supervised(), test.want)
			})
		})
	}
}
