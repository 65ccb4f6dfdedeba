package main

// Launches on the real Claude Code: whose session it is, whether hooks run, and which key or login goes
// where.

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// bypass permits all that an agent calls.
const bypass = "--permission-mode=bypassPermissions"

// A claude that the agent calls is not supervised, in whatever way it calls it, and its answer is its own;
// it speaks for nobody. That holds, too, if a script stands between ccc and claude, and puts claude into a
// PID namespace.
func TestRealClientNested(t *testing.T) {
	const waits = "for i in $(seq 300); do sleep 0.2; [ ! -s left.txt ] || break; done"
	const resumes = `claude -p --resume "$SESSION" `
	const launched = "CLAUDECODE -u CCC_LAUNCH -u CCC_SUPERVISOR -u CLAUDE_CODE_ENTRYPOINT"
	const namespace = `bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-pid --die-with-parent -- `
	const inNamespace = `[ -z "$INSIDE" ] || exec CLAUDE "$@"; INSIDE=1 exec ` + namespace + `CLAUDE "$@"`
	const ways = "ccc -p 'NESTED words'; env -u " + launched + " claude -p 'NESTED words'; " +
		"git -c user.name=x -c user.email=x@x commit --allow-empty -qm x; "
	const command = `SESSION=$(ls ../home/.claude/ccc | sed -n 's/^supervisor-\(.*\)-events.jsonl$/\1/p'); ` +
		`(nohup ` + resumes + `'NESTED words' </dev/null >left.txt 2>&1 &); ` +
		`(` + ways + `for p in '/supervisor off' '/supervisor NESTED task'; do ` + resumes +
		`"$p" >>refused.txt; done) </dev/null >nested.txt 2>&1; ` + waits
	for variant, on := range map[string]func(*testing.T, string, script, realTest){
		"plain": forRow, "within": forNewest} {
		on(t, variant, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
			asks := fmt.Sprintf(`{"command":%s,"description":"ask","timeout":400000}`, encodeJSON(command))
			api := box.by(toAgent("NESTED words", replyText("answer of the nested one")),
				toAgent("the outer request", replyTool("Bash", asks)),
				toReviewer("第 1 轮，最多", replyVerdict(false, "not yet")))
			box.write("../work/SUPERVISOR.md", 0o600, "STRICT")
			box.repository()
			box.write("../work/.git/hooks/pre-commit", 0o700, "#!/bin/sh\nclaude -p 'NESTED words'\n")
			if variant == "within" { // and a user's shell stands between the client and its hooks and tools
				box.write("prefix", 0o700, "#!/bin/sh\n/bin/sh -c \"$*\"\nexit $?\n")
				box.vars = append(box.vars, "CLAUDE_CODE_SHELL_PREFIX="+filepath.Join(box.home, "prefix"))
				box.claudeIs(strings.ReplaceAll(inNamespace, "CLAUDE", box.client.path))
			}
			box.prints("done", "the outer request", bypass)
			box.expectVerdicts(verdictBlock, verdictAllow)
			nested, refused := box.read("../work/nested.txt"), box.read("../work/refused.txt")
			answers := strings.Count(nested+box.read("../work/left.txt"), "answer of the nested one")
			expectIs(t, "the answers of nested claudes: "+nested, answers, 4)
			expectIn(t, "to /supervisor off", refused, "由用户决定")
			expectNotIn(t, "to /supervisor", refused, "answer")
			expectNotIn(t, "the log", box.log(), " switched ")
			for _, review := range api.requests("review") {
				// A nested --resume of this very session writes into its transcript as the user's -p would.
				isNested := func(words string) bool { return words == "NESTED words" }
				requests := slices.DeleteFunc(listedRequests(t, review.request()), isNested)
				expectEqual(t, "the requests", requests, []string{"the outer request"})
				expectIn(t, "what the reviewer was told", review.System, "STRICT")
			}
		})
	}
}

// A plain claude that goes on with a session that was launched supervised, and not with a fork of the
// reviewer's, is supervised, too, until the session is switched off; a later launch counts more.
func TestRealClientContinued(t *testing.T) {
	answers := script{agent: []apiReply{replyText("the agents own answer")}}
	answers.reviewer = []apiReply{replyVerdict(true, "REVIEWED")}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		run := func(reviews int, command ...string) {
			t.Helper()
			got := box.run(3*time.Minute, "", append(command, "-p", "go on")...)
			agent := api.requests("agent")
			text := agent[len(agent)-1].text()
			expectNotIn(t, "the agent's request", text, "REVIEWED", "审查")
			expectIs(t, "it goes on", strings.Contains(text, "the agents own answer"), reviews > 1)
			expectIs(t, fmt.Sprintf("the reviews after %q: %+v", command, got), box.reviewed(), reviews)
		}
		run(1, box.tried()...)
		id := box.onlySession()
		run(2, "claude", "--continue")
		run(3, "claude", "--resume", id)
		box.switchesOff(id)
		run(3, "claude", "--resume", id)
		run(4, box.tried("--resume", id)...)
	})
}

