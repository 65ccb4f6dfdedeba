package main

// The change that a review judges is what differs between two trees: the working tree as it was where the
// change begins, and as it is now. This file also writes it as the reviewer reads it, in fences that nothing
// in it can end. Nothing is written into the repository.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A look leaves out untracked files of more than largeFile bytes. If there are more than untrackedFiles
// other untracked files, or more than untrackedBytes in them, there is no look.
const largeFile, untrackedFiles, untrackedBytes = 10 << 20, 10_000, 100 << 20

// A treeReader takes a look at a working tree, and compares it with other trees. Its git has an index of its
// own, and writes to the objects that ccc keeps of the working tree.
type treeReader struct {
	gitRunner
	seen      look // what it has seen
	untracked []string
	isPartial bool               // git could not read a file
	leftOut   map[words][]string // by what is said of them
	end       func()             // must be called
}

// look takes a look at the working tree. It removes what killed looks have left with the objects.
func (p place) look() *treeReader {
	o := &treeReader{gitRunner: gitIn(p.ctx, p.worktree, p.env), leftOut: map[words][]string{}}
	o.seen = look{worktree: p.worktree, begin: begin{Branch: p.branch(), Time: now()}}
	if p.Repository == "" {
		o.end = func() {}
		return o
	}
	o.seen.Commit, _ = o.output("rev-parse", "-q", "--verify", "HEAD")
	if state := resolved(string(p.dir)); inside(state, p.Top) && state != p.Top {
		own, _ := filepath.Rel(p.Top, state)
		o.scope = []string{"--", ":(top)", ":(top,exclude,literal)" + own}
	}
	_ = makeOwn(p.objects())
	p.sweepObjects()
	dir, err := os.MkdirTemp(p.objects(), lookPrefix)
	o.end = func() { _ = os.RemoveAll(dir) }
	index := filepath.Join(dir, "index")
	o.env = append(o.env, "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+p.objects(),
		alternatesVariable+"="+alternate(filepath.Join(p.Repository, "objects")))
	o.flags = []string{"-c", "lfs.storage=" + dir} // else git-lfs keeps each look's files in the repository
	if err == nil {
		err = copyIndex(filepath.Join(p.gitDir(), "index"), index)
	}
	if err == nil {
		err = o.stage()
	}
	if err == nil {
		o.seen.Check, err = o.keepCheck()
	}
	if err == nil {
		o.seen.Tree, err = o.output("write-tree", "--missing-ok")
	}
	if err != nil {
		o.seen.Unseen = oneLine(err.Error())
	}
	return o
}

// stage adds to the index what `git add -A` would, but for what a look leaves out. It takes two steps, so
// that what git does not track is listed once.
func (o *treeReader) stage() error {
	add := []string{"add", "-u", "--sparse", "--ignore-errors"}
	err := o.run("", io.Discard, append(add, o.scope...)...)
	o.isPartial = exitCode(err) == 1 // if it can't be run, neither can the next
	if err != nil && !o.isPartial {
		return err
	}
	others, err := o.lines(slices.Concat([]string{"ls-files", "--others", "--exclude-standard"}, o.scope)...)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, name := range others {
		path := filepath.Join(o.worktree.Top, unquoted(name))
		info, err := os.Lstat(path)
		switch {
		case err != nil: // gone meanwhile
		case info.IsDir():
			o.leaveOut(changesNested, name)
		case info.Size() > largeFile:
			o.leaveOut(changesLarge, name)
		case info.Mode().IsRegular() && syscall.Access(path, mayRead) != nil:
			o.leaveOut(changesUnread, name)
		default:
			o.untracked = append(o.untracked, name)
			size += info.Size()
		}
		if len(o.untracked) > untrackedFiles {
			return errors.New(say(tooManyUntracked, grouped(untrackedFiles)))
		}
		if size > untrackedBytes {
			return errors.New(say(tooLargeUntracked, untrackedBytes>>20))
		}
	}
	if len(o.untracked) > 0 {
		add := []string{"update-index", "--add", "--remove", "--replace", "--stdin"}
		err = o.run(strings.Join(o.untracked, "\n")+"\n", io.Discard, add...)
	}
	return err
}

// nameUnread notes in which submodules there are changes, and which files git could not read.
func (o *treeReader) nameUnread() error {
	still := []string{"diff-files", "--raw", "--ignore-submodules=none"}
	lines, err := o.lines(append(still, o.scope...)...)
	for _, line := range lines {
		fields, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(fields, ":160000") {
			o.leaveOut(changesDirty, name)
		} else if o.isPartial {
			o.leaveOut(changesUnread, name)
		}
	}
	return err
}

