package main

// Transcripts as versions of Claude Code write them, in the members that ccc reads.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// entryLine is a line of a transcript; parent "" is null.
func entryLine(id, parent, kind, members string) string {
	from := "null"
	if parent != "" {
		from = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,"version":"2.1.332","cwd":"/work"}`, from, kind, members, id)
}

func userLine(id, parent, words string, more ...string) string {
	return entryLine(id, parent, "user", `"message":{"role":"user","content":`+string(encodeJSON(words))+`}`+strings.Join(more, ""))
}

func agentLine(id, parent, words string) string {
	return entryLine(id, parent, "assistant", `"message":{"model":"claude-1","role":"assistant","content":[{"type":"text","text":`+string(encodeJSON(words))+`}]}`)
}

// modelLine is what Claude Code writes where the agent begins to work with a model.
func modelLine(id, parent, model string) string {
	return entryLine(id, parent, "attachment", `"attachment":{"type":"model","identity":{"modelId":"`+model+`"}}`)
}

func outputLine(id, parent, call, output string) string {
	return entryLine(id, parent, "user", `"message":{"role":"user","content":[{"tool_use_id":"`+call+`","type":"tool_result","content":`+string(encodeJSON(output))+`}]}`)
}

// queuedLine is what Claude Code writes of words typed while the agent works.
func queuedLine(id, parent, words, more string) string {
	return entryLine(id, parent, "attachment", `"attachment":{"type":"queued_command","prompt":`+string(encodeJSON(words))+more+`}`)
}

// chain writes a transcript from lines like "3 user add tests". A line is the child of the one before, of another ("4<2 user") or of
// none ("3< user"). What is behind a bar are more members of the entry.
func chain(lines string) string {
	var text []string
	parent := ""
	for line := range strings.SplitSeq(lines, "; ") {
		if line == "" || strings.HasPrefix(line, "{") {
			text = append(text, line)
			continue
		}
		line, more, _ := strings.Cut(line, " | ")
		id, rest, _ := strings.Cut(line, " ")
		kind, words, _ := strings.Cut(rest, " ")
		id, of, named := strings.Cut(id, "<")
		if named {
			parent = of
		}
		if more != "" {
			more = "," + more
		}
		switch kind {
		case "user":
			line = userLine(id, parent, words, more)
		case "side": // a subagent's
			line = strings.Replace(userLine(id, parent, words, more), `"isSidechain":false`, `"isSidechain":true`, 1)
		case "agent":
			line = agentLine(id, parent, words)
		case "client": // Claude Code's own words in the place of the agent's
			line = strings.Replace(agentLine(id, parent, words), "claude-1", "<synthetic>", 1)
		case "command":
			name, args, _ := strings.Cut(words, " ")
			line = userLine(id, parent, "<command-name>"+name+"</command-name>\n<command-message>x</command-message>\n"+
				"<command-args>"+args+"</command-args>", more)
		case "call":
			line = entryLine(id, parent, "assistant", `"message":{"model":"claude-1","role":"assistant","content":[{"type":"tool_use","id":"`+words+`","name":"Bash","input":{}}]}`)
		case "output":
			line = strings.Replace(outputLine(id, parent, "t", words), `"uuid"`, strings.TrimPrefix(more+`,"uuid"`, ","), 1)
		case "reminder":
			line = entryLine(id, parent, "attachment", `"attachment":{"type":"total_tokens_reminder"}`)
		case "queued":
			line = queuedLine(id, parent, words, more)
		case "compaction":
			line = fmt.Sprintf(`{"parentUuid":null,"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","uuid":%q%s}`, parent, id, more)
		}
		text, parent = append(text, line), id
	}
	return strings.Join(text, "\n")
}

// prompts are requests of these words.
func prompts(texts ...string) (list []userRequest) {
	for _, text := range texts {
		list = append(list, userRequest{words: text, isPrompt: true})
	}
	return list
}

// inShort puts a word in the place of each remark.
var inShort = strings.NewReplacer(say(remarkWithEsc), "BESIDE", say(remarkInterrupted), "INTERRUPTED", say(remarkAnswered), "ANSWERED",
	say(remarkRefused), "REFUSED", say(remarkApproved), "APPROVED", say(remarkPlanned), "PLANNED")

// toldOf returns the requests with their remarks in short, and a bar behind each.
func toldOf(requests []userRequest) (told string) {
	for _, r := range requests {
		told += inShort.Replace(r.String()) + "|"
	}
	return told
}

// shortMembers are members of entries that testdata/requests.txt names by a word.
var shortMembers = strings.NewReplacer(" | QUEUED", ` | "promptSource":"queued","origin":{"kind":"human"}`, " | REFUSAL",
	` | "toolUseResult":"Error: The user doesn't want to proceed with this tool use. To tell you how to proceed, `+
		`the user said:\nuse mkdir","toolDenialKind":"user-rejected"`)

