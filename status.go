package main

// Supervised sessions on one line each: ccc status and ccc statusline. And what names and sums up a record,
// for whoever shows one.

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

// statusRows is how many sessions ccc status lists: a screen of them.
const statusRows = 20

// showStatus is ccc status [--all] [--json]. What can't be read of one session does not hide the others.
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
		s.block("", say(noSessionYet, d.state))
	default:
		showTable(s, shown)
		for _, one := range sessions {
			if one.Verdict == verdictReviewing {
				fmt.Fprintln(s, clip(one.short()+"  "+one.reviewing(), s.width))
			}
		}
		if more := len(sessions) - len(shown); more > 0 {
			s.block("", say(moreSessions, more))
		}
	}
	for _, one := range sessions {
		reportError(os.Stderr, one.err)
	}
	return s.Flush()
}

// A summary is a session on one line. Its JSON is what scripts read.
type summary struct {
	Session   string     `json:"session_id"`
	Project   string     `json:"project"`
	Mode      string     `json:"mode"` // on or off, as far as can be told from outside; "": it has no state
	Count     int        `json:"count"`
	Limit     int        `json:"max_iterations"`
	Verdict   verdict    `json:"verdict"` // of the last stop, as ccc verdict has it, or of the review that runs
	VerdictAt *time.Time `json:"verdict_at"`
	Doing     string     `json:"doing,omitempty"` // of a review that runs: its last tool call
	Reviews   int        `json:"reviews"`         // those that failed included
	Failed    int        `json:"failed_reviews"`
	CostUSD   float64    `json:"cost_usd"`
	Tokens    tokens     `json:"tokens"`
	UpdatedAt time.Time  `json:"updated_at"`
	Request   string     `json:"request"` // the first words of the last one
	switched  bool
	number    string    // of the last review: 1/10
	tree      string    // its working tree, outside git where it was started
	began     time.Time // when the last review did; without one, when the session was updated
	err       error     // what of it can't be read
}

