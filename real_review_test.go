package main

// A day with the pre-push hook of the guide on the real Claude Code.
//
// Evidence on the real Claude Code: receipts on the screen, a review by hand.
//
// The reviewer's model on the real Claude Code, compared with the agent's where both ask the API.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// share is how much of before, in bytes, after repeats from its start, as the prompt cache sees it: tools, those aside that are
// loaded later, system and messages, without the marks that say where to cache.
func share(t *testing.T, before, after apiRequest) float64 {
	t.Helper()
	var blocks [2][]string
	for i, r := range []apiRequest{before, after} {
		var wire struct {
			Tools    []any
			System   any
			Messages []struct{ Content any }
		}
		check(t, json.Unmarshal(r.Body, &wire))
		isLater := func(tool any) bool { return tool.(map[string]any)["defer_loading"] == true }
		contents := []any{slices.DeleteFunc(wire.Tools, isLater), wire.System}
		for _, m := range wire.Messages {
			contents = append(contents, m.Content)
		}
		for _, content := range contents {
			list, ok := content.([]any)
			if !ok {
				list = []any{map[string]any{"type": "text", "text": content}}
			}
			for _, block := range list {
				if members, ok := block.(map[string]any); ok {
					delete(members, "cache_control")
				}
				blocks[i] = append(blocks[i], string(encodeJSON(block)))
			}
		}
	}
	same, all := 0, 0
	if before.Model != after.Model { // each model has a cache of its own
		return 0
	}
	for i, block := range blocks[0] {
		all += len(block)
		if i < len(blocks[1]) && blocks[1][i] == block && same == all-len(block) {
			same += len(block)
		}
	}
	return float64(same) / float64(all)
}

// What a review takes from the prompt cache, in an interactive session of three turns with two reviews each. It becomes long
// before the second: from there on the reviews take the agent's. The API says of each request how much of it repeats the
// agent's last one; where that is too little, as before 2.1.329, whose fork has other tools, one review finds out and the later
// ones have a prompt of their own. The screen says nothing of it.
func TestRealClientCache(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		needCopy(t, box)
		var agents, reviews atomic.Int32
		var last apiRequest // of the agent's
		served := 0.0       // how much of it the review's request repeats
		var mu sync.Mutex
		api := newAnsweringAPI(t, say(verdictForm), func(r apiRequest) apiReply {
			mu.Lock()
			defer mu.Unlock()
			if r.Kind == "agent" {
				last = r
			} else if r.Kind == "review" {
				served = share(t, last, r)
			}
			if r.Kind == "agent" { // in each turn a tool, an attempt that is sent back, and the answer
				n := int(agents.Add(1)) - 1
				return [...]apiReply{replyTool("Read", `{"file_path":"notes.txt"}`), replyText(fmt.Sprint("attempt ", n/3+1, " ", strings.Repeat("what I did and why. ", 900))),
					replyText(fmt.Sprint("answer ", n/3+1))}[n%3].after(n / 3 * cacheLeast)
			}
			n := int(reviews.Add(1)) - 1
			reply := [...]apiReply{replyTool("Write", `{"file_path":"reviewer.txt","content":"x"}`), bash(tryCommand() + " 'cat notes.txt >reviewer.txt'"),
				replyVerdict(false, "show the tests"), replyVerdict(true, "")}[n%4]
			if reply.tool == "StructuredOutput" && !slices.Contains(r.Tools, "StructuredOutput") {
				reply = replyText("I looked.\n```json\n" + reply.input + "\n```")
			}
			reply.tokens, reply.fresh = int(served*100_000), int((1-served)*100_000)
			return reply
		})
		box.use(api)
		box.setSettings(`{"permissions":{"allow":["Edit","Write"]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo x$CCC_SUPERVISOR_HOOK >>$HOME/user-hooks"}]}]}}`)
		tty := box.start()
		for i := range 3 {
			tty.prompt(fmt.Sprint("request ", i+1))
			tty.waitFor(fmt.Sprint("answer ", i+1), 90*time.Second)
			api.await(t, "review", 4*(i+1), 120*time.Second)
			box.awaitVerdicts(2 * (i + 1))
		}
		var ways []string
		for _, r := range endsOf(box.onlyTimeline()) {
			ways = append(ways, r.Way)
		}
		want := []string{"own", "own", "cache", "cache", "cache", "cache"}
		if olderThan(client.version, "2.1.329") {
			want = []string{"own", "own", "cache", "own", "own", "own"}
		}
		if !slices.Equal(ways, want) {
			t.Fatalf("the ways %q, want %q", ways, want)
		}
		missed := box.run(20*time.Second, "", "ccc", "log").stdout
		expectIs(t, "the log says that the cache did not serve", strings.Contains(missed, "没有命中，之后的审查不再用它"), want[3] == "own")
		if want[3] == "cache" {
			measureShares(t, api.requests(""), ways)
		}
		expectNotIn(t, "the screen", tty.screen(), "cache", "缓存")
		expectEqual(t, "the verdicts", box.timelineVerdicts(), slices.Repeat([]verdict{verdictBlock, verdictAllow}, 3))
		expectEqual(t, "the reviewer's runs", box.ranCommands(), slices.Repeat([]string{"cat notes.txt >reviewer.txt → 0"}, 3))
		if _, err := os.Stat(filepath.Join(box.work, "reviewer.txt")); err == nil {
			t.Error("the reviewer wrote a file")
		}
		if ran := box.read("user-hooks"); strings.Contains(ran, "x1") || strings.Count(ran, "x\n") != 6 {
			t.Errorf("the user's hook ran %q", ran)
		}
		box.expectOneSession()
	})
}

