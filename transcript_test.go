package main

// Transcripts as versions of Claude Code write them, in the members that ccc reads.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// entryLine is a line of a transcript; parent "" is null.
func entryLine(id, parent, kind, members string) string {
	from := "null"
	if parent != "" {
		from = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,"version":"2.1.329","cwd":"/work"}`, from, kind, members, id)
}

func userLine(id, parent, words string, more ...string) string {
	return entryLine(id, parent, "user", `"message":{"role":"user","content":`+string(encodeJSON(words))+`}`+strings.Join(more, ""))
}

func agentLine(id, parent, words string) string {
	return entryLine(id, parent, "assistant", `"message":{"model":"m-1","role":"assistant","content":[{"type":"text","text":`+string(encodeJSON(words))+`}]}`)
}

func callLine(id, parent, call string) string {
	return entryLine(id, parent, "assistant", `"message":{"model":"m-1","role":"assistant","content":[{"type":"tool_use","id":"`+call+`","name":"Bash","input":{}}]}`)
}

func outputLine(id, parent, call, output string) string {
	return entryLine(id, parent, "user", `"message":{"role":"user","content":[{"tool_use_id":"`+call+`","type":"tool_result","content":`+string(encodeJSON(output))+`}]}`)
}

// queuedLine is what Claude Code writes of words typed while the agent works.
func queuedLine(id, parent, words, more string) string {
	return entryLine(id, parent, "attachment", `"attachment":{"type":"queued_command","prompt":`+string(encodeJSON(words))+more+`}`)
}

// TestTranscriptRequests: exactly the requests that stand.
func TestTranscriptRequests(t *testing.T) {
	const human = `,"promptSource":"typed","turnOrigin":"human","origin":{"kind":"human"}`
	tests := []struct {
		name   string
		lines  []string
		other  []string // another transcript of the same directory, older than the third
		third  []string
		want   []string
		last   string
		dirs   []string
		broken bool
	}{
		{name: "typed", lines: []string{userLine("1", "", "fix it", human), agentLine("2", "1", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "printed", lines: []string{userLine("1", "", "fix it", `,"promptSource":"sdk","turnOrigin":"sdk"`), agentLine("2", "1", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "older_version", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "notification_by_source", lines: []string{userLine("1", "", "fix it", human), agentLine("2", "1", "it runs"),
			userLine("3", "2", "a task ended", `,"promptSource":"system","turnOrigin":"task_notification"`), agentLine("4", "3", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "notification_by_text", lines: []string{userLine("1", "", "fix it"), userLine("3", "1", "<task-notification>\n<task-id>x"), agentLine("4", "3", "done")},
			want: []string{"fix it"}, last: "done"},
		{name: "notification_typed_ahead", lines: []string{userLine("1", "", "fix it", human), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok"),
			queuedLine("4", "3", "<task-notification>", ""), queuedLine("5", "4", "a task", `,"origin":{"kind":"task_notification"}`), agentLine("6", "5", "done")},
			want: []string{"fix it"}, last: "done"},
		{name: "withdrawn", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), userLine("3", "2", "drop the table"), userLine("4", "2", "add tests"), agentLine("5", "4", "added")},
			want: []string{"fix it", "add tests"}, last: "added"},
		{name: "all_taken_back", lines: []string{userLine("1", "", "drop it"), agentLine("2", "1", "dropped"), userLine("3", "", "keep it")}, want: []string{"keep it"}},
		{name: "typed_while_working", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok"), queuedLine("4", "3", "and quickly", ""), agentLine("5", "4", "done")},
			want: []string{"fix it", "and quickly"}, last: "done"},
		{name: "command_typed_while_working", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok"), queuedLine("4", "3", "/tidy up", ""), agentLine("5", "4", "done")},
			want: []string{"fix it", "/tidy up"}, last: "done"},
		{name: "error_of_the_clients", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), strings.Replace(agentLine("3", "2", "API Error"), "m-1", "<synthetic>", 1)},
			want: []string{"fix it"}, last: "API Error"},
		{name: "compacted", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"),
			`{"parentUuid":null,"logicalParentUuid":"2","type":"system","subtype":"compact_boundary","uuid":"3"}`,
			userLine("4", "3", "This session is continued", `,"isCompactSummary":true`), userLine("5", "4", "add tests"), agentLine("6", "5", "added")}, want: []string{"fix it", "add tests"}, last: "added"},
		{name: "fork_of_a_compacted_session",
			other: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")},
			lines: []string{`{"parentUuid":null,"logicalParentUuid":"2","type":"system","subtype":"compact_boundary","uuid":"3"}`, userLine("4", "3", "add tests"), agentLine("5", "4", "added")},
			want:  []string{"fix it", "add tests"}, last: "added"},
		{name: "fork_from_the_middle", other: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), userLine("8", "2", "later"), agentLine("9", "8", "late")},
			third: []string{`{"type":"snapshot","of":{"uuid":"2"}}`, userLine("x", "", "another session")},
			lines: []string{`{"parentUuid":null,"logicalParentUuid":"2","type":"system","subtype":"compact_boundary","uuid":"3"}`, userLine("4", "3", "add tests"), agentLine("5", "4", "added")},
			want:  []string{"fix it", "add tests"}, last: "added"},
		{name: "subagents_last_words", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"),
			strings.Replace(userLine("8", "2", "you are a subagent"), `"isSidechain":false`, `"isSidechain":true`, 1),
			strings.Replace(outputLine("9", "8", "t1", "ok"), `"isSidechain":false`, `"isSidechain":true`, 1)}, want: []string{"fix it"}, last: "done"},
		{name: "fork_that_leads_back_to_itself", // 2.1.329
			other: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), userLine("4", "2", "add tests"), agentLine("5", "4", "added")},
			lines: []string{userLine("4", "3", "add tests"), agentLine("5", "4", "added"),
				`{"parentUuid":null,"logicalParentUuid":"5","type":"system","subtype":"compact_boundary","uuid":"3"}`, userLine("6", "5", "go on"), agentLine("7", "6", "gone")},
			want: []string{"fix it", "add tests", "go on"}, last: "gone"},
		{name: "root_is_nowhere", lines: []string{userLine("2", "1", "add tests"), agentLine("3", "2", "added")}, other: []string{userLine("x", "", "another session")},
			want: []string{"add tests"}, last: "added", broken: true},
		{name: "fork_of_a_fork", third: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")},
			other: []string{userLine("3", "2", "add tests"), agentLine("4", "3", "added")},
			lines: []string{userLine("5", "4", "go on"), agentLine("6", "5", "gone")}, want: []string{"fix it", "add tests", "go on"}, last: "gone"},
		{name: "queued_for_the_next_turn", lines: []string{userLine("1", "", "fix it", human), agentLine("2", "1", "done"),
			userLine("3", "2", "add tests", `,"promptSource":"queued","turnOrigin":"human","origin":{"kind":"human"}`), agentLine("4", "3", "added")},
			want: []string{"fix it", "add tests"}, last: "added"},
		{name: "suggestion_accepted", lines: []string{userLine("1", "", "fix it", `,"promptSource":"suggestion_accepted"`), agentLine("2", "1", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "source_of_a_later_version", lines: []string{userLine("1", "", "fix it", `,"promptSource":"dictated","turnOrigin":"unknown"`), agentLine("2", "1", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "scheduled", lines: []string{userLine("1", "", "fix it", human), agentLine("2", "1", "done"),
			userLine("3", "2", "go on", `,"promptSource":"system","turnOrigin":"scheduled"`), agentLine("4", "3", "gone")}, want: []string{"fix it"}, last: "gone"},
		{name: "compacted_in_part", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), userLine("3", "2", "add tests"), agentLine("4", "3", "added"),
			`{"parentUuid":null,"logicalParentUuid":"2","type":"system","subtype":"compact_boundary","uuid":"5","compactMetadata":{"preservedSegment":{"headUuid":"3","anchorUuid":"6","tailUuid":"4"}}}`,
			userLine("6", "5", "This session is continued", `,"isCompactSummary":true`), userLine("7", "6", "go on"), agentLine("8", "7", "gone")},
			want: []string{"fix it", "add tests", "go on"}, last: "gone"},
		{name: "command_that_the_agent_called", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "Launching"),
			userLine("4", "3", "<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"), agentLine("5", "4", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "typed_after_a_tools_output", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "rejected"), userLine("4", "3", "no: add tests"), agentLine("5", "4", "added")},
			want: []string{"fix it", "no: add tests"}, last: "added"},
		{name: "commands", lines: []string{userLine("1", "", "<command-name>/add-dir</command-name>\n<command-message>add-dir</command-message>\n<command-args>../other</command-args>"),
			userLine("2", "1", "<local-command-stdout>Added</local-command-stdout>"), userLine("3", "2", "<command-message>review</command-message>\n<command-name>/review</command-name>"),
			userLine("4", "3", "what the file says", `,"isMeta":true`), agentLine("5", "4", "done")}, want: []string{"/add-dir ../other", "/review"}, last: "done", dirs: []string{"/other"}},
		{name: "shell_mode", lines: []string{userLine("1", "", "fix it"), userLine("2", "1", "<bash-input>ls</bash-input>"), userLine("3", "2", "<bash-stdout>x</bash-stdout>"), userLine("4", "3", "<bash-stderr>x</bash-stderr>"), agentLine("5", "4", "done")},
			want: []string{"fix it"}, last: "done"},
		{name: "interrupted", lines: []string{userLine("1", "", "fix it"), userLine("2", "1", "[Request interrupted by user]"), userLine("3", "2", "no: add tests"), agentLine("4", "3", "added")},
			want: []string{"fix it", "no: add tests"}, last: "added"},
		{name: "subagents_words", lines: []string{userLine("1", "", "fix it"), strings.Replace(userLine("9", "1", "you are a subagent"), `"isSidechain":false`, `"isSidechain":true`, 1), agentLine("2", "1", "done")},
			want: []string{"fix it"}, last: "done"},
		{name: "feedback_of_a_hook", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), userLine("3", "2", "Stop hook feedback:\nadd tests", `,"isMeta":true`), agentLine("4", "3", "added")},
			want: []string{"fix it"}, last: "added"},
		{name: "half_a_line", lines: []string{userLine("1", "", "fix it"), agentLine("2", "1", "done"), `{"parentUuid":"2","type":"user","message":{"content":"half`}, want: []string{"fix it"}, last: "done"},
		{name: "marks_in_a_tools_output", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"),
			outputLine("3", "2", "t1", `{"uuid":"1","parentUuid":"9","type":"user","message":{"content":"not the user's"}}`), agentLine("4", "3", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "ids_in_a_tools_output", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"),
			strings.Replace(outputLine("3", "2", "t1", "ok"), `"uuid"`, `"toolUseResult":{"uuid":"9"},"uuid"`, 1), callLine("4", "3", "t2"),
			strings.Replace(outputLine("5", "4", "t2", "ok"), `"uuid"`, `"toolUseResult":{"parentUuid":"8"},"uuid"`, 1), agentLine("6", "5", "done")}, want: []string{"fix it"}, last: "done"},
		{name: "notes_of_the_client", lines: []string{userLine("1", "", "fix it"), userLine("2", "1", "<system-reminder>x"), userLine("3", "2", " <bash-input>ls"), userLine("4", "3", " \n"), agentLine("5", "4", "done")},
			want: []string{"fix it"}, last: "done"},
		{name: "marks_in_a_request", lines: []string{userLine("1", "", `what is "type":"tool_result" and {"uuid":"7"}?`), agentLine("2", "1", "done")},
			want: []string{`what is "type":"tool_result" and {"uuid":"7"}?`}, last: "done"},
		{name: "a_question", lines: []string{userLine("1", "", "fix it"), callLine("2", "1", "toolu_1")}, want: []string{"fix it"}, last: "tool_use toolu_1"},
		{name: "a_picture", lines: []string{entryLine("1", "", "user", `"message":{"content":[{"type":"image","source":{}},{"type":"text","text":"like this"}]}`), agentLine("2", "1", "done")},
			want: []string{"like this"}, last: "done"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, lines := range map[string][]string{"this.jsonl": test.lines, "other.jsonl": test.other, "third.jsonl": test.third} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			later := time.Now().Add(time.Minute) // found first, a third one must still be found behind it
			if err := os.Chtimes(filepath.Join(dir, "third.jsonl"), later, later); err != nil {
				t.Fatal(err)
			}
			got, err := readConversation(filepath.Join(dir, "this.jsonl"))
			if err != nil || !slices.Equal(got.requests, test.want) || got.last != test.last || !slices.Equal(got.dirs, test.dirs) || got.broken != test.broken {
				t.Errorf("got %q, last %q, directories %q, %v\nwant %q, last %q", got.requests, got.last, got.dirs, err, test.want, test.last)
			}
			if test.last != "" && (got.model != "m-1" || got.version != "2.1.329") {
				t.Errorf("model %q, version %q", got.model, got.version)
			}
		})
	}
}

