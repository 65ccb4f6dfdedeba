package main

// One look at a working tree: what is in it, what is left out, and what it leaves behind; and what of a
// change is shown.

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The request shows 12,000 characters of the diff: small files first, whole, and those as on the remote's
// main branch last. What is not shown whole is named with its size. What is shown of a file is what it
// holds, without the lines that repeat its name.
func TestChangeShown(t *testing.T) {
	changeOf := func(prelude, script string) judgedChange {
		box := newFakeBox(t)
		box.gitIn(box.work, prelude)
		p, session := box.placeIn(box.work), box.stateDir().session("s")
		check(t, p.beginAtPrompt(session, ""))
		box.gitIn(box.work, script)
		return p.takeChange(t.Context(), session, "", occasionNamed(eventStop))
	}
	c := changeOf("git init -q; for f in a b c; do echo $f >$f; done; git add .; git commit -qm x",
		`cp b kept; echo >>b; git commit -qm y b; git update-ref refs/remotes/origin/HEAD @; seq 5000 >all; `+
			`seq 1000 >half; rm a kept; ln -s c a; echo '-- é' >"é"; echo '++ c' >>c; printf '\0' >z`)
	var order []string
	for _, found := range regexp.MustCompile("(?m)^diff .* b/(.*)$").FindAllStringSubmatch(c.shown, -1) {
		order = append(order, found[1])
	}
	expectIs(t, "the order", strings.Join(order, " "), "c é z a a half all")
	expectIn(t, "what is shown", c.shown, "diff --git a/c b/c\n@@ -1 +1,2 @@\n c\n+++ c\n",
		"new file mode 100644\n@@ -0,0 +1 @@\n+-- é\n", "\n+1000\n",
		"deleted file mode 100644\n@@ -1 +0,0 @@\n-a\n",
		"new file mode 120000\n@@ -0,0 +1 @@\n+c\n")
	expectIs(t, "how much", utf8.RuneCountInString(c.shown), diffLimit)
	expectIs(t, "what is not shown whole", c.rest, "all (+5000 -0)、b (+1 -0)")
	c = changeOf("git init -q", `for i in $(seq 600); do printf '%080d\n' $i | tr 0 '\200'; done >b`)
	expectIs(t, "a file in another encoding, as long as it is", c.rest, "b (+600 -0)")
}

// placeIn is a working tree of the sandbox's with its record.
func (box *sandbox) placeIn(dir string) place {
	check(box.t, box.stateDir().create())
	env := append(slices.Clone(box.vars), "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere")
	return box.stateDir().place(dir, dir, env)
}

// lookIn is a look there that has its time, with what it leaves out.
func (box *sandbox) lookIn(dir string) (look, map[words][]string) {
	return lookAt(box.t, box.placeIn(dir), time.Minute)
}

// lookAt is a look that has so much time, with what it leaves out.
func lookAt(t *testing.T, p place, patience time.Duration) (look, map[words][]string) {
	p, end := p.within(t.Context(), patience)
	defer end()
	o := p.look()
	defer o.end()
	if err := o.nameUnread(); err != nil && o.seen.Unseen == "" {
		o.seen.Unseen = err.Error()
	}
	return o.seen, o.leftOut
}

