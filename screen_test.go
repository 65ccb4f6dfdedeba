package main

// Text on a terminal: widths and breaks.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestScreenWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string // rows separated by |
	}{
		{"", 5, ""},
		{"one six three", 8, "one six|three"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"一二三，四", 6, "一二|三，四"},
		{"ab一二 cd", 4, "ab一|二|cd"},
		{"运行go test", 6, "运行go|test"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301"},
		{"か\u3099，", 3, "か\u3099|，"}, // a mark stays with its character
		{"一二（三四", 6, "一二|（三四"},       // no row ends in an opening bracket
		{"one ( two", 5, "one|( two"},
	} {
		expectIs(t, test.text, strings.Join(wrap(test.text, test.width), "|"), test.want)
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

// Widths as EastAsianWidth.txt has them, of Chinese, Japanese, Korean and emoji.
func TestScreenWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "·…—“”": 5, "①→■☆♥✔⚠™": 8, "ｱｲ": 2, "中文，。": 8, "ＡＢ￥": 6, "한글": 4,
		"カナ　": 6, "𠮷": 2, "〈〉": 4, "✨⏳🟢✅⚡⭐🚀🫠🀄🈁☔": 22, "e\u0301": 1, "か\u3099": 2,
		"\u1112\u1161\u11ab": 2, "ก\u0e34": 1, "a\u20dd": 1, "a\u200d中": 3,
	} {
		expectIs(t, fmt.Sprintf("the width of %+q", text), displayWidth(text), want)
		expectIs(t, "what is shown", printable(text), text)
	}
	areRanges := slices.IsSorted(wideRanges) && len(wideRanges)%2 == 0
	expectIs(t, "the table is a list of ranges in order", areRanges, true)
	for _, r := range wideEmoji {
		_, isInRange := slices.BinarySearch(wideRanges, r)
		expectIs(t, string(r), runeWidth(r) == 2 && !isInRange, true)
	}
	for r, want := range map[rune]int{0x2ff: 1, 0x300: 0, 0x10ff: 1, 0x115f: 2, 0x1160: 0, 0x11ff: 0,
		0x1200: 1, 0x200b: 1, 0x200c: 0, 0x200d: 0, 0x200e: 1, 0x40000: 1} {
		expectIs(t, fmt.Sprintf("the width of %x", r), runeWidth(r), want)
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

// How texts are cut, joined and quoted: exactly at the limit nothing is missing.
func TestScreenTexts(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"clip as it is", clip("abcd", 4), "abcd"},
		{"clip", clip("abcde", 4), "abc…"},
		{"clip wide", clip("中文字", 6), "中文字"},
		{"clip wide, two less", clip("中文字", 4), "中…"},
		{"a middle no longer than a mark", cutMiddle(strings.Repeat("字", 106), 6), strings.Repeat("字", 106)},
		{"the middle", cutMiddle("中文字"+strings.Repeat("a", 101)+"bcd", 6), "中文字\n……（省略 101 个字符）……\nbcd"},
		{"one line more", cutLines("1\n2\n3\n4\n5", 2, 2), "1\n2\n3\n4\n5"},
		{"two lines more", cutLines("1\n2\n3\n4\n5\n6", 2, 2), "1\n2\n……（省略 2 行）……\n5\n6"},
		{"one line", oneLine(" a\t\nb \x1b "), "a b ␛"},
		{"a command", unbroken("\na  b\n\tc\n"), "a  b ⏎ \tc"},
		{"controls", printable("\x00\x1f\x7f\u0085\u200b\ta\n\u200d\u200c"), "␀␟␡��\ta\n\u200d\u200c"},
		{"line ends of Windows", printable("a\r\nb\rc\r\n"), "a\nb␍c\n"},
		{"a command line", commandLine([]string{"a b"}, nil, []string{"c", ""}), "ccc 'a b' c ''"},
		{"no cost", dollars(0), ""},
		{"a cent", dollars(0.01), "$0.01"},
		{"dollars", dollars(12.345), "$12.35"},
		{"seconds", duration(59.94), "59.9 秒"},
		{"minutes", duration(125), "2 分 05 秒"},
		{"a fence", fenced("sh", "a\n\n"), "```sh\na\n```"},
		{"a longer fence", fenced("", "```\n````\x1b"), "`````\n```\n````␛\n`````"},
	} {
		expectIs(t, c.name, c.got, c.want)
	}
	day := time.Now().Local()
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 34, 0, 0, time.Local)
	if day.Format(time.DateOnly) == time.Now().Format(time.DateOnly) { // else it was midnight
		expectIs(t, "today", clock(noon), "12:34:00")
	}
	alone(t)
	zone := time.Local
	time.Local = time.FixedZone("east", 8*3600)
	t.Cleanup(func() { time.Local = zone })
	evening := time.Date(2026, 1, 1, 20, 30, 0, 0, time.UTC)
	expectIs(t, "in the user's zone", clock(evening), "2026-01-02 04:30:00")
	expectIs(t, "another day", clock(time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local)), "2026-01-02 03:04:00")
}

// A block stands to the right of its lead, the item of a list under its first word; a terminal's colours are
// those of the verdicts.
func TestScreenBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	check(t, err)
	defer file.Close()
	s := newScreen(file)
	s.width = 24
	s.writeBlock("  lead ", "one two three four five\n- an item of a list\n12. twelve of the list\tx\n")
	s.writeBlock("lead", "")
	s.writeText("as  it is, however long that may be, outside a terminal")
	s.colour, s.terminal = true, true
	s.writeText("[SUPERVISOR] on a terminal")
	check(t, s.Flush())
	expectIs(t, "what is written", readPage(t, path), "  lead one two three\n       four five\n"+
		"       - an item of a\n         list\n       12. twelve of the\n           list    x\nas  it is, "+
		"however long that may be, outside a terminal\n\x1b[1m[SUPERVISOR]\x1b[0m on a\nterminal\n")
	expectIs(t, "no colour", s.paint("", "x"), "x")
	expectIs(t, "dim and bold", s.paint(dim, "x")+s.paint(bold, "y"), "\x1b[2mx\x1b[0m\x1b[1my\x1b[0m")
}
