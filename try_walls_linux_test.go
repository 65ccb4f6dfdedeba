package main

// Who is in a copy reaches nothing outside. The attacks run in a copy; each prints what it achieved, which
// must be nothing.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// attack runs attacks, named with commas between, in a copy; nothing of them may succeed.
func (box *tryBox) attack(name string, args ...string) {
	box.t.Helper()
	box.attackWith(box.attacking(name, args...))
}

// attacking prepares attacks in a copy.
func (box *tryBox) attacking(name string, args ...string) *exec.Cmd {
	argv := []string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", name}
	return box.command(append(argv, args...)...)
}

func (box *tryBox) attackWith(cmd *exec.Cmd) {
	box.t.Helper()
	expectEnd(box.t, strings.Join(cmd.Args, " "), box.finish(cmd), 0, "", "")
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
	if _, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

var attacks = map[string]func(args []string){
	"mounts": func([]string) {
		dirs := []string{"/", "/usr", "/etc", "/var", "/proc/sys", "/dev", "/sys", os.Getenv("HOME")}
		for _, dir := range dirs {
			achieved("remount "+dir, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
			achieved("mount over "+dir, syscall.Mount("x", dir, "tmpfs", 0, ""))
			achieved("bind "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_BIND, ""))
			achieved("move "+dir, syscall.Mount(dir, "/tmp", "", syscall.MS_MOVE, ""))
			achieved("umount "+dir, syscall.Unmount(dir, syscall.MNT_DETACH))
			achieved("mount_setattr "+dir, restrict(dir, 0))
		}
		achieved("pivot_root", syscall.PivotRoot("/tmp", "/tmp"))
		achieved("chroot", syscall.Chroot("/tmp"))
		const openTree, fsopen, clone = 428, 430, 1
		root := []byte("/usr\x00")
		achieved("open_tree", rawCall(openTree, ^uintptr(99), uintptr(unsafe.Pointer(&root[0])), clone))
		kind := []byte("tmpfs\x00")
		achieved("fsopen", rawCall(fsopen, uintptr(unsafe.Pointer(&kind[0])), 0))
		achieved("the workshop", exec.Command("ls", copyRoot).Run())
	},
	"devices": func([]string) {
		for _, dir := range []string{os.Getenv("HOME"), "/tmp", "/dev", "/dev/shm"} {
			node := filepath.Join(dir, "node")
			achieved("mknod in "+dir, syscall.Mknod(node, syscall.S_IFBLK|0o600, 8<<8))
			achieved("mknod null in "+dir, syscall.Mknod(node, syscall.S_IFCHR|0o600, 1<<8|3))
		}
		achieved("chmod /dev/null", os.Chmod("/dev/null", 0o666))
		achieved("utimes /dev/null", os.Chtimes("/dev/null", time.Now(), time.Now()))
		const harmless = " null zero full random urandom tty ptmx pts shm fd stdin stdout stderr "
		entries, _ := os.ReadDir("/dev")
		for _, entry := range entries {
			if !strings.Contains(harmless, " "+entry.Name()+" ") {
				achieved("/dev/"+entry.Name(), nil)
			}
		}
		_, err := os.Open("/dev/tty")
		achieved("the terminal", err)
	},
	"kernel": func([]string) {
		for path, text := range map[string]string{
			"/proc/sys/kernel/core_pattern": "core", "/proc/sysrq-trigger": "h", "/proc/mtrr": "",
			"/proc/sys/vm/drop_caches": "1", "/proc/sys/user/max_user_namespaces": "9",
			"/proc/irq/default_smp_affinity": "1", "/sys/power/state": "", "/sys/kernel/uevent_helper": "",
			"/sys/fs/cgroup/cgroup.procs": "1", "/sys/fs/cgroup/unified/cgroup.procs": "1",
		} {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteString(text)
			}
			achieved(path, err)
		}
		achieved("sethostname", syscall.Sethostname([]byte("x")))
		achieved("settimeofday", syscall.Settimeofday(&syscall.Timeval{}))
		achieved("reboot", syscall.Reboot(0))
	},
	"namespaces": func([]string) {
		const cgroup, user, mounts = 0x02000000, syscall.CLONE_NEWUSER, syscall.CLONE_NEWNS
		const all = user | mounts | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | cgroup
		for _, flags := range []uintptr{user, mounts, syscall.CLONE_NEWNET, syscall.CLONE_NEWPID, all} {
			for _, how := range []syscall.SysProcAttr{{Cloneflags: flags}, {Unshareflags: flags}} {
				cmd := exec.Command("true")
				cmd.SysProcAttr = &how
				achieved(fmt.Sprintf("namespaces %#x", flags), cmd.Run())
			}
		}
		achieved("setuid", syscall.Setuid(os.Getuid()+1))
		achieved("setgid", syscall.Setgid(os.Getgid()+1))
		achieved("setgroups", syscall.Setgroups([]int{0}))
	},
	"process_one": func([]string) {
		for s := syscall.Signal(1); s < 65; s++ {
			// The C library's own Go handles for nobody: while a thread of process 1 has its signals blocked,
			// the kernel takes the default action, which is the end of a copy that nobody asked for.
			if s == 32 || s == 34 {
				continue
			}
			_ = syscall.Kill(1, s)
			if s != syscall.SIGKILL && s != syscall.SIGSTOP { // which nobody here can ignore
				signal.Ignore(s)
				_ = syscall.Kill(-1, s)
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
	"loopback": func([]string) {
		_, address, err := listening("tcp", "")
		if err = errors.Join(err, connectTo(address)); err != nil {
			fmt.Println(err)
		}
	},
	// processes: args are the ids of processes outside.
	"processes": func(args []string) {
		for _, arg := range args {
			pid, _ := strconv.Atoi(arg)
			achieved("signal to "+arg, syscall.Kill(pid, 0))
			line, _ := os.ReadFile("/proc/" + arg + "/cmdline")
			if strings.Contains(string(line), "ccc-test-outside") {
				achieved("sight of "+arg, nil)
			}
		}
		if seen := processIDs(); len(seen) > 5 {
			achieved(fmt.Sprint("sight of ", seen), nil)
		}
	},
	"descriptors": func([]string) {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			name, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			fd, _ := strconv.Atoi(entry.Name())
			isOwn := strings.HasPrefix(name, "anon_inode") || strings.Contains(name, "/proc/") || name == ""
			if fd > 2 && !isOwn {
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
			const setPipeSize = 1031
			_ = rawCall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, syscall.O_NONBLOCK)
			_ = rawCall(syscall.SYS_FCNTL, uintptr(fd), setPipeSize, 4096)
			if file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
				_ = file.Truncate(0)
			}
			_, err := os.Open(path + "/..")
			achieved("the way up from "+path, err)
		}
	},
	"port80": func([]string) {
		fd, err := onLoopback(80, syscall.Bind)
		if err = errors.Join(err, syscall.Listen(fd, 1)); err != nil {
			fmt.Println(err)
		}
	},
	"terminal": func([]string) {
		const tiocsctty = 0x540e
		var info [64]byte
		if rawCall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&info))) != nil {
			fmt.Println("stdin is no terminal")
		}
		achieved("taking the terminal", rawCall(syscall.SYS_IOCTL, 0, tiocsctty, 1))
		achieved("changing its mode", os.Chmod("/dev/tty", 0o666)) // which is the mode that it has
	},
}

