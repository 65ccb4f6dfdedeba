package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testMainVariable turns the test binary into another program: "1" is ccc, so
// that a test drives the real program through its exit; "daemon" is a process
// that leaves its session, ignores SIGTERM and lives for a minute. It is not
// named like ccc's own variables, which ccc demo keeps from its session.
const testMainVariable = "TEST_MAIN_OF_CCC"

// testManagedVariable names a file to stand for the administrator's settings.
const testManagedVariable = "TEST_MANAGED_SETTINGS"

// testPatienceVariable shortens what a trial of the hooks may take, testVersionVariable the same of claude
// --version.
const (
	testPatienceVariable = "TEST_TRIAL_PATIENCE"
	testVersionVariable  = "TEST_VERSION_PATIENCE"
)

// testScratchVariable names the directory for the scratch of copies. On a disk that takes a fifth of the
// tests' time.
const testScratchVariable = "TEST_SCRATCH"

// testTrustVariable takes copies on trust: to try one takes half the time of a stop. "none" lets none be
// made.
const testTrustVariable = "TEST_TRUST_COPIES"

// noRaceSleep is GORACE for what the tests start: else each process of a race run ends a second late.
const noRaceSleep = "atexit_sleep_ms=0"

// testSlowGitVariable leaves git the time that it has in ccc.
const testSlowGitVariable = "TEST_SLOW_GIT"

// promptPatience is how long git may take at a prompt in ccc.
var promptPatience = promptLookPatience

