package main

// The environment of a claude: ccc's own, with a provider's values in it. What in Claude Code's settings
// would override these or send the provider what is the user's, and what pays for a session.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// lineLeftOut is the value of cacheVariable if ccc, not the user, has set attributionVariable.
const lineLeftOut = "line"

// withLine returns env without what ccc has set there for the prompt cache of a session, so that Claude Code
// writes the line of attributionVariable again: a login is billed by that.
func withLine(env []string) []string {
	if lookupEnv(env, cacheVariable) == lineLeftOut {
		env = setEnv(env, attributionVariable, "")
	}
	return setEnv(env, cacheVariable, "")
}

// reviewerEnv returns the environment of a reviewer: env, a session's, without the variables that tie a
// process to its session. It has the values of p unless p is nil or the session's own provider, whose values
// env has already. The error names a ${NAME} of p that is not set, or that a launch has dropped or filled with
// a value of the session's provider.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = setEnv(env, toolVariable, "", "CLAUDE_CODE_ENTRYPOINT", "",
		"CLAUDE_CODE_CHILD_SESSION", "", sessionVariable, "")
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, "CLAUDE_CODE_MESSAGING_")
	})
	env = setEnv(env, reviewerVariable, "1")
	session := lookupEnv(env, providerVariable)
	if p == nil || p.name == session {
		return env, nil
	}
	for _, variable := range slices.Sorted(maps.Keys(p.Env)) {
		if name, ok := variableIn(p.Env[variable]); ok && session != "" && isAPIVariable(name) {
			const format = "providers.%s.env.%s of ccc.json is ${%s}, which a session of provider %s does not have"
			err := fmt.Errorf(format, p.name, variable, name, session)
			hint := "keep it under another name, and write ${REVIEWERS_TOKEN} there:\n"
			return nil, withHint(err, hint+`export REVIEWERS_TOKEN="$`+name+`"`)
		}
	}
	return withProvider(withLine(env), p) // a login may pay for it
}

// withProvider returns env with the values of p in the place of all API variables. Without a provider, nil,
// env stays. The error is a ${NAME} of p that is not set.
func withProvider(env []string, p *provider) ([]string, error) {
	if p == nil {
		return env, nil
	}
	values, err := p.values(env)
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(slices.Clone(env), isAPIVariable)
	for name, value := range values {
		env = setEnv(env, name, value)
	}
	// Without a token, a key or a header for one Claude Code sends the user's login. It sends "none" instead.
	given := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	headers := strings.ToLower(values["ANTHROPIC_CUSTOM_HEADERS"])
	identifies := strings.Contains(headers, "authorization:") || strings.Contains(headers, "api-key:")
	if given("ANTHROPIC_BASE_URL") && !given(tokenVariable) && !given(keyVariable) && !identifies {
		env = setEnv(env, tokenVariable, "none")
	}
	return env, nil
}

// isAPIVariable reports whether a variable, NAME or NAME=value, says which API is called and how: with what
// model, key, login, headers and body.
func isAPIVariable(variable string) bool {
	prefixes := []string{"ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_API_KEY_", "CLAUDE_CODE_OAUTH_",
		"CLAUDE_CODE_EXTRA_BODY"}
	begins := func(prefix string) bool { return strings.HasPrefix(variable, prefix) }
	return slices.ContainsFunc(prefixes, begins)
}

// values returns p's variables. It takes a value that is wholly ${NAME} from env; unset, it is an error.
func (p *provider) values(env []string) (map[string]string, error) {
	values := map[string]string{}
	for variable, value := range p.Env {
		values[variable] = string(value)
		if name, ok := variableIn(value); ok {
			if values[variable] = lookupEnv(env, name); values[variable] == "" {
				const format = "providers.%s.env.%s of ccc.json is ${%s}, which is not set"
				err := fmt.Errorf(format, p.name, variable, name)
				return nil, withHint(err, "read -r "+name+"; export "+name)
			}
		}
	}
	return values, nil
}

