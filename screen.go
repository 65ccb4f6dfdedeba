package main

// Text on a terminal: how wide it is there, where a line may be broken, which colour it has.

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
	before, size := 1, 0 // the columns of the character before; 0 for a blank
	for i := 0; i < len(line); i += size {
		var columns int
		size, columns = character(line[i:])
		r, _ := utf8.DecodeRuneInString(line[i:])
		isBlank := line[i:i+size] == " "
		if before == 0 || (columns == 2 || before == 2) && !strings.ContainsRune("，。、；：！？）」』》】”,.;:!?)", r) {
			breakAt = i
		}
		for used+columns > width && !isBlank && i > start {
			if breakAt <= start {
				breakAt = i
			}
			rows = append(rows, strings.TrimRight(line[start:breakAt], " "))
			start = breakAt
			used = displayWidth(line[start:i])
		}
		used += columns
		if before = columns; isBlank {
			before = 0
		}
	}
	return append(rows, line[start:])
}

// fit makes text width columns wide: its beginning is cut off, or blanks are added behind.
func fit(text string, width int) string {
	columns := displayWidth(text)
	if columns > width {
		for columns > width-1 {
			size, wide := character(text)
			text, columns = text[size:], columns-wide
		}
		text, columns = "…"+text, columns+1
	}
	return text + strings.Repeat(" ", width-columns)
}

func displayWidth(text string) (columns int) {
	for len(text) > 0 {
		size, wide := character(text)
		text, columns = text[size:], columns+wide
	}
	return columns
}

const (
	joiner        = '\u200d' // ZERO WIDTH JOINER: what stands on both sides of it is one emoji
	emojiSelector = '\ufe0f' // VARIATION SELECTOR-16: what stands before it is an emoji
)

// character returns the length of text's first character with all that a terminal draws in the same place (accents,
// the rest of an emoji, the other half of a flag), and the columns that it takes. Older terminals draw some emojis
// as their parts.
func character(text string) (size, columns int) {
	if text[0] < utf8.RuneSelf && (len(text) == 1 || text[1] < utf8.RuneSelf) {
		return 1, 1
	}
	first, size := utf8.DecodeRuneInString(text)
	columns = runeWidth(first)
	for last := first; size < len(text); {
		r, length := utf8.DecodeRuneInString(text[size:])
		isFlag := unicode.Is(unicode.Regional_Indicator, first) && unicode.Is(unicode.Regional_Indicator, r) && last == first && size == length
		switch {
		case r == emojiSelector && columns == 1,
			isFlag,
			(last == joiner || r >= 0x1f3fb && r <= 0x1f3ff) && isPicture(first) && isPicture(r): // skin tones
			columns = 2
		case runeWidth(r) > 0:
			return size, columns
		}
		size, last = size+length, r
	}
	return size, columns
}

// isPicture tells whether r can be part of an emoji.
func isPicture(r rune) bool { return unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) }

// runeWidth is the columns that r takes by itself: two for those that are wide or fullwidth in Unicode's East Asian
// Width, none for marks and for the vowels and finals of a Hangul syllable.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x4e00 && r < 0xa000: // nearly all there are: no need to search
		return 2
	case r >= 0x1160 && r < 0x1200, r >= 0xd7b0 && r < 0xd800, r == joiner, r == '\u200c', unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	if i, found := slices.BinarySearch(wideRanges, r); found || i%2 == 1 {
		return 2
	}
	return 1
}

// wideRanges are the first and the last of each range of Unicode 15.0 (the unicode package's version) that is W or
// F in its EastAsianWidth.txt. What is not assigned between two ranges is taken with them.
var wideRanges = []rune{
	0x1100, 0x115f, 0x231a, 0x231b, 0x2329, 0x232a, 0x23e9, 0x23ec, 0x23f0, 0x23f0, 0x23f3, 0x23f3,
	0x25fd, 0x25fe, 0x2614, 0x2615, 0x2648, 0x2653, 0x267f, 0x267f, 0x2693, 0x2693, 0x26a1, 0x26a1,
	0x26aa, 0x26ab, 0x26bd, 0x26be, 0x26c4, 0x26c5, 0x26ce, 0x26ce, 0x26d4, 0x26d4, 0x26ea, 0x26ea,
	0x26f2, 0x26f3, 0x26f5, 0x26f5, 0x26fa, 0x26fa, 0x26fd, 0x26fd, 0x2705, 0x2705, 0x270a, 0x270b,
	0x2728, 0x2728, 0x274c, 0x274c, 0x274e, 0x274e, 0x2753, 0x2755, 0x2757, 0x2757, 0x2795, 0x2797,
	0x27b0, 0x27b0, 0x27bf, 0x27bf, 0x2b1b, 0x2b1c, 0x2b50, 0x2b50, 0x2b55, 0x2b55, 0x2e80, 0x303e,
	0x3041, 0x3247, 0x3250, 0x4dbf, 0x4e00, 0xa4c6, 0xa960, 0xa97c, 0xac00, 0xd7a3, 0xf900, 0xfaff,
	0xfe10, 0xfe19, 0xfe30, 0xfe6b, 0xff01, 0xff60, 0xffe0, 0xffe6, 0x16fe0, 0x1b2fb, 0x1f004, 0x1f004,
	0x1f0cf, 0x1f0cf, 0x1f18e, 0x1f18e, 0x1f191, 0x1f19a, 0x1f200, 0x1f320, 0x1f32d, 0x1f335, 0x1f337, 0x1f37c,
	0x1f37e, 0x1f393, 0x1f3a0, 0x1f3ca, 0x1f3cf, 0x1f3d3, 0x1f3e0, 0x1f3f0, 0x1f3f4, 0x1f3f4, 0x1f3f8, 0x1f43e,
	0x1f440, 0x1f440, 0x1f442, 0x1f4fc, 0x1f4ff, 0x1f53d, 0x1f54b, 0x1f54e, 0x1f550, 0x1f567, 0x1f57a, 0x1f57a,
	0x1f595, 0x1f596, 0x1f5a4, 0x1f5a4, 0x1f5fb, 0x1f64f, 0x1f680, 0x1f6c5, 0x1f6cc, 0x1f6cc, 0x1f6d0, 0x1f6d2,
	0x1f6d5, 0x1f6df, 0x1f6eb, 0x1f6ec, 0x1f6f4, 0x1f6fc, 0x1f7e0, 0x1f7f0, 0x1f90c, 0x1f93a, 0x1f93c, 0x1f945,
	0x1f947, 0x1f9ff, 0x1fa70, 0x1faf8, 0x20000, 0x3ffff,
}
