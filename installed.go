package main

// What ccc has installed: the record of it, and the files that it keeps for the user to edit.

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// An installation is the record (.ccc-installed.json) of what ccc has put into Claude Code's directory and its own. No
// value that could be secret is in it.
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

// wasThere tells whether it is a container that was there, and empty.
func (e settingsEdit) wasThere() bool { return e.Wrote == "" && e.Before != nil }

// withUserFiles calls use with the record of the launches so far, under the lock on the user's files. It makes Claude
// Code's directory, and removes what a killed launch has left beside the files.
func withUserFiles(d dirs, use func(in *installation) error) error {
	if err := os.MkdirAll(d.claude, 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	sweepTemporary(d.installedFile(), d.settingsFile(), d.promptFile(), d.commandFile(), d.configFile())
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

// A keptFile is one that launches create for the user to edit, and bring up to date and into the present language
// as long as the user has not.
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

// keep writes the file if there is none, or if the one there is ccc's and of another text. One that the user has
// edited is left alone.
func (f keptFile) keep(d dirs, in *installation) error {
	content, err := readUserFile(f.path)
	missing := err == nil && content == nil
	if missing {
		err = os.MkdirAll(filepath.Dir(f.path), 0o700)
	}
	if err != nil || !missing && !f.isOurs(in, content) {
		return err
	}
	text := []byte(say(f.text))
	if missing || !bytes.Equal(content, text) {
		if err := replaceFile(f.path, text, true); err != nil {
			return err
		}
	}
	if sum := checksum(text); in.Files[f.path] != sum {
		in.Files[f.path] = sum
		return in.write(d)
	}
	return nil
}

// remove removes the file if it is as a ccc wrote it, and its directory if that is empty then and not one of ccc's.
// It returns what became of the file, "" when there is none.
func (f keptFile) remove(d dirs, in *installation) (done string, err error) {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	content := []byte(nil)
	if err == nil && info.Mode().IsRegular() {
		content, err = os.ReadFile(f.path)
	}
	if err != nil {
		return "", err
	}
	if !f.isOurs(in, content) {
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

// keptCommand is the file that makes /supervisor known to Claude Code. ccc's hook answers on, off and the bare
// word; a task goes through as it is.
func keptCommand(d dirs) keptFile { return keptFile{d.commandFile(), commandFile} }
