// ccc supervises Claude Code: an agent that wants to stop is sent back to work
// until a strict reviewer finds the work done.
//
// The manual is the usage text below; README.md quotes it. The files:
//
//	main.go      manual, dispatch, launch, exit
//	hook.go      one hook event in, one decision out
//	review.go    run the reviewer
//	stream.go    read what it writes
//	verdict.go   find its verdict
//	prompt.go    what it is told
//	guard.go     nothing of it outlives the hook
//	state.go     the state directory
//	show.go      the sessions on one line each: status, statusline
//	log.go       a session as a story: log
//	screen.go    text on a terminal
//	settings.go  settings.json and ccc.json
//	provider.go  the environment of claude
//	switch.go    supervision on and off, inside a session and outside
//	jsonedit.go  change one value of a JSON text
//	doctor.go    find what keeps Supervisor Mode from working
//	demo.go      play a session with a stand-in for claude
//	uninstall.go take out again what launches put there
//	file.go      locks and atomic replacement
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

const usage = `usage:
  ccc [--supervisor] [provider] [claude arguments...]
      Start Claude Code, against a provider of ccc.json if one is named. With
      --supervisor (or CCC_SUPERVISOR=1) a reviewer checks the work each time
      the agent wants to stop. ccc's part ends at the first argument that is
      not ccc's, or at --: ccc -- "fix the bug", ccc -- --version.
  ccc demo
      Play a supervised session in a temporary home: no network, no key.
  ccc status [--json]
      List the sessions, newest first.
  ccc log [-f] [--all] [--json] [SESSION]
      Tell a session's prompts and reviews; -f goes on with what comes, --all
      from the beginning (default: the newest session of this project, its
      newest part). The beginning of a session's id will do.
  ccc statusline
      Print one line about a session, for Claude Code's statusLine setting.
  ccc supervisor-mode [on|off] [SESSION]
      Print whether a session is supervised, or switch it (default: the session
      ccc runs in). Inside Claude Code: /supervisor, /supervisor on,
      /supervisor off, /supervisor some task.
  ccc doctor
      Check what Supervisor Mode needs, with the command that mends each fault.
  ccc uninstall [--purge]
      Take out what ccc put into Claude Code's settings; --purge: the state too.
  ccc supervisor-hook [--state-dir DIR]
      Answer one Claude Code hook event: JSON on stdin, decision on stdout.
  ccc --version
  ccc --help

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

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main with the exit code returned.
func run(args []string) int {
	if len(args) > 0 {
		if command := subcommand(args[0]); command != nil {
			return command(args[1:])
		}
	}
	return exitWith(os.Stderr, launch(args))
}

// subcommand returns what word is as the first argument, nil for none of ccc's.
func subcommand(word string) func(args []string) (code int) {
	reporting := func(command func(args []string) error) func([]string) int {
		return func(args []string) int { return exitWith(os.Stderr, command(args)) }
	}
	switch word {
	case "--version":
		return func([]string) int { fmt.Println("ccc", version()); return 0 }
	case "--help":
		return func([]string) int { fmt.Print(usage); return 0 }
	case hookSubcommand:
		return func(args []string) int { return supervisorHook(args, os.Stdin, os.Stdout, os.Stderr) }
	case guardSubcommand:
		return guardReviewer
	case "supervisor-mode":
		return reporting(func(args []string) error { return supervisorMode(args, os.Stdout) })
	case "status":
		return reporting(func(args []string) error { return showStatus(args, os.Stdout, os.Stderr) })
	case "log":
		return reporting(func(args []string) error { return showLog(args, os.Stdout, os.Stderr) })
	case "statusline":
		return reporting(func(args []string) error { return showStatusline(args, os.Stdin, os.Stdout, os.Stderr) })
	case "doctor":
		return reporting(func(args []string) error { return doctor(args, os.Stdout) })
	case "demo":
		return reporting(func(args []string) error { return demo(args, os.Stdout) })
	case "uninstall":
		return reporting(func(args []string) error { return uninstall(args, os.Stdout) })
	}
	return nil
}

// version is the module version that go install records, or what the source
// tree's revision is called.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// failure is an error with its exit code and, where there is one, the next
// command to try.
type failure struct {
	code int
	err  error
	hint string
}

func (f failure) Error() string {
	if f.hint == "" {
		return f.err.Error()
	}
	return f.err.Error() + "\n     " + f.hint
}

func (f failure) Unwrap() error { return f.err }

func withHint(err error, hint string) error { return failure{code: 1, err: err, hint: hint} }

// exitWith tells err, if there is one, and returns its exit code.
func exitWith(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "ccc:", printable(err.Error()))
	var f failure
	if errors.As(err, &f) {
		return f.code
	}
	return 1
}

// parseFlags parses the arguments of a subcommand; least to most operands may
// follow its flags. help is true when help was asked for, and given on stdout.
// The error says what is wrong and how it goes.
func parseFlags(flags *flag.FlagSet, args []string, least, most int, stdout io.Writer) (help bool, err error) {
	flags.SetOutput(io.Discard)
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return true, nil
	case err == nil && flags.NArg() < least:
		err = errors.New("an operand is missing")
	case err == nil && flags.NArg() > most:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(most))
	}
	if err != nil {
		return false, failure{code: 2, err: fmt.Errorf("%s: %w\n%s", flags.Name(), err, usage)}
	}
	return false, nil
}

// A launchPlan is what the command line asks for.
type launchPlan struct {
	supervisor bool
	provider   *provider // nil: none
	named      bool      // the provider was named, not remembered
	args       []string  // claude's part
}

// parseLaunch splits the command line into ccc's part and claude's.
func parseLaunch(args []string, c *config) (plan launchPlan, err error) {
	plan.supervisor = os.Getenv(supervisorVariable) == "1"
	for ; len(args) > 0; args = args[1:] {
		switch word := args[0]; {
		case word == "--supervisor":
			plan.supervisor = true
			continue
		case word == "--":
			args = args[1:]
		case strings.HasPrefix(word, "-") || plan.named:
		default:
			if plan.provider = c.findProvider(word); plan.provider == nil {
				return plan, unknownWord(word, c)
			}
			plan.named = true
			continue
		}
		break
	}
	plan.args = args
	if !plan.named && c.currentProvider != "" {
		if plan.provider = c.findProvider(c.currentProvider); plan.provider == nil {
			return plan, fmt.Errorf("current_provider %q of ccc.json is not among its providers (%s)", c.currentProvider, c.providerNames())
		}
	}
	return plan, nil
}

func unknownWord(word string, c *config) error {
	question := ""
	if name := c.nearMiss(word); name != "" {
		question = fmt.Sprintf(": did you mean %s?", name)
	}
	return failure{
		code: 2,
		err:  fmt.Errorf("%q is neither a subcommand nor a provider%s (providers: %s)", word, question, c.providerNames()),
		hint: "to pass it on to claude: ccc -- " + shellQuote(word),
	}
}

// launch replaces ccc with claude; it returns only with an error.
func launch(args []string) error {
	p, err := findPlaces("")
	if err != nil {
		return err
	}
	config, err := loadConfig(p)
	if err != nil {
		return err
	}
	plan, err := parseLaunch(args, config)
	if err != nil {
		return err
	}
	claude, err := findClaude()
	if err != nil {
		return err
	}
	env, err := launchEnv(os.Environ(), plan.provider)
	if err != nil {
		return err
	}
	if err := fillSettings(p, config); err != nil {
		return fmt.Errorf("filling in settings: %w", err)
	}
	if err := checkProvider(p, os.Environ(), plan.provider); err != nil {
		return err
	}
	if plan.supervisor {
		if err := checkProvider(p, env, config.findProvider(config.supervisor.provider)); err != nil {
			return fmt.Errorf("the reviewer: %w", err)
		}
		if err := prepareSupervision(p, config.supervisor); err != nil {
			return err
		}
		env = supervisedEnv(env, config.supervisor)
	}
	if plan.named {
		if err := recordProvider(p, plan.provider.name); err != nil {
			return fmt.Errorf("recording current_provider: %w", err)
		}
	}
	if config.exposesToken(p) {
		fmt.Fprintf(os.Stderr, "ccc: warning: %s holds a token and others can read it: chmod 600 %s\n", p.configFile(), shellQuote(p.configFile()))
	}
	argv := append([]string{claude}, config.claudeArgs...)
	if plan.provider != nil {
		argv = append(argv, plan.provider.claudeArgs...)
	}
	err = syscall.Exec(claude, append(argv, plan.args...), env)
	return failure{code: 126, err: fmt.Errorf("starting %s: %w", claude, err)}
}

// prepareSupervision writes what a supervised session needs and says where it
// can be watched.
func prepareSupervision(p places, config supervisorConfig) error {
	project, err := os.Getwd()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	state := stateDir(p.state)
	if err := errors.Join(state.create(), state.createLog()); err != nil {
		return fmt.Errorf("creating the state directory: %w", err)
	}
	if err := state.sweep(); err != nil {
		return fmt.Errorf("tidying the state directory: %w", err)
	}
	if err := createPrompt(project, p, defaultPrompt); err != nil {
		return fmt.Errorf("creating %s: %w", promptName, err)
	}
	if _, _, err := supervisorPrompt(project, p.ccc); err != nil {
		return err // better said now than at the first review
	}
	if err := state.keepFile(p.commandFile(), commandText); err != nil {
		return fmt.Errorf("creating %s: %w", p.commandFile(), err)
	}
	if err := installHooks(p, self, config.timeoutSeconds); err != nil {
		return fmt.Errorf("adding the hooks: %w", err)
	}
	fmt.Fprintf(os.Stderr, `Supervisor mode enabled
[Supervisor Mode] 日志文件:
  状态目录: %s
  Hook 日志: %s
  审查输出: %s
查看日志: tail -f %s
`, state, state.logFile(), state.outputFile("<session>"), shellQuote(state.logFile()))
	return nil
}
