package main

// The copy in a review on the real Claude Code: which command lines go through, and what stays as it was.
// What a reviewer says there, and what is made of it.

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

// bash is a call of Bash.
func bash(command string) apiReply {
	return replyTool("Bash", fmt.Sprintf(`{"command":%s,"description":"look"}`, encodeJSON(command)))
}

// results returns what the reviewer's tools said, in order.
func (api *scriptedAPI) results() (results []string) {
	for _, r := range api.requests("review")[1:] {
		results = append(results, r.last("user"))
	}
	return results
}

// ranCommands are the command lines that ccc try recorded in the one session, with their exit codes.
func (box *sandbox) ranCommands() (ran []string) {
	for _, r := range box.onlyTimeline() {
		if r.Step != nil && r.Step.Kind == stepRun {
			ran = append(ran, fmt.Sprintf("%s → %d", r.Step.Command, *r.Step.ExitCode))
		}
	}
	return ran
}

// shownCommands are the command lines that request and prompt show in both languages: those in fences as
// they stand there, with a commit in the place of the tree, what goes into a script in the form of these,
// and the others by themselves.
func shownCommands(t *testing.T, try string) (commands []string) {
	t.Helper()
	fence, span := regexp.MustCompile("(?s)```sh\n(.*?)\n```"), regexp.MustCompile("`([^`\n]+)`")
	for _, language := range []string{chinese, english} {
		form := sectionRunning.in(language) + "\n" + sectionCompare.in(language)
		running := fmt.Sprintf(form, tryExample(try), compareExample(try, "HEAD"))
		for _, found := range fence.FindAllStringSubmatch(running, -1) {
			commands = append(commands, found[1])
		}
		rest := fence.ReplaceAllString(running+defaultPrompt.in(language), "")
		for _, found := range span.FindAllStringSubmatch(rest, -1) {
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
	commands = slices.Compact(commands)
	expectIs(t, fmt.Sprintf("the number of %q, which request and prompt show", commands), len(commands), 10)
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

// In dontAsk each command that the request and the prompts show goes through as it stands there, and so
// does all else in that form; what would write outside of a copy does not. What was run changed nothing.
func TestRealClientCopy(t *testing.T) {
	try := tryCommand()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	check(t, err)
	example := strings.TrimSuffix(strings.TrimPrefix(tryExample(try), try+" '"), "'")
	through := []struct{ command, result, ran string }{
		{tryExample(try), "61\n" + `{"name": "it's", "days": [30, 31]}` + "\nit's fine", example + " → 0"},
		{try + " '" + probesInCode + "'", "6 2 ${HOME}\n6 2 ${HOME}\nrc=0 it's", probesInCode + " → 1"},
		{try + ` 'echo one; touch made; cat notes.txt && pwd | wc -l'`, "one\na note\n1",
			"echo one; touch made; cat notes.txt && pwd | wc -l → 0"},
		{"cd sub && " + try + ` 'ls ../notes.txt; exit 4'`, "../notes.txt", "ls ../notes.txt; exit 4 → 4"},
	}
	commands := []string{
		try + ` 'true'; touch made`,
		try + ` 'true' && touch made`,
		try + ` 'echo x' > made`,
		"echo $(touch made) && " + try + " true",
		strings.Replace(try, " try", " "+tryInsideSubcommand+" made 80", 1),
		"touch made",
	}
	refused := len(commands)
	commands = append(commands, shownCommands(t, try)...)
	// Of a turn of words alone nothing is run.
	answers := script{agent: []apiReply{bash("ls"), replyText("done")}}
	wantedRuns := 0
	for _, c := range through {
		answers.reviewer = append(answers.reviewer, bash(c.command))
	}
	for i, command := range commands {
		answers.reviewer = append(answers.reviewer, bash(command))
		if i >= refused && strings.HasPrefix(command, try) {
			wantedRuns++
		}
	}
	answers.reviewer = append(answers.reviewer, replyVerdict(true, ""))
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		box.repository()
		warm := "GOCACHE=" + strings.TrimSpace(string(cache))
		box.vars = append(box.vars, testTrustVariable+"=", warm)
		check(t, os.Mkdir(filepath.Join(box.work, "sub"), 0o700))
		box.prints("done", "do it")
		box.expectVerdicts(verdictAllow)
		request := api.requests("review")[0].last("user")
		expectIn(t, "request", request, tryExample(try), "make test; git stash -q -u && git restore -q -SWs ")
		results, ran := api.results(), box.ranCommands()
		if len(results) < len(through)+len(commands) || len(ran) != len(through)+wantedRuns {
			t.Fatalf("results %q, runs %q", results, ran)
		}
		for i, want := range through {
			expectIn(t, want.command, results[i], want.result)
			expectIs(t, "a run", ran[i], want.ran)
		}
		for i, command := range commands {
			result := results[len(through)+i]
			expectIs(t, command+" is refused: "+result, refusal().MatchString(result), i < refused)
		}
		names, _ := filepath.Glob(box.work + "/*")
		is := strings.ReplaceAll(strings.Join(names, " "), box.work, "")
		expectIs(t, "the project", is, "/.git /notes.txt /sub")
	})
}

// ordinary makes the commands of the box an ordinary user's, since as root 2.1.280's own sandbox fails at
// each command. All that is in the box by now is given to that user, with programs that it can reach.
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
		out, err := exec.Command("cp", "-L", program, program+".copy").CombinedOutput()
		check(box.t, errors.Join(err, os.Rename(program+".copy", program), os.Chmod(program, 0o755)))
		expectIs(box.t, "cp", string(out), "")
	}
	check(box.t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, madeUpUser, madeUpUser))
	}))
}

