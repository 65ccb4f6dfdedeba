package main

// Text on a terminal: widths and breaks.

import (
	"strings"
	"testing"
)

func TestScreenWrap(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  string // rows separated by |
	}{
		{"", 5, ""},
		{"one two three", 8, "one two|three"},
		{"one two  ", 7, "one two  "},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"一二三四五", 6, "一二三|四五"},
		{"一二三四五", 7, "一二三|四五"},
		{"一二三，四", 6, "一二|三，四"},
		{"0果）", 3, "0|果|）"},
		{"ab一二 cd", 4, "ab一|二|cd"},
		{"运行go test", 6, "运行go|test"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301"},
		{"全", 1, "全"},
	}
	for _, test := range tests {
		if got := strings.Join(wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestScreenFit(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"中文", 6, "中文  "},
		{"/home/中文", 6, "…/中文"},
		{"/home/中文", 5, "…中文"},
		{"中文", 4, "中文"},
		{"中文", 3, "…文"},
		{"中文", 2, "… "},
	} {
		if got := fit(test.text, test.width); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// FuzzScreenWrap: no row is too wide, and nothing but blanks is lost.
func FuzzScreenWrap(f *testing.F) {
	f.Add("运行 go test ./...，然后（看 结果）", uint8(7))
	f.Fuzz(func(t *testing.T, text string, width uint8) {
		text, columns := oneLine(text), 2+int(width)
		rows := wrap(text, columns)
		for _, row := range rows {
			if displayWidth(strings.TrimRight(row, " ")) > columns {
				t.Errorf("%q is wider than %d", row, columns)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(strings.Join(rows, "")) != squeeze(text) {
			t.Errorf("%q became %q", text, rows)
		}
	})
}
