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
	brief    string // what it does
	help     string // the page below that, with an example at its end
}

func (c subcommand) name() string {
	name, _, _ := strings.Cut(c.synopsis, " ")
	return name
}

// commands is the table, in the order of the overview.
func commands() []subcommand {
	return []subcommand{
		{synopsis: "demo", run: demo,
			group: "Start", sample: "ccc demo", brief: "watch a supervised session: no key needed", help: `
It plays a session, from launch to approval, in a temporary home: five seconds,
no network, no key, no Claude Code. The session and its commands are real; what
the models say is scripted.

Example: ccc demo
`},
		{synopsis: "log [-f|--follow] [-n N] [--json] [SESSION]", run: inProject(showLog),
			group: "Watch", sample: "ccc log -f", brief: "tell a session's story; -f follows it live", help: `
SESSION is an id or the beginning of one; without it, the newest session of this
project is told, and with -f all of them are followed.

  -f, --follow   go on with what comes
  -n N           only the last N reviews, with their requests
  --json         the records, for programs

Example, the last review and what it rests on: ccc log -n 1
`},
		{synopsis: "status [--json]", run: inProject(showStatus),
			group: "Watch", sample: "ccc status", brief: "list sessions and running reviews", help: `
It lists the newest 20 sessions with ccc, of all projects: how often the present
request was reviewed, the last verdict or the running review, what all reviews
have cost, the project and the request.

  --json   all of them, for programs

Example, the ids of the sessions that were sent back:
  ccc status --json | jq -r '.[] | select(.verdict == "block").session_id'
`},
		{synopsis: "review [--provider NAME] [--json] [SESSION]", run: inProject(reviewNow),
			group: "Evidence", sample: "ccc review", brief: "review a session now, supervised or not", help: `
SESSION is the beginning of an id; without it, the one written last is taken: of
this working tree, this project, or a directory above. Your edits count too.

  --provider NAME   let this provider of ccc.json do it
  --json            the verdict, for programs
Exit code: 0 approved, 1 not approved, 2 no such session, 3 approved, but files
changed meanwhile or git can't tell, 4 no review, 130 interrupted.

Example: claude -p "fix the failing test" && ccc review && git push
`},
		{synopsis: "verdict [SESSION]", run: inProject(showVerdict),
			group: "Evidence", sample: "ccc verdict", brief: "print the last verdict, for scripts",
			help: `
It prints a word for the last stop that was judged in this working tree, or for
that of SESSION; which review it was, when, and why goes to stderr. Exit code:
0 allow, 1 block, failed, limit, 3 none, reviewing, cancelled, changed, 2 no
such session, or it can't be told.

Example, a pre-push hook: exec ccc verdict
`},
		{synopsis: trySubcommand + " [--timeout DURATION] COMMAND [ARG...]", run: try,
			group: "Copies", sample: "ccc try 'make test'", brief: "run a command in a throwaway copy",
			help: `
It may write to the project, to HOME and to the temporary directories; it alone
sees that, and at its end that is gone. It reaches no network, no other process.
One argument is a shell command line, several are a program and its arguments.

  --timeout DURATION   end it after that time (default: 5m)
Exit code: the command's; 124 at the timeout, 125 where no copy can be made,
126 or 127 where the program can't be run or is not there.

Example, look around in a copy: ccc try bash
`},
		{synopsis: "doctor", run: inProject(doctor),
			group: "Set up", sample: "ccc doctor", brief: "find what is missing, and how to fix it", help: `
It checks ccc.json, the provider, Claude Code, the hooks, which it lets claude
run once (your SessionStart hooks run then, too), the prompt, the state
directory and the copies, and changes none of your files.
Each line begins with ok, warning (reviews go on) or problem (they don't); below
the last two stands what fixes it. Exit code: 1 if there is a problem.

Example: ccc doctor
`},
		{synopsis: "uninstall [--purge]", run: inPlaces(uninstall),
			group: "Set up", sample: "ccc uninstall", brief: "take ccc out of Claude Code's settings", help: `
It removes the hooks, the /supervisor command, and SUPERVISOR.md unless you have
edited it. Nothing of your own settings changes.

  --purge   remove the state, too: the log, and the reviews of all sessions

Example, remove everything: ccc uninstall --purge && rm "$(command -v ccc)"
`},
		{synopsis: "version", run: showVersion,
			group: "Set up", sample: "ccc version", brief: "print ccc's version", help: `
Example: ccc version
`},
		{synopsis: "help [NAME]", run: showHelp,
			group: "Set up", sample: "ccc help log", brief: "print this, or the page of a command", help: `
NAME is a command, or config: the keys of ccc.json, and how to write a provider.
ccc NAME --help prints the same.

Example: ccc help config
`},
		{synopsis: hookSubcommand + " [--state-dir DIR]", run: supervisorHook,
			brief: "answer a hook of Claude Code", help: `
Claude Code calls it: JSON on stdin, the decision on stdout. It is in the
settings that ccc --supervisor writes, and nobody has to call it by hand.

  --state-dir DIR   the state directory (default: ~/.claude/ccc)

Example, what a stop would bring:
  echo '{"session_id":"ID","hook_event_name":"Stop"}' | ccc supervisor-hook
`},
	}
}

