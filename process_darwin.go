package main

// What macOS shows of processes.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// listProcesses returns the lines of ps with these arguments, without the first column, the process number,
// by which they are found. It leaves out ps itself.
func listProcesses(arguments ...string) map[int]string {
	cmd := exec.Command("/bin/ps", append([]string{"-ww"}, arguments...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC") // both change how ps writes a time of start
	out, _ := cmd.Output()
	list := map[int]string{}
	for line := range strings.Lines(string(out)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil && pid != cmd.Process.Pid {
			list[pid] = strings.TrimSpace(rest)
		}
	}
	return list
}

// processParents returns the parent of each process, by number. A process of leader's process group counts as
// a child of leader.
func processParents(leader int) map[int]int {
	parents := map[int]int{}
	for pid, line := range listProcesses("-A", "-o", "pid=,ppid=,pgid=") {
		var parent, group int
		if n, _ := fmt.Sscan(line, &parent, &group); n == 2 && pid != os.Getpid() {
			parents[pid] = parent
			if group == leader {
				parents[pid] = leader
			}
		}
	}
	return parents
}

// processInfo returns the process pid and the number of its parent. The process has no name if there is none.
// Its name holds number and time of start; macOS has no PID namespaces.
func processInfo(pid int) (parent int, p process) {
	ps := func(arguments ...string) string {
		return listProcesses(append(arguments, "-p", strconv.Itoa(pid))...)[pid]
	}
	// 501 ttys001 Sat Nov 21 20:25:11 2026 /bin/sh
	fields := strings.Fields(ps("-o", "pid=,ppid=,tty=,lstart=,comm="))
	if len(fields) < 8 {
		return 0, p
	}
	parent, _ = strconv.Atoi(fields[0])
	program := strings.Join(fields[7:], " ")
	return parent, process{
		name:     fmt.Sprintf("%d-%s", pid, strings.ReplaceAll(strings.Join(fields[3:7], ""), ":", "")),
		program:  program,
		title:    filepath.Base(program),
		terminal: fields[1] != "??",
		marked:   strings.Contains(ps("-E", "-o", "pid=,command=")+" ", " "+toolMark+" "), // -E: environment
	}
}

// hasEnded reports whether the process pid has ended and its parent knows.
func hasEnded(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func isVisible(string) bool { return true }
