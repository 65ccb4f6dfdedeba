package main

// Recordings of the real client under testdata/recordings, for the fast tests of recordings_test.go: hook events,
// transcripts and reviewers' streams of each version. With CCC_RECORD set the tests that play them write them anew.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const recordings = "testdata/recordings"

// recordsEvents has the sandbox's claude write each hook event into the file events.
func (box *sandbox) recordsEvents() {
	hooks := map[string]any{}
	for _, event := range []string{eventPrompt, eventPreToolUse, eventStop, "SubagentStop"} {
		command := map[string]string{"type": "command", "command": "f=$(mktemp -p " + box.home + " event-XXXXXX) && cat >$f && cat $f >>" + box.home + "/events && rm $f"}
		hooks[event] = []any{map[string]any{"matcher": "", "hooks": []any{command}}}
	}
	box.setSettings(string(encodeJSON(map[string]any{"hooks": hooks})))
}

func recordingName(kind, version, name string) string {
	return strings.TrimSuffix(kind+"-"+version+"-"+name, "-") + ".jsonl"
}

// The most of a text, in bytes, and of a list that a recording keeps.
const recordedText, recordedList = 300, 8

// unrecorded are members that would make recordings long, and that ccc does not read.
var unrecorded = strings.Fields(`rendered renderedRole userType entrypoint gitBranch promptId slug hookInfos requestRef requestedModel perTurnEffort turnPosition
	promptCacheRequested apiBlockIndex effort level preventedContinuation sourceToolAssistantUUID permissionDecision server_tool_use service_tier cache_creation
	inference_geo iterations output_tokens_details context_management diagnostics ttft_ms requestId apiRequestId requestSources toolUseID stop_details stop_sequence subagent_stats
	plugins capabilities skills`)

// record writes lines of JSON as testdata/recordings/KIND-VERSION[-NAME].jsonl, if CCC_RECORD is set, behind what head is. Each
// value stays, in its order, but for the sandbox's paths, long texts and lists, and the members named above.
func (box *sandbox) record(kind, version, name, head string, lines []byte) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	out := bytes.NewBufferString(head)
	for d := json.NewDecoder(bytes.NewReader(lines)); ; out.WriteByte('\n') {
		if err := box.copyJSON(d, out); err == io.EOF {
			break
		} else {
			check(box.t, err)
		}
	}
	check(box.t, os.MkdirAll(recordings, 0o755))
	check(box.t, os.WriteFile(filepath.Join(recordings, recordingName(kind, version, name)), out.Bytes(), 0o644))
}

// copyJSON copies one value.
func (box *sandbox) copyJSON(d *json.Decoder, out *bytes.Buffer) error {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		out.WriteByte(byte(token))
		for n := 0; d.More(); n++ {
			before, isLeft := out.Len(), token == '[' && n >= recordedList
			if n > 0 {
				out.WriteByte(',')
			}
			if token == '{' {
				name, _ := d.Token()
				fmt.Fprintf(out, "%s:", encodeJSON(name))
				isLeft = slices.Contains(unrecorded, name.(string))
			}
			if err := box.copyJSON(d, out); err != nil {
				return err
			}
			if isLeft {
				out.Truncate(before)
				n--
			}
		}
		_, err = d.Token()
		out.WriteByte(byte(token) + 2) // } or ]
		return err
	case string:
		const dashes = "/._"
		root := filepath.Dir(box.home)
		dashed := func(path string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(dashes, r) {
					return '-'
				}
				return r
			}, path)
		}
		text := strings.NewReplacer(box.work, "/home/u/project", dashed(box.work), "-home-u-project", box.home, "/home/u", root, "/home/u/box").Replace(token)
		if len(text) > recordedText {
			text = strings.ToValidUTF8(text[:recordedText], "") + "…"
		}
		out.Write(encodeJSON(text))
	default:
		out.Write(encodeJSON(token))
	}
	return nil
}

