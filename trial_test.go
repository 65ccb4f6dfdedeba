package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	command := append([]string{"ccc", "--supervisor", "-p", "hi"}, args...)
	return box.run(60*time.Second, "", command...)
}

// mute is a claude that tells a version and runs no hook, but what stands in script.
func mute(script string) string {
	return "[ \"$1\" != --version ] || exec echo '2.1.332 (Claude Code)'\n" + script + "\n"
}

// A launch whose session would not be reviewed is refused, with exit code 2 and before anything is written where
// arguments, variables or the project's settings say so, else once claude was tried and ran no hooks. What only
// looks like one starts.
func TestTrialRefused(t *testing.T) {
	t.Parallel()
	const muted, unmuting, skip = `{"disableAllHooks":true}`, `{"disableAllHooks":false}`, "CLAUDE_CODE_SKIP_PROMPT_HISTORY"
	const users, project, local = ".claude/settings.json", "../work/.claude/settings.json", "../work/.claude/settings.local.json"
	const skips, keeps = `{"env":{"` + skip + `":"1"}}`, `{"env":{"` + skip + `":"0"}}`
	const token, elsewhere = "CLAUDE_CODE_OAUTH_TOKEN=t", "run that session elsewhere, not below this launch"
	const forgetful, hookless = "claude would keep no conversation", "claude would run no hooks, so nothing would be reviewed"
	login := func(content string) map[string]string { return map[string]string{".claude/.credentials.json": content} }
	for _, test := range []struct {
		args, variable string // words are separated by |
		files          map[string]string
		names          string // what is refused, and why; "" for a launch that is not refused
		effect         string
	}{
		{"--bg", "", nil, "--supervisor with --bg: ", elsewhere + "\n     run ccc --supervisor once, for the hooks; then type /supervisor on"},
		{"--background", "", nil, "--supervisor with --background: ", elsewhere}, {"--tmux=classic", "", nil, "--supervisor with --tmux: ", elsewhere},
		{"--cloud=x", "", nil, "--supervisor with --cloud: ", elsewhere}, {"--remote|x", "", nil, "--supervisor with --remote: ", elsewhere},
		{"--environment|x", "", nil, "--supervisor with --environment: ", elsewhere}, {"--desktop", "", nil, "--supervisor with --desktop: ", elsewhere},
		{"--setting-sources|project, local", "", nil, "--setting-sources project, local, without user: ", hookless},
		{"--setting-sources|", "", nil, "--setting-sources , without user: ", hookless},
		{"--setting-sources|project,user", "", nil, "", ""},
		{"--no-session-persistence", "", nil, "--no-session-persistence: ", forgetful},
		{"--|--bare", "", nil, "", ""}, {"--|--no-session-persistence", "", nil, "", ""}, {"--|--bg", "", nil, "", ""},
		{"--json-schema|{}", "", nil, "-p and --json-schema: ", "claude would end the turn, whatever a review says"},
		{"--json-schema={}", "", nil, "-p and --json-schema: ", "claude would end the turn"},

		{"", skip + "=1", nil, skip + ": ", forgetful}, {"", skip + "=0", nil, "", ""},
		{"", "", map[string]string{users: skips}, "home/.claude/settings.json: env." + skip + ": ", forgetful},
		{"", "", map[string]string{project: skips}, "work/.claude/settings.json: env." + skip + ": ", forgetful},
		{"", skip + "=1", map[string]string{project: keeps}, "", ""},
		{"", "", map[string]string{users: skips, project: keeps}, "", ""},
		{"a", "", map[string]string{".claude/ccc.json": `{"providers":{"a":` + skips + `}}`}, skip + ": ", forgetful},
		{"--settings|" + skips, "", nil, "--settings: env." + skip + ": ", forgetful},

		// Whatever another says: the client may drop that one.
		{"", "", map[string]string{project: muted}, "work/.claude/settings.json: disableAllHooks: ", hookless},
		{"", "", map[string]string{local: muted, project: unmuting}, "settings.local.json: disableAllHooks: ", hookless},
		{"", "", map[string]string{local: unmuting, project: muted}, "work/.claude/settings.json: disableAllHooks: ", hookless},
		{"", "", map[string]string{local: `{"model":1,"disableAllHooks":false}`, project: muted}, "work/.claude/settings.json: ", hookless},
		{"--settings|" + unmuting, "", map[string]string{project: muted}, "work/.claude/settings.json: ", hookless},
		{"--settings|" + muted, "", nil, "", ""}, {"", "", map[string]string{users: muted}, "", ""}, // which a trial shows
		{"", "", map[string]string{project: `{"disableAllHooks":"true","allowManagedHooksOnly":true}`}, "", ""},

		{"", token, nil, "--supervisor with CLAUDE_CODE_OAUTH_TOKEN as the only login: ", "claude would keep it from the reviewer\n"},
		{"", token, login("{}"), "", ""}, {"--verbose", token + "|ANTHROPIC_API_KEY=k", nil, "", ""},
		{"", token, map[string]string{users: `{"env":{"CLAUDE_CODE_OAUTH_TOKEN":"t"}}`}, "", ""},
		{"", token, map[string]string{".claude.json": `{"primaryApiKey":"k"}`}, "", ""},
		{"", token, map[string]string{".claude/ccc.json": `{"supervisor":{"provider":"a"},"providers":{"a":{}}}`}, "", ""},
		{"a", token, map[string]string{".claude/ccc.json": `{"providers":{"a":{}}}`}, "", ""},

		{"", "FAKE_CLAUDE_VERSION=2.1.279", nil, "version 2.1.279, is older than 2.1.280", "@latest"},
		{"", "FAKE_CLAUDE_VERSION=2.1.280", nil, "", ""},
	} {
		files := fmt.Sprint(test.args, test.variable, test.files)
		t.Run(files, func(t *testing.T) {
			if strings.HasPrefix(test.variable, token) && test.names != "" && runtime.GOOS == "darwin" {
				t.Skip("there a login is in no file")
			}
			box := newFakeBox(t)
			box.vars = append(box.vars, strings.Split(test.variable, "|")...)
			for name, content := range test.files {
				box.write(name, 0o600, content)
			}
			args := []string{"--supervisor"}
			if words := strings.Split(test.args, "|"); words[0] == "a" {
				args = append(args, "a", "-p", "hi")
			} else if words[0] != "" {
				args = append(args, append([]string{"-p", "hi"}, words...)...)
			}
			before := box.files()
			_, got := box.plan(args...)
			if code := map[bool]int{true: 2}[test.names != ""]; got.code != code || !strings.Contains(got.stderr, test.names) ||
				!strings.Contains(got.stderr, test.effect) {
				t.Errorf("%+v", got)
			}
			expectEqual(t, "what the plan of a launch leaves", box.files(), before)
		})
	}
	t.Run("a launch", func(t *testing.T) {
		box := newFakeBox(t)
		got := box.supervise("--desktop")
		expectEnd(t, "a launch", got, 2, "", "ccc: --supervisor with --desktop: ")
		expectIs(t, "what claude was called for", box.calls("agent")+box.calls("trial"), 0)
		if got := box.run(30*time.Second, "", "ccc", "--", "--desktop"); strings.Contains(got.stderr, "ccc: ") {
			t.Errorf("without --supervisor: %+v", got)
		}
	})
}

