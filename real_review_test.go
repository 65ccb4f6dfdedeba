package main

// Reviews on the real Claude Code: prompt cache, tools, evidence, a review by hand, the reviewer's model.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cacheBlocks are what the prompt cache sees of a request, in order: tools, those aside that are loaded
// later, system and messages, without the marks that say where to cache.
func cacheBlocks(t *testing.T, r apiRequest) (blocks []string) {
	t.Helper()
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
			blocks = append(blocks, string(encodeJSON(block)))
		}
	}
	return blocks
}

// share is how much of before, in bytes, after repeats from its start. Each model has a cache of its own.
func share(t *testing.T, before, after apiRequest) float64 {
	t.Helper()
	if before.Model != after.Model {
		return 0
	}
	same, all, repeated := 0, 0, cacheBlocks(t, after)
	for i, block := range cacheBlocks(t, before) {
		if i < len(repeated) && repeated[i] == block && same == all {
			same += len(block)
		}
		all += len(block)
	}
	return float64(same) / float64(all)
}

// servedBy is a reply of which the API says how much of its 100,000 tokens the cache held.
func (r apiReply) servedBy(share float64) apiReply {
	r.tokens, r.fresh = int(share*100_000), int((1-share)*100_000)
	return r
}

// inText gives a verdict in text if the request takes it in no other form.
func (r apiReply) inText(request apiRequest) apiReply {
	if r.tool == "StructuredOutput" && !slices.Contains(request.Tools, r.tool) {
		return replyText("I looked.\n```json\n" + r.input + "\n```")
	}
	return r
}

// ways are those of the reviews of the one session.
func (box *sandbox) ways() (ways []string) {
	for _, r := range endsOf(box.onlyTimeline()) {
		ways = append(ways, r.Way)
	}
	return ways
}

// What a review takes from the prompt cache, in two turns with two reviews each. The conversation becomes
// long before the second: from there on the reviews take the agent's. The API says how much of the agent's
// last request each repeats; where that is too little, as before 2.1.329, whose fork has other tools, one
// review finds out and the later ones have a prompt of their own. The settings begin with a byte order mark.
func TestRealClientCache(t *testing.T) {
	const feedback = "add <tests> & 中文 \"quoted\"\nsecond line"
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		needCopy(t, box)
		var mu sync.Mutex
		agents, reviews, fresh := 0, 0, 0
		var last, review apiRequest // of the agent's, and the first one of the last review
		var parts [][2]float64      // how much of these a review's first request repeats
		box.answering(func(r apiRequest) apiReply {
			mu.Lock()
			defer mu.Unlock()
			if r.Kind == "agent" { // in each turn a tool, an attempt that is sent back, and the answer
				last = r
				turn, n := agents/3, agents%3
				agents++
				attempt := fmt.Sprint("attempt ", turn+1, " ", strings.Repeat("what I did and why. ", 900))
				replies := [...]apiReply{replyTool("Read", `{"file_path":"notes.txt"}`), replyText(attempt),
					replyText(fmt.Sprint("answer ", turn+1))}
				return replies[n].after(turn * cacheLeast)
			}
			replies := [...]apiReply{replyTool("Write", `{"file_path":"reviewer.txt","content":"x"}`),
				bash(tryCommand() + " 'cat notes.txt >reviewer.txt'"),
				replyVerdict(false, feedback), replyVerdict(true, "")}
			n, served := reviews%4, share(t, last, r)
			reviews++
			if n == 0 || n == 3 { // a review begins
				parts = append(parts, [2]float64{served, share(t, review, r)})
				review = r
			}
			reply := replies[n].inText(r).servedBy(served)
			fresh += 10 + reply.fresh
			return reply
		})
		box.setSettings("\ufeff" + `{"permissions":{"allow":["Edit","Write"]},"hooks":{"Stop":[{
			"hooks":[{"type":"command","command":"echo x$CCC_SUPERVISOR_HOOK >>$HOME/user-hooks"}]}]}}`)
		tty := box.start()
		for i := range 2 {
			tty.prompt(fmt.Sprintf("request <%d>", i+1))
			tty.waitFor(fmt.Sprint("answer ", i+1))
			box.awaitVerdicts(2 * (i + 1))
		}
		want := []string{"own", "own", "cache", "cache"}
		isMissed := olderThan(box.client.version, "2.1.329")
		if isMissed {
			want = []string{"own", "own", "cache", "own"}
		}
		expectEqual(t, "the ways", box.ways(), want)
		for i, way := range want {
			isShared := way == "cache" && parts[i][0] > 0.95 || way == "own" && (i == 0 || parts[i][1] > 0.9)
			expectIs(t, fmt.Sprintf("review %d repeats: %.2f", i, parts[i]), isShared || isMissed, true)
		}
		log := box.run(patience, "", "ccc", "log").stdout
		isSaid := strings.Contains(log, "没有命中，之后的审查不再用它")
		expectIs(t, "the log says that the cache did not serve", isSaid, isMissed)
		expectNotIn(t, "the screen", tty.screen(), "cache", "缓存")
		expectNotIn(t, "the agent's system prompt", last.System, billingLine)
		expectIn(t, "what the agent got", box.api.requests("agent")[2].last("user"), ":\n"+feedback)
		asked := box.api.requests("review")
		expectIn(t, "the reviewer's system prompt", asked[0].System, strings.TrimSpace(defaultPrompt.zh))
		expectIn(t, "the second review", asked[3].text(), "request <1>", "assistant: attempt 1",
			"assistant: answer 1", "上次反馈\n"+feedback)
		var used tokens
		for _, r := range endsOf(box.onlyTimeline()) {
			used.add(*r.Tokens)
		}
		expectIs(t, "the tokens", [2]int{used.Input, used.Output}, [2]int{fresh, 5 * reviews})
		box.expectVerdicts(slices.Repeat([]verdict{verdictBlock, verdictAllow}, 2)...)
		runs := slices.Repeat([]string{"cat notes.txt >reviewer.txt → 0"}, 2)
		expectEqual(t, "the reviewer's runs", box.ranCommands(), runs)
		expectIs(t, "the reviewer wrote a file", isThere(filepath.Join(box.work, "reviewer.txt")), false)
		expectIs(t, "the runs of the user's hook", box.read("user-hooks"), strings.Repeat("x\n", 4))
		sessions, _ := filepath.Glob(filepath.Join(box.home, ".claude/projects/*/*-*-*-*-*.jsonl"))
		expectIs(t, fmt.Sprintf("the number of sessions %q", sessions), len(sessions), 1)
	})
}

