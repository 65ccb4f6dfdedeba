package main

// Supervised sessions on one line each: ccc status and ccc statusline; in one word: ccc verdict.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// showStatus is ccc status [--json].
func showStatus(c *call, d dirs) error {
	sessions, err := summarizeAll(d, os.Stderr)
	if err != nil {
		return err
	}
	s := newScreen(os.Stdout)
	switch {
	case c.has("--json"):
		s.Write(append(encodeJSON(sessions), '\n'))
	case len(sessions) == 0:
		s.block("", noSessions(d))
	default:
		showTable(s, sessions)
	}
	return s.Flush()
}

func noSessions(d dirs) string {
	return say(noSessionYet, d.state)
}

// A summary is a session on one line. Its JSON is what scripts read.
type summary struct {
	Session   string     `json:"session_id"`
	Project   string     `json:"project"`
	Mode      string     `json:"mode"` // on or off, as far as can be told from outside; "": it has no state
	Count     int        `json:"count"`
	Limit     int        `json:"max_iterations"`
	Verdict   verdict    `json:"verdict"` // the last one
	VerdictAt *time.Time `json:"verdict_at"`
	Reviews   int        `json:"reviews"` // those that failed included
	Failed    int        `json:"failed_reviews"`
	CostUSD   float64    `json:"cost_usd"`
	Tokens    tokens     `json:"tokens"`
	UpdatedAt time.Time  `json:"updated_at"`
	switched  bool
	err       error // what of it can't be read
}

// summarizeAll returns the sessions, newest first. What can't be read of one session is told on stderr and does not
// hide the others.
func summarizeAll(d dirs, stderr io.Writer) ([]summary, error) {
	ids, err := stateDir(d.state).sessions()
	if err != nil {
		return nil, err
	}
	all := []summary{}
	for _, id := range ids {
		one, err := summarize(d, id)
		one.err = err
		reportError(stderr, err)
		if !one.UpdatedAt.IsZero() {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b summary) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, nil
}

// summarize reads the state and timeline. With an error the summary holds what could be read.
func summarize(d dirs, id string) (summary, error) {
	known := stateDir(d.state).session(id)
	state, stateErr := known.state()
	s := summary{Session: id, Count: state.Count, UpdatedAt: state.UpdatedAt}
	if !state.UpdatedAt.IsZero() {
		s.Mode, s.switched = modeWord(state.on()), state.Switch != nil
	}
	err := known.readTimeline(s.add)
	s.CostUSD = math.Round(s.CostUSD*1e6) / 1e6
	if config, err := loadConfig(d); err == nil { // a broken ccc.json is no reason not to show the rest
		s.Limit = cmp.Or(s.Limit, config.Supervisor.MaxIterations)
	}
	return s, errors.Join(stateErr, err)
}

func (s *summary) add(r record) {
	s.Project = cmp.Or(r.Project, s.Project)
	if r.Time.After(s.UpdatedAt) {
		s.UpdatedAt = r.Time
	}
	s.Limit = cmp.Or(r.Limit, s.Limit)
	if r.Verdict == "" {
		return
	}
	s.Verdict, s.VerdictAt = r.Verdict, &r.Time
	s.CostUSD += r.CostUSD
	if r.Tokens != nil {
		s.Tokens.add(*r.Tokens)
	}
	if r.Verdict != verdictLimit {
		s.Reviews++
	}
	if r.Verdict == verdictFailed {
		s.Failed++
	}
}

// newestSession returns the newest session of the current directory's project, else the newest of all, and tells
// which of the two it is.
func newestSession(d dirs, stderr io.Writer) (session string, isHere bool, err error) {
	sessions, err := summarizeAll(d, stderr)
	if err != nil || len(sessions) == 0 {
		return "", false, err
	}
	if here := slices.IndexFunc(sessions, func(s summary) bool { return s.isHere(d) }); here >= 0 {
		return sessions[here].Session, true, nil
	}
	return sessions[0].Session, false, nil
}

// presentSession returns the newest session of the current directory's project. It passes over none that may be that and
// can't be read: a script would take an older approval for its own.
func presentSession(d dirs) (string, error) {
	const hint = "name one, as ccc status lists them"
	sessions, err := summarizeAll(d, io.Discard)
	if err != nil {
		return "", err
	}
	for _, s := range sessions {
		switch {
		case s.isHere(d):
			return s.Session, nil
		case s.Project == "" && s.err != nil:
			return "", withHint(fmt.Errorf("session %s may be the newest of this project: %w", s.Session, s.err), hint)
		}
	}
	return "", withHint(errors.New("no session of this project"), hint)
}

// isHere tells whether the current directory is in the session's project.
func (s summary) isHere(d dirs) bool {
	here, project := resolved(d.here), resolved(s.Project)
	return s.Project != "" && (here == project || strings.HasPrefix(here, strings.TrimSuffix(project, "/")+"/"))
}

// showVerdict is ccc verdict [SESSION]. Without a session the newest of the project counts; another project's would
// let a script take somebody else's approval for its own.
func showVerdict(c *call, d dirs) (err error) {
	session := ""
	if len(c.operands) > 0 {
		session, err = stateDir(d.state).findSession(c.operands[0])
	} else {
		session, err = presentSession(d)
	}
	if f := (failure{}); errors.As(err, &f) {
		return failure{code: 2, err: f.err, hint: f.hint}
	}
	if err != nil {
		return err
	}
	last, err := lastStop(stateDir(d.state).session(session))
	if err != nil {
		return err
	}
	fmt.Println(cmp.Or(last, "none"))
	switch last {
	case verdictAllow:
		return nil
	case "":
		return failure{code: 3}
	}
	return failure{code: 1}
}

// lastStop returns what became of the session's last stop since the user's last prompt; "" where it was not
// reviewed, or is being reviewed: then the state counts a review that the timeline does not have yet. Once
// supervision is switched off, stops and prompts leave no record.
func lastStop(s session) (last verdict, err error) {
	counted := 0
	err = s.readTimeline(func(r record) {
		switch {
		case r.Event == eventPrompt || r.Event == eventSwitch && r.Mode == modeWord(false):
			last, counted = "", 0
		case r.Event == eventStop:
			last = r.Verdict
		}
		counted = cmp.Or(r.Iteration, counted)
	})
	now, stateErr := s.state()
	if stateErr == nil && now.Count > 0 && now.Count != counted && last != verdictLimit {
		last = ""
	}
	return last, err
}

// showTable writes the sessions as a table. The project comes last or, where the screen leaves no room for it, on a
// line of its own.
func showTable(s *screen, sessions []summary) {
	const verdictColumn, gap, projectLeast = 3, "  ", 20
	short := shortLength(sessions)
	heads := []string{}
	for _, head := range statusHeads {
		heads = append(heads, say(head))
	}
	rows := [][]string{heads}
	for _, one := range sessions {
		row := []string{one.Session[:min(short, len(one.Session))], one.Mode, one.budget(), verdictName(one.Verdict),
			one.when(), strconv.Itoa(one.Reviews), dollars(one.CostUSD), one.Project}
		for i := range row {
			row[i] = cmp.Or(oneLine(row[i]), "-")
		}
		rows = append(rows, row)
	}
	last := len(rows[0]) - 1
	widths, left := make([]int, last), s.width
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
		left -= widths[i] + len(gap)
	}
	for n, row := range rows {
		line := ""
		for i, width := range widths {
			cell := fit(row[i], width)
			if n > 0 && i == verdictColumn {
				cell = s.paint(verdictColour(sessions[n-1].Verdict), cell)
			}
			line += cell + gap
		}
		if left >= projectLeast {
			line += fit(row[last], min(left, displayWidth(row[last])))
		} else if n > 0 && row[last] != "-" {
			line = strings.TrimRight(line, " ") + "\n" + gap + fit(row[last], min(s.width-len(gap), displayWidth(row[last])))
		}
		if n == 0 {
			line = s.paint(dim, line)
		}
		fmt.Fprintln(s, strings.TrimRight(line, " "))
	}
}

