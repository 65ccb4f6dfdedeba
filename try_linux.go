package main

// On Linux a copy is made of namespaces. ccc starts itself again as their process 1, which builds the file
// system (try_files_linux.go), gives up its privileges, starts the command and reaps orphans until its end.

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// ccc and process 1 of a copy share a socket, which is open as long as both live. Process 1 writes to it
// once: readyMessage, or why there is no copy. Process 1 ends when ccc is gone.
const (
	cccSocket    = 3 // its descriptor in process 1
	hostSockets  = 4 // that of the host's /proc/net/unix
	readyMessage = "the copy stands"
)

// start starts process 1 of a copy. scratch is a directory for what is written in the copy, on disk, or "".
func (plan *tryPlan) start(scratch string) (*tryCopy, error) {
	sockets, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	defer sockets.Close()
	plan.foreign = foreignIn(plan.project)
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours := os.NewFile(uintptr(ends[0]), "process 1")
	theirs := os.NewFile(uintptr(ends[1]), "ccc")
	defer theirs.Close()
	args := []string{"ccc", tryInsideSubcommand, "-scratch=" + scratch, "-dir=" + plan.dir,
		"-project=" + plan.project}
	for _, place := range plan.places {
		args = append(args, "-place="+place)
	}
	args = slices.Concat(args, []string{"--"}, plan.command)
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: args, Env: plan.env, SysProcAttr: newNamespaces(),
		Stdin: plan.stdin, Stdout: plan.stdout, Stderr: plan.stderr, ExtraFiles: []*os.File{theirs, sockets}}
	if err := cmd.Start(); err != nil {
		ours.Close()
		if errors.Is(err, syscall.ENOSPC) { // which is not about a disk
			return nil, withCopyHint(errFewNamespaces)
		}
		return nil, withCopyHint(fmt.Errorf("%w: %w", errNoNamespaces, err))
	}
	return &tryCopy{
		cmd: cmd,
		ready: func() error {
			said := make([]byte, 4096)
			n, _ := ours.Read(said)
			text := cmp.Or(string(said[:n]), "process 1 of it ended too early")
			if text == readyMessage {
				return nil
			}
			return withCopyHint(errors.New(text))
		},
		kill: func() { // with process 1 the kernel kills all others
			_ = cmd.Process.Kill()
			ours.Close()
		},
	}, nil
}

// foreignIn names a file or directory at the top of the project that an ordinary user may change, but not
// in a copy: the user namespace lacks its group, so the kernel does not copy it (EOVERFLOW). "" is none.
func foreignIn(project string) string {
	entries, _ := os.ReadDir(project)
	for _, entry := range entries {
		info, err := entry.Info()
		path := filepath.Join(project, entry.Name())
		if err == nil && os.Getuid() != 0 && int(info.Sys().(*syscall.Stat_t).Gid) != os.Getgid() &&
			(info.IsDir() || info.Mode().IsRegular()) && syscall.Access(path, mayWrite) == nil {
			return printable(entry.Name())
		}
	}
	return ""
}

// buildingCapabilities are what it takes to build a copy. 0 to 4: to act on any file; 12: to raise the
// loopback; 18: to change root; 21: to mount.
var buildingCapabilities = []uintptr{0, 1, 2, 3, 4, 12, 18, 21}

// newNamespaces returns the attributes of process 1. Root does without a user namespace if it may: in one
// the kernel lays no overlay over a directory with mounts of the host's below it.
func newNamespaces() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWUTS,
		Setsid:      true,                 // no terminal to type into
		AmbientCaps: buildingCapabilities, // only ambient ones get past an exec by an ordinary user
	}
	var own capabilitySets
	err := capabilities(syscall.SYS_CAPGET, &own)
	lacks := func(n uintptr) bool { return own[0].effective>>n&1 == 0 }
	if os.Getuid() != 0 || err != nil || slices.ContainsFunc(buildingCapabilities, lacks) {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = ownIDs("/proc/self/uid_map", os.Getuid())
		attributes.GidMappings = ownIDs("/proc/self/gid_map", os.Getgid())
	}
	return attributes
}

// capabilitySets is what the kernel's capget and capset take: the capabilities up to 31, and those above.
type capabilitySets [2]struct{ effective, permitted, inheritable uint32 }

// capabilities calls capget or capset for this thread.
func capabilities(call uintptr, sets *capabilitySets) error {
	header := struct{ version, pid int32 }{version: 0x20080522}
	_, _, errno := syscall.RawSyscall(call,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(sets)), 0)
	return callError("capget, capset", errno)
}

