// Command ccc supervises Claude Code: it lets the agent stop only when a strict reviewer finds the work done.
//
// A supervised launch (launch.go) writes hooks into Claude Code's settings (settings.go) and becomes claude.
// Each time the agent wants to stop, or to put a question to the user, Claude Code runs ccc supervisor-hook
// (hook.go), which forks the session for a reviewer (review.go) and turns its verdict into the hook's
// decision. The reviewer runs commands by ccc try, in a throw-away copy of the machine (try.go).
//
// If the first word of the command line is no subcommand, claude is started. What was asked for goes to
// stdout, everything else to stderr. The exit code is 0, 1 for an error, 2 for a wrong command line, and 126
// or 127 if claude can't be started; the help of a subcommand tells its own.
//
// The source files, from the ground up: a file knows only files above it in this list, which TestHouse reads.
//
// Ground:
//
//	screen.go             text on a terminal: printable, wrapped, in colour
//	failure.go            errors with an exit code and the next command to try
//	json.go               reading JSON, and editing one value of it
//	file.go               locks, atomic replacement, appending, lines
//	env.go                names of variables and subcommands, arguments, directories, claude itself
//	text.go               what people read, in both languages
//	text_review.go        what agent and reviewer read, in both languages
//	redact.go             what is secret in a text that is recorded
//	process_linux.go      which processes there are
//	process_darwin.go     the same on macOS
//
// Settings:
//
//	config.go             ccc.json
//	settings.go           what ccc writes into Claude Code's settings.json
//	settings_sources.go   what Claude Code's settings say, and what keeps hooks from running
//	provider.go           the environment of a claude and its reviewer, and what would override a provider
//
// State:
//
//	state.go              the state directory: files, log, sweep
//	state_timeline.go     a session's records, and its history, which is made of them
//	state_session.go      what ccc remembers between two hooks: count, on or off; which session a word names
//	hook_caller.go        whose session it is, the user's or an agent's, and whether it is supervised
//
// The copy:
//
//	guard.go              ends a process tree when its owner ends
//	scratch.go            scratch directories on disk, and how those that are left are swept
//	try.go                ccc try: the plan of a copy, its run to its end, the probe that tries to break out
//	try_files_linux.go    the file system of a copy
//	try_linux.go          its namespaces and process 1
//	try_darwin.go         the same on macOS
//
// Change:
//
//	standing.go           what a review says of the files, in a word and a reason
//	git.go                how git is run, which commits there are, what differs between them
//	diff.go               a git diff of any size, as much of it as a request shows
//	look.go               one look at a working tree, which writes nothing into the repository
//	change.go             which change a review judges: where it begins, which paths it has
//	change_text.go        what the reviewer is told of it
//
// Review:
//
//	transcript_entry.go   the user's words in an entry of Claude Code's transcript
//	transcript.go         the user's requests that still stand in the conversation
//	verdict.go            the verdict in the reviewer's last words
//	prompt.go             the request to the reviewer
//	review_stream.go      the reviewer's output, line by line
//	review.go             one call of the reviewer
//	cache.go              whether a reviewer can use the agent's prompt cache
//
// Views:
//
//	receipt.go            a review in words, and in a line
//	status.go             ccc status, ccc statusline; which session a command means that names none
//	gate.go               ccc verdict, of the last stop, a commit, a push
//	report.go             ccc report
//	log.go                ccc log
//
// Hook:
//
//	hook_switch.go        /supervisor, ccc supervisor-mode
//	hook_stop.go          one review: plan it, run it, record it; or why there was none
//	review_byhand.go      ccc review
//	hook_event.go         what Claude Code tells a hook
//	hook.go               one event in, one decision out
//
// Commands:
//
//	doctor.go             ccc doctor
//	demo.go               ccc demo
//	launch.go             ccc, ccc --supervisor, ccc uninstall
//	main.go               the table of commands
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// A subcommand is a word that ccc answers to. Its synopsis declares what parse reads: the name, each flag in
// brackets with its names and a word for its value if it takes one, and the operands. Behind an operand with
// ... anything may follow: there the first operand ends the flags.
type subcommand struct {
	synopsis string
	run      func(c *invocation) error
	help     string
}

func (c subcommand) name() string {
	name, _, _ := strings.Cut(c.synopsis, " ")
	return name
}

