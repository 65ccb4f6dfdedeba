package main

// A day with the pre-push hook of the guide on the real Claude Code.

import (
	"strings"
	"testing"
	"time"
)

// Three requests in one session, from the first prompt to push and pull request: a feature that is sent back once, "push it", and
// one more file with a push in the same turn. The agent's push of what was approved passes in a turn in which nothing has been judged
// yet; what no review has seen is refused.
func TestRealClientDay(t *testing.T) {
	forClients(t, func() script {
		try := func(command string) apiReply { return bash(tryCommand() + " '" + command + "'") }
		return script{
			agent: []apiReply{
				bash("echo 'echo hello' >hello.sh; git add .; git commit -qm hello"), replyText("hello.sh is there"),
				bash("echo 'test $(sh hello.sh) = hello && echo ok' >test.sh; git add .; git commit -qm test"), replyText("test.sh is there, too"),
				bash("git push -q origin topic 2>&1 && echo FIRST-PASSED"), replyText("it is pushed"),
				bash("echo hello >CHANGES; git add .; git commit -qm changes; git push -q origin topic 2>&1 || echo SECOND-REFUSED"),
				replyText("the last push is yours"),
			},
			reviewer: []apiReply{
				try("sh hello.sh"), replyVerdict(false, "There is no test."),
				try("sh test.sh"), replyVerdict(true, ""),
				try("cat hello.sh"), replyVerdict(true, ""),
				try("cat CHANGES"), replyVerdict(true, "The last push is left to you."),
			},
		}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		needCopy(t, box)
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		box.gitIn(box.work, "git init -q --bare ../remote; git init -q; git config user.name a; git config user.email a@example.com; git add .; git commit -qm first;"+
			" git remote add origin ../remote; git push -q origin main; git remote set-head origin main; git checkout -qb topic\n"+hookLines(t, pages[1][0]))
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("Write hello.sh that says hello")
		tty.waitFor("Review 1/10: sent back", 90*time.Second)
		tty.waitFor("Review 2/10: approved", 90*time.Second)
		tty.waitFor("sh test.sh → ok", 20*time.Second)
		box.awaitVerdicts(2)
		tty.prompt("push it")
		tty.waitFor("cat hello.sh → echo hello", 90*time.Second)
		box.awaitVerdicts(3)
		tty.prompt("add CHANGES and push it")
		tty.waitFor("cat CHANGES → hello", 90*time.Second)
		box.awaitVerdicts(4)

		told := ""
		for _, request := range api.requests("agent") {
			told += request.last("user")
		}
		expectIn(t, "what the agent read", told, "FIRST-PASSED", newerRequest.en, "changed since: CHANGES", "SECOND-REFUSED")
		expectNotIn(t, "what the agent read", told, "--no-verify")
		expectIs(t, "the remote's", box.gitIn(box.work, "git -C ../remote rev-parse topic"), box.gitIn(box.work, "git rev-parse HEAD~1"))

		expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", " ago · nothing has changed since")
		if pushed := box.run(60*time.Second, "", "git", "push", "origin", "topic"); pushed.code != 0 {
			t.Errorf("the user's push: %+v", pushed)
		}
		log := box.ccc("log")
		expectIn(t, "the log", log, "add CHANGES and push it", "cat CHANGES", "The last push is left to you.")
		// The user's own line waits for a review by hand.
		box.gitIn(box.work, "echo by hand >>CHANGES; git commit -qam mine")
		if got := box.run(60*time.Second, "", "git", "push", "origin", "topic"); got.code == 0 || !strings.Contains(got.stderr, "changed since: CHANGES") {
			t.Errorf("the user's push: %+v", got)
		}
		if got := box.run(90*time.Second, "", "ccc", "review"); got.code != 0 {
			t.Errorf("ccc review: %+v", got)
		}
		expectIn(t, "the request", api.lastReview(t), "M CHANGES")
		if got := box.run(60*time.Second, "", "git", "push", "origin", "topic"); got.code != 0 {
			t.Errorf("the user's push: %+v", got)
		}
	})
}
