package main

// On macOS a copy is a clone of the project (cp -c, which costs nothing on APFS) with an empty HOME and a
// TMPDIR beside it, and a sandbox that lets the command write there only. Paths differ, so caches are cold,
// and there is no loopback: macOS has none of one's own. Its process group ends with the command.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// seatbelt lets a program compute and write to SCRATCH. Network, services, other processes are denied.
const seatbelt = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-write* (subpath (param "SCRATCH")))
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero"))
(allow pseudo-tty)
(allow file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-write* file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
`

// start starts the command in a copy, all of which is in the directory scratch.
func (plan *tryPlan) start(scratch string) (*tryCopy, error) {
	if scratch == "" {
		return nil, errors.New("no directory for it in /var/tmp")
	}
	home := scratch + "/home"
	temp := scratch + "/tmp"
	clone := scratch + "/project"
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return nil, err
	}
	if said, err := exec.Command("/bin/cp", "-cRp", plan.project, clone).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cloning %s: %w: %.200s", plan.project, err, said)
	}
	sandbox := []string{"-p", seatbelt, "-D", "SCRATCH=" + scratch}
	cmd := exec.Command("/usr/bin/sandbox-exec", append(sandbox, plan.command...)...)
	cmd.Stdin = plan.stdin
	cmd.Stdout = plan.stdout
	cmd.Stderr = plan.stderr
	cmd.Dir = clone + strings.TrimPrefix(resolved(plan.dir), plan.project)
	cmd.Env = setEnv(setEnv(plan.env, "HOME", home), "TMPDIR", temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a process group of its own, and no terminal
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &tryCopy{
		cmd:   cmd,
		ready: func() error { return nil },
		kill:  func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) },
	}, nil
}

// tryProcessOne is the probe's command in a copy.
func tryProcessOne(args []string) int { return breakOut(args) }
