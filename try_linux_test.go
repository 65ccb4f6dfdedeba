package main

// Who is in a copy reaches nothing outside, and all of it ends. The attacks run in a copy; each prints what it achieved, which must be
// nothing.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A tryBox is a sandbox outside the temporary directories: project, HOME and TMPDIR are in base, which the command
// may not write to.
type tryBox struct {
	*sandbox
	base string
	uid  int
}

// copies caches whether a user can make a copy here: nil, or why not.
var copies sync.Map

// tryScratchRoot is where the boxes' copies are written: in memory, if that keeps what an overlay notes there (Linux 6.6), else
// on disk.
var tryScratchRoot = sync.OnceValue(func() string {
	if syscall.Setxattr(scratchRoot, "user.ccc", []byte("x"), 0) != nil {
		return "/var/tmp"
	}
	return scratchRoot
})

// newTryBox makes a box of the user uid. It skips the test where that one can make no copy.
func newTryBox(t *testing.T, uid int) *tryBox {
	t.Helper()
	var base string
	home, _ := os.UserHomeDir()
	for _, dir := range []string{"/opt", "/srv", home} {
		if dir == "" { // without HOME that is the temporary directory
			continue
		}
		inTemp := slices.ContainsFunc([]string{os.TempDir(), "/tmp", "/var/tmp"}, func(temp string) bool { return inside(dir, temp) })
		if made, err := os.MkdirTemp(dir, "ccc-test-"); err == nil && !inTemp {
			base = made
			break
		}
	}
	if base == "" {
		skipTry(t, "no directory outside the temporary ones to work in")
	}
	t.Cleanup(func() { removeTree(base) })
	box := &tryBox{base: base, uid: uid, sandbox: &sandbox{t: t, home: base + "/home", work: base + "/work"}}
	for _, name := range []string{"home", "work", "tmp", "bin", "work/.git", "work/sub"} {
		check(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	for name, content := range map[string]string{"work/notes": "a note\n", "work/sub/deep": "deep\n", "home/.profile": "mine\n", "tmp/t": "temp\n"} {
		check(t, os.WriteFile(filepath.Join(base, name), []byte(content), 0o644))
	}
	self, _ := os.Executable()
	if os.Link(self, base+"/bin/ccc") != nil {
		if out, err := exec.Command("cp", self, base+"/bin/ccc").CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	os.Chmod(base+"/bin/ccc", 0o755)
	box.own()
	box.vars = []string{"PATH=" + base + "/bin:" + os.Getenv("PATH"), "HOME=" + box.home, "TMPDIR=" + base + "/tmp",
		testMainVariable + "=1", testScratchVariable + "=" + tryScratchRoot(), "GORACE=" + noRaceSleep}
	t.Cleanup(func() {
		if left := box.quiet(5 * time.Second); len(left) != 0 {
			t.Errorf("still running at the end: %q", left)
			box.kill()
		}
	})
	why, known := copies.Load(uid)
	if !known {
		why = ""
		cmd := box.cmd([]string{"ccc", "try", "true"})
		if output, err := cmd.CombinedOutput(); err != nil {
			why = fmt.Sprintf("%v: %s", err, output)
		}
		copies.Store(uid, why)
	}
	if why != "" {
		skipCopy(t, box.cmd([]string{"ccc"}), why.(string))
	}
	return box
}

// own gives all of base to the user of the box.
func (box *tryBox) own() {
	filepath.WalkDir(box.base, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			os.Lchown(path, box.uid, box.uid)
		}
		return nil
	})
}

// eachUser runs test as an ordinary user, beside other tests; where root runs all of them, as root, too.
func eachUser(t *testing.T, test func(t *testing.T, box *tryBox)) {
	t.Parallel()
	eachUserAlone(t, test)
}

// eachUserAlone is eachUser beside no other test.
func eachUserAlone(t *testing.T, test func(t *testing.T, box *tryBox)) {
	users := []int{os.Getuid()}
	switch isRoot := os.Getuid() == 0; {
	case isRoot && os.Getenv(tryTestVariable) == "all":
		users = append(users, madeUpUser)
	case isRoot:
		users = []int{madeUpUser}
	}
	for _, uid := range users {
		t.Run("uid_"+strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			test(t, newTryBox(t, uid))
		})
	}
}

// cmd prepares argv as the user of the box, with groups beside its own.
func (box *tryBox) cmd(argv []string, groups ...uint32) *exec.Cmd {
	cmd := box.command(argv...)
	if box.uid != os.Getuid() || len(groups) > 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(box.uid), Gid: uint32(box.uid), Groups: groups}
	}
	return cmd
}

// try runs ccc try with args to its end.
func (box *tryBox) try(args ...string) commandResult {
	return box.finish(box.cmd(append([]string{"ccc", "try"}, args...)))
}

func (box *tryBox) finish(cmd *exec.Cmd) commandResult { return box.sandbox.finish(cmd, 2*time.Minute) }

// want runs a shell command line in a copy and expects its output and exit code 0.
func (box *tryBox) want(stdout, line string) {
	box.t.Helper()
	if got := box.try(line); got.code != 0 || got.stdout != stdout || got.stderr != "" {
		box.t.Errorf("%s: %+v, want %q", line, got, stdout)
	}
}

// snapshot is all of base: names, kinds, modes, owners, contents.
func (box *tryBox) snapshot() string {
	var all strings.Builder
	filepath.WalkDir(box.base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == box.base+"/bin/ccc" {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		stat := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&all, "%s %v %d:%d %v", strings.TrimPrefix(path, box.base), info.Mode(), stat.Uid, stat.Gid, info.ModTime().UnixNano())
		if entry.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			fmt.Fprintf(&all, " %q", content)
		}
		all.WriteByte('\n')
		return nil
	})
	return all.String()
}

