package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A prompt is recognised in the transcript, which writes it with another white space, and after /supervisor.
func TestIsRequest(t *testing.T) {
	for request, prompt := range map[string]string{
		"fix it":             "fix it\n",
		"fix\nit\n":          "fix\nit",
		"/plan a b":          "/plan  a\tb ",
		"/supervisor fix it": "fix it",
		"/supervisor on a b": "a\n b",
	} {
		name := fmt.Sprintf("%q in %q", prompt, request)
		expectIs(t, name, isRequest(request, prompt), true)
		expectIs(t, name+", with another letter", isRequest(request, prompt+"x"), false)
		expectIs(t, name+", in another's", isRequest("x", prompt), false)
	}
}

// FuzzHookEvent: an event that is taken has a session id that is safe as a file
// name and an argument, and a name.
func FuzzHookEvent(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"session_id":"a"}`, `{"session_id":"-x","hook_event_name":1}`,
		`{"session_id":"a","tool_input":{"questions":[{}]},"last_assistant_message":{}} x`,
		`{"session_id":"a","SESSION_ID":"../x"}`, `{"session_id":"a","background_tasks":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		event, err := readEvent(strings.NewReader(input))
		if err != nil {
			return
		}
		id := event.SessionID
		isSafe := validSession(id) && filepath.Base(id) == id && !strings.HasPrefix(id, "-")
		if !isSafe || event.HookEventName == "" {
			t.Errorf("took %+v", event)
		}
	})
}

// What of an event's last words the transcript must hold before it is read as whole.
func TestEventLastWords(t *testing.T) {
	for _, test := range []struct {
		event, said, call, last string
		want                    bool
	}{
		{eventStop, "all is done", "", "done", true},
		{eventStop, "done", "", "all is done", true},
		{eventStop, "done", "", "other", false},
		{eventStop, "", "", "", false},
		{eventStop, "done", "", "call 1", false},
		{eventStop, "tool_use 1", "", "tool_use 1", true},
		{eventPreToolUse, "", "1", "call 1", true},
		{eventPreToolUse, "", "1", "call 2", false},
	} {
		e := hookEvent{HookEventName: test.event, ToolName: askUserQuestion, ToolUseID: test.call}
		e.LastAssistantMessage = blockText(test.said)
		last := conversation{lastWords: test.last}
		if id, isCall := strings.CutPrefix(test.last, "call "); isCall {
			last = conversation{lastCall: id}
		}
		expectIs(t, fmt.Sprintf("%+v", test), e.saysLast(&last), test.want)
	}
}

