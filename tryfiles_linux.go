package main

// The file system of a copy. It is built from nothing, on an empty root. Of the host's files nothing comes into it
// but through overlays and as copies, which show files and directories and no more: behind an overlay a socket has no
// listener, a named pipe no other end and a file no lock of the host's, whoever makes it and whenever. What the kernel
// lays no overlay over stays empty.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// The copy is built in the workshop, a tmpfs in this process's mounts, all of which go when the copy stands; /proc is there
// everywhere and is shown in another way. root is what will be the copy's root, empty a directory to lay read-only overlays with.
const (
	workshop = "/proc"
	root     = workshop + "/root"
	empty    = workshop + "/empty"
)

// What has to be copied file by file, and the number of neighbours of a mount that need a mount each, are bounded for
// the time it takes.
const (
	copyRoom       = 512 << 20 // bytes, in all
	fewNeighbours  = 50        // an overlay with its upper layer on disk takes a millisecond or two; in memory a third of one
	manyNeighbours = 1000      // it is said
)

// bareMounts returns where in scratch each mount of the host's appears without what is mounted on it.
func bareMounts(scratch string) string { return filepath.Join(scratch, "mounts") }

// bindBare gives this thread, for good, mounts of its own, and binds each of the host's where bareMounts says: over that
// an overlay can be laid, whatever is mounted below. Only root may do so; for others the copy shows directories with
// mounts below them entry by entry.
func bindBare(scratch string) {
	if os.Getuid() != 0 || syscall.Unshare(syscall.CLONE_NEWNS) != nil || mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") != nil {
		return
	}
	// Whoever has the terminal could change the mode of the host's /dev/tty, but not by a mount that is read-only.
	_ = errors.Join(mount("/dev/tty", "/dev/tty", "", syscall.MS_BIND, ""), mount("", "/dev/tty", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	if scratch == "" {
		return
	}
	mounts, _ := mountPoints()
	dir := bareMounts(scratch)
	err := errors.Join(os.Mkdir(dir, 0o700), mount("ccc-try", dir, "tmpfs", 0, "mode=700"))
	for i, m := range mounts {
		if info, statErr := os.Stat(m.path); err == nil && statErr == nil && info.IsDir() && !isKernels(m.path) {
			bare := filepath.Join(dir, strconv.Itoa(i))
			err = errors.Join(os.Mkdir(bare, 0o700), mount(m.path, bare, "", syscall.MS_BIND, ""))
		}
	}
}

const (
	sysMountSetattr = 442 // which package syscall lacks
	// For these mount_setattr has the same values as mount.
	private = syscall.MS_NOSUID | syscall.MS_NODEV
	closed  = private | syscall.MS_RDONLY
)

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return &os.PathError{Op: strings.TrimSpace("mounting " + kind), Path: target, Err: err}
	}
	return nil
}

// restrict adds attributes to the mount at path.
func restrict(path string, attributes uintptr) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	change := struct{ set, clear, propagation, userns uint64 }{set: uint64(attributes)}
	_, _, errno := syscall.Syscall6(sysMountSetattr, currentDirectory, uintptr(unsafe.Pointer(name)), 0,
		uintptr(unsafe.Pointer(&change)), unsafe.Sizeof(change), 0)
	return failed("mount_setattr", errno)
}

// A copyBuilder builds the file system of a copy.
type copyBuilder struct {
	scratch  string       // a directory for what is written, on disk; "" if there is none
	needed   []string     // what must be writable
	writable []string     // what shall be
	all      []mountPoint // of this process, those of bareMounts too
	mounts   []string     // where the host's are, in order; of what the kernel makes up the top only
	layers   int          // how many there are of what is written
	crowded  bool         // what is shown now is one of many, of which what is written is kept in memory
	room     int64        // bytes that may still be copied
	said     []string     // what the user is told when the copy stands
	err      error        // of the step that failed
}

