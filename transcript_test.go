package main

// Transcripts as versions of Claude Code write them, in the members that ccc reads.
//
// What recordings of the real client (testdata/recordings, see real_transcript_test.go) say, version by
// version: of events, transcripts and streams. They are the fast tests of what only the real client can
// break.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// entryLine is a line of a transcript, of now unless members say otherwise; parent "" is null.
func entryLine(id, parent, kind, members string) string {
	from := "null"
	if parent != "" {
		from = `"` + parent + `"`
	}
	const form = `{"timestamp":%q,"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,` +
		`"version":"2.1.332","cwd":"/work"}`
	return fmt.Sprintf(form, now().Format(time.RFC3339Nano), from, kind, members, id)
}

// humanOrigin is what Claude Code writes of the user's words.
const humanOrigin = `"origin":{"kind":"human"},`

func userLine(id, parent, words string, more ...string) string {
	message := `"message":{"role":"user","content":` + string(encodeJSON(words)) + `}`
	return entryLine(id, parent, "user", humanOrigin+message+strings.Join(more, ""))
}

// assistantLine is what Claude Code writes of the agent's: a block, which is JSON.
func assistantLine(id, parent, block string) string {
	members := `"message":{"model":"claude-1","role":"assistant","content":[` + block + `]}`
	return entryLine(id, parent, "assistant", members)
}

func agentLine(id, parent, words string) string {
	return assistantLine(id, parent, `{"type":"text","text":`+string(encodeJSON(words))+`}`)
}

// modelLine is what Claude Code writes where the agent begins to work with a model (2.1.270 on).
func modelLine(id, parent, model string) string {
	members := `"attachment":{"type":"model","identity":{"modelId":"` + model + `"}}`
	return entryLine(id, parent, "attachment", members)
}

func outputLine(id, parent, call, output string) string {
	result := fmt.Sprintf(`{"tool_use_id":%q,"type":"tool_result","content":%s}`, call, encodeJSON(output))
	return entryLine(id, parent, "user", `"message":{"role":"user","content":[`+result+`]}`)
}

