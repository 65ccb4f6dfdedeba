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
	tell(len(c.Files) > 0, fenced("", c.listed()))
	isCommitted := func(path string) bool { return !c.Paths.has(path) }
	uncommitted := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Files)), isCommitted)
	tell(len(c.Files) > 0 && len(uncommitted) == 0, say(changesCommitted))
	isPart := len(uncommitted) > 0 && len(uncommitted) < len(c.Files)
	tell(isPart, say(changesUncommitted, pathNames(uncommitted, 20)))
	isNotBefore := func(path string) bool { _, isPart := c.Files[path]; return isPart || !c.list.has(path) }
	before := slices.DeleteFunc(slices.Sorted(maps.Keys(c.found)), isNotBefore)
	tell(len(before) > 0, say(changesBefore, pathNames(before, 20)))
	tell(len(c.nested) > 0, say(changesNested, pathNames(c.nested, 20)))
	tell(len(c.dirty) > 0, say(changesDirty, pathNames(c.dirty, 20)))
	tell(c.others, say(changesOthers))
	if c.base == "empty" {
		base = "$(git hash-object -t tree /dev/null)"
	}
	tell(c.shown != "", say(changesDiff, base, c.Top)+"\n"+fenced("diff", c.shown))
	tell(c.rest != "", say(changesRest, c.rest))
	tell(len(c.remote) > 0, say(changesRemote, pathNames(c.remote, 20)))
	return strings.Join(parts, "\n\n")
}

// namesCommit reports whether text names a commit, with which the change is compared.
func (c judgedChange) namesCommit() bool { return c.err == nil && c.base != "empty" }

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

// isShownWhole reports whether text tells all of the change.
func (c judgedChange) isShownWhole() bool { return c.rest == "" && len(c.Files) <= listLimit }
