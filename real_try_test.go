package main

// The copy in a review on the real Claude Code: which command lines go through, and what stays as it was.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
			if r.Step != nil && r.Step.Kind == stepRun {
				ran = append(ran, fmt.Sprintf("%s → %d", r.Step.Command, *r.Step.ExitCode))
			}
		}
	}
	return ran
}

// shownCommands are the command lines that request and prompt show in both languages: those in fences as they stand there, with
// a commit in the place of the tree, what goes into a script in the form of these, and the others by themselves.
func shownCommands(t *testing.T, try string) (commands []string) {
	t.Helper()
	fence, span := regexp.MustCompile("(?s)```sh\n(.*?)\n```"), regexp.MustCompile("`([^`\n]+)`")
	for _, language := range []string{chinese, english} {
		running := fmt.Sprintf(sectionRunning.in(language)+"\n"+sectionCompare.in(language), tryExample(try), compareExample(try, "HEAD"))
		for _, found := range fence.FindAllStringSubmatch(running, -1) {
			commands = append(commands, found[1])
		}
		for _, found := range span.FindAllStringSubmatch(fence.ReplaceAllString(running+defaultPrompt.in(language), ""), -1) {
			switch shown := found[1]; {
			case strings.HasPrefix(shown, "printf "):
				commands = append(commands, try+" 'dir=$(mktemp -d); "+shown+"'")
			case strings.HasPrefix(shown, "HOME="):
				commands = append(commands, try+" '"+shown+" true'")
			case strings.HasPrefix(shown, "try --timeout "):
				commands = append(commands, strings.Replace(shown, "try", try, 1)+" true")
			case slices.Contains([]string{"git status", "git diff", "git log", "ls"}, shown):
				commands = append(commands, shown)
			case shown == "cat":
				commands = append(commands, "cat notes.txt")
			}
		}
	}
	slices.Sort(commands)
	if commands = slices.Compact(commands); len(commands) != 10 {
		t.Errorf("request and prompt show %q", commands)
	}
	return commands
}

// refusal is what a result says of a call that Claude Code did not permit.
var refusal = lazyRegexp("permission|denied|approval|blocked")

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

// In dontAsk each command that the request and the prompts show goes through as it stands there, and so does all else in
// that form; what would write outside of a copy does not. What was run changed nothing.
func TestRealClientCopy(t *testing.T) {
	try := tryCommand()
	shown := shownCommands(t, try)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	check(t, err)
	through := []string{
		tryExample(try),
		try + " '" + probesInCode + "'",
		try + ` 'echo one; touch made; cat notes.txt && pwd | wc -l'`,
		"cd sub && " + try + ` 'ls ../notes.txt; exit 4'`,
	}
	refused := []string{
		try + ` 'true'; touch made`,
		try + ` 'true' && touch made`,
		try + ` 'echo x' > made`,
		"echo $(touch made) && " + try + " true",
		strings.Replace(try, " try", " "+tryInsideSubcommand+" made 80", 1),
		"touch made",
	}
	forClients(t, func() script {
		s := script{agent: []apiReply{bash("ls"), replyText("done")}} // of a turn of words alone nothing is run
		for _, command := range slices.Concat(through, refused, shown) {
			s.reviewer = append(s.reviewer, bash(command))
		}
		s.reviewer = append(s.reviewer, replyVerdict(true, ""))
		return s
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		box.repository()
		box.vars = append(box.vars, "GOCACHE="+strings.TrimSpace(string(cache))) // one that is warm
		os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
		got := box.run(240*time.Second, "", "ccc", "--supervisor", "-p", "do it")
		expectRun(t, box, got, "done", verdictAllow)
		expectIn(t, "the request", api.requests("review")[0].last("user"), tryExample(try), "make test; git stash -q -u && git restore -q -SWs ")
		results := api.results()
		if len(results) < len(through)+len(refused)+len(shown) {
			t.Fatalf("results %q", results)
		}
		for i, want := range []string{"61\n" + `{"name": "it's", "days": [30, 31]}` + "\nit's fine", "6 2 ${HOME}\n6 2 ${HOME}\nrc=0 it's", "one\na note\n1", "../notes.txt"} {
			if !strings.Contains(results[i], want) {
				t.Errorf("%s: %q", through[i], results[i])
			}
		}
		for i, command := range refused {
			if result := results[len(through)+i]; !refusal().MatchString(result) {
				t.Errorf("%s was not refused: %q", command, result)
			}
		}
		for i, command := range shown {
			if result := results[len(through)+len(refused)+i]; refusal().MatchString(result) {
				t.Errorf("%s was refused: %q", command, result)
			}
		}
		ran := box.ranCommands()
		example := strings.TrimSuffix(strings.TrimPrefix(tryExample(try), try+" '"), "'")
		want := []string{example + " → 0", probesInCode + " → 1", "echo one; touch made; cat notes.txt && pwd | wc -l → 0", "ls ../notes.txt; exit 4 → 4"}
		expectEqual(t, "the runs", ran[:min(len(want), len(ran))], want)
		isCopied := func(command string) bool { return strings.HasPrefix(command, try) }
		if n := len(slices.DeleteFunc(slices.Clone(shown), func(command string) bool { return !isCopied(command) })); len(ran) != len(want)+n {
			t.Errorf("%d runs, want %d: %q", len(ran), len(want)+n, ran)
		}
		names, _ := filepath.Glob(box.work + "/*")
		expectEqual(t, "the project", names, []string{box.work + "/.git", box.work + "/notes.txt", box.work + "/sub"})
	})
}

