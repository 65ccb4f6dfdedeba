package main

// Text for a terminal and for a shell: control characters made visible, words quoted and read back.

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// printable makes text safe for a terminal: control characters other than newline and tab are shown as pictures of
// themselves, not obeyed.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return 0x2400 + r // the block of control pictures
		case r == 0x7f:
			return 0x2421
		case r == '\u200c' || r == '\u200d': // parts of words and of emojis, and obeyed by nothing
			return r
		case r > 0x7f && !strconv.IsPrint(r) && !strconv.IsGraphic(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// oneLine is printable for what has to stay on one line: white space of any kind and length becomes one blank.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// shellQuote writes word so that a POSIX shell reads it back as one word.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, letters+digits+"_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// A shellWord is one word of a shell's command line.
type shellWord struct {
	start, end int    // its place
	text       string // without its quotes
	first      bool   // of a command
	expands    bool   // it has a ~ or a variable that the shell replaces
}

// shellWords splits a command line, up to a comment, as a POSIX shell would; operators and redirections end a word
// and are left out.
func shellWords(line string) (words []shellWord) {
	quote, inWord, first := byte(0), false, true
	for i := 0; i <= len(line); i++ {
		if i == len(line) || quote == 0 && strings.IndexByte(" \t\r\n;&|<>", line[i]) >= 0 {
			if inWord {
				words[len(words)-1].end = i
			}
			inWord, first = false, first || i < len(line) && strings.IndexByte(";&|\n", line[i]) >= 0
			continue
		}
		c := line[i]
		if !inWord {
			if c == '#' {
				break
			}
			words = append(words, shellWord{start: i, first: first, expands: c == '~'})
			inWord, first = true, false
		}
		word := &words[len(words)-1]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.text += line[i : i+1]
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		default:
			word.expands = word.expands || c == '$' && quote != '\''
			word.text += line[i : i+1]
		}
	}
	return words
}

// olderThan compares versions such as 2.1.30; of an unknown one, "", nothing is said.
func olderThan(version, other string) bool {
	number := func(v string) (n int) {
		for _, part := range strings.SplitN(v, ".", 3) {
			digits, _ := strconv.Atoi(part)
			n = n*10000 + digits
		}
		return n
	}
	return version != "" && number(version) < number(other)
}

// dollars writes a cost; 0 is one that claude did not tell, and gives "".
func dollars(usd float64) string {
	switch {
	case usd <= 0:
		return ""
	case usd < 0.1:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// duration writes seconds in the format of a language's: below a minute, and from there on.
func duration(seconds float64, short, long string) string {
	if seconds < 60 {
		return fmt.Sprintf(short, seconds)
	}
	return fmt.Sprintf(long, int(seconds)/60, int(seconds)%60)
}

// grouped writes n with commas: 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// tryExample is the one form in which Claude Code lets whatever a reviewer runs through: between single quotes, with no
// other single quote and nothing behind them. The guides hold it too.
func tryExample(tryCommand string) string {
	return tryCommand + ` 'dir=$(mktemp -d)
cat > "$dir/probe.py" <<"EOF"
import json
print(json.dumps({"name": "it\x27s", "days": [30, 31]}))
EOF
python3 "$dir/probe.py" && printf "it\047s fine\n"'`
}
