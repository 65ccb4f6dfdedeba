package main

// Process 1 of a copy. It builds the file system that the command sees (tryfiles_linux.go), gives up every
// privilege, starts the command and reaps until the command has ended.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// Process 1 is told by its arguments what to do. Its file 3 is a socket that is open as long as the ccc outside
// lives. To it, it writes tryStands, or why there is no copy.
const tryStands = "the copy stands"

// tryProcessOne is process 1 of a copy: ccc in-copy SCRATCH DIR PROJECT WRITABLE... -- COMMAND...
func tryProcessOne(args []string) int {
	runtime.LockOSThread() // privileges are a thread's, and this one starts the command
	end := slices.Index(args, "--")
	if end < 3 || end+1 == len(args) || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "ccc: "+tryInsideSubcommand+" is for ccc try only")
		return 2
	}
	syscall.CloseOnExec(3)
	parent := os.NewFile(3, "ccc")
	go func() {
		_, _ = parent.Read(make([]byte, 1)) // nothing is ever written: this returns when ccc is gone
		os.Exit(1)
	}()
	plan := tryPlan{dir: args[1], project: args[2], writable: args[3:end], command: args[end+1:]}
	b := &copyBuilder{scratch: args[0], tryPlan: plan, room: copyRoom}
	for _, step := range []func() error{
		// Not at the start of this process: an exec that raised capabilities clears it.
		func() error { return prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)) },
		b.build,
		raiseLoopback,
		func() error { return os.Chdir(plan.dir) },
		dropPrivileges,
		filterCalls,
	} {
		if err := step(); err != nil {
			fmt.Fprint(parent, err)
			return tryImpossible
		}
	}
	fmt.Fprint(parent, tryStands)
	if b.short {
		fmt.Fprintln(os.Stderr, "ccc: try: not all files of other users or groups could be copied: writing to some of them fails")
	}
	return runAndReap(plan.command)
}

// runAndReap runs command and returns its exit code when it has ended. What it left running ends with this process.
func runAndReap(command []string) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told) // all of them: none that the command sends ends this process
	pid := 0
	path, err := exec.LookPath(command[0])
	if err == nil {
		pid, err = syscall.ForkExec(path, command, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ccc: try: %s: %v\n", printable(command[0]), err)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			return tryNotFound
		}
		return tryNotRunnable
	}
	go func() {
		for s := range told {
			if s == syscall.SIGTERM {
				_ = syscall.Kill(-pid, syscall.SIGTERM)
			}
		}
	}()
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			return tryImpossible
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal())
		case ended == pid && status.Exited():
			return status.ExitStatus()
		}
	}
}

// raiseLoopback makes the loopback of a new network work.
func raiseLoopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{[syscall.IFNAMSIZ]byte{'l', 'o'}, syscall.IFF_UP | syscall.IFF_RUNNING, [22]byte{}}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	return failed("raising the loopback", errno)
}

func prctl(option, argument uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return failed("prctl", errno)
}

// dropPrivileges leaves this process without capabilities and the command without a way to get any.
func dropPrivileges() error {
	const (
		joinSessionKeyring = 1
		noNewPrivileges    = 38
		version3           = 0x20080522
	)
	// 1 is the only limit that also keeps crashes from a handler, which is outside.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1, Max: 1})
	// A kernel without keyrings has none to leave.
	_, _, _ = syscall.RawSyscall(syscall.SYS_KEYCTL, joinSessionKeyring, 0, 0)
	for capability := uintptr(0); prctl(syscall.PR_CAPBSET_DROP, capability) == nil; capability++ {
	}
	header := struct{ version, pid int32 }{version: version3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	// The ambient set empties itself with the others.
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if errno == syscall.ENOTSUP { // with cgo, as in the race detector's binaries
		_, _, errno = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	}
	return errors.Join(failed("capset", errno),
		prctl(noNewPrivileges, 1),
		prctl(syscall.PR_SET_DUMPABLE, 0)) // no look into this process, which knows the outside
}

// filterCalls forbids this thread and the command the calls that lead past namespaces: sockets other than local, IP
// and netlink ones (AF_VSOCK reaches the host of a virtual machine), io_uring (its sockets pass no filter), the
// user's keyrings, BPF objects of others.
func filterCalls() error {
	const (
		load, answer        = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, syscall.BPF_RET | syscall.BPF_K
		equal, atLeast      = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K
		number, arch, first = 0, 4, 16 // offsets of the call, its architecture, its first argument
		allow, refuse       = 0x7fff0000, 0x00050000
		noCall, noFamily    = refuse | uint32(syscall.ENOSYS), refuse | uint32(syscall.EAFNOSUPPORT)
		filterMode          = 2
	)
	own, ok := map[string]struct{ arch, socket, bpf uint32 }{"amd64": {0xc000003e, 41, 321}, "arm64": {0xc00000b7, 198, 280}}[runtime.GOARCH]
	if !ok {
		return errors.New("no filter of system calls for " + runtime.GOARCH)
	}
	program := []syscall.SockFilter{
		// Calls of 32-bit programs and of x32 have other numbers.
		{Code: load, K: arch}, {Code: equal, K: own.arch, Jt: 1}, {Code: answer, K: noCall},
		{Code: load, K: number}, {Code: atLeast, K: 1 << 30, Jf: 1}, {Code: answer, K: noCall},
	}
	when := func(value, then uint32) {
		program = append(program, syscall.SockFilter{Code: equal, K: value, Jf: 1}, syscall.SockFilter{Code: answer, K: then})
	}
	for _, call := range []uint32{own.bpf, sysIOUringSetup, syscall.SYS_KEYCTL, syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY} {
		when(call, noCall)
	}
	program = append(program, syscall.SockFilter{Code: equal, K: own.socket, Jt: 1},
		syscall.SockFilter{Code: answer, K: allow}, syscall.SockFilter{Code: load, K: first})
	for _, family := range []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK} {
		when(family, allow)
	}
	program = append(program, syscall.SockFilter{Code: answer, K: noFamily})
	filter := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, filterMode, uintptr(unsafe.Pointer(&filter)))
	return failed("seccomp", errno)
}
