package main

// The table of ccc's commands, and their help: one line each on a screen, and a page for each.

import (
	"fmt"
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
	group    string // of the overview, "" for what people do not call
	sample   string // a call, for the overview
	brief    string // what it does, for the overview and for a usage error
	help     string // the page below that, with an example at its end
}

func (c subcommand) name() string {
	name, _, _ := strings.Cut(c.synopsis, " ")
	return name
}

// commands is the table, in the order of the overview.
func commands() []subcommand {
	return []subcommand{
		{synopsis: "demo", run: inPlaces(demo),
			group: "Start", sample: "ccc demo", brief: "watch a supervised session: no key needed", help: `
It plays a session, from launch to approval, in a temporary home. It needs no
network, no key and no Claude Code, takes about five seconds and leaves nothing
behind. The session and its commands are real; what the models say is scripted.

Example:
  ccc demo
`},
		{synopsis: "log [-f|--follow] [-n N] [--json] [SESSION]", run: inProject(showLog),
			group: "Watch", sample: "ccc log -f", brief: "tell a session's story; -f follows it live", help: `
It tells a session like a story: what you asked for, what the agent said, what
the reviewer looked at and ran, and its verdict. SESSION is an id or the
beginning of one; without it, the newest session of this project is told, and
with -f all of them are followed.

  -f, --follow   go on with what comes
  -n N           only the last N reviews, with their requests
  --json         the records, for programs

Example: the last review, and what it rests on
  ccc log -n 1
`},
		{synopsis: "status [--all] [--json]", run: inProject(showStatus),
			group: "Watch", sample: "ccc status", brief: "list sessions and running reviews", help: `
It lists the newest 20 sessions that were supervised, of all projects: how many
reviews the present request has had, the last verdict, the cost, the project.
Below the table stands what running reviews are doing.

  --all    all sessions
  --json   for programs, always all

Example: the ids of the sessions that were sent back
  ccc status --json | jq -r '.[] | select(.verdict == "block").session_id'
`},
		{synopsis: "supervisor-mode [on|off] [SESSION]", run: inProject(supervisorMode),
			group: "Watch", sample: "ccc supervisor-mode off", brief: "switch a session's reviews off, or on",
			help: `
It prints on or off, after switching a session if you say so. A switch takes
effect at once, also for a running review, and only for that session. SESSION
is an id or the beginning of one; without it, the newest session of this project
is taken, and named. Called by an agent's tool, it is about the agent's own
session, and off is refused.

Inside Claude Code: /supervisor, /supervisor on, /supervisor off.

Example: do not review the running session any more
  ccc supervisor-mode off
`},
		{synopsis: "statusline", run: inPlaces(showStatusline),
			group: "Watch", sample: "ccc statusline", brief: "show reviews in Claude Code's status line",
			help: `
Claude Code calls it with JSON on stdin, and shows the line that it prints: how
the session's reviews stand, or what the running one is doing. Called on a
terminal, it prints the lines to put into settings.json.

Example: see what to put there
  ccc statusline
`},
		{synopsis: "review [--provider NAME] [--json] [SESSION]", run: inProject(reviewNow),
			group: "Evidence", sample: "ccc review", brief: "review a session now, supervised or not", help: `
It reviews a session of Claude Code's once and shows the verdict. It judges all
that no remote has, your own edits too. SESSION is an id or the beginning of
one; without it, the session written last in this working tree is taken, else in
this project, else in a directory above. It costs one review, changes no
settings, and tells the agent nothing.

  --provider NAME   let this provider of ccc.json do it
  --json            the verdict, for programs

Exit code: 0 approved, 1 not approved, 2 no such session, 3 approved, but files
changed meanwhile or git can't tell, 4 no review, 130 interrupted.

Example: a script that goes on only with what was approved
  claude -p "fix the failing test" && ccc review && git push
`},
		{synopsis: "verdict [--commit REV] [--pushed] [SESSION]", run: inProject(showVerdict),
			group: "Evidence", sample: "ccc verdict", brief: "print what became of the last stop", help: `
It is for scripts. It prints one word for the last stop of a session in this
working tree, or for that of SESSION, and exits with its code; why goes to
stderr.

  0   allow
  1   block, failed, limit
  3   none, reviewing, cancelled, changed, unbound
  2   no such session or commit, or it can't be told

  --commit REV   whether reviews approved all that REV adds to the remotes: 0,
                 or else none and 3
  --pushed       the same for what git names to its pre-push hook

Example: push only what was approved
  ccc verdict --commit HEAD && git push
`},
		{synopsis: "report [--commit REV] [--base REF] [SESSION]", run: inProject(showReport),
			group: "Evidence", sample: "ccc report", brief: "write the evidence for a pull request", help: `
It prints Markdown: what was asked, each round's verdict and feedback, what the
reviewer ran, and what no review approved. It covers what HEAD adds to the
default branches of the remotes; with SESSION, all changes of that session.

  --commit REV   REV in the place of HEAD
  --base REF     REF in the place of the default branches

Exit code: 2 no such session or commit, 3 no review at all.

Example:
  ccc report | gh pr create --title "Fix the totals" --body-file -
`},
		{synopsis: trySubcommand + " [--timeout DURATION] COMMAND [ARG...]", run: try,
			group: "Copies", sample: "ccc try 'make test'", brief: "run a command in a throw-away copy",
			help: `
The command may write to the project, to HOME and to the temporary directories.
Only the command sees what it wrote, and when it ends, that is gone. It has no
network and can't reach other processes. One argument is a shell command line,
several are a program and its arguments.

  --timeout DURATION   end it after that time (default: 5m)

Exit code: that of the command; 124 at the timeout, 125 where no copy can be
made, 126 or 127 where the program can't be run or is not there.

Example: look around in a copy
  ccc try bash
`},
		{synopsis: "doctor", run: inProject(doctor),
			group: "Set up", sample: "ccc doctor", brief: "find what is missing, and how to fix it", help: `
It checks ccc.json, the provider, Claude Code, the hooks, the reviewer's prompt,
the state directory and the copies, and changes nothing. Each line begins with
ok, warning (reviews go on) or problem (they don't); below a warning or problem
stands the command that fixes it. Exit code: 1 if there is a problem.

Example:
  ccc doctor
`},
		{synopsis: "uninstall [--purge]", run: inPlaces(uninstall),
			group: "Set up", sample: "ccc uninstall", brief: "take ccc out of Claude Code's settings", help: `
It removes the hooks, the /supervisor command, and SUPERVISOR.md unless you have
edited it. Nothing of your own settings changes.

  --purge   remove the state, too: the log, and the reviews of all sessions

Example: remove everything
  ccc uninstall --purge && rm "$(command -v ccc)"
`},
		{synopsis: "version", run: showVersion,
			group: "Set up", sample: "ccc version", brief: "print ccc's version", help: `
Example:
  ccc --version
`},
		{synopsis: "help [NAME]", run: showHelp,
			group: "Set up", sample: "ccc help log", brief: "print this, or a page about one command", help: `
NAME is a command, start (how claude is started, and providers), or files (files
and environment variables). Without it, all commands are listed. ccc NAME --help
prints the same.

Example:
  ccc help start
`},
		{synopsis: hookSubcommand + " [--state-dir DIR]", run: supervisorHook,
			brief: "answer a hook of Claude Code", help: `
Claude Code calls it: JSON on stdin, the decision on stdout. It is in the
settings that ccc --supervisor writes, and nobody has to call it by hand.

  --state-dir DIR   the state directory (see ccc help files)

Example: what a stop would bring, by hand
  echo '{"session_id":"ID","hook_event_name":"Stop"}' | ccc supervisor-hook
`},
	}
}

