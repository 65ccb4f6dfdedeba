package main

// What Claude Code's settings say, from whichever file: what overrides a provider, what keeps hooks from
// running.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A settingsSource is one of the places where Claude Code finds settings, with what ccc reads of it.
type settingsSource struct {
	name   string            // a path, or --settings
	prefix string            // of the keys there: in ccc.json "settings."
	values map[string]string // env.NAME, allowed.KEY's end, the keys above and, as they are written, the muting keys
	err    error             // why it can't be read, or is no JSON object

	isManaged bool // it is an administrator's
}

// argumentSource is the name of a source on claude's command line.
const argumentSource = "--settings"

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// The keys of settings that ccc reads, beside env and the muting keys.
const (
	helperKey     = "apiKeyHelper"   // a program whose output Claude Code sends as key and as token
	primaryKey    = "primaryApiKey"  // the key of a login to the Console
	pluginsKey    = "enabledPlugins" // plugins may bring MCP servers; here it stands for all that names some
	statusLineKey = "statusLine"
)

// readSources are those that count in the current directory for a claude with args, in Claude Code's order: of
// two that set a value the later counts. The first is its own record of the user. What ccc.json adds, or has
// added, to the user's own is a source behind that. A reviewer has no args of the session's.
func readSources(d dirs, c *configuration, args []string) []settingsSource {
	files := d.settingsFiles()
	user, added := readSource(files[0]), sourceOf(d.configFile(), "settings.", c.Settings, nil)
	maps.DeleteFunc(added.values, func(key, value string) bool { other, ok := user.values[key]; return ok && other != value })
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
		managed := readSource(path)
		managed.isManaged = true
		list = append(list, managed)
	}
	return list
}

func readSource(path string) settingsSource {
	text, err := readUserFile(path)
	return sourceOf(path, "", text, err)
}

// accountSource is what Claude Code keeps of the user, in a file that also has an older name, which comes
// first.
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

// allows reports whether the user lets interactive sessions use that key. With --print Claude Code does not
// ask.
func (s settingsSource) allows(key string) bool {
	return s.values["allowed."+key[max(0, len(key)-20):]] != ""
}

// fault is a refusal for what stands under key there, and what mends it.
func (s settingsSource) fault(key, fault, mend string) failure {
	err := fmt.Errorf("%s: %s%s %s", s.name, s.prefix, key, fault)
	if s.name == argumentSource {
		return failure{2, err, ""}
	}
	return failure{1, err, keyHint(s.name, s.prefix+key, mend)}
}

// sourceOf is the source that holds text, or can't be read because of err. What is neither blank nor a JSON
// object is an error.
func sourceOf(name, prefix string, text []byte, err error) settingsSource {
	s := settingsSource{name: name, prefix: prefix, err: err}
	if err != nil || isBlank(text) {
		return s
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(unmarked(text), &members) != nil || members == nil { // null is none
		root, err := parseJSON(text) // which tells the place
		s.err = cmp.Or(err, expectKind(text, root, '{', "the file"))
		return s
	}
	s.values = map[string]string{}
	for _, key := range []string{pluginsKey, "managedMcpServers", "mcpServers"} {
		var named map[string]json.RawMessage
		_ = json.Unmarshal(members[key], &named)
		for _, enabled := range named {
			if string(enabled) != "false" {
				s.values[pluginsKey] = "true"
			}
		}
	}
	for _, key := range mutingKeys {
		if raw := members[key]; raw != nil {
			s.values[key] = string(raw)
		}
	}
	for _, key := range []string{helperKey, primaryKey, statusLineKey} {
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

// valueIn returns what counts as the value of key for a session with these sources and environment: that of
// the last source which has one, else for env.NAME the environment's.
func valueIn(sources []settingsSource, env []string, key string) string {
	for _, s := range slices.Backward(sources) {
		if value, ok := s.values[key]; ok {
			return value
		}
	}
	return lookupEnv(env, strings.TrimPrefix(key, "env."))
}

// givenFlag returns the first of these flags that stands in args, with a value or without; "" for none.
func givenFlag(args []string, names ...string) string {
	for _, arg := range untilDashes(args) {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(names, flag) {
			return flag
		}
	}
	return ""
}

// isTrue reports whether Claude Code takes the value of a variable for true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// hooklessFlags are the flags with which Claude Code (seen on 2.1.329) runs no hook of settings.json;
// hooklessVariables mean the same.
var (
	hooklessFlags     = []string{"--bare", "--safe-mode", "--restricted", "--cloud", "--remote"}
	hooklessVariables = []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_RESTRICTED"}
)

// ownVariables are those of ccc's that say whether a session is supervised.
var ownVariables = []string{supervisorVariable, reviewerVariable, launchVariable}

// hookless returns what would keep a session with these sources, arguments and environment from running
// hooks, each with what mends it.
func hookless(d dirs, sources []settingsSource, args, env []string) (causes []failure) {
	cause := func(f failure) {
		f.err = fmt.Errorf("%w: claude would run no hooks, so nothing would be reviewed", f.err)
		causes = append(causes, f)
	}
	if flag := givenFlag(args, hooklessFlags...); flag != "" {
		cause(failure{2, fmt.Errorf("--supervisor with %s", flag), ""})
	}
	if of, ok := lastValue(args, "--setting-sources"); ok && !slices.Contains(strings.Split(strings.ReplaceAll(of, " ", ""), ","), "user") {
		cause(failure{2, fmt.Errorf("--supervisor with --setting-sources %s, without user", of), ""})
	}
	for _, name := range hooklessVariables {
		if isTrue(lookupEnv(env, name)) {
			cause(failure{1, fmt.Errorf("%s is set", name), "unset " + name})
		}
	}
	for _, f := range muting(d, sources) {
		cause(f)
	}
	for _, s := range sources {
		// Of ccc's own variables any value overrides what the launch gives to the hooks.
		for _, name := range slices.Concat(hooklessVariables, ownVariables) {
			if value, set := s.values["env."+name]; isTrue(value) || set && slices.Contains(ownVariables, name) {
				cause(s.fault("env."+name, "is set", "remove it"))
			}
		}
	}
	return causes
}

// muting returns the values of the muting keys that keep hooks from running (2.1.200, 2.1.331). Of
// disableAllHooks the source that has a boolean and counts most decides. allowManagedHooksOnly counts in
// managed settings alone. For a value that is no boolean Claude Code drops the user's own file, where the
// hooks are, as a whole; of another file that leaves the others.
func muting(d dirs, sources []settingsSource) (faults []failure) {
	decided := false
	for _, s := range slices.Backward(sources[1:]) { // the first is none of settings
		isUsers := s.name == d.settingsFile() || s.name == d.configFile()
		for _, key := range mutingKeys {
			value, isSet := s.values[key]
			isBoolean := value == "true" || value == "false"
			counts := key == disableKey && !decided || key == managedOnlyKey && s.isManaged
			switch {
			case isSet && !isBoolean && isUsers:
				faults = append(faults, s.fault(key, "is neither true nor false, and Claude Code drops the file", "false"))
			case value == "true" && counts:
				faults = append(faults, s.fault(key, "is true", "false"))
			}
			decided = decided || key == disableKey && isBoolean
		}
	}
	return faults
}
