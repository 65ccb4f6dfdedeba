package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ofSession is the event of testSession as one of another session.
func ofSession(session, event string) string { return strings.Replace(event, testSession, session, 1) }

// playingClient stands for claude. It plays the shell code in $PLAY as an interactive client, whose hooks and tools are its
// children. What `ccc --supervisor` asks of claude before, and reviews, it leaves to the stand-in.
const playingClient = `case "$*" in --version | */cost | *--fork-session*) exec %s "$@" ;; esac
export CLAUDE_PID=$$ CLAUDECODE=1 CLAUDE_CODE_ENTRYPOINT=${ENTRYPOINT:-cli}
hook() { # SESSION EVENT MEMBERS
    printf '{"session_id":"%%s","cwd":"%%s","hook_event_name":"%%s"%%s}' "$1" "$PWD" "$2" "${3-}" | CLAUDE_PROJECT_DIR=$PWD ccc supervisor-hook
}
stop() { # SESSION tells whether the reviewer, who never approves, was asked
    case $(hook "$1" Stop 2>/dev/null) in *'"decision":"block"'*) echo "$1 reviewed" ;; *) echo "$1 let go" ;; esac
}
answer() { hook "$1" UserPromptSubmit ",\"prompt\":\"$2\""; } # SESSION WORDS
prompt() { answer "$@" >/dev/null; }
set -f
eval "$PLAY"
`

// play has a client play the code: one that argv starts, as `ccc --supervisor`. It returns what the client prints.
func (box *sandbox) play(code string, argv ...string) string {
	box.t.Helper()
	box.claudeIs(fmt.Sprintf(playingClient, fakeClaude()))
	plain := box.vars
	defer func() { box.vars = plain }()
	box.vars = append(append([]string{}, plain...), "PLAY="+code)
	got := box.run(60*time.Second, "", argv...)
	if got.code != 0 || got.timedOut {
		box.t.Errorf("%q: %+v", code, got)
	}
	return got.stdout
}

// Whether a session is supervised: by the later of its switch and its launch, else by the variable, else by hand.
func TestSupervised(t *testing.T) {
	const past, future = `"2026-01-02T03:04:05Z"`, `"2099-01-02T03:04:05Z"`
	on, off, observed := `,"enabled":"on","switched_at":`, `,"enabled":"off","switched_at":`, `,"enabled":"observe","switched_at":`
	for name, test := range map[string]struct{ how, state, variable, want string }{
		"launched":                          {"launched", "", "", "reviewed"},
		"switched off, then launched":       {"launched", off + past, "", "reviewed"},
		"switched off by a wrong clock":     {"launched", off + future, "", "reviewed"},
		"switched on":                       {"plain", on + past, "", "reviewed"},
		"observed":                          {"plain", observed + past, "", "let go"},
		"observed by a wrong clock":         {"launched", observed + future, "", "reviewed"},
		"observed, then launched":           {"launched", observed + past, "", "reviewed"},
		"switched on against the variable":  {"plain", on + past, "0", "reviewed"},
		"switched off against the variable": {"by hand", off + past, "1", "let go"},
		"the variable":                      {"plain", "", "1", "reviewed"},
		"another value":                     {"plain", "", "yes", "let go"},
		"by hand":                           {"by hand", "", "", "reviewed"},
		"by hand against the variable":      {"by hand", "", "0", "let go"},
		"nobody":                            {"plain", "", "", "let go"},
		"a state that can't be read":        {"launched", "{", "", "reviewed"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			if test.state == "{" {
				box.write(statePath, 0o600, test.state)
			} else if test.state != "" {
				box.write(statePath, 0o600, stateText(testSession, 0, test.state))
			}
			if test.variable != "" {
				box.vars = append(box.vars, "CCC_SUPERVISOR="+test.variable)
			}
			got := ""
			switch test.how {
			case "launched":
				got = box.play("stop "+testSession, "ccc", "--supervisor")
			case "plain":
				got = box.play("stop "+testSession, "claude")
			case "by hand":
				if got = "let go"; decided(box.stop("").stdout) == blockNotYet {
					got = "reviewed"
				}
				got = testSession + " " + got + "\n"
			}
			expectIs(t, name, got, testSession+" "+test.want+"\n")
		})
	}
}

