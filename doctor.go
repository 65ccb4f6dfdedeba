package main

// ccc doctor looks for what keeps Supervisor Mode from working. Each finding is a line (ok, warning or
// problem, and the subject) and, unless it is ok, a line that mends it: a command, or a file and the key to
// change there. It changes nothing and shows no variable's value.

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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A checkup is one run of ccc doctor in a project. Each of its methods looks at one subject, tells what is
// wrong and returns what to say if nothing is.
type checkup struct {
	dirs
	config   *configuration   // the defaults, where ccc.json can't be used
	err      error            // why it can't be
	args     []string         // claude's, of a launch without arguments
	sources  []settingsSource // of settings, for such a launch
	subject  string           // of the present check
	faults   int              // found in it
	problems int
}

// doctor is ccc doctor. The error counts the problems.
func doctor(_ *invocation, d dirs) error {
	c := &checkup{dirs: d}
	c.config, c.err = loadConfig(d)
	c.args = c.config.claudeArgs(c.config.Providers[c.config.CurrentProvider])
	c.sources = readSources(d, c.config, c.args)
	for _, check := range []struct {
		subject string
		look    func() (well string)
	}{
		{"configuration:", c.configuration}, {"provider:", c.providers}, {"claude:", c.claude}, {"hooks:", c.hooks},
		{"hooks disabled?", c.disabled}, {"stop-hook limit:", c.limit}, {"prompt:", c.prompt},
		{"state directory:", c.stateDirectory}, {"copies:", c.copies},
	} {
		c.subject, c.faults = check.subject, 0
		if well := check.look(); well != "" && c.faults == 0 {
			c.tell("ok", well, "")
		}
	}
	if c.problems > 0 {
		return fmt.Errorf("problems: %d", c.problems)
	}
	return nil
}

func (c *checkup) tell(level, what, fix string) {
	fmt.Printf("%-8s %s %s\n", level, c.subject, oneLine(what))
	if fix != "" {
		fmt.Printf("         %s\n", fix)
	}
}

// What is wrong with a subject: reviews go on, or they don't.
const warning, problem = "warning", "problem"

// fault tells a warning or a problem, and what mends it: the error's own hint, else fix. All is not well
// then.
func (c *checkup) fault(level string, err error, fix string) (well string) {
	f := failureOf(err)
	c.tell(level, f.err.Error(), cmp.Or(f.hint, fix))
	if c.faults++; level == problem {
		c.problems++
	}
	return ""
}

// nearestThere returns the file at path or, where there is none, the nearest one above.
func nearestThere(path string) (string, fs.FileInfo) {
	for {
		if info, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path, info
		}
		path = filepath.Dir(path)
	}
}

// fixFor is what to do about a file at path that can't be used because of err: about itself or, where it is
// not there, about the nearest directory that is.
func fixFor(path string, err error) string {
	nearest, info := nearestThere(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(`chmod -R u+rwX %s || sudo chown -R "$(id -un)" %[1]s`, shellQuote(resolved(nearest)))
	case info.Mode().IsRegular() != (nearest == path): // a file in the place of a directory, or the other way round
		return fmt.Sprintf("mv %s %s", shellQuote(nearest), shellQuote(nearest+".old"))
	}
	return editHint(path)
}

func (c *checkup) configuration() string {
	path := c.configFile()
	exposed := c.config.exposed(c.dirs)
	_, err := os.Stat(path)
	switch {
	case c.err != nil:
		return c.fault(problem, c.err, fixFor(path, c.err))
	case err != nil:
		return "no " + path + ", using defaults"
	case exposed != nil:
		return c.fault(warning, exposed, "")
	}
	return path
}

// providers looks at the provider that the next launch uses and at the reviewer's own, as a launch does.
func (c *checkup) providers() string {
	own := c.config.Supervisor.Provider
	p, err := c.config.current(c.dirs)
	if err != nil {
		return c.fault(problem, err, "")
	}
	for _, conflict := range slices.Concat(providerConflicts(c.dirs, c.sources, os.Environ(), c.args, p),
		providerConflicts(c.dirs, readSources(c.dirs, c.config, nil), os.Environ(), []string{"--print"}, c.config.Providers[own])) {
		c.fault(problem, conflict, "")
	}
	return cmp.Or(own, c.config.CurrentProvider)
}

// The slowest start of a claude that was measured, 2.1.30 on a busy machine, took 2.5 s.
const claudePatience = 10 * time.Second

// askClaude runs claude and returns all it says, or why it says nothing.
func askClaude(claude string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), claudePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude, args...)
	cmd.Env, _ = reviewerEnv(os.Environ(), nil) // some versions refuse to run inside another claude
	cmd.WaitDelay = 100 * time.Millisecond
	said, err := cmd.CombinedOutput()
	if err != nil && len(said) == 0 {
		return err.Error()
	}
	return oneLine(string(said))
}

