package main

// Text for a terminal: control characters are made visible, lines are broken, cut and, only there, coloured.

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unsafe"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// printable makes text safe for a terminal: control characters other than newline and tab are replaced by
// their pictures, and the line ends of Windows by newlines.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // joiners are parts of words
			return r
		case r < ' ':
			return 0x2400 + r // the block of control pictures
		case r == 0x7f:
			return 0x2421
		case !unicode.IsGraphic(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// oneLine is printable text on one line: each run of white space becomes one blank.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// unbroken is a printable command on one line: it keeps its blanks, and each line break is ⏎.
func unbroken(command string) string {
	return strings.ReplaceAll(printable(strings.TrimSpace(command)), "\n", " ⏎ ")
}

// joined returns the parts that are not empty, with a dot between them.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

// shellQuote quotes word for a POSIX shell, if it has to be quoted.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, letters+digits+"_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// commandLine is a call of ccc with all these arguments, as it is typed in a shell.
func commandLine(args ...[]string) string {
	line := "ccc"
	for _, arg := range slices.Concat(args...) {
		line += " " + shellQuote(arg)
	}
	return line
}

// mapped returns a copy of all in which each item is changed.
func mapped[T any](all []T, change func(T) T) []T {
	all = slices.Clone(all)
	for i := range all {
		all[i] = change(all[i])
	}
	return all
}

// lazyRegexp compiles pattern at the first use. A hook of a session that is not supervised uses none.
func lazyRegexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// dollars writes a cost. It returns "" for 0: claude printed none.
func dollars(usd float64) string {
	switch {
	case usd <= 0:
		return ""
	case usd < 0.01:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}

// clock writes a time as people read it: local, with the date if that is not today's.
func clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// grouped writes n with commas, such as 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// A screen is a terminal for people, or the file or pipe that stdout leads to instead. It buffers.
type screen struct {
	*bufio.Writer
	width    int // in columns
	colour   bool
	terminal bool
	tag      string // the colour of supervisorTag
}

// supervisorTag begins what ccc shows in a session.
const supervisorTag = "[SUPERVISOR]"

// newScreen takes the width from COLUMNS, else from the terminal, else it is 80.
func newScreen(stdout *os.File) *screen {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, stdout.Fd(), syscall.TIOCGWINSZ,
		uintptr(unsafe.Pointer(&size)))
	columns := cmp.Or(int(size.columns), 80)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	isTerminal := errno == 0
	return &screen{
		Writer:   bufio.NewWriterSize(stdout, 64<<10),
		width:    max(columns, 24), // less can't be read
		terminal: isTerminal,
		tag:      bold,
		colour:   isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// The colours, as parameters of the escape sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint colours text if the screen has colours; colour is one of those above, "" for none.
func (s *screen) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// writeBlock writes lead and, to the right of it, text, with its lines broken to the width. The item of a
// list continues under its first word. An empty text writes nothing.
func (s *screen) writeBlock(lead, text string) {
	if text == "" {
		return
	}
	indent := strings.Repeat(" ", displayWidth(lead))
	text = strings.ReplaceAll(strings.Trim(printable(text), "\n"), "\t", "    ")
	for line := range strings.SplitSeq(text, "\n") {
		mark := listMark().FindString(line)
		hang := min(displayWidth(mark), s.width/3)
		room := s.width - len(indent) - hang
		for _, row := range wrap(line[len(mark):], room) {
			if said, isTagged := strings.CutPrefix(row, supervisorTag); isTagged {
				row = s.paint(s.tag, supervisorTag) + said
			}
			fmt.Fprintln(s, strings.TrimRight(lead+mark+row, " "))
			lead = indent
			mark = strings.Repeat(" ", hang)
		}
	}
}

// writeText writes text: as writeBlock does on a terminal, elsewhere as it is.
func (s *screen) writeText(text string) {
	if s.terminal {
		s.writeBlock("", text)
	} else {
		fmt.Fprintln(s, text)
	}
}

// notice writes text to stderr, wrapped if that is a terminal.
func notice(text string) {
	out := newScreen(os.Stderr)
	out.writeText(text)
	out.Flush()
}

// listMark finds what precedes the words of a line: blanks, and the mark of an item of a list.
var listMark = lazyRegexp(`^ *((\d+([.)] |[、）])|[-*•·] ) *)?`)

// wrap breaks line into rows of at most width columns. It breaks at blanks, and beside wide characters, but
// not before one of noRowBegins and not after one of noRowEnds. A longer word is broken anywhere.
func wrap(line string, width int) (rows []string) {
	start := 0      // the present row's begin
	breakAt := 0    // the last place to break it
	used := 0       // its columns
	before := 0     // the columns of the previous character, 0 for a blank
	isOpen := false // the previous character, blanks aside, is one of noRowEnds
	for i, r := range line {
		columns := runeWidth(r)
		besideWide := columns > 0 && max(columns, before) == 2
		if !isOpen && (before == 0 || besideWide && !strings.ContainsRune(noRowBegins, r)) {
			breakAt = i
		}
		for used+columns > width && r != ' ' && i > start {
			if breakAt <= start {
				breakAt = i
			}
			rows = append(rows, strings.TrimRight(line[start:breakAt], " "))
			start = breakAt
			used = displayWidth(line[start:i])
		}
		if used += columns; r == ' ' {
			before = 0
		} else if columns > 0 {
			before = columns
			isOpen = strings.ContainsRune(noRowEnds, r)
		}
	}
	return append(rows, line[start:])
}

const (
	noRowBegins = "，。、；：！？）」』》】”,.;:!?)"
	noRowEnds   = "（「『《【“([{"
)

// clip returns the beginning of text that fits into width columns, with an ellipsis if it is cut.
func clip(text string, width int) string {
	if displayWidth(text) <= width {
		return text
	}
	columns := 1 // the ellipsis
	end := strings.IndexFunc(text, func(r rune) bool {
		columns += runeWidth(r)
		return columns > width
	})
	return strings.TrimRight(text[:end], " ") + "…"
}

// displayWidth is how many columns text takes.
func displayWidth(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is the number of columns that r takes. Marks, joiners, and the vowels and finals of a Hangul
// syllable take none: they are drawn into the character before them.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x1160 && r < 0x1200, r == '\u200c', r == '\u200d', unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case strings.ContainsRune(wideEmoji, r):
		return 2
	}
	if i, isEdge := slices.BinarySearch(wideRanges, r); isEdge || i%2 == 1 {
		return 2
	}
	return 1
}

// wideRanges holds the first and the last character of each range that is two columns wide: what Chinese,
// Japanese and Korean are written with, and from 0x1f200 on emoji, with narrow pictures between them.
var wideRanges = []rune{
	0x1100, 0x115f, 0x2e80, 0x303e, 0x3041, 0x4dbf, 0x4e00, 0x9fff, 0xac00, 0xd7a3, 0xf900, 0xfaff,
	0xfe30, 0xfe6f, 0xff01, 0xff60, 0xffe0, 0xffe6, 0x1f200, 0x1faff, 0x20000, 0x3ffff,
}

// wideEmoji are those outside these ranges.
const wideEmoji = "⌚⌛⏩⏪⏫⏬⏰⏳◽◾☔☕♈♉♊♋♌♍♎♏♐♑♒♓♿⚓⚡⚪⚫⚽⚾⛄⛅⛎⛔⛪" +
	"⛲⛳⛵⛺⛽✅✊✋✨❌❎❓❔❕❗➕➖➗➰➿⬛⬜⭐⭕🀄🃏🆎🆑🆒🆓🆔🆕🆖🆗🆘🆙🆚"

// fenced writes text as a block of Markdown code, in which nothing is a heading, HTML, a mention or a
// reference. The fence is longer than any in the text, so nothing in it ends the block.
func fenced(kind, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + kind + "\n" + strings.TrimRight(printable(text), "\n") + "\n" + fence
}
