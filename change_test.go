package main

// One look at a working tree: what is in it, what is left out, and what it leaves behind.
//
// Days of work, of one session or several, in one working tree or two: which lines of the diff each reviewer is shown, and what
// ccc verdict says at the end. A model of SPEC's rules has said what is to be seen.
//
// Ways of working, each played from the request to the push: which paths the reviewer's request shows, and what ccc
// verdict says.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	git := gitIn(t.Context(), tree{Top: box.work}, env)
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
	late, cancel := place{}.within(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := gitIn(late.ctx, tree{Top: box.work}, env).run("", &out, "sleep 60 & sleep 60"); err == nil || err.Error() != say(gitTooSlow, 10*time.Millisecond) {
		t.Errorf("too late: %v", err)
	}
}

// What git leaves running does not hold up its caller, and its output is there.
func TestGitLeavesRunning(t *testing.T) {
	needGit(t)
	box := newFakeBox(t)
	git := gitIn(t.Context(), tree{Top: box.work}, box.vars)
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
		check(t, p.beginAtPrompt(session, ""))
		box.gitIn(box.work, script)
		return p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
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

// placeIn is a working tree of the sandbox's with its record.
func (box *sandbox) placeIn(dir string) place {
	check(box.t, box.stateDir().create())
	return box.stateDir().place(dir, dir, append(slices.Clone(box.vars), "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere"))
}

// lookIn is a look there that has its time, with what it leaves out.
func (box *sandbox) lookIn(dir string) (look, map[words][]string) {
	return lookAt(box.placeIn(dir), time.Minute)
}

// lookAt is a look that has so much time, with what it leaves out.
func lookAt(p place, patience time.Duration) (look, map[words][]string) {
	p, end := p.within(context.Background(), patience)
	defer end()
	o := p.look()
	defer o.end()
	if o.seen.Unseen == "" {
		o.seen.Unseen = errorText(o.nameUnread())
	}
	return o.seen, o.leftOut
}

// errorText is the text of an error, "" of none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A look is the tree that `git add -A` would write, and nothing in the repository changes.
func TestLook(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; printf 'ignored\n' >.gitignore; echo a >a; echo b >b; git add .; git commit -qm first; "
	const withSubmodule = "git init -q sub; cd sub; " + begin +
		"cd ..; git init -q; git submodule --quiet add ./sub sub2; git commit -qm s; "
	for name, script := range map[string]string{
		"clean": begin,
		"all kinds": begin + "echo more >>a; rm b; echo new >'n\"e w'; echo x >ignored; echo staged >s; git add s;" +
			" ln -s a link; mkdir empty; chmod +x .gitignore; printf 1 >\"$(printf 'a\\nb\\377')\"; echo é >é",
		"unborn":    "git init -q; echo a >a",
		"same size": begin + "printf 'c\n' >a",
		"split":     begin + "git update-index --split-index; echo c >c; git add c; echo d >d",
		"conflict": begin + "git checkout -qb other; echo o >a; git rm -q b; git commit -qam o; git checkout -q main;" +
			" echo m >a; echo m >b; git commit -qam m; git merge other >/dev/null || :; rm -f b",
		"submodule":          withSubmodule + "rm -rf sub; git config submodule.sub2.ignore all; cd sub2; echo c >c; git add c; git commit -qm c",
		"no submodule":       withSubmodule + "rm -rf sub sub2",
		"locked":             begin + "echo more >>a; touch .git/index.lock",
		"file and directory": begin + "rm a; mkdir a; echo x >a/x",
		"directory and file": "git init -q; mkdir d; echo a >d/a; git add .; git commit -qm first; rm -r d; echo d >d",
		"filter":             "git init -q; git config filter.large.clean 'wc -c'; echo '*.bin filter=large' >.gitattributes; echo 12345 >a.bin",
		"git-lfs keeps a copy": begin + "git config filter.lfs.clean 'd=$(git config lfs.storage || echo .git/lfs); mkdir -p $d; tee $d/x | wc -c'; " +
			"echo 'a filter=lfs' >.gitattributes; echo more >>a",
		"intent to add":    begin + "echo n >n; git add -N n",
		"SHA-256":          strings.Replace(begin, "init -q", "init -q --object-format=sha256", 1) + "echo more >>a; echo n >n",
		"hooks, a monitor": begin + "mkdir .git/hooks; printf '#!/bin/sh\ntouch ../ran' >.git/hooks/post-index-change; chmod +x .git/hooks/*; git config core.fsmonitor .git/hooks/post-index-change; echo n >n",
		"odd \"name\\: é":  begin + "echo more >>a",
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, script)
		want := box.gitIn(box.work, fmt.Sprintf("cp -a '%s' copy; cd copy; rm -f .git/index.lock; rm -rf .git/hooks; git config --unset core.fsmonitor || :; git add -A; git write-tree; cd ..; rm -rf copy", name))
		head := box.gitIn(dir, "git rev-parse -q --verify HEAD || :")
		before := listing(t, dir)
		l, left := box.lookIn(dir)
		expectIs(t, name+": why it is not known", l.Unseen, "")
		expectIs(t, name+": the tree", l.Tree, want)
		expectIs(t, name+": HEAD", l.Commit+" "+l.Branch, head+" refs/heads/main")
		expectIs(t, name+": what is left out", len(left), 0)
		expectUnchanged(t, dir, before, false)
	}
	if _, err := os.Stat(filepath.Join(box.work, "ran")); err == nil {
		t.Error("a hook of the user's has run")
	}
}

// What a look leaves out is named: repositories inside with a commit and without, submodules with changes of their own, large
// files that git does not track, and what can't be read. An edit there is no change.
func TestLookLeavesOut(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git init -q ../lib; git -C ../lib commit -q --allow-empty -m l; git submodule --quiet add ../lib lib; git add .; git commit -qm first")
	before, _ := box.lookIn(box.work)
	box.gitIn(box.work, "git init -q empty; echo x >empty/x; git init -q full; git -C full commit -q --allow-empty -m i; echo y >lib/y; head -c 10485761 /dev/zero >large; touch closed; chmod 0 closed notes.txt; git worktree add -q wt")
	l, left := box.lookIn(box.work)
	wants := map[words]string{changesNested: "empty/ full/ wt/", changesDirty: "lib", changesLarge: "large"}
	tree := before.Tree
	if os.Getuid() == 0 { // who can read all
		tree = box.gitIn(box.work, "git add closed; git write-tree")
	} else {
		wants[changesUnread] = "closed"
	}
	expectIs(t, "why it is not known", l.Unseen, "")
	for why, want := range wants {
		expectIs(t, why.en, strings.Join(left[why], " "), want)
	}
	expectIs(t, "the tree", l.Tree, tree)
	text := judgedChange{look: l, base: l.Tree, from: l.begin, leftOut: left}.changeText()
	expectIn(t, "the request", text, "没有看：empty/、full/、wt/\n", "没提交的改动：lib\n", "10 MB、git 没有跟踪，没有看：large")
}

// What an ordinary user's git can't read is left out, and named in the request: a file that it tracks, and one that it does not.
func TestLookUnread(t *testing.T) {
	onlyRoot(t) // who can be another user
	box := newHookBox(t)
	box.inSession()
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	box.ordinary()
	box.submit("do it")
	box.run(20*time.Second, "", "sh", "-c", "echo b >>a; echo b >>notes.txt; echo n >new; mkdir deep; touch deep/closed; chmod 0 notes.txt deep/closed")
	box.reviews(allows(""))
	box.stop("")
	request := box.read("../fake/reviewer-1.stdin")
	expectIn(t, "the request", request, "```\nM a\nA new\n```\n", say(changesUnread, "deep/closed、notes.txt"))
	expectNotIn(t, "the request", request, " notes.txt\n", " deep/closed\n")
	expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "之后没有改动")
}

// In a partial clone a look and a change have what the clone has, and nothing is fetched, whether the remote is there or not.
func TestLookPartialClone(t *testing.T) {
	box := newFakeBox(t)
	remote, dir := filepath.Join(box.work, "remote"), filepath.Join(box.work, "clone")
	box.gitIn(remote, "git init -q; echo a >a; echo x >x; git add .; git commit -qm first; git clone -q --bare . ../bare; git -C ../bare config uploadpack.allowFilter true")
	box.gitIn(box.work, "git clone -q --filter=blob:none --no-checkout \"file://$PWD/bare\" clone; cd clone; git sparse-checkout set --no-cone /a; git checkout -q")
	missing := box.gitIn(dir, "git rev-parse HEAD:x")
	session := box.stateDir().session("s")
	p := box.placeIn(dir)
	check(t, p.beginAtPrompt(session, ""))
	change := func() string {
		c := p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
		return fmt.Sprint(strings.Join(c.listedPaths(), ", "), c.Unseen, " may be older: ", c.isOlder)
	}
	for _, where := range []string{"there", "gone"} {
		box.gitIn(dir, "echo "+where+" >>a; echo n >n")
		expectIs(t, "the change, the remote "+where, change(), "M a, A n may be older: false")
		box.gitIn(dir, "git rm -q --cached --sparse x") // whose content nobody here has
		expectIs(t, "without that, the remote "+where, change(), "M a, A n, D x may be older: false")
		box.gitIn(dir, "git reset -q")
		check(t, os.RemoveAll(filepath.Join(box.work, "bare")))
	}
	expectIn(t, "what is missing still", box.gitIn(dir, "git rev-list --objects --all --missing=print"), "?"+missing)
	kept, _ := filepath.Glob(p.objects() + "/" + missing[:2] + "/" + missing[2:])
	packs, _ := filepath.Glob(p.objects() + "/pack/*")
	expectIs(t, "what was fetched", strings.Join(append(kept, packs...), " "), "")
}

