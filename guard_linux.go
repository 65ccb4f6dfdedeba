package main

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
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := make(map[int]int, len(stats))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent ...; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 {
			parents[child], _ = strconv.Atoi(string(fields[1]))
		}
	}
	return parents
}
