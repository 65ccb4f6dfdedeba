package main

// The change that a review judges: what differs between two trees, the working tree as it was where the
// change begins, and as it is now; and that as the reviewer reads it, in fences that nothing in it can end.
// Nothing is written into the repository.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long git may take for a review and for ccc verdict, and at a prompt, which the user waits for.
var reviewLookPatience, promptLookPatience = 5 * time.Second, time.Second

// Of what git does not track a look leaves out files of more than largeFile bytes. With more than
// untrackedFiles of the others, or more than untrackedBytes in them, there is none.
const largeFile, untrackedFiles, untrackedBytes = 10 << 20, 10_000, 100 << 20

// A lookout runs git with an index of its own and the objects that ccc keeps of the working tree.
type lookout struct {
	gitRunner
	scope     []string // the pathspec that leaves out ccc's state directory, where that is in the tree
	untracked []string
	leftOut   map[words][]string // by what is said of them
	end       func()             // must be called
}

// look takes a look at the working tree. isWhole also finds out in which submodules there are changes, and
// what git can't read. A look that is killed leaves its copy of the index with the objects.
func (p place) look(ctx context.Context, patience time.Duration, isWhole bool) (l look, o *lookout) {
	g, end := gitIn(ctx, patience, p.tree, p.env)
	o = &lookout{gitRunner: g, leftOut: map[words][]string{}}
	l = look{tree: p.tree, begin: begin{Branch: p.branch(), Time: now()}}
	l.Commit, _ = o.output("rev-parse", "-q", "--verify", "HEAD")
	if state := resolved(string(p.dir)); inside(state, p.Top) && state != p.Top {
		own, _ := filepath.Rel(p.Top, state)
		o.scope = []string{"--", ":(top)", ":(top,exclude,literal)" + own}
	}
	_ = os.MkdirAll(p.objects(), 0o700)
	dir, err := os.MkdirTemp(p.objects(), "look-")
	o.end = func() { end(); _ = os.RemoveAll(dir) }
	index := filepath.Join(dir, "index")
	o.env = append(o.env, "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+p.objects(),
		alternatesVariable+"="+alternate(filepath.Join(p.Repository, "objects")))
	if err == nil {
		err = copyIndex(filepath.Join(p.gitDir(), "index"), index)
	}
	if err == nil {
		err = o.stage(isWhole)
	}
	if err == nil {
		l.Tree, err = o.output("write-tree", "--missing-ok")
	}
	if err != nil {
		l.Unseen = oneLine(err.Error())
	}
	return l, o
}

// alternatesVariable lists directories of objects that git reads, too; alternate is one of them.
const alternatesVariable = "GIT_ALTERNATE_OBJECT_DIRECTORIES"

func alternate(dir string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir) + `"`
}

// copyIndex copies the index of a working tree, if it has one. By its time git finds the files that
// may have changed since without another size.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, time.Time{}, info.ModTime()))
}

// stage adds to the index what `git add -A` would, but for what a look leaves out. In two steps, so that what
// git does not track is listed once.
func (o *lookout) stage(isWhole bool) error {
	add := []string{"add", "-u", "--sparse", "--ignore-errors"}
	err := o.run("", io.Discard, append(add, o.scope...)...)
	isPartial := exitCode(err) == 1 // it could not read a file; where it can't be run, so can't the next
	if err != nil && !isPartial {
		return err
	}
	others, err := o.lines(slices.Concat([]string{"ls-files", "--others", "--exclude-standard"}, o.scope)...)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, name := range others {
		path := filepath.Join(o.tree.Top, unquoted(name))
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
			o.untracked, size = append(o.untracked, name), size+info.Size()
		}
		if len(o.untracked) > untrackedFiles || size > untrackedBytes {
			return errors.New(say(tooMuchUntracked, untrackedFiles, untrackedBytes>>20))
		}
	}
	if len(o.untracked) > 0 {
		add := []string{"update-index", "--add", "--remove", "--replace", "--stdin"}
		err = o.run(strings.Join(o.untracked, "\n")+"\n", io.Discard, add...)
	}
	_, none := os.Stat(filepath.Join(o.tree.Top, ".gitmodules")) // asking costs a fifth of a look
	if err != nil || !isWhole || !isPartial && none != nil {
		return err
	}
	still := []string{"diff-files", "--raw", "--ignore-submodules=none"}
	lines, err := o.lines(append(still, o.scope...)...)
	for _, line := range lines {
		fields, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(fields, ":160000") {
			o.leaveOut(changesDirty, name)
		} else if isPartial {
			o.leaveOut(changesUnread, name)
		}
	}
	return err
}

