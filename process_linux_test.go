package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A program whose name looks like fields of /proc/PID/stat is read as any other.
func TestProcessOddTitle(t *testing.T) {
	const title = "a) Z 1 (b"
	program := filepath.Join(t.TempDir(), title)
	check(t, os.Symlink("/bin/sh", program))
	cmd := exec.Command(program, "-c", "read line")
	cmd.Args[0] = "sh"
	stdin, err := cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	defer cmd.Wait()
	defer stdin.Close()
	parent, p := processInfo(cmd.Process.Pid)
	expectIs(t, "the title", p.title, title)
	expectIs(t, "the parent", parent, os.Getpid())
	expectIs(t, "the parent among all", processParents(0)[cmd.Process.Pid], os.Getpid())
}

// A process that has ended counts as such, even if nobody waits for it.
func TestProcessEnded(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "exit")
	check(t, cmd.Start())
	defer cmd.Wait()
	for range 1000 {
		if _, fields := readStat(cmd.Process.Pid); fields[stateField] == "Z" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, p := processInfo(cmd.Process.Pid)
	expectIs(t, "the name", p.name, "")
}
