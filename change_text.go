package main

// The change as the reviewer reads it: its paths with what is known of each, and its diff. Both are in
// fences that nothing in them can end.

import (
	"fmt"
	"strings"
)

// listLimit is how many paths a request lists.
const listLimit = 200

// changeText is the change in words, "" where there is no git repository.
func (c judgedChange) changeText() string {
	switch {
	case c.Repository == "":
		return ""
	case c.Unseen != "":
		return say(changesUnknown, c.Unseen)
	}
	base, command := c.base[:min(12, len(c.base))], c.base[:min(12, len(c.base))]
	if c.base == "" {
		base, command = say(changesFromNothing), "$(git hash-object -t tree /dev/null)"
	}
	parts := []string{say(changeBegins[c.how], base)}
	if c.byHand {
		parts = append(parts, say(changesByHand))
	}
	parts = append(parts, c.pathLists(base)...)
	switch {
	case len(c.paths) == 0:
		parts = append(parts, say(changesNone))
	case len(c.uncommitted) == 0:
		parts = append(parts, say(changesCommitted))
	case len(c.uncommitted) < len(c.paths):
		parts = append(parts, say(changesUncommitted, pathNames(c.uncommitted)))
	}
	for _, named := range []struct {
		text  words
		paths []string
	}{{changesBefore, c.left}, {changesNested, c.nested}, {changesDirty, c.dirty}} {
		if len(named.paths) > 0 {
			parts = append(parts, say(named.text, pathNames(named.paths)))
		}
	}
	if c.shown != "" {
		parts = append(parts, say(changesDiff, command, c.Top)+"\n"+fenced("diff", c.shown))
	}
	if c.rest != "" {
		parts = append(parts, say(changesRest, c.rest))
	}
	return strings.Join(parts, "\n\n")
}

// listedPaths returns the first paths of the change, each as git quotes it, behind its letter.
func (c judgedChange) listedPaths() (names []string) {
	for _, p := range c.paths[:min(listLimit, len(c.paths))] {
		names = append(names, p.letter+" "+p.name)
	}
	if more := len(c.paths) - listLimit; more > 0 {
		names = append(names, fmt.Sprintf("... (+%d)", more))
	}
	return names
}

// pathLists returns the lists of the change's paths, each with a letter as in git status and what is known of
// it: one for each group, behind its heading. base is the commit where the change begins.
func (c judgedChange) pathLists(base string) (lists []string) {
	lines := map[int][]string{}
	for _, p := range c.paths[:min(listLimit, len(c.paths))] {
		line := p.letter + " " + shownPath(p.name)
		if p.gone {
			line += "  (" + say(markGone[c.how], base) + ")"
		} else if p.before {
			line += "  (" + say(markBefore[c.how]) + ")"
		}
		lines[p.group] = append(lines[p.group], line)
	}
	if more := len(c.paths) - listLimit; more > 0 {
		last := c.paths[listLimit-1].group
		lines[last] = append(lines[last], fmt.Sprintf("... (+%d)", more))
	}
	headings := []words{groupSession: {}, groupSettled: changesSettled, groupRemote: changesRemote}
	for group, heading := range headings {
		if len(lines[group]) == 0 {
			continue
		}
		if heading != (words{}) {
			lists = append(lists, say(heading))
		}
		lists = append(lists, fenced("", strings.Join(lines[group], "\n")))
	}
	return lists
}