// Where git can't tell, or there is too much that git does not track, there is no look, and the reason is told on a line, in time.
func TestLookFails(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	for name, c := range map[string]struct{ script, want string }{
		"a filter that is slow":  {begin + "git config filter.slow.clean 'sleep 60; cat'; echo '* filter=slow' >.gitattributes; echo b >b", say(gitTooSlow, 2*time.Second)},
		"a filter that fails":    {begin + "git config filter.no.clean false; git config filter.no.required true; echo '* filter=no' >.gitattributes; echo b >b", "fatal"},
		"a broken HEAD":          {begin + "echo broken >.git/HEAD", "not a git repository"},
		"a broken index":         {begin + "echo broken >.git/index", "index file"},
		"10,001 files":           {begin + "mkdir new; cd new; seq 10001 | xargs touch", ".gitignore"},
		"over 100 MB":            {begin + "for i in 1 2 3 4 5 6 7 8 9 10 11; do head -c 10000000 /dev/zero >f$i; done", ".gitignore"},
		"as much as may be":      {begin + "mkdir new; cd new; seq 10000 | xargs touch; head -c 104857601 /dev/zero >large", ""},
		"what is ignored is not": {begin + "echo new >.gitignore; mkdir new; cd new; seq 10001 | xargs touch", ""},
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, c.script)
		start, patience := time.Now(), time.Minute // however slow this machine is
		if name == "a filter that is slow" {
			patience = 2 * time.Second
		}
		l, _ := lookAt(box.placeIn(dir), patience)
		expectIn(t, name+": the reason", l.Unseen, c.want)
		expectIs(t, name+": there is a reason", l.Unseen != "", c.want != "")
		expectIs(t, name+": there is a tree", l.Tree != "", c.want == "")
		expectIs(t, name+": lines behind the reason's first", strings.Count(l.Unseen, "\n"), 0)
		if took := time.Since(start); took > 15*time.Second && patience < time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		if left, _ := filepath.Glob(filepath.Join(box.placeIn(dir).objects(), "look-*")); len(left) != 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
	expectIs(t, "how long a prompt waits", promptPatience, time.Second)
}

// ccc's own state in the working tree is no part of the change, whether git tracks it or not.
func TestLookWithoutState(t *testing.T) {
	for _, tracked := range []bool{false, true} {
		box := newHookBox(t)
		box.inSession()
		box.vars = append(box.vars, "CCC_WORK_DIR="+box.work)
		box.gitIn(box.work, "git init -q; git add .; git commit -qm first")
		box.submit("do it")
		if tracked {
			box.gitIn(box.work, "git add -f ccc; git commit -qm state")
		}
		box.write("../work/a", 0o600, "a\n")
		box.reviews(allows(""))
		box.stop("")
		expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "```\nA a\n```\n")
		if tracked {
			box.gitIn(box.work, "git add -A; git commit -qm all")
		}
		expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "之后没有改动")
	}
	box := newHookBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first")
	without, _ := box.lookIn(box.work)
	inside := stateDir(filepath.Join(box.work, "ccc"))
	check(t, inside.create())
	box.write("../work/ccc/hook-invocation.log", 0o600, "x\n")
	with, _ := lookAt(inside.place(box.work, box.work, box.vars), time.Minute)
	expectIs(t, "the tree", with.Tree+with.Unseen, without.Tree)
}

// The objects of a working tree lie in one directory of ccc's, which eight looks at once share. It goes with the record, or
// where there is too much in it; then a begin is its commit. A worktree made anew has another one.
func TestLookObjects(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; seq 200 | xargs touch; echo a >a")
	trees := make([]string, 8)
	var all sync.WaitGroup
	for i := range trees {
		all.Add(1)
		go func() {
			defer all.Done()
			l, _ := box.lookIn(box.work)
			trees[i] = l.Tree + l.Unseen
		}()
	}
	all.Wait()
	for _, tree := range trees[1:] {
		expectIs(t, "the tree", tree, trees[0])
	}
	p, session := box.placeIn(box.work), box.stateDir().session("s")
	killed, running := p.objects()+"/pack/tmp_pack_1", p.objects()+"/pack/tmp_pack_2"
	check(t, os.MkdirAll(filepath.Dir(killed), 0o700))
	check(t, errors.Join(os.WriteFile(killed, nil, 0o600), os.WriteFile(running, nil, 0o600)))
	killedLook := p.objects() + "/" + lookPrefix + "1"
	runningLook := p.objects() + "/" + lookPrefix + "2"
	check(t, errors.Join(os.MkdirAll(killedLook+"/lfs", 0o700), os.Mkdir(runningLook, 0o700)))
	long := ago(2*reviewLookPatience + time.Second)
	check(t, os.Chtimes(killed, long, long))
	check(t, os.Chtimes(killedLook, long, long))
	box.lookIn(box.work)
	isWanted := map[string]bool{killed: false, running: true, killedLook: false, runningLook: true}
	for path, isLeft := range isWanted {
		_, err := os.Stat(path)
		expectIs(t, "is left: "+filepath.Base(path), err == nil, isLeft)
	}
	info, err := os.Stat(p.objects())
	check(t, err)
	expectIs(t, "the mode", info.Mode().Perm(), 0o700)
	check(t, p.beginAtPrompt(session, ""))
	box.gitIn(box.work, "git gc -q --prune=now")
	change := func() string {
		c := p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
		return fmt.Sprint(len(c.paths), " ", c.isOlder, c.Unseen)
	}
	expectIs(t, "the change behind git gc", change(), "0 false")
	check(t, os.RemoveAll(p.objects()))
	box.write("../work/a", 0o600, "b\n")
	expectIs(t, "the change without objects", change(), "201 true")
	stale := time.Now().Add(-31 * 24 * time.Hour)
	for size, kept := range map[int64]bool{objectsLimit / 2: true, objectsLimit + 1: false} { // a file with holes
		check(t, os.MkdirAll(p.objects(), 0o700))
		check(t, os.WriteFile(p.objects()+"/large", nil, 0o600))
		check(t, os.Truncate(p.objects()+"/large", size))
		check(t, box.stateDir().sweep())
		_, err := os.Stat(p.objects())
		expectIs(t, fmt.Sprint("objects are kept of ", size), err == nil, kept)
		r, err := p.record()
		check(t, err)
		expectIs(t, "what the record has open", len(r.Open), 1)
	}
	check(t, os.MkdirAll(p.objects(), 0o700))
	for _, suffix := range []string{".json", ".lock", ".objects"} {
		check(t, os.Chtimes(p.file(suffix), stale, stale))
	}
	check(t, box.stateDir().sweep())
	left, _ := filepath.Glob(string(box.stateDir()) + "/tree-*")
	expectIs(t, "what a sweep leaves", strings.Join(left, " "), "")
	side := box.gitIn(box.work, "git worktree add -q ../side; cd ../side; pwd -P")
	first := box.placeIn(side).key
	expectIs(t, "the same worktree", box.placeIn(filepath.Join(side, "x")).key, first)
	time.Sleep(10 * time.Millisecond) // the time of its .git file is another
	box.gitIn(box.work, "git worktree remove ../side; git worktree add -q ../side")
	expectIs(t, "a worktree made anew is the same", box.placeIn(side).key == first, false)
}

// Without a look a change begins where HEAD was by its log, which is read; where that does not reach back, at what HEAD shares
// with the commit of the session's newest begin in another working tree, else it is all files.
func TestBeginningByReflog(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; for i in 1 2 3; do echo $i >f$i; git add .; GIT_COMMITTER_DATE=2026-02-0${i}T00:00:00Z git commit -qm $i; done; git tag three")
	commit := func(state sessionState, began string) string {
		at, _ := time.Parse(time.RFC3339, began)
		p, end := box.placeIn(dir).within(context.Background(), time.Minute)
		defer end()
		return p.ownBegin(state, "", at).Commit
	}
	id := func(revision string) string { return box.gitIn(dir, "git rev-parse "+revision) }
	for began, want := range map[string]string{"": "", "2026-01-01T00:00:00.000Z": "", "2026-02-01T00:00:01.000Z": id("HEAD~2"),
		"2026-02-02T00:00:00.500Z": id("HEAD~2"), "2026-02-02T10:00:00.000Z": id("HEAD~1"), "2026-03-01T00:00:00Z": id("HEAD")} {
		expectIs(t, "began "+began, commit(sessionState{SessionID: "s"}, began), want)
	}
	elsewhere := sessionState{SessionID: "s", Begins: map[string]sessionBegin{"x": {begin: begin{Commit: id("HEAD~1"), Time: now()}}}}
	expectIs(t, "since another working tree's commit", commit(elsewhere, ""), id("HEAD~1"))
	box.gitIn(dir, "git checkout -q HEAD~2; git reflog expire --expire=all --all")
	expectIs(t, "with an older commit checked out", commit(elsewhere, "2026-02-02T10:00:00Z"), id("HEAD"))
}

