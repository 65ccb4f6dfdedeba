package main

// Stops, questions and switches on the real Claude Code: what the contract claims about the client is seen
// here, in the requests that reach the scripted API. The stand-in of the other tests proves none of it.

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Ten rejections in a row are the default limit of a launched session: the client itself would end the turn
// after eight, as it does in a session that ccc did not launch. There, too, the turn ends by ccc's limit,
// and not by force.
func TestRealClientLimit(t *testing.T) {
	answers := script{reviewer: []apiReply{replyVerdict(false, "not yet")}}
	for i := range 20 {
		answers.agent = append(answers.agent, replyText(fmt.Sprint("answer ", i+1)))
	}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.prints("answer 11", "launched")
		claude := append([]string{"claude"}, asStream...)
		plain := box.run(2*patience, "/supervisor the plain one", claude...).stdout
		want := []string{"launched:" + strings.Repeat(" block", 10) + " limit",
			"the plain one:" + strings.Repeat(" block", 8) + " limit"}
		expectEqual(t, "the verdicts", box.supervised(), want)
		expectIn(t, "the plain one", plain, `"result":"answer 20"`)
		expectNotIn(t, "the plain one", plain, "blocked the turn from ending")
	})
}

// The reviewer decides a question for the user, or leaves it to the user.
func TestRealClientQuestion(t *testing.T) {
	const answered = "审查者（不是你）回答了Agent的提问：Whichdatabase?-SQLite-Postgres" +
		"它的回答：decideyourself:SQLiteisenough提问审查1/10：退回"
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		shown := make(chan bool)
		api := box.answering(func(r apiRequest) apiReply {
			switch last := r.last("user"); {
			case r.Kind != "review" && strings.HasPrefix(last[strings.LastIndex(last, "\n")+1:], "to be "):
				return replyTool(askUserQuestion, question)
			case !strings.Contains(r.request(), "问题还没有显示给用户"):
				return usualReply(r)
			case strings.Contains(r.request(), "to be allowed"):
				return replyVerdict(true, "back it up")
			}
			<-shown
			return replyVerdict(false, "decide yourself: SQLite is enough")
		})
		tty := box.start()
		tty.prompt("to be refused")
		tty.waitFor(reviewingQuestion.zh)
		close(shown)
		box.awaitVerdicts(2) // of the question, and of the stop
		tty.waitFor(answered)
		expectNotIn(t, "the screen", tty.screen(), "one file")
		expectIn(t, "the screen", tty.screen(), "不同意：按 Esc，再输入你的回答")
		tty.prompt("to be allowed")
		tty.choose("one file")
		box.awaitVerdicts(4)
		tty.waitFor("审查者给你的留言：back it up")
		box.expectVerdicts(verdictBlock, verdictAllow, verdictAllow, verdictAllow)
		text := api.requests("review")[0].last("user")
		expectIn(t, "the request", text, "Which database?", "SQLite", "one file", "Postgres", "a server")
		got := api.requests("agent")[1].last("user")
		expectIn(t, "what the agent got", got, "decide yourself: SQLite is enough")
		expectNotIn(t, "what the agent got", got, "不是你")
	})
}

// awaitHook waits until the reviewer's Bash command runs and returns the pid of the hook that waits for the
// review.
func (box *sandbox) awaitHook() (pid int) {
	box.t.Helper()
	isHook := regexp.MustCompile(`(?m)^(\d+) \S+ supervisor-hook$`)
	awaits(box.t, "a review that runs", func() bool {
		list := strings.Join(box.processes(), "\n")
		if hook := isHook.FindStringSubmatch(list); hook != nil {
			pid, _ = strconv.Atoi(hook[1])
		}
		return pid != 0 && strings.Contains(list, "sleep 300") && strings.Contains(list, "sleep 301")
	})
	return pid
}

