package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// quietStream is a stream whose notes nobody reads.
func quietStream(output io.Writer, warn func(error)) *reviewStream {
	return newStream(output, func(step) {}, warn, func() {})
}

// readStream feeds input to a stream in pieces of size bytes, scribbling over
// each piece after it was taken, and returns the mirror and the warnings.
func readStream(input string, size int) (s *reviewStream, mirror string, warnings []string) {
	var out bytes.Buffer
	s = quietStream(&out, func(err error) { warnings = append(warnings, err.Error()) })
	piece := make([]byte, size)
	for rest := input; rest != ""; {
		n := copy(piece, rest)
		rest = rest[n:]
		if wrote, err := s.Write(piece[:n]); wrote != n || err != nil {
			panic(fmt.Sprint(wrote, err))
		}
		clear(piece)
	}
	s.close()
	return s, out.String(), warnings
}

func TestStreamMirror(t *testing.T) {
	t.Parallel()
	long := `{"type":"user","text":"` + strings.Repeat("长", 100000) + `"}`
	tests := []struct {
		name, input, mirror string
		warnings            int
	}{
		{"lines", "{\"a\":1}\n[2]\n", "{\"a\":1}\n[2]\n", 0},
		{"crlf", "{\"a\":1}\r\n{\"b\":2}\r\n", "{\"a\":1}\r\n{\"b\":2}\r\n", 0},
		{"last_without_newline", "{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}\n", 0},
		{"spacing_kept", " {\"a\" : 1.50e+3, \"\\u0041\":\"<&>\"} \n", " {\"a\" : 1.50e+3, \"\\u0041\":\"<&>\"} \n", 0},
		{"blank_lines", "\n \n\r\n{\"a\":1}\n\n", "{\"a\":1}\n", 0},
		{"garbage_between", "{\"a\":1}\nwarning: {\n{\"b\":2}\nnull null\n3\n", "{\"a\":1}\n{\"b\":2}\n3\n", 2},
		{"truncated_last", "{\"a\":1}\n{\"b\":", "{\"a\":1}\n", 1},
		{"nul", "{\"a\":\"\x00\"}\n{\"b\":1}\n", "{\"b\":1}\n", 1},
		{"long", long + "\n" + long, long + "\n" + long + "\n", 0},
		{"empty", "", "", 0},
	}
	for _, test := range tests {
		for _, size := range []int{1, 2, 3, 7, 64, 4096, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", test.name, size), func(t *testing.T) {
				_, mirror, warnings := readStream(test.input, size)
				expectIs(t, "the mirror", mirror, test.mirror)
				if len(warnings) != test.warnings || strings.Count(strings.Join(warnings, ""), "dropped a line of the reviewer's stream: ") != test.warnings {
					t.Errorf("warnings: %q, want %d", warnings, test.warnings)
				}
			})
		}
	}
}

func TestStreamOutcome(t *testing.T) {
	var called []string
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	s.note = func(r step) {
		if r.Kind == stepCall {
			called = append(called, r.Tool)
		}
	}
	_, _ = s.Write([]byte(`{"type":"system","session_id":"../x"}
{"type":"system","subtype":"init","sessionId":"abc"}
{"type":"user","session_id":"z"}
{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4},"content":[{"type":"tool_use","name":"Bash","input":{"command":"git  status\n-s"}}]}}
{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":9},"content":[{"type":"tool_use","name":"Read","input":{"file_path":"a.go"}}]}}
{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":10},"content":[{"type":"tool_use","name":"StructuredOutput","input":{}},{"type":"text","text":"x"},{"type":"tool_use","name":"Grep","input":{"pattern":"TODO","path":"sub"}},{"type":"tool_use","name":"LS","input":{"path":"` + strings.Repeat("长", 81) + `"}},{"type":"tool_use","name":"Task","input":{"n":1}}]}}
{"type":"result","subtype":"success","result":"{\"allow_stop\":true}"}
{"type":"result","subtype":"success","result":"{\"allow_stop\":false,\"feedback\":\"last\"}","usage":{"input_tokens":12,"output_tokens":90},"total_cost_usd":5.5,"model_usage_since_last_result":{"a":{"costUSD":0.1},"b":{"costUSD":0.2}}}
`))
	s.close()
	if want := (tokens{11, 2, 3, 90}); *s.outcome.Tokens != want {
		t.Errorf("tokens %+v, want %+v", *s.outcome.Tokens, want)
	}
	expectIs(t, "the tools", strings.Join(called, " "), "Bash(git  status ⏎ -s) Read(a.go) Grep(TODO) LS("+strings.Repeat("长", 81)+") Task")
	if s.outcome.ReviewerSession != "abc" || s.outcome.CostUSD != 0.3 || s.result == nil { // the first that may be a file name; the review's own
		t.Fatalf("session %q, cost %v, result %v", s.outcome.ReviewerSession, s.outcome.CostUSD, s.result)
	}
	if _, feedback, err := s.result.judge(); err != nil || feedback != "last" {
		t.Errorf("the last result must count, got %q, %v", feedback, err)
	}
	s = quietStream(io.Discard, func(err error) { t.Error(err) }) // it is ended before a result
	_, _ = s.Write([]byte(`{"type":"assistant","message":{"id":"m1","usage":{"output_tokens":9}}}` + "\n"))
	s.close()
	expectIs(t, "the output without a result", s.outcome.Tokens.Output, 9)
}

