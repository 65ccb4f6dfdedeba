package main

// Whether claude runs ccc's hooks is tried, not predicted: a supervised launch, and ccc doctor, let claude
// run the SessionStart hook once, which calls no API.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A trial is a call of claude that has to run ccc's SessionStart hook, with what of a session decides whether
// its hooks run.
type trial struct {
	dirs    dirs
	claude  string   // the program
	version string   // see askVersion
	args    []string // the session's: those of ccc.json, then the user's
	env     []string // the session's
}

// Variables, for tests.
var (
	// versionPatience bounds the wait for claude --version, which takes 10 to 100 ms.
	versionPatience = 10 * time.Second
	// trialNotice is when a line shows the user what takes so long: claude alone needs 0.3 to 0.6 s.
	trialNotice = 2 * time.Second
	// trialPatience is how long the user's own SessionStart hooks may take, which run in a trial, too.
	trialPatience = 60 * time.Second
)

var versionAnswer = lazyRegexp(`([0-9]+\.[0-9]+\.[0-9]+\S*) \(Claude Code\)`)

// An untriable is the error that claude can't be tried: nothing is known of its hooks.
type untriable struct{ error }

// askVersion returns the version that claude prints in dir, "" being the current directory. The error is
// untriable if it prints none, as a stand-in for Claude Code does. One that is too old is an error, too.
func askVersion(claude, dir string, env environ) (version string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude, "--version")
	cmd.Env, _ = reviewerEnv(env, nil)        // some versions refuse to run inside another claude
	cmd.Dir, cmd.WaitDelay = dir, time.Second // what it leaves running may hold its stdout
	output, err := cmd.CombinedOutput()
	if cmd.Process == nil && ctx.Err() == nil {
		return "", fmt.Errorf("starting %s: %w", claude, err)
	}
	said := oneLine(string(output))
	if err != nil && said == "" {
		said = err.Error()
	}
	answer := versionAnswer().FindStringSubmatch(said)
	switch {
	case answer == nil && ctx.Err() != nil:
		return "", untriable{fmt.Errorf("%s did not answer --version within %v", claude, versionPatience)}
	case answer == nil:
		return "", untriable{fmt.Errorf("%s is not Claude Code: to --version it says %q", claude, said)}
	}
	if version = answer[1]; olderThan(version, oldestClaude) {
		err = fmt.Errorf("%s, version %s, is older than %s", claude, version, oldestClaude)
		hint := otherClaude(env)
		if hint == installClaude {
			hint = "claude update, or where npm has installed it:\n" + hint
		}
		return version, failure{code: 2, err: err, hint: hint}
	}
	return version, nil
}