// build builds the file system and makes it the one of this process.
func (b *copyBuilder) build() error {
	defer syscall.Umask(syscall.Umask(0))
	b.room, b.mounts = copyRoom, []string{"/proc", "/sys", "/dev"}
	b.all, b.err = mountPoints()
	for _, m := range b.all {
		if !isKernels(m.path) && m.path != "/" && (b.scratch == "" || !inside(m.path, b.scratch)) {
			b.mounts = append(b.mounts, m.path)
		}
	}
	b.check(
		mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		mount("ccc-try", workshop, "tmpfs", private, "mode=755"),
		os.Mkdir(root, 0o755), os.Mkdir(empty, 0o755),
		mount("ccc-try", root, "tmpfs", private, "mode=755"))
	b.show("/")
	if b.scratch != "" { // what is written in other copies is not to be seen by any way
		for _, path := range aliases(filepath.Dir(b.scratch), b.all) {
			if info, err := os.Lstat(root + path); err == nil && info.IsDir() {
				b.check(mount("ccc-try", root+path, "tmpfs", closed, "mode=755"))
			}
		}
	}
	if !slices.Contains(b.writable, "/") {
		b.check(restrict(root, closed))
	}
	if b.check(os.Chdir(root)); b.err != nil {
		return b.err
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	return os.NewSyscallError("umount", syscall.Unmount(".", syscall.MNT_DETACH)) // of the host's files
}

// check keeps the first error. What follows it is of no account, as the copy won't stand.
func (b *copyBuilder) check(errs ...error) { b.err = cmp.Or(b.err, cmp.Or(errs...)) }

// below returns those of paths that are below dir.
func below(dir string, paths ...string) (found []string) {
	for _, path := range paths {
		if path != dir && inside(path, dir) {
			found = append(found, path)
		}
	}
	return found
}

// isWritable tells whether the command may write to what is at path.
func (b *copyBuilder) isWritable(path string) bool {
	return slices.ContainsFunc(b.writable, func(dir string) bool { return inside(path, dir) })
}

// holds tells whether one of dirs is at path or below it.
func holds(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return inside(dir, path) })
}

// lower is where what is at path can be found without what is mounted below it, "" if it can't.
func (b *copyBuilder) lower(path string) string {
	for _, alias := range aliases(path, b.all) {
		if b.scratch != "" && inside(alias, bareMounts(b.scratch)) {
			return alias
		}
	}
	if len(below(path, b.mounts...)) > 0 {
		return ""
	}
	return path
}

// show makes the directory at path appear in the copy, where an empty one is: as an overlay, which is read-only but for
// the places to write to in it.
func (b *copyBuilder) show(path string) {
	lower, inner := b.lower(path), outermost(below(path, slices.Concat(b.mounts, b.writable)...))
	switch {
	case path == "/proc":
		b.showProc()
	case path == "/dev":
		b.showDev()
	case path == "/sys":
		b.showSys()
	case lower == "":
		b.split(path)
	default:
		err := b.overlay(path, lower, b.isWritable(path) || len(inner) > 0)
		if err != nil && holds(path, b.needed) {
			b.check(err)
		}
		if err != nil && b.overlay(path, lower, false) != nil { // what can't be a copy can be read, at least
			return
		}
		b.showInner(inner)
		if !b.isWritable(path) {
			b.check(restrict(root+path, closed))
		}
	}
}

// showInner shows what is at paths, in a directory that is shown: mounts, and places to write to.
func (b *copyBuilder) showInner(paths []string) {
	for _, path := range paths {
		if slices.Contains(b.mounts, path) {
			b.showEntry(path)
			continue
		}
		if err := mount(root+path, root+path, "", syscall.MS_BIND, ""); err != nil && holds(path, b.needed) {
			b.check(err)
		}
		b.showInner(outermost(below(path, b.mounts...)))
	}
}

