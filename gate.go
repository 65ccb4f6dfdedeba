package main

// ccc verdict, of the last stop.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// verdictCodes are the exit codes of ccc verdict.
var verdictCodes = map[verdict]int{
	verdictAllow: 0, verdictBlock: 1, verdictFailed: 1, verdictLimit: 1,
	answerNone: 3, verdictReviewing: 3, verdictCancelled: 3, answerChanged: 3, answerUnbound: 3,
}

// showVerdict is ccc verdict [SESSION]. Why it is so goes to stderr.
func showVerdict(c *invocation, d dirs) (err error) {
	state, id := stateDir(d.state), ""
	if len(c.operands) > 0 {
		id, err = state.findSession(c.operands[0])
	} else {
		id, err = sessionHere(d)
	}
	var h history
	word, why := answerNone, say(nobodyHere, treeOf(d.here))
	if err == nil && id != "" {
		h, err = state.session(id).readHistory()
		why = say(nothingReviewed)
	}
	if err != nil {
		return err
	}
	isMeant := func(s storedSession) bool { return s.id == id }
	for _, stored := range storedSessions(d.claude, "projects/*/*.jsonl", isMeant) {
		if talk, err := readConversation(stored.path); err == nil {
			h.passOver(talk.stands(&h))
		}
	}
	if last := h.last(); last != nil {
		word, why = last.standing(d.changedSince)
		if word == verdictLimit {
			_, open := h.feedback()
			why = say(limitReached, count(last.Limit, reviews)) + "\n" + open
		}
	}
	fmt.Println(word)
	if why != "" {
		notice(printable(strings.TrimSpace(why)))
	}
	code, known := verdictCodes[word]
	if !known { // a timeline may hold any word
		code = 1
	}
	return failure{code: code}
}

// changedSince returns the paths of the working tree that are not as l found them.
func (d dirs) changedSince(l look) ([]string, error) {
	return l.changedSince(context.Background(), d.self, os.Environ())
}

// sessionHere returns the session whose last stop was the last in the working tree that holds d.here, "" for
// none. Of several that overlapped, or came within a minute, it is one that was refused. It says if the
// newest session of the project is of another working tree. An unreadable one that may be newer is an error.
func sessionHere(d dirs) (id string, err error) {
	sessions, err := summarizeAll(d, nil)
	if err != nil {
		return "", err
	}
	var found []summary
	here, isOther := treeOf(d.here), false
	for _, s := range sessions {
		switch {
		case s.tree == "" && s.err != nil && len(found) == 0:
			err := fmt.Errorf("session %s may be the newest of this project: %w", s.Session, s.err)
			return "", failure{code: 2, err: err, hint: nameSession}
		case s.tree == here:
			found = append(found, s)
		case len(found) == 0 && !isOther && d.isOfProject(s.Project):
			isOther = true
			fmt.Fprintln(os.Stderr, say(newestElsewhere, s.Session, printable(s.tree)))
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	slices.SortStableFunc(found, func(a, b summary) int { return b.ended.Compare(a.ended) })
	last := found[0]
	for _, s := range found {
		if s.Verdict == verdictBlock && s.ended.After(last.began.Add(-time.Minute)) {
			return s.Session, nil
		}
	}
	return last.Session, nil
}
