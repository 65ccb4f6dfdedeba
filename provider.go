package main

// The environment of claude: ccc's own, with a provider's values laid over it. And what Claude Code's
// settings say beside it, read into sources: what would keep those values from counting, what pays for a
// session, what keeps hooks from running.

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

// lineLeftOut is the value of cacheVariable where ccc, not the user, has left out the line of
// attributionVariable.
const lineLeftOut = "line"

// withLine is env without what ccc set there for the cache of a session: a login is billed by the line that
// was left out.
func withLine(env []string) []string {
	if lookupEnv(env, cacheVariable) == lineLeftOut {
		env = setEnv(env, attributionVariable, "")
	}
	return setEnv(env, cacheVariable, "")
}

// keptPrefix begins the variables in which a session carries what ${NAME} of the reviewer's provider stood
// for at its launch: in the session itself NAME may have been dropped, or be that of its own provider.
const keptPrefix = "CCC_KEPT_"

// withKept returns env, a session's, with what p, the reviewer's provider or nil, takes from given, the
// environment of its launch.
func withKept(env, given []string, p *provider) []string {
	env = withoutKept(env)
	if p == nil {
		return env
	}
	for _, value := range p.Env {
		if name, ok := variableIn(value); ok && lookupEnv(given, name) != lookupEnv(env, name) {
			env = setEnv(env, keptPrefix+name, lookupEnv(given, name))
		}
	}
	return env
}

func withoutKept(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, keptPrefix) })
}

// asGiven returns env, a session's, with the variables that the reviewer's provider may take as its launch
// was given them.
func asGiven(env []string) []string {
	given := env
	if lookupEnv(env, providerVariable) != "" {
		given = slices.DeleteFunc(slices.Clone(env), isAPIVariable)
	}
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, keptPrefix) {
			given = setEnv(given, strings.TrimPrefix(name, keptPrefix), value)
		}
	}
	return given
}

// reviewerEnv is the environment of a reviewer: the hook's, without what ties a process to its session. p may
// be nil.
func reviewerEnv(env []string, p *provider) ([]string, error) {
	env = slices.DeleteFunc(withoutKept(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "CLAUDE_CODE_MESSAGING_") || slices.Contains([]string{
			toolVariable, "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", sessionVariable}, name)
	})
	if p != nil && p.name != lookupEnv(env, providerVariable) { // which may be paid by a login
		env = withLine(env)
	}
	return withProvider(setEnv(env, reviewerVariable, "1"), p)
}

// withProvider returns env with the values of p, which may be nil. It first drops what another provider may
// have left there.
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
	// Where nothing says who is calling, Claude Code sends the user's login. It sends this instead.
	given := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	headers := strings.ToLower(values["ANTHROPIC_CUSTOM_HEADERS"])
	says := strings.Contains(headers, "authorization:") || strings.Contains(headers, "api-key:")
	if given("ANTHROPIC_BASE_URL") && !given(tokenVariable) && !given(keyVariable) && !says {
		env = setEnv(env, tokenVariable, "none")
	}
	return env, nil
}

