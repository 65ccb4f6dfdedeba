package main

// ccc doctor looks for what keeps Supervisor Mode from working. Each finding is a line (ok, warning or problem, and
// the subject) and, unless it is ok, a line that mends it: a command, or a file and the key to change there. It
// changes nothing and shows no variable's value.

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

// A checkup is one run of ccc doctor in a project. Each of its methods looks at one subject and returns what to say
// where it is well, or what is wrong: a failure with exit code 0 is a warning.
type checkup struct {
	dirs
	config *config // the defaults, where ccc.json can't be used
	err    error   // why it can't be
}

// doctor is ccc doctor. The error counts the problems.
func doctor(_ *call, d dirs) error {
	c := checkup{dirs: d}
	c.config, c.err = loadConfig(d)
	problems := 0
	for _, check := range []struct {
		subject string
		look    func() (well string, faults []failure)
	}{
		{"configuration:", c.configuration}, {"provider:", c.providers}, {"claude:", c.claude}, {"flags:", c.flags}, {"hooks:", c.hooks},
		{"hooks disabled?", c.disabled}, {"stop-hook limit:", c.limit}, {"prompt:", c.prompt}, {"state directory:", c.stateDirectory},
		{"copies:", c.copies},
	} {
		well, faults := check.look()
		if len(faults) == 0 && well != "" {
			fmt.Printf("ok       %s %s\n", check.subject, oneLine(well))
		}
		for _, f := range faults {
			level := "warning"
			if f.code != 0 {
				level = "problem"
				problems++
			}
			fmt.Printf("%-8s %s %s\n", level, check.subject, oneLine(f.err.Error()))
			if f.hint != "" {
				fmt.Printf("         %s\n", f.hint)
			}
		}
	}
	if problems > 0 {
		return fmt.Errorf("problems: %d", problems)
	}
	return nil
}

func warning(fix, format string, args ...any) []failure {
	return []failure{{0, fmt.Errorf(format, args...), fix}}
}

func problem(fix, format string, args ...any) []failure {
	return []failure{{1, fmt.Errorf(format, args...), fix}}
}

// fixFor is what to do about a file at path that can't be used because of err: about itself or, where it is not there,
// about the nearest directory that is.
func fixFor(path string, err error) string {
	info, statErr := os.Stat(path)
	there := statErr == nil
	for ; statErr != nil && path != filepath.Dir(path); info, statErr = os.Stat(path) {
		path = filepath.Dir(path)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(`chmod -R u+rwX %s || sudo chown -R "$(id -un)" %[1]s`, shellQuote(resolved(path)))
	case statErr == nil && info.Mode().IsRegular() != there: // a file in the place of a directory, or the other way round
		return fmt.Sprintf("mv %s %s", shellQuote(path), shellQuote(path+".old"))
	case there:
		return editHint(path)
	}
	return ""
}

func (c checkup) configuration() (string, []failure) {
	path := c.configFile()
	_, err := os.Stat(path)
	switch {
	case c.err != nil:
		return "", problem(fixFor(path, c.err), "%w", c.err)
	case err != nil:
		return "no " + path + ", using defaults", nil
	case c.config.exposesToken(c.dirs):
		return "", warning("chmod 600 "+shellQuote(path), "%s holds a token and others can read it", path)
	}
	return path, nil
}

