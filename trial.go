package main

// A launch, carried out: write, try the hooks, become claude. Whether claude runs the hooks is tried, not
// predicted: at a launch and in ccc doctor it runs the SessionStart hook once, which calls no API.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Variables, for tests.
var (
	// trialNotice is when a line shows the user what takes so long: claude alone needs 0.3 to 0.6 s.
	trialNotice = 2 * time.Second
	// trialPatience is how long the user's own SessionStart hooks may take, which run in a trial, too.
	trialPatience = 60 * time.Second
)

// startClaude replaces ccc by claude; it returns only with an error. It plans before it writes. A launch that
// is refused since claude does not run the hooks leaves every file as it was.
func startClaude(c *invocation, d dirs) error {
	if c.configErr != nil {
		return c.configErr
	}
	l := &launch{dirs: d, config: c.config}
	if err := l.plan(c.operands); err != nil {
		return err
	}
	if l.supervisor {
		for _, step := range []func() error{l.write, l.tryHooks, l.goAhead} {
			if err := step(); err != nil {
				l.takeBack()
				return err
			}
		}
		l.announce()
	}
	err := syscall.Exec(l.claude, append([]string{l.claude}, l.args...), l.env)
	return failure{code: 126, err: fmt.Errorf("starting %s: %w", l.claude, err)}
}

func (l *launch) write() error {
	d := l.dirs
	for _, path := range []string{d.lockFile(), d.ccc, filepath.Dir(d.commandFile()), d.state.trialDir()} {
		l.made = append(l.made, missing(path)...)
	}
	return withUserFiles(d, func(in *installation) (err error) {
		if err := d.state.create(); err != nil {
			return fmt.Errorf("preparing the state directory: %w", err)
		}
		l.newest = d.state.newestLaunch()
		l.written, l.unwritten, err = writeFiles(d, l.config, l.files(), in)
		return err
	})
}

// goAhead notes that this launch relies on the hooks, which are still there, and prepares the state.
func (l *launch) goAhead() error {
	d := l.dirs
	err := withUserFiles(d, func(*installation) error {
		if err := l.checkWritten(); err != nil {
			return err
		}
		return replaceFile(d.state.file(newestLaunchName), []byte(l.env.get(launchVariable)))
	})
	if err != nil {
		return err
	}
	err = d.state.sweepDaily() // before the log is there: it may put that aside
	if err == nil {
		err = appendFile(d.state.logFile(), nil) // `tail -f` works at once
	}
	if err != nil {
		return fmt.Errorf("preparing the state directory: %w", err)
	}
	return nil
}

// checkWritten returns an error if another program has taken out what a launch adds to settings.json.
func (l *launch) checkWritten() error {
	path := l.dirs.settingsFile()
	e, _, err := planSettings(l.dirs, l.config)
	if err == nil && e.isChanged() {
		const format = "while the hooks were tried, something removed ccc's part from %s, " +
			"so nothing would be reviewed"
		err = withHint(fmt.Errorf(format, path),
			"a hook or a program of yours puts an older copy back; take it out:\n"+editHint(path))
	}
	return err
}

// takeBack leaves each file as it was before the launch, and nothing that the launch has made. It takes
// nothing back if another launch has gone ahead since: that relies on the hooks.
func (l *launch) takeBack() {
	unlock, err := lockFile(l.dirs.lockFile())
	if err != nil {
		if len(l.written) > 0 {
			fmt.Fprintln(os.Stderr, "ccc: warning: taking back what was written:", printable(err.Error()))
		}
		return
	}
	defer unlock()
	own := l.env.get(launchVariable)
	if newest := l.dirs.state.newestLaunch(); newest != l.newest && newest != own {
		return
	}
	for _, f := range slices.Backward(l.written) {
		if err := f.takeBack(); err != nil {
			fmt.Fprintln(os.Stderr, "ccc: warning: taking back what was written:", printable(err.Error()))
		}
	}
	deepestFirst := func(a, b string) int { return len(b) - len(a) }
	for _, path := range slices.SortedFunc(slices.Values(l.made), deepestFirst) {
		_ = os.Remove(path) // refused of a directory in which something of somebody else's is now
	}
}

// announce prints what the user of a supervised launch should know to stderr.
func (l *launch) announce() {
	warnings := append(l.unwritten, l.doubled())
	if l.untried != nil {
		err := fmt.Errorf("whether claude runs ccc's hooks could not be tried: %w", l.untried)
		warnings = append(warnings, err)
	}
	for _, err := range warnings {
		if err != nil {
			fmt.Fprintln(os.Stderr, "ccc: warning:", printable(err.Error()))
		}
	}
	state := l.dirs.state
	next := announcedLog
	if givenFlag(l.args, "-p", "--print") != "" { // nothing is shown at its end
		next = announcedVerdict
	}
	log := filepath.Base(state.logFile())
	output := filepath.Base(state.session("<session>").outputFile())
	fmt.Fprintln(os.Stderr, say(announcement, state, log, output)+say(next))
	fmt.Fprint(os.Stderr, l.config.englishOffer(l.dirs))
}

