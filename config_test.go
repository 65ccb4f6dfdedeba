package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// configOf loads a ccc.json that holds text; noFile stands for none.
func configOf(t *testing.T, text string) (*configuration, error) {
	t.Helper()
	d := dirs{ccc: t.TempDir()}
	if text != noFile {
		check(t, os.WriteFile(d.configFile(), []byte(text), 0o600))
	}
	c, err := loadConfig(d)
	if err != nil && !strings.HasPrefix(err.Error(), d.configFile()) {
		t.Errorf("%s: the file is not named: %v", text, err)
	}
	return c, err
}

// A fault is told in one line that names the file, the key and what is expected, and no value.
func TestConfigFaults(t *testing.T) {
	const unknown = ": expected a key that README.md or docs/guide.md lists"
	for text, want := range map[string]string{
		"\n":                            ": line 2, column 1: unexpected end of JSON input",
		"{\n  \"providers\": {},\n}":    ": line 3, column 1: invalid character '}' looking for beginning",
		"\ufeff{\"a\" 1}":               ": line 1, column 6: invalid character '1' after object key",
		`{} SECRET`:                     ": line 1, column 4: invalid character 'S'",
		`[]`:                            ": line 1, column 1: the file is not an object",
		`null`:                          ": line 1, column 1: the file is not an object",
		"{\"supervisor\":\n[]}":         ": line 2: supervisor: expected an object",
		`{"settings":[]}`:               ": settings: expected an object",
		`{"settings":null}`:             ": settings: expected an object",
		`{"claude_args":"--verbose"}`:   ": line 1: claude_args: expected an array of strings",
		`{"claude_args":["-x",1]}`:      ": line 1: claude_args: expected a string",
		`{"language":"SECRET"}`:         ": language: expected one of zh, en",
		`{"current_provider":1}`:        ": line 1: current_provider: expected a string",
		`{"provider":{}}`:               `: unknown field "provider"` + unknown,
		`{"permissions.defaultMode":1}`: `: unknown field "permissions.defaultMode"` + unknown,
		`{"max_iterations":3}`:          `: unknown field "max_iterations"` + unknown,
		"{\"supervisor\":\n{\"max_iteration\":\"SECRET\"}}":         `: unknown field "max_iteration"` + unknown,
		`{"supervisor":{"$comment":1}}`:                             `: unknown field "$comment"` + unknown,
		`{"supervisor":{"max_iterations":"SECRET"}}`:                ": line 1: supervisor.max_iterations: expected a whole number",
		`{"supervisor":{"max_iterations":1.8758758758}}`:            ": line 1: supervisor.max_iterations: expected a whole number",
		`{"supervisor":{"max_iterations":0}}`:                       ": supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"max_iterations":101}}`:                     ": supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"timeout_seconds":9}}`:                      ": supervisor.timeout_seconds: expected a whole number from 10 to 3600",
		`{"supervisor":{"timeout_seconds":3601}}`:                   ": supervisor.timeout_seconds: expected a whole number from 10 to 3600",
		`{"supervisor":{"max_budget_usd":1e999}}`:                   ": line 1: supervisor.max_budget_usd: expected a number",
		`{"supervisor":{"max_budget_usd":-1}}`:                      ": supervisor.max_budget_usd: expected a number from 0 up",
		`{"supervisor":{"try":1}}`:                                  ": line 1: supervisor.try: expected true or false",
		`{"supervisor":{"permission_mode":"dontask"}}`:              ": supervisor.permission_mode: expected one of acceptEdits, auto,",
		`{"providers":{"a":{}},"supervisor":{"provider":"SECRET"}}`: ": supervisor.provider: expected one of the providers",
		`{"providers":{"a":3}}`:                                     ": line 1: providers: expected an object",
		`{"providers":{"a":null}}`:                                  ": providers.a: expected an object",
		`{"providers":{"a":{"environment":{}}}}`:                    `: unknown field "environment"` + unknown,
		`{"providers":{"a":{},"b":{"env":[]}}}`:                     ": line 1: providers.env: expected an object",
		`{"providers":{"a":{"env":{"A":null}}}}`:                    ": providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"a":{"env":{"A":{"B":1}}}}}`:                 ": providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"a":{"env":{"B":1,"A":["SECRET"]}}}}`:        ": providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"supervisor-mode":{}}}`:                      ": providers.supervisor-mode: expected a name that is not a subcommand",
		`{"providers":{"in-copy":{}}}`:                              ": providers.in-copy: expected a name that is not a subcommand",
		`{"providers":{"supervisor-guard":{}}}`:                     ": providers.supervisor-guard: expected a name that is not a subcommand",
		`{"providers":{"default":{}}}`:                              ": providers.default: expected a name that is not a subcommand of ccc, nor default",
		`{"providers":{"$note":"SECRET","a":{}}}`:                   ": line 1: providers: expected an object", // under providers any key is a name
	} {
		c, err := configOf(t, text)
		if err == nil || !strings.Contains(err.Error(), "ccc.json"+want) || c.Supervisor.MaxIterations != 10 ||
			strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "8758758758") {
			t.Errorf("%s:\n got %v\nwant ...%s", text, err, want)
		}
	}
}

func TestConfigTaken(t *testing.T) {
	for _, text := range []string{noFile, "{}", "\ufeff{}", twoProviders,
		`{"$schema":["x",1e999],"supervisor":{"$schema":1},"settings":{"anything":[1,{}]},"providers":{"a":{"$schema":{}}}}`,
		`{"supervisor":{"max_iterations":1,"timeout_seconds":10}}`, `{"supervisor":{"max_iterations":100,"timeout_seconds":3600}}`,
		`{"supervisor":{"max_budget_usd":0,"model":"","provider":"","allowed_tools":[],"keep_cache":false,"try":true},
			"settings":{},"claude_args":[],"current_provider":null,"providers":{"my-kimi.v2":{},"glm 4":{"env":{"A":"{}","B":"null"}}}}`,
		`{"current_provider":"","LANGUAGE":"zh"}`,
	} {
		if _, err := configOf(t, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, _ := configOf(t, noFile)
	if s := c.Supervisor; s.MaxIterations != 10 || s.TimeoutSeconds != 540 || s.PermissionMode != "dontAsk" || !s.Try {
		t.Errorf("the defaults are %+v", s)
	}
}

// A launch with a faulty ccc.json says so in one line and writes nothing.
func TestConfigRefused(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iteration":3}}`)
	got := box.run(10*time.Second, "", "ccc", "--supervisor", "-p", "hi")
	if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ccc: "+box.home+"/.claude/ccc.json: unknown field ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	expectEqual(t, "the files", box.files(), []string{".claude/ccc.json"})
}

