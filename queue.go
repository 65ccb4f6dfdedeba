package main

// What /supervisor asks for, once it is submitted, and while it waits in Claude Code's queue.

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const fullStop = "\u3002" // in Chinese

// slashCommand returns what follows /supervisor in prompt: a mode, "" for a query, or other words as they
// are. ok is false for any other prompt.
func slashCommand(prompt string) (operand string, ok bool) {
	fields := strings.Fields(prompt)
	ok = len(fields) > 0 && fields[0] == "/supervisor"
	operand = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(prompt), "/supervisor"))
	if meant, isMode := modeOperands[strings.ToLower(strings.TrimRight(operand, fullStop))]; isMode {
		return string(meant), ok
	}
	return operand, ok
}

// isUnclear reports whether operand, which is no mode, is rather a slip than a task: one word, in Chinese one
// of at most four characters; or a short text that may be meant to switch supervision off.
func isUnclear(operand string) bool {
	text := strings.TrimRight(operand, fullStop)
	words := strings.Fields(text)
	length := utf8.RuneCountInString(text)
	isWord := len(words) == 1 && (length <= 4 || length == len(text))
	isOff := func(word string) bool {
		return slices.Contains(offWords, strings.ToLower(strings.Trim(word, ".,!?")))
	}
	most := 4
	if isOfReviews().MatchString(text) {
		most = 6
	}
	mayBeOff := len(words) <= most && slices.ContainsFunc(words, isOff) ||
		length <= 12 && offInChinese().MatchString(text)
	return (isWord || mayBeOff) && !slices.Contains(modes, operand)
}

// switchTo returns the mode that /supervisor switches to with that operand, and whether that is a task.
func switchTo(operand string) (to mode, isTask bool) {
	if slices.Contains(modes, operand) {
		return mode(operand), false
	}
	return modeOn, true
}

// A promptQueue follows a transcript for the /supervisor that waits in Claude Code's queue. Several
// goroutines may use it. The zero value follows none.
type promptQueue struct {
	mu   sync.Mutex
	file lineReader
	talk conversation // only its queue counts
}

// follow begins with the transcript at path where talk ends, which was read from it.
func (q *promptQueue) follow(path string, talk conversation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.talk = conversation{queue: slices.Clone(talk.queue)}
	q.file = lineReader{path: path, at: talk.read, lines: lineWriter{line: q.talk.line}}
}

// switched returns state with the last switch that waits in the queue, if it was typed later than state's.
// It reads what the transcript has grown by. A transcript that can't be read has no more switches.
func (q *promptQueue) switched(state sessionState) sessionState {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.file.path != "" {
		_ = q.file.read()
	}
	since := state.SwitchedAt
	for _, typed := range q.talk.queue {
		operand, isCommand := slashCommand(typed.words)
		isSwitch := isCommand && operand != "" && !isUnclear(operand) && !typed.takenBack
		if isSwitch && typed.at.After(since) {
			state.Enabled, _ = switchTo(operand)
			state.SwitchedAt = typed.at
		}
	}
	return state
}
