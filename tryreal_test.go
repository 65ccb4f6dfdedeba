package main

// The copy in a review on the real Claude Code: which command lines go through, and what stays as it was.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// bash is a reviewer's call of Bash.
func bash(command string) apiReply {
	return replyTool("Bash", fmt.Sprintf(`{"command":%s,"description":"look"}`, encodeJSON(command)))
}

// results returns what the reviewer's tools said, in order.
func (api *scriptedAPI) results() (results []string) {
	requests := api.requests("review")
	for i := 1; i < len(requests); i++ {
		results = append(results, requests[i].last("user"))
	}
	return results
}

// ranCommands are the command lines that ccc try recorded in the sandbox, with their exit codes.
func (box *sandbox) ranCommands() (ran []string) {
	files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	for _, file := range files {
		for _, r := range box.timeline(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "supervisor-"), "-events.jsonl")) {
			if r.Event == eventTry {
				ran = append(ran, fmt.Sprintf("%s → %d", r.Command, *r.ExitCode))
			}
		}
	}
	return ran
}

// In dontAsk the command line of the request goes through, in each of the forms that the prompt teaches, and no other
// that writes. What was run changed nothing.
func TestRealClientCopy(t *testing.T) {
	try := tryCommand()
	through := []string{
		try + ` 'echo one; touch made; cat notes.txt && pwd | wc -l'`,
		try + ` sh -c 'echo "two $0"' x`,
		"cd sub && " + try + ` 'ls ../notes.txt; exit 4'`,
		try + " sh <<'EOF'\ncat notes.txt\necho three\nEOF", // up to 2.1.30 without redirections
	}
	refused := []string{
		try + ` 'true'; touch made`,
		try + ` 'true' && touch made`,
		try + ` 'echo x' > made`,
		"echo $(touch made) && " + try + " true",
		strings.Replace(try, " try", " supervisor-mode off", 1),
		strings.Replace(try, " try", " "+tryInsideSubcommand+" made 80", 1),
		"touch made",
	}
	forClients(t, func() script {
		s := script{agent: []apiReply{replyText("done")}}
		for _, command := range slices.Concat(through, refused) {
			s.reviewer = append(s.reviewer, bash(command))
		}
		s.reviewer = append(s.reviewer, replyVerdict(true, ""))
		return s
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "do it")
		expectRun(t, box, got, "done", verdictAllow)
		if text := api.requests("review")[0].last("user"); !strings.Contains(text, try+" '命令'") {
			t.Errorf("the request is %s", text)
		}
		results := api.results()
		if len(results) < len(through)+len(refused) {
			t.Fatalf("results %q", results)
		}
		for i, want := range []string{"one\na note\n1", "two x", "../notes.txt", "a note\nthree"} {
			if !strings.Contains(results[i], want) {
				t.Errorf("%s: %q", through[i], results[i])
			}
		}
		for i, command := range refused {
			if result := results[len(through)+i]; !strings.Contains(result, "permission") && !strings.Contains(result, "denied") && !strings.Contains(result, "approval") && !strings.Contains(result, "blocked") {
				t.Errorf("%s was not refused: %q", command, result)
			}
		}
		want := []string{"echo one; touch made; cat notes.txt && pwd | wc -l → 0", `sh -c 'echo "two $0"' x → 0`, "ls ../notes.txt; exit 4 → 4", "sh → 0"}
		if ran := box.ranCommands(); !slices.Equal(ran, want) {
			t.Errorf("ran %q", ran)
		}
		if names, _ := filepath.Glob(box.work + "/*"); len(names) != 2 {
			t.Errorf("the project holds %q", names)
		}
		if hidden, _ := filepath.Glob(box.work + "/.*"); len(hidden) != 0 {
			t.Errorf("the project holds %q", hidden)
		}
	})
}

// Where the user has Claude Code's own sandbox switched on, the copy works too: outside of the sandbox, and alone
// there. What the user's allow rules name stays inside of it.
func TestRealClientCopySandbox(t *testing.T) {
	for _, tool := range []string{"bwrap", "socat"} {
		if _, err := exec.LookPath(tool); err != nil {
			skipTry(t, err.Error())
		}
	}
	try := tryCommand()
	forNewest(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{
			bash(try + ` 'cat notes.txt; touch made'`), bash("sh write.sh"), bash(try + " true; sh write.sh"), bash("sh write.sh; " + try + " true"), replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		box.setSettings(`{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true},"permissions":{"allow":["Bash(sh write.sh)"]}}`)
		box.write("../work/write.sh", 0o700, "echo written >>allowed; cat notes.txt\n")
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "do it")
		expectRun(t, box, got, "done", verdictAllow)
		results := api.results()
		for i, want := range []string{"a note", "Read-only file system", "Read-only file system", "Read-only file system"} {
			if i >= len(results) || !strings.Contains(results[i], want) {
				t.Errorf("result %d of %q: want %q", i, results, want)
			}
		}
		for _, name := range []string{"made", "allowed"} {
			if _, err := os.Lstat(filepath.Join(box.work, name)); err == nil {
				t.Errorf("the reviewer made %s", name)
			}
		}
	})
}
