package main

// The file system of a copy. It is built from nothing, on an empty root. Of the host's files nothing comes into it
// but through overlays and as copies, which show files and directories and no more: behind an overlay a socket has no
// listener, a named pipe no other end and a file no lock of the host's, whoever makes it and whenever. What the kernel
// lays no overlay over stays empty.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// The workshop goes when the copy stands. A directory of the host's own with this name is not shown.
const (
	workshop  = "/.ccc-try"
	outside   = workshop + "/outside" // the host's file system
	disk      = workshop + "/disk"    // the scratch directory
	partsList = "parts"               // names the mounts that partMounts found
	memory    = workshop              // a tmpfs
)

// What has to be copied file by file, and the number of neighbours of a mount that need a mount each, are bounded for
// the time it takes.
const (
	copyRoom       = 512 << 20 // bytes, in all
	fewNeighbours  = 50        // an overlay with its upper layer on disk takes a millisecond or two; in memory a third of one
	manyNeighbours = 1000      // it is said
)

// partMounts gives this thread, for good, mounts of its own, and makes each of the host's appear as a directory without
// what is mounted on it: over that an overlay can be laid, whatever is mounted below. Only root may do so; for others
// the copy shows directories with mounts below them entry by entry. The directories cover the place of the scratch
// directories, where scratch alone stays, so that nothing on this thread takes the host's files for scratch.
func partMounts(scratch string) {
	if scratch == "" || os.Getuid() != 0 || syscall.Unshare(syscall.CLONE_NEWNS) != nil || mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") != nil {
		return
	}
	// Whoever has the terminal could change the mode of the host's /dev/tty, but not by a mount that is read-only.
	_ = errors.Join(mount("/dev/tty", "/dev/tty", "", syscall.MS_BIND, ""), mount("", "/dev/tty", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	parent := filepath.Dir(scratch)
	kept, err := os.Open(scratch)
	mounts, mountsErr := mountPoints()
	if err = errors.Join(err, mountsErr); err == nil {
		err = mount("ccc-try", parent, "tmpfs", 0, "mode=700")
	}
	if err != nil {
		return
	}
	defer kept.Close()
	err = errors.Join(os.Mkdir(scratch, 0o700), mount(fmt.Sprintf("/proc/self/fd/%d", kept.Fd()), scratch, "", syscall.MS_BIND, ""))
	var paths []string
	for _, m := range mounts {
		info, statErr := os.Stat(m.path)
		if err == nil && statErr == nil && info.IsDir() && !isKernels(m.path) && !slices.Contains(paths, m.path) {
			part := partOf(parent, len(paths))
			err = errors.Join(os.Mkdir(part, 0o700), mount(m.path, part, "", syscall.MS_BIND, ""))
			paths = append(paths, m.path)
		}
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(parent, partsList), []byte(strings.Join(paths, "\x00")), 0o600)); err != nil {
		_ = syscall.Unmount(parent, syscall.MNT_DETACH)
	}
}

func partOf(parent string, i int) string { return fmt.Sprintf("%s/part%d", parent, i) }