// requestCase is one of testdata/requests.txt.
type requestCase struct {
	name                 string
	transcripts          map[string]string // by "this", "other", "third", as chain takes them
	requests, last, dirs string            // requests and directories with a bar behind each
	isBroken             bool
}

// readRequestCases reads testdata/requests.txt, whose head says what its lines mean.
func readRequestCases(t *testing.T) (cases []*requestCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/requests.txt")
	check(t, err)
	home, _ := os.UserHomeDir()
	of := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		keyword, rest, _ := strings.Cut(line, " ")
		if keyword == "##" {
			name, _, _ := strings.Cut(rest, ":")
			cases = append(cases, &requestCase{name: name, transcripts: map[string]string{}})
			of = "this"
			continue
		}
		if line == "" || keyword == "#" {
			continue
		}
		c := cases[len(cases)-1]
		switch keyword {
		case "=>":
			c.requests += strings.ReplaceAll(rest, `\n`, "\n") + "|"
		case "last":
			c.last = rest
		case "dir":
			c.dirs += strings.Replace(rest, "~", home, 1) + "|"
		case "broken":
			c.isBroken = true
		case "other:", "third:", "this:":
			of = strings.TrimSuffix(keyword, ":")
		default:
			words, members, _ := strings.Cut(shortMembers.Replace(line), " | ")
			if !strings.HasPrefix(line, "{") {
				words = strings.ReplaceAll(words, `\n`, "\n")
			}
			if members != "" {
				words += " | " + members
			}
			c.transcripts[of] += words + "; "
		}
	}
	return cases
}

// Exactly the requests that stand are read.
func TestTranscriptRequests(t *testing.T) {
	for _, test := range readRequestCases(t) {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a[b")
			check(t, os.Mkdir(dir, 0o700))
			for _, name := range []string{"this", "other", "third"} {
				lines := strings.TrimSuffix(test.transcripts[name], "; ")
				check(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(chain(lines)), 0o600))
			}
			later := time.Now().Add(time.Minute) // it is looked at first, and must still be found behind the other
			check(t, os.Chtimes(filepath.Join(dir, "third.jsonl"), later, later))
			got, err := readConversation(filepath.Join(dir, "this.jsonl"))
			check(t, err)
			expectIs(t, "the requests", toldOf(got.requests), test.requests)
			expectIs(t, "what the agent said last", got.lastWords, test.last)
			expectIs(t, "a gap", got.broken, test.isBroken)
			if len(got.requests) > 0 && !got.newestPrompt().isPrompt {
				t.Errorf("%q counts as a prompt", got.newestPrompt().words)
			}
			expectIs(t, "the directories", strings.Join(append(got.dirs, ""), "|"), test.dirs)
			if test.last != "" && got.version != "2.1.332" {
				t.Errorf("version %q", got.version)
			}
		})
	}
}

