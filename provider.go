package main

// The environment of claude: the one ccc was started in, with a provider's
// values laid over it. It is the only way by which those reach claude, so that
// two terminals can use two providers at once.

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// launchEnv is the environment of the agent's claude.
func launchEnv(env []string, p *provider) ([]string, error) {
	env, err := absoluteEnv(env)
	if err != nil || p == nil {
		return env, err
	}
	return withProvider(env, p)
}

// reviewerEnv is the environment of a reviewer: that of the hook, without what
// ties a process to the session it was started from. Its provider, if p is not
// nil, is p.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "CLAUDE_CODE_MESSAGING_") || slices.Contains([]string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"}, name)
	})
	env = setEnv(env, "CCC_SUPERVISOR_HOOK", "1")
	if p == nil {
		return env, nil
	}
	return withProvider(env, p)
}

// withProvider lays p's values over env. What another provider may have left
// there goes first: its token must not reach p, nor its model.
func withProvider(env []string, p *provider) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_") || strings.HasPrefix(entry, "CLAUDE_CODE_USE_")
	})
	for _, v := range p.env {
		value := v.value
		if match := wholeVariable.FindStringSubmatch(value); match != nil {
			if value = os.Getenv(match[1]); value == "" {
				return nil, fmt.Errorf("providers.%s.env.%s wants ${%s}, which is not set", p.name, v.name, match[1])
			}
		}
		env = setEnv(env, v.name, value)
	}
	return env, nil
}

var wholeVariable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

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
