package main

// This file reads the verdict in the reviewer's result line, or returns the error that there was no review.
// What is unclear is no approval. Each rule here is there because of an approval that was wrong.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// A resultLine is the message that ends a reviewer's stream.
type resultLine struct {
	Subtype          string          `json:"subtype"`
	IsError          bool            `json:"is_error"`
	Result           json.RawMessage `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           json.RawMessage `json:"errors"`
	Turns            *int            `json:"num_turns"`

	malformed error
	decided   verdict // this and the next two are what judge returns
	feedback  string
	fault     error
	costs     struct {
		Usage     tokens              `json:"usage"` // of this turn alone
		SinceLast map[string]struct { // missing if claude prints the whole session's cost alone
			CostUSD float64 `json:"costUSD"`
			Basis   string  `json:"costBasis"` // "unknown" of a model that Claude Code does not know
		} `json:"model_usage_since_last_result"`
		Denials []struct {
			Call string `json:"tool_use_id"`
		} `json:"permission_denials"`
	}
}

// parseResult reads line, which is valid JSON.
func parseResult(line []byte) *resultLine {
	r := new(resultLine)
	r.malformed = json.Unmarshal(line, r)
	_ = json.Unmarshal(line, &r.costs) // a bill that can't be read is no reason to doubt the verdict
	r.decided, r.feedback, r.fault = r.judge()
	return r
}

// judge returns the verdict and the feedback. Without a verdict decided is "", and the feedback is the
// result's text. A result that has failed is an error: an API error comes as success with is_error.
func (r *resultLine) judge() (decided verdict, feedback string, err error) {
	text := r.answerText()
	kind := ""
	if r.Subtype != "" && r.Subtype != "success" {
		kind = say(kindOfFailure, r.Subtype)
	}
	switch {
	case r.malformed != nil:
		return "", "", errors.New(say(malformedResult, r.malformed.Error()))
	case r.Subtype == "error_max_budget_usd": // --max-budget-usd has ended it (2.1.280, 2.1.332)
		return "", "", errOverBudget
	case r.IsError || kind != "":
		var faults []string
		_ = json.Unmarshal(r.Errors, &faults)
		said := strings.Join(append([]string{text}, faults...), " ")
		return "", "", errors.New(say(reviewerFailed, kind, cutMiddle(strings.TrimSpace(said), 500)))
	case r.answerObject() != nil:
		decided, feedback, _ = readDecision(r.answerObject(), append(slices.Clone(decisionKeys), olderKey)...)
	default:
		decided, feedback = findVerdict(text)
	}
	if decided == "" {
		feedback = cmp.Or(text, feedback)
	}
	return decided, strings.TrimSpace(feedback), nil
}

// isOfNoTurn reports whether the result is of a prompt that reached no model, as in a fork of a session with
// a background task, which first submits that the task has stopped.
func (r *resultLine) isOfNoTurn() bool {
	isEmpty := r.answerText() == "" && r.answerObject() == nil
	return isEmpty && r.malformed == nil && !r.IsError && r.Turns != nil && *r.Turns == 0
}

// answerObject returns the object in which the verdict has to be, nil if it has to be in a text.
func (r *resultLine) answerObject() json.RawMessage {
	for _, raw := range []json.RawMessage{r.StructuredOutput, r.Result} {
		if bytes.HasPrefix(raw, []byte("{")) {
			return raw
		}
	}
	return nil
}

// answerText returns the result's text, "" if the result is an object.
func (r *resultLine) answerText() (text string) {
	_ = json.Unmarshal(r.Result, &text)
	return withoutThinking(text)
}

// withoutThinking returns text without the closed <think> block of some models: it holds no decision.
func withoutThinking(text string) string {
	_, rest, isClosed := strings.Cut(text, "</think>")
	if isClosed && strings.HasPrefix(strings.TrimSpace(text), "<think>") {
		return strings.TrimSpace(rest)
	}
	return text
}

var decisionKeys = []string{"allow_stop", "allowStop"}

const (
	// olderKey is an older one. It counts only in a verdict that is the whole result: elsewhere it is data.
	olderKey = "completed"
	// olderApproval approves as the last line of a text that states no decision.
	olderApproval = "[TASK_COMPLETED]"
	// bracesRead bounds how many braces a text may open: at each an object is tried, and read to its end.
	bracesRead = 2000
)

var (
	// decisionMember matches a member of a JSON object that decides, none in a string.
	decisionMember = lazyRegexp(`"allow(?:_s|S)top"\s*:`)
	// decisionWord matches where a text, in prose or in JSON of any kind, states a decision. What it states
	// is true or false in the first group, and a word or character in the second. Only true and false may
	// be on the next line.
	decisionWord = lazyRegexp("(?i)\\ballow_?stop\\b[\"'`*”’\\\\]*" +
		"\\s*[:：=＝]+(?:\\s*[\"'`*“‘\\\\]*(true|false)\\b|[ \\t]*[\"'`*“‘\\\\]*(\\w+|\\S?))")
)

