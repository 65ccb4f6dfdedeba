package main

// What a stop or a question comes to: what the reviewer gets, and what is said to whom.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	h := &hook{supervision: supervision{dirs: d, place: d.state.place(dir, dir, d.env),
		config: defaultConfig(), session: d.state.session(testSession), client: client{isScript: true}},
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
	begun := now().Add(-time.Second) // before the hook has waited for the transcript
	ended := h.judge(ctx, occasionNamed(eventStop), begun, judgedWork{}, false)
	expectIs(t, "requests from then on are not judged", ended.Begun, begun)
	expectIs(t, "the verdict", ended.Verdict, verdictCancelled)
	expectIs(t, "the reason", ended.Error, errSwitchedOff.Error())
	expectIs(t, "why there is no copy, and no look", ended.NoCopy+ended.Seen.Unseen, "")
}

// A review holds its lock before its first line can be read: a view would show it as cancelled.
func TestHeldBeforeRecorded(t *testing.T) {
	h := testHook(t, eventStop)
	check(t, h.session.dir.create())
	release, err := h.session.hold("r")
	check(t, err)
	began := make(chan bool)
	go func() { h.recordBegin(t.Context(), &review{ID: "r", Event: eventStop}); close(began) }()
	time.Sleep(100 * time.Millisecond) // in which it must write nothing
	early, _ := os.ReadFile(h.session.timelineFile())
	expectIs(t, "what it has recorded without the lock", string(early), "")
	release()
	<-began
}
