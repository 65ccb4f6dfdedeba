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
	alive, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	heard, report, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	swept := make(chan bool)
	go func() { sweepScratch(); close(swept) }()
	scratch, lock := newScratch()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Env: env}
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
			removeTree(scratch)
			lock.Close()
			hold.Close()
		},
	}
	cmd.Args = []string{"ccc", tryInsideSubcommand, "-scratch=" + scratch, "-dir=" + plan.dir, "-project=" + plan.project}
	for _, dir := range plan.writable {
		cmd.Args = append(cmd.Args, "-writable="+dir)
	}
	cmd.Args = append(append(cmd.Args, "--"), plan.command...)
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{alive, report}, newNamespaces()
	if err = handOver(cmd); err == nil {
		err = cmd.Start()
	}
	alive.Close()
	report.Close()
	if err != nil {
		copied.remove()
		var refused *os.PathError
		if errors.As(err, &refused) {
			err = fmt.Errorf("starting a process in new namespaces: %w", refused.Err)
		}
		return nil, hinted(err)
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
		Setsid:      true,            // no terminal to type into
		Pdeathsig:   syscall.SIGKILL, // not outliving ccc
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
func handOver(cmd *exec.Cmd) (err error) {
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
		out, outErr := os.Stdout.Stat()
		if info, err := os.Stderr.Stat(); err == nil && outErr == nil && os.SameFile(out, info) {
			cmd.Stderr = cmd.Stdout // one pipe, which keeps the order
		}
	}
	if !harmless(os.Stdin) {
		cmd.Stdin = nil
		var input io.WriteCloser
		if input, err = cmd.StdinPipe(); err == nil { // for this pipe Wait does not wait
			go func() {
				_, _ = io.Copy(input, os.Stdin)
				input.Close()
			}()
		}
	}
	return err
}

// hinted adds to err what mends it, as far as that can be told.
func hinted(err error) error {
	setting := func(name, value string) bool {
		text, _ := os.ReadFile("/proc/sys/" + name)
		return strings.TrimSpace(string(text)) == value
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	var major, minor int
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	_, _ = fmt.Sscanf(string(release), "%d.%d", &major, &minor)
	hint := ""
	switch {
	case major < 5 || major == 5 && minor < 12:
		hint = "use Linux 5.12 or newer"
	case setting("user/max_user_namespaces", "0"):
		hint = "sudo sysctl user.max_user_namespaces=15000 (in a copy of ccc try there is no other)"
	case setting("kernel/unprivileged_userns_clone", "0"):
		hint = "sudo sysctl kernel.unprivileged_userns_clone=1"
	case setting("kernel/apparmor_restrict_unprivileged_userns", "1") && os.Getuid() != 0:
		self, _ := os.Executable()
		profile := fmt.Sprintf("abi <abi/4.0>,\nprofile ccc %q flags=(unconfined) {\n  userns,\n}\n", self)
		hint = "printf " + shellQuote(strings.ReplaceAll(strings.ReplaceAll(profile, "%", "%%"), "\n", `\n`)) +
			" | sudo tee /etc/apparmor.d/ccc && sudo apparmor_parser -r /etc/apparmor.d/ccc"
	case strings.Contains(err.Error(), syscall.ENODEV.Error()):
		hint = "sudo modprobe overlay"
	case exists("/.dockerenv") || exists("/run/.containerenv"):
		hint = "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
	default:
		return err
	}
	return fmt.Errorf("%w%s%s", err, toMend, hint)
}
