package main

// How Linux ends what ccc starts. Beside ccc try this is all that reads /proc.

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// endsWithParent has the kernel tell the command to end when ccc dies, however.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// adoptOrphans makes this process the parent of each orphan below it (a child subreaper), or not any more.
func adoptOrphans(adopts bool) {
	const prSetChildSubreaper = 36
	value := uintptr(0)
	if adopts {
		value = 1
	}
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, value, 0)
}

// childProcesses returns the numbers of this process' children.
func childProcesses() (pids []int) {
	paths, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(field)
			pids = append(pids, pid)
		}
	}
	return pids
}
