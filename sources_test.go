package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// agentEnv returns the values that claude got for a variable, as its launch had it.
func (box *sandbox) agentEnv(name string) (values []string) {
	return valuesOf(strings.Split(box.environment("agent-1"), "\n"), name)
}

// valuesOf returns the values of a variable in an environment.
func valuesOf(env []string, name string) (values []string) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

func TestProviderEnvironment(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, twoProviders)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET", "ANTHROPIC_API_KEY=old", "ANTHROPIC_MODEL=old", "ANTHROPIC_SMALL_FAST_MODEL=old",
		"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_USE_VERTEX=1", "TWICE=1", "TWICE=2")
	got := box.run(10*time.Second, "", "ccc", "kimi", "-p", "hi")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("got %+v", got)
	}
	for name, want := range map[string][]string{
		"ANTHROPIC_BASE_URL": {"https://kimi.example"}, "ANTHROPIC_AUTH_TOKEN": {"SECRET"}, "ANTHROPIC_MODEL": {"k2"},
		"TIMEOUT_MS": {"600000000"}, "FAST": {"true"}, "LITERAL": {"a ${KIMI_TOKEN}"},
		"ANTHROPIC_API_KEY": nil, "ANTHROPIC_SMALL_FAST_MODEL": nil, "CLAUDE_CODE_USE_BEDROCK": nil, "CLAUDE_CODE_USE_VERTEX": nil, "TWICE": {"2"},
	} {
		expectEqual(t, name, box.agentEnv(name), want)
	}
	expectNotIn(t, "claude's command line", box.read("../fake/agent-1.args"), "--settings", "SECRET")
}

// A settings file whose env would win over the provider stops the launch.
func TestProviderConflicts(t *testing.T) {
	t.Parallel()
	const user, project, local, managed, account = "../home/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json", "../home/managed.json", "../home/.claude.json"
	tests := []struct{ name, file, text, want string }{
		{"user_other_value", user, `{"env":{"ANTHROPIC_BASE_URL":"https://SECRET"}}`, "env.ANTHROPIC_BASE_URL"},
		{"project_token", project, `{"env":{"ANTHROPIC_AUTH_TOKEN":"OTHER-SECRET"}}`, "env.ANTHROPIC_AUTH_TOKEN"},
		{"local_key", local, `{"env":{"ANTHROPIC_API_KEY":"SECRET"}}`, "env.ANTHROPIC_API_KEY"},
		{"provider_key", project, `{"env":{"TIMEOUT_MS":1}}`, "env.TIMEOUT_MS"},
		{"same_value", project, `{"env":{"ANTHROPIC_BASE_URL":"https://kimi.example","TIMEOUT_MS":600000000,"OTHER":"x"}}`, ""},
		{"user_helper", user, `{"apiKeyHelper":"echo SECRET"}`, "apiKeyHelper"},
		{"local_helper", local, `{"apiKeyHelper":"echo SECRET"}`, "apiKeyHelper"},
		{"no_helper", project, `{"apiKeyHelper":""}`, ""},
		{"user_vertex", user, `{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}`, "env.CLAUDE_CODE_USE_VERTEX"},
		{"with_mark", project, "\ufeff{\"env\":{\"ANTHROPIC_API_KEY\":\"SECRET\"}}", "env.ANTHROPIC_API_KEY"},
		{"administrators_helper", managed, `{"apiKeyHelper":"echo SECRET"}`, "apiKeyHelper"},
		{"account_headers", account, `{"env":{"ANTHROPIC_CUSTOM_HEADERS":"X: SECRET"}}`, "env.ANTHROPIC_CUSTOM_HEADERS"},
		{"console_login", account, `{"primaryApiKey":"SECRET"}`, "primaryApiKey"},
		{"console_login_of_older_file", "../home/.claude/.config.json", `{"primaryApiKey":"SECRET"}`, "primaryApiKey"},
		{"broken_account", account, `{"primaryApiKey":"SECRET",}`, "line 1, column 27"},
		{"blank_file", project, "\ufeff \n", ""},
		{"broken_file", local, `{"env":`, "line 1, column 7"},
		{"unreadable", user, "a directory", "read "},
		{"null", project, "null", "line 1, column 1"},
		{"no_object", project, `["SECRET"]`, "line 1, column 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, "KIMI_TOKEN=SECRET", testManagedVariable+"="+filepath.Join(box.home, "managed.json"))
			box.write(".claude/ccc.json", 0o600, twoProviders)
			if test.text == "a directory" {
				test.file += "/file"
			}
			box.write("../work/"+test.file, 0o600, test.text)
			run := func() commandResult { _, got := box.plan("kimi", "-p", "hi"); return got }
			if test.file == managed { // which only another process has elsewhere
				run = func() commandResult { return box.run(10*time.Second, "", "ccc", "kimi", "-p", "hi") }
			}
			got := run()
			if test.want == "" {
				if got.code != 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			path := filepath.Join(box.work, strings.TrimSuffix(test.file, "/file"))
			if got.code != 1 || !strings.Contains(got.stderr, path+": "+test.want) || strings.Contains(got.stderr, "SECRET") || got.stdout != "" {
				t.Errorf("got %+v, want %s: %s", got, path, test.want)
			}
			if box.read("../fake/agent-1.args") != "" || box.read(".claude/ccc.json") != twoProviders || len(box.files()) > 2 {
				t.Errorf("claude was started, or something written: %q", box.files())
			}
		})
	}
}

