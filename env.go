package main

// The names that ccc shares with its own processes, with Claude Code and with the user: variables,
// subcommands and their arguments, directories, files, the claude to run.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The environment variables that ccc reads or sets. Those of a session are set at its launch.
const (
	supervisorVariable = "CCC_SUPERVISOR"      // "1" in a supervised session
	reviewerVariable   = "CCC_SUPERVISOR_HOOK" // "1" for a reviewer
	launchVariable     = "CCC_LAUNCH"          // the session's last supervised launch: session.go
	providerVariable   = "CCC_PROVIDER"        // the session's provider
	cacheVariable      = "CCC_CACHE"           // set if reviews may use the session's prompt cache
	addDirsVariable    = "CCC_ADD_DIRS"        // the session's --add-dir directories, one on each line
	settingsVariable   = "CCC_SETTINGS"        // the session's --settings, a path or JSON
	betasVariable      = "CCC_BETAS"           // the session's --betas, one on each line
	tryVariable        = "CCC_TRY_TIMELINE"    // DIR/SESSION/REVIEW that a reviewer's ccc try records for
	trialVariable      = "CCC_TRIAL"           // in a trial of the hooks, the file that answers it: trial.go
	triedVariable      = "CCC_TRIED"           // the mark of a trial that the session's start puts back
	claudeVariable     = "CCC_CLAUDE"          // the claude to run; of a session the one that was launched
	starterVariable    = "CCC_STARTER"         // the process of the ccc that has started this claude
	configDirVariable  = "CCC_CONFIG_DIR"
	workDirVariable    = "CCC_WORK_DIR"
	claudeDirVariable  = "CLAUDE_CONFIG_DIR"
	projectVariable    = "CLAUDE_PROJECT_DIR"     // for hooks, by Claude Code: where the session was started
	toolVariable       = "CLAUDECODE"             // for what Claude Code's tools and hooks start, by it
	clientVariable     = "CLAUDE_PID"             // for the same, by it: its process
	entrypointVariable = "CLAUDE_CODE_ENTRYPOINT" // for the same, by it: cli before a user, or sdk-...
	jobVariable        = "CLAUDE_JOB_DIR"         // set for a background session
	sessionVariable    = "CLAUDE_CODE_SESSION_ID" // for what Claude Code's tools start, by it
	urlVariable        = "ANTHROPIC_BASE_URL"
	tokenVariable      = "ANTHROPIC_AUTH_TOKEN"
	keyVariable        = "ANTHROPIC_API_KEY"
	headersVariable    = "ANTHROPIC_CUSTOM_HEADERS"
	oauthVariable      = "CLAUDE_CODE_OAUTH_TOKEN"         // which Claude Code keeps from its hooks
	skipVariable       = "CLAUDE_CODE_SKIP_PROMPT_HISTORY" // if true, Claude Code writes no transcript
	// Claude Code (2.1.280, 2.1.332) ends a turn by force after this many blocked stops: see reviewLimit.
	blockCapVariable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
	// Claude Code begins the system prompt with a line that differs between session and reviewer: neither can
	// use the other's prompt cache. With "0" it leaves the line out. A subscription is billed by it.
	attributionVariable = "CLAUDE_CODE_ATTRIBUTION_HEADER"
	// With advisorModel in settings.json a reviewer could ask a dearer model, which gets the whole
	// conversation. With "1" there is none, and its advice is left out of a fork (2.1.280, 2.1.332).
	advisorVariable = "CLAUDE_CODE_DISABLE_ADVISOR_TOOL"
)

// What an environment loses: the names of variables, of which each is a regular expression.
var (
	// With a provider: what decides which API is called and how, with what model, key, login, headers, body.
	ofAPI = variables("ANTHROPIC_.*", "CLAUDE_CODE_(USE|API_KEY|OAUTH)_.*", "CLAUDE_CODE_EXTRA_BODY.*")
	// At a launch and by hand: what the launch of another session has left in this terminal.
	ofLaunch = variables(toolVariable, supervisorVariable, launchVariable, reviewerVariable, trialVariable,
		triedVariable, jobVariable, providerVariable, addDirsVariable, settingsVariable, betasVariable)
	// For a reviewer: what ties a process to its session.
	ofClient = variables(toolVariable, entrypointVariable, sessionVariable, "CLAUDE_CODE_CHILD_SESSION",
		"CLAUDE_CODE_MESSAGING_.*")
	// In copies and in the demo: Claude Code's, ccc's, and keys of clouds that Claude Code can be pointed at.
	ofOthers = variables("ANTHROPIC_.*", "CLAUDE.*", "CCC_.*",
		"(AWS|AZURE|CLOUDSDK|GCLOUD|GOOGLE)_.*(KEY|SECRET|TOKEN|CREDENTIAL|PASSW).*")
	// For git: repository and index, which a git hook gets. GIT_CONFIG_... stays.
	ofGit = variables("GIT_([^C]|C[^O]|CO[^N]).*")
)

