package main

// The environment of claude: the one ccc was started in, with a provider's values laid over it, so that two
// terminals can use two providers at once. And what in Claude Code's settings files would keep those values from
// counting, or pays for a session: a key or a token, or the login of a subscription.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// launchEnv is the environment of the agent's claude: env with each variable once, the last of several counts, with
// absolute paths in ccc's variables, as hooks run in other directories, and with p's values, if p is not nil.
func launchEnv(env []string, p *provider) ([]string, error) {
	env = (&exec.Cmd{Env: env}).Environ()
	for _, name := range []string{configDirVariable, workDirVariable, claudeDirVariable, claudeVariable} {
		value := lookupEnv(env, name)
		if value == "" || filepath.IsAbs(value) || !strings.Contains(value, "/") && name == claudeVariable {
			continue
		}
		absolute, err := filepath.Abs(value)
		if err != nil {
			return nil, err
		}
		env = setEnv(env, name, absolute)
	}
	return withProvider(env, p)
}

// supervisedEnv adds what the claude of a supervised session needs. What the user has set stays. paid tells that it
// pays by key.
func supervisedEnv(env []string, config supervisorConfig, paid bool) []string {
	env = setEnv(env, supervisorVariable, "1")
	env = setEnv(env, blockCapVariable, cmp.Or(lookupEnv(env, blockCapVariable), strconv.Itoa(config.MaxIterations)))
	if config.KeepCache && paid && lookupEnv(env, attributionVariable) == "" {
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
	env = slices.DeleteFunc(slices.Clone(env), isAPIVariable)
	for name, value := range values {
		env = setEnv(env, name, value)
	}
	// Where nothing says who is calling, Claude Code (seen from 2.1.30 on) sends the login that the user has for
	// Anthropic. It sends this instead.
	given := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	headers := strings.ToLower(values["ANTHROPIC_CUSTOM_HEADERS"])
	says := strings.Contains(headers, "authorization:") || strings.Contains(headers, "api-key:")
	if given("ANTHROPIC_BASE_URL") && !given(tokenVariable) && !given(keyVariable) && !says {
		env = setEnv(env, tokenVariable, "none")
	}
	return env, nil
}

// isAPIVariable tells whether a variable says which API is called, with what model, key, login, headers and body.
func isAPIVariable(name string) bool {
	prefixes := []string{"ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_API_KEY_", "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_EXTRA_BODY"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
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

// providerConflicts returns what in the settings files that count here, in the --settings of args or in the
// settings that ccc.json would add, overrides p or goes to it without being p's. values are p's; no value is shown.
func providerConflicts(d dirs, c *config, p *provider, args []string, values map[string]string) (conflicts []failure) {
	conflict := func(path, key, fault, mend string) {
		err := fmt.Errorf("%s: %s %s: %s", path, key, fault, mend)
		conflicts = append(conflicts, failure{1, err, keyHint(path, key, mend)})
	}
	check := func(path, prefix string, s settings) {
		for _, key := range slices.Sorted(maps.Keys(s)) {
			name, isVariable := strings.CutPrefix(key, "env.")
			value, ok := values[name]
			// What apiKeyHelper prints is sent to whatever URL is set, beside the provider's own token.
			helps := key == helperKey && s[key] != ""
			if helps || isVariable && (ok && value != s[key] || !ok && isAPIVariable(name)) {
				conflict(path, prefix+key, "overrides the provider "+p.name+", or sends it what is yours", "remove it")
			}
		}
	}
	check("--settings", "", givenSettings(args))
	for _, path := range append(d.settingsFiles(), managedFiles()...) {
		s, err := readSettings(path)
		if err != nil {
			err = fmt.Errorf("%s: %w: correct it: it may override the provider %s", path, err, p.name)
			conflicts = append(conflicts, failure{1, err, editHint(path)})
		}
		check(path, "", s)
	}
	check(d.configFile(), "settings.", addedSettings(d, c))
	account := readAccount(d)
	env := settings{}
	for name, value := range account.Env {
		env["env."+name] = string(value)
	}
	check(d.clientFile(), "", env)
	// An interactive session asks whether to use a key of the environment, and else sends the user's login.
	if key := values[keyVariable]; key != "" && values[tokenVariable] == "" && !isPrinted(args) && !account.allows(key) && hasLogin(d) {
		conflict(d.configFile(), "providers."+p.name+".env."+keyVariable, "may go unused, and your login be sent instead",
			"name it "+tokenVariable+", or let Claude Code use the key (customApiKeyResponses.approved in "+d.clientFile()+")")
	}
	// The key that a login to the Console has left goes along with a token, but not with another key.
	if values["ANTHROPIC_BASE_URL"] != "" && values[keyVariable] == "" && account.PrimaryAPIKey != "" {
		conflict(d.clientFile(), "primaryApiKey", "is sent to the provider "+p.name+" too",
			"give that an ANTHROPIC_API_KEY of its own in "+d.configFile()+", or log out of Claude Code")
	}
	return conflicts
}

// managedFiles are those by which an administrator overrides all others.
func managedFiles() []string {
	more, _ := filepath.Glob(strings.TrimSuffix(managedSettings, ".json") + ".d/*.json")
	return append([]string{managedSettings}, more...)
}

// addedSettings are those that ccc.json has and a launch adds to settings.json, or has added. Of what is there with
// another value a launch changes nothing.
func addedSettings(d dirs, c *config) settings {
	there, _ := readSettings(d.settingsFile())
	added, _ := settingsIn(c.Settings)
	maps.DeleteFunc(added, func(key, value string) bool { other, ok := there[key]; return ok && other != value })
	return added
}

// isPrinted tells whether claude is to print an answer and end.
func isPrinted(args []string) bool {
	return slices.Contains(args, "-p") || slices.Contains(args, "--print")
}

// hasLogin tells whether Claude Code has left the login of a subscription here. macOS keeps it elsewhere.
func hasLogin(d dirs) bool {
	_, err := os.Stat(filepath.Join(d.claude, ".credentials.json"))
	return err == nil || runtime.GOOS == "darwin"
}

// checkProvider tells why claude could not be run with args against p, which may be nil, with env.
func checkProvider(d dirs, c *config, env, args []string, p *provider) error {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return err
	}
	var errs []error
	for _, conflict := range providerConflicts(d, c, p, args, values) {
		errs = append(errs, conflict.err)
	}
	return errors.Join(errs...)
}

// An account is what Claude Code's own record of the user (~/.claude.json) says of keys and of the environment.
type account struct {
	PrimaryAPIKey         string // of a login to the Console
	CustomAPIKeyResponses struct{ Approved []string }
	Env                   map[string]envText
}

// readAccount returns an empty account where there is none that can be read.
func readAccount(d dirs) (a account) {
	text, err := os.ReadFile(filepath.Join(d.claude, ".config.json")) // an older name, which comes first where it is there
	if err != nil {
		text, _ = os.ReadFile(d.clientFile())
	}
	_ = json.Unmarshal(unmarked(text), &a)
	return a
}

// allows tells whether the user lets interactive sessions use that key. With --print Claude Code does not ask.
func (a account) allows(key string) bool {
	return slices.Contains(a.CustomAPIKeyResponses.Approved, key[max(0, len(key)-20):])
}

// paysByKey tells whether a session with this environment and these arguments of claude's carries a key or a token
// to the API, or goes to a cloud that knows no such login.
func paysByKey(d dirs, c *config, env, args []string) bool {
	sources := []settings{addedSettings(d, c)}
	for _, path := range append(d.settingsFiles(), managedFiles()...) {
		s, _ := readSettings(path)
		sources = append(sources, s)
	}
	value := func(key string) string {
		value := lookupEnv(env, strings.TrimPrefix(key, "env."))
		for _, s := range sources { // the last one counts, as in Claude Code
			if set, ok := s[key]; ok {
				value = set
			}
		}
		return value
	}
	isSet := func(name string) bool { return isTrue(value("env." + name)) }
	key := value("env." + keyVariable)
	return value("env."+tokenVariable) != "" || value(helperKey) != "" || slices.ContainsFunc(cloudVariables, isSet) ||
		key != "" && (isPrinted(args) || readAccount(d).allows(key))
}

var cloudVariables = []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// isTrue tells whether Claude Code takes the value of a variable for true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// withoutRefusedKey is the environment of a hook without a key that the user keeps from interactive sessions, if
// the hook is of one and the key is not the session's provider's: with --print Claude Code does not ask, and the
// reviews of a session that a login pays for would be paid by that key.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	ofProvider := lookupEnv(env, providerVariable) != ""
	if key == "" || ofProvider || lookupEnv(env, "CLAUDE_CODE_ENTRYPOINT") != "cli" || readAccount(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}
