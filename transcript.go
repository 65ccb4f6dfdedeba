package main

// What ccc reads of a transcript: the user's words, in the order in which Claude Code wrote them (from
// 2.1.280 on its entries say whose words they hold), and a few facts of the agent.
//
// A prompt was taken back, with all that came after it, if a later entry of the user's, or a compaction's
// boundary, has the same parent. This happens if the user presses Esc before an answer, calls /rewind, or has
// the conversation summarized from there on. What waits in Claude Code's queue is no entry yet.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type conversation struct {
	requests   []userRequest // the user's words that stand, oldest first
	submitted  []string      // all entries that were typed or submitted, also what was taken back
	queue      []queued      // what waits in Claude Code's queue, or was taken back from it
	began      time.Time     // the time of the first prompt, or of what the agent did before any
	acted      time.Time     // when the agent said or did something last
	called     time.Time     // when the agent called a tool last
	lastWords  string        // the agent's, in its last message
	lastCall   string        // the id of the call that ends this message, "" for none
	model      string        // the model that was asked last, as --model takes it
	version    string        // of the Claude Code that wrote the last entry
	cwd        string        // where the agent was last
	dirs       []string      // what the user added with /add-dir, absolute
	context    int           // how many tokens the agent last sent to the API, with those cached; 0: unknown
	read       int64         // how many bytes of the transcript were read, in whole lines
	wordsOnly  bool          // the agent has called no tool since the last prompt that began a turn
	stopped    bool          // the user has interrupted the agent, and said nothing since
	incomplete bool          // it can't be read, or its last entries had not come: see hookEvent.conversation
}

// A queued is a prompt in Claude Code's queue. What is typed while the agent works or a review runs waits
// there; the transcript has a line of it at once (2.1.280, 2.1.332).
type queued struct {
	words     string
	at        time.Time // when it was typed
	takenBack bool      // with Up
}

// A userRequest is what the user said at one time: a prompt, or words to a question, a call or a plan.
type userRequest struct {
	at      time.Time // when Claude Code handed it to the agent
	id      string    // of a prompt: its entry
	parent  string    // and the entry that it follows
	words   string
	remark  words  // what the words alone do not show
	stopped bool   // the user interrupted the agent at it
	fate    string // what its reviews came to, "" if it is open
	letGo   bool   // they came to an approval that ended nothing
}

// String returns the remarks and then the words, without what its reviews came to.
func (r userRequest) String() string {
	text := r.words
	if r.remark != (words{}) {
		text = say(r.remark) + " " + text
	}
	if r.stopped {
		text = say(remarkInterrupted) + " " + text
	}
	return text
}

// newest returns the user's newest request, an empty one if there is none.
func (c *conversation) newest() (newest userRequest) {
	if n := len(c.requests); n > 0 {
		newest = c.requests[n-1]
	}
	return newest
}

// noteReviews notes in the requests what their reviews came to. An end is an approval of a stop, or by hand,
// with nothing left to wake the agent. It ends the requests that are older than its review. Any other
// approval only sets a request aside, and a later refusal reopens it. noteReviews drops the requests that an
// earlier end than the last has ended.
func (c *conversation) noteReviews(past *history) {
	first := 0 // the first request that the last end has ended
	ended := 0 // the first that is open
	for _, review := range past.Reviews {
		if review.occasion().isQuestion {
			continue
		}
		at := clock(review.lastTime())
		isEnd := review.endsRequest()
		judged := ended
		for ; judged < len(c.requests) && c.requests[judged].at.Before(review.Begun); judged++ {
			switch r := &c.requests[judged]; {
			case isEnd:
				r.fate = say(remarkPassed, at)
				r.letGo = false
			case review.Verdict == verdictAllow:
				r.fate = say(remarkLetGo, at)
				r.letGo = true
			case review.Verdict == verdictLimit:
				r.fate = say(remarkUnapproved)
				r.letGo = false
			case review.Verdict == verdictBlock && r.letGo:
				r.fate = ""
				r.letGo = false
			}
		}
		if isEnd && judged > ended {
			first = ended
			ended = judged
		}
	}
	c.requests = c.requests[first:]
}

// isUsersTurn reports whether the agent has said and called nothing since the user spoke.
func (c *conversation) isUsersTurn() bool { return c.lastWords == "" && c.lastCall == "" }

// isRequest reports whether the transcript's request is the prompt. /supervisor may come before it, and the
// transcript has other white space around the prompt and a command's arguments.
func isRequest(request, prompt string) bool {
	line := oneLine(prompt)
	return line != "" && strings.HasSuffix(oneLine(request), line)
}

