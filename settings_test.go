package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const ownHooks = `  "disableAllHooks": false,
  "allowManagedHooksOnly": false,
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/bin/ccc supervisor-hook",
            "timeout": 600,
            "statusMessage": "[SUPERVISOR] 正在审查工作..."
          }
        ]
      }
    ],
    "PreToolUse": [
      {
        "matcher": "AskUserQuestion",
        "hooks": [
          {
            "type": "command",
            "command": "/bin/ccc supervisor-hook",
            "timeout": 600,
            "statusMessage": "[SUPERVISOR] 正在审查工作..."
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/bin/ccc supervisor-hook",
            "timeout": 10
          }
        ]
      }
    ]
  }
`

const (
	stopEntry   = `{"type":"command","command":"/bin/ccc supervisor-hook","timeout":600,"statusMessage":"[SUPERVISOR] 正在审查工作..."}`
	stopGroup   = `{"hooks":[` + stopEntry + `]}`
	askGroup    = `{"matcher":"AskUserQuestion","hooks":[` + stopEntry + `]}`
	promptGroup = `{"hooks":[{"type":"command","command":"/bin/ccc supervisor-hook","timeout":10}]}`
	unmuted     = `"disableAllHooks":false,"allowManagedHooksOnly":false`
	otherHooks  = `"PreToolUse":[` + askGroup + `],"UserPromptSubmit":[` + promptGroup + `]`
	compact     = `{` + unmuted + `,"hooks":{"Stop":[` + stopGroup + `],` + otherHooks + `}}`
)

// withStop is settings.json with these groups, JSON, under Stop and all else in
// place.
func withStop(groups ...string) string {
	return `{` + unmuted + `,"hooks":{"Stop":[` + strings.Join(groups, ",") + `],` + otherHooks + `}}`
}

// withQuestion is settings.json with these groups under PreToolUse.
func withQuestion(groups ...string) string {
	return `{` + unmuted + `,"hooks":{"Stop":[` + stopGroup + `],"PreToolUse":[` + strings.Join(groups, ",") + `],"UserPromptSubmit":[` + promptGroup + `]}}`
}

