package main

// Text on a terminal: widths and breaks.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestScreenWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string // rows separated by |
	}{
		{"", 5, ""},
		{"one two three", 8, "one two|three"},
		{"one two  ", 7, "one two  "},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"一二三四五", 7, "一二三|四五"},
		{"一二三，四", 6, "一二|三，四"},
		{"0果）", 3, "0|果|）"},
		{"ab一二 cd", 4, "ab一|二|cd"},
		{"运行go test", 6, "运行go|test"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301"},
		{"全", 1, "全"},
		{"か\u3099，", 3, "か\u3099|，"}, // a mark stays with its character
		{"✨✨⏳", 4, "✨✨|⏳"},
	} {
		if got := strings.Join(wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// COLUMNS counts before the terminal, and no screen is so narrow that a table has no place on it.
func TestScreenColumns(t *testing.T) {
	for columns, want := range map[string]int{"100": 100, "24": 24, "3": 24, "-1": 80, "x": 80, "": 80} {
		t.Setenv("COLUMNS", columns)
		file, err := os.Create(filepath.Join(t.TempDir(), "x"))
		check(t, err)
		expectIs(t, "the width with COLUMNS="+columns, newScreen(file).width, want)
		file.Close()
	}
}

// Widths as EastAsianWidth.txt has them.
func TestScreenWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "·…—“”": 5, "①→■☆♥✔⚠™": 8, "ｱｲ": 2, "中文，。": 8, "ＡＢ￥": 6, "한글": 4, "カナ　": 6, "𠮷": 2, "〈〉": 4,
		"✨⏳🟢✅⚡⭐🚀🫠🀄🈁☔": 22, "e\u0301": 1, "か\u3099": 2, "\u1112\u1161\u11ab": 2, "ก\u0e34": 1, "a\u20dd": 1, "a\u200d中": 3,
	} {
		if got := displayWidth(text); got != want {
			t.Errorf("%q (%+q) is %d wide, want %d", text, text, got, want)
		}
		expectIs(t, "what is shown", printable(text), text)
	}
	if !slices.IsSorted(wideRanges) || len(wideRanges)%2 != 0 {
		t.Error("the table is no list of ranges in order")
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
		{"中文", 3, "…文"},
		{"中文", 2, "… "},
		{"e\u0301e\u0301e\u0301", 2, "…e\u0301"},
	} {
		if got := fit(test.text, test.width); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// FuzzScreenWrap: no row is too wide, and nothing but blanks is lost.
func FuzzScreenWrap(f *testing.F) {
	f.Add("运行 go test ./...，然后（看 结果）", uint8(7))
	f.Add("👩🏽\u200d💻 1\ufe0f\u20e3e\u0301", uint8(2))
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
