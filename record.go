package main

// The record of a working tree: the changes there that nobody has approved, what the last approval saw, and
// which review was the last. It is of the working tree, whichever session works there. When in doubt, a
// change starts earlier: the reviewer sees too much rather than too little.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A treeRecord is what a record holds. Outside git that is the last review alone, until the next prompt.
type treeRecord struct {
	Open     []*openChange `json:"open,omitempty"`
	Approved approval      `json:"approved,omitzero"`
	Last     *newestReview `json:"last,omitempty"`
}

// An approval is what the last approval of work saw.
type approval struct {
	begin
	From begin `json:"from"` // where the approved change began
}

// A newestReview is the newest review of a stop or by hand.
type newestReview struct {
	Session string `json:"session_id"`
	Review  string `json:"review"`
}

// record reads the record, an empty one if there is none. In a torn one, with errCorrupt, everything is open.
func (p place) record() (r treeRecord, err error) {
	text, err := readUserFile(p.file(".json"))
	if err == nil && text != nil && json.Unmarshal(text, &r) != nil {
		r = treeRecord{Open: []*openChange{{Put: now(), Mark: verdictBlock}}}
		err = fmt.Errorf("%s: %w", p.file(".json"), errCorrupt)
	}
	return r, err
}

// changeRecord changes the record under its lock. A torn one is kept as .bad; changeRecord then still
// returns the error. Nothing is written over one that can't be read. An open change that was put there longer
// than retention ago is dropped.
func (p place) changeRecord(change func(*treeRecord)) error {
	unlock, err := lockFile(p.file(".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	r, err := p.record()
	if errors.Is(err, errCorrupt) {
		err = errors.Join(err, os.Rename(p.file(".json"), p.file(".bad")))
	} else if err != nil {
		return err
	}
	change(&r)
	r.Open = slices.DeleteFunc(r.Open, func(o *openChange) bool { return time.Since(o.Put) > retention })
	return errors.Join(err, replaceFile(p.file(".json"), append(encodeJSON(r), '\n')))
}

// noteLast notes the review as the last one, unless it is of a question.
func (p place) noteLast(session string, last review) error {
	if last.occasion().isQuestion {
		return nil
	}
	return p.changeRecord(func(r *treeRecord) { r.Last = &newestReview{session, last.ID} })
}

// moveBegin writes b into the session's state as its begin here, and then changes the record.
func (p place) moveBegin(s sessionFiles, b begin, change func(*treeRecord)) error {
	err := s.update(func(state *sessionState) {
		if state.Begins == nil {
			state.Begins = map[string]sessionBegin{}
		}
		state.Begins[p.key] = sessionBegin{b, p.Top}
	})
	return errors.Join(err, p.changeRecord(change))
}

// put opens next, and closes what next replaces: it takes over the mark and what the last stop left. It
// replaces open changes of its session, if they are of its branch and began no earlier, or if a prompt opened
// them at idle or later: since idle the agent has done nothing. But a change of which a stop has left
// something stays if next has something of a stop, too, or if an approval saw a part of it, unless all of it
// is here, as held tells.
func (r *treeRecord) put(next *openChange, idle time.Time, held map[string]held) {
	next.Put = now()
	r.Open = slices.DeleteFunc(r.Open, func(o *openChange) bool {
		isLater := o.Branch == next.Branch && !o.Time.Before(next.Time)
		isIdle := o.isOfPrompt() && !o.Time.Before(idle)
		isElsewhere := o.Seen.Tree != "" && cmp.Or(next.Seen.Tree, o.Shown.Tree) != "" && !held[o.id()].isAll
		if o.Session != next.Session || isElsewhere || !isLater && !isIdle {
			return false
		}
		next.Mark = cmp.Or(next.Mark, o.Mark)
		next.Seen = cmp.Or(next.Seen, o.Seen)
		return true
	})
	r.Open = append(r.Open, next)
}

// An openChange is a change that nobody has approved. Its branch is the one that it was put at.
type openChange struct {
	begin
	Session    string    `json:"session_id"`
	Transcript string    `json:"transcript_path,omitempty"`
	Put        time.Time `json:"put"`
	Mark       verdict   `json:"mark,omitempty"` // block or limit: so its last stop ended
	Seen       begin     `json:"seen,omitzero"`  // what its last stop left, if one has come
	Shown      begin     `json:"shown,omitzero"` // the look of the last approval that saw a part of that
}

func (o *openChange) id() string {
	return fmt.Sprint(o.Session, o.Branch, o.Time.UnixNano(), o.Seen.Tree)
}

// isOfPrompt reports whether no stop has come since the prompt with which the change was opened.
func (o *openChange) isOfPrompt() bool { return o.Seen.Tree == "" && o.Mark == "" }

// holds tells how much of an open change is in the tree that o has seen. approved is the tree that was
// approved last, "" for none.
//
// What the last stop left is recognized by content. A path of it is here if it is as the stop left it, under
// whatever name. It is also here if it differs from the begin, from all commits before the begin, and from
// approved; if git takes it for renamed, its new name counts. What the agent did after that stop, or without
// any stop, is recognized by the branch alone: it is here if HEAD has all of it.
//
// All of it is here if each path is as the stop left it. All of it is also here if some of it is, or no stop
// has left anything, and HEAD has all of the branch, no other branch has got the rest, and nothing was
// stashed. If the agent has done nothing since its prompt, there is nothing to hold.
//
// A part of it is here if some of what the last stop left is. A part is here, too, if nothing has got the
// rest: the agent has taken that back. Once an approval was shown a part, only the rest counts.
func (o *treeReader) holds(open *openChange, approved string) (h held) {
	hasActed := open.Shown.Tree == "" && hasActedSince(open.Transcript, cmp.Or(open.Seen, open.begin).Time)
	if open.isOfPrompt() && !hasActed {
		return held{isAll: true}
	}
	base := cmp.Or(open.Tree, open.Commit, emptyTrees[len(o.seen.Tree)])
	left := o.contents(base, open.Seen.Tree)
	isKnown := len(left) > 0
	if open.Shown.Tree != "" {
		base = open.Shown.Tree
		rest := o.contents(base, open.Seen.Tree)
		maps.DeleteFunc(left, func(path, _ string) bool { return rest[path] == "" })
	}
	changed := o.contents(base, o.seen.Tree)
	others := maps.Clone(changed)
	maps.DeleteFunc(others, func(path, _ string) bool { return left[path] != "" })
	isFound := false
	maps.DeleteFunc(left, func(path, content string) bool {
		isSame := changed[path] == content || hasValue(others, content)
		isFound = isFound || isSame
		return isSame
	})
	if isFound && len(left) == 0 {
		return held{isHere: true, isAll: true}
	}
	// The begin's own commit counts as older, too: its tree may have been dirty.
	isOld := o.oldIn(begin{Time: open.Time}, approved)
	moved := o.renamed(open.Seen.Tree, o.seen.Tree)
	for path := range left {
		name := cmp.Or(moved[path], path)
		isFound = isFound || changed[name] != "" && !isOld(name)
	}
	isMerged := o.hasAll(open.Branch, open.Time)
	h.isHere = isFound || isMerged && (hasActed || !isKnown)
	isNowhereElse := h.isHere && isMerged &&
		o.hasAll("refs/stash", open.Time) && !o.isOnBranch(left, changed, open.Time)
	h.isAll = isNowhereElse && (isFound || !isKnown)
	h.isPart = !h.isAll && (isNowhereElse || isFound)
	return h
}

// beginAtPrompt opens the session's change with a prompt. If the agent has done nothing since the begin that
// the session has, the change begins with a new look. Otherwise it begins at ownBegin. Outside git a prompt
// takes back what the last review said.
func (p place) beginAtPrompt(s sessionFiles, transcript string) error {
	if p.Repository == "" {
		if r, err := p.record(); err == nil && r.Last == nil {
			return nil
		}
		return p.changeRecord(func(r *treeRecord) { r.Last = nil })
	}
	p, end := p.within(context.Background(), promptLookPatience)
	defer end()
	state, _ := s.readState()
	next := &openChange{Session: s.id, Transcript: transcript}
	idle := state.Begins[p.key].Time
	if !hasActedSince(transcript, idle) {
		o := p.look()
		o.end()
		next.begin = o.seen.begin
	}
	if next.Tree == "" {
		next.begin = p.ownBegin(state, transcript, now())
		idle = now() // no prompt has opened a change since
	}
	next.Branch = p.branch()
	return p.moveBegin(s, next.begin, func(r *treeRecord) { r.put(next, idle, nil) })
}

// ownBegin returns the begin that the session has here. If it has none, ownBegin makes one without a look.
// Its commit is the one that was checked out when the conversation began, by HEAD's log. A conversation that
// has not begun begins at the time first. If the log does not reach back so far, the commit is the one that
// HEAD shares with the session's newest begin in another working tree. Else the begin has no commit.
func (p place) ownBegin(state sessionState, transcript string, first time.Time) begin {
	if own, isKnown := state.Begins[p.key]; isKnown {
		return own.begin
	}
	talk, _ := readConversation(transcript)
	b := begin{Time: cmp.Or(talk.began, first)}
	b.Commit = p.refAt("HEAD", b.Time)
	newest := begin{}
	for _, other := range state.Begins {
		if other.Time.After(newest.Time) && other.Commit != "" {
			newest = other.begin
		}
	}
	if b.Commit == "" && newest.Commit != "" {
		b.Commit, _ = gitIn(p.ctx, p.worktree, p.env).output("merge-base", "HEAD", newest.Commit)
	}
	return b
}

// takeChange returns the change of the session here, since its own begin, or since the begin of an open
// change that is older. In a review by hand the change also has what the user did since the last approval.
func (p place) takeChange(ctx context.Context, s sessionFiles, transcript string, on *occasion) judgedChange {
	c := judgedChange{byHand: on.isByHand}
	c.seen.worktree = p.worktree
	if p.Repository == "" {
		below, _ := fs.Glob(os.DirFS(p.Top), "*/.git")
		c.below = mapped(below, filepath.Dir)
		return c
	}
	p, end := p.within(ctx, reviewLookPatience)
	defer end()
	state, _ := s.readState()
	begins := []begin{p.ownBegin(state, transcript, time.Time{})}
	o := p.look()
	defer o.end()
	c.seen = o.seen
	c.held = map[string]held{}
	r, err := p.record()
	own := append(slices.Clone(state.MovedFrom), s.id)
	for _, open := range r.Open {
		h := o.holds(open, r.Approved.Tree)
		c.held[open.id()] = h
		switch { // what was approved on another branch is not approved here
		case h.isHere && open.Shown.Branch != "" && o.hasAll(open.Shown.Branch, open.Shown.Time):
			begins = append(begins, open.Shown)
		case h.isHere:
			begins = append(begins, open.begin)
		}
		if h.isHere && !slices.Contains(own, open.Session) && len(c.others) < 3 {
			c.others = append(c.others, p.tellOther(open))
		}
	}
	if on.isByHand && r.Approved.Tree != "" && o.hasAll(r.Approved.Branch, r.Approved.Time) {
		begins = append(begins, r.Approved.begin)
	}
	c.from = slices.MinFunc(begins, func(a, b begin) int { return a.Time.Compare(b.Time) })
	if err == nil && c.seen.Unseen == "" {
		err = errors.Join(o.nameUnread(), c.compare(o))
	}
	c.leftOut = o.leftOut
	c.check = o.editedCheck(c.from, o.seen.begin)
	if err != nil { // nobody has seen what could not be compared
		c.seen.Tree = ""
		c.seen.Unseen = oneLine(err.Error())
	}
	return c
}

// tellOther tells the reviewer whose open change that is.
func (p place) tellOther(open *openChange) string {
	if open.Session == "" {
		return say(recordTorn, p.file(".bad"))
	}
	h, _ := p.dir.session(open.Session).readHistory()
	return say(changesOfOther, open.Session, clock(open.Put), clip(oneLine(h.newestRequest()), 300),
		cutMiddle(h.last.refusal.Feedback, 2000))
}

// settleChange records what has become of the change that the review judged, with its end.
func (p place) settleChange(s sessionFiles, r review, transcript string) error {
	on := r.occasion()
	p, end := p.within(context.Background(), reviewLookPatience)
	defer end()
	switch {
	case p.Repository == "", !on.isStop && !r.approves() && r.Verdict != verdictBlock:
		return nil
	case r.approves():
		return p.approve(s, r)
	}
	if r.Seen.Tree == "" && r.Seen.Unseen == "" { // as at the limit
		c := p.takeChange(p.ctx, s, transcript, on)
		r.Seen = c.seen
		r.held = c.held
	}
	next := &openChange{begin: r.from, Session: s.id, Transcript: transcript}
	if r.Seen.Tree != "" {
		next.Seen = r.Seen.begin
	}
	if !on.isQuestion && (r.Verdict == verdictBlock || r.Verdict == verdictLimit) {
		next.Mark = r.Verdict
	}
	if !on.isByHand {
		state, _ := s.readState()
		next.begin = p.ownBegin(state, transcript, time.Time{})
	}
	next.Branch = r.Seen.Branch
	put := func(t *treeRecord) { t.put(next, now(), r.held) }
	if on.isByHand {
		return p.changeRecord(put)
	}
	return p.moveBegin(s, next.begin, put)
}

// approve records an approval that had a look. An open change of which the look had everything begins anew
// with the look, since its agent may still be at work. So does one that the session has opened after it. A
// change that was not all here stays, but what was here is no longer part of it. What another session's stop
// has left since keeps its mark. If the approval ends the request, the session's begin also moves in each
// other working tree that is still as it was there.
func (p place) approve(s sessionFiles, r review) error {
	seen := r.Seen.begin
	if seen.Tree == "" {
		return nil
	}
	err := p.moveBegin(s, seen, func(t *treeRecord) {
		t.Approved = approval{seen, r.from}
		for _, open := range t.Open {
			h, isKnown := r.held[open.id()]
			if h.isPart {
				open.Shown = seen
			}
			if isKnown && !h.isAll {
				continue
			}
			isOwn := open.Session == s.id
			isLater := open.Put.After(seen.Time)
			was := *open
			if isLater {
				was.Seen = begin{}
			}
			if r.held[was.id()].isAll || isOwn && isLater {
				open.begin = seen
			}
			if open.begin != seen || open.Seen.Time.After(seen.Time) { // a stop has left more
				continue
			}
			open.Seen = begin{}
			open.Shown = begin{}
			if isOwn || !isLater {
				open.Mark = ""
			}
		}
	})
	if !r.endsRequest() {
		return err
	}
	state, _ := s.readState()
	for key, there := range state.Begins {
		other := p.dir.place(there.Top, there.Top, p.env)
		other.ctx = p.ctx
		if key == p.key || key != other.key { // that was made anew
			continue
		}
		o := other.look()
		o.end()
		if o.seen.Tree != "" && o.seen.Tree == there.Tree {
			err = errors.Join(err, other.endUnchanged(s, o.seen.begin))
		}
	}
	return err
}

// endUnchanged moves the session's begin here to a look that shows no change, and closes the change that its
// prompts have opened. What a stop has left stays: it may be stashed, or on a branch.
func (p place) endUnchanged(s sessionFiles, at begin) error {
	state, _ := s.readState()
	own := state.Begins[p.key]
	return p.moveBegin(s, at, func(r *treeRecord) {
		r.Open = slices.DeleteFunc(r.Open, func(o *openChange) bool {
			return o.Session == s.id && o.Time.Equal(own.Time) && o.isOfPrompt()
		})
	})
}
