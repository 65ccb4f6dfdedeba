package main

// Supervised sessions on one line each: ccc status. A session that can't be read hides no other.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// statusRows is how many sessions ccc status lists: a screen of them.
const statusRows = 20

func showStatus(c *invocation, d dirs) error {
	ids, err := d.state.sessions()
	if err != nil {
		return err
	}
	config := c.config // a broken one is no reason not to show the rest
	s := newScreen(os.Stdout)
	sessions := []summary{}
	moved := map[string]bool{} // what goes on as another session, which is newer
	for _, id := range ids {
		if len(sessions) == statusRows && !c.has("--json") {
			break
		}
		known := summarize(d.state.session(id), config)
		moved[known.movedFrom] = true
		if moved[id] {
			continue
		}
		reportError(os.Stderr, known.err)
		if known.err != nil || !known.UpdatedAt.IsZero() {
			sessions = append(sessions, known)
		}
	}
	switch {
	case c.has("--json"):
		s.Write(append(encodeJSON(sessions), '\n'))
	case len(sessions) == 0:
		s.writeBlock("", say(noSessionYet, pathFrom("", d.here)))
	default:
		showTable(s, sessions)
		fmt.Fprintln(s)
		s.writeText(sumUp(sessions))
	}
	if !c.has("--json") {
		fmt.Fprint(os.Stderr, config.englishOffer(d))
	}
	return s.Flush()
}

// A summary is a session on one line. ccc status --json prints a list of them, newest first, each with all of
// these members but doing: a number that is not known is 0, a text "".
type summary struct {
	Session   string     `json:"session_id"`      // Claude Code's id
	Project   string     `json:"project"`         // the directory in which it was started
	Mode      mode       `json:"mode"`            // on, off or observe, seen from outside; "": no state
	Count     int        `json:"count"`           // reviews of the present request; an end begins it anew
	Limit     int        `json:"max_iterations"`  // how many that has
	Verdict   verdict    `json:"verdict"`         // of its last review, or reviewing while one runs
	Observed  bool       `json:"observed"`        // that review sends nobody back
	VerdictAt *time.Time `json:"verdict_at"`      // when it was given, or that review began; null: none was
	Judge     string     `json:"judge"`           // who judged, if not the session's provider and model
	Doing     string     `json:"doing,omitempty"` // the last tool call of the review that runs
	Reviews   int        `json:"reviews"`         // of the session in all, failed and cancelled ones too
	SentBack  int        `json:"sent_back"`       // stops that were sent back
	ActedOn   int        `json:"acted_on"`        // of these: a file had changed at the session's next stop
	Approved  int        `json:"approved"`        // stops that were approved
	Unjudged  int        `json:"not_reviewed"`    // stops whose review failed or was cancelled
	Failed    int        `json:"failed_reviews"`  // those that failed
	CostUSD   float64    `json:"cost_usd"`        // of all, in US dollars, as Claude Code reckons them
	Tokens    tokens     `json:"tokens"`          // of all
	UpdatedAt time.Time  `json:"updated_at"`      // when ccc last wrote of it
	Request   string     `json:"request"`         // the first words of the newest request, redacted
	number    int        // of the last review of the present request, 0 before the first
	result    string     // Verdict with its time, as people read it
	past      []review   // all of its reviews
	movedFrom string     // the session that it was before Claude Code moved it, "" for none
	err       error      // what of it can't be read
}

// summarize reads a session's state and timeline. What can't be read is missing, and err is why.
func summarize(known sessionFiles, config *configuration) summary {
	state, stateErr := known.readState()
	movedFrom := ""
	if n := len(state.MovedFrom); n > 0 && !state.Forked {
		movedFrom = state.MovedFrom[n-1]
	} else {
		state.MovedFrom = nil // a fork has a history of its own
	}
	h, err := known.readPast(state)
	s := summary{Session: known.id, Project: h.project, Count: state.Count, UpdatedAt: state.UpdatedAt,
		movedFrom: movedFrom, Limit: cmp.Or(h.limit, config.Supervisor.MaxIterations),
		err: errors.Join(stateErr, err)}
	if !state.UpdatedAt.IsZero() {
		s.Mode = modeOf(state, client{asked: "1"}, config.Supervisor.Observe) // on, if it was never switched
	}
	if h.updated.After(s.UpdatedAt) {
		s.UpdatedAt = h.updated
	}
	s.past = h.Reviews
	s.add(h.Reviews)
	s.number = h.last.number
	s.Request = clip(oneLine(redact(h.newestRequest())), 100)
	if last := h.last.result; last != nil {
		at := last.lastTime()
		s.Verdict = last.Verdict
		s.Observed = last.Observed
		s.VerdictAt = &at
		s.result = last.result()
		s.Judge = last.Judge
		if s.Verdict == verdictReviewing {
			s.Doing = doing(redact(last.did.current))
		}
	}
	if h.isPutOff {
		s.result = say(awaitsSubagents)
	}
	return s
}

