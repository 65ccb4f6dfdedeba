package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// listing describes every file below dir: its mode, size, time and, but for directories, content.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintln(&list, path, info.Mode(), info.Size(), info.ModTime(), checksum(text))
		return err
	})
	check(t, err)
	return strings.Split(list.String(), "\n")
}

// expectUnchanged wants the listing of dir to be what it was before, the times of objects and shared indices only if objectTimes
// says so: git notes on them that they are still in use.
func expectUnchanged(t *testing.T, dir string, before []string, objectTimes bool) {
	t.Helper()
	after := listing(t, dir)
	time := regexp.MustCompile(`(/objects/.*|/sharedindex.*) \d+-\d+-\d+ .*UTC `)
	for _, list := range [][]string{before, after} {
		for i := range list {
			if !objectTimes {
				list[i] = time.ReplaceAllString(list[i], "$1 ")
			}
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new or changed: %s", line)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files where %d were", len(after), len(before))
	}
}

// A run is one wherever ccc stands, and is told as the script that it runs; so is any other command.
func TestTryCall(t *testing.T) {
	for call, want := range map[string]struct {
		isRun bool
		doing string
	}{
		"Bash(/x/ccc try 'a')":                            {true, "a"},
		"Bash('/my tools/ccc' try --timeout 9m 'a')":      {true, "a"},
		"Bash(/x/ccc-linux-amd64 try 'a b; echo (c)')":    {true, "a b; echo (c)"},
		"Bash('/my tools/ccc-1.2' try 'a' 2>&1)":          {true, "a 2>&1"},
		"Bash(cd /x && timeout 9 ccc/ccc try go test ./)": {true, "go test ./"},
		"Bash(ls /x/ccc try)":                             {false, "ls /x/ccc try"},
		"Bash(/x/ccc/other try 'a')":                      {false, "/x/ccc/other try 'a'"},
		"Bash(echo (a))":                                  {false, "echo (a)"},
		"Read(/x/ccc try 'a')":                            {false, "Read(/x/ccc try 'a')"},
		"Read":                                            {false, "Read"},
	} {
		expectIs(t, call, tryCall().MatchString(call), want.isRun)
		expectIs(t, "what it does", doing(call), want.doing)
	}
}

// What git is run with, and what is told of it where it fails: its complaint on one line, or why the time was up.
func TestGitRun(t *testing.T) {
	alone(t)
	box := newFakeBox(t)
	env := append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=0", "LC_ALL=zh_CN.UTF-8")
	box.write("../bin/git", 0o700, "#!/bin/sh\nwhile [ \"$1\" = -c ]; do shift 2; done\neval \"$1\"\n")
	t.Setenv("PATH", filepath.Dir(box.program())+":"+os.Getenv("PATH"))
	git, end := gitIn(t.Context(), time.Minute, tree{Top: box.work}, env)
	defer end()
	git.env = append(git.env, "GIT_INDEX_FILE=/own")
	lines, err := git.lines("pwd; env")
	check(t, err)
	expectIs(t, "the directory", lines[0], box.work)
	for variable, want := range map[string]bool{
		"GIT_DIR=/nowhere":         false,
		"GIT_INDEX_FILE=/nowhere":  false,
		"GIT_INDEX_FILE=/own":      true,
		"GIT_CONFIG_COUNT=0":       true,
		"LC_ALL=C":                 true,
		"LC_ALL=zh_CN.UTF-8":       false,
		"GIT_NO_REPLACE_OBJECTS=1": true,
		"GIT_OPTIONAL_LOCKS=0":     true,
		"HOME=" + box.home:         true,
	} {
		expectIs(t, variable, slices.Contains(lines, variable), want)
	}
	line, err := git.output("echo out; exit 3")
	expectIs(t, "the line of a command that fails", line+fmt.Sprint(err != nil), "true")
	line, err = git.output(":")
	expectIs(t, "the line of nothing", line+fmt.Sprint(err != nil), "false")
	var out strings.Builder
	check(t, git.run("one\ntwo\n", &out, "cat"))
	expectIs(t, "what it is given", out.String(), "one\ntwo\n")
	for script, want := range map[string]string{
		"echo out; echo fatal: no >&2; exit 128":                                       "fatal: no (exit status 128)",
		"echo warning: w >&2; echo hint: h >&2; echo error: a >&2; echo b >&2; exit 1": "error: a b (exit status 1)",
		"echo hint: h >&2; exit 3":                                                     "exit status 3",
		"printf %0400d 0 >&2; exit 1":                                                  strings.Repeat("0", 299) + "… (exit status 1)",
	} {
		expectIs(t, script, fmt.Sprint(git.run("", &out, script)), want)
	}
	late, cancel := gitIn(t.Context(), 10*time.Millisecond, tree{Top: box.work}, env)
	defer cancel()
	if err := late.run("", &out, "sleep 60 & sleep 60"); err == nil || err.Error() != say(gitTooSlow, 10*time.Millisecond) {
		t.Errorf("too late: %v", err)
	}
}

