package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// valuesOf returns the values of a variable in an environment.
func valuesOf(env []string, name string) (values []string) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

// A settings file whose env would win over the provider, or that has what is the user's, stops the launch
// before claude is started and anything is written. No value is shown.
func TestProviderConflicts(t *testing.T) {
	const project = ".claude/settings.json"
	const user, account = "../home/.claude/settings.json", "../home/.claude.json"
	const managed = "../home/managed.json"
	const helper, console = `{"apiKeyHelper":"echo SECRET"}`, `{"primaryApiKey":"SECRET"}`
	const same = `{"env":{"ANTHROPIC_BASE_URL":"https://kimi.example","TIMEOUT_MS":600000000,"OTHER":"x"}}`
	for _, test := range []struct{ file, text, want string }{
		{project, `{"env":{"TIMEOUT_MS":1}}`, "env.TIMEOUT_MS"},
		{project, same, ""},
		{project, `{"apiKeyHelper":"","primaryApiKey":"x","ANTHROPIC_MODEL":"x"}`, ""},
		{user, "\ufeff{\"env\":{\"CLAUDE_CODE_USE_VERTEX\":\"1\"}}", "env.CLAUDE_CODE_USE_VERTEX"},
		{managed, helper, "apiKeyHelper"},
		{"../home/managed.d/a.json", helper, "apiKeyHelper"},
		{account, console, "primaryApiKey"},
		{"../home/.claude/.config.json", console, "primaryApiKey"},
		{account, `{"primaryApiKey":"SECRET",}`, "line 1, column 27"},
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, "KIMI_TOKEN=SECRET", testManagedVariable+"="+box.home+"/managed.json")
		box.write(".claude/ccc.json", 0o600, twoProviders)
		box.write("../work/"+test.file, 0o600, test.text)
		_, got := box.plan("kimi", "-p", "hi")
		if strings.Contains(test.file, "managed") { // which only another process has elsewhere
			got = box.run(30*time.Second, "", "ccc", "kimi", "-p", "hi")
		}
		expectIs(t, test.file+" "+test.text+": "+got.stderr, got.code, map[bool]int{true: 1}[test.want != ""])
		if test.want != "" {
			path := filepath.Join(box.work, test.file)
			expectIn(t, "stderr", got.stderr, path+": "+test.want)
			expectNotIn(t, "stderr", got.stderr, "SECRET")
		}
		expectIs(t, "claude's calls", box.calls("agent"), 0)
	}
}

// A provider with a URL names a token, in its variable or in a header: else Claude Code would send the user's
// login there. It is refused, with the file, its key and both ways out, before anything is written.
func TestProviderWithoutToken(t *testing.T) {
	const url = `"ANTHROPIC_BASE_URL":"https://a"`
	for env, isRefused := range map[string]bool{
		url:                                 true,
		url + `,"ANTHROPIC_AUTH_TOKEN":""`:  true,
		url + `,"ANTHROPIC_AUTH_TOKEN":"t"`: false,
		url + `,"ANTHROPIC_CUSTOM_HEADERS":"Authorization: mine"`:        false,
		url + `,"ANTHROPIC_CUSTOM_HEADERS":"X-Team: a\nauthorization:k"`: false,
		url + `,"ANTHROPIC_CUSTOM_HEADERS":"X-Authorization: k"`:         true,
		`"ANTHROPIC_MODEL":"m"`:   false,
		`"ANTHROPIC_API_KEY":"k"`: false,
	} {
		box := newFakeBox(t)
		for c, name := range map[string]string{`{`: "a", `{"supervisor":{"provider":"a"},`: "--supervisor"} {
			box.write(".claude/ccc.json", 0o600, c+`"providers":{"a":{"env":{`+env+`}}}}`)
			_, got := box.plan(name, "-p", "hi")
			expectIs(t, env+" of "+name, got.code, map[bool]int{true: 1}[isRefused])
			if isRefused {
				expectIn(t, "stderr", got.stderr, "provider a has no ANTHROPIC_AUTH_TOKEN, "+
					"so Claude Code could send it your own login\n     leave ",
					", or add it to providers.a.env:\n     ${EDITOR:-vi} ")
			}
		}
		expectEqual(t, "the files", box.files(), []string{".claude/ccc.json"})
	}
}

