package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// newDoctorBox makes a box in which all is well: launched once, with a provider.
// There, npm runs the shell script ./install, and sudo is env.
func newDoctorBox(t *testing.T) *sandbox {
	t.Helper()
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":12,"provider":"kimi"},"providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"SECRET"}}}}`)
	box.prepare()
	for name, path := range map[string]string{"npm": "/bin/sh", "sudo": "/usr/bin/env"} {
		box.link(path, "../bin/"+name)
	}
	box.write("../work/install", 0o600, fmt.Sprintf("ln -sf %s %s\n", fakeClaude(), filepath.Join(box.home, "../bin/claude")))
	box.vars = append(box.vars, "COLUMNS=1000", "FAKE="+fakeClaude(), "EDITOR=cp "+filepath.Join(box.home, "good"),
		testManagedVariable+"="+filepath.Join(box.home, "managed.json"))
	return box
}

// edit replaces text in a file under the home.
func (box *sandbox) edit(name, old, new string) {
	box.t.Helper()
	text := box.read(name)
	if !strings.Contains(text, old) {
		box.t.Fatalf("no %q in %s:\n%s", old, name, text)
	}
	box.write(name, 0o600, strings.ReplaceAll(text, old, new))
}

func TestDoctorWell(t *testing.T) {
	box := newDoctorBox(t)
	before := box.files()
	got := box.run(60*time.Second, "", "ccc", "doctor")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	var subjects []string
	for line := range strings.Lines(got.stdout) {
		subject, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "Nothing has to be fixed") { // what mends, and the last line
			continue
		}
		subjects = append(subjects, subject)
	}
	want := []string{"ok       configuration", "ok       provider", "ok       claude", "ok       hooks",
		"ok       hooks tried", "ok       reviewer's prompt", "ok       state directory", "ok       git", "ok       copies", "ok       project's check"}
	if !slices.Equal(subjects, want) || strings.Contains(got.stdout, "SECRET") {
		t.Errorf("it says\n%s", got.stdout)
	}
	expectIn(t, "doctor", got.stdout, "ok       configuration: "+box.home+"/.claude/ccc.json\n", "ok       provider: kimi\n", "ok       hooks tried: claude runs them\n", "ok       state directory: "+box.home+"/.claude/ccc\n",
		"ok       hooks: "+box.home+"/.claude/settings.json calls "+box.program()+"\n", "ok       claude: "+filepath.Dir(box.program())+"/claude, version 2.1.332\n", "version 2.1.332", fmt.Sprintf("built-in, %d bytes", len(defaultPrompt.zh)))
	if !strings.HasSuffix(got.stdout, "\nNothing has to be fixed. To start: ccc --supervisor\n") {
		t.Errorf("it ends %s", got.stdout)
	}
	expectEqual(t, "the files", box.files(), before)
	expectIs(t, "what claude was started with", box.read("../fake/agent-1.args"), "")
}

// Doctor has a line for git, without which no reviewer is shown what has changed.
func TestDoctorGit(t *testing.T) {
	box := newDoctorBox(t)
	for script, want := range map[string]string{
		"git init -q; %s": "ok       git: 2.", "%s": "; outside a repository, as here, a reviewer is not shown what has changed\n",
		withoutGit + "; %s":                      "warning  git: a reviewer is not shown what has changed: exec: \"git\": executable file not found in $PATH\n",
		gitIs("2.33.8") + "; %s":                 "warning  git: a reviewer is not shown what has changed: it is older than 2.34: 2.33.8\n         install",
		gitIs("2.34.1") + "; %s":                 "ok       git: 2.34.1",
		gitIs("2.50.1 (Apple Git-155)") + "; %s": "ok       git: 2.50.1 (Apple Git-155)",
		gitIs("none") + "; %s":                   "warning  git: a reviewer is not shown what has changed: it is older than 2.34: none\n",
	} {
		got := box.run(60*time.Second, "", "sh", "-c", "rm -rf .git ../bin/git; "+fmt.Sprintf(script, "exec ccc doctor"))
		expectIs(t, script+": the exit code", got.code, 0)
		expectIn(t, script, got.stdout, want)
	}
}

// gitIs is a script that puts a git of that version into PATH, and withoutGit one that leaves none there.
func gitIs(version string) string {
	return "printf '#!/bin/sh\\necho \"git version " + version + "\"\\n' >../bin/git; chmod 700 ../bin/git"
}

const withoutGit = `others=$(mktemp -d); (IFS=:; for dir in $PATH; do ln -s "$dir"/* $others 2>/dev/null; done); rm -f $others/git; PATH=$others`

// A program that is gone is one finding, which the next launch mends: no hook of it is tried.
func TestDoctorProgramGone(t *testing.T) {
	box := newDoctorBox(t)
	got := box.run(60*time.Second, "", "sh", "-c", doctorShell+`replace $settings '[^"]*bin/ccc' /no/such/ccc; ccc doctor`)
	expectIn(t, "doctor", got.stdout, "warning  hooks: ")
	expectNotIn(t, "doctor", got.stdout, "hooks tried", "problem")
	expectIs(t, "the exit code of "+got.stderr, got.code, 0)
}

// A provider of both the session and the reviewer is one finding.
func TestDoctorOneProvider(t *testing.T) {
	box := newDoctorBox(t)
	box.edit(".claude/ccc.json", `"ANTHROPIC_MODEL":"SECRET"`, `"ANTHROPIC_MODEL":"${NOT_SET}"`)
	box.edit(".claude/ccc.json", `{"supervisor":{`, `{"supervisor":{"provider":"kimi",`)
	got := box.run(60*time.Second, "", "ccc", "doctor")
	expectIs(t, got.stdout, strings.Count(got.stdout, "read -rs NOT_SET;"), 1)
}

// Doctor refuses what a launch refuses, and leaves no state directory where there was none.
func TestDoctorAsLaunch(t *testing.T) {
	box := newDoctorBox(t)
	state := filepath.Join(box.home, ".claude/ccc")
	check(t, os.RemoveAll(state))
	box.ccc("doctor")
	if _, err := os.Lstat(state); err == nil {
		t.Error("doctor has left a state directory")
	}
	box.write("../work/.claude/settings.json", 0o600, `{"disableAllHooks":true}`)
	got, launch := box.run(60*time.Second, "", "ccc", "doctor"), box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "x")
	why := "--supervisor with " + box.work + "/.claude/settings.json: disableAllHooks: claude would run no hooks"
	expectIn(t, "doctor", got.stdout, "problem  hooks tried: "+why)
	expectEnd(t, "the launch", launch, 2, "", "ccc: "+why)
	check(t, os.Remove(filepath.Join(box.work, ".claude/settings.json")))
	box.write(".claude/ccc/hook-invocation.log/x", 0o600, "")
	expectIn(t, "a log that is none", box.run(60*time.Second, "", "ccc", "doctor").stdout, "problem  state directory: ", "is a directory")
}

// What a launch refuses is a problem.
func TestDoctorReviewer(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, skipVariable+"=1", "COLUMNS=1000")
	const refused = "--supervisor with CLAUDE_CODE_SKIP_PROMPT_HISTORY: claude would keep no conversation"
	got := box.run(60*time.Second, "", "ccc", "doctor")
	expectIs(t, "exit code", got.code, 1)
	expectIn(t, "doctor", got.stdout, "problem  hooks tried: "+refused)
	expectIn(t, "a launch", box.run(60*time.Second, "", "ccc", "--supervisor", "--", "hi").stderr, "ccc: "+refused)
}

// doctorShell is what begins the scripts below: names for the files that they damage.
const doctorShell = `config=$HOME/.claude/ccc.json settings=$HOME/.claude/settings.json state=$HOME/.claude/ccc shared=.claude/settings.json local=.claude/settings.local.json
replace() { sed "s|$2|$3|" "$1" >changed && cat changed >"$1" && rm changed; }
claude_is() { rm ../bin/claude && printf '#!/bin/sh\n%s\n' "$1" >../bin/claude && chmod 700 ../bin/claude; }
mkdir -p .claude; echo '{}' >$HOME/good
`

// withoutClaude is a script that leaves no claude in PATH.
const withoutClaude = `rm ../bin/claude; others=$(mktemp -d)
(IFS=:; for dir in $PATH; do ln -s "$dir"/* $others 2>/dev/null; done); rm -f $others/claude; PATH=$PWD/../bin:$others`

// Each check is seen to fail, and to pass once the command was run that ends what doctor says of it, in the same shell.
func TestDoctorMends(t *testing.T) {
	t.Parallel()
	const relaunch, edit = "/ccc --supervisor", "${EDITOR:-vi} "
	for _, test := range []struct {
		finding, names string // the beginning and some of the line
		mend           string // some of the next one
		damage         string // a shell script
	}{
		{"problem  claude: ", "claude: no claude in PATH, and CCC_CLAUDE is not set", installClaude, withoutClaude},
		{"problem  claude: ", "no claude in PATH", "export CCC_CLAUDE=", withoutClaude + `; mkdir -p $HOME/.local/bin; ln -s $FAKE $HOME/.local/bin/claude`},
		{"problem  claude: ", "/no/claude", "unset CCC_CLAUDE", `export CCC_CLAUDE=/no/claude`},
		{"problem  claude: ", "version 2.1.30, is older than 2.1.280", installClaude, `claude_is "FAKE_CLAUDE_VERSION=2.1.30 exec $FAKE \"\$@\""`},
		{"warning  claude: ", `/bin/claude is not Claude Code: to --version it says "hello"`, installClaude, `claude_is "echo hello"`},
		{"warning  claude: ", `to --version it says "exit status 3"`, installClaude, `claude_is "exit 3"`},
		{"problem  claude: ", "version 2.1.279, is older than 2.1.280", installClaude, `claude_is "echo '2.1.279 (Claude Code)'"`},

		{"problem  configuration: ", "ccc.json: line 1, column 11: ", edit, `echo '{"SECRET":,}' >$config`},
		{"problem  configuration: ", `"glm" is no provider`, edit, `cp $config $HOME/good; replace $config '"kimi"}' '"glm"}'`},
		{"problem  provider: ", "${KIMI_MODEL}, which is not set", "read -rs KIMI_MODEL; export KIMI_MODEL", `replace $config SECRET '${KIMI_MODEL}'`},
		{"problem  provider: ", "providers.own.env.X of ccc.json is ${OWN_TOKEN}, which is not set", "read -rs OWN_TOKEN; export OWN_TOKEN",
			`replace $config '"provider":"kimi"' '"provider":"own"'; replace $config '"kimi":' '"own":{"env":{"X":"${OWN_TOKEN}"}},&'`},
		{"problem  provider: ", "work/.claude/settings.json: env.ANTHROPIC_MODEL", edit, `echo '{"env":{"ANTHROPIC_MODEL":"SECRET 2"}}' >$shared`},
		{"problem  provider: ", "home/.claude/settings.json: apiKeyHelper", edit, `replace $settings '"disableAllHooks": false' '&, "apiKeyHelper":"echo SECRET"'`},

		{"warning  hooks: ", "settings.json lacks", relaunch, `rm $settings`},
		{"warning  hooks: ", "lacks something of ccc's", relaunch, `replace $settings '"AskUserQuestion"' '"Bash"'`},
		{"warning  hooks: ", "something of ccc's, or", relaunch, `replace $settings '"SessionStart"' '"Other"'`}, // of 1.3
		{"warning  hooks: ", "or calls another ccc", relaunch, `replace $settings '[^"]*bin/ccc' /no/such/ccc`},
		{"warning  hooks: ", "lacks something of ccc's, or calls another ccc than", relaunch, `printf '#!/bin/sh\nexec ccc "$@"\n' >$HOME/ccc; chmod 700 $HOME/ccc; replace $settings '[^"]*bin/ccc' $HOME/ccc`},
		{"warning  hooks: ", "than /", relaunch, `replace $settings '"timeout": 600' '"timeout": 60'`},
		{"problem  hooks: ", "settings.json: line 1, column 2: ", edit, `cp $settings $HOME/good; echo '{,' >$settings`},

		{"problem  hooks tried: ", "work/.claude/settings.json: disableAllHooks: claude would", edit, `echo '{"a":1, "disableAllHooks" : true}' >$shared`},
		{"problem  hooks tried: ", "settings.local.json: env.CLAUDE_CODE_SKIP_PROMPT_HISTORY: claude would", edit, `echo '{"env":{"CLAUDE_CODE_SKIP_PROMPT_HISTORY":"true"}}' >$local`},

		{"problem  reviewer's prompt: ", "larger than 100 KiB", edit, `head -c 102401 /dev/zero | tr '\0' x >SUPERVISOR.md`},
	} {
		t.Run(test.names, func(t *testing.T) {
			box := newDoctorBox(t)
			got := box.run(60*time.Second, "", "sh", "-c", doctorShell+test.damage+"\nccc doctor")
			line, order, mend := findingOf(got.stdout, test.finding, test.names)
			if mend == "" || !strings.Contains(mend, test.mend) {
				t.Fatalf("mend %q, want %q; it says\n%s%s", mend, test.mend, got.stdout, got.stderr)
			}
			if problem := strings.HasPrefix(test.finding, "problem"); (got.code == 1) != problem || problem != strings.Contains(got.stderr, " problem") {
				t.Errorf("exit %d, stderr %q", got.code, got.stderr)
			}
			expectNotIn(t, "doctor", got.stdout+got.stderr, "SECRET", "Nothing has to be fixed")
			expectNotIn(t, "doctor", "\n"+got.stdout, "\nok       "+test.finding[len("problem  "):])
			exports := strings.Join(regexp.MustCompile(`(?m)^\s*export .*$`).FindAllString(test.damage, -1), "\n")
			subject := strings.TrimRight(test.finding[len("problem  "):], ": ")
			// Its read has -s, which keeps a token off the screen.
			mended := box.run(60*time.Second, "SECRET\n", "bash", "-c", exports+"\n"+box.change(line, order, mend)+"\nccc doctor")
			if mended.code != 0 || !strings.Contains(mended.stdout, "ok       "+subject) || strings.Contains(mended.stdout, test.finding) {
				t.Errorf("after %s: %+v", mend, mended)
			}
		})
	}
	t.Run("a log that root can't write", func(t *testing.T) {
		box := newDoctorBox(t)
		got := box.run(60*time.Second, "", "sh", "-c", doctorShell+"ln -sf hook-invocation.log $state/hook-invocation.log; ccc doctor")
		line, _, mend := findingOf(got.stdout, "problem  state directory: writing to ", "/hook-invocation.log: too many levels")
		if got.code != 1 || line == "" || mend == "" || got.stderr != "ccc: problems: 1\n" {
			t.Errorf("%+v", got)
		}
	})
}

// findingOf returns the line that begins with finding and holds names, and the command that ends what stands below it;
// above that may stand what to change in the file that the command opens.
func findingOf(output, finding, names string) (line, order, mend string) {
	for next := range strings.Lines(output + "end") {
		switch next = strings.TrimSuffix(next, "\n"); {
		case line == "" && strings.HasPrefix(next, finding) && strings.Contains(next, names):
			line = next
		case line != "" && strings.HasPrefix(next, "    "):
			order, mend = mend, strings.TrimSpace(next)
		case line != "":
			return line, order, mend
		}
	}
	return line, order, mend
}

// change does what order says to the file that mend opens, and returns nothing to run. Any other mend is run.
func (box *sandbox) change(line, order, mend string) (command string) {
	box.t.Helper()
	if !strings.HasPrefix(mend, "${EDITOR") || order == "" {
		return mend
	}
	path := strings.TrimPrefix(mend, "${EDITOR:-vi} ")
	text, err := os.ReadFile(path)
	check(box.t, err)
	_, key, _ := strings.Cut(line, path+": ")
	key, _, _ = strings.Cut(key, " ")
	key = strings.TrimSuffix(key, ":")
	switch order {
	case "remove it:", withoutReviewers + ", or change that there:":
		text = dropJSON(text, strings.Split(key, ".")...)
	case "set it to false:":
		text = setJSON(text, "false", strings.Split(key, ".")...)
	default:
		box.t.Fatalf("what does %q mean?", order)
	}
	os.WriteFile(path, text, 0o600)
	return ""
}

// A fault of ccc.json is told once, under its heading.
func TestDoctorConfigOnce(t *testing.T) {
	box := newDoctorBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iteration":3}}`)
	got := box.run(60*time.Second, "", "ccc", "doctor")
	if got.code != 1 || strings.Count(got.stdout, `ccc.json: line 1: unknown key "max_iteration" (see `) != 1 ||
		got.stderr != "ccc: problems: 1\n" {
		t.Errorf("%+v", got)
	}
}

// On a machine where ccc was never launched doctor finds no fault, but tells what the first launch will do, and makes
// nothing; after that launch all is well.
func TestDoctorFirst(t *testing.T) {
	box := newFakeBox(t)
	first := box.run(60*time.Second, "", "ccc", "doctor")
	expectIs(t, "the exit code", first.code, 0)
	expectIs(t, "stderr", first.stderr, "")
	expectIn(t, "doctor", first.stdout, "built-in",
		"ok       configuration: all defaults; there is no\n",
		"ok       hooks: not installed yet; the first ccc --supervisor adds")
	expectNotIn(t, "doctor", first.stdout, "problem", " provider:")
	if entries, _ := os.ReadDir(box.home); len(entries) != 0 {
		t.Errorf("it made %v", entries)
	}
	box.launch()
	if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 0 || strings.Contains(got.stdout, "first") {
		t.Errorf("launched: %+v", got)
	}
}

// Doctor breaks what it says to the width of the terminal, but never a command.
func TestDoctorWidth(t *testing.T) {
	box := newDoctorBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"review":"x"}}`)
	box.write("../work/.claude/settings.json", 0o600, `{"disableAllHooks":true}`)
	box.vars = append(box.vars, "COLUMNS=")
	got := box.run(60*time.Second, "", "ccc", "doctor")
	edits := 0
	for line := range strings.Lines(got.stdout) {
		if strings.HasPrefix(line, "         ${EDITOR:-vi} ") {
			edits++
			continue
		}
		expectWidth(t, line, 80)
	}
	if edits != 2 || !strings.Contains(got.stdout, "\n         remove it:\n         ${EDITOR:-vi} "+box.work) {
		t.Errorf("%+v", got)
	}
}

// A /supervisor of the user's own, or one of an older ccc that is not on record, is named: it goes to the model.
func TestDoctorTheirCommand(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "COLUMNS=1000")
	box.launch()
	box.write(".claude/commands/supervisor.md", 0o600, "mine")
	got := box.run(60*time.Second, "", "ccc", "doctor")
	expectIs(t, "exit code", got.code, 0)
	expectIn(t, "doctor", strings.Join(strings.Fields(got.stdout), " "), "warning hooks: /supervisor is a command of your own",
		box.home+"/.claude/commands/supervisor.md rename it")
}