// A prompt waits for git as long as for one look, whatever is asked: of a session whose begin is in another working tree, too.
func TestPromptPatience(t *testing.T) {
	alone(t)
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git reflog expire --expire=all --all")
	session := box.stateDir().session("s")
	p := box.placeIn(box.work)
	check(t, session.setBegin("elsewhere", sessionBegin{begin: begin{Commit: "HEAD", Time: now()}}))
	box.write("../bin/git", 0o700, "#!/bin/sh\nsleep 60\n")
	t.Setenv("PATH", filepath.Dir(box.program())+":"+os.Getenv("PATH"))
	before := promptLookPatience
	defer func() { promptLookPatience = before }()
	promptLookPatience = 500 * time.Millisecond
	start := time.Now()
	check(t, p.beginAtPrompt(session, ""))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// What ccc verdict says where the remote's main branch has moved: what was pulled does not count, and is told; one's own push of
// what nobody approved does.
func TestVerdictBesideRemote(t *testing.T) {
	for name, c := range map[string]struct{ then, word, told string }{
		"pulled":                          {theirs + "; git pull -q --rebase origin main", "allow", "不算：b"},
		"pushed to a branch":              {"echo 2 >>c; git commit -qam c; git push -q origin HEAD:topic", "changed", "c"},
		"pulled what the change had, too": {theirs + "; git pull -q --rebase origin main; echo 3 >>a; git commit -qam a; git push -q origin HEAD:main", "changed", "a"},
		"fetched":                         {theirs + "; git fetch -q", "allow", "之后没有改动"},
	} {
		box := newHookBox(t)
		box.inSession()
		box.gitIn(box.work, wayPrelude)
		box.submit("do it")
		box.gitIn(box.work, "echo 1 >>a; git commit -qam x")
		box.reviews(allows(""))
		box.stop("")
		box.gitIn(box.work, c.then)
		got := box.run(20*time.Second, "", "ccc", "verdict")
		expectIs(t, name, strings.TrimSpace(got.stdout), c.word)
		expectIn(t, name, got.stderr, c.told)
	}
}

// A directory without a repository that holds some: the request names them.
func TestChangeBelow(t *testing.T) {
	box := newHookBox(t)
	box.gitIn(box.work, "git init -q frontend; git init -q backend; mkdir docs")
	box.submit("do it")
	box.stop("")
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), say(changesBelow, "backend、frontend"))
}

// Of many paths the first 200 are listed, and of what is not shown whole the name and the size. The reviewer can look at it: git
// finds the objects. Those as on the remote's main branch come last, and are told as that, however small.
func TestChangeListed(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	box.gitIn(box.work, "git checkout -qb other; echo m >a-main; git add .; git commit -qm m; git update-ref refs/remotes/origin/main HEAD; "+
		"git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main; git checkout -q main")
	box.submit("fix it")
	box.gitIn(box.work, "echo m >a-main; printf '1\\n2\\n3\\n4\\n5\\n6\\n' >b-own")
	const shows = `eval "$(grep -o 'git diff [0-9a-f]* [0-9a-f]*' "$call.stdin" | head -n 1) -- a-main" >"$dir/shown" 2>&1`
	box.reviews(fakeReview{runs(shows), decides(false, "not yet")})
	box.stop("")
	expectIn(t, "what the reviewer's git diff shows", box.read("../fake/shown"), "diff --git a/a-main b/a-main\n", "\n+m\n")
	request := box.read("../fake/reviewer-1.stdin")
	_, lists, _ := strings.Cut(request, "A b-own\n```\n")
	expectPrefix(t, "the list behind that of its own paths", strings.TrimSpace(lists), say(changesOld)+"\n\n```\nA a-main\n```")
	own, main := strings.Index(request, "diff --git a/b-own"), strings.Index(request, "diff --git a/a-main")
	expectIs(t, "in the diff its own comes first", 0 < own && own < main, true)
	box.gitIn(box.work, "rm a-main b-own; for n in $(seq 201); do echo $n >n-$n; done; seq 5000 >z-cut")
	box.stop("")
	request = box.read("../fake/reviewer-2.stdin")
	expectIs(t, "the paths in the list", len(regexp.MustCompile(`(?m)^A n-\d+$`).FindAllString(request, -1)), 200)
	expectIn(t, "the request", request, "\n... (+2)\n", "z-cut (+5000 -0)")
}

// What nobody has approved for 30 days is no part of another session's review any more.
func TestOpenForgotten(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	as := func(session, event string) {
		box.hook(strings.Replace(event, testSession, session, 1))
	}
	as("first", box.event(eventPrompt, `"prompt":"begin it"`))
	box.write("../work/new.txt", 0o600, "new\n")
	as("first", box.event(eventStop, ""))
	records, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/tree-*.json"))
	for i, age := range []time.Duration{retention - time.Hour, retention + time.Hour} {
		text, err := os.ReadFile(records[0])
		check(t, err)
		put := regexp.MustCompile(`"put":"[^"]*"`).ReplaceAllString(string(text), `"put":"`+ago(age).UTC().Format(time.RFC3339)+`"`)
		check(t, os.WriteFile(records[0], []byte(put), 0o600))
		session := fmt.Sprint("another-", i)
		as(session, box.event(eventPrompt, `"prompt":"go on"`))
		as(session, box.event(eventStop, ""))
		request := box.read(fmt.Sprintf("../fake/reviewer-%d.stdin", i+2)) // the first one is of the first session
		if i == 0 {
			expectIn(t, "the request", request, "A new.txt", "begin it")
		} else {
			expectNotIn(t, "the request", request, "A new.txt", "begin it")
		}
	}
}