func TestTryExit(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		os.WriteFile(box.base+"/work/script", []byte("#!/no/such/interpreter\n"), 0o755)
		os.WriteFile(box.base+"/work/data", nil, 0o644)
		box.own()
		tests := []struct {
			args           []string
			code           int
			stdout, stderr string
		}{
			{[]string{"exit 3"}, 3, "", ""},
			{[]string{"kill -TERM $$"}, 143, "", ""},
			{[]string{"(sh -c 'sleep 0.1; exit 9' &); sleep 0.3; exit 4"}, 4, "", ""}, // an orphan ends first
			{[]string{"printf", "%s|", "a b", "$HOME", "*", "\xff\xfe\n"}, 0, "a b|$HOME|*|\xff\xfe\n|", ""},
			{[]string{"--", "printf", "-%s", "-x"}, 0, "--x", ""},
			{[]string{"--timeout", "20s", "sh", "-c", "exit 4", "--timeout"}, 4, "", ""},
			{[]string{"no-such-program", "x"}, 127, "", "no-such-program"},
			{[]string{"./script", "x"}, 127, "", "script"},
			{[]string{"./data", "x"}, 126, "", "data"},
			{[]string{"--timeout", "300ms", "sleep 60"}, 124, "", "ccc: try: ended at the timeout of 300ms\n"},
			{[]string{`pwd; cat notes $HOME/.profile $TMPDIR/t; id -u; id -g; test -r /proc/self/environ && cat /proc/self/comm && readlink /proc/self/cwd
				echo >/dev/null; head -c 3 /dev/zero | wc -c; test -w /dev/full && cat /dev/fd/0 </dev/null`}, 0,
				fmt.Sprintf("%s\na note\nmine\ntemp\n%d\n%[2]d\ncat\n%[1]s\n3\n", box.work, box.uid), ""},
		}
		for _, test := range tests {
			got := box.try(test.args...)
			if got.code != test.code || got.stdout != test.stdout || !strings.Contains(got.stderr, test.stderr) || test.stderr == "" && got.stderr != "" {
				t.Errorf("%q: %+v", test.args, got)
			}
		}
		// A signal that is ignored, as under nohup, ends nothing.
		ignoring := box.finish(box.cmd([]string{"sh", "-c", `trap "" HUP; ccc try "sleep 0.5; echo on" & sleep 0.2; kill -HUP $!; wait $!`}))
		expectEnd(t, "SIGHUP under nohup", ignoring, 0, "on\n", "")
		// The timeout begins when the copy stands.
		printed := strings.Fields(box.try("--timeout", "2s", "while date +%s%N; do sleep 0.1; done").stdout)
		if len(printed) == 0 {
			t.Fatal("the command did not run")
		}
		first, _ := strconv.Atoi(printed[0])
		last, _ := strconv.Atoi(printed[len(printed)-1])
		if took := time.Duration(last - first); took > 3*time.Second {
			t.Errorf("the command ran for %v", took)
		}
		cmd := box.cmd([]string{"ccc", "try", "cat; echo end; echo b >&2"})
		cmd.Stdin = strings.NewReader("in\n")
		if got := box.finish(cmd); got.stdout != "in\nend\n" || got.stderr != "b\n" {
			t.Errorf("the three streams: %+v", got)
		}
	})
}

// The command sees what it wrote, and nobody else ever does.
func TestTryWrites(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_SH)
		name := filepath.Base(box.base)
		box.unchanged(func() {
			box.want(strings.Repeat("x\nx\n3\n0\n", 7), fmt.Sprintf(`for dir in . sub ~ "$TMPDIR" /tmp /var/tmp /dev/shm; do (cd $dir && echo x >%[1]s && cat %[1]s && mkdir %[1]s-d && mv %[1]s %[1]s-d/b && cat %[1]s-d/b &&
				ln -s b %[1]s-d/c && ln %[1]s-d/b %[1]s-d/d && chmod 700 %[1]s-d/d && ls %[1]s-d | wc -l && rm -r %[1]s-d && ls -d %[1]s* 2>/dev/null | wc -l; touch %[1]s); done`, name))
			for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					t.Errorf("left in %s", dir)
				}
			}
			box.want("new\nnone\n", `echo new >notes; rm sub/deep; cat notes; mv sub gone; chmod 0 notes; touch -d 2001-01-01 notes; rm -rf sub; mkdir sub; ls sub;
				rm -rf .git ~/.profile; ln -s /etc ~/.profile; echo none`)
		})
	})
}

// What the environment says of Claude Code, ccc and its providers stays outside.
func TestTryEnvironment(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		os.Mkdir(box.home+"/.claude", 0o755)
		os.WriteFile(box.home+"/.claude/ccc.json", []byte(`{"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${KIMI_TOKEN}"}}}}`), 0o644)
		box.own()
		secrets := []string{"KIMI_TOKEN=s3cret", "ANTHROPIC_API_KEY=s3cret", "CLAUDE_CODE_SESSION_ID=s3cret", "CLAUDECODE=s3cret", tryVariable + "=s3cret"}
		box.vars = append(box.vars, append(secrets, "KEPT=yes")...)
		got := box.try("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; grep -c . /proc/1/environ")
		if strings.Contains(got.stdout+got.stderr, "s3cret") || !strings.Contains(got.stdout, "KEPT=yes\n") {
			t.Errorf("%+v", got)
		}
	})
}

// tryScratch lists the scratch directories of the box's user.
func (box *tryBox) tryScratch() (paths []string) {
	paths, _ = filepath.Glob(fmt.Sprintf("%s/.ccc-try-%d/*", tryScratchRoot(), box.uid))
	return paths
}

