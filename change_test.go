package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
	r := reviewRound{Tools: []string{"Bash(/x/ccc try 'a')", "Read", "Bash(/x/ccc try 'b')", "Bash(ls)"}}
	for _, left := range [][]string{{r.Tools[0], r.Tools[2]}, {r.Tools[2]}, nil, nil} {
		expectEqual(t, fmt.Sprintf("unrecorded of %d", len(r.Runs)), r.unrecorded(), left)
		r.Runs = append(r.Runs, record{Kind: kindRun})
	}
}

// lookOf returns what git tells of dir, in a copy if self can make one.
func (box *sandbox) lookOf(self, dir string, env []string) (look, error) {
	box.t.Helper()
	c := takeChange(context.Background(), self, dir, env, changeOf{history: new(history), stands: func(numbered) bool { return true }})
	return c.look, c.err
}

// noCopy returns a program that makes no copy, in the place of ccc.
func (box *sandbox) noCopy() string {
	box.write("no-copy", 0o700, "#!/bin/sh\nexit 125\n")
	return filepath.Join(box.home, "no-copy")
}

// What ccc finds at each path is what git add -A would add, in a copy and where none can be made, and nothing in or around the
// repository changes.
func TestLook(t *testing.T) {
	box := newFakeBox(t)
	needCopy(t, box)
	const begin = "git init -q; printf 'ignored\n' >.gitignore; echo a >a; echo b >b; git add .; git commit -qm first; "
	for name, script := range map[string]string{
		"clean":              begin,
		"all kinds":          begin + "echo more >>a; rm b; echo new >'n\"e w'; echo x >ignored; echo staged >s; git add s; ln -s a link; mkdir empty; chmod +x .gitignore",
		"unborn":             "git init -q; echo a >a",
		"same size":          begin + "printf 'c\n' >a",
		"split":              begin + "git update-index --split-index; echo c >c; git add c; echo d >d",
		"conflict":           begin + "git checkout -qb other; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge other >/dev/null || :",
		"submodule":          "git init -q sub; cd sub; " + begin + "cd ..; git init -q; git submodule --quiet add ./sub sub2; git commit -qm s; rm -rf sub; cd sub2; echo c >c; git add c; git commit -qm c",
		"locked":             begin + "echo more >>a; touch .git/index.lock",
		"file and directory": begin + "rm a; mkdir a; echo x >a/x",
		"directory and file": "git init -q; mkdir d; echo a >d/a; git add .; git commit -qm first; rm -r d; echo d >d",
		"filter":             "git init -q; git config filter.large.clean 'wc -c'; echo '*.bin filter=large' >.gitattributes; echo 12345 >a.bin",
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, script)
		want := box.gitIn(box.work, fmt.Sprintf("cp -a '%s' copy; cd copy; rm -f .git/index.lock; git add -A; H=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null);"+
			" git diff-index --cached --raw --no-renames --no-abbrev $H; cd ..; rm -rf copy", name))
		head := box.gitIn(dir, "git rev-parse -q --verify HEAD || :")
		for way, self := range map[string]string{"in a copy": box.program(), "without": box.noCopy()} {
			before := listing(t, dir)
			w, err := box.lookOf(self, dir, append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere"))
			var lines []string
			for path, is := range w.Paths {
				lines = append(lines, path+" "+is[1])
			}
			var wanted []string
			for _, line := range strings.Split(want, "\n") {
				if fields, path, ok := strings.Cut(line, "\t"); ok {
					f := strings.Fields(fields)
					wanted = append(wanted, path+" "+pathContent(f[1], f[3]))
				}
			}
			slices.Sort(lines)
			slices.Sort(wanted)
			if err != nil || !slices.Equal(lines, wanted) || w.Head != head || w.Branch != "main" || w.Top != dir || w.Repo != filepath.Join(dir, ".git") {
				t.Errorf("%s, %s: %q, %v; want %q", name, way, lines, err, wanted)
			}
			expectUnchanged(t, dir, before, way == "in a copy")
		}
	}
	left, _ := filepath.Glob(filepath.Join(box.getenv("TMPDIR"), "*"))
	if len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// Where git can't tell, the reason is told on a line, in time.
func TestLookFails(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	late, cancel := context.WithTimeoutCause(context.Background(), 300*time.Millisecond, fmt.Errorf("too late"))
	defer cancel()
	for _, c := range []struct {
		script, want string
		ctx          context.Context
		env          []string
	}{
		{"true", errNoGit.zh, context.Background(), nil},
		{begin + "git config filter.slow.clean 'sleep 60; cat'; echo '* filter=slow' >.gitattributes; echo b >b", "too late", late, nil},
		{begin + "echo broken >.git/HEAD", "not a git repository", context.Background(), nil},
		{begin + "echo broken >.git/index", "index file", context.Background(), nil},
		{begin, "not found", context.Background(), []string{"PATH=/nowhere"}},
	} {
		dir := t.TempDir()
		box.gitIn(dir, c.script)
		start := time.Now()
		got := takeChange(c.ctx, box.noCopy(), dir, append(slices.Clone(box.vars), c.env...), changeOf{history: new(history), stands: func(numbered) bool { return true }})
		if got.err == nil || got.Files != nil || !strings.Contains(got.err.Error(), c.want) || strings.Contains(got.err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.script, got.err, c.want)
		}
		if c.script != "true" && !strings.Contains(got.text(), "无法得知") || c.script == "true" && got.text() != "" {
			t.Errorf("%s: the reviewer is told %q", c.script, got.text())
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: took %v", c.script, took)
		}
	}
}

