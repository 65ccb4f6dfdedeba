package main

// A record and a review in words: its title, verdict and price, a step of the reviewer, and the receipt, the
// line that says what a verdict rests on.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func verdictName(v verdict) string {
	return cmp.Or(say(verdictNames[string(v)]), string(v)) // a timeline may hold any word
}

func verdictColour(v verdict) string {
	return map[verdict]string{
		verdictBlock: yellow, verdictAllow: green, verdictFailed: red, verdictLimit: red}[v]
}

// title names what was reviewed, a stop or a question, and which review of the request it was.
func (r record) title() string {
	if r.Event == eventPreToolUse {
		return say(titleQuestion) + r.number()
	}
	return say(titleReview) + r.number()
}

// number is ordinal behind a blank, "" for a review that counts for no limit.
func (r record) number() string {
	if r.Iteration == 0 {
		return ""
	}
	return " " + r.ordinal()
}

// ordinal is which review of the request it was, and how many the request has, as in 1/10.
func (r record) ordinal() string { return fmt.Sprintf("%d/%d", r.Iteration, r.Limit) }

// step is what a reviewer called, was refused or said, "" for a record of anything else.
func (r record) step() string {
	switch r.Kind {
	case kindCall:
		return "· " + r.Tool
	case kindRefused:
		return "· " + say(leadRefused) + " " + r.Tool
	}
	return r.Words
}

// code is the exit code of what ccc try ran.
func (r record) code() int {
	if r.ExitCode == nil {
		return 0
	}
	return *r.ExitCode
}

// ended is how the command that ccc try ran ended.
func (r record) ended() string {
	return say(exitedWith, r.code()) + " · " + duration(r.DurationSeconds)
}

// price is the time and money that the review took.
func (r record) price() string {
	took := ""
	if r.DurationSeconds > 0 {
		took = duration(r.DurationSeconds)
	}
	return joined(took, dollars(r.CostUSD))
}

// spent is the price with the tokens, and in which way the reviewer was asked.
func (r record) spent() string {
	used := ""
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		used = say(tokensUsed, grouped(t.fresh()), grouped(t.CacheRead), grouped(t.Output))
	}
	return joined(r.price(), used, say(waysTaken[r.Way]))
}

// receiptHead is the review's title and verdict, time and cost.
func (r record) receiptHead() string { return joined(r.title()+" "+verdictName(r.Verdict), r.price()) }

// basis says what a verdict rests on where nothing was run in a copy, "" for a review that did not begin.
func (r reviewRound) basis() string {
	isCommand := func(call string) bool { return strings.HasPrefix(call, "Bash(") }
	switch {
	case r.Review == "":
		return ""
	case slices.ContainsFunc(r.Tools, isCommand):
		return say(receiptNoCopy)
	case len(r.Tools) > 0:
		return say(receiptRead)
	}
	return say(receiptNothing)
}

// receipt is the review in a line: title, verdict, time, cost, and what the verdict rests on. Of the commands
// that were run it names three: those that failed first, the last of them before the others.
func (r reviewRound) receipt() string {
	const most = 3
	runs := slices.Clone(r.Runs)
	slices.Reverse(runs)
	slices.SortStableFunc(runs, func(a, b record) int { return min(b.code(), 1) - min(a.code(), 1) })
	parts := []string{r.receiptHead()}
	for _, one := range runs[:min(most, len(runs))] {
		parts = append(parts, clip(unbroken(one.Command), 60)+" → "+say(exitedWith, one.code()))
	}
	if len(runs) > most {
		parts = append(parts, count(len(runs)-most, moreRuns))
	}
	if len(runs) == 0 {
		parts = append(parts, r.basis())
	}
	parts = append(parts, r.withoutVerdict())
	if r.Changed && r.Verdict == verdictAllow {
		parts = append(parts, errChanged.Error())
	}
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
