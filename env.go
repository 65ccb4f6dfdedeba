package main

// What ccc is called with and by which names: subcommands and their arguments, variables, directories, files,
// and claude.

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The environment variables that ccc and its parts agree on, or share with Claude Code.
const (
	supervisorVariable = "CCC_SUPERVISOR"      // "1": the session is supervised
	reviewerVariable   = "CCC_SUPERVISOR_HOOK" // "1": this claude is a reviewer's
	launchVariable     = "CCC_LAUNCH"          // the last supervised launch; see hook_caller.go
	providerVariable   = "CCC_PROVIDER"        // the provider that the session was started with
	cacheVariable      = "CCC_CACHE"           // set where the session's reviews can take the conversation from its prompt cache
	addDirsVariable    = "CCC_ADD_DIRS"        // its --add-dir directories, one on each line
	tryVariable        = "CCC_TRY_TIMELINE"    // a reviewer's: DIR/SESSION/REVIEW, for which ccc try records its runs
	claudeVariable     = "CCC_CLAUDE"
	configDirVariable  = "CCC_CONFIG_DIR"
	workDirVariable    = "CCC_WORK_DIR"
	claudeDirVariable  = "CLAUDE_CONFIG_DIR"
	projectVariable    = "CLAUDE_PROJECT_DIR" // set for hooks: where the session was started
	toolVariable       = "CLAUDECODE"         // set by Claude Code for what its tools and hooks start
	sessionVariable    = "CLAUDE_CODE_SESSION_ID"
	tokenVariable      = "ANTHROPIC_AUTH_TOKEN"
	keyVariable        = "ANTHROPIC_API_KEY"
	// Claude Code (from 2.1.143) ends a turn by force after this many blocked stops in a row; see limitUnder.
	blockCapVariable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
	// Claude Code puts a line at the head of the system prompt that differs between an interactive session
	// and a reviewer, and with it all that follows in the prompt cache; "0" leaves the line out of both. A
	// subscription is billed by that line.
	attributionVariable = "CLAUDE_CODE_ATTRIBUTION_HEADER"
)

// The subcommands that ccc itself calls: by Claude Code's settings, by the hook (guard.go), by a reviewer,
// and in a throw-away copy (try.go).
const (
	hookSubcommand      = "supervisor-hook"
	guardSubcommand     = "supervisor-guard"
	trySubcommand       = "try"
	tryInsideSubcommand = "in-copy" // not try-something: a rule that allows `ccc try` may allow that too
)

// The events of Claude Code's that ccc answers, and the one tool.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	askUserQuestion = "AskUserQuestion"
)

// supervisorFlag is ccc's own.
const supervisorFlag = "--supervisor"

// modes are what supervision can be switched to.
var modes = []string{"on", "off"}

// subcommands are the words that are ccc's own as first argument; main.go fills them in. No provider can have
// such a name.
var subcommands []string

func isSubcommand(word string) bool { return slices.Contains(subcommands, word) }

type invocation struct {
	flags    map[string]string // those given, with their dashes and their values
	operands []string
}

func (c *invocation) has(flag string) bool { _, ok := c.flags[flag]; return ok }

// untilDashes returns what stands before --, which ends the flags.
func untilDashes(args []string) []string {
	if end := slices.Index(args, "--"); end >= 0 {
		return args[:end]
	}
	return args
}

// lastValue returns the value of the last flag of that name in args.
func lastValue(args []string, name string) (value string, ok bool) {
	args = untilDashes(args)
	for i, arg := range args {
		if after, found := strings.CutPrefix(arg, name+"="); found {
			value, ok = after, true
		} else if arg == name && i+1 < len(args) {
			value, ok = args[i+1], true
		}
	}
	return value, ok
}

// toolMark is in the environment of what an agent's tools start. All below inherits it, also a tmux that
// outlives the agent.
const toolMark = toolVariable + "=1"

// A process is one that runs, as the system tells of it.
type process struct {
	name     string // one that no other process has, fit for a file name
	program  string // the path of its executable, "" where the system does not tell
	title    string // what it goes by: for a script, the script's name
	terminal bool   // it has a controlling one
	marked   bool   // the environment that it was started with has toolMark
}

// dirs are the directories that ccc works in, and its own program, all absolute.
type dirs struct {
	self   string
	here   string // the current directory, "" when it has been removed
	claude string // Claude Code's own: settings.json
	ccc    string // ccc.json and the global SUPERVISOR.md
	state  string // see state.go
}

// findDirs reads the environment. state is the --state-dir flag, or "".
func findDirs(state string) (dirs, error) {
	self, err := os.Executable()
	if err != nil {
		return dirs{}, fmt.Errorf("finding ccc itself: %w", err)
	}
	d := dirs{self: self, claude: os.Getenv(claudeDirVariable)}
	if d.claude == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return d, fmt.Errorf("finding ~/.claude: %w", err)
		}
		d.claude = filepath.Join(home, ".claude")
	}
	d.ccc = cmp.Or(os.Getenv(configDirVariable), d.claude)
	d.state = cmp.Or(state, filepath.Join(cmp.Or(os.Getenv(workDirVariable), d.ccc), "ccc"))
	for _, dir := range []*string{&d.claude, &d.ccc, &d.state} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return d, err
		}
	}
	d.here, _ = os.Getwd()
	return d, nil
}

