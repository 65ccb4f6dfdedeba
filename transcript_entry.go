package main

// One entry of Claude Code's transcript. An entry's origin decides whose its words are, and where that is
// missing its text.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A userRequest is what the user said at one time: a prompt, or words to a question, a call or a plan.
type userRequest struct {
	id        string // of its entry
	at        string // when its entry was written, in RFC 3339
	words     string
	remarks   []words // what the words alone do not show
	isPrompt  bool    // it is a prompt
	isCommand bool    // its entry looks like that of a command of Claude Code's own, which may call no agent
	queued    bool    // the user typed it while the agent worked
	cwd       string  // where the agent was; of a prompt only
	callsTool bool    // the agent called a tool behind it, before the user said more
	closed    words   // what its reviews came to, if they are over
}

// String returns the remarks and then the words.
func (r userRequest) String() string {
	text := r.words
	for _, remark := range slices.Backward(r.remarks) {
		text = say(remark) + " " + text
	}
	return text
}

// toolUse comes in a blockText before the id of a call of a tool.
const toolUse = "tool_use "

// An entryKind is what an entry is beside the user's words; 0 is any entry that does not count.
type entryKind byte

const (
	agentSpoke      entryKind = 1 + iota // what the agent said, or the error that it ended with
	toolAnswered                         // the result of a call, which may hold words of the user's
	userInterrupted                      // the user pressed Esc
	clientPrompted                       // what Claude Code submitted itself, for the agent to answer
)

// A transcriptEntry is one line of a transcript. A member of another shape than here is left empty.
type transcriptEntry struct {
	Type              string      `json:"type"`
	UUID              string      `json:"uuid"`
	ParentUUID        string      `json:"parentUuid"`
	LogicalParentUUID string      `json:"logicalParentUuid"` // across a compaction
	Version           string      `json:"version"`
	SessionID         string      `json:"sessionId"`
	WrittenIn         string      `json:"session_id"` // in a fork the session it was copied from
	Timestamp         string      `json:"timestamp"`
	IsSidechain       bool        `json:"isSidechain"`
	IsMeta            bool        `json:"isMeta"`
	IsCompactSummary  bool        `json:"isCompactSummary"`
	UserFeedback      string      `json:"userFeedback"` // with which the user refused a call
	ToolUseResult     toolResult  `json:"toolUseResult"`
	PromptSource      string      `json:"promptSource"`
	WakeupSource      string      `json:"wakeupSource"` // what woke Claude Code, such as a schedule
	Origin            entryOrigin `json:"origin"`
	Cwd               string      `json:"cwd"`
	Message           struct {
		Model   string    `json:"model"`
		Usage   tokens    `json:"usage"`
		Content blockText `json:"content"`
	} `json:"message"`
	Attachment struct {
		Type     string      `json:"type"`
		Prompt   blockText   `json:"prompt"`
		Origin   entryOrigin `json:"origin"`
		Identity struct {
			ModelID string `json:"modelId"` // of type model: the one at work from here on (2.1.280, 2.1.332)
		} `json:"identity"`
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

// blockText is a text, or of a list of blocks the texts and the ids of calls, each on a line.
type blockText string

func (b *blockText) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(b))
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		ID   string `json:"id"`
	}
	_ = json.Unmarshal(raw, &blocks) // anything else than a list of blocks has no words
	var texts []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "tool_use":
			texts = append(texts, toolUse+block.ID)
		}
	}
	*b = blockText(strings.Join(texts, "\n"))
	return nil
}

// refusedSaying comes before the words with which the user refused a call.
const refusedSaying = "the user said:"

// A toolResult is what a call came to, as far as it shows what the user said.
type toolResult struct {
	failure       string // the text of an error, which is all that there is of a call that failed
	Questions     []struct{ Question string }
	Answers       map[string]string
	Annotations   map[string]struct{ Notes string } // by question: what the user added to a choice (2.1.331)
	Plan          string
	PlanWasEdited bool // by the user, who then approved it (2.1.280, 2.1.331)
}

func (r *toolResult) UnmarshalJSON(raw []byte) error {
	type members toolResult
	if raw[0] == '"' {
		return json.Unmarshal(raw, &r.failure)
	}
	_ = json.Unmarshal(raw, (*members)(r)) // other tools have other members
	return nil
}