// The local settings of a repository's main working tree count in its directories
// and in its other trees.
func TestProviderConflictsOfRepository(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET")
	box.write(".claude/ccc.json", 0o600, twoProviders)
	box.write("../work/.claude/settings.local.json", 0o600, `{"apiKeyHelper":"x"}`)
	box.write("../work/.git/worktrees/tree/commondir", 0o600, "../..\n")
	box.write("../work/sub/x", 0o600, "")
	box.write("../tree/.git", 0o600, "gitdir: "+box.work+"/.git/worktrees/tree\n")
	main := filepath.Join(box.work, ".claude/settings.local.json")
	for _, dir := range []string{"", "sub", "../tree"} {
		got := box.run(10*time.Second, "", "sh", "-c", `cd "$1" && exec ccc kimi -p hi`, "sh", filepath.Join(box.work, dir))
		if got.code != 1 || strings.Count(got.stderr, main+": apiKeyHelper") != 1 {
			t.Errorf("in %q: got %+v", dir, got)
		}
	}
}

// A provider with a URL names a token, in its variable or in a header: else Claude Code would send the user's login there.
// It is refused, with the file, its key and both ways out, before anything is written.
func TestProviderWithoutToken(t *testing.T) {
	for env, isRefused := range map[string]bool{
		`"ANTHROPIC_BASE_URL":"https://a"`:                                                         true,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_AUTH_TOKEN":""`:                               true,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_AUTH_TOKEN":"t"`:                              false,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_API_KEY":"k"`:                                 true,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_API_KEY":"k","ANTHROPIC_AUTH_TOKEN":"t"`:      false,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_CUSTOM_HEADERS":"Authorization: mine"`:        false,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_CUSTOM_HEADERS":"X-Team: a\nauthorization:k"`: false,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_CUSTOM_HEADERS":"X-Api-Key: mine"`:            true,
		`"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_CUSTOM_HEADERS":"X-Authorization: k"`:         true,
		`"ANTHROPIC_MODEL":"m"`:   false,
		`"ANTHROPIC_API_KEY":"k"`: false,
	} {
		for _, config := range []string{`{"providers":{"a":{"env":{%s}}}}`, `{"supervisor":{"provider":"a"},"providers":{"a":{"env":{%s}}}}`} {
			box := newFakeBox(t)
			box.write(".claude/ccc.json", 0o600, fmt.Sprintf(config, env))
			args := []string{"a", "-p", "hi"}
			if strings.Contains(config, "supervisor") {
				args = []string{"--supervisor", "-p", "hi"}
			}
			_, got := box.plan(args...)
			if got.code != map[bool]int{true: 1}[isRefused] || isRefused && !strings.Contains(got.stderr,
				"provider a has no ANTHROPIC_AUTH_TOKEN, so Claude Code could send it your own login\n     leave ") {
				t.Errorf("%s, %q: got %+v", env, args, got)
			}
			expectEqual(t, "the files", box.files(), []string{".claude/ccc.json"})
		}
	}
}