// transcriptOf writes a transcript from lines as testdata/requests.txt has them; "; " separates them, too.
func transcriptOf(lines string) string {
	var text []string
	last := ""                     // the id of the entry before
	follows := map[string]string{} // by the words of a prompt, what it follows
	for line := range strings.SplitSeq(strings.ReplaceAll(lines, "; ", "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "{") {
			text = append(text, line)
			continue
		}
		kind, words, _ := strings.Cut(line, ":")
		words, more, _ := strings.Cut(words, " | ")
		if words = strings.ReplaceAll(strings.TrimPrefix(words, " "), `\n`, "\n"); more != "" {
			more = "," + more
		}
		if kind == "back" {
			last = follows[words]
			continue
		}
		id, parent := fmt.Sprintf("e%d", len(text)), last
		switch kind {
		case "user":
			line = userLine(id, parent, words, more)
		case "other":
			line = strings.Replace(userLine(id, parent, words, more), humanOrigin, "", 1)
		case "queued":
			line = humanOrigin + `"prompt":` + string(encodeJSON(words)) + more
			line = entryLine(id, parent, "attachment", `"attachment":{"type":"queued_command",`+line+`}`)
		case "esc-sent":
			line = userLine(id, parent, words, `,"promptSource":"queued"`)
		case "esc":
			line = strings.Replace(userLine(id, parent, "[Request interrupted by user]"), humanOrigin, "", 1)
		case "agent":
			line = agentLine(id, parent, words)
		case "client": // Claude Code's own words in the place of the agent's
			line = strings.Replace(agentLine(id, parent, words), "claude-1", "<synthetic>", 1)
		case "call":
			line = assistantLine(id, parent, `{"type":"tool_use","id":"`+words+`","name":"Bash","input":{}}`)
			line = strings.Replace(line, `,"uuid"`, more+`,"uuid"`, 1)
		case "result":
			line = strings.Replace(outputLine(id, parent, "t", words), `,"uuid"`, more+`,"uuid"`, 1)
		case "compaction":
			line = fmt.Sprintf(`{"parentUuid":null,"logicalParentUuid":%q,"type":"system",`+
				`"subtype":"compact_boundary","uuid":%q%s}`, parent, id, more)
		default:
			panic("no kind of line: " + line)
		}
		follows[words] = parent
		text, last = append(text, line), id
	}
	return strings.Join(text, "\n")
}

// prompts are requests of these words.
func prompts(texts ...string) (list []userRequest) {
	for _, text := range texts {
		list = append(list, userRequest{words: text})
	}
	return list
}

// inShort puts a word in the place of each remark.
var inShort = strings.NewReplacer(say(remarkWithEsc), "BESIDE", say(remarkInterrupted), "INTERRUPTED",
	say(remarkAnswered), "ANSWERED", say(remarkRefused), "REFUSED", say(remarkApproved), "APPROVED",
	say(remarkPlanned), "PLANNED")

// toldOf returns the requests with what became of them and their remarks in short, and a bar after each.
func toldOf(requests []userRequest) (told string) {
	for _, r := range requests {
		told += strings.TrimSpace(r.fate+" "+inShort.Replace(r.String())) + "|"
	}
	return told
}

// A requestCase is one of testdata/requests.txt.
type requestCase struct {
	name, lines          string
	requests, last, dirs string // requests and directories with a bar after each
}

// readRequestCases reads testdata/requests.txt, whose head says what its lines mean.
func readRequestCases(t *testing.T) (cases []*requestCase) {
	t.Helper()
	home, _ := os.UserHomeDir()
	for line := range strings.Lines(readPage(t, "testdata/requests.txt")) {
		line = strings.TrimSuffix(line, "\n")
		keyword, rest, _ := strings.Cut(line, " ")
		if keyword == "##" {
			name, _, _ := strings.Cut(rest, ":")
			cases = append(cases, &requestCase{name: name})
		}
		if line == "" || strings.HasPrefix(keyword, "#") {
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
		default:
			c.lines += line + "\n"
		}
	}
	return cases
}

// conversationOf reads a transcript with these lines.
func conversationOf(t *testing.T, text string) conversation {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	check(t, os.WriteFile(path, []byte(text), 0o600))
	talk, err := readConversation(path)
	check(t, err)
	return talk
}

// Exactly the requests that stand are read.
func TestTranscriptRequests(t *testing.T) {
	for _, test := range readRequestCases(t) {
		t.Run(test.name, func(t *testing.T) {
			got := conversationOf(t, transcriptOf(test.lines))
			expectIs(t, "the requests", toldOf(got.requests), test.requests)
			last := got.lastWords
			if got.lastCall != "" {
				last += "call " + got.lastCall
			}
			expectIs(t, "what the agent said or called last", last, test.last)
			expectIs(t, "the directories", strings.Join(append(got.dirs, ""), "|"), test.dirs)
			expectIs(t, "the version", got.version, "2.1.332")
		})
	}
}

// For words alone nothing has to be run: where the agent has called no tool since the prompt that it began
// with.
func TestTranscriptCalls(t *testing.T) {
	for want, talks := range map[bool][]string{
		true: {
			"user: fix it; call: t1; result: ok; agent: done; user: thanks; agent: welcome",
			"user: hi; agent: hello; user: fix it; call: t1; back: fix it; user: thanks; agent: welcome",
			"user: why?; agent: tool_use is the type of a block",
		},
		false: {
			"user: fix it; agent: I try; call: t1; result: ok; agent: done",
			"user: fix it; call: t1; result: ok; queued: and quickly; agent: done",
		},
	} {
		for _, lines := range talks {
			expectIs(t, lines, conversationOf(t, transcriptOf(lines)).wordsOnly, want)
		}
	}
	const dated = `user: fix it; call: t1 | "timestamp":"2026-11-01T10:00:00.5Z"; agent: done`
	called := conversationOf(t, transcriptOf(dated)).called.UTC()
	expectIs(t, "when the agent called a tool", called.Format(time.RFC3339Nano), "2026-11-01T10:00:00.5Z")
}

// What became of the requests: an end closes all that is older than the begin of its review; what an earlier
// end has closed is not listed; an approval with something still to come lets go, and a refusal takes that
// back.
func TestRequestsReviewed(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 1, 10, minute, 0, 0, time.UTC) }
	reviewed := func(event string, minute int, v verdict) review {
		return review{Event: event, Begun: at(minute), Ended: at(minute), outcome: outcome{Verdict: v}}
	}
	stop := func(minute int, v verdict) review { return reviewed(eventStop, minute, v) }
	waiting := func(r review) review { r.Waiting = true; return r }
	passed := func(minute int) string { return say(remarkPassed, clock(at(minute))) + " " }
	letGo := func(minute int) string { return say(remarkLetGo, clock(at(minute))) + " " }
	for _, test := range []struct {
		name    string
		reviews []review
		want    string // of the requests a, b and c, made at minutes 0, 10 and 20
	}{
		{"the end of the first", []review{stop(5, verdictAllow)}, passed(5) + "a|b|c|"},
		{"an end of two", []review{stop(15, verdictBlock), stop(16, verdictAllow)},
			passed(16) + "a|" + passed(16) + "b|c|"},
		{"the last end alone", []review{stop(5, verdictAllow), stop(15, verdictAllow)}, passed(15) + "b|c|"},
		{"the limit, then approved", []review{stop(5, verdictLimit), stop(15, verdictAllow)},
			passed(15) + "a|" + passed(15) + "b|c|"},
		{"let go and sent back", []review{waiting(stop(5, verdictAllow)), stop(6, verdictBlock)}, "a|b|c|"},
		{"then ended", []review{waiting(stop(5, verdictAllow)), stop(6, verdictAllow)}, passed(6) + "a|b|c|"},
		{"none took place", []review{stop(5, verdictFailed), stop(6, verdictCancelled)}, "a|b|c|"},
		{"by hand meanwhile", []review{waiting(reviewed(eventReview, 5, verdictAllow))}, letGo(5) + "a|b|c|"},
	} {
		requests := []userRequest{{at: at(0), words: "a"}, {at: at(10), words: "b"}, {at: at(20), words: "c"}}
		c := conversation{requests: requests}
		c.noteReviews(&history{Reviews: test.reviews})
		expectIs(t, test.name, toldOf(c.requests), test.want)
	}
}