// commands is the table of ccc's commands, in the order of the usage text.
func commands() []subcommand {
	return []subcommand{
		{synopsis: "demo", run: inPlaces(demo), help: `
			Play a supervised session in a temporary home: no network, no key.`},
		{synopsis: "status [--all] [--json]", run: inPlaces(showStatus), help: `
			List the newest 20 sessions, or all of them, and the reviews that run.`},
		{synopsis: "log [-f|--follow] [-n N] [--json] [SESSION]", run: inPlaces(showLog), help: `
			Tell a session's prompts and reviews, with -n the last N reviews; -f goes on
			with what comes (default: the newest session of this project, and with -f
			all of them). The beginning of an id will do.`},
		{synopsis: "verdict [--commit REV] [--pushed] [SESSION]", run: inPlaces(showVerdict), help: `
			What became of the last stop in this working tree, or of SESSION: allow (0),
			block, failed, limit (1), none, reviewing, cancelled, changed, unbound (3);
			no such session: 2. --commit, --pushed: whether reviews approved all that
			REV, or what git's pre-push hook names, adds to the remotes (0), or none (3).`},
		{synopsis: "statusline", run: inPlaces(showStatusline), help: `
			Print one line about a session, for Claude Code's statusLine setting; on a
			terminal say which lines to put there.`},
		{synopsis: "supervisor-mode [on|off] [SESSION]", run: inPlaces(supervisorMode), help: `
			Print whether a session is supervised, or switch it (default: the newest
			of this project, which is named; for an agent's tool its own). Inside
			Claude Code: /supervisor, /supervisor on, off, or some task.`},
		{synopsis: trySubcommand + " [--timeout DURATION] COMMAND [ARG...]", run: try, help: `
			Run a command in a throw-away copy: it may write to the project, to HOME
			and to the temporary directories, it alone sees what it wrote, and it
			reaches nobody. One argument is a shell command line. Exit code: the
			command's; 124 at the timeout (5m); 125 where no copy can be made.`},
		{synopsis: "review [--provider NAME] [--json] [SESSION]", run: inPlaces(reviewNow), help: `
			Review a session of Claude Code's now, supervised or not, and all that no
			remote has: by default the session of this project that was written last. It
			changes no settings. Exit code: 0 approved, 1 not, 2 no such session, 3
			approved, but files changed meanwhile or git can't tell, 4 no review.`},
		{synopsis: "report [--commit REV] [--base REF] [SESSION]", run: inPlaces(showReport), help: `
			Print as Markdown, for a pull request, the evidence of what HEAD (--commit:
			REV) adds to the default branches of the remotes (--base: to REF); of
			SESSION: all its changes.
			Exit code: 2 no such session or commit, 3 no review at all.`},
		{synopsis: "doctor", run: inPlaces(doctor), help: `
			Check what Supervisor Mode needs, with the command that mends each fault.`},
		{synopsis: "uninstall [--purge]", run: inPlaces(uninstall), help: `
			Take out what ccc put into Claude Code's settings; --purge: the state too.`},
		{synopsis: hookSubcommand + " [--state-dir DIR]", run: supervisorHook, help: `
			Answer one Claude Code hook event: JSON on stdin, decision on stdout.`},
		{synopsis: "version", run: showVersion, help: `
			Print ccc's version, as --version and -v do.`},
		{synopsis: "help [SUBCOMMAND]", run: showHelp, help: `
			Print this or the part about a subcommand, as --help and -h do.`},
	}
}

const (
	usageOfLaunch = `usage:
  ccc [--supervisor] [provider] [claude arguments...]
      Start Claude Code, against a provider of ccc.json: the one named, or the
      one named last; default stands for none. With --supervisor (or
      CCC_SUPERVISOR=1) a reviewer checks the work each time the agent wants to
      stop. ccc's part ends at the first argument that is not ccc's, or at --:
      ccc "fix the bug", ccc -- fix, ccc -- --version.
`
	usageOfPlaces = `
files:
  ~/.claude/settings.json   the hooks that Supervisor Mode needs are added here
  ~/.claude/ccc.json        configuration, optional
  ~/.claude/SUPERVISOR.md   what the reviewer is told; SUPERVISOR.md in the
                            project comes first
  ~/.claude/ccc/            state, reviewers' output and hook-invocation.log

environment:
  CCC_SUPERVISOR=1    the same as --supervisor
  CCC_CLAUDE          the claude to run (default: the one in PATH)
  CCC_CONFIG_DIR      where ccc.json and SUPERVISOR.md are
  CCC_WORK_DIR        where the state directory, ccc/, is
  CLAUDE_CONFIG_DIR   Claude Code's directory instead of ~/.claude
  NO_COLOR            no colours
`
)

func init() {
	for _, c := range commands() {
		subcommands = append(subcommands, c.name())
	}
	subcommands = append(subcommands, guardSubcommand, tryInsideSubcommand)
}

func main() {
	os.Exit(runSubcommand(os.Args[1:]))
}