const (
	sysMountSetattr = 442 // which package syscall lacks
	// For these mount_setattr has the same values as mount.
	closed = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV
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

// A copyBuilder builds the file system of a copy. Its methods are steps: after one that failed there are none.
type copyBuilder struct {
	scratch  string   // a directory for what is written, on disk; "" if there is none
	needed   []string // what must be writable
	writable []string // what shall be
	mounts   []string // where something is mounted outside
	parts    []string // where partMounts found something mounted
	shown    []string // what is not shown with the directory that it is in
	upper    string   // where what is written goes: disk or memory
	layers   int      // how many have been made
	crowded  bool     // what is shown now is one of many
	room     int64    // bytes that may still be copied
	said     []string // what the user is told when the copy stands
	err      error    // of the step that failed
}

// build builds the file system and makes it the one of this process.
func (b *copyBuilder) build() error {
	defer syscall.Umask(syscall.Umask(0))
	const root = "/proc" // any directory that is there: the mount moves away from it
	parent := filepath.Dir(b.scratch)
	mounts, err := mountPoints()
	b.err = err
	mounts = slices.DeleteFunc(mounts, func(m mountPoint) bool { return b.scratch != "" && inside(m.path, parent) })
	for _, m := range mounts {
		b.mounts = append(b.mounts, m.path)
	}
	if list, err := os.ReadFile(filepath.Join(parent, partsList)); err == nil && b.scratch != "" && os.Getuid() == 0 {
		b.parts = strings.Split(string(list), "\x00")
		b.shown = append(b.shown, b.mounts...)
	}
	for _, path := range b.writable {
		b.shown = append(b.shown, path)
		if _, err := os.Lstat(path); err != nil { // it is to be made, in what is shown of its parent
			b.shown = append(b.shown, filepath.Dir(path))
		}
	}
	b.room = copyRoom
	b.mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	b.mount("ccc-try", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=755")
	b.mkdir(root + workshop)
	b.mount("ccc-try", root+workshop, "tmpfs", 0, "mode=700")
	b.mkdir(root + outside)
	b.do(func() error { return os.NewSyscallError("pivot_root", syscall.PivotRoot(root, root+outside)) })
	b.do(func() error { return os.Chdir("/") })
	b.chooseUpper()
	b.split("/")
	if b.scratch != "" { // what is written in other copies is not to be seen by any way
		for _, path := range aliases(parent, mounts) {
			if info, err := os.Lstat(path); err == nil && info.IsDir() {
				b.mount("ccc-try", path, "tmpfs", closed, "mode=755")
			}
		}
	}
	b.do(func() error { return os.NewSyscallError("umount", syscall.Unmount(workshop, syscall.MNT_DETACH)) })
	b.do(func() error { return os.Remove(workshop) })
	if !slices.Contains(b.writable, "/") {
		b.restrict("/", closed)
	}
	return b.err
}

// chooseUpper tests whether scratch carries upper directories. Another overlay, the file system of containers, does
// not.
func (b *copyBuilder) chooseUpper() {
	b.upper = memory
	if b.scratch == "" {
		return
	}
	b.mkdir(disk)
	b.mount(outside+b.scratch, disk, "", syscall.MS_BIND, "")
	for _, dir := range []string{"/0", "/0-work", "/lower"} {
		b.mkdir(disk + dir)
	}
	if b.err == nil && mount("ccc-try", disk+"/lower", "overlay", 0, overlayOf(disk+"/lower", disk+"/0")) == nil {
		b.upper = disk
	}
}

// overlayOf returns the options for a writable overlay. volatile: nothing has to survive a crash; xino=off: files
// keep their numbers.
func overlayOf(lower, upper string) string {
	return "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + upper + "-work,userxattr,volatile,index=off,metacopy=off,xino=off"
}

func (b *copyBuilder) do(step func() error) {
	if b.err == nil {
		b.err = step()
	}
}

func (b *copyBuilder) mkdir(path string) {
	b.do(func() error { return os.Mkdir(path, 0o755) })
}

func (b *copyBuilder) mount(source, target, kind string, flags uintptr, options string) {
	b.do(func() error { return mount(source, target, kind, flags, options) })
}

func (b *copyBuilder) restrict(path string, attributes uintptr) {
	b.do(func() error { return restrict(path, attributes) })
}

// below returns those of paths that are below dir.
func below(dir string, paths []string) (found []string) {
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

// lower is where what is at path can be found without what is mounted below it, "" if it can't.
func (b *copyBuilder) lower(path string) string {
	best := -1
	for i, part := range b.parts {
		if inside(path, part) && (best < 0 || len(part) > len(b.parts[best])) {
			best = i
		}
	}
	switch {
	case best >= 0:
		return filepath.Join(outside, partOf(filepath.Dir(b.scratch), best), strings.TrimPrefix(path, b.parts[best]))
	case len(below(path, b.mounts)) > 0:
		return ""
	}
	return outside + path
}

// show makes the directory at path outside appear at path in the copy, where an empty one is.
func (b *copyBuilder) show(path string) {
	switch {
	case b.err != nil:
	case path == "/proc":
		b.showProc()
	case path == "/dev":
		b.showDev()
	case path == "/sys":
		b.showSys()
	case b.lower(path) == "":
		b.split(path)
	default:
		writable := b.isWritable(path)
		err := b.overlay(path, writable)
		if writable && err != nil {
			if slices.ContainsFunc(b.needed, func(dir string) bool { return inside(dir, path) }) {
				b.err = err
			}
			_ = b.overlay(path, false) // what can't be a copy can be read, at least
		}
		b.showEntries(outermost(below(path, b.shown)))
	}
}

// showEntries shows what is at paths outside. What is written to many of them is kept in memory.
func (b *copyBuilder) showEntries(paths []string) {
	crowded := b.crowded
	b.crowded = crowded || len(paths) > fewNeighbours
	for _, path := range paths {
		b.showEntry(path)
	}
	b.crowded = crowded
}

// layer makes a directory for an overlay, with the owner, the mode and the time of the directory at path.
func (b *copyBuilder) layer(path string, writable bool) (top string, err error) {
	layers := b.upper
	if !writable || path == "/dev/shm" || b.crowded && !slices.Contains(b.writable, path) {
		layers = memory
	}
	b.layers++
	top = fmt.Sprintf("%s/%d", layers, b.layers)
	err = os.Mkdir(top, 0o755)
	if info, statErr := os.Stat(outside + path); err == nil && statErr == nil { // else it is to be made
		err = likeOutside(top, info)
	}
	return top, err
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

// overlay shows the directory at path through an overlay.
func (b *copyBuilder) overlay(path string, writable bool) error {
	// The options name the lower directory by a dot: its own name may hold what separates options.
	if err := os.Chdir(b.lower(path)); err != nil {
		return err
	}
	defer os.Chdir("/")
	top, err := b.layer(path, writable)
	if err != nil {
		return err
	}
	if writable {
		if err := os.Mkdir(top+"-work", 0o700); err != nil {
			return err
		}
		return mount("ccc-try", path, "overlay", closed&^syscall.MS_RDONLY, overlayOf(".", top))
	}
	for _, dir := range b.writable {
		if filepath.Dir(dir) == path {
			_ = os.Mkdir(filepath.Join(top, filepath.Base(dir)), 0o755) // where it is still to be made
		}
	}
	return mount("ccc-try", path, "overlay", closed, "lowerdir="+top+":.")
}

// split shows a directory entry by entry. That is for one with mounts below it, over which a user namespace can lay
// no overlay, for one that is still to be made, and for the root.
func (b *copyBuilder) split(path string) {
	if path != "/" && slices.Contains(b.writable, path) {
		top, err := b.layer(path, true)
		b.do(func() error { return err })
		b.mount(top, path, "", syscall.MS_BIND, "")
		b.restrict(path, closed&^syscall.MS_RDONLY)
	}
	entries, _ := os.ReadDir(outside + path)
	if len(entries) >= manyNeighbours {
		b.said = append(b.said, fmt.Sprintf("something is mounted below %s: its %d entries are shown one by one, which takes time for each run", path, len(entries)))
	}
	var paths []string
	for _, entry := range entries {
		paths = append(paths, filepath.Join(path, entry.Name()))
	}
	for _, dir := range slices.Concat(below(path, b.mounts), below(path, b.shown)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(dir[len(path):], "/"), "/")
		paths = append(paths, filepath.Join(path, name)) // where one may not look, one may still pass through
	}
	slices.Sort(paths)
	b.showEntries(slices.Compact(paths))
}

// showEntry shows what is at path outside. Sockets, named pipes and devices it leaves out.
func (b *copyBuilder) showEntry(path string) {
	info, err := os.Lstat(outside + path)
	switch {
	case b.err != nil || path == workshop:
	case err != nil:
		if slices.Contains(b.writable, path) {
			_ = os.MkdirAll(path, 0o755)
			b.split(path)
		}
	case info.IsDir():
		_ = os.MkdirAll(path, info.Mode()&(os.ModePerm|os.ModeSticky)) // where it can't be made it is there
		b.show(path)
	case info.Mode()&os.ModeSymlink != 0:
		if to, err := os.Readlink(outside + path); err == nil && os.Symlink(to, path) == nil {
			_ = likeOutside(path, info)
		}
	case info.Mode().IsRegular():
		b.showFile(path, info)
	}
}

// showFile shows a copy of the file at path: the file itself would carry locks and leases to the host. What can't be
// copied can't be read.
func (b *copyBuilder) showFile(path string, info os.FileInfo) {
	target := path
	if _, err := os.Lstat(path); err == nil { // it is mounted over another, in a directory that is an overlay
		b.layers++
		target = fmt.Sprintf("%s/%d", memory, b.layers)
	}
	if b.room < info.Size() {
		b.said = append(b.said, fmt.Sprintf("%s is too large to be copied, and can't be read", path))
	} else if copyFile(outside+path, target) == nil {
		b.room -= info.Size()
		b.do(func() error { return likeOutside(target, info) })
	}
	if b.do(func() error { return appendFile(target, nil) }); target != path {
		b.mount(target, path, "", syscall.MS_BIND, "")
		attributes := uintptr(closed)
		if b.isWritable(path) {
			attributes &^= syscall.MS_RDONLY
		}
		b.restrict(path, attributes)
	}
}

// copyFile makes a copy of the file source, or none.
func copyFile(source, target string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		os.Remove(target)
	}
	return err
}

// showProc mounts /proc for the processes of the copy. It is read-only: root needs no capability to write to
// /proc/sys.
func (b *copyBuilder) showProc() {
	b.mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	// In a user namespace of its own the command would have capabilities again.
	b.do(func() error { return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0) })
	b.restrict("/proc", closed)
}

// showSys mounts a /sys of the copy's own: on the host's there may be mounts in which somebody listens. Where the kernel
// refuses one, as in some containers, there is none. The limits of a container are in the unified control groups.
func (b *copyBuilder) showSys() {
	const unified = 0x63677270 // as statfs names it
	const groups = "/sys/fs/cgroup"
	if mount("sysfs", "/sys", "sysfs", closed|syscall.MS_NOEXEC, "") != nil {
		return
	}
	var kind syscall.Statfs_t
	if syscall.Statfs(outside+groups, &kind) == nil && kind.Type == unified && mount(outside+groups, groups, "", syscall.MS_BIND, "") == nil {
		b.restrict(groups, closed|syscall.MS_NOEXEC)
	}
}

// showDev makes a /dev of harmless devices. They are read-only, as far as that goes for devices: root could change
// the mode of the host's /dev/null.
func (b *copyBuilder) showDev() {
	b.mount("ccc-try", "/dev", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=755")
	b.mkdir("/dev/pts")
	b.mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if info, err := os.Stat(outside + "/dev/" + name); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.do(func() error { return appendFile("/dev/"+name, nil) })
			b.mount(outside+"/dev/"+name, "/dev/"+name, "", syscall.MS_BIND, "")
			b.restrict("/dev/"+name, closed&^syscall.MS_NODEV)
		}
	}
	for _, link := range []string{"ptmx pts/ptmx", "fd /proc/self/fd", "stdin fd/0", "stdout fd/1", "stderr fd/2"} {
		name, target, _ := strings.Cut(link, " ")
		b.do(func() error { return os.Symlink(target, "/dev/"+name) })
	}
	b.showEntry("/dev/shm")
	b.restrict("/dev", closed)
}

// findForeign looks for a file that the user can write to and the kernel can't copy up, since a user namespace of the
// user's does not know its group: at the top of what is writable and of ~/.cache, among the first entries.
func (plan *tryPlan) findForeign() {
	const first, openToAll = 1000, 0o002 // the former take a millisecond or two; the latter is /tmp, where nothing is looked for
	for _, dir := range slices.Concat(plan.needed, plan.writable, []string{filepath.Join(plan.needed[1], ".cache")}) {
		opened, err := os.Open(dir)
		if err != nil || os.Getuid() == 0 {
			continue
		}
		names, _ := opened.Readdirnames(first)
		opened.Close()
		for _, name := range append([]string{"."}, names...) {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() || info.Mode()&openToAll != 0 {
				if name == "." {
					break
				}
				continue
			}
			if group := int(info.Sys().(*syscall.Stat_t).Gid); group != os.Getgid() && syscall.Access(path, mayWrite) == nil {
				plan.foreign = fmt.Sprintf("%s (group %d)", path, group)
				return
			}
		}
	}
}
