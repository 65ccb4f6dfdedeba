package main

// What runs in a copy runs as if there were none, and all of it ends.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A tryBox is a sandbox of a user outside the temporary directories: project, HOME and TMPDIR are in base,
// which a command in a copy may not write to.
type tryBox struct {
	*sandbox
	base    string
	uid     int
	scratch string // where ccc writes what is written in the copies of this box
}

// copies caches whether a user can make a copy here: "", or why not.
var copies sync.Map

// tryScratchRoot is where the boxes' copies are written: in memory, if that keeps what an overlay notes there
// (Linux 6.6), else on disk.
var tryScratchRoot = sync.OnceValue(func() string {
	if syscall.Setxattr(scratchRoot, "user.ccc", []byte("x"), 0) != nil {
		return "/var/tmp"
	}
	return scratchRoot
})

// newTryBox makes a box of the user uid. It skips the test if that one can make no copy.
func newTryBox(t *testing.T, uid int) *tryBox {
	t.Helper()
	var base string
	for _, dir := range []string{"/opt", "/srv", os.Getenv("HOME")} {
		isTemp := inside(dir, os.TempDir()) || inside(dir, "/tmp") || inside(dir, "/var/tmp")
		if base == "" && dir != "" && !isTemp {
			base, _ = os.MkdirTemp(dir, "ccc-test-")
		}
	}
	if base == "" {
		skipTry(t, "no directory outside the temporary ones to work in")
	}
	root, err := os.MkdirTemp(tryScratchRoot(), "ccc-scratch")
	check(t, errors.Join(err, os.Chmod(root, 0o777|fs.ModeSticky), os.Chmod(base, 0o755)))
	box := &tryBox{&sandbox{t: t, home: base + "/home", work: base + "/work"}, base, uid,
		filepath.Join(root, fmt.Sprint(".ccc-try-", uid))}
	if os.Getuid() == 0 {
		box.runAs = uint32(uid)
	}
	check(t, errors.Join(os.MkdirAll(box.work+"/.git", 0o755), os.Mkdir(base+"/bin", 0o755)))
	self, _ := os.Executable()
	if os.Link(self, base+"/bin/ccc") != nil {
		check(t, exec.Command("cp", self, base+"/bin/ccc").Run())
	}
	check(t, os.Chmod(base+"/bin/ccc", 0o755))
	box.put(map[string]string{
		"work/notes": "a note\n", "work/sub/deep": "deep\n", "home/.profile": "mine\n", "tmp/t": "temp\n"})
	box.vars = []string{"PATH=" + base + "/bin:" + os.Getenv("PATH"), "HOME=" + box.home,
		"TMPDIR=" + base + "/tmp", "GORACE=" + noRaceSleep, testMainVariable + "=1",
		testScratchVariable + "=" + root}
	t.Cleanup(func() {
		expectEqual(t, "what still runs at the end", box.quiet(5*time.Second), nil)
		box.kill()
		expectEqual(t, "what copies leave", box.scratches(), nil)
		removeTree(root)
		removeTree(base)
	})
	why, known := copies.Load(uid)
	if !known {
		if why = ""; box.try("true").code != 0 {
			why = box.try("true").stderr
		}
		copies.Store(uid, why)
	}
	if why != "" {
		skipCopy(t, box.command("ccc"), why.(string))
	}
	return box
}

// put writes files below base, and gives all of it to the user of the box.
func (box *tryBox) put(files map[string]string) {
	box.t.Helper()
	for name, content := range files {
		path := filepath.Join(box.base, name)
		check(box.t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(box.t, os.WriteFile(path, []byte(content), 0o644))
	}
	check(box.t, filepath.WalkDir(box.base, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, box.uid, box.uid))
	}))
}

// eachUser runs test as an ordinary user; if root runs all of them, as root, too. It is beside other tests.
func eachUser(t *testing.T, test func(t *testing.T, box *tryBox)) {
	t.Parallel()
	users := []int{os.Getuid()}
	switch isAll := os.Getenv(tryTestVariable) == "all"; {
	case os.Getuid() == 0 && isAll:
		users = []int{0, madeUpUser}
	case os.Getuid() == 0:
		users = []int{madeUpUser}
	}
	for _, uid := range users {
		t.Run(fmt.Sprint("uid_", uid), func(t *testing.T) { test(t, newTryBox(t, uid)) })
	}
}