// summarizeAll returns the sessions that are not among those seen, newest first.
func summarizeAll(d dirs, seen map[string]bool) ([]summary, error) {
	ids, err := stateDir(d.state).sessions()
	config, _ := loadConfig(d) // a broken one is no reason not to show the rest
	all := []summary{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		if one := summarize(stateDir(d.state).session(id), config); one.err != nil || !one.UpdatedAt.IsZero() {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b summary) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, err
}

// summarize reads the state and timeline, as far as they can be read.
func summarize(known sessionFiles, config *configuration) summary {
	state, stateErr := known.state()
	h, err := known.readHistory()
	s := summary{Session: known.id, Project: h.project, Count: state.Count, UpdatedAt: state.UpdatedAt, switched: state.Enabled != nil,
		Limit: cmp.Or(h.limit, config.Supervisor.MaxIterations), err: errors.Join(stateErr, err)}
	if !state.UpdatedAt.IsZero() {
		s.Mode = modeWord(state.on())
	}
	if h.updated.After(s.UpdatedAt) {
		s.UpdatedAt = h.updated
	}
	if n := len(h.Requests); n > 0 {
		s.Request = clip(firstLine(h.Requests[n-1].Prompt), 100)
	}
	for _, r := range h.Rounds {
		if len(h.Requests) == 0 { // no hook was told of any
			s.Request = clip(firstLine(r.asked()), 100)
		}
		s.CostUSD += r.CostUSD
		if r.Tokens != nil {
			s.Tokens.add(*r.Tokens)
		}
		switch r.Verdict {
		case verdictReviewing:
			s.Doing = r.doing()
		case verdictFailed:
			s.Failed++
			fallthrough
		case verdictAllow, verdictBlock, verdictCancelled:
			s.Reviews++
		}
	}
	s.CostUSD, s.began = math.Round(s.CostUSD*1e6)/1e6, s.UpdatedAt
	if s.Project != "" {
		s.tree = resolved(cmp.Or(h.top, treeOf(s.Project)))
	}
	if last := h.last(); last != nil {
		s.Verdict, s.VerdictAt, s.number = last.Verdict, &last.Time, last.number()
		s.began = last.Time.Add(-time.Duration(last.DurationSeconds * float64(time.Second)))
	}
	return s
}

func (s summary) short() string { return s.Session[:min(8, len(s.Session))] }

// reviewing tells of the review that runs: reviewing 1/10 · 12s · go test ./...
func (s summary) reviewing() string {
	return joined(verdictName(verdictReviewing)+s.number, s.when(), unbroken(s.Doing))
}

// sessionsMeant returns the session that the operand names or, if there is none, those of the current
// directory's project, newest first. None of them is among those seen; it adds to these all whose project is
// known by now. It passes over none that may be the newest and can't be read: a script would take an older
// approval for its own.
func sessionsMeant(operands []string, d dirs, seen map[string]bool) (ids []string, err error) {
	if len(operands) > 0 {
		id, err := stateDir(d.state).findSession(operands[0])
		if err != nil || seen[id] {
			return nil, err
		}
		seen[id] = true
		return []string{id}, nil
	}
	sessions, err := summarizeAll(d, seen)
	for _, s := range sessions {
		if s.Project == "" && s.err != nil && len(ids) == 0 {
			return nil, failure{2, fmt.Errorf("session %s may be the newest of this project: %w", s.Session, s.err), nameSession}
		}
		if d.isOfProject(s.Project) {
			ids = append(ids, s.Session)
		}
		seen[s.Session] = s.Project != ""
	}
	return ids, err
}

// sessionMeant returns the first of them.
func sessionMeant(operands []string, d dirs) (string, error) {
	ids, err := sessionsMeant(operands, d, map[string]bool{})
	if err == nil && len(ids) == 0 {
		err = failure{2, errors.New("no session of this project"), nameSession}
	}
	return strings.Join(ids[:min(1, len(ids))], ""), err
}

// showTable writes the sessions as a table, each on one line. Project and request share what the other
// columns leave; where that is little, those that can be spared go.
func showTable(s *screen, sessions []summary) {
	const result, project, gap, leastLeft = 3, 7, "  ", 34
	rows := make([][]string, 1, len(sessions)+1)
	for _, head := range statusHeads {
		rows[0] = append(rows[0], say(head))
	}
	for _, one := range sessions {
		rows = append(rows, []string{one.short(), say(modeCells[one.Mode]), fmt.Sprintf("%d/%d", one.Count, one.Limit), verdictName(one.Verdict),
			one.when(), strconv.Itoa(one.Reviews), dollars(one.CostUSD), one.Project, one.Request})
	}
	widths, left := make([]int, len(statusHeads)), s.width
	for i := range widths {
		for _, row := range rows {
			row[i] = cmp.Or(oneLine(row[i]), "-")
			widths[i] = max(widths[i], displayWidth(row[i]+gap))
		}
		if i < project {
			left -= widths[i]
		}
	}
	for _, spared := range []int{5, 6, 4} { // the first first
		if left < leastLeft {
			left, widths[spared] = left+widths[spared], 0
		}
	}
	widths[project] = min(widths[project], max(left/3, 8)+len(gap))
	for n, row := range rows {
		line := ""
		for i, width := range widths[:project+1] {
			cell := ""
			if width > 0 {
				cell = fit(row[i], width-len(gap)) + gap
			}
			if n > 0 && i == result {
				cell = s.paint(verdictColour(sessions[n-1].Verdict), cell)
			}
			line += cell
		}
		line += clip(row[project+1], max(left-widths[project], 8))
		if n == 0 {
			line = s.paint(dim, line)
		}
		fmt.Fprintln(s, strings.TrimRight(line, " "))
	}
}

// when is how long ago the last verdict was, or how long the review has run.
func (s summary) when() string {
	if s.VerdictAt == nil {
		return ""
	}
	ago := max(0, time.Since(*s.VerdictAt)) // a clock may be set back
	if s.Verdict == verdictReviewing && ago >= time.Minute {
		return duration(ago.Seconds())
	}
	if s.Verdict == verdictReviewing {
		return say(soFar, int(ago/time.Second))
	}
	for _, unit := range []struct {
		time.Duration
		name words
	}{{24 * time.Hour, days}, {time.Hour, hours}, {time.Minute, minutes}} {
		if n := int(ago / unit.Duration); n > 0 {
			return say(timeAgo, count(n, unit.name))
		}
	}
	return say(justNow)
}

func verdictName(v verdict) string {
	return cmp.Or(say(verdictNames[string(v)]), string(v)) // a timeline may hold any word
}

func verdictColour(v verdict) string {
	return map[verdict]string{verdictBlock: yellow, verdictAllow: green, verdictFailed: red, verdictLimit: red}[v]
}

// title names what was reviewed, and which review of the request it was.
func (r record) title() string {
	if r.Event == eventPreToolUse {
		return say(titleQuestion) + r.number()
	}
	return say(titleReview) + r.number()
}

// number is which review of the request it was, with a blank before it, "" where it counts for no limit.
func (r record) number() string {
	if r.Iteration == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d", r.Iteration, r.Limit)
}

// step is one thing that a reviewer did, for people: a call, a refused one, or its words.
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

// spent is its price, with its tokens and how the reviewer was asked.
func (r record) spent() string {
	used := ""
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		used = say(tokensUsed, grouped(t.fresh()), grouped(t.CacheRead), grouped(t.Output))
	}
	return joined(r.price(), used, say(waysTaken[r.Way]))
}

// statusLine is the setting by which Claude Code calls ccc statusline. Without refreshInterval the line stays
// as it is in a Stop hook (2.1.330).
func (d dirs) statusLine() string {
	return fmt.Sprintf(`{"type": "command", "command": %s, "refreshInterval": 5}`, encodeJSON(shellQuote(d.hookPath())+" statusline"))
}

// showStatusline is ccc statusline. Whatever happens it ends with 0: for anything else Claude Code would take
// the user's status line away.
func showStatusline(_ *invocation, d dirs) error {
	if newScreen(os.Stdin).terminal {
		s := newScreen(os.Stdout)
		s.block("", say(statuslineByHand, d.settingsFile()))
		fmt.Fprintf(s, "\n%q: %s\n", statusLineKey, d.statusLine())
		return s.Flush()
	}
	line, err := statusline(os.Stdin, d)
	reportError(os.Stderr, err)
	if line != "" {
		fmt.Println(line)
	}
	return nil
}

// statusline describes the session that Claude Code names on stdin, "" if it is not supervised. Claude Code
// starts it in the session's environment, so that here, unlike in status, it is known how the session was
// started.
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
	config, _ := loadConfig(d)
	state := stateDir(d.state)
	s := summarize(state.session(input.SessionID), config)
	switch on := state.session(input.SessionID).supervised(callerOf(clientAncestry())); {
	case !on && s.switched:
		return say(supervisionIsOff), s.err
	case !on:
		return "", s.err
	case s.Verdict == verdictReviewing:
		return joined(s.reviewing(), dollars(s.CostUSD)), s.err
	}
	last := ""
	if s.Verdict != "" {
		last = say(supervisedLast, oneLine(verdictName(s.Verdict)), s.when())
	}
	return joined(say(supervisedNow, fmt.Sprintf("%d/%d", s.Count, s.Limit)), last, dollars(s.CostUSD)), s.err
}