// However a review ends before its verdict, nothing of it is left within a second, and the agent, if it is
// still there, stops. Esc sends SIGTERM. The reviewer is in the middle of a Bash command, with one process in
// the background that left its process group and ignores SIGTERM.
func TestRealClientInterrupted(t *testing.T) {
	const command = `(trap '' TERM; setsid sh -c 'trap "" TERM; sleep 301' & ) ; sleep 300`
	hangs := replyTool("Bash", fmt.Sprintf(`{"command":%q,"timeout":400000}`, command))
	answers := script{reviewer: []apiReply{hangs, replyVerdict(true, ""), hangs}}
	forClients(t, answers, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		box.setSettings(`{"permissions":{"allow":["Bash"]}}`)
		expectGone := func(within time.Duration, parts string) {
			t.Helper()
			left := box.gone(within, regexp.MustCompile(parts).MatchString)
			expectEqual(t, fmt.Sprintf("alive %v later", within), left, nil)
		}
		awaitCancelled := func(n int) {
			t.Helper()
			awaits(t, "a cancelled review", func() bool {
				status := box.run(patience, "", "ccc", "status", "--json").stdout
				return strings.Count(status, `"verdict":"cancelled"`) == n
			})
		}
		tty := box.start()
		tty.prompt("hello")
		box.awaitHook()
		tty.waitFor("[SUPERVISOR] 正在审查工作")
		tty.keys("Escape")
		expectGone(3*soon(), "--fork-session|sleep 30") // Claude Code takes some time for the key
		tty.waitFor("done")
		awaitCancelled(1)
		tty.prompt("once more") // which says so
		tty.waitFor(earlierCancelled.zh)
		box.awaitVerdicts(2)
		box.expectVerdicts(verdictCancelled, verdictAllow)
		tty.prompt("and killed")
		box.awaitHook()
		client, _ := strconv.Atoi(strings.TrimSpace(tty.tmux("list-panes", "-F", "#{pane_pid}").stdout))
		syscall.Kill(client, syscall.SIGKILL)
		expectGone(2*soon(), "--fork-session|sleep 30")
		awaitCancelled(1)
		// If its hook is killed the reviewer ends, and what it put into the background outlives it.
		done := make(chan commandResult, 1)
		go func() { done <- box.run(patience, "", box.tried("-p", "hello")...) }()
		syscall.Kill(box.awaitHook(), syscall.SIGKILL)
		expectGone(patience, "--fork-session|sleep 300")
		expectIs(t, "the answer", (<-done).stdout, "done\n")
		awaitCancelled(2)
		box.kill()
	})
}

// A reviewer that writes its verdict as text, in the place of the schema's, or none: the agent gets its
// words, or the default feedback where there are none, and never an approval that can't be read. Then there
// is no review.
func TestRealClientVerdictInText(t *testing.T) {
	const notYet = "I do not say [TASK_COMPLETED] yet."
	const refusal = "It fails.\n```json\n{\"allowStop\": false, \"feedback\": \"fix the race\"}\n```"
	const approval = "It passes now.\n```json\n{\"allow_stop\": true, \"feedback\": \"\"}\n```"
	asked := []rule{toReviewer("第 3 轮，最多", replyText(approval)),
		toReviewer("第 2 轮，最多", replyText(refusal)), toReviewer("", replyText(notYet))}
	other := []rule{toReviewer("", replyTool("StructuredOutput", `{"x":1}`))}
	thinks := []rule{toReviewer("", apiReply{text: "Done yet?", thinks: true})}
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		for _, play := range []struct {
			name, verdicts string
			says           []rule
			agent          []string // what it gets after each
		}{
			{"as asked", "block block allow", asked, []string{notYet, "fix the race"}},
			{"another schema", "failed", other, nil},
			{"thoughts", "block failed", thinks, []string{defaultFeedback.zh}},
		} {
			api := box.by(play.says...)
			box.prints("done", play.name)
			expectIs(t, play.name, slices.Contains(box.supervised(), play.name+": "+play.verdicts), true)
			var got []string
			for _, r := range api.requests("agent")[1:] {
				_, feedback, _ := strings.Cut(r.last("user"), "Stop hook feedback:\n")
				feedback, _, _ = strings.Cut(feedback, "\n</system-reminder>")
				got = append(got, strings.TrimSpace(feedback))
			}
			expectEqual(t, play.name+": what the agent got", got, play.agent)
		}
	})
}

