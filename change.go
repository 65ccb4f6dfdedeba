package main

// Which change a review judges: where it begins, and which paths it has.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A changeBegin is where a change begins.
type changeBegin struct {
	how   string     // a key of changeBegins
	base  string     // the commit that git compares with; "empty" is the empty tree
	found pathStates // what differed from it already
	time  time.Time
	stays []reviewRound // stops that left another branch
}

// beginning returns where the session's change in the working tree here begins.
func (h *history) beginning(g gitRunner, here look, of changeOf) changeBegin {
	var approved *reviewRound
	for i := range h.Rounds {
		if r := &h.Rounds[i]; r.Top == here.Top && r.approves() {
			approved = r
		}
	}
	var prompts []numbered
	next := h.records + 1 // the record that follows the beginning of that review
	for _, p := range h.prompts {
		if of.stands(p) && (approved == nil || p.number > approved.firstRecord) {
			prompts = append(prompts, p)
			next = min(next, p.number)
		}
	}
	isUntold := func(r reviewRound) bool { // nobody told ccc of a prompt
		return r.firstRecord > approved.firstRecord && r.firstRecord < next
	}
	if approved != nil && (len(prompts) == 0 || slices.ContainsFunc(h.Rounds, isUntold)) {
		return beginningOf(sinceReview, approved.look, approved.start)
	}
	if len(prompts) == 0 {
		return g.beginningAt(of.started)
	}
	var stays []reviewRound
	for len(prompts) > 1 {
		left := h.stopBetween(prompts[0].number, prompts[1].number, here.Top)
		if left == nil || left.Branch == here.Branch || g.holds(left.Head) {
			break
		}
		stays, prompts = append(stays, *left), prompts[1:]
	}
	p := prompts[0]
	b := beginningOf(sinceRequest, p.look, p.Time)
	b.stays = stays
	switch {
	case p.Top != here.Top: // a worktree, or a repository that the agent has made
		b = changeBegin{how: sinceWorktree, time: p.Time}
		if b.base, _ = g.output("merge-base", "HEAD", p.Head); b.base == "" {
			b.how, b.base = sinceEver, "empty"
		}
	case p.Unseen != "":
		b.how = sinceUnseen
		if p.Head == "" { // the look ended before it told of one
			b.base = g.beginningAt(p.Time.Format(time.RFC3339)).base
		}
	}
	return b
}

// beginningOf is the begin of a change with what l found.
func beginningOf(how string, l look, at time.Time) changeBegin {
	return changeBegin{how: how, base: cmp.Or(l.Head, "empty"), found: l.Paths, time: at}
}

// beginningAt is where HEAD was at that time, as a transcript writes it, by its log.
func (g gitRunner) beginningAt(at string) changeBegin {
	began, err := time.Parse(time.RFC3339, at)
	if err == nil {
		// git counts in whole seconds: what came within that second came later.
		entry := "HEAD@{" + began.UTC().Add(-time.Second).Format("2006-01-02 15:04:05 +0000") + "}"
		commit, err := g.output("rev-parse", "-q", "--verify", entry)
		// Of a log that does not reach back git names the oldest commit, and warns.
		times, _ := g.lines("log", "-g", "--format=%gd", "--date=unix", "HEAD")
		oldest := int64(0)
		_, _ = fmt.Sscanf(strings.Join(times[max(0, len(times)-1):], ""), "HEAD@{%d}", &oldest)
		if err == nil && commit != "" && oldest > 0 && oldest < began.Unix() {
			return changeBegin{how: sinceReflog, base: commit, time: began}
		}
	}
	return changeBegin{how: sinceEver, base: "empty", time: began}
}

// stopBetween returns the last stop in that working tree between two records, nil for none.
func (h *history) stopBetween(from, until int, top string) (last *reviewRound) {
	for i := range h.Rounds {
		r := &h.Rounds[i]
		if r.Event == eventStop && r.Top == top && r.firstRecord > from && r.firstRecord < until {
			last = r
		}
	}
	return last
}

