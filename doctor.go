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

// A checkup is one run of ccc doctor in a project.
type checkup struct {
	dirs     dirs
	config   *config // the defaults, where ccc.json can't be used
	problems int
}

// doctor is ccc doctor. The error counts the problems.
func doctor(_ *call, d dirs) error {
	c := &checkup{dirs: d}
	if c.checkConfig() {
		c.checkProviders()
	}
	c.checkClaude()
	c.checkHooks()
	c.checkMuting()
	c.checkBlockCap()
	c.checkPrompt()
	c.checkState()
	c.checkTry()
	if c.problems > 0 {
		return fmt.Errorf("problems: %d", c.problems)
	}
	return nil
}

func (c *checkup) ok(format string, args ...any) { c.tell("ok", "", format, args...) }

func (c *checkup) warning(fix, format string, args ...any) { c.tell("warning", fix, format, args...) }

func (c *checkup) problem(fix, format string, args ...any) {
	c.problems++
	c.tell("problem", fix, format, args...)
}

func (c *checkup) tell(level, fix, format string, args ...any) {
	fmt.Printf("%-8s %s\n", level, oneLine(fmt.Sprintf(format, args...)))
	if fix != "" {
		fmt.Printf("         %s\n", fix)
	}
}

// relaunch is the command that writes the hooks of this ccc anew: a supervised launch of a claude that only tells
// its version.
func (c *checkup) relaunch() string {
	name := shellQuote(c.dirs.self)
	if path, err := exec.LookPath("ccc"); err == nil && sameFile(path, c.dirs.self) {
		name = "ccc"
	} else if willVanish(c.dirs.self) {
		name = "go install, then ccc"
	}
	return name + " --supervisor -- --version"
}

// allow is the command that lets ccc read and write what stands at path; "" where none would, as on a read-only
// file system.
func allow(path string) string {
	path = resolved(path)
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	owners := map[bool]fs.FileMode{false: 0o600, true: 0o700}[info.IsDir()]
	switch owner, known := info.Sys().(*syscall.Stat_t); {
	case known && int(owner.Uid) != os.Getuid():
		return `sudo chown -R "$(id -un)" ` + shellQuote(path)
	case info.Mode()&owners != owners:
		return "chmod -R u+rwX " + shellQuote(path)
	}
	return ""
}

// mend is what to do about a file that can't be used: let ccc read it, put it aside where it is no file, or edit
// it.
func mend(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return allow(filepath.Dir(path))
	case !info.Mode().IsRegular():
		return setAside(path)
	case syscall.Access(path, readable) != nil:
		return allow(path)
	}
	return edit(path)
}

// another is what to do about a claude that is found and can't be used.
func another() string {
	if os.Getenv(claudeVariable) != "" {
		return "unset " + claudeVariable
	}
	return installClaude
}

// The slowest start of a claude that was measured, 2.1.30 on a busy machine, took 2.5 s.
const claudePatience = 10 * time.Second

