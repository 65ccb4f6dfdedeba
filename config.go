package main

// ccc.json is the user's: ccc never writes it. An error names the file, the key and what is expected there.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type configuration struct {
	Supervisor supervisorConfig
	Language   string // "" means the locale's
	Providers  map[string]*provider
}

type supervisorConfig struct {
	MaxIterations  int     // reviews for one request of the user's
	TimeoutSeconds int     // for one review
	MaxBudgetUSD   float64 // 0 means no limit
	Model          string
	Provider       string
	AllowedTools   []string
	Review         string // reviewAlways or reviewWork
	Observe        bool   // judge each stop, and send nobody back
}

// The values of supervisor.review.
const (
	reviewAlways = "always" // each stop
	reviewWork   = "work"   // a stop before which the agent called a tool, or a file changed
)

// noProvider records that a session has no provider. 2.0 also accepted it on the command line.
const noProvider = "default"

// A provider is an API that claude can be started against.
type provider struct {
	name string
	Env  map[string]string // "" unsets a variable; ${NAME} stands for the value of NAME in ccc's environment
}

type configKey struct {
	path, brief string // brief is for ccc help config
	value       any    // where its value goes, nil for a pattern of keys
	expected    string // what the value has to be
	isWrong     bool   // c's current value is of that type, and not allowed
}

func (c *configuration) keys() []configKey {
	const text = "a string"
	s := &c.Supervisor
	return []configKey{
		{path: "supervisor.max_iterations", brief: "reviews of a request, 1 to 100 (10)",
			value: &s.MaxIterations, expected: "a whole number from 1 to 100",
			isWrong: s.MaxIterations < 1 || s.MaxIterations > 100},
		{path: "supervisor.timeout_seconds", brief: "seconds for a review, 10 to 3600 (540)",
			value: &s.TimeoutSeconds, expected: "a whole number from 10 to 3600",
			isWrong: s.TimeoutSeconds < 10 || s.TimeoutSeconds > 3600},
		{path: "supervisor.max_budget_usd", brief: "what a request's reviews may cost (0: no limit)",
			value: &s.MaxBudgetUSD, expected: "a number from 0 up", isWrong: s.MaxBudgetUSD < 0},
		{path: "supervisor.model", brief: "the reviewer's model (the session's)",
			value: &s.Model, expected: text},
		{path: "supervisor.provider", brief: "the reviewer's provider (the session's)",
			value: &s.Provider, expected: text},
		{path: "supervisor.allowed_tools", brief: `what else it may use, ["Bash(go test:*)"] ([])`,
			value: &s.AllowedTools, expected: "an array of strings"},
		{path: "supervisor.review", brief: `"work": words alone need no review ("always")`,
			value: &s.Review, expected: `"always" or "work"`,
			isWrong: s.Review != reviewAlways && s.Review != reviewWork},
		{path: "supervisor.observe", brief: "judge and show, never send back (false)",
			value: &s.Observe, expected: "true or false"},
		{path: "language", brief: `"en" or "zh" (the locale's)`,
			value: &c.Language, expected: `"en" or "zh"`,
			isWrong: !slices.Contains(append(languages, ""), c.Language)},
		{path: "providers.NAME.env", brief: `variables; "${X}" is X's value, "" unsets ({})`},
	}
}

// goneKeys are those of 2.0 that nothing reads.
var goneKeys = strings.Fields("settings claude_args current_provider keep_cache permission_mode try $schema")

func defaultConfig() *configuration {
	return &configuration{Providers: map[string]*provider{},
		Supervisor: supervisorConfig{MaxIterations: 10, TimeoutSeconds: 540, Review: reviewAlways}}
}

// An invocation is a call of a subcommand, or of claude.
type invocation struct {
	flags     map[string]string // the values of the flags that were given, by name with dashes; else "true"
	operands  []string
	env       environ
	config    *configuration // of a command that inProject wraps; the defaults if configErr is set
	configErr error
}

func (c *invocation) has(flag string) bool { _, ok := c.flags[flag]; return ok }

// loadConfig reads ccc.json. A missing file gives the defaults; so does an error, which shows no value.
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