// However it ends, all of it ends within a second, daemons too.
func TestTryEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		signal syscall.Signal
		script string
		code   int
	}{
		{"command", 0, "exit 5", 5},
		{"sigterm", syscall.SIGTERM, "sleep 100", 143},
		{"sigterm_ignored", syscall.SIGTERM, "trap '' TERM INT HUP; sleep 100", 143},
		{"sigint", syscall.SIGINT, "sleep 100", 130},
		{"sighup", syscall.SIGHUP, "sleep 100", 129},
		{"sigkill", syscall.SIGKILL, "sleep 100", -1},
		{"sigkill_stopped", syscall.SIGKILL, "kill -STOP $$", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachUserAlone(t, func(t *testing.T, box *tryBox) {
				var stdout bytes.Buffer
				ready, write, err := os.Pipe()
				check(t, err)
				const daemon = "mkfifo ~/said; (" + testMainVariable + "=daemon ccc >~/said &); head -c 5 ~/said; "
				cmd := box.cmd([]string{"ccc", "try", daemon + "chmod 0 sub; mkdir -p ~/a/b; chmod 0 ~/a; " + test.script})
				cmd.Stdout, cmd.Stderr = write, &stdout
				check(t, cmd.Start())
				write.Close()
				if _, err := ready.Read(make([]byte, 100)); err != nil { // the daemon's "ready"
					t.Fatal(err, cmd.Wait(), stdout.String())
				}
				if test.signal != 0 {
					time.Sleep(50 * time.Millisecond)
					cmd.Process.Signal(test.signal)
				}
				start := time.Now()
				cmd.Wait()
				if left := box.processes(); len(left) != 0 && test.signal != syscall.SIGKILL {
					t.Errorf("when ccc has ended: %q", left)
				}
				limit := soon()
				if left := box.quiet(limit); len(left) != 0 || time.Since(start) > limit+time.Second {
					t.Errorf("after %v: %q", time.Since(start), left)
				}
				if got := cmd.ProcessState.ExitCode(); got != test.code {
					t.Errorf("exit code %d, want %d: %s", got, test.code, stdout.String())
				}
			})
		})
	}
}

// The scratch directory of a killed one is swept by the next.
func TestTrySwept(t *testing.T) {
	t.Parallel()
	eachUserAlone(t, func(t *testing.T, box *tryBox) {
		before := box.tryScratch()
		cmd := box.cmd([]string{"ccc", "try", "mkdir -p a/b; chmod 0 a; chmod 0 sub; mkdir ~/locked; touch ~/locked/x; chmod 0 ~/locked; echo ready; sleep 100"})
		out, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		out.Read(make([]byte, 10))
		isOld := func(path string) bool { return slices.Contains(before, path) }
		made := slices.DeleteFunc(box.tryScratch(), isOld)
		if len(made) == 0 {
			t.Error("no scratch directory is seen while it runs")
		}
		// Another copy sees it no more than its own.
		box.want("0\n", fmt.Sprintf("ls -A %s/.ccc-try-%d | wc -l", tryScratchRoot(), box.uid))
		cmd.Process.Kill()
		cmd.Wait()
		box.quiet(soon())
		isGone := func(path string) bool { return !slices.Contains(box.tryScratch(), path) }
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // one of made may be another test's
			box.want("", "true")
			left := slices.DeleteFunc(slices.Clone(made), isGone)
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("left: %q", left)
			}
		}
	})
}

// Killed at any moment of its short life, it leaves no process and no mount, and what it wrote is swept.
func TestTryKilledAnytime(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		rounds := 15
		if os.Getenv(tryTestVariable) == "all" {
			rounds = 40
		}
		box.unchanged(func() {
			for round := range rounds {
				cmd := box.cmd([]string{"ccc", "try", "echo >notes; sleep 100 & sleep 100"})
				check(t, cmd.Start())
				time.Sleep(time.Duration(round) * 25 * time.Millisecond / time.Duration(rounds))
				s := []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[round%3]
				cmd.Process.Signal(s)
				cmd.Wait()
				if left := box.quiet(soon()); len(left) != 0 {
					t.Fatalf("round %d, %v: left %q", round, s, left)
				}
			}
		})
		if mounts, _ := os.ReadFile("/proc/self/mountinfo"); bytes.Contains(mounts, []byte("ccc-try")) {
			t.Errorf("mounted:\n%s", mounts)
		}
	})
}

// Nobody reads what the command writes into a socket: the timeout ends it all the same. And a command that asks to be
// traced and stops has not ended.
func TestTryUnread(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		check(t, err)
		theirs := os.NewFile(uintptr(ends[0]), "theirs")
		defer syscall.Close(ends[1])
		cmd := box.cmd([]string{"ccc", "try", "--timeout", "300ms", "yes"})
		cmd.Stdout = theirs
		start := time.Now()
		err = cmd.Run()
		theirs.Close()
		if code := cmd.ProcessState.ExitCode(); code != 124 || time.Since(start) > 10*time.Second {
			t.Errorf("exit code %d after %v: %v", code, time.Since(start), err)
		}
	})
}

