package main

// What ccc takes for claude.

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// plan is what ccc plans for a launch in the box, and what a refused one ends with. It starts no process but that of
// claude --version in a supervised one, which takes a tenth of a launch's time.
func (box *sandbox) plan(args ...string) (*launch, commandResult) {
	box.t.Helper()
	claude := filepath.Join(box.home, ".claude")
	env := environ((&exec.Cmd{Env: box.vars}).Environ())
	if env.get(claudeVariable) == "" {
		env = setEnv(env, claudeVariable, filepath.Join(box.home, "../bin/claude"))
	}
	d := dirs{env: env, self: box.program(), claude: claude, ccc: claude, here: box.work}
	d.state = stateDir(filepath.Join(claude, "ccc"))
	l := &launch{dirs: d}
	var err error
	l.config, err = loadConfig(l.dirs)
	check(box.t, err)
	var stderr strings.Builder
	code := reportError(&stderr, withFileHint(l.plan(args), ""))
	return l, commandResult{code: code, stderr: stderr.String()}
}

// prepare leaves what a supervised launch leaves, but for the answer of its trial.
func (box *sandbox) prepare() {
	box.t.Helper()
	l, got := box.plan("--supervisor")
	expectEnd(box.t, "the plan of a launch", got, 0, "", "")
	check(box.t, cmp.Or(l.write(), l.goAhead()))
}

// A claude in PATH, or in CCC_CLAUDE, that is ccc itself is told of, once, at a launch and in a review.
func TestLaunchOfItself(t *testing.T) {
	for _, flag := range []string{"-p", "--supervisor"} {
		for _, named := range []bool{true, false} {
			box := newFakeBox(t)
			if named {
				box.vars = append(box.vars, "CCC_CLAUDE=ccc")
			} else {
				self, _ := os.Executable()
				os.Remove(filepath.Join(box.home, "../bin/claude"))
				box.link(self, "../bin/claude")
			}
			got := box.run(60*time.Second, "", "ccc", flag, "--verbose")
			if got.code != 126 || got.stdout != "" || !strings.Contains(got.stderr, "ccc itself") || strings.Count(got.stderr, "ccc: ") != 1 || len(box.files()) != 0 {
				t.Errorf("%+v, files %q", got, box.files())
			}
		}
	}
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_CLAUDE="+box.program())
	expectEnd(t, "the stop", box.stop(""), 0, "", "is ccc itself")
}

