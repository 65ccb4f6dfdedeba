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
		"CCC_SUPERVISOR=0", "CCC_SUPERVISOR_HOOK=1", "CLAUDE_PROJECT_DIR="+box.work, "FAKE_CLAUDE_VERSION=2.1.200")
	got := box.run(90*time.Second, "", "ccc", "demo")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	rest := got.stdout
	for _, want := range []string{demoTask.zh, "进行中", "用户自己的例子", "审查 1/10 退回", "审查 2/10 通过", "[SUPERVISOR] 审查 1/10 退回", "[SUPERVISOR] 审查 2/10 通过", "ccc --supervisor"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("it lacks %q, or not in this order:\n%s", want, got.stdout)
		}
		rest = after
	}
	for _, words := range []string{demoIntroduction.zh, demoEnd.zh} {
		expectIn(t, "the demo", strings.Join(strings.Fields(got.stdout), ""), strings.Join(strings.Fields(words), ""))
	}
	expectWidth(t, strings.ReplaceAll(got.stdout, demoTask.zh, ""), 81)
	if left := box.demoLeft(); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	if entries, _ := os.ReadDir(box.work); len(entries) != 1 {
		t.Errorf("in the working directory: %v", entries)
	}
	needCopy(t, box)
	expectIn(t, "the demo", strings.Join(strings.Fields(got.stdout), " "), "c-go → 退出码 1", "-c-go-", "sh slug_test.sh → 退出码 0")
	box.write(".claude/ccc.json", 0o600, `{"language":"en"}`)
	box.vars = append(box.vars, "COLUMNS=60", "CCC_CONFIG_DIR=", "CLAUDE_CONFIG_DIR=")
	got = box.run(90*time.Second, "", "ccc", "demo")
	expectWidth(t, strings.ReplaceAll(got.stdout, demoTask.en, ""), 61)
	if got.code != 0 || !strings.Contains(got.stdout, "Review 2/10 approved") || chineseIn(got.stdout) != "" {
		t.Errorf("in English: %+v", got)
	}
}

// However a demo ends, it leaves nothing behind.
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
		for !strings.Contains(stdout.String(), "进行中") { // in the middle of the first review
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
		{"closed_pipe", "", "{ ccc demo; echo $? >&2; } | head -n 1", "下面是一次受监督的会话", "broken pipe\n1\n"},
		// Without awk, mkdir and all the rest the stand-in can't play.
		{"session_fails", "PATH=$PATH_OF_CCC", "ccc demo", "下面是一次受监督的会话", "ccc: the session ended early"},
		{"no_temporary_directory", "TMPDIR=/no/such/directory", "ccc demo", "", "/no/such/directory"},
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.ReplaceAll(test.vars, "$PATH_OF_CCC", filepath.Join(filepath.Dir(box.home), "bin")))
		got := box.run(90*time.Second, "", "/bin/sh", "-c", test.command)
		if left := box.demoLeft(); !strings.HasPrefix(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.stderr) || len(left) != 0 {
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
