package main

// A review in words. The receipt, one line, never claims more than was recorded, as that something was run.

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// verdictName is what became of the review, in a word or two.
func (r review) verdictName() string {
	switch {
	case r.Observed && r.Verdict == verdictBlock:
		return say(wouldBeSentBack)
	case r.Verdict == verdictLimit && r.Error != "": // else the reviews are used up
		return say(noBudgetLeft)
	}
	return cmp.Or(say(verdictNames[string(r.Verdict)]), string(r.Verdict)) // a timeline may hold any word
}

// result is the verdict's name with its time: how long ago, or how long the review has run.
func (r review) result() string {
	word := oneLine(r.verdictName())
	if r.Verdict != verdictReviewing {
		return say(resultAndTime, word, age(r.lastTime()))
	}
	if r.Iteration > 0 {
		word += " " + r.reviewNumber()
	}
	return joined(word, age(r.Begun))
}

// verdictColour is the colour of a verdict in a view, "" for none.
func verdictColour(v verdict) string {
	return map[verdict]string{
		verdictBlock: yellow, verdictAllow: green, verdictFailed: red, verdictLimit: red}[v]
}

// redacted returns the line with secrets redacted, for a view. It changes what the line points to.
func (e entry) redacted() entry {
	switch {
	case e.Prompt != nil:
		e.Prompt.Text = redact(e.Prompt.Text)
	case e.Review != nil:
		*e.Review = e.Review.redacted()
	case e.Step != nil:
		*e.Step = e.Step.redacted()
	}
	return e
}

// redacted returns the review and what its reviewer did with secrets redacted, for a view.
func (r review) redacted() review {
	quotes := []*string{&r.NoCopy, &r.Rule, &r.Seen.Unseen, &r.Request, &r.LastMessage, &r.Question,
		&r.Feedback, &r.Error, &r.Awaited}
	for _, quoted := range quotes {
		*quoted = redact(*quoted)
	}
	r.did.Runs = mapped(r.did.Runs, step.redacted)
	r.did.Tools = mapped(r.did.Tools, redact)
	r.did.Refused = mapped(r.did.Refused, redact)
	return r
}

// advice is what to do about a review that failed.
func (r review) advice() string {
	switch r.Cause {
	case causeTooLong:
		return say(adviceCompact)
	case causeGone:
		return say(adviceLog)
	case causeKey:
		return cmp.Or(sayOf(providersLogin, r.Provider), say(adviceLogin))
	case causeModel:
		return cmp.Or(sayOf(providersModel, r.Provider), say(adviceModel))
	case causeForm:
		return say(adviceForm)
	}
	if r.occasion().isQuestion { // which the user answers now
		return say(adviceLog)
	}
	return say(adviceContinue)
}

// reviewTitle names what was reviewed, a stop or a question, and which review of the request it was.
func (r review) reviewTitle() string {
	title := say(r.occasion().title)
	if r.Iteration > 0 { // else it counts for no limit
		title += " " + r.reviewNumber()
	}
	return title
}

// reviewNumber is which review of the request it was, and how many the request has, as in 1/10.
func (r review) reviewNumber() string { return fmt.Sprintf("%d/%d", r.Iteration, r.Limit) }

// usedUp says at the limit what of the request is used up.
func (r review) usedUp() string {
	return cmp.Or(r.Error, say(limitReached, plural(r.Limit, reviews)))
}

// inWords returns a call, a refusal or words for people, "" for another step. Paths below top are relative.
func (s step) inWords(top string) string {
	switch s.Kind {
	case stepCall:
		return "· " + callInWords(s.Tool, top)
	case stepRefused:
		return "· " + say(leadRefused) + " " + callInWords(s.Tool, top)
	}
	return s.Words
}

// callInWords is a call as people read it, as in "reading tally.py"; of a command it is the command.
func callInWords(call, top string) string {
	tool, about, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	switch {
	case about == "":
	case tool == "Read":
		return say(readingFile, pathFrom(top, about))
	case tool == "Grep", tool == "Glob":
		return say(searchingFor, pathFrom(top, about))
	}
	return doing(call)
}

func isCommand(call string) bool { return strings.HasPrefix(call, "Bash(") }

// tryCall matches the beginning of a call of ccc try, up to the command that it runs.
var tryCall = lazyRegexp(
	`^Bash\(((cd|timeout) \S+ +(&& +)?)*(\S*/ccc[^/\s]*|'[^']*/ccc[^/']*') +try +(--timeout \S+ +)?`)

// doing returns a call, or the command that the call runs, without ccc try.
func doing(call string) string {
	command, isCommand := strings.CutPrefix(call, "Bash(")
	if !isCommand {
		return call
	}
	tried := tryCall().ReplaceAllString(call, "")
	if tried == call {
		return strings.TrimSuffix(command, ")")
	}
	tried = strings.TrimSuffix(tried, ")")
	if script, isQuoted := strings.CutPrefix(tried, "'"); isQuoted {
		script, rest, _ := strings.Cut(script, "'")
		return script + rest
	}
	return tried
}

// pathFrom is a path as people read it: without top, the directory that they are in, or with ~ for HOME.
func pathFrom(top, path string) string {
	if rest, isBelow := strings.CutPrefix(path, top+"/"); isBelow && top != "" {
		return rest
	}
	home, _ := os.UserHomeDir()
	if rest, isBelow := strings.CutPrefix(path, home+"/"); isBelow && home != "" {
		return "~/" + rest
	}
	return path
}

// runExitCode is the exit code of what ccc try ran.
func (s step) runExitCode() int {
	if s.ExitCode == nil {
		return 0
	}
	return *s.ExitCode
}

