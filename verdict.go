package main

// ccc verdict, for scripts and hooks: of the last review in this working tree stdout has one word, and stderr
// the reason. The exit code is 0 only for an approval that still holds.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// These are the answers of ccc verdict that no review gave.
const (
	answerNone    verdict = "none"
	answerChanged verdict = "changed"
)

// verdictCodes are the exit codes of ccc verdict.
var verdictCodes = map[verdict]int{
	verdictAllow: 0, verdictBlock: 1, verdictFailed: 1, verdictLimit: 1,
	answerNone: 3, verdictReviewing: 3, verdictCancelled: 3, answerChanged: 3,
}

// showVerdict is ccc verdict.
func showVerdict(c *invocation, d dirs) error {
	p := d.state.place(d.here, d.env)
	word, lines, err := p.verdict()
	if err != nil {
		return failure{code: 2, err: fmt.Errorf("verdict: %w", err), hint: "ccc review"}
	}
	fmt.Println(word)
	code, isKnown := verdictCodes[word]
	if !isKnown { // a timeline may hold any word
		code = 1
	}
	if code != 0 && newScreen(os.Stderr).terminal {
		lines = append(lines, say(verdictAdvice))
	}
	notice(printable(redact("ccc: " + strings.Join(lines, "\n"))))
	return failure{code: code}
}

// verdict returns the word, and the reason: which review it was, when, and what follows from it. An error
// means that it can't be told.
func (p place) verdict() (word verdict, lines []string, err error) {
	record, err := p.record()
	if err != nil || record.Last == nil {
		return answerNone, []string{say(nobodyHere, pathFrom("", p.Top))}, err
	}
	h, err := p.dir.session(record.Last.Session).readHistory()
	r := h.review(record.Last.Review)
	if err == nil && r == nil {
		err = errors.New(say(reviewNotFound, record.Last.Session))
	}
	if err != nil {
		return "", nil, err
	}
	word, why, told, err := r.answer(p)
	if err != nil {
		return "", nil, err
	}
	isUnjudged := word == verdictFailed || word == verdictCancelled
	if isUnjudged && record.Approved != nil && p.isAt(record.Approved.begin) {
		word, why = verdictAllow, say(approvedBefore, cmp.Or(why, r.verdictName()))
	}
	_, counts, end := p.counting()
	defer end()
	i := slices.IndexFunc(record.Open, func(o openBegin) bool { return o.Mark != "" && counts(o.At) })
	if word == verdictAllow && i >= 0 {
		open := record.Open[i]
		word, why = open.Mark, say(stillOpen, open.Session, howLongAgo(open.Put))
	}
	when := howLongAgo(r.lastTime())
	lines = []string{say(verdictHead, r.reviewTitle(), r.verdictName(), when, why)}
	switch r.Verdict {
	case verdictReviewing:
		lines[0] = say(reviewRuns, r.reviewTitle(), runningSince(r.Begun))
	case verdictLimit:
		lines[0] = say(withReason, say(limitReached, count(r.Limit, reviews)), when)
		if open := h.openFeedback(); open != "" {
			lines = append(lines, say(feedbackStillOpen, open))
		}
	case verdictAllow:
		if r.Feedback != "" {
			lines = append(lines, say(leftToUser, r.Feedback))
		}
	}
	if h.lastPrompt().After(r.Begun) {
		lines = append(lines, say(newerRequest))
	}
	return word, append(lines, told...), nil
}

// answer returns what the review says of the files as they are now. Of an approval why is what has become of
// them, else the feedback or the error; told is what differs and does not count. Outside git the verdict
// alone counts.
func (r review) answer(p place) (word verdict, why string, told []string, err error) {
	switch {
	case r.Verdict != verdictAllow:
		return r.Verdict, cmp.Or(r.Error, r.Feedback), nil, nil
	case p.Repository == "":
		return r.Verdict, say(verdictAlone, errNoGit), nil, nil
	case r.Seen.TreeID == "":
		return "", "", nil, errors.New(say(notCompared, r.Seen.Unseen))
	}
	c, err := p.compare(r.Seen)
	switch {
	case err != nil:
		return "", "", nil, errors.New(say(notCompared, oneLine(err.Error())))
	case len(c.changed) > 0:
		word, why = answerChanged, say(changedSince, pathNames(c.changed))
	default:
		word, why = verdictAllow, say(nothingChanged)
	}
	if len(c.untracked) > 0 {
		told = append(told, say(newUntracked, pathNames(c.untracked)))
	}
	if len(c.fromMain) > 0 {
		told = append(told, say(newFromMain, pathNames(c.fromMain)))
	}
	return word, why, told, nil
}

// A comparison is what lies in a working tree now, other than a review saw it.
type comparison struct {
	changed   []string
	untracked []string // new, and git does not track it: no push holds it, and it does not count
	fromMain  []string // as on the remote's main branch, and no part of what was approved: nor does it
}

// compare compares the working tree with what a review saw there.
func (p place) compare(seen look) (c comparison, err error) {
	l, o := p.look(context.Background(), reviewLookPatience, false)
	defer o.end()
	if l.TreeID == "" {
		return c, errors.New(l.Unseen)
	}
	paths, err := o.changedPaths(seen.TreeID, l.TreeID)
	var otherwise, touched []string
	if r, _ := p.record(); r.Approved != nil && r.Approved.Tree == seen.TreeID && len(paths) > 0 {
		otherwise, _ = o.differing("--name-only", seen.Head, l.TreeID)
		approved := judgedChange{from: r.Approved.From, look: seen}
		if approved.compare(o) != nil {
			otherwise = nil
		}
		for _, p := range approved.paths {
			touched = append(touched, p.name)
		}
	}
	for _, path := range paths {
		switch {
		case path.letter == "":
		case path.letter == "A" && slices.Contains(o.untracked, path.name):
			c.untracked = append(c.untracked, path.name)
		case path.isMain && slices.Contains(otherwise, path.name) && !slices.Contains(touched, path.name):
			c.fromMain = append(c.fromMain, path.name)
		default:
			c.changed = append(c.changed, path.name)
		}
	}
	return c, err
}
