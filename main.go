// Command ccc supervises Claude Code: an agent that wants to stop goes on until a strict reviewer finds the
// work done.
//
// A supervised launch (launch.go) writes hooks into Claude Code's settings (settings.go) and becomes claude.
// Each time the agent wants to stop, or to put a question to the user, Claude Code runs ccc supervisor-hook
// (hook.go), which forks the session for a reviewer (review.go) and turns its verdict into the hook's
// decision. What the reviewer wants to run it runs by ccc try, in a throw-away copy of the machine (try.go).
//
// The first word of the command line is one of the commands below, or else claude is started. What was asked
// for goes to stdout, everything else to stderr. The exit code is 0, 1 for an error, and 2 for a wrong
// command line; where claude can't be started it is 126 or 127, and what else a command has is in its help.
//
// The source files, from the ground up: a file knows only files above it here, and TestHouse reads this list.
//
// Ground:
//
//	screen.go             text on a terminal: printable, wrapped, in colour
//	failure.go            errors with an exit code and the next command to try
//	json.go               JSON that is edited with every other byte as it was
//	file.go               locks, atomic replacement, appending, lines
//	env.go                subcommands, variables, directories, claude itself
//	text.go               what people read, in both languages
//	text_review.go        what agent and reviewer read, in both languages
//	process_linux.go      which processes there are, and how they end
//	process_darwin.go     the same on macOS
//
// Settings:
//
//	config.go             ccc.json
//	settings.go           what ccc writes into Claude Code's settings.json
//	settings_sources.go   what Claude Code's settings say: overrides, hooks that do not run
//	provider.go           the environment of a claude and its reviewer, and what would override a provider
//
// State:
//
//	state.go              the state directory: files, log, sweep
//	state_timeline.go     a session's records, and the one history that all who ask read
//	state_session.go      what ccc remembers between two hooks: count, on or off
//
// The copy:
//
//	guard.go              ends a process tree, however its owner ends
//	hook_caller.go        whose session it is: the user's or an agent's
//	try.go                ccc try: what a copy is to be, and the probe that tries to break out
//	try_files_linux.go    the file system of a copy
//	try_linux.go          its namespaces and process 1
//	try_darwin.go         the same on macOS
//
// Change:
//
//	standing.go           what a review says of the files, in a word and a reason
//	diff.go               a git diff of any size, as much of it as a request shows
//	change.go             git's look at the working tree, and which change a review judges
//	change_text.go        what the reviewer is told of it
//
// Review:
//
//	transcript_entry.go   which words count as the user's, in an entry of Claude Code's transcript
//	transcript.go         which of them stand in the conversation
//	verdict.go            from the reviewer's last words to a verdict
//	prompt.go             what the reviewer is told
//	review_stream.go      what comes back from a reviewer, line by line
//	review.go             one call of the reviewer
//	cache.go              with the agent's prompt cache, or without
//
// Views:
//
//	status.go             ccc status, ccc statusline
//	receipt.go            a review in a line
//	gate.go               ccc verdict, of the last stop, a commit, a push
//	report.go             ccc report
//	log.go                ccc log
//
// Hook:
//
//	hook_switch.go        /supervisor, ccc supervisor-mode
//	hook_stop.go          one review: plan it, run it, record it; where no review took place
//	review_byhand.go      ccc review
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

// A subcommand is a word that ccc answers to.
type subcommand struct {
	name     string
	flags    []string // such as "--json", or "--timeout DURATION" for one with a value
	operands string   // a word for each, the last with ... for any number; then the first operand ends the flags
	run      func(c *invocation) error
	help     string
}

