package main

// One entry of Claude Code's transcript: which words in it are the user's, and what it says of the agent.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A userRequest is what the user said to the agent at one time: a prompt, or words with which they answered a
// question, refused a call or approved one.
type userRequest struct {
	id, asked string // of its entry, and when that was written
	words     string
	remarks   []words // what the words alone do not tell
	prompt    bool    // it has a budget of its own
	command   bool    // its entry has the form of a command of Claude Code's own, which may have called no agent
	queued    bool    // the user typed it while the agent worked
	cwd       string  // of a command
}

// String returns the words behind the remarks.
func (r userRequest) String() string {
	text := r.words
	for _, remark := range slices.Backward(r.remarks) {
		text = say(remark) + " " + text
	}
	return text
}

// toolUse stands before the id of a call of a tool.
const toolUse = "tool_use "

// An entryMark tells what else an entry is.
type entryMark byte

const (
	markAnswer      entryMark = 1 + iota // what the agent said, or the error that it ended with
	markResult                           // of a tool's call
	markInterrupted                      // the user pressed Esc
	markOther                            // what Claude Code submitted itself, for the agent to answer
)

// A transcriptEntry is one line of a transcript. Members of another shape than here are left empty.
type transcriptEntry struct {
	Type              string      `json:"type"`
	UUID              string      `json:"uuid"`
	ParentUUID        string      `json:"parentUuid"`
	LogicalParentUUID string      `json:"logicalParentUuid"` // across a compaction
	Version           string      `json:"version"`
	SessionID         string      `json:"sessionId"`
	WrittenIn         string      `json:"session_id"` // first, of a fork's entries (2.1.280 on)
	Timestamp         string      `json:"timestamp"`
	IsSidechain       bool        `json:"isSidechain"`
	IsMeta            bool        `json:"isMeta"`
	IsCompactSummary  bool        `json:"isCompactSummary"`
	UserFeedback      string      `json:"userFeedback"` // words with which the user refused a call (2.1.280 on)
	ToolUseResult     toolResult  `json:"toolUseResult"`
	PromptSource      string      `json:"promptSource"`
	WakeupSource      string      `json:"wakeupSource"` // what made Claude Code go on by itself: a schedule
	Origin            entryOrigin `json:"origin"`
	Cwd               string      `json:"cwd"`
	Message           struct {
		Model   string    `json:"model"`
		Usage   tokens    `json:"usage"`
		Content blockText `json:"content"`
	} `json:"message"`
	Attachment struct {
		Type   string      `json:"type"`
		Prompt blockText   `json:"prompt"`
		Origin entryOrigin `json:"origin"`
	} `json:"attachment"`
	CompactMetadata struct {
		PreservedSegment struct {
			TailUUID string `json:"tailUuid"` // the last entry that a partial compaction left as it was
		} `json:"preservedSegment"`
	} `json:"compactMetadata"`
}

type entryOrigin struct {
	Kind string `json:"kind"`
}

// blockText is a text, or the texts and the ids of calls of a list of blocks.
type blockText string

func (w *blockText) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(w))
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		ID   string `json:"id"`
	}
	_ = json.Unmarshal(raw, &blocks) // what is not a list of blocks has no words
	var texts []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "tool_use":
			texts = append(texts, toolUse+block.ID)
		}
	}
	*w = blockText(strings.Join(texts, "\n"))
	return nil
}

// refusedSaying stands before the words with which the user refused a call.
const refusedSaying = "the user said:"

// A toolResult is what a call came to, as far as it tells what the user said: the text of an error, questions
// with answers, a plan.
type toolResult struct {
	failure       string
	Questions     []struct{ Question string }
	Answers       map[string]string
	Annotations   map[string]struct{ Notes string } // by question: what the user added to a choice (2.1.331)
	Plan          string
	PlanWasEdited bool // by the user, who then approved it (2.1.331), or perhaps by nobody (2.1.200)
}

func (r *toolResult) UnmarshalJSON(raw []byte) error {
	type members toolResult
	if raw[0] == '"' {
		return json.Unmarshal(raw, &r.failure)
	}
	_ = json.Unmarshal(raw, (*members)(r)) // of a call of another tool
	return nil
}

