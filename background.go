package main

// Background sessions (claude --bg): they live under a service that has the environment of whoever started it
// first, so what ccc has to tell one of them goes through its --settings, and nothing through the environment.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// isBackground tells whether claude starts a background session with these arguments.
func isBackground(args []string) bool {
	options := untilDashes(args)
	return slices.Contains(options, "--bg") || slices.Contains(options, "--background")
}

// backgroundVariables are what a supervised session has from its launch. An empty one of ccc's own is passed on
// too: the service may have another launch's. Those of Claude Code's are not, and the user's own --settings win.
var backgroundVariables = []string{supervisorVariable, launchVariable, addDirsVariable, providerVariable, languageVariable, configDirVariable,
	workDirVariable, claudeVariable, blockCapVariable, attributionVariable}

// inBackground turns the command line and the environment of a supervised session into those of a background one,
// with the variables in the user's own --settings. Where these are a file, which may hold secrets, the command line
// names the file copyAt, and copied is what belongs there.
func inBackground(args, env []string, copyAt string) (newArgs, newEnv []string, copied []byte, err error) {
	given, _ := lastValue(untilDashes(args), "--settings")
	text, isFile, err := settingsArgument(cmp.Or(given, "{}"))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--settings: %w", err)
	}
	e, err := newSettingsEditor(text, "")
	if err == nil && e.at("env") == nil {
		e.set([]string{"env"}, "{}")
	}
	if err == nil {
		err = expectKind(e.text, e.at("env"), '{', "env")
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--settings: %w", err)
	}
	for _, name := range backgroundVariables {
		value, path := lookupEnv(env, name), []string{"env", name}
		if name == languageVariable {
			value = lang.name()
		}
		if strings.HasPrefix(name, "CCC_") || value != "" && e.at(path...) == nil {
			e.set(path, string(encodeJSON(value)))
		}
	}
	settings := string(e.text)
	if isFile {
		settings, copied = copyAt, e.text
	}
	return withSettings(args, settings), setEnv(setEnv(env, supervisorVariable, ""), launchVariable, ""), copied, nil
}

// withSettings returns args with settings as the value of their last --settings; without one it comes first.
func withSettings(args []string, settings string) []string {
	args = slices.Clone(args)
	for i, arg := range slices.Backward(untilDashes(args)) {
		switch {
		case strings.HasPrefix(arg, "--settings="):
			args[i] = "--settings=" + settings
			return args
		case arg == "--settings" && i+1 < len(args):
			args[i+1] = settings
			return args
		}
	}
	return append([]string{"--settings", settings}, args...)
}