// The same of a printed session, where a review is asked alike on every version.
func TestRealClientCachePrinted(t *testing.T) {
	forClients(t, func() script {
		return script{marker: say(verdictForm), agent: []apiReply{replyText("first answer"), replyText("second answer").after(cacheLeast)},
			reviewer: []apiReply{replyVerdict(false, "show the tests"), replyText(`{"allow_stop": true, "feedback": ""}`)}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix the bug")
		expectRun(t, box, got, "second answer", verdictBlock, verdictAllow)
		measureShares(t, api.requests(""), []string{"own", "cache"})
	})
}

// A session with an advisor, by settings or flag: its reviewer has none, whichever way it is asked, though its fork comes from a
// conversation with advice. The agent's prompt cache holds the advice: a review that misses it for that is the last to ask
// with it.
func TestRealClientAdvisor(t *testing.T) {
	beside(t)
	const advice = "say it again"
	for name, args := range map[string][]string{"settings": nil, "flag": {"--advisor", "opus", "--model", "sonnet"}} {
		t.Run(name, func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				var reviews, asked atomic.Int32
				var last atomic.Value // the agent's request
				box.use(newAnsweringAPI(t, say(verdictForm), func(r apiRequest) apiReply {
					if r.Kind == "agent" {
						last.Store(r)
						reply := replyText(strings.Repeat("what I did and why. ", 5000)).after(cacheLeast)
						reply.advice = advice
						return reply
					}
					if slices.Contains(r.Tools, "advisor") || bytes.Contains(r.Body, []byte(advice)) {
						asked.Add(1)
					}
					served := share(t, last.Load().(apiRequest), r)
					reply := replyVerdict(reviews.Add(1) == 3, "show the tests")
					if !slices.Contains(r.Tools, reply.tool) {
						reply = replyText(reply.input)
					}
					reply.tokens, reply.fresh = int(served*100_000), int((1-served)*100_000)
					return reply
				}))
				box.vars = append(box.vars, "CLAUDE_CODE_ENABLE_EXPERIMENTAL_ADVISOR_TOOL=1")
				if args == nil {
					box.setSettings(`{"advisorModel":"opus","model":"sonnet"}`)
				}
				got := box.run(90*time.Second, "", slices.Concat([]string{"ccc", "--supervisor", "-p", "hello"}, args)...)
				if agent := last.Load().(apiRequest); got.code != 0 || !slices.Contains(agent.Tools, "advisor") ||
					!bytes.Contains(agent.Body, []byte(advice)) {
					t.Errorf("the agent has no advisor, so the test shows nothing: %+v", got)
				}
				expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictBlock, verdictBlock, verdictAllow})
				expectIs(t, "the reviewer's requests with an advisor", asked.Load(), 0)
				var ways []string
				for _, r := range endsOf(box.onlyTimeline()) {
					ways = append(ways, fmt.Sprint(r.Way, r.CacheMissed))
				}
				want := []string{"cachefalse", "cachetrue", "ownfalse"}
				expectEqual(t, "the ways, and whether they missed the cache,", ways, want)
			})
		})
	}
}