// The reviewer of a session with an advisor has none, whichever way it is asked, though its fork comes from a
// conversation with advice.
func TestRealClientAdvisor(t *testing.T) {
	const advice = "say it again"
	isAdvised := func(r apiRequest) bool {
		return slices.Contains(r.Tools, "advisor") || bytes.Contains(r.Body, []byte(advice))
	}
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.answering(func(r apiRequest) apiReply {
			if r.Kind == "agent" {
				reply := replyText(strings.Repeat("what I did and why. ", 5000)).after(cacheLeast)
				reply.advice = advice
				return reply
			}
			isLast := strings.Contains(r.request(), "第 2 轮，最多")
			return replyVerdict(isLast, "show the tests").inText(r).servedBy(0) // the cache is missed
		})
		box.vars = append(box.vars, "CLAUDE_CODE_ENABLE_EXPERIMENTAL_ADVISOR_TOOL=1")
		box.run(3*time.Minute, "", box.tried("-p", "hello", "--advisor", "opus", "--model", "sonnet")...)
		expectIs(t, "the agent has an advisor", slices.ContainsFunc(api.requests("agent"), isAdvised), true)
		expectIs(t, "a reviewer has one", slices.ContainsFunc(api.requests("review"), isAdvised), false)
		expectEqual(t, "the ways", box.ways(), []string{"cache", "own"})
	})
}

