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
	command := append([]string{"ccc", "--supervisor", "-p", "hi"}, args...)
	return box.run(60*time.Second, "", command...)
}

// mute is a claude that tells a version and runs no hook, but what stands in script.
func mute(script string) string {
	return "[ \"$1\" != --version ] || exec echo '2.1.332 (Claude Code)'\n" + script + "\n"
}

// A launch whose session would not be reviewed is refused with the cause, the file and the exit code: before
// anything is written where arguments, variables or settings say so, else once claude was tried and ran no
// hooks. What only looks like one starts.
func TestTrialRefused(t *testing.T) {
	t.Parallel()
	type row struct {
		args, variable, file, content, project string // project is its settings.json
		code                                   int
		names                                  string
		tried                                  bool // what else is refused is refused in the plan
		started                                bool // it starts, which a trial alone can show
	}
	const muted, unmuting = `{"disableAllHooks":true}`, `{"disableAllHooks":false}`
	const users, local, managed = ".claude/settings.json", "../work/.claude/settings.local.json",
		"managed.json"
	const skips, simple = `{"env":{"CLAUDE_CODE_SKIP_PROMPT_HISTORY":"1"}}`, `{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`
	rows := []row{
		{args: "--cloud=x", code: 2, names: "--supervisor with --cloud: "},
		{args: "--remote|x", code: 2, names: "--supervisor with --remote: "},
		{args: "--setting-sources|project, local", code: 2, names: "--setting-sources project, local"},
		{args: "--setting-sources|", code: 2, names: "--setting-sources , without user"},
		{args: "--setting-sources|project,user"},
		{args: "--no-session-persistence", code: 2,
			names: "--supervisor with --no-session-persistence: claude would keep no conversation"},
		{args: "--|--bare"}, {args: "--|--no-session-persistence"},

		{variable: "CLAUDE_CODE_SKIP_PROMPT_HISTORY=1", code: 1,
			names: "CLAUDE_CODE_SKIP_PROMPT_HISTORY is set: claude would keep no conversation"},
		{variable: "CLAUDE_CODE_SKIP_PROMPT_HISTORY=0"},
		{file: users, content: skips, code: 1,
			names: "home/.claude/settings.json: env.CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"},
		{project: skips, code: 1,
			names: "work/.claude/settings.json: env.CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"},
		{file: ".claude/ccc.json", content: `{"settings":` + skips + `}`, code: 1,
			names: "ccc.json: settings.env.CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"},
		{file: ".claude/ccc.json",
			content: `{"current_provider":"a","providers":{"a":` + skips + `}}`, code: 1,
			names: "unset it, or take it out of the provider's env:\n     ${EDITOR:-vi} "},
		{args: "--settings|" + skips, code: 2,
			names: "--settings: env.CLAUDE_CODE_SKIP_PROMPT_HISTORY is set"},

		{project: simple, variable: "FAKE_CLAUDE_VERSION=2.1.200", code: 1,
			names: "work/.claude/settings.json: env.CLAUDE_CODE_SIMPLE is set: claude would run no hooks"},
		{project: simple, variable: "FAKE_CLAUDE_VERSION=2.1.280"},

		// Of these the first with a boolean decides.
		{project: muted, code: 1,
			names: "work/.claude/settings.json: disableAllHooks is true: claude would run no hooks"},
		{file: local, content: muted, code: 1, names: "settings.local.json: disableAllHooks is true"},
		{file: local, content: muted, project: unmuting, code: 1,
			names: "settings.local.json: disableAllHooks is true"},
		{file: local, content: unmuting, project: muted, started: true},
		{file: managed, content: muted, code: 1, names: "managed.json: disableAllHooks is true"},
		{file: "managed.d/own.json", content: muted, code: 1,
			names: "managed.d/own.json: disableAllHooks is true"},
		{args: "--settings|" + muted, code: 2, names: "--settings: disableAllHooks is true"},
		{args: "--settings=../home/s.json", file: "s.json", content: muted, code: 2,
			names: "--settings: disableAllHooks is true"},
		{args: "--settings|" + muted + "|--settings|{}", started: true},
		{args: "--settings|" + muted, project: unmuting, code: 2,
			names: "--settings: disableAllHooks is true"},
		{args: "--settings|" + unmuting, project: muted},
		{args: "--settings|" + unmuting, file: managed, content: muted, code: 1,
			names: "managed.json: disableAllHooks is true"},
		{project: `{"disableAllHooks":"true","allowManagedHooksOnly":true}`},

		{args: "--bare", tried: true, code: 2,
			names: "--supervisor with --bare: claude was tried and ran no hooks, so nothing would be"},
		{args: "--safe-mode", tried: true, code: 2, names: "--supervisor with --safe-mode: "},
		{args: "--restricted", tried: true, code: 2, names: "--supervisor with --restricted: "},
		{file: ".claude/ccc.json", content: `{"claude_args":["--bare"]}`, tried: true, code: 2,
			names: "--supervisor with --bare: "},
		{file: users, content: muted, tried: true, code: 1,
			names: "home/.claude/settings.json: disableAllHooks is true: claude was tried"},
		{file: users, content: muted, project: unmuting, tried: true, code: 1,
			names: "home/.claude/settings.json: disableAllHooks is true: claude was tried"},
		{file: users, content: `{"allowManagedHooksOnly":true}`, started: true},
		{file: ".claude/ccc.json", content: `{"settings":` + muted + `}`, started: true}, // comes behind ccc's own false
	}
	for _, test := range rows {
		t.Run(test.args+test.variable+test.file+test.content+test.project, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, test.variable, testManagedVariable+"="+box.home+"/"+managed)
			if test.file != "" {
				box.write(test.file, 0o600, test.content)
			}
			if test.project != "" {
				box.write("../work/.claude/settings.json", 0o600, test.project)
			}
			args := strings.Split(test.args, "|")
			if test.args == "" {
				args = nil
			}
			// Only another process has its managed settings elsewhere, and another current directory.
			needsProcess := strings.HasPrefix(test.file, "managed") || strings.Contains(test.args, "../")
			if !test.tried && !test.started && !needsProcess {
				_, got := box.plan(append([]string{"--supervisor", "-p", "hi"}, args...)...)
				if got.code != test.code || !strings.Contains(got.stderr, test.names) {
					t.Errorf("%+v", got)
				}
				return
			}
			before := box.files()
			got := box.supervise(args...)
			expectIs(t, "whether claude was tried", box.calls("trial") > 0, test.code == 0 || test.tried)
			expectIs(t, "whether it started", box.calls("agent") > 0 &&
				strings.Contains(got.stderr, "Supervisor mode enabled"), test.code == 0)
			if got.code != test.code || !strings.Contains(got.stderr, test.names) ||
				test.code != 0 && got.stdout != "" {
				t.Errorf("%+v", got)
			}
			if test.code != 0 && !test.tried {
				expectEqual(t, "what a refused launch leaves", box.files(), before)
			}
			if test.file == users { // ccc changes none of its values
				for _, m := range jsonOf(t, test.content).members {
					expectIs(t, m.key, jsonOf(t, box.read(users)).at(m.key).raw, m.value.raw)
				}
			}
		})
	}
}

