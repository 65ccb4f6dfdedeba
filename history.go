package main

// What a session's timeline tells: the user's requests, and the reviews with all that happened while they ran.

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reviewRound is one review of a session, or a stop at the limit, with what was recorded while it ran.
type reviewRound struct {
	record            // how it ended; of one that runs, or ended without a word, how it began
	Runs     []record `json:"runs"`    // what ccc try ran
	Refused  []string `json:"refused"` // calls that Claude Code refused to the reviewer
	requests int      // how many prompts of the user's came before it
}

// A history is what a session's timeline tells, in order.
type history struct {
	Requests []record
	Rounds   []reviewRound
	project  string
	limit    int       // of reviews a request
	updated  time.Time // the last record's
	present  int       // the first of Rounds since the user's last prompt, or since supervision was switched off
	loose    []record  // runs of a review of ccc 1.1 that has no end yet
}

// readHistory reads the session's timeline. With an error the history holds what could be read. A review that has no
// end runs, or has failed if its process is gone or its deadline past.
func (s session) readHistory() (h history, err error) {
	err = s.readTimeline(h.add)
	for i := range h.Rounds {
		h.Rounds[i].settle()
	}
	return h, err
}

// settle says what has become by now of a review that has no end.
func (r *reviewRound) settle() {
	if r.Verdict != "" {
		return
	}
	r.Verdict = verdictReviewing
	if time.Now().After(r.Deadline) || isVisible(r.Process) && !isRunning(r.Process) {
		r.Verdict, r.Error = verdictFailed, errKilled.Error()
	}
}

// of returns the index of the review with that id, of those without, from ccc 1.1, the last; -1 for none.
func (h *history) of(review string) int {
	i := len(h.Rounds) - 1
	for i >= 0 && h.Rounds[i].Review != review {
		i--
	}
	return i
}

// round returns the round that found is the end of, with what else the timeline has of it.
func (s session) round(found record) reviewRound {
	h, _ := s.readHistory()
	for _, r := range slices.Backward(h.Rounds) {
		if found.Review != "" && r.Review == found.Review {
			if r.Verdict != found.Verdict { // its end could not be recorded
				r.record = found
			}
			return r
		}
	}
	return reviewRound{record: found}
}

// isUnderReview tells whether that review runs, as far as can be seen here above this process: what an agent runs is none of
// its runs, even if it says so.
func (s session) isUnderReview(review string) bool {
	h, _ := s.readHistory()
	return slices.ContainsFunc(h.Rounds, func(r reviewRound) bool {
		isAbove := func() bool {
			return slices.ContainsFunc(ancestry(os.Getpid()), func(p process) bool { return p.name == r.Process })
		}
		return r.Review == review && r.Verdict == verdictReviewing && (!isVisible(r.Process) || isAbove())
	})
}

// isRunning tells whether the process of that name runs.
func isRunning(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(number)
	_, p := processInfo(pid)
	return name != "" && p.name == name
}

func (h *history) add(r record) {
	h.project, h.limit = cmp.Or(r.Project, h.project), cmp.Or(r.Limit, h.limit)
	if r.Time.After(h.updated) {
		h.updated = r.Time
	}
	open := -1 // the review that the record belongs to
	if r.Review != "" {
		open = h.of(r.Review)
	}
	switch {
	case r.Event == eventPrompt:
		h.Requests = append(h.Requests, r)
		h.present = len(h.Rounds)
	case r.Event == eventSwitch && r.Mode == modeWord(false):
		h.present = len(h.Rounds)
		if h.present > 0 && h.Rounds[h.present-1].Verdict == "" {
			h.present-- // it ends the review that runs
		}
	case r.Event == eventTry && r.Review == "":
		h.loose = append(h.loose, r)
	case r.Event == eventTry && open >= 0:
		h.Rounds[open].Runs = append(h.Rounds[open].Runs, r)
	case r.Event == eventRefused && open >= 0:
		h.Rounds[open].Refused = append(h.Rounds[open].Refused, r.Tools...)
	case open >= 0: // its end
		r.LastMessage, r.Question, r.Requests = h.Rounds[open].LastMessage, h.Rounds[open].Question, h.Rounds[open].Requests
		h.Rounds[open].record = r
	case r.Verdict != "" || r.Review != "" && r.Event != eventTry && r.Event != eventRefused: // the begin of one, or all of it
		h.Rounds = append(h.Rounds, reviewRound{record: r, Runs: append([]record{}, h.loose...), Refused: []string{}, requests: len(h.Requests)})
		h.loose = nil
	}
}

