package main

// JSON, read with the places of its values: one can be replaced, and every other byte stays as it was.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A jsonValue is one value of a JSON text: text[start:end].
type jsonValue struct {
	start, end int
	raw        string       // the value as it is written; the first byte is its kind
	text       string       // a string's decoded text, "" for other kinds
	members    []jsonMember // of an object or an array
}

// A jsonMember is one member of an object, or one item of an array, whose key is its index.
type jsonMember struct {
	key   string
	start int // of the key, in an array of the item
	value *jsonValue
}

// is reports whether v begins with that byte: '{' for an object, '[' for an array.
func (v *jsonValue) is(kind byte) bool { return v.raw != "" && v.raw[0] == kind }

// find returns the index of the member with that key, or -1. Of two the last counts, as in Claude Code.
func (v *jsonValue) find(key string) int {
	for i, m := range slices.Backward(v.members) {
		if m.key == key {
			return i
		}
	}
	return -1
}

// at returns the value under path, a list of keys and indexes, or an empty one, whose raw is "".
func (v *jsonValue) at(path ...string) *jsonValue {
	for _, key := range path {
		at := v.find(key)
		if at < 0 {
			return new(jsonValue)
		}
		v = v.members[at].value
	}
	return v
}

// items returns the items of an array, nil for any other value.
func (v *jsonValue) items() []jsonMember {
	if !v.is('[') {
		return nil
	}
	return v.members
}

// variable returns the value that v gives a variable: a string's text, a number or boolean as it is written.
func (v *jsonValue) variable() string {
	if v.is('"') {
		return v.text
	}
	return v.raw
}

// setJSON returns text with value under path, both valid JSON, and every other byte as it was. It creates
// missing objects; an index one past the last of an array adds an item. It indents as Claude Code does.
func setJSON(text []byte, value string, path ...string) []byte {
	parent, _ := parseJSON(text)
	margin := "\n  "
	closing := "\n"
	for len(path) > 1 && parent.at(path[0]).raw != "" {
		parent, path = parent.at(path[0]), path[1:]
		margin, closing = margin+"  ", margin
	}
	for _, key := range slices.Backward(path[1:]) {
		value = fmt.Sprintf("{%s:%s}", encodeJSON(key), value)
	}
	laidOut := new(bytes.Buffer)
	_ = json.Indent(laidOut, []byte(value), margin[1:], "  ")
	added := laidOut.String()
	start := parent.start + 1
	end := parent.end - 1
	if parent.is('{') {
		added = string(encodeJSON(path[0])) + ": " + added
	}
	if old := parent.at(path[0]); old.raw != "" {
		added = laidOut.String()
		start = old.start
		end = old.end
	} else if last := len(parent.members) - 1; last >= 0 {
		start = parent.members[last].value.end
		added = "," + margin + added
		end = start
	} else {
		added = margin + added + closing
	}
	return slices.Concat(text[:start], []byte(added), text[end:])
}

// dropJSON returns text, valid JSON, without the value under path, its key and its comma. The value has to be
// there.
func dropJSON(text []byte, path ...string) []byte {
	last := len(path) - 1
	root, _ := parseJSON(text)
	parent := root.at(path[:last]...)
	start := parent.start + 1
	end := parent.end - 1
	i := parent.find(path[last])
	members := parent.members
	switch {
	case i > 0:
		start, end = members[i-1].value.end, members[i].value.end
	case len(members) > 1:
		start, end = members[0].start, members[1].start
	}
	return slices.Concat(text[:start], text[end:])
}

// byteOrderMark begins the files of some editors. It is no part of the JSON, and stays there.
var byteOrderMark = []byte("\ufeff")

// unmarked returns text with white space of the same length in the place of a byte order mark.
func unmarked(text []byte) []byte {
	if rest, marked := bytes.CutPrefix(text, byteOrderMark); marked {
		return slices.Concat([]byte("   "), rest)
	}
	return text
}

// isBlank reports whether text is empty or white space. Claude Code takes such a file as {}.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(unmarked(text))) == 0 }

// parseJSON reads text, which must hold exactly one JSON value; a byte order mark may come before it. The
// error names line and column of the fault, as position counts them.
func parseJSON(text []byte) (*jsonValue, error) {
	plain := unmarked(text)
	var syntax *json.SyntaxError // there is no other error
	if errors.As(json.Unmarshal(plain, new(json.RawMessage)), &syntax) {
		at := max(0, int(syntax.Offset)-1) // Offset counts the faulty byte, too
		line, column := position(text, at)
		said := syntax.Error()
		if r, size := utf8.DecodeRune(plain[min(at, len(plain)):]); size > 1 { // it calls “ by its first byte
			said = strings.Replace(said, fmt.Sprintf("%q", rune(plain[at])), fmt.Sprintf("%q", r), 1)
		}
		return new(jsonValue), fmt.Errorf("line %d, column %d: %s", line, column, said)
	}
	r := jsonReader{text: string(plain), Decoder: json.NewDecoder(bytes.NewReader(plain))}
	r.UseNumber() // some numbers fit into no float64
	return r.value(), nil
}

// position returns line and column of text[offset]. Both count from 1, columns in bytes.
func position(text []byte, offset int) (line, column int) {
	before := bytes.TrimPrefix(text[:min(offset, len(text))], byteOrderMark)
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// expectKind returns an error that calls v name unless v is empty or of that kind, '{' or '['.
func expectKind(text []byte, v *jsonValue, kind byte, name string) error {
	if v.raw == "" || v.is(kind) {
		return nil
	}
	line, column := position(text, v.start)
	want := map[byte]string{'{': "an object", '[': "an array"}[kind]
	return fmt.Errorf("line %d, column %d: %s is not %s", line, column, name, want)
}

// A jsonReader reads a text that is known to be JSON.
type jsonReader struct {
	text string
	*json.Decoder
}

// next returns the place of the next key or value.
func (r *jsonReader) next() int {
	rest := r.text[r.InputOffset():]
	return len(r.text) - len(strings.TrimLeft(rest, " \t\r\n,:"))
}

func (r *jsonReader) value() *jsonValue {
	v := &jsonValue{start: r.next()}
	token, _ := r.Token()
	v.text, _ = token.(string)
	if _, nested := token.(json.Delim); nested {
		for r.More() {
			m := jsonMember{key: strconv.Itoa(len(v.members)), start: r.next()}
			if token == json.Delim('{') {
				key, _ := r.Token()
				m.key, _ = key.(string)
			}
			m.value = r.value()
			v.members = append(v.members, m)
		}
		_, _ = r.Token()
	}
	v.end = int(r.InputOffset())
	v.raw = r.text[v.start:v.end]
	return v
}

func sameJSON(a, b string) bool {
	var x, y any
	errX := json.Unmarshal([]byte(a), &x)
	errY := json.Unmarshal([]byte(b), &y)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// encodeJSON is json.Marshal without the escaping of <, > and &. It panics for a value that has no JSON.
func encodeJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
