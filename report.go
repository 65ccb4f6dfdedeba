package main

// ccc report: the evidence for a pull request, a page of Markdown.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// A changeStory is one change of a session, from the first review of it to its approval.
type changeStory struct {
	session  string
	requests []string // the user's that it was judged by
	told     []string // all of the session
	rounds   []reviewRound
}

// stories returns the changes of a session, as they began. A stop is judged by the requests since the last
// approved review, and one by hand is given all of them.
func (h *history) stories(session string) (all []changeStory) {
	var before, told []string // the requests that the last approved review knew, and the last review at all
	var one changeStory
	end := func() {
		if len(one.rounds) > 0 {
			all = append(all, one)
		}
		one = changeStory{session: session}
	}
	end()
	for _, r := range h.Rounds {
		if r.Verdict == verdictReviewing || r.Event == eventPreToolUse || r.Review == "" {
			continue
		}
		one.rounds = append(one.rounds, r)
		told, one.requests = r.Requests, r.Requests
		if r.Event != eventReview {
			one.requests = without(r.Requests, before)
		}
		if r.approves() {
			before = r.Requests
			end()
		}
	}
	end()
	for i := range all {
		all[i].told = told
	}
	return all
}

// without returns the texts of all that are not among those given, each of which takes one away.
func without(all, given []string) (rest []string) {
	given = slices.Clone(given)
	for _, text := range all {
		if i := slices.Index(given, text); i >= 0 {
			given = slices.Delete(given, i, i+1)
			continue
		}
		rest = append(rest, text)
	}
	return rest
}

// last is the review that ended the change, or the newest of it.
func (c changeStory) last() reviewRound { return c.rounds[len(c.rounds)-1] }

// A report is what the page tells.
type report struct {
	of      string // what it is of, in a sentence
	since   string // which of its files have changed since the last review, "" for none
	stories []changeStory
}

// showReport is ccc report [SESSION].
func showReport(c *invocation, d dirs) error {
	r, err := report{}, error(nil)
	if len(c.operands) > 0 {
		r, err = reportOfSession(d, c.operands[0])
	} else {
		r, err = reportOfNewest(d)
	}
	if err != nil {
		return err
	}
	if len(r.stories) == 0 {
		err := fmt.Errorf("report: there is no review of %s yet", pathFrom("", treeOf(d.here).Top))
		return failure{code: 3, err: err, hint: "ccc review"}
	}
	_, err = os.Stdout.WriteString(r.markdown())
	return err
}

// reportOfSession is of all changes of the session that is meant.
func reportOfSession(d dirs, word string) (r report, err error) {
	id, err := stateDir(d.state).findSession(word)
	if err != nil {
		return r, err
	}
	h, err := stateDir(d.state).session(id).readHistory()
	return report{of: say(reportOfOne, id), stories: h.stories(id)}, err
}

// reportOfNewest is of the newest change of this working tree.
func reportOfNewest(d dirs) (r report, err error) {
	r.of = say(reportOfHere)
	ids, err := stateDir(d.state).sessions()
	here := treeOf(d.here)
	var newest changeStory
	for _, id := range ids {
		h, readErr := stateDir(d.state).session(id).readHistory()
		reportError(os.Stderr, readErr)
		for _, one := range h.stories(id) {
			last := one.last()
			if last.tree == here && (newest.rounds == nil || last.Time.After(newest.last().Time)) {
				newest = one
			}
		}
	}
	if newest.rounds == nil {
		return r, err
	}
	r.stories = []changeStory{newest}
	if now := newest.last().answer(context.Background(), os.Environ()); now.word == answerChanged {
		r.since = now.why
	}
	return r, err
}

// reportLimit is in characters: GitHub takes a comment or the description of a pull request up to 65,536.
const reportLimit = 60_000

// A reportCut is how much a report quotes: characters of each output, request and feedback, and how many
// requests, runs and rounds of a change, the first and the last.
type reportCut struct{ output, request, feedback, parts int }

// markdown writes the report. What is too long is cut where it hurts least: the outputs first.
func (r report) markdown() (text string) {
	const all = reportLimit
	for _, cut := range []reportCut{
		{output: 2000, request: 4000, feedback: all, parts: all},
		{output: 400, request: 4000, feedback: all, parts: all},
		{output: 0, request: 2000, feedback: all, parts: all},
		{output: 0, request: 300, feedback: 2000, parts: 20},
		{output: 0, request: 300, feedback: 200, parts: 6},
	} {
		if text = r.page(cut); utf8.RuneCountInString(text) <= reportLimit {
			return text
		}
	}
	return string([]rune(text)[:reportLimit-20]) + "\n"
}