// runSubcommand is ccc with these arguments. It returns the exit code.
func runSubcommand(args []string) int {
	if len(args) == 0 {
		return reportError(os.Stderr, startClaude(nil))
	}
	behind := args // --supervisor, which changes nothing for those who ask for help or version
	for len(behind) > 1 && behind[0] == supervisorFlag {
		behind = behind[1:]
	}
	switch behind[0] {
	case "--version", "-v", "version":
		args = append([]string{"version"}, behind[1:]...)
	case "--help", "-h", "help":
		args = append([]string{"help"}, behind[1:]...)
	}
	name, rest := args[0], args[1:]
	switch {
	case name == guardSubcommand:
		return guardReviewer(rest)
	case name == tryInsideSubcommand:
		return tryProcessOne(rest)
	case isSubcommand(name):
		return reportError(os.Stderr, commandNamed(name).start(rest))
	}
	return reportError(os.Stderr, startClaude(args))
}

// commandNamed returns the command of that name, an empty one for any other word.
func commandNamed(name string) subcommand {
	all := commands()
	if i := slices.IndexFunc(all, func(c subcommand) bool { return c.name() == name }); i >= 0 {
		return all[i]
	}
	return subcommand{}
}

// start parses the arguments and runs the command, or prints its help. An error in the arguments shows the
// usage.
func (c subcommand) start(args []string) error {
	call, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print("usage: ccc ", c.usage())
		return nil
	}
	if err == nil {
		err = c.run(call)
	}
	if wrong := (misuse{}); errors.As(err, &wrong) {
		code := 2
		if c.name() == hookSubcommand {
			code = 1 // Claude Code takes 2 from a hook as "block"
		}
		return failure{code: code, err: fmt.Errorf("%w\nusage: ccc %s", wrong, strings.TrimSpace(c.usage()))}
	}
	return err
}

// parse reads the arguments by the synopsis. The error is flag.ErrHelp where help is asked for, else a
// misuse.
func (c subcommand) parse(args []string) (*invocation, error) {
	given := &invocation{flags: map[string]string{}}
	set := flag.NewFlagSet(c.name(), flag.ContinueOnError)
	set.SetOutput(io.Discard)
	_, operands, _ := strings.Cut(c.synopsis, " ")
	for strings.HasPrefix(operands, "[-") {
		declared, rest, _ := strings.Cut(operands[1:], "]")
		operands = strings.TrimSpace(rest)
		declared, _, takesValue := strings.Cut(declared, " ")
		names := strings.Split(declared, "|")
		keep := func(value string) error {
			given.flags[names[0]] = value
			if !takesValue && value != "true" {
				return errors.New("it takes no value")
			}
			return nil
		}
		for _, name := range names {
			if bare := strings.TrimLeft(name, "-"); takesValue {
				set.Func(bare, "", keep)
			} else {
				set.BoolFunc(bare, "", keep)
			}
		}
	}
	takesAll := strings.Contains(operands, "...")
	for len(args) > 0 {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, usageError(c.name(), "%w", err)
		}
		rest := set.Args()
		if takesAll || len(rest) == 0 || slices.Contains(args[:len(args)-len(rest)], "--") {
			given.operands = append(given.operands, rest...)
			break
		}
		given.operands, args = append(given.operands, rest[0]), rest[1:]
	}
	if most := len(strings.Fields(operands)); len(given.operands) > most && !takesAll {
		return nil, usageError(c.name(), "unexpected argument %q", given.operands[most])
	}
	return given, nil
}

// usage returns the command's part of the usage text, from its name on.
func (c subcommand) usage() string {
	return c.synopsis + strings.ReplaceAll(c.help, "\n\t\t\t", "\n      ") + "\n"
}

// inPlaces makes a subcommand's run of one that gets ccc's directories, and sets the language.
func inPlaces(command func(*invocation, dirs) error) func(*invocation) error {
	return func(c *invocation) error {
		d, err := findDirs("")
		if err != nil {
			return err
		}
		setLanguage(d)
		return command(c, d)
	}
}

func showHelp(c *invocation) error {
	if len(c.operands) > 0 {
		one := commandNamed(c.operands[0])
		if one.synopsis == "" {
			return usageError("help", "no subcommand %q: ccc help lists them", c.operands[0])
		}
		return one.start([]string{"--help"})
	}
	text := usageOfLaunch
	for _, one := range commands() {
		text += "  ccc " + one.usage()
	}
	fmt.Print(text + usageOfPlaces)
	return nil
}

// showVersion prints the module version that the build has recorded: a tag, or a name made of the revision.
func showVersion(*invocation) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Println("ccc", version)
	return nil
}
