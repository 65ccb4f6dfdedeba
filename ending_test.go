package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemon is shell code that starts a process in a session of its own that ignores
// SIGTERM, and waits until it is there.
func daemon(box *sandbox) string {
	const code = "(%s=daemon ccc >%s/daemon &)\nuntil grep -q ready %[2]s/daemon; do sleep 0.01; done\n"
	return fmt.Sprintf(code, testMainVariable, box.home)
}

// endedReview is how a hook ends in the middle of a review.
type endedReview struct {
	signal syscall.Signal // 0: wait for the deadline
	first  fakeReview     // what the reviewer does before it hangs
	stdout string
	stderr string
	tidies bool // the reviewer puts away what it has made
	isLate bool // it ends at the deadline
}

// However a hook ends in the middle of a review, nothing of the review is left a second later.
func TestReviewEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]endedReview{
		"words_then_verdict": {stdout: blockNotYet,
			first: fakeReview{answers("I wait."), runs("sleep 1"), decides(false, "not yet")}},
		"sigterm":           {signal: syscall.SIGTERM, stderr: "审查没有做完就被结束了"},
		"sigint":            {signal: syscall.SIGINT, stderr: "审查没有做完就被结束了"},
		"sighup":            {signal: syscall.SIGHUP, stderr: "审查没有做完就被结束了"},
		"sigkill":           {signal: syscall.SIGKILL},
		"verdict_then_hang": {first: fakeReview{decides(false, "not yet")}, stdout: blockNotYet},
		"verdict_then_tidy": {stdout: blockNotYet, tidies: true,
			first: fakeReview{runs(`trap 'echo >"$HOME/tidy"; exit' TERM`), decides(false, "not yet"),
				runs("while :; do sleep 0.05; done")}},
	} {
		t.Run(name, func(t *testing.T) { end.play(t) })
	}
}

// Those that wait for the deadline are tests of their own, which begin early.
func TestReviewDeadline(t *testing.T) {
	const late = "在 10 秒内没有给出判定：时限是 ccc.json 的 supervisor.timeout_seconds"
	endedReview{isLate: true, stderr: late}.play(t)
}

func TestReviewDeadlineBehindWords(t *testing.T) {
	endedReview{isLate: true, first: fakeReview{answers("I wait.")}, stderr: "在 10 秒内没有给出判定"}.play(t)
}

// A verdict that is complete counts, also if the deadline comes before its reviewer has ended.
func TestReviewDeadlineBehindVerdict(t *testing.T) {
	const last = `trap 'echo "{\"type\":\"result\",\"result\":{\"allow_stop\":false,` +
		`\"feedback\":\"not yet\"}}"; exit' TERM`
	ends := fakeReview{runs(last), runs("while :; do sleep 0.05; done")}
	endedReview{isLate: true, first: ends, stdout: blockNotYet}.play(t)
}