func (c *checkup) claude() string {
	claude, err := findClaude()
	if err != nil {
		return c.fault(problem, err, "")
	}
	answer := askClaude(claude, "--version")
	version, _, told := strings.Cut(answer, " (Claude Code)")
	version = version[strings.LastIndexByte(version, ' ')+1:]
	switch {
	case !told:
		return c.fault(problem, fmt.Errorf("%s --version does not tell a version: %s", claude, answer), otherClaude())
	case olderThan(version, oldestClaude):
		return c.fault(problem, fmt.Errorf("%s, version %s, is older than %s", claude, version, oldestClaude), otherClaude())
	}
	return claude + ", version " + version
}

// relaunch is the command that writes the hooks of this ccc anew: a supervised launch of a claude that tells
// its version.
func (c *checkup) relaunch() string { return shellQuote(c.hookPath()) + " --supervisor -- --version" }

// isFirst reports whether ccc was never launched with supervision here, so that a launch has its work still to
// do.
func (c *checkup) isFirst() bool {
	_, err := os.Stat(c.installedFile())
	return errors.Is(err, fs.ErrNotExist)
}

func (c *checkup) hooks() string {
	path := c.settingsFile()
	found, err := findHooks(c.dirs)
	switch {
	case err != nil:
		return c.fault(problem, err, fixFor(path, err))
	case len(found.programs) == 0 && c.isFirst():
		return "none yet; the first ccc --supervisor puts ccc's into " + path
	case len(found.missing) > 0:
		return c.fault(problem, fmt.Errorf("%s has none of ccc's for %s", path, strings.Join(found.missing, ", ")), c.relaunch())
	}
	for _, program := range found.programs {
		if at, err := exec.LookPath(program); err != nil {
			return c.fault(problem, fmt.Errorf("%s calls a program that can't be run: %w", path, err), c.relaunch())
		} else if !sameFile(at, c.self) {
			return c.fault(warning, fmt.Errorf("%s calls another ccc, %s, than this one, %s", path, program, c.self), c.relaunch())
		}
	}
	return path + " calls " + found.programs[0]
}

// disabled looks for what keeps every session here from running hooks.
func (c *checkup) disabled() (well string) {
	for _, cause := range hookless(c.dirs, c.sources, c.args, os.Environ()) {
		c.fault(problem, cause, keyHint(c.configFile(), "claude_args", "take it out"))
	}
	return "no"
}

// limit looks for one that ends a turn before the reviews are used up. A launch sets it only where the user
// has not.
func (c *checkup) limit() string {
	most := c.config.Supervisor.MaxIterations
	check := func(value, where, fix string) {
		if n := limitUnder(most, value); value != "" && n < most {
			c.fault(warning, fmt.Errorf("%s in %s leaves a request %d reviews of max_iterations, %d", blockCapVariable, where, n, most), fix)
		}
	}
	check(os.Getenv(blockCapVariable), "the environment", "unset "+blockCapVariable)
	for _, s := range c.sources {
		check(s.values["env."+blockCapVariable], s.name, s.fault("env."+blockCapVariable, "", strconv.Quote(strconv.Itoa(most))).hint)
	}
	return fmt.Sprintf("allows max_iterations, %d, reviews; %d where /supervisor on switched on what ccc did not launch", most, limitUnder(most, ""))
}

func (c *checkup) prompt() string {
	prompt, err := supervisorPrompt(c.here, c.ccc)
	if err != nil {
		return c.fault(problem, err, fixFor(prompt.Source, err))
	}
	return fmt.Sprintf("%s, %d bytes", prompt.Source, len(prompt.Text))
}

// stateDirectory reports whether hooks can write to it, and make it where it is not there yet.
func (c *checkup) stateDirectory() string {
	nearest, _ := nearestThere(c.state)
	for _, path := range []string{nearest, stateDir(c.state).logFile()} {
		if err := syscall.Access(path, mayWrite); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c.fault(problem, fmt.Errorf("writing to %s: %w", path, err), fixFor(path, err))
		}
	}
	return c.state
}

// copies tries to break out of a copy, as each review does before it offers one to the reviewer.
func (c *checkup) copies() string {
	if !c.config.Supervisor.Try {
		return "switched off by supervisor.try; the reviewer runs no commands"
	}
	env, _ := reviewerEnv(os.Environ(), nil)
	homeReadOnly, err := tryProbe(context.Background(), c.here, env)
	if err != nil {
		f := failureOf(err)
		return c.fault(warning, fmt.Errorf("%w; the reviewer runs no commands", f.err), f.hint)
	}
	passed := "isolation check passed; the reviewer runs commands in a throw-away copy"
	if homeReadOnly {
		passed += ", in which files directly in HOME are read-only"
	}
	return passed
}
