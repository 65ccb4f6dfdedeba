package main

// A session as a story, for people: what the user asked, what each review
// looked at, what it found, how long it took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// showLog is ccc log [-f] [--all] [--json] [SESSION].
func showLog(args []string, stdout *os.File, stderr io.Writer) error {
	flags := flag.NewFlagSet("log", flag.ContinueOnError)
	follow := flags.Bool("f", false, "")
	all := flags.Bool("all", false, "")
	asJSON := flags.Bool("json", false, "")
	if help, err := parseFlags(flags, args, 0, 1, stdout); help || err != nil {
		return err
	}
	p, err := findPlaces("")
	if err != nil {
		return err
	}
	told := context.Background()
	if *follow {
		var stop context.CancelFunc
		told, stop = signal.NotifyContext(told, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
	}
	s := &story{screen: newScreen(stdout), state: stateDir(p.state), raw: *asJSON, all: *all || *asJSON}
	if flags.NArg() == 1 {
		s.session, err = findSession(s.state, flags.Arg(0))
	} else {
		s.session, s.chosen, err = newestSession(p, stderr)
		if err == nil && s.session == "" && *follow {
			fmt.Fprintln(stderr, noSessions(p)+"\n等待第一个会话……")
		}
		for err == nil && s.session == "" && *follow && pause(told) {
			s.session, s.chosen, err = newestSession(p, io.Discard) // its complaints were made once
		}
	}
	switch {
	case err != nil || told.Err() != nil:
		return err
	case s.session == "" && !*asJSON:
		s.block("", noSessions(p))
	case s.session != "":
		if *asJSON && s.chosen != "" {
			fmt.Fprintf(stderr, "会话 %s（%s）\n", s.session, s.chosen)
		}
		err = s.tellAll(told, *follow)
	}
	return cmp.Or(err, s.Flush())
}

// Looking again is the one way to notice growth that Linux and macOS share and
// the standard library has. Five looks a second cost nothing, and to a reader
// the steps of a review, seconds apart, come at once.
const pollInterval = 200 * time.Millisecond

// pause waits for the time of the next look; false: ccc is told to end.
func pause(told context.Context) bool {
	select {
	case <-told.Done():
		return false
	case <-time.After(pollInterval):
		return true
	}
}

// findSession returns the session whose id is word, or begins with it.
func findSession(d stateDir, word string) (string, error) {
	ids, err := d.sessions()
	if err != nil || slices.Contains(ids, word) {
		return word, err
	}
	matches := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return word == "" || !strings.HasPrefix(id, word) })
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", withHint(fmt.Errorf("no session %q", word), "there are: "+someOf(ids))
	}
	return "", withHint(fmt.Errorf("%q is the beginning of %d sessions", word, len(matches)), "they are: "+someOf(matches))
}

// someOf lists the candidates for an error message, not too many of them.
func someOf(ids []string) string {
	const most = 10
	switch {
	case len(ids) == 0:
		return "none"
	case len(ids) > most:
		return strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %d more (ccc status)", len(ids)-most)
	}
	return strings.Join(ids, ", ")
}

