package main

// What mutants of 1.0.0 got away with: the second member of a list, the other end of a range, the other order.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whoever reads the hook's stderr may close it in the middle of a review: the decision is given.
func TestFaultStderrClosed(t *testing.T) {
	box := newHookBox(t)
	box.reviews(fakeReview{runs(`echo x >"$FAKE_CLAUDE_DIR/runs"; while [ ! -e "$FAKE_CLAUDE_DIR/closed" ]; do sleep 0.05; done`),
		says(strings.Repeat("what the reviewer thinks ", 10000)), says("more"), decides(false, "not yet")})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := box.command("ccc", "supervisor-hook")
	var stdout strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(box.event(eventStop, "")), &stdout, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	for deadline := time.Now().Add(20 * time.Second); box.read("../fake/runs") == "" && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	read.Close()
	box.write("../fake/closed", 0o600, "")
	if err := cmd.Wait(); err != nil || stdout.String() != blockNotYet {
		t.Errorf("%v: %q", err, stdout.String())
	}
}

// Without a count nothing would bound the loop of a question: it goes to the user unreviewed.
func TestFaultQuestionUncounted(t *testing.T) {
	box := newHookBox(t)
	box.write(statePath+"/x", 0o600, "") // a directory in the place of the file
	got := box.hook(box.event(eventPreToolUse, asked))
	if got.code != 0 || got.stdout != "" || box.read("../fake/reviewer-1/args") != "" || !strings.Contains(got.stderr, "only the first stop is reviewed") {
		t.Errorf("%+v", got)
	}
}

// A relative CCC_WORK_DIR is about where ccc was launched, also for a hook in a subdirectory.
func TestLaunchRelativeWorkDir(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "CCC_WORK_DIR=../state")
	box.turns("sh mkdir -p deep/down && cd deep/down\nDone.\n")
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
	logs, _ := filepath.Glob(filepath.Join(filepath.Dir(box.home), "state/ccc/supervisor-*-events.jsonl"))
	if got.code != 0 || len(logs) != 1 {
		t.Errorf("%+v leaves %q", got, logs)
	}
	if _, err := os.Stat(filepath.Join(box.work, "deep/state")); err == nil {
		t.Error("the hook had a state directory of its own")
	}
}

// Of two members with one name the last counts, as it does for Claude Code: that is the one that ccc edits.
func TestSettingsTwice(t *testing.T) {
	box := newFakeBox(t)
	box.setSettings(`{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "dead"}]}]},
 "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "disableAllHooks": true}`)
	box.launch()
	text := box.settings()
	if len(mutedIn(text)) != 0 || strings.Index(text, "supervisor-hook") < strings.Index(text, "mine") {
		t.Errorf("settings.json is %s", text)
	}
	box.run(30*time.Second, "", "ccc", "uninstall")
	if text = box.settings(); strings.Contains(text, "supervisor-hook") || len(mutedIn(text)) != 1 {
		t.Errorf("after uninstall it is %s", text)
	}
}

// A session is known from its first prompt on: it can be switched before any review.
func TestSwitchBeforeReview(t *testing.T) {
	box := newHookBox(t)
	box.submit("fix it")
	if got := box.run(10*time.Second, "", "ccc", "supervisor-mode", testSession[:8]); got.stdout != "on\n" {
		t.Errorf("%+v", got)
	}
	if got := box.run(10*time.Second, "", "ccc", "supervisor-mode", "off", testSession[:8]); got.stdout != "off\n" {
		t.Errorf("%+v", got)
	}
	if got := box.stop(""); got.stdout != "" || got.stderr != "" {
		t.Errorf("switched off, but %+v", got)
	}
}