// Of several results the last that holds a verdict counts, whatever a woken reviewer says behind it, and
// their costs are added up. A reviewer that has only spoken may be waiting for what it has started.
func TestStreamWoken(t *testing.T) {
	said := func(text string) string { return `"subtype":"success","result":` + string(encodeJSON(text)) }
	structured := func(allow bool) string {
		const members = `"subtype":"success","result":"","structured_output":{"allow_stop":%v,"feedback":"x"}`
		return fmt.Sprintf(members, allow)
	}
	no, yes := said(`{"allow_stop":false,"feedback":"fix the race"}`), said(`{"allow_stop":true,"feedback":""}`)
	words, more := said("I wait for the tests."), said("Noted. My verdict stands.")
	failed := `"subtype":"success","is_error":true,"result":"API Error: 529"`
	for _, test := range []struct {
		name    string
		results []string
		want    string // the verdict and the feedback, or a part of the error
		over    int    // the result behind which the end is not awaited; 0: none
	}{
		{"a refusal, then words", []string{no, more}, "block fix the race", 1},
		{"an approval, then words", []string{yes, more}, "allow ", 1},
		{"a verdict by the schema, then words", []string{structured(true), more}, "allow x", 1},
		{"words, then a verdict", []string{words, no}, "block fix the race", 2},
		{"words, then a verdict, then words", []string{words, yes, more}, "allow ", 2},
		{"an approval, then a refusal", []string{yes, no}, "block fix the race", 1},
		{"a refusal, then an approval", []string{no, structured(true)}, "allow x", 1},
		{"a verdict, then an error", []string{no, failed}, "block fix the race", 1},
		{"an error, then a verdict", []string{failed, yes}, "allow ", 1},
		{"words, then an error", []string{words, failed}, "API Error: 529", 2},
		{"words, then words", []string{words, more}, " Noted. My verdict stands.", 0},
		{"a verdict, then nothing", []string{no, said("")}, "block fix the race", 1},
		{"a verdict, then a malformed one", []string{yes, `"subtype":1`}, "allow ", 1},
	} {
		s := quietStream(io.Discard, func(err error) { t.Error(err) })
		over := 0
		for i, members := range test.results {
			s.finish = func() { over = cmp.Or(over, i+1) }
			fmt.Fprintf(s, `{"type":"result",%s,"usage":{"output_tokens":5},"model_usage_since_last_result":`+
				`{"a":{"costUSD":0.25}},"origin":{"kind":"task-notification"}}`+"\n", members)
		}
		s.close()
		decided, feedback, err := s.result.judge()
		got := string(decided) + " " + feedback
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		expectIs(t, test.name+": over", over, test.over)
		if n := len(test.results); s.outcome.CostUSD != 0.25*float64(n) || s.outcome.Tokens.Output != 5*n {
			t.Errorf("%s: $%v, %+v", test.name, s.outcome.CostUSD, s.outcome.Tokens)
		}
	}
}

