package main

// Supervision is switched by /supervisor inside a session: by the user, never by an agent.

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const fullStop = "\u3002" // in Chinese

// slashCommand returns what follows /supervisor in prompt: a mode, "" for a query, or other words as they
// are. ok is false for any other prompt.
func slashCommand(prompt string) (operand string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "/supervisor")
	operand = strings.TrimSpace(rest)
	ok = ok && (rest == "" || operand != rest)
	if meant, isMode := modeOperands[strings.ToLower(strings.TrimRight(operand, fullStop))]; isMode {
		return string(meant), ok
	}
	return operand, ok
}

// isUnclear reports whether operand, which is no mode, is rather a slip than a task: one word, in Chinese one
// of at most four characters; or a short text that may be meant to switch supervision off.
func isUnclear(operand string) bool {
	text := strings.TrimRight(operand, fullStop)
	words, length := strings.Fields(text), utf8.RuneCountInString(text)
	isWord := len(words) == 1 && (length <= 4 || length == len(text))
	isOff := func(word string) bool {
		word = strings.ToLower(strings.Trim(word, ".,!?"))
		return word == "off" || word == "stop"
	}
	mayBeOff := len(words) <= 4 && slices.ContainsFunc(words, isOff) ||
		length <= 12 && strings.ContainsAny(text, offCharacters)
	return (isWord || mayBeOff) && !slices.Contains(modes, operand)
}

// modeLine is the state of a session of that mode: the reviews of this request, the last verdict, and what
// the session's reviews have cost.
func modeLine(s summary, present mode, limit int) string {
	used := say(reviewsUsed, s.number, limit)
	if present == modeObserve { // which counts for no limit
		used = ""
	}
	now := joined(say(modeIs, say(modeNames[present])), used, s.result)
	all := joined(say(reviewsOfSession, count(s.Reviews, reviews)), dollars(s.CostUSD))
	return strings.Join([]string{now, all, say(modeHow)}, "\n")
}

// theirCommand returns the file that makes /supervisor a command or a skill of the user's own, in Claude
// Code's directory or in the project, "" for none. Then ccc leaves it alone.
func theirCommand(d dirs, project string) string {
	for _, dir := range []string{d.claude, filepath.Join(project, ".claude")} {
		skill := filepath.Join(dir, "skills/supervisor/SKILL.md")
		command := filepath.Join(dir, "commands/supervisor.md")
		if _, err := os.Stat(skill); err == nil {
			return skill
		}
		content, err := readUserFile(command)
		in, _ := readInstallation(d) // without one, isOurs compares with this ccc's own text
		if err == nil && content != nil && !keptCommand(d).isOurs(in, content) {
			return command
		}
	}
	return ""
}

// command carries out /supervisor with its operand and returns the answer, which keeps the prompt from the
// model. A task switches supervision on and goes to the model as the user's prompt.
func (s *supervision) command(operand string) (answer string, isTask bool) {
	switch {
	case operand == "":
		return modeLine(summarize(s.session, s.config), s.mode(), s.reviewLimit()), false
	case isUnclear(operand):
		return say(modeUnclear, operand), false
	}
	to := modeOn
	if isTask = !slices.Contains(modes, operand); !isTask {
		to = mode(operand)
	}
	err := s.update(func(state *sessionState) {
		state.Enabled, state.SwitchedAt = to, now()
		if launched := s.caller.launched; launched.After(state.SwitchedAt) { // by a clock that was wrong
			state.SwitchedAt = launched
		}
	})
	if err != nil && !errors.Is(err, errCorrupt) { // a corrupt one begins anew, and the switch counts
		s.warn("switching the mode", err)
		return say(modeFailed, err.Error()), false
	}
	s.log("switched", "mode", to)
	limit := s.reviewLimit()
	s.append(entry{Switch: &switched{Mode: to, Limit: limit}})
	switch {
	case isTask:
		return "", true
	case to == modeOff:
		answer = say(switchedOff)
	case s.mode() == modeOn:
		answer = say(switchedOn, count(limit, reviews))
	case to == modeOn:
		answer = say(switchedOnObserved)
	default:
		answer = say(switchedToObserve)
	}
	return answer + say(switchHolds), false
}