// providerConflicts returns the reasons not to run a claude with these sources, environment and arguments
// against p, which may be nil: a variable that is missing, settings that override p's, and a key or login of
// the user's that would be sent to it. No value is shown.
func providerConflicts(d dirs, sources []settingsSource, env, args []string, p *provider) []failure {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return []failure{failureOf(err)}
	}
	var conflicts []failure
	for _, s := range sources {
		if s.err != nil {
			err := fmt.Errorf("%s: %w; it may override the provider %s", s.name, s.err, p.name)
			conflicts = append(conflicts, failure{code: 1, err: err, hint: editHint(s.name)})
		}
		for _, key := range slices.Sorted(maps.Keys(s.values)) {
			name, isVariable := strings.CutPrefix(key, "env.")
			value, isSet := values[name]
			overrides := isVariable && (isSet && value != s.values[key] || !isSet && isAPIVariable(name))
			// Claude Code sends what the helper prints to whatever URL is set, beside the provider's own
			// token.
			if overrides || key == helperKey && s.values[key] != "" {
				what := "overrides the provider " + p.name + ", or sends it what is yours"
				conflicts = append(conflicts, s.fault(key, what, "remove it"))
			}
		}
	}
	account := sources[0]
	key, token := values[keyVariable], values[tokenVariable]
	// If an interactive session may not use a key of the environment, it sends the user's login instead.
	if key != "" && token == "" && !isPrinted(args) && !account.allows(key) && hasLogin(d) {
		mend := "name it " + tokenVariable +
			", or let Claude Code use the key (customApiKeyResponses.approved in " + account.name + ")"
		ours, name := settingsSource{name: d.configFile()}, "providers."+p.name+".env."+keyVariable
		const what = "may go unused, and your login be sent instead"
		conflicts = append(conflicts, ours.fault(name, what, mend))
	}
	// Claude Code sends the key of a login to the Console beside a token, but not beside another key.
	if values["ANTHROPIC_BASE_URL"] != "" && key == "" && account.values[primaryKey] != "" {
		f := account.fault(primaryKey, "is sent to the provider "+p.name+", too", "")
		const mend = "log out of Claude Code, or give the provider an ANTHROPIC_API_KEY of its own"
		f.hint = keyHint(d.configFile(), mend)
		conflicts = append(conflicts, f)
	}
	return conflicts
}

func isPrinted(args []string) bool { return givenFlag(args, "-p", "--print") != "" }

// hasLogin reports whether Claude Code may have a subscription's login. On macOS it is not kept in a file.
func hasLogin(d dirs) bool {
	_, err := os.Stat(filepath.Join(d.claude, ".credentials.json"))
	return err == nil || runtime.GOOS == "darwin"
}

// checkProvider returns providerConflicts as one error, nil if there are none.
func checkProvider(d dirs, sources []settingsSource, env, args []string, p *provider) error {
	var errs []error
	for _, conflict := range providerConflicts(d, sources, env, args, p) {
		conflict.code = 1 // also for what stands on the command line
		errs = append(errs, conflict)
	}
	return errors.Join(errs...)
}

// paysByKey reports whether a key or a token pays for a session with these sources, environment and
// arguments, or a cloud: not a login.
func paysByKey(sources []settingsSource, env, args []string) bool {
	value := func(key string) string { return valueIn(sources, env, key) }
	isSet := func(name string) bool { return isTrue(value("env." + name)) }
	usesCloud := slices.ContainsFunc(cloudVariables, isSet)
	key := value("env." + keyVariable)
	return value("env."+tokenVariable) != "" || value(helperKey) != "" || usesCloud ||
		key != "" && (isPrinted(args) || sources[0].allows(key))
}

var cloudVariables = []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// withoutRefusedKey returns env, the environment of a hook, without a key that the user does not let
// interactive sessions use, if the hook is of such a session. A reviewer would use it without asking, as it
// runs with --print, and the key would pay for the reviews. A provider's key stays.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	ofProvider := lookupEnv(env, providerVariable) != ""
	if key == "" || ofProvider || !isInteractive(env) || accountSource(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}

func isInteractive(env []string) bool { return lookupEnv(env, "CLAUDE_CODE_ENTRYPOINT") == "cli" }