// try runs ccc try with args to its end.
func (box *tryBox) try(args ...string) commandResult {
	return box.finish(box.command(append([]string{"ccc", "try"}, args...)...))
}

// shell runs a shell command line outside of a copy.
func (box *tryBox) shell(line string) commandResult { return box.finish(box.command("sh", "-c", line)) }

func (box *tryBox) finish(cmd *exec.Cmd) commandResult { return box.sandbox.finish(cmd, 2*time.Minute) }

// want runs a shell command line in a copy, and wants its output and exit code 0.
func (box *tryBox) want(stdout, line string) {
	box.t.Helper()
	expectEnd(box.t, line, box.try(line), 0, stdout, "")
}

// unchanged runs do and wants base to be as before: names, kinds, modes, owners, times, contents.
func (box *tryBox) unchanged(do func()) {
	box.t.Helper()
	more := func(_ string, info fs.FileInfo) string {
		stat := info.Sys().(*syscall.Stat_t)
		return fmt.Sprint(stat.Uid, stat.Gid, info.ModTime().UnixNano())
	}
	before := snapshotOf(box.base, more)
	do()
	expectEqual(box.t, "what is in "+box.base, snapshotOf(box.base, more), before)
}

// scratches lists the scratch directories of the box.
func (box *tryBox) scratches() (paths []string) {
	paths, _ = filepath.Glob(box.scratch + "/*")
	return paths
}

// What runs in a copy has the streams, the exit code, the bytes and the files that it has elsewhere.
func TestTryExit(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"work/script": "#!/no/such/interpreter\n", "work/data": ""})
		check(t, os.Chmod(box.work+"/script", 0o755))
		seen := fmt.Sprintf("%s\na note\nmine\ntemp\n%d\n%[2]d\ncat\n%[1]s\n3\n", box.work, box.uid)
		for _, test := range []struct {
			line           string
			code           int
			stdout, stderr string
		}{
			{`ccc try 'kill -TERM $$'`, 143, "", ""},
			{`ccc try '(sh -c "sleep 0.1; exit 9" &); sleep 0.3; exit 4'`, 4, "", ""}, // an orphan ends first
			{`ccc try printf '%s|' 'a b' '$HOME' '*' "$(printf '\377\376')"`, 0, "a b|$HOME|*|\xff\xfe|", ""},
			{`ccc try 'test -c /dev/ptmx && ls /dev/pts'`, 0, "ptmx\n", ""}, // as test runners open terminals
			{`ccc try -- '-foo 2>&- || echo hi'`, 0, "hi\n", ""},
			{`ccc try --timeout 20s sh -c 'exit 4' --timeout`, 4, "", ""},
			{`ccc try no-such-program x`, 127, "", "no-such-program"},
			{`ccc try ./script x`, 127, "", "script"},
			{`ccc try ./data x`, 126, "", "data"},
			{`ccc try --timeout 300ms 'sleep 60'`, 124, "", "ccc: try: ended at the timeout of 300ms\n"},
			{`printf in | ccc try 'cat; echo end; echo b >&2'`, 0, "inend\n", "b\n"},
			{`ccc try 'pwd; cat notes $HOME/.profile $TMPDIR/t; id -u; id -g; test -r /proc/self/environ &&
				cat /proc/self/comm && readlink /proc/self/cwd; echo >/dev/null; head -c 3 /dev/zero | wc -c
				test -w /dev/full && cat /dev/fd/0 </dev/null'`, 0, seen, ""},
			// A signal that is ignored, as under nohup, ends nothing.
			{`trap "" HUP; ccc try 'sleep 0.5; echo on' & sleep 0.2; kill -HUP $!; wait $!`, 0, "on\n", ""},
			// Two streams into one file stay in order; a pipe gets all; if its reader goes, the command ends.
			{`ccc try 'echo 1; echo 2 >&2; echo 3; echo 4 >&2' >>~/a 2>&1; cat ~/a`, 0, "1\n2\n3\n4\n", ""},
			{`[ "$(ccc try seq 20000 | cksum)" = "$(seq 20000 | cksum)" ]`, 0, "", ""},
			{`{ ccc try 'yes; exit 0'; echo $? >&2; } | head -n 1`, 0, "y\n", "0\n"},
			// Nobody reads: the timeout ends it all the same.
			{`mkfifo ~/p; sleep 9 <~/p & trap "kill $!" 0; ccc try --timeout 1s yes >~/p`, 124, "", "of 1s"},
			// The command's stdin is a pipe of ccc's own: what is written into it no shell outside runs.
			{`echo "ccc try 'echo touch ~/ran >/proc/self/fd/0' 2>&-" | cat | sh; [ ! -e ~/ran ]`, 0, "", ""},
			// If HOME or ccc.json can't be read, there is no copy, at once.
			{`env -u HOME ccc try 'echo ran'`, tryImpossible, "", "HOME"},
			{`env -u HOME CLAUDE_CONFIG_DIR=$HOME ccc try 'echo ran'`, tryImpossible, "", "HOME"},
			{`cd; mkdir .claude; mkfifo .claude/ccc.json; timeout 9 ccc try :`, tryImpossible, "", "json"},
			{`cd; rm .claude/*; echo { >.claude/ccc.json; ccc try ls`, tryImpossible, "", "ccc.json: line 1"},
			{`cd; rm -r .claude; ccc try`, 2, "", "no command"},
			{`ccc try --timeout 0 true`, 2, "", "above zero"},
			{`ccc try --no-such-flag true`, 2, "", "no-such-flag"},
			{"ccc " + tryInsideSubcommand, 2, "", "ccc try only"},
		} {
			expectEnd(t, test.line, box.shell(test.line), test.code, test.stdout, test.stderr)
		}
	})
}