// overlay shows what is at lower at path, through an overlay. Its upper layer is on disk where that can carry one, which
// another overlay, the file system of containers, can't. volatile: nothing has to survive a crash; xino=off: files
// keep their numbers.
func (b *copyBuilder) overlay(path, lower string, writable bool) error {
	// The options name the lower directory by a dot: its own name may hold what separates options.
	if err := os.Chdir(lower); err != nil {
		return err
	}
	defer os.Chdir("/")
	if !writable {
		return mount("ccc-try", root+path, "overlay", closed, "lowerdir=.:"+empty)
	}
	onDisk := b.scratch != "" && path != "/dev/shm" && (!b.crowded || holds(path, b.writable))
	for {
		upper, err := b.layer(path, onDisk)
		if err == nil {
			err = os.Mkdir(upper+"-work", 0o700)
		}
		if err == nil {
			err = mount("ccc-try", root+path, "overlay", private,
				"lowerdir=.,upperdir="+upper+",workdir="+upper+"-work,userxattr,volatile,index=off,metacopy=off,xino=off")
		}
		if err == nil || !onDisk {
			return err
		}
		onDisk = false
	}
}

// layer makes a directory for what is written to the one at path, with the way to the places to write to in it: some
// are still to be made, and for an ordinary user the kernel copies no directory of another's.
func (b *copyBuilder) layer(path string, onDisk bool) (layer string, err error) {
	b.layers++
	layer = filepath.Join(workshop, strconv.Itoa(b.layers))
	if onDisk {
		layer = filepath.Join(b.scratch, strconv.Itoa(b.layers))
	}
	for _, place := range append(below(path, b.writable...), path) {
		if _, statErr := os.Stat(place); os.Getuid() == 0 && statErr == nil && place != path {
			continue
		}
		err = errors.Join(err, os.MkdirAll(filepath.Join(layer, place[len(path):]), 0o755))
		for ; inside(place, path); place = filepath.Dir(place) {
			if info, statErr := os.Stat(place); statErr == nil {
				err = errors.Join(err, likeOutside(filepath.Join(layer, place[len(path):]), info))
			}
			if place == path { // which may be /, and that is in itself
				break
			}
		}
	}
	return layer, err
}

// likeOutside gives what is at path the owner, as far as this user can, the mode and the time of info.
func likeOutside(path string, info os.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	_ = os.Lchown(path, int(stat.Uid), int(stat.Gid))
	if info.Mode()&os.ModeSymlink != 0 {
		return nil
	}
	return errors.Join(os.Chmod(path, info.Mode()), os.Chtimes(path, info.ModTime(), info.ModTime()))
}

// split shows a directory entry by entry. That is for one with mounts below it, over which a user namespace can lay
// no overlay, and for one that is still to be made beside such.
func (b *copyBuilder) split(path string) {
	if path != "/" && slices.Contains(b.writable, path) {
		layer, err := b.layer(path, b.scratch != "")
		b.check(err, mount(layer, root+path, "", syscall.MS_BIND, ""), restrict(root+path, private))
	}
	entries, _ := os.ReadDir(path)
	if len(entries) >= manyNeighbours {
		b.said = append(b.said, fmt.Sprintf("something is mounted below %s: its %d entries are shown one by one, which takes time for each run", path, len(entries)))
	}
	var paths []string
	for _, entry := range entries {
		paths = append(paths, filepath.Join(path, entry.Name()))
	}
	for _, dir := range below(path, slices.Concat(b.mounts, b.writable)...) {
		name, _, _ := strings.Cut(strings.TrimPrefix(dir[len(path):], "/"), "/")
		paths = append(paths, filepath.Join(path, name)) // where one may not look, one may still pass through
	}
	slices.Sort(paths)
	before := b.crowded
	b.crowded = before || len(paths) > fewNeighbours
	for _, path := range slices.Compact(paths) {
		b.showEntry(path)
	}
	b.crowded = before
}

