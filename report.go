package main

// ccc report: the evidence for a pull request, a page of Markdown. What ccc did not write comes into it as
// blocks of code, which it can't end.

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// A changeStory is one change of a session in a working tree: the reviews up to its approval, and those
// behind it that found no file changed since, as where the user asked for a push.
type changeStory struct {
	reviews  []sessionReview
	approval *sessionReview // the last
	before   []string       // the requests that the approval of the change before it knew
	paths    []string       // as its reviewers were shown them
}

// changeStories returns the changes that the reviews of a session, in their order, judged.
func changeStories(reviews []sessionReview) (stories []*changeStory) {
	newest := map[tree]*changeStory{}
	for _, r := range reviews {
		story, hasPaths := newest[r.Seen.tree], len(r.Change) > 0
		isOther := hasPaths || r.Seen.Repository == "" // outside git no paths are known
		if story == nil || story.approval != nil && isOther {
			next := &changeStory{}
			if story != nil {
				next.before = story.approval.Requests
			}
			story, newest[r.Seen.tree], stories = next, next, append(stories, next)
		}
		if hasPaths || story.approval == nil && r.isAnswered() {
			story.paths = r.Change
		}
		if story.reviews = append(story.reviews, r); r.approves() {
			story.approval = &r
		}
	}
	return stories
}

// newRequests returns the user's requests since the change before; all where there is none since.
func (s *changeStory) newRequests() (all []string) {
	for _, r := range s.reviews {
		if len(r.Requests) > 0 { // a stop at the limit has none
			all = r.Requests
		}
	}
	known := 0
	for known < min(len(all), len(s.before)) && all[known] == s.before[known] {
		known++
	}
	if known < len(all) {
		all = all[known:]
	}
	return all
}

// A report is what comes onto the page.
type report struct {
	of      string // the session and the change, in a sentence
	verdict string // of the last review, in words
	now     answer // of that
	isOver  bool   // a newer prompt has taken it back
	stories []*changeStory
	output  int // the most characters of an output
}

// showReport is ccc report [SESSION].
func showReport(c *invocation, d dirs) error {
	reviews, err := d.reviews(c.operands, func(s sessionReview) bool { return !s.occasion().isQuestion })
	if err != nil {
		return err
	}
	isNoStop := func(s sessionReview) bool { return !s.countsAsStop() }
	judged := slices.DeleteFunc(slices.Clone(reviews), isNoStop)
	if len(judged) == 0 {
		judged = reviews // as one by hand that failed, which ccc verdict passes over
	}
	if len(judged) == 0 {
		of := append(c.operands, pathFrom("", treeOf(d.here).Top))[0]
		err := fmt.Errorf("report: there is no review of %s yet", of)
		return failure{code: 3, err: err, hint: "ccc review"}
	}
	last, now := lastJudged(judged, d.env)
	reviews = slices.DeleteFunc(reviews, func(s sessionReview) bool { return s.session != last.session })
	r := report{of: say(reportOfOne, codeSpan(last.session)), verdict: last.verdictName(), now: now,
		isOver: last.isTakenBack(), stories: changeStories(reviews)}
	if len(c.operands) == 0 {
		r.of = say(reportOfHere, codeSpan(last.session))
		isLast := func(s sessionReview) bool { return s.ID == last.ID }
		r.stories = slices.DeleteFunc(r.stories, func(s *changeStory) bool {
			return !slices.ContainsFunc(s.reviews, isLast)
		})
	}
	_, err = os.Stdout.WriteString(redact(r.markdown()))
	return err
}

// reportLimit is in characters: GitHub takes a comment or the description of a pull request up to 65,536.
const reportLimit = 60_000

