package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The entries of /bin/ccc, and a settings.json with them.
const (
	stopEntry = `{"type":"command","command":"/bin/ccc supervisor-hook","timeout":600,"statusMessage":"[SUPERVISOR] 正在审查工作"}`
	stopGroup = `{"hooks":[` + stopEntry + `]}`
	askEntry  = `{"type":"command","command":"/bin/ccc supervisor-hook","timeout":600,"statusMessage":"[SUPERVISOR] 正在审查提问"}`
	askGroup  = `{"matcher":"AskUserQuestion","hooks":[` + askEntry + `]}`
	noteGroup = `{"hooks":[{"type":"command","command":"/bin/ccc supervisor-hook","timeout":10}]}`
	unmuted   = `"disableAllHooks":false,"allowManagedHooksOnly":false`
	complete  = `{` + unmuted + `,"hooks":{"Stop":[` + stopGroup + `],"PreToolUse":[` + askGroup + `],` +
		`"UserPromptSubmit":[` + noteGroup + `],"SessionStart":[` + noteGroup + `]}}`
)

// minified is text, JSON, without white space; what is none stays.
func minified(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

func TestSettingsHooks(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(complete, old, new, 1) }
	all := func(old, new string) string { return strings.ReplaceAll(complete, old, new) }
	const (
		ownKeys      = `{"z": 12345678901234567890.50e+3,  "a" :  "<&>\u00e9\/"`
		sayDone      = `{"hooks":[{"type":"command","command":"say done"}]}`
		besideOthers = `{"hooks":[{"command":"a","type":"command"},` + stopEntry + `]}`
		someoneElses = `{"hooks":[{"type":"command","command":"/bin/ccc status"},{"type":"command","command":"/bin/other supervisor-hook"},` +
			`{"type":"command","command":"mine","Command":"/bin/ccc supervisor-hook"}]}`
		sayOther  = `{"hooks":[{"command":"a","type":"command"}]}`
		oddShapes = `1,{"hooks":{}},{"hooks":[null,{"command":5}]},{"hooks":{"a":{"command":"/old/ccc supervisor-hook"}}}`
	)
	bashGroup := strings.Replace(askGroup, "AskUserQuestion", "Bash", 1)
	askLast := strings.TrimSuffix(with(`"PreToolUse":[`+askGroup+`],`, ""), "}}") + `,"PreToolUse":[` + askGroup + `]}}`
	older := strings.Replace(besideOthers, `"type":"command","command":"/bin/`, `"x":1,"command":"/o/`, 1)
	for name, test := range map[string]struct{ before, after string }{ // after "": it stays as it is
		"missing": {"", complete}, "blank": {" \n", complete}, "empty": {"{}\n", complete}, "complete": {complete, ""},
		"other_keys_kept":         {ownKeys + "}", minified(ownKeys + "," + complete[1:])},
		"muted":                   {all("false", "true"), ""}, // a launch is refused before
		"muted_strangely":         {strings.Replace(with("false", "null"), "false", `"no"`, 1), ""},
		"question_elsewhere":      {with(askGroup, bashGroup), askLast},
		"question_among_others":   {with("AskUserQuestion", "Bash|AskUserQuestion"), askLast},
		"question_no_matcher":     {with(askGroup, stopGroup), askLast},
		"twice":                   {with(askGroup, askGroup+","+askGroup), complete},
		"twice_beside_others":     {with(stopGroup, older+","+stopGroup), with(stopGroup, sayOther+","+stopGroup)},
		"other_hooks_kept":        {with(stopGroup, sayDone), with(stopGroup, sayDone+","+stopGroup)},
		"empty_events":            {`{` + unmuted + `,"hooks":{"Stop":[],"PreToolUse":[],"UserPromptSubmit":[],"SessionStart":[]}}`, complete},
		"of_1.3":                  {with(`,"SessionStart":[`+noteGroup+`]`, ""), complete},
		"older_path":              {all("/bin/ccc", "/old/go/bin/ccc"), complete},
		"older_timeout":           {with(`"timeout":600`, `"timeout":60`), complete},
		"older_beside_others":     {with(stopGroup, older), with(stopGroup, besideOthers)},
		"older_and_more":          {with(`"timeout":600`, `"async":true,"timeout":600`), complete},
		"escapes_are_no_change":   {all("/bin/ccc", `\/bin\/ccc`), ""},
		"someone_elses_kept":      {with(stopGroup, someoneElses+","+stopGroup), ""},
		"odd_shapes_beside_kept":  {with(stopGroup, oddShapes+","+stopGroup), ""},
		"of_two_the_last_counts":  {with(`"hooks"`, `"hooks":{"Stop":[1]},"disableAllHooks":true,"hooks"`), ""},
		"laid_out_is_no_change":   {strings.ReplaceAll(complete, ",", ",\n\t"), ""},
		"of_several_lines_is_too": {strings.ReplaceAll(all("/bin/ccc", "/old/ccc"), ",", ",\n"), complete},
	} {
		got, err := withHooks([]byte(test.before), 540)
		if err != nil || test.after == "" && string(got) != test.before || test.after != "" && minified(string(got)) != test.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, cmp.Or(test.after, test.before))
		}
		if again, err := withHooks(got, 540); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: a second time changes it: %v\n%s", name, err, again)
		}
	}
	for seconds, timeout := range map[int]int{10: 600, 540: 600, 541: 601, 1000: 1060} {
		got, err := withHooks(nil, seconds)
		check(t, err)
		expectCounts(t, fmt.Sprint("with timeout_seconds ", seconds), minified(string(got)),
			map[string]int{fmt.Sprintf(`"timeout":%d,`, timeout): 2, `"timeout":10}`: 2})
	}
}

func TestSettingsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1,\n}":     "line 3, column 1: ",
		"{\n  \"a\": ":          "line 2, column 7: ",
		"{}\n{}":                "line 2, column 1: ",
		"// mine\n{}":           "line 1, column 1: ",
		"[]":                    "line 1, column 1: the file is not an object",
		"{\n \"hooks\": []}":    "line 2, column 11: hooks is not an object",
		`{"hooks":null}`:        "hooks is not an object",
		`{"hooks":{"Stop":{}}}`: "hooks.Stop is not an array",
		`{"hooks":{"Stop":[],"PreToolUse":null}}`: "hooks.PreToolUse is not an array",
		`{"hooks":{"UserPromptSubmit":"x"}}`:      "hooks.UserPromptSubmit is not an array",
	} {
		if got, err := withHooks([]byte(text), 540); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want an error with %q", text, got, err, want)
		}
		if _, err := editSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: when it is read: %v", text, err)
		}
	}
}

