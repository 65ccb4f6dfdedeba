package main

// This file alone knows the settings keys: those of Claude Code's settings.json,
// which ccc edits, and those of ccc.json, which ccc reads.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// places are the directories ccc works in, all absolute.
type places struct {
	claude string // Claude Code's own: settings.json
	ccc    string // ccc.json and the global SUPERVISOR.md
	state  string // see state.go
}

// findPlaces reads the environment. stateDir is the --state-dir flag, or "".
func findPlaces(stateDir string) (places, error) {
	var p places
	var err error
	if p.claude = os.Getenv(claudeDirVariable); p.claude == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return p, fmt.Errorf("finding ~/.claude: %w", err)
		}
		p.claude = filepath.Join(home, ".claude")
	}
	if p.ccc = os.Getenv(configDirVariable); p.ccc == "" {
		p.ccc = p.claude
	}
	switch work := os.Getenv(workDirVariable); {
	case stateDir != "":
		p.state = stateDir
	case work != "":
		p.state = filepath.Join(work, "ccc")
	default:
		p.state = filepath.Join(p.ccc, "ccc")
	}
	for _, dir := range []*string{&p.claude, &p.ccc, &p.state} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return p, err
		}
	}
	return p, nil
}

// lockName is the lock on the user's files in a directory.
const lockName = ".ccc.lock"

func (p places) settingsFile() string { return filepath.Join(p.claude, "settings.json") }