// What holds no entry is no conversation.
func TestTranscriptUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	_, err := readConversation(path)
	expectIs(t, "no file: an error", err != nil, true)
	for _, text := range []string{"", "{}\n", "not JSON\n", `{"type":"mode"}` + "\n"} {
		check(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readConversation(path)
		expectIs(t, text+": an error", err != nil, true)
	}
	if got, err := readConversation(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %+v, %v", got, err)
	}
}

// A transcript costs memory for its entries, not for what tools printed.
func TestTranscriptMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	output := strings.Repeat("what a tool printed, with \"quotes\"\n", 1000)
	for n := range 1000 { // 35 MiB
		line := outputLine(fmt.Sprint(n), fmt.Sprint(n-1), "t", output)
		if n%10 == 0 {
			line = userLine(fmt.Sprint(n), fmt.Sprint(n-1), "do more")
		}
		check(t, appendFile(path, []byte(line+"\n")))
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	debug.FreeOSMemory()
	before := held()
	got, err := readConversation(path)
	grown := held() - min(held(), before)
	check(t, err)
	expectIs(t, "the requests", len(got.requests), 100)
	if grown > 10<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// FuzzTranscript: no text makes reading panic or run for ever, or holds more requests than lines.
func FuzzTranscript(f *testing.F) {
	for _, seed := range []string{"{", `{"type":"user"}`,
		transcriptOf("user: fix it; compaction: ; queued: that"),
		userLine("1", "2", "fix it") + "\n" + userLine("2", "1", "round")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		check(t, os.WriteFile(path, []byte(text), 0o600))
		if got, _ := readConversation(path); len(got.requests) > strings.Count(text, "\n")+1 {
			t.Errorf("%d requests in %q", len(got.requests), text)
		}
	})
}

// Context, version and directory are those of the newest entry that has them; so is the model, as --model
// takes it.
func TestTranscriptNewest(t *testing.T) {
	lines := userLine("1", "", "fix it")
	const form = `{"parentUuid":"%d","type":"assistant","message":{"model":%q,"usage":{"input_tokens":%d,` +
		`"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1000},` +
		`"content":[]},"uuid":"%d","version":"2.1.%[1]d","cwd":"/%[1]d"}`
	for i, model := range []string{"old", "new", "<synthetic>"} {
		lines += "\n" + fmt.Sprintf(form, i+1, model, i+1, i+2)
	}
	got := conversationOf(t, lines+"\n"+`{"type":"mode"}`)
	newest := fmt.Sprintf("%d %s %s", got.context, got.version, got.cwd)
	expectIs(t, "context, version, directory", newest, "112 2.1.3 /3")
	model := func(name string) string { return modelLine("m", "", name) + "; user: go; agent: done" }
	ofSidechain := strings.Replace(modelLine("n", "", "b"), `"isSidechain":false`, `"isSidechain":true`, 1)
	for lines, want := range map[string]string{
		"user: go; agent: done":         "",
		model("a[1m]"):                  "a[1m]",
		model("a") + "; " + model("b"):  "b",
		model("a") + "; " + ofSidechain: "a",
	} {
		expectIs(t, lines, conversationOf(t, transcriptOf(lines)).model, want)
	}
}