// A path is quoted where the shell would read it otherwise, and a hook of that path is known as ccc's.
func TestSettingsShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/local/bin/ccc": "/usr/local/bin/ccc",
		"/a b/ccc":           "'/a b/ccc'",
		"/a'b/ccc":           `'/a'\''b/ccc'`,
		"/$HOME/ccc":         "'/$HOME/ccc'",
		"":                   "''",
		"/中/ccc":             "'/中/ccc'",
	} {
		expectIs(t, "quoted: "+word, shellQuote(word), want)
		command := hookCommand(word)
		expectIs(t, "the command", command, want+" supervisor-hook")
		expectIs(t, "ccc's: "+command, callsCCC(command, "/bin/x"), filepath.Base(word) == "ccc")
	}
}

// configFor is a ccc.json with that timeout_seconds.
func configFor(reviewSeconds int) *configuration {
	return &configuration{Supervisor: supervisorConfig{TimeoutSeconds: reviewSeconds}}
}

// write writes what a launch adds, and returns why some of it could not be.
func write(d dirs, c *configuration, kept []keptFile, in *installation) error {
	_, unwritten, err := writeFiles(d, c, kept, in)
	return errors.Join(append(unwritten, err)...)
}

// installHooks does what a launch does to settings.json.
func installHooks(d dirs, reviewSeconds int) error {
	d.self = "/bin/ccc"
	return withUserFiles(d, func(in *installation) error { return write(d, configFor(reviewSeconds), nil, in) })
}

// withHooks returns what a launch makes of a settings.json.
func withHooks(text []byte, reviewSeconds int) ([]byte, error) {
	e, err := editSettings(text)
	if err != nil {
		return nil, err
	}
	e.install(configFor(reviewSeconds), "/bin/ccc")
	return e.text, nil
}

// link makes a symbolic link in the home.
func (box *sandbox) link(target, name string) {
	box.t.Helper()
	path := filepath.Join(box.home, name)
	check(box.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)))
}

// A new file is the user's alone, an old one keeps its mode, and a launch without a change does not write it. Without a
// record nothing is changed: uninstall could not undo it.
func TestSettingsInstallFile(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for mode, text := range map[os.FileMode][]byte{0o600: nil, 0o640: []byte(`{"a":1}`)} {
		d := dirs{claude: t.TempDir()}
		path, temporary := d.settingsFile(), temporaryOf(d.installedFile())
		os.MkdirAll(filepath.Join(temporary, "x"), 0o700) // nothing can be put beside the record
		if text != nil {
			os.WriteFile(path, text, mode)
		}
		err := installHooks(d, 540)
		if now, _ := os.ReadFile(path); err == nil || !bytes.Equal(now, text) {
			t.Errorf("without a record: %v: %s", err, now)
		}
		os.RemoveAll(temporary)
		for launch := range 2 {
			err := installHooks(d, 540)
			info, statErr := os.Stat(path)
			if err != nil || statErr != nil || info.Mode().Perm() != mode || launch == 1 && !info.ModTime().Equal(long) {
				t.Errorf("launch %d: %v, %v, mode %v, written at %v", launch, err, statErr, info.Mode(), info.ModTime())
			}
			os.Chtimes(path, long, long)
		}
	}
}