// Only where a key or a token pays for the session is the line left out that a
// subscription is billed by.
func TestAttribution(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-0123456789-0123456789-0123456789"
	allowed := fmt.Sprintf(`{"customApiKeyResponses":{"approved":[%q]}}`, key[len(key)-20:])
	for name, test := range map[string]struct {
		env, settings, project, account, config, provider string
		args                                              []string
		want                                              []string
	}{
		"login":               {},
		"login_user_set_it":   {env: "CLAUDE_CODE_ATTRIBUTION_HEADER=0", want: []string{"0"}},
		"token":               {env: "ANTHROPIC_AUTH_TOKEN=t", want: []string{"0"}},
		"token_user_keeps_it": {env: "ANTHROPIC_AUTH_TOKEN=t CLAUDE_CODE_ATTRIBUTION_HEADER=1", want: []string{"1"}},
		"token_in_settings":   {settings: `{"env":{"ANTHROPIC_AUTH_TOKEN":"t"}}`, want: []string{"0"}},
		"token_taken_away":    {env: "ANTHROPIC_AUTH_TOKEN=t", settings: `{"env":{"ANTHROPIC_AUTH_TOKEN":""}}`},
		"token_in_argument":   {args: []string{"--settings", `{"env":{"ANTHROPIC_AUTH_TOKEN":"t"}}`}, want: []string{"0"}},
		"setting_sources":     {env: "ANTHROPIC_AUTH_TOKEN=t", args: []string{"--setting-sources", "user,project"}},
		"of_an_outer_session": {env: "CLAUDE_CODE_ATTRIBUTION_HEADER=0 CCC_CACHE=line"},
		"bedrock":             {env: "CLAUDE_CODE_USE_BEDROCK=1", want: []string{"0"}},
		"vertex":              {env: "CLAUDE_CODE_USE_VERTEX=on", want: []string{"0"}},
		"foundry":             {env: "CLAUDE_CODE_USE_FOUNDRY=Yes", want: []string{"0"}},
		"bedrock_off":         {env: "CLAUDE_CODE_USE_BEDROCK=0"},
		"helper":              {settings: `{"apiKeyHelper":"x"}`, project: `{"model":"m"}`, want: []string{"0"}},
		"helper_taken_away":   {settings: `{"apiKeyHelper":"x"}`, project: `{"apiKeyHelper":""}`},
		"key_allowed":         {env: "ANTHROPIC_API_KEY=" + key, account: allowed, want: []string{"0"}},
		"key_not_allowed":     {env: "ANTHROPIC_API_KEY=" + key, account: `{"customApiKeyResponses":{"rejected":["x"]}}`},
		"key_in_print_mode":   {env: "ANTHROPIC_API_KEY=" + key, args: []string{"-p"}, want: []string{"0"}},
		"provider":            {provider: "a", config: `,"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_AUTH_TOKEN":"t"}}}`, want: []string{"0"}},
		"provider_of_a_model": {provider: "a", config: `,"providers":{"a":{"env":{"ANTHROPIC_MODEL":"m"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.vars = append(box.vars, strings.Fields(test.env)...)
			box.write(".claude.json", 0o600, test.account)
			box.write(".claude/settings.json", 0o600, test.settings)
			box.write("../work/.claude/settings.json", 0o600, test.project)
			box.write(".claude/ccc.json", 0o600, "{"+strings.TrimPrefix(test.config, ",")+"}")
			args := slices.Concat([]string{"--supervisor"}, strings.Fields(test.provider), test.args, []string{"--", "hi"})
			l, got := box.plan(args...)
			if value := valuesOf(l.env, attributionVariable); got.code != 0 || !slices.Equal(value, test.want) {
				t.Errorf("got %+v, the variable is %q, want %q", got, value, test.want)
			}
			if name != "token" && name != "login" { // which stand for all: a session has what was planned, and is reviewed
				return
			}
			got = box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
			expectEqual(t, "the variable in claude", box.agentEnv(attributionVariable), test.want)
			expectIs(t, fmt.Sprintf("the reviews of %+v", got), len(box.timelineVerdicts()), 1)
		})
	}
}

// environmentWith returns the environment of a reviewer with that provider, in a launched session.
func environmentWith(t *testing.T, session []string, p *provider) ([]string, error) {
	config := &configuration{Supervisor: supervisorConfig{Provider: p.name}, Providers: map[string]*provider{p.name: p}}
	s := supervision{dirs: dirs{env: session, claude: t.TempDir()}, config: config, caller: caller{launched: time.Now()}}
	return s.environment()
}

// The line that a launch has left out stays out for a reviewer of the session's own provider, which shares its prompt cache.
// With another provider a login may pay, and that is billed by the line.
func TestAttributionOfReviewer(t *testing.T) {
	env := []string{providerVariable + "=a", attributionVariable + "=0", cacheVariable + "=" + attributionLeftOut}
	for name, want := range map[string]string{"a": "0", "b": ""} {
		got, err := environmentWith(t, env, &provider{name: name})
		check(t, err)
		expectIs(t, name+": "+attributionVariable, lookupEnv(got, attributionVariable), want)
	}
}

// The reviewer's own provider: its values, and nothing of the session's.
func TestProviderOfReviewer(t *testing.T) {
	box := newFakeBox(t)
	box.write("../work/sub/x", 0o600, "")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"b","model":"m"},"providers":{
		"a":{"env":{"ANTHROPIC_BASE_URL":"https://a","ANTHROPIC_AUTH_TOKEN":"TOKEN-A"}},
		"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"${KEY_B}"}}}}`)
	unset := box.run(10*time.Second, "", "ccc", "a", "--supervisor", "-p", "hi")
	expectIs(t, "without its variable: the exit code", unset.code, 1)
	expectIn(t, "without its variable: stderr", unset.stderr,
		"the reviewer: providers.b.env.ANTHROPIC_AUTH_TOKEN of ccc.json is ${KEY_B}")
	box.vars = append(box.vars, "KEY_B=KEY-B")
	box.run(30*time.Second, "", "ccc", "a", "--supervisor", "-p", "hi")
	env := box.environment("reviewer-1")
	expectIn(t, "the reviewer's environment", env, "\nANTHROPIC_BASE_URL=https://b\n", "\nANTHROPIC_AUTH_TOKEN=KEY-B\n")
	// The session may be older than what is in the files now.
	box.reviews(allows(""))
	box.inSession()
	box.write("../work/.claude/settings.json", 0o600, `{"apiKeyHelper":"echo SECRET"}`)
	for _, dir := range []string{".", "sub"} { // they are the project's, wherever the agent's current directory is
		got := box.run(10*time.Second, `{"session_id":"`+testSession+`","hook_event_name":"Stop"}`, "sh", "-c", "cd "+dir+" && exec ccc supervisor-hook")
		expectIn(t, "in "+dir, got.stderr, "no review: settings override the provider b, or send it what is yours:\n     "+
			filepath.Join(box.work, ".claude/settings.json")+": apiKeyHelper\n"+
			"     leave out supervisor.provider of ccc.json, or --provider, or change that there:\n")
		expectIs(t, "in "+dir+": another reviewer's environment", box.environment("reviewer-2"), "")
	}
	expectNotIn(t, "the reviewer's environment", env, "TOKEN-A")
	expectIn(t, "the agent's environment", box.environment("agent-1"), "ANTHROPIC_AUTH_TOKEN=TOKEN-A")
}

// What the reviewer's provider takes from the environment is never a value of the session's provider: a variable that a launch
// drops is refused by its name, at the launch and, where the session is switched on later, at the review. Any other reaches the
// reviewer, under its provider's name alone. The session's own provider needs none: the session has its values.
func TestProviderOfReviewerFromEnvironment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ session, reviewer, own, refused string }{
		"dropped":    {`"ANTHROPIC_AUTH_TOKEN":"TOKEN-A"`, "${ANTHROPIC_API_KEY}", "b", "${ANTHROPIC_API_KEY}"},
		"overlaid":   {`"ANTHROPIC_AUTH_TOKEN":"TOKEN-A","ANTHROPIC_API_KEY":"KEY-A"`, "${ANTHROPIC_API_KEY}", "b", "${ANTHROPIC_API_KEY}"},
		"same":       {`"ANTHROPIC_AUTH_TOKEN":"${ANTHROPIC_API_KEY}"`, "${ANTHROPIC_API_KEY}", "b", "${ANTHROPIC_API_KEY}"},
		"of_neither": {`"ANTHROPIC_AUTH_TOKEN":"TOKEN-A"`, "${KEY_B}", "b", ""},
		"its_own":    {`"ANTHROPIC_AUTH_TOKEN":"${ANTHROPIC_API_KEY}"`, "", "a", ""},
	} {
		for _, command := range []string{"ccc a --supervisor -p hi", "ccc a -p '/supervisor fix it'"} {
			t.Run(name+strings.Fields(command)[2], func(t *testing.T) {
				box := newFakeBox(t)
				box.prepare() // the hooks are there
				box.vars = append(box.vars, "ANTHROPIC_API_KEY=KEY-GIVEN", "KEY_B=KEY-GIVEN")
				box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"`+test.own+`"},"providers":{"a":{"env":{"ANTHROPIC_BASE_URL":"https://a",`+
					test.session+`}},"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"`+test.reviewer+`"}}}}`)
				box.reviews(fakeReview{runs("env >$HOME/reviewers"), decides(true, "")})
				got := box.run(30*time.Second, "", "sh", "-c", command)
				reviewer := box.environment("reviewer-1")
				if reached := strings.Contains(reviewer, "ANTHROPIC_AUTH_TOKEN=KEY-GIVEN\n"); reached != (test.refused == "") || strings.Contains(reviewer, "-A\n") {
					t.Errorf("%+v, the reviewer had\n%s", got, reviewer)
				}
				said := got.stdout + got.stderr // the fake shows what a hook's systemMessage says
				if test.refused != "" && !strings.Contains(said, "providers.b.env.ANTHROPIC_AUTH_TOKEN of ccc.json is "+test.refused+", which a session of provide") {
					t.Errorf("it is not said: %+v", got)
				}
				for _, file := range box.files() {
					if strings.HasPrefix(file, ".claude/ccc/") && strings.Contains(box.read(file), "KEY-GIVEN") {
						t.Errorf("%s holds the key", file)
					}
				}
				expectNotIn(t, "what was printed, and the arguments", said+box.read("../fake/reviewer-1.args")+box.read("../fake/agent-1.args"), "KEY-GIVEN")
			})
		}
	}
}

