package main

// The environment of claude: ccc's own, with a provider's values laid over it. And what Claude Code's
// settings say beside it, read into sources: what would keep those values from counting, what pays for a
// session, what keeps hooks from running.

import (
	"cmp"
	"encoding/json"
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

// lookupEnv returns the value of name in env, "" when it has none.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setEnv returns env with each name of pairs set to the value behind it, once; an empty value unsets it.
func setEnv(env []string, pairs ...string) []string {
	env = slices.Clone(env)
	for pair := range slices.Chunk(pairs, 2) {
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, pair[0]+"=") })
		if pair[1] != "" {
			env = append(env, pair[0]+"="+pair[1])
		}
	}
	return env
}

// providerConflicts returns what keeps a claude with these sources, environment and arguments from being run
// against p: what is missing, what overrides p, and what would go to it without being p's. No value is shown.
// p may be nil.
func providerConflicts(d dirs, sources []source, env, args []string, p *provider) (conflicts []failure) {
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
		ours := source{name: d.configFile()}
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

// givenFlag returns the first of these flags that stands in args, with a value or without; "" for none.
func givenFlag(args []string, names ...string) string {
	for _, arg := range untilDashes(args) {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(names, flag) {
			return flag
		}
	}
	return ""
}

// hasLogin reports whether Claude Code has left the login of a subscription here. macOS keeps it elsewhere.
func hasLogin(d dirs) bool {
	_, err := os.Stat(filepath.Join(d.claude, ".credentials.json"))
	return err == nil || runtime.GOOS == "darwin"
}

// checkProvider is the error of all conflicts with p, which may be nil.
func checkProvider(d dirs, sources []source, env, args []string, p *provider) error {
	var errs []error
	for _, conflict := range providerConflicts(d, sources, env, args, p) {
		errs = append(errs, conflict.err)
	}
	return errors.Join(errs...)
}

// valueIn returns what counts as the value of key for a session with these sources and environment: that of
// the last source which has one, else for env.NAME the environment's.
func valueIn(sources []source, env []string, key string) string {
	for _, s := range slices.Backward(sources) {
		if value, ok := s.values[key]; ok {
			return value
		}
	}
	return lookupEnv(env, strings.TrimPrefix(key, "env."))
}

// paysByKey reports whether such a session carries a key or a token to the API, or goes to a cloud that knows
// no login.
func paysByKey(sources []source, env, args []string) bool {
	value := func(key string) string { return valueIn(sources, env, key) }
	isSet := func(name string) bool { return isTrue(value("env." + name)) }
	key := value("env." + keyVariable)
	return value("env."+tokenVariable) != "" || value(helperKey) != "" || slices.ContainsFunc(cloudVariables, isSet) ||
		key != "" && (isPrinted(args) || sources[0].allows(key))
}

var cloudVariables = []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// isTrue reports whether Claude Code takes the value of a variable for true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

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

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// The keys of settings that ccc reads, beside env and the muting keys.
const (
	helperKey     = "apiKeyHelper"   // a program whose output Claude Code sends as key and as token
	primaryKey    = "primaryApiKey"  // the key of a login to the Console
	pluginsKey    = "enabledPlugins" // which may bring MCP servers; an administrator may name servers, too
	statusLineKey = "statusLine"
)

// A source is one of the places where Claude Code finds settings, with what ccc reads of it.
type source struct {
	name   string            // a path, or --settings
	prefix string            // of the keys there: in ccc.json "settings."
	values map[string]string // env.NAME, allowed.KEY's end, the keys above and, as they are written, the muting keys
	err    error             // why it can't be read, or is no JSON object

	isManaged bool // it is an administrator's
}

// argumentSource is the name of a source on claude's command line.
const argumentSource = "--settings"

// sources are those that count in the current directory for a claude with args, in Claude Code's order: of
// two that set a value the later counts. The first is its own record of the user. What ccc.json adds, or has
// added, to the user's own is a source behind that. A reviewer has no args of the session's.
func sources(d dirs, c *config, args []string) []source {
	files := d.settingsFiles()
	user, added := readSource(files[0]), sourceOf(d.configFile(), "settings.", c.Settings, nil)
	maps.DeleteFunc(added.values, func(key, value string) bool { other, ok := user.values[key]; return ok && other != value })
	list := []source{accountSource(d), user, added}
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

func readSource(path string) source {
	text, err := readUserFile(path)
	return sourceOf(path, "", text, err)
}

// accountSource is what Claude Code keeps of the user, in a file that also has an older name, which comes
// first.
func accountSource(d dirs) source {
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
func (s source) allows(key string) bool { return s.values["allowed."+key[max(0, len(key)-20):]] != "" }

// fault is a refusal for what stands under key there, and what mends it.
func (s source) fault(key, fault, mend string) failure {
	err := fmt.Errorf("%s: %s%s %s", s.name, s.prefix, key, fault)
	if s.name == argumentSource {
		return failure{2, err, ""}
	}
	return failure{1, err, keyHint(s.name, s.prefix+key, mend)}
}

// sourceOf is the source that holds text, or can't be read because of err. What is neither blank nor a JSON
// object is an error.
func sourceOf(name, prefix string, text []byte, err error) source {
	s := source{name: name, prefix: prefix, err: err}
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
	for _, key := range []string{pluginsKey, "managedMcpServers"} {
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
func hookless(d dirs, sources []source, args, env []string) (causes []failure) {
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
func muting(d dirs, sources []source) (faults []failure) {
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
