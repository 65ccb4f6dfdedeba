package main

// What a session's transcript says: what the user asked for and stands, the model at work, the directories
// that were added.

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
	requests []userRequest // the user's words that stand, oldest first
	model    string        // of the agent's last message
	version  string        // of the Claude Code that wrote the last entry
	dirs     []string      // that the user added with /add-dir
	last     string        // what the agent said last, or toolUse and the id of its call; "" if the last word is the user's
	broken   bool          // what came before the first of requests was not found
	here     string        // where the agent was last
	context  int           // tokens of the agent's last request, cached ones included; 0: unknown
}

// prompt returns the user's newest prompt, an empty one where there is none.
func (c *conversation) prompt() (newest userRequest) {
	for _, r := range c.requests {
		if r.prompt {
			newest = r
		}
	}
	return newest
}

// stands returns what reports whether a prompt on record was not withdrawn. Of prompts with the same words the
// newest are those that stand. Where the conversation does not hold all requests, all stand.
func (c *conversation) stands(past *history) func(numbered) bool {
	withdrawn := map[int]bool{}
	left := slices.Clone(c.requests)
	for _, p := range slices.Backward(past.prompts) {
		if c.broken || len(c.requests) == 0 || p.Kind != kindPrompt || p.Prompt == "" {
			continue
		}
		i := len(left) - 1
		for i >= 0 && !isRequest(left[i].words, p.Prompt) {
			i--
		}
		if withdrawn[p.number] = i < 0; i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return func(p numbered) bool { return !withdrawn[p.number] }
}

// isRequest reports whether the transcript's request is the prompt that a hook was told of: /supervisor may
// stand before it, and the transcript has another white space around the prompt and a command's arguments.
func isRequest(request, prompt string) bool {
	return strings.HasSuffix(oneLine(request), oneLine(prompt))
}

// readConversation follows the transcript at path from its newest entry to its root. Each entry names its
// parent; what the user withdrew or took back is in the file, but not on this way. A fork begins where its
// original was compacted last: what came before stands in another transcript of the same directory. An error
// means that the transcript can't be read or holds no conversation.
func readConversation(path string) (conversation, error) {
	t, err := readTranscript(path)
	if err != nil {
		return conversation{}, err
	}
	if t.leaf == "" {
		return conversation{}, fmt.Errorf("%s holds no conversation", path)
	}
	t.addBeside(filepath.Dir(path))
	w := walk{conversation: t.conversation}
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
				w.broken = !known
				break
			}
			t, e, passed = other, other.entries[id], map[string]bool{}
		}
		if !read[id] {
			w.add(e, t.beside(id, read))
		}
		read[id], passed[id] = true, true
		id = e.parent
	}
	slices.Reverse(w.requests)
	if w.broken && len(w.requests) == 0 { // 2.1.200 and 2.1.280 may write the first prompt behind its answer
		return w.conversation, fmt.Errorf("%s lacks the beginning of the conversation", path)
	}
	return w.conversation, nil
}

// A walk is a conversation in the reading, from its end on.
type walk struct {
	conversation
	behind      entryMark // of the entry next behind here that has one or holds the user's words
	called      bool      // an entry of a message of the agent's whose call has a result stands next behind here
	cut         bool      // the mark of Esc stands next behind here, and no words but those of a call's result between
	answered    bool      // the agent spoke next behind here, and not the user or Claude Code
	sent        bool      // words that the user typed while the agent worked stand next behind here
	stopped     bool      // the user pressed Esc next behind here, and not to send such words
	interrupted bool      // the user pressed Esc behind what the agent said behind here
}

// add takes an entry, the newest first, and the user's words that hang beside the chain from it.
func (w *walk) add(e placedEntry, beside []userRequest) {
	wasCalled := w.called
	isCalled := w.behind == markResult || wasCalled && e.mark == markAnswer
	w.called = isCalled && e.mark == markAnswer
	w.cut = w.cut && (w.called || !wasCalled) // what stands before the message with the call was not cut short
	isCut := w.cut && isCalled                // else prompts beside were withdrawn, or taken back by /rewind
	for _, r := range slices.Backward(beside) {
		switch {
		case r.prompt && isCut:
			r.remarks = append(r.remarks, remarkWithEsc)
			w.take(r)
		case !r.prompt && isCalled:
			w.take(r)
		}
	}
	if e.mark != 0 || e.said != nil {
		w.behind = e.mark
	}
	w.model, w.context = cmp.Or(w.model, e.model), cmp.Or(w.context, e.context)
	switch {
	case e.mark == markAnswer:
		w.interrupted = w.interrupted || w.stopped
		w.answered, w.sent, w.cut, w.stopped = true, false, w.cut && isCalled, false
	case e.mark == markInterrupted:
		w.cut, w.stopped = true, !w.sent
	case e.said != nil && e.said.command && !w.answered: // it called no agent
		w.addDir(*e.said)
	case e.said != nil:
		w.take(*e.said)
	case e.mark == markOther:
		w.answered = false
	}
}

// take takes words of the user's that stand.
func (w *walk) take(r userRequest) {
	if r.prompt {
		if w.interrupted {
			r.remarks = append(r.remarks, remarkInterrupted)
		}
		w.answered, w.sent, w.cut, w.stopped, w.interrupted = false, r.queued, false, false, false
	}
	w.addDir(r)
	w.requests = append(w.requests, r)
}

func (w *walk) addDir(r userRequest) {
	if dir, ok := strings.CutPrefix(r.words, "/add-dir "); ok {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			home, _ := os.UserHomeDir()
			dir = filepath.Join(home, rest)
		}
		w.dirs = append(w.dirs, absoluteIn(r.cwd, dir))
	}
}

