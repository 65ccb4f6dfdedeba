package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newDoctorBox makes a box in which all is well: launched once, with a provider.
// There, npm runs the shell script ./install, and sudo is env.
func newDoctorBox(t *testing.T) *sandbox {
	t.Helper()
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":12,"provider":"kimi"},`+
		`"providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"SECRET"}}}}`)
	box.prepare()
	for name, path := range map[string]string{"npm": "/bin/sh", "sudo": "/usr/bin/env"} {
		box.link(path, "../bin/"+name)
	}
	box.write("../work/install", 0o600, "ln -sf "+fakeClaude()+" "+box.home+"/../bin/claude\n")
	box.vars = append(box.vars, "COLUMNS=1000", "FAKE="+fakeClaude(), "EDITOR=cp "+box.home+"/good",
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

// Doctor has a line for git, without which no reviewer is shown what has changed.
func TestDoctorGit(t *testing.T) {
	box := newDoctorBox(t)
	const oldGit = `printf '#!/bin/sh\necho git version 2.33.8' >../bin/git; chmod 700 ../bin/git`
	const notShown = "warning  git: the reviewer does not see what has changed: "
	for script, want := range map[string]string{
		"git init -q": "ok       git: 2.",
		":":           "; outside a repository, as here, the reviewer does not see",
		withoutGit:    notShown + "exec: \"git\": executable file not found in $PATH\n",
		oldGit:        notShown + "it is older than 2.34: 2.33.8\n         install",
	} {
		got := box.run(60*time.Second, "", "sh", "-c", "rm -rf .git ../bin/git; "+script+"; exec ccc doctor")
		expectIs(t, script+": the exit code", got.code, 0)
		expectIn(t, script, got.stdout, want)
	}
}

// withoutGit is a script that leaves no git in PATH.
const withoutGit = "others=$(mktemp -d)\n" +
	"(IFS=:; for dir in $PATH; do ln -s \"$dir\"/* $others 2>/dev/null; done)\n" +
	"rm -f $others/git; PATH=$others"

// withoutClaude is a script that leaves no claude in PATH.
const withoutClaude = "rm ../bin/claude\n" + withoutGit + "; rm -f $others/claude; PATH=$PWD/../bin:$others"

// doctorShell is what begins the scripts below: names for the files that they damage.
const doctorShell = `config=$HOME/.claude/ccc.json settings=$HOME/.claude/settings.json
shared=.claude/settings.json local=.claude/settings.local.json
replace() { sed "s|$2|$3|" "$1" >changed && cat changed >"$1" && rm changed; }
fake() { rm ../bin/claude && printf '#!/bin/sh\n%s\n' "$1" >../bin/claude && chmod 700 ../bin/claude; }
mkdir -p .claude; echo '{}' >$HOME/good
`

// Each check is seen to fail, and to pass after the command was run that ends what doctor says of it, in the
// same shell. A finding has its level, its subject and some of the line; mend is some of the next line.
func TestDoctorMends(t *testing.T) {
	t.Parallel()
	const launch, edit, install = "/ccc --supervisor", "${EDITOR:-vi} ", installClaude
	const own = `replace $config '"provider":"kimi"' '"provider":"own"'; ` +
		`replace $config '"kimi":' '"own":{"env":{"X":"${OWN_TOKEN}"}},&'`
	const broken = `cp $settings $HOME/good; echo '{,' >$settings`
	const large = `head -c 102401 /dev/zero | tr '\0' x >SUPERVISOR.md`
	const wrapper = `printf '#!/bin/sh\nexec ccc "$@"\n' >$HOME/ccc; chmod 700 $HOME/ccc; `
	const keepsNone = `echo '{"env":{"CLAUDE_CODE_SKIP_PROMPT_HISTORY":"true"}}' >$local`
	const installed = withoutClaude + "; mkdir -p $HOME/.local/bin; ln -s $FAKE $HOME/.local/bin/claude"
	for _, test := range []struct{ finding, names, mend, damage string }{
		{"problem  claude", "no claude in PATH, and CCC_CLAUDE is not set", install, withoutClaude},
		{"problem  claude", "no claude in PATH", "export CCC_CLAUDE=", installed},
		{"problem  claude", "2.1.279, is older than 2.1.280", install, `fake "echo '2.1.279 (Claude Code)'"`},
		{"warning  claude", `not Claude Code: to --version it says "hello"`, install, `fake "echo hello"`},

		{"problem  configuration", "ccc.json: line 1, column 11: ", edit, `echo '{"SECRET":,}' >$config`},
		{"problem  provider", "${K}, which is not set", "read -rs K; ", `replace $config SECRET '${K}'`},
		{"problem  provider", "providers.own.env.X of ccc.json is ${OWN_TOKEN}", "read -rs OWN_TOKEN; ", own},
		{"problem  provider", "work/.claude/settings.json: env.ANTHROPIC_MODEL", edit,
			`echo '{"env":{"ANTHROPIC_MODEL":"SECRET 2"}}' >$shared`},

		{"warning  hooks", "or calls another ccc", launch, `replace $settings '[^"]*bin/ccc' /no/such/ccc`},
		{"warning  hooks", "another ccc than", launch, wrapper + `replace $settings '[^"]*bin/ccc' ~/ccc`},
		{"warning  hooks", "than /", launch, `replace $settings '"timeout": 600' '"timeout": 60'`},
		{"problem  hooks", "settings.json: line 1, column 2: ", edit, broken},

		{"problem  hooks tried", "disableAllHooks: claude would", edit,
			`echo '{"a":1, "disableAllHooks" : true}' >$shared`},
		{"problem  hooks tried", "env.CLAUDE_CODE_SKIP_PROMPT_HISTORY: claude would", edit, keepsNone},

		{"problem  reviewer's prompt", "larger than 100 KiB", edit, large},
	} {
		t.Run(test.names, func(t *testing.T) {
			box := newDoctorBox(t)
			finding := test.finding + ": "
			got := box.run(60*time.Second, "", "sh", "-c", doctorShell+test.damage+"\nccc doctor")
			mend := mendOf(got.stdout, finding, test.names)
			if mend == "" || !strings.Contains(mend, test.mend) {
				t.Fatalf("mend %q, want %q; it says\n%s%s", mend, test.mend, got.stdout, got.stderr)
			}
			level, subject, _ := strings.Cut(test.finding, "  ")
			if level == "problem" {
				expectEnd(t, "doctor", got, 1, got.stdout, "ccc: problems: ")
			} else {
				expectEnd(t, "doctor", got, 0, got.stdout, "")
			}
			expectNotIn(t, "doctor", got.stdout, "SECRET", "Nothing has to be fixed", "ok       "+subject+":")
			if subject == "hooks" { // no hook of another program is tried
				expectNotIn(t, "doctor", got.stdout, "hooks tried")
			}
			// Its read has -s, which keeps a token off the screen.
			mended := box.run(60*time.Second, "SECRET\n", "bash", "-c", mend+"\nccc doctor")
			expectIs(t, fmt.Sprintf("after %s: %+v", mend, mended), mended.code, 0)
			expectIn(t, "after "+mend, mended.stdout, "ok       "+subject)
			expectNotIn(t, "after "+mend, mended.stdout, finding)
		})
	}
}

// mendOf returns the command that ends what stands below the line that begins with finding and holds names.
func mendOf(output, finding, names string) (mend string) {
	isFound := false
	for line := range strings.Lines(output) {
		switch isBelow := strings.HasPrefix(line, "    "); {
		case isFound && isBelow:
			mend = strings.TrimSpace(line)
		case isFound:
			return mend
		default:
			isFound = strings.HasPrefix(line, finding) && strings.Contains(line, names)
		}
	}
	return mend
}
