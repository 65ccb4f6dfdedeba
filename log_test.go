package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Which session is told, from where, and how it says which.
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
	for _, test := range []struct{ args, dir, want, stderr string }{
		{"log", box.work + "/sub", "会话 ab-new（当前项目最新的会话）", ""},
		{"log --", box.work, "会话 ab-new（", ""},
		{"log", "/", "这里还没有受监督的会话", ""},
		{"log aa-o", "/", "会话 aa-old\n", ""},
		{"log --json", box.work, `"prompt":"in ` + box.home, "会话 ab-new（当前项目最新的会话）\n"},
		{"log aa", box.work, "", "ccc: \"aa\" is the beginning of 3 sessions\n     they are: aa-beside, aa-elsewhere, aa-old\n"},
		{"log ../x\x1b[31m", box.work, "", `ccc: no session "../x\x1b[31m"`},
	} {
		cmd := box.command(append([]string{"ccc"}, strings.Fields(test.args)...)...)
		cmd.Dir = test.dir
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Run()
		if (cmd.ProcessState.ExitCode() == 0) != (test.want != "") || !strings.Contains(stdout.String(), test.want) ||
			(test.want == "") != (stdout.Len() == 0) || !strings.HasPrefix(stderr.String(), test.stderr) || (test.stderr == "") != (stderr.Len() == 0) {
			t.Errorf("%s in %q: %v\nstdout %s\nstderr %s", test.args, test.dir, cmd.ProcessState, &stdout, &stderr)
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
	if strings.Contains(output(), "from the first") || strings.Count(raw(), `"verdict"`) != 2 {
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
