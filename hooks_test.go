package main

// How ccc's hooks are called and known again, and the path by which they last.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An entry of ccc's is known however its program is written, and is brought up to
// date where it stands, or left where it works.
func TestHookCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_BIN", home+"/bin")
	self := filepath.Join(home, "bin/ccc")
	if err := os.MkdirAll(filepath.Dir(self), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	const left = "left"
	tests := []struct{ command, want string }{ // want has SELF for self; "" is not ccc's
		{"/old/ccc supervisor-hook", "SELF supervisor-hook"},
		{"ccc supervisor-hook", "SELF supervisor-hook"},
		{"'/old place/ccc' supervisor-hook", "SELF supervisor-hook"},
		{`"/old/ccc" supervisor-hook`, "SELF supervisor-hook"},
		{`/old\ place/ccc  supervisor-hook`, "SELF  supervisor-hook"},
		{"/old/ccc-linux-amd64 supervisor-hook", "SELF supervisor-hook"},
		{"/old/ccc supervisor-hook --state-dir '/my state'", "SELF supervisor-hook --state-dir '/my state'"},
		{"/old/ccc supervisor-hook 2>>/tmp/log || true", "SELF supervisor-hook 2>>/tmp/log || true"},
		{"/old/ccc 'supervisor-hook'", "SELF 'supervisor-hook'"},
		{"CCC_WORK_DIR=/w LANG=C /old/ccc supervisor-hook", "CCC_WORK_DIR=/w LANG=C SELF supervisor-hook"},
		{"exec env A=b /old/ccc supervisor-hook", "exec env A=b SELF supervisor-hook"},
		{"cd /tmp && /old/ccc supervisor-hook", "cd /tmp && SELF supervisor-hook"},
		{"$HOME/bin/ccc supervisor-hook", left},
		{`"${HOME}/bin/ccc" supervisor-hook --state-dir /x`, left},
		{"~/bin/ccc supervisor-hook", left},
		{"$XDG_BIN/ccc supervisor-hook", left},
		{"$HOME/gone/ccc supervisor-hook", "SELF supervisor-hook"},
		{"~/gone/ccc supervisor-hook --state-dir /x", "SELF supervisor-hook --state-dir /x"},
		{"'$HOME/bin/ccc' supervisor-hook", "SELF supervisor-hook"},
		{`$(brew --prefix)/bin/ccc supervisor-hook`, left},
		{"`which ccc` supervisor-hook", left},
		{"wrap /bin/ccc supervisor-hook", ""},
		{"wrap env /bin/ccc supervisor-hook", ""},
		{"command /old/ccc supervisor-hook", "command SELF supervisor-hook"},
		{"/bin/other supervisor-hook", ""},
		{"/bin/ccc status", ""},
		{"echo 'ccc supervisor-hook'", ""},
		{"true # ccc supervisor-hook", ""},
		{"ccc > supervisor-hook-log", ""},
		{"", ""},
	}
	for _, test := range tests {
		if got := isOwnCommand(test.command, self); got != (test.want != "") {
			t.Errorf("%s: ccc's: %v", test.command, got)
			continue
		}
		want := strings.ReplaceAll(test.want, "SELF", self)
		if want == left {
			want = test.command
		}
		if want == "" {
			continue
		}
		if got := currentCommand(test.command, self); got != want {
			t.Errorf("%s: got %s, want %s", test.command, got, want)
		}
	}
	if command := hookCommand("/opt/my review"); !isOwnCommand(command, "/opt/my review") || isOwnCommand(command, self) {
		t.Error("a ccc of another name is known by its own path only")
	}
}

// Whatever form the user has given to the entries, a launch does not double them,
// and uninstall finds them.
func TestHookNotDoubled(t *testing.T) {
	for name, command := range map[string]string{
		"home": "$HOME/bin/ccc supervisor-hook", "tilde": "~/bin/ccc supervisor-hook", "quoted": `\"$HOME/bin/ccc\" supervisor-hook`,
		"state_dir": "$HOME/bin/ccc supervisor-hook --state-dir /nowhere", "variable": "A=b ~/bin/ccc supervisor-hook", "gone": "/gone/ccc supervisor-hook --state-dir x",
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.write("bin/README", 0o600, "")
			if err := os.Symlink(box.program(), filepath.Join(box.home, "bin/ccc")); err != nil {
				t.Fatal(err)
			}
			entry := `[{"type":"command","command":"` + command + `"}]`
			box.setSettings(`{"hooks":{"Stop":[{"hooks":` + entry + `}],"PreToolUse":[{"matcher":"AskUserQuestion|Bash","hooks":` + entry +
				`}],"UserPromptSubmit":[{"hooks":` + entry + `}]}}`)
			box.launch()
			text := box.settings()
			if name != "gone" && strings.Count(text, command) != 3 {
				t.Errorf("not left as it was:\n%s", text)
			}
			if strings.Count(text, "supervisor-hook") != 3 || strings.Contains(text, "/gone/") {
				t.Errorf("doubled or not mended:\n%s", text)
			}
			if got := box.run(30*time.Second, "", "ccc", "uninstall"); got.code != 0 || strings.Contains(box.settings(), "supervisor-hook") {
				t.Errorf("%+v\n%s", got, box.settings())
			}
		})
	}
}

