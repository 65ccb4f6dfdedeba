package main

// What Claude Code's settings say, from all their sources: variables, keys, and what keeps hooks from
// running.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A settingsSource is a place where Claude Code finds settings, and what ccc reads there.
type settingsSource struct {
	name   string // a path, or --settings
	prefix string // what stands before its keys: in ccc.json "settings."
	// By key: env.NAME for a variable, allowed.END for the end of a key that may be used, helperKey and the
	// keys after it, and the muting keys, whose values are as they are written.
	values  map[string]string
	err     error // why it can't be read, or is no JSON object
	managed bool  // whether it is an administrator's
}

// argumentSource is the name of the source on claude's command line.
const argumentSource = "--settings"

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// The keys of settings that ccc reads, beside env and the muting keys.
const (
	helperKey  = "apiKeyHelper"  // a program whose output Claude Code sends as key and as token
	primaryKey = "primaryApiKey" // the key of a login to the Console
)

// readSources returns the sources that count in the current directory for a claude with args, in Claude
// Code's order: of two that set a value the later counts. The first is .claude.json, the second the user's
// settings.json, the third what ccc.json adds to that one.
func readSources(d dirs, c *configuration, args []string) []settingsSource {
	files := d.settingsFiles()
	user, added := readSource(files[0]), sourceOf(d.configFile(), "settings.", c.Settings, nil)
	maps.DeleteFunc(added.values, func(key, value string) bool { // what the user has set is not added
		other, ok := user.values[key]
		return ok && other != value
	})
	list := []settingsSource{accountSource(d), user, added}
	for _, path := range files[1:] {
		list = append(list, readSource(path))
	}
	if given, ok := lastValue(args, argumentSource); ok {
		text, err := []byte(given), error(nil)
		if !strings.HasPrefix(strings.TrimSpace(given), "{") {
			text, err = readUserFile(given) // a pipe is refused: it can be read only once
		}
		list = append(list, sourceOf(argumentSource, "", text, err))
	}
	more, _ := filepath.Glob(strings.TrimSuffix(managedSettings, ".json") + ".d/*.json")
	for _, path := range append([]string{managedSettings}, more...) {
		source := readSource(path)
		source.managed = true
		list = append(list, source)
	}
	return list
}

func readSource(path string) settingsSource {
	text, err := readUserFile(path)
	return sourceOf(path, "", text, err)
}

// accountSource is .claude.json, where Claude Code keeps what it knows of the user's account. A file with its
// older name comes first.
func accountSource(d dirs) settingsSource {
	dir := d.claude
	if s := readSource(filepath.Join(dir, ".config.json")); s.values != nil || s.err != nil {
		return s
	}
	if os.Getenv(claudeDirVariable) == "" {
		dir = filepath.Dir(dir)
	}
	return readSource(filepath.Join(dir, ".claude.json"))
}

// allows reports whether the user lets interactive sessions use that key of the API. With --print Claude Code
// does not ask.
func (s settingsSource) allows(key string) bool {
	return s.values["allowed."+key[max(0, len(key)-20):]] != ""
}

// fault is a failure because of what stands under key there. change is what to do, as for keyHint.
func (s settingsSource) fault(key, what, change string) failure {
	err := fmt.Errorf("%s: %s%s %s", s.name, s.prefix, key, what)
	if s.name == argumentSource {
		return failure{code: 2, err: err, hint: change}
	}
	return failure{code: 1, err: err, hint: keyHint(s.name, change)}
}

