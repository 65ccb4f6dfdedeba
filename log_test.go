package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// follow starts ccc log with args and returns what it has written so far, and the function that sends it a
// signal and returns its exit code.
func follow(t *testing.T, box *sandbox, args ...string) (output func() string, end func(syscall.Signal) int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	check(t, err)
	defer file.Close()
	cmd := box.command(append([]string{"ccc", "log"}, args...)...)
	cmd.Stdout, cmd.Stderr = file, file
	check(t, cmd.Start())
	return func() string { text, _ := os.ReadFile(path); return string(text) },
		func(s syscall.Signal) int { cmd.Process.Signal(s); cmd.Wait(); return cmd.ProcessState.ExitCode() }
}

// awaitIn waits until text is in a file under the home.
func (box *sandbox) awaitIn(name, text string) {
	box.t.Helper()
	await(box.t, func() string { return box.read(name) }, text)
}

// await waits until the texts are in the output.
func await(t *testing.T, output func() string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		deadline := time.Now().Add(20 * time.Second)
		for ; !strings.Contains(output(), text); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %q in\n%s", text, output())
			}
		}
	}
}

// expectMatch wants a match of a pattern, in which a dot stands for line breaks, too.
func expectMatch(t *testing.T, what, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?s)" + pattern).MatchString(text) {
		t.Errorf("%s: got\n%s\nwant a match of %s", what, text, pattern)
	}
}

