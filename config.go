package main

// ccc.json: what it may hold, and reading it with errors that name file, key and what is expected.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

type config struct {
	Supervisor      supervisorConfig     `json:"supervisor"`
	Language        string               `json:"language"` // "" for the locale's
	Settings        json.RawMessage      `json:"settings"` // an object, or nil
	ClaudeArgs      []string             `json:"claude_args"`
	CurrentProvider string               `json:"current_provider"`
	Providers       map[string]*provider `json:"providers"`
}

type supervisorConfig struct {
	MaxIterations  int      `json:"max_iterations"`  // reviews for one request of the user's
	TimeoutSeconds int      `json:"timeout_seconds"` // for one review
	Model          string   `json:"model"`
	Provider       string   `json:"provider"`
	PermissionMode string   `json:"permission_mode"`
	AllowedTools   []string `json:"allowed_tools"`
	KeepCache      *bool    `json:"keep_cache"`     // forces what sharesCache decides
	MaxBudgetUSD   float64  `json:"max_budget_usd"` // 0 means no limit
	Try            bool     `json:"try"`            // the reviewer may run commands in a throw-away copy
}

// noProvider is the word for none in the place of a provider's name on the command line.
const noProvider = "default"

// provider is an API that claude can be started against.
type provider struct {
	name       string
	Env        map[string]envText `json:"env"`
	ClaudeArgs []string           `json:"claude_args"`
}

// envText is the value of an environment variable as ccc.json gives it: a string, or a number or boolean as it is
// written there. "" unsets the variable; ${NAME} stands for NAME's value in ccc's own environment.
type envText string