// What changed since the request comes with it, and with a review by hand what changed since the approval.
func TestRealClientChanges(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{bash("echo more >>notes.txt; git -c user.name=x -c user.email=x@x commit -qam second; echo new >fresh.txt"), replyText("the answer")},
			reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.repository()
		box.gitIn(box.work, "echo theirs >theirs.txt")
		got := box.run(60*time.Second, "make it so\n", "ccc", "--supervisor", "--", "-p", "--permission-mode", "bypassPermissions")
		expectRun(t, box, got, "the answer", verdictAllow)
		expect := func(wants ...string) {
			t.Helper()
			reviews := api.requests("review")
			text := reviews[len(reviews)-1].last("user")
			expectIn(t, "the request", text, wants...)
		}
		expect("与改动开始时工作树里的内容相比", "A fresh.txt\nM notes.txt\n```", "\n+more\n", "\n+new\n")
		box.gitIn(box.work, "echo mine >fresh.txt; rm theirs.txt")
		if got := box.run(60*time.Second, "", "ccc", "review"); got.code != 0 {
			t.Errorf("%+v", got)
		}
		expect("用户自己发起的", "M fresh.txt\nD theirs.txt\n```", "\n-new\n+mine\n")
	})
}

// Work that was refused to the limit is part of what another session is judged by, which only asks a question; ccc's state lies in
// the project.
func TestRealClientRefusedWork(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{bash("echo more >>notes.txt"), replyText("done"), replyText("done again"), replyText("it says a note")},
			reviewer: []apiReply{replyVerdict(false, "write a test"), replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.repository()
		box.vars = append(box.vars, "CCC_WORK_DIR="+box.work)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		box.run(60*time.Second, "make it so\n", "ccc", "--supervisor", "--", "-p", "--permission-mode", "bypassPermissions")
		expectEnd(t, "the verdict", box.run(20*time.Second, "", "ccc", "verdict"), 1, "limit\n", "ccc")
		box.run(60*time.Second, "what do the notes say?\n", "ccc", "--supervisor", "--", "-p", "--permission-mode", "bypassPermissions")
		expectIn(t, "the request", api.lastReview(t), "另一个会话的改动，还没有通过", "它最新的要求：make it so", "它上次的反馈：write a test", "```\nM notes.txt\n```")
		expectEnd(t, "the verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	})
}

// Work that was sent back on a branch, and that the user has committed there, is judged by whoever stops there next, though another
// session was approved on main meanwhile.
func TestRealClientRefusedOnBranch(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review":
				isLater := strings.Contains(last, "what is left") || strings.Contains(last, "is all well")
				return replyVerdict(isLater, "write a test")
			case strings.Contains(last, "fix the notes"):
				return bash("echo more >>notes.txt")
			}
			return replyText("done")
		})
		box.repository()
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		ask := func(words string) {
			box.run(60*time.Second, words+"\n", "ccc", "--supervisor", "--", "-p", "--permission-mode", "bypassPermissions")
		}
		box.gitIn(box.work, "git checkout -q -b topic")
		ask("fix the notes")
		box.gitIn(box.work, "git commit -qam WIP; git checkout -q main")
		ask("is all well?")
		expectNotIn(t, "the request on main", api.lastReview(t), "M notes.txt")
		box.gitIn(box.work, "git checkout -q topic")
		ask("what is left?")
		expectIn(t, "the request on the branch", api.lastReview(t), "它最新的要求：fix the notes", "```\nM notes.txt\n```")
		expectEnd(t, "the verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	})
}

// What the user edits after a prompt that Esc ended before the agent did anything is the user's.
func TestRealClientEditsAfterEscape(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case strings.Contains(last, "begin later"):
				return apiReply{text: "late", takes: time.Minute}
			case strings.Contains(last, "add a line"):
				return bash("echo own >>notes.txt")
			}
			return replyText("done")
		})
		box.repository()
		tty := box.start("--permission-mode", "bypassPermissions")
		tty.prompt("begin later")
		api.await(t, "agent", 1, 60*time.Second)
		tty.keys("Escape")
		tty.waitUntil("the prompt in the input line", 60*time.Second, func(screen string) bool {
			return strings.HasPrefix(inputLine(screen), "❯ begin later")
		})
		box.gitIn(box.work, "echo theirs >>notes.txt; git commit -qam mine")
		tty.enter("add a line") // the client gives the words back, for enter to delete
		box.awaitVerdicts(1)
		request := api.lastReview(t)
		expectIn(t, "the request", request, "\n+own\n")
		expectNotIn(t, "the request", request, "\n+theirs\n")
	})
}

