package main

// On Linux a copy is made of namespaces, which need no helper program and no privilege. ccc starts itself again as
// process 1 of new user, mount, process, network, IPC and UTS namespaces; tryinside_linux.go goes on there. What is
// written in the copy goes to a scratch directory.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// startTry starts the command of plan in a copy, with env.
func startTry(plan *tryPlan, env []string) (*tryCopy, error) {
	// A descriptor that ccc's own caller left open would lead out of the copy.
	const closeOnExec = 4
	if _, _, errno := syscall.Syscall(sysCloseRange, 3, 1<<32-1, closeOnExec); errno != 0 {
		return nil, hinted(os.NewSyscallError("close_range", errno))
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	heard, theirs := os.NewFile(uintptr(ends[0]), "heard"), os.NewFile(uintptr(ends[1]), "theirs")
	swept := make(chan bool)
	go func() { sweepScratch(); close(swept) }()
	scratch, lock := newScratch()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Env: env, ExtraFiles: []*os.File{theirs}, SysProcAttr: newNamespaces()}
	cmd.Args = slices.Concat([]string{"ccc", tryInsideSubcommand, scratch, plan.dir, plan.project}, plan.writable, []string{"--"}, plan.command)
	copied := &tryCopy{
		cmd:  cmd,
		kill: func() { _ = cmd.Process.Kill() }, // and with process 1 the kernel kills the others
		reason: func() error {
			switch said, _ := io.ReadAll(heard); string(said) {
			case tryStands:
				return nil
			case "":
				return hinted(errors.New("process 1 of it ended too early"))
			default:
				return hinted(errors.New(string(said)))
			}
		},
		remove: func() {
			<-swept
			if lock != nil {
				removeScratch(scratch, lock)
			}
			heard.Close()
		},
	}
	if err = handOver(cmd); err == nil {
		err = cmd.Start()
	}
	theirs.Close()
	if err != nil {
		copied.remove()
		return nil, hinted(fmt.Errorf("starting a process in new namespaces: %w", err))
	}
	return copied, nil
}

// newNamespaces are the attributes of process 1. Ordinary users can have their own user and group there, root has
// all that there are, each with its number.
func newNamespaces() *syscall.SysProcAttr {
	self := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	users, groups := self(os.Getuid()), self(os.Getgid())
	if os.Getuid() == 0 {
		users, groups = allIDs("/proc/self/uid_map"), allIDs("/proc/self/gid_map")
	}
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: users,
		GidMappings: groups,
		Setsid:      true, // no terminal to type into
		// Only these get past an exec by an ordinary user. 0 to 4: to act on any file; 8: to drop the bounding set;
		// 12: to raise the loopback; 21: to mount; 24: to forbid user namespaces.
		AmbientCaps: []uintptr{0, 1, 2, 3, 4, 8, 12, 21, 24},
	}
}

// allIDs maps each id of this user namespace to itself.
func allIDs(path string) (ids []syscall.SysProcIDMap) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var first, outer, size int
		if n, _ := fmt.Sscan(line, &first, &outer, &size); n == 3 {
			ids = append(ids, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return ids
}

// handOver gives cmd the caller's stdin, stdout and stderr. Terminals and pipes it gets themselves. Anything else
// would be a way out, and it gets a pipe instead: a file can be opened anew through /proc/self/fd, for writing, a
// device be changed, a directory be walked up from, a socket be connected to something else.
func handOver(cmd *exec.Cmd) error {
	harmless := func(file *os.File) bool {
		var terminal [64]byte // more than a struct termios
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&terminal)))
		name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		return errno == 0 || strings.HasPrefix(name, "pipe:[")
	}
	type piped struct{ io.Writer }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !harmless(os.Stdout) {
		cmd.Stdout = piped{os.Stdout}
	}
	if !harmless(os.Stderr) {
		cmd.Stderr = piped{os.Stderr}
		if sameFile("/proc/self/fd/1", "/proc/self/fd/2") {
			cmd.Stderr = cmd.Stdout // one pipe, which keeps the order
		}
	}
	if harmless(os.Stdin) {
		return nil
	}
	cmd.Stdin = nil
	input, err := cmd.StdinPipe() // for this pipe Wait does not wait
	go func() {
		_, _ = io.Copy(input, os.Stdin)
		input.Close()
	}()
	return err
}

// hinted adds to err what mends it, as far as that can be told.
func hinted(err error) error {
	holds := func(path, start string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(text), start)
	}
	var major, minor int
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	_, _ = fmt.Sscanf(string(release), "%d.%d", &major, &minor)
	hint := ""
	switch {
	case major < 5 || major == 5 && minor < 12:
		hint = "use Linux 5.12 or newer"
	case holds("/proc/sys/user/max_user_namespaces", "0\n"):
		hint = "sudo sysctl user.max_user_namespaces=15000 # no use in a copy, which has no other in it"
	case holds("/proc/sys/kernel/unprivileged_userns_clone", "0\n"):
		hint = "sudo sysctl kernel.unprivileged_userns_clone=1"
	case holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n") && os.Getuid() != 0:
		self, _ := os.Executable()
		profile := fmt.Sprintf("abi <abi/4.0>, profile ccc %q flags=(unconfined) { userns, }", self)
		hint = `printf '%s\n' ` + shellQuote(profile) + " | sudo tee /etc/apparmor.d/ccc && sudo apparmor_parser -r /etc/apparmor.d/ccc"
	case strings.Contains(err.Error(), syscall.ENODEV.Error()):
		hint = "sudo modprobe overlay"
	case holds("/.dockerenv", "") || holds("/run/.containerenv", ""):
		hint = "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
	default:
		return err
	}
	return fmt.Errorf("%w%s%s", err, toMend, hint)
}
