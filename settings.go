package main

// Claude Code's settings.json: what a launch puts in and uninstall takes out again. Bytes that are not ccc's stay as
// they are.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The events that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// mutingKeys keep every hook, or every hook of the user's, from running when one of them is true. Supervisor Mode
// keeps them false.
var mutingKeys = []string{"disableAllHooks", "allowManagedHooksOnly"}

// A wantedHook is one entry that Supervisor Mode keeps in settings.json.
type wantedHook struct {
	event   string
	matcher string // "" matches everything
	timeout int    // in seconds: Claude Code ends the hook then
	message string // what the spinner says; "": what it says anyway
}

// wantedHooks returns the entries for reviews of that many seconds. A reviewing hook gets a minute more, and never less
// than 600 seconds; recording a prompt takes milliseconds. Claude Code puts dots of its own behind a message.
func wantedHooks(reviewSeconds int) []wantedHook {
	timeout, message := max(600, reviewSeconds+60), say(reviewing)
	return []wantedHook{{eventStop, "", timeout, message}, {eventPreToolUse, askUserQuestion, timeout, message}, {eventPrompt, "", 10, ""}}
}

// entry is the entry with that command, a JSON object.
func (w wantedHook) entry(command string) []byte {
	entry := fmt.Appendf(nil, `{"type":"command","command":%s,"timeout":%d`, encodeJSON(command), w.timeout)
	if w.message != "" {
		entry = fmt.Appendf(entry, `,"statusMessage":%s`, encodeJSON(w.message))
	}
	return append(entry, '}')
}

// group is the entry as an item of the event's array.
func (w wantedHook) group(command string) []byte {
	matcher := ""
	if w.matcher != "" {
		matcher = fmt.Sprintf(`"matcher":"%s",`, w.matcher)
	}
	return fmt.Appendf(nil, `{%s"hooks":[%s]}`, matcher, w.entry(command))
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string { return shellQuote(self) + " " + hookSubcommand }

// hookCall finds the word before supervisor-hook, in its quotes: the program.
var hookCall = regexp.MustCompile(`("[^"]*"|'[^']*'|\S+)\s+["']?` + hookSubcommand + `\b`)

// ownProgram returns the program that a hook command calls if it is one of ccc's: self, or one whose name begins with
// ccc, wherever it is and whatever stands around the call. computed tells that the user has written it with a variable
// or a ~, which program has no more.
func ownProgram(command, self string) (program string, computed, ok bool) {
	call := hookCall.FindStringSubmatch(command)
	switch {
	case command == hookCommand(self):
		return self, false, true
	case call == nil:
		return "", false, false
	}
	word := strings.Trim(call[1], `"'`)
	program = word
	if call[1][0] != '\'' {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			program = "$HOME/" + rest
		}
		program = os.ExpandEnv(program)
	}
	return program, program != word, strings.HasPrefix(filepath.Base(word), "ccc")
}

// reaches tells whether a matcher of Claude Code's lets calls of the tool through; events without a tool, "", have
// none.
func reaches(matcher, tool string) bool {
	return tool == "" || matcher == "" || matcher == "*" || slices.Contains(strings.Split(matcher, "|"), tool)
}

// A settingsPlan is what settings.json is to hold: ccc's hooks for the program self, if one is given, nothing that
// mutes them, and what it lacks of defaults, the settings of ccc.json (a JSON object, or nil).
type settingsPlan struct {
	self          string
	reviewSeconds int // what a review may take
	defaults      []byte
}

// install makes settings.json hold what is planned, and in know of it. A file that needs no change is not written;
// without in none is, and the error is the one that install would refuse it with.
func (p settingsPlan) install(d dirs, in *installation) error {
	path := d.settingsFile()
	text, err := readUserFile(path)
	if err != nil {
		return err
	}
	edited, edits, err := p.apply(text)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; correct it and start again")
	}
	if in == nil || bytes.Equal(edited, text) {
		return nil
	}
	// The record is written before the file: if ccc dies in between, uninstall skips the edits that did not happen.
	in.note(edits)
	if err := in.write(d); err != nil {
		return err
	}
	return replaceFile(path, edited, true)
}