// A look that was told whole counts, whatever still holds the pipe: beside much load a copy takes seconds to end.
func TestLookHeldOpen(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; echo b >b")
	box.write("slow", 0o700, "#!/bin/sh\nshift 3\n\"$@\"\nsleep 4 &\n")
	if l := lookAtPrompt(filepath.Join(box.home, "slow"), box.work, box.vars, time.Minute); l.Unseen != "" || !l.Paths.has("b") {
		t.Errorf("%+v", l)
	}
	// So does one whose time is over before its copy ends.
	ctx, timeOver := context.WithCancel(context.Background())
	defer timeOver()
	box.write("slower", 0o700, "#!/bin/sh\nshift 3\n\"$@\"\n: >\"$HOME/told\"\nsleep 100\n")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(box.home, "told")); err == nil {
				timeOver()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	g, end := gitIn(ctx, time.Minute, filepath.Join(box.home, "slower"), box.work, box.vars)
	defer end()
	if found, err := g.look("", "HEAD"); err != nil || !found.lists["HEAD"].has("b") || ctx.Err() == nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// Where a prompt's copy takes all the time the change begins at the commit that was checked out then.
func TestLookWithoutCommit(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "export GIT_COMMITTER_DATE=2026-02-01T00:00:00Z; git init -q; git add .; git commit -qm first")
	box.write("stuck", 0o700, "#!/bin/sh\nsleep 30\n")
	l := lookAtPrompt(filepath.Join(box.home, "stuck"), box.work, box.vars, time.Millisecond)
	if l.Top != box.work || l.Head != "" || l.Unseen == "" {
		t.Errorf("%+v", l)
	}
	first := box.gitIn(box.work, "git rev-parse HEAD")
	h := new(history)
	h.add(record{Kind: kindPrompt, Time: now(), look: l})
	box.gitIn(box.work, "echo b >b; git add .; GIT_COMMITTER_DATE=2030-01-01T00:00:00Z git commit -qm b")
	got := takeChange(context.Background(), box.noCopy(), box.work, box.vars, changeOf{history: h, stands: func(numbered) bool { return true }})
	if _, has := got.Files["b"]; got.err != nil || got.base != first || got.how != sinceUnseen || len(got.Files) != 1 || !has {
		t.Errorf("since %s of %s: %v, %v", got.how, got.base, got.Files, got.err)
	}
}

// The files are compared with the commit that the look names, though HEAD moves under it.
func TestLookOneCommit(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git config user.name a; git config user.email a@example.com; echo b >b; git add b; git config filter.x.clean 'env -u GIT_INDEX_FILE -u GIT_OBJECT_DIRECTORY git commit -qm moved; cat'; echo 'c filter=x' >.git/info/attributes; echo c >c")
	head := box.gitIn(box.work, "git rev-parse HEAD")
	l := lookAtPrompt(box.noCopy(), box.work, box.vars, time.Minute)
	if l.Unseen != "" || l.Head != head || !l.Paths.has("b") {
		t.Errorf("%+v, and HEAD was %s", l, head)
	}
	if now := box.gitIn(box.work, "git rev-parse HEAD"); now == head {
		t.Error("HEAD has not moved")
	}
}