// What a review leaves to the user, a failure and the limit are shown to the user, once, in the session, at
// 80 columns with each sentence on a line of its own. The next request is reviewed again.
func TestRealClientShown(t *testing.T) {
	rows := strings.Split(`says: [SUPERVISOR] 本会话受监督
每项要求最多审查 1 次
实时查看：ccc log -f
says: [SUPERVISOR] 这次审查未完成，Agent 的工作未经检查。
登录或密钥没有被接受：请运行 /login，或检查环境变量里的密钥；
然后发一条“继续”
says: [SUPERVISOR] 这项要求的 1 次审查已用完，这次停下没有再审。
你再发消息会重新计数。
上次的反馈还没有解决：not yet`, "\n")
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		box.by(toReviewer("fourth request", replyVerdict(true, "and push it")),
			toReviewer("third request", replyVerdict(false, "not yet")),
			toReviewer("second request", replyError(401, "authentication_error", "the key is gone")),
			toReviewer("", replyVerdict(true, "rotate the key yourself")))
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		tty := box.start()
		tty.tmux("resize-window", "-x", "80", "-y", "60")
		for _, turn := range [][]string{{"first request", "本会话受监督", "rotate the key yourself"},
			{"second request", "这次审查未完成", "the key is gone"}, {"third request", "审查已用完"},
			{"fourth request", "and push it"}} {
			tty.prompt(turn[0])
			for _, text := range turn[1:] {
				tty.waitFor(text)
			}
		}
		shown := tty.tmux("capture-pane", "-p").stdout
		for _, row := range rows {
			isRow := regexp.MustCompile("(?m)(^| )" + regexp.QuoteMeta(row) + " *$").MatchString(shown)
			expectIs(t, "a row has just "+row+":\n"+shown, isRow, true)
		}
		expectIs(t, "how often it is introduced", strings.Count(unspaced(shown), "本会话受监督"), 1)
		expectNotIn(t, "the screen", unspaced(shown), "上次审查未完成", "上次审查已取消")
		box.expectVerdicts(verdictAllow, verdictFailed, verdictBlock, verdictLimit, verdictAllow)
	})
}

// loggedPrompts are the user's prompts in the timeline of the one session.
func (box *sandbox) loggedPrompts() (prompts []string) {
	box.t.Helper()
	for _, r := range box.onlyTimeline() {
		if r.Prompt != nil {
			prompts = append(prompts, r.Prompt.Text)
		}
	}
	return prompts
}

// Beside a goal (/goal), which blocks each stop, too, both are asked at each stop. A stop that either
// blocks counts once for Claude Code, which ends the turn after max_iterations of them; a review that only
// the goal overrules is an approval, and the count begins anew.
func TestRealClientGoal(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		api := box.by(toReviewer("refused", replyVerdict(false, "not yet")))
		api.aside = replyText(`{"ok": false, "reason": "notes.txt lacks it"}`)
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
		tty := box.start()
		tty.tmux("resize-window", "-x", "120", "-y", "100") // the first cap has to stay on the screen
		verdicts := slices.Repeat([]verdict{verdictAllow}, 3)
		for i, prompt := range []string{"/goal notes.txt says done", "to be refused"} {
			tty.prompt(prompt)
			tty.waitUntil("the cap", func(screen string) bool {
				return strings.Count(screen, "A hook blocked the turn from ending 3 consecutive times") > i
			})
			box.expectVerdicts(verdicts...)
			verdicts = append(verdicts, verdictBlock, verdictBlock, verdictLimit)
		}
		feedback := strings.Count(strings.Join(api.agentsUserTexts(), "\n"), "notes.txt lacks it")
		expectIs(t, "the agent got what the goal lacks", feedback > 4, true)
	})
}

