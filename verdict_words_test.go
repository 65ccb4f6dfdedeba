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
	line     string
	want     verdict
	feedback string
}

// yesObject is an approval as the reviewer has to write it.
const yesObject = `{"allow_stop": true, "feedback": ""}`

// resultOf is the line of a result of that text.
func resultOf(text string) string {
	return `{"type":"result","subtype":"success","result":` + string(encodeJSON(text)) + `}`
}

// approved has a text that approves, refused one that refuses with feedback, unread one without a verdict,
// which is the feedback.
func approved(text string) verdictRow { return verdictRow{resultOf(text), verdictAllow, ""} }

func refused(text, feedback string) verdictRow {
	return verdictRow{resultOf(text), verdictBlock, feedback}
}

func unread(text string) verdictRow { return verdictRow{resultOf(text), "", strings.TrimSpace(text)} }

func expectVerdicts(t *testing.T, rows []verdictRow) {
	t.Helper()
	for _, row := range rows {
		if !json.Valid([]byte(row.line)) {
			t.Fatalf("the test's line is not JSON: %s", row.line)
		}
		got, feedback, err := parseResult([]byte(row.line)).judge()
		if row.want == noReview {
			expectError(t, row.line, err, row.feedback)
			continue
		}
		expectIs(t, "the verdict of "+row.line, got, row.want)
		expectIs(t, "the feedback of "+row.line, feedback, row.feedback)
		expectIs(t, "the error of "+row.line, err, nil)
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
		{structured(`{"allow_stop":false,"feedback":"add tests"}`, ""), block, "add tests"},
		{structured(`{"allow_stop":false,"feedback":"x"}`, besideAllow), block, "x"},
		{structured(`{"note":1}`, besideAllow), none, `{"allow_stop":true}`},
		{structured(`null`, besideAllow), allow, ""},
		{structured(`{"allow_stop":false,"Allow_Stop":true,"feedback":"x"}`, `,"result":""`), block, "x"},
		{structured(`{"allow_stop":false,"allow_stop":true}`, `,"result":"both"`), none, "both"},
		{structured(`{"allow_stop":"true"}`, `,"result":"x"`), none, "x"},
		{structured(`{"completed":true}`, ""), allow, ""},
		{`{"subtype":"success","result":{"allow_stop":false,"feedback":"x"}}`, block, "x"},
	})
}

// A verdict in words is one object, the last of the text; a refusal may stand anywhere.
func TestVerdictInText(t *testing.T) {
	const yes, allow = yesObject, verdictAllow
	const fence = "run\n```sh\necho {\"allow_stop\": true}\n```"
	expectVerdicts(t, []verdictRow{
		approved(yes),
		{resultOf(`{"allow_stop":true,"feedback":"ask the user"}`), allow, "ask the user"},
		approved(`{"allowStop":true}`),
		approved("```json\n" + yes + "\n```\n"),
		approved("```bash\ngo test && { echo \"ok\"; }\n```\n```json\n" + yes + "\n```"),
		approved("My verdict on allow_stop:\n```json\n" + yes + "\n```"),
		approved(strings.Repeat("{", bracesRead-1) + "\n" + yes),
		unread(strings.Repeat(`{"a":`, bracesRead) + "\n" + yes), // they would take long
		{resultOf(`{"allow_stop":true,"feedback":"it prints {\"allow_stop\": 0}"}`), allow,
			`it prints {"allow_stop": 0}`},

		refused(`{"allow_stop":false,"feedback":" \n"}`, ""),
		refused(`{"allow_stop":false,"feedback":["add tests","run them"]}`, `["add tests","run them"]`),
		refused(`{"allow_stop":false,"feedback":"it prints {\"allow_stop\": true}"}`,
			`it prints {"allow_stop": true}`),
		refused(`{"allow_stop":false,"feedback":`+string(encodeJSON(fence))+`}`, fence),
		refused("{\"allow_stop\":false,\"feedback\":\"x\"}\n[TASK_COMPLETED]", "x"),
		refused("{\"allow_stop\"\n: false,\"feedback\":\"x\"}\n[TASK_COMPLETED]", "x"),
		refused(`{"allow_stop":true} no: {"allow_stop":false,"feedback":"x"}`, "x"),
		refused(`{"allow_stop":false,"feedback":"x"} Later {"allow_stop":"maybe"}.`, "x"),
		refused(`{"verdict":{"allow_stop":false,"feedback":"x"}}`, "x"),
		refused(`{"allow_stop":true,"feedback":"x","allow_stop":false}`, "x"),
	})
}

