package main

// What a stop or a question comes to: what the reviewer gets, and what is said to whom.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inTurn is the member of a stop's event after a blocked one.
const inTurn = `"stop_hook_active":true`

// aSecret is one by its form.
var aSecret = "gh" + "p_" + run62(36, "a secret")

// testHook is a hook of that event in a state directory of its own, without a client.
func testHook(t *testing.T, event string) *hook {
	t.Helper()
	dir := t.TempDir()
	d := dirs{env: setEnv(os.Environ(), claudeVariable, "/bin/sh"), here: dir, claude: dir, ccc: dir}
	d.state = stateDir(filepath.Join(dir, "ccc"))
	check(t, d.state.create())
	h := &hook{supervision: supervision{dirs: d, place: d.state.place(dir, dir, d.env), config: defaultConfig(),
		session: d.state.session(testSession), caller: caller{isScript: true}},
		event: &hookEvent{SessionID: testSession, HookEventName: event, ToolName: askUserQuestion, Cwd: dir}}
	h.past, _ = h.session.readHistory()
	return h
}

// speaking sets the language for a test that runs beside no other.
func speaking(t *testing.T, language string) {
	before := lang
	lang = language
	t.Cleanup(func() { lang = before })
}

// stderrOf returns what a function of a test that runs beside no other writes to stderr.
func stderrOf(t *testing.T, write func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	defer file.Close()
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	write()
	text, err := os.ReadFile(file.Name())
	check(t, err)
	return string(text)
}

// What becomes of each verdict, of a stop and of a question. In a session the user reads each that they did
// not end.
func TestHookDecision(t *testing.T) {
	speaking(t, "en")
	tool := func(decision, reason string) string { return string(encodeJSON(toolDecision(decision, reason))) }
	for _, test := range []struct {
		event   string
		verdict verdict
		want    string
	}{
		{eventStop, verdictBlock, `{"decision":"block","reason":"words"}`},
		{eventStop, verdictAllow, "null"},
		{eventStop, verdictFailed, "null"},
		{eventStop, verdictLimit, "null"},
		{eventStop, verdictCancelled, "null"},
		{eventPreToolUse, verdictBlock, tool("deny", "words")},
		{eventPreToolUse, verdictAllow, tool("allow", "words")},
		{eventPreToolUse, verdictLimit, tool("allow", "The limit of 10 reviews for this request is reached")},
		{eventPreToolUse, verdictFailed, "null"},
		{eventPreToolUse, verdictCancelled, "null"},
	} {
		r := review{Event: test.event, Limit: 10, outcome: outcome{Verdict: test.verdict, Feedback: "words"}}
		name := fmt.Sprint(test.event, ", ", test.verdict)
		expectIs(t, name+" by hand", string(encodeJSON(r.decide(false))), test.want)
		got := map[string]any{}
		check(t, json.Unmarshal(encodeJSON(r.decide(true)), &got))
		isTold := got["systemMessage"] != nil
		expectIs(t, name+" is told", isTold, test.verdict != verdictCancelled)
		delete(got, "systemMessage")
		expectIs(t, name+" in a session", len(got) > 0, test.want != "null")
	}
	unheard := review{Event: eventStop, Limit: 10, outcome: outcome{Verdict: verdictLimit}}
	expectSuffix(t, "without open feedback", unheard.message(), "Your next prompt gives new ones.")
	expectIs(t, "a review to come", review{Event: "New"}.reviewTitle(), "Review")
}

// Feedback that is too long for the agent is cut, and names the file that has the whole of it.
func TestFeedbackCut(t *testing.T) {
	h := testHook(t, eventStop)
	file := h.session.feedbackFile()
	for length, isWhole := range map[int]bool{8000: true, 8001: false} {
		text := strings.Repeat("长", length)
		cut := h.cutFeedback(text)
		expectIs(t, "what the agent gets", len([]rune(cut)), 8000)
		expectIs(t, fmt.Sprint("whether that is all of ", length), cut == text, isWhole)
		expectIs(t, "whether it names the file", strings.Contains(cut, file), !isWhole)
		kept, _ := os.ReadFile(file)
		expectIs(t, "whether the file keeps it", string(kept) == text, !isWhole)
	}
	check(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700)))
	expectIs(t, "what can't be kept", len([]rune(h.cutFeedback(strings.Repeat("长", 9000)))), 9000)
}

