package main

// From the reviewer's result line to the verdict, or to the error that says that there was no review.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// completedMarker as the last line of a text without a verdict is an older form of approval; anywhere else a mention.
const completedMarker = "[TASK_COMPLETED]"

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

// judge returns the verdict, allow or block, and the feedback. Without a verdict, decided is "" and feedback the
// text that stands there. A result that says it failed is no review, whatever its text looks like: an API error
// comes as subtype success with is_error.
func (r *resultLine) judge() (decided verdict, feedback string, err error) {
	text, kind := r.text(), ""
	if r.Subtype != "" && r.Subtype != "success" {
		kind = " (" + r.Subtype + ")"
	}
	switch {
	case r.malformed != nil:
		return "", "", fmt.Errorf("%s: %w", say(malformed), r.malformed)
	case r.IsError || kind != "":
		said := strings.Join(append([]string{text}, textsIn(r.Errors)...), " ")
		return "", "", errors.New(say(reviewerFailed, kind, cutMiddle(strings.TrimSpace(said), 500)))
	case r.object() != nil:
		decided, feedback, _ = readVerdict(r.object(), true)
	default:
		decided, feedback = findVerdict(text)
	}
	if decided == "" {
		feedback = text
	}
	return decided, strings.TrimSpace(feedback), nil
}

// isOfNoTurn tells whether the result is of a prompt that reached no model: from 2.1.200 on, a fork of a session
// with a background task first submits that the task has stopped, which ends with such a line, and then the
// request.
func (r *resultLine) isOfNoTurn() bool {
	return r.malformed == nil && !r.IsError && r.Turns != nil && *r.Turns == 0 && r.text() == "" && r.object() == nil
}

// object returns the object in which the verdict has to stand, nil where a text holds it.
func (r *resultLine) object() json.RawMessage {
	for _, raw := range []json.RawMessage{r.StructuredOutput, r.Result} {
		if isObject(raw) {
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

// ownCost is what this review cost in US dollars, 0 where claude does not tell it apart from what the session had cost before.
func (r *resultLine) ownCost() (sum float64) {
	for _, model := range r.costs.SinceLast {
		sum += model.CostUSD
	}
	return sum
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// decisions are the words for yes and no that models write, in lower case.
var decisions = map[string]verdict{
	"true": verdictAllow, "yes": verdictAllow, "是": verdictAllow,
	"false": verdictBlock, "no": verdictBlock, "否": verdictBlock,
}

// verdictMember is a member that only a verdict has, and allowKey the decision in one that is JSON.
var (
	verdictMember = lazyRegexp("(?:(?:[{,]\\s*|[\"'“”‘’])(?:allow_stop|allowStop)|(?:{(?:[^}]*,)?\\s*|[\"'“”‘’])feedback)[\"'“”‘’]?\\s*[:：]")
	allowKey      = lazyRegexp(`"(?:allow_stop|allowStop)"\s*:`)
)

// objectStart is a brace with a key and a colon behind it, or the end of the text instead, as behind a comment; any
// other is prose or code.
var objectStart = lazyRegexp(`{(?:` + looseSpace + `)*(?:\z|(?:` + looseString + `|` + looseWord + `)(?:` + looseSpace + `)*(?:[:：]|\z))`)

// findVerdict looks for the last verdict in text, which may be prose around JSON. What stands inside a broken object
// is never a verdict; but one without a member of a verdict ends, as prose does, before a line that begins with a
// brace. Where something that was meant as a verdict stands behind the last one, there is none: what
// the reviewer decided is not known. Nor is it where one stands before an approval with prose behind it: the approval
// may be quoted, in the feedback too, as an unescaped quotation mark and a brace in it look like its end.
func findVerdict(text string) (decided verdict, feedback string) {
	text = unfenced(text)
	found, before, behind := false, "", text // before and behind the last verdict
	for at := 0; ; {
		start := objectStart().FindStringIndex(text[at:])
		if start == nil {
			break
		}
		ahead, rest := text[:at+start[0]], text[at+start[0]:]
		var object json.RawMessage
		exact := json.NewDecoder(strings.NewReader(rest)).Decode(&object) == nil
		length := len(object)
		if !exact {
			piece, _, _ := strings.Cut(rest, "\n{")
			if object, length = mendObject(piece); verdictMember().MatchString(piece[:length]) {
				object, length = mendObject(rest)
			}
		}
		at = len(ahead) + length
		d, f, ok := readVerdict(object, length == len(text))
		if !ok {
			continue
		}
		written := rest[:length]
		if !exact && d == verdictAllow && strings.Count(written, "allow_stop")+strings.Count(written, "allowStop") != 1 {
			d = "" // a quotation in the feedback may have been taken for the decision
		}
		decided, feedback, found, before, behind = d, f, true, ahead, rest[length:]
	}
	isQuoted := strings.Contains(before, "{") && closesBrace(behind) ||
		verdictMember().MatchString(before) && strings.Trim(behind, "` \r\n") != ""
	switch {
	case verdictMember().MatchString(behind), decided == verdictAllow && isQuoted:
		return "", ""
	case !found && strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]) == completedMarker:
		return verdictAllow, ""
	}
	return decided, feedback
}

// unfenced is text without white space and a Markdown fence around the whole of it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	_, inside, isBlock := strings.Cut(text, "\n")
	inside, isClosed := strings.CutSuffix(inside, "```")
	if isBlock && isClosed && strings.HasPrefix(text, "```") && !strings.Contains(inside, "```") {
		return strings.TrimSpace(inside)
	}
	return text
}

// closesBrace tells whether text closes a brace that was opened before it.
func closesBrace(text string) bool {
	depth := 0
	return strings.ContainsFunc(text, func(c rune) bool {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth < 0
	})
}

// readVerdict reads a JSON object that is a verdict, or has one as its member verdict; ok is false for any other.
// decided is "" where the decision is neither yes nor no, or yes with another decision beside it. completed, an older
// name of the decision, counts only where the object is the whole result and has no member that no verdict has; else
// it is data that the reviewer quotes.
func readVerdict(object []byte, isWhole bool) (decided verdict, feedback string, ok bool) {
	var members map[string]json.RawMessage // of two with one name the last counts; for a struct Allow_Stop would be one too
	_ = json.Unmarshal(object, &members)
	_, hasFeedback := members["feedback"]
	older := isWhole && (len(members) == 1 || len(members) == 2 && hasFeedback)
	for _, key := range []string{"allow_stop", "allowStop", "completed"} {
		if decision, found := members[key]; found && (key != "completed" || older) {
			word := strings.ToLower(strings.TrimSpace(scalarText(decision)))
			decided, feedback, ok = decisions[word], strings.Join(textsIn(members["feedback"]), "\n"), true
			break
		}
	}
	if inner := members["verdict"]; !ok && isObject(inner) {
		decided, feedback, ok = readVerdict(inner, isWhole)
	}
	if decided == verdictAllow && len(allowKey().FindAll(object, 2)) > 1 {
		decided = ""
	}
	return decided, feedback, ok
}

// textsIn are the texts of value, JSON, and of what is inside it, in order; null has an empty one.
func textsIn(value json.RawMessage) (texts []string) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return []string{scalarText(value)}
	}
	items := json.NewDecoder(bytes.NewReader(value))
	for _, _ = items.Token(); items.More(); {
		if value[0] == '{' {
			_, _ = items.Token() // the key
		}
		var item json.RawMessage
		_ = items.Decode(&item) // value is valid JSON
		texts = append(texts, textsIn(item)...)
	}
	return texts
}