func init() {
	machineCopies = func(cmd *exec.Cmd) bool {
		cmd.Env = append(cmd.Env, testMainVariable+"=machine")
		return cmd.Run() == nil
	}
	switch os.Getenv(testMainVariable) {
	case "machine": // what a copy takes of this machine, with no code of ccc's; 1 where anything is refused
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{testMainVariable + "=machine_inside"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
		if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
		}
		if cmd.Run() != nil {
			os.Exit(1)
		}
	case "machine_inside":
		root, readOnly := []byte("/proc/root\x00"), [4]uint64{syscall.MS_RDONLY | syscall.MS_NOSUID}
		const closeRange, mountSetattr, recursive = 436, 442, 0x8000
		err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount("t", "/proc", "tmpfs", 0, ""),
			os.Mkdir("/proc/root", 0o700), os.Mkdir("/proc/l", 0o700), os.Mkdir("/proc/u", 0o700), os.Mkdir("/proc/w", 0o700), os.Mkdir("/proc/pts", 0o700),
			syscall.Mount("/", "/proc/root", "", syscall.MS_BIND|syscall.MS_REC, ""),
			rawCall(mountSetattr, ^uintptr(99), uintptr(unsafe.Pointer(&root[0])), recursive, uintptr(unsafe.Pointer(&readOnly)), 32),
			syscall.Mount("o", "/proc/l", "overlay", syscall.MS_NODEV, "lowerdir=/proc/l,upperdir=/proc/u,workdir=/proc/w,userxattr,volatile,index=off,metacopy=off,xino=off"),
			syscall.Mount("p", "/proc/root/proc", "proc", syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""),
			syscall.Mount("d", "/proc/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"),
			rawCall(closeRange, 3, 1<<32-1, 4), os.Chdir("/proc/root"), syscall.Chroot("."))
		if err != nil {
			os.Exit(1)
		}
	case "attack":
		for name := range strings.SplitSeq(os.Args[1], ",") {
			attacks[name](os.Args[2:])
		}
	case "ccc_without_walls": // a process 1 that builds nothing: ccc in-copy SCRATCH DIR ... FILE PORT
		os.WriteFile(filepath.Join(os.Args[3], os.Args[len(os.Args)-2]), nil, 0o600)
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

// attack runs attacks, named with commas between, in a copy; nothing of them may succeed.
func (box *tryBox) attack(name string, args ...string) {
	box.t.Helper()
	box.attackWith(box.cmd(append([]string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", name}, args...)))
}

func (box *tryBox) attackWith(cmd *exec.Cmd) {
	box.t.Helper()
	if got := box.finish(cmd); got.code != 0 || got.stdout != "" || got.stderr != "" {
		box.t.Errorf("%q: %+v", cmd.Args, got)
	}
}

// achieved tells what an attack got.
func achieved(what string, err error) {
	if err == nil {
		fmt.Println("achieved:", what)
	}
}

func rawCall(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

var attacks = map[string]func(args []string){
	"mounts": func([]string) {
		for _, dir := range []string{"/", "/usr", "/etc", "/var", "/proc/sys", "/dev", "/sys", os.Getenv("HOME")} {
			achieved("remount "+dir, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
			achieved("mount over "+dir, syscall.Mount("x", dir, "tmpfs", 0, ""))
			achieved("bind "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_BIND, ""))
			achieved("move "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_MOVE, ""))
			achieved("umount "+dir, syscall.Unmount(dir, syscall.MNT_DETACH))
			achieved("mount_setattr "+dir, restrict(dir, 0))
		}
		achieved("pivot_root", syscall.PivotRoot("/tmp", "/tmp"))
		achieved("chroot", syscall.Chroot("/tmp"))
		const openTree, fsopen, clone = 428, 430, 1
		root := []byte("/usr\x00")
		achieved("open_tree", rawCall(openTree, ^uintptr(99), uintptr(unsafe.Pointer(&root[0])), clone))
		kind := []byte("tmpfs\x00")
		achieved("fsopen", rawCall(fsopen, uintptr(unsafe.Pointer(&kind[0])), 0))
		achieved("the workshop", exec.Command("ls", copyRoot).Run())
	},
	"devices": func([]string) {
		for _, dir := range []string{os.Getenv("HOME"), "/tmp", "/dev", "/dev/shm"} {
			achieved("mknod in "+dir, syscall.Mknod(filepath.Join(dir, "node"), syscall.S_IFBLK|0o600, 8<<8))
			achieved("mknod null in "+dir, syscall.Mknod(filepath.Join(dir, "node"), syscall.S_IFCHR|0o600, 1<<8|3))
		}
		achieved("chmod /dev/null", os.Chmod("/dev/null", 0o666))
		achieved("utimes /dev/null", os.Chtimes("/dev/null", time.Now(), time.Now()))
		entries, _ := os.ReadDir("/dev")
		for _, entry := range entries {
			if !strings.Contains(" null zero full random urandom tty ptmx pts shm fd stdin stdout stderr ", " "+entry.Name()+" ") {
				achieved("/dev/"+entry.Name(), nil)
			}
		}
		_, err := os.Open("/dev/tty")
		achieved("the terminal", err)
	},
	"kernel": func([]string) {
		for path, text := range map[string]string{"/proc/sys/kernel/core_pattern": "core", "/proc/sysrq-trigger": "h", "/proc/sys/user/max_user_namespaces": "9",
			"/proc/sys/vm/drop_caches": "1", "/sys/power/state": "", "/sys/kernel/uevent_helper": "", "/sys/fs/cgroup/cgroup.procs": "1",
			"/sys/fs/cgroup/unified/cgroup.procs": "1", "/proc/irq/default_smp_affinity": "1", "/proc/mtrr": ""} {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteString(text)
			}
			achieved(path, err)
		}
		achieved("sethostname", syscall.Sethostname([]byte("x")))
		achieved("settimeofday", syscall.Settimeofday(&syscall.Timeval{}))
		achieved("reboot", syscall.Reboot(0))
	},
	"namespaces": func([]string) {
		for name, flag := range map[string]uintptr{"user": syscall.CLONE_NEWUSER, "mount": syscall.CLONE_NEWNS, "net": syscall.CLONE_NEWNET, "pid": syscall.CLONE_NEWPID,
			"user+all": syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | 0x02000000} {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
			achieved("clone "+name, cmd.Run())
			cmd = exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: flag}
			achieved("unshare "+name, cmd.Run())
		}
		achieved("setuid", syscall.Setuid(os.Getuid()+1))
		achieved("setgid", syscall.Setgid(os.Getgid()+1))
		achieved("setgroups", syscall.Setgroups([]int{0}))
	},
	"process_one": func([]string) {
		for s := syscall.Signal(1); s < 65; s++ {
			if s == 32 || s == 34 {
				// The C library's own, which Go handles for nobody: while a thread of process 1 has its signals
				// blocked, the kernel takes the default action, which is the end of a copy that nobody asked for.
				continue
			}
			if s != syscall.SIGKILL && s != syscall.SIGSTOP {
				signal.Ignore(s)
			}
			_ = syscall.Kill(1, s)
			if s != syscall.SIGKILL && s != syscall.SIGSTOP { // which nobody here can ignore
				_ = syscall.Kill(-1, s)
			}
		}
		time.Sleep(20 * time.Millisecond) // if it stopped or ended process 1, this one does not end well
	},
	// connect: every socket that an argument names.
	"connect": func(args []string) {
		for _, address := range args {
			achieved(address, connectTo(address))
		}
	},
	"loopback": func([]string) {
		_, address, err := listening("tcp4", "")
		if err = errors.Join(err, connectTo(address)); err != nil {
			fmt.Println(err)
		}
	},
	// processes: args are the ids of processes outside.
	"processes": func(args []string) {
		for _, arg := range args {
			pid, _ := strconv.Atoi(arg)
			achieved("signal to "+arg, syscall.Kill(pid, 0))
			comm, err := os.ReadFile("/proc/" + arg + "/cmdline")
			if err == nil && strings.Contains(string(comm), "ccc-test-outside") {
				achieved("sight of "+arg, nil)
			}
		}
		entries, _ := filepath.Glob("/proc/[0-9]*")
		if len(entries) > 5 {
			achieved(fmt.Sprintf("sight of %d processes", len(entries)), nil)
		}
	},
	// descriptors: args are files outside that must keep their content and mode.
	"descriptors": func(args []string) {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			name, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			fd, _ := strconv.Atoi(entry.Name())
			if fd > 2 && !strings.HasPrefix(name, "anon_inode") && !strings.Contains(name, "/proc/") && name != "" {
				achieved("descriptor "+entry.Name()+" "+name, nil)
			}
		}
		for fd := range 3 {
			path := fmt.Sprintf("/proc/self/fd/%d", fd)
			if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				achieved(fmt.Sprint("descriptor ", fd, info, err), nil)
			}
			_ = os.Chmod(path, 0o777)
			_ = syscall.Fchmod(fd, 0o777)
			const setPipeSize = 1031
			_ = rawCall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, syscall.O_NONBLOCK)
			_ = rawCall(syscall.SYS_FCNTL, uintptr(fd), setPipeSize, 4096)
			if file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
				_ = file.Truncate(0)
			}
			_, err := os.Open(path + "/..")
			achieved("the way up from "+path, err)
		}
	},
	"port80": func([]string) {
		fd, err := onLoopback(80, syscall.Bind)
		if err = errors.Join(err, syscall.Listen(fd, 1)); err != nil {
			fmt.Println(err)
		}
	},
	"terminal": func([]string) {
		const tiocsctty = 0x540e
		var info [64]byte
		if rawCall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&info))) != nil {
			fmt.Println("stdin is no terminal")
		}
		achieved("taking the terminal", rawCall(syscall.SYS_IOCTL, 0, tiocsctty, 1))
		achieved("changing its mode", os.Chmod("/dev/tty", 0o666)) // which is the mode that it has
	},
}