// Where the conversation began without ccc the change begins at the commit that was checked out then: what the agent did before is
// shown.
func TestRealClientBegunBefore(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{bash("echo one >one.txt"), replyText("the first"), bash("echo two >two.txt"), replyText("the second")},
			reviewer: []apiReply{replyVerdict(true, "")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.gitIn(box.work, "git init -q; git add .; GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git commit -qm first")
		if got := box.run(60*time.Second, "make one\n", "claude", "-p", "--permission-mode", "bypassPermissions"); got.stdout != "the first\n" {
			t.Fatalf("%+v", got)
		}
		transcripts, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
		text, err := os.ReadFile(transcripts[0])
		check(t, err)
		long := regexp.MustCompile(`"timestamp":"\d+`).ReplaceAll(text, []byte(`"timestamp":"2025`)) // it was not a moment ago
		check(t, os.WriteFile(transcripts[0], long, 0o600))
		got := box.run(60*time.Second, "make two\n", "ccc", "--supervisor", "--", "-p", "--continue", "--permission-mode", "bypassPermissions")
		expectRun(t, box, got, "the second", verdictAllow)
		expectIn(t, "the request", api.lastReview(t), "make one", "其中可能有更早的改动", "A one.txt\nA two.txt\n")
	})
}

// measureShares prints and checks the shares of a run: each review's first request against the agent's last one before
// it and against the review before it, and each of the agent's requests against the one before.
func measureShares(t *testing.T, requests []apiRequest, ways []string) {
	t.Helper()
	reviews := 0
	var agent, review, last apiRequest
	for _, r := range requests {
		switch {
		case r.Kind == "review" && last.Kind != "review":
			toAgent, toReview := share(t, agent, r), 1.0
			if review.Body != nil {
				toReview = share(t, review, r)
			}
			t.Logf("review: %.1f%% of the agent's last request, %.1f%% of the review before", 100*toAgent, 100*toReview)
			if way := ways[reviews]; way == "cache" && toAgent < 0.95 || way == "own" && toReview < 0.9 {
				t.Errorf("a review shares too little")
			}
			review = r
			reviews++
		case r.Kind == "agent":
			if agent.Body != nil {
				own := share(t, agent, r)
				t.Logf("agent: %.1f%% of its last request", 100*own)
				if own < 0.99 {
					t.Errorf("the agent's next request does not repeat its last one")
				}
			}
			agent = r
		}
		if r.Kind != "side" {
			last = r
		}
	}
}

// After EnterWorktree the reviewer stands in the worktree.
func TestRealClientWorktree(t *testing.T) {
	forClients(t, func() script {
		return script{
			agent: []apiReply{
				replyTool("EnterWorktree", `{"name":"feature"}`),
				replyTool("Bash", `{"command":"pwd; echo new >new.txt","description":"write"}`),
				replyText("done"),
			},
			reviewer: []apiReply{replyTool("Bash", `{"command":"ls"}`), replyVerdict(true, "")},
		}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.repository()
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--permission-mode", "bypassPermissions", "work apart")
		expectRun(t, box, got, "done", verdictAllow)
		worktree := filepath.Join(box.work, ".claude/worktrees/feature")
		if _, err := os.Stat(filepath.Join(worktree, "new.txt")); err != nil {
			t.Fatal("the agent did not work in a worktree: the test shows nothing")
		}
		request := api.lastReview(t)
		expectIn(t, "the request", request, "worktree 里工作："+worktree, "其中可能有更早的改动", "```\nA new.txt\n```")
		reviews := api.requests("review")
		expectIn(t, "what the reviewer lists", reviews[1].last("user"), "new.txt")
	})
}

// The user's MCP servers can't change anything in a review, although a rule of
// the user's allows it, unless allowed_tools names them.
func TestRealClientTools(t *testing.T) {
	beside(t)
	server, _ := filepath.Abs("testdata/mcp")
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("with_cache_%v", keep), func(t *testing.T) {
			forClients(t, func() script {
				agent, verdict := replyText("the answer"), replyVerdict(true, "")
				if keep {
					agent = agent.after(cacheLeast)
					verdict = replyText(`{"allow_stop":true,"feedback":""}`)
				}
				return script{agent: []apiReply{agent}, reviewer: []apiReply{replyTool("mcp__x__write", `{}`), replyTool("EnterWorktree", `{"name":"rv"}`),
					replyTool("CronCreate", `{"cron":"*/5 * * * *","prompt":"x","durable":true,"recurring":true}`), verdict}, marker: say(verdictForm)}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.mcpServer(server)
				box.repository()
				got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				expectRun(t, box, got, "the answer", verdictAllow)
				if reviews := api.requests("review"); len(reviews) < 4 || box.read("mcp.called") != "" {
					t.Errorf("%d requests; the tool ran: %q", len(reviews), box.read("mcp.called"))
				}
				if _, err := os.Stat(filepath.Join(box.work, ".claude")); err == nil {
					t.Error("the reviewer entered a worktree, or scheduled something")
				}
				if n := strings.Count(box.read("mcp.started"), "started"); n != 1 && (!keep || n == 0) {
					t.Errorf("the server was started %d times, want 1: for the session, not for the review", n)
				}
			})
		})
	}
	t.Run("allowed", func(t *testing.T) {
		forNewest(t, func() script {
			return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyTool("mcp__x__write", `{}`), replyVerdict(true, "")}}
		}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			box.write(".claude/ccc.json", 0o600, `{"supervisor":{"allowed_tools":["mcp__x"]}}`)
			box.mcpServer(server)
			box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			if box.read("mcp.called") == "" {
				t.Error("the tool did not run")
			}
		})
	})
}

