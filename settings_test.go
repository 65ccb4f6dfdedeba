package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The groups of /bin/ccc, and a settings.json with them.
const (
	ofReview = `{"type":"command","command":"/bin/ccc supervisor-hook","timeout":600,` +
		`"statusMessage":"[SUPERVISOR] `
	stopEntry = ofReview + `正在审查工作"}`
	stopGroup = `{"hooks":[` + stopEntry + `]}`
	askGroup  = `{"matcher":"AskUserQuestion","hooks":[` + ofReview + `正在审查提问"}]}`
	noteGroup = `{"hooks":[{"type":"command","command":"/bin/ccc supervisor-hook","timeout":10}]}`
	unmuted   = `"disableAllHooks":false,"allowManagedHooksOnly":false`
	complete  = `{` + unmuted + `,"hooks":{"Stop":[` + stopGroup + `],"PreToolUse":[` + askGroup + `],` +
		`"UserPromptSubmit":[` + noteGroup + `],"SessionStart":[` + noteGroup + `]}}`
	sayDone = `{"hooks":[{"type":"command","command":"say done"}]}`
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
		sayA         = `{"hooks":[{"command":"a","type":"command"}]}`
		besideOthers = `{"hooks":[{"command":"a","type":"command"},` + stopEntry + `]}`
		someoneElses = `{"hooks":[{"type":"command","command":"/bin/ccc status"},` +
			`{"type":"command","command":"/bin/other supervisor-hook"},` +
			`{"type":"command","command":"mine","Command":"/bin/ccc supervisor-hook"}]}`
		oddShapes = `1,{"hooks":{}},{"hooks":[null,{"command":5}]},` +
			`{"hooks":{"a":{"command":"/old/ccc supervisor-hook"}}}`
		twoOfAKey = `"hooks":{"Stop":[1]},"disableAllHooks":true,"hooks"`
	)
	withoutAsk := strings.TrimSuffix(with(`"PreToolUse":[`+askGroup+`],`, ""), "}}")
	askLast := withoutAsk + `,"PreToolUse":[` + askGroup + `]}}`
	older := strings.Replace(besideOthers, `"type":"command","command":"/bin/`, `"x":1,"command":"/o/`, 1)
	laidOut := strings.ReplaceAll(complete, ",", ",\n\t")
	for name, test := range map[string]struct{ before, after string }{ // after "": it stays as it is
		"other_keys_kept":        {ownKeys + "}", minified(ownKeys + "," + complete[1:])},
		"muted":                  {all("false", "true"), ""}, // a launch is refused before
		"question_among_others":  {with("AskUserQuestion", "Bash|AskUserQuestion"), askLast},
		"twice_beside_others":    {with(stopGroup, older+","+stopGroup), with(stopGroup, sayA+","+stopGroup)},
		"other_hooks_kept":       {with(stopGroup, sayDone), with(stopGroup, sayDone+","+stopGroup)},
		"older_beside_others":    {with(stopGroup, older), with(stopGroup, besideOthers)},
		"escapes_are_no_change":  {all("/bin/ccc", `\/bin\/ccc`), ""},
		"someone_elses_kept":     {with(stopGroup, someoneElses+","+stopGroup), ""},
		"odd_shapes_beside_kept": {with(stopGroup, oddShapes+","+stopGroup), ""},
		"of_two_the_last_counts": {with(`"hooks"`, twoOfAKey), ""},
		"laid_out_is_no_change":  {laidOut, ""},
	} {
		got, err := withHooks([]byte(test.before), 540)
		check(t, err)
		if test.after == "" {
			expectIs(t, name, string(got), test.before)
		} else {
			expectIs(t, name, minified(string(got)), test.after)
		}
		again, err := withHooks(got, 540)
		check(t, err)
		expectIs(t, name+": a second time", string(again), string(got))
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
		"[]":                    "line 1, column 1: the file is not an object",
		"{\n \"hooks\": []}":    "line 2, column 11: hooks is not an object",
		`{"hooks":{"Stop":{}}}`: "hooks.Stop is not an array",
		`{"hooks":{"Stop":[],"PreToolUse":null}}`: "hooks.PreToolUse is not an array",
	} {
		_, err := editSettings([]byte(text))
		expectError(t, text, err, want)
	}
}