// A named pipe in the place of a file of the user's holds up neither hook nor launch, and what comes through one for
// claude alone reaches it.
func TestNamedPipes(t *testing.T) {
	box := newHookBox(t)
	box.claudeIs(`echo '{"type":"result","subtype":"success","result":"not yet"}'`)
	box.run(10*time.Second, "", "sh", "-c", "mkdir -p ~/.claude/commands && mkfifo ~/.claude/settings.json ~/.claude/commands/supervisor.md")
	expectEnd(t, "a stop", box.stop(""), 0, blockNotYet, saidNotYet)
	expectIn(t, "the answer to a switch", box.submit("/supervisor off").stdout, `"decision":"block"`)
	box = newFakeBox(t)
	box.claudeIs(`cat "$2"`)
	box.write(".claude/ccc.json", 0o600, `{"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"x"}}}}`)
	for command, want := range map[string]string{
		"mkdir ~/.claude/commands && mkfifo ~/.claude/commands/supervisor.md && ccc --supervisor -p hi": "1 supervisor.md is not a regular file",
		`echo '{"model":"m"}' | ccc --settings /dev/stdin`:                                              `0 {"model":"m"}`,
		`echo '{"disableAllHooks":true}' | ccc --supervisor --settings /dev/stdin`:                      "2 --settings: /dev/stdin is not a regular file",
		`echo '{"env":{"ANTHROPIC_BASE_URL":"x"}}' | ccc kimi --settings /dev/stdin`:                    "2 --settings: /dev/stdin is not a regular file",
	} {
		got := box.run(10*time.Second, "", "sh", "-c", command)
		if code, said, _ := strings.Cut(want, " "); fmt.Sprint(got.code) != code || !strings.Contains(got.stdout+got.stderr, said) {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// Where settings.json can't be edited, a supervised launch is refused before anything is written, and any other, which
// writes nothing, starts claude.
func TestSettingsRefusedLaunch(t *testing.T) {
	for _, test := range []struct{ flag, make, stderr string }{ // make: a shell command that makes settings.json, $1
		{"--supervisor", `echo '{"hooks": "mine"}' >$1`, "settings.json: line 1, column 11: hooks is not an object"},
		{"--supervisor", "mkdir $1", "settings.json: is a directory"},
		{"--supervisor", "mkfifo $1", "settings.json is not a regular file"},
		{"", `echo '{"hooks": "mine"}' >$1`, ""}, {"", "mkdir $1", ""}, {"", "echo { >$1", ""},
	} {
		box := newFakeBox(t)
		box.write(".claude/ccc.json", 0o600, "{}")
		got := box.run(10*time.Second, "", "sh", "-c", test.make+" && exec ccc "+test.flag+" -p hi", "sh", filepath.Join(box.home, ".claude/settings.json"))
		refused := test.flag != ""
		if (got.code == 1) != refused || !strings.Contains(got.stderr, test.stderr) || (got.stderr == "") != (test.stderr == "") ||
			(box.read("../fake/agent-1.args") == "") != refused {
			t.Errorf("%q: %+v", test, got)
		}
		entries, _ := os.ReadDir(filepath.Join(box.home, ".claude"))
		entries = slices.DeleteFunc(entries, func(entry os.DirEntry) bool { return entry.Name() == ".ccc.lock" || entry.Name() == "projects" })
		if len(entries) != 2 || box.read(".claude/ccc.json") != "{}" {
			t.Errorf("%q: something was written: %v", test, entries)
		}
	}
}

// An entry of ccc's is known by the name of its program, however that is written.
func TestHookCommands(t *testing.T) {
	for command, want := range map[string]bool{
		"/old/ccc supervisor-hook":                               true,
		"ccc supervisor-hook":                                    true,
		"'/old place/ccc' supervisor-hook":                       true,
		`"/old/ccc" supervisor-hook`:                             true,
		`/old\ place/ccc  supervisor-hook`:                       true,
		"/old/ccc-linux-amd64 supervisor-hook":                   true,
		"/old/ccc-linux supervisor-hook":                         true,
		"/old/ccc_1.2 supervisor-hook":                           true,
		"/old/ccc supervisor-hook --state-dir '/my state'":       true,
		"/old/ccc 'supervisor-hook' 2>>/tmp/log || true":         true,
		`CCC_WORK_DIR=/w LANG="C" exec /old/ccc supervisor-hook`: true,
		"cd /tmp && /old/ccc supervisor-hook":                    true,
		"$HOME/bin/ccc supervisor-hook":                          true,
		"~/bin/ccc supervisor-hook":                              true,
		"$(brew --prefix)/bin/ccc supervisor-hook":               true,
		"wrap /bin/ccc supervisor-hook":                          true,
		"/other/my-review supervisor-hook":                       true, // the running program's own name
		// None of ccc's.
		"/bin/other supervisor-hook":        false,
		"/bin/ccc status":                   false,
		"/bin/ccc status # supervisor-hook": false,
		"ccc > supervisor-hook-log":         false,
		"/bin/cccp supervisor-hook":         false,
		"/ccc/review supervisor-hook":       false,
	} {
		expectIs(t, command, callsCCC(command, "/opt/my-review"), want)
	}
	for _, self := range []string{"/opt/my review", "/opt/it's mine"} {
		expectIs(t, self, callsCCC(hookCommand(self), self), true)
	}
}

// Whatever form the user has given to the entries, a launch replaces them, and uninstall finds them.
func TestHookNotDoubled(t *testing.T) {
	for command, matcher := range map[string]string{"$HOME/bin/ccc supervisor-hook": "AskUserQuestion|Bash", "/gone/ccc supervisor-hook --state-dir x": "*",
		`A=b \"$HOME/bin/ccc\" supervisor-hook --state-dir /nowhere`: "Ask.*"} {
		box := newFakeBox(t)
		box.link(box.program(), "bin/ccc")
		entry := `[{"type":"command","command":"` + command + `"}]`
		box.setSettings(`{"hooks":{"Stop":[{"hooks":` + entry + `}],"PreToolUse":[{"matcher":"` + matcher + `","hooks":` + entry +
			`}],"UserPromptSubmit":[{"hooks":` + entry + `}]}}`)
		box.prepare()
		if text := box.settings(); strings.Contains(text, command) || strings.Count(text, "supervisor-hook") != 4 {
			t.Errorf("%s: doubled or not replaced:\n%s", command, text)
		}
		if box.ccc("uninstall"); box.settings() != "{}" {
			t.Errorf("%s is left:\n%s", command, box.settings())
		}
	}
}

// copyOfCCC makes a copy of ccc. A child makes it: what this process has open for writing, another test's fork may have too.
func (box *sandbox) copyOfCCC(path string) {
	box.t.Helper()
	self, _ := os.Executable()
	if got := box.run(30*time.Second, "", "sh", "-c", `mkdir -p "${2%/*}" && cp "$1" "$2"`, "sh", self, path); got.code != 0 {
		box.t.Fatalf("%+v", got)
	}
}

// An upgrade as Homebrew makes it: the link in PATH moves, and the old folder goes. Hooks go on, and a path that a former
// ccc resolved is mended.
func TestHookSurvivesUpgrade(t *testing.T) {
	box := newHookBox(t)
	prefix, link := filepath.Dir(box.home), box.program()
	install := func(version string) (program string) {
		program = filepath.Join(prefix, "Cellar", version, "bin/ccc")
		box.copyOfCCC(program)
		os.Remove(link)
		box.link(filepath.Join("../Cellar", version, "bin/ccc"), "../bin/ccc")
		return program
	}
	box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + hookCommand(install("1.0")) + `"}]}]}}`)
	box.prepare()
	text := box.settings()
	if strings.Count(text, `"`+hookCommand(link)+`"`) != 4 || strings.Contains(text, "Cellar") {
		t.Fatalf("the hooks do not call the link:\n%s", text)
	}
	install("1.1")
	os.RemoveAll(filepath.Join(prefix, "Cellar/1.0"))
	box.vars = append(box.vars, "CCC_SUPERVISOR=1")
	expectEnd(t, "after the upgrade", box.run(60*time.Second, box.event(eventStop, ""), "sh", "-c", hookCommand(link)), 0, blockNotYet, saidNotYet)
	if box.prepare(); box.settings() != text {
		t.Errorf("the next launch wrote\n%s", box.settings())
	}
	expectIn(t, "doctor", box.run(60*time.Second, "", "ccc", "doctor").stdout, "ok       hooks: ")
}

// A program that go run has built is gone soon: it starts no supervised session, and writes nothing.
func TestHookWillVanish(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build2937241815/b001/exe/ccc": true, "/root/.cache/go-build/9a/9a1d7b-d/ccc": true,
		"/home/u/go/bin/ccc": false, "/home/u/go-builder/ccc": false, "/opt/ccc-d/ccc": false,
	} {
		expectIs(t, path, goRunFolder().MatchString(path), want)
	}
	box := newFakeBox(t)
	os.Remove(box.program())
	program := filepath.Join(box.home, "../tmp/go-build1/b001/exe/ccc")
	box.copyOfCCC(program)
	got := box.run(30*time.Second, "", program, "--supervisor", "-p", "hi")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "go install") || len(box.files()) != 0 {
		t.Errorf("%+v, files %v", got, box.files())
	}
	box.vars = append(box.vars, testTrustVariable+"=") // the demo runs where no copy can be made, too
	if got := box.run(90*time.Second, "", program, "demo"); got.code != 0 || !strings.Contains(got.stdout, "审查 2/10：通过") {
		t.Errorf("the demo: %+v", got)
	}
	if got := box.run(30*time.Second, "", program, "-p", "hi"); got.code != 0 {
		t.Errorf("in normal mode: %+v", got)
	}
}