// For which of the user's words the agent called a tool: before they said more, in whichever transcript, also where Claude Code woke
// it meanwhile.
func TestTranscriptCalls(t *testing.T) {
	for _, test := range []struct{ name, lines, other, want string }{
		{name: "words", lines: "1 user hi; 2 agent hello", want: "-"},
		{name: "a call", lines: "1 user fix it; 2 agent I try; 3 call t1; 4 output ok; 5 agent done", want: "c"},
		{name: "the one before", lines: "1 user fix it; 2 call t1; 3 output ok; 4 agent done; 5 user thanks; 6 agent welcome", want: "c-"},
		{name: "the one behind", lines: "1 user hi; 2 agent hello; 3 user fix it; 4 call t1; 5 output ok; 6 agent done", want: "-c"},
		{name: "words typed meanwhile", lines: "1 user fix it; 2 call t1; 3 output ok; 4 queued and quickly; 5 agent done", want: "c-"},
		{name: "sent with Esc", lines: `1 user fix it; 2 call t1; 8<2 user make it blue | "promptSource":"queued"; 3<2 output no; 4 user [Request interrupted by user for tool use]; 7 agent done`, want: "c-"},
		{name: "an answer", lines: `1 user fix it; 2 call t1; 3 output The user answered | "toolUseResult":{"questions":[{"question":"Which?"}],"answers":{"Which?":"a"}}; 4 agent done`, want: "c-"},
		{name: "woken", lines: "1 user hi; 2 agent hello; 3 user <task-notification>; 4 call t1; 5 output ok; 6 agent seen", want: "c"},
		{name: "taken back", lines: "1 user hi; 2 agent hello; 3 user fix it; 4 call t1; 5 output ok; 6<2 user thanks; 7 agent welcome", want: "--"},
		{name: "a subagent's", lines: `1 user hi; 2 agent hello; {"parentUuid":"2","isSidechain":true,"type":"assistant","message":{"content":[{"type":"tool_use","id":"t"}]},"uuid":"s"}`, want: "-"},
		{name: "compacted", lines: `1 user fix it; 2 call t1; 3 output ok; 4 compaction; 5 user This session is continued | "isCompactSummary":true; 6 agent done; 7 user hi; 8 agent hello`, want: "c-"},
		{name: "a fork", other: "1 user fix it; 2 call t1; 3 output ok", lines: "4<3 agent done; 5 user hi; 6 agent hello", want: "c-"},
		{name: "a command of the client's", lines: "1 user fix it; 2 call t1; 3 output ok; 4 agent done; 5 user <command-name>/model</command-name>; 6 user <local-command-stdout>Set; 7 user hi; 8 agent hello", want: "c-"},
		{name: "an open question", lines: "1 user fix it; 2 call t1", want: "c"},
	} {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "this.jsonl"), []byte(chain(test.lines)), 0o600))
		check(t, os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(chain(test.other)), 0o600))
		c, err := readConversation(filepath.Join(dir, "this.jsonl"))
		check(t, err)
		got := ""
		for _, r := range c.requests {
			got += map[bool]string{true: "c", false: "-"}[r.callsTool]
		}
		expectIs(t, test.name, got, test.want)
		expectIs(t, test.name+": none", c.calledNothing(), !strings.Contains(test.want, "c"))
	}
	for _, c := range []conversation{{}, {requests: prompts("hi")}, {requests: []userRequest{{id: "1"}}, broken: true}} {
		expectIs(t, fmt.Sprintf("where not all is known: %+v", c), c.calledNothing(), false)
	}
	closed := conversation{requests: []userRequest{{id: "1", callsTool: true, closed: remarkPassed}, {id: "2"}}}
	expectIs(t, "for what is open", closed.calledNothing(), true)
}

