package main

// The reviewer's call: what is known before it, its flags and its settings.

import (
	"slices"
	"strings"
	"testing"
)

// What the reviewer is called with; a flag with nothing to say is left out. Its settings stand in for what
// the user's allow: no edit anywhere, nothing by Claude Code's own sandbox, and no MCP server unless
// ccc.json allows one.
func TestReviewersSettings(t *testing.T) {
	const ask = `"ask":["CronCreate","CronDelete","EnterWorktree","ExitWorktree","Monitor",` +
		`"ScheduleWakeup","SendMessage","Workflow"`
	const box = `"sandbox":{"allowUnsandboxedCommands":false,"autoAllowBashIfSandboxed":false`
	call := &reviewerCall{session: "s", dir: "/tree", prompt: "judge it"}
	settings := `{"disableAllHooks":true,"permissions":{` + ask + `,"mcp__*"],` +
		`"deny":["Edit(//**/*)","Edit(//tree/**)"],"disableBypassPermissionsMode":"disable"},` + box + `}}`
	flags := "--print --fork-session --resume s --verbose --output-format stream-json " +
		"--json-schema " + verdictSchema() + " --system-prompt judge it --system-prompt-snapshot off " +
		"--no-session-persistence --settings " + settings + " --permission-mode dontAsk --strict-mcp-config"
	expectIs(t, "the least", strings.Join(slices.Concat(call.flags()...), " "), flags)
	call.addDirs = []string{"/project", "/other"}
	call.tryCommand = "/bin/ccc try"
	call.config = supervisorConfig{Model: "m", MaxBudgetUSD: 0.5, AllowedTools: []string{"Read", "mcp__x"}}
	whole := strings.Join(slices.Concat(call.flags()...), " ")
	expectIn(t, "all", whole, ask+`]`, box+`,"excludedCommands":["/bin/ccc try:*"]}`,
		`"deny":["Edit(//**/*)","Edit(//tree/**)","Edit(//project/**)","Edit(//other/**)"]`)
	expectIn(t, "all", whole, " dontAsk --model m --add-dir /project /other "+
		"--allowedTools Read mcp__x Bash(/bin/ccc try:*) --max-budget-usd 0.5")
	call.shares = true
	whole = strings.Join(slices.Concat(call.flags()...), " ")
	expectNotIn(t, "with the agent's cache", whole, "--json-schema", "--system-prompt")
}