// endsService ends the background service of the sandbox when the test does.
func (box *sandbox) endsService() {
	box.t.Cleanup(func() {
		status := box.run(patience, "", "claude", "daemon", "status").stdout
		_, folder, _ := strings.Cut(status, "sock dir:")
		got := box.run(patience, "", "claude", "daemon", "stop", "--any")
		box.quiet(20 * time.Second)
		folder = strings.TrimSpace(strings.SplitN(folder, "\n", 2)[0])
		if strings.Contains(folder, "/cc-daemon-") {
			os.RemoveAll(folder) // it is outside of the sandbox
		} else {
			box.t.Errorf("ending the service: %q, %+v", folder, got)
		}
	})
}

// supervised lists the sessions that ccc knows, from their first prompt on: that and the verdicts, as
// "prompt: verdict verdict".
func (box *sandbox) supervised() (sessions []string) {
	box.t.Helper()
	ids, _ := box.stateDir().sessions()
	for _, id := range ids {
		if !isThere(box.stateDir().session(id).timelineFile()) {
			continue
		}
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

// expectSupervised waits until n stops were made in all, and then for the sessions that ccc knows to be
// these.
func (box *sandbox) expectSupervised(n int, want ...string) {
	box.t.Helper()
	awaits(box.t, fmt.Sprintf("%q after %d stops", want, n), func() bool {
		return strings.Count(box.read("stops"), "stop") >= n && slices.Equal(box.supervised(), want)
	})
}

// A background session is supervised by /supervisor on in it, and in no other way: not by a flag, which is
// refused, nor by the variables that its service has from a supervised session that started it.
func TestRealClientBackground(t *testing.T) {
	forNewest(t, "", script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		const first = "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent'"
		box.by(toAgent("HAS RUN", replyText("done")),
			toAgent("run: ", bash(first[len("run: "):]+"; echo HAS RUN")))
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo stop >>~/stops"}]}]}}`)
		box.endsService()
		expectIs(t, "the exit code", box.run(3*time.Minute, "", box.tried(bypass, "-p", first)...).code, 0)
		got := box.run(patience, "", "claude", bypass, "--bg", "plain")
		_, id, found := strings.Cut(got.stdout, "claude attach ")
		if got.code != 0 || !found {
			t.Fatalf("%+v", got)
		}
		box.expectSupervised(4, first+": allow")
		tty := box.open("claude", "attach", strings.Fields(id)[0])
		tty.prompt("/supervisor on")
		tty.waitFor("监督已打开")
		tty.prompt("and more")
		box.expectSupervised(5, "and more: allow", first+": allow")
	})
}

// movesToBackground has a session moved to the background, where it is idle, at work or before its first
// prompt, and goes back to it from the list of sessions. On a busy machine Claude Code's service may lose a
// session, which then never starts: all of it is forgotten, and another one is moved.
func (box *sandbox) movesToBackground(when string) *terminal {
	box.t.Helper()
	for range 5 {
		tty := box.start(bypass)
		if box.comesBack(tty, when) {
			return tty
		}
		box.t.Logf("the service has lost a session:\n%s%s", box.read(".claude/daemon.log"), tty.screen())
		tty.close()
		const forget = "claude daemon stop --any; rm -rf ~/.claude/ccc/supervisor-* ~/.claude/jobs worked"
		box.run(patience, "", "sh", "-c", forget)
	}
	box.t.Fatal("the service has lost five sessions")
	return nil
}

// comesBack moves the session of a terminal to the background and reports whether its screen comes back.
func (box *sandbox) comesBack(tty *terminal, when string) bool {
	box.t.Helper()
	isListed := func(screen string) bool { return strings.Contains(screen, "moved to the background") }
	starts := func() int { return strings.Count(box.log(), "event=SessionStart") }
	if when != "at once" {
		tty.prompt("one")
		box.awaitVerdicts(1)
	}
	if when == "at work" {
		tty.prompt("work")
		tty.waitFor("until")
		tty.keys("Left")
		tty.waitFor("after the current tool")
		// If the tool ends early, the turn does not go on: the session then needs input (2.1.332).
		box.write("../work/worked", 0o600, "")
	} else {
		for i := 0; i < 5 && !isListed(tty.screen()); i++ {
			tty.keys("Left") // which a client that is still starting drops
			tty.shows(20*time.Second, isListed)
		}
	}
	tty.waitUntil("the list", isListed)
	before := starts()
	// Before the session has started there, Esc leaves an empty screen (2.1.280, 2.1.332). It may have been
	// stopped: if it was idle (2.1.280; Esc starts it again), or after 14 s without a start (2.1.332).
	tty.shows(time.Minute, func(string) bool {
		jobs := box.run(patience, "", "sh", "-c", "cat ~/.claude/jobs/*/state.json").stdout
		return starts() > before || strings.Contains(jobs, `"stopped"`)
	})
	tty.keys("Escape")
	return tty.shows(time.Minute, func(screen string) bool {
		return strings.Contains(screen, "bypass permissions on") && !isListed(screen)
	})
}

// A supervised session goes on as such below Claude Code's background service, under another id, after the
// left arrow, also in mid-turn and before its first prompt.
func TestRealClientMoved(t *testing.T) {
	for _, when := range []string{"idle", "at work", "at once"} {
		forRow(t, when, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
			box.answering(func(r apiRequest) apiReply {
				switch request := r.request(); {
				case strings.Contains(request, "refused") && strings.Contains(request, "第 1 轮，最多"):
					return replyVerdict(false, "not yet")
				case r.Kind != "review" && strings.HasSuffix(r.last("user"), "work"):
					return bash("until [ -e worked ]; do sleep 0.1; done; echo done")
				}
				return usualReply(r)
			})
			box.endsService()
			tty := box.movesToBackground(when)
			switch when {
			case "at once":
				tty.prompt("one")
				box.expectSupervised(0, "one: allow")
			case "at work":
				tty.prompt("and then")
				tty.waitUntil("its review", func(string) bool {
					return strings.HasPrefix(box.supervised()[0], "and then: allow")
				})
			default:
				tty.prompt("two refused")
				tty.waitFor("not yet")
				box.expectSupervised(0, "one: allow", "two refused: block allow")
				tty.prompt("/clear")
				tty.waitFor("SessionStart:clear says")
				tty.prompt("three")
				box.expectSupervised(0, "one: allow", "three: allow", "two refused: block allow")
			}
		})
	}
}

