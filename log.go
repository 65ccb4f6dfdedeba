package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long it
// took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// showLog is ccc log [-f] [--json] [SESSION].
func showLog(c *call, d dirs) (err error) {
	follow := c.has("-f")
	ctx := context.Background()
	if follow {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
	}
	s := &story{screen: newScreen(os.Stdout), state: stateDir(d.state), raw: c.has("--json")}
	if len(c.operands) > 0 {
		s.session, err = s.state.findSession(c.operands[0])
	} else {
		s.session, s.chosen, err = newestSession(d, os.Stderr)
		if err == nil && s.session == "" && follow {
			fmt.Fprintln(os.Stderr, noSessions(d)+"\n等待第一个会话……")
		}
		for err == nil && s.session == "" && follow && pause(ctx) {
			s.session, s.chosen, err = newestSession(d, io.Discard) // its complaints were made once
		}
	}
	switch {
	case err != nil || ctx.Err() != nil:
		return err
	case s.session == "" && !s.raw:
		s.block("", noSessions(d))
	case s.session != "":
		if s.raw && s.chosen != "" {
			fmt.Fprintf(os.Stderr, "会话 %s（%s）\n", s.session, s.chosen)
		}
		err = s.tellAll(ctx, follow)
	}
	return cmp.Or(err, s.Flush())
}

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of a
// review are seconds apart.
const pollInterval = 200 * time.Millisecond

// pause waits for the time of the next look; false: ccc is told to end.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pollInterval):
		return true
	}
}

// newestSession returns the newest session of the current directory's project, else the newest of all, and says
// which of the two it is.
func newestSession(d dirs, stderr io.Writer) (session, chosen string, err error) {
	sessions, err := summarizeAll(d, stderr)
	if err != nil || len(sessions) == 0 {
		return "", "", err
	}
	for _, one := range sessions {
		if one.Project != "" && isBelow(resolved(d.here), resolved(one.Project)) {
			return one.Session, "当前项目最新的会话", nil
		}
	}
	return sessions[0].Session, "当前目录没有会话，这是所有会话中最新的", nil
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*screen
	state   stateDir
	session string
	chosen  string // how, if the user did not name it
	raw     bool   // the records as they are, as JSON lines

	lines    [][]byte       // of the timeline, not told yet
	date     string         // of the last record
	judgedAt time.Time      // the last verdict's time
	steps    []contentBlock // of the running review, not told yet
	watching bool           // steps of a review have been told, its record has not
}

// recentOutput is in bytes. It holds the running review from its beginning, but for one that has looked at large
// files; then its latest steps.
const recentOutput = 1 << 20

// tellAll tells the session so far and, to follow it, goes on until ctx ends.
func (s *story) tellAll(ctx context.Context, follow bool) error {
	timeline := s.state.followTimeline(s.session, func(line []byte) { s.lines = append(s.lines, bytes.Clone(line)) })
	err := timeline.read()
	if !follow {
		timeline.close()
	}
	if !s.raw {
		s.title()
	}
	if s.tellLines(); !follow || err != nil {
		if !s.raw && s.date == "" {
			s.block("", "还没有记录")
		}
		return err
	}
	defer timeline.close()
	output := s.state.followOutput(s.session, recentOutput, s.step)
	defer output.close()
	for first, over := true, false; ; first = false {
		if err = timeline.read(); err == nil && !s.raw {
			err = output.read() // after the timeline: the steps of a review come before its record
		}
		if first && s.isPast(output.modified()) {
			s.steps = nil
		}
		s.tellSteps()
		s.tellLines()
		if err = cmp.Or(err, s.Flush()); err != nil || over {
			return err
		}
		over = !pause(ctx) // what came before the end is told too
	}
}

// isPast tells whether the review that wrote its last output at that time is over: there is a verdict since (its
// time is cut to the millisecond), or it was longer ago than any review may take.
func (s *story) isPast(written time.Time) bool {
	return written.Before(s.judgedAt.Add(time.Millisecond)) || time.Since(written) > time.Hour
}

func (s *story) tellLines() {
	for _, line := range s.lines {
		if r, ok := parseRecord(line); ok && s.raw {
			s.Write(line)
		} else if ok {
			s.tell(r)
		}
	}
	s.lines = nil
}

// title says which session this is.
func (s *story) title() {
	what := "会话 " + s.session
	if s.chosen != "" {
		what += "（" + s.chosen + "）"
	}
	s.block("", what)
}

func (s *story) tell(r record) {
	at := r.Time.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	fmt.Fprint(s, s.paint(dim, at.Format(time.TimeOnly)), " ")
	if r.Verdict != "" {
		s.judgedAt, s.watching = r.Time, false
		s.review(r)
		return
	}
	const enough = 600 // characters: the user wrote it and knows how it goes on
	fmt.Fprintln(s, s.paint(bold, "用户"))
	s.block("    ", cutMiddle(r.Prompt, enough))
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
	s.block("    ", strings.Join(facts, " · "))
	s.block("    查看 ", oneLine(strings.Join(r.Tools, " · ")))
	s.block("    反馈 ", r.Feedback)
	s.block("    原因 ", r.Error)
	switch r.Verdict {
	case verdictFailed:
		s.block("    ", "没有进行审查，Agent 可以停止")
	case verdictLimit:
		s.block("    ", fmt.Sprintf("已达到审查次数上限（%d 次），不再审查，Agent 可以停止", r.Limit))
	}
}

// step notes a line of the reviewer's output. Where a review begins, those before it are history.
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

// tellSteps tells the steps noted since the last time.
func (s *story) tellSteps() {
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
			s.block("    · ", tool)
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
	return fmt.Sprintf("%d分%02d秒", int(seconds)/60, int(seconds)%60)
}
