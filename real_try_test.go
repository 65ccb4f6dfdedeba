package main

// The copy in a review on the real Claude Code: which command lines go through, and what stays as it was.
//
// What a reviewer of the real Claude Code says, and what is made of it.
//
// ccc's commands beside the real Claude Code.

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
	"syscall"
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
		expectIn(t, "the request", api.lastReview(t), "这里建不了副本（原因：")
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

// A reviewer that Claude Code wakes because what it has started has ended: with words it takes its verdict back
// in no way, and a verdict that it gives only then counts. The request asks for none before.
func TestRealClientReviewerWoken(t *testing.T) {
	beside(t)
	const refusal = `{"allow_stop": false, "feedback": "fix the race"}`
	const approval = `{"allow_stop": true, "feedback": ""}`
	const noted, waiting = "Noted. My verdict stands.", "I wait for it."
	for _, play := range []struct {
		name, starts string
		withCache    bool
		says, woken  string // JSON of a verdict, or words
		want         string
	}{
		{"refused", "subagent", false, refusal, noted, "block allow"},
		{"approved", "subagent", false, approval, noted, "allow"},
		{"refused with the cache", "subagent", true, refusal, noted, "block allow"},
		{"approved with the cache", "subagent", true, approval, noted, "allow"},
		{"waited", "subagent", true, waiting, refusal, "block allow"},
		{"waited for a command", "command", true, waiting, refusal, "block allow"},
	} {
		t.Run(play.name, func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				say := func(text string) apiReply {
					if strings.HasPrefix(text, "{") && !play.withCache {
						return replyTool("StructuredOutput", text)
					}
					return replyText(text)
				}
				start := func(r apiRequest) apiReply {
					if play.starts == "command" {
						return replyTool("Bash", `{"command":"cat notes.txt; sleep 2","description":"test",`+
							`"run_in_background":true}`)
					}
					tool := "Task"
					if slices.Contains(r.Tools, "Agent") {
						tool = "Agent"
					}
					return replyTool(tool, `{"description":"look","prompt":"be a subagent",`+
						`"subagent_type":"general-purpose","run_in_background":true}`)
				}
				api := newAnsweringAPI(t, verdictForm.zh, func(r apiRequest) apiReply {
					switch last := r.last("user"); {
					case strings.Contains(last, "be a subagent"):
						return apiReply{text: "I found nothing.", takes: time.Second}
					case r.Kind != "review" && play.withCache:
						return replyText("done").after(cacheLeast)
					case r.Kind != "review":
						return replyText("done")
					case strings.Contains(r.request(), "第 2 轮，最多"):
						return say(approval)
					case strings.Contains(last, "task-notification"),
						strings.Contains(last, "structured-output-enforce"):
						return say(play.woken)
					case strings.Contains(last, "## "):
						return start(r)
					}
					return say(play.says)
				})
				box.use(api)
				got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				expectIs(t, "the answer", strings.TrimSpace(got.stdout), "done")
				expectEqual(t, "the sessions", box.supervised(), []string{"hello: " + play.want})
				if strings.HasPrefix(play.want, "block") {
					agent := api.requests("agent")
					feedback := agent[len(agent)-1].last("user")
					expectIn(t, "what the agent got", feedback, "Stop hook feedback:\nfix the race")
				}
				expectIn(t, "the request", api.lastReview(t), "都结束了，再给判定")
			})
		})
	}
}

