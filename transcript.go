package main

// What a session's transcript says: which of the user's requests stand in the conversation, the model at work, the
// directories that were added.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A conversation is what ccc reads of a transcript.
type conversation struct {
	requests []string // the user's that stand, oldest first
	newest   string   // the id of the last one's entry, "" without one
	model    string   // of the agent's last message
	version  string   // of the Claude Code that wrote the last entry
	dirs     []string // that the user added with /add-dir
	last     string   // what the agent said last, or toolUse and the id of its call; "" if the last word is the user's
	broken   bool     // what came before the first of requests was not found
	here     string   // where the agent was last
	asked    string   // when the newest request was written, as the transcript has it
	context  int      // tokens of the agent's last request, cached ones included; 0: unknown
}

// toolUse stands before the id of a call of a tool.
const toolUse = "tool_use "

// readConversation follows the transcript at path from its newest entry to its root. Each entry names its parent;
// what the user withdrew or took back is in the file, but not on this way. A fork begins where its original was
// compacted last: what came before stands in another transcript of the same directory. An error means that the
// transcript can't be read or holds no conversation.
func readConversation(path string) (c conversation, err error) {
	t, err := readTranscript(path)
	if err != nil {
		return c, err
	}
	if t.leaf == "" {
		return c, fmt.Errorf("%s holds no conversation", path)
	}
	c = t.conversation
	var others []storedSession
	deadline := time.Now().Add(otherPatience)
	read, passed := map[string]bool{}, map[string]bool{} // by id: in any transcript, in the present one
	for id := t.leaf; id != ""; {
		e, known := t.entries[id]
		if !known || passed[id] { // a fork of a compacted session may lead back to where it has been
			if others == nil {
				isOther := func(s storedSession) bool { return s.path != path }
				others = storedSessions(filepath.Dir(path), "*.jsonl", isOther)
			}
			other := findEntry(&others, id, deadline)
			if other == nil {
				c.broken = !known
				break
			}
			t, e, passed = other, other.entries[id], map[string]bool{}
		}
		if !read[id] {
			c.add(id, e)
		}
		read[id], passed[id] = true, true
		id = e.parent
	}
	slices.Reverse(c.requests)
	return c, nil
}

// add takes an entry, the newest first.
func (c *conversation) add(id string, e entry) {
	c.model, c.context = cmp.Or(c.model, e.model), cmp.Or(c.context, e.context)
	if e.request == "" {
		return
	}
	if c.newest == "" {
		c.newest, c.asked = id, e.asked
	}
	c.requests = append(c.requests, e.request)
	if dir, ok := strings.CutPrefix(e.request, "/add-dir "); ok {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			home, _ := os.UserHomeDir()
			dir = filepath.Join(home, rest)
		}
		c.dirs = append(c.dirs, absoluteIn(e.cwd, dir))
	}
}

// A storedSession is a session of Claude Code's, as its transcript tells.
type storedSession struct {
	id, path string
	written  time.Time
}

// storedSessions returns the sessions that are wanted of those with such a path in dir, newest first. Side chains, agent-*.jsonl,
// are none.
func storedSessions(dir, pattern string, wanted func(storedSession) bool) (found []storedSession) {
	names, _ := fs.Glob(os.DirFS(dir), pattern) // filepath.Glob would take a bracket in dir for a pattern
	for _, name := range names {
		s := storedSession{id: strings.TrimSuffix(filepath.Base(name), ".jsonl"), path: filepath.Join(dir, name)}
		info, err := os.Stat(s.path)
		if err == nil && validSession(s.id) && !strings.HasPrefix(s.id, "agent-") && wanted(s) {
			s.written = info.ModTime()
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b storedSession) int { return b.written.Compare(a.written) })
	return found
}

// transcriptStart returns the directory that the first entry of the conversation names, "" without one.
func transcriptStart(path string) (start string) {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewReader(io.LimitReader(file, lineLimit)); start == "" && err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		var e transcriptEntry
		if _ = json.Unmarshal(line, &e); !e.IsSidechain {
			start = e.Cwd
		}
	}
	return start
}

// otherPatience bounds the search for what came before a fork, in a directory that may hold years of transcripts.
const otherPatience = 2 * time.Second

// findEntry takes the session that holds the entry of that id off the list; nil if none is found before the deadline.
func findEntry(sessions *[]storedSession, id string, deadline time.Time) *transcript {
	for i, s := range *sessions {
		if time.Now().After(deadline) {
			break
		}
		t, err := readTranscript(s.path)
		if _, known := t.entries[id]; err == nil && known {
			*sessions = slices.Delete(*sessions, i, i+1)
			return t
		}
	}
	return nil
}

// A transcript is one in the reading.
type transcript struct {
	conversation                  // what its lines tell by themselves: last, version and here
	entries      map[string]entry // by id
	leaf         string           // the last entry of the user's or the agent's
}

