package main

// A transcript is read from its newest entry back along the chain of parents. What is not on that chain was
// withdrawn, or hangs beside it from an entry of the agent's.

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
	requests   []userRequest // the user's words that are still valid, oldest first
	submitted  []string      // what Claude Code itself has submitted, as when a /loop ticks
	model      string        // the last of which the client says that it is at work, as --model takes it
	version    string        // of the Claude Code that wrote the last entry
	dirs       []string      // what the user added with /add-dir, absolute
	lastWords  string        // the agent's, or toolUse and the id of its call; "" if the user spoke last
	incomplete bool          // the newest prompt, or the agent's last words, had not come when it was read
	broken     bool          // what came before the first of requests was not found
	cwd        string        // where the agent was last
	context    int           // how many tokens the agent's last request had, with those cached; 0: unknown
}

// newestPrompt returns the user's newest prompt, an empty one where there is none.
func (c *conversation) newestPrompt() (newest userRequest) {
	for _, r := range c.requests {
		if r.isPrompt {
			newest = r
		}
	}
	return newest
}

// began returns the time of the first request, as the transcript has it, "" where there is none.
func (c *conversation) began() string {
	if len(c.requests) == 0 {
		return ""
	}
	return c.requests[0].at
}

// noteReviews notes in the requests above the last what their reviews came to: the last review that could end
// a request decides. One that sent the agent back, did not take place or was of a question leaves it open.
func (c *conversation) noteReviews(past *history) {
	for i := range max(0, len(c.requests)-1) {
		r := &c.requests[i]
		for _, review := range past.Reviews {
			switch {
			case !slices.Contains(review.Closes, r.id):
			case review.approves():
				r.closed = remarkPassed
			case review.Verdict == verdictLimit && review.occasion().isStop:
				r.closed = remarkUnapproved
			default:
				r.closed = words{}
			}
		}
	}
}

// calledNothing reports whether the agent called no tool for any request that is open, as far as all is
// known.
func (c *conversation) calledNothing() bool {
	called := func(r userRequest) bool { return r.closed == (words{}) && (r.callsTool || r.id == "") }
	return len(c.requests) > 0 && !c.broken && !slices.ContainsFunc(c.requests, called)
}

// calledSince reports whether the agent has called a tool since the user's newest prompt, or for a request
// after that time; it may have where no prompt is known.
func (c *conversation) calledSince(after time.Time) bool {
	newest := -1
	for i, r := range c.requests {
		if at, err := time.Parse(time.RFC3339, r.at); err == nil && at.After(after) {
			newest = i
			break
		} else if r.isPrompt {
			newest = i
		}
	}
	called := func(r userRequest) bool { return r.callsTool || r.id == "" }
	return newest < 0 || slices.ContainsFunc(c.requests[newest:], called)
}

// isRequest reports whether the transcript's request is the prompt. /supervisor may come before it, and the
// transcript has other white space around the prompt and a command's arguments.
func isRequest(request, prompt string) bool {
	line := oneLine(prompt)
	return line != "" && strings.HasSuffix(oneLine(request), line)
}