// What is no whole line is passed over; the rest is told.
func TestLogBroken(t *testing.T) {
	box := newShowBox(t, 80)
	line := func(id string) string {
		return string(encodeJSON(ended(review{ID: id, Iteration: 1, Limit: 10, outcome: outcome{
			Verdict: verdictBlock, Feedback: "a <b> \"c\" \\", CostUSD: 0.5}}).in(box.work)))
	}
	whole := line("a")
	byOthers, withoutNewline := strings.ReplaceAll(line("b"), `,"`, ` , "`)+"\r\n", line("c")
	box.timelineOf(testSession, whole+"\n",
		whole[:len(whole)/2]+"\n", "\n", "garbage\n", "3\n", "[]\n", "null\n", "{}\n",
		`{"event":"Stop","verdict":"block"}`+"\n", "\x00\x00\n",
		whole[:30], whole+"\n", byOthers, withoutNewline)
	told := map[string]int{"审查 1/10：退回": 2, `反馈：a <b> "c" \` + "\n": 2}
	expectCounts(t, "the log", box.ccc("log"), told)
	got := box.run(10*time.Second, "", "ccc", "log", "--json", testSession).stdout
	expectIs(t, "the lines of --json, but one that may not be complete", strings.Count(got, "\n"), 2)
	expectPrefix(t, "--json", got, `{"session_id":"`+testSession+`",`+whole[1:]+"\n")
	expectIn(t, "status", box.ccc("status", "--json"), `"reviews":2,`, `"cost_usd":1,`)
}

// A reader who is there before the first session sees each review as it goes; one who comes in the middle of
// a review sees its steps so far, under its own title.
func TestLogFollow(t *testing.T) {
	box := newShowBox(t, 80)
	box.reviews(fakeReview{says("from the first"), decides(false, "first")}, runningReview)
	output, end := follow(t, box, "-f")
	await(t, output, "等待第一个会话")
	box.submit("mend it")
	await(t, output, "用户\n    mend it\n")
	box.stop("")
	await(t, output, "反馈：first\n")
	done := make(chan commandResult)
	go func() { done <- box.stop("") }()
	const begun = " 审查 2/10：开始\n    · git diff\n    I look at the tests.\n"
	await(t, output, begun)
	late, endLate := follow(t, box, "-f", testSession)
	raw, endRaw := follow(t, box, "-f", "--json", testSession)
	await(t, late, "反馈：first\n", begun)
	await(t, raw, `"feedback":"first"`)
	expectNotIn(t, "before the verdict", output()+late()+raw(), "not yet")
	box.write("../fake/go", 0o600, "")
	await(t, output, "反馈：not yet\n")
	await(t, late, "反馈：not yet\n")
	await(t, raw, `"feedback":"not yet"`)
	<-done
	for _, end := range []func(syscall.Signal) int{end, endLate, endRaw} {
		expectIs(t, "exit code", end(syscall.SIGINT), 0)
	}
	for _, got := range []string{output(), late()} {
		expectCounts(t, "the log", got, map[string]int{"mend it": 1, "from the first": 1, "反馈：not yet": 1,
			"2/10：开始": 1, "· git diff\n": 1, "StructuredOutput": 0})
		expectMatch(t, "the log", got, "· 查看 a_test.go.*审查 2/10：退回")
	}
	expectIs(t, "the verdicts as JSON", strings.Count(raw(), `"verdict"`), 2)
}

// Without a session named, -f goes over to one that begins or goes on in the project, and says so; one that
// begins elsewhere is passed over. The records of --json say whose they are.
func TestLogFollowOver(t *testing.T) {
	box := newShowBox(t, 80)
	at := func(project, prompt string) entry { return prompted(prompt).in(project) }
	earlier, first := at(box.work, "an earlier one"), at(box.work, "after /clear")
	box.timelineOf("earlier", earlier)
	box.timelineOf("present", at(box.work, "the present one").at(ago(-time.Second)))
	output, end := follow(t, box, "-f")
	raw, endRaw := follow(t, box, "-f", "--json")
	named, endNamed := follow(t, box, "-f", "present")
	for _, got := range []func() string{output, raw, named} {
		await(t, got, "the present one")
	}
	box.write(".claude/ccc/supervisor-new.json", 0o600, stateText("new", 0, ""))
	time.Sleep(6 * pollInterval) // the next look meets it without a project
	box.timelineOf("elsewhere", at("/elsewhere", "far away"))
	box.timelineOf("earlier", earlier, at(box.work, "goes on"))
	await(t, output, "the present one\n\n会话 earlier\n\n", "用户\n    goes on\n")
	await(t, raw, "{\"session_id\":\"earlier\",\"time\":")
	box.timelineOf("new", first)
	await(t, output, "goes on\n\n会话 new\n\n")
	await(t, raw, "{\"session_id\":\"new\",\"time\":")
	box.timelineOf("last", at(box.work, "the newest one"))
	await(t, output, "the newest one")
	for _, end := range []func(syscall.Signal) int{end, endRaw, endNamed} {
		end(syscall.SIGINT)
	}
	for _, got := range []string{output(), raw(), named()} {
		expectNotIn(t, "what follows", got, "far away", "an earlier one")
	}
	expectCounts(t, "what follows", output(), map[string]int{"会话 new": 1, "after /clear": 1})
	expectNotIn(t, "what follows the named one", named(), "clear", "goes on")
	expectCounts(t, "the JSON", raw(), map[string]int{`{"session_id":"present",`: 1, "after /clear": 1})
}

// What was told of one review is not told under another's title, what is refused is told as refused, a script
// over its lines, and each begin and each killed review once, though the next prompt records its end.
func TestLogFollowLines(t *testing.T) {
	box := newShowBox(t, 80)
	begun := func(event, id string, iteration int) entry {
		r := review{Event: event, ID: id, Iteration: iteration, Limit: 9, LastMessage: "said for " + id}
		return began(r).in(box.work)
	}
	ran := func(review, command string) entry {
		return did(step{Kind: stepRun, Review: review, Command: command, Output: "a---b\n"})
	}
	called := func(kind, command string) entry {
		return did(step{Review: "a", Kind: kind, Tool: "Bash(" + command + ")"})
	}
	refused := outcome{Verdict: verdictBlock, Feedback: "no"}
	dead := began(review{ID: "k", Iteration: 1, Limit: 9, Begun: ago(time.Hour), Deadline: ago(time.Minute)})
	box.timelineOf(testSession)
	output, end := follow(t, box, "-f", testSession)
	var lines []any
	for _, next := range []struct {
		line entry
		want string
	}{
		{dead, errUserEnded.zh},
		{prompted("go on"), "go on"},
		{ended(review{ID: "k", outcome: outcome{Verdict: verdictCancelled, Error: errUserEnded.zh}}), ""},
		{begun(eventStop, "a", 1), " 审查 1/9：开始\n    Agent：said for a\n"},
		{begun(eventReview, "b", 0), "said for b\n"},
		{ran("a", "one"), " 审查 1/9\n    实测：one "},
		{ran("a", "cat <<E\nx  # y\nE"), "    实测：cat <<E\n          x  # y\n          E\n" +
			"          → 退出码 0 · 0.0 秒\n          a---b\n"},
		{ended(review{ID: "b", outcome: refused}), "反馈：no\n"},
		{called(stepCall, "rm x"), " 审查 1/9\n    · rm x\n"},
		{called(stepRefused, "rm x"), "    · rm x\n    · 被拒绝 rm x\n"},
		{ended(review{ID: "a", outcome: refused}), " 审查 1/9：退回\n"},
	} {
		lines = append(lines, next.line)
		box.timelineOf(testSession, lines...)
		await(t, output, next.want)
	}
	end(syscall.SIGINT)
	expectCounts(t, "what follows", output(), map[string]int{
		errUserEnded.zh: 1, "said for": 2, "rm x": 2, "：开始": 3})
}

// What happened while a review ran stands before its end; a killed one ends after its last step, before what
// came then. -n tells the last reviews with the prompt before them; a stop at the limit is none.
func TestLogOrder(t *testing.T) {
	box := newLogBox(t)
	begun := func(id, on string) entry {
		return began(review{ID: id, Event: on, Begun: ago(time.Minute), Iteration: 1, Limit: 10}).in(box.work)
	}
	of := func(id string, v verdict, feedback string) entry {
		r := review{ID: id, outcome: outcome{Verdict: v, Feedback: feedback}}
		return ended(r).in(box.work).at(ago(time.Minute))
	}
	killed := began(review{ID: "k", Iteration: 1, Limit: 10, Begun: loggedAt, Deadline: loggedAt})
	read := did(step{Review: "k", Kind: stepCall, Tool: "Read(/p/a)"}).at(loggedAt.Add(4 * time.Minute))
	begin, byHand, onward := begun("a", eventStop), begun("b", eventReview), prompted("and on")
	for name, test := range map[string]struct {
		lines []any
		want  string
	}{
		"two": {[]any{begin, byHand, of("b", verdictAllow, "fine"), switchedTo(modeOff),
			of("a", verdictCancelled, "x")}, "fine.*switched off.*cancelled"},
		"failed": {[]any{begin, onward, of("a", verdictFailed, "")}, "and on.*Review 1/10: not reviewed"},
		"killed, then another": {[]any{killed, read, begin, of("a", verdictAllow, "")},
			"1/10: begins\n.*reading .*" + clock(loggedAt.Add(4*time.Minute)) +
				" Review 1/10: cancelled\n.*1/10: begins\n.*: approved\n"},
	} {
		box.timelineOf("s", test.lines...)
		got := box.ccc("log", "s")
		expectMatch(t, name, got, test.want)
		expectIs(t, name+": the ends", strings.Count(got, "not reviewed")+strings.Count(got, "cancelled"), 1)
	}
	box.timelineOf("many", prompted("first").at(ago(9)), of("a", verdictBlock, "one"),
		prompted("second").at(ago(9)), of("b", verdictBlock, "two"), of("c", verdictAllow, "three"),
		of("", verdictLimit, ""), prompted("third").at(ago(9)))
	for n, want := range map[string]string{"1": "second three third", "2": "second two three third",
		"9": "first one second two three third"} {
		words := regexp.MustCompile(`first|second|third|one|two|three`)
		told := words.FindAllString(box.ccc("log", "-n", n, "many"), -1)
		expectIs(t, "log -n "+n, strings.Join(told, " "), want)
	}
	for _, n := range []string{"x", "0"} {
		expectEnd(t, "-n "+n, box.run(10*time.Second, "", "ccc", "log", "-n", n), 2, "", "not \""+n+"\"")
	}
}

// loggedAt is when what the log of TestLogOrder and TestLogCuts tells happened.
var loggedAt = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// newLogBox is a sandbox whose ccc log is in English, and 110 columns wide.
func newLogBox(t *testing.T) *sandbox {
	box := newShowBox(t, 110)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	return box
}

// A prompt that is clearly over 600 characters is cut, what the agent said last at 130 columns; of a long
// script, a long output and a long error the log tells a part, and how much is missing.
func TestLogCuts(t *testing.T) {
	box := newLogBox(t)
	limit := ended(review{Ended: loggedAt, LastMessage: strings.Repeat("s", 131)})
	limit.Review.Verdict = verdictLimit
	box.timelineOf(testSession, prompted(strings.Repeat("p", 701)).at(loggedAt), limit)
	got := box.ccc("log", testSession)
	expectIn(t, "the log", got, "(101 characters left out)", "s…\n")
	expectIs(t, "what was said is there, but for its end", strings.Count(got, "s") >= 129, true)
	code := 125
	for isCut, c := range map[bool]struct{ script, out, why int }{false: {21, 9, 300}, true: {31, 31, 301}} {
		r := step{Command: strings.Repeat("a\n", c.script-1) + "b", ExitCode: &code,
			Output: strings.Repeat("c\n", c.out-1) + "d", Error: strings.Repeat("e", c.why)}
		told := ran(r)
		want := fmt.Sprintf("a\n……（省略 %d 行）……\na", c.script-20)
		expectIs(t, "script is cut", strings.Contains(told, want), isCut)
		expectIs(t, "output is cut", strings.Contains(told, fmt.Sprintf("……（省略 %d 行）……\nc", c.out-8)), isCut)
		expectIs(t, "error is cut", !strings.Contains(told, r.Error), isCut)
		expectIn(t, "the output", told, "c\nc\nd")
	}
}
