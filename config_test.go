package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
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

// A fault is told in one line that names the file, the line, the key, what is expected and the help page; a
// value only of a key that has no room for a secret. Of the usual faults of JSON that is written by hand the
// place is named.
func TestConfigFaults(t *testing.T) {
	whole := func(key, from, to string) string {
		return "line 1: supervisor." + key + ": expected a whole number from " + from + " to " + to
	}
	reviews, seconds := whole("max_iterations", "1", "100"), whole("timeout_seconds", "10", "3600")
	const tools = "line 1: supervisor.allowed_tools: expected an array of strings"
	const budget = "line 1: supervisor.max_budget_usd: expected a number from 0 up"
	const providers = `{"providers":{"b":{},"a":{}}`
	const plain = "line 1: providers.a.env.A: expected a string, a number or a boolean"
	for text, want := range map[string]string{
		"\n":                                    "line 1, column 1: ",
		"\ufeff{\"a\" 1}":                       "line 1, column 6: ",
		`[]`:                                    "line 1, column 1: the file is not an object",
		"{\"supervisor\":\n  {\"x\":true, \n}}": "line 3, column 1: ",
		`{'language':"en"}`:                     "line 1, column 2: ",
		`{"language":"en"，"providers":{}}`:      "line 1, column 17: ",
		`{"supervisor":{"obs":true}`:            "line 1, column 26: unexpected end of JSON input",

		"{\n\n\"supervisor\":{},\"providrs\":{}}":           `line 3: unknown key "providrs"`,
		"{\"supervisor\":\n{\"max_iteration\":\"SECRET\"}}": `line 2: unknown key "max_iteration"`,
		`{"providers":{"a":{"environment":{}}}}`:            `line 1: unknown key "environment"`,
		"{\"supervisor\":\n[]}":                             "line 2: supervisor: expected an object",
		`{"supervisor":{"allowed_tools":["-x",1]}}`:         tools,
		"{\n\"language\":\"中文\"}":                           `line 2: language: expected "en" or "zh"`,
		`{"supervisor":{"max_iterations":1.8758758758}}`:    reviews,
		`{"supervisor":{"max_iterations":0}}`:               reviews,
		`{"supervisor":{"timeout_seconds":3601}}`:           seconds,
		`{"supervisor":{"max_budget_usd":-1}}`:              budget,
		`{"supervisor":{"model":null}}`:                     "line 1: supervisor.model: expected a string",
		`{"supervisor":{"observe":1}}`:                      "supervisor.observe: expected true or false",
		`{"supervisor":{"review":"never"}}`:                 `supervisor.review: expected "always" or "work"`,
		`{"supervisor":{"provider":"c"}}`:                   `"c" is no provider of this file (it has none)`,
		providers + `,"supervisor":{"provider":"c"}}`:       `"c" is no provider of this file (it has a, b)`,
		`{"providers":{"a":null}}`:                          "line 1: providers.a: expected an object",
		`{"providers":{"a":{"env":{"A":["SECRET"]}}}}`:      plain,
		`{"providers":{"in-copy":{}}}`:                      "providers.in-copy: expected a name that is not",
		`{"providers":{"default":{}}}`:                      "that is not a subcommand of ccc, nor default",
	} {
		c, err := configOf(t, text)
		expectError(t, text, err, want)
		expectIs(t, "the default", c.Supervisor.MaxIterations, 10)
		told := fmt.Sprint(err)
		expectIn(t, text, told, "ccc.json: line ")
		expectIn(t, text, told, " (see ccc help config)")
		expectNotIn(t, text, told, "SECRET", "8758758758", "\n")
	}
	// A key of 2.0 that nothing reads any more is an error that says so, wherever it stood.
	const gone = "settings claude_args current_provider keep_cache permission_mode try $schema"
	for key := range strings.FieldsSeq(gone) {
		for _, text := range []string{`{%q:1}`, `{"supervisor":{%q:1}}`, `{"providers":{"a":{%q:1}}}`} {
			_, err := configOf(t, "{\n"+fmt.Sprintf(text, key)[1:])
			expectError(t, key, err, "line 2: the key \""+key+"\" is gone in 3.0 (see ccc help config)")
		}
	}
}

// Each value that README.md or the client allows is taken.
func TestConfigValues(t *testing.T) {
	for _, text := range []string{noFile, "{}", "\ufeff{}", twoProviders,
		`{"supervisor":{"max_iterations":1,"timeout_seconds":10}}`,
		`{"supervisor":{"max_iterations":100,"timeout_seconds":3600}}`,
		`{"supervisor":{"max_budget_usd":0,"model":"","provider":"","allowed_tools":[],"review":"work",
			"observe":true},
			"providers":{"my-kimi.v2":{},"glm 4":{"env":{"A":"{}","B":"null"}},"NAME":{"env":{}}}}`,
	} {
		_, err := configOf(t, text)
		check(t, err)
	}
	c, _ := configOf(t, noFile)
	want := supervisorConfig{MaxIterations: 10, TimeoutSeconds: 540, Review: reviewAlways}
	expectIs(t, "the defaults", fmt.Sprint(c.Supervisor), fmt.Sprint(want))
	c, err := configOf(t, `{"providers":{"a":{},"b":{"env":{"A":1,"B":true,"C":"c","D":"${E}","F":1e400}}}}`)
	check(t, err)
	p := c.Providers["b"]
	expectIs(t, "a provider's name", p.name, "b")
	expectIs(t, "its variables", fmt.Sprint(p.Env), "map[A:1 B:true C:c D:${E} F:1e400]")
	expectEqual(t, "the names", c.providerNames(), []string{"a", "b"})
	variables := slices.Sorted(slices.Values(c.variables([]string{"E=e", "X=x"})))
	expectEqual(t, "its variables, and that from which one comes", variables,
		[]string{"A=1", "B=true", "C=c", "D=e", "E=e", "F=1e400"})
	d := dirs{ccc: t.TempDir()}
	check(t, os.Mkdir(d.configFile(), 0o700))
	c, err = loadConfig(d)
	expectError(t, "a file that can't be read", err, "is a directory")
	expectIs(t, "the default", c.Supervisor.MaxIterations, 10)
}