// readConversation reads the transcript at path. A fork begins where its original was compacted last; what
// came before is in another transcript of the same directory. An error means that the transcript can't be
// read or holds no conversation.
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
	read, passed := map[string]bool{}, map[string]bool{} // by id: in any transcript, in this one
	for id := t.leaf; id != ""; {
		e, known := t.entries[id]
		if !known || passed[id] { // the chain of a fork of a compacted session may lead back into itself
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
	if w.broken && len(w.requests) == 0 { // 2.1.280 may write the first prompt after its answer
		return w.conversation, fmt.Errorf("%s lacks the beginning of the conversation", path)
	}
	return w.conversation, nil
}

// A walk reads a conversation from its end back. Its fields hold what follows the entry that is being read,
// so that Esc is seen before what it ended. In these three an agent calls a tool for the prompt A, and
// behind the call's result comes:
//
//	Esc, prompt B                  escStops: the user interrupted A
//	Esc, prompt B that was queued  typedWhileWorking: Esc sent B, and nobody interrupted A
//	Esc; beside it a prompt P      escFollows: P hangs from the call beside the chain, and Esc sent it
type walk struct {
	conversation
	nextKind          entryKind // of the nearest entry that counts
	escFollows        bool      // and up to it there are only the calls of one message and their results
	agentSpeaksNext   bool      // before the user and Claude Code do
	typedWhileWorking bool      // the next words
	escStops          bool      // Esc comes next, and sends no words that were typed while the agent worked
	interrupted       bool      // an Esc that stops comes between the agent's words and the next prompt
	interruptedPast   bool      // the same, seen from the next Esc
	callsTool         bool      // the agent calls a tool before the user says more
}

// add adds an entry, the newest first, and the user's words that hang from it beside the chain.
func (w *walk) add(e placedEntry, beside []userRequest) {
	isOfCalls := w.nextKind == toolAnswered || w.nextKind == agentSpoke && e.kind == agentSpoke
	sentWithEsc := w.escFollows && isOfCalls // else a prompt beside was withdrawn, or taken back by /rewind
	for _, r := range slices.Backward(beside) {
		if r.isPrompt && sentWithEsc {
			w.interrupted = w.interruptedPast
			r.remarks = append(r.remarks, remarkWithEsc)
		}
		if !r.isPrompt || sentWithEsc {
			w.takeRequest(r)
		}
	}
	if e.kind != 0 {
		w.escFollows = w.escFollows && (isOfCalls || e.kind == toolAnswered && w.nextKind == userInterrupted)
		w.nextKind = e.kind
	}
	w.context = cmp.Or(w.context, e.context)
	w.callsTool = w.callsTool || e.calls
	switch {
	case e.kind == agentSpoke:
		w.interrupted = w.interrupted || w.escStops
		w.agentSpeaksNext, w.typedWhileWorking = true, false
	case e.kind == userInterrupted:
		w.escFollows, w.escStops, w.interruptedPast = true, !w.typedWhileWorking, w.interrupted
	case e.said != nil && e.said.isCommand && !w.agentSpeaksNext: // it called no agent
		w.addDir(*e.said)
	case e.said != nil:
		w.takeRequest(*e.said)
	case e.kind == clientPrompted:
		w.agentSpeaksNext = false
	}
}

// takeRequest adds words of the user's that are still valid.
func (w *walk) takeRequest(r userRequest) {
	if r.isPrompt {
		if w.interrupted {
			r.remarks = append(r.remarks, remarkInterrupted)
		}
		w.agentSpeaksNext, w.typedWhileWorking, w.escFollows, w.escStops = false, r.queued, false, false
		w.interrupted, w.interruptedPast = false, false
	}
	r.callsTool, w.callsTool = w.callsTool, false
	w.addDir(r)
	w.requests = append(w.requests, r)
}

func (w *walk) addDir(r userRequest) {
	if dir, isCommand := strings.CutPrefix(r.words, "/add-dir "); isCommand {
		if rest, isInHome := strings.CutPrefix(dir, "~/"); isInHome {
			home, _ := os.UserHomeDir()
			dir = filepath.Join(home, rest)
		}
		w.dirs = append(w.dirs, absoluteIn(r.cwd, dir))
	}
}

// A storedSession is a session of Claude Code's that has a transcript.
type storedSession struct {
	id, path string
	written  time.Time // the transcript's
}

// storedSessions returns those wanted of the sessions whose transcripts match pattern below dir, the
// newest first. A subagent's transcript, agent-*.jsonl, is no session. For wanted the time is not known yet.
func storedSessions(dir, pattern string, wanted func(storedSession) bool) (sessions []storedSession) {
	names, _ := fs.Glob(os.DirFS(dir), pattern) // for filepath.Glob a bracket in dir is a pattern, too
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		s := storedSession{id: id, path: filepath.Join(dir, name)}
		info, err := os.Stat(s.path)
		if err == nil && validSession(id) && !strings.HasPrefix(id, "agent-") && wanted(s) {
			s.written = info.ModTime()
			sessions = append(sessions, s)
		}
	}
	slices.SortStableFunc(sessions, func(a, b storedSession) int { return b.written.Compare(a.written) })
	return sessions
}

// transcriptStart returns the first directory that the transcript names, in which its session was started.
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

// otherPatience bounds the search for what came before a fork, among years of transcripts.
const otherPatience = 2 * time.Second

// findEntry returns the transcript that holds the entry, and takes its session off the list. It returns nil
// if none has it, or the deadline passes.
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

// A transcript is what ccc reads of one file.
type transcript struct {
	conversation                        // submitted, lastWords, version and cwd, which need no chain
	entries      map[string]placedEntry // by id
	prompts      map[string][]string    // by origin, the ids of the entries that hold words of the user's
	leaf         string                 // the id of the last entry of the user's or the agent's
	original     string                 // of a fork: the session in which its last copied entry was written
}

// A placedEntry is what ccc keeps of an entry, with its place.
type placedEntry struct {
	parent  string       // the id of the entry that it follows
	origin  string       // see originOf
	said    *userRequest // the user's words, nil without any
	kind    entryKind
	context int  // how many tokens the request had that it answers
	calls   bool // it calls a tool
}

func readTranscript(path string) (*transcript, error) {
	t := &transcript{entries: map[string]placedEntry{}, prompts: map[string][]string{}}
	return t, readLines(path, t.line) // the last line may still be on its way; then it is not JSON yet
}

// resultWords: one of them is in each tool's result that holds words of the user's.
var resultWords = [][]byte{[]byte(`"answers":{`), []byte(refusedSaying + `\n`),
	[]byte(`},{"type":"text","text":"`), []byte(`"planWasEdited":true`)}