// A reviewer that goes on to give no verdict: the agent gets its words twice, or the default feedback once where
// there are none. Then there is no review.
func TestRealClientFormless(t *testing.T) {
	beside(t)
	const words, instead = "TestNext panics.", "请继续完成任务"
	for _, play := range []struct {
		name      string
		withCache bool
		says      apiReply // again and again
		agent     []string // what it gets
	}{
		{"words", false, replyText(words), []string{words, words}},
		{"words with the cache", true, replyText(words), []string{words, words}},
		{"nothing", false, replyNothing(), []string{instead}},
		{"thoughts with the cache", true, replyThinking("Is it done?"), []string{instead}},
		{"a placeholder with the cache", true, replyText("(no content)"), []string{instead}},
	} {
		t.Run(play.name, func(t *testing.T) {
			forClients(t, func() script {
				agent, reviewer := []apiReply{replyText("done")}, []apiReply{play.says}
				if play.withCache {
					agent[0] = agent[0].after(cacheLeast)
				}
				return script{marker: verdictForm.zh, agent: agent, reviewer: reviewer}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				blocked := slices.Repeat([]verdict{verdictBlock}, len(play.agent))
				expectRun(t, box, got, "done", append(blocked, verdictFailed)...)
				var feedback []string
				for _, r := range api.requests("agent") {
					_, text, isFeedback := strings.Cut(r.last("user"), "Stop hook feedback:\n")
					if isFeedback {
						feedback = append(feedback, strings.TrimSpace(strings.Split(text, "\n")[0]))
					}
				}
				expectEqual(t, "what the agent got", feedback, play.agent)
				why := ""
				for _, r := range endsOf(box.onlyTimeline()) {
					why += r.Error
				}
				expectIn(t, "the reason", why, "次没有给出判定")
				expectIs(t, "the first way", endsOf(box.onlyTimeline())[0].Way == "cache", play.withCache)
			})
		})
	}
}

// Of a model that Claude Code does not know no cost is recorded or shown, and what it says of the model is no
// part of the reason why a review failed.
func TestRealClientUnknownModel(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(byIteration(func(apiRequest) apiReply { return replyText("done") },
			replyVerdict(false, "not yet"), replyError(400, "invalid_request_error", "planted")))
		box.vars = append(box.vars, "ANTHROPIC_MODEL=glm-4.7")
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		expectRun(t, box, got, "done", verdictBlock, verdictFailed)
		for _, r := range api.requests("review") {
			expectIs(t, "the reviewer's model", r.Model, "glm-4.7")
		}
		for _, r := range endsOf(box.onlyTimeline()) {
			if r.Verdict == verdictFailed && !strings.HasSuffix(r.Error, "planted") {
				t.Errorf("the reason is %q", r.Error)
			}
			if r.CostUSD != 0 || r.Verdict == verdictBlock && r.Tokens.Input == 0 {
				t.Errorf("$%v, %+v", r.CostUSD, r.Tokens)
			}
		}
		ids, err := box.stateDir().sessions()
		check(t, err)
		const prompted = `{"session_id":%q,"hook_event_name":"UserPromptSubmit","prompt":"/supervisor"}`
		event := fmt.Sprintf(prompted, ids[0])
		for _, view := range []string{"status", "log", "verdict", "supervisor-hook"} {
			got := box.run(20*time.Second, event, "ccc", view)
			expectNotIn(t, view, got.stdout+got.stderr, "$", "claude-code:")
			expectIs(t, view+" shows something", got.stdout+got.stderr != "", true)
		}
		expectNotIn(t, "the log for programs", box.run(20*time.Second, "", "ccc", "log", "--json").stdout, "cost_usd")
		expectIn(t, "the status for programs", box.run(20*time.Second, "", "ccc", "status", "--json").stdout, `"cost_usd":0,`)
		expectNotIn(t, "the log", box.log(), "cost_usd", "claude-code:")
	})
}

