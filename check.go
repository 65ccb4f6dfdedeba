package main

// The project's own check, .claude/check at the top of the working tree: a program that runs in a copy
// before the reviewer is asked. If it fails, what it printed is the feedback, and no model is asked. It is
// the user's or the team's, and may be in git; the agent can edit it, which the review request shows.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// checkMode returns the mode of the check of the working tree at top, "" if there is none.
func checkMode(top string) string {
	info, err := os.Stat(filepath.Join(top, checkPath))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return info.Mode().String()
}

// keepCheck returns the mode and git's id of the check of g's working tree, "" if there is none. It keeps the
// text with the objects that g writes: git may ignore the file. The error is that git's time is up.
func (g gitRunner) keepCheck() (string, error) {
	mode := checkMode(g.worktree.Top)
	if mode == "" {
		return "", nil
	}
	id, _ := g.output("hash-object", "-w", "--no-filters", filepath.Join(g.worktree.Top, checkPath))
	return mode + " " + id, context.Cause(g.ctx) // without an id, if it can't be read
}

// editedCheck is what the reviewer is told if the check was another when the change began, and else "".
func (g gitRunner) editedCheck(from, to begin) string {
	if from.Tree == "" || to.Tree == "" || from.Check == to.Check {
		return ""
	}
	return say(toldEdited, g.checkInWords(from.Check), g.checkInWords(to.Check))
}

func (g gitRunner) checkInWords(check string) string {
	mode, id, isThere := strings.Cut(check, " ")
	if !isThere {
		return say(toldNoFile)
	}
	var text strings.Builder
	_ = g.run("", &text, "cat-file", "blob", id)
	return say(toldFile, mode, fenced("", cutMiddle(strings.TrimSpace(text.String()), 4000)))
}

// isCheckIdle reports whether there is a check at top that does not run, since nobody may execute it.
func isCheckIdle(top string) bool {
	return checkMode(top) != "" && syscall.Access(filepath.Join(top, checkPath), mayEnter) != nil
}

// runCheck runs the check of the working tree at top in a copy, for at most so long. It returns the run as
// ccc try records it, but not redacted. If that has an error, the check has neither passed nor failed.
func runCheck(ctx context.Context, top string, env []string, timeout time.Duration) step {
	printed := &tail{limit: 1 << 16}
	plan := &tryPlan{command: []string{filepath.Join(top, checkPath)}, dir: top, env: env}
	plan.stdout = printed
	plan.stderr = printed
	start := time.Now()
	code, err := plan.run(ctx, timeout)
	if code == tryNotRunnable || code == tryNotFound {
		err = errors.New(say(checkNotStarted))
	}
	ran := step{Kind: stepRun, Command: checkPath, ExitCode: &code, Output: printed.end()}
	ran.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds()
	if err != nil {
		ran.Error = whyNoCopy(err)
	}
	return ran
}
