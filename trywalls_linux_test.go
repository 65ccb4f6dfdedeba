package main

// Who is in a copy reaches nothing outside.

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Everything else is read-only, by whatever way.
func TestTryReadOnly(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		for _, dir := range []string{box.base, box.base + "/bin", "/", "/usr", "/etc", "/opt", "/var", "/var/lib", "/run", "/dev", "/dev/pts", "/sys", "/proc", "/proc/sys", "/home", "/mnt"} {
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			got := box.try("touch " + dir + "/ccc-was-here || mkdir " + dir + "/ccc-was-here")
			if _, err := os.Lstat(dir + "/ccc-was-here"); got.code == 0 || err == nil {
				os.RemoveAll(dir + "/ccc-was-here")
				t.Errorf("%s is writable: %+v", dir, got)
			}
		}
		box.want("", "! chmod 777 "+box.base+" /dev/null /dev 2>/dev/null && ! mv "+box.base+"/bin "+box.base+"/bun 2>/dev/null")
		box.attack("mounts")
		box.attack("devices")
		box.attack("kernel")
	})
}

func TestTryPrivileges(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		const none = "0000000000000000"
		got := box.try("cat /proc/self/status")
		all := box.try("cat /proc/1/task/*/status").stdout
		_, _, cgo := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0)
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
			// With cgo, which ccc does not use but tests may, Go can't change all threads.
			if n := strings.Count(all, set+":"); n < 2 || n != strings.Count(all, set+":\t"+none) && cgo == 0 {
				t.Errorf("%s: not all threads of process 1 have none:\n%s", set, all)
			}
		}
		for _, want := range []string{"CapEff:\t" + none, "CapBnd:\t" + none, "NoNewPrivs:\t1", fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d", box.uid)} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("no %q in\n%s", want, got.stdout)
			}
		}
		box.attack("namespaces")
		box.attack("process_one")
		if box.uid == 0 || os.Getuid() != 0 {
			return
		}
		// A program that becomes root outside stays who it is inside.
		id, err := exec.LookPath("id")
		if err != nil {
			skipTry(t, err.Error())
		}
		program, _ := os.ReadFile(id)
		os.WriteFile(box.work+"/root-id", program, 0o755)
		if err := os.Chmod(box.work+"/root-id", 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if got := box.finish(box.cmd([]string{"./root-id", "-u"})); got.stdout != "0\n" {
			t.Logf("set-user-ID does not work here at all: %+v", got)
		}
		box.want(strconv.Itoa(box.uid)+"\n", "./root-id -u")
	})
}

// No socket and no named pipe of the host can be reached, wherever it is, and whether it is older than the copy or
// younger.
func TestTrySockets(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		name := "/ccc-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(box.uid)
		addresses := []string{listen(t, "tcp4", ""), listen(t, "unix", "@"+name)}
		if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
			addresses = append(addresses, listen(t, "tcp6", ""))
		}
		dirs := []string{box.base, box.work, box.work + "/sub", box.home, box.base + "/tmp", "/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lib", "/"}
		open := func(suffix string) {
			for _, dir := range dirs {
				path := filepath.Join(dir, name+suffix)
				if os.WriteFile(path, nil, 0o600) != nil {
					continue // only root can
				}
				os.Remove(path)
				addresses = append(addresses, listen(t, "unix", path), listen(t, "fifo", path+".fifo"))
			}
		}
		open("")
		for _, address := range addresses {
			if err := connectTo(address); err != nil {
				t.Errorf("%s can't be reached outside: %v", address, err)
			}
		}
		box.attack("connect", addresses...)
		cmd := box.cmd([]string{"ccc", "try", "echo ready; read go; env " + testMainVariable + "=attack ccc connect $go"})
		input, _ := cmd.StdinPipe()
		output, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		output.Read(make([]byte, 10))
		addresses = nil
		open("-late")
		fmt.Fprintln(input, strings.Join(addresses, " "))
		said, _ := io.ReadAll(output)
		if err := cmd.Wait(); err != nil || len(said) != 0 {
			t.Errorf("late ones: %v\n%s", err, said)
		}
		// A loopback of its own is there, and works.
		box.want("", "env "+testMainVariable+"=attack ccc loopback")
	})
}

// Processes outside can't be seen or signalled, nor their memory be shared.
func TestTryProcesses(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		other := box.cmd([]string{"sh", "-c", "sleep 100; : ccc-test-outside"})
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			syscall.Kill(-other.Process.Pid, syscall.SIGKILL)
			other.Wait()
		}()
		box.attack("processes", strconv.Itoa(other.Process.Pid), strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid()))
		const ipcCreate = 0o1000
		id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, 4096, ipcCreate|0o666)
		if errno != 0 {
			t.Fatal(errno)
		}
		defer syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
		if got := box.try("cat /proc/sysvipc/shm | wc -l"); got.stdout != "1\n" {
			t.Errorf("shared memory: %+v", got)
		}
	})
}

