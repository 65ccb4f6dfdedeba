package main

// Launches whose session would run no hooks of the user's: they can't be supervised, and are refused.

import (
	"fmt"
	"slices"
	"strings"
)

// hooklessFlags are the flags with which Claude Code (seen on 2.1.329) runs no hook of settings.json;
// hooklessVariables mean the same.
var (
	hooklessFlags     = []string{"--bare", "--safe-mode", "--restricted", "--cloud", "--remote"}
	hooklessVariables = []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_RESTRICTED"}
)

// ownVariables are those of ccc's that say whether a session is supervised.
var ownVariables = []string{supervisorVariable, reviewerVariable, launchVariable}

// hookless returns what would keep a session with these arguments, this environment and these settings from
// ccc.json from running hooks, each with what mends it. A launch sets the user's own muting keys right: they are
// none.
func hookless(d dirs, args, env []string, added []byte) (causes []failure) {
	cause := func(code int, hint, format string, values ...any) {
		err := fmt.Errorf(format+": claude would run no hooks, so nothing would be reviewed", values...)
		causes = append(causes, failure{code, err, hint})
	}
	args = untilDashes(args)
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		if slices.Contains(hooklessFlags, flag) {
			cause(2, "", "--supervisor with %s", flag)
		}
	}
	if sources, ok := lastValue(args, "--setting-sources"); ok && !slices.Contains(strings.Split(strings.ReplaceAll(sources, " ", ""), ","), "user") {
		cause(2, "", "--supervisor with --setting-sources %s, without user", sources)
	}
	given := givenSettings(args)
	for _, key := range given.muting() {
		cause(2, "", "--supervisor with --settings, where %s is true", key)
	}
	for _, name := range append(slices.Clone(hooklessVariables), ownVariables...) {
		if value, set := given["env."+name]; isTrue(value) || set && slices.Contains(ownVariables, name) {
			cause(2, "", "--supervisor with --settings, where env.%s is set", name)
		}
	}
	// These are ccc's own: in a settings file they override what the launch gives to the hooks.
	files := append(d.settingsFiles(), managedFiles()...)
	for _, path := range files {
		there, _ := readSettings(path)
		for _, name := range ownVariables {
			if _, set := there["env."+name]; set {
				cause(1, keyHint(path, "env."+name, "remove it"), "%s: env.%s is set", path, name)
			}
		}
	}
	for _, path := range files[1:] { // in the user's own a launch sets them to false
		there, _ := readSettings(path)
		for _, key := range there.muting() {
			cause(1, keyHint(path, key, "false"), "%s: %s is true", path, key)
		}
	}
	for _, name := range hooklessVariables {
		if isTrue(lookupEnv(env, name)) {
			cause(1, "unset "+name, "%s is set", name)
		}
		for _, path := range files {
			if there, _ := readSettings(path); isTrue(there["env."+name]) {
				cause(1, keyHint(path, "env."+name, "remove it"), "%s: env.%s is set", path, name)
			}
		}
		if s, _ := settingsIn(added); isTrue(s["env."+name]) {
			cause(1, keyHint(d.configFile(), "settings.env."+name, "remove it"), "%s: settings.env.%s is set", d.configFile(), name)
		}
	}
	return causes
}