// Where claude runs no hooks the launch names what mutes them; else it says what claude said, and what claude has for it.
func TestTrialCause(t *testing.T) {
	t.Parallel()
	const effect = "ccc: claude was tried and ran no hooks, so nothing would be reviewed"
	const said, mutes, doctor = "; it said: ", ". This mutes them:\n     ", "\n     claude doctor\n"
	for name, test := range map[string]struct{ script, args, settings, said string }{
		"it complains":         {"echo cost; printf 'These settings\\n  did not load\\n' >&2", "", "{}", said + "These settings did not load" + doctor},
		"it fails":             {"echo out; echo 'unknown option' >&2; exit 3", "", "{}", said + "unknown option (exit status 3)" + doctor},
		"it fails on stdout":   {"echo out; exit 1", "", "{}", said + "out (exit status 1)" + doctor},
		"it says nothing":      {"echo cost", "", "{}", said + "nothing" + doctor},
		"a flag":               {"exec " + fakeClaude() + ` "$@"`, "--bare", "{}", mutes + "--bare\n     take that out\n"},
		"the user's settings":  {"exec " + fakeClaude() + ` "$@"`, "", `{"disableAllHooks":true}`, mutes + "HOME/.claude/settings.json: disableAllHooks\n     take that out:\n     ${EDITOR:-vi} HOME/.claude/settings.json\n"},
		"settings of the call": {"exec " + fakeClaude() + ` "$@"`, `--settings={"disableAllHooks":true}`, "{}", mutes + "--settings: disableAllHooks\n     take that out\n"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(mute(test.script))
			box.setSettings(test.settings)
			got := box.supervise(strings.Fields(test.args)...)
			if got.code != 1 || got.stdout != "" || got.stderr != effect+strings.ReplaceAll(test.said, "HOME", box.home) {
				t.Errorf("%+v", got)
			}
			expectIs(t, "whether it is remembered", len(box.answers()), 0)
		})
	}
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
	box.write(".claude/ccc.json", 0o600,
		`{"providers":{"a":{"env":{"ANTHROPIC_MODEL":"m"}}}}`)
	box.write("s.json", 0o600, "{}")
	box.vars = append(box.vars, "CCC_TRIAL="+box.home+"/inherited", testPatienceVariable+"=400s")
	dir := filepath.Join(box.home, ".claude/ccc/trial")
	got := box.run(60*time.Second, "", "ccc", "--supervisor", "a", "-p", "hi", "--settings", "../home/s.json", "--verbose", "--add-dir", "/")
	expectIs(t, "the exit code", got.code, 0)
	expectNotIn(t, "stderr", got.stderr, "warning", say(tryingHooks))
	expectIs(t, "the call", strings.ReplaceAll(box.read("../fake/trial-1.args"), "\n", " "),
		"-p --strict-mcp-config --setting-sources user --no-session-persistence --settings "+
			box.home+"/s.json /cost ")
	expectIs(t, "where", strings.TrimSpace(box.read("../fake/trial-1.cwd")), dir)
	env := box.environment("trial-1")
	expectIn(t, "the environment", env, "\nCCC_TRIAL="+dir+"-answer-",
		"\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n", "\nDISABLE_AUTOUPDATER=1\n",
		"ANTHROPIC_MODEL=m\n", "\nPWD="+dir+"\n", "\nCCC_PROVIDER=a\n")
	expectNotIn(t, "the session's environment", box.environment("agent-1"), "CCC_TRIAL=",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER")
	said := box.read("../fake/start-1.stdout") + box.read("../fake/start-1.stderr")
	expectIs(t, "what the hook says", said, "")
	expectIn(t, "and in the session", box.read("../fake/start-2.stdout"), "本会话受监督")
	expectIs(t, "the events in the log", strings.Count(box.log(), "event=SessionStart"), 1)
	id := jsonOf(t, strings.TrimSpace(box.read("../fake/start-1.stdin"))).at("session_id").text
	expectNotIn(t, "the log", box.log(), id)
	expectIs(t, "the sessions", len(box.supervised()), 1)
	entries, err := os.ReadDir(dir)
	check(t, err)
	expectIs(t, "what is in the directory", len(entries), 0)
	if left := box.answers(); len(left) != 1 || strings.Contains(left[0], "answer") {
		t.Errorf("what is left: %q", left)
	}
	if _, err := os.Stat(filepath.Join(box.home, "inherited")); err == nil {
		t.Error("an inherited CCC_TRIAL counts")
	}
	none := (&launch{dirs: dirs{here: "/p"}, args: []string{"--settings", "x", "--settings", ""}}).trialCommand()
	expectEqual(t, "settings that are none", none[len(trialCall):], []string{"--settings", "", "/cost"})
}

