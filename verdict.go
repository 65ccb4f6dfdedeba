package main

// From the reviewer's result line to the verdict, or to the error that says that there was no review.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// defaultFeedback stands in for a reviewer that refuses and does not say why.
const defaultFeedback = "请继续完成任务"

// completedMarker in a text without JSON is an older form of approval.
const completedMarker = "[TASK_COMPLETED]"

// A resultLine is the message that ends a reviewer's stream.
type resultLine struct {
	Subtype          string          `json:"subtype"`
	IsError          bool            `json:"is_error"`
	Result           json.RawMessage `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           json.RawMessage `json:"errors"`

	malformed error
	costs     resultCosts
}

type resultCosts struct {
	TotalUSD  float64 `json:"total_cost_usd"`
	SinceLast map[string]struct {
		CostUSD float64 `json:"costUSD"`
	} `json:"model_usage_since_last_result"`
}

// parseResult reads line, which is valid JSON.
func parseResult(line []byte) *resultLine {
	r := new(resultLine)
	r.malformed = json.Unmarshal(line, r)
	_ = json.Unmarshal(line, &r.costs) // a bill that can't be read is no reason to doubt the verdict
	return r
}

// judge returns the verdict, allow or block, and with the latter what is left to do. A result that says it failed
// is no review, whatever its text looks like: an API error comes as subtype success with is_error.
func (r *resultLine) judge() (decided verdict, feedback string, err error) {
	text, isText := r.text()
	switch {
	case r.malformed != nil:
		return "", "", fmt.Errorf("the reviewer's result is malformed: %w", r.malformed)
	case r.IsError || r.Subtype != "" && r.Subtype != "success":
		said := strings.TrimSpace(text + " " + string(r.Errors))
		return "", "", fmt.Errorf("the reviewer failed (%s): %s", r.Subtype, cutMiddle(said, 500))
	}
	object := []byte(nil)
	switch {
	case isObject(r.StructuredOutput):
		object = r.StructuredOutput
	case isObject(r.Result):
		object = r.Result
	case isText:
		var found bool
		if object, found = lastObject(text); !found && strings.Contains(text, completedMarker) {
			return verdictAllow, "", nil
		}
	}
	decided, feedback, err = parseVerdict(object)
	if err != nil {
		decided, feedback = verdictBlock, text
	}
	if feedback = strings.TrimSpace(feedback); feedback == "" && decided == verdictBlock {
		feedback = defaultFeedback
	}
	return decided, feedback, nil
}

// text returns the result's text.
func (r *resultLine) text() (text string, ok bool) {
	ok = json.Unmarshal(r.Result, &text) == nil
	return text, ok
}

// ownCost is what this review cost in US dollars. The total of a fork includes what the session had cost before;
// where claude does not tell them apart, 0.
func (r *resultLine) ownCost() (sum float64) {
	for _, model := range r.costs.SinceLast {
		sum += model.CostUSD
	}
	return sum
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// parseVerdict reads the verdict out of a JSON object. Keys count as written: Go would take "Allow_Stop" for
// "allow_stop".
func parseVerdict(object []byte) (decided verdict, feedback string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return "", "", err
	}
	raw, ok := members["allow_stop"]
	if !ok {
		raw = members["completed"] // its older name
	}
	switch string(raw) {
	case `true`, `"true"`:
		decided = verdictAllow
	case `false`, `"false"`:
		decided = verdictBlock
	default:
		return "", "", errors.New("allow_stop is not a boolean")
	}
	_ = json.Unmarshal(members["feedback"], &feedback)
	return decided, feedback, nil
}

// meantAsObject tells whether the brace that text begins with opens a JSON object, or what was meant as one, rather
// than a piece of prose or code.
func meantAsObject(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	if strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "}") {
		return true
	}
	rest = strings.TrimPrefix(rest, "'")
	return strings.HasPrefix(rest, "allow_stop") || strings.HasPrefix(rest, "completed") || strings.HasPrefix(rest, "feedback")
}

// lastObject returns the last JSON object in text; objects inside others do not count. It returns nil when that one
// is broken: cut short, or not JSON. found tells whether there was an object, whole or broken.
func lastObject(text string) (object []byte, found bool) {
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '{')
		if next < 0 {
			break
		}
		i += next
		var raw json.RawMessage
		switch err := json.NewDecoder(strings.NewReader(text[i:])).Decode(&raw); {
		case err == nil:
			object, found = raw, true
			i += len(raw)
		case meantAsObject(text[i:]):
			object, found = nil, true
			i += brokenExtent(text[i:])
		default:
			i++
		}
	}
	return object, found
}

// brokenExtent is the length of the broken object that text begins with: up to the brace that closes it, strings
// taken into account, or all of text. What is inside it is never taken for a verdict.
func brokenExtent(text string) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
