package main

// The table of ccc's commands. From it come the flags that each takes, and all help.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
)

type subcommand struct {
	name     string
	operands string // a word for each. "..." in one: anything may follow it, and the first ends the flags
	run      func(c *invocation) error
	group    string   // of the overview, "" for what people do not call
	brief    string   // what it does
	flags    []option // in the order of the synopsis
	codes    []string // what its exit codes mean, but for 0, 1 for an error and 2 for a wrong command line
}

// An option is a flag of a subcommand: its name, a word for its value if it takes one, and what it is for.
type option struct{ name, value, brief string }

// commands is the table, in the order of the overview.
func commands() []subcommand {
	return []subcommand{
		{name: "demo", run: demo, group: "Watch", brief: "watch a supervised session: no key needed"},
		{name: "log", operands: "[SESSION]", run: inProject(showLog), group: "Watch",
			brief: "tell the story of the newest session here",
			flags: []option{
				{name: "-f", brief: "follow all sessions of this project, or SESSION"},
				{name: "-n", value: "N", brief: "only the last N reviews, with their requests"},
				{name: "--json", brief: "the records, for programs"}}},
		{name: "status", run: inProject(showStatus), group: "Watch",
			brief: "list the 20 newest sessions",
			flags: []option{{name: "--json", brief: "all sessions, for programs"}}},
		{name: "review", operands: "[SESSION]", run: orCode(4, inProject(reviewNow)), group: "Evidence",
			brief: "review a session now, supervised or not",
			flags: []option{
				{name: "--provider", value: "NAME", brief: "let this provider of ccc.json review"},
				{name: "--json", brief: "the verdict, for programs"}},
			codes: []string{"0 approved", "1 not approved", "2 no such session",
				"3 approved, but files changed meanwhile or git can't tell", "4 no review",
				"130 interrupted"}},
		{name: "verdict", run: orCode(2, inProject(showVerdict)), group: "Evidence",
			brief: "print the last verdict, for scripts",
			codes: []string{"0 allow (and nothing that counts has changed since)",
				"1 block (sent back), failed (not reviewed), limit", "2 it can't be told (stdout is empty)",
				"3 none, reviewing, cancelled, changed (since it was approved)"}},
		{name: trySubcommand, operands: "COMMAND [ARG...]", run: try, group: "Copies",
			brief: "run a command in a throwaway copy",
			flags: []option{{name: "--timeout", value: "DURATION", brief: "end it after that time (5m)"}},
			codes: []string{"124 at the timeout", "125 no copy can be made",
				"126 or 127 the program can't be run, or is not there", "else the command's own"}},
		{name: "doctor", run: inProject(doctor), group: "Set up",
			brief: "find what is missing, and how to fix it", codes: []string{"1 if there is a problem"}},
		{name: "uninstall", run: uninstall, group: "Set up",
			brief: "take ccc out of Claude Code's settings",
			flags: []option{{name: "--purge", brief: "remove the log and the reviews of all sessions, too"}}},
		{name: "version", run: showVersion, group: "Set up", brief: "print ccc's version"},
		{name: "help", operands: "[NAME]", run: showHelp, group: "Set up",
			brief: "print this, or what a command takes"},
		{name: hookSubcommand, run: supervisorHook, brief: "answer a hook of Claude Code: JSON on stdin",
			flags: []option{{name: "--state-dir", value: "DIR",
				brief: "the state directory (~/.claude/ccc)"}}},
	}
}

func (c subcommand) usage() string {
	text := "usage: ccc " + c.name
	for _, f := range c.flags {
		text += " [" + strings.TrimSpace(f.name+" "+f.value) + "]"
	}
	return strings.TrimSpace(text + " " + c.operands)
}

func (c subcommand) page() string {
	text := c.usage() + "\n  " + c.brief + "\n"
	for _, f := range c.flags {
		text += fmt.Sprintf("  %-20s %s\n", f.name+" "+f.value, f.brief)
	}
	if c.codes != nil {
		text += "Exit code:\n  " + strings.Join(c.codes, "\n  ") + "\n"
	}
	return text
}

