package main

// What pays for a session: a key or a token, or the login of a subscription.

import (
	"slices"
	"strings"
)

// paysByKey tells whether a session with this environment and these arguments of claude's carries a key or a token to
// the API, or goes to a cloud that knows no such login.
func paysByKey(d dirs, c *config, env, args []string) bool {
	sources := []map[string]string{addedSettings(d, c)}
	for _, path := range append(d.settingsFiles(), managedFiles()...) {
		text, _ := readSettings(path)
		sources = append(sources, apiSettings(text))
	}
	value := func(key string) string {
		value := lookupEnv(env, strings.TrimPrefix(key, "env."))
		for _, settings := range sources { // the last one counts, as in Claude Code
			if set, ok := settings[key]; ok {
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

// withoutRefusedKey is the environment of a hook without a key that the user keeps from interactive sessions, if the
// hook is of one and the key is not the session's provider's: with --print Claude Code does not ask, and the reviews of a session that a login pays for would be
// paid by that key.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	ofProvider := lookupEnv(env, providerVariable) != ""
	if key == "" || ofProvider || lookupEnv(env, "CLAUDE_CODE_ENTRYPOINT") != "cli" || readAccount(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}