// A look is the tree that `git add -A` would write, and nothing in the repository changes.
func TestLook(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo ignored >.gitignore; echo a >a; echo b >b; git add .; git commit -qm x; "
	const withSubmodule = "git init -q sub; cd sub; " + begin +
		"cd ..; git init -q; git submodule --quiet add ./sub sub2; git commit -qm s; "
	const hook = ".git/hooks/post-index-change"
	times := func(path string, info fs.FileInfo) string {
		if strings.Contains(path, "/objects/") || strings.Contains(path, "/sharedindex") {
			return "" // git notes on them that they are still in use
		}
		return info.ModTime().String()
	}
	for name, script := range map[string]string{
		"clean": begin,
		"all kinds": begin + "echo more >>a; rm b; echo new >'n\"e w'; echo x >ignored; echo staged >s; " +
			"git add s; ln -s a link; mkdir empty; chmod +x .gitignore; " +
			"printf 1 >\"$(printf 'a\\nb\\377')\"; echo é >é",
		"unborn":    "git init -q; echo a >a",
		"same size": begin + "printf 'c\n' >a",
		"split":     begin + "git update-index --split-index; echo c >c; git add c; echo d >d",
		"conflict": begin + "git checkout -qb other; echo o >a; git rm -q b; git commit -qam o; " +
			"git checkout -q main; echo m >a; echo m >b; git commit -qam m; git merge other || :; rm -f b",
		"submodule": withSubmodule + "rm -rf sub; git config submodule.sub2.ignore all; cd sub2; " +
			"echo c >c; git add c; git commit -qm c",
		"locked":             begin + "echo more >>a; touch .git/index.lock",
		"file and directory": begin + "rm a; mkdir a; echo x >a/x",
		"filter": "git init -q; git config filter.l.clean 'wc -c'; echo '*.bin filter=l' >.gitattributes; " +
			"echo 12345 >a.bin",
		"git-lfs keeps a copy": begin + "git config filter.lfs.clean " +
			"'d=$(git config lfs.storage || echo .git/lfs); mkdir -p $d; tee $d/x | wc -c'; " +
			"echo 'a filter=lfs' >.gitattributes; echo more >>a",
		"SHA-256": strings.Replace(begin, "init", "init --object-format=sha256", 1) + "echo m >>a; echo n >n",
		"hooks, a monitor": begin + "mkdir .git/hooks; printf '#!/bin/sh\ntouch ../ran' >" + hook +
			"; chmod +x " + hook + "; git config core.fsmonitor " + hook + "; echo n >n",
		"odd \"name\\: é": begin + "echo more >>a",
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, script)
		want := box.gitIn(box.work, fmt.Sprintf("cp -a '%s' copy; cd copy; rm -rf .git/*.lock .git/hooks; "+
			"git config --unset core.fsmonitor || :; git add -A; git write-tree; cd ..; rm -rf copy", name))
		head := box.gitIn(dir, "git rev-parse -q --verify HEAD || :")
		before := snapshotOf(dir, times)
		l, left := box.lookIn(dir)
		expectIs(t, name+": why it is not known", l.Unseen, "")
		expectIs(t, name+": the tree", l.Tree, want)
		expectIs(t, name+": HEAD", l.Commit+" "+l.Branch, head+" refs/heads/main")
		expectIs(t, name+": what is left out", len(left), 0)
		expectEqual(t, name+": what is there", snapshotOf(dir, times), before)
	}
	expectIs(t, "a hook of the user's has run", isThere(filepath.Join(box.work, "ran")), false)
}

// What an ordinary user's git can't read is left out, and named in the request: a file that it tracks, and
// one that it does not.
func TestLookUnread(t *testing.T) {
	onlyRoot(t) // who can be another user
	box := newHookBox(t)
	box.inSession()
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	box.ordinary()
	box.submit("do it")
	box.run(20*time.Second, "", "sh", "-c", "echo b >>a; echo b >>notes.txt; echo n >new; mkdir deep; "+
		"touch deep/closed; chmod 0 notes.txt deep/closed")
	box.reviews(allows(""))
	box.stop("")
	request := box.read("../fake/reviewer-1.stdin")
	expectIn(t, "the request", request, "```\nM a\nA new\n```\n", say(changesUnread, "deep/closed、notes.txt"))
	expectNotIn(t, "the request", request, " notes.txt\n", " deep/closed\n")
	expectEnd(t, "the verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "没有改动")
}

// If git can't tell, or there is too much that git does not track, there is no look, and the reason is told
// on a line, in time.
func TestLookFails(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	const slow = "a filter that is slow"
	const filter = "echo '* filter=f' >.gitattributes; echo b >b; git config filter.f."
	for name, c := range map[string]struct{ script, want string }{
		slow:                     {begin + filter + "clean 'sleep 60; cat'", say(gitTooSlow, 2*time.Second)},
		"a filter that fails":    {begin + filter + "clean false; git config filter.f.required 1", "fatal"},
		"a broken HEAD":          {begin + "echo broken >.git/HEAD", "not a git repository"},
		"over 100 MB":            {begin + "head -c 110M /dev/zero | split -b 10M", ".gitignore"},
		"as much as may be":      {begin + "mkdir n; cd n; seq 10000 | xargs touch; truncate -s 101M l", ""},
		"what is ignored is not": {begin + "echo n >.gitignore; mkdir n; cd n; seq 10001 | xargs touch", ""},
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, c.script)
		start, patience := time.Now(), time.Minute // however slow this machine is
		if name == slow {
			patience = 2 * time.Second
		}
		l, _ := lookAt(t, box.placeIn(dir), patience)
		expectIn(t, name+": the reason", l.Unseen, c.want)
		expectIs(t, name+": there is a reason", l.Unseen != "", c.want != "")
		expectIs(t, name+": there is a tree", l.Tree != "", c.want == "")
		expectIs(t, name+": lines after the reason's first", strings.Count(l.Unseen, "\n"), 0)
		expectIs(t, name+": in time", patience == time.Minute || time.Since(start) < 15*time.Second, true)
		left, _ := filepath.Glob(filepath.Join(box.placeIn(dir).objects(), "look-*"))
		expectIs(t, name+": what is left", strings.Join(left, " "), "")
	}
}