// ask runs claude and returns what it says on stdout and stderr; a failure comes as the latter.
func ask(claude string, args ...string) (answer, complaint string) {
	ctx, cancel := context.WithTimeout(context.Background(), claudePatience)
	defer cancel()
	stdout, stderr := &tail{limit: 2000}, &tail{limit: 2000}
	cmd := exec.CommandContext(ctx, claude, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env, _ = reviewerEnv(os.Environ(), nil) // some versions refuse to run inside another claude
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	if complaint = stderr.line(); err != nil && complaint == "" {
		complaint = err.Error()
	}
	return stdout.line(), complaint
}

func (c *checkup) checkClaude() {
	claude, err := findClaude()
	if err != nil {
		fix := another()
		if found := (failure{}); os.Getenv(claudeVariable) == "" && errors.As(err, &found) {
			fix = found.hint
		}
		c.problem(fix, "claude: %v", errors.Unwrap(err))
		return
	}
	answer, complaint := ask(claude, "--version")
	version, _, told := strings.Cut(answer, " (Claude Code)")
	if !told {
		c.problem(another(), "claude: %s --version does not tell a version: %s %s", claude, answer, complaint)
		return
	}
	c.ok("claude: %s, version %s", claude, version)
	c.checkFlags(claude)
}

// checkFlags asks claude which of a review's flags it lacks. The last flag is one that no claude has, so that each
// call ends as an unknown option, in 0.2 s and before claude begins anything; it names the first flag that it does
// not know. All versions from 2.0.60 to 2.1.329 do; their --help leaves some flags out.
func (c *checkup) checkFlags(claude string) {
	const nobodys = "--ccc-doctor"
	r := review{session: "x", prompt: "x", model: c.config.Supervisor.Model, config: c.config.Supervisor}
	flags := append(r.flags(), reviewerFlag{nobodys})
	var lacking []string
	for {
		_, complaint := ask(claude, slices.Concat(flags...)...)
		name := unknownOption(complaint)
		i := slices.IndexFunc(flags, func(f reviewerFlag) bool { return f[0] == name })
		switch {
		case name == nobodys && len(lacking) == 0:
			c.ok("flags: claude knows all that reviews use")
			return
		case name == nobodys:
			c.warning(another(), "flags: claude lacks %s; reviews go on without", strings.Join(lacking, ", "))
			return
		case strings.Contains(complaint, "--permission-mode"):
			c.problem(change(c.dirs.configFile(), "supervisor.permission_mode", `"dontAsk"`), "flags: reviews fail: %s", complaint)
			return
		case i < 0:
			c.warning(another(), "flags: claude does not tell which it knows: %s", complaint)
			return
		case !slices.Contains(optionalFlags, name):
			c.problem(another(), "flags: claude lacks %s, which reviews need: it is too old", name)
			return
		}
		lacking = append(lacking, name)
		flags = slices.Delete(flags, i, i+1)
	}
}

// checkConfig tells whether ccc.json can be used.
func (c *checkup) checkConfig() (usable bool) {
	path := c.dirs.configFile()
	var err error
	if c.config, err = loadConfig(c.dirs); err != nil {
		c.problem(mend(path), "configuration: %v", err)
		return false
	}
	_, err = os.Stat(path)
	switch {
	case err != nil:
		c.ok("configuration: no %s, the defaults count", path)
	case c.config.exposesToken(c.dirs) && syscall.Access(path, writable) != nil: // another's, or a package manager's
		c.warning("let the values of providers be ${NAME} there, and set NAME in the environment", "configuration: %s holds a token and others can read it", path)
	case c.config.exposesToken(c.dirs):
		c.warning("chmod 600 "+shellQuote(path), "configuration: %s holds a token and others can read it", path)
	default:
		c.ok("configuration: %s", path)
	}
	return true
}

// checkProviders looks at the provider that the next launch uses and at the reviewer's own.
func (c *checkup) checkProviders() {
	for _, name := range slices.Compact([]string{c.config.CurrentProvider, c.config.Supervisor.Provider}) {
		if name == "" {
			continue
		}
		p := c.config.findProvider(name)
		if p == nil {
			c.problem(edit(c.dirs.configFile()), "provider: %s is not among those in %s (%s)", name, c.dirs.configFile(), c.config.providerNames())
			continue
		}
		values, err := p.values(os.Environ())
		if unset := (unsetError{}); errors.As(err, &unset) {
			c.problem("read -r "+unset.name+"; export "+unset.name, "provider: %v", err)
			continue
		}
		conflicts := providerConflicts(c.dirs, c.config, p, c.config.claudeArgs(p), values)
		for _, conflict := range conflicts {
			c.problem(conflict.hint, "provider: %v", conflict.err)
		}
		if len(conflicts) == 0 {
			c.ok("provider: %s", name)
		}
	}
}

func (c *checkup) checkHooks() {
	path := c.dirs.settingsFile()
	target, _ := followLinks(path)
	place, unwritable := stateDir(filepath.Dir(target)).check()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fix := mend(path)
		if unwritable != nil {
			fix = mendPlace(place)
		}
		c.problem(fix, "hooks: %v", err)
		return
	}
	programs, missing, err := installedHooks(text, c.dirs.hookPath())
	switch {
	case err != nil:
		c.problem(edit(path), "hooks: %s: %v", path, err)
		return
	case len(missing) > 0 && unwritable != nil && target != path: // whoever keeps the file elsewhere has to change it
		c.problem(fmt.Sprintf("let ccc write to %s, or keep the file itself at %s", filepath.Dir(target), path),
			"hooks: %s has none of ccc's for %s: %v", path, strings.Join(missing, ", "), unwritable)
		return
	case len(missing) > 0 && unwritable != nil:
		c.problem(mendPlace(place), "hooks: %v", unwritable)
		return
	case len(programs) == 0 && c.isFirst():
		c.ok("hooks: none yet; the first ccc --supervisor puts ccc's into %s", path)
		return
	case len(missing) > 0:
		c.problem(c.relaunch(), "hooks: %s has none of ccc's for %s", path, strings.Join(missing, ", "))
		return
	}
	for _, program := range programs {
		if found, err := exec.LookPath(program); err != nil {
			c.problem(c.relaunch(), "hooks: %s calls a program that can't be run: %v", path, err)
			return
		} else if !sameFile(found, c.dirs.self) {
			c.warning(c.relaunch(), "hooks: %s calls another ccc, %s, than this one, %s", path, program, c.dirs.self)
			return
		}
	}
	c.ok("hooks: %s calls %s", path, append(programs, "a ccc that only a shell can find")[0])
}

