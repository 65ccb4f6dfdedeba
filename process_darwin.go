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

// A process is one that runs, as the system tells of it.
type process struct {
	name     string // a name that no other process has
	program  string // the path of its executable, "" where the system does not tell
	title    string // what it goes by: for a script, the script's name
	terminal bool   // it has a controlling one
	marked   bool   // the environment that it was started with has toolMark
}

// processInfo returns the process pid and the number of its parent; it has no name when there is none. macOS tells the
// start as a date, and has no PID namespaces.
func processInfo(pid int) (parent int, p process) {
	cmd := exec.Command("/bin/ps", "-o", "ppid=,tty=,lstart=,comm=", "-p", strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC") // both change how the start is written
	out, err := cmd.Output()
	fields := strings.Fields(string(out)) // in this locale: 501 ttys001 Sat Nov 21 20:25:11 2026 /bin/sh
	if err != nil || len(fields) < 8 {
		return 0, p
	}
	parent, _ = strconv.Atoi(fields[0])
	start := strings.ReplaceAll(strings.Join(fields[3:7], ""), ":", "")
	program := strings.Join(fields[7:], " ")
	environ, _ := exec.Command("/bin/ps", "eww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return parent, process{
		name:     fmt.Sprintf("%d-%s", pid, start),
		program:  program,
		title:    filepath.Base(program),
		terminal: fields[1] != "??",
		marked:   strings.Contains(string(environ)+" ", " "+toolMark+" "),
	}
}

func isVisible(string) bool { return true }

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