// mcpServer makes the program an MCP server of the user's whose tools a rule of the user's allows.
func (box *sandbox) mcpServer(program string) {
	box.t.Helper()
	state := strings.TrimSpace(box.read(".claude.json"))
	box.write(".claude.json", 0o600, fmt.Sprintf(`{"mcpServers":{"x":{"command":%q,"args":[%q]}},`, program, filepath.Join(box.home, "mcp"))+state[1:])
	box.setSettings(`{"permissions":{"allow":["mcp__x"]}}`)
}

// The reviewer has the session's model and its directories, and finds the session where the agent has changed its own.
func TestRealClientModelAndDirectories(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.write("../other/far.txt", 0o600, "far away\n")
		other := filepath.Join(filepath.Dir(box.home), "other")
		api := newScriptedAPI(t, script{
			agent:    []apiReply{bash("mkdir -p sub/dir && cd sub/dir && pwd"), replyText("the answer")},
			reviewer: []apiReply{replyTool("Read", fmt.Sprintf(`{"file_path":%q}`, other+"/far.txt")), replyVerdict(true, "")},
		})
		box.use(api)
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"pwd >>$HOME/cwd"}]}]}}`)
		got := box.run(60*time.Second, "hello", "ccc", "--supervisor", "--", "-p", "--model", "haiku", "--permission-mode", "bypassPermissions", "--add-dir", other)
		expectRun(t, box, got, "the answer", verdictAllow)
		for i, review := range api.requests("review") {
			if model := api.requests("agent")[0].Model; review.Model != model || !strings.Contains(model, "haiku") {
				t.Errorf("review request %d is for %s, the agent's is for %s", i, review.Model, model)
			}
		}
		expectIn(t, "what the reviewer read", api.requests("review")[1].last("user"), "far away")
		if cwd := box.read("cwd"); !strings.Contains(cwd, "/sub/dir") {
			t.Errorf("the agent's hooks ran in %q: the test shows nothing", cwd)
		}
	})
}

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

// runningReviewer answers as a reviewer that runs a command in the copy, refuses the first time, and approves from then on.
func runningReviewer(command string) func(apiRequest) apiReply {
	var calls atomic.Int32
	return func(r apiRequest) apiReply {
		if r.Kind != "review" {
			return replyText("done")
		}
		switch n := calls.Add(1); {
		case n%3 == 1:
			return bash(command)
		case n%3 == 2:
			return bash("touch made") // which is refused
		default:
			return replyVerdict(n >= 6, "not yet")
		}
	}
}

func TestRealClientReceipt(t *testing.T) {
	forClients(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		needCopy(t, box)
		reviewer := runningReviewer(tryCommand() + ` 'cat notes.txt; exit 3'`)
		api := newAnsweringAPI(t, "", func(r apiRequest) apiReply {
			if strings.Contains(r.last("user"), "Do the work") && r.Kind != "review" {
				box.write("../work/made.txt", 0o600, "by the agent\n")
			}
			return reviewer(r)
		})
		box.use(api)
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		box.repository()
		box.gitIn(box.work, "git init -q --bare ../remote; git remote add origin ../remote; git push -q origin HEAD:main; git remote set-head origin main")
		tty := box.start()
		tty.prompt("Do the work")
		tty.waitFor("Review 1/10: sent back", 60*time.Second)
		tty.waitFor("Review 2/10: approved", 60*time.Second)
		tty.waitFor("cat notes.txt; exit 3 → exit 3", 10*time.Second)
		box.awaitVerdicts(2)
		tty.prompt("push it") // it changes no file
		box.awaitVerdicts(3)
		expectIn(t, "the last review in the log", box.ccc("log", "-n", "1"), "push it", "cat notes.txt; exit 3 → exit 3", "approved")
		refused := 0
		for _, r := range box.onlyTimeline() {
			if r.Step != nil && r.Step.Kind == stepRefused && r.Step.Tool == "Bash(touch made)" {
				refused++
			}
		}
		ids, _ := box.stateDir().sessions()
		h, err := box.stateDir().session(ids[0]).readHistory()
		check(t, err)
		for _, r := range h.Reviews {
			expectNotIn(t, "what was looked at", strings.Join(r.did.Tools, " "), "touch")
		}
		expectIs(t, "the refused calls", refused, 3)
		expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	})
}

// A session that ran without ccc is reviewed by hand: one of -p, and one that is open in a client, which goes on.
func TestRealClientReviewByHand(t *testing.T) {
	forClients(t, func() script {
		return script{agent: []apiReply{replyText("done")}, reviewer: []apiReply{replyVerdict(true, "well"), replyVerdict(true, "well"), replyVerdict(false, "not yet")}}
	}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "LANG=en_US.UTF-8")
		if got := box.run(90*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		got := box.run(90*time.Second, "", "ccc", "review")
		if got.code != 0 || !strings.HasPrefix(got.stdout, "[SUPERVISOR] Review: approved · ") || !strings.HasSuffix(got.stdout, "\nwell\n") || !strings.Contains(got.stderr, "fix the bug") {
			t.Errorf("%+v", got)
		}
		if reviews := api.requests("review"); len(reviews) == 0 || !strings.Contains(reviews[0].last("user"), "fix the bug") {
			t.Errorf("the reviewer was told %v", reviews)
		}
		expectIn(t, "the log", box.ccc("log", "-n", "1"), "fix the bug", "Review: approved")
		paths, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
		id := strings.TrimSuffix(filepath.Base(paths[0]), ".jsonl")
		box.write(".claude/projects/copied/"+id+".jsonl", 0o600, box.transcripts()) // it lies in two projects then
		got = box.run(90*time.Second, "", "ccc", "review", id[:8])
		expectIs(t, "a second review's exit code", got.code, 0)
		tty := box.open("claude")
		tty.prompt("another task")
		tty.waitUntil("the transcript tells of it", 60*time.Second, func(string) bool {
			paths, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
			return slices.ContainsFunc(paths, func(path string) bool {
				text, _ := os.ReadFile(path)
				return strings.Contains(string(text), "another task") && strings.Contains(string(text), `"text":"done"`)
			})
		})
		got = box.run(90*time.Second, "", "ccc", "review")
		if got.code == 2 && strings.Contains(got.stderr, "which of the sessions") { // nobody looks on here
			_, ids, _ := strings.Cut(got.stderr, "Name one: ")
			got = box.run(90*time.Second, "", "ccc", "review", strings.Fields(ids)[0])
		}
		if got.code != 1 || !strings.Contains(got.stderr, "another task") {
			t.Errorf("the command: %+v", got)
		}
		tty.prompt("go on")
		tty.waitUntil("the session goes on", 60*time.Second, func(screen string) bool { return strings.Count(screen, "done") > 1 })
		expectNotIn(t, "settings.json", box.settings(), "hooks")
	})
}

// A review by hand under nohup outlives its terminal.
func TestRealClientNohup(t *testing.T) {
	if testing.Short() {
		t.Skip("needs tmux")
	}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		isGone := make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			if r.Kind == "review" {
				<-isGone
				return replyVerdict(true, "")
			}
			return replyText("done")
		})
		if got := box.run(90*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		tty := box.terminal("sh", "-c", "nohup ccc review >$HOME/shown 2>&1; echo $? >$HOME/code")
		api.await(t, "review", 1, 90*time.Second)
		tty.tmux("kill-server")
		time.Sleep(time.Second) // SIGHUP is under way
		close(isGone)
		box.awaitVerdicts(1)
		expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow})
	})
}

// modelScript has the agent stop at once and the reviewer approve.
func modelScript() script {
	return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
}

// asked is what tells one model from another at the API: its name and the beta headers that come with it. Left out are
// those of a permission mode (plan, auto) and of a terminal (how thinking is shown), which a reviewer does not have.
func (r apiRequest) asked() string {
	betas := strings.Split(r.header("Anthropic-Beta"), ",")
	slices.Sort(betas)
	others := regexp.MustCompile("^(afk-mode|dangerous-tool-use|redact-thinking)-")
	return r.Model + " " + strings.Join(slices.DeleteFunc(betas, others.MatchString), ",")
}

// expectSameModel wants n reviews, each with the model of the agent's request before it.
func (api *scriptedAPI) expectSameModel(t *testing.T, n int) {
	t.Helper()
	agents, reviews := "", 0
	for _, r := range api.requests("") {
		switch r.Kind {
		case "agent":
			agents = r.asked()
		case "review":
			reviews++
			if r.asked() != agents {
				t.Errorf("the reviewer has\n%s, the agent\n%s", r.asked(), agents)
			}
		}
	}
	expectIs(t, "the reviews", reviews, n)
	t.Logf("the agent has %s", agents)
}

// The reviewer has the session's model, and its long context, by whichever way the session has them.
func TestRealClientModel(t *testing.T) {
	beside(t)
	const opus, sonnet = "ANTHROPIC_DEFAULT_OPUS_MODEL=glm-5 ", "ANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7 "
	const three = opus + sonnet + "ANTHROPIC_DEFAULT_HAIKU_MODEL=glm-4.5-air"
	const ofThree = `"ANTHROPIC_DEFAULT_OPUS_MODEL":"glm-5","ANTHROPIC_DEFAULT_SONNET_MODEL":"glm-4.7"`
	for _, test := range []struct {
		name, args, env, settings, file, provider string
	}{
		{name: "default"},
		{name: "flag_name", args: "--model claude-sonnet-4-5"},
		{name: "flag_name_1m", args: "--model claude-sonnet-4-5[1m]"},
		{name: "flag_alias", args: "--model haiku"},
		{name: "flag_alias_1m", args: "--model sonnet[1m]"},
		{name: "flag_unknown", args: "--model glm-4.6"},
		{name: "flag_unknown_1m", args: "--model glm-4.6[1m]"},
		{name: "variable_name", env: "ANTHROPIC_MODEL=glm-4.6"},
		{name: "variable_name_1m", env: "ANTHROPIC_MODEL=glm-4.6[1m]"},
		{name: "variable_alias_1m", env: "ANTHROPIC_MODEL=opus[1m]"},
		{name: "variable_and_flag", env: "ANTHROPIC_MODEL=glm-4.6", args: "--model opus"},
		{name: "mapped_default", env: three},
		{name: "mapped_flag", env: three, args: "--model sonnet"},
		{name: "mapped_flag_1m", env: three, args: "--model sonnet[1m]"},
		{name: "mapped_1m_flag", env: "ANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7[1m]", args: "--model sonnet"},
		{name: "mapped_variable", env: three + " ANTHROPIC_MODEL=haiku"},
		{name: "one_mapped_flag", env: sonnet, args: "--model sonnet"},
		{name: "one_mapped_other_flag", env: sonnet, args: "--model haiku"},
		{name: "settings_name_1m", settings: `{"model":"glm-4.6[1m]"}`},
		{name: "settings_alias", env: three, settings: `{"model":"sonnet"}`},
		{name: "settings_alias_1m", settings: `{"model":"opus[1m]"}`},
		{name: "settings_variables", settings: `{"model":"sonnet","env":{` + ofThree + `}}`},
		{name: "file_name", file: `{"model":"glm-4.6"}`},
		{name: "file_alias", env: three, file: `{"model":"sonnet"}`},
		{name: "file_alias_1m", file: `{"model":"opus[1m]"}`},
		{name: "file_variables", file: `{"model":"sonnet","env":{` + ofThree + `}}`},
		{name: "provider_name", provider: `"ANTHROPIC_MODEL":"kimi-k2.5"`},
		{name: "provider_name_1m", provider: `"ANTHROPIC_MODEL":"kimi-k2.5[1m]"`},
		{name: "provider_mapped_flag", provider: ofThree, args: "--model sonnet"},
		{name: "agent", args: "--agent dev"},
		{name: "agent_1m", args: "--agent long"},
		{name: "agent_mapped", env: three, args: "--agent dev"},
		{name: "agent_variable", env: "ANTHROPIC_MODEL=haiku", args: "--agent dev"},
		{name: "agent_settings", settings: `{"model":"haiku"}`, args: "--agent dev"},
		{name: "agent_and_flag", args: "--agent dev --model haiku"},
		{name: "opusplan", args: "--model opusplan"},
		{name: "opusplan_planning", args: "--model opusplan --permission-mode plan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.vars = append(box.vars, strings.Fields(test.env)...)
				for agent, model := range map[string]string{"dev": "sonnet", "long": "sonnet[1m]"} {
					box.write("../work/.claude/agents/"+agent+".md", 0o600,
						"---\nname: "+agent+"\ndescription: works\nmodel: "+model+"\n---\nWork.\n")
				}
				args := []string{"ccc", "--supervisor"}
				if test.provider != "" {
					box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"providers":{"a":{"env":{`+
						`"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"t",%s}}}}`, api.URL, test.provider))
					args = append(args, "a")
				}
				if test.settings != "" {
					box.setSettings(test.settings)
				}
				// As a reviewer prints: text alone has other beta headers (2.1.332).
				args = append(args, "-p", "--output-format", "stream-json", "--verbose")
				if test.file != "" {
					box.write("../work/more.json", 0o600, test.file)
					args = append(args, "--settings", filepath.Join(box.work, "more.json"))
				}
				args = append(args, strings.Fields(test.args)...)
				if got := box.run(60*time.Second, "hello", args...); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 1)
			})
		})
	}
}

