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

// What git is run with, and what is told of it if it fails: its complaint on one line, or why the time was
// up.
func TestGitRun(t *testing.T) {
	alone(t)
	box := newFakeBox(t)
	env := append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=0",
		"LC_ALL=zh_CN.UTF-8")
	box.write("../bin/git", 0o700, "#!/bin/sh\nwhile [ \"$1\" = -c ]; do shift 2; done\neval \"$1\"\n")
	t.Setenv("PATH", filepath.Dir(box.program())+":"+os.Getenv("PATH"))
	git := gitIn(t.Context(), worktree{Top: box.work}, env)
	git.env = append(git.env, "GIT_INDEX_FILE=/own")
	lines, err := git.lines("pwd; env")
	check(t, err)
	expectIs(t, "the directory", lines[0], box.work)
	for variable, want := range map[string]bool{
		"GIT_DIR=/nowhere":         false,
		"GIT_INDEX_FILE=/nowhere":  false,
		"GIT_INDEX_FILE=/own":      true,
		"LC_ALL=C":                 true,
		"GIT_NO_REPLACE_OBJECTS=1": true,
	} {
		expectIs(t, variable, slices.Contains(lines, variable), want)
	}
	line, err := git.output("echo out; exit 3")
	expectIs(t, "the line of a command that fails", line+fmt.Sprint(err != nil), "true")
	var out strings.Builder
	check(t, git.run("one\ntwo\n", &out, "cat"))
	expectIs(t, "what it is given", out.String(), "one\ntwo\n")
	zeros := strings.Repeat("0", 299)
	for script, want := range map[string]string{
		"echo fatal: no >&2; exit 128":                               "fatal: no (exit status 128)",
		"echo warning: w >&2; echo error: a >&2; echo b >&2; exit 1": "error: a b (exit status 1)",
		"printf %0400d 0 >&2; false":                                 zeros + "… (exit status 1)",
	} {
		expectIs(t, script, fmt.Sprint(git.run("", &out, script)), want)
	}
	late, cancel := place{}.within(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = gitIn(late.ctx, worktree{Top: box.work}, env).run("", &out, "sleep 60 & sleep 60")
	expectIs(t, "too late", fmt.Sprint(err), say(gitTooSlow, 10*time.Millisecond))
}

// What git leaves running does not hold up its caller, and its output is there.
func TestGitLeavesRunning(t *testing.T) {
	needGit(t)
	box := newFakeBox(t)
	git := gitIn(t.Context(), worktree{Top: box.work}, box.vars)
	released := time.AfterFunc(30*time.Second, func() { box.write("../work/go", 0o600, "") })
	var out strings.Builder
	_ = git.run("", &out, "-c", "alias.leave=!(until [ -e go ]; do sleep 0.05; done) & echo printed", "leave")
	expectIs(t, "it is held up, ", !released.Stop(), false)
	expectIs(t, "its output", out.String(), "printed\n")
	box.write("../work/go", 0o600, "")
}

// If git can't tell which commits are older than the change, none is: else the agent's own would be.
func TestCommitsBeforeUnknown(t *testing.T) {
	needGit(t)
	box := newFakeBox(t)
	box.repository()
	git := gitIn(t.Context(), worktreeOf(box.work), box.vars)
	head := box.gitIn(box.work, "git rev-parse HEAD")
	day := 24 * time.Hour
	expectEqual(t, "from before tomorrow", git.commitsBefore(now().Add(day), head, ""), []string{head})
	box.write("../work/.git/MERGE_HEAD", 0o600, strings.Repeat("a", 40)) // its object is gone
	expectEqual(t, "if git fails", git.commitsBefore(ago(day), head, ""), nil)
}