// shortLength is how much of the ids to show: 8 characters, or all where these don't tell them apart.
func shortLength(sessions []summary) int {
	seen := map[string]bool{}
	for _, one := range sessions {
		seen[one.Session[:min(8, len(one.Session))]] = true
	}
	if len(seen) < len(sessions) {
		return 128
	}
	return 8
}

// budget is the reviews for the present request of the user's, and the most.
func (s summary) budget() string {
	if s.Limit == 0 {
		return strconv.Itoa(s.Count)
	}
	return fmt.Sprintf("%d/%d", s.Count, s.Limit)
}

// when is how long ago the last verdict was.
func (s summary) when() string {
	if s.VerdictAt == nil {
		return ""
	}
	switch ago := time.Since(*s.VerdictAt); {
	case ago < time.Minute:
		return say(justNow)
	case ago < time.Hour:
		return say(minutesAgo, int(ago/time.Minute))
	case ago < 24*time.Hour:
		return say(hoursAgo, int(ago/time.Hour))
	case ago < 100*24*time.Hour:
		return say(daysAgo, count(int(ago/(24*time.Hour)), days))
	}
	return s.VerdictAt.Local().Format(time.DateOnly)
}

func verdictName(v verdict) string {
	if name, known := verdictNames[string(v)]; known {
		return say(name)
	}
	return string(v)
}

func verdictColour(v verdict) string {
	return map[verdict]string{verdictBlock: yellow, verdictAllow: green, verdictFailed: red, verdictLimit: red}[v]
}

// showStatusline is ccc statusline. Whatever happens it ends with 0: for anything else Claude Code would take the
// user's status line away.
func showStatusline(_ *call, d dirs) error {
	line, err := statusline(os.Stdin, d)
	reportError(os.Stderr, err)
	if line != "" {
		fmt.Println(line)
	}
	return nil
}

// statusline describes the session that Claude Code names on stdin, "" if it is not supervised. Claude Code starts
// it in the session's environment, so that here, unlike in status, it is known how the session was started.
func statusline(stdin io.Reader, d dirs) (string, error) {
	var input struct {
		SessionID string `json:"session_id"`
	}
	err := json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(&input)
	if err == nil && !validSession(input.SessionID) {
		err = errors.New("it has no session_id")
	}
	if err != nil {
		return "", fmt.Errorf("reading Claude Code's status: %w", err)
	}
	s, err := summarize(d, input.SessionID)
	state := stateDir(d.state)
	switch on := state.session(input.SessionID).supervised(state.callerOf(clientAncestry())); {
	case !on && s.switched:
		return say(supervisionIsOff), err
	case !on:
		return "", err
	}
	parts := []string{say(supervisedNow, s.budget())}
	if s.Verdict != "" {
		parts = append(parts, say(supervisedLast, oneLine(verdictName(s.Verdict)), s.when()))
	}
	if cost := dollars(s.CostUSD); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, " · "), err
}
