package main

// A guard is between ccc and what it starts (a reviewer, the trial of the hooks, the demo), so that nothing
// of that outlives ccc, however it ends. It runs in a session of its own, out of reach of signals to ccc's
// process group, and holds the read end of a pipe whose write end only ccc has: when ccc ends, even by
// SIGKILL, the pipe closes and the guard ends the whole tree below it.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

const (
	// termGrace lets claude end its own tools. Together with killPatience it stays below a second, in which
	// all has to be gone.
	termGrace = 400 * time.Millisecond
	// killPatience bounds the wait for killed processes.
	killPatience = 500 * time.Millisecond
	// guardPatience is how long a guard, or the kernel, may take to end all of a tree. Claude Code kills a
	// hook 1.3 s after SIGTERM.
	guardPatience = termGrace + killPatience + 100*time.Millisecond
	// pipePatience is for what a command that has ended left in its pipes, which arrives at once unless a
	// process that outlived a killed guard holds one open.
	pipePatience = 3 * time.Second
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

// startGuarded starts cmd under a guard, as ccc supervisor-guard COMMAND... with the pipe as file 3. Closing
// lifeline ends all of it, and so does the end of this process.
func startGuarded(cmd *exec.Cmd) (lifeline *os.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	guards, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer guards.Close()
	cmd.Path, cmd.Args = self, append([]string{self, guardSubcommand}, cmd.Args...)
	cmd.ExtraFiles = []*os.File{guards}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to this process's group spares the guard
	adoptOrphans()                                       // what a guard that is killed leaves behind
	if err := cmd.Start(); err != nil {
		lifeline.Close()
		return nil, err
	}
	return lifeline, nil
}

// runGuarded runs cmd under a guard to its end, or to that of ctx. It returns when nothing of it runs any
// more. The error is that of its end, or that the guard was killed; cmd.Process is nil where cmd could not be
// started.
func runGuarded(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = pipePatience
	lifeline, err := startGuarded(cmd)
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() {
		defer exitOnPanic()
		ended, err := cmd.Process.Wait() // not for the pipes, which the orphans of a killed guard hold
		if err == nil && !ended.Success() {
			err = &exec.ExitError{ProcessState: ended}
		}
		exited <- err
		stop()
	}()
	<-running.Done()
	lifeline.Close()
	select {
	case err = <-exited:
	case <-time.After(guardPatience): // the guard is stuck
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		err = <-exited
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 { // a signal ended the guard, as for want of memory
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if adoptOrphans() {
			endDescendants(os.Getpid(), nil)
		}
		err = fmt.Errorf(guardKilled.in(lang), err)
	}
	// The process was waited for, so this error means nothing. Wait ends the copying of the pipes.
	_ = cmd.Wait()
	return err
}

// guardReviewer is the guard: it runs the command in args and returns its exit code, or 128 plus the signal
// that ended it, after every process of its tree has ended.
func guardReviewer(args []string) int {
	const lifelineFD = 3
	syscall.CloseOnExec(lifelineFD)
	lifeline := os.NewFile(lifelineFD, "lifeline")
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "ccc: "+guardSubcommand+" is started by ccc only")
		return 1
	}
	self, adopts := os.Getpid(), adoptOrphans()
	cut := endSignals()
	go func() {
		defer exitOnPanic()
		_, _ = lifeline.Read(make([]byte, 1)) // nothing is ever written: this returns when the hook is gone
		cut <- syscall.SIGTERM
	}()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: starting "+args[0]+":", err)
		return 126
	}
	done := make(chan error, 1)
	go func() {
		defer exitOnPanic()
		done <- cmd.Wait()
	}()
	var err error
	var victims []int
	select {
	case err = <-done:
	case <-cut:
		if !adopts { // once their parent has ended nobody finds these
			victims = descendants(self, processParents(self))
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err = <-done:
		case <-time.After(termGrace):
			_ = cmd.Process.Kill()
			err = <-done
		}
	}
	endDescendants(self, victims)
	return exitCode(err)
}

// endDescendants kills the victims and all descendants of self, this process, also those that are born
// meanwhile.
func endDescendants(self int, victims []int) {
	deadline := time.Now().Add(killPatience)
	for ; time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var err error
		for pid := 1; pid > 0 || errors.Is(err, syscall.EINTR); {
			pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
		if !errors.Is(err, syscall.ECHILD) { // who has no child has no descendant
			victims = append(victims, descendants(self, processParents(self))...)
		}
		isGone := func(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) != nil }
		victims = slices.DeleteFunc(victims, isGone)
		if len(victims) == 0 {
			return
		}
	}
}

// descendants returns the processes below root. parents has the parent of every process.
func descendants(root int, parents map[int]int) (below []int) {
	children := make(map[int][]int, len(parents))
	for pid, parent := range parents {
		children[parent] = append(children[parent], pid)
	}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		pid := next[0]
		below = append(below, children[pid]...)
		next = append(next, children[pid]...)
		delete(children, pid) // a torn look at the processes may show a circle
	}
	return below
}
