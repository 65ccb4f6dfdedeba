package main

// Which words are the user's, on the real Claude Code.
//
// Recordings of the real client under testdata/recordings, for the fast tests of transcript_test.go: hook
// events, transcripts and reviewers' streams of each version. With CCC_RECORD set the tests that play them
// write them anew.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A background task that runs is stopped in the fork of a review alone. What Claude Code submits when it
// ends is no request: it is not listed, and what was asked for last stays. Until it has ended the reviews
// are counted on.
func TestRealClientBackgroundTask(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			request := r.request()
			isFirst := !strings.Contains(request, "上次反馈") && !strings.Contains(request, "and more")
			switch {
			case r.Kind == "review" && isFirst:
				time.Sleep(3 * time.Second) // a model is slow, and the fork has said words of its own before
				return replyVerdict(false, "show the tests")
			case r.Kind == "agent" && strings.Contains(r.last("user"), "start it"):
				return inBackground("until [ -e ended ]; do sleep 0.2; done")
			case r.Kind == "agent":
				return replyText("the server runs")
			}
			return usualReply(r)
		})
		tty := box.start(bypass)
		expect := func(what string, verdicts int, requests ...string) {
			t.Helper()
			box.awaitVerdicts(verdicts)
			expectEqual(t, "the requests "+what, listedRequests(t, api.lastReview(t)), requests)
		}
		tty.prompt("start it")
		box.awaitVerdicts(2)
		review := api.requests("review")[0]
		expectIn(t, "the fork", review.text(), "<status>stopped</status>")
		expectIn(t, "the request", review.request(), "## 正在运行的后台任务", "until [ -e ended ]",
			"分叉里没有这些任务")
		tty.prompt("and more") // beside a server that runs all day nothing ends
		expect("beside the task", 3, "LETGO start it", "and more")
		box.write("../work/ended", 0o600, "")
		expect("when it has ended", 4, "LETGO start it", "LETGO and more")
		expectIn(t, "what the agent got", strings.Join(api.agentsUserTexts(), "\n"), "<task-notification>")
		expectIn(t, "the request", api.lastReview(t), "第 2 轮，")
		tty.prompt("the end")
		expect("after it", 5, "PASSED start it", "PASSED and more", "the end")
		box.recordTranscript("background", api)
	})
}

// A background task that ends brings no new reviews, so after the limit its turn ends as it is. A prompt
// that the agent has scheduled does: Claude Code submits it as a prompt, which is none of the requests, and
// not waited for. The reviewer is told what is scheduled.
func TestRealClientWoken(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review" && len(box.timelineVerdicts()) == 0:
				return replyError(400, "invalid_request_error", "planted")
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "start it"):
				return inBackground("until [ -e ended ]; do sleep 0.2; done")
			case strings.Contains(last, "<task-notification>"):
				return replyTool("CronCreate", `{"cron":"* * * * *","prompt":"build again","recurring":true}`)
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start(bypass)
		tty.prompt("start it")
		box.awaitVerdicts(1)
		box.write("../work/ended", 0o600, "")
		box.awaitVerdicts(3)
		box.expectVerdicts(verdictFailed, verdictLimit, verdictAllow)
		expectEqual(t, "the requests", listedRequests(t, api.lastReview(t)), []string{"LIMIT start it"})
		title, _, _ := strings.Cut(say(sectionCrons), "\n")
		expectIn(t, "the request", api.lastReview(t), title, `"prompt":"build again"`)
		expectEqual(t, "the prompts", box.loggedPrompts(), []string{"start it", "build again"})
		paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
		talk, err := readConversation(paths[0])
		check(t, err)
		expectIn(t, "what Claude Code has submitted", strings.Join(talk.submitted, "\n"), "build again")
		texts := strings.Join(api.agentsUserTexts(), "\n")
		expectIn(t, "what the agent got", texts, "<task-notification>", "build again")
	})
}

