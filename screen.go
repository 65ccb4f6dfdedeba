package main

// Text on a terminal: how wide it is there, where a line may be broken, which
// colour it has.

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
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
	columns, isTerminal := terminalWidth(stdout)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	if columns == 0 {
		columns = 80
	}
	return &screen{
		Writer: bufio.NewWriterSize(stdout, 64<<10),
		width:  max(columns, 24), // below this nothing is readable anyway
		colour: isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// terminalWidth returns the columns of file, 0 when they are not known, and
// whether it is a terminal.
func terminalWidth(file *os.File) (columns int, isTerminal bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
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

// block writes lead and, to the right of it, text, each of its lines broken to
// the width. What belongs to an item of a list stays under its first word.
func (s *screen) block(lead, text string) {
	indent := strings.Repeat(" ", displayWidth(lead))
	text = strings.ReplaceAll(strings.Trim(printable(text), "\n"), "\t", "    ")
	for line := range strings.SplitSeq(text, "\n") {
		mark := listMark(line)
		hang := min(displayWidth(mark), s.width/3)
		for _, row := range wrap(line[len(mark):], s.width-len(indent)-hang) {
			fmt.Fprintln(s, strings.TrimRight(lead+mark+row, " "))
			lead, mark = indent, strings.Repeat(" ", hang)
		}
	}
}

// listMark returns what comes before the words of line: blanks, and the mark of
// a list's item, such as "- ", "12. " or "1、".
func listMark(line string) string {
	words := strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(words, digits)
	marks := []string{"- ", "* ", "• "}
	if rest != words {
		marks = []string{". ", ") ", "、", "）"}
	}
	for _, mark := range marks {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			words = strings.TrimLeft(after, " ")
			break
		}
	}
	return line[:len(line)-len(words)]
}

// flow writes lead and, to the right of it, parts. Only a part that is longer
// than a row is broken.
func (s *screen) flow(lead string, parts []string, between string) {
	indent := strings.Repeat(" ", displayWidth(lead))
	row := lead
	for i, part := range parts {
		part = oneLine(part)
		if i > 0 {
			if displayWidth(row+between+part) <= s.width {
				row += between + part
				continue
			}
			fmt.Fprintln(s, row)
			row = indent
		}
		pieces := wrap(part, s.width-len(indent))
		for _, piece := range pieces[:len(pieces)-1] {
			fmt.Fprintln(s, row+piece)
			row = indent
		}
		row += pieces[len(pieces)-1]
	}
	fmt.Fprintln(s, row)
}

// oneLine is printable for what has to stay on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// wrap breaks line into rows of at most width columns: at blanks, and around
// wide characters except where a row would begin with the wrong punctuation.
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

// fit makes text width columns wide: its beginning is cut off, or blanks are
// added, before it or behind.
func fit(text string, width int, right bool) string {
	columns := displayWidth(text)
	if columns > width {
		rest := text
		for columns > width-1 {
			r, size := utf8.DecodeRuneInString(rest)
			rest, columns = rest[size:], columns-runeWidth(r)
		}
		text, columns = "…"+rest, columns+1
	}
	if right {
		return strings.Repeat(" ", width-columns) + text
	}
	return text + strings.Repeat(" ", width-columns)
}

func displayWidth(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is the columns that r takes: two for the wide and fullwidth
// characters of Unicode's East Asian Width.
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
