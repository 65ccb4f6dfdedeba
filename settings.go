package main

// Claude Code's settings.json: what a launch puts in and uninstall takes out. Bytes that are not ccc's stay
// as they are.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutingKeys may keep hooks from running. Supervisor Mode adds them as false where they are missing.
var mutingKeys = []string{disableKey, managedOnlyKey}

const disableKey, managedOnlyKey = "disableAllHooks", "allowManagedHooksOnly"

// A wantedHook is a matcher group that Supervisor Mode keeps under an event of settings.json, with one entry.
type wantedHook struct {
	event   string
	Matcher string      `json:"matcher,omitempty"` // none matches everything
	Hooks   []hookEntry `json:"hooks"`
}

type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`                 // in seconds: Claude Code ends the hook then
	Message string `json:"statusMessage,omitempty"` // what the spinner says
}

// wantedHooks returns the groups whose entries have that command, for reviews of that many seconds. A
// reviewing hook gets a minute more, and never less than 600 seconds; recording a prompt takes milliseconds.
func wantedHooks(command string, reviewSeconds int) []wantedHook {
	review := []hookEntry{{"command", command, max(600, reviewSeconds+60), say(reviewing)}}
	return []wantedHook{{eventStop, "", review}, {eventPreToolUse, askUserQuestion, review},
		{eventPrompt, "", []hookEntry{{"command", command, 10, ""}}}}
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string { return shellQuote(self) + " " + hookSubcommand }

// hookCall finds the word before supervisor-hook, in its quotes: the program.
var hookCall = lazyRegexp(`("[^"]*"|'[^']*'|\S+)\s+["']?` + hookSubcommand + `(?:["'\s;&|)]|$)`)

// cccName are the names that ccc goes by, those of a release's files among them.
var cccName = lazyRegexp(`^ccc([-._0-9].*)?$`)

// ownProgram returns the program of a hook command of ccc's, one with self's name or one of ccc's, and "" for
// any other command.
func ownProgram(command, self string) string {
	call := hookCall().FindStringSubmatch(command)
	switch {
	case command == hookCommand(self):
		return self
	case call == nil:
		return ""
	}
	program := strings.Trim(call[1], `"'`)
	if name := filepath.Base(program); name != filepath.Base(self) && !cccName().MatchString(name) {
		return ""
	}
	return program
}

// A settingsEditor edits the text of a settings.json.
type settingsEditor struct {
	before, text []byte
	root         *jsonValue // of text
}

// emptySettings is what ccc begins a missing or blank file with. Uninstall removes the file where that is
// left.
const emptySettings = "{}\n"

func readSettings(d dirs) (*settingsEditor, error) {
	path := d.settingsFile()
	text, err := readUserFile(path)
	if err != nil {
		return nil, err
	}
	e, err := editSettings(text)
	if err != nil {
		return nil, withHint(fmt.Errorf("%s: %w", path, err), editHint(path))
	}
	return e, nil
}

