package main

// An event of Claude Code's comes from stdin. ccc reads its transcript after the client has written the last
// entries. ccc makes the answer from the event and the result of its review, and reads no file for that.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

type hookEvent struct {
	SessionID            string                     `json:"session_id"`
	HookEventName        string                     `json:"hook_event_name"`
	StopHookActive       bool                       `json:"stop_hook_active"` // a hook blocked a stop
	AgentID              string                     `json:"agent_id"`         // set for a subagent
	TranscriptPath       string                     `json:"transcript_path"`
	Cwd                  string                     `json:"cwd"`
	PermissionMode       string                     `json:"permission_mode"`
	Prompt               blockText                  `json:"prompt"`
	LastAssistantMessage blockText                  `json:"last_assistant_message"`
	BackgroundTasks      []json.RawMessage          `json:"background_tasks"`
	SessionCrons         []json.RawMessage          `json:"session_crons"`
	Source               string                     `json:"source"` // of a SessionStart
	ToolName             string                     `json:"tool_name"`
	ToolInput            map[string]json.RawMessage `json:"tool_input"`
	ToolUseID            string                     `json:"tool_use_id"`

	text []byte // the event as it came
	odd  string // the first field that is of another type than expected
}

// parse reads the event. A field of an unexpected type counts as absent, so that a release of Claude Code
// that changes a field does not end the reviews. Three fields are exceptions. Without hook_event_name the
// event would count as a stop. Without agent_id it would count as the session's own. stop_hook_active bounds
// the reviews if they can't be counted.
func (e *hookEvent) parse(text []byte) error {
	err := json.Unmarshal(text, e)
	wrong := new(json.UnmarshalTypeError)
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	e.odd = wrong.Field
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields)
	isOdd := func(field string, of any) bool {
		value, isSet := fields[field]
		return isSet && json.Unmarshal(value, of) != nil
	}
	e.StopHookActive = e.StopHookActive || isOdd("stop_hook_active", new(bool))
	names := map[string]*string{"agent_id": &e.AgentID, "hook_event_name": &e.HookEventName}
	for field, value := range names {
		if isOdd(field, new(string)) {
			*value = "of another type"
		}
	}
	return nil
}

// inputLimit bounds what Claude Code may write to stdin, in bytes. An event holds one message or one prompt.
const inputLimit = 64 << 20

// readEvent reads one event from stdin, and does not wait for the end of stdin. An event without a session id
// that can be one is an error; one without a name is a stop.
func readEvent(stdin io.Reader) (*hookEvent, error) {
	var text json.RawMessage
	event := new(hookEvent)
	err := json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(&text)
	if err == nil {
		event.text = text
		err = event.parse(text)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("stdin is empty")
	case err == nil && !validSession(event.SessionID):
		err = fmt.Errorf("%q is no session_id", event.SessionID)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the hook event: %w", err)
	}
	event.HookEventName = cmp.Or(event.HookEventName, eventStop)
	return event, nil
}

// subagents returns the ids of the subagents that work for the agent. Their end wakes the session, which
// then stops again (2.1.280, 2.1.332). The end of a shell, a monitor or a teammate may never come.
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

// occasion returns what the event is to be reviewed for, nil if it is not reviewed.
func (e *hookEvent) occasion() *occasion {
	isOf := func(o *occasion) bool {
		return o.event == e.HookEventName && !o.isByHand && (o.tool == "" || o.tool == e.ToolName)
	}
	if i := slices.IndexFunc(occasions, isOf); i >= 0 {
		return occasions[i]
	}
	return nil
}

// transcriptPatience bounds the wait for the transcript's last entries, which come after the hook's start.
const transcriptPatience = 2 * time.Second

// queuePatience bounds the wait for the last prompt if it is still queued: the agent may just have answered
// it. On 2.1.280 both entries were late now and then, if the turn before had ended in the same words.
const queuePatience = 400 * time.Millisecond