// A relative link in a linked directory counts from where it stands, and stays, also where ccc made the file: it does not lead nowhere
// when ccc's part is taken out.
func TestSettingsLinkInLinkedDirectory(t *testing.T) {
	const mine = "{\n  \"mine\": true\n}\n"
	for _, before := range []string{mine, ""} {
		box := newFakeBox(t)
		box.write("dotfiles/shared/README", 0o600, "")
		if before != "" {
			box.write("dotfiles/shared/settings.json", 0o640, before)
		} else {
			box.link("own.json", "dotfiles/shared/settings.json") // which is not there yet
		}
		box.write("shared/settings.json", 0o600, mine) // where the link leads by its text
		box.link("dotfiles/claude", ".claude")
		box.link("../shared/settings.json", "dotfiles/claude/settings.json")
		box.prepare()
		if box.read("shared/settings.json") != mine || strings.Count(box.read("dotfiles/shared/settings.json"), "supervisor-hook") != 4 {
			t.Errorf("another file was edited: %q", box.files())
		}
		if box.ccc("uninstall"); box.read("dotfiles/shared/settings.json") != cmp.Or(before, emptySettings) {
			t.Errorf("left: %s", box.read("dotfiles/shared/settings.json"))
		}
		for name, want := range map[string]string{"claude": "../shared/settings.json", "shared": map[bool]string{true: "own.json"}[before == ""]} {
			if target, _ := os.Readlink(filepath.Join(box.home, "dotfiles", name, "settings.json")); target != want {
				t.Errorf("the link in %s: %q", name, target)
			}
		}
	}
}

// keepFile does what a launch does to a file that the user may edit.
func keepFile(d dirs, path, text string) error {
	kept := []keptFile{{path, words{text, text}}}
	return withUserFiles(d, func(in *installation) error { return write(d, configFor(540), kept, in) })
}

// A file that ccc made follows a newer ccc until the user touches it.
func TestInstalledKeep(t *testing.T) {
	d := dirs{claude: t.TempDir()}
	path := filepath.Join(t.TempDir(), "sub", "SUPERVISOR.md")
	for i, step := range []struct{ users, text, want string }{ // what the user does to the file, what ccc would write, what it holds then
		{"", "one", "one"}, {"", "two", "two"}, {"mine", "three", "mine"}, {"empty", "four", ""},
		{"five", "five", "five"}, // by chance the same
		{"", "six", "six"}, {"remove", "seven", "seven"},
	} {
		switch step.users {
		case "":
		case "remove":
			os.Remove(path)
		default:
			os.WriteFile(path, []byte(strings.TrimPrefix(step.users, "empty")), 0o600)
		}
		if err := keepFile(d, path, step.text); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.want {
			t.Errorf("step %d: %q, %v, want %q", i, got, err, step.want)
		}
	}
}

// settingsFiles are what a user may have before the first launch.
var settingsFiles = map[string]string{
	"absent":      noFile,
	"blank":       " \n\n",
	"empty_lines": "\n{\n\n}\n\n",
	"own_keys":    "{\n  \"model\": \"opus\",\n  \"z\": 12345678901234567890.50e+3,\n  \"a\" :  \"<&>\\u00e9\\/\"\n}\n",
	"own_hooks": "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [" +
		"{\"type\": \"command\", \"command\": \"true\"}]}\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
	"own_question":     `{"hooks":{"PreToolUse":[{"matcher":"AskUserQuestion","hooks":[]}], "Notification" : [ ]}}`,
	"own_false":        "{\n  \"disableAllHooks\": false,\n  \"allowManagedHooksOnly\":  true\n}\n",
	"empty_hooks_wide": "{\"hooks\": {\n\t}, \"x\": 1}",
	"empty_stop":       "{\n    \"hooks\": {\n        \"Stop\": [],\n        \"PreToolUse\": [ ],\n        \"UserPromptSubmit\": [\n\n]\n    }\n}",
	"one_line":         `{ "a": 1, "b": [1,2], "c": {} }`,
	"tabs_crlf":        "{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t}\r\n}",
	"leading_commas":   "{\n    \"a\": 1\n  , \"permissions\": {}\n  , \"hooks\": {\n        \"Notification\": []\n      , \"Stop\": []\n    }\n}\n",
	"mark":             "\ufeff{\n  \"a\": {}\n}\n",
	"mark_blank":       "\ufeff\n",
	"duplicate_keys":   `{"hooks":{"Stop":[1]},"allowManagedHooksOnly":true,"hooks":{"a":0},"allowManagedHooksOnly":false}`,
	"older_ccc":        `{"hooks":{"Stop":[{"hooks":[{"command":"/old/ccc supervisor-hook","x":1,"type":"command","timeout": 60}]}]}}`,
	"older_beside_own": "{\n \"hooks\": {\n  \"Stop\": [ {\"hooks\": [\n{\"type\":\"command\",\"command\":\"true\"},\n" +
		"{\"type\":\"command\",\"command\":\"'/old place/ccc' supervisor-hook\"} ]} ]}}\n",
}

// Whatever settings.json was, a launch and an uninstall leave each byte of the user's in it, and nothing of ccc's beside it but
// the state; a second uninstall finds nothing. An older ccc's entries are ccc's.
func TestUninstall(t *testing.T) {
	t.Parallel()
	for name, before := range settingsFiles {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.setSettings(before)
			box.prepare()
			output := box.ccc("uninstall")
			after, older := box.settings(), strings.Contains(before, "supervisor-hook")
			if older { // the file lacks what was ccc's
				expectNotIn(t, "settings.json", after, "supervisor-hook", "[]")
				expectIs(t, "the user's hook is there", strings.Contains(after, `"true"`), strings.Contains(before, `"true"`))
			} else {
				expectIs(t, "the user's part", usersPart(t, after), usersPart(t, before))
			}
			left := slices.DeleteFunc(box.files(), func(file string) bool {
				return strings.HasPrefix(file, ".claude/ccc/") || file == ".claude/settings.json"
			})
			expectEqual(t, "what is left", left, nil)
			_, err := os.Stat(filepath.Join(box.home, ".claude/commands"))
			expectIs(t, "commands/ is left", err == nil, false)
			expectIn(t, "uninstall", output, "ccc: kept; to remove it too: ccc uninstall --purge\n")
			expectIn(t, "a second uninstall", box.ccc("uninstall"), nothingThere)
			expectIs(t, "settings.json behind a second uninstall", box.settings(), after)
		})
	}
}

