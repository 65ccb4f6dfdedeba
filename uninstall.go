package main

// ccc uninstall undoes what launches did in Claude Code's directory. What a
// launch changes in settings.json is recorded beside it, because only the first
// launch sees what was there before.

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// createdFiles are the files that launches make for the user to edit, with what
// this ccc writes there.
func createdFiles(p places) []createdFile {
	return []createdFile{
		{filepath.Join(p.ccc, promptName), defaultPrompt},
		{p.commandFile(), commandText},
	}
}

type createdFile struct{ path, content string }

// uninstall undoes what launches did and says what became of each file. State
// is the user's history: only --purge removes it.
func uninstall(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("uninstall", flag.ContinueOnError)
	purge := flags.Bool("purge", false, "")
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return err
	}
	p, err := findPlaces("")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	done, err := removeHooks(p, hookCommand(self))
	if err != nil {
		return fmt.Errorf("removing the hooks: %w", err)
	}
	fmt.Fprintf(stdout, "%s: %s\n", p.settingsFile(), done)
	for _, file := range createdFiles(p) {
		if done, err = file.remove(p); err != nil {
			return fmt.Errorf("removing %s: %w", filepath.Base(file.path), err)
		} else if done != "" {
			fmt.Fprintf(stdout, "%s: %s\n", file.path, done)
		}
	}
	// Where ccc's directory is not Claude Code's, it has a lock of its own.
	if err := removeFile(filepath.Join(p.ccc, lockName)); err != nil {
		return err
	}
	if *purge {
		return stateDir(p.state).purge(stdout)
	}
	if _, err := os.Stat(p.state); err == nil {
		fmt.Fprintf(stdout, "%s: kept; to remove it too: ccc uninstall --purge\n", p.state)
	}
	return nil
}

// removeFile removes the file at path if there is one.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove removes the file if it is as ccc, this one or an older one, wrote it,
// and its directory if that is empty then and none of the places. It returns
// what became of the file, "" when there is none.
func (f createdFile) remove(p places) (done string, err error) {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	const edited = "kept: it is not as ccc wrote it"
	if !info.Mode().IsRegular() {
		return edited, nil
	}
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	if string(content) != f.content && !stateDir(p.state).wrote(f.path, content) {
		return edited, nil
	}
	if err := os.Remove(f.path); err != nil {
		return "", err
	}
	if dir := filepath.Dir(f.path); dir != p.claude && dir != p.ccc {
		_ = os.Remove(dir) // refused unless empty
	}
	return "removed", nil
}

// removeHooks takes ccc's edits out of settings.json and returns what became of
// the file, for people. The record and the lock go too.
func removeHooks(p places, command string) (done string, err error) {
	unlock, err := lockFile(p.lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nothingThere, nil // there is not even the directory
	}
	if err != nil {
		return "", err
	}
	defer unlock()
	sweepTemporary(p.settingsFile(), p.formerFile())
	if done, err = undoEdits(p, command); err != nil {
		return "", err
	}
	return done, errors.Join(removeFile(p.formerFile()), removeFile(p.lockFile()))
}

const nothingThere = "holds nothing of ccc's"

func undoEdits(p places, command string) (done string, err error) {
	path := p.settingsFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nothingThere, nil
	}
	if err != nil {
		return "", err
	}
	edited, err := withoutEdits(text, command, readFormer(p))
	switch {
	case err != nil:
		return "", withHint(fmt.Errorf("%s: %w", path, err), "ccc left the file as it was; mend it and try again")
	case edited == nil:
		target, err := followLinks(path)
		if err != nil {
			return "", err
		}
		return "removed: ccc made it, and nothing else is in it", os.Remove(target)
	case hasOwnHooks(edited, command):
		done = "as before the first launch, with the hooks of an older ccc; to take these out too: ccc uninstall"
	case bytes.Equal(edited, text):
		return nothingThere, nil
	default:
		done = "ccc's part taken out"
	}
	return done, replaceFile(path, edited, true)
}

// former is what settings.json held in the places that ccc edited. That is white
// space, switches and ccc's own entries; a value that could be secret is never in
// it, and of what ccc wrote only the hash.
type former struct {
	Command string                          `json:"command"`     // the hook command of the last launch
	Places  []formerPlace                   `json:"places"`      // each path once
	Older   map[string][]map[string]*string `json:"older_hooks"` // by event: members of ccc's entries that were there first
}