// In a trial the hook answers by the file alone, and blocks a prompt, whoever's session it is; a reviewer's
// own claude answers none.
func TestTrialAnswered(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CCC_TRIAL="+box.home+"/answer")
	expectEnd(t, "a stop", box.stop(""), 0, "", "")
	expectIs(t, "answered", box.read("answer"), "")
	expectEnd(t, "a prompt", box.submit("hi"), 0,
		`{"decision":"block","reason":"ccc tries the hooks, and no prompt is answered"}`+"\n", "")
	reviewers := *box
	reviewers.vars = append(slices.Clone(box.vars), "CCC_SUPERVISOR_HOOK=1")
	expectEnd(t, "a reviewer's", reviewers.hook(box.event(eventStart, "")), 0, `{"decision":"","":""}`+"\n", "")
	expectIs(t, "answered", box.read("answer"), "")
	expectEnd(t, "a start", box.hook(box.event(eventStart, `"source":"startup"`)), 0, "", "")
	expectIs(t, "answered", box.read("answer"), testSession)
	expectEqual(t, "the files", slices.DeleteFunc(box.files(),
		func(name string) bool { return strings.HasSuffix(name, ".jsonl") }), []string{"answer"})
	box.vars = append(box.vars, "CCC_TRIAL="+box.home+"/no/such/answer")
	expectEnd(t, "no place to answer", box.hook(box.event(eventStart, "")), 0, "",
		"no such file or directory")
}