// A stop at which subagents work is not reviewed yet: that of their end is, of one, of one that fails or that
// the user stops, and not after a message of one, or if one is resumed under its old id.
func TestRealClientSubagents(t *testing.T) {
	agentID := regexp.MustCompile(`agentId: (\w+)`)
	waits := func(name string) apiReply {
		return bash("until [ -e end-" + name + " ]; do sleep 0.1; done; echo ends: " + name)
	}
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		box.answering(func(r apiRequest) apiReply {
			last := r.last("user")
			_, name, isStart := strings.Cut(last[strings.LastIndex(last, "\n")+1:], "start ")
			says := func(text string) bool { return strings.Contains(last, text) }
			switch isMessenger := strings.Contains(r.Messages[0].Text, "be the subagent m"); {
			case r.Kind == "review":
				return replyVerdict(true, "")
			case isMessenger && says("ends: m1"):
				return replyText("there is a bug")
			case isMessenger && says("ends: m2"):
				return replyText("the fix is there")
			case isMessenger && says("ends: m"):
				return replyTool("SendMessage", `{"to":"main","summary":"half","message":"half is done"}`)
			case isMessenger && says("once more"):
				return waits("m2")
			case isMessenger && !says("be the subagent") && !says("ends: "):
				return waits("m1")
			case says("there is a bug"):
				const message = `{"to":%q,"summary":"fix it","message":"once more"}`
				return replyTool("SendMessage", fmt.Sprintf(message, agentID.FindStringSubmatch(r.text())[1]))
			case says("ends: f") && !says("task-notification"):
				return replyError(400, "invalid_request_error", "it fails")
			case says("be the subagent "):
				_, name, _ := strings.Cut(last, "be the subagent ")
				return waits(name[:1])
			case isStart:
				return r.delegates("be the subagent " + name)
			}
			return replyText("my words")
		})
		tty := box.start(bypass)
		deferrals, verdicts := 0, 0
		expect := func(what string, moreDeferrals, moreVerdicts int) {
			t.Helper()
			deferrals += moreDeferrals
			verdicts += moreVerdicts
			tty.waitUntil(what, func(string) bool {
				return strings.Count(box.log(), " stop not reviewed ") == deferrals &&
					strings.Count(box.log(), " review ended ") == verdicts
			})
		}
		ends := func(name string) { box.write("../work/end-"+name, 0o600, "") }
		tty.prompt("start m")
		expect("one", 1, 0)
		tty.waitFor("这次停下先不审查")
		ends("m")
		expect("its message", 1, 0)
		ends("m1")
		expect("it is resumed", 1, 0)
		ends("m2")
		expect("its end", 0, 1)
		expectEqual(t, "the prompts", box.loggedPrompts(), []string{"start m"})
		tty.prompt("start f")
		expect("one that fails", 1, 0)
		ends("f")
		expect("its end", 0, 1)
		tty.prompt("start g")
		expect("one that the user stops", 1, 0)
		tty.keys("C-x", "C-k")
		tty.waitUntil("its end", func(screen string) bool {
			if strings.Contains(screen, "again to stop") {
				tty.keys("C-x", "C-k")
			}
			return strings.Count(box.log(), " review ended ") == verdicts+1
		})
	})
}

// isIdle tells that the client does not work.
func isIdle(screen string) bool { return !strings.Contains(screen, "esc to interrupt") }

// submits types the prompt and waits for the answer, for that many reviews of the sandbox, and for an idle
// client.
func (tty *terminal) submits(prompt, answer string, reviews int) {
	tty.box.t.Helper()
	tty.prompt(prompt)
	tty.waitFor(answer)
	if reviews > 0 {
		tty.box.api.await(tty.box.t, "review", reviews)
	}
	tty.waitUntil("an idle client", isIdle)
	expectIs(tty.box.t, prompt, tty.box.reviewed(), reviews)
}

// clears types /clear and waits until what is shown is gone.
func (tty *terminal) clears(shown string) {
	tty.prompt("/clear")
	isGone := func(screen string) bool { return !strings.Contains(screen, shown) }
	tty.waitUntil("an empty conversation", isGone)
}

