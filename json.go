package main

// JSON, read with the white space in it, so that a file can be changed with every other byte as it was, and a fault in
// it named by its place.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A jsonValue is one value of a text, in which it stood at text[start:end].
type jsonValue struct {
	start, end int
	kind       byte         // '{', '[', '"', or the first byte of a bare word such as true, null or 12
	raw        string       // a string or a bare word as it is written
	text       string       // what that means
	members    []jsonMember // of an object or an array
	tail       string       // white space before the closing bracket
	line       string       // if it begins a line, newline and indentation of that
}

// A jsonMember is one member of an object, or one item of an array, which has no key.
type jsonMember struct {
	key       string
	gap, name string // what stands before the value: comma and white space, and the key with its colon
	value     *jsonValue
}

// find returns the place of key among the members of v, -1 for none. Of two with the same key the last counts, as in
// Claude Code.
func (v *jsonValue) find(key string) int {
	if v != nil && v.kind == '{' {
		for i, m := range slices.Backward(v.members) {
			if m.key == key {
				return i
			}
		}
	}
	return -1
}

// at returns the value that keys lead to, or nil, which has no members either.
func (v *jsonValue) at(keys ...string) *jsonValue {
	for _, key := range keys {
		i := v.find(key)
		if i < 0 {
			return nil
		}
		v = v.members[i].value
	}
	return v
}

// items returns the items of an array, none for anything else.
func (v *jsonValue) items() []jsonMember {
	if v == nil || v.kind != '[' {
		return nil
	}
	return v.members
}

// isContainer tells whether v is an object or an array.
func (v *jsonValue) isContainer() bool { return v.kind == '{' || v.kind == '[' }

// str returns the text of a string, "" for anything else.
func (v *jsonValue) str() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// String is v as it is written.
func (v *jsonValue) String() string {
	if !v.isContainer() {
		return v.raw
	}
	var out strings.Builder
	out.WriteByte(v.kind)
	for _, m := range v.members {
		out.WriteString(m.gap + m.name + m.value.String())
	}
	return out.String() + v.tail + string(v.kind+2)
}

// in returns text, which v was read from, with v in its place as it is now.
func (v *jsonValue) in(text []byte) []byte {
	return slices.Concat(text[:v.start], []byte(v.String()), text[v.end:])
}

// add puts value, a JSON text, last into v, laid out like what is there. In an array key is "".
func (v *jsonValue) add(key, value string) {
	m := jsonMember{key: key}
	switch {
	case len(v.members) > 0:
		m.gap = "," + v.members[0].gap
	case v.line != "":
		m.gap, v.tail = v.line+"  ", v.line // as Claude Code writes it
	}
	if v.kind == '{' {
		m.name = string(encodeJSON(key)) + ":"
		if lineOf(m.gap) != "" {
			m.name += " "
		}
	}
	v.members = append(v.members, m)
	v.replace(len(v.members)-1, value)
}

// replace puts value, a JSON text, laid out, in the place of the member at index.
func (v *jsonValue) replace(index int, value string) {
	m, out := &v.members[index], new(bytes.Buffer)
	line := lineOf(m.gap)
	if line == "" {
		_ = json.Compact(out, []byte(value)) // it is valid JSON
	} else {
		_ = json.Indent(out, []byte(value), line[1:], strings.TrimPrefix(line, v.line))
	}
	m.value = (&jsonParser{text: out.String()}).value(line)
}

// set puts value under key of v, an object: in the place of an old one as it is, or last, laid out.
func (v *jsonValue) set(key, value string) {
	i := v.find(key)
	if i < 0 {
		v.add(key, value)
		return
	}
	v.members[i].value = (&jsonParser{text: value}).value(lineOf(v.members[i].gap))
}

// drop removes the member under key of v.
func (v *jsonValue) drop(key string) { v.remove(v.find(key)) }

// remove takes the member at index out, with the comma and the white space that came with it.
func (v *jsonValue) remove(index int) {
	if index == 0 && len(v.members) > 1 {
		v.members[1].gap = v.members[0].gap
	}
	if v.members = slices.Delete(v.members, index, index+1); len(v.members) == 0 {
		v.tail = ""
	}
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

// isBlank tells whether text, a file's, holds nothing. For Claude Code that counts as {}.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(unmarked(text))) == 0 }

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
	return (&jsonParser{text: string(plain)}).value("\n"), nil
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

// A jsonParser reads a text that is known to be JSON. With the tokens of encoding/json it would take several times as
// long, at each start of ccc.
type jsonParser struct {
	text string
	at   int // what comes next
}

// next moves on to the next value, key or bracket. What is passed over has one meaning where it may stand.
func (p *jsonParser) next() int {
	p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n,:"))
	return p.at
}

// word reads a string or a bare word, and what it means.
func (p *jsonParser) word() (raw, text string) {
	start := p.at
	if p.text[start] != '"' {
		p.at = len(p.text)
		if end := strings.IndexAny(p.text[start:], " \t\r\n,:{}[]"); end >= 0 {
			p.at = start + end
		}
		return p.text[start:p.at], p.text[start:p.at]
	}
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	_ = json.Unmarshal([]byte(p.text[start:p.at]), &text) // it is a JSON string
	return p.text[start:p.at], text
}

// value reads the next value; line is its own.
func (p *jsonParser) value(line string) *jsonValue {
	v := &jsonValue{start: p.next(), line: line}
	v.kind = p.text[p.at]
	if v.isContainer() {
		p.at++
		end := p.at
		for p.next(); p.text[p.at] != v.kind+2; p.next() { // in ASCII the closing bracket is two behind
			start := p.at
			m := jsonMember{gap: p.text[end:start]}
			if v.kind == '{' {
				_, m.key = p.word()
				m.name = p.text[start:p.next()]
			}
			m.value = p.value(lineOf(m.gap))
			v.members, end = append(v.members, m), p.at
		}
		v.tail = p.text[end:p.at]
		p.at++
		v.raw = p.text[v.start:p.at]
	} else {
		v.raw, v.text = p.word()
	}
	v.end = p.at
	return v
}

// lineOf is the last newline of gap and the indentation behind it, up to a comma; "" if no line begins there.
func lineOf(gap string) string {
	line, _, _ := strings.Cut(gap[max(0, strings.LastIndexByte(gap, '\n')):], ",")
	if !strings.HasPrefix(line, "\n") {
		return ""
	}
	return line
}

// sameJSON tells whether two JSON texts mean the same.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
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