// A trial that went well is not made again, until something changes that may decide whether hooks run, and as
// long as each session confirms it: the mark goes at a launch, and the session's own hook puts it back. What
// mutes hooks unseen, as an organization's settings, costs one session. ccc doctor remembers nothing.
func TestTrialRemembered(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, testTrustVariable+"=none")
	start := func(what string, tried bool, args ...string) {
		t.Helper()
		before := box.calls("trial")
		if got := box.supervise(args...); got.code != 0 || !strings.Contains(got.stdout, "Done.\n") {
			t.Errorf("%s: %+v", what, got)
		}
		expectIs(t, what+": whether claude was tried", box.calls("trial") > before, tried)
	}
	plan := func(what string, isRemembered bool, args ...string) { // and remember it
		t.Helper()
		l, got := box.plan(append([]string{"--supervisor", "-p", "hi"}, args...)...)
		expectIs(t, what+": the exit code", got.code, 0)
		_, err := os.Stat(l.markFile())
		expectIs(t, what+": whether it is remembered", err == nil, isRemembered)
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
	for _, variable := range []string{"CLAUDE_CODE_X=1", "DISABLE_X=1"} {
		box.vars = append(box.vars, variable)
		plan(variable, false)
		plan(variable+" again", true)
	}
	box.edit(".claude/settings.json", "{\n", "{ \n")
	plan("settings.json", false)
	plan("--settings", false, "--settings", "{}")
	plan("other --settings", false, "--settings", `{"model":"m"}`)
	box.write("s.json", 0o600, "{}")
	start("a file", true, "--settings", "../home/s.json")
	plan("the same file", true, "--settings", box.home+"/s.json")
	box.write("s.json", 0o600, "{ }")
	plan("the file, changed", false, "--settings", box.home+"/s.json")
	box.write(".claude/remote-settings.json", 0o600, `{"allowManagedHooksOnly":false}`)
	plan("an organization's settings", false)
	box.vars = append(box.vars, "FAKE_CLAUDE_VERSION=2.1.330")
	plan("another version", false)
	bin := filepath.Dir(box.program())
	box.link(fakeClaude(), "../bin/other")
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/other")
	plan("another claude", false)
	script := `case "$*" in *"$(cat "$HOME/flags")") exec ` + fakeClaude() + ` "$@" ;; esac; exec ` + fakeClaude() + ` "$@" --bare`
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/claude")
	box.claudeIs(script)
	plan("a wrapper", false)
	box.claudeIs("# edited\n" + script)
	start("the wrapper, edited", true)
	start("the wrapper again", false)
	changed := ago(time.Hour)
	check(t, os.Chtimes(bin+"/claude", changed, changed))
	plan("the wrapper, of another time", false)
	box.claudeIs("# edited again\n" + script)
	check(t, os.Chtimes(bin+"/claude", changed, changed))
	plan("the wrapper, of another size", false)
	box.write("flags", 0o600, "none of these") // the wrapper reads them, and its bytes stay
	reviews := box.calls("reviewer")
	start("muted unseen", false)
	expectIs(t, "the reviews of the session that it costs", box.calls("reviewer"), reviews)
	expectEnd(t, "the one behind it", box.supervise(), 1, "", "claude was tried and ran no hooks")
	box.write("flags", 0o600, "")
	trials := box.calls("trial")
	for range 2 {
		trials++
		if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 0 ||
			!strings.Contains(got.stdout, "ok       hooks tried: claude runs them\n") {
			t.Errorf("doctor: %+v", got)
		}
		expectIs(t, "how often doctor has tried", box.calls("trial"), trials)
	}

	// What nobody has needed for a month goes, one by one, and with the state all of it.
	start("once more", true)
	start("with --settings", true, "--settings", "{}")
	before := box.answers()
	for _, path := range before[1:] {
		check(t, os.Chtimes(path, ago(retention+time.Hour), ago(retention+time.Hour)))
	}
	check(t, box.stateDir().sweep())
	expectEqual(t, "swept", box.answers(), before[:1])
	box.write(".claude/ccc/trial/left/x", 0o600, "") // of one that was killed
	folders := func() []string {                     // that Claude Code keeps of the trials
		found, err := filepath.Glob(filepath.Join(box.home, ".claude/projects/*-ccc-trial"))
		check(t, err)
		return found
	}
	expectIs(t, "the folders of the trials", len(folders()), 1)
	expectIn(t, "uninstall", box.ccc("uninstall", "--purge"), "ccc: removed\n")
	expectIs(t, "those left", len(folders()), 0)
}