// tryHooks tries the hooks, unless a mark says that claude has run them. A mark counts once: tryHooks
// removes it. The SessionStart hook of the session puts it back; triedVariable tells that hook its path.
func (l *launch) tryHooks() error {
	mark := l.markFile()
	if l.untried == nil && os.Remove(mark) != nil {
		err := l.tryOnce(untilSignal())
		if errors.As(err, new(warning)) {
			l.untried, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	if l.untried == nil && l.markFile() == mark { // else what was tried is not what is there now
		l.env = setEnv(l.env, triedVariable, mark)
	}
	return nil
}

// tryOnce lets claude run the hook and end. The error says that the hook did not run. It is a warning if
// claude is another program in the directory of the trial than here. If ctx ends, claude ends with all that
// it has started, and the cause of ctx is the error.
func (l *launch) tryOnce(ctx context.Context) error {
	dir := l.dirs.state.trialDir()
	answer := l.dirs.state.trialFile("answer-" + l.env.get(launchVariable))
	if err := cmp.Or(makeOwn(dir), syscall.Access(dir, mayWrite)); err != nil {
		return &fs.PathError{Op: "trying the hooks:", Path: dir, Err: err}
	}
	defer os.Remove(answer)
	left, _ := os.ReadDir(dir) // by hooks of the user's
	for _, entry := range left {
		_ = os.RemoveAll(filepath.Join(dir, entry.Name()))
	}
	cmd := exec.Command(l.claude, l.trialCommand()...)
	cmd.Dir = dir
	cmd.Env = setEnv(l.env, trialVariable, answer, "PWD", dir,
		// If a proxy does not answer, a login takes up to 60 s unless this is set.
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1", "DISABLE_AUTOUPDATER", "1")
	output := &tail{limit: 4000}
	complaints := &tail{limit: 4000}
	cmd.Stdout = output
	cmd.Stderr = complaints
	ctx, cancel := context.WithTimeout(ctx, trialPatience)
	defer cancel()
	late := time.AfterFunc(trialNotice, func() {
		defer exitOnPanic()
		fmt.Fprintln(os.Stderr, "ccc:", say(tryingHooks))
	})
	err := runToEnd(ctx, cmd)
	late.Stop()
	if cmd.Process == nil {
		return fmt.Errorf("trying the hooks: %w", err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if _, unanswered := os.Stat(answer); unanswered == nil {
		return l.checkWritten()
	}
	if ctx.Err() != nil {
		const format = "claude has not run the hooks within %.0f s; try again, or start it once by itself"
		return withHint(fmt.Errorf(format, trialPatience.Seconds()), "claude")
	}
	// Outside the project a version manager's shim runs another version, or none.
	if there, said, _ := askVersion(l.claude, l.dirs.env, dir); there != l.version {
		return warning{fmt.Errorf("in %s, %s", dir, said)}
	}
	const muted = "claude was tried and ran no hooks, so nothing would be reviewed"
	if lines, hint := l.mutes(); lines != "" {
		return withHint(fmt.Errorf("%s. This mutes them:%s", muted, lines), hint)
	}
	said := complaints.line()
	if err != nil { // else the output is that of /cost
		said = cmp.Or(said, output.line()) + " (" + err.Error() + ")"
	}
	said = cmp.Or(strings.TrimSpace(said), "nothing")
	return withHint(fmt.Errorf("%s; it said: %s", muted, said), "claude doctor")
}

// trialCall begins claude's arguments in a trial; /cost ends them: a local command, which asks no API, after
// the SessionStart hooks of the user's settings. Neither Setup hooks nor MCP servers run (2.1.280, 2.1.332).
var trialCall = []string{"-p", "--strict-mcp-config", "--setting-sources", "user", "--no-session-persistence"}

// With hooklessFlags claude runs no hooks. The variables are as the first two (2.1.332).
var hooklessFlags = []string{"--bare", "--safe-mode", "--restricted"}

const simpleVariable, safeVariable = "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"

// mutes returns what keeps claude from running the hooks as far as that can be read, each on a line of its
// own: keys of settings with their files, variables and flags; and what to do. It is "" if there is nothing.
func (l *launch) mutes() (lines, hint string) {
	lines, edit := l.sources.listed(func(in source) (keys []string) {
		for _, key := range append(slices.Clone(mutingKeys), "env."+simpleVariable, "env."+safeVariable) {
			if isTrue(in.at(key).variable()) {
				keys = append(keys, key)
			}
		}
		return keys
	})
	for _, name := range []string{simpleVariable, safeVariable} {
		if isTrue(l.env.get(name)) {
			lines += "\n     " + name
		}
	}
	for _, flag := range hooklessFlags {
		if givenFlag(l.args, flag) != "" {
			lines += "\n     " + flag
		}
	}
	return lines, "take that out" + edit
}

// trialCommand returns claude's arguments: trialCall, and what of the session's decides whether hooks run.
func (l *launch) trialCommand() []string {
	command := slices.Clone(trialCall)
	if _, isGiven := lastValue(l.args, argumentSource); isGiven {
		command = append(command, argumentSource, l.givenSettings())
	}
	for _, hookless := range hooklessFlags {
		if givenFlag(l.args, hookless) != "" {
			command = append(command, hookless)
		}
	}
	return append(command, "/cost")
}

// markFile returns the path of the empty file that says that a trial went well, named by a checksum of what
// may change that. What can't be in it, an organization's settings, costs one session: see tryHooks.
func (l *launch) markFile() string {
	settings, _ := readUserFile(l.dirs.settingsFile())
	read := readSources(l.dirs, l.args)
	parts := append(l.trialCommand(), l.claude, l.version, string(settings), read.argument.settings.raw)
	for _, in := range read.managed {
		parts = append(parts, in.settings.raw)
	}
	if info, err := os.Stat(l.claude); err == nil { // it may be a script of the user's
		parts = append(parts, fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
	}
	for _, variable := range slices.Sorted(slices.Values(l.env)) {
		if strings.HasPrefix(variable, "CLAUDE") || strings.HasPrefix(variable, "DISABLE_") {
			parts = append(parts, variable)
		}
	}
	return l.dirs.state.trialFile(checksum(fmt.Appendf(nil, "%q", parts)))
}
