package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// endedReview is how a hook ends in the middle of a review.
type endedReview struct {
	signal syscall.Signal // 0: wait for the deadline
	first  fakeReview     // what the reviewer does before it hangs
	guard  string         // the signal that the guard gets, so that the hook has to end what is below it
	stdout string
	stderr string
	tidies bool // the reviewer puts away what it has made
}

// However a hook ends in the middle of a review, nothing of the review is left a second later.
func TestReviewEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]endedReview{
		"words_then_verdict": {stdout: blockNotYet,
			first: fakeReview{answers("I wait."), runs("sleep 1"), decides(false, "not yet")}},
		"sigterm":           {signal: syscall.SIGTERM, stderr: "按了 Esc 或 Ctrl-C"},
		"sigint":            {signal: syscall.SIGINT, stderr: "按了 Esc 或 Ctrl-C"},
		"sighup":            {signal: syscall.SIGHUP, stderr: "按了 Esc 或 Ctrl-C"},
		"sigkill":           {signal: syscall.SIGKILL},
		"guard_stopped":     {signal: syscall.SIGTERM, guard: "STOP", stderr: "按了 Esc 或 Ctrl-C"},
		"guard_killed":      {guard: "KILL", stderr: "看护进程被强行结束"},
		"verdict_then_hang": {first: fakeReview{decides(false, "not yet")}, stdout: blockNotYet},
		"verdict_then_tidy": {first: fakeReview{runs(`trap 'echo >"$HOME/tidy"; exit' TERM`), decides(false, "not yet"), runs("while :; do sleep 0.05; done")}, stdout: blockNotYet, tidies: true},
	} {
		t.Run(name, func(t *testing.T) { end.play(t) })
	}
}

// Those that wait for the deadline are tests of their own, which begin early.
func TestReviewDeadline(t *testing.T) {
	endedReview{stderr: "在 10 秒内没有给出判定：时限是 ccc.json 的 supervisor.timeout_seconds"}.play(t)
}

func TestReviewDeadlineBehindWords(t *testing.T) {
	endedReview{first: fakeReview{answers("I wait.")}, stderr: "在 10 秒内没有给出判定"}.play(t)
}

// play has a review end so, and looks for what is left of it.
func (end endedReview) play(t *testing.T) {
	t.Helper()
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":10}}`)
	holding := strings.Replace(daemon(box), ">"+box.home, "2>&1 | tee "+box.home, 1) // the reviewer's stdout
	switch end.guard {
	case "STOP":
		holding = `kill -STOP "$PPID"` + "\n" + holding
	case "KILL":
		holding += "\n" + `kill -KILL "$PPID"`
	}
	box.reviews(slices.Concat(fakeReview{runs("trap '' TERM"), runs(holding)}, end.first, fakeReview{runs("sleep 100")}))
	var stdout, stderr strings.Builder
	cmd := box.command("ccc", "supervisor-hook")
	cmd.Stdin = strings.NewReader(box.event("Stop", ""))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	check(t, cmd.Start())
	box.awaitIn("daemon", "ready")
	if end.guard == "KILL" { // the hook, which may be killed next, waits for nothing before it ends the rest
		if left := box.quiet(pipePatience - time.Second); len(left) != 0 {
			t.Errorf("left when the guard is gone: %q", left)
		}
	}
	if end.signal != 0 {
		start = time.Now()
		// As Claude Code does: the whole group of the hook.
		syscall.Kill(-cmd.Process.Pid, end.signal)
	}
	cmd.Wait()
	took := time.Since(start)
	if strings.Contains(end.stderr, "10 秒") {
		took -= 10 * time.Second
	}
	if left := box.quiet(soon()); len(left) != 0 {
		t.Errorf("left a second later: %q", left)
	}
	if took > 3*time.Second+soon() {
		t.Errorf("the hook took %v to end", took)
	}
	expectIs(t, "the reviewer has put away what it made", box.read("tidy") != "", end.tidies)
	if end.signal != syscall.SIGKILL && cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	if stdout.String() != end.stdout || !strings.Contains(stderr.String(), end.stderr) {
		t.Errorf("stdout %q, stderr %s", stdout.String(), stderr.String())
	}
}