// isAPIVariable reports whether a variable says which API is called, with what model, key, login, headers and
// body.
func isAPIVariable(name string) bool {
	prefixes := []string{"ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_API_KEY_", "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_EXTRA_BODY"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// values returns p's variables, a value that is wholly ${NAME} taken from env.
func (p *provider) values(env []string) (map[string]string, error) {
	values := map[string]string{}
	for variable, value := range p.Env {
		values[variable] = string(value)
		if name, ok := variableIn(value); ok {
			if values[variable] = lookupEnv(env, name); values[variable] == "" {
				err := fmt.Errorf("providers.%s.env.%s is ${%s}, which is not set", p.name, variable, name)
				return nil, withHint(err, "read -r "+name+"; export "+name)
			}
		}
	}
	return values, nil
}

// providerConflicts returns what keeps a claude with these sources, environment and arguments from being run
// against p: what is missing, what overrides p, and what would go to it without being p's. No value is shown.
// p may be nil.
func providerConflicts(d dirs, sources []settingsSource, env, args []string, p *provider) (conflicts []failure) {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return []failure{failureOf(err)}
	}
	for _, s := range sources {
		if s.err != nil {
			err := fmt.Errorf("%s: %w: correct it: it may override the provider %s", s.name, s.err, p.name)
			conflicts = append(conflicts, failure{1, err, editHint(s.name)})
		}
		for _, key := range slices.Sorted(maps.Keys(s.values)) {
			name, isVariable := strings.CutPrefix(key, "env.")
			value, ok := values[name]
			// What apiKeyHelper prints is sent to whatever URL is set, beside the provider's own token.
			helps := key == helperKey && s.values[key] != ""
			if helps || isVariable && (ok && value != s.values[key] || !ok && isAPIVariable(name)) {
				conflicts = append(conflicts, s.fault(key, "overrides the provider "+p.name+", or sends it what is yours: remove it", "remove it"))
			}
		}
	}
	account := sources[0]
	// An interactive session asks whether to use a key of the environment, and else sends the user's login.
	if key := values[keyVariable]; key != "" && values[tokenVariable] == "" && !isPrinted(args) && !account.allows(key) && hasLogin(d) {
		mend := "name it " + tokenVariable + ", or let Claude Code use the key (customApiKeyResponses.approved in " + account.name + ")"
		ours := settingsSource{name: d.configFile()}
		conflicts = append(conflicts, ours.fault("providers."+p.name+".env."+keyVariable, "may go unused, and your login be sent instead: "+mend, mend))
	}
	// The key that a login to the Console has left goes along with a token, but not with another key.
	if values["ANTHROPIC_BASE_URL"] != "" && values[keyVariable] == "" && account.values[primaryKey] != "" {
		mend := "give that an ANTHROPIC_API_KEY of its own in " + d.configFile() + ", or log out of Claude Code"
		conflicts = append(conflicts, account.fault(primaryKey, "is sent to the provider "+p.name+" too: "+mend, mend))
	}
	return conflicts
}

func isPrinted(args []string) bool { return givenFlag(args, "-p", "--print") != "" }

// hasLogin reports whether Claude Code has left the login of a subscription here. macOS keeps it elsewhere.
func hasLogin(d dirs) bool {
	_, err := os.Stat(filepath.Join(d.claude, ".credentials.json"))
	return err == nil || runtime.GOOS == "darwin"
}

// checkProvider is the error of all conflicts with p, which may be nil.
func checkProvider(d dirs, sources []settingsSource, env, args []string, p *provider) error {
	var errs []error
	for _, conflict := range providerConflicts(d, sources, env, args, p) {
		errs = append(errs, conflict.err)
	}
	return errors.Join(errs...)
}

// paysByKey reports whether such a session carries a key or a token to the API, or goes to a cloud that knows
// no login.
func paysByKey(sources []settingsSource, env, args []string) bool {
	value := func(key string) string { return valueIn(sources, env, key) }
	isSet := func(name string) bool { return isTrue(value("env." + name)) }
	key := value("env." + keyVariable)
	return value("env."+tokenVariable) != "" || value(helperKey) != "" || slices.ContainsFunc(cloudVariables, isSet) ||
		key != "" && (isPrinted(args) || sources[0].allows(key))
}

var cloudVariables = []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// withoutRefusedKey is the environment of a hook without a key that the user keeps from interactive sessions,
// if the hook is of one: with --print Claude Code does not ask, and the key would pay for the reviews. A
// provider's key stays.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	ofProvider := lookupEnv(env, providerVariable) != ""
	if key == "" || ofProvider || !isInteractive(env) || accountSource(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}

func isInteractive(env []string) bool { return lookupEnv(env, "CLAUDE_CODE_ENTRYPOINT") == "cli" }