// What a review has cost is the sum of its results, and not known where one holds the cost of a model that
// Claude Code does not know (2.1.332).
func TestStreamCost(t *testing.T) {
	const known = `"claude-opus-5-5":{"costUSD":0.25,"costBasis":"list"}`
	const guess = `"glm-4.7":{"costUSD":4,"costBasis":"unknown"}`
	for name, test := range map[string]struct {
		results []string
		want    float64
	}{
		"known":           {[]string{known}, 0.25},
		"managed":         {[]string{`"m":{"costUSD":1,"costBasis":"managed"}`}, 1},
		"two results":     {[]string{known, known}, 0.5},
		"a guess":         {[]string{guess}, 0},
		"beside a guess":  {[]string{guess + "," + known}, 0},
		"behind a guess":  {[]string{guess, known}, 0},
		"before a guess":  {[]string{known, guess}, 0},
		"nothing is told": {[]string{""}, 0},
	} {
		s := quietStream(io.Discard, func(err error) { t.Error(err) })
		for _, models := range test.results {
			fmt.Fprintf(s, `{"type":"result","subtype":"success","result":"x",`+
				`"model_usage_since_last_result":{%s}}`+"\n", models)
		}
		s.close()
		expectIs(t, name, s.outcome.CostUSD, test.want)
	}
}

// The reviewer's words are noted in their place among its calls, but for its verdict; a refused call is noted as that, once.
func TestStreamNotes(t *testing.T) {
	var noted []string
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	s.note = func(r step) { noted = append(noted, r.Kind+" "+r.Tool+r.Words) }
	for _, block := range []string{`{"type":"text","text":"one"},{"type":"tool_use","id":"c","name":"Read"}`, "", `{"type":"text","text":"two: {\"allow_stop\":false}"}`,
		`{"type":"text","text":"` + "```json\\n" + `{\"allow_stop\":false}` + "\\n```" + `"}`, `{"type":"text","text":"{\"allow_stop\":true}"}`,
		`{"type":"text","text":"It fails.\n\n` + "```json\\n" + `{\"allow_stop\":false,\"feedback\":\"fix {a}\"}` + "\\n```" + `"}`, `{"type":"text","text":"data: {\"a\":1}"}`} {
		line := `{"type":"assistant","message":{"content":[` + block + `]}}`
		if block == "" {
			line = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"Permission to use Read"}]}}`
		}
		_, _ = s.Write([]byte(line + "\n"))
	}
	fmt.Fprintln(s, `{"type":"assistant","message":{"content":[{"type":"text","text":"<think>no?</think> three"},`+
		`{"type":"text","text":"<think>no?</think>{\"allow_stop\":true}"}]}}`)
	_, _ = s.Write([]byte(`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}` + "\n")) // the client's own
	_, _ = s.Write([]byte(`{"type":"result","subtype":"success","permission_denials":[{"tool_use_id":"c"}],"result":"{\"allow_stop\":true}"}` + "\n"))
	s.close()
	expectEqual(t, "what was noted", noted, []string{"words one", "call Read", "refused Read", "words two:", "words It fails.", `words data: {"a":1}`, "words three"})
}

func TestStreamMemory(t *testing.T) {
	if raceEnabled { // which counts no memory
		beside(t)
	}
	for name, test := range map[string]struct{ line, lines, warnings int }{
		"lines of 10 MB":  {10 << 20, 8, 0},
		"an endless line": {100 << 20, 1, 1},
	} {
		if raceEnabled {
			test.line, test.lines = min(test.line, 40<<20), 1
		}
		mirrored, warnings := 0, 0
		mirror := &lineWriter{line: func(line []byte) { mirrored++ }}
		s := quietStream(mirror, func(error) { warnings++ })
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		piece := bytes.Repeat([]byte("x"), 32<<10)
		for range test.lines {
			s.Write([]byte(`{"type":"user","text":"`))
			for n := 0; n < test.line; n += len(piece) {
				s.Write(piece)
			}
			s.Write([]byte("\"}\n"))
		}
		s.Write([]byte("{}\n"))
		runtime.ReadMemStats(&after)
		if got := after.HeapSys - min(after.HeapSys, before.HeapSys); got > 50<<20 && !raceEnabled {
			t.Errorf("%s: the heap grew by %d MiB", name, got>>20)
		}
		if warnings != test.warnings || mirrored != test.lines-test.warnings+1 {
			t.Errorf("%s: mirrored %d lines with %d warnings", name, mirrored, warnings)
		}
	}
}

