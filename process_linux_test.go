package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
