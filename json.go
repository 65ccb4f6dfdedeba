package main

// JSON, read with the place of each value, so that a file can be edited in place, in the indentation that the text has,
// and a fault in it named.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
func (v *jsonValue) isEmpty() bool {
	return v != nil && (v.kind == '{' || v.kind == '[') && len(v.members) == 0
}

// str returns the text of a string, "" for anything else.
func (v *jsonValue) str() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
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
	p := jsonParser{text: string(plain)}
	return p.value(), nil
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

// A jsonParser reads a text that is known to be JSON.
type jsonParser struct {
	text string
	at   int // what comes next
}

// skip passes over white space and marks, each of which has one meaning where it may stand.
func (p *jsonParser) skip(marks string) {
	p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"+marks))
}

func (p *jsonParser) value() *jsonValue {
	p.skip("")
	v := &jsonValue{start: p.at, kind: p.text[p.at]}
	switch v.kind {
	case '{', '[':
		p.at++
		for p.skip(","); p.text[p.at] != v.kind+2; p.skip(",") { // in ASCII the closing bracket is two behind
			m := jsonMember{start: p.at}
			if v.kind == '{' {
				m.key = p.word()
				m.end = p.at
				p.skip(":")
			}
			m.value = p.value()
			v.members = append(v.members, m)
		}
		p.at++
	default:
		v.text = p.word()
	}
	v.end = p.at
	v.raw = p.text[v.start:v.end]
	return v
}

// word reads a string or a bare word.
func (p *jsonParser) word() (text string) {
	start := p.at
	if p.text[start] != '"' {
		p.at += len(p.text[start:])
		if end := strings.IndexAny(p.text[start:], " \t\r\n,:{}[]"); end >= 0 {
			p.at = start + end
		}
		return p.text[start:p.at]
	}
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	_ = json.Unmarshal([]byte(p.text[start:p.at]), &text) // it is a JSON string
	return text
}

// setMember returns text with value, a JSON text, under key of object, which is a value of text: an existing value
// is replaced, a new member comes last. Every other byte stays as it is.
func setMember(text []byte, object *jsonValue, key string, value []byte) []byte {
	if old := object.member(key); old != nil {
		return splice(text, old.start, old.end, value)
	}
	l := layoutOf(text, object)
	return insertLast(text, object, slices.Concat(encodeJSON(key), []byte(l.colon), l.indented(value)))
}

// setItem is setMember for the item at index of array.
func setItem(text []byte, array *jsonValue, index int, value []byte) []byte {
	old := array.members[index].value
	return splice(text, old.start, old.end, layoutOf(text, array).indented(value))
}

// appendItem returns text with value, a JSON text, as the last item of array.
func appendItem(text []byte, array *jsonValue, value []byte) []byte {
	return insertLast(text, array, layoutOf(text, array).indented(value))
}

func insertLast(text []byte, container *jsonValue, content []byte) []byte {
	l := layoutOf(text, container)
	if n := len(container.members); n > 0 {
		last := container.members[n-1].value.end
		return splice(text, last, last, slices.Concat([]byte(","+l.gap), content))
	}
	return splice(text, container.start+1, container.end-1, slices.Concat([]byte(l.gap), content, []byte(l.closing)))
}

// removeMember returns text without the member under key of object.
func removeMember(text []byte, object *jsonValue, key string) []byte {
	for i, m := range slices.Backward(object.members) {
		if m.key == key {
			return removeItem(text, object, i)
		}
	}
	return text
}

// removeItem returns text without the member or item at index of container, with the comma and the white space that
// came with it.
func removeItem(text []byte, container *jsonValue, index int) []byte {
	m := container.members
	switch {
	case index > 0:
		return splice(text, m[index-1].value.end, m[index].value.end, nil)
	case len(m) > 1:
		return splice(text, m[0].start, m[1].start, nil)
	}
	return splice(text, container.start+1, container.end-1, nil)
}

// splice returns a copy of text with text[start:end] replaced.
func splice(text []byte, start, end int, content []byte) []byte {
	return slices.Concat(text[:start], content, text[end:])
}

// A layout is how a container of a text is written, for one more member in it.
type layout struct {
	gap     string // white space before each member or item
	closing string // white space before the closing bracket
	colon   string // between key and value
	unit    string // one step of indentation
}

// layoutOf reads the layout of container off text: its gap off its first member, or else off its line and the first
// member of the text. An empty text is written with two spaces.
func layoutOf(text []byte, container *jsonValue) layout {
	unit := "  "
	if root, err := parseJSON(text); err == nil && len(root.members) > 0 {
		gap := string(text[root.start+1 : root.members[0].start])
		if unit = gap[strings.LastIndexByte(gap, '\n')+1:]; unit == gap {
			return layout{colon: ":"} // a text of one line
		}
	}
	line := text[bytes.LastIndexByte(text[:container.start], '\n')+1 : container.start]
	l := layout{closing: "\n" + string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), colon: ": ", unit: unit}
	l.gap = l.closing + unit
	if len(container.members) > 0 {
		l.gap = string(text[container.start+1 : container.members[0].start])
	}
	return l
}

// indented writes value, a JSON text, as it stands behind the layout's gap.
func (l layout) indented(value []byte) []byte {
	var out bytes.Buffer
	i := strings.LastIndexByte(l.gap, '\n')
	if i < 0 {
		_ = json.Compact(&out, value) // it is valid JSON
		return out.Bytes()
	}
	_ = json.Indent(&out, value, l.gap[i+1:], l.unit)
	return out.Bytes()
}

// encodeJSON is json.Marshal without the escaping of <, > and &, for values that always can be encoded.
func encodeJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// sameJSON compares by value, so that an escaped letter is no change.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