// settingsFiles are those that count in the project, the user's first. In the
// home directory the project's file may be the user's.
func (p places) settingsFiles(project string) []string {
	return slices.Compact([]string{p.settingsFile(),
		filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json")})
}

func (p places) lockFile() string    { return filepath.Join(p.claude, lockName) }
func (p places) configFile() string  { return filepath.Join(p.ccc, "ccc.json") }
func (p places) commandFile() string { return filepath.Join(p.claude, "commands", "supervisor.md") }

// mutingKeys keep every hook, or every hook of the user's, from running when one
// of them is true. Supervisor Mode keeps them false.
var mutingKeys = []string{"disableAllHooks", "allowManagedHooksOnly"}

// A wantedHook is one entry that Supervisor Mode keeps in settings.json.
type wantedHook struct {
	event   string
	matcher string // "" matches everything
	members []struct {
		key   string
		value any
	}
}

// wantedHooks returns the entries for the command line of ccc's hook. Claude
// Code ends a hook at its timeout (seconds), so a reviewing hook gets a minute
// more than the review, and never less than 600; recording a prompt takes
// milliseconds.
func wantedHooks(command string, reviewSeconds int) []wantedHook {
	type member = struct {
		key   string
		value any
	}
	entry := func(seconds int, more ...member) []member {
		return append([]member{{"type", "command"}, {"command", command}, {"timeout", seconds}}, more...)
	}
	review := entry(max(600, reviewSeconds+60), member{"statusMessage", reviewingText})
	return []wantedHook{
		{event: eventStop, members: review},
		{event: eventPreToolUse, matcher: askUserQuestion, members: review},
		{event: eventPrompt, members: entry(10)},
	}
}

func (w wantedHook) group() []byte {
	entry := []byte("{}")
	for _, m := range w.members {
		root, _ := parseJSON(entry)
		entry = setMember(entry, root, m.key, encodeJSON(m.value))
	}
	group := fmt.Sprintf(`{"hooks":[%s]}`, entry)
	if w.matcher != "" {
		group = fmt.Sprintf(`{"matcher":%s,"hooks":[%s]}`, encodeJSON(w.matcher), entry)
	}
	return []byte(group)
}

// installHooks makes settings.json hold ccc's hooks for the program self and
// nothing that mutes them.
func installHooks(p places, self string, reviewSeconds int) error {
	command := hookCommand(self)
	return editSettings(p, command, func(text []byte) ([]byte, error) {
		return withHooks(text, command, reviewSeconds)
	})
}

// fillSettings adds what settings.json lacks of the settings in ccc.json.
func fillSettings(p places, c *config) error {
	if c.settings == nil {
		return nil
	}
	return editSettings(p, "", func(text []byte) ([]byte, error) { return filled(text, c.settings, nil) })
}

// editSettings replaces settings.json by what edit makes of it, under the lock,
// and records how to undo that. A file that edit does not change is not written.
// command is the hook command that edit writes, if it does.
func editSettings(p places, command string, edit func(text []byte) ([]byte, error)) error {
	if err := os.MkdirAll(p.claude, 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(p.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	path := p.settingsFile()
	sweepTemporary(path, p.formerFile())
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	edited, err := edit(text)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; mend it and start again")
	}
	if bytes.Equal(edited, text) {
		return nil
	}
	// The record comes first: one of edits that were not made undoes nothing.
	f := readFormer(p)
	f.note(text, edited, command)
	if err := f.write(p); err != nil {
		return err
	}
	return replaceFile(path, edited, true)
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string {
	return shellQuote(self) + " " + hookSubcommand
}

// shellQuote writes word so that a POSIX shell reads it back as one word.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, letters+digits+"_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isOwnCommand tells whether command is a hook command of this or another
// installation of ccc: one word that names a ccc, then supervisor-hook.
func isOwnCommand(command, current string) bool {
	word, ok := strings.CutSuffix(command, " "+hookSubcommand)
	if !ok {
		return false
	}
	path := hookProgram(command)
	oneWord := word == shellQuote(path) || word == `"`+path+`"`
	return command == current || oneWord && strings.HasPrefix(filepath.Base(path), "ccc")
}

// hookProgram is the program that a hook command of ccc's calls.
func hookProgram(command string) string {
	word := strings.TrimSuffix(command, " "+hookSubcommand)
	return strings.ReplaceAll(strings.Trim(word, `'"`), `'\''`, "'")
}

// installedHooks returns the programs that ccc's entries in text call, and the
// events for which none of the wanted entries is there.
func installedHooks(text []byte, command string) (programs, missing []string, err error) {
	root, err := settingsRoot(text)
	if err != nil {
		return nil, nil, err
	}
	for _, wanted := range wantedHooks(command, 0) {
		found := false
		for _, own := range ownEntries(text, root.member("hooks").member(wanted.event), command) {
			found = found || wanted.matcher == "" || own.matcher == wanted.matcher
			programs = append(programs, hookProgram(stringAt(text, own.entry.member("command"))))
		}
		if !found {
			missing = append(missing, wanted.event)
		}
	}
	return programs, missing, nil
}

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// settingsAt reads the settings file at path; root is nil for one that is missing
// or that Claude Code can't read either.
func settingsAt(path string) (text []byte, root *jsonValue) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	root, err = parseJSON(text)
	if err != nil {
		return nil, nil
	}
	return text, root
}

// mutedBy returns the muting keys that are true in the settings file at path.
func mutedBy(path string) (keys []string) {
	_, root := settingsAt(path)
	for _, key := range mutingKeys {
		if v := root.member(key); v != nil && v.kind == 't' {
			keys = append(keys, key)
		}
	}
	return keys
}

// withHooks returns text, a settings.json (blank counts as {}), with the wanted
// hooks in it; bytes that are not ccc's stay as they are. It refuses a text
// that is not JSON or whose shape leaves no safe place for them.
func withHooks(text []byte, command string, reviewSeconds int) ([]byte, error) {
	text = orEmptyObject(text)
	for _, key := range mutingKeys {
		root, err := settingsRoot(text)
		if err != nil {
			return nil, err
		}
		if v := root.member(key); v == nil || v.kind != 'f' {
			text = setMember(text, root, key, []byte("false"))
		}
	}
	for _, wanted := range wantedHooks(command, reviewSeconds) {
		var err error
		if text, err = withHook(text, wanted, command); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// orEmptyObject gives a blank settings file, which Claude Code takes for {}, the
// form that can be edited.
func orEmptyObject(text []byte) []byte {
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}\n")
	}
	return text
}

// filled returns text, a settings.json, with the members of defaults, a JSON
// object, that the object at path of text lacks. Objects are merged; what text
// has stays as it is.
func filled(text, defaults []byte, path []string) ([]byte, error) {
	wanted, err := parseJSON(defaults)
	if err != nil {
		return nil, err
	}
	text = orEmptyObject(text)
	for _, m := range wanted.members {
		at, err := settingsRoot(text)
		if err != nil {
			return nil, err
		}
		for _, key := range path {
			at = at.member(key)
		}
		value := defaults[m.value.start:m.value.end]
		switch have := at.member(m.key); {
		case have == nil:
			text = setMember(text, at, m.key, value)
		case have.kind == '{' && m.value.kind == '{':
			if text, err = filled(text, value, append(slices.Clone(path), m.key)); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

// settingsEnv returns the env of the settings file at path.
func settingsEnv(path string) (values []envValue) {
	text, root := settingsAt(path)
	if env := root.member("env"); env != nil {
		for _, m := range env.members {
			value := string(text[m.value.start:m.value.end])
			if m.value.kind == '"' {
				value = stringAt(text, m.value)
			}
			values = append(values, envValue{m.key, value})
		}
	}
	return values
}

// settingsRoot parses text and checks as much of its shape as the edit needs.
func settingsRoot(text []byte) (*jsonValue, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	if err := expectKind(text, root, '{', "the file"); err != nil {
		return nil, err
	}
	if hooks := root.member("hooks"); hooks != nil {
		if err := expectKind(text, hooks, '{', "hooks"); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func expectKind(text []byte, v *jsonValue, kind byte, name string) error {
	if v.kind == kind {
		return nil
	}
	line, column := position(text, v.start)
	want := map[byte]string{'{': "an object", '[': "an array"}[kind]
	return fmt.Errorf("line %d, column %d: %s is not %s", line, column, name, want)
}

// withHook brings every entry of ours under the wanted event up to date, in
// place, and adds the wanted one where none is.
func withHook(text []byte, wanted wantedHook, command string) ([]byte, error) {
	for {
		root, err := settingsRoot(text)
		if err != nil {
			return nil, err
		}
		hooks := root.member("hooks")
		if hooks == nil {
			text = setMember(text, root, "hooks", []byte("{}"))
			continue
		}
		groups := hooks.member(wanted.event)
		if groups == nil {
			return setMember(text, hooks, wanted.event, slices.Concat([]byte("["), wanted.group(), []byte("]"))), nil
		}
		if err := expectKind(text, groups, '[', "hooks."+wanted.event); err != nil {
			return nil, err
		}
		found := false
		var edited []byte
		for _, own := range ownEntries(text, groups, command) {
			found = found || wanted.matcher == "" || own.matcher == wanted.matcher
			for _, m := range wanted.members {
				value := encodeJSON(m.value)
				if old := own.entry.member(m.key); edited == nil && (old == nil || !sameJSON(text[old.start:old.end], value)) {
					edited = setMember(text, own.entry, m.key, value)
				}
			}
		}
		switch {
		case edited != nil:
			text = edited // the offsets of the other entries have moved: look again
		case !found:
			return appendItem(text, groups, wanted.group()), nil
		default:
			return text, nil
		}
	}
}

// ownEntry is an entry of ccc's: the item at index of hooks, the array of the
// matcher group at groupIndex of an event's array.
type ownEntry struct {
	matcher           string
	groupIndex, index int
	hooks, entry      *jsonValue
}

// ownEntries finds ccc's hook entries among the matcher groups of one event.
func ownEntries(text []byte, groups *jsonValue, command string) (own []ownEntry) {
	if groups == nil {
		return nil
	}
	for g, group := range groups.items {
		hooks := group.member("hooks")
		if hooks == nil {
			continue
		}
		for i, entry := range hooks.items {
			if isOwnCommand(stringAt(text, entry.member("command")), command) {
				own = append(own, ownEntry{stringAt(text, group.member("matcher")), g, i, hooks, entry})
			}
		}
	}
	return own
}

// hooksIn is the value of hooks in text, nil for none.
func hooksIn(text []byte) *jsonValue {
	root, err := parseJSON(text)
	if err != nil {
		return nil
	}
	return root.member("hooks")
}

// hasOwnHooks tells whether an entry of ccc's is in text.
func hasOwnHooks(text []byte, command string) bool {
	hooks := hooksIn(text)
	return slices.ContainsFunc(wantedHooks(command, 0), func(w wantedHook) bool {
		return len(ownEntries(text, hooks.member(w.event), command)) > 0
	})
}

// stringAt decodes the string value v of text; anything else gives "".
func stringAt(text []byte, v *jsonValue) (s string) {
	if v != nil && v.kind == '"' {
		_ = json.Unmarshal(text[v.start:v.end], &s)
	}
	return s
}

// sameJSON compares by value, so that an escaped letter is no change.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// reviewerSettings go to the reviewer's claude alone: no hook runs in it, ours
// included, and no tool of its own edits a file (Edit, Write and NotebookEdit
// all heed Edit rules), whatever its permission mode and the user's own rules.
// Two slashes begin an absolute path; with one the rule does nothing. 2.1.120
// does not heed //** but does //**/*; the others heed both. Denying keeps the
// list of tools, and so the prompt cache, as it was.
const reviewerSettings = `{"disableAllHooks":true,"permissions":{"deny":["Edit(//**)","Edit(//**/*)"]}}`

// config is ccc.json.
type config struct {
	supervisor      supervisorConfig
	settings        []byte // a JSON object, or nil
	claudeArgs      []string
	currentProvider string
	providers       []provider // in the order of the file
}

type supervisorConfig struct {
	maxIterations  int // reviews for one request of the user
	timeoutSeconds int // for one review
	model          string
	provider       string
	permissionMode string
	allowedTools   []string
	keepCache      bool
	maxBudgetUSD   float64 // 0 means no limit
}

// provider is an API that claude can be started against.
type provider struct {
	name       string
	env        []envValue
	claudeArgs []string
}

// envValue is one environment variable as a provider gives it. An empty value
// unsets it; `${NAME}` stands for NAME's value in ccc's own environment.
type envValue struct{ name, value string }

func (c *config) findProvider(name string) *provider {
	for i := range c.providers {
		if c.providers[i].name == name {
			return &c.providers[i]
		}
	}
	return nil
}

// loadConfig reads ccc.json; a missing file gives the defaults. The error names
// file, key or position, and what is expected there, never a value.
func loadConfig(p places) (*config, error) {
	c := &config{supervisor: supervisorConfig{maxIterations: 10, timeoutSeconds: 540, permissionMode: "dontAsk"}}
	text, err := os.ReadFile(p.configFile())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, withHint(fmt.Errorf("%s is empty: expected a JSON object", p.configFile()), "remove it, or put {} in it")
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.configFile(), err)
	}
	r := &configReader{path: p.configFile(), text: text}
	r.config(root, c)
	if name := c.supervisor.provider; r.err == nil && name != "" && c.findProvider(name) == nil {
		r.fail(root.member("supervisor").member("provider"), "supervisor.provider", "one of the providers ("+c.providerNames()+")")
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// recordProvider makes name the current_provider of ccc.json and changes nothing
// else there.
func recordProvider(p places, name string) error {
	unlock, err := lockFile(filepath.Join(p.ccc, lockName))
	if err != nil {
		return err
	}
	defer unlock()
	sweepTemporary(p.configFile())
	text, err := os.ReadFile(p.configFile())
	if err != nil {
		return err
	}
	root, err := parseJSON(text)
	if err != nil {
		return err
	}
	if stringAt(text, root.member("current_provider")) == name {
		return nil
	}
	return replaceFile(p.configFile(), setMember(text, root, "current_provider", encodeJSON(name)), true)
}

// configReader turns the values of ccc.json into config and keeps the first
// error. Keys are passed as the user would write the path to them.
type configReader struct {
	path string
	text []byte
	err  error
}

func (r *configReader) config(root *jsonValue, c *config) {
	for _, m := range r.object(root, "the file") {
		switch v := m.value; m.key {
		case "supervisor":
			r.supervisor(v, &c.supervisor)
		case "settings":
			r.object(v, "settings")
			c.settings = r.text[v.start:v.end]
		case "claude_args":
			c.claudeArgs = r.strings(v, "claude_args")
		case "current_provider":
			c.currentProvider = r.string(v, "current_provider")
		case "providers":
			for _, m := range r.object(v, "providers") {
				c.providers = append(c.providers, r.provider(m))
			}
		}
	}
}

func (r *configReader) supervisor(v *jsonValue, s *supervisorConfig) {
	for _, m := range r.object(v, "supervisor") {
		key, v := "supervisor."+m.key, m.value
		switch m.key {
		case "max_iterations":
			s.maxIterations = int(r.number(v, key, 1, 100, true))
		case "timeout_seconds":
			s.timeoutSeconds = int(r.number(v, key, 10, 3600, true))
		case "model":
			s.model = r.string(v, key)
		case "provider":
			s.provider = r.string(v, key)
		case "permission_mode":
			s.permissionMode = r.string(v, key)
		case "allowed_tools":
			s.allowedTools = r.strings(v, key)
		case "keep_cache":
			r.decode(v, key, &s.keepCache, "true or false")
		case "max_budget_usd":
			s.maxBudgetUSD = r.number(v, key, 0, math.MaxFloat64, false)
		default:
			r.fail(v, key, "one of max_iterations, timeout_seconds, model, provider, permission_mode, "+
				"allowed_tools, keep_cache, max_budget_usd")
		}
	}
}

func (r *configReader) provider(m jsonMember) provider {
	p := provider{name: m.key}
	key := "providers." + m.key
	if subcommand(p.name) != nil {
		r.fail(m.value, key, "a name that is not a subcommand of ccc")
	}
	for _, m := range r.object(m.value, key) {
		key := key + "." + m.key
		switch m.key {
		case "env":
			for _, m := range r.object(m.value, key) {
				if !isVariable(m.key) {
					r.fail(m.value, key+"."+m.key, "the name of an environment variable")
				}
				p.env = append(p.env, envValue{m.key, r.envText(m.value, key+"."+m.key)})
			}
		case "claude_args":
			p.claudeArgs = r.strings(m.value, key)
		default:
			r.fail(m.value, key, "env or claude_args")
		}
	}
	return p
}

// envText gives a string as it is, a number or boolean as it is written.
func (r *configReader) envText(v *jsonValue, key string) string {
	if v.kind == '0' || v.kind == 't' || v.kind == 'f' {
		return string(r.text[v.start:v.end])
	}
	var s string
	r.decode(v, key, &s, "a string, a number or a boolean")
	return s
}

func (r *configReader) object(v *jsonValue, key string) []jsonMember {
	if v.kind != '{' {
		r.fail(v, key, "an object")
	}
	return v.members
}

func (r *configReader) string(v *jsonValue, key string) (s string) {
	r.decode(v, key, &s, "a string")
	return s
}

func (r *configReader) strings(v *jsonValue, key string) (list []string) {
	if v.kind != '[' {
		r.fail(v, key, "an array of strings")
	}
	for _, item := range v.items {
		list = append(list, r.string(item, key))
	}
	return list
}

func (r *configReader) number(v *jsonValue, key string, least, most float64, whole bool) (n float64) {
	want := fmt.Sprintf("a number from %g up", least)
	if whole {
		want = fmt.Sprintf("a whole number from %g to %g", least, most)
	}
	r.decode(v, key, &n, want)
	if n < least || n > most || whole && n != math.Trunc(n) {
		r.fail(v, key, want)
	}
	return n
}

func (r *configReader) decode(v *jsonValue, key string, into any, want string) {
	if v.kind == 'n' || json.Unmarshal(r.text[v.start:v.end], into) != nil {
		r.fail(v, key, want)
	}
}

func (r *configReader) fail(v *jsonValue, key, want string) {
	if r.err == nil {
		line, _ := position(r.text, v.start)
		r.err = fmt.Errorf("%s: line %d: %s: expected %s", r.path, line, key, want)
	}
}