// sourceOf returns the source that holds text, or that could not be read because of err. A text that is
// neither blank nor a JSON object is an error of the source.
func sourceOf(name, prefix string, text []byte, err error) settingsSource {
	s := settingsSource{name: name, prefix: prefix, err: err}
	if err != nil || isBlank(text) {
		return s
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(unmarked(text), &members) != nil || members == nil { // nil for null
		var root *jsonValue
		if root, s.err = parseJSON(text); s.err == nil {
			s.err = expectKind(text, root, '{', "the file")
		}
		return s
	}
	s.values = map[string]string{}
	for _, key := range mutingKeys {
		if raw := members[key]; raw != nil {
			s.values[key] = string(raw)
		}
	}
	for _, key := range []string{helperKey, primaryKey} {
		if raw := members[key]; raw != nil && string(raw) != "null" {
			var value envText
			_ = value.UnmarshalJSON(raw)
			s.values[key] = string(value)
		}
	}
	var responses struct{ Approved []string }
	_ = json.Unmarshal(members["customApiKeyResponses"], &responses)
	for _, key := range responses.Approved {
		s.values["allowed."+key] = "true"
	}
	var env map[string]envText
	_ = json.Unmarshal(members["env"], &env)
	for name, value := range env {
		s.values["env."+name] = string(value)
	}
	return s
}

// valueIn returns the value of key that counts for a session with these sources and environment: the last
// source's that has one, else for env.NAME the environment's, else "".
func valueIn(sources []settingsSource, env []string, key string) string {
	for _, s := range slices.Backward(sources) {
		if value, ok := s.values[key]; ok {
			return value
		}
	}
	return lookupEnv(env, strings.TrimPrefix(key, "env."))
}

// isTrue reports whether Claude Code takes the value of a variable as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// With these flags, or variables that are true, Claude Code runs no hook of settings.json (2.1.329).
var (
	hooklessFlags     = []string{"--bare", "--safe-mode", "--restricted", "--cloud", "--remote"}
	hooklessVariables = []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_RESTRICTED"}
)

// hookless returns what would keep a session with these sources, arguments and environment from running
// hooks. Causes that are no arguments have a hint.
func hookless(d dirs, sources []settingsSource, args, env []string) (causes []failure) {
	cause := func(f failure) {
		f.err = fmt.Errorf("%w: claude would run no hooks, so nothing would be reviewed", f.err)
		causes = append(causes, f)
	}
	if flag := givenFlag(args, hooklessFlags...); flag != "" {
		cause(failure{code: 2, err: fmt.Errorf("--supervisor with %s", flag)})
	}
	if value, ok := lastValue(args, "--setting-sources"); ok {
		names := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
		if !slices.Contains(names, "user") {
			err := fmt.Errorf("--supervisor with --setting-sources %s, without user", value)
			cause(failure{code: 2, err: err})
		}
	}
	for _, name := range hooklessVariables {
		if isTrue(lookupEnv(env, name)) {
			cause(failure{code: 1, err: fmt.Errorf("%s is set", name), hint: "unset " + name})
		}
	}
	for _, f := range muting(d, sources) {
		cause(f)
	}
	for _, s := range sources {
		for _, name := range hooklessVariables {
			if isTrue(s.values["env."+name]) {
				cause(s.fault("env."+name, "is set", "remove it"))
			}
		}
	}
	return causes
}

// muting returns the values of the muting keys that keep hooks from running (2.1.200, 2.1.331). The value of
// disableAllHooks is that of the last source with a boolean. allowManagedHooksOnly counts only in managed
// settings. If a value is no boolean, Claude Code drops that file as a whole, which matters for the user's
// own: the hooks are there.
func muting(d dirs, sources []settingsSource) (faults []failure) {
	const setFalse = "set it to false"
	decided := false
	for _, s := range slices.Backward(sources[1:]) { // the first holds no settings
		hasHooks := s.name == d.settingsFile() || s.name == d.configFile()
		for _, key := range mutingKeys {
			value, isSet := s.values[key]
			isBoolean := value == "true" || value == "false"
			counts := key == disableKey && !decided || key == managedOnlyKey && s.managed
			switch {
			case isSet && !isBoolean && hasHooks:
				const what = "is neither true nor false, and Claude Code drops the file"
				faults = append(faults, s.fault(key, what, setFalse))
			case value == "true" && counts:
				faults = append(faults, s.fault(key, "is true", setFalse))
			}
			decided = decided || key == disableKey && isBoolean
		}
	}
	return faults
}