// newestSession returns the newest session of the current directory's project,
// else the newest of all, and says which of the two it is.
func newestSession(p places, stderr io.Writer) (session, chosen string, err error) {
	const enough = 16 << 10 // the last record tells project and time
	sessions, err := summarizeAll(p, enough, stderr)
	if err != nil || len(sessions) == 0 {
		return "", "", err
	}
	if here, err := os.Getwd(); err == nil {
		here = resolved(here)
		for _, one := range sessions {
			if one.Project != "" && isBelow(here, resolved(one.Project)) {
				return one.Session, "当前项目最新的会话", nil
			}
		}
	}
	return sessions[0].Session, "当前目录没有会话，这是所有会话中最新的", nil
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// resolved is path without symbolic links, as it is if it does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// A story is a session told from its timeline and, while a review runs, from
// what the reviewer writes.
type story struct {
	*screen
	state   stateDir
	session string
	chosen  string // how, if the user did not name it
	raw     bool   // the records as they are, as JSON lines
	all     bool   // from the first record on

	titled   bool
	date     string    // of the last record
	verdict  time.Time // when the last one was
	steps    []contentBlock
	watching bool // the steps of a review have been shown, its record has not
}

const (
	// recentTimeline is some hundreds of reviews, more than a person reads;
	// very few sessions have more.
	recentTimeline = 1 << 20
	// recentOutput holds the running review from its beginning, but for one that
	// has looked at large files; then its latest steps.
	recentOutput = 1 << 20
)

// tellAll tells the session so far and, to follow it, goes on until ccc is told
// to end.
func (s *story) tellAll(told context.Context, follow bool) error {
	timeline, err := s.tellPast()
	if err != nil {
		return err
	}
	if follow {
		return s.tellOn(told, timeline)
	}
	timeline.close()
	if !s.titled && !s.raw {
		s.title(false)
		s.block("", "还没有记录")
	}
	return nil
}

// tellPast tells what is there and returns the reader for what is to come.
func (s *story) tellPast() (timeline *lineReader, err error) {
	for last := int64(recentTimeline); ; last *= 8 {
		if s.all {
			last = 0
		}
		timeline = s.state.readTimeline(s.session, last, func(line []byte) { s.tell(line, timeline.earlier) })
		if err := timeline.read(); err != nil || s.titled || !timeline.earlier {
			return timeline, err
		}
		timeline.close() // one record is larger than last
	}
}

// tellOn tells what comes, until ccc is told to end.
func (s *story) tellOn(told context.Context, timeline *lineReader) error {
	if !s.titled && !s.raw {
		s.title(false)
	}
	var lines [][]byte
	timeline.lines.line = func(line []byte) { lines = append(lines, bytes.Clone(line)) }
	output := s.state.readOutput(s.session, recentOutput, s.step)
	defer output.close()
	defer timeline.close()
	for first := true; ; first = false {
		err := timeline.read()
		if err == nil && !s.raw {
			err = output.read() // after the timeline: the steps of a review come before its record
		}
		if first && s.isPast(output.modified()) {
			s.steps = nil
		}
		s.showSteps()
		for _, line := range lines {
			s.tell(line, false)
		}
		lines = nil
		if err = cmp.Or(err, s.Flush()); err != nil || !pause(told) {
			return err
		}
	}
}

// isPast tells whether the review that wrote its last output at that time is
// over: there is a verdict since (its time is cut to the millisecond), or it was
// longer ago than any review may take.
func (s *story) isPast(written time.Time) bool {
	return written.Before(s.verdict.Add(time.Millisecond)) || time.Since(written) > time.Hour
}

// tell tells the record in line; what is not one is passed over.
func (s *story) tell(line []byte, earlier bool) {
	if s.raw {
		if json.Valid(line) && line[0] == '{' {
			s.Write(line)
		}
		return
	}
	var r record
	if json.Unmarshal(line, &r) != nil || r.Event == "" {
		return
	}
	if !s.titled {
		s.title(earlier)
	}
	at := r.Time.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	fmt.Fprint(s, s.paint(dim, at.Format(time.TimeOnly)), " ")
	if r.Verdict != "" {
		s.verdict, s.watching = r.Time, false
		s.review(r)
		return
	}
	const enough = 600 // characters: the user wrote it and knows how it goes on
	fmt.Fprintln(s, s.paint(bold, "用户"))
	s.block("    ", cutMiddle(r.Prompt, enough))
}

// title says which session this is.
func (s *story) title(earlier bool) {
	s.titled = true
	what := "会话 " + s.session
	if s.chosen != "" {
		what += "（" + s.chosen + "）"
	}
	s.block("", what)
	if earlier {
		s.block("", "更早的记录没有显示，全部显示: ccc log --all "+s.session)
	}
}

// review tells what became of a stop or a question.
func (s *story) review(r record) {
	what := map[string]string{eventStop: "审查", eventPreToolUse: "审查提问"}[r.Event]
	if what == "" {
		what = "审查 " + oneLine(r.Event)
	}
	if r.Iteration > 0 {
		what += fmt.Sprintf(" %d/%d", r.Iteration, r.Limit)
	}
	fmt.Fprintln(s, s.paint(bold, what), s.paint(verdictColour(r.Verdict), oneLine(verdictName(r.Verdict))))
	var facts []string
	if r.DurationSeconds > 0 {
		facts = append(facts, "用时 "+duration(r.DurationSeconds))
	}
	if r.CostUSD > 0 {
		facts = append(facts, dollars(r.CostUSD))
	}
	if t := r.Tokens; t != nil && *t != (tokens{}) {
		facts = append(facts, fmt.Sprintf("token: 新 %s，缓存 %s，输出 %s", grouped(t.Input+t.CacheWrite), grouped(t.CacheRead), grouped(t.Output)))
	}
	if len(facts) > 0 {
		s.flow("    ", facts, " · ")
	}
	if len(r.Tools) > 0 {
		s.flow("    查看 ", r.Tools, " · ")
	}
	if r.Feedback != "" {
		s.block("    反馈 ", r.Feedback)
	}
	if r.Error != "" {
		s.block("    原因 ", r.Error)
	}
	switch r.Verdict {
	case verdictFailed:
		s.block("    ", "没有进行审查，Agent 可以停止")
	case verdictLimit:
		s.block("    ", fmt.Sprintf("已达到审查次数上限（%d 次），不再审查，Agent 可以停止", r.Limit))
	}
}

// step notes a line of the reviewer's output. Where a review begins, those
// before it are history.
func (s *story) step(line []byte) {
	var l streamLine
	_ = json.Unmarshal(line, &l)
	switch {
	case l.Type == "system" && l.Subtype == "init":
		s.steps, s.watching = nil, false
	case l.Type == "assistant":
		s.steps = append(s.steps, l.Message.Content...)
	}
}

// showSteps shows the steps noted since the last time.
func (s *story) showSteps() {
	for _, step := range s.steps {
		text, tool := step.shown()
		if text+tool == "" {
			continue
		}
		if !s.watching {
			s.watching = true
			fmt.Fprintf(s, "\n%s\n", s.paint(bold, "审查进行中……"))
		}
		if tool != "" {
			s.flow("    · ", []string{tool}, "")
		} else {
			s.block("    ", text)
		}
	}
	s.steps = nil
}

// duration writes seconds for people: 41.2秒, 3分05秒.
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f秒", seconds)
	}
	whole := int(seconds)
	return fmt.Sprintf("%d分%02d秒", whole/60, whole%60)
}

// grouped writes n with commas: 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
