package main

// Supervision on and off: what /supervisor means inside a session, and ccc supervisor-mode outside.

import (
	"fmt"
	"os"
	"strings"
)

// keptCommand is the file that makes /supervisor known to Claude Code. ccc's hook answers on, off and the bare
// word; a task goes through as it is.
func keptCommand(d dirs) keptFile {
	return keptFile{d.commandFile(), `---
description: 监督本会话：on 打开，off 关闭，也可以直接给出任务
argument-hint: on | off | 任务
---
$ARGUMENTS
`}
}

// slashCommand returns what follows /supervisor in prompt; ok is false for any other prompt.
func slashCommand(prompt string) (operand string, ok bool) {
	word, operand, _ := strings.Cut(strings.TrimSpace(prompt), " ")
	operand = strings.TrimSpace(operand)
	if mode := strings.ToLower(operand); mode == "on" || mode == "off" {
		operand = mode
	}
	return operand, word == "/supervisor"
}

func modeWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// supervisorMode is ccc supervisor-mode [on|off] [SESSION].
func supervisorMode(c *call, d dirs) error {
	operands, mode := c.operands, ""
	if len(operands) > 0 && (operands[0] == "on" || operands[0] == "off") {
		mode, operands = operands[0], operands[1:]
	}
	session := os.Getenv(sessionVariable)
	if len(operands) > 0 {
		session = operands[0]
	}
	switch {
	case len(operands) > 1:
		return usageError("supervisor-mode", "%q is neither on nor off", operands[0])
	case session == "":
		return usageError("supervisor-mode", "which session? %s is not set", sessionVariable)
	case !validSession(session):
		return usageError("supervisor-mode", "%q is not a session id", session)
	}
	state := stateDir(d.state)
	if mode == "" {
		on, err := state.mode(session)
		if err == nil {
			fmt.Println(modeWord(on))
		}
		return err
	}
	if err := state.create(); err != nil {
		return err
	}
	if err := state.switchMode(session, mode == "on"); err != nil {
		return err
	}
	fmt.Println(mode)
	return nil
}
