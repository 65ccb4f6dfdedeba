package main

// What a stop or a question comes to: what the reviewer gets, and what is said to whom.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
		session: d.state.session(testSession), client: client{isScript: true}},
		event: &hookEvent{SessionID: testSession, HookEventName: event, ToolName: askUserQuestion, Cwd: dir}}
	h.past, _ = h.session.readHistory()
	return h
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
		if info, err := os.Stat(file); err == nil {
			expectIs(t, "its mode", info.Mode().Perm(), 0o600)
		}
	}
	check(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700)))
	expectIs(t, "what can't be kept", len([]rune(h.cutFeedback(strings.Repeat("长", 9000)))), 9000)
}

// What the state says of a session's client: its provider and its launch, the later one; by hand neither.
func TestHookUpdates(t *testing.T) {
	h, at := testHook(t, eventStop), time.Now().UTC().Truncate(time.Millisecond)
	for _, test := range []struct {
		name, provider string
		client         client
		want           string
		launched       time.Time
	}{
		{"a session without a provider", "", client{}, noProvider, time.Time{}},
		{"a launch with one", "kimi", client{launched: at}, "kimi", at},
		{"by hand, after it", "glm", client{isScript: true}, "kimi", at},
		{"an earlier launch", "glm", client{launched: at.Add(-time.Hour)}, "glm", at},
	} {
		h.dirs.env = append(os.Environ(), providerVariable+"="+test.provider)
		h.client = test.client
		check(t, h.changeState(func(s *sessionState) { s.Count++ }))
		state, err := h.session.readState()
		check(t, err)
		expectIs(t, test.name+": the provider", state.Provider, test.want)
		expectIs(t, test.name+": the launch", state.SwitchedAt.UTC(), test.launched)
		expectIs(t, test.name+": the rest is updated", state.Count != 0, true)
	}
}

// What ends a review while it is prepared is its reason, and no reason why there is no copy, or no look.
func TestPrepareEnded(t *testing.T) {
	h := testHook(t, eventStop)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSwitchedOff)
	ended := h.conduct(ctx, review{Event: eventStop}, judgedWork{})
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
		{eventStop, 0, "(no content)", "", ""},
		{eventReview, 2, "fix it", "fix it", ""},
		{eventReview, 0, approves, approves, ""},
		{byHand, 5, "", "", ""}, // no Claude Code runs the hook
		{eventPreToolUse, 0, "fix it", "", say(noVerdict, "fix it")},
		{eventPreToolUse, 0, "", "", errNoVerdict.Error()},
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
	for _, test := range []struct {
		tree                    string
		id, model, want         string // of the model: the transcript's, ccc.json's, the reviewer's
		reviewers, given, known string // the provider: the reviewer's, the session's, by its state
	}{
		{"project", "m[1m]", "", "m[1m]", "", "", ""},
		{"project", "", "", "", "", "", ""},
		{"tree", "m", "chosen", "chosen", "", "", ""},
		{"project", "m", "", "", "b", "a", "b"},
		{"project", "m", "", "m", "b", "b", ""},
	} {
		h, of, r, name := testHook(t, eventStop), judgedWork{}, newReview(eventStop), fmt.Sprintf("%+v: ", test)
		h.dirs.here = at("project")
		h.place = place{project: at("project"), root: at(test.tree), dir: h.dirs.state}
		h.config.Supervisor.Model, h.config.Supervisor.Provider = test.model, test.reviewers
		h.config.Providers = map[string]*provider{"b": {name: "b", Env: theirs}}
		h.client.launched = now()
		h.state.Provider = test.known
		h.dirs.env = setEnv(h.dirs.env, providerVariable, test.given)
		of.talk.version, of.talk.model, of.talk.dirs = "2.1.330", test.id, []string{at("typed"), at("added")}
		h.recordBegin(ctx, &r)
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
		end := call.input[len(call.input)-400:]
		isInTime := regexp.MustCompile(`\b([678][0-9]|90)\b`).MatchString(end)
		expectIs(t, name+"its time in "+end, isInTime, true)
		expectIs(t, name+"why there is no copy", who.NoCopy+call.tryCommand, noNamespaces)
		url := "https://b"
		if test.reviewers == test.given { // a session of that provider has its values
			url = ""
		}
		expectIs(t, name+"the API", lookupEnv(call.env, "ANTHROPIC_BASE_URL"), url)
	}
	h, of, r := testHook(t, eventStop), judgedWork{}, newReview(eventStop)
	of.talk.version = "2.1.279"
	_, _, err := h.call(ctx, r, of)
	expectError(t, "the call", err, say(clientTooOld, "2.1.279", "2.1.280", "claude update / "+installClaude))
}
