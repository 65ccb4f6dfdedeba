package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// calls counts the calls of the fake claude of that kind.
func (box *sandbox) calls(kind string) int {
	found, _ := filepath.Glob(filepath.Join(box.home, "../fake", kind+"-*.args"))
	return len(found)
}

// supervise starts a supervised session of the fake, of one turn.
func (box *sandbox) supervise(args ...string) commandResult {
	box.t.Helper()
	return box.run(60*time.Second, "", append([]string{"ccc", "--supervisor", "-p", "hi"}, args...)...)
}

// mute is a claude that tells a version and runs no hook, but what stands in script.
func mute(script string) string {
	return "[ \"$1\" != --version ] || exec echo '2.1.332 (Claude Code)'\n" + script + "\n"
}

// answers lists what is remembered of trials, and what one has left.
func (box *sandbox) answers() []string {
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/trial-*"))
	return paths
}

// Claude is tried in an empty directory of ccc's own, with what decides whether hooks run, and nothing of a
// trial is supervised, recorded or told; of its traces nothing stays.
func TestTrial(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"providers":{"a":{"env":{"ANTHROPIC_MODEL":"m"}}}}`)
	box.write("s.json", 0o600, "{}")
	box.vars = append(box.vars, "CCC_TRIAL="+box.home+"/inherited", testPatienceVariable+"=400s")
	dir := filepath.Join(box.home, ".claude/ccc/trial")
	line := "ccc --supervisor a -p hi --settings ../home/s.json --verbose --add-dir /"
	got := box.run(60*time.Second, "", strings.Fields(line)...)
	expectIs(t, "the exit code", got.code, 0)
	expectNotIn(t, "stderr", got.stderr, "warning", say(tryingHooks))
	expectIs(t, "the call", strings.ReplaceAll(box.read("../fake/trial-1.args"), "\n", " "),
		"-p --strict-mcp-config --setting-sources user --no-session-persistence --settings "+
			box.home+"/s.json /cost ")
	expectIs(t, "where", strings.TrimSpace(box.read("../fake/trial-1.cwd")), dir)
	expectIn(t, "the environment", box.environment("trial-1"), "\nCCC_TRIAL="+dir+"-answer-",
		"\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n", "\nDISABLE_AUTOUPDATER=1\n",
		"ANTHROPIC_MODEL=m\n", "\nPWD="+dir+"\n", "\nCCC_PROVIDER=a\n")
	expectNotIn(t, "the session's environment", box.environment("agent-1"), "CCC_TRIAL=",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER")
	expectIs(t, "the hook's words", box.read("../fake/start-1.stdout")+box.read("../fake/start-1.stderr"), "")
	expectIn(t, "and in the session", box.read("../fake/start-2.stdout"), "本会话受监督")
	expectIs(t, "the events in the log", strings.Count(box.log(), "event=SessionStart"), 1)
	started, err := readEvent(strings.NewReader(box.read("../fake/start-1.stdin")))
	check(t, err)
	expectNotIn(t, "the log", box.log(), started.SessionID)
	expectIs(t, "the sessions", len(box.supervised()), 1)
	entries, err := os.ReadDir(dir)
	check(t, err)
	expectIs(t, "what is in the directory", len(entries), 0)
	left := box.answers()
	expectIs(t, fmt.Sprint("left: ", left), len(left) == 1 && !strings.Contains(left[0], "answer"), true)
	expectIs(t, "an inherited CCC_TRIAL counts", isThere(box.home+"/inherited"), false)
}

// In a trial the hook answers by the file alone, and blocks a prompt, whoever's session it is; a reviewer's
// own claude answers none.
func TestTrialAnswered(t *testing.T) {
	box := newHookBox(t)
	const blocked = `{"decision":"block","reason":"ccc is trying the hooks: no prompt is answered"}` + "\n"
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CCC_TRIAL="+box.home+"/answer")
	expectEnd(t, "a stop", box.stop(""), 0, "", "")
	expectEnd(t, "a prompt", box.submit("hi"), 0, blocked, "")
	reviewers := *box
	reviewers.vars = append(slices.Clone(box.vars), "CCC_SUPERVISOR_HOOK=1")
	expectEnd(t, "a reviewer", reviewers.hook(box.event(eventStart, "")), 0, `{"decision":"","":""}`+"\n", "")
	expectIs(t, "answered", box.read("answer"), "")
	expectEnd(t, "a start", box.hook(box.event(eventStart, `"source":"startup"`)), 0, "", "")
	expectIs(t, "answered", box.read("answer"), testSession)
	expectEqual(t, "the files", box.files(), []string{"answer"})
	box.vars = append(box.vars, "CCC_TRIAL="+box.home+"/no/such/answer")
	expectEnd(t, "nowhere to answer", box.hook(box.event(eventStart, "")), 0, "", "no such file or directory")
}

// A trial that went well is not made again, until something changes that may decide whether hooks run, and as
// long as each session confirms it: the mark goes at a launch, and the session's own hook puts it back. What
// mutes hooks unseen, as an organization's settings, costs one session. ccc doctor remembers nothing.
func TestTrialRemembered(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, testTrustVariable+"=none")
	start := func(what string, isTried bool, args ...string) {
		t.Helper()
		before := box.calls("trial")
		got := box.supervise(args...)
		expectIs(t, what+": "+got.stderr, got.code == 0 && strings.Contains(got.stdout, "Done.\n"), true)
		expectIs(t, what+": claude was tried", box.calls("trial") > before, isTried)
	}
	plan := func(what string, isRemembered bool, args ...string) { // and remember it
		t.Helper()
		l, got := box.plan(append([]string{"--supervisor", "-p", "hi"}, args...)...)
		expectIs(t, what+": the exit code", got.code, 0)
		expectIs(t, what+": it is remembered", isThere(l.markFile()), isRemembered)
		check(t, os.WriteFile(l.markFile(), nil, 0o600))
	}
	start("the first", true)
	start("the next", false)
	start("the one after it", false)
	for _, kept := range []string{"OTHER=x", "CCC_LAUNCH=x", "CCC_TRIED=/none", "CLAUDECODE=1"} {
		box.vars = append(box.vars, kept)
		plan(kept, true)
	}
	plan("another prompt", true, "--verbose")
	for _, variable := range []string{"CLAUDE_CODE_X=1", "DISABLE_X=1", "FAKE_CLAUDE_VERSION=2.1.330"} {
		box.vars = append(box.vars, variable)
		plan(variable, false)
	}
	box.edit(".claude/settings.json", "{\n", "{ \n")
	plan("settings.json", false)
	plan("--settings", false, "--settings", `{"model":"m"}`)
	box.write("s.json", 0o600, "{}")
	start("a file", true, "--settings", "../home/s.json")
	plan("the same file", true, "--settings", box.home+"/s.json")
	box.write("s.json", 0o600, "{ }")
	plan("the file, changed", false, "--settings", box.home+"/s.json")
	box.write(".claude/remote-settings.json", 0o600, `{"allowManagedHooksOnly":false}`)
	plan("an organization's settings", false)
	bin := filepath.Dir(box.program())
	box.link(fakeClaude(), "../bin/other")
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/other")
	plan("another claude", false)
	const flagged = "case \"$*\" in *\"$(cat ~/flags)\") exec %[1]s \"$@\" ;; esac\nexec %[1]s \"$@\" --bare"
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/claude")
	box.claudeIs(fmt.Sprintf(flagged, fakeClaude()))
	start("a wrapper", true)
	box.write("flags", 0o600, "none of these") // the wrapper reads them, and its bytes stay
	reviews := box.calls("reviewer")
	start("muted unseen", false)
	expectIs(t, "the reviews of the session that it costs", box.calls("reviewer"), reviews)
	expectEnd(t, "the one after it", box.supervise(), 1, "", "claude was tried and ran no hooks")
	box.write("flags", 0o600, "")
	got := box.run(60*time.Second, "", "ccc", "doctor")
	expectIn(t, "doctor", got.stdout, "ok       hooks tried: claude runs them\n")
}

// What claude --version leaves running holds no launch up, and the version is known.
func TestVersionLeavesRunning(t *testing.T) {
	box := newFakeBox(t)
	box.claudeIs(`echo "2.1.332 (Claude Code)"; sleep 20 &`)
	start := time.Now()
	version, _, err := askVersion(filepath.Join(box.home, "../bin/claude"), box.vars, box.work)
	check(t, err)
	expectIs(t, "the version", version, "2.1.332")
	expectIs(t, "it took too long", time.Since(start) > 15*time.Second, false)
	box.kill()
}

// A program that tells the version of another one, or none in time, is started with one warning, and never
// tried. A session that is not supervised is asked for nothing.
func TestTrialStandIn(t *testing.T) {
	for version, said := range map[string]string{
		`echo "1 (Other Code)"`: "/bin/claude is not Claude Code: to --version it says \"1 (Other Code)\"",
		"sleep 60":              "claude did not answer --version within 1s",
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, testVersionVariable+"=1s")
		box.claudeIs(`echo "$@" >>"$HOME/calls"; [ "$1" != --version ] || exec ` + version)
		got := box.supervise()
		expectIn(t, "stderr", got.stderr, "Supervisor mode enabled",
			"ccc: warning: whether claude runs ccc's hooks could not be tried: ", said+"\n")
		expectIs(t, "the warnings", strings.Count(got.stderr, "warning"), 1)
		box.run(30*time.Second, "", "ccc", "-p", "plain")
		expectIs(t, "the calls", box.read("calls"), "--version\n-p hi\n-p plain\n")
	}
	box := newFakeBox(t)
	box.claudeIs(`[ "$1" != --version ] || exec printf 'warning: x\n2.1.280 (Claude Code)\n'`)
	l, got := box.plan("--supervisor")
	expectIs(t, "the version beside a warning: "+got.stderr, l.version, "2.1.280")
}

// A settings.json that can't be written, or whose directory can't, is refused if it lacks something of ccc's;
// one that lacks nothing is tried and used.
func TestTrialUnwritable(t *testing.T) {
	onlyRoot(t) // who can be another user
	const refused = "settings.json lacks something of ccc's, and can't be replaced: permission denied\n"
	for lacking, closed := range map[string]string{"none": "", `"Stop"`: "",
		`"disableAllHooks"`: "settings.json"} {
		box := newFakeBox(t)
		box.prepare()
		text := strings.Replace(box.settings(), lacking, `"7"`, 1)
		box.write("store/settings.json", 0o644, text)
		state := filepath.Join(box.home, ".claude/ccc")
		check(t, errors.Join(os.Remove(box.home+"/.claude/settings.json"), os.RemoveAll(state)))
		box.link("../store/settings.json", ".claude/settings.json")
		box.ordinary()
		path := filepath.Join(box.home, "store", closed)
		check(t, errors.Join(os.Chown(path, 0, 0), os.Chmod(path, 0o755)))
		got := box.supervise()
		if lacking == "none" {
			expectIn(t, "stdout", got.stdout, "审查 1/10：通过")
			continue
		}
		expectEnd(t, lacking, got, 1, "", "ccc: "+box.home+"/.claude/"+refused)
		expectIs(t, lacking+": something was written", isThere(state), false)
		expectIs(t, "settings.json", box.read("store/settings.json"), text)
	}
}

// Claude, which takes the place of ccc, is no parent of what its tools leave running, though ccc had made
// itself that for the trial.
func TestTrialDisowns(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here")
	}
	box := newFakeBox(t)
	box.turns(`sh echo $$ >"$HOME/claude"; (setsid sh -c 'sleep 0.5; ` +
		`read -r pid name state parent rest </proc/self/stat; echo $parent >"$HOME/parent"' &)` +
		"\nsh until [ -s \"$HOME/parent\" ]; do sleep 0.1; done\nDone.\n")
	expectIs(t, "the exit code", box.supervise().code, 0)
	claude, parent := box.read("claude"), box.read("parent")
	if claude == "" || parent == "" || claude == parent {
		t.Errorf("claude is %q, and the parent of what it left %q", claude, parent)
	}
}