// What became of the requests above the last: the last review that judged one decides, and what is not sure leaves it open.
func TestRequestsClosed(t *testing.T) {
	judged := func(event string, v verdict, ids ...string) review {
		return review{Event: event, Closes: ids, outcome: outcome{Verdict: v}}
	}
	stop := func(v verdict, ids ...string) review { return judged(eventStop, v, ids...) }
	for _, test := range []struct {
		name   string
		rounds []review
		want   string
	}{
		{"no review", nil, "open open last"},
		{"approved", []review{stop(verdictBlock, "1", "2"), stop(verdictAllow, "1", "2", "3")}, "passed passed last"},
		{"the limit", []review{stop(verdictBlock, "1"), stop(verdictLimit, "1")}, "ended open last"},
		{"one each", []review{stop(verdictAllow, "1"), stop(verdictLimit, "2")}, "passed ended last"},
		{"sent back again", []review{stop(verdictAllow, "1"), stop(verdictBlock, "1")}, "open open last"},
		{"not reviewed", []review{stop(verdictAllow, "1"), stop(verdictFailed, "1"), stop(verdictFailed, "2")}, "open open last"},
		{"cancelled", []review{stop(verdictCancelled, "1"), stop(verdictReviewing, "2")}, "open open last"},
		{"a question", []review{judged(eventPreToolUse, verdictAllow, "1"), judged(eventPreToolUse, verdictLimit, "2")}, "open open last"},
		{"of others", []review{stop(verdictAllow, "4")}, "open open last"},
	} {
		c := conversation{requests: []userRequest{{id: "1"}, {id: "2"}, {id: "3"}}}
		c.noteReviews(&history{Reviews: test.rounds})
		var got, open []string
		for i, r := range c.requests {
			state := map[bool]string{true: "open", false: "last"}[i < 2]
			if r.closed == remarkPassed {
				state = "passed"
			} else if r.closed == remarkUnapproved {
				state = "ended"
			} else {
				open = append(open, r.id)
			}
			got = append(got, state)
		}
		expectIs(t, test.name, strings.Join(got, " "), test.want)
		expectEqual(t, test.name+": what can end", reviewRequest{conversation: c}.closes(), open)
	}
	interrupted := conversation{requests: []userRequest{{id: "1", remarks: []words{remarkInterrupted}}, {id: "2", remarks: []words{remarkAnswered}}}}
	for _, waits := range []reviewRequest{{tasks: []json.RawMessage{nil}}, {crons: []json.RawMessage{nil}}, {inPlanMode: true}} {
		waits.conversation = interrupted
		expectIs(t, fmt.Sprintf("what ends with %+v", waits), len(waits.closes()), 0)
	}
	expectEqual(t, "one that was interrupted does not end", reviewRequest{conversation: interrupted}.closes(), []string{"2"})
	unknown := conversation{requests: prompts("a", "b")}
	expectIs(t, "those without an id that end", len(reviewRequest{conversation: unknown}.closes()), 0)
}

func TestTranscriptUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for _, text := range []string{"no file", "", "{}\n", "not JSON\n", `{"type":"mode"}` + "\n", agentLine("2", "1", "done")} {
		if err := os.WriteFile(path, []byte(text), 0o600); text != "no file" && err != nil {
			t.Fatal(err)
		}
		if text == "no file" {
			os.Remove(path)
		}
		if got, err := readConversation(path); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got, err := readConversation(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %+v, %v", got, err)
	}
}

// longTranscript writes a transcript of about size bytes: results of tools for the most part, a request now and then.
func longTranscript(tb testing.TB, size int) (path string, requests int) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "long.jsonl")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	output := strings.Repeat("what a tool printed, with \"quotes\"\n", 1000)
	parent := ""
	for written, n := 0, 0; written < size; n++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
		line := outputLine(id, parent, "t", output)
		switch n % 10 {
		case 0:
			line, requests = userLine(id, parent, fmt.Sprint("request ", n)), requests+1
		case 8:
			line = entryLine(id, parent, "attachment", `"attachment":{"type":"todo_reminder","content":[]}`)
		case 9:
			line = agentLine(id, parent, "done")
		}
		k, err := file.WriteString(line + "\n")
		if err != nil {
			tb.Fatal(err)
		}
		written, parent = written+k, id
	}
	return path, requests
}

// A transcript costs memory for its entries, not for what tools printed, and time for its bytes.
func TestTranscriptMemory(t *testing.T) {
	size := 40 << 20
	if raceEnabled {
		size = 8 << 20
	}
	path, requests := longTranscript(t, size)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	debug.FreeOSMemory()
	before, start := held(), time.Now()
	got, err := readConversation(path)
	grown, took := held()-min(held(), before), time.Since(start)
	if err != nil || len(got.requests) != requests {
		t.Errorf("%d requests of %d, %v", len(got.requests), requests, err)
	}
	if grown > 10<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if took > 30*time.Second { // 0.2 s on an idle machine, 13 s beside four runs of the tests
		t.Errorf("it took %v", took)
	}
}

