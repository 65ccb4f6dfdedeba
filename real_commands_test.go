package main

// ccc's commands beside the real Claude Code.

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// What `ccc --supervisor PROMPT -p && ccc verdict` says of each end that a session can have. The prompt, which
// comes first, names the end; a turn that an API error ends has no stop.
func TestRealClientVerdict(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			_, end, _ := strings.Cut(r.text(), "it shall end with ")
			end, _, _ = strings.Cut(end, ".")
			again := strings.Contains(r.text(), "Stop hook feedback")
			switch review := r.Kind == "review"; {
			case review && end == "failed", !review && end == "none", !review && end == "block" && again:
				return replyError(401, "authentication_error", "refused")
			case review:
				return replyVerdict(end == "allow" && again, "not yet")
			}
			return replyText("done")
		})
		box.use(api)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
		for end, code := range map[string]int{"allow": 0, "block": 1, "failed": 1, "limit": 1, "none": 3} {
			run := box.run(90*time.Second, "", "ccc", "--supervisor", "it shall end with "+end+".", "-p")
			got := box.run(10*time.Second, "", "ccc", "verdict")
			if got.code != code || got.stdout != end+"\n" || got.stderr != "" {
				t.Errorf("%s: got %+v after %+v", end, got, run)
			}
		}
		if got := box.run(60*time.Second, "", "sh", "-c", `ccc --supervisor "/supervisor off" -p >/dev/null 2>&1; ccc verdict`); got.code != 3 || got.stdout != "none\n" {
			t.Errorf("switched off: %+v", got)
		}
	})
}

// `ccc log -f` in another terminal goes on with the session that /clear begins.
func TestRealClientFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "COLUMNS=100")
		output, end := follow(t, box, "-f")
		defer end(syscall.SIGTERM)
		await(t, output, "等待第一个会话")
		tty := box.start()
		tty.prompt("the first request")
		await(t, output, "用户\n    the first request\n")
		box.awaitVerdicts(1)
		await(t, output, "审查 1/10 通过\n")
		time.Sleep(time.Second)
		tty.prompt("/clear")
		time.Sleep(2 * time.Second)
		tty.prompt("the second request")
		await(t, output, "（当前项目新开始的会话）\n")
		await(t, output, "用户\n    the second request\n")
		api.await(t, "review", 2, 120*time.Second)
		for range 100 {
			if strings.Count(output(), "审查 1/10 通过\n") == 2 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := output(); strings.Count(got, "审查 1/10 通过\n") != 2 || strings.Count(got, "the first request") != 1 || strings.Count(got, "依据 "+box.home+"/.claude/SUPERVISOR.md\n") != 2 {
			t.Errorf("it says\n%s", got)
		}
	})
}
