package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoLeft returns what a demo left in the sandbox: files, and processes that
// have its temporary directory in their environment.
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

// The demo plays the whole loop without claude, provider and settings of the
// user's, and touches nothing of it.
func TestDemo(t *testing.T) {
	box := newFakeBox(t)
	os.Remove(filepath.Join(box.home, "../bin/claude"))
	box.vars = append(box.vars, "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=SECRET", "CLAUDECODE=1",
		"CLAUDE_CONFIG_DIR="+box.work, "CCC_CONFIG_DIR="+box.work, "CCC_WORK_DIR="+box.work, "CCC_CLAUDE=/no/claude",
		"CCC_SUPERVISOR=0", "CCC_SUPERVISOR_HOOK=1", "CLAUDE_PROJECT_DIR="+box.work, "FAKE_CLAUDE_VERSION=2.1.280", testTrustVariable+"=")
	got := box.run(90*time.Second, "", "ccc", "demo")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	rest := got.stdout
	for _, want := range []string{demoTask.zh, "审查 1/10：开始", "用户自己的例子", "审查 1/10：退回", "审查 2/10：通过", "[SUPERVISOR] 审查 1/10：退回", "[SUPERVISOR] 审查 2/10：通过", "ccc --supervisor"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("it lacks %q, or not in this order:\n%s", want, got.stdout)
		}
		rest = after
	}
	end, _, _ := strings.Cut(demoEnd.zh, "%s")
	expectIn(t, "the demo", unspaced(got.stdout), unspaced(demoIntroduction.zh), unspaced(end))
	expectIn(t, "the demo", got.stdout, "\n  $ ccc --supervisor -p \""+demoTask.zh+"\"\n") // on one line
	if left := box.demoLeft(); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	if entries, _ := os.ReadDir(box.work); len(entries) != 1 {
		t.Errorf("in the working directory: %v", entries)
	}
	needCopy(t, box)
	expectWidth(t, got.stdout, 81) // but for a command that would let copies be made
	expectIn(t, "the demo", unspaced(got.stdout), demoInCopy.zh+"运行用户的例子")
	expectNotIn(t, "the demo", got.stdout, "ccc doctor")
	expectIn(t, "the demo", strings.Join(strings.Fields(got.stdout), " "), `sh slug.sh " C++ & Go! " → -c-go- [SUPERVISOR]`, `sh slug.sh " C++ & Go! " → c-go · sh slug_test.sh → ok, 3 titles`)
	box.write(".claude/ccc.json", 0o600, `{"language":"en"}`)
	box.vars = append(box.vars, "COLUMNS=60", "CCC_CONFIG_DIR=", "CLAUDE_CONFIG_DIR=")
	got = box.run(90*time.Second, "", "ccc", "demo")
	expectWidth(t, got.stdout, 61)
	if got.code != 0 || !strings.Contains(got.stdout, "Review 2/10: approved") || chineseIn(got.stdout) != "" {
		t.Errorf("in English: %+v", got)
	}
}

// Where no copy can be made, as in a copy, the demo says so first, runs its commands in its own home, and tells of no copy.
func TestDemoWithoutCopies(t *testing.T) {
	for language, text := range map[string]string{chinese: "审查 1/10：退回|审查 2/10：通过|建不了副本（ccc doctor）", english: "Review 1/10: sent back|Review 2/10: approved|no copy can be made here (ccc doctor)"} {
		box := newFakeBox(t)
		box.vars = append(box.vars, testTrustVariable+"=")
		needCopy(t, box)
		box.write(".claude/ccc.json", 0o600, `{"language":"`+language+`"}`)
		got := box.run(90*time.Second, "", "ccc", "try", "COLUMNS=80 ccc demo; COLUMNS=200 env -u HOME LANG="+language+" ccc demo; ls -A \"$TMPDIR\"")
		first, _, _ := strings.Cut(demoNoCopy.in(language), "\n")
		if !strings.HasPrefix(got.stdout, first+"\n") || got.code != 0 || got.stderr != "" || strings.Contains(got.stdout, demoInCopy.in(language)) {
			t.Errorf("%s: %+v", language, got)
		}
		said := strings.Split(text, "|")
		expectIn(t, language, got.stdout, append(said, demoInHome.in(language), "· sh slug.sh", "· sh slug_test.sh")...)
		// Of each of the four reviews the log, and of the wide demo's two the receipt: the narrow one's are broken.
		expectIs(t, language+": that nothing was run in a copy", strings.Count(got.stdout, said[2]+"\n"), 6)
		if !strings.HasSuffix(got.stdout, "ccc --supervisor\n") {
			t.Errorf("%s: it ends or leaves %q", language, got.stdout)
		}
	}
}