func TestSettingsHooks(t *testing.T) {
	bashGroup := strings.Replace(askGroup, "AskUserQuestion", "Bash", 1)
	const (
		ownKeys      = "{\n  \"z\": 12345678901234567890.50e+3,\n  \"a\" :  \"<&>\\u00e9\\/\""
		sayDone      = `{"hooks":[{"type":"command","command":"say done"}]}`
		besideOthers = `{"hooks":[{"command":"a","type":"command"},{"command":"/bin/ccc supervisor-hook","x":1,"type":"command",` +
			`"timeout":600,"statusMessage":"[SUPERVISOR] 正在审查工作..."}]}`
		someoneElses = `{"hooks":[{"type":"command","command":"wrap /bin/ccc supervisor-hook"},` +
			`{"type":"command","command":"/bin/other supervisor-hook"}]}`
		oddShapes = `1,{"hooks":{}},{"hooks":[null,{"command":5}]},{"hooks":{"a":{"command":"/old/ccc supervisor-hook"}}}`
	)
	tests := []struct{ name, before, after string }{
		{"missing", "", "{\n" + ownHooks + "}\n"},
		{"blank", " \n", "{\n" + ownHooks + "}\n"},
		{"empty", "{}\n", "{\n" + ownHooks + "}\n"},
		{"empty_spaced", "{ \n }", "{\n" + ownHooks + "}"},
		{"complete", "{\n" + ownHooks + "}\n", "{\n" + ownHooks + "}\n"},
		{"complete_compact", compact, compact},
		{"other_keys_kept", ownKeys + "\n}\n", ownKeys + ",\n" + ownHooks + "}\n"},
		{"tabs", "{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n" + strings.ReplaceAll(ownHooks, "  ", "\t") + "}\n"},
		{"four_spaces", "{\n    \"a\": 1\n}\n",
			"{\n    \"a\": 1,\n" + strings.ReplaceAll(ownHooks, "  ", "    ") + "}\n"},
		{"crlf", "{\r\n  \"a\": 1\r\n}\r\n",
			"{\r\n  \"a\": 1,\r\n" + strings.ReplaceAll(ownHooks, "\n", "\r\n") + "}\r\n"},
		{"one_line", `{"a":1}`, `{"a":1,` + strings.TrimPrefix(compact, "{")},
		{"muted", strings.ReplaceAll(compact, "false", "true"), compact},
		{"muted_strangely", strings.Replace(strings.Replace(compact, "false", "null", 1), "false", `"no"`, 1), compact},
		{"question_elsewhere", withQuestion(bashGroup), withQuestion(bashGroup, askGroup)},
		{"question_first_of_two", withQuestion(askGroup, bashGroup), withQuestion(askGroup, bashGroup)},
		{"question_among_others", withQuestion(strings.Replace(askGroup, `"AskUserQuestion"`, `"Bash|AskUserQuestion"`, 1)),
			withQuestion(strings.Replace(askGroup, `"AskUserQuestion"`, `"Bash|AskUserQuestion"`, 1))},
		{"question_of_all", withQuestion(strings.Replace(askGroup, "AskUserQuestion", "*", 1)), withQuestion(strings.Replace(askGroup, "AskUserQuestion", "*", 1))},
		{"question_without_matcher", withQuestion(stopGroup), withQuestion(stopGroup)},
		{"other_hooks_kept", withStop(sayDone), withStop(sayDone, stopGroup)},
		{"empty_events", `{` + unmuted + `,"hooks":{"Stop":[],"PreToolUse":[],"UserPromptSubmit":[]}}`, compact},
		{"older_path", strings.ReplaceAll(compact, "/bin/ccc", "/old/go/bin/ccc"), compact},
		{"older_quoted_path", strings.ReplaceAll(compact, "/bin/ccc", "'/old place/ccc'"), compact},
		{"older_timeout", strings.Replace(compact, `"timeout":600`, `"timeout":60`, 1), compact},
		{"older_without_status",
			strings.ReplaceAll(compact, `,"statusMessage":"[SUPERVISOR] 正在审查工作..."`, ``), compact},
		{"older_beside_others", withStop(strings.Replace(besideOthers, "/bin/", "/o/", 1)), withStop(besideOthers)},
		{"escapes_are_no_change", strings.ReplaceAll(compact, "/bin/ccc", `\/bin\/ccc`),
			strings.ReplaceAll(compact, "/bin/ccc", `\/bin\/ccc`)},
		{"someone_elses_hook_kept", withStop(someoneElses, stopGroup), withStop(someoneElses, stopGroup)},
		{"odd_shapes_beside_kept", withStop(oddShapes, stopGroup), withStop(oddShapes, stopGroup)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := withHooks([]byte(test.before), 540)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
			again, err := withHooks(got, 540)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

func TestSettingsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"trailing_comma", "{\n  \"a\": 1,\n}", "line 3, column 1: "},
		{"truncated", "{\n  \"a\": ", "line 2, column 8: "},
		{"two_values", "{}\n{}", "line 2, column 1: "},
		{"comment", "// mine\n{}", "line 1, column 1: "},
		{"array", "[]", "line 1, column 1: the file is not an object"},
		{"hooks_array", "{\n \"hooks\": []}", "line 2, column 11: hooks is not an object"},
		{"hooks_null", `{"hooks":null}`, "hooks is not an object"},
		{"event_object", `{"hooks":{"Stop":{}}}`, "hooks.Stop is not an array"},
		{"second_event_null", `{"hooks":{"Stop":[],"PreToolUse":null}}`, "hooks.PreToolUse is not an array"},
		{"third_event_string", `{"hooks":{"UserPromptSubmit":"x"}}`, "hooks.UserPromptSubmit is not an array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := withHooks([]byte(test.text), 540)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestSettingsTimeouts(t *testing.T) {
	got, err := withHooks(nil, 1000)
	if err != nil || strings.Count(string(got), `"timeout": 1060`) != 2 || strings.Count(string(got), `"timeout": 10`+"\n") != 1 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestSettingsShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/local/bin/ccc": "/usr/local/bin/ccc", "/a b/ccc": "'/a b/ccc'", "/a'b/ccc": `'/a'\''b/ccc'`, "/$HOME/ccc": "'/$HOME/ccc'", "": "''", "/中/ccc": "'/中/ccc'",
	} {
		if got := shellQuote(word); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", word, got, want)
		}
		if command := hookCommand(word); filepath.Base(word) == "ccc" && !isOwnCommand(command, "") {
			t.Errorf("%s is not recognized", command)
		}
	}
}