const (
	overviewBegins = `usage: ccc [--supervisor] [provider] [claude arguments...]

Start     ccc --supervisor "fix it"  start Claude Code, reviewed when it stops
          ccc kimi                   start it with a provider of ccc.json
`
	overviewEnds = `
More: ccc help NAME; ccc help start: how claude is started, and providers;
ccc help files: where ccc keeps what, and environment variables.
`
)

// topics are the pages that are about no subcommand.
var topics = map[string]string{
	"start": `usage: ccc [--supervisor] [provider] [claude arguments...]

Start Claude Code. With --supervisor (or CCC_SUPERVISOR=1) a reviewer checks the
work each time the agent wants to stop, and sends it back until it is done.

A provider is one of ccc.json; without one current_provider there is used, and
"default" stands for none. ccc's own words end at the first one that is not ccc's, at a prompt in
quotes, or at --. All that follows goes to claude as it is.

Examples:
  ccc --supervisor                    a supervised session
  ccc --supervisor "fix the bug"      ... that begins with a prompt
  ccc --supervisor kimi --continue    ... with a provider and claude's own flag
  ccc default                         no provider, no reviews
  ccc -- mcp list                     a command of claude's
`,
	"files": `Files:
  ~/.claude/settings.json   Claude Code's settings; ccc adds its hooks here
  ~/.claude/ccc.json        ccc's configuration, optional
  ~/.claude/SUPERVISOR.md   what the reviewer is told; SUPERVISOR.md in the
                            project comes first
  ~/.claude/ccc/            state: reviews, the reviewers' output, the log

Environment:
  CCC_SUPERVISOR=1    the same as --supervisor
  CCC_CLAUDE          the claude to run (default: the one in PATH)
  CCC_CONFIG_DIR      the directory of ccc.json and SUPERVISOR.md
  CCC_WORK_DIR        the directory that holds the state directory, ccc/
  CLAUDE_CONFIG_DIR   Claude Code's directory (default: ~/.claude)
  NO_COLOR            no colours

Example: another configuration for one session
  CCC_CONFIG_DIR=~/work-ccc ccc --supervisor
`,
}

// overview returns the help of ccc as a whole, which fits a terminal of 80 columns and 24 lines.
func overview() string {
	text, group := overviewBegins, "Start"
	for _, c := range commands() {
		if c.group == "" {
			continue
		}
		title := c.group
		if title == group {
			title = ""
		}
		text += fmt.Sprintf("%-9s %-26s %s\n", title, c.sample, c.brief)
		group = c.group
	}
	return text + overviewEnds
}

// usage returns how the command is called, and what it does, in two lines.
func (c subcommand) usage() string {
	return fmt.Sprintf("usage: ccc %s\n  %s\n", c.synopsis, c.brief)
}

// page returns the help of the command.
func (c subcommand) page() string { return c.usage() + c.help }

// commandNamed returns the command of that name, an empty one for any other word.
func commandNamed(name string) subcommand {
	all := commands()
	if i := slices.IndexFunc(all, func(c subcommand) bool { return c.name() == name }); i >= 0 {
		return all[i]
	}
	return subcommand{}
}

func showHelp(c *invocation) error {
	text := overview()
	if len(c.operands) > 0 {
		name := c.operands[0]
		text = topics[name]
		if one := commandNamed(name); one.synopsis != "" {
			text = one.page()
		}
		if text == "" {
			return usageError("help", "no command %q", name)
		}
	}
	fmt.Print(text)
	return nil
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

// inProject is inPlaces for a command that is about the project in the current directory.
func inProject(command func(*invocation, dirs) error) func(*invocation) error {
	return inPlaces(func(c *invocation, d dirs) error {
		if _, err := currentDir(); err != nil {
			return err
		}
		return command(c, d)
	})
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
