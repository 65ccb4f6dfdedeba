package main

// ccc verdict: of the last stop, of a commit, and of what is pushed.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// showVerdict is ccc verdict [SESSION] [--commit REV] [--pushed]. Why it is so goes to stderr.
func showVerdict(c *invocation, d dirs) (err error) {
	rev, ofCommit := c.flags["--commit"]
	isPush := c.has("--pushed")
	switch {
	case (ofCommit || isPush) && len(c.operands) > 0, ofCommit && isPush:
		return usageError("verdict", "one of SESSION, --commit and --pushed")
	case ofCommit:
		return verdictOfCommit(d, rev)
	case isPush:
		return verdictOfPush(d, os.Stdin)
	}
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

// A judgement is a review of this repository that approved or refused a change, with its session.
type judgement struct {
	session string
	reviewRound
}

// judgements returns those of the repository that could be read, in the order in which they ended.
func (d stateDir) judgements(repo string) (found []judgement, err error) {
	ids, err := d.sessions()
	for _, id := range ids {
		h, readErr := d.session(id).readHistory()
		err = errors.Join(err, readErr)
		for _, r := range h.Rounds {
			if r.Repo == repo && r.counts() {
				found = append(found, judgement{session: id, reviewRound: r})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b judgement) int { return a.Time.Compare(b.Time) })
	return found, err
}

// ask returns the review that counts for a path with that content: an approving one, of the working tree at
// top if there is one, else a refusing one, else nil. In each working tree the last review counts; of two
// that overlapped, a refusal. isSeen reports whether a review judged the path with other content.
func ask(all []judgement, top, path, content string) (by *judgement, isSeen bool) {
	last := map[string]*judgement{} // by working tree
	for i := range all {
		j := &all[i]
		judged, known := j.Files[path]
		if !known || judged != content {
			isSeen = isSeen || known
			continue
		}
		before := last[j.Top]
		if before == nil || before.approved() || !j.approved() || j.start.After(before.Time) {
			last[j.Top] = j
		}
	}
	for _, where := range slices.Sorted(maps.Keys(last)) {
		j := last[where]
		if by == nil || j.approved() && (!by.approved() || where == top) {
			by = j
		}
	}
	return by, isSeen
}

// approved reports whether j approved; nil did not.
func (j *judgement) approved() bool { return j != nil && j.Verdict == verdictAllow }

// unpushed returns the paths in which rev differs from what the remotes have, as the gate asks: known are
// commits that a remote has besides its branches. isThere reports that a remote has all of rev.
func (g gitRunner) unpushed(rev string, known []string) (found map[string]string, isThere bool, err error) {
	branches, err := g.remoteBranches()
	if err != nil {
		return nil, false, err
	}
	bases, err := g.mergeBases(rev, append(branches, known...))
	if err == nil && len(bases) == 0 { // no remote, or a shallow clone
		bases, err = g.remoteHeads()
	}
	if err == nil {
		found, err = g.differs(rev, bases)
	}
	return found, slices.Contains(bases, rev), err
}

// added returns the paths in which a commit differs from its merge bases with heads, and a name for these.
func (g gitRunner) added(commit string, heads []string) (found map[string]string, from string, err error) {
	from = strings.ReplaceAll(strings.Join(heads, ", "), "refs/remotes/", "")
	bases, err := g.mergeBases(commit, heads)
	if len(bases) == 0 {
		from = "-"
	}
	if err == nil {
		found, err = g.differs(commit, bases)
	}
	return found, from, err
}

// A gateAnswer is what the reviews say of what is pushed.
type gateAnswer struct {
	refused []string    // a line for each path that no review approved so
	rests   []judgement // the reviews that approved the others, those of this working tree first
	leftOut []string    // what these judged, rev lacks, and no review approved as rev has it
}

// firstRefused returns the first lines of refused, most at most, and a line with how many more there are.
func (a gateAnswer) firstRefused(most int) string {
	lines := slices.Clone(a.refused[:min(most, len(a.refused))])
	if more := len(a.refused) - most; more > 0 {
		lines = append(lines, say(gateMore, more))
	}
	return strings.Join(lines, "\n")
}

// asks returns what the reviews say of these paths. rev is the commit that has them.
func (g gitRunner) asks(all []judgement, rev string, found map[string]string) (a gateAnswer, err error) {
	rests := map[*judgement]bool{}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		by, isSeen := ask(all, g.top, path, found[path])
		switch {
		case by.approved():
			rests[by] = true
		case by != nil:
			a.refused = append(a.refused, say(gateSentBack, shownPath(path), by.session, clock(by.Time)))
		case isSeen:
			a.refused = append(a.refused, say(gateOther, shownPath(path)))
		default:
			a.refused = append(a.refused, say(gateUnseen, shownPath(path)))
		}
	}
	for _, isHere := range []bool{true, false} {
		for i := range all {
			if j := &all[i]; rests[j] && (j.Top == g.top) == isHere {
				a.rests = append(a.rests, *j)
			}
		}
	}
	if len(a.rests) == 0 {
		return a, nil
	}
	tree, err := g.differs(rev, nil)
	for _, j := range a.rests {
		for path, content := range j.Files {
			if tree[path] == content || slices.Contains(a.leftOut, path) {
				continue
			}
			if by, _ := ask(all, g.top, path, tree[path]); !by.approved() {
				a.leftOut = append(a.leftOut, path)
			}
		}
	}
	slices.Sort(a.leftOut)
	return a, err
}

// gateOf returns the git of the repository that d.here is in; a failure has code 2. end must be called.
func gateOf(d dirs) (g gitRunner, repo string, end func(), err error) {
	top, repo := gitTree(d.here)
	g, end = gitIn(context.Background(), gatePatience, d.self, top, os.Environ())
	if top == "" {
		err = failure{code: 2, err: fmt.Errorf("%s is in no git working tree", pathFrom("", d.here))}
	}
	return g, repo, end, err
}

// verdictOfCommit is ccc verdict --commit REV, of what REV adds to the remotes.
func verdictOfCommit(d dirs, rev string) error {
	g, repo, end, err := gateOf(d)
	defer end()
	if err != nil {
		return err
	}
	commit, err := g.commitOf(rev)
	if err != nil {
		return err
	}
	found, isThere, err := g.unpushed(commit, nil)
	if err == nil && isThere { // then it is asked of what it adds to the default branches
		heads, unread := g.remoteHeads()
		if err = unread; err == nil && len(heads) == 0 {
			err = errors.New("the default branch of no remote is known")
			return failure{code: 2, err: err, hint: "git remote set-head REMOTE -a"}
		}
		if err == nil {
			found, _, err = g.added(commit, heads)
		}
	}
	if err != nil {
		return failure{code: 2, err: err}
	}
	if len(found) == 0 {
		fmt.Println(answerNone)
		return failure{code: 3, err: errors.New(say(gateAlready, rev))}
	}
	return g.tellGate(d, repo, rev, commit, found)
}

// gatePatience is how long git may take for the gate.
const gatePatience = 60 * time.Second

// tellGate prints what the reviews say of these paths of a commit. A refusal is a failure with code 3.
func (g gitRunner) tellGate(d dirs, repo, rev, commit string, found map[string]string) error {
	all, err := stateDir(d.state).judgements(repo)
	if err != nil { // a refusal may stand in what can't be read
		return failure{code: 2, err: err}
	}
	a, err := g.asks(all, commit, found)
	if err != nil {
		return failure{code: 2, err: err}
	}
	if len(a.refused) == 0 {
		for _, j := range a.rests {
			unchanged := ""
			if j.SentBefore {
				unchanged = say(gateUnchanged)
			}
			head := j.session + " " + clock(j.Time)
			fmt.Println(joined(head, j.receipt(), clip(firstLine(j.newestRequest()), 80), unchanged))
		}
		if len(a.leftOut) > 0 {
			fmt.Fprintln(os.Stderr, "ccc:", say(gateLeftOut, pathNames(a.leftOut, 20)))
		}
		return nil
	}
	fmt.Println(answerNone)
	fmt.Fprintln(os.Stderr, a.firstRefused(20))
	way := gateForUser
	if callerOf(ancestry(os.Getpid())).agents {
		way = gateForAgent
	}
	notice(say(way))
	return failure{code: 3}
}

// pushPatience is how long git may take to tell its hook what is pushed; it tells at once.
const pushPatience = 5 * time.Second

// verdictOfPush is ccc verdict --pushed, of what git tells its pre-push hook, a line for each ref. A hook
// manager may pass nothing on: then it is of HEAD.
func verdictOfPush(d dirs, stdin *os.File) error {
	g, repo, end, err := gateOf(d)
	defer end()
	if err != nil {
		return err
	}
	lines := pushedLines(stdin)
	if lines == nil {
		fmt.Fprintln(os.Stderr, "ccc:", say(pushUntold))
		lines = []string{"- HEAD - -"} // local name, local id, remote name, remote id
	}
	var revs, known []string
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 4 {
			const expected = "verdict: --pushed reads what git gives its pre-push hook, not %q"
			return failure{code: 2, err: fmt.Errorf(expected, clip(oneLine(line), 80))}
		}
		// The local name before these may have blanks: HEAD@{1 day ago}. Zeros stand for no commit.
		if rev := f[len(f)-3]; strings.Trim(rev, "0") != "" {
			revs = append(revs, rev)
		}
		if old, err := g.commitOf(f[len(f)-1]); err == nil { // the remote has it, and it is here
			known = append(known, old)
		}
	}
	var all error
	for _, rev := range revs {
		commit, err := g.commitOf(rev)
		if err != nil {
			return err
		}
		found, _, err := g.unpushed(commit, known)
		if err != nil {
			return failure{code: 2, err: err}
		}
		if len(found) > 0 {
			err := g.tellGate(d, repo, rev, commit, found)
			if failureOf(err).err != nil { // it can't be told; a refusal has been printed
				return err
			}
			all = errors.Join(all, err)
		}
	}
	return all
}

// pushedLines returns the lines that git gives its pre-push hook, nil where nothing comes.
func pushedLines(stdin *os.File) []string {
	if newScreen(stdin).terminal {
		return nil
	}
	input, came := bufio.NewReader(stdin), make(chan bool, 1)
	go func() {
		defer exitOnPanic()
		_, err := input.Peek(1)
		came <- err == nil
	}()
	select {
	case isThere := <-came:
		if !isThere {
			return nil
		}
	case <-time.After(pushPatience):
		return nil
	}
	text, _ := io.ReadAll(input) // git writes all of it at once; no limit of time here
	return slices.Collect(strings.Lines(string(text)))
}