// However a demo ends, it leaves nothing behind. One that did not go as it was written tells no story of what happened.
func TestDemoEndedEarly(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		box := newFakeBox(t)
		var stdout, stderr strings.Builder
		cmd := box.command("ccc", "demo")
		read, write, err := os.Pipe()
		check(t, err)
		cmd.Stdout, cmd.Stderr = write, &stderr
		check(t, cmd.Start())
		write.Close()
		buffer := make([]byte, 4096)
		for !strings.Contains(stdout.String(), "审查 1/10：开始") { // in the middle of the first review
			n, err := read.Read(buffer)
			check(t, err)
			stdout.Write(buffer[:n])
		}
		cmd.Process.Signal(sig)
		cmd.Wait()
		read.Close()
		if left := box.demoLeft(); cmd.ProcessState.ExitCode() != 130 || stderr.String() != "ccc: interrupted\n" || len(left) != 0 {
			t.Errorf("%v: %v, %s; left %q", sig, cmd.ProcessState, &stderr, left)
		}
	}
	for _, test := range []struct{ name, vars, command, stdout, stderr string }{
		{"closed_pipe", "", "{ ccc demo; echo $? >&2; } | head -n 1", "下面是一次受监督的会话", "141\n"},
		// Without awk, mkdir and all the rest the stand-in can't play.
		{"session_fails", "PATH=$PATH_OF_CCC", "ccc demo", "下面是一次受监督的会话", "ccc: the session ended early"},
		// The reviewer's example gives something else than the story says.
		{"another_story", "", `printf '#!/bin/sh\ncase "$*" in *a-z0-9*) echo other ;; *) exec %s "$@" ;; esac\n' "$(command -v sed)" >$HOME/sed
			chmod +x $HOME/sed; mv $HOME/sed $HOME/../bin; ccc demo`, "", `ccc: the session did not go as it was written: ["failed"]` + "\n     ccc doctor\n"},
		{"no_temporary_directory", "TMPDIR=/no/such/directory", "ccc demo", "", "ccc: stat /no/such/directory"},
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.ReplaceAll(test.vars, "$PATH_OF_CCC", filepath.Join(filepath.Dir(box.home), "bin")))
		got := box.run(90*time.Second, "", "/bin/sh", "-c", test.command)
		if left := box.demoLeft(); !strings.HasPrefix(got.stdout, test.stdout) || !strings.HasPrefix(got.stderr, test.stderr) || len(left) != 0 || strings.Contains(got.stdout, "演示没有留下") {
			t.Errorf("%s: %+v; left %q", test.name, got, left)
		}
	}
}

// The demo's session has none of the user's variables that lead to an API or to the user's own places.
func TestDemoEnvironment(t *testing.T) {
	var names []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "CLAUDECODE", "CLAUDE_CODE_USE_BEDROCK", "CCC_CONFIG_DIR", "CCC_LAUNCH", "FAKE_CLAUDE_VERSION", "HOME", "TMPDIR", "PATH", "XCCC_A"} {
		names = append(names, name+"=mine")
	}
	got := slices.Sorted(slices.Values(demoEnv(names, "/d")))
	expectEqual(t, "the environment", got, []string{"CCC_CLAUDE=/d/testdata/claude", "CLAUDE_CONFIG_DIR=/d/home/.claude", "FAKE_CLAUDE_DIR=/d/testdata/demo/" + lang, "FAKE_CLAUDE_SESSION=" + demoSession, "HOME=/d/home", "PATH=mine", "TMPDIR=/d", "XCCC_A=mine"})
	expectIs(t, "the environment before", names[0], "ANTHROPIC_API_KEY=mine")
}
