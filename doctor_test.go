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
	box.write("../work/install", 0o600, fmt.Sprintf("ln -sf %s %s\n", fakeClaude(), filepath.Join(box.home, "../bin/claude")))
	box.vars = append(box.vars, "EDITOR=cp "+filepath.Join(box.home, "good"),
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
		subject, _, _ := strings.Cut(line, ":")
		if strings.HasSuffix(subject, "copies") { // it depends on the machine
			continue
		}
		subjects = append(subjects, subject)
	}
	want := []string{"ok       configuration", "ok       provider", "ok       claude", "ok       flags", "ok       hooks",
		"ok       muting", "ok       block cap", "ok       prompt", "ok       state directory"}
	if !slices.Equal(subjects, want) || strings.Contains(got.stdout, "SECRET") {
		t.Errorf("it says\n%s", got.stdout)
	}
	for _, want := range []string{"version 2.1.329", fmt.Sprintf("SUPERVISOR.md, %d bytes", len(defaultPrompt.zh)), "12, reviews; 8 where"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("it lacks %q:\n%s", want, got.stdout)
		}
	}
	if after := box.files(); !slices.Equal(after, before) {
		t.Errorf("files %q, were %q", after, before)
	}
	if call := box.read("../fake/agent-1/args"); call != "" {
		t.Errorf("claude was started: %s", call)
	}
}