// BenchmarkTranscript reads one of 200 MB.
func BenchmarkTranscript(b *testing.B) {
	path, _ := longTranscript(b, 200e6)
	b.SetBytes(200e6)
	for b.Loop() {
		if _, err := readConversation(path); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzTranscript: of a session of prompts, work, queued words, rewinds, compactions, subagents, notifications and lines that are
// no entries, exactly the user's words that were not taken back stand; and no other text makes reading panic or run for ever.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 3, 1}, "{")
	f.Add([]byte{0, 1, 0, 1, 12, 1, 5, 6, 0, 7, 1}, `{"type":"user"}`)
	f.Add([]byte{0, 6, 0, 4, 1}, userLine("1", "2", "fix it")+"\n"+userLine("2", "1", "round"))
	f.Fuzz(func(t *testing.T, steps []byte, other string) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		check(t, os.WriteFile(path, []byte(other), 0o600))
		if got, _ := readConversation(path); len(got.requests) > strings.Count(other, "\n")+1 {
			t.Errorf("%d requests in %q", len(got.requests), other)
		}
		type entry struct {
			id    string
			words string // of a request
		}
		var talk []entry // the conversation
		var lines []string
		add := func(words, line string) {
			talk = append(talk, entry{fmt.Sprint("e", len(lines)), words})
			lines = append(lines, line)
		}
		other = strings.ReplaceAll(other, "\n", " ")
		for n, step := range append([]byte{0}, steps[:min(len(steps), 50)]...) {
			id, parent := fmt.Sprint("e", len(lines)), ""
			if len(talk) > 0 {
				parent = talk[len(talk)-1].id
			}
			words := fmt.Sprint("words ", n)
			switch step % 8 {
			case 0:
				add(words, userLine(id, parent, words))
			case 1:
				add("", agentLine(id, parent, words))
			case 2:
				add("", chain(id+"<"+parent+" call t"))
				add("", outputLine(fmt.Sprint("e", len(lines)), id, "t", other))
			case 3:
				add(words, queuedLine(id, parent, words, ""))
			case 4: // back to where the conversation was, and on with a prompt
				talk = talk[:1+int(step)/8%len(talk)]
				add(words, userLine(id, talk[len(talk)-1].id, words))
			case 5:
				lines = append(lines, strings.Replace(userLine(id, parent, words), `"isSidechain":false`, `"isSidechain":true`, 1))
			case 6:
				add("", fmt.Sprintf(`{"parentUuid":null,"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","uuid":%q}`, parent, id))
				add("", userLine(fmt.Sprint("e", len(lines)), id, words, `,"isCompactSummary":true`))
			case 7:
				add("", userLine(id, parent, "<task-notification>\n"+words))
				lines = append(lines, `{"uuid":"half of a line`, `{"type":"mode","of":{"uuid":"x","parentUuid":"e0"}}`)
			}
		}
		add("", agentLine(fmt.Sprint("e", len(lines)), talk[len(talk)-1].id, "done"))
		if len(steps)%2 == 1 { // a subagent goes on
			line := userLine("side", talk[len(talk)-1].id, "words of the agent's")
			lines = append(lines, strings.Replace(line, `"isSidechain":false`, `"isSidechain":true`, 1))
		}
		check(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		got, err := readConversation(path)
		check(t, err)
		want := ""
		for _, e := range talk {
			if e.words != "" {
				want += e.words + "|"
			}
		}
		if told := toldOf(got.requests); told != want || got.lastWords != "done" || got.broken {
			t.Errorf("got %q, last %q, broken %v; want %q of\n%s", told, got.lastWords, got.broken, want, strings.Join(lines, "\n"))
		}
	})
}

// A notification of Claude Code's does not count the reviews anew, takes no feedback away and is no request: behind the limit the
// turns that it begins end as they are. A prompt of the user's that was queued while a review ran is one.
func TestNotification(t *testing.T) {
	const notification = "<task-notification>\n<task-id>x</task-id>"
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	lines := []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}
	stop := func(isActive, isBlocked bool) {
		t.Helper()
		got := box.stop(box.transcript(lines...) + fmt.Sprintf(`,"stop_hook_active":%v`, isActive))
		if (decided(got.stdout) == blockNotYet) != isBlocked {
			t.Errorf("%+v", got)
		}
		id := fmt.Sprint(len(lines))
		box.submit(notification)
		lines = append(lines, userLine("n"+id, "2", notification), agentLine("a"+id, "n"+id, "done"))
	}
	box.submit("fix it")
	stop(false, true)
	stop(false, true)
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "the request", request, "\n[1] fix it\n", "上次反馈\nnot yet", "第 2 轮，最多 2 轮")
	expectNotIn(t, "the request", request, "task-id")
	stop(true, false) // at the limit
	stop(false, false)
	box.submit("add tests")
	lines = append(lines, userLine("u", "2", "add tests", `,"promptSource":"queued"`), agentLine("v", "u", "done"))
	stop(true, true)
	expectIn(t, "the request", box.read("../fake/reviewer-3.stdin"), "[2] add tests\n", "第 1 轮，最多 2 轮")
}

