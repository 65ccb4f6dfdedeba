package main

// What breaks, breaks for real here: no mock of the file system. docs/faults.md
// lists every fault with its test; TestReliabilityListed keeps it complete.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Without a count nothing but Claude Code's flag bounds a loop, which of another type counts as set, and
// nothing the loop of a question.
func TestFaultStateDirectoryInPlace(t *testing.T) {
	box := newHookBox(t)
	box.write(statePath+"/x", 0o600, "")
	expectEnd(t, "a question", box.hook(box.event(eventPreToolUse, asked)), 0, "", errNoCount.Error())
	expectEnd(t, "a stop in a loop", box.stop(`"stop_hook_active":"no"`), 0, "", errNoCount.Error())
	expectIs(t, "the reviews", box.calls("reviewer"), 0)
	expectEnd(t, "a stop", box.stop(""), 0, blockNotYet, "counting the iteration")
}

// The lock held by a process that is stopped does not hold a hook for long.
func TestFaultLockHeld(t *testing.T) {
	box := newHookBox(t)
	box.stop("")
	unlock, err := lockFile(filepath.Join(box.home, ".claude/ccc/state.lock"))
	check(t, err)
	defer unlock()
	got := box.stop("")
	expectEnd(t, "a stop", got, 0, blockNotYet, "locking")
	expectIs(t, fmt.Sprint("it took long: ", got.took), got.took > lockPatience+10*time.Second, false)
}

// Output, timeline and log that can't be written cost no decision, and the count bounds the loop.
func TestFaultOutputUnwritable(t *testing.T) {
	box := newHookBox(t)
	for _, name := range []string{outputPath, eventsPath, logPath} {
		box.write(name+"/x", 0o600, "")
	}
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	got := box.stop("")
	expectEnd(t, "the stop", got, 0, blockNotYet, "[SUPERVISOR] 任务未完成\nnot yet\n")
	expectIn(t, "stderr", got.stderr, "opening the reviewer's output", "writing the timeline")
	expectIs(t, "lines about the log", strings.Count(got.stderr, "writing the log"), 1)
	expectIs(t, "the next stop, at the limit", box.stop(inTurn).stdout, "")
}

// In the session the user reads what could not be recorded of a review, whatever that came to: stderr of a
// hook is not shown there.
func TestFaultUnrecordedInSession(t *testing.T) {
	for _, v := range []verdict{verdictAllow, verdictBlock, verdictFailed, verdictLimit} {
		r := newReview(eventStop)
		r.Verdict, r.lost = v, errNoCount
		expectIn(t, string(v), string(encodeJSON(r.decide(true))), say(notRecorded, errNoCount))
	}
	request := strings.TrimSuffix(eventsPath, "events.jsonl") + "request.md"
	for fault, want := range map[string]string{ // by the line that makes it before the stop, or in the review
		":":                             "",
		"mkdir " + outputPath:           outputPath + ": is a directory",
		"mkdir " + eventsPath:           eventsPath + ": is a directory",
		"ln -s /dev/full " + outputPath: "no space left on device",
		"rm " + statePath + " && mkdir " + statePath: statePath,
		"mkdir " + statePath:                         statePath,
		"mkdir -p " + request + "/x":                 request + ": is a directory",
	} {
		box := newHookBox(t)
		box.inSession()
		box.run(10*time.Second, "", "sh", "-c", "cd; mkdir -p .claude/ccc; "+fault)
		isEnd := fault != "mkdir "+statePath // only an end of the request is a second count
		box.reviews(fakeReview{runs("(cd; " + fault + ") 2>&-"), decides(isEnd, "")})
		got := box.stop("").stdout
		expectIs(t, fault+": it is said", strings.Contains(got, "没能完整记录下来："), want != "")
		expectIn(t, fault, got, want)
	}
}