func jsonOf(t *testing.T, text string) *jsonValue {
	t.Helper()
	v, err := parseJSON([]byte(text))
	check(t, err)
	return v
}

// usersPart returns what uninstall leaves of a settings file that a launch has edited: all of it, but for places for hooks that
// are empty, and for white space in containers that are. A blank file counts as {}.
func usersPart(t *testing.T, text string) string {
	if text == noFile {
		return text
	}
	e, err := editSettings([]byte(text))
	check(t, err)
	for before := ""; before != string(e.text); {
		before = string(e.text)
		for _, path := range [][]string{{"hooks", eventStop}, {"hooks", eventPreToolUse}, {"hooks", eventPrompt}, {"hooks", eventStart}, {"hooks"}} {
			if v := e.root.at(path...); v.raw != "" && len(v.members) == 0 {
				e.replace(dropJSON(e.text, path...))
			}
		}
	}
	return regexp.MustCompile(`([{\[])[ \t\r\n]+([}\]])`).ReplaceAllString(string(e.text), "$1$2")
}

// What happens to settings.json between the launch and the uninstall stays, unless it is ccc's doing.
func TestUninstallAfterEdits(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(*sandbox) {
		return func(box *sandbox) {
			text := box.settings()
			if !strings.Contains(text, old) {
				t.Errorf("no %q in\n%s", old, text)
			}
			box.setSettings(strings.ReplaceAll(text, old, new))
		}
	}
	then := func(steps ...func(*sandbox)) func(*sandbox) {
		return func(box *sandbox) {
			for _, step := range steps {
				step(box)
			}
		}
	}
	launch := (*sandbox).launch
	write := func(name, text string) func(*sandbox) { return func(box *sandbox) { box.write(name, 0o600, text) } }
	moved := func(box *sandbox) { replace(box.program()+" ", "'/old place/ccc' ")(box) }
	minify := func(box *sandbox) { box.setSettings(minified(box.settings())) } // white space is anybody's
	muted := replace(`"disableAllHooks": false`, `"disableAllHooks": true`)
	for name, test := range map[string]struct {
		before  string
		between func(*sandbox)
		want    string
	}{
		"launched_by_older": {"{}", then(moved, replace(`"timeout": 600`, `"timeout": 60`), launch), "{}"},
		"other_ccc":         {"{}", moved, "{}"},
		"own_hook_beside":   {noFile, replace(`"Stop": [`, `"Stop": [{"hooks": []},`), `{"hooks":{"Stop":[{"hooks":[]}]}}`},
		"own_key_unchanged": {`{"disableAllHooks":false}`, launch, `{"disableAllHooks":false}`},
		"own_hook_in_a_group": {"{}",
			then(minify, replace(`"UserPromptSubmit":[{"hooks":[`, `"UserPromptSubmit":[{"hooks":[{"a":1},`)),
			`{"hooks":{"UserPromptSubmit":[{"hooks":[{"a":1}]}]}}`},
		"own_key_first": {noFile, replace("{\n  \"disable", "{\n  \"model\": \"opus\",\n  \"disable"), `{"model":"opus"}`},
		"muted_since":   {"{}", muted, `{"disableAllHooks":true}`},
		"hooks_removed": {`{"hooks":{}}`, then(write(".claude/settings.json", `{"a":1}`), launch), `{"a":1}`},
		"rewritten":     {`{"allowManagedHooksOnly":true, "a":[ 1 ]}`, minify, `{"allowManagedHooksOnly":true,"a":[1]}`},
		"record_broken": {`{"a":1}`, write(".claude/.ccc-installed.json", "{"), `{"a":1,` + unmuted + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.setSettings(test.before)
			box.prepare()
			test.between(box)
			if output := box.ccc("uninstall"); minified(box.settings()) != test.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", box.settings(), test.want, output)
			}
		})
	}
}

// A record of ccc 1.2 does no harm: its values are not put back, and its checksums are as good as ever.
func TestUninstallOlderRecord(t *testing.T) {
	box := newFakeBox(t)
	box.setSettings(`{"disableAllHooks":false,"model":"m","hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/ccc supervisor-hook"}]}]}}`)
	box.write(".claude/SUPERVISOR.md", 0o600, "as 1.2 wrote it")
	box.write(".claude/.ccc-installed.json", 0o600, fmt.Sprintf(`{"places":[{"path":["model"],"raw":null,"wrote":"x"},`+
		`{"path":["disableAllHooks"],"raw":"true","wrote":%q},{"path":["hooks"],"raw":null}],"files":{%q:%q}}`,
		checksum([]byte("false")), filepath.Join(box.home, ".claude/SUPERVISOR.md"), checksum([]byte("as 1.2 wrote it"))))
	box.prepare()
	expectIs(t, "SUPERVISOR.md", box.read(".claude/SUPERVISOR.md"), defaultPrompt.zh)
	record := box.read(".claude/.ccc-installed.json")
	expectIn(t, "the record", record, `"added":["allowManagedHooksOnly"]`)
	expectNotIn(t, "the record", record, "places")
	box.ccc("uninstall")
	expectIs(t, "settings.json behind uninstall", box.settings(), `{"disableAllHooks":false,"model":"m"}`)
	expectIs(t, "SUPERVISOR.md behind uninstall", box.read(".claude/SUPERVISOR.md"), "")
}

