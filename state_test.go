package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sweeping removes what is old and ccc's; purging removes all that is ccc's.
func TestStateSweep(t *testing.T) {
	d := stateDir(t.TempDir())
	touch := func(at time.Time, names string) {
		t.Helper()
		for name := range strings.FieldsSeq(names) {
			check(t, errors.Join(os.WriteFile(d.file(name), []byte("{}\n"), 0o600), os.Chtimes(d.file(name), at, at)))
		}
	}
	expect := func(names string) {
		t.Helper()
		left, _ := filepath.Glob(d.file("*"))
		for i := range left {
			left[i] = filepath.Base(left[i])
		}
		expectIs(t, "what is left", strings.Join(left, " "), names)
	}
	const others = "12-345-settings.json client-list.txt written.json"
	const first = "supervisor-a.json supervisor-a-output.jsonl supervisor-a-output.jsonl.1 supervisor-a-events.jsonl " +
		"supervisor-a.json.bad .supervisor-a.json.ccc-tmp"
	touch(time.Now().Add(-retention-time.Hour), others+" mine.json hook-invocation.log supervisor-b.json "+first)
	touch(time.Now(), "supervisor-b-events.jsonl supervisor-c.json")
	check(t, d.sweep())
	expect(strings.Replace(others, " written.json", " mine.json state.lock supervisor-b-events.jsonl supervisor-c.json written.json", 1))
	touch(time.Now(), "hook-invocation.log")
	os.Truncate(d.logFile(), logLimit+1)
	check(t, d.sweep())
	if info, err := os.Stat(d.logFile() + ".1"); err != nil || info.Size() != logLimit+1 {
		t.Errorf("the older log: %v", err)
	}
	if removed, kept, err := d.purge(); removed != 4 || kept != 4 || err != nil {
		t.Errorf("purged %d, kept %d, %v", removed, kept, err)
	}
	expect(strings.Replace(others, "written.json", "mine.json written.json", 1))
}

