package main

// ccc try runs a command in a throw-away copy of the machine: it may write to the project, to HOME and to the
// temporary directories, it alone sees what it wrote, and it reaches nobody. Here is what the copy is to be,
// which is decided outside of it, its scratch directory, and the probe, which tries to break out of a copy
// before ccc offers one to a reviewer.

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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	tryTimeout = 5 * time.Minute // unless --timeout says otherwise
	// tryGrace is for last words, where ccc is told to end. All has to be gone within a second, and to kill
	// thousands of processes takes most of it.
	tryGrace = 200 * time.Millisecond
	// tryPatience is what a copy may take to stand, beyond the command's time, on a machine that is busy
	// beyond measure.
	tryPatience = time.Second
	// tryProbeTimeout is far above the 30 ms that a probe takes: a file system that does not answer must not
	// hold up a review.
	tryProbeTimeout = 10 * time.Second
)

// The exit codes that are not the command's own are those of timeout(1) and of the shells.
const (
	tryTimedOut     = 124
	tryImpossible   = 125
	tryNotRunnable  = 126
	tryNotFound     = 127
	tryHomeReadOnly = 10 // a probe's
)

// toMend stands between why there is no copy and what mends it.
const toMend = "; to mend it: "

// try is ccc try. The error is the command's exit code, where that is not 0.
func try(c *invocation) error {
	d, err := findDirs("")
	if err != nil {
		err = fmt.Errorf("%s: no copy can be made: %w", trySubcommand, err)
		return failure{code: tryImpossible, err: err}
	}
	setLanguage(d)
	timeout := tryTimeout
	if text, ok := c.flags["--timeout"]; ok {
		var err error
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			const expected = "--timeout %s: expected a duration above zero, such as 90s or 10m"
			return usageError(trySubcommand, expected, text)
		}
	}
	command, line := c.operands, ""
	switch len(command) {
	case 0:
		return usageError(trySubcommand, "no command")
	case 1:
		command, line = []string{"/bin/sh", "-c", "--", command[0]}, command[0]
	default:
		for _, word := range command {
			line += " " + shellQuote(word)
		}
		line = line[1:]
	}
	// A secret may begin before the 2,000 bytes that are recorded: more than these are kept.
	start, printed := time.Now(), &tail{limit: 1 << 16}
	config, unread := loadConfig(d)
	code, err := runCopy(untilTold(), timeout, func() (*tryPlan, error) {
		if unread != nil {
			return nil, unread // it is not known which variables to keep from the command
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		plan, err := newTryPlan(dir, tryEnv(os.Environ(), config))
		if err != nil {
			return nil, err
		}
		plan.command, plan.printed = command, printed
		return plan, nil
	})
	if review := os.Getenv(tryVariable); review != "" {
		run := record{Time: now(), Kind: kindRun, Review: filepath.Base(review), Command: line,
			ExitCode: &code, Output: printed.end()}
		switch { // a command can end with these codes itself
		case err != nil && code == tryImpossible:
			run.NoCopy = oneLine(err.Error())
		case err != nil:
			run.Error = oneLine(err.Error())
		}
		run.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds()
		timeline := filepath.Dir(review)
		reviewed := stateDir(filepath.Dir(timeline)).session(filepath.Base(timeline))
		err := errors.New("it is of no review that runs")
		if reviewed.isUnderReview(run.Review) {
			err = reviewed.append(run.redacted(redactor(config.withTokens(os.Environ()))))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "ccc: try: recording the run:", printable(err.Error()))
		}
	}
	switch {
	case err != nil:
		return failure{code: code, err: errors.New(trySubcommand + ": " + oneLine(err.Error()))}
	case code != 0:
		return failure{code: code}
	}
	return nil
}

// isUnderReview reports whether that review runs, as far as can be seen here above this process: what an agent
// runs is none of its runs, even if it says so.
func (s sessionFiles) isUnderReview(review string) bool {
	h, _ := s.readHistory()
	return slices.ContainsFunc(h.Rounds, func(r reviewRound) bool {
		isAbove := func() bool {
			isReview := func(p process) bool { return p.name == r.Process }
			return slices.ContainsFunc(ancestry(os.Getpid()), isReview)
		}
		return r.Review == review && r.Verdict == verdictReviewing && (!isVisible(r.Process) || isAbove())
	})
}

// toldToEnd is the signal by which somebody told ccc to end.
type toldToEnd struct{ syscall.Signal }

func (s toldToEnd) Error() string { return "ended by " + s.Signal.String() }

// untilTold returns a context that ends when ccc is told to end, with a toldToEnd as cause.
func untilTold() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	told := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(told, s)
		}
	}
	// A reader of the output that goes must not end ccc, which has yet to tidy up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		defer exitOnPanic()
		cancel(toldToEnd{(<-told).(syscall.Signal)})
	}()
	return ctx
}

