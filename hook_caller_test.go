package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// through are the words of a program that stays between the test and the command behind them, as a client does.
var through = []string{"find", ".", "-prune", "-exec"}

// another has ccc answer the event in a client of its own, with more variables.
func (box *sandbox) another(event string, vars ...string) commandResult {
	box.t.Helper()
	plain := box.vars
	defer func() { box.vars = plain }()
	box.vars = append(append([]string{}, plain...), vars...)
	return box.run(60*time.Second, event, append(append([]string{}, through...), "ccc", "supervisor-hook", ";")...)
}

// What is met first decides: the launch, or what a tool started below a living Claude Code.
func TestCaller(t *testing.T) {
	space := strings.SplitN(selfName(), "-", 3)[2]
	launched := "10-1-" + space
	installed := filepath.Join(t.TempDir(), "2.1.330")
	check(t, os.WriteFile(installed, nil, 0o700))
	t.Setenv(claudeVariable, installed)
	t.Setenv(launchVariable, launched+".1700000000000")
	launch, plain := process{name: launched}, process{name: "1-1-" + space, program: "/bin/bash"}
	tool, pane := process{name: "2-1-" + space, marked: true}, process{name: "2-1-" + space, marked: true, terminal: true}
	known := process{name: "20-1-" + space, program: "/x/claude"}
	server := process{name: "3-1-" + space, program: "/usr/bin/tmux", marked: true}
	for name, test := range map[string]struct {
		chain            []process
		launched, agents bool
	}{
		"launched":                 {[]process{launch, plain}, true, false},
		"wrapped":                  {[]process{plain, plain, launch}, true, false},
		"launched_in_marked":       {[]process{launch, tool, known}, true, false}, // ccc, called by an agent
		"nobody":                   {[]process{plain, plain}, false, false},
		"nothing_known":            {nil, false, false},
		"inherited_mark":           {[]process{pane, server}, false, false},
		"inherited_mark_and_shim":  {[]process{pane, {name: "3-1-" + space, program: "/bin/sh", title: "claude", marked: true, terminal: true}}, false, false},
		"inherited_mark_of_claude": {[]process{{name: "2-1-" + space, program: "/x/claude", marked: true, terminal: true}, server}, false, false},
		"left_behind_by_a_tool":    {[]process{tool, plain}, false, true},
		"terminal_below_a_client":  {[]process{pane, server, known}, false, true},
		"tool_of_launched":         {[]process{tool, launch}, false, true},
		"cleaned_below_tool":       {[]process{plain, tool, launch}, false, true},
		"tool_of_installed_claude": {[]process{tool, {name: "3-1-" + space, program: installed}}, false, true},
		"tool_of_some_claude":      {[]process{tool, plain, known}, false, true},
		"another_of_that_number":   {[]process{{name: "10-2-" + space}}, false, false},
	} {
		c := callerOf(test.chain, os.Environ())
		if !c.launched.IsZero() != test.launched || c.byAgent != test.agents {
			t.Errorf("%s: %+v", name, c)
		}
	}
	t.Setenv(launchVariable, "1-1")
	if c := callerOf([]process{plain, launch}, os.Environ()); !c.launched.IsZero() {
		t.Errorf("with no token of ccc's: %+v", c)
	}
	if runtime.GOOS != "linux" {
		return
	}
	t.Setenv(launchVariable, "10-1-boot-1.1700000000000") // of another PID namespace: claude is in a sandbox of its own
	for name, chain := range map[string][]process{"sandboxed": {plain, plain}, "tool": {plain, tool}, "pane": {pane, server}} {
		if c := callerOf(chain, os.Environ()); c.launched.IsZero() != (name != "sandboxed") || c.byAgent != (name == "tool") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// selfName is the name of the test's own process.
func selfName() string {
	_, self := processInfo(os.Getpid())
	return self.name
}

// A process is told from every other: of another boot or PID namespace, or of the same number later.
func TestAncestry(t *testing.T) {
	chain := ancestry(os.Getpid())
	if len(chain) < 2 || chain[0].name == "" || chain[0].name != selfName() || chain[1].name == chain[0].name || strings.ContainsAny(chain[0].name, "./ ") {
		t.Errorf("the ancestry is %+v", chain)
	}
	if none := ancestry(1 << 30); len(none) != 0 {
		t.Errorf("a process that is none: %+v", none)
	}
}

// What an agent's tool started speaks for nobody: a claude of it can't dismiss the reviewer, is not supervised and
// says nothing for the user. A second terminal is the user's.
func TestAgentSpeaksForNobody(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.submit("fix it")
	box.submit("/supervisor on") // the session, and not a launch
	before := box.read(eventsPath)
	for _, session := range []string{testSession, "its-own"} {
		for prompt, want := range map[string]string{"/supervisor off": "由用户决定", "/supervisor on": "由用户决定", "/supervisor fix": "由用户决定", "words": ""} {
			event := ofSession(session, box.event(eventPrompt, fmt.Sprintf(`"prompt":%q`, prompt)))
			if got := box.another(event, toolMark); want == "" && got.stdout != "" || !strings.Contains(got.stdout, want) {
				t.Errorf("%s of a nested client: %+v", prompt, got)
			}
		}
		if got := box.another(ofSession(session, box.event(eventStop, "")), toolMark); got.stdout+got.stderr != "" {
			t.Errorf("the stop of a nested client: %+v", got)
		}
	}
	if after := box.read(eventsPath); after != before || box.read(".claude/ccc/supervisor-its-own.json") != "" {
		t.Errorf("they left\n%s", after)
	}
	if box.another(box.event(eventPrompt, `"prompt":"and quickly"`)); !strings.Contains(box.read(eventsPath), `"prompt":{"text":"and quickly"`) {
		t.Error("a second terminal is not the user's")
	}
}

// In a terminal that has the mark and no living Claude Code above it, as in a tmux that an agent once started, all of
// it is the user's: the session, the switch, and a new launch, which does not pass the mark on.
func TestInheritedMark(t *testing.T) {
	box := newHookBox(t)
	box.terminalOf = func() *os.File { _, terminal := openTerminal(t, 80); return terminal }
	box.vars = append(box.vars, toolMark, "CLAUDE_CODE_SESSION_ID=the-agents", "CCC_SUPERVISOR=1", "CCC_LAUNCH=1-1-boot-1.1700000000000")
	inside := "CLAUDE_PROJECT_DIR=" + box.work
	prompt := func(words string) string { return box.event(eventPrompt, fmt.Sprintf(`"prompt":%q`, words)) }
	if got := box.another(prompt("words"), inside); got.stdout+got.stderr != "" {
		t.Errorf("a plain claude is supervised: %+v", got)
	}
	expectIn(t, "/supervisor on", box.another(prompt("/supervisor on"), inside).stdout, "已打开")
	expectIn(t, "/supervisor off", box.another(prompt("/supervisor off"), inside).stdout, "已关闭")
	box.reviews(allows(""))
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
	if env := box.environment("agent-1"); got.code != 0 || strings.Contains(env, "CLAUDECODE=") || !strings.Contains(box.log(), "verdict=allow") {
		t.Errorf("%+v\n%s", got, env)
	}
}

// A state that can't be used leaves the last switch as the timeline has it.
func TestSwitchWithoutState(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"corrupt":     func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		for _, launched := range []bool{false, true} {
			box := newHookBox(t)
			box.inSession()
			word := "off"
			if !launched {
				box.vars, word = setEnv(box.vars, "CCC_SUPERVISOR", ""), "on"
			}
			box.submit("/supervisor " + word)
			check(t, spoil(filepath.Join(box.home, statePath)))
			got := box.stop("")
			expectIs(t, fmt.Sprint(name, ", switched ", word, ": is reviewed"), strings.Contains(got.stderr, "开始执行"), !launched)
			expectIs(t, fmt.Sprint(name, ", switched ", word, ": an error"), strings.Contains(got.stderr, statePath), !launched)
		}
	}
}

// A shell that stays between the client and its hook has the mark of a tool, and is none.
func TestShellOfHook(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, toolMark, "CLAUDE_PROJECT_DIR="+box.work, fmt.Sprintf("CCC_LAUNCH=%s.%d", selfName(), time.Now().UnixMilli()))
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"} {
		check(t, os.Symlink("/bin/sh", filepath.Join(filepath.Dir(box.program()), shell)))
		got := box.run(60*time.Second, box.event(eventPrompt, `"prompt":"/supervisor"`), shell, "-c", "ccc supervisor-hook; exit $?")
		expectIn(t, "run by "+shell, got.stdout, "监督：已打开")
	}
}

// A launch is named by its process and its time; what is no name is none.
func TestLaunchToken(t *testing.T) {
	at := time.UnixMilli(1700000000123).UTC()
	for token, want := range map[string]string{"1-2-boot-3.1700000000123": "1-2-boot-3", "1-2.x": "", "1-2": "", "": "", "1-2.": "", "1-2.17.3": ""} {
		name, launched := parseLaunchToken(token)
		expectIs(t, token, name, want)
		if want != "" != launched.Equal(at) || want == "" && !launched.IsZero() {
			t.Errorf("%s: %v", token, launched)
		}
	}
	before := now()
	name, launched := parseLaunchToken(launchToken())
	if name != selfName() || launched.Before(before) || launched.After(now()) || launched.Location() != time.UTC {
		t.Errorf("%s at %v", name, launched)
	}
}
