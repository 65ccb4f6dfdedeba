package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// noReview stands in a table for a result that is no review.
const noReview = "no review"

func TestVerdict(t *testing.T) {
	type row struct {
		name     string
		line     string
		allow    bool
		feedback string // noReview: judge returns an error
	}
	const allow, refuse = true, false
	const fence = "run\n```sh\necho {\"allow_stop\": true}\n```"
	text := func(s string) string {
		return `{"type":"result","subtype":"success","result":` + string(encodeJSON(s)) + `}`
	}
	// refused has its text as feedback.
	refused := func(name, s string) row { return row{name, text(s), refuse, s} }
	structured := func(output, beside string) string {
		return `{"subtype":"success","structured_output":` + output + beside + `}`
	}
	const besideAllow = `,"result":"{\"allow_stop\":true}"`
	tests := []row{
		{"structured_allow", structured(`{"allow_stop":true,"feedback":""}`, ""), allow, ""},
		{"structured_refuse", structured(`{"allow_stop":false,"feedback":"add tests"}`, ""), refuse, "add tests"},
		{"structured_beats_result", structured(`{"allow_stop":false,"feedback":"x"}`, `,"result":"submitted"`), refuse, "x"},
		{"structured_beats_other_verdict", structured(`{"allow_stop":false,"feedback":"x"}`, besideAllow), refuse, "x"},
		{"structured_without_verdict", structured(`{"note":1}`, besideAllow), refuse, `{"allow_stop":true}`},
		{"structured_null", structured(`null`, besideAllow), allow, ""},
		{"structured_string", structured(`"{}"`, besideAllow), allow, ""},
		{"structured_other_case", structured(`{"allow_stop":false,"Allow_Stop":true,"feedback":"x"}`, `,"result":""`), refuse, "x"},
		{"result_object", `{"subtype":"success","result":{"allow_stop":false,"feedback":"x"}}`, refuse, "x"},
		{"result_object_without_verdict", `{"subtype":"success","result":{"note":"x"}}`, refuse, defaultFeedback},
		{"subtype_absent", `{"result":"{\"allow_stop\":true}"}`, allow, ""},

		{"text_whole", text(`{"allow_stop":true,"feedback":""}`), allow, ""},
		{"text_allow_with_feedback", text(`{"allow_stop":true,"feedback":"ask the user"}`), allow, "ask the user"},
		{"text_string_true", text(`{"allow_stop":"true"}`), allow, ""},
		{"text_string_false", text(`{"allow_stop":"false","feedback":"x"}`), refuse, "x"},
		refused("text_string_yes", `{"allow_stop":"yes"}`),
		refused("text_number", `{"allow_stop":1}`),
		refused("text_null", `{"allow_stop":null}`),
		{"text_completed", text(`{"completed":true}`), allow, ""},
		{"text_completed_false", text(`{"completed":false,"feedback":"x"}`), refuse, "x"},
		{"text_allow_stop_beats_completed", text(`{"completed":true,"allow_stop":false,"feedback":"x"}`), refuse, "x"},
		{"text_feedback_missing", text(`{"allow_stop":false}`), refuse, defaultFeedback},
		{"text_feedback_blank", text(`{"allow_stop":false,"feedback":" \n"}`), refuse, defaultFeedback},
		{"text_feedback_not_text", text(`{"allow_stop":false,"feedback":["x"]}`), refuse, defaultFeedback},
		{"text_in_array", text(`[{"allow_stop":true}]`), allow, ""},

		{"prose_before", text("Looked at it all.\n" + `{"allow_stop":true,"feedback":""}`), allow, ""},
		{"prose_after", text(`{"allow_stop":false,"feedback":"x"}` + "\nThat is all {really}."), refuse, "x"},
		{"prose_both", text("I ran `f() { g; }`:\n" + `{"allow_stop":false,"feedback":"x"}` + "\nDone."), refuse, "x"},
		{"fence_json", text("```json\n{\"allow_stop\":true}\n```"), allow, ""},
		{"fence_bash_before",
			text("```bash\ngo test ./... && { echo \"ok\"; }\n```\n```json\n{\"allow_stop\":true}\n```\n"), allow, ""},
		{"fence_in_feedback", text(`{"allow_stop":false,"feedback":` + string(encodeJSON(fence)) + `}`), refuse, fence},
		{"last_object_counts", text(`{"allow_stop":true} no: {"allow_stop":false,"feedback":"x"}`), refuse, "x"},
		refused("last_object_is_no_verdict", `{"allow_stop":true} as in {"a":1}`),
		refused("inner_object_does_not_count", `{"verdict":{"allow_stop":true}}`),
		{"template_then_final", text(`as {"allow_stop": true|false, "feedback": "..."}: {"allow_stop":true}`), allow, ""},

		refused("truncated", `{"allow_stop": true`),
		refused("truncated_in_fence", "```json\n{\"allow_stop\": true, \"feedback\": \""),
		refused("template_then_truncated", `{"allow_stop":true,"feedback":"..."} so {"allow_stop":false,"feedback":"fix`),
		refused("broken_around_whole", `{"allow_stop":false,"feedback":"put {"allow_stop":true} in"}`),
		refused("broken_quotes", `{"allow_stop":true,"feedback":"say "yes""}`),
		refused("single_quotes", `{'allow_stop': true}`),
		refused("no_quotes_after_whole", `{"allow_stop":true} {allow_stop: false}`),

		{"marker", text("All done. [TASK_COMPLETED]"), allow, ""},
		{"marker_beside_verdict", text(`{"allow_stop":false,"feedback":"x"} [TASK_COMPLETED]`), refuse, "x"},
		refused("marker_beside_broken", `{"allow_stop":fal [TASK_COMPLETED]`),
		refused("plain_text", "the tests are missing"),
		{"empty", text(""), refuse, defaultFeedback},
		{"blank", text(" \n\t"), refuse, defaultFeedback},
		{"result_absent", `{"subtype":"success"}`, refuse, defaultFeedback},
		{"result_null", `{"subtype":"success","result":null}`, refuse, defaultFeedback},

		{"api_error",
			`{"subtype":"success","is_error":true,"result":"API Error: 401 {\"allow_stop\":true}"}`, false, noReview},
		{"api_error_with_verdict",
			`{"subtype":"success","is_error":true,"structured_output":{"allow_stop":true}}`, false, noReview},
		{"during_execution",
			`{"subtype":"error_during_execution","is_error":false,"result":"{\"allow_stop\":true}"}`, false, noReview},
		{"max_turns", `{"subtype":"error_max_turns"}`, false, noReview},
		{"malformed_is_error", `{"subtype":"success","is_error":"no","result":"{\"allow_stop\":true}"}`, false, noReview},
		{"malformed_subtype", `{"subtype":1,"result":"{\"allow_stop\":true}"}`, false, noReview},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !json.Valid([]byte(test.line)) {
				t.Fatal("the test's line is not JSON")
			}
			got, feedback, err := parseResult([]byte(test.line)).judge()
			if test.feedback == noReview {
				if err == nil {
					t.Fatalf("got %s, want an error", got)
				}
				return
			}
			want := map[bool]verdict{allow: verdictAllow, refuse: verdictBlock}[test.allow]
			if err != nil || got != want || feedback != test.feedback {
				t.Errorf("got %s %q, %v, want %s %q", got, feedback, err, want, test.feedback)
			}
		})
	}
}

