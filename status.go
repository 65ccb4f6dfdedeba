package main

// Supervised sessions on one line each: ccc status and ccc statusline; in one word: ccc verdict. And what there is to
// tell of a record, for whoever shows one.

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
func showStatus(c *call, d dirs) error {
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
				fmt.Fprintln(s, begin(one.Session[:min(8, len(one.Session))]+"  "+one.reviewing(), s.width))
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
	round     string // of the last review: 1/10
	err       error  // what of it can't be read
}

// summarizeAll returns the sessions that are not among those seen, newest first.
func summarizeAll(d dirs, seen map[string]bool) ([]summary, error) {
	ids, err := stateDir(d.state).sessions()
	all := []summary{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		if one, err := summarize(d, id); err != nil || !one.UpdatedAt.IsZero() {
			one.err = err
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b summary) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, err
}

// summarize reads the state and timeline. With an error the summary holds what could be read.
func summarize(d dirs, id string) (summary, error) {
	known := stateDir(d.state).session(id)
	state, stateErr := known.state()
	h, err := known.readHistory()
	config, _ := loadConfig(d) // a broken one is no reason not to show the rest
	s := summary{Session: id, Project: h.project, Count: state.Count, UpdatedAt: state.UpdatedAt, Limit: cmp.Or(h.limit, config.Supervisor.MaxIterations)}
	if !state.UpdatedAt.IsZero() {
		s.Mode, s.switched = modeWord(state.on()), state.Switch != nil
	}
	if h.updated.After(s.UpdatedAt) {
		s.UpdatedAt = h.updated
	}
	if n := len(h.Requests); n > 0 {
		s.Request = clip(firstLine(h.Requests[n-1].Prompt), 100)
	}
	last := h.last()
	for _, r := range h.Rounds {
		s.CostUSD += r.CostUSD
		if r.Tokens != nil {
			s.Tokens.add(*r.Tokens)
		}
		switch r.Verdict {
		case verdictReviewing:
			s.Doing = known.doing(r)
		case verdictFailed:
			s.Failed++
			s.Reviews++
		case verdictLimit:
		default:
			s.Reviews++
		}
	}
	if last != nil {
		s.Verdict, s.VerdictAt = last.Verdict, &last.Time
		if last.Iteration > 0 {
			s.round = fmt.Sprintf(" %d/%d", last.Iteration, last.Limit)
		}
	}
	s.CostUSD = math.Round(s.CostUSD*1e6) / 1e6
	return s, errors.Join(stateErr, err)
}

// reviewing tells of the review that runs: reviewing 1/10 · 12s · go test ./...
func (s summary) reviewing() string {
	told := verdictName(verdictReviewing) + s.round + " · " + s.when()
	if s.Doing != "" {
		told += " · " + oneLine(s.Doing)
	}
	return told
}

// sessionsHere returns the sessions of the current directory's project that are not among those seen, newest first,
// and adds to them all whose project is known by now. It passes over none that may be the newest and can't be read: a
// script would take an older approval for its own.
func sessionsHere(d dirs, seen map[string]bool) (ids []string, err error) {
	sessions, err := summarizeAll(d, seen)
	here := resolved(d.here) + "/"
	for _, s := range sessions {
		switch isHere := strings.HasPrefix(here, strings.TrimSuffix(resolved(s.Project), "/")+"/"); {
		case s.Project != "":
			seen[s.Session] = true
			if isHere {
				ids = append(ids, s.Session)
			}
		case s.err != nil && len(ids) == 0:
			return nil, withHint(fmt.Errorf("session %s may be the newest of this project: %w", s.Session, s.err), nameSession)
		}
	}
	return ids, err
}

const nameSession = "name one, as ccc status lists them"

// presentSession returns the newest session of the project.
func presentSession(d dirs) (string, error) {
	ids, err := sessionsHere(d, map[string]bool{})
	if err == nil && len(ids) == 0 {
		err = withHint(errors.New("no session of this project"), nameSession)
	}
	return strings.Join(ids[:min(1, len(ids))], ""), err
}

// sessionNamed returns the session that the operand names, without one the newest of the project. An error of the user's
// has the exit code 2.
func sessionNamed(c *call, d dirs) (session string, err error) {
	if len(c.operands) > 0 {
		session, err = stateDir(d.state).findSession(c.operands[0])
	} else {
		session, err = presentSession(d)
	}
	if f := (failure{}); errors.As(err, &f) {
		err = failure{code: 2, err: f.err, hint: f.hint}
	}
	return session, err
}

// showTable writes the sessions as a table, each on one line. Project and request share what the other columns leave; where
// that is little, those that can be spared go.
func showTable(s *screen, sessions []summary) {
	const resultColumn, projectColumn, gap, leastLeft = 3, 7, "  ", 34
	spared := []int{5, 6, 4, 1} // the first first
	rows := make([][]string, 1, len(sessions)+1)
	for _, head := range statusHeads {
		rows[0] = append(rows[0], say(head))
	}
	for _, one := range sessions {
		row := []string{one.Session[:min(8, len(one.Session))], one.Mode, fmt.Sprintf("%d/%d", one.Count, one.Limit), verdictName(one.Verdict),
			one.when(), strconv.Itoa(one.Reviews), dollars(one.CostUSD), one.Project, one.Request}
		for i := range row {
			row[i] = cmp.Or(oneLine(row[i]), "-")
		}
		rows = append(rows, row)
	}
	widths, left := make([]int, len(rows[0])), s.width
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
		if i < projectColumn {
			left -= widths[i] + len(gap)
		}
	}
	for ; left < leastLeft && len(spared) > 0; spared = spared[1:] {
		left += widths[spared[0]] + len(gap)
		widths[spared[0]] = 0
	}
	widths[projectColumn] = min(widths[projectColumn], max(left/3, 8))
	widths[projectColumn+1] = max(left-widths[projectColumn]-len(gap), 8)
	for n, row := range rows {
		line := ""
		for i, width := range widths {
			cell := ""
			switch {
			case width == 0:
				continue
			case i > projectColumn:
				cell = begin(row[i], width)
			default:
				cell = fit(row[i], width) + gap
			}
			if n > 0 && i == resultColumn {
				cell = s.paint(verdictColour(sessions[n-1].Verdict), cell)
			}
			line += cell
		}
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
	switch ago := max(0, time.Since(*s.VerdictAt)); { // a clock may be set back
	case s.Verdict == verdictReviewing && ago < time.Minute:
		return say(soFar, int(ago/time.Second))
	case s.Verdict == verdictReviewing:
		return duration(ago.Seconds())
	case ago < time.Minute:
		return say(justNow)
	case ago < time.Hour:
		return say(minutesAgo, int(ago/time.Minute))
	case ago < 24*time.Hour:
		return say(hoursAgo, int(ago/time.Hour))
	default:
		return say(daysAgo, count(int(ago/(24*time.Hour)), days))
	}
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

// showRecord writes a record: its title, with the verdict, and what there is to tell of it.
func showRecord(s *screen, r reviewRound) {
	title, facts := recordFacts(r)
	title = s.paint(bold, title)
	if r.Verdict != "" {
		title += " " + s.paint(verdictColour(r.Verdict), oneLine(verdictName(r.Verdict)))
	}
	fmt.Fprintln(s, title)
	for _, f := range facts {
		s.block("    "+f.lead, f.text)
	}
}

// A fact is one of the things to be told of a record. Without text there is nothing to tell.
type fact struct{ lead, text string }

// recordFacts is what there is to tell of a record, for whoever shows it; its verdict stands beside the title.
func recordFacts(r reviewRound) (title string, facts []fact) {
	const enough = 600 // characters: the user wrote it and knows how it goes on
	switch {
	case r.Verdict != "":
		return reviewFacts(r)
	case r.Event == eventSwitch:
		by := map[string]words{switchedInSession: byUser, switchedOutside: byOutside, switchedByAgent: byAgent}[r.By]
		title = say(map[string]words{modeWord(true): switchedOn, modeWord(false): switchedOff}[r.Mode])
		return title, []fact{{say(leadBy), say(by)}}
	}
	return say(titleUser), []fact{{"", cutMiddle(r.Prompt, enough)}}
}

// reviewFacts tells what became of a stop or a question.
func reviewFacts(r reviewRound) (title string, facts []fact) {
	tell := func(lead words, text string) { facts = append(facts, fact{say(lead), text}) }
	tell(words{}, spent(r.record))
	facts = append(facts, caseFacts(r)...)
	source := oneLine(r.PromptSource)
	if source == builtinSource {
		source = say(builtinPrompt)
	}
	if r.PromptKept {
		source += say(promptChanged)
	}
	tell(leadBasis, source)
	tell(leadTools, oneLine(strings.Join(r.looks(), " · ")))
	if r.Verdict == verdictAllow && len(r.looks())+len(r.Runs) == 0 {
		tell(words{}, say(receiptNothing))
	}
	for _, run := range r.Runs {
		said := ran(run)
		if run.code() != 0 {
			said += "\n" + lastCharacters(strings.TrimSpace(run.Output), 600)
		}
		tell(leadRan, said)
	}
	tell(leadRefused, oneLine(strings.Join(r.Refused, " · ")))
	tell(leadNoCopy, r.NoCopy)
	tell(leadUnbound, r.Unbound)
	if r.NoVerdict {
		tell(words{}, say(wordsOnly))
	}
	lead := leadFeedback
	if r.Verdict == verdictAllow {
		lead = leadForUser
	}
	tell(lead, r.Feedback)
	tell(leadReason, r.Error)
	switch isQuestion := r.Event == eventPreToolUse; {
	case r.Verdict == verdictFailed && isQuestion, r.Verdict == verdictLimit && isQuestion:
		tell(words{}, say(questionPassed))
	case r.Verdict == verdictFailed:
		tell(words{}, say(stoppedUnreviewed))
	case r.Verdict == verdictLimit:
		tell(words{}, say(stoppedAtLimit, count(r.Limit, reviews)))
	}
	return r.title(), facts
}

// caseFacts tells what the review was of: what the agent said last, in a line or two, or its question with the options.
func caseFacts(r reviewRound) []fact {
	const aLineOrTwo = 130 // columns
	var input struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	_ = json.Unmarshal(r.Question, &input)
	var asks []string
	for _, q := range input.Questions {
		asks = append(asks, oneLine(q.Question))
		for _, option := range q.Options {
			asks = append(asks, "- "+oneLine(option.Label))
		}
	}
	if len(asks) > 0 {
		return []fact{{say(leadAsks), strings.Join(asks, "\n")}}
	}
	return []fact{{say(leadSaid), begin(oneLine(r.LastMessage), aLineOrTwo)}}
}

// title names what was reviewed, and which review of the request it was.
func (r record) title() string {
	title := say(map[string]words{eventPreToolUse: titleQuestion}[r.Event])
	if r.Event != eventPreToolUse {
		title = say(titleReview)
	}
	if r.Iteration > 0 {
		title += fmt.Sprintf(" %d/%d", r.Iteration, r.Limit)
	}
	return title
}

// code is the exit code of what ccc try ran.
func (r record) code() int {
	if r.ExitCode == nil {
		return 0
	}
	return *r.ExitCode
}

// spent is the time, money and tokens that a review took.
func spent(r record) string {
	var facts []string
	if r.DurationSeconds > 0 {
		facts = append(facts, say(took, duration(r.DurationSeconds)))
	}
	if r.CostUSD > 0 {
		facts = append(facts, dollars(r.CostUSD))
	}
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		facts = append(facts, say(tokensUsed, grouped(t.fresh()), grouped(t.CacheRead), grouped(t.Output)))
	}
	if way, known := waysTaken[r.Way]; known {
		facts = append(facts, say(way))
	}
	return strings.Join(facts, " · ")
}

// ran tells of a command that the reviewer ran: what ccc try saw, not what the reviewer says.
func ran(r record) string {
	told := say(commandRan, cutMiddle(oneLine(r.Command), 300), r.code(), duration(r.DurationSeconds))
	if why := cmp.Or(r.NoCopy, r.Error); why != "" { // ccc's own words, for 124 and 125
		told += ": " + cutMiddle(oneLine(why), 200)
	}
	return told
}

// showStatusline is ccc statusline. Whatever happens it ends with 0: for anything else Claude Code would take the
// user's status line away.
func showStatusline(_ *call, d dirs) error {
	if newScreen(os.Stdin).terminal {
		s := newScreen(os.Stdout)
		s.block("", say(statuslineByHand, d.settingsFile()))
		fmt.Fprintf(s, "\n\"statusLine\": {\n  \"type\": \"command\",\n  \"command\": %s,\n  \"refreshInterval\": 5\n}\n",
			encodeJSON(shellQuote(d.hookPath())+" statusline"))
		return s.Flush()
	}
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
	parts := []string{say(supervisedNow, fmt.Sprintf("%d/%d", s.Count, s.Limit))}
	if s.Verdict == verdictReviewing {
		parts = []string{s.reviewing()}
	} else if s.Verdict != "" {
		parts = append(parts, say(supervisedLast, oneLine(verdictName(s.Verdict)), s.when()))
	}
	if cost := dollars(s.CostUSD); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, " · "), err
}
