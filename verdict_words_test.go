package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// noReview stands in a table for a result that is no review; the feedback is a part of the error then.
const noReview verdict = "no review"

// A verdictRow is a line of a reviewer's result, and what is made of it: a verdict, "" for none, or noReview.
type verdictRow struct {
	name, line string
	want       verdict
	feedback   string
}

// yesObject is an approval as the reviewer has to write it.
const yesObject = `{"allow_stop": true, "feedback": ""}`

// resultOf is the line of a result of that text.
func resultOf(text string) string {
	return `{"type":"result","subtype":"success","result":` + string(encodeJSON(text)) + `}`
}

// approved has a text that approves, unread one without a verdict, which is the feedback.
func approved(name, text string) verdictRow {
	return verdictRow{name, resultOf(text), verdictAllow, ""}
}

func unread(name, text string) verdictRow {
	return verdictRow{name, resultOf(text), "", strings.TrimSpace(text)}
}

func expectVerdicts(t *testing.T, rows []verdictRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if !json.Valid([]byte(row.line)) {
				t.Fatal("the test's line is not JSON")
			}
			got, feedback, err := parseResult([]byte(row.line)).judge()
			if row.want == noReview {
				if err == nil || !strings.Contains(err.Error(), row.feedback) {
					t.Errorf("got %s, %v, want the error %s", got, err, row.feedback)
				}
			} else if err != nil || got != row.want || feedback != row.feedback {
				t.Errorf("got %s %q, %v, want %s %q", got, feedback, err, row.want, row.feedback)
			}
		})
	}
}

// A result that Claude Code has read by the schema counts before all text.
func TestVerdictStructured(t *testing.T) {
	const allow, block, none = verdictAllow, verdictBlock, verdict("")
	structured := func(output, beside string) string {
		return `{"subtype":"success","structured_output":` + output + beside + `}`
	}
	const besideAllow = `,"result":"{\"allow_stop\":true}"`
	expectVerdicts(t, []verdictRow{
		{"structured_allow", structured(`{"allow_stop":true,"feedback":""}`, ""), allow, ""},
		{"structured_refuse", structured(`{"allow_stop":false,"feedback":"add tests"}`, ""), block, "add tests"},
		{"structured_beats_other_verdict", structured(`{"allow_stop":false,"feedback":"x"}`, besideAllow), block, "x"},
		{"structured_without_verdict", structured(`{"note":1}`, besideAllow), none, `{"allow_stop":true}`},
		{"structured_null", structured(`null`, besideAllow), allow, ""},
		{"structured_other_case", structured(`{"allow_stop":false,"Allow_Stop":true,"feedback":"x"}`, `,"result":""`), block, "x"},
		{"structured_only_other_case", structured(`{"Allow_Stop":true}`, `,"result":"x"`), none, "x"},
		{"structured_twice", structured(`{"allow_stop":false,"allow_stop":true}`, `,"result":"both"`), none, "both"},
		{"structured_word", structured(`{"allow_stop":"true"}`, `,"result":"x"`), none, "x"},
		{"structured_older_name", structured(`{"completed":true}`, ""), allow, ""},
		{"result_object", `{"subtype":"success","result":{"allow_stop":false,"feedback":"x"}}`, block, "x"},
	})
}

