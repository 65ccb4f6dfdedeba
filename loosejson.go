package main

// JSON as models write it: raw newlines in strings, single and typographic quotes, bare words, comments, a trailing
// comma.

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A looseValue is a text (a string, or a bare word such as true, yes or 12; null is ""), an array or an object.
type looseValue struct {
	text    string
	items   []looseValue
	members []looseMember // in the order of the text; nil for anything but an object
}

type looseMember struct {
	key   string
	value looseValue
}

// member returns the value under key; of two with the same key the last counts.
func (v looseValue) member(key string) (found looseValue, ok bool) {
	for _, m := range v.members {
		if m.key == key {
			found, ok = m.value, true
		}
	}
	return found, ok
}

// has tells whether v has a member of one of these names.
func (v looseValue) has(keys ...string) bool {
	return slices.ContainsFunc(v.members, func(m looseMember) bool { return slices.Contains(keys, m.key) })
}

// texts are the texts of v, those inside it in order.
func (v looseValue) texts() (texts []string) {
	if v.items == nil && v.members == nil {
		return []string{v.text}
	}
	for _, item := range v.items {
		texts = append(texts, item.texts()...)
	}
	for _, m := range v.members {
		texts = append(texts, m.value.texts()...)
	}
	return texts
}

// parseLoose reads the value that text begins with and returns what follows it; ok is false if there is none that can
// be read whole.
func parseLoose(text string) (v looseValue, rest string, ok bool) {
	p := looseParser{rest: text}
	v, ok = p.value()
	return v, p.rest, ok
}

type looseParser struct {
	rest  string
	depth int
}

// looseDepth bounds nesting, so that a text made of brackets can't exhaust the stack.
const looseDepth = 100

// skip passes over white space and comments.
func (p *looseParser) skip() {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n\u00a0\u3000")
		switch {
		case strings.HasPrefix(p.rest, "//"):
			_, p.rest, _ = strings.Cut(p.rest, "\n")
		case strings.HasPrefix(p.rest, "/*"):
			_, p.rest, _ = strings.Cut(p.rest, "*/")
		default:
			return
		}
	}
}

// take passes over the first of the marks that the rest begins with and returns it, "" for none.
func (p *looseParser) take(marks ...string) string {
	p.skip()
	for _, mark := range marks {
		if strings.HasPrefix(p.rest, mark) {
			p.rest = p.rest[len(mark):]
			return mark
		}
	}
	return ""
}

func (p *looseParser) value() (v looseValue, ok bool) {
	if p.depth++; p.depth > looseDepth {
		return v, false
	}
	defer func() { p.depth-- }()
	switch p.take("{", "[") {
	case "{":
		v.members = []looseMember{}
		for p.take("}") == "" {
			var m looseMember
			if m.key, ok = p.text(); !ok || p.take(":", "：") == "" {
				return v, false
			}
			if m.value, ok = p.value(); !ok {
				return v, false
			}
			if v.members = append(v.members, m); !p.another("}") {
				return v, false
			}
		}
		return v, true
	case "[":
		v.items = []looseValue{}
		for p.take("]") == "" {
			item, ok := p.value()
			if v.items = append(v.items, item); !ok || !p.another("]") {
				return v, false
			}
		}
		return v, true
	}
	v.text, ok = p.text()
	return v, ok
}

// another tells whether a comma or the end of the container follows; the end is left.
func (p *looseParser) another(end string) bool {
	return p.take(",", "，") != "" || strings.HasPrefix(p.rest, end)
}

// closers are what may end a string, by what begins it.
var closers = map[string]string{`"`: `"`, "'": "'", "“": "”“", "”": "”“", "‘": "’‘", "’": "’‘"}

// text reads a string or a bare word.
func (p *looseParser) text() (text string, ok bool) {
	quote := p.take(`"`, "'", "“", "”", "‘", "’")
	if quote == "" {
		end := strings.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n,，:：{}[]\"'/“”‘’", r) })
		if end < 0 {
			end = len(p.rest)
		}
		text, p.rest = p.rest[:end], p.rest[end:]
		if text == "null" || text == "None" {
			return "", true
		}
		return text, text != ""
	}
	var b strings.Builder
	for p.rest != "" {
		r, size := utf8.DecodeRuneInString(p.rest)
		switch {
		case r == '\\':
			b.WriteString(p.escape())
			continue
		case strings.ContainsRune(closers[quote], r):
			p.rest = p.rest[size:]
			return b.String(), true
		}
		b.WriteString(p.rest[:size])
		p.rest = p.rest[size:]
	}
	return "", false
}

// escape reads an escape sequence; one that JSON does not know stands for the character behind the backslash.
func (p *looseParser) escape() string {
	for _, length := range []int{12, 6, 2} { // a surrogate pair, \u0041, \n
		var s string
		if length <= len(p.rest) && json.Unmarshal([]byte(`"`+p.rest[:length]+`"`), &s) == nil && (length == 2 || utf8.RuneCountInString(s) == 1) {
			p.rest = p.rest[length:]
			return s
		}
	}
	_, size := utf8.DecodeRuneInString(p.rest[1:])
	s := p.rest[1 : 1+size]
	p.rest = p.rest[1+size:]
	return s
}