// Where another hook takes ccc's out in the trial, as one that copies an older settings.json back, the launch is
// refused, each time; where claude has changed the file otherwise, it is not remembered what was tried.
func TestTrialRan(t *testing.T) {
	box := newFakeBox(t)
	box.claudeIs(`case $* in */cost) ` + fakeClaude() + ` "$@"; [ ! -f "$HOME/old" ] || cat "$HOME/old" >"$HOME/.claude/settings.json"; exit ;; esac
exec ` + fakeClaude() + ` "$@"`)
	box.write("old", 0o600, "{}\n")
	for range 2 {
		got := box.supervise()
		expectEnd(t, "a launch", got, 1, "", "ccc's part went out of "+box.home+"/.claude/settings.json, so")
		expectNotIn(t, "a launch", got.stderr, "enabled")
	}
	box.prepare()
	doctor := box.run(60*time.Second, "", "ccc", "doctor")
	expectIs(t, "doctor", doctor.code, 1)
	expectIn(t, "doctor", doctor.stdout, "problem  hooks tried: as the hooks were tried, ccc's part")
	expectIs(t, "what is remembered", len(box.answers()), 0)
	box.prepare()
	box.write("old", 0o600, strings.Replace(box.settings(), "{\n", "{ \n", 1))
	expectIs(t, "brought up to date: the exit code", box.supervise().code, 0)
	expectIs(t, "brought up to date: the mark", len(box.answers()), 0)
	expectIs(t, "brought up to date: the next", box.supervise().code, 0)
	expectIs(t, "brought up to date: its mark", len(box.answers()), 1)
}

// shim is a claude as version managers put it into PATH: inside below a directory with a .tool-versions, else
// outside.
func shim(inside, outside string) string {
	return `dir=$PWD; until [ -f "$dir/.tool-versions" ]; do
	[ -n "$dir" ] || { ` + outside + `; }
	dir=${dir%/*}
done
exec ` + inside + ` "$@"`
}

// A shim that runs another program in the directory of trials than in the project, or none, has not been
// tried: the session starts with one warning, is reviewed, and nothing is remembered.
func TestTrialShim(t *testing.T) {
	t.Parallel()
	const none = "echo 'No version is set for command claude'; exit 126"
	const noHooks = `[ "$1" != --version ] || echo '%s (Claude Code)'; exit`
	for name, test := range map[string]struct {
		outside, stderr string // after the directory of trials
		isRemembered    bool
	}{
		"none": {none, `/bin/claude is not Claude Code: to --version it says "No version is set for ` +
			`command claude"`, false},
		"another":         {fmt.Sprintf(noHooks, "2.1.331"), "/bin/claude is version 2.1.331", false},
		"one that is old": {fmt.Sprintf(noHooks, "2.1.30"), "/bin/claude is version 2.1.30", false},
		"the same":        {`exec ` + fakeClaude() + ` "$@"`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(shim(fakeClaude(), test.outside))
			box.write("../work/.tool-versions", 0o600, "claude 2.1.332\n")
			const untried = "ccc: warning: whether claude runs ccc's hooks could not be tried: in "
			for range 2 {
				got := box.supervise()
				if got.code != 0 || !strings.Contains(got.stderr, "Supervisor mode enabled") ||
					strings.Contains(got.stderr, untried+box.home+"/.claude/ccc/trial, ") == test.isRemembered ||
					!strings.Contains(got.stderr, test.stderr) {
					t.Errorf("%+v", got)
				}
			}
			expectIs(t, "the reviews", box.calls("reviewer"), 2)
			expectIs(t, "whether it is remembered", len(box.answers()) > 0, test.isRemembered)
			doctor := box.run(60*time.Second, "", "ccc", "doctor").stdout
			if !test.isRemembered {
				expectIn(t, "doctor", doctor, "warning  hooks tried: they could not be: in\n")
			}
		})
	}
}