// markdown returns the page. Of one that is too long the outputs are cut, and of what is too long even so
// the middle is left out.
func (r report) markdown() string {
	parts := r.pageParts()
	if lengthOf(parts) > reportLimit {
		r.output = 200
		parts = withoutMiddle(r.pageParts(), reportLimit)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// lengthOf returns the characters of parts of a page, each with the empty line behind it.
func lengthOf(parts []string) int { return utf8.RuneCountInString(strings.Join(parts, "\n\n")) + 2 }

// withoutMiddle leaves out whole parts in the middle where they have more than so many characters.
func withoutMiddle(parts []string, most int) []string {
	if lengthOf(parts) <= most {
		return parts
	}
	mark := []string{say(reportLeftOut)}
	first, last, half := 0, len(parts), (most-lengthOf(mark))/2
	for lengthOf(parts[:first+1]) <= half {
		first++
	}
	for lengthOf(parts[last-1:]) <= half {
		last--
	}
	return slices.Concat(parts[:first], mark, parts[last:])
}

// quoted is how a text that ccc did not write comes into the page: as a block of code, which it can't end.
func quoted(kind, text string) string { return fenced(kind, cutMiddle(text, 10_000)) }

// codeSpan is a name as code within a line, which it can't end either.
func codeSpan(name string) string {
	return "`" + strings.ReplaceAll(clip(oneLine(name), 200), "`", "'") + "`"
}

// pageParts returns the page in parts, each of which is whole Markdown.
func (r report) pageParts() []string {
	title := r.verdict
	if r.now.word == answerChanged {
		title = say(reportNotCompared)
		if r.now.isOtherTree || len(r.now.changed) > 0 {
			title = say(reportChanged)
		}
	}
	parts := []string{"## " + say(reportTitle, title)}
	if r.now.why != "" && r.now.word != verdictBlock { // feedback is quoted below
		parts = append(parts, quoted("", r.now.why))
	}
	if r.isOver {
		parts = append(parts, say(newerRequest))
	}
	parts = append(parts, "- "+r.of+r.reviewerLine()+"\n- "+say(reportNoProof))
	for _, story := range r.stories {
		parts = append(append(parts, "### "+say(reportChange)), r.changeParts(story)...)
	}
	return parts
}

// reviewerLine lists who has answered; nothing where nobody has.
func (r report) reviewerLine() string {
	var models, rules []string
	what := ""
	for _, story := range r.stories {
		for _, review := range story.reviews {
			if !review.isAnswered() {
				continue
			}
			model, rule := say(reportUnknown), codeSpan(promptName) // no path of this machine
			if review.Model != "" {
				model = codeSpan(review.Model)
			}
			if review.PromptSource == builtinSource {
				rule = say(builtinPrompt)
			}
			models, rules = append(models, model), append(rules, rule)
			if what = cmp.Or(what, review.verdictBasis()); len(review.did.Runs) > 0 {
				what = say(reportRan)
			}
		}
	}
	if models == nil {
		return ""
	}
	list := func(names []string) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), say(listComma))
	}
	return "\n- " + say(reportReviewer, what, list(models), list(rules))
}

// changeParts returns the parts of the page that are of one change.
func (r report) changeParts(s *changeStory) []string {
	var requests, reviews, notes, paths []string
	for _, request := range s.newRequests() {
		requests = append(requests, quoted("", request))
	}
	for _, review := range s.reviews {
		ended := review.lastTime().UTC().Format("2006-01-02 15:04 UTC")
		reviews = append(reviews, "- "+joined(review.receiptHead(), ended, review.withoutVerdict()))
		text := cmp.Or(review.Error, review.Feedback)
		switch {
		case text == "":
		case review.Verdict == verdictAllow:
			notes = append(notes, quoted("", text))
		default:
			reviews = append(reviews, quoted("", text))
		}
	}
	for _, path := range s.paths {
		letter, name, _ := strings.Cut(path, " ")
		paths = append(paths, letter+" "+shownPath(name))
	}
	if len(paths) > 0 {
		paths = []string{quoted("", strings.Join(paths, "\n"))}
	}
	return slices.Concat(titledParts(reportRequests, requests), titledParts(reportReviews, reviews),
		titledParts(reportRuns, r.runParts(s)), titledParts(reportForUser, notes), titledParts(reportPaths, paths))
}

// titledParts returns parts of a page behind their title; none where there are none.
func titledParts(title words, parts []string) []string {
	if len(parts) == 0 {
		return nil
	}
	return append([]string{say(title)}, parts...)
}

// runParts returns a part for each command, in the order of their first runs: how its newest run ended, and
// folded away the end of its output and the runs before it.
func (r report) runParts(s *changeStory) (parts []string) {
	var commands []string
	runs := map[string][]string{} // of each command, the newest first: how a run ended, and its output
	for _, review := range s.reviews {
		for _, run := range review.did.Runs {
			if runs[run.Command] == nil {
				commands = append(commands, run.Command)
			}
			ended := "- " + joined(review.reviewTitle(), run.runEnd())
			if why := run.cccError(); why != "" {
				ended = joined(ended, codeSpan(why))
			}
			newest := []string{ended}
			if printed := strings.TrimSpace(run.Output); printed != "" {
				if r.output > 0 {
					printed = lastCharacters(printed, r.output)
				}
				newest = append(newest, quoted("", printed))
			}
			runs[run.Command] = append(newest, runs[run.Command]...)
		}
	}
	for _, command := range commands {
		newest, folded := runs[command][0], strings.Join(runs[command][1:], "\n\n")
		part := quoted("sh", command) + "\n\n" + newest
		if folded != "" {
			summary := "<details><summary>" + say(reportOutput) + "</summary>"
			part = strings.Join([]string{part, summary, folded, "</details>"}, "\n\n")
		}
		parts = append(parts, part)
	}
	return parts
}