// Nor does a launch in a session of another provider take a value of that one's for its own.
func TestProviderInsideAnother(t *testing.T) {
	for session, isRefused := range map[string]bool{"a": true, "b": false, "": false} {
		box := newFakeBox(t)
		box.vars = append(box.vars, "CCC_PROVIDER="+session, "ANTHROPIC_AUTH_TOKEN=TOKEN-A")
		box.write(".claude/ccc.json", 0o600, `{"providers":{"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"${ANTHROPIC_AUTH_TOKEN}"}}}}`)
		_, got := box.plan("b", "-p", "hi")
		if got.code != map[bool]int{true: 1}[isRefused] || isRefused != strings.Contains(got.stderr, "providers.b.env.ANTHROPIC_AUTH_TOKEN of ccc.json is ${ANTHROPIC_AUTH_TOKEN}, ") {
			t.Errorf("in a session of %q: %+v", session, got)
		}
	}
}

// Without the variable a token of the session's provider does not take its place.
func TestProviderOfReviewerUnset(t *testing.T) {
	box := newFakeBox(t)
	box.prepare()
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"b"},"providers":{"a":{"env":{"ANTHROPIC_AUTH_TOKEN":"TOKEN-A"}},
		"b":{"env":{"ANTHROPIC_BASE_URL":"https://b","ANTHROPIC_AUTH_TOKEN":"${ANTHROPIC_AUTH_TOKEN}"}}}}`)
	box.run(30*time.Second, "", "ccc", "a", "-p", "/supervisor fix it")
	expectIn(t, "why there is no review", lastReview(t, box.onlyTimeline()).Error,
		"${ANTHROPIC_AUTH_TOKEN}, which a session of provider a")
	expectIs(t, "a reviewer's environment", box.environment("reviewer-1"), "")
}

// Reviews are paid as their session is: not by a key that the user keeps from
// interactive sessions.
func TestProviderRefusedKey(t *testing.T) {
	for _, test := range []struct {
		entrypoint, account string
		passed              bool
		provider            string // of the session, whose key it is
	}{
		{"cli", `{"customApiKeyResponses":{"approved":["3456789-0123456789-x"]}}`, true, ""},
		{"cli", `{"customApiKeyResponses":{"approved":[],"rejected":["3456789-0123456789-x"]}}`, false, ""},
		{"cli", ``, false, ""},
		{"sdk-cli", ``, true, ""},
		{"cli", ``, true, "kimi"},
	} {
		box := newHookBox(t)
		box.vars = append(box.vars, "ANTHROPIC_API_KEY=sk-ant-0123456789-0123456789-x", "CLAUDE_CODE_ENTRYPOINT="+test.entrypoint, "CCC_PROVIDER="+test.provider)
		box.write(".claude.json", 0o600, test.account)
		box.stop(`"stop_hook_active":false`)
		env := box.environment("reviewer-1")
		if passed := strings.Contains(env, "ANTHROPIC_API_KEY="); env == "" || passed != test.passed {
			t.Errorf("%+v: the key was passed on: %v", test, passed)
		}
	}
}

// A secret is in no argument, no output and no file of ccc's but those that hold texts as they came.
func TestProviderSecrets(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET-ENV-1", "FAKE_CLAUDE_SESSION="+testSession)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"provider":"glm"},"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${KIMI_TOKEN}"}},"glm":{"env":{"ANTHROPIC_AUTH_TOKEN":"SECRET-CONFIG-1"}}}}`)
	box.setSettings(`{"env":{"OTHER_TOKEN":"SECRET-SETTINGS-1"}}`)
	box.vars = append(box.vars, "OTHER_TOKEN=SECRET-SETTINGS-1") // where Claude Code puts it
	box.reviews(blocks("not yet"), fakeReview{func(s *fakeStream) { s.result(true, "API Error: 401 no such key: SECRET-CONFIG-1", "") }, runs("exit 1")})
	var output strings.Builder
	for _, args := range [][]string{{"kimi", "--supervisor", "-p", "hi"}, {"status"}, {"status", "--json"},
		{"log"}, {"log", "--json"}, {"doctor"}} {
		output.WriteString(fmt.Sprint(box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)))
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, []verdict{verdictBlock, verdictFailed}) {
		t.Fatalf("verdicts %q: the test shows nothing", got)
	}
	expectNotIn(t, "what was printed", output.String(), "SECRET")
	// The user's own files, the stream and the timeline as they came.
	kept := []string{".claude/ccc.json", ".claude/settings.json", outputPath, eventsPath}
	for _, name := range box.files() {
		if strings.Contains(box.read(name), "SECRET") && !slices.Contains(kept, name) {
			t.Errorf("%s holds a secret", name)
		}
	}
	records, _ := filepath.Glob(filepath.Join(box.home, "../fake/*-*.*"))
	for _, path := range records {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "SECRET") && filepath.Ext(path) != ".env" {
			t.Errorf("%s holds a secret", path)
		}
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
		{name: "key_beside_a_login", provider: withKey, login: true, names: "provider x has no ANTHROPIC_AUTH_TOKEN, so Claude Code could send it your own login\n     leave the provider's name out, or add it to providers.x.env:\n     ${EDITOR:-vi} "},
		{name: "key_beside_a_console_login", provider: withKey, file: ".claude.json", content: `{"primaryApiKey":"mine"}`, names: "provider x has no ANTHROPIC_AUTH_TOKEN"},
		{name: "token_beside_a_console_login", provider: withToken, file: ".claude.json", content: `{"primaryApiKey":"mine"}`, names: "primaryApiKey"},
		{name: "key_printed", provider: withKey, args: []string{"-p"}, names: "provider x has no ANTHROPIC_AUTH_TOKEN, so Claude Code could send it your own login\n     leave the provider's name out, or add it to providers.x.env:\n     ${EDITOR:-vi} "},
		{name: "model_beside_a_login", provider: withModel, login: true},
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
			if test.names == "" {
				expectPrefix(t, "stdout", got.stdout, "started")
			} else {
				expectIs(t, "the exit code", got.code, 1)
				expectIn(t, "stderr", got.stderr, test.names)
				expectNotIn(t, "stderr", got.stderr, "mine")
				expectIs(t, "stdout", got.stdout, "")
				return
			}
			expectNotIn(t, "claude's environment", got.stdout, "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR", "CLAUDE_CODE_EXTRA_BODY")
		})
	}
}

