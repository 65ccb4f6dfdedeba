package main

// Measured cases, testdata/measure: what an agent was asked, what it left, and what it said of it. The truth
// is run, not argued: a script that no reviewer sees finds out whether the work is done. CONTRIBUTING.md has
// the form.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A measuredCase is a file of testdata/measure: head lines, "name: value", and files.
type measuredCase struct {
	name string
	// source: a public report; truth: done or not; says: what the feedback of one that is not has to match;
	// before: "passes" if nothing had to change.
	head  map[string]string
	files map[string]string // task, calls, last, check, before/PATH, after/PATH, gone/PATH
}

var caseFile = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// measuredCases reads the cases.
func measuredCases(t *testing.T) (cases []measuredCase) {
	t.Helper()
	paths, err := filepath.Glob("testdata/measure/*.txt")
	check(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(t, err)
		text := string(data)
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		c := measuredCase{name: name, head: map[string]string{}, files: map[string]string{}}
		marks := caseFile.FindAllStringSubmatchIndex(text, -1)
		for line := range strings.Lines(text[:marks[0][0]]) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			c.head[key] = value
		}
		for i, mark := range marks {
			end := len(text)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			c.files[text[mark[2]:mark[3]]] = text[mark[1]:end]
		}
		cases = append(cases, c)
	}
	return cases
}

// write writes the files below the prefix into dir, those of a script executable, and takes out those below
// gone.
func (c measuredCase) write(t *testing.T, dir, prefix string) {
	t.Helper()
	for name, text := range c.files {
		if path, isBelow := strings.CutPrefix(name, prefix+"/"); isBelow {
			path = filepath.Join(dir, path)
			mode := os.FileMode(0o600)
			if strings.HasPrefix(text, "#!") {
				mode = 0o700
			}
			check(t, os.MkdirAll(filepath.Dir(path), 0o700))
			check(t, os.WriteFile(path, []byte(text), mode))
		}
	}
	for name := range c.files {
		if path, isGone := strings.CutPrefix(name, "gone/"); isGone && prefix == "after" {
			check(t, os.Remove(filepath.Join(dir, path)))
		}
	}
}

// tree returns a directory with the project as it was, which is committed if the check asks git.
func (c measuredCase) tree(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c.write(t, dir, "before")
	if strings.Contains(c.files["check"], "git") {
		commitBefore(t, dir)
	}
	return dir
}

// commitBefore makes dir a repository, and commits what is there as of an hour ago.
func commitBefore(t *testing.T, dir string) {
	t.Helper()
	const commit = "git init -q && git add -A && git -c user.name=x -c user.email=x@x.org commit -qm before"
	cmd := exec.Command("sh", "-c", commit)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", ago(time.Hour).Unix()))
	check(t, cmd.Run())
}

// checkPATH begins with the directory of python3 itself: a version manager's is a script that takes a second.
var checkPATH = sync.OnceValue(func() string {
	const where = "import os, sys; print(os.path.dirname(sys.executable), end=os.pathsep)"
	dir, _ := exec.Command("python3", "-c", where).Output() // without one the cases are skipped
	return "PATH=" + string(dir) + os.Getenv("PATH")
})

// isDone runs the case's check in dir, with what the agent said last and called.
func (c measuredCase) isDone(t *testing.T, dir, last, calls string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.files["check"])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), checkPATH(), "LAST="+last, "CALLS="+calls, "PYTHONDONTWRITEBYTECODE=1")
	printed, err := cmd.CombinedOutput()
	if !errors.As(err, new(*exec.ExitError)) {
		check(t, err)
	}
	check(t, ctx.Err())
	t.Logf("the check: %v\n%s", err, printed)
	return err == nil
}

// The truth of each case is what its check says of the tree that the agent left. None passes before, unless
// the head says so. They come in pairs, of which one is done.
func TestMeasuredCases(t *testing.T) {
	needGit(t)
	if raceEnabled {
		t.Skip("nothing of ours runs in a check")
	}
	truths := map[string]string{}
	for _, c := range measuredCases(t) {
		pair := c.name[:max(len(c.name)-2, 0)]
		truths[pair] += c.head["truth"]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{"python3", "node", "make", "go"} {
				if _, err := exec.LookPath(tool); err != nil && strings.Contains(c.files["check"], tool) {
					t.Skipf("%s is not installed here", tool)
				}
			}
			expectPrefix(t, "the source", c.head["source"], "https://")
			expectIs(t, "feedback is asked for", c.head["says"] != "", c.head["truth"] == "not")
			isNothing := c.head["before"] == "passes"
			expectIs(t, "done before", c.isDone(t, c.tree(t), "", ""), isNothing)
			dir := c.tree(t)
			c.write(t, dir, "after")
			isDone := c.isDone(t, dir, c.files["last"], c.files["calls"])
			expectIs(t, "done after", isDone, c.head["truth"] == "done")
		})
	}
	for pair, both := range truths {
		if both != "donenot" && both != "notdone" {
			t.Errorf("%s: the truths of the pair are %s", pair, both)
		}
	}
}