// A look at a prompt that finds too much, or takes too long, is not known, but for the commit.
func TestLookAtPrompt(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	for name, c := range map[string]struct{ script, unseen string }{
		"few":  {begin + "echo b >b", ""},
		"2000": {begin + "for i in $(seq 2000); do echo >f$i; done", ""},
		"many": {begin + "for i in $(seq 2001); do echo >f$i; done", "2001"},
		"slow": {begin + "git config filter.slow.clean 'sleep 30; cat'; echo '* filter=slow' >.gitattributes; echo b >b", "5s"},
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, c.script)
		head, start := box.gitIn(dir, "git rev-parse HEAD"), time.Now()
		patience := time.Minute // however slow this machine is
		if name == "slow" {
			patience = 5 * time.Second
		}
		l := lookAtPrompt(box.noCopy(), dir, box.vars, patience)
		if l.Head != head || l.Branch != "main" || (l.Unseen == "") != (c.unseen == "") || !strings.Contains(l.Unseen, c.unseen) || (l.Paths == nil) != (c.unseen != "") {
			t.Errorf("%s: %+v", name, l)
		}
		if took := time.Since(start); name == "slow" && took > 15*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		// Then the change begins at the commit, and that is told.
		h := new(history)
		h.add(record{Kind: kindPrompt, Time: now(), look: l})
		if name == "slow" {
			check(t, os.Remove(filepath.Join(dir, ".gitattributes")))
		}
		got := takeChange(context.Background(), box.noCopy(), dir, box.vars, changeOf{history: h, stands: func(numbered) bool { return true }})
		isWhole := len(got.Files) > 0
		if isWhole != (c.unseen != "") || strings.Contains(got.text(), "没有记录") != isWhole {
			t.Errorf("%s: %d files: %v %.200s", name, len(got.Files), got.err, got.text())
		}
	}
	expectIs(t, "how long a prompt waits", promptLookPatience, time.Second)
	if l := lookAtPrompt(box.noCopy(), t.TempDir(), box.vars, promptLookPatience); l.Top != "" || l.Unseen != "" {
		t.Errorf("outside git: %+v", l)
	}
}

// Without a prompt on record a change begins where HEAD was when the session did, or it is all files.
func TestBeginningByReflog(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; for i in 1 2 3; do echo $i >f$i; git add .; GIT_COMMITTER_DATE=2026-02-0${i}T00:00:00Z git commit -qm $i; done")
	for started, want := range map[string]string{"2026-02-02T10:00:00.000Z": "f3", "2026-02-01T00:00:01.000Z": "f2 f3", "2026-02-02T00:00:00.500Z": "f2 f3", "2026-01-01T00:00:00.000Z": "f1 f2 f3", "": "f1 f2 f3"} {
		c := takeChange(context.Background(), box.noCopy(), dir, box.vars, changeOf{history: new(history), stands: func(numbered) bool { return true }, started: started})
		var list []string
		for path := range c.Files {
			list = append(list, path)
		}
		slices.Sort(list)
		if c.err != nil || strings.Join(list, " ") != want {
			t.Errorf("%q: %q, %v", started, list, c.err)
		}
		how, since := sinceEver, time.Time{}
		if started != "" {
			since, _ = time.Parse(time.RFC3339, started)
		}
		if want != "f1 f2 f3" {
			how = sinceReflog
		}
		if c.how != how || !c.time.Equal(since) {
			t.Errorf("%q: it begins %s, %v", started, c.how, c.time)
		}
		// By hand all files are judged here, and those since then are the session's.
		of := changeOf{history: new(history), stands: func(numbered) bool { return true }, started: started, byHand: true}
		c = takeChange(context.Background(), box.noCopy(), dir, box.vars, of)
		list = nil
		for path := range c.Files {
			if !c.foreign[path] {
				list = append(list, path)
			}
		}
		slices.Sort(list)
		if len(c.Files) != 3 || strings.Join(list, " ") != want || !c.time.Equal(since) {
			t.Errorf("by hand, %q: of %d files its own are %q, since %v", started, len(c.Files), list, c.time)
		}
	}
}

