package main

// What a reviewer of the real Claude Code says, and what is made of it.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A reviewer that Claude Code wakes because what it has started has ended: with words it takes its verdict back
// in no way, and a verdict that it gives only then counts. The request asks for none before.
func TestRealClientReviewerWoken(t *testing.T) {
	beside(t)
	const refusal = `{"allow_stop": false, "feedback": "fix the race"}`
	const approval = `{"allow_stop": true, "feedback": ""}`
	const noted, waiting = "Noted. My verdict stands.", "I wait for it."
	for _, play := range []struct {
		name, starts string
		withCache    bool
		says, woken  string // JSON of a verdict, or words
		want         string
	}{
		{"refused", "subagent", false, refusal, noted, "block allow"},
		{"approved", "subagent", false, approval, noted, "allow"},
		{"refused with the cache", "subagent", true, refusal, noted, "block allow"},
		{"approved with the cache", "subagent", true, approval, noted, "allow"},
		{"waited", "subagent", true, waiting, refusal, "block allow"},
		{"waited for a command", "command", true, waiting, refusal, "block allow"},
	} {
		t.Run(play.name, func(t *testing.T) {
			forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				say := func(text string) apiReply {
					if strings.HasPrefix(text, "{") && !play.withCache {
						return replyTool("StructuredOutput", text)
					}
					return replyText(text)
				}
				start := func(r apiRequest) apiReply {
					if play.starts == "command" {
						return replyTool("Bash", `{"command":"cat notes.txt; sleep 2","description":"test",`+
							`"run_in_background":true}`)
					}
					tool := "Task"
					if slices.Contains(r.Tools, "Agent") {
						tool = "Agent"
					}
					return replyTool(tool, `{"description":"look","prompt":"be a subagent",`+
						`"subagent_type":"general-purpose","run_in_background":true}`)
				}
				api := newAnsweringAPI(t, verdictForm.zh, func(r apiRequest) apiReply {
					switch last := r.last("user"); {
					case strings.Contains(last, "be a subagent"):
						return apiReply{text: "I found nothing.", takes: time.Second}
					case r.Kind != "review" && play.withCache:
						return replyText("done").after(cacheLeast)
					case r.Kind != "review":
						return replyText("done")
					case strings.Contains(r.request(), "第 2 轮，最多"):
						return say(approval)
					case strings.Contains(last, "task-notification"),
						strings.Contains(last, "structured-output-enforce"):
						return say(play.woken)
					case strings.Contains(last, "## "):
						return start(r)
					}
					return say(play.says)
				})
				box.use(api)
				got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				expectIs(t, "the answer", strings.TrimSpace(got.stdout), "done")
				expectEqual(t, "the sessions", box.supervised(), []string{"hello: " + play.want})
				if strings.HasPrefix(play.want, "block") {
					agent := api.requests("agent")
					feedback := agent[len(agent)-1].last("user")
					expectIn(t, "what the agent got", feedback, "Stop hook feedback:\nfix the race")
				}
				expectIn(t, "the request", api.lastReview(t), "都结束了，再给判定")
			})
		})
	}
}

// A reviewer that goes on to give no verdict: the agent gets its words twice, or the default feedback once where
// there are none. Then there is no review.
func TestRealClientFormless(t *testing.T) {
	beside(t)
	const words, instead = "TestNext panics.", "请继续完成任务"
	for _, play := range []struct {
		name      string
		withCache bool
		says      apiReply // again and again
		agent     []string // what it gets
	}{
		{"words", false, replyText(words), []string{words, words}},
		{"words with the cache", true, replyText(words), []string{words, words}},
		{"nothing", false, replyNothing(), []string{instead}},
		{"thoughts with the cache", true, replyThinking("Is it done?"), []string{instead}},
		{"a placeholder with the cache", true, replyText("(no content)"), []string{instead}},
	} {
		t.Run(play.name, func(t *testing.T) {
			forClients(t, func() script {
				agent, reviewer := []apiReply{replyText("done")}, []apiReply{play.says}
				if play.withCache {
					agent[0] = agent[0].after(cacheLeast)
				}
				return script{marker: verdictForm.zh, agent: agent, reviewer: reviewer}
			}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "hello")
				blocked := slices.Repeat([]verdict{verdictBlock}, len(play.agent))
				expectRun(t, box, got, "done", append(blocked, verdictFailed)...)
				var feedback []string
				for _, r := range api.requests("agent") {
					_, text, isFeedback := strings.Cut(r.last("user"), "Stop hook feedback:\n")
					if isFeedback {
						feedback = append(feedback, strings.TrimSpace(strings.Split(text, "\n")[0]))
					}
				}
				expectEqual(t, "what the agent got", feedback, play.agent)
				why := ""
				for _, r := range endsOf(box.onlyTimeline()) {
					why += r.Error
				}
				expectIn(t, "the reason", why, "次没有给出判定")
				expectIs(t, "the first way", endsOf(box.onlyTimeline())[0].Way == "cache", play.withCache)
			})
		})
	}
}

