package main

// Claude Code's settings.json: what a launch adds and uninstall removes. Bytes that are not ccc's stay as
// they are. And the list of what launches have added, there and as files of their own.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mutingKeys can keep hooks from running. A supervised launch adds a missing one as false: that changes
// nothing.
var mutingKeys = []string{disableKey, managedOnlyKey}

const disableKey, managedOnlyKey = "disableAllHooks", "allowManagedHooksOnly"

// promptTimeout is how long Claude Code waits for the hook of a prompt or of a start.
const promptTimeout = 10 * time.Second

// A wantedHook is a matcher group with one entry that Supervisor Mode needs under an event of settings.json.
type wantedHook struct {
	event   string
	Matcher string      `json:"matcher,omitempty"` // "" matches everything
	Hooks   []hookEntry `json:"hooks"`
}

type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`                 // in seconds, after which Claude Code ends the hook
	Message string `json:"statusMessage,omitempty"` // beside the spinner
}

// wantedHooks returns the groups that call command, for reviews of that many seconds. A hook that reviews
// gets a minute more, and never less than 600 seconds.
func wantedHooks(command string, reviewSeconds int) []wantedHook {
	timeout := max(600, reviewSeconds+60)
	var hooks []wantedHook
	for _, on := range occasions {
		if on.event != "" {
			entry := hookEntry{Type: "command", Command: command, Timeout: timeout, Message: say(on.running)}
			hooks = append(hooks, wantedHook{event: on.event, Matcher: on.tool, Hooks: []hookEntry{entry}})
		}
	}
	note := []hookEntry{{Type: "command", Command: command, Timeout: int(promptTimeout.Seconds())}}
	return append(hooks, wantedHook{event: eventPrompt, Hooks: note},
		wantedHook{event: eventStart, Hooks: note})
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string { return shellQuote(self) + " " + hookSubcommand }

// hookCall finds the program of a hook command: the word before supervisor-hook, with its quotes.
var hookCall = lazyRegexp(`("[^"]*"|'[^']*'|\S+)\s+["']?` + hookSubcommand + `(?:["'\s;&|)]|$)`)

// cccName matches the names of ccc's program, such as ccc-linux-amd64, a file of a release.
var cccName = lazyRegexp(`^ccc([-._0-9].*)?$`)

// callsCCC reports whether a hook's command calls self, or another ccc, as a hook.
func callsCCC(command, self string) bool {
	call := hookCall().FindStringSubmatch(command)
	return command == hookCommand(self) || call != nil && isCCC(strings.Trim(call[1], `"'`), self)
}

// isCCC reports whether a program is a ccc: whether its name is that of self or matches cccName.
func isCCC(program, self string) bool {
	name := filepath.Base(program)
	return name == filepath.Base(self) || cccName().MatchString(name)
}

type settingsEditor struct {
	before, text []byte
	root         *jsonValue // text, parsed
	isFixed      bool       // the file can't be replaced: its messages may be in another language
}

// emptySettings is what ccc writes into a blank file first. Uninstall removes a file of that alone.
const emptySettings = "{}\n"