// formerPlace is one place that ccc edited. The empty path is the whole file.
type formerPlace struct {
	Path []string `json:"path"`
	// Raw is the text that was there, null for none.
	Raw *string `json:"raw"`
	// Wrote is the hash of the value that ccc put there. Without it the place is
	// an object or array that ccc added to, undone when it is empty again.
	Wrote string `json:"wrote,omitempty"`
}

// formerFile is beside settings.json, not in the state directory, because it is
// about that one file, whichever state directory a launch had.
func (p places) formerFile() string { return filepath.Join(p.claude, ".ccc-installed.json") }

// readFormer reads the record of the launches so far; one that can't be read is
// as good as none.
func readFormer(p places) *former {
	text, _ := os.ReadFile(p.formerFile())
	return parseFormer(text)
}

func parseFormer(text []byte) *former {
	f := new(former)
	if json.Unmarshal(text, f) != nil {
		f = new(former)
	}
	if f.Older == nil {
		f.Older = map[string][]map[string]*string{}
	}
	return f
}

func (f *former) write(p places) error {
	return replaceFile(p.formerFile(), append(encodeJSON(f), '\n'), true)
}

// note records the edit that makes edited of text, nil for no file. What the
// edit leaves alone is as an earlier one left it, and so is its record.
func (f *former) note(text, edited []byte, command string) {
	if command != "" {
		f.Command = command
	}
	f.noteOlder(text)
	// ccc's entries are known as such; what else is new is told by comparison.
	before, after := text, edited
	for _, wanted := range wantedHooks("", 0) {
		before = withoutEntries(before, wanted.event, f.Command, nil)
		after = withoutEntries(after, wanted.event, f.Command, nil)
	}
	oldRoot, _ := parseJSON(before)
	newRoot, _ := parseJSON(after)
	if root, err := parseJSON(text); err != nil || root.isEmpty('{') {
		place := formerPlace{Path: []string{}, Raw: rawText(text, text != nil)}
		if newRoot.isEmpty('{') {
			place.Wrote = hashJSON(edited) // a blank file was filled in with nothing
		}
		f.keep(place, text, root)
	}
	f.compare(before, after, oldRoot, newRoot, nil)
}

// noteOlder records, the first time, the entries of ccc's that text has already.
func (f *former) noteOlder(text []byte) {
	for _, wanted := range wantedHooks("", 0) {
		own := ownEntries(text, hooksIn(text).member(wanted.event), f.Command)
		older, known := f.Older[wanted.event]
		if !known {
			for _, o := range own {
				members := map[string]*string{}
				for _, m := range wanted.members {
					members[m.key] = rawAt(text, o.entry.member(m.key))
				}
				older = append(older, members)
			}
		}
		f.Older[wanted.event] = older[:min(len(older), len(own))]
	}
}

// compare records the places below path where the object now, of after, differs
// from the object old, of before; old may be nil.
func (f *former) compare(before, after []byte, old, now *jsonValue, path []string) {
	for _, m := range now.members {
		at := append(slices.Clone(path), m.key)
		old, now := old.member(m.key), now.member(m.key)
		raw := after[now.start:now.end]
		changed := old == nil || !bytes.Equal(before[old.start:old.end], raw)
		switch {
		case now.kind == '{' || now.isEmpty('['):
			if changed && (old == nil || old.isEmpty(now.kind)) {
				f.keep(formerPlace{Path: at, Raw: rawAt(before, old)}, before, old)
			}
			f.compare(before, after, old, now, at)
		case changed:
			f.keep(formerPlace{Path: at, Raw: rawAt(before, old), Wrote: hashJSON(raw)}, before, old)
		}
	}
}

// keep records place instead of what was known of it. If old, what stood there
// now, was ccc's too, what was there before that still counts.
func (f *former) keep(place formerPlace, text []byte, old *jsonValue) {
	i := slices.IndexFunc(f.Places, func(p formerPlace) bool { return slices.Equal(p.Path, place.Path) })
	if i < 0 {
		f.Places = append(f.Places, place)
		return
	}
	// A whole file that is empty was emptied by the user, unless ccc left it so.
	known := len(place.Path) > 0 || f.Places[i].Wrote != ""
	if old != nil && known && f.Places[i].holds(text, old) {
		place.Raw = f.Places[i].Raw
	}
	f.Places[i] = place
}