// Nothing of the user's goes to a provider by the command line, an older file of Claude Code's, a variable, or a key that
// an interactive session may be refused.
func TestProviderOwnThings(t *testing.T) {
	t.Parallel()
	const withToken = `{"env":{"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_AUTH_TOKEN":"t"}}`
	const withKey = `{"env":{"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_API_KEY":"key-of-the-provider-0123456789"}}`
	const withModel = `{"env":{"ANTHROPIC_MODEL":"m"}}`
	tests := []struct {
		name, provider, file, content string
		login                         bool
		args                          []string
		names                         string // in the refusal, "" for none
	}{
		{name: "helper_on_the_command_line", provider: withToken, args: []string{"--settings", `{"apiKeyHelper":"echo x"}`}, names: "--settings: apiKeyHelper"},
		{name: "key_on_the_command_line", provider: withToken, args: []string{`--settings={"env":{"ANTHROPIC_API_KEY":"mine"}}`}, names: "--settings: env.ANTHROPIC_API_KEY"},
		{name: "harmless_settings", provider: withToken, args: []string{"--settings", `{"model":"opus"}`}},
		{name: "older_file", provider: withToken, file: ".claude/.config.json", content: `{"primaryApiKey":"mine"}`, names: "primaryApiKey"},
		{name: "key_beside_a_login", provider: withKey, login: true, names: "providers.x.env.ANTHROPIC_API_KEY"},
		{name: "key_beside_a_console_login", provider: withKey, file: ".claude.json", content: `{"primaryApiKey":"mine"}`},
		{name: "token_beside_a_console_login", provider: withToken, file: ".claude.json", content: `{"primaryApiKey":"mine"}`, names: "primaryApiKey"},
		{name: "key_printed", provider: withKey, login: true, args: []string{"-p"}},
		{name: "key_printed_long", provider: withKey, login: true, args: []string{"--print"}},
		{name: "key_without_login", provider: withKey},
		{name: "key_and_token_beside_a_login", login: true,
			provider: `{"env":{"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_API_KEY":"k","ANTHROPIC_AUTH_TOKEN":"t"}}`},
		{name: "key_allowed_beside_a_login", provider: withKey, login: true, file: ".claude.json",
			content: `{"customApiKeyResponses":{"approved":["-provider-0123456789"]}}`},
		{name: "model_beside_a_login", provider: withModel, login: true},
		{name: "model_beside_a_console_login", provider: withModel, file: ".claude.json", content: `{"primaryApiKey":"mine"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs("echo started; env")
			if test.login {
				box.write(".claude/.credentials.json", 0o600, `{}`)
			}
			box.vars = append(box.vars, "CLAUDE_CODE_OAUTH_TOKEN=mine", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR=7", "CLAUDE_CODE_EXTRA_BODY=mine")
			box.write(".claude/ccc.json", 0o600, `{"providers":{"x":`+test.provider+`}}`)
			if test.file != "" {
				box.write(test.file, 0o600, test.content)
			}
			got := box.run(10*time.Second, "", append([]string{"ccc", "x"}, test.args...)...)
			if test.names != "" && (got.code != 1 || !strings.Contains(got.stderr, test.names) || strings.Contains(got.stderr, "mine")) || test.names == "" && !strings.HasPrefix(got.stdout, "started") {
				t.Errorf("%+v", got)
			}
			for _, name := range []string{"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR", "CLAUDE_CODE_EXTRA_BODY"} {
				if strings.Contains(got.stdout, name) {
					t.Errorf("claude has %s", name)
				}
			}
		})
	}
}

// What was filled in is forgotten with the file that held it.
func TestUninstallEmptiedBetween(t *testing.T) {
	box := newFakeBox(t)
	box.setSettings(`{"model": "opus", "disableAllHooks": true}`)
	box.write(".claude/ccc.json", 0o600, `{"settings":{"permissions":{"defaultMode":"plan"}}}`)
	box.launch()
	box.setSettings("{ }")
	box.launch()
	box.run(30*time.Second, "", "ccc", "uninstall")
	if text := strings.Join(strings.Fields(box.settings()), ""); text != "{}" {
		t.Errorf("settings.json is %s, was {}", box.settings())
	}
}

// claude may be named without its path, and is found in PATH by hooks as well.
func TestLaunchNamedClaude(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "CCC_CLAUDE=claude")
	if got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello"); got.code != 0 || fmt.Sprint(box.timelineVerdicts()) != "[allow]" {
		t.Errorf("%+v, verdicts %v", got, box.timelineVerdicts())
	}
}

// A CCC_CONFIG_DIR of its own is left as it was, but for what is the user's.
func TestUninstallConfigDir(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "CCC_CONFIG_DIR="+box.home+"/own", "KIMI_TOKEN=x")
	box.write("own/ccc.json", 0o600, twoProviders)
	if got := box.run(30*time.Second, "", "ccc", "kimi", "--supervisor", "--", "--version"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := box.run(30*time.Second, "", "ccc", "uninstall", "--purge"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	entries, _ := os.ReadDir(filepath.Join(box.home, "own"))
	if len(entries) != 1 || entries[0].Name() != "ccc.json" {
		t.Errorf("left: %v", entries)
	}
}

// mutedIn returns the muting keys that are true in text, a settings.json.
func mutedIn(text string) []string {
	s, _ := settingsIn([]byte(text))
	return (source{values: s}).muting()
}
