package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

var update = flag.Bool("update", false, "write the golden files of testdata/show")

// golden compares got with a file of testdata/show.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata/show", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// newShowBox is a sandbox in UTC and of a terminal's width.
func newShowBox(t *testing.T, columns int) *sandbox {
	box := newHookBox(t)
	box.vars = append(box.vars, "TZ=UTC", fmt.Sprintf("COLUMNS=%d", columns))
	return box
}

// ccc runs ccc and expects exit code 0 and silence on stderr.
func (box *sandbox) ccc(args ...string) string {
	box.t.Helper()
	got := box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
	if got.code != 0 || got.stderr != "" {
		box.t.Errorf("%q: got %+v", args, got)
	}
	return got.stdout
}

// timelineOf writes the timeline of a session: records or, as strings, lines.
func (box *sandbox) timelineOf(session string, entries ...any) {
	var text []byte
	for _, entry := range entries {
		if line, ok := entry.(string); ok {
			text = append(text, line...)
		} else {
			text = append(append(text, encodeJSON(entry)...), '\n')
		}
	}
	box.write(".claude/ccc/supervisor-"+session+"-events.jsonl", 0o600, string(text))
}

func testTimeline(t *testing.T) string {
	text, err := os.ReadFile("testdata/show/timeline.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inLanguages calls show for a wide and a narrow screen in each language.
func inLanguages(show func(columns int, suffix, locale string)) {
	for _, columns := range []int{120, 60} {
		show(columns, "", "LANG=C.UTF-8")
		show(columns, "-en", "LANG=en_US.UTF-8")
	}
}

func TestLogGolden(t *testing.T) {
	inLanguages(func(columns int, suffix, locale string) {
		box := newShowBox(t, columns)
		box.vars = append(box.vars, locale)
		box.timelineOf(testSession, testTimeline(t))
		got := box.ccc("log", testSession)
		golden(t, fmt.Sprintf("log-%d%s.txt", columns, suffix), got)
		expectWidth(t, got, columns)
	})
}

// expectWidth fails the test when a line is wider than columns. It counts in
// its own way: what is not ASCII, dots and dashes aside, takes two.
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
	}
	review := func(at time.Time, project string, verdict verdict, cost float64) record {
		return record{Time: at, Event: eventStop, Project: project, Iteration: 1, Limit: 20, outcome: outcome{Verdict: verdict, CostUSD: cost}}
	}
	state("0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", 3, "")
	box.timelineOf("0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", record{Time: ago(time.Hour), Event: eventPrompt, Project: "/home/you/项目/商城", Prompt: "x"},
		review(ago(50*time.Minute), "/home/you/项目/商城", verdictBlock, 0.1), review(ago(40*time.Minute), "/home/you/项目/商城", verdictFailed, 0.2),
		review(ago(210*time.Second), "/home/you/项目/商城", verdictAllow, 0))
	state("4f1de09a-0000-4c5e-9a35-1f7d7c2e9f10", 20, `,"enabled":true`)
	box.timelineOf("4f1de09a-0000-4c5e-9a35-1f7d7c2e9f10", review(ago(150*time.Minute), "/srv/www", verdictLimit, 0))
	state("4f1de09b-0000-4c5e-9a35-1f7d7c2e9f10", 0, `,"enabled":false`)
	box.timelineOf("4f1de09b-0000-4c5e-9a35-1f7d7c2e9f10", review(ago(60*time.Hour), "/home/you/a/long/path/to/a/project", verdictFailed, 0.00321))
	state("4f1de09c-0000-4c5e-9a35-1f7d7c2e9f10", 0, "")
	return box
}

func TestStatusGolden(t *testing.T) {
	inLanguages(func(columns int, suffix, locale string) {
		box := statusBox(t, columns)
		box.vars = append(box.vars, locale)
		got := box.ccc("status")
		golden(t, fmt.Sprintf("status-%d%s.txt", columns, suffix), got)
		expectWidth(t, got, columns)
	})
}

// Every row's last column begins in the same place on the screen, and where there
// is no room for the project, it has a line of its own.
func TestStatusAligned(t *testing.T) {
	for columns, isTable := range map[int]bool{61: false, 90: true, 200: true} {
		got := statusBox(t, columns).ccc("status")
		table, _, _ := strings.Cut(got, "\n\n")
		expectWidth(t, table, columns)
		rows := strings.Split(strings.TrimSpace(table), "\n")
		starts := map[int]bool{}
		for _, row := range rows {
			starts[displayWidth(row[:strings.LastIndex(row, " ")+1])] = true
		}
		if isTable && (len(rows) != 5 || len(starts) != 1) || !isTable && !strings.Contains(table, "\n  /home/you/项目/商城\n") {
			t.Errorf("at %d columns:\n%s", columns, got)
		}
	}
}

