package main

// Which words are the user's, on the real Claude Code.
//
// Recordings of the real client under testdata/recordings, for the fast tests of transcript_test.go: hook events,
// transcripts and reviewers' streams of each version. With CCC_RECORD set the tests that play them write them anew.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A background task that runs is stopped in the fork of a review alone. What Claude Code submits when it ends
// is no request: it is not listed, and what was asked for last stays. Until it has ended the reviews are counted on.
func TestRealClientBackgroundTask(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review" && !strings.Contains(r.request(), "上次反馈") && !strings.Contains(r.request(), "and more"):
				time.Sleep(3 * time.Second) // a model takes its time, and the fork has said something of its own before
				return replyVerdict(false, "show the tests")
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "start it"):
				return replyTool("Bash", `{"command":"until [ -e ended ]; do sleep 0.2; done","run_in_background":true,"description":"serve"}`)
			}
			return replyText("the server runs")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("start it")
		review := api.await(t, "review", 1, 120*time.Second)[0]
		box.awaitVerdicts(2)
		expectIn(t, "the fork", review.text(), "<status>stopped</status>")
		expectIn(t, "the request", review.request(), "## 正在运行的后台任务", "until [ -e ended ]", "分叉里没有这些任务")
		tty.prompt("and more") // beside a server that runs all day nothing ends
		box.awaitVerdicts(3)
		expectEqual(t, "the requests beside the task", listedRequests(t, api.lastReview(t)), []string{"LETGO start it", "and more"})
		box.write("../work/ended", 0o600, "")
		box.awaitVerdicts(4)
		expectIn(t, "what the agent got, else the test shows nothing,", strings.Join(api.agentsUserTexts(), "\n"), "<task-notification>")
		request := api.lastReview(t)
		expectEqual(t, "the requests when it has ended", listedRequests(t, request), []string{"LETGO start it", "LETGO and more"})
		expectIn(t, "the request", request, "第 2 轮，")
		tty.prompt("the end")
		box.awaitVerdicts(5)
		expectEqual(t, "the requests behind it", listedRequests(t, api.lastReview(t)), []string{"PASSED start it", "PASSED and more", "the end"})
		box.recordTranscript(client.version, "background", api)
	})
}

// A background task that ends brings no new reviews, so behind the limit its turn ends as it is. A prompt that the agent has scheduled
// does: Claude Code submits it as a prompt, which is none of the requests, and not waited for.
func TestRealClientWoken(t *testing.T) {
	beside(t)
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			verdicts := len(box.timelineVerdicts())
			switch last := r.last("user"); {
			case r.Kind == "review" && verdicts == 0:
				return replyError(400, "invalid_request_error", "planted")
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "start it"):
				return replyTool("Bash", `{"command":"until [ -e ended ]; do sleep 0.2; done","run_in_background":true,"description":"serve"}`)
			case strings.Contains(last, "<task-notification>"):
				return replyTool("CronCreate", `{"cron":"* * * * *","prompt":"check the build","recurring":true}`)
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("start it")
		box.awaitVerdicts(1)
		box.write("../work/ended", 0o600, "")
		box.awaitVerdicts(3)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictFailed, verdictLimit, verdictAllow})
		expectEqual(t, "the requests", requestsOf(t, api.lastReview(t)), []string{"start it"})
		expectEqual(t, "the prompts", box.loggedPrompts(), []string{"start it", "check the build"})
		paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
		talk, err := readConversation(paths[0])
		check(t, err)
		expectIn(t, "what Claude Code has submitted", strings.Join(talk.submitted, "\n"), "check the build")
		texts := strings.Join(api.agentsUserTexts(), "\n")
		expectIn(t, "what the agent got, else the test shows nothing,", texts, "<task-notification>", "check the build")
	})
}