// Whatever a reviewer does outside a copy changes no file, with Claude Code's own sandbox on or off, and
// reading and the copy work: the copy runs outside the sandbox. What a rule of the user's lets run writes
// where it may, but not in the sandbox, even where the reviewer asks to leave it. That sandbox leaves files
// of its own in a project at the agent's calls: the agent makes one first.
func TestRealClientReadOnly(t *testing.T) {
	for _, tool := range []string{"bwrap", "socat"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CCC_REAL_CLAUDE") != "" {
			t.Fatal(err)
		}
	}
	const notebook = `{"cells":[{"cell_type":"code","id":"a","metadata":{},"source":"1","outputs":[],` +
		`"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	const sandboxed = `"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true}`
	const ruled = `"permissions":{"allow":["Bash(python3:*)","Edit","Write","NotebookEdit"]}`
	mayWrite := map[string]bool{sandboxed + "," + ruled: false, ruled: true}
	for settings, writes := range mayWrite {
		forRow(t, settings, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
			file := func(tool, name, members string) apiReply {
				kind := map[bool]string{true: "notebook_path", false: "file_path"}[tool == "NotebookEdit"]
				return replyTool(tool, fmt.Sprintf(`{%q:%q%s}`, kind, filepath.Join(box.work, name), members))
			}
			calls := []struct {
				call  apiReply
				wants string // in its result
			}{
				{bash("echo bad > notes.txt"), "Permission to use Bash"},
				{bash("touch made"), "Permission to use Bash"},
				{bash(`python3 -c 'open("ruled", "w")'`), ""},
				{replyTool("Bash", `{"command":"python3 -c 'open(\"left\", \"w\")'","description":"write",`+
					`"dangerouslyDisableSandbox":true}`), ""},
				{file("Edit", "notes.txt", `,"old_string":"a note","new_string":"bad"`), "denied"},
				{file("Write", "made.txt", `,"content":"bad"`), "denied"},
				{file("Read", "book.ipynb", ""), `<cell id="a">`},
				{file("NotebookEdit", "book.ipynb", `,"cell_id":"a","new_source":"2"`), "denied"},
				{bash("cat notes.txt"), "a note"},
				{file("Read", "notes.txt", ""), "a note"},
				{bash(shellQuote(box.program()) +
					" try 'cat notes.txt; touch made; echo x >notes.txt; exit 3'"), "Exit code 3\na note"},
			}
			var before []string
			reviewed := 0
			api := box.answering(func(r apiRequest) apiReply {
				if r.Kind == "agent" && len(r.Messages) < 3 && !writes {
					return bash("cat notes.txt")
				}
				if r.Kind == "agent" || reviewed == len(calls) {
					return usualReply(r)
				}
				if reviewed == 0 {
					before = snapshotOf(box.work, nil)
				}
				reviewed++
				return calls[reviewed-1].call
			})
			box.write("../work/book.ipynb", 0o600, notebook)
			box.repository()
			box.setSettings("{" + settings + "}")
			box.vars = append(box.vars, testTrustVariable+"=")
			box.ordinary()
			needCopy(t, box)
			box.prints("done", "do it")
			box.expectVerdicts(verdictAllow)
			results := api.results()
			for i, c := range calls {
				expectIn(t, "a result", results[i], c.wants)
				fails := c.wants == "a note" && strings.Contains(results[i], "Exit code")
				expectIs(t, "reading fails: "+results[i], fails, false)
			}
			if writes {
				before = append(before, `/ruled -rw-r--r-- ""`, `/left -rw-r--r-- ""`)
			}
			slices.Sort(before)
			after := snapshotOf(box.work, nil)
			slices.Sort(after)
			expectEqual(t, "the project", after, before)
			ran := []string{"cat notes.txt; touch made; echo x >notes.txt; exit 3 → 3"}
			expectEqual(t, "the runs", box.ranCommands(), ran)
		})
	}
}