// What approves only in part, or beside a refusal, is no verdict.
func TestVerdictUnread(t *testing.T) {
	const yes = yesObject
	rows := []verdictRow{
		unread(`{"allow_stop":false,"feedback":"x","allow_stop":true}`),
		unread(`{"allow_stop":true,"allowStop":false}`),
		unread(`{"allow_stop":true,"last":{"allow_stop":false}}`),
		unread(`{"verdict":{"allow_stop":true}}`),
		unread(yes + "\nThat is my verdict."),
		unread(yes + "}"),
		unread(yes + ` as {"allow_stop": true|false, "feedback": "..."}`),
		unread("`" + yes + "`"),
		unread(`{"Allow_Stop":true}`),
		unread("{\"allow_stop\":true,\"feedback\":\"one\ntwo\"}"),
		unread(`{'allow_stop': True, 'feedback': None}`),
		unread(`{"allow_stop": true`),
		unread(`{"allow_stop":false,"feedback":"print {"allow_stop":true}`),
		unread(`"{\"allow_stop\": false}" was the last one. ` + yes),
		unread(`It was {"allow_stop":false,"feedback":"x"}. Now it is ` + yes),
	}
	for _, refusal := range []string{ // version 1.2 let the agent stop on each
		`allow_stop: false, because TestNext panics. As soon as it passes: ` + yes,
		"`allow_stop` = false for now: TestNext panics. Once it passes, say\n```json\n" + yes + "\n```",
		`{'allow_stop': True} would be wrong, since next() returns nil.`,
		`allow_stop：false，go test 没有通过。通过之后才是 ` + yes,
		`“allow_stop”＝还不行，缺少测试；补上再给 ` + yes + ` 。缺的是 next() 的测试。`,
		`{"allow_stop": "是"} 要等 go vet 通过之后才能说，请先修好。`,
		"allow_stop:\nfalse. TestNext panics. Once it passes: " + yes,
		"{\"allow_stop\":\n  false, \"feedback\": \"one\ntwo\"}\n" + yes,
		`Allow_Stop: false, because TestNext panics. Once it passes: ` + yes,
	} {
		rows = append(rows, unread(refusal))
	}
	expectVerdicts(t, rows)
}

// What a model thinks aloud is no part of its answer; older reviewers' words count while they are
// unequivocal.
func TestVerdictThought(t *testing.T) {
	const yes, none = yesObject, verdict("")
	expectVerdicts(t, []verdictRow{
		approved("<think>\nallow_stop=false as long as next() panics. It does not.\n</think>\n\n" + yes),
		approved(`<think>{"allow_stop":false,"feedback":"x"}?</think>` + "It passes.\n" + yes),
		refused("<think>"+yes+"</think>\n"+`{"allow_stop":false,"feedback":"x"}`, "x"),
		{resultOf("<think>" + yes + "</think>\nTestNext panics."), none, "TestNext panics."},
		{resultOf("<think>" + yes + "</think>\n"), none, ""},
		unread("<think>allow_stop=false as long as next() panics.\n" + yes),
		unread("So: <think>allow_stop=false for now</think>\n" + yes),
		refused(`<think>{"allow_stop":false,"feedback":"x"}`, "x"),

		approved(`{"completed":true}`),
		refused(`{"completed":false,"feedback":"x"}`, "x"),
		refused(`{"completed":true,"allow_stop":false,"feedback":"x"}`, "x"),
		unread("There is no test. curl prints:\n```json\n{\"completed\":true}\n```"),
		approved("All done.\n [TASK_COMPLETED] \n"),
		unread("All done. [TASK_COMPLETED]"),
		unread("fails. Fix it, then print\n```\n[TASK_COMPLETED]\n```"),
		unread("allow_stop = false, or else I would say\n[TASK_COMPLETED]"),
		unread("{\"allow_stop\":fal\n[TASK_COMPLETED]"),
		unread("the tests are missing"),
		{resultOf(""), none, ""},
		{`{"subtype":"success","result":null}`, none, ""},
	})
}

