package main

// The fake claude, testdata/claude: what a test prepares for it to play. What it
// recorded is under the home, as in box.read("../fake/reviewer-1.stdin").

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// raceEnabled tells whether this is the race detector's run: it multiplies memory and time.
var raceEnabled = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()

// check ends the test where something that it needs went wrong.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expectEnd wants a command to end with that code, that on stdout, receipts aside, and a text to be in its stderr, which
// is empty where that is "".
func expectEnd(t *testing.T, what string, got commandResult, code int, stdout, stderr string) {
	t.Helper()
	isSaid := strings.Contains(got.stderr, stderr) && (got.stderr == "") == (stderr == "")
	if got.code != code || decided(got.stdout) != stdout || !isSaid {
		t.Errorf("%s: %+v, want exit code %d, %q and in stderr %q", what, got, code, stdout, stderr)
	}
}

// expectIs wants a value, what names it, to be that one.
func expectIs[T comparable](t *testing.T, what any, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%v: got %#v, want %#v", what, got, wanted)
	}
}

// expectEqual is expectIs for lists.
func expectEqual[T comparable](t *testing.T, what any, got, wanted []T) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("%v: got %#v, want %#v", what, got, wanted)
	}
}

// expectIn wants each of these in a text, what names it.
func expectIn(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, part := range wanted {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// expectPrefix wants a text, what names it, to begin so.
func expectPrefix(t *testing.T, what, text, wanted string) {
	t.Helper()
	if !strings.HasPrefix(text, wanted) {
		t.Errorf("%s: got %q, want it to begin with %q", what, text, wanted)
	}
}

// expectSuffix wants a text, what names it, to end so.
func expectSuffix(t *testing.T, what, text, wanted string) {
	t.Helper()
	if !strings.HasSuffix(text, wanted) {
		t.Errorf("%s: got %q, want it to end with %q", what, text, wanted)
	}
}

// expectError wants an error, what names where it comes from, that says this.
func expectError(t *testing.T, what string, err error, wanted string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), wanted) {
		t.Errorf("%s: got the error %v, want one with %q", what, err, wanted)
	}
}

// expectCounts wants each of these so often in a text, what names it.
func expectCounts(t *testing.T, what, text string, wanted map[string]int) {
	t.Helper()
	for part, want := range wanted {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%s holds %q %d times, want %d:\n%s", what, part, got, want, text)
		}
	}
}

// lastReview returns the last review that has ended in a timeline, and ends the test where there is none.
func lastReview(t *testing.T, lines []entry) review {
	t.Helper()
	ends := endsOf(lines)
	if len(ends) == 0 {
		t.Fatal("no review has ended")
	}
	return ends[len(ends)-1]
}

// endsOf returns the reviews that have ended in a timeline.
func endsOf(lines []entry) (ends []review) {
	for _, e := range lines {
		if e.Review != nil && !e.Review.Ended.IsZero() {
			ends = append(ends, *e.Review)
		}
	}
	return ends
}

// expectNotIn wants none of these in a text, which is there: in nothing there is nothing.
func expectNotIn(t *testing.T, what, text string, unwanted ...string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s is empty", what)
	}
	for _, part := range unwanted {
		if strings.Contains(text, part) {
			t.Errorf("%s holds %q:\n%s", what, part, text)
		}
	}
}

// onlyRoot skips a test that needs root, and files of other users.
func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can prepare this")
	}
	users, _ := os.ReadFile("/proc/self/uid_map")
	if strings.Join(strings.Fields(string(users)), " ") == "0 0 1" {
		t.Skip("in this user namespace there is no other user")
	}
}

// madeUpUser is nobody's uid and gid.
const madeUpUser = 54321

// sandboxKey is not a key; the client only wants something that looks like one.
const sandboxKey = "sk-dummy-000000000000000000000000"

// sandbox is a home, a working directory and an environment made from nothing,
// in which "claude" is the client under test.
type sandbox struct {
	t          *testing.T
	home       string
	work       string          // the project: no git repository, one file, notes.txt
	runAs      uint32          // the user and group of the commands, if not 0: see ordinary
	vars       []string        // the environment; append to it, the last of a name counts
	terminalOf func() *os.File // if set, makes the controlling terminal of each command
	api        *scriptedAPI    // that a real claude talks to
}

// placed holds for tests of which it is decided whether they run beside others.
var placed sync.Map

// alone has a test that makes a sandbox run beside no other. It has to be called before that.
func alone(t *testing.T) {
	t.Helper()
	if beside, is := placed.LoadOrStore(t, false); is && beside.(bool) {
		t.Fatal("this test runs beside others already")
	}
}

// beside has a test run beside others, with all its subtests: most of its time it waits, for what a client does by the clock.
func beside(t *testing.T) {
	if _, is := placed.LoadOrStore(t, true); !is {
		t.Parallel()
	}
}

// soon is a second, and up to twenty where other load makes this machine slow.
func soon() time.Duration {
	start := time.Now()
	_ = exec.Command("/bin/sh", "-c", ":").Run() // some 2 ms
	return min(time.Second+50*time.Since(start), 20*time.Second)
}