// The line that a subscription is billed by is left out only if a key or a token pays for the session.
func TestAttribution(t *testing.T) {
	const token, model = `{"env":{"ANTHROPIC_AUTH_TOKEN":"t"}}`, `{"env":{"ANTHROPIC_MODEL":"m"}}`
	for _, test := range []struct{ env, args, want string }{
		{},
		{env: "CLAUDE_CODE_ATTRIBUTION_HEADER=0", want: "0"},
		{env: "ANTHROPIC_AUTH_TOKEN=t", want: "0"},
		{env: "ANTHROPIC_AUTH_TOKEN=t CLAUDE_CODE_ATTRIBUTION_HEADER=1", want: "1"},
		{env: "ANTHROPIC_AUTH_TOKEN=t", args: "--setting-sources user,project"},
		{env: "CLAUDE_CODE_ATTRIBUTION_HEADER=0 CCC_CACHE=line"}, // of an outer session
		{args: "a", want: "0"},
		{args: "b"}, // a provider of a model alone
	} {
		box := newFakeBox(t)
		box.vars = append(box.vars, strings.Fields(test.env)...)
		box.write(".claude/ccc.json", 0o600, `{"providers":{"a":`+token+`,"b":`+model+`}}`)
		l, got := box.plan(append([]string{"--supervisor"}, strings.Fields(test.args+" -- hi")...)...)
		expectEnd(t, "the plan", got, 0, "", "")
		expectIs(t, test, strings.Join(valuesOf(l.env, attributionVariable), " "), test.want)
	}
}

// environmentWith returns the environment of a reviewer with that provider, in a launched session.
func environmentWith(t *testing.T, session []string, p *provider) ([]string, error) {
	config := defaultConfig()
	config.Supervisor.Provider = p.name
	config.Providers[p.name] = p
	dirs := dirs{env: session, claude: t.TempDir()}
	return callEnv(dirs, config, true)
}

// Reviews are paid as their session is: not by a key that the user keeps from interactive sessions.
func TestProviderRefusedKey(t *testing.T) {
	const key = "sk-ant-0123456789-0123456789-x"
	for _, test := range []struct {
		entrypoint, account, provider string // of the session, whose key it is
		isPassed                      bool
	}{
		{"cli", `{"customApiKeyResponses":{"approved":["3456789-0123456789-x"]}}`, "", true},
		{"cli", `{"customApiKeyResponses":{"approved":[],"rejected":["3456789-0123456789-x"]}}`, "", false},
		{"cli", "", "", false},
		{"sdk-cli", "", "", true},
		{"cli", "", "kimi", true},
	} {
		d := dirs{claude: t.TempDir()}
		check(t, os.WriteFile(filepath.Join(d.claude, ".claude.json"), []byte(test.account), 0o600))
		d.env = environ{keyVariable + "=" + key, entrypointVariable + "=" + test.entrypoint,
			providerVariable + "=" + test.provider, claudeDirVariable + "=" + d.claude}
		env, err := callEnv(d, defaultConfig(), true)
		check(t, err)
		expectIs(t, test, lookupEnv(env, keyVariable) != "", test.isPassed)
	}
}

