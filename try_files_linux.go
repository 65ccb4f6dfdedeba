package main

// The file system of a copy: the host's, bound as it is and read-only, with an overlay over each place to
// write to and over /run. Behind an overlay a socket has no listener. /dev and /proc are the copy's own.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// The copy is built in the workshop, a tmpfs that hides the host's /proc. copyRoot becomes the root of the
// command; emptyDir is a directory to lay read-only overlays with.
const (
	workshop = "/proc"
	copyRoot = workshop + "/root"
	emptyDir = workshop + "/empty"
)

// closedMount are the attributes of what can't be written to. mount and mount_setattr have the same values
// for them.
const closedMount = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV

// mountedInProject is what is said where that keeps a copy from being made.
const mountedInProject = "is mounted in the project"

// A layer says what lies over a place of the host's in the copy.
type layer int

const (
	layerNone     layer = iota // nothing: the host's directory, read-only
	layerReadOnly              // an overlay that can't be written to
	layerWritable              // an overlay
)

// A copyBuilder builds the file system of a copy.
type copyBuilder struct {
	scratch string           // a directory for what is written, on disk; "" if there is none
	project string           // it must be writable as a whole
	places  []string         // what else the command may write to, links resolved
	sockets io.Reader        // the host's /proc/net/unix
	mounts  []string         // where the host has something mounted, but for /, /proc and /dev
	over    map[string]layer // what lies over a directory, and what is below it up to the next one here
	uppers  int              // how many there are
}

// build builds the file system and makes it the one of this process. It changes root by chroot: there the
// kernel makes no user namespace, in which the command would have capabilities again.
func (b *copyBuilder) build() (err error) {
	defer syscall.Umask(syscall.Umask(0))
	if b.mounts, err = mountPoints(); err != nil {
		return err
	}
	places := append([]string{"/dev", "/proc", "/run"}, b.places...)
	if !isKernels(b.project) {
		places = append(places, b.project)
	}
	for _, path := range b.mounts {
		if inside(path, b.project) && !isKernels(path) {
			places = append(places, path)
		}
	}
	// What holds another comes before it.
	slices.SortFunc(places, func(a, b string) int { return len(a) - len(b) })
	steps := []func() error{
		func() error { return mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return mount("ccc-try", workshop, "tmpfs", syscall.MS_NOSUID, "mode=755") },
		func() error { return os.Mkdir(copyRoot, 0o755) },
		func() error { return os.Mkdir(emptyDir, 0o755) },
		func() error { return mount("/", copyRoot, "", syscall.MS_BIND|syscall.MS_REC, "") },
		func() error { return restrict(copyRoot, closedMount) },
	}
	for _, path := range places {
		steps = append(steps, func() error { return b.show(path) })
	}
	steps = append(steps, b.hideScratch, b.coverSockets,
		func() error { return os.Chdir(copyRoot) },
		func() error { return os.NewSyscallError("chroot", syscall.Chroot(".")) })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// show makes what is at path the copy's own.
func (b *copyBuilder) show(path string) error {
	switch {
	case path == "/dev":
		return b.showDev()
	case path == "/proc":
		const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
		if err := mount("proc", copyRoot+path, "proc", flags, ""); err != nil {
			return err
		}
		return restrict(copyRoot+path, closedMount) // root needs no capability to write to /proc/sys
	case b.isWritable(path):
		return nil
	case path == "/run":
		return b.cover(path, layerReadOnly)
	}
	return b.cover(path, layerWritable)
}

// cover lays an overlay over the directory at path, and binds what is mounted below it in again, read-only. A
// user namespace can lay no overlay over a directory with mounts of the host's below it: there each directory
// in it that has none gets one, and what lies in it directly stays read-only. That is not enough for a
// project.
func (b *copyBuilder) cover(path string, kind layer) error {
	var below []string
	for _, m := range b.mounts {
		if m != path && inside(m, path) {
			below = append(below, m)
		}
	}
	err := b.overlay(path, kind)
	switch {
	case err != nil && inside(path, b.project):
		for _, m := range append(below, path) {
			if m != b.project && slices.Contains(b.mounts, m) {
				return fmt.Errorf("%s %s, which can't be written to as a whole: %w", m, mountedInProject, err)
			}
		}
		return err
	case err == nil:
		for _, m := range below {
			if _, kind := b.at(m); kind == layerNone {
				continue // it came with the one that holds it
			}
			if mount(m, copyRoot+m, "", syscall.MS_BIND|syscall.MS_REC, "") != nil {
				continue // what this user can't get at, or another mount hides
			}
			if err := restrict(copyRoot+m, closedMount); err != nil {
				return err
			}
			b.over[m] = layerNone
		}
	case len(below) > 0:
		entries, _ := os.ReadDir(path)
		for _, entry := range entries {
			inner := filepath.Join(path, entry.Name())
			if !entry.IsDir() || isKernels(inner) || slices.Contains(b.mounts, inner) {
				continue
			}
			if err := b.cover(inner, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// overlay lays an overlay over the directory at path. Its upper layer is on disk where that can carry one,
// which another overlay, the file system of containers, can't. volatile: nothing has to survive a crash;
// xino=off: files keep their numbers.
func (b *copyBuilder) overlay(path string, kind layer) error {
	// The options name the lower directory by a dot: its own name may hold what separates options.
	if err := os.Chdir(path); err != nil {
		return err
	}
	defer os.Chdir("/")
	lay := func(flags uintptr, options string) error {
		flags |= syscall.MS_NOSUID | syscall.MS_NODEV
		err := mount("ccc-try", copyRoot+path, "overlay", flags, "lowerdir=."+options)
		if err == nil {
			b.over[path] = kind
		}
		return err
	}
	if kind == layerReadOnly {
		return lay(syscall.MS_RDONLY, ":"+emptyDir)
	}
	if b.scratch != "" {
		if upper, err := b.upper(b.scratch); err == nil && lay(0, upper) == nil {
			return nil
		}
	}
	upper, err := b.upper(workshop)
	if err != nil {
		return err
	}
	return lay(0, upper)
}

// upper makes an upper layer in dir for the current directory, whose owner, as far as this user can, mode and
// time it has. It returns the options of the overlay.
func (b *copyBuilder) upper(dir string) (options string, err error) {
	b.uppers++
	upper := filepath.Join(dir, strconv.Itoa(b.uppers))
	work := upper + "-work"
	info, err := os.Stat(".")
	if err != nil {
		return "", err
	}
	for _, path := range []string{upper, work} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return "", err
		}
	}
	stat := info.Sys().(*syscall.Stat_t)
	_ = os.Lchown(upper, int(stat.Uid), int(stat.Gid))
	if err := os.Chmod(upper, info.Mode()); err != nil {
		return "", err
	}
	if err := os.Chtimes(upper, info.ModTime(), info.ModTime()); err != nil {
		return "", err
	}
	const kind = ",userxattr,volatile,index=off,metacopy=off,xino=off"
	return ",upperdir=" + upper + ",workdir=" + work + kind, nil
}

// at returns the directory that counts for what is at path, and what lies over it.
func (b *copyBuilder) at(path string) (dir string, kind layer) {
	for dir = path; ; dir = filepath.Dir(dir) {
		if kind, ok := b.over[dir]; ok || dir == "/" {
			return dir, kind
		}
	}
}

// isWritable reports whether the command may already write to what is at path: an overlay lies over it, and
// the kernel can copy the directories that lead there. For an ordinary user it copies none of another's.
func (b *copyBuilder) isWritable(path string) bool {
	top, kind := b.at(path)
	isRoot := os.Getuid() == 0
	for dir := filepath.Dir(path); !isRoot && dir != top && inside(dir, top); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
			return false
		}
	}
	return kind == layerWritable
}

// hideScratch hides what is written in this copy and in others of the same user.
func (b *copyBuilder) hideScratch() error {
	if b.scratch == "" {
		return nil
	}
	return mount("ccc-try", copyRoot+filepath.Dir(b.scratch), "tmpfs", closedMount, "mode=755")
}

// coverSockets covers each socket of the host's over which no overlay lies.
func (b *copyBuilder) coverSockets() error {
	text, err := io.ReadAll(b.sockets)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		_, path, named := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		if !named {
			continue
		}
		path = resolved("/" + path)
		info, err := os.Lstat(copyRoot + path)
		if _, kind := b.at(path); kind != layerNone || err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		err = mount(copyRoot+"/dev/null", copyRoot+path, "", syscall.MS_BIND, "")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // its service may have ended meanwhile
			return err
		}
	}
	return nil
}