// usersHook is an entry of settings that notes each start of a session in the home.
const usersHook = `{"hooks":[{"type":"command","command":"echo start >>\"$HOME/starts\""}]}`

// "Supervisor mode enabled" is never said where hooks do not run: each way that is known to bring that is
// refused, with its cause or with what claude said, and no model is asked. The administrator's file stands
// where the client looks for it, in a copy of /etc that the command alone has.
func TestRealClientTrialRefused(t *testing.T) {
	const effect = "claude was tried and ran no hooks, so nothing would be reviewed"
	const said, mutes = effect + "; it said: ", effect + ". This mutes them:\n     "
	const simple = `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`
	const managed = "/etc/claude-code/managed-settings.json"
	const administrators = mutes + managed + ": "
	flags := "-m"
	if os.Getuid() != 0 {
		flags = "-Urm"
	}
	// The PATH is for hooks. Another tool's entry that the client does not take drops itself alone.
	const harmless = `{"allowManagedHooksOnly":true,"env":{"PATH":"/usr/bin:/bin"},
		"hooks":{"PostToolUse":[{"matcher":null,"hooks":[{"type":"command","command":"true"}]}]}}`
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		dropped := said + "nothing\n"
		if !olderThan(box.client.version, "2.1.330") { // which says on stderr what it has dropped
			dropped = said + "These settings did not load, "
		}
		users := mutes + box.home + "/.claude/settings.json: "
		box.run(3*time.Minute, "", "cp", "-a", "/etc", box.home) // what this user may read
		box.write("mounted", 0o700, "#!/bin/sh\nmount --bind ~/etc /etc && exec \"$@\"\n")
		box.vars = append(box.vars, testManagedVariable+"="+managed)
		for _, test := range []struct {
			args, variable, settings, managed string
			stderr                            string // "" for a session that is reviewed
		}{
			{variable: reviewerVariable + "=1", settings: harmless},
			{settings: `{"cleanupPeriodDays":0}`, stderr: dropped}, // it would keep no transcripts
			{settings: `{"disableAllHooks":true}`, stderr: users + "disableAllHooks\n     take that out:\n"},
			{args: "--bare", stderr: mutes + "--bare\n"},
			{args: "--restricted", stderr: mutes + "--restricted\n"},
			{variable: "CLAUDE_CODE_SIMPLE=1", stderr: mutes + "CLAUDE_CODE_SIMPLE\n"},
			{managed: `{"allowManagedHooksOnly":true}`, stderr: administrators + "allowManagedHooksOnly\n"},
			{managed: `{"disableAllHooks":true}`, stderr: administrators + "disableAllHooks\n"},
			{settings: simple, stderr: users + "env.CLAUDE_CODE_SIMPLE\n"},
			{args: "--settings no.json",
				stderr: said + "Error: Settings file not found: " + box.work + "/no.json"},
		} {
			name := fmt.Sprint(test)
			box.setSettings(cmp.Or(test.settings, `{"env":{}}`))
			vars, before := box.vars, box.settings()
			box.vars = append(box.vars[:len(vars):len(vars)], test.variable)
			box.write(managed[1:], 0o644, cmp.Or(test.managed, "{}"))
			const form = "unshare %s ../home/mounted ccc --supervisor -p hi %s"
			got := box.run(3*time.Minute, "", strings.Fields(fmt.Sprintf(form, flags, test.args))...)
			box.vars = vars
			if test.stderr == "" {
				expectEnd(t, name, got, 0, "done\n", "enabled")
				continue
			}
			expectEnd(t, name, got, 1, "", test.stderr)
			expectNotIn(t, name, got.stderr, "enabled")
			expectIs(t, name+": settings.json", box.settings(), before)
		}
		for _, kind := range []string{"agent", "review"} {
			expectIs(t, "the requests of "+kind, len(api.requests(kind)), 1)
		}
	})
}