// findVerdict reads the verdict in a text. An approval is a single object at the end of the text. Only the
// end of a fence may follow it, and nothing before it may state another decision. A refusal may be anywhere,
// unless an approving object follows it. If there is no verdict, decided is "".
func findVerdict(text string) (decided verdict, feedback string) {
	text = strings.TrimSpace(text)
	body := strings.TrimSpace(strings.TrimSuffix(text, "```"))
	if strings.Count(body, "{") > bracesRead {
		return "", ""
	}
	decisions := 0     // how many objects decide
	var start, end int // of the last of them
	for at := 0; at < len(body); at++ {
		var object json.RawMessage
		if body[at] != '{' || json.NewDecoder(strings.NewReader(body[at:])).Decode(&object) != nil {
			continue
		}
		stated, why, decides := readDecision(object, decisionKeys...)
		if !decides { // an object inside it may
			continue
		}
		if stated != "" {
			decided = stated
			feedback = why
		}
		decisions++
		start = at
		end = at + len(object)
		at = end - 1
	}
	isOther := func(match []string) bool {
		return match[1]+match[2] != "" && !strings.EqualFold(match[1], "true")
	}
	statesOther := slices.ContainsFunc(decisionWord().FindAllStringSubmatch(body[:start], -1), isOther)
	lastLine := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	switch {
	case decided == verdictAllow && (decisions > 1 || end < len(body) || statesOther):
		return "", ""
	case lastLine == olderApproval && decisions == 0 && !decisionWord().MatchString(text):
		return verdictAllow, ""
	case decisions == 0:
		whole := strings.TrimPrefix(strings.TrimPrefix(body, "```"), "json")
		decided, feedback, _ = readDecision([]byte(whole), olderKey)
	}
	return decided, feedback
}

// beforeVerdict returns a text without the object at its end that decides, if there is one, and its fence.
func beforeVerdict(text string) string {
	body := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
	if strings.Count(body, "{") > bracesRead {
		return text
	}
	for at := range body {
		if body[at] != '{' {
			continue
		}
		if _, _, decides := readDecision([]byte(body[at:]), decisionKeys...); decides {
			before := strings.TrimSuffix(strings.TrimSpace(body[:at]), "```json")
			return strings.TrimSpace(strings.TrimSuffix(before, "```"))
		}
	}
	return text
}

// readDecision reads the value of the first of keys that object has. decides is false if object has none of
// them. decided is "" if the value is neither true nor false, or if it is true and object holds another
// decision.
func readDecision(object []byte, keys ...string) (decided verdict, feedback string, decides bool) {
	var members map[string]json.RawMessage // for a struct Allow_Stop would be allow_stop
	_ = json.Unmarshal(object, &members)
	for _, key := range keys {
		decision, isMember := members[key]
		if !isMember {
			continue
		}
		switch string(decision) {
		case "true":
			if len(decisionMember().FindAll(object, 2)) < 2 {
				decided = verdictAllow
			}
		case "false":
			decided = verdictBlock
		}
		if json.Unmarshal(members["feedback"], &feedback) != nil {
			feedback = string(members["feedback"]) // a list, for one
		}
		return decided, feedback, true
	}
	return "", "", false
}

// saysNothing reports whether a text is empty, or a placeholder for an empty one (2.1.280, 2.1.332).
func saysNothing(text string) bool {
	placeholders := []string{"", "(no content)", "No response requested.", "None"}
	return slices.Contains(placeholders, strings.TrimSpace(text))
}

// holdsApproval reports whether text has something like an object that approves, an order to the agent.
func holdsApproval(text string) bool {
	for _, at := range decisionWord().FindAllStringSubmatchIndex(text, -1) {
		if at[2] >= 0 && strings.EqualFold(text[at[2]:at[3]], "true") && strings.Contains(text[:at[0]], "{") {
			return true
		}
	}
	return false
}