// showDev makes a /dev of harmless devices. They are read-only, as far as that goes for devices: root could
// change the mode of the host's /dev/null.
func (b *copyBuilder) showDev() error {
	const dev = copyRoot + "/dev"
	if err := mount("ccc-try", dev, "tmpfs", syscall.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	const options = "newinstance,ptmxmode=0666,mode=0620"
	err := errors.Join(os.Mkdir(dev+"/shm", 0o755), os.Mkdir(dev+"/pts", 0o755),
		mount("devpts", dev+"/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, options))
	for _, name := range []string{"/null", "/zero", "/full", "/random", "/urandom", "/tty"} {
		err = errors.Join(err, os.WriteFile(dev+name, nil, 0o600),
			mount("/dev"+name, dev+name, "", syscall.MS_BIND, ""),
			restrict(dev+name, closedMount&^syscall.MS_NODEV))
	}
	for name, target := range map[string]string{
		"/ptmx": "pts/ptmx", "/fd": "/proc/self/fd", "/stdin": "fd/0", "/stdout": "fd/1", "/stderr": "fd/2",
	} {
		err = errors.Join(err, os.Symlink(target, dev+name))
	}
	// The devices' mounts keep what they are.
	return errors.Join(err, mount("", dev, "", syscall.MS_REMOUNT|syscall.MS_BIND|closedMount, ""))
}

// mountPoints returns where the host has something mounted, but for what the copy has of its own.
func mountPoints() (paths []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		path := unescape.Replace(fields[4])
		if path != "/" && !inside(path, "/proc") && !inside(path, "/dev") {
			paths = append(paths, path)
		}
	}
	return paths, err
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return &os.PathError{Op: strings.TrimSpace("mounting " + kind), Path: target, Err: err}
	}
	return nil
}

// restrict adds attributes to the mount at path and to all below it.
func restrict(path string, attributes uintptr) error {
	const mountSetattr, recursive = 442, 0x8000 // package syscall lacks the call
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	change := struct{ set, clear, propagation, userns uint64 }{set: uint64(attributes)}
	_, _, errno := syscall.Syscall6(mountSetattr, currentDirectory, uintptr(unsafe.Pointer(name)), recursive,
		uintptr(unsafe.Pointer(&change)), unsafe.Sizeof(change), 0)
	return failed("mount_setattr", errno)
}

// currentDirectory is AT_FDCWD, -100.
const currentDirectory = ^uintptr(99)