// What claude --version leaves running holds no launch up, and the version is known.
func TestVersionLeavesRunning(t *testing.T) {
	box := newFakeBox(t)
	box.claudeIs(`echo "2.1.332 (Claude Code)"; sleep 20 &`)
	start := time.Now()
	version, _, err := askVersion(filepath.Join(box.home, "../bin/claude"), box.vars, box.work)
	check(t, err)
	expectIs(t, "the version", version, "2.1.332")
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	box.kill()
}

// A program that tells no version of Claude Code's is started with one warning, and never tried; one that is
// too old is refused before anything is written.
func TestTrialStandIn(t *testing.T) {
	const untried = "ccc: warning: whether claude runs ccc's hooks could not be tried: "
	const says = "/bin/claude is not Claude Code: to --version it says %q\n"
	for script, said := range map[string]string{
		`echo started "$@"`: "started --version",
		`[ "$1" != --version ] || exit 3; echo started "$@"`:                           "exit status 3",
		`[ "$1" != --version ] || exec echo "2.1.332 (Other Code)"; echo started "$@"`: "2.1.332 (Other Code)",
	} {
		box := newFakeBox(t)
		box.claudeIs(script)
		got := box.supervise()
		if got.code != 0 || got.stdout != "started -p hi\n" || strings.Count(got.stderr, "warning") != 1 ||
			!strings.Contains(got.stderr, "Supervisor mode enabled") {
			t.Errorf("%s: %+v", script, got)
		}
		expectIn(t, "stderr", got.stderr, untried, fmt.Sprintf(says, said))
		expectIs(t, "what is remembered", len(box.answers()), 0)
	}
	for version, isOld := range map[string]bool{"2.1.279": true, "2.1.280": false, "2.1.331-dev.7": false,
		"2.1.279-dev.1": true, "1.9.999": true} {
		box := newFakeBox(t)
		box.claudeIs(`[ "$1" != --version ] || { echo "warning: x"; echo "` + version +
			` (Claude Code)"; exit; }; exec ` + fakeClaude() + ` "$@"`)
		got := box.supervise()
		expectIs(t, version+" is refused", got.code == 2, isOld)
		if isOld {
			expectIn(t, "stderr", got.stderr,
				"/claude, version "+version+", is older than 2.1.280\n"+
					"     claude update, or where npm has installed it:\n     "+installClaude+"\n")
			expectIs(t, "files", len(box.files()), 0)
			box.vars = append(box.vars, "CCC_CLAUDE="+filepath.Join(box.home, "../bin/claude"))
			expectIn(t, "stderr", box.supervise().stderr, "is older than 2.1.280\n     unset CCC_CLAUDE; ")
		}
	}
	// One that does not answer is not waited for.
	box := newFakeBox(t)
	box.claudeIs(`[ "$1" != --version ] || exec sleep 60; echo started "$@"`)
	box.vars = append(box.vars, testVersionVariable+"=1s")
	got := box.supervise()
	expectIs(t, "what has started", got.stdout, "started -p hi\n")
	expectIn(t, "stderr", got.stderr, untried, "/bin/claude did not answer --version within 1s\n")
	// A session that is not supervised is asked for nothing.
	box = newFakeBox(t)
	box.claudeIs(`echo "$@" >>"$HOME/calls"`)
	box.run(30*time.Second, "", "ccc", "-p", "hi")
	expectIs(t, "the calls", box.read("calls"), "-p hi\n")
}

