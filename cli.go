package main

// What every subcommand shares: the usage text, errors with a hint and an exit code, and the parsing of flags.

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed usage.txt
var usage string

// The subcommands that ccc itself calls: by Claude Code's settings, by the hook (guard.go), by a reviewer, and in a
// throw-away copy (try.go).
const (
	hookSubcommand      = "supervisor-hook"
	guardSubcommand     = "supervisor-guard"
	trySubcommand       = "try"
	tryInsideSubcommand = "in-copy" // not try-something: a rule that allows `ccc try` may allow that too
)

// synopses are the parts of the usage text, one for each subcommand: its first line is `NAME [--flag] [OPERAND]`.
func synopses() []string {
	commands, _, _ := strings.Cut(usage, "\n\n")
	return strings.Split(commands, "\n  ccc ")[2:] // the first is about starting Claude Code
}

// subcommands returns the names of those in the usage text.
func subcommands() (names []string) {
	for _, part := range synopses() {
		names = append(names, strings.Fields(part)[0])
	}
	return names
}

// synopsis returns the part of the usage text about a subcommand, "" for any other word.
func synopsis(name string) string {
	if i := slices.Index(subcommands(), name); i >= 0 {
		return synopses()[i]
	}
	return ""
}

// isSubcommand tells whether word, as the first argument, is ccc's own. No provider can have such a name.
func isSubcommand(word string) bool {
	return word == guardSubcommand || word == tryInsideSubcommand || synopsis(word) != ""
}

// helpFor is what help prints of a subcommand; "" stands for all of them.
func helpFor(name string) string {
	if name == "" {
		return usage
	}
	return "usage: ccc " + synopsis(name) + "\n"
}

// A call is one call of a subcommand.
type call struct {
	flags    map[string]string // those given, with their dashes and their values
	operands []string
}

// has tells whether the flag was given.
func (c *call) has(flag string) bool { _, ok := c.flags[flag]; return ok }

// parseCall parses the arguments of a subcommand by its line in the usage text. Flags may stand before and behind
// operands; -- ends them, and so does the first operand of a line that ends in `...]`.
func parseCall(name string, args []string) (*call, error) {
	c := &call{flags: map[string]string{}}
	line, _, _ := strings.Cut(synopsis(name), "\n")
	for ; len(args) > 0; args = args[1:] {
		flag, value, hasValue := strings.Cut(args[0], "=")
		switch {
		case args[0] != "--" && !strings.HasPrefix(flag, "-") && strings.HasSuffix(line, "...]"):
			c.operands, args = args, args[:1]
		case args[0] == "--":
			c.operands = append(c.operands, args[1:]...)
			args = args[:1]
		case !strings.HasPrefix(flag, "-"):
			c.operands = append(c.operands, args[0])
		case flag == "--help" || flag == "-h" || strings.Contains(line, "["+flag+"]") && !hasValue:
			c.flags[flag] = ""
		case strings.Contains(line, "["+flag+" ") && hasValue:
			c.flags[flag] = value
		case strings.Contains(line, "["+flag+" ") && len(args) > 1:
			c.flags[flag], args = args[1], args[1:]
		default:
			return nil, usageError(name, "unknown flag or missing value: %s", args[0])
		}
	}
	if most := strings.Count(line, "[") - strings.Count(line, "[-"); len(c.operands) > most && !strings.HasSuffix(line, "...]") {
		return nil, usageError(name, "unexpected argument %q", c.operands[most])
	}
	return c, nil
}

// untilDashes returns what stands before --, which ends the flags.
func untilDashes(args []string) []string {
	if end := slices.Index(args, "--"); end >= 0 {
		return args[:end]
	}
	return args
}

// nearest returns the first of names that is one slip away from word, or "".
func nearest(word string, names []string) string {
	for _, name := range names {
		if oneSlip(name, word) || oneSlip(word, name) {
			return name
		}
	}
	return ""
}

// oneSlip tells whether b is a with one letter left out, changed or swapped with the next.
func oneSlip(a, b string) bool {
	for i := range len(a) {
		left, changed := a[:i]+a[i+1:], len(a) == len(b) && a[:i] == b[:i] && a[i+1:] == b[i+1:]
		swapped := i+1 < len(a) && a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b
		if left == b || changed || swapped {
			return true
		}
	}
	return false
}

// failure is an error with its exit code and, where there is one, the next command to try. Without an error the
// exit code alone is the answer, and nothing is said.
type failure struct {
	code int
	err  error // nil: an exit code, and nothing to say
	hint string
}

func (f failure) Error() string {
	if f.err == nil {
		return fmt.Sprint("exit code ", f.code)
	}
	if f.hint == "" {
		return f.err.Error()
	}
	return f.err.Error() + "\n     " + f.hint
}

func (f failure) Unwrap() error { return f.err }

func withHint(err error, hint string) error { return failure{code: 1, err: err, hint: hint} }

// change and edit are hints: what to do with a key of the file at path, and that the file is for its owner to mend.
func change(path, key, to string) string { return fmt.Sprintf("in %s: %s: %s", path, key, to) }

func edit(path string) string { return "${EDITOR:-vi} " + shellQuote(path) }

// usageError is an error in the arguments of a subcommand.
func usageError(name, format string, args ...any) error {
	return failure{code: 2, err: fmt.Errorf("%s: %w\n%s", name, fmt.Errorf(format, args...), strings.TrimSpace(helpFor(name)))}
}

// reportError writes err, if there is one, to stderr and returns its exit code.
func reportError(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var f failure
	if !errors.As(err, &f) {
		f.code = 1
	} else if f.err == nil {
		return f.code
	}
	fmt.Fprintln(stderr, "ccc:", printable(err.Error()))
	return f.code
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
