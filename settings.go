package main

// Claude Code's settings.json: what a launch puts in and uninstall takes out. Bytes that are not ccc's stay as they are.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutingKeys keep the user's hooks from running when one of them is true. Supervisor Mode keeps them false.
var mutingKeys = []string{"disableAllHooks", "allowManagedHooksOnly"}

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

// wantedHooks returns the groups whose entries have that command, for reviews of that many seconds. A reviewing hook gets a
// minute more, and never less than 600 seconds; recording a prompt takes milliseconds.
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

// ownProgram returns the program of a hook command of ccc's: self, or one of ccc's names wherever it is; "" for any other
// command. stays tells that the user has written it with a variable or a ~, and that it leads to self.
func ownProgram(command, self string) (program string, stays bool) {
	call := hookCall().FindStringSubmatch(command)
	switch {
	case command == hookCommand(self):
		return self, true
	case call == nil:
		return "", false
	}
	word := strings.Trim(call[1], `"'`)
	if !cccName().MatchString(filepath.Base(word)) {
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

// reaches tells whether a matcher, names or a regular expression, lets calls of the tool through; "" is an event without one.
func reaches(matcher, tool string) bool {
	isOne, _ := regexp.MatchString(matcher, tool)
	isNames := strings.Trim(matcher, letters+digits+"_|") == ""
	return tool == "" || matcher == "" || matcher == "*" || slices.Contains(strings.Split(matcher, "|"), tool) || isOne && !isNames
}

// installSettings makes settings.json hold what it lacks of the settings of ccc.json and, if self is given, the hooks that
// call it and nothing that mutes them. A file that needs no change is not written.
func installSettings(d dirs, c *config, self string, in *installation) error {
	e, err := readSettings(d)
	if err != nil {
		return err
	}
	e.edits = in.Edits
	if e.install(c, self); !e.isChanged() {
		return nil
	}
	// The record is written before the file: if ccc dies in between, uninstall skips the edits that did not happen.
	in.Edits = e.edits
	if err := in.write(d); err != nil {
		return err
	}
	return replaceFile(d.settingsFile(), e.text, true)
}

type settingsEditor struct {
	isNew        bool // there was no file
	before, text []byte
	root         *jsonValue // of text
	edits        []settingsEdit
}

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

// editSettings takes the text of a settings.json, nil for a missing one. A blank one counts as {}, as it does for Claude
// Code. What is not JSON, or of a shape that leaves no safe place for hooks, is refused.
func editSettings(text []byte) (*settingsEditor, error) {
	e := &settingsEditor{isNew: text == nil}
	if isBlank(text) {
		text = slices.Concat(bytes.TrimSpace(text), []byte("{}\n")) // behind a byte order mark, if there is one
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	e.before, e.text, e.root = text, text, root
	errs := []error{expectKind(text, root, '{', "the file"), expectKind(text, root.at("hooks"), '{', "hooks")}
	for _, wanted := range wantedHooks("", 0) {
		errs = append(errs, expectKind(text, root.at("hooks", wanted.event), '[', "hooks."+wanted.event))
	}
	return e, cmp.Or(errs...)
}

// install does in e what installSettings does in the file, and notes all edits but those of ccc's own entries.
func (e *settingsEditor) install(c *config, self string) {
	if e.isNew {
		e.note(settingsEdit{Path: []string{}})
	}
	if wanted, _ := parseJSON(c.Settings); wanted != nil {
		e.fill(wanted)
	}
	if self == "" {
		return
	}
	for _, key := range mutingKeys {
		if v := e.root.at(key); v == nil || v.raw != "false" {
			e.set("false", key)
		}
	}
	for _, wanted := range wantedHooks(hookCommand(self), c.Supervisor.TimeoutSeconds) {
		e.addHook(wanted, self)
	}
}

func (e *settingsEditor) isChanged() bool { return !bytes.Equal(e.text, e.before) }

func (e *settingsEditor) replace(text []byte) {
	e.text = text
	e.root, _ = parseJSON(text)
}

// known returns the edit of a path, nil for none.
func (e *settingsEditor) known(path []string) *settingsEdit {
	for i := range e.edits {
		if slices.Equal(e.edits[i].Path, path) {
			return &e.edits[i]
		}
	}
	return nil
}

// note records an edit, in the place of an older one of its path.
func (e *settingsEditor) note(edit settingsEdit) {
	if known := e.known(edit.Path); known != nil {
		*known = edit
	} else {
		e.edits = append(e.edits, edit)
	}
}

// put puts value under path, and notes which containers on the way there are empty, so that uninstall leaves them.
func (e *settingsEditor) put(value string, path ...string) {
	for depth := 1; depth < len(path); depth++ {
		switch v, known := e.root.at(path[:depth]...), e.known(path[:depth]); {
		case v == nil && known != nil:
			known.Before = nil // somebody has removed it, and now it is ccc's
		case v != nil && len(v.members) == 0 && known == nil:
			e.note(settingsEdit{Path: path[:depth], Before: &v.raw})
		}
	}
	e.replace(setJSON(e.text, value, path...))
}

// set is put for a value that uninstall takes back. It notes what stood there before ccc's.
func (e *settingsEditor) set(value string, path ...string) {
	edit := settingsEdit{Path: path, Wrote: sumJSON(value)}
	if old := e.root.at(path...); old != nil {
		edit.Before = &old.raw
		if known := e.known(path); known != nil && known.Wrote == sumJSON(old.raw) {
			edit.Before = known.Before
		}
	}
	e.put(value, path...)
	e.note(edit)
}

// take removes what is under path, and then what is empty and was not so before ccc came.
func (e *settingsEditor) take(path ...string) {
	for keep := false; !keep; {
		e.replace(dropJSON(e.text, path...))
		path = path[:len(path)-1]
		edit := e.known(path)
		keep = len(path) == 0 || len(e.root.at(path...).members) > 0 || edit != nil && edit.Wrote == "" && edit.Before != nil
	}
}

// fill adds the members of wanted that the object under path lacks. Objects are merged; what is there stays as it is.
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

// addHook puts the wanted entry in the place of every entry of ccc's under its event, and adds it where there is none.
func (e *settingsEditor) addHook(wanted wantedHook, self string) {
	found := false
	for _, own := range e.ownEntries(wanted.event, self) {
		found = found || reaches(own.matcher, wanted.Matcher)
		entry := wanted.Hooks[0]
		if own.stays {
			entry.Command = own.value.at("command").str()
		}
		if text := string(encodeJSON(entry)); !sameJSON(text, own.value.raw) { // a member more, such as async, may change all
			e.replace(setJSON(e.text, text, own.path...))
		}
	}
	group, path := string(encodeJSON(wanted)), []string{"hooks", wanted.event}
	switch groups := e.root.at(path...); {
	case found:
	case groups == nil:
		e.put("["+group+"]", path...)
	default:
		e.put(group, append(path, strconv.Itoa(len(groups.members)))...)
	}
}

type ownEntry struct {
	path    []string // hooks, event, index of the group, hooks, index
	value   *jsonValue
	matcher string // of its group
	program string
	stays   bool // as ownProgram has it
}

// ownEntries finds ccc's hook entries among the matcher groups of event.
func (e *settingsEditor) ownEntries(event, self string) (entries []ownEntry) {
	for _, group := range e.root.at("hooks", event).items() {
		for _, item := range group.value.at("hooks").items() {
			program, stays := ownProgram(item.value.at("command").str(), self)
			if path := []string{"hooks", event, group.key, "hooks", item.key}; program != "" {
				entries = append(entries, ownEntry{path, item.value, group.value.at("matcher").str(), program, stays})
			}
		}
	}
	return entries
}

// installedHooks are ccc's entries in a settings.json: the programs that they call, the least timeout that they have for an
// event, and the events for which none of the wanted ones is there.
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
			isThere = isThere || reaches(own.matcher, wanted.Matcher)
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

// restore takes out ccc's entries and puts back what stood in the places that ccc set, unless somebody has put another thing
// there since. It tells whether that changed anything.
func (e *settingsEditor) restore(self string) bool {
	for _, wanted := range wantedHooks("", 0) {
		for own := e.ownEntries(wanted.event, self); len(own) > 0; own = e.ownEntries(wanted.event, self) {
			path := own[0].path
			if len(e.root.at(path[:4]...).members) == 1 {
				path = path[:3] // the group was there for this entry
			}
			e.take(path...)
		}
	}
	for _, edit := range slices.Backward(e.edits) {
		v := e.root.at(edit.Path...)
		switch {
		case edit.Wrote == "" || v == nil || edit.Wrote != sumJSON(v.raw):
		case edit.Before != nil && json.Valid([]byte(*edit.Before)):
			e.replace(setJSON(e.text, *edit.Before, edit.Path...))
		default:
			e.take(edit.Path...)
		}
	}
	return e.isChanged()
}

// An installation is the record (.ccc-installed.json) of what ccc has put where, without a value that could be secret.
type installation struct {
	Edits []settingsEdit    `json:"places"` // of settings.json, one for each path, the latest last
	Files map[string]string `json:"files"`  // by path: the checksum of what ccc wrote there
}

// A settingsEdit is one place of settings.json: a value that ccc set, or a container that was empty before.
type settingsEdit struct {
	Path   []string `json:"path"`            // the keys that lead to it; none: the whole file, which ccc made
	Before *string  `json:"raw"`             // what was there, null for nothing
	Wrote  string   `json:"wrote,omitempty"` // the checksum of the value that ccc set; "" for a container
}

// withUserFiles calls use with the record of the launches so far, under the lock. It makes Claude Code's directory.
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
	if err != nil { // without it uninstall would not know what stood there before
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

// sumJSON is a checksum that is the same for two texts of a value that differ in white space only.
func sumJSON(value string) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, []byte(value))
	return checksum(compact.Bytes())
}

// A keptFile is one that launches create, and bring up to date and into the present language until the user edits it.
type keptFile struct {
	path string
	text words
}

// shippedBefore are the checksums of the texts of ccc 1.0.0, SUPERVISOR.md and /supervisor, which recorded them in
// the state directory, and of the SUPERVISOR.md of 1.1.0 in both languages, where its record is lost.
var shippedBefore = []string{"ab81fdc77ef2f1b91a5e07f8adfc94ce", "81466e5a8fa0ed81b0b6f058c0c34057",
	"60c095a1a7515451540379d7d2f2a208", "52fb61c6dd8e3756e1b1085876d1e512"}

// isOurs tells whether content, found at the file's path, is what a ccc wrote.
func (f keptFile) isOurs(in *installation, content []byte) bool {
	sum := checksum(content)
	return string(content) == f.text.zh || string(content) == f.text.en || in.Files[f.path] == sum || slices.Contains(shippedBefore, sum)
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

// remove removes the file if it is as a ccc wrote it and no link, and commands/ if that is empty then. It returns what became
// of the file, "" when there is none.
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
