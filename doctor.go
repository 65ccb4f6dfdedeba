package main

// ccc doctor looks for what keeps Supervisor Mode from working. A finding begins with ok, warning or problem
// and the subject. If it is not ok, its last line is the command that fixes it. Doctor changes none of
// the user's files and shows no value of a variable.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A checkup is one run of ccc doctor in a project. Its checks are methods: each prints what is wrong with one
// subject, and returns what to print if nothing is.
type checkup struct {
	launch            // without arguments; its claude is "" if that can't be tried
	launchErr   error // why its provider can't be used
	configErr   error // why ccc.json can't be used; config has the defaults then
	isNew       bool  // whether no hooks are installed, and no launch has installed any
	isInstalled bool  // whether all hooks are installed
	out         *screen
	subject     string // of the present check
	faults      int    // warnings and problems
	problems    int
}

// doctor is ccc doctor. The error counts the problems.
func doctor(_ *invocation, d dirs) error {
	c := &checkup{out: newScreen(os.Stdout)}
	c.dirs = d
	c.config, c.configErr = loadConfig(d)
	if c.launchErr = c.parse(nil); c.launchErr == nil {
		c.env, c.launchErr = c.environment()
	}
	c.sources = readSources(d, c.args)
	for _, check := range []struct {
		subject string
		look    func() (well string)
	}{
		{"configuration:", c.checkConfiguration},
		{"provider:", c.checkProviders},
		{"claude:", c.checkClaude},
		{"hooks:", c.checkHooks},
		{"hooks tried:", c.checkTrial},
		{"reviewer's prompt:", c.checkPrompt},
		{"state directory:", c.checkStateDirectory},
		{"git:", c.checkGit},
		{"copies:", c.checkCopies},
	} {
		c.subject = check.subject
		if well := check.look(); well != "" {
			c.printFinding("ok", well, "")
		}
	}
	if c.faults == 0 {
		c.out.writeHint("", "Nothing has to be fixed. To start: ccc --supervisor")
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	if c.problems > 0 {
		return fmt.Errorf("problems: %d", c.problems)
	}
	return nil
}

// printFinding prints a finding and its hint.
func (c *checkup) printFinding(level, what, hint string) {
	c.out.writeBlock(fmt.Sprintf("%-8s ", level), c.subject+" "+oneLine(redact(what)))
	c.out.writeHint("         ", hint)
	_ = c.out.Flush() // each check as it is done: some take seconds
}

// The levels of a fault: with a warning reviews go on, with a problem they don't.
const warning, problem = "warning", "problem"

// fault prints a fault with the hint of err, else with hint. It returns "": all is not well.
func (c *checkup) fault(level string, err error, hint string) (well string) {
	f := failureOf(err)
	c.printFinding(level, f.err.Error(), cmp.Or(f.hint, hint))
	if c.faults++; level == problem {
		c.problems++
	}
	return ""
}

func (c *checkup) checkConfiguration() string {
	path := c.dirs.configFile()
	_, err := os.Stat(path)
	switch {
	case c.configErr != nil:
		return c.fault(problem, c.configErr, fileHint(path, c.configErr))
	case err != nil:
		return "all defaults; there is no " + path
	}
	return path
}

// checkProviders checks the reviewer's own provider, as a launch does.
func (c *checkup) checkProviders() string {
	reviewersName, env := c.config.Supervisor.Provider, c.dirs.env
	reviewer := c.config.Providers[reviewersName]
	conflicts := providerConflicts(c.dirs, c.sources, env, reviewer, withoutReviewers)
	for _, conflict := range conflicts {
		c.fault(problem, conflict, "")
	}
	if conflicts != nil {
		return ""
	}
	if err := c.checkReviewer(); err != nil {
		return c.fault(problem, err, "")
	}
	return reviewersName
}

func (c *checkup) checkClaude() string {
	env := c.dirs.env
	claude, err := findClaude(env)
	if err != nil {
		return c.fault(problem, err, "")
	}
	version, err := askVersion(claude, "", env)
	if errors.As(err, new(untriable)) {
		return c.fault(warning, fmt.Errorf("its hooks can't be tried: %w", err), otherClaude(env))
	} else if err != nil {
		return c.fault(problem, err, "")
	}
	c.claude, c.version = claude, version
	return claude + ", version " + version
}

// checkHooks checks that settings.json calls this ccc. A supervised launch, here of claude --version, sees to
// that.
func (c *checkup) checkHooks() string {
	d := c.dirs
	path, relaunch := d.settingsFile(), shellQuote(d.hookPath())+" --supervisor -- --version"
	installed, err := findHooks(d)
	if err != nil {
		return c.fault(problem, err, fileHint(path, err))
	}
	_, err = os.Stat(d.installedFile())
	c.isNew = len(installed.programs) == 0 && errors.Is(err, fs.ErrNotExist)
	c.isInstalled = len(installed.missing) == 0
	switch {
	case c.isNew:
		return "not installed yet; the first ccc --supervisor adds them to " + path
	case !c.isInstalled:
		missing := strings.Join(installed.missing, ", ")
		return c.fault(problem, fmt.Errorf("ccc's for %s are missing in %s", missing, path), relaunch)
	}
	for _, program := range installed.programs {
		if at, err := exec.LookPath(program); err != nil {
			c.isInstalled = false // there is nothing to try
			err = fmt.Errorf("%s calls a program that can't be run: %w", path, err)
			return c.fault(problem, err, relaunch)
		} else if !sameFile(at, d.self) {
			err := fmt.Errorf("%s calls %s, which is not this ccc, %s", path, program, d.self)
			return c.fault(warning, err, relaunch)
		}
	}
	if theirs := theirCommand(d, d.here); theirs != "" {
		err := fmt.Errorf("/supervisor is a command of your own and goes to the model: %s", theirs)
		return c.fault(warning, err, "rename it, and /supervisor on, off and observe are ccc's")
	}
	return fmt.Sprintf("%s calls %s, %s", path, installed.programs[0], lastHook(d.state))
}

// lastHook returns when the log last has a hook's call of a supervised session, in local time.
func lastHook(state stateDir) string {
	last := ""
	for _, path := range []string{state.logFile() + ".1", state.logFile()} {
		_ = readLines(path, func(line []byte) { // a fault of that file is another check's
			if at, what, _ := strings.Cut(string(line), " "); strings.HasPrefix(what, hookSubcommand+" invoked") {
				last = at
			}
		})
	}
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		return "and the log has no call by a supervised session"
	}
	return "last called " + at.Local().Format("2006-01-02 15:04")
}

