package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Which session is told, from where, and how it says which.
func TestLogSession(t *testing.T) {
	box := newShowBox(t, 100)
	at := func(project string, age time.Duration) entry {
		return prompted("in " + project).in(project).at(ago(age))
	}
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	os.Symlink(box.work, filepath.Join(box.home, "link"))
	box.timelineOf("aa-elsewhere", at("/elsewhere", 0))
	box.timelineOf("aa-beside", at(box.work[:len(box.work)-1], time.Minute))
	box.timelineOf("aa-old", at(box.work, time.Hour))
	box.timelineOf("ab-new", at(filepath.Join(box.home, "link"), 30*time.Minute))
	for _, test := range []struct{ args, dir, want, stderr string }{
		{"log", box.work, "会话 ab-new（当前项目最新的会话）", ""},
		{"log", box.work + "/sub", "/sub 里还没有受监督的会话\n", ""}, // outside git the directory counts
		{"log --", box.work, "会话 ab-new（", ""},
		{"log", "/", "/ 里还没有受监督的会话\n", ""},
		{"log aa-o", "/", "会话 aa-old\n", ""},
		{"log --json", box.work, `"prompt":{"text":"in ` + box.home, ""},
		{"log aa", box.work, "", "ccc: \"aa\" is the beginning of 3 sessions: aa-elsewhere, aa-beside\n     name one, as ccc status lists them\n"},
		{"log ../x\x1b[31m", box.work, "", `ccc: no session "../x\x1b[31m"`},
	} {
		cmd := box.command(append([]string{"ccc"}, strings.Fields(test.args)...)...)
		cmd.Dir = test.dir
		got := box.finish(cmd, 10*time.Second)
		name := test.args + " in " + test.dir
		expectIs(t, name+": it is done", got.code == 0, test.want != "")
		expectIn(t, name+": stdout", got.stdout, test.want)
		expectIs(t, name+": stdout has something", got.stdout != "", test.want != "")
		expectPrefix(t, name+": stderr", got.stderr, test.stderr)
		expectIs(t, name+": stderr has something", got.stderr != "", test.stderr != "")
	}
	// One that is older than the newest here is not opened: of one that nobody writes to, that would not end.
	unopened := box.stateDir().session("aa-unopened").timelineFile()
	check(t, syscall.Mkfifo(unopened, 0o600))
	check(t, os.Chtimes(unopened, time.Time{}, ago(3*time.Hour)))
	got := box.run(10*time.Second, "", "ccc", "log")
	expectIs(t, "beside one that can't be read, it is done", got.code, 0)
	expectIn(t, "beside one that can't be read, the log", got.stdout, "会话 ab-new（")
}

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
	expectCounts(t, "the log", box.ccc("log"), map[string]int{"审查 1/10：退回": 2, `反馈：a <b> "c" \` + "\n": 2})
	got := box.run(10*time.Second, "", "ccc", "log", "--json", testSession).stdout
	expectIs(t, "the lines of --json, but one that may not be complete", strings.Count(got, "\n"), 2)
	expectPrefix(t, "--json", got, `{"session_id":"`+testSession+`",`+whole[1:]+"\n")
	expectIn(t, "status", box.ccc("status", "--json"), `"reviews":2,`, `"cost_usd":1,`)
	// A state that can't be read is told, and hides nothing.
	box.write(statePath, 0o600, "{")
	box.timelineOf("other", whole+"\n")
	status := box.run(10*time.Second, "", "ccc", "status")
	expectIs(t, "a corrupt state: the exit code", status.code, 0)
	expectIn(t, "a corrupt state: stderr", status.stderr, "supervisor-"+testSession+".json: ")
	expectCounts(t, "a corrupt state: stdout", status.stdout, map[string]int{"  退回（": 2})
}

// follow starts ccc log with args and returns what it has written so far, and
// the function that sends it a signal and returns its exit code.
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

// await waits until text is in the output.
func await(t *testing.T, output func() string, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(output(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in\n%s", text, output())
		}
	}
}

// hookAsync runs the hook for an event, beside the test.
func hookAsync(box *sandbox, event string) (done chan commandResult) {
	done = make(chan commandResult, 1)
	go func() { done <- box.hook(event) }()
	return done
}

// A reader who is there before the first session sees each review as it goes; one who comes in the middle of a review sees
// its steps so far, under its own title.
func TestLogFollow(t *testing.T) {
	box := newShowBox(t, 80)
	box.reviews(fakeReview{says("from the first"), decides(false, "first")}, runningReview)
	output, end := follow(t, box, "-f")
	await(t, output, "等待第一个会话")
	box.submit("mend it")
	await(t, output, "用户\n    mend it\n")
	box.stop("")
	await(t, output, "反馈：first\n")
	idle, endIdle := follow(t, box, "-f", testSession[:4])
	await(t, idle, "反馈：first\n")
	if code := endIdle(syscall.SIGTERM); code != 0 || strings.Contains(idle(), "2/10") {
		t.Errorf("exit code %d, no review runs: %s", code, idle())
	}
	done := hookAsync(box, box.event("Stop", ""))
	const begun = " 审查 2/10：开始\n    · git diff\n    I look at the tests.\n"
	await(t, output, begun)
	late, endLate := follow(t, box, "-f", testSession)
	raw, endRaw := follow(t, box, "-f", "--json", testSession)
	await(t, late, "反馈：first\n")
	await(t, late, begun)
	await(t, raw, `"feedback":"first"`)
	if got := box.run(10*time.Second, "", "ccc", "verdict"); got.code != 3 || got.stdout != "reviewing\n" || strings.Contains(output()+late()+raw(), "not yet") {
		t.Errorf("a verdict before the review: %+v, %s", got, output())
	}
	box.write("../fake/go", 0o600, "")
	for _, got := range []func() string{output, late} {
		await(t, got, "反馈：not yet\n")
	}
	await(t, raw, `"feedback":"not yet"`)
	<-done
	for _, end := range []func(syscall.Signal) int{end, endLate, endRaw} {
		expectIs(t, "exit code", end(syscall.SIGINT), 0)
	}
	for _, got := range []string{output(), late()} {
		for text, want := range map[string]int{"mend it": 1, "反馈：not yet": 1, "2/10：开始": 1, "· git diff\n": 1, "StructuredOutput": 0} {
			if strings.Count(got, text) != want {
				t.Errorf("%q not %d times: %s", text, want, got)
			}
		}
		if strings.Index(got, "· 查看 a_test.go") > strings.Index(got, "审查 2/10：退回") {
			t.Errorf("a step behind the verdict: %s", got)
		}
	}
	if strings.Count(late(), "from the first") != 1 || strings.Count(raw(), `"verdict"`) != 2 {
		t.Errorf("got %s\nraw %s", late(), raw())
	}
}

// Without a session named, -f goes over to one that begins or goes on in the project, and says so; one that begins elsewhere
// is passed over. The records of --json say whose they are.
func TestLogFollowOver(t *testing.T) {
	box := newShowBox(t, 80)
	at := func(project, prompt string) entry {
		return prompted(prompt).in(project)
	}
	earlier, first := at(box.work, "an earlier one"), at(box.work, "after /clear")
	box.timelineOf("earlier", earlier)
	box.write(".claude/ccc/supervisor-earlier.json", 0o600, stateText("earlier", 0, ""))
	box.timelineOf("present", prompted("the present one").in(box.work).at(ago(-time.Second)))
	output, end := follow(t, box, "-f")
	raw, endRaw := follow(t, box, "-f", "--json")
	named, endNamed := follow(t, box, "-f", "present")
	for _, got := range []func() string{output, raw, named} {
		await(t, got, "the present one")
	}
	box.write(".claude/ccc/supervisor-new.json", 0o600, stateText("new", 0, "")) // it has no project yet
	time.Sleep(6 * pollInterval)                                                 // the next look for sessions has met it
	box.timelineOf("elsewhere", at("/elsewhere", "far away"))
	box.timelineOf("earlier", earlier, at(box.work, "goes on"))
	await(t, output, "the present one\n\n会话 earlier\n\n")
	await(t, output, "用户\n    goes on\n")
	await(t, raw, "{\"session_id\":\"earlier\",\"time\":")
	box.timelineOf("new", first)
	await(t, output, "goes on\n\n会话 new\n\n")
	await(t, raw, "{\"session_id\":\"new\",\"time\":")
	box.timelineOf("new", first, at(box.work, "and more"))
	await(t, output, "and more")
	await(t, raw, "and more")
	// Of two that one look finds the newer is told last.
	box.timelineOf("twin-a", prompted("the older twin").in(box.work).at(ago(time.Minute)))
	box.timelineOf("twin-b", at(box.work, "the newer twin"))
	for _, got := range []func() string{output, raw} {
		await(t, got, "the older twin")
		await(t, got, "the newer twin")
		if text := got(); strings.Index(text, "the newer twin") < strings.Index(text, "the older twin") {
			t.Errorf("the newer is told first: %s", text)
		}
	}
	time.Sleep(2 * pollInterval)
	for _, end := range []func(syscall.Signal) int{end, endRaw, endNamed} {
		end(syscall.SIGINT)
	}
	for _, got := range []string{output(), raw(), named()} {
		expectNotIn(t, "what follows", got, "far away", "an earlier one")
		for _, once := range []string{"会话 new", "after /clear"} {
			if strings.Count(got, once) > 1 {
				t.Errorf("%q is there more than once:\n%s", once, got)
			}
		}
	}
	expectNotIn(t, "what follows the named one", named(), "clear", "goes on")
	expectCounts(t, "what follows as JSON", raw(), map[string]int{`{"session_id":"present",`: 1})
	// Who comes late is told what runs in another session, with its request, and nothing else of it.
	box.timelineOf("busy", prompted("an earlier one"), prompted("its request").in(box.work).at(ago(2*time.Hour)),
		ended(review{Ended: ago(90 * time.Minute), ID: "over", outcome: outcome{Verdict: verdictBlock, Feedback: "of an earlier one"}}),
		began(review{Begun: ago(time.Hour), ID: "r", Iteration: 1, Limit: 10, LastMessage: "is it good?"}))
	late, endLate := follow(t, box, "-f")
	await(t, late, "会话 busy\n\n")
	await(t, late, "开始\n    Agent：is it good?\n")
	endLate(syscall.SIGINT)
	expectIn(t, "what comes late", late(), "its request")
	expectNotIn(t, "what comes late", late(), "an earlier one")
}

// What a switch and a review leave in the timeline shows in the log: to what it was switched, and what the reviewer went by.
func TestLogTellsSwitch(t *testing.T) {
	box := newShowBox(t, 120)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	box.write(".claude/SUPERVISOR.md", 0o600, "be strict")
	box.submit("fix it")
	box.stop("")
	box.submit("/supervisor off")
	box.submit("/supervisor on")
	got := box.ccc("log", testSession)
	expectIn(t, "the log", got,
		"\n    提示词：~/.claude/SUPERVISOR.md\n",
		" 监督已关闭\n", " 监督已打开\n",
	)
	expectCounts(t, "the log, in which a switch is no prompt,", got, map[string]int{"用户\n": 1})
}

// The log tells the case: what the agent said, what it asks, what a run that failed printed, what was refused, and what a
// verdict lacks. Rules are told where they change, and a killed review is one that failed.
func TestLogCase(t *testing.T) {
	box := newShowBox(t, 80)
	code := 3
	of := func(id, event string, o outcome) entry {
		return ended(review{ID: id, Event: event, outcome: o}).in(box.work).at(ago(time.Minute))
	}
	begun := func(id, event string, question string) entry {
		r := review{ID: id, Event: event, Begun: ago(time.Minute), Iteration: 1, Limit: 10, reviewerFacts: reviewerFacts{PromptSource: "rules.md"},
			LastMessage: "All of it is done. " + strings.Repeat("Really. ", 50)}
		if question != "" {
			r.Question = questionText([]byte(question))
		}
		if id == "e" { // which is killed
			r.Deadline = ago(time.Minute)
		}
		return began(r).in(box.work)
	}
	words := ended(review{ID: "c", reviewerFacts: reviewerFacts{Way: "cache"}, outcome: outcome{Verdict: verdictBlock, Feedback: "hm", NoVerdict: true}}).in(box.work).at(ago(time.Minute))
	killed := begun("e", eventStop, "")
	box.timelineOf(testSession,
		prompted("do it").in(box.work).at(ago(time.Hour)),
		begun("a", eventStop, ""),
		did(step{Kind: stepCall, Review: "a", Tool: "Read(" + box.work + "/a.go)"}),
		did(step{Kind: stepCall, Review: "a", Tool: "Bash(rm x)"}),
		did(step{Kind: stepRun, Review: "a", Command: "go test", ExitCode: &code, Output: "a_test.go:3: wrong\nFAIL\n"}),
		did(step{Kind: stepRefused, Review: "a", Tool: "Bash(rm x)"}),
		of("a", eventStop, outcome{Verdict: verdictBlock, Feedback: "mend it"}),
		begun("b", eventPreToolUse, `{"questions":[{"question":"Which one?","options":[{"label":"Red"},{"label":"Blue","description":"x"}]}]}`),
		of("b", eventPreToolUse, outcome{Verdict: verdictAllow}),
		begun("c", eventStop, ""), words,
		begun("d", eventStop, ""), of("d", eventStop, outcome{Verdict: verdictCancelled, Error: "Esc"}),
		killed)
	got := box.ccc("log", testSession)
	expectIn(t, "the log", got,
		"    Agent：All of it is done. Really. ",
		"    · 查看 a.go\n    实测：go test → 退出码 3 · 0.0 秒\n          a_test.go:3: wrong\n          FAIL\n    · 被拒绝 rm x\n",
		"提问审查 1/10：开始\n    提问：Which one?\n          - Red\n          - Blue\n", "提问审查 1/10：通过\n    提示词：rules.md\n    只看了对话\n",
		"    提示缓存：沿用 Agent 的\n", "    审查者没有给出判定，它说的话当作反馈\n    反馈：hm\n", "审查 1/10：已取消\n", errUserEnded.zh,
	)
	expectCounts(t, "the log", got, map[string]int{"提示词：rules.md": 3, "…": 4, "rm x": 1})
	// What happened while a review ran stands before its end.
	byHand := of("b", eventReview, outcome{Verdict: verdictAllow, Feedback: "fine"})
	box.timelineOf("two", begun("a", eventStop, ""), begun("b", eventReview, ""), byHand,
		switchedTo(modeOff), of("a", eventStop, outcome{Verdict: verdictCancelled, Error: "switched off"}))
	order := regexp.MustCompile(`(?s)fine.*监督已关闭.*switched off`)
	got = box.ccc("log", "two")
	expectCounts(t, "the log of two", got, map[string]int{"审查": 4})
	if !order.MatchString(got) {
		t.Errorf("the log of two: got\n%s\nwant a match of %s", got, order)
	}
	// A review that failed while the user typed on is told once, at its end; one that was killed, before what came then.
	onward := prompted("and on")
	box.timelineOf("failed", begun("a", eventStop, ""), onward, of("a", eventStop, outcome{Verdict: verdictFailed, Error: "overloaded"}))
	box.timelineOf("killed", killed, onward)
	for session, want := range map[string]string{"failed": `(?s)and on.*审查未完成`, "killed": `(?s)已取消.*and on`} {
		got := box.ccc("log", session)
		expectIs(t, session, strings.Count(got, "审查未完成")+strings.Count(got, "已取消"), 1)
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got\n%s\nwant a match of %s", session, got, want)
		}
	}
	// -n tells the last reviews with the prompt before them; a stop at the limit is none.
	box.timelineOf("many", prompted("first").at(ago(9)), of("a", eventStop, outcome{Verdict: verdictBlock, Feedback: "one"}),
		prompted("second").at(ago(9)), begun("b", eventStop, ""), of("b", eventStop, outcome{Verdict: verdictBlock, Feedback: "two"}),
		begun("c", eventStop, ""), of("c", eventStop, outcome{Verdict: verdictAllow, Feedback: "three"}),
		of("", eventStop, outcome{Verdict: verdictLimit}), prompted("third").at(ago(9)))
	for n, want := range map[string]string{
		"1": "second three third",
		"2": "second two three third",
		"3": "first one second two three third",
		"9": "first one second two three third",
	} {
		told := ""
		for _, word := range strings.Fields(strings.ReplaceAll(box.ccc("log", "-n", n, "many"), "：", " ")) {
			if strings.Contains("first second third one two three", word) {
				told += " " + word
			}
		}
		expectIs(t, "log -n "+n, told, " "+want)
	}
	for _, n := range []string{"x", "0", "-1"} {
		expectEnd(t, "-n "+n, box.run(10*time.Second, "", "ccc", "log", "-n", n), 2, "", "not \""+n+"\"")
	}
}

// A command is shown as it was run: its blanks stay. The log tells a script over its lines, once, with the end of its output,
// whatever its exit code; where there is one line, ⏎ stands for each line break.
func TestCommandsAsRun(t *testing.T) {
	box := newShowBox(t, 120)
	const command = "cat <<E\nslug(\"a   b\")  # x\nE"
	const shown = `cat <<E ⏎ slug("a   b")  # x ⏎ E`
	tool := describeTool("Bash", encodeJSON(map[string]string{"command": command}))
	expectIs(t, "what the reviewer's screen and log -f show", tool, "Bash("+shown+")")
	begun := began(review{Begun: ago(time.Second), ID: "r"}).in(box.work)
	ran := step{Kind: stepRun, Review: "r", Command: command, Output: "a---b\n"}
	refused := did(step{Kind: stepRefused, Review: "r", Tool: tool})
	called := did(step{Kind: stepCall, Review: "r", Tool: tool})
	box.timelineOf(testSession, begun, called, did(ran))
	output, unfollow := follow(t, box, "-f", testSession)
	await(t, output, "    · "+shown+"\n    实测：cat <<E\n          slug(\"a   b\")  # x\n          E\n"+
		"          → 退出码 0 · 0.0 秒\n          a---b\n")
	unfollow(syscall.SIGINT)
	end := ended(review{ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "no"}}).in(box.work)
	box.timelineOf(testSession, begun, called, did(ran), refused, end)
	expectIn(t, "the log", box.ccc("log", testSession), "实测：cat <<E\n", "· 被拒绝 "+shown+"\n")
	// Of a long script and a long output the log tells a part, and how much is missing.
	long := ran
	long.Command, long.Output = strings.Repeat("one\n", 30)+"last", strings.Repeat("printed\n", 30)+"the end"
	box.timelineOf(testSession, begun, did(long), end)
	got := box.ccc("log", testSession)
	expectIs(t, "the lines of the script", strings.Count(got, "one\n"), 19)
	expectIs(t, "the lines of its output", strings.Count(got, "printed\n"), 7)
	expectIn(t, "the log", got, "……（省略 11 行）……\n", "……（省略 23 行）……\n", "         the end\n")
	for length, isWhole := range map[int]bool{300: true, 301: false} { // why it could not be run
		ran.Error = strings.Repeat("e", length)
		box.timelineOf(testSession, begun, did(ran), end)
		expectIs(t, strconv.Itoa(length)+" characters of an error", strings.Contains(unspaced(box.ccc("log", testSession)), ran.Error), isWhole)
	}
	ran.Error = ""
	box.timelineOf(testSession, begun, did(ran), end)
	ran.Command = "cd sub\nslug \"a   b\""
	expectIn(t, "the receipt", review{Event: eventStop, outcome: outcome{Verdict: verdictBlock}, did: steps{Runs: []step{ran}}}.receipt(), `slug "a   b" → `)
}

// What was told of one review is not told under another's title.
func TestLogFollowBeside(t *testing.T) {
	box := newShowBox(t, 80)
	begun := func(event, id string, iteration int) entry {
		return began(review{Event: event, ID: id, Iteration: iteration, Limit: 9 * iteration, LastMessage: "said for " + id}).in(box.work)
	}
	ran := func(review, command string) entry {
		return did(step{Kind: stepRun, Review: review, Command: command})
	}
	box.timelineOf(testSession)
	output, end := follow(t, box, "-f", testSession)
	var lines []any
	for _, next := range []struct {
		line entry
		want string
	}{
		{begun(eventStop, "a", 1), "said for a\n"},
		{begun(eventReview, "b", 0), "said for b\n"},
		{ran("a", "one"), " 审查 1/9\n    实测：one "},
		{ran("a", "two"), "秒\n    实测：two "}, // the title is still a's
		{ran("b", "three"), " 审查\n    实测：three "},
		{ended(review{ID: "b", outcome: outcome{Verdict: verdictBlock, Feedback: "no"}}), "反馈：no\n"},
		{ran("a", "four"), " 审查 1/9\n    实测：four "},
	} {
		lines = append(lines, next.line)
		box.timelineOf(testSession, lines...)
		await(t, output, next.want)
	}
	end(syscall.SIGINT)
	expectCounts(t, "what follows", output(), map[string]int{"said for": 2, "实测：three": 1})
}

// While a review runs, -f shows what is refused as refused, and tells its begin and its case once.
func TestLogFollowRefused(t *testing.T) {
	box := newShowBox(t, 80)
	begun := began(review{Begun: ago(time.Second), ID: "r", Iteration: 1, Limit: 10, LastMessage: "I am done"}).in(box.work)
	called := func(kind, command string) entry {
		return did(step{Review: "r", Kind: kind, Tool: "Bash(" + command + ")"})
	}
	for said, isRefusal := range map[string]bool{
		"<tool_use_error>InputValidationError: Read failed":                 true,
		"<tool_use_error>Error: No such tool available: X</tool_use_error>": true,
		"<tool_use_error>File does not exist.":                              false,
	} {
		block := contentBlock{Type: "tool_result", Error: true, Said: encodeJSON(said)}
		expectIs(t, "a refusal: "+said, block.isRefusal(), isRefusal)
	}
	records := []any{begun}
	box.timelineOf(testSession, records...)
	output, end := follow(t, box, "-f", testSession)
	await(t, output, " 审查 1/10：开始\n    Agent：I am done\n")
	records = append(records, called(stepCall, "rm x"))
	box.timelineOf(testSession, records...)
	await(t, output, "    · rm x\n")
	records = append(records, called(stepRefused, "rm x"), called(stepCall, "sleep 9"))
	box.timelineOf(testSession, records...)
	await(t, output, "    · rm x\n    · 被拒绝 rm x\n    · sleep 9\n")
	records = append(records, called(stepRefused, "sleep 9"))
	box.timelineOf(testSession, records...)
	await(t, output, "    · 被拒绝 sleep 9\n")
	box.timelineOf(testSession, append(records, ended(review{ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "no"}}))...)
	await(t, output, "反馈：no\n")
	end(syscall.SIGINT)
	expectCounts(t, "what follows", output(), map[string]int{"rm x": 2, "I am done": 1, "：开始": 1})
}

// loggedAt is when all that the log of TestLogEnds and its neighbours tells happened.
var loggedAt = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// loggedEnd is the end of review r, of a stop, at loggedAt. outcome is all that it came to; change, if not nil, changes the rest.
func loggedEnd(o outcome, change func(r *review)) entry {
	r := review{Ended: loggedAt, ID: "r", Event: eventStop, Iteration: 1, Limit: 10, LastMessage: "I am done.", reviewerFacts: reviewerFacts{PromptSource: builtinSource}, outcome: o}
	if change != nil {
		change(&r)
	}
	return ended(r).in("/p")
}

// loggedBegin is the begin of review r, loggedCall a call of its reviewer's, and loggedRun a run in its copy.
func loggedBegin() entry {
	return began(review{Begun: loggedAt, ID: "r", Iteration: 1, Limit: 10, LastMessage: "I am done."}).in("/p")
}

func loggedCall(tool string) entry {
	return did(step{Kind: stepCall, Review: "r", Tool: tool}).at(loggedAt)
}

func loggedRun(command string) entry {
	return did(step{Kind: stepRun, Review: "r", Command: command}).at(loggedAt)
}

// newLogBox is a sandbox whose ccc log is in English, and 110 columns wide.
func newLogBox(t *testing.T) *sandbox {
	box := newShowBox(t, 110)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	return box
}

// What the log tells of the end of a review, by what it came to: each fact once, in its place, and none that says nothing.
func TestLogEnds(t *testing.T) {
	box := newLogBox(t)
	end := func(v verdict, change func(r *review)) entry {
		return loggedEnd(outcome{Verdict: v, Feedback: "words", Error: "why"}, change)
	}
	approved := loggedEnd(outcome{Verdict: verdictAllow}, nil)
	begun, call := loggedBegin(), loggedCall
	failedCall := did(step{Kind: stepError, Review: "r", Tool: "Read(/p/a)"}).at(loggedAt)
	const asked = `{"questions":[{"question":"Which one?","options":[{"label":"A"},{"label":"B"}]},{"question":"Why?"}]}`
	for name, c := range map[string]struct {
		records []any
		want    string // behind the title of the end
	}{
		"approved": {[]any{begun, end(verdictAllow, func(r *review) { r.Error = "" })},
			" approved\n    only the conversation was read\n    for you  words\n"},
		"approved, and read":    {[]any{begun, call("Read(/p/a)"), approved}, " approved\n    only files were read, nothing was run\n"},
		"approved, one of each": {[]any{begun, call("Read(/p/a)"), loggedRun("true"), approved}, " approved\n"},
		"approved, and read none": {[]any{begun, call("Read(/p/a)"), failedCall, call("ToolSearch"), approved},
			" approved\n    only the conversation was read\n"},
		"not seen": {[]any{begun, call("Read(/p/a)"),
			loggedEnd(outcome{Verdict: verdictAllow}, func(r *review) { r.Seen.Unseen = "git is slow" })},
			" approved\n    only files were read, nothing was run\n    the change is not known: git is slow\n"},
		"sent back": {[]any{begun, end(verdictBlock, func(r *review) { r.Error = "" })},
			" sent back\n    only the conversation was read\n    feedback words\n"},
		"no verdict": {[]any{begun, end(verdictBlock, func(r *review) { r.NoVerdict, r.Error = true, "" })},
			" sent back\n    only the conversation was read\n    " + withoutVerdict.en + "\n    feedback words\n"},
		"withheld": {[]any{begun, end(verdictBlock, func(r *review) { r.NoVerdict, r.Withheld, r.Error = true, true, "" })},
			" sent back\n    only the conversation was read\n    " + unreadableVerdict.en + "\n    feedback words\n"},
		"not reviewed": {[]any{begun, end(verdictFailed, func(r *review) { r.Feedback, r.NoCopy = "", "no namespaces" })},
			" not reviewed\n    no copy  no namespaces\n    reason   why\n"},
		"cancelled": {[]any{begun, end(verdictCancelled, func(r *review) { r.Feedback = "" })},
			" cancelled\n    reason   why\n"},
		"the limit": {[]any{loggedEnd(outcome{Verdict: verdictLimit}, func(r *review) { r.ID = "" })},
			" limit reached\n    agent    I am done.\n"},
		"a question at the limit": {[]any{loggedEnd(outcome{Verdict: verdictLimit}, func(r *review) {
			r.ID, r.Event, r.Question = "", eventPreToolUse, questionText([]byte(asked))
		})}, " limit reached\n    asks     Which one?\n             - A\n             - B\n             Why?\n" +
			"    " + questionPassed.en + "\n"},
		"a question not reviewed": {[]any{
			end(verdictFailed, func(r *review) { r.Event, r.Feedback = eventPreToolUse, "" })},
			" not reviewed\n    reason   why\n    " + questionPassed.en + "\n"},
		"a question answered": {[]any{end(verdictBlock, func(r *review) { r.Event, r.Error = eventPreToolUse, "" })},
			" sent back\n    only the conversation was read\n    feedback words\n"},
		"other rules": {[]any{begun,
			end(verdictBlock, func(r *review) { r.PromptSource, r.Error = "/p/SUPERVISOR.md", "" })},
			" sent back\n    prompt   SUPERVISOR.md\n    only the conversation was read\n    feedback words\n"},
		"what it cost": {[]any{begun,
			end(verdictBlock, func(r *review) { r.DurationSeconds, r.CostUSD, r.Error = 5, 0.25, "" })},
			" sent back\n    5.0s · $0.25\n    only the conversation was read\n    feedback words\n"},
	} {
		box.timelineOf(testSession, c.records...)
		got := box.ccc("log", testSession)
		titles := strings.Split(got, "\n2026-01-02 03:04:00 ")
		last := titles[len(titles)-1]
		last = last[strings.Index(last, c.want[:strings.Index(c.want, "\n")]):]
		expectIs(t, name, last, c.want)
		expectNotIn(t, name, got, "Bash(")
	}
	byHand := end(verdictFailed, func(r *review) { r.Event, r.Iteration, r.Feedback = eventReview, 0, "" })
	box.timelineOf(testSession, byHand)
	expectIn(t, "by hand, not reviewed", box.ccc("log", testSession), "\n2026-01-02 03:04:00 Review: not reviewed\n    reason   why\n")
}

// What each verdict rests on is told with it: why there was no look, why there was no copy, and whose rules it went by, the
// built-in ones aside. What mends it ccc doctor tells.
func TestLogBasis(t *testing.T) {
	box := newLogBox(t)
	var told []any
	for i, c := range []struct{ unseen, rules, noCopy string }{
		{"one", "/p/a", ""},
		{"one", "/p/a", "x\nfix it"},
		{"two", builtinSource, "x\nfix it"},
	} {
		told = append(told, loggedEnd(outcome{Verdict: verdictAllow}, func(r *review) {
			r.ID, r.Seen.Unseen, r.PromptSource, r.NoCopy = string(rune('a'+i)), c.unseen, c.rules, c.noCopy
		}))
	}
	box.timelineOf(testSession, told...)
	const noCopy = "    nothing was run: no copy can be made here (ccc doctor)\n    no copy  x\n    the change is not known: "
	expectCounts(t, "the log", box.ccc("log", testSession), map[string]int{
		"not known: one\n": 2, "not known: two\n": 1, "prompt   ": 2, "prompt   a\n": 2, noCopy: 2, "fix it": 0})
}

// A review that was killed is told when the next one begins, behind what it did.
func TestLogKilled(t *testing.T) {
	box := newLogBox(t)
	killed := began(review{Begun: loggedAt, ID: "k", Iteration: 1, Limit: 10, LastMessage: "I am done.", Deadline: loggedAt})
	read := did(step{Review: "k", Kind: stepCall, Tool: "Read(/p/a)"}).at(loggedAt.Add(4 * time.Minute))
	box.timelineOf(testSession, killed, read, loggedBegin(), loggedEnd(outcome{Verdict: verdictAllow}, nil))
	told := regexp.MustCompile(`(?s)Review 1/10: begins\n    agent .*reading .*` +
		clock(loggedAt.Add(4*time.Minute)) + ` Review 1/10: cancelled\n.*` +
		`Review 1/10: begins\n    agent .*Review 1/10: approved\n`)
	if got := box.ccc("log", testSession); !told.MatchString(got) {
		t.Errorf("the log: got\n%s\nwant a match of %s", got, told)
	}
}

// A prompt that is clearly over 600 characters is cut, what the agent said last at 130 columns.
func TestLogCuts(t *testing.T) {
	box := newLogBox(t)
	for _, c := range []struct {
		prompt, said int
		cut          bool
	}{{700, 130, false}, {701, 131, true}} {
		limit := ended(review{Ended: loggedAt, LastMessage: strings.Repeat("s", c.said), outcome: outcome{Verdict: verdictLimit}})
		prompt := prompted(strings.Repeat("p", c.prompt)).at(loggedAt)
		box.timelineOf(testSession, prompt, limit)
		got := box.ccc("log", testSession)
		expectIs(t, fmt.Sprintf("a prompt of %d is cut", c.prompt), strings.Contains(got, "left out"), c.cut)
		expectIs(t, fmt.Sprintf("words of %d are cut", c.said), strings.Contains(got, "…"), c.cut)
		expectIs(t, fmt.Sprintf("130 of %d are there", c.said), strings.Count(got, "s") >= 130, true)
	}
}

// What a run is told with: where it did not take place why, of a long script and output the ends.
func TestLogRuns(t *testing.T) {
	code := 125
	failed := step{Kind: stepRun, ExitCode: &code, Command: "go test", Output: "\n" + strings.Repeat("x", 700) + "\n"}
	failed.Error, failed.DurationSeconds = "no copy\ncan be made", 1
	const title = "go test → 退出码 125 · 1.0 秒: 建不了副本：no copy can be made\n"
	expectIs(t, "a run that did not take place", ran(failed), title+strings.Repeat("x", 700))
	failed.Output = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"
	expectIs(t, "one with more lines", ran(failed), title+"……（省略 2 行）……\n3\n4\n5\n6\n7\n8\n9\n10")
	code, failed.Error, failed.Output = 124, "ended at the timeout of 1s", ""
	expectIs(t, "one over its time", ran(failed), "go test → 退出码 124 · 1.0 秒: 到了时限，已结束\n")
	script := step{Command: strings.Repeat("a\n", 21) + "b"}
	expectIs(t, "a long script", ran(script),
		strings.Repeat("a\n", 10)+"……（省略 2 行）……\n"+strings.Repeat("a\n", 9)+"b\n→ 退出码 0 · 0.0 秒\n")
}

// A review that was killed is written once, though the next prompt records its end.
func TestLogFollowKilled(t *testing.T) {
	box := newShowBox(t, 80)
	killed := began(review{Begun: ago(time.Hour), ID: "r", Iteration: 1, Limit: 10, Deadline: ago(time.Minute)}).in(box.work)
	box.timelineOf(testSession, killed)
	output, end := follow(t, box, "-f", testSession)
	await(t, output, errUserEnded.zh)
	session := box.stateDir().session(testSession)
	over := ended(review{ID: "r", Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictCancelled, Error: errUserEnded.zh}})
	for _, e := range written(killed, prompted("go on"), over, prompted("and on"))[1:] {
		check(t, session.append(e))
	}
	await(t, output, "and on")
	end(syscall.SIGINT)
	expectIs(t, "how often it is written", strings.Count(output(), errUserEnded.zh), 1)
}