// A reviewer shares the agent's prompt cache only if all that it takes is so.
func TestSharesCache(t *testing.T) {
	for name, c := range map[string]struct {
		model, id, left string
		context         int
		past            outcome
		launched, want  bool
	}{
		"all_is_so":              {launched: true, want: true},
		"below_it":               {context: 39_999, launched: true},
		"another_model":          {model: "other", launched: true},
		"its_model_of_a_million": {model: "m[1m]", id: "m[1m]", launched: true, want: true},
		"without_the_million":    {model: "m", id: "m[1m]", launched: true},
		"missed_before":          {past: outcome{CacheMissed: true}, launched: true},
		"no_verdict_before":      {past: outcome{NoVerdict: true}, launched: true},
		"no_cache_found":         {left: "-", launched: true},
	} {
		env := []string{cacheVariable + "=" + strings.TrimPrefix(cmp.Or(c.left, "1"), "-")}
		talk, past := conversation{}, &history{Reviews: []review{{outcome: c.past}, {}}}
		talk.model, talk.context = cmp.Or(c.id, "m"), cmp.Or(c.context, 100_000)
		expectIs(t, name, sharesCache(c.model, talk, past, c.launched, env), c.want)
	}
}

// Which variables say what API is called, and which values name one.
func TestProviderVariables(t *testing.T) {
	for _, variable := range strings.Fields("ANTHROPIC_BASE_URL ANTHROPIC_X=1 CLAUDE_CODE_USE_BEDROCK " +
		"CLAUDE_CODE_API_KEY_HELPER_TTL_MS CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_EXTRA_BODY=x !ANTHROPIC " +
		"!XANTHROPIC_BASE_URL !CLAUDE_CODE_MAX_OUTPUT_TOKENS !CLAUDE_CONFIG_DIR !PATH=ANTHROPIC_") {
		none, isNone := strings.CutPrefix(variable, "!")
		expectIs(t, variable, len(without([]string{none}, ofAPI)) == 0, !isNone)
	}
	for value, want := range map[string]string{"${A}": "A", "${a_1}": "a_1", "${}": "", "a ${A}": "",
		"${A} ": "", "${A": "", "$A": "", "A}": "", "${A B}": "", "${A-B}": "", "": ""} {
		name, ok := variableIn(value)
		expectIs(t, "a variable is named in "+value, ok, want != "")
		expectIs(t, "the variable in "+value, !ok || name == want, true)
	}
}

// The environment of a session and of its reviewer: what is dropped, kept and set, each by its own name. The
// line that a launch has left out stays out for a reviewer of the session's own provider, which shares its
// prompt cache; with another provider a login may pay, and that is billed by the line.
func TestProviderEnvironments(t *testing.T) {
	expect := func(what string, got []string, want string) {
		t.Helper()
		want = strings.Replace(want, "PID", strconv.Itoa(os.Getpid()), 1)
		expectIs(t, what, strings.Join(slices.Sorted(slices.Values(got)), " "), want)
	}
	const line = attributionVariable + "=0"
	const byUser, byCCC = cacheVariable + "=1", cacheVariable + "=" + attributionLeftOut
	expect("a line that ccc left out", withoutCacheVariables([]string{"A=1", line, byCCC}), "A=1")
	expect("one that the user left out", withoutCacheVariables([]string{"A=1", line, byUser}), "A=1 "+line)
	expect("no line", withoutCacheVariables([]string{"A=1"}), "A=1")

	p := &provider{name: "b", Env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "${TOKEN}", "X": "${SAME}",
		"Y": "${UNSET}", "Z": "plain", "C": ""}}
	hook := []string{"A=1", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_CHILD_SESSION=1",
		sessionVariable + "=s", "CLAUDE_CODE_MESSAGING_X=1", "TOKEN=t", "SAME=1", "UNSET=u", line, byCCC,
		"ANTHROPIC_MODEL=m", providerVariable + "=a"}
	const always = " CLAUDE_CODE_DISABLE_ADVISOR_TOOL=1 GIT_OPTIONAL_LOCKS=0 SAME=1 TOKEN=t UNSET=u"
	own := "A=1 ANTHROPIC_MODEL=m CCC_CACHE=line CCC_PROVIDER=a CCC_STARTER=PID CCC_SUPERVISOR_HOOK=1 " +
		line + always
	expect("a reviewer's", reviewerEnv(hook), own)
	got, err := environmentWith(t, hook, &provider{name: "a"})
	check(t, err)
	expect("one with the session's provider", got, own)
	got, err = environmentWith(t, hook, p)
	check(t, err)
	expect("one with a provider", got, "A=1 ANTHROPIC_AUTH_TOKEN=t CCC_PROVIDER=a "+
		"CCC_STARTER=PID CCC_SUPERVISOR_HOOK=1"+always+" X=1 Y=u Z=plain")
	got, err = environmentWith(t, hook[:3], p)
	expectError(t, "without its token", err, "providers.b.env.ANTHROPIC_AUTH_TOKEN of ccc.json is ${TOKEN}, "+
		"which is not set\n     read -rs TOKEN; export TOKEN")
	expectEqual(t, "without its token", got, nil)
}