// Where it says who submitted a prompt, each word that is not for the user counts, in each of the three places; those
// for the user and unknown ones do not.
func TestTranscriptSources(t *testing.T) {
	others := []string{"system", "task_notification", "task-notification", "scheduled", "scheduled-trigger", "auto_continuation", "auto-continuation", "peer",
		"host_synthetic", "channel", "coordinator", "observer-activity"}
	users := []string{"typed", "queued", "suggestion_accepted", "sdk", "human", "unknown", "of a later version"}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for _, place := range []string{`"promptSource":%q`, `"turnOrigin":%q`, `"origin":{"kind":%q}`} {
		for _, word := range append(others, users...) {
			said := fmt.Sprintf(","+place, word)
			lines := userLine("1", "", "fix it") + "\n" + userLine("2", "1", "go on", said) + "\n" + agentLine("3", "2", "done") + "\n"
			if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readConversation(path)
			if isUsers := slices.Contains(got.requests, "go on"); err != nil || isUsers != slices.Contains(users, word) {
				t.Errorf("%s: the user's: %v, %v", said, isUsers, err)
			}
		}
	}
}

func TestTranscriptUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if got, err := readConversation(path); err == nil {
		t.Errorf("a missing one: %+v", got)
	}
	for _, text := range []string{"", "{}\n", "not JSON\n", `{"type":"mode"}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readConversation(path); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// longTranscript writes a transcript of about size bytes: results of tools for the most part, a request now and then.
func longTranscript(tb testing.TB, size int) (path string, requests int) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "long.jsonl")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	output := strings.Repeat("what a tool printed, with \"quotes\"\n", 1000)
	parent := ""
	for written, n := 0, 0; written < size; n++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
		line := outputLine(id, parent, "t", output)
		switch n % 10 {
		case 0:
			line, requests = userLine(id, parent, fmt.Sprint("request ", n)), requests+1
		case 8:
			line = entryLine(id, parent, "attachment", `"attachment":{"type":"todo_reminder","content":[]}`)
		case 9:
			line = agentLine(id, parent, "done")
		}
		k, err := file.WriteString(line + "\n")
		if err != nil {
			tb.Fatal(err)
		}
		written, parent = written+k, id
	}
	return path, requests
}

// A transcript costs memory for its entries, not for what tools printed, and time for its bytes.
func TestTranscriptMemory(t *testing.T) {
	path, requests := longTranscript(t, 64<<20)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	debug.FreeOSMemory()
	before, start := held(), time.Now()
	got, err := readConversation(path)
	grown, took := held()-min(held(), before), time.Since(start)
	if err != nil || len(got.requests) != requests {
		t.Errorf("%d requests of %d, %v", len(got.requests), requests, err)
	}
	if grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if took > 5*time.Second { // 0.2 s on an idle machine
		t.Errorf("64 MiB took %v", took)
	}
}

// BenchmarkTranscript reads one of 200 MB.
func BenchmarkTranscript(b *testing.B) {
	path, _ := longTranscript(b, 200e6)
	b.SetBytes(200e6)
	for b.Loop() {
		if _, err := readConversation(path); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzTranscript: no transcript makes reading panic or run for ever, and what is read are lines of it.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte(userLine("1", "", "fix it") + "\n" + agentLine("2", "1", "done")))
	f.Add([]byte(userLine("1", "2", "fix it") + "\n" + userLine("2", "1", "round")))
	f.Add([]byte(outputLine("1", "", "t", "x")))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, _ := readConversation(path)
		if len(got.requests) > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d requests in %d lines", len(got.requests), bytes.Count(text, []byte("\n"))+1)
		}
	})
}

// A notification of Claude Code's refills no budget, takes no feedback away and is no request; nor does anything else
// that is not the user's.
func TestNotification(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	lines := []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}
	box.submit("fix it")
	for i := range 4 {
		if got := box.stop(box.transcript(lines...)); (got.stdout == blockNotYet) != (i < 2) {
			t.Errorf("stop %d: %+v", i+1, got)
		}
		box.submit("<task-notification>\n<task-id>x</task-id>")
		id := fmt.Sprint(i)
		lines = append(lines, userLine("n"+id, "2", "<task-notification>\n<task-id>x</task-id>"), agentLine("a"+id, "n"+id, "done"))
	}
	request := box.read("../fake/reviewer-2/stdin")
	if !strings.Contains(request, "\n[1] fix it\n") || strings.Contains(request, "task-id") || !strings.Contains(request, "上次反馈\nnot yet") {
		t.Errorf("the request is %s", request)
	}
	// The same holds where the notification is one that ccc does not know: the transcript says what is new.
	box.submit("what a later version submits itself")
	if got := box.stop(box.transcript(lines...)); got.stdout != "" {
		t.Errorf("a budget of its own: %+v", got)
	}
	box.submit("add tests")
	if got := box.stop(box.transcript(append(lines, userLine("u", "2", "add tests"), agentLine("v", "u", "done"))...)); got.stdout != blockNotYet {
		t.Errorf("the next request: %+v", got)
	}
}

// A prompt that was queued while a review ran has a budget of its own, whatever the client calls where it is from.
func TestQueuedPrompt(t *testing.T) {
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	lines := []string{userLine("1", "", "fix it"), agentLine("2", "1", "done")}
	box.submit("fix it")
	box.stop(box.transcript(lines...))
	box.submit("add tests")
	if got := box.stop(box.transcript(append(lines, userLine("3", "2", "add tests", `,"promptSource":"queued"`), agentLine("4", "3", "added"))...)); got.stdout != blockNotYet {
		t.Errorf("%+v", got)
	}
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "[2] add tests\n") || !strings.Contains(request, "第 1 轮，最多 1 轮") {
		t.Errorf("the request is %s", request)
	}
}

// What the agent has scheduled is no prompt of the user's: it changes no instructions, refills nothing, switches nothing.
func TestScheduledPrompt(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	long := strings.Repeat("long ", 300)
	crons := string(encodeJSON([]map[string]string{{"prompt": "go on"}, {"prompt": "/supervisor off"}, {"prompt": "/supervisor on"}, {"prompt": "/supervisor carry on"}, {"prompt": long[:1000] + "… [+500 chars]"}}))
	box.submit("fix it")
	box.stop(`"session_crons":` + crons)
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	for _, prompt := range []string{"go on", "/supervisor off", "/supervisor on", "/supervisor carry on", long} {
		refused := prompt == "/supervisor off" || prompt == "/supervisor on"
		if got := box.submit(prompt); got.code != 0 || strings.Contains(got.stdout, "由用户决定") != refused || !refused && got.stdout != "" {
			t.Errorf("%s: %+v", prompt, got)
		}
	}
	if strings.Contains(box.read(eventsPath), `"event":"switch"`) {
		t.Error("what the agent has scheduled switches the supervision")
	}
	if got := box.stop(`"session_crons":[]`); got.stdout != blockNotYet || strings.Contains(box.read("../fake/reviewer-2/args"), "MILD ONES") {
		t.Errorf("%+v", got)
	}
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "第 2 轮") || strings.Contains(request, "go on") || strings.Contains(request, "carry on") {
		t.Errorf("the request is %s", request)
	}
	box.submit("go on") // the user's now
	box.stop("")
	if !strings.Contains(box.read("../fake/reviewer-3/args"), "MILD ONES") {
		t.Error("a prompt of the user's did not count")
	}
	// One that only begins like a scheduled one is the user's.
	box.stop(`"session_crons":` + crons)
	box.submit("go on, and add tests")
	box.stop("")
	if request := box.read("../fake/reviewer-5/stdin"); !strings.Contains(request, "go on, and add tests") || !strings.Contains(request, "第 1 轮") {
		t.Errorf("the request is %s", request)
	}
}

// Only what stands in the transcript is told; without one the request says that this is not known.
func TestRequests(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	box.submit("drop the table")
	box.submit("fix it")
	box.stop(box.transcript(userLine("1", "", "drop the table"), userLine("2", "", "fix it"), agentLine("3", "2", "done")))
	if request := box.read("../fake/reviewer-1/stdin"); strings.Contains(request, "drop the table") || !strings.Contains(request, "[1] fix it\n") {
		t.Errorf("the request is %s", request)
	}
	box.stop(box.transcript(userLine("2", "lost", "fix it"), agentLine("3", "2", "done")))
	if request := box.read("../fake/reviewer-2/stdin"); !strings.Contains(request, "会话记录不完整") || !strings.Contains(request, "[1] fix it\n") {
		t.Errorf("where the beginning is lost the request is %s", request)
	}
	box.stop("")
	if request := box.read("../fake/reviewer-3/stdin"); !strings.Contains(request, "会话记录无法读取") || !strings.Contains(request, "[1] drop the table\n\n[2] fix it\n") {
		t.Errorf("without a transcript the request is %s", request)
	}
}

// The last entries may be on their way when the hook begins.
func TestTranscriptArrivesLate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		prompts      []string // the timeline's
		before, late []string
		event        string
		members      string
	}{
		{"typed_while_the_agent_worked", nil, []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok")},
			[]string{queuedLine("4", "3", "and quickly", ""), agentLine("5", "4", "all done")}, eventStop, `"last_assistant_message":"all done"`},
		{"the_same_words_again", []string{"fix it", "and quickly"}, []string{userLine("1", "", "fix it"), agentLine("2", "1", "all done")},
			[]string{userLine("3", "2", "and quickly"), agentLine("4", "3", "all done")}, eventStop, `"last_assistant_message":"all done"`},
		{"question", nil, []string{userLine("1", "", "fix it"), callLine("2", "1", "t1"), outputLine("3", "2", "t1", "ok")},
			[]string{queuedLine("4", "3", "and quickly", ""), callLine("5", "4", "t2")}, eventPreToolUse,
			`"tool_name":"AskUserQuestion","tool_use_id":"t2","tool_input":{"questions":[]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newHookBox(t)
			for _, prompt := range test.prompts {
				box.submit(prompt)
			}
			member := box.transcript(test.before...)
			go func() {
				time.Sleep(100 * time.Millisecond)
				box.transcript(slices.Concat(test.before, test.late)...)
			}()
			if test.members != "" {
				member += "," + test.members
			}
			box.hook(box.event(test.event, member))
			if request := box.read("../fake/reviewer-1/stdin"); !strings.Contains(request, "[2] and quickly\n") {
				t.Errorf("the request is %s", request)
			}
		})
	}
}