// A switch is of one session: of two sessions of one client (/resume) one is switched off, and one that /clear begins is as the
// client was launched, and says so. A launch later than the switch counts more.
func TestSwitchOfSession(t *testing.T) {
	box := newHookBox(t)
	const s, other, cleared = testSession, "0ther", "c1eared"
	for _, session := range []string{other, cleared} {
		box.write(".claude/projects/x/"+session+".jsonl", 0o600, "{}\n") // for the reviewer to fork
	}
	got := box.play(strings.Join([]string{"stop " + s, "stop " + other, "prompt " + s + " '/supervisor off'", "stop " + s, "stop " + other,
		"prompt " + s + " '/supervisor on'", "stop " + s, "prompt " + s + " '/supervisor off'",
		"hook " + cleared + ` SessionStart ',"source":"clear"'`, "stop " + cleared}, "\n"), "ccc", "--supervisor")
	lines := strings.Split(got, "\n")
	if len(lines) != 8 {
		t.Fatal(got)
	}
	expectIn(t, "after /clear", lines[5], "本会话受监督")
	lines[5] = ""
	expectEqual(t, "the stops", lines, []string{s + " reviewed", other + " reviewed", s + " let go", other + " reviewed", s + " reviewed", "", cleared + " reviewed", ""})
	for session, mode := range map[string]mode{s: modeOff, other: modeOn} {
		expectIs(t, "the mode of "+session, box.modeOf(session), mode)
	}
	expectIs(t, "in a later launch", box.play("stop "+s, "ccc", "--supervisor"), s+" reviewed\n")
	expectIs(t, "the mode then", box.modeOf(s), modeOn)
}

// A session whose supervised launch ccc has seen stays supervised in a plain client, until it is switched off.
func TestLaunchedSessionResumed(t *testing.T) {
	box := newHookBox(t)
	const s = testSession
	for _, session := range []string{"of-its-own", "after-clear"} {
		box.write(".claude/projects/x/"+session+".jsonl", 0o600, "{}\n")
	}
	expectIs(t, "launched", box.play("stop "+s, "ccc", "--supervisor"), s+" reviewed\n")
	got := box.play("stop "+s+"; stop of-its-own; prompt "+s+" '/supervisor off'; stop "+s+"; prompt "+s+" '/supervisor on'; stop after-clear", "claude")
	expectIs(t, "resumed", got, s+" reviewed\nof-its-own let go\n"+s+" let go\nafter-clear let go\n")
}

// A client that the agent calls is not supervised, whatever variables it inherits, and ccc's launch is not about a wrapper. One
// that starts claude again when it has ended has both supervised.
func TestNested(t *testing.T) {
	t.Parallel()
	for name, wrapper := range map[string]string{"plain": "", "wrapped": fakeClaude() + ` "$@"` + "\nexit $?\n",
		"started_again": `case "$*" in --version|*/cost|*--fork-session*|*nested*) exec ` + fakeClaude() + ` "$@" ;; esac` + "\nfor prompt in one two; do " + fakeClaude() + " -p $prompt </dev/null; done\nexit 0\n"} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.reviews(blocks("not yet"), allows(""), blocks("not yet"), allows(""))
			box.turns(`sh [ -n "$NESTED" ] || NESTED=1 claude -p nested >"$FAKE_CLAUDE_DIR/nested"` + "\n" +
				`sh [ -n "$NESTED" ] || NESTED=1 ccc -p nested >"$FAKE_CLAUDE_DIR/nested-ccc"` + "\nDone.\n")
			if wrapper != "" {
				box.claudeIs(wrapper)
			}
			got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "hello")
			want, sessions := "Done.\nStop hook feedback: not yet\nDone.\n", 1
			if name == "started_again" {
				sessions = 2
			}
			if strings.Count(withoutReceipts(got.stdout), want) != sessions || strings.Count(got.stdout, "本会话受监督") != sessions || strings.Count(withoutReceipts(got.stdout), "\n") != 7*sessions {
				t.Errorf("%+v", got)
			}
			expectIs(t, "the answers of the nested ones", box.read("../fake/nested")+box.read("../fake/nested-ccc"), "Done.\nDone.\n")
		})
	}
}

