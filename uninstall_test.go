package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// uninstall runs ccc uninstall, which must succeed without a complaint.
func (box *sandbox) uninstall(args ...string) string {
	box.t.Helper()
	got := box.run(30*time.Second, "", append([]string{"ccc", "uninstall"}, args...)...)
	if got.code != 0 || got.stderr != "" {
		box.t.Fatalf("uninstall: %+v", got)
	}
	return got.stdout
}

// settingsFiles are what a user may have before the first launch.
var settingsFiles = map[string]string{
	"absent":           noFile,
	"zero_bytes":       "",
	"blank":            " \n\n",
	"empty":            "{}",
	"empty_spaced":     "{ }\n",
	"empty_lines":      "\n{\n\n}\n\n",
	"own_keys":         "{\n  \"model\": \"opus\",\n  \"z\": 12345678901234567890.50e+3,\n  \"a\" :  \"<&>\\u00e9\\/\"\n}\n",
	"own_hooks":        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
	"own_question":     `{"hooks":{"PreToolUse":[{"matcher":"AskUserQuestion","hooks":[]}], "Notification" : [ ]}}`,
	"muted":            "{\n  \"disableAllHooks\": true,\n  \"allowManagedHooksOnly\":  true\n}\n",
	"unmuted":          "{\"disableAllHooks\" : false}",
	"muted_strangely":  `{"disableAllHooks":{ "a":[1, 2] },"allowManagedHooksOnly":null}`,
	"empty_hooks":      "{\n  \"hooks\": {}\n}\n",
	"empty_hooks_wide": "{\"hooks\": {\n\t}, \"x\": 1}",
	"empty_stop":       "{\n    \"hooks\": {\n        \"Stop\": [],\n        \"PreToolUse\": [ ],\n        \"UserPromptSubmit\": [\n\n]\n    }\n}",
	"one_line":         `{"a":1,"b":[1,2]}`,
	"one_line_spaced":  `{ "a": 1, "b": {} }`,
	"tabs":             "{\n\t\"a\": 1\n}\n",
	"crlf":             "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n  }\r\n}\r\n",
	"mark":             "\ufeff{\n  \"a\": 1\n}\n",
	"mark_one_line":    "\ufeff{\"a\":{}}",
	"mark_empty":       "\ufeff{}\n",
	"mark_blank":       "\ufeff\n",
	"no_final_newline": "{\n  \"a\": 1\n}",
	"duplicate_keys":   `{"hooks":{"Stop":[]},"disableAllHooks":true,"hooks":{},"disableAllHooks":true}`,
	"older_ccc":        `{"hooks":{"Stop":[{"hooks":[{"command":"/old/ccc supervisor-hook","x":1,"type":"command","timeout": 60}]}]}}`,
	"older_beside_own": "{\n \"hooks\": {\n  \"Stop\": [ {\"hooks\": [\n{\"type\":\"command\",\"command\":\"true\"},\n{\"type\":\"command\",\"command\":\"'/old place/ccc' supervisor-hook\"} ]} ]}}\n",
}

// Whatever settings.json was, a launch and an uninstall leave it so, and nothing
// of ccc's beside it but the state.
func TestUninstall(t *testing.T) {
	for name, before := range settingsFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := newFakeBox(t)
			box.setSettings(before)
			os.Chmod(filepath.Join(box.home, ".claude/settings.json"), 0o640)
			box.launch()
			output := box.uninstall()
			older := strings.Contains(before, "supervisor-hook")
			if after := box.settings(); after != before && !older {
				t.Errorf("before\n%q\nafter\n%q", before, after)
			}
			// An older ccc's entries are ccc's.
			if older && (strings.Contains(box.settings(), "supervisor-hook") || strings.Contains(box.settings(), "[]") ||
				strings.Contains(box.settings(), `"true"`) != strings.Contains(before, `"true"`)) {
				t.Errorf("before\n%q\nafter\n%q", before, box.settings())
			}
			if info, err := os.Stat(filepath.Join(box.home, ".claude/settings.json")); err == nil && info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v", info.Mode())
			}
			var left []string
			for _, file := range box.files() {
				if !strings.HasPrefix(file, ".claude/ccc/") && file != ".claude/settings.json" {
					left = append(left, file)
				}
			}
			if len(left) != 0 || !strings.Contains(output, ".claude/ccc: kept; to remove it too: ccc uninstall --purge\n") {
				t.Errorf("left %q\n%s", left, output)
			}
			if _, err := os.Stat(filepath.Join(box.home, ".claude/commands")); err == nil {
				t.Error("commands/ is left")
			}
			// A second time finds nothing.
			after := box.settings()
			if output = box.uninstall(); box.settings() != after || !strings.Contains(output, nothingThere) {
				t.Errorf("a second time: %s\n%q", output, box.settings())
			}
		})
	}
}