// What can't be read or edited stops uninstall and launch before they change anything.
func TestUninstallStopped(t *testing.T) {
	broken := func(box *sandbox) { box.setSettings("{\n  \"hooks\": {},\n}") }
	unreadable := func(box *sandbox) { // a directory can't be read by root either
		os.Remove(filepath.Join(box.home, ".claude/.ccc-installed.json"))
		box.write(".claude/.ccc-installed.json/x", 0o600, "")
	}
	for _, test := range []struct {
		damage          func(*sandbox)
		command, stderr string
	}{
		{broken, "uninstall --purge", "settings.json: line 3, column 1: "},
		{broken, "--supervisor -p x", "settings.json: line 3, column 1: "},
		{unreadable, "uninstall", ".ccc-installed.json"},
		{unreadable, "--supervisor -p x", ".ccc-installed.json"},
	} {
		box := newFakeBox(t)
		box.prepare()
		test.damage(box)
		files, text := box.files(), box.settings()
		got := box.run(30*time.Second, "", append([]string{"ccc"}, strings.Fields(test.command)...)...)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, test.stderr) || box.settings() != text || !slices.Equal(box.files(), files) {
			t.Errorf("%s: %+v\nfiles %q, were %q", test.command, got, box.files(), files)
		}
	}
}

// What another ccc is writing is not removed under it.
func TestUninstallPurgeLocked(t *testing.T) {
	box := newFakeBox(t)
	box.launch()
	unlock, err := lockFile(filepath.Join(box.home, lockPath))
	check(t, err)
	defer unlock()
	got := box.run(30*time.Second, "", "ccc", "uninstall", "--purge")
	if _, err := os.Stat(filepath.Join(box.home, logPath)); err != nil || got.code != 1 || !strings.Contains(got.stderr, "locking") {
		t.Errorf("the log: %v: %+v", err, got)
	}
}

