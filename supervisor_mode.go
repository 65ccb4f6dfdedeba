package main

// Supervision is switched by /supervisor inside a session and by ccc supervisor-mode outside. Off is for the
// user, never for an agent.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// slashCommand returns what follows /supervisor in prompt: on, off, "", or other words as they are. ok is
// false for any other prompt.
func slashCommand(prompt string) (operand string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "/supervisor")
	operand = strings.TrimSpace(rest)
	ok = ok && (rest == "" || operand != rest)
	switch strings.ToLower(operand) {
	case "on", "打开":
		operand = "on"
	case "off", "关闭":
		operand = "off"
	}
	return operand, ok
}

// isUnclear reports whether operand is one ASCII word that is neither on nor off: rather a slip than a task.
func isUnclear(operand string) bool {
	return operand != "" && !slices.Contains(modes, operand) && strings.Trim(operand, letters+".-") == ""
}

// modeLine is the state of the session: on or off, the reviews of this request, the last verdict, and what
// the session's reviews have cost.
func modeLine(s summary, isOn bool, limit int) string {
	line := joined(say(modeIs, say(modeNames[modeWord(isOn)])), say(reviewsUsed, s.Count, limit), s.lastLine(),
		joined(say(reviewsOfSession, count(s.Reviews, reviews)), dollars(s.CostUSD)))
	return line + "\n" + say(modeHow)
}

// commandIsTheirs reports whether /supervisor is a command or a skill of the user's own, in Claude Code's
// directory or in the project. Then ccc leaves it alone.
func commandIsTheirs(d dirs, project string) bool {
	for _, dir := range []string{d.claude, filepath.Join(project, ".claude")} {
		if _, err := os.Stat(filepath.Join(dir, "skills", "supervisor", "SKILL.md")); err == nil {
			return true
		}
		content, err := readUserFile(filepath.Join(dir, "commands", "supervisor.md"))
		in, _ := readInstallation(d) // without one, isOurs compares with this ccc's own text
		if err == nil && content != nil && !keptCommand(d).isOurs(in, content) {
			return true
		}
	}
	return false
}

// command carries out /supervisor with its operand and returns the answer, which keeps the prompt from the
// model. A task switches supervision on and goes to the model as the user's prompt. supervised is what the
// session was before.
func (s *supervision) command(operand string, supervised bool) (answer string, isTask bool) {
	switch {
	case operand == "":
		return modeLine(summarize(s.session, s.config), supervised, s.reviewLimit()), false
	case isUnclear(operand):
		return say(modeUnclear, operand), false
	}
	on := operand != "off"
	if err := s.session.switchTo(on); err != nil {
		s.warn("switching the mode", err)
		return say(modeFailed, err.Error()), false
	}
	s.log("switched", "mode", modeWord(on), "by", switchedInSession)
	limit := s.reviewLimit()
	s.record(entry{Switch: &switched{Mode: modeWord(on), By: switchedInSession, Limit: limit}})
	switch operand {
	case "on":
		return say(modeOn, count(limit, reviews)), false
	case "off":
		return say(modeOff), false
	}
	return "", true
}

// supervisorMode is ccc supervisor-mode [on|off] [SESSION]. Without SESSION it is about the newest of the
// project, which it names, or from an agent's tool about the agent's own.
func supervisorMode(c *invocation, d dirs) error {
	operands, mode := c.operands, ""
	if len(operands) > 0 && slices.Contains(modes, operands[0]) {
		mode, operands = operands[0], operands[1:]
	}
	state := stateDir(d.state)
	isAgent := callerOf(ancestry(os.Getpid()), d.env).byAgent
	session, err := "", error(nil)
	switch {
	case len(operands) > 0:
		session, err = state.findSession(operands[0])
		if mode == "" && (err != nil || len(operands) > 1) {
			const wrong = "%q is neither on nor off, nor the beginning of one known session's id"
			return usageError("supervisor-mode", wrong, operands[0])
		}
	case isAgent:
		session = d.env.get(sessionVariable)
	default:
		if session, err = sessionMeant(d); err == nil {
			fmt.Fprintln(os.Stderr, "ccc:", say(sessionChosen, session, say(newestHere)))
		}
	}
	switch {
	case err != nil:
		return err
	case !validSession(session):
		return usageError("supervisor-mode", "which session? "+sessionHint)
	case mode == "off" && isAgent:
		return withHint(errors.New("supervisor-mode: off is for the user, not for the agent"),
			"the user can type /supervisor off, or call this in a terminal of their own")
	}
	known := state.session(session)
	if mode != "" {
		by := switchedOutside
		if isAgent {
			by = switchedByAgent
		}
		if err := errors.Join(state.create(), known.switchTo(mode == "on")); err != nil {
			return err
		}
		err := errors.Join(known.append(entry{Switch: &switched{Mode: mode, By: by}}),
			state.log("switched", "session_id", session, "mode", mode, "by", by))
		if err != nil {
			return err
		}
	}
	present, err := known.readState()
	if err != nil {
		return err
	}
	fmt.Println(modeWord(present.isOn()))
	return nil
}
