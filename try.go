package main

// ccc try runs a command in a throw-away copy of the machine: it may write to the project, HOME and temporary
// directories, alone sees that, and reaches nobody. What it writes lies in a scratch directory on disk.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	tryTimeout  = 5 * time.Minute // of a command without --timeout
	tryPatience = time.Second     // what a copy may take to be ready, beyond the command's timeout
	// A probe takes some 50 ms, but a file system may not answer.
	tryProbeTimeout = 10 * time.Second
)

// The exit codes that are not the command's own are those of timeout(1) and of the shells.
const (
	tryTimedOut     = 124
	tryImpossible   = 125
	tryNotRunnable  = 126
	tryNotFound     = 127
	tryHomeReadOnly = 10 // of a probe: the copy holds, and nothing can be written directly in HOME
)

// try is ccc try. The error has the command's exit code, if that is not 0.
func try(c *invocation) error {
	d, err := findDirs(c.env, "")
	if err != nil {
		return failure{code: tryImpossible, err: fmt.Errorf("%s: %w", trySubcommand, noCopy(err))}
	}
	config, err := loadConfig(d)
	config.use(c.env)
	timeout := tryTimeout
	if text, ok := c.flags["--timeout"]; ok {
		var wrong error
		if timeout, wrong = time.ParseDuration(text); wrong != nil || timeout <= 0 {
			const expected = "--timeout %s: expected a duration above zero, such as 90s or 10m"
			return usageError(trySubcommand, expected, text)
		}
	}
	command := c.operands
	if len(command) == 0 {
		return usageError(trySubcommand, "no command")
	}
	_, line, _ := strings.Cut(commandLine(command), " ") // without the ccc
	if len(command) == 1 {
		line = command[0]
		command = []string{"/bin/sh", "-c", "--", line}
	}
	start := time.Now()
	printed := &tail{limit: 1 << 16} // a secret may begin before the 2,000 bytes that are recorded
	plan := &tryPlan{command: command, env: tryEnv(c.env, config)}
	code := tryImpossible
	if err == nil { // without ccc.json it is not known which variables to keep from the command
		plan.dir, err = currentDir()
	}
	if err == nil {
		err = plan.connect(printed)
	}
	if err != nil {
		err = noCopy(err)
	} else {
		// A reader that goes away must not end it at once.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		ctx := untilSignal()
		code, err = plan.run(ctx, timeout)
		isByHand := c.env.get(tryVariable) == "" // else the request has it
		if err == nil && ctx.Err() == nil && plan.foreign != "" && isByHand {
			fmt.Fprintf(os.Stderr, "ccc: try: "+otherGroup+": ccc doctor has the fix\n", plan.foreign)
		}
	}
	ran := step{Kind: stepRun, Command: line, ExitCode: &code, Output: printed.end()}
	ran.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds()
	ended := failure{code: code}
	if err != nil {
		f := failureOf(err)
		why := oneLine(f.err.Error())
		if f.hint != "" {
			why += "; to fix it: " + f.hint
		}
		ended.err = errors.New(trySubcommand + ": " + why)
		ran.Error = strings.TrimPrefix(why, noCopyMade) // the exit code says that
	}
	recordRun(ran, c.env)
	return ended
}

// recordRun appends a run to the timeline of the review that it belongs to, if there is one. A wrong call
// of ccc try counts as a run with exit code 2 and that error.
func recordRun(ran step, env environ) {
	session, review := filepath.Split(env.get(tryVariable))
	if review == "" {
		return
	}
	ran = ran.recorded(review)
	dir, id := filepath.Split(filepath.Clean(session))
	if err := stateDir(dir).session(id).append(entry{Step: &ran}); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: try: recording the run:", printable(redact(err.Error())))
	}
}

// recorded is a run as the timeline of that review has it.
func (s step) recorded(review string) step {
	s = s.redacted()
	s.Review = review
	s.Output = outputKept(s.Output)
	return s
}

// outputKept is the end of what a run printed: 2,000 bytes.
func outputKept(printed string) string {
	return strings.ToValidUTF8(printed[max(0, len(printed)-2000):], "")
}

// noCopyMade begins the error of ccc try that no copy can be made.
const noCopyMade = "no copy can be made: "

const otherGroup = "files of another group than your own, such as %s, can't be changed in a copy"

// noCopy is the error for no copy because of err, whose hint it keeps.
func noCopy(err error) error {
	f := failureOf(err)
	return withHint(fmt.Errorf(noCopyMade+"%w", f.err), f.hint)
}

// whyNoCopy returns what err says, on one line, without its hint and without noCopyMade.
func whyNoCopy(err error) string {
	return strings.TrimPrefix(oneLine(failureOf(err).err.Error()), noCopyMade)
}

