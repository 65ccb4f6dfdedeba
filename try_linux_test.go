package main

import (
	"bytes"
	"fmt"
	"io/fs"
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

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can prepare this")
	}
}

// madeUpUser is nobody's uid and gid.
const madeUpUser = 54321

// A tryBox is a sandbox outside the temporary directories: project, HOME and TMPDIR are in base, which the command
// may not write to.
type tryBox struct {
	*sandbox
	base string
	uid  int
}

// copies caches whether a user can make a copy here: nil, or why not.
var copies sync.Map

// newTryBox makes a box of the user uid. It skips the test where that one can make no copy.
func newTryBox(t *testing.T, uid int) *tryBox {
	t.Helper()
	var base string
	home, _ := os.UserHomeDir()
	for _, dir := range []string{"/opt", "/srv", home} {
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
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"work/notes": "a note\n", "work/sub/deep": "deep\n", "home/.profile": "mine\n", "tmp/t": "temp\n"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
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
		testMainVariable + "=1", "GORACE=atexit_sleep_ms=0"}
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
		skipTry(t, "NO COPY CAN BE MADE HERE, nothing of ccc try was tested: "+why.(string))
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

// eachUser runs test as the user who runs the tests and, if that is root, as an ordinary one too.
func eachUser(t *testing.T, test func(t *testing.T, box *tryBox)) {
	t.Helper()
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, madeUpUser)
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

func (box *tryBox) finish(cmd *exec.Cmd) commandResult {
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	start := time.Now()
	cmd.Run()
	if cmd.ProcessState == nil {
		box.t.Fatalf("%q can't be started", cmd.Args)
	}
	return commandResult{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(start)}
}

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
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		os.WriteFile(box.base+"/work/script", []byte("#!/no/such/interpreter\n"), 0o755)
		os.WriteFile(box.base+"/work/data", nil, 0o644)
		box.own()
		for _, test := range []struct {
			args           []string
			code           int
			stdout, stderr string
		}{
			{[]string{"exit 3"}, 3, "", ""},
			{[]string{"kill -TERM $$"}, 143, "", ""},
			{[]string{"kill -KILL $$"}, 137, "", ""},
			{[]string{"echo a; echo b >&2"}, 0, "a\n", "b\n"},
			{[]string{"printf", "%s|", "a b", "$HOME", "*"}, 0, "a b|$HOME|*|", ""},
			{[]string{"printf", "%s", "\xff\xfe\n"}, 0, "\xff\xfe\n", ""},
			{[]string{"--", "printf", "-%s", "-x"}, 0, "--x", ""},
			{[]string{"--timeout", "20s", "sh", "-c", "exit 4", "--timeout"}, 4, "", ""},
			{[]string{"no-such-program", "x"}, 127, "", "no-such-program"},
			{[]string{"./no-such-program", "x"}, 127, "", "no-such-program"},
			{[]string{"./script", "x"}, 127, "", "script"},
			{[]string{"./data", "x"}, 126, "", "data"},
			{[]string{"no-such-program"}, 127, "", "no-such-program"},
			{[]string{"--timeout", "300ms", "sleep 60"}, 124, "", "timeout of 300ms"},
			{[]string{"pwd; cat notes; cat $HOME/.profile $TMPDIR/t"}, 0, box.work + "\na note\nmine\ntemp\n", ""},
			{[]string{"id -u; id -g"}, 0, fmt.Sprintf("%d\n%d\n", box.uid, box.uid), ""},
			{[]string{"test -r /proc/self/environ && cat /proc/self/comm && readlink /proc/self/cwd"}, 0, "cat\n" + box.work + "\n", ""},
			{[]string{"echo >/dev/null; head -c 3 /dev/zero | wc -c; test -w /dev/full && cat /dev/fd/0 </dev/null"}, 0, "3\n", ""},
		} {
			got := box.try(test.args...)
			if got.code != test.code || got.stdout != test.stdout || !strings.Contains(got.stderr, test.stderr) || test.stderr == "" && got.stderr != "" {
				t.Errorf("%q: %+v", test.args, got)
			}
		}
		cmd := box.cmd([]string{"ccc", "try", "cat; echo end"})
		cmd.Stdin = strings.NewReader("in\n")
		if got := box.finish(cmd); got.stdout != "in\nend\n" {
			t.Errorf("stdin: %+v", got)
		}
	})
}