// A reviewer shares the agent's prompt cache only where all that it takes is so, or where ccc.json says it.
func TestSharesCache(t *testing.T) {
	for name, c := range map[string]struct {
		model, id, left string
		context         int
		past            outcome
		launched, want  bool
	}{
		"all_is_so":              {launched: true, want: true},
		"least_size":             {context: 40_000, launched: true, want: true},
		"below_it":               {context: 39_999, launched: true},
		"another_model":          {model: "other", launched: true},
		"its_model":              {model: "m", launched: true, want: true},
		"its_model_of_a_million": {model: "m[1m]", id: "m[1m]", launched: true, want: true},
		"without_the_million":    {model: "m", id: "m[1m]", launched: true},
		"missed_before":          {past: outcome{CacheMissed: true}, launched: true},
		"no_verdict_before":      {past: outcome{NoVerdict: true}, launched: true},
		"not_launched":           {},
		"no_cache_found":         {left: "-", launched: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(cacheVariable, strings.TrimPrefix(cmp.Or(c.left, "1"), "-"))
			talk, past := conversation{}, &history{Reviews: []review{{outcome: c.past}, {}}}
			talk.model, talk.context = cmp.Or(c.id, "m"), cmp.Or(c.context, 100_000)
			expectIs(t, "shares", sharesCache(c.model, talk, past, c.launched, os.Environ()), c.want)
		})
	}
}