// Only what stands in the conversation is given to the reviewer, with what became of it: not what was taken
// back or kept out, but what was typed while the agent worked, and what was said before a compaction and
// before a fork. Where the agent has only talked that is said.
func TestRealClientRequests(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
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
		box.write("block", 0o600, `{"decision":"block","reason":"kept out"}`)
		box.setSettings(`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command",
			"command":"if grep -q SECRET; then cat ~/block; fi"}]}]}}`)
		box.repository()
		tty := box.start(bypass)
		expectRequests := func(n int, want ...string) {
			t.Helper()
			box.awaitVerdicts(n)
			request := api.lastReview(t)
			expectEqual(t, "the requests", listedRequests(t, request), want)
			isSaid := strings.Contains(request, say(sectionWordsOnly))
			expectIs(t, "words only", isSaid, !slices.Contains(want, "typed meanwhile"))
			expectEqual(t, "the verdicts", box.timelineVerdicts(), slices.Repeat([]verdict{verdictAllow}, n))
		}
		tty.prompt("first request")
		api.await(t, "review", 1)
		tty.enter("queued request") // while the review runs: the next request
		close(queued)
		expectRequests(2, "PASSED first request", "queued request")
		tty.enter("the SECRET is x") // the newest clients give it back, for the next one to delete
		tty.waitFor("kept out")
		tty.prompt("taken back")
		expectRequests(3, "PASSED queued request", "taken back")
		tty.rewind("taken back")
		tty.enter("second request with a tool")
		tty.waitFor("until [ -e typed ]")
		tty.enter("typed meanwhile")
		box.write("../work/typed", 0o600, "")
		expectRequests(4, "PASSED queued request", "second request with a tool", "typed meanwhile")
		for _, r := range api.requests("review") {
			expectNotIn(t, "what a review sent", r.text(), "SECRET")
		}
		tty.prompt("/compact")
		tty.waitFor("Compacted")
		tty.prompt("third request")
		expectRequests(5, "PASSED second request with a tool", "PASSED typed meanwhile", "third request")
		reviews := api.requests("review")
		conversation := reviews[len(reviews)-1].text()
		expectIs(t, "the conversation was compacted", strings.Count(conversation, "typed meanwhile"), 1)
		// What is typed during the agent's last words waits for its stop: the next review has it, and this
		// one does not wait for it.
		asked := len(api.requests("agent"))
		tty.prompt("slow words")
		api.await(t, "agent", asked+1)
		tty.enter("typed at the last words")
		tty.awaitQueued("typed at the last words")
		close(last)
		api.await(t, "review", 7)
		box.awaitVerdicts(7)
		reviews = api.requests("review")
		ofStop := listedRequests(t, reviews[len(reviews)-2].request())
		expectEqual(t, "the requests of the stop", ofStop, []string{"PASSED third request", "slow words"})
		expectRequests(7, "PASSED slow words", "typed at the last words")
		tty.tmux("kill-server")
		box.quiet(20 * time.Second)
		box.recordTranscript("requests", api)
		box.prints("done", "forked request", "--continue", "--fork-session")
		inFork := []string{"third request", "slow words", "typed at the last words", "forked request"}
		expectEqual(t, "the requests in a fork", listedRequests(t, api.lastReview(t)), inFork)
	})
}

// awaitQueued waits until words that were entered wait for the agent.
func (tty *terminal) awaitQueued(words string) {
	tty.box.t.Helper()
	tty.waitUntil("the queued words", func(screen string) bool {
		return !strings.HasPrefix(inputLine(screen), "❯ "+words) && strings.Contains(screen, words)
	})
}

// awaitInput waits until the input line has these words.
func (tty *terminal) awaitInput(words string) {
	tty.box.t.Helper()
	tty.waitUntil("the words in the input line", func(screen string) bool {
		return strings.HasPrefix(inputLine(screen), "❯ "+words)
	})
}