// What a reviewer read is a file that was there, and no list of tools or skill: a verdict that rests on less
// says so.
func TestRealClientRead(t *testing.T) {
	calls := []apiReply{replyTool("Read", `{"file_path":"missing.txt"}`), // one in each review
		replyTool("Skill", `{"skill":"none-of-these"}`),
		replyTool("ToolSearch", `{"query":"select:WebFetch","max_results":1}`),
		replyTool("Read", `{"file_path":"notes.txt"}`)}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			if r.Kind != "review" {
				return replyText("done")
			}
			for i, call := range calls {
				if strings.Contains(r.request(), fmt.Sprintf("第 %d 轮，最多", i+1)) && stepsOf(r) == 0 {
					return call
				}
			}
			return replyVerdict(strings.Contains(r.request(), fmt.Sprintf("第 %d 轮", len(calls))), "not yet")
		})
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		expectRun(t, box, got, "done", verdictBlock, verdictBlock, verdictBlock, verdictAllow)
		state := box.stateDir()
		ids, _ := state.sessions()
		past, err := state.session(ids[0]).readHistory()
		check(t, err)
		for i, r := range past.Reviews { // older clients refuse the third call: they have no such tool
			basis := r.verdictBasis()
			if (basis == receiptRead.zh) != (i == 3) || i < 2 && basis != receiptNothing.zh {
				t.Errorf("review %d: %q, %q", i+1, basis, r.did.Tools)
			}
		}
		log := box.run(20*time.Second, "", "ccc", "log").stdout
		expectIn(t, "ccc log", log, "查看 notes.txt")
		expectNotIn(t, "ccc log", log, "missing.txt", "none-of-these")
	})
}

// What `ccc --supervisor PROMPT -p && ccc verdict` says of each end that a session can have. The prompt, which comes first,
// names the end; a turn that an API error ends has no stop. A review that does not take place sends the agent nowhere.
func TestRealClientVerdict(t *testing.T) {
	const secret = "UNIQUE-ERROR-TEXT"
	failures := map[string]apiReply{"401": replyError(401, "authentication_error", secret), "529": replyError(529, "overloaded_error", secret),
		"malformed": replyTool("StructuredOutput", `{"verdict":"`+secret+`"}`)}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			_, end, _ := strings.Cut(r.text(), "it shall end with ")
			end, _, _ = strings.Cut(end, ".")
			again := strings.Contains(r.text(), "Stop hook feedback")
			failure, fails := failures[end]
			switch review := r.Kind == "review"; {
			case !review && end == "none", !review && end == "block" && again:
				return failures["401"]
			case review && fails:
				return failure
			case review:
				return replyVerdict(end == "allow" && again, "not yet")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
		for _, test := range []struct {
			end, verdict string
			code         int
			logged       string
		}{
			{"allow", "allow", 0, "verdict=allow"}, {"block", "block", 1, "verdict=block"}, {"limit", "limit", 1, ""}, {"none", "none", 3, ""},
			{"401", "failed", 1, secret}, {"529", "failed", 1, "API Error"}, {"malformed", "failed", 1, "error_max_structured_output_retries"},
		} {
			before, asked := len(box.log()), len(api.requests("agent"))
			run := box.run(90*time.Second, "", "ccc", "--supervisor", "it shall end with "+test.end+".", "-p")
			got := box.run(10*time.Second, "", "ccc", "verdict")
			if got.code != test.code || got.stdout != test.verdict+"\n" || test.verdict == "block" && !strings.Contains(got.stderr, "not yet") || !strings.Contains(box.log()[before:], test.logged) {
				t.Errorf("%s: got %+v after %+v", test.end, got, run)
			}
			if n := len(api.requests("agent")) - asked; test.verdict == "failed" && (n != 1 || run.code != 0 || run.stdout != "done\n") {
				t.Errorf("%s: %d agent requests, want 1, and %+v", test.end, n, run)
			}
		}
		expectEnd(t, "switched off: the one before", box.run(60*time.Second, "", "sh", "-c", `ccc --supervisor "/supervisor off" -p >/dev/null 2>&1; ccc verdict`), 1, "failed\n", "ccc")
		// A hook by hand, of a session that the client does not know.
		expectEnd(t, "no such session", box.hook(ofSession("01234567-89ab-4cde-8f01-23456789abcd", box.event(eventStop, ""))), 0, "", "No conversation found")
	})
}

