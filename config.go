package main

// ccc.json is the user's: ccc never writes it. An error in it names the file, the key and what is expected
// there.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A configuration is what ccc.json sets.
type configuration struct {
	Supervisor supervisorConfig     `json:"supervisor"`
	Language   string               `json:"language"` // "" means the locale's
	Providers  map[string]*provider `json:"providers"`
}

type supervisorConfig struct {
	MaxIterations  int      `json:"max_iterations"`  // reviews for one request of the user's
	TimeoutSeconds int      `json:"timeout_seconds"` // for one review
	MaxBudgetUSD   float64  `json:"max_budget_usd"`  // 0 means no limit
	Model          string   `json:"model"`
	Provider       string   `json:"provider"`
	AllowedTools   []string `json:"allowed_tools"`
	Review         string   `json:"review"`  // reviewAlways or reviewWork
	Observe        bool     `json:"observe"` // judge each stop, and send nobody back
}

// The values of supervisor.review.
const (
	reviewAlways = "always" // each stop
	reviewWork   = "work"   // where the agent has called a tool, or a file has changed
)

// goneKeys are those of 2.0 that nothing reads.
var goneKeys = []string{
	"settings", "claude_args", "current_provider", "keep_cache", "permission_mode", "try", "$schema"}

// noProvider on a session's record is no provider. On the command line of 2.0 it was, too.
const noProvider = "default"

// A provider is an API that claude can be started against.
type provider struct {
	name string
	Env  map[string]envText `json:"env"`
}

// An envText is the value of an environment variable in ccc.json: a string, or a number or boolean as it is
// written there. "" unsets the variable; ${NAME} stands for the value of NAME in ccc's own environment.
type envText string

func (t *envText) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		*t = envText(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// configKeys are the keys of ccc.json, each with what it is, as ccc help config lists them.
var configKeys = [][2]string{
	{"supervisor.max_iterations", "reviews of a request, 1 to 100 (10)"},
	{"supervisor.timeout_seconds", "seconds for a review, 10 to 3600 (540)"},
	{"supervisor.max_budget_usd", "what a review may cost (0: no limit)"},
	{"supervisor.model", "the reviewer's model (the session's)"},
	{"supervisor.provider", "the reviewer's provider (the session's)"},
	{"supervisor.allowed_tools", "what it may use besides, [\"Bash(go test:*)\"] ([])"},
	{"supervisor.review", "\"work\": not where the agent only talks (\"always\")"},
	{"supervisor.observe", "judge and show, never send back (false)"},
	{"language", "\"en\" or \"zh\" (the locale's)"},
	{"providers.NAME.env", "its variables; \"${X}\": as X, \"\": unset ({})"},
}

func defaultConfig() *configuration {
	return &configuration{
		Supervisor: supervisorConfig{MaxIterations: 10, TimeoutSeconds: 540, Review: reviewAlways}}
}

// loadConfig reads ccc.json. A missing file gives the defaults. With an error, which shows a value only where
// that can be no secret, it returns the defaults too.
func loadConfig(d dirs) (*configuration, error) {
	content, err := readUserFile(d.configFile())
	if err != nil || content == nil {
		return defaultConfig(), err
	}
	c, err := parseConfig(content)
	if err != nil {
		return defaultConfig(), configFault(d, err)
	}
	return c, nil
}

// configFault is err, a fault of ccc.json, with the file and the help page.
func configFault(d dirs, err error) error {
	return fmt.Errorf("%s: %w (see ccc help config)", d.configFile(), err)
}

// parseConfig returns an error for the first fault. It takes keys in other case, as the decoder does.
func parseConfig(content []byte) (*configuration, error) {
	root, err := parseJSON(content)
	if err == nil {
		err = expectKind(content, root, '{', "the file")
	}
	if err != nil {
		return nil, err
	}
	c, decoder := defaultConfig(), json.NewDecoder(bytes.NewReader(unmarked(content)))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(c)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		line, _ := position(content, int(mistyped.Offset))
		return nil, fmt.Errorf("line %d: %s: expected %s", line, mistyped.Field, expectedFor(mistyped.Type))
	}
	if err != nil {
		quoted := strings.TrimPrefix(err.Error(), "json: unknown field ")
		line, _ := position(content, max(0, bytes.Index(content, []byte(quoted))))
		if slices.Contains(goneKeys, strings.Trim(quoted, `"`)) {
			return nil, fmt.Errorf("line %d: the key %s is gone in 3.0", line, quoted)
		}
		return nil, fmt.Errorf("line %d: unknown key %s", line, quoted)
	}
	return c, c.check(root)
}

