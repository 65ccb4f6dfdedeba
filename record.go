package main

// The record of a working tree: the changes there that nobody has approved, what the last approval saw, and
// which review was the last. It is of the working tree, whichever session works there. Each doubt makes a
// change larger.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A treeRecord is what a record holds. Outside git that is the last review alone, until the next prompt.
type treeRecord struct {
	Open     []*openBegin  `json:"open,omitempty"`
	Approved *approval     `json:"approved,omitempty"`
	Last     *newestReview `json:"last,omitempty"`
}

// An approval is what the last one saw.
type approval struct {
	begin
	From begin `json:"from"` // where the approved change began
}

// A newestReview is the newest review of a stop or by hand.
type newestReview struct {
	Session string `json:"session_id"`
	Review  string `json:"review"`
}

// record reads the record, an empty one where there is none.
func (p place) record() (r treeRecord, err error) {
	text, err := readUserFile(p.file(".json"))
	if text != nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// update changes the record under its lock. A corrupt one begins anew. What was put there retention ago goes.
func (p place) update(change func(*treeRecord)) error {
	unlock, err := lockFile(p.file(".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	r, _ := p.record()
	change(&r)
	r.Open = slices.DeleteFunc(r.Open, func(o *openBegin) bool { return time.Since(o.Put) > retention })
	return replaceFile(p.file(".json"), append(encodeJSON(r), '\n'), false)
}

// git runs git in the working tree, without an index or objects of ccc's own, and returns the first line of
// what it prints.
func (p place) git(args ...string) (string, error) {
	g, end := gitIn(context.Background(), reviewLookPatience, p.tree, p.env)
	defer end()
	return g.output(args...)
}

// counts reports whether a begin counts that was put at that commit and branch: the branch is checked out, or
// HEAD contains the commit, as it does "", before the first.
func (p place) counts(at begin) bool {
	if at.Commit == "" || at.Branch != "" && at.Branch == p.branch() {
		return true
	}
	_, err := p.git("merge-base", "--is-ancestor", at.Commit, "HEAD")
	return err == nil
}

// put puts the begin into what is open, in the place of those of the session's that count and are no older,
// whose mark it keeps. A mark is that of all of the session's that count.
func (p place) put(session string, b begin, mark verdict) error {
	next := &openBegin{begin: b, Session: session, Put: now(), At: begin{Branch: p.branch()}, Mark: mark}
	next.At.Commit, _ = p.git("rev-parse", "-q", "--verify", "HEAD")
	return p.update(func(r *treeRecord) {
		r.Open = slices.DeleteFunc(r.Open, func(o *openBegin) bool {
			isOwn := o.Session == session && p.counts(o.At)
			if isOwn {
				next.Mark, o.Mark = cmp.Or(next.Mark, o.Mark), cmp.Or(mark, o.Mark)
			}
			return isOwn && !o.Time.Before(b.Time)
		})
		r.Open = append(r.Open, next)
	})
}

// noteLast notes the review, which begins, as the last one.
func (p place) noteLast(session, review string) error {
	return p.update(func(r *treeRecord) { r.Last = &newestReview{session, review} })
}

// beginOf returns where the session's change begins here, from a prompt or a stop on; a prompt also puts that
// into what is open. Only a conversation's first prompt, and the first behind an end, take a look: unless
// that fails, or the agent has done something since the review that ended it began.
func (p place) beginOf(ctx context.Context, s sessionFiles, transcript string, isPrompt bool) (begin, error) {
	state, _ := s.readState()
	own, isKnown := state.Begins[p.key]
	isOpen := isKnown && own.Ended.IsZero()
	if !isOpen {
		talk, _ := readConversation(transcript)
		if isPrompt && talk.began.IsZero() { // the first is not there yet
			talk.began = now()
		}
		var l look
		if isPrompt && !talk.acted.After(own.Ended) {
			var o *lookout
			l, o = p.look(ctx, promptLookPatience, false)
			o.end()
		}
		if l.Tree != "" {
			own.begin = l.begin
		} else {
			own.begin = p.older(state, talk.began)
		}
	}
	var err error
	if isPrompt {
		err = p.put(s.id, own.begin, "")
	}
	if !isOpen {
		own.Top, own.Ended = p.Top, time.Time{}
		err = errors.Join(err, s.setBegin(p.key, own))
	}
	return own.begin, err
}

// beginAtPrompt notes that the session's change begins with a prompt, if none is open. Outside git the prompt
// takes back what the last review said.
func (p place) beginAtPrompt(s sessionFiles, transcript string) error {
	if p.Repository == "" {
		if r, err := p.record(); err == nil && r.Last == nil {
			return nil
		}
		return p.update(func(r *treeRecord) { r.Last = nil })
	}
	_, err := p.beginOf(context.Background(), s, transcript, true)
	return err
}

// older returns the begin that the session has here, else one that no look knows, of a conversation that
// began at that time: the commit that was checked out then; where HEAD's log does not reach back so far, what
// HEAD shares with the commit of the session's newest begin in another working tree; else nothing at all.
func (p place) older(state sessionState, began time.Time) begin {
	if own, isKnown := state.Begins[p.key]; isKnown {
		return own.begin
	}
	newest := begin{}
	for _, other := range state.Begins {
		if other.Time.After(newest.Time) && other.Commit != "" {
			newest = other.begin
		}
	}
	b := begin{Commit: p.headAt(began), Time: began}
	if b.Commit == "" && newest.Commit != "" {
		b.Commit, _ = p.git("merge-base", "HEAD", newest.Commit)
	}
	return b
}

// takeChange returns the change of the session here: since its begin, or an older one that is open. By hand
// it also has what the user did since the last approval.
func (p place) takeChange(ctx context.Context, s sessionFiles, transcript string, byHand bool) (
	c judgedChange,
) {
	c.tree, c.byHand = p.tree, byHand
	if p.Repository == "" {
		below, _ := fs.Glob(os.DirFS(p.Top), "*/.git")
		c.below = mapped(below, filepath.Dir)
		return c
	}
	if byHand {
		state, _ := s.readState()
		talk, _ := readConversation(transcript)
		c.from = p.older(state, talk.began)
	} else {
		c.from, _ = p.beginOf(ctx, s, transcript, false)
	}
	l, o := p.look(ctx, reviewLookPatience, true)
	defer o.end()
	c.look, c.leftOut = l, o.leftOut
	r, err := p.record()
	begins := []begin{c.from}
	for _, b := range r.Open {
		if !p.counts(b.At) {
			continue
		}
		if b.Session != s.id && len(c.others) < 3 {
			h, _ := p.dir.session(b.Session).readHistory()
			c.others = append(c.others, say(changesOfOther, b.Session, clock(b.Put),
				clip(oneLine(h.newestRequest()), 300), cutMiddle(h.refusal().Feedback, 2000)))
		}
		begins = append(begins, b.begin)
	}
	if byHand && r.Approved != nil && p.counts(r.Approved.begin) {
		begins = append(begins, r.Approved.begin)
	}
	c.from = slices.MinFunc(begins, func(a, b begin) int { return a.Time.Compare(b.Time) })
	if err == nil && c.Unseen == "" {
		err = c.compare(o)
	}
	if err != nil { // what could not be compared nobody has seen
		c.Tree, c.Unseen = "", oneLine(err.Error())
	}
	return c
}

// settle records what has become of the change that the review judged, with its end.
func (p place) settle(s sessionFiles, r review, transcript string) (err error) {
	on, from, mark := r.occasion(), r.from, verdict("")
	switch {
	case p.Repository == "", on.isQuestion && r.Verdict != verdictBlock:
		return nil
	case r.Verdict == verdictAllow:
		return p.approve(s, r, from)
	case on.isByHand && r.Verdict != verdictBlock:
		return nil
	case !on.isByHand:
		from, err = p.beginOf(context.Background(), s, transcript, false)
	}
	if !on.isQuestion && (r.Verdict == verdictBlock || r.Verdict == verdictLimit) {
		mark = r.Verdict
	}
	return errors.Join(err, p.put(s.id, from, mark))
}

// approve records an approval that had a look. An end also ends the session's change in each other working
// tree where nothing has changed.
func (p place) approve(s sessionFiles, r review, from begin) error {
	if r.Seen.Tree == "" {
		return nil
	}
	seen, own := r.Seen.begin, sessionBegin{begin: r.Seen.begin, Top: p.Top}
	if !r.Waiting {
		own.Ended = r.Begun
	}
	err := s.setBegin(p.key, own)
	err = errors.Join(err, p.update(func(r *treeRecord) {
		r.Approved = &approval{seen, from}
		r.Open = slices.DeleteFunc(r.Open, func(o *openBegin) bool {
			isSeen := p.counts(o.At) && !o.Time.Before(from.Time) && !o.Time.After(seen.Time)
			if !isSeen || !o.Put.After(seen.Time) {
				return isSeen
			}
			o.begin = seen // what came behind the look nobody has approved
			if o.Session == s.id {
				o.Mark = ""
			}
			return false
		})
	}))
	state, _ := s.readState()
	for key, there := range state.Begins {
		other := p.dir.place(there.Top, there.Top, p.env)
		isOpen := key == other.key && there.Ended.IsZero() // and its working tree was not made anew
		if !r.Waiting && key != p.key && isOpen && other.isAt(there.begin) {
			err = errors.Join(err, other.letGo(s))
		}
	}
	return err
}

// isAt reports whether the working tree is still as it was at the begin.
func (p place) isAt(b begin) bool {
	l, o := p.look(context.Background(), reviewLookPatience, false)
	defer o.end()
	return b.Tree != "" && l.Tree == b.Tree
}

// letGo ends the session's change here, which nobody has to approve, and takes it out of what is open.
func (p place) letGo(s sessionFiles) error {
	state, _ := s.readState()
	own, isKnown := state.Begins[p.key]
	if !isKnown {
		return nil
	}
	own.Ended = now()
	err := s.setBegin(p.key, own)
	return errors.Join(err, p.update(func(r *treeRecord) {
		r.Open = slices.DeleteFunc(r.Open, func(o *openBegin) bool {
			return o.Session == s.id && o.begin == own.begin && p.counts(o.At)
		})
	}))
}