// An upgrade as Homebrew makes it: the link in PATH moves, and the old folder
// goes. Hooks go on, and a path that a former ccc resolved is mended.
func TestHookSurvivesUpgrade(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	prefix := filepath.Dir(box.home)
	link := box.program()
	install := func(version string) (program string) {
		t.Helper()
		program = filepath.Join(prefix, "Cellar", version, "bin/ccc")
		if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if got := box.run(30*time.Second, "", "cp", self, program); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		os.Remove(link)
		if err := os.Symlink(filepath.Join("../Cellar", version, "bin/ccc"), link); err != nil {
			t.Fatal(err)
		}
		return program
	}
	old := install("1.0")
	resolved := hookCommand(old)
	box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + resolved + `"}]}]}}`)
	box.launch()
	text := box.settings()
	if strings.Count(text, `"`+hookCommand(link)+`"`) != 3 || strings.Contains(text, "Cellar") {
		t.Fatalf("the hooks do not call the link:\n%s", text)
	}
	install("1.1")
	if err := os.RemoveAll(filepath.Join(prefix, "Cellar/1.0")); err != nil {
		t.Fatal(err)
	}
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	if got := box.run(60*time.Second, box.event(eventStop, ""), "sh", "-c", hookCommand(link)); got.code != 0 || got.stdout != blockNotYet {
		t.Errorf("after the upgrade: %+v", got)
	}
	box.launch()
	if again := box.settings(); again != text {
		t.Errorf("the next launch wrote\n%s", again)
	}
	if got := box.run(60*time.Second, "", "ccc", "doctor"); !strings.Contains(got.stdout, "ok       hooks: ") {
		t.Errorf("doctor: %+v", got)
	}
}

// A program that go run has built is gone soon: it starts no supervised session,
// and writes nothing.
func TestHookWillVanish(t *testing.T) {
	t.Parallel()
	const hash = "9a1d7bade8cbf5fa1bc4726543aff174f08c418c9705cf51caa75417053b0e4d"
	for path, want := range map[string]bool{
		"/tmp/go-build2937241815/b001/exe/ccc": true, "/root/.cache/go-build/9a/" + hash + "-d/ccc": true, "/cache/9a/" + hash + "-d/ccc": true,
		"/home/u/go/bin/ccc": false, "/home/u/go-builder/ccc": false, "/opt/ccc-d/ccc": false,
	} {
		if got := willVanish(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	box := newFakeBox(t)
	os.Remove(box.program())
	program := filepath.Join(box.home, "../tmp/go-build1/b001/exe/ccc")
	self, _ := os.Executable()
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	got := box.run(30*time.Second, "", program, "--supervisor", "-p", "hi")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "go install") || len(box.files()) != 0 {
		t.Errorf("%+v, files %v", got, box.files())
	}
	if got := box.run(90*time.Second, "", program, "demo"); got.code != 0 || !strings.Contains(got.stdout, "Review 2/10 approved") {
		t.Errorf("the demo: %+v", got)
	}
	if got := box.run(30*time.Second, "", program, "-p", "hi"); got.code != 0 {
		t.Errorf("in normal mode: %+v", got)
	}
}

// A relative link in a linked directory counts from where it stands.
func TestSettingsLinkInLinkedDirectory(t *testing.T) {
	box := newFakeBox(t)
	const mine = "{\n  \"mine\": true\n}\n"
	box.write("dotfiles/shared/settings.json", 0o640, mine)
	box.write("dotfiles/claude/commands/own.md", 0o600, "")
	box.write("shared/settings.json", 0o600, mine) // where the link leads by its text
	for link, target := range map[string]string{".claude": "dotfiles/claude", "dotfiles/claude/settings.json": "../shared/settings.json"} {
		if err := os.Symlink(target, filepath.Join(box.home, link)); err != nil {
			t.Fatal(err)
		}
	}
	box.launch()
	if got := box.read("shared/settings.json"); got != mine {
		t.Errorf("another file was edited:\n%s", got)
	}
	if got := box.read("dotfiles/shared/settings.json"); strings.Count(got, "supervisor-hook") != 3 {
		t.Errorf("the file has no hooks:\n%s", got)
	}
	if got := box.run(30*time.Second, "", "ccc", "uninstall"); got.code != 0 || box.read("dotfiles/shared/settings.json") != mine {
		t.Errorf("%+v\n%s", got, box.read("dotfiles/shared/settings.json"))
	}
	if target, err := os.Readlink(filepath.Join(box.home, "dotfiles/claude/settings.json")); err != nil || target != "../shared/settings.json" {
		t.Errorf("the link: %q, %v", target, err)
	}
}