// Each check is seen to fail, and to pass once the command was run that doctor
// prints on the next line, in the same shell.
func TestDoctorMends(t *testing.T) {
	t.Parallel()
	const home, relaunch = ".claude/", "ccc --supervisor -- --version"
	tests := []struct {
		name    string
		damage  func(box *sandbox)
		finding string // the beginning and
		names   string // some of the line
		mend    string
		stdin   string
	}{
		{name: "claude_missing", finding: "problem  claude: ", names: "not found in $PATH", mend: installClaude,
			damage: func(box *sandbox) { os.Remove(filepath.Join(box.home, "../bin/claude")) }},
		{name: "claude_variable", finding: "problem  claude: ", names: "/no/claude", mend: "unset CCC_CLAUDE",
			damage: func(box *sandbox) { box.vars = append(box.vars, "CCC_CLAUDE=/no/claude") }},
		{name: "claude_fails", finding: "problem  claude: ", names: "broken", mend: installClaude,
			damage: func(box *sandbox) { box.claudeIs("echo broken >&2; exit 1") }},
		{name: "claude_variable_fails", finding: "problem  claude: ", names: "broken", mend: "unset CCC_CLAUDE",
			damage: func(box *sandbox) {
				box.write("other", 0o700, "#!/bin/sh\necho broken >&2; exit 1\n")
				box.vars = append(box.vars, "CCC_CLAUDE="+filepath.Join(box.home, "other"))
			}},
		{name: "claude_variable_old", finding: "warning  flags: ", names: "claude lacks", mend: "unset CCC_CLAUDE",
			damage: func(box *sandbox) {
				box.write("other", 0o700, "#!/bin/sh\nFAKE_CLAUDE_VERSION=2.1.120 exec "+fakeClaude()+` "$@"`)
				box.vars = append(box.vars, "CCC_CLAUDE="+filepath.Join(box.home, "other"))
			}},
		{name: "claude_without_version", finding: "problem  claude: ", names: "does not tell a version",
			mend:   installClaude,
			damage: func(box *sandbox) { box.claudeIs("echo hello") }},
		{name: "flags_optional", finding: "warning  flags: ",
			names: "--system-prompt-snapshot, --no-session-persistence;", mend: installClaude,
			damage: func(box *sandbox) { box.claudeIs("FAKE_CLAUDE_VERSION=2.1.120 exec " + fakeClaude() + ` "$@"`) }},
		{name: "flags_needed", finding: "problem  flags: ", names: "--json-schema", mend: installClaude,
			damage: func(box *sandbox) {
				box.claudeIs(`case $1 in --version) echo "1.0.0 (Claude Code)" ;; *) echo "error: unknown option '--json-schema'" >&2; exit 1 ;; esac`)
			}},
		{name: "flags_unknown", finding: "warning  flags: ", names: "does not tell", mend: installClaude,
			damage: func(box *sandbox) { box.claudeIs(`echo "3.0.0 (Claude Code)"`) }},

		{name: "configuration_invalid", finding: "problem  configuration: ",
			names: "ccc.json: line 1, column 11: ", mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, "{}")
				box.write(home+"ccc.json", 0o600, `{"SECRET":,}`)
			}},
		{name: "configuration_readable", finding: "warning  configuration: ", names: "others can read it",
			mend: "chmod 600 ",
			damage: func(box *sandbox) {
				box.edit(home+"ccc.json", "ANTHROPIC_MODEL", "ANTHROPIC_AUTH_TOKEN")
				os.Chmod(filepath.Join(box.home, home+"ccc.json"), 0o644)
			}},
		{name: "configuration_is_a_directory", finding: "problem  configuration: ", names: "is a directory", mend: "mv ",
			damage: func(box *sandbox) {
				os.Remove(filepath.Join(box.home, home+"ccc.json"))
				box.write(home+"ccc.json/x", 0o600, "")
			}},
		{name: "provider_unknown", finding: "problem  provider: ", names: "glm is not among",
			mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, box.read(home+"ccc.json"))
				box.edit(home+"ccc.json", `"kimi",`, `"glm",`)
			}},
		{name: "provider_unset", finding: "problem  provider: ", names: "${KIMI_MODEL}, which is not set",
			mend: "read -r KIMI_MODEL; export KIMI_MODEL", stdin: "SECRET\n",
			damage: func(box *sandbox) { box.edit(home+"ccc.json", `"SECRET"`, `"${KIMI_MODEL}"`) }},
		{name: "provider_conflict", finding: "problem  provider: ",
			names: "work/.claude/settings.json: env.ANTHROPIC_MODEL overrides", mend: "in ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, "{}")
				box.write("../work/.claude/settings.json", 0o600, `{"env":{"ANTHROPIC_MODEL":"SECRET 2"}}`)
			}},
		{name: "provider_helper", finding: "problem  provider: ", names: ".claude/settings.json: apiKeyHelper", mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"settings.json", `"disableAllHooks": false`, `"disableAllHooks": false, "apiKeyHelper":"echo SECRET"`)
			}},
		{name: "provider_conflict_of_config", finding: "problem  provider: ", names: "ccc.json: settings.env.ANTHROPIC_API_KEY",
			mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"ccc.json", `"providers"`, `"settings":{"env":{"A":"b","ANTHROPIC_API_KEY":"SECRET"}},"providers"`)
			}},
		{name: "provider_settings_invalid", finding: "problem  provider: ",
			names: "work/.claude/settings.local.json: line 1, column 2", mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, "{}")
				box.write("../work/.claude/settings.local.json", 0o600, `{,`)
			}},
		{name: "mode_unknown_here", finding: "problem  flags: ", names: "argument 'delegate' is invalid", mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"ccc.json", `{"supervisor":{`, `{"supervisor":{"permission_mode":"delegate",`)
				box.claudeIs(`case "$*" in *"--permission-mode delegate"*) ` +
					`echo "error: option '--permission-mode <mode>' argument 'delegate' is invalid. Allowed choices are plan." >&2; exit 1 ;; ` +
					`*) exec ` + fakeClaude() + ` "$@" ;; esac`)
			}},

		{name: "hooks_never_written", finding: "problem  hooks: ",
			names: "none of ccc's for Stop, PreToolUse, UserPromptSubmit", mend: relaunch,
			damage: func(box *sandbox) { os.Remove(filepath.Join(box.home, home+"settings.json")) }},
		{name: "hooks_incomplete", finding: "problem  hooks: ", names: "for PreToolUse", mend: relaunch,
			damage: func(box *sandbox) { box.edit(home+"settings.json", `"AskUserQuestion"`, `"Bash"`) }},
		{name: "hooks_without_program", finding: "problem  hooks: ", names: "/no/such place/ccc",
			mend:   relaunch,
			damage: func(box *sandbox) { box.hooksCall("/no/such place/ccc") }},
		{name: "hooks_not_executable", finding: "problem  hooks: ", names: "permission denied", mend: relaunch,
			damage: func(box *sandbox) {
				box.write("ccc", 0o600, "")
				box.hooksCall(filepath.Join(box.home, "ccc"))
			}},
		{name: "hooks_of_another_ccc", finding: "warning  hooks: ", names: "another ccc", mend: relaunch,
			damage: func(box *sandbox) {
				os.Symlink("/bin/sh", filepath.Join(box.home, "ccc"))
				box.hooksCall(filepath.Join(box.home, "ccc"))
			}},
		{name: "hooks_in_no_directory", finding: "problem  hooks: ", names: "not a directory", mend: "mv ",
			damage: func(box *sandbox) {
				box.write("file", 0o600, "")
				box.vars = append(box.vars, "CLAUDE_CONFIG_DIR="+filepath.Join(box.home, "file"), "CCC_CONFIG_DIR="+filepath.Join(box.home, ".claude"))
			}},
		{name: "settings_invalid", finding: "problem  hooks: ", names: "settings.json: line 1, column 2: ",
			mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, box.settings())
				box.setSettings("{,")
			}},

		{name: "muted_by_user", finding: "problem  muting: ", names: "disableAllHooks", mend: relaunch,
			damage: func(box *sandbox) {
				box.edit(home+"settings.json", `"disableAllHooks": false`, `"disableAllHooks": true`)
			}},
		{name: "muted_by_project", finding: "problem  muting: ",
			names: "work/.claude/settings.json: disableAllHooks", mend: "in ",
			damage: func(box *sandbox) {
				box.write("../work/.claude/settings.json", 0o600, "{\n \"a\":1, \"disableAllHooks\" : true}")
			}},
		{name: "muted_by_variable", finding: "problem  muting: ", names: "CLAUDE_CODE_SAFE_MODE is set",
			mend:   "unset CLAUDE_CODE_SAFE_MODE",
			damage: func(box *sandbox) { box.vars = append(box.vars, "CLAUDE_CODE_SAFE_MODE=1") }},
		{name: "muted_by_env", finding: "problem  muting: ", names: "settings.local.json: env.CLAUDE_CODE_SIMPLE",
			mend: "in ",
			damage: func(box *sandbox) {
				box.write("../work/.claude/settings.local.json", 0o600, `{"env":{"CLAUDE_CODE_SIMPLE":"true"}}`)
			}},
		{name: "muted_by_config", finding: "problem  muting: ", names: "ccc.json: settings.env.CLAUDE_CODE_SIMPLE",
			mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"ccc.json", `{"supervisor"`, `{"settings":{"env":{"CLAUDE_CODE_SIMPLE":"1"}},"supervisor"`)
			}},
		{name: "muted_by_argument", finding: "problem  muting: ", names: "--supervisor with --bare", mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"ccc.json", `{"supervisor"`, `{"claude_args":["--bare"],"supervisor"`)
			}},
		{name: "muted_locally", finding: "problem  muting: ", names: "settings.local.json: disableAllHooks",
			mend: "in ",
			damage: func(box *sandbox) {
				box.write("../work/.claude/settings.local.json", 0o600, `{"disableAllHooks":true}`)
			}},
		{name: "muted_by_administrator", finding: "problem  muting: ", names: "managed.json: disableAllHooks",
			mend:   "in ",
			damage: func(box *sandbox) { box.write("managed.json", 0o600, `{"disableAllHooks":true}`) }},
		{name: "managed_hooks_only", finding: "problem  muting: ", names: "managed.json: allowManagedHooksOnly",
			mend:   "in ",
			damage: func(box *sandbox) { box.write("managed.json", 0o600, `{"allowManagedHooksOnly": true}`) }},

		{name: "cap_in_environment", finding: "warning  block cap: ", names: "the environment",
			mend:   "unset " + blockCapVariable,
			damage: func(box *sandbox) { box.vars = append(box.vars, blockCapVariable+"=11") }},
		{name: "cap_in_settings", finding: "warning  block cap: ", names: ".claude/settings.json", mend: "in ",
			damage: func(box *sandbox) {
				box.edit(home+"settings.json", `"disableAllHooks": false`, `"disableAllHooks": false, "env":{"`+blockCapVariable+`": "8" , "A":"b"}`)
			}},
		{name: "cap_in_project", finding: "warning  block cap: ", names: "work/.claude/settings.local.json",
			mend: "in ",
			damage: func(box *sandbox) {
				box.write("../work/.claude/settings.local.json", 0o600, `{"env":{"`+blockCapVariable+`":8}}`)
			}},

		{name: "prompt_too_large", finding: "problem  prompt: ", names: "larger than 100 KiB", mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, "short")
				box.write("../work/SUPERVISOR.md", 0o600, strings.Repeat("x", supervisorPromptLimit+1))
			}},
		{name: "prompt_linked", finding: "problem  prompt: ", names: "larger than 100 KiB", mend: "${EDITOR:-vi} ",
			damage: func(box *sandbox) {
				box.write("good", 0o600, "short")
				box.write("dotfiles/prompt", 0o600, strings.Repeat("x", supervisorPromptLimit+1))
				os.Symlink(filepath.Join(box.home, "dotfiles/prompt"), filepath.Join(box.work, "SUPERVISOR.md"))
			}},
		{name: "prompt_is_a_directory", finding: "problem  prompt: ", names: "not a regular file", mend: "mv ",
			damage: func(box *sandbox) { box.write("../work/SUPERVISOR.md/x", 0o600, "") }},

		{name: "state_is_a_file", finding: "problem  state directory: ", names: "not a directory", mend: "mv ",
			damage: func(box *sandbox) {
				os.RemoveAll(filepath.Join(box.home, home+"ccc"))
				box.write(home+"ccc", 0o600, "")
			}},
		{name: "state_below_a_file", finding: "problem  state directory: ", names: "not a directory",
			mend: "mv ",
			damage: func(box *sandbox) {
				box.write("file", 0o600, "")
				box.vars = append(box.vars, "CCC_WORK_DIR="+filepath.Join(box.home, "file/deep"))
			}},
		{name: "state_not_writable", finding: "problem  state directory: ", names: "permission denied",
			mend:   "chmod -R u+rwX ",
			damage: func(box *sandbox) { os.Chmod(filepath.Join(box.home, home+"ccc"), 0o500) }},
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
			mended := box.run(60*time.Second, test.stdin, "sh", "-c", box.change(mend)+"\nccc doctor")
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

