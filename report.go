package main

// What a session's reviews left as evidence: a line for the session (the receipt), a page for a pull request (ccc
// report), and whether a state of the files was approved (ccc verdict --commit and --pushed).

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// showVerdict is ccc verdict [SESSION] [--commit REV] [--pushed]. Why it is so goes to stderr.
func showVerdict(c *call, d dirs) (err error) {
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

// standing is what an approval is worth by now, with the reason: allow, or changed or unbound where it does not speak of
// the files as they are. Outside git the verdict alone counts.
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

// sessionHere returns the session whose last stop was the last in the working tree that holds d.here, "" for none. Where
// reviews of several overlapped, or came within a minute, it is one that was refused. It says if the newest session of
// the project is of another working tree. One that can't be read and may be newer is an error.
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

// receiptHead is the review's number and verdict, time and cost.
func (r record) receiptHead() string { return joined(r.title()+" "+verdictName(r.Verdict), r.price()) }

// basis says what a verdict rests on where nothing was run in a copy.
func (r reviewRound) basis() string {
	switch isCommand := func(look string) bool { return strings.HasPrefix(look, "Bash(") }; {
	case r.Review == "": // it did not begin
		return ""
	case slices.ContainsFunc(r.Tools, isCommand):
		return say(receiptNoCopy)
	case len(r.Tools) > 0:
		return say(receiptRead)
	}
	return say(receiptNothing)
}

// receipt is the round in a line: number, time, cost, and what the verdict rests on.
func (r reviewRound) receipt() string {
	const most = 3
	runs := slices.Clone(r.Runs) // those that failed first, then the last
	slices.Reverse(runs)
	slices.SortStableFunc(runs, func(a, b record) int { return min(b.code(), 1) - min(a.code(), 1) })
	parts := []string{r.receiptHead()}
	for _, run := range runs[:min(most, len(runs))] {
		parts = append(parts, clip(unbroken(run.Command), 60)+" → "+say(exited, run.code()))
	}
	when := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	when(len(runs) > most, count(len(runs)-most, moreRuns))
	when(len(runs) == 0, r.basis())
	when(r.NoVerdict, r.withoutVerdict())
	when(r.Changed && r.Verdict == verdictAllow, errChanged.Error())
	return joined(parts...)
}

// withoutVerdict says what became of an answer without a verdict, "" for one with a verdict.
func (r record) withoutVerdict() string {
	switch {
	case r.Withheld:
		return say(wordsWithheld)
	case r.NoVerdict:
		return say(wordsOnly)
	}
	return ""
}

// An approval is a bound review that approved, with its session and what else happened there.
type approval struct {
	session string
	history history
	reviewRound
}

// approvals returns those of the working trees of repo, newest first. Approved questions are none. With an error they are those
// of the sessions that could be read.
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

// isBound tells whether the review speaks of one state of the files.
func (r record) isBound() bool { return r.Tree != "" && r.Unbound == "" }

// findApproval returns the newest approval of exactly the tree of the commit that rev names in d.here. The error is a
// failure with code 2 for a commit or a repository that is not there, and 3 where there is no such approval; then it
// says what was approved instead. Any other is that of a session that could not be read, where no approval was found.
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

// verdictOfCommit is ccc verdict --commit REV: it prints the session that was approved with exactly the commit's files.
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

// verdictOfPush is ccc verdict --pushed: it reads what git tells its pre-push hook, a line for each ref with what is pushed to
// it, and asks for an approval of each. Where a ref is deleted, nothing is pushed. A hook manager may pass nothing on: then it
// asks for an approval of HEAD.
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

// showReport is ccc report [SESSION] [--commit REV] [--json].
func showReport(c *call, d dirs) (err error) {
	var e evidence
	if rev, ok := c.flags["--commit"]; ok && len(c.operands) > 0 {
		return usageError("report", "--commit finds the session itself")
	} else if ok {
		e, err = findApproval(d, rev)
	} else {
		e, err = lastEvidence(c.operands, d)
	}
	if err != nil {
		return err
	}
	config, err := loadConfig(d)
	if err != nil {
		return err
	}
	e.Since = e.Review.since(d, os.Environ())
	if e, err = e.redacted(redactor(os.Environ(), config)); err != nil {
		return err
	}
	text := append(encodeJSON(e), '\n')
	if !c.has("--json") {
		text = []byte(e.markdown())
	}
	_, err = os.Stdout.Write(text)
	return err
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
		if r.told < review.told && r.requests == review.requests {
			e.Earlier = append(e.Earlier, r)
		}
		if r.Verdict == verdictBlock && r.told <= review.told {
			e.SentBack = append(e.SentBack, r.record)
		}
	}
	return e
}

// lastEvidence returns the evidence of the last review that has ended of the session that is meant.
func lastEvidence(operands []string, d dirs) (e evidence, err error) {
	session, err := sessionMeant(operands, d)
	if err != nil {
		return e, err
	}
	h, err := stateDir(d.state).session(session).readHistory()
	ended := slices.DeleteFunc(slices.Clone(h.Rounds), func(r reviewRound) bool { return r.Verdict == verdictReviewing })
	last := lastOf(ended)
	if err == nil && last == nil {
		err = failure{code: 3, err: fmt.Errorf("report: session %s has no review of its work yet", session)}
	}
	if err != nil {
		return e, err
	}
	return newEvidence(session, h, *last), nil
}