// A reviewer that Claude Code wakes because what it has started has ended: with words it takes its verdict
// back in no way, and a verdict that it gives only then counts. The request asks for none before.
func TestRealClientReviewerWoken(t *testing.T) {
	const refusal = `{"allow_stop": false, "feedback": "fix the race"}`
	const approval = `{"allow_stop": true, "feedback": ""}`
	const noted, waiting = "Noted. My verdict stands.", "I wait for it."
	for _, play := range []struct {
		name, starts string
		withCache    bool
		says, woken  string // JSON of a verdict, or words
		want         string
	}{
		{"approved with the cache", "subagent", true, approval, noted, "allow"},
		{"waited for a command", "command", true, waiting, refusal, "block allow"},
	} {
		forRow(t, play.name, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
			say := func(text string) apiReply {
				if strings.HasPrefix(text, "{") && !play.withCache {
					return replyTool("StructuredOutput", text)
				}
				return replyText(text)
			}
			api := box.answering(func(r apiRequest) apiReply {
				switch last := r.last("user"); {
				case strings.Contains(last, "be a subagent"):
					return apiReply{text: "I found nothing.", takes: time.Second}
				case r.Kind != "review" && play.withCache:
					return replyText("done").after(cacheLeast)
				case r.Kind != "review":
					return replyText("done")
				case strings.Contains(r.request(), "第 2 轮，最多"):
					return say(approval)
				case strings.Contains(last, "task-notification"), strings.Contains(last, "output-enforce"):
					return say(play.woken)
				case strings.Contains(last, "## ") && play.starts == "command":
					return inBackground("cat notes.txt; sleep 2")
				case strings.Contains(last, "## "):
					return r.delegates("be a subagent")
				}
				return say(play.says)
			})
			box.prints("done", "hello")
			expectEqual(t, "the sessions", box.supervised(), []string{"hello: " + play.want})
			if agent := api.requests("agent"); play.want != "allow" {
				feedback := agent[len(agent)-1].last("user")
				expectIn(t, "what the agent got", feedback, "Stop hook feedback:\nfix the race")
			}
			expectIn(t, "the request", api.lastReview(t), "都结束了，再给判定")
		})
	}
}

// Of a model that Claude Code does not know no cost is recorded or shown, and what it says of the model is
// no part of the reason why a review failed.
func TestRealClientUnknownModel(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		box.by(toReviewer("第 1 轮，最多", replyVerdict(false, "not yet")),
			toReviewer("", replyError(400, "invalid_request_error", "planted")))
		box.vars = append(box.vars, "ANTHROPIC_MODEL=glm-4.7")
		box.prints("done", "hello")
		box.expectVerdicts(verdictBlock, verdictFailed)
		refused, failed := endsOf(box.onlyTimeline())[0], lastReview(t, box.onlyTimeline())
		expectIs(t, "the costs", refused.CostUSD+failed.CostUSD, 0)
		expectIs(t, "it counts tokens", refused.Tokens != nil && refused.Tokens.Input > 0, true)
		expectIn(t, "the reason", failed.Error, "planted")
		for _, view := range []string{"status", "log", "verdict"} {
			got := box.run(patience, "", "ccc", view)
			expectNotIn(t, view, got.stdout+got.stderr, "$", "claude-code:")
		}
	})
}