// change does what a mend of the form "in FILE: KEY: VALUE" says, and returns
// nothing to run; any other mend is a command.
func (box *sandbox) change(mend string) (command string) {
	box.t.Helper()
	path, rest, isChange := strings.Cut(strings.TrimPrefix(mend, "in "), ": ")
	if !isChange || !strings.HasPrefix(mend, "in ") {
		return mend
	}
	key, value, _ := strings.Cut(rest, ": ")
	text, err := os.ReadFile(path)
	if err != nil {
		box.t.Fatal(err)
	}
	at, err := parseJSON(text)
	if err != nil {
		box.t.Fatal(err)
	}
	for name, rest, nested := strings.Cut(key, "."); nested; name, rest, nested = strings.Cut(rest, ".") {
		at, key = at.member(name), rest
	}
	if value == "remove it" || value == "take it out" {
		text = removeMember(text, at, key)
	} else {
		text = setMember(text, at, key, []byte(value))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		box.t.Fatal(err)
	}
	return ""
}

// hooksCall makes ccc's hooks call another program.
func (box *sandbox) hooksCall(program string) {
	box.t.Helper()
	box.edit(".claude/settings.json", hookCommand(box.program()), hookCommand(program))
}

func TestDoctorUsage(t *testing.T) {
	box := newFakeBox(t)
	for _, args := range [][]string{{"--fix"}, {"now"}} {
		got := box.run(30*time.Second, "", append([]string{"ccc", "doctor"}, args...)...)
		if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, "usage:") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// On a machine where ccc was never launched doctor finds no fault, but tells what the first launch will do, and makes
// nothing; after that launch all is well.
func TestDoctorFirst(t *testing.T) {
	box := newFakeBox(t)
	if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "built-in") ||
		!strings.Contains(got.stdout, "ok       hooks: none yet; the first ccc --supervisor puts") || strings.Contains(got.stdout, "problem") {
		t.Errorf("%+v", got)
	}
	if entries, _ := os.ReadDir(box.home); len(entries) != 0 {
		t.Errorf("it made %v", entries)
	}
	box.setSettings(`{"disableAllHooks":true}`)
	if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 0 || !strings.Contains(got.stdout, "disableAllHooks is true; the first ccc --supervisor sets it to false") {
		t.Errorf("muted: %+v", got)
	}
	box.launch()
	if got := box.run(60*time.Second, "", "ccc", "doctor"); got.code != 0 || strings.Contains(got.stdout, "first") {
		t.Errorf("launched: %+v", got)
	}
}
