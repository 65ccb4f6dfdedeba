package main

// What recordings of the real client (testdata/recordings, see real_recording_test.go) say, version by version: of events,
// transcripts and streams, and of what the stand-in of the other tests does. They are the fast tests of what only the real
// client can break.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordedNames are the streams that are recorded, in their order, and recordedReviews what the reviewer does in each.
var recordedNames = []string{"allow", "block", "text", "prose", "refused", "error"}

var recordedReviews = map[string][]apiReply{
	"allow":   {replyTool("Read", `{"file_path":"notes.txt"}`), replyVerdict(true, "nothing is left")},
	"block":   {bash("ls"), replyVerdict(false, "show the tests")},
	"text":    {replyText("I looked.\n```json\n{\"allow_stop\": true, \"feedback\": \"in a text\"}\n```")},
	"prose":   {replyText("I can not tell.")},
	"refused": {bash("touch touched.txt"), replyTool("Write", `{"file_path":"new.txt","content":"x"}`), replyVerdict(false, "it was refused")},
	"error":   {replyError(400, "invalid_request_error", "planted")},
}

// recordedBlocks are those after which the agent goes on, and stops at the limit.
var recordedBlocks = map[string]bool{"block": true, "prose": true, "refused": true}

// eachRecording calls test as a subtest for each recording of a kind: each version of testdata/clients has one, or one of each name.
func eachRecording(t *testing.T, kind string, names []string, test func(t *testing.T, version, name string, text []byte)) {
	t.Helper()
	versions, err := pinnedClients()
	check(t, err)
	for _, version := range versions {
		for _, name := range names {
			file := recordingName(kind, version, name)
			t.Run(strings.TrimSuffix(file, ".jsonl"), func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(recordings, file))
				check(t, err)
				test(t, version, name, text)
			})
		}
	}
}

func TestRecordedEvents(t *testing.T) {
	eachRecording(t, "events", []string{""}, func(t *testing.T, _, _ string, text []byte) {
		expectRecordedEvents(t, text)
	})
}

// expectRecordedEvents wants events of the session that TestRealClientRecordings plays to be what ccc takes them for.
func expectRecordedEvents(t *testing.T, text []byte) {
	t.Helper()
	var got []string
	sessions, subagents := map[string]bool{}, 0
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var line json.RawMessage
		check(t, d.Decode(&line))
		e, err := readEvent(bytes.NewReader(line))
		if err != nil || e.odd != "" {
			t.Fatalf("%v, of another type: %q in %s", err, e.odd, line)
		}
		if e.TranscriptPath == "" || e.Cwd == "" || filepath.Ext(e.TranscriptPath) != ".jsonl" {
			t.Errorf("no place in %s", line)
		}
		sessions[e.SessionID] = true
		if e.AgentID != "" || e.HookEventName == "SubagentStop" {
			subagents++
			continue
		}
		switch about := e.HookEventName; {
		case e.HookEventName == eventStop:
			if len(e.BackgroundTasks) > 0 {
				about += " beside a task"
			}
			if e.StopHookActive {
				about += " after a block"
			}
			got = append(got, about+" "+string(e.LastAssistantMessage))
		case e.HookEventName == eventPrompt:
			prompt := string(e.Prompt)
			if !isUsersOwn(prompt) {
				prompt = "of the client's"
			}
			got = append(got, about+" "+prompt)
		case e.HookEventName == eventPreToolUse && e.ToolName == askUserQuestion:
			if e.ToolUseID == "" || !strings.Contains(string(e.ToolInput["questions"]), "Which database?") {
				t.Errorf("no question in %s", line)
			}
			got = append(got, about)
		}
	}
	var want []string
	for _, name := range recordedNames {
		want = append(want, eventPrompt+" review: "+name, "Stop done")
		if recordedBlocks[name] {
			want = append(want, "Stop after a block done")
		}
	}
	task := []string{"Stop beside a task done", eventPrompt + " of the client's", "Stop done"}
	want = slices.Concat(want, []string{eventPrompt + " ask me", eventPreToolUse, "Stop done", eventPrompt + " /paint red", "Stop done",
		eventPrompt + " have it done"}, task, []string{eventPrompt + " start it"}, task, []string{eventPrompt + " /supervisor off"})
	expectEqual(t, "the events", got, want)
	if len(sessions) != 1 || subagents == 0 {
		t.Errorf("%d sessions, %d events of subagents", len(sessions), subagents)
	}
}

