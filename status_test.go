package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what was printed into testdata/show and testdata/stories")

// expectWidth fails the test when a line is wider than columns. It counts in its own way: what begins at the CJK
// radicals takes two.
func expectWidth(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(text) {
		width := 0
		for _, r := range strings.TrimSuffix(line, "\n") {
			if width++; r >= 0x2e80 {
				width++
			}
		}
		if width > columns {
			t.Errorf("%d columns, more than %d: %s", width, columns, line)
		}
	}
}

func ago(d time.Duration) time.Time { return now().Add(-d) }

// statusBox has sessions of every kind.
func statusBox(t *testing.T, columns int) *sandbox {
	box := newShowBox(t, columns)
	state := func(session string, count int, members string) {
		box.write(".claude/ccc/supervisor-"+session+".json", 0o600, stateText(session, count, members))
		check(t, os.Chtimes(box.stateDir().session(session).stateFile(), time.Time{}, ago(100*time.Hour)))
	}
	review := func(at time.Time, project string, verdict verdict, cost float64) entry {
		return ended(review{Ended: at, Iteration: 1, Limit: 20, outcome: outcome{Verdict: verdict, CostUSD: cost}}).in(project)
	}
	state("0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", 3, "")
	box.timelineOf("0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", prompted("x").in("/home/you/项目/商城").at(ago(time.Hour)),
		review(ago(50*time.Minute), "/home/you/项目/商城", verdictBlock, 0.1), review(ago(40*time.Minute), "/home/you/项目/商城", verdictFailed, 0.2),
		review(ago(210*time.Second), "/home/you/项目/商城", verdictAllow, 0))
	state("4f1de09a-0000-4c5e-9a35-1f7d7c2e9f10", 20, stateOn)
	box.timelineOf("4f1de09a-0000-4c5e-9a35-1f7d7c2e9f10", review(ago(150*time.Minute), "/srv/www", verdictLimit, 0))
	state("4f1de09b-0000-4c5e-9a35-1f7d7c2e9f10", 0, stateOff)
	box.timelineOf("4f1de09b-0000-4c5e-9a35-1f7d7c2e9f10", review(ago(60*time.Hour), "/home/you/a/long/path/to/a/project", verdictFailed, 0.00321))
	state("4f1de09c-0000-4c5e-9a35-1f7d7c2e9f10", 0, "")
	return box
}

// What a user sees on a wide screen and on a narrow one, in both languages.
func TestShowGolden(t *testing.T) {
	for columns, locale := range map[int]string{120: "C", 60: "en"} {
		box := statusBox(t, columns)
		box.vars = append(box.vars, "LANG="+map[string]string{"C": chinese, "en": english}[locale])
		wide, outside := max(columns, 80), *box
		outside.work = "/usr" // where lines end is seen by a path that is the same everywhere
		got := outside.run(10*time.Second, "", "env", fmt.Sprint("COLUMNS=", wide), "ccc", "status").stdout
		golden(t, fmt.Sprintf("status-%d-%s.txt", wide, locale), got)
		box.timelineOf(testSession, testTimeline(t))
		got = box.ccc("log", testSession)
		golden(t, fmt.Sprintf("log-%d-%s.txt", columns, locale), got)
		expectWidth(t, got, columns)
	}
}

func TestStatusJSON(t *testing.T) {
	box := statusBox(t, 80)
	box.timelineOf("html", ended(review{outcome: outcome{Verdict: verdictBlock, Tokens: &tokens{1, 2, 3, 4}}}).in("/a<&>b"))
	got := box.ccc("status", "--json")
	var sessions []map[string]any
	if err := json.Unmarshal([]byte(got), &sessions); err != nil || len(sessions) != 5 {
		t.Fatalf("%v: %s", err, got)
	}
	expectIn(t, "the JSON", got, `"project":"/a<&>b"`)
	for i, session := range []string{"html", "0b6c3a52", "4f1de09a", "4f1de09b", "4f1de09c"} {
		if id := sessions[i]["session_id"].(string); !strings.HasPrefix(id, session) {
			t.Errorf("session %d is %s, want %s", i, id, session)
		}
	}
	one := sessions[1]
	delete(one, "updated_at")
	delete(one, "verdict_at")
	want := map[string]any{
		"session_id": "0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", "project": "/home/you/项目/商城", "request": "x",
		"mode": "on", "observed": false, "count": 3.0, "max_iterations": 20.0,
		"verdict": "allow", "judge": "", "sent_back": 1.0, "acted_on": 0.0, "approved": 1.0, "not_reviewed": 1.0, "reviews": 3.0, "failed_reviews": 1.0, "cost_usd": 0.3,
		"tokens": map[string]any{"input_tokens": 0.0, "cache_read_input_tokens": 0.0,
			"cache_creation_input_tokens": 0.0, "output_tokens": 0.0},
	}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("got %v\nwant %v", one, want)
	}
	expectIs(t, "the third's mode", sessions[2]["mode"], "on")
	expectIs(t, "the fourth's mode", sessions[3]["mode"], "off")
	expectIs(t, "the fifth's verdict_at", sessions[4]["verdict_at"], nil)
	expectIs(t, "the fifth's max_iterations", sessions[4]["max_iterations"], 10.0)
}