// A tryPlan is what a copy is to be.
type tryPlan struct {
	command        []string // program and arguments
	env            []string
	dir            string // the current directory, by the name that the caller has for it
	stdin          io.Reader
	stdout, stderr io.Writer // the same one for both keeps the order
	// findPlaces sets these, with links resolved.
	project string   // the working tree that holds dir; it must be writable as a whole
	places  []string // what else the command may write to
	// start sets this.
	foreign string // a name at the top of the project that can't be changed, as it is of another group, or ""
}

// connect gives the command ccc's stdin, stdout and stderr. The command gets a terminal itself, and anything
// else through a pipe. printed also gets the output that goes through a pipe.
func (plan *tryPlan) connect(printed io.Writer) error {
	output := func(file *os.File) io.Writer {
		if newScreen(file).terminal {
			return file
		}
		return io.MultiWriter(file, printed)
	}
	plan.stdout = output(os.Stdout)
	plan.stderr = output(os.Stderr)
	if plan.stdout == io.Writer(os.Stdout) {
		fmt.Fprint(printed, say(shownOnTerminal))
	}
	out, _ := os.Stdout.Stat()
	complaints, _ := os.Stderr.Stat()
	if os.SameFile(out, complaints) {
		plan.stderr = plan.stdout
	}
	if newScreen(os.Stdin).terminal {
		plan.stdin = os.Stdin
		return nil
	}
	stdin, input, err := os.Pipe()
	if err != nil {
		return err
	}
	plan.stdin = stdin
	go func() {
		defer exitOnPanic()
		_, _ = io.Copy(input, os.Stdin)
		input.Close()
	}()
	return nil
}

type tryCopy struct {
	cmd   *exec.Cmd
	ready func() error // waits until the copy is ready, or returns why there is none
	kill  func()       // ends every process of it, and may be called again
}

// run runs the command in a copy and returns its exit code. The end of ctx kills the command, and so does
// the timeout, which starts when the copy is ready. run never waits for a file system that hangs. After the
// end it does not wait for a reader of the output.
func (plan *tryPlan) run(ctx context.Context, timeout time.Duration) (code int, err error) {
	scratch, lock := newScratch()
	defer sweepScratch()
	defer lock.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // kills what starts only later
	late := time.AfterFunc(timeout+tryPatience, func() {
		defer exitOnPanic()
		cancel(fmt.Errorf("ended at the timeout of %v", timeout))
	})
	defer late.Stop()
	var isReady atomic.Bool
	ended := make(chan error, 1)
	go func() {
		defer exitOnPanic()
		err := plan.findPlaces()
		var copied *tryCopy
		if err == nil {
			copied, err = plan.start(scratch)
		}
		if err == nil {
			context.AfterFunc(ctx, func() {
				defer exitOnPanic()
				copied.kill()
			})
			if err = copied.ready(); err == nil {
				isReady.Store(true)
				late.Reset(timeout)
			} else {
				copied.kill()
			}
			if waited := copied.cmd.Wait(); err == nil {
				err = waited
			}
		}
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
	}
	cause := context.Cause(ctx) // what ended it before its time
	var end failure
	var exit *exec.ExitError
	switch {
	case errors.As(cause, &end):
		return end.code, nil
	case !isReady.Load():
		return tryImpossible, noCopy(cmp.Or(cause, err))
	case cause != nil:
		return tryTimedOut, cause
	case errors.As(err, &exit):
		return exitCode(err), nil
	case err != nil && !errors.Is(err, syscall.EPIPE): // a reader that went away is no failure
		return 1, fmt.Errorf("passing on the output: %w", err)
	}
	return 0, nil
}

// tryProbe is probeCopy, which tests of something else leave out.
var tryProbe = probeCopy

// probeCopy makes a copy in dir, as a reviewer with env does, and tries to break out of it. The error is
// why no copy can be made or trusted here, with a hint if there is one. readOnlyHome reports whether
// nothing can be written directly in HOME; foreign is as in a tryPlan.
func probeCopy(ctx context.Context, dir string, env []string) (readOnlyHome bool, foreign string, err error) {
	listener, err := onLoopback(0, syscall.Bind)
	defer syscall.Close(listener)
	if err == nil {
		err = syscall.Listen(listener, 1)
	}
	address, _ := syscall.Getsockname(listener)
	reachable, ok := address.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		return false, "", fmt.Errorf("listening on the loopback: %w", err)
	}
	self, _ := os.Executable()
	file := fmt.Sprintf(".ccc-try-%d-%d", os.Getpid(), time.Now().UnixNano())
	said := &tail{limit: 1000}
	plan := &tryPlan{dir: dir, env: env, stdout: said, stderr: said,
		command: []string{self, tryInsideSubcommand, file, strconv.Itoa(reachable.Port)}}
	code, err := plan.run(ctx, tryProbeTimeout)
	switch {
	case os.Remove(filepath.Join(dir, file)) == nil:
		return false, "", fmt.Errorf("what was written in the copy was written to %s", dir)
	case err != nil:
		return false, "", err
	case code != 0 && code != tryHomeReadOnly:
		return false, "", fmt.Errorf("trying to break out of a copy: exit code %d: %s", code, said.line())
	}
	return code == tryHomeReadOnly, plan.foreign, nil
}