// What a /loop submits is a prompt: the reviews are counted anew, so that each tick has its own. In the transcript it is none of the
// user's (2.1.280, 2.1.332), and the hook does not wait for it as for one.
func TestLoop(t *testing.T) {
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	lines := []string{userLine("1", "", "/loop 1m ask is it green"), agentLine("2", "1", "done")}
	box.submit("/loop 1m ask is it green")
	box.stop(box.transcript(lines...))
	box.reviews(fails("API Error: 529"))
	for range 3 {
		id := fmt.Sprint(len(lines))
		box.submit("is it green?")
		tick := userLine("t"+id, "2", "is it green?", `,"isMeta":true,"promptSource":"system"`)
		lines = append(lines, tick, agentLine("a"+id, "t"+id, "done"))
		start := time.Now()
		box.stop(box.transcript(lines...))
		expectIs(t, "the tick is waited for", time.Since(start) > transcriptPatience, false)
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock, verdictFailed, verdictFailed, verdictFailed})
	expectEqual(t, "the requests", requestsOf(t, box.read("../fake/reviewer-4.stdin")), []string{"/loop 1m ask is it green"})
}

// Only what stands in the transcript is told; without one the request says that this is not known.
func TestRequests(t *testing.T) {
	box := newHookBox(t)
	box.submit("drop the table")
	box.submit("fix it")
	box.stop(box.transcript(userLine("1", "", "drop the table"), userLine("2", "", "fix it"), agentLine("3", "2", "done")))
	if request := box.read("../fake/reviewer-1.stdin"); strings.Contains(request, "drop the table") || !strings.Contains(request, "[1] fix it\n") {
		t.Errorf("the request is %s", request)
	}
	box.stop(box.transcript(userLine("2", "lost", "fix it"), agentLine("3", "2", "done")))
	expectIn(t, "where the beginning is lost the request", box.read("../fake/reviewer-2.stdin"), "会话记录不完整", "[1] fix it\n")
	box.stop("")
	expectIn(t, "without a transcript the request", box.read("../fake/reviewer-3.stdin"), "会话记录无法读取", "[1] drop the table\n\n[2] fix it\n")
}