// variables returns what matches each of the names.
func variables(names ...string) func() *regexp.Regexp {
	return lazyRegexp("^(" + strings.Join(names, "|") + ")$")
}

// without returns env without the variables whose names lost matches.
func without(env []string, lost func() *regexp.Regexp) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return lost().MatchString(name)
	})
}

// The subcommands that ccc itself calls.
const (
	hookSubcommand      = "supervisor-hook" // in Claude Code's settings
	trySubcommand       = "try"             // in the commands of the reviewer
	tryInsideSubcommand = "in-copy"         // inside a copy; the rule `ccc try:*` must not match it
)

const supervisorFlag = "--supervisor"

// A mode is whether the stops of a session are reviewed, and whether a review may send the agent back.
type mode string

const (
	modeOn      mode = "on"
	modeOff     mode = "off"
	modeObserve mode = "observe" // each stop is judged, and the agent stops all the same
)

// modes are the operands that switch supervision.
var modes = []string{"on", "off", "observe"}

// subcommands are the names of the subcommands that people call; main.go fills them in.
var subcommands []string

// isSubcommand reports whether ccc answers to word: no provider can have such a name.
func isSubcommand(word string) bool {
	hidden := []string{hookSubcommand, tryInsideSubcommand}
	return slices.Contains(subcommands, word) || slices.Contains(hidden, word)
}

// untilDashes returns the arguments before --, which ends the flags.
func untilDashes(args []string) []string {
	if end := slices.Index(args, "--"); end >= 0 {
		return args[:end]
	}
	return args
}

// givenFlag returns the first flag in args that is one of names, without its value, or "".
func givenFlag(args []string, names ...string) string {
	for _, arg := range untilDashes(args) {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(names, flag) {
			return flag
		}
	}
	return ""
}

// lastValue returns the value of the last flag of that name in args, in either form: --x=value, --x value.
func lastValue(args []string, name string) (value string, ok bool) {
	args = untilDashes(args)
	for i, arg := range args {
		if after, isJoined := strings.CutPrefix(arg, name+"="); isJoined {
			value = after
			ok = true
		} else if arg == name && i+1 < len(args) {
			value = args[i+1]
			ok = true
		}
	}
	return value, ok
}

// allValues returns the values of a flag in args that takes all up to the next flag.
func allValues(args []string, name string) (values []string) {
	isTaking := false
	for _, arg := range untilDashes(args) {
		value, isJoined := strings.CutPrefix(arg, name+"=")
		isFlag := strings.HasPrefix(arg, "-")
		if isJoined || isTaking && !isFlag {
			values = append(values, value)
		}
		isTaking = arg == name || isTaking && !isFlag
	}
	return values
}

// An environ is an environment: NAME=value each. Commands get the process's own from main.
type environ []string

func (e environ) get(name string) string { return lookupEnv(e, name) }

type stateDir string

// dirs are ccc's own program, the directories that it uses, as absolute paths, and its environment.
type dirs struct {
	env    environ
	self   string
	here   string // the current directory, "" if it has been removed
	claude string // Claude Code's directory, with settings.json
	ccc    string // the directory of ccc.json and the global SUPERVISOR.md
	state  stateDir
}

// findDirs finds them by the environment. state is the value of --state-dir, or "".
func findDirs(env environ, state string) (dirs, error) {
	self, err := os.Executable()
	if err != nil {
		return dirs{}, fmt.Errorf("finding ccc itself: %w", err)
	}
	d := dirs{env: env, self: self, claude: env.get(claudeDirVariable)}
	if d.claude == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return d, errors.New("HOME is not defined: set it, or CLAUDE_CONFIG_DIR in place of ~/.claude")
		}
		d.claude = filepath.Join(home, ".claude")
	}
	d.ccc = cmp.Or(env.get(configDirVariable), d.claude)
	d.state = stateDir(cmp.Or(state, filepath.Join(cmp.Or(env.get(workDirVariable), d.ccc), "ccc")))
	for _, dir := range []*string{&d.claude, &d.ccc, (*string)(&d.state)} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return d, err
		}
	}
	d.here, _ = currentDir()
	return d, nil
}

// currentDir returns the current directory, and an error that names it if it has been removed.
func currentDir() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		err = fmt.Errorf("the current directory, %s, is gone", cmp.Or(os.Getenv("PWD"), "whatever it was"))
		return "", withHint(err, "cd to a directory that is there")
	}
	return here, nil
}

