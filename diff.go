package main

// A git diff of any size, as much of it as a request shows.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// diffLimit is in characters, of all that a request shows; diffKept in bytes, of all that is held.
const diffLimit, diffKept = 12_000, 8 << 20

// A diff takes the lines of a git diff, and holds its files as far as a request could show them.
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
	whole := strings.ToValidUTF8(line[:min(len(line), 4*diffLimit)], "\uFFFD")
	if line = clip(whole, diffLimit); line != whole {
		f.left++
	}
	f.lines = append(f.lines, line)
	f.size += utf8.RuneCountInString(line) + 1
	d.kept += len(line)
}

// cut returns the diff of the paths that have a group, at most diffLimit characters of it, and the names of
// those that it does not show whole, with their size. Lower groups come first, and in each of them small
// files, so that most are shown whole.
func (d *diff) cut(groups map[string]int) (shown, rest string) {
	files := slices.DeleteFunc(slices.Clone(d.files), func(f fileDiff) bool {
		_, isWanted := groups[f.path]
		return !isWanted
	})
	slices.SortStableFunc(files, func(a, b fileDiff) int {
		return cmp.Or(groups[a.path]-groups[b.path], a.size-b.size)
	})
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
	return shown, clip(strings.Join(names, say(listComma)), 3000)
}