// told returns the requests of the newest review, each with the remarks in a word, without what became of it.
func (api *scriptedAPI) told(t *testing.T) (told []string) {
	t.Helper()
	for _, text := range listedRequests(t, api.lastReview(t)) {
		fate := regexp.MustCompile("^(PASSED|LETGO|LIMIT) ").FindString(text)
		told = append(told, inShort.Replace(strings.TrimPrefix(text, fate)))
	}
	return told
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

// What the user types while the agent works and sends with Esc is a request, also where Claude Code leaves
// it out of the conversation; then the request says so. What the user took back is none.
func TestRealClientCorrections(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		late := make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			words := r.last("user")
			switch words = words[strings.LastIndex(words, "\n")+1:]; {
			case r.Kind == "agent" && strings.HasPrefix(words, "work "):
				return bash("./work.sh") // which ends with the file "go"
			case r.Kind == "agent" && words == "withdrawn":
				<-late
			}
			return usualReply(r)
		})
		t.Cleanup(func() { close(late) }) // before the server ends, which waits for its answers
		box.write("../work/work.sh", 0o700,
			"#!/bin/sh\necho begun >>begun\nuntil [ -e go ]; do sleep 0.1; done; rm go; echo worked\n")
		tty := box.start("--permission-mode", "default", "--allowedTools", "Bash(./work.sh:*)")
		var closed []string // what the last review has ended
		reviewed := 0
		expect := func(words ...string) {
			t.Helper()
			reviewed++
			reviews := api.await(t, "review", reviewed)
			box.awaitVerdicts(reviewed)
			want := slices.Concat(closed, words)
			closed = words
			got := api.told(t)
			conversation, _, _ := strings.Cut(reviews[len(reviews)-1].text(), "## 用户的要求")
			for i, text := range got {
				plain, isBeside := strings.CutPrefix(text, "BESIDE ")
				if !isBeside {
					expectIn(t, "the conversation", conversation, strings.TrimPrefix(plain, "INTERRUPTED "))
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
			tty.awaitQueued(words)
		}
		// workOn submits a prompt and waits until the agent works on it.
		workOn := func(prompt string) {
			t.Helper()
			before := box.read("../work/begun")
			tty.prompt(prompt)
			hasBegun := func(string) bool { return box.read("../work/begun") != before }
			tty.waitUntil("the agent at work on "+prompt, hasBegun)
		}
		workOn("work in red")
		typed("make it blue")
		tty.keys("Escape")
		expect("work in red", "make it blue")
		workOn("work on the wall")
		typed("taken back with Up")
		tty.keys("Up")
		tty.awaitInput("taken back with Up")
		tty.keys("C-e")
		tty.keys("-N", "80", "BSpace")
		box.write("../work/go", 0o600, "")
		expect("work on the wall")
		workOn("work on the roof")
		marks := func() int { return strings.Count(box.transcripts(), `"[Request interrupted by user`) }
		before := marks()
		tty.keys("Escape")
		// 2.1.280 takes what comes before its mark for words sent with Esc.
		tty.waitUntil("the mark of Esc", func(string) bool { return marks() > before })
		tty.prompt("leave the roof")
		expect("INTERRUPTED work on the roof", "leave the roof")
		workOn("work on the fence")
		typed("to be rewound")
		tty.keys("Escape")
		expect("work on the fence", "to be rewound")
		tty.rewind("to be rewound")
		tty.enter("instead of it")
		closed = closed[:1]
		expect("instead of it")
		box.recordTranscript("corrections", api)
		asked := len(api.requests("agent"))
		tty.prompt("withdrawn")
		api.await(t, "agent", asked+1)
		tty.keys("Escape")
		tty.awaitInput("withdrawn") // the client gives the words back, for enter to delete
		tty.enter("in its place")
		expect("in its place")
	})
}

// plans has an agent in plan mode that was told to plan write its plan, and then ask for its approval.
func (r apiRequest) plans() (reply apiReply, isPlan bool) {
	words := r.last("user")
	_, path, _ := strings.Cut(r.text(), "create your plan at ")
	path, _, _ = strings.Cut(path, " using")
	switch {
	case strings.HasSuffix(words, "plan it"):
		return replyTool("Write", fmt.Sprintf(`{"file_path":%q,"content":"1. paint it red"}`, path)), true
	case strings.Contains(words, "/plans/") && !strings.Contains(words, "approved your plan"),
		strings.Contains(words, "make it green"):
		return replyTool("ExitPlanMode", `{"plan":"1. paint it red"}`), true
	}
	return reply, false
}

