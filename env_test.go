package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Which repository a directory is in, and which of its working trees; and a project's settings.
func TestEnvTrees(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	short := func(path string) string { return strings.TrimPrefix(path, dir+"/") }
	for name, text := range map[string]string{
		"main/.git/HEAD":                     "",
		"main/sub/x":                         "",
		"main/.git/worktrees/tree/commondir": "../..\n",
		"plain/sub/x":                        "",
		"modules/own/x":                      "",
		"tree/sub/x":                         "",
		"tree/.git":                          "gitdir: " + at("main/.git/worktrees/tree") + "\n",
		"relative/.git":                      "gitdir: ../main/.git/worktrees/tree\n",
		"module/.git":                        "gitdir: ../modules/own\n",
	} {
		check(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		check(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	check(t, os.Symlink("main", at("link")))
	for path, want := range map[string]string{ // its working tree, and its repository
		"main/sub":  "main main/.git",
		"tree/sub":  "tree main/.git",
		"relative":  "relative main/.git",
		"module":    "module modules/own",
		"plain/sub": "plain/sub ",
		"link/sub":  "main main/.git",
	} {
		got := worktreeOf(at(path))
		expectIs(t, path, short(got.Top)+" "+short(got.Repository), want)
	}
	for path, want := range map[string]string{"tree": "main/.git/worktrees/tree", "module": "modules/own"} {
		expectIs(t, "the git directory of "+path, worktreeOf(at(path)).gitDir(), at(want))
	}
	d := dirs{here: at("link"), claude: at("claude")} // the settings of the main tree, each once
	expectEqual(t, "of the project", d.projectSettings(),
		[]string{at("link/.claude/settings.json"), at("link/.claude/settings.local.json")})
	d.here = at("main/sub") // both local ones
	expectEqual(t, "below the main tree", d.projectSettings(), []string{at("main/sub/.claude/settings.json"),
		at("main/.claude/settings.local.json"), at("main/sub/.claude/settings.local.json")})
	d = dirs{here: at(""), claude: at(".claude")} // a session in the home
	expectEqual(t, "in the home", d.projectSettings(), []string{at(".claude/settings.local.json")})
}

// What a command line has, up to --, and what an environment has.
func TestEnvArguments(t *testing.T) {
	for line, want := range map[string]string{"--x": "--x", "--x=1": "--x", "a --y b": "--y",
		"--y --x": "--y", "--y -- --x": "--y", "--xx": "", "-- --x": "", "x": "", "": ""} {
		expectIs(t, line, givenFlag(strings.Fields(line), "--x", "--y"), want)
	}
	for line, want := range map[string]string{"--x=1": "1", "--x 1": "1", "--x 1 --x=2": "2",
		"--x=1 --x 2": "2", "--x=1 --x=2": "2", "a --x 1 b": "1", "--x": "", "-- --x 1": "",
		"--x 1 -- --x 2": "1", "--xy 1": ""} {
		value, ok := lastValue(strings.Fields(line), "--x")
		expectIs(t, "the last value in "+line, value, want)
		expectIs(t, line+": there is one", ok, want != "")
	}
	env := []string{"A=1", "AB=2", "C=", "A=3"}
	for name, want := range map[string]string{"A": "1", "AB": "2", "B": "", "C": "", "": ""} {
		expectIs(t, name, lookupEnv(env, name), want)
	}
	expectEqual(t, "set", setEnv(env, "A", "4", "D", "5", "AB", ""), []string{"C=", "A=4", "D=5"})
	expectEqual(t, "the environment before", env, []string{"A=1", "AB=2", "C=", "A=3"})
}

// If an ordinary user may not write, doctor and a launch say what shows who may, and advise nothing that
// could harm: the place was not made by ccc. A variable of ccc's that leads to nothing is named. HOME, which
// is fine, is not.
func TestPlacesUnwritable(t *testing.T) {
	onlyRoot(t) // who can be another user
	box := newFakeBox(t)
	box.ordinary()
	for settings, place := range map[string]string{
		"HOME=/home/newuser": "/home",
		"HOME=/nonexistent CLAUDE_CONFIG_DIR=/data/claude": "/",
		"CCC_WORK_DIR=/var/lib/ccc":                        "/var/lib",
	} {
		for _, command := range []string{"--supervisor -p hi", "doctor"} {
			line := "env " + settings + " COLUMNS=1000 ccc " + command
			got := box.run(60*time.Second, "", strings.Fields(line)...)
			said := strings.ReplaceAll(got.stdout+got.stderr, "\n         ", "\n     ")
			expectIs(t, line, got.code, 1)
			expectIn(t, line, said, "permission denied", "\n     ls -ld "+place+"\n")
			if strings.HasPrefix(settings, "CCC_") {
				expectIn(t, line, said, settings+" leads there")
			}
			expectNotIn(t, line, said, "chown", "chmod", "sudo", "rm -", "HOME=")
		}
	}
	for limit, want := range map[string]string{"-f 0": "file too large\n", "-n 6": "too many open files\n"} {
		got := box.run(60*time.Second, "", "sh", "-c", "ulimit "+limit+"; exec ccc --supervisor -p hi")
		expectIn(t, "ulimit "+limit, got.stderr, want)
		expectNotIn(t, "ulimit "+limit, got.stderr, "enabled")
	}
}