// expectedFor returns what JSON is expected for a value of type t.
func expectedFor(t reflect.Type) string {
	return cmp.Or(map[reflect.Kind]string{
		reflect.Int:     "a whole number",
		reflect.Float64: "a number",
		reflect.Bool:    "true or false",
		reflect.String:  "a string",
		reflect.Slice:   "an array of strings",
	}[t.Kind()], "an object")
}

// noneOf is the error that the value of a key, which is a word, is none of names.
func noneOf(key, value string, names ...string) error {
	return fmt.Errorf("%s: %q is none of %s", key, value, strings.Join(names, ", "))
}

// check returns an error for the first value that has the right type but is not as expected, and gives the
// providers their names. c was decoded from root.
func (c *configuration) check(root *jsonValue) error {
	expected := func(key, what string) error { return fmt.Errorf("%s: expected %s", key, what) }
	outside := func(key, what string, value any) error {
		return fmt.Errorf("%s: %v is no number %s", key, value, what)
	}
	s := c.Supervisor
	switch {
	case s.MaxIterations < 1 || s.MaxIterations > 100:
		return outside("supervisor.max_iterations", "from 1 to 100", s.MaxIterations)
	case s.TimeoutSeconds < 10 || s.TimeoutSeconds > 3600:
		return outside("supervisor.timeout_seconds", "from 10 to 3600", s.TimeoutSeconds)
	case s.Provider != "" && c.Providers[s.Provider] == nil:
		return fmt.Errorf("supervisor.provider: %w", c.unknownProvider(s.Provider))
	case s.Review != reviewAlways && s.Review != reviewWork:
		return noneOf("supervisor.review", s.Review, reviewAlways, reviewWork)
	case s.MaxBudgetUSD < 0:
		return outside("supervisor.max_budget_usd", "from 0 up", s.MaxBudgetUSD)
	case c.Language != "" && !slices.Contains(languages, c.Language):
		return noneOf("language", c.Language, languages...)
	}
	for name, p := range c.Providers {
		switch {
		case isSubcommand(name) || name == noProvider:
			return expected("providers."+name, "a name that is not a subcommand of ccc, nor "+noProvider)
		case p == nil:
			return expected("providers."+name, "an object")
		}
		p.name = name
		for variable := range p.Env {
			written := root.at("providers", name, "env", variable)
			if written.is('{') || written.is('[') || written.is('n') { // n: null
				return expected("providers."+name+".env."+variable, "a string, a number or a boolean")
			}
		}
	}
	return nil
}

// use makes c the configuration of this process, which has that environment. It decides the language, or the
// locale does, and which secrets are redacted.
func (c *configuration) use(env environ) {
	lang = languageFor(c.Language)
	secretEnvironment = func() []string { return c.withTokens(env) }
}

// englishOffer is how to have ccc in English, on a line of its own, "" where ccc.json or the locale names a
// language.
func (c *configuration) englishOffer(d dirs) string {
	if c.Language == "" && localeName() == noLocale {
		return "For English: {\"language\": \"en\"} in " + d.configFile() + "\n"
	}
	return ""
}

func (c *configuration) providerNames() []string { return slices.Sorted(maps.Keys(c.Providers)) }

// unknownProvider is the error that no provider has that name.
func (c *configuration) unknownProvider(name string) error {
	list := cmp.Or(strings.Join(c.providerNames(), ", "), "none")
	return fmt.Errorf("%q is no provider of this file (it has %s)", name, list)
}

// variableIn returns NAME if the whole value is ${NAME}.
func variableIn(value envText) (name string, ok bool) {
	name, begins := strings.CutPrefix(string(value), "${")
	name, ends := strings.CutSuffix(name, "}")
	return name, begins && ends && name != "" && strings.Trim(name, letters+digits+"_") == ""
}

// providerVariables returns the names of the variables that providers set, or from which they take a value.
func (c *configuration) providerVariables() map[string]bool {
	names := map[string]bool{}
	for _, p := range c.Providers {
		for name, value := range p.Env {
			from, _ := variableIn(value)
			names[name], names[from] = true, true
		}
	}
	return names
}

// withTokens returns env with the tokens of the providers, under the names that claude has for them; one that
// stands in a header is a token, too.
func (c *configuration) withTokens(env []string) []string {
	all := slices.Clone(env)
	for _, p := range c.Providers {
		for name, value := range p.Env {
			if from, ok := variableIn(value); ok {
				value = envText(lookupEnv(env, from))
			}
			all = append(all, name+"="+string(value))
			if name == headersVariable {
				for header := range strings.Lines(string(value)) {
					header = strings.TrimSpace(header)
					all = append(all, tokenVariable+"="+header[strings.LastIndexAny(header, " :")+1:])
				}
			}
		}
	}
	return all
}
