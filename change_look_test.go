package main

// One look at a working tree: what is in it, what is left out, and what it leaves behind.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// placeIn is a working tree of the sandbox's with its record.
func (box *sandbox) placeIn(dir string) place {
	check(box.t, box.stateDir().create())
	return box.stateDir().place(dir, dir, append(slices.Clone(box.vars), "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere"))
}

// lookIn is a look there that has its time, with what it leaves out.
func (box *sandbox) lookIn(dir string) (look, map[words][]string) {
	l, o := box.placeIn(dir).look(context.Background(), time.Minute, true)
	o.end()
	return l, o.leftOut
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
		"intent to add":      begin + "echo n >n; git add -N n",
		"SHA-256":            strings.Replace(begin, "init -q", "init -q --object-format=sha256", 1) + "echo more >>a; echo n >n",
		"hooks, a monitor":   begin + "mkdir .git/hooks; printf '#!/bin/sh\ntouch ../ran' >.git/hooks/post-index-change; chmod +x .git/hooks/*; git config core.fsmonitor .git/hooks/post-index-change; echo n >n",
		"odd \"name\\: é":    begin + "echo more >>a",
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
	_, err := p.beginOf(context.Background(), session, "", true)
	check(t, err)
	change := func() string {
		c := p.takeChange(context.Background(), session, "", false)
		return fmt.Sprint(strings.Join(c.listedPaths(), ", "), c.Unseen, " may be older: ", c.isOlder)
	}
	for _, where := range []string{"there", "gone"} {
		box.gitIn(dir, "echo "+where+" >>a; echo n >n")
		expectIs(t, "the change, the remote "+where, change(), "M a, A n may be older: false")
		box.gitIn(dir, "git rm -q --cached --sparse x") // whose content nobody here has
		expectIs(t, "without that, the remote "+where, change(), "A a, A n may be older: true")
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
		l, o := box.placeIn(dir).look(context.Background(), patience, true)
		o.end()
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
	expectIs(t, "how long a prompt waits", promptLookPatience, time.Second)
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
	with, o := inside.place(box.work, box.work, box.vars).look(context.Background(), time.Minute, true)
	o.end()
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
	info, err := os.Stat(p.objects())
	check(t, err)
	expectIs(t, "the mode", info.Mode().Perm(), 0o700)
	_, err = p.beginOf(context.Background(), session, "", true)
	check(t, err)
	box.gitIn(box.work, "git gc -q --prune=now")
	change := func() string {
		c := p.takeChange(context.Background(), session, "", false)
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
		return box.placeIn(dir).older(state, at).Commit
	}
	id := func(revision string) string { return box.gitIn(dir, "git rev-parse "+revision) }
	for began, want := range map[string]string{"": "", "2026-01-01T00:00:00.000Z": "", "2026-02-01T00:00:01.000Z": id("HEAD~2"),
		"2026-02-02T00:00:00.500Z": id("HEAD~2"), "2026-02-02T10:00:00.000Z": id("HEAD~1"), "2026-03-01T00:00:00Z": id("HEAD")} {
		expectIs(t, "began "+began, commit(sessionState{}, began), want)
	}
	elsewhere := sessionState{Begins: map[string]sessionBegin{"x": {begin: begin{Commit: id("HEAD~1"), Time: now()}}}}
	expectIs(t, "since another working tree's commit", commit(elsewhere, ""), id("HEAD~1"))
	box.gitIn(dir, "git checkout -q HEAD~2; git reflog expire --expire=all --all")
	expectIs(t, "with an older commit checked out", commit(elsewhere, "2026-02-02T10:00:00Z"), id("HEAD"))
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
	expectPrefix(t, "the list behind that of its own paths", strings.TrimSpace(lists), say(changesMain)+"\n\n```\nA a-main\n```")
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