// switchesOff has the user type /supervisor off in a second client of the session.
func (box *sandbox) switchesOff(session string) {
	box.t.Helper()
	got := box.run(3*time.Minute, "", "claude", "-p", "--resume", session, "/supervisor off")
	expectIn(box.t, "/supervisor off in a second client", got.stdout, "监督已关闭")
}

// onlySession returns the id of the only session that ccc knows.
func (box *sandbox) onlySession() string {
	box.t.Helper()
	ids, err := box.stateDir().sessions()
	check(box.t, err)
	expectIs(box.t, "the number of sessions", len(ids), 1)
	return ids[0]
}

// A switch is of one of the sessions that a client runs: A is switched off, B in the same client, by
// /resume, is reviewed, and ccc status shows both. In a client that was not launched /clear ends what was
// switched on. A session says that it is supervised before the first prompt, after /clear and as a fork, and
// the model gets nothing of it, nor of a switch.
func TestRealClientSwitchOfOne(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		var api *scriptedAPI
		api = box.answering(func(r apiRequest) apiReply {
			if r.Kind == "review" {
				return usualReply(r)
			}
			return replyText(fmt.Sprint("answer ", len(api.requests("agent"))))
		})
		tty := box.start()
		tty.waitFor("SessionStart:startup says: [SUPERVISOR] 本会话受监督")
		tty.submits("/supervisor do the words of B", "answer 1", 1)
		b := box.onlySession()
		tty.clears("answer 1")
		tty.waitFor("SessionStart:clear says: [SUPERVISOR] 本会话受监督")
		tty.submits("the words of A", "answer 2", 2)
		ids, _ := box.stateDir().sessions()
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == b })
		expectIs(t, "the number of the others", len(ids), 1)
		box.switchesOff(ids[0])
		tty.submits("more of A", "answer 3", 2)
		tty.prompt("/resume " + b)
		tty.waitUntil("B's conversation", func(screen string) bool {
			return strings.Contains(screen, "answer 1") && !strings.Contains(screen, "answer 3")
		})
		tty.submits("more of B", "answer 4", 3)
		expectIs(t, "A's mode", box.modeOf(ids[0]), modeOff)
		expectIs(t, "B's mode", box.modeOf(b), modeOn)
		plain := box.open("claude")
		plain.submits("before the switch", "answer 5", 3)
		plain.submits("/supervisor on", "只对本会话有效", 3)
		plain.submits("reviewed", "answer 6", 4)
		requests := []string{"before the switch", "reviewed"}
		expectEqual(t, "the requests", listedRequests(t, api.lastReview(t)), requests)
		plain.clears("answer 6")
		plain.submits("not reviewed", "answer 7", 4)
		fork := box.start("--resume", b, "--fork-session")
		fork.waitFor("SessionStart:fork says: [SUPERVISOR] 本会话受监督")
		fork.submits("more", "answer 8", 5)
		for _, r := range api.requests("") {
			expectNotIn(t, "a request", r.text(), "本会话受监督")
		}
	})
}

// The budget is for all reviews of a request, and what the agent itself has cost does not count. One that
// its budget ends is the limit. 2.1.280 tells no cost of a review, and the session's first line says so.
func TestRealClientBudget(t *testing.T) {
	answer, dear := replyText("an answer"), replyTool("Read", `{"file_path":"notes.txt"}`)
	answer.out = 100000 // two dollars
	dear.out = 100000
	answers := script{agent: []apiReply{answer},
		reviewer: []apiReply{replyVerdict(false, "not yet"), dear, replyVerdict(false, "too late")}}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_budget_usd":1}}`)
		box.run(2*patience, "", box.tried("-p", "do it")...)
		expectEqual(t, "the verdicts", box.supervised(), []string{"do it: block limit"})
		last := lastReview(t, box.onlyTimeline())
		expectIs(t, "the budget that is used up", last.Error, fmt.Sprintf(budgetUsed.zh, 1.0))
		expectIs(t, "the last feedback", last.Feedback, "not yet")
	})
}