func (t *envText) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		*t = envText(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// configKeys are the paths that ccc.json may hold, with what is expected there; * stands for any name. What is below
// settings is Claude Code's.
var configKeys = map[string]string{
	"":                           "an object",
	"supervisor":                 "an object",
	"supervisor.max_iterations":  "a whole number from 1 to 100",
	"supervisor.timeout_seconds": "a whole number from 10 to 3600",
	"supervisor.model":           "a string",
	"supervisor.provider":        "one of the providers",
	"supervisor.permission_mode": "one of " + strings.Join(permissionModes, ", "),
	"supervisor.allowed_tools":   "an array of strings",
	"supervisor.keep_cache":      "true or false",
	"supervisor.max_budget_usd":  "a number from 0 up",
	"supervisor.try":             "true or false",
	"language":                   "one of zh, en",
	"settings":                   "an object",
	"claude_args":                "an array of strings",
	"current_provider":           "a string or null",
	"providers":                  "an object",
	"providers.*":                "an object",
	"providers.*.env":            "an object",
	"providers.*.env.*":          "a string, a number or a boolean",
	"providers.*.claude_args":    "an array of strings",
}

// permissionModes are those of any supported Claude Code: all but manual since 2.1.120, manual since 2.1.200.
var permissionModes = []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"}

func defaultConfig() *config {
	return &config{Supervisor: supervisorConfig{MaxIterations: 10, TimeoutSeconds: 540, PermissionMode: "dontAsk", Try: true}}
}

// loadConfig reads ccc.json; a missing file gives the defaults, and so does an error, which never names a value.
func loadConfig(d dirs) (*config, error) {
	path, defaults, c := d.configFile(), defaultConfig(), defaultConfig()
	content, err := readUserFile(path)
	if err != nil || content == nil {
		return defaults, err
	}
	root, err := parseJSON(content)
	if err != nil {
		return defaults, fmt.Errorf("%s: %w", path, err)
	}
	mistyped := &json.UnmarshalTypeError{Offset: -1}
	errors.As(json.Unmarshal(unmarked(content), c), &mistyped) // a value of the wrong type is left out, and the rest decoded
	if err := c.check(content, root, "", "", int(mistyped.Offset)); err != nil {
		return defaults, fmt.Errorf("%s: %w", path, err)
	}
	for name, p := range c.Providers {
		p.name = name
	}
	return c, nil
}

// setLanguage sets the language of this process, by ccc.json or the locale.
func setLanguage(d dirs) {
	c, _ := loadConfig(d)
	lang = languageFor(c.Language)
}

// check tells the first fault of v, a value of content, and of what is below it, but for keys that are nobody's ($schema) and
// those of Claude Code. path leads to v, and pattern is that path as configKeys has it; one byte of a value of the wrong type
// is at mistyped.
func (c *config) check(content []byte, v *jsonValue, path, pattern string, mistyped int) error {
	fault := func(at *jsonValue, key, what string) error {
		line, _ := position(content, at.start)
		return fmt.Errorf("line %d: %s: %s", line, cmp.Or(key, "the file"), what)
	}
	if c.isOutside(v, pattern) {
		return fault(v, path, "expected "+configKeys[pattern])
	}
	_, anyName := configKeys[joinKeys(pattern, "*")]
	for _, m := range v.members {
		key, below := joinKeys(path, m.key), joinKeys(pattern, m.key)
		switch {
		case !v.is('{') || pattern == "settings":
			continue
		case pattern == "providers" && (isSubcommand(m.key) || m.key == noProvider):
			return fault(m.value, key, "expected a name that is not a subcommand of ccc, nor "+noProvider+", which stands for no provider")
		case anyName:
			below = joinKeys(pattern, "*")
		case strings.HasPrefix(m.key, "$"):
			continue
		case configKeys[below] == "" || strings.Contains(m.key, "."):
			return fault(m.value, key, "expected one of "+keysUnder(pattern))
		}
		if err := c.check(content, m.value, key, below, mistyped); err != nil {
			return err
		}
	}
	if v.start < mistyped && mistyped <= v.end {
		return fault(v, path, "expected "+configKeys[pattern])
	}
	return nil
}

func joinKeys(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// isOutside tells whether v is of the right type, and not what is expected there.
func (c *config) isOutside(v *jsonValue, pattern string) bool {
	s := c.Supervisor
	return v.raw == "null" && pattern != "current_provider" || map[string]bool{
		"supervisor.max_iterations":  s.MaxIterations < 1 || s.MaxIterations > 100,
		"supervisor.timeout_seconds": s.TimeoutSeconds < 10 || s.TimeoutSeconds > 3600,
		"supervisor.provider":        s.Provider != "" && c.Providers[s.Provider] == nil,
		"supervisor.permission_mode": !slices.Contains(permissionModes, s.PermissionMode),
		"supervisor.max_budget_usd":  s.MaxBudgetUSD < 0,
		"language":                   c.Language != "zh" && c.Language != "en",
		"settings":                   !v.is('{'),
		"providers.*.env.*":          v.is('{') || v.is('['),
	}[pattern]
}

// keysUnder lists the keys that there may be under pattern.
func keysUnder(pattern string) string {
	var names []string
	for _, path := range slices.Sorted(maps.Keys(configKeys)) {
		if name := path[strings.LastIndexByte(path, '.')+1:]; path != "" && path == joinKeys(pattern, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// limitUnder is how many reviews a request has where blockCapVariable has that value: limit, or fewer where Claude Code
// would end the turn by force before. It takes 8 for a value that is no number, and 0 for no cap (2.1.200, 2.1.330).
func limitUnder(limit int, blockCap string) int {
	n := 8
	_, _ = fmt.Sscanf(blockCap, "%d", &n) // the digits that it begins with, as Claude Code reads it
	if n <= 0 {
		return limit
	}
	return min(n, limit)
}

// current is the provider that was named last, nil for none.
func (c *config) current(d dirs) (*provider, error) {
	p := c.Providers[c.CurrentProvider]
	if p == nil && c.CurrentProvider != "" {
		return nil, withHint(fmt.Errorf("%s: current_provider %q is not among the providers (%s); ccc default goes without one",
			d.configFile(), c.CurrentProvider, c.providerNames()), editHint(d.configFile()))
	}
	return p, nil
}

// claudeArgs are the arguments that ccc.json has for claude, with those for p, which may be nil.
func (c *config) claudeArgs(p *provider) []string {
	if p == nil {
		return c.ClaudeArgs
	}
	return slices.Concat(c.ClaudeArgs, p.ClaudeArgs)
}

func (c *config) providerNames() string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(c.Providers)), ", "), "none configured")
}

// exposed is the error that a secret is written out in ccc.json, for a provider or in Claude Code's settings, and others can read
// the file.
func (c *config) exposed(d dirs) error {
	info, err := os.Stat(d.configFile())
	if err != nil || info.Mode()&0o077 == 0 {
		return nil
	}
	var settings provider // of which the variables have the same form
	_ = json.Unmarshal(c.Settings, &settings)
	for _, p := range append(slices.Collect(maps.Values(c.Providers)), &settings) {
		for name, value := range p.Env {
			if _, named := variableIn(value); isSecretName(name) && len(value) >= secretLeast && !named {
				return withHint(fmt.Errorf("%s holds a token and others can read it", d.configFile()), "chmod 600 "+shellQuote(d.configFile()))
			}
		}
	}
	return nil
}

// variableIn returns NAME for a value that is wholly ${NAME}.
func variableIn(value envText) (name string, ok bool) {
	name, begins := strings.CutPrefix(string(value), "${")
	name, ends := strings.CutSuffix(name, "}")
	return name, begins && ends && name != "" && strings.Trim(name, letters+digits+"_") == ""
}

// providerVariables are those that the providers set or take a value from.
func (c *config) providerVariables() map[string]bool {
	names := map[string]bool{}
	for _, p := range c.Providers {
		for name, value := range p.Env {
			from, _ := variableIn(value)
			names[name], names[from] = true, true
		}
	}
	return names
}

var (
	privateKey = lazyRegexp(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)`)
	endOfKey   = lazyRegexp(`(?s)^.*-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`) // of one that began before the text
)

// secretLeast is how long a secret is at least: MAX_OUTPUT_TOKENS=32000 is none.
const secretLeast = 8

// redactor returns a function that replaces by *** what must not be shown: the values of variables that are named like
// secrets or set by a provider, if they have that length, and private keys.
func redactor(env []string, c *config) func(string) string {
	secret := c.providerVariables()
	for _, p := range c.Providers {
		for name, value := range p.Env {
			if _, named := variableIn(value); !named { // the name of a variable is what an error is about
				env = append(env[:len(env):len(env)], name+"="+string(value))
			}
		}
	}
	var values []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if (secret[name] || isSecretName(name)) && len(value) >= secretLeast {
			values = append(values, value)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // one may hold another
	return func(text string) string {
		for _, value := range values {
			text = strings.ReplaceAll(text, value, "***")
		}
		return endOfKey().ReplaceAllString(privateKey().ReplaceAllString(text, "***"), "***")
	}
}
