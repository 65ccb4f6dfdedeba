package main

import (
	"fmt"
	"os"
	"path/filepath"
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
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":12},"current_provider":"kimi","providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"SECRET"}}}}`)
	box.launch()
	for name, path := range map[string]string{"npm": "/bin/sh", "sudo": "/usr/bin/env"} {
		if err := os.Symlink(path, filepath.Join(box.home, "../bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	fake, err := filepath.Abs("testdata/claude")
	if err != nil {
		t.Fatal(err)
	}
	box.write("../work/install", 0o600, fmt.Sprintf("ln -sf %s %s\n", fake, filepath.Join(box.home, "../bin/claude")))
	box.vars = append(box.vars, "EDITOR=cp "+filepath.Join(box.home, "good"),
		testManagedVariable+"="+filepath.Join(box.home, "managed.json"))
	return box
}

// claudeIs replaces claude by a shell script. A child writes it: what this
// process has open for writing, another test's fork may have too.
func (box *sandbox) claudeIs(script string) {
	box.t.Helper()
	path := filepath.Join(box.home, "../bin/claude")
	got := box.run(10*time.Second, "#!/bin/sh\n"+script, "sh", "-c", `rm "$1" && cat >"$1" && chmod 700 "$1"`, "sh", path)
	if got.code != 0 {
		box.t.Fatalf("%+v", got)
	}
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
		subject, _, _ := strings.Cut(line, ":")
		subjects = append(subjects, subject)
	}
	want := []string{"ok       claude", "ok       flags", "ok       configuration", "ok       provider", "ok       hooks",
		"ok       muting", "ok       block cap", "ok       prompt", "ok       state directory"}
	if !slices.Equal(subjects, want) || strings.Contains(got.stdout, "SECRET") {
		t.Errorf("it says\n%s", got.stdout)
	}
	for _, want := range []string{"version 2.1.329", "SUPERVISOR.md, 27973 bytes", "12, reviews"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("it lacks %q:\n%s", want, got.stdout)
		}
	}
	if after := box.files(); !slices.Equal(after, before) {
		t.Errorf("files %q, were %q", after, before)
	}
	if call := box.read("../fake/agent-1.args"); call != "" {
		t.Errorf("claude was started: %s", call)
	}
}

// Each check is seen to fail, and to pass once the command was run that doctor
// prints on the next line, in the same shell.
func TestDoctorMends(t *testing.T) {
	const home = ".claude/"
	tests := []struct {
		name    string
		damage  func(box *sandbox)
		finding string // the beginning and
		names   string // some of the line
		mend    string
		stdin   string
	}{
		{name: "claude_missing", damage: func(box *sandbox) { os.Remove(filepath.Join(box.home, "../bin/claude")) },
			finding: "problem  claude: ", names: "not found in $PATH", mend: installClaude},
		{name: "claude_variable", damage: func(box *sandbox) { box.vars = append(box.vars, "CCC_CLAUDE=/no/claude") },
			finding: "problem  claude: ", names: "/no/claude", mend: "unset CCC_CLAUDE"},
		{name: "claude_fails", damage: func(box *sandbox) { box.claudeIs("echo broken >&2; exit 1") },
			finding: "problem  claude: ", names: "broken", mend: installClaude},
		{name: "claude_without_version", damage: func(box *sandbox) { box.claudeIs("echo hello") },
			finding: "problem  claude: ", names: "does not tell its version", mend: installClaude},
		{name: "flags_optional", damage: func(box *sandbox) {
			fake, _ := filepath.EvalSymlinks(filepath.Join(box.home, "../bin/claude"))
			box.claudeIs("FAKE_CLAUDE_VERSION=2.0.60 exec " + fake + ` "$@"`)
		}, finding: "warning  flags: ", names: "--system-prompt-snapshot, --no-session-persistence;", mend: installClaude},
		{name: "flags_needed", damage: func(box *sandbox) {
			box.claudeIs(`case $1 in --version) echo "1.0.0 (Claude Code)" ;; *) echo "error: unknown option '--json-schema'" >&2; exit 1 ;; esac`)
		}, finding: "problem  flags: ", names: "--json-schema", mend: installClaude},
		{name: "flags_unknown", damage: func(box *sandbox) { box.claudeIs(`echo "3.0.0 (Claude Code)"`) },
			finding: "warning  flags: ", names: "does not tell", mend: installClaude},

		{name: "configuration_invalid", damage: func(box *sandbox) {
			box.write("good", 0o600, "{}")
			box.write(home+"ccc.json", 0o600, `{"SECRET":,}`)
		}, finding: "problem  configuration: ", names: "ccc.json: line 1, column 11: ", mend: "${EDITOR:-vi} "},
		{name: "configuration_readable", damage: func(box *sandbox) {
			box.edit(home+"ccc.json", "ANTHROPIC_MODEL", "ANTHROPIC_AUTH_TOKEN")
			os.Chmod(filepath.Join(box.home, home+"ccc.json"), 0o644)
		}, finding: "warning  configuration: ", names: "others can read it", mend: "chmod 600 "},
		{name: "provider_unknown", damage: func(box *sandbox) {
			box.write("good", 0o600, box.read(home+"ccc.json"))
			box.edit(home+"ccc.json", `"kimi",`, `"glm",`)
		}, finding: "problem  provider: ", names: "glm is not among", mend: "${EDITOR:-vi} "},
		{name: "provider_unset", damage: func(box *sandbox) { box.edit(home+"ccc.json", `"SECRET"`, `"${KIMI_MODEL}"`) },
			finding: "problem  provider: ", names: "${KIMI_MODEL}, which is not set", mend: "read -r KIMI_MODEL; export KIMI_MODEL", stdin: "SECRET\n"},
		{name: "provider_conflict", damage: func(box *sandbox) {
			box.write("good", 0o600, "{}")
			box.write("../work/.claude/settings.json", 0o600, `{"env":{"ANTHROPIC_MODEL":"SECRET 2"}}`)
		}, finding: "problem  provider: ", names: "work/.claude/settings.json: env.ANTHROPIC_MODEL overrides", mend: "${EDITOR:-vi} "},

		{name: "hooks_never_written", damage: func(box *sandbox) { os.Remove(filepath.Join(box.home, home+"settings.json")) },
			finding: "problem  hooks: ", names: "none of ccc's for Stop, PreToolUse, UserPromptSubmit", mend: "ccc --supervisor -- --version"},
		{name: "hooks_incomplete", damage: func(box *sandbox) { box.edit(home+"settings.json", `"AskUserQuestion"`, `"Bash"`) },
			finding: "problem  hooks: ", names: "for PreToolUse", mend: "ccc --supervisor -- --version"},
		{name: "hooks_without_program", damage: func(box *sandbox) { box.hooksCall("/no/such place/ccc") },
			finding: "problem  hooks: ", names: "/no/such place/ccc", mend: "ccc --supervisor -- --version"},
		{name: "hooks_not_executable", damage: func(box *sandbox) {
			box.write("ccc", 0o600, "")
			box.hooksCall(filepath.Join(box.home, "ccc"))
		}, finding: "problem  hooks: ", names: "permission denied", mend: "ccc --supervisor -- --version"},
		{name: "hooks_of_another_ccc", damage: func(box *sandbox) {
			os.Symlink("/bin/sh", filepath.Join(box.home, "ccc"))
			box.hooksCall(filepath.Join(box.home, "ccc"))
		}, finding: "warning  hooks: ", names: "another ccc", mend: "ccc --supervisor -- --version"},
		{name: "settings_invalid", damage: func(box *sandbox) {
			box.write("good", 0o600, box.settings())
			box.write(home+"settings.json", 0o600, "{,")
		}, finding: "problem  hooks: ", names: "settings.json: line 1, column 2: ", mend: "${EDITOR:-vi} "},

		{name: "muted_by_user", damage: func(box *sandbox) {
			box.edit(home+"settings.json", `"disableAllHooks": false`, `"disableAllHooks": true`)
		},
			finding: "problem  muting: ", names: "disableAllHooks", mend: "ccc --supervisor -- --version"},
		{name: "muted_by_project", damage: func(box *sandbox) {
			box.write("../work/.claude/settings.json", 0o600, "{\n \"a\":1, \"disableAllHooks\" : true}")
		}, finding: "problem  muting: ", names: "work/.claude/settings.json: disableAllHooks", mend: "sed "},
		{name: "muted_locally", damage: func(box *sandbox) {
			box.write("../work/.claude/settings.local.json", 0o600, `{"disableAllHooks":true}`)
		}, finding: "problem  muting: ", names: "settings.local.json: disableAllHooks", mend: "sed "},
		{name: "muted_by_administrator", damage: func(box *sandbox) { box.write("managed.json", 0o600, `{"disableAllHooks":true}`) },
			finding: "problem  muting: ", names: "managed.json: disableAllHooks", mend: "sudo sed "},
		{name: "managed_hooks_only", damage: func(box *sandbox) { box.write("managed.json", 0o600, `{"allowManagedHooksOnly": true}`) },
			finding: "problem  muting: ", names: "managed.json: allowManagedHooksOnly", mend: "sudo sed "},

		{name: "cap_in_environment", damage: func(box *sandbox) { box.vars = append(box.vars, blockCapVariable+"=11") },
			finding: "warning  block cap: ", names: "the environment", mend: "unset " + blockCapVariable},
		{name: "cap_in_settings", damage: func(box *sandbox) {
			box.edit(home+"settings.json", `"disableAllHooks": false`, `"disableAllHooks": false, "env":{"`+blockCapVariable+`": "8" , "A":"b"}`)
		}, finding: "warning  block cap: ", names: ".claude/settings.json", mend: "sed "},
		{name: "cap_in_project", damage: func(box *sandbox) {
			box.write("../work/.claude/settings.local.json", 0o600, `{"env":{"`+blockCapVariable+`":8}}`)
		}, finding: "warning  block cap: ", names: "work/.claude/settings.local.json", mend: "sed "},

		{name: "prompt_too_large", damage: func(box *sandbox) { box.write("../work/SUPERVISOR.md", 0o600, strings.Repeat("x", promptLimit+1)) },
			finding: "problem  prompt: ", names: "larger than 100 KiB", mend: "mv "},
		{name: "prompt_is_a_directory", damage: func(box *sandbox) { box.write("../work/SUPERVISOR.md/x", 0o600, "") },
			finding: "problem  prompt: ", names: "not a regular file", mend: "mv "},

		{name: "state_is_a_file", damage: func(box *sandbox) {
			os.RemoveAll(filepath.Join(box.home, home+"ccc"))
			box.write(home+"ccc", 0o600, "")
		}, finding: "problem  state directory: ", names: "not a directory", mend: "mv "},
		{name: "state_below_a_file", damage: func(box *sandbox) {
			box.write("file", 0o600, "")
			box.vars = append(box.vars, "CCC_WORK_DIR="+filepath.Join(box.home, "file/deep"))
		}, finding: "problem  state directory: ", names: "not a directory", mend: "mv "},
		{name: "state_not_writable", damage: func(box *sandbox) { os.Chmod(filepath.Join(box.home, home+"ccc"), 0o500) },
			finding: "problem  state directory: ", names: "permission denied", mend: "chmod -R u+rwX "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "state_not_writable" && os.Getuid() == 0 {
				t.Skip("root may write anywhere")
			}
			box := newDoctorBox(t)
			test.damage(box)
			got := box.run(60*time.Second, "", "ccc", "doctor")
			mend := mendOf(got.stdout, test.finding, test.names)
			if !strings.HasPrefix(mend, test.mend) {
				t.Fatalf("mend %q, want %q; it says\n%s%s", mend, test.mend, got.stdout, got.stderr)
			}
			if problem := strings.HasPrefix(test.finding, "problem"); (got.code == 1) != problem || problem != strings.Contains(got.stderr, " problem") {
				t.Errorf("exit %d, stderr %q", got.code, got.stderr)
			}
			if strings.Contains(got.stdout+got.stderr, "SECRET") {
				t.Errorf("a value is shown:\n%s", got.stdout)
			}
			subject := strings.Fields(test.finding)[1]
			mended := box.run(60*time.Second, test.stdin, "sh", "-c", mend+"\nccc doctor")
			if mended.code != 0 || !strings.Contains(mended.stdout, "ok       "+subject) || strings.Contains(mended.stdout, test.finding) {
				t.Errorf("after %s: %+v", mend, mended)
			}
		})
	}
}

// mendOf returns the line after the one that begins with finding and holds names.
func mendOf(output, finding, names string) string {
	lines := strings.Split(output, "\n")
	for i, line := range lines[:len(lines)-1] {
		if strings.HasPrefix(line, finding) && strings.Contains(line, names) {
			return strings.TrimSpace(lines[i+1])
		}
	}
	return ""
}

// hooksCall makes ccc's hooks call another program.
func (box *sandbox) hooksCall(program string) {
	box.t.Helper()
	self, err := os.Executable()
	if err != nil {
		box.t.Fatal(err)
	}
	box.edit(".claude/settings.json", hookCommand(self), hookCommand(program))
}

func TestDoctorUsage(t *testing.T) {
	box := newFakeBox(t)
	for _, args := range [][]string{{"--fix"}, {"now"}} {
		got := box.run(30*time.Second, "", append([]string{"ccc", "doctor"}, args...)...)
		if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, "usage:") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	// On a machine where ccc was never launched it makes nothing.
	if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 1 || got.stderr != "ccc: 1 problem\n" || !strings.Contains(got.stdout, "built-in") {
		t.Errorf("%+v", got)
	}
	if entries, _ := os.ReadDir(box.home); len(entries) != 0 {
		t.Errorf("it made %v", entries)
	}
}