// What an agent's tool starts speaks for nobody: it is not supervised, leaves nothing and switches nothing. What the user starts
// in a terminal that an agent once opened is the user's: not supervised, until they say so. What names no process is the client's.
func TestHelper(t *testing.T) {
	box := newHookBox(t)
	const s, theirs, mine = testSession, "the1rs", "m1ne"
	for _, session := range []string{theirs, mine} {
		box.write(".claude/projects/x/"+session+".jsonl", 0o600, "{}\n")
	}
	const helper = "answer " + s + " '/supervisor off'; answer " + theirs + " '/supervisor on'; answer " + theirs + " words; stop " + s + "; stop " + theirs
	got := box.play(strings.Join([]string{"stop " + s,
		`PLAY="` + helper + `" ENTRYPOINT=sdk-cli claude`, `env -u CLAUDECODE ENTRYPOINT=sdk-ts PLAY="stop ` + theirs + `" claude`,
		`PLAY="stop ` + mine + `; prompt ` + mine + ` '/supervisor on'; stop ` + mine + `" claude`,
		"(unset CLAUDE_PID; stop " + s + ")", "stop " + s}, "\n"), "ccc", "--supervisor")
	refused := string(encodeJSON(blocked(modeNotForAgent.zh))) + "\n"
	expectIs(t, "what they saw", got, s+" reviewed\n"+refused+refused+s+" let go\n"+theirs+" let go\n"+theirs+" let go\n"+
		mine+" let go\n"+mine+" reviewed\n"+s+" reviewed\n"+s+" reviewed\n")
	for _, file := range box.files() {
		expectNotIn(t, "the files", file, theirs)
	}
}

// A launch ends with its process. What its tools have left running, and starts claude with its variables afterwards, is not
// supervised, with -p or interactive.
func TestLaunchEnded(t *testing.T) {
	box := newHookBox(t)
	left := []string{"daem0n", "tmux5erver"}
	code := "stop " + testSession
	for i, entrypoint := range []string{"sdk-cli", "cli"} {
		box.write(".claude/projects/x/"+left[i]+".jsonl", 0o600, "{}\n")
		code += fmt.Sprintf("\nLAUNCH=$$ ENTRYPOINT=%s PLAY='while kill -0 $LAUNCH; do sleep 0.1; done 2>/dev/null; "+
			"stop %s >\"$HOME/%[2]s\"' setsid claude >/dev/null 2>&1 &", entrypoint, left[i])
	}
	expectIs(t, "the launch's own", box.play(code, "ccc", "--supervisor"), testSession+" reviewed\n")
	for _, session := range left {
		await(t, func() string { return box.read(session) }, session+" let go\n")
	}
}

// In a PID namespace of its own a hook can't see its client. One that CLAUDE_CODE_SHELL_PREFIX makes changes nothing: the review
// goes on to its verdict. A claude in one that a tool has made does not take the launch over, and ccc review is refused.
func TestNamespace(t *testing.T) {
	box := newHookBox(t)
	const namespace = "unshare -Urpf --mount-proc "
	if got := box.run(10*time.Second, "", strings.Fields(namespace+"true")...); got.code != 0 {
		t.Skipf("no PID namespace: %s", got.stderr)
	}
	box.write(".claude/projects/x/1nner.jsonl", 0o600, "{}\n")
	box.reviews(fakeReview{runs("sleep 2"), decides(false, "not yet")})
	const prefixed = `ccc() { ` + namespace + `"$CCC" "$@"; }; `
	box.vars = append(box.vars, "CCC="+box.program())
	got := box.play(strings.Join([]string{prefixed + "stop " + testSession, "unset -f ccc",
		`ENTRYPOINT=sdk-cli PLAY="stop 1nner" ` + namespace + "claude",
		`CLAUDECODE=1 setsid ` + namespace + `ccc review 2>&1 | grep -o "not for the agent"`, "stop " + testSession},
		"\n"), "ccc", "--supervisor")
	expectIs(t, "what they saw", got, testSession+" reviewed\n1nner let go\nnot for the agent\n"+testSession+" reviewed\n")
}