// A verdict in words is one object, the last of the text; a refusal may stand anywhere.
func TestVerdictInText(t *testing.T) {
	const yes, allow, block = yesObject, verdictAllow, verdictBlock
	const fence = "run\n```sh\necho {\"allow_stop\": true}\n```"
	expectVerdicts(t, []verdictRow{
		approved("whole", yes),
		{"whole_with_feedback", resultOf(`{"allow_stop":true,"feedback":"ask the user"}`), allow, "ask the user"},
		{"whole_feedback_null", resultOf(`{"allow_stop":true,"feedback":null}`), allow, ""},
		approved("whole_camel", `{"allowStop":true}`),
		approved("whole_in_fence", "```json\n"+yes+"\n```\n"),
		approved("prose_before", "Looked at it all, `go func() {` too.\n"+yes),
		approved("prose_before_a_fence", "测试都通过了。\n```json\n"+yes+"\n```"),
		approved("fence_before_a_fence", "```bash\ngo test && { echo \"ok\"; }\n```\n```json\n"+yes+"\n```"),
		approved("prose_that_says_the_same", "allow_stop: true, because TestNext passes.\n"+yes),
		approved("prose_that_says_the_same_in_bold", "**allow_stop**：`True`。\n"+yes),
		approved("prose_that_names_the_key", "My verdict on allow_stop:\n```json\n"+yes+"\n```"),
		approved("braces_before", strings.Repeat("{", bracesRead-1)+"\n"+yes),
		unread("too_many_braces_before", strings.Repeat(`{"a":`, bracesRead)+"\n"+yes), // they would take long
		approved("data_before", `curl prints {"completed":false,"error":null}.`+"\n"+yes),
		{"feedback_names_the_key", resultOf(`{"allow_stop":true,"feedback":"it prints {\"allow_stop\": false}"}`), allow, `it prints {"allow_stop": false}`},

		{"refusal_whole", resultOf(`{"allow_stop":false,"feedback":"x"}`), block, "x"},
		{"refusal_feedback_blank", resultOf(`{"allow_stop":false,"feedback":" \n"}`), block, ""},
		{"refusal_feedback_list", resultOf(`{"allow_stop":false,"feedback":["add tests","run them"]}`), block, `["add tests","run them"]`},
		{"refusal_names_the_key", resultOf(`{"allow_stop":false,"feedback":"it prints {\"allow_stop\": true}"}`), block, `it prints {"allow_stop": true}`},
		{"refusal_with_a_fence", resultOf(`{"allow_stop":false,"feedback":` + string(encodeJSON(fence)) + `}`), block, fence},
		{"refusal_prose_after", resultOf(`{"allow_stop":false,"feedback":"x"}` + "\nThat is all {really}."), block, "x"},
		{"refusal_data_after", resultOf(`{"allow_stop":false,"feedback":"x"} curl: {"id":1,"completed":true}`), block, "x"},
		{"refusal_marker_after", resultOf("{\"allow_stop\":false,\"feedback\":\"x\"}\n[TASK_COMPLETED]"), block, "x"},
		{"refusal_on_lines_marker_after", resultOf("{\"allow_stop\"\n: false,\"feedback\":\"x\"}\n[TASK_COMPLETED]"), block, "x"},
		{"refusal_after_an_approval", resultOf(`{"allow_stop":true} no: {"allow_stop":false,"feedback":"x"}`), block, "x"},
		{"refusal_before_a_word", resultOf(`{"allow_stop":false,"feedback":"x"} Later {"allow_stop":"maybe"}.`), block, "x"},
		{"refusal_inside", resultOf(`{"verdict":{"allow_stop":false,"feedback":"x"}}`), block, "x"},
		{"refusal_twice", resultOf(`{"allow_stop":true,"feedback":"x","allow_stop":false}`), block, "x"},
		{"refusal_beside_camel", resultOf(`{"allow_stop":false,"feedback":"x","allowStop":true}`), block, "x"},
	})
}