// readConversation reads the transcript at path. The error is that it can't be read or holds no conversation.
func readConversation(path string) (c conversation, err error) {
	file := lineReader{path: path, lines: lineWriter{line: c.line}}
	err = file.read()
	c.read = file.at - int64(len(file.lines.part))
	file.lines.close() // the last line may still be on its way; then it is not JSON yet
	if err == nil && len(c.submitted) == 0 && c.isUsersTurn() {
		err = fmt.Errorf("%s holds no conversation", path)
	}
	return c, err
}

// transcriptEnd, in bytes, is enough to tell what the agent did last: all of 100 MB would take 0.6 s.
const transcriptEnd = 4 << 20

// hasActedSince reports whether the agent has said or done something since that time, or may have. It reads
// the end of the transcript at path. The agent may have acted if a call still runs, if that end does not
// tell, or if there is no transcript. But if the time is zero, a missing transcript means that the
// conversation has just begun, and the agent has not acted.
func hasActedSince(path string, since time.Time) bool {
	info, err := os.Stat(path)
	if err != nil {
		return !since.IsZero()
	}
	var c conversation
	r := lineReader{path: path, lines: lineWriter{line: c.line}, at: max(0, info.Size()-transcriptEnd)}
	err = r.read()
	r.lines.close()
	isTold := err == nil && (r.at <= transcriptEnd || !c.acted.IsZero())
	isSince := !c.acted.IsZero() && !c.acted.Before(since)
	return !isTold || isSince || c.lastCall != ""
}

// Marks of the lines that count: a member, and how its value begins. Most lines are other results of tools,
// which are not parsed, so that 200 MB take about a second.
var (
	entryMarks = []string{`"type":"user"`, `"type":"assistant"`, `"type":"queued_command"`, `"modelId":"`,
		`"type":"queue-operation"`, `"subtype":"compact_boundary"`}
	answerMarks = []string{`"answers":{`, `"userFeedback":"`, `"planWasEdited":true`, `"type":"text"`}
)

// hasMark reports whether a line of JSON has the mark, with whatever blanks around its colon. Quotation marks
// in a string are escaped: those of the mark are an entry's own.
func hasMark(line []byte, mark string) bool {
	key, value, _ := strings.Cut(mark, ":")
	for isKey := true; isKey; {
		_, line, isKey = bytes.Cut(line, []byte(key))
		after, isMember := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte(":"))
		if isMember && bytes.HasPrefix(bytes.TrimLeft(after, " \t"), []byte(value)) {
			return true
		}
	}
	return false
}

func (c *conversation) line(line []byte) {
	isMarked := func(mark string) bool { return hasMark(line, mark) }
	marks := entryMarks
	isResult := isMarked(`"type":"tool_result"`)
	if isResult {
		marks = answerMarks
	}
	var e transcriptEntry
	if !slices.ContainsFunc(marks, isMarked) {
		return
	}
	if _, isSyntax := json.Unmarshal(line, &e).(*json.SyntaxError); isSyntax || e.IsSidechain {
		return
	}
	isTyped := e.Type == "user" && !isResult
	text := e.Message.Content.words
	if isTyped || e.Subtype == "compact_boundary" {
		c.takeBack(e)
	}
	c.version = cmp.Or(e.Version, c.version)
	c.cwd = cmp.Or(e.Cwd, c.cwd)
	c.model = cmp.Or(e.Attachment.Identity.ModelID, c.model)
	if isTyped {
		text = cmp.Or(commandIn(text), text)
		c.submitted = append(c.submitted, text) // also what Claude Code itself submits, as when a /loop ticks
	}
	switch {
	case e.Operation == "enqueue":
		c.queue = append(c.queue, queued{words: string(e.Queued), at: e.Timestamp})
	case e.Operation == "popAll":
		for i := range c.queue {
			c.queue[i].takenBack = true
		}
	case e.Operation == "dequeue", e.Operation == "remove": // an entry follows; a dequeue takes the first
		isIt := func(q queued) bool {
			return !q.takenBack && (e.Operation == "dequeue" || q.words == string(e.Queued))
		}
		if i := slices.IndexFunc(c.queue, isIt); i >= 0 {
			c.queue = slices.Delete(c.queue, i, i+1)
		}
	case e.Type == "assistant":
		if c.began.IsZero() { // a wake-up after /clear
			c.began = e.Timestamp
		}
		c.lastWords = text
		c.lastCall = e.Message.Content.call
		if c.lastCall != "" {
			c.called = e.Timestamp
			c.wordsOnly = false
		}
		if e.Message.Model != "<synthetic>" { // Claude Code's own error messages are of that model
			c.acted = e.Timestamp
			c.context = e.Message.Usage.freshInput() + e.Message.Usage.CacheRead
		}
	case e.Attachment.Type == "queued_command" && e.isHuman():
		c.addPrompt(e, string(e.Attachment.Prompt))
	case isResult:
		if r := e.answer(); e.Type == "user" && isUsersOwn(r.words) {
			c.requests = append(c.requests, r)
		}
	case !isTyped || e.IsMeta || e.IsCompactSummary:
	case strings.HasPrefix(text, interruption):
		c.stopped = !c.isUsersTurn() // else Esc sent what the user had typed
	default:
		c.addTyped(e, text)
	}
}