// jsonText finds the strings of a JSON text, and behind a key its colon.
var jsonText = lazyRegexp(`"(?:[^"\\]|\\.)*":?`)

// redacted returns e with every text in it redacted.
func (e evidence) redacted(redact func(string) string) (clean evidence, err error) {
	text := jsonText().ReplaceAllFunc(encodeJSON(e), func(found []byte) []byte {
		var plain string
		if json.Unmarshal(found, &plain) != nil { // a key
			return found
		}
		return encodeJSON(redact(plain))
	})
	return clean, json.Unmarshal(text, &clean)
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

// reportLimit is in characters: GitHub takes a comment or the description of a pull request up to 65,536.
const reportLimit = 60_000

// A reportCut is how much a report quotes: characters of each output, request and feedback, and how many of the requests and
// of what was run and sent back, the first and the last of them.
type reportCut struct{ output, request, feedback, requests, others int }

// markdown writes the evidence for a pull request. What is too long is cut where it hurts least: the outputs first, then
// the requests between the first and the last, then between the first and the last runs, and only then what was sent back.
func (e evidence) markdown() (text string) {
	const all = reportLimit
	for _, cut := range []reportCut{
		{2000, 4000, all, all, all}, {400, 4000, all, all, all}, {0, 2000, all, all, all}, {0, 300, all, 2, all},
		{0, 300, 2000, 2, 20}, {0, 300, 200, 2, 20},
	} {
		if text = e.page(cut); utf8.RuneCountInString(text) <= reportLimit {
			break
		}
	}
	return text
}

// page writes the evidence as far as cut lets it.
func (e evidence) page(cut reportCut) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(text + "\n") }
	head := func(r record) string { return joined(r.receiptHead(), r.Time.UTC().Format("2006-01-02 15:04 UTC")) }
	// section writes its title and the first and the last of n parts, most of them all, and that others are left out; of none nothing.
	section := func(title words, n, most int, part func(i int) string) {
		if n > 0 {
			line("\n### " + say(title))
		}
		for i := range n {
			if 2*i < most || 2*(n-i) <= most {
				line("\n" + part(i))
			} else if 2*(i-1) < most {
				line("\n" + say(reportLeftOut))
			}
		}
	}
	r := e.Review
	line("## " + say(reportTitle, verdictName(r.Verdict)) + "\n")
	line("- " + joined(head(r.record), say(reportSession)+" `"+e.Session+"`"))
	if r.Tree != "" {
		line("- head `" + cmp.Or(r.Head, "-") + "`, tree `" + r.Tree + "`")
	}
	line("- " + say(map[string]words{filesUnchanged: reportUnchanged, filesChanged: reportChanged, filesUnbound: notBound}[e.Since]))
	if r.Unbound != "" {
		line(fenced("", r.Unbound))
	}
	section(reportRequests, len(e.Requests), cut.requests, func(i int) string { return fenced("", cutMiddle(e.Requests[i], cut.request)) })
	section(reportRuns, len(r.Runs), cut.others, func(i int) string { return e.run(r.Runs[i], cut.output) })
	if basis := r.basis(); len(r.Runs) == 0 && basis != "" {
		section(reportRuns, 1, 1, func(int) string { return basis })
	}
	section(reportSentBack, len(e.SentBack), cut.others, func(i int) string {
		return head(e.SentBack[i]) + "\n\n" + fenced("", cutMiddle(e.SentBack[i].Feedback, cut.feedback))
	})
	// What an agent was sent back with stands above.
	if text := cmp.Or(r.Error, r.Feedback); text != "" && (r.Verdict != verdictBlock || r.Event == eventReview) {
		title := map[verdict]words{verdictAllow: reportForUser, verdictBlock: reportFeedback}[r.Verdict]
		section(cmp.Or(title, reportReason), 1, 1, func(int) string { return fenced("", cutMiddle(text, cut.feedback)) })
	}
	return b.String()
}

// run tells of a run, with the last characters of its output, and what the newest earlier review saw that ran the same.
func (e evidence) run(run record, output int) string {
	before, then := "", record{}
	for _, r := range e.Earlier {
		for _, same := range r.Runs {
			if same.Command == run.Command {
				before, then = say(reportBefore, r.Iteration, say(exited, same.code())), same
			}
		}
	}
	told := fenced("sh", cutMiddle(run.Command, max(output, 200))) + "\n" + joined(run.ended(), before)
	fold := func(summary, text string) {
		if text != "" {
			told += "\n\n<details><summary>" + summary + "</summary>\n\n" + fenced("", lastCharacters(text, output)) + "\n\n</details>"
		}
	}
	switch text, earlier := strings.TrimSpace(run.Output), strings.TrimSpace(then.Output); {
	case output > 0:
		fold(say(reportOutput), text)
		if earlier != text {
			fold(before, earlier)
		}
	case text+earlier != "":
		told += "\n\n" + say(reportLeftOut)
	}
	return told
}
