package main

// A claude with a provider has the provider's API variables and no others. Settings of Claude Code's that
// would override these, or send the provider what is the user's, are an error.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// attributionLeftOut is the value of cacheVariable if ccc, not the user, has set attributionVariable.
const attributionLeftOut = "line"

// withoutCacheVariables returns env without what ccc has set there for the prompt cache of a session. Claude
// Code then writes the line of attributionVariable again: a login is billed by that.
func withoutCacheVariables(env []string) []string {
	if lookupEnv(env, cacheVariable) == attributionLeftOut {
		env = setEnv(env, attributionVariable, "")
	}
	return setEnv(env, cacheVariable, "")
}

// withoutLaunch returns env, a terminal's, without what the launch of another session has left in it.
func withoutLaunch(env []string) []string {
	env = withoutCacheVariables(env)
	if lookupEnv(env, providerVariable) != "" {
		env = slices.DeleteFunc(slices.Clone(env), isAPIVariable)
	}
	return setEnv(env, providerVariable, "", addDirsVariable, "")
}

// reviewerEnv returns the environment of a reviewer: env, a session's, without the variables that tie a
// process to its session, and without the user's advisor. It has the values of p unless p is nil or the
// session's own provider, whose values env has already. The error names a ${NAME} of p that is not set, or
// that a launch has dropped or filled with a value of the session's provider.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = setEnv(env, toolVariable, "", entrypointVariable, "", "CLAUDE_CODE_CHILD_SESSION", "",
		sessionVariable, "", reviewerVariable, "1", advisorVariable, "1")
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, "CLAUDE_CODE_MESSAGING_")
	})
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
	return withProvider(withoutCacheVariables(env), p) // a login may pay for it
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
	if values[urlVariable] != "" && credential(values) == "" { // Claude Code would send the user's login
		env = setEnv(env, tokenVariable, "none")
	}
	return env, nil
}

// credential returns the variable by which a provider with these values recognizes its user, "" for none.
// Only a token, in its variable or in a header, is always sent in the place of a login. A login goes beside
// another header, and in an interactive session in the place of a key that is not approved (2.1.280 to
// 2.1.332).
func credential(values map[string]string) (variable string) {
	isSet := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	for line := range strings.Lines(values[headersVariable]) {
		name, _, _ := strings.Cut(strings.ToLower(line), ":")
		if name = strings.TrimSpace(name); name == "authorization" {
			return tokenVariable
		} else if strings.HasSuffix(name, "api-key") {
			variable = headersVariable
		}
	}
	switch {
	case isSet(tokenVariable):
		return tokenVariable
	case isSet(keyVariable):
		return keyVariable
	}
	return variable
}

// isAPIVariable reports whether a variable, NAME or NAME=value, decides which API is called and how: with
// what model, key, login, headers and body.
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

// providerConflicts returns the reasons not to run a claude with these sources and environment against p,
// which may be nil: a variable is missing; settings override p's, or hold what is the user's and would be
// sent to it; a login would be sent. without is how to do without p. No value is shown.
func providerConflicts(
	d dirs, sources []settingsSource, env []string, p *provider, without string,
) (conflicts []error) {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return []error{err}
	}
	account, isConsole := sources[0].name, values[urlVariable] != "" && values[keyVariable] == ""
	var settings, files []string
	for _, s := range sources {
		var keys []string
		if s.err != nil {
			keys = append(keys, s.err.Error())
		}
		for _, key := range slices.Sorted(maps.Keys(s.values)) {
			name, isVariable := strings.CutPrefix(key, "env.")
			value, isSet := values[name]
			overrides := isVariable && (isSet && value != s.values[key] || !isSet && isAPIVariable(name))
			// Claude Code sends what the helper prints to whatever URL is set, beside the provider's own
			// token; the key of a login to the Console, too, but not beside another key.
			isSent := key == helperKey || key == primaryKey && s.name == account && isConsole
			if overrides || isSent && s.values[key] != "" {
				keys = append(keys, key)
			}
		}
		if keys != nil {
			settings = append(settings, "\n     "+s.name+": "+strings.Join(keys, ", "))
			if s.name != argumentSource {
				files = append(files, shellQuote(s.name))
			}
		}
	}
	if settings != nil {
		err := fmt.Errorf("settings override the provider %s, or send it what is yours:%s",
			p.name, strings.Join(settings, ""))
		hint := without + ", or take that out there"
		if files != nil {
			hint += ":\n${EDITOR:-vi} " + strings.Join(files, " ")
		}
		conflicts = append(conflicts, withHint(err, hint))
	}
	name := credential(values)
	if values[urlVariable] != "" && name != tokenVariable && name != "" && hasLogin(d) {
		ours := settingsSource{name: d.configFile()}
		const what = "alone lets Claude Code send your login there, too"
		const hint = "name it " + tokenVariable + ", or add Authorization to " + headersVariable
		conflicts = append(conflicts, ours.fault("providers."+p.name+".env."+name, what, hint))
	}
	return conflicts
}