// Launches at once wait for each other: each writes a SUPERVISOR.md of its own, and settings of its own for
// the hooks, and the record has all of these files.
func TestFaultManyLaunches(t *testing.T) {
	box := newFakeBox(t)
	box.setSettings("{\n  \"mine\": 1\n}\n")
	const launches = 16
	results := make(chan commandResult, launches)
	for n := range launches {
		own := *box
		dir := fmt.Sprint(n)
		own.vars = append(slices.Clone(box.vars), "CCC_CONFIG_DIR="+box.home+"/"+dir, "TMPDIR=/none")
		own.write(dir+"/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{"timeout_seconds":%d}}`, 1000+n))
		go func() { results <- own.run(120*time.Second, "", "ccc", "--supervisor") }()
	}
	for range launches {
		// One that finds the hooks of another after its trial, with their own timeout, is refused.
		if got := <-results; got.code != 0 {
			expectIn(t, "a launch that is refused", got.stderr, "removed ccc's part from ")
		}
	}
	record := box.read(".claude/.ccc-installed.json")
	for n := range launches {
		expectIn(t, "the record", record, fmt.Sprintf("%q:", fmt.Sprintf("%s/%d/SUPERVISOR.md", box.home, n)))
	}
	text := box.read(".claude/settings.json")
	expectCounts(t, "settings.json", text, map[string]int{"supervisor-hook": 4, "\"mine\": 1": 1})
	expectIs(t, "it is JSON", json.Valid([]byte(text)), true)
}

// Whatever the reviewer does to its streams, the hook decides as it should and stays below 64 MB. Linux
// counts what the test itself had at the hook's start, too: so this runs alone, and before tests that take
// much.
func TestFaultReviewer(t *testing.T) {
	const result = `printf '%s\n' '{"type":"result","subtype":"success",` +
		`"result":"{\"allow_stop\":false,\"feedback\":\"not yet\"}"}'`
	flood, large := "100000000", "10000000"
	if raceEnabled { // which counts no memory, and reads so slowly that the patience with a pipe would end
		flood, large = "40000000", "1000000"
		beside(t)
	}
	tests := []struct{ name, script, stdout, stderr string }{
		{"exits_before_output", "exit 1", "", errNoResult.Error() + "（exit status 1）"},
		{"dies_in_mid_line", `printf '{"type":"result","subtype":"succ'; kill -9 $$`, "", "dropped a line"},
		{"never_reads_stdin", result, blockNotYet, ""},
		{"closes_stdout_early", result + "; exec >&-; sleep 0.2", blockNotYet, ""},
		{"pipes_held_by_child", result + "; sleep 100 & exit 0", blockNotYet, ""},
		{"floods_stderr", "head -c " + flood + " /dev/zero | tr '\\0' x >&2\n" + result, blockNotYet, ""},
		{"floods_stdout", "head -c " + flood + " /dev/zero | tr '\\0' x; echo\n" + result, blockNotYet,
			"over 32 MiB"},
		{"nul_bad_utf8", `printf '\0\377\n{"type":"\377"}\n'` + "\n" + result, blockNotYet, "dropped a line"},
		{"large_lines",
			`for i in 1 2 3 4 5; do printf '{"type":"user","text":"'; head -c ` + large +
				` /dev/zero | tr '\0' x; printf '"}\n'; done` + "\n" + result,
			blockNotYet, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !raceEnabled {
				alone(t)
			}
			box := newHookBox(t)
			box.claudeIs(test.script)
			cmd, event := box.command("ccc", "supervisor-hook"), box.event(eventStop, "")
			if test.name == "never_reads_stdin" { // more than a pipe holds
				event = box.event(eventStop, `"last_assistant_message":"`+strings.Repeat("x", 300000)+`"`)
			}
			cmd.Stdin = strings.NewReader(event)
			got := box.finish(cmd, time.Minute)
			expectIs(t, "the exit code", got.code, 0)
			expectIs(t, "stdout", got.stdout, test.stdout)
			expectIn(t, "stderr", got.stderr, test.stderr)
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if kib := usage.Maxrss; kib > 64*1024 && !raceEnabled {
				t.Errorf("the hook took %d KiB", kib)
			}
			expectEqual(t, "what is left", box.quiet(soon()), nil)
		})
	}
}