// What the user chooses by /model counts from then on, whatever the launch said.
func TestRealClientModelSwitched(t *testing.T) {
	beside(t)
	for _, test := range []struct{ name, args, env, command string }{
		{name: "longer", args: "--model haiku", command: "/model sonnet[1m]"},
		{name: "shorter", args: "--model sonnet[1m]", command: "/model haiku"},
		{name: "from_a_variable", env: "ANTHROPIC_MODEL=haiku", command: "/model opus"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.vars = append(box.vars, strings.Fields(test.env)...)
				tty := box.start(strings.Fields(test.args)...)
				tty.prompt("hello")
				box.awaitVerdicts(1)
				tty.prompt(test.command)
				const asks, answered = "Switch model?", "Set model to"
				tty.waitUntil("an answer", 60*time.Second, func(screen string) bool {
					return strings.Contains(screen, asks) || strings.Contains(screen, answered)
				})
				if strings.Contains(tty.screen(), asks) {
					tty.choose(asks)
				}
				tty.waitFor(answered, 60*time.Second)
				tty.prompt("and now?")
				box.awaitVerdicts(2)
				api.expectSameModel(t, 2)
				agents := api.requests("agent")
				if agents[0].Model == agents[len(agents)-1].Model {
					t.Error("the model is the same: the test shows nothing")
				}
			})
		})
	}
}

