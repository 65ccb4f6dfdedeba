package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// noReview stands in a table for a result that is no review; the feedback is a part of the error then.
const noReview verdict = "no review"

func TestVerdict(t *testing.T) {
	const allow, block, none = verdictAllow, verdictBlock, verdict("")
	type row struct {
		name, line string
		want       verdict
		feedback   string
	}
	const fence = "run\n```sh\necho {\"allow_stop\": true}\n```"
	text := func(s string) string {
		return `{"type":"result","subtype":"success","result":` + string(encodeJSON(s)) + `}`
	}
	// unread has no verdict, and its text as feedback.
	unread := func(name, s string) row { return row{name, text(s), none, strings.TrimSpace(s)} }
	structured := func(output, beside string) string {
		return `{"subtype":"success","structured_output":` + output + beside + `}`
	}
	const besideAllow = `,"result":"{\"allow_stop\":true}"`
	tests := []row{
		{"structured_allow", structured(`{"allow_stop":true,"feedback":""}`, ""), allow, ""},
		{"structured_refuse", structured(`{"allow_stop":false,"feedback":"add tests"}`, ""), block, "add tests"},
		{"structured_beats_other_verdict", structured(`{"allow_stop":false,"feedback":"x"}`, besideAllow), block, "x"},
		{"structured_without_verdict", structured(`{"note":1}`, besideAllow), none, `{"allow_stop":true}`},
		{"structured_null", structured(`null`, besideAllow), allow, ""},
		{"structured_other_case", structured(`{"allow_stop":false,"Allow_Stop":true,"feedback":"x"}`, `,"result":""`), block, "x"},
		{"structured_twice", structured(`{"allow_stop":false,"allow_stop":true}`, `,"result":"both"`), none, "both"},
		{"structured_in_verdict", structured(`{"verdict":{"allow_stop":true,"feedback":"x"}}`, ""), allow, "x"},
		{"result_object", `{"subtype":"success","result":{"allow_stop":false,"feedback":"x"}}`, block, "x"},

		{"text_whole", text(`{"allow_stop":true,"feedback":""}`), allow, ""},
		{"text_allow_with_feedback", text(`{"allow_stop":true,"feedback":"ask the user"}`), allow, "ask the user"},
		{"text_string_yes", text(`{"allow_stop":"yes"}`), allow, ""},
		{"text_string_no", text(`{"allow_stop":" No","feedback":"x"}`), block, "x"},
		{"text_python", text(`{"allow_stop": True, "feedback": None}`), allow, ""},
		{"text_feedback_null", text(`{"allow_stop":true,"feedback":null}`), allow, ""},
		unread("text_maybe", `{"allow_stop":"maybe","feedback":"x"}`),
		{"text_camel", text(`{"allowStop":true,"feedback":""}`), allow, ""},
		{"text_completed", text(`{"completed":true}`), allow, ""},
		{"text_completed_false", text(`{"completed":false,"feedback":"x"}`), block, "x"},
		{"text_allow_stop_beats_completed", text(`{"completed":true,"allow_stop":false,"feedback":"x"}`), block, "x"},
		{"text_twice", text(`{"allow_stop":true,"feedback":"x","allow_stop":false}`), block, "x"},
		unread("text_twice_approved_last", `{"allow_stop":false,"feedback":"x","allow_stop":true}`),
		unread("text_camel_beside_another", `{"verdict":{"allow_stop":true,"allowStop":false}}`),
		{"text_names_the_key", text(`{"allow_stop":true,"feedback":"it prints \"allow_stop\": false"}`), allow, `it prints "allow_stop": false`},
		{"text_feedback_blank", text(`{"allow_stop":false,"feedback":" \n"}`), block, ""},
		{"text_feedback_list", text(`{"allow_stop":false,"feedback":["add tests","run them"]}`), block, "add tests\nrun them"},
		{"text_feedback_object", text(`{"allow_stop":false,"feedback":{"b":"first","a":["second",{"c":"third"}]}}`), block, "first\nsecond\nthird"},
		{"text_in_array", text(`[{"allow_stop":true}]`), allow, ""},
		{"text_in_verdict", text(`{"verdict":{"allow_stop":true,"feedback":"x"}}`), allow, "x"},
		unread("text_in_another_member", `{"note":{"allow_stop":true}}`),

		{"raw_newline", text("{\"allow_stop\":false,\"feedback\":\"one\n\ttwo\"}"), block, "one\n\ttwo"},
		{"trailing_comma", text(`{"allow_stop":true,"feedback":"",}`), allow, ""},
		{"comments", text("{ // done\n\"allow_stop\": true, /* nothing\nleft */ \"feedback\": \"\" }"), allow, ""},
		{"single_quotes", text(`{'allow_stop': false, 'feedback': 'run "go test"'}`), block, `run "go test"`},
		{"typographic_quotes", text(`{“allow_stop”: false, “feedback”: “run "go test"”}`), block, `run "go test"`},
		{"typographic_quotes_turned", text(`{”allow_stop“: false, ’feedback‘: ”x“}`), block, "x"},
		{"full_width", text("{\"allow_stop\"：false，\u3000\"feedback\"：\u00a0\"x\"，}"), block, "x"},
		{"no_quotes", text(`{allow_stop: true, feedback: ""}`), allow, ""},
		{"escapes", text(`{"allow_stop":false,"feedback":"\u4e2d \ud83d\ude00 \t \"x\" \\ \q"}`), block, "中 😀 \t \"x\" \\ q"},

		{"escape_at_the_quote", text(`{'feedback': 'a\n', 'allow_stop': true}`), allow, "a"},
		{"chinese_words", text(`{"allow_stop":"否","feedback":"x"} {"allow_stop":"是"}`), allow, ""},

		{"verdict_inside_verdict", text(`{"allow_stop":false,"feedback":"x","verdict":{"allow_stop":true}}`), block, "x"},

		{"prose_before", text("Looked at it all.\n" + `{"allow_stop":true,"feedback":""}`), allow, ""},
		{"prose_after", text(`{"allow_stop":false,"feedback":"x"}` + "\nThat is all {really}."), block, "x"},
		{"prose_after_approval", text(`{"allow_stop":true,"feedback":""}` + "\nThat is all {really}, { \"a\": and {'b'."), allow, ""},
		{"open_brace_before", text("It had `go func() {` without a wait.\n" + `{"allow_stop":true,"feedback":""}`), allow, ""},
		{"stray_brace_after", text("```json\n{\"allow_stop\":true}\n```\nThe missing `}` in main.go:3 is there now."), allow, ""},
		{"brace_too_many", text(`{"allow_stop":true}}`), allow, ""},
		{"feedback_named_after", text("{\"allow_stop\":true}\nAll is done, feedback: none."), allow, ""},
		{"cut_data_before", text("The reply `{\"error\": \"x\"` was cut before.\n{\"allow_stop\":true}"), allow, ""},
		{"open_quote_before", text("It printed {error: can't parse} before, and doesn't any more.\n{\"allow_stop\":true}"), allow, ""},
		unread("cut_verdict_before", "{\"allow_stop\": false, \"feedback\": \"print\n{\"allow_stop\":true}\n"),
		unread("nested_in_broken_data_on_a_line", "{\"note\":\"it says \"\n{\"allow_stop\":true}\" there\"}"),
		{"data_after", text(`{"allow_stop":false,"feedback":"x"} curl: {"id":1,"title":"milk","completed":true}`), block, "x"},
		{"older_name_after", text(`{"allow_stop":true} curl: {"completed":false}`), allow, ""},
		{"older_name_in_fence", text("```json\n{\"completed\": true, \"feedback\": \"\"}\n```"), allow, ""},
		{"older_name_structured", structured(`{"completed":true}`, ""), allow, ""},
		unread("older_name_mended", `{'completed': True}`), // a mended object approves by one allow_stop alone
		unread("older_name_in_prose", `curl prints {"completed":true}, but there is no test`),
		unread("older_name_in_fence_after_prose", "There is no test. curl prints:\n```json\n{\"completed\":true}\n```"),
		unread("data_alone", `The API answers {"id":1,"completed":true}, but there is no test.`),
		{"fence_json", text("```json\n{\"allow_stop\":true}\n```"), allow, ""},
		{"fence_bash_before",
			text("```bash\ngo test ./... && { echo \"ok\"; }\n```\n```json\n{\"allow_stop\":true}\n```\n"), allow, ""},
		{"fence_in_feedback", text(`{"allow_stop":false,"feedback":` + string(encodeJSON(fence)) + `}`), block, fence},
		{"last_verdict_counts", text(`{"allow_stop":true} no: {"allow_stop":false,"feedback":"x"}`), block, "x"},
		{"template_then_final", text(`as {"allow_stop": true|false, "feedback": "..."}: {"allow_stop":true}`), allow, ""},
		{"broken_then_final", text(`{"allow_stop":false,"feedback":"a \" b} {"allow_stop":true}`), none, `{"allow_stop":false,"feedback":"a \" b} {"allow_stop":true}`},
		{"broken_and_closed_then_final", text(`{"allow_stop":fal"se","feedback":"a \" }b"} {"allow_stop":true}`), allow, ""},

		unread("truncated", `{"allow_stop": true`),
		unread("template_then_truncated", `{"allow_stop":true,"feedback":"..."} so {"allow_stop":false,"feedback":"fix`),
		unread("truncated_before_its_key", `{"allow_stop":true} then {"feedback":"no, \"x\" is missing","allow_stop":`),
		unread("final_then_template", `{"allow_stop":true,"feedback":""} as {"allow_stop": true|false, "feedback": "..."}`),
		unread("broken_around_whole", `{"allow_stop":false,"feedback":"put {"allow_stop":true} in"}`),
		unread("broken_around_escaped", `{"allow_stop":false,"feedback":"say \"no\" "or {"allow_stop":true}"}`),
		unread("broken_quotes", `{"allow_stop":true,"feedback":"say "yes""}`),
		unread("broken_apostrophe", `{'allow_stop': true, 'feedback': 'don't'}`),
		{"older_name_broken_after", text(`{"allow_stop":true} curl was cut: {“completed”：false`), allow, ""},
		unread("broken_feedback_after_whole", `{"allow_stop":true} {feedback: "fix it`),
		unread("nested_in_broken_verdict", `{"feedback":"The test expects {"allow_stop": true}", "allow_stop": false}`),
		unread("nested_in_a_comment", "My verdict:\n{ // as in {\"allow_stop\": true, \"feedback\": \"\"}"),
		unread("nested_in_a_key", "My verdict:\n{ ‘{\"allow_stop\": true}’"),
		unread("nested_behind_a_quoted_brace", `{"feedback":"f() { return "}" }, so {"allow_stop": true}", "allow_stop":false}`),
		unread("nested_behind_a_closed_refusal", `{"allow_stop": false, "feedback": "In f() the "}" is missing, curl must print {"allow_stop": true}, see "func f() {""}`),
		unread("nested_behind_a_closed_feedback", `{"feedback": "In f() the "}" is missing, curl must print {"allow_stop": true}, see "func f() {""}`),
		unread("mentioned_behind_a_refusal", `{"allow_stop":false,"feedback":"x"} Then I would answer {"allow_stop":true}.`),
		unread("fenced_behind_a_refusal", "{\"allow_stop\":false,\"feedback\":\"x\"}\n```json\n{\"allow_stop\":true}\n```\nis for later."),
		{"final_behind_a_refusal", text("It was {\"allow_stop\":false,\"feedback\":\"x\"}.\n```json\n{\"allow_stop\":true}\n```\n"), allow, ""},
		unread("nested_in_prose", `{ it would be {"allow_stop": true} }`),
		unread("mended_with_two_decisions", `{'allow_stop': true, 'feedback': 'it says "allow_stop": false'}`),
		{"mended_refusal_with_two", text(`{'allow_stop': false, 'feedback': 'it says "allow_stop": true'}`), block, `it says "allow_stop": true`},

		{"marker", text("All done.\n [TASK_COMPLETED] \n"), allow, ""},
		unread("marker_in_sentence", "All done. [TASK_COMPLETED]"),
		unread("marker_in_the_last_fence", "```sh\ngo test ./...\n```\nfails. Fix it, then print\n```\n[TASK_COMPLETED]\n```"),
		{"marker_in_fence", text("```\nAll done.\n[TASK_COMPLETED]\n```"), allow, ""},
		unread("marker_quoted", "the source has\n    if text == \"[TASK_COMPLETED]\" {"),
		{"marker_beside_verdict", text("{\"allow_stop\":false,\"feedback\":\"x\"}\n[TASK_COMPLETED]"), block, "x"},
		unread("marker_beside_broken", "{\"allow_stop\":fal\n[TASK_COMPLETED]"),
		unread("plain_text", "the tests are missing"),
		{"empty", text(""), none, ""},
		{"result_null", `{"subtype":"success","result":null}`, none, ""},

		{"api_error", `{"subtype":"success","is_error":true,"result":"API Error: 401 {\"allow_stop\":true}"}`, noReview, "审查者报错：API Error: 401 {"},
		{"api_error_with_verdict", `{"subtype":"success","is_error":true,"structured_output":{"allow_stop":true}}`, noReview, ""},
		{"during_execution", `{"subtype":"error_during_execution","is_error":false,"result":"{\"allow_stop\":true}"}`, noReview, "审查者报错 (error_during_execution)："},
		{"during_execution_with_errors", `{"subtype":"error_during_execution","errors":["no conversation","at all"]}`, noReview, "no conversation at all"},
		{"malformed_is_error", `{"subtype":"success","is_error":"no","result":"{\"allow_stop\":true}"}`, noReview, ""},
		{"malformed_subtype", `{"subtype":1,"result":"{\"allow_stop\":true}"}`, noReview, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !json.Valid([]byte(test.line)) {
				t.Fatal("the test's line is not JSON")
			}
			got, feedback, err := parseResult([]byte(test.line)).judge()
			if test.want == noReview {
				if err == nil || !strings.Contains(err.Error(), test.feedback) {
					t.Errorf("got %s, %v, want the error %s", got, err, test.feedback)
				}
			} else if err != nil || got != test.want || feedback != test.feedback {
				t.Errorf("got %s %q, %v, want %s %q", got, feedback, err, test.want, test.feedback)
			}
		})
	}
}