// Of a model that Claude Code does not know no cost is recorded or shown, and what it says of the model is no
// part of the reason why a review failed.
func TestRealClientUnknownModel(t *testing.T) {
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		api := box.answering(byIteration(func(apiRequest) apiReply { return replyText("done") },
			replyVerdict(false, "not yet"), replyError(400, "invalid_request_error", "planted")))
		box.vars = append(box.vars, "ANTHROPIC_MODEL=glm-4.7")
		got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		expectRun(t, box, got, "done", verdictBlock, verdictFailed)
		for _, r := range api.requests("review") {
			expectIs(t, "the reviewer's model", r.Model, "glm-4.7")
		}
		for _, r := range endsOf(box.onlyTimeline()) {
			if r.Verdict == verdictFailed && !strings.HasSuffix(r.Error, "planted") {
				t.Errorf("the reason is %q", r.Error)
			}
			if r.CostUSD != 0 || r.Verdict == verdictBlock && r.Tokens.Input == 0 {
				t.Errorf("$%v, %+v", r.CostUSD, r.Tokens)
			}
		}
		ids, err := box.stateDir().sessions()
		check(t, err)
		const prompted = `{"session_id":%q,"hook_event_name":"UserPromptSubmit","prompt":"/supervisor"}`
		event := fmt.Sprintf(prompted, ids[0])
		for _, view := range []string{"status", "log", "verdict", "supervisor-hook"} {
			got := box.run(20*time.Second, event, "ccc", view)
			expectNotIn(t, view, got.stdout+got.stderr, "$", "claude-code:")
			expectIs(t, view+" shows something", got.stdout+got.stderr != "", true)
		}
		expectNotIn(t, "the log for programs", box.run(20*time.Second, "", "ccc", "log", "--json").stdout, "cost_usd")
		expectIn(t, "the status for programs", box.run(20*time.Second, "", "ccc", "status", "--json").stdout, `"cost_usd":0,`)
		expectNotIn(t, "the log", box.log(), "cost_usd", "claude-code:")
	})
}

// What a reviewer read is a file that was there, and no list of tools or skill: a verdict that rests on less
// says so.
func TestRealClientRead(t *testing.T) {
	calls := []apiReply{replyTool("Read", `{"file_path":"missing.txt"}`), // one in each review
		replyTool("Skill", `{"skill":"none-of-these"}`),
		replyTool("ToolSearch", `{"query":"select:WebFetch","max_results":1}`),
		replyTool("Read", `{"file_path":"notes.txt"}`)}
	forClients(t, nil, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			if r.Kind != "review" {
				return replyText("done")
			}
			for i, call := range calls {
				if strings.Contains(r.request(), fmt.Sprintf("第 %d 轮，最多", i+1)) && stepsOf(r) == 0 {
					return call
				}
			}
			return replyVerdict(strings.Contains(r.request(), fmt.Sprintf("第 %d 轮", len(calls))), "not yet")
		})
		got := box.run(120*time.Second, "", "ccc", "--supervisor", "-p", "hello")
		expectRun(t, box, got, "done", verdictBlock, verdictBlock, verdictBlock, verdictAllow)
		state := box.stateDir()
		ids, _ := state.sessions()
		past, err := state.session(ids[0]).readHistory()
		check(t, err)
		for i, r := range past.Reviews { // older clients refuse the third call: they have no such tool
			basis := r.verdictBasis()
			if (basis == receiptRead.zh) != (i == 3) || i < 2 && basis != receiptNothing.zh {
				t.Errorf("review %d: %q, %q", i+1, basis, r.did.Tools)
			}
		}
		log := box.run(20*time.Second, "", "ccc", "log").stdout
		expectIn(t, "ccc log", log, "查看 notes.txt")
		expectNotIn(t, "ccc log", log, "missing.txt", "none-of-these")
	})
}