// Which variables say what API is called.
func TestProviderVariables(t *testing.T) {
	for variable, want := range map[string]bool{
		"ANTHROPIC_BASE_URL":                true,
		"ANTHROPIC_X=1":                     true,
		"CLAUDE_CODE_USE_BEDROCK":           true,
		"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": true,
		"CLAUDE_CODE_OAUTH_TOKEN":           true,
		"CLAUDE_CODE_EXTRA_BODY=x":          true,
		"ANTHROPIC":                         false,
		"XANTHROPIC_BASE_URL":               false,
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS":     false,
		"CLAUDE_CONFIG_DIR":                 false,
		"PATH=ANTHROPIC_":                   false,
	} {
		expectIs(t, variable, isAPIVariable(variable), want)
	}
	for value, want := range map[string]string{
		"${A}":   "A",
		"${a_1}": "a_1",
		"${}":    "",
		"a ${A}": "",
		"${A} ":  "",
		"${A":    "",
		"$A":     "",
		"A}":     "",
		"${A B}": "",
		"${A-B}": "",
		"":       "",
	} {
		name, ok := variableIn(value)
		expectIs(t, "a variable is named in "+value, ok, want != "")
		if ok {
			expectIs(t, "the variable in "+value, name, want)
		}
	}
}

// The environment of a session and of its reviewer: what is dropped, kept and set, each by its own name.
func TestProviderEnvironments(t *testing.T) {
	expect := func(what string, got []string, want string) {
		t.Helper()
		got = slices.Sorted(slices.Values(got))
		expectIs(t, what, strings.Join(got, " "), want)
	}
	const line = attributionVariable + "=0"
	expect("a line that ccc left out", withoutCacheVariables([]string{"A=1", line, cacheVariable + "=line"}), "A=1")
	expect("one that the user left out", withoutCacheVariables([]string{"A=1", line, cacheVariable + "=1"}), "A=1 "+line)
	expect("no line", withoutCacheVariables([]string{"A=1"}), "A=1")

	p := &provider{name: "b", Env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "${TOKEN}", "X": "${SAME}", "Y": "${UNSET}", "Z": "plain"}}
	hook := []string{"A=1", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_CHILD_SESSION=1", sessionVariable + "=s", "CLAUDE_CODE_MESSAGING_X=1",
		"TOKEN=t", "SAME=1", "UNSET=u", "ANTHROPIC_MODEL=m", line, cacheVariable + "=line", providerVariable + "=a"}
	expect("a reviewer's", reviewerEnv(hook), "A=1 ANTHROPIC_MODEL=m CCC_CACHE=line CCC_PROVIDER=a CCC_SUPERVISOR_HOOK=1 "+line+" CLAUDE_CODE_DISABLE_ADVISOR_TOOL=1 GIT_OPTIONAL_LOCKS=0 SAME=1 TOKEN=t UNSET=u")
	got, err := environmentWith(t, hook, p)
	check(t, err)
	expect("one with a provider", got, "A=1 ANTHROPIC_AUTH_TOKEN=t CCC_PROVIDER=a CCC_SUPERVISOR_HOOK=1 CLAUDE_CODE_DISABLE_ADVISOR_TOOL=1 GIT_OPTIONAL_LOCKS=0 SAME=1 TOKEN=t UNSET=u X=1 Y=u Z=plain")
	if got, err := environmentWith(t, hook[:3], p); got != nil || err == nil || !strings.Contains(err.Error(), "which is not set") {
		t.Errorf("without its token: %q, %v", got, err)
	}
	values, err := (&provider{name: "a", Env: map[string]string{"A": "${B}", "C": "", "D": "d"}}).values([]string{"A=1", "B=2"})
	check(t, err)
	expectIs(t, "the values", fmt.Sprint(values), "map[A:2 C: D:d]")
	_, err = (&provider{name: "a", Env: map[string]string{"A": "${B}"}}).values([]string{"A=1", "B="})
	expectIs(t, "what is missing", fmt.Sprint(err), "providers.a.env.A of ccc.json is ${B}, which is not set\n     read -rs B; export B")
}

