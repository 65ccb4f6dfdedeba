package main

// ccc.json: what it may hold, reading it with errors that name file, key and what is expected, and recording the
// provider in it.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// config is ccc.json.
type config struct {
	Supervisor      supervisorConfig    `json:"supervisor"`
	Language        string              `json:"language"` // "" for the locale's
	Settings        json.RawMessage     `json:"settings"` // an object, or nil
	ClaudeArgs      []string            `json:"claude_args"`
	CurrentProvider string              `json:"current_provider"`
	Providers       map[string]provider `json:"providers"`
}

type supervisorConfig struct {
	MaxIterations  int      `json:"max_iterations"`  // reviews for one request of the user's
	TimeoutSeconds int      `json:"timeout_seconds"` // for one review
	Model          string   `json:"model"`
	Provider       string   `json:"provider"`
	PermissionMode string   `json:"permission_mode"`
	AllowedTools   []string `json:"allowed_tools"`
	KeepCache      bool     `json:"keep_cache"`
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

// configKeys are the keys that ccc.json may hold, with what is expected there; * stands for any name. The
// permission modes are those of any tested Claude Code: auto since 2.1.120, delegate only about 2.1.30, manual
// since 2.1.200.
var configKeys = map[string]expectation{
	"":                           wantObject,
	"supervisor":                 wantObject,
	"supervisor.max_iterations":  wholeNumber(1, 100),
	"supervisor.timeout_seconds": wholeNumber(10, 3600),
	"supervisor.model":           wantString,
	"supervisor.provider":        wantString,
	"supervisor.permission_mode": oneOf("acceptEdits", "auto", "bypassPermissions", "default", "delegate", "dontAsk", "manual", "plan"),
	"supervisor.allowed_tools":   wantStrings,
	"supervisor.keep_cache":      begins("tf", "true or false"),
	"supervisor.max_budget_usd": expectation{"a number from 0 up", func(raw string) bool {
		n, err := strconv.ParseFloat(raw, 64)
		return err == nil && n >= 0
	}},
	"supervisor.try":          begins("tf", "true or false"),
	"settings":                wantObject,
	"claude_args":             wantStrings,
	"current_provider":        begins(`"n`, "a string or null"),
	"providers":               wantObject,
	"providers.*":             wantObject,
	"providers.*.env":         wantObject,
	"providers.*.env.*":       begins(`"tf-`+digits, "a string, a number or a boolean"),
	"providers.*.claude_args": wantStrings,
	"language":                oneOf(chinese, english),
}

// An expectation is what a value of ccc.json has to be, in words and as a test of its text.
type expectation struct {
	words string
	met   func(raw string) bool
}

var (
	wantObject  = begins("{", "an object")
	wantString  = begins(`"`, "a string")
	wantStrings = expectation{"an array of strings", func(raw string) bool {
		return raw[0] == '[' && json.Unmarshal([]byte(raw), new([]string)) == nil
	}}
)

func begins(with, words string) expectation {
	return expectation{words, func(raw string) bool { return strings.IndexByte(with, raw[0]) >= 0 }}
}

func oneOf(words ...string) expectation {
	return expectation{"one of " + strings.Join(words, ", "), func(raw string) bool {
		var word string
		return json.Unmarshal([]byte(raw), &word) == nil && slices.Contains(words, word)
	}}
}

func wholeNumber(least, most int) expectation {
	return expectation{fmt.Sprintf("a whole number from %d to %d", least, most), func(raw string) bool {
		n, err := strconv.Atoi(raw)
		return err == nil && least <= n && n <= most
	}}
}

func defaultConfig() *config {
	return &config{Supervisor: supervisorConfig{MaxIterations: 10, TimeoutSeconds: 540, PermissionMode: "dontAsk", Try: true}}
}

// loadConfig reads ccc.json; a missing file gives the defaults, and so does an error, which names file, key or
// position, and what is expected there, never a value.
func loadConfig(d dirs) (*config, error) {
	path, defaults, c := d.configFile(), defaultConfig(), defaultConfig()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return defaults, nil
	}
	if err != nil {
		return defaults, err
	}
	if len(bytes.TrimSpace(unmarked(content))) == 0 {
		return defaults, withHint(fmt.Errorf("%s is empty: expected a JSON object", path), "remove it, or put {} in it")
	}
	root, err := parseJSON(content)
	if err != nil {
		return defaults, fmt.Errorf("%s: %w", path, err)
	}
	check := configCheck{path, content}
	if err := check.value("", "", root); err != nil {
		return defaults, err
	}
	if err := json.Unmarshal(unmarked(content), c); err != nil {
		return defaults, fmt.Errorf("%s: %w", path, err)
	}
	if name := c.Supervisor.Provider; name != "" && c.findProvider(name) == nil {
		return defaults, check.fail(root.member("supervisor").member("provider"), "supervisor.provider", "one of the providers ("+c.providerNames()+")")
	}
	return c, nil
}

