package main

// Text on a terminal: how wide it is there, where a line may be broken, which colour it has.

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// A screen is stdout for people.
type screen struct {
	*bufio.Writer
	width  int
	colour bool
}

func newScreen(stdout *os.File) *screen {
	var size struct{ rows, columns, x, y uint16 }
	_, _, notTerminal := syscall.Syscall(syscall.SYS_IOCTL, stdout.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	columns := cmp.Or(int(size.columns), 80)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	return &screen{
		Writer: bufio.NewWriterSize(stdout, 64<<10),
		width:  max(columns, 24), // below this nothing is readable anyway
		colour: notTerminal == 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// The colours, as the parameter of the escape sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s *screen) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// block writes lead and, to the right of it, text, each of its lines broken to the width; an empty text is left
// out. What belongs to an item of a list stays under its first word.
func (s *screen) block(lead, text string) {
	if text == "" {
		return
	}
	indent := strings.Repeat(" ", displayWidth(lead))
	text = strings.ReplaceAll(strings.Trim(printable(text), "\n"), "\t", "    ")
	for line := range strings.SplitSeq(text, "\n") {
		mark := listMark().FindString(line)
		hang := min(displayWidth(mark), s.width/3)
		for _, row := range wrap(line[len(mark):], s.width-len(indent)-hang) {
			fmt.Fprintln(s, strings.TrimRight(lead+mark+row, " "))
			lead, mark = indent, strings.Repeat(" ", hang)
		}
	}
}

// listMark finds what comes before the words of a line: blanks, and the mark of a list's item. It is compiled when
// it is needed: no hook needs it.
var listMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *((\d+([.)] |[、）])|[-*•] ) *)?`) })

// wrap breaks line into rows of at most width columns: at blanks, and around wide characters except where a row
// would begin with the wrong punctuation.
func wrap(line string, width int) (rows []string) {
	start, breakAt, used := 0, 0, 0
	before := ' '
	for i, r := range line {
		columns := runeWidth(r)
		if before == ' ' || (columns == 2 || runeWidth(before) == 2) && !strings.ContainsRune("，。、；：！？）」』》】”,.;:!?)", r) {
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
		used += columns
		before = r
	}
	return append(rows, line[start:])
}

// fit makes text width columns wide: its beginning is cut off, or blanks are added behind.
func fit(text string, width int) string {
	columns := displayWidth(text)
	if columns > width {
		for columns > width-1 {
			r, size := utf8.DecodeRuneInString(text)
			text, columns = text[size:], columns-runeWidth(r)
		}
		text, columns = "…"+text, columns+1
	}
	return text + strings.Repeat(" ", width-columns)
}

func displayWidth(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is the columns that r takes: two for the wide and fullwidth characters of Unicode's East Asian Width.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x4e00 && r < 0xa000: // nearly all there are: no need to search
		return 2
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x2705, 0x2705, 1}, {0x274c, 0x274c, 1},
		{0x2753, 0x2757, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1}, {0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1},
		{0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}