// Only a stop that left a branch keeps what it judged in the change: a question and a review by hand do not.
func TestStopBetween(t *testing.T) {
	for event, want := range map[string]bool{eventStop: true, eventPreToolUse: false, eventReview: false} {
		h := new(history)
		h.add(record{Kind: kindPrompt})
		h.add(record{Kind: kindBegin, Event: event, Review: "r", look: look{Top: "/t"}})
		h.add(record{Kind: kindEnd, Event: event, Review: "r", look: look{Top: "/t"}})
		h.add(record{Kind: kindPrompt})
		expectIs(t, event, h.stopBetween(1, 4, "/t") != nil, want)
		expectIs(t, event+" elsewhere", h.stopBetween(1, 4, "/other") != nil, false)
	}
}

// A new file that is ignored now is there still, also where git quotes its name.
func TestChangedToIgnored(t *testing.T) {
	then := pathStates{`"n\"e\303\244"`: {"", "100644 1"}}
	dir := t.TempDir()
	expectIs(t, "removed", len(then.changedTo(nil, dir)), 1)
	check(t, os.WriteFile(filepath.Join(dir, `n"eä`), nil, 0o600))
	expectIs(t, "ignored", len(then.changedTo(nil, dir)), 0)
}

// A look that no copy can be made for leaves no directory behind.
func TestLookSwept(t *testing.T) {
	alone(t)
	before := scratchRoot
	scratchRoot = t.TempDir()
	t.Cleanup(func() { scratchRoot = before })
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; echo a >a")
	if l := lookAtPrompt(box.noCopy(), box.work, box.vars, time.Minute); !l.Paths.has("a") {
		t.Errorf("%+v", l)
	}
	left, err := os.ReadDir(scratchRoot)
	expectIs(t, fmt.Sprint("what is left: ", left, err), len(left), 0)
}

// What the request shows of a change: each path once with its marks, and the diff through one cut.
func TestChangeText(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; printf 'ignored\n' >.gitignore; seq 30 >moved; seq 3000 >long; echo a >a; echo u >users; echo o >other; printf 'b\\0' >bin; git add .; git commit -qm first;"+
		" echo theirs >>users; echo mine >>other")
	h := new(history)
	h.add(record{Kind: kindPrompt, Time: now(), look: lookAtPrompt(box.noCopy(), dir, box.vars, time.Minute)})
	box.gitIn(dir, "echo b >>a; git commit -qm second a; git mv moved there; seq 5000 8000 >long; printf 'b\\0c' >bin; echo new >'n\"e w'; echo x >ignored; echo KEY=1 >.env; echo more >>users;"+
		"mkdir empty; git init -q inner; git -C inner commit -qm i --allow-empty")
	c := takeChange(context.Background(), box.noCopy(), dir, box.vars, changeOf{history: h, stands: func(numbered) bool { return true }})
	text := c.text()
	expectIn(t, "the request", text, "A .env\n", "M a\n", "M bin\n", "M long\n", "D moved\n", "A n\"e w\n", "A there\n", "M users  (改动开始前用户已改过)\n", "+KEY=1\n", "+new\n", "+theirs\n+more\n",
		"没有提交的：n\"e w、.env、bin、long", "没人动过，因此不属于本次改动：other", "内层的仓库，没有看：inner/", "没有完整显示的文件：", "bin (+", "long (+3001 -3000)")
	expectNotIn(t, "the request", text, "ignored\n", "M other", "+mine", "远程")
	if c.isShownWhole() || len([]rune(text)) > diffLimit+2000 {
		t.Errorf("%d characters, shown whole: %v", len([]rune(text)), c.isShownWhole())
	}
	box.gitIn(dir, "git checkout -q long bin; git add -A; git commit -qm all")
	whole := takeChange(context.Background(), box.noCopy(), dir, box.vars, changeOf{history: h, stands: func(numbered) bool { return true }})
	if !whole.isShownWhole() {
		t.Errorf("not shown whole: %s", whole.text())
	}
	expectIn(t, "the request", whole.text(), "以上全部已提交")
	// What could be another session's is told as that.
	whole.others = true
	expectIn(t, "the request", whole.text(), "另一个会话")
}

// Another session's prompt in the same working tree is noticed, if it came since.
func TestOtherPrompt(t *testing.T) {
	box := newFakeBox(t)
	d := stateDir(filepath.Join(box.home, "state"))
	check(t, os.MkdirAll(string(d), 0o700))
	start := now()
	check(t, d.session("other").append(record{Kind: kindPrompt, Prompt: "x", Time: start.Add(time.Minute), look: look{Top: "/p"}}))
	check(t, d.session("other").append(record{Kind: kindWake, Time: start.Add(3 * time.Minute), look: look{Top: "/q"}}))
	for _, c := range []struct {
		top   string
		since time.Time
		than  string
		want  bool
	}{{"/p", start, "one", true}, {"/p", start, "other", false}, {"/q", start, "one", false}, {"/p", start.Add(2 * time.Minute), "one", false}} {
		expectIs(t, c, d.wasPrompted(c.top, c.since, c.than), c.want)
	}
}

