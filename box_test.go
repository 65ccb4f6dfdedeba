package main

// A sandbox: a home and a project in which ccc and a claude are played as processes.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

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
	client     realClient      // on the real client
	api        *scriptedAPI    // that it talks to
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

// beside has a test run beside others, with all its subtests: most of its time it waits, for what a client
// does by the clock.
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

// newSandbox makes a sandbox in which "claude" is the program at that path and "ccc" the test binary. From
// here on the test runs beside others. At its end the sandbox must be quiet: a process that still runs then
// fails the test, and is killed.
func newSandbox(t *testing.T, claude string) *sandbox {
	t.Helper()
	beside(t)
	// Not t.TempDir, whose name is as long as the test's: the paths of the sockets in here must stay under
	// 104 bytes.
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
	if box.settings() == noFile {
		box.setSettings(`{"env":{}}`)
	}
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
		found, err := exec.LookPath(filepath.Join(dir, argv[0]))
		if err == nil && !strings.Contains(path, "/") {
			path = found
		}
	}
	if !strings.Contains(path, "/") {
		box.t.Fatalf("%s is not in the PATH of the sandbox", argv[0])
	}
	leader := &syscall.SysProcAttr{Setsid: true}
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: box.work, Env: box.vars, SysProcAttr: leader}
	if box.runAs != 0 {
		leader.Credential = &syscall.Credential{Uid: box.runAs, Gid: box.runAs}
	}
	if box.terminalOf != nil { // each command's process session gets it anew
		cmd.ExtraFiles = []*os.File{box.terminalOf()}
		leader.Setctty = true
		leader.Ctty = 3 // in the child
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

// run runs argv to its end with stdin as its input. After timeout it kills the process group and reports what
// there is.
func (box *sandbox) run(timeout time.Duration, stdin string, argv ...string) commandResult {
	box.t.Helper()
	cmd := box.command(argv...)
	cmd.Stdin = strings.NewReader(stdin)
	return box.finish(cmd, timeout)
}

// finish is run for a command that was prepared otherwise, in a process group of its own. Of its output it
// returns what goes nowhere else.
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
	if !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay) {
		check(box.t, err)
	}
	code := cmd.ProcessState.ExitCode()
	return commandResult{stdout.String(), stderr.String(), code, timedOut, time.Since(start)}
}

// processes lists what runs in the sandbox as "PID command line". The mark is the HOME in the environment: it
// survives setsid, a change of directory and the death of the parent. Elsewhere than on Linux (/proc) the
// list is empty and proves nothing.
func (box *sandbox) processes() []string { return processesWith("\x00HOME=" + box.home + "\x00") }

// processesWith lists the tests' processes that have that in their environment, where a zero byte is before
// and after each variable.
func processesWith(text string) (found []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		env, err := os.ReadFile(path + "/environ") // fails for other users' and for ended ones
		if err == nil && strings.Contains("\x00"+string(env), text) {
			line, _ := os.ReadFile(path + "/cmdline")
			words := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
			found = append(found, filepath.Base(path)+" "+words)
		}
	}
	return found
}

// gone waits until no process of the sandbox is such a one, and returns those that still are after timeout.
func (box *sandbox) gone(timeout time.Duration, isOne func(process string) bool) (left []string) {
	pause := 20 * time.Millisecond
	for deadline := time.Now().Add(timeout); ; time.Sleep(pause) {
		left = slices.DeleteFunc(box.processes(), func(process string) bool { return !isOne(process) })
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		pause = min(2*pause, 200*time.Millisecond) // a look reads much of /proc
	}
}

