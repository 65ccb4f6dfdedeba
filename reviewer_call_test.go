package main

// The reviewer's call: what is known before it, its flags and its settings.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a reviewer is called with: the directories that it may read, the session's model, and its time.
func TestHookPlanned(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"project", "tree", "added", "typed"} {
		check(t, os.Mkdir(at(name), 0o700))
	}
	check(t, os.WriteFile(at("file"), nil, 0o600))
	added := []string{at("added"), at("none"), at("file"), "relative", "", at("added")}
	t.Setenv(addDirsVariable, strings.Join(added, "\n"))
	before := tryProbe
	t.Cleanup(func() { tryProbe = before })
	tryProbe = func(context.Context, string, []string) (bool, string, error) {
		return false, "", errors.New(noNamespaces)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second+300*time.Millisecond)
	defer cancel()
	theirs := map[string]string{"ANTHROPIC_BASE_URL": "https://b", "ANTHROPIC_AUTH_TOKEN": "t"}
	for _, test := range []struct {
		tree                    string
		id, model, want         string // of the model: the transcript's, ccc.json's, the reviewer's
		reviewers, given, known string // the provider: the reviewer's, the session's, by its state
	}{
		{"project", "m[1m]", "", "m[1m]", "", "", ""},
		{"project", "", "", "", "", "", ""},
		{"tree", "m", "chosen", "chosen", "", "", ""},
		{"project", "m", "", "", "b", "a", "b"},
		{"project", "m", "", "m", "b", "b", ""},
	} {
		h, of, r, name := testHook(t, eventStop), judgedWork{}, newReview(eventStop), fmt.Sprint(test, ": ")
		h.dirs.here = at("project")
		h.place = place{project: at("project"), root: at(test.tree), dir: h.dirs.state}
		h.config.Supervisor.Model, h.config.Supervisor.Provider = test.model, test.reviewers
		h.config.Providers = map[string]*provider{"b": {name: "b", Env: theirs}}
		h.client.launched = now()
		h.state.Provider = test.known
		h.dirs.env = setEnv(h.dirs.env, providerVariable, test.given)
		of.talk.version, of.talk.model, of.talk.dirs = "2.1.330", test.id, []string{at("typed"), at("added")}
		h.recordBegin(ctx, &r)
		r.changeFacts = h.takeChange(ctx, r.occasion(), &of)
		call, who, err := h.call(ctx, r, of)
		check(t, err)
		h.release()
		expectIs(t, name+"the model", call.config.Model, test.want)
		expectIs(t, name+"the model on record", who.Model, test.want)
		readable := []string{at(test.tree), at("added"), at("typed"), at("project")}
		if test.tree == "project" {
			readable = readable[:3]
		}
		expectEqual(t, name+"the directories", append([]string{call.dir}, call.addDirs...), readable)
		expectIs(t, name+"why there is no copy", who.NoCopy+call.tryCommand, noNamespaces)
		url := "https://b"
		if test.reviewers == test.given { // a session of that provider has its values
			url = ""
		}
		expectIs(t, name+"the API", lookupEnv(call.env, "ANTHROPIC_BASE_URL"), url)
	}
}

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