// ownIDs maps to itself each id that a user namespace can have: for root all in the map at path, else id.
func ownIDs(path string, id int) (ids []syscall.SysProcIDMap) {
	if os.Getuid() != 0 {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var first, outer, size int
		if n, _ := fmt.Sscan(line, &first, &outer, &size); n == 3 {
			ids = append(ids, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return ids
}

func withCopyHint(err error) error { return withHint(err, copyHint(err, os.ReadFile)) }

// copyHint returns what to do about err, which keeps a copy from being made, or "" if that is not known.
// The causes that are most certain come first. read reads a file of this machine.
func copyHint(err error, read func(path string) ([]byte, error)) string {
	says := func(what string) bool { return strings.Contains(err.Error(), what) }
	begins := func(path, start string) bool {
		text, unread := read(path)
		return unread == nil && strings.HasPrefix(string(text), start)
	}
	switch {
	case says(mountedInProject):
		return ""
	case errors.Is(err, errFewNamespaces):
		for kind := range strings.FieldsSeq("user mnt pid net ipc uts") {
			limit := "max_" + kind + "_namespaces"
			if begins("/proc/sys/user/"+limit, "0\n") {
				return "sudo sysctl user." + limit + "=10000"
			}
		}
		return ""
	case begins("/.dockerenv", ""), begins("/run/.containerenv", ""):
		return "start the container with --security-opt seccomp=unconfined " +
			"--security-opt systempaths=unconfined"
	case says(syscall.ENOSYS.Error()), says("close_range: "): // which lacks its flag in 5.9 and 5.10
		return "use Linux 5.12 or newer"
	case begins("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"):
		self, _ := os.Executable()
		profile := fmt.Sprintf("abi <abi/4.0>, profile ccc %q flags=(unconfined) { userns, }", self)
		return "printf '%s\\n' " + shellQuote(profile) +
			" | sudo tee /etc/apparmor.d/ccc && sudo apparmor_parser -r /etc/apparmor.d/ccc"
	}
	return ""
}

// tryProcessOne is ccc in-copy. As process 1, with the flags of start and a command, it builds a copy and
// runs the command there. Any other process is the probe's command, which must leave the host's files alone.
func tryProcessOne(args []string) int {
	b := new(copyBuilder)
	set := flag.NewFlagSet(tryInsideSubcommand, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	dir := set.String("dir", "", "")
	set.StringVar(&b.scratch, "scratch", "", "")
	set.StringVar(&b.project, "project", "", "")
	set.Func("place", "", func(path string) error { b.places = append(b.places, path); return nil })
	if os.Getpid() != 1 || set.Parse(args) != nil || b.project == "" {
		return breakOut(args)
	}
	runtime.LockOSThread() // privileges are a thread's, and this one starts the command
	ccc := os.NewFile(cccSocket, "ccc")
	go func() {
		defer exitOnPanic()
		_, _ = ccc.Read(make([]byte, 1)) // nothing is ever written: this returns when ccc is gone
		os.Exit(1)
	}()
	signal.Notify(make(chan os.Signal, 1)) // unread: a command that signals all must not end the copy
	b.sockets = os.NewFile(hostSockets, "sockets")
	enter := func() error { return os.Chdir(*dir) }
	for _, step := range []func() error{closeOnExec, b.build, raiseLoopback, enter, dropPrivileges} {
		if err := step(); err != nil {
			fmt.Fprint(ccc, err)
			return tryImpossible
		}
	}
	fmt.Fprint(ccc, readyMessage)
	return runAndReap(set.Args())
}

// closeOnExec keeps all but descriptors 0 to 2 from the command: an open file would lead out of the copy.
func closeOnExec() error {
	const closeRange, flag = 436, 4 // package syscall lacks the call; amd64 and arm64 have one number
	_, _, errno := syscall.Syscall(closeRange, 3, 1<<32-1, flag)
	return callError("close_range", errno)
}

// runAndReap runs command and returns its exit code. What it left running ends with this process.
func runAndReap(command []string) int {
	pid := 0
	path, err := exec.LookPath(command[0])
	if err == nil {
		attributes := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}}
		pid, err = syscall.ForkExec(path, command, attributes)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ccc: try: %s: %v\n", printable(command[0]), err)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			return tryNotFound
		}
		return tryNotRunnable
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			return tryImpossible
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal())
		case ended == pid && status.Exited(): // a traced one may only have stopped
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
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request)))
	return callError("raising the loopback", errno)
}

// dropPrivileges leaves this thread, and so the command, without capabilities and without a way to get any.
// Root keeps those that concern files and low ports: what root may write to in a copy is thrown away.
func dropPrivileges() error {
	var kept uint32
	if os.Getuid() == 0 {
		kept = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<10 // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, NET_BIND_SERVICE
	}
	const noNewPrivileges = 38
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return callError("prctl", errno)
	}
	// The ambient set empties itself with the others.
	return capabilities(syscall.SYS_CAPSET, &capabilitySets{{effective: kept, permitted: kept}})
}
