package main

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
		expect("与改动开始时工作区里的内容相比", "A fresh.txt\nM notes.txt\n```", "\n+more\n", "\n+new\n")
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