// connectTo connects to "tcp4:PORT", "tcp6:PORT", "unix:PATH" (a leading @ is abstract) or opens the other end of
// "fifo:PATH".
func connectTo(address string) error {
	kind, where, _ := strings.Cut(address, ":")
	if kind == "fifo" {
		file, err := os.OpenFile(where, os.O_WRONLY|syscall.O_NONBLOCK, 0) // ENXIO if nobody reads
		if err == nil {
			file.Close()
		}
		return err
	}
	fd, err := onSocket(kind, where, syscall.Connect)
	syscall.Close(fd)
	return err
}

// onSocket returns a socket on which do, bind(2) or connect(2), has worked: of "tcp4" or "tcp6" for a port of the loopback,
// with "" for any, or of "unix" for a path. Without the package net the test binary starts in half the time.
func onSocket(kind, where string, do func(fd int, address syscall.Sockaddr) error) (fd int, err error) {
	port, _ := strconv.Atoi(where)
	family, address := syscall.AF_UNIX, syscall.Sockaddr(&syscall.SockaddrUnix{Name: where})
	switch kind {
	case "tcp4":
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	case "tcp6":
		family, address = syscall.AF_INET6, &syscall.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	if fd, err = syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	patience := syscall.Timeval{Sec: 5}
	if err := errors.Join(syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &patience), do(fd, address)); err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// listening makes a socket that connectTo can reach at address.
func listening(kind, where string) (fd int, address string, err error) {
	if fd, err = onSocket(kind, where, syscall.Bind); err == nil {
		err = syscall.Listen(fd, 100)
	}
	switch bound, _ := syscall.Getsockname(fd); bound := bound.(type) {
	case *syscall.SockaddrInet4:
		where = strconv.Itoa(bound.Port)
	case *syscall.SockaddrInet6:
		where = strconv.Itoa(bound.Port)
	}
	return fd, kind + ":" + where, err
}

// listen makes what connectTo can reach and returns it.
func listen(t *testing.T, kind, where string) (address string) {
	t.Helper()
	if kind == "fifo" {
		err := syscall.Mkfifo(where, 0o666)
		file, openErr := os.OpenFile(where, os.O_RDWR, 0)
		if err = errors.Join(err, openErr, os.Chmod(where, 0o666)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close(); os.Remove(where) })
		return kind + ":" + where
	}
	fd, address, err := listening(kind, where)
	if err != nil {
		t.Fatal(kind, where, err)
	}
	t.Cleanup(func() {
		syscall.Close(fd)
		if filepath.IsAbs(where) {
			os.Remove(where)
		}
	})
	if filepath.IsAbs(where) {
		os.Chmod(where, 0o777)
	}
	return address
}

