package main

// From the reviewer's result line to the verdict, or to the error that says that there was no review.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
	costs     struct {
		Usage     tokens `json:"usage"` // of this review alone
		SinceLast map[string]struct {
			CostUSD float64 `json:"costUSD"`
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
	return r
}

// judge returns the verdict, allow or block, and the feedback. Without a verdict, decided is "" and feedback
// the text that stands there. A result that says it failed is no review, whatever its text looks like: an API
// error comes as subtype success with is_error.
func (r *resultLine) judge() (decided verdict, feedback string, err error) {
	text, kind := r.text(), ""
	if r.Subtype != "" && r.Subtype != "success" {
		kind = " (" + r.Subtype + ")"
	}
	switch {
	case r.malformed != nil:
		return "", "", fmt.Errorf("%s: %w", say(malformedResult), r.malformed)
	case r.IsError || kind != "":
		var faults []string
		_ = json.Unmarshal(r.Errors, &faults)
		said := strings.Join(append([]string{text}, faults...), " ")
		return "", "", errors.New(say(reviewerFailed, kind, cutMiddle(strings.TrimSpace(said), 500)))
	case r.object() != nil:
		decided, feedback, _ = readDecision(r.object(), slices.Concat(decisionKeys, []string{olderKey})...)
	default:
		decided, feedback = findVerdict(text)
	}
	if decided == "" {
		feedback = cmp.Or(text, feedback)
	}
	return decided, strings.TrimSpace(feedback), nil
}

// isOfNoTurn reports whether the result is of a prompt that reached no model: from 2.1.200 on, a fork of a
// session with a background task first submits that the task has stopped, which ends with such a line, and
// then the request.
func (r *resultLine) isOfNoTurn() bool {
	return r.malformed == nil && !r.IsError && r.Turns != nil && *r.Turns == 0 && r.text() == "" && r.object() == nil
}

// object returns the object in which the verdict has to stand, nil where a text holds it.
func (r *resultLine) object() json.RawMessage {
	for _, raw := range []json.RawMessage{r.StructuredOutput, r.Result} {
		if bytes.HasPrefix(raw, []byte("{")) {
			return raw
		}
	}
	return nil
}

// text returns the result's text, "" where it is an object.
func (r *resultLine) text() (text string) {
	_ = json.Unmarshal(r.Result, &text)
	return text
}

// ownCost is what this review cost in US dollars, 0 where claude does not tell it apart from what the session
// had cost before.
func (r *resultLine) ownCost() (sum float64) {
	for _, model := range r.costs.SinceLast {
		sum += model.CostUSD
	}
	return sum
}

// decisionKeys name the decision in a verdict. olderKey does so where the verdict is the whole result;
// elsewhere it is data that the reviewer quotes. olderApproval approves as the last line of a text without
// any decision.
var decisionKeys = []string{"allow_stop", "allowStop"}

const olderKey, olderApproval = "completed", "[TASK_COMPLETED]"

var (
	// decisionMember finds the members of a JSON object that decide. In a string the quotation mark is
	// escaped.
	decisionMember = lazyRegexp(`"allow(?:_s|S)top"\s*:`)
	// decisionWord finds where a text, prose or JSON of any kind, states a decision, with what is stated.
	// A line break may stand before true or false; before anything else nothing is stated.
	decisionWord = lazyRegexp("(?i)\\ballow_?stop\\b[\"'`*”’\\\\]*" +
		"\\s*[:：=＝]+(?:\\s*[\"'`*“‘\\\\]*(true|false)\\b|[ \\t]*[\"'`*“‘\\\\]*(\\w+|\\S?))")
)

// findVerdict reads a text: an approval is the last thing said, and said once. It is an object at the end, a
// fence aside, and nothing before it states another decision. A refusal may stand anywhere, unless an
// approving object follows it.
func findVerdict(text string) (decided verdict, feedback string) {
	text = strings.TrimSpace(text)
	body := strings.TrimSpace(strings.TrimSuffix(text, "```"))
	decisions, start, end := 0, 0, 0 // how many objects decide, and where the last of them stands
	for at := 0; at < len(body); at++ {
		var object json.RawMessage
		if body[at] != '{' || json.NewDecoder(strings.NewReader(body[at:])).Decode(&object) != nil {
			continue
		}
		found, words, decides := readDecision(object, decisionKeys...)
		if !decides { // an object inside it may
			continue
		}
		if found != "" {
			decided, feedback = found, words
		}
		decisions, start, end = decisions+1, at, at+len(object)
		at = end - 1
	}
	before := decisionWord().FindAllStringSubmatch(body[:start], -1)
	isOther := func(stated []string) bool { return stated[1]+stated[2] != "" && !strings.EqualFold(stated[1], "true") }
	lastLine := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	switch {
	case decided == verdictAllow && (decisions > 1 || end < len(body) || slices.ContainsFunc(before, isOther)):
		return "", ""
	case lastLine == olderApproval && decisions == 0 && !decisionWord().MatchString(text):
		return verdictAllow, ""
	case decisions == 0:
		whole := strings.TrimPrefix(strings.TrimPrefix(body, "```"), "json")
		decided, feedback, _ = readDecision([]byte(whole), olderKey)
	}
	return decided, feedback
}

// isAnswer reports whether a text is nothing but the object that decides.
func isAnswer(text string) bool {
	decided, _ := findVerdict(text)
	return decided != "" && strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(text), "```json\n"), "{")
}

// readDecision reads the first of keys that object has; decides is false where it has none. decided is ""
// where the decision is neither true nor false, or is true beside another one.
func readDecision(object []byte, keys ...string) (decided verdict, feedback string, decides bool) {
	var members map[string]json.RawMessage // for a struct Allow_Stop would be allow_stop
	_ = json.Unmarshal(object, &members)
	for _, key := range keys {
		decision, found := members[key]
		if !found {
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
		if json.Unmarshal(members["feedback"], &feedback) != nil { // such as a list: it is read as it is written
			feedback = string(members["feedback"])
		}
		return decided, feedback, true
	}
	return "", "", false
}

// holdsApproval reports whether text holds an object that approves, one that is no JSON included. The agent
// would take it for an order.
func holdsApproval(text string) bool {
	for _, at := range decisionWord().FindAllStringSubmatchIndex(text, -1) {
		if at[2] >= 0 && strings.EqualFold(text[at[2]:at[3]], "true") && strings.Contains(text[:at[0]], "{") {
			return true
		}
	}
	return false
}