// FuzzStreamLines: what the splitter passes on is what came in, for any chunking.
func FuzzStreamLines(f *testing.F) {
	f.Add("{\"a\":1}\r\n\nx", uint64(1))
	f.Fuzz(func(t *testing.T, input string, seed uint64) {
		var got bytes.Buffer
		w := lineWriter{line: func(line []byte) {
			if bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Errorf("not one line: %q", line)
			}
			got.Write(line)
		}}
		random := rand.New(rand.NewPCG(seed, 1))
		for rest := []byte(input); len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			piece := bytes.Clone(rest[:n])
			w.Write(piece)
			clear(piece)
			rest = rest[n:]
		}
		w.close()
		want := input
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		expectIs(t, "what was passed on", got.String(), want)
	})
}

// The line that ends the notice of a stopped task is no result of the review, which comes after it; one that does not
// tell of turns, failed, or has words or a verdict, is.
func TestStreamNotice(t *testing.T) {
	s, isOver := quietStream(io.Discard, func(err error) { t.Error(err) }), false
	s.finish = func() { isOver = true }
	write := func(s *reviewStream, members string) {
		fmt.Fprintf(s, `{"type":"result","subtype":"success",%s}`+"\n", members)
	}
	write(s, `"is_error":false,"num_turns":0,"result":""`)
	expectIs(t, "the review is over", isOver, false)
	write(s, `"is_error":false,"num_turns":2,"structured_output":{"allow_stop":true,"feedback":""}`)
	expectIs(t, "the review is over", isOver, true)
	if decided, _, err := s.result.judge(); decided != verdictAllow || err != nil {
		t.Errorf("judged %q, %v", decided, err)
	}
	for _, members := range []string{`"result":""`, `"num_turns":1,"result":""`, `"num_turns":0,"is_error":true,"result":""`, `"num_turns":0,"result":"done"`, `"num_turns":0,"is_error":"no","result":""`,
		`"num_turns":0,"result":{"allow_stop":true}`, `"num_turns":0,"result":"","structured_output":{"allow_stop":true}`} {
		s := quietStream(io.Discard, func(err error) { t.Error(err) })
		if write(s, members); s.result == nil {
			t.Errorf("%s: no result", members)
		}
	}
}

// The reviewer's settings, which stand in for what the user's allow: no edit anywhere and nothing by Claude Code's own sandbox,
// a copy or none, and nothing written in that sandbox to a directory that the reviewer works in.
func TestReviewersSettings(t *testing.T) {
	for command, excluded := range map[string]string{"/bin/ccc try": `,"excludedCommands":["/bin/ccc try:*"]`, "": ""} {
		o := &reviewerCall{dir: "/tree", addDirs: []string{"/project", "/other"}, tryCommand: command}
		settings := ""
		for _, f := range o.flags() {
			if f[0] == "--settings" {
				settings = f[1]
			}
		}
		expectIn(t, command, settings, `"deny":["Edit(//**/*)","Edit(//tree/**)","Edit(//project/**)","Edit(//other/**)"]`, `"disableAllHooks":true`,
			`"disableBypassPermissionsMode":"disable"`,
			`"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false`+excluded+`}`)
	}
}

// A reviewer in another permission mode than it was asked for is ended at its first line, and its approval is none.
func TestReviewersMode(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	first := func(s *fakeStream) { s.add(`{"type":"system","subtype":"init","permissionMode":"acceptEdits"}`) }
	box.reviews(fakeReview{first, runs("sleep 1"), runs(`: >"$FAKE_CLAUDE_DIR/ran"`), decides(true, "")})
	got := box.stop("")
	expectIn(t, "the answer", got.stdout, `{"systemMessage":"[SUPERVISOR] 这次审查未完成`, "审查者的权限模式是 acceptEdits，不是 dontAsk")
	_, err := os.Stat(filepath.Join(box.home, "../fake/ran"))
	expectIs(t, "what it did later", errors.Is(err, os.ErrNotExist), true)
}

