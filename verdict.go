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

// showVerdict is ccc verdict.
func showVerdict(c *invocation, d dirs) error {
	word, lines, err := d.state.place(d.here, d.here, d.env).verdict()
	if err != nil {
		return withFileHint(fmt.Errorf("verdict: %w", err), "ccc review")
	}
	fmt.Println(word)
	code := word.exitCode()
	if code != 0 && newScreen(os.Stderr).terminal {
		lines = append(lines, say(verdictAdvice))
	}
	notice(printable(redact("ccc: " + strings.Join(lines, "\n"))))
	return failure{code: code}
}

// exitCode is that of ccc verdict with the word, which may be one of a ccc to come.
func (v verdict) exitCode() int {
	switch v {
	case verdictAllow:
		return 0
	case answerNone, answerChanged, verdictReviewing, verdictCancelled:
		return 3
	}
	return 1
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
	i := slices.IndexFunc(record.Open, func(o *openBegin) bool { return o.Mark != "" && p.counts(o.At) })
	if word == verdictAllow && i >= 0 {
		open := record.Open[i]
		word, why = open.Mark, say(stillOpen, open.Session, age(open.Put))
	}
	head := r.result() // of one that runs it has the number
	if r.Verdict != verdictReviewing {
		head = say(titleAndWord, r.reviewTitle(), head)
	}
	lines = []string{joined(head, why)}
	if r.Verdict == verdictAllow && r.Feedback != "" {
		lines = append(lines, say(leftToUser, r.Feedback))
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
	paths, err := o.changedPaths(r.Seen.Tree, r.Seen.Commit, l.Tree)
	if unseen := cmp.Or(r.Seen.Unseen, l.Unseen); unseen != "" {
		err = errors.New(unseen)
	}
	if err != nil {
		return "", "", nil, errors.New(say(notCompared, oneLine(err.Error())))
	}
	var pulled, touched []string // what differs from the commit checked out then, and what was approved
	record, _ := p.record()
	if a := record.Approved; a != nil && a.Tree == r.Seen.Tree && len(paths) > 0 {
		if touched, err = o.differing("--name-only", cmp.Or(a.From.Tree, a.From.Commit), a.Tree); err == nil {
			pulled, _ = o.differing("--name-only", r.Seen.Commit, l.Tree)
		}
	}
	named := map[words][]string{} // by the text that names them
	for _, path := range paths {
		about := changedSince
		switch {
		case path.letter == "":
			continue
		case path.letter == "A" && slices.Contains(o.untracked, path.name): // no push holds it
			about = newUntracked
		case path.isMain && slices.Contains(pulled, path.name) && !slices.Contains(touched, path.name):
			about = newFromMain
		}
		named[about] = append(named[about], path.name)
	}
	if names := named[newUntracked]; names != nil {
		told = append(told, say(newUntracked, pathNames(names)))
	}
	if names := named[newFromMain]; names != nil {
		told = append(told, say(newFromMain, pathNames(names)))
	}
	if names := named[changedSince]; names != nil {
		return answerChanged, say(changedSince, pathNames(names)), told, nil
	}
	return verdictAllow, say(nothingChanged), told, nil
}