// A refused launch leaves the hooks to another launch that relies on them: two terminals at once, of which
// the first has written them, and waits for its trial while the second goes ahead.
func TestTrialOfTwo(t *testing.T) {
	box := newFakeBox(t)
	const held = "{ >~/held; until [ -f ~/go ]; do sleep 0.05; done; exit; }"
	box.claudeIs(`case $* in */cost) [ -z "$HELD" ] || ` + held + " ;; esac\n" +
		"exec " + fakeClaude() + ` "$@"`)
	first := *box
	first.vars = append(slices.Clone(box.vars), "HELD=1")
	refused := make(chan commandResult, 1)
	go func() { refused <- first.supervise() }()
	box.run(30*time.Second, "", "sh", "-c", `until [ -f "$HOME/held" ]; do sleep 0.05; done`)
	box.turns(`sh >"$HOME/go"; until [ -f "$HOME/refused" ]; do sleep 0.05; done` + "\nDone.\n")
	second := make(chan commandResult, 1)
	go func() { second <- box.supervise() }()
	got := <-refused
	box.write("refused", 0o600, "")
	expectIs(t, "the first: "+got.stderr, got.code, 1)
	expectIs(t, "the second", (<-second).code, 0)
	expectEqual(t, "its verdicts", box.timelineVerdicts(), []verdict{verdictAllow})
	expectIs(t, "the hooks", strings.Count(box.settings(), "supervisor-hook"), 4)
}
