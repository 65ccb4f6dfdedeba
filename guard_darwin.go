package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// adoptOrphans does nothing: macOS has no such thing. What left the tree before
// the end is found by its process group alone.
func adoptOrphans() bool { return false }

// descendants returns the processes below pid, and those of its process group.
func descendants(pid int) []int {
	cmd := exec.Command("/bin/ps", "-A", "-o", "pid=,ppid=,pgid=")
	list, err := cmd.Output()
	if err != nil {
		return nil
	}
	parents := make(map[int]int)
	for line := range bytes.Lines(list) {
		var child, parent, group int
		if n, _ := fmt.Sscan(string(line), &child, &parent, &group); n < 3 || child == cmd.Process.Pid || child == os.Getpid() {
			continue
		}
		if group == pid {
			parent = pid
		}
		parents[child] = parent
	}
	return tree(pid, parents)
}