// What the user answers to a question, and the words with which they refuse or approve a call or a plan,
// stand among the requests, also after a compaction.
func TestRealClientAnswers(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			plan, isPlan := r.plans()
			switch words := r.last("user"); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.HasSuffix(words, "ask me"):
				return replyTool(askUserQuestion, question)
			case strings.HasSuffix(words, "make a file"):
				return bash("touch x")
			case isPlan:
				return plan
			}
			return replyText("done")
		})
		tty := box.start("--permission-mode", "default")
		var before []string // what the last review has ended
		verdicts := 0
		expect := func(words ...string) {
			t.Helper()
			verdicts++
			box.awaitVerdicts(verdicts)
			expectEqual(t, "the requests", api.told(t), slices.Concat(before, words))
			before = words
		}
		marked := func(screen, entry string) bool {
			return strings.Contains(strings.ReplaceAll(screen, "\u00a0", " "), entry)
		}
		// pick marks that entry of a menu, has it take words by key, and types them.
		pick := func(entry, key, words string) {
			t.Helper()
			tty.pressUntil("Down", entry, func(screen string) bool { return marked(screen, entry) })
			if key != "" {
				tty.keys(key)
			}
			for range 5 { // a menu that does not take words yet drops them
				tty.keys("-l", "--", words)
				if tty.shows(20*time.Second, func(s string) bool { return strings.Contains(s, words) }) {
					return
				}
			}
			t.Fatalf("%q takes no words:\n%s", entry, tty.screen())
		}
		for _, answer := range []string{"MySQL of mine", "SQLite"} {
			tty.prompt("ask me")
			tty.waitFor("one file")
			verdicts++ // of the question
			if answer != "SQLite" {
				pick("❯ 3", "", answer)
			}
			tty.choose("one file")
			expect("ask me", "ANSWERED Which database? → "+answer)
		}
		for _, words := range []string{"use mkdir instead", "and then a directory"} {
			tty.prompt("make a file")
			tty.waitFor("Do you want")
			entry, told := "1. Yes", "APPROVED "
			if words == "use mkdir instead" {
				entry, told = "3. No", "REFUSED "
				if marked(tty.screen(), "4. No") {
					entry = "4. No"
				}
			}
			pick("❯ "+entry, "Tab", words)
			tty.choose("Do you want")
			expect("make a file", told+words)
		}
		inPlanMode := func(screen string) bool { return strings.Contains(screen, "plan mode on") }
		tty.pressUntil("BTab", "plan mode", inPlanMode)
		tty.prompt("plan it")
		for _, reply := range [][2]string{{"make it green", "Enter"}, {"but yellow at the door", "BTab"}} {
			tty.waitFor("Would you like to proceed?")
			pick("❯ 3", "", reply[0])
			isSent := func(screen string) bool { return !strings.Contains(screen, "❯ 3") }
			tty.pressUntil(reply[1], "end of the menu", isSent)
		}
		expect("plan it", "REFUSED make it green", "APPROVED but yellow at the door")
		tty.enter("/compact")
		tty.waitFor("Compacted")
		tty.prompt("after the compaction")
		expect("after the compaction")
		box.recordTranscript("answers", api)
	})
}

// A plan that the user approved with "clear context" begins a session without a prompt: the plan is its
// request, and its change begins at the commit.
func TestRealClientPlanCleared(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			if plan, isPlan := r.plans(); isPlan && r.Kind == "agent" {
				return plan
			}
			return usualReply(r)
		})
		box.repository()
		box.setSettings(`{"showClearContextOnPlanAccept":true}`)
		tty := box.start("--permission-mode", "plan")
		tty.prompt("plan it")
		tty.waitFor("clear context")
		box.write("../work/planned", 0o600, "red")
		tty.choose("clear context")
		api.await(t, "review", 1)
		plan := "PLANNED Implement the following plan:\n\n1. paint it red"
		expectIn(t, "the request", strings.Join(api.told(t), "|"), plan)
		expectIn(t, "the request", api.lastReview(t), "\nA planned\n")
		expectNotIn(t, "the request", api.lastReview(t), "notes.txt")
	})
}