// connectTo connects to "tcp:PORT" of the loopback or "unix:PATH" (a leading @ is abstract), or opens the
// other end of "fifo:PATH".
func connectTo(address string) error {
	kind, where, _ := strings.Cut(address, ":")
	if kind == "fifo" {
		file, err := os.OpenFile(where, os.O_WRONLY|syscall.O_NONBLOCK, 0) // ENXIO if nobody reads
		file.Close()
		return err
	}
	fd, err := onSocket(kind, where, syscall.Connect)
	syscall.Close(fd)
	return err
}

// onSocket returns a socket on which do, bind(2) or connect(2), has worked.
func onSocket(kind, where string, do func(fd int, address syscall.Sockaddr) error) (fd int, err error) {
	if port, _ := strconv.Atoi(where); kind == "tcp" {
		return onLoopback(port, do)
	}
	fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	return fd, errors.Join(err, do(fd, &syscall.SockaddrUnix{Name: where}))
}

// listening makes a socket that connectTo can reach at address.
func listening(kind, where string) (fd int, address string, err error) {
	fd, err = onSocket(kind, where, syscall.Bind)
	err = errors.Join(err, syscall.Listen(fd, 100))
	bound, _ := syscall.Getsockname(fd)
	if inet, isInet := bound.(*syscall.SockaddrInet4); isInet {
		where = strconv.Itoa(inet.Port)
	}
	return fd, kind + ":" + where, err
}

