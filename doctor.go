package main

// ccc doctor looks for what keeps Supervisor Mode from working. Each finding is a
// line (ok, warning or problem, and the subject) and, unless it is ok, a line with
// the command that mends it. It changes nothing and shows no variable's value.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

// A checkup is one run of ccc doctor.
type checkup struct {
	places
	project  string
	self     string
	config   *config // nil: ccc.json can't be used
	out      io.Writer
	problems int
}

// doctor is ccc doctor. The error counts the problems.
func doctor(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return err
	}
	c := &checkup{out: stdout}
	var err error
	if c.places, err = findPlaces(""); err != nil {
		return err
	}
	if c.project, err = os.Getwd(); err != nil {
		return err
	}
	if c.self, err = os.Executable(); err != nil {
		return err
	}
	c.checkClaude()
	c.checkConfig()
	c.checkProviders()
	c.checkHooks()
	c.checkMuting()
	c.checkBlockCap()
	c.checkPrompt()
	c.checkState()
	switch c.problems {
	case 0:
		return nil
	case 1:
		return errors.New("1 problem")
	}
	return fmt.Errorf("%d problems", c.problems)
}

func (c *checkup) ok(format string, args ...any) { c.tell("ok", format, args...) }

func (c *checkup) warning(mend, format string, args ...any) {
	c.tell("warning", format, args...)
	fmt.Fprintf(c.out, "         %s\n", mend)
}

func (c *checkup) problem(mend, format string, args ...any) {
	c.problems++
	c.tell("problem", format, args...)
	fmt.Fprintf(c.out, "         %s\n", mend)
}

func (c *checkup) tell(level, format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	fmt.Fprintf(c.out, "%-8s %s\n", level, strings.ReplaceAll(text, "\n", " "))
}

// relaunch is the command that writes the hooks anew: a supervised launch of a
// claude that only tells its version.
func (c *checkup) relaunch() string {
	name := "ccc"
	if _, err := exec.LookPath(name); err != nil {
		name = shellQuote(c.self)
	}
	return name + " --supervisor -- --version"
}

func edit(path string) string { return "${EDITOR:-vi} " + shellQuote(path) }

// The slowest start of a claude that was measured, 2.1.30 on a busy machine, took
// 2.5 s.
const claudePatience = 10 * time.Second

// ask runs claude and returns what it says on stdout and stderr.
func ask(claude string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), claudePatience)
	defer cancel()
	env, err := reviewerEnv(os.Environ(), nil) // some versions refuse to run inside another claude
	if err != nil {
		return "", "", err
	}
	answer, complaints := &tail{limit: 2000}, &tail{limit: 2000}
	cmd := exec.CommandContext(ctx, claude, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, answer, complaints
	cmd.WaitDelay = 100 * time.Millisecond
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s", claudePatience)
	}
	return answer.line(), complaints.line(), err
}

func (c *checkup) checkClaude() {
	claude, err := findClaude()
	if err != nil {
		mend := installClaude
		if os.Getenv(claudeVariable) != "" {
			mend = "unset " + claudeVariable
		}
		c.problem(mend, "claude: %v", errors.Unwrap(err))
		return
	}
	answer, complaint, err := ask(claude, "--version")
	version, _, told := strings.Cut(answer, " (Claude Code)")
	if err != nil || !told {
		if err == nil {
			err = errors.New("it does not tell its version")
		}
		c.problem(installClaude, "claude: %s --version: %v %s", claude, err, complaint)
		return
	}
	c.ok("claude: %s, version %s", claude, version)
	c.checkFlags(claude)
}

// checkFlags asks claude which flags of a review it lacks. The last flag is one
// that no claude has, so that each call ends as an unknown option, in 0.2 s and
// before claude begins anything; it names the first flag that it does not know.
// All versions from 2.0.60 to 2.1.329 do; their --help leaves some flags out.
func (c *checkup) checkFlags(claude string) {
	const nobodys = "--ccc-doctor"
	flags := append(reviewerFlags(&review{session: "x", prompt: "x", config: supervisorConfig{
		model: "x", permissionMode: "dontAsk", allowedTools: []string{"Read"}, maxBudgetUSD: 1}}), reviewerFlag{nobodys})
	var lacking []string
	for {
		_, complaint, _ := ask(claude, slices.Concat(flags...)...)
		name := unknownOption(complaint)
		if name == nobodys {
			break
		}
		i := slices.IndexFunc(flags, func(f reviewerFlag) bool { return f[0] == name })
		if i < 0 {
			c.warning(installClaude, "flags: claude does not tell which it knows: %s", complaint)
			return
		}
		if !slices.Contains(optionalFlags, name) {
			c.problem(installClaude, "flags: claude lacks %s, which reviews need: it is too old", name)
			return
		}
		lacking = append(lacking, name)
		flags = slices.Delete(flags, i, i+1)
	}
	if len(lacking) > 0 {
		c.warning(installClaude, "flags: claude lacks %s; reviews go on without", strings.Join(lacking, ", "))
		return
	}
	c.ok("flags: claude knows all that reviews use")
}

func (c *checkup) checkConfig() {
	path := c.configFile()
	var err error
	if c.config, err = loadConfig(c.places); err != nil {
		c.config = nil
		c.problem(edit(path), "configuration: %v", err)
		return
	}
	_, err = os.Stat(path)
	switch {
	case err != nil:
		c.ok("configuration: no %s, the defaults count", path)
	case c.config.exposesToken(c.places):
		c.warning("chmod 600 "+shellQuote(path), "configuration: %s holds a token and others can read it", path)
	default:
		c.ok("configuration: %s", path)
	}
}

