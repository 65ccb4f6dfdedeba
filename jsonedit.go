package main

// A JSON text is edited in place: parseJSON says where each value stands, and
// setMember, appendItem, removeMember and removeItem change one value and leave
// every other byte alone, in the indentation that the text already has.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// jsonValue is one value and its place: text[start:end].
type jsonValue struct {
	start, end int
	kind       byte // '{', '[', '"', 't', 'f', 'n', or '0' for any number
	members    []jsonMember
	items      []*jsonValue
}

// jsonMember is one member of an object; its key token is text[start:end].
type jsonMember struct {
	key        string
	start, end int
	value      *jsonValue
}

// member returns the value under key, or nil, which has no members either. Of
// two members with the same key the last counts, as in Claude Code.
func (v *jsonValue) member(key string) *jsonValue {
	if v == nil {
		return nil
	}
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].key == key {
			return v.members[i].value
		}
	}
	return nil
}

// parseJSON reads text, which must hold exactly one JSON value. The error names
// line and column of the fault, both counted from 1, columns in bytes.
func parseJSON(text []byte) (*jsonValue, error) {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
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
	p := jsonParser{text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	p.decoder.UseNumber()
	return p.value()
}

// position returns line and column, from 1, of text[offset].
func position(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
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
				key, start, end, err := p.next()
				if err != nil {
					return nil, err
				}
				m.key, m.start, m.end = key.(string), start, end
			}
			if m.value, err = p.value(); err != nil {
				return nil, err
			}
			if v.kind == '{' {
				v.members = append(v.members, m)
			} else {
				v.items = append(v.items, m.value)
			}
		}
		if _, _, v.end, err = p.next(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// setMember returns text with value, a JSON text, under key of object, which is
// a value of text: an existing value is replaced, a new member comes last.
func setMember(text []byte, object *jsonValue, key string, value []byte) []byte {
	if old := object.member(key); old != nil {
		layout := layoutOf(text, object)
		return splice(text, old.start, old.end, layout.indented(value))
	}
	layout := layoutOf(text, object)
	member := append(encodeJSON(key), layout.colon...)
	return insertLast(text, object, layout, append(member, layout.indented(value)...))
}

// appendItem returns text with value, a JSON text, as the last item of array.
func appendItem(text []byte, array *jsonValue, value []byte) []byte {
	layout := layoutOf(text, array)
	return insertLast(text, array, layout, layout.indented(value))
}

func insertLast(text []byte, container *jsonValue, layout layout, content []byte) []byte {
	if last := container.lastEnd(); last > 0 {
		return splice(text, last, last, append([]byte(","+layout.gap), content...))
	}
	content = append([]byte(layout.gap), content...)
	return splice(text, container.start+1, container.end-1, append(content, layout.closing...))
}

// removeMember returns text without the member under key of object, removeItem
// without one item of array. They take out what setMember and appendItem put in,
// with the comma and the white space that came with it; only the white space of
// a container that was empty before is theirs to forget.
func removeMember(text []byte, object *jsonValue, key string) []byte {
	for i, m := range slices.Backward(object.members) {
		if m.key == key {
			return object.cut(text, i)
		}
	}
	return text
}

func removeItem(text []byte, array *jsonValue, index int) []byte {
	return array.cut(text, index)
}

// cut returns text without the member or item at index of v.
func (v *jsonValue) cut(text []byte, index int) []byte {
	var starts, ends []int
	for _, m := range v.members {
		starts, ends = append(starts, m.start), append(ends, m.value.end)
	}
	for _, item := range v.items {
		starts, ends = append(starts, item.start), append(ends, item.end)
	}
	switch {
	case index > 0:
		return splice(text, ends[index-1], ends[index], nil)
	case len(ends) > 1:
		return splice(text, starts[0], starts[1], nil)
	default:
		return splice(text, v.start+1, v.end-1, nil)
	}
}

// splice returns a copy of text with text[start:end] replaced.
func splice(text []byte, start, end int, content []byte) []byte {
	return append(append(append([]byte{}, text[:start]...), content...), text[end:]...)
}

// lastEnd is the offset behind the last member or item, 0 when there is none.
func (v *jsonValue) lastEnd() int {
	if n := len(v.members); n > 0 {
		return v.members[n-1].value.end
	}
	if n := len(v.items); n > 0 {
		return v.items[n-1].end
	}
	return 0
}

// isEmpty tells whether v is a container of that kind with nothing in it.
func (v *jsonValue) isEmpty(kind byte) bool { return v.kind == kind && v.lastEnd() == 0 }

// firstStart is the offset of the first key or item of a container that has one.
func (v *jsonValue) firstStart() int {
	if len(v.members) > 0 {
		return v.members[0].start
	}
	return v.items[0].start
}

// layout is how a container of a text is written, for one more member in it.
type layout struct {
	gap     string // white space before each member or item
	colon   string // between key and value
	closing string // white space before the closing bracket, used when the container was empty
	unit    string // one step of indentation, "" in a text of one line
	newline string
}

// layoutOf reads the layout of container off text, and what an empty container
// can't tell off the whole text. An empty text is written with two spaces.
func layoutOf(text []byte, container *jsonValue) layout {
	l := layout{colon: ": ", unit: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	root, err := parseJSON(text)
	if err == nil && root.lastEnd() > 0 {
		l.unit = ""
		if _, indent, ok := cutLast(string(text[root.start+1:root.firstStart()]), "\n"); ok {
			l.unit = indent
		}
	}
	if err == nil && len(root.members) > 0 {
		first := root.members[0]
		l.colon = string(text[first.end:first.value.start])
	}
	if container.lastEnd() > 0 {
		l.gap = string(text[container.start+1 : container.firstStart()])
		if !strings.Contains(l.gap, "\n") && l.colon != ":" {
			l.gap = " "
		}
	} else if l.unit != "" {
		line := text[bytes.LastIndexByte(text[:container.start], '\n')+1 : container.start]
		indent := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
		l.closing = l.newline + indent
		l.gap = l.closing + l.unit
	}
	return l
}

// indented writes value, a JSON text, as it stands behind the layout's gap.
func (l layout) indented(value []byte) []byte {
	_, indent, multiline := cutLast(l.gap, "\n")
	var out bytes.Buffer
	if !multiline || l.unit == "" {
		if json.Compact(&out, value) != nil {
			return value
		}
		return out.Bytes()
	}
	if json.Indent(&out, value, indent, l.unit) != nil {
		return value
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(l.newline))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// encodeJSON is json.Marshal without the escaping of <, > and &, for values
// that always can be encoded.
func encodeJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