// conversation reads the transcript after the agent's last words are in it. If prompt, the user's last, is
// not "", that has to be there, too: as an entry, or still in the queue.
func (e *hookEvent) conversation(prompt string) (talk conversation, err error) {
	if e.TranscriptPath == "" {
		return conversation{incomplete: true}, errors.New("the event names none")
	}
	size := int64(-1)
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		info, statErr := os.Stat(e.TranscriptPath)
		if statErr != nil || info.Size() != size {
			talk, err = readConversation(e.TranscriptPath)
		}
		if statErr == nil {
			size = info.Size()
		}
		isPrompt := func(words string) bool { return isRequest(words, prompt) }
		isQueued := func(q queued) bool { return isPrompt(q.words) }
		arrived := prompt == "" || slices.ContainsFunc(talk.submitted, isPrompt) ||
			time.Since(start) > queuePatience && slices.ContainsFunc(talk.queue, isQueued)
		talk.incomplete = err != nil || !arrived || !e.saysLast(&talk)
		if !talk.incomplete || time.Since(start) > transcriptPatience {
			return talk, err
		}
	}
}

// saysLast reports whether what the agent said or called last in talk is that of the event.
func (e *hookEvent) saysLast(talk *conversation) bool {
	if on := e.occasion(); on != nil && on.isQuestion {
		return e.ToolUseID == "" || talk.lastCall == e.ToolUseID
	}
	said := strings.TrimSpace(string(e.LastAssistantMessage))
	last := strings.TrimSpace(talk.lastWords)
	isSaid := strings.Contains(said, last) || strings.Contains(last, said)
	return last != "" && talk.lastCall == "" && isSaid
}

// answerTrial answers an event in a trial of the hooks (trial.go): it makes the file at path, with the id of
// the session, when that starts. A prompt is blocked: it would reach the model.
func answerTrial(path string, event *hookEvent) (decision any, err error) {
	switch event.HookEventName {
	case eventStart:
		return nil, os.WriteFile(path, []byte(event.SessionID), 0o600)
	case eventPrompt:
		return blocked("ccc is trying the hooks: no prompt is answered"), nil
	}
	return nil, nil
}

// blocked is the decision that sends the agent back with a reason, or keeps a prompt from it.
func blocked(reason string) map[string]any {
	return map[string]any{"decision": "block", "reason": reason}
}

// toolDecision is the decision about a call of a tool: allow or deny.
func toolDecision(decision, reason string) map[string]any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": eventPreToolUse, "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// systemMessage is an answer that Claude Code shows to the user.
func systemMessage(text string) map[string]any {
	return map[string]any{"systemMessage": supervisorTag + " " + printable(redact(text))}
}

// decide returns the answer, nil for none: what the agent may do, and in a session what the user reads.
func (r review) decide(inSession bool) any {
	answer := map[string]any{}
	isQuestion := r.occasion().isQuestion
	isBlock := r.Verdict == verdictBlock && !r.Observed
	switch {
	case !isQuestion && isBlock:
		answer = blocked(r.Feedback)
	case !isQuestion, r.Observed, r.Verdict == verdictFailed, r.Verdict == verdictCancelled:
	case isBlock:
		answer = toolDecision("deny", r.Feedback)
	case r.Verdict == verdictLimit:
		answer = toolDecision("allow", r.usedUp())
	default:
		answer = toolDecision("allow", r.Feedback)
	}
	if inSession && r.Verdict != verdictCancelled {
		text := r.message()
		if r.lost != nil {
			text += "\n" + say(notRecorded, r.lost)
		}
		maps.Copy(answer, systemMessage(text))
	}
	if len(answer) == 0 {
		return nil
	}
	return answer
}

// message returns what the user reads after the review: that it failed, that the limit is reached, or what
// the verdict rests on. If a question was sent back, the message holds the question and the answer, since
// the client shows neither the question nor whose words the agent gets.
func (r review) message() string {
	on := r.occasion()
	switch {
	case r.Verdict == verdictFailed:
		return say(on.unreviewed, cutMiddle(r.Error, 200), r.advice())
	case r.Verdict == verdictLimit:
		text := say(on.overLimit, r.usedUp())
		if r.Feedback != "" {
			text += "\n" + say(feedbackStillOpen, cutMiddle(r.Feedback, 1000))
		}
		return text
	case r.Verdict == verdictBlock && r.Observed:
		return r.receipt() + "\n" + say(observedFeedback, r.Feedback)
	case r.Verdict == verdictBlock && on.isQuestion:
		answer := say(on.answer, cutMiddle(r.Feedback, 500))
		lines := []string{say(on.answered), r.Question, answer, r.receipt(), say(on.otherwise)}
		return strings.Join(lines, "\n")
	case r.Verdict == verdictAllow && r.Feedback != "":
		return r.receipt() + "\n" + say(leftToUser, r.Feedback)
	}
	return r.receipt()
}
