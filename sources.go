package main

// What Claude Code's settings have, from all their sources. Settings that would override the variables of a
// provider, or send the provider what is the user's, are an error.

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A source is a place of settings. One that can't be read is kept, with its error: it may override anything.
type source struct {
	name     string    // a path, or argumentSource
	settings jsonValue // an object, or empty
	err      error     // why it can't be read, or is no JSON object
}

// sources are those that count in the current directory for a claude with certain arguments.
type sources struct {
	account  source // .claude.json, where Claude Code keeps the user's account
	user     source // settings.json
	project  []source
	argument source // of the command line
	managed  []source
}

// argumentSource is the flag, and the name, of the source on claude's command line.
const argumentSource = "--settings"

// Keys of settings that ccc reads.
const (
	helperKey  = "apiKeyHelper"  // a program whose output Claude Code sends as key and as token
	primaryKey = "primaryApiKey" // the key of a login to the Console
)

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// readSources reads the sources that count in d.here for a claude with these arguments. What can't be read is
// a source with an error.
func readSources(d dirs, args []string) (s sources) {
	s.account = readAccount(d)
	s.user = readSource(d.settingsFile())
	for _, path := range d.projectSettings() {
		s.project = append(s.project, readSource(path))
	}
	if value, ok := lastValue(args, argumentSource); ok {
		if s.argument = readSource(value); isInline(value) {
			s.argument = sourceOf("", []byte(value), nil)
		}
		s.argument.name = argumentSource
	}
	more, _ := filepath.Glob(strings.TrimSuffix(managedSettings, ".json") + ".d/*.json")
	served := filepath.Join(d.claude, "remote-settings.json") // by the organization's server (2.1.332)
	for _, path := range append([]string{managedSettings, served}, more...) {
		s.managed = append(s.managed, readSource(path))
	}
	return s
}

// projectSettings returns the files of the current directory's project, each once. The local settings of a
// repository's main working tree count in all its directories and working trees (2.1.329).
func (d dirs) projectSettings() []string {
	const local = ".claude/settings.local.json"
	files := []string{filepath.Join(d.here, ".claude/settings.json")}
	main, isMain := strings.CutSuffix(worktreeOf(d.here).Repository, "/.git")
	if isMain && main != resolved(d.here) {
		files = append(files, filepath.Join(main, local))
	}
	files = append(files, filepath.Join(d.here, local))
	return slices.DeleteFunc(files, func(path string) bool { return path == d.settingsFile() }) // in HOME
}

// isInline reports whether the value of --settings is the JSON itself, not a path.
func isInline(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }

func readSource(path string) source {
	text, err := readUserFile(path)
	return sourceOf(path, text, err)
}

// readAccount reads .claude.json. A file with its older name comes first.
func readAccount(d dirs) source {
	dir := d.claude
	if s := readSource(filepath.Join(dir, ".config.json")); s.settings.raw != "" || s.err != nil {
		return s
	}
	if d.env.get(claudeDirVariable) == "" {
		dir = filepath.Dir(dir)
	}
	return readSource(filepath.Join(dir, ".claude.json"))
}

// sourceOf returns the source with that text, or that could not be read because of err. A text that is
// neither blank nor a JSON object is an error of the source.
func sourceOf(name string, text []byte, err error) source {
	s := source{name: name, err: err}
	if err == nil && !isBlank(text) {
		root, err := parseJSON(text)
		if s.err = cmp.Or(err, expectKind(text, root, '{', "the file")); s.err == nil {
			s.settings = *root
		}
	}
	return s
}

// at returns the value of a key, env.NAME for a variable, an empty one if s has none.
func (s source) at(key string) *jsonValue {
	if v := s.settings.at(strings.SplitN(key, ".", 2)...); v.raw != "null" {
		return v
	}
	return new(jsonValue)
}

// setting names what s sets by key, and tells how to remove it; of an empty s, what the environment sets.
func (s source) setting(key string) (what, removal string) {
	switch s.name {
	case "":
		return strings.TrimPrefix(key, "env."), "unset it, or take it out of the provider's env"
	case argumentSource:
		return s.name + ": " + key, "remove it"
	}
	return s.name + ": " + key, "remove it:\n" + editHint(s.name)
}

// allows reports whether the user's account, s, approves this API key for interactive sessions.
func (s source) allows(key string) bool {
	isEnd := func(end jsonMember) bool { return end.value.text == key[max(0, len(key)-20):] }
	return slices.ContainsFunc(s.settings.at("customApiKeyResponses", "approved").items(), isEnd)
}

// inOrder returns the sources in Claude Code's order: of two that set a value the later counts.
func (s sources) inOrder() []source {
	return slices.Concat([]source{s.account, s.user}, s.project, []source{s.argument}, s.managed)
}

// with returns the source whose value of key counts, an empty one if none has the key.
func (s sources) with(key string) (found source) {
	for _, one := range s.inOrder() {
		if one.at(key).raw != "" {
			found = one
		}
	}
	return found
}