// A command and all that a stream has are requests. TestRealClientNested has words with -p,
// TestRealClientLimit has some on stdin, and TestRealClientSwitchOfOne from before a session is switched on.
func TestRealClientPrinted(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.write(".claude/commands/paint.md", 0o600, "paint it $ARGUMENTS\n")
		const form = `{"type":"user","message":{"role":"user","content":"%s"}}` + "\n"
		command := box.tried(append(asStream, "--input-format", "stream-json")...)
		got := box.run(3*time.Minute, fmt.Sprintf(form+form, "/paint red", "and blue"), command...)
		expectIs(t, "the exit code", got.code, 0)
		want := []string{"PASSED /paint red", "and blue"}
		expectEqual(t, "the requests", listedRequests(t, api.lastReview(t)), want)
	})
}

const recordings = "testdata/recordings"

// recordsEvents has the sandbox's claude write each hook event into the file events.
func (box *sandbox) recordsEvents() {
	const command = "f=$(mktemp -p ~ event-XXXXXX) && cat >$f && cat $f >>~/events && rm $f"
	hooks := map[string]any{}
	for _, event := range []string{eventPrompt, eventPreToolUse, eventStop, "SubagentStop"} {
		hooks[event] = json.RawMessage(`[{"hooks":[{"type":"command","command":"` + command + `"}]}]`)
	}
	box.setSettings(string(encodeJSON(map[string]any{"hooks": hooks})))
}

func recordingName(kind, version, name string) string {
	return strings.TrimSuffix(kind+"-"+version+"-"+name, "-") + ".jsonl"
}

// The most of a text, in bytes, and of a list that a recording keeps.
const recordedText, recordedList = 300, 8

// unrecorded are members that would make recordings long, and that ccc does not read.
var unrecorded = strings.Fields(`rendered renderedRole userType entrypoint gitBranch promptId slug hookInfos
	requestRef requestedModel perTurnEffort turnPosition promptCacheRequested apiBlockIndex effort level
	preventedContinuation sourceToolAssistantUUID permissionDecision server_tool_use service_tier requestId
	cache_creation inference_geo toolUseID output_tokens_details context_management diagnostics ttft_ms skills
	apiRequestId requestSources iterations stop_details stop_sequence subagent_stats plugins capabilities`)

// record writes lines of JSON as testdata/recordings/KIND-VERSION[-NAME].jsonl, if CCC_RECORD is set,
// behind what head is. Each value stays, but for the sandbox's paths, long texts and lists, and the members
// named above.
func (box *sandbox) record(kind, name, head string, lines []byte) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	out := bytes.NewBufferString(head)
	d := json.NewDecoder(bytes.NewReader(lines))
	d.UseNumber()
	for d.More() {
		var value any
		check(box.t, d.Decode(&value))
		out.Write(encodeJSON(box.recorded(value)))
		out.WriteByte('\n')
	}
	check(box.t, os.MkdirAll(recordings, 0o755))
	name = recordingName(kind, box.client.version, name)
	check(box.t, os.WriteFile(filepath.Join(recordings, name), out.Bytes(), 0o644))
}

// recorded is a value as a recording has it.
func (box *sandbox) recorded(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if value[name] = box.recorded(member); slices.Contains(unrecorded, name) {
				delete(value, name)
			}
		}
	case []any:
		for i, element := range value {
			value[i] = box.recorded(element)
		}
		return value[:min(len(value), recordedList)]
	case string:
		dashed := strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(box.work)
		text := strings.NewReplacer(box.work, "/home/u/project", dashed, "-home-u-project",
			box.home, "/home/u", filepath.Dir(box.home), "/home/u/box").Replace(value)
		if len(text) > recordedText {
			text = strings.ToValidUTF8(text[:recordedText], "") + "…"
		}
		return text
	}
	return value
}