func (o *lookout) leaveOut(why words, path string) { o.leftOut[why] = append(o.leftOut[why], path) }

// A changedPath is a path of a change.
type changedPath struct {
	name   string // as git quotes it
	letter string // git's
	isMain bool   // it is as on the remote's main branch
}

// A judgedChange is what a review judges.
type judgedChange struct {
	look                       // now; Unseen is why the change is not known
	from    begin              // where it begins
	base    string             // the tree or commit that is compared with
	isOlder bool               // no look shows what lay there: some of it may be older
	byHand  bool               // the user has asked for the review
	paths   []changedPath      // those as on the remote's main branch last
	others  []string           // of other sessions whose changes are in it, what is said of them
	leftOut map[words][]string // see lookout
	below   []string           // outside git: the repositories in the directory
	shown   string             // its diff, as much of it as a request shows
	rest    string             // the paths that shown does not show whole
}

// emptyTrees are the ids of a tree without files, by their length: git knows them without an object.
var emptyTrees = map[int]string{40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}

// compare fills in what differs from where the change begins. Where the objects of that are gone it is its
// commit, else an empty tree.
func (c *judgedChange) compare(o *lookout) (err error) {
	for _, base := range []string{c.from.Tree, c.from.Commit, emptyTrees[len(c.Tree)]} {
		if base == "" {
			continue
		}
		c.base, c.isOlder = base, base != c.from.Tree
		if c.paths, err = o.changedPaths(base, c.from.Commit, c.Tree); err == nil {
			c.shown, c.rest, err = o.diff(base, c.Tree, c.paths)
		}
		if err == nil {
			break
		}
	}
	c.paths = slices.DeleteFunc(c.paths, func(p changedPath) bool { return p.letter == "" })
	slices.SortStableFunc(c.paths, func(a, b changedPath) int { return rank(a.isMain) - rank(b.isMain) })
	return err
}

func rank(isLast bool) int {
	if isLast {
		return 1
	}
	return 0
}

// diffFlags keep a diff from depending on what the user has set, and from renames.
var diffFlags = []string{"diff", "--no-renames", "-O/dev/null", "--no-ext-diff", "--no-textconv",
	"--no-color", "--no-relative", "--submodule=short", "--ignore-submodules=none",
	"--src-prefix=a/", "--dst-prefix=b/"}

// changedPaths returns the paths in which two trees differ, the second one the look's, in git's order. One
// that is no part of a change has no letter: it lies on the disk still, and neither HEAD nor commit, which
// was checked out at the first tree, has it. It is ignored by now, or left out.
func (o *lookout) changedPaths(from, commit, to string) (paths []changedPath, err error) {
	lines, err := o.differing("--name-status", from, to)
	main, _ := o.output("rev-parse", "-q", "--verify", "refs/remotes/origin/HEAD^{tree}")
	var unlike []string
	if main != "" && len(lines) > 0 {
		unlike, err = o.differing("--name-only", main, to)
	}
	isUnlike := map[string]bool{}
	for _, path := range unlike {
		isUnlike[path] = true
	}
	committed := sync.OnceValue(func() []string { // and not in the look
		now, _ := o.differing("--name-only", "HEAD", to) // of what is no commit it says nothing
		then, _ := o.differing("--name-only", commit, to)
		return append(now, then...)
	})
	for _, line := range lines {
		letter, name, _ := strings.Cut(line, "\t")
		_, gone := os.Lstat(filepath.Join(o.tree.Top, unquoted(name)))
		if letter == "D" && gone == nil && !slices.Contains(committed(), name) {
			letter = ""
		}
		paths = append(paths, changedPath{name, letter, main != "" && !isUnlike[name]})
	}
	return paths, err
}