// A sweep beside a hook takes nothing that has just been written: a review that runs is still seen to run, and ends as one.
func TestSweepBeside(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.repository()
	box.vars = append(box.vars, "CCC_LAUNCH=1800000000000.BESIDE")
	box.reviews(fakeReview{runs(`until [ -f "$FAKE_CLAUDE_DIR/go" ]; do sleep 0.02; done`), decides(false, "not yet")})
	box.submit("fix it")
	ended := make(chan commandResult)
	go func() { ended <- box.stop("") }()
	box.awaitIn(logPath, "review started")
	list := func() (names string) {
		paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/*"))
		for _, path := range paths {
			names += filepath.Base(path) + "\n"
		}
		return names
	}
	before := list()
	expectIn(t, "the files", before, "launch-", "running-", "tree-", ".objects", testSession)
	for _, name := range []string{"launch-1.OLD", "running-old-1", "trial-old", "tree-old.json", "tree-old.lock", "tree-old.objects/x", "supervisor-old.json"} {
		box.write(".claude/ccc/"+name, 0o600, "")
		path := filepath.Join(box.home, ".claude/ccc", name)
		check(t, os.Chtimes(path, ago(retention+time.Hour), ago(retention+time.Hour)))
	}
	check(t, os.Chtimes(box.stateDir().lockFile(), ago(25*time.Hour), ago(25*time.Hour))) // the last sweep
	other := *box
	other.vars = append(slices.Clone(box.vars), "CCC_LAUNCH=", "CLAUDE_PROJECT_DIR=", "CCC_SUPERVISOR=")
	other.launch()
	after := list()
	expectIn(t, "the files behind it", after, strings.Fields(before)...)
	expectNotIn(t, "the files behind it", after, "OLD", "old")
	expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 3, "reviewing\n", "ccc")
	box.write("../fake/go", 0o600, "")
	expectIs(t, "the stop", decided((<-ended).stdout), blockNotYet)
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock})
}

// What ccc makes only the user may read: as a review runs, and what is there behind it.
func TestFilesPrivate(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.repository()
	check(t, os.RemoveAll(filepath.Join(box.home, ".claude/ccc")))
	check(t, os.Rename(filepath.Join(box.home, ".claude/projects"), filepath.Join(box.home, "projects")))
	check(t, os.Remove(filepath.Join(box.home, ".claude")))
	const open = `find "$HOME/.claude" -path "*/ccc/tree-*.objects/*" -prune -o -path "*/projects*" -prune -o -path "*/session-env*" -prune -o ` +
		`\( -type f ! -perm 600 -o -type d ! -perm 700 \) -print`
	elsewhere := *box
	elsewhere.vars = append(slices.Clone(box.vars), "CCC_WORK_DIR="+box.home+"/w")
	elsewhere.launch()
	box.launch()
	box.vars = append(box.vars, "CCC_LAUNCH=1800000000000.PRIVATE")
	check(t, os.RemoveAll(filepath.Join(box.home, ".claude/projects")))
	check(t, os.Rename(filepath.Join(box.home, "projects"), filepath.Join(box.home, ".claude/projects")))
	box.reviews(fakeReview{runs(`ls "$HOME/.claude/ccc" >"$dir/there"; ` + open + ` >"$dir/open"`), decides(false, strings.Repeat("long ", feedbackLimit))})
	box.submit("fix it")
	expectIn(t, "the stop", box.stop("").stdout, `"decision":"block"`)
	expectIn(t, "what is there in a review", box.read("../fake/there"), "running-", "launch-", "tree-")
	expectIs(t, "what others may read in a review", box.read("../fake/open"), "")
	expectIn(t, "what is there", strings.Join(box.files(), " "), "SUPERVISOR.md", "commands/supervisor.md", "-feedback.txt", ".ccc-installed.json")
	expectIs(t, "what others may read", box.run(20*time.Second, "", "sh", "-c", open).stdout, "")
}

// Whatever a value is, a record of the log stays on its line, and the value can be told from what is around it.
func TestStateLog(t *testing.T) {
	d := stateDir(t.TempDir())
	for value, want := range map[string]string{
		"plain-1/2": "plain-1/2",
		"审查":        "审查",
		"":          `""`,
		"a b":       `"a b"`,
		"a\nb":      `"a\nb"`,
		`a"b`:       `"a\"b"`,
		"a\u2028b":  `"a\u2028b"`,
		"a\x7fb":    `"a\x7fb"`,
	} {
		os.Remove(d.logFile())
		check(t, d.log("event", "first", value, "second", 2))
		text, _ := os.ReadFile(d.logFile())
		if _, line, _ := strings.Cut(string(text), " "); line != "event first="+want+" second=2\n" {
			t.Errorf("%q is logged as %s", value, line)
		}
	}
}

// A line that a full disk or a crash left torn takes no other with it.
func TestStateTornLine(t *testing.T) {
	box := newHookBox(t)
	for _, name := range []string{eventsPath, outputPath, logPath} {
		box.write(name, 0o600, `{"time":"2026-01-02T03:04:05Z","event":"Stop","verdict":"blo`)
	}
	box.write(statePath, 0o600, stateText(testSession, 1, "")) // the second review of a request
	box.stop("")
	expectEnd(t, "ccc verdict", box.run(10*time.Second, "", "ccc", "verdict"), 1, "block\n", "秒前） · not yet")
	for _, name := range []string{outputPath, logPath} {
		if lines := strings.Split(box.read(name), "\n"); !strings.HasSuffix(lines[0], "blo") || len(lines) < 3 {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

// A review that was switched off while it ran is the last that is told of; one that had ended before is not.
func TestHistorySwitchedOff(t *testing.T) {
	begin, off, end := beginOf("r"), switchedTo(modeOff), endOf("r", outcome{Verdict: verdictCancelled})
	for _, test := range []struct {
		lines []entry
		told  bool
	}{{[]entry{begin, off, end}, true}, {[]entry{begin, end, off}, false}} {
		expectIs(t, "is told of", historyOf(spaced(test.lines)...).result() != nil, test.told)
	}
}

// FuzzTimeline: whatever lines stand between them, also the halves of records, exactly the records count, in their order.
func FuzzTimeline(f *testing.F) {
	f.Add([]byte{0, 1, 4, 3, 2, 5, 1, 10}, "{")
	f.Add([]byte{0, 1, 0, 2, 1, 4}, `{"kind":1}`)
	f.Fuzz(func(t *testing.T, steps []byte, other string) {
		s := stateDir(t.TempDir()).session(testSession)
		var text []byte
		var requests []string
		var calls []int
		verdicts, present, clock := []verdict{}, 0, time.Now().Add(-time.Hour)
		id := func() string { return fmt.Sprint("r", len(verdicts)) }
		line := func(e entry) []byte {
			clock = clock.Add(time.Second)
			return append(encodeJSON(e.at(clock)), '\n')
		}
		for n, code := range steps[:min(len(steps), 50)] {
			runs := len(verdicts) > 0 && verdicts[len(verdicts)-1] == verdictReviewing
			switch {
			case code%6 == 0 && !runs:
				requests, present = append(requests, fmt.Sprint("prompt ", n)), len(verdicts)
				text = append(text, line(prompted(requests[len(requests)-1]))...)
			case code%6 == 1 && !runs:
				verdicts, calls = append(verdicts, verdictReviewing), append(calls, 0)
				runsOn(t, s, began(review{ID: id()}))
				text = append(text, line(began(review{ID: id()}))...)
			case code%6 == 2 && runs:
				verdicts[len(verdicts)-1] = []verdict{verdictAllow, verdictBlock, verdictFailed}[code/6%3]
				text = append(text, line(endOf(id(), outcome{Verdict: verdicts[len(verdicts)-1]}))...)
			case code%6 == 3 && runs:
				calls[len(calls)-1]++
				text = append(text, line(did(step{Review: id(), Kind: stepCall, Tool: other}))...)
			case code%6 == 4:
				half := line(ended(review{ID: id(), Question: other, outcome: outcome{Verdict: verdictAllow}}))
				text = append(append(text, half[:int(code)%(len(half)-2)]...), '\n')
			default:
				for part := range strings.SplitSeq(other, "\n") {
					if _, isLine := parseEntry([]byte(part)); !isLine {
						text = append(append(text, part...), '\n')
					}
				}
			}
		}
		check(t, os.WriteFile(s.timelineFile(), text, 0o600))
		h, err := s.readHistory()
		check(t, err)
		var gotRequests []string
		var gotVerdicts []verdict
		var gotCalls []int
		for _, p := range h.Prompts {
			gotRequests = append(gotRequests, p.Text)
		}
		for _, r := range h.Reviews {
			gotVerdicts, gotCalls = append(gotVerdicts, r.Verdict), append(gotCalls, len(r.did.Tools))
		}
		expectEqual(t, "the requests", gotRequests, requests)
		expectEqual(t, "the verdicts", gotVerdicts, verdicts)
		expectEqual(t, "the calls", gotCalls, calls)
		last, want := verdict(""), verdict("")
		if found := h.result(); found != nil {
			last = found.Verdict
		}
		if len(verdicts) > present {
			want = verdicts[len(verdicts)-1]
		}
		if last != want {
			t.Errorf("the last is %q, want %q in\n%s", last, want, text)
		}
	})
}

// The names under which a session's files were kept, and by which others call ccc, stay: an upgrade finds them.
func TestStateNames(t *testing.T) {
	s := sessionFiles{dir: stateDir("/s"), id: "a"}
	for got, want := range map[string]string{s.feedbackFile(): "/s/supervisor-a-feedback.txt", s.byHandFile(): "/s/supervisor-a-review.jsonl",
		s.stateFile(): "/s/supervisor-a.json", s.outputFile(): "/s/supervisor-a-output.jsonl", s.timelineFile(): "/s/supervisor-a-events.jsonl",
		fmt.Sprintln(verdictBlock, verdictAllow, verdictFailed, verdictLimit, verdictCancelled, verdictReviewing): "block allow failed limit cancelled reviewing\n",
		s.dir.logFile(): "/s/hook-invocation.log", s.dir.lockFile(): "/s/state.lock",
		strings.Join([]string{stepCall, stepRefused, stepError, stepWords, stepRun}, " "):                                                                       "call refused error words run",
		strings.Join([]string{supervisorVariable, reviewerVariable, launchVariable, providerVariable, claudeVariable, configDirVariable, workDirVariable}, " "): "CCC_SUPERVISOR CCC_SUPERVISOR_HOOK CCC_LAUNCH CCC_PROVIDER CCC_CLAUDE CCC_CONFIG_DIR CCC_WORK_DIR",
		strings.Join([]string{claudeDirVariable, projectVariable, toolVariable, sessionVariable, tokenVariable, keyVariable, blockCapVariable, attributionVariable}, " "): "CLAUDE_CONFIG_DIR CLAUDE_PROJECT_DIR CLAUDECODE CLAUDE_CODE_SESSION_ID ANTHROPIC_AUTH_TOKEN " +
			"ANTHROPIC_API_KEY CLAUDE_CODE_STOP_HOOK_BLOCK_CAP CLAUDE_CODE_ATTRIBUTION_HEADER"} {
		expectIs(t, "the name", got, want)
	}
}

// A file of the state directory is a session's, ccc's own, or somebody else's.
func TestStateOwner(t *testing.T) {
	long := strings.Repeat("a", 128)
	for name, want := range map[string]bool{
		// A session's.
		"supervisor-a.json":            true,
		"supervisor-a.json.bad":        true,
		"supervisor-a-output.jsonl":    true,
		"supervisor-a-review.jsonl":    true,
		"supervisor-a-events.jsonl":    true,
		"supervisor-a-feedback.txt":    true,
		".supervisor-a.json.ccc-tmp":   true,
		"supervisor-A.b_c-1.json":      true,
		"supervisor-" + long + ".json": true,
		// ccc's own.
		"hook-invocation.log":   true,
		"hook-invocation.log.1": true,
		"state.lock":            true,
		// Somebody else's.
		"supervisor-.json":   false,
		"supervisor--a.json": false,
		"supervisor-a.jsonx": false,
		"xsupervisor-a.json": false,
		".a.ccc-tmp":         false,
		"notes.txt":          false,
	} {
		d := stateDir(t.TempDir())
		check(t, os.WriteFile(d.file(name), nil, 0o600))
		paths, _, err := d.owned()
		check(t, err)
		expectIs(t, name, len(paths) == 1, want)
	}
	s := stateDir(t.TempDir())
	check(t, os.WriteFile(s.file("mine"), nil, 0o600))
	for _, step := range []struct{ files, ids, found string }{ // what comes, which sessions there are then, and what each word finds
		{"hook-invocation.log", "", "a=none"},
		{"supervisor-ab-events.jsonl", "ab", "=none a=ab ab=ab abc=none b=none A=none"},
		{"supervisor-b.json supervisor-ab-events.jsonl supervisor-ab-f.json supervisor-ab.json", "ab ab-f b", "=none ab=ab ab-=ab-f b=b a=2"},
	} {
		for name := range strings.FieldsSeq(step.files) {
			check(t, os.WriteFile(s.file(name), nil, 0o600))
		}
		ids, err := s.sessions()
		check(t, err)
		expectIs(t, "the sessions", strings.Join(slices.Sorted(slices.Values(ids)), " "), step.ids)
		for pair := range strings.FieldsSeq(step.found) {
			word, want, _ := strings.Cut(pair, "=")
			id, err := named(word, ids, "look there")
			if err != nil {
				f := failureOf(err)
				expectIs(t, word+": the code and the hint", fmt.Sprint(f.code, f.hint), "2look there")
				id = map[string]string{fmt.Sprintf("no session %q", word): "none", fmt.Sprintf("%q is the beginning of 2 sessions", word): "2"}[strings.Split(f.err.Error(), ": ")[0]]
			}
			expectIs(t, "the session "+word, id, want)
		}
	}
	none := stateDir(s.file("none"))
	if ids, err := none.sessions(); ids != nil || err != nil {
		t.Errorf("without a directory: %q, %v", ids, err)
	}
	file := stateDir(s.file("mine"))
	if _, err := file.sessions(); err == nil {
		t.Error("a file in the place of the directory is told by nobody")
	}
	if _, err := (dirs{state: file}).sessionsMeant([]string{"a"}, nil, 1); err == nil || failureOf(err).code != 1 {
		t.Errorf("nor where a session is looked for: %v", err)
	}
	if _, _, err := file.owned(); err == nil {
		t.Error("a directory that can't be listed is told by nobody")
	}
	check(t, stateDir(s.file("a/new")).create())
	info, err := os.Stat(s.file("a/new"))
	check(t, err)
	expectIs(t, "the mode of a new directory", info.Mode().Perm(), 0o700)
	if err := stateDir(s.file("mine/x")).create(); err == nil {
		t.Error("a directory that can't be made is told by nobody")
	}
	if _, _, err := none.purge(); err == nil {
		t.Error("nor where it is purged")
	}
}

// A sweep spares what was written to within 30 days, and a log up to 5 MiB; what is older goes, with what a killed process left.
func TestStateSweepTimes(t *testing.T) {
	const day = 24 * time.Hour
	const log, lock, mine, left = "hook-invocation.log ", "state.lock ", "supervisor-a.json ", ".supervisor-a.json.ccc-tmp "
	for name, test := range map[string]struct {
		age  time.Duration // since the files were written
		log  int64
		want string
	}{
		"old":                {30*day + time.Hour, 0, lock},
		"young":              {30*day - time.Hour, 0, left + log + lock + mine},
		"a log of the limit": {0, 5 << 20, left + log + lock + mine},
		"a log above it":     {0, 5<<20 + 1, left + "hook-invocation.log.1 " + lock + mine},
	} {
		d := stateDir(t.TempDir())
		write := func(name string, size int64, age time.Duration) {
			path := d.file(strings.TrimSpace(name))
			check(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size), os.Chtimes(path, ago(age), ago(age))))
		}
		write(log, test.log, test.age)
		write(mine, 0, test.age)
		write(left, 0, test.age)
		check(t, d.sweep())
		entries, _ := os.ReadDir(string(d))
		var names string
		for _, entry := range entries {
			names += entry.Name() + " "
		}
		expectIs(t, name, names, test.want)
	}
	d := stateDir(t.TempDir())
	check(t, os.Mkdir(d.lockFile(), 0o700))
	check(t, os.Chtimes(d.lockFile(), ago(2*day), ago(2*day)))
	if err := d.sweep(); err == nil {
		t.Error("a lock that can't be had is told by nobody")
	}
	d = stateDir(t.TempDir())
	check(t, os.MkdirAll(d.logFile()+".1/x", 0o700))
	check(t, errors.Join(os.WriteFile(d.logFile(), nil, 0o600), os.Truncate(d.logFile(), 5<<20+1)))
	if err := d.sweep(); err == nil {
		t.Error("a log that can't be put aside is told by nobody")
	}
}

// What is remembered between two hooks is what was written; what makes no sense is put aside once, told, and begun anew.
func TestStateKept(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	begin := now()
	check(t, s.update(func(state *sessionState) { state.Count = 3 }))
	state, err := s.readState()
	check(t, err)
	if state.SessionID != "a" || state.Count != 3 || state.CreatedAt.Before(begin) || state.UpdatedAt.Before(begin) || state.Enabled != "" {
		t.Errorf("%+v", state)
	}
	for text, wrong := range map[string]bool{`{"session_id":"a","count":0}`: false, `{"session_id":"a","count":-1}`: true, `{"session_id":"b"}`: true, `{`: true} {
		check(t, os.WriteFile(s.stateFile(), []byte(text), 0o600))
		os.Remove(s.stateFile() + ".bad")
		state, err := s.readState()
		if errors.Is(err, errCorrupt) != wrong || state.SessionID != "a" || wrong && state.CreatedAt.Before(begin) {
			t.Errorf("%s: %+v, %v", text, state, err)
		}
		err = s.update(func(state *sessionState) { state.Count++ })
		if errors.Is(err, errCorrupt) != wrong || wrong && !strings.Contains(err.Error(), "kept as "+s.stateFile()+".bad") {
			t.Errorf("%s: %v", text, err)
		}
		if kept, err := os.ReadFile(s.stateFile() + ".bad"); (err == nil) != wrong || wrong && string(kept) != text {
			t.Errorf("%s: put aside is %q, %v", text, kept, err)
		}
		if state, err := s.readState(); err != nil || state.Count != 1 {
			t.Errorf("%s: then %+v, %v", text, state, err)
		}
	}
	check(t, errors.Join(os.Remove(s.stateFile()), os.MkdirAll(s.stateFile()+"/x", 0o700)))
	called := false
	if err := s.update(func(*sessionState) { called = true }); err == nil || called || errors.Is(err, errCorrupt) {
		t.Errorf("a state that can't be read: %v, changed: %v", err, called)
	}
	if state, err := s.readState(); err == nil || state.SessionID != "a" || state.CreatedAt.IsZero() {
		t.Errorf("and read: %+v, %v", state, err)
	}
	if err := stateDir(s.stateFile() + "/none").session("a").update(func(*sessionState) {}); err == nil {
		t.Error("a lock that can't be had is told by nobody")
	}
}

// A switch counts from a launch on that is not later, and only it or a hook makes a session one that is on.
func TestStateSwitched(t *testing.T) {
	at := time.Now()
	for name, test := range map[string]struct {
		state sessionState
		want  mode
	}{
		"a hook has run": {sessionState{UpdatedAt: at}, modeOn},
		"switched off":   {sessionState{UpdatedAt: at, Enabled: modeOff, SwitchedAt: at}, modeOff},
		"switched on":    {sessionState{Enabled: modeOn, SwitchedAt: at}, modeOn},
	} {
		expectIs(t, name, modeOf(test.state, caller{asked: "1"}, false), test.want)
		under := test.want // with supervisor.observe
		if under == modeOn {
			under = modeObserve
		}
		expectIs(t, name+" under observe", modeOf(test.state, caller{asked: "1"}, true), under)
	}
	for _, test := range [][2]mode{{modeOn, modeOff}, {modeOn, modeObserve}, {modeOff, modeOff}, {modeObserve, modeOn}} {
		s, name := stateDir(t.TempDir()).session("a"), fmt.Sprintf("%+v", test)
		check(t, s.update(func(state *sessionState) {
			state.Count, state.Enabled, state.SwitchedAt = 3, test[0], at.Add(-time.Hour)
		}))
		to := func(state *sessionState) { state.Enabled, state.SwitchedAt = test[1], now() }
		check(t, s.update(to))
		state, err := s.readState()
		check(t, err)
		if state.Enabled != test[1] || state.SwitchedAt.Before(at.Add(-time.Second)) || state.Count != 3 {
			t.Errorf("%s: %+v", name, state)
		}
		check(t, os.WriteFile(s.stateFile(), []byte("{"), 0o600))
		expectError(t, name, s.update(to), "corrupt") // what makes no sense is begun anew, and the switch counts
		state, err = s.readState()
		if err != nil || state.Enabled != test[1] {
			t.Errorf("%s: %+v, %v", name, state, err)
		}
	}
	observed := stateDir(t.TempDir()).session("a")
	check(t, os.WriteFile(observed.stateFile(), []byte(`{"session_id":"a","count":2,"enabled":"observe"}`), 0o600))
	state, err := observed.readState()
	check(t, err)
	expectIs(t, "the mode", state.Enabled, modeObserve)
	expectIs(t, "the count beside it", state.Count, 2)
	for _, text := range []string{`"ON"`, `"maybe"`, `"true"`, `""`, "1", "true"} { // a mode that is none makes no sense
		s := stateDir(t.TempDir()).session("a")
		check(t, os.WriteFile(s.stateFile(), []byte(`{"session_id":"a","enabled":`+text+`}`), 0o600))
		if state, err := s.readState(); !errors.Is(err, errCorrupt) || state.Enabled != "" {
			t.Errorf("%s: %+v, %v", text, state, err)
		}
	}
}

// The count of a piece of work: at the limit none is counted.
func TestIterationCounted(t *testing.T) {
	for count, want := range map[int][2]int{0: {1, 1}, 1: {2, 2}, 2: {0, 2}, 3: {0, 3}} {
		h, r := testHook(t, eventStop), newReview(eventStop)
		h.config.Supervisor.MaxIterations = 2
		check(t, h.session.update(func(s *sessionState) { s.Count = count }))
		isUsedUp, err := h.count(&r)
		check(t, err)
		expectIs(t, fmt.Sprint("used up behind ", count), isUsedUp, want[0] == 0)
		expectIs(t, fmt.Sprint("the review behind ", count), r.Iteration, want[0])
		expectIs(t, fmt.Sprint("the count behind ", count), h.state.Count, want[1])
	}
}

// spaced returns the lines a second apart.
func spaced(lines []entry) (all []entry) {
	begin := ago(time.Hour)
	for i, e := range lines {
		all = append(all, e.at(begin.Add(time.Duration(i)*time.Second)))
	}
	return all
}

// toldHistory returns the history of a session with these lines, a second apart.
func toldHistory(t *testing.T, s sessionFiles, lines ...entry) *history {
	t.Helper()
	os.Remove(s.timelineFile())
	for _, e := range written(spaced(lines)...) {
		runsOn(t, s, e)
		check(t, s.append(e))
	}
	h, err := s.readHistory()
	check(t, err)
	return h
}

// What the tests of the history begin and end reviews with.
var sentBack = outcome{Verdict: verdictBlock, Feedback: "do more"}

func beginOf(id string) entry { return began(review{ID: id}) }

func endOf(id string, o outcome) entry {
	return ended(review{ID: id, outcome: o})
}

// What the records of a review make of it.
func TestHistory(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	// The begin tells the end what the agent had said and asked, and what the user; calls that were refused are none.
	begun := began(review{ID: "1", LastMessage: "all done", Question: "Which?", Request: "fix it"})
	call := func(kind, tool string) entry { return did(step{Review: "1", Kind: kind, Tool: tool}) }
	h := toldHistory(t, s, prompted("fix it"), begun.in("/p"),
		call(stepCall, "Read(a)"), call(stepRefused, "Read(a)"),
		call(stepCall, "Read(b)"), call(stepCall, "Read(c)"), call(stepRefused, "Read(none)"),
		call(stepCall, "Skill(x)"), call(stepError, "Skill(x)"),
		did(step{Kind: stepRun, Review: "1", Command: "make"}), did(step{Kind: stepRun, Review: "lost", Command: "make"}),
		endOf("1", sentBack))
	r := h.Reviews[0]
	expectIs(t, "the reviews", len(h.Reviews), 1)
	expectIs(t, "the project", h.project, "/p")
	expectIs(t, "what the agent had said", r.LastMessage, "all done")
	expectIs(t, "what it had asked", r.Question, "Which?")
	expectIs(t, "what the user had", r.Request, "fix it")
	expectIs(t, "the verdict", r.Verdict, verdictBlock)
	expectIs(t, "the runs", len(r.did.Runs), 1)
	expectIs(t, "how long it took", r.Ended.Sub(r.Begun), 10*time.Second)
	expectIs(t, "its end is the last of the session", h.updated.Equal(r.Ended), true)
	expectEqual(t, "the calls", r.did.Tools, []string{"Read(b)", "Read(c)"})
	expectEqual(t, "what was refused", r.did.Refused, []string{"Read(a)", "Read(none)"})
	expectIs(t, "the present call", r.did.current, "")

	h = toldHistory(t, s, prompted("a"), prompted(""))
	expectIs(t, "the request", h.newestRequest(), "a")
	h = toldHistory(t, s, began(review{ID: "1", Limit: 10}), endOf("1", sentBack), began(review{ID: "2", Limit: 3}))
	expectIs(t, "the limit is the newest", h.limit, 3)
	expectIs(t, "an id that is none", h.review(""), nil)
}

// Lines of others count for nothing.
func TestHistoryOfOthers(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	others := `{"time":"2030-01-01T00:00:00Z","project":"/old","max_iterations":3}` + "\n" + `{"kind":7,"project":"/old"}` + "\nnone\n" +
		`{"time":"2026-11-25T10:00:00Z","project":"/old","kind":"prompt","prompt":"fix it"}` + "\n" +
		`{"time":"2026-11-25T10:00:00Z","project":"/old","kind":"end","review":"a","event":"Stop","verdict":"block"}`
	check(t, os.WriteFile(s.timelineFile(), []byte(others), 0o600))
	old, err := s.readHistory()
	check(t, err)
	expectIs(t, "of others: the project", old.project, "")
	expectIs(t, "of others: the limit", old.limit, 0)
	expectIs(t, "of others: what counts", len(old.Prompts)+len(old.Reviews)+len(old.switched), 0)
	expectIs(t, "of others: it has no time", old.updated.IsZero(), true)
	check(t, os.Remove(s.timelineFile()))
	check(t, os.Mkdir(s.timelineFile(), 0o700))
	if _, err := s.readHistory(); err == nil {
		t.Error("a timeline that can't be read is told by nobody")
	}
}

// A timeline of 2.0's: its ends repeat what their begins have, it has members that nothing reads any more, and a review
// without an end held no lock.
func TestOldTimeline(t *testing.T) {
	for within, want := range map[time.Duration]string{time.Hour: "cancelled ", -time.Hour: "cancelled "} {
		box := newHookBox(t)
		box.vars = append(box.vars, "LC_ALL=en_US.UTF-8", "COLUMNS=120")
		at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z") }
		seen := `"seen":{"worktree":"/p","repository":"/p/.git","head":"c","branch":"main","tree":"t","paths":{"a":"M"}}`
		begun := `"id":"r1","event":"Stop","iteration":1,"max_iterations":10,"begun":"` + at(time.Hour) + `","process":"1.2@m","deadline":"` +
			at(50*time.Minute) + `","requests":["fix it"],"last_message":"all done","closes":["u1"],"prompt_source":"built-in",` + seen
		var lines []string
		for _, members := range []string{
			`"prompt":{"text":"fix it",` + seen + `}`,
			`"switch":{"mode":"on","by":"/supervisor","max_iterations":10}`,
			`"review":{` + begun + `}`,
			`"step":{"review":"r1","kind":"run","command":"make test","exit_code":2,"output":"1 failed"}`,
			`"review":{` + begun + `,"way":"own","change":["M a"],"ended":"` + at(58*time.Minute) + `","verdict":"block","feedback":"add tests","cost_usd":0.5}`,
			`"review":{"id":"r2","event":"Stop","iteration":2,"max_iterations":10,"begun":"` + at(3*time.Minute) + `","process":"1.2@m","deadline":"` +
				at(-within) + `","requests":["fix it"],"last_message":"done again","prompt_source":"built-in"}`,
		} {
			lines = append(lines, `{"time":"`+at(3*time.Minute)+`","project":"`+box.work+`",`+members+"}\n")
		}
		box.write(eventsPath, 0o600, strings.Join(lines, ""))
		expectIn(t, "status", box.ccc("status"), want, " $0.50 ", " fix it")
		expectIn(t, "the log", box.ccc("log", testSession), "fix it\n", "Review 1/10: sent back\n", "make test", "1 failed", "add tests", "done again")
		expectIn(t, "as JSON", box.ccc("log", "--json", testSession), `"feedback":"add tests"`)
		expectCounts(t, "the log", box.ccc("log", testSession), map[string]int{"all done": 1, "done again": 1})
		box.stop("")
		expectIn(t, "the next request", box.read("../fake/reviewer-1.stdin"), "add tests")
	}
}

// A state of 2.0's: what has the same name counts; the change begins at HEAD's log once.
func TestOldState(t *testing.T) {
	box := newHookBox(t)
	box.repository()
	box.write(statePath, 0o600, `{"session_id":"`+testSession+`","count":2,"cancelled":true,"scheduled":["x"],"provider":"none",`+
		`"enabled":"on","created_at":"2026-02-02T03:04:05Z","updated_at":"2026-02-02T03:04:06Z"}`)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work)
	box.write("../work/notes.txt", 0o600, "changed\n")
	talk := box.transcript(userLine("1", "", "fix it", `,"timestamp":"`+time.Now().Add(time.Second).UTC().Format(time.RFC3339)+`"`), agentLine("2", "1", "done"))
	expectIn(t, "the stop", box.stop(talk).stdout, `"decision":"block"`)
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "M notes.txt")
	state, err := box.stateDir().session(testSession).readState()
	check(t, err)
	expectIs(t, "the count goes on", state.Count, 3)
	expectIs(t, "the begins", len(state.Begins), 1)
	expectIs(t, "when it began", state.CreatedAt.Format(time.DateOnly), "2026-02-02")
}

