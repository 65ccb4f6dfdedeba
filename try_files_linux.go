package main

// The file system of a copy: the host's, read-only, with an overlay over each place to write to and over
// /run, and its own /dev and /proc. A socket that is seen through an overlay has no listener.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

const (
	workshop = "/proc"            // where the copy is built: a tmpfs hides the host's
	copyRoot = workshop + "/root" // becomes the root of the command

	// The attributes of what can be written to and of what can't, for mount and mount_setattr.
	openMount   = syscall.MS_NOSUID | syscall.MS_NODEV
	closedMount = openMount | syscall.MS_RDONLY

	// mountedInProject is in the error if a mount in the project keeps a copy from being made.
	mountedInProject = "is mounted in the project"
)

// A copyBuilder builds the file system of a copy. Paths are the host's, with links resolved.
type copyBuilder struct {
	scratch string    // a directory for what is written, on disk, or ""
	project string    // it must be writable as a whole
	places  []string  // what else the command may write to
	sockets io.Reader // the host's /proc/net/unix
	mounts  []string  // where the host has something mounted
}

// build builds the file system and makes it the one of this process. It changes root by chroot: there the
// kernel makes no user namespace, in which the command would have capabilities again.
func (b *copyBuilder) build() (err error) {
	if b.mounts, err = mountPoints(); err != nil {
		return err
	}
	places := slices.Concat([]string{"/dev", "/proc", "/run", b.project}, b.places)
	for _, path := range b.mounts {
		if inside(path, b.project) && !isKernels(path) {
			places = append(places, path)
		}
	}
	slices.Sort(places) // a directory comes before what it holds
	steps := []func() error{
		func() error { return mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return mount("ccc-try", workshop, "tmpfs", syscall.MS_NOSUID, "mode=755") },
		func() error { return os.Mkdir(copyRoot, 0o755) },
		func() error { return mount("/", copyRoot, "", syscall.MS_BIND|syscall.MS_REC, "") },
		func() error { return restrict(copyRoot, closedMount) },
	}
	for _, path := range slices.Compact(places) {
		steps = append(steps, func() error { return b.show(path) })
	}
	if b.scratch != "" { // what is written in this copy, and in others of the same user
		hidden := copyRoot + filepath.Dir(b.scratch)
		hide := func() error { return mount("ccc-try", hidden, "tmpfs", closedMount, "mode=755") }
		steps = append(steps, hide)
	}
	steps = append(steps, b.coverSockets,
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
	switch path {
	case "/dev":
		return showDev()
	case "/proc": // read-only: root needs no capability to write to /proc/sys
		return mount("proc", copyRoot+path, "proc", closedMount|syscall.MS_NOEXEC, "")
	case "/run":
		return b.cover(path, closedMount)
	}
	// If the overlay over a directory above does the work, a change to the same mode succeeds. It fails
	// below directories of other owners, which the kernel does not copy for an ordinary user.
	info, err := os.Stat(copyRoot + path)
	if err == nil && os.Chmod(copyRoot+path, info.Mode()) == nil {
		return nil
	}
	return b.cover(path, openMount)
}

// cover lays an overlay with these attributes over the directory at path. What is mounted below path it
// binds in again, read-only. In a user namespace mounts below path can make that overlay impossible. Then
// each directory in path that is no mount gets an overlay of its own. Files directly in path stay read-only,
// which is not enough for a project.
func (b *copyBuilder) cover(path string, attributes uintptr) error {
	var below []string
	for _, m := range b.mounts {
		if m != path && inside(m, path) {
			below = append(below, m)
		}
	}
	err := b.overlay(path, attributes)
	switch {
	case err == nil:
		for _, m := range below {
			if mount(m, copyRoot+m, "", syscall.MS_BIND, "") != nil {
				continue // this user can't get at it, or another mount hides it
			}
			if err := restrict(copyRoot+m, closedMount); err != nil {
				return err
			}
		}
	case inside(path, b.project):
		for _, m := range b.mounts {
			if m != b.project && inside(m, path) {
				return fmt.Errorf("%s %s, which can't be written to as a whole: %w", m, mountedInProject, err)
			}
		}
		return err
	case len(below) > 0:
		entries, _ := os.ReadDir(path)
		for _, entry := range entries {
			inner := filepath.Join(path, entry.Name())
			if entry.IsDir() && !slices.Contains(b.mounts, inner) {
				if err := b.cover(inner, attributes); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// overlay lays an overlay over the directory at path. What is written to it goes to disk, or to memory if
// the disk can't carry the upper layer of an overlay, as in containers.
func (b *copyBuilder) overlay(path string, attributes uintptr) error {
	// The options name the lower directory by a dot: its own name may hold what separates options.
	if err := os.Chdir(path); err != nil {
		return err
	}
	defer os.Chdir("/")
	isOnDisk := b.scratch != "" && attributes == openMount
	if isOnDisk && overlayHere(b.scratch, path, attributes) == nil {
		return nil
	}
	return overlayHere(workshop, path, attributes)
}

// overlayHere lays an overlay over the directory at path, which is the current one. The upper layer, in dir,
// has the directory's mode and, as far as this user can give it away, its owner.
func overlayHere(dir, path string, attributes uintptr) error {
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	upper, err := os.MkdirTemp(dir, "upper")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(dir, "work")
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	_ = os.Lchown(upper, int(stat.Uid), int(stat.Gid))
	if err := os.Chmod(upper, info.Mode()); err != nil {
		return err
	}
	// volatile: nothing has to survive a crash; xino=off: files keep their numbers.
	options := "lowerdir=.,upperdir=" + upper + ",workdir=" + work +
		",userxattr,volatile,index=off,metacopy=off,xino=off"
	return mount("ccc-try", copyRoot+path, "overlay", attributes, options)
}

// coverSockets covers each socket of the host's that no overlay lies over: in the copy that is the same file.
func (b *copyBuilder) coverSockets() error {
	text, err := io.ReadAll(b.sockets)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		_, path, named := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		path = resolved("/" + path)
		info, err := os.Lstat(path)
		if !named || err != nil || info.Mode()&os.ModeSocket == 0 || !sameFile(path, copyRoot+path) {
			continue
		}
		err = mount(copyRoot+"/dev/null", copyRoot+path, "", syscall.MS_BIND, "")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // its service may have ended meanwhile
			return err
		}
	}
	return nil
}

// showDev makes a /dev of harmless devices, the host's own; read-only, so that nobody changes these.
func showDev() error {
	const dev = copyRoot + "/dev"
	const options = "newinstance,ptmxmode=0666,mode=0620"
	err := errors.Join(mount("ccc-try", dev, "tmpfs", syscall.MS_NOSUID, "mode=755"),
		os.Mkdir(dev+"/shm", 0o755), os.Mkdir(dev+"/pts", 0o755),
		mount("devpts", dev+"/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, options))
	for _, name := range []string{"/null", "/zero", "/full", "/random", "/urandom", "/tty"} {
		err = errors.Join(err, os.WriteFile(dev+name, nil, 0o600),
			mount("/dev"+name, dev+name, "", syscall.MS_BIND, ""))
	}
	for name, target := range map[string]string{
		"/ptmx": "pts/ptmx", "/fd": "/proc/self/fd", "/stdin": "fd/0", "/stdout": "fd/1", "/stderr": "fd/2",
	} {
		err = errors.Join(err, os.Symlink(target, dev+name))
	}
	return errors.Join(err, restrict(dev, closedMount&^syscall.MS_NODEV))
}

// mount is mount(2). The error names the target.
func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return &os.PathError{Op: strings.TrimSpace("mounting " + kind), Path: target, Err: err}
	}
	return nil
}

// restrict adds attributes to the mount at path, which is absolute, and to all below it.
func restrict(path string, attributes uintptr) error {
	const mountSetattr, recursive = 442, 0x8000 // package syscall lacks the call
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	change := struct{ set, clear, propagation, userns uint64 }{set: uint64(attributes)}
	_, _, errno := syscall.Syscall6(mountSetattr, 0, uintptr(unsafe.Pointer(name)), recursive,
		uintptr(unsafe.Pointer(&change)), unsafe.Sizeof(change), 0)
	return callError("mount_setattr", errno)
}
