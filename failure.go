package main

// An error ends with the command to try next, its hint, wherever there is one. A panic ends ccc with an exit
// code that Claude Code does not take as a decision.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
)

// A failure is an error with its exit code.
type failure struct {
	code int
	err  error  // nil if there is an exit code only, and nothing is printed
	hint string // what to do, on lines of which the last is a command, or ""
}

func (f failure) Error() string {
	if f.hint == "" {
		return fmt.Sprint(f.err)
	}
	return fmt.Sprint(f.err, "\n     ", strings.ReplaceAll(f.hint, "\n", "\n     "))
}

func (f failure) Unwrap() error { return f.err }

// withHint returns err with exit code 1 and that hint; "" is none.
func withHint(err error, hint string) error { return failure{code: 1, err: err, hint: hint} }

// failureOf returns the failure that err is or wraps. Any other error becomes one with exit code 1.
func failureOf(err error) failure {
	f := failure{code: 1, err: err}
	errors.As(err, &f)
	return f
}

// editHint is the command that opens the file at path.
func editHint(path string) string { return "${EDITOR:-vi} " + shellQuote(path) }

// A warning is an error with which a launch goes on: one is that claude can't be tried.
type warning struct{ error }

func (w warning) Unwrap() error { return w.error }

// A misuse is an error in the arguments of a subcommand. main.go adds the usage to it.
type misuse struct{ error }

// usageError is the misuse of the subcommand of that name.
func usageError(name, format string, args ...any) error {
	return misuse{error: fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...))}
}

// reportError writes err, if there is one, to stderr and returns its exit code.
func reportError(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	f := failureOf(err)
	if f.err != nil {
		fmt.Fprintln(stderr, "ccc:", printable(redact(err.Error())))
	}
	return f.code
}

// panicCode is the exit code of a panic. It is Go's, but a hook sets 0: Claude Code takes 2 as "block".
var panicCode = 2

// exitOnPanic has to be deferred in a hook, in each goroutine, and in each function that os/exec or a timer
// calls in a goroutine of its own. A panic then ends ccc with panicCode.
func exitOnPanic() {
	if fault := recover(); fault != nil {
		fmt.Fprintf(os.Stderr, "ccc: panic: %v\n%s", fault, debug.Stack())
		os.Exit(panicCode)
	}
}

// exitCode returns the exit code of a command, or 128 plus the signal that ended it, from the error of Wait.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// callError is the error of a system call, nil for 0.
func callError(call string, errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError(call, errno)
}