// readUserFile returns nil for a file that is not there.
func readUserFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// apply returns text, a settings.json (nil for a missing file), with what is planned in it, and what was edited
// besides ccc's own entries. It refuses a text that is not JSON or whose shape leaves no safe place.
func (p settingsPlan) apply(text []byte) ([]byte, []settingsEdit, error) {
	if p.self == "" && p.defaults == nil {
		return text, nil, nil
	}
	e, err := editSettings(text)
	if err != nil {
		return nil, nil, err
	}
	before := e.text
	if text == nil {
		e.note(settingsEdit{Path: []string{}})
	}
	if wanted, _ := parseJSON(p.defaults); wanted != nil {
		e.fill(nil, wanted)
	}
	if p.self != "" {
		for _, key := range mutingKeys {
			if v := e.root.member(key); v == nil || v.kind != 'f' {
				e.set([]string{key}, "false", sumJSON("false"))
			}
		}
		for _, wanted := range wantedHooks(p.reviewSeconds) {
			e.addHook(wanted, p.self)
		}
	}
	if bytes.Equal(e.text, before) {
		return text, nil, nil
	}
	return e.text, e.edits, nil
}

// A settingsEditor is a settings.json that is being edited.
type settingsEditor struct {
	text  []byte
	root  *jsonValue // of text
	edits []settingsEdit
}

// editSettings takes a settings.json whose shape can be edited. A blank one counts as {}, as it does for Claude Code.
func editSettings(text []byte) (e *settingsEditor, err error) {
	e = &settingsEditor{text: text}
	if len(bytes.TrimSpace(unmarked(text))) == 0 {
		e.text = slices.Concat(bytes.TrimSpace(text), []byte("{}\n")) // behind a byte order mark, if there is one
	}
	if e.root, err = parseJSON(e.text); err != nil {
		return nil, err
	}
	errs := []error{expectKind(e.text, e.root, '{', "the file"), expectKind(e.text, e.at("hooks"), '{', "hooks")}
	for _, wanted := range wantedHooks(0) {
		errs = append(errs, expectKind(e.text, e.at("hooks", wanted.event), '[', "hooks."+wanted.event))
	}
	return e, cmp.Or(errs...)
}

// note records an edit. The first one of a path counts.
func (e *settingsEditor) note(edit settingsEdit) {
	if !slices.ContainsFunc(e.edits, edit.samePath) {
		e.edits = append(e.edits, edit)
	}
}

// replace makes text, which is JSON as before, the text of the editor.
func (e *settingsEditor) replace(text []byte) {
	e.text = text
	e.root, _ = parseJSON(text)
}

// at returns the value under path, nil for none.
func (e *settingsEditor) at(path ...string) *jsonValue {
	v := e.root
	for _, key := range path {
		v = v.member(key)
	}
	return v
}

// set puts value under path, whose parent is an object, and records that, with wrote as settingsEdit has it.
func (e *settingsEditor) set(path []string, value, wrote string) {
	last := len(path) - 1
	e.noteEmpty(path[:last])
	edit := settingsEdit{Path: path, Wrote: wrote}
	if old := e.at(path...); old != nil {
		edit.Before = &old.raw
	}
	e.note(edit)
	e.replace(setMember(e.text, e.at(path[:last]...), path[last], []byte(value)))
}

// noteEmpty records a container that was there and empty before ccc puts something into it.
func (e *settingsEditor) noteEmpty(path []string) {
	if v := e.at(path...); len(path) > 0 && v.isEmpty() {
		e.note(settingsEdit{Path: path, Before: &v.raw})
	}
}

// fill adds the members of wanted, an object, that the object under path lacks. Objects are merged; what is there
// stays as it is.
func (e *settingsEditor) fill(path []string, wanted *jsonValue) {
	for _, m := range wanted.members {
		at := append(slices.Clone(path), m.key)
		nested := m.value.kind == '{' && !m.value.isEmpty()
		there := e.at(at...)
		switch {
		case there == nil && !nested:
			e.set(at, m.value.raw, sumJSON(m.value.raw))
		case there == nil:
			e.set(at, "{}", "")
			e.fill(at, m.value)
		case nested && there.kind == '{':
			e.fill(at, m.value)
		}
	}
}