// A day's steps are
//
//	new S, fork S T       a session begins; T is a fork of S
//	on S, off S           it is supervised from here on, or not any more
//	p S                   a prompt
//	w S FILE, d S FILE    the agent adds a line, or takes the last one away (bgw: a background task does)
//	u TREE FILE           the user adds a line
//	stop, q, hand S V     a review of a stop, of a question, by hand (and where T is behind it, something is still to come)
//	rb S, re S V          a review begins and ends
//	commit, g TREE ...    git is used
//	wt S TREE, leave S    the agent enters a worktree, and leaves it; rmwt TREE removes it
//	lookfail              the next look fails
//	lost TREE             the objects of its looks are gone
var modelDays = []struct{ name, steps, shown, verdict string }{
	{"plain", "new A;p A;w A;u main b;stop A allow;u main c;p A;w A;stop A allow",
		"A:+A.1 +u.2 | A:+A.4", "allow"},
	{"prompt in review", "new A;p A;w A;rb A;p A;re A allow;w A;stop A allow",
		"A:+A.1 | A:+A.2", "allow"},
	{"prompt in review, then prompt", "new A;p A;w A;rb A;p A;re A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"queued before stop, prompt in mid-work", "new A;p A;w A;p A;rb A;re A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"queued before stop, other session", "new A;new B;p A;w A;p A;rb A;re A allow;w A;p B;w B c;stop B allow;stop A allow",
		"A:+A.1 | B:+A.2 +B.3 | A:+A.2 +B.3", "allow"},
	{"wake unknown, prompt in mid-work", "new A;p A;w A;stop A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"wake known", "new A;p A;w A;stop A allow T;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"! cmd refused then prompt", "new A;p A;w A;stop A allow;w A;stop A refuse;u main b;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 | A:+A.2 +A.4 +u.3", "allow"},
	{"! cmd refused, other session", "new A;new B;p A;w A;stop A allow;w A;stop A refuse;p B;stop B allow",
		"A:+A.1 | A:+A.2 | B:+A.2", "allow"},
	{"! cmd, other approved between", "new A;new B;p A;w A;stop A allow;w A;p B;w B c;stop B allow;stop A allow",
		"A:+A.1 | B:+A.2 +B.3 | A:+A.2 +B.3", "allow"},
	{"look fails at first", "new A;lookfail;p A;w A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"look fails later", "new A;p A;w A;stop A allow;commit main;u main b;lookfail;p A;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3 +A.4 +u.2", "allow"},
	{"plain resumed", "new P main;off P;p P;w P;commit main;u main b;on P;p P;w P;stop P allow",
		"P:+P.1 +P.3 +u.2", "allow"},
	{"plain resumed, other approved", "new P;off P;p P;w P;new B;p B;w B c;stop B allow;on P;p P;stop P allow",
		"B:+B.2 | P:+B.2 +P.1", "allow"},
	{"fork", "new A;p A;w A;stop A refuse;fork A F;p F;w F;stop F allow",
		"A:+A.1 | F:+A.1 +F.2", "allow"},
	{"fork of approved", "new A;p A;w A;stop A allow;u main b;fork A F;p F;w F;stop F allow",
		"A:+A.1 | F:+A.1 +F.3 +u.2", "allow"},
	{"mid-work on", "new A;off A;p A;w A;on A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"off between", "new A;p A;w A;stop A allow;off A;p A;w A;on A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"two, refused after other began", "new A;new B;p A;w A;p B;w B c;stop B allow;w A;p B;stop A refuse;w B c;stop B allow",
		"B:+A.1 +B.2 | A:+A.1 +A.3 +B.2 | B:+A.1 +A.3 +B.2 +B.4", "allow"},
	{"two, refused after B prompt, C", "new A;new B;p A;p B;w B;stop B allow;w A;p B;stop A limit;stop B allow",
		"B:+B.1 | B:+A.2 +B.1", "allow"},
	{"branch leftover", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B;stop B allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.2 | B:+B.3 -u.1 | C:-", "allow"},
	{"branch same session", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A refuse;g main checkout -q main;p A;w A b;stop A allow;g main checkout -q feat;p A;stop A allow",
		"A:+A.2 | A:+A.3 -u.1 | A:+A.2 +A.3", "allow"},
	{"branch same session approved", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A allow;g main checkout -q main;p A;w A b;stop A allow",
		"A:+A.2 | A:+A.3", "allow"},
	{"carried dirty to other branch", "new A;g main checkout -q -b feat;u main c;commit main;p A;w A a;stop A refuse;g main checkout -q main;new B;p B;stop B allow",
		"A:+A.2 | B:+A.2 -u.1", "allow"},
	{"clear unreviewed", "new A;p A;w A;new B;p B;w B;stop B allow",
		"B:+A.1 +B.2", "allow"},
	{"worktree removed anew", "new A;p A;wt A W;w A;stop A allow;leave A;rmwt W;wt A W;w A;stop A allow;leave A;p A;stop A allow",
		"A:+A.1 | A:+A.2 | A:-", "allow"},
	{"worktree mid work", "new A;p A;w A;wt A W;w A;stop A allow;leave A;p A;w A;stop A allow",
		"A:+A.2 | A:+A.1 +A.3", "allow"},
	{"worktree, other session in main", "new A;p A;wt A W;w A;stop A allow;leave A;u main b;new B;p B;w B;stop B allow",
		"A:+A.1 | B:+B.3", "allow"},
	{"worktree, Esc, prompt there", "new A;p A;wt A W;w A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "none"},
	{"worktree approved, prompt, again", "new A;p A;wt A W;w A;stop A allow;u W b;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "none"},
	{"work mode thanks", "new A;p A;w A;stop A allow;u main b;p A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "allow"},
	{"question approved", "new A;p A;w A;q A allow;w A c;stop A allow",
		"A?:+A.1 | A:+A.1 +A.2", "allow"},
	{"question approved after end", "new A;p A;w A;stop A allow T;w A;q A allow;w A c;stop A limit;new B;p B;stop B allow",
		"A:+A.1 | A?:+A.2 | B:+A.2 +A.3", "allow"},
	{"cancel after wake", "new A;p A;w A;stop A allow T;w A;rb A;re A cancel;new B;p B;stop B allow",
		"A:+A.1 | A:+A.2 | B:+A.2", "allow"},
	{"hand between", "new A;p A;w A;hand A allow;w A;stop A allow;u main b;hand A allow",
		"Ah:+A.1 | A:+A.2 | Ah:+u.3", "allow"},
	{"hand of another, with the user's edits since the approval", "new A;p A;w A;stop A allow;u main b;new B;p B;w B c;hand B allow",
		"A:+A.1 | Bh:+B.3 +u.2", "allow"},
	{"hand busy", "new A;p A;w A;hand A allow main T;w A;stop A allow",
		"Ah:+A.1 | A:+A.2", "allow"},
	{"hand of plain beside supervised", "new P;off P;p P;w P;new B;p B;w B c;stop B allow;hand P allow",
		"B:+B.2 | Ph:+B.2 +P.1", "allow"},
	{"hand of plain alone", "new P;off P;p P;w P;commit main;hand P allow",
		"Ph:+P.1", "allow"},
	{"hand: work behind look", "new A;p A;w A;rb A hand;w A;re A allow;p A;w A;stop A allow",
		"Ah:+A.1 | A:+A.2 +A.3", "allow"},
	{"failed", "new A;p A;w A;stop A fail;p A;w A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"failed look at review", "new A;p A;w A;lookfail;stop A allow;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"stop without prompt refused, other", "new A;new B;p A;w A;stop A allow;w A;stop A refuse;new C;p C;stop C allow",
		"A:+A.1 | A:+A.2 | C:+A.2", "allow"},
	{"user deleted by agent, G3 older", "new P;off P;p P;u main b;new A;p A;d A b;stop A refuse;on P;p P;stop P allow",
		"A:-u.1 | P:-", "allow"},
	{"objects lost", "new A;p A;w A;stop A allow;w A;p A;lost main;stop A refuse;new B;p B;stop B allow",
		"A:+A.1 | A:+A.1 +A.2 | B:+A.1 +A.2", "allow"},
	{"user dirty, own file", "u main a;new A;p A;w A a;stop A allow;u main a;p A;w A a;stop A allow",
		"A:+A.2 | A:+A.4", "allow"},
	{"old G3 in open makes others large", "new P;off P;p P;new A;p A;w A;stop A allow;on P;p P;u main b;p A;w A c;stop A allow",
		"A:+A.1 | A:+A.1 +A.3 +u.2", "allow"},
	{"three: B ended between", "new A;new B;new C;p A;w A;p B;w B c;stop B allow;w A;p C;w C b;stop C allow;stop A refuse;p C;stop C allow",
		"B:+A.1 +B.2 | C:+A.3 +C.4 | A:+A.1 +A.3 +B.2 +C.4 | C:+A.1 +A.3 +B.2 +C.4", "allow"},
	{"bg task writes, known (limit)", "new A;p A;w A;stop A allow T;bgw A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "allow"},
	{"stash by user, pop", "new A;p A;w A;stop A refuse;g main stash -q -u;new B;p B;w B c;stop B allow;g main stash pop;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:+A.1 +B.2", "allow"},
	{"amend, rebase", "new A;p A;w A;commit main;stop A refuse;w A;g main commit -qam x --amend;p A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"amend, other session", "new A;p A;w A;commit main;stop A refuse;w A;g main commit -qam x --amend;new B;p B;stop B allow",
		"A:+A.1 | B:+A.1 +A.2", "allow"},
	{"refused from further back than an approval saw", "new P;off P;p P;w P;new A;p A;w A c;rb A;on P;stop P refuse;re A allow;new C;p C;stop C allow",
		"A:+A.2 | P:+A.2 +P.1 | C:+A.2 +P.1", "allow"},
	{"reset by agent", "u main a;commit main;new A;p A;g main reset -q --hard HEAD~1;stop A refuse;new B;p B;stop B allow",
		"A:-u.1 | B:-u.1", "allow"},
	{"loop", "new A;p A;w A;stop A allow T;p A;w A;stop A allow T;p A;w A;stop A allow T",
		"A:+A.1 | A:+A.2 | A:+A.3", "allow"},
	{"loop and other", "new A;new B;p A;w A;stop A allow T;u main b;p B;w B;stop B allow;u main b;p A;w A;stop A allow T;p B;w B;stop B allow",
		"A:+A.1 | B:+B.3 | A:+A.5 | B:+B.6", "allow"},
	{"refused twice", "new A;p A;w A;stop A refuse;w A;stop A refuse;w A;stop A allow;p A;w A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2 | A:+A.1 +A.2 +A.3 | A:+A.4", "allow"},
	{"failed behind refusal, tree as approved", "new A;new B;p A;w A;stop A allow;p B;stop B refuse;stop B fail",
		"A:+A.1 | B:- | B:-", "block"},
	{"refused by hand, other session", "new P;off P;p P;w P;hand P refuse;new B;p B;stop B allow",
		"Ph:+P.1 | B:+P.1", "allow"},
	{"own edits refused by hand, other", "new A;p A;w A;stop A allow;u main b;hand A refuse;new B;p B;stop B allow",
		"A:+A.1 | Ah:+u.2 | B:+u.2", "allow"},
	{"two reviews at once: refusal ends first", "new A;new B;p A;p B;w A;w B c;rb A;rb B;re B refuse;re A allow",
		"A:+A.1 +B.2 | B:+A.1 +B.2", "block"},
	{"two reviews at once: approval ends first", "new A;new B;p A;p B;w A;w B c;rb A;rb B;re A allow;re B refuse",
		"A:+A.1 +B.2 | B:+A.1 +B.2", "block"},
	{"two reviews at once, begun anew", "new A;new B;p A;w A;p B;w B c;stop B allow;p B;w A;rb A;w B c;rb B;re A refuse;re B allow",
		"B:+A.1 +B.2 | A:+A.1 +A.3 +B.2 | B:+A.3 +B.4", "block"},
	{"limit behind the look of another's review", "new A;new B;p A;p B;w A;rb A;w B c;stop B limit;re A allow;new C;p C;rb C;re C refuse",
		"A:+A.1 | C:+B.2", "block"},
	{"the same, and a question", "new A;new B;p A;p B;w A;rb A;w B c;stop B limit;re A allow;p A;stop A allow",
		"A:+A.1 | A:+B.2", "allow"},
	{"refused behind the look of another's review", "new A;new B;p A;p B;w A;rb A;w B c;stop B refuse;re A allow;new C;p C;stop C allow",
		"A:+A.1 | B:+A.1 +B.2 | C:+B.2", "allow"},
	{"failed behind the look by hand of another", "new A;new B;p A;p B;w A;rb A hand;w B c;stop B fail;re A allow;new C;p C;stop C allow",
		"Ah:+A.1 | B:+A.1 +B.2 | C:+B.2", "allow"},
	{"refused, then a prompt in the review that approves", "new A;p A;w A;stop A refuse;w A;rb A;p A;re A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"begun before the look, refused behind it", "new A;new B;p A;p B;w A;w B c;rb B;rb A;re B refuse;re A allow",
		"B:+A.1 +B.2 | A:+A.1 +B.2", "block"},
	{"main edits while in worktree", "new A;p A;wt A W;w A;u main b;stop A allow;leave A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3 +u.2", "allow"},
	{"agent makes a branch, refused, main approved", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B b;stop B allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:+A.1 +B.2", "allow"},
	{"the same, merged", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B b;commit main;stop B allow;g main merge -q feat;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:+A.1 +B.2", "allow"},
	{"the same, same session", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;p A;w A b;stop A allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.1 | A:+A.2 | C:+A.1 +A.2", "allow"},
	{"branch made, uncommitted, carried back", "new A;p A;g main checkout -q -b feat;w A;stop A refuse;g main checkout -q main;new B;p B;w B b;stop B allow",
		"A:+A.1 | B:+A.1 +B.2", "allow"},
	{"failed, tree as approved", "new A;p A;w A;stop A allow;p A;stop A fail",
		"A:+A.1 | A:-", "allow"},
	{"squash merge", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;g main merge -q --squash feat;commit main;new C;p C;stop C allow",
		"A:+A.1 | C:+A.1", "allow"},
}

// A dayPlayer plays a day through the hook, ccc review and ccc verdict.
type dayPlayer struct {
	player
	off     map[string]bool
	tree    map[string]string    // where the agent of a session is, by session
	running map[string]*exec.Cmd // what has a review that runs, by session
	number  map[string]int       // of its reviewer's call
	lines   int
	fails   bool // the next look fails
	shown   []string
}

// as makes the session the one that acts.
func (p *dayPlayer) as(session string) {
	p.session = session
	if p.here = p.work; p.tree[session] != "" {
		p.here = filepath.Join(p.work, "..", p.tree[session])
	}
}

// edit adds a line to a file or takes one away.
func (p *dayPlayer) edit(dir, who, file string, adds bool) {
	path := filepath.Join(dir, file)
	text, _ := os.ReadFile(path)
	lines := strings.Fields(string(text))
	if adds {
		p.lines++
		at := len(lines)
		if p.lines%2 == 1 {
			at /= 2
		}
		lines = slices.Insert(lines, at, fmt.Sprintf("%s.%d", who, p.lines))
	} else if len(lines) > 0 {
		at := len(lines) - 1
		for i, line := range lines {
			if strings.HasPrefix(line, "u.") {
				at = i
			}
		}
		lines = slices.Delete(lines, at, at+1)
	}
	if len(lines) == 0 {
		check(p.t, os.Remove(path))
	} else {
		check(p.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
}

// withLook runs what takes a look, which fails if that was ordered.
func (p *dayPlayer) withLook(does func()) {
	index := filepath.Join(p.work, ".git/index")
	if p.fails {
		check(p.t, errors.Join(os.Rename(index, index+".kept"), os.WriteFile(index, []byte("broken"), 0o600)))
		defer func() { check(p.t, os.Rename(index+".kept", index)) }()
	}
	p.fails = false
	does()
}

// begin has a review begin: of a stop, by hand or of a question.
func (p *dayPlayer) begin(session, kind string, isWaiting bool) {
	p.as(session)
	p.reviews(fakeReview{runs(`until [ -f "$FAKE_CLAUDE_DIR/go-` + session + `" ]; do sleep 0.02; done; play verdict ` + session)})
	p.reviewers++
	p.number[session] = p.reviewers
	check(p.t, os.Rename(filepath.Join(p.home, "../fake/review"), filepath.Join(p.home, fmt.Sprintf("../fake/review-%d", p.reviewers))))
	asked := fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers)
	var cmd *exec.Cmd
	switch members := wayStop; {
	case kind == "hand":
		if isWaiting {
			p.tellCall()
		}
		cmd = p.command("ccc", "review", session)
		cmd.Dir = p.here
	case kind == "q":
		cmd = p.hookOf(p.event(eventPreToolUse, `"tool_name":"AskUserQuestion","tool_input":{"questions":[]}`))
	default:
		if isWaiting {
			members += `,"background_tasks":[{"id":"b1","type":"shell","status":"running"}]`
		}
		p.tell("assistant", "Done.")
		cmd = p.hookOf(p.event(eventStop, members))
	}
	p.running[session] = cmd
	p.withLook(func() {
		check(p.t, cmd.Start())
		for deadline := time.Now().Add(60 * time.Second); p.read(asked) == ""; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.t.Fatal("no review begins")
			}
		}
	})
	request := p.read(asked)
	if strings.Contains(request, strings.Split(say(changesUnknown, "|"), "|")[1]) {
		return
	}
	mark := map[string]string{"hand": "h", "q": "?"}[kind]
	p.shown = append(p.shown, session+mark+":"+shownLines(request))
}

// shownLines lists what the diff of a request adds and takes away.
func shownLines(request string) string {
	_, diff, _ := strings.Cut(request, "```diff\n")
	diff, _, _ = strings.Cut(diff, "\n```")
	lines := regexp.MustCompile(`(?m)^[+-].+$`).FindAllString(diff, -1)
	slices.Sort(lines)
	if lines == nil {
		return "-"
	}
	return strings.Join(lines, " ")
}

// tellCall adds a call of a tool to the transcript, which has no result yet.
func (p *dayPlayer) tellCall() {
	p.tell("assistant", "x")
	text, err := os.ReadFile(p.transcript())
	check(p.t, err)
	call := strings.Replace(string(text), `{"type":"text","text":"x"}`, `{"type":"tool_use","id":"t","name":"Bash","input":{}}`, 1)
	check(p.t, os.WriteFile(p.transcript(), []byte(call), 0o600))
}

// end ends a review with what its reviewer says, or by the user.
func (p *dayPlayer) end(session, verdict string) {
	cmd := p.running[session]
	delete(p.running, session)
	if verdict == "cancel" {
		check(p.t, errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()))
		return
	}
	p.reviews(map[string]fakeReview{"allow": allows(""), "refuse": blocks("not yet"), "fail": fails("overloaded")}[verdict])
	fake := func(name string) string { return filepath.Join(p.home, "../fake", name) }
	check(p.t, errors.Join(os.Rename(fake("review"), fake("verdict-"+session)), os.WriteFile(fake("go-"+session), nil, 0o600)))
	_ = cmd.Wait() // ccc review ends with the code of its verdict
	check(p.t, os.Remove(fake("go-"+session)))
}

// limit has a stop come at which the reviews are used up.
func (p *dayPlayer) limit(session string) {
	p.as(session)
	path := ".claude/ccc/supervisor-" + session + ".json"
	if text := p.read(path); strings.Contains(text, `"count":0`) {
		p.write(path, 0o600, strings.Replace(text, `"count":0`, `"count":1`, 1))
	}
	p.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	p.tell("assistant", "Done.")
	p.finish(p.hookOf(p.event(eventStop, wayStop)), 60*time.Second)
	check(p.t, os.Remove(filepath.Join(p.home, ".claude/ccc.json")))
}

func (p *dayPlayer) play(step string) {
	words := append(strings.Fields(step), "", "", "", "")
	name, of, rest := words[0], words[1], words[2:]
	dir := p.work
	if of != "main" {
		dir = filepath.Join(p.work, "..", of)
	}
	file := rest[0]
	switch name {
	case "new", "on", "off":
		p.off[of] = name == "off"
	case "fork":
		p.as(of)
		text, err := os.ReadFile(p.transcript())
		p.entries[file] = p.entries[of]
		p.as(file)
		check(p.t, errors.Join(err, os.WriteFile(p.transcript(), text, 0o600)))
	case "p":
		if p.as(of); !p.off[of] {
			p.withLook(func() { p.finish(p.hookOf(p.event(eventPrompt, `"prompt":"do it"`)), 60*time.Second) })
		}
		if p.tell("user", "do it"); p.off[of] {
			p.tell("assistant", "I begin.")
		}
	case "w", "d", "bgw":
		p.as(of)
		if file == "" {
			file = "a"
		}
		if p.edit(p.here, of, file, name != "d"); name != "bgw" {
			p.tell("assistant", "I have done that.")
		}
	case "u":
		if file == "" {
			file = "b"
		}
		p.edit(dir, "u", file, true)
	case "commit":
		p.gitIn(dir, fmt.Sprint("git add -A; git commit -q --allow-empty -m ", time.Now().UnixNano())) // as no other
	case "g":
		p.gitIn(dir, "git config user.name a; git config user.email a@example.com; git "+strings.TrimSpace(strings.Join(rest, " "))+" || :")
	case "stop":
		if file == "limit" {
			p.limit(of)
			break
		}
		p.begin(of, "", rest[1] == "T")
		p.end(of, file)
	case "q":
		p.begin(of, "q", false)
		p.end(of, file)
	case "hand":
		p.begin(of, "hand", rest[2] == "T")
		p.end(of, file)
	case "rb":
		p.begin(of, file, false)
	case "re":
		p.end(of, file)
	case "wt":
		if _, err := os.Stat(filepath.Join(p.work, "..", file)); err != nil {
			p.lines++
			p.gitIn(p.work, fmt.Sprintf("git worktree add -q -b %s%d ../%s", file, p.lines, file))
			p.lines--
		}
		p.tree[of] = file
	case "leave":
		p.tree[of] = ""
	case "rmwt":
		p.gitIn(p.work, "git worktree remove --force ../"+of)
		for session, tree := range p.tree {
			if tree == of {
				p.tree[session] = ""
			}
		}
	case "lookfail":
		p.fails = true
	case "lost":
		p.gitIn(p.work, "rm -rf $HOME/.claude/ccc/tree-*.objects")
	default:
		p.t.Fatalf("what is %q?", step)
	}
}

func TestDays(t *testing.T) {
	for _, d := range modelDays {
		t.Run(d.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.gitIn(box.work, "export GIT_COMMITTER_DATE=@$(($(date +%s) - 3600)); git init -q; rm notes.txt; for f in a b c; do printf '%s\n' ${f}0 ${f}1 ${f}2 >$f; done; git add .; git commit -qm x")
			p := &dayPlayer{player: player{sandbox: box, project: box.work, entries: map[string]int{}}, off: map[string]bool{},
				tree: map[string]string{}, running: map[string]*exec.Cmd{}, number: map[string]int{}}
			for step := range strings.SplitSeq(d.steps, ";") {
				p.play(step)
			}
			expectIs(t, "what the reviewers are shown", strings.Join(p.shown, " | "), d.shown)
			expectIs(t, "the verdict", strings.TrimSpace(p.outside(box.work, "verdict").stdout), d.verdict)
		})
	}
}

// wayPrelude is the project of each way: three files that a remote has.
const wayPrelude = `export GIT_COMMITTER_DATE=@$(($(date +%s) - 3600))
git init -q --bare ../remote; git init -q; git remote add origin ../remote
echo a >a; echo b >b; echo c >c; echo '*.log' >.gitignore; rm notes.txt; git add .; git commit -qm first; git push -q origin main; git remote set-head origin main
git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main:refs/pull/1; rm -rf ../other`

// theirs and lib are parts of scripts: somebody else has pushed a line of b; the project has a submodule.
const (
	theirs = "git -C ../remote update-ref refs/heads/main refs/pull/1"
	lib    = "git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main"
)

// A way is played line by line: "$" and a script that the agent runs, "!" and one of the user's. The others are
//
//	prompt             the user's; where there is none the agent is woken, or the user edits
//	unseen             the user's, when nobody supervised the session
//	begin, esc         a review begins; the user ends it
//	begin, ok, no      a review begins; it approves or refuses (and begins, if none has)
//	review, rejects    by hand
//	asked              a review of a question approves
//	limited, failed    a stop at the limit, a review that failed
//	in NAME            another session
//	cd DIR, enter DIR  another project; the agent goes to another directory
//	shown PATHS        those that the last request lists, by name, each behind git's letter
//	tells TEXT         the last request does
//	verdict WORD TEXT  what ccc verdict says, and a part of the reason
//	silent TEXT        which is no part of that reason
type way struct{ name, steps string }

var ways = []way{
	{"committed by the agent", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow 之后没有改动`},
	{"committed by the user after the approval", `
		prompt
		$ echo 1 >>a; echo n >new
		ok
		shown M a, A new
		verdict allow
		! git add .; git commit -qm x
		verdict allow
		silent 还没有`},
	{"some of the files are committed", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown M a, M b
		! git commit -qm x a
		verdict allow`},
	{"part of a file is committed", `
		prompt
		$ seq 30 >b; git add b; sed -i 's/^1$/x/' b
		ok
		! git commit -qm x
		verdict allow`},
	{"refused, and pushed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		shown M a
		$ git push -q origin main
		verdict block`},
	{"while a review runs, and ended by the user", `
		prompt
		$ echo 1 >>a
		begin
		verdict reviewing
		esc
		verdict cancelled
		ok
		shown M a
		verdict allow`},
	{"outside git", `
		cd ../plain
		prompt
		$ echo 1 >>a
		ok
		verdict allow
		! echo 2 >>a
		verdict allow
		prompt
		verdict none`},
	{"never reviewed", `
		! echo 1 >>a; git commit -qam x
		verdict none`},
	{"push it, in the next turn", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ git commit -qam x
		verdict allow 还没有审查过
		$ git push -q origin main
		ok
		shown
		verdict allow`},
	{"please look again, behind changed", `
		prompt
		$ echo 1 >>a
		ok
		! echo 2 >>a; echo 2 >>b
		verdict changed 之后有改动：a、b
		prompt
		ok
		shown
		verdict allow`},
	{"a scratch file of the user's before", `
		! echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! git commit -qam x
		verdict allow
		silent scratch
		! echo t >scratch
		verdict allow 不会被推送）：scratch
		! git add scratch
		verdict changed scratch`},
	{"untracked junk at the push", `
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! echo s >scratch; git commit -qam x
		verdict allow 不会被推送）：scratch
		! git add scratch
		verdict changed scratch`},
	{"a scratch file of the user's is committed, too", `
		! echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! git add .; git commit -qm x
		verdict allow`},
	{"a formatter in a hook of the commit", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown M a, M b
		! echo formatted >>a; git commit -qam x
		verdict changed a`},
	{"rebased onto a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git pull -q --rebase origin main
		verdict allow`},
	{"merged with a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git pull -q --no-rebase --no-edit origin main
		verdict allow`},
	{"merged with a moved main, the same file", `
		! seq 20 >b; git commit -qam seq; git push -q origin HEAD:main
		prompt
		$ sed -i 1s/1/x/ b; git commit -qam x
		ok
		shown M b
		! git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main; cd ../work
		! git pull -q --no-rebase --no-edit origin main
		verdict changed b
		review
		shown M b
		verdict allow`},
	{"amended", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git commit -q --amend -m better
		verdict allow
		! echo 2 >>a; git commit -qa --amend -m more
		verdict changed a`},
	{"merged into main as one commit", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; echo 1 >>b; git commit -qam y
		ok
		shown M a, M b
		! git checkout -q main; git merge -q --squash topic; git commit -qm both
		verdict allow`},
	{"a new branch for work that was sent back", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		$ git checkout -qb again
		prompt
		$ echo 2 >>a; git commit -qam y
		ok
		shown M a
		verdict allow`},
	{"sent back on another branch, which is left", `
		prompt
		$ git checkout -qb side; echo 1 >>a; git commit -qam x
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"sent back on another branch, uncommitted work is carried over", `
		prompt
		$ git checkout -qb side; echo 1 >>c; git commit -qam x; echo 1 >>a
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qm y b
		ok
		shown M a, M b
		verdict allow`},
	{"several requests, the last one approved", `
		prompt
		$ echo 1 >>a
		no
		prompt
		$ echo 1 >>b
		ok
		shown M a, M b`},
	{"several requests, each approved", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 1 >>b
		ok
		shown M b
		! git commit -qam x
		verdict allow`},
	{"approved, then refused in the same content", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 2 >>a
		no
		shown M a
		$ git commit -qam x
		verdict block`},
	{"the next request is typed while the review runs", `
		prompt
		$ echo 1 >>a
		begin
		prompt
		ok
		verdict allow 还没有审查过
		$ echo 1 >>b
		ok
		shown M b
		verdict allow`},
	{"a woken agent", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 2 >>a
		ok
		shown M a
		verdict allow`},
	{"a woken agent, then a typed prompt", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 1 >>b
		failed
		prompt
		$ echo 1 >>c
		ok
		shown M b, M c`},
	{"the user edits between an approval and a request that is sent back", `
		prompt
		$ echo 1 >>a
		ok
		! echo u >>c
		prompt
		$ echo 1 >>b
		no
		$ echo 2 >>b
		ok
		shown M b
		verdict allow`},
	{"the user edits what was approved, and the agent goes on", `
		prompt
		$ echo 1 >>a
		ok
		! echo u >>a
		prompt
		$ echo 2 >>a
		ok
		shown M a`},
	{"the user commits between two requests", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! echo u >>c; git commit -qam u
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"in mid-work, without a prompt on record", `
		unseen
		$ echo 1 >>a
		ok
		shown M a
		tells 其中可能有更早的改动
		verdict allow`},
	{"a project that the agent makes", `
		cd ../fresh
		prompt
		$ git init -q; echo 1 >one; git add .; git commit -qm x; echo 2 >two
		ok
		shown A one, A two
		tells 与 空目录 相比：其中可能有更早的改动
		verdict allow`},
	{"a project inside that the agent makes", `
		prompt
		$ git init -q sub; cd sub; echo 1 >one; git add .; git commit -qm x
		enter sub
		ok
		shown
		tells 内层的仓库，没有看：sub/
		verdict allow`},
	{"before the first commit", `
		cd ../fresh
		! git init -q; echo u >mine
		prompt
		$ echo 1 >one
		ok
		shown A one
		! git add one; git commit -qm x
		verdict allow`},
	{"sent back before the first commit, and the branch is renamed", `
		cd ../fresh
		! git init -q -b master
		prompt
		$ echo 1 >one
		no
		! git add .; git commit -qm x; git branch -M main
		in other
		prompt
		ok
		shown A one
		verdict allow`},
	{"a branch without a commit", `
		prompt
		$ git checkout -q --orphan alone; git rm -qrf .; echo 1 >new
		ok
		shown D .gitignore, D a, D b, D c, A new
		verdict allow`},
	{"no common commit", `
		prompt
		$ git checkout -q --orphan alone; echo 1 >new; git add new; git commit -qm x
		ok
		shown A new
		verdict allow`},
	{"pulled in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; THEIRS; git pull -q --rebase origin main
		ok
		shown M a, M b
		tells 与远程主分支上的内容相同
		verdict allow`},
	{"pushed in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		$ echo 2 >>b
		ok
		shown M a, M b
		verdict allow`},
	{"several remotes, of which one gets it", `
		! git init -q --bare ../fork; git remote add fork ../fork; git push -q fork main
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; git push -q fork topic
		ok
		shown M a
		! echo 1 >>b; git commit -qam y
		verdict changed b`},
	{"fetched, and not merged", `
		prompt
		$ echo 1 >>a; git commit -qam x
		$ THEIRS; git fetch -q
		ok
		shown M a
		verdict allow`},
	{"pulled before the session", `
		! THEIRS; git pull -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"a merge whose conflict the agent resolves", `
		! THEIRS
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		ok
		shown M a, M b
		verdict allow`},
	{"a merge under way", `
		! cd ..; git clone -q remote other; cd other; echo y >>a; echo y >>b; git commit -qam y; git push -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >a; git add a
		ok
		shown M a, M b
		! git commit -qm merged
		verdict allow`},
	{"a conflict that nobody has resolved", `
		! THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :
		no
		shown M b
		prompt
		$ echo both >b; git commit -qam merged
		ok
		shown M b
		verdict allow`},
	{"a conflict that the user resolves", `
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x
		ok
		shown M a, M b
		! THEIRS; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		verdict changed b
		review
		shown M b
		verdict allow`},
	{"a merge under way behind the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git fetch -q; git merge -q --no-commit --no-ff origin/main
		verdict allow`},
	{"a rebase under way", `
		! THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git rebase -q origin/main || :; echo both >b
		ok
		shown M b
		! git add b; GIT_EDITOR=: git rebase --continue
		verdict allow`},
	{"several merge bases", `
		! git checkout -qb side; echo s >>b; git commit -qam s; git checkout -q main; echo m >>c; git commit -qam m
		! git branch m0; git merge -q --no-edit side; git checkout -q side; git merge -q --no-edit m0; git push -q origin side; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"a shallow clone", `
		! echo 2 >>a; git commit -qam two; git push -q origin main; git clone -q --depth 1 file://$PWD/../remote ../shallow
		cd ../shallow
		prompt
		$ echo 1 >>b; git commit -qam x
		ok
		shown M b
		verdict allow`},
	{"stashed, and popped", `
		prompt
		$ echo 1 >>a; git stash -q; git stash pop -q
		ok
		shown M a
		! git stash -q
		verdict changed a
		! git stash pop -q; git commit -qam x
		verdict allow`},
	{"stashed at the stop", `
		prompt
		$ echo 1 >>a; git stash -q; echo 1 >>b
		ok
		shown M b
		! git stash pop -q; git commit -qam x
		verdict changed a`},
	{"stashed by the user before, popped by the agent", `
		! echo u >>b; git stash -q
		prompt
		$ git stash pop -q; echo 1 >>a
		ok
		shown M a, M b`},
	{"the user's dirty files are stashed and popped by the agent", `
		! echo u >>b
		prompt
		$ git stash -q; echo 1 >>a; git commit -qam x; git stash pop -q
		ok
		shown M a
		verdict allow`},
	{"dirty files that the agent changes further", `
		! echo u >>a; echo u >>b
		prompt
		$ echo 1 >>a
		ok
		shown M a
		tells +1
		! git commit -qm x a
		verdict allow`},
	{"dirty files that the agent throws away", `
		! echo u >>a; rm b; echo u >mine
		prompt
		$ git checkout -q .; rm mine
		ok
		shown M a, A b, D mine
		verdict allow`},
	{"the agent stashes the user's work, and leaves it there", `
		! echo u >>a; echo u >mine
		prompt
		$ git stash -q -u; echo 1 >>b
		ok
		shown M a, M b, D mine`},
	{"approved work that the agent throws away", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ git checkout -q .
		verdict changed a
		ok
		shown M a`},
	{"a file that is ignored by now", `
		! echo u >mine
		prompt
		$ echo mine >>.gitignore
		ok
		shown M .gitignore
		verdict allow`},
	{"ignored files", `
		prompt
		$ echo 1 >x.log; echo 1 >>a
		ok
		shown M a
		! echo 2 >x.log
		verdict allow
		! git add -f x.log; git commit -qam x
		verdict changed x.log`},
	{"the agent adds an ignored file by force", `
		prompt
		$ echo 1 >x.log; git add -f x.log
		ok
		shown A x.log
		! git commit -qm x
		verdict allow`},
	{"a file that git knows and ignores", `
		! echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt
		$ echo 2 >>x.log
		ok
		shown M x.log`},
	{"no longer tracked, and kept", `
		prompt
		$ git rm -q --cached a; echo a >>.gitignore
		ok
		shown M .gitignore, D a
		! git add .gitignore; git commit -qm x
		verdict allow`},
	{"no longer tracked by a commit, and kept", `
		! echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt
		$ git rm -q --cached x.log; git commit -qm y
		ok
		shown D x.log
		verdict allow
		! git add -f x.log; git commit -qm again
		review
		! git rm -q --cached x.log; git commit -qm y
		verdict changed x.log`},
	{"3,000 files that are ignored by now", `
		! mkdir n; cd n; seq 3000 | xargs touch
		prompt
		$ echo n >>.gitignore; echo 1 >>a
		ok
		shown M .gitignore, M a
		verdict allow`},
	{"intent to add", `
		! echo u >mine; git add -N mine
		prompt
		$ echo 1 >one; git add -N one
		ok
		shown A one
		! git add one; git commit -qm x one
		verdict allow`},
	{"a file that changes while the review runs", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		begin
		$ echo 2 >>a
		ok
		shown M a, M b
		verdict changed a
		prompt
		ok
		shown M a`},
	{"deleted, renamed, made executable, linked", `
		prompt
		$ rm a; git mv b b2; chmod +x c; ln -s c link
		ok
		shown D a, D b, A b2, M c, A link
		! git add -A; git commit -qm x
		verdict allow
		! chmod -x c; git commit -qam y
		verdict changed c`},
	{"a link in the place of a file, a file in that of a directory", `
		! mkdir d; echo 1 >d/x; git add d; git commit -qm d; git push -q origin main
		prompt
		$ rm a; ln -s b a; rm -r d; echo 1 >d
		ok
		shown T a, A d, D d/x
		! git add -A; git commit -qm x
		verdict allow`},
	{"a name that differs by its case, names that git quotes, and some that are no UTF-8", `
		prompt
		$ git mv a A; echo 1 >"é b"; printf 1 >"$(printf 'x\377y')"; echo 1 >'q"t'
		ok
		! git add .; git commit -qm x
		verdict allow
		! echo 2 >"é b"
		verdict changed é b`},
	{"names like options, with line breaks and globs", `
		prompt
		$ echo 1 >./-x; echo 1 >"$(printf 'a\nb')"; echo 1 >'*'; echo 1 >:x; mkdir 'd '; echo 1 >'d /y'
		ok
		! git add -A; git commit -qm x
		verdict allow`},
	{"line ends that git changes", `
		! git config core.autocrlf true; printf 'x\r\ny\r\n' >w; git add w; git commit -qm w; git push -q origin main; rm w; git checkout -q w
		prompt
		$ printf '1\r\n2\r\n' >n; printf 'x\r\nz\r\n' >w
		ok
		shown A n, M w
		! git add .; git commit -qm x
		verdict allow`},
	{"attributes that change the content", `
		prompt
		$ echo '*.txt text eol=crlf' >.gitattributes; printf '1\n' >n.txt; git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >>.gitattributes; echo x >x.up
		ok
		shown A .gitattributes, A n.txt, A x.up
		! git add .; git commit -qm x
		verdict allow`},
	{"a file outside a sparse checkout's cone", `
		! mkdir in out; echo i >in/i; echo o >out/o; git add .; git commit -qm dirs; git push -q origin main; git sparse-checkout set in
		prompt
		$ mkdir -p out; echo 1 >out/o; echo 1 >out/n
		ok
		shown A out/n, M out/o
		verdict allow`},
	{"a worktree", `
		! git worktree add -q ../side
		cd ../side
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow
		cd ../work
		verdict none`},
	{"the agent makes a worktree, and enters it", `
		! echo u >>b
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown M a
		tells 其中可能有更早的改动
		! cd ../side; git commit -qam x
		verdict allow`},
	{"the agent enters a worktree of the user's", `
		! git worktree add -q ../side; echo u >>../side/c
		prompt
		$ echo 1 >>../side/a
		enter ../side
		ok
		shown M a, M c`},
	{"the agent comes back from a worktree in which it was approved", `
		! echo u >>c
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown M a
		prompt
		enter .
		$ echo 1 >>b
		ok
		shown M b`},
	{"two sessions in two worktrees", `
		! git worktree add -q ../side
		prompt
		$ echo 1 >>a
		no
		cd ../side
		in other
		prompt
		$ echo 1 >>a
		ok
		shown M a
		verdict allow
		cd ../work
		verdict block`},
	{"two sessions in one working tree", `
		prompt
		$ echo 1 >>a
		in other
		prompt
		$ echo 1 >>b
		ok
		shown M a, M b
		tells 另一个会话的改动，还没有通过（会话 one，
		tells 它最新的要求：do it
		in one
		no
		shown M a, M b
		verdict block`},
	{"another clone has its own reviews", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git clone -q . ../second
		cd ../second
		verdict none`},
	{"a repository inside", `
		prompt
		$ git init -q inner; cd inner; echo i >i; git add .; git commit -qm i; cd ..; echo 1 >>a
		ok
		shown M a
		tells 内层的仓库，没有看：inner/
		! git commit -qam x
		verdict allow`},
	{"a repository inside whose name git quotes", `
		prompt
		$ git init -q 内层; git -C 内层 commit -q --allow-empty -m i; echo 1 >>a
		ok
		shown M a
		tells 内层的仓库，没有看：内层/`},
	{"a submodule, of which one is moved, and one has changes of its own", `
		! LIB; git submodule --quiet add ../lib two; git commit -qam two; git push -q origin main
		prompt
		$ cd lib; echo 2 >>l; git commit -qam two; cd ..; echo 3 >>two/l
		ok
		shown M lib
		tells 子模块里有没提交的改动：two
		! git commit -qam x
		verdict allow`},
	{"a submodule is removed", `
		! LIB
		prompt
		$ git rm -q lib
		ok
		shown M .gitmodules, D lib
		! git commit -qm x
		verdict allow`},
	{"by hand, a line of the user's own", `
		prompt
		$ echo 1 >>a
		ok
		! echo changelog >>b; git commit -qam x
		verdict changed b
		review
		shown M b
		tells 这次审查是用户自己发起的
		verdict allow`},
	{"by hand, a session that nobody supervised", `
		cd ../fresh
		unseen
		$ git init -q; echo 1 >one; git add .; git commit -qm x
		review
		shown A one
		verdict allow`},
	{"refused by hand", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		rejects
		shown
		verdict block`},
	{"pushed, and reverted", `
		prompt
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		ok
		shown M a
		! git revert --no-edit HEAD
		verdict changed a`},
	{"the agent reverts what a remote has", `
		! echo 1 >>a; git commit -qam x; git push -q origin main
		prompt
		$ git revert --no-edit HEAD
		ok
		shown M a
		verdict allow`},
	{"another branch is checked out after the approval", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git checkout -q main
		verdict changed a`},
	{"switched branches in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! git checkout -qb topic HEAD~1
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"a commit is picked after the approval", `
		! git checkout -qb side; echo s >>c; git commit -qam s; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git cherry-pick side
		verdict changed c`},
	{"a commit of the agent's is picked onto another branch", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git checkout -qb release origin/main; git cherry-pick main
		verdict allow`},
	{"commit -a takes the user's dirty file along", `
		! echo u >>b
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"renamed after the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git mv a a3; git commit -qm y
		verdict changed a、a3`},
	{"no branch is checked out", `
		! git checkout -q --detach
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git tag v1; echo 2 >>a; git commit -qam y
		verdict changed a
		! git checkout -q v1
		verdict allow`},
	{"at the limit", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		$ echo 2 >>a; git commit -qam y
		limited
		verdict limit
		prompt
		ok
		shown M a`},
	{"a review that failed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		failed
		verdict failed
		prompt
		ok
		shown M a
		prompt
		failed
		verdict allow
		! echo 2 >>a
		verdict failed`},
	{"refused, and then failed", `
		prompt
		$ echo 1 >>a
		ok
		no
		failed
		verdict block 还没有通过`},
	{"an approved question in mid-work is no approval of the work", `
		prompt
		$ echo 1 >>a; git commit -qam x
		asked
		verdict none
		ok
		shown M a
		verdict allow`},
	{"2,001 paths", `
		prompt
		$ seq -f f%g 2001 | xargs touch; echo 1 >>a
		ok
		verdict allow
		! rm f7
		verdict changed f7
		! touch f7; mkdir .git/info; echo f >.git/info/exclude; git commit -qam x
		verdict allow
		prompt
		$ echo 1 >>b
		ok
		shown M b`},
	{"the commit of an approval is gone", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! git commit -q --amend -m better; git reflog expire --expire=all --all; git gc -q --prune=now
		verdict allow
		prompt
		$ echo 2 >>b
		ok
		shown M b
		silent 还没有`},
}

// A player plays a way with ccc itself: the hook gets events, and a scripted reviewer answers.
type player struct {
	*sandbox
	project, here string // where the session was started, where the agent is
	session       string
	entries       map[string]int // of the session's transcript
	reviewers     int            // calls of the reviewer
	running       *exec.Cmd      // the hook of a review that has begun
	request       string         // what the reviewer was asked last
	reason        string         // what ccc verdict said last
}

// hook is what answers the event in the session.
func (p *player) hookOf(event string) *exec.Cmd {
	cmd := p.command("ccc", "supervisor-hook")
	cmd.Dir, cmd.Stdin = p.here, strings.NewReader(event)
	cmd.Env = append(cmd.Env, "CLAUDE_PROJECT_DIR="+p.project, "CCC_SUPERVISOR=1")
	return cmd
}

// outside runs ccc in dir, in no session.
func (p *player) outside(dir string, args ...string) commandResult {
	cmd := p.command(append([]string{"ccc"}, args...)...)
	cmd.Dir = dir
	return p.finish(cmd, 60*time.Second)
}

// transcript is the path of the session's.
func (p *player) transcript() string {
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(p.project, "-")
	return filepath.Join(p.home, ".claude/projects", folder, p.session+".jsonl")
}

// tell adds an entry of the user's or the agent's to the transcript.
func (p *player) tell(role, words string) {
	p.t.Helper()
	parent := "null"
	if n := p.entries[p.session]; n > 0 {
		parent = fmt.Sprintf("%q", fmt.Sprint("e", n))
	}
	p.entries[p.session]++
	line := fmt.Sprintf(`{"parentUuid":%s,"type":%q,"uuid":"e%d","timestamp":%q,"cwd":%q,"sessionId":%q,"version":"2.1.332",`+
		`"promptSource":"typed","message":{"role":%q,"model":"m-1","content":[{"type":"text","text":%q}]}}`+"\n",
		parent, role, p.entries[p.session], time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), p.here, p.session, role, words)
	check(p.t, errors.Join(os.MkdirAll(filepath.Dir(p.transcript()), 0o700), appendFile(p.transcript(), []byte(line))))
}

// event is one of Claude Code's in the session.
func (p *player) event(name, members string) string {
	return fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":%q,"transcript_path":%q,%s}`,
		p.session, p.here, name, p.transcript(), members)
}

const wayStop = `"last_assistant_message":"Done."`

// review has the stop, or another event, reviewed by such a reviewer.
func (p *player) review(as fakeReview, event string) {
	p.t.Helper()
	p.reviews(as)
	switch {
	case p.running != nil:
		p.write("../fake/go", 0o600, "")
		check(p.t, p.running.Wait())
		check(p.t, os.Remove(filepath.Join(p.home, "../fake/go")))
		p.running = nil
	case event == "":
		p.outside(p.here, "review", p.session)
	default:
		p.tell("assistant", "Done.")
		p.finish(p.hookOf(event), 60*time.Second)
	}
	if asked := p.read(fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers+1)); asked != "" {
		p.reviewers++
		p.request = asked
	}
}

// shown lists the paths of the change in the last request behind their letters, by name.
func (p *player) shown() string {
	_, change, _ := strings.Cut(p.request, say(sectionChanges, ""))
	change, _, _ = strings.Cut(change, "\n## ")
	var list []string
	for _, found := range regexp.MustCompile(`(?m)^([AMDT]) (.*)$`).FindAllStringSubmatch(change, -1) {
		list = append(list, found[2]+" "+found[1])
	}
	slices.Sort(list)
	for i, line := range list {
		cut := strings.LastIndex(line, " ")
		list[i] = line[cut+1:] + " " + line[:cut]
	}
	return strings.Join(list, ", ")
}

func TestWaysOfWorking(t *testing.T) {
	first := newSandbox(t, fakeClaude())
	first.gitIn(first.work, wayPrelude)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			box := newFakeBox(t)
			check(t, os.RemoveAll(box.work))
			for _, name := range []string{"work", "remote"} {
				check(t, os.CopyFS(filepath.Join(box.home, "..", name), os.DirFS(filepath.Join(first.home, "..", name))))
			}
			p := &player{sandbox: box, session: "one", project: box.work, here: box.work, entries: map[string]int{}}
			steps := strings.NewReplacer("THEIRS", theirs, "LIB", lib).Replace(w.steps)
			for _, line := range strings.Split(strings.TrimSpace(steps), "\n") {
				p.play(strings.TrimSpace(line))
			}
		})
	}
}

func (p *player) play(line string) {
	t := p.t
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "$":
		p.gitIn(p.project, rest)
		p.tell("assistant", "I have done that.")
	case "!":
		p.gitIn(p.project, rest)
	case "prompt":
		p.finish(p.hookOf(p.event(eventPrompt, `"prompt":"do it"`)), 60*time.Second)
		p.tell("user", "do it")
	case "unseen":
		p.tell("user", "do it")
	case "in":
		p.session = rest
	case "cd":
		p.project = filepath.Join(p.project, rest)
		check(t, os.MkdirAll(p.project, 0o700))
		p.here = p.project
	case "enter":
		p.here = filepath.Join(p.project, rest)
	case "begin":
		p.reviews(fakeReview{runs(`until [ -f "$FAKE_CLAUDE_DIR/go" ]; do sleep 0.02; done; play review`)})
		check(t, os.Rename(filepath.Join(p.home, "../fake/review"), filepath.Join(p.home, fmt.Sprintf("../fake/review-%d", p.reviewers+1))))
		p.tell("assistant", "Done.")
		p.running = p.hookOf(p.event(eventStop, wayStop))
		check(t, p.running.Start())
		for deadline := time.Now().Add(20 * time.Second); p.read(fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers+1)) == ""; {
			if time.Sleep(5 * time.Millisecond); time.Now().After(deadline) {
				t.Fatal("no review begins")
			}
		}
	case "esc":
		check(t, errors.Join(p.running.Process.Signal(syscall.SIGTERM), p.running.Wait()))
		p.reviewers, p.running = p.reviewers+1, nil
	case "ok":
		p.review(allows(""), p.event(eventStop, wayStop))
	case "no":
		p.review(blocks("not yet"), p.event(eventStop, wayStop))
	case "failed":
		p.review(fails("overloaded"), p.event(eventStop, wayStop))
	case "review":
		p.review(allows(""), "")
	case "rejects":
		p.review(blocks("not yet"), "")
	case "asked":
		p.review(allows(""), p.event(eventPreToolUse, `"tool_name":"AskUserQuestion","tool_input":{"questions":[]}`))
	case "limited":
		p.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		p.review(allows(""), p.event(eventStop, wayStop))
		check(t, os.Remove(filepath.Join(p.home, ".claude/ccc.json")))
	case "shown":
		expectIs(t, "shown", p.shown(), rest)
	case "tells":
		expectIn(t, "the request", p.request, rest)
	case "verdict":
		wanted, part, _ := strings.Cut(rest, " ")
		got := p.outside(workingTree(p.project, p.here), "verdict")
		p.reason = got.stderr
		code := map[string]int{"allow": 0, "block": 1, "failed": 1, "limit": 1}
		if wants, is := code[wanted]; strings.TrimSpace(got.stdout) != wanted || !strings.Contains(p.reason, part) || p.reason == "" ||
			is && got.code != wants || !is && got.code != 3 {
			t.Errorf("the verdict is %s (%d): %s; want %s", got.stdout, got.code, p.reason, rest)
		}
	case "silent":
		expectNotIn(t, "the reason", p.reason, rest)
	default:
		t.Fatalf("what is %q?", line)
	}
}