// The order of the lines counts, not their clock: a prompt that is recorded while a review runs takes nothing from its result,
// and a review that another clock has dated ahead is not the last for ever.
func TestOrderOfLines(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "LC_ALL=en_US.UTF-8")
	box.reviews(fakeReview{runs("printf '%s' '" + strings.ReplaceAll(box.event(eventPrompt, `"prompt":"and this"`), "'", "") +
		"' | CCC_SUPERVISOR_HOOK= ccc supervisor-hook"), decides(false, "add tests")})
	box.submit("fix it")
	box.stop("")
	expectIn(t, "status", box.ccc("status"), " sent back ")
	outside := newHookBox(t) // of git, where a prompt takes back what a review says
	outside.reviews(fakeReview{runs("printf '%s' '" + strings.ReplaceAll(outside.event(eventPrompt, `"prompt":"and this"`), "'", "") +
		"' | CCC_SUPERVISOR_HOOK= ccc supervisor-hook"), decides(true, "")})
	outside.submit("fix it")
	outside.stop("")
	expectEnd(t, "the verdict behind a prompt", outside.run(10*time.Second, "", "ccc", "verdict"), 3, "none\n", "ccc")
	left := newHookBox(t) // a review that was killed is of the request before the prompt that tells of it
	left.vars = append(left.vars, "LC_ALL=en_US.UTF-8", "COLUMNS=120")
	left.timelineOf(testSession, prompted("fix it"), began(review{Begun: ago(time.Minute), ID: "r", Iteration: 1, Limit: 10}).in(left.work))
	left.submit("and this")
	expectNotIn(t, "status", left.ccc("status"), "cancelled")
	box = newHookBox(t)
	box.repository()
	box.submit("fix it")
	box.reviews(allows(""), blocks("no"))
	box.stop("")
	path := filepath.Join(box.home, eventsPath)
	ahead := regexp.MustCompile(`"(time|begun|ended)":"20[0-9]{2}`).ReplaceAllString(box.read(eventsPath), `"$1":"2099`)
	check(t, os.WriteFile(path, []byte(ahead), 0o600))
	expectEnd(t, "the verdict", box.run(10*time.Second, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	box.stop("")
	expectEnd(t, "the verdict behind a later stop", box.run(10*time.Second, "", "ccc", "verdict"), 1, "block\n", "ccc")
}

// A timeline grows with the work, not with its square: the last ten of a hundred rounds, each with a prompt of its own and never
// approved, add about what the first ten did.
func TestTimelineGrows(t *testing.T) {
	h := testHook(t, eventStop)
	h.config.Supervisor.MaxIterations = 100
	h.dirs.env = setEnv(h.dirs.env, claudeVariable, "/none") // each review fails
	of, sizes := subject{}, []int64{0}
	for range 100 {
		words := strings.Repeat("x", 1000)
		of.requests = append(of.requests, userRequest{words: words})
		h.append(entry{Prompt: &prompt{Text: words}})
		stderrOf(t, func() { h.conduct(t.Context(), newReview(eventStop), of) })
		info, err := os.Stat(h.session.timelineFile())
		check(t, err)
		sizes = append(sizes, info.Size())
	}
	first, last := sizes[10], sizes[100]-sizes[90]
	if last > first+first/10 {
		t.Errorf("the first ten rounds have %d bytes, the last ten %d", first, last)
	}
}

// Of what is past the last review counts, of a request the reviews since it; what the user withdrew is passed over.
func TestLastReview(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	block, allow, failed := sentBack, outcome{Verdict: verdictAllow}, outcome{Verdict: verdictFailed}
	off, on := switchedTo(modeOff), switchedTo(modeOn)
	question := ended(review{ID: "q", Event: eventPreToolUse, outcome: block})
	byHand := func(o outcome) entry { return ended(review{ID: "h", Event: eventReview, outcome: o}) }
	wordsByHand := byHand(outcome{Verdict: verdictBlock, NoVerdict: true})
	for name, test := range map[string]struct {
		lines []entry
		want  string
	}{
		"none":                 {nil, ""},
		"the later":            {[]entry{prompted("a"), endOf("1", block), endOf("2", failed)}, "2"},
		"before the prompt":    {[]entry{prompted("a"), endOf("1", block), prompted("b")}, ""},
		"before it was off":    {[]entry{prompted("a"), endOf("1", block), off}, ""},
		"before it was on":     {[]entry{prompted("a"), endOf("1", block), on}, "1"},
		"off at once":          {[]entry{prompted("a"), off, endOf("1", allow)}, "1"},
		"off while it ran":     {[]entry{prompted("a"), beginOf("1"), off, endOf("1", outcome{Verdict: verdictCancelled})}, "1"},
		"one that runs":        {[]entry{prompted("a"), beginOf("1"), prompted("b")}, "1"},
		"a question is none":   {[]entry{prompted("a"), endOf("1", allow), question}, "1"},
		"by hand":              {[]entry{prompted("a"), endOf("1", block), byHand(allow)}, "h"},
		"by hand, without one": {[]entry{prompted("a"), endOf("1", block), byHand(failed)}, "1"},
		"by hand, in words":    {[]entry{prompted("a"), endOf("1", allow), wordsByHand}, "1"},
		"ended last":           {[]entry{prompted("a"), beginOf("1"), beginOf("2"), endOf("2", block), endOf("1", allow)}, "1"},
		"overlapped, refused":  {[]entry{prompted("a"), beginOf("1"), beginOf("2"), endOf("2", allow), endOf("1", block)}, "1"},
		"overlapped, approved": {[]entry{prompted("a"), beginOf("1"), beginOf("2"), endOf("1", allow), endOf("2", allow)}, "2"},
		"overlapped, later":    {[]entry{prompted("a"), beginOf("1"), beginOf("2"), endOf("1", allow), endOf("2", block)}, "2"},
		"one after the other":  {[]entry{prompted("a"), beginOf("1"), endOf("1", block), beginOf("2"), endOf("2", allow)}, "2"},
	} {
		last := ""
		if r := toldHistory(t, s, test.lines...).result(); r != nil {
			last = r.ID
		}
		expectIs(t, name, last, test.want)
	}
}

// Of a state that can't be used the last switch of several counts, with its time.
func TestStateUnusable(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 3, 17, minute, 0, 0, time.UTC) }
	to := func(m mode, minute int) entry { return entry{Time: at(minute), Switch: &switched{Mode: m}} }
	stop := func(minute int) entry {
		return entry{Time: at(minute), Review: &review{ID: "r", Event: eventStop, Begun: at(minute)}}
	}
	for name, test := range map[string]struct {
		lines    []entry
		enabled  mode
		switched int
		mode     mode
	}{
		"nothing":                      {nil, "", 0, modeOff},
		"the last of two":              {[]entry{to(modeOff, 1), to(modeOn, 2)}, modeOn, 2, modeOn},
		"off":                          {[]entry{to(modeOn, 1), stop(2), to(modeOff, 3)}, modeOff, 3, modeOff},
		"observed, and reviewed since": {[]entry{to(modeObserve, 1), stop(2)}, modeObserve, 1, modeObserve},
	} {
		s := stateDir(t.TempDir()).session("a")
		for _, line := range test.lines {
			check(t, s.append(line))
		}
		check(t, os.WriteFile(s.stateFile(), []byte("{"), 0o600))
		state, err := s.readState()
		expectError(t, name, err, "corrupt")
		expectIs(t, name+": switched to", state.Enabled, test.enabled)
		isAt := test.switched == 0 && state.SwitchedAt.IsZero() || state.SwitchedAt.Equal(at(test.switched))
		expectIs(t, name+": when", isAt, true)
		expectIs(t, name+": the mode", modeOf(state, caller{asked: "0"}, false), test.mode)
	}
}