// A storedSession is a session of Claude Code's, as its transcript tells.
type storedSession struct {
	id, path string
	written  time.Time
}

// storedSessions returns the sessions that are wanted of those with such a path in dir, newest first. Side
// chains, agent-*.jsonl, are none.
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

// otherPatience bounds the search for what came before a fork, in a directory that may hold years of
// transcripts.
const otherPatience = 2 * time.Second

// findEntry takes the session that holds the entry of that id off the list; nil if none is found before the
// deadline.
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
	conversation                        // what its lines tell by themselves: last, version and here
	entries      map[string]placedEntry // by id
	prompts      map[string][]string    // by origin, the ids of the entries that hold words of the user's
	leaf         string                 // the last entry of the user's or the agent's
	original     string                 // the session that the last copied entry was written in first, "" without one
}

// A placedEntry is what ccc keeps of one.
type placedEntry struct {
	parent  string
	origin  string       // see originOf
	said    *userRequest // the user's words, if it holds any
	mark    entryMark
	model   string
	context int // tokens of the request that it answers
}

func readTranscript(path string) (*transcript, error) {
	t := &transcript{entries: map[string]placedEntry{}, prompts: map[string][]string{}}
	return t, readLines(path, t.line) // the last line may still be on its way; then it is not JSON yet
}

// resultWords are found in a line with a tool's result if it holds words of the user's: answers to questions,
// what they said as they refused the call or approved it, a plan that they changed.
var resultWords = [][]byte{[]byte(`"answers":{`), []byte(refusedSaying + `\n`),
	[]byte(`},{"type":"text","text":"`), []byte(`"planWasEdited":true`)}

// line takes one line. Those that hold tool results, which are most of a transcript, are parsed only where
// they may hold words of the user's, so that 200 MB take about a second: else their ids alone are looked for.
// A quote inside a string is escaped, so that a key with its quotes is a key, and one that occurs once is the
// entry's own.
func (t *transcript) line(line []byte) {
	isResult := bytes.Contains(line, []byte(`"type":"tool_result"`))
	mayHold := func(mark []byte) bool { return bytes.Contains(line, mark) }
	if isResult && !slices.ContainsFunc(resultWords, mayHold) && !mayHold([]byte(`"isSidechain":true`)) {
		if id, parent := onlyMember(line, "uuid"), onlyMember(line, "parentUuid"); id != "" && parent != "" {
			t.add(id, placedEntry{parent: parent, mark: markResult}, true)
			return
		}
	}
	var e transcriptEntry
	if _, isSyntax := json.Unmarshal(line, &e).(*json.SyntaxError); isSyntax || e.IsSidechain {
		return
	}
	t.version, t.here = cmp.Or(e.Version, t.version), cmp.Or(e.Cwd, t.here)
	if e.WrittenIn != "" && e.WrittenIn != e.SessionID {
		t.original = e.WrittenIn
	}
	if e.UUID == "" {
		return
	}
	tail := e.CompactMetadata.PreservedSegment.TailUUID
	next := placedEntry{parent: cmp.Or(tail, e.ParentUUID, e.LogicalParentUUID)}
	parent := t.entries[next.parent]
	if isResult && e.Type == "user" {
		next.mark, next.said = markResult, e.answer()
	} else {
		next.said, next.mark = e.request()
	}
	isCommand := next.said != nil && next.said.prompt && strings.HasPrefix(next.said.words, "/")
	if isCommand && parent.mark == markResult && e.Type == "user" {
		next.said = nil // the agent called it by a tool
	}
	if e.Type == "assistant" && e.Message.Content != noResponse {
		next.mark = markAnswer
	}
	origin := originOf(e, next, parent)
	if !isResult {
		next.origin = origin
	}
	if _, known := t.entries[e.UUID]; next.said != nil && !known {
		t.prompts[origin] = append(t.prompts[origin], e.UUID)
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

// originOf returns the entry from which the user's words in e hang, where they are not on the chain. It is
// the first entry of the message of the agent's that they interrupted, or whose call they answered: of calls
// made at once, the results of all but one hang beside the chain (2.1.200, 2.1.331). What Claude Code adds to
// a prompt has the prompt's origin.
func originOf(e transcriptEntry, next, parent placedEntry) string {
	switch {
	case next.mark == markAnswer && parent.mark != markAnswer:
		return e.UUID
	case next.said != nil:
		return cmp.Or(parent.origin, next.parent)
	}
	return parent.origin
}

// addBeside adds the prompts of the session's original, if it is a fork: a fork has none that are not on its
// chain. dir holds both.
func (t *transcript) addBeside(dir string) {
	if !validSession(t.original) {
		return
	}
	original, err := readTranscript(filepath.Join(dir, t.original+".jsonl"))
	if err != nil {
		return // it was removed
	}
	for origin, prompts := range original.prompts {
		for _, id := range prompts {
			if _, known := t.entries[id]; !known {
				t.entries[id] = original.entries[id]
				t.prompts[origin] = append(t.prompts[origin], id)
			}
		}
	}
}

// beside returns the words of the user's that hang from the entry of that id and are not on the chain, of
// which what follows has been read. Claude Code writes most of what interrupts a call so: words that the user
// typed while the agent worked and sent with Esc, or typed right behind Esc (2.1.280 to 2.1.331).
func (t *transcript) beside(id string, read map[string]bool) (found []userRequest) {
	for _, prompt := range t.prompts[id] {
		if !read[prompt] {
			found = append(found, *t.entries[prompt].said)
		}
	}
	return found
}

func (t *transcript) add(id string, e placedEntry, spoken bool) {
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