// A trial that takes long is told, ends at its time or with Ctrl-C, and nothing of it stays. An answer counts although another
// hook hangs. It stands here to begin early.
func TestTrialEnded(t *testing.T) {
	t.Parallel()
	const hangs = "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; sleep 100' &)\nsleep 100"
	answered := fakeClaude() + ` "$@"; case "$*" in */cost) `
	for name, test := range map[string]struct {
		script   string
		patience string
		signal   syscall.Signal
		code     int
		stdout   string
	}{
		"at its time":       {hangs, "2s", 0, 1, ""},
		"Ctrl-C":            {hangs, "60s", syscall.SIGINT, 130, ""},
		"told to end":       {hangs, "60s", syscall.SIGTERM, 143, ""},
		"answered, a hang":  {answered + hangs + ";; esac", "8s", 0, 0, "Done.\n"},
		"answered, daemons": {answered + "(setsid sleep 100 &) ;; esac", "60s", 0, 0, "Done.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, testTrustVariable+"=none")
			box.claudeIs(mute(test.script))
			box.vars = append(box.vars, testPatienceVariable+"="+test.patience)
			cmd := box.command("ccc", "--supervisor", "-p", "hi")
			if test.signal != 0 {
				go func() {
					for range 1000 {
						list := box.processes()
						launch := slices.IndexFunc(list, func(process string) bool { return strings.Contains(process, "--supervisor") })
						if len(list) > 3 && launch >= 0 { // ccc, its guard, the script and what that started
							_ = syscall.Kill(processNumber(strings.Replace(list[launch], " ", "-", 1)), test.signal)
							return
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
			}
			got := box.finish(cmd, 90*time.Second)
			if got.code != test.code || !strings.HasSuffix(withoutReceipts(got.stdout), test.stdout) ||
				test.code == 130 && got.stderr != "" {
				t.Errorf("%+v", got)
			}
			if name == "at its time" || name == "answered, a hang" {
				expectIn(t, "stderr", got.stderr, "ccc: "+tryingHooks.zh+"\n")
			}
			if left := box.quiet(soon()); len(left) != 0 {
				t.Errorf("still running: %q", left)
			}
			if test.code != 0 {
				expectIs(t, "what is left of the trial", len(box.answers()), 0)
			}
		})
	}
}

// What was ignored when ccc was started, as by nohup, ends neither a review with its guard nor a view nor the demo.
func TestNohup(t *testing.T) {
	t.Parallel()
	const parent = `parent() { ps -o ppid= -p $1 2>/dev/null || cut -d' ' -f4 /proc/$1/stat; }` + "\n"
	for name, test := range map[string]struct{ command, stdout string }{
		"a stop":           {"ccc supervisor-hook", blockNotYet},
		"a review by hand": {"ccc review " + testSession + " >&2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
			box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
			box.reviews(fakeReview{runs(parent + "kill -HUP $PPID $(parent $PPID); sleep 0.5"), decides(false, "not yet")})
			got := box.run(60*time.Second, box.event(eventStop, ""), "sh", "-c", `trap "" HUP; `+test.command)
			expectIs(t, "stdout", got.stdout, test.stdout)
			expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock})
		})
	}
	for name, test := range map[string]struct{ command, until string }{
		"the log":  {"ccc log -f >shown", "[ -s shown ]"},
		"the demo": {"ccc demo >shown", "ls -d $TMPDIR/ccc-demo-*/ccc"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.vars = append(box.vars, "TMPDIR="+t.TempDir())
			got := box.run(60*time.Second, "", "sh", "-c", `trap "" HUP INT; `+test.command+` & until `+test.until+` >/dev/null 2>&1; do sleep 0.05; done
				kill -HUP $!; kill -INT $!; sleep 0.5; kill -0 $! && echo runs; kill -TERM $!; wait $!`)
			expectIs(t, "behind SIGHUP and SIGINT it", got.stdout, "runs\n")
		})
	}
}

// A verdict that comes when the user has pressed Esc, or when the client has been killed, is none: nobody hears it.
func TestReviewUnheard(t *testing.T) {
	beside(t)
	t.Run("told to end behind the verdict", func(t *testing.T) {
		box := newHookBox(t)
		box.reviews(fakeReview{decides(true, ""), runs(`kill -TERM $(ps -o ppid= -p $PPID 2>/dev/null || cut -d' ' -f4 /proc/$PPID/stat); sleep 0.3`)})
		expectEnd(t, "the stop", box.stop(""), 0, "", errUserEnded.zh)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
	})
	t.Run("the client is killed behind the verdict", func(t *testing.T) {
		box := newHookBox(t)
		box.inSession()
		box.reviews(fakeReview{decides(true, ""), runs(`parent() { ps -o ppid= -p $1 2>/dev/null || cut -d' ' -f4 /proc/$1/stat; }
kill -KILL $(parent $(parent $PPID)); sleep 0.3`)})
		client := box.command(append(slices.Clone(through), "ccc", "supervisor-hook", ";")...)
		client.Stdin = strings.NewReader(box.event(eventStop, ""))
		check(t, client.Start())
		if err := client.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatal(err)
		}
		box.awaitVerdicts(1)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
	})
	t.Run("the client is killed", func(t *testing.T) {
		box := newHookBox(t)
		box.inSession()
		box.reviews(fakeReview{runs("echo ready >$HOME/begun; sleep 100"), decides(true, "")})
		client := box.command(append(slices.Clone(through), "ccc", "supervisor-hook", ";")...)
		client.Stdin = strings.NewReader(box.event(eventStop, ""))
		check(t, client.Start())
		box.awaitIn("begun", "ready")
		check(t, client.Process.Kill())
		if runtime.GOOS == "linux" { // nobody has waited for it when its hook looks
			defer client.Wait()
		} else {
			_ = client.Wait()
		}
		box.awaitVerdicts(1)
		if left := box.quiet(2*time.Second + soon()); len(left) != 0 {
			t.Errorf("left when the client is gone: %q", left)
		}
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
	})
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