// What is open: the last refusal since the newest prompt, unless work was approved behind it.
func TestOpenFeedback(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	block, allow, failed := sentBack, outcome{Verdict: verdictAllow}, outcome{Verdict: verdictFailed}
	question := ended(review{ID: "q", Event: eventPreToolUse, outcome: block})
	byHand := func(o outcome) entry { return ended(review{ID: "h", Event: eventReview, outcome: o}) }
	observed := ended(review{ID: "o", Observed: true, outcome: block})
	for name, test := range map[string]struct {
		lines []entry
		last  string
	}{
		"a refusal":                  {[]entry{prompted("a"), endOf("1", block)}, "1"},
		"approved since":             {[]entry{prompted("a"), endOf("1", block), endOf("2", allow)}, ""},
		"failed since":               {[]entry{prompted("a"), endOf("1", block), endOf("2", failed)}, "1"},
		"by hand":                    {[]entry{prompted("a"), byHand(block)}, ""},
		"approved by hand since":     {[]entry{prompted("a"), endOf("1", block), byHand(allow)}, ""},
		"of a request before":        {[]entry{prompted("a"), endOf("1", block), prompted("b")}, ""},
		"that ended behind a prompt": {[]entry{prompted("a"), beginOf("1"), prompted("b"), endOf("1", block)}, "1"},
		"a question":                 {[]entry{prompted("a"), question}, "q"},
		"observed, then a prompt":    {[]entry{prompted("a"), observed, prompted("b")}, "o"},
		"observed, then approved":    {[]entry{prompted("a"), observed, endOf("2", allow), prompted("b")}, ""},
	} {
		h := toldHistory(t, s, test.lines...)
		expectIs(t, name, h.refusal().ID, test.last)
	}
}