// Only what stands in the conversation is given to the reviewer: not what was taken back or kept out, but
// what was typed while the agent worked, and what was said before a compaction and before a fork.
func TestRealClientRequests(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		queued, last := make(chan bool), make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			switch words := r.last("user"); {
			case r.Kind == "review":
				<-queued
				return replyVerdict(true, "")
			case strings.HasSuffix(words, "slow words"):
				<-last
			case strings.Contains(words, "with a tool") && !strings.Contains(words, "slept"):
				return bash("until [ -e typed ]; do sleep 0.1; done; sleep 1; echo slept")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.write("block.sh", 0o700, "#!/bin/sh\ngrep -q SECRET && echo '{\"decision\":\"block\",\"reason\":\"kept out\"}' || exit 0\n")
		box.setSettings(`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"` + box.home + `/block.sh"}]}]}}`)
		tty := box.start("--permission-mode", "bypassPermissions")
		expectRequests := func(verdicts int, want ...string) {
			t.Helper()
			box.awaitVerdicts(verdicts)
			expectEqual(t, "the requests", listedRequests(t, api.lastReview(t)), want)
			if got := box.timelineVerdicts(); slices.ContainsFunc(got, func(v verdict) bool { return v != verdictAllow }) {
				t.Errorf("verdicts %q", got)
			}
		}
		tty.prompt("first request")
		api.await(t, "review", 1, 120*time.Second)
		tty.enter("queued request") // while the review runs: the next request
		close(queued)
		expectRequests(2, "PASSED first request", "queued request")
		tty.enter("the SECRET is x") // the newest clients give it back, for the next one to delete
		tty.waitFor("kept out", 90*time.Second)
		tty.prompt("taken back")
		expectRequests(3, "PASSED queued request", "taken back")
		tty.rewind("taken back")
		tty.enter("second request with a tool")
		tty.waitFor("until [ -e typed ]", 90*time.Second)
		tty.enter("typed meanwhile")
		box.write("../work/typed", 0o600, "")
		expectRequests(4, "PASSED queued request", "second request with a tool", "typed meanwhile")
		for _, r := range api.requests("review") {
			if strings.Contains(r.text(), "SECRET") {
				t.Fatal("a review sent what a hook had kept out")
			}
		}
		tty.prompt("/compact")
		tty.waitFor("Compacted", 90*time.Second)
		tty.prompt("third request")
		expectRequests(5, "PASSED second request with a tool", "PASSED typed meanwhile", "third request")
		reviews := api.requests("review")
		if conversation := reviews[len(reviews)-1].text(); strings.Count(conversation, "typed meanwhile") != 1 {
			t.Errorf("the conversation was not compacted: the test shows nothing\n%s", conversation)
		}
		// What is typed during the agent's last words waits behind its stop: the next review has it, and this one does not wait for it.
		asked := len(api.requests("agent"))
		tty.prompt("slow words")
		api.await(t, "agent", asked+1, 60*time.Second)
		tty.enter("typed at the last words")
		tty.waitUntil("the queued words", 60*time.Second, func(screen string) bool {
			return !strings.HasPrefix(inputLine(screen), "❯ typed") && strings.Contains(screen, "typed at the last words")
		})
		close(last)
		api.await(t, "review", 7, 90*time.Second)
		box.awaitVerdicts(7)
		reviews = api.requests("review")
		expectEqual(t, "the requests of the stop", listedRequests(t, reviews[len(reviews)-2].request()), []string{"PASSED third request", "slow words"})
		expectRequests(7, "PASSED slow words", "typed at the last words")
		tty.tmux("kill-server")
		box.quiet(20 * time.Second)
		box.recordTranscript(client.version, "requests", api)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "--continue", "--fork-session", "-p", "forked request")
		expectEqual(t, fmt.Sprintf("the requests in a fork: %+v", got), listedRequests(t, api.lastReview(t)),
			[]string{"third request", "slow words", "typed at the last words", "forked request"}) // it has what is behind the compaction
	})
}