// However it ends, all of it ends within a second, daemons too.
func TestTryEnds(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		const daemon = "mkfifo ~/said; (" + testMainVariable + "=daemon ccc >~/said &); head -c 5 ~/said; "
		for _, test := range []struct {
			script string
			signal syscall.Signal
			code   int
		}{
			{"exit 5", 0, 5},
			{"sleep 100", syscall.SIGTERM, 143},
			{"trap '' TERM INT HUP; sleep 100", syscall.SIGTERM, 143},
			{"sleep 100", syscall.SIGINT, 130},
			{"sleep 100", syscall.SIGHUP, 129},
			{"sleep 100", syscall.SIGKILL, -1},
			{"kill -STOP $$", syscall.SIGKILL, -1},
		} {
			what := fmt.Sprint(test.script, ", ", test.signal)
			cmd := box.started("try", daemon+"chmod 0 sub; mkdir -p ~/a/b; chmod 0 ~/a; "+test.script)
			if test.signal != 0 {
				time.Sleep(50 * time.Millisecond)
				check(t, cmd.Process.Signal(test.signal))
			}
			start := time.Now()
			_ = cmd.Wait()
			if test.signal != syscall.SIGKILL {
				expectEqual(t, what+": what runs when ccc has ended", box.processes(), nil)
				expectEqual(t, what+": what is left on disk", box.scratches(), nil)
			}
			limit := soon()
			expectEqual(t, what+": what runs soon after", box.quiet(limit), nil)
			took := time.Since(start)
			expectIs(t, fmt.Sprint(what, ": it took ", took), took < limit+time.Second, true)
			expectIs(t, what+": the exit code", cmd.ProcessState.ExitCode(), test.code)
		}
		// Another copy sees neither a killed one's scratch directory nor what was written, and sweeps it.
		cmd := box.started("try", "mkdir ~/b; : >~/b/x; chmod 0 sub ~/b; echo >notes; echo ready; sleep 100")
		box.want("0\na note\n", "ls -A "+box.scratch+" | wc -l; cat notes")
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
		box.quiet(soon())
		expectIs(t, "the scratch directories after it was killed", len(box.scratches()), 1)
		box.want("", "true")
	})
}