// Where no session was supervised yet, status and log say how one is, and write nothing.
func TestShowNothing(t *testing.T) {
	box := newShowBox(t, 80)
	for _, command := range []string{"status", "log"} {
		expectIn(t, command, box.ccc(command), "还没有受监督的会话", "ccc --supervisor")
	}
	expectIs(t, "the JSON", box.ccc("status", "--json")+box.run(10*time.Second, "", "ccc", "log", "--json").stdout, "[]\n")
	if files := box.files(); len(files) != 0 {
		t.Errorf("looking wrote files: %q", files)
	}
}

// evil are control and escape sequences, as a model or a program may write them; isControl finds one.
const evil = "\x1b[31m\x1b]0;title\a\u009b2J\r\b\x7f\u202e"

func isControl(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e) }

// What a reviewer, a question, a program or an error says reaches neither the session's message nor stderr as it is.
func TestMessageEscapes(t *testing.T) {
	box := newHookBox(t)
	needCopy(t, box)
	box.inSession()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":4}}`)
	expect := func(what string, got commandResult) {
		t.Helper()
		var answer struct{ SystemMessage string }
		check(t, json.Unmarshal([]byte(got.stdout), &answer))
		for where, text := range map[string]string{"the message": answer.SystemMessage, "stderr": got.stderr} {
			if i := strings.IndexFunc(text, isControl); i >= 0 {
				t.Errorf("%s: %s: %q at %d", what, where, text, i)
			}
		}
		expectIn(t, what, answer.SystemMessage+got.stderr, "␛[31m")
	}
	box.submit("do it")
	printed := runs(tryCommand() + ` 'printf "\033[31mred\n"' >/dev/null`)
	box.reviews(fails("overloaded"+evil), fakeReview{printed, says(evil), decides(true, "")}, allows("rotate it"+evil), blocks("choose"+evil), blocks("not yet"+evil))
	expect("a failure", box.stop(""))
	ran := box.stop("")
	expect("what a run printed", ran)
	expectIn(t, "its message", ran.stdout, "→ ␛[31mred")
	expect("what is left to the user", box.stop(""))
	box.submit("and this")
	asks := strings.Replace(asked, "Which database?", "Which database"+string(encodeJSON(evil)[1:len(encodeJSON(evil))-1])+"?", 1)
	expect("a question", box.hook(box.event(eventPreToolUse, asks)))
	expect("a refusal", box.stop(""))
	box.submit("/supervisor observe")
	expect("what is observed", box.stop(""))
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	box.submit("/supervisor on")
	expect("the limit", box.stop(""))
}

// No byte of a file reaches the screen as a control character.
func TestShowEscapes(t *testing.T) {
	box := newShowBox(t, 60)
	box.timelineOf(testSession, prompted("prompt"+evil).in("/p\n"+evil),
		began(review{Event: "Stop" + evil, ID: "r"}),
		did(step{Kind: stepCall, Review: "r", Tool: "Bash(" + evil + ")"}),
		did(step{Kind: stepRefused, Review: "r", Tool: "Read(" + evil + ")"}),
		did(step{Kind: stepWords, Review: "r", Words: "words" + evil}),
		ended(review{ID: "r", outcome: outcome{Verdict: "odd" + evil, Feedback: "feedback" + evil, Error: "error" + evil}}).in("/p\n"+evil))
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	log := box.ccc("log", testSession)
	for name, got := range map[string]string{"log": log, "status": box.ccc("status")} {
		if i := strings.IndexFunc(got, isControl); i >= 0 || got == "" {
			t.Errorf("%s: %q at %d", name, got, i)
		}
	}
	expectIn(t, "the log", log, "prompt␛[31m", "feedback␛[31m", "error␛[31m", "    · ␛[31m", "words␛[31m")
}

