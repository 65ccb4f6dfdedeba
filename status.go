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

// showStatus is ccc status [--all] [--json].
func showStatus(c *invocation, d dirs) error {
	sessions, err := summarizeAll(d, nil)
	if err != nil {
		return err
	}
	s, shown := newScreen(os.Stdout), sessions
	if len(sessions) > statusRows && !c.has("--all") {
		shown = sessions[:statusRows]
	}
	switch {
	case c.has("--json"):
		s.Write(append(encodeJSON(sessions), '\n'))
	case len(sessions) == 0:
		s.writeNothingIn(d.here, 0)
	default:
		showTable(s, shown)
		newest := slices.IndexFunc(sessions, func(session summary) bool { return d.isOfProject(session.Project) })
		for i, session := range sessions {
			line := ""
			switch {
			case session.now != session.Doing:
				line = say(sessionIs, session.shortID(), unbroken(session.now))
			case session.now != "":
				line = say(sessionRuns, session.shortID(), unbroken(session.now))
			case session.why != "" && i == newest:
				line = say(sessionUnreviewed, session.shortID(), oneLine(session.why))
			}
			if line != "" {
				fmt.Fprintln(s, clip(line, s.width))
			}
		}
		if more := len(sessions) - len(shown); more > 0 {
			s.writeBlock("", say(moreSessions, more))
		}
		if newest < 0 {
			s.writeNothingIn(d.here, len(sessions))
		}
		s.writeMonth(sessions, d)
	}
	err = s.Flush()
	if config, _ := loadConfig(d); !c.has("--json") {
		config.offerEnglish(d)
	}
	var old []string
	for _, session := range sessions {
		reportError(os.Stderr, session.err)
		if session.hasOld {
			old = append(old, session.shortID())
		}
	}
	noticeOld(old)
	return err
}

// writeNothingIn writes that no session is of the directory, and how many there are elsewhere.
func (s *screen) writeNothingIn(dir string, elsewhere int) {
	if elsewhere > 0 {
		s.writeBlock("", say(noSessionHere, pathFrom("", dir), elsewhere))
	} else {
		s.writeBlock("", say(noSessionYet, pathFrom("", dir)))
	}
}

// writeMonth writes what the reviews of this project came to in the last 30 days, if there were any.
func (s *screen) writeMonth(sessions []summary, d dirs) {
	var all spell
	for _, session := range sessions {
		if month := session.month; month != (spell{}) && d.isOfProject(session.Project) {
			all.reviews += month.reviews
			all.sentBack += month.sentBack
			all.costUSD += month.costUSD
			all.seconds += month.seconds
		}
	}
	if all.reviews == 0 {
		return
	}
	cost := dollars(all.costUSD)
	if cost != "" {
		cost = say(monthCost, cost)
	}
	minutes := int(math.Ceil(all.seconds / 60))
	s.writeBlock("", say(monthOfReviews, count(all.reviews, reviews), all.sentBack, cost, minutes))
}

// noticeOld prints on stderr of which sessions lines of ccc 1.x were not read.
func noticeOld(sessions []string) {
	if len(sessions) > 0 {
		notice(say(linesNotRead, strings.Join(sessions, ", ")))
	}
}

// A summary is a session on one line. ccc status --json prints a list of them, newest first, each with all of
// these members but doing: a number that is not known is 0, a text "". Of what ccc 1.x recorded they have
// project and updated_at.
type summary struct {
	Session   string     `json:"session_id"`      // Claude Code's id
	Project   string     `json:"project"`         // the directory in which it was started
	Mode      mode       `json:"mode"`            // on, off or observe, seen from outside; "": it has no state
	Count     int        `json:"count"`           // reviews of the present request
	Limit     int        `json:"max_iterations"`  // how many that has
	Verdict   verdict    `json:"verdict"`         // of its last review, or reviewing while one runs
	Observed  bool       `json:"observed"`        // that review sends nobody back
	VerdictAt *time.Time `json:"verdict_at"`      // when it was given, or that review began; null: none was
	Doing     string     `json:"doing,omitempty"` // the last tool call of the review that runs
	Reviews   int        `json:"reviews"`         // of the session in all, failed and cancelled ones too
	Failed    int        `json:"failed_reviews"`  // those that failed
	CostUSD   float64    `json:"cost_usd"`        // of all, in US dollars, as Claude Code reckons them
	Tokens    tokens     `json:"tokens"`          // of all
	UpdatedAt time.Time  `json:"updated_at"`      // when ccc last wrote of it
	Request   string     `json:"request"`         // the first words of the newest request, redacted
	month     spell      // its reviews of the last 30 days
	result    string     // Verdict as people read it; of a review that runs with its number
	now       string     // Doing as people read it
	why       string     // why the last stop was not reviewed
	hasOld    bool       // what ccc 1.x recorded of it is not read
	err       error      // what of it can't be read
}

// A spell is what the reviews of some time came to.
type spell struct {
	reviews, sentBack int
	costUSD, seconds  float64 // of those without a verdict, too; a cost that is not known is 0
}

func (s *spell) add(r review) {
	s.costUSD += r.CostUSD
	s.seconds += r.DurationSeconds
	if r.isAnswered() {
		s.reviews++
	}
	if r.Verdict == verdictBlock && !r.Observed {
		s.sentBack++
	}
}