// What git is asked about commits and remotes, and how each answer is read.
func TestGitAnswers(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q -b main; git commit -q --allow-empty -m 1; git commit -q --allow-empty -m 2; git checkout -q --orphan other; git commit -q --allow-empty -m 3; git checkout -q main;"+
		"for r in a b c d; do git remote add $r x; done; git update-ref refs/remotes/a/main main; git update-ref refs/remotes/a/master main; git update-ref refs/remotes/b/master main;"+
		"git update-ref refs/remotes/c/HEAD main; git update-ref refs/remotes/c/main main; git update-ref refs/remotes/d/topic other; git update-ref refs/remotes/d/work main; git branch x1 main~1")
	git, end := gitIn(t.Context(), time.Minute, "", box.work, slices.Concat(os.Environ(), []string{"GIT_DIR=/nowhere", "GIT_CONFIG_COUNT=0"}))
	defer end()
	first, second, other := box.gitIn(box.work, "git rev-parse main~1"), box.gitIn(box.work, "git rev-parse main"), box.gitIn(box.work, "git rev-parse other")
	box.gitIn(box.work, "git replace HEAD other")
	for commit, want := range map[string]bool{"": true, first: true, second: true, other: false, strings.Repeat("1", 40): false} {
		expectIs(t, "HEAD holds "+commit, git.holds(commit), want)
	}
	all, err := git.remoteBranches()
	check(t, err)
	wanted := []string{second, other}
	slices.Sort(wanted)
	expectEqual(t, "the branches", all, wanted)
	for name, c := range map[string]struct{ commits, want []string }{"none": {nil, nil}, "one": {[]string{second}, []string{first}}, "unrelated": {[]string{other}, nil}} {
		got, err := git.mergeBases(first, c.commits)
		check(t, err)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if _, err := git.mergeBases(first, []string{"nothing"}); err == nil {
		t.Error("a commit that there is not has a base")
	}
}

// What git is run with, and what is told of it where it fails: its complaint on one line, or why the time was up. What it
// leaves running does not hold up its caller.
func TestGitRun(t *testing.T) {
	box := newFakeBox(t)
	env := append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=0", tryVariable+"=x", "LC_ALL=zh_CN.UTF-8")
	git, end := gitIn(t.Context(), time.Minute, "", box.work, env)
	defer end()
	var out strings.Builder
	check(t, git.run(&out, "sh", "-c", "pwd; env"))
	lines := strings.Split(out.String(), "\n")
	expectIs(t, "the directory", lines[0], box.work)
	for variable, want := range map[string]bool{"GIT_DIR=/nowhere": false, "GIT_INDEX_FILE=/nowhere": false, tryVariable + "=x": false, "GIT_CONFIG_COUNT=0": true,
		"LC_ALL=C": true, "LC_ALL=zh_CN.UTF-8": false, "GIT_NO_REPLACE_OBJECTS=1": true, "HOME=" + box.home: true} {
		expectIs(t, variable, slices.Contains(lines, variable), want)
	}
	for script, want := range map[string]struct {
		code int
		text string
	}{
		"echo out; echo fatal: no >&2; exit 128":                                       {128, "fatal: no"},
		"echo warning: w >&2; echo hint: h >&2; echo error: a >&2; echo b >&2; exit 1": {1, "error: a b"},
		"echo hint: h >&2; exit 3":                                                     {3, "exit status 3"},
		"printf %0400d 0 >&2; exit 1":                                                  {1, strings.Repeat("0", 299) + "…"},
	} {
		f := failure{}
		if err := git.run(&out, "sh", "-c", script); !errors.As(err, &f) || f.code != want.code || f.Error() != want.text {
			t.Errorf("%s: %d, %v, want %+v", script, f.code, err, want)
		}
	}
	late, cancel := gitIn(t.Context(), 10*time.Millisecond, "", box.work, env)
	defer cancel()
	if err := late.run(&out, "sh", "-c", "sleep 60 & sleep 60"); err == nil || err.Error() != say(gitTooSlow, 10*time.Millisecond) {
		t.Errorf("too late: %v", err)
	}
	released := time.AfterFunc(30*time.Second, func() { box.write("../work/go", 0o600, "") })
	out.Reset()
	_ = git.run(&out, "sh", "-c", "(until [ -e go ]; do sleep 0.05; done) & echo printed")
	if !released.Stop() || out.String() != "printed\n" {
		t.Errorf("what it leaves running holds it up, or its output is lost: %q", out.String())
	}
	box.write("../work/go", 0o600, "")
}

