package main

// A JSON text is edited in place: setMember, appendItem, removeMember and removeItem change one value and leave
// every other byte alone, in the indentation that the text already has.

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

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

// sameJSON compares by value, so that an escaped letter is no change.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