// differing returns what git says of the paths in which two trees differ.
func (o *lookout) differing(how, from, to string) ([]string, error) {
	return o.lines(slices.Concat(diffFlags, []string{how, from, to}, o.scope)...)
}

// diffLimit is in characters, of all that a request shows. fileLimit is in bytes, of what is held of a path:
// more than a request could show. listLimit is how many paths a request lists.
const diffLimit, fileLimit, listLimit = 12_000, 4 * 12_000, 200

// diff returns the diff of two trees, at most diffLimit characters of it, and names the files that it does
// not show whole. paths are those in which they differ, in git's order. Small files come first, so that most
// are shown whole, and those as on the remote's main branch last.
func (o *lookout) diff(from, to string, paths []changedPath) (shown, rest string, err error) {
	type fileDiff struct {
		changedPath
		text           []byte
		added, removed int // lines
	}
	var files []fileDiff
	first, isHead := "", false // line of the file
	add := func(line []byte) {
		begins := func(start string) bool { return bytes.HasPrefix(line, []byte(start)) }
		isHead = begins("diff --git ") || isHead && !begins("@@ ")
		if begins("diff --git ") && string(line) != first { // a file whose type has changed comes twice
			files, first = append(files, fileDiff{changedPath: paths[len(files)]}), string(line)
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
		args := slices.Concat([]string{"-c", "core.quotePath=false"}, diffFlags, []string{from, to}, o.scope)
		err = o.run("", &lineWriter{line: add}, args...)
	}
	slices.SortStableFunc(files, func(a, b fileDiff) int {
		return cmp.Or(rank(a.isMain)-rank(b.isMain), len(a.text)-len(b.text))
	})
	var names []string
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
		shown, left = shown+string(text), left-len(text)
	}
	return shown, clip(strings.Join(names, say(listComma)), 3000), err
}

// listedPaths returns the first paths of the change, each as git quotes it, behind its letter.
func (c judgedChange) listedPaths() (names []string) {
	for _, p := range c.paths[:min(listLimit, len(c.paths))] {
		names = append(names, p.letter+" "+p.name)
	}
	return names
}

// isEmpty reports whether it is known that nothing has changed.
func (c judgedChange) isEmpty() bool {
	return c.Repository != "" && c.Unseen == "" && len(c.paths)+len(c.leftOut) == 0
}

// changeText is the change in words, "" where there is none to tell of.
func (c judgedChange) changeText() string {
	switch {
	case c.Repository == "" && len(c.below) > 0:
		return say(changesBelow, pathNames(c.below))
	case c.Repository == "":
		return ""
	case c.Unseen != "":
		return say(changesUnknown, c.Unseen)
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
	list := func(isMain bool) string {
		var lines []string
		for _, p := range c.paths[:min(listLimit, len(c.paths))] {
			if p.isMain == isMain {
				lines = append(lines, p.letter+" "+shownPath(p.name))
			}
		}
		return strings.Join(lines, "\n")
	}
	if own := list(false); own != "" {
		parts = append(parts, fenced("", own))
	}
	if main := list(true); main != "" {
		parts = append(parts, say(changesMain), fenced("", main))
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
		command := say(changesDiff, c.base[:12], c.Tree[:12], c.Top)
		parts = append(parts, command+"\n"+fenced("diff", c.shown))
	}
	if c.rest != "" {
		parts = append(parts, say(changesRest, c.rest))
	}
	return strings.Join(parts, "\n\n")
}
