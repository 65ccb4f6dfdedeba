package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// adoptOrphans does nothing: macOS has no such thing. What left the tree before the end is found by its process
// group alone.
func adoptOrphans() bool { return false }

// processParents returns the parent of each process; one of leader's process group counts as its child.
func processParents(leader int) map[int]int {
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
		if group == leader {
			parent = leader
		}
		parents[child] = parent
	}
	return parents
}