// What the state says of a session's client: its provider and its launch, the later one; by hand neither.
func TestHookUpdates(t *testing.T) {
	h, at := testHook(t, eventStop), time.Now().UTC().Truncate(time.Millisecond)
	for _, test := range []struct {
		name         string
		byHand       bool
		provider     string
		launched     time.Time
		wantProvider string
		wantLaunched time.Time
	}{
		{"a session without a provider", false, "", time.Time{}, noProvider, time.Time{}},
		{"a launch with one", false, "kimi", at, "kimi", at},
		{"by hand, after it", true, "glm", time.Time{}, "kimi", at},
		{"an earlier launch", false, "glm", at.Add(-time.Hour), "glm", at},
		{"a later launch", false, "", at.Add(time.Hour), noProvider, at.Add(time.Hour)},
	} {
		h.dirs.env = append(os.Environ(), providerVariable+"="+test.provider)
		h.caller = caller{isScript: test.byHand, launched: test.launched}
		check(t, h.changeState(func(s *sessionState) { s.Count++ }))
		state, err := h.session.readState()
		check(t, err)
		expectIs(t, test.name+": the provider", state.Provider, test.wantProvider)
		expectIs(t, test.name+": the launch", state.SwitchedAt.UTC(), test.wantLaunched.UTC())
		expectIs(t, test.name+": the rest is updated", state.Count != 0, true)
	}
}

// Log and stderr quote no secret, and the timeline has what it came to as it came.
func TestHookRecorded(t *testing.T) {
	h, r := testHook(t, eventStop), newReview(eventStop)
	why := errors.New("no " + aSecret)
	long := strings.Repeat("x", 5000)
	r.describe(subject{lastMessage: long, conversation: conversation{requests: prompts(long)}})
	expectIs(t, "the request on record", r.Request, cutMiddle(long, 4000))
	expectIs(t, "the last message on record", r.LastMessage, cutMiddle(long, 2000))
	r.Iteration, r.Limit = 2, 10
	r.outcome = outcome{Verdict: verdictBlock, Feedback: "a " + aSecret, NoVerdict: true, CostUSD: 0.25}
	told := stderrOf(t, func() {
		h.end(r, nil)
		h.end(newReview(eventStop), why)
		h.warn("trying", why)
		h.warn("trying", nil)
	})
	expectNotIn(t, "stderr", told, aSecret)
	expectCounts(t, "stderr", told, map[string]int{"ccc: no review: no ***\n": 1, "ccc: trying: no ***\n": 1})
	log, _ := os.ReadFile(h.session.dir.logFile())
	const of = " session_id=" + testSession
	for _, line := range []string{
		" verdict=block iteration=2/10 duration=0.000s cost_usd=0.25 no_verdict=true\n",
		"review ended" + of + ` event=Stop verdict=failed iteration=0/0 duration=0.000s error="no ***"` + "\n",
		"warning" + of + ` during=trying error="no ***"` + "\n",
	} {
		expectCounts(t, "the log", string(log), map[string]int{line: 1})
	}
	past, err := h.session.readHistory()
	check(t, err)
	recorded := []string{past.Reviews[0].Feedback, past.Reviews[1].Error}
	expectEqual(t, "the record", recorded, []string{"a " + aSecret, why.Error()})
}