// Where no copy can be made the reviewer is told so, and may still read, and the user sees it in the session.
func TestRealClientWithoutCopies(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{bash(tryCommand() + " true"), bash("cat notes.txt"), replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		const forbidden = `for kind in user mnt; do echo 0 >/proc/sys/user/max_${kind}_namespaces; done; exec "$0" "$@"`
		tty := box.open("unshare", "-Ur", "sh", "-ec", forbidden, "ccc", "--supervisor")
		tty.prompt("hello")
		tty.waitFor(say(receiptLacksCopy, say(receiptNoCopy)), 90*time.Second)
		expectIn(t, "the request", api.lastReview(t), "没有一次性副本可用（原因：")
		results := api.results()
		if len(results) != 2 || !refusal().MatchString(results[0]) || !strings.Contains(results[1], "a note") {
			t.Errorf("the results %q", results)
		}
	})
}

// ordinary makes the commands of the box an ordinary user's, since as root 2.1.280's own sandbox fails at each command.
// All that is in the box by now is given to that user, with programs that it can reach.
func (box *sandbox) ordinary() {
	box.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	onlyRoot(box.t)
	box.runAs = madeUpUser
	dir := filepath.Dir(box.home)
	for _, name := range []string{"claude", "ccc"} { // by now a link into a directory of root's
		program := filepath.Join(dir, "bin", name)
		out, err := exec.Command("cp", "--remove-destination", "-L", program, program+".copy").CombinedOutput()
		if err != nil {
			box.t.Fatal(err, string(out))
		}
		check(box.t, os.Rename(program+".copy", program))
		check(box.t, os.Chmod(program, 0o755))
	}
	check(box.t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, madeUpUser, madeUpUser))
	}))
}

// projectFiles are the files of the project, with mode and content, and its directories.
func (box *sandbox) projectFiles() map[string]string {
	box.t.Helper()
	files := map[string]string{}
	check(box.t, filepath.WalkDir(box.work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		var content []byte
		if err == nil && info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		files[strings.TrimPrefix(path, box.work)] = fmt.Sprintf("%v %s", info.Mode(), content)
		return err
	}))
	return files
}

