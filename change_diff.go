package main

// What the reviewer is told of the change: its paths with their marks, and its diff through one cut.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// diffLimit is in characters, of all differences that a request shows. diffKept is in bytes, of what is held of
// a diff of any size.
const diffLimit, diffKept = 12_000, 8 << 20

// A diff takes the lines of a git diff without renames, and holds its files as far as a request could show them.
type diff struct {
	files []fileDiff
	kept  int // bytes of the files' lines
}

// A fileDiff is the difference of one path.
type fileDiff struct {
	path           string // as git quotes it
	lines          []string
	size           int // characters of these
	left           int // how many lines there are more
	added, removed int // lines
	inHunks        bool
}

// add takes a line of git diff. In its hunks no line begins with a letter.
func (d *diff) add(line string) {
	if names, isNext := strings.CutPrefix(line, "diff --git "); isNext {
		path := names[(len(names)+1)/2:] // a/NAME b/NAME, each perhaps in quotes
		if quoted, is := strings.CutPrefix(path, `"b/`); is {
			path = `"` + quoted
		}
		d.files = append(d.files, fileDiff{path: strings.TrimPrefix(path, "b/")})
	}
	if len(d.files) == 0 {
		return
	}
	f := &d.files[len(d.files)-1]
	f.inHunks = f.inHunks || strings.HasPrefix(line, "@@ ")
	isAdded, isRemoved := strings.HasPrefix(line, "+"), strings.HasPrefix(line, "-")
	switch {
	case strings.HasPrefix(line, "index "), !f.inHunks && (isAdded || isRemoved): // they repeat the name
		return
	case isAdded:
		f.added++
	case isRemoved:
		f.removed++
	case !f.inHunks && strings.HasPrefix(line, "Binary files "):
		f.left++
	}
	if d.kept >= diffKept || f.size >= diffLimit {
		f.left++
		return
	}
	line = clip(strings.ToValidUTF8(line[:min(len(line), 4*diffLimit)], "\uFFFD"), diffLimit)
	f.lines = append(f.lines, line)
	f.size += utf8.RuneCountInString(line) + 1
	d.kept += len(line)
}

// cut returns the diff of the wanted paths, at most diffLimit characters of it, and the names of those that it
// does not show whole, with their size. Small files come first, so that most are shown whole.
func (d *diff) cut(wanted func(path string) bool) (shown, rest string) {
	files := slices.DeleteFunc(slices.Clone(d.files), func(f fileDiff) bool { return !wanted(f.path) })
	slices.SortStableFunc(files, func(a, b fileDiff) int { return a.size - b.size })
	var names []string
	left := diffLimit
	for _, f := range files {
		text := strings.Join(f.lines, "\n") + "\n"
		if runes := []rune(text); len(runes) > left {
			text = string(runes[:left])
		}
		shown += text
		left -= utf8.RuneCountInString(text)
		if f.left+f.size-utf8.RuneCountInString(text) > 0 {
			shown = strings.TrimSuffix(shown, "\n") + "\n"
			names = append(names, fmt.Sprintf("%s (+%d -%d)", shownPath(f.path), f.added, f.removed))
		}
	}
	return shown, clip(strings.Join(names, ", "), 3000)
}

// listLimit is how many paths a request lists.
const listLimit = 200

// text tells the reviewer of the change, "" where there is no git repository.
func (c change) text() string {
	if errors.Is(c.err, errNoGit) {
		return ""
	}
	if c.err != nil {
		return say(changesUnknown, oneLine(c.err.Error()))
	}
	base := c.base[:min(12, len(c.base))]
	parts := []string{say(changeBegins[c.how], base)}
	tell := func(is bool, text words, values ...any) {
		if is {
			parts = append(parts, say(text, values...))
		}
	}
	tell(len(c.Files) == 0, changesNone)
	if len(c.Files) > 0 {
		parts = append(parts, fenced("", c.listed()))
	}
	var uncommitted []string
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		if _, differs := c.Paths[path]; differs {
			uncommitted = append(uncommitted, path)
		}
	}
	tell(len(c.Files) > 0 && len(uncommitted) == 0, changesCommitted)
	tell(len(uncommitted) > 0 && len(uncommitted) < len(c.Files), changesUncommitted, pathNames(uncommitted, 20))
	var before []string
	for path := range c.found {
		_, differs := c.list[path]
		if _, isPart := c.Files[path]; differs && !isPart {
			before = append(before, path)
		}
	}
	slices.Sort(before)
	tell(len(before) > 0, changesBefore, pathNames(before, 20))
	tell(len(c.nested) > 0, changesNested, pathNames(c.nested, 20))
	tell(len(c.dirty) > 0, changesDirty, pathNames(c.dirty, 20))
	tell(c.others, changesOthers)
	shown, rest := c.diff.cut(func(path string) bool { _, is := c.Files[path]; return is })
	if shown != "" {
		parts = append(parts, "git diff "+base+", "+say(changesTop, c.Top)+"\n"+fenced("diff", shown))
	}
	tell(rest != "", changesRest, rest)
	tell(len(c.remote) > 0, changesRemote, pathNames(c.remote, 20))
	return strings.Join(parts, "\n\n")
}

// listed is the list of the change's paths, with a letter as in git status and their marks.
func (c change) listed() string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		letter := "M"
		if is, differs := c.list[path]; c.Files[path] == "" {
			letter = "D"
		} else if differs && is[0] == "" {
			letter = "A"
		}
		line := letter + " " + shownPath(path)
		if c.touched[path] {
			line += "  (" + say(markTouched) + ")"
		}
		if c.foreign[path] {
			line += "  (" + say(markForeign) + ")"
		}
		lines = append(lines, line)
	}
	if more := len(lines) - listLimit; more > 0 {
		lines = append(lines[:listLimit:listLimit], fmt.Sprintf("... (+%d)", more))
	}
	return strings.Join(lines, "\n")
}

// isShownWhole reports whether text tells all of the change, so that a reviewer that reads nothing else has seen
// it.
func (c change) isShownWhole() bool {
	_, rest := c.diff.cut(func(path string) bool { _, is := c.Files[path]; return is })
	return c.err == nil && rest == "" && len(c.Files) <= listLimit
}