// What the reviewer does is printed without secrets, in one line a call, and recorded as it came. Its words
// are printed whole, and recorded cut.
func TestHookSteps(t *testing.T) {
	h, given := testHook(t, eventPreToolUse), newReview(eventPreToolUse)
	call := func(text string) step { return step{Kind: stepCall, Tool: text} }
	long, words := strings.Repeat("y", 80), " "+strings.Repeat("x", 3000)
	inDirectory := "Bash(cd /a/" + strings.Repeat("b", 80) + " && /bin/ccc try make)"
	for _, test := range []struct {
		step       step
		told, kept string
	}{
		{call("Bash(cat " + aSecret + ")"), "  · cat ***\n", `"tool":"Bash(cat ` + aSecret + `)"`},
		{step{Kind: stepWords, Words: aSecret + words}, "***" + words + "\n", `"words":"` + aSecret + ` xx`},
		{step{Kind: stepError, Tool: "Skill(" + aSecret + ")"}, "", `"tool":"Skill(` + aSecret + `)"`},
		{call("Bash(" + long + ")"), "  · " + long + "\n", `"tool":"Bash(` + long + `)"`},
		{call("TodoWrite"), "  · TodoWrite\n", `"tool":"TodoWrite"`},
		{call(inDirectory), "  · make\n", `"tool":"` + inDirectory + `"`},
		{step{Kind: stepRefused, Tool: "Bash(yz" + long[1:] + ")"},
			"  · 被拒绝 yz" + long[:77] + "…\n", `"tool":"Bash(yz` + long[:77] + `…)"`},
	} {
		told := stderrOf(t, func() { h.noteStep(given, test.step) })
		expectIs(t, test.kept, told, test.told)
		text, _ := os.ReadFile(h.session.timelineFile())
		step := `"step":{"review":"` + given.ID + `","kind":"` + test.step.Kind + `"`
		expectIn(t, "the timeline", string(text), step, test.kept)
		expectNotIn(t, "the timeline", string(text), strings.Repeat("x", 2001), `"time":"0001`)
	}
}

// A review that did not take place is one that failed, or that the user ended. Why is printed, by hand
// elsewhere. What its reviewer has run is known.
func TestHookFailed(t *testing.T) {
	for err, want := range map[error]verdict{
		errors.New("no result"):           verdictFailed,
		context.Canceled:                  verdictFailed,
		errUserEnded:                      verdictCancelled,
		errSwitchedOff:                    verdictCancelled,
		fmt.Errorf("x: %w", errUserEnded): verdictCancelled,
	} {
		for _, event := range []string{eventStop, eventPreToolUse, eventReview} {
			h, found, name := testHook(t, eventStop), review{}, event+", "+err.Error()
			h.append(entry{Review: &review{Event: event, ID: "r"}})
			h.append(entry{Step: &step{Review: "r", Kind: stepRun, Command: "make"}})
			told := stderrOf(t, func() {
				found = h.end(review{Event: event, ID: "r", outcome: outcome{Verdict: verdictBlock, Feedback: "do"}}, err)
			})
			printed := "ccc: no review: " + err.Error() + "\n"
			if event == eventReview {
				printed = ""
			}
			expectIs(t, name+": what is printed", told, printed)
			expectIs(t, name+": the runs", len(found.did.Runs), 1)
			expectIs(t, name+": the cause of the user's switch", found.Cause == causeOff, err == errSwitchedOff)
			past, _ := h.session.readHistory()
			for which, r := range map[string]review{"returned": found, "recorded": past.Reviews[0]} {
				got := fmt.Sprint(r.Verdict, ", ", r.Error, ", ", r.Feedback)
				expectIs(t, name+": what is "+which, got, fmt.Sprint(want, ", ", err, ", "))
			}
		}
	}
}

// A review ends with its time, or with the first signal that tells ccc to end, each told by its own name.
func TestHookEnded(t *testing.T) {
	late, h := errors.New("late"), testHook(t, eventStop)
	ctx, cancel := h.untilEnded(time.Millisecond, late)
	<-ctx.Done()
	expectIs(t, "over its time", context.Cause(ctx), late)
	cancel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		ctx, cancel = h.untilEnded(time.Minute, late)
		check(t, syscall.Kill(os.Getpid(), s))
		<-ctx.Done()
		expectIs(t, s, context.Cause(ctx), error(errUserEnded))
		cancel()
	}
	h.config.Supervisor.TimeoutSeconds = 1800
	timeout, late := h.patience()
	expectIs(t, "the time", timeout, 1800*time.Second)
	expectIn(t, "why there is no verdict", late.Error(), "1800", "supervisor.timeout_seconds")
}

// What ends a review while it is prepared is its reason, and no reason why there is no copy, or no look.
func TestPrepareEnded(t *testing.T) {
	h := testHook(t, eventStop)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSwitchedOff)
	ended := h.conduct(ctx, review{Event: eventStop}, subject{})
	expectIs(t, "the verdict", ended.Verdict, verdictCancelled)
	expectIs(t, "the reason", ended.Error, errSwitchedOff.Error())
	expectIs(t, "why there is no copy, and no look", ended.NoCopy+ended.Seen.Unseen, "")
}

