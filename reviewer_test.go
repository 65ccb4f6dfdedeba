package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// quietStream is a stream whose notes nobody reads.
func quietStream(output io.Writer, warn func(error)) *reviewStream {
	return newStream(output, func(step) {}, warn, func() {})
}

// The stream that is kept has each line that is JSON, however it comes.
func TestStreamMirror(t *testing.T) {
	t.Parallel()
	long := `{"type":"user","text":"` + strings.Repeat("长", 100000) + `"}`
	tests := []struct {
		name, input, mirror string
		warnings            int
	}{
		{"lines", "{\"a\":1}\n[2]\n", "{\"a\":1}\n[2]\n", 0},
		{"last_without_newline", "{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}\n", 0},
		{"blank_lines", "\n \n\r\n{\"a\":1}\n\n", "{\"a\":1}\n", 0},
		{"garbage", "{\"a\":1}\nwarning: {\n{\"b\":2}\nnull null\n3\n", "{\"a\":1}\n{\"b\":2}\n3\n", 2},
		{"truncated_last", "{\"a\":1}\n{\"b\":", "{\"a\":1}\n", 1},
		{"long", long + "\n" + long, long + "\n" + long + "\n", 0},
	}
	for _, test := range tests {
		for _, size := range []int{1, 7, 4096, 1 << 20} {
			var mirror bytes.Buffer
			var warnings []string
			s := quietStream(&mirror, func(err error) { warnings = append(warnings, err.Error()) })
			buffer := make([]byte, size)
			for rest := test.input; rest != ""; rest = rest[min(size, len(rest)):] {
				n, err := s.Write(buffer[:copy(buffer, rest)])
				check(t, err)
				expectIs(t, "what it has taken", n, min(size, len(rest)))
				clear(buffer)
			}
			s.close()
			expectIs(t, fmt.Sprintf("%s by %d", test.name, size), mirror.String(), test.mirror)
			told := strings.Count(strings.Join(warnings, ""), "dropped a line of the reviewer's stream: ")
			expectEqual(t, "the warnings", []int{len(warnings), told}, []int{test.warnings, test.warnings})
		}
	}
}

// writeLines writes lines to a stream, which then ends.
func writeLines(s *reviewStream, lines ...string) {
	for _, line := range lines {
		_, _ = io.WriteString(s, line+"\n")
	}
	s.close()
}

// said is a line of the reviewer's message with that id, with these blocks and members of its usage.
func said(id, usage, blocks string) string {
	const form = `{"type":"assistant","message":{"id":%q,"usage":{%s},"content":[%s]}}`
	return fmt.Sprintf(form, id, usage, blocks)
}

// called is a block of a call of a tool.
func called(id, tool, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, tool, input)
}

// toldIn is a block of a text.
func toldIn(text string) string { return `{"type":"text","text":` + inQuotes(text) + `}` }

// What a stream comes to: the review's session, tokens and cost, and the last result.
func TestStreamOutcome(t *testing.T) {
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	const m1 = `"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":`
	writeLines(s, `{"type":"system","session_id":"../x"}`, `{"type":"system","sessionId":"abc"}`,
		`{"type":"user","session_id":"z"}`, said("m1", m1+"4", ""), said("m1", m1+"9", ""),
		said("m2", `"input_tokens":10`, ""),
		`{"type":"result","subtype":"success","result":"{\"allow_stop\":true}"}`,
		`{"type":"result","subtype":"success","result":"{\"allow_stop\":false,\"feedback\":\"last\"}",`+
			`"usage":{"input_tokens":12,"output_tokens":90},"total_cost_usd":5.5,`+
			`"model_usage_since_last_result":{"a":{"costUSD":0.1},"b":{"costUSD":0.2}}}`)
	expectIs(t, "the tokens", *s.outcome.Tokens, tokens{11, 2, 3, 90})
	expectIs(t, "the session, the first that may be a file name", s.outcome.ReviewerSession, "abc")
	expectIs(t, "the cost", s.outcome.CostUSD, 0.3)
	_, feedback, err := s.result.judge()
	check(t, err)
	expectIs(t, "the feedback of the last", feedback, "last")
	s = quietStream(io.Discard, func(err error) { t.Error(err) }) // it is ended before a result
	writeLines(s, said("m1", `"output_tokens":9`, ""))
	expectIs(t, "the output without a result", s.outcome.Tokens.Output, 9)
}