// started starts ccc with args, and returns once that has printed something.
func (box *tryBox) started(args ...string) *exec.Cmd {
	box.t.Helper()
	read, write, err := os.Pipe()
	check(box.t, err)
	cmd := box.command(append([]string{"ccc"}, args...)...)
	cmd.Stdout = write
	check(box.t, errors.Join(cmd.Start(), write.Close()))
	_, err = read.Read(make([]byte, 100))
	check(box.t, err)
	box.t.Cleanup(func() { read.Close() })
	return cmd
}

// Killed at any moment of its short life, it leaves no process and no mount, and what it wrote is swept.
func TestTryKilledAnytime(t *testing.T) {
	rounds := 15
	if os.Getenv(tryTestVariable) == "all" {
		rounds = 40
	}
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.unchanged(func() {
			for round := range rounds {
				cmd := box.command("ccc", "try", "echo >notes; sleep 100 & sleep 100")
				check(t, cmd.Start())
				time.Sleep(time.Duration(round) * 25 * time.Millisecond / time.Duration(rounds))
				s := []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[round%3]
				check(t, cmd.Process.Signal(s))
				_ = cmd.Wait()
				expectEqual(t, fmt.Sprintf("round %d, %v: what is left", round, s), box.quiet(soon()), nil)
			}
		})
		expectNotIn(t, "the mounts", readPage(t, "/proc/self/mountinfo"), "ccc-try")
		box.want("", "true")
	})
}

// On a terminal a command looks like one on a terminal. Ctrl-C ends it.
func TestTryTerminal(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		master, terminal := openTerminal(t, 80)
		on := func(argv ...string) *exec.Cmd {
			cmd := box.command(argv...)
			cmd.SysProcAttr.Setctty = true
			cmd.Stdin = terminal
			return cmd
		}
		expectEnd(t, "taking the terminal, or changing its mode", box.finish(on("ccc", "try",
			`[ -t 0 ] && ! setsid -cw true && ! chmod 666 /dev/tty`)), 0, "", "setsid: ")
		cmd := on("ccc", "try", "echo ready; sleep 100")
		output, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		output.Read(make([]byte, 10))
		master.Write([]byte{3})
		start := time.Now()
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() != 130 || time.Since(start) > soon() {
			t.Errorf("Ctrl-C: %v after %v", cmd.ProcessState, time.Since(start))
		}
	})
}