// addHook puts the wanted entry in the place of every entry of ccc's under its event, and adds it where there is none.
// An entry whose program the user has written with a variable keeps its command as long as that leads to self.
func (e *settingsEditor) addHook(wanted wantedHook, self string) {
	if e.at("hooks") == nil {
		e.set([]string{"hooks"}, "{}", "")
	}
	path := []string{"hooks", wanted.event}
	if e.at(path...) == nil {
		e.set(path, "[]", "")
	}
	found := false
	for i := range e.ownEntries(wanted.event, self) {
		own := e.ownEntries(wanted.event, self)[i] // each edit moves them
		found = found || reaches(own.matcher, wanted.matcher)
		command := hookCommand(self)
		if own.computed && sameFile(own.program, self) {
			command = own.command
		}
		if entry := wanted.entry(command); !sameJSON([]byte(own.hooks.members[own.index].value.raw), entry) {
			e.replace(setItem(e.text, own.hooks, own.index, entry))
		}
	}
	if !found {
		e.noteEmpty(path)
		e.replace(appendItem(e.text, e.at(path...), wanted.group(hookCommand(self))))
	}
}

// An ownEntry is an entry of ccc's: the item at index of hooks, the array of the matcher group at groupIndex of an
// event's array.
type ownEntry struct {
	matcher           string
	command, program  string
	computed          bool // the command, as ownProgram has it
	groupIndex, index int
	hooks, entry      *jsonValue
}

// ownEntries finds ccc's hook entries among the matcher groups of event.
func (e *settingsEditor) ownEntries(event, self string) (own []ownEntry) {
	for g, group := range e.at("hooks", event).items() {
		hooks := group.value.member("hooks")
		for i, entry := range hooks.items() {
			command := entry.value.member("command").str()
			if program, computed, ok := ownProgram(command, self); ok {
				own = append(own, ownEntry{group.value.member("matcher").str(), command, program, computed, g, i, hooks, entry.value})
			}
		}
	}
	return own
}

// installedHooks returns the programs that ccc's entries in text, a settings.json, call, and the events for which
// none of the wanted entries is there.
func installedHooks(text []byte, self string) (programs, missing []string, err error) {
	e, err := editSettings(text)
	if err != nil {
		return nil, nil, err
	}
	for _, wanted := range wantedHooks(0) {
		found := false
		for _, own := range e.ownEntries(wanted.event, self) {
			found = found || reaches(own.matcher, wanted.matcher)
			programs = append(programs, own.program)
		}
		if !found {
			missing = append(missing, wanted.event)
		}
	}
	return programs, missing, nil
}

// installedTimeout is the least timeout of ccc's entries for event in text, a settings.json; 0 where none is to be
// found.
func installedTimeout(text []byte, self, event string) (least time.Duration) {
	e, err := editSettings(text)
	if err != nil {
		return 0
	}
	for _, own := range e.ownEntries(event, self) {
		var seconds float64
		if v := own.entry.member("timeout"); v != nil && json.Unmarshal([]byte(v.raw), &seconds) == nil && seconds > 0 && seconds < 1e6 { // more is no limit
			timeout := time.Duration(seconds * float64(time.Second))
			least = min(cmp.Or(least, timeout), timeout)
		}
	}
	return least
}

const nothingThere = "holds nothing of ccc's"

// removeSettings takes ccc's edits out of settings.json and returns what became of the file, for people.
func removeSettings(d dirs, in *installation) (done string, err error) {
	path := d.settingsFile()
	text, err := readUserFile(path)
	if err != nil {
		return "", err
	}
	edited, err := withoutSettings(text, in.Edits, d.hookPath())
	switch {
	case err != nil:
		return "", withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; correct it and try again")
	case bytes.Equal(edited, text):
		return nothingThere, nil
	case edited == nil:
		target, err := followLinks(path)
		if err != nil {
			return "", err
		}
		return "removed: ccc made it, and nothing else is in it", os.Remove(target)
	}
	return "ccc's part taken out", replaceFile(path, edited, true)
}