// showEntry shows what is at path. Sockets, named pipes and devices it leaves out.
func (b *copyBuilder) showEntry(path string) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		if slices.Contains(b.writable, path) {
			_ = b.within(func() error { return os.MkdirAll(path, 0o755) })
			b.split(path)
		}
	case info.IsDir(): // where it can't be made it is there
		_ = b.within(func() error { return os.MkdirAll(path, info.Mode()&(os.ModePerm|os.ModeSticky)) })
		b.show(path)
	case info.Mode()&os.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		_ = b.within(func() error { return errors.Join(os.Symlink(to, path), likeOutside(path, info)) })
	case info.Mode().IsRegular():
		b.showFile(path, info)
	}
}

// showFile shows a copy of the file at path: the file itself would carry locks and leases to the host. What can't be
// copied can't be read.
func (b *copyBuilder) showFile(path string, info os.FileInfo) {
	source, unreadable := os.Open(path)
	if unreadable == nil {
		defer source.Close()
	}
	var target *os.File
	err := b.within(func() (err error) {
		_ = os.Remove(path) // what it is mounted over
		target, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0)
		return err
	})
	defer target.Close()
	if err != nil || unreadable != nil { // the former in what can't be a copy
		return
	}
	if b.room -= info.Size(); b.room < 0 {
		b.said = append(b.said, fmt.Sprintf("%s is too large to be copied, and can't be read", path))
		b.room += info.Size()
	} else if _, err := io.Copy(target, source); err == nil {
		b.check(b.within(func() error { return likeOutside(path, info) }))
	}
}

// within does something in the copy, with its root as this process's: a link in the way, for another user may make one at
// any time, would lead to the host's files.
func (b *copyBuilder) within(do func() error) error {
	err := errors.Join(os.Chdir("/"), syscall.Chroot(root))
	if err == nil {
		err = do()
		b.check(syscall.Chroot(".")) // which still is outside
	}
	return err
}

// showProc mounts /proc for the processes of the copy. It is read-only: root needs no capability to write to
// /proc/sys.
func (b *copyBuilder) showProc() {
	b.check(
		mount("proc", root+"/proc", "proc", private|syscall.MS_NOEXEC, ""),
		// In a user namespace of its own the command would have capabilities again.
		os.WriteFile(root+"/proc/sys/user/max_user_namespaces", []byte("0"), 0),
		restrict(root+"/proc", closed))
}

// showSys mounts a /sys of the copy's own: on the host's there may be mounts in which somebody listens. Where the kernel
// refuses one, as in some containers, there is none. The limits of a container are in its control groups.
func (b *copyBuilder) showSys() {
	const groups = "/sys/fs/cgroup"
	if mount("sysfs", root+"/sys", "sysfs", closed|syscall.MS_NOEXEC, "") == nil {
		_ = b.overlay(groups, groups, false) // where they are unified: of older ones each is a mount below
	}
}

// showDev makes a /dev of harmless devices. They are read-only, as far as that goes for devices: root could change
// the mode of the host's /dev/null.
func (b *copyBuilder) showDev() {
	const dev = root + "/dev"
	b.check(
		mount("ccc-try", dev, "tmpfs", private, "mode=755"),
		os.Mkdir(dev+"/pts", 0o755),
		mount("devpts", dev+"/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"))
	for _, name := range []string{"/null", "/zero", "/full", "/random", "/urandom", "/tty"} {
		if info, err := os.Stat("/dev" + name); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.check(os.WriteFile(dev+name, nil, 0o600), mount("/dev"+name, dev+name, "", syscall.MS_BIND, ""), restrict(dev+name, closed&^syscall.MS_NODEV))
		}
	}
	for _, link := range []string{"ptmx pts/ptmx", "fd /proc/self/fd", "stdin fd/0", "stdout fd/1", "stderr fd/2"} {
		name, target, _ := strings.Cut(link, " ")
		b.check(os.Symlink(target, dev+"/"+name))
	}
	b.showEntry("/dev/shm")
	b.check(restrict(dev, closed))
}