// runningReview shows a step and waits for the file go before it goes on.
var runningReview = fakeReview{
	calls("Bash", `{"command":"git diff"}`, ""),
	says("I look at the tests."),
	runs(`until [ -f "$FAKE_CLAUDE_DIR/go" ]; do sleep 0.02; done`),
	calls("Read", `{"file_path":"a_test.go"}`, ""),
	decides(false, "not yet"),
}

// Colours are for terminals, and for those who want them.
func TestShowColours(t *testing.T) {
	for vars, want := range map[string]bool{"": true, "NO_COLOR=": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(vars)...)
		box.timelineOf(testSession, testTimeline(t))
		for _, command := range []string{"status", "log " + testSession} {
			got := onTerminal(t, box.command(append([]string{"ccc"}, strings.Fields(command)...)...), 80)
			if strings.Contains(got, "\x1b[33m退回") != (want && command != "status") || strings.Contains(got, "\x1b") != want {
				t.Errorf("%s, %s: %q", vars, command, got)
			}
			expectWidth(t, strings.NewReplacer("\r", "", "\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "").Replace(got), 80)
		}
	}
}

// A review that runs is seen in status and its JSON, with what it does now.
func TestStatusReviewing(t *testing.T) {
	box := newShowBox(t, 120)
	box.vars = append(box.vars, "LANG=en", "CCC_SUPERVISOR=1")
	box.installHooks()
	box.write(statePath, 0o600, stateText(testSession, 2, ""))
	begun := began(review{Begun: ago(12 * time.Second), ID: "r", Iteration: 2, Limit: 10}).in(box.work)
	records := []any{prompted("mend it\nall").in(box.work).at(ago(time.Hour)),
		ended(review{Ended: ago(time.Minute), Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictBlock}}), begun}
	box.timelineOf(testSession, records...)
	expect := func(doing string) {
		t.Helper()
		row := `(?s)^Session .*\n.*  2/10     reviewing 2/10 · \d\ds  -     /.*  mend it all\n\n1 review · 1 sent back · 0 approved · 0 not reviewed\n$`
		if got := box.ccc("status"); !regexp.MustCompile(row).MatchString(got) {
			t.Errorf("status %s, want %s", got, row)
		}
		is := ""
		if doing != "" {
			is = `"doing":` + string(encodeJSON(doing)) + ","
		}
		expectIn(t, "the JSON", box.ccc("status", "--json"), is)
		expectIn(t, "the JSON", box.ccc("status", "--json"), `"verdict":"reviewing",`)
	}
	expect("")
	for _, c := range []struct{ kind, tool, doing string }{
		{stepCall, "Read(" + box.work + "/tally.py)", "Read(" + box.work + "/tally.py)"},
		{stepRefused, "Read(" + box.work + "/tally.py)", ""},
		{stepCall, "Bash(cd /p && /usr/local/bin/ccc try --timeout 10m 'go test ./...' | tail -5)", "go test ./... | tail -5"},
		{stepRun, "", "go test ./... | tail -5"},
		{stepCall, "Bash(git diff 'a b')", "git diff 'a b'"},
	} {
		records = append(records, did(step{Review: "r", Kind: c.kind, Tool: c.tool}))
		box.timelineOf(testSession, records...)
		expect(c.doing)
	}
	// After off no verdict is shown.
	approved := ended(review{Ended: ago(time.Second), Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictAllow}}).in(box.work)
	box.timelineOf(testSession, approved, switchedTo(modeOff))
	expectIn(t, "status after off", box.ccc("status", "--json"), `"verdict":"",`, `"reviews":1,`)
}

// A screen of sessions, each on one line, told apart by their requests.
func TestStatusMany(t *testing.T) {
	box := newShowBox(t, 80)
	for i := range statusRows + 5 {
		box.timelineOf(fmt.Sprintf("session%02d", i), prompted(fmt.Sprintf("task %d: %s", i, strings.Repeat("and so on ", 9))).in("/home/you/a/long/path/to/shop").at(ago(time.Duration(i)*time.Minute)),
			ended(review{Ended: ago(time.Hour), Iteration: 10, Limit: 10, outcome: outcome{Verdict: verdictAllow, CostUSD: 1}}))
	}
	for _, columns := range []int{80, 120} {
		box.vars = append(box.vars, fmt.Sprintf("COLUMNS=%d", columns))
		got := box.ccc("status")
		expectWidth(t, got, columns)
		expectCounts(t, fmt.Sprintf("status in %d columns", columns), got, map[string]int{"  task ": statusRows, "\n": statusRows + 3})
	}
	box.write(".claude/ccc/supervisor-session00.json", 0o600, stateText("session00", 1, stateOff))
	for _, columns := range []int{24, 50} { // too narrow for it: the terminal breaks the lines, and only paths are cut
		box.vars = append(box.vars, "LANG=en_US.UTF-8", fmt.Sprintf("COLUMNS=%d", columns))
		got := box.ccc("status")
		expectIn(t, "the table", got, "…ath/to/shop\n", "  off 10/10")
		expectNotIn(t, "the table", got, "task")
	}
	if got := box.ccc("status", "--json"); strings.Count(got, `"session_id"`) != statusRows+5 {
		t.Errorf("JSON %s", got)
	}
}