// scalarText is the text of a JSON string, nothing for null, and any other value as it is written.
func scalarText(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text
}

// What an object that a model wrote is made of.
const (
	looseSpace  = "[\\s\u00a0\u3000]+|//[^\n]*(?:\n|\\z)|/\\*(?:[^*]|\\*+[^*/])*\\*+/" // and comments
	looseString = `"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\]|\\(?s:.))*'|[“”](?:[^“”\\]|\\(?s:.))*[“”]|[‘’](?:[^‘’\\]|\\(?s:.))*[‘’]`
	looseWord   = "[^\\s\u00a0\u3000,，:：{}\\[\\]\"'/“”‘’]+"
)

// looseToken matches one part of an object: space, a mark, a string, a bare word, or a character that belongs to none
// of them.
var looseToken = lazyRegexp("^(?:(" + looseSpace + ")|([{}\\[\\],，:：])|(" + looseString + ")|(" + looseWord + ")|(?s:.))")

// mendObject writes the object that text begins with as JSON: with double quotes around strings and bare words, escapes
// for raw newlines, and without comments and trailing commas. It does no more than that; encoding/json tells whether
// the outcome is JSON. length is the object's, up to the brace that closes it, or all of text.
func mendObject(text string) (mended []byte, length int) {
	for depth := 0; length < len(text); {
		token := looseToken().FindStringSubmatch(text[length:])
		length += len(token[0])
		space, mark, quoted, bare := token[1], token[2], token[3], token[4]
		switch {
		case space != "":
		case mark == "{" || mark == "[":
			depth++
			mended = append(mended, mark...)
		case mark == "}" || mark == "]":
			depth--
			mended = append(bytes.TrimSuffix(mended, []byte(",")), mark...)
			if depth == 0 {
				return mended, length
			}
		case mark == "," || mark == "，":
			mended = append(mended, ',')
		case mark != "":
			mended = append(mended, ':')
		case quoted != "":
			_, first := utf8.DecodeRuneInString(quoted)
			_, last := utf8.DecodeLastRuneInString(quoted)
			mended = append(mended, jsonString(quoted[first:len(quoted)-last])...)
		case bare == "null" || bare == "None":
			mended = append(mended, "null"...)
		case bare != "":
			mended = append(mended, encodeJSON(bare)...)
		default:
			mended = append(mended, '!') // stands in no JSON outside a string
		}
	}
	return nil, length
}

// needsCare matches what may not stand in a JSON string as it is.
var needsCare = lazyRegexp(`(?s)\\u[0-9a-fA-F]{4}|\\.|["\x00-\x1f]`)

// jsonString is a JSON string of what a model wrote between quotes. An escape that JSON does not know stands for
// the character behind the backslash.
func jsonString(content string) string {
	return `"` + needsCare().ReplaceAllStringFunc(content, func(s string) string {
		if json.Valid([]byte(`"` + s + `"`)) {
			return s
		}
		quoted := string(encodeJSON(strings.TrimPrefix(s, `\`)))
		return quoted[1 : len(quoted)-1]
	}) + `"`
}
