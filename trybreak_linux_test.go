package main

// Attacks that run in a copy. Each prints what it achieved; that must be nothing.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func init() {
	switch os.Getenv(testMainVariable) {
	case "attack":
		attacks[os.Args[1]](os.Args[2:])
	case "ccc_without_walls": // the copy that is none, for the probe: ccc try CCC in-copy FILE PORT
		os.Exit(tryInside(os.Args[4:]))
	case "ccc_without_network_walls":
		os.Exit(tryInside([]string{os.DevNull, os.Args[5]}))
	case "ccc_that_fails":
		os.Exit(3)
	case "ccc_that_hangs":
		time.Sleep(time.Minute)
	default:
		return
	}
	os.Exit(0)
}

// attack runs an attack in a copy; nothing of it may succeed.
func (box *tryBox) attack(name string, args ...string) {
	box.t.Helper()
	box.attackWith(box.cmd(append([]string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", name}, args...)))
}

func (box *tryBox) attackWith(cmd *exec.Cmd) {
	box.t.Helper()
	if got := box.finish(cmd); got.code != 0 || got.stdout != "" || got.stderr != "" {
		box.t.Errorf("%q: %+v", cmd.Args[5:], got)
	}
}

// achieved tells what an attack got.
func achieved(what string, err error) {
	if err == nil {
		fmt.Println("achieved:", what)
	}
}

func rawCall(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

var attacks = map[string]func(args []string){
	"mounts": func([]string) {
		for _, dir := range []string{"/", "/usr", "/etc", "/var", "/proc/sys", "/dev", "/sys", os.Getenv("HOME")} {
			achieved("remount "+dir, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
			achieved("mount over "+dir, syscall.Mount("x", dir, "tmpfs", 0, ""))
			achieved("bind "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_BIND, ""))
			achieved("move "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_MOVE, ""))
			achieved("umount "+dir, syscall.Unmount(dir, syscall.MNT_DETACH))
			achieved("mount_setattr "+dir, restrict(dir, 0, 0))
		}
		achieved("pivot_root", syscall.PivotRoot("/tmp", "/tmp"))
		achieved("chroot", syscall.Chroot("/tmp"))
		const openTree, fsopen, clone = 428, 430, 1
		root := []byte("/usr\x00")
		achieved("open_tree", rawCall(openTree, currentDirectory, uintptr(unsafe.Pointer(&root[0])), clone))
		kind := []byte("tmpfs\x00")
		achieved("fsopen", rawCall(fsopen, uintptr(unsafe.Pointer(&kind[0])), 0))
		achieved("the workshop", exec.Command("ls", workshop).Run())
	},
	"devices": func([]string) {
		for _, dir := range []string{os.Getenv("HOME"), "/tmp", "/dev", "/dev/shm"} {
			achieved("mknod in "+dir, syscall.Mknod(filepath.Join(dir, "node"), syscall.S_IFBLK|0o600, 8<<8))
			achieved("mknod null in "+dir, syscall.Mknod(filepath.Join(dir, "node"), syscall.S_IFCHR|0o600, 1<<8|3))
		}
		achieved("chmod /dev/null", os.Chmod("/dev/null", 0o666))
		achieved("utimes /dev/null", os.Chtimes("/dev/null", time.Now(), time.Now()))
		entries, _ := os.ReadDir("/dev")
		for _, entry := range entries {
			if !strings.Contains(" null zero full random urandom tty ptmx pts shm fd stdin stdout stderr ", " "+entry.Name()+" ") {
				achieved("/dev/"+entry.Name(), nil)
			}
		}
		_, err := os.Open("/dev/tty")
		achieved("the terminal", err)
	},
	"kernel": func([]string) {
		for path, text := range map[string]string{"/proc/sys/kernel/core_pattern": "core", "/proc/sysrq-trigger": "h", "/proc/sys/user/max_user_namespaces": "9",
			"/proc/sys/vm/drop_caches": "1", "/sys/power/state": "", "/sys/kernel/uevent_helper": "", "/sys/fs/cgroup/cgroup.procs": "1",
			"/sys/fs/cgroup/unified/cgroup.procs": "1", "/proc/irq/default_smp_affinity": "1", "/proc/mtrr": ""} {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteString(text)
			}
			achieved(path, err)
		}
		const addKey, requestKey, keyctl, bpf, ioUring = syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL, 321, sysIOUringSetup
		achieved("keyctl", rawCall(keyctl, 0, ^uintptr(3), 0))
		achieved("io_uring", rawCall(ioUring, 1, uintptr(unsafe.Pointer(&make([]byte, 120)[0]))))
		for _, number := range []uintptr{addKey, requestKey, bpf, ioUring, 1<<30 | syscall.SYS_GETPID} {
			if err := rawCall(number); err != syscall.ENOSYS {
				achieved(fmt.Sprintf("call %d (%v)", number, err), nil)
			}
		}
		const vsock, alg, packet = 40, 38, 17
		for _, family := range []int{vsock, alg, packet} {
			_, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
			achieved(fmt.Sprintf("a socket of family %d", family), err)
		}
		achieved("sethostname", syscall.Sethostname([]byte("x")))
		achieved("settimeofday", syscall.Settimeofday(&syscall.Timeval{}))
		achieved("reboot", syscall.Reboot(0))
	},
	"namespaces": func([]string) {
		for name, flag := range map[string]uintptr{"user": syscall.CLONE_NEWUSER, "mount": syscall.CLONE_NEWNS, "net": syscall.CLONE_NEWNET, "pid": syscall.CLONE_NEWPID,
			"user+all": syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | 0x02000000} {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
			achieved("clone "+name, cmd.Run())
			cmd = exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: flag}
			achieved("unshare "+name, cmd.Run())
		}
		achieved("setuid", syscall.Setuid(os.Getuid()+1))
		achieved("setgid", syscall.Setgid(os.Getgid()+1))
		achieved("setgroups", syscall.Setgroups([]int{0}))
	},
	"process_one": func([]string) {
		for _, name := range []string{"root/etc", "cwd/.", "fd/0", "fd/3", "fd/4", "fd/5", "fd/6", "fd/7", "exe", "mem", "environ", "maps", "ns/mnt", "ns/net", "task/1/root/etc", "task/1/fd/3"} {
			_, err := os.Open("/proc/1/" + name)
			achieved("/proc/1/"+name, err)
		}
		achieved("ptrace", syscall.PtraceAttach(1))
		for s := syscall.Signal(1); s < 65; s++ {
			if s != syscall.SIGTERM { // which it passes on
				_ = syscall.Kill(1, s)
			}
		}
		time.Sleep(20 * time.Millisecond) // if it stopped or ended process 1, this one does not end well
	},
	// connect: every socket that an argument names.
	"connect": func(args []string) {
		for _, address := range args {
			achieved(address, connectTo(address))
		}
	},
	// probe: what tryProbe finds inside a copy, where there are no user namespaces.
	"probe": func([]string) {
		self, _ := os.Executable()
		err := tryProbe(context.Background(), self, ".", append(os.Environ(), testMainVariable+"=1"))
		var f failure
		if err == nil || !errors.As(err, &f) || !strings.Contains(f.hint, "sysctl") || !strings.Contains(f.err.Error(), "no copy can be made: ") {
			fmt.Println(err)
		}
	},
	"loopback": func([]string) {
		fd, port, err := listenOnLoopback()
		if err == nil {
			err = connectTo("tcp4:" + strconv.Itoa(port))
			syscall.Close(fd)
		}
		if err != nil {
			fmt.Println(err)
		}
	},
	// processes: args are the ids of processes outside.
	"processes": func(args []string) {
		for _, arg := range args {
			pid, _ := strconv.Atoi(arg)
			achieved("signal to "+arg, syscall.Kill(pid, 0))
			comm, err := os.ReadFile("/proc/" + arg + "/cmdline")
			if err == nil && strings.Contains(string(comm), "ccc-test-outside") {
				achieved("sight of "+arg, nil)
			}
		}
		entries, _ := filepath.Glob("/proc/[0-9]*")
		if len(entries) > 5 {
			achieved(fmt.Sprintf("sight of %d processes", len(entries)), nil)
		}
	},
	// descriptors: args are files outside that must keep their content and mode.
	"descriptors": func(args []string) {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			name, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			fd, _ := strconv.Atoi(entry.Name())
			if fd > 2 && !strings.HasPrefix(name, "anon_inode") && !strings.Contains(name, "/proc/") && name != "" {
				achieved("descriptor "+entry.Name()+" "+name, nil)
			}
		}
		for fd := range 3 {
			path := fmt.Sprintf("/proc/self/fd/%d", fd)
			if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				achieved(fmt.Sprint("descriptor ", fd, info, err), nil)
			}
			_ = os.Chmod(path, 0o777)
			_ = syscall.Fchmod(fd, 0o777)
			if file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
				_ = file.Truncate(0)
			}
			_, err := os.Open(path + "/..")
			achieved("the way up from "+path, err)
		}
	},
	"terminal": func([]string) {
		const tiocsti, tiocsctty = 0x5412, 0x540e
		letter := []byte("x")
		var info [64]byte
		if rawCall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&info))) != nil {
			fmt.Println("stdin is no terminal")
		}
		achieved("typing", rawCall(syscall.SYS_IOCTL, 0, tiocsti, uintptr(unsafe.Pointer(&letter[0]))))
		achieved("taking the terminal", rawCall(syscall.SYS_IOCTL, 0, tiocsctty, 1))
		achieved("typing into it", rawCall(syscall.SYS_IOCTL, 0, tiocsti, uintptr(unsafe.Pointer(&letter[0]))))
	},
}

