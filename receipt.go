package main

// A record and a review in words: its title, verdict and price, a step of the reviewer, and the receipt, the
// line that says what a verdict rests on.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
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

// shown returns r with secrets redacted, for a view.
func (r record) shown() record {
	for _, quoted := range []*string{&r.Prompt, &r.Tool, &r.Words, &r.Command, &r.Output, &r.NoCopy, &r.Unseen,
		&r.LastMessage, &r.Question, &r.Feedback, &r.Error} {
		*quoted = redact(*quoted)
	}
	r.Requests = mapped(r.Requests, redact)
	return r
}

// shown returns r and what was recorded while it ran with secrets redacted, for a view.
func (r reviewRound) shown() reviewRound {
	r.record = r.record.shown()
	r.Tools, r.Refused, r.Runs = mapped(r.Tools, redact), mapped(r.Refused, redact), mapped(r.Runs, record.shown)
	return r
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

// step is what a reviewer called, was refused or said, else "". Paths are told from top on.
func (r record) step(top string) string {
	switch r.Kind {
	case kindCall:
		return "· " + callInWords(r.Tool, top)
	case kindRefused:
		return "· " + say(leadRefused) + " " + callInWords(r.Tool, top)
	}
	return r.Words
}

// callInWords tells a call as people read it, as in "reading tally.py"; of a command it is the command.
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

// place is the directory from which paths of the review are told.
func (r record) place() string { return cmp.Or(r.Top, r.Project) }

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

// questionText is what an input of AskUserQuestion asks: the questions, and below each its options.
func questionText(input json.RawMessage) string {
	var asked struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	_ = json.Unmarshal(input, &asked)
	var lines []string
	for _, q := range asked.Questions {
		lines = append(lines, oneLine(q.Question))
		for _, option := range q.Options {
			lines = append(lines, "- "+oneLine(option.Label))
		}
	}
	return strings.Join(lines, "\n")
}

// spent is the price with the tokens, and what made these cheap.
func (r record) spent() string {
	used := ""
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		used = say(tokensUsed, grouped(t.fresh()), grouped(t.CacheRead), grouped(t.Output))
	}
	cache := ""
	if r.CacheMissed {
		cache = say(agentsCacheMissed)
	} else if r.Way == "cache" {
		cache = say(agentsCache)
	}
	return joined(r.price(), used, cache)
}

// receiptHead is the review's title and verdict, time and cost.
func (r record) receiptHead() string { return joined(r.title()+" "+verdictName(r.Verdict), r.price()) }

// hasLooked reports whether the reviewer has read a file or run a command.
func (r reviewRound) hasLooked() bool {
	isLook := func(call string) bool {
		tool, _, _ := strings.Cut(call, "(")
		return isCommand(call) || slices.Contains([]string{"Read", "Grep", "Glob"}, tool)
	}
	return len(r.Runs) > 0 || slices.ContainsFunc(r.Tools, isLook)
}

// basis says what a verdict rests on where nothing was run in a copy, "" where there is none.
func (r reviewRound) basis() string {
	hasCommand := slices.ContainsFunc(r.Tools, isCommand)
	switch {
	case r.Review == "", r.Verdict == verdictFailed, r.Verdict == verdictCancelled:
		return ""
	case r.lacksCopy() && hasCommand: // which the user's rules allowed, on the files themselves
		return say(receiptLacksCopy, say(receiptNoCopy))
	case r.lacksCopy():
		return say(receiptLacksCopy, say(receiptNoRun))
	case hasCommand:
		return say(receiptNoCopy)
	case r.hasLooked():
		return say(receiptRead)
	case len(r.Refused) > 0:
		return say(receiptRefused)
	}
	return say(receiptNothing)
}

// lacksCopy reports whether no copy could be made for the review. Where copies are switched off one could.
func (r record) lacksCopy() bool {
	return r.NoCopy != "" && r.NoCopy != errTryOff.zh && r.NoCopy != errTryOff.en
}

// receiptRuns is how many runs a receipt tells.
const receiptRuns = 3

// receipt is the round in a line. Of the runs it tells the last that failed, then the last of the others, in
// the order in which they ran.
func (r reviewRound) receipt() string {
	told := map[int]bool{}
	for _, isFailed := range []bool{true, false} {
		for i := len(r.Runs) - 1; i >= 0 && len(told) < receiptRuns; i-- {
			if (r.Runs[i].code() != 0) == isFailed {
				told[i] = true
			}
		}
	}
	parts := []string{r.receiptHead()}
	for i, run := range r.Runs {
		if told[i] {
			parts = append(parts, clip(unbroken(mainLine(run.Command)), 60)+" → "+run.result())
		}
	}
	if more := len(r.Runs) - len(told); more > 0 {
		parts = append(parts, count(more, moreRuns))
	}
	if len(r.Runs) == 0 {
		parts = append(parts, r.basis())
	}
	parts = append(parts, r.withoutVerdict())
	return joined(parts...)
}

// result is what a run gave: its exit code, or where that is 0 the last line that it printed.
func (r record) result() string {
	printed := strings.TrimSpace(r.Output)
	if r.code() != 0 || printed == "" {
		return say(exitedWith, r.code())
	}
	return clip(unbroken(printed[strings.LastIndex(printed, "\n")+1:]), 60)
}

var (
	// hereDocument finds the word that ends a here-document.
	hereDocument = lazyRegexp(`<<-?\s*["'\\]?([A-Za-z_][A-Za-z0-9_]*)`)
	// shellKeyword finds a line of a script that is no command by itself.
	shellKeyword = lazyRegexp(`^(done|fi|esac|else|then|do|in|\{|\}|\(|\)|;;)?\s*([;&|<>2].*)?$`)
)

// mainLine returns the line of a script that matters: the last that is a command.
func mainLine(script string) (last string) {
	until := ""
	for _, line := range strings.Split(script, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case until != "":
			if trimmed == until {
				until = ""
			}
			continue
		case strings.HasPrefix(trimmed, "#"), shellKeyword().MatchString(trimmed):
		default:
			last = trimmed
		}
		if found := hereDocument().FindStringSubmatch(line); found != nil {
			until = found[1]
		}
	}
	if last == "" {
		return script
	}
	return last
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