// The request says what became of the requests before, also behind a compaction, and which wake-ups are scheduled; where the agent
// has only talked it says that, and not how to run commands.
func TestRealClientOlderRequests(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		needCopy(t, box)
		box.repository()
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		api := box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			last = last[strings.LastIndex(last, "\n")+1:]
			switch {
			case r.Kind == "review":
				return replyVerdict(!strings.Contains(r.request(), "[2] mend it"), "not yet")
			case last == "look at it":
				return bash("cat notes.txt")
			case last == "schedule it":
				return replyTool("CronCreate", `{"cron":"7 3 * * *","prompt":"carry on with it","recurring":true}`)
			}
			return replyText("done")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		const passed, letGo, limit = "PASSED ", "LETGO ", "LIMIT "
		verdicts := 0
		expect := func(prompt string, stops int, wordsOnly, wakes bool, requests ...string) {
			t.Helper()
			tty.prompt(prompt)
			verdicts += stops
			box.awaitVerdicts(verdicts)
			request := api.lastReview(t)
			expectEqual(t, prompt+": the requests", listedRequests(t, request), requests)
			expectIs(t, prompt+": words only", strings.Contains(request, say(sectionWordsOnly)), wordsOnly)
			expectIs(t, prompt+": how to run", strings.Contains(request, tryExample(tryCommand())), !wordsOnly)
			title, _, _ := strings.Cut(say(sectionCrons), "\n")
			expectIs(t, prompt+": wake-ups", strings.Contains(request, title) && strings.Contains(request, `"prompt":"carry on with it"`), wakes)
		}
		expect("hello there", 1, true, false, "hello there")
		expect("look at it", 1, false, false, passed+"hello there", "look at it")
		expect("mend it", 2, true, false, passed+"look at it", "mend it") // sent back, and then the limit
		expect("go on", 1, true, false, passed+"look at it", limit+"mend it", "go on")
		expect("schedule it", 1, false, true, passed+"mend it", passed+"go on", "schedule it")
		tty.prompt("/compact")
		tty.waitFor("Compacted", 90*time.Second)
		expect("and now", 1, true, true, passed+"mend it", passed+"go on", letGo+"schedule it", "and now")
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow, verdictAllow, verdictBlock, verdictLimit, verdictAllow, verdictAllow, verdictAllow})
	})
}

// The agent can't dismiss its reviewer by a tool. What it schedules, which Claude Code submits at the next full minute, is no
// request; its turn is reviewed.
func TestRealClientAgentsTricks(t *testing.T) {
	forNewest(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		tricks := []apiReply{bash("claude -p --continue '/supervisor off' </dev/null; env -u CLAUDECODE claude -p --continue '/supervisor off' </dev/null"),
			replyTool("CronCreate", `{"cron":"* * * * *","prompt":"carry on","recurring":false}`)}
		var api *scriptedAPI
		api = box.answering(func(r apiRequest) apiReply {
			if asked := len(api.requests("agent")); r.Kind == "agent" && asked <= len(tricks) {
				return tricks[asked-1]
			} else if r.Kind == "agent" {
				return replyText("done")
			}
			return replyVerdict(true, "")
		})
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("the request")
		box.awaitVerdicts(1)
		box.awaitVerdicts(2)
		if text := api.requests("agent")[1].last("user"); strings.Count(text, "由用户决定") != 2 {
			t.Errorf("switching off said %q", text)
		}
		if requests := requestsOf(t, api.lastReview(t)); !slices.Equal(requests, []string{"the request"}) || strings.Contains(box.log(), " switched ") {
			t.Errorf("the requests are %q", requests)
		}
		tty.prompt("the second request")
		box.awaitVerdicts(3)
		for i, review := range api.requests("review") {
			expectIn(t, fmt.Sprintf("the request of review %d, behind an approval,", i+1), review.request(), "第 1 轮")
		}
	})
}

// told returns the requests of the newest review, each with the remarks in a word.
func (api *scriptedAPI) told(t *testing.T) (told []string) {
	t.Helper()
	for _, text := range requestsOf(t, api.lastReview(t)) {
		told = append(told, inShort.Replace(text))
	}
	return told
}

// workingAgent answers an agent that works until the test writes the file "go" where the user's last words
// begin with "work", and else by answer.
func workingAgent(answer func(words string, r apiRequest) apiReply) func(apiRequest) apiReply {
	return func(r apiRequest) apiReply {
		words := r.last("user")
		switch {
		case r.Kind == "review":
			return replyVerdict(true, "")
		case strings.HasPrefix(words[strings.LastIndex(words, "\n")+1:], "work "):
			return bash("./work.sh")
		}
		return answer(words, r)
	}
}