// A provider that was named is recorded, and nothing else of the file changes, nor its mode, nor that it is a link. The
// next launch uses and names it, and ccc default leads back.
func TestProviderDefault(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET")
	config := "\ufeff" + twoProviders
	box.write("dotfiles/ccc.json", 0o640, config)
	link := filepath.Join(box.home, ".claude/ccc.json")
	box.link("../dotfiles/ccc.json", ".claude/ccc.json")
	launch := func(base, said string, args ...string) {
		t.Helper()
		os.RemoveAll(filepath.Join(box.home, "../fake/agent-1"))
		got := box.run(10*time.Second, "", append([]string{"ccc"}, args...)...)
		if got.code != 0 || strings.Join(box.agentEnv("ANTHROPIC_BASE_URL"), " ") != base || !strings.Contains(got.stderr, said) || said == "" && got.stderr != "" {
			t.Errorf("%q: got %+v, URL %q", args, got, box.agentEnv("ANTHROPIC_BASE_URL"))
		}
	}
	recorded := func(value string) {
		t.Helper()
		if want := strings.Replace(config, `:  "glm"`, `:  `+value, 1); box.read("dotfiles/ccc.json") != want {
			t.Errorf("ccc.json is\n%s\nwant\n%s", box.read("dotfiles/ccc.json"), want)
		}
		target, err := os.Readlink(link)
		if info, statErr := os.Stat(link); err != nil || target != "../dotfiles/ccc.json" || statErr != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the link is %q, %v, the mode %v", target, err, info.Mode())
		}
	}
	launch("https://glm.example", "提供商 glm", "-p", "hi")
	launch("https://kimi.example", "", "kimi", "-p", "hi")
	recorded(`"kimi"`)
	launch("https://kimi.example", "提供商 kimi", "-p", "hi")
	launch("", "", "default", "-p", "hi")
	recorded("null")
	expectIs(t, "settings.json", box.settings(), noFile)
	launch("", "", "-p", "hi")
	launch("", "Supervisor mode enabled", "--supervisor", "default", "-p", "hi")
	recorded("null")
	box.write(".claude/ccc.json", 0o600, `{"current_provider":"","providers":{"a":{}}}`)
	launch("", "", "-p", "hi")
	launch("", "", "default", "--", "hi")
	expectIn(t, "ccc.json", box.read(".claude/ccc.json"), `"current_provider":""`)
	os.Remove(filepath.Join(box.home, ".claude/ccc.json"))
	launch("", "", "default", "-p", "hi")
}

// A ccc.json that can't be written keeps nobody from using a provider.
func TestProviderNotRecorded(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET")
	box.write("store/ccc.json", 0o600, twoProviders)
	box.write("store/.ccc.json.ccc-tmp/x", 0o600, "") // nothing can be put beside it, by root neither
	box.link("../store/ccc.json", ".claude/ccc.json")
	for word, base := range map[string]string{"kimi": "https://kimi.example", "default": ""} {
		got := box.run(10*time.Second, "", "ccc", word, "--supervisor", "-p", "hi")
		if got.code != 0 || strings.Count(got.stderr, "ccc: warning: the provider counts for this session only") != 1 ||
			strings.Join(box.agentEnv("ANTHROPIC_BASE_URL"), "") != base {
			t.Errorf("%s: got %+v", word, got)
		}
		expectIs(t, "ccc.json", box.read("store/ccc.json"), twoProviders)
		os.RemoveAll(filepath.Join(box.home, "../fake/agent-1"))
	}
}

