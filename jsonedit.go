package main

// A JSON text is edited in place: parseJSON says where each value stands, and setMember, appendItem, removeMember
// and removeItem change one value and leave every other byte alone, in the indentation that the text already has.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// jsonValue is one value and its place: text[start:end].
type jsonValue struct {
	start, end int
	kind       byte // '{', '[', '"', 't', 'f', 'n', or '0' for any number
	members    []jsonMember
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

// byteOrderMark begins files that some editors write. It is no part of the JSON, and stays where it is.
var byteOrderMark = []byte("\ufeff")

// unmarked returns text with white space in the place of a byte order mark, so that every value keeps its place.
func unmarked(text []byte) []byte {
	if rest, marked := bytes.CutPrefix(text, byteOrderMark); marked {
		return slices.Concat([]byte("   "), rest)
	}
	return text
}

// parseJSON reads text, which must hold exactly one JSON value, behind a byte order mark or not. The error names line
// and column of the fault, both counted from 1, columns in bytes.
func parseJSON(text []byte) (*jsonValue, error) {
	p := jsonParser{text: unmarked(text)}
	if err := json.Unmarshal(p.text, new(json.RawMessage)); err != nil {
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
	p.decoder = json.NewDecoder(bytes.NewReader(p.text))
	p.decoder.UseNumber()
	return p.value()
}

// position returns line and column, from 1, of text[offset].
func position(text []byte, offset int) (line, column int) {
	before := bytes.TrimPrefix(text[:min(offset, len(text))], byteOrderMark)
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

type jsonParser struct {
	text    []byte
	decoder *json.Decoder
}

// next returns the next token and its place.
func (p *jsonParser) next() (token json.Token, start, end int, err error) {
	start = int(p.decoder.InputOffset())
	for start < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[start]) >= 0 {
		start++
	}
	token, err = p.decoder.Token()
	return token, start, int(p.decoder.InputOffset()), err
}

func (p *jsonParser) value() (*jsonValue, error) {
	token, start, end, err := p.next()
	if err != nil {
		return nil, err
	}
	v := &jsonValue{start: start, end: end, kind: p.text[start]}
	switch token.(type) {
	case json.Number:
		v.kind = '0'
	case json.Delim:
		for p.decoder.More() {
			var m jsonMember
			if v.kind == '{' {
				var key json.Token
				if key, m.start, m.end, err = p.next(); err != nil {
					return nil, err
				}
				m.key = key.(string)
			}
			if m.value, err = p.value(); err != nil {
				return nil, err
			}
			if v.kind == '[' {
				m.start = m.value.start
			}
			v.members = append(v.members, m)
		}
		_, _, v.end, err = p.next()
	}
	return v, err
}

// setMember returns text with value, a JSON text, under key of object, which is a value of text: an existing value
// is replaced, a new member comes last.
func setMember(text []byte, object *jsonValue, key string, value []byte) []byte {
	layout := layoutOf(text, object)
	if old := object.member(key); old != nil {
		return splice(text, old.start, old.end, layout.indented(value))
	}
	member := append(encodeJSON(key), layout.colon...)
	return insertLast(text, object, layout, append(member, layout.indented(value)...))
}

// appendItem returns text with value, a JSON text, as the last item of array.
func appendItem(text []byte, array *jsonValue, value []byte) []byte {
	layout := layoutOf(text, array)
	return insertLast(text, array, layout, layout.indented(value))
}

func insertLast(text []byte, container *jsonValue, layout layout, content []byte) []byte {
	if n := len(container.members); n > 0 {
		last := container.members[n-1].value.end
		return splice(text, last, last, append([]byte(","+layout.gap), content...))
	}
	content = append([]byte(layout.gap), content...)
	return splice(text, container.start+1, container.end-1, append(content, layout.closing...))
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

// layout is how a container of a text is written, for one more member in it.
type layout struct {
	gap     string // white space before each member or item
	colon   string // between key and value
	closing string // white space before the closing bracket, used when the container was empty
	unit    string // one step of indentation, "" in a text of one line
	newline string
}

// layoutOf reads the layout of container off text, and what an empty container can't tell off the whole text. An
// empty text is written with two spaces.
func layoutOf(text []byte, container *jsonValue) layout {
	l := layout{colon: ": ", unit: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if root, err := parseJSON(text); err == nil && len(root.members) > 0 {
		first := root.members[0]
		l.unit, _ = indentOf(string(text[root.start+1 : first.start]))
		if root.kind == '{' {
			l.colon = string(text[first.end:first.value.start])
		}
	}
	if len(container.members) > 0 {
		l.gap = string(text[container.start+1 : container.members[0].start])
		if !strings.Contains(l.gap, "\n") && l.colon != ":" {
			l.gap = " "
		}
	} else if l.unit != "" {
		line := text[bytes.LastIndexByte(text[:container.start], '\n')+1 : container.start]
		l.closing = l.newline + string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
		l.gap = l.closing + l.unit
	}
	return l
}

// indented writes value, a JSON text, as it stands behind the layout's gap.
func (l layout) indented(value []byte) []byte {
	var out bytes.Buffer
	indent, multiline := indentOf(l.gap)
	if !multiline || l.unit == "" {
		_ = json.Compact(&out, value) // it is valid JSON
		return out.Bytes()
	}
	_ = json.Indent(&out, value, indent, l.unit)
	return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(l.newline))
}

// indentOf returns what stands behind the last line break of space, if there is one.
func indentOf(space string) (indent string, multiline bool) {
	i := strings.LastIndexByte(space, '\n')
	if i < 0 {
		return "", false
	}
	return space[i+1:], true
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

// stringAt decodes the string value v of text; anything else gives "".
func stringAt(text []byte, v *jsonValue) (s string) {
	if v != nil && v.kind == '"' {
		_ = json.Unmarshal(text[v.start:v.end], &s)
	}
	return s
}

// sameJSON compares by value, so that an escaped letter is no change.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
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