// hasLogin reports whether Claude Code may have a subscription's login. On macOS it is not kept in a file.
func hasLogin(d dirs) bool {
	_, err := os.Stat(filepath.Join(d.claude, ".credentials.json"))
	return err == nil || runtime.GOOS == "darwin"
}

// withoutProvider is how to do without the provider of a launch.
const withoutProvider = "leave the provider's name out"

// withoutReviewers is how to do without the reviewer's own provider.
const withoutReviewers = "leave out supervisor.provider of ccc.json, or --provider"

// paysByKey reports whether a key or a token pays for a session with these sources, environment and
// arguments, or a cloud: not a login.
func paysByKey(sources []settingsSource, env, args []string) bool {
	value := func(key string) string { return valueIn(sources, env, key) }
	isSet := func(name string) bool { return isTrue(value("env." + name)) }
	usesCloud := isSet("CLAUDE_CODE_USE_BEDROCK") || isSet("CLAUDE_CODE_USE_VERTEX") ||
		isSet("CLAUDE_CODE_USE_FOUNDRY")
	key, isPrinted := value("env."+keyVariable), givenFlag(args, "-p", "--print") != ""
	return value("env."+tokenVariable) != "" || value(helperKey) != "" || usesCloud ||
		key != "" && (isPrinted || sources[0].allows(key))
}

// paysByToken reports whether nothing but oauthVariable of the environment pays for such a session, so that a
// reviewer, which hooks start, has no login. With --print or without, a settings file reaches it.
func paysByToken(d dirs, sources []settingsSource, env, args []string) bool {
	return lookupEnv(env, oauthVariable) != "" && valueIn(sources, nil, "env."+oauthVariable) == "" &&
		sources[0].values[primaryKey] == "" && !paysByKey(sources, env, args) && !hasLogin(d)
}

// scrubVariable, if true, has Claude Code keep the keys of the environment from its hooks, and so from a
// reviewer, which reads those of settings files itself (2.1.280 to 2.1.332).
const scrubVariable = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"

// checkScrubbed returns the error that a reviewer would lack the key of a session with these sources and
// environment.
func checkScrubbed(sources []settingsSource, env []string) error {
	for _, name := range []string{tokenVariable, keyVariable} {
		isOfEnv := lookupEnv(env, name) != "" && valueIn(sources, nil, "env."+name) == ""
		if isOfEnv && isTrue(valueIn(sources, env, "env."+scrubVariable)) {
			err := fmt.Errorf("%s is set, so claude would keep %s from it", scrubVariable, name)
			return withHint(err, "set "+scrubVariable+" to 0")
		}
	}
	return nil
}

// withoutRefusedKey returns env, the environment of a hook, without a key that the user does not let
// interactive sessions use, if the hook is of such a session. A reviewer would use it without asking, as it
// runs with --print, and the key would pay for the reviews. A provider's key stays.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	ofProvider := lookupEnv(env, providerVariable) != ""
	isInteractive := lookupEnv(env, entrypointVariable) == "cli"
	if key == "" || ofProvider || !isInteractive || accountSource(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}