// startWorking starts a session that asks for every call but that of work.sh.
func (box *sandbox) startWorking() *terminal {
	box.t.Helper()
	box.write("../work/work.sh", 0o700, "#!/bin/sh\necho begun >>begun\nuntil [ -e go ]; do sleep 0.1; done; rm go; echo worked\n")
	return box.start("--permission-mode", "default", "--allowedTools", "Bash(./work.sh:*)")
}

// transcripts returns the text of all of the sandbox's transcripts.
func (box *sandbox) transcripts() (text string) {
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
	for _, path := range paths {
		one, _ := os.ReadFile(path)
		text += string(one)
	}
	return text
}

// workOn submits a prompt and waits until the agent works on it.
func (box *sandbox) workOn(tty *terminal, prompt string) {
	box.t.Helper()
	before := box.read("../work/begun")
	tty.prompt(prompt)
	tty.waitUntil("the agent at work on "+prompt, 90*time.Second, func(string) bool { return box.read("../work/begun") != before })
}

// What the user types while the agent works and sends with Esc is a request, also where Claude Code leaves it
// out of the conversation; then the request says so. What the user took back is none.
func TestRealClientCorrections(t *testing.T) {
	beside(t)
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		late := make(chan bool)
		api := box.answering(workingAgent(func(words string, _ apiRequest) apiReply {
			if strings.HasSuffix(words, "withdrawn") {
				<-late
			}
			return replyText("done")
		}))
		t.Cleanup(func() { close(late) })
		tty := box.startWorking()
		var closed []string // what the last review has ended
		reviewed, isCompacted := 0, false
		expect := func(words ...string) {
			t.Helper()
			reviewed++
			reviews := api.await(t, "review", reviewed, 90*time.Second)
			box.awaitVerdicts(reviewed)
			want := slices.Concat(closed, words)
			closed = words
			got := api.told(t)
			conversation, _, _ := strings.Cut(reviews[len(reviews)-1].text(), "## 用户的要求")
			for i, text := range got {
				plain, isBeside := strings.CutPrefix(text, "BESIDE ")
				if words := strings.TrimPrefix(plain, "INTERRUPTED "); !isCompacted && !isBeside && !strings.Contains(conversation, words) {
					t.Errorf("%q is not in the conversation", text)
				}
				// The mark stays where the words taken back stood.
				if got[i] = plain; plain == "INTERRUPTED work on the fence" {
					got[i] = strings.TrimPrefix(plain, "INTERRUPTED ")
				}
			}
			expectEqual(t, "the requests", got, want)
		}
		typed := func(words string) {
			t.Helper()
			tty.enter(words)
			tty.waitUntil("the queued words", 60*time.Second, func(screen string) bool {
				return !strings.HasPrefix(inputLine(screen), "❯ "+words) && strings.Contains(screen, words)
			})
		}
		for _, words := range [][]string{{"work in red", "make it blue"}, {"work on the door", "hang it left"}} {
			box.workOn(tty, words[0])
			for _, one := range words[1:] {
				typed(one)
			}
			tty.keys("Escape")
			expect(words...)
		}
		box.workOn(tty, "work on the wall")
		typed("taken back with Up")
		tty.keys("Up")
		tty.waitUntil("the words in the input line", 60*time.Second, func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ taken back with Up") })
		tty.keys("C-e")
		tty.keys("-N", "80", "BSpace")
		box.write("../work/go", 0o600, "")
		expect("work on the wall")
		box.workOn(tty, "work on the roof")
		marks := func() int { return strings.Count(box.transcripts(), `"[Request interrupted by user`) }
		before := marks()
		tty.keys("Escape")
		// 2.1.280 takes what comes before its mark for words sent with Esc.
		tty.waitUntil("the mark of Esc", 60*time.Second, func(string) bool { return marks() > before })
		tty.prompt("leave the roof")
		expect("INTERRUPTED work on the roof", "leave the roof")
		box.workOn(tty, "work on the fence")
		typed("to be rewound")
		tty.keys("Escape")
		expect("work on the fence", "to be rewound")
		tty.rewind("to be rewound")
		tty.enter("instead of it")
		closed = closed[:1]
		expect("instead of it")
		box.recordTranscript(client.version, "corrections", api)
		tty.tmux("kill-server")
		box.quiet(20 * time.Second)
		tty = box.start("--permission-mode", "default", "--continue")
		tty.prompt("on another day")
		expect("on another day")
		asked := len(api.requests("agent"))
		tty.prompt("withdrawn")
		api.await(t, "agent", asked+1, 60*time.Second)
		tty.keys("Escape")
		tty.waitUntil("the prompt in the input line", 60*time.Second, func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ withdrawn") })
		tty.enter("/compact keep the colours") // the client gives the withdrawn words back, for enter to delete
		tty.waitFor("Compacted", 90*time.Second)
		isCompacted = true
		tty.prompt("behind the compaction")
		expect("behind the compaction")
	})
}

