package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what was printed into testdata/show")

// expectWidth fails the test when a line is wider than columns. It counts in its own way: what begins at the
// CJK radicals takes two.
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
	review := func(since time.Duration, project string, verdict verdict, cost float64) entry {
		of := outcome{Verdict: verdict, CostUSD: cost}
		return ended(review{Ended: ago(since), Iteration: 1, Limit: 20, outcome: of}).in(project)
	}
	const switchedTo = `,"enabled":%q,"switched_at":"2026-01-02T03:04:05Z"`
	const rest = "-0000-4c5e-9a35-1f7d7c2e9f10"
	const shop, long = "/home/you/项目/商城", "/home/you/a/long/path/to/a/project"
	state(testSession, 3, "")
	box.timelineOf(testSession, prompted("x").in(shop).at(ago(time.Hour)),
		review(50*time.Minute, shop, verdictBlock, 0.1), review(40*time.Minute, shop, verdictFailed, 0.2),
		review(210*time.Second, shop, verdictAllow, 0))
	state("4f1de09a"+rest, 20, fmt.Sprintf(switchedTo, modeOn))
	box.timelineOf("4f1de09a"+rest, review(150*time.Minute, "/srv/www", verdictLimit, 0))
	state("4f1de09b"+rest, 0, fmt.Sprintf(switchedTo, modeOff))
	box.timelineOf("4f1de09b"+rest, review(60*time.Hour, long, verdictFailed, 0.00321))
	state("4f1de09c"+rest, 0, "")
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
		box.timelineOf(testSession, readPage(t, "testdata/show/timeline.jsonl"))
		got = box.ccc("log", testSession)
		golden(t, fmt.Sprintf("log-%d-%s.txt", columns, locale), got)
		expectWidth(t, got, columns)
	}
}

// What ccc status tells programs: all of each session, the newest first.
func TestStatusJSON(t *testing.T) {
	box := statusBox(t, 80)
	block := outcome{Verdict: verdictBlock, Tokens: &tokens{1, 2, 3, 4}}
	box.timelineOf("html", ended(review{outcome: block}).in("/a<&>b"))
	got := box.ccc("status", "--json")
	order := `"session_id":"html","project":"/a<&>b".*"0b6c3a52.*"4f1de09a.*"mode":"on".*"4f1de09b.*` +
		`"mode":"off".*"4f1de09c.*"max_iterations":10,.*"verdict_at":null`
	expectMatch(t, "the JSON", got, order)
	expectIn(t, "the JSON", regexp.MustCompile(`"(updated|verdict)_at":"[^"]*",?`).ReplaceAllString(got, ""),
		`"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4`,
		`{"session_id":"`+testSession+`","project":"/home/you/项目/商城","mode":"on","count":3,`+
			`"max_iterations":20,"verdict":"allow","observed":false,"judge":"","reviews":3,"sent_back":1,`+
			`"acted_on":0,"approved":1,"not_reviewed":1,"failed_reviews":1,"cost_usd":0.3,`+
			`"tokens":{"input_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,`+
			`"output_tokens":0},"request":"x"}`)
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
	colours := regexp.MustCompile(`\r|\x1b\[(0|1|2|31|32|33)m`)
	wanted := map[string]bool{"": true, "NO_COLOR=": true, "NO_COLOR=1": false, "TERM=dumb": false}
	for vars, isWanted := range wanted {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(vars)...)
		box.timelineOf(testSession, readPage(t, "testdata/show/timeline.jsonl"))
		status := onTerminal(t, box.command("ccc", "status"), 80)
		log := onTerminal(t, box.command("ccc", "log", testSession), 80)
		expectIs(t, vars+": colours in the log", strings.Contains(log, "\x1b[33m退回"), isWanted)
		for _, got := range []string{status, log} {
			expectIs(t, vars+": colours", strings.Contains(got, "\x1b"), isWanted)
			expectWidth(t, colours.ReplaceAllString(got, ""), 80)
		}
	}
}

// A review that runs is seen in status and its JSON, with what it does now.
func TestStatusReviewing(t *testing.T) {
	box := newShowBox(t, 120)
	box.vars = append(box.vars, "LANG=en", "CCC_SUPERVISOR=1")
	box.write(statePath, 0o600, stateText(testSession, 2, ""))
	refused := outcome{Verdict: verdictBlock}
	records := []any{prompted("mend it\nall").in(box.work).at(ago(time.Hour)),
		ended(review{Ended: ago(time.Minute), Iteration: 1, Limit: 10, outcome: refused}),
		began(review{Begun: ago(12 * time.Second), ID: "r", Iteration: 2, Limit: 10}).in(box.work)}
	const tries = "Bash(cd /p && /usr/local/bin/ccc try --timeout 10m 'go test ./...' | tail -5)"
	for _, c := range []struct{ kind, tool, doing string }{
		{stepCall, "Read(/p/tally.py)", "Read(/p/tally.py)"},
		{stepRefused, "Read(/p/tally.py)", ""},
		{stepCall, tries, "go test ./... | tail -5"},
		{stepRun, "", "go test ./... | tail -5"},
		{stepCall, "Bash(grep " + aSecret + ")", "grep ***"},
	} {
		records = append(records, did(step{Review: "r", Kind: c.kind, Tool: c.tool}))
		box.timelineOf(testSession, records...)
		summed := summarize(box.stateDir().session(testSession), defaultConfig())
		expectIs(t, "what it does", summed.Doing, c.doing)
	}
	expectIn(t, "the JSON", box.ccc("status", "--json"), `"doing":"grep ***",`, `"verdict":"reviewing",`)
	expectMatch(t, "status", box.ccc("status"),
		`^Session .*\n.*  2/10     reviewing 2/10 · \d\ds  -     /.*  mend it all\n\n`+
			`1 review · 1 sent back · 0 approved · 0 not reviewed\n$`)
}