// commandIn returns the command, with its arguments, that Claude Code has written in tags, else "".
func commandIn(text string) string {
	between := func(tag string) string {
		_, rest, _ := strings.Cut(text, "<"+tag+">")
		value, _, _ := strings.Cut(rest, "</"+tag+">")
		return value
	}
	if !strings.HasPrefix(text, "<command-") {
		return ""
	}
	return strings.TrimSpace(between("command-name") + " " + between("command-args"))
}

// addTyped adds what the user typed for the agent. Of the client's own commands only /goal and /plan are
// that; they have no origin. A plan approved with "clear context" begins a conversation (2.1.280, 2.1.332).
func (c *conversation) addTyped(e transcriptEntry, text string) {
	dir, isAddDir := strings.CutPrefix(text, "/add-dir ")
	switch {
	case isAddDir:
		if rest, isInHome := strings.CutPrefix(dir, "~/"); isInHome {
			home, _ := os.UserHomeDir()
			dir = filepath.Join(home, rest)
		}
		c.dirs = append(c.dirs, absoluteIn(e.Cwd, dir))
	case e.isHuman(), e.PlanContent != "",
		strings.HasPrefix(text, "/goal "), strings.HasPrefix(text, "/plan "):
		c.wordsOnly = true
		c.addPrompt(e, text)
	}
}

// addPrompt adds a prompt of the user's. A compaction may write an entry again.
func (c *conversation) addPrompt(e transcriptEntry, text string) {
	isSame := func(r userRequest) bool { return r.id == e.UUID }
	if !isUsersOwn(text) || slices.ContainsFunc(c.requests, isSame) {
		return
	}
	r := userRequest{at: e.Timestamp, id: e.UUID, parent: e.ParentUUID, words: strings.TrimSpace(text)}
	if e.PlanContent != "" {
		r.remark = remarkPlanned
	}
	isQueued := e.Type == "user" && e.PromptSource == "queued"
	isSentToo := c.isUsersTurn() && c.newest().remark == remarkWithEsc
	switch {
	case isQueued && (c.lastCall != "" || isSentToo):
		r.remark = remarkWithEsc
	case c.stopped && !isQueued:
		for i := len(c.requests) - 1; i >= 0 && c.stopped; i-- { // not at an answer
			c.requests[i].stopped = c.requests[i].id != ""
			c.stopped = !c.requests[i].stopped
		}
	}
	if e.Type == "user" {
		c.lastWords = ""
		c.lastCall = ""
	}
	c.requests = append(c.requests, r)
	c.stopped = false
	if c.began.IsZero() {
		c.began = e.Timestamp
	}
}

// takeBack drops the prompt that follows the same entry as e, and all after it, unless e preserves it.
func (c *conversation) takeBack(e transcriptEntry) {
	follows := cmp.Or(e.ParentUUID, e.LogicalParentUUID)
	stays := []string{"", e.UUID, e.CompactMetadata.PreservedSegment.HeadUUID}
	isBeside := func(r userRequest) bool { return r.parent == follows && !slices.Contains(stays, r.id) }
	if i := slices.IndexFunc(c.requests, isBeside); i >= 0 {
		c.requests = c.requests[:i]
		c.stopped = false
	}
}