func TestOlderThan(t *testing.T) {
	for _, test := range []struct {
		version, other string
		want           bool
	}{
		{"2.1.279", "2.1.280", true}, {"2.1.280", "2.1.280", false}, {"2.1.281", "2.1.280", false}, {"2.1.99", "2.1.280", true},
		{"2.2.0", "2.1.280", false}, {"2.0.999", "2.1.280", true}, {"3.0.0", "2.1.280", false}, {"1.9.500", "2.1.280", true},
		{"2.1.331-dev.7", "2.1.331", false}, {"2.1.331-dev.7", "2.1.332", true}, {"2.1.279-dev.20261124", "2.1.280", true},
		{"", "2.1.280", false}, {"2.1.9999", "2.2.0", true}, {"2.2.0", "2.1.9999", false}, {"3.0.0", "2.9999.9999", false},
	} {
		expectIs(t, test.version+" older than "+test.other, olderThan(test.version, test.other), test.want)
	}
}

// Each refusal of Claude Code's is noted as one, in each of its words, and also where only the result tells of it.
func TestStreamRefusals(t *testing.T) {
	for answer, want := range map[string]bool{"Permission to use Bash has been denied.": true, "<tool_use_error>File is in a directory that is denied by": true,
		"<tool_use_error>InputValidationError: Bash failed": true, "<tool_use_error>Error: No such tool available: X": true,
		"exit status 1": false, "The file says: Permission to use Bash": false} {
		for _, isError := range []bool{true, false} {
			said, _ := json.Marshal(answer)
			block := contentBlock{Type: "tool_result", Error: isError, Said: said}
			expectIs(t, answer, block.isRefusal(), want && isError)
		}
	}
	var noted []string
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	s.note = func(r step) { noted = append(noted, r.Kind+" "+r.Tool) }
	_, _ = s.Write([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Read"}]}}` + "\n" +
		`{"type":"result","subtype":"success","permission_denials":[{"tool_use_id":"c"},{"tool_use_id":"d"}],"result":"{\"allow_stop\":true}"}` + "\n"))
	s.close()
	expectEqual(t, "what was noted", noted, []string{"call Read", "refused Read"})
}

// A call whose result is an error has given nothing, unless it is a command's. What is no call of the
// reviewer's is passed over.
func TestStreamErrors(t *testing.T) {
	var noted []string
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	s.note = func(r step) { noted = append(noted, r.Kind+" "+r.Tool) }
	call := func(id, tool, input string) {
		const line = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`
		fmt.Fprintf(s, line+"\n", id, tool, input)
	}
	result := func(id, text string, isError bool) {
		fmt.Fprintf(s, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,`+
			`"content":%q,"is_error":%v}]}}`+"\n", id, text, isError)
	}
	call("1", "Read", `{"file_path":"none.txt"}`)
	result("1", "File does not exist.", true)
	call("2", "Read", `{"file_path":"a.txt"}`)
	result("2", "1\ta note", false)
	call("3", "Bash", `{"command":"ls none"}`)
	result("3", "Exit code 2", true)
	call("4", "Skill", `{}`)
	result("4", "<tool_use_error>Unknown skill: x", true)
	call("5", "Write", `{"file_path":"b"}`)
	result("5", "Permission to use Write has been denied.", true)
	result("6", "of nobody", true)
	s.close()
	expectEqual(t, "what was noted", noted, []string{"call Read(none.txt)", "error Read(none.txt)",
		"call Read(a.txt)", "call Bash(ls none)", "call Skill", "error Skill", "call Write(b)", "refused Write(b)"})
}

// A mirror that can't be written is told of once, and the review goes on.
func TestStreamUnwritable(t *testing.T) {
	var warnings []string
	s := quietStream(fullDisk{}, func(err error) { warnings = append(warnings, err.Error()) })
	fmt.Fprintln(s, `{"type":"assistant","message":{"id":"m","usage":{"input_tokens":3}}}`)
	fmt.Fprint(s, `{"type":"result","subtype":"success","structured_output":{"allow_stop":true}}`) // without a newline
	s.close()
	expectEqual(t, "the warnings", warnings, []string{"writing the reviewer's output: no space left on device"})
	if s.result == nil || s.outcome.Tokens.Input != 3 {
		t.Errorf("the result is %v, the tokens are %+v", s.result, s.outcome.Tokens)
	}
}

// A fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