// The last entries may be on their way when the hook begins.
func TestTranscriptArrivesLate(t *testing.T) {
	t.Parallel()
	const works, typed = "1 user fix it; 2 call t1; 3 output ok", "4<3 queued and quickly; "
	tests := []struct {
		name, before, late, event, members string
		prompts                            []string // the timeline's
	}{
		{"typed_while_the_agent_worked", works, typed + "5 agent all done", eventStop, `"last_assistant_message":"all done"`, nil},
		{"the_same_words_again", "1 user fix it; 2 agent all done", "3<2 user and quickly; 4 agent all done", eventStop, `"last_assistant_message":"all done"`, []string{"fix it", "and quickly"}},
		{"question", works, typed + "5 call t2", eventPreToolUse, `"tool_name":"AskUserQuestion","tool_use_id":"t2","tool_input":{"questions":[]}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newHookBox(t)
			for _, prompt := range test.prompts {
				box.submit(prompt)
			}
			member := box.transcript(chain(test.before))
			go func() {
				time.Sleep(100 * time.Millisecond)
				box.transcript(chain(test.before), chain(test.late))
			}()
			box.hook(box.event(test.event, member+","+test.members))
			expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "[2] and quickly\n")
		})
	}
}

// A session whose first request holds a large picture is one of its directory.
func TestTranscriptStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	os.WriteFile(path, []byte(`{"type":"user","message":{"content":"`+strings.Repeat("x", 3<<20)+`"},"cwd":"/p"}`+"\n"), 0o600)
	expectIs(t, "the directory", transcriptStart(path), "/p")
	os.WriteFile(path, []byte(`{"isSidechain":true,"cwd":"/of/a/subagent"}`+"\n{}\n"+`{"cwd":"/first"}`+"\n"+`{"cwd":"/later"}`), 0o600)
	expectIs(t, "the first of the session's own", transcriptStart(path), "/first")
	expectIs(t, "of no file", transcriptStart(path+".gone"), "")
}

// Context, version and directory are those of the newest entry that has them.
func TestTranscriptNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	lines := userLine("1", "", "fix it")
	for i, model := range []string{"old", "new", "<synthetic>"} {
		lines += "\n" + fmt.Sprintf(`{"parentUuid":"%d","type":"assistant","message":{"model":%q,"usage":{"input_tokens":%d,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1000},`+
			`"content":[]},"uuid":"%d","version":"2.1.%[1]d","cwd":"/%[1]d"}`, i+1, model, i+1, i+2)
	}
	check(t, os.WriteFile(path, []byte(lines+"\n"+`{"type":"mode"}`), 0o600))
	got, err := readConversation(path)
	check(t, err)
	if got.context != 112 || got.version != "2.1.3" || got.cwd != "/3" {
		t.Errorf("context %d, version %q, directory %q", got.context, got.version, got.cwd)
	}
}

// The model is the one of which Claude Code has written last that it is at work.
func TestTranscriptModel(t *testing.T) {
	done := agentLine("3", "2", "done")
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"of none": {[]string{userLine("2", "", "go"), done}, ""},
		"one":     {[]string{modelLine("1", "", "a[1m]"), userLine("2", "1", "go"), done}, "a[1m]"},
		"the newest": {[]string{
			modelLine("1", "", "a"), userLine("2", "1", "go"), done,
			modelLine("4", "3", "b"), userLine("5", "4", "go"), agentLine("6", "5", "done"),
		}, "b"},
		"chosen behind what was taken back": {[]string{
			modelLine("1", "", "a"), userLine("2", "1", "go"), done,
			modelLine("4", "3", "b"), userLine("5", "4", "no"), userLine("6", "3", "on"), agentLine("7", "6", "done"),
		}, "b"},
		"a subagent's": {[]string{
			modelLine("1", "", "a"), userLine("2", "1", "go"),
			strings.Replace(modelLine("4", "2", "b"), `"attachment":{`, `"isSidechain":true,"attachment":{`, 1), done,
		}, "a"},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		check(t, os.WriteFile(path, []byte(strings.Join(test.lines, "\n")), 0o600))
		got, err := readConversation(path)
		check(t, err)
		expectIs(t, name+": the model", got.model, test.want)
	}
}

// TestTranscriptRecorded: of the transcripts that real clients wrote, exactly the words of the table in
// testdata/transcripts/README.md stand, with these remarks.
func TestTranscriptRecorded(t *testing.T) {
	remarks := map[string]string{"beside": "BESIDE ", "answer": "ANSWERED ", "refusal": "REFUSED ", "approval": "APPROVED ", "stopped": "INTERRUPTED "}
	way, played := "", 0
	for line := range strings.Lines(readPage(t, "testdata/transcripts/README.md")) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "¦"), " | ")
		if len(cells) != 3 || strings.HasPrefix(line, "| way") {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(strings.Trim(cells[0], "|")), ":")
		first, _, _ = strings.Cut(first, ",")
		way = cmp.Or(first, way)
		for version := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			played++
			name := way + "-" + version
			c, err := readConversation(filepath.Join("testdata/transcripts", name+".jsonl"))
			wanted := strings.Split(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(cells[2]), "|")), "; ")
			if strings.HasPrefix(wanted[0], "unknown") {
				if err == nil {
					t.Errorf("%s: no error", name)
				}
				continue
			}
			check(t, err)
			got := strings.Split(strings.TrimSuffix(toldOf(c.requests), "|"), "|")
			is := len(got) == len(wanted)
			for i := 0; is && i < len(got); i++ {
				words, remark, _ := strings.Cut(wanted[i], " ¦ ")
				if _, inside, isPlan := strings.Cut(words, "the plan with "); isPlan {
					is = strings.HasPrefix(got[i], "PLANNED ") && strings.Contains(got[i], strings.Trim(inside, `"`))
				} else if remark == "answer" {
					is = strings.HasPrefix(got[i], remarks[remark]) && strings.HasSuffix(got[i], words)
				} else {
					is = got[i] == remarks[remark]+words
				}
			}
			if !is {
				t.Errorf("%s: got %q, want %q", name, got, wanted)
			}
		}
	}
	if files, _ := filepath.Glob("testdata/transcripts/*.jsonl"); played != len(files) {
		t.Errorf("the table has %d transcripts, the directory %d", played, len(files))
	}
}