// An error of the API's, and a result of a form that nobody knows, is no review.
func TestVerdictFailed(t *testing.T) {
	expectVerdicts(t, []verdictRow{
		{`{"subtype":"success","is_error":true,"result":"API Error: 401 {\"allow_stop\":true}"}`, noReview,
			"审查者报错：API Error: 401 {"},
		{`{"subtype":"success","is_error":true,"structured_output":{"allow_stop":true}}`, noReview, ""},
		{`{"subtype":"error_during_execution","is_error":false,"result":"{\"allow_stop\":true}"}`, noReview,
			"审查者报错（error_during_execution）："},
		{`{"subtype":"error_during_execution","errors":["no conversation","at all"]}`, noReview,
			"no conversation at all"},
		{`{"subtype":"success","is_error":"no","result":"{\"allow_stop\":true}"}`, noReview, ""},
		{`{"subtype":1,"result":"{\"allow_stop\":true}"}`, noReview, ""},
	})
}

// Of texts without a verdict, which the agent must not get for an order: what holds an object that approves,
// in any spelling.
func TestHoldsApproval(t *testing.T) {
	for text, want := range map[string]bool{
		`{"allow_stop": true, "feedback": ""} is my verdict.`:        true,
		"{\"feedback\": \"f() { }\nis fine\", \"allow_stop\": true}": true,
		`{allow_stop：true`: true,
		"{\"allow_stop\":\n true, \"feedback\": \"one\ntwo\"}":                 true,
		`"{\"allow_stop\": true}"`:                                             true,
		`I can't say allow_stop: true yet: f() { return } has no test.`:        false,
		"{\"allow_stop\": false, \"feedback\": \"one\ntwo\"}":                  false,
		`The tests are missing, {"completed": true} is printed for each item.`: false,
	} {
		expectIs(t, text, holdsApproval(text), want)
	}
}

// FuzzVerdict: only a text approves that ends with an approving object, is an older name's, or ends with the
// older approval.
func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{
		"<think>allow_stop=false</think>{\"allow_stop\":true}", "", "[TASK_COMPLETED]", `{"allow_stop":true`,
		`a {"allow_stop":true,"feedback":""} b`, `{"a":{"allow_stop":true}}`, `{"feedback":"\ud83d\"`,
		`{"completed":true}`, `"} {"allow_stop":true} {"x":"`, "```json\n{\"allow_stop\": true}\n```",
		`{"allow_stop":false} {"allowStop":true}`, "{", "{{{[[[", `allow_stop: false {"allow_stop":true}`,
	} {
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
		begin, _, _ := strings.Cut(body, "{")
		isAlone := strings.Trim(begin, "`json \n\t\r") == ""
		isOlder := strings.HasSuffix(said, "[TASK_COMPLETED]") || endsWith(body, "completed") && isAlone
		if decided == verdictAllow && !endsWith(body, "allow_stop", "allowStop") && !isOlder {
			t.Errorf("approved %q: %q", said, feedback)
		}
		const yes, no = `{"allow_stop":true} `, `{"allow_stop":false,"feedback":"x"} `
		for _, refusal := range []string{text + "\n" + no, no + text, yes + text + " is for later.",
			yes + text + "\n" + yes, "allow_stop：false。" + text} {
			if decided, _ := findVerdict(refusal); decided == verdictAllow {
				t.Errorf("approved although it refuses, or not once: %s", refusal)
			}
		}
	})
}