// What the user answers to a question, and the words with which they refuse or approve a call or a plan,
// stand among the requests, also behind a compaction.
func TestRealClientAnswers(t *testing.T) {
	beside(t)
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(workingAgent(func(words string, r apiRequest) apiReply {
			switch {
			case strings.HasSuffix(words, "ask me"):
				return replyTool(askUserQuestion, question)
			case strings.HasSuffix(words, "make a file"):
				return bash("touch x")
			case strings.HasSuffix(words, "plan it"):
				_, path, _ := strings.Cut(r.text(), "create your plan at ")
				path, _, _ = strings.Cut(path, " using")
				return replyTool("Write", fmt.Sprintf(`{"file_path":%q,"content":"1. paint it red"}`, path))
			case strings.Contains(words, "/plans/") && !strings.Contains(words, "approved your plan"), strings.Contains(words, "make it green"):
				return replyTool("ExitPlanMode", `{"plan":"1. paint it red"}`)
			}
			return replyText("done")
		}))
		tty := box.startWorking()
		var before []string // what the last review has ended
		verdicts := 0
		expect := func(words ...string) {
			t.Helper()
			verdicts++
			box.awaitVerdicts(verdicts)
			expectEqual(t, "the requests", api.told(t), slices.Concat(before, words))
			before = words
		}
		// pick marks that entry of a menu, has it take words by key, and types them.
		marked := func(screen, entry string) bool {
			return strings.Contains(strings.ReplaceAll(screen, "\u00a0", " "), entry)
		}
		pick := func(entry, key, words string) {
			t.Helper()
			for range 8 {
				if tty.shows(3*time.Second, func(screen string) bool { return marked(screen, entry) }) {
					break
				}
				tty.keys("Down")
			}
			if key != "" {
				tty.keys(key)
			}
			for range 5 { // a menu that does not take words yet drops them
				tty.keys("-l", "--", words)
				if tty.shows(3*time.Second, func(screen string) bool { return strings.Contains(screen, words) }) {
					return
				}
			}
			t.Fatalf("%q takes no words:\n%s", entry, tty.screen())
		}
		// send presses key until the menu that shows text is gone.
		send := func(key, text string) {
			t.Helper()
			for range 5 {
				tty.keys(key)
				if tty.shows(10*time.Second, func(screen string) bool { return !strings.Contains(screen, text) }) {
					return
				}
			}
			t.Fatalf("%s does not end the menu:\n%s", key, tty.screen())
		}
		for _, answer := range []string{"MySQL of mine", "SQLite"} {
			tty.prompt("ask me")
			tty.waitFor("one file", 90*time.Second)
			verdicts++ // of the question
			if answer != "SQLite" {
				pick("❯ 3", "", answer)
			}
			send("Enter", "one file")
			expect("ask me", "ANSWERED Which database? → "+answer)
		}
		for _, reply := range []struct{ entry, told, words string }{{". No", "REFUSED ", "use mkdir instead"}, {"1. Yes", "APPROVED ", "and then a directory"}} {
			tty.prompt("make a file")
			tty.waitFor("Do you want", 90*time.Second)
			if reply.entry == ". No" {
				reply.entry = "3. No"
				if marked(tty.screen(), "4. No") {
					reply.entry = "4. No"
				}
			}
			pick("❯ "+reply.entry, "Tab", reply.words)
			send("Enter", "Do you want")
			expect("make a file", reply.told+reply.words)
		}
		for range 5 {
			if tty.shows(2*time.Second, func(screen string) bool { return strings.Contains(screen, "plan mode on") }) {
				break
			}
			tty.keys("BTab")
		}
		tty.prompt("plan it")
		for _, reply := range [][2]string{{"make it green", "Enter"}, {"but yellow at the door", "BTab"}} {
			tty.waitFor("Would you like to proceed?", 90*time.Second)
			pick("❯ 3", "", reply[0])
			send(reply[1], "❯ 3")
		}
		expect("plan it", "REFUSED make it green", "APPROVED but yellow at the door")
		tty.enter("/compact")
		tty.waitFor("Compacted", 90*time.Second)
		tty.prompt("behind the compaction")
		expect("behind the compaction")
		box.recordTranscript(client.version, "answers", api)
	})
}

