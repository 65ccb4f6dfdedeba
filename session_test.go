package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// playingClient is testdata/client, a client that plays code.
func playingClient(t *testing.T) string {
	return "FAKE=" + fakeClaude() + "\n" + readPage(t, "testdata/client")
}

// play has a client play the code: one that argv starts, as `ccc --supervisor`. It returns what the client
// prints.
func (box *sandbox) play(code string, argv ...string) string {
	box.t.Helper()
	box.claudeIs(playingClient(box.t))
	plain := box.vars
	defer func() { box.vars = plain }()
	box.vars = append(append([]string{}, plain...), "PLAY="+code)
	got := box.run(60*time.Second, "", argv...)
	if got.code != 0 || got.timedOut {
		box.t.Errorf("%q: %+v", code, got)
	}
	return got.stdout
}

// Whether a session is supervised: by the later of its switch and its launch, else by the variable, else by
// hand. What the agent's tools start never is, and with supervisor.observe what is on is observed.
func TestModeOf(t *testing.T) {
	launch := now()
	at := func(m mode, since time.Duration) sessionState {
		return sessionState{Enabled: m, SwitchedAt: launch.Add(since)}
	}
	none, on, off := sessionState{}, at(modeOn, -time.Hour), at(modeOff, -time.Hour)
	launched := client{launched: launch, asked: "1"}
	for _, test := range []struct {
		name   string
		state  sessionState
		client client
		want   mode
	}{
		{"launched", none, launched, modeOn},
		{"switched off, then launched", off, launched, modeOn},
		{"launched, then switched off", at(modeOff, time.Nanosecond), launched, modeOff},
		{"switched off by a wrong clock", at(modeOff, time.Hour), launched, modeOn},
		{"observed, then launched", at(modeObserve, -time.Hour), launched, modeOn},
		{"another value", none, client{asked: "yes"}, modeOff},
		{"the variable of others", none, client{asked: "1", isOthers: true}, modeOff},
		{"switched on, a launch of others", on, client{asked: "1", isOthers: true}, modeOn},
		{"by hand", none, client{isScript: true}, modeOn},
		{"by hand against the variable", none, client{isScript: true, asked: "0"}, modeOff},
		{"what a tool has started", on, client{isHelper: true}, modeOff},
		{"ccc review", off, client{isReview: true}, modeOn},
	} {
		expectIs(t, test.name, modeOf(test.state, test.client, false), test.want)
		observed := test.want
		if observed == modeOn {
			observed = modeObserve
		}
		expectIs(t, test.name+", observed", modeOf(test.state, test.client, true), observed)
	}
}

// withSession is code to play with testSession for S.
func withSession(code string) string {
	return regexp.MustCompile(`\bS\b`).ReplaceAllString(code, testSession)
}

// forkable prepares conversations of other sessions, for the reviewer to fork.
func (box *sandbox) forkable(sessions ...string) {
	box.t.Helper()
	for _, session := range sessions {
		box.write(".claude/projects/x/"+session+".jsonl", 0o600, "{}\n")
	}
}

// What an agent's tool starts speaks for nobody: it is not supervised, leaves nothing and switches nothing.
// What the user starts in a terminal that an agent once opened is the user's: not supervised, until they say
// so. What names no process is the client's.
func TestHelper(t *testing.T) {
	box := newHookBox(t)
	box.forkable("the1rs", "m1ne")
	const steps = `stop S
PLAY="answer S '/supervisor off'; answer the1rs '/supervisor on'; answer the1rs x; stop S; stop the1rs" \
	ENTRYPOINT=sdk-cli claude
env -u CLAUDECODE ENTRYPOINT=sdk-ts PLAY="stop the1rs" claude
PLAY="stop m1ne; prompt m1ne '/supervisor on'; stop m1ne" claude
(unset CLAUDE_PID; stop S)
stop S`
	got := box.play(withSession(steps), "ccc", "--supervisor")
	refused := string(encodeJSON(blocked(modeNotForAgent.zh))) + "\n"
	const helpers = "S let go\nthe1rs let go\nthe1rs let go\n"
	const users = "m1ne let go\nm1ne reviewed\nS reviewed\nS reviewed\n"
	expectIs(t, "what they saw", got, withSession("S reviewed\n")+refused+refused+withSession(helpers+users))
	expectNotIn(t, "the files", strings.Join(box.files(), " "), "the1rs")
}

