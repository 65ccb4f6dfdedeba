package main

// Who is in a copy reaches nothing outside.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// attack runs shell lines in a copy, each by itself. None may succeed, or end for want of a program.
func (box *tryBox) attack(lines ...string) {
	box.t.Helper()
	script := ""
	for _, line := range lines {
		program, _, _ := strings.Cut(line, " ")
		script += fmt.Sprintf("command -v %s >/dev/null && ! (%s) >/dev/null 2>&1 || echo %s\n", program,
			line, shellQuote(line))
	}
	expectEnd(box.t, "what was achieved", box.try(script), 0, "", "")
}

// connects tries the addresses in a copy, none of which may be reached.
func (box *tryBox) connects(addresses ...string) {
	box.t.Helper()
	command := []string{"env", testMainVariable + "=connect", "ccc"}
	expectEnd(box.t, "what connects", box.try(append(command, addresses...)...), 0, "", "")
}

// reach is what a copy runs as testMainVariable's "connect": it tells which of the addresses it reaches, and
// if the loopback of its own does not work.
func reach(addresses []string) {
	_, own, err := listening("tcp", "")
	if err = errors.Join(err, connectTo(own)); err != nil {
		fmt.Println(err)
	}
	for _, address := range addresses {
		if connectTo(address) == nil {
			fmt.Println("reached", address)
		}
	}
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

// Everything else is read-only, by whatever way, and no device, no mount and no setting of the kernel can be
// had.
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
		const devices = "null|zero|full|random|urandom|tty|ptmx|pts|shm|fd|stdin|stdout|stderr"
		box.want("", "ls /dev | grep -vxE '"+devices+"'; ls "+copyRoot+" 2>&-; :")
		lines := []string{"pivot_root /tmp /tmp", "chroot /tmp", "touch -d 2001-01-01 /dev/null",
			": </dev/tty", "hostname x"}
		for _, dir := range []string{"/", "/usr", "/proc/sys", "/dev", "$HOME"} {
			lines = append(lines, "mount -o remount,bind,rw "+dir, "mount -t tmpfs x "+dir,
				"mount --bind "+dir+" /tmp", "mount --move "+dir+" /tmp", "umount -l "+dir)
		}
		for _, dir := range []string{"$HOME", "/tmp", "/dev", "/dev/shm"} {
			lines = append(lines, "mknod "+dir+"/node b 8 0", "mknod "+dir+"/node c 1 3")
		}
		for path := range strings.FieldsSeq(`kernel/core_pattern vm/drop_caches user/max_user_namespaces
			../sysrq-trigger ../mtrr ../irq/default_smp_affinity ../../sys/power/state
			../../sys/kernel/uevent_helper ../../sys/fs/cgroup/cgroup.procs
			../../sys/fs/cgroup/unified/cgroup.procs`) {
			lines = append(lines, "echo 1 >/proc/sys/"+path)
		}
		box.attack(lines...)
	})
}

// What the environment says of Claude Code, ccc and its providers stays outside.
func TestTryEnvironment(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		const config = `{"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${KIMI_TOKEN}"}}}}`
		box.put(map[string]string{"home/.claude/ccc.json": config})
		for name := range strings.FieldsSeq(`KIMI_TOKEN ANTHROPIC_API_KEY CLAUDECODE CLAUDE_CONFIG_DIR
			CCC_SUPERVISOR AWS_BEARER_TOKEN_BEDROCK AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
			GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET ` + tryVariable) {
			box.vars = append(box.vars, name+"=s3cret")
		}
		box.vars = append(box.vars, "KEPT=yes", "API_TIMEOUT_MS=1", "CCC_CONFIG_DIR="+box.home+"/.claude")
		got := box.try("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null")
		expectIn(t, "the environment", got.stdout, "KEPT=yes\n", "API_TIMEOUT_MS=1\n")
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
		box.attack("unshare -U true", "unshare -m true", "unshare -n true", "unshare -p true",
			"unshare -C true", "unshare -Urmnp true", "setpriv --reuid 12345 true",
			"setpriv --regid 12345 --keep-groups true", "setpriv --groups 0 true")
		// The C library's own signals Go handles for nobody: while a thread of process 1 has its signals
		// blocked, the kernel takes the default action, which is the end of a copy that nobody asked for.
		box.want("alive\n", `for s in $(seq 64); do
			[ $s = 32 ] || [ $s = 34 ] || { kill -$s 1; kill -$s -1; }; done 2>&-; sleep 0.02; echo alive`)
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
			expectIs(t, address+" can be reached outside", connectTo(address) == nil, true)
		}
		box.connects(addresses...)
		const late = "echo ready; read go; env " + testMainVariable + "=connect ccc $go"
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
		const ipcCreate = 0o1000
		id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, 4096, ipcCreate|0o666)
		check(t, callError("shmget", errno))
		defer syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
		box.want("1\n", fmt.Sprintf(`for p in %d %d %d; do kill -0 $p 2>&- && echo $p; done
			cat /proc/*/cmdline | grep -a 'ccc-test-outsid[e]'; set -- /proc/[0-9]*; [ $# -lt 6 ] || echo $*
			wc -l </proc/sysvipc/shm`, other.Process.Pid, os.Getpid(), os.Getppid()))
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
		attacks := func(stdin, stdout, stderr *os.File) {
			t.Helper()
			cmd := box.command("ccc", "try", `[ "$(echo $(ls /proc/self/fd))" = "0 1 2 3" ] || ls -l /dev/fd/
				for f in /dev/fd/[0-2]; do [ -p $f ] && ! [ -e $f/.. ] || echo $f is no pipe
				chmod 777 $f; : >$f; done; dd count=0 iflag=nonblock oflag=nonblock status=none`)
			dir := open(box.base+"/bin", os.O_RDONLY)
			cmd.ExtraFiles = []*os.File{dir, dir, dir, dir}
			cmd.Stdin = stdin
			if stdout != nil {
				cmd.Stdout = stdout
				cmd.Stderr = stderr
			}
			expectEnd(t, "what is open", box.finish(cmd), 0, "", "")
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
				attacks(files[0], files[1], files[2])
			}
			attacks(open(box.base+"/bin", os.O_RDONLY), nil, nil)
			attacks(stdin, nil, nil)
		})
		info, err := os.Stat(os.DevNull)
		check(t, err)
		expectIs(t, os.DevNull, info.Mode().Perm(), 0o666)
		var pipe [2]int
		check(t, syscall.Pipe2(pipe[:], syscall.O_CLOEXEC))
		write := os.NewFile(uintptr(pipe[1]), "pipe")
		defer write.Close()
		defer syscall.Close(pipe[0])
		settings := func() string {
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(pipe[1]), syscall.F_GETFL, 0)
			info, err := write.Stat()
			check(t, err)
			return fmt.Sprintf("%#o %v", flags, info.Mode())
		}
		before := settings()
		attacks(nil, write, write)
		expectIs(t, "the caller's pipe", settings(), before)
	})
}
