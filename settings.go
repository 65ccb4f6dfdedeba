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

// mutingKeys keep every hook, or every hook of the user's, from running when one of them is true. Supervisor Mode
// keeps them false.
var mutingKeys = []string{"disableAllHooks", "allowManagedHooksOnly"}

// statusLineKey is where Claude Code is told what to show in its status line. Without refreshInterval that stays as it is
// while a Stop hook runs (2.1.330).
const (
	statusLineKey = "statusLine"
	statusLine    = `{"type": "command", "command": "ccc statusline", "refreshInterval": 5}`
)

var statusLineCall = regexp.MustCompile(`\bccc[^\s/]*["']?\s+["']?statusline\b`)

// ownStatusLine tells whether raw, a value of statusLineKey, calls ccc, and how often, in seconds; 0 for no refreshInterval.
func ownStatusLine(raw []byte) (own bool, refresh float64) {
	var line struct {
		Command         string
		RefreshInterval float64
	}
	_ = json.Unmarshal(raw, &line) // of another type it says nothing
	return statusLineCall.MatchString(line.Command), line.RefreshInterval
}

// A hookGroup is an item of an event's array in settings.json, and a hookEntry one of its hooks.
type hookGroup struct {
	Matcher string      `json:"matcher,omitempty"` // none matches everything
	Hooks   []hookEntry `json:"hooks"`
}

type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`                 // in seconds: Claude Code ends the hook then
	Message string `json:"statusMessage,omitempty"` // what the spinner says
}

// A wantedHook is one entry that Supervisor Mode keeps in settings.json.
type wantedHook struct {
	event, matcher string
	entry          hookEntry
}

// wantedHooks returns the entries with that command for reviews of that many seconds. A reviewing hook gets a minute
// more, and never less than 600 seconds; recording a prompt takes milliseconds. Claude Code puts dots of its own behind
// a message.
func wantedHooks(command string, reviewSeconds int) []wantedHook {
	review := hookEntry{"command", command, max(600, reviewSeconds+60), say(reviewing)}
	return []wantedHook{{eventStop, "", review}, {eventPreToolUse, askUserQuestion, review}, {eventPrompt, "", hookEntry{"command", command, 10, ""}}}
}

// hookCommand is the shell command line that calls self as a hook.
func hookCommand(self string) string { return shellQuote(self) + " " + hookSubcommand }

// hookCall finds the word before supervisor-hook, in its quotes: the program.
var hookCall = regexp.MustCompile(`("[^"]*"|'[^']*'|\S+)\s+["']?` + hookSubcommand + `\b`)

// ownProgram returns the program that a hook command calls if it is one of ccc's: self, or one whose name begins with
// ccc, wherever it is and whatever stands around the call; else "". stays tells that the user has written it with a
// variable or a ~, and that it leads to self.
func ownProgram(command, self string) (program string, stays bool) {
	call := hookCall.FindStringSubmatch(command)
	switch {
	case command == hookCommand(self):
		return self, true
	case call == nil:
		return "", false
	}
	word := strings.Trim(call[1], `"'`)
	if !strings.HasPrefix(filepath.Base(word), "ccc") {
		return "", false
	}
	program = word
	if call[1][0] != '\'' {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			program = "$HOME/" + rest
		}
		program = os.ExpandEnv(program)
	}
	return program, program != word && sameFile(program, self)
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
	path, known := d.settingsFile(), cmp.Or(in, new(installation))
	text, err := readUserFile(path)
	if err != nil {
		return err
	}
	edited, edits, err := p.apply(text, known.Edits)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; correct it and start again")
	}
	if in == nil || bytes.Equal(edited, text) {
		return nil
	}
	// The record is written before the file: if ccc dies in between, uninstall skips the edits that did not happen.
	in.Edits = edits
	if err := in.write(d); err != nil {
		return err
	}
	return replaceFile(path, edited, true)
}

// apply returns text, a settings.json (nil for a missing file), with what is planned in it, and edits with those that
// this took, but for ccc's own entries. It refuses a text that is not JSON or whose shape leaves no safe place.
func (p settingsPlan) apply(text []byte, edits []settingsEdit) ([]byte, []settingsEdit, error) {
	e, err := editSettings(text)
	if err != nil {
		return nil, nil, err
	}
	e.edits = slices.Clone(edits)
	if text == nil {
		e.note(settingsEdit{Path: []string{}})
	}
	if wanted, _ := parseJSON(p.defaults); wanted != nil {
		e.fill(wanted)
	}
	if p.self != "" {
		for _, key := range mutingKeys {
			if v := e.root.at(key); v == nil || v.kind != 'f' {
				e.set("false", key)
			}
		}
		for _, wanted := range wantedHooks(hookCommand(p.self), p.reviewSeconds) {
			e.addHook(wanted, p.self)
		}
	}
	if edited := e.root.in(e.text); !bytes.Equal(edited, e.text) {
		return edited, e.edits, nil
	}
	return text, edits, nil
}