// What happens to settings.json between the launch and the uninstall stays,
// unless it is ccc's doing.
func TestUninstallAfterEdits(t *testing.T) {
	replace := func(old, new string) func(*sandbox) {
		return func(box *sandbox) {
			box.t.Helper()
			text := box.settings()
			if !strings.Contains(text, old) {
				box.t.Fatalf("no %q in\n%s", old, text)
			}
			box.setSettings(strings.ReplaceAll(text, old, new))
		}
	}
	// As Claude Code does when it changes a setting of its own.
	rewrite := func(box *sandbox) {
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(box.settings()), "", "  "); err != nil {
			box.t.Fatal(err)
		}
		box.setSettings(out.String())
	}
	moved := func(box *sandbox) { replace(box.program()+" ", "'/old place/ccc' ")(box) }
	tests := []struct {
		name, before string
		between      func(*sandbox)
		want         string
	}{
		{"launched_twice", "{\n  \"a\": 1\n}\n", func(box *sandbox) { box.launch() }, "{\n  \"a\": 1\n}\n"},
		{"launched_by_older", "{}\n", func(box *sandbox) {
			moved(box)
			replace(`"timeout": 600`, `"timeout": 60`)(box)
			box.launch()
		}, "{}\n"},
		{"other_ccc_uninstalls", "{}\n", moved, "{}\n"},
		{"own_hook_beside", noFile, replace(`"Stop": [`, `"Stop": [{"hooks": []},`),
			"{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": []}\n    ]\n  }\n}\n"},
		{"own_hook_in_our_group", "{}",
			replace(`"UserPromptSubmit": [
      {
        "hooks": [`, `"UserPromptSubmit": [
      {
        "hooks": [
          {"type": "command", "command": "true"},`),
			"{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"true\"}\n        ]\n      }\n    ]\n  }\n}"},
		{"own_key_last", "", replace("\n  }\n}\n", "\n  },\n  \"model\": \"opus\"\n}\n"),
			"{\n  \"model\": \"opus\"\n}\n"},
		{"own_key_first", noFile, replace("{\n  \"disable", "{\n  \"model\": \"opus\",\n  \"disable"),
			"{\n  \"model\": \"opus\"\n}\n"},
		{"muted_since", "{}", replace(`"disableAllHooks": false`, `"disableAllHooks": true`),
			"{\n  \"disableAllHooks\": true\n}"},
		{"muted_before_and_since", "{\"disableAllHooks\": true}",
			replace(`"disableAllHooks": false`, `"disableAllHooks": true`), "{\"disableAllHooks\": true}"},
		{"muted_between_launches", "{}", func(box *sandbox) {
			replace(`"disableAllHooks": false`, `"disableAllHooks": true`)(box)
			box.launch()
		}, "{\n  \"disableAllHooks\": true\n}"},
		{"hooks_removed_between_launches", `{"disableAllHooks":true,"hooks":{}}`, func(box *sandbox) {
			box.setSettings(`{"a":1}`)
			box.launch()
		}, `{"a":1}`},
		{"emptied_between_launches", noFile, func(box *sandbox) {
			box.setSettings("{ }")
			box.launch()
		}, "{ }"},
		{"removed_by_hand", `{"hooks":{"Stop":[]}}`,
			func(box *sandbox) { os.Remove(filepath.Join(box.home, ".claude/settings.json")) }, noFile},
		{"replaced_by_hand", `{"hooks":{"Stop":[]}}`, func(box *sandbox) { box.setSettings(`{"a": 1}`) }, `{"a": 1}`},
		{"emptied_by_hand", `{"a":1}`, func(box *sandbox) { box.setSettings("") }, ""},
		{"rewritten", `{"disableAllHooks":true,"a":[1],"hooks":{}}`, rewrite,
			"{\n  \"disableAllHooks\": true,\n  \"a\": [\n    1\n  ],\n  \"hooks\": {}\n}"},
		{"record_lost", "{}\n",
			func(box *sandbox) { os.Remove(filepath.Join(box.home, ".claude/.ccc-installed.json")) }, "{}\n"},
		{"record_broken", "{\n  \"a\": 1\n}\n",
			func(box *sandbox) { box.write(".claude/.ccc-installed.json", 0o600, "{") }, "{\n  \"a\": 1\n}\n"},
		{"record_of_nothing", "{\n  \"a\": 1\n}\n", func(box *sandbox) {
			box.write(".claude/.ccc-installed.json", 0o600, `{"files":null}`)
			os.Remove(filepath.Join(box.home, ".claude/SUPERVISOR.md"))
			box.launch()
		}, "{\n  \"a\": 1\n}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newFakeBox(t)
			box.setSettings(test.before)
			box.launch()
			test.between(box)
			output := box.uninstall()
			if got := box.settings(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, test.want, output)
			}
		})
	}
}

