package main

import (
	"fmt"
	"strings"
	"testing"
)

// A value that is set or dropped changes no other byte; what is new is laid out as Claude Code does.
func TestJSONEdits(t *testing.T) {
	for _, test := range []struct{ text, path, value, want string }{
		{`{}`, "a", `1`, "{\n  \"a\": 1\n}"},
		{`{"a":1}`, "a", `[2]`, "{\"a\":[\n    2\n  ]}"},
		{`{"a" : 1 , "b":2 }`, "a", `3`, `{"a" : 3 , "b":2 }`},
		{`{"a":1}`, "b", `{"c":2}`, "{\"a\":1,\n  \"b\": {\n    \"c\": 2\n  }}"},
		{`{"a":[1]}`, "a 1", `2`, "{\"a\":[1,\n    2]}"},
		{`{"a":[]}`, "a 0", `1`, "{\"a\":[\n    1\n  ]}"},
		{`{"a":1,"a":2}`, "a", `3`, `{"a":1,"a":3}`},
		{`{"<&>":"é\/","n":1e+3}`, "<&>", `"<"`, `{"<&>":"<","n":1e+3}`},

		{`{ "a" : 1 }`, "a", "", `{}`},
		{`{"a":1, "b":2 ,"c":3}`, "b", "", `{"a":1 ,"c":3}`},
		{`{"a":1,"a":2,"b":3}`, "a", "", `{"a":1,"b":3}`},
		{`{"a":{"b":[1,2,3]}}`, "a b 1", "", `{"a":{"b":[1,3]}}`},
	} {
		got := ""
		if path := strings.Fields(test.path); test.value == "" {
			got = string(dropJSON([]byte(test.text), path...))
		} else {
			got = string(setJSON([]byte(test.text), test.value, path...))
		}
		expectIs(t, test, got, test.want)
	}
}

// Where a value stands, what it is, and where a text is no JSON.
func TestJSONRead(t *testing.T) {
	const text = "\ufeff {\"a\" : [1, \"x\\u00e9\" , {\"b\":null}],\n\"c\":{}, \"a\":true}"
	root, err := parseJSON([]byte(text))
	check(t, err)
	for path, want := range map[string]string{
		"": text[4:], "a": "true", "c": "{}", "b": "none", "a x": "none", "c x": "none",
	} {
		v, got := root.at(strings.Fields(path)...), "none"
		if v.raw != "" {
			got = v.raw
			expectIs(t, path, text[v.start:v.end], v.raw)
		}
		expectIs(t, path, got, want)
	}
	list := root.members[0].value
	for i, want := range []string{"1", `"x\u00e9"`, `{"b":null}`} {
		item := list.items()[i]
		got := item.key + " " + item.value.raw + " " + text[item.start:item.start+len(want)]
		expectIs(t, "an item", got, fmt.Sprint(i, " ", want, " ", want))
	}
	expectIs(t, "the key of a member", text[root.members[1].start:root.members[1].start+3], `"c"`)
	expectIs(t, "a text", list.at("1").text, "xé")
	none := root.at("none")
	kinds := fmt.Sprint(none.at("a").raw == "", len(none.items()), none.is('{'), list.is('['), list.is('{'))
	expectIs(t, "nothing", kinds, "true 0 false true false")
	for text, want := range map[string]string{
		"":                         "line 1, column 1: ",
		"{\n \"a\": }":             "line 2, column 7: ",
		"\ufeff{]":                 "line 1, column 2: ",
		"{\"a\":\n\n":              "line 2, column 1: ",
		"{“a”: 1}":                 "line 1, column 2: invalid character '“' looking for beginning of object",
		"{é":                       "line 1, column 2: invalid character 'é' ",
		strings.Repeat("[", 20000): "line 1, column 1000",
	} {
		if v, err := parseJSON([]byte(text)); v.raw != "" || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	for isWanted, texts := range map[bool][]string{
		true:  {"", " \n\t", "\ufeff", "\ufeff \n"},
		false: {"{}", "\ufeffx", "\n\ufeff"},
	} {
		for _, text := range texts {
			expectIs(t, text, isBlank([]byte(text)), isWanted)
		}
	}
	expectIs(t, "written", string(encodeJSON("<&>审\"")), `"<&>审\""`)
}