// listen makes what connectTo can reach, also as another user, and returns its address.
func listen(t *testing.T, kind, where string) string {
	t.Helper()
	address := kind + ":" + where
	if kind == "fifo" {
		check(t, syscall.Mkfifo(where, 0o666))
		file, err := os.OpenFile(where, os.O_RDWR, 0)
		check(t, err)
		t.Cleanup(func() { file.Close() })
	} else {
		fd, found, err := listening(kind, where)
		check(t, err)
		t.Cleanup(func() { syscall.Close(fd) })
		address = found
	}
	if filepath.IsAbs(where) {
		check(t, os.Chmod(where, 0o777))
		t.Cleanup(func() { os.Remove(where) })
	}
	return address
}

// The command sees what it wrote, and nobody else ever does.
func TestTryWrites(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_SH)
		name := filepath.Base(box.base)
		box.unchanged(func() {
			box.want(strings.Repeat("x\nx\n3\n0\n", 7), `for dir in . sub ~ $TMPDIR /tmp /var/tmp /dev/shm; do
				(n=`+name+`; cd $dir && echo x >$n && cat $n && mkdir $n-d && mv $n $n-d/b && cat $n-d/b &&
				ln -s b $n-d/c && ln $n-d/b $n-d/d && chmod 700 $n-d/d && ls $n-d | wc -l && rm -r $n-d &&
				ls -d $n* 2>/dev/null | wc -l; touch $n); done`)
			for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
				expectIs(t, "it is left in "+dir, isThere(filepath.Join(dir, name)), false)
			}
			box.want("new\nnone\n", `echo new >notes; rm sub/deep; cat notes; mv sub gone; chmod 0 notes
				touch -d 2001-01-01 notes; rm -rf sub; mkdir sub; ls sub
				rm -rf .git ~/.profile; ln -s /etc ~/.profile; echo none`)
		})
	})
}

// Everything else is read-only, by whatever way.
func TestTryReadOnly(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		dirs := box.base + " " + box.base + "/bin / /usr /etc /opt /var /var/lib /run /dev /dev/pts " +
			"/sys /proc /proc/sys /home /mnt"
		box.want("", "for dir in "+dirs+`; do
			for do in touch mkdir; do $do $dir/ccc-was-here 2>&- && echo $do in $dir; done; done
			cd ..; ! chmod 777 . /dev/null /dev 2>&- && ! mv bin bun 2>&-`)
		for dir := range strings.FieldsSeq(dirs) {
			if isThere(dir + "/ccc-was-here") {
				os.RemoveAll(dir + "/ccc-was-here")
				t.Errorf("%s is writable", dir)
			}
		}
		box.attack("mounts,devices,kernel")
	})
}

// What the environment says of Claude Code, ccc and its providers stays outside.
func TestTryEnvironment(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		const config = `{"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${KIMI_TOKEN}"}}}}`
		box.put(map[string]string{"home/.claude/ccc.json": config})
		for name := range strings.FieldsSeq("KIMI_TOKEN ANTHROPIC_API_KEY CLAUDECODE " + tryVariable) {
			box.vars = append(box.vars, name+"=s3cret")
		}
		box.vars = append(box.vars, "KEPT=yes")
		got := box.try("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null")
		expectIn(t, "the environment", got.stdout, "KEPT=yes\n")
		expectNotIn(t, "the environment", got.stdout+got.stderr, "s3cret")
	})
}

// Nobody has or gets a privilege. A program that becomes root outside stays who it is inside.
func TestTryPrivileges(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		const none = "0000000000000000"
		kept := none
		if box.uid == 0 {
			kept = "000000000000041b" // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, NET_BIND_SERVICE
		}
		expectIn(t, "the status of a process", box.try("cat /proc/self/status").stdout, "CapInh:\t"+none,
			"CapAmb:\t"+none, "CapEff:\t"+kept, "CapPrm:\t"+kept, "NoNewPrivs:\t1",
			fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d", box.uid))
		box.attack("namespaces,process_one")
		if box.uid == 0 || os.Getuid() != 0 {
			return
		}
		id, err := exec.LookPath("id")
		if err != nil {
			skipTry(t, err.Error())
		}
		// By a child: what this process writes a fork may hold open.
		check(t, exec.Command("cp", id, box.work+"/root-id").Run())
		check(t, os.Chmod(box.work+"/root-id", 0o755|os.ModeSetuid))
		if got := box.shell("./root-id -u"); got.stdout != "0\n" {
			t.Logf("set-user-ID does not work here at all: %+v", got)
		}
		box.want(fmt.Sprintln(box.uid), "./root-id -u")
	})
}