// A tryCopy is a copy in which a command runs.
type tryCopy struct {
	cmd       *exec.Cmd
	stands    func() error // waits until the copy stands, or says why it does not
	terminate func()       // tells the command to end
	kill      func()       // ends every process of it
	remove    func()       // after its end: removes what was written in it
}

// runCopy makes the copy that makePlan describes, and returns the exit code of what runs in it. ctx ends it,
// and the timeout, from when the copy stands. The error says why there is no copy, or that the command was
// ended. runCopy waits for no file system that does not answer, and behind the end for nobody who does not
// read what was written in the copy.
func runCopy(ctx context.Context, timeout time.Duration, makePlan func() (*tryPlan, error)) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(timeout+tryPatience, func() {
		defer exitOnPanic()
		cancel(fmt.Errorf("ended at the timeout of %v", timeout))
	})
	defer late.Stop()
	var started atomic.Pointer[tryCopy]
	var stood atomic.Bool
	ended := make(chan error, 1)
	go func() {
		defer exitOnPanic()
		var copied *tryCopy
		plan, err := makePlan()
		if err == nil {
			copied, err = plan.start()
		}
		if err == nil {
			started.Store(copied)
			if err = copied.stands(); err != nil || ctx.Err() != nil {
				copied.kill()
			} else {
				stood.Store(true)
				late.Reset(timeout)
			}
			err = cmp.Or(err, copied.cmd.Wait())
		}
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		copied := started.Load()
		if copied == nil {
			break
		}
		copied.terminate() // it may say its last words; what it would tidy up goes anyway
		defer time.AfterFunc(tryGrace, func() {
			defer exitOnPanic()
			copied.kill()
		}).Stop()
		select {
		case <-ended:
		case <-time.After(tryGrace + guardPatience):
		}
	}
	if copied := started.Load(); copied != nil {
		copied.remove()
	}
	var told toldToEnd
	var exit *exec.ExitError
	switch {
	case errors.As(err, &told):
		return 128 + int(told.Signal), nil
	case !stood.Load():
		return tryImpossible, fmt.Errorf("no copy can be made: %w", err)
	case err != nil && err == context.Cause(ctx):
		return tryTimedOut, err
	case errors.As(err, &exit):
		return exitCode(err), nil
	case err != nil && !errors.Is(err, syscall.EPIPE): // a reader that went is no failure
		return 1, fmt.Errorf("passing on the output: %w", err)
	}
	return 0, nil
}

// feed gives cmd through a pipe what comes on stdin. Wait does not wait for that.
func feed(cmd *exec.Cmd) error {
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		defer exitOnPanic()
		_, _ = io.Copy(input, os.Stdin)
		input.Close()
	}()
	return nil
}

// tryProbe makes a copy in dir, the way a reviewer with env does, and tries to break out of it. The error is
// nil when the copy holds, else it says why none can be made or trusted here: where it is known what mends
// that, a failure with it as hint. homeReadOnly reports whether nothing can be written directly in HOME there.
func tryProbe(ctx context.Context, dir string, env []string) (homeReadOnly bool, err error) {
	listener, err := onLoopback(0, syscall.Bind)
	defer syscall.Close(listener)
	if err == nil {
		err = syscall.Listen(listener, 1)
	}
	address, _ := syscall.Getsockname(listener)
	reachable, ok := address.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		return false, fmt.Errorf("listening on the loopback: %w", err)
	}
	file := fmt.Sprintf(".ccc-try-%d-%d", os.Getpid(), time.Now().UnixNano())
	code, err := runCopy(ctx, tryProbeTimeout, func() (*tryPlan, error) {
		plan, err := newTryPlan(dir, env)
		if err == nil {
			plan.probe, plan.command = true, []string{file, strconv.Itoa(reachable.Port)}
		}
		return plan, err
	})
	switch {
	case os.Remove(filepath.Join(dir, file)) == nil:
		return false, fmt.Errorf("what was written in the copy was written to %s", dir)
	case err != nil:
		reason, hint, _ := strings.Cut(err.Error(), toMend)
		return false, withHint(errors.New(reason), hint)
	case code != 0 && code != tryHomeReadOnly:
		return false, fmt.Errorf("trying to break out of a copy: exit code %d", code)
	}
	return code == tryHomeReadOnly, nil
}

// breakOut is the probe inside a copy. It writes the file, which must work in a copy and not be seen outside,
// and connects to the port of the loopback, which must not.
func breakOut(file, port string) error {
	number, _ := strconv.Atoi(port)
	if _, err := onLoopback(number, syscall.Connect); err == nil {
		return errors.New("a command reached a listener outside the copy")
	}
	made, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the copy can't be written to: %w", err)
	}
	return made.Close()
}