// A plan that the user approved with "clear context" begins a session without a prompt: the plan is its
// request, and its change begins at the commit.
func TestRealClientPlanCleared(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			_, path, _ := strings.Cut(r.text(), "create your plan at ")
			path, _, _ = strings.Cut(path, " using")
			switch {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.HasSuffix(last, "plan it"):
				return replyTool("Write", fmt.Sprintf(`{"file_path":%q,"content":"1. paint it red"}`, path))
			case strings.Contains(last, "/plans/"):
				return replyTool("ExitPlanMode", `{"plan":"1. paint it red"}`)
			}
			return replyText("done")
		})
		box.repository()
		box.setSettings(`{"showClearContextOnPlanAccept":true}`)
		tty := box.start("--permission-mode", "plan")
		tty.prompt("plan it")
		tty.waitFor("clear context", 90*time.Second)
		box.write("../work/planned", 0o600, "red")
		tty.choose("clear context")
		api.await(t, "review", 1, 90*time.Second)
		plan := "PLANNED Implement the following plan:\n\n1. paint it red"
		expectIn(t, "the request", strings.Join(api.told(t), "|"), plan)
		expectIn(t, "the request", api.lastReview(t), "\nA planned\n")
		expectNotIn(t, "the request", api.lastReview(t), "notes.txt")
	})
}

// What is asked with -p, on stdin, in a stream and by a command is a request, and so is what was asked before a session was switched on.
func TestRealClientPrinted(t *testing.T) {
	beside(t)
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			if r.Kind == "review" {
				return replyVerdict(true, "")
			}
			return replyText("done")
		})
		box.write(".claude/commands/paint.md", 0o600, "paint it $ARGUMENTS\n")
		stream := ""
		for _, words := range []string{"one", "two"} {
			stream += `{"type":"user","message":{"role":"user","content":"` + words + `"}}` + "\n"
		}
		for _, test := range []struct {
			stdin, args string
			want        []string
		}{
			{"", "-p words", []string{"words"}},
			{"", "-p /paint\tred", []string{"/paint red"}},
			{"words on stdin", "-p", []string{"words on stdin"}},
			{stream, "-p --input-format stream-json --output-format stream-json --verbose", []string{"PASSED one", "two"}},
		} {
			args := []string{"ccc", "--supervisor"}
			for arg := range strings.FieldsFuncSeq(test.args, func(r rune) bool { return r == ' ' }) {
				args = append(args, strings.ReplaceAll(arg, "\t", " "))
			}
			got := box.run(60*time.Second, test.stdin, args...)
			expectIs(t, test.args+": the exit code", got.code, 0)
			expectEqual(t, test.args+": the requests", listedRequests(t, api.lastReview(t)), test.want)
		}
		reviewed := len(api.requests("review"))
		tty := box.open("claude")
		tty.prompt("before the switch")
		tty.waitFor("done", 60*time.Second)
		tty.prompt("/supervisor on")
		tty.waitFor("已打开", 60*time.Second)
		tty.prompt("behind the switch")
		api.await(t, "review", reviewed+1, 60*time.Second)
		expectEqual(t, "the requests of a session that was switched on", listedRequests(t, api.lastReview(t)), []string{"before the switch", "behind the switch"})
	})
}

const recordings = "testdata/recordings"

// recordsEvents has the sandbox's claude write each hook event into the file events.
func (box *sandbox) recordsEvents() {
	hooks := map[string]any{}
	for _, event := range []string{eventPrompt, eventPreToolUse, eventStop, "SubagentStop"} {
		command := map[string]string{"type": "command", "command": "f=$(mktemp -p " + box.home + " event-XXXXXX) && cat >$f && cat $f >>" + box.home + "/events && rm $f"}
		hooks[event] = []any{map[string]any{"matcher": "", "hooks": []any{command}}}
	}
	box.setSettings(string(encodeJSON(map[string]any{"hooks": hooks})))
}

