package main

// What a review says of the files: ccc verdict of the last stop, of a commit, and of what is pushed.

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// showVerdict is ccc verdict [SESSION] [--commit REV] [--pushed]. Why it is so goes to stderr.
func showVerdict(c *invocation, d dirs) (err error) {
	rev, ofCommit := c.flags["--commit"]
	switch isPush := c.has("--pushed"); {
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
	word, why := verdict("none"), say(nobodyHere, treeOf(d.here))
	if err == nil && id != "" {
		h, err = state.session(id).readHistory()
		why = say(nothingReviewed)
	}
	if err != nil {
		return err
	}
	if last := h.last(); last != nil {
		word, why = last.Verdict, cmp.Or(last.Error, last.Feedback)
		switch word {
		case verdictLimit:
			_, open := h.feedback()
			why = say(limitReached, count(last.Limit, reviews)) + "\n" + open
		case verdictAllow:
			word, why = last.standing(d)
		}
	}
	fmt.Println(word)
	if why != "" {
		fmt.Fprintln(os.Stderr, printable(strings.TrimSpace(why)))
	}
	code := 1
	switch word {
	case verdictAllow:
		code = 0
	case "none", verdictReviewing, verdictCancelled, "changed", "unbound":
		code = 3
	}
	return failure{code: code}
}

// standing is what an approval is worth by now, with the reason: allow, or changed or unbound where it does
// not speak of the files as they are. Outside git the verdict alone counts.
func (r record) standing(d dirs) (word verdict, why string) {
	switch files := r.since(d, os.Environ()); {
	case files == filesChanged:
		return "changed", cmp.Or(r.Unbound, say(reportChanged))
	case files == filesUnbound && r.Top != "":
		return "unbound", joined(say(notBound), r.Unbound)
	case files == filesUnbound:
		return verdictAllow, joined(say(notBound), r.Unbound)
	}
	return verdictAllow, r.Feedback
}

// sessionHere returns the session whose last stop was the last in the working tree that holds d.here, "" for
// none. Where reviews of several overlapped, or came within a minute, it is one that was refused. It says if
// the newest session of the project is of another working tree. One that can't be read and may be newer is an
// error.
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
	at := func(s summary) time.Time {
		switch {
		case s.VerdictAt == nil: // of a prompt, after which nothing was judged
			return s.UpdatedAt
		case s.Verdict == verdictReviewing:
			return time.Now()
		}
		return *s.VerdictAt
	}
	slices.SortStableFunc(found, func(a, b summary) int { return at(b).Compare(at(a)) })
	last := found[0]
	for _, s := range found {
		if s.Verdict == verdictBlock && at(s).After(last.began.Add(-time.Minute)) {
			return s.Session, nil
		}
	}
	return last.Session, nil
}

// An approval is a bound review that approved, with its session and what else happened there.
type approval struct {
	session string
	history history
	reviewRound
}

