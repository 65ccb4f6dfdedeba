package main

// What ccc takes for claude.

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plan is what ccc plans for a launch in the box, and what a refused one ends with. It starts no process but
// that of claude --version in a supervised one, which takes a tenth of a launch's time.
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

// What claude gets in its environment, and what a launch takes out.
func TestLaunch(t *testing.T) {
	const providers = `"providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"k2"}},"glm":{}}}`
	const limited, observing = `{"supervisor":{"max_iterations":20},`, `{"supervisor":{"observe":true},`
	const others = "CAP=3 CCC_LAUNCH=1700000000000.x"
	// CAP is blockCapVariable, and ! stands before what is not there.
	for _, test := range []struct{ line, vars, config, want string }{
		{"-p hi", "", "{", "!CCC_SUPERVISOR= !CCC_LAUNCH= !CAP= !ANTHROPIC_MODEL="},
		{"-p hi", "CCC_SUPERVISOR=1 CCC_LAUNCH=1-1", "{", "!CCC_SUPERVISOR= !CCC_LAUNCH="},
		{"-p hi", "CCC_SUPERVISOR_HOOK=1 CCC_TRIAL=x CCC_TRIED=x", "{", "!CCC_SUPERVISOR_HOOK= !CCC_TRI"},
		{"--supervisor -p hi", "CCC_SUPERVISOR_HOOK=1", "{", "CCC_SUPERVISOR=1 CAP=10 !CCC_SUPERVISOR_HOOK="},
		{"--supervisor -p hi", "CAP=3", "{", "CAP=3"},
		{"--supervisor -p hi", others, "{", "CAP=10"},
		{"--supervisor -p hi", "", limited, "CAP=20"},
		{"--supervisor -p hi", "", observing, "CCC_SUPERVISOR=1 !CAP="},
		{"kimi --supervisor -- -p hi", "", "{", "CCC_SUPERVISOR=1 ANTHROPIC_MODEL=k2 CCC_PROVIDER=kimi"},
		{"kimi -p hi", "ANTHROPIC_API_KEY=x CLAUDE_CODE_USE_VERTEX=1 CLAUDE_CODE_OAUTH_TOKEN=x", "{",
			"ANTHROPIC_MODEL=k2 !ANTHROPIC_API_KEY= !CLAUDE_CODE_USE_VERTEX= !CLAUDE_CODE_OAUTH_TOKEN="},
		{"kimi -p --add-dir /d -- hi", "CCC_PROVIDER=glm", "{", "CCC_PROVIDER=kimi CCC_ADD_DIRS=/d"},
		{"-p x", "CCC_PROVIDER=glm ANTHROPIC_X=t CCC_ADD_DIRS=/d", "{", "!CCC_PROV !ANTHROPIC !CCC_ADD_DIRS"},
	} {
		full := strings.NewReplacer("CAP=", blockCapVariable+"=")
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(full.Replace(test.vars))...)
		box.write(".claude/ccc.json", 0o600, test.config+providers)
		l, got := box.plan(strings.Fields(test.line)...)
		expectEnd(t, fmt.Sprint("the plan of ", test), got, 0, "", "")
		for want := range strings.FieldsSeq(full.Replace(test.want)) {
			name, isUnwanted := strings.CutPrefix(want, "!")
			isOther := func(e string) bool { return !strings.HasPrefix(e, strings.SplitAfter(name, "=")[0]) }
			there := slices.DeleteFunc(slices.Clone(l.env), isOther)
			wanted := []string{want}
			if isUnwanted {
				wanted = nil
			}
			expectEqual(t, fmt.Sprint(test), there, wanted)
		}
	}
}

// What a command line asks for, split into ccc's part and claude's. A word with white space in it, or that is
// not ASCII, is a prompt.
func TestLaunchParsed(t *testing.T) {
	const late = "--supervisor is a flag of ccc's: put it before claude's arguments"
	const noSuch = `"%s" is no provider (glm, kimi, 通义) and no subcommand (%s); ` +
		"a prompt needs quotes; to pass the word on to claude: ccc -- "
	unknown := func(word string) string { return fmt.Sprintf(noSuch, word, strings.Join(subcommands, ", ")) }
	for _, test := range []struct{ line, vars, want string }{ // words are parted by |
		{"kimi", "", "plain kimi: "},
		{"--supervisor|kimi|--supervisor|-p|x", "", "supervised kimi: -p|x"},
		{"glm|--|-p|--supervisor", "", "plain glm: -p|--supervisor"},
		{"-p|--|--supervisor", "", "plain : -p|--|--supervisor"},
		{"--supervisor|修好测试", "", "supervised : 修好测试"},
		{"fix\nit|-p", "", "plain : fix\nit|-p"},
		{"通义|-p", "", "plain 通义: -p"},
		{"", "1", "supervised : "},
		{"", "1 1-1.1", "plain : "},
		{"--supervisor", "1 1-1.1", "supervised : "},
		{"default", "", unknown("default") + "default"},
		{"-p|--supervisor|x", "", late},
		{"--supervisor|log", "", `"log" goes without --supervisor: ccc log`},
	} {
		value, token, _ := strings.Cut(test.vars, " ")
		env := environ{supervisorVariable + "=" + value, launchVariable + "=" + token}
		providers := map[string]*provider{"kimi": {name: "kimi"}, "glm": {name: "glm"}, "通义": {name: "通义"}}
		l := &launch{dirs: dirs{env: env, ccc: "/none"}, config: &configuration{Providers: providers}}
		err := l.parse(strings.FieldsFunc(test.line, func(r rune) bool { return r == '|' }))
		mode, name := "plain", ""
		if l.supervisor {
			mode = "supervised"
		}
		if l.provider != nil {
			name = l.provider.name
		}
		got := mode + " " + name + ": " + strings.Join(l.args, "|")
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
		"--add-dir=a --add-dir b -- c": "/h/a /h/b",
		"--add-dir -- /a":              "",
		"-p --add-dirs a":              "",
	} {
		l := &launch{dirs: dirs{here: "/h"}, args: strings.Fields(line)}
		expectIs(t, line, strings.Join(l.addDirs(), " "), want)
	}
}