// Where claude runs no hooks and no cause is known, the launch says what claude said; a variable that is set
// to nothing and a managed setting are named.
func TestTrialCause(t *testing.T) {
	t.Parallel()
	const effect = "claude was tried and ran no hooks, so nothing would be reviewed"
	const doctor = "\n     a value that claude does not take makes it drop the whole file; " +
		"it lists these:\n     claude doctor\n"
	for name, test := range map[string]struct{ script, variable, managed, stderr string }{
		"it complains": {"echo cost; printf 'These settings\\n  did not load\\n' >&2", "", "",
			effect + "; it said: These settings did not load" + doctor},
		"it fails": {"echo out; echo 'unknown option' >&2; exit 3", "", "",
			effect + "; it said: unknown option (exit status 3)" + doctor},
		"it fails on stdout": {"echo out; exit 1", "", "",
			effect + "; it said: out (exit status 1)" + doctor},
		"it says nothing": {"echo cost", "", "", effect + "; it said: nothing" + doctor},
		"it does not end": {"exec sleep 60", "", "",
			effect + "; it said: (it had not ended after 1s)" + doctor},
		"set to nothing": {"echo x >&2", "CLAUDE_CONFIG_DIR=", "",
			"CLAUDE_CONFIG_DIR is set to nothing, which means the current directory to claude: " + effect +
				"\n     unset CLAUDE_CONFIG_DIR\n"},
		"managed hooks alone": {"echo x >&2", "", `{"allowManagedHooksOnly":true}`,
			"managed.json: allowManagedHooksOnly is true: " + effect +
				"\n     set it to false:\n     ${EDITOR:-vi} "},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(mute(test.script))
			box.vars = append(box.vars, test.variable, testManagedVariable+"="+box.home+"/managed.json")
			if name == "it does not end" {
				box.vars = append(box.vars, testPatienceVariable+"=1s")
			}
			if test.managed != "" {
				box.write("managed.json", 0o600, test.managed)
			}
			got := box.supervise()
			if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, test.stderr) ||
				strings.Contains(got.stderr, "enabled") {
				t.Errorf("%+v", got)
			}
			if strings.Count(box.settings(), "supervisor-hook") != 4 { // what was written stays
				t.Errorf("settings.json: %s", box.settings())
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
		`{"claude_args":["--settings","../home/s.json","--verbose"],"current_provider":"a",`+
			`"providers":{"a":{"env":{"ANTHROPIC_MODEL":"m"}}}}`)
	box.write("s.json", 0o600, "{}")
	box.vars = append(box.vars, "CCC_TRIAL="+box.home+"/inherited", testPatienceVariable+"=400s")
	dir := filepath.Join(box.home, ".claude/ccc/trial")
	got := box.supervise("--add-dir", "/")
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
	for _, trace := range []string{"projects/" + projectFolder(dir), "session-env/" + id} {
		if _, err := os.Stat(filepath.Join(box.home, ".claude", trace)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", trace, err)
		}
	}
	if left := box.answers(); len(left) != 1 || strings.Contains(left[0], "answer") {
		t.Errorf("what is left: %q", left)
	}
	if _, err := os.Stat(filepath.Join(box.home, "inherited")); err == nil {
		t.Error("an inherited CCC_TRIAL counts")
	}
	none := (&trial{dirs: dirs{here: "/p"}, args: []string{"--settings", "x", "--settings", ""}}).command()
	expectEqual(t, "settings that are none", none[len(trialCall):], []string{"--settings", "", "/cost"})
	for path, want := range map[string]string{"/a/b.c_1": "-a-b-c-1", "/文/é": "----"} {
		expectIs(t, path, projectFolder(path), want)
	}
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

// An answer counts until something changes that may decide whether hooks run, and no longer; ccc doctor
// remembers nothing.
func TestTrialRemembered(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"try":false}}`)
	box.vars = append(box.vars, testManagedVariable+"="+managedSettings) // where this process has them
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
		_, err := os.Stat(l.memoryFile())
		expectIs(t, what+": whether it is remembered", err == nil, isRemembered)
		check(t, os.WriteFile(l.memoryFile(), nil, 0o600))
	}
	start("the first", true)
	start("the next", false)
	for _, kept := range []string{"CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_SSE_PORT=1", "CLAUDE_PID=7",
		"CLAUDE_CODE_CHILD_SESSION=1", "OTHER=x", "CCC_LAUNCH=x"} {
		box.vars = append(box.vars, kept)
		plan(kept, true)
	}
	plan("another prompt", true, "--verbose")
	for _, variable := range []string{"CLAUDE_CODE_X=1", "ANTHROPIC_X=1", "DISABLE_X=1"} {
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
	box.vars = append(box.vars, "FAKE_CLAUDE_VERSION=2.1.330")
	plan("another version", false)
	bin := filepath.Dir(box.program())
	box.link(fakeClaude(), "../bin/other")
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/other")
	plan("another claude", false)
	script := "exec " + fakeClaude() + ` "$@"`
	box.vars = append(box.vars, "CCC_CLAUDE="+bin+"/claude")
	box.claudeIs(script)
	plan("a wrapper", false)
	plan("the wrapper again", true)
	box.claudeIs("# edited\n" + script)
	start("the wrapper, edited", true)
	box.vars = append(box.vars, testManagedVariable+"="+filepath.Join(box.home, "managed.json"))
	start("another file of managed settings", true)
	box.write("managed.json", 0o600, "{}")
	start("managed settings", true)
	box.write("managed.d/a.json", 0o600, "{}")
	start("more of them", true)
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
	before := box.answers()
	for _, path := range before[1:] {
		check(t, os.Chtimes(path, ago(retention+time.Hour), ago(retention+time.Hour)))
	}
	check(t, os.Chtimes(filepath.Join(box.home, lockPath), ago(sweepInterval+time.Hour),
		ago(sweepInterval+time.Hour)))
	check(t, box.stateDir().sweep())
	expectEqual(t, "swept", box.answers(), before[:1])
	box.write(".claude/ccc/trial/left/x", 0o600, "") // of one that was killed
	expectIn(t, "uninstall", box.ccc("uninstall", "--purge"), "ccc: removed\n")
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
	version, err := askVersion(filepath.Join(box.home, "../bin/claude"), box.work, box.vars)
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
	for version, isOld := range map[string]bool{"2.1.199": true, "2.1.200": false, "2.1.331-dev.7": false,
		"2.1.199-dev.1": true, "1.9.999": true} {
		box := newFakeBox(t)
		box.claudeIs(`[ "$1" != --version ] || { echo "warning: x"; echo "` + version +
			` (Claude Code)"; exit; }; exec ` + fakeClaude() + ` "$@"`)
		got := box.supervise()
		expectIs(t, version+" is refused", got.code == 1, isOld)
		if isOld {
			expectIn(t, "stderr", got.stderr,
				"/claude, version "+version+", is older than 2.1.200\n"+
					"     claude update, or where npm has installed it:\n     "+installClaude+"\n")
			expectIs(t, "files", len(box.files()), 0)
			box.vars = append(box.vars, "CCC_CLAUDE="+filepath.Join(box.home, "../bin/claude"))
			expectIn(t, "stderr", box.supervise().stderr, "is older than 2.1.200\n     unset CCC_CLAUDE; ")
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

// A settings.json that can't be written: where it lacks the hook of SessionStart alone, as under 1.3, the
// session starts with a warning and what to add; one that lacks more is refused with all that; one that lacks
// none is tried.
func TestTrialUnwritable(t *testing.T) {
	onlyRoot(t) // who can be another user
	t.Parallel()
	const merge = "\n     merge this into what makes that file:\n     "
	replaced := func(old, new string) func(*sandbox) string {
		return func(box *sandbox) string { return strings.ReplaceAll(box.settings(), old, new) }
	}
	for name, test := range map[string]struct {
		settings func(box *sandbox) string
		code     int
		stderr   []string
		trials   int
	}{
		"of 1.3": {replaced(`"SessionStart"`, `"Other"`), 0,
			[]string{"ccc: warning: whether claude runs ccc's hooks could not be tried: " +
				"adding ccc's hooks for SessionStart to SETTINGS: ", "permission denied" + merge +
				`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"CCC supervisor-hook",` +
				`"timeout":10}]}]}}` + "\n", "Supervisor mode enabled"}, 0},
		"of nobody": {func(*sandbox) string { return "{}" }, 1,
			[]string{"ccc: adding ccc's hooks for Stop, PreToolUse, UserPromptSubmit, SessionStart to ",
				"SETTINGS: ", "permission denied" + merge + `{"allowManagedHooksOnly":false,"disableAllHooks":false,` +
					`"hooks":{"PreToolUse":[{"matcher":"AskUserQuestion","hooks":[{`}, 0},
		"of reviews alone": {replaced(`"Stop"`, `"Other"`), 1,
			[]string{"ccc: adding ccc's hooks for Stop to SETTINGS: ", "permission denied" + merge}, 0},
		"complete": {(*sandbox).settings, 0, []string{"Supervisor mode enabled"}, 1},
		"another timeout": {replaced(`"timeout": 600`, `"timeout": 700`), 0,
			[]string{"ccc: warning: SETTINGS stays as it is: ", "Supervisor mode enabled"}, 1},
		"muted since then": {replaced("false", "true"), 1,
			[]string{"disableAllHooks is true: claude was tried"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.prepare()
			text := test.settings(box)
			box.write("store/settings.json", 0o444, text)
			check(t, os.Remove(filepath.Join(box.home, ".claude/settings.json")))
			box.link("../store/settings.json", ".claude/settings.json")
			before := box.calls("trial")
			box.ordinary()
			check(t, os.Chmod(filepath.Join(box.home, "store"), 0o500))
			got := box.supervise()
			check(t, os.Chmod(filepath.Join(box.home, "store"), 0o700))
			expectIs(t, "the exit code", got.code, test.code)
			for _, want := range test.stderr {
				want = strings.NewReplacer("SETTINGS", box.home+"/.claude/settings.json", "CCC",
					box.program()).Replace(want)
				expectIn(t, "stderr", got.stderr, want)
			}
			expectIs(t, "warnings", strings.Count(got.stderr, "warning"),
				map[bool]int{true: 1}[strings.Contains(test.stderr[0], "warning")])
			expectIs(t, "the trials", box.calls("trial")-before, test.trials)
			expectIs(t, "settings.json", box.read("store/settings.json"), text)
			expectIs(t, "whether it was reviewed", box.calls("reviewer") > 0, test.code == 0)
			_, merged, _ := strings.Cut(got.stderr, merge)
			merged, _, _ = strings.Cut(merged, "\n")
			if name == "of nobody" { // what it prints is all that a launch wants
				check(t, os.WriteFile(filepath.Join(box.home, "store/settings.json"), []byte(merged), 0o644))
				check(t, os.Chmod(filepath.Join(box.home, "store"), 0o500))
				if got := box.supervise(); got.code != 0 || strings.Contains(got.stderr, "warning") {
					t.Errorf("with that: %+v", got)
				}
				check(t, os.Chmod(filepath.Join(box.home, "store"), 0o700))
			}
		})
	}
}

// A settings.json of 1.3's is brought up to date at the next launch, and doctor names what is missing before.
func TestTrialUpgrade(t *testing.T) {
	box := newFakeBox(t)
	box.prepare()
	complete := box.settings()
	box.setSettings(string(dropJSON([]byte(complete), "hooks", eventStart)))
	got := box.run(60*time.Second, "", "ccc", "doctor")
	if got.code != 0 ||
		!strings.Contains(got.stdout, "warning  hooks: ccc's for SessionStart are missing") ||
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
