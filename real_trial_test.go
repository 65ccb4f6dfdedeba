package main

// Whether hooks run is tried on the real Claude Code, and a session says what it is before its first prompt.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

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
	const said = effect + ", so nothing would be reviewed; it said: "
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
			{"set to nothing", "", "CLAUDE_CONFIG_DIR=", "", "", 1, effect},
			{"no transcripts", "", "", `{"cleanupPeriodDays":0}`, "", 1, dropped},
			{"another type", "", "", `{"model":1}`, "", 1, dropped},
			{"muted by the user", "", "", muted, "", 1, said + "nothing\n"},
			{"muted by the project", "", "", "", muted, 2,
				"work/.claude/settings.json: disableAllHooks: claude would run no hooks"},
			{"muted by the project, whatever --settings say", `--settings {"disableAllHooks":false}`, "", "", muted, 2,
				"work/.claude/settings.json: disableAllHooks: claude would run no hooks"},
			{"muted by --settings", `--settings {"disableAllHooks":true}`, "", "", "", 1, effect},
			{"bare", "--bare", "", "", "", 1, effect}, {"safe mode", "--safe-mode", "", "", "", 1, effect},
			{"restricted", "--restricted", "", "", "", 1, effect},
			{"a form of the answer", `--json-schema {"type":"object"}`, "", "", "", 2, "-p and --json-schema: claude would end the turn"},
			{"a token that hooks do not get", "", "ANTHROPIC_API_KEY=|CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy", "", "", 2,
				"CLAUDE_CODE_OAUTH_TOKEN as the only login"},
			{"simple", "", "CLAUDE_CODE_SIMPLE=1", "", "", 1, effect},
			{"simple, of the project", "", "", "", `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, 0, ""},
			{"another PATH for hooks", "", "", `{"env":{"PATH":"/usr/bin:/bin"}}`, "", 0, ""},
			{"no settings", "--settings=", "", "", "", 0, ""},
			{"simple, of settings", "", "", `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`, "", 1, effect},
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
			vars := box.vars
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
			for i, stdout := range []string{"done\n", "done\n", ""} { // the second is the session that they cost
				check(t, os.RemoveAll(box.home+"/etc/"+managed))
				if i > 0 {
					box.write("etc/"+managed, 0o644, text)
				}
				got := box.run(90*time.Second, "", "unshare", flags, "sh", "-c", mounted, box.home+"/etc",
					"ccc", "--supervisor", "-p", "hi")
				if got.stdout != stdout || strings.Contains(got.stderr, "claude was tried and ran no hooks") != (i == 2) {
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