// parseConfig returns an error for the first fault.
func parseConfig(content []byte) (*configuration, error) {
	root, err := parseJSON(content)
	if err == nil {
		err = expectKind(content, root, '{', "the file")
	}
	c := defaultConfig()
	for _, member := range root.members {
		if err == nil {
			err = c.readMember(content, member)
		}
	}
	if name := c.Supervisor.Provider; err == nil && name != "" && c.Providers[name] == nil {
		line, _ := position(content, root.at("supervisor", "provider").start)
		err = fmt.Errorf("line %d: supervisor.provider: %w", line, c.unknownProvider(name))
	}
	return c, err
}

// readMember reads the member of content whose path is above and then its key, with all that is in it.
func (c *configuration) readMember(content []byte, m jsonMember, above ...string) error {
	path := append(slices.Clone(above), m.key)
	key := strings.Join(path, ".")
	depth := len(path)
	isProvider := path[0] == "providers"
	v := m.value
	isKey := func(k configKey) bool {
		return slices.Equal(strings.Split(k.path, "."), path) && k.value != nil
	}
	expected := func(what string) error {
		line, _ := position(content, v.start)
		return fmt.Errorf("line %d: %s: expected %s", line, key, what)
	}
	switch i := slices.IndexFunc(c.keys(), isKey); {
	case i >= 0:
		err := json.Unmarshal([]byte(v.raw), c.keys()[i].value)
		if known := c.keys()[i]; err != nil || v.raw == "null" || known.isWrong {
			return expected(known.expected)
		}
	case depth == 2 && isProvider && (isSubcommand(m.key) || m.key == noProvider):
		return expected("a name that is not a subcommand of ccc, nor " + noProvider)
	case depth == 4 && isProvider:
		if v.is('{') || v.is('[') || v.raw == "null" {
			return expected("a string, a number or a boolean")
		}
		c.Providers[path[1]].Env[m.key] = v.variable()
	case key == "supervisor", isProvider && (depth < 3 || m.key == "env"):
		if !v.is('{') {
			return expected("an object")
		}
		if depth == 2 {
			c.Providers[m.key] = &provider{name: m.key, Env: map[string]string{}}
		}
		for _, member := range v.members {
			if err := c.readMember(content, member, path...); err != nil {
				return err
			}
		}
	default:
		line, _ := position(content, m.start)
		if slices.Contains(goneKeys, m.key) {
			return fmt.Errorf("line %d: the key %q is gone in 3.0", line, m.key)
		}
		return fmt.Errorf("line %d: unknown key %q", line, m.key)
	}
	return nil
}

// use makes c the configuration of this process, whose environment is env. It decides the language and which
// secrets are redacted. If c names no language the locale decides; a locale without a language means Chinese.
func (c *configuration) use(env environ) {
	lang = english
	locale := cmp.Or(c.Language, localeName())
	if locale == noLocale || strings.HasPrefix(strings.ToLower(locale), chinese) {
		lang = chinese
	}
	processRedactor = redactorOf(func() []string { return slices.Concat(env, c.variables(env)) })
}

// englishOffer is a line on how to have ccc in English, "" if ccc.json or the locale names a language.
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

// reviewersProvider returns the reviewer's own provider, nil for none. isSessions reports whether the
// reviewer asks the API of the session instead. sessions is the name of the session's provider, "" for none.
func (c *configuration) reviewersProvider(sessions string) (own *provider, isSessions bool) {
	name := c.Supervisor.Provider
	if name == "" || name == sessions {
		return nil, true
	}
	return c.Providers[name], false
}

// variableIn returns NAME if the whole value is ${NAME}.
func variableIn(value string) (name string, ok bool) {
	name, begins := strings.CutPrefix(value, "${")
	name, ends := strings.CutSuffix(name, "}")
	return name, begins && ends && name != "" && strings.Trim(name, letters+digits+"_") == ""
}

// variables returns NAME=value of each variable that a provider sets, and of each from which one is taken,
// with its value in env. The last word of a header counts as a token.
func (c *configuration) variables(env []string) (entries []string) {
	for _, p := range c.Providers {
		for name, value := range p.Env {
			if from, ok := variableIn(value); ok {
				value = lookupEnv(env, from)
				entries = append(entries, from+"="+value)
			}
			entries = append(entries, name+"="+value)
			if name == headersVariable {
				for header := range strings.Lines(value) {
					header = strings.TrimSpace(header)
					entries = append(entries, tokenVariable+"="+header[strings.LastIndexAny(header, " :")+1:])
				}
			}
		}
	}
	return entries
}
