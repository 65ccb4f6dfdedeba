package main

// ccc doctor is a launch that writes nothing, then the trial of the hooks and of a copy. A finding has a
// level, a subject and, if it is not ok, the command that fixes it. No variable's value is shown.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A checkup is one run of ccc doctor. Its checks return what to print if all is well, or an error with its
// hint: a warning is one with which reviews go on, any other is a problem.
type checkup struct {
	launch    *launch // without arguments
	configErr error   // why ccc.json can't be used; the launch has the defaults then
	canTry    bool    // no check before the trial has found what keeps the hooks from being tried
}

// warned is a finding with which reviews go on, and what to do about it.
func warned(hint, format string, args ...any) (string, error) {
	return "", warning{withHint(fmt.Errorf(format, args...), hint)}
}

// doctor is ccc doctor. The error counts the problems.
func doctor(call *invocation, d dirs) error {
	l := &launch{dirs: d, config: call.config, supervisor: true}
	c := &checkup{launch: l, configErr: call.configErr, canTry: true}
	c.launch.sources = readSources(d, nil)
	_ = c.launch.chooseEnvironment() // without a provider nothing can be missing
	out := newScreen(os.Stdout)
	faults := 0
	problems := 0
	for _, check := range []struct {
		subject string
		run     func() (well string, err error)
	}{
		{"configuration:", c.checkConfiguration},
		{"provider:", c.checkReviewer},
		{"claude:", c.checkClaude},
		{"hooks:", c.checkHooks},
		{"hooks tried:", c.checkTrial},
		{"reviewer's prompt:", c.checkPrompt},
		{"state directory:", c.checkState},
		{"git:", c.checkGit},
		{"copies:", c.checkCopies},
		{"project's check:", c.checkOwnCheck},
		{"budget:", c.checkBudget},
	} {
		level := "ok"
		hint := ""
		what, err := check.run()
		if err != nil {
			f := failureOf(withFileHint(err, ""))
			level = "problem"
			what = f.err.Error()
			hint = f.hint
			if errors.As(err, new(warning)) {
				level = "warning"
			} else {
				problems++
			}
			faults++
		}
		if what != "" {
			out.writeBlock(fmt.Sprintf("%-8s ", level), check.subject+" "+oneLine(redact(what)))
			at := strings.LastIndexByte(hint, '\n') + 1
			indent := strings.Repeat(" ", 9)
			if out.writeBlock(indent, hint[:at]); hint != "" { // a command stays on one line, to be copied
				fmt.Fprintln(out, indent+printable(hint[at:]))
			}
			_ = out.Flush() // each check as it is done: some take seconds
		}
	}
	if faults == 0 {
		out.writeBlock("", "Nothing has to be fixed. To start: ccc --supervisor")
	}
	if err := out.Flush(); err != nil || problems == 0 {
		return err
	}
	return fmt.Errorf("problems: %d", problems)
}

func (c *checkup) checkConfiguration() (string, error) {
	path := c.launch.dirs.configFile()
	if c.configErr != nil {
		return "", withFileHint(c.configErr, editHint(path))
	}
	if _, err := os.Stat(path); err != nil {
		return "all defaults; there is no " + path, nil
	}
	return path, nil
}

func (c *checkup) checkReviewer() (string, error) {
	return c.launch.config.Supervisor.Provider, c.launch.checkReviewer()
}

func (c *checkup) checkClaude() (string, error) {
	l := c.launch
	err := l.chooseClaude()
	if err == nil {
		err = l.checkVersion()
	}
	if err == nil && l.untried != nil {
		_, err = warned(otherClaude(l.dirs.env), "its hooks can't be tried: %w", l.untried)
	}
	c.canTry = err == nil
	return l.claude + ", version " + l.version, err
}

// checkHooks checks that settings.json is as a launch leaves it. A session without a launch does not mend it.
func (c *checkup) checkHooks() (string, error) {
	d := c.launch.dirs
	path := d.settingsFile()
	e, _, err := planSettings(d, c.launch.config)
	if err == nil {
		err = c.launch.checkFiles()
	}
	if err != nil {
		c.canTry = false
		return "", err
	}
	c.canTry = c.canTry && !e.isChanged()
	mutes, hint := c.launch.mutes()
	_, unlisted := os.Stat(d.installedFile())
	_, noCommand := os.Stat(d.commandFile())
	theirs := theirCommand(d)
	doubled := c.launch.doubled()
	self := d.hookPath()
	launch := shellQuote(self) + " --supervisor"
	switch {
	case mutes != "" && c.canTry: // the trial tells
		return "", nil
	case mutes != "":
		return warned(hint, "claude may run none of them. This mutes them:%s", mutes)
	case doubled != nil:
		return "", warning{doubled}
	case e.isChanged() && unlisted != nil && !bytes.Contains(e.before, []byte(hookSubcommand)):
		return "not installed yet; the first ccc --supervisor adds them to " + path, nil
	case e.isChanged():
		return warned(launch, "%s lacks something of ccc's, or calls another ccc than %s", path, self)
	case theirs != "":
		return warned("if you rename it, /supervisor on, off and observe work",
			"/supervisor is a command of your own and goes to the model: %s", theirs)
	case noCommand != nil:
		return warned(launch, "without %s Claude Code does not know /supervisor", d.commandFile())
	}
	return path + " calls " + self, nil
}

