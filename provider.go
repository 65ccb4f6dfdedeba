package main

// The environment of claude: the one ccc was started in, with a provider's values laid over it, so that two
// terminals can use two providers at once. And what in Claude Code's settings files would keep those values from
// counting.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// launchEnv is the environment of the agent's claude: env with each variable once, the last of several counts, and
// p's values, if p is not nil.
func launchEnv(env []string, p *provider) ([]string, error) {
	env, err := absoluteEnv((&exec.Cmd{Env: env}).Environ())
	if err != nil {
		return nil, err
	}
	return withProvider(env, p)
}

// absoluteEnv returns env with the directories and programs in ccc's variables made absolute: hooks run in other
// directories than the launch.
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

// supervisedEnv adds what the claude of a supervised session needs. What the user has set stays.
func supervisedEnv(env []string, config supervisorConfig) []string {
	env = setEnv(env, supervisorVariable, "1")
	if lookupEnv(env, blockCapVariable) == "" {
		env = setEnv(env, blockCapVariable, strconv.Itoa(config.MaxIterations))
	}
	if config.KeepCache && lookupEnv(env, attributionVariable) == "" {
		env = setEnv(env, attributionVariable, "0")
	}
	return env
}

// reviewerEnv is the environment of a reviewer: that of the hook, without what ties a process to the session it was
// started from. Its provider, if p is not nil, is p.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "CLAUDE_CODE_MESSAGING_") || slices.Contains([]string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", sessionVariable}, name)
	})
	return withProvider(setEnv(env, reviewerVariable, "1"), p)
}

// withProvider lays p's values, if p is not nil, over env. What another provider may have left there goes first:
// its token must not reach p, nor its model.
func withProvider(env []string, p *provider) ([]string, error) {
	if p == nil {
		return env, nil
	}
	values, err := p.values(env)
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_") || strings.HasPrefix(entry, "CLAUDE_CODE_USE_")
	})
	for name, value := range values {
		env = setEnv(env, name, value)
	}
	return env, nil
}

// values returns p's variables, a value that is wholly ${NAME} taken from env. The error is an unsetError.
func (p *provider) values(env []string) (map[string]string, error) {
	values := map[string]string{}
	for variable, value := range p.Env {
		values[variable] = string(value)
		if name, ok := variableIn(value); ok {
			if values[variable] = lookupEnv(env, name); values[variable] == "" {
				return nil, unsetError{"providers." + p.name + ".env." + variable, name}
			}
		}
	}
	return values, nil
}

// An unsetError says that the value of key is ${name}, and that there is no such variable.
type unsetError struct{ key, name string }

func (e unsetError) Error() string {
	return fmt.Sprintf("%s is ${%s}, which is not set", e.key, e.name)
}

// lookupEnv returns the value of name in env, "" when it has none.
func lookupEnv(env []string, name string) string {
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

// A conflict is a key of a settings file that keeps a provider from being used, because Claude Code lets env there
// override the process environment.
type conflict struct{ path, key, provider string }

func (c conflict) Error() string {
	return fmt.Sprintf("%s: %s overrides the provider %s: remove it there", c.path, c.key, c.provider)
}

// decidingVariables decide which API is called, so that they count even where the provider says nothing of them.
var decidingVariables = []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"}

// providerConflicts returns what in the project's settings files, or in the settings that ccc.json would add to
// them, keeps p from being used. values are p's; no value is shown.
func providerConflicts(d dirs, c *config, p *provider, values map[string]string) (conflicts []conflict) {
	check := func(path string, env map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			value, ok := values[name]
			if ok && value != env[name] || !ok && slices.Contains(decidingVariables, name) {
				conflicts = append(conflicts, conflict{path, "env." + name, p.name})
			}
		}
	}
	for _, path := range d.settingsFiles() {
		check(path, settingsEnv(path))
	}
	added := envIn(c.Settings)
	for name := range settingsEnv(d.settingsFile()) {
		delete(added, name) // what settings.json has is not overwritten
	}
	check(d.configFile(), added)
	return conflicts
}

// checkProvider tells why claude could not be run in project against p, which may be nil, with env.
func checkProvider(d dirs, c *config, env []string, p *provider) error {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return err
	}
	var errs []error
	for _, conflict := range providerConflicts(d, c, p, values) {
		errs = append(errs, conflict)
	}
	return errors.Join(errs...)
}