// runEnd is how the command that ccc try ran ended.
func (s step) runEnd() string {
	return say(exitedWith, s.runExitCode()) + " · " + duration(s.DurationSeconds)
}

// reviewPrice is the time and money that the review took.
func (r review) reviewPrice() string {
	if r.DurationSeconds > 0 {
		return joined(duration(r.DurationSeconds), dollars(r.CostUSD))
	}
	return dollars(r.CostUSD)
}

// reviewSpending is the price with the tokens, and what made these cheap.
func (r review) reviewSpending() string {
	spent := r.reviewPrice()
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		used := say(tokensUsed, grouped(t.freshInput()), grouped(t.CacheRead), grouped(t.Output))
		spent = joined(spent, used)
	}
	switch {
	case r.CacheMissed:
		return joined(spent, say(agentsCacheMissed))
	case r.Way == "cache":
		return joined(spent, say(agentsCache))
	}
	return spent
}

// isAnswered reports whether the review came to a verdict: an approval or a refusal.
func (r review) isAnswered() bool { return r.Verdict == verdictAllow || r.Verdict == verdictBlock }

// verdictBasis is what a verdict rests on if nothing was run in a copy, else "".
func (r review) verdictBasis() string {
	hasCommand := slices.ContainsFunc(r.did.Tools, isCommand)
	isReading := func(call string) bool {
		tool, _, _ := strings.Cut(call, "(")
		return slices.Contains([]string{"Read", "Grep", "Glob"}, tool)
	}
	isRun := func(s step) bool { return s.runExitCode() != tryImpossible }
	switch {
	case r.isAnswered() && r.Rule != "":
		return oneLine(r.Rule)
	case !r.isAnswered(), slices.ContainsFunc(r.did.Runs, isRun), r.did.Tools == nil: // not recorded
		return ""
	case r.NoCopy != "" && hasCommand: // which the user's rules allowed, on the files themselves
		return say(receiptLacksCopy, say(receiptNoCopy))
	case r.NoCopy != "":
		return say(receiptLacksCopy, say(receiptNoRun))
	case hasCommand:
		return say(receiptNoCopy)
	case slices.ContainsFunc(r.did.Tools, isReading):
		return say(receiptRead)
	case len(r.did.Refused) > 0:
		return say(receiptRefused)
	case len(r.Change) > 0:
		return say(receiptChange)
	}
	return say(receiptNothing)
}

// receipt is the review in a line. It shows the last runs that failed, then the last others, in their order.
func (r review) receipt() string {
	const most = 3
	chosen := map[int]bool{}
	for _, isFailed := range []bool{true, false} {
		for i := len(r.did.Runs) - 1; i >= 0 && len(chosen) < most; i-- {
			if (r.did.Runs[i].runExitCode() != 0) == isFailed {
				chosen[i] = true
			}
		}
	}
	word := oneLine(r.verdictName())
	if r.isByCheck() {
		word = say(sentBackByCheck, word)
	}
	parts := []string{say(titleAndWord, r.reviewTitle(), word), r.reviewPrice()}
	for i, run := range r.did.Runs {
		if chosen[i] {
			parts = append(parts, clip(unbroken(run.Command), 60)+" → "+run.runResult())
		}
	}
	if more := len(r.did.Runs) - len(chosen); more > 0 {
		parts = append(parts, plural(more, moreRuns))
	}
	unseen := clip(oneLine(r.withoutChange()), 80)
	parts = append(parts, r.verdictBasis(), unseen, r.withoutVerdict(), r.stillToCome(),
		sayOf(reviewedBy, r.Judge))
	return joined(parts...)
}

// stillToCome is what an approval let the agent wait for, "" for nothing and for any other verdict.
func (r review) stillToCome() string {
	if !r.approves() {
		return ""
	}
	return sayOf(stillToCome, r.Awaited)
}

// withoutChange is why the reviewer was shown no change, "" for none.
func (r review) withoutChange() string {
	if !r.isAnswered() {
		return ""
	}
	return sayOf(receiptUnseen, r.Seen.Unseen)
}

// printed is what the run printed, as a terminal shows it: of a line with carriage returns the last state.
func (s step) printed() string {
	lines := strings.Split(s.Output, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// told is what the reviewer is told of a run of the check.
func (s step) told() string {
	length := duration(s.DurationSeconds)
	switch {
	case s.Error != "":
		return say(toldNoResult, s.runFault(), length) + "\n" + fenced("", s.Output)
	case s.isRed():
		return say(toldRed, s.runExitCode(), length) + "\n" + fenced("", s.Output)
	}
	return say(toldPassed, length, s.runResult())
}

// runFault is why a run did not take place or was ended by ccc, "" if neither is so.
func (s step) runFault() string {
	why := cutMiddle(oneLine(s.Error), 200)
	switch {
	case why == "":
		return ""
	case s.runExitCode() == tryTimedOut:
		return say(timedOut)
	case s.runExitCode() == tryImpossible:
		return say(runWithoutCopy, why)
	}
	return why
}

// runResult is what a run gave: why it gave nothing, its exit code, or if that is 0 its last line.
func (s step) runResult() string {
	printed := s.printed()
	if s.Error != "" && s.runExitCode() >= tryTimedOut {
		return clip(s.runFault(), 80)
	}
	if s.runExitCode() != 0 || printed == "" {
		return say(exitedWith, s.runExitCode())
	}
	return clip(unbroken(printed[strings.LastIndex(printed, "\n")+1:]), 60)
}

// withoutVerdict is what became of an answer without a verdict, "" for one with a verdict.
func (r review) withoutVerdict() string {
	switch {
	case r.Withheld:
		return say(unreadableVerdict)
	case r.NoVerdict:
		return say(withoutVerdict)
	}
	return ""
}