// configFor is a ccc.json with that timeout_seconds.
func configFor(reviewSeconds int) *configuration {
	return &configuration{Supervisor: supervisorConfig{TimeoutSeconds: reviewSeconds}}
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

// A path is quoted if the shell would read it otherwise. An entry of ccc's is known by the name of its
// program, however that is written, and by the running program's own.
func TestHookCommands(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/local/bin/ccc": "/usr/local/bin/ccc",
		"/a b/ccc":           "'/a b/ccc'",
		"/a'b/ccc":           `'/a'\''b/ccc'`,
	} {
		expectIs(t, "quoted: "+word, shellQuote(word), want)
		expectIs(t, "the command", hookCommand(word), want+" supervisor-hook")
		expectIs(t, "its own: "+word, callsCCC(hookCommand(word), word), true)
	}
	for _, command := range []string{
		"ccc supervisor-hook",
		"'/old place/ccc' supervisor-hook",
		`/old\ place/ccc  supervisor-hook`,
		"/old/ccc supervisor-hook --state-dir '/my state'",
		"/old/ccc 'supervisor-hook' 2>>/tmp/log || true",
		`CCC_WORK_DIR=/w LANG="C" exec /old/ccc supervisor-hook`,
		"$(brew --prefix)/bin/ccc supervisor-hook",
		"/other/my-review supervisor-hook",
		"not /bin/other supervisor-hook",
		"not /bin/ccc status # supervisor-hook",
		"not ccc > supervisor-hook-log",
	} {
		none, isNone := strings.CutPrefix(command, "not ")
		expectIs(t, command, callsCCC(none, "/opt/my-review"), !isNone)
	}
}

// A program that go run has built is gone soon: it starts no supervised session, and writes nothing. The demo
// plays with it.
func TestHookWillVanish(t *testing.T) {
	box := newFakeBox(t)
	// A child copies it: what this process has open for writing, another test's fork may have too.
	const move = "mkdir ../go-build1; cp -L ../bin/ccc ../go-build1; rm ../bin/ccc; exec ../go-build1/ccc "
	got := box.run(60*time.Second, "", "sh", "-c", move+"--supervisor -p hi")
	expectEnd(t, "a launch", got, 1, "", "go install")
	expectEqual(t, "the files", box.files(), nil)
	box.vars = append(box.vars, testTrustVariable+"=none")
	expectIs(t, "the demo", box.run(90*time.Second, "", "../go-build1/ccc", "demo").code, 0)
}

// The record of what launches have written is whole or empty.
func TestInstalledRecord(t *testing.T) {
	d := dirs{claude: filepath.Join(t.TempDir(), "claude"), self: "/bin/ccc"}
	in := &installation{Files: map[string]string{}, Added: []string{"x", disableKey}}
	check(t, os.Mkdir(d.claude, 0o700))
	_, _, err := writeFiles(d, configFor(540), nil, in) // a key of ccc's is recorded once, beside the others
	check(t, err)
	again, err := readInstallation(d)
	check(t, err)
	expectEqual(t, "recorded", again.Added, []string{managedOnlyKey, disableKey, "x"})
	for text, want := range map[string]string{
		`{"files":{"a":"1"},"added":["b"]}`: "map[a:1] [b]",
		`{"files":{"a":"1"},"added":5}`:     "map[] []",
		"":                                  "map[] []",
	} {
		check(t, os.WriteFile(d.installedFile(), []byte(text), 0o600))
		in, err := readInstallation(d)
		expectIs(t, text, fmt.Sprint(in.Files, " ", in.Added, " ", err), want+" <nil>")
	}
	fails := errors.New("no")
	err = withUserFiles(d, func(*installation) error { return fails })
	expectIs(t, "the error of what is done with it", err, fails)
}

// What the guide has to paste into a settings.json that ccc can't write is what a launch adds, and no more.
func TestSettingsOfGuide(t *testing.T) {
	for path, language := range map[string]string{"docs/guide.md": english, "docs/guide-CN.md": chinese} {
		const begin = "{\n  \"disableAllHooks\""
		_, text, _ := strings.Cut(readPage(t, path), "```json\n"+begin)
		text, _, _ = strings.Cut(text, "```")
		box := newFakeBox(t)
		box.vars = append(box.vars, "LANG="+language)
		text = strings.ReplaceAll(begin+text, "/home/you/.local/bin/ccc", box.program())
		box.setSettings(text)
		box.launch()
		expectIs(t, path, box.settings(), text)
	}
}
