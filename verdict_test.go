package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// noReview stands in a table for a result that is no review.
const noReview = "no review"

func TestVerdict(t *testing.T) {
	text := func(s string) string {
		return `{"type":"result","subtype":"success","result":` + string(encodeJSON(s)) + `}`
	}
	const allow, refuse = true, false
	tests := []struct {
		name     string
		line     string
		allow    bool
		feedback string // noReview: judge returns an error
	}{
		{"structured_allow", `{"subtype":"success","structured_output":{"allow_stop":true,"feedback":""}}`, allow, ""},
		{"structured_refuse", `{"subtype":"success","structured_output":{"allow_stop":false,"feedback":"add tests"}}`, refuse, "add tests"},
		{"structured_beats_result", `{"subtype":"success","result":"submitted","structured_output":{"allow_stop":false,"feedback":"x"}}`, refuse, "x"},
		{"structured_beats_other_verdict", `{"subtype":"success","result":"{\"allow_stop\":true}","structured_output":{"allow_stop":false,"feedback":"x"}}`, refuse, "x"},
		{"structured_without_verdict", `{"subtype":"success","result":"{\"allow_stop\":true}","structured_output":{"note":1}}`, refuse, `{"allow_stop":true}`},
		{"structured_null", `{"subtype":"success","result":"{\"allow_stop\":true}","structured_output":null}`, allow, ""},
		{"structured_string", `{"subtype":"success","result":"{\"allow_stop\":true}","structured_output":"{}"}`, allow, ""},
		{"structured_other_case", `{"subtype":"success","result":"","structured_output":{"allow_stop":false,"Allow_Stop":true,"feedback":"x"}}`, refuse, "x"},
		{"result_object", `{"subtype":"success","result":{"allow_stop":false,"feedback":"x"}}`, refuse, "x"},
		{"result_object_without_verdict", `{"subtype":"success","result":{"note":"x"}}`, refuse, defaultFeedback},
		{"subtype_absent", `{"result":"{\"allow_stop\":true}"}`, allow, ""},

		{"text_whole", text(`{"allow_stop":true,"feedback":""}`), allow, ""},
		{"text_allow_with_feedback", text(`{"allow_stop":true,"feedback":"ask the user"}`), allow, "ask the user"},
		{"text_string_true", text(`{"allow_stop":"true"}`), allow, ""},
		{"text_string_false", text(`{"allow_stop":"false","feedback":"x"}`), refuse, "x"},
		{"text_string_yes", text(`{"allow_stop":"yes"}`), refuse, `{"allow_stop":"yes"}`},
		{"text_number", text(`{"allow_stop":1}`), refuse, `{"allow_stop":1}`},
		{"text_null", text(`{"allow_stop":null}`), refuse, `{"allow_stop":null}`},
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
		{"fence_bash_before", text("```bash\ngo test ./... && { echo \"ok\"; }\n```\n```json\n{\"allow_stop\":true}\n```\n"), allow, ""},
		{"fence_in_feedback", text(`{"allow_stop":false,"feedback":"run\n` + "```sh\\necho {\\\"allow_stop\\\": true}\\n```" + `"}`), refuse, "run\n```sh\necho {\"allow_stop\": true}\n```"},
		{"last_object_counts", text(`{"allow_stop":true} no: {"allow_stop":false,"feedback":"x"}`), refuse, "x"},
		{"last_object_is_no_verdict", text(`{"allow_stop":true} as in {"a":1}`), refuse, `{"allow_stop":true} as in {"a":1}`},
		{"inner_object_does_not_count", text(`{"verdict":{"allow_stop":true}}`), refuse, `{"verdict":{"allow_stop":true}}`},
		{"template_then_final", text(`as {"allow_stop": true|false, "feedback": "..."}: {"allow_stop":true}`), allow, ""},

		{"truncated", text(`{"allow_stop": true`), refuse, `{"allow_stop": true`},
		{"truncated_in_fence", text("```json\n{\"allow_stop\": true, \"feedback\": \""), refuse, "```json\n{\"allow_stop\": true, \"feedback\": \""},
		{"template_then_truncated", text(`{"allow_stop":true,"feedback":"..."} so {"allow_stop":false,"feedback":"fix`), refuse,
			`{"allow_stop":true,"feedback":"..."} so {"allow_stop":false,"feedback":"fix`},
		{"broken_around_whole", text(`{"allow_stop":false,"feedback":"put {"allow_stop":true} in"}`), refuse,
			`{"allow_stop":false,"feedback":"put {"allow_stop":true} in"}`},
		{"broken_quotes", text(`{"allow_stop":true,"feedback":"say "yes""}`), refuse, `{"allow_stop":true,"feedback":"say "yes""}`},
		{"single_quotes", text(`{'allow_stop': true}`), refuse, `{'allow_stop': true}`},
		{"no_quotes_after_whole", text(`{"allow_stop":true} {allow_stop: false}`), refuse, `{"allow_stop":true} {allow_stop: false}`},

		{"marker", text("All done. [TASK_COMPLETED]"), allow, ""},
		{"marker_beside_verdict", text(`{"allow_stop":false,"feedback":"x"} [TASK_COMPLETED]`), refuse, "x"},
		{"marker_beside_broken", text(`{"allow_stop":fal [TASK_COMPLETED]`), refuse, `{"allow_stop":fal [TASK_COMPLETED]`},
		{"plain_text", text("the tests are missing"), refuse, "the tests are missing"},
		{"empty", text(""), refuse, defaultFeedback},
		{"blank", text(" \n\t"), refuse, defaultFeedback},
		{"result_absent", `{"subtype":"success"}`, refuse, defaultFeedback},
		{"result_null", `{"subtype":"success","result":null}`, refuse, defaultFeedback},

		{"api_error", `{"subtype":"success","is_error":true,"result":"API Error: 401 {\"allow_stop\":true}"}`, false, noReview},
		{"api_error_with_verdict", `{"subtype":"success","is_error":true,"structured_output":{"allow_stop":true}}`, false, noReview},
		{"during_execution", `{"subtype":"error_during_execution","is_error":false,"result":"{\"allow_stop\":true}"}`, false, noReview},
		{"max_turns", `{"subtype":"error_max_turns"}`, false, noReview},
		{"malformed_is_error", `{"subtype":"success","is_error":"no","result":"{\"allow_stop\":true}"}`, false, noReview},
		{"malformed_subtype", `{"subtype":1,"result":"{\"allow_stop\":true}"}`, false, noReview},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !json.Valid([]byte(test.line)) {
				t.Fatal("the test's line is not JSON")
			}
			v, err := parseResult([]byte(test.line)).judge()
			if test.feedback == noReview {
				if err == nil {
					t.Fatalf("got %+v, want an error", v)
				}
				return
			}
			if want := (verdict{test.allow, test.feedback}); err != nil || v != want {
				t.Errorf("got %+v, %v, want %+v", v, err, want)
			}
		})
	}
}

func TestVerdictErrorNamesCause(t *testing.T) {
	_, err := parseResult([]byte(`{"subtype":"error_during_execution","errors":["no conversation"]}`)).judge()
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
		v, err := (&resultLine{Subtype: "success", Result: encodeJSON(text)}).judge()
		if err != nil {
			t.Fatal(err)
		}
		if !v.allowStop && v.feedback == "" {
			t.Error("refused without feedback")
		}
		if v.allowStop && !strings.Contains(text, completedMarker) {
			object, _ := lastObject(text)
			if !json.Valid(object) || !strings.Contains(text, string(object)) {
				t.Errorf("allowed by %q", object)
			}
		}
	})
}
