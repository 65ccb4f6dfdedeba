package main

// What a throw-away copy is to be: which command runs in it, where, what it may write to, and which variables it
// gets. All of it is decided outside the copy.

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The exit codes that are not the command's own are those of timeout(1) and of the shells.
const (
	tryTimedOut    = 124
	tryImpossible  = 125
	tryNotRunnable = 126
	tryNotFound    = 127
)

// A tryPlan says what the copy is to be.
type tryPlan struct {
	command  []string // program and arguments
	dir      string   // the current directory, by the name that the caller has for it
	project  string   // the working tree that holds it, links resolved
	writable []string // what the command may write to, links resolved, none inside another
}

// A tryCopy is a copy in which a command runs.
type tryCopy struct {
	cmd    *exec.Cmd
	kill   func()       // ends every process of it
	reason func() error // after its end: why there was none, or nil
	remove func()       // after its end: removes what was written in it
}

// toMend stands between why there is no copy and what mends it.
const toMend = "; to mend it: "

// newTryPlan finds out what the copy must hold for command to run in the current directory. The git data of a
// linked worktree or a submodule is outside its tree.
func newTryPlan(command []string) (*tryPlan, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	project, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	top, common := gitTree(project)
	if top != "" {
		project = top
	}
	dirs := []string{project, common, os.Getenv("HOME"), os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"}
	return &tryPlan{command: command, dir: dir, project: project, writable: outermost(dirs)}, nil
}

// outermost returns the directories among dirs that the user may enter, links resolved, without those inside
// another. What the kernel makes up (/proc, /sys, devices) has no copies.
func outermost(dirs []string) (outer []string) {
	var real []string
	for _, dir := range dirs {
		path := resolved(dir)
		info, err := os.Stat(path)
		kernel := inside(path, "/proc") || inside(path, "/sys") || inside(path, "/dev") && !inside(path, "/dev/shm")
		const enter = 1
		if err == nil && filepath.IsAbs(path) && info.IsDir() && !kernel && syscall.Access(path, enter) == nil {
			real = append(real, path)
		}
	}
	slices.SortFunc(real, func(a, b string) int { return len(a) - len(b) })
	for _, path := range real {
		if !slices.ContainsFunc(outer, func(dir string) bool { return inside(path, dir) }) {
			outer = append(outer, path)
		}
	}
	return outer
}

// inside tells whether path is dir or below it; both are clean and absolute.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// tryEnv is env without what belongs to Claude Code, to ccc and to the providers of c: what they set, and what they
// take tokens from.
func tryEnv(env []string, c *config) []string {
	secret := map[string]bool{}
	for _, p := range c.Providers {
		for name, value := range p.Env {
			from, _ := variableIn(value)
			secret[name], secret[from] = true, true
		}
	}
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE") || strings.HasPrefix(name, "CCC_") || secret[name]
	})
}
