package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The guide's line works wherever git looks for hooks, and after a hook that is there already.
func TestPushHook(t *testing.T) {
	beside(t)
	lines := ""
	for _, page := range pages[1] {
		all := blocksOf(t, page)
		at := slices.IndexFunc(all, func(b pageBlock) bool { return strings.Contains(b.text, "exec ccc") })
		if lines == "" {
			lines = all[at].text
		}
		expectIs(t, "the lines of "+page, all[at].text, lines)
	}
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
			box.gitIn(box.work, "git remote add origin ../remote; git push origin main; "+before+"; "+lines)
			push := func(script string, wanted ...string) {
				t.Helper()
				dir := box.work
				if name == linked {
					dir += "/../side"
				}
				script += "; git commit -qmx a; git push origin HEAD:main 2>&1 && echo PUSHED || echo REFUSED"
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

// In a terminal ccc verdict says what to do. If Claude Code has never been there, or a review runs, ccc
// review does not help.
func TestVerdictAdvice(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	verdict := func() string { return onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 100) }
	expectIn(t, "without a session", verdict(), startAdvice.en)
	box.launch()
	box.turns("Done.")
	box.run(30*time.Second, "", "claude", "-p", "hi")
	expectIn(t, "with one", verdict(), verdictAdvice.en)
	box.reviews(runningReview, allows(""))
	go func() {
		defer box.write("../fake/go", 0o600, "")
		said := ""
		for deadline := time.Now().Add(time.Minute); !strings.Contains(said, waitAdvice.en); {
			if said = verdict(); time.Now().After(deadline) {
				t.Errorf("during a review: %s", said)
				return
			}
		}
	}()
	box.run(2*time.Minute, "", "ccc", "--supervisor", "-p", "more")
}