// What a line of status sums up: the reviews since the session began, failed and cancelled ones with them, a stop at the limit not; the
// newest request as the prompts have it, else as the reviews do.
func TestSummarize(t *testing.T) {
	d := stateDir(t.TempDir())
	config := defaultConfig()
	add := func(id string, records ...entry) summary {
		t.Helper()
		for _, r := range records {
			check(t, d.session(id).append(r))
		}
		return summarize(d.session(id), config)
	}
	expectIs(t, "of nothing", add("none").UpdatedAt.IsZero(), true)
	expectIs(t, "the limit of nothing", add("none").Limit, 10)
	end := func(v verdict, age time.Duration) entry {
		return ended(review{Ended: ago(age), Limit: 7, outcome: outcome{Verdict: v, CostUSD: 0.1, Tokens: &tokens{1, 2, 3, 4}}}).in("/p")
	}
	byHand := ended(review{Ended: ago(time.Hour), ID: "h", Event: eventReview, Limit: 7, Request: "of the review",
		outcome: outcome{Verdict: verdictAllow, CostUSD: 0.1, Tokens: &tokens{1, 2, 3, 4}}}).in("/p")
	begun := began(review{Begun: ago(time.Hour), ID: "h", Event: eventReview, Limit: 7}).in("/p")
	s := add("one", end(verdictBlock, 5*time.Hour), end(verdictFailed, 4*time.Hour), end(verdictCancelled, 3*time.Hour),
		end(verdictLimit, 2*time.Hour), begun, byHand)
	expectIs(t, "the reviews", s.Reviews, 4)
	expectIs(t, "the failed ones", s.Failed, 1)
	expectIs(t, "the cost", s.CostUSD, 0.5)
	expectIs(t, "the tokens", s.Tokens, tokens{5, 10, 15, 20})
	expectIs(t, "the limit", s.Limit, 7)
	expectIs(t, "the mode", s.Mode, "")
	expectIs(t, "the project", s.Project, "/p")
	expectIs(t, "the request", s.Request, "of the review")
	expectIs(t, "the verdict", s.Verdict, verdictAllow)
	expectIs(t, "the verdict is of the last", s.VerdictAt.Equal(byHand.Time), true)
	expectIs(t, "the update is the last", s.UpdatedAt.Equal(byHand.Time), true)
	expectIs(t, "the verdict in words", s.result, "通过（1 小时前）")
	check(t, s.err)
	s = add("one", prompted("of the\nuser"))
	expectIs(t, "behind a prompt, the request", s.Request, "of the user")
	expectIs(t, "behind a prompt, the verdict", s.Verdict, "")
	expectIs(t, "behind a prompt, the verdict has a time", s.VerdictAt != nil, false)
	expectIs(t, "a short id", shortID("abcdefghi")+shortID("abc"), "abcdefghabc")
	for passed, want := range map[time.Duration]string{-time.Hour: "0 秒", 12900 * time.Millisecond: "12 秒", time.Minute: "1 分钟", 59 * time.Minute: "59 分钟", 3 * time.Hour: "3 小时", 47 * time.Hour: "1 天"} {
		expectIs(t, passed, age(time.Now().Add(-passed)), want)
	}
}