// isFirst tells whether ccc was never launched with supervision here, so that a launch has its work still to do.
func (c *checkup) isFirst() bool {
	_, err := os.Stat(c.dirs.installedFile())
	return errors.Is(err, fs.ErrNotExist)
}

// checkMuting looks for what keeps every session here from running hooks.
func (c *checkup) checkMuting() {
	before := c.problems
	path := c.dirs.settingsFile()
	there, _ := readSettings(path)
	keys := there.muting()
	for _, key := range keys {
		if c.isFirst() {
			c.ok("muting: %s: %s is true; the first ccc --supervisor sets it to false", path, key)
		} else {
			c.problem(c.relaunch(), "muting: %s: %s is true: no hook runs here", path, key)
		}
	}
	args := c.config.claudeArgs(c.config.findProvider(c.config.CurrentProvider))
	for _, cause := range hookless(c.dirs, args, os.Environ(), c.config.Settings) {
		c.problem(cmp.Or(cause.hint, change(c.dirs.configFile(), "claude_args", "take it out")), "muting: %v", cause.err)
	}
	if c.problems == before && len(keys) == 0 {
		c.ok("muting: nothing keeps hooks from running")
	}
}

// checkBlockCap looks for a cap that ends a turn before the reviews are used up. A launch sets it only where the
// user has not.
func (c *checkup) checkBlockCap() {
	limit := c.config.Supervisor.MaxIterations
	found := false
	check := func(value, where, fix string) {
		if n := limitUnder(limit, value); n < limit {
			found = true
			c.warning(fix, "block cap: %s in %s leaves a request %d reviews of max_iterations, %d", blockCapVariable, where, n, limit)
		}
	}
	if value := os.Getenv(blockCapVariable); value != "" {
		check(value, "the environment", "unset "+blockCapVariable)
	}
	for _, path := range append(c.dirs.settingsFiles(), managedFiles()...) {
		there, _ := readSettings(path)
		if value, ok := there["env."+blockCapVariable]; ok {
			check(value, path, change(path, "env."+blockCapVariable, strconv.Quote(strconv.Itoa(limit))))
		}
	}
	if !found {
		c.ok("block cap: allows max_iterations, %d, reviews; %d where /supervisor on switched on what ccc did not launch",
			limit, limitUnder(limit, ""))
	}
}

func (c *checkup) checkPrompt() {
	prompt, err := supervisorPrompt(c.dirs.here, c.dirs.ccc)
	if err != nil {
		c.problem(mend(prompt.Source), "prompt: %v", err)
		return
	}
	c.ok("prompt: %s, %d bytes", prompt.Source, len(prompt.Text))
}

func setAside(path string) string {
	return fmt.Sprintf("mv %s %s", shellQuote(path), shellQuote(path+".old"))
}

// checkTry tries to break out of a copy, as each review does before it offers one to the reviewer.
func (c *checkup) checkTry() {
	env, _ := reviewerEnv(os.Environ(), nil)
	err := tryProbe(context.Background(), c.dirs.self, c.dirs.here, env)
	var f failure
	switch {
	case !c.config.Supervisor.Try:
		c.ok("copies: switched off by supervisor.try; the reviewer runs no commands")
	case errors.As(err, &f):
		c.warning(f.hint, "copies: %v; the reviewer runs no commands", f.err)
	case err != nil:
		c.warning("", "copies: %v; the reviewer runs no commands", err)
	default:
		c.ok("copies: the reviewer runs commands in a throw-away copy, and trying to break out of one failed")
	}
}

func (c *checkup) checkState() {
	path, err := stateDir(c.dirs.state).check()
	if err == nil {
		c.ok("state directory: %s", c.dirs.state)
		return
	}
	c.problem(mendPlace(path), "state directory: %v", err)
}

// mendPlace is what to do about a path at which ccc can't write: a directory or a file of its own, or a file in the
// place of a directory.
func mendPlace(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && syscall.Access(path, writable) == nil {
		return setAside(path)
	}
	return allow(path)
}