// last returns the review that runs, else the last since the user's last prompt that is no question's, nil for none.
func (h *history) last() *reviewRound {
	for i := range h.Rounds {
		if h.Rounds[i].Verdict == verdictReviewing {
			return &h.Rounds[i]
		}
	}
	return lastOf(h.Rounds[h.present:])
}

// open is the feedback on the present request that no approval has followed.
func (h *history) open() (feedback string) {
	for _, r := range h.Rounds[h.present:] {
		if r.Event == eventStop && r.Verdict == verdictAllow {
			feedback = ""
		}
		if r.Event != eventReview && r.Verdict == verdictBlock {
			feedback = r.Feedback
		}
	}
	return feedback
}

// lastOf returns the last of rounds that is no question's, nil for none.
func lastOf(rounds []reviewRound) *reviewRound {
	for i := len(rounds) - 1; i >= 0; i-- {
		if rounds[i].Event != eventPreToolUse {
			return &rounds[i]
		}
	}
	return nil
}

// asked is the user's newest request that the review knew of.
func (r reviewRound) asked() string {
	return strings.Join(r.Requests[max(0, len(r.Requests)-1):], "")
}

// looks are the tools that the reviewer used, without the calls of ccc try where the runs account for them.
func (r reviewRound) looks() []string {
	others := slices.DeleteFunc(slices.Clone(r.Tools), tryCall().MatchString)
	if len(r.Tools)-len(others) > len(r.Runs) {
		return r.Tools
	}
	return others
}

var tryCall = lazyRegexp(`^Bash\((\S*/ccc[^/\s]*|'[^']*/ccc[^/']*') try (--timeout \S+ )?`)

// recentOutput is in bytes. It holds the running review from its beginning, but for one that has looked at large
// files; then its latest steps.
const recentOutput = 1 << 20

// steps returns a reader of what the reviewer of r does: each gets what it says, its calls, those that were refused, and, where
// a review begins, a block without a type.
func (s session) steps(r reviewRound, each func(contentBlock)) *lineReader {
	output := s.followOutput(recentOutput, func(line []byte) {
		var l streamLine
		_ = json.Unmarshal(line, &l)
		if l.Type == "system" && l.Subtype == "init" {
			each(contentBlock{})
		}
		for _, block := range l.Message.Content {
			if l.Type == "assistant" || block.isRefusal() {
				each(block)
			}
		}
	})
	if r.Event == eventReview {
		output.path = s.byHandFile()
	}
	if info, err := os.Stat(output.path); err == nil && info.ModTime().Before(r.Time) {
		output.last = 1 // what it holds is of the reviews before it
	}
	return output
}

// doing is what the review that runs does right now: its last tool call, of a command the command alone.
func (s session) doing(r reviewRound) (doing string) {
	_ = s.steps(r, func(step contentBlock) {
		if _, tool := step.shown(); tool != "" || step.Type == "" || step.isRefusal() {
			doing = tool
		}
	}).read()
	if tried := tryCall().ReplaceAllString(doing, ""); tried != doing {
		return strings.Trim(strings.TrimSuffix(tried, ")"), "'")
	}
	if command, isCommand := strings.CutPrefix(doing, "Bash("); isCommand {
		return strings.TrimSuffix(command, ")")
	}
	return doing
}
