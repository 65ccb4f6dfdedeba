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
	p := d.state.place(d.here, d.here, d.env)
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
		if open := h.refusal().Feedback; open != "" {
			lines = append(lines, say(feedbackStillOpen, open))
		}
	case verdictAllow:
		if r.Feedback != "" {
			lines = append(lines, say(leftToUser, r.Feedback))
		}
	}
	if h.prompted > r.first {
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
	}
	l, o := p.look(context.Background(), reviewLookPatience, false)
	defer o.end()
	paths, err := o.changedPaths(r.Seen.TreeID, r.Seen.Head, l.TreeID)
	if unseen := cmp.Or(r.Seen.Unseen, l.Unseen); unseen != "" {
		err = errors.New(unseen)
	}
	if err != nil {
		return "", "", nil, errors.New(say(notCompared, oneLine(err.Error())))
	}
	var otherwise, touched []string // than at the commit checked out then, and by the approved change
	record, _ := p.record()
	if a := record.Approved; a != nil && a.Tree == r.Seen.TreeID && len(paths) > 0 {
		if touched, err = o.differing("--name-only", cmp.Or(a.From.Tree, a.From.Commit), a.Tree); err == nil {
			otherwise, _ = o.differing("--name-only", r.Seen.Head, l.TreeID)
		}
	}
	var changed, untracked, fromMain []string
	for _, path := range paths {
		switch {
		case path.letter == "":
		case path.letter == "A" && slices.Contains(o.untracked, path.name): // no push holds it
			untracked = append(untracked, path.name)
		case path.isMain && slices.Contains(otherwise, path.name) && !slices.Contains(touched, path.name):
			fromMain = append(fromMain, path.name)
		default:
			changed = append(changed, path.name)
		}
	}
	word, why = verdictAllow, say(nothingChanged)
	if len(changed) > 0 {
		word, why = answerChanged, say(changedSince, pathNames(changed))
	}
	if len(untracked) > 0 {
		told = append(told, say(newUntracked, pathNames(untracked)))
	}
	if len(fromMain) > 0 {
		told = append(told, say(newFromMain, pathNames(fromMain)))
	}
	return word, why, told, nil
}