// A session of 2.0's that runs through the upgrade has a launch of another form, and goes on as its state says.
func TestLaunchOfOlder(t *testing.T) {
	for members, want := range map[string]string{
		"": "reviewed", // CCC_SUPERVISOR=1
		`,"enabled":"off","switched_at":"2026-02-03T03:04:05Z"`: "let go",
	} {
		box := newHookBox(t)
		box.write(statePath, 0o600, stateText(testSession, 0, members))
		box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CCC_LAUNCH=12-345-c0ffee-4026531836.1700000000000")
		expectIs(t, "with "+members, box.play("stop "+testSession, "claude"), testSession+" "+want+"\n")
		if files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/launch-*")); len(files) != 0 {
			t.Errorf("it is claimed: %q", files)
		}
	}
}

// A background session is nobody's launch, though its service has the variables of one: it is not supervised, also when that
// launch's client has ended, until the user says so in it.
func TestBackgroundSession(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CCC_LAUNCH=1700000000000.x", "CLAUDE_JOB_DIR=/jobs/1")
	got := box.play("stop "+testSession+"; prompt "+testSession+" '/supervisor on'; stop "+testSession, "claude")
	expectIs(t, "what it saw", got, testSession+" let go\n"+testSession+" reviewed\n")
	if files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/launch-*")); len(files) != 0 {
		t.Errorf("it is claimed: %q", files)
	}
}

// A launch is of one client, however many ask at once. When that has ended, it is of the next one as long as the launch's own
// process runs.
func TestClaim(t *testing.T) {
	d := stateDir(filepath.Join(t.TempDir(), "ccc"))
	self, above := os.Getpid(), os.Getppid()
	got := make(chan int)
	for n := range 20 {
		go func() {
			client, err := d.claim("1.a.1", self, []int{self, above}[n%2])
			if err != nil {
				t.Error(err)
			}
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
		{"1.c.3", self, gone, gone}, {"1.c.3", self, above, above}, {"1.c.3", self, self, above}, // its client has ended
		{"1.d.4", gone, gone, gone}, {"1.d.4", gone, self, gone}, {"1.d.4", gone, gone, gone}, // and its own process
		{"1.e", 0, gone, gone}, {"1.e", 0, self, gone}, // of 3.0
	} {
		client, err := d.claim(step.token, step.process, step.pid)
		if expectIs(t, fmt.Sprintf("%+v", step), client, step.want); err != nil {
			t.Error(err)
		}
	}
	if client, err := stateDir("/dev/null/x").claim("1.a.1", self, self); client != self || err == nil {
		t.Errorf("where nothing can be written: %d, %v", client, err)
	}
}

// A state that can't be used leaves the last switch as the timeline has it.
func TestSwitchWithoutState(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"corrupt":     func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		for _, launched := range []bool{false, true} {
			box := newHookBox(t)
			box.inSession()
			word := "off"
			if !launched {
				box.vars, word = setEnv(box.vars, "CCC_SUPERVISOR", ""), "on"
			}
			box.submit("/supervisor " + word)
			check(t, spoil(filepath.Join(box.home, statePath)))
			got := box.stop("")
			expectIs(t, fmt.Sprint(name, ", switched ", word, ": is reviewed"), strings.Contains(got.stderr, "开始执行"), !launched)
			expectIs(t, fmt.Sprint(name, ", switched ", word, ": an error"), strings.Contains(got.stderr, statePath), !launched)
		}
	}
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