func TestMain(m *testing.M) {
	switch os.Getenv(testMainVariable) {
	case "1":
		managedSettings = os.Getenv(testManagedVariable)
		scratchRoot = cmp.Or(os.Getenv(testScratchVariable), scratchRoot)
		if shorter, err := time.ParseDuration(os.Getenv(testPatienceVariable)); err == nil {
			trialNotice, trialPatience = shorter/4, shorter
		}
		if shorter, err := time.ParseDuration(os.Getenv(testVersionVariable)); err == nil {
			versionPatience = shorter
		}
		if os.Getenv(testTrustVariable) == "" { // on a busy machine the probe itself takes long
			probePatience = time.Minute
		} else {
			tryProbe = func(ctx context.Context, _ string, _ []string) (bool, string, error) {
				switch os.Getenv(testTrustVariable) {
				case "slow":
					<-ctx.Done()
				case "none":
					return false, "", errors.New(noNamespaces)
				}
				return false, "", ctx.Err()
			}
		}
		if os.Getenv(testSlowGitVariable) == "" { // on a busy machine git is slow, and that breaks no promise
			reviewLookPatience, promptLookPatience = time.Minute, 20*time.Second
		}
		main()
	case "daemon":
		syscall.Setsid()
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	// Under nohup, or before an & in a script, these are ignored, and what the tests start would ignore them
	// too.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	// Many tests wait for other processes most of the time.
	atOnce, isReal := "12", os.Getenv("CCC_REAL_CLAUDE") != ""
	if isReal { // a real client takes a second of a processor to start
		atOnce = "8"
	}
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	flag.Parse() // -parallel counts more
	reviewLookPatience, versionPatience = time.Minute, time.Minute
	promptLookPatience = time.Minute
	os.Setenv("GORACE", noRaceSleep)
	onDisk := os.Getenv(tryTestVariable) == "all" || flag.Lookup("test.bench").Value.String() != "" ||
		isReal // its sandbox has another /dev
	made := ""
	if !onDisk && os.Getenv("TMPDIR") == "" {
		made = scratchInMemory()
	}
	if made != "" {
		os.Setenv("TMPDIR", memory)
		scratchRoot = made
		os.Setenv(testScratchVariable, made)
	}
	code := m.Run()
	removeTree(made) // what a killed copy leaves may be closed
	os.Exit(code)
}

// memory is where tests write, if they can: thousands of small files, many of them synced.
const memory = "/dev/shm"

// scratchInMemory makes a directory there that no other run sweeps, for copies of whichever user; "" if there
// is no room, or programs don't run there.
func scratchInMemory() string {
	const noExec = 8
	var space syscall.Statfs_t
	err := syscall.Statfs(memory, &space)
	if err != nil || uint64(space.Bavail)*uint64(space.Bsize) < 1<<30 || space.Flags&noExec != 0 {
		return ""
	}
	dir, err := os.MkdirTemp(memory, "ccc-scratch")
	if err != nil || os.Chmod(dir, 0o777|fs.ModeSticky) != nil {
		return ""
	}
	return dir
}

// Help and version are asked for as of every program, after --supervisor too. All of it fits a screen of 80
// by 24; of every subcommand --help and `ccc help NAME` print a page of 12 lines at most, with an example. A
// wrong call is an error of two lines, the message and the synopsis.
func TestHelp(t *testing.T) {
	box := newFakeBox(t)
	run := func(line string) commandResult {
		return box.run(30*time.Second, "", append([]string{"ccc"}, strings.Fields(line)...)...)
	}
	whole := run("help").stdout
	for line, want := range map[string]string{"--help": whole, "--supervisor -h": whole,
		"help --help": "usage: ccc help", "--help log": "usage: ccc log", "log x --help": "usage: ccc log",
		"-v": "ccc ", "version": "ccc ", "--supervisor --version": "ccc "} {
		got := run(line)
		expectPrefix(t, line, got.stdout, want)
		expectEnd(t, line, got, 0, got.stdout, "")
	}
	for _, c := range commands() {
		page, synopsis := c.page(), c.usage()+"\n"
		expectPrefix(t, c.name, page, "usage: ccc "+c.name)
		expectIs(t, c.name+" has 12 lines at most", strings.Count(page, "\n") <= 12, true)
		expectWidth(t, page, 80)
		for _, f := range c.flags {
			flag := f.name + " " + f.value
			expectIn(t, "the page of "+c.name, page, "\n  "+flag, "["+strings.TrimSpace(flag)+"]")
		}
		for _, line := range []string{c.name + " --help", "help " + c.name} {
			expectEnd(t, line, run(line), 0, page, "")
		}
		code := 2
		if c.name == hookSubcommand {
			code = 1
		}
		message := "ccc: " + c.name + ": flag provided but not defined: -nonsense\n"
		got := run(c.name + " --nonsense")
		expectEnd(t, c.name+" --nonsense", got, code, "", message+synopsis)
		expectIs(t, c.name+" is listed", strings.Contains(whole, "  ccc "+c.name), c.name != hookSubcommand)
	}
	expectWidth(t, whole, 80)
	isOfScreen := strings.Count(whole, "\n") <= 22 // with the command and the next prompt
	expectIs(t, "it fits a screen", isOfScreen, true)
	for line, want := range map[string]string{
		"help x":       `no page "x"; there are demo, log, `,
		"status a":     `unexpected argument "a"`,
		"help log x":   `help: unexpected argument "x"`,
		"log --json=1": "log: invalid boolean value",
		"log -n":       "log: flag needs an argument: -n",
	} {
		expectEnd(t, line, run(line), 2, "", want)
	}
	for _, name := range []string{"review", trySubcommand} {
		const empty = ": the first argument is empty\nusage: ccc "
		expectEnd(t, name+" ''", box.run(30*time.Second, "", "ccc", name, ""), 2, "", "ccc: "+name+empty+name)
	}
	expectEqual(t, "the files", box.files(), nil)
	expectIs(t, "without a word: the exit code", run("").code, 0)
	expectIs(t, "the sessions", box.calls("agent"), 1)
}

// The exit codes on the pages are those that scripts get.
func TestHelpCodes(t *testing.T) {
	for name, want := range map[string]string{"review": "0 1 2 3 4 130", "verdict": "0 1 2 3", "doctor": "1",
		trySubcommand: "124 125 126 else", "status": ""} {
		_, codes, _ := strings.Cut(commandNamed(name).page(), "Exit code:\n")
		var listed []string
		for line := range strings.Lines(codes) {
			listed = append(listed, strings.Fields(line)[0])
		}
		expectIs(t, "the page of "+name, strings.Join(listed, " "), want)
	}
	for _, line := range commandNamed("verdict").codes {
		code, words, _ := strings.Cut(line, " ")
		for word := range strings.SplitSeq(words, ", ") {
			if word, _, _ = strings.Cut(word, " ("); !strings.Contains(word, " ") {
				expectIs(t, "the code of "+word, code, fmt.Sprint(verdict(word).exitCode()))
			}
		}
	}
}

// ccc help config lists each key of ccc.json on a line, and its example, which is the guide's too, is a
// ccc.json with which a launch works.
func TestHelpConfig(t *testing.T) {
	var listed []string
	for _, key := range defaultConfig().keys() {
		listed = append(listed, key.path)
	}
	const keys = "max_iterations timeout_seconds max_budget_usd model provider allowed_tools review observe"
	expectIs(t, "the keys", strings.ReplaceAll(strings.Join(listed, " "), "supervisor.", ""),
		keys+" language providers.NAME.env")
	box := newFakeBox(t)
	box.vars = append(box.vars, "KIMI_TOKEN=SECRET")
	page := box.ccc("help", "config")
	expectWidth(t, page, 80)
	expectIs(t, "it fits a terminal of 24 lines, with a prompt", strings.Count(page, "\n") <= 23, true)
	for _, key := range listed {
		expectIn(t, "the page", page, "\n  "+key+" ")
	}
	_, example, _ := strings.Cut(page, "\nExample, for ccc --supervisor kimi;")
	_, example, _ = strings.Cut(example, "\n")
	example, _, _ = strings.Cut(example, "\n\n")
	box.write(".claude/ccc.json", 0o600, example)
	l, got := box.plan("--supervisor", "kimi", "-p", "hi")
	expectEnd(t, "a launch with the example", got, 0, "", "")
	expectEqual(t, "the token", valuesOf(l.env, tokenVariable), []string{"SECRET"})
	expectEqual(t, "the window", valuesOf(l.env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS"), []string{"262144"})
	for _, guide := range pages[1] {
		expectIn(t, guide, readPage(t, guide), "```json\n"+strings.TrimSpace(example)+"\n```")
	}
}

// An error is told with its hint, on lines of its own, and ends ccc with its code; one that is no text ends
// it without a word. An error about a file has a command that shows who may, unless it has a hint of its own.
func TestReportedErrors(t *testing.T) {
	plain := errors.New("broken")
	hinted := failure{code: 3, err: plain, hint: "first:\nmake it"}
	denied := &fs.PathError{Op: "open", Path: "/none/a", Err: fs.ErrPermission}
	const toldHint = "     first:\n     make it\n"
	for name, test := range map[string]struct {
		err  error
		code int
		told string
	}{
		"none":          {withFileHint(nil, ""), 0, ""},
		"plain":         {plain, 1, "ccc: broken\n"},
		"with a hint":   {hinted, 3, "ccc: broken\n" + toldHint},
		"a hint alone":  {withHint(plain, editHint("/a b")), 1, "ccc: broken\n     ${EDITOR:-vi} '/a b'\n"},
		"not printable": {errors.New("a\x1b[31mb"), 1, "ccc: a␛[31mb\n"},
		"with a secret": {errors.New("no " + aSecret), 1, "ccc: no ***\n"},
		"of a file":     {withFileHint(denied, "edit"), 1, "ccc: " + denied.Error() + "\n     ls -ld /\n"},
		"of no file":    {withFileHint(plain, "edit"), 1, "ccc: broken\n     edit\n"},
		"with its own":  {withFileHint(hinted, "edit"), 3, "ccc: broken\n" + toldHint},
		"joined":        {errors.Join(plain, hinted), 3, "ccc: broken\nbroken\n" + toldHint},
	} {
		var told strings.Builder
		expectIs(t, name, reportError(&told, test.err), test.code)
		expectIs(t, name, told.String(), test.told)
	}
	expectIs(t, "what is wrapped", errors.Is(hinted, plain), true)
}