// recordTranscript records the newest of the sandbox's transcripts, whose first line then tells the
// requests that the reviewer got. Entries that hold no words and no place in the conversation are left out.
func (box *sandbox) recordTranscript(name string, api *scriptedAPI) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	var lines []byte
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
	expectIs(box.t, "the number of transcripts", len(paths), 1)
	check(box.t, readLines(paths[0], func(line []byte) {
		var members map[string]json.RawMessage
		var got struct {
			Type       string
			UUID       string
			Attachment struct{ Type string }
		}
		check(box.t, errors.Join(json.Unmarshal(line, &got), json.Unmarshal(line, &members)))
		if got.UUID == "" && !slices.Contains([]string{"queue-operation", "last-prompt", "mode"}, got.Type) {
			return
		}
		isRead := slices.Contains([]string{"queued_command", "model"}, got.Attachment.Type)
		if got.Type == "attachment" && !isRead { // only its place matters
			kept := []string{"type", "uuid", "parentUuid", "isSidechain", "timestamp", "version"}
			isOther := func(name string, _ json.RawMessage) bool { return !slices.Contains(kept, name) }
			maps.DeleteFunc(members, isOther)
			members["attachment"] = encodeJSON(map[string]string{"type": got.Attachment.Type})
			line = append(encodeJSON(members), '\n')
		}
		lines = append(lines, line...)
	}))
	head := string(encodeJSON(map[string]any{"type": toldLine, "told": api.told(box.t)})) + "\n"
	ids := regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	box.record("transcript", name, head, ids.ReplaceAll(lines, []byte("$1")))
}

// toldLine is the type of a recorded transcript's first line.
const toldLine = "told-to-the-reviewer"

// What the recordings hold, on the client itself: the events that ccc reads, with the types that it
// expects, and what each kind of stream comes to.
func TestRealClientRecordings(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			request, last := r.request(), r.last("user")
			_, requests, _ := strings.Cut(request, "## 用户的要求")
			requests, _, _ = strings.Cut(requests, "\n## ")
			_, name, _ := strings.Cut(requests[strings.LastIndex(requests, "[")+1:], "review: ")
			play, isPlayed := recordedReviews[strings.TrimSpace(name)]
			switch {
			case r.Kind == "review" && isPlayed && !strings.Contains(request, "问题还没有显示给用户"):
				text := r.text()
				steps := strings.Count(text[strings.LastIndex(text, "## 用户的要求"):], "\nassistant: ")
				return play[min(steps, len(play)-1)]
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.HasSuffix(last, "ask me"):
				return replyTool(askUserQuestion, question)
			case strings.HasSuffix(last, "start it"):
				return inBackground("until [ -e ended ]; do sleep 0.2; done")
			case strings.HasSuffix(last, "have it done"):
				delegated := r.delegates("be a subagent")
				delegated.input = strings.Replace(delegated.input, `background":true`, `background":false`, 1)
				return delegated
			case strings.HasSuffix(last, "be a subagent"):
				return bash("until [ -e go ]; do sleep 0.1; done; echo of the subagent")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.write(".claude/commands/paint.md", 0o600, "Paint it $ARGUMENTS.\n")
		box.recordsEvents()
		tty := box.start(bypass)
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
			expectRecordedStream(t, name, box.client.version, own)
			box.record("stream", name, "", own)
		}
		tty.prompt("ask me")
		tty.choose("one file")
		stops(2)
		tty.prompt("/paint red")
		stops(1)
		tty.prompt("have it done")
		tty.waitFor("子代理还在工作") // that stop is not reviewed yet
		box.write("../work/go", 0o600, "")
		stops(1)
		tty.prompt("start it")
		stops(1)
		box.write("../work/ended", 0o600, "")
		stops(1)
		tty.prompt("/supervisor off")
		tty.waitFor("监督已关闭")
		expectRecordedEvents(t, []byte(box.read("events")))
		box.record("events", "", "", []byte(box.read("events")))
		expectIn(t, "what the agent got", strings.Join(api.agentsUserTexts(), "\n"), "<task-notification>")
	})
}
