package main

// ccc verdict, for scripts and hooks, tells of the last review in this working tree: stdout has one word,
// stderr the reason. The exit code is 0 only for an approval that still holds.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// These are the answers of ccc verdict that no review gave.
const (
	answerNone    verdict = "none"
	answerChanged verdict = "changed"
)

// ignoreFile is in the error of a look at too many untracked files: the user can mend that there.
const ignoreFile = ".gitignore"

func showVerdict(c *invocation, d dirs) error {
	word, lines, err := d.state.place(d.here, d.here, d.env).verdict()
	if err != nil {
		f := failureOf(err)
		return withFileHint(withHint(fmt.Errorf("verdict: %w", f.err), f.hint), "ccc review")
	}
	fmt.Println(word)
	code := word.exitCode()
	if code != 0 && newScreen(os.Stderr).terminal {
		advice := verdictAdvice
		switch word {
		case verdictReviewing: // ccc review begins none beside it
			advice = waitAdvice
		case answerNone:
			if _, _, err := storedSessionOf("", d); err != nil { // there is none to review
				advice = startAdvice
			}
		}
		lines = append(lines, say(advice))
	}
	notice(printable(redact("ccc: " + strings.Join(lines, "\n"))))
	return failure{code: code}
}

// exitCode is that of ccc verdict with the word. A later ccc may have recorded another word.
func (v verdict) exitCode() int {
	switch v {
	case verdictAllow:
		return 0
	case answerNone, answerChanged, verdictReviewing, verdictCancelled:
		return 3
	}
	return 1
}

// verdict returns the word and the reason: which review, when, what follows. The error says why not.
func (p place) verdict() (word verdict, lines []string, err error) {
	record, err := p.record()
	if err != nil || record.Last == nil {
		return answerNone, p.whyNone(), err
	}
	h, err := p.dir.session(record.Last.Session).readHistory()
	r := h.review(record.Last.Review)
	if err == nil && r == nil {
		err = errors.New(say(reviewNotFound, record.Last.Session))
	}
	if err != nil {
		return "", nil, err
	}
	p, end := p.within(context.Background(), reviewLookPatience)
	defer end()
	o := p.look()
	defer o.end()
	word, why, told, err := r.answer(record, o)
	if err != nil {
		return "", nil, err
	}
	isUnjudged := word == verdictFailed || word == verdictCancelled
	if isUnjudged && o.seen.Tree != "" && o.seen.Tree == record.Approved.Tree {
		word = verdictAllow
		why = say(approvedBefore, cmp.Or(why, r.verdictName()))
	}
	for _, open := range record.Open {
		if word != verdictAllow || open.Mark == "" {
			continue
		}
		if o.holds(open, record.Approved.Tree).isAll {
			word = open.Mark
			why = joined(r.Error, say(stillOpen, open.Session))
		}
	}
	head := r.result() // of one that runs it has the number
	if r.Verdict != verdictReviewing {
		head = say(titleAndWord, r.reviewTitle(), head)
	}
	lines = []string{joined(head, why, r.stillToCome())}
	if r.Verdict == verdictAllow && r.Feedback != "" {
		lines = append(lines, say(leftToUser, r.Feedback))
	}
	if h.prompted > r.first {
		lines = append(lines, say(newerRequest))
	}
	return word, append(lines, told...), nil
}

// whyNone tells why the record has no review, and the state directory's path if a variable names that.
func (p place) whyNone() []string {
	lines := []string{say(nobodyHere, pathFrom("", p.Top))}
	if _, err := os.Stat(p.file(".json")); err == nil && p.Repository == "" { // a prompt has taken it out
		lines[0] = say(notSince)
	}
	for _, name := range []string{workDirVariable, configDirVariable, claudeDirVariable} {
		if lookupEnv(p.env, name) != "" {
			return append(lines, say(lookedIn, name, p.dir))
		}
	}
	return lines
}

// answer returns what the review says of the files that o has seen. For an approval, why tells what has
// become of them, else it is the feedback or the error. told is what differs and does not count. Outside
// git the verdict alone counts.
func (r review) answer(record treeRecord, o *treeReader) (
	word verdict, why string, told []string, err error,
) {
	switch {
	case r.Verdict != verdictAllow:
		return r.Verdict, joined(r.Error, r.Feedback), nil, nil
	case o.seen.Repository == "":
		return r.Verdict, say(verdictAlone, errNoGit), nil, nil
	}
	var paths []changedPath
	if unseen := cmp.Or(o.seen.Unseen, r.Seen.Unseen); unseen != "" {
		err = errors.New(unseen)
	} else {
		paths, err = o.changedPaths(r.Seen.Tree, begin{Commit: r.Seen.Commit})
	}
	if err != nil {
		err = errors.New(say(notCompared, oneLine(err.Error())))
		if strings.Contains(o.seen.Unseen, ignoreFile) { // another review would see no more
			err = withHint(err, editHint(filepath.Join(o.seen.Top, ignoreFile)))
		}
		return "", "", nil, err
	}
	if len(paths) == 0 {
		return verdictAllow, say(nothingChanged), nil, nil
	}
	approved := record.Approved
	touched, err := o.differing(cmp.Or(approved.From.Tree, approved.From.Commit), approved.Tree)
	isKnown := err == nil && approved.Tree == r.Seen.Tree
	inChange := byName(touched)
	inHead := o.contents(emptyTrees[len(o.seen.Tree)], "HEAD")
	sinceHead := o.contents(r.Seen.Commit, o.seen.Tree)
	named := map[words][]string{} // by the text that names them
	for _, path := range paths {
		isUntracked := slices.Contains(o.untracked, path.name)
		wasUntracked := path.letter == "D" && sinceHead[path.name] == "" // by the review's commit
		isOthers := isKnown && inChange[path.name] == ""
		about := changedSince
		switch {
		case path.letter == "":
			continue
		case isUntracked && path.letter == "A",
			isOthers && (isUntracked || wasUntracked) && inHead[path.name] == "":
			about = newUntracked // no push holds it
		case isOthers && path.isOld && sinceHead[path.name] != "":
			about = newFromMain
		}
		named[about] = append(named[about], path.name)
	}
	for _, about := range []words{newUntracked, newFromMain} {
		if names := named[about]; names != nil {
			told = append(told, say(about, pathNames(names)))
		}
	}
	if names := named[changedSince]; names != nil {
		return answerChanged, say(changedSince, pathNames(names)), told, nil
	}
	return verdictAllow, say(nothingChanged), told, nil
}
