package main

// The project's own check, .claude/check at the top of the working tree: a program that runs in a copy before
// the reviewer is asked. If it fails, what it printed is the feedback, and no model is asked. It is the user's
// or the team's, and may be in git; the agent can edit it, which the review request shows.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const checkPath = ".claude/check"

// checkMode returns the mode of the check of the working tree at top, "" if there is none.
func checkMode(top string) string {
	info, err := os.Stat(filepath.Join(top, checkPath))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return info.Mode().String()
}

// keepCheck returns the mode and git's id of the check of g's working tree, "" if there is none. It keeps the
// text with the objects that g writes: git may ignore the file.
func (g gitRunner) keepCheck() string {
	mode := checkMode(g.tree.Top)
	if mode == "" {
		return ""
	}
	id, _ := g.output("hash-object", "-w", "--no-filters", filepath.Join(g.tree.Top, checkPath))
	return mode + " " + id
}

// editedCheck is what the reviewer is told if the check was another when the change began, and else "".
func (g gitRunner) editedCheck(from, to begin) string {
	if from.Tree == "" || from.Check == to.Check {
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
	return say(toldFile, mode, cutMiddle(strings.TrimSpace(text.String()), 4000))
}

// isCheckIdle reports whether there is a check at top that does not run, since nobody may execute it.
func isCheckIdle(top string) bool {
	return checkMode(top) != "" && syscall.Access(filepath.Join(top, checkPath), mayEnter) != nil
}

// runCheck runs the check of the working tree at top in a copy, as ccc try does, for at most so long. It returns
// the run: without an exit code if it did not run or was ended, and the error says why. Nothing is redacted.
func runCheck(ctx context.Context, top string, env []string, timeout time.Duration) (ran step) {
	ran = step{Kind: stepCheck, Command: checkPath}
	if isCheckIdle(top) {
		ran.Error = say(checkNoAccess)
		return ran
	}
	output := &tail{limit: 1 << 16}
	plan := &tryPlan{command: []string{filepath.Join(top, checkPath)}, dir: top, env: env}
	plan.stdout = output
	plan.stderr = output
	start := time.Now()
	code, err := plan.run(ctx, timeout)
	ran.Output = outputKept(output.end())
	ran.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds()
	switch {
	case err == nil && (code == tryNotRunnable || code == tryNotFound):
		err = errors.New(say(checkNotStarted, code))
	case err == nil:
		ran.ExitCode = &code
	case code == tryTimedOut:
		err = errors.New(say(timedOut))
	}
	if err != nil {
		ran.Error = strings.TrimPrefix(oneLine(failureOf(err).err.Error()), noCopyMade)
	}
	return ran
}