// newSandbox makes a sandbox in which "claude" is the program at that path and "ccc" the test binary. From here on the test runs
// beside others. At its end the sandbox must be quiet: a process that still runs then fails the test, and is killed.
func newSandbox(t *testing.T, claude string) *sandbox {
	t.Helper()
	beside(t)
	// Not t.TempDir, whose name is as long as the test's: the paths of the sockets in here must stay under 104 bytes.
	dir, err := os.MkdirTemp("", "ccc")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	box := &sandbox{t: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	for _, name := range []string{"home", "work", "bin", "tmp"} {
		check(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	self, err := os.Executable()
	check(t, err)
	for name, path := range map[string]string{"claude": claude, "ccc": self} {
		check(t, os.Symlink(path, filepath.Join(dir, "bin", name)))
	}
	box.vars = []string{
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + box.home,
		"TMPDIR=" + filepath.Join(dir, "tmp"),
		"TERM=xterm-256color",
		"LANG=zh_CN.UTF-8", "LC_CTYPE=C.UTF-8", // the characters are there without the locale
		"SHELL=/bin/sh",
		testMainVariable + "=1",
		testScratchVariable + "=" + scratchRoot,
		"GORACE=" + noRaceSleep,
	}
	box.write("../work/notes.txt", 0o600, "a note\n")
	t.Cleanup(func() {
		if left := box.quiet(20 * time.Second); len(left) != 0 {
			t.Errorf("still running at the end: %.300q", left)
			box.kill()
		}
	})
	return box
}

// program is the path of the sandbox's ccc, a link in its PATH.
func (box *sandbox) program() string { return filepath.Join(filepath.Dir(box.home), "bin/ccc") }

// use makes api the one that the sandbox's claude talks to, and its proxy.
func (box *sandbox) use(api *scriptedAPI) {
	box.api = api
	box.vars = append(box.vars,
		"ANTHROPIC_BASE_URL="+api.URL,
		"ANTHROPIC_API_KEY="+sandboxKey,
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"IS_SANDBOX=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		"HTTP_PROXY="+api.URL,
		"HTTPS_PROXY="+api.URL,
		"NO_PROXY=127.0.0.1",
	)
	// What spares an interactive session the dialogs of a first start.
	box.write(".claude.json", 0o600, fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark",
		"hasSeenAutoDefaultNotice":true,"hasSeenAutoDefaultNudge":true,
		"bypassPermissionsModeAccepted":true,"customApiKeyResponses":{"approved":[%q],"rejected":[]},
		"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`,
		sandboxKey[len(sandboxKey)-20:], box.work))
}

// write puts a file under the home, with the directories it needs.
func (box *sandbox) write(name string, mode os.FileMode, content string) {
	box.t.Helper()
	path := filepath.Join(box.home, name)
	check(box.t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(box.t, os.WriteFile(path, []byte(content), mode))
}

// read returns a file under the home, "" when there is none.
func (box *sandbox) read(name string) string {
	box.t.Helper()
	data, err := os.ReadFile(filepath.Join(box.home, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		box.t.Fatal(err)
	}
	return string(data)
}

// command prepares argv in the working directory, as leader of a process session.
// A name without a slash is looked up in the PATH of the sandbox.
func (box *sandbox) command(argv ...string) *exec.Cmd {
	box.t.Helper()
	path := argv[0]
	for _, dir := range filepath.SplitList(box.getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, argv[0])); err == nil && !strings.Contains(path, "/") {
			path = found
		}
	}
	if !strings.Contains(path, "/") {
		box.t.Fatalf("%s is not in the PATH of the sandbox", argv[0])
	}
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: box.work, Env: box.vars, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if box.runAs != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: box.runAs, Gid: box.runAs}
	}
	if box.terminalOf != nil { // each command's process session gets it anew
		const inChild = 3
		cmd.ExtraFiles, cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = []*os.File{box.terminalOf()}, true, inChild
	}
	return cmd
}