// commands is the table of ccc's commands, in the order of the usage text.
func commands() []subcommand {
	return []subcommand{
		{"demo", nil, "", inPlaces(demo), `
			Play a supervised session in a temporary home: no network, no key.`},
		{"status", []string{"--all", "--json"}, "", inPlaces(showStatus), `
			List the newest 20 sessions, or all of them, and the reviews that run.`},
		{"log", []string{"-f|--follow", "-n N", "--json"}, "[SESSION]", inPlaces(showLog), `
			Tell a session's prompts and reviews, with -n the last N reviews; -f goes on
			with what comes (default: the newest session of this project, and with -f
			all of them). The beginning of an id will do.`},
		{"verdict", []string{"--commit REV", "--pushed"}, "[SESSION]", inPlaces(showVerdict), `
			What became of the last stop in this working tree, or of SESSION: allow (0),
			block, failed, limit (1), none, reviewing, cancelled, changed, unbound (3);
			no such session: 2. --commit, --pushed: whether reviews approved all that
			REV, or what git's pre-push hook names, adds to the remotes (0), or none (3).`},
		{"statusline", nil, "", inPlaces(showStatusline), `
			Print one line about a session, for Claude Code's statusLine setting; on a
			terminal say which lines to put there.`},
		{"supervisor-mode", nil, "[on|off] [SESSION]", inPlaces(supervisorMode), `
			Print whether a session is supervised, or switch it (default: the newest
			of this project, which is named; for an agent's tool its own). Inside
			Claude Code: /supervisor, /supervisor on, off, or some task.`},
		{trySubcommand, []string{"--timeout DURATION"}, "COMMAND [ARG...]", try, `
			Run a command in a throw-away copy: it may write to the project, to HOME
			and to the temporary directories, it alone sees what it wrote, and it
			reaches nobody. One argument is a shell command line. Exit code: the
			command's; 124 at the timeout (5m); 125 where no copy can be made.`},
		{"review", []string{"--provider NAME", "--json"}, "[SESSION]", inPlaces(reviewNow), `
			Review a session of Claude Code's now, supervised or not, and all that no
			remote has: by default the session of this project that was written last. It
			changes no settings. Exit code: 0 approved, 1 not, 2 no such session, 3
			approved, but files changed meanwhile or git can't tell, 4 no review.`},
		{"report", []string{"--commit REV", "--base REF"}, "[SESSION]", inPlaces(showReport), `
			Print as Markdown, for a pull request, the evidence of what HEAD (--commit:
			REV) adds to the default branches of the remotes (--base: to REF); of
			SESSION: all its changes.
			Exit code: 2 no such session or commit, 3 no review at all.`},
		{"doctor", nil, "", inPlaces(doctor), `
			Check what Supervisor Mode needs, with the command that mends each fault.`},
		{"uninstall", []string{"--purge"}, "", inPlaces(uninstall), `
			Take out what ccc put into Claude Code's settings; --purge: the state too.`},
		{hookSubcommand, []string{"--state-dir DIR"}, "", supervisorHook, `
			Answer one Claude Code hook event: JSON on stdin, decision on stdout.`},
		{"version", nil, "", showVersion, `
			Print ccc's version, as --version and -v do.`},
		{"help", nil, "[SUBCOMMAND]", showHelp, `
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
		subcommands = append(subcommands, c.name)
	}
	subcommands = append(subcommands, guardSubcommand, tryInsideSubcommand)
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	asked := args // help and version are asked for as of every program, behind --supervisor too
	for len(asked) > 1 && asked[0] == supervisorFlag {
		asked = asked[1:]
	}
	if len(args) == 0 {
		return reportError(os.Stderr, startClaude(nil))
	}
	switch asked[0] {
	case "--version", "-v", "version":
		args = append([]string{"version"}, asked[1:]...)
	case "--help", "-h", "help":
		args = append([]string{"help"}, asked[1:]...)
	}
	switch name := args[0]; {
	case name == guardSubcommand:
		return guardReviewer(args[1:])
	case name == tryInsideSubcommand:
		return tryProcessOne(args[1:])
	case isSubcommand(name):
		return reportError(os.Stderr, commandNamed(name).start(args[1:]))
	}
	return reportError(os.Stderr, startClaude(args))
}

// commandNamed returns the command of that name, an empty one for any other word.
func commandNamed(name string) subcommand {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return subcommand{}
}

func (c subcommand) start(args []string) error {
	call, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print("usage: ccc ", c.usage())
		return nil
	}
	if err == nil {
		err = c.run(call)
	}
	if m := (misuse{}); errors.As(err, &m) {
		code := 2
		if c.name == hookSubcommand {
			code = 1 // Claude Code takes 2 from a hook as "block"
		}
		return failure{code: code, err: fmt.Errorf("%w\nusage: ccc %s", m, strings.TrimSpace(c.usage()))}
	}
	return err
}

func (c subcommand) parse(args []string) (*invocation, error) {
	given := &invocation{flags: map[string]string{}}
	set := flag.NewFlagSet(c.name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range c.flags {
		name, _, valued := strings.Cut(f, " ")
		names := strings.Split(name, "|") // of which the first is the flag's
		keep := func(value string) error {
			if given.flags[names[0]] = value; !valued && value != "true" {
				return errors.New("it takes no value")
			}
			return nil
		}
		for _, name := range names {
			if bare := strings.TrimLeft(name, "-"); valued {
				set.Func(bare, "", keep)
			} else {
				set.BoolFunc(bare, "", keep)
			}
		}
	}
	takesAll := strings.Contains(c.operands, "...")
	for len(args) > 0 {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, usageError(c.name, "%w", err)
		}
		rest := set.Args()
		if takesAll || len(rest) == 0 || slices.Contains(args[:len(args)-len(rest)], "--") {
			given.operands = append(given.operands, rest...)
			break
		}
		given.operands, args = append(given.operands, rest[0]), rest[1:]
	}
	if most := len(strings.Fields(c.operands)); len(given.operands) > most && !takesAll {
		return nil, usageError(c.name, "unexpected argument %q", given.operands[most])
	}
	return given, nil
}

// usage is the command's part of the usage text, from its name on.
func (c subcommand) usage() string {
	line := c.name
	for _, f := range c.flags {
		line += " [" + f + "]"
	}
	if c.operands != "" {
		line += " " + c.operands
	}
	return line + strings.ReplaceAll(c.help, "\n\t\t\t", "\n      ") + "\n"
}

// inPlaces is what runs a command that works in ccc's directories and speaks the user's language.
func inPlaces(run func(*invocation, dirs) error) func(*invocation) error {
	return func(c *invocation) error {
		d, err := findDirs("")
		if err != nil {
			return err
		}
		setLanguage(d)
		return run(c, d)
	}
}

func showHelp(c *invocation) error {
	if len(c.operands) > 0 {
		one := commandNamed(c.operands[0])
		if one.name == "" {
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

// showVersion prints the module version that go install records, or what the source tree's revision is
// called.
func showVersion(*invocation) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Println("ccc", version)
	return nil
}