// page writes the report as far as cut lets it.
func (r report) page(cut reportCut) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	line("## ", say(reportChanges), "\n")
	line("- ", r.of)
	var models, rules []string
	left := map[string][]string{} // by session, requests that are not shown
	what := reportRanNothing
	for _, one := range r.stories {
		left[one.session] = one.told
		for _, round := range one.rounds {
			if round.PromptSource != "" {
				models = append(models, cmp.Or(round.Model, say(reportUnknown)))
				rules = append(rules, reportRules(round.PromptSource))
			}
			if len(round.Runs) > 0 {
				what = reportRan
			}
		}
	}
	if len(r.stories) > 0 {
		line("- ", say(reportReviewer, say(what), codeList(models), codeList(rules)))
	}
	line("- ", say(reportNoProof))
	if r.since != "" {
		line("\n", fenced("", r.since))
	}
	for _, one := range r.stories {
		line("\n### ", say(reportChange, one.session[:min(8, len(one.session))]))
		one.write(line, cut)
		left[one.session] = without(left[one.session], one.requests)
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if n := len(left[id]); n > 0 {
			line("\n", say(reportOthers, count(n, requestsCounted), id[:min(8, len(id))]))
		}
	}
	return b.String()
}

// reportRules names whose instructions the reviewer had, without a path of this machine.
func reportRules(source string) string {
	if source == builtinSource {
		return say(builtinPrompt)
	}
	return promptName
}

// codeList writes the names as code, in order, each once.
func codeList(names []string) string {
	for i, name := range names {
		names[i] = "`" + strings.ReplaceAll(oneLine(name), "`", "'") + "`"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), say(listComma))
}

// write writes the change: its requests, its rounds, what was run, and what was left to the user.
func (c changeStory) write(line func(...string), cut reportCut) {
	// some writes n parts, the first and the last of them where they are too many.
	some := func(n int, part func(i int)) {
		for i := range n {
			if 2*i < cut.parts || 2*(n-i) <= cut.parts {
				part(i)
			} else if 2*(i-1) < cut.parts {
				line("\n", say(reportLeftOut))
			}
		}
	}
	if len(c.requests) > 0 {
		line("\n", say(reportRequests))
	}
	some(len(c.requests), func(i int) { line("\n", fenced("", cutMiddle(c.requests[i], cut.request))) })
	line("\n", say(reportRounds))
	some(len(c.rounds), func(i int) {
		r := c.rounds[i]
		line("\n- ", joined(r.receiptHead(), r.Time.UTC().Format("2006-01-02 15:04 UTC")))
		if text := cmp.Or(r.Error, r.Feedback); text != "" && r.Verdict != verdictAllow {
			line("\n", fenced("", cutMiddle(text, cut.feedback)))
		}
	})
	runs := c.runs()
	if len(runs) > 0 {
		line("\n", say(reportRuns))
	} else if basis := c.last().basis(); basis != "" {
		line("\n", say(reportRuns), "\n\n- ", basis)
	}
	some(len(runs), func(i int) { line("\n", runs[i].told(cut.output)) })
	if last := c.last(); last.Verdict == verdictAllow && last.Feedback != "" {
		line("\n", say(reportForUser), "\n\n", fenced("", cutMiddle(last.Feedback, cut.feedback)))
	}
}

// A commandRuns is a command with all runs of it.
type commandRuns struct {
	command string
	runs    []record
	rounds  []string // which review each was in
	isOpen  bool     // it failed, and no later review ran it again
}

// runs returns what the reviewers of the change ran, grouped by command, in the order of their first runs.
func (c changeStory) runs() (found []commandRuns) {
	for _, r := range c.rounds {
		for _, run := range r.Runs {
			i := slices.IndexFunc(found, func(g commandRuns) bool { return g.command == run.Command })
			if i < 0 {
				i = len(found)
				found = append(found, commandRuns{command: run.Command})
			}
			found[i].runs = append(found[i].runs, run)
			found[i].rounds = append(found[i].rounds, r.title())
			found[i].isOpen = run.code() != 0
		}
	}
	return found
}

// told writes the command, what each review got of it, and the last characters of its outputs.
func (g commandRuns) told(output int) string {
	text := fenced("sh", cutMiddle(g.command, max(output, 200))) + "\n"
	outputs := ""
	for i, run := range g.runs {
		text += "\n- " + say(reportRun, g.rounds[i], run.ended())
		if printed := strings.TrimSpace(run.Output); printed != "" && output > 0 {
			outputs += "\n" + g.rounds[i] + "\n\n" + fenced("", lastCharacters(printed, output)) + "\n"
		}
	}
	if g.isOpen {
		text += "\n- **" + say(reportOpen) + "**"
	}
	if outputs != "" {
		text += "\n\n<details><summary>" + say(reportOutput) + "</summary>\n" + outputs + "\n</details>"
	}
	return text
}