// /supervisor is heeded while it waits in the queue: off while the agent works, and while it is reviewed.
func TestRealClientQueuedSwitch(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
		var isHeld atomic.Bool
		defer isHeld.Store(false)
		box.answering(func(r apiRequest) apiReply {
			switch {
			case r.Kind == "review":
				for isHeld.Load() {
					time.Sleep(10 * time.Millisecond)
				}
				return replyVerdict(false, "not yet")
			case strings.Contains(r.last("user"), "work"):
				return bash("until [ -e worked ]; do sleep 0.1; done; echo done")
			}
			return replyText("done")
		})
		tty := box.start(bypass)
		shows := func(text string, times int) {
			t.Helper()
			tty.waitUntil(text, func(screen string) bool { return strings.Count(screen, text) == times })
		}
		typed := func(words string) {
			t.Helper()
			tty.enter(words)
			await(t, box.transcripts, `"content":"`+words+`"`)
		}
		tty.prompt("work")
		tty.waitFor("until")
		typed("/supervisor off")
		box.write("../work/worked", 0o600, "")
		shows("监督已关闭", 1)
		expectIs(t, "the reviews", box.reviewed(), 0)
		tty.prompt("/supervisor on")
		shows("监督已打开", 1)
		isHeld.Store(true)
		tty.prompt("hello")
		tty.waitUntil("a review", func(string) bool { return box.reviewed() == 1 })
		typed("/supervisor 关闭")
		shows("监督已关闭", 2)
		box.expectVerdicts(verdictCancelled)
	})
}

// A wrapper of claude adds a permission mode: what the reviewer calls is refused in the mode that ccc asked
// for, or no review takes place.
func TestRealClientWrapperAddsMode(t *testing.T) {
	answers := script{reviewer: []apiReply{bash("git init -q touched"), replyVerdict(true, "")}}
	forClients(t, answers, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		for flags, want := range map[string]string{
			"--dangerously-skip-permissions":      "allow",
			"--permission-mode bypassPermissions": "allow", // which is disabled: the mode is default
			"--permission-mode acceptEdits":       "failed",
		} {
			box.use(newScriptedAPI(t, answers))
			box.claudeIs("exec " + box.client.path + ` "$@" ` + flags + "\n")
			prompt := strings.Trim(flags, "-")
			box.prints("done", prompt)
			expectIs(t, flags, slices.Contains(box.supervised(), prompt+": "+want), true)
		}
		expectIs(t, "what the reviewer made", isThere(filepath.Join(box.work, "touched")), false)
	})
}

// A pasted picture with words is one request, and the reviewer has both.
func TestRealClientPastedPicture(t *testing.T) {
	forClients(t, script{}, func(t *testing.T, box *sandbox, api *scriptedAPI) {
		var shot bytes.Buffer
		check(t, png.Encode(&shot, image.NewGray(image.Rect(0, 0, 1, 1))))
		box.write("../work/shot.png", 0o600, shot.String())
		tty := box.start()
		tty.keys("-l", "--", "make it look like this ")
		tty.waitFor("make it look like this")
		hasPicture := func(screen string) bool { return strings.Contains(screen, "[Image #1]") }
		// Under load a client that has just started may take the first paste for words (2.1.332).
		tty.pressUntil("\x1b[200~"+box.work+"/shot.png\x1b[201~", "[Image #1]", hasPicture)
		tty.keys("-l", "--", " but blue")
		tty.waitFor("but blue")
		tty.keys("Enter")
		box.awaitVerdicts(1)
		requests := listedRequests(t, api.lastReview(t))
		expectEqual(t, "the requests", requests, box.loggedPrompts())
		expectIn(t, "the request", requests[0], "make it look like this", "but blue", "[Image #1]")
		expectIn(t, "what the reviewer has", string(api.requests("review")[0].Body), `"type":"image"`)
	})
}
