package main

// JSON, read with the place of each value: as programs write it, and as models do, with raw newlines in strings,
// single and typographic quotes, bare words, comments, a trailing comma.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A jsonValue is one value and its place: text[start:end].
type jsonValue struct {
	start, end int
	kind       byte         // '{', '[', '"', or the first byte of a bare word such as true, null or 12
	raw        string       // the value as it is written
	text       string       // of a string or a bare word
	members    []jsonMember // of an object or an array
}

// jsonMember is one member of an object, whose key token is text[start:end], or one item of an array, whose key is
// "" and which starts where its value starts.
type jsonMember struct {
	key        string
	start, end int
	value      *jsonValue
}

// member returns the value under key of an object, or nil, which has no members either. Of two members with the
// same key the last counts, as in Claude Code.
func (v *jsonValue) member(key string) *jsonValue {
	if v == nil || v.kind != '{' {
		return nil
	}
	for _, m := range slices.Backward(v.members) {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// items returns the items of an array, none for anything else.
func (v *jsonValue) items() []jsonMember {
	if v == nil || v.kind != '[' {
		return nil
	}
	return v.members
}

// isEmpty tells whether v is an object or an array with nothing in it.
func (v *jsonValue) isEmpty() bool { return (v.kind == '{' || v.kind == '[') && len(v.members) == 0 }

// str returns the text of a string, "" for anything else.
func (v *jsonValue) str() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// texts are the texts of v and of what is inside it, in order; null has an empty one.
func (v *jsonValue) texts() (texts []string) {
	switch {
	case v == nil || v.kind != '"' && (v.text == "null" || v.text == "None"):
		return []string{""}
	case v.kind != '{' && v.kind != '[':
		return []string{v.text}
	}
	for _, m := range v.members {
		texts = append(texts, m.value.texts()...)
	}
	return texts
}

// byteOrderMark begins files that some editors write. It is no part of the JSON, and stays where it is.
var byteOrderMark = []byte("\ufeff")

// unmarked returns text with white space in the place of a byte order mark, so that every value keeps its place.
func unmarked(text []byte) []byte {
	if rest, marked := bytes.CutPrefix(text, byteOrderMark); marked {
		return slices.Concat([]byte("   "), rest)
	}
	return text
}

// parseJSON reads text, which must hold exactly one JSON value, behind a byte order mark or not. The error names
// line and column of the fault, both counted from 1, columns in bytes.
func parseJSON(text []byte) (*jsonValue, error) {
	plain := unmarked(text)
	if err := json.Unmarshal(plain, new(json.RawMessage)); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, err
		}
		offset := int(syntax.Offset)
		if !strings.HasPrefix(syntax.Error(), "unexpected end") {
			offset-- // Offset counts the bytes read, the faulty one included
		}
		line, column := position(text, offset)
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, syntax)
	}
	p := jsonParser{text: string(plain), depth: len(plain)} // encoding/json has a limit of its own
	v, _ := p.value()
	return v, nil
}

// parseLoose reads the value that text, a model's, begins with and returns what follows it; ok is false if there is
// none that can be read whole. Nesting is bounded, so that a text made of brackets can't exhaust the stack.
func parseLoose(text string) (v *jsonValue, rest string, ok bool) {
	p := jsonParser{text: text, depth: 100}
	v, ok = p.value()
	return v, text[p.at:], ok
}

// position returns line and column, from 1, of text[offset].
func position(text []byte, offset int) (line, column int) {
	before := bytes.TrimPrefix(text[:min(offset, len(text))], byteOrderMark)
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// expectKind returns an error if v, called name, is there and of another kind, '{' or '[', than that.
func expectKind(text []byte, v *jsonValue, kind byte, name string) error {
	if v == nil || v.kind == kind {
		return nil
	}
	line, column := position(text, v.start)
	want := map[byte]string{'{': "an object", '[': "an array"}[kind]
	return fmt.Errorf("line %d, column %d: %s is not %s", line, column, name, want)
}

type jsonParser struct {
	text  string
	at    int // what comes next
	depth int // how many more levels a value may have
}

// skip passes over white space and comments.
func (p *jsonParser) skip() {
	for {
		rest := strings.TrimLeft(p.text[p.at:], " \t\r\n\u00a0\u3000")
		behind := rest
		switch {
		case strings.HasPrefix(rest, "//"):
			_, behind, _ = strings.Cut(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			_, behind, _ = strings.Cut(rest, "*/")
		}
		p.at = len(p.text) - len(behind)
		if len(behind) == len(rest) {
			return
		}
	}
}

// take passes over the first of the marks that come next and returns it, "" for none.
func (p *jsonParser) take(marks ...string) string {
	p.skip()
	for _, mark := range marks {
		if strings.HasPrefix(p.text[p.at:], mark) {
			p.at += len(mark)
			return mark
		}
	}
	return ""
}

func (p *jsonParser) value() (v *jsonValue, ok bool) {
	if p.depth--; p.depth < 0 {
		return nil, false
	}
	defer func() { p.depth++ }()
	p.skip()
	v = &jsonValue{start: p.at}
	switch p.take("{", "[") {
	case "{":
		v.kind = '{'
		ok = p.list(v, "}")
	case "[":
		v.kind = '['
		ok = p.list(v, "]")
	default:
		v.text, v.kind = p.word()
		ok = v.kind != 0
	}
	v.end = p.at
	v.raw = p.text[v.start:v.end]
	return v, ok
}

// list reads the members or items of v up to the closing bracket.
func (p *jsonParser) list(v *jsonValue, closing string) (ok bool) {
	for p.take(closing) == "" {
		m := jsonMember{start: p.at}
		if v.kind == '{' {
			var kind byte
			m.key, kind = p.word()
			if m.end = p.at; kind == 0 || p.take(":", "：") == "" {
				return false
			}
		}
		if m.value, ok = p.value(); !ok {
			return false
		}
		v.members = append(v.members, m)
		if p.take(",", "，") == "" && !strings.HasPrefix(p.text[p.at:], closing) {
			return false
		}
	}
	return true
}

// closers are what may end a string, by what begins it.
var closers = map[string]string{`"`: `"`, "'": "'", "“": "”“", "”": "”“", "‘": "’‘", "’": "’‘"}

// word reads a string or a bare word; kind is 0 if there is neither.
func (p *jsonParser) word() (text string, kind byte) {
	quote := p.take(`"`, "'", "“", "”", "‘", "’")
	if quote == "" {
		text = p.text[p.at:]
		if end := strings.IndexAny(text, " \t\r\n,，:：{}[]\"'/“”‘’"); end >= 0 {
			text = text[:end]
		}
		p.at += len(text)
		return text, (text + "\x00")[0]
	}
	var b strings.Builder
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		if r == '\\' {
			b.WriteString(p.escape())
			continue
		}
		p.at += size
		if strings.ContainsRune(closers[quote], r) {
			return b.String(), '"'
		}
		b.WriteRune(r) // for a byte that is no UTF-8, the replacement character, as in encoding/json
	}
	return "", 0
}

// escape reads an escape sequence; one that JSON does not know stands for the character behind the backslash.
func (p *jsonParser) escape() (s string) {
	rest := p.text[p.at:]
	for _, length := range []int{12, 6, 2} { // a surrogate pair, \u0041, \n
		if length <= len(rest) && json.Unmarshal([]byte(`"`+rest[:length]+`"`), &s) == nil && (length == 2 || utf8.RuneCountInString(s) == 1) {
			p.at += length
			return s
		}
	}
	_, size := utf8.DecodeRuneInString(rest[1:])
	p.at += 1 + size
	return rest[1 : 1+size]
}