// What pays for a session.
func TestProviderPays(t *testing.T) {
	const end20 = "456789-0123456789-xy"
	const key = "sk-ant-0123456789-0123" + end20
	for _, test := range []struct {
		account, env, args string
		want               bool
	}{
		{`{"apiKeyHelper":"x"}`, "", "", true},
		{"", "CLAUDE_CODE_USE_FOUNDRY=Yes", "", true},
		{"", "CLAUDE_CODE_USE_BEDROCK=1", "", true},
		{`{"env":{"CLAUDE_CODE_USE_VERTEX":true}}`, "", "", true},
		{`{"env":{"CLAUDE_CODE_USE_VERTEX":0}}`, "CLAUDE_CODE_USE_VERTEX=1", "", false},
		{"", "ANTHROPIC_API_KEY=" + key, "", false},
		{"", "ANTHROPIC_API_KEY=" + key, "--print x", true},
		{"", "ANTHROPIC_API_KEY=" + key, "-p", true},
		{"", "", "-p", false},
		{`{"customApiKeyResponses":{"approved":["` + end20 + `"]}}`, "ANTHROPIC_API_KEY=" + key, "", true},
		{`{"customApiKeyResponses":{"approved":["other"]}}`, "ANTHROPIC_API_KEY=" + key, "", false},
	} {
		s := sources{account: sourceOf("", []byte(test.account), nil)}
		expectIs(t, test, s.areKeyed([]string{test.env}, strings.Fields(test.args)), test.want)
	}
}

// Of what settings say the last source counts, then the environment; .claude.json lies beside the directory,
// or in one that a variable names.
func TestProviderSources(t *testing.T) {
	if runtime.GOOS == "linux" {
		expectIs(t, "the administrator's file", managedSettings, "/etc/claude-code/managed-settings.json")
	}
	of := func(text string) source { return sourceOf("s", []byte(text), nil) }
	said := sources{user: of(`{"env":{"A":1},"k":"1"}`), project: []source{of(`{"env":{"A":"2"}}`), {}}}
	for key, want := range map[string]string{"env.A": "2", "k": "1", "env.B": "b", "none": ""} {
		expectIs(t, key, said.value([]string{"A=env", "B=b", "k=env"}, key), want)
	}
	d := dirs{claude: filepath.Join(t.TempDir(), ".claude")}
	expect := func(name, dir, want string) { // after a file of that name was written
		t.Helper()
		text := []byte(`{"primaryApiKey":"` + name + `"}`)
		path := filepath.Join(d.claude, name)
		check(t, errors.Join(os.MkdirAll(d.claude, 0o700), os.WriteFile(path, text, 0o600)))
		d.env = environ{claudeDirVariable + "=" + dir}
		expectIs(t, name+" with "+dir, readAccount(d).at(primaryKey).text, want)
	}
	expect("../.claude.json", "", "../.claude.json")
	expect(".claude.json", "", "../.claude.json")
	expect(".claude.json", d.claude, ".claude.json")
	expect(".config.json", "", ".config.json")
	expect(".config.json", d.claude, ".config.json")
}