func (o *treeReader) leaveOut(why words, path string) { o.leftOut[why] = append(o.leftOut[why], path) }

type judgedChange struct {
	seen    look               // the working tree now; Unseen is why the change is not known
	from    begin              // where it begins
	held    map[string]held    // how much is here of an open change, by its id
	base    string             // the tree or commit that is compared with
	isOlder bool               // no look shows what lay there: some of it may be older
	byHand  bool               // the user has asked for the review
	paths   []changedPath      // the old ones last
	others  []string           // of other sessions whose changes are in it, what is said of them
	leftOut map[words][]string // see treeReader
	below   []string           // outside git: the repositories in the directory
	shown   string             // its diff, as much of it as a request shows
	rest    string             // the paths that shown does not show whole
	check   string             // how the project's check was changed, "" if it was not
}

// compare fills in what differs from the tree where the change begins. If the objects of that tree are gone,
// compare takes the commit of the begin instead. If that fails, too, it takes an empty tree.
func (c *judgedChange) compare(o *treeReader) (err error) {
	for _, base := range []string{c.from.Tree, c.from.Commit, emptyTrees[len(c.seen.Tree)]} {
		if base == "" {
			continue
		}
		c.base = base
		c.isOlder = base != c.from.Tree
		if c.paths, err = o.changedPaths(base, c.from); err == nil {
			c.shown, c.rest, err = o.diff(base, c.paths)
		}
		if err == nil {
			break
		}
	}
	c.paths = slices.DeleteFunc(c.paths, func(p changedPath) bool { return p.letter == "" })
	slices.SortStableFunc(c.paths, func(a, b changedPath) int { return rank(a.isOld) - rank(b.isOld) })
	return err
}

func rank(isLast bool) int {
	if isLast {
		return 1
	}
	return 0
}

// changedPaths returns the paths in which the tree or commit from differs from what o has seen, in git's
// order. since is the begin to which from belongs. A deleted path that is still on disk, and neither in HEAD
// nor in the begin's commit, gets no letter: it is only ignored now, or the look leaves it out.
func (o *treeReader) changedPaths(from string, since begin) (paths []changedPath, err error) {
	paths, err = o.differing(from, o.seen.Tree)
	committed := sync.OnceValue(func() map[string]string { // and not in the look
		all := o.contents("HEAD", o.seen.Tree) // before the first commit this is empty
		maps.Copy(all, o.contents(since.Commit, o.seen.Tree))
		return all
	})
	isOld := o.oldIn(since, "refs/remotes/origin/HEAD")
	for i := range paths {
		path := &paths[i]
		_, gone := os.Lstat(filepath.Join(o.worktree.Top, unquoted(path.name)))
		if path.letter == "D" && gone == nil && committed()[path.name] == "" {
			path.letter = ""
		}
		path.isOld = isOld(path.name) && (path.letter != "D" || committed()[path.name] != "")
	}
	return paths, err
}

// oldIn returns a function that reports whether a path is now as in one of the others, or as in a commit from
// before the begin that is not the begin's own.
func (o *treeReader) oldIn(b begin, others ...string) (isOld func(name string) bool) {
	changed := sync.OnceValue(func() (all []map[string]string) {
		before := o.commitsBefore(b.Time, o.seen.Commit, o.seen.Branch)
		for _, other := range append(before, others...) {
			if other == b.Commit || other == "" {
				continue
			}
			if paths, err := o.differing(other, o.seen.Tree); err == nil {
				all = append(all, byName(paths))
			}
		}
		return all
	})
	return func(name string) bool {
		return slices.ContainsFunc(changed(), func(of map[string]string) bool { return of[name] == "" })
	}
}

// diffLimit is how many characters of the diff a request shows. fileLimit is how many bytes are held of one
// path's diff: more than a request could show. listLimit is how many paths a request lists.
const diffLimit, fileLimit, listLimit = 12_000, 4 * 12_000, 200