// The probe breaks out if it can, and tells what mends a machine.
func TestTryProbe(t *testing.T) {
	t.Parallel()
	box := newTryBox(t, os.Getuid())
	for mode, want := range map[string]string{
		"1":                 "<nil>",
		"ccc_without_walls": "was written to " + box.work,
		"ccc_that_fails":    "ended too early",
		"ccc_that_hangs":    "deadline",
	} {
		patience := time.Minute
		if want == "deadline" {
			patience = time.Second
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, _, err := tryProbe(ctx, box.work, setEnv(box.vars, testMainVariable, mode))
		cancel()
		expectIn(t, mode, fmt.Sprint(err), want)
		left, _ := filepath.Glob(box.work + "/.ccc-try*")
		expectEqual(t, mode+": what is left", left, nil)
	}
	// The probe's command outside of a copy, where it reaches the listener, and in copies.
	fd, err := onLoopback(0, syscall.Bind)
	check(t, errors.Join(err, syscall.Listen(fd, 1)))
	defer syscall.Close(fd)
	address, _ := syscall.Getsockname(fd)
	port := strconv.Itoa(address.(*syscall.SockaddrInet4).Port)
	if connectTo("tcp:"+port) == nil { // in a network namespace the loopback may be down
		outside := box.shell("ccc " + tryInsideSubcommand + " made " + port)
		expectEnd(t, "outside", outside, 1, "", "reached a listener")
	}
	probe := []string{"ccc", tryInsideSubcommand, "none/made", port}
	expectEnd(t, "a directory that is not there", box.try(probe...), 1, "", "can't be written to")
	probe[2] = "made"
	expectEnd(t, "a copy that holds", box.try(probe...), 0, "", "")
	homeless := box.try(append([]string{"env", "HOME=/none"}, probe...)...)
	expectEnd(t, "no HOME", homeless, tryHomeReadOnly, "", "")
	inner := box.try("ccc try true")
	expectEnd(t, "a copy in a copy", inner, tryImpossible, "", "ccc: try: no copy can be made: ")
	expectIs(t, "the lines of "+inner.stderr, strings.Count(inner.stderr, "\n"), 1)
}

// Each cause has what mends it.
func TestTryMends(t *testing.T) {
	const namespaces = "/proc/sys/user/max_mnt_namespaces"
	const appArmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	for _, test := range []struct {
		err               error
		path, text, wants string
	}{
		{syscall.EPERM, "/.dockerenv", "", "--security-opt seccomp=unconfined"},
		{syscall.EPERM, "/run/.containerenv", "", "--security-opt systempaths=unconfined"},
		{syscall.ENOSYS, "", "", "Linux 5.12"},
		{errFewNamespaces, namespaces, "0\n", "sudo sysctl user.max_mnt_namespaces=10000\n"},
		{errFewNamespaces, namespaces, "10\n", ""},
		{callError("close_range", syscall.EINVAL), "", "", "Linux 5.12"},
		{syscall.EACCES, appArmor, "1\n", "sudo apparmor_parser"},
		{syscall.EPERM, appArmor, "0\n", ""},
		{errors.New("/p/m " + mountedInProject), "/.dockerenv", "", ""},
	} {
		got := copyHint(test.err, func(path string) ([]byte, error) {
			if path != test.path {
				return nil, fs.ErrNotExist
			}
			return []byte(test.text), nil
		})
		if !strings.Contains(got+"\n", test.wants) || test.wants == "" && got != "" {
			t.Errorf("%v, %s: %q, want %q", test.err, test.path, got, test.wants)
		}
	}
}

// A file system that does not answer keeps a copy from being made, whether process 1 meets it or ccc itself.
func TestTryHungDrive(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		for _, variable := range []string{"NONE=", "NAMED=$PWD/hung"} {
			server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
			if err != nil {
				skipTry(t, err.Error())
			}
			defer server.Close() // which never answered
			const hung = "mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0,allow_other hung hung"
			const prepare = "cd work; mkdir -p hung; " + hung + "; timeout=500ms; export "
			got := box.inMounts(prepare+variable, "true", server)
			expectEnd(t, variable, got, tryImpossible, "", "no copy can be made")
			expectIs(t, variable+": it is soon told", got.took < 5*time.Second, true)
		}
	})
}

// machine tries what a copy takes of this machine, with no code of ccc's.
const machine = `[ "$(id -u)" = 0 ] || user=-Ur; unshare $user -m -p -n -i -u --fork sh -ec '
	mount -t tmpfs t /tmp; cd /tmp; mkdir root l u w pts
	mount --rbind / root; mount -t proc -o ro p root/proc
	options=lowerdir=l,upperdir=u,workdir=w,userxattr,volatile,index=off,metacopy=off,xino=off
	mount -t overlay -o $options o l; mount -t devpts -o newinstance d pts; chroot root true'`

func init() {
	machineCopies = func(cmd *exec.Cmd) bool {
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", machine}
		return cmd.Run() == nil
	}
	switch os.Getenv(testMainVariable) {
	case "connect":
		reach(os.Args[1:])
	case "ccc_without_walls": // process 1 builds nothing: ccc in-copy -scratch=... -dir=DIR ... FILE PORT
		dir := strings.TrimPrefix(os.Args[3], "-dir=")
		os.WriteFile(filepath.Join(dir, os.Args[len(os.Args)-2]), nil, 0o600)
		fmt.Fprint(os.NewFile(cccSocket, "ccc"), readyMessage)
	case "ccc_that_fails":
		os.Exit(3)
	case "ccc_that_hangs":
		time.Sleep(time.Minute)
	default:
		return
	}
	os.Exit(0)
}
