package main

// Claude Code's settings come from several sources. One that can't be read is kept, with its error: it may
// override anything.

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A settingsSource is a place where Claude Code finds settings, and what ccc reads there.
type settingsSource struct {
	name string // a path, or --settings
	// By key: env.NAME for a variable, allowed.END for the end of a key that may be used, helperKey and the
	// keys after it, and the muting keys where they are true or false.
	values    map[string]string
	err       error // why it can't be read, or is no JSON object
	ofProject bool  // whether it is a file of the project's
}

// argumentSource is the name of the source on claude's command line.
const argumentSource = "--settings"

// isInline reports whether the value of --settings is the JSON itself, not a path.
func isInline(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }

// readArgument returns the settings that the value of --settings is or names. A pipe is refused: it can be
// read only once.
func readArgument(value string) ([]byte, error) {
	if isInline(value) {
		return []byte(value), nil
	}
	return readUserFile(value)
}

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

// managedFiles returns the administrator's files.
func managedFiles() []string {
	more, _ := filepath.Glob(strings.TrimSuffix(managedSettings, ".json") + ".d/*.json")
	return append([]string{managedSettings}, more...)
}

// settingsFiles returns Claude Code's settings files that count in the current directory, each once, the
// user's first and the one that overrides all others last. The local settings of a repository's main working
// tree count in all its directories and working trees (2.1.329).
func (d dirs) settingsFiles() []string {
	const local = ".claude/settings.local.json"
	files := []string{d.settingsFile(), filepath.Join(d.here, ".claude/settings.json")}
	main, isMain := strings.CutSuffix(treeOf(d.here).Repository, "/.git")
	if isMain && main != resolved(d.here) {
		files = append(files, filepath.Join(main, local))
	}
	return slices.Compact(append(files, filepath.Join(d.here, local)))
}

// readSources returns the sources that count in the current directory for a claude with args, in Claude
// Code's order: of two that set a value the later counts. The first is .claude.json, the second the user's
// settings.json.
func readSources(d dirs, args []string) []settingsSource {
	list := []settingsSource{accountSource(d)}
	for i, path := range d.settingsFiles() {
		source := readSource(path)
		source.ofProject = i > 0
		list = append(list, source)
	}
	if value, ok := lastValue(args, argumentSource); ok {
		text, err := readArgument(value)
		list = append(list, sourceOf(argumentSource, text, err))
	}
	for _, path := range managedFiles() {
		list = append(list, readSource(path))
	}
	return list
}

func readSource(path string) settingsSource {
	text, err := readUserFile(path)
	return sourceOf(path, text, err)
}

// accountSource is .claude.json, where Claude Code keeps the user's account. A file with its
// older name comes first.
func accountSource(d dirs) settingsSource {
	dir := d.claude
	if s := readSource(filepath.Join(dir, ".config.json")); s.values != nil || s.err != nil {
		return s
	}
	if d.env.get(claudeDirVariable) == "" {
		dir = filepath.Dir(dir)
	}
	return readSource(filepath.Join(dir, ".claude.json"))
}

// allows reports whether the user lets interactive sessions use that key of the API. With --print Claude Code
// does not ask.
func (s settingsSource) allows(key string) bool {
	return s.values["allowed."+key[max(0, len(key)-20):]] != ""
}

// fault is a failure because of what key has there. change is what to do, as for keyHint.
func (s settingsSource) fault(key, what, change string) failure {
	err := fmt.Errorf("%s: %s %s", s.name, key, what)
	if s.name == argumentSource {
		return failure{code: 2, err: err, hint: change}
	}
	return failure{code: 1, err: err, hint: keyHint(s.name, change)}
}

// sourceOf returns the source with that text, or that could not be read because of err. A text that is
// neither blank nor a JSON object is an error of the source.
func sourceOf(name string, text []byte, err error) settingsSource {
	s := settingsSource{name: name, err: err}
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
		if raw := string(members[key]); raw == "true" || raw == "false" {
			s.values[key] = raw
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

// sourceWith returns the last source that has key, or none.
func sourceWith(sources []settingsSource, key string) (found settingsSource) {
	for _, s := range sources {
		if _, ok := s.values[key]; ok {
			found = s
		}
	}
	return found
}

// valueIn returns the value of key that counts for a session with these sources and environment: the last
// source's that has one, else for env.NAME the environment's, else "".
func valueIn(sources []settingsSource, env []string, key string) string {
	name, isVariable := strings.CutPrefix(key, "env.")
	if s := sourceWith(sources, key); s.values != nil || !isVariable {
		return s.values[key]
	}
	return lookupEnv(env, name)
}

// isTrue reports whether Claude Code takes the value of a variable as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}
