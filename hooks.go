package main

// The hook entries that ccc keeps in Claude Code's settings.json: what they hold, and how they are known again.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The events that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// A wantedHook is one entry that Supervisor Mode keeps in settings.json.
type wantedHook struct {
	event   string
	matcher string // "" matches everything
	entry   []byte // a JSON object
}

// wantedHooks returns the entries for the command line of ccc's hook. Claude Code ends a hook at its timeout
// (seconds), so a reviewing hook gets a minute more than the review, and never less than 600; recording a prompt
// takes milliseconds.
func wantedHooks(command string, reviewSeconds int) []wantedHook {
	entry := func(seconds int, more string) []byte {
		return fmt.Appendf(nil, `{"type":"command","command":%s,"timeout":%d%s}`, encodeJSON(command), seconds, more)
	}
	review := entry(max(600, reviewSeconds+60), `,"statusMessage":`+string(encodeJSON(say(reviewing))))
	return []wantedHook{
		{event: eventStop, entry: review},
		{event: eventPreToolUse, matcher: askUserQuestion, entry: review},
		{event: eventPrompt, entry: entry(10, "")},
	}
}

// group is the entry as an item of the event's array.
func (w wantedHook) group() []byte {
	if w.matcher == "" {
		return fmt.Appendf(nil, `{"hooks":[%s]}`, w.entry)
	}
	return fmt.Appendf(nil, `{"matcher":"%s","hooks":[%s]}`, w.matcher, w.entry)
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string { return shellQuote(self) + " " + hookSubcommand }

// ownCall returns the word that names the program in a hook command of this or another installation of ccc: a ccc,
// before the word supervisor-hook. The user may have written it in many ways, with variables set before it and
// parameters behind it.
func ownCall(command string) (program shellWord, ok bool) {
	words := shellWords(command)
	called := false // the word before leaves it to the next one to be the program
	for i := range max(0, len(words)-1) {
		word := words[i]
		called = called || word.first
		if called && words[i+1].text == hookSubcommand && strings.HasPrefix(filepath.Base(word.text), "ccc") {
			return word, true
		}
		called = called && (strings.ContainsAny(word.text, "=(`") || slices.Contains([]string{"exec", "env", "command"}, word.text))
	}
	return program, false
}

// isOwnCommand tells whether command is a hook command of ccc's; self may have any name.
func isOwnCommand(command, self string) bool {
	_, ok := ownCall(command)
	return ok || command == hookCommand(self)
}

// currentCommand is command, one of ccc's, with self as the program. What the user has written around it stays, and
// so does a program that the shell finds by a variable or a ~, as long as that leads to self.
func currentCommand(command, self string) string {
	program, ok := ownCall(command)
	switch {
	case !ok:
		return hookCommand(self)
	case isComputed(program), program.expands && sameFile(expanded(program), self):
		return command
	}
	return command[:program.start] + shellQuote(self) + command[program.end:]
}

// isComputed tells whether only a shell can tell what the word comes to.
func isComputed(word shellWord) bool { return strings.ContainsAny(word.text, "()`") }

// expanded is the word with its variables and a ~ of the user's replaced.
func expanded(word shellWord) string {
	text := word.text
	if !word.expands {
		return text
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = "$HOME/" + rest
	}
	return os.ExpandEnv(text)
}

// hookProgram is the program that a hook command of ccc's calls, "" where only a shell can tell.
func hookProgram(command, self string) string {
	switch program, ok := ownCall(command); {
	case !ok:
		return self
	case isComputed(program):
		return ""
	default:
		return expanded(program)
	}
}

// reaches tells whether a matcher of Claude Code's lets calls of the tool through; events without a tool, "", have
// none.
func reaches(matcher, tool string) bool {
	return tool == "" || matcher == "" || matcher == "*" || slices.Contains(strings.Split(matcher, "|"), tool)
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