// An entry is what ccc keeps of one.
type entry struct {
	parent  string
	request string // the user's words, if it holds any
	asked   string // when it was written, of an entry with a request
	cwd     string // as asked
	model   string
	context int  // tokens of the request that it answers
	result  bool // of a tool's call
}

func readTranscript(path string) (*transcript, error) {
	t := &transcript{entries: map[string]entry{}}
	return t, readLines(path, t.line) // the last line may still be on its way; then it is not JSON yet
}

// line takes one line. Those that hold tool results, which are most of a transcript, are not parsed, so that 200 MB
// take less than a second: their ids alone are looked for. A quote inside a string is escaped, so that a key with
// its quotes is a key, and one that occurs once is the entry's own.
func (t *transcript) line(line []byte) {
	if id, parent := onlyMember(line, "uuid"), onlyMember(line, "parentUuid"); id != "" && parent != "" &&
		bytes.Contains(line, []byte(`"type":"tool_result"`)) && !bytes.Contains(line, []byte(`"isSidechain":true`)) {
		t.add(id, entry{parent: parent, result: true}, true)
		return
	}
	var e transcriptEntry
	if _, isSyntax := json.Unmarshal(line, &e).(*json.SyntaxError); isSyntax || e.IsSidechain {
		return
	}
	t.version, t.here = cmp.Or(e.Version, t.version), cmp.Or(e.Cwd, t.here)
	if e.UUID == "" {
		return
	}
	next := entry{parent: cmp.Or(e.CompactMetadata.PreservedSegment.TailUUID, e.ParentUUID, e.LogicalParentUUID), request: e.request(), cwd: e.Cwd, asked: e.Timestamp}
	if t.entries[next.parent].result && strings.HasPrefix(next.request, "/") && e.Attachment.Type == "" {
		next.request = "" // a command that the agent called by a tool
	}
	if next.request == "" {
		next.cwd, next.asked = "", "" // they would be kept for each entry
	}
	if e.Type == "assistant" && e.Message.Model != "<synthetic>" { // which writes Claude Code's own error messages
		next.model = e.Message.Model
		next.context = e.Message.Usage.fresh() + e.Message.Usage.CacheRead
	}
	t.add(e.UUID, next, e.Type == "user" || e.Type == "assistant")
	if e.Type == "assistant" {
		t.last = string(e.Message.Content)
	}
}

func (t *transcript) add(id string, e entry, spoken bool) {
	if _, known := t.entries[id]; !known { // a compaction may write an entry again, with another parent
		t.entries[id] = e
	}
	if spoken {
		t.leaf, t.last = id, ""
	}
}

// onlyMember returns the string under key if line has that key, with a string, exactly once.
func onlyMember(line []byte, key string) string {
	_, rest, _ := bytes.Cut(line, []byte(`"`+key+`":"`))
	value, rest, found := bytes.Cut(rest, []byte(`"`))
	if !found || bytes.Contains(rest, []byte(`"`+key+`":`)) {
		return ""
	}
	return string(value)
}

// A transcriptEntry is one line of a transcript. Members of another shape than here are left empty.
type transcriptEntry struct {
	Type              string      `json:"type"`
	UUID              string      `json:"uuid"`
	ParentUUID        string      `json:"parentUuid"`
	LogicalParentUUID string      `json:"logicalParentUuid"` // across a compaction
	Version           string      `json:"version"`
	Timestamp         string      `json:"timestamp"`
	IsSidechain       bool        `json:"isSidechain"`
	IsMeta            bool        `json:"isMeta"`
	IsCompactSummary  bool        `json:"isCompactSummary"`
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

// request returns the user's words in the entry, "" if it holds none. Whose they are Claude Code tells itself (2.1.330, in its
// own words): where an entry has an origin, its kind is human; else the prompt's source is not system, and nothing woke the
// client (a scheduled slash command says that alone). Older versions say none of it, and the text decides.
func (e transcriptEntry) request() string {
	text, origin := string(e.Message.Content), e.Origin.Kind
	if e.Type == "attachment" && e.Attachment.Type == "queued_command" {
		text, origin = string(e.Attachment.Prompt), e.Attachment.Origin.Kind
	} else if e.Type != "user" {
		return ""
	}
	if cmp.Or(origin, "human") != "human" || origin == "" && (e.PromptSource == "system" || e.WakeupSource != "") || e.IsMeta || e.IsCompactSummary || !isUsers(text) {
		return ""
	}
	if name := tagged(text, "command-name"); name != "" {
		return strings.TrimSpace(name + " " + tagged(text, "command-args"))
	}
	return text
}

// isUsers tells whether a submitted text can be the user's own: not what Claude Code submits itself, nor the output
// of a command that the user ran in the client, nor the mark of an interruption.
func isUsers(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !slices.ContainsFunc([]string{"<task-notification>", "<system-reminder>", "<local-command-", "<bash-input>",
		"<bash-stdout>", "<bash-stderr>", "[Request interrupted by user"}, func(mark string) bool { return strings.HasPrefix(text, mark) })
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
