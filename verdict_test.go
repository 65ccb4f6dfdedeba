package main

import (
	"strings"
	"testing"
	"time"
)

// hookLines returns the lines of a guide that make the pre-push hook.
func hookLines(t *testing.T, page string) string {
	t.Helper()
	for _, block := range blocksOf(t, page) {
		if strings.Contains(block.text, "exec ccc verdict") {
			return block.text
		}
	}
	t.Fatalf("%s shows no pre-push hook", page)
	return ""
}

// The guide's line works wherever git looks for hooks, and after a hook that is there already.
func TestPushHook(t *testing.T) {
	beside(t)
	lines := hookLines(t, pages[1][0])
	expectIs(t, "the lines of "+pages[1][1], hookLines(t, pages[1][1]), lines)
	const linked, other = "a linked worktree", "another hook"
	for name, before := range map[string]string{
		"a clone":        "rm -rf .git/hooks",
		linked:           "git worktree add -q ../side; cd ../side",
		"core.hooksPath": `git config core.hooksPath "$PWD/../my hooks"`,
		other: `mkdir -p .git/hooks; printf '#!/bin/sh\ncat >"$HOME/other"\n' >.git/hooks/pre-push; ` +
			`chmod +x .git/hooks/pre-push`,
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.gitIn(box.home+"/../remote", "git init -q --bare")
			box.repository()
			box.gitIn(box.work, "git remote add origin ../remote; git push -q origin main; "+before+"; "+lines)
			push := func(script string, wanted ...string) {
				t.Helper()
				dir := box.work
				if name == linked {
					dir += "/../side"
				}
				script += "; git commit -qm x a; git push origin HEAD:main 2>&1 && echo PUSHED || echo REFUSED"
				expectIn(t, "the push", box.gitIn(dir, script), wanted...)
			}
			push("echo 0 >a; git add a", "none\n", "REFUSED")
			if name == other {
				expectIn(t, "what the other hook got", box.read("other"), "refs/heads/main")
			}
			if name == linked {
				return
			}
			box.inSession()
			box.submit("do it")
			box.reviews(fakeReview{runs("echo 1 >a"), decides(true, "")})
			box.write("../work/a", 0o600, "1\n")
			box.stop("")
			push(":", "allow\n", "PUSHED")
			push("echo 2 >a", "changed\n", "a\n", "REFUSED")
		})
	}
}

// In a terminal ccc verdict says what to do: if Claude Code has never been there, no review helps.
func TestVerdictAdvice(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	verdict := func() string { return onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 100) }
	expectIn(t, "without a session", verdict(), startAdvice.en)
	box.launch()
	box.turns("Done.")
	box.run(30*time.Second, "", "claude", "-p", "hi")
	expectIn(t, "with one", verdict(), verdictAdvice.en)
}
