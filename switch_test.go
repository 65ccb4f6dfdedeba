package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// modeOf returns the mode of the session that ccc status shows.
func (box *sandbox) modeOf(session string) mode {
	box.t.Helper()
	var sessions []summary
	check(box.t, json.Unmarshal([]byte(box.ccc("status", "--json")), &sessions))
	for _, s := range sessions {
		if s.Session == session {
			return s.Mode
		}
	}
	return ""
}

// What of a prompt is /supervisor, with which operand, and which of these is rather a slip than a task.
func TestSlashCommand(t *testing.T) {
	for want, prompts := range map[string]string{ // with a bar between them
		"":        "/supervisor|/supervisor status|/supervisor 状态",
		"on":      "/supervisor on|/supervisor ON|/supervisor\ton\n|/supervisor 打开|/supervisor 开",
		"off":     "/supervisor\tOff\n|/supervisor 关闭|/supervisor 关|/supervisor 关。|/supervisor\u3000关",
		"observe": "/supervisor observe|/supervisor 旁观",
		"关闭监督":    "/supervisor 关闭监督",
		"修好它。":    "/supervisor 修好它。",
		"fix":     " /supervisor\nfix",
		"none":    "/supervisors|/supervisoron|x /supervisor|supervisor on||/Supervisor on",
	} {
		for prompt := range strings.SplitSeq(prompts, "|") {
			operand, isCommand := slashCommand(prompt)
			if !isCommand {
				operand = "none"
			}
			expectIs(t, prompt, operand, want)
		}
	}
	for want, operands := range map[bool]string{
		true: "offf|off.|--stop|fix1|a_b|停用|off please|停|关掉|关闭监督|关闭监督。|观察|ＯＦＦ|关 了|把监督关掉|turn it off|" +
			"please turn it off!|STOP it|帮我先停一停这个监督吧|关 supervisor|don't review|turn off the review please|" +
			"stop reviewing my work now please|不要再审查了",
		false: "on|off||fix it|修好登录页|修好登录页。|修 bug|修好登录页，不要关掉旧的接口|fix the offset|" +
			"stop the server when idle|别用全局变量|review the login page",
	} {
		for operand := range strings.SplitSeq(operands, "|") {
			expectIs(t, operand, isUnclear(operand), want)
		}
	}
}