// run lets claude run the hook, waits until claude has ended, and returns an error if the hook did not run,
// an untriable one if that was another program than here. It calls notice once if that takes long. The end
// of ctx ends claude and all that it has started, and its cause is the error then.
func (t *trial) run(ctx context.Context, notice func()) error {
	state := t.dirs.state
	dir, answer := state.trialDir(), state.trialFile(fmt.Sprintf("answer-%d", os.Getpid()))
	if err := cmp.Or(os.MkdirAll(dir, 0o700), syscall.Access(dir, mayWrite)); err != nil {
		return withHint(fmt.Errorf("trying the hooks: %s: %w", dir, err), fileHint(dir, err))
	}
	_ = os.Remove(answer) // of a process that had this number and was killed
	defer t.clear(dir, answer)
	cmd := exec.Command(t.claude, t.command()...)
	cmd.Dir = dir
	cmd.Env = setEnv(t.env, trialVariable, answer, "PWD", dir,
		// Behind a proxy that does not answer a login takes up to 60 s without it.
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1", "DISABLE_AUTOUPDATER", "1")
	output, complaints := &tail{limit: 4000}, &tail{limit: 4000}
	cmd.Stdout, cmd.Stderr = output, complaints
	ctx, cancel := context.WithTimeout(ctx, trialPatience)
	defer cancel()
	late := time.AfterFunc(trialNotice, func() {
		defer exitOnPanic()
		notice()
	})
	err := runToEnd(ctx, cmd)
	late.Stop()
	if cmd.Process == nil {
		return fmt.Errorf("trying the hooks: %w", err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if _, missing := os.Stat(answer); missing == nil {
		installed, err := findHooks(t.dirs)
		if path := t.dirs.settingsFile(); err == nil && len(installed.missing) > 0 {
			const format = "as the hooks were tried, ccc's for %s went out of %s, so nothing would be reviewed"
			err = withHint(fmt.Errorf(format, strings.Join(installed.missing, ", "), path),
				"a hook or a program of yours puts an older copy back; take it out:\n"+editHint(path))
		}
		return err
	}
	// Outside the project a version manager's shim runs another version, or none.
	if there, err := askVersion(t.claude, dir, t.dirs.env); there != t.version {
		if there != "" {
			err = fmt.Errorf("%s is version %s", t.claude, there)
		}
		return untriable{fmt.Errorf("in %s, %w", dir, err)}
	}
	said := complaints.line()
	switch {
	case ctx.Err() != nil:
		said += fmt.Sprintf(" (it had not ended after %v)", trialPatience)
	case err != nil: // else the output is that of /cost
		said = cmp.Or(said, output.line()) + " (" + err.Error() + ")"
	}
	const format = "claude was tried and ran no hooks, so nothing would be reviewed; it said: %s"
	return withHint(fmt.Errorf(format, cmp.Or(strings.TrimSpace(said), "nothing")), "claude doctor")
}

// trialCall is a call of a local command, which asks no API. Before it the SessionStart hooks of the user's
// settings run, and neither Setup hooks nor MCP servers (2.1.280, 2.1.332). An unknown command would
// go to the model.
var trialCall = []string{"-p", "--strict-mcp-config", "--setting-sources", "user", "--no-session-persistence"}

// hooklessFlags keep the hooks of settings.json from running (2.1.332).
var hooklessFlags = []string{"--bare", "--safe-mode", "--restricted"}

// command returns claude's arguments: those of trialCall, and of the session those that decide whether hooks
// run.
func (t *trial) command() []string {
	command := slices.Clone(trialCall)
	if settings, ok := lastValue(t.args, argumentSource); ok {
		if settings != "" && !isInline(settings) { // "" is none
			settings = absoluteIn(t.dirs.here, settings)
		}
		command = append(command, argumentSource, settings)
	}
	for _, flag := range hooklessFlags {
		if givenFlag(t.args, flag) != "" {
			command = append(command, flag)
		}
	}
	return append(command, "/cost")
}

// clear removes what a trial has left: its answer, which names the trial's session, what is in its directory,
// and what the client keeps for each directory and session. The directory itself stays: another launch may be
// in it.
func (t *trial) clear(dir, answer string) {
	session, _ := os.ReadFile(answer)
	_ = os.Remove(answer)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		_ = os.RemoveAll(filepath.Join(dir, entry.Name()))
	}
	folder := filepath.Join(t.dirs.claude, "projects", projectFolder(resolved(dir)))
	_ = os.Remove(filepath.Join(folder, "memory"))
	_ = os.Remove(folder) // refused unless empty
	if id := string(session); validSession(id) {
		_ = os.RemoveAll(filepath.Join(t.dirs.claude, "session-env", id))
	}
}

// projectFolder returns the name of Claude Code's folder under projects for the sessions of a directory. It
// is another one for a path of more than 200 characters, or with one that UTF-16 has in two units.
func projectFolder(path string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters+digits, r) {
			return r
		}
		return '-'
	}, path)
}

// markFile returns the path of the mark that a trial went well, which is empty. Its name holds a checksum of
// what may change that. What is not in it, such as an organization's settings, costs one session: see tryHooks.
func (t *trial) markFile() string {
	settings, _ := readUserFile(t.dirs.settingsFile())
	value, _ := lastValue(t.args, argumentSource)
	argument, _ := readArgument(value)
	parts := append(t.command(), t.claude, t.version, string(settings), string(argument))
	if info, err := os.Stat(t.claude); err == nil { // it may be a script of the user's
		parts = append(parts, fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
	}
	for _, variable := range slices.Sorted(slices.Values(t.env)) {
		if strings.HasPrefix(variable, "CLAUDE") || strings.HasPrefix(variable, "DISABLE_") {
			parts = append(parts, variable)
		}
	}
	return t.dirs.state.trialFile(checksum(fmt.Appendf(nil, "%q", parts)))
}