// inSession reports whether Claude Code runs the hook, and not a person or a script.
func inSession() bool { return os.Getenv(projectVariable) != "" }

// promptName is the file, in the project or in ccc's directory, that replaces the built-in prompt.
const promptName = "SUPERVISOR.md"

// What ccc puts where is recorded in installedFile; lockFile guards all that it writes for the user.
func (d dirs) settingsFile() string  { return filepath.Join(d.claude, "settings.json") }
func (d dirs) commandFile() string   { return filepath.Join(d.claude, "commands", "supervisor.md") }
func (d dirs) installedFile() string { return filepath.Join(d.claude, ".ccc-installed.json") }
func (d dirs) lockFile() string      { return filepath.Join(d.claude, ".ccc.lock") }
func (d dirs) configFile() string    { return filepath.Join(d.ccc, "ccc.json") }
func (d dirs) promptFile() string    { return filepath.Join(d.ccc, promptName) }

// settingsFiles are those of Claude Code's settings files that count in the current directory, each once, the
// user's first. The local settings of a git repository's main working tree count in all its directories and
// trees (2.1.329).
func (d dirs) settingsFiles() []string {
	const local = ".claude/settings.local.json"
	files := []string{d.settingsFile(), filepath.Join(d.here, ".claude/settings.json")}
	_, common := gitTree(d.here)
	if main, isMain := strings.CutSuffix(common, "/.git"); isMain && main != resolved(d.here) {
		files = append(files, filepath.Join(main, local))
	}
	return slices.Compact(append(files, filepath.Join(d.here, local)))
}

// hookPath is the path by which hooks call this program: the one in PATH, if it leads here, which an upgrade
// does not break.
func (d dirs) hookPath() string {
	if path, err := exec.LookPath("ccc"); err == nil && sameFile(path, d.self) {
		return path
	}
	return d.self
}

// goRunFolder is where `go run` puts a program: go-buildN for its time, or the build cache, go-build, for
// some days (from Go 1.24 on).
var goRunFolder = lazyRegexp(`/go-build[0-9]*/`)

func willVanish(path string) bool { return goRunFolder().MatchString(path) }

// gitTree returns the top of the git working tree that holds dir, and the git directory that all trees of its
// repository share; both are "" outside one.
func gitTree(dir string) (top, common string) {
	for top = dir; ; top = filepath.Dir(top) {
		common = filepath.Join(top, ".git")
		if info, err := os.Stat(common); err == nil && info.IsDir() {
			return top, resolved(common)
		}
		// In a worktree .git is a file that names a directory of its own, which names the common one.
		if text, _ := readUserFile(common); text != nil {
			own := absoluteIn(top, strings.TrimPrefix(strings.TrimSpace(string(text)), "gitdir: "))
			if text, _ = readUserFile(filepath.Join(own, "commondir")); text != nil {
				own = absoluteIn(own, strings.TrimSpace(string(text)))
			}
			return top, resolved(own)
		}
		if top == filepath.Dir(top) {
			return "", ""
		}
	}
}

// treeOf returns the working tree that holds dir, outside git dir itself.
func treeOf(dir string) string {
	top, _ := gitTree(dir)
	return resolved(cmp.Or(top, dir))
}

// isOfProject reports whether a session that was started in that directory is of the project that d.here is
// in: of the same repository, outside git of the same directory.
func (d dirs) isOfProject(start string) bool {
	_, common := gitTree(d.here)
	_, its := gitTree(start)
	return start != "" && its == common && (common != "" || resolved(start) == resolved(d.here))
}

// oldestClaude is the first version that is tested; reviews of sessions of older ones fail.
const oldestClaude = "2.1.120"

// installClaude names the newest version: npm gives an old Node.js an old one otherwise.
const installClaude = "npm install -g @anthropic-ai/claude-code@latest"

// otherClaude is the command that gets a claude in the place of one that can't be used.
func otherClaude() string {
	if os.Getenv(claudeVariable) != "" {
		return "unset " + claudeVariable + "; command -v claude || " + installClaude
	}
	return installClaude
}

// findClaude returns the absolute path of the claude to run: $CCC_CLAUDE, else the one in PATH.
func findClaude() (string, error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv(claudeVariable), "claude"))
	if err != nil {
		return "", failure{code: 127, err: fmt.Errorf("finding claude: %w", err), hint: otherClaude()}
	}
	if self, err := os.Executable(); err == nil && sameFile(path, self) {
		return "", failure{code: 126, err: fmt.Errorf("finding claude: %s is ccc itself", path),
			hint: "let " + claudeVariable + " name Claude Code's own program"}
	}
	return filepath.Abs(path)
}

// lookupEnv returns the value of name in env, "" when it has none.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setEnv returns env with each name of pairs set to the value behind it, once; an empty value unsets it.
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
