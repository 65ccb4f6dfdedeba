package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A state directory on a disk that is full, or that can't be written to, costs no decision, and no second
// stop is held up. doctor says so, also of one behind a link.
func TestFaultDisk(t *testing.T) {
	onlyRoot(t)
	for options, want := range map[string]string{"rw": "no space left", "ro": "read-only file system"} {
		box := newHookBox(t)
		box.write("first", 0o600, box.event(eventStop, ""))
		box.write("next", 0o600, box.event(eventStop, inTurn))
		const script = `cd; mkdir disk; ln -s ../disk .claude/ccc
			mount -t tmpfs -o size=64k,$0 none disk || exit 9; head -c 1M /dev/zero >disk/filler
			ccc supervisor-hook <first && ccc supervisor-hook <next; COLUMNS=1000 ccc doctor`
		got := box.run(2*time.Minute, "", "unshare", "-m", "sh", "-c", script, options)
		expectPrefix(t, want+": the first stop", got.stdout, blockNotYet)
		expectCounts(t, want, got.stdout, map[string]int{"block": 1})
		expectIn(t, "stderr", got.stderr, want)
		expectIn(t, want, got.stdout, "problem  state directory: writing to "+box.home+"/.claude/ccc", want)
	}
}

// withoutSync calls do on a thread of its own on which, and in all that it starts, no sync of a file to the
// disk works: a filter of system calls plays such a disk.
func withoutSync(t *testing.T, do func()) {
	t.Helper()
	const number, noNewPrivileges, filterMode = 0, 38, 2
	program := []syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: number},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: syscall.SYS_FSYNC, Jf: 1},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0x00050000 | uint32(syscall.EIO)},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0x7fff0000},
	}
	filter := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0)
		if err = callError("prctl", errno); err != nil {
			return
		}
		_, _, errno = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, filterMode,
			uintptr(unsafe.Pointer(&filter)))
		if err = callError("seccomp", errno); err == nil {
			do()
		}
	}()
	<-done
	if err != nil {
		t.Skip("no filter of system calls: ", err)
	}
}

// A disk that can't take what was written to it costs the user's file nothing: it is replaced after the sync,
// not before. What is missing or was changed by hand is to be written, the disk fails, and the command says
// so and leaves that file as it was. Without SUPERVISOR.md or the command a session is reviewed all the same.
func TestFaultSync(t *testing.T) {
	const settings, record = ".claude/settings.json", ".claude/.ccc-installed.json"
	const forget = "sed -i s/disableAllHooks/allowManagedHooksOnly/ " + record + "; "
	for _, test := range []struct {
		file, edit, command string
		code                int
	}{
		{settings, forget + "sed -i 's/\"UserPromptSubmit\"/\"Other\"/' " + settings, "--supervisor", 1},
		{record, forget + "sed -i 's/\"disableAllHooks\": false,//' " + settings, "--supervisor", 1},
		{".claude/SUPERVISOR.md", "rm .claude/SUPERVISOR.md", "--supervisor", 0},
		{".claude/commands/supervisor.md", "rm .claude/commands/supervisor.md", "--supervisor", 0},
		{settings, ":", "uninstall", 1},
	} {
		t.Run(test.command+" "+filepath.Base(test.file), func(t *testing.T) {
			box := newFakeBox(t)
			box.setSettings("{\n  \"mine\": 1\n}\n")
			box.launch()
			installed := box.read(settings) + box.read(record)
			expectIs(t, "the edit", box.run(10*time.Second, "", "sh", "-ec", "cd; "+test.edit).code, 0)
			isEdited := box.read(settings)+box.read(record) != installed
			expectIs(t, "something is edited", isEdited, strings.Contains(test.edit, "sed"))
			before := box.read(test.file)
			withoutSync(t, func() {
				want := map[int]string{1: "input/output error", 0: "enabled"}[test.code]
				got := box.run(30*time.Second, "", "ccc", test.command)
				expectIs(t, "the exit code", got.code, test.code)
				expectIn(t, "stderr", got.stderr, want)
			})
			expectIs(t, test.file, box.read(test.file), before)
			got := box.run(30*time.Second, "", "ccc", test.command)
			expectIs(t, "its exit code on a disk that works", got.code, 0)
			expectIs(t, "it is written there", box.read(test.file) != before, true)
		})
	}
}

// A record that belongs to another user, or whose lock does: each event says so, and what was sent back
// there stays. If it can't be read, ccc verdict can't tell.
func TestFaultOthersRecord(t *testing.T) {
	onlyRoot(t)
	for suffix, code := range map[string]int{".json": 2, ".lock": 1} {
		box := newHookBox(t)
		box.repository()
		box.submit("do it")
		box.write("../work/notes.txt", 0o600, "2\n")
		box.stop("")
		found, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/tree-*"+suffix))
		box.ordinary()
		check(t, os.Chown(found[0], 0, 0))
		box.reviews(allows(""))
		const denied = "permission denied"
		expectIs(t, "the prompt's message of "+suffix, strings.Count(box.submit("go on").stdout, denied), 1)
		expectIn(t, "the stop", box.stop("").stderr, "noting the last review: open "+found[0]+": "+denied)
		expectIs(t, "the code with root's "+suffix, box.run(30*time.Second, "", "ccc", "verdict").code, code)
		check(t, os.Chown(found[0], madeUpUser, madeUpUser))
		expectIs(t, "ccc verdict after all", box.run(30*time.Second, "", "ccc", "verdict").stdout, "block\n")
	}
}

// A process of another user's is there, though no signal may be sent to it.
func TestOthersProcess(t *testing.T) {
	onlyRoot(t)
	gone := exec.Command("true")
	check(t, gone.Run())
	var own, ended bool
	var errno syscall.Errno
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread, which is another user's, ends with the goroutine
		_, _, errno = syscall.RawSyscall(syscall.SYS_SETRESUID, madeUpUser, madeUpUser, madeUpUser)
		own, ended = isGone(os.Getppid()), isGone(gone.Process.Pid)
	}()
	<-done
	check(t, callError("setresuid", errno))
	expectIs(t, "a process of root's is gone", own, false)
	expectIs(t, "one that has ended is gone", ended, true)
}