// Whatever a reviewer does outside a copy changes no file, with Claude Code's own sandbox switched on or off, and reading and
// the copy work: the copy runs outside the sandbox. What a rule of the user's lets run writes where it may, but
// not in the sandbox, even where the reviewer asks to leave it. What that sandbox itself leaves in a project (an empty
// .claude, empty files in .git) it leaves at the agent's calls: the agent makes one first.
func TestRealClientReadOnly(t *testing.T) {
	beside(t)
	for _, tool := range []string{"bwrap", "socat"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CCC_REAL_CLAUDE") != "" {
			t.Fatal(err)
		}
	}
	const notebook = `{"cells":[{"cell_type":"code","id":"a","metadata":{},"source":"1","outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	write := `python3 -c 'open("%s", "w")'`
	for _, mode := range []struct {
		name, settings       string
		isSandboxed, isRuled bool
	}{
		{"sandboxed_ruled", `{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true},"permissions":{"allow":["Bash(python3:*)"]}}`, true, true},
		{"sandboxed", `{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true}}`, true, false},
		{"ruled", `{"permissions":{"allow":["Bash(python3:*)","Edit","Write","NotebookEdit"]}}`, false, true},
	} {
		t.Run(mode.name, func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				try := shellQuote(box.program()) + " try"
				file := func(name string) string { return filepath.Join(box.work, name) }
				calls := []struct {
					call  apiReply
					wants string // in its result
				}{
					{bash("echo bad > notes.txt"), "Permission to use Bash"},
					{bash("touch made"), "Permission to use Bash"},
					{bash(fmt.Sprintf(write, "ruled")), ""},
					{replyTool("Bash", string(encodeJSON(map[string]any{"command": fmt.Sprintf(write, "left"), "description": "write",
						"dangerouslyDisableSandbox": true}))), ""},
					{replyTool("Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"a note","new_string":"bad"}`, file("notes.txt"))), "denied"},
					{replyTool("Write", fmt.Sprintf(`{"file_path":%q,"content":"bad"}`, file("made.txt"))), "denied"},
					{replyTool("Read", fmt.Sprintf(`{"file_path":%q}`, file("book.ipynb"))), `<cell id="a">`},
					{replyTool("NotebookEdit", fmt.Sprintf(`{"notebook_path":%q,"cell_id":"a","new_source":"2"}`, file("book.ipynb"))), "denied"},
					{bash("cat notes.txt"), "a note"},
					{replyTool("Read", fmt.Sprintf(`{"file_path":%q}`, file("notes.txt"))), "a note"},
					{bash(try + " 'cat notes.txt; touch made; echo x >notes.txt; exit 3'"), "Exit code 3\na note"},
				}
				var before map[string]string
				reviewed := 0
				api := box.answering(func(r apiRequest) apiReply {
					if r.Kind == "agent" {
						if len(r.Messages) < 3 && mode.isSandboxed {
							return bash("cat notes.txt")
						}
						return replyText("done")
					}
					reviewed++
					if reviewed == 1 {
						before = box.projectFiles()
					}
					if reviewed > len(calls) {
						return replyVerdict(true, "")
					}
					return calls[reviewed-1].call
				})
				box.write("../work/book.ipynb", 0o600, notebook)
				box.repository()
				box.setSettings(mode.settings)
				box.ordinary()
				needCopy(t, box)
				got := box.run(240*time.Second, "", "ccc", "--supervisor", "-p", "do it")
				expectRun(t, box, got, "done", verdictAllow)
				results := api.results()
				for i, c := range calls {
					if i >= len(results) || !strings.Contains(results[i], c.wants) || c.wants == "a note" && strings.Contains(results[i], "Exit code") {
						t.Errorf("result %d of %q: want %q", i, results, c.wants)
					}
				}
				if may := mode.isRuled && !mode.isSandboxed; may {
					before["/ruled"], before["/left"] = "-rw-r--r-- ", "-rw-r--r-- "
				}
				after := box.projectFiles()
				for name := range after {
					if after[name] != before[name] {
						t.Errorf("%s became %q, it was %q", name, after[name], before[name])
					}
				}
				for name := range before {
					if _, is := after[name]; !is {
						t.Errorf("%s is gone", name)
					}
				}
				expectEqual(t, "the runs", box.ranCommands(), []string{"cat notes.txt; touch made; echo x >notes.txt; exit 3 → 3"})
			})
		})
	}
}