// What the caller has open is no way out.
func TestTryDescriptors(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		before := box.snapshot()
		file, err := os.OpenFile(box.base+"/bin", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		attack := []string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", "descriptors"}
		cmd := box.cmd(attack)
		cmd.ExtraFiles = []*os.File{file, file, file, file}
		for fd := range 3 {
			cmd := box.cmd(attack)
			for i, to := range []string{box.base + "/tmp/t", box.home + "/.profile", box.work + "/notes"} {
				if i != fd {
					to = os.DevNull
				}
				file, err := os.OpenFile(to, os.O_RDWR|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				switch i {
				case 0:
					cmd.Stdin = file
				case 1:
					cmd.Stdout = file
				case 2:
					cmd.Stderr = file
				}
			}
			cmd.ExtraFiles = []*os.File{file, file}
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		}
		cmd.Stdin = file
		box.attackWith(cmd)
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd = box.cmd(attack)
		cmd.Stdin = os.NewFile(uintptr(socket), "socket")
		input := cmd.Stdin.(*os.File)
		defer input.Close()
		box.attackWith(cmd)
		if after := box.snapshot(); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
		if info, err := os.Stat(os.DevNull); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: %v %v", os.DevNull, info, err)
		}
		// Both streams into one file: in order, and behind what is there.
		log, _ := os.OpenFile(box.base+"/tmp/t", os.O_WRONLY|os.O_APPEND, 0)
		cmd = box.cmd([]string{"ccc", "try", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"})
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Run()
		if text, _ := os.ReadFile(box.base + "/tmp/t"); string(text) != "temp\n1\n2\n3\n4\n" {
			t.Errorf("got %q", text)
		}
	})
}

// On a terminal a command looks like one on a terminal, but can't type into it. Ctrl-C ends it.
func TestTryTerminal(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, box *tryBox) {
		const unlock, number = 0x40045431, 0x80045430
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			skipTry(t, err.Error())
		}
		defer master.Close()
		var zero, n uint32
		if err := errors.Join(rawCall(syscall.SYS_IOCTL, master.Fd(), unlock, uintptr(unsafe.Pointer(&zero))), rawCall(syscall.SYS_IOCTL, master.Fd(), number, uintptr(unsafe.Pointer(&n)))); err != nil {
			t.Fatal(err)
		}
		terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		on := func(argv ...string) *exec.Cmd {
			cmd := box.cmd(argv)
			cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = false, true, true
			cmd.Stdin = terminal
			return cmd
		}
		box.attackWith(on("ccc", "try", "env", testMainVariable+"=attack", "ccc", "terminal"))
		cmd := on("ccc", "try", "echo ready; sleep 100")
		output, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		output.Read(make([]byte, 10))
		master.Write([]byte{3})
		start := time.Now()
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 130 || time.Since(start) > time.Second {
			t.Errorf("Ctrl-C: %v after %v", cmd.ProcessState, time.Since(start))
		}
	})
}

// The probe breaks out where it can, and tells what mends a machine.
func TestTryProbe(t *testing.T) {
	box := newTryBox(t, os.Getuid())
	for mode, want := range map[string]string{
		"1":                         "",
		"ccc_without_walls":         "was written to " + box.work,
		"ccc_without_network_walls": "reached a listener",
		"ccc_that_fails":            "exit status 3",
		"ccc_that_hangs":            "deadline",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := tryProbe(ctx, box.base+"/bin/ccc", box.work, setEnv(box.vars, testMainVariable, mode))
		if err != nil && want == "" || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
		if left, _ := filepath.Glob(box.work + "/.ccc-try*"); len(left) != 0 {
			t.Errorf("%s: left %q", mode, left)
		}
		cancel()
	}
	got := box.try("ccc try true")
	if got.code != tryImpossible || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "ccc: try: no copy can be made: ") || !strings.Contains(got.stderr, toMend) {
		t.Errorf("a copy in a copy: %+v", got)
	}
	box.attack("probe")
}

// A review where no copy can be made, as in a copy: the reviewer is told so, and so are people.
func TestTryNoCopy(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	needCopy(t, box)
	box.write("event", 0o600, box.event(eventStop, ""))
	// What is written in the copy is brought out of it by the pipe.
	cmd := box.command("sh", "-c", `ccc try 'ccc supervisor-hook <../home/event 2>/dev/null >&2; tar -cf - ../fake ../home/.claude/ccc | cat' | tar -xf - -C ../fake/..`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	box.expectNoCopy(t, "no copy can be made: ")
	got := box.run(20*time.Second, "", "ccc", "try", "ccc doctor | grep -A1 copies")
	if !strings.HasPrefix(got.stdout, "warning  copies: no copy can be made: ") || !strings.Contains(got.stdout, "\n         sudo sysctl user.max_user_namespaces=") {
		t.Errorf("doctor: %+v", got)
	}
}