// A settingsEditor is a settings.json that is being edited.
type settingsEditor struct {
	text  []byte     // before
	root  *jsonValue // now
	edits []settingsEdit
}

// editSettings takes a settings.json whose shape can be edited. A blank one counts as {}, as it does for Claude Code.
func editSettings(text []byte) (e *settingsEditor, err error) {
	e = &settingsEditor{text: text}
	if isBlank(text) {
		e.text = slices.Concat(bytes.TrimSpace(text), []byte("{}\n")) // behind a byte order mark, if there is one
	}
	if e.root, err = parseJSON(e.text); err != nil {
		return nil, err
	}
	errs := []error{expectKind(e.text, e.root, '{', "the file"), expectKind(e.text, e.root.at("hooks"), '{', "hooks")}
	for _, wanted := range wantedHooks("", 0) {
		errs = append(errs, expectKind(e.text, e.root.at("hooks", wanted.event), '[', "hooks."+wanted.event))
	}
	return e, cmp.Or(errs...)
}

// known returns the index of the edit of a path, -1 for none.
func (e *settingsEditor) known(path []string) int {
	return slices.IndexFunc(e.edits, func(edit settingsEdit) bool { return slices.Equal(edit.Path, path) })
}

// forget removes the edit of a path.
func (e *settingsEditor) forget(path []string) {
	if i := e.known(path); i >= 0 {
		e.edits = slices.Delete(e.edits, i, i+1)
	}
}

// note records an edit, in the place of an older one of its path.
func (e *settingsEditor) note(edit settingsEdit) {
	e.forget(edit.Path)
	e.edits = append(e.edits, edit)
}

// noteEmpty records that v, a container under path, was there and empty, so that uninstall leaves it.
func (e *settingsEditor) noteEmpty(v *jsonValue, path []string) {
	if len(v.members) == 0 && e.known(path) < 0 {
		e.note(settingsEdit{Path: path, Before: &v.raw})
	}
}

// put puts value under path, whose parents are objects, or missing and made.
func (e *settingsEditor) put(value string, path ...string) {
	parent, depth := e.root, 0
	for below := e.root.at(path[0]); below != nil && depth < len(path)-1; below = parent.at(path[depth]) {
		parent, depth = below, depth+1
		e.noteEmpty(parent, path[:depth])
	}
	for i := len(path) - 1; i > depth; i-- {
		value = fmt.Sprintf("{%s:%s}", encodeJSON(path[i]), value)
		e.forget(path[:i])
	}
	e.forget(path)
	parent.set(path[depth], value)
}

// set is put for a value that is taken back by uninstall. What stood there is noted; if that was ccc's, what was there
// before it.
func (e *settingsEditor) set(value string, path ...string) {
	edit := settingsEdit{Path: path, Wrote: sumJSON(value)}
	if old := e.root.at(path...); old != nil {
		raw := old.String()
		edit.Before = &raw
		if i := e.known(path); i >= 0 && e.edits[i].Wrote == sumJSON(raw) {
			edit.Before = e.edits[i].Before
		}
	}
	e.put(value, path...)
	e.note(edit)
}

// fill adds the members of wanted, an object, that the object under path lacks. Objects are merged; what is there
// stays as it is.
func (e *settingsEditor) fill(wanted *jsonValue, path ...string) {
	for _, m := range wanted.members {
		at := append(slices.Clone(path), m.key)
		there := e.root.at(at...)
		switch {
		case m.value.kind == '{' && len(m.value.members) > 0 && (there == nil || there.kind == '{'):
			e.fill(m.value, at...)
		case there == nil:
			e.set(m.value.String(), at...)
		}
	}
}

