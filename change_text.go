package main

// What the reviewer is told of the change: its paths with their marks, and its diff.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// listLimit is how many paths a request lists.
const listLimit = 200

// text tells the reviewer of the change, "" where there is no git repository.
func (c judgedChange) text() string {
	if errors.Is(c.err, errNoGit) {
		return ""
	}
	if c.err != nil {
		return say(changesUnknown, oneLine(c.err.Error()))
	}
	base := c.base[:min(12, len(c.base))]
	if c.base == "empty" {
		base = say(changesFromNothing)
	}
	parts := []string{say(changeBegins[c.how], base)}
	tell := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	tell(len(c.Files) == 0, say(changesNone))
	if len(c.Files) > 0 {
		parts = append(parts, fenced("", c.listed()))
	}
	var uncommitted []string
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		if _, differs := c.Paths[path]; differs {
			uncommitted = append(uncommitted, path)
		}
	}
	tell(len(c.Files) > 0 && len(uncommitted) == 0, say(changesCommitted))
	isPart := len(uncommitted) > 0 && len(uncommitted) < len(c.Files)
	tell(isPart, say(changesUncommitted, pathNames(uncommitted, 20)))
	var before []string
	for path := range c.found {
		_, differs := c.list[path]
		if _, isPart := c.Files[path]; differs && !isPart {
			before = append(before, path)
		}
	}
	slices.Sort(before)
	tell(len(before) > 0, say(changesBefore, pathNames(before, 20)))
	tell(len(c.nested) > 0, say(changesNested, pathNames(c.nested, 20)))
	tell(len(c.dirty) > 0, say(changesDirty, pathNames(c.dirty, 20)))
	tell(c.others, say(changesOthers))
	shown, rest := c.diff.cut(func(path string) bool { _, is := c.Files[path]; return is })
	if shown != "" {
		if c.base == "empty" {
			base = "$(git hash-object -t tree /dev/null)"
		}
		parts = append(parts, say(changesDiff, base, c.Top)+"\n"+fenced("diff", shown))
	}
	tell(rest != "", say(changesRest, rest))
	tell(len(c.remote) > 0, say(changesRemote, pathNames(c.remote, 20)))
	return strings.Join(parts, "\n\n")
}

// listed is the list of the change's paths, with a letter as in git status and their marks.
func (c judgedChange) listed() string {
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

// isShownWhole reports whether text tells all of the change, so that a reviewer that reads nothing else has
// seen it.
func (c judgedChange) isShownWhole() bool {
	_, rest := c.diff.cut(func(path string) bool { _, is := c.Files[path]; return is })
	return c.err == nil && rest == "" && len(c.Files) <= listLimit
}