// homeIsReadOnly reports, inside a copy, whether nothing can be written directly in HOME.
func homeIsReadOnly() bool {
	made, err := os.CreateTemp(os.Getenv("HOME"), ".ccc-try-")
	if err == nil {
		made.Close()
	}
	return err != nil
}

// onLoopback returns a TCP socket on which do, which is bind(2) or connect(2), has worked for port of the
// loopback. Package net would make a binary that is built with cgo a dynamic one.
func onLoopback(port int, do func(fd int, address syscall.Sockaddr) error) (fd int, err error) {
	if fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err != nil {
		return fd, err
	}
	syscall.CloseOnExec(fd)
	return fd, do(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// A tryPlan says what a copy is to be.
type tryPlan struct {
	command []string // program and arguments; for a probe the file to write and the port to reach
	probe   bool
	printed *tail // gets what the command prints, unless that goes to a terminal
	env     []string
	dir     string   // the current directory, by the name that the caller has for it
	project string   // the working tree that holds dir; it must be writable
	places  []string // what else the command may write to, links resolved
}

// newTryPlan finds out what a copy must hold for a command to run in dir with env. The git data of a linked
// worktree or a submodule is outside its tree. A directory that a variable names is for writing to, if it is
// there and the user may.
func newTryPlan(dir string, env []string) (*tryPlan, error) {
	project, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	home := lookupEnv(env, "HOME")
	if home == "" {
		return nil, errors.New("HOME is not set")
	}
	top, common := gitTree(project)
	if top != "" {
		project = top
	}
	plan := &tryPlan{env: env, dir: dir, project: project}
	add := func(path string, permissions uint32) {
		if isPlace(path, permissions) {
			plan.places = append(plan.places, resolved(path))
		}
	}
	temp := cmp.Or(lookupEnv(env, "TMPDIR"), "/tmp")
	for _, path := range []string{home, common, temp, "/tmp", "/var/tmp", "/dev/shm"} {
		add(path, mayEnter)
	}
	for _, entry := range env {
		name, path, _ := strings.Cut(entry, "=")
		isAbove := inside(project, resolved(path)) || inside(resolved(home), resolved(path))
		if name != "PWD" && name != "OLDPWD" && !isAbove {
			add(path, mayEnter|mayWrite)
		}
	}
	return plan, nil
}

const mayEnter, mayWrite = 1, 2 // for access(2)

// isPlace reports whether path is a directory with these permissions. What the kernel makes up has no copies.
func isPlace(path string, permissions uint32) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && !isKernels(resolved(path)) &&
		syscall.Access(path, permissions) == nil
}

// isKernels reports whether path is of the files that the kernel makes up.
func isKernels(path string) bool {
	return inside(path, "/proc") || inside(path, "/sys") || inside(path, "/dev") && !inside(path, "/dev/shm")
}

// notForCopies are the variables of Claude Code and ccc, and the keys of the clouds that Claude Code can be
// pointed at.
var notForCopies = lazyRegexp(
	`^(ANTHROPIC_|CLAUDE|CCC_|(AWS|AZURE|CLOUDSDK|GCLOUD|GOOGLE)_.*(KEY|SECRET|TOKEN|CREDENTIAL|PASSW))`)

// tryEnv is env without those variables, and without what the providers of c set or take tokens from.
func tryEnv(env []string, c *configuration) []string {
	secret := c.providerVariables()
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return notForCopies().MatchString(name) || secret[name]
	})
}

// scratchParent returns the directory that holds the scratch directories of this user, "" if it can't be made
// or others can write to it. It is on disk, as a build writes more than memory should hold. A copy does not
// see it, so that none reads what is written in another.
func scratchParent() string {
	path := filepath.Join(resolved("/var/tmp"), ".ccc-try-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(path, 0o700)
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 ||
		int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		return ""
	}
	return path
}

// newScratch makes a scratch directory. The path is "" where none can be. What the process that made it has
// locked is its own, until it ends.
func newScratch() (path string, lock *os.File) {
	for range 3 { // the parent may go with another's last directory, and what nobody has locked yet be swept
		if parent := scratchParent(); parent != "" {
			path, _ = os.MkdirTemp(parent, "")
		}
		if lock = lockScratch(path); lock != nil {
			return path, lock
		}
	}
	return "", nil
}

// lockScratch locks the scratch directory at path. It returns nil for one that belongs to another process.
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

// sweepScratch removes the scratch directories that nobody has locked, and the parent with the last.
func sweepScratch() {
	parent := scratchParent()
	entries, _ := os.ReadDir(parent) // none where parent is ""
	for _, entry := range entries {
		if lock := lockScratch(filepath.Join(parent, entry.Name())); lock != nil {
			removeTree(lock.Name())
			lock.Close()
		}
	}
	_ = os.Remove(parent)
}

// removeTree removes dir, with what nobody may enter.
func removeTree(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
