package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Where ccc's directories are: by a flag, by a variable, else in the home; relative ones from the current directory.
func TestEnvPlaces(t *testing.T) {
	here, err := os.Getwd()
	check(t, err)
	self, err := os.Executable()
	check(t, err)
	for _, test := range []struct{ state, home, claudeDir, configDir, workDir, want string }{
		{"", "/h", "", "", "", "/h/.claude /h/.claude /h/.claude/ccc"},
		{"", "/h", "/c", "", "", "/c /c /c/ccc"},
		{"", "/h", "", "/o", "", "/h/.claude /o /o/ccc"},
		{"", "/h", "/c", "/o", "", "/c /o /o/ccc"},
		{"", "/h", "", "", "/w", "/h/.claude /h/.claude /w/ccc"},
		{"", "/h", "/c", "/o", "/w", "/c /o /w/ccc"},
		{"/s", "/h", "/c", "/o", "/w", "/c /o /s"},
		{"s", "/h", "c", "o", "", "HERE/c HERE/o HERE/s"},
		{"", "", "/c", "", "w", "/c /c HERE/w/ccc"},
	} {
		for name, value := range map[string]string{"HOME": test.home, claudeDirVariable: test.claudeDir, configDirVariable: test.configDir, workDirVariable: test.workDir} {
			t.Setenv(name, value)
		}
		d, err := findDirs(os.Environ(), test.state)
		check(t, err)
		expectIs(t, test, strings.ReplaceAll(strings.Join([]string{d.claude, d.ccc, string(d.state)}, " "), here, "HERE"), test.want)
		expectIs(t, "ccc itself", d.self, self)
		expectIs(t, "the current directory", d.here, here)
	}
	t.Setenv(claudeDirVariable, "")
	if _, err := findDirs(os.Environ(), ""); err == nil || !strings.Contains(err.Error(), "HOME is not defined: set it, or CLAUDE_CONFIG_DIR") {
		t.Errorf("without a home: %v", err)
	}
	d := dirs{claude: "/c", ccc: "/o"}
	for got, want := range map[string]string{d.settingsFile(): "/c/settings.json", d.commandFile(): "/c/commands/supervisor.md", d.installedFile(): "/c/.ccc-installed.json",
		d.lockFile(): "/c/.ccc.lock", d.configFile(): "/o/ccc.json", d.promptFile(): "/o/SUPERVISOR.md"} {
		expectIs(t, "the file", got, want)
	}
}

// The hooks call the ccc in PATH only where it is the running one.
func TestEnvHookPath(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"own", "other"} {
		check(t, errors.Join(os.MkdirAll(at(name), 0o700), os.WriteFile(at(name+"/real"), nil, 0o700), os.Symlink("real", at(name+"/ccc"))))
	}
	d := dirs{self: at("own/real")}
	for path, want := range map[string]string{at("own"): at("own/ccc"), at("other"): d.self, at("none"): d.self, "": d.self,
		at("other") + ":" + at("own"): d.self, at("own") + ":" + at("other"): at("own/ccc")} {
		t.Setenv("PATH", path)
		expectIs(t, path, d.hookPath(), want)
	}
}