// getenv returns a variable of the commands, "" when there is none.
func (box *sandbox) getenv(name string) string {
	for _, v := range slices.Backward(box.vars) {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// commandResult is how a command ended. code is -1 after a signal.
type commandResult struct {
	stdout, stderr string
	code           int
	timedOut       bool
	took           time.Duration
}

// run runs argv to its end with stdin as its input. After timeout it kills the process group and reports what there is.
func (box *sandbox) run(timeout time.Duration, stdin string, argv ...string) commandResult {
	box.t.Helper()
	cmd := box.command(argv...)
	cmd.Stdin = strings.NewReader(stdin)
	return box.finish(cmd, timeout)
}

// finish is run for a command that was prepared otherwise, in a process group of its own. Of its output it returns what goes nowhere else.
func (box *sandbox) finish(cmd *exec.Cmd, timeout time.Duration) commandResult {
	box.t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	cmd.WaitDelay = 5 * time.Second // a process outside the group that holds the pipes must not hold the test
	start := time.Now()
	check(box.t, cmd.Start())
	end := time.AfterFunc(timeout, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	timedOut := !end.Stop()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		box.t.Fatal(err)
	}
	return commandResult{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), timedOut, time.Since(start)}
}

// processes lists what runs in the sandbox as "PID command line". The mark is the HOME in the environment: it survives setsid,
// a change of directory and the death of the parent. Elsewhere than on Linux (/proc) the list is empty and proves nothing.
func (box *sandbox) processes() []string { return processesWith("\x00HOME=" + box.home + "\x00") }

// processesWith lists the tests' processes that have that in their environment, where a zero byte is before and after each variable.
func processesWith(text string) (found []string) {
	for _, id := range processIDs() {
		env, err := os.ReadFile("/proc/" + id + "/environ") // fails for other users' and for ended ones
		if err == nil && strings.Contains("\x00"+string(env), text) {
			line, _ := os.ReadFile("/proc/" + id + "/cmdline")
			found = append(found, id+" "+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return found
}

// processIDs lists what runs on this machine, on Linux.
func processIDs() (ids []string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if name := entry.Name(); name[0] <= '9' {
			ids = append(ids, name)
		}
	}
	return ids
}

// quiet waits until nothing runs in the sandbox, and returns what still does after timeout.
func (box *sandbox) quiet(timeout time.Duration) []string {
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		left := box.processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// kill ends, by pid, whatever runs in the sandbox.
func (box *sandbox) kill() {
	for _, process := range box.processes() {
		if pid, _ := strconv.Atoi(strings.Fields(process)[0]); pid > 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// files lists what is under the home, without Claude Code's own.
func (box *sandbox) files() (names []string) {
	box.t.Helper()
	err := filepath.Walk(box.home, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.Contains(path, "/projects/") && !strings.Contains(path, "/ccc/tree-") {
			name, _ := filepath.Rel(box.home, path)
			names = append(names, name)
		}
		return err
	})
	check(box.t, err)
	return names
}

// event returns a hook event of testSession; members are added to it as JSON.
func (box *sandbox) event(name, members string) string {
	text := fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":%q`, testSession, box.work, name)
	if members != "" {
		text += "," + members
	}
	return text + "}"
}

// hook has ccc answer an event.
func (box *sandbox) hook(event string) commandResult {
	box.t.Helper()
	return box.run(60*time.Second, event, "ccc", "supervisor-hook")
}

// stop has ccc answer a stop of testSession; members are added to the event.
func (box *sandbox) stop(members string) commandResult {
	box.t.Helper()
	return box.hook(box.event(eventStop, members))
}

// submit has ccc answer a prompt of the user's in testSession.
func (box *sandbox) submit(prompt string) commandResult {
	box.t.Helper()
	return box.hook(box.event(eventPrompt, `"prompt":`+string(encodeJSON(prompt))))
}

// The files of testSession in the state directory, and those for all sessions.
const (
	statePath   = ".claude/ccc/supervisor-" + testSession + ".json"
	outputPath  = ".claude/ccc/supervisor-" + testSession + "-output.jsonl"
	eventsPath  = ".claude/ccc/supervisor-" + testSession + "-events.jsonl"
	eventPath   = ".claude/ccc/supervisor-" + testSession + "-event.json"
	requestPath = ".claude/ccc/supervisor-" + testSession + "-request.md"
	logPath     = ".claude/ccc/hook-invocation.log"
	lockPath    = ".claude/ccc/state.lock"
)

// stateText is the state file of a session; members are added to it as JSON.
func stateText(session string, count int, members string) string {
	const times = `"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"`
	return fmt.Sprintf(`{"session_id":%q,"count":%d%s,%s}`, session, count, members, times)
}

// stateOn and stateOff are members of such a state.
const (
	stateOn  = `,"enabled":"on","switched_at":"2026-01-02T03:04:05Z"`
	stateOff = `,"enabled":"off","switched_at":"2026-01-02T03:04:05Z"`
)

// log returns the session log, "" when there is none.
func (box *sandbox) log() string { return box.read(logPath) }

// stateDir is the state directory of the sandbox's ccc, to read it as ccc does, or to prepare it.
func (box *sandbox) stateDir() stateDir { return stateDir(filepath.Join(box.home, ".claude/ccc")) }

// timeline returns the timeline of a session, without what a reviewer called and said, and without the begins of reviews.
func (box *sandbox) timeline(session string) (lines []entry) {
	box.t.Helper()
	begun := map[string]review{}
	err := readLines(box.stateDir().session(session).timelineFile(), func(line []byte) {
		e, ok := parseEntry(line)
		isBegin := e.Review != nil && e.Review.Ended.IsZero()
		if isBegin {
			begun[e.Review.ID] = *e.Review
		} else if e.Review != nil { // whose begin is in a line of its own
			whole := begun[e.Review.ID]
			check(box.t, json.Unmarshal(encodeJSON(e.Review), &whole))
			e.Review = &whole
		}
		if ok && !isBegin && (e.Step == nil || e.Step.Kind != stepCall && e.Step.Kind != stepWords) {
			lines = append(lines, e)
		}
	})
	check(box.t, err)
	return lines
}

// onlyTimeline returns the timeline of the one session of the sandbox.
func (box *sandbox) onlyTimeline() []entry {
	box.t.Helper()
	files, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	if len(files) > 1 {
		box.t.Fatalf("timelines: %q, want one", files)
	}
	for _, file := range files {
		id := strings.TrimPrefix(filepath.Base(file), "supervisor-")
		return box.timeline(strings.TrimSuffix(id, "-events.jsonl"))
	}
	return nil
}

// timelineVerdicts lists the verdicts of the one session of the sandbox.
func (box *sandbox) timelineVerdicts() (verdicts []verdict) {
	box.t.Helper()
	for _, r := range endsOf(box.onlyTimeline()) {
		verdicts = append(verdicts, r.Verdict)
	}
	return verdicts
}

// noFile stands for a settings.json that does not exist.
const noFile = "no file"

// settings returns settings.json, noFile if there is none.
func (box *sandbox) settings() string {
	box.t.Helper()
	if _, err := os.Lstat(filepath.Join(box.home, ".claude/settings.json")); err != nil {
		return noFile
	}
	return box.read(".claude/settings.json")
}

// setSettings writes settings.json, unless text is noFile.
func (box *sandbox) setSettings(text string) {
	box.t.Helper()
	if text != noFile {
		box.write(".claude/settings.json", 0o600, text)
	}
}

// launch makes a supervised launch, which must put hooks in settings.json, of a session without a prompt.
func (box *sandbox) launch() {
	box.t.Helper()
	got := box.run(60*time.Second, "", "ccc", "--supervisor")
	if got.code != 0 && box.api == nil || strings.Count(box.settings(), "supervisor-hook") < 4 {
		box.t.Fatalf("launch: %+v\n%s", got, box.settings())
	}
}

// claudeIs replaces claude by a shell script. A child writes it: what this
// process has open for writing, another test's fork may have too.
func (box *sandbox) claudeIs(script string) {
	box.t.Helper()
	path := filepath.Join(box.home, "../bin/claude")
	got := box.run(10*time.Second, "#!/bin/sh\n"+script, "sh", "-c", `rm "$1" && cat >"$1" && chmod 700 "$1"`, "sh", path)
	if got.code != 0 {
		box.t.Fatalf("%+v", got)
	}
}

// expectBounded runs stops as Claude Code would, each after a block with
// stop_hook_active, until one goes through, and fails when the loop does not end.
func (box *sandbox) expectBounded(most int) {
	box.t.Helper()
	active := `"stop_hook_active":false`
	for n := 0; ; n++ {
		got := box.stop(active)
		if got.code != 0 || got.timedOut {
			box.t.Fatalf("stop %d: %+v", n, got)
		}
		if got.stdout == "" {
			return
		}
		if decided(got.stdout) != blockNotYet || n >= most {
			box.t.Fatalf("stop %d is still blocked: %+v", n, got)
		}
		active = inTurn
	}
}

// twoProviders is a ccc.json as a user writes it: kimi's token is a variable's value.
const twoProviders = `{
	"language" :  "zh",
  "providers": {
    "kimi": {"env": {"ANTHROPIC_BASE_URL": "https://kimi.example", "ANTHROPIC_AUTH_TOKEN": "${KIMI_TOKEN}", "ANTHROPIC_MODEL": "k2",
                     "TIMEOUT_MS": 600000000, "FAST": true, "CLAUDE_CODE_USE_BEDROCK": "", "LITERAL": "a ${KIMI_TOKEN}"}},
    "glm":  {"env": {"ANTHROPIC_BASE_URL": "https://glm.example", "ANTHROPIC_AUTH_TOKEN": "t"}}
  }
}`

// question is the input of AskUserQuestion, with one question.
const question = `{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,"options":[
	{"label":"SQLite","description":"one file"},{"label":"Postgres","description":"a server"}]}]}`

// terminal is a command in a detached tmux of its own, 120 by 40.
type terminal struct {
	box    *sandbox
	socket string
}

// terminal starts argv, each word quoted for the shell, in the working directory. At the end of the test the tmux
// server is killed, and the sandbox then proves that nothing is left of it.
func (box *sandbox) terminal(argv ...string) *terminal {
	box.t.Helper()
	tty := &terminal{box, filepath.Join(filepath.Dir(box.home), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", box.work, "--"}
	args = append(args, argv...)
	// The pane outlives its command, so that its last words can be read.
	args = append(args, ";", "set-option", "-g", "remain-on-exit", "on",
		";", "set-option", "-g", "status", "off")
	box.t.Cleanup(tty.close)
	if out := tty.tmux(args...); out.code != 0 {
		box.t.Fatalf("tmux: %+v", out)
	}
	return tty
}

// close kills the tmux server. A claude that outlives its terminal is ended, and that is logged: it is Claude Code's
// own fault (seen once in some hundred runs), while anything of ccc's that is left fails the test.
func (tty *terminal) close() {
	panes := strings.Fields(tty.tmux("list-panes", "-a", "-F", "#{pane_pid}").stdout)
	tty.tmux("kill-server")
	claude := filepath.Join(filepath.Dir(tty.box.program()), "claude")
	for _, left := range tty.box.quiet(10 * time.Second) {
		fields := strings.Fields(left)
		if pid, _ := strconv.Atoi(fields[0]); pid > 0 && fields[1] == claude && slices.Contains(panes, fields[0]) {
			tty.box.t.Logf("outlives its terminal: %s", left)
			check(tty.box.t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}

// tmux runs one tmux command on the private socket.
func (tty *terminal) tmux(args ...string) commandResult {
	tty.box.t.Helper()
	return tty.box.run(10*time.Second, "", append([]string{"tmux", "-S", tty.socket}, args...)...)
}

// keys presses keys by their tmux names: "Enter", "Escape", "C-c", "Down".
func (tty *terminal) keys(names ...string) {
	tty.box.t.Helper()
	if out := tty.tmux(append([]string{"send-keys"}, names...)...); out.code != 0 {
		tty.box.t.Fatalf("tmux send-keys %q: %+v", names, out)
	}
}

// prompt submits text once the client is idle.
func (tty *terminal) prompt(text string) {
	tty.box.t.Helper()
	tty.waitUntil("an idle client", 90*time.Second, func(screen string) bool { return !strings.Contains(screen, "esc to interrupt") })
	tty.enter(text)
	// Where a menu has taken the place of the input line, the last line with its mark is the prompt as it was sent: another
	// Enter would answer the menu.
	isSent := func(screen string) bool {
		return menuEntry().MatchString(screen) || !strings.HasPrefix(inputLine(screen), "❯ "+text)
	}
	for range 5 { // a client that is still starting drops an Enter, and a slow one takes a second for another prompt
		if tty.shows(10*time.Second, isSent) {
			return
		}
		tty.keys("Enter")
	}
}

// menuEntry finds the marked entry of a menu.
var menuEntry = lazyRegexp(`(?m)^[ \x{a0}│]+❯[ \x{a0}]\d\.`)

// enter types text into the input line, and presses Enter once it stands there alone: in the same burst it would count as a
// pasted newline. What a starting client has dropped, or what the line held before, is deleted and typed again.
func (tty *terminal) enter(text string) {
	tty.box.t.Helper()
	for patience := 2 * time.Second; patience < 90*time.Second; patience *= 2 {
		tty.keys("-l", "--", text)
		if tty.shows(patience, func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ "+text) }) {
			tty.keys("Enter")
			return
		}
		tty.keys("C-e")
		tty.keys("-N", strconv.Itoa(80+len(text)), "BSpace")
		tty.shows(patience, func(screen string) bool { return !strings.Contains(inputLine(screen), text) })
	}
	tty.box.t.Fatalf("%q can't be typed:\n%s", text, tty.screen())
}

// inputLine returns the line of Claude Code's screen that takes the prompt, the last one that begins with its mark, or "".
func inputLine(screen string) string {
	for _, line := range slices.Backward(strings.Split(screen, "\n")) {
		if strings.HasPrefix(line, "❯") {
			return strings.ReplaceAll(line, "\u00a0", " ")
		}
	}
	return ""
}

// screen returns what the terminal shows, with wrapped lines joined.
func (tty *terminal) screen() string {
	tty.box.t.Helper()
	return tty.tmux("capture-pane", "-p", "-J").stdout
}

// waitFor waits until the screen contains text, wherever claude broke its
// lines, and fails the test when that takes longer than timeout.
func (tty *terminal) waitFor(text string, timeout time.Duration) {
	tty.box.t.Helper()
	tty.waitUntil(text, timeout, func(screen string) bool { return strings.Contains(unspaced(screen), unspaced(text)) })
}

// unspaced is a text without its white space.
func unspaced(text string) string { return strings.Join(strings.Fields(text), "") }

// waitUntil is waitFor for what is more than a text.
func (tty *terminal) waitUntil(what string, timeout time.Duration, there func(screen string) bool) {
	tty.box.t.Helper()
	if !tty.shows(timeout, there) {
		tty.box.t.Fatalf("no %q on the screen after %v:\n%s", what, timeout, tty.screen())
	}
}

// shows waits until there finds what it looks for on the screen, and tells whether it did before timeout. A look costs 5 ms of a
// processor, and eight tests on the real client wait beside each other.
func (tty *terminal) shows(timeout time.Duration, there func(screen string) bool) bool {
	for deadline := time.Now().Add(timeout); !there(tty.screen()); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// reviewed returns how many reviews the session log tells of.
func (box *sandbox) reviewed() int { return strings.Count(box.log(), " review started ") }

// choose takes what is marked in the menu that shows text. A menu that has just come drops an Enter, as a starting client does.
func (tty *terminal) choose(text string) {
	tty.box.t.Helper()
	tty.waitFor(text, 90*time.Second)
	for range 5 {
		tty.keys("Enter")
		if tty.shows(10*time.Second, func(screen string) bool { return !strings.Contains(screen, text) }) {
			return
		}
	}
}

// rewind takes the last prompt back, which then comes to the input line, some time after the menu is gone.
func (tty *terminal) rewind(prompt string) {
	tty.box.t.Helper()
	menu := func(screen string) bool { return strings.Contains(screen, "Restore the code") }
	for tries := 0; !menu(tty.screen()); tries++ {
		if tries == 5 {
			tty.box.t.Fatalf("Esc Esc shows no menu:\n%s", tty.screen())
		}
		tty.keys("Escape")
		time.Sleep(150 * time.Millisecond)
		tty.keys("Escape")
		tty.shows(10*time.Second, menu)
	}
	tty.keys("Up")
	time.Sleep(500 * time.Millisecond)
	tty.keys("Enter")
	tty.choose("Restore conversation")
	tty.shows(5*time.Second, func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ "+prompt) })
}

// repository makes the working directory a git repository with one commit.
func (box *sandbox) repository() {
	box.t.Helper()
	// An hour ago, as git tells what was before a request in whole seconds.
	box.gitIn(box.work, fmt.Sprintf("git init -q; git add .; GIT_COMMITTER_DATE='%d +0000' git commit -qm x", time.Now().Add(-time.Hour).Unix()))
}

// golden compares got with a file of testdata/show.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata/show", name)
	if *update {
		check(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// newShowBox is a sandbox in UTC and of a terminal's width.
func newShowBox(t *testing.T, columns int) *sandbox {
	box := newHookBox(t)
	box.vars = append(box.vars, "TZ=UTC", fmt.Sprintf("COLUMNS=%d", columns))
	return box
}

// installHooks writes the hooks of ccc into the box's settings.json, as a launch does.
func (box *sandbox) installHooks() {
	box.t.Helper()
	check(box.t, installHooks(dirs{claude: filepath.Join(box.home, ".claude")}, 60))
}

// ccc runs ccc and expects exit code 0 and silence on stderr.
func (box *sandbox) ccc(args ...string) string {
	box.t.Helper()
	got := box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
	if got.code != 0 || got.stderr != "" {
		box.t.Errorf("%q: got %+v", args, got)
	}
	return got.stdout
}

// What happened in a session: each of these is its line in the timeline, as of now, where the rest does not say when.

// prompted is a prompt of the user's.
func prompted(text string) entry { return entry{Time: now(), Prompt: &prompt{Text: text}} }

// switchedTo is a switch of supervision.
func switchedTo(m mode) entry {
	return entry{Time: now(), Switch: &switched{Mode: m}}
}

// did is a step of a reviewer's.
func did(s step) entry { return entry{Time: now(), Step: &s} }

// began is the begin of a review. It runs until its deadline, without one for an hour: see runsOn.
func began(r review) entry {
	r.Deadline = cmp.Or(r.Deadline, ago(-time.Hour))
	return lineOf(r, r.Begun)
}

// ended is the end of a review. It need not say what its begin has said.
func ended(r review) entry {
	r.Ended = cmp.Or(r.Ended, now())
	return lineOf(r, r.Ended)
}

// unnamed counts the reviews without an id.
var unnamed atomic.Int64

// lineOf is a line of a review: of a stop, and with an id of its own, where it says nothing else.
func lineOf(r review, at time.Time) entry {
	r.Event, r.ID = cmp.Or(r.Event, eventStop), cmp.Or(r.ID, fmt.Sprint("unnamed-", unnamed.Add(1)))
	return entry{Review: &r}.at(cmp.Or(at, now()))
}

// at is the same at another time.
func (e entry) at(t time.Time) entry {
	if e.Time = t; e.Review != nil {
		r := *e.Review
		if r.Ended.IsZero() || r.Begun.IsZero() || r.Begun.After(t) {
			r.Begun = t
		}
		if !r.Ended.IsZero() {
			r.Ended = t
		}
		e.Review = &r
	}
	return e
}

// in is the same in a project, which is the working tree of a review.
func (e entry) in(project string) entry {
	if e.Project = project; e.Review != nil {
		r := *e.Review
		r.Seen.Top = cmp.Or(r.Seen.Top, project)
		e.Review = &r
	}
	return e
}

// written are lines as ccc writes them: the begin of a review says what its end does not.
func written(lines ...entry) []entry {
	begun := map[string]bool{}
	for i, e := range lines {
		if e.Review == nil {
			continue
		}
		r := *e.Review
		if begun[r.ID] {
			r = r.addition()
		}
		begun[r.ID], lines[i].Review = true, &r
	}
	return lines
}

// historyOf is the history of a session with these lines.
func historyOf(lines ...entry) *history {
	h := &history{}
	for _, e := range written(lines...) {
		h.add(e)
	}
	for i := range h.Reviews { // as where no lock tells
		if r := &h.Reviews[i]; r.Ended.IsZero() && r.Deadline.After(time.Now()) {
			r.Verdict = verdictReviewing
		} else if r.Ended.IsZero() {
			r.Verdict, r.Error = verdictCancelled, errUserEnded.Error()
		}
	}
	return h
}

// timelineOf writes the timeline of a session: of entries and, as strings, lines.
func (box *sandbox) timelineOf(session string, lines ...any) {
	entries, text := make([]entry, len(lines)), ""
	for i, line := range lines {
		entries[i], _ = line.(entry)
	}
	for i, e := range written(entries...) {
		if other, isText := lines[i].(string); isText {
			text += other
		} else {
			text += string(encodeJSON(e)) + "\n"
			runsOn(box.t, box.stateDir().session(session), e)
		}
	}
	box.write(".claude/ccc/supervisor-"+session+"-events.jsonl", 0o600, text)
	if n := len(entries); n > 0 && !entries[n-1].Time.IsZero() { // it was written then
		check(box.t, os.Chtimes(box.stateDir().session(session).timelineFile(), time.Time{}, entries[n-1].Time))
	}
}

// testTimeline is the timeline that the texts of testdata/show are made from.
func testTimeline(t *testing.T) string {
	text, err := os.ReadFile("testdata/show/timeline.jsonl")
	check(t, err)
	return string(text)
}

// openTerminal opens a pseudo-terminal, on Linux: the side of whoever types, and the other.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	const tiocgptn, tiocsptlck = 0x80045430, 0x40045431
	if runtime.GOOS != "linux" {
		t.Skip("the numbers that open a terminal are Linux's")
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	var number, lock uint32
	size := [4]uint16{24, columns}
	for request, argument := range map[uintptr]unsafe.Pointer{
		tiocgptn:           unsafe.Pointer(&number),
		tiocsptlck:         unsafe.Pointer(&lock),
		syscall.TIOCSWINSZ: unsafe.Pointer(&size),
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument)); errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// onTerminal runs cmd on a terminal of so many columns and returns what it writes there.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns uint16) string {
	t.Helper()
	master, terminal := openTerminal(t, columns)
	cmd.Stdout = terminal
	check(t, cmd.Start())
	terminal.Close()
	var output bytes.Buffer
	output.ReadFrom(master) // ends with an error when the last writer has closed
	cmd.Wait()
	return output.String()
}

// inSession gives the box the variables of a supervised session of Claude Code, which the test itself stands for.
func (box *sandbox) inSession() {
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1",
		fmt.Sprint("CLAUDE_PID=", os.Getpid()), "CLAUDE_CODE_ENTRYPOINT=cli")
}

// asTool gives the box the variables of what an agent's tool starts; the test itself stands for the agent's client.
func (box *sandbox) asTool() {
	box.vars = append(box.vars, "CLAUDECODE=1", fmt.Sprint("CLAUDE_PID=", os.Getpid()))
}

// running has a review of the session run until the end of the test.
func running(t testing.TB, session sessionFiles, id string) {
	t.Helper()
	check(t, session.dir.create())
	release, err := session.hold(id)
	check(t, err)
	t.Cleanup(release)
}

// runsOn has the review that a line begins run until its deadline, as where no lock tells of it, in a copy.
func runsOn(t testing.TB, session sessionFiles, e entry) {
	t.Helper()
	if e.Review == nil || !e.Review.Ended.IsZero() {
		return
	}
	path := session.runningFile(e.Review.ID)
	if _, err := os.Stat(path); err != nil { // it is not held
		check(t, session.dir.create())
		check(t, os.WriteFile(path, []byte("another"), 0o600))
	}
}

// transcript writes what the events of testSession name as their transcript, and returns that member of an event.
func (box *sandbox) transcript(lines ...string) string {
	box.t.Helper()
	name := "projects/x/" + testSession + ".jsonl"
	box.write(name, 0o600, strings.Join(lines, "\n")+"\n")
	return fmt.Sprintf(`"transcript_path":%q`, filepath.Join(box.home, name))
}

// needGit skips the test where git is not installed.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed here")
	}
}

// gitIn runs a script of git commands in dir, which is made for it, and returns what it prints.
func (box *sandbox) gitIn(dir, script string) string {
	box.t.Helper()
	needGit(box.t)
	check(box.t, os.MkdirAll(dir, 0o700))
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(box.vars, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	cmd.Env = append(cmd.Env, "GIT_TEMPLATE_DIR=") // no samples of hooks
	// Without maintenance a commit is one process, and not three.
	settings := []string{"protocol.file.allow=always", "init.defaultBranch=main", "maintenance.auto=false", "gc.auto=0"}
	for i, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		box.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

const (
	testSession  = "0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10"
	testReviewer = "7e571e4e-51c8-4c5e-9a35-1f7d7c2e9f11" // the session of the fake reviewer, a fork
)

// fakeClaude is the path of the fake.
func fakeClaude() string {
	path, _ := filepath.Abs("testdata/claude") // a test has a working directory
	return path
}

// newFakeBox makes a sandbox whose claude is the fake. Unless the test prepares
// something else, the agent says "Done." in each turn and each review allows.
func newFakeBox(t *testing.T) *sandbox {
	t.Helper()
	box := newSandbox(t, fakeClaude())
	box.vars = append(box.vars, "FAKE_CLAUDE_DIR="+filepath.Join(box.home, "../fake"), testTrustVariable+"=1")
	box.write("../fake/turn", 0o600, "Done.\n")
	box.reviews(allows(""))
	return box
}

// newHookBox makes a sandbox with the fake and a conversation of testSession for the reviewer to fork. The reviewer
// says "not yet", unless the test prepares something else.
func newHookBox(t *testing.T) *sandbox {
	t.Helper()
	box := newFakeBox(t)
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(box.work, "-")
	box.write(".claude/projects/"+folder+"/"+testSession+".jsonl", 0o600, "{}\n")
	box.reviews(blocks("not yet"))
	return box
}

// environment returns the variables of a call of the fake, as of "reviewer-1", each between line breaks and without the
// quotes of its value; "" if there was no such call.
func (box *sandbox) environment(call string) string {
	box.t.Helper()
	text := regexp.MustCompile(`(?m)^export (\w+=)['"]`).ReplaceAllString(box.read("../fake/"+call+".env"), "\n$1")
	text = regexp.MustCompile(`(?m)['"]$`).ReplaceAllString(text, "")
	return strings.ReplaceAll(text, `\$`, "$") // where sh is bash
}

// forget removes what the fake recorded of a call.
func (box *sandbox) forget(call string) {
	paths, _ := filepath.Glob(filepath.Join(box.home, "../fake", call+".*"))
	for _, path := range paths {
		check(box.t, os.Remove(path))
	}
}

// blockNotYet is ccc's answer to a stop that such a reviewer has refused.
const blockNotYet = `{"decision":"block","reason":"not yet"}` + "\n"

// saidNotYet is what stderr has of it.
const saidNotYet = "[SUPERVISOR] 任务未完成\nnot yet\nAgent 将根据反馈继续工作\n"

// withoutReceipts returns what a client shows without the lines that tell what a verdict rests on, that no copy can be made, and how
// to have English.
func withoutReceipts(shown string) string {
	shown = strings.Replace(shown, introducedNoCopy.zh, "", 1)
	return regexp.MustCompile(`(?m)^Stop says: \[SUPERVISOR\] 审查 \d+/\d+：.*\n|^For English: .*\n`).ReplaceAllString(shown, "")
}

// decided returns an answer of ccc's without the receipt that stands beside a decision in a session.
func decided(stdout string) string {
	return regexp.MustCompile(`,"systemMessage":"(\\.|[^"\\])*"}`).ReplaceAllString(stdout, "}")
}

// turns prepares the agent's turns, from the first on. The lines of a turn are
// what the agent says, "sh CODE" or "ask JSON".
func (box *sandbox) turns(turns ...string) {
	box.t.Helper()
	for i, turn := range turns {
		box.write(fmt.Sprintf("../fake/turn-%d", i+1), 0o600, turn)
	}
}

// prompts prepares what is submitted after the first prompt.
func (box *sandbox) prompts(prompts ...string) {
	box.t.Helper()
	lines := strings.NewReplacer("\n", `\n`, "\x00", "\n").Replace(strings.Join(prompts, "\x00"))
	box.write("../fake/prompts", 0o600, lines)
}

// reviews prepares the reviewer's calls, from the first on; the last one repeats.
// The version of the fake must be set before.
func (box *sandbox) reviews(reviews ...fakeReview) {
	box.t.Helper()
	for i, review := range reviews {
		name := fmt.Sprintf("../fake/review-%d", i+1)
		if i == len(reviews)-1 {
			name = "../fake/review"
		}
		stream := &fakeStream{version: box.getenv("FAKE_CLAUDE_VERSION")}
		stream.add(`{"type":"system","subtype":"init","cwd":%s,"session_id":%q,"tools":["Bash","Edit","Read"],"mcp_servers":[],`+
			`"model":%q,"permissionMode":"dontAsk"}`, encodeJSON(box.work), testReviewer, fakeModel)
		for _, step := range review {
			step(stream)
		}
		box.write(name, 0o600, strings.Join(stream.lines, ""))
	}
}

// A fakeReview is what a reviewer does once its session has begun.
type fakeReview []fakeStep

// allows and blocks are the usual reviews.
func allows(feedback string) fakeReview { return usualReview(true, feedback) }
func blocks(feedback string) fakeReview { return usualReview(false, feedback) }

func usualReview(allow bool, feedback string) fakeReview {
	return fakeReview{
		calls("Bash", `{"command":"git diff --stat","description":"See what changed"}`, " main.go | 2 +-"),
		says("I have compared the changes with the request."),
		decides(allow, feedback),
	}
}

// fails is a review that ends with an API error.
func fails(text string) fakeReview {
	return fakeReview{says(text), func(s *fakeStream) { s.result(true, text, "") }, runs("exit 1")}
}

// A fakeStep is one thing that a fake reviewer does.
type fakeStep func(s *fakeStream)

// says shows a text.
func says(text string) fakeStep {
	return func(s *fakeStream) { s.message(`{"type":"text","text":%s}`, encodeJSON(text)) }
}

// calls shows a tool call and its result; input is JSON.
func calls(tool, input, output string) fakeStep {
	return func(s *fakeStream) {
		s.message(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}`, s.messages+1, tool, input)
		s.add(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result",`+
			`"content":%s}]},"session_id":%q}`, s.messages, encodeJSON(output), testReviewer)
	}
}

// runs has the fake run shell code; each line is code by itself.
func runs(code string) fakeStep {
	return func(s *fakeStream) {
		for line := range strings.Lines(code) {
			s.lines = append(s.lines, "sh "+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
}

// decides gives the verdict through --json-schema.
func decides(allow bool, feedback string) fakeStep {
	return func(s *fakeStream) {
		verdict := fmt.Sprintf(`{"allow_stop":%v,"feedback":%s}`, allow, encodeJSON(feedback))
		calls("StructuredOutput", verdict, "Structured output provided successfully")(s)
		s.result(false, verdict, verdict)
	}
}

// answers ends with a text, as a reviewer without --json-schema does.
func answers(text string) fakeStep {
	return func(s *fakeStream) {
		says(text)(s)
		s.result(false, text, "")
	}
}

const fakeModel = "claude-sonnet-4-6"

// A fakeStream is a reviewer's stream in the making, as a version prints it.
type fakeStream struct {
	version  string // "" is the newest
	lines    []string
	messages int
}

func (s *fakeStream) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...)+"\n")
}

func (s *fakeStream) message(format string, args ...any) {
	s.messages++
	s.add(`{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[%s],`+
		`"stop_reason":null,"usage":%s},"session_id":%q}`,
		s.messages, fakeModel, fmt.Sprintf(format, args...), fakeUsage(1), testReviewer)
}

// result ends the stream. verdict is JSON, "" for none. The session had cost 0.25
// before this review.
func (s *fakeStream) result(isError bool, text, verdict string) {
	cost := 0.0042 * float64(s.messages)
	rest := fmt.Sprintf(`"subtype":"success","is_error":%v,"num_turns":%d,"result":%s`, isError, s.messages+1, encodeJSON(text))
	if verdict != "" {
		rest += `,"structured_output":` + verdict
	}
	head := fmt.Sprintf(`"duration_ms":1000,"session_id":%q,"total_cost_usd":%.4f,"usage":%s`, testReviewer, 0.25+cost, fakeUsage(s.messages))
	last := fmt.Sprintf(`,"model_usage_since_last_result":{%q:{"costUSD":%.4f}}`, fakeModel, cost)
	if olderThan(s.version, "2.1.329") {
		last = ""
	}
	s.add(`{%s,%s,"type":"result"%s}`, head, rest, last)
}

func fakeUsage(messages int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}`,
		12*messages, 340*messages, 21000*messages, 85*messages)
}

// readLines passes on each line of the file at path, which may be missing. A last line without newline gets
// one.
func readLines(path string, line func([]byte)) error {
	r := lineReader{path: path, lines: lineWriter{line: line}}
	err := r.read()
	r.lines.close()
	return err
}