// readSettings returns an editor for settings.json, which may be missing. It refuses what editSettings does.
func readSettings(d dirs) (e *settingsEditor, err error) {
	path := d.settingsFile()
	text, err := readUserFile(path)
	if err == nil {
		if e, err = editSettings(text); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return e, withFileHint(err, editHint(path))
}

// editSettings returns an editor for a text. A blank one counts as {}, as for Claude Code. A text that is not
// JSON, or has something else in the place of hooks, is an error.
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

// checkShape returns an error unless hooks can be added under each wanted event.
func (e *settingsEditor) checkShape() error {
	errs := []error{
		expectKind(e.text, e.root, '{', "the file"),
		expectKind(e.text, e.root.at("hooks"), '{', "hooks"),
	}
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

// install adds the missing muting keys, which it returns, and ccc's hooks. All else stays as it is.
func (e *settingsEditor) install(c *configuration, self string) (added []string) {
	for _, key := range mutingKeys {
		if e.root.at(key).raw == "" {
			e.set("false", key)
			added = append(added, key)
		}
	}
	for _, wanted := range wantedHooks(hookCommand(self), c.Supervisor.TimeoutSeconds) {
		e.addHook(wanted, self)
	}
	return added
}

// addHook leaves one entry of ccc's under the event, in a group with the wanted matcher: the last that is
// there, brought up to date, or a new one. The others are removed.
func (e *settingsEditor) addHook(wanted wantedHook, self string) {
	isKept := false
	entries := ownEntries(e.root, wanted.event, self)
	for _, entry := range slices.Backward(entries) { // removal moves what follows
		if isKept || entry.matcher != wanted.Matcher {
			e.remove(entry)
			continue
		}
		isKept = true
		there := entry.value.raw
		message := wanted.Hooks[0].Message
		if e.isFixed && message != "" {
			there = string(setJSON([]byte(there), string(encodeJSON(message)), "statusMessage"))
		}
		if text := string(encodeJSON(wanted.Hooks[0])); !sameJSON(text, there) {
			e.set(text, entry.path...)
		}
	}
	if isKept {
		return
	}
	group := string(encodeJSON(wanted))
	path := []string{"hooks", wanted.event}
	if groups := e.root.at(path...); groups.raw == "" {
		e.set("["+group+"]", path...)
	} else {
		e.set(group, append(path, strconv.Itoa(len(groups.members)))...)
	}
}

type ownEntry struct {
	path    []string // hooks, event, index of the group, hooks, index
	value   *jsonValue
	matcher string // of its group
}

// ownEntries finds ccc's entries in the matcher groups of event, in settings.
func ownEntries(settings *jsonValue, event, self string) (entries []ownEntry) {
	for _, group := range settings.at("hooks", event).items() {
		matcher := group.value.at("matcher").text
		for _, item := range group.value.at("hooks").items() {
			if callsCCC(item.value.at("command").text, self) {
				path := []string{"hooks", event, group.key, "hooks", item.key}
				entries = append(entries, ownEntry{path: path, value: item.value, matcher: matcher})
			}
		}
	}
	return entries
}

// remove removes an entry of ccc's. If its group, its event or hooks itself is empty then, that goes too.
func (e *settingsEditor) remove(entry ownEntry) {
	path := entry.path
	if len(e.root.at(path[:4]...).members) == 1 {
		path = path[:3] // the group, with its matcher
	}
	for isEmpty := true; isEmpty; isEmpty = len(path) > 0 && len(e.root.at(path...).members) == 0 {
		e.replace(dropJSON(e.text, path...))
		path = path[:len(path)-1]
	}
}

// uninstall removes ccc's entries, and those of the added muting keys that are still false.
func (e *settingsEditor) uninstall(self string, added []string) {
	for _, wanted := range wantedHooks("", 0) {
		for _, entry := range slices.Backward(ownEntries(e.root, wanted.event, self)) {
			e.remove(entry)
		}
	}
	for _, key := range added {
		if e.root.at(key).raw == "false" && slices.Contains(mutingKeys, key) {
			e.replace(dropJSON(e.text, key))
		}
	}
}

// planSettings returns an editor for settings.json as a launch leaves it, and the muting keys that it adds.
// It refuses what editSettings does, and a file that has to change and can't be replaced.
func planSettings(d dirs, c *configuration) (e *settingsEditor, added []string, err error) {
	if e, err = readSettings(d); err != nil {
		return nil, nil, err
	}
	fixed := unreplaceable(d.settingsFile())
	e.isFixed = fixed != nil
	added = e.install(c, d.hookPath())
	if e.isChanged() && e.isFixed {
		return nil, nil, lacking(d.settingsFile(), fixed)
	}
	return e, added, nil
}

// lacking is the error that the settings.json at path lacks something and, as why says, can't be replaced.
func lacking(path string, why error) error {
	reason := cmp.Or(errors.Unwrap(why), why) // without the path
	if errors.Is(reason, syscall.EBUSY) {
		reason = fmt.Errorf("%w (it is a mount of its own)", reason)
	}
	err := fmt.Errorf("%s lacks something of ccc's, and can't be replaced: %w", path, reason)
	return withHint(err, "add the entries that the guide lists under "+
		"\"My settings.json is made by a program, or is read-only\":\nls -ld "+shellQuote(nearestThere(path)))
}

type writtenFile struct {
	path          string
	before, after []byte // before is nil if there was none
}

// takeBack makes the file what it was before, unless somebody else has changed it since.
func (f writtenFile) takeBack() error {
	content, err := readUserFile(f.path)
	switch {
	case err != nil || !bytes.Equal(content, f.after):
		return err
	case f.before == nil:
		return os.Remove(followLinks(f.path))
	}
	return replaceDurably(f.path, f.before)
}

// writeFiles writes what a launch adds: first the kept files, then the list, which notes them and the
// added muting keys, then settings.json. So uninstall knows each key. written is what has been written, even
// if there is an error. If a kept file can't be written, that is no error: it is in unwritten, at the first
// such launch only. From then on the list has the file.
func writeFiles(d dirs, c *configuration, kept []keptFile, in *installation) (
	written []writtenFile, unwritten []error, err error,
) {
	e, added, err := planSettings(d, c)
	if err != nil {
		return nil, nil, err
	}
	write := func(path string, text []byte) error {
		before, err := readUserFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = replaceDurably(path, text)
		}
		if err == nil {
			written = append(written, writtenFile{path: path, before: before, after: text})
		}
		return err
	}
	isRecorded := len(added) == 0
	for _, f := range kept {
		text, err := f.wanted(in)
		if err == nil && text == nil {
			continue
		} else if err == nil {
			err = write(f.path, text)
		}
		if sum := checksum([]byte(say(f.text))); in.Files[f.path] != sum {
			in.Files[f.path] = sum
			isRecorded = false
			if err != nil {
				unwritten = append(unwritten, fmt.Errorf("writing %s: %w", f.path, err))
			}
		}
	}
	if !isRecorded {
		in.Added = slices.Compact(slices.Sorted(slices.Values(append(in.Added, added...))))
		err = write(d.installedFile(), append(encodeJSON(in), '\n'))
	}
	if err == nil && e.isChanged() {
		if err = write(d.settingsFile(), e.text); err != nil {
			err = lacking(d.settingsFile(), err)
		}
	}
	return written, unwritten, err
}

// An installation is the list (.ccc-installed.json) of what launches have written for the user.
type installation struct {
	Files map[string]string `json:"files"` // by path, the checksum of what ccc wrote there
	Added []string          `json:"added"` // the muting keys that ccc has added to settings.json
}

// withUserFiles calls use with the list, under the lock of all that ccc writes. It makes d.claude first.
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
	if err != nil {
		return err
	}
	return use(in)
}

