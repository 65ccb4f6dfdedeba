// Command ccc supervises Claude Code: it lets the agent stop only when a strict reviewer finds the work done.
//
// A supervised launch (launch.go) writes hooks into Claude Code's settings (settings.go) and becomes claude.
// Each time the agent wants to stop, or to put a question to the user, Claude Code runs ccc supervisor-hook
// (hook.go), which forks the session for a reviewer (reviewer.go) and turns its verdict into the hook's
// decision. The reviewer runs commands by ccc try, in a throw-away copy of the machine (try.go).
//
// If the first word of the command line is no subcommand, claude is started. What was asked for goes to
// stdout, everything else to stderr. The exit code is 0, 1 for an error, 2 for a wrong command line, and 126
// or 127 if claude can't be started; the help of a subcommand lists its own.
//
// The words, each in one sense:
//
//	session          one conversation of Claude Code; client: a running claude
//	stop, question   the events that are reviewed: the agent wants to end its turn, or to ask the user
//	review           one judgement of these, or by hand (ccc review)
//	reviewer         the claude that is started for it
//	verdict          its decision: an approval or a refusal; after a refusal the agent is sent back
//	feedback         the words of a verdict
//	request          what the user has submitted since the last approval
//	review request   the text that asks the reviewer for a verdict
//	change           what differs in a working tree since the last approval
//	open change      a change that nobody has approved
//	look             a snapshot of a working tree
//	begin            the snapshot, commit and branch where a change starts
//	record           what is kept of a working tree; state: of a session
//	timeline         a session's prompts, switches, reviews and their steps
//	copy             the throw-away copy of the files in which a command runs
//	trial            a run of claude that shows whether it runs the hooks
//	count, limit     how many reviews a request has had, and may have
//	receipt          the line that says what a verdict rests on
//
// The source files, from the ground up: a file knows only files above it in this list, which TestHouse reads.
//
// Ground:
//
//	screen.go             text on a terminal: printable, wrapped, in colour
//	redact.go             what is secret in a text that ccc did not write
//	failure.go            errors with an exit code, and with the command that fixes them as a hint
//	json.go               reading JSON, and editing one value of it
//	file.go               locks, atomic replacement, appending, lines
//	env.go                names of variables and subcommands, arguments, directories, claude itself
//	language.go           which language ccc writes, and how a text is written in it
//	text.go               what people read, in both languages
//	text_review.go        what agent and reviewer read, in both languages
//	occasion.go           when a session is reviewed: at which events, with which texts
//	ending.go             what ccc starts ends with it; which signals end ccc
//	ending_linux.go       what of that is Linux's
//	ending_darwin.go      the same on macOS
//	git.go                working trees, how git is run in them, what it says of trees and branches
//
// Settings:
//
//	config.go             ccc.json
//	settings.go           what ccc writes into Claude Code's settings.json
//	sources.go            what Claude Code's settings have, and which of it stands against a provider
//	reviewer_env.go       the reviewer's claude; its and claude's environment: provider, keys, cache
//
// State:
//
//	state.go              the state directory: files, log, sweep; a session's place; the lock of a review
//	timeline.go           the lines of a session's timeline: prompts, switches, reviews, their steps
//	history.go            what these lines add up to
//	session.go            the state of a session, and which client a hook belongs to: launch, token, claim
//
// The copy:
//
//	try.go                ccc try: the plan of a copy, its run to its end, the probe that tries to break out
//	try_files_linux.go    the file system of a copy
//	try_linux.go          its namespaces and process 1
//	try_darwin.go         the same on macOS
//	check.go              the project's own check, .claude/check
//
// Change:
//
//	change.go             looks at a working tree, what differs between two, and that in words
//	transcript.go         the user's requests that stand, and where the agent is
//	queue.go              what /supervisor asks for, also while it waits in Claude Code's queue
//	record.go             the record of a working tree: where a change begins, and what becomes of it
//
// Prompt and verdict:
//
//	prompt.go             what the reviewer is asked: its instructions, and the request for one review
//	verdict_words.go      the verdict in the reviewer's last words
//
// Views:
//
//	receipt.go            a review in words, and in a line
//	status.go             ccc status
//	find.go               which session a word or a directory means
//	verdict.go            ccc verdict
//	log.go                ccc log
//
// Review:
//
//	supervision.go        ccc at work on a session: its mode, its limit, who waits, what is logged
//	reviewer_call.go      the reviewer's call: provider, model, settings, copies, request, flags
//	reviewer.go           the reviewer's process, run to its end, and its stream
//	review.go             one review: count, begin, look, check, call, reviewer, settle; or why it failed
//	review_by_hand.go     ccc review
//
// Hook:
//
//	switch.go             what answers /supervisor
//	event.go              an event of Claude Code's, its conversation, and the decision that goes back
//	due.go                whose an event is, whether it is answered, and whether a stop is to be reviewed
//	hook.go               one event in, one decision out
//
// Commands:
//
//	demo.go               ccc demo
//	launch.go             ccc, ccc --supervisor: the plan, and what is refused
//	trial.go              a launch, carried out: write, try the hooks, become claude
//	uninstall.go          ccc uninstall
//	doctor.go             ccc doctor
//	commands.go           the table of commands: their flags, their help
//	main.go               which command is called
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
)

func init() {
	for _, c := range commands() {
		if c.group != "" {
			subcommands = append(subcommands, c.name)
		}
	}
}

func main() {
	// A umask that takes rights from the user would make files that neither ccc nor claude can use again.
	syscall.Umask(syscall.Umask(0o077) &^ 0o700)
	os.Exit(runCCC(os.Args[1:], os.Environ()))
}

// runCCC is ccc with these arguments and this environment. It returns the exit code.
func runCCC(args []string, env environ) int {
	asked := args // after --supervisor: those who ask for help or version get it all the same
	for len(asked) > 1 && asked[0] == supervisorFlag {
		asked = asked[1:]
	}
	about := map[string]string{"--version": "version", "-v": "version", "--help": "help", "-h": "help"}
	if len(asked) > 0 && about[asked[0]] != "" {
		args = append([]string{about[asked[0]]}, asked[1:]...)
	}
	var err error
	switch {
	case len(args) > 0 && args[0] == tryInsideSubcommand:
		return tryProcessOne(args[1:])
	case len(args) > 0 && isSubcommand(args[0]):
		err = commandNamed(args[0]).start(args[1:], env)
	default:
		err = inProject(startClaude)(&invocation{operands: args, env: env})
	}
	return reportError(os.Stderr, withFileHint(err, ""))
}

// start parses the arguments and runs the command, or prints its help. An error in the arguments shows the
// synopsis.
func (c subcommand) start(args []string, env environ) error {
	call, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(c.page())
		return nil
	}
	if err == nil {
		call.env = env
		err = c.run(call)
	}
	if wrong := (misuse{}); errors.As(err, &wrong) {
		code := 2
		if c.name == hookSubcommand {
			code = 1 // Claude Code takes 2 from a hook as "block"
		}
		if c.name == trySubcommand {
			called := commandLine([]string{c.name}, args)
			recordRun(step{Kind: stepRun, Command: called, ExitCode: &code, Error: wrong.Error()}, env)
		}
		return failure{code: code, err: fmt.Errorf("%w\n%s", wrong, c.usage())}
	}
	return err
}