// The transcript is read once it holds the newest prompt and the agent's last words: at once if they are
// there, else when they come.
func TestEventConversation(t *testing.T) {
	_, err := new(hookEvent).conversation("")
	expectError(t, "an event without one", err, "the event names none")
	path := filepath.Join(t.TempDir(), "t.jsonl")
	e := &hookEvent{HookEventName: eventStop, TranscriptPath: path, LastAssistantMessage: "done"}
	write := func(lines ...string) {
		check(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	first, answer := userLine("1", "", "one"), agentLine("2", "1", "done")
	const tags = `<command-message>paint</command-message>\n<command-name>/paint</command-name>\n` +
		`<command-args>red</command-args>`
	for prompt, line := range map[string]string{
		"one":        first,
		"two":        userLine("1", "", "/supervisor two"),
		"/paint red": userLine("1", "", tags),
		"ticks":      userLine("1", "", "ticks", `,"isMeta":true,"promptSource":"system"`), // of a /loop
	} {
		write(line, answer)
		isQuick := false
		for range 5 { // a busy machine may take its time, but not five times in a row
			start := time.Now()
			talk, err := e.conversation(prompt)
			check(t, err)
			expectIs(t, prompt+" is incomplete", talk.incomplete, false)
			if isQuick = time.Since(start) < transcriptPatience; isQuick {
				break
			}
		}
		expectIs(t, prompt+" is read at once", isQuick, true)
	}
	const enqueued = `; {"type":"queue-operation","operation":"enqueue","content":"two"}`
	const dequeued = `; {"type":"queue-operation","operation":"dequeue"}`
	late := func(before, rest string) {
		write(transcriptOf(before))
		time.AfterFunc(50*time.Millisecond, func() { write(transcriptOf(before + rest)) })
	}
	const one, two = "user: one; agent: done", "; user: two; agent: done"
	e.ToolUseID, e.ToolName = "t2", askUserQuestion // which a stop does not look at
	for _, test := range []struct{ event, prompt, before, rest string }{
		{eventStop, "two", one, two},
		{eventStop, "two", one + enqueued, dequeued + two},
		{eventStop, "", "user: one; agent: to be said; user: two", "; agent: done"},
		{eventPreToolUse, "", "user: one; call: t1; result: ok", "; queued: two; call: t2"},
	} {
		e.HookEventName = test.event
		late(test.before, test.rest)
		talk, err := e.conversation(test.prompt)
		check(t, err)
		expectIs(t, fmt.Sprintf("what has come of %+v", test), len(talk.requests), 2)
	}
	e.HookEventName = eventStop
	write(transcriptOf(one + enqueued)) // what stays in the queue is hardly waited for
	talk, err := e.conversation("two")
	check(t, err)
	expectIs(t, "waited in vain", talk.incomplete, false)
	expectIs(t, "the requests", toldOf(talk.requests), "one|")
	h := testHook(t, eventStop) // whose newest prompt comes late
	h.event.TranscriptPath, h.event.LastAssistantMessage = path, "done"
	check(t, h.session.append(prompted("two")))
	late(one, two)
	h.past, _ = h.session.readHistory()
	h.event.PermissionMode, h.event.BackgroundTasks = "plan", []json.RawMessage{[]byte("7")}
	h.event.SessionCrons = []json.RawMessage{[]byte("8")}
	of := h.work(h.event.occasion())
	expectIs(t, "what is to come", of.awaited(), "?、?、"+say(awaitedPlan))
	got := fmt.Sprint(len(of.talk.requests), of.inPlanMode, len(of.tasks), len(of.crons), " ", of.lastMessage)
	expectIs(t, "what the reviewer is told", got, "2 true 1 1 done")
}

// What is read of an event: each field by its own name. One of another type counts as absent, but for three.
func TestEventRead(t *testing.T) {
	const whole = `{"session_id":"s","hook_event_name":"PreToolUse","stop_hook_active":true,"agent_id":"g",` +
		`"transcript_path":"/t","cwd":"/c","permission_mode":"plan","prompt":"p",` +
		`"last_assistant_message":"l","background_tasks":[1,2],"session_crons":[1,2,3],"source":"o",` +
		`"tool_name":"n","tool_input":{"a":1},"tool_use_id":"u"}`
	e, err := readEvent(strings.NewReader(whole + "  "))
	check(t, err)
	expectIs(t, "the event", string(encodeJSON(e)), whole)
	expectIs(t, "another tool's call is reviewed", e.occasion() != nil, false)
	for _, test := range []struct{ field, value, want, odd string }{
		{"cwd", `["/x"]`, `""`, "cwd"},
		{"background_tasks", `{"odd":1}`, "null", "background_tasks"},
		{"last_assistant_message", "1234567", `""`, "last_assistant_message"},
		{"last_assistant_message", `[{"type":"text","text":"Done."}]`, `"Done."`, ""},
		{"prompt", `[{"type":"text","text":"fix it"},{"type":"image"}]`, `"fix it"`, ""},
		{"tool_input", `["odd"]`, "null", "tool_input"},
		{"stop_hook_active", `"no"`, "true", "stop_hook_active"},
		{"stop_hook_active", "null", "false", ""},
		{"agent_id", `{"id":1}`, `"of another type"`, "agent_id"},
		{"hook_event_name", `["Stop"]`, `"of another type"`, "hook_event_name"},
		{"hook_event_name", `""`, `"Stop"`, ""},
	} {
		name := test.field + ": " + test.value
		e, err := readEvent(strings.NewReader(`{"session_id":"s","` + test.field + `":` + test.value + "}"))
		check(t, err)
		fields := map[string]json.RawMessage{}
		check(t, json.Unmarshal(encodeJSON(e), &fields))
		expectIs(t, name, string(fields[test.field]), test.want)
		expectIs(t, name+" is odd", e.odd, test.odd)
	}
	const tasks = `{"session_id":"s","background_tasks":[7,{"type":"subagent","status":7},` +
		`{"id":"w","type":"workflow","status":"running"},{"id":"c","type":"subagent","status":"completed"},` +
		`{"id":"a","type":"subagent","status":"running"},{"id":"s","type":"shell","status":"running"}]}`
	e, err = readEvent(strings.NewReader(tasks))
	check(t, err)
	expectEqual(t, "the subagents at work", e.subagents(), []string{"a", "w"})
	long := strings.Repeat("a", 127)
	expectIs(t, "an id of 128", validSession(long+"_"), true)
	expectIs(t, "an id of 129", validSession(long+"_a"), false)
}
