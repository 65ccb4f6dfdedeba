package main

import (
	"fmt"
	"os"
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

// A fault is told in one line that names the file, the key, what is expected and the help page; a value only of a
// key that has no room for a secret.
func TestConfigFaults(t *testing.T) {
	for text, want := range map[string]string{
		"\n":                         ": line 1, column 1: ",
		"{\n  \"providers\": {},\n}": ": line 3, column 1: ",
		"\ufeff{\"a\" 1}":            ": line 1, column 6: ",
		`{} SECRET`:                  ": line 1, column 4: ",
		`[]`:                         ": line 1, column 1: the file is not an object",
		`null`:                       ": line 1, column 1: the file is not an object",
		"{\"supervisor\":\n[]}":      ": line 2: supervisor: expected an object",
		`{"supervisor":{"allowed_tools":"Read"}}`:                   ": line 1: supervisor.allowed_tools: expected an array of strings",
		`{"supervisor":{"allowed_tools":["-x",1]}}`:                 ": line 1: supervisor.allowed_tools: expected an array of strings",
		`{"language":"e n"}`:                                        `: line 1: language: expected "en" or "zh"`,
		`{"provider":{}}`:                                           `: line 1: unknown key "provider" (see`,
		`{"permissions.defaultMode":1}`:                             `: line 1: unknown key "permissions.defaultMode" (see`,
		`{"supervisor.max_iterations":3}`:                           `: line 1: unknown key "supervisor.max_iterations" (see`,
		`{"max_iterations":3}`:                                      `: line 1: unknown key "max_iterations" (see`,
		"{\"supervisor\":\n{\"max_iteration\":\"SECRET\"}}":         `: line 2: unknown key "max_iteration" (see`,
		`{"supervisor":{"$comment":1}}`:                             `: line 1: unknown key "$comment" (see`,
		`{"supervisor":{"max_iterations":"SECRET"}}`:                ": line 1: supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"max_iterations":1.8758758758}}`:            ": line 1: supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"max_iterations":0}}`:                       ": line 1: supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"max_iterations":101}}`:                     ": line 1: supervisor.max_iterations: expected a whole number from 1 to 100",
		`{"supervisor":{"timeout_seconds":9}}`:                      ": line 1: supervisor.timeout_seconds: expected a whole number from 10 to 3600",
		`{"supervisor":{"timeout_seconds":3601}}`:                   ": line 1: supervisor.timeout_seconds: expected a whole number from 10 to 3600",
		`{"supervisor":{"max_budget_usd":1e999}}`:                   ": line 1: supervisor.max_budget_usd: expected a number from 0 up",
		`{"supervisor":{"max_budget_usd":-1}}`:                      ": line 1: supervisor.max_budget_usd: expected a number from 0 up",
		`{"supervisor":{"model":null}}`:                             ": line 1: supervisor.model: expected a string",
		`{"supervisor":{"observe":1}}`:                              ": line 1: supervisor.observe: expected true or false",
		`{"supervisor":{"review":"never"}}`:                         `: line 1: supervisor.review: expected "always" or "work" (see`,
		`{"providers":{"a":{}},"supervisor":{"provider":"chosen"}}`: `: line 1: supervisor.provider: "chosen" is no provider of this file (it has a) (see`,
		`{"providers":{"a":3}}`:                                     ": line 1: providers.a: expected an object",
		`{"providers":{"a":null}}`:                                  ": line 1: providers.a: expected an object",
		`{"providers":{"a":{"environment":{}}}}`:                    `: line 1: unknown key "environment" (see`,
		`{"providers":{"a":{},"b":{"env":[]}}}`:                     ": line 1: providers.b.env: expected an object",
		`{"LANGUAGE":"zh"}`:                                         `: line 1: unknown key "LANGUAGE" (see`,
		`{"providers":{"a":{"env":{"A":null}}}}`:                    ": line 1: providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"a":{"env":{"A":{"B":1}}}}}`:                 ": line 1: providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"a":{"env":{"B":1,"A":["SECRET"]}}}}`:        ": line 1: providers.a.env.A: expected a string, a number or a boolean",
		`{"providers":{"in-copy":{}}}`:                              ": line 1: providers.in-copy: expected a name that is not a subcommand",
		`{"providers":{"default":{}}}`:                              ": line 1: providers.default: expected a name that is not a subcommand of ccc, nor default",
		`{"providers":{"$note":"SECRET","a":{}}}`:                   ": line 1: providers.$note: expected an object", // under providers any key is a name
	} {
		c, err := configOf(t, text)
		if err == nil || !strings.Contains(err.Error(), "ccc.json"+want) || c.Supervisor.MaxIterations != 10 ||
			!strings.HasSuffix(err.Error(), " (see ccc help config)") || strings.Count(err.Error(), "\n") != 0 ||
			strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "8758758758") {
			t.Errorf("%s:\n got %v\nwant ...%s", text, err, want)
		}
	}
}

// Of each usual fault of JSON that is written by hand the line is named; of a word that is none of those that there
// are, the key and these.
func TestConfigMeant(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\n\"supervisor\":{},\"providrs\":{}}": `line 3: unknown key "providrs"`,
		`{"supervisor":{"provider":"kimi"}}`:      `line 1: supervisor.provider: "kimi" is no provider of this file (it has none)`,
		`{"language":"eng"}`:                      `line 1: language: expected "en" or "zh"`,
		"{\n\"language\":\"中文\"}":                 `line 2: language: expected "en" or "zh"`,
		`{"supervisor":{"provider":"kimo"},"providers":{"glm":{},"kimi":{}}}`: `line 1: supervisor.provider: "kimo" is no provider of ` +
			`this file (it has glm, kimi)`,
		"{\"supervisor\":\n  {\"observe\":true, \n}}": "line 3, column 1: ",
		`{"allowed_tool":["-x",]}`:                    "line 1, column 23: ",
		`{"allowed_tool":["-x" "y"]}`:                 "line 1, column 23: ",
		`{"language":"en" "providers":{}}`:            "line 1, column 18: ",
		"{\"language\":\"en\" // mine\n}":             "line 1, column 18: ",
		"{\n# mine\n}":                                "line 2, column 1: ",
		`{'language':"en"}`:                           "line 1, column 2: ",
		`{“language”:"en"}`:                           "line 1, column 2: ",
		`{"language":"en"，"providers":{}}`:            "line 1, column 17: ",
		`{"supervisor":{"obs":True}}`:                 "line 1, column 22: ",
		`{"language"="en"}`:                           "line 1, column 12: ",
		"{\"language\":\"en\n}":                       "line 1, column 16: ",
		`{"allowed_tool":["C:\Users"]}`:               "line 1, column 22: ",
		`{"supervisor":{"obs":true}`:                  "line 1, column 26: unexpected end of JSON input",
		`{"language":"en"}{}`:                         "line 1, column 18: ",
	} {
		_, err := configOf(t, text)
		if err == nil || !strings.Contains(err.Error(), "/ccc.json: "+want) || !strings.HasSuffix(err.Error(), " (see ccc help config)") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestConfigTaken(t *testing.T) {
	for _, text := range []string{noFile, "{}", "\ufeff{}", twoProviders,
		`{"supervisor":{"max_iterations":1,"timeout_seconds":10}}`, `{"supervisor":{"max_iterations":100,"timeout_seconds":3600}}`,
		`{"supervisor":{"max_budget_usd":0,"model":"","provider":"","allowed_tools":[],"review":"work","observe":true},
			"providers":{"my-kimi.v2":{},"glm 4":{"env":{"A":"{}","B":"null"}},"NAME":{"env":{}}}}`,
	} {
		if _, err := configOf(t, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, _ := configOf(t, noFile)
	if s := c.Supervisor; s.MaxIterations != 10 || s.TimeoutSeconds != 540 || s.Review != reviewAlways || s.Observe || s.MaxBudgetUSD != 0 {
		t.Errorf("the defaults are %+v", s)
	}
}

// A launch with a faulty ccc.json says so in one line and writes nothing.
func TestConfigRefused(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iteration":3}}`)
	got := box.run(10*time.Second, "", "ccc", "--supervisor", "-p", "hi")
	if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "ccc: "+box.home+"/.claude/ccc.json: line 1: unknown key ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	expectEqual(t, "the files", box.files(), []string{".claude/ccc.json"})
}