// How many answers in a row held no verdict: a verdict, a failure and a prompt end the row, a review by hand
// does not.
func TestStateUnread(t *testing.T) {
	words := func(id string) entry { return endOf(id, outcome{Verdict: verdictBlock, NoVerdict: true}) }
	verdict := func(v verdict) entry { return endOf("v", outcome{Verdict: v}) }
	byHand := ended(review{Event: eventReview, outcome: outcome{Verdict: verdictBlock, NoVerdict: true}})
	for name, test := range map[string]struct {
		lines []entry
		want  int
	}{
		"none":                 {nil, 0},
		"one":                  {[]entry{prompted("a"), words("1")}, 1},
		"two":                  {[]entry{prompted("a"), words("1"), words("2")}, 2},
		"a verdict between":    {[]entry{prompted("a"), words("1"), verdict(verdictBlock), words("3")}, 1},
		"an approval behind":   {[]entry{prompted("a"), words("1"), verdict(verdictAllow)}, 0},
		"a failure between":    {[]entry{prompted("a"), words("1"), verdict(verdictFailed), words("3")}, 1},
		"a prompt between":     {[]entry{prompted("a"), words("1"), prompted("a"), words("2")}, 1},
		"a prompt behind":      {[]entry{prompted("a"), words("1"), prompted("a")}, 0},
		"by hand between":      {[]entry{prompted("a"), words("1"), byHand, words("2")}, 2},
		"a verdict before two": {[]entry{prompted("a"), verdict(verdictBlock), words("2"), words("3")}, 2},
		"before any prompt":    {[]entry{words("1"), words("2")}, 2},
	} {
		expectIs(t, name, historyOf(spaced(test.lines)...).withoutVerdict(), test.want)
	}
}
