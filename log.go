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
	"regexp"
	"slices"
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
	s := &story{screen: newScreen(os.Stdout), session: stateDir(d.state).session(""), raw: c.has("--json")}
	begun := func() string { return "" }
	if len(c.operands) > 0 {
		s.session.id, err = s.session.dir.findSession(c.operands[0])
	} else {
		begun = newcomers(d) // before the first look, so that none is missed
		err = s.choose(d, os.Stderr)
		if err == nil && s.session.id == "" && follow {
			fmt.Fprintln(os.Stderr, noSessions(d)+"\n"+say(waitingForFirst))
		}
		for err == nil && s.session.id == "" && follow && pause(ctx) {
			err = s.choose(d, io.Discard) // its complaints were made once
		}
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	if s.session.id == "" && !s.raw {
		s.block("", noSessions(d))
	}
	for next := ""; err == nil && s.session.id != ""; s = s.goOver(next) {
		next, err = s.tellAll(ctx, follow, begun)
	}
	return cmp.Or(err, s.Flush())
}

// choose makes the newest session the one to tell, if there is any.
func (s *story) choose(d dirs, stderr io.Writer) (err error) {
	isHere := false
	s.session.id, isHere, err = newestSession(d, stderr)
	if s.chosen = say(newestOfAll); isHere {
		s.chosen = say(newestHere)
	}
	return err
}

