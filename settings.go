package main

// Claude Code's settings.json: putting ccc's part into it and taking it out again, and what the settings files say
// that matters to ccc. Bytes that are not ccc's stay as they are.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// mutingKeys keep every hook, or every hook of the user's, from running when one of them is true. Supervisor Mode
// keeps them false.
var mutingKeys = []string{"disableAllHooks", "allowManagedHooksOnly"}

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
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	edited, edits, err := p.apply(text)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; correct it and start again")
	}
	if in == nil || bytes.Equal(edited, text) {
		return nil
	}
	// The record comes first: one of edits that were not made undoes nothing.
	in.note(edits)
	if err := in.write(d); err != nil {
		return err
	}
	return replaceFile(path, edited, true)
}

// apply returns text, a settings.json (nil for a missing file), with what is planned in it, and what was edited
// besides ccc's own entries. It refuses a text that is not JSON or whose shape leaves no safe place.
func (p settingsPlan) apply(text []byte) ([]byte, []settingsEdit, error) {
	if p.self == "" && p.defaults == nil {
		return text, nil, nil
	}
	e, err := newSettingsEditor(text, p.self)
	if err != nil {
		return nil, nil, err
	}
	before := e.text
	if wanted, _ := parseJSON(p.defaults); wanted != nil {
		e.fill(nil, wanted)
	}
	if p.self != "" {
		for _, key := range mutingKeys {
			if v := e.root.member(key); v == nil || v.kind != 'f' {
				e.set([]string{key}, "false")
			}
		}
		for _, wanted := range wantedHooks(hookCommand(e.self), p.reviewSeconds) {
			e.addHook(wanted)
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
	self  string     // the program of the hook command of this ccc
	edits []settingsEdit
}

// newSettingsEditor takes a settings.json whose shape can be edited. A blank one counts as {}, as it does for
// Claude Code.
func newSettingsEditor(text []byte, self string) (e *settingsEditor, err error) {
	e = &settingsEditor{text: text, self: self}
	if len(bytes.TrimSpace(unmarked(text))) == 0 {
		e.text = slices.Concat(bytes.TrimSpace(text), []byte("{}\n")) // behind a byte order mark, if there is one
	}
	if e.root, err = parseJSON(e.text); err != nil {
		return nil, err
	}
	errs := []error{expectKind(e.text, e.root, '{', "the file"), expectKind(e.text, e.at("hooks"), '{', "hooks")}
	for _, wanted := range wantedHooks("", 0) {
		errs = append(errs, expectKind(e.text, e.at("hooks", wanted.event), '[', "hooks."+wanted.event))
	}
	var before *string // nil without a file
	if file := string(text); text != nil {
		before = &file
	}
	if e.root.isEmpty() {
		e.note([]string{}, before, "")
	}
	return e, cmp.Or(errs...)
}

// note records that what stands under path is replaced or added to: before, nil for nothing, and the checksum of
// what ccc puts there, "" for a container. The first note of a path counts.
func (e *settingsEditor) note(path []string, before *string, wrote string) {
	if !slices.ContainsFunc(e.edits, func(edit settingsEdit) bool { return slices.Equal(edit.Path, path) }) {
		e.edits = append(e.edits, settingsEdit{path, before, wrote})
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

// set puts value under path, whose parent is an object, and records that.
func (e *settingsEditor) set(path []string, value string) {
	last := len(path) - 1
	parent := e.at(path[:last]...)
	if parent.isEmpty() {
		e.note(path[:last], &parent.raw, "")
	}
	var before *string
	if old := e.at(path...); old != nil {
		before = &old.raw
	}
	wrote := ""
	if value != "{}" && value != "[]" {
		wrote = sumJSON(value)
	}
	e.note(path, before, wrote)
	e.replace(setMember(e.text, parent, path[last], []byte(value)))
}

// fill adds the members of wanted, an object, that the object under path lacks. Objects are merged; what is there
// stays as it is.
func (e *settingsEditor) fill(path []string, wanted *jsonValue) {
	for _, m := range wanted.members {
		at := append(slices.Clone(path), m.key)
		isObject, there := m.value.kind == '{', e.at(at...)
		switch {
		case there == nil && !isObject:
			e.set(at, m.value.raw)
		case there == nil:
			e.set(at, "{}")
			e.fill(at, m.value)
		case isObject && there.kind == '{':
			e.fill(at, m.value)
		}
	}
}

// addHook brings every entry of ccc's under the wanted event up to date, in place, and adds the wanted one where
// there is none.
func (e *settingsEditor) addHook(wanted wantedHook) {
	place, _ := parseJSON(fmt.Appendf(nil, `{"hooks":{"%s":[]}}`, wanted.event))
	e.fill(nil, place)
	if groups := e.at("hooks", wanted.event); groups.isEmpty() {
		e.note([]string{"hooks", wanted.event}, &groups.raw, "")
	}
	entry, _ := parseJSON(wanted.entry)
	found := false
	for i, own := range e.ownEntries(wanted.event) {
		found = found || reaches(own.matcher, wanted.matcher)
		command := own.entry.member("command").str()
		for _, m := range entry.members {
			value := []byte(m.value.raw)
			if m.key == "command" {
				value = encodeJSON(currentCommand(command, e.self))
			}
			entry := e.ownEntries(wanted.event)[i].entry // each edit moves them
			if old := entry.member(m.key); old == nil || !sameJSON([]byte(old.raw), value) {
				e.replace(setMember(e.text, entry, m.key, value))
			}
		}
	}
	if !found {
		e.replace(appendItem(e.text, e.at("hooks", wanted.event), wanted.group()))
	}
}

// An ownEntry is an entry of ccc's: the item at index of hooks, the array of the matcher group at groupIndex of an
// event's array.
type ownEntry struct {
	matcher           string
	groupIndex, index int
	hooks, entry      *jsonValue
}

// ownEntries finds ccc's hook entries among the matcher groups of event.
func (e *settingsEditor) ownEntries(event string) (own []ownEntry) {
	for g, group := range e.at("hooks", event).items() {
		hooks := group.value.member("hooks")
		for i, entry := range hooks.items() {
			if isOwnCommand(entry.value.member("command").str(), e.self) {
				own = append(own, ownEntry{group.value.member("matcher").str(), g, i, hooks, entry.value})
			}
		}
	}
	return own
}

const nothingThere = "holds nothing of ccc's"

// removeSettings takes ccc's edits out of settings.json and returns what became of the file, for people.
func removeSettings(d dirs, in *installation) (done string, err error) {
	path := d.settingsFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nothingThere, nil
	}
	if err != nil {
		return "", err
	}
	edited, err := withoutSettings(text, in.Edits, d.hookPath())
	switch {
	case err != nil:
		return "", withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; correct it and try again")
	case edited == nil:
		target, err := followLinks(path)
		if err != nil {
			return "", err
		}
		return "removed: ccc made it, and nothing else is in it", os.Remove(target)
	case bytes.Equal(edited, text):
		return nothingThere, nil
	}
	return "ccc's part taken out", replaceFile(path, edited, true)
}

// withoutSettings takes ccc's entries out of text and puts back what edits know to have been in the places that ccc
// set, unless somebody has put another thing there since. nil means that there was no file.
func withoutSettings(text []byte, edits []settingsEdit, self string) ([]byte, error) {
	if len(bytes.TrimSpace(unmarked(text))) == 0 {
		return text, nil
	}
	e, err := newSettingsEditor(text, self)
	if err != nil {
		return nil, err
	}
	e.edits = slices.Clone(edits)
	for _, wanted := range wantedHooks("", 0) {
		if !e.removeHooks(wanted.event) {
			continue
		}
		// Of what is not recorded: a container that is empty now is nobody's, and false is what the muting keys are
		// without being set.
		e.note([]string{"hooks"}, nil, "")
		e.note([]string{"hooks", wanted.event}, nil, "")
		for _, key := range mutingKeys {
			if len(edits) == 0 {
				e.note([]string{key}, nil, sumJSON("false"))
			}
		}
	}
	// In reverse: what was put into a container goes before the container.
	for _, edit := range slices.Backward(e.edits) {
		v := e.at(edit.Path...)
		switch {
		case v == nil || edit.Wrote == "" && !v.isEmpty() || edit.Wrote != "" && edit.Wrote != sumJSON(v.raw):
		case len(edit.Path) > 0:
			e.undo(edit)
		case edit.Before == nil:
			return nil, nil
		default:
			return []byte(*edit.Before), nil
		}
	}
	return e.text, nil
}

// undo puts back what was there before edit.
func (e *settingsEditor) undo(edit settingsEdit) {
	last := len(edit.Path) - 1
	parent, key := e.at(edit.Path[:last]...), edit.Path[last]
	if edit.Before == nil {
		e.replace(removeMember(e.text, parent, key))
		return
	}
	v := parent.member(key)
	e.replace(splice(e.text, v.start, v.end, []byte(*edit.Before)))
}

// removeHooks takes ccc's entries out of the array of event, with the matcher groups that hold nothing else, and
// tells whether there were any.
func (e *settingsEditor) removeHooks(event string) (removed bool) {
	for {
		own := e.ownEntries(event)
		if len(own) == 0 {
			return removed
		}
		removed = true
		if last := own[len(own)-1]; len(last.hooks.members) > 1 {
			e.replace(removeItem(e.text, last.hooks, last.index))
		} else {
			e.replace(removeItem(e.text, e.at("hooks", event), last.groupIndex))
		}
	}
}

// installedHooks returns the programs that ccc's entries in text, a settings.json, call, and the events for which
// none of the wanted entries is there.
func installedHooks(text []byte, self string) (programs, missing []string, err error) {
	e, err := newSettingsEditor(text, self)
	if err != nil {
		return nil, nil, err
	}
	for _, wanted := range wantedHooks("", 0) {
		found := false
		for _, own := range e.ownEntries(wanted.event) {
			found = found || reaches(own.matcher, wanted.matcher)
			if program := hookProgram(own.entry.member("command").str(), e.self); program != "" {
				programs = append(programs, program)
			}
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
	e, err := newSettingsEditor(text, self)
	if err != nil {
		return 0
	}
	for _, own := range e.ownEntries(event) {
		var seconds float64
		if v := own.entry.member("timeout"); v != nil && json.Unmarshal([]byte(v.raw), &seconds) == nil && seconds > 0 {
			timeout := time.Duration(seconds * float64(time.Second))
			least = min(cmp.Or(least, timeout), timeout)
		}
	}
	return least
}

// managedSettings is the file by which an administrator overrides all others.
var managedSettings = map[string]string{
	"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
	"linux":  "/etc/claude-code/managed-settings.json",
}[runtime.GOOS]

// helperKey names the program whose output Claude Code sends as key and as token.
const helperKey = "apiKeyHelper"

// settings are what ccc reads of a settings file, by the path of keys: env.NAME, apiKeyHelper, and those of the
// muting keys that are true.
type settings map[string]string

// muting returns the muting keys that are true.
func (s settings) muting() []string {
	return slices.DeleteFunc(slices.Clone(mutingKeys), func(key string) bool { return s[key] == "" })
}

// readSettings reads the settings file at path. A missing or a blank one says nothing; what is no JSON object is an
// error.
func readSettings(path string) (settings, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return settingsIn(text)
}

// settingsIn is readSettings for the text of a settings file.
func settingsIn(text []byte) (settings, error) {
	if len(bytes.TrimSpace(unmarked(text))) == 0 {
		return nil, nil
	}
	root, err := parseJSON(text)
	if err == nil {
		err = expectKind(text, root, '{', "the file")
	}
	if err != nil {
		return nil, err
	}
	s := settings{}
	for _, key := range mutingKeys {
		if v := root.member(key); v != nil && v.kind == 't' {
			s[key] = v.text
		}
	}
	if v := root.member(helperKey); v != nil {
		s[helperKey] = v.str()
	}
	if env := root.member("env"); env != nil {
		for _, m := range env.members {
			s["env."+m.key] = m.value.text
		}
	}
	return s, nil
}

// settingsArgument returns the text of settings that --settings names, which is JSON itself or a file.
func settingsArgument(value string) (text []byte, isFile bool, err error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return []byte(value), false, nil
	}
	text, err = os.ReadFile(value)
	return text, true, err
}

// givenSettings are those of --settings in args. Claude Code itself complains of what can't be read.
func givenSettings(args []string) settings {
	given, _ := lastValue(untilDashes(args), "--settings")
	text, _, _ := settingsArgument(given)
	s, _ := settingsIn(text)
	return s
}