// Of several results the last that holds a verdict counts, whatever a woken reviewer says after it, and
// their costs are added up. A reviewer that has only spoken may be waiting for what it has started.
func TestStreamWoken(t *testing.T) {
	said := func(text string) string { return `"subtype":"success","result":` + string(encodeJSON(text)) }
	structured := func(allow bool) string {
		const members = `"subtype":"success","result":"","structured_output":{"allow_stop":%v,"feedback":"x"}`
		return fmt.Sprintf(members, allow)
	}
	no, yes := said(`{"allow_stop":false,"feedback":"fix a race"}`), said(`{"allow_stop":true,"feedback":""}`)
	words, more := said("I wait for the tests."), said("Noted. My verdict stands.")
	failed := `"subtype":"success","is_error":true,"result":"API Error: 529"`
	for _, test := range []struct {
		name    string
		results []string
		want    string // the verdict and the feedback, or a part of the error
		over    int    // the result after which the end is not awaited; 0: none
	}{
		{"an approval, then words", []string{yes, more}, "allow ", 1},
		{"a refusal, then an approval", []string{no, structured(true)}, "allow x", 1},
		{"a verdict, then an error", []string{no, failed}, "block fix a race", 1},
		{"words, then words", []string{words, more}, " Noted. My verdict stands.", 0},
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

// What a review has cost is not known if one of its results holds the cost of a model that Claude Code does
// not know (2.1.332).
func TestStreamCost(t *testing.T) {
	const known = `"claude-opus-5-5":{"costUSD":0.25,"costBasis":"list"}`
	const guess = `"glm-4.7":{"costUSD":4,"costBasis":"unknown"}`
	s := quietStream(io.Discard, func(err error) { t.Error(err) })
	for _, models := range []string{known, guess} {
		fmt.Fprintf(s, `{"type":"result","subtype":"success","result":"x",`+
			`"model_usage_since_last_result":{%s}}`+"\n", models)
	}
	s.close()
	expectIs(t, "the cost", s.outcome.CostUSD, 0)
	expectIs(t, "no message tells of tokens: they are known", s.outcome.Tokens != nil, false)
}

// What the reviewer does is noted in its order: its words, but for its verdict; its calls; a refusal once, in
// each of Claude Code's words, also if only the result tells of it; an error, unless it is a command's.
func TestStreamNotes(t *testing.T) {
	result := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,`+
			`"content":%q,"is_error":%v}]}}`, id, text, !strings.HasPrefix(text, "ok"))
	}
	speak := func(text string) string { return said("m", "", toldIn(text)) }
	const fence, verdict, input = "```json\n", `{"allow_stop":false,"feedback":"do {a}"}`, `{"file_path":"a"}`
	denied := `{"type":"result","subtype":"success","result":"{\"allow_stop\":true}",` +
		`"permission_denials":[{"tool_use_id":"1"},{"tool_use_id":"9"}]}`
	reads := said("m", "", called("1", "Read", input))
	own := strings.Replace(speak("API Error"), `"id":"m"`, `"model":"<synthetic>"`, 1) // Claude Code's
	for _, test := range []struct{ lines, noted []string }{
		{[]string{said("m", "", toldIn("one")+","+called("1", "Read", "{}")), speak("two")},
			[]string{"words one", "call Read", "words two"}},
		{[]string{speak("two: " + verdict), speak(fence + verdict + "\n```\n"), speak(verdict),
			speak("It fails.\n\n" + fence + verdict + "\n```"), speak(`data: {"a":1}`)},
			[]string{"words two:", "words It fails.", `words data: {"a":1}`}},
		{[]string{speak("<think>no?</think> a"), speak("<think>no?</think>" + verdict)}, []string{"words a"}},
		{[]string{own, result("6", "of nobody")}, nil},
		{[]string{said("m", "", called("1", "Bash", `{"command":"git  status\n-s"}`)+","+
			called("2", "Grep", `{"pattern":"TODO","path":"a"}`)+","+called("3", "StructuredOutput", "{}"))},
			[]string{"call Bash(git  status ⏎ -s)", "call Grep(TODO)"}},
		{[]string{reads, denied}, []string{"call Read(a)", "refused Read(a)"}},
		{[]string{reads, result("1", "Permission to use Read has been denied."), denied},
			[]string{"call Read(a)", "refused Read(a)"}},
		{[]string{reads, result("1", "<tool_use_error>InputValidationError: Read failed"), // and no such tool
			result("1", "<tool_use_error>Error: No such tool available: Read")},
			[]string{"call Read(a)", "refused Read(a)"}},
		{[]string{reads, result("1", "File does not exist.")}, []string{"call Read(a)", "error Read(a)"}},
		{[]string{said("m", "", called("1", "Bash", `{"command":"ls"}`)), result("1", "Exit code 2")},
			[]string{"call Bash(ls)"}},
		{[]string{said("m", "", called("1", "Skill", "{}")), result("1", "<tool_use_error>Unknown skill: x")},
			[]string{"call Skill", "error Skill"}},
	} {
		var noted []string
		s := quietStream(io.Discard, func(err error) { t.Error(err) })
		s.note = func(r step) { noted = append(noted, r.Kind+" "+r.Tool+r.Words) }
		writeLines(s, test.lines...)
		expectEqual(t, fmt.Sprintf("what was noted of %q", test.lines), noted, test.noted)
	}
}