// A settings.json that can't be written and lacks something of ccc's is refused, with the file; one that lacks
// nothing is tried and used.
func TestTrialUnwritable(t *testing.T) {
	onlyRoot(t) // who can be another user
	t.Parallel()
	for name, change := range map[string][]string{"complete": nil, "without SessionStart": {`"SessionStart"`, `"Other"`},
		"without Stop": {`"Stop"`, `"Other"`}, "another timeout": {`"timeout": 600`, `"timeout": 700`},
		"without a key": {`"disableAllHooks"`, `"other"`}} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.prepare()
			text := strings.NewReplacer(change...).Replace(box.settings())
			box.write("store/settings.json", 0o444, text)
			check(t, os.Remove(filepath.Join(box.home, ".claude/settings.json")))
			box.link("../store/settings.json", ".claude/settings.json")
			state := filepath.Join(box.home, ".claude/ccc")
			check(t, os.RemoveAll(state))
			box.ordinary()
			check(t, os.Chmod(filepath.Join(box.home, "store"), 0o500))
			got := box.supervise()
			_, unmade := os.Stat(state)
			expectIs(t, "whether anything was written", unmade == nil, change == nil)
			check(t, os.Chmod(filepath.Join(box.home, "store"), 0o700))
			refused := "ccc: " + box.home + "/.claude/settings.json lacks something of ccc's, and can't be replaced: permission denied\n"
			expectIs(t, "the exit code", got.code, map[bool]int{false: 1}[change == nil])
			expectIs(t, "whether it says why", strings.Contains(got.stderr, refused), change != nil)
			expectIs(t, "whether it was reviewed", box.calls("reviewer") > 0, change == nil)
			expectIs(t, "whether it is called enabled", strings.Contains(got.stderr, "enabled"), change == nil)
			expectIs(t, "settings.json", box.read("store/settings.json"), text)
		})
	}
	t.Run("another owner's", func(t *testing.T) {
		box := newFakeBox(t)
		box.write(".claude/settings.json", 0o644, "{}")
		box.ordinary()
		check(t, os.Chown(filepath.Join(box.home, ".claude/settings.json"), 0, 0))
		expectEnd(t, "a launch", box.supervise(), 1, "", "settings.json lacks something of ccc's, and can't be replaced: permission denied\n")
		expectIs(t, "settings.json", box.settings(), "{}")
	})
}

// A settings.json of 1.3's is brought up to date at the next launch, and doctor names what is missing before.
func TestTrialUpgrade(t *testing.T) {
	box := newFakeBox(t)
	box.prepare()
	complete := box.settings()
	box.setSettings(string(dropJSON([]byte(complete), "hooks", eventStart)))
	got := box.run(60*time.Second, "", "ccc", "doctor")
	if got.code != 0 || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "),
		"warning hooks: "+box.home+"/.claude/settings.json lacks something") ||
		strings.Contains(got.stdout, "hooks tried") {
		t.Errorf("doctor: %+v", got)
	}
	box.launch()
	expectIs(t, "settings.json", minified(box.settings()), minified(complete))
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

// A launch that is refused leaves nothing that it has made, and each file byte for byte as it was; what another program has
// changed meanwhile stays.
func TestTrialTakesBack(t *testing.T) {
	t.Parallel()
	users := map[string]string{
		".claude/settings.json":          "\n{ \"hooks\" : {\"Stop\":[ ]} , \"model\":\"m\"}",
		".claude/SUPERVISOR.md":          defaultPrompt.en,
		".claude/commands/supervisor.md": commandFile.en,
		".claude/commands/mine.md":       "mine",
		".claude/.ccc-installed.json":    `{"files":{},"added":[]}`,
	}
	for name, test := range map[string]struct {
		script string
		files  map[string]string
	}{
		"a first launch":          {"", nil},
		"files of the user's":     {"", users},
		"blank settings":          {"", map[string]string{".claude/settings.json": " \n"}},
		"it is ended by a signal": {`kill -INT $PPID; exec sleep 60`, users},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(mute(test.script))
			for path, text := range test.files {
				box.write(path, 0o640, text)
			}
			box.link("elsewhere/settings.json", "dangling")
			before := box.tree()
			got := box.supervise()
			if got.code == 0 || strings.Contains(got.stderr, "enabled") || strings.Contains(got.stderr, "warning") {
				t.Errorf("%+v", got)
			}
			expectIs(t, "what is in the home", box.tree(), before)
		})
	}
	t.Run("another program changes them", func(t *testing.T) {
		box := newFakeBox(t)
		box.claudeIs(mute(`cd ~/.claude; echo mine >>SUPERVISOR.md; echo mine >commands/mine.md; sed -i s/false/true/ settings.json`))
		expectIs(t, "changed meanwhile: the exit code", box.supervise().code, 1)
		expectEqual(t, "changed meanwhile: what stays", box.files(),
			[]string{".claude/SUPERVISOR.md", ".claude/commands/mine.md", ".claude/settings.json"})
	})
}