func TestVerdictErrorNamesCause(t *testing.T) {
	_, _, err := parseResult([]byte(`{"subtype":"error_during_execution","errors":["no conversation"]}`)).judge()
	if err == nil || !strings.Contains(err.Error(), "error_during_execution") || !strings.Contains(err.Error(), "no conversation") {
		t.Errorf("got %v", err)
	}
}

func TestVerdictCost(t *testing.T) {
	r := parseResult([]byte(`{"subtype":"success","total_cost_usd":5.5,
		"model_usage_since_last_result":{"a":{"costUSD":0.25},"b":{"costUSD":0.5}}}`))
	if got := r.ownCost(); got != 0.75 {
		t.Errorf("got %v, want the review's own 0.75", got)
	}
}

// FuzzVerdict looks for a text that allows a stop although its last object is
// not a whole verdict, and for a refusal that tells the agent nothing.
func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{"", "{", `{"allow_stop":true`, `a {"allow_stop":true,"feedback":""} b`, `{"a":{"allow_stop":true}}`, "[TASK_COMPLETED]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		decided, feedback, err := (&resultLine{Subtype: "success", Result: encodeJSON(text)}).judge()
		if err != nil {
			t.Fatal(err)
		}
		if decided == verdictBlock && feedback == "" {
			t.Error("refused without feedback")
		}
		if decided == verdictAllow && !strings.Contains(text, completedMarker) {
			object, _ := lastObject(text)
			if !json.Valid(object) || !strings.Contains(text, string(object)) {
				t.Errorf("allowed by %q", object)
			}
		}
	})
}