// holds tells whether v, found at the place in text, is what ccc left there.
func (p formerPlace) holds(text []byte, v *jsonValue) bool {
	if p.Wrote != "" {
		return hashJSON(text[v.start:v.end]) == p.Wrote
	}
	return v.isEmpty('{') || v.isEmpty('[')
}

// hashJSON is the same for two texts of a value that differ in white space only.
func hashJSON(value []byte) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, value)
	return checksum(compact.Bytes())
}

func rawText(text []byte, known bool) *string {
	if !known {
		return nil
	}
	raw := string(text)
	return &raw
}

// rawAt is the text of v, nil for none.
func rawAt(text []byte, v *jsonValue) *string {
	if v == nil {
		return nil
	}
	return rawText(text[v.start:v.end], true)
}

// withoutEdits takes ccc's entries out of text and puts back what f knows to
// have been in the places that ccc edited, unless somebody has put another thing
// there since. nil means that there was no file.
func withoutEdits(text []byte, command string, f *former) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	if _, err := settingsRoot(text); err != nil {
		return nil, err
	}
	if f.Command != "" {
		command = f.Command
	}
	undo := slices.Clone(f.Places)
	if len(undo) == 0 {
		if !hasOwnHooks(text, command) {
			return text, nil
		}
		undo = unrecorded()
	}
	for _, wanted := range wantedHooks(command, 0) {
		text = withoutEntries(text, wanted.event, command, f.Older[wanted.event])
	}
	// What is inside goes before what it is in.
	slices.SortStableFunc(undo, func(a, b formerPlace) int { return len(b.Path) - len(a.Path) })
	for _, place := range undo {
		root, err := parseJSON(text)
		if err != nil {
			return nil, err
		}
		if len(place.Path) == 0 {
			if !root.isEmpty('{') {
				break
			}
			if place.Raw == nil {
				return nil, nil
			}
			return []byte(*place.Raw), nil
		}
		text = place.undo(text, root)
	}
	return text, nil
}

// unrecorded is what can be said of a settings.json that has ccc's entries and no
// record: false is what the switches are without being set, and containers that
// are empty without ccc's entries are nobody's.
func unrecorded() (places []formerPlace) {
	for _, key := range mutingKeys {
		places = append(places, formerPlace{Path: []string{key}, Wrote: hashJSON([]byte("false"))})
	}
	for _, wanted := range wantedHooks("", 0) {
		places = append(places, formerPlace{Path: []string{"hooks", wanted.event}})
	}
	return append(places, formerPlace{Path: []string{"hooks"}})
}

// undo puts back what was at the place if what is there now is ccc's.
func (p formerPlace) undo(text []byte, root *jsonValue) []byte {
	last := len(p.Path) - 1
	object := root
	for _, key := range p.Path[:last] {
		object = object.member(key)
	}
	if v := object.member(p.Path[last]); v == nil || !p.holds(text, v) {
		return text
	}
	return restoreMember(text, object, p.Path[last], p.Raw)
}

// restoreMember puts raw back under key of object; nil takes the member out.
func restoreMember(text []byte, object *jsonValue, key string, raw *string) []byte {
	old := object.member(key)
	switch {
	case raw == nil:
		return removeMember(text, object, key)
	case old == nil:
		return setMember(text, object, key, []byte(*raw))
	}
	return splice(text, old.start, old.end, []byte(*raw))
}

// withoutEntries takes ccc's entries out of the array of event, but for the
// first ones, which get back the members that they had as older.
func withoutEntries(text []byte, event, command string, older []map[string]*string) []byte {
	for {
		groups := hooksIn(text).member(event)
		own := ownEntries(text, groups, command)
		if len(own) <= len(older) {
			break
		}
		if o := own[len(own)-1]; len(o.hooks.items) > 1 {
			text = removeItem(text, o.hooks, o.index)
		} else {
			text = removeItem(text, groups, o.groupIndex)
		}
	}
	for i, members := range older {
		for key, raw := range members {
			if own := ownEntries(text, hooksIn(text).member(event), command); i < len(own) {
				text = restoreMember(text, own[i].entry, key, raw)
			}
		}
	}
	return text
}