func recordingName(kind, version, name string) string {
	return strings.TrimSuffix(kind+"-"+version+"-"+name, "-") + ".jsonl"
}

// The most of a text, in bytes, and of a list that a recording keeps.
const recordedText, recordedList = 300, 8

// unrecorded are members that would make recordings long, and that ccc does not read.
var unrecorded = strings.Fields(`rendered renderedRole userType entrypoint gitBranch promptId slug hookInfos requestRef requestedModel perTurnEffort turnPosition
	promptCacheRequested apiBlockIndex effort level preventedContinuation sourceToolAssistantUUID permissionDecision server_tool_use service_tier cache_creation
	inference_geo iterations output_tokens_details context_management diagnostics ttft_ms requestId apiRequestId requestSources toolUseID stop_details stop_sequence subagent_stats
	plugins capabilities skills`)

// record writes lines of JSON as testdata/recordings/KIND-VERSION[-NAME].jsonl, if CCC_RECORD is set, behind what head is. Each
// value stays, in its order, but for the sandbox's paths, long texts and lists, and the members named above.
func (box *sandbox) record(kind, version, name, head string, lines []byte) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	out := bytes.NewBufferString(head)
	for d := json.NewDecoder(bytes.NewReader(lines)); ; out.WriteByte('\n') {
		if err := box.copyJSON(d, out); err == io.EOF {
			break
		} else {
			check(box.t, err)
		}
	}
	check(box.t, os.MkdirAll(recordings, 0o755))
	check(box.t, os.WriteFile(filepath.Join(recordings, recordingName(kind, version, name)), out.Bytes(), 0o644))
}

// copyJSON copies one value.
func (box *sandbox) copyJSON(d *json.Decoder, out *bytes.Buffer) error {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		out.WriteByte(byte(token))
		for n := 0; d.More(); n++ {
			before, isLeft := out.Len(), token == '[' && n >= recordedList
			if n > 0 {
				out.WriteByte(',')
			}
			if token == '{' {
				name, _ := d.Token()
				fmt.Fprintf(out, "%s:", encodeJSON(name))
				isLeft = slices.Contains(unrecorded, name.(string))
			}
			if err := box.copyJSON(d, out); err != nil {
				return err
			}
			if isLeft {
				out.Truncate(before)
				n--
			}
		}
		_, err = d.Token()
		out.WriteByte(byte(token) + 2) // } or ]
		return err
	case string:
		const dashes = "/._"
		root := filepath.Dir(box.home)
		dashed := func(path string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(dashes, r) {
					return '-'
				}
				return r
			}, path)
		}
		text := strings.NewReplacer(box.work, "/home/u/project", dashed(box.work), "-home-u-project", box.home, "/home/u", root, "/home/u/box").Replace(token)
		if len(text) > recordedText {
			text = strings.ToValidUTF8(text[:recordedText], "") + "…"
		}
		out.Write(encodeJSON(text))
	default:
		out.Write(encodeJSON(token))
	}
	return nil
}

// recordTranscript records the newest of the sandbox's transcripts, whose first line then tells the requests that the reviewer
// got. Entries that hold no words and no place in the conversation are left out.
func (box *sandbox) recordTranscript(version, name string, api *scriptedAPI) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	told := api.told(box.t)
	var lines []byte
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
	if len(paths) != 1 {
		box.t.Fatalf("transcripts: %q", paths)
	}
	check(box.t, readLines(paths[0], func(line []byte) {
		var entry struct {
			Type       string
			UUID       string
			Attachment struct{ Type string }
		}
		_ = json.Unmarshal(line, &entry)
		if isPart := entry.UUID != "" || slices.Contains([]string{"queue-operation", "last-prompt", "mode"}, entry.Type); !isPart {
			return
		}
		isRead := slices.Contains([]string{"queued_command", "model"}, entry.Attachment.Type)
		if entry.Type == "attachment" && !isRead { // only its place matters
			var members map[string]json.RawMessage
			check(box.t, json.Unmarshal(line, &members))
			maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
				return !slices.Contains([]string{"type", "uuid", "parentUuid", "isSidechain", "timestamp", "version"}, name)
			})
			members["attachment"] = encodeJSON(map[string]string{"type": entry.Attachment.Type})
			line = append(encodeJSON(members), '\n')
		}
		lines = append(lines, line...)
	}))
	head := string(encodeJSON(map[string]any{"type": toldLine, "told": told})) + "\n"
	ids := regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	box.record("transcript", version, name, head, ids.ReplaceAll(lines, []byte("$1")))
}