// A diff shows 12,000 characters and names the files that it does not show whole. What is held of it is bounded.
func TestDiffCut(t *testing.T) {
	all := func(string) bool { return true }
	file := func(d *diff, name string, lines ...string) {
		for _, line := range append([]string{"diff --git a/" + name + " b/" + name, "index 1..2 100644", "--- a/" + name, "+++ b/" + name, "@@ -1 +1 @@"}, lines...) {
			d.add(line)
		}
	}
	head := len("diff --git a/a b/a\n@@ -1 +1 @@\n")
	for name, c := range map[string]struct {
		lines []string
		rest  string
	}{
		"as much as is shown":        {[]string{"+" + strings.Repeat("x", 12_000-head-2)}, ""},
		"a character more":           {[]string{"+" + strings.Repeat("x", 12_000-head-1)}, "a (+1 -0)"},
		"an empty line more":         {[]string{"+" + strings.Repeat("x", 12_000-head-2), "-"}, "a (+1 -1)"},
		"a line that is cut":         {[]string{"+" + strings.Repeat("长", 7000)}, "a (+1 -0)"},
		"lines that look like heads": {[]string{"+++ x", "--- y", "-- z"}, ""},
		"one blank line":             {[]string{" "}, ""},
	} {
		d := &diff{}
		file(d, "a", c.lines...)
		shown, rest := d.cut(all)
		expectIs(t, name, rest, c.rest)
		if n := len([]rune(shown)); n > 12_001 || c.rest == "" && n != head+len(strings.Join(c.lines, "\n")+"\n") {
			t.Errorf("%s: %d characters are shown", name, n)
		}
	}
	d := &diff{}
	file(d, "a", "+++ x", "--- y", "-z")
	whole, _ := d.cut(all)
	expectIs(t, "the diff", whole, "diff --git a/a b/a\n@@ -1 +1 @@\n+++ x\n--- y\n-z\n")
	expectIs(t, "the lines", fmt.Sprint(d.files[0].added, d.files[0].removed), "1 2")
	// What is left of the 12,000 goes to the next one, and the end of it is a line's.
	d = &diff{}
	for _, name := range []string{"a", "b", "c"} {
		file(d, name, "+"+strings.Repeat("x", 5000))
	}
	shown, rest := d.cut(all)
	if n := len(shown); n > 12_001 || n < 11_999 || !strings.HasSuffix(shown, "x\n") || rest != "c (+1 -0)" {
		t.Errorf("of three files %d characters, not whole: %s", n, rest)
	}
	// Small files come first; one that is not wanted is neither shown nor named.
	d = &diff{}
	file(d, "long", "+"+strings.Repeat("x", 11_990))
	file(d, "unwanted", "+secret")
	file(d, "short", "+short")
	shown, rest = d.cut(func(path string) bool { return path != "unwanted" })
	if !strings.HasPrefix(shown, "diff --git a/short b/short\n") || strings.Contains(shown, "secret") || rest != "long (+1 -0)" {
		t.Errorf("%.200s, %s", shown, rest)
	}
	d = &diff{}
	for _, line := range []string{"diff --git a/b b/b", "index 1..2", "Binary files a/b and b/b differ"} {
		d.add(line)
	}
	_, rest = d.cut(func(path string) bool { return path == "b" })
	expectIs(t, "a binary file", rest, "b (+0 -0)")
	d = &diff{}
	file(d, "one", slices.Repeat([]string{"+" + strings.Repeat("x", 999)}, 10_000)...)
	if n := d.kept; n > 13_000 {
		t.Errorf("%d bytes of one file are kept", n)
	}
	for i := range 1000 {
		file(d, fmt.Sprint("f", i), "+"+strings.Repeat("x", 11_000))
	}
	if n := d.kept; n > 8<<20+12_000 || n < 8<<20 {
		t.Errorf("%d bytes are kept", n)
	}
	_, rest = d.cut(func(path string) bool { return path == "f999" })
	expectIs(t, "one that is not kept", rest, "f999 (+1 -0)")
}

