package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// usersPart returns what uninstall leaves of a settings file that a launch has edited: all of it, but for
// places for hooks that are empty, and for white space in containers that are. A blank file counts as {}.
func usersPart(t *testing.T, text string) string {
	t.Helper()
	e, err := editSettings([]byte(text))
	check(t, err)
	for before := ""; before != string(e.text); {
		before = string(e.text)
		for _, event := range []string{eventStop, eventPreToolUse, eventPrompt, eventStart, ""} {
			path := []string{"hooks", event}
			if event == "" {
				path = path[:1]
			}
			if v := e.root.at(path...); v.raw != "" && len(v.members) == 0 {
				e.replace(dropJSON(e.text, path...))
			}
		}
	}
	return regexp.MustCompile(`([{\[])[ \t\r\n]+([}\]])`).ReplaceAllString(string(e.text), "$1$2")
}

// FuzzUninstall: launches change no value of the user's, change nothing the second time, and uninstall leaves
// each byte of the user's as it was.
func FuzzUninstall(f *testing.F) {
	for _, text := range []string{
		"",
		"\n{\n\n}\n\n",
		"{\"a\":{},\"hoo\xe3\xe3ks\":{\"Stop\":[]}}", // keys that are no UTF-8
		"{\n  \"model\": \"opus\",\n  \"z\": 12345678901234567890.50e+3,\n  \"a\" :  \"<&>\\u00e9\\/\"\n}\n",
		"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [" +
			"{\"type\": \"command\", \"command\": \"true\"}]}\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
		"{\n  \"disableAllHooks\": false,\n  \"allowManagedHooksOnly\":  true\n}\n",
		"{\n    \"hooks\": {\n        \"Stop\": [],\n        \"PreToolUse\": [ ],\n" +
			"        \"UserPromptSubmit\": [\n\n]\n    }\n}",
		`{ "a": 1, "b": [1,2], "c": {} }`,
		"{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t}\r\n}",
		"{\n    \"a\": 1\n  , \"permissions\": {}\n  , \"hooks\": {\n" +
			"        \"Notification\": []\n      , \"Stop\": []\n    }\n}\n",
		"\ufeff{\n  \"a\": {}\n}\n",
		`{"hooks":{"Stop":[1]},"allowManagedHooksOnly":true,"hooks":{"a":0},"allowManagedHooksOnly":false}`,
	} {
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
			now := e.root.at(m.key)
			if now.raw == "" || m.key != "hooks" && !now.is('{') && now.raw != before.at(m.key).raw {
				t.Fatalf("%q is not as it was in\n%q", m.key, e.text)
			}
		}
		later := e.install(c, "/bin/ccc")
		second := string(e.text)
		more := e.install(c, "/bin/ccc")
		if len(later)+len(more) != 0 || string(e.text) != second || !json.Valid(unmarked(e.text)) {
			t.Fatalf("a second time: added %q\n%q\n%q", more, second, e.text)
		}
		e.uninstall("/bin/ccc", added)
		if got, want := usersPart(t, string(e.text)), usersPart(t, was); got != want {
			t.Fatalf("%q became\n%q, want\n%q, installed it was\n%q", text, got, want, second)
		}
	})
}

// What happens to settings.json between a launch and the uninstall stays, unless it is ccc's doing.
func TestUninstallAfterEdits(t *testing.T) {
	const ownHook = `{"hooks":{"UserPromptSubmit":[{"hooks":[{"a":1}]}]}}`
	for name, test := range map[string]struct{ before, old, new, want string }{
		"own hook beside":   {"{}", `Stop": [`, `Stop": [{"hooks":[]},`, `{"hooks":{"Stop":[{"hooks":[]}]}}`},
		"own hook in group": {"{}", `"timeout": 10`, `"timeout": 10}, {"a": 1`, ownHook},
		"own key unchanged": {`{"disableAllHooks":false}`, "", "", `{"disableAllHooks":false}`},
		"muted since":       {"{}", `Hooks": false`, `Hooks": true`, `{"disableAllHooks":true}`},
	} {
		e, err := editSettings([]byte(test.before))
		check(t, err)
		added := e.install(configFor(540), "/bin/ccc")
		e.replace([]byte(strings.Replace(string(e.text), test.old, test.new, 1)))
		e.uninstall("/bin/ccc", added)
		expectIs(t, name, minified(string(e.text)), test.want)
	}
}

// What uninstall can't do is told, with the exit code, and not called done.
func TestUninstallUnremovable(t *testing.T) {
	for damage, want := range map[string][2]string{ // what stderr and stdout have
		"chmod 500 ~/.claude/ccc":      {"permission denied", "settings.json: removed"},
		"chmod 500 ~/.claude":          {"permission denied", ""},
		"chmod 500 ~/.claude/commands": {"removing HOME/.claude/commands/supervisor.md: ", "json: removed"},
	} {
		box := newFakeBox(t)
		box.prepare()
		box.ordinary()
		const mend = "; ccc uninstall --purge; code=$?; chmod -R u+rwx ~/.claude; exit $code"
		got := box.run(30*time.Second, "", "sh", "-c", damage+mend)
		expectIs(t, damage+": the exit code", got.code, 1)
		expectIn(t, damage+": stderr", got.stderr, strings.Replace(want[0], "HOME", box.home, 1))
		expectIn(t, damage+": stdout", got.stdout, want[1])
		expectNotIn(t, damage+": all that is said", got.stdout+got.stderr, "ccc: removed", "files removed")
		_, err := os.Stat(filepath.Join(box.home, logPath))
		check(t, err)
	}
}