// diff returns the diff from a tree to what o has seen, which differ in paths, cut to diffLimit, and names
// the files that it does not show whole. Small files come first, so that most are shown whole, and the old
// ones last.
func (o *treeReader) diff(from string, paths []changedPath) (shown, rest string, err error) {
	type fileDiff struct {
		changedPath
		text           []byte
		added, removed int // lines
	}
	var files []fileDiff
	first := ""     // the file's first line
	isHead := false // before its first hunk
	add := func(line []byte) {
		begins := func(start string) bool { return bytes.HasPrefix(line, []byte(start)) }
		isHead = begins("diff --git ") || isHead && !begins("@@ ")
		if begins("diff --git ") && string(line) != first { // a file whose type has changed comes twice
			files = append(files, fileDiff{changedPath: paths[len(files)]})
			first = string(line)
		}
		f := &files[len(files)-1]
		switch {
		case isHead && (begins("index ") || begins("--- ") || begins("+++ ")): // they repeat the name
			return
		case begins("+"):
			f.added++
		case begins("-"):
			f.removed++
		}
		if len(f.text) < fileLimit {
			f.text = append(f.text, line[:min(len(line), fileLimit)]...)
		}
	}
	if len(paths) > 0 {
		trees := []string{from, o.seen.Tree}
		args := slices.Concat([]string{"-c", "core.quotePath=false"}, diffFlags, trees, o.scope)
		err = o.run("", &lineWriter{line: add}, args...)
	}
	var names []string
	if err != nil && o.ctx.Err() == nil { // a partial clone lacks what some of the files held
		for _, path := range paths[len(files):] {
			names = append(names, shownPath(path.name))
		}
		err = nil
	}
	slices.SortStableFunc(files, func(a, b fileDiff) int {
		return cmp.Or(rank(a.isOld)-rank(b.isOld), len(a.text)-len(b.text))
	})
	left := diffLimit
	for _, f := range files {
		if f.letter == "" {
			continue
		}
		text := []rune(strings.ToValidUTF8(string(f.text), "\uFFFD"))
		if len(text) > left || len(f.text) >= fileLimit {
			names = append(names, fmt.Sprintf("%s (+%d -%d)", shownPath(f.name), f.added, f.removed))
		}
		text = text[:min(len(text), left)]
		shown += string(text)
		left -= len(text)
	}
	return shown, clip(strings.Join(names, say(listComma)), 3000), err
}

// listedPaths returns the first paths of the change, each after its letter.
func (c judgedChange) listedPaths() (names []string) {
	for _, p := range c.paths[:min(listLimit, len(c.paths))] {
		names = append(names, p.letter+" "+unquoted(p.name))
	}
	return names
}

// isEmpty reports whether it is known that nothing has changed.
func (c judgedChange) isEmpty() bool {
	return c.seen.Repository != "" && c.seen.Unseen == "" && len(c.paths)+len(c.leftOut) == 0
}

// changeText is the change in words, "" if there is none to tell of.
func (c judgedChange) changeText() string {
	switch {
	case c.seen.Repository == "" && len(c.below) > 0:
		return say(changesBelow, pathNames(c.below))
	case c.seen.Repository == "":
		return ""
	case c.seen.Unseen != "":
		return say(changesUnknown, c.seen.Unseen)
	}
	parts := []string{say(changesBegin)}
	if c.isOlder {
		base := c.base[:12]
		if c.base != c.from.Commit {
			base = say(changesFromNothing)
		}
		parts[0] = say(changesMayBeOlder, base)
	}
	if c.byHand {
		parts = append(parts, say(changesByHand))
	}
	parts = append(parts, c.others...)
	var own, old string // the old ones come last
	for _, p := range c.paths[:min(listLimit, len(c.paths))] {
		line := p.letter + " " + shownPath(p.name) + "\n"
		if p.isOld {
			old += line
		} else {
			own += line
		}
	}
	if own != "" {
		parts = append(parts, fenced("", own))
	}
	if old != "" {
		parts = append(parts, say(changesOld), fenced("", old))
	}
	if more := len(c.paths) - listLimit; more > 0 {
		parts = append(parts, fmt.Sprintf("... (+%d)", more))
	}
	if len(c.paths) == 0 {
		parts = append(parts, say(changesNone))
	}
	for _, kind := range []words{changesNested, changesDirty, changesLarge, changesUnread} {
		if paths := c.leftOut[kind]; len(paths) > 0 {
			parts = append(parts, say(kind, pathNames(paths)))
		}
	}
	if c.shown != "" {
		command := say(changesDiff, c.base[:12], c.seen.Tree[:12], c.seen.Top)
		parts = append(parts, command+"\n"+fenced("diff", c.shown))
	}
	if c.rest != "" {
		parts = append(parts, say(changesRest, c.rest))
	}
	return strings.Join(parts, "\n\n")
}