// A screen of sessions, each on one line, told apart by their requests; no line is wider than the screen, not
// even the sum.
func TestStatusMany(t *testing.T) {
	box := newShowBox(t, 80)
	box.vars = append(box.vars, "LANG=en", "NO_COLOR=1")
	refused := func(tree string) entry {
		r := review{Iteration: 10, Limit: 10, outcome: outcome{Verdict: verdictBlock, CostUSD: 1}}
		r.Seen.Tree = tree
		return ended(r).at(ago(time.Hour))
	}
	for i := range statusRows + 5 {
		asked := prompted(fmt.Sprintf("task %d: %s", i, strings.Repeat("and so on ", 9)))
		asked = asked.in("/home/you/a/long/path/to/shop").at(ago(time.Duration(i) * time.Minute))
		box.timelineOf(fmt.Sprintf("session%02d", i), asked, refused("1"), refused("2"))
	}
	for columns, ofSum := range map[int]int{80: 2, 120: 1} {
		box.vars = append(box.vars, fmt.Sprintf("COLUMNS=%d", columns))
		got := strings.ReplaceAll(onTerminal(t, box.command("ccc", "status"), 80), "\r", "")
		expectWidth(t, got, columns)
		expectCounts(t, "status", got, map[string]int{"  task ": statusRows, "\n": statusRows + 2 + ofSum})
	}
	expectIs(t, "as JSON", strings.Count(box.ccc("status", "--json"), `"session_id"`), statusRows+5)
}

// The columns are the same at every width, and only the words of the request are cut. The mode is shown where
// one is off.
func TestStatusTable(t *testing.T) {
	speakIn(t, english)
	row := func(id string, mode mode, v verdict) summary {
		result := review{outcome: outcome{Verdict: v}}.verdictName() + " 2h ago"
		return summary{Session: id, Mode: mode, Verdict: v, number: 2, Limit: 10, Reviews: 34, CostUSD: 5.5,
			Project: "/srv/shop", Request: "make it faster, better", result: result}
	}
	table := func(columns int, rows ...summary) []string {
		path := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(path)
		check(t, err)
		defer file.Close()
		s := newScreen(file)
		s.width = columns
		showTable(s, rows)
		check(t, s.Flush())
		return strings.Split(strings.TrimSuffix(readPage(t, path), "\n"), "\n")
	}
	runs, deep := row("b", "off", verdictReviewing), row("d", "on", verdictBlock)
	runs.result, deep.Project = "reviewing 2/10 · 12s", strings.Repeat("/deep", 6)
	rows := []summary{row("a", "on", verdictAllow), runs, {Session: "c"}, deep}
	expectIs(t, "110 columns", "\n"+strings.Join(table(110, rows...), "\n"), `
Session  Reviews   Result                Cost   Project                         Request
a        2/10      approved 2h ago       $5.50  /srv/shop                       make it faster, better
b        off 2/10  reviewing 2/10 · 12s  $5.50  /srv/shop                       make it faster, better
c        0/0       -                     -      -                               -
d        2/10      sent back 2h ago      $5.50  /deep/deep/deep/deep/deep/deep  make it faster, better`)
	observed := row("01234567", "observe", verdictBlock)
	observed.result, observed.Project = "would be sent back 12m ago", "/home/you/projects/customer-portal"
	// At 80 columns the request keeps ten, whatever else there is, and a long path its end.
	expectEqual(t, "80 columns", table(80, observed), []string{
		"Session   Reviews   Result                      Cost   Project       Request",
		"01234567  observed  would be sent back 12m ago  $5.50  …omer-portal  make it fa…"})
	fixed := []string{"Session Reviews Result Cost Project", "a 2/10 approved 2h ago $5.50 /srv/shop",
		"b off 2/10 reviewing 2/10 · 12s $5.50 /srv/shop", "c 0/0 - - -", "d 2/10 sent back 2h ago $5.50 "}
	for columns := 24; columns < 200; columns++ {
		for i, line := range table(columns, rows...) {
			said := strings.Join(strings.Fields(line), " ")
			fits := displayWidth(line) <= columns || said == fixed[i] || strings.HasSuffix(said, "/deep")
			expectIs(t, fmt.Sprint(columns, ": ", line), fits && strings.HasPrefix(said, fixed[i]), true)
		}
	}
}

// golden compares got with a file of testdata/show.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/show/" + name
	if *update {
		check(t, os.WriteFile(path, []byte(got), 0o644))
	}
	expectIs(t, name, got, readPage(t, path))
}