// `ccc log -f` in another terminal goes on with the session that /clear begins.
func TestRealClientFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "COLUMNS=100")
		output, end := follow(t, box, "-f")
		defer end(syscall.SIGTERM)
		await(t, output, "等待第一个会话")
		tty := box.start()
		tty.prompt("the first request")
		await(t, output, "用户\n    the first request\n")
		box.awaitVerdicts(1)
		await(t, output, "审查 1/10：通过\n")
		tty.prompt("/clear")
		tty.waitUntil("an empty conversation", 60*time.Second, func(screen string) bool { return !strings.Contains(screen, "the first request") })
		tty.prompt("the second request")
		tty.shows(10*time.Second, func(string) bool { return strings.Count(output(), "会话 ") == 2 })
		await(t, output, "用户\n    the second request\n")
		api.await(t, "review", 2, 120*time.Second)
		tty.shows(10*time.Second, func(string) bool { return strings.Count(output(), "审查 1/10：通过\n") == 2 })
		if got := output(); strings.Count(got, "审查 1/10：通过\n") != 2 || strings.Count(got, "the first request") != 1 || strings.Contains(got, "提示词：") {
			t.Errorf("it says\n%s", got)
		}
	})
}

// A session in English, by the locale: the spinner, what the user and the agent
// are told, and what the reviewer is asked; the next launch in Chinese is Chinese.
func TestRealClientLanguage(t *testing.T) {
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		reviews := 0
		api := box.answering(func(r apiRequest) apiReply {
			switch {
			case r.Kind != "review":
				return replyText("the answer")
			case strings.Contains(r.last("user"), "second request"):
				return replyError(401, "authentication_error", "the key is gone")
			}
			time.Sleep(2 * time.Second) // for the spinner
			if reviews++; reviews == 1 {
				return replyVerdict(false, "")
			}
			return replyVerdict(true, "rotate the key yourself")
		})
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		tty := box.start()
		tty.prompt("first request")
		tty.waitFor("This session is supervised: up to 10 reviews per request.", 90*time.Second)
		tty.waitFor("[SUPERVISOR] Reviewing the work", 90*time.Second)
		tty.waitFor("Please go on until the task is done.", 90*time.Second)
		tty.waitFor("The reviewer leaves this to you: rotate the key yourself", 90*time.Second)
		box.awaitVerdicts(2)
		request := api.lastReview(t)
		expectIn(t, "the request", request, "\n## Running commands\n", "\n## The user's requests (in order, verbatim)\n\n[1] first request\n",
			"\n## Previous feedback\nPlease go on until the task is done.\n", "\n## Round\nRound 2 of at most 10. The whole review has ")
		if r := api.requests("review")[0]; !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.en)) || !strings.Contains(string(r.Body), "the work is impeccable") {
			t.Errorf("the reviewer was told %.300s", r.System)
		}
		tty.prompt("/supervisor")
		tty.waitFor("Supervision: on · reviews of this request: 2/10 · approved", 90*time.Second)
		tty.prompt("second request")
		tty.waitFor("There was no review, so nobody checked the agent's work. Cause: the reviewer failed", 90*time.Second)
		for what, text := range map[string]string{"the screen": tty.screen(), "the request": request, "settings.json": box.settings(),
			"the command": box.read(".claude/commands/supervisor.md"), "log": box.ccc("log"), "status": box.ccc("status")} {
			if found := chineseIn(text); found != "" {
				t.Errorf("Chinese in %s: %s", what, found)
			}
		}
		tty.tmux("kill-server")
		tty.shows(10*time.Second, func(string) bool { return tty.tmux("list-sessions").code != 0 }) // a server on its way out takes no session
		os.Remove(tty.socket)
		box.vars = append(box.vars, "LANG=zh_CN.UTF-8")
		tty = box.start()
		tty.prompt("first request")
		tty.waitFor("本会话受监督 每项要求最多审查 10 次", 90*time.Second)
		tty.waitFor("[SUPERVISOR] 正在审查工作", 90*time.Second)
		tty.waitFor("审查者给你的留言：rotate the key yourself", 90*time.Second)
	})
}