// toldLine is the type of a recorded transcript's first line.
const toldLine = "told-to-the-reviewer"

// What the recordings hold, on the client itself: the events that ccc reads, with the types that it expects, and what each kind
// of stream comes to.
func TestRealClientRecordings(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			request, last := r.request(), r.last("user")
			reviewOf := func(name string) bool {
				_, requests, _ := strings.Cut(request, "## 用户的要求")
				requests, _, _ = strings.Cut(requests, "\n## ")
				return strings.HasSuffix(strings.TrimSpace(requests), "review: "+name)
			}
			switch {
			case r.Kind == "review" && strings.Contains(request, "问题还没有显示给用户"):
				return replyVerdict(true, "")
			case r.Kind == "review":
				for name, play := range recordedReviews {
					if reviewOf(name) {
						return play[min(stepsOf(r), len(play)-1)]
					}
				}
				return replyVerdict(true, "")
			case strings.HasSuffix(last, "ask me"):
				return replyTool(askUserQuestion, question)
			case strings.HasSuffix(last, "start it"):
				return replyTool("Bash", `{"command":"until [ -e ended ]; do sleep 0.2; done","run_in_background":true,"description":"serve"}`)
			case strings.HasSuffix(last, "have it done"):
				for _, tool := range r.Tools {
					if tool == "Task" || tool == "Agent" {
						return replyTool(tool, `{"description":"echo","prompt":"be a subagent","subagent_type":"general-purpose","run_in_background":false}`)
					}
				}
			case strings.HasSuffix(last, "be a subagent"):
				return bash("until [ -e go ]; do sleep 0.1; done; echo of the subagent")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.write(".claude/commands/paint.md", 0o600, "Paint it $ARGUMENTS.\n")
		box.recordsEvents()
		tty := box.start("--permission-mode", "bypassPermissions")
		verdicts := 0
		stops := func(n int) {
			t.Helper()
			verdicts += n
			box.awaitVerdicts(verdicts)
		}
		before := 0 // bytes of the output of earlier reviews
		for _, name := range recordedNames {
			tty.prompt("review: " + name)
			stops(1)
			if recordedBlocks[name] {
				stops(1)
			}
			output, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-output.jsonl"))
			text, err := os.ReadFile(output[0])
			check(t, err)
			own := text[before:]
			before = len(text)
			expectRecordedStream(t, name, client.version, own)
			box.record("stream", client.version, name, "", own)
		}
		tty.prompt("ask me")
		tty.choose("one file")
		stops(2)
		tty.prompt("/paint red")
		stops(1)
		tty.prompt("have it done")
		tty.waitFor("子代理还在工作", 60*time.Second) // that stop is not reviewed yet
		box.write("../work/go", 0o600, "")
		stops(1)
		tty.prompt("start it")
		stops(1)
		box.write("../work/ended", 0o600, "")
		stops(1)
		tty.prompt("/supervisor off")
		tty.waitFor("监督已关闭", 60*time.Second)
		expectRecordedEvents(t, []byte(box.read("events")))
		box.record("events", client.version, "", "", []byte(box.read("events")))
		if shown := strings.Join(api.agentsUserTexts(), "\n"); !strings.Contains(shown, "<task-notification>") {
			t.Errorf("the agent got %q", shown)
		}
	})
}

// steps returns how often the reviewer has called something in this review.
func stepsOf(r apiRequest) (n int) {
	for i := len(r.Messages) - 1; i >= 0 && !strings.Contains(r.Messages[i].Text, "## 用户的要求"); i-- {
		if r.Messages[i].Role == "assistant" {
			n++
		}
	}
	return n
}
