package main

// Mounting: the calls that package syscall lacks, and errors that say what was to be mounted where.

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// What package syscall lacks; the numbers are the same on amd64 and arm64.
const (
	sysIOUringSetup = 425
	sysCloseRange   = 436
	sysMountSetattr = 442
)

const (
	currentDirectory = ^uintptr(99) // AT_FDCWD, -100
	recursive        = 0x8000       // AT_RECURSIVE
	// For these mount_setattr has the same values as mount.
	closed = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV
)

// mountPoints returns where something is mounted.
func mountPoints() (paths []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			paths = append(paths, unescape.Replace(fields[4]))
		}
	}
	return paths, err
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return &os.PathError{Op: strings.TrimSpace("mounting " + kind), Path: target, Err: err}
	}
	return nil
}

// restrict adds attributes to the mount at path, and to those below it if depth is recursive.
func restrict(path string, depth, attributes uintptr) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	change := struct{ set, clear, propagation, userns uint64 }{set: uint64(attributes)}
	_, _, errno := syscall.Syscall6(sysMountSetattr, currentDirectory, uintptr(unsafe.Pointer(name)), depth,
		uintptr(unsafe.Pointer(&change)), unsafe.Sizeof(change), 0)
	return failed("mount_setattr", errno)
}

func failed(call string, errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError(call, errno)
}