// The settings that ccc.json fills in are ccc's too, until they are changed.
func TestUninstallFilled(t *testing.T) {
	t.Parallel()
	const config = `{"settings":{"permissions":{"defaultMode":"acceptEdits","allow":["Read"]},"model":"m","env":{"TOKEN":"SECRET"},"statusLine":{}}}`
	for before, change := range map[string]struct{ old, new, want string }{
		"{}\n":                     {"", "", "{}\n"},
		noFile:                     {"", "", noFile},
		"{\"permissions\": { }}":   {"", "", "{\"permissions\": { }}"},
		"{\"permissions\": {} }":   {`["Read"]`, `["Read", "Edit"]`, "{\"permissions\": {\"allow\": [\"Read\", \"Edit\"]} }"},
		"{ \"env\": {\"A\":\"\"}}": {`"m"`, `"n"`, "{ \"env\": {\"A\":\"\"}, \"model\": \"n\"}"},
	} {
		box := newFakeBox(t)
		box.setSettings(before)
		box.write(".claude/ccc.json", 0o600, config)
		box.run(30*time.Second, "", "ccc", "--", "--version")
		box.launch()
		if text := box.settings(); !strings.Contains(text, "SECRET") || !strings.Contains(text, change.old) {
			t.Fatalf("not filled: %s", text)
		} else if change.old != "" {
			box.setSettings(strings.Replace(text, change.old, change.new, 1))
		}
		for _, file := range box.files() {
			if file != ".claude/settings.json" && file != ".claude/ccc.json" && strings.Contains(box.read(file), "SECRET") {
				t.Errorf("%s holds a value of the user's", file)
			}
		}
		if output := box.uninstall(); box.settings() != change.want || strings.Contains(output, "SECRET") {
			t.Errorf("got\n%s\nwant\n%s\n%s", box.settings(), change.want, output)
		}
		if box.read(".claude/ccc.json") != config {
			t.Error("ccc.json was changed")
		}
	}
}

// A container that ccc filled in and the user has made a value of is the user's.
func TestUninstallFilledReplaced(t *testing.T) {
	box := newFakeBox(t)
	box.setSettings("{}\n")
	box.write(".claude/ccc.json", 0o600, `{"settings":{"statusLine":{},"permissions":{"allow":[]}}}`)
	box.launch()
	text := strings.NewReplacer(`"statusLine": {}`, `"statusLine": false`, `"allow": []`, `"allow": "none"`).Replace(box.settings())
	box.setSettings(text)
	box.uninstall()
	if got := strings.Join(strings.Fields(box.settings()), ""); got != `{"statusLine":false,"permissions":{"allow":"none"}}` {
		t.Errorf("settings.json is %s", got)
	}
}

func TestUninstallLink(t *testing.T) {
	for _, before := range []string{noFile, "{}\n"} {
		box := newFakeBox(t)
		target := filepath.Join(box.home, "dotfiles/claude.json")
		if before != noFile {
			box.write("dotfiles/claude.json", 0o600, before)
		}
		box.write("dotfiles/keep", 0o600, "")
		os.Mkdir(filepath.Join(box.home, ".claude"), 0o700)
		link := filepath.Join(box.home, ".claude/settings.json")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		box.launch()
		box.uninstall()
		if got, err := os.Readlink(link); err != nil || got != target {
			t.Errorf("the link is %q, %v", got, err)
		}
		if text, err := os.ReadFile(target); string(text) != strings.TrimPrefix(before, noFile) || (err != nil) != (before == noFile) {
			t.Errorf("the target holds %q, %v; before %q", text, err, before)
		}
	}
}

// A settings.json that can't be edited stops the uninstall before anything is done.
func TestUninstallRefused(t *testing.T) {
	box := newFakeBox(t)
	box.launch()
	box.setSettings("{\n  \"hooks\": {},\n}")
	before := box.files()
	got := box.run(30*time.Second, "", "ccc", "uninstall", "--purge")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "settings.json: line 3, column 1: ") || !strings.Contains(got.stderr, "correct it") {
		t.Errorf("got %+v", got)
	}
	if after := box.files(); !slices.Equal(after, before) {
		t.Errorf("files %q, were %q", after, before)
	}
}

