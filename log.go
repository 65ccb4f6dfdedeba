package main

// A session as a story, for people: what the user asked, what each review looked at, what it found, how long it
// took and what it cost.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// showLog is ccc log [-f] [--json] [SESSION].
func showLog(c *call, d dirs) (err error) {
	s := &story{screen: newScreen(os.Stdout), session: stateDir(d.state).session(""), raw: c.has("--json")}
	ctx, seen := context.Background(), map[string]bool{}
	var next func() string
	if c.has("-f") {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		next = func() string { return "" }
	}
	if len(c.operands) > 0 {
		s.session.id, err = s.session.dir.findSession(c.operands[0])
	} else {
		s.chosen = say(newestHere)
		s.session.id, err = newestSession(d, seen)
		if next != nil {
			next = func() string { id, _ := newestSession(d, seen); return id }
		}
	}
	for err == nil {
		var id string
		if id, err = s.tellAll(ctx, next); id == "" {
			break
		}
		if !s.raw {
			fmt.Fprintln(s)
		}
		s = &story{screen: s.screen, session: s.session.dir.session(id), chosen: say(newcomer), raw: s.raw}
	}
	return err
}

// Poll: the standard library has no portable file watcher. Five looks a second cost nothing, and the steps of a
// review are seconds apart.
const pollInterval = 200 * time.Millisecond

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*screen
	session session // without an id: none yet
	chosen  string  // how, if the user did not name it
	raw     bool    // the records as they are, with the session's id, as JSON lines

	date     string         // of the last record
	judgedAt time.Time      // the last verdict's time
	steps    []contentBlock // of the running review, not told yet
	watching bool           // steps of a review have been told, its record has not
	open     reviewRound    // the review that runs, as far as it is recorded
	runsTold int            // how many of its runs were told as they came
}

// recentOutput is in bytes. It holds the running review from its beginning, but for one that has looked at large
// files; then its latest steps.
const recentOutput = 1 << 20

// tellAll tells the session so far. With next it goes on until ctx ends or next names the session to go over to.
func (s *story) tellAll(ctx context.Context, next func() string) (over string, err error) {
	var lines [][]byte
	timeline := s.session.followTimeline(func(line []byte) { lines = append(lines, bytes.Clone(line)) })
	defer timeline.close()
	output := s.session.followOutput(recentOutput, s.step)
	defer output.close()
	for first, ended := true, next == nil; ; first = false {
		lines = nil
		if err = timeline.read(); err == nil && next != nil && !s.raw {
			err = output.read() // after the timeline: the steps of a review come before its record
		}
		if first {
			if ended {
				timeline.close()
			}
			s.title(next != nil)
			s.tellLines(lines)
			lines = nil
			// There is a verdict since the last output (its time is cut to the millisecond), or no review takes as long.
			if at := output.modified(); at.Before(s.judgedAt.Add(time.Millisecond)) || time.Since(at) > time.Hour {
				s.steps, s.open = nil, reviewRound{}
			}
		}
		s.tellSteps()
		s.tellLines(lines)
		s.tellRuns()
		if err = cmp.Or(err, s.Flush()); err != nil || ended || over != "" {
			return over, err
		}
		over = next()
		select {
		case <-ctx.Done():
			ended = true // what came before the end is told too
		case <-time.After(pollInterval):
		}
	}
}

// title says which session this is.
func (s *story) title(follow bool) {
	what := say(sessionTitle, s.session.id, "")
	switch {
	case s.session.id == "" && follow:
		what = say(noSessionYet, s.session.dir) + "\n" + say(waitingForFirst)
	case s.session.id == "":
		what = say(noSessionYet, s.session.dir)
	case s.chosen != "":
		what = say(sessionTitle, s.session.id, say(sessionChosen, s.chosen))
	}
	if !s.raw {
		s.block("", what)
	} else if s.chosen != "" {
		fmt.Fprintln(os.Stderr, what)
	}
}

func (s *story) tellLines(lines [][]byte) {
	for _, line := range lines {
		if r, ok := parseRecord(line); ok && s.raw {
			fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(line, " \t{")) // a record has members
		} else if ok {
			s.tell(r)
		}
	}
}

// tell writes what the record says under its time. What belongs to a review is told with its end.
func (s *story) tell(r record) {
	switch {
	case r.Event == eventTry:
		s.open.Runs = append(s.open.Runs, r)
		return
	case r.Event == eventRefused:
		s.open.Refused = append(s.open.Refused, r.Tools...)
		return
	case r.Verdict == "" && r.Review != "":
		s.open, s.runsTold = reviewRound{record: r}, 0
		return
	}
	at := r.Time.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	fmt.Fprint(s, s.paint(dim, at.Format(time.TimeOnly)), " ")
	s.open.record = r
	showRecord(s.screen, s.open)
	if r.Verdict != "" {
		s.judgedAt, s.watching = r.Time, false
	}
	if r.Event != eventSwitch {
		s.open, s.runsTold = reviewRound{}, 0
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
		if text, tool := step.shown(); tool != "" {
			s.tellLive("    · ", tool)
		} else {
			s.tellLive("    ", text)
		}
	}
	s.steps = nil
}

// tellRuns tells the runs of a review that is under way, each once.
func (s *story) tellRuns() {
	for _, run := range s.open.Runs[s.runsTold:] {
		s.tellLive("    · "+strings.TrimRight(say(leadRan), " ")+" ", ran(run))
	}
	s.runsTold = len(s.open.Runs)
}

// tellLive tells something of a review that is under way, before the first that it is.
func (s *story) tellLive(lead, text string) {
	if text != "" && !s.watching {
		s.watching = true
		fmt.Fprintf(s, "\n%s\n", s.paint(bold, say(reviewUnderWay)))
	}
	s.block(lead, text)
}
