package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isDone runs the case's check of the tree that the agent began with, or left.
func (c measuredCase) isDone(t *testing.T, isLeft bool) bool {
	t.Helper()
	cmd := exec.Command("sh", "-c", c.files["check"])
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "LAST=", "CALLS=", "PYTHONDONTWRITEBYTECODE=1")
	check(t, c.write(cmd.Dir, "before"))
	if strings.Contains(c.files["check"], "git") {
		check(t, commit(cmd.Dir))
	}
	if isLeft {
		check(t, c.write(cmd.Dir, "after"))
		cmd.Env = append(cmd.Env, "LAST="+c.files["last"], "CALLS="+c.files["calls"])
	}
	printed, err := cmd.CombinedOutput()
	t.Logf("the check: %v\n%s", err, printed)
	return err == nil
}

// The truth of each case is what its check says of the tree that the agent left. None passes before, unless
// the head says so. They come in pairs, of which one is done.
func TestMeasuredCases(t *testing.T) {
	const where = "import os, sys; print(os.path.dirname(sys.executable), end=os.pathsep)"
	dir, _ := exec.Command("python3", "-c", where).Output() // a version manager's python3 takes a second
	t.Setenv("PATH", string(dir)+os.Getenv("PATH"))
	truths := map[string]string{}
	for _, c := range readCases() {
		truths[strings.TrimRight(c.name, "ab")] += c.head["truth"]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{"python3", "node", "make", "go", "git"} {
				if _, err := exec.LookPath(tool); err != nil && strings.Contains(c.files["check"], tool) {
					t.Skipf("%s is not installed here", tool)
				}
			}
			isNot := c.head["truth"] == "not"
			if !strings.HasPrefix(c.head["source"], "https://") || isNot != (c.head["says"] != "") {
				t.Errorf("its source, or what the feedback has to say: %q", c.head)
			}
			_, err := regexp.Compile("(?i)" + c.head["says"])
			check(t, err)
			if isDone := c.isDone(t, false); isDone != (c.head["before"] == "passes") {
				t.Error("done before:", isDone)
			}
			if isDone := c.isDone(t, true); isDone == isNot {
				t.Error("done after:", isDone)
			}
		})
	}
	for pair, both := range truths {
		if both != "donenot" && both != "notdone" {
			t.Errorf("%s: the truths of the pair are %s", pair, both)
		}
	}
}

// A stand-in that approves all is wrong in one half of a pair. What is in the file is not reviewed again, but
// what has failed is; of other cases there nothing counts. -dry writes no file. Of a login's sessions only
// those of a killed run are taken away.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	fake, err := filepath.Abs("../claude")
	for _, name := range paying {
		t.Setenv(name, "")
	}
	t.Setenv("CCC_CLAUDE", fake)
	t.Setenv("FAKE_CLAUDE_DIR", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	t.Setenv("CCC_CONFIG_DIR", "")
	const allow = `{"type":"result","result":"{\"allow_stop\": true, \"feedback\": \"\"}"}`
	check(t, errors.Join(err, os.WriteFile(dir+"/review", []byte(allow), 0o600),
		os.MkdirAll(dir+"/projects/-tmp-ccc-project-1-0", 0o700),
		os.Mkdir(dir+"/projects/-home-a-tmp-ccc-project-1", 0o700)))
	pattern = regexp.MustCompile("^a0_")
	*path = dir + "/measured.jsonl"
	*readOnly = true
	*dry = true
	check(t, run(t.TempDir(), io.Discard))
	if _, err := os.Stat(*path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("-dry has written the file:", err)
	}
	*dry = false
	for *repeats = 1; *repeats < 3; *repeats++ {
		var out strings.Builder
		check(t, run(t.TempDir(), &out))
		ofBoth := fmt.Sprintf("approved though not done: 1 of 1 (20.7 to 100.0 %%)\n"+
			"sent back though done: 0 of 1 (0.0 to 79.3 %%)\nno verdict: 0 of %d reviews\n", 2**repeats)
		for _, want := range []string{"2 reviews by ", ofBoth} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, &out)
			}
		}
	}
	made, err := os.ReadFile(*path)
	text := strings.ReplaceAll(string(made), `"case":"a0_`, `"case":"b0_`) // of another pair
	text += strings.Replace(string(made), `"verdict":"allow"`, `"verdict":"failed"`, 1)
	check(t, errors.Join(err, os.WriteFile(*path, []byte(text), 0o600)))
	*repeats = 2
	var out strings.Builder
	check(t, run(t.TempDir(), &out))
	for _, want := range []string{"1 reviews by ", "no verdict: 1 of 5 reviews",
		"approved though not done: 1 of 1", "sent back though done: 0 of 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("after a failure it does not say %q:\n%s", want, &out)
		}
	}
	left, _ := filepath.Glob(dir + "/projects/*")
	if len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "-home") {
		t.Error("left:", left)
	}
}
