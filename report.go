package main

// What a session's reviews left as evidence: a line for the session (the receipt), a page for a pull request
// (ccc report), and whether a state of the files was approved (ccc verdict --commit and --pushed).

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// showReport is ccc report [SESSION] [--commit REV] [--json].
func showReport(c *invocation, d dirs) (err error) {
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
	e.Since = e.Review.since(d, os.Environ())
	text := append(encodeJSON(e), '\n')
	if !c.has("--json") {
		text = []byte(e.markdown())
	}
	_, err = os.Stdout.Write(text)
	return err
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

// reportLimit is in characters: GitHub takes a comment or the description of a pull request up to 65,536.
const reportLimit = 60_000

// A reportCut is how much a report quotes: characters of each output, request and feedback, and how many of
// the requests and of what was run and sent back, the first and the last of them.
type reportCut struct{ output, request, feedback, requests, others int }

// markdown writes the evidence for a pull request. What is too long is cut where it hurts least: the outputs
// first, then the requests between the first and the last, then between the first and the last runs, and only
// then what was sent back.
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
	// section writes its title and the first and the last of n parts, most of them all, and that others are
	// left out; of none nothing.
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

// run tells of a run, with the last characters of its output, and what the newest earlier review saw that ran
// the same.
func (e evidence) run(run record, output int) string {
	before, then := "", record{}
	for _, r := range e.Earlier {
		for _, same := range r.Runs {
			if same.Command == run.Command {
				before, then = say(reportBefore, r.Iteration, say(exitedWith, same.code())), same
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
