package main

// Supervised sessions on one line each. What comes out of a file passes through
// printable on its way to a screen; JSON is left to the encoder.

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// showStatus is ccc status [--json].
func showStatus(args []string, stdout *os.File, stderr io.Writer) error {
	flags := flag.NewFlagSet("status", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return err
	}
	p, err := findPlaces("")
	if err != nil {
		return err
	}
	sessions, err := summarizeAll(p, 0, stderr)
	if err != nil {
		return err
	}
	s := newScreen(stdout)
	switch {
	case *asJSON:
		s.Write(append(encodeJSON(sessions), '\n'))
	case len(sessions) == 0:
		s.block("", noSessions(p))
	default:
		showTable(s, sessions)
	}
	return s.Flush()
}

func noSessions(p places) string {
	return "还没有被监督过的会话（" + p.state + "）\n开始一个: ccc --supervisor"
}

// A summary is a session on one line. Its JSON is what scripts read.
type summary struct {
	Session   string     `json:"session_id"`
	Project   string     `json:"project"`
	Mode      string     `json:"mode"` // on or off: what it was switched to; "": how it was started decides, which is not known here
	Count     int        `json:"count"`
	Limit     int        `json:"max_iterations"`
	Verdict   string     `json:"verdict"` // the last one
	VerdictAt *time.Time `json:"verdict_at"`
	Reviews   int        `json:"reviews"` // those that failed included
	Failed    int        `json:"failed_reviews"`
	CostUSD   float64    `json:"cost_usd"`
	Tokens    tokens     `json:"tokens"`
	UpdatedAt time.Time  `json:"updated_at"`
	partial   bool       // only the newest records were counted
}

// summarizeAll returns the sessions, newest first; see summarize for last. What
// can't be read of one session does not hide the others.
func summarizeAll(p places, last int64, stderr io.Writer) ([]summary, error) {
	ids, err := stateDir(p.state).sessions()
	if err != nil {
		return nil, err
	}
	all, faults := make([]summary, len(ids)), make([]error, len(ids))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range next {
				all[i], faults[i] = summarize(p, ids[i], last)
			}
		}()
	}
	for i := range ids {
		next <- i
	}
	close(next)
	workers.Wait()
	if err := errors.Join(faults...); err != nil {
		fmt.Fprintln(stderr, "ccc:", printable(err.Error()))
	}
	limit := configuredLimit(p)
	for i := range all {
		all[i].Limit = cmp.Or(all[i].Limit, limit)
	}
	all = slices.DeleteFunc(all, func(s summary) bool { return s.UpdatedAt.IsZero() })
	slices.SortStableFunc(all, func(a, b summary) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, nil
}

// summarize reads session's state and the end of its timeline: the records in
// its last bytes, all of them when last is 0.
func summarize(p places, session string, last int64) (summary, error) {
	d := stateDir(p.state)
	s := summary{Session: session}
	state, stateErr := d.read(session)
	if stateErr != nil {
		stateErr = fmt.Errorf("%s: %w", d.stateFile(session), stateErr)
	}
	s.Count, s.UpdatedAt = state.Count, state.UpdatedAt
	if state.Enabled != nil {
		s.Mode = modeWord(*state.Enabled)
	}
	var scratch []byte
	lines := d.readTimeline(session, last, func(line []byte) {
		scratch = abridge(scratch[:0], line)
		s.add(scratch)
	})
	err := lines.read()
	lines.close()
	if s.partial = lines.earlier; s.partial && s.Project == "" {
		return summarize(p, session, 0) // one record is larger than last
	}
	s.CostUSD = math.Round(s.CostUSD*1e6) / 1e6
	return s, errors.Join(stateErr, err)
}