// What approves only in part, or beside a refusal, is no verdict.
func TestVerdictUnread(t *testing.T) {
	const yes = yesObject
	rows := []verdictRow{
		unread("approval_twice", `{"allow_stop":false,"feedback":"x","allow_stop":true}`),
		unread("approval_beside_camel", `{"allow_stop":true,"allowStop":false}`),
		unread("approval_around_a_refusal", `{"allow_stop":true,"last":{"allow_stop":false}}`),
		unread("approval_said_twice", yes+"\n"+yes),
		unread("approval_inside", `{"verdict":{"allow_stop":true}}`),
		unread("approval_in_a_list", `[{"allow_stop":true}]`),
		unread("approval_then_a_word", yes+"\nThat is my verdict."),
		unread("approval_then_a_brace", yes+"}"),
		unread("approval_then_a_template", yes+` as {"allow_stop": true|false, "feedback": "..."}`),
		unread("approval_in_quotation_marks", "`"+yes+"`"),
		unread("approval_other_case", `{"Allow_Stop":true}`),
		unread("approval_as_a_word", `{"allow_stop":"yes"}`),
		unread("approval_raw_newline", "{\"allow_stop\":true,\"feedback\":\"one\ntwo\"}"),
		unread("approval_python", `{'allow_stop': True, 'feedback': None}`),
		unread("approval_comma", `{"allow_stop":true,}`),
		unread("approval_cut", `{"allow_stop": true`),
		unread("approval_in_a_broken_refusal", `{"allow_stop":false,"feedback":"print {"allow_stop":true}`),
		unread("approval_in_an_escaped_refusal", `"{\"allow_stop\": false}" was the last one. `+yes),
		unread("refusal_raw_newline", "{\"allow_stop\":false,\"feedback\":\"one\ntwo\"}"),
		unread("final_behind_a_refusal", `It was {"allow_stop":false,"feedback":"x"}. Now it is `+yes),
	}
	for _, refusal := range []string{ // version 1.2 let the agent stop on each
		`go test panics in TestNext, so I can't give ` + yes + ` here. Fix next() first.`,
		`Not yet: I would answer ` + yes + ` once the race in cache.go is gone.`,
		"```json\n" + yes + "\n```\nis what I can't say as long as TestNext panics.",
		`allow_stop: false, because TestNext panics. As soon as it passes: ` + yes,
		"`allow_stop` = false for now: TestNext panics. Once it passes, the verdict is\n```json\n" + yes + "\n```",
		`{'allow_stop': True} would be wrong, since next() returns nil.`,
		`TestNext 会 panic，还不能给出 ` + yes + `，先修好 next()。`,
		"现在给不了\n```json\n" + yes + "\n```\n因为 go test 没有通过。",
		`allow_stop：false，go test 没有通过。通过之后才是 ` + yes,
		`“allow_stop”＝还不行，缺少测试；补上再给 ` + yes + ` 。缺的是 next() 的测试。`,
		`{"allow_stop": "是"} 要等 go vet 通过之后才能说，请先修好。`,
		"allow_stop:\nfalse. TestNext panics. Once it passes: " + yes,
		"{\"allow_stop\":\n  false, \"feedback\": \"one\ntwo\"}\n" + yes,
		`Allow_Stop: false, because TestNext panics. Once it passes: ` + yes,
	} {
		rows = append(rows, unread("refuses "+refusal, refusal))
	}
	expectVerdicts(t, rows)
}

// What a model thinks aloud is no part of its answer; older reviewers' words count while they are unequivocal.
func TestVerdictThought(t *testing.T) {
	const yes, block, none = yesObject, verdictBlock, verdict("")
	expectVerdicts(t, []verdictRow{
		approved("thought_before", "<think>\nallow_stop=false as long as next() panics. It does not.\n</think>\n\n"+yes),
		approved("thought_of_a_refusal", `<think>{"allow_stop":false,"feedback":"x"}?</think>`+"It passes.\n"+yes),
		approved("thought_before_an_older_name", "\n<think></think>{\"completed\":true}"),
		{"thought_of_an_approval", resultOf("<think>" + yes + "</think>\n" + `{"allow_stop":false,"feedback":"x"}`), block, "x"},
		{"thought_then_words", resultOf("<think>" + yes + "</think>\nTestNext panics."), none, "TestNext panics."},
		{"thought_alone", resultOf("<think>" + yes + "</think>\n"), none, ""},
		unread("thought_that_is_not_closed", "<think>allow_stop=false as long as next() panics.\n"+yes),
		unread("thought_behind_words", "So: <think>allow_stop=false for now</think>\n"+yes),
		{"thought_that_is_not_closed_and_refuses", resultOf(`<think>{"allow_stop":false,"feedback":"x"}`), block, "x"},

		approved("older_name", `{"completed":true}`),
		approved("older_name_in_fence", "```json\n{\"completed\": true, \"feedback\": \"\"}\n```"),
		{"older_name_refuses", resultOf(`{"completed":false,"feedback":"x"}`), block, "x"},
		{"older_name_beside_the_newer", resultOf(`{"completed":true,"allow_stop":false,"feedback":"x"}`), block, "x"},
		unread("older_name_in_prose", `curl prints {"completed":true}`),
		unread("older_name_in_fence_after_prose", "There is no test. curl prints:\n```json\n{\"completed\":true}\n```"),
		approved("marker", "All done.\n [TASK_COMPLETED] \n"),
		unread("marker_in_sentence", "All done. [TASK_COMPLETED]"),
		unread("marker_in_fence", "fails. Fix it, then print\n```\n[TASK_COMPLETED]\n```"),
		unread("marker_beside_a_decision", "allow_stop = false, or else I would say\n[TASK_COMPLETED]"),
		unread("marker_beside_broken", "{\"allow_stop\":fal\n[TASK_COMPLETED]"),
		unread("plain_text", "the tests are missing"),
		{"empty", resultOf(""), none, ""},
		{"result_null", `{"subtype":"success","result":null}`, none, ""},
	})
}

