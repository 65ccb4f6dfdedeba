package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A field of another type than expected, as a later release may send it, ends no review: it counts as absent, and
// the log says so.
func TestEventOfAnotherType(t *testing.T) {
	for _, test := range []struct {
		name, event, members string
		field                string // the one that the warning names
		stdout               string
		request              string // a part of the reviewer's request
		absent               string // what is in no request
	}{
		{name: "cwd", event: eventStop, members: `"cwd":["/x"]`, field: "cwd", stdout: blockNotYet},
		{name: "transcript_path", event: eventStop, members: `"transcript_path":{"path":"/x"}`, field: "transcript_path", stdout: blockNotYet},
		{name: "background_tasks", event: eventStop, members: `"background_tasks":{"odd":1}`, field: "background_tasks", stdout: blockNotYet, absent: "odd"},
		{name: "session_crons", event: eventStop, members: `"session_crons":"none"`, field: "session_crons", stdout: blockNotYet},
		{name: "last_assistant_message", event: eventStop, members: `"last_assistant_message":[{"type":"text","text":"All is done."}]`,
			field: "last_assistant_message", stdout: blockNotYet, request: "All is done."},
		{name: "last_assistant_message_number", event: eventStop, members: `"last_assistant_message":1234567`, field: "last_assistant_message", stdout: blockNotYet, absent: "1234567"},
		{name: "stop_hook_active", event: eventStop, members: `"stop_hook_active":"no"`, field: "stop_hook_active", stdout: blockNotYet},
		{name: "tool_input", event: eventPreToolUse, members: `"tool_name":"AskUserQuestion","tool_use_id":7,"tool_input":["odd"]`, field: "tool_input, tool_use_id",
			stdout: toolOutput("deny", "not yet"), request: "事件：AskUserQuestion", absent: "odd"},
		{name: "tool_name", event: eventPreToolUse, members: `"tool_name":{"name":"AskUserQuestion"}`, field: "tool_name"},
		{name: "agent_id", event: eventStop, members: `"agent_id":{"id":1}`, field: "agent_id"},
		{name: "hook_event_name", event: eventStop, members: `"hook_event_name":["Stop"]`, field: "hook_event_name"},
		{name: "null", event: eventStop, members: `"agent_id":null,"cwd":null,"stop_hook_active":null`, stdout: blockNotYet},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			answer := box.hook(box.event(test.event, test.members))
			if answer.code != 0 || answer.stdout != test.stdout {
				t.Errorf("got %+v, want stdout %q", answer, test.stdout)
			}
			warning := "of another type than expected: " + test.field
			if log := box.log(); strings.Contains(log, warning) != (test.field != "") {
				t.Errorf("the log does not warn of %q alone:\n%s", test.field, log)
			}
			if test.stdout == "" {
				return
			}
			request := box.read("../fake/reviewer-1/stdin")
			if !strings.Contains(request, test.request) || test.absent != "" && strings.Contains(request, test.absent) {
				t.Errorf("want %q, not %q in the request:\n%s", test.request, test.absent, request)
			}
		})
	}
}

// Of another type, stop_hook_active counts as true: without a count nothing else bounds the loop.
func TestEventUncounted(t *testing.T) {
	for _, members := range []string{`"stop_hook_active":"no"`, `"stop_hook_active":true`} {
		box := newHookBox(t)
		box.write(statePath+"/in-the-way", 0o600, "")
		if got := box.stop(members); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "without a count") {
			t.Errorf("%s: %+v", members, got)
		}
	}
}

// A prompt that comes as a list of blocks is read, recorded and obeyed.
func TestEventPromptInBlocks(t *testing.T) {
	box := newHookBox(t)
	blocks := func(text string) string { return `"prompt":[{"type":"text","text":"` + text + `"},{"type":"image"}]` }
	if got := box.hook(box.event(eventPrompt, blocks("fix it"))); got.code != 0 || got.stdout != "" {
		t.Errorf("got %+v", got)
	}
	if r := box.onlyTimeline(); len(r) != 1 || r[0].Prompt != "fix it" {
		t.Errorf("timeline %+v", r)
	}
	if got := box.hook(box.event(eventPrompt, blocks("/supervisor off"))); !strings.Contains(got.stdout, `"decision":"block"`) {
		t.Errorf("got %+v", got)
	}
	if got := box.stop(""); got.stdout != "" {
		t.Errorf("reviewed after /supervisor off: %+v", got)
	}
}

// FuzzHookEvent: an event that is taken has a session id that is safe as a file
// name and an argument, and a name.
func FuzzHookEvent(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"session_id":"a"}`, `{"session_id":"-x","hook_event_name":1}`, `{"session_id":"a","tool_input":{"questions":[{}]},"last_assistant_message":{}} x`,
		`{"session_id":"a","SESSION_ID":"../x"}`, `{"session_id":"a","background_tasks":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		event, err := readEvent(strings.NewReader(input))
		if err != nil {
			return
		}
		if !validSession(event.SessionID) || event.HookEventName == "" || filepath.Base(event.SessionID) != event.SessionID || strings.HasPrefix(event.SessionID, "-") {
			t.Errorf("took %+v", event)
		}
	})
}
