package main

// The environment of claude: the one ccc was started in, with a provider's
// values laid over it. It is the only way by which those reach claude, so that
// two terminals can use two providers at once.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The environment variables that ccc and its parts agree on, or share with
// Claude Code.
const (
	supervisorVariable = "CCC_SUPERVISOR"      // "1": the session is supervised
	reviewerVariable   = "CCC_SUPERVISOR_HOOK" // "1": this claude is a reviewer's
	claudeVariable     = "CCC_CLAUDE"
	configDirVariable  = "CCC_CONFIG_DIR"
	workDirVariable    = "CCC_WORK_DIR"
	claudeDirVariable  = "CLAUDE_CONFIG_DIR"
	projectVariable    = "CLAUDE_PROJECT_DIR" // set for hooks: where the session was started
	sessionVariable    = "CLAUDE_CODE_SESSION_ID"
	// Claude Code (from 2.1.143) ends a turn by force after this many blocked
	// stops in a row, 8 unless told otherwise.
	blockCapVariable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
	// Claude Code puts a line at the head of the system prompt that differs
	// between an interactive session and a reviewer, and with it all that
	// follows in the prompt cache; "0" leaves the line out of both.
	attributionVariable = "CLAUDE_CODE_ATTRIBUTION_HEADER"
)

// launchEnv is the environment of the agent's claude.
func launchEnv(env []string, p *provider) ([]string, error) {
	env, err := absoluteEnv(lastOfEach(env))
	if err != nil || p == nil {
		return env, err
	}
	return withProvider(env, p)
}

// absoluteEnv makes the directories and programs in ccc's variables absolute:
// hooks run in other directories than the launch.
func absoluteEnv(env []string) ([]string, error) {
	for _, name := range []string{configDirVariable, workDirVariable, claudeDirVariable, claudeVariable} {
		value := os.Getenv(name)
		if value == "" || filepath.IsAbs(value) || !strings.Contains(value, "/") && name == claudeVariable {
			continue
		}
		absolute, err := filepath.Abs(value)
		if err != nil {
			return nil, err
		}
		env = setEnv(env, name, absolute)
	}
	return env, nil
}

// lastOfEach returns env with each variable once; the last of several counts.
func lastOfEach(env []string) (once []string) {
	seen := map[string]bool{}
	for _, entry := range slices.Backward(env) {
		name, _, _ := strings.Cut(entry, "=")
		if !seen[name] {
			seen[name] = true
			once = append(once, entry)
		}
	}
	slices.Reverse(once)
	return once
}

// supervisedEnv adds what the claude of a supervised session needs. What the
// user has set stays.
func supervisedEnv(env []string, config supervisorConfig) []string {
	env = setEnv(env, supervisorVariable, "1")
	if lookup(env, blockCapVariable) == "" {
		env = setEnv(env, blockCapVariable, strconv.Itoa(config.maxIterations))
	}
	if config.keepCache && lookup(env, attributionVariable) == "" {
		env = setEnv(env, attributionVariable, "0")
	}
	return env
}

// reviewerEnv is the environment of a reviewer: that of the hook, without what
// ties a process to the session it was started from. Its provider, if p is not
// nil, is p.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "CLAUDE_CODE_MESSAGING_") || slices.Contains([]string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", sessionVariable}, name)
	})
	env = setEnv(env, reviewerVariable, "1")
	if p == nil {
		return env, nil
	}
	return withProvider(env, p)
}

// withProvider lays p's values over env. What another provider may have left
// there goes first: its token must not reach p, nor its model.
func withProvider(env []string, p *provider) ([]string, error) {
	values, err := p.values(env)
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_") || strings.HasPrefix(entry, "CLAUDE_CODE_USE_")
	})
	for _, v := range values {
		env = setEnv(env, v.name, v.value)
	}
	return env, nil
}

// values returns p's variables, a value that is wholly ${NAME} taken from env.
// The error names a NAME that is not set there.
func (p *provider) values(env []string) (values []envValue, err error) {
	for _, v := range p.env {
		if name, ok := variableIn(v.value); ok {
			if v.value = lookup(env, name); v.value == "" {
				return nil, fmt.Errorf("providers.%s.env.%s is ${%s}, which is not set", p.name, v.name, name)
			}
		}
		values = append(values, v)
	}
	return values, nil
}

// variableIn returns NAME for a value that is wholly ${NAME}.
func variableIn(value string) (name string, ok bool) {
	name, begins := strings.CutPrefix(value, "${")
	name, ends := strings.CutSuffix(name, "}")
	return name, begins && ends && isVariable(name)
}

// isVariable tells whether name can be the name of an environment variable.
func isVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && strings.Trim(name, letters+digits+"_") == ""
}

// lookup returns the value of name in env, "" when it has none.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setEnv returns env with name set to value, once; an empty value unsets it.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	if value == "" {
		return env
	}
	return append(env, name+"="+value)
}

// providerNames lists the providers as a message shows them.
func (c *config) providerNames() string {
	if len(c.providers) == 0 {
		return "none configured"
	}
	var names []string
	for _, p := range c.providers {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// nearMiss returns the provider whose name is one slip away from word, or "".
func (c *config) nearMiss(word string) string {
	for _, p := range c.providers {
		if oneSlip(p.name, word) || oneSlip(word, p.name) {
			return p.name
		}
	}
	return ""
}

// oneSlip tells whether b is a with one letter left out, changed or swapped
// with the next.
func oneSlip(a, b string) bool {
	for i := range len(a) {
		left, changed := a[:i]+a[i+1:], len(a) == len(b) && a[:i] == b[:i] && a[i+1:] == b[i+1:]
		swapped := i+1 < len(a) && a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b
		if left == b || changed || swapped {
			return true
		}
	}
	return false
}

// settingsConflicts tells, an error for each, which settings files keep p from
// being used: Claude Code lets their env override the process environment. A
// key counts when p sets it to another value, or when it decides which API is
// called and p does not set it. Values are not shown.
func settingsConflicts(p places, project string, provider *provider, values []envValue) (conflicts []error) {
	for _, path := range p.settingsFiles(project) {
		for _, set := range settingsEnv(path) {
			i := slices.IndexFunc(values, func(v envValue) bool { return v.name == set.name })
			if i >= 0 && values[i].value != set.value || i < 0 && slices.Contains(decidingVariables, set.name) {
				conflicts = append(conflicts, fmt.Errorf("%s: env.%s overrides the provider %s: remove it there", path, set.name, provider.name))
			}
		}
	}
	return conflicts
}

var decidingVariables = []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"}

// checkProvider tells why claude could not be run against provider with env.
func checkProvider(p places, env []string, provider *provider) error {
	if provider == nil {
		return nil
	}
	values, err := provider.values(env)
	if err != nil {
		return err
	}
	project, err := os.Getwd()
	if err != nil {
		return err
	}
	return errors.Join(settingsConflicts(p, project, provider, values)...)
}

// exposesToken tells whether a provider has a secret written out in ccc.json and
// others can read the file.
func (c *config) exposesToken(p places) bool {
	info, err := os.Stat(p.configFile())
	if err != nil || info.Mode()&0o077 == 0 {
		return false
	}
	for _, p := range c.providers {
		for _, v := range p.env {
			secret := strings.Contains(v.name, "TOKEN") || strings.Contains(v.name, "KEY") || strings.Contains(v.name, "SECRET")
			if _, named := variableIn(v.value); secret && v.value != "" && !named {
				return true
			}
		}
	}
	return false
}