// newcomers returns a function that returns the newest of the sessions that have begun in the current directory's
// project since newcomers was called, and each of them once; "" for none.
func newcomers(d dirs) func() string {
	state, known := stateDir(d.state), map[string]bool{}
	ids, _ := state.sessions()
	for _, id := range ids {
		_, err := os.Stat(state.session(id).timelineFile())
		known[id] = err == nil
	}
	return func() (newest string) {
		var at time.Time
		ids, _ := state.sessions()
		for _, id := range ids {
			if known[id] {
				continue
			}
			one, _ := summarize(d, id)
			known[id] = one.Project != "" // which is in its first record
			if one.isHere(d) && one.UpdatedAt.After(at) {
				newest, at = id, one.UpdatedAt
			}
		}
		return newest
	}
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

// A story is a session told from its timeline and, while a review runs, from what the reviewer writes.
type story struct {
	*screen
	session session // without an id: none yet
	chosen  string  // how, if the user did not name it
	raw     bool    // the records as they are, with the session's id, as JSON lines

	lines    [][]byte       // of the timeline, not told yet
	date     string         // of the last record
	judgedAt time.Time      // the last verdict's time
	steps    []contentBlock // of the running review, not told yet
	watching bool           // steps of a review have been told, its record has not
	runs     []record       // what ccc try ran since the last review
	live     bool           // tell runs as they come
}

// recentOutput is in bytes. It holds the running review from its beginning, but for one that has looked at large
// files; then its latest steps.
const recentOutput = 1 << 20

// tellAll tells the session so far and, to follow it, goes on until ctx ends or begun returns the session to go
// over to.
func (s *story) tellAll(ctx context.Context, follow bool, begun func() string) (next string, err error) {
	timeline := s.session.followTimeline(func(line []byte) { s.lines = append(s.lines, bytes.Clone(line)) })
	err = timeline.read()
	if !follow {
		timeline.close()
	}
	s.title()
	if s.tellLines(); !follow || err != nil {
		if !s.raw && s.date == "" {
			s.block("", say(noRecords))
		}
		return "", err
	}
	defer timeline.close()
	output := s.session.followOutput(recentOutput, s.step)
	defer output.close()
	for first, over := true, false; ; first = false {
		if err = timeline.read(); err == nil && !s.raw {
			err = output.read() // after the timeline: the steps of a review come before its record
		}
		if first && s.isPast(output.modified()) {
			s.steps, s.runs = nil, nil
		}
		s.tellSteps()
		if first {
			s.live = true
			s.tellRuns(s.runs)
		}
		s.tellLines()
		if err = cmp.Or(err, s.Flush()); err != nil || over || next != "" {
			return next, err
		}
		if next = begun(); next == s.session.id {
			next = ""
		}
		over = !pause(ctx) // what came before the end is told too
	}
}

// goOver returns the story of the session next, nothing told yet.
func (s *story) goOver(next string) *story {
	if next != "" && !s.raw {
		fmt.Fprintln(s)
	}
	return &story{screen: s.screen, session: s.session.dir.session(next), chosen: say(newcomer), raw: s.raw}
}

// isPast tells whether the review that wrote its last output at that time is over: there is a verdict since (its
// time is cut to the millisecond), or it was longer ago than any review may take.
func (s *story) isPast(written time.Time) bool {
	return written.Before(s.judgedAt.Add(time.Millisecond)) || time.Since(written) > time.Hour
}

func (s *story) tellLines() {
	for _, line := range s.lines {
		if r, ok := parseRecord(line); ok && s.raw {
			fmt.Fprintf(s, `{"session_id":%q,%s`, s.session.id, bytes.TrimLeft(line, " \t{")) // a record has members
		} else if ok {
			s.tell(r)
		}
	}
	s.lines = nil
}

// title says which session this is.
func (s *story) title() {
	chosen := s.chosen
	if chosen != "" {
		chosen = say(sessionChosen, chosen)
	}
	what := say(sessionTitle, s.session.id, chosen)
	if !s.raw {
		s.block("", what)
	} else if s.chosen != "" {
		fmt.Fprintln(os.Stderr, what)
	}
}

func (s *story) tell(r record) {
	if r.Event == eventTry {
		s.runs = append(s.runs, r)
		if s.live {
			s.tellRuns([]record{r})
		}
		return
	}
	at := r.Time.Local()
	fmt.Fprintln(s)
	if date := at.Format(time.DateOnly); date != s.date {
		s.date = date
		fmt.Fprintf(s, "%s\n\n", s.paint(dim, "── "+date+" ──"))
	}
	fmt.Fprint(s, s.paint(dim, at.Format(time.TimeOnly)), " ")
	const enough = 600 // characters: the user wrote it and knows how it goes on
	switch {
	case r.Verdict != "":
		s.judgedAt, s.watching = r.Time, false
		s.review(r)
		s.runs = nil
	case r.Event == eventSwitch:
		fmt.Fprintln(s, s.paint(bold, say(map[string]words{modeWord(true): switchedOn, modeWord(false): switchedOff}[r.Mode])))
		s.block("    "+say(leadBy), say(map[string]words{switchedInSession: byUser, switchedOutside: byOutside, switchedByAgent: byAgent}[r.By]))
	default:
		s.runs = nil
		fmt.Fprintln(s, s.paint(bold, say(titleUser)))
		s.block("    ", cutMiddle(r.Prompt, enough))
	}
}

// looks are the tools that the reviewer used, without the calls of ccc try where the runs that are told account for them.
func (s *story) looks(r record) []string {
	others := slices.DeleteFunc(slices.Clone(r.Tools), tryCall.MatchString)
	if len(r.Tools)-len(others) > len(s.runs) {
		return r.Tools
	}
	return others
}

var tryCall = regexp.MustCompile(`^Bash\(\S*/ccc try `)

// basis says what the reviewer was told to go by.
func basis(r record) string {
	source := oneLine(r.PromptSource)
	if source == builtinSource {
		source = say(builtinPrompt)
	}
	if r.PromptKept {
		source += say(promptChanged)
	}
	return source
}

// review tells what became of a stop or a question.
func (s *story) review(r record) {
	what := say(map[string]words{eventStop: titleReview, eventPreToolUse: titleQuestion}[r.Event])
	if what == "" {
		what = say(titleReview) + " " + oneLine(r.Event)
	}
	if r.Iteration > 0 {
		what += fmt.Sprintf(" %d/%d", r.Iteration, r.Limit)
	}
	fmt.Fprintln(s, s.paint(bold, what), s.paint(verdictColour(r.Verdict), oneLine(verdictName(r.Verdict))))
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
	s.block("    ", strings.Join(facts, " · "))
	s.block("    "+say(leadBasis), basis(r))
	if r.CacheSplit {
		s.block("    ", say(cacheSplit))
	}
	s.block("    "+say(leadTools), oneLine(strings.Join(s.looks(r), " · ")))
	for _, run := range s.runs {
		s.block("    "+say(leadRan), ran(run))
	}
	s.block("    "+say(leadNoCopy), r.NoCopy)
	if r.Verdict == verdictAllow {
		s.block("    "+say(leadForUser), r.Feedback)
	} else {
		s.block("    "+say(leadFeedback), r.Feedback)
	}
	s.block("    "+say(leadReason), r.Error)
	switch r.Verdict {
	case verdictFailed:
		s.block("    ", say(stoppedUnreviewed))
	case verdictLimit:
		s.block("    ", say(stoppedAtLimit, count(r.Limit, reviews)))
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
		s.watch()
		if tool != "" {
			s.block("    · ", tool)
		} else {
			s.block("    ", text)
		}
	}
	s.steps = nil
}

// watch says, once, that a review is under way.
func (s *story) watch() {
	if !s.watching {
		s.watching = true
		fmt.Fprintf(s, "\n%s\n", s.paint(bold, say(reviewUnderWay)))
	}
}

func (s *story) tellRuns(runs []record) {
	for _, run := range runs {
		s.watch()
		s.block("    · "+strings.TrimRight(say(leadRan), " ")+" ", ran(run))
	}
}

// ran tells of a command that the reviewer ran: what ccc try saw, not what the reviewer says.
func ran(r record) string {
	code := 0
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	told := say(commandRan, cutMiddle(oneLine(r.Command), 300), code, duration(r.DurationSeconds))
	if why := cmp.Or(r.NoCopy, r.Error); why != "" { // ccc's own words, for 124 and 125
		told += ": " + cutMiddle(oneLine(why), 200)
	}
	return told
}