// approvals returns those of the working trees of repo, newest first. Approved questions are none. With an
// error they are those of the sessions that could be read.
func (d stateDir) approvals(repo string) (found []approval, err error) {
	ids, err := d.sessions()
	for _, id := range ids {
		h, readErr := d.session(id).readHistory()
		err = errors.Join(err, readErr)
		for _, r := range h.Rounds {
			if r.Verdict == verdictAllow && r.Event != eventPreToolUse && r.isBound() && r.Repo == repo {
				found = append(found, approval{session: id, history: h, reviewRound: r})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b approval) int { return b.Time.Compare(a.Time) })
	return found, err
}

// isBound reports whether the review speaks of one state of the files.
func (r record) isBound() bool { return r.Tree != "" && r.Unbound == "" }

// findApproval returns the newest approval of exactly the tree of the commit that rev names in d.here. The
// error is a failure with code 2 for a commit or a repository that is not there, and 3 where there is no such
// approval; then it says what was approved instead. Any other is that of a session that could not be read,
// where no approval was found.
func findApproval(d dirs, rev string) (evidence, error) {
	w := worktree{Top: d.here}
	_, w.Repo = gitTree(d.here)
	ctx, cancel := context.WithTimeout(context.Background(), treePatience)
	defer cancel()
	if w.Repo == "" {
		return evidence{}, failure{code: 2, err: errors.New("this directory is in no git repository")}
	}
	tree, err := w.script(ctx, os.Environ(), "git", "rev-parse", "-q", "--verify", rev+"^{commit}^{tree}")
	if err != nil && err.Error() != "exit status 1" { // which is all that git says of a commit that it does not know
		return evidence{}, failure{code: 2, err: err}
	}
	if err != nil || strings.Trim(rev[:min(1, len(rev))], "-^") == "" {
		return evidence{}, failure{code: 2, err: fmt.Errorf("no commit %q in this repository", rev)}
	}
	tree = strings.TrimSpace(tree)
	found, err := stateDir(d.state).approvals(w.Repo)
	for _, a := range found {
		if a.Tree == tree {
			return newEvidence(a.session, a.history, a.reviewRound), nil
		}
	}
	if err != nil {
		return evidence{}, err
	}
	err = errors.New(say(noApproval, rev))
	var hints []string
	if len(found) > 0 {
		newest := found[0]
		hints = append(hints, say(newestApproval, newest.Tree[:min(12, len(newest.Tree))], newest.session, newest.Time.Local().Format(time.DateTime)))
		if paths, err := w.script(ctx, os.Environ(), "git", "diff", "--name-only", newest.Tree, tree); err == nil {
			hints = append(hints, say(otherPaths, clip(strings.Join(strings.Fields(paths), " "), 300)))
		}
	}
	return evidence{}, failure{code: 3, err: err, hint: joined(append(hints, say(sessionsForgotten))...)}
}

// verdictOfCommit is ccc verdict --commit REV: it prints the session that was approved with exactly the
// commit's files.
func verdictOfCommit(d dirs, rev string) error {
	e, err := findApproval(d, rev)
	if f := (failure{}); errors.As(err, &f) && f.code == 3 {
		fmt.Println("none")
	}
	if err != nil {
		return err
	}
	last := strings.Join(e.Requests[max(0, len(e.Requests)-1):], "")
	fmt.Println(strings.TrimSpace(fmt.Sprint(e.Session, " ", e.Review.Time.Format(time.RFC3339), " ", clip(firstLine(last), 80))))
	return nil
}

// pushPatience is how long git may take to tell its hook what is pushed; it tells at once.
const pushPatience = 5 * time.Second

// verdictOfPush is ccc verdict --pushed: it reads what git tells its pre-push hook, a line for each ref with
// what is pushed to it, and asks for an approval of each. Where a ref is deleted, nothing is pushed. A hook
// manager may pass nothing on: then it asks for an approval of HEAD.
func verdictOfPush(d dirs, stdin *os.File) error {
	input, isThere := bufio.NewReader(stdin), false
	if !newScreen(stdin).terminal {
		came := make(chan bool, 1)
		go func() {
			defer exitOnPanic()
			_, err := input.Peek(1)
			came <- err == nil
		}()
		select {
		case isThere = <-came:
		case <-time.After(pushPatience):
		}
	}
	if !isThere {
		fmt.Fprintln(os.Stderr, "ccc:", say(pushUntold))
		return verdictOfCommit(d, "HEAD")
	}
	var all error
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 {
			return failure{code: 2, err: fmt.Errorf("verdict: --pushed reads what git gives its pre-push hook, not %q", clip(oneLine(lines.Text()), 80))}
		}
		pushed := fields[len(fields)-3] // the local name before it may have blanks: HEAD@{1 day ago}
		if strings.Trim(pushed, "0") == "" {
			continue
		}
		all = errors.Join(all, verdictOfCommit(d, pushed))
	}
	return errors.Join(all, lines.Err())
}

// An evidence is a review that has ended, with what came before it. Its JSON is what programs read.
type evidence struct {
	Session  string        `json:"session_id"`
	Project  string        `json:"project"`
	Requests []string      `json:"requests"` // the user's that the review knew of
	Review   reviewRound   `json:"review"`
	Earlier  []reviewRound `json:"earlier"`   // reviews of the same request, which came before
	SentBack []record      `json:"sent_back"` // of the whole session, in order
	Since    string        `json:"files"`     // one of those below
}

// What became of the files since the review.
const (
	filesUnchanged = "unchanged"
	filesChanged   = "changed"
	filesUnbound   = "not bound"
)

func newEvidence(session string, h history, review reviewRound) evidence {
	e := evidence{Session: session, Project: review.Project, Requests: append([]string{}, review.Requests...), Review: review,
		Earlier: []reviewRound{}, SentBack: []record{}} // a program gets lists, not null
	if len(review.Requests) == 0 && review.Event != eventReview {
		for _, request := range h.Requests[:review.requests] {
			e.Requests = append(e.Requests, request.Prompt)
		}
	}
	for _, r := range h.Rounds {
		if r.Event == eventReview { // no agent heard of it
			continue
		}
		if r.lastRecord < review.lastRecord && r.requests == review.requests {
			e.Earlier = append(e.Earlier, r)
		}
		if r.Verdict == verdictBlock && r.lastRecord <= review.lastRecord {
			e.SentBack = append(e.SentBack, r.record)
		}
	}
	return e
}

// since tells what became of the files that the review judged.
func (r record) since(d dirs, env []string) string {
	if r.Changed {
		return filesChanged
	}
	if !r.isBound() {
		return filesUnbound
	}
	if now := takeTree(context.Background(), d.self, r.Top, env, baseline{}); now.Tree != r.Tree {
		return filesChanged
	}
	return filesUnchanged
}