// add counts the record in line; what is not one is passed over.
func (s *summary) add(line []byte) {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Event == "" {
		return
	}
	s.Project = cmp.Or(r.Project, s.Project)
	if r.Time.After(s.UpdatedAt) {
		s.UpdatedAt = r.Time
	}
	if r.Verdict == "" {
		return
	}
	s.Verdict, s.VerdictAt, s.Limit = r.Verdict, &r.Time, cmp.Or(r.Limit, s.Limit)
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

// configuredLimit is the limit for a session without reviews; 0 when ccc.json
// can't be read, which is no reason not to show the rest.
func configuredLimit(p places) int {
	config, err := loadConfig(p)
	if err != nil {
		return 0
	}
	return config.supervisor.maxIterations
}

// A column of the table of sessions.
type column struct {
	title string
	cells []string
	width int
	right bool
}

func newColumn(title string, right bool, sessions []summary, cell func(summary) string) *column {
	c := &column{title: title, right: right, width: displayWidth(title)}
	for _, one := range sessions {
		text := cmp.Or(oneLine(cell(one)), "-")
		c.cells = append(c.cells, text)
		c.width = max(c.width, displayWidth(text))
	}
	return c
}

// showTable writes the sessions as a table. Where it does not fit, first the ids
// are cut short, then the projects, then these get lines of their own, and last
// the columns go that say least.
func showTable(s *screen, sessions []summary) {
	id := newColumn("会话", false, sessions, func(one summary) string { return one.Session })
	mode := newColumn("监督", false, sessions, func(one summary) string { return one.Mode })
	budget := newColumn("次数", false, sessions, summary.budget)
	verdict := newColumn("结果", false, sessions, func(one summary) string { return verdictName(one.Verdict) })
	when := newColumn("时间", false, sessions, summary.when)
	reviews := newColumn("审查", true, sessions, func(one summary) string { return strconv.Itoa(one.Reviews) })
	cost := newColumn("花费", true, sessions, func(one summary) string { return dollars(one.CostUSD) })
	project := newColumn("项目", false, sessions, func(one summary) string { return one.Project })
	columns := []*column{id, mode, budget, verdict, when, reviews, cost, project}
	spare := func() int { // columns of the screen that are left
		left := s.width + len(gap)
		for _, c := range columns {
			left -= c.width + len(gap)
		}
		return left
	}
	if spare() < 0 {
		id.width = shortLength(sessions)
		for i, full := range id.cells {
			id.cells[i] = full[:min(len(full), id.width)]
		}
	}
	const projectLeast = 20
	if spare() < 0 {
		project.width = min(project.width, max(projectLeast, project.width+spare()))
	}
	below := spare() < 0
	if below {
		columns = columns[:len(columns)-1]
	}
	for _, least := range []*column{reviews, mode, cost} {
		if spare() < 0 {
			columns = slices.DeleteFunc(columns, func(c *column) bool { return c == least })
		}
	}
	for i := -1; i < len(sessions); i++ {
		row := ""
		for _, c := range columns {
			switch {
			case i < 0:
				row += s.paint(dim, fit(c.title, c.width, c.right)) + gap
			case c == verdict:
				row += s.paint(verdictColour(sessions[i].Verdict), fit(c.cells[i], c.width, c.right)) + gap
			default:
				row += fit(c.cells[i], c.width, c.right) + gap
			}
		}
		fmt.Fprintln(s, strings.TrimRight(row, " "))
		if below && i >= 0 && sessions[i].Project != "" {
			fmt.Fprintln(s, gap+fit(project.cells[i], min(s.width-len(gap), displayWidth(project.cells[i])), false))
		}
	}
	if slices.Contains(columns, mode) && slices.Contains(mode.cells, "-") {
		fmt.Fprintln(s)
		s.block("", "监督 -: 没有切换过，由会话的启动方式决定（ccc --supervisor）")
	}
}

const gap = "  "

// shortLength is how much of the ids is enough to tell them apart.
func shortLength(sessions []summary) int {
	var ids []string
	for _, one := range sessions {
		ids = append(ids, one.Session)
	}
	slices.Sort(ids)
	short := 8
	for i := 1; i < len(ids); i++ {
		for strings.HasPrefix(ids[i], ids[i-1][:min(short, len(ids[i-1]))]) && short < len(ids[i]) {
			short++
		}
	}
	return short
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
		return "刚刚"
	case ago < time.Hour:
		return fmt.Sprintf("%d分钟前", ago/time.Minute)
	case ago < 24*time.Hour:
		return fmt.Sprintf("%d小时前", ago/time.Hour)
	case ago < 100*24*time.Hour:
		return fmt.Sprintf("%d天前", ago/(24*time.Hour))
	}
	return s.VerdictAt.Local().Format(time.DateOnly)
}

func verdictName(verdict string) string {
	switch verdict {
	case verdictBlock:
		return "退回"
	case verdictAllow:
		return "通过"
	case verdictFailed:
		return "失败"
	case verdictLimit:
		return "上限"
	}
	return verdict
}

func verdictColour(verdict string) string {
	switch verdict {
	case verdictBlock:
		return yellow
	case verdictAllow:
		return green
	case verdictFailed, verdictLimit:
		return red
	}
	return ""
}

// dollars writes a cost; 0 is one that claude did not tell, and gives "".
func dollars(usd float64) string {
	switch {
	case usd <= 0:
		return ""
	case usd < 0.1:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// showStatusline is ccc statusline. Whatever happens it ends with 0: for
// anything else Claude Code would take the user's status line away.
func showStatusline(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("statusline", flag.ContinueOnError)
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return err
	}
	line, err := statusline(stdin)
	if err != nil {
		exitWith(stderr, err)
	}
	if line != "" {
		fmt.Fprintln(stdout, line)
	}
	return nil
}

// statusline describes the session that Claude Code names on stdin, "" if it is
// not supervised. Claude Code starts it in the session's environment, so that
// here, unlike in status, it is known how the session was started.
func statusline(stdin io.Reader) (string, error) {
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
	p, err := findPlaces("")
	if err != nil {
		return "", err
	}
	const enough = 1 << 20 // read in milliseconds, and more than nearly all sessions have
	s, err := summarize(p, input.SessionID, enough)
	if s.Mode == "off" {
		return "监督已关闭", err
	}
	if s.Mode != "on" && os.Getenv(supervisorVariable) != "1" {
		return "", err
	}
	s.Limit = cmp.Or(s.Limit, configuredLimit(p))
	parts := []string{"监督中 " + s.budget()}
	if s.Verdict != "" {
		parts = append(parts, "上次: "+oneLine(verdictName(s.Verdict))+" "+s.when())
	}
	if cost := dollars(s.CostUSD); cost != "" {
		parts = append(parts, cost+map[bool]string{true: "+"}[s.partial])
	}
	return strings.Join(parts, " · "), err
}
