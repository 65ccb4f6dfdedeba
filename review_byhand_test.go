package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Which session ccc review takes where nobody looks on: the newest of the project, else of a directory above; one that was
// named; none where it is not clear which is meant. A session in which nothing was asked is none.
func TestByHandSession(t *testing.T) {
	root := t.TempDir()
	claude, here := filepath.Join(root, "claude"), filepath.Join(root, "work")
	stored := func(session, project, words string, age time.Duration) {
		t.Helper()
		path := filepath.Join(claude, "projects/x", session+".jsonl")
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		line := agentLine("1", "", "hello")
		if words != "" {
			line = userLine("1", "", words)
		}
		check(t, os.WriteFile(path, []byte(strings.ReplaceAll(line, "/work", project)+"\n"), 0o600))
		check(t, os.Chtimes(path, time.Time{}, ago(age)))
	}
	check(t, os.MkdirAll(filepath.Join(here, "sub"), 0o700))
	stored("aa-new", here, "fix it", time.Hour)
	stored("aa-old", here, "fix that", 2*time.Hour)
	stored("ab-silent", here, "", time.Minute)
	stored("ac-elsewhere", "/elsewhere", "far away", 0)
	expect := func(word, dir, want string) {
		t.Helper()
		c := &invocation{}
		if word != "" {
			c.operands = []string{word}
		}
		found, talk, err := storedSessionOf(c, dirs{claude: claude, here: filepath.Join(here, dir)})
		if err != nil {
			found.id = err.Error()
		} else if talk.prompt().words == "" {
			t.Errorf("%q: nothing was asked in %s", word, found.id)
		}
		if !strings.HasPrefix(found.id, want) {
			t.Errorf("%q in %q: %s, want %s", word, dir, found.id, want)
		}
	}
	expect("", "", "aa-new")
	expect("", "sub", "aa-new")
	expect("aa-o", "", "aa-old")
	expect("ac", "", "ac-elsewhere")
	expect("aa", "", `which of the sessions beginning with "aa"? Name one: aa-new aa-old`)
	expect("ab", "", `no session of Claude Code's beginning with "ab" holds a request`)
	expect("", "../none", "no session of Claude Code's of this project")
	stored("aa-old", here, "fix that", time.Hour+30*time.Second)
	expect("", "", "which of the sessions of this project ("+here+")? Name one: aa-new aa-old")
	// One of this working tree comes before newer ones of others of the repository.
	side := filepath.Join(filepath.Dir(here), "side")
	check(t, os.MkdirAll(filepath.Join(here, ".git/worktrees/side"), 0o700))
	check(t, os.WriteFile(filepath.Join(here, ".git/worktrees/side/commondir"), []byte("../..\n"), 0o600))
	check(t, os.MkdirAll(side, 0o700))
	check(t, os.WriteFile(filepath.Join(side, ".git"), []byte("gitdir: "+here+"/.git/worktrees/side\n"), 0o600))
	stored("ad-side", side, "fix the side", 3*time.Hour)
	expect("", "../side", "ad-side")
	expect("aa-new", "", "aa-new")
}

// It judges the working tree in which it is called, and names it: another one of the repository than the session's, too,
// where nothing is the session's.
func TestByHandElsewhere(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.home+"/../remote", "git init -q --bare")
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git push -q ../remote HEAD:main; git remote add -f origin ../remote; git worktree add -q ../side")
	talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
	box.submit("do it")
	box.write("../work/a", 0o600, "the agent's\n")
	box.reviews(allows(""))
	box.stop("")
	side := box.gitIn(box.work, "cd ../side && echo mine >b && git add b && git commit -qm mine && pwd -P")
	got := box.gitIn(side, "ccc review 2>&1; ccc verdict --commit HEAD 2>&1")
	expectIn(t, "the review", got, ", "+side+"): ", "Review approved")
	expectNotIn(t, "the gate", got, "no review saw it")
	expectIn(t, "the request", box.read("../fake/reviewer-2/stdin"), "A b  (not this session's")
}

// A review by hand leaves alone what a stop's has left: the output has a file of its own, and the session's feedback and count stay.
func TestByHandApart(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "FAKE_CLAUDE_SESSION="+testSession)
	box.reviews(allows(""), blocks("by hand"))
	box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	output, state := box.read(outputPath), box.read(statePath)
	got := box.run(60*time.Second, "", "ccc", "review", testSession)
	if got.code != 1 || !strings.Contains(got.stdout, "by hand") || strings.Contains(got.stdout+got.stderr, reviewing.zh+"...") || strings.Contains(got.stderr, "任务未完成") {
		t.Errorf("%+v", got)
	}
	expectIs(t, "the output of the stop's review", box.read(outputPath), output)
	expectIs(t, "the state", box.read(statePath), state)
	expectIn(t, "the output of its own", box.read(".claude/ccc/supervisor-"+testSession+"-review.jsonl"), `by hand`)
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow, verdictBlock})
}