// A launch ends with its process. What its tools have left running, and starts claude with its variables
// afterwards, is not supervised, with -p or interactive.
func TestLaunchEnded(t *testing.T) {
	box := newHookBox(t)
	left := map[string]string{"daem0n": "sdk-cli", "tmux5erver": "cli"}
	code := "stop " + testSession
	for session, entrypoint := range left {
		box.forkable(session)
		code += fmt.Sprintf("\nLAUNCH=$$ ENTRYPOINT=%s PLAY='exec 2>/dev/null\n"+
			"while kill -0 $LAUNCH; do sleep 0.1; done; stop %s >~/%[2]s' setsid claude >/dev/null 2>&1 &",
			entrypoint, session)
	}
	expectIs(t, "the launch's own", box.play(code, "ccc", "--supervisor"), testSession+" reviewed\n")
	for session := range left {
		await(t, func() string { return box.read(session) }, session+" let go\n")
	}
}

// In a PID namespace of its own a hook can't see its client. One that CLAUDE_CODE_SHELL_PREFIX makes changes
// nothing: the review goes on to its verdict. A claude in one that a tool has made does not take the launch
// over, and ccc review is refused.
func TestNamespace(t *testing.T) {
	box := newHookBox(t)
	const namespace = "unshare -Urpf --mount-proc "
	if got := box.run(10*time.Second, "", strings.Fields(namespace+"true")...); got.code != 0 {
		t.Skipf("no PID namespace: %s", got.stderr)
	}
	box.forkable("1nner")
	box.reviews(fakeReview{runs("sleep 2"), decides(false, "not yet")})
	box.vars = append(box.vars, "CCC="+box.program())
	const steps = `ccc() { unshare -Urpf --mount-proc "$CCC" "$@"; }; stop S
unset -f ccc
ENTRYPOINT=sdk-cli PLAY="stop 1nner" unshare -Urpf --mount-proc claude
CLAUDECODE=1 setsid unshare -Urpf --mount-proc ccc review 2>&1 | grep -o "not for the agent"
stop S`
	got := box.play(withSession(steps), "ccc", "--supervisor")
	const reviewed = testSession + " reviewed\n"
	expectIs(t, "what they saw", got, reviewed+"1nner let go\nnot for the agent\n"+reviewed)
}

// A launch is of one client, however many ask at once. When that has ended, it is of the next one as long as
// the launch's own process runs.
func TestClaim(t *testing.T) {
	d := stateDir(filepath.Join(t.TempDir(), "ccc"))
	self, above := os.Getpid(), os.Getppid()
	got := make(chan int)
	for n := range 20 {
		go func() {
			client, _ := d.claim("1.a.1", self, []int{self, above}[n%2])
			got <- client
		}()
	}
	first := <-got
	for range 19 {
		expectIs(t, "the client of the launch", <-got, first)
	}
	const gone = 1 << 30 // no process has that number
	for _, step := range []struct {
		token              string
		process, pid, want int
	}{
		{"1.b.2", self, self, self}, {"1.b.2", self, gone, self}, // another launch
		{"1.c.3", self, gone, gone}, {"1.c.3", self, above, above}, {"1.c.3", self, self, above}, // it ended
		{"1.d.4", gone, gone, gone}, {"1.d.4", gone, self, gone}, {"1.d.4", gone, gone, gone}, // its launch
		{"1.e", 0, gone, gone}, {"1.e", 0, self, gone}, // of 3.0
	} {
		client, err := d.claim(step.token, step.process, step.pid)
		check(t, err)
		expectIs(t, step, client, step.want)
	}
	client, err := stateDir("/dev/null/x").claim("1.a.1", self, self)
	expectIs(t, "where nothing can be written", client, self)
	expectError(t, "where nothing can be written", err, "not a directory")
	_, _, err = stateDir("/dev/null").owned()
	expectError(t, "what can't be listed", err, "not a directory")
}