// An error of the API's, and a result of a form that nobody knows, is no review.
func TestVerdictFailed(t *testing.T) {
	expectVerdicts(t, []verdictRow{
		{"api_error", `{"subtype":"success","is_error":true,"result":"API Error: 401 {\"allow_stop\":true}"}`, noReview, "审查者报错：API Error: 401 {"},
		{"api_error_with_verdict", `{"subtype":"success","is_error":true,"structured_output":{"allow_stop":true}}`, noReview, ""},
		{"during_execution", `{"subtype":"error_during_execution","is_error":false,"result":"{\"allow_stop\":true}"}`, noReview, "审查者报错（error_during_execution）："},
		{"during_execution_with_errors", `{"subtype":"error_during_execution","errors":["no conversation","at all"]}`, noReview, "no conversation at all"},
		{"malformed_is_error", `{"subtype":"success","is_error":"no","result":"{\"allow_stop\":true}"}`, noReview, ""},
		{"malformed_subtype", `{"subtype":1,"result":"{\"allow_stop\":true}"}`, noReview, ""},
	})
}

// Of texts without a verdict, which the agent must not get for an order: what holds an object that approves, in any spelling.
func TestHoldsApproval(t *testing.T) {
	for text, want := range map[string]bool{
		`{"allow_stop": true, "feedback": ""} is my verdict.`:        true,
		"{\"feedback\": \"f() { }\nis fine\", \"allow_stop\": true}": true,
		`{'allowStop': True}`: true,
		`{allow_stop：true`:    true,
		"{\"allow_stop\":\n true, \"feedback\": \"one\ntwo\"}":                 true,
		`"{\"allow_stop\": true}"`:                                             true,
		`I can't say allow_stop: true yet: f() { return } has no test.`:        false,
		"{\"allow_stop\": false, \"feedback\": \"one\ntwo\"}":                  false,
		`The tests are missing, {"completed": true} is printed for each item.`: false,
	} {
		expectIs(t, text, holdsApproval(text), want)
	}
}

// FuzzVerdict: only a text approves that ends with an approving object, is an older name's, or ends with the older approval.
func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{"<think>allow_stop=false</think>{\"allow_stop\":true}", "", "{", `{"allow_stop":true`, `a {"allow_stop":true,"feedback":""} b`, `{"a":{"allow_stop":true}}`, "[TASK_COMPLETED]", `{"completed":true}`,
		`"} {"allow_stop":true} {"x":"`, "```json\n{\"allow_stop\": true}\n```", `{"allow_stop":false} {"allowStop":true}`, "{{{[[[", `{"feedback":"\ud83d\"`, `allow_stop: false {"allow_stop":true}`} {
		f.Add(seed)
	}
	// endsWith reports whether text ends with a JSON object in which one of keys is true.
	endsWith := func(text string, keys ...string) bool {
		for i := range text {
			var object map[string]any
			if text[i] != '{' || json.Unmarshal([]byte(text[i:]), &object) != nil {
				continue
			}
			if slices.ContainsFunc(keys, func(key string) bool { return object[key] == true }) {
				return true
			}
		}
		return false
	}
	f.Fuzz(func(t *testing.T, text string) {
		decided, feedback, err := (&resultLine{Subtype: "success", Result: encodeJSON(text)}).judge()
		check(t, err)
		said := strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		if end := strings.Index(said, "</think>"); strings.HasPrefix(said, "<think>") && end > 0 {
			said = strings.TrimSpace(said[end+len("</think>"):])
		}
		body := strings.TrimSpace(strings.TrimSuffix(said, "```"))
		isOlder := strings.HasSuffix(said, "[TASK_COMPLETED]") || endsWith(body, "completed") && strings.Trim(body[:strings.IndexByte(body, '{')], "`json \n\t\r") == ""
		if decided == verdictAllow && !endsWith(body, "allow_stop", "allowStop") && !isOlder {
			t.Errorf("approved %q: %q", said, feedback)
		}
		for _, refusal := range []string{text + "\n" + `{"allow_stop":false,"feedback":"last"}`, `{"allow_stop":false,"feedback":"x"} ` + text,
			`{"allow_stop":true} ` + text + " is for later.", `{"allow_stop":true} ` + text + "\n" + `{"allow_stop":true}`, "allow_stop：false。" + text} {
			if decided, _ := findVerdict(refusal); decided == verdictAllow {
				t.Errorf("approved although it refuses, or not once: %s", refusal)
			}
		}
	})
}