// A key of 2.0 that nothing reads any more is an error that says so, wherever it stood, and a launch writes nothing.
func TestConfigGone(t *testing.T) {
	for _, key := range strings.Fields("settings claude_args current_provider keep_cache permission_mode try $schema") {
		for _, text := range []string{`{%q:1}`, `{"supervisor":{%q:1}}`, `{"providers":{"a":{%q:1}}}`} {
			_, err := configOf(t, "{\n"+fmt.Sprintf(text, key)[1:])
			if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("ccc.json: line 2: the key %q is gone in 3.0 (see ccc help config)", key)) {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"current_provider":"kimi","providers":{"kimi":{}}}`)
	got := box.run(10*time.Second, "", "ccc", "--supervisor", "-p", "hi")
	expectEnd(t, "a launch", got, 1, "", `ccc.json: line 1: the key "current_provider" is gone in 3.0 (see ccc help config)`+"\n")
	expectEqual(t, "the files", box.files(), []string{".claude/ccc.json"})
}

// Without a name a launch has no provider, whatever ccc.json has; ccc default, 2.0's word for that, is gone.
func TestNoProvider(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET")
	box.write(".claude/ccc.json", 0o600, "\ufeff"+twoProviders)
	for name, url := range map[string]string{"": "", "kimi": "https://kimi.example", "glm": "https://glm.example"} {
		box.forget("agent-1")
		got := box.run(30*time.Second, "", append([]string{"ccc"}, strings.Fields(name+" -p hi")...)...)
		if is := strings.Join(box.agentEnv("ANTHROPIC_BASE_URL"), " "); got.code != 0 || got.stderr != "" || is != url || box.read(".claude/ccc.json") != "\ufeff"+twoProviders {
			t.Errorf("%q: %+v, URL %q", name, got, is)
		}
	}
	expectEnd(t, "default", box.run(10*time.Second, "", "ccc", "default", "-p", "hi"), 2, "", `ccc: "default" is gone in 3.0: without a name there is no provider`+"\n")
}

// FuzzConfig: a ccc.json that is taken is within the limits.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"", "{}", twoProviders, "\ufeff" + twoProviders, `{"supervisor":{"max_iterations":3,"allowed_tools":["a"],"max_budget_usd":0.5}}`, `{"language":1}`, `{"providers":{"a":{"env":{"A":1e400}}}}`} {
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
		if err != nil {
			return
		}
		if s := c.Supervisor; s.MaxIterations < 1 || s.MaxIterations > 100 || s.TimeoutSeconds < 10 || s.TimeoutSeconds > 3600 || s.MaxBudgetUSD < 0 {
			t.Errorf("took %+v", s)
		}
	})
}

// Of a secret that contains another one no part is left, whichever of them is found first.
func TestRedactedWhole(t *testing.T) {
	for _, env := range [][]string{
		{"A_TOKEN=secret-12", "B_TOKEN=secret-12-and-more"}, {"B_TOKEN=secret-12-and-more", "A_TOKEN=secret-12"},
	} {
		redact := newRedactor(env)
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
	c, err := configOf(t, `{"providers":{"a":{},"b":{"env":{"A":1,"B":true,"C":"c","D":"${E}","F":1e400}}}}`)
	check(t, err)
	p := c.Providers["b"]
	expectIs(t, "a provider's name", p.name, "b")
	expectIs(t, "its variables", fmt.Sprint(p.Env), "map[A:1 B:true C:c D:${E} F:1e400]")
	expectEqual(t, "the names", c.providerNames(), []string{"a", "b"})
	expectEqual(t, "its variables, and that from which one comes", slices.Sorted(slices.Values(c.variables([]string{"E=e", "X=x"}))),
		[]string{"A=1", "B=true", "C=c", "D=e", "E=e", "F=1e400"})
	d := dirs{ccc: t.TempDir()}
	check(t, os.Mkdir(d.configFile(), 0o700))
	if c, err := loadConfig(d); err == nil || c.Supervisor.MaxIterations != 10 {
		t.Errorf("a file that can't be read: %+v, %v", c, err)
	}
}

// What a command has loaded decides which values are secrets: those of its environment, and the providers' tokens.
func TestSecretsOfConfig(t *testing.T) {
	before, language := secretEnvironment, lang
	defer func() { secretEnvironment, lang = before, language }()
	c := defaultConfig()
	c.Providers = map[string]*provider{"a": {Env: map[string]string{tokenVariable: "providers0123456789abcdef"}}}
	c.use([]string{"A_TOKEN=mine0123456789abcdefgh"})
	expectIs(t, "a text with both", newRedactor(secretEnvironment())("mine0123456789abcdefgh, providers0123456789abcdef"), "***, ***")
}
