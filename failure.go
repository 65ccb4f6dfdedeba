package main

// Errors with an exit code and the next command to try, and what a panic ends as.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

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

// failureOf returns the failure that err is or wraps, or one of it.
func failureOf(err error) failure {
	f := failure{code: 1, err: err}
	errors.As(err, &f)
	return f
}

// keyHint and editHint are hints: what to do with a key of the file at path, and that the file is for its
// owner to mend.
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
	f := failureOf(err)
	if f.err != nil {
		fmt.Fprintln(stderr, "ccc:", printable(err.Error()))
	}
	return f.code
}

// panicCode is the exit code of a panic: Go's, but in a hook 0, since Claude Code takes 2 as "block".
var panicCode = 2

// exitOnPanic is deferred in a hook, in each goroutine, and in each function that os/exec or a timer calls in
// one of theirs: there a panic would end ccc with Go's exit code, whatever it is at. The guard ends the
// reviewer.
func exitOnPanic() {
	if fault := recover(); fault != nil {
		fmt.Fprintf(os.Stderr, "ccc: panic: %v\n%s", fault, debug.Stack())
		os.Exit(panicCode)
	}
}