// What pays for a session.
func TestProviderPays(t *testing.T) {
	const key = "sk-ant-0123456789-0123456789-0123456789"
	account := func(text string) sources { return sources{account: sourceOf("", []byte(text), nil)} }
	for name, test := range map[string]struct {
		sources sources
		env     []string
		args    string
		want    bool
	}{
		"a login":                 {account(""), nil, "", false},
		"a token":                 {account(""), []string{"ANTHROPIC_AUTH_TOKEN=t"}, "", true},
		"a helper":                {account(`{"apiKeyHelper":"x"}`), nil, "", true},
		"no helper":               {account(`{"apiKeyHelper":""}`), nil, "", false},
		"a cloud":                 {account(""), []string{"CLAUDE_CODE_USE_FOUNDRY=1"}, "", true},
		"a cloud of settings":     {account(`{"env":{"CLAUDE_CODE_USE_VERTEX":true}}`), nil, "", true},
		"a cloud switched off":    {account(`{"env":{"CLAUDE_CODE_USE_VERTEX":0}}`), []string{"CLAUDE_CODE_USE_VERTEX=1"}, "", false},
		"a key":                   {account(""), []string{"ANTHROPIC_API_KEY=" + key}, "", false},
		"a key with --print":      {account(""), []string{"ANTHROPIC_API_KEY=" + key}, "--print x", true},
		"a key with -p":           {account(""), []string{"ANTHROPIC_API_KEY=" + key}, "-p", true},
		"a key behind --":         {account(""), []string{"ANTHROPIC_API_KEY=" + key}, "-- -p", false},
		"a key that is allowed":   {account(`{"customApiKeyResponses":{"approved":["` + key[len(key)-20:] + `"]}}`), []string{"ANTHROPIC_API_KEY=" + key}, "", true},
		"no key with -p":          {account(""), nil, "-p", false},
		"another that is allowed": {account(`{"customApiKeyResponses":{"approved":["other"]}}`), []string{"ANTHROPIC_API_KEY=" + key}, "", false},
	} {
		expectIs(t, name, test.sources.areKeyed(test.env, strings.Fields(test.args)), test.want)
	}
	for value, want := range map[string]bool{"1": true, "true": true, " Yes ": true, "ON": true, "0": false, "": false, "2": false, "off": false} {
		expectIs(t, value, isTrue(value), want)
	}
}

// What would override a provider, or send it what is the user's, is one message: its files and keys in the order in which
// they count, and both ways out. No value stands there.
func TestProviderConflictsNamed(t *testing.T) {
	d := dirs{claude: t.TempDir()}
	d.ccc = d.claude
	p := &provider{name: "kimi", Env: map[string]string{urlVariable: "https://k", tokenVariable: "t", "EMPTY": ""}}
	conflicts := func(p *provider, list ...source) string {
		s := sources{account: source{name: "account"}, project: list}
		for i, one := range list {
			if one.name == argumentSource { // with what stands before it, and what behind
				s.project, s.argument, s.managed = list[:i], one, list[i+1:]
			}
		}
		err := s.conflict(d, nil, p, "go without it")
		if err == nil {
			return ""
		}
		return fmt.Sprint(failureOf(err).code, " ", err)
	}
	one := func(name, key, value string) source {
		settings := map[string]any{key: value}
		if variable, ok := strings.CutPrefix(key, "env."); ok {
			settings = map[string]any{"env": map[string]string{variable: value}}
		}
		return sourceOf(name, encodeJSON(settings), nil)
	}
	const overrides = "1 settings override the provider kimi, or send it what is yours:"
	expectIs(t, "no provider", conflicts(nil, one("a", "env."+urlVariable, "other")), "")
	expectIs(t, "nothing", conflicts(p, source{name: "a"}, one("b", "env."+urlVariable, "https://k"),
		one("c", "env.OTHER", "x"), one("d", "env.EMPTY", ""), one("e", helperKey, ""),
		one("f", urlVariable, "x"), one("g", primaryKey, "x")), "")
	expectIs(t, "others", conflicts(p,
		sourceOf("a", []byte(`{"env":{"ANTHROPIC_BASE_URL":"https://x","ANTHROPIC_MODEL":"","OTHER":"x"}}`), nil),
		one("b c", "env.EMPTY", "x"), one("d", helperKey, "x"),
		one(argumentSource, helperKey, "x"), source{name: "e", err: errNoGit}),
		overrides+"\n     a: env.ANTHROPIC_BASE_URL, env.ANTHROPIC_MODEL\n     b c: env.EMPTY\n     d: apiKeyHelper"+
			"\n     --settings: apiKeyHelper\n     e: "+errNoGit.Error()+
			"\n     go without it, or change that there:\n     ${EDITOR:-vi} a 'b c' d e")
	expectIs(t, "an argument", conflicts(p, one(argumentSource, helperKey, "x")),
		overrides+"\n     --settings: apiKeyHelper\n     go without it, or change that there")
	unset := &provider{name: "a", Env: map[string]string{"A": "${NO_SUCH}"}}
	expectIs(t, "a variable that is not set", conflicts(unset, one("d", helperKey, "x")),
		"1 providers.a.env.A of ccc.json is ${NO_SUCH}, which is not set\n     read -rs NO_SUCH; export NO_SUCH")
}

