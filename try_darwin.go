package main

// On macOS a copy is a clone of the project (cp -c, which costs nothing on APFS) with an empty HOME and a
// TMPDIR beside it, and a sandbox that lets the command write there only. Paths differ, so caches are cold,
// and there is no loopback: macOS has none of one's own. The guard ends what the command leaves behind.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// seatbelt allows what a program needs that computes and writes to SCRATCH. All else is denied: network,
// services, other processes and their terminals.
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

// start starts what plan says in a copy, or leaves nothing.
func (plan *tryPlan) start() (*tryCopy, error) {
	scratch, lock := newScratch()
	if lock == nil {
		return nil, errors.New("no directory for it in /var/tmp")
	}
	copied := &tryCopy{stands: func() error { return nil }, remove: func() { lock.Close(); sweepScratch() }}
	home, temp, clone := scratch+"/home", scratch+"/tmp", scratch+"/project"
	err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(temp, 0o700))
	if err == nil {
		var said []byte
		if said, err = exec.Command("/bin/cp", "-cRp", plan.project, clone).CombinedOutput(); err != nil {
			err = fmt.Errorf("cloning %s: %w: %.200s", plan.project, err, said)
		}
	}
	var hold *os.File
	if err == nil {
		command := plan.command
		if plan.probe {
			self, _ := os.Executable()
			command = append([]string{self, tryInsideSubcommand}, command...)
		}
		copied.cmd = exec.Command("/usr/bin/sandbox-exec", append([]string{"-p", seatbelt, "-D", "SCRATCH=" + scratch}, command...)...)
		if !plan.probe {
			copied.cmd.Stdout, copied.cmd.Stderr = io.MultiWriter(os.Stdout, plan.printed), io.MultiWriter(os.Stderr, plan.printed)
			if copied.cmd.Stdin = os.Stdin; !newScreen(os.Stdin).terminal {
				copied.cmd.Stdin, err = nil, feed(copied.cmd)
			}
		}
		copied.cmd.Dir = clone + strings.TrimPrefix(resolved(plan.dir), plan.project)
		copied.cmd.Env = setEnv(setEnv(plan.env, "HOME", home), "TMPDIR", temp)
		hold, err = startGuarded(copied.cmd)
	}
	if err != nil {
		copied.remove()
		return nil, err
	}
	copied.kill = func() { hold.Close() } // the guard ends the whole tree
	copied.terminate = func() { _ = copied.cmd.Process.Signal(syscall.SIGTERM) }
	return copied, nil
}

// tryProcessOne is the probe in a copy; others may start it for nothing else than a new file.
func tryProcessOne(args []string) int {
	if len(args) != 2 || breakOut(args[0], args[1]) != nil {
		return 2
	}
	return 0
}
