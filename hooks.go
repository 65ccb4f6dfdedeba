package main

// The hook entries that ccc keeps in Claude Code's settings.json: what they hold, and how they are known again.

import (
	"fmt"
	"path/filepath"
	"strings"
)

// The events that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// reviewingText is the spinner's text while a review runs.
const reviewingText = "[SUPERVISOR] 正在审查工作..."

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
	review := entry(max(600, reviewSeconds+60), `,"statusMessage":"`+reviewingText+`"`)
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

// isOwnCommand tells whether command is a hook command of this or another installation of ccc: one word that names
// a ccc, then supervisor-hook.
func isOwnCommand(command, current string) bool {
	word, ok := strings.CutSuffix(command, " "+hookSubcommand)
	if !ok {
		return false
	}
	path := hookProgram(command)
	oneWord := word == shellQuote(path) || word == `"`+path+`"`
	return command == current || oneWord && strings.HasPrefix(filepath.Base(path), "ccc")
}

// hookProgram is the program that a hook command of ccc's calls.
func hookProgram(command string) string {
	word := strings.TrimSuffix(command, " "+hookSubcommand)
	return strings.ReplaceAll(strings.Trim(word, `'"`), `'\''`, "'")
}
