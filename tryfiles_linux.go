package main

// The file system of a copy. It is built from nothing, on an empty root. Of the host's files nothing comes into it
// but through overlays, which show files and directories and no more: behind an overlay a socket has no listener
// and a named pipe no other end, whoever makes it and whenever. What the kernel lays no overlay over stays empty.

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The workshop goes when the copy stands. A directory of the host's own with this name is not shown.
const (
	workshop = "/.ccc-try"
	outside  = workshop + "/outside" // the host's file system
	disk     = workshop + "/disk"    // the scratch directory
	memory   = workshop              // a tmpfs
)

// A copyBuilder builds the file system of a copy. Its methods are steps: after one that failed there are none.
type copyBuilder struct {
	tryPlan
	scratch string   // a directory for what is written, on disk; "" if there is none
	mounts  []string // where something is mounted outside
	upper   string   // where what is written goes: disk or memory
	layers  int      // how many have been made
	room    int64    // bytes that may still be copied
	short   bool     // they were not enough
	err     error    // of the step that failed
}

// build builds the file system and makes it the one of this process.
func (b *copyBuilder) build() error {
	defer syscall.Umask(syscall.Umask(0))
	const root = "/proc" // any directory that is there: the mount moves away from it
	b.mounts, b.err = mountPoints()
	b.mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	b.mount("ccc-try", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=755")
	b.mkdir(root + workshop)
	b.mount("ccc-try", root+workshop, "tmpfs", 0, "mode=700")
	b.mkdir(root + outside)
	b.do(func() error { return os.NewSyscallError("pivot_root", syscall.PivotRoot(root, root+outside)) })
	b.do(func() error { return os.Chdir("/") })
	b.chooseUpper()
	b.show("/", false)
	if parent := scratchParent(); parent != "" {
		b.mount("ccc-try", parent, "tmpfs", closed, "mode=755")
	}
	b.do(func() error { return os.NewSyscallError("umount", syscall.Unmount(workshop, syscall.MNT_DETACH)) })
	b.do(func() error { return os.Remove(workshop) })
	if !slices.Contains(b.writable, "/") {
		b.restrict("/", 0, closed)
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
	b.mkdir(disk + "/0")
	b.mkdir(disk + "/0-work")
	b.mkdir(disk + "/lower")
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

func (b *copyBuilder) restrict(path string, depth, attributes uintptr) {
	b.do(func() error { return restrict(path, depth, attributes) })
}

// show makes the directory at path outside appear at path in the copy, where an empty one is.
func (b *copyBuilder) show(path string, writable bool) {
	wanted := slices.Contains(b.writable, path)
	writable = writable || wanted
	switch {
	case b.err != nil:
	case path == "/proc":
		b.showProc()
	case path == "/dev":
		b.showDev()
	case path == "/sys":
		b.mount(outside+path, path, "", syscall.MS_BIND|syscall.MS_REC, "")
		b.restrict(path, recursive, closed|syscall.MS_NOEXEC)
	case len(below(path, b.mounts)) > 0:
		b.split(path, writable, wanted)
	case wanted:
		b.do(func() error { return b.overlay(path, true) })
	case !writable || b.overlay(path, true) != nil: // what can't be a copy can be read, at least
		_ = b.overlay(path, false)
		for _, dir := range below(path, b.writable) {
			_ = os.MkdirAll(dir, 0o755) // it is there, if path is
			b.show(dir, true)
		}
	}
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

// overlay shows the directory at path through an overlay.
func (b *copyBuilder) overlay(path string, writable bool) error {
	// The options name the lower directory by a dot: its own name may hold what separates options.
	if err := os.Chdir(outside + path); err != nil {
		return err
	}
	defer os.Chdir("/")
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	layers := b.upper
	if !writable || path == "/dev/shm" {
		layers = memory
	}
	b.layers++
	top := fmt.Sprintf("%s/%d", layers, b.layers)
	if err := os.Mkdir(top, info.Mode()&(os.ModePerm|os.ModeSticky)); err != nil { // its mode is that of the whole
		return err
	}
	if !writable {
		return mount("ccc-try", path, "overlay", closed, "lowerdir="+top+":.") // top stays empty
	}
	if err := os.Mkdir(top+"-work", 0o700); err != nil {
		return err
	}
	b.adopt(path, top)
	return mount("ccc-try", path, "overlay", closed&^syscall.MS_RDONLY, overlayOf(".", top))
}

// split shows a directory entry by entry. That is for one with mounts below it, over which a user namespace can lay
// no overlay.
func (b *copyBuilder) split(path string, writable, wanted bool) {
	if wanted && path != "/" {
		b.layers++
		own := fmt.Sprintf("%s/%d", b.upper, b.layers)
		b.mkdir(own)
		b.mount(own, path, "", syscall.MS_BIND, "")
		b.restrict(path, 0, closed&^syscall.MS_RDONLY)
	}
	names := map[string]bool{}
	entries, _ := os.ReadDir(outside + path)
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	for _, dir := range slices.Concat(below(path, b.mounts), below(path, b.writable)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(dir[len(path):], "/"), "/")
		names[name] = true // where one may not look, one may still pass through
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.showEntry(filepath.Join(path, name), writable)
	}
}

// showEntry shows what is at path outside. Sockets, named pipes and devices it leaves out.
func (b *copyBuilder) showEntry(path string, writable bool) {
	info, err := os.Lstat(outside + path)
	if err != nil || b.err != nil || path == workshop {
		return
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		b.do(func() error { return os.MkdirAll(path, mode&(os.ModePerm|os.ModeSticky)) })
		b.show(path, writable)
	case mode&os.ModeSymlink != 0:
		_ = b.copyFile(outside+path, path, info)
	case mode.IsRegular():
		if !writable || b.copyFile(outside+path, path, info) != nil {
			b.bind(path, closed)
		}
	}
}

// bind shows the file at path as it is outside. One that can't be shown stays empty.
func (b *copyBuilder) bind(path string, attributes uintptr) {
	b.do(func() error { return os.WriteFile(path, nil, 0o644) })
	if b.err == nil && mount(outside+path, path, "", syscall.MS_BIND, "") == nil {
		b.restrict(path, 0, attributes)
	}
}

// showProc mounts /proc for the processes of the copy. It is read-only: root needs no capability to write to
// /proc/sys.
func (b *copyBuilder) showProc() {
	b.mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	// In a user namespace of its own the command would have capabilities again.
	b.do(func() error { return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0) })
	b.restrict("/proc", 0, closed)
}

// showDev makes a /dev of harmless devices. They are read-only, as far as that goes for devices: root could change
// the mode of the host's /dev/null.
func (b *copyBuilder) showDev() {
	b.mount("ccc-try", "/dev", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=755")
	b.mkdir("/dev/pts")
	b.mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if info, err := os.Stat(outside + "/dev/" + name); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.bind("/dev/"+name, closed&^syscall.MS_NODEV)
		}
	}
	for _, link := range []string{"ptmx pts/ptmx", "fd /proc/self/fd", "stdin fd/0", "stdout fd/1", "stderr fd/2"} {
		name, target, _ := strings.Cut(link, " ")
		b.do(func() error { return os.Symlink(target, "/dev/"+name) })
	}
	b.showEntry("/dev/shm", true)
	b.restrict("/dev", 0, closed)
}

// What has to be copied file by file is bounded, for the time it takes.
const (
	copyRoom   = 512 << 20 // bytes, in all
	adoptFirst = 1000      // entries of a project that are looked at: a millisecond or two;
	adoptMost  = 50000     // if one of these is to be adopted
)

// adopt copies into the upper directory top of dir, which is the current one, what the kernel can't copy there when
// it is written to. In the project it looks at everything, unless that is much and the first of it is all the
// user's; of other directories at the entries.
func (b *copyBuilder) adopt(dir, top string) {
	queue, looked, most := []string{"."}, 0, adoptFirst
	project, _ := filepath.Rel(dir, b.project)
	if project != "." && inside(b.project, dir) {
		queue = append(queue, project)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		opened, err := os.Open(parent)
		if err != nil {
			continue
		}
		info, err := opened.Stat()
		inForeign := parent != "." && err == nil && isForeign(info)
		names, _ := opened.Readdirnames(most)
		opened.Close()
		for _, name := range names {
			if looked++; looked > most {
				b.short = b.short || most == adoptMost
				return
			}
			path := filepath.Join(parent, name)
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if info.IsDir() && path != project && inside(filepath.Join(dir, path), b.project) {
				queue = append(queue, path)
			}
			foreign := isForeign(info)
			if !foreign && !inForeign || !canWrite(path, info) {
				continue
			}
			most = adoptMost
			if info.IsDir() {
				copyDirs(path, top)
				continue
			}
			copyDirs(parent, top)
			if foreign {
				_ = b.copyFile(path, filepath.Join(top, path), info)
			}
		}
	}
}

// isForeign tells whether the command could not write to a file as its owner: the user namespace does not know its
// owner or group, so that a copy would have another (EOVERFLOW), or it is another user's, and root has no
// capabilities.
func isForeign(info os.FileInfo) bool {
	const unknown = 65534
	stat := info.Sys().(*syscall.Stat_t)
	return int(stat.Uid) != os.Getuid() || int(stat.Gid) != os.Getgid() && (os.Getuid() != 0 || stat.Gid == unknown)
}

// canWrite tells whether the user can write to a file or a directory, or rename a link.
func canWrite(path string, info os.FileInfo) bool {
	const writable = 2
	switch mode := info.Mode(); {
	case mode&os.ModeSymlink != 0:
		path = filepath.Dir(path)
	case !mode.IsRegular() && !mode.IsDir() || mode&0o222 == 0:
		return false
	}
	return syscall.Access(path, writable) == nil
}

// copyDirs makes the directory at path below top, and those that lead to it, with their modes.
func copyDirs(path, top string) {
	target := filepath.Join(top, path)
	if _, err := os.Lstat(target); err == nil {
		return
	}
	copyDirs(filepath.Dir(path), top)
	if info, err := os.Lstat(path); err == nil {
		_ = os.Mkdir(target, info.Mode()&(os.ModePerm|os.ModeSticky))
	}
}

// copyFile copies a symbolic link, or a file with mode and time as long as there is room.
func (b *copyBuilder) copyFile(source, target string, info os.FileInfo) error {
	if info.Mode()&os.ModeSymlink != 0 {
		to, err := os.Readlink(source)
		return errors.Join(err, os.Symlink(to, target))
	}
	if b.room < info.Size() {
		b.short = true
		return syscall.ENOSPC
	}
	b.room -= info.Size()
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close(), os.Chtimes(target, info.ModTime(), info.ModTime())); err != nil {
		os.Remove(target) // half of it is worse than none
	}
	return err
}
