package main

// What Linux tells of processes, and how it opens directories that nobody may enter.

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
			parents[pid], _, _ = readStat(pid)
		}
	}
	return parents
}

// readStat returns the parent of the process pid, 0 when there is no such process, its start in ticks since the
// boot, and what it goes by.
func readStat(pid int) (parent int, start, title string) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || open < 0 || end < open {
		return 0, "", ""
	}
	// pid (title) state parent ... start, which is the 22nd; the title may hold anything.
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0, "", ""
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, string(fields[19]), string(stat[open+1 : end])
}

// processInfo returns the number of the parent of the process pid, a name that no other process has, the path of its
// executable, "" where the system does not tell, and what it goes by: for a script, the script's name. All are empty
// when there is no such process. A number and a start are unique in one boot and one PID namespace: a container may
// share the home with its host.
func processInfo(pid int) (parent int, name, program, title string) {
	parent, start, title := readStat(pid)
	if start == "" {
		return 0, "", "", ""
	}
	program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	program = strings.TrimSuffix(program, " (deleted)") // an update has replaced it
	return parent, fmt.Sprintf("%d-%s-%s", pid, start, processSpace()), program, title
}

// processSpace names the boot and the PID namespace of this process.
var processSpace = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	return string(boot[:min(8, len(boot))]) + "-" + strings.Trim(space, "pid:[]")
})

// processHas tells whether the environment with which the process pid was started has that entry, NAME=VALUE.
func processHas(pid int, entry string) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return slices.Contains(strings.Split(string(environ), "\x00"), entry)
}

// makeEnterable gives the user all permissions on dir and the directories below it. It follows no link, for the
// last process of a killed copy may still run.
func makeEnterable(dir string) {
	var enter func(parent int, name string)
	enter = func(parent int, name string) {
		const pathOnly = 0x200000 // O_PATH
		fd, err := syscall.Openat(parent, name, pathOnly|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err != nil {
			return // no directory
		}
		_ = os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700)
		_ = syscall.Close(fd)
		fd, err = syscall.Openat(parent, name, syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		opened := os.NewFile(uintptr(fd), name)
		defer opened.Close()
		names, _ := opened.Readdirnames(-1)
		for _, below := range names {
			enter(fd, below)
		}
	}
	enter(-1, dir) // dir is absolute
}