// parse reads the arguments. The error is flag.ErrHelp if help is asked for, else a misuse.
func (c subcommand) parse(args []string) (*invocation, error) {
	call := &invocation{flags: map[string]string{}}
	set := flag.NewFlagSet(c.name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range c.flags {
		keep := func(value string) error {
			if call.flags[f.name] = value; f.value == "" && value != "true" {
				return errors.New("it takes no value")
			}
			return nil
		}
		if name := strings.TrimLeft(f.name, "-"); f.value != "" {
			set.Func(name, "", keep)
		} else {
			set.BoolFunc(name, "", keep)
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
			call.operands = append(call.operands, rest...)
			break
		}
		call.operands = append(call.operands, rest[0])
		args = rest[1:]
	}
	if len(call.operands) > 0 && call.operands[0] == "" { // "$id" of a script, not set, means no other
		return nil, usageError(c.name, "the first argument is empty")
	}
	if most := len(strings.Fields(c.operands)); len(call.operands) > most && !takesAll {
		return nil, usageError(c.name, "unexpected argument %q", call.operands[most])
	}
	return call, nil
}

// configTopic is the page of help that is about no subcommand.
const configTopic = "config"

const (
	overviewBegins = `usage: ccc [--supervisor] [provider] [claude arguments...]

Start     ccc --supervisor "fix it"  start Claude Code, reviewed when it stops
          ccc kimi                   start it with a provider of ccc.json
          ccc -- mcp list            start it with these arguments as they are
In it     /supervisor off            switch supervision: off, on, observe
          Esc                        cancel the review that runs
`
	overviewEnds = `          ccc help config            list the keys of ccc.json, show a provider

All else goes to claude as it is; a prompt needs quotes. In ~/.claude: ccc.json,
SUPERVISOR.md (the reviewer's instructions, yours to edit), ccc/ (state, log).
`
	configPage = `The keys of ~/.claude/ccc.json, which is optional (defaults in brackets):
%sExample, for ccc --supervisor kimi; the token is taken from your environment:
` + exampleProvider + `
Variables: CCC_CONFIG_DIR, where ccc.json, SUPERVISOR.md and ccc/ (state) are;
CCC_WORK_DIR, where ccc/ is instead; CCC_CLAUDE, the claude to run;
CCC_SUPERVISOR=1, as --supervisor; NO_COLOR.
`
	exampleProvider = `{"providers": {"kimi": {"env": {"ANTHROPIC_AUTH_TOKEN": "${KIMI_TOKEN}",
  "ANTHROPIC_BASE_URL": "https://api.moonshot.cn/anthropic",
  "ANTHROPIC_MODEL": "kimi-k2.5", "CLAUDE_CODE_SUBAGENT_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_OPUS_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_SONNET_MODEL": "kimi-k2.5",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL": "kimi-k2.5",
  "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "262144"}}}}
`
)

// overview returns the help of ccc as a whole, which fits a terminal of 80 columns and 24 lines.
func overview() string {
	text := overviewBegins
	group := ""
	for _, c := range commands() {
		title := c.group
		if title == "" {
			continue
		} else if title == group {
			title = ""
		}
		text += fmt.Sprintf("%-9s %-26s %s\n", title, "ccc "+c.name, c.brief)
		group = c.group
	}
	return text + overviewEnds
}

// commandNamed returns the command of that name, an empty one for any other word.
func commandNamed(name string) subcommand {
	all := commands()
	if i := slices.IndexFunc(all, func(c subcommand) bool { return c.name == name }); i >= 0 {
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
			keys := ""
			for _, key := range defaultConfig().keys() {
				keys += fmt.Sprintf("  %-28s %s\n", key.path, key.brief)
			}
			text = fmt.Sprintf(configPage, keys)
		case command.name != "":
			text = command.page()
		default:
			names := strings.Join(append(slices.Clone(subcommands), configTopic), ", ")
			return usageError("help", "no page %q; there are %s", name, names)
		}
	}
	fmt.Print(text)
	return nil
}

// inProject makes a run of a command in a project: with ccc's directories, ccc.json and the language.
func inProject(command func(*invocation, dirs) error) func(*invocation) error {
	return func(c *invocation) error {
		d, err := findDirs(c.env, "")
		if err != nil {
			return err
		}
		c.config, c.configErr = loadConfig(d)
		c.config.use(c.env)
		if _, err := currentDir(); err != nil {
			return err
		}
		return command(c, d)
	}
}

// orCode is run, but an error without a code of its own gets this one: 1 would be taken for a verdict.
func orCode(code int, run func(*invocation) error) func(*invocation) error {
	return func(c *invocation) error {
		err := run(c)
		if f := failureOf(err); f.err != nil && f.code == 1 {
			return failure{code: code, err: f.err, hint: f.hint}
		}
		return err
	}
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