// The user's MCP servers can't change anything in a review, although a rule of the user's allows it, unless
// allowed_tools names them; nor does the reviewer enter a worktree, or schedule something.
func TestRealClientTools(t *testing.T) {
	calls := []apiReply{replyTool("mcp__x__write", `{}`), replyTool("EnterWorktree", `{"name":"rv"}`),
		replyTool("CronCreate", `{"cron":"*/5 * * * *","prompt":"x","durable":true,"recurring":true}`),
		replyVerdict(true, "")}
	answers := script{reviewer: slices.Repeat(calls, 2)}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		server, _ := filepath.Abs("testdata/mcp")
		const form = `"mcpServers":{"x":{"command":%q,"args":[%q]}},"theme"`
		box.edit(".claude.json", `"theme"`, fmt.Sprintf(form, server, filepath.Join(box.home, "mcp")))
		box.setSettings(`{"permissions":{"allow":["mcp__x"]}}`)
		box.repository()
		box.prints("done", "hello")
		expectIs(t, "all was called", len(api.requests("review")), 4)
		expectIs(t, "what the tool wrote", box.read("mcp.called"), "")
		expectIs(t, "a worktree or a schedule", isThere(filepath.Join(box.work, ".claude")), false)
		started := strings.Count(box.read("mcp.started"), "started")
		expectIs(t, "starts of the server, for the session and not for the review", started, 1)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"allowed_tools":["mcp__x"]}}`)
		box.prints("done", "hello")
		expectIs(t, "an allowed tool ran", box.read("mcp.called") != "", true)
	})
}

// A session that ran without ccc is reviewed by hand: one of -p, and one that is open in a client, which
// goes on.
func TestRealClientReviewByHand(t *testing.T) {
	approved := replyVerdict(true, "")
	answers := script{reviewer: []apiReply{approved, approved, replyVerdict(false, "no")}}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		review := func(code int, prompt string, args ...string) {
			t.Helper()
			got := box.run(3*time.Minute, "", append([]string{"ccc", "review"}, args...)...)
			expectIs(t, fmt.Sprintf("the exit code of %+v", got), got.code, code)
			expectIn(t, "stderr", got.stderr, prompt)
			expectIn(t, "the request", api.lastReview(t), prompt)
		}
		expectIs(t, "claude", box.run(3*time.Minute, "", "claude", "-p", "fix the bug").stdout, "done\n")
		review(0, "fix the bug")
		paths, _ := filepath.Glob(box.home + "/.claude/projects/*/*.jsonl")
		id := strings.TrimSuffix(filepath.Base(paths[0]), ".jsonl")
		box.write(".claude/projects/copied/"+id+".jsonl", 0o600, box.transcripts()) // it lies in two projects
		review(0, "fix the bug", id[:8])
		tty := box.open("claude")
		tty.prompt("another task")
		tty.waitUntil("the transcript tells of it", func(string) bool {
			return strings.Count(box.transcripts(), `"text":"done"`) > 2 // of the first one there are two
		})
		review(1, "another task")
		tty.prompt("go on")
		tty.waitUntil("the session goes on", func(screen string) bool {
			return strings.Count(screen, "done") > 1
		})
		expectNotIn(t, "settings.json", box.settings(), "hooks")
	})
}

// asked is what tells one model from another at the API: its name and the beta headers that come with it.
// Left out are those of a permission mode (plan, auto) and of a terminal (how thinking is shown), which a
// reviewer does not have.
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
			expectIs(t, "the reviewer's model", r.asked(), agents)
		}
	}
	expectIs(t, "the reviews", reviews, n)
}

// asStream prints as a reviewer does: text alone has other beta headers (2.1.332).
var asStream = []string{"-p", "--output-format", "stream-json", "--verbose"}

// The reviewer has the session's model, and its long context, by whichever way the session has them, also
// where it goes on.
func TestRealClientModel(t *testing.T) {
	const three = "ANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7 ANTHROPIC_DEFAULT_OPUS_MODEL=glm-5 " +
		"ANTHROPIC_DEFAULT_HAIKU_MODEL=glm-4.5-air"
	const sonnet = `{"model":"sonnet","env":{"ANTHROPIC_DEFAULT_OPUS_MODEL":"glm-5"}}`
	for _, test := range []struct{ name, args, env, settings, resumes string }{
		{name: "default"},
		{name: "variable_and_flag", env: "ANTHROPIC_MODEL=glm-4.6", args: "--model opus"},
		{name: "mapped_flag_1m", env: three, args: "--model sonnet[1m]"},
		{name: "settings_and_flag_1m", settings: sonnet, args: `--settings {"model":"opus[1m]"}`},
		{name: "name_1m", env: "ANTHROPIC_MODEL=kimi-k2.5[1m]"},
		{name: "opusplan_planning", args: "--model opusplan --permission-mode plan"},
		{name: "resumed_with_agent_1m", resumes: "hello", args: "--continue --agent long"},
		{name: "forked_compacted", resumes: "hello /compact", args: "--continue --fork-session"},
	} {
		forRow(t, test.name, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
			box.vars = append(box.vars, strings.Fields(test.env)...)
			box.setSettings(cmp.Or(test.settings, noFile))
			box.write("../work/.claude/agents/long.md", 0o600,
				"---\nname: long\ndescription: works\nmodel: sonnet[1m]\n---\nWork.\n")
			for i, prompt := range strings.Fields(test.resumes) {
				before := append([]string{"claude", "--model", "haiku"}, asStream...)
				box.run(3*time.Minute, prompt, append(before, []string{"--continue"}[:i]...)...)
			}
			command := box.tried(append(asStream, strings.Fields(test.args)...)...)
			expectIs(t, "the exit code", box.run(3*time.Minute, "hello", command...).code, 0)
			api.expectSameModel(t, 1)
		})
	}
}

// What the user chooses by /model counts from then on, whatever the launch said, also in a session that no
// launch of ccc's has seen, and for a review by hand.
func TestRealClientModelSwitched(t *testing.T) {
	const launched, plain = "ccc --supervisor --model sonnet[1m]", "claude --model haiku"
	for command, then := range map[string]string{launched: "haiku", plain: "sonnet[1m]"} {
		forRow(t, then, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
			if command == plain {
				box.prepare()
			}
			tty := box.open(strings.Fields(command)...)
			if command == plain {
				tty.prompt("/supervisor on")
			}
			tty.prompt("hello")
			box.awaitVerdicts(1)
			tty.prompt("/model " + then)
			const asks, answered = "Switch model?", "Set model to"
			tty.waitUntil("an answer", func(screen string) bool {
				return strings.Contains(screen, asks) || strings.Contains(screen, answered)
			})
			if strings.Contains(tty.screen(), asks) {
				tty.choose(asks)
			}
			tty.waitFor(answered)
			tty.prompt("and now?")
			box.awaitVerdicts(2)
			expectIs(t, "ccc review", box.run(3*time.Minute, "", "ccc", "review").code, 0)
			api.expectSameModel(t, 3)
			agents := api.requests("agent")
			expectIs(t, "the model is the same", agents[0].Model == agents[len(agents)-1].Model, false)
		})
	}
}

// The reviewer has what the session was launched with: its directories, the --settings, by which a helper
// of the user's pays, and the --betas. After EnterWorktree it stands in the worktree, and finds the session
// where the agent has then changed its directory.
func TestRealClientGiven(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		box.write("../other/far.txt", 0o600, "far away\n")
		other := filepath.Join(filepath.Dir(box.home), "other")
		read := replyTool("Read", fmt.Sprintf(`{"file_path":%q}`, other+"/far.txt"))
		api := newScriptedAPI(t, script{reviewer: []apiReply{read, bash("ls"), replyVerdict(true, "")},
			agent: []apiReply{replyTool("EnterWorktree", `{"name":"feature"}`), bash("echo new >new.txt"),
				bash("mkdir -p sub/dir && cd sub/dir && pwd"), replyText("done")}})
		box.use(api)
		box.repository()
		box.vars = append(box.vars, "ANTHROPIC_API_KEY=")
		box.write("../work/given.json", 0o600,
			`{"apiKeyHelper":"echo key-of-the-helper","env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Given: 1"}}`)
		box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"pwd >>$HOME/cwd"}]}]}}`)
		box.prints("done", "x", bypass, "--add-dir", other, "--settings", "given.json",
			"--betas", "context-1m-2025-08-07")
		box.expectVerdicts(verdictAllow)
		worktree := filepath.Join(box.work, ".claude/worktrees/feature")
		expectIn(t, "the request", api.lastReview(t), "worktree 里工作："+worktree, "\nA new.txt\n")
		reviews := api.requests("review")
		expectIn(t, "what the reviewer read", reviews[1].last("user"), "far away")
		expectIn(t, "what the reviewer lists", reviews[2].last("user"), "new.txt")
		expectIn(t, "where hooks run, else the test shows nothing", box.read("cwd"), "/sub/dir")
		for _, r := range slices.Concat(api.requests("agent"), reviews) {
			expectIs(t, r.Kind+"'s key", r.header("X-Api-Key"), "key-of-the-helper")
			expectIs(t, r.Kind+"'s header", r.header("X-Given"), "1")
			expectIn(t, r.Kind+"'s betas", r.header("Anthropic-Beta"), "context-1m-2025-08-07")
		}
		left, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/running-*"))
		expectIs(t, "what is left", strings.Join(left, " "), "")
	})
}
