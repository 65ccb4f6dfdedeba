package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startGuard runs a command under a guard, to stderr, and returns the guard and the function
// that cuts its lifeline.
func startGuard(t *testing.T, box *sandbox, stderr io.Writer, argv ...string) (*exec.Cmd, func()) {
	t.Helper()
	lifeline, hold, err := os.Pipe()
	check(t, err)
	cmd := box.command(append([]string{"ccc", guardSubcommand}, argv...)...)
	cmd.Stderr = stderr
	cmd.ExtraFiles = []*os.File{lifeline}
	check(t, cmd.Start())
	lifeline.Close()
	t.Cleanup(func() { hold.Close() })
	return cmd, func() { hold.Close() }
}

// daemon is shell code that starts a process outside the guard's session that
// ignores SIGTERM, and waits until it is there.
func daemon(box *sandbox) string {
	return fmt.Sprintf("(%s=daemon ccc >%s/daemon &)\nuntil grep -q ready %[2]s/daemon; do sleep 0.01; done\n", testMainVariable, box.home)
}

func TestGuardExit(t *testing.T) {
	expectEnd(t, "without arguments", newFakeBox(t).run(10*time.Second, "", "ccc", guardSubcommand), 1, "", "by ccc only")
	const lifelineIsSeen = "(true <&3) 2>/dev/null && exit 9; exit 0"
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137, lifelineIsSeen: 0} {
		box := newFakeBox(t)
		guard, _ := startGuard(t, box, nil, "/bin/sh", "-c", daemon(box)+script)
		guard.Wait()
		expectIs(t, script, guard.ProcessState.ExitCode(), want)
		if left := box.processes(); len(left) != 0 {
			t.Errorf("%s: left %q", script, left)
		}
	}
	var stderr strings.Builder
	guard, _ := startGuard(t, newFakeBox(t), &stderr, "/no/such/program")
	guard.Wait()
	expectIs(t, "what can't be started", guard.ProcessState.ExitCode(), 126)
	expectIn(t, "stderr", stderr.String(), "ccc: starting /no/such/program: ", "no such file")
}

// What Wait says of a command becomes its exit code, also where more is said around it.
func TestExitCode(t *testing.T) {
	expectIs(t, "success", exitCode(nil), 0)
	expectIs(t, "no word of the command's end", exitCode(errors.New("wait: no child processes")), 1)
	for script, want := range map[string]int{"exit 3": 3, "exit 130": 130, "kill -TERM $$": 143} {
		err := exec.Command("/bin/sh", "-c", script).Run()
		expectIs(t, script, exitCode(err), want)
		expectIs(t, script+", with more", exitCode(fmt.Errorf("passing on: %w", err)), want)
	}
}

// A guard whose lifeline is cut, or that is told to end, ends all within a second, also what ignores SIGTERM; what heeds it has
// the time to put away what it made.
func TestGuardEnded(t *testing.T) {
	beside(t)
	const stubborn = "trap '' TERM\n%ssleep 100 & sleep 101"
	const tidy = "trap 'echo >\"$HOME/tidy\"; exit 5' TERM\n%swhile :; do sleep 0.05; done"
	for _, test := range []struct {
		script string
		signal syscall.Signal // 0: the lifeline is cut
		code   int
	}{{stubborn, 0, 137}, {stubborn, syscall.SIGTERM, 137}, {tidy, 0, 5}, {tidy, syscall.SIGTERM, 5}, {tidy, syscall.SIGINT, 5}, {tidy, syscall.SIGHUP, 5}} {
		t.Run(fmt.Sprintf("%v, exit %d", test.signal, test.code), func(t *testing.T) {
			box := newFakeBox(t)
			guard, cut := startGuard(t, box, nil, "/bin/sh", "-c", fmt.Sprintf(test.script, daemon(box)))
			box.awaitIn("daemon", "ready")
			start := time.Now()
			if test.signal == 0 {
				cut()
			} else {
				check(t, guard.Process.Signal(test.signal))
			}
			guard.Wait()
			if took := time.Since(start); took > soon() {
				t.Errorf("%v: it took %v", test, took)
			}
			if left := box.processes(); len(left) != 0 {
				t.Errorf("%v: left %q", test, left)
			}
			expectIs(t, test, guard.ProcessState.ExitCode(), test.code)
			expectIs(t, fmt.Sprint(test, " was put away"), box.read("tidy") != "", test.code == 5)
		})
	}
}

func TestReviewNotStarted(t *testing.T) {
	box := newHookBox(t)
	notExecutable := filepath.Join(box.home, "claude")
	box.write("claude", 0o600, "#!/bin/sh\n")
	box.write("broken", 0o700, "#!/no/such/interpreter\n")
	for _, test := range []struct{ claude, want string }{
		{"/no/such/claude", "no such file"}, {notExecutable, "permission denied"}, {filepath.Join(box.home, "broken"), "starting "},
	} {
		box.vars = append(box.vars, "CCC_CLAUDE="+test.claude)
		got := box.stop("")
		if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "ccc: no review: ") || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: %+v", test.claude, got)
		}
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), slices.Repeat([]verdict{verdictFailed}, 3))
}

func TestProcessTree(t *testing.T) {
	parents := map[int]int{1: 0, 2: 1, 10: 2, 11: 10, 12: 10, 20: 11, 30: 2, 40: 41, 41: 40}
	got := descendants(10, parents)
	slices.Sort(got)
	if want := []int{11, 12, 20}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := descendants(40, parents); !slices.Contains(got, 41) {
		t.Errorf("a circle of parents: %v", got)
	}
}