func hooksPlan(reviewSeconds int) settingsPlan {
	return settingsPlan{self: "/bin/ccc", reviewSeconds: reviewSeconds}
}

// installHooks does what a launch does to settings.json.
func installHooks(d dirs, reviewSeconds int) error {
	return withInstallation(d, func(in *installation) error { return hooksPlan(reviewSeconds).install(d, in) })
}

// withHooks returns what a launch makes of a settings.json.
func withHooks(text []byte, reviewSeconds int) ([]byte, error) {
	edited, _, err := hooksPlan(reviewSeconds).apply(text)
	return edited, err
}

// installIn makes a directory of Claude Code's, with text as settings.json unless
// it is nil, and returns the path of that.
func installIn(t *testing.T, text []byte) (dirs, string) {
	t.Helper()
	p := dirs{claude: t.TempDir()}
	if text != nil {
		if err := os.WriteFile(p.settingsFile(), text, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return p, p.settingsFile()
}

func TestSettingsInstallFile(t *testing.T) {
	p, path := installIn(t, []byte(`{"a":1}`))
	if err := installHooks(p, 540); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v: the user's 0640 must stay", info.Mode(), err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if err := installHooks(p, 540); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); !info.ModTime().Equal(long.Truncate(time.Nanosecond)) {
		t.Errorf("a launch without a change wrote the file at %v", info.ModTime())
	}
}

func TestSettingsInstallNewFile(t *testing.T) {
	p, path := installIn(t, nil)
	if err := installHooks(p, 540); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestSettingsInstallLink(t *testing.T) {
	p, path := installIn(t, nil)
	dotfiles := t.TempDir()
	for _, exists := range []bool{false, true} {
		target := filepath.Join(dotfiles, "claude.json")
		os.Remove(path)
		os.Remove(target)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		if exists {
			if err := os.WriteFile(target, []byte(`{"mine":true}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := installHooks(p, 540); err != nil {
			t.Fatal(err)
		}
		if link, err := os.Readlink(path); err != nil || link != target {
			t.Errorf("the link is now %q, %v", link, err)
		}
		text, err := os.ReadFile(target)
		if err != nil || !strings.Contains(string(text), "supervisor-hook") || strings.Contains(string(text), "mine") != exists {
			t.Errorf("the target holds %s, %v", text, err)
		}
	}
}

func TestSettingsInstallRefusedFileUntouched(t *testing.T) {
	p, path := installIn(t, []byte(`{"hooks":[],}`))
	before, _ := os.Stat(path)
	err := installHooks(p, 540)
	if err == nil || !strings.Contains(err.Error(), path+": line 1, column 13: ") {
		t.Errorf("got %v", err)
	}
	after, _ := os.Stat(path)
	text, _ := os.ReadFile(path)
	if !after.ModTime().Equal(before.ModTime()) || string(text) != `{"hooks":[],}` {
		t.Errorf("the file was touched: %s", text)
	}
}

// Where settings.json can't be edited, a supervised launch is refused before anything is written, and any other starts
// claude; what ccc.json would add is missed with a warning.
func TestSettingsRefusedLaunch(t *testing.T) {
	const added = `{"settings":{"model":"m"}}`
	for _, test := range []struct{ flag, settings, config, code, stderr string }{
		{"--supervisor", `{"hooks": "mine"}`, added, "1", "settings.json: line 1, column 11: hooks is not an object"},
		{"--supervisor", "a directory", "{}", "1", "settings.json: is a directory"},
		{"", `{"hooks": "mine"}`, added, "0", "warning: going on without the settings of ccc.json: "},
		{"", "a directory", added, "0", "warning: going on without the settings of ccc.json: "},
		{"", "a directory", "{}", "0", ""},
		{"", "{", "{}", "0", ""},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			box := newFakeBox(t)
			box.write(".claude/ccc.json", 0o600, test.config)
			if test.settings == "a directory" {
				box.write(".claude/settings.json/file", 0o600, "")
			} else {
				box.setSettings(test.settings)
			}
			got := box.run(10*time.Second, "", "sh", "-c", "ccc "+test.flag+" -p hi")
			if fmt.Sprint(got.code) != test.code || !strings.Contains(got.stderr, test.stderr) || (got.stderr == "") != (test.stderr == "") {
				t.Errorf("%+v", got)
			}
			if started := box.read("../fake/agent-1/args") != ""; started != (test.code == "0") {
				t.Errorf("claude was started: %v", started)
			}
			files := slices.DeleteFunc(box.files(), func(name string) bool { return strings.HasSuffix(name, lockName) })
			if len(files) != 2 || box.read(".claude/ccc.json") != test.config {
				t.Errorf("something was written: %q", files)
			}
		})
	}
}

// Without a record of it nothing is changed: uninstall could not undo it.
func TestSettingsRecordFirst(t *testing.T) {
	p, path := installIn(t, []byte(`{"a":1}`))
	if err := os.MkdirAll(filepath.Join(temporaryFor(p.installedFile()), "x"), 0o700); err != nil { // nothing can be put beside it
		t.Fatal(err)
	}
	err := installHooks(p, 540)
	if text, _ := os.ReadFile(path); err == nil || string(text) != `{"a":1}` {
		t.Errorf("%v: %s", err, text)
	}
}

func TestSettingsInstallConcurrent(t *testing.T) {
	p, path := installIn(t, []byte("{\n  \"a\": 1\n}\n"))
	var group sync.WaitGroup
	for i := range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := installHooks(p, 540+60*(i%2)); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	text, err := os.ReadFile(path)
	if err != nil || !json.Valid(text) || strings.Count(string(text), "supervisor-hook") != 3 {
		t.Errorf("%v\n%s", err, text)
	}
	left, _ := filepath.Glob(filepath.Join(p.claude, ".*tmp*"))
	if len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// FuzzSettingsHooks: what ccc did not put there stays, and a second time changes nothing.
func FuzzSettingsHooks(f *testing.F) {
	for _, seed := range []string{"", "{}", compact, "{\n" + ownHooks + "}", `{"hooks":{"Stop":[{"hooks":[]}]},"hooks":{}}`, "{\r\n\t\"a\" : [ ]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := withHooks([]byte(text), 540)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("not JSON: %q", got)
		}
		again, err := withHooks(got, 540)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("a second time: %v\n%q\n%q", err, got, again)
		}
		var before, after map[string]json.RawMessage
		json.Unmarshal([]byte(text), &before)
		json.Unmarshal(got, &after)
		for key, value := range before {
			if key != "hooks" && key != "disableAllHooks" && key != "allowManagedHooksOnly" && !bytes.Equal(value, after[key]) {
				t.Errorf("%q was %s, is %s", key, value, after[key])
			}
		}
	})
}