// recordTranscript records the newest of the sandbox's transcripts, whose first line then tells the requests that the reviewer
// got. Entries that hold no words and no place in the conversation are left out.
func (box *sandbox) recordTranscript(version, name string, api *scriptedAPI) {
	box.t.Helper()
	if os.Getenv("CCC_RECORD") == "" {
		return
	}
	told := api.told(box.t)
	var lines []byte
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*.jsonl"))
	if len(paths) != 1 {
		box.t.Fatalf("transcripts: %q", paths)
	}
	check(box.t, readLines(paths[0], func(line []byte) {
		var entry struct {
			Type       string
			UUID       string
			Attachment struct{ Type string }
		}
		_ = json.Unmarshal(line, &entry)
		if isPart := entry.UUID != "" || slices.Contains([]string{"queue-operation", "last-prompt", "mode"}, entry.Type); !isPart {
			return
		}
		isRead := slices.Contains([]string{"queued_command", "model"}, entry.Attachment.Type)
		if entry.Type == "attachment" && !isRead { // only its place matters
			var members map[string]json.RawMessage
			check(box.t, json.Unmarshal(line, &members))
			maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
				return !slices.Contains([]string{"type", "uuid", "parentUuid", "isSidechain", "timestamp", "version"}, name)
			})
			members["attachment"] = encodeJSON(map[string]string{"type": entry.Attachment.Type})
			line = append(encodeJSON(members), '\n')
		}
		lines = append(lines, line...)
	}))
	head := string(encodeJSON(map[string]any{"type": toldLine, "told": told})) + "\n"
	ids := regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	box.record("transcript", version, name, head, ids.ReplaceAll(lines, []byte("$1")))
}

// toldLine is the type of a recorded transcript's first line.
const toldLine = "told-to-the-reviewer"

// What the recordings hold, on the client itself: the events that ccc reads, with the types that it expects, and what each kind
// of stream comes to.
func TestRealClientRecordings(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			request, last := r.request(), r.last("user")
			reviewOf := func(name string) bool {
				_, requests, _ := strings.Cut(request, "## 用户的要求")
				requests, _, _ = strings.Cut(requests, "\n## ")
				return strings.HasSuffix(strings.TrimSpace(requests), "review: "+name)
			}
			switch {
			case r.Kind == "review" && strings.Contains(request, "问题还没有显示给用户"):
				return replyVerdict(true, "")
			case r.Kind == "review":
				for name, play := range recordedReviews {
					if reviewOf(name) {
						return play[min(stepsOf(r), len(play)-1)]
					}
				}
				return replyVerdict(true, "")
			case strings.HasSuffix(last, "ask me"):
				return replyTool(askUserQuestion, question)
			case strings.HasSuffix(last, "start it"):
				return replyTool("Bash", `{"command":"until [ -e ended ]; do sleep 0.2; done","run_in_background":true,"description":"serve"}`)
			case strings.HasSuffix(last, "have it done"):
				for _, tool := range r.Tools {
					if tool == "Task" || tool == "Agent" {
						return replyTool(tool, `{"description":"echo","prompt":"be a subagent","subagent_type":"general-purpose","run_in_background":false}`)
					}
				}
			case strings.HasSuffix(last, "be a subagent"):
				return bash("until [ -e go ]; do sleep 0.1; done; echo of the subagent")
			}
			return replyText("done")
		})
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.write(".claude/commands/paint.md", 0o600, "Paint it $ARGUMENTS.\n")
		box.recordsEvents()
		tty := box.start("--permission-mode", "bypassPermissions")
		verdicts := 0
		stops := func(n int) {
			t.Helper()
			verdicts += n
			box.awaitVerdicts(verdicts)
		}
		before := 0 // bytes of the output of earlier reviews
		for _, name := range recordedNames {
			tty.prompt("review: " + name)
			stops(1)
			if recordedBlocks[name] {
				stops(1)
			}
			output, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-output.jsonl"))
			text, err := os.ReadFile(output[0])
			check(t, err)
			own := text[before:]
			before = len(text)
			expectRecordedStream(t, name, client.version, own)
			box.record("stream", client.version, name, "", own)
		}
		tty.prompt("ask me")
		tty.choose("one file")
		stops(2)
		tty.prompt("/paint red")
		stops(1)
		tty.prompt("have it done")
		tty.waitFor("子代理还在工作", 60*time.Second) // that stop is not reviewed yet
		box.write("../work/go", 0o600, "")
		stops(1)
		tty.prompt("start it")
		stops(1)
		box.write("../work/ended", 0o600, "")
		stops(1)
		tty.prompt("/supervisor off")
		tty.waitFor("监督已关闭", 60*time.Second)
		expectRecordedEvents(t, []byte(box.read("events")))
		box.record("events", client.version, "", "", []byte(box.read("events")))
		if shown := strings.Join(api.agentsUserTexts(), "\n"); !strings.Contains(shown, "<task-notification>") {
			t.Errorf("the agent got %q", shown)
		}
	})
}

// steps returns how often the reviewer has called something in this review.
func stepsOf(r apiRequest) (n int) {
	for i := len(r.Messages) - 1; i >= 0 && !strings.Contains(r.Messages[i].Text, "## 用户的要求"); i-- {
		if r.Messages[i].Role == "assistant" {
			n++
		}
	}
	return n
}
