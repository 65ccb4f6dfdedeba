package main

// What ccc starts (a reviewer, the trial of the hooks, the demo) ends with it. It stays in ccc's process
// group, which Claude Code signals as a whole. ccc signals its own child and what it adopted, not the group,
// which may be claude's. On Linux ccc adopts what the child leaves, and the kernel ends the child with ccc.

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	// termGrace lets claude end its own tools. Together with killPatience it stays below a second, in which
	// all has to be gone: Claude Code kills a hook 1.3 s after SIGTERM.
	termGrace = 400 * time.Millisecond
	// killPatience bounds the wait for killed processes.
	killPatience = 500 * time.Millisecond
	// pipePatience bounds the wait for what a command that has ended left in its pipes, such as a verdict
	// that comes late on a busy machine. ccc waits that long only if a process that it could not end holds a
	// pipe open (macOS).
	pipePatience = 3 * time.Second
	// signalPatience is how long ccc waits, after a command has failed, for the signal that may have ended
	// it: a signal to the group reaches ccc, too, a moment sooner or later.
	signalPatience = 100 * time.Millisecond
)

// endSignals returns what gets the signals that end ccc. One that was ignored when ccc was started
// stays ignored: nohup wants that, and a shell that starts a job in the background.
func endSignals() chan os.Signal {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // Notify would undo it
			signal.Notify(signals, s)
		}
	}
	return signals
}

// untilSignal returns a context that ends when a signal ends ccc; its cause is a failure with the exit code.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := endSignals()
	go func() {
		defer exitOnPanic()
		cancel(failure{code: 128 + int((<-signals).(syscall.Signal))})
	}()
	return ctx
}

// runToEnd runs cmd to its end. If ctx ends first, cmd gets SIGTERM, on which claude ends its tools, and
// SIGKILL after termGrace. On Linux nothing of cmd runs any more when runToEnd returns. ccc must have no
// other child meanwhile, which would be ended, too. The error is that of the command's end; cmd.Process is
// nil if the command could not be started.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	runtime.LockOSThread() // the kernel ends the child with the thread that started it, not with the process
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = endsWithParent()
	cmd.WaitDelay = pipePatience
	release := adoptOrphans()
	defer release() // exec would not undo it, and claude would get the daemons of its tools
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		defer exitOnPanic()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(termGrace)
		_ = cmd.Process.Kill()
	})
	defer stop()
	state, err := cmd.Process.Wait() // not for the pipes, which what it left behind may hold
	endChildren()
	_ = cmd.Wait() // ends the copying of the pipes; its error is that the process was waited for
	if err == nil && !state.Success() {
		err = &exec.ExitError{ProcessState: state}
		select {
		case <-ctx.Done():
		case <-time.After(signalPatience):
		}
	}
	return err
}

// endChildren kills the children that this process has adopted, and what they leave behind.
func endChildren() {
	const pause = 5 * time.Millisecond
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(pause) {
		children := childProcesses()
		if len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// isGone reports whether no process has that number, as none has 0. One of another user's is there.
func isGone(pid int) bool { return pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
