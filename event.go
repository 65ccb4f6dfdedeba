package main

// A hook event, as Claude Code tells it on stdin.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// A hookEvent is what Claude Code tells a hook.
type hookEvent struct {
	SessionID            string
	TranscriptPath       string
	Cwd                  string
	HookEventName        string
	StopHookActive       bool // this stop follows one that a hook blocked
	LastAssistantMessage string
	BackgroundTasks      json.RawMessage // an array
	SessionCrons         json.RawMessage // an array: prompts that the agent has scheduled
	ToolName             string
	ToolInput            json.RawMessage // an object
	ToolUseID            string
	Prompt               string
	AgentID              string // set when a subagent, not the session's own agent, is at work

	odd []string // the fields that were of another type than expected
}

// otherType is the value of a text that was of another type and must not count as absent: it names no event that
// ccc answers, and an agent.
const otherType = "of another type"

// UnmarshalJSON reads an event. A field of another type than expected counts as absent, so that a release of Claude
// Code that changes one does not end the reviews, unless absence would have ccc answer what is not for it or review
// without a bound. Of a prompt or a message that comes as a list of blocks the texts count.
func (e *hookEvent) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for _, field := range []struct {
		name, begins string // what a value of the right type begins with
		value        any
	}{
		{"session_id", `"`, &e.SessionID},
		{"transcript_path", `"`, &e.TranscriptPath},
		{"cwd", `"`, &e.Cwd},
		{"hook_event_name", `"`, &e.HookEventName},
		{"stop_hook_active", "tf", &e.StopHookActive},
		{"last_assistant_message", `"`, &e.LastAssistantMessage},
		{"background_tasks", "[", &e.BackgroundTasks},
		{"session_crons", "[", &e.SessionCrons},
		{"tool_name", `"`, &e.ToolName},
		{"tool_input", "{", &e.ToolInput},
		{"tool_use_id", `"`, &e.ToolUseID},
		{"prompt", `"`, &e.Prompt},
		{"agent_id", `"`, &e.AgentID},
	} {
		value, there := members[field.name]
		switch {
		case !there || string(value) == "null":
			continue
		case strings.Contains(field.begins, string(value[:1])):
			_ = json.Unmarshal(value, field.value) // it is of that type
			continue
		}
		e.odd = append(e.odd, field.name)
		switch field.name {
		case "hook_event_name":
			e.HookEventName = otherType
		case "agent_id":
			e.AgentID = otherType
		case "stop_hook_active":
			e.StopHookActive = true
		case "prompt":
			_ = json.Unmarshal(value, (*blockText)(&e.Prompt))
		case "last_assistant_message":
			_ = json.Unmarshal(value, (*blockText)(&e.LastAssistantMessage))
		}
	}
	return nil
}

const (
	// Claude Code writes the event at once; a caller that has not done so in this time never will.
	inputPatience = 5 * time.Second
	// inputLimit is in bytes. An event holds one message of the agent's or one prompt of the user's.
	inputLimit = 64 << 20
)

// readEvent reads one event from stdin. It does not wait for the end of stdin. Only the session id is
// indispensable.
func readEvent(stdin io.Reader) (*hookEvent, error) {
	event, read := new(hookEvent), make(chan error, 1)
	go func() { read <- json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(event) }()
	var err error
	select {
	case err = <-read:
	case <-time.After(inputPatience):
		return nil, fmt.Errorf("reading the hook event: nothing complete on stdin after %s", inputPatience)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("stdin is empty")
	case err == nil && event.SessionID == "":
		err = errors.New("it has no session_id")
	case err == nil && !validSession(event.SessionID):
		err = errors.New("its session_id is not one")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the hook event: %w", err)
	}
	event.HookEventName = cmp.Or(event.HookEventName, eventStop)
	return event, nil
}

// oddity is the error that names the fields of another type than expected, nil where there are none.
func (e *hookEvent) oddity() error {
	if len(e.odd) == 0 {
		return nil
	}
	return fmt.Errorf("of another type than expected: %s", strings.Join(e.odd, ", "))
}

// scheduled are the prompts that Claude Code will submit by itself, as the event of a stop tells.
func (e *hookEvent) scheduled() (prompts []string) {
	var crons []struct {
		Prompt string `json:"prompt"`
	}
	_ = json.Unmarshal(e.SessionCrons, &crons) // another shape tells of none
	for _, cron := range crons {
		prompts = append(prompts, cron.Prompt)
	}
	return prompts
}

// saysLast tells whether words, the agent's last in the transcript, are those of the event. Versions up to 2.1.30
// do not tell the event's.
func (e *hookEvent) saysLast(words string) bool {
	if e.HookEventName == eventPreToolUse {
		return e.ToolUseID == "" || words == toolUse+e.ToolUseID
	}
	said, words := strings.TrimSpace(e.LastAssistantMessage), strings.TrimSpace(words)
	if said == "" {
		return words != "" && !strings.HasPrefix(words, toolUse)
	}
	return words != "" && (strings.Contains(said, words) || strings.Contains(words, said))
}
