package main

// ccc try on every system, and the copy in a review: offered, used, recorded and told; and a review without
// one.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tryTestVariable set to "required" makes a test fail that is otherwise skipped because the machine lacks
// something; "all" adds to that what .ci/run has more of: copies as root and on disk, and what is slow.
const tryTestVariable = "CCC_TEST_TRY"

func skipTry(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(tryTestVariable) != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// skipCopy skips the test, or fails it where the machine lets the user of cmd, the test binary, make a copy.
func skipCopy(t *testing.T, cmd *exec.Cmd, why string) {
	t.Helper()
	if machineCopies(cmd) {
		t.Fatal("this machine has all that a copy takes, and there is none: " + why)
	}
	skipTry(t, "NO COPY CAN BE MADE HERE, nothing of it was tested: "+why)
}

// machineCopies has cmd, the test binary, look whether the machine has all that a copy takes. Only Linux
// does.
var machineCopies = func(cmd *exec.Cmd) bool { return false }

// needCopy skips the test where no copy can be made.
func needCopy(t *testing.T, box *sandbox) {
	t.Helper()
	if got := box.run(20*time.Second, "", "ccc", "try", "true"); got.code != 0 {
		skipCopy(t, box.command("ccc"), got.stderr)
	}
}

// tryCommand is the command line that requests give: the program of the test.
func tryCommand() string {
	self, _ := os.Executable()
	return shellQuote(self) + " try"
}

// The reviewer is told where files directly in HOME can't be written in a copy, as below mounts.
func TestTryHomeTold(t *testing.T) {
	box := newHookBox(t)
	needCopy(t, box)
	box.vars = append(box.vars, testTrustVariable+"=")
	told := func() bool {
		box.stop("")
		requests, _ := filepath.Glob(filepath.Join(box.home, "../fake/reviewer-*.stdin"))
		text := readPage(t, requests[len(requests)-1])
		expectIn(t, "the request", text, tryExample(tryCommand()))
		return strings.Contains(text, say(homeReadOnly))
	}
	expectIs(t, "of a HOME that can be written to", told(), false)
	box.vars = append(box.vars, "CLAUDE_CONFIG_DIR="+box.home+"/.claude", "CCC_SUPERVISOR=1", "HOME=/none")
	expectIs(t, "of another", told(), true)
}

// Of what a command of a review prints the end is recorded, without secrets, and the reviewer sees all of it
// in order.
func TestTryRecorded(t *testing.T) {
	box := newHookBox(t)
	needCopy(t, box)
	box.vars = append(box.vars, tryVariable+"="+filepath.Join(box.home, ".claude/ccc", testSession, "r1"),
		"MY_TOKEN=the-secret-of-1")
	box.timelineOf(testSession, began(review{ID: "r1"}))
	lastRun := func() step {
		h, err := box.stateDir().session(testSession).readHistory()
		check(t, err)
		runs := h.Reviews[0].did.Runs
		return runs[len(runs)-1]
	}
	large := 10_000_000
	if os.Getenv(tryTestVariable) == "all" {
		large *= 10
	}
	for _, test := range []struct{ command, pipe, stdout, output string }{
		{`echo one; echo two >&2; echo three; exit 3`, "", "one\ntwo\nthree\n", "one\ntwo\nthree\n"},
		{fmt.Sprintf(`head -c %d /dev/zero | tr "\0" x; echo END`, large), "wc -c", fmt.Sprintln(large + 4),
			strings.Repeat("x", 1996) + "END\n"},
		{`yes | head -c 3000000; echo END`, "head -n 1", "y\n", ""},
		{`echo kept; (sleep 30; echo late) & exit 0`, "", "kept\n", "kept\n"},
		{`echo it is $MY_TOKEN; echo "<$MY_TOKEN>"; printf "\377end"`, "", "it is the-secret-of-1\n<the-",
			"it is ***\n<***>\n\uFFFDend"},
		{`echo the-secret-of-1; echo x`, "", "the-secret-of-1\nx\n", "***\nx\n"},
		{`echo $MY_TOKEN; head -c 1994 /dev/zero | tr "\0" x`, "wc -c", "2010\n",
			"***\n" + strings.Repeat("x", 1994)},
		{`printf 长%.0s $(seq 1000)`, "wc -c", "3000\n", strings.Repeat("长", 666)}, // no part of a character
	} {
		shell := "ccc try " + shellQuote(test.command) + " 2>&1"
		if test.pipe != "" {
			shell += " | " + test.pipe
		}
		got := box.run(60*time.Second, "", "sh", "-c", shell)
		expectIn(t, test.command, got.stdout, test.stdout)
		last := lastRun()
		expectIs(t, "its review", last.Review, "r1")
		expectIs(t, "the command", last.Command, strings.ReplaceAll(test.command, "the-secret-of-1", "***"))
		if test.pipe != "head -n 1" {
			expectIs(t, test.command, last.Output, test.output)
		}
	}
	// Of a run on a terminal no output is recorded, and that is said.
	cmd := box.command("ccc", "try", "echo seen")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	screen, last := onTerminal(t, cmd, 80), lastRun()
	if !strings.Contains(screen, "seen") || last.Command != "echo seen" ||
		runtime.GOOS == "linux" && last.Output != say(shownOnTerminal) {
		t.Errorf("%q, recorded %+v", screen, last)
	}
}

// A review that runs is seen to run from in a copy, too, where its lock can't be seen: until its deadline.
func TestTryReviewRuns(t *testing.T) {
	box := newHookBox(t)
	needCopy(t, box)
	running(t, box.stateDir().session(testSession), "r")
	for left, want := range map[time.Duration]string{time.Hour: `"verdict":"reviewing"`,
		-time.Hour: `"verdict":"cancelled"`} {
		box.timelineOf(testSession, prompted("x").in(box.work),
			began(review{ID: "r", Deadline: ago(-left)}).in(box.work))
		expectIn(t, "ccc status outside", box.run(10*time.Second, "", "ccc", "status", "--json").stdout,
			`"verdict":"reviewing"`)
		inCopy := box.run(60*time.Second, "", "ccc", "try", "ccc status --json").stdout
		expectIn(t, "ccc status in a copy", inCopy, want)
	}
}