// A judgedChange is what a review judges.
type judgedChange struct {
	look
	changeBegin
	list  pathStates        // what differs from base now
	Files map[string]string // its paths, with what lies there now

	touched map[string]bool // of these, those that the user had changed before
	remote  []string        // what a remote has already, and is no part of it
	foreign map[string]bool // by hand: what is not the session's
	nested  []string        // repositories inside that are left out
	dirty   []string        // submodules with changes that are not committed
	others  bool            // another session had a prompt in this working tree since
	shown   string          // its diff, as much of it as a request shows
	rest    string          // the paths that shown does not tell whole
	err     error           // why it is not known
}

// A changeOf says whose change it is.
type changeOf struct {
	history   *history
	stands    func(numbered) bool
	started   string // the time of the session's first prompt, as the transcript has it
	byHand    bool
	elsewhere bool // by hand, and the session is in another working tree
}

// takeChange looks at the working tree that holds dir, and returns the change that it holds. Outside git Top
// is "".
func takeChange(ctx context.Context, self, dir string, env []string, of changeOf) (c judgedChange) {
	c.Top, c.Repo = gitTree(dir)
	if c.Top == "" {
		c.err = errNoGit
		return c
	}
	g, end := gitIn(ctx, reviewLookPatience, self, c.Top, env)
	defer end()
	c.Head, c.Branch = g.head()
	own := of.history.beginning(g, c.look, of)
	remotes, err := g.remoteBranches()
	var merged []string
	if c.Head != "" && err == nil {
		merged, err = g.mergeBases("HEAD", remotes)
		if merging, _ := g.output("rev-parse", "-q", "--verify", "MERGE_HEAD"); merging != "" {
			more, _ := g.mergeBases(merging, remotes)
			merged = append(merged, more...)
		}
	}
	if c.changeBegin = own; of.byHand {
		c.changeBegin = changeBegin{how: sinceEver, base: "empty", time: own.time}
		if len(merged) > 0 {
			c.how, c.base = sinceRemotes, merged[0]
		}
	}
	var found *lookOutput
	if err == nil {
		found, err = g.look(c.base, append([]string{"HEAD", c.base, own.base}, merged...)...)
	}
	if err != nil {
		c.err = err
		return c
	}
	var owns map[string]string
	if own.how != sinceReview && !of.elsewhere { // what has changed since it without a prompt is the user's
		owns = own.files(found.lists[own.base], found.lists["HEAD"], c.Top)
	}
	if of.byHand && len(found.lists[c.base]) == 0 { // a remote has all of it
		c.changeBegin, merged = own, nil
		if found, c.err = g.look(c.base, "HEAD", c.base); c.err != nil {
			return c
		}
	}
	c.Head, c.Branch, c.Paths, c.list = found.head, found.branch, found.lists["HEAD"], found.lists[c.base]
	c.nested, c.dirty = found.nested, found.dirty
	c.Files = c.changeBegin.files(c.list, c.Paths, c.Top)
	c.touched, c.foreign = map[string]bool{}, map[string]bool{}
	for path := range c.Files {
		isAsMerged := func(base string) bool { return !found.lists[base].has(path) }
		hasRemote := slices.ContainsFunc(merged, isAsMerged)
		if c.list.has(path) && c.how != sinceRemotes && hasRemote {
			c.remote = append(c.remote, path)
			delete(c.Files, path)
			continue
		}
		was, wasChanged := c.found[path]
		c.touched[path] = wasChanged && !of.history.judged(path, was[1])
		_, isOwn := owns[path]
		c.foreign[path] = of.byHand && !isOwn && !of.history.judged(path, c.Files[path])
	}
	slices.Sort(c.remote)
	c.shown, c.rest = found.diff.cut(func(path string) bool { _, is := c.Files[path]; return is })
	return c
}

// files returns the paths of the change that begins with b, with their content. list is what differs from its
// base now, uncommitted what differs from HEAD. What a stop that left another branch judged, and lies here
// uncommitted as it was, stays part of it.
func (b changeBegin) files(list, uncommitted pathStates, top string) map[string]string {
	files := b.found.changedTo(list, top)
	for _, r := range b.stays {
		for path, content := range r.Files {
			if is, differs := uncommitted[path]; differs && is[1] == content {
				files[path] = content
			}
		}
	}
	return files
}