// recordedNames are the streams that are recorded, in their order, and recordedReviews what the reviewer does
// in each.
var recordedNames = []string{"allow", "block", "text", "prose", "refused", "error"}

var recordedReviews = map[string][]apiReply{
	"allow": {replyTool("Read", `{"file_path":"notes.txt"}`), replyVerdict(true, "nothing is left")},
	"block": {bash("ls"), replyVerdict(false, "show the tests")},
	"text":  {replyText("I looked.\n```json\n{\"allow_stop\": true, \"feedback\": \"in a text\"}\n```")},
	"prose": {replyText("I can not tell.")},
	"refused": {bash("touch touched.txt"), replyTool("Write", `{"file_path":"new.txt","content":"x"}`),
		replyVerdict(false, "it was refused")},
	"error": {replyError(400, "invalid_request_error", "planted")},
}

// recordedBlocks are those after which the agent goes on, and stops at the limit.
var recordedBlocks = map[string]bool{"block": true, "prose": true, "refused": true}

// eachRecording calls test as a subtest for each recording of a kind: each version of testdata/clients has
// one, or one of each name.
func eachRecording(t *testing.T, kind string, names []string,
	test func(t *testing.T, version, name string, text []byte),
) {
	t.Helper()
	versions, err := pinnedClients()
	check(t, err)
	for _, version := range versions {
		for _, name := range names {
			file := recordingName(kind, version, name)
			t.Run(strings.TrimSuffix(file, ".jsonl"), func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(recordings, file))
				check(t, err)
				test(t, version, name, text)
			})
		}
	}
}

func TestRecordedEvents(t *testing.T) {
	eachRecording(t, "events", []string{""}, func(t *testing.T, _, _ string, text []byte) {
		expectRecordedEvents(t, text)
	})
}

// expectRecordedEvents wants events of the session that TestRealClientRecordings plays to be what ccc takes
// them for.
func expectRecordedEvents(t *testing.T, text []byte) {
	t.Helper()
	var got []string
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var line json.RawMessage
		check(t, d.Decode(&line))
		e, err := readEvent(bytes.NewReader(line))
		check(t, err)
		expectIs(t, "what is of another type", e.odd, "")
		expectIs(t, "the transcript", filepath.Ext(e.TranscriptPath), ".jsonl")
		about := e.HookEventName
		switch {
		case e.AgentID != "":
			continue
		case about == eventStop:
			if len(e.BackgroundTasks) > 0 {
				about += " beside a task"
			}
			if e.StopHookActive {
				about += " after a block"
			}
			about += " " + string(e.LastAssistantMessage)
		case about == eventPrompt && isUsersOwn(string(e.Prompt)):
			about += " " + string(e.Prompt)
		case about == eventPrompt:
			about += " of the client's"
		case about == eventPreToolUse && e.ToolName == askUserQuestion:
			expectIn(t, "the question "+e.ToolUseID, string(e.ToolInput["questions"]), "Which database?")
		default:
			continue
		}
		got = append(got, about)
	}
	var want []string
	for _, name := range recordedNames {
		want = append(want, eventPrompt+" review: "+name, "Stop done")
		if recordedBlocks[name] {
			want = append(want, "Stop after a block done")
		}
	}
	task := []string{"Stop beside a task done", eventPrompt + " of the client's", "Stop done"}
	want = append(want, eventPrompt+" ask me", eventPreToolUse, "Stop done")
	want = append(want, eventPrompt+" /paint red", "Stop done")
	want = append(append(want, eventPrompt+" have it done"), task...)
	want = append(append(want, eventPrompt+" start it"), task...)
	want = append(want, eventPrompt+" /supervisor off")
	expectEqual(t, "the events", got, want)
}

func TestRecordedStreams(t *testing.T) {
	eachRecording(t, "stream", recordedNames, func(t *testing.T, version, name string, text []byte) {
		expectRecordedStream(t, name, version, text)
	})
}