// speak sets the language of this process: that of ccc.json or, where it names none or can't be read, the locale's.
func speak(d dirs) {
	c, _ := loadConfig(d)
	lang = languageFor(c.Language)
}

// A configCheck holds the values of ccc.json against configKeys.
type configCheck struct {
	path string
	text []byte
}

// value checks v, which stands under key, as the user would write the path to it, and under pattern in configKeys.
func (c configCheck) value(key, pattern string, v *jsonValue) error {
	want := configKeys[pattern]
	if !want.met(v.raw) {
		return c.fail(v, key, want.words)
	}
	if v.kind != '{' || pattern == "settings" {
		return nil
	}
	for _, m := range v.members {
		key, child := join(key, m.key), join(pattern, m.key)
		if _, any := configKeys[join(pattern, "*")]; any {
			child = join(pattern, "*")
		}
		_, known := configKeys[child]
		switch {
		case strings.HasPrefix(m.key, "$"): // such as $schema
			continue
		case !known:
			return c.fail(m.value, key, "one of "+strings.Join(keysBelow(pattern), ", "))
		case pattern == "providers" && isSubcommand(m.key):
			return c.fail(m.value, key, "a name that is not a subcommand of ccc")
		case pattern == "providers" && m.key == noProvider:
			return c.fail(m.value, key, "another name than "+noProvider+", which stands for no provider")
		case pattern == "providers.*.env" && !isVariable(m.key):
			return c.fail(m.value, key, "the name of an environment variable")
		}
		if err := c.value(key, child, m.value); err != nil {
			return err
		}
	}
	return nil
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// keysBelow returns the keys that configKeys has right below pattern.
func keysBelow(pattern string) (keys []string) {
	for _, path := range slices.Sorted(maps.Keys(configKeys)) {
		if key := path[strings.LastIndexByte(path, '.')+1:]; key != "" && join(pattern, key) == path {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c configCheck) fail(v *jsonValue, key, want string) error {
	line, _ := position(c.text, v.start)
	return fmt.Errorf("%s: line %d: %s: expected %s", c.path, line, cmp.Or(key, "the file"), want)
}

// recordProvider makes name, "" for none, the current_provider of ccc.json and changes nothing else there.
func recordProvider(d dirs, name string) error {
	unlock, err := lockFile(d.configLockFile())
	if err != nil {
		return err
	}
	defer unlock()
	sweepTemporary(d.configFile())
	text, err := os.ReadFile(d.configFile())
	if err != nil {
		return err
	}
	root, err := parseJSON(text)
	if err != nil || root.member("current_provider").str() == name {
		return err
	}
	value := encodeJSON(name)
	if name == "" {
		value = []byte("null")
	}
	return replaceFile(d.configFile(), setMember(text, root, "current_provider", value), true)
}

// limitUnder is how many reviews a request has where blockCapVariable has that value: limit, or fewer where Claude Code
// would end the turn by force before. It takes 8 for a value that is no number, and 0 for no cap (2.1.200, 2.1.330).
func limitUnder(limit int, blockCap string) int {
	n, err := strconv.Atoi(blockCap)
	if err != nil {
		n = 8
	}
	if n <= 0 {
		return limit
	}
	return min(n, limit)
}

// findProvider returns the provider of that name, nil for none.
func (c *config) findProvider(name string) *provider {
	p, ok := c.Providers[name]
	if !ok {
		return nil
	}
	p.name = name
	return &p
}

// claudeArgs are the arguments that ccc.json has for claude, with those for p, which may be nil.
func (c *config) claudeArgs(p *provider) []string {
	if p == nil {
		return c.ClaudeArgs
	}
	return slices.Concat(c.ClaudeArgs, p.ClaudeArgs)
}

// providerNames lists the providers as a message shows them.
func (c *config) providerNames() string {
	if len(c.Providers) == 0 {
		return "none configured"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Providers)), ", ")
}

// exposesToken tells whether a provider has a secret written out in ccc.json and others can read the file.
func (c *config) exposesToken(d dirs) bool {
	info, err := os.Stat(d.configFile())
	if err != nil || info.Mode()&0o077 == 0 {
		return false
	}
	for _, p := range c.Providers {
		for name, value := range p.Env {
			secret := strings.Contains(name, "TOKEN") || strings.Contains(name, "KEY") || strings.Contains(name, "SECRET")
			if _, named := variableIn(value); secret && value != "" && !named {
				return true
			}
		}
	}
	return false
}

// variableIn returns NAME for a value that is wholly ${NAME}.
func variableIn(value envText) (name string, ok bool) {
	name, begins := strings.CutPrefix(string(value), "${")
	name, ends := strings.CutSuffix(name, "}")
	return name, begins && ends && isVariable(name)
}

// isVariable tells whether name can be the name of an environment variable.
func isVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && strings.Trim(name, letters+digits+"_") == ""
}