// Whatever keys and values an event has, it is taken or refused. This takes memory: see TestFaultReviewer.
func TestFaultInput(t *testing.T) {
	nested := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for members, isTaken := range map[string]bool{
		`"session_id":"s","x":` + nested:                               false,
		`"session_id":"s","x":"` + strings.Repeat("x", 64<<20) + `"`:   false,
		`"session_id":"s","x":"` + strings.Repeat("x", 2<<20) + `"`:    true,
		`"session_id":"../x","session_id":"s"`:                         true,
		`"session_id":"s","session_id":"../x"`:                         false,
		`"session_id":"s","SESSION_ID":"../x"`:                         false,
		"\"session_id\":\"s\",\"last_assistant_message\":\"\xff\xfe\"": true,
	} {
		_, err := readEvent(strings.NewReader("{" + members + "}"))
		expectIs(t, fmt.Sprintf("%.60q is taken", members), err == nil, isTaken)
	}
}

func TestFaultHostilePrompt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"head -c 10M /dev/zero >":   "larger than 100 KiB",
		`printf '\377\376b\0e\0' >`: promptName + " is no text in UTF-8",
		`printf 'be\0' >`:           promptName + " is no text in UTF-8",
		"mkfifo ":                   "not a regular file",
		"ln -s " + promptName + " ": "too many levels of symbolic links",
		"ln -s /dev/zero ":          "not a regular file",
	} {
		t.Run(line, func(t *testing.T) {
			box := newHookBox(t)
			box.run(10*time.Second, "", "sh", "-c", line+promptName)
			expectEnd(t, "hook", box.stop(""), 0, "", want)
			expectEnd(t, "launch", box.run(10*time.Second, "", "ccc", "--supervisor", "-p", "x"), 1, "", want)
		})
	}
}

// TestReliabilityListed keeps docs/faults.md complete: every test of a fault is
// in it, and every name in it is one of a test.
func TestReliabilityListed(t *testing.T) {
	t.Parallel()
	named := func(pattern, path string) (names []string) {
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(readPage(t, path), -1) {
			names = append(names, found[1])
		}
		return names
	}
	listed := named("`((?:Test|Fuzz)[A-Za-z]+)`", "docs/faults.md")
	var defined []string
	files, _ := filepath.Glob("*_test.go")
	for _, file := range files {
		defined = append(defined, named(`(?m)^func ((?:Test|Fuzz)[A-Za-z]+)\(`, file)...)
	}
	mustList := regexp.MustCompile("^(TestFault|TestReview|Fuzz)")
	for _, name := range defined {
		if mustList.MatchString(name) && !slices.Contains(listed, name) {
			t.Errorf("docs/faults.md lacks %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(defined, name) {
			t.Errorf("docs/faults.md names %s, which does not exist", name)
		}
	}
}

// A reader of the hook's stderr that closes it in the middle of a review keeps no decision back.
func TestFaultStderrClosed(t *testing.T) {
	length := 4000
	if raceEnabled { // it reads so slowly that the patience with a pipe would end
		length = 400
	}
	long := says(strings.Repeat("what the reviewer thinks ", length))
	box := newHookBox(t)
	const waits = `cd "$FAKE_CLAUDE_DIR"; echo x >runs; while [ ! -e end ]; do sleep 0.05; done; cd "$OLDPWD"`
	box.reviews(fakeReview{runs(waits), long, long, decides(false, "not yet")})
	read, write, err := os.Pipe()
	check(t, err)
	cmd := box.command("ccc", "supervisor-hook")
	var stdout strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(box.event(eventStop, "")), &stdout, write
	check(t, cmd.Start())
	write.Close()
	box.awaitIn("../fake/runs", "x")
	read.Close()
	box.write("../fake/end", 0o600, "")
	check(t, cmd.Wait())
	expectIs(t, "the decision", stdout.String(), blockNotYet)
}