// line reads one line. Most are tools' results, which are parsed only where they may hold words of the
// user's; of the others only the ids are looked for, so that 200 MB take about a second. Quotation marks in a
// string are escaped: a key in quotation marks that occurs once is the entry's own.
func (t *transcript) line(line []byte) {
	isResult := bytes.Contains(line, []byte(`"type":"tool_result"`))
	mayHold := func(mark []byte) bool { return bytes.Contains(line, mark) }
	if isResult && !slices.ContainsFunc(resultWords, mayHold) && !mayHold([]byte(`"isSidechain":true`)) {
		if id, parent := onlyMember(line, "uuid"), onlyMember(line, "parentUuid"); id != "" && parent != "" {
			t.add(id, placedEntry{parent: parent, kind: toolAnswered}, true)
			return
		}
	}
	var e transcriptEntry
	if _, isSyntax := json.Unmarshal(line, &e).(*json.SyntaxError); isSyntax || e.IsSidechain {
		return
	}
	t.version, t.cwd = cmp.Or(e.Version, t.version), cmp.Or(e.Cwd, t.cwd)
	t.model = cmp.Or(e.Attachment.Identity.ModelID, t.model)
	if e.WrittenIn != "" && e.WrittenIn != e.SessionID {
		t.original = e.WrittenIn
	}
	if e.UUID == "" {
		return
	}
	isUser, isAgent := e.Type == "user", e.Type == "assistant"
	preserved := e.CompactMetadata.PreservedSegment.TailUUID
	placed := placedEntry{parent: cmp.Or(preserved, e.ParentUUID, e.LogicalParentUUID)}
	parent := t.entries[placed.parent]
	if isResult && isUser {
		placed.kind, placed.said = toolAnswered, e.answer()
	} else {
		placed.said, placed.kind = e.request()
	}
	if isUser && e.PromptSource == "system" {
		t.submitted = append(t.submitted, string(e.Message.Content))
	}
	isCommand := placed.said != nil && placed.said.isPrompt && strings.HasPrefix(placed.said.words, "/")
	if isCommand && isUser && parent.kind == toolAnswered {
		placed.said = nil // the agent called the command, by a tool
	}
	if isAgent && e.Message.Content != noResponse {
		placed.kind, placed.calls = agentSpoke, strings.Contains("\n"+string(e.Message.Content), "\n"+toolUse)
	}
	if isAgent && e.Message.Model != "<synthetic>" { // Claude Code's own error messages are of that model
		placed.context = e.Message.Usage.freshInput() + e.Message.Usage.CacheRead
	}
	origin := originOf(e.UUID, placed, parent)
	if !isResult {
		placed.origin = origin
	}
	if _, known := t.entries[e.UUID]; placed.said != nil && !known {
		t.prompts[origin] = append(t.prompts[origin], e.UUID)
	}
	t.add(e.UUID, placed, isUser || isAgent)
	if isAgent {
		t.lastWords = string(e.Message.Content)
	}
}

// originOf returns the id of the entry from which the user's words in placed hang where they are not on the
// chain: the first entry of the agent's message that they interrupted, or whose call they answered. Of calls
// made at once the results of all but one hang beside the chain (2.1.280, 2.1.331).
func originOf(id string, placed, parent placedEntry) string {
	switch {
	case placed.kind == agentSpoke && parent.kind != agentSpoke:
		return id
	case placed.said != nil:
		return cmp.Or(parent.origin, placed.parent)
	}
	return parent.origin
}

// addBeside adds the prompts of a fork's original, in dir: a fork lacks those that are not on its chain.
func (t *transcript) addBeside(dir string) {
	if !validSession(t.original) {
		return
	}
	original, _ := readTranscript(filepath.Join(dir, t.original+".jsonl")) // empty if it was removed
	for origin, prompts := range original.prompts {
		for _, id := range prompts {
			if _, known := t.entries[id]; !known {
				t.entries[id] = original.entries[id]
				t.prompts[origin] = append(t.prompts[origin], id)
			}
		}
	}
}

// beside returns the user's words that hang from the entry beside the chain. Most words that interrupt a call
// are written so (2.1.280 to 2.1.331). read has what follows the entry on the chain.
func (t *transcript) beside(id string, read map[string]bool) (requests []userRequest) {
	for _, prompt := range t.prompts[id] {
		if !read[prompt] {
			requests = append(requests, *t.entries[prompt].said)
		}
	}
	return requests
}

// add adds an entry; isSpoken reports whether it is one of the user's or the agent's.
func (t *transcript) add(id string, e placedEntry, isSpoken bool) {
	if _, known := t.entries[id]; !known { // a compaction may write an entry again, with another parent
		t.entries[id] = e
	}
	if isSpoken {
		t.leaf, t.lastWords = id, ""
	}
}

// onlyMember returns the string under key if line has that key exactly once and with a string, else "".
func onlyMember(line []byte, key string) string {
	_, rest, _ := bytes.Cut(line, []byte(`"`+key+`":"`))
	value, rest, isString := bytes.Cut(rest, []byte(`"`))
	if !isString || bytes.Contains(rest, []byte(`"`+key+`":`)) {
		return ""
	}
	return string(value)
}