// Everything else is read-only, by whatever way.
func TestTryReadOnly(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		dirs := []string{box.base, box.base + "/bin", "/", "/usr", "/etc", "/opt", "/var", "/var/lib", "/run", "/dev", "/dev/pts", "/sys", "/proc", "/proc/sys", "/home", "/mnt"}
		box.want("", "for dir in "+strings.Join(dirs, " ")+`; do for do in touch mkdir; do $do $dir/ccc-was-here 2>&- && echo $do in $dir; done; done
			! chmod 777 `+box.base+" /dev/null /dev 2>&- && ! mv "+box.base+"/bin "+box.base+"/bun 2>&-")
		for _, dir := range dirs {
			if _, err := os.Lstat(dir + "/ccc-was-here"); err == nil {
				os.RemoveAll(dir + "/ccc-was-here")
				t.Errorf("%s is writable", dir)
			}
		}
		box.attack("mounts,devices,kernel")
	})
}

func TestTryPrivileges(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		const none = "0000000000000000"
		got := box.try("cat /proc/self/status")
		kept := none
		if box.uid == 0 {
			kept = "000000000000041b" // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, NET_BIND_SERVICE
		}
		expectIn(t, "the status of a process", got.stdout, "CapInh:\t"+none, "CapAmb:\t"+none, "CapEff:\t"+kept, "CapPrm:\t"+kept, "NoNewPrivs:\t1", fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d", box.uid))
		box.attack("namespaces,process_one")
		if box.uid == 0 || os.Getuid() != 0 {
			return
		}
		// A program that becomes root outside stays who it is inside.
		id, err := exec.LookPath("id")
		if err != nil {
			skipTry(t, err.Error())
		}
		check(t, exec.Command("cp", id, box.work+"/root-id").Run()) // what this process writes a fork may hold open
		check(t, os.Chmod(box.work+"/root-id", 0o755|os.ModeSetuid))
		if got := box.finish(box.cmd([]string{"./root-id", "-u"})); got.stdout != "0\n" {
			t.Logf("set-user-ID does not work here at all: %+v", got)
		}
		box.want(strconv.Itoa(box.uid)+"\n", "./root-id -u")
	})
}

// No socket of the host can be reached, wherever it is; in the places to write to and below /run also no named pipe, and
// nothing that is younger than the copy.
func TestTrySockets(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_SH)
		name := "/ccc-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(box.uid)
		addresses := []string{listen(t, "unix", "@"+name)}
		for _, kind := range []string{"tcp4", "tcp6"} { // which a container may lack, or where the loopback may be down
			if fd, address, err := listening(kind, ""); err == nil {
				if connectTo(address) == nil {
					addresses = append(addresses, listen(t, kind, ""))
				}
				syscall.Close(fd)
			}
		}
		if len(addresses) == 1 && os.Getenv(tryTestVariable) != "" {
			t.Error("nothing listens on the loopback")
		}
		places := []string{box.work, box.work + "/sub", box.home, box.base + "/tmp", "/tmp", "/var/tmp", "/dev/shm", "/run"}
		open := func(suffix string, dirs ...string) {
			for _, dir := range dirs {
				path := filepath.Join(dir, name+suffix)
				if os.WriteFile(path, nil, 0o600) != nil {
					continue // only root can
				}
				os.Remove(path)
				addresses = append(addresses, listen(t, "unix", path))
				if slices.Contains(places, dir) {
					addresses = append(addresses, listen(t, "fifo", path+".fifo"))
				}
			}
		}
		open("", append(places, box.base, "/var/lib", "/")...)
		for _, address := range addresses {
			if err := connectTo(address); err != nil {
				t.Errorf("%s can't be reached outside: %v", address, err)
			}
		}
		box.attack("connect", addresses...)
		cmd := box.cmd([]string{"ccc", "try", "echo ready; read go; env " + testMainVariable + "=attack ccc connect $go"})
		input, _ := cmd.StdinPipe()
		output, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		output.Read(make([]byte, 10))
		addresses = nil
		open("-late", places...)
		fmt.Fprintln(input, strings.Join(addresses, " "))
		said, _ := io.ReadAll(output)
		if err := cmd.Wait(); err != nil || len(said) != 0 {
			t.Errorf("late ones: %v\n%s", err, said)
		}
		// A command may make its own socket where the host's is.
		box.want("", "rm ."+name)
		// A loopback of its own is there, and works.
		box.want("", "env "+testMainVariable+"=attack ccc loopback")
	})
}

// Processes outside can't be seen or signalled, nor their memory be shared.
func TestTryProcesses(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		other := box.cmd([]string{"sh", "-c", "sleep 100; : ccc-test-outside"})
		check(t, other.Start())
		defer func() {
			syscall.Kill(-other.Process.Pid, syscall.SIGKILL)
			other.Wait()
		}()
		box.attack("processes", strconv.Itoa(other.Process.Pid), strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid()))
		const ipcCreate = 0o1000
		id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, 4096, ipcCreate|0o666)
		if errno != 0 {
			t.Fatal(errno)
		}
		defer syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
		expectEnd(t, "shared memory", box.try("cat /proc/sysvipc/shm | wc -l"), 0, "1\n", "")
	})
}

// What the caller has open is no way out.
func TestTryDescriptors(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		before := box.snapshot()
		file, err := os.OpenFile(box.base+"/bin", 0, 0)
		check(t, err)
		attack := []string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", "descriptors"}
		cmd := box.cmd(attack)
		cmd.ExtraFiles = []*os.File{file, file, file, file}
		for fd := range 3 {
			paths, files := []string{os.DevNull, os.DevNull, os.DevNull}, [3]*os.File{}
			paths[fd] = []string{box.base + "/tmp/t", box.home + "/.profile", box.work + "/notes"}[fd]
			for i, path := range paths {
				files[i], err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
				check(t, err)
				defer files[i].Close()
			}
			cmd := box.cmd(attack)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
			cmd.ExtraFiles = []*os.File{file, file}
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		}
		cmd.Stdin = file
		box.attackWith(cmd)
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
		check(t, err)
		cmd = box.cmd(attack)
		cmd.Stdin = os.NewFile(uintptr(socket), "socket")
		input := cmd.Stdin.(*os.File)
		defer input.Close()
		box.attackWith(cmd)
		if after := box.snapshot(); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
		if info, err := os.Stat(os.DevNull); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: %v %v", os.DevNull, info, err)
		}
		// Both streams into one file: in order, and behind what is there.
		log, _ := os.OpenFile(box.base+"/tmp/t", os.O_WRONLY|os.O_APPEND, 0)
		cmd = box.cmd([]string{"ccc", "try", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"})
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Run()
		if text, _ := os.ReadFile(box.base + "/tmp/t"); string(text) != "temp\n1\n2\n3\n4\n" {
			t.Errorf("got %q", text)
		}
	})
}

