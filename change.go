package main

// Which change a review judges: where it begins, and which paths it has. Each error is on the side of more.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// A changeStart is what the history has of the place where a change begins.
type changeStart struct {
	look               // of the review that approved, or at the first prompt; zero where there is none
	at       time.Time // when that was
	approved bool      // a review approved there
	behind   look      // at the first prompt behind that approval
}

// changeStart returns where the session's change in the working tree t starts: at its last approval there,
// else at the first prompt of its conversation, whose first request was at started, as the transcript has it.
// One that began earlier than promptTimeout before the first prompt on record began without ccc.
func (h *history) changeStart(t tree, started string) (s changeStart) {
	for _, r := range h.Reviews {
		if r.Seen.tree == t && r.approves() {
			s = changeStart{look: r.Seen, at: r.Begun, approved: true}
		}
	}
	i := slices.IndexFunc(h.Prompts, func(p prompt) bool { return p.at.After(s.at) })
	if s.approved {
		if i >= 0 {
			s.behind = h.Prompts[i].Seen
		}
		return s
	}
	began, err := time.Parse(time.RFC3339, started)
	if i >= 0 && (err != nil || began.After(h.Prompts[i].at.Add(-promptTimeout))) {
		return changeStart{look: h.Prompts[i].Seen, at: h.Prompts[i].at}
	}
	return changeStart{at: began}
}

// The paths of a change, in the order in which they are shown.
const (
	groupSession = iota // the session's
	groupSettled        // what lay so already at the first prompt behind the last approval
	groupRemote         // what a remote has got since
)

// A changedPath is a path of a change.
type changedPath struct {
	name   string // as git quotes it
	letter string // A, M or D
	group  int
	before bool // it had changes when the change began
	gone   bool // these are gone: it is as in the commit where the change begins
}

// A judgedChange is what a review judges.
type judgedChange struct {
	look                   // Unseen is why the change is not known
	how         string     // a key of changeBegins: by what its beginning is known
	base        string     // the commit there, with which git compares; "" is the empty tree
	differed    pathStates // these paths differed from it already when the change began
	byHand      bool       // the user has asked for the review
	paths       []changedPath
	uncommitted []string // of these
	left        []string // what had changes when the change began, and is as it was: no part of it
	nested      []string // repositories inside that are left out
	dirty       []string // submodules with changes that are not committed
	shown       string   // its diff, as much of it as a request shows
	rest        string   // the paths that shown does not show whole
}

// takeChange looks at the working tree around dir, and returns its change in the session with that history.
// For started see changeStart.
func takeChange(
	ctx context.Context, dir string, env []string, past *history, started string,
) (c judgedChange) {
	c.tree = treeOf(dir)
	if c.Repository == "" {
		return c
	}
	g, end := gitIn(ctx, reviewLookPatience, c.tree, env)
	defer end()
	start := past.changeStart(c.tree, started)
	var s *snapshot
	var err error
	if c.look, s, err = g.look(start.Head, start.behind.Head); err != nil {
		return c
	}
	defer s.remove()
	c.nested, c.dirty = s.nested, s.dirty
	c.begin(s, start)
	if err := c.fill(s, start); err != nil {
		c.Unseen = oneLine(err.Error())
	}
	return c
}

// begin sets where the change begins. Without a look that can be compared it is the
// commit that was checked out then, and where HEAD's log does not have that, the merge base of HEAD and the
// look's.
func (c *judgedChange) begin(s *snapshot, start changeStart) {
	isThere := s.known[start.Head] != ""
	if start.tree == c.tree && start.isWhole() && (isThere || start.Head == "") {
		c.how, c.base, c.differed = sinceRequest, start.Head, start.Paths
		if start.approved {
			c.how = sinceReview
		}
		return
	}
	c.how = sinceCommit
	if commit := s.headAt(start.at); commit != "" {
		there, _ := s.commits(commit)
		c.base = there[commit]
	}
	if c.base == "" && isThere && c.Head != "" {
		c.base, _ = s.output("merge-base", "HEAD", start.Head)
	}
}

// fill adds what the snapshot shows of the change that starts at start.
func (c *judgedChange) fill(s *snapshot, start changeStart) error {
	list, err := s.differences(c.base)
	d, diffErr := s.diff(c.base)
	if err := errors.Join(err, diffErr); err != nil {
		return err
	}
	shared := s.onRemotes(c.base, c.Head, s.known["MERGE_HEAD"])
	changed := c.differed.changedTo(list, c.Top)
	var sinceBehind map[string]string // what has changed since that prompt; nil where it is not known
	if start.behind.tree == c.tree && start.behind.isWhole() {
		if list, err := s.differences(start.behind.Head); err == nil {
			sinceBehind = start.behind.Paths.changedTo(list, c.Top)
		}
	}
	groups := map[string]int{}
	for path, is := range changed {
		p := changedPath{name: path, letter: "M", before: c.differed.has(path), gone: !list.has(path)}
		was := list[path][0]
		if p.gone {
			was = c.differed[path][1]
		}
		if is == "" {
			p.letter = "D"
		} else if was == "" {
			p.letter = "A"
		}
		_, isSince := sinceBehind[path]
		switch {
		case s.isFromRemote(path, c.base, shared):
			p.group = groupRemote
		case sinceBehind != nil && !isSince:
			p.group = groupSettled
		}
		c.paths, groups[path] = append(c.paths, p), p.group
		if s.lists[c.Head].has(path) {
			c.uncommitted = append(c.uncommitted, path)
		}
	}
	for path := range c.differed {
		if _, is := changed[path]; !is && list.has(path) {
			c.left = append(c.left, path)
		}
	}
	slices.Sort(c.uncommitted)
	slices.Sort(c.left)
	slices.SortFunc(c.paths, func(a, b changedPath) int {
		return cmp.Or(a.group-b.group, strings.Compare(a.name, b.name))
	})
	c.shown, c.rest = d.cut(groups)
	return nil
}