// FuzzConfig: a ccc.json that is taken is within the limits, and recording a
// provider in it changes that value alone.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"", "{}", twoProviders, "\ufeff" + twoProviders, `{"supervisor":{"max_iterations":3,"allowed_tools":["a"],"max_budget_usd":0.5}}`, `{"current_provider":1}`, `{"providers":{"a":{"env":{"A":1e400}}}}`} {
		f.Add(seed)
	}
	for _, limit := range []string{`"max_iterations":0`, `"max_iterations":101`, `"timeout_seconds":9`, `"timeout_seconds":3601`, `"max_budget_usd":-1`} {
		f.Add(`{"supervisor":{` + limit + `}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := dirs{claude: t.TempDir()}
		p.ccc = p.claude
		check(t, os.WriteFile(p.configFile(), []byte(text), 0o600))
		c, err := loadConfig(p)
		// Of current_provider in two spellings the later one counts, which need not be the one that is recorded.
		if err != nil || strings.Count(strings.ToLower(text), "current_provider") > 1 {
			return
		}
		if s := c.Supervisor; s.MaxIterations < 1 || s.MaxIterations > 100 || s.TimeoutSeconds < 10 || s.TimeoutSeconds > 3600 || s.MaxBudgetUSD < 0 {
			t.Errorf("took %+v", s)
		}
		check(t, recordProvider(p, "<new>"))
		again, err := loadConfig(p)
		check(t, err)
		expectIs(t, "the recorded provider", again.CurrentProvider, "<new>")
		again.CurrentProvider, again.Settings, c.Settings = c.CurrentProvider, nil, nil
		expectIs(t, "the rest", string(encodeJSON(again)), string(encodeJSON(c)))
	})
}

// Of a secret that contains another one no part is left, whichever of them is found first.
func TestRedactedWhole(t *testing.T) {
	for _, env := range [][]string{
		{"A_TOKEN=secret-12", "B_TOKEN=secret-12-and-more"}, {"B_TOKEN=secret-12-and-more", "A_TOKEN=secret-12"},
	} {
		redact := redactor(env)
		expectIs(t, "redacted", redact("a secret-12 b secret-12-and-more c"), "a *** b *** c")
	}
}

// Each value that README.md or the client allows is taken.
func TestConfigValues(t *testing.T) {
	for _, language := range []string{"zh", "en", ""} {
		c, err := configOf(t, `{"language":"`+language+`"}`)
		expectIs(t, language, err, nil)
		expectIs(t, language, c.Language, language)
	}
	for _, mode := range strings.Fields("acceptEdits auto bypassPermissions default dontAsk manual plan") {
		c, err := configOf(t, `{"supervisor":{"permission_mode":"`+mode+`"}}`)
		expectIs(t, mode, err, nil)
		expectIs(t, mode, c.Supervisor.PermissionMode, mode)
	}
	c, err := configOf(t, `{"claude_args":["--all"],"current_provider":"b","providers":{"a":{},"b":{"claude_args":["--own"],"env":{"A":1,"B":true,"C":"c","D":"${E}","F":1e400}}}}`)
	check(t, err)
	p, err := c.current(dirs{})
	check(t, err)
	expectIs(t, "the present provider", p.name, "b")
	expectIs(t, "its variables", fmt.Sprint(p.Env), "map[A:1 B:true C:c D:${E} F:1e400]")
	expectEqual(t, "the arguments with it", c.claudeArgs(p), []string{"--all", "--own"})
	expectEqual(t, "the arguments without", c.claudeArgs(nil), []string{"--all"})
	expectIs(t, "the names", c.providerNames(), "a, b")
	for _, name := range strings.Fields("A B C D E F") { // and E, whence one comes
		expectIs(t, name+" is a provider's", c.providerVariables()[name], true)
	}
	expectIs(t, "X is a provider's", c.providerVariables()["X"], false)
	tokens := c.withTokens([]string{"E=e", "X=x"})
	expectEqual(t, "with the tokens", slices.Sorted(slices.Values(tokens)), []string{"A=1", "B=true", "C=c", "D=e", "E=e", "F=1e400", "X=x"})
	c.CurrentProvider = ""
	p, err = c.current(dirs{})
	expectIs(t, "none", p == nil && err == nil, true)
	d := dirs{ccc: t.TempDir()}
	check(t, os.Mkdir(d.configFile(), 0o700))
	if c, err := loadConfig(d); err == nil || c.Supervisor.MaxIterations != 10 {
		t.Errorf("a file that can't be read: %+v, %v", c, err)
	}
}