// The line that ends the notice of a stopped task is no result of the review, which comes after it. One that
// does not tell of turns, failed, or has words or a verdict, is.
func TestStreamNotice(t *testing.T) {
	for members, isResult := range map[string]bool{
		`"num_turns":0,"result":"","is_error":false`:                        false,
		`"num_turns":1,"result":""`:                                         true,
		`"num_turns":0,"result":"","is_error":true`:                         true,
		`"num_turns":0,"result":{"allow_stop":true}`:                        true,
		`"num_turns":0,"result":"","structured_output":{"allow_stop":true}`: true,
	} {
		s := quietStream(io.Discard, func(err error) { t.Error(err) })
		writeLines(s, `{"type":"result","subtype":"success",`+members+`}`)
		expectIs(t, members+" is a result", s.result != nil, isResult)
	}
}

// A reviewer in another permission mode than it was asked for is ended at its first line, without a verdict.
func TestReviewersMode(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	mode := func(s *fakeStream) { s.add(`{"type":"system","subtype":"init","permissionMode":"acceptEdits"}`) }
	box.reviews(fakeReview{mode, runs("sleep 1"), runs(`: >"$FAKE_CLAUDE_DIR/ran"`), decides(true, "")})
	got := box.stop("").stdout
	expectIn(t, "the answer", got, fmt.Sprintf(reviewersMode.zh, "acceptEdits", "dontAsk"))
	expectIs(t, "what it did later", isThere(filepath.Join(box.home, "../fake/ran")), false)
}

func TestOlderThan(t *testing.T) {
	for versions, want := range map[string]bool{
		"2.1.279 2.1.280": true, "2.1.280 2.1.280": false, "2.1.281 2.1.280": false, "2.1.99 2.1.280": true,
		"2.2.0 2.1.280": false, "3.0.0 2.9999.9999": false, " 2.1.280": false, "2.1.331-dev.7 2.1.331": false,
		"2.1.331-dev.7 2.1.332": true,
	} {
		version, other, _ := strings.Cut(versions, " ")
		expectIs(t, versions, olderThan(version, other), want)
	}
}