// FuzzVerdict: whatever the text, it is read; what is strict JSON is read as such; and no text makes an approval of a
// refusal that comes last, in prose before it or, unescaped, as its feedback, or that comes first, with prose at the end.
func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{"", "{", `{"allow_stop":true`, `a {"allow_stop":true,"feedback":""} b`, `{"a":{"allow_stop":true}}`, "[TASK_COMPLETED]", `"} {"allow_stop":true} {"x":"`,
		`{'allow_stop':“yes”,}`, `{"allow_stop":true}`, "{{{[[[", `{"feedback":"\ud83d\"`, `//`, `{"allow_stop"：true，/*`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		decided, feedback, err := (&resultLine{Subtype: "success", Result: encodeJSON(text)}).judge()
		check(t, err)
		var strict struct {
			AllowStop *bool   `json:"allow_stop"`
			Feedback  *string `json:"feedback"`
		}
		if json.Unmarshal([]byte(text), &strict) == nil && decided != "" && strict.Feedback != nil && strings.Count(strings.ToLower(text), "feedback") == 1 &&
			!strings.Contains(text, "\\u") && strings.Count(text, "verdict") == 0 && utf8.ValidString(text) && feedback != strings.TrimSpace(*strict.Feedback) {
			t.Errorf("feedback %q, want %q", feedback, *strict.Feedback)
		}
		if decided == verdictBlock && json.Unmarshal([]byte(text), &strict) == nil && strict.AllowStop != nil && *strict.AllowStop && !strings.Contains(strings.ToLower(text[1:]), `"allow`) {
			t.Errorf("strict approval refused: %q", feedback)
		}
		for _, refusal := range []string{text + "\n" + `{"allow_stop":false,"feedback":"last"}`, `{"feedback":"` + text + `", "allow_stop": false}`, `{"allow_stop":false,"feedback":"x"} ` + text + " is for later."} {
			if decided, _ := findVerdict(refusal); decided == verdictAllow {
				t.Errorf("allowed although it refuses: %s", refusal)
			}
		}
	})
}