// On a terminal a command looks like one on a terminal. Ctrl-C ends it.
func TestTryTerminal(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		master, terminal := openTerminal(t, 80)
		on := func(argv ...string) *exec.Cmd {
			cmd := box.cmd(argv)
			cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = false, true, true
			cmd.Stdin = terminal
			return cmd
		}
		box.attackWith(on("ccc", "try", "env", testMainVariable+"=attack", "ccc", "terminal"))
		cmd := on("ccc", "try", "echo ready; sleep 100")
		output, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		output.Read(make([]byte, 10))
		master.Write([]byte{3})
		start := time.Now()
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 130 || time.Since(start) > soon() {
			t.Errorf("Ctrl-C: %v after %v", cmd.ProcessState, time.Since(start))
		}
	})
}

// The probe breaks out where it can, and tells what mends a machine.
func TestTryProbe(t *testing.T) {
	t.Parallel()
	box := newTryBox(t, os.Getuid())
	for mode, want := range map[string]string{
		"1":                 "",
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
		if err != nil && want == "" || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
		if left, _ := filepath.Glob(box.work + "/.ccc-try*"); len(left) != 0 {
			t.Errorf("%s: left %q", mode, left)
		}
		cancel()
	}
	// The probe's command outside of a copy, where it reaches the listener, and in copies.
	fd, err := onLoopback(0, syscall.Bind)
	check(t, errors.Join(err, syscall.Listen(fd, 1)))
	defer syscall.Close(fd)
	address, _ := syscall.Getsockname(fd)
	port := strconv.Itoa(address.(*syscall.SockaddrInet4).Port)
	if connectTo("tcp4:"+port) == nil { // in a network namespace the loopback may be down
		expectEnd(t, "outside", box.finish(box.cmd([]string{"ccc", tryInsideSubcommand, "made", port})), 1, "", "reached a listener")
	}
	expectEnd(t, "a directory that is not there", box.try("ccc", tryInsideSubcommand, "none/made", port), 1, "", "can't be written to")
	expectEnd(t, "no HOME", box.try("env", "HOME=/none", "ccc", tryInsideSubcommand, "made", port), tryHomeReadOnly, "", "")
	expectEnd(t, "a copy that holds", box.try("ccc", tryInsideSubcommand, "made", port), 0, "", "")
	got := box.try("ccc try true")
	if got.code != tryImpossible || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "ccc: try: no copy can be made: ") {
		t.Errorf("a copy in a copy: %+v", got)
	}
}

// A review where no copy can be made, as in a copy: the reviewer is told so, and so are people.
func TestTryNoCopy(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, testTrustVariable+"=")
	needCopy(t, box)
	box.write("event", 0o600, box.event(eventStop, ""))
	// What is written in the copy is brought out of it by the pipe.
	cmd := box.command("sh", "-c", `ccc try 'ccc supervisor-hook <../home/event 2>/dev/null >&2; tar -cf - ../fake ../home/.claude/ccc | cat' | tar -xf - -C ../fake/..`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	box.expectNoCopy(t, errNoNamespaces.zh+": ")
	got := box.run(20*time.Second, "", "ccc", "try", "COLUMNS=1000 ccc doctor | grep -A9 copies")
	warning, fix, _ := strings.Cut(got.stdout, "\n")
	if !strings.HasPrefix(warning, "warning  copies: no copy can be made: ") {
		t.Errorf("doctor: %+v", got)
	}
	fix = strings.TrimSpace(fix) // "" where none is known
	expectIn(t, "ccc log", box.ccc("log"), "（ccc doctor）")
	request := box.read("../fake/reviewer-1.stdin")
	expectIs(t, "the request has the command for the user", fix != "" && strings.Contains(request, fix), false)
}