func TestStatusJSON(t *testing.T) {
	box := statusBox(t, 80)
	box.timelineOf("html", record{Time: ago(0), Event: eventStop, Project: "/a<&>b", outcome: outcome{Verdict: verdictBlock, Tokens: &tokens{1, 2, 3, 4}}})
	got := box.ccc("status", "--json")
	var sessions []map[string]any
	if err := json.Unmarshal([]byte(got), &sessions); err != nil || len(sessions) != 5 {
		t.Fatalf("%v: %s", err, got)
	}
	if !strings.Contains(got, `"project":"/a<&>b"`) {
		t.Errorf("escaped: %s", got)
	}
	for i, session := range []string{"html", "0b6c3a52", "4f1de09a", "4f1de09b", "4f1de09c"} {
		if id := sessions[i]["session_id"].(string); !strings.HasPrefix(id, session) {
			t.Errorf("session %d is %s, want %s", i, id, session)
		}
	}
	one := sessions[1]
	delete(one, "updated_at")
	delete(one, "verdict_at")
	want := map[string]any{"session_id": "0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10", "project": "/home/you/项目/商城", "mode": "on", "count": 3.0,
		"max_iterations": 20.0, "verdict": "allow", "reviews": 3.0, "failed_reviews": 1.0, "cost_usd": 0.3,
		"tokens": map[string]any{"input_tokens": 0.0, "cache_read_input_tokens": 0.0, "cache_creation_input_tokens": 0.0, "output_tokens": 0.0}}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("got %v\nwant %v", one, want)
	}
	if sessions[2]["mode"] != "on" || sessions[3]["mode"] != "off" || sessions[4]["verdict_at"] != nil || sessions[4]["max_iterations"] != 10.0 {
		t.Errorf("got %v", sessions)
	}
}

func TestShowNothing(t *testing.T) {
	box := newShowBox(t, 80)
	for _, command := range []string{"status", "log"} {
		if got := box.ccc(command); !strings.Contains(got, "还没有受监督的会话") || !strings.Contains(got, "ccc --supervisor") {
			t.Errorf("%s: %s", command, got)
		}
	}
	if got := box.ccc("status", "--json") + box.ccc("log", "--json"); got != "[]\n" {
		t.Errorf("JSON %q", got)
	}
	box.write(".claude/ccc/supervisor-abc.json", 0o600, stateText("abc", 0, `,"enabled":true`))
	if got := box.ccc("log", "a"); !strings.Contains(got, "会话 abc") || !strings.Contains(got, "还没有记录") {
		t.Errorf("a session without records: %s", got)
	}
	if files := box.files(); len(files) != 1 {
		t.Errorf("looking wrote files: %q", files)
	}
}

func TestLogSession(t *testing.T) {
	box := newShowBox(t, 100)
	at := func(project string, age time.Duration) record {
		return record{Time: ago(age), Event: eventPrompt, Project: project, Prompt: "in " + project}
	}
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	os.Symlink(box.work, filepath.Join(box.home, "link"))
	box.timelineOf("aa-elsewhere", at("/elsewhere", 0))
	box.timelineOf("aa-beside", at(box.work[:len(box.work)-1], time.Minute))
	box.timelineOf("aa-old", at(box.work, time.Hour))
	box.timelineOf("ab-new", at(filepath.Join(box.home, "link"), 30*time.Minute))
	tests := []struct {
		args, dir, want, stderr string
	}{
		{"log", "sub", "会话 ab-new（当前项目最新的会话）", ""},
		{"log", "", "会话 ab-new（", ""},
		{"log", "/", "会话 aa-elsewhere（当前目录没有会话", ""},
		{"log aa-o", "", "会话 aa-old\n", ""},
		{"log aa-old", "", "会话 aa-old\n", ""},
		{"log --json", "", `"prompt":"in ` + box.home, "会话 ab-new（当前项目最新的会话）\n"},
		{"log aa", "", "",
			"ccc: \"aa\" is the beginning of 3 sessions\n     they are: aa-beside, aa-elsewhere, aa-old\n"},
		{"log zz", "", "", "ccc: no session \"zz\"\n     there are: aa-beside, aa-elsewhere, aa-old, ab-new\n"},
		{"log ../x\x1b[31m", "", "", `ccc: no session "../x\x1b[31m"`},
		{"log --", "", "会话 ab-new", ""},
	}
	for _, test := range tests {
		cmd := box.command(append([]string{"ccc"}, strings.Fields(test.args)...)...)
		cmd.Dir = filepath.Join(box.work, test.dir)
		if test.dir == "/" {
			cmd.Dir = "/"
		}
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != map[bool]int{true: 1}[test.want == ""] || !strings.Contains(stdout.String(), test.want) ||
			(test.want == "") != (stdout.Len() == 0) || !strings.HasPrefix(stderr.String(), test.stderr) || (test.stderr == "") != (stderr.Len() == 0) {
			t.Errorf("%s in %q: exit %d\nstdout %s\nstderr %s", test.args, test.dir, code, &stdout, &stderr)
		}
	}
	if got := box.run(10*time.Second, "", "ccc", "log", ""); got.code != 1 || got.stdout != "" {
		t.Errorf("an empty id: %+v", got)
	}
}

