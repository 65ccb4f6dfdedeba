package main

// Switching supervision on and off: by /supervisor inside a session, by
// ccc supervisor-mode from outside.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// commandText is the file that makes /supervisor known to Claude Code. ccc's hook
// answers on, off and the bare word; a task goes through as it is.
const commandText = `---
description: 监督本会话：on 打开，off 关闭，也可以直接给出任务
argument-hint: on | off | 任务
---

$ARGUMENTS
`

// command returns what follows /supervisor in the prompt, if it is that command.
func (e hookEvent) command() (operand string, ok bool) {
	word, operand, _ := strings.Cut(strings.TrimSpace(e.Prompt), " ")
	operand = strings.TrimSpace(operand)
	if mode := strings.ToLower(operand); mode == "on" || mode == "off" {
		operand = mode
	}
	return operand, e.HookEventName == eventPrompt && word == "/supervisor"
}

// obey carries out /supervisor. The answer keeps the prompt from the model; a
// task has none, and goes on as the user's prompt.
func (h *hook) obey(operand string) any {
	on := operand != "off"
	if operand != "" {
		err := h.state.switchMode(h.event.SessionID, on)
		h.log("switched", "mode", modeWord(on))
		if err != nil {
			h.complain("switching the mode", err)
			return blocked("无法切换 Supervisor 模式: " + err.Error())
		}
	}
	switch operand {
	case "on":
		return blocked("Supervisor 模式已打开：Agent 停下之前会先审查。")
	case "off":
		return blocked("Supervisor 模式已关闭：Agent 可以直接停下。")
	case "":
		return blocked(fmt.Sprintf("Supervisor 模式: %s（/supervisor on 打开，/supervisor off 关闭）", modeWord(h.supervised())))
	}
	h.event.Prompt = operand
	return h.prompt()
}

func modeWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// supervisorMode is ccc supervisor-mode [on|off] [SESSION].
func supervisorMode(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("supervisor-mode", flag.ContinueOnError)
	if help, err := parseFlags(flags, args, 0, 2, stdout); help || err != nil {
		return err
	}
	operands := flags.Args()
	mode := ""
	if len(operands) > 0 && (operands[0] == "on" || operands[0] == "off") {
		mode, operands = operands[0], operands[1:]
	}
	session := os.Getenv(sessionVariable)
	if len(operands) > 0 {
		session = operands[0]
	}
	switch {
	case len(operands) > 1:
		return failure{code: 2, err: fmt.Errorf("supervisor-mode: %q is neither on nor off\n%s", operands[0], usage)}
	case session == "":
		return failure{code: 2, err: fmt.Errorf("supervisor-mode: which session? CLAUDE_CODE_SESSION_ID is not set\n%s", usage)}
	case !validSession(session):
		return failure{code: 2, err: fmt.Errorf("supervisor-mode: %q is not a session id\n%s", session, usage)}
	}
	p, err := findPlaces("")
	if err != nil {
		return err
	}
	state := stateDir(p.state)
	if mode == "" {
		on, err := state.mode(session)
		if err == nil {
			fmt.Fprintln(stdout, modeWord(on))
		}
		return err
	}
	if err := state.create(); err != nil {
		return err
	}
	if err := state.switchMode(session, mode == "on"); err != nil {
		return err
	}
	fmt.Fprintln(stdout, mode)
	return nil
}