// Words without a verdict are the feedback, by hand always. To a question, and in a session too often in a
// row, they are no review. What says nothing, or holds an approval, gives way to the default feedback.
func TestHookWords(t *testing.T) {
	h := testHook(t, eventStop)
	const approves, byHand = `{"allow_stop": true, "feedback": ""} so`, "by hand"
	again := func(times int) string { return say(noVerdictAgain, times) }
	for _, test := range []struct {
		event    string
		before   int // so many in a row gave no verdict
		words    string
		feedback string // "" is the default one
		why      string // there was no review, if not ""
	}{
		{eventStop, 0, "fix it", "fix it", ""},
		{eventStop, 2, "fix it", "", again(3)},
		{eventStop, 1, approves, "", again(2)},
		{eventStop, 0, "", "", ""},
		{eventStop, 1, "", "", again(2)},
		{eventStop, 0, "(no content)", "", ""},
		{eventStop, 0, "None of the tests pass.", "None of the tests pass.", ""},
		{eventReview, 2, "fix it", "fix it", ""},
		{eventReview, 0, approves, approves, ""},
		{eventReview, 0, "", "", ""},
		{byHand, 5, "", "", ""}, // no Claude Code runs the hook
		{eventPreToolUse, 0, "fix it", "", say(noVerdict, "fix it")},
		{eventPreToolUse, 0, "", "", errNoVerdict.Error()},
		{eventPreToolUse, 0, approves, "", say(noVerdict, approves)},
	} {
		name := fmt.Sprintf("%s, after %d: %q", test.event, test.before, test.words)
		r := review{Event: test.event, outcome: outcome{Feedback: test.words}}
		h.dirs.env = setEnv(h.dirs.env, projectVariable, h.place.project)
		if test.event == byHand {
			r.Event = eventStop
			h.dirs.env = setEnv(h.dirs.env, projectVariable, "")
		}
		h.past = &history{last: standing{withoutVerdict: test.before}}
		err := h.takeWords(&r)
		if test.why != "" {
			expectError(t, name, err, test.why)
			expectIs(t, name+": the verdict", fmt.Sprint(r.Verdict, r.NoVerdict), "false")
			continue
		}
		want := outcome{Verdict: verdictBlock, Feedback: test.feedback, NoVerdict: true}
		want.Withheld = test.feedback == ""
		expectIs(t, name+": the error", err, nil)
		expectIs(t, name, r.outcome, want)
	}
}

// How many reviews a request has: as ccc.json says, in a session no more than Claude Code lets a hook block.
func TestHookReviewLimit(t *testing.T) {
	h := testHook(t, eventStop)
	for _, test := range []struct {
		limit             int
		blockCap, project string // "" is no session
		want              int
	}{
		{10, "", "/p", 8},
		{10, "3", "/p", 3},
		{2, "3", "/p", 2},
		{10, "0", "/p", 10},
		{10, "x", "/p", 8},
		{10, "4.9", "/p", 4},
		{10, "3", "", 10},
	} {
		h.dirs.env = setEnv(h.dirs.env, projectVariable, test.project, blockCapVariable, test.blockCap)
		h.config.Supervisor.MaxIterations = test.limit
		expectIs(t, fmt.Sprintf("%+v", test), h.reviewLimit(), test.want)
	}
}