// Which repository a directory is in, which of its working trees, and whether it is of a project.
func TestEnvTrees(t *testing.T) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	check(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		check(t, errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), []byte(text), 0o600)))
	}
	for _, name := range []string{"main/.git/HEAD", "main/sub/x", "main/.git/worktrees/tree/x", "other/.git/HEAD", "plain/sub/x", "bare/x", "modules/own/x", "tree/sub/x"} {
		write(name, "")
	}
	write("main/.git/worktrees/tree/commondir", "../..\n")
	write("tree/.git", "gitdir: "+at("main/.git/worktrees/tree")+"\n")
	write("relative/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write("module/.git", "gitdir: ../modules/own\n")
	check(t, os.Symlink("main", at("link")))
	for path, want := range map[string]string{ // its working tree, and its repository
		"main":      "main main/.git",
		"main/sub":  "main main/.git",
		"tree":      "tree main/.git",
		"tree/sub":  "tree main/.git",
		"relative":  "relative main/.git",
		"module":    "module modules/own",
		"other":     "other other/.git",
		"plain":     "plain ",
		"plain/sub": "plain/sub ",
		"link":      "main main/.git",
		"link/sub":  "main main/.git",
	} {
		short := func(path string) string { return strings.TrimPrefix(path, dir+"/") }
		got := treeOf(at(path))
		expectIs(t, path, short(got.Top)+" "+short(got.Repository), want)
	}
	expectIs(t, "no directory", treeOf(""), tree{})
	for path, want := range map[string]string{"main": "main/.git", "tree": "main/.git/worktrees/tree", "module": "modules/own"} {
		expectIs(t, "the git directory of "+path, treeOf(at(path)).gitDir(), at(want))
	}
	for _, test := range []struct{ project, here, want string }{
		{"main", "main", "main"},
		{"main", "main/sub", "main"},
		{"main/sub", "main", "main/sub"},
		{"main", "tree/sub", "tree"},
		{"tree", "main/sub", "main"},
		{"main", "other", "main"},
		{"main", "plain", "main"},
		{"plain", "main", "plain"},
		{"plain", "plain/sub", "plain"},
		{"link", "main", "link"},
		{"plain", "tree", "plain"},
	} {
		expectIs(t, "of project "+test.project+", in "+test.here, workingTree(at(test.project), at(test.here)), at(test.want))
	}
	for _, test := range []struct {
		here, start string
		want        bool
	}{
		{"main", "main", true},
		{"main", "main/sub", true},
		{"main", "link", true},
		{"tree", "main", true},
		{"plain", "plain", true},
		{"main", "other", false},
		{"main", "plain", false},
		{"main", "", false},
		{"plain", "main", false},
		{"plain", "plain/sub", false},
		{"plain", "bare", false},
		{"plain", "", false},
		{"", "", false},
	} {
		d := dirs{here: at(test.here)}
		start := test.start
		if start != "" {
			start = at(start)
		}
		expectIs(t, "in "+test.here+", one that started in "+test.start, d.isOfProject(start), test.want)
	}

	// The project's settings that count there; those of the main tree in all its trees, each once.
	const shared, local = "/.claude/settings.json", "/.claude/settings.local.json"
	for here, want := range map[string][]string{
		"main":     {"main" + shared, "main" + local},
		"main/sub": {"main/sub" + shared, "main" + local, "main/sub" + local},
		"tree":     {"tree" + shared, "main" + local, "tree" + local},
		"plain":    {"plain" + shared, "plain" + local},
		"module":   {"module" + shared, "module" + local},
		"link":     {"link" + shared, "link" + local},
	} {
		d := dirs{here: at(here), claude: at("claude")}
		var got []string
		for _, path := range d.projectSettings() {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		expectEqual(t, here, got, want)
	}
	d := dirs{here: at(""), claude: at(".claude")} // a session in the home
	expectEqual(t, "in the home", d.projectSettings(), []string{at(local[1:])})
}

// What a command line has, up to --.
func TestEnvArguments(t *testing.T) {
	for line, want := range map[string]string{
		"--x":        "--x",
		"--x=1":      "--x",
		"a --y b":    "--y",
		"--y --x":    "--y",
		"--y -- --x": "--y",
		"--xx":       "",
		"-- --x":     "",
		"x":          "",
		"":           "",
	} {
		expectIs(t, line, givenFlag(strings.Fields(line), "--x", "--y"), want)
	}
	env := []string{"A=1", "AB=2", "C=", "A=3"}
	for name, want := range map[string]string{"A": "1", "AB": "2", "B": "", "C": "", "": ""} {
		expectIs(t, name, lookupEnv(env, name), want)
	}
	expectEqual(t, "set", setEnv(env, "A", "4", "D", "5", "AB", ""), []string{"C=", "A=4", "D=5"})
	expectEqual(t, "the environment before", env, []string{"A=1", "AB=2", "C=", "A=3"})
	c := &invocation{flags: map[string]string{"--a": ""}}
	expectIs(t, "a flag that was given", c.has("--a"), true)
	expectIs(t, "one that was not", c.has("--b"), false)
}

// The claude that is run, and why there is none.
func TestEnvClaude(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	self, err := os.Executable()
	check(t, err)
	check(t, errors.Join(os.WriteFile(at("claude"), nil, 0o700), os.WriteFile(at("mine"), nil, 0o700), os.WriteFile(at("text"), nil, 0o600), os.Mkdir(at("as"), 0o700), os.Symlink(self, at("as/claude")), os.Symlink(self, at("me"))))
	t.Setenv("HOME", at("home"))
	for _, test := range []struct {
		path, named, want string
		code              int
		hint              string
	}{
		{dir, "", at("claude"), 0, ""}, {dir, "mine", at("mine"), 0, ""}, {"/none", at("mine"), at("mine"), 0, ""},
		{"/none", "", "no claude in PATH, and CCC_CLAUDE is not set", 127, installClaude},
		{dir, at("none"), claudeVariable + "=" + at("none") + ": stat " + at("none") + ": no such file or directory", 127, "unset CCC_CLAUDE; command -v claude || " + installClaude},
		{dir, at("text"), claudeVariable + "=" + at("text") + ": permission denied", 127, "unset CCC_CLAUDE; command -v claude || " + installClaude},
		{at("as"), "", at("as/claude") + ", which stands for claude, is ccc itself", 126, "export CCC_CLAUDE=PATH, that of Claude Code's own program"},
		{dir, at("me"), at("me") + ", which stands for claude, is ccc itself", 126, "export CCC_CLAUDE=PATH, that of Claude Code's own program"},
	} {
		t.Setenv("PATH", test.path)
		t.Setenv(claudeVariable, test.named)
		found, err := findClaude(os.Environ())
		if f := failureOf(err); err != nil {
			expectIs(t, test, found, "")
			found = f.err.Error()
			expectIs(t, "the code of "+found, f.code, test.code)
			expectIs(t, "the hint of "+found, strings.TrimSuffix(f.hint, " || curl -fsSL https://claude.ai/install.sh | bash"), test.hint)
		}
		expectIs(t, test, found, test.want)
	}
	// One that is installed, but not in PATH, is named.
	t.Setenv("PATH", "/none")
	for _, place := range []string{".local/bin", ".claude/local"} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		path := filepath.Join(home, place, "claude")
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)))
		t.Setenv(claudeVariable, "")
		_, err := findClaude(os.Environ())
		expectIn(t, place+", no program", failureOf(err).hint, installClaude, "install.sh")
		check(t, os.Chmod(path, 0o700))
		for _, named := range []string{"", at("none")} {
			t.Setenv(claudeVariable, named)
			_, err := findClaude(os.Environ())
			expectIs(t, place+" with "+named, failureOf(err).hint, "export CCC_CLAUDE="+path)
			expectIs(t, place+": the code", failureOf(err).code, 127)
		}
	}
	expectIs(t, "the oldest", oldestClaude, "2.1.280")
	expectIs(t, "the command that installs it", installClaude, "npm install -g @anthropic-ai/claude-code@latest")
}