// What git leaves running does not hold up its caller, and its output is there.
func TestGitLeavesRunning(t *testing.T) {
	needGit(t)
	box := newFakeBox(t)
	git, end := gitIn(t.Context(), time.Minute, tree{Top: box.work}, box.vars)
	defer end()
	released := time.AfterFunc(30*time.Second, func() { box.write("../work/go", 0o600, "") })
	var out strings.Builder
	_ = git.run("", &out, "-c", "alias.leaves=!(until [ -e go ]; do sleep 0.05; done) & echo printed", "leaves")
	if !released.Stop() || out.String() != "printed\n" {
		t.Errorf("it is held up, or the output is lost: %q", out.String())
	}
	box.write("../work/go", 0o600, "")
}

// A change that could not be compared nobody has seen: an approval ends it not, and what it is can't be told.
func TestChangeNotCompared(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	git, err := exec.LookPath("git")
	check(t, err)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first")
	box.submit("do it")
	box.write("../work/a", 0o600, "a\n")
	box.write("../bin/git", 0o700, "#!/bin/sh\ncase \" $* \" in *' diff '*) exit 128 ;; esac\nexec "+git+" \"$@\"\n")
	box.reviews(allows(""))
	box.stop("")
	expectIs(t, "the code of ccc verdict", box.run(20*time.Second, "", "ccc", "verdict").code, 2)
	check(t, os.Remove(filepath.Join(box.home, "../bin/git")))
	box.submit("go on")
	box.stop("")
	expectIn(t, "the next request", box.read("../fake/reviewer-2.stdin"), "```\nA a\n```\n")
}

// The request shows 12,000 characters of the diff: small files first, whole, and those as on the remote's main branch last. What
// is not shown whole is named with its size. What is shown of a file is what it holds, without the lines that repeat its name.
func TestChangeShown(t *testing.T) {
	changeOf := func(prelude, script string) judgedChange {
		box := newFakeBox(t)
		box.gitIn(box.work, prelude)
		p, session := box.placeIn(box.work), box.stateDir().session("s")
		_, err := p.beginOf(context.Background(), session, "", true)
		check(t, err)
		box.gitIn(box.work, script)
		return p.takeChange(context.Background(), session, "", false)
	}
	c := changeOf(wayPrelude+"; "+theirs, `git pull -q origin main; seq 5000 >all; seq 1000 >half; rm a; ln -s c a; echo '-- é' >"é"; echo '++ c' >>c; printf '\0' >z`)
	var order []string
	for _, found := range regexp.MustCompile("(?m)^diff --git a/.* b/(.*)$").FindAllStringSubmatch(c.shown, -1) {
		order = append(order, found[1])
	}
	expectIs(t, "the order", strings.Join(order, " "), "c é z a a half all")
	expectIn(t, "what is shown", c.shown, "diff --git a/c b/c\n@@ -1 +1,2 @@\n c\n+++ c\n", "new file mode 100644\n@@ -0,0 +1 @@\n+-- é\n", "\n+1000\n",
		"deleted file mode 100644\n@@ -1 +0,0 @@\n-a\n", "new file mode 120000\n@@ -0,0 +1 @@\n+c\n")
	expectIs(t, "how much", utf8.RuneCountInString(c.shown), diffLimit)
	expectIs(t, "what is not shown whole", c.rest, "all (+5000 -0)、b (+1 -0)")
	c = changeOf("git init -q", `i=0; while [ $i -lt 600 ]; do printf '%080d\n' $i | tr 0 '\200'; i=$((i+1)); done >b`)
	expectIs(t, "a file in another encoding, as long as it is", c.rest, "b (+600 -0)")
}
