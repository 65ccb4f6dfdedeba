package main

// An event of Claude Code's comes from stdin. Its transcript is read once the client has written the last
// entries.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A hookEvent is what Claude Code passes to a hook. UnmarshalJSON goes by the tags: they are in order, as odd
// names them, and odd stays last.
type hookEvent struct {
	AgentID              string                     `json:"agent_id"` // set where a subagent is at work
	BackgroundTasks      []json.RawMessage          `json:"background_tasks"`
	Cwd                  string                     `json:"cwd"`
	HookEventName        string                     `json:"hook_event_name"`
	LastAssistantMessage string                     `json:"last_assistant_message"`
	PermissionMode       string                     `json:"permission_mode"`
	Prompt               string                     `json:"prompt"`
	SessionCrons         []json.RawMessage          `json:"session_crons"`
	SessionID            string                     `json:"session_id"`
	Source               string                     `json:"source"`           // of a SessionStart
	StopHookActive       bool                       `json:"stop_hook_active"` // a hook blocked the last stop
	ToolInput            map[string]json.RawMessage `json:"tool_input"`
	ToolName             string                     `json:"tool_name"`
	ToolUseID            string                     `json:"tool_use_id"`
	TranscriptPath       string                     `json:"transcript_path"`

	odd []string // the fields that were of another type than expected
}

// UnmarshalJSON reads an event. A field of another type than expected counts as absent, so that a release of
// Claude Code that changes one does not end the reviews. Three fields are exceptions: an event without a name
// would be a stop, one without agent_id the session's own, and stop_hook_active bounds the reviews where they
// can't be counted. Of a prompt or a message in blocks the texts count.
func (e *hookEvent) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage // for a struct Session_ID would be session_id
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	fields := reflect.ValueOf(e).Elem()
	for i := range fields.NumField() - 1 { // odd is the last
		name := fields.Type().Field(i).Tag.Get("json")
		member, isSet := members[name]
		if isSet && json.Unmarshal(member, fields.Field(i).Addr().Interface()) != nil {
			e.odd = append(e.odd, name)
		}
	}
	const otherType = "of another type" // no event that ccc answers, and a subagent's id
	for _, name := range e.odd {
		switch name {
		case "hook_event_name":
			e.HookEventName = otherType
		case "stop_hook_active":
			e.StopHookActive = true
		case "last_assistant_message":
			_ = json.Unmarshal(members[name], (*blockText)(&e.LastAssistantMessage))
		case "prompt":
			_ = json.Unmarshal(members[name], (*blockText)(&e.Prompt))
		case "agent_id":
			e.AgentID = otherType
		}
	}
	return nil
}

// inputPatience is how long the event may take: Claude Code writes it at once.
const inputPatience = 5 * time.Second

// readEvent reads one event from stdin, and does not wait for the end of stdin. An event without a session id
// is an error; one without a name is a stop.
func readEvent(stdin io.Reader) (*hookEvent, error) {
	event, read := new(hookEvent), make(chan error, 1)
	go func() {
		defer exitOnPanic()
		read <- json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(event)
	}()
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

// subagents returns the ids of the subagents that work for the agent. Their end wakes the session, and brings a
// stop (2.1.280, 2.1.332); that of a shell, a monitor or a teammate may never come.
func (e *hookEvent) subagents() (ids []string) {
	for _, text := range e.BackgroundTasks {
		var task struct{ ID, Type, Status string }
		isRead := json.Unmarshal(text, &task) == nil
		if isRead && task.Status == "running" && (task.Type == "subagent" || task.Type == "workflow") {
			ids = append(ids, task.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// occasion returns what the event is to be reviewed for, nil where nothing is.
func (e *hookEvent) occasion() *occasion { return occasionOf(e.HookEventName, e.ToolName) }

// isWake reports whether the prompt is Claude Code's own. One without words, as of an image, is the user's.
func (e *hookEvent) isWake() bool { return e.Prompt != "" && !isUsers(e.Prompt) }

// transcriptPatience is how long the last entries of the transcript may take: Claude Code writes them a
// moment after it has started the hook.
const transcriptPatience = 2 * time.Second

// conversation reads the transcript, once prompt, the last recorded, is in it, if there is one, and what the
// agent said or asked last: what the user typed while the agent worked comes before that. It is read again
// only when it has grown.
func (e *hookEvent) conversation(prompt string) (talk conversation, err error) {
	if e.TranscriptPath == "" {
		return talk, errors.New("the event names none")
	}
	size := int64(-1)
	for deadline := time.Now().Add(transcriptPatience); ; time.Sleep(20 * time.Millisecond) {
		info, statErr := os.Stat(e.TranscriptPath)
		if statErr != nil || info.Size() != size {
			talk, err = readConversation(e.TranscriptPath)
		}
		if statErr == nil {
			size = info.Size()
		}
		isPrompt := func(words string) bool { return isRequest(words, prompt) }
		arrived := prompt == "" || slices.ContainsFunc(talk.submitted, isPrompt) ||
			slices.ContainsFunc(talk.requests, func(r userRequest) bool { return isPrompt(r.words) })
		talk.incomplete = !arrived || !e.saysLast(talk.lastWords)
		if err == nil && !talk.incomplete || time.Now().After(deadline) {
			return talk, err
		}
	}
}

// saysLast reports whether last, what the agent said or called last in the transcript, is that of the event.
func (e *hookEvent) saysLast(last string) bool {
	if on := e.occasion(); on != nil && on.isQuestion {
		return e.ToolUseID == "" || last == toolUse+e.ToolUseID
	}
	said, last := strings.TrimSpace(e.LastAssistantMessage), strings.TrimSpace(last)
	return last != "" && (strings.Contains(said, last) || strings.Contains(last, said))
}
