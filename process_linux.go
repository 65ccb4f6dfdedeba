package main

// What Linux tells of processes.

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// adoptOrphans makes this process the parent of every orphan below it (a child subreaper, Linux 3.4), so that no
// daemon can leave its tree. It tells whether that is so.
func adoptOrphans() bool {
	const prSetChildSubreaper = 36
	_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	return errno == 0
}

// processParents returns the parent of each process.
func processParents(int) map[int]int {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	parents := make(map[int]int, len(paths))
	for _, path := range paths {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			parents[pid], _, _ = processInfo(pid)
		}
	}
	return parents
}

// processInfo returns the parent of the process pid, 0 when there is no such process, what tells the process from a
// later one of that number, and the name of its program.
func processInfo(pid int) (parent int, start, name string) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || open < 0 || end < open {
		return 0, "", ""
	}
	// pid (name) state parent ... start, which is the 22nd; the name may hold anything.
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0, "", ""
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, string(fields[19]), string(stat[open+1 : end])
}

// processHas tells whether the environment with which the process pid was started has that entry, NAME=VALUE.
func processHas(pid int, entry string) bool {
	environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return bytes.Contains(append([]byte{0}, environ...), append([]byte{0}, entry+"\x00"...))
}