// The columns are the same at every width, and only the words of the request are cut. The mode is shown where
// one is off. Each row has the colour of its verdict.
func TestStatusTable(t *testing.T) {
	speakIn(t, english)
	row := func(id string, mode mode, v verdict) summary {
		return summary{Session: id, Mode: mode, Verdict: v, number: 2, Limit: 10, Reviews: 34, CostUSD: 5.5,
			Project: "/srv/shop", Request: "make it faster and better", result: review{outcome: outcome{Verdict: v}}.verdictName() + " 2h ago"}
	}
	table := func(columns int, colour bool, rows ...summary) []string {
		path := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(path)
		check(t, err)
		defer file.Close()
		s := newScreen(file)
		s.width, s.colour = columns, colour
		showTable(s, rows)
		check(t, s.Flush())
		text, err := os.ReadFile(path)
		check(t, err)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	runs, deep := row("b", "off", verdictReviewing), row("d", "on", verdictBlock)
	runs.result, deep.Project = "reviewing 2/10 · 12s", strings.Repeat("/deep", 6)
	rows := []summary{row("a", "on", verdictAllow), runs, {Session: "c"}, deep}
	// A long path keeps its end.
	expectEqual(t, "110 columns", table(110, false, rows...), []string{
		"Session  Reviews   Result                Cost   Project                         Request",
		"a        2/10      approved 2h ago       $5.50  /srv/shop                       make it faster and better",
		"b        off 2/10  reviewing 2/10 · 12s  $5.50  /srv/shop                       make it faster and better",
		"c        0/0       -                     -      -                               -",
		"d        2/10      sent back 2h ago      $5.50  /deep/deep/deep/deep/deep/deep  make it faster and better"})
	observed := row("01234567", "observe", verdictBlock)
	observed.result, observed.Project = "would be sent back 12m ago", "/home/you/projects/customer-portal"
	// At 80 columns the request keeps ten, whatever else there is.
	expectEqual(t, "80 columns", table(80, false, observed), []string{
		"Session   Reviews   Result                      Cost   Project       Request",
		"01234567  observed  would be sent back 12m ago  $5.50  …omer-portal  make it fa…"})
	expectEqual(t, "without a mode", table(80, false, rows[0]), []string{
		"Session  Reviews  Result           Cost   Project    Request",
		"a        2/10     approved 2h ago  $5.50  /srv/shop  make it faster and better"})
	fixed := []string{"Session Reviews Result Cost Project", "a 2/10 approved 2h ago $5.50 /srv/shop",
		"b off 2/10 reviewing 2/10 · 12s $5.50 /srv/shop", "c 0/0 - - -", "d 2/10 sent back 2h ago $5.50 "}
	for columns := 24; columns < 200; columns++ {
		for i, line := range table(columns, false, rows...) {
			said := strings.Join(strings.Fields(line), " ")
			if !strings.HasPrefix(said, fixed[i]) || displayWidth(line) > columns && said != fixed[i] && !strings.HasSuffix(said, "/deep") {
				t.Errorf("%d columns: %s", columns, line)
			}
		}
	}
	coloured := strings.Join(table(160, true, row("a", "on", verdictAllow), row("b", "on", verdictFailed), deep), "\n")
	expectIs(t, "dim rows", strings.Count(coloured, "\x1b[2m"), 1)
	expectIn(t, "the table", coloured, "\x1b[2mSession", "\x1b[32mapproved 2h ago\x1b", "\x1b[31mnot reviewed 2h ago\x1b", "\x1b[33msent back 2h ago\x1b")
}

// What can't be read is told, and what nothing is known of is not listed. Where nobody says which language, a line tells
// how to have it in English. A screen that can't be written to is told by the exit code.
func TestStatusUnread(t *testing.T) {
	box := newShowBox(t, 100)
	box.timelineOf("newer", ended(review{Ended: ago(time.Minute), outcome: outcome{Verdict: verdictFailed, Error: "why"}}).in(box.work))
	box.write(".claude/ccc/supervisor-bad.json", 0o600, "{")
	box.write(".claude/ccc/supervisor-silent-output.jsonl", 0o600, "{}\n")
	asked := box.run(10*time.Second, "", "ccc", "status")
	expectIn(t, "status", asked.stdout, "\nbad ")
	expectNotIn(t, "status", asked.stdout, "silent")
	expectIn(t, "stderr of status", asked.stderr, "supervisor-bad.json: ")
	expectNotIn(t, "stderr of status", asked.stderr, "ccc.json")
	check(t, os.Remove(filepath.Join(box.home, ".claude/ccc/supervisor-bad.json")))
	box.vars = append(box.vars, "LANG=C", "LC_ALL=")
	expectIn(t, "status", box.run(10*time.Second, "", "ccc", "status").stderr, `"language": "en"`)
	expectIs(t, "status --json", box.run(10*time.Second, "", "ccc", "status", "--json").stderr, "")
	for _, command := range []string{"status", "status --json", "log newer"} {
		got := box.run(20*time.Second, "", "sh", "-c", "ccc "+command+" >/dev/full")
		if got.code == 0 || !strings.Contains(got.stderr, "no space left") {
			t.Errorf("%s to a full device: %+v", command, got)
		}
	}
}