// withFileHint returns err with a hint if a file can't be used: look who may write there. The hint names a
// variable of ccc's that leads there and is relative or leads nowhere. Any other error gets the hint other.
func withFileHint(err error, other string) error {
	f := failureOf(err)
	at := new(fs.PathError)
	if f.err == nil || f.hint != "" { // there is nothing to tell, or it is told
		return err
	}
	f.err = err
	f.hint = other
	if !errors.As(err, &at) {
		return f
	}
	f.hint = "ls -ld " + shellQuote(nearestThere(at.Path))
	for _, name := range []string{workDirVariable, configDirVariable} {
		value := os.Getenv(name)
		place, _ := filepath.Abs(value)
		_, missing := os.Stat(place)
		if value != "" && inside(at.Path, place) && (missing != nil || !filepath.IsAbs(value)) {
			f.hint = name + "=" + value + " leads there:\n" + f.hint
		}
	}
	return f
}

// promptName is the file, in the project or in ccc's directory, that replaces the built-in prompt.
const promptName = "SUPERVISOR.md"

func (d dirs) settingsFile() string  { return filepath.Join(d.claude, "settings.json") }
func (d dirs) commandFile() string   { return filepath.Join(d.claude, "commands", "supervisor.md") }
func (d dirs) installedFile() string { return filepath.Join(d.claude, ".ccc-installed.json") }
func (d dirs) lockFile() string      { return filepath.Join(d.claude, ".ccc.lock") }
func (d dirs) configFile() string    { return filepath.Join(d.ccc, "ccc.json") }
func (d dirs) promptFile() string    { return filepath.Join(d.ccc, promptName) }

// inSession reports whether Claude Code runs this hook, not a person or a script.
func (d dirs) inSession() bool { return d.env.get(projectVariable) != "" }

// hookPath returns the path by which hooks call this program. If the ccc in PATH is this program, that is the
// path there, links and all: an upgrade that moves a link does not break it.
func (d dirs) hookPath() string {
	if path, err := exec.LookPath("ccc"); err == nil && sameFile(path, d.self) {
		return path
	}
	return d.self
}

// goRunFolder matches the paths of programs that `go run` builds: in go-buildN, which it removes, or from Go
// 1.24 on in the build cache, go-build, which forgets them after some days.
var goRunFolder = lazyRegexp(`/go-build[0-9]*/`)

// oldestClaude is the oldest version that is tested. Reviews of sessions of an older one fail.
const oldestClaude = "2.1.280"

// installClaude has @latest because npm otherwise chooses an old version for an old Node.js.
const installClaude = "npm install -g @anthropic-ai/claude-code@latest"

// otherClaude is the command that replaces a claude that can't be used.
func otherClaude(env environ) string {
	if env.get(claudeVariable) != "" {
		return "unset " + claudeVariable + "; command -v claude || " + installClaude
	}
	return installClaude
}

// findClaude returns the absolute path of the claude to run: $CCC_CLAUDE, else the one in PATH. The error is
// a failure with the exit code of a shell, 126 or 127.
func findClaude(env environ) (string, error) {
	named := env.get(claudeVariable)
	path, err := exec.LookPath(cmp.Or(named, "claude"))
	if err != nil {
		f := failure{code: 127, err: errors.New("no claude in PATH, and " + claudeVariable + " is not set"),
			hint: installClaude + " || curl -fsSL https://claude.ai/install.sh | bash"}
		if named != "" {
			f.hint = otherClaude(env)
			f.err = fmt.Errorf("%s=%s: %w", claudeVariable, named, errors.Unwrap(err))
		}
		if elsewhere := installedClaude(); elsewhere != "" {
			f.hint = "export " + claudeVariable + "=" + shellQuote(elsewhere)
		}
		return "", f
	}
	self, err := os.Executable()
	// The process of a script that ccc took for claude is its own or its parent's: 0 at a container's start.
	starters := []string{strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())}
	isStarted := slices.Contains(starters, env.get(starterVariable))
	if isStarted && env.get(toolVariable) == "" || err == nil && sameFile(path, self) {
		const format = "%s, which stands for claude, is ccc itself, or a script that starts it"
		return "", failure{code: 126, err: fmt.Errorf(format, path),
			hint: "export " + claudeVariable + "=PATH, that of Claude Code's own program"}
	}
	return filepath.Abs(path)
}

// installedClaude returns the claude that one of Claude Code's own installers has put into the home, or "".
func installedClaude() (path string) {
	home, _ := os.UserHomeDir()
	for _, place := range []string{".claude/local", ".local/bin"} {
		if there, err := exec.LookPath(filepath.Join(home, place, "claude")); err == nil {
			path = there
		}
	}
	return path
}

// lookupEnv returns the value of name in env, or "".
func lookupEnv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setEnv returns a copy of env in which each name of pairs has the value that follows it; "" unsets it.
func setEnv(env []string, pairs ...string) []string {
	env = slices.Clone(env)
	for pair := range slices.Chunk(pairs, 2) {
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, pair[0]+"=") })
		if pair[1] != "" {
			env = append(env, pair[0]+"="+pair[1])
		}
	}
	return env
}