// No byte of a file reaches the screen as a control character.
func TestShowEscapes(t *testing.T) {
	const evil = "\x1b[31m\x1b]0;title\a\u009b2J\r\b\x7f\u202e"
	box := newShowBox(t, 60)
	tools := []string{"Bash(" + evil + ")", "Read(" + evil + ")", strings.Repeat("x", 100) + evil}
	box.timelineOf(testSession, record{Time: ago(0), Event: eventPrompt, Project: "/p\n" + evil, Prompt: "prompt" + evil},
		record{Time: ago(0), Event: "Stop" + evil, Project: "/p\n" + evil, outcome: outcome{Verdict: "odd" + evil, Feedback: "feedback" + evil, Error: "error" + evil, Tools: tools}})
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	line := box.run(10*time.Second, `{"session_id":"`+testSession+`"}`, "ccc", "statusline")
	log := box.ccc("log")
	for name, got := range map[string]string{"log": log, "status": box.ccc("status"), "statusline": line.stdout} {
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e) }); i >= 0 || got == "" {
			t.Errorf("%s: %q at %d", name, got, i)
		}
	}
	for _, want := range []string{"prompt␛[31m", "feedback␛[31m", "error␛[31m", "Bash(␛[31m"} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %q:\n%s", want, log)
		}
	}
}