// tree is what lies under the home: each name with its mode, and its bytes or where it leads.
func (box *sandbox) tree() (all string) {
	check(box.t, filepath.Walk(box.home, func(path string, info os.FileInfo, err error) error {
		text, _ := os.ReadFile(path)
		link, _ := os.Readlink(path)
		all += fmt.Sprintf("%s %v %s%q\n", strings.TrimPrefix(path, box.home), info.Mode(), link, text)
		return err
	}))
	return all
}

// A refused launch leaves the hooks to another launch that relies on them: two terminals at once, of which the first has
// written them, and waits for its trial while the second goes ahead.
func TestTrialOfTwo(t *testing.T) {
	box := newFakeBox(t)
	box.claudeIs(`case $* in */cost) [ -z "$HELD" ] || { >"$HOME/held"; until [ -f "$HOME/go" ]; do sleep 0.05; done; exit; } ;; esac
exec ` + fakeClaude() + ` "$@"`)
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

// A trial that is not over in time is late, whatever else there is; nobody says that claude runs no hooks.
func TestTrialLate(t *testing.T) {
	box := newFakeBox(t)
	box.claudeIs(mute("exec sleep 60"))
	box.vars = append(box.vars, testPatienceVariable+"=1s")
	got := box.supervise()
	expectEnd(t, "a launch", got, 1, "", "ccc: claude has not run the hooks within 1 s; try again, or start it once by itself\n     claude\n")
	expectNotIn(t, "stderr", got.stderr, "ran no hooks", "doctor")
}

// A settings.json that is a mount of its own can't be replaced: launch and doctor say so before anything is written, and
// with the guide's entries in it, in whichever language, the launch goes ahead. A command file that can't be written is
// told once.
func TestTrialFixed(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "COLUMNS=1000")
	if box.run(10*time.Second, "", "unshare", "-rm", "true").code != 0 {
		t.Skip("no mounts can be made here")
	}
	settings := filepath.Join(box.home, ".claude/settings.json")
	within := func(command string) commandResult { // with the mounts
		const mounts = `mount --bind "$1" "$1" && mount --bind ~/store ~/store && mount -o remount,bind,ro ~/store && exec `
		return box.run(60*time.Second, "", "unshare", "-rm", "sh", "-c", mounts+command, "sh", settings)
	}
	box.write("store/other.md", 0o600, "mine")
	box.write(".claude/settings.json", 0o600, "{}")
	box.link("../store", ".claude/commands")
	before := box.tree()
	const lacks = "settings.json lacks something of ccc's, and can't be replaced: device or resource busy (it is a mount of its own)\n"
	const guide = `"My settings.json is made by a program, or is read-only":` + "\n"
	expectEnd(t, "a launch", within("ccc --supervisor -p hi"), 1, "", lacks+"     it needs the entries that the guide has under "+guide)
	doctor := within("ccc doctor")
	expectIs(t, "doctor's exit code", doctor.code, 1)
	expectIn(t, "doctor", doctor.stdout, "problem  hooks: "+settings[:len(settings)-len("settings.json")]+lacks, guide)
	expectIs(t, "what is in the home", box.tree(), before)
	box.prepare()
	text := box.settings()
	for _, message := range []words{reviewing, reviewingQuestion} {
		text = strings.Replace(text, message.zh, message.en, 1)
	}
	box.write(".claude/settings.json", 0o600, text)
	check(t, os.Remove(filepath.Join(box.home, ".claude/.ccc-installed.json")))
	check(t, os.Remove(filepath.Join(box.home, "store/supervisor.md")))
	for _, told := range []int{1, 0} {
		got := within("ccc --supervisor -p hi")
		expectIs(t, "with the entries: "+got.stderr, got.code, 0)
		expectCounts(t, "stderr", got.stderr, map[string]int{"enabled": 1, "warning": told,
			"warning: writing " + box.home + "/.claude/commands/supervisor.md: ": told, "read-only file system": told})
	}
	expectIs(t, "settings.json", box.settings(), text)
	expectIn(t, "doctor", within("ccc doctor").stdout, "warning  hooks: without "+box.home+"/.claude/commands/supervisor.md Claude Code does not know /supervisor\n")
}