// quiet waits until nothing runs in the sandbox, and returns what still does after timeout.
func (box *sandbox) quiet(timeout time.Duration) []string {
	return box.gone(timeout, func(string) bool { return true })
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
		name := strings.TrimPrefix(path, box.home+"/")
		isClaudes := strings.Contains(path, "/projects/") || strings.Contains(path, "/ccc/tree-")
		if err == nil && !info.IsDir() && !isClaudes {
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
	statePath  = ".claude/ccc/supervisor-" + testSession + ".json"
	outputPath = ".claude/ccc/supervisor-" + testSession + "-output.jsonl"
	eventsPath = ".claude/ccc/supervisor-" + testSession + "-events.jsonl"
	logPath    = ".claude/ccc/hook-invocation.log"
)

// stateText is the state file of a session; members are added to it as JSON.
func stateText(session string, count int, members string) string {
	const times = `"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"`
	return fmt.Sprintf(`{"session_id":%q,"count":%d%s,%s}`, session, count, members, times)
}

// log returns the session log, "" when there is none.
func (box *sandbox) log() string { return box.read(logPath) }

// stateDir is the state directory of the sandbox's ccc, to read it as ccc does, or to prepare it.
func (box *sandbox) stateDir() stateDir { return stateDir(filepath.Join(box.home, ".claude/ccc")) }

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

// setSettings writes settings.json, unless text is noFile. A real client that waits takes a tenth of a
// processor for its animations, unless it is told to have none.
func (box *sandbox) setSettings(text string) {
	box.t.Helper()
	if box.api != nil {
		text = strings.Replace(text, "{", `{"prefersReducedMotion":true,`, 1)
	}
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
	const replace = `rm "$1" && cat >"$1" && chmod 700 "$1"`
	got := box.run(10*time.Second, "#!/bin/sh\n"+script, "sh", "-c", replace, "sh", path)
	expectIs(box.t, "the exit code of "+got.stderr, got.code, 0)
}

// twoProviders is a ccc.json as a user writes it: kimi's token is a variable's value.
const twoProviders = `{
	"language" :  "zh",
  "providers": {
    "kimi": {"env": {"ANTHROPIC_BASE_URL": "https://kimi.example", "ANTHROPIC_AUTH_TOKEN": "${KIMI_TOKEN}",
                     "ANTHROPIC_MODEL": "k2", "TIMEOUT_MS": 600000000, "FAST": true,
                     "CLAUDE_CODE_USE_BEDROCK": "", "LITERAL": "a ${KIMI_TOKEN}"}},
    "glm":  {"env": {"ANTHROPIC_BASE_URL": "https://glm.example", "ANTHROPIC_AUTH_TOKEN": "t"}}
  }
}`

// question is the input of AskUserQuestion, with one question.
const question = `{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
	"options":[{"label":"SQLite","description":"one file"},{"label":"Postgres","description":"a server"}]}]}`

// terminal is a command in a detached tmux of its own, 120 by 40.
type terminal struct {
	box    *sandbox
	socket string
}

// reviewed returns how many reviews the session log tells of.
func (box *sandbox) reviewed() int { return strings.Count(box.log(), " review started ") }

// repository makes the working directory a git repository with one commit.
func (box *sandbox) repository() {
	box.t.Helper()
	// An hour ago, as git tells what was before a request in whole seconds.
	const commit = "git init -q; git add .; GIT_COMMITTER_DATE='%d +0000' git commit -qm x"
	box.gitIn(box.work, fmt.Sprintf(commit, ago(time.Hour).Unix()))
}

// newShowBox is a sandbox in UTC and of a terminal's width.
func newShowBox(t *testing.T, columns int) *sandbox {
	box := newHookBox(t)
	box.vars = append(box.vars, "TZ=UTC", fmt.Sprintf("COLUMNS=%d", columns))
	return box
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

// inSession gives the box the variables of a supervised session of Claude Code, which the test itself stands
// for.
func (box *sandbox) inSession() {
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work, "CCC_SUPERVISOR=1",
		fmt.Sprint("CLAUDE_PID=", os.Getpid()), "CLAUDE_CODE_ENTRYPOINT=cli")
}

// gitSettings are those of the tests' git. Without maintenance a commit is one process, and not three.
const gitSettings = "[user]\nname = u\nemail = u@example.com\n[init]\ndefaultBranch = main\n" +
	"[maintenance]\nauto = false\n[gc]\nauto = 0\n" +
	"[protocol \"file\"]\nallow = always\n[advice]\ndetachedHead = false\n"

// gitIn runs a script of git commands in dir, which is made for it, and returns what it prints.
func (box *sandbox) gitIn(dir, script string) string {
	box.t.Helper()
	needGit(box.t)
	check(box.t, os.MkdirAll(dir, 0o700))
	box.write("../gitconfig", 0o600, gitSettings)
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	system := filepath.Join(box.home, "../gitconfig")
	cmd.Env = append(slices.Clone(box.vars), "GIT_CONFIG_SYSTEM="+system)
	cmd.Env = append(cmd.Env, "GIT_TEMPLATE_DIR=") // no samples of hooks
	out, err := cmd.CombinedOutput()
	if err != nil {
		box.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}