// breakOut is the probe's command, ccc in-copy FILE PORT. It can write FILE, and must not reach the port.
func breakOut(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "ccc: "+tryInsideSubcommand+" is for ccc try only")
		return 2
	}
	port, _ := strconv.Atoi(args[1])
	if _, err := onLoopback(port, syscall.Connect); err == nil {
		fmt.Fprintln(os.Stderr, "a command reached a listener outside the copy")
		return 1
	}
	err := os.WriteFile(args[0], nil, 0o600)
	if err != nil && !errors.Is(err, syscall.EOVERFLOW) { // in a directory of another group
		fmt.Fprintln(os.Stderr, "the copy can't be written to:", err)
		return 1
	}
	if _, err := os.CreateTemp(os.Getenv("HOME"), ".ccc-try-"); err != nil {
		return tryHomeReadOnly
	}
	return 0
}

// onLoopback returns a TCP socket on which do, bind(2) or connect(2), has worked for port of the loopback.
// Package net would make a binary that is built with cgo a dynamic one.
func onLoopback(port int, do func(fd int, address syscall.Sockaddr) error) (fd int, err error) {
	if fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err != nil {
		return fd, err
	}
	syscall.CloseOnExec(fd)
	return fd, do(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// findPlaces finds the project and what else the command may write to: its git data, which may be elsewhere,
// HOME, the temporary directories, and each directory that a variable names and the user may write to, unless
// it holds the project or HOME.
func (plan *tryPlan) findPlaces() error {
	dir, err := filepath.EvalSymlinks(plan.dir)
	if err != nil {
		return err
	}
	home := lookupEnv(plan.env, "HOME")
	if home == "" {
		return errors.New("HOME is not set")
	}
	t := worktreeOf(dir)
	plan.project = t.Top
	add := func(path string, permissions uint32) {
		isDirectory := filepath.IsAbs(path) && syscall.Access(path+"/", permissions) == nil
		if path = resolved(path); isDirectory && !isKernels(path) {
			plan.places = append(plan.places, path)
		}
	}
	temporary := lookupEnv(plan.env, "TMPDIR")
	for _, path := range []string{home, t.Repository, temporary, "/tmp", "/var/tmp", "/dev/shm"} {
		add(path, mayEnter)
	}
	for _, entry := range plan.env {
		name, path, _ := strings.Cut(entry, "=")
		isAbove := inside(plan.project, resolved(path)) || inside(resolved(home), resolved(path))
		if name != "PWD" && name != "OLDPWD" && !isAbove {
			add(path, mayEnter|mayWrite)
		}
	}
	return nil
}

// isKernels reports whether path is in a file system that the kernel makes up, of which there are no copies.
func isKernels(path string) bool {
	return inside(path, "/proc") || inside(path, "/sys") || inside(path, "/dev") && !inside(path, "/dev/shm")
}

// tryEnv is env for a copy, also without the variables that the providers of c set or take tokens from.
func tryEnv(env []string, c *configuration) []string {
	for _, entry := range c.variables(nil) {
		name, _, _ := strings.Cut(entry, "=")
		env = setEnv(env, name, "")
	}
	return without(env, ofOthers)
}

// scratchRoot is where scratchParent makes its directory: on disk, for a copy may be large.
var scratchRoot = "/var/tmp"

// scratchParent returns the directory on disk that holds the scratch directories of this user, or "" if it
// can't be made or is another user's. One with another mode is mended. A copy does not see it.
func scratchParent() string {
	path := filepath.Join(resolved(scratchRoot), ".ccc-try-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(path, 0o700)
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		return ""
	}
	if info.Mode() != fs.ModeDir|0o700 && os.Chmod(path, 0o700) != nil {
		return ""
	}
	return path
}

// newScratch makes a scratch directory, locked until lock is closed; "" and nil if it can't.
func newScratch() (path string, lock *os.File) {
	// Another process may sweep what is not locked yet, and remove the parent with its last directory.
	for range 100 { // each takes some 20 µs
		if parent := scratchParent(); parent != "" {
			path, _ = os.MkdirTemp(parent, "")
		}
		if lock = lockScratch(path); lock != nil {
			return path, lock
		}
	}
	return "", nil
}

// lockScratch locks the scratch directory at path, nil if it is gone or another process has locked it.
func lockScratch(path string) *os.File {
	file, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !isFileAt(path, file) {
		file.Close()
		return nil
	}
	return file
}

// sweepScratch removes the scratch directories that nobody has locked, and the parent with the last of them.
func sweepScratch() {
	parent := scratchParent()
	entries, _ := os.ReadDir(parent) // none if parent is ""
	for _, entry := range entries {
		if lock := lockScratch(filepath.Join(parent, entry.Name())); lock != nil {
			removeTree(lock.Name())
			lock.Close()
		}
	}
	_ = os.Remove(parent)
}

// removeTree removes dir, with the directories that nobody may enter.
func removeTree(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
