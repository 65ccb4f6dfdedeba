package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoLeft returns what a demo left in the sandbox: files, and processes that have its temporary directory in
// their environment.
func (box *sandbox) demoLeft() (left []string) {
	box.t.Helper()
	tmp := filepath.Join(filepath.Dir(box.home), "tmp")
	for _, dir := range []string{tmp, box.home} {
		entries, err := os.ReadDir(dir)
		check(box.t, err)
		for _, entry := range entries {
			left = append(left, filepath.Join(dir, entry.Name()))
		}
	}
	return append(left, processesWith("\x00HOME="+tmp)...)
}

// The demo plays the whole loop without claude, provider and settings of the user's, and touches nothing of
// it.
func TestDemo(t *testing.T) {
	box := newFakeBox(t)
	check(t, os.Remove(filepath.Join(box.home, "../bin/claude")))
	box.vars = append(box.vars, "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=SECRET",
		"CLAUDECODE=1", "CLAUDE_CONFIG_DIR="+box.work, "CCC_CONFIG_DIR="+box.work, "CCC_WORK_DIR="+box.work,
		"CCC_CLAUDE=/no/claude", "CCC_SUPERVISOR=0", "CCC_SUPERVISOR_HOOK=1", "CLAUDE_PROJECT_DIR="+box.work,
		"FAKE_CLAUDE_VERSION=2.1.280", testTrustVariable+"=")
	got := box.run(90*time.Second, "", "ccc", "demo")
	expectEnd(t, "the demo", got, 0, got.stdout, "")
	rest := got.stdout
	for _, want := range []string{demoTask.zh, "审查 1/10：开始", "用户自己的例子",
		"审查 1/10：退回", "审查 2/10：通过", "[SUPERVISOR] 审查 1/10：退回",
		"[SUPERVISOR] 审查 2/10：通过", "ccc --supervisor"} {
		_, after, isThere := strings.Cut(rest, want)
		if !isThere {
			t.Fatalf("it lacks %q, or not in this order:\n%s", want, got.stdout)
		}
		rest = after
	}
	end, _, _ := strings.Cut(demoEnd.zh, "%s")
	expectIn(t, "the demo", unspaced(got.stdout), unspaced(demoIntroduction.zh), unspaced(end))
	expectIn(t, "the demo", got.stdout, "\n  $ ccc --supervisor -p \""+demoTask.zh+"\"\n") // on one line
	expectEqual(t, "what is left", box.demoLeft(), nil)
	entries, _ := os.ReadDir(box.work)
	expectIs(t, "the files in the working directory", len(entries), 1)
	needCopy(t, box)
	expectWidth(t, got.stdout, 81) // but for a command that would let copies be made
	expectIn(t, "the demo", unspaced(got.stdout), demoInCopy.zh+"运行用户的例子")
	expectNotIn(t, "the demo", got.stdout, "ccc doctor")
	onOneLine := strings.Join(strings.Fields(got.stdout), " ")
	expectIn(t, "the demo", onOneLine, `sh slug.sh " C++ & Go! " → -c-go- [SUPERVISOR]`,
		`sh slug.sh " C++ & Go! " → c-go · sh slug_test.sh → ok, 3 titles`)
	box.write(".claude/ccc.json", 0o600, `{"language":"en"}`)
	box.vars = append(box.vars, "COLUMNS=60", "CCC_CONFIG_DIR=", "CLAUDE_CONFIG_DIR=")
	got = box.run(90*time.Second, "", "ccc", "demo")
	expectWidth(t, got.stdout, 61)
	expectIn(t, "in English", got.stdout, "Review 2/10: approved")
	expectIs(t, "Chinese in English", chineseIn(got.stdout), "")
}

// If no copy can be made, as in a copy, the demo says so first, runs its commands in its own home, and tells
// of none.
func TestDemoWithoutCopies(t *testing.T) {
	const line = "COLUMNS=80 ccc demo; COLUMNS=200 env -u HOME LANG=en ccc demo; ls -A \"$TMPDIR\""
	box := newFakeBox(t)
	box.vars = append(box.vars, testTrustVariable+"=")
	needCopy(t, box)
	box.write(".claude/ccc.json", 0o600, `{"language":"en"}`)
	got := box.run(90*time.Second, "", "ccc", "try", line)
	first, _, _ := strings.Cut(demoNoCopy.en, "\n")
	expectEnd(t, "the demo", got, 0, got.stdout, "")
	expectPrefix(t, "the demo", got.stdout, first+"\n")
	expectIn(t, "the demo", got.stdout, "ccc --supervisor\n")
	expectNotIn(t, "the demo", got.stdout, demoInCopy.en)
	expectIn(t, "the demo", got.stdout, "Review 1/10: sent back", "Review 2/10: approved", demoInHome.en,
		"· sh slug.sh", "· sh slug_test.sh")
	// Of each of the four reviews the log, and of the wide demo's two the receipt: the narrow one's are
	// broken.
	expectCounts(t, "the demo", got.stdout, map[string]int{"no copy can be made here (ccc doctor)\n": 6})
}

// However a demo ends, it leaves nothing behind. One that did not go as it was written tells no story of what
// happened.
func TestDemoEndedEarly(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		box := newFakeBox(t)
		var stderr strings.Builder
		cmd := box.command("ccc", "demo")
		output, err := os.Create(box.work + "/output")
		check(t, err)
		defer output.Close()
		cmd.Stdout, cmd.Stderr = output, &stderr
		check(t, cmd.Start())
		box.awaitIn("../work/output", "审查 1/10：开始") // in the middle of the first review
		check(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		expectIs(t, "the exit code", cmd.ProcessState.ExitCode(), 130)
		expectIs(t, "stderr", stderr.String(), "ccc: interrupted\n")
		expectEqual(t, "what is left", box.demoLeft(), nil)
	}
	// The reviewer's example gives something else than the story says.
	const other = `printf '#!/bin/sh\ncase "$*" in *a-z0-9*) echo other ;; *) exec %s "$@" ;; esac\n' \
		"$(command -v sed)" >~/sed; chmod +x ~/sed; mv ~/sed ~/../bin; ccc demo`
	const another = `ccc: the session did not go as it was written: ["failed"]` + "\n     ccc doctor\n"
	for command, want := range map[string]string{ // how stderr begins
		"{ ccc demo; echo $? >&2; } | head -n 1": "141\n",
		"PATH=$HOME/../bin ccc demo":             "ccc: the session ended early",
		"TMPDIR=/no/such/directory ccc demo":     "ccc: stat /no/such/directory",
		other:                                    another,
	} {
		box := newFakeBox(t)
		got := box.run(90*time.Second, "", "/bin/sh", "-c", command)
		expectPrefix(t, command+": stderr", got.stderr, want)
		expectNotIn(t, command, got.stdout+got.stderr, "演示没有留下")
		expectEqual(t, command+": what is left", box.demoLeft(), nil)
	}
}