// checkTrial checks that claude runs the hooks, as a launch without arguments does, whatever is remembered.
func (c *checkup) checkTrial() (well string) {
	switch {
	case c.launchErr != nil || c.claude == "" || !c.isInstalled && !c.isNew:
		return "" // a check above has printed why
	case c.isNew:
		return "not tried, as none are installed yet"
	}
	err := c.refuse()
	if err == nil {
		state := c.dirs.state
		_, unmade := os.Stat(string(state))
		err = c.trial.run(context.Background(), func() {})
		if unmade != nil { // the trial has made it, and doctor leaves nothing
			_, _ = os.Remove(state.trialDir()), os.Remove(string(state))
		}
	}
	if errors.As(err, new(untriable)) {
		return c.fault(warning, fmt.Errorf("they could not be: %w", err), otherClaude(c.dirs.env))
	} else if err != nil {
		return c.fault(problem, err, "")
	}
	return "claude runs them"
}

func (c *checkup) checkPrompt() string {
	source, prompt, err := supervisorPrompt(c.dirs.here, c.dirs.ccc)
	if err != nil {
		return c.fault(problem, err, fileHint(source, err))
	}
	return fmt.Sprintf("%s, %d bytes", source, len(prompt))
}

// checkStateDirectory checks that hooks can write to it, or create it.
func (c *checkup) checkStateDirectory() string {
	state, log := c.dirs.state, c.dirs.state.logFile()
	there := nearestThere(string(state))
	err := syscall.Access(there, mayWrite)
	if err == nil && there == resolved(string(state)) {
		err = tryWriting(there)
	}
	if err != nil {
		return c.fault(problem, fmt.Errorf("writing to %s: %w", state, err), fileHint(string(state), err))
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c.fault(problem, fmt.Errorf("writing to %s: %w", log, errors.Unwrap(err)), fileHint(log, err))
	}
	f.Close()
	return string(state)
}

// tryWriting writes a file to the directory and removes it: a full disk refuses that, and access(2) does not
// see it.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".ccc-doctor-")
	if err != nil {
		return errors.Unwrap(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 1<<16))
	return errors.Join(errors.Unwrap(err), f.Close())
}

// checkGit checks that the change can be shown to a reviewer: git 2.34 or newer, in a repository.
func (c *checkup) checkGit() string {
	output, err := exec.Command("git", "--version").Output()
	version := strings.TrimPrefix(oneLine(string(output)), "git version ")
	var major, minor int
	_, scanErr := fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch {
	case err == nil && (scanErr != nil || major < 2 || major == 2 && minor < 34):
		err = fmt.Errorf("it is older than 2.34: %s", version)
	case err == nil && treeOf(c.dirs.here).Repository == "":
		return version + "; outside a repository, as here, a reviewer is not shown what has changed"
	case err == nil:
		return version
	}
	return c.fault(warning, fmt.Errorf("a reviewer is not shown what has changed: %w", err),
		"install 2.34 or newer:\nhttps://git-scm.com/downloads")
}

// checkCopies checks whether copies can be made and hold, as each review does.
func (c *checkup) checkCopies() string {
	env, _ := reviewerEnv(c.dirs.env, nil)
	isHomeReadOnly, foreign, err := tryProbe(context.Background(), c.dirs.here, env)
	if err != nil {
		f := failureOf(err)
		return c.fault(warning, fmt.Errorf("%w; the reviewer runs no commands", f.err), f.hint)
	}
	if foreign != "" {
		const hint = "if nobody else needs that group here (else work in a clone of your own):\n"
		top := treeOf(c.dirs.here).Top
		return c.fault(warning, fmt.Errorf(otherGroup, foreign), hint+`chgrp -R "$(id -gn)" `+shellQuote(top))
	}
	passed := "the reviewer runs commands in a throwaway copy of your files, tested just now"
	if isHomeReadOnly {
		passed += "; files directly in HOME are read-only there"
	}
	return passed
}
