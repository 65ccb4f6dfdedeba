package main

// What macOS tells of processes, and how it removes what nobody may enter.

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// processInfo returns the number of the parent of the process pid, a name that no other process has, the path of its
// executable, and what it goes by. All are empty when there is no such process. macOS tells the start as a date.
func processInfo(pid int) (parent int, name, program, title string) {
	cmd := exec.Command("/bin/ps", "-o", "ppid=,lstart=,comm=", "-p", strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC") // both change how the start is written
	out, err := cmd.Output()
	fields := strings.Fields(string(out)) // in this locale: 501 Sat Nov 21 20:25:11 2026 /bin/sh
	if err != nil || len(fields) < 7 {
		return 0, "", "", ""
	}
	parent, _ = strconv.Atoi(fields[0])
	start := strings.ReplaceAll(strings.Join(fields[2:6], ""), ":", "")
	program = strings.Join(fields[6:], " ")
	return parent, fmt.Sprintf("%d-%s", pid, start), program, filepath.Base(program)
}

// processHas tells whether the environment with which the process pid was started has that entry, NAME=VALUE.
func processHas(pid int, entry string) bool {
	out, _ := exec.Command("/bin/ps", "eww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return strings.Contains(string(out)+" ", " "+entry+" ")
}

// removeTree removes dir, with what nobody may enter.
func removeTree(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