// checkTrial checks that claude runs the hooks, as a launch without arguments does, whatever is remembered.
func (c *checkup) checkTrial() (string, error) {
	l := c.launch
	if err := l.refuse(); err != nil || !c.canTry { // if it can't, a check above has said why
		return "", err
	}
	_, unmade := os.Stat(string(l.dirs.state))
	err := l.tryOnce(context.Background())
	if unmade != nil { // the trial has made it, and doctor leaves nothing
		_ = os.Remove(l.dirs.state.trialDir())
		_ = os.Remove(string(l.dirs.state))
	}
	if errors.As(err, new(warning)) {
		return warned(otherClaude(l.dirs.env), "they could not be tried: %w", err)
	}
	return "claude runs them", err
}

func (c *checkup) checkPrompt() (string, error) {
	source, prompt, _ := supervisorPrompt(c.launch.dirs.here, c.launch.dirs.ccc)
	return fmt.Sprintf("%s, %d bytes", source, len(prompt)), c.launch.checkPrompt()
}

// checkState checks that hooks can write to the state directory and to its log. It writes a file, there or
// where that is still to be made, and removes it: a full disk refuses that, and access(2) does not see it.
func (c *checkup) checkState() (string, error) {
	state := string(c.launch.dirs.state)
	f, err := os.CreateTemp(nearestThere(state), ".ccc-doctor-")
	if err == nil {
		_, err = f.Write(make([]byte, 1<<16))
		err = cmp.Or(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return "", &fs.PathError{Op: "writing to", Path: state, Err: errors.Unwrap(err)}
	}
	return state, unreplaceable(c.launch.dirs.state.logFile())
}

// checkGit checks that the change can be shown to a reviewer: git 2.34 or newer, in a repository.
func (c *checkup) checkGit() (string, error) {
	output, err := exec.Command("git", "--version").Output()
	version := strings.TrimPrefix(oneLine(string(output)), "git version ")
	if err == nil && olderThan(version, "2.34.0") {
		err = fmt.Errorf("it is older than 2.34: %s", version)
	}
	if err != nil {
		return warned("install 2.34 or newer:\nhttps://git-scm.com/downloads",
			"the reviewer does not see what has changed: %w", err)
	}
	if worktreeOf(c.launch.dirs.here).Repository == "" {
		version += "; outside a repository, as here, the reviewer does not see what has changed"
	}
	return version, nil
}

// checkBudget tells if the budget of ccc.json does not hold here.
func (c *checkup) checkBudget() (string, error) {
	if c.launch.config.budgetFails(c.launch.dirs.env) {
		const told = "supervisor.max_budget_usd does not hold: Claude Code does not tell what a review costs"
		return warned("", told)
	}
	return "", nil
}

// checkOwnCheck tells whether the project has a check of its own, and whether that can be run.
func (c *checkup) checkOwnCheck() (string, error) {
	top := worktreeOf(c.launch.dirs.here).Top
	switch {
	case checkMode(top) == "":
		return "none; an executable " + checkPath + " would run before each review", nil
	case isCheckIdle(top):
		fix := "chmod +x " + shellQuote(filepath.Join(top, checkPath))
		return warned(fix, checkPath+" is not executable, so it does not run")
	}
	return checkPath + " runs before each review; to try it: ccc try " + checkPath, nil
}

// checkCopies checks whether copies can be made and hold, as each review does.
func (c *checkup) checkCopies() (string, error) {
	d := c.launch.dirs
	if rule, file := c.launch.sources.bashRule(); rule != "" {
		hint := "take it out, or name the commands that it is for:\n" + editHint(file)
		return warned(hint, keptFromRunning.en, rule, file)
	}
	lang = english // in which the reason is told; no later check quotes a text
	isHomeReadOnly, foreign, err := tryProbe(context.Background(), d.here, reviewerEnv(d.env))
	if err != nil {
		f := failureOf(err)
		return warned(f.hint, "%w; the reviewer runs no commands", f.err)
	}
	if foreign != "" {
		const ifAlone = "if nobody else needs that group here (else work in a clone of your own):\n"
		return warned(ifAlone+`chgrp -R "$(id -gn)" `+shellQuote(worktreeOf(d.here).Top), otherGroup, foreign)
	}
	passed := "the reviewer runs commands in a throwaway copy of your files, tested just now"
	if isHomeReadOnly {
		passed += "; files directly in HOME are read-only there"
	}
	return passed, nil
}