// A session that goes on has the model that it had, or the one that it is given; so has the reviewer.
func TestRealClientModelResumed(t *testing.T) {
	beside(t)
	for name, args := range map[string]string{
		"as_it_was": "", "with_another": "--model sonnet[1m]", "compacted": "", "fork_of_compacted": "--fork-session",
	} {
		t.Run(name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				print := []string{"-p", "--output-format", "stream-json", "--verbose"}
				box.run(60*time.Second, "hello", append([]string{"claude", "--model", "haiku"}, print...)...)
				if strings.Contains(name, "compacted") {
					box.run(60*time.Second, "/compact", append([]string{"claude", "--model", "haiku", "--continue"}, print...)...)
				}
				command := slices.Concat([]string{"ccc", "--supervisor", "--"}, print, []string{"--continue"}, strings.Fields(args))
				if got := box.run(60*time.Second, "go on", command...); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 1)
			})
		})
	}
}

// The model is the session's also where no launch of ccc's has seen how it was chosen.
func TestRealClientModelUnsupervised(t *testing.T) {
	beside(t)
	for _, model := range []string{"haiku", "sonnet[1m]"} {
		t.Run(model, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.launch() // the hooks are there
				tty := box.open("claude", "--model", model)
				tty.prompt("/supervisor on")
				tty.prompt("hello")
				box.awaitVerdicts(1)
				if got := box.run(60*time.Second, "", "ccc", "review"); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 2)
			})
		})
	}
}

// The reviewer has what the session was launched with: the --settings, by which a helper of the user's pays, and the --betas.
// No argument of its has what stands in the file, and the file with that goes with it.
func TestRealClientGiven(t *testing.T) {
	answers := script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
	forClients(t, func() script { return answers }, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		box.vars = append(box.vars, "ANTHROPIC_API_KEY=")
		box.write("../work/given.json", 0o600, `{"apiKeyHelper":"echo key-of-the-helper","env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Given: 1"}}`)
		expectRun(t, box, box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "--settings", "given.json", "--betas", "context-1m-2025-08-07", "--", "x"),
			"the answer", verdictAllow)
		for _, r := range slices.Concat(api.requests("agent"), api.requests("review")) {
			expectIs(t, r.Kind+"'s key", r.header("X-Api-Key"), "key-of-the-helper")
			expectIs(t, r.Kind+"'s header", r.header("X-Given"), "1")
			expectIn(t, r.Kind+"'s betas", r.header("Anthropic-Beta"), "context-1m-2025-08-07")
		}
		left, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/running-*"))
		expectIs(t, "what is left", strings.Join(left, " "), "")
	})
}