// play has a review end so, and looks for what is left of it.
func (end endedReview) play(t *testing.T) {
	t.Helper()
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"timeout_seconds":10}}`)
	holding := strings.Replace(daemon(box), ">"+box.home, "2>&1 | tee "+box.home, 1) // the reviewer's stdout
	stubborn := fakeReview{runs("trap '' TERM"), runs(holding)}
	if end.signal == syscall.SIGKILL { // then nobody is left to end what does not heed the kernel
		const waits = `trap 'kill $!; exit' TERM; sh -c 'echo ready >"$HOME/daemon"; exec sleep 100' & wait`
		stubborn = fakeReview{runs(waits)}
	}
	complains := fakeReview{runs("echo I am ended >&2")} // which is not the reason
	box.reviews(slices.Concat(complains, stubborn, end.first, fakeReview{runs("sleep 100")}))
	var stdout, stderr strings.Builder
	cmd := box.command("ccc", "supervisor-hook")
	cmd.Stdin = strings.NewReader(box.event("Stop", ""))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	check(t, cmd.Start())
	box.awaitIn("daemon", "ready")
	if end.signal != 0 {
		start = time.Now()
		group := -1 // as Claude Code does: the whole group of the hook
		if end.signal == syscall.SIGKILL {
			group = 1
		}
		syscall.Kill(group*cmd.Process.Pid, end.signal)
	}
	cmd.Wait()
	took := time.Since(start)
	if end.isLate {
		took -= 10 * time.Second
	}
	expectEqual(t, "what is left a second later", box.quiet(soon()), nil)
	if took > 3*time.Second+soon() {
		t.Errorf("the hook took %v to end", took)
	}
	expectIs(t, "the reviewer has put away what it made", box.read("tidy") != "", end.tidies)
	if end.signal != syscall.SIGKILL && cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	expectIs(t, "stdout", stdout.String(), end.stdout)
	expectIn(t, "stderr", stderr.String(), end.stderr)
	if end.signal != 0 { // who ended it knows
		expectIn(t, "the next prompt", box.submit("next").stdout, "上次审查已取消")
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
	}
}

// A trial that takes long is told, ends at its time or with Ctrl-C, and nothing of it stays. An answer counts
// although another hook hangs. It stands here to begin early.
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
		stderr   string
	}{
		"at its time": {script: hangs, patience: "2s", code: 1, stderr: "ccc: claude has not run the hooks " +
			"within 2 s; try again, or start it once by itself\n     claude\n"},
		"Ctrl-C":            {hangs, "60s", syscall.SIGINT, 130, "", ""},
		"answered, a hang":  {answered + hangs + ";; esac", "8s", 0, 0, "Done.\n", "enabled"},
		"answered, daemons": {answered + "(setsid sleep 100 &) ;; esac", "60s", 0, 0, "Done.\n", "enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, testTrustVariable+"=none", testPatienceVariable+"="+test.patience)
			box.claudeIs(mute(test.script))
			if test.signal != 0 {
				go func() {
					for len(processesNamed(box, "sleep 100")) == 0 {
						time.Sleep(10 * time.Millisecond)
					}
					for _, pid := range processesNamed(box, "--supervisor") {
						_ = syscall.Kill(pid, test.signal)
					}
				}()
			}
			got := box.finish(box.command("ccc", "--supervisor", "-p", "hi"), 90*time.Second)
			expectIs(t, "the code: "+got.stderr, got.code, test.code)
			expectIn(t, "stdout", got.stdout, test.stdout)
			expectIn(t, "stderr", got.stderr, test.stderr)
			expectIs(t, "nothing is said", got.stderr == "", test.stderr == "")
			isLong := test.patience != "60s"
			expectIs(t, "it is said", strings.Contains(got.stderr, "ccc: "+tryingHooks.zh+"\n"), isLong)
			expectEqual(t, "what still runs", box.quiet(soon()), nil)
			if test.code != 0 {
				expectIs(t, "what is left of the trial", len(box.answers()), 0)
			}
		})
	}
}

// processesNamed lists what runs in the sandbox with these words in its command line.
func processesNamed(box *sandbox, words string) (pids []int) {
	for _, process := range box.processes() {
		if strings.Contains(process, words) {
			pid, _ := strconv.Atoi(strings.Fields(process)[0])
			pids = append(pids, pid)
		}
	}
	return pids
}

// What was ignored when ccc was started, as by nohup, ends no review.
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
			talk = strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`)
			box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, talk)
			hangsUp := runs(parent + "kill -HUP $PPID $(parent $PPID); sleep 0.5")
			box.reviews(fakeReview{hangsUp, decides(false, "not yet")})
			got := box.run(60*time.Second, box.event(eventStop, ""), "sh", "-c", `trap "" HUP; `+test.command)
			expectIs(t, "stdout", got.stdout, test.stdout)
			expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock})
		})
	}
}

// A verdict that comes when the user has pressed Esc, or when the client has been killed, is none: nobody
// hears it.
func TestReviewUnheard(t *testing.T) {
	beside(t)
	seen := func(box *sandbox) (verdicts string) {
		past, err := box.stateDir().session(testSession).readHistory()
		check(t, err)
		for _, r := range past.Reviews {
			verdicts += string(r.Verdict)
		}
		return verdicts
	}
	box := newHookBox(t)
	box.reviews(fakeReview{decides(true, ""), runs(`kill -TERM $(cat "$HOME/ccc"); sleep 0.3`)})
	const command = `echo $$ >"$HOME/ccc"; exec ccc supervisor-hook`
	got := box.run(60*time.Second, box.event(eventStop, ""), "sh", "-c", command)
	expectEnd(t, "told to end, after the verdict", got, 0, "", errUserEnded.zh)
	expectIs(t, "the verdict", seen(box), string(verdictCancelled))
	const kills = `kill -KILL $(cat "$HOME/client"); echo killed >"$HOME/begun"; sleep `
	for _, review := range []fakeReview{
		{decides(true, ""), runs(kills + "1")},
		{runs(kills + "100"), decides(true, "")},
	} {
		box := newHookBox(t)
		box.reviews(review)
		box.claudeIs(playingClient(t))
		box.vars = append(box.vars, `PLAY=echo $$ >"$HOME/client"; hook `+testSession+" Stop")
		got := box.run(60*time.Second, "", "ccc", "--supervisor")
		expectIs(t, "the code of the client, killed", got.code, -1)
		expectIs(t, "it was told", strings.Contains(got.stdout, "systemMessage"), false)
		box.awaitIn("begun", "killed")
		expectEqual(t, "what is left of the client", box.quiet(2*time.Second+soon()), nil)
		expectIs(t, "the verdict, the client killed", seen(box), string(verdictCancelled))
	}
}