// request returns the user's words in the entry, or nil and what the entry is instead. Claude Code gives the
// user's words the origin human (2.1.330). An entry without an origin is not the user's if its prompt's
// source is system or something woke the client. Of one with neither, as of a command of Claude Code's own,
// the text decides.
func (e transcriptEntry) request() (*userRequest, entryKind) {
	text, origin, other := string(e.Message.Content), e.Origin.Kind, clientPrompted
	if e.Type == "attachment" && e.Attachment.Type == "queued_command" {
		text, origin, other = string(e.Attachment.Prompt), e.Attachment.Origin.Kind, 0
	} else if e.Type != "user" {
		return nil, 0
	}
	isSubmitted := origin != "" && origin != "human" ||
		origin == "" && (e.PromptSource == "system" || e.WakeupSource != "")
	switch {
	case strings.HasPrefix(text, interruption):
		return nil, userInterrupted
	case e.IsMeta || strings.HasPrefix(strings.TrimSpace(text), localCommand):
		return nil, 0
	case isSubmitted, e.IsCompactSummary, !isUsers(text):
		return nil, other
	}
	r := &userRequest{id: e.UUID, at: e.Timestamp, words: text, isPrompt: true, cwd: e.Cwd}
	r.queued = e.PromptSource == "queued"
	if name := tagged(text, "command-name"); name != "" {
		r.words = strings.TrimSpace(name + " " + tagged(text, "command-args"))
		r.isCommand = strings.HasPrefix(text, "<command-name>")
	}
	return r, 0
}

// answer returns the user's words in the result of a call, nil for none.
func (e transcriptEntry) answer() *userRequest {
	result, text := e.ToolUseResult, string(e.Message.Content)
	said, remark := "", remarkApproved
	switch {
	case len(result.Answers) > 0:
		var answers []string
		for _, q := range result.Questions {
			notes := result.Annotations[q.Question].Notes
			if answer := strings.TrimSpace(result.Answers[q.Question] + "\n" + notes); answer != "" {
				answers = append(answers, q.Question+" → "+answer)
			}
		}
		said, remark = strings.Join(answers, "\n"), remarkAnswered
	case result.PlanWasEdited:
		said, remark = strings.TrimSpace(result.Plan+"\n\n"+text), remarkPlanned
	case e.UserFeedback != "" || strings.HasPrefix(result.failure, refused):
		_, behind, _ := strings.Cut(result.failure, refusedSaying)
		said, remark = cmp.Or(e.UserFeedback, strings.TrimSpace(behind)), remarkRefused
	case !e.IsMeta:
		said = text
	}
	if !isUsers(said) {
		return nil
	}
	return &userRequest{id: e.UUID, at: e.Timestamp, words: said, remarks: []words{remark}}
}

// Beginnings of what Claude Code writes in the place of the user or the agent.
const (
	refused      = "Error: The user doesn't want to proceed" // the result of a call that the user refused
	interruption = "[Request interrupted by user"            // the user pressed Esc
	localCommand = "<local-command-"                         // of a command of its own
	chat         = "The user wants to clarify these questions"
	noResponse   = "No response requested." // the whole of the agent's answer
)

// agentsStopped matches what Claude Code submits once the user has stopped the agents in the background: of one,
// and of several (2.1.280, 2.1.332), also those that it calls tasks or has only interrupted.
var agentsStopped = lazyRegexp(`(?s)^(?:Background agent ".*" was stopped by the user\.$|` +
	`[0-9]+ background (?:agent|task)s? (?:was|were) (?:stopped|interrupted) by the user\b)`)

// isUsers reports whether a text can be the user's own, not Claude Code's, another session's, or a command
// run in the client.
func isUsers(text string) bool {
	text = strings.TrimSpace(text)
	starts := []string{"<task-notification>", "<system-reminder>", "<bash-input>", "<bash-stdout>",
		"<bash-stderr>", "<cross-session-message", localCommand, interruption, chat}
	isStart := func(start string) bool { return strings.HasPrefix(text, start) }
	return text != "" && !agentsStopped().MatchString(text) && !slices.ContainsFunc(starts, isStart)
}

// tagged returns what is between <tag> and </tag> in a text that begins with a tag of a command, else "".
func tagged(text, tag string) string {
	if !strings.HasPrefix(text, "<command-") {
		return ""
	}
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	value, _, _ := strings.Cut(rest, "</"+tag+">")
	return value
}
