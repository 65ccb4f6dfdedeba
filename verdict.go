package main

// From the reviewer's result line to the verdict, or to the error that says that there was no review.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// completedMarker on a line of its own, in a text without a verdict, is an older form of approval. In a sentence it
// is a mention.
const completedMarker = "[TASK_COMPLETED]"

// A resultLine is the message that ends a reviewer's stream.
type resultLine struct {
	Subtype          string          `json:"subtype"`
	IsError          bool            `json:"is_error"`
	Result           json.RawMessage `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           texts           `json:"errors"`
	Turns            *int            `json:"num_turns"`

	malformed error
	costs     struct {
		Usage     tokens `json:"usage"` // of this review alone
		SinceLast map[string]struct {
			CostUSD float64 `json:"costUSD"`
		} `json:"model_usage_since_last_result"`
	}
}

// texts is a list of texts; of anything else it is the JSON text.
type texts []string

func (t *texts) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*[]string)(t)) != nil {
		*t = texts{string(raw)}
	}
	return nil
}

// parseResult reads line, which is valid JSON.
func parseResult(line []byte) *resultLine {
	r := new(resultLine)
	r.malformed = json.Unmarshal(line, r)
	_ = json.Unmarshal(line, &r.costs) // a bill that can't be read is no reason to doubt the verdict
	return r
}

// judge returns the verdict, allow or block, and the feedback. Without a verdict, decided is "" and feedback the
// text that stands there. A result that says it failed is no review, whatever its text looks like: an API error
// comes as subtype success with is_error.
func (r *resultLine) judge() (decided verdict, feedback string, err error) {
	text, holder := r.text(), ""
	switch {
	case r.malformed != nil:
		return "", "", fmt.Errorf("the reviewer's result is malformed: %w", r.malformed)
	case r.IsError || r.Subtype != "" && r.Subtype != "success":
		kind := map[bool]string{true: " (" + r.Subtype + ")"}[r.Subtype != "" && r.Subtype != "success"]
		said := append([]string{text}, r.Errors...)
		return "", "", fmt.Errorf("the reviewer failed%s: %s", kind, cutMiddle(strings.TrimSpace(strings.Join(said, " ")), 500))
	case isObject(r.StructuredOutput):
		holder = string(r.StructuredOutput)
	case isObject(r.Result):
		holder = string(r.Result)
	}
	if decided, feedback = findVerdict(cmp.Or(holder, text)); decided == "" {
		feedback = text
	}
	return decided, strings.TrimSpace(feedback), nil
}

// isOfNoTurn tells whether the result is of a prompt that reached no model: from 2.1.200 on, a fork of a session
// with a background task first submits that the task has stopped, which ends with such a line, and then the
// request.
func (r *resultLine) isOfNoTurn() bool {
	return r.malformed == nil && !r.IsError && r.Turns != nil && *r.Turns == 0 && r.text() == "" &&
		!isObject(r.StructuredOutput) && !isObject(r.Result)
}

// text returns the result's text, "" where it is an object.
func (r *resultLine) text() (text string) {
	_ = json.Unmarshal(r.Result, &text)
	return text
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

// The names that models give to the members of a verdict.
const completedKey = "completed" // an older one

var allowKeys = []string{"allow_stop", "allowStop", completedKey}

// decisions are the words for yes and no that models write, in lower case.
var decisions = map[string]verdict{
	"true": verdictAllow, "yes": verdictAllow, "是": verdictAllow,
	"false": verdictBlock, "no": verdictBlock, "否": verdictBlock,
}

// meantKey is a member of what was meant as a verdict. It is compiled when it is needed: no unsupervised hook needs
// it.
var meantKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[\"'“”‘’]?(allow_stop|allowStop|feedback)[\"'“”‘’]?\\s*[:：]|[\"'“”‘’]completed[\"'“”‘’]\\s*[:：]")
})

// verdictEffort is in bytes, of text that is read in vain: a text of many braces that open nothing is given up.
const verdictEffort = 8 << 20

// findVerdict looks for the last verdict in text, which may be prose around JSON. Where a later object was meant as
// a verdict and can't be read, there is none: what the reviewer decided is not known.
func findVerdict(text string) (decided verdict, feedback string) {
	unread, effort, present := false, 0, false // present: one by its present name was there
	for rest := text; effort < verdictEffort; {
		_, behind, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		rest = rest[len(rest)-len(behind)-1:]
		v, after, whole := parseLoose(rest)
		if whole {
			if d, f, key := readVerdict(v); key != "" && (key != completedKey || !present) {
				decided, feedback, unread = d, f, d == ""
				present = key != completedKey
			}
			rest = after
			continue
		}
		extent, own := brokenExtent(rest)
		effort += len(rest) - len(after) + extent
		if effort >= verdictEffort || meantKey().MatchString(own) {
			decided, feedback, unread = "", "", true
			behind = rest[extent:]
		}
		rest = behind
	}
	isMarker := func(line string) bool { return strings.TrimSpace(line) == completedMarker }
	if decided == "" && !unread && slices.ContainsFunc(strings.Split(text, "\n"), isMarker) {
		return verdictAllow, ""
	}
	return decided, feedback
}

// readVerdict reads an object that is a verdict, or has one as its member verdict. key is what names the decision
// in it, "" for an object that is none; decided is "" where the decision is neither yes nor no. An object with
// completed among members that no verdict has is somebody's data.
func readVerdict(v *jsonValue) (decided verdict, feedback, key string) {
	isNamed := func(key string) bool { return v.member(key) != nil }
	if inner := v.member("verdict"); inner != nil && !slices.ContainsFunc(allowKeys, isNamed) {
		v = inner
	}
	if i := slices.IndexFunc(allowKeys, isNamed); i >= 0 {
		key = allowKeys[i]
	}
	foreign := func(m jsonMember) bool { return m.key != key && m.key != "feedback" }
	if key == "" || key == completedKey && slices.ContainsFunc(v.members, foreign) {
		return "", "", ""
	}
	decided = decisions[strings.ToLower(strings.TrimSpace(v.member(key).text))]
	return decided, strings.Join(v.member("feedback").texts(), "\n"), key
}

// brokenExtent is the length of the broken object that text begins with: up to the brace that closes it, strings
// taken into account, or all of text. own is what stands in it and in no brace inside it, which tells what it was
// meant as; what is in a string of it is never taken for a verdict.
func brokenExtent(text string) (length int, own string) {
	var b strings.Builder
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if depth == 1 {
			b.WriteByte(c)
		}
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1, b.String()
			}
		}
	}
	return len(text), b.String()
}