// Of what settings say the last source counts, then the environment; .claude.json lies beside the directory, or in one that a variable names.
func TestProviderSources(t *testing.T) {
	of := func(text string) source { return sourceOf("s", []byte(text), nil) }
	said := sources{user: of(`{"env":{"A":1},"k":"1"}`), project: []source{of(`{"env":{"A":"2"}}`), {}}}
	for key, want := range map[string]string{"env.A": "2", "k": "1", "env.B": "b", "none": ""} {
		expectIs(t, key, said.value([]string{"A=env", "B=b", "k=env"}, key), want)
	}
	home := t.TempDir()
	d := dirs{claude: filepath.Join(home, ".claude")}
	write := func(name, key string) {
		check(t, os.MkdirAll(d.claude, 0o700))
		check(t, os.WriteFile(filepath.Join(home, name), []byte(`{"primaryApiKey":"`+key+`"}`), 0o600))
	}
	expect := func(what, dir, want string) {
		t.Helper()
		d.env = environ{claudeDirVariable + "=" + dir}
		expectIs(t, what, readAccount(d).at(primaryKey).text, want)
	}
	write(".claude.json", "beside")
	write(".claude/.claude.json", "inside")
	expect("by default", "", "beside")
	expect("with the variable", d.claude, "inside")
	write(".claude/.config.json", "older")
	expect("the older name", "", "older")
	expect("the older name with the variable", d.claude, "older")
	check(t, os.WriteFile(filepath.Join(d.claude, ".config.json"), []byte("{"), 0o600))
	if s := readAccount(d); s.err == nil || !strings.HasSuffix(s.name, ".config.json") {
		t.Errorf("the older one, broken: %+v", s)
	}
	for text, want := range map[string]string{`{"apiKeyHelper":{"a":1}}`: `{"a":1}`, `{"apiKeyHelper":"x"}`: "x", `{"apiKeyHelper":null}`: "", `{}`: ""} {
		expectIs(t, text, of(text).at(helperKey).variable(), want)
	}
	const noObject = "line 1, column 1: the file is not an object"
	for text, want := range map[string]string{
		"":     "<nil>",
		" ":    "<nil>",
		"null": noObject,
		"[]":   noObject,
		`"x"`:  noObject,
		"{":    "line 1, column 1: unexpected end of JSON input",
	} {
		s := of(text)
		expectIs(t, text, fmt.Sprint(s.err, len(s.settings.raw)), want+" 0")
	}
	expectIs(t, "an error", sourceOf("s", []byte("{}"), errNoGit).err, error(errNoGit))
}

// A launch whose key Claude Code would keep from the reviewer is refused; one whose reviewer has another key
// is not.
func TestProviderScrubbed(t *testing.T) {
	const scrub, key, refused = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1", "ANTHROPIC_API_KEY=k",
		"ccc: --supervisor with %s and CLAUDE_CODE_SUBPROCESS_ENV_SCRUB: claude would keep it from the reviewer\n" +
			"     set CLAUDE_CODE_SUBPROCESS_ENV_SCRUB to 0\n"
	const providers = `"providers":{"a":{"env":{"ANTHROPIC_AUTH_TOKEN":"t"}},` +
		`"b":{"env":{"ANTHROPIC_AUTH_TOKEN":"u"}}}}`
	const ofReviewer = `{"supervisor":{"provider":"%s"},` + providers
	for name, test := range map[string]struct{ variables, config, settings, without string }{
		"a key":        {scrub + " " + key, "{}", "", keyVariable},
		"a provider's": {scrub, `{` + providers, "", tokenVariable},
		"by settings": {key, "{}", `{"env":{"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB":"1"}}`,
			keyVariable},
		"the session's provider": {scrub, fmt.Sprintf(ofReviewer, "a"), "", tokenVariable},
		"the reviewer's own":     {scrub, fmt.Sprintf(ofReviewer, "b"), "", ""},
		"a key of settings":      {scrub + " " + key, "{}", `{"env":{"ANTHROPIC_API_KEY":"k"}}`, ""},
		"a login":                {scrub, "{}", "", ""},
		"not scrubbed":           {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=0 " + key, "{}", "", ""},
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(test.variables)...)
		box.write(".claude/ccc.json", 0o600, test.config)
		if test.settings != "" {
			box.write(".claude/settings.json", 0o600, test.settings)
		}
		named := ""
		if test.config != "{}" {
			named = "a"
		}
		got := box.run(60*time.Second, "", strings.Fields("ccc --supervisor "+named+" -p hi")...)
		if test.without == "" {
			expectIs(t, name+": "+got.stderr, got.code, 0)
		} else if got.code != 2 || got.stderr != fmt.Sprintf(refused, test.without) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