// configTopic is the page of help that is about no subcommand.
const configTopic = "config"

const (
	overviewBegins = `usage: ccc [--supervisor] [provider] [claude arguments...]

Start     ccc --supervisor "fix it"  start Claude Code, reviewed when it stops
          ccc kimi                   start it with a provider of ccc.json
          ccc -- mcp list            start it with all that stands behind --
`
	overviewEnds = `          ccc help config            list the keys of ccc.json, show a provider

All else goes to claude as it is; a prompt needs quotes. In ~/.claude: ccc.json,
SUPERVISOR.md (the reviewer's instructions, yours to edit), ccc/ (state, log).
`
	configPage = `The keys of ~/.claude/ccc.json, which is optional (defaults in brackets):

%s
Example, for ccc --supervisor kimi; the token is taken from your environment:
` + exampleProvider + `
Variables: CCC_CONFIG_DIR, where ccc.json, SUPERVISOR.md and ccc/ (state) are;
CCC_WORK_DIR, where ccc/ is instead; CCC_CLAUDE, the claude to run;
CCC_SUPERVISOR=1, as --supervisor; NO_COLOR.
`
	exampleProvider = `{"providers": {"kimi": {"env": {
  "ANTHROPIC_BASE_URL": "https://api.moonshot.cn/anthropic",
  "ANTHROPIC_AUTH_TOKEN": "${KIMI_TOKEN}", "ANTHROPIC_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_OPUS_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_SONNET_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL": "kimi-k2.5",
  "CLAUDE_CODE_SUBAGENT_MODEL": "kimi-k2.5",
  "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "262144"}}}}
`
)

// configHelp returns the page of ccc.json.
func configHelp() string {
	keys := ""
	for _, key := range configKeys {
		keys += fmt.Sprintf("  %-28s %s\n", key[0], key[1])
	}
	return fmt.Sprintf(configPage, keys)
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

// usage returns how the command is called.
func (c subcommand) usage() string { return "usage: ccc " + c.synopsis + "\n" }

// page returns the help of the command, 12 lines at most.
func (c subcommand) page() string { return c.usage() + "  " + c.brief + "\n" + c.help }

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
		switch command := commandNamed(name); {
		case name == configTopic:
			text = configHelp()
		case command.synopsis != "":
			text = command.page()
		default:
			names := strings.Join(append(slices.Clone(subcommands), configTopic), ", ")
			return usageError("help", "no page %q; there are %s", name, names)
		}
	}
	fmt.Print(text)
	return nil
}

// inPlaces makes a subcommand's run of one that gets ccc's directories, and sets the language.
func inPlaces(command func(*invocation, dirs) error) func(*invocation) error {
	return func(c *invocation) error {
		d, err := findDirs(c.env, "")
		if err != nil {
			return err
		}
		config, _ := loadConfig(d)
		config.use(c.env)
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
