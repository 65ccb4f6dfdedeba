package main

// A review in a line: number, verdict, time, cost, and what the verdict rests on.

import (
	"slices"
	"strings"
)

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
		parts = append(parts, clip(unbroken(run.Command), 60)+" → "+say(exitedWith, run.code()))
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
		return say(unreadableVerdict)
	case r.NoVerdict:
		return say(withoutVerdict)
	}
	return ""
}