// A launch asks the API for nothing more than a session does, and lets the user's own hooks run once more
// only if something has changed; ccc doctor tries always. Nothing of a trial is left where the client keeps
// sessions.
func TestRealClientTrial(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.setSettings(`{"hooks":{"SessionStart":[` + usersHook + `]}}`)
		box.vars = append(box.vars, testTrustVariable+"=none")
		for i, starts := range []int{2, 4, 5} { // a setting moves from .claude.json into settings.json
			got := box.run(3*time.Minute, "", "ccc", "--supervisor", "-p", "hi")
			expectIs(t, "the answer", got.stdout, "done\n")
			expectIs(t, "starts of the user's hook", strings.Count(box.read("starts"), "start"), starts)
			expectIs(t, "the reviews", len(api.requests("review")), i+1)
		}
		expectIs(t, "the agent's requests", len(api.requests("agent")), 3)
		got := box.run(3*time.Minute, "", "ccc", "doctor")
		expectIn(t, "doctor", got.stdout, "ok       hooks tried: claude runs them\n")
		expectIs(t, "starts with doctor's", strings.Count(box.read("starts"), "start"), 6)
		known, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
		expectIs(t, "the sessions", len(known), 3)
		left, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/trial/*"))
		expectIs(t, "what is in the directory of trials", len(left), 0)
	})
}

// In a directory that nobody has trusted yet, no hook of the project has run when the client asks for trust.
func TestRealClientTrialUntrusted(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.edit(".claude.json", `"hasTrustDialogAccepted":true`, `"hasTrustDialogAccepted":false`)
		box.write("../work/.claude/settings.json", 0o600,
			`{"hooks":{"SessionStart":[`+usersHook+`],"Setup":[`+usersHook+`]}}`)
		tty := box.terminal("ccc", "--supervisor")
		tty.waitFor("trust")
		expectIs(t, "what has run", box.read("starts"), "")
		trusts := regexp.MustCompile(`❯\s*(1\.)?\s*Yes,\s*I`)
		tty.pressUntil("Down", "trust", trusts.MatchString) // 2.1.332 marks the other answer
		tty.choose("trust this folder")
		tty.waitUntil("the project's hook", func(string) bool { return box.read("starts") != "" })
		tty.waitFor("本会话受监督")
	})
}

// Reviews are paid as their session is: a key that the user keeps from interactive sessions does not pay for
// their reviews. The line that a login is billed by stays, so reviews have a prompt of their own. No login
// goes to a provider that has a token, in its variable or in a header beside a key.
func TestRealClientLogin(t *testing.T) {
	const ownKey = "KEY-OF-THE-USER"
	isSent := func(r apiRequest) bool { return strings.Contains(fmt.Sprint(r.Header), ownKey) }
	answers := script{agent: []apiReply{replyText("the answer").after(cacheLeast)}}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.write(".claude/.credentials.json", 0o600, `{"claudeAiOauth":{"accessToken":"`+ownKey+`",
			"refreshToken":"x","expiresAt":4102444800000,"scopes":["user:inference","user:profile"],
			"subscriptionType":"max"}}`)
		box.edit(".claude.json", `"approved"`, `"rejected"`)
		box.edit(".claude.json", `"rejected":[]`, `"approved":[]`)
		box.start().prompt("hello")
		box.awaitVerdicts(1)
		agent := api.requests("agent")
		for _, r := range append(agent, api.requests("review")...) {
			expectIs(t, r.Kind+" with the login", isSent(r), true)
			expectIs(t, r.Kind+"'s key", r.header("X-Api-Key"), "")
		}
		expectIn(t, "the agent's system prompt", agent[0].System, billingLine)
		last := lastReview(t, box.onlyTimeline())
		expectIs(t, "the verdict and the way", string(last.Verdict)+" "+last.Way, "allow own")
		other := newScriptedAPI(t, script{})
		const form = `{"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"t"}},
			"b":{"env":{"ANTHROPIC_BASE_URL":%[1]q,"ANTHROPIC_API_KEY":%q,
				"ANTHROPIC_CUSTOM_HEADERS":"Authorization: Bearer t"}}}}`
		box.write(".claude/ccc.json", 0o600, fmt.Sprintf(form, other.URL, sandboxKey))
		for i, name := range []string{"a", "b"} {
			box.open("ccc", name).prompt("hello")
			other.await(t, "agent", i+1)
		}
		expectIs(t, "the login is sent", slices.ContainsFunc(other.requests(""), isSent), false)
	})
}

// billingLine is how the line begins that a subscription is billed by.
const billingLine = "x-anthropic-billing-header"

// A rule to ask for each command, or to deny it, refuses what would run in a copy: the request offers none
// and names the rule.
func TestRealClientBashRule(t *testing.T) {
	run := fmt.Sprintf(`{"command":%q,"description":"x"}`, tryCommand()+" true")
	answers := script{reviewer: []apiReply{replyTool("Bash", run), replyVerdict(true, "")}}
	for _, rule := range []string{"ask: Bash", "deny: Bash(*)"} {
		forNewest(t, rule, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
			kind, tool, _ := strings.Cut(rule, ": ")
			box.setSettings(fmt.Sprintf(`{"permissions":{%q:[%q]}}`, kind, tool))
			box.prints("done", "hi")
			keeps := say(keptFromRunning, rule, box.home+"/.claude/settings.json")
			expectIn(t, "the request", api.lastReview(t), keeps)
			expectIs(t, "runs", strings.Count(box.ccc("log"), say(leadRan)), 0)
		})
	}
}

// The provider that ccc help config and the guide show works as it stands: its token and model arrive from
// session, reviewer and a subagent of another model, whatever the shell has. Claude Code takes its window for
// the model's and does not assume another (2.1.332).
func TestRealClientExampleProvider(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		kimi := newAnsweringAPI(t, func(r apiRequest) apiReply {
			if r.Kind == "agent" && strings.HasSuffix(r.last("user"), "delegate") {
				tool := r.delegates("").tool
				return replyTool(tool,
					`{"description":"x","prompt":"be it","subagent_type":"general-purpose","model":"haiku"}`)
			}
			return usualReply(r)
		})
		box.write(".claude/ccc.json", 0o600,
			strings.Replace(exampleProvider, "https://api.moonshot.cn/anthropic", kimi.URL, 1))
		box.vars = append(box.vars, "KIMI_TOKEN=token-of-kimi", "ANTHROPIC_AUTH_TOKEN=stale",
			"ANTHROPIC_MODEL=stale", "ANTHROPIC_DEFAULT_HAIKU_MODEL=stale")
		got := box.run(patience, "delegate", "ccc", "kimi", "--supervisor", "-p", "--output-format", "json")
		expectIn(t, "the result", got.stdout, `"result":"done"`, `"contextWindow":262144`)
		isDelegated := func(r apiRequest) bool { return strings.HasSuffix(r.last("user"), "be it") }
		expectIs(t, "a subagent was asked", slices.ContainsFunc(kimi.requests(""), isDelegated), true)
		tty := box.open("ccc", "kimi")
		tty.prompt("hello")
		tty.waitFor("done")
		expectNotIn(t, "the screen", tty.screen(), "context assumed to be", "isn't recognized")
		expectIs(t, "a reviewer was asked", len(kimi.requests("review")) > 0, true)
		expectIs(t, "what went elsewhere", len(api.requests("")), 0)
		for _, r := range kimi.requests("") {
			got := r.header("Authorization") + r.header("X-Api-Key") + " " + r.Model
			expectIs(t, "token, key and model of a request", got, "Bearer token-of-kimi kimi-k2.5")
		}
	})
}