// summarizeAll returns the sessions, newest first, without those in seen.
func summarizeAll(d dirs, seen map[string]bool) ([]summary, error) {
	ids, err := d.state.sessions()
	config, _ := loadConfig(d) // a broken one is no reason not to show the rest
	all := []summary{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		s := summarize(d.state.session(id), config)
		if s.err != nil || !s.UpdatedAt.IsZero() {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b summary) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, err
}

// summarize reads a session's state and timeline. What can't be read is missing, and err is why.
func summarize(known sessionFiles, config *configuration) summary {
	state, stateErr := known.readState()
	h, err := known.readHistory()
	s := summary{Session: known.id, Project: h.project, Count: state.Count, UpdatedAt: state.UpdatedAt,
		Limit: cmp.Or(h.limit, config.Supervisor.MaxIterations), hasOld: h.hasOld, err: errors.Join(stateErr, err)}
	if !state.UpdatedAt.IsZero() {
		s.Mode = state.modeSeen(config.Supervisor.Observe)
	}
	if h.updated.After(s.UpdatedAt) {
		s.UpdatedAt = h.updated
	}
	for _, r := range h.Reviews {
		s.CostUSD += r.CostUSD
		if r.Tokens != nil {
			s.Tokens.add(*r.Tokens)
		}
		switch r.Verdict {
		case verdictFailed:
			s.Failed++
			s.Reviews++
		case verdictAllow, verdictBlock, verdictCancelled:
			s.Reviews++
		}
		if time.Since(r.Begun) < 30*24*time.Hour {
			s.month.add(r)
		}
	}
	s.Request = clip(firstLine(redact(h.newestRequest())), 100)
	s.CostUSD = math.Round(s.CostUSD*1e6) / 1e6
	if last := h.lastReview(); last != nil {
		at := last.lastTime()
		s.Verdict, s.Observed, s.VerdictAt = last.Verdict, last.Observed, &at
		s.result = last.verdictName()
		switch s.Verdict {
		case verdictReviewing:
			if last.Iteration > 0 {
				s.result += " " + last.reviewNumber()
			}
			call := redact(last.did.current)
			s.Doing, s.now = doing(call), callInWords(call, last.Seen.Top)
		case verdictFailed:
			s.why = redact(last.Error)
		}
	}
	return s
}

func (s summary) shortID() string { return s.Session[:min(8, len(s.Session))] }

// lastLine is the review that runs, as in reviewing 1/10 · 12s · go test ./..., or the last verdict.
func (s summary) lastLine() string {
	const shown = 60 // columns of the reason
	result := oneLine(s.result)
	switch {
	case s.Verdict == "":
		return ""
	case s.Verdict == verdictReviewing:
		return joined(result, s.verdictAge(), unbroken(s.now))
	case s.why != "":
		result = say(withReason, result, clip(oneLine(s.why), shown))
	}
	return say(supervisedLast, result, s.verdictAge())
}

// showTable writes the sessions as a table, each on one line. The columns are the same at every width: only
// the words of the request are cut. The mode is shown where one of the sessions has another than on. A review
// that runs takes the place of verdict and time.
func showTable(s *screen, sessions []summary) {
	const modeColumn, result, when, request = 1, 3, 4, 7 // columns of statusHeads
	rows, widths := make([][]string, 1, len(sessions)+1), make([]int, len(statusHeads))
	for _, head := range statusHeads {
		rows[0] = append(rows[0], say(head))
	}
	hasMode := func(session summary) bool { return say(modeCells[session.Mode]) != "" }
	if !slices.ContainsFunc(sessions, hasMode) {
		rows[0][modeColumn] = ""
	}
	for _, session := range sessions {
		used := fmt.Sprintf("%d/%d", session.Count, session.Limit)
		row := []string{session.shortID(), say(modeCells[session.Mode]), used, session.result,
			session.verdictAge(), dollars(session.CostUSD), pathFrom("", session.Project), session.Request}
		for column := range row {
			if row[column] = oneLine(row[column]); column != modeColumn {
				row[column] = cmp.Or(row[column], "-")
			}
		}
		if session.Verdict == verdictReviewing {
			row[result], row[when] = joined(row[result], row[when]), ""
		}
		rows = append(rows, row)
	}
	for column := range widths {
		for _, row := range rows {
			width := displayWidth(row[column])
			if row[when] == "" && column == result {
				width = 0
			} else if row[when] == "" && column == when {
				width = displayWidth(row[result]) - widths[result] - 2
			}
			widths[column] = max(widths[column], width)
		}
	}
	for i, row := range rows {
		line, used, start := "", 0, 0
		for column, cell := range row {
			gap := max(start-used, min(used, 2)) // behind a cell that is wider than its column
			if widths[column] > 0 {
				start += min(widths[column], s.width/4) + 2
			}
			if room := s.width - used - gap; column == request && room > 1 {
				cell = clip(cell, room)
			} else if cell == "" || column == request {
				continue
			}
			used += gap + displayWidth(cell)
			if i > 0 && column == result {
				cell = s.paint(verdictColour(sessions[i-1].Verdict), cell)
			}
			line += strings.Repeat(" ", gap) + cell
		}
		if i == 0 {
			line = s.paint(dim, line)
		}
		fmt.Fprintln(s, line)
	}
}

// verdictAge is how long ago the last verdict was, or for how long the review has run.
func (s summary) verdictAge() string {
	if s.VerdictAt == nil {
		return ""
	}
	ago := max(0, time.Since(*s.VerdictAt)) // a clock may be set back
	runs := s.Verdict == verdictReviewing
	switch {
	case runs && ago < time.Minute:
		return say(runningFor, int(ago/time.Second))
	case runs:
		return duration(ago.Seconds())
	case ago < time.Minute:
		return say(justNow)
	case ago < time.Hour:
		return say(minutesAgo, int(ago/time.Minute))
	case ago < 24*time.Hour:
		return say(hoursAgo, int(ago/time.Hour))
	}
	return say(daysAgo, int(ago/(24*time.Hour)))
}