// Where an ordinary user may not write, doctor and a launch say what shows who may, and advise nothing that could harm: the
// place was not made by ccc. A variable of ccc's that leads to nothing is named. HOME, which is fine, is not.
func TestPlacesUnwritable(t *testing.T) {
	onlyRoot(t) // who can be another user
	box := newFakeBox(t)
	box.ordinary()
	ls := func(place string) string { return "\n     ls -ld " + place + "\n" }
	for _, test := range []struct{ settings, leads, command string }{
		{"HOME=/", "", ls("/")},
		{"HOME=/nonexistent", "", ls("/")},
		{"HOME=/home/newuser", "", ls("/home")},
		{"HOME=/nonexistent CLAUDE_CONFIG_DIR=/data/claude", "", ls("/")},
		{"CCC_WORK_DIR=/opt/state", "CCC_WORK_DIR=/opt/state leads there", ls("/opt")},
		{"CCC_WORK_DIR=/var/lib/ccc", "CCC_WORK_DIR=/var/lib/ccc leads there", ls("/var/lib")},
		{"CCC_CONFIG_DIR=/usr/local/etc/ccc", "CCC_CONFIG_DIR=/usr/local/etc/ccc leads there", ls("/usr/local/etc")},
	} {
		for _, command := range []string{"--supervisor -p hi", "doctor"} {
			argv := slices.Concat([]string{"env"}, strings.Fields(test.settings), []string{"COLUMNS=1000", "ccc"}, strings.Fields(command))
			got := box.run(60*time.Second, "", argv...)
			said := strings.ReplaceAll(got.stdout+got.stderr, "\n         ", "\n     ")
			expectIs(t, test.settings+" "+command, got.code, 1)
			expectIn(t, test.settings+" "+command, said, "permission denied", test.leads, test.command)
			expectNotIn(t, test.settings+" "+command, said, "chown", "chmod", "sudo", "rm -", "HOME=")
		}
	}
	for limit, want := range map[string]string{"-f 0": "file too large\n", "-n 6": "too many open files\n"} {
		got := box.run(60*time.Second, "", "sh", "-c", "ulimit "+limit+"; exec ccc --supervisor -p hi")
		expectIn(t, "ulimit "+limit, got.stderr, want)
		expectNotIn(t, "ulimit "+limit, got.stderr, "enabled")
	}
}