// A wrapper that calls the real claude is a claude, and an agent may call ccc.
func TestLaunchOfWrapper(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"exec": `exec "` + fakeClaude() + `" "$@"`, "child": `"` + fakeClaude() + `" "$@"; exit $?`,
		"asks_ccc": `ccc --version >/dev/null; ccc status >/dev/null; exec "` + fakeClaude() + `" "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(script)
			box.turns("sh [ -n \"$AGAIN\" ] || AGAIN=1 ccc --supervisor -p again >\"$HOME/again\"\nDone.\n")
			got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			expectIs(t, "the exit code", got.code, 0)
			expectIs(t, "it took too long", got.timedOut, false)
			expectSuffix(t, "stdout", withoutReceipts(got.stdout), "Done.\n")
			expectIn(t, "the launch inside", box.read("again"), "本会话受监督", "Done.")
		})
	}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	const config = `{"providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"k2"}},"glm":{}}}`
	tests := []struct {
		name   string
		args   string // separated by blanks
		vars   string
		config string
		passed string // claude's arguments; "" means that claude was not started
		env    string // separated by blanks; ! is for what must not be there
		code   int
		stderr string // separated by |
		hooks  bool   // whether the launch is supervised
	}{
		{name: "normal", args: "-p hi", passed: "-p hi", env: "!CCC_SUPERVISOR= !CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"},
		{name: "odd_variable", args: "-p hi", vars: "CCC_SUPERVISOR=true", passed: "-p hi", env: "!CCC_SUPERVISOR="},
		{name: "separator", args: "-- -p fix", passed: "-p fix"},
		{name: "separator_version", args: "-- --version", passed: "--version"},
		{name: "separator_flag_is_claudes", args: "-- -p --supervisor hi", passed: "-p --supervisor hi", code: 1,
			stderr: "unknown option '--supervisor'"},
		{name: "supervisor_behind_flag", args: "-p --supervisor hi", code: 2, stderr: "ccc: --supervisor is ccc's, and has to stand before claude's arguments\n"},
		{name: "supervisor_behind_provider_and_flag", args: "kimi --model m --supervisor -- --x", config: config, code: 2,
			stderr: "has to stand before claude's arguments\n"},
		{name: "provider", args: "kimi -p hi", config: config, passed: "-p hi",
			env: "ANTHROPIC_MODEL=k2"},
		{name: "unknown_provider", args: "kmi -p hi", config: config, code: 2,
			stderr: `ccc: "kmi" is no provider (glm, kimi)|(demo, log, |: ccc -- kmi` + "\n"},
		{name: "unset_variable", args: "--supervisor a", config: `{"providers":{"a":{"env":{"ANTHROPIC_AUTH_TOKEN":"${NO_SUCH_TOKEN}"}}}}`, code: 1,
			stderr: "providers.a.env.ANTHROPIC_AUTH_TOKEN of ccc.json is ${NO_SUCH_TOKEN}, which is not set\n     read -rs NO_SUCH_TOKEN; export NO_SUCH_TOKEN\n"},
		{name: "unknown_word", args: "fix", code: 2, stderr: `"fix"|no provider (none; see ccc help config)|ccc -- fix`},
		{name: "prompt_without_quotes", args: "--supervisor fix the bug", code: 2, stderr: `"fix" is no provider|a prompt needs quotes|: ccc -- fix` + "\n"},
		{name: "subcommand_supervised", args: "--supervisor log -f", code: 2, stderr: `ccc: "log" goes without --supervisor: ccc log` + "\n"},
		{name: "second_provider_is_claudes", args: "kimi glm -p", config: config,
			passed: "glm -p"},
		{name: "supervisor", args: "--supervisor -p hi", passed: "-p hi",
			env: "CCC_SUPERVISOR=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10", hooks: true,
			stderr: "Supervisor mode enabled\n"},
		{name: "supervisor_by_variable", args: "-p hi", vars: "CCC_SUPERVISOR=1", passed: "-p hi", hooks: true},
		{name: "variable_of_a_supervised_session", args: "-p hi", vars: "CCC_SUPERVISOR=1 CCC_LAUNCH=1-1", passed: "-p hi",
			env: "!CCC_SUPERVISOR= !CCC_LAUNCH"},
		{name: "supervisor_after_provider", args: "kimi --supervisor -- -p hi", config: config,
			passed: "-p hi", env: "CCC_SUPERVISOR=1 ANTHROPIC_MODEL=k2", hooks: true},
		{name: "supervisor_cap_of_the_users", args: "--supervisor -p hi",
			vars: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3", passed: "-p hi", env: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3", hooks: true},
		{name: "another session's cap", args: "--supervisor -p hi", vars: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3 CCC_LAUNCH=1700000000000.x",
			passed: "-p hi", env: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10", hooks: true},
		{name: "supervisor_limit", args: "--supervisor -p hi", config: `{"supervisor":{"max_iterations":20}}`,
			passed: "-p hi", env: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=20", hooks: true},
		{name: "supervisor_observes", args: "--supervisor -p hi", config: `{"supervisor":{"observe":true}}`,
			passed: "-p hi", env: "CCC_SUPERVISOR=1 !CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", hooks: true},
		{name: "no_claude", args: "--supervisor", vars: "CCC_CLAUDE=no-such-claude", code: 127,
			stderr: "ccc: CCC_CLAUDE=no-such-claude: |unset CCC_CLAUDE; command -v claude || npm install -g @anthropic-ai/claude-code"},
		{name: "may_be_switched_on", args: "kimi -p --add-dir /d -- hi", config: config, vars: "CCC_PROVIDER=glm",
			passed: "-p --add-dir /d -- hi", env: "CCC_PROVIDER=kimi CCC_ADD_DIRS=/d"},
		{name: "of_a_reviewer", args: "-p hi", vars: "CCC_SUPERVISOR_HOOK=1", passed: "-p hi", env: "!CCC_SUPERVISOR_HOOK"},
		{name: "of_another_session", args: "-p hi", vars: "CCC_PROVIDER=glm ANTHROPIC_AUTH_TOKEN=t CCC_ADD_DIRS=/d",
			passed: "-p hi", env: "!CCC_PROVIDER !ANTHROPIC_AUTH_TOKEN !CCC_ADD_DIRS"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, strings.Fields(test.vars)...)
			if test.config != "" {
				box.write(".claude/ccc.json", 0o600, test.config)
			}
			args := strings.Fields(test.args)
			_, got := box.plan(args...)
			if test.passed != "" { // a launch, and not a refusal
				got = box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
			}
			if got.code != test.code {
				t.Errorf("got %+v, want exit %d", got, test.code)
			}
			for want := range strings.SplitSeq(test.stderr, "|") {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
				}
			}
			call := "refused-1"
			if test.code == 0 {
				call = "version-1"
			}
			if box.environment("agent-1") != "" {
				call = "agent-1"
			}
			expectIs(t, "what claude got", strings.Join(strings.Fields(box.read("../fake/"+call+".args")), " "), test.passed)
			env := box.environment(call)
			for _, want := range strings.Fields(test.env) {
				name, unwanted := strings.CutPrefix(want, "!")
				if strings.Contains(env, "\n"+name) == unwanted || strings.Count(env, "\n"+strings.SplitAfter(name, "=")[0]) > 1 {
					t.Errorf("environment: want %s", want)
				}
			}
			for _, name := range []string{"settings.json", "SUPERVISOR.md", "ccc", "commands", ".ccc-installed.json"} {
				if _, err := os.Stat(filepath.Join(box.home, ".claude", name)); (err == nil) != test.hooks {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A launch from a shell that a reviewer's process has left is supervised as any other.
func TestLaunchOfReviewersShell(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, reviewerVariable+"=1")
	box.reviews(blocks("not yet"), allows(""))
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hi")
	expectEqual(t, fmt.Sprintf("the verdicts of %+v", got), box.timelineVerdicts(), []verdict{verdictBlock, verdictAllow})
}

func TestLaunchOutput(t *testing.T) {
	box := newFakeBox(t)
	for _, value := range []string{"", "0", "1"} {
		if got := box.run(30*time.Second, "", "env", "CCC_SUPERVISOR="+value, "ccc", "-p", "hi"); got.code != 0 || strings.Contains(got.stderr, "warning") {
			t.Errorf("CCC_SUPERVISOR=%s: %+v", value, got)
		}
	}
	// What ccc says at launch must not come between claude and a pipe.
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "--output-format", "json", "hi")
	if _, err := parseJSON([]byte(got.stdout)); err != nil {
		t.Errorf("stdout is not claude's JSON alone: %v\n%s", err, got.stdout)
	}
}

// A first word with white space in it, or that is not ASCII, is a prompt, and the lines that ccc proposes work as they stand.
func TestLaunchPrompt(t *testing.T) {
	box := newFakeBox(t)
	for _, prompt := range []string{"fix the bug", "fix\nit", "修复\u3000它", "修好测试", "naïve"} {
		for _, args := range [][]string{{prompt}, {"--supervisor", prompt}, {prompt, "-p"}, {"--supervisor", "--", prompt}} {
			l, got := box.plan(args...)
			if got.code != 0 || l.args[0] != prompt || l.supervisor != (args[0] == "--supervisor") {
				t.Errorf("%q: claude gets %q: %+v", args, l.args, got)
			}
		}
	}
	for _, word := range []string{"it's", "$5", "kimo"} {
		_, got := box.plan("--supervisor", word, "-p")
		_, line, proposed := strings.Cut(strings.TrimSpace(got.stderr), ": ccc -- ")
		expectIs(t, got.stderr, got.code == 2 && proposed, true)
		words := box.run(60*time.Second, "", "sh", "-c", `printf '%s\0' `+line).stdout
		expectIs(t, line, words, word+"\x00")
	}
}

// Where neither ccc.json nor the locale names a language, a launch that says something, status and demo add one English
// line.
func TestLaunchOffersEnglish(t *testing.T) {
	const offer = "For English"
	for _, test := range []struct {
		vars, config, lines string // separated by |
		offered             bool
	}{
		{"LANG=C.UTF-8", "", "ccc status|ccc --supervisor -p hi|ccc demo", true},
		{"LANG=", "", "ccc status", true}, {"LC_ALL=POSIX", "", "ccc status", true}, {"LANG=C", `{"supervisor":{}}`, "ccc status", true},
		{"LANG=C", `{"language":"zh"}`, "ccc status|ccc --supervisor -p hi", false}, {"LANG=C", `{"language":"en"}`, "ccc status", false},
		{"LANG=zh_CN.UTF-8", "", "ccc status", false}, {"LANG=en_US.UTF-8", "", "ccc status", false},
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, test.vars, testTrustVariable+"=") // the demo runs where no copy can be made, too
		if test.config != "" {
			box.write(".claude/ccc.json", 0o600, test.config)
		}
		for line := range strings.SplitSeq(test.lines, "|") {
			got := box.run(60*time.Second, "", strings.Fields(line)...)
			isTold := test.offered && strings.Contains(line, "--supervisor") // by the session, too
			if offered := strings.Count(got.stderr, offer); got.code != 0 || strings.Contains(got.stdout, offer) != isTold || offered > 1 || (offered == 1) != test.offered {
				t.Errorf("%s %s: %s: %+v", test.vars, test.config, line, got)
			}
		}
		if !strings.Contains(test.lines, "demo") {
			continue
		}
		for _, line := range []string{"ccc -p hi", "ccc status --json", "ccc log", "ccc verdict"} {
			got := box.run(60*time.Second, "", strings.Fields(line)...)
			expectNotIn(t, line, got.stdout+got.stderr, offer)
		}
		box.write(".claude/ccc.json", 0o600, `{"providers":{"a":{}}}`)
		of := box.run(60*time.Second, "", "ccc", "a", "-p", "hi")
		expectNotIn(t, "of a provider", of.stdout+of.stderr, offer)
	}
}

// Where the current directory is gone, what is about a project names it, and a launch does.
func TestLaunchDirectoryGone(t *testing.T) {
	box := newFakeBox(t)
	const gone = `mkdir gone && cd gone && rmdir "$PWD" && exec ccc `
	for args, code := range map[string]int{"--supervisor -p hi": 1, "-p hi": 1, "status": 1, "log": 1, "verdict": 2, "review": 4, "doctor": 1, "try true": 125} {
		got := box.run(60*time.Second, "", "sh", "-c", gone+args)
		if got.code != code || got.stdout != "" || !strings.Contains(got.stderr, "the current directory, "+box.work+"/gone, is gone") || len(box.files()) != 0 {
			t.Errorf("%s: %+v; files %q", args, got, box.files())
		}
	}
	box.run(60*time.Second, "", "sh", "-c", "mkdir project && cd project && ccc --supervisor -p hi && cd .. && rm -r project")
	known, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
	session := strings.TrimSuffix(filepath.Base(known[0]), ".jsonl")
	reviewed := box.run(60*time.Second, "", "ccc", "review", session)
	expectIs(t, "a session whose project is gone: the exit code", reviewed.code, 4)
	expectIn(t, "a session whose project is gone", reviewed.stdout, "无法启动审查者：目录 "+box.work+"/project 不在了")
	expectNotIn(t, "a session whose project is gone", reviewed.stdout, "只看了")
	for _, args := range []string{"uninstall", "help log"} {
		if got := box.run(60*time.Second, "", "sh", "-c", gone+args); got.code != 0 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// A launch creates SUPERVISOR.md in ccc's directory only where the project has none of its own.
func TestLaunchKeepsPrompt(t *testing.T) {
	for _, own := range []bool{true, false} {
		box := newFakeBox(t)
		if own {
			box.write("../work/SUPERVISOR.md", 0o600, "Be kind.")
		}
		box.prepare()
		if created := box.read(".claude/SUPERVISOR.md") != ""; created == own {
			t.Errorf("the project has one: %v, created: %v", own, created)
		}
	}
	box := newFakeBox(t) // one that is there is kept up to date for the other projects
	box.write("../work/SUPERVISOR.md", 0o600, "Be kind.")
	box.write(".claude/SUPERVISOR.md", 0o600, defaultPrompt.en)
	box.prepare()
	expectIs(t, "in the language of now", box.read(".claude/SUPERVISOR.md"), defaultPrompt.zh)
}

// Relative paths in the environment mean the same in the hook, which runs elsewhere; a claude that is named without a path
// is the one in PATH.
func TestLaunchPlaces(t *testing.T) {
	for _, claude := range []string{"../bin/claude", "claude"} {
		box := newFakeBox(t)
		box.vars = append(box.vars, "CCC_CONFIG_DIR=conf", "CLAUDE_CONFIG_DIR=claude", "CCC_WORK_DIR=../state", "CCC_CLAUDE="+claude)
		box.turns("sh mkdir -p sub/down && cd sub/down\nDone.")
		box.reviews(blocks("not yet"), allows(""))
		got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
		if got.code != 0 || !strings.Contains(got.stdout, "Stop hook feedback: not yet") {
			t.Errorf("got %+v", got)
		}
		expectEqual(t, "the claude that the session is told of", box.agentEnv(claudeVariable), []string{filepath.Join(filepath.Dir(box.home), "bin/claude")})
		for _, name := range []string{"claude/settings.json", "conf/SUPERVISOR.md", "../state/ccc/supervisor-*-events.jsonl"} {
			if found, _ := filepath.Glob(filepath.Join(box.work, name)); len(found) != 1 {
				t.Errorf("%s: %q", name, found)
			}
		}
		if entries, _ := os.ReadDir(filepath.Join(box.work, "sub/down")); len(entries)+len(box.files()) != 0 {
			t.Errorf("written in the subdirectory or the home: %v, %q", entries, box.files())
		}
	}
}

// The last line of what a supervised launch says is how to watch it; with --print, where nothing is shown at the end,
// how to ask for the verdict.
func TestLaunchLastLine(t *testing.T) {
	box := newFakeBox(t)
	for line, want := range map[string]string{"-p hi": "ccc verdict", "--print hi": "ccc verdict", "": "ccc log -f"} {
		got := box.run(30*time.Second, "", append([]string{"env", "LANG=en_US.UTF-8", "ccc", "--supervisor"}, strings.Fields(line)...)...)
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if got.code != 0 || len(lines) != 4 || !strings.HasSuffix(lines[3], want) || strings.Count(got.stderr, "ccc ") != 1 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// What a command line asks for, split into ccc's part and claude's, and with which arguments claude is called.
func TestLaunchParsed(t *testing.T) {
	kimi, glm := &provider{name: "kimi"}, &provider{name: "glm"}
	const behind = "--supervisor is ccc's, and has to stand before claude's arguments"
	for _, test := range []struct {
		line, vars string // words are parted by |
		want       string
	}{
		{"", "", "supervisor=false provider= command="},
		{"kimi", "", "supervisor=false provider=kimi command="},
		{"--supervisor", "", "supervisor=true provider= command="},
		{"--supervisor|kimi|--supervisor|-p|x", "", "supervisor=true provider=kimi command=-p|x"},
		{"kimi|glm", "", "supervisor=false provider=kimi command=glm"},
		{"glm|--|--supervisor", "", "supervisor=false provider=glm command=--supervisor"},
		{"--|glm", "", "supervisor=false provider= command=glm"},
		{"-p|--|--supervisor", "", "supervisor=false provider= command=-p|--|--supervisor"},
		{"fix it|kimi", "", "supervisor=false provider= command=fix it|kimi"},
		{"", "1", "supervisor=true provider= command="},
		{"", "0", "supervisor=false provider= command="},
		{"", "1 1-1.1", "supervisor=false provider= command="},
		{"--supervisor", "1 1-1.1", "supervisor=true provider= command="},
		{"default", "", `"default" is gone in 3.0: without a name there is no provider`},
		{"-p|--supervisor|x", "", behind},
		{"kimi|-p|--supervisor", "", behind},
		{"--supervisor|log", "", `"log" goes without --supervisor: ccc log`},
		{"kimo", "", `"kimo" is no provider (glm, kimi) and no subcommand (` + strings.Join(subcommands, ", ") +
			"); a prompt needs quotes; to pass the word on to claude: ccc -- kimo"},
		{"kimi|--supervisor|log", "", "supervisor=true provider=kimi command=log"},
	} {
		value, token, _ := strings.Cut(test.vars, " ")
		env := environ{supervisorVariable + "=" + value, launchVariable + "=" + token}
		config := &configuration{Providers: map[string]*provider{"kimi": kimi, "glm": glm}}
		l := &launch{dirs: dirs{env: env, ccc: "/none"}, config: config}
		err := l.parse(strings.FieldsFunc(test.line, func(r rune) bool { return r == '|' }))
		name := ""
		if l.provider != nil {
			name = l.provider.name
		}
		got := fmt.Sprintf("supervisor=%v provider=%s command=%s", l.supervisor, name, strings.Join(l.args, "|"))
		if err != nil {
			got = err.Error()
			expectIs(t, test.line+": the code", failureOf(err).code, 2)
		}
		expectIs(t, test, got, test.want)
	}
}

// The directories that --add-dir adds.
func TestLaunchAdded(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "",
		"--add-dir a b -p c":           "/h/a /h/b",
		"--add-dir=/a b":               "/a",
		"x --add-dir /a --add-dir b":   "/a /h/b",
		"--add-dir=a --add-dir b -- c": "/h/a /h/b",
		"--add-dir -- /a":              "",
		"-p --add-dirs a":              "",
	} {
		l := &launch{dirs: dirs{here: "/h"}, args: strings.Fields(line)}
		expectIs(t, line, strings.Join(l.addDirs(), " "), want)
	}
}

// A supervised launch sweeps the state and makes the log, which can be followed at once; any other touches neither.
func TestLaunchPreparesState(t *testing.T) {
	for _, flag := range []string{"--supervisor", "--"} {
		box := newFakeBox(t)
		d := box.stateDir()
		box.write(".claude/ccc/supervisor-old.json", 0o600, "{}")
		check(t, os.Chtimes(d.file("supervisor-old.json"), ago(retention+time.Hour), ago(retention+time.Hour)))
		got := box.run(30*time.Second, "", "ccc", flag)
		if got.code != 0 {
			t.Errorf("%s: %+v", flag, got)
		}
		places := fmt.Sprintf(announcement.zh, d, "hook-invocation.log", "supervisor-<session>-output.jsonl")
		expectIs(t, flag+": it tells the places", strings.Contains(got.stderr, places), flag == "--supervisor")
		entries, _ := os.ReadDir(string(d))
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		isOfLaunch := func(name string) bool {
			return strings.HasPrefix(name, "trial") || strings.HasPrefix(name, "launch-") || strings.HasSuffix(name, "-event.json")
		}
		names = slices.DeleteFunc(names, isOfLaunch) // TestTrial, TestClaim
		want := []string{"hook-invocation.log", "state.lock"}
		if flag == "--" {
			want = []string{"supervisor-old.json"}
		}
		expectEqual(t, flag, names, want)
	}
}

// A supervised launch that can't prepare its places starts nothing, and one of a provider is refused in the background.
func TestLaunchUnprepared(t *testing.T) {
	for damage, want := range map[string]string{
		"mkdir -p ~/.claude/ccc/state.lock; touch -t 202001010000 ~/.claude/ccc/state.lock": "preparing the state directory: ",
		"mkdir -p ~/.claude/ccc/hook-invocation.log":                                        "HOME/.claude/ccc/hook-invocation.log: is a directory",
		"mkdir -p ~/.claude/.ccc.lock":                                                      ".ccc.lock: is a directory",
		"mkdir -p ~/.claude/.ccc-installed.json":                                            ".ccc-installed.json: is a directory",
		"mkdir -p ~/.claude; ln -s ../gone/x ~/.claude/settings.json":                       "settings.json lacks something of ccc's, and can't be replaced: no such file or directory",
	} {
		box := newFakeBox(t)
		got := box.run(30*time.Second, "", "sh", "-c", damage+"; exec ccc --supervisor -p hi")
		expectEnd(t, damage, got, 1, "", strings.Replace(want, "HOME", box.home, 1))
		expectIs(t, damage+": claude's arguments", box.read("../fake/agent-1.args"), "")
		expectIs(t, damage+": settings.json", strings.TrimSuffix(box.settings(), noFile), "")
		_, unwritten := os.Stat(filepath.Join(box.home, ".claude/ccc"))
		if isPlan := !strings.Contains(damage, "claude/ccc/") && !strings.Contains(damage, ".lock"); isPlan && unwritten == nil {
			t.Errorf("%s: something was written", damage)
		}
	}
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"providers":{"a":{"env":{"ANTHROPIC_MODEL":"m"}}}}`)
	for _, flag := range []string{"--bg", "--background"} {
		got := box.run(30*time.Second, "", "ccc", "a", "--", flag, "x")
		expectEnd(t, flag, got, 2, "", "not that of a\n     start it without --bg, or without a provider\n")
		expectIs(t, flag+": claude's arguments", box.read("../fake/agent-1.args"), "")
	}
	box.write("../bin/broken", 0o700, "no program")
	got := box.run(30*time.Second, "", "env", "CCC_CLAUDE=broken", "ccc", "-p", "hi")
	broken := filepath.Join(filepath.Dir(box.home), "bin/broken")
	expectEnd(t, "a claude that is no program", got, 126, "", "starting "+broken+": exec format error")
}

// What uninstall can't do is told, with the exit code, and not called done.
func TestUninstallUnremovable(t *testing.T) {
	for damage, test := range map[string]struct{ stderr, stdout string }{
		"chmod 500 ~/.claude/ccc":                                   {"permission denied", "settings.json: removed"},
		"chmod 500 ~/.claude":                                       {"permission denied", ""},
		"chmod 500 ~/.claude/commands":                              {"removing HOME/.claude/commands/supervisor.md: ", "settings.json: removed"},
		"rm ~/.claude/SUPERVISOR.md; mkdir ~/.claude/SUPERVISOR.md": {"removing HOME/.claude/SUPERVISOR.md: ", "settings.json: removed"},
	} {
		box := newFakeBox(t)
		box.prepare()
		box.ordinary()
		got := box.run(30*time.Second, "", "sh", "-c", damage+"; ccc uninstall --purge; code=$?; chmod -R u+rwx ~/.claude; exit $code")
		expectIs(t, damage+": the exit code", got.code, 1)
		expectIn(t, damage+": stderr", got.stderr, strings.Replace(test.stderr, "HOME", box.home, 1))
		expectIn(t, damage+": stdout", got.stdout, test.stdout)
		expectNotIn(t, damage+": all that is said", got.stdout+got.stderr, "ccc: removed", "files removed")
		if _, err := os.Stat(filepath.Join(box.home, logPath)); err != nil {
			t.Errorf("%s: the state is gone", damage)
		}
	}
}
