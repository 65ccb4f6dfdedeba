package main

import (
	"errors"
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

// A state directory on a disk that is full, or that can't be written to, costs no decision.
func TestFaultDisk(t *testing.T) {
	beside(t)
	onlyRoot(t)
	for want, flags := range map[string]uintptr{"no space left": 0, "read-only file system": syscall.MS_RDONLY} {
		t.Run(want, func(t *testing.T) {
			box := newHookBox(t)
			box.write(".claude/ccc/filler", 0o600, "")
			dir := filepath.Join(box.home, ".claude/ccc")
			runtime.LockOSThread() // for good: what it mounts, for it and what it starts, ends with the goroutine
			err := syscall.Unshare(syscall.CLONE_NEWNS)
			private := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
			if err = errors.Join(err, private, syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k")); err != nil {
				t.Skip("mounting a tmpfs:", err)
			}
			t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
			if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600); err == nil {
				t.Fatal("the disk takes it")
			}
			expectEnd(t, "the stop", box.stop(""), 0, blockNotYet, want)
			box.expectBounded(1)
			box.vars = append(box.vars, "COLUMNS=1000")
			expectIn(t, "doctor", box.run(60*time.Second, "", "ccc", "doctor").stdout,
				"problem  state directory: writing to "+dir, want)
		})
	}
}

// Also through a link a state directory that takes no file is a problem.
func TestFaultDiskLinked(t *testing.T) {
	onlyRoot(t)
	box := newDoctorBox(t)
	state := filepath.Join(box.home, ".claude/ccc")
	check(t, os.Rename(state, box.home+"/elsewhere"))
	check(t, os.Symlink("../elsewhere", state))
	got := box.run(60*time.Second, "", "unshare", "-m", "sh", "-c",
		`cd; mount -t tmpfs -o size=64k none elsewhere && { head -c 1M /dev/zero >elsewhere/x; ccc doctor; }`)
	expectIn(t, "doctor", got.stdout, "problem  state directory: writing to ", "no space left")
	box.ccc("doctor") // so that there is a directory for trials
	got = box.run(60*time.Second, "", "unshare", "-m", "sh", "-c",
		`mount --bind $HOME/elsewhere $HOME/elsewhere && mount -o remount,ro,bind $HOME/elsewhere && ccc doctor`)
	expectIn(t, "of a read-only one", got.stdout, "problem  hooks tried: trying the hooks: ",
		"problem  state directory: writing to ")
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

// A disk that can't take what was written to it costs the user's file nothing: it is replaced after the
// sync, not before.
func TestFaultSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	check(t, os.WriteFile(path, []byte("old"), 0o600))
	var durable, quick error
	withoutSync(t, func() {
		durable = replaceDurably(path, []byte("new"))
		text, _ := os.ReadFile(path)
		if left, _ := os.ReadDir(filepath.Dir(path)); string(text) != "old" || len(left) != 1 {
			t.Errorf("the file holds %s, beside it %v", text, left)
		}
		quick = replaceFile(path, []byte("new")) // a counter does not wait for the disk
	})
	if text, _ := os.ReadFile(path); !errors.Is(durable, syscall.EIO) || quick != nil || string(text) != "new" {
		t.Errorf("%v, %v: the file holds %s", durable, quick, text)
	}
}

// So it is of each file that ccc writes for the user. What is missing or was changed by hand is to be
// written, the disk fails, and the command says so and leaves that file as it was.
func TestSyncOfEach(t *testing.T) {
	const settings, record = ".claude/settings.json", ".claude/.ccc-installed.json"
	for name, test := range map[string]struct {
		file    string
		edit    []string // old and new texts of that file or another; none removes it
		command []string
	}{
		"settings.json":            {settings, []string{settings, `"UserPromptSubmit"`, `"Other"`}, nil},
		"the record of added keys": {record, []string{settings, `"disableAllHooks": false,`, ""}, nil},
		"SUPERVISOR.md":            {".claude/SUPERVISOR.md", nil, nil},
		"the command":              {".claude/commands/supervisor.md", nil, nil},
		"uninstall":                {settings, nil, []string{"ccc", "uninstall"}},
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.setSettings("{\n  \"mine\": 1\n}\n")
			box.launch()
			switch {
			case len(test.edit) > 0:
				text := box.read(test.edit[0])
				expectIn(t, "what is edited", text, test.edit[1])
				box.write(test.edit[0], 0o600, strings.Replace(text, test.edit[1], test.edit[2], 1))
				box.write(record, 0o600, strings.Replace(box.read(record), `"disableAllHooks"`, `"allowManagedHooksOnly"`,
					1))
			case test.command == nil:
				check(t, os.Remove(filepath.Join(box.home, test.file)))
			}
			before := box.read(test.file)
			if test.command == nil {
				test.command = []string{"ccc", "--supervisor"}
			}
			withoutSync(t, func() {
				got := box.run(30*time.Second, "", test.command...)
				if isNeeded := test.command[1] == "uninstall" || test.edit != nil; isNeeded {
					expectEnd(t, "the command", got, 1, "", "input/output error")
				} else { // a session is reviewed without the file
					expectIs(t, "the exit code of a launch", got.code, 0)
				}
			})
			expectIs(t, test.file, box.read(test.file), before)
			expectIs(t, "its exit code on a disk that works", box.run(30*time.Second, "", test.command...).code, 0)
			expectIs(t, "it is written there", box.read(test.file) != before, true)
		})
	}
}

// A state that belongs to another user can't be read: as nobody, so that the
// mode of the file counts.
func TestFaultOthersFile(t *testing.T) {
	onlyRoot(t)
	box := newHookBox(t)
	box.write(statePath, 0o600, `{"session_id":"`+testSession+`","count":3}`)
	box.ordinary()
	check(t, os.Chown(filepath.Join(box.home, statePath), 0, 0))
	expectEnd(t, "the stop", box.stop(""), 0, blockNotYet, "permission denied")
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
		expectIs(t, "what the prompt's message says of "+suffix, strings.Count(box.submit("go on").stdout, denied),
			1)
		expectIn(t, "the stop's "+suffix, box.stop("").stderr, "noting the last review: open "+found[0]+": "+denied)
		expectIs(t, "the exit code with root's "+suffix, box.run(30*time.Second, "", "ccc", "verdict").code, code)
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