// Each cause has what mends it.
func TestTryMends(t *testing.T) {
	for _, test := range []struct {
		err               error
		path, text, wants string
	}{
		{syscall.EPERM, "/.dockerenv", "", "--security-opt seccomp=unconfined"},
		{syscall.EPERM, "/run/.containerenv", "", "--security-opt systempaths=unconfined"},
		{syscall.ENOSYS, "", "", "Linux 5.12"},
		{errFewNamespaces, "/proc/sys/user/max_mnt_namespaces", "0\n", "sudo sysctl user.max_mnt_namespaces=10000"},
		{errFewNamespaces, "/proc/sys/user/max_mnt_namespaces", "10\n", ""},
		{callError("close_range", syscall.EINVAL), "", "", "Linux 5.12"},
		{syscall.EACCES, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "sudo apparmor_parser"},
		{syscall.EPERM, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n", ""},
		{syscall.EPERM, "", "", ""},
		{errors.New("/p/m " + mountedInProject), "/.dockerenv", "", ""},
	} {
		got := copyHint(test.err, func(path string) ([]byte, error) {
			if path != test.path {
				return nil, fs.ErrNotExist
			}
			return []byte(test.text), nil
		})
		if !strings.Contains(got, test.wants) || test.wants == "" && got != "" {
			t.Errorf("%v, %s: %q, want %q", test.err, test.path, got, test.wants)
		}
	}
}

// What the caller's pipes hold, and how they are set, is the caller's: the command has pipes of ccc's own.
func TestTryPipes(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		got := box.finish(box.cmd([]string{"sh", "-c", `printf '%s\n' "ccc try 'echo \"touch $HOME/ran\" > /proc/self/fd/0' 2>&-" "echo on" | cat | sh`}))
		if _, err := os.Stat(box.home + "/ran"); err == nil || strings.Contains(got.stdout, "ran") {
			t.Errorf("a line ran outside: %+v", got)
		}
		read, write, err := os.Pipe()
		check(t, err)
		defer read.Close()
		defer write.Close()
		settings := func() string {
			const getPipeSize = 1032
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), syscall.F_GETFL, 0)
			size, _, _ := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), getPipeSize, 0)
			info, _ := write.Stat()
			return fmt.Sprintf("%#o %d %v", flags, size, info.Mode())
		}
		before := settings()
		cmd := box.cmd([]string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", "descriptors"})
		cmd.Stdout, cmd.Stderr = write, write
		box.finish(cmd)
		expectIs(t, "the caller's pipe", settings(), before)
		gone := box.finish(box.cmd([]string{"sh", "-c", "{ ccc try 'yes; exit 0'; echo $? >&2; } | head -n 1"}))
		expectEnd(t, "a reader that goes", gone, 0, "y\n", "0\n")
		// Much, in order, through one pipe; and a reader that goes ends the command, not ccc.
		const lines = 20000
		if got := box.finish(box.cmd([]string{"sh", "-c", fmt.Sprintf("ccc try 'seq %d' | cksum; seq %[1]d | cksum; ccc try yes | head -n 1", lines)})); got.code != 0 ||
			!strings.HasSuffix(got.stdout, "y\n") || strings.Split(got.stdout, "\n")[0] != strings.Split(got.stdout, "\n")[1] {
			t.Errorf("%+v", got)
		}
	})
}

// A copy that does not come to stand is 125, whatever keeps it, and a file system that does not answer is one of that.
func TestTryUnanswered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("no more time"))
	plan := &tryPlan{command: []string{"true"}, env: append(os.Environ(), testMainVariable+"=daemon"), dir: t.TempDir()}
	code, err := plan.run(ctx, time.Minute)
	if code != tryImpossible || !strings.Contains(fmt.Sprint(err), "no copy can be made") || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("%d, %v", code, err)
	}
	if os.Getenv(tryTestVariable) != "all" || os.Getuid() != 0 {
		return
	}
	for _, uid := range []int{0, madeUpUser} {
		for _, variable := range []string{"NONE=", "NAMED=$PWD/hung"} { // process 1 meets it, or ccc itself does
			box := newTryBox(t, uid)
			server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
			check(t, err)
			defer server.Close() // which never answered
			os.Mkdir(box.work+"/hung", 0o755)
			got := box.inMounts("mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0,allow_other hung hung; export "+variable+"; timeout=500ms", "true", server)
			if got.code != tryImpossible || got.took > 5*time.Second || !strings.Contains(got.stderr, "no copy can be made") {
				t.Errorf("%s: %+v", variable, got)
			}
		}
	}
}

// Besides the project these are for writing to: HOME, the temporary directories, and what variables name, where that is a directory
// that stands not above the project or HOME, is not only where the shell is or was, and is no file system of the kernel's.
func TestTryFindsPlaces(t *testing.T) {
	dir := resolved(t.TempDir())
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"trees/work/.git", "trees/work/sub", "homes/mine", "temp", "cache", "was"} {
		check(t, os.MkdirAll(at(name), 0o700))
	}
	check(t, os.WriteFile(at("file"), nil, 0o600))
	check(t, os.Symlink("cache", at("link")))
	plan := &tryPlan{dir: at("trees/work/sub"), env: []string{"HOME=" + at("homes/mine"), "TMPDIR=" + at("temp"), "CACHE=" + at("link"), "PWD=" + at("was"),
		"OLDPWD=" + at("was"), "TREES=" + at("trees"), "HOMES=" + at("homes"), "FILE=" + at("file"), "NONE=" + at("none"), "RELATIVE=testdata", "EMPTY=",
		"PROC=/proc/self", "SYSTEM=/sys", "DEVICES=/dev", "TERMINALS=/dev/pts"}}
	check(t, plan.findPlaces())
	expectIs(t, "the project", plan.project, at("trees/work"))
	var own []string
	for _, place := range plan.places {
		if inside(place, dir) {
			own = append(own, strings.TrimPrefix(place, dir))
		} else if !slices.Contains([]string{"/tmp", "/var/tmp", "/dev/shm"}, place) {
			t.Errorf("%s is for writing to", place)
		}
	}
	slices.Sort(own)
	expectEqual(t, "the places", slices.Compact(own), []string{"/cache", "/homes/mine", "/temp", "/trees/work/.git"})
	for what, broken := range map[string]*tryPlan{"HOME is not set": {dir: dir, env: []string{"TMPDIR=/tmp"}}, "no such file": {dir: at("none"), env: plan.env}} {
		if err := broken.findPlaces(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
}

// Where HOME or ccc.json can't be read, there is no copy, at once; what begins with a dash is a shell line like any
// other.
func TestTryOddities(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		expectEnd(t, "ccc try", box.try("--", "-foo 2>&- || echo hi"), 0, "hi\n", "")
		refused := func(what string) {
			t.Helper()
			if got := box.try("echo ran"); got.code != tryImpossible || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || got.took > 5*time.Second {
				t.Errorf("%s: %+v", what, got)
			}
		}
		vars := box.vars
		box.vars = slices.DeleteFunc(slices.Clone(vars), func(entry string) bool { return strings.HasPrefix(entry, "HOME=") })
		refused("no HOME")
		box.vars = append(box.vars, claudeDirVariable+"="+box.home)
		refused("no HOME, but another place")
		box.vars = vars
		os.Mkdir(box.home+"/.claude", 0o755)
		check(t, syscall.Mkfifo(box.home+"/.claude/ccc.json", 0o644))
		box.own()
		refused("ccc.json is a named pipe")
	})
}