// editSettings takes the text of a settings.json, nil for a missing one. A blank one counts as {}, as it does
// for Claude Code. What is not JSON, or of a shape that leaves no safe place for hooks, is refused.
func editSettings(text []byte) (*settingsEditor, error) {
	if isBlank(text) {
		text = slices.Concat(text, []byte(emptySettings))
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	e := &settingsEditor{before: text, text: text, root: root}
	return e, e.checkShape()
}

func (e *settingsEditor) checkShape() error {
	errs := []error{expectKind(e.text, e.root, '{', "the file"), expectKind(e.text, e.root.at("hooks"), '{', "hooks")}
	for _, wanted := range wantedHooks("", 0) {
		errs = append(errs, expectKind(e.text, e.root.at("hooks", wanted.event), '[', "hooks."+wanted.event))
	}
	return cmp.Or(errs...)
}

func (e *settingsEditor) isChanged() bool { return !bytes.Equal(e.text, e.before) }

func (e *settingsEditor) set(value string, path ...string) {
	e.replace(setJSON(e.text, value, path...))
}

func (e *settingsEditor) replace(text []byte) {
	e.text = text
	e.root, _ = parseJSON(text)
}

// install adds what e lacks of the settings of ccc.json and, if self is given, the hooks that call it and the
// muting keys. It returns the keys that it added. No value that is there changes, but for ccc's own entries.
func (e *settingsEditor) install(c *configuration, self string) (added []string, err error) {
	if self != "" {
		for _, key := range mutingKeys {
			if e.root.at(key) == nil {
				e.set("false", key)
				added = append(added, key)
			}
		}
	}
	if wanted, _ := parseJSON(c.Settings); wanted != nil {
		e.fill(wanted)
	}
	if self == "" {
		return nil, nil
	}
	if err := e.checkShape(); err != nil {
		return nil, fmt.Errorf("with the settings of ccc.json: %w", err)
	}
	for _, wanted := range wantedHooks(hookCommand(self), c.Supervisor.TimeoutSeconds) {
		e.addHook(wanted, self)
	}
	return added, nil
}

// fill adds the members of wanted that the object under path lacks. Objects are merged; what is there stays
// as it is.
func (e *settingsEditor) fill(wanted *jsonValue, path ...string) {
	for _, m := range wanted.members {
		at := append(slices.Clone(path), m.key)
		there := e.root.at(at...)
		switch {
		case m.value.is('{') && len(m.value.members) > 0 && (there == nil || there.is('{')):
			e.fill(m.value, at...)
		case there == nil:
			e.set(m.value.raw, at...)
		}
	}
}

// addHook puts the wanted entry in the place of ccc's own under its event, and adds it where there is none
// with that matcher.
func (e *settingsEditor) addHook(wanted wantedHook, self string) {
	found := false
	for _, own := range slices.Backward(e.ownEntries(wanted.event, self)) { // what is taken moves only what stands behind it
		if found || own.matcher != wanted.Matcher {
			e.take(own)
			continue
		}
		found = true
		if entry := string(encodeJSON(wanted.Hooks[0])); !sameJSON(entry, own.value.raw) { // a member more, such as async, may change all
			e.set(entry, own.path...)
		}
	}
	group, path := string(encodeJSON(wanted)), []string{"hooks", wanted.event}
	switch groups := e.root.at(path...); {
	case found:
	case groups == nil:
		e.set("["+group+"]", path...)
	default:
		e.set(group, append(path, strconv.Itoa(len(groups.members)))...)
	}
}

type ownEntry struct {
	path    []string // hooks, event, index of the group, hooks, index
	value   *jsonValue
	matcher string // of its group
	program string
}

// ownEntries finds ccc's hook entries among the matcher groups of event.
func (e *settingsEditor) ownEntries(event, self string) (entries []ownEntry) {
	for _, group := range e.root.at("hooks", event).items() {
		for _, item := range group.value.at("hooks").items() {
			if program := ownProgram(item.value.at("command").str(), self); program != "" {
				path := []string{"hooks", event, group.key, "hooks", item.key}
				entries = append(entries, ownEntry{path: path, value: item.value, matcher: group.value.at("matcher").str(), program: program})
			}
		}
	}
	return entries
}

// take removes an entry of ccc's, and what is empty then: its group, its event, hooks.
func (e *settingsEditor) take(own ownEntry) {
	path := own.path
	if len(e.root.at(path[:4]...).members) == 1 {
		path = path[:3] // the group was there for this entry
	}
	for isEmpty := true; isEmpty; isEmpty = len(path) > 0 && len(e.root.at(path...).members) == 0 {
		e.replace(dropJSON(e.text, path...))
		path = path[:len(path)-1]
	}
}

// uninstall takes out ccc's entries, and those of the muting keys that ccc has added and nobody has changed.
func (e *settingsEditor) uninstall(self string, added []string) {
	for _, wanted := range wantedHooks("", 0) {
		for _, own := range slices.Backward(e.ownEntries(wanted.event, self)) {
			e.take(own)
		}
	}
	for _, key := range added {
		if v := e.root.at(key); v != nil && v.raw == "false" && slices.Contains(mutingKeys, key) {
			e.replace(dropJSON(e.text, key))
		}
	}
}

// installSettings makes settings.json hold what install adds, and notes the keys. A file that needs no change
// is not written.
func installSettings(d dirs, c *configuration, self string, in *installation) error {
	e, err := readSettings(d)
	if err != nil {
		return err
	}
	added, err := e.install(c, self)
	if err != nil || !e.isChanged() {
		return err
	}
	if len(added) > 0 {
		in.Added = slices.Compact(slices.Sorted(slices.Values(append(in.Added, added...))))
		if err := in.write(d); err != nil { // before the file: a key that is not there is none to take out
			return err
		}
	}
	return replaceFile(d.settingsFile(), e.text, true)
}

// installedHooks are ccc's entries in a settings.json: the programs that they call, the least timeout that
// they have for an event, and the events for which none of the wanted ones is there.
type installedHooks struct {
	programs, missing []string
	timeouts          map[string]time.Duration
}

func findHooks(d dirs) (found installedHooks, err error) {
	e, err := readSettings(d)
	if err != nil {
		return found, err
	}
	found.timeouts = map[string]time.Duration{}
	for _, wanted := range wantedHooks("", 0) {
		isThere := false
		for _, own := range e.ownEntries(wanted.event, d.hookPath()) {
			isThere = isThere || own.matcher == wanted.Matcher
			found.programs = append(found.programs, own.program)
			var entry struct{ Timeout float64 }
			_ = json.Unmarshal([]byte(own.value.raw), &entry) // what is no number is no limit
			if timeout := time.Duration(min(entry.Timeout, 1e6) * float64(time.Second)); timeout > 0 {
				found.timeouts[wanted.event] = min(cmp.Or(found.timeouts[wanted.event], timeout), timeout)
			}
		}
		if !isThere {
			found.missing = append(found.missing, wanted.event)
		}
	}
	return found, nil
}

// An installation is the record (.ccc-installed.json) of what ccc has put where.
type installation struct {
	Files map[string]string `json:"files"` // by path: the checksum of what ccc wrote there
	Added []string          `json:"added"` // the muting keys that ccc has added to settings.json
}

// withUserFiles calls use with the record of the launches so far, under the lock. It makes Claude Code's
// directory.
func withUserFiles(d dirs, use func(in *installation) error) error {
	if err := os.MkdirAll(d.claude, 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	in, err := readInstallation(d)
	if err != nil { // without it uninstall would not know what is ccc's
		return err
	}
	return use(in)
}

// readInstallation returns the record; one that is damaged is as good as none. With an error it is empty.
func readInstallation(d dirs) (*installation, error) {
	in := new(installation)
	text, err := readUserFile(d.installedFile())
	if json.Unmarshal(text, in) != nil {
		in = new(installation)
	}
	if in.Files == nil {
		in.Files = map[string]string{}
	}
	return in, err
}

func (in *installation) write(d dirs) error {
	return replaceFile(d.installedFile(), append(encodeJSON(in), '\n'), true)
}

// A keptFile is one that launches create, and bring up to date and into the present language until the user
// edits it.
type keptFile struct {
	path string
	text words
}

// isOurs reports whether content, found at the file's path, is what a ccc wrote.
func (f keptFile) isOurs(in *installation, content []byte) bool {
	return string(content) == f.text.zh || string(content) == f.text.en || in.Files[f.path] == checksum(content)
}

// keep writes the file where there is none, or one of ccc's with another text.
func (f keptFile) keep(d dirs, in *installation) error {
	text := []byte(say(f.text))
	sum := checksum(text)
	content, err := readUserFile(f.path)
	if err != nil || content != nil && !f.isOurs(in, content) || bytes.Equal(content, text) && in.Files[f.path] == sum {
		return err
	}
	if err := cmp.Or(os.MkdirAll(filepath.Dir(f.path), 0o700), replaceFile(f.path, text, true)); err != nil {
		return err
	}
	in.Files[f.path] = sum
	return in.write(d)
}

// remove removes the file if it is as a ccc wrote it and no link, and commands/ if that is empty then. It
// returns what became of the file, "" when there is none.
func (f keptFile) remove(d dirs, in *installation) (done string, err error) {
	content, err := readUserFile(f.path)
	link, _ := os.Readlink(f.path)
	switch {
	case err != nil || content == nil && link == "":
		return "", err
	case link != "" || !f.isOurs(in, content):
		return "kept: it is not as ccc wrote it", nil
	}
	if err := os.Remove(f.path); err != nil {
		return "", err
	}
	if dir := filepath.Dir(f.path); dir != d.claude && dir != d.ccc {
		_ = os.Remove(dir) // refused unless empty
	}
	return "removed", nil
}

// keptPrompt is the built-in prompt, in ccc's directory for the user to edit.
func keptPrompt(d dirs) keptFile { return keptFile{d.promptFile(), defaultPrompt} }

// keptCommand is the file that makes /supervisor known to Claude Code.
func keptCommand(d dirs) keptFile { return keptFile{d.commandFile(), commandFile} }
