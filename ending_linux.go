package main

// How Linux ends what ccc starts. Beside this file, only ccc try and mountPoints (file.go) read /proc.

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// endsWithParent has the kernel send SIGTERM to the command when ccc dies, however that happens. The caller
// locks its OS thread: for the kernel, the end of the thread that started the command is the end of ccc.
// Under nohup the command has a process group of its own: claude heeds SIGHUP even if it was told to ignore
// it (2.1.280, 2.1.332).
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: signal.Ignored(syscall.SIGHUP)}
}

// adoptOrphans makes this process the parent of each orphan below it (a child subreaper) until release.
func adoptOrphans() (release func()) {
	const prSetChildSubreaper = 36
	adopt := func(value uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, value, 0)
	}
	adopt(1)
	return func() { adopt(0) }
}

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