// readInstallation returns the list, an empty one if it is missing, damaged or, with an error, unreadable.
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

// A keptFile is a file of a launch's. Until the user edits it, it follows ccc's text and the language.
type keptFile struct {
	path string
	text words
}

// isOurs reports whether this or an earlier ccc wrote content, which was read from the file.
func (f keptFile) isOurs(in *installation, content []byte) bool {
	return f.text.has(string(content)) || in.Files[f.path] == checksum(content)
}

// wanted returns what a launch writes there: nil if nothing is missing, or the user has edited the file.
func (f keptFile) wanted(in *installation) ([]byte, error) {
	text := []byte(say(f.text))
	content, err := readUserFile(f.path)
	isEdited := content != nil && !f.isOurs(in, content)
	if err != nil || isEdited || bytes.Equal(content, text) && in.Files[f.path] == checksum(text) {
		return nil, err
	}
	return text, nil
}

// remove removes the file unless the user has edited it or made it a link, and commands/ if that is empty
// then. It returns what became of the file, "" if there is none.
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

// keptPrompt is the built-in prompt, as a file in ccc's directory that the user may edit.
func keptPrompt(d dirs) keptFile { return keptFile{path: d.promptFile(), text: defaultPrompt} }

// keptCommand is the file that makes /supervisor known to Claude Code.
func keptCommand(d dirs) keptFile { return keptFile{path: d.commandFile(), text: commandFile} }

// theirCommand returns the file that makes /supervisor a command or a skill of the user's own, in Claude
// Code's directory or in the project, "" for none. Then ccc leaves it alone.
func theirCommand(d dirs) string {
	for _, dir := range []string{d.claude, filepath.Join(d.here, ".claude")} {
		skill := filepath.Join(dir, "skills/supervisor/SKILL.md")
		command := filepath.Join(dir, "commands/supervisor.md")
		if _, err := os.Stat(skill); err == nil {
			return skill
		}
		content, err := readUserFile(command)
		in, _ := readInstallation(d) // without one, isOurs compares with this ccc's own text
		if err == nil && content != nil && !keptCommand(d).isOurs(in, content) {
			return command
		}
	}
	return ""
}
