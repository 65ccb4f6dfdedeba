package main

// What Linux shows of processes.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// processParents returns the parent of each process, by number.
func processParents(int) map[int]int {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	parents := make(map[int]int, len(paths))
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if _, fields := readStat(pid); fields != nil {
			parents[pid], _ = strconv.Atoi(fields[parentField])
		}
	}
	return parents
}

// The fields of /proc/PID/stat that ccc reads, counted from 0 behind the title.
const stateField, parentField, terminalField, startField = 0, 1, 4, 19

// readStat returns the title of the process pid and the fields behind it in /proc/PID/stat, nil if there is
// no such process.
func readStat(pid int) (title string, fields []string) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')') // both may be in the title
	if fields = strings.Fields(string(stat[end+1:])); len(fields) <= startField {
		return "", nil
	}
	return string(stat[open+1 : end]), fields
}

// processInfo returns the process pid and the number of its parent. The process has no name if there is none,
// or if it has ended and nobody has waited for it: process 1 of a container may never do so.
// Its name holds number, time of start and processSpace: a container may share the home with its host.
func processInfo(pid int) (parent int, p process) {
	title, fields := readStat(pid)
	if fields == nil || fields[stateField] == "Z" {
		return 0, p
	}
	parent, _ = strconv.Atoi(fields[parentField])
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return parent, process{
		name:     fmt.Sprintf("%d-%s-%s", pid, fields[startField], processSpace()),
		program:  strings.TrimSuffix(program, " (deleted)"), // so Linux marks a program that was replaced
		title:    title,
		terminal: fields[terminalField] != "0",
		marked:   slices.Contains(strings.Split(string(environ), "\x00"), toolMark),
	}
}

// hasEnded reports whether the process pid has ended, also where nobody has waited for it.
func hasEnded(pid int) bool {
	_, fields := readStat(pid)
	return syscall.Kill(pid, 0) == syscall.ESRCH || fields != nil && fields[stateField] == "Z"
}

// processSpace names the boot and the PID namespace of this process.
var processSpace = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	return string(boot[:min(8, len(boot))]) + "-" + strings.Trim(space, "pid:[]")
})

// isVisible reports whether a process of that name, if it runs, can be seen from here.
func isVisible(name string) bool { return strings.HasSuffix(name, "-"+processSpace()) }