// A line of the diff that is too long to be read is not shown, and so not all of the change is.
func TestLongLine(t *testing.T) {
	box := newFakeBox(t)
	box.write("long", 0o700, "#!/bin/sh\nprintf 'head 1234\nbranch main\nlist HEAD\nlist empty\n:100644 100644 1 2 M\ta\ndiff\ndiff --git a/a b/a\n@@ -1 +1 @@\n+'\n"+
		"head -c 34000000 /dev/zero | tr '\\0' x\nprintf '\nend\n'\n")
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; git commit -q --allow-empty -m first")
	c := takeChange(context.Background(), filepath.Join(box.home, "long"), dir, box.vars, changeOf{history: new(history), stands: func(numbered) bool { return true }})
	if c.err != nil || len(c.Files) != 1 || c.isShownWhole() || !strings.Contains(c.text(), say(changesRest, "a (+0 -0)")) {
		t.Errorf("%v, shown whole: %v, %.300s", c.err, c.isShownWhole(), c.text())
	}
}

// The list of a change has up to 200 paths, each with its letter, and counts the others. Which of them are not committed is told where
// some are.
func TestChangeList(t *testing.T) {
	of := func(n int) judgedChange {
		c := judgedChange{changeBegin: changeBegin{how: sinceRequest, base: strings.Repeat("c", 40)}, Files: map[string]string{}, list: pathStates{}}
		c.Paths = pathStates{}
		for i := range n {
			path := fmt.Sprintf("f%03d", i)
			c.Files[path], c.list[path], c.Paths[path] = "1", [2]string{"0", "1"}, [2]string{"0", "1"}
		}
		return c
	}
	for n, last := range map[int]string{1: "M f000", 199: "M f198", 200: "M f199", 201: "... (+1)", 203: "... (+3)"} {
		c := of(n)
		list := strings.Split(c.listed(), "\n")
		if list[0] != "M f000" || list[len(list)-1] != last || len(list) != min(n, 201) || c.isShownWhole() != (n <= 200) {
			t.Errorf("%d paths: %d lines, from %s to %s", n, len(list), list[0], list[len(list)-1])
		}
		expectIn(t, "the request", c.text(), "```\nM f000\n", "（当时检出 cccccccccccc）")
		expectNotIn(t, "the request", c.text(), "没有提交", "已提交", "没有任何文件", "不属于", "内层", "子模块", "远程", "git diff", "完整")
	}
	for name, c := range map[string]struct {
		change func(c *judgedChange)
		want   string
	}{
		"none":              {func(c *judgedChange) { clear(c.Files) }, "没有任何文件不同"},
		"all are committed": {func(c *judgedChange) { clear(c.Paths) }, "以上全部已提交"},
		"one is not":        {func(c *judgedChange) { delete(c.Paths, "f000") }, "没有提交的：f001"},
		"a new one":         {func(c *judgedChange) { c.list["f000"] = [2]string{"", "1"} }, "```\nA f000\nM f001\n```"},
		"one is gone":       {func(c *judgedChange) { c.Files["f001"] = "" }, "```\nM f000\nD f001\n```"},
		"a new one is gone": {func(c *judgedChange) { c.Files["f001"], c.list["f001"] = "", [2]string{"", ""} }, "D f001\n"},
		"one is as it was":  {func(c *judgedChange) { delete(c.list, "f000") }, "M f000\n"},
		"changed before": {func(c *judgedChange) {
			c.found = pathStates{"g": {"0", "1"}, "h": {}, "f000": {}}
			c.list["g"] = [2]string{"0", "1"}
		}, "不属于本次改动：g\n"},
		"marked": {func(c *judgedChange) {
			c.touched, c.foreign = map[string]bool{"f000": true}, map[string]bool{"f001": true}
		}, "f000  (改动开始前用户已改过)\nM f001  (不是本会话做的，没人说明过：按它本身判断)\n```"},
		"of nothing":          {func(c *judgedChange) { c.base = "empty" }, "（当时检出 空目录）"},
		"others":              {func(c *judgedChange) { c.others = true }, "另一个会话"},
		"what a remote has":   {func(c *judgedChange) { c.remote = []string{"r"} }, "不算在内：r"},
		"a repository inside": {func(c *judgedChange) { c.nested = []string{"n/"} }, "没有看：n/"},
		"a changed submodule": {func(c *judgedChange) { c.dirty = []string{"s"} }, "没提交的改动：s"},
		"git can't tell":      {func(c *judgedChange) { c.err = errors.New("no\ngit") }, "无法得知（no git）"},
		"a diff from nothing": {func(c *judgedChange) {
			c.base = "empty"
			c.shown = "+1\n"
		}, "git diff $(git hash-object -t tree /dev/null)，"},
	} {
		change := of(2)
		c.change(&change)
		expectIn(t, name, change.text()+"\n", c.want)
	}
	// Each list names 20, and counts the others.
	many := of(22)
	delete(many.Paths, "f000")
	many.found = pathStates{}
	for i := range 21 {
		name := fmt.Sprintf("g%02d", i)
		many.found[name], many.list[name] = [2]string{"0", "1"}, [2]string{"0", "1"}
		many.nested, many.dirty, many.remote = append(many.nested, name), append(many.dirty, name), append(many.remote, name)
	}
	expectIs(t, "lists with one more", strings.Count(many.text(), "、+1"), 5)
	none := of(1)
	none.err = errNoGit
	expectIs(t, "without a repository", none.text(), "")
}