// connectTo connects to "tcp4:PORT", "tcp6:PORT", "unix:PATH" (a leading @ is abstract) or opens the other end of
// "fifo:PATH".
func connectTo(address string) error {
	kind, where, _ := strings.Cut(address, ":")
	port, _ := strconv.Atoi(where)
	var family int
	var to syscall.Sockaddr
	switch kind {
	case "fifo":
		file, err := os.OpenFile(where, os.O_WRONLY|syscall.O_NONBLOCK, 0) // ENXIO if nobody reads
		if err == nil {
			file.Close()
		}
		return err
	case "unix":
		family, to = syscall.AF_UNIX, &syscall.SockaddrUnix{Name: where}
	case "tcp4":
		family, to = syscall.AF_INET, loopback(port)
	case "tcp6":
		family, to = syscall.AF_INET6, &syscall.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, to)
}

// listen makes what connectTo can reach and returns it.
func listen(t *testing.T, kind, where string) (address string) {
	t.Helper()
	var family int
	var at syscall.Sockaddr
	switch kind {
	case "fifo":
		if err := syscall.Mkfifo(where, 0o666); err != nil {
			t.Fatal(err)
		}
		os.Chmod(where, 0o666)
		file, err := os.OpenFile(where, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close(); os.Remove(where) })
		return kind + ":" + where
	case "unix":
		family, at = syscall.AF_UNIX, &syscall.SockaddrUnix{Name: where}
	case "tcp4":
		family, at = syscall.AF_INET, loopback(0)
	case "tcp6":
		family, at = syscall.AF_INET6, &syscall.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(fd, at)
	}
	if err == nil {
		err = syscall.Listen(fd, 5)
	}
	if err != nil {
		t.Fatal(kind, where, err)
	}
	t.Cleanup(func() {
		syscall.Close(fd)
		if filepath.IsAbs(where) {
			os.Remove(where)
		}
	})
	if filepath.IsAbs(where) {
		os.Chmod(where, 0o777)
	}
	if kind != "unix" {
		name, _ := syscall.Getsockname(fd)
		switch name := name.(type) {
		case *syscall.SockaddrInet4:
			where = strconv.Itoa(name.Port)
		case *syscall.SockaddrInet6:
			where = strconv.Itoa(name.Port)
		}
	}
	return kind + ":" + where
}