// checkProviders looks at the provider that the next launch uses and at the
// reviewer's own.
func (c *checkup) checkProviders() {
	if c.config == nil {
		return
	}
	names := slices.Compact([]string{c.config.currentProvider, c.config.supervisor.provider})
	for _, name := range names {
		if name == "" {
			continue
		}
		provider := c.config.findProvider(name)
		if provider == nil {
			c.problem(edit(c.configFile()), "provider: %s is not among those in %s (%s)", name, c.configFile(), c.config.providerNames())
			continue
		}
		values, err := provider.values(os.Environ())
		if err != nil {
			c.problem(setUnset(provider), "provider: %v", err)
			continue
		}
		conflicts := settingsConflicts(c.places, c.project, provider, values)
		for _, conflict := range conflicts {
			path, _, _ := strings.Cut(conflict.Error(), ": env.")
			c.problem(edit(path), "provider: %v", conflict)
		}
		if len(conflicts) == 0 {
			c.ok("provider: %s", name)
		}
	}
}

// setUnset is the command that reads, without showing it on the command line,
// the first variable that p takes from the environment and that is not set.
func setUnset(p *provider) string {
	for _, v := range p.env {
		if name, ok := variableIn(v.value); ok && os.Getenv(name) == "" {
			return fmt.Sprintf("read -r %s; export %[1]s", name)
		}
	}
	return ""
}

func (c *checkup) checkHooks() {
	path := c.settingsFile()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problem("chmod u+rw "+shellQuote(path), "hooks: %v", err)
		return
	}
	programs, missing, err := installedHooks(orEmptyObject(text), hookCommand(c.self))
	switch {
	case err != nil:
		c.problem(edit(path), "hooks: %s: %v", path, err)
		return
	case len(missing) > 0:
		c.problem(c.relaunch(), "hooks: %s has none of ccc's for %s", path, strings.Join(missing, ", "))
		return
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			c.problem(c.relaunch(), "hooks: %s calls a program that can't be run: %v", path, err)
			return
		}
	}
	for _, program := range programs {
		if !sameFile(program, c.self) {
			c.warning(c.relaunch(), "hooks: %s calls another ccc, %s, than this one, %s", path, program, c.self)
			return
		}
	}
	c.ok("hooks: %s calls %s", path, programs[0])
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// substitute is the command that replaces a sed pattern in the file at path. With
// the suffix attached GNU's and BSD's sed take -i alike; the former file stays
// beside.
func substitute(path, pattern, replacement string) string {
	return "sed -i.old " + shellQuote("s/"+pattern+"/"+replacement+"/") + " " + shellQuote(path)
}

func (c *checkup) checkMuting() {
	muted := false
	for _, path := range append(c.settingsFiles(c.project), managedSettings) {
		for _, key := range mutedBy(path) {
			muted = true
			mend := substitute(path, `"`+key+`"[[:space:]]*:[[:space:]]*true`, `"`+key+`": false`)
			switch path {
			case c.settingsFile():
				c.problem(c.relaunch(), "muting: %s: %s is true: no hook runs until a supervised launch", path, key)
			case managedSettings:
				c.problem("sudo "+mend, "muting: %s: %s is true: ask who administers this machine", path, key)
			default:
				c.problem(mend, "muting: %s: %s is true: no hook runs in this project", path, key)
			}
		}
	}
	if !muted {
		c.ok("muting: no settings file mutes hooks")
	}
}

// checkBlockCap looks for a cap that ends a turn before the reviews are used up.
// A launch sets it only where the user has not.
func (c *checkup) checkBlockCap() {
	if c.config == nil {
		return
	}
	limit := c.config.supervisor.maxIterations
	below := func(value string) bool {
		n, err := strconv.Atoi(value)
		return err != nil || n < limit
	}
	const effect = "block cap: %s in %s ends a turn before max_iterations, %d, reviews"
	found := false
	if value := os.Getenv(blockCapVariable); value != "" && below(value) {
		found = true
		c.warning("unset "+blockCapVariable, effect, blockCapVariable, "the environment", limit)
	}
	for _, path := range c.settingsFiles(c.project) {
		for _, set := range settingsEnv(path) {
			if set.name == blockCapVariable && below(set.value) {
				found = true
				c.warning(substitute(path, `"`+set.name+`"[[:space:]]*:[[:space:]]*[^,}]*`, fmt.Sprintf(`"%s": "%d"`, set.name, limit)),
					effect, set.name, path, limit)
			}
		}
	}
	if !found {
		c.ok("block cap: allows max_iterations, %d, reviews", limit)
	}
}

func (c *checkup) checkPrompt() {
	for _, dir := range []string{c.project, c.ccc} {
		path := filepath.Join(dir, promptName)
		if _, err := readPrompt(path); err != nil {
			c.problem(setAside(path), "prompt: %v", err)
			return
		}
	}
	prompt, source, err := supervisorPrompt(c.project, c.ccc)
	if err != nil {
		c.problem(edit(filepath.Join(c.ccc, promptName)), "prompt: %v", err)
		return
	}
	c.ok("prompt: %s, %d bytes", source, len(prompt))
}

func setAside(path string) string {
	return fmt.Sprintf("mv %s %s", shellQuote(path), shellQuote(path+".old"))
}

func (c *checkup) checkState() {
	path, err := stateDir(c.state).check()
	if err == nil {
		c.ok("state directory: %s", c.state)
		return
	}
	mend := "chmod -R u+rwX " + shellQuote(path)
	if info, statErr := os.Stat(path); statErr == nil {
		owner, known := info.Sys().(*syscall.Stat_t)
		switch {
		case !info.IsDir():
			mend = setAside(path)
		case known && int(owner.Uid) != os.Getuid():
			mend = `sudo chown -R "$(id -un)" ` + shellQuote(path)
		}
	}
	c.problem(mend, "state directory: %v", err)
}