// addHook puts the wanted entry in the place of every entry of ccc's under its event, and adds it where there is none.
func (e *settingsEditor) addHook(wanted wantedHook, self string) {
	found := false
	for _, own := range e.ownEntries(wanted.event, self) {
		found = found || reaches(own.matcher, wanted.matcher)
		entry := wanted.entry
		if own.stays {
			entry.Command = own.command
		}
		if text := string(encodeJSON(entry)); !sameJSON(text, own.entry.String()) { // a member more, such as async, may change all
			own.hooks.replace(own.index, text)
		}
	}
	group := string(encodeJSON(hookGroup{wanted.matcher, []hookEntry{wanted.entry}}))
	path := []string{"hooks", wanted.event}
	switch groups := e.root.at(path...); {
	case found:
	case groups == nil:
		e.put("["+group+"]", path...)
	default:
		e.noteEmpty(groups, path)
		groups.add("", group)
	}
}

// An ownEntry is an entry of ccc's: the item at index of hooks, the array of the matcher group at groupIndex of an
// event's array.
type ownEntry struct {
	command, program  string
	stays             bool // as ownProgram has it
	matcher           string
	groupIndex, index int
	hooks, entry      *jsonValue
}

// ownEntries finds ccc's hook entries among the matcher groups of event.
func (e *settingsEditor) ownEntries(event, self string) (entries []ownEntry) {
	for g, group := range e.root.at("hooks", event).items() {
		hooks := group.value.at("hooks")
		for i, item := range hooks.items() {
			command := item.value.at("command").str()
			if program, stays := ownProgram(command, self); program != "" {
				entries = append(entries, ownEntry{command, program, stays, group.value.at("matcher").str(), g, i, hooks, item.value})
			}
		}
	}
	return entries
}

// installedHooks returns the programs that ccc's entries in text, a settings.json, call, and the events for which
// none of the wanted entries is there.
func installedHooks(text []byte, self string) (programs, missing []string, err error) {
	e, err := editSettings(text)
	if err != nil {
		return nil, nil, err
	}
	for _, wanted := range wantedHooks("", 0) {
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
		if v := own.entry.at("timeout"); v != nil {
			_ = json.Unmarshal([]byte(v.String()), &seconds) // what is no number is no limit
		}
		if timeout := time.Duration(min(seconds, 1e6) * float64(time.Second)); timeout > 0 { // nor is more
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
	if isBlank(text) {
		return text, nil
	}
	e, err := editSettings(text)
	if err != nil {
		return nil, err
	}
	e.edits = slices.Clone(edits)
	for _, wanted := range wantedHooks("", 0) {
		own := e.ownEntries(wanted.event, self)
		for _, entry := range slices.Backward(own) {
			if entry.hooks.remove(entry.index); len(entry.hooks.members) == 0 {
				e.root.at("hooks", wanted.event).remove(entry.groupIndex)
			}
		}
		if len(own) > 0 {
			e.prune("hooks", wanted.event)
		}
	}
	for _, edit := range slices.Backward(e.edits) {
		v, last := e.root.at(edit.Path...), len(edit.Path)-1
		if edit.Wrote == "" || v == nil || edit.Wrote != sumJSON(v.String()) {
			continue
		}
		parent := e.root.at(edit.Path[:last]...)
		if edit.Before != nil && json.Valid([]byte(*edit.Before)) {
			parent.set(edit.Path[last], *edit.Before)
			continue
		}
		parent.drop(edit.Path[last])
		e.prune(edit.Path[:last]...)
	}
	if e.known([]string{}) >= 0 && len(e.root.members) == 0 {
		return nil, nil
	}
	return e.root.in(e.text), nil
}

// prune removes the container under path if it is empty and was not so before ccc came, and then what holds it.
func (e *settingsEditor) prune(path ...string) {
	for ; len(path) > 0 && len(e.root.at(path...).members) == 0; path = path[:len(path)-1] {
		if i := e.known(path); i >= 0 && e.edits[i].wasThere() {
			return
		}
		e.root.at(path[:len(path)-1]...).drop(path[len(path)-1])
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
	for _, path := range d.settingsFiles() {
		text, _ := readUserFile(path)
		var settings struct{ StatusLine json.RawMessage }
		_ = json.Unmarshal(unmarked(text), &settings)
		if own, _ := ownStatusLine(settings.StatusLine); own {
			fmt.Printf("%s: its statusLine still calls ccc: take it out\n", path)
		}
	}
	for _, file := range []keptFile{keptPrompt(d), keptCommand(d)} {
		if done, err = file.remove(d, in); err != nil {
			return fmt.Errorf("removing %s: %w", file.path, err)
		} else if done != "" {
			fmt.Printf("%s: %s\n", file.path, done)
		}
	}
	return errors.Join(removeFile(d.installedFile()), removeFile(d.lockFile()))
}