func TestUninstallPurge(t *testing.T) {
	box := newFakeBox(t)
	box.launch()
	box.write(".claude/SUPERVISOR.md", 0o600, defaultPrompt.zh+"and be kind\n")
	box.write(".claude/ccc/supervisor-x.json.bad", 0o600, "{")
	box.write(".claude/ccc/hook-invocation.log.1", 0o600, "")
	box.write(".claude/ccc/.supervisor-x.json.ccc-tmp", 0o600, "")
	box.write(promptPath, 0o600, "{}")
	box.write(".claude/ccc/written.json", 0o600, "{}")
	box.write(".claude/ccc/clients.json", 0o600, "{}")
	box.write(".claude/ccc/notes.txt", 0o600, "mine")
	state := filepath.Join(box.home, ".claude/ccc")
	own := slices.DeleteFunc(box.files(), func(name string) bool {
		return filepath.Dir(name) != ".claude/ccc" || strings.HasSuffix(name, "notes.txt")
	})
	output := box.uninstall("--purge")
	if want := []string{".claude/SUPERVISOR.md", ".claude/ccc/notes.txt"}; !slices.Equal(box.files(), want) {
		t.Errorf("left %q, want %q", box.files(), want)
	}
	for _, want := range []string{"SUPERVISOR.md: kept: ", fmt.Sprintf("%s: %d files of ccc's removed, 1 of others kept", state, len(own))} {
		if !strings.Contains(output, want) {
			t.Errorf("it does not say %q:\n%s", want, output)
		}
	}
	os.Remove(filepath.Join(state, "notes.txt"))
	box.uninstall("--purge")
	if _, err := os.Stat(state); err == nil {
		t.Error("the state directory is left")
	}
}

// An older default of SUPERVISOR.md, unedited, is known by its hash.
func TestUninstallOlderPrompt(t *testing.T) {
	box := newFakeBox(t)
	path := filepath.Join(box.home, ".claude/SUPERVISOR.md")
	if err := keepFile(dirs{claude: filepath.Dir(path)}, path, "an older default"); err != nil {
		t.Fatal(err)
	}
	if output := box.uninstall(); !strings.Contains(output, path+": removed\n") || box.read(".claude/SUPERVISOR.md") != "" {
		t.Errorf("it says\n%s", output)
	}
}

// The /supervisor of ccc 1.0.0 is ccc's: it follows the language, and goes.
func TestUninstallFirstCommand(t *testing.T) {
	const first = "---\ndescription: 监督本会话：on 打开，off 关闭，也可以直接给出任务\nargument-hint: on | off | 任务\n---\n\n$ARGUMENTS\n"
	for _, launched := range []bool{false, true} {
		box := newFakeBox(t)
		box.write(".claude/commands/supervisor.md", 0o600, first)
		if launched {
			box.launch()
			if text := box.read(".claude/commands/supervisor.md"); text != commandFile.zh {
				t.Errorf("a launch left %q", text)
			}
		}
		if output := box.uninstall(); box.read(".claude/commands/supervisor.md") != "" {
			t.Errorf("it is left:\n%s", output)
		}
	}
}

// A link is the user's, whatever it leads to.
func TestUninstallLinkedPrompt(t *testing.T) {
	box := newFakeBox(t)
	box.launch()
	path := filepath.Join(box.home, ".claude/SUPERVISOR.md")
	box.write("dotfiles/SUPERVISOR.md", 0o600, defaultPrompt.zh)
	os.Remove(path)
	if err := os.Symlink("../dotfiles/SUPERVISOR.md", path); err != nil {
		t.Fatal(err)
	}
	if output := box.uninstall(); box.read(".claude/SUPERVISOR.md") != defaultPrompt.zh || !strings.Contains(output, path+": kept") {
		t.Errorf("it says\n%s", output)
	}
}

// A purge that fails says so.
func TestUninstallPurgeFails(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc", 0o600, "") // no directory
	if got := box.run(30*time.Second, "", "ccc", "uninstall", "--purge"); got.code != 1 || !strings.Contains(got.stderr, "ccc: ") || !strings.Contains(got.stderr, "not a directory") {
		t.Errorf("%+v", got)
	}
}