// expectRecordedStream wants a reviewer's stream of that name to come to what its reviewer meant.
func expectRecordedStream(t *testing.T, name, version string, text []byte) {
	t.Helper()
	var calls []string
	var mirror bytes.Buffer
	note := func(did step) {
		if did.Kind != stepWords {
			calls = append(calls, did.Kind+" "+did.Tool)
		}
	}
	isOver := false
	s := newStream(&mirror, note, func(err error) { t.Error(err) }, func() { isOver = true })
	for piece := range slices.Chunk(text, 1000) { // as a pipe hands it over
		s.Write(piece)
	}
	s.close()
	if s.result == nil {
		t.Fatalf("no result in %s", text)
	}
	expectIs(t, "the review is over", isOver, name != "prose") // words may be followed by a verdict
	decided, feedback, err := s.result.judge()
	got := fmt.Sprintf("%s %q %q", decided, feedback, calls)
	if err != nil {
		got = fmt.Sprintf("%v %q", strings.Contains(err.Error(), "API Error: 400"), calls)
	}
	want := map[string]string{
		"allow": `allow "nothing is left" ["call Read(notes.txt)"]`,
		"block": `block "show the tests" ["call Bash(ls)"]`,
		"text":  `allow "in a text" []`,
		"prose": ` "I can not tell." []`,
		"refused": `block "it was refused" ["call Bash(touch touched.txt)" ` +
			`"refused Bash(touch touched.txt)" "call Write(new.txt)" "refused Write(new.txt)"]`,
		"error": `true []`,
	}[name]
	expectIs(t, "the review", got, want)
	expectIs(t, "what was kept of the stream", mirror.String(), string(text))
	if name != "error" { // what this review alone has cost, and not its session, is told from 2.1.329 on
		expectIs(t, "the cost is known", s.outcome.CostUSD > 0, !olderThan(version, "2.1.329"))
	}
	if !validSession(s.outcome.ReviewerSession) {
		t.Errorf("the reviewer's session is %q", s.outcome.ReviewerSession)
	}
	if tokens := s.outcome.Tokens; name != "error" && (tokens.Input == 0 || tokens.Output == 0) {
		t.Errorf("it used %+v", tokens)
	}
}

// expectTold wants of a transcript the requests that its first line has.
func expectTold(t *testing.T, path string) conversation {
	t.Helper()
	var told struct {
		Type string
		Told []string
	}
	check(t, json.NewDecoder(strings.NewReader(readPage(t, path))).Decode(&told))
	expectIs(t, "the first line of "+path, told.Type, toldLine)
	got, err := readConversation(path)
	check(t, err)
	requests := strings.FieldsFunc(toldOf(got.requests), func(r rune) bool { return r == '|' })
	expectEqual(t, "the requests of "+path, requests, told.Told)
	return got
}

// Of each transcript the requests stand that the slow test has seen in the reviewer's request; of those that
// real clients wrote in other ways, see testdata/transcripts/README.md, those that were seen right once.
func TestRecordedTranscripts(t *testing.T) {
	names := []string{"answers", "background", "corrections", "requests"}
	eachRecording(t, "transcript", names, func(t *testing.T, version, name string, _ []byte) {
		got := expectTold(t, filepath.Join(recordings, recordingName("transcript", version, name)))
		if got.version != version || got.model == "" || got.lastWords == "" {
			t.Errorf("version %q, model %q, last words %q", got.version, got.model, got.lastWords)
		}
	})
	others, _ := filepath.Glob("testdata/transcripts/*.jsonl")
	expectIs(t, "there are others", len(others) > 0, true)
	for _, path := range others {
		expectTold(t, path)
	}
}

// Whether an agent has done something since a time is told by the last 4 MiB of its transcript. When in
// doubt, it has.
func TestHasActedSince(t *testing.T) {
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	entry := func(role, block string) string {
		return fmt.Sprintf(`{"type":%q,"timestamp":%q,"message":{"model":"m","content":[%s]}}`+"\n",
			role, at.Format(time.RFC3339), block)
	}
	words := entry("assistant", `{"type":"text","text":"x"}`)
	call := entry("assistant", `{"type":"tool_use","id":"t"}`)
	result := entry("user", `{"type":"tool_result","content":"`+strings.Repeat("x", 1<<20)+`"}`)
	for name, c := range map[string]struct {
		text  string
		since time.Time
		want  bool
	}{
		"words before":                 {words, at.Add(time.Second), false},
		"a call that may run":          {call, at.Add(time.Second), true},
		"words before much":            {strings.Repeat(result, 5) + words, at.Add(time.Second), false},
		"no transcript":                {"", at, true},
		"none, a session that is new":  {"", time.Time{}, false},
		"a session that is new to ccc": {words, time.Time{}, true},
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if c.text != "" {
			check(t, os.WriteFile(path, []byte(c.text), 0o600))
		}
		expectIs(t, name, hasActedSince(path, c.since), c.want)
	}
}
