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

// shownExample is the command of many lines that text, a request or a guide, shows: what stands behind its ccc try.
func shownExample(t *testing.T, text, ccc string) string {
	t.Helper()
	_, example, found := strings.Cut(text, "```sh\n"+ccc+" ")
	example, _, ended := strings.Cut(example, "\n```\n")
	if !found || !ended {
		t.Fatalf("no example in %s", text)
	}
	return example
}

// probesInCode is what reviewers write: Go, JSON, a shell function, braces, quotes and dollars.
const probesInCode = `dir=$(mktemp -d) && cd "$dir"
cat > case.json <<"J"
{"name": "it is", "items": [{"a": 1, "b": "two"}, {"a": 2, "b": "${HOME}"}]}
J
cat > main.go <<"G"
package main

import ("encoding/json"; "fmt"; "os")

type item struct { A int; B string }

func main() {
	var c struct { Name string; Items []item }
	text, _ := os.ReadFile("case.json")
	if err := json.Unmarshal(text, &c); err != nil { panic(err) }
	fmt.Println(map[string]int{"it\x27s": 1, "two": 2}["it\x27s"] + len(c.Name), len(c.Items), c.Items[1].B)
}
G
check() { for n in 1 2; do go run "$1" | grep "$2" || return $?; done; }
check main.go "6 2 .{HOME}"; printf "rc=%d it\047s\n" "$?"
check main.go absent`

// In dontAsk the example that the request and the guides show goes through as it stands there, and so does all else in
// that form; what would write outside of a copy does not. What was run changed nothing.
func TestRealClientCopy(t *testing.T) {
	try := tryCommand()
	example := shownExample(t, defaultPrompt.zh, "ccc try")
	expectIs(t, "what the guide shows", shownExample(t, defaultPrompt.en, "ccc try"), example)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	check(t, err)
	through := []string{
		try + " " + example,
		try + " '" + probesInCode + "'",
		try + ` 'echo one; touch made; cat notes.txt && pwd | wc -l'`,
		"cd sub && " + try + ` 'ls ../notes.txt; exit 4'`,
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
		box.vars = append(box.vars, "GOCACHE="+strings.TrimSpace(string(cache))) // one that is warm
		os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
		got := box.run(240*time.Second, "", "ccc", "--supervisor", "-p", "do it")
		expectRun(t, box, got, "done", verdictAllow)
		expectIs(t, "what the request shows", shownExample(t, api.requests("review")[0].last("user"), try), example)
		results := api.results()
		if len(results) < len(through)+len(refused) {
			t.Fatalf("results %q", results)
		}
		for i, want := range []string{`{"name": "it's", "days": [30, 31]}` + "\nit's fine", "6 2 ${HOME}\n6 2 ${HOME}\nrc=0 it's", "one\na note\n1", "../notes.txt"} {
			if !strings.Contains(results[i], want) {
				t.Errorf("%s: %q", through[i], results[i])
			}
		}
		for i, command := range refused {
			if result := results[len(through)+i]; !strings.Contains(result, "permission") && !strings.Contains(result, "denied") && !strings.Contains(result, "approval") && !strings.Contains(result, "blocked") {
				t.Errorf("%s was not refused: %q", command, result)
			}
		}
		want := []string{strings.Trim(example, "'") + " → 0", probesInCode + " → 1", "echo one; touch made; cat notes.txt && pwd | wc -l → 0", "ls ../notes.txt; exit 4 → 4"}
		expectEqual(t, "the runs", box.ranCommands(), want)
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