func TestRecordedStreams(t *testing.T) {
	eachRecording(t, "stream", recordedNames, func(t *testing.T, version, name string, text []byte) {
		expectRecordedStream(t, name, version, text)
	})
}

// expectRecordedStream wants a reviewer's stream of that name to come to what its reviewer meant.
func expectRecordedStream(t *testing.T, name, version string, text []byte) {
	t.Helper()
	var calls []string
	var mirror bytes.Buffer
	note := func(did step) {
		if did.Kind != stepWords {
			calls = append(calls, did.Kind+" "+did.Tool)
		}
	}
	isOver := false
	s := newStream(&mirror, note, func(err error) { t.Error(err) }, func() { isOver = true })
	for piece := range slices.Chunk(text, 1000) { // as a pipe hands it over
		s.Write(piece)
	}
	s.close()
	if s.result == nil {
		t.Fatalf("no result in %s", text)
	}
	expectIs(t, "the review is over", isOver, name != "prose") // words may be followed by a verdict
	decided, feedback, err := s.result.judge()
	got := fmt.Sprintf("%s %q %q", decided, feedback, calls)
	if err != nil {
		got = fmt.Sprintf("%v %q", strings.Contains(err.Error(), "API Error: 400"), calls)
	}
	want := map[string]string{
		"allow":   `allow "nothing is left" ["call Read(notes.txt)"]`,
		"block":   `block "show the tests" ["call Bash(ls)"]`,
		"text":    `allow "in a text" []`,
		"prose":   ` "I can not tell." []`,
		"refused": `block "it was refused" ["call Bash(touch touched.txt)" "refused Bash(touch touched.txt)" "call Write(new.txt)" "refused Write(new.txt)"]`,
		"error":   `true []`,
	}[name]
	expectIs(t, "the review", got, want)
	expectIs(t, "what was kept of the stream", mirror.String(), string(text))
	if name != "error" { // what this review alone has cost, and not its session, is told from 2.1.329 on
		expectIs(t, "the cost is known", s.outcome.CostUSD > 0, !olderThan(version, "2.1.329"))
	}
	if !validSession(s.outcome.ReviewerSession) {
		t.Errorf("the reviewer's session is %q", s.outcome.ReviewerSession)
	}
	if tokens := s.outcome.Tokens; name != "error" && (tokens.Input == 0 || tokens.Output == 0) {
		t.Errorf("it used %+v", tokens)
	}
}

// Of each transcript the requests stand that the slow test has seen in the reviewer's request.
func TestRecordedTranscripts(t *testing.T) {
	eachRecording(t, "transcript", []string{"answers", "background", "corrections", "requests"}, func(t *testing.T, version, name string, text []byte) {
		var told struct {
			Type string
			Told []string
		}
		check(t, json.NewDecoder(bytes.NewReader(text)).Decode(&told))
		expectIs(t, "the first line", told.Type, toldLine)
		got, err := readConversation(filepath.Join(recordings, recordingName("transcript", version, name)))
		check(t, err)
		expectEqual(t, "the requests", strings.Split(strings.TrimSuffix(toldOf(got.requests), "|"), "|"), told.Told)
		if got.version != version || got.model == "" || got.lastWords == "" {
			t.Errorf("version %q, model %q, last words %q", got.version, got.model, got.lastWords)
		}
	})
}

// shapes adds each member of lines of JSON to found, by its way there and the type of its value. What tells the kinds of lines
// apart, and the words by which Claude Code says who speaks, stand with their values.
func shapes(t *testing.T, found map[string]bool, lines []byte) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(lines)); d.More(); {
		var line map[string]any
		check(t, d.Decode(&line))
		kind := fmt.Sprint(line["hook_event_name"], " ", line["type"], " ", line["subtype"])
		if attachment, is := line["attachment"].(map[string]any); is {
			kind += fmt.Sprint(" ", attachment["type"])
		}
		addShapes(found, strings.ReplaceAll(strings.ReplaceAll(kind, "<nil>", ""), "  ", " "), line)
	}
}