// Only transcripts are sessions: no subagent's, no file of another name; the newest is first.
func TestStoredSessions(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{uuidOf("old"), uuidOf("new"), "agent-" + uuidOf("x"), "a b", uuidOf("unwanted")} {
		path := filepath.Join(dir, name+".jsonl")
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		check(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)))
	}
	check(t, os.Symlink("nowhere", filepath.Join(dir, uuidOf("gone")+".jsonl")))
	var got []string
	for _, s := range storedSessions(dir, "*.jsonl", func(s storedSession) bool { return s.id != uuidOf("unwanted") }) {
		got = append(got, s.id)
	}
	expectEqual(t, "the sessions", got, []string{uuidOf("new"), uuidOf("old")})
	// The entry that a fork leads back to is looked for in each once, and not for ever.
	all := storedSessions(dir, "*.jsonl", func(s storedSession) bool { return true })
	check(t, os.WriteFile(all[2].path, []byte(userLine("1", "", "fix it")), 0o600))
	last, found := all[2].id, findEntry(&all, "1", time.Now().Add(-time.Second))
	expectIs(t, "found behind the deadline", found, nil)
	found = findEntry(&all, "1", time.Now().Add(time.Minute))
	if found == nil {
		t.Fatalf("no entry 1; left %+v", all)
	}
	expectIs(t, "the words of the entry", found.entries["1"].said.words, "fix it")
	expectIs(t, "how many are left to be searched", len(all), 2)
	expectIs(t, "the one that was searched is left", all[0].id == last || all[1].id == last, false)
	for line, want := range map[string]string{`{"a":"1","uuid":"x","b":2}`: "x", `{"uuid":"x","b":{"uuid":"y"}}`: "", `{"uuid":3}`: "",
		`{"parent":"x"}`: "", `{"uuid":"x`: ""} {
		expectIs(t, line, onlyMember([]byte(line), "uuid"), want)
	}
}

// For talk alone no tool was called since; a call of the newest prompt, or of a request after that time, is one.
func TestCalledSince(t *testing.T) {
	at := func(hours int) string { return ago(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
	request := func(hours int, isPrompt, calls bool) userRequest {
		return userRequest{id: "1", words: "x", at: at(hours), isPrompt: isPrompt, callsTool: calls}
	}
	for name, test := range map[string]struct {
		requests []userRequest
		want     bool
	}{
		"no prompt":                 {nil, true},
		"talk":                      {[]userRequest{request(5, true, false)}, false},
		"work before talk":          {[]userRequest{request(5, true, true), request(4, true, false)}, false},
		"work":                      {[]userRequest{request(5, true, true)}, true},
		"work behind a prompt":      {[]userRequest{request(5, true, false), request(4, false, true)}, true},
		"work since, talk behind":   {[]userRequest{request(1, true, true), request(0, true, false)}, true},
		"work before, talk behind":  {[]userRequest{request(3, true, true), request(1, true, false)}, false},
		"a request without an id":   {[]userRequest{{words: "x", at: at(5), isPrompt: true}}, true},
		"a request without a time":  {[]userRequest{{id: "1", words: "x", isPrompt: true}}, false},
		"no prompt, but an answer":  {[]userRequest{request(5, false, false)}, true},
		"an answer after that time": {[]userRequest{request(1, false, false)}, false},
	} {
		c := conversation{requests: test.requests}
		expectIs(t, name, c.calledSince(ago(2*time.Hour)), test.want)
	}
}