// With --purge all of the state goes, but nothing that somebody else has put there, nor a directory of the user's.
func TestUninstallPurge(t *testing.T) {
	box := newFakeBox(t)
	nothing := filepath.Join(box.home, ".claude/settings.json") + ": " + nothingThere + "\n"
	if output := box.ccc("uninstall", "--purge"); output != nothing || len(box.files()) != 0 {
		t.Errorf("before any launch: %q, %q", output, box.files())
	}
	if _, err := os.Stat(filepath.Join(box.home, ".claude")); err == nil {
		t.Error("it made .claude")
	}
	box.vars = append(box.vars, "CCC_CONFIG_DIR="+box.home+"/own", "CCC_WORK_DIR="+box.home+"/work")
	box.write("own/ccc.json", 0o600, "{}")
	os.Mkdir(filepath.Join(box.home, ".claude"), 0o700)
	box.launch()
	for _, name := range []string{"supervisor-x.json.bad", "hook-invocation.log.1", ".supervisor-x.json.ccc-tmp"} {
		box.write("work/ccc/"+name, 0o600, "{}")
	}
	entries, _ := os.ReadDir(filepath.Join(box.home, "work/ccc"))
	box.write("work/ccc/notes.txt", 0o600, "mine")
	want := fmt.Sprintf("work/ccc: %d files removed, 1 kept that are not ccc's", len(entries))
	if output := box.ccc("uninstall", "--purge"); !strings.Contains(output, want) || !slices.Equal(box.files(), []string{"own/ccc.json", "work/ccc/notes.txt"}) {
		t.Errorf("left %q, want %q:\n%s", box.files(), want, output)
	}
	os.Remove(filepath.Join(box.home, "work/ccc/notes.txt"))
	if output := box.ccc("uninstall", "--purge"); !strings.HasPrefix(output, nothing) || !strings.HasSuffix(output, "/work/ccc: removed\n") {
		t.Errorf("a second time: %s", output)
	}
	for dir, want := range map[string]bool{"own": true, ".claude": true, ".claude/commands": false, "work/ccc": false} {
		if _, err := os.Stat(filepath.Join(box.home, dir)); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What is the user's stays: a file that they have edited, and a link, whatever it leads to. A text of any ccc's is ccc's,
// follows the language, and goes.
func TestUninstallKept(t *testing.T) {
	for _, test := range []struct {
		name, before, launched string
		linked                 bool
	}{
		{"SUPERVISOR.md", defaultPrompt.zh + "and be kind\n", defaultPrompt.zh + "and be kind\n", false},
		{"SUPERVISOR.md", defaultPrompt.zh, defaultPrompt.zh, true},
		{"SUPERVISOR.md", defaultPrompt.en, defaultPrompt.zh, false},
		{"commands/supervisor.md", commandFile.en, commandFile.zh, false},
	} {
		box := newFakeBox(t)
		name := ".claude/" + test.name
		if test.linked {
			box.write("dotfiles", 0o600, test.before)
			box.link("../dotfiles", name)
		} else {
			box.write(name, 0o600, test.before)
		}
		kept := test.before == test.launched
		if box.prepare(); box.read(name) != test.launched {
			t.Errorf("a launch left %.80q", box.read(name))
		}
		output := box.ccc("uninstall")
		if left := box.read(name) != ""; left != kept || strings.Contains(output, name+": kept") != kept {
			t.Errorf("%s: left: %v\n%s", name, left, output)
		}
	}

	// Nothing is kept because nobody reads what it says.
	box := newFakeBox(t)
	box.prepare()
	box.run(10*time.Second, "", "sh", "-c", "{ sleep 0.2; ccc uninstall --purge; } | true")
	if files := box.files(); len(files) > 0 {
		t.Errorf("left: %q", files)
	}
}

// FuzzUninstall: launches change no value of the user's, change nothing the second time, and uninstall leaves each byte of the
// user's as it was.
func FuzzUninstall(f *testing.F) {
	f.Add("")
	f.Add("{\"a\":{},\"hoo\xe3\xe3ks\":{\"Stop\":[]}}") // keys that are no UTF-8
	for _, text := range settingsFiles {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := editSettings([]byte(text))
		if err != nil || strings.Contains(text, "supervisor-hook") { // an older ccc's entries go too
			return
		}
		c, before, was := configFor(540), e.root, string(e.text)
		added := e.install(c, "/old/ccc")
		for _, m := range before.members {
			if now := e.root.at(m.key); now.raw == "" || m.key != "hooks" && !now.is('{') && now.raw != before.at(m.key).raw {
				t.Fatalf("%q is not as it was in\n%q", m.key, e.text)
			}
		}
		later := e.install(c, "/bin/ccc")
		second := string(e.text)
		if more := e.install(c, "/bin/ccc"); len(later)+len(more) != 0 || string(e.text) != second || !json.Valid(unmarked(e.text)) {
			t.Fatalf("a second time: added %q\n%q\n%q", more, second, e.text)
		}
		e.uninstall("/bin/ccc", added)
		if got, want := usersPart(t, string(e.text)), usersPart(t, was); got != want {
			t.Fatalf("%q became\n%q, want\n%q, installed it was\n%q", text, got, want, second)
		}
	})
}

// Whether a source of settings allows a key, and which of a flag's values is the last.
func TestSettingsSource(t *testing.T) {
	allowing := func(end string) source {
		return sourceOf("", []byte(`{"customApiKeyResponses":{"approved":["`+end+`"],"rejected":["`+end+`x"]}}`), nil)
	}
	key := "sk-" + strings.Repeat("a", 10) + strings.Repeat("b", 20)
	for allowed, want := range map[string]bool{key[len(key)-20:]: true, key[len(key)-19:]: false, key: false} {
		expectIs(t, allowed, allowing(allowed).allows(key), want)
	}
	for _, short := range []string{"k", strings.Repeat("k", 20)} {
		expectIs(t, short, allowing(short).allows(short), true)
	}
	if runtime.GOOS == "linux" {
		expectIs(t, "the administrator's file", managedSettings, "/etc/claude-code/managed-settings.json")
	}
	for args, want := range map[string]string{
		"--x=1":          "1",
		"--x 1":          "1",
		"--x 1 --x=2":    "2",
		"--x=1 --x 2":    "2",
		"--x=1 --x=2":    "2",
		"a --x 1 b":      "1",
		"--x":            "",
		"-- --x 1":       "",
		"--x 1 -- --x 2": "1",
		"--xy 1":         "",
	} {
		value, ok := lastValue(strings.Fields(args), "--x")
		expectIs(t, args, value, want)
		expectIs(t, args+": there is one", ok, want != "")
	}
}

// The record of what launches have written is whole or empty, and no file of ccc's is made for a launch that adds nothing.
func TestInstalledRecord(t *testing.T) {
	d := dirs{claude: filepath.Join(t.TempDir(), "claude"), self: "/bin/ccc"}
	check(t, withUserFiles(d, func(in *installation) error { return write(d, configFor(540), nil, in) }))
	for path, want := range map[string]os.FileMode{d.claude: 0o700, d.lockFile(): 0o600, d.installedFile(): 0o600} {
		info, err := os.Stat(path)
		check(t, err)
		expectIs(t, path, info.Mode().Perm(), want)
	}
	for text, want := range map[string]string{
		`{"files":{"a":"1"},"added":["b"]}`: "map[a:1] [b]",
		`{"added":["b"]}`:                   "map[] [b]",
		`{"files":{"a":"1"},"added":5}`:     "map[] []",
		"{":                                 "map[] []",
		"":                                  "map[] []",
	} {
		check(t, os.WriteFile(d.installedFile(), []byte(text), 0o600))
		in, err := readInstallation(d)
		expectIs(t, text, fmt.Sprint(in.Files, " ", in.Added, " ", err), want+" <nil>")
		in.Files["x"] = "" // which is there
	}
	fails := errors.New("no")
	expectIs(t, "the error of what is done with it", withUserFiles(d, func(*installation) error { return fails }), fails)
	check(t, errors.Join(os.Remove(d.installedFile()), os.Mkdir(d.installedFile(), 0o700)))
	isUsed := false
	use := func(*installation) error { isUsed = true; return nil }
	if err := withUserFiles(d, use); err == nil || isUsed {
		t.Errorf("a record that can't be read: %v, used: %v", err, isUsed)
	}
	check(t, os.Remove(d.installedFile()))
	file := filepath.Join(d.claude, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	if err := withUserFiles(dirs{claude: file}, use); err == nil || isUsed {
		t.Errorf("a file in the place of the directory: %v, used: %v", err, isUsed)
	}

	check(t, errors.Join(os.Remove(d.lockFile()), os.Mkdir(d.lockFile(), 0o700)))
	if err := withUserFiles(d, use); err == nil || isUsed {
		t.Errorf("a lock that can't be had: %v, used: %v", err, isUsed)
	}

	// A key of ccc's is recorded once, beside the others.
	c := configFor(540)
	check(t, os.Remove(d.settingsFile()))
	in := &installation{Files: map[string]string{}, Added: []string{"x", disableKey}}
	check(t, write(d, c, nil, in))
	expectEqual(t, "recorded", in.Added, []string{managedOnlyKey, disableKey, "x"})
	again, err := readInstallation(d)
	check(t, err)
	expectEqual(t, "in the file", again.Added, in.Added)
	check(t, os.WriteFile(d.settingsFile(), []byte("["), 0o600))
	if err := write(d, c, nil, in); err == nil {
		t.Error("settings that are no JSON are told by nobody")
	}
}

// A file that ccc keeps is removed if it is as a ccc wrote it, with the directory that is made for it; what became of it is told.
func TestInstalledRemoved(t *testing.T) {
	const kept, removed = "kept: it is not as ccc wrote it", "removed"
	text := words{zh: "文", en: "text"}
	for name, test := range map[string]struct {
		make func(path string) error
		want string
		left bool
	}{
		"missing":  {func(string) error { return nil }, "", false},
		"chinese":  {func(path string) error { return os.WriteFile(path, []byte(text.zh), 0o600) }, removed, false},
		"english":  {func(path string) error { return os.WriteFile(path, []byte(text.en), 0o600) }, removed, false},
		"an older": {func(path string) error { return os.WriteFile(path, []byte("older"), 0o600) }, removed, false},
		"edited":   {func(path string) error { return os.WriteFile(path, []byte("text, mine"), 0o600) }, kept, true},
		"emptied":  {func(path string) error { return os.WriteFile(path, nil, 0o600) }, kept, true},
		"a link": {func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte(text.en), 0o600), os.Symlink(path+"2", path))
		}, kept, true},
		"to nowhere":  {func(path string) error { return os.Symlink("nowhere", path) }, kept, true},
		"a directory": {func(path string) error { return os.Mkdir(path, 0o700) }, "error", true},
	} {
		d := dirs{claude: t.TempDir(), ccc: t.TempDir()}
		for _, dir := range []string{filepath.Join(d.claude, "commands"), d.claude, d.ccc} {
			check(t, os.MkdirAll(dir, 0o700))
			f := keptFile{path: filepath.Join(dir, "file"), text: text}
			check(t, test.make(f.path))
			in := &installation{Files: map[string]string{f.path: checksum([]byte("older"))}}
			done, err := f.remove(d, in)
			if err != nil {
				done += "error"
			}
			expectIs(t, name, done, test.want)
			_, statErr := os.Lstat(f.path)
			expectIs(t, name+": is left", statErr == nil, test.left)
			os.Remove(f.path)
			os.Remove(f.path + "2")
			_, statErr = os.Stat(dir)
			expectIs(t, name+": the directory is left", statErr == nil, dir == d.claude || dir == d.ccc || test.want != removed)
		}
	}
	if comm, err := os.ReadFile("/proc/self/comm"); err == nil { // a file that nobody can remove
		f := keptFile{path: "/proc/self/comm", text: words{zh: string(comm), en: string(comm)}}
		if done, err := f.remove(dirs{}, &installation{}); err == nil || done != "" {
			t.Errorf("what can't be removed: %q, %v", done, err)
		}
	}

	// Nor is a failure to write one told by nobody, and the directory is the user's alone.
	d := dirs{claude: t.TempDir()}
	f := keptFile{path: filepath.Join(d.claude, "commands", "file"), text: text}
	in := &installation{Files: map[string]string{}}
	check(t, os.MkdirAll(filepath.Join(temporaryOf(f.path), "x"), 0o700))
	keep := func() error { return write(d, configFor(540), []keptFile{f}, in) }
	_, unrecorded := os.Stat(d.installedFile())
	if err := keep(); err == nil || unrecorded == nil {
		t.Errorf("what can't be written: %v, recorded %v", err, unrecorded == nil)
	}
	f.path = filepath.Join(d.claude, "sub", "file")
	check(t, keep())
	info, err := os.Stat(filepath.Dir(f.path))
	check(t, err)
	expectIs(t, "the directory", info.Mode().Perm(), 0o700)
	check(t, os.Chtimes(f.path, ago(time.Hour), ago(time.Hour)))
	check(t, keep())
	info, err = os.Stat(f.path)
	check(t, err)
	expectIs(t, "what is as it should be is written", time.Since(info.ModTime()) < time.Minute, false)
	check(t, os.Symlink("nowhere", filepath.Join(d.claude, "lost")))
	f.path = filepath.Join(d.claude, "lost", "file")
	if err := keep(); err == nil {
		t.Error("a directory that can't be made is told by nobody")
	}
	f.path = d.claude
	if err := keep(); err == nil {
		t.Error("a file that can't be read is told by nobody")
	}
}