// The user's directories stay, empty as they were; commands/, which ccc made, goes.
func TestUninstallDirectoriesStay(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "CCC_CONFIG_DIR="+box.home+"/own", "CCC_WORK_DIR="+box.home+"/work")
	for _, dir := range []string{"own", ".claude"} {
		if err := os.Mkdir(filepath.Join(box.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	box.launch()
	box.uninstall("--purge")
	for dir, want := range map[string]bool{"own": true, ".claude": true, ".claude/commands": false, "work/ccc": false} {
		entries, err := os.ReadDir(filepath.Join(box.home, dir))
		if (err == nil) != want || dir == "own" && len(entries) != 0 {
			t.Errorf("%s: %v, holds %v", dir, err, entries)
		}
	}
}

func TestUninstallNothing(t *testing.T) {
	box := newFakeBox(t)
	if output := box.uninstall("--purge"); output != filepath.Join(box.home, ".claude/settings.json")+": "+nothingThere+"\n" {
		t.Errorf("it says %q", output)
	}
	entries, _ := os.ReadDir(box.home)
	if len(entries) != 0 {
		t.Errorf("it made %v", entries)
	}
}

// ccc.json may fill in nothing, which yet makes a file.
func TestUninstallFilledWithNothing(t *testing.T) {
	for _, before := range []string{noFile, "", "{ }"} {
		box := newFakeBox(t)
		box.setSettings(before)
		box.write(".claude/ccc.json", 0o600, `{"settings":{}}`)
		for _, args := range []string{"-- --version", "--supervisor -- --version"} {
			if got := box.run(30*time.Second, "", append([]string{"ccc"}, strings.Fields(args)...)...); got.code != 0 {
				t.Fatalf("%+v", got)
			}
		}
		if box.uninstall(); box.settings() != before {
			t.Errorf("before %q, after %q", before, box.settings())
		}
	}
}

// FuzzUninstall: what launches do to a text, uninstall undoes, by a record as it
// is on disk. White space in a container that was empty may differ.
func FuzzUninstall(f *testing.F) {
	f.Add("", "{}")
	f.Add(noFile, "{\"a\":{},\"hoo\xe3\xe3ks\":{\"Stop\":[]}}") // keys that are no UTF-8
	for _, text := range settingsFiles {
		f.Add(text, `{"permissions":{"defaultMode":"x","allow":[]},"b":{},"hooks":{"Stop":[]}}`)
	}
	f.Fuzz(func(t *testing.T, text, defaults string) {
		if !utf8.ValidString(text) {
			return // JSON is UTF-8; the record could not hold it
		}
		before, in := []byte(text), new(installation)
		if text == noFile {
			before = nil
		}
		now := before
		step := func(plan settingsPlan) {
			edited, edits, err := plan.apply(now)
			if err != nil || bytes.Equal(edited, now) {
				return
			}
			in.note(edits)
			record := encodeJSON(in)
			in, now = new(installation), edited
			if err := json.Unmarshal(record, in); err != nil {
				t.Fatal(err)
			}
		}
		root, err := parseJSON([]byte(defaults))
		if err == nil && root.kind == '{' && !hasKeyTwice(root) && !strings.Contains(defaults, "supervisor-hook") {
			step(settingsPlan{defaults: []byte(defaults)})
		}
		if strings.Contains(text, "supervisor-hook") {
			return // an older ccc's entries go too
		}
		for _, self := range []string{"/old/ccc", "/bin/ccc"} {
			step(settingsPlan{self: self, reviewSeconds: 540})
		}
		if bytes.Equal(now, before) {
			return
		}
		after, err := withoutSettings(now, in.Edits, "/bin/ccc")
		if err != nil || !sameBut(after, before) || (after == nil) != (before == nil) {
			t.Fatalf("%v\n%q was\n%q\nedited\n%q", err, after, before, now)
		}
	})
}

// sameBut tells whether two settings files are the same but for white space in
// containers that are empty.
func sameBut(a, b []byte) bool {
	empty := regexp.MustCompile(`([{\[])[ \t\r\n]+([}\]])`)
	return bytes.Equal(empty.ReplaceAll(a, []byte("$1$2")), empty.ReplaceAll(b, []byte("$1$2")))
}

// hasKeyTwice tells whether an object in v has a key twice. Filled in from such a
// ccc.json, the last of the two is all that is known of it.
func hasKeyTwice(v *jsonValue) bool {
	seen := map[string]bool{}
	for _, m := range v.members {
		if v.kind == '{' && seen[m.key] || hasKeyTwice(m.value) {
			return true
		}
		seen[m.key] = true
	}
	return false
}