// No socket of the host can be reached, wherever it is; in the places to write to and below /run also no
// named pipe, and nothing that is younger than the copy.
func TestTrySockets(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_SH)
		name := fmt.Sprint("ccc-", os.Getpid(), "-", box.uid)
		addresses := []string{listen(t, "unix", "@"+name)}
		if port := listen(t, "tcp", ""); connectTo(port) == nil { // in a container the loopback may be down
			addresses = append(addresses, port)
		} else if os.Getenv(tryTestVariable) != "" {
			t.Error("nothing listens on the loopback")
		}
		places := []string{
			box.work, box.work + "/sub", box.home, box.base + "/tmp", "/tmp", "/var/tmp", "/dev/shm", "/run"}
		open := func(suffix string, dirs ...string) {
			for _, dir := range dirs {
				path := filepath.Join(dir, name+suffix)
				if os.Mkdir(path, 0o700) != nil {
					continue // only root can
				}
				check(t, os.Remove(path))
				addresses = append(addresses, listen(t, "unix", path))
				if slices.Contains(places, dir) {
					addresses = append(addresses, listen(t, "fifo", path+".fifo"))
				}
			}
		}
		open("", append(places, box.base, "/var/lib", "/")...)
		for _, address := range addresses {
			if err := connectTo(address); err != nil {
				t.Errorf("%s can't be reached outside: %v", address, err)
			}
		}
		box.attack("connect", addresses...)
		const late = "echo ready; read go; env " + testMainVariable + "=attack ccc connect $go"
		cmd := box.command("ccc", "try", late)
		input, _ := cmd.StdinPipe()
		output, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		output.Read(make([]byte, 10))
		addresses = nil
		open("-late", places...)
		fmt.Fprintln(input, strings.Join(addresses, " "))
		said, _ := io.ReadAll(output)
		expectIs(t, "what was reached of late ones", string(said), "")
		check(t, cmd.Wait())
		// A command may make its own socket where the host's is.
		box.want("", "rm "+name)
		// A loopback of its own is there, and works.
		box.attack("loopback")
	})
}

// Processes outside can't be seen or signalled, nor their memory be shared.
func TestTryProcesses(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		other := box.command("sh", "-c", "sleep 100; : ccc-test-outside")
		check(t, other.Start())
		defer func() {
			syscall.Kill(-other.Process.Pid, syscall.SIGKILL)
			_ = other.Wait()
		}()
		ids := fmt.Sprintln(other.Process.Pid, os.Getpid(), os.Getppid())
		box.attack("processes", strings.Fields(ids)...)
		const ipcCreate = 0o1000
		id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, 4096, ipcCreate|0o666)
		check(t, callError("shmget", errno))
		defer syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
		box.want("1\n", "cat /proc/sysvipc/shm | wc -l")
	})
}

// What the caller has open is no way out, and the caller's files, pipes and sockets stay as they are.
func TestTryDescriptors(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		open := func(path string, flags int) *os.File {
			file, err := os.OpenFile(path, flags, 0)
			check(t, err)
			t.Cleanup(func() { file.Close() })
			return file
		}
		attacking := func(stdin, stdout, stderr *os.File) *exec.Cmd {
			cmd := box.attacking("descriptors")
			dir := open(box.base+"/bin", os.O_RDONLY)
			cmd.ExtraFiles = []*os.File{dir, dir, dir, dir}
			cmd.Stdin = stdin
			if stdout != nil {
				cmd.Stdout = stdout
				cmd.Stderr = stderr
			}
			return cmd
		}
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
		check(t, err)
		stdin := os.NewFile(uintptr(socket), "socket")
		defer stdin.Close()
		box.unchanged(func() {
			for fd, path := range []string{box.base + "/tmp/t", box.home + "/.profile", box.work + "/notes"} {
				files := [3]*os.File{}
				for i := range files {
					files[i] = open(os.DevNull, os.O_RDWR)
				}
				files[fd] = open(path, os.O_RDWR|os.O_APPEND)
				check(t, attacking(files[0], files[1], files[2]).Run())
			}
			box.attackWith(attacking(open(box.base+"/bin", os.O_RDONLY), nil, nil))
			box.attackWith(attacking(stdin, nil, nil))
		})
		info, err := os.Stat(os.DevNull)
		check(t, err)
		expectIs(t, os.DevNull, info.Mode().Perm(), 0o666)
		read, write, err := os.Pipe()
		check(t, err)
		defer read.Close()
		defer write.Close()
		settings := func() string {
			const getPipeSize = 1032
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), syscall.F_GETFL, 0)
			size, _, _ := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), getPipeSize, 0)
			info, err := write.Stat()
			check(t, err)
			return fmt.Sprintf("%#o %d %v", flags, size, info.Mode())
		}
		before := settings()
		check(t, attacking(nil, write, write).Run())
		expectIs(t, "the caller's pipe", settings(), before)
	})
}
