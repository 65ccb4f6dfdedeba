package main

// What git is asked: how it is run, which commits there are, and which paths differ between them.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A gitRunner runs git in a working tree.
type gitRunner struct {
	ctx      context.Context
	patience time.Duration // after which ctx ends
	self     string        // ccc's own path
	top      string
	env      []string
}

// gitIn returns what runs git in the working tree at top, for as long as patience. end must be called.
func gitIn(ctx context.Context, patience time.Duration, self, top string, env []string) (
	g gitRunner, end func(),
) {
	ctx, end = context.WithTimeoutCause(ctx, patience, errors.New(say(gitTooSlow, patience)))
	return gitRunner{ctx: ctx, patience: patience, self: self, top: top, env: env}, end
}

// output runs git and returns the first line of what it prints.
func (g gitRunner) output(args ...string) (string, error) {
	lines, err := g.lines(args...)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[0], nil
}

// lines runs git and returns the lines that it prints.
func (g gitRunner) lines(args ...string) ([]string, error) {
	var out bytes.Buffer
	err := g.run(&out, append([]string{"git"}, args...)...)
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' }), err
}

// run runs command in the working tree, without what a git hook's environment says of repository and index.
// The error is a failure with its exit code and its complaints on one line, or why g.ctx ended.
func (g gitRunner) run(out io.Writer, command ...string) error {
	cmd := exec.CommandContext(g.ctx, command[0], command[1:]...)
	cmd.Dir = g.top
	cmd.Env = slices.DeleteFunc(slices.Clone(g.env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		saysWhere := strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_")
		return name == tryVariable || saysWhere
	})
	// What git replace puts in the place of a commit is not pushed for it.
	cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // git and all that it starts end together
	cmd.Cancel = func() error {
		defer exitOnPanic()
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = 2 * time.Second // for what is left in the pipes
	err := cmd.Run()
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	if err == nil {
		return nil
	}
	said := slices.DeleteFunc(strings.Split(complaints.String(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "hint:")
	})
	if text := oneLine(strings.Join(said, " ")); text != "" {
		return failure{code: exitCode(err), err: errors.New(clip(text, 300))}
	}
	return failure{code: exitCode(err), err: err}
}

// head returns the commit and the branch that are checked out, each "" where there is none.
func (g gitRunner) head() (commit, branch string) {
	commit, _ = g.output("rev-parse", "-q", "--verify", "HEAD")
	branch, _ = g.output("symbolic-ref", "-q", "--short", "HEAD")
	return commit, branch
}

// holds reports whether HEAD is that commit or a descendant of it.
func (g gitRunner) holds(commit string) bool {
	return commit == "" || g.run(io.Discard, "git", "merge-base", "--is-ancestor", commit, "HEAD") == nil
}

// remoteBranches returns the commits of all remote-tracking branches.
func (g gitRunner) remoteBranches() ([]string, error) {
	found, err := g.lines("for-each-ref", "--format=%(objectname)", "refs/remotes")
	slices.Sort(found)
	return slices.Compact(found), err
}

// mergeBases returns the best common ancestors of rev and the commits together, which may be none.
func (g gitRunner) mergeBases(rev string, commits []string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	found, err := g.lines(append([]string{"merge-base", "--all", rev}, commits...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == 1 {
		err = nil
	}
	return found, err
}
