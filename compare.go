package main

// A review holds for the files as it saw them. Compared with them as they are now, it has an answer: a word
// and a reason.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// These are the answers of ccc verdict that no review gave.
const (
	answerNone    verdict = "none"
	answerChanged verdict = "changed"
)

// An answer is what a review says of the files as they are now. Of an approval why is what has become of
// them, else it is the feedback or the error.
type answer struct {
	word verdict
	why  string
	comparison
}

// answer returns what the review says of the files now. Outside git the verdict alone counts.
func (r review) answer(env []string) answer {
	switch {
	case r.Verdict != verdictAllow:
		return answer{word: r.Verdict, why: cmp.Or(r.Error, r.Feedback)}
	case r.Seen.Repository == "":
		return answer{word: verdictAllow, why: say(verdictAlone, errNoGit)}
	}
	c, err := r.Seen.compare(env)
	switch {
	case err != nil:
		return answer{word: answerChanged, why: say(notCompared, oneLine(err.Error()))}
	case c.isOtherTree:
		return answer{word: answerChanged, why: say(manyChanged, pathsLimit), comparison: c}
	case len(c.changed) > 0:
		return answer{word: answerChanged, why: say(changedSince, pathNames(c.changed)), comparison: c}
	}
	return answer{word: verdictAllow, why: say(nothingChanged), comparison: c}
}

// A comparison is what lies in a working tree now, other than a look found it.
type comparison struct {
	changed     []string // paths with another content or mode
	isOtherTree bool     // some path has; a large look does not record which
	untracked   []string // new paths that git does not track: no push holds them, and they don't count
	uncommitted []string // paths that are as the look found them, but not in the commit checked out
}

// compare compares the working tree with what l found there. A path that a remote has got since with its
// content now does not count.
func (l look) compare(env []string) (c comparison, err error) {
	if l.Unseen != "" {
		return c, errors.New(l.Unseen)
	}
	if err := goneError(l.Top); err != nil {
		return c, err
	}
	g, end := gitIn(context.Background(), reviewLookPatience, l.tree, env)
	defer end()
	now, s, err := g.look(l.Head)
	if err != nil {
		return c, err
	}
	defer s.remove()
	if l.Head != "" && s.known[l.Head] == "" {
		return c, errors.New(say(commitGone, l.Head))
	}
	if l.TreeID != "" {
		id, err := s.output("write-tree", "--missing-ok")
		c.isOtherTree = id != l.TreeID
		return c, err
	}
	present, err := s.differences(l.Head)
	if err != nil {
		return c, err
	}
	changed := l.Paths.changedTo(present, l.Top)
	var shared []string
	if len(changed) > 0 {
		shared = s.onRemotes(l.Head, now.Head, s.known["MERGE_HEAD"])
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		switch {
		case s.isFromRemote(path, l.Head, shared):
		case s.untracked[path] && present[path][0] == "" && !l.Paths.has(path):
			c.untracked = append(c.untracked, path)
		default:
			c.changed = append(c.changed, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.Paths)) {
		if _, is := changed[path]; !is && s.lists[now.Head].has(path) {
			c.uncommitted = append(c.uncommitted, path)
		}
	}
	return c, nil
}

// goneError is the error that dir is gone; nil if it is there. The system's own error names the program
// that was to run in it.
func goneError(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return errors.New(say(directoryGone, dir))
	}
	return nil
}