// withoutSettings takes ccc's entries out of text and puts back what edits know to have been in the places that ccc
// set, unless somebody has put another thing there since. What is empty then goes, unless it was there before. nil
// means that there was no file.
func withoutSettings(text []byte, edits []settingsEdit, self string) ([]byte, error) {
	if len(bytes.TrimSpace(unmarked(text))) == 0 {
		return text, nil
	}
	e, err := editSettings(text)
	if err != nil {
		return nil, err
	}
	e.edits = edits
	for _, wanted := range wantedHooks(0) {
		if e.removeHooks(wanted.event, self) && len(edits) == 0 { // the record is lost: false is what the keys are unset
			for _, key := range mutingKeys {
				e.note(settingsEdit{Path: []string{key}, Wrote: sumJSON("false")})
			}
		}
	}
	for _, edit := range slices.Backward(e.edits) {
		v, last := e.at(edit.Path...), len(edit.Path)-1
		switch {
		case v == nil || edit.Wrote == "" || edit.Wrote != sumJSON(v.raw):
		case edit.Before != nil:
			e.replace(splice(e.text, v.start, v.end, []byte(*edit.Before)))
		default:
			e.replace(removeMember(e.text, e.at(edit.Path[:last]...), edit.Path[last]))
			e.prune(edit.Path[:last])
		}
	}
	made := slices.ContainsFunc(edits, func(edit settingsEdit) bool { return len(edit.Path) == 0 && edit.Before == nil })
	if made && e.root.isEmpty() {
		return nil, nil
	}
	return e.text, nil
}

// removeHooks takes ccc's entries out of the array of event, with the matcher groups that hold nothing else, and
// tells whether there were any.
func (e *settingsEditor) removeHooks(event, self string) (removed bool) {
	for {
		own := e.ownEntries(event, self)
		if len(own) == 0 {
			return removed
		}
		removed = true
		if last := own[len(own)-1]; len(last.hooks.members) > 1 {
			e.replace(removeItem(e.text, last.hooks, last.index))
		} else {
			e.replace(removeItem(e.text, e.at("hooks", event), last.groupIndex))
			e.prune([]string{"hooks", event})
		}
	}
}

// prune removes the container under path if it is empty and was not so before ccc came, and then what holds it.
func (e *settingsEditor) prune(path []string) {
	for ; len(path) > 0 && e.at(path...).isEmpty(); path = path[:len(path)-1] {
		at := settingsEdit{Path: path}
		if slices.ContainsFunc(e.edits, func(edit settingsEdit) bool { return at.samePath(edit) && edit.wasThere() }) {
			return
		}
		e.replace(removeMember(e.text, e.at(path[:len(path)-1]...), path[len(path)-1]))
	}
}

// uninstall is ccc uninstall [--purge]. It says what became of each file. State is the user's history: only --purge
// removes it.
func uninstall(c *call, d dirs) error {
	remove := func(in *installation) error { return removeInstallation(d, in) }
	if _, err := os.Stat(d.claude); errors.Is(err, fs.ErrNotExist) {
		// Without Claude Code's directory there is nothing to lock, and the rest is soon done.
		if err := remove(&installation{}); err != nil {
			return err
		}
	} else if err := withUserFiles(d, remove); err != nil {
		return err
	}
	_, statErr := os.Stat(d.state)
	switch {
	case statErr != nil:
	case c.has("--purge"):
		removed, others, err := stateDir(d.state).purge()
		if removed+others > 0 || err == nil {
			fmt.Printf("%s: %d files of ccc's removed, %d of others kept\n", d.state, removed, others)
		}
		return err
	default:
		fmt.Printf("%s: kept; to remove it too: ccc uninstall --purge\n", d.state)
	}
	return nil
}

// removeInstallation takes out what launches put there, and last the record of it and the lock.
func removeInstallation(d dirs, in *installation) error {
	done, err := removeSettings(d, in)
	if err != nil {
		return fmt.Errorf("removing the hooks: %w", err)
	}
	fmt.Printf("%s: %s\n", d.settingsFile(), done)
	for _, file := range []keptFile{keptPrompt(d), keptCommand(d)} {
		if done, err = file.remove(d, in); err != nil {
			return fmt.Errorf("removing %s: %w", file.path, err)
		} else if done != "" {
			fmt.Printf("%s: %s\n", file.path, done)
		}
	}
	return errors.Join(removeFile(d.installedFile()), removeFile(d.lockFile()))
}