// A claude that the tools of a fork have started is not the fork: it has that one's job directory alone.
func TestForksHelper(t *testing.T) {
	d := dirs{state: stateDir(t.TempDir()), env: environ{jobVariable + "=" + t.TempDir()}}
	check(t, d.state.session("parent").update(func(*sessionState) {}))
	job := `{"forkSessionId":"fork","forkParentSessionId":"parent"}`
	check(t, os.WriteFile(filepath.Join(d.env.get(jobVariable), "state.json"), []byte(job), 0o600))
	for id, want := range map[string]bool{"fork": true, "helper": false} {
		_, _, isKnown := d.movedFrom(id, "")
		expectIs(t, id, isKnown, want)
	}
}

// A state that can't be read is not changed.
func TestStateUnreadable(t *testing.T) {
	s := stateDir(t.TempDir()).session("a")
	check(t, os.MkdirAll(s.stateFile(), 0o700))
	err := s.update(func(*sessionState) { t.Error("it is changed") })
	expectError(t, "a state that can't be read", err, "is a directory")
}

// A launch that can't lock what it wrote says so, since that stays.
func TestTakeBackUnlocked(t *testing.T) {
	dir := t.TempDir()
	l := &launch{dirs: dirs{claude: dir, state: stateDir(dir)}, written: []writtenFile{{path: dir + "/f"}}}
	check(t, os.Mkdir(l.dirs.lockFile(), 0o700))
	expectIn(t, "stderr", stderrOf(t, l.takeBack), "taking back what was written: ", "is a directory")
}

// The state is read under its lock, and a launch takes back under its own what another may just be writing.
func TestLocksHeldOpen(t *testing.T) {
	dir := t.TempDir()
	d := dirs{claude: dir, state: stateDir(dir)}
	s := d.state.session("s")
	check(t, s.update(func(*sessionState) {}))
	check(t, os.WriteFile(dir+"/f", []byte("mine\n"), 0o600))
	l := &launch{dirs: d, written: []writtenFile{{path: dir + "/f", after: []byte("mine\n")}}}
	unlock, err := lockFile(d.state.lockFile())
	check(t, err)
	release, err := lockFile(d.lockFile())
	check(t, err)
	done := make(chan error, 2)
	claimed := make(chan int)
	go func() { client, _ := d.state.claim("1.a.1", os.Getpid(), os.Getpid()); claimed <- client }()
	go func() { done <- s.update(func(state *sessionState) { state.Count++ }) }()
	go func() { l.takeBack(); done <- nil }()
	time.Sleep(100 * time.Millisecond) // all wait
	check(t, os.WriteFile(d.state.file("launch-1.a.1"), fmt.Append(nil, os.Getppid()), 0o600))
	state, _ := s.readState()
	state.Count = 5
	check(t, replaceFile(s.stateFile(), encodeJSON(state)))
	check(t, appendFile(dir+"/f", []byte("another's\n")))
	unlock()
	release()
	check(t, errors.Join(<-done, <-done))
	state, _ = s.readState()
	kept, _ := os.ReadFile(dir + "/f")
	expectIs(t, "the count, and the file", fmt.Sprint(state.Count, " ", string(kept)), "6 mine\nanother's\n")
	expectIs(t, "the client of the launch", <-claimed, os.Getppid())
	// Whoever looks whether a review is held does not hold it.
	look, err := os.Create(s.runningFile("r"))
	check(t, err)
	_, err = look.WriteString(deviceOf(look))
	check(t, errors.Join(err, syscall.Flock(int(look.Fd()), syscall.LOCK_SH)))
	expectIs(t, "beside a reader it is held", s.isHeld("r", now().Add(time.Hour)), false)
}