// add adds a session's reviews. The agent has acted on a refusal if its next stop saw another tree.
func (s *summary) add(all []review) {
	var refused look
	for _, r := range all {
		s.CostUSD = math.Round((s.CostUSD+r.CostUSD)*1e6) / 1e6
		if r.Tokens != nil {
			s.Tokens.add(*r.Tokens)
		}
		if !slices.Contains([]verdict{verdictLimit, verdictReviewing}, r.Verdict) {
			s.Reviews++
		}
		if r.Verdict == verdictFailed {
			s.Failed++
		}
		if !r.occasion().isStop {
			continue
		}
		if refused.Tree != "" && r.Seen.Tree != "" && r.Seen.Tree != refused.Tree {
			s.ActedOn++
		}
		refused = look{}
		switch r.Verdict {
		case verdictAllow:
			s.Approved++
		case verdictFailed, verdictCancelled:
			s.Unjudged++
		case verdictBlock:
			if !r.Observed {
				s.SentBack++
				refused = r.Seen
			}
		}
	}
}

// sumUp is what all these sessions have, on one line. Of less than five refusals it tells no share.
func sumUp(sessions []summary) string {
	var all summary
	for _, s := range sessions {
		all.add(s.past)
	}
	acted := ""
	if all.SentBack >= 5 {
		acted = say(sumActedOn, all.ActedOn)
	}
	numbers := say(sumNumbers, plural(all.Reviews, reviews), all.SentBack, acted, all.Approved, all.Unjudged)
	return joined(numbers, dollars(all.CostUSD))
}

// shortID is the beginning of an id, which names it nearly always.
func shortID(id string) string { return id[:min(8, len(id))] }

// counted is how many reviews of its request the session has had, of how many, after its mode if that is not
// on. An observed one has no limit.
func (s summary) counted() string {
	mode := say(modeCells[s.Mode])
	if s.Mode == modeObserve {
		return mode
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d/%d", mode, s.number, s.Limit))
}

// showTable writes the sessions as a table, each on one line. A long project is cut at its beginning, as the
// end of a path tells more. It has at most half of what it shares with the request, which is cut at its end.
func showTable(s *screen, sessions []summary) {
	const result, project, request = 2, 4, 5 // columns of statusHeads
	var heads []string
	var widths [request]int
	for _, head := range statusHeads {
		heads = append(heads, say(head))
	}
	rows := [][]string{heads}
	for _, session := range sessions {
		rows = append(rows, mapped([]string{shortID(session.Session), session.counted(),
			cmp.Or(session.result, "-"), cmp.Or(dollars(session.CostUSD), "-"),
			cmp.Or(pathFrom("", session.Project), "-"), cmp.Or(session.Request, "-")}, oneLine))
	}
	shared := s.width
	for column := range widths {
		for _, row := range rows {
			widths[column] = max(widths[column], displayWidth(row[column]))
		}
		shared -= 2
		if column != project {
			shared -= widths[column]
		}
	}
	widths[project] = min(widths[project], max(12, shared/2))
	for i, row := range rows {
		for path := []rune(row[project]); displayWidth(row[project]) > widths[project]; path = path[1:] {
			row[project] = "…" + string(path[1:])
		}
		line := ""
		for column, width := range widths {
			pad := strings.Repeat(" ", width-displayWidth(row[column])+2)
			cell := row[column]
			if column == result && i > 0 {
				cell = s.paint(verdictColour(sessions[i-1].Verdict), cell)
			}
			line += cell + pad
		}
		if room := shared - widths[project]; room > 1 {
			line += clip(row[request], room)
		}
		colour := ""
		if i == 0 {
			colour = dim
		}
		fmt.Fprintln(s, s.paint(colour, strings.TrimRight(line, " ")))
	}
}
