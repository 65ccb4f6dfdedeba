package main

// On macOS a copy is a clone of the project (cp -c, which costs nothing on APFS) with an empty HOME and a TMPDIR
// beside it, and a sandbox that lets the command write there only. Paths differ, so caches are cold, and there is
// no loopback: macOS has none of one's own. The guard ends what the command leaves behind.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// seatbelt allows what a program needs that computes and writes to SCRATCH. All else is denied: network, services,
// other processes and their terminals.
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

// startTry starts the command of plan in a copy, with env.
func startTry(plan *tryPlan, env []string) (*tryCopy, error) {
	sweepScratch()
	scratch, lock := newScratch()
	if lock == nil {
		return nil, errors.New("no directory for it in /var/tmp")
	}
	copied := &tryCopy{reason: func() error { return nil }, remove: func() { removeScratch(scratch, lock) }}
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
		copied.cmd = exec.Command("/usr/bin/sandbox-exec", append([]string{"-p", seatbelt, "-D", "SCRATCH=" + scratch}, plan.command...)...)
		copied.cmd.Stdin, copied.cmd.Stdout, copied.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		copied.cmd.Dir = clone + strings.TrimPrefix(resolved(plan.dir), plan.project)
		copied.cmd.Env = setEnv(setEnv(env, "HOME", home), "TMPDIR", temp)
		hold, err = startGuarded(copied.cmd)
	}
	if err != nil {
		copied.remove()
		return nil, err
	}
	copied.kill = func() { hold.Close() } // the guard ends the whole tree
	return copied, nil
}

// tryProcessOne is for Linux.
func tryProcessOne([]string) int { return 2 }