// A transcriptEntry is one line of a transcript. A member of another shape than here is left empty.
type transcriptEntry struct {
	Type              string                `json:"type"`
	Subtype           string                `json:"subtype"`
	UUID              string                `json:"uuid"`
	ParentUUID        string                `json:"parentUuid"`
	LogicalParentUUID string                `json:"logicalParentUuid"` // across a compaction
	Version           string                `json:"version"`
	Timestamp         time.Time             `json:"timestamp"`
	IsSidechain       bool                  `json:"isSidechain"`
	IsMeta            bool                  `json:"isMeta"`
	IsCompactSummary  bool                  `json:"isCompactSummary"`
	UserFeedback      string                `json:"userFeedback"` // with which the user refused a call
	PromptSource      string                `json:"promptSource"`
	PlanContent       string                `json:"planContent"` // a plan that the user approved
	TurnOrigin        string                `json:"turnOrigin"`
	Origin            struct{ Kind string } `json:"origin"`
	Cwd               string                `json:"cwd"`
	Operation         string                `json:"operation"` // on the queue of what is typed
	Queued            blockText             `json:"content"`   // what is added to it
	ToolUseResult     struct {              // of a call, as far as it shows what the user said
		Questions     []struct{ Question string }
		Answers       map[string]string
		Annotations   map[string]struct{ Notes string } // by question: what the user added to a choice
		Plan          string
		PlanWasEdited bool // by the user, who then approved it
	} `json:"toolUseResult"`
	Message struct {
		Model   string
		Usage   tokens
		Content content
	} `json:"message"`
	Attachment struct {
		Type     string
		Prompt   blockText
		Origin   struct{ Kind string }
		Identity struct{ ModelID string } // which model is at work from here on
	} `json:"attachment"`
	CompactMetadata struct {
		PreservedSegment struct{ HeadUUID string } // the first entry of what a compaction left as it was
	} `json:"compactMetadata"`
}

// isHuman reports whether Claude Code gave the entry to the agent as the user's words: its origin is human,
// or it has none, but a source (-p, stdin, stream input; for a command the origin of its turn).
func (e transcriptEntry) isHuman() bool {
	origin := cmp.Or(e.Attachment.Origin.Kind, e.Origin.Kind)
	isSource := e.PromptSource != "" && e.PromptSource != "system" || e.TurnOrigin == "sdk"
	return origin == "human" || origin == "" && isSource
}

// answer returns what the user said in the result of a call, without words if that was nothing.
func (e transcriptEntry) answer() userRequest {
	r := userRequest{at: e.Timestamp}
	result := e.ToolUseResult
	switch {
	case len(result.Answers) > 0:
		for _, q := range result.Questions {
			notes := result.Annotations[q.Question].Notes
			if answer := strings.TrimSpace(result.Answers[q.Question] + "\n" + notes); answer != "" {
				r.words += "\n" + q.Question + " → " + answer
			}
		}
		r.remark = remarkAnswered
	case result.PlanWasEdited:
		r.words = result.Plan + "\n\n" + e.Message.Content.words
		r.remark = remarkPlanned
	case e.UserFeedback != "":
		r.words = e.UserFeedback
		r.remark = remarkRefused
	case !e.IsMeta:
		r.words = e.Message.Content.words
		r.remark = remarkApproved
	}
	r.words = strings.TrimSpace(r.words)
	return r
}

// interruption begins what Claude Code writes in the place of the user who has pressed Esc.
const interruption = "[Request interrupted by user"

// agentsStopped matches what Claude Code submits after the user has stopped agents in the background: one
// form for one agent, one for several (2.1.280, 2.1.332). The form for several may call them tasks, and may
// say that they were interrupted.
var agentsStopped = lazyRegexp(`(?s)^(?:Background agent ".*" was stopped by the user\.$|` +
	`[0-9]+ background (?:agent|task)s? (?:was|were) (?:stopped|interrupted) by the user\b)`)

// isUsersOwn reports whether a text can be the user's own words to the agent. Else it is Claude Code's,
// another session's, or a command that was run in the client.
func isUsersOwn(text string) bool {
	text = strings.TrimSpace(text)
	starts := []string{"<task-notification>", "<system-reminder>", "<bash-input>", "<bash-stdout>",
		"<bash-stderr>", "<local-command-", "<cross-session-message", "<agent-message", "<teammate-message",
		interruption, "The user wants to clarify these questions"}
	isStart := func(start string) bool { return strings.HasPrefix(text, start) }
	return text != "" && !agentsStopped().MatchString(text) && !slices.ContainsFunc(starts, isStart)
}

type content struct {
	words string // its text, or of a list of blocks the texts, each on a line
	call  string // the id of its last call, "" for none
}

func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.words)
	}
	var blocks []struct{ Type, Text, ID string }
	err := json.Unmarshal(raw, &blocks) // anything else than a list of blocks has no words
	var texts []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "tool_use":
			c.call = block.ID
		}
	}
	c.words = strings.Join(texts, "\n")
	return err
}

// blockText is the words of a content.
type blockText string

func (b *blockText) UnmarshalJSON(raw []byte) error {
	var c content
	err := c.UnmarshalJSON(raw)
	*b = blockText(c.words)
	return err
}
