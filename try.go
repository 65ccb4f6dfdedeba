package main

// ccc try runs a command in a throw-away copy of the machine: it may write to the project, to HOME and to the
// temporary directories, it alone sees what it wrote, and it reaches nobody. And the probe, which tries to break out
// of a copy before ccc offers one to a reviewer.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	tryTimeout = 5 * time.Minute // unless --timeout says otherwise
	// tryGrace is for last words, where ccc is told to end. All has to be gone within a second, and to kill thousands
	// of processes takes most of it.
	tryGrace = 200 * time.Millisecond
	// tryProbeTimeout is far above the 30 ms that a probe takes: a file system that does not answer must not hold up a
	// review.
	tryProbeTimeout = 10 * time.Second
)

// try is ccc try. The error is the command's exit code, where that is not 0.
func try(c *call, d dirs) error {
	timeout := tryTimeout
	if text, ok := c.flags["--timeout"]; ok {
		var err error
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			return usageError(trySubcommand, "--timeout %s: expected a duration above zero, such as 90s or 10m", text)
		}
	}
	command, line := c.operands, ""
	switch len(command) {
	case 0:
		return usageError(trySubcommand, "no command")
	case 1:
		command, line = []string{"/bin/sh", "-c", command[0]}, command[0]
	default:
		for _, word := range command {
			line += " " + shellQuote(word)
		}
		line = line[1:]
	}
	start := time.Now()
	code, err := runTry(command, d, timeout)
	if timeline := os.Getenv(tryVariable); timeline != "" {
		run := record{Time: now(), Event: eventTry, Command: line, ExitCode: &code}
		switch { // a command can end with these codes itself
		case err != nil && code == tryImpossible:
			run.NoCopy = oneLine(err.Error())
		case err != nil:
			run.Error = oneLine(err.Error())
		}
		run.DurationSeconds = time.Since(start).Round(time.Millisecond).Seconds()
		if err := stateDir(filepath.Dir(timeline)).session(filepath.Base(timeline)).append(run); err != nil {
			fmt.Fprintln(os.Stderr, "ccc: try: recording the run:", printable(err.Error()))
		}
	}
	switch {
	case err != nil:
		return failure{code: code, err: errors.New("try: " + oneLine(err.Error()))}
	case code != 0:
		return failure{code: code}
	}
	return nil
}

// runTry runs command in a copy and returns its exit code. The error says why there is no copy, or that the command
// was ended.
func runTry(command []string, d dirs, timeout time.Duration) (code int, err error) {
	impossible := func(err error) (int, error) {
		return tryImpossible, fmt.Errorf("no copy can be made: %w", err)
	}
	config, err := loadConfig(d)
	if err != nil {
		return impossible(err) // it is not known which variables to keep from the command
	}
	plan, err := newTryPlan(command)
	if err != nil {
		return impossible(err)
	}
	ended := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(ended, s)
		}
	}
	// On Linux the copy ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	copied, err := startTry(plan, tryEnv(os.Environ(), config))
	if err != nil {
		return impossible(err)
	}
	defer copied.remove()
	done := make(chan error, 1)
	go func() { done <- copied.cmd.Wait() }()
	select {
	case err = <-done:
		if reason := copied.reason(); reason != nil {
			return impossible(reason)
		}
		return exitCode(err), nil
	case s := <-ended:
		// The command may say its last words; what it would tidy up goes anyway.
		_ = copied.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(tryGrace):
			copied.end(done)
		}
		return 128 + int(s.(syscall.Signal)), nil
	case <-time.After(timeout):
		copied.end(done)
		return tryTimedOut, fmt.Errorf("ended at the timeout of %v", timeout)
	}
}

// end kills the copy and waits for it, but not for whoever does not read what it has written.
func (copied *tryCopy) end(done <-chan error) {
	copied.kill()
	select {
	case <-done:
	case <-time.After(guardPatience):
	}
}

// tryProbe makes a copy in dir, the way a reviewer with env does, and tries to break out of it. It returns nil when
// the copy holds, else why none can be made or trusted here: where it is known what mends that, a failure with it as
// hint.
func tryProbe(ctx context.Context, self, dir string, env []string) error {
	listener, port, err := listenOnLoopback()
	if err != nil {
		return fmt.Errorf("listening on the loopback: %w", err)
	}
	defer syscall.Close(listener)
	ctx, cancel := context.WithTimeout(ctx, tryProbeTimeout)
	defer cancel()
	file := filepath.Join(dir, fmt.Sprintf(".ccc-try-%d-%d", os.Getpid(), time.Now().UnixNano()))
	cmd := exec.CommandContext(ctx, self, trySubcommand, self, tryInsideSubcommand, file, strconv.Itoa(port))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = guardPatience
	cmd.Dir, cmd.Env = dir, setEnv(env, tryVariable, "")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	switch {
	case os.Remove(file) == nil:
		return fmt.Errorf("what was written in the copy was written to %s", dir)
	case ctx.Err() != nil:
		return fmt.Errorf("trying to break out of a copy: %w", ctx.Err())
	case err == nil && string(said) == tryHolds:
		return nil
	case err == nil && len(said) > 0:
		return errors.New(string(said))
	}
	if line, ok := strings.CutPrefix(stderr.String(), "ccc: try: "); ok {
		reason, hint, _ := strings.Cut(strings.TrimSpace(line), toMend)
		return withHint(errors.New(reason), hint)
	}
	return fmt.Errorf("trying to break out of a copy: %w", err)
}

// tryHolds is what tryInside says when it could not break out.
const tryHolds = "the copy holds"

// tryInside is ccc in-copy, which is process 1 of a copy or, with two arguments, tries to break out of one. For
// that it writes the file args[0], which must work in a copy, and connects to the port args[1] of the loopback, which
// must not.
func tryInside(args []string) int {
	if len(args) != 2 {
		return tryProcessOne(args)
	}
	said := tryHolds
	port, _ := strconv.Atoi(args[1])
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil && syscall.Connect(fd, loopback(port)) == nil {
		said = "the command reached a listener outside the copy"
	}
	if err := os.WriteFile(args[0], nil, 0o600); err != nil {
		said = "the copy can't be written to: " + err.Error()
	}
	fmt.Print(said)
	return 0
}

func loopback(port int) *syscall.SockaddrInet4 {
	return &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// listenOnLoopback returns a listening socket and its port. Package net would make a binary that is built with cgo a
// dynamic one.
func listenOnLoopback() (fd, port int, err error) {
	syscall.ForkLock.RLock()
	if fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, 0, err
	}
	err = errors.Join(syscall.Bind(fd, loopback(0)), syscall.Listen(fd, 1))
	address, nameErr := syscall.Getsockname(fd)
	if err = errors.Join(err, nameErr); err != nil {
		syscall.Close(fd)
		return 0, 0, err
	}
	return fd, address.(*syscall.SockaddrInet4).Port, nil
}