// Uninstalling takes out ccc's entries and, of the keys that ccc has added, those that are as it added them.
func TestSettingsUninstalled(t *testing.T) {
	only := `{"hooks":{"Stop":[` + stopGroup + `]}}`
	mutes := func(text string) string { return strings.Replace(text, "false", "true", 1) }
	for name, test := range map[string]struct{ before, added, want string }{
		"a hook":                 {only, "", "{}"},
		"keys of the user's":     {complete, "", "{" + unmuted + "}"},
		"keys that ccc added":    {complete, "disableAllHooks allowManagedHooksOnly", "{}"},
		"one that ccc added":     {complete, "disableAllHooks model", `{"allowManagedHooksOnly":false}`},
		"one changed since":      {mutes(complete), "disableAllHooks", mutes("{" + unmuted + "}")},
		"one that ccc can't add": {`{"model":false,` + only[1:], "model", `{"model":false}`},
		"nothing of ccc's":       {`{"a":1}`, "disableAllHooks", `{"a":1}`},
		"between the user's hooks": {
			strings.Replace(only, stopGroup, sayDoneGroup+","+stopGroup+","+sayDoneGroup, 1), "",
			`{"hooks":{"Stop":[` + sayDoneGroup + "," + sayDoneGroup + `]}}`},
	} {
		e, err := editSettings([]byte(test.before))
		check(t, err)
		e.uninstall("/bin/ccc", strings.Fields(test.added))
		expectIs(t, name, minified(string(e.text)), test.want)
		expectIs(t, name+": it is changed", e.isChanged(), test.before != test.want)
	}
}

const sayDoneGroup = `{"hooks":[{"type":"command","command":"say done"}]}`

// What the guide has to paste into a settings.json that ccc can't write is what a launch adds there: it adds nothing more.
func TestSettingsOfGuide(t *testing.T) {
	for path, language := range map[string]string{"docs/guide.md": "en_US.UTF-8", "docs/guide-CN.md": "zh_CN.UTF-8"} {
		guide, err := os.ReadFile(path)
		check(t, err)
		_, text, _ := strings.Cut(string(guide), "```json\n{\n  \"disableAllHooks\"")
		text, _, _ = strings.Cut(text, "```")
		box := newFakeBox(t)
		box.vars = append(box.vars, "LANG="+language)
		text = strings.ReplaceAll("{\n  \"disableAllHooks\""+text, "/home/you/.local/bin/ccc", box.program())
		box.setSettings(text)
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
		expectIs(t, path+": the exit code", got.code, 0)
		expectIs(t, path, box.settings(), text)
	}
}

// Uninstall takes out a status line of 2.0's, and none of the user's, though it calls ccc among other things.
func TestUninstallStatusLine(t *testing.T) {
	line := func(command string) string {
		return `{"statusLine":{"type":"command","command":` + command + `,"refreshInterval":5}}`
	}
	for text, want := range map[string]string{
		line(`"ccc statusline"`): "{}", line(`"/usr/bin/ccc-linux-amd64  statusline "`): "{}", line(`"'/a b/ccc' statusline"`): "{}",
		`{"a":1,"statusLine":{"command":"ccc statusline"},"b":2}`: `{"a":1,"b":2}`,
		line(`"mine.sh"`): "", line(`"cat | ccc statusline; date"`): "", line(`"other statusline"`): "", line(`["ccc statusline"]`): "",
		`{"statusLine":"ccc status"}`: "", `{"subagentStatusLine":{"command":"ccc statusline"}}`: "",
	} {
		box := newFakeBox(t)
		box.setSettings(text)
		got := box.run(60*time.Second, "", "ccc", "uninstall")
		expectIs(t, text+": the exit code", got.code, 0)
		if want == "" {
			want = text
		}
		expectIs(t, text, strings.TrimSpace(box.settings()), strings.TrimSpace(want))
	}
}
