package main

// What every subcommand shares: its call, and errors with a hint and an exit code.

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The subcommands that ccc itself calls: by Claude Code's settings, by the hook (guard.go), by a reviewer, and in a
// throw-away copy (try.go).
const (
	hookSubcommand      = "supervisor-hook"
	guardSubcommand     = "supervisor-guard"
	trySubcommand       = "try"
	tryInsideSubcommand = "in-copy" // not try-something: a rule that allows `ccc try` may allow that too
)

// subcommands are the words that are ccc's own as first argument; main.go fills them in. No provider can have such a name.
var subcommands []string

func isSubcommand(word string) bool { return slices.Contains(subcommands, word) }

// A call is one call of a subcommand.
type call struct {
	flags    map[string]string // those given, with their dashes and their values
	operands []string
}

// has tells whether the flag was given.
func (c *call) has(flag string) bool { _, ok := c.flags[flag]; return ok }

// untilDashes returns what stands before --, which ends the flags.
func untilDashes(args []string) []string {
	if end := slices.Index(args, "--"); end >= 0 {
		return args[:end]
	}
	return args
}

// lastValue returns the value of the last flag of that name in args.
func lastValue(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		if after, found := strings.CutPrefix(arg, name+"="); found {
			value, ok = after, true
		} else if arg == name && i+1 < len(args) {
			value, ok = args[i+1], true
		}
	}
	return value, ok
}

// nearest returns the first of names that is one slip away from word, or "".
func nearest(word string, names []string) string {
	for _, name := range names {
		if oneSlip(name, word) {
			return name
		}
	}
	return ""
}

// oneSlip tells whether a and b differ in one letter, which one of them may lack, or in two that are swapped.
func oneSlip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) < 2 && len(b) < 2 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// A failure is an error with its exit code.
type failure struct {
	code int
	err  error  // nil: the exit code is the answer, and nothing is said
	hint string // the next command to try, "" for none
}

func (f failure) Error() string {
	if f.hint == "" {
		return fmt.Sprint(f.err)
	}
	return fmt.Sprint(f.err, "\n     ", f.hint)
}

func (f failure) Unwrap() error { return f.err }

func withHint(err error, hint string) error { return failure{code: 1, err: err, hint: hint} }

// keyHint and editHint are hints: what to do with a key of the file at path, and that the file is for its owner to mend.
func keyHint(path, key, to string) string { return fmt.Sprintf("in %s: %s: %s", path, key, to) }

func editHint(path string) string { return "${EDITOR:-vi} " + shellQuote(path) }

// A misuse is an error in the arguments of a subcommand. main.go adds how it is called.
type misuse struct{ error }

func usageError(name, format string, args ...any) error {
	return misuse{fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...))}
}

// reportError writes err, if there is one, to stderr and returns its exit code.
func reportError(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	f := failure{code: 1, err: err}
	errors.As(err, &f)
	if f.err != nil {
		fmt.Fprintln(stderr, "ccc:", printable(err.Error()))
	}
	return f.code
}