// What a reviewer is called with: the directories that it may read, the session's model, and its time.
func TestHookPlanned(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"project", "tree", "added", "typed"} {
		check(t, os.Mkdir(at(name), 0o700))
	}
	check(t, os.WriteFile(at("file"), nil, 0o600))
	added := []string{at("added"), at("none"), at("file"), "relative", "", at("added")}
	t.Setenv(addDirsVariable, strings.Join(added, "\n"))
	before := tryProbe
	t.Cleanup(func() { tryProbe = before })
	tryProbe = func(context.Context, string, []string) (bool, string, error) {
		return false, "", errors.New(noNamespaces)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second+300*time.Millisecond)
	defer cancel()
	theirs := map[string]string{"ANTHROPIC_BASE_URL": "https://b", "ANTHROPIC_AUTH_TOKEN": "t"}
	const ofLaunch, unlaunched = true, false
	for _, test := range []struct {
		launched                bool
		tree                    string
		id, model, want         string // of the model: the transcript's, ccc.json's, the reviewer's
		reviewers, given, known string // the provider: the reviewer's, the session's, by its state
	}{
		{ofLaunch, "project", "m[1m]", "", "m[1m]", "", "", ""},
		{unlaunched, "project", "m[1m]", "", "m[1m]", "", "", ""},
		{ofLaunch, "project", "", "", "", "", "", ""},
		{ofLaunch, "tree", "m", "", "m", "", "", ""},
		{ofLaunch, "project", "m", "chosen", "chosen", "", "", ""},
		{ofLaunch, "project", "m", "", "", "b", "", ""},
		{ofLaunch, "project", "m", "", "", "b", "a", "b"},
		{ofLaunch, "project", "m", "", "m", "b", "b", ""},
		{unlaunched, "project", "m", "", "m", "b", "", "b"},
	} {
		h, of, r, name := testHook(t, eventStop), subject{}, newReview(eventStop), fmt.Sprintf("%+v: ", test)
		h.dirs.here = at("project")
		h.place = place{project: at("project"), root: at(test.tree), dir: h.dirs.state}
		h.config.Supervisor.Model, h.config.Supervisor.Provider = test.model, test.reviewers
		h.config.Providers = map[string]*provider{"b": {name: "b", Env: theirs}}
		if test.launched {
			h.caller.launched = now()
		}
		h.state.Provider = test.known
		h.dirs.env = setEnv(h.dirs.env, providerVariable, test.given)
		of.version, of.model, of.dirs = "2.1.330", test.id, []string{at("typed"), at("added")}
		h.begin(ctx, &r)
		r.changeFacts = h.takeChange(ctx, r.occasion(), &of)
		call, who, err := h.call(ctx, r, of)
		check(t, err)
		h.release()
		expectIs(t, name+"the model", call.config.Model, test.want)
		expectIs(t, name+"the model on record", who.Model, test.want)
		readable := []string{at(test.tree), at("added"), at("typed"), at("project")}
		if test.tree == "project" {
			readable = readable[:3]
		}
		expectEqual(t, name+"the directories", append([]string{call.dir}, call.addDirs...), readable)
		expectIs(t, name+"the session", call.session, testSession)
		expectIs(t, name+"the prompt", call.prompt, say(defaultPrompt))
		end := call.input[len(call.input)-400:]
		isInTime := regexp.MustCompile(`\b([678][0-9]|90)\b`).MatchString(end)
		expectIs(t, name+"its time in "+end, isInTime, true)
		expectIs(t, name+"why there is no copy", who.NoCopy+call.tryCommand, noNamespaces)
		expectIs(t, name+"the reviewer's mark", lookupEnv(call.env, reviewerVariable), "1")
		url := "https://b"
		if test.reviewers == test.given { // a session of that provider has its values
			url = ""
		}
		expectIs(t, name+"the API", lookupEnv(call.env, "ANTHROPIC_BASE_URL"), url)
	}
	h, of, r := testHook(t, eventStop), subject{}, newReview(eventStop)
	refuses := func(why string) {
		t.Helper()
		_, _, err := h.call(ctx, r, of)
		expectError(t, "the call", err, why)
	}
	of.version = "2.1.279"
	refuses(say(clientTooOld, "2.1.279", "2.1.280", "claude update / "+installClaude))
	of.version = "2.1.330"
	h.config.Supervisor.Provider = "b"
	h.config.Providers = map[string]*provider{"b": {name: "b", Env: maps.Clone(theirs)}}
	h.config.Providers["b"].Env[tokenVariable] = "${NO_SUCH_TOKEN}"
	refuses("NO_SUCH_TOKEN")
	h.config.Providers["b"].Env = theirs
	check(t, os.WriteFile(h.dirs.settingsFile(), []byte(`{"apiKeyHelper":"echo k"}`), 0o600))
	refuses("settings.json: apiKeyHelper\n")
}