func addShapes(found map[string]bool, way string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if slices.Contains([]string{"modelUsage", "model_usage_since_last_result"}, name) { // by the name of a model
				addShapes(found, way+"."+name, nil)
				continue
			}
			addShapes(found, way+"."+name, member)
			if word, is := member.(string); is && slices.Contains([]string{"promptSource", "turnOrigin", "permissionMode", "role"}, name) {
				found[way+"."+name+"="+word] = true
			}
		}
	case []any:
		found[way+" list"] = true
		for _, one := range value {
			inside := way + "[]"
			if block, is := one.(map[string]any); is {
				inside = fmt.Sprintf("%s[%v]", way, block["type"])
			}
			addShapes(found, inside, one)
		}
	case nil:
		found[way+" null"] = true
	default:
		found[fmt.Sprintf("%s %T", way, value)] = true
	}
}

// The stand-in claude sends no event, line of a stream or entry of a transcript with a member that the real client of that
// version does not have there, and leaves out no member of an event that ccc reads.
func TestStandInAsRecorded(t *testing.T) {
	beside(t)
	versions, err := pinnedClients()
	check(t, err)
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, "FAKE_CLAUDE_VERSION="+version)
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":3}}`)
			box.write(".claude/commands/paint.md", 0o600, "Paint it $ARGUMENTS.\n")
			box.turns("ask " + strings.ReplaceAll(question, "\n", " ") + "\nDone.\n")
			box.prompts("/paint red", "<task-notification>\n<task-id>x</task-id>", "again", "at the end")
			refused := calls("Write", `{"file_path":"new.txt","content":"x"}`, "")
			box.reviews(blocks("decide yourself"), blocks("show the tests"), allows("x"), fakeReview{refused, answers(`{"allow_stop": true, "feedback": ""}`)}, fails("API Error: 400 x"))
			got := box.run(60*time.Second, "", "ccc", "--supervisor", "fix it")
			if got.code != 0 {
				t.Fatalf("%+v", got)
			}
			for kind, files := range map[string]string{"events": "../fake/hook-*.stdin", "stream": "../fake/review*", "transcript": ".claude/projects/*/*.jsonl"} {
				ours, real := map[string]bool{}, map[string]bool{}
				paths, _ := filepath.Glob(filepath.Join(box.home, files))
				recorded, _ := filepath.Glob(filepath.Join(recordings, kind+"-"+version+"*.jsonl"))
				for _, path := range paths {
					if strings.Contains(path, "/reviewer-") {
						continue
					}
					check(t, readLines(path, func(line []byte) {
						if line[0] == '{' {
							shapes(t, ours, line)
						}
					}))
				}
				if len(ours) < 20 {
					t.Fatalf("%s: only %q", kind, slices.Collect(maps.Keys(ours)))
				}
				for _, path := range recorded {
					text, err := os.ReadFile(path)
					check(t, err)
					shapes(t, real, text)
				}
				for _, shape := range slices.Sorted(maps.Keys(ours)) {
					if !real[shape] {
						t.Errorf("%s: the real client has no %s", kind, shape)
					}
				}
				for _, shape := range slices.Sorted(maps.Keys(real)) {
					name := regexp.MustCompile(`^(Stop|PreToolUse|UserPromptSubmit)[ .]+(\w+) \w+$`).FindStringSubmatch(shape)
					if name != nil && !ours[shape] && name[2] != "agent_id" && reflect.ValueOf(hookEvent{}).FieldByName(exported(name[2])).IsValid() {
						t.Errorf("%s: the stand-in has no %s", kind, shape)
					}
				}
			}
		})
	}
}

// exported is the name of the field for a member of an event.
func exported(member string) (name string) {
	for part := range strings.SplitSeq(member, "_") {
		if part == "id" {
			part = "ID"
		}
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}
