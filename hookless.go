package main

// Launches whose session would run no hooks of the user's: they can't be supervised, and are refused.

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// hooklessFlags are the flags with which Claude Code (seen on 2.1.329) runs no hook of settings.json; hooklessVariables
// mean the same.
var (
	hooklessFlags     = []string{"--bare", "--safe-mode", "--restricted", "--cloud", "--remote"}
	hooklessVariables = []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_RESTRICTED"}
)

// hookless returns an error that names what would keep a session with these arguments of claude's, this environment
// and these settings from ccc.json from running hooks.
func hookless(d dirs, args, env []string, added []byte) error {
	const nothing = "claude would run no hooks, so nothing would be reviewed"
	args = untilDashes(args)
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		if slices.Contains(hooklessFlags, flag) {
			return failure{code: 2, err: fmt.Errorf("--supervisor with %s: %s", flag, nothing)}
		}
	}
	if sources, ok := lastValue(args, "--setting-sources"); ok && !slices.Contains(strings.Split(strings.ReplaceAll(sources, " ", ""), ","), "user") {
		return failure{code: 2, err: fmt.Errorf("--supervisor with --setting-sources %s, without user: %s", sources, nothing)}
	}
	if settings, ok := lastValue(args, "--settings"); ok {
		text, _, _ := settingsArgument(settings) // Claude Code itself complains of a missing one
		if keys := mutedIn(text); len(keys) > 0 {
			return failure{code: 2, err: fmt.Errorf("--supervisor with --settings, where %s is true: %s", keys[0], nothing)}
		}
	}
	// The user's own file is set right by the launch.
	for _, path := range append(d.settingsFiles()[1:], managedSettings) {
		if keys := mutedBy(path); len(keys) > 0 {
			return withHint(fmt.Errorf("%s: %s is true: %s", path, keys[0], nothing), "set it to false there, or start without --supervisor")
		}
	}
	for _, name := range hooklessVariables {
		if isTrue(lookupEnv(env, name)) {
			return withHint(fmt.Errorf("%s is set: %s", name, nothing), "unset "+name)
		}
		for _, path := range d.settingsFiles() {
			if isTrue(settingsEnv(path)[name]) {
				return withHint(fmt.Errorf("%s: env.%s is set: %s", path, name, nothing), "remove it there")
			}
		}
		if isTrue(envIn(added)[name]) {
			return withHint(fmt.Errorf("%s: settings.env.%s is set: %s", d.configFile(), name, nothing), "remove it there")
		}
	}
	return nil
}

// isTrue tells whether Claude Code takes the value of a variable for true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// settingsArgument returns the text of settings that --settings names, which is JSON itself or a file.
func settingsArgument(value string) (text []byte, isFile bool, err error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return []byte(value), false, nil
	}
	text, err = os.ReadFile(value)
	return text, true, err
}

// lastValue returns the value of the last flag of that name in args.
func lastValue(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		if after, found := strings.CutPrefix(arg, name+"="); found {
			value, ok = after, true
		} else if arg == name && i+1 < len(args) {
			value, ok = args[i+1], true
		}
	}
	return value, ok
}