func TestLogBroken(t *testing.T) {
	box := newShowBox(t, 80)
	whole := string(encodeJSON(record{Time: ago(0), Event: eventStop, Project: box.work, Iteration: 1, Limit: 10, outcome: outcome{Verdict: verdictBlock, Feedback: "a <b> \"c\" \\", CostUSD: 0.5}}))
	box.timelineOf(testSession, whole+"\n", whole[:len(whole)/2]+"\n", "\n", "garbage\n", "3\n", "[]\n", "null\n", "{}\n", "\x00\x00\n", whole[:30], whole+"\n",
		strings.ReplaceAll(whole, `,"`, ` , "`)+"\r\n", whole) // written by others, and without newline
	if got := box.ccc("log"); strings.Count(got, "审查 1/10 退回") != 3 || strings.Count(got, `反馈 a <b> "c" \`+"\n") != 3 {
		t.Errorf("log %s", got)
	}
	got := box.run(10*time.Second, "", "ccc", "log", "--json", testSession).stdout
	if strings.Count(got, "\n") != 3 || !strings.HasPrefix(got, `{"session_id":"`+testSession+`",`+whole[1:]+"\n") {
		t.Errorf("json %s", got)
	}
	if got := box.ccc("status", "--json"); !strings.Contains(got, `"reviews":3,`) || !strings.Contains(got, `"cost_usd":1.5,`) {
		t.Errorf("status %s", got)
	}
	// A state that can't be read is told, and hides nothing.
	box.write(statePath, 0o600, "{")
	box.timelineOf("other", whole)
	if got := box.run(10*time.Second, "", "ccc", "status"); got.code != 0 || !strings.Contains(got.stderr, "supervisor-"+testSession+".json: ") || strings.Count(got.stdout, "退回") != 2 {
		t.Errorf("corrupt state: %+v", got)
	}
}

// follow starts ccc log with args and returns what it has written so far, and
// the function that sends it a signal and returns its exit code.
func follow(t *testing.T, box *sandbox, args ...string) (output func() string, end func(syscall.Signal) int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := box.command(append([]string{"ccc", "log"}, args...)...)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string { text, _ := os.ReadFile(path); return string(text) },
		func(s syscall.Signal) int { cmd.Process.Signal(s); cmd.Wait(); return cmd.ProcessState.ExitCode() }
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

// runningReview shows a step and waits for the file go before it goes on.
var runningReview = fakeReview{
	calls("Bash", `{"command":"git diff"}`, ""),
	says("I look at the tests."),
	runs(`until [ -f "$FAKE_CLAUDE_DIR/go" ]; do sleep 0.02; done`),
	calls("Read", `{"file_path":"a_test.go"}`, ""),
	decides(false, "not yet"),
}

// hookAsync runs the hook for an event, beside the test.
func hookAsync(box *sandbox, event string) (done chan commandResult) {
	done = make(chan commandResult, 1)
	go func() { done <- box.hook(event) }()
	return done
}

// A reader who is there before the first session sees a review as it goes.
func TestLogFollow(t *testing.T) {
	t.Parallel()
	box := newShowBox(t, 80)
	box.reviews(runningReview)
	output, end := follow(t, box, "-f")
	await(t, output, "等待第一个会话")
	box.submit("mend it")
	await(t, output, "用户\n    mend it\n")
	done := hookAsync(box, box.event("Stop", ""))
	await(t, output, "审查进行中……\n    · Bash(git diff)\n    I look at the tests.\n")
	if strings.Contains(output(), "not yet") {
		t.Errorf("the verdict before the review: %s", output())
	}
	box.write("../fake/go", 0o600, "")
	await(t, output, "反馈 not yet\n")
	<-done
	if code := end(syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d after SIGINT", code)
	}
	got := output()
	if strings.Count(got, "mend it") != 1 || strings.Count(got, "反馈 not yet") != 1 || strings.Count(got, "审查进行中") != 1 || strings.Count(got, "· Bash(git diff)\n") != 1 ||
		strings.Index(got, "· Read(a_test.go)") > strings.Index(got, "审查 1/10") || strings.Contains(got, "StructuredOutput") {
		t.Errorf("got %s", got)
	}
}

// One who comes in the middle of a review sees its steps so far, and none of
// the reviews before it.
func TestLogFollowRunning(t *testing.T) {
	box := newShowBox(t, 80)
	box.reviews(fakeReview{says("from the first"), decides(false, "first")}, runningReview)
	box.stop("")
	output, end := follow(t, box, "-f", testSession[:4])
	await(t, output, "反馈 first\n")
	if code := end(syscall.SIGTERM); code != 0 || strings.Contains(output(), "审查进行中") {
		t.Errorf("exit code %d, no review runs: %s", code, output())
	}
	done := hookAsync(box, box.event("Stop", ""))
	outputFile := func() string { return box.read(outputPath) }
	await(t, outputFile, "I look at the tests.")
	output, end = follow(t, box, "-f", testSession)
	await(t, output, "反馈 first\n\n审查进行中……\n    · Bash(git diff)\n    I look at the tests.\n")
	raw, endRaw := follow(t, box, "-f", "--json", testSession)
	await(t, raw, `"feedback":"first"`)
	box.write("../fake/go", 0o600, "")
	await(t, output, "反馈 not yet\n")
	await(t, raw, `"feedback":"not yet"`)
	<-done
	end(syscall.SIGTERM)
	endRaw(syscall.SIGTERM)
	if strings.Contains(output(), "from the first") || strings.Count(raw(), "\n") != 2 {
		t.Errorf("got %s\nraw %s", output(), raw())
	}
}

// Without a session named, -f goes over to one that begins in the project, once, and says so; one that begins elsewhere,
// or goes on, is passed over. The records of --json say whose they are.
func TestLogFollowOver(t *testing.T) {
	t.Parallel()
	box := newShowBox(t, 80)
	at := func(project, prompt string) record {
		return record{Time: ago(0), Event: eventPrompt, Project: project, Prompt: prompt}
	}
	box.timelineOf("earlier", at(box.work, "an earlier one"))
	box.write(".claude/ccc/supervisor-earlier.json", 0o600, stateText("earlier", 0, ""))
	box.timelineOf("present", record{Time: ago(-time.Second), Event: eventPrompt, Project: box.work, Prompt: "the present one"})
	output, end := follow(t, box, "-f")
	raw, endRaw := follow(t, box, "-f", "--json")
	named, endNamed := follow(t, box, "-f", "present")
	for _, got := range []func() string{output, raw, named} {
		await(t, got, "the present one")
	}
	box.write(".claude/ccc/supervisor-new.json", 0o600, stateText("new", 0, "")) // it has no project yet
	box.timelineOf("elsewhere", at("/elsewhere", "far away"))
	box.timelineOf("earlier", at(box.work, "an earlier one"), at(box.work, "goes on"))
	time.Sleep(3 * pollInterval)
	first := at(box.work, "after /clear")
	box.timelineOf("new", first)
	await(t, output, "the present one\n\n会话 new（当前项目新开始的会话）\n\n── ")
	await(t, output, "用户\n    after /clear\n")
	await(t, raw, "会话 new（当前项目新开始的会话）\n{\"session_id\":\"new\",\"time\":")
	box.timelineOf("new", first, at(box.work, "and more"))
	await(t, output, "and more")
	await(t, raw, "and more")
	time.Sleep(2 * pollInterval)
	for _, end := range []func(syscall.Signal) int{end, endRaw, endNamed} {
		if code := end(syscall.SIGINT); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	for _, got := range []string{output(), raw(), named()} {
		if strings.Contains(got, "far away") || strings.Contains(got, "goes on") || strings.Count(got, "会话 new") > 1 || strings.Count(got, "after /clear") > 1 {
			t.Errorf("got %s", got)
		}
	}
	if strings.Contains(named(), "clear") || strings.Count(raw(), `{"session_id":"present",`) != 1 {
		t.Errorf("named %s\nraw %s", named(), raw())
	}
}

// What a switch and a review leave in the timeline shows in the log: who switched, what the reviewer went by, and that
// this was changed meanwhile.
func TestLogTellsSwitch(t *testing.T) {
	box := newShowBox(t, 120)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	box.write(".claude/SUPERVISOR.md", 0o600, "be strict")
	box.submit("fix it")
	box.write(".claude/SUPERVISOR.md", 0o600, "allow everything")
	box.stop("")
	box.submit("/supervisor off")
	box.ccc("supervisor-mode", "on", testSession)
	box.vars = append(box.vars, toolMark)
	box.write(".claude/ccc/client-"+selfName()+".json", 0o600, "") // the test is a client, whose tool runs the command
	box.ccc("supervisor-mode", "on", testSession)
	got := box.ccc("log", testSession)
	for _, want := range []string{
		"\n    依据 " + box.home + "/.claude/SUPERVISOR.md（请求提交之后改动过",
		" 监督已关闭\n    来自 用户（/supervisor）\n",
		" 监督已打开\n    来自 会话之外（ccc supervisor-mode）\n",
		" 监督已打开\n    来自 Agent（ccc supervisor-mode）\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "用户\n") != 1 {
		t.Errorf("a switch shows as a prompt:\n%s", got)
	}
}

// A review that sends much anew is told, once, how much of it keep_cache would have taken from the agent's cache: all but
// the prompt of its first request.
func TestLogCacheAdvice(t *testing.T) {
	review := func(input, written, first int, settled bool) record {
		return record{Time: now(), Event: eventStop, Iteration: 1, Limit: 10, CacheSettled: settled,
			outcome: outcome{Verdict: verdictAllow, FirstFresh: first, Tokens: &tokens{Input: input, CacheWrite: written, CacheRead: 70_000, Output: 5}}}
	}
	for _, test := range []struct {
		name    string
		reviews []any
		want    []string // about how many tokens of how many
	}{
		{"at the limit", []any{review(20_000, 30_000, 50_000, false)}, nil},
		{"over it", []any{review(20_000, 30_001, 45_000, false)}, []string{"36,000 of these 50,001"}},
		{"all in one member", []any{review(60_000, 0, 60_000, false)}, []string{"51,000 of these 60,000"}},
		{"the sum alone", []any{review(100, 99_900, 0, false)}, []string{"91,000 of these 100,000"}},
		{"what was read is new in any case", []any{review(100, 99_900, 9_000, false)}, nil},
		{"settled", []any{review(100, 99_900, 99_000, true)}, nil},
		{"once", []any{review(0, 1, 1, false), review(0, 59_000, 59_000, false), review(0, 89_000, 89_000, false)},
			[]string{"50,000 of these 59,000"}},
	} {
		box := newShowBox(t, 250)
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		box.timelineOf(testSession, test.reviews...)
		var got []string
		for _, match := range regexp.MustCompile(`keep_cache": true in ccc.json about (.*) new tokens`).FindAllStringSubmatch(box.ccc("log", testSession), -1) {
			got = append(got, match[1])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// What ccc log says of the cache is known from the review.
func TestReviewTellsOfCache(t *testing.T) {
	t.Parallel()
	for supervisor, settled := range map[string]bool{
		`{"model": ""}`: false, `{"keep_cache": true}`: true, `{"model": "opus"}`: true, `{"provider": "kimi"}`: true,
	} {
		box := newHookBox(t)
		box.write(".claude/ccc.json", 0o600, `{"supervisor": `+supervisor+`, "providers": {"kimi": {"env": {"ANTHROPIC_AUTH_TOKEN": "x"}}}}`)
		box.stop("")
		got := box.timeline(testSession)
		if len(got) != 1 || got[0].CacheSettled != settled || got[0].FirstFresh != 352 || got[0].Tokens.fresh() <= 352 {
			t.Errorf("%s: %+v", supervisor, got)
		}
	}
}

// What became of the last stop since the last prompt.
func TestVerdictCommand(t *testing.T) {
	prompt := record{Event: eventPrompt, Prompt: "x"}
	event := func(name string, verdict verdict, iteration int) record {
		return record{Event: name, Iteration: iteration, outcome: outcome{Verdict: verdict}}
	}
	stop := func(verdict verdict, iteration int) record { return event(eventStop, verdict, iteration) }
	question := func(verdict verdict, iteration int) record { return event(eventPreToolUse, verdict, iteration) }
	off := record{Event: eventSwitch, Mode: "off"}
	tests := []struct {
		name    string
		count   int // of the state; -1: there is none
		records []any
		want    string
		code    int
	}{
		{"allow", 1, []any{prompt, stop(verdictAllow, 1)}, "allow", 0},
		{"block", 1, []any{prompt, stop(verdictBlock, 1)}, "block", 1},
		{"failed", 2, []any{prompt, stop(verdictBlock, 1), stop(verdictFailed, 2)}, "failed", 1},
		{"failed_uncounted", 1, []any{prompt, stop(verdictAllow, 1), stop(verdictFailed, 0)}, "failed", 1},
		{"limit", 1, []any{prompt, stop(verdictBlock, 1), stop(verdictLimit, 0)}, "limit", 1},
		{"unknown_verdict", 1, []any{prompt, stop("odd", 1)}, "odd", 1},
		{"prompt_since", 0, []any{prompt, stop(verdictAllow, 1), prompt}, "none", 3},
		{"no_stop", 0, []any{prompt}, "none", 3},
		{"no_record", 0, nil, "none", 3},
		{"question_since", 2, []any{prompt, stop(verdictBlock, 1), question(verdictAllow, 2)}, "block", 1},
		{"question_only", 1, []any{prompt, question(verdictAllow, 1)}, "none", 3},
		{"under_review", 2, []any{prompt, stop(verdictAllow, 1)}, "none", 3},
		{"under_review_of_another_request", 1, []any{prompt, stop(verdictBlock, 1), stop(verdictBlock, 2)}, "none", 3},
		{"switched_off_since", 1, []any{prompt, stop(verdictAllow, 1), off}, "none", 3},
		{"switched_off_meanwhile", 1, []any{prompt, off, stop(verdictFailed, 1)}, "failed", 1},
		{"without_state", -1, []any{prompt, stop(verdictAllow, 1)}, "allow", 0},
		{"half_written", 1, []any{prompt, stop(verdictAllow, 1), `{"event":"Stop","verd`}, "allow", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newShowBox(t, 80)
			box.timelineOf(testSession, test.records...)
			if test.count >= 0 {
				box.write(statePath, 0o600, stateText(testSession, test.count, ""))
			}
			got := box.run(10*time.Second, "", "ccc", "verdict", testSession[:6])
			if got.code != test.code || got.stdout != test.want+"\n" || got.stderr != "" {
				t.Errorf("got %+v, want %s and exit %d", got, test.want, test.code)
			}
		})
	}
}

// Without a session the newest of the project counts, never another project's.
func TestVerdictCommandSession(t *testing.T) {
	box := newShowBox(t, 80)
	expect := func(args, stdout, stderr string, code int) {
		t.Helper()
		got := box.run(10*time.Second, "", append([]string{"ccc", "verdict"}, strings.Fields(args)...)...)
		if got.code != code || got.stdout != stdout || !strings.HasPrefix(got.stderr, stderr) || (stderr == "") != (got.stderr == "") {
			t.Errorf("verdict %s: %+v", args, got)
		}
	}
	expect("", "", "ccc: no session of this project\n", 2)
	expect("nobody", "", "ccc: no session \"nobody\"\n     there are: none\n", 2)
	stop := func(project string, age time.Duration, verdict verdict) record {
		return record{Time: ago(age), Event: eventStop, Project: project, outcome: outcome{Verdict: verdict}}
	}
	box.timelineOf("aa-elsewhere", stop("/elsewhere", 0, verdictAllow))
	expect("", "", "ccc: no session of this project\n", 2)
	expect("aa-elsewhere", "allow\n", "", 0)
	if got := box.run(10*time.Second, "", "ccc", "verdict", ""); got.code != 2 || !strings.HasPrefix(got.stderr, "ccc: no session \"\"\n") {
		t.Errorf("verdict of a session without a name: %+v", got)
	}
	box.timelineOf("aa-old", stop(box.work, time.Hour, verdictAllow))
	box.timelineOf("new", stop(box.work, time.Minute, verdictBlock))
	expect("", "block\n", "", 1)
	expect("aa-o", "allow\n", "", 0)
	expect("aa", "", "ccc: \"aa\" is the beginning of 2 sessions\n", 2)
	box.timelineOf("aa-older", stop(box.work, time.Hour, verdictBlock))
	expect("aa-old", "allow\n", "", 0) // the whole name of one, the beginning of another
	expect("a b", "", "ccc: verdict: unexpected argument", 2)
}

// As in a script, with a session that has just ended, and during its review.
func TestVerdictCommandInScript(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.reviews(blocks("not yet"), allows(""))
	if got := box.run(60*time.Second, "", "sh", "-c", `ccc --supervisor -p "fix it" >/dev/null 2>&1 && ccc verdict`); got.code != 0 || got.stdout != "allow\n" {
		t.Errorf("got %+v", got)
	}
	box.reviews(fails("API Error: overloaded"))
	if got := box.run(60*time.Second, "", "sh", "-c", `ccc --supervisor -p "fix it" >/dev/null 2>&1 && ccc verdict`); got.code != 1 || got.stdout != "failed\n" {
		t.Errorf("got %+v", got)
	}
	running := newShowBox(t, 80)
	running.vars = append(running.vars, "CCC_SUPERVISOR=1")
	running.reviews(blocks("not yet"), runningReview)
	running.submit("fix it")
	running.stop("")
	done := hookAsync(running, running.event(eventStop, ""))
	await(t, func() string { return running.read(outputPath) }, "I look at the tests.")
	if got := running.run(10*time.Second, "", "ccc", "verdict"); got.code != 3 || got.stdout != "none\n" {
		t.Errorf("during a review: %+v", got)
	}
	running.write("../fake/go", 0o600, "")
	<-done
	if got := running.run(10*time.Second, "", "ccc", "verdict"); got.code != 1 || got.stdout != "block\n" {
		t.Errorf("after it: %+v", got)
	}
}

// A record that is half written waits for its other half.
func TestLogFollowPartial(t *testing.T) {
	t.Parallel()
	box := newShowBox(t, 80)
	box.timelineOf(testSession, record{Time: ago(0), Event: eventPrompt, Prompt: "first"})
	output, end := follow(t, box, "-f", testSession)
	await(t, output, "first")
	file, err := openAppend(filepath.Join(box.home, eventsPath))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := string(encodeJSON(record{Time: ago(0), Event: eventPrompt, Prompt: "second"})) + "\n"
	file.WriteString("broken\n" + line[:40])
	time.Sleep(2 * pollInterval)
	file.WriteString(line[40:])
	await(t, output, "second")
	if code := end(syscall.SIGINT); code != 0 || strings.Count(output(), "用户") != 2 {
		t.Errorf("exit code %d: %s", code, output())
	}
}

func TestStatusline(t *testing.T) {
	review := func(age time.Duration, verdict verdict, cost float64) record {
		return record{Time: ago(age), Event: eventStop, Project: "/p", Iteration: 2, Limit: 20, outcome: outcome{Verdict: verdict, CostUSD: cost}}
	}
	state := func(members string) string { return stateText(testSession, 2, members) }
	const known = `{"session_id":"` + testSession + `","model":{"display_name":"m"},"workspace":{"current_dir":"/p"},"new":[1]}`
	tests := []struct {
		name, stdin, vars, state string
		timeline                 []any
		want, stderr             string
	}{
		{"blocked", known, "CCC_SUPERVISOR=1", state(""),
			[]any{review(time.Hour, verdictAllow, 0.02), review(210*time.Second, verdictBlock, 0.1)},
			"监督中 2/20 · 上次：退回 3 分钟前 · $0.12\n", ""},
		{"failed", known, "CCC_SUPERVISOR=1", state(""),
			[]any{review(time.Second, verdictFailed, 0)}, "监督中 2/20 · 上次：失败 刚刚\n", ""},
		{"new", known, "CCC_SUPERVISOR=1", "", nil, "监督中 0/10\n", ""},
		{"switched_on", known, "CCC_SUPERVISOR=0", state(`,"enabled":true`), nil, "监督中 2/10\n", ""},
		{"switched_off", known, "CCC_SUPERVISOR=1", state(`,"enabled":false`),
			[]any{review(0, verdictBlock, 1)}, "监督已关闭\n", ""},
		{"unsupervised", known, "", state(""), []any{review(0, verdictBlock, 1)}, "", ""},
		{"long", known, "CCC_SUPERVISOR=1", state(""),
			[]any{review(time.Hour, verdictBlock, 5), strings.Repeat("x", 2<<20) + "\n", review(time.Hour, verdictBlock, 1)},
			"监督中 2/20 · 上次：退回 1 小时前 · $6.00\n", ""},
		{"state_corrupt", known, "CCC_SUPERVISOR=1", "{", nil, "监督中 0/10\n", "ccc: "},
		{"empty", "", "CCC_SUPERVISOR=1", "", nil, "", "ccc: reading Claude Code's status: EOF\n"},
		{"not_json", "hello", "CCC_SUPERVISOR=1", "",
			nil, "", "ccc: reading Claude Code's status: invalid character 'h'"},
		{"no_session", "{}", "CCC_SUPERVISOR=1", "",
			nil, "", "ccc: reading Claude Code's status: it has no session_id\n"},
		{"path", `{"session_id":"../x"}`, "CCC_SUPERVISOR=1", "", nil, "", "ccc: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newShowBox(t, 80)
			box.vars = append(box.vars, strings.Fields(test.vars)...)
			if test.state != "" {
				box.write(statePath, 0o600, test.state)
			}
			if test.timeline != nil {
				box.timelineOf(testSession, test.timeline...)
			}
			got := box.run(10*time.Second, test.stdin, "ccc", "statusline")
			if got.code != 0 || got.stdout != test.want || !strings.HasPrefix(got.stderr, test.stderr) ||
				strings.Count(got.stderr, "\n") != map[bool]int{false: 1}[test.stderr == ""] {
				t.Errorf("got %+v, want %q, stderr %q", got, test.want, test.stderr)
			}
		})
	}
}

// Colours are for terminals, and for those who want them.
func TestShowColours(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the numbers that open a terminal are Linux's")
	}
	for vars, want := range map[string]bool{"": true, "NO_COLOR=": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(vars)...)
		box.timelineOf(testSession, testTimeline(t))
		for _, command := range []string{"status", "log"} {
			got := onTerminal(t, box.command("ccc", command), 50)
			if strings.Contains(got, "\x1b[33m退回") != (want && command == "log") || strings.Contains(got, "\x1b") != want {
				t.Errorf("%s, %s: %q", vars, command, got)
			}
			expectWidth(t, strings.NewReplacer("\r", "", "\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "").Replace(got), 53)
		}
	}
}

// openTerminal opens a pseudo-terminal, on Linux: the side of whoever types, and the other.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	const tiocgptn, tiocsptlck = 0x80045430, 0x40045431
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	var number, lock uint32
	size := [4]uint16{24, columns}
	for request, argument := range map[uintptr]unsafe.Pointer{tiocgptn: unsafe.Pointer(&number), tiocsptlck: unsafe.Pointer(&lock), syscall.TIOCSWINSZ: unsafe.Pointer(&size)} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument)); errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// onTerminal runs cmd on a terminal of so many columns and returns what it
// writes there.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns uint16) string {
	t.Helper()
	master, terminal := openTerminal(t, columns)
	cmd.Stdout = terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var output bytes.Buffer
	output.ReadFrom(master) // ends with an error when the last writer has closed
	cmd.Wait()
	return output.String()
}

// A newest session that can't be read is not passed over for an older one's approval.
func TestVerdictUnreadable(t *testing.T) {
	box := newShowBox(t, 80)
	box.timelineOf("older", record{Time: ago(time.Hour), Event: eventStop, Project: box.work, outcome: outcome{Verdict: verdictAllow}})
	box.write(".claude/ccc/supervisor-newest.json", 0o600, strings.ReplaceAll(stateText("newest", 1, ""), "2026-01-02T03:04:05Z", now().Format(time.RFC3339)))
	box.write(".claude/ccc/supervisor-newest-events.jsonl/x", 0o600, "") // a directory in the place of the file
	if got := box.run(10*time.Second, "", "ccc", "verdict"); got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, "session newest may be the newest") {
		t.Errorf("%+v", got)
	}
}