// request returns the user's words in the entry, nil if it holds none, and else what it is. Whose words are,
// Claude Code tells itself (2.1.330, in its own words): where an entry has an origin, its kind is human; else
// the prompt's source is not system, and nothing woke the client (a scheduled slash command says that alone).
// Older versions say none of it, and the text decides.
func (e transcriptEntry) request() (*userRequest, entryMark) {
	text, origin, other := string(e.Message.Content), e.Origin.Kind, markOther
	if e.Type == "attachment" && e.Attachment.Type == "queued_command" {
		text, origin, other = string(e.Attachment.Prompt), e.Attachment.Origin.Kind, 0
	} else if e.Type != "user" {
		return nil, 0
	}
	switch {
	case strings.HasPrefix(text, interruption):
		return nil, markInterrupted
	case e.IsMeta || strings.HasPrefix(strings.TrimSpace(text), localCommand):
		return nil, 0
	case cmp.Or(origin, "human") != "human", origin == "" && (e.PromptSource == "system" || e.WakeupSource != ""),
		e.IsCompactSummary, !isUsers(text):
		return nil, other
	}
	r := &userRequest{id: e.UUID, asked: e.Timestamp, words: text, prompt: true, cwd: e.Cwd}
	r.queued = e.PromptSource == "queued"
	if name := tagged(text, "command-name"); name != "" {
		r.words = strings.TrimSpace(name + " " + tagged(text, "command-args"))
		r.command = strings.HasPrefix(text, "<command-name>")
	}
	return r, 0
}

// answer returns what the user said in the result of a call, nil for nothing.
func (e transcriptEntry) answer() *userRequest {
	r := &userRequest{id: e.UUID, asked: e.Timestamp}
	_, refusal, _ := strings.Cut(e.ToolUseResult.failure, refusedSaying)
	switch text := string(e.Message.Content); {
	case len(e.ToolUseResult.Answers) > 0:
		var answers []string
		for _, q := range e.ToolUseResult.Questions {
			answer := strings.TrimSpace(e.ToolUseResult.Answers[q.Question] + "\n" + e.ToolUseResult.Annotations[q.Question].Notes)
			if answer != "" {
				answers = append(answers, q.Question+" → "+answer)
			}
		}
		r.words, r.remarks = strings.Join(answers, "\n"), []words{remarkAnswered}
	case e.ToolUseResult.PlanWasEdited:
		r.words, r.remarks = strings.TrimSpace(e.ToolUseResult.Plan+"\n\n"+text), []words{remarkPlanned}
	case e.UserFeedback != "" || strings.HasPrefix(e.ToolUseResult.failure, refused):
		r.words, r.remarks = cmp.Or(e.UserFeedback, strings.TrimSpace(refusal)), []words{remarkRefused}
	case !e.IsMeta:
		r.words, r.remarks = text, []words{remarkApproved}
	}
	if !isUsers(r.words) {
		return nil
	}
	return r
}

// What Claude Code writes itself: of a call that the user refused, of Esc, of the commands of its own, of a
// question that the user wants to talk about, and in the agent's place.
const (
	refused      = "Error: The user doesn't want to proceed"
	interruption = "[Request interrupted by user"
	localCommand = "<local-command-"
	chat         = "The user wants to clarify these questions"
	noResponse   = "No response requested."
)

// isUsers reports whether a text can be the user's own: not what Claude Code submits itself, nor the output
// of a command that the user ran in the client.
func isUsers(text string) bool {
	text = strings.TrimSpace(text)
	starts := []string{"<task-notification>", "<system-reminder>", localCommand, "<bash-input>", "<bash-stdout>",
		"<bash-stderr>", interruption, chat}
	isStart := func(start string) bool { return strings.HasPrefix(text, start) }
	return text != "" && !slices.ContainsFunc(starts, isStart)
}

// tagged returns what stands between <tag> and </tag> in a text that begins with a tag of a command.
func tagged(text, tag string) string {
	if !strings.HasPrefix(text, "<command-") {
		return ""
	}
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	inside, _, _ := strings.Cut(rest, "</"+tag+">")
	return inside
}