// Where a look fails the reason is told, and that the directory is gone, where it is.
func TestChangedSince(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; echo a >a")
	then, err := box.lookOf(box.noCopy(), dir, box.vars)
	check(t, err)
	for _, c := range []struct{ script, want string }{{"true", ""}, {"echo b >a; echo c >c", "a c"}, {"git add a", "a c"}, {"rm c; echo a >a", ""}, {"rm a", "a"}} {
		box.gitIn(dir, c.script)
		changed, err := then.changedSince(t.Context(), box.noCopy(), box.vars)
		check(t, err)
		expectIs(t, c.script, strings.Join(changed, " "), c.want)
	}
	check(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "git")))
	if _, err = then.changedSince(t.Context(), box.noCopy(), box.vars); err == nil || strings.Contains(err.Error(), "不在了") {
		t.Errorf("no repository any more: %v", err)
	}
	check(t, os.RemoveAll(dir))
	if _, err = then.changedSince(t.Context(), box.noCopy(), box.vars); err == nil || err.Error() != say(directoryGone, dir) {
		t.Errorf("no directory any more: %v", err)
	}
}

// The time at which a change begins is that of the prompt, or of the beginning of the review that approved: what others were asked since is told.
func TestBeginningTime(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; git commit -q --allow-empty -m first; git update-ref refs/remotes/origin/main HEAD")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	found := lookAtPrompt(box.noCopy(), dir, box.vars, time.Minute)
	box.gitIn(dir, "echo a >a")
	h := new(history)
	expect := func(how string, minute int) {
		t.Helper()
		for _, byHand := range []bool{false, true} {
			of := changeOf{history: h, stands: func(numbered) bool { return true }, byHand: byHand}
			c := takeChange(context.Background(), box.noCopy(), dir, box.vars, of)
			check(t, c.err)
			if want := map[bool]string{false: how, true: sinceRemotes}[byHand]; c.how != want || !c.time.Equal(at.Add(time.Duration(minute)*time.Minute)) {
				t.Errorf("by hand %v: it begins by the %s at %v, want %s, %d", byHand, c.how, c.time, want, minute)
			}
		}
	}
	add := func(minute int, r record) {
		r.Time, r.look = at.Add(time.Duration(minute)*time.Minute), found
		h.add(r)
	}
	add(1, record{Kind: kindPrompt})
	add(2, record{Kind: kindPrompt})
	expect(sinceRequest, 1)
	add(3, record{Kind: kindBegin, Event: eventStop, Review: "r"})
	add(4, record{Kind: kindEnd, Event: eventStop, Review: "r", Files: map[string]string{}, outcome: outcome{Verdict: verdictAllow}})
	expect(sinceReview, 3)
	add(5, record{Kind: kindWake})
	expect(sinceRequest, 5)
	found.Top = filepath.Join(box.work, "elsewhere")
	h = new(history)
	add(6, record{Kind: kindPrompt})
	expect(sinceWorktree, 6)
	found.Head = strings.Repeat("1", 40) // of another repository
	h = new(history)
	add(7, record{Kind: kindPrompt})
	expect(sinceEver, 7)
}