// The command sees what it wrote, and nobody else ever does.
func TestTryWrites(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		before := box.snapshot()
		name := filepath.Base(box.base)
		for _, dir := range []string{".", "sub", box.home, "$TMPDIR", "/tmp", "/var/tmp", "/dev/shm"} {
			box.want("x\nx\n3\n0\n", fmt.Sprintf(`cd %s && echo x >%[2]s && cat %[2]s && mkdir %[2]s-d && mv %[2]s %[2]s-d/b && cat %[2]s-d/b &&
				ln -s b %[2]s-d/c && ln %[2]s-d/b %[2]s-d/d && chmod 700 %[2]s-d/d && ls %[2]s-d | wc -l && rm -r %[2]s-d && ls -d %[2]s* 2>/dev/null | wc -l`, dir, name))
			path := strings.ReplaceAll(dir, "$TMPDIR", box.base+"/tmp")
			if left, _ := filepath.Glob(filepath.Join(path, name+"*")); filepath.IsAbs(path) && len(left) != 0 {
				t.Errorf("left outside: %q", left)
			}
		}
		box.want("new\nnone\n", `echo new >notes; rm sub/deep; cat notes; mv sub gone; chmod 0 notes; touch -d 2001-01-01 notes; rm -rf sub; mkdir sub; ls sub;
			rm -rf .git ~/.profile; ln -s /etc ~/.profile; echo none`)
		if after := box.snapshot(); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// What the environment says of Claude Code, ccc and its providers stays outside.
func TestTryEnvironment(t *testing.T) {
	t.Parallel()
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
	paths, _ = filepath.Glob(fmt.Sprintf("/var/tmp/.ccc-try-%d/*", box.uid))
	return paths
}

// However it ends, all of it ends within a second, daemons too.
func TestTryEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		signal syscall.Signal
		script string
		code   int
	}{
		{"command", 0, "sleep 0.3; exit 5", 5},
		{"sigterm", syscall.SIGTERM, "sleep 100", 143},
		{"sigterm_ignored", syscall.SIGTERM, "trap '' TERM INT HUP; sleep 100", 143},
		{"sigint", syscall.SIGINT, "sleep 100", 130},
		{"sighup", syscall.SIGHUP, "sleep 100", 129},
		{"sigkill", syscall.SIGKILL, "sleep 100", -1},
		{"sigkill_stopped", syscall.SIGKILL, "kill -STOP $$", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, box *tryBox) {
				var stdout bytes.Buffer
				ready, write, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd := box.cmd([]string{"ccc", "try", "(" + testMainVariable + "=daemon ccc &) ; chmod 0 sub; mkdir -p ~/a/b; chmod 0 ~/a; " + test.script})
				cmd.Stdout, cmd.Stderr = write, &stdout
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				write.Close()
				if _, err := ready.Read(make([]byte, 100)); err != nil { // the daemon's "ready"
					t.Fatal(err, stdout.String())
				}
				if test.signal != 0 {
					time.Sleep(50 * time.Millisecond)
					cmd.Process.Signal(test.signal)
				}
				start := time.Now()
				cmd.Wait()
				if left := box.quiet(time.Second); len(left) != 0 || time.Since(start) > time.Second {
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
	eachUser(t, func(t *testing.T, box *tryBox) {
		cmd := box.cmd([]string{"ccc", "try", "mkdir -p a/b; chmod 0 a; chmod 0 sub; mkdir ~/locked; touch ~/locked/x; chmod 0 ~/locked; echo ready; sleep 100"})
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 10))
		if len(box.tryScratch()) == 0 {
			t.Error("no scratch directory is seen while it runs")
		}
		// Another copy sees it no more than its own.
		box.want("0\n", fmt.Sprintf("ls -A /var/tmp/.ccc-try-%d | wc -l", box.uid))
		cmd.Process.Kill()
		cmd.Wait()
		box.quiet(time.Second)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // other tests' are alive
			box.want("", "true")
			left := box.tryScratch()
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
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		const rounds = 40
		box.unchanged(func() {
			for round := range rounds {
				cmd := box.cmd([]string{"ccc", "try", "echo >notes; sleep 100 & sleep 100"})
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(round) * 25 * time.Millisecond / rounds)
				s := []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[round%3]
				cmd.Process.Signal(s)
				cmd.Wait()
				if left := box.quiet(time.Second); len(left) != 0 {
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
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		theirs := os.NewFile(uintptr(ends[0]), "theirs")
		defer syscall.Close(ends[1])
		cmd := box.command("ccc", "try", "--timeout", "1s", "yes")
		cmd.Stdout = theirs
		start := time.Now()
		err = cmd.Run()
		theirs.Close()
		if code := cmd.ProcessState.ExitCode(); code != 124 || time.Since(start) > 10*time.Second {
			t.Errorf("exit code %d after %v: %v", code, time.Since(start), err)
		}
	})
}