// providers looks at the provider that the next launch uses and at the reviewer's own.
func (c checkup) providers() (well string, faults []failure) {
	for i, name := range []string{c.config.CurrentProvider, c.config.Supervisor.Provider} {
		if name == "" {
			continue
		}
		well = name
		p := c.config.findProvider(name)
		if p == nil {
			faults = append(faults, problem(editHint(c.configFile()), "%s is not among those in %s (%s)", name, c.configFile(), c.config.providerNames())...)
			continue
		}
		args := c.config.claudeArgs(p)
		if i == 1 { // as the launch asks for the reviewer's: it prints, and is given no arguments of ccc.json
			args = []string{"--print"}
		}
		faults = append(faults, providerConflicts(c.dirs, sources(c.dirs, c.config, args), os.Environ(), args, p)...)
	}
	return well, faults
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

func (c checkup) claude() (string, []failure) {
	claude, err := findClaude()
	if err != nil {
		f := failure{code: 1, err: err}
		errors.As(err, &f)
		return "", []failure{f}
	}
	answer := askClaude(claude, "--version")
	version, _, told := strings.Cut(answer, " (Claude Code)")
	version = version[strings.LastIndexByte(version, ' ')+1:]
	switch {
	case !told:
		return "", problem(otherClaude(), "%s --version does not tell a version: %s", claude, answer)
	case olderThan(version, oldestClaude):
		return "", problem(otherClaude(), "%s, version %s, is older than %s", claude, version, oldestClaude)
	}
	return claude + ", version " + version, nil
}

// flags asks claude whether it knows the flags of a review. The last flag is one that no claude has, so that the call
// ends as an unknown option, in 0.2 s and before claude begins anything; it names the first flag that it does not
// know. Its --help leaves some flags out.
func (c checkup) flags() (string, []failure) {
	const nobodys = "--ccc-doctor"
	claude, err := findClaude()
	if err != nil {
		return "", nil
	}
	r := review{session: "x", prompt: "x", model: c.config.Supervisor.Model, config: c.config.Supervisor}
	complaint := askClaude(claude, slices.Concat(append(r.flags(), reviewerFlag{nobodys})...)...)
	switch name := unknownOption(complaint); {
	case name == nobodys:
		return "claude knows all that reviews use", nil
	case slices.Contains(optionalFlags, name):
		return "", warning(otherClaude(), "claude lacks %s; reviews go on without", name)
	case name != "":
		return "", problem(otherClaude(), "claude lacks %s, which reviews need: it is too old", name)
	case strings.Contains(complaint, "--permission-mode"):
		return "", problem(keyHint(c.configFile(), "supervisor.permission_mode", `"dontAsk"`), "reviews fail: %s", complaint)
	}
	return "", warning(otherClaude(), "claude does not tell which it knows: %s", complaint)
}

// relaunch is the command that writes the hooks of this ccc anew: a supervised launch of a claude that only tells
// its version.
func (c checkup) relaunch() string { return shellQuote(c.hookPath()) + " --supervisor -- --version" }

// isFirst tells whether ccc was never launched with supervision here, so that a launch has its work still to do.
func (c checkup) isFirst() bool {
	_, err := os.Stat(c.installedFile())
	return errors.Is(err, fs.ErrNotExist)
}

func (c checkup) hooks() (string, []failure) {
	path := c.settingsFile()
	text, err := readUserFile(path)
	if err != nil {
		return "", problem(fixFor(path, err), "%w", err)
	}
	programs, missing, err := installedHooks(text, c.hookPath())
	switch {
	case err != nil:
		return "", problem(editHint(path), "%s: %w", path, err)
	case len(programs) == 0 && c.isFirst():
		return "none yet; the first ccc --supervisor puts ccc's into " + path, nil
	case len(missing) > 0:
		return "", problem(c.relaunch(), "%s has none of ccc's for %s", path, strings.Join(missing, ", "))
	}
	for _, program := range programs {
		if found, err := exec.LookPath(program); err != nil {
			return "", problem(c.relaunch(), "%s calls a program that can't be run: %w", path, err)
		} else if !sameFile(found, c.self) {
			return "", warning(c.relaunch(), "%s calls another ccc, %s, than this one, %s", path, program, c.self)
		}
	}
	return path + " calls " + append(programs, "a ccc that only a shell can find")[0], nil
}

// disabled looks for what keeps every session here from running hooks. A first launch sets the user's own keys right.
func (c checkup) disabled() (well string, faults []failure) {
	well = "no"
	sources, args := c.sources()
	for _, s := range sources {
		for _, key := range s.muting() {
			if s.name != c.settingsFile() {
				continue
			}
			if c.isFirst() {
				well = fmt.Sprintf("%s: %s is true; the first ccc --supervisor sets it to false", s.name, key)
			} else {
				faults = append(faults, problem(c.relaunch(), "%s: %s is true: no hook runs here", s.name, key)...)
			}
		}
	}
	for _, cause := range hookless(c.dirs, sources, args, os.Environ()) {
		faults = append(faults, problem(cmp.Or(cause.hint, keyHint(c.configFile(), "claude_args", "take it out")), "%w", cause.err)...)
	}
	return well, faults
}

// sources are the settings that count for a launch without arguments, and the arguments that it has nevertheless.
func (c checkup) sources() ([]source, []string) {
	args := c.config.claudeArgs(c.config.findProvider(c.config.CurrentProvider))
	return sources(c.dirs, c.config, args), args
}

// limit looks for one that ends a turn before the reviews are used up. A launch sets it only where the user has not.
func (c checkup) limit() (well string, faults []failure) {
	most := c.config.Supervisor.MaxIterations
	check := func(value, where, fix string) {
		if n := limitUnder(most, value); value != "" && n < most {
			faults = append(faults, warning(fix, "%s in %s leaves a request %d reviews of max_iterations, %d", blockCapVariable, where, n, most)...)
		}
	}
	check(os.Getenv(blockCapVariable), "the environment", "unset "+blockCapVariable)
	sources, _ := c.sources()
	for _, s := range sources {
		check(s.values["env."+blockCapVariable], s.name, s.fault("env."+blockCapVariable, "", strconv.Quote(strconv.Itoa(most))).hint)
	}
	return fmt.Sprintf("allows max_iterations, %d, reviews; %d where /supervisor on switched on what ccc did not launch", most, limitUnder(most, "")), faults
}

func (c checkup) prompt() (string, []failure) {
	prompt, err := supervisorPrompt(c.here, c.ccc)
	if err != nil {
		return "", problem(fixFor(prompt.Source, err), "%w", err)
	}
	return fmt.Sprintf("%s, %d bytes", prompt.Source, len(prompt.Text)), nil
}

func (c checkup) stateDirectory() (string, []failure) {
	if path, err := stateDir(c.state).check(); err != nil {
		return "", problem(fixFor(filepath.Join(path, "file"), err), "%w", err)
	}
	return c.state, nil
}

// copies tries to break out of a copy, as each review does before it offers one to the reviewer.
func (c checkup) copies() (string, []failure) {
	if !c.config.Supervisor.Try {
		return "switched off by supervisor.try; the reviewer runs no commands", nil
	}
	env, _ := reviewerEnv(os.Environ(), nil)
	_, err := tryProbe(context.Background(), c.here, env)
	if err == nil {
		return "isolation check passed; the reviewer runs commands in a throw-away copy", nil
	}
	f := failure{err: err}
	errors.As(err, &f)
	return "", warning(f.hint, "%w; the reviewer runs no commands", f.err)
}

// check tells whether hooks can write to the directory, and make it where it is not there yet; path is what they
// can't write to.
func (d stateDir) check() (path string, err error) {
	info, err := os.Stat(string(d))
	for path = string(d); err != nil && path != filepath.Dir(path); info, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	switch {
	case err != nil:
		return path, err
	case !info.IsDir():
		return path, fmt.Errorf("%s is not a directory", path)
	}
	for _, path = range []string{path, d.logFile()} {
		if err := syscall.Access(path, mayWrite); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path, fmt.Errorf("writing to %s: %w", path, err)
		}
	}
	return path, nil
}