// value returns the value of key that counts, "" for none. If no source sets env.NAME, env does.
func (s sources) value(env []string, key string) string {
	name, isVariable := strings.CutPrefix(key, "env.")
	if found := s.with(key).at(key); found.raw != "" || !isVariable {
		return found.variable()
	}
	return lookupEnv(env, name)
}

// isTrue reports whether Claude Code takes the value of a variable as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

// How to do without the provider of a launch, and without the reviewer's own.
const (
	hintNoProvider  = "leave the provider's name out"
	hintNoReviewers = "leave out supervisor.provider of ccc.json, or --provider"
)

// conflict returns why no claude with these settings and environment may run against p, nil if there is no p:
// a variable is missing; p has a URL and no token, so that the user's login would be sent; settings override
// p's variables, or send p what is the user's. wayOut says how to do without p. No value is shown.
func (s sources) conflict(d dirs, env []string, p *provider, wayOut string) error {
	if p == nil {
		return nil
	}
	values, err := p.values(env)
	if err != nil {
		return err
	}
	hasURL := values[urlVariable] != ""
	if hasURL && !namesToken(values) {
		const format = "provider %s has no %s, so Claude Code could send it your own login"
		err := fmt.Errorf(format, p.name, tokenVariable)
		return withHint(err, wayOut+", or add it to providers."+p.name+".env:\n"+editHint(d.configFile()))
	}
	faults, edit := s.listed(func(in source) (keys []string) {
		if in.err != nil {
			keys = append(keys, in.err.Error())
		}
		for _, m := range in.settings.at("env").members {
			value, isSet := values[m.key]
			if isSet && value != m.value.variable() || !isSet && ofAPI().MatchString(m.key) {
				keys = append(keys, "env."+m.key)
			}
		}
		// Claude Code sends the helper's output to whatever URL is set, beside the provider's own token.
		if in.at(helperKey).variable() != "" {
			keys = append(keys, helperKey)
		}
		if hasURL && in.name == s.account.name && in.at(primaryKey).variable() != "" {
			keys = append(keys, primaryKey)
		}
		return keys
	})
	if faults == "" {
		return nil
	}
	err = fmt.Errorf("settings override the provider %s, or send it what is yours:%s", p.name, faults)
	return withHint(err, wayOut+", or change that there"+edit)
}

// listed returns what faults finds in each source, with its name on a line of its own, and as the end of a
// hint the command that opens the files, "" for none.
func (s sources) listed(faults func(in source) []string) (lines, edit string) {
	for _, in := range s.inOrder() {
		found := faults(in)
		if found == nil {
			continue
		}
		lines += "\n     " + in.name + ": " + strings.Join(found, ", ")
		if in.name != argumentSource {
			edit += " " + shellQuote(in.name)
		}
	}
	if edit != "" {
		edit = ":\n${EDITOR:-vi}" + edit
	}
	return lines, edit
}

// bashRule returns the rule that refuses each command to the reviewer, and the file that has it, "" for none.
// A rule to ask refuses them, too, since nobody answers in a review (2.1.280, 2.1.332).
func (s sources) bashRule() (rule, file string) {
	for _, in := range s.inOrder() {
		for _, kind := range []string{"ask", "deny"} {
			for _, item := range in.settings.at("permissions", kind).items() {
				if text := item.value.text; slices.Contains([]string{"Bash", "Bash(*)", "*"}, text) {
					return kind + ": " + text, in.name
				}
			}
		}
	}
	return "", ""
}

// namesToken reports whether a provider with these values gets a token, in the variable or in a header. Only
// a token always takes the place of the user's login. Beside any other header Claude Code sends the login,
// too; in an interactive session also in the place of a key that is not approved (2.1.280 to 2.1.332).
func namesToken(values map[string]string) bool {
	headers := "\n" + strings.ToLower(values[headersVariable])
	return strings.TrimSpace(values[tokenVariable]) != "" || strings.Contains(headers, "\nauthorization:")
}

// values returns p's variables. A value that is wholly ${NAME} is taken from env. It is an error if NAME is
// not set, or if env is that of a session with another provider, and NAME is a variable of the API.
func (p *provider) values(env []string) (map[string]string, error) {
	values := maps.Clone(p.Env)
	session := lookupEnv(env, providerVariable)
	for _, variable := range slices.Sorted(maps.Keys(p.Env)) {
		name, ok := variableIn(p.Env[variable])
		if !ok {
			continue
		}
		values[variable] = lookupEnv(env, name)
		why := "which is not set"
		hint := "read -rs " + name + "; export " + name
		isTheirs := session != "" && session != p.name && ofAPI().MatchString(name)
		if isTheirs {
			why = "which a session of provider " + session + " does not have"
			hint = "write ${REVIEWERS_TOKEN} there, and:\nexport REVIEWERS_TOKEN=\"$" + name + `"`
		}
		if isTheirs || values[variable] == "" {
			err := fmt.Errorf("providers.%s.env.%s of ccc.json is ${%s}, %s", p.name, variable, name, why)
			return nil, withHint(err, hint)
		}
	}
	return values, nil
}
