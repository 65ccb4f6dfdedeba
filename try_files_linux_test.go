package main

// Copies of unusual places: what is where, of whom, and mounted how.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The characters that separate options of mount, quote, or mean something to a shell are nothing special in a
// path: of project, HOME and TMPDIR, and of what variables name.
func TestTryAwkwardPaths(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		names := []string{"-dash", "a,b", "a:b", `a\b`, `a\\`, `q"q'q`, "with blank", "nl\nnl", "tab\t",
			"$HOME", "per%cent", "[a]*?", "ünïcödé", "latin\xe9", "=", ",upperdir=x"}
		all := strings.Join(names, "")
		names = append(names, strings.Repeat("l", 200)+"/"+strings.Repeat("m", 200))
		box.put(map[string]string{all + "/project/.git/HEAD": "", all + "/project/file": "x\n",
			all + "/home/mine": "h\n", all + "/temp/t": "t\n"})
		line := `cat file; echo y >file; cat file ~/mine; echo >~/mine; rm "$TMPDIR/t"; mkdir new; pwd`
		for i, name := range names {
			box.put(map[string]string{name + "/f": "f\n"})
			box.vars = append(box.vars, fmt.Sprintf("N%d=%s/%s", i, box.base, name))
			line += fmt.Sprintf(`; cat "$N%d/f" && echo >"$N%[1]d/g" && rm "$N%[1]d/f"`, i)
		}
		box.work = filepath.Join(box.base, all, "project")
		box.vars = append(box.vars, "HOME="+filepath.Join(box.base, all, "home"),
			"TMPDIR="+filepath.Join(box.base, all, "temp"))
		box.unchanged(func() { box.want("x\ny\nh\n"+box.work+"\n"+strings.Repeat("f\n", len(names)), line) })
	})
}

// The project may be HOME, in it, a link, or neither in HOME nor a repository; HOME may be above the project,
// a link, a file, closed or not there.
func TestTryPlaces(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		home, work, base := box.home, box.work, box.base
		box.put(map[string]string{
			"home/inner/.git/HEAD": "", "home/inner/a/b/f": "f\n", "plain/f": "f\n", "home/f": "f\n"})
		check(t, errors.Join(os.Symlink("work", base+"/link"), os.Symlink(work+"/sub", home+"/sublink"),
			os.Symlink("home", base+"/homelink"), os.Mkdir(base+"/closed", 0), os.Chmod(home, 0o750)))
		box.vars = append(box.vars, configDirVariable+"="+base) // a ccc.json that can't be read would end it
		modes := box.shell("stat -c %a ~ /tmp").stdout
		tests := []struct{ home, dir, line, want string }{
			{home, home + "/inner", "echo g >a/b/f; echo >~/f; cat a/b/f", "g\n"},
			{home, home + "/sublink", "echo d >deep; cat deep ../notes", "d\na note\n"},
			{base, work, "echo n >notes; touch ../bin/x; ls ../bin", "ccc\nx\n"},
			{"/", work, "echo n >notes; cat notes; touch ../bin/x; ls ../bin", "n\nccc\nx\n"},
			{home, work, "stat -c %a ~ /tmp", modes},
			{home, "/dev/shm", "echo x >ccc-x; cat ccc-x; pwd", "x\n/dev/shm\n"},
			{home, work + "/sub", "echo n >../notes; cat ../notes; echo >deep", "n\n"},
			{home, home, "echo g >f; cat f; pwd", "g\n" + home + "\n"},
			{home, base + "/plain", "echo g >f; cat f; ! touch ../x 2>&- && echo ro", "g\nro\n"},
			{home, base + "/link", "echo n >notes; cat notes; pwd", "n\n" + base + "/link\n"},
			{base + "/homelink", work, "echo g >~/f; cat ~/f; echo >notes", "g\n"},
			{base + "/none", work, "echo n >notes; ! mkdir ~ 2>&- && cat notes", "n\n"},
			{base + "/closed", work, "echo n >notes; cat notes", "n\n"},
			{home + "/f", work, "echo n >notes; cat notes", "n\n"},
			{home, "/proc", "test -d self && pwd; echo x >~/x; cat ~/x", "/proc\nx\n"},
		}
		box.unchanged(func() {
			for _, test := range tests {
				box.work = test.dir
				cmd := box.command("ccc", "try", test.line)
				cmd.Env = setEnv(append(box.vars, "PWD="+test.dir), "HOME", test.home)
				got := box.finish(cmd)
				isBeside := strings.Contains(got.stderr, "such as ccc-") // what another test has in /dev/shm
				if got.stdout != test.want || got.stderr != "" && !isBeside {
					t.Errorf("HOME %s, in %s: %+v", test.home, test.dir, got)
				}
			}
		})
		expectIs(t, "it wrote to /dev/shm", isThere("/dev/shm/ccc-x"), false)
	})
}

// git works in a copy, in a linked worktree and in a submodule too, whose data is elsewhere, and changes
// nothing outside.
func TestTryGit(t *testing.T) {
	needGit(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.vars = append(box.vars, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
		expectEnd(t, "git", box.shell(`set -e; cd ..; git init -q main; cd main; echo 1 >f; git add f
			git commit -qm 1; git worktree add -q ../tree
			git -c protocol.file.allow=always submodule -q add ../main subm; git commit -qm sub
			git -C ../tree status -s`), 0, "", "")
		for _, dir := range []string{"tree", "main/subm"} {
			box.work = filepath.Join(box.base, dir)
			box.unchanged(func() {
				box.want("2\n", `echo 2 >>f; git add f; git commit -qm 2; echo 3 >>f; git stash -q
					git checkout -qb new; git gc -q; git log -1 --format=%s`)
			})
		}
	})
}

// mounted mounts a tmpfs at path for the time of the test.
func (box *tryBox) mounted(path string) {
	box.t.Helper()
	check(box.t, os.MkdirAll(path, 0o755))
	if err := syscall.Mount("t", path, "tmpfs", 0, "mode=755"); err != nil {
		skipTry(box.t, "mounting: "+err.Error())
	}
	box.t.Cleanup(func() { syscall.Unmount(path, syscall.MNT_DETACH) })
}

// besideMounts keeps tests that mount below a place that each copy shows (syscall.LOCK_EX) apart from tests
// that fail beside such a mount (LOCK_SH), also those of other runs. It locks /run until the test ends.
func besideMounts(t *testing.T, how int) {
	t.Helper()
	dir, err := os.Open("/run")
	check(t, errors.Join(err, syscall.Flock(int(dir.Fd()), how)))
	t.Cleanup(func() { dir.Close() })
}

// What is mounted below HOME or a temporary directory is read-only, and what is beside it is written to: for
// an ordinary user in each directory that has no mount in it. doctor tells if HOME is not one of these.
func TestTryMountsBelow(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		const odd = "vol#u,:m e\tn\nb\\" // what mountinfo writes in octal, and what separates options
		for _, path := range []string{"/home/drives/net", "/home/drives/net/inner", "/tmp/" + odd} {
			box.mounted(box.base + path)
		}
		box.put(map[string]string{"home/drives/net/f": "f\n", "home/drives/net/inner/f": "i\n",
			"home/drives/side/f": "s\n", "home/.cache/deep/f": "c\n", "tmp/d/f": "d\n",
			"tmp/" + odd + "/f": "v\n"})
		socket := listen(t, "unix", box.home+"/drives/net/socket")
		direct := listen(t, "unix", box.home+"/socket")
		told := box.shell("ccc doctor").stdout // which tries whether HOME takes a file
		box.unchanged(func() {
			box.want("f\ni\ns\nc\nv\nd\nmine\nro\nro\nro\n", `set -e; cd ~/drives
				cat net/f net/inner/f side/f ~/.cache/deep/f $TMPDIR/vol*/f $TMPDIR/d/f ~/.profile
				for f in net/f net/inner/new $TMPDIR/vol*/f; do touch "$f" 2>&- || echo ro; done
				echo >>side/f; rm -r ~/.cache/deep; echo >$TMPDIR/d/f
				echo >$OLDPWD/notes; mkdir $OLDPWD/made`)
			box.connects(socket, direct)
			box.attack("umount ~/drives/net", "mount -o remount,bind,rw ~/drives/net")
			expectIn(t, "doctor", told, "ok       copies: ")
			isReadOnly := box.try("touch ~/new && echo >>~/.profile").code != 0
			expectIs(t, "HOME can't be written to directly", isReadOnly, box.uid != 0)
			expectIs(t, "doctor tells so", strings.Contains(told, "directly in HOME"), box.uid != 0)
		})
	})
}

// If something is mounted in the project an ordinary user's copy can't be written to as a whole, and there is
// none. For root it is a copy as all else.
func TestTryMountsInProject(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.mounted(box.work + "/node_modules")
		box.put(map[string]string{"work/node_modules/m/f": "f\n"})
		told := strings.Join(strings.Fields(box.shell("ccc doctor").stdout), " ")
		box.unchanged(func() {
			if box.uid == 0 {
				box.want("f\nn\n", `cat node_modules/m/f; echo n >node_modules/m/f; cat node_modules/m/f
					rm -r node_modules/m; echo >notes; mkdir new`)
				return
			}
			want := "no copy can be made: " + box.work + "/node_modules is mounted in the project"
			expectEnd(t, "ccc try", box.try("echo ran"), tryImpossible, "", want)
			expectIn(t, "doctor", told, "warning copies: "+want)
		})
	})
}

// What has another group than the user's own can't be changed in an ordinary user's copy: the session's
// start, the request, doctor and ccc try by hand say so, also from a directory of that group. What the user
// can't change outside is not told of.
func TestTryOtherGroup(t *testing.T) {
	onlyRoot(t)
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, testTrustVariable+"=", "LANG=en_US.UTF-8", "COLUMNS=1000")
	box.write("../work/.git/HEAD", 0o644, "")
	box.write("../work/sub/file", 0o644, "")
	box.ordinary()
	needCopy(t, box)
	top, sub := box.work, box.work+"/sub"
	for _, c := range []struct {
		owner, group int
		dir          string
		told         bool
	}{
		{madeUpUser, madeUpUser, top, false},
		{madeUpUser, 0, top, true},
		{madeUpUser, 0, sub, true},
		{0, 0, top, false},
	} {
		check(t, errors.Join(os.Lchown(top+"/notes.txt", c.owner, c.group), os.Lchown(sub, c.owner, c.group)))
		box.work = c.dir
		start := box.hook(box.event(eventStart, `"source":"startup"`)).stdout
		box.forget("reviewer-*")
		box.stop("")
		requests, _ := filepath.Glob(box.home + "/../fake/reviewer-*.stdin")
		request, doctor := readPage(t, strings.Join(requests, "")), box.ccc("doctor")
		expectIn(t, "the request", request, "## Running commands", box.program()+" try")
		got := box.run(soon()*20, "", "ccc", "try", "echo x >>"+top+"/notes.txt; echo $?; exit 5")
		for text, want := range map[string]string{
			start:            "(such as notes.txt) can't be changed in a copy: ccc doctor has the fix.",
			request:          "such as notes.txt, are of another group than the user's own",
			doctor:           "chgrp -R \"$(id -gn)\" " + shellQuote(top) + "\n",
			got.stderr + " ": "\nccc: try: ",
		} {
			expectIs(t, fmt.Sprintf("%+v: has %q: %s", c, want, text), strings.Contains(text, want), c.told)
		}
		expectIs(t, "the exit code", got.code, 5)
		canNot := map[bool]string{true: "0\n", false: "2\n"}[c.group != 0]
		expectIs(t, "what can be changed", got.stdout, canNot)
		got = box.run(soon()*20, "", "env", tryVariable+"=/", "ccc", "try", "echo ran >&2")
		expectIs(t, "what a reviewer is told", got.stderr, "ran\n")
	}
}

// The files below /run are there, also those of the user's own directory, which is for writing to if a
// variable names it; its sockets lead nowhere. A socket elsewhere that listens is covered.
func TestTryRun(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_EX)
		run := "/run/ccc-test-" + filepath.Base(box.base)
		t.Cleanup(func() { os.RemoveAll(run) })
		box.mounted(run + "/user")
		prepared := box.command("sh", "-ec", `cd `+run+`; mkdir -p bin user/fnm/bin; echo current >bin/f
			echo node >user/fnm/bin/f; echo own >user/f; chown -R `+fmt.Sprintf("%d:%[1]d user", box.uid))
		prepared.SysProcAttr.Credential = nil
		check(t, prepared.Run())
		sockets := []string{listen(t, "unix", box.base+"/bin/a b")}
		for _, path := range []string{"/s", "/bin/s", "/user/s", "/user/fnm/s"} {
			sockets = append(sockets, listen(t, "unix", run+path))
		}
		box.connects(sockets...)
		box.want("current\nnode\nown\nro\nro\n", `cd `+run+`; cat bin/f user/fnm/bin/f user/f
			touch x 2>&- || echo ro; touch user/fnm/x 2>&- || echo ro`)
		box.vars = append(box.vars, "XDG_RUNTIME_DIR="+run+"/user")
		box.connects(sockets...)
		box.want("node\nn\n", "cd "+run+"/user; cat fnm/bin/f; echo n >fnm/bin/f; touch new; cat fnm/bin/f")
		expectIs(t, "the file outside", readPage(t, run+"/user/fnm/bin/f"), "node\n")
	})
}

// Copies are written to disk if that can carry the upper layer of an overlay, and if the directory for
// scratch directories is, or can be made, the user's alone; else to memory, and nothing there is touched. So
// it is on temporary directories on tmpfs, on an overlay as in containers, and with each umask.
func TestTryScratch(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"home/dir/f": "f\n", "m/f": ""})
		const prepared = "mkdir -m 1777 m/v; path=m/v/.ccc-try-$2; %s; mount --bind m/v /var/tmp"
		const left = "mkdir -m %s $path; chown $2:$2 $path"
		for _, test := range []struct{ prepare, disk string }{
			{`mkdir m/u1 m/u2 m/u3 m/w1 m/w2 m/w3; chmod 1777 m/u1 m/u2; chown $2:$2 m/u3; b=$PWD
				mount -t overlay -o lowerdir=/tmp,upperdir=m/u1,workdir=m/w1 o /tmp
				mount -t overlay -o lowerdir=/var/tmp,upperdir=m/u2,workdir=m/w2 o /var/tmp
				mount -t overlay -o lowerdir=$b,upperdir=m/u3,workdir=m/w3 o $b; cd $b`, "memory\n"},
			{"for d in /tmp /var/tmp; do mount -t tmpfs -o mode=1777 t $d; done", "disk\n"},
			{fmt.Sprintf(prepared, "ln -s ~ $path"), "memory\n"},
			{fmt.Sprintf(prepared, ": >$path; chmod 700 $path; chown $2:$2 $path"), "memory\n"},
			{fmt.Sprintf(prepared, "mkdir -p $path/dir; chmod 700 $path; chown 54322 $path"), "memory\n"},
			{fmt.Sprintf(prepared, fmt.Sprintf(left, "0")) + "; umask 0777", "disk\n"},
			{fmt.Sprintf(prepared, fmt.Sprintf(left, "770")), "disk\n"},
		} {
			box.unchanged(func() {
				got := box.inMounts("mount -t tmpfs -o mode=755 t m; "+test.prepare+"; cd work", `
					echo n >notes; cat notes; for d in ~ /tmp /var/tmp $TMPDIR; do
					echo x >$d/ccc-x && rm $d/ccc-x && mkdir -p $d/ccc-d/e && rm -r $d/ccc-d; done
					rm -r sub ~/dir; mkdir sub; ls sub; df -T . | tail -1 | cut -d' ' -f1
					grep -q upperdir=/var/tmp /proc/mounts && echo disk || echo memory`)
				expectEnd(t, test.prepare, got, 0, "n\nccc-try\n"+test.disk, "")
			})
		}
	})
}

// inMounts runs prepare in base, as root in mounts of its own, with the user's id in $2; and then line in a
// copy, as the user of the box, with scratch where ccc has it.
func (box *tryBox) inMounts(prepare, line string, files ...*os.File) commandResult {
	const copied = `exec setpriv --reuid $2 --regid $2 --clear-groups ccc try --timeout ${timeout:-1m} "$1"`
	script := "set -e; mount --make-rprivate /; cd ..; " + prepare + "; " + copied
	cmd := box.command("sh", "-c", script, "sh", line, fmt.Sprint(box.uid))
	cmd.Env = append(cmd.Env, testScratchVariable+"=/var/tmp")
	cmd.ExtraFiles = files
	cmd.SysProcAttr.Credential = nil
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	return box.finish(cmd)
}

// What root may do to files outside it may do in a copy, whoever they belong to; also without the right to
// mount, as in a container.
func TestTryRootsFiles(t *testing.T) {
	onlyRoot(t)
	t.Parallel()
	const stranger = 54398
	box := newTryBox(t, 0)
	box.put(map[string]string{"work/s/f": "f\n", "work/closed": "c\n", "work/d/e/g": "g\n"})
	for _, path := range []string{"work", "work/s", "work/s/f", "work/d", "work/d/e", "work/d/e/g"} {
		check(t, os.Lchown(filepath.Join(box.base, path), stranger, stranger))
	}
	check(t, errors.Join(os.Chmod(box.work+"/closed", 0), os.Chmod(box.work+"/d", 0o700)))
	const line = `set -e; echo 2 >>s/f; cat s/f closed d/e/g; rm d/e/g; mv s t; ! touch /etc/n 2>&-
		stat -c %u .; touch new; chown 7:8 new; tar cf a.tar new; rm new; tar xf a.tar; stat -c %u:%g new
		chmod 4755 new; grep CapEff /proc/self/status`
	box.unchanged(func() {
		for _, by := range []string{"", "setpriv --bounding-set=-sys_admin "} {
			got := box.shell(by + "ccc try " + shellQuote(line))
			expectEnd(t, by+"ccc try", got, 0, "f\n2\nc\ng\n54398\n7:8\nCapEff:\t000000000000041b\n", "")
		}
	})
	// What is mounted in the project is a part of it, what is mounted below HOME is read-only.
	box.mounted(box.work + "/m")
	box.mounted(box.home + "/net")
	box.unchanged(func() { box.want("", "echo 1 >m/f && ! touch ~/net/f 2>&-") })
}

// Besides the project these are for writing to: HOME, the temporary directories, and what variables name, if
// that is a directory that stands not above the project or HOME, is not only where the shell is or was, and
// is no file system of the kernel's.
func TestTryFindsPlaces(t *testing.T) {
	dir := resolved(t.TempDir())
	for _, name := range []string{"trees/work/.git", "trees/work/sub", "homes/mine", "temp", "cache", "was"} {
		check(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	check(t, os.WriteFile(dir+"/file", nil, 0o600))
	check(t, os.Symlink("cache", dir+"/link"))
	const env = `HOME=@/homes/mine TMPDIR=@/temp CACHE=@/link PWD=@/was OLDPWD=@/was TREES=@/trees
		HOMES=@/homes FILE=@/file NONE=@/none LIST=@/was:/usr RELATIVE=testdata EMPTY= PROC=/proc/self
		SYSTEM=/sys TTYS=/dev/pts`
	plan := &tryPlan{dir: dir + "/trees/work/sub", env: strings.Fields(strings.ReplaceAll(env, "@", dir))}
	check(t, plan.findPlaces())
	expectIs(t, "the project", plan.project, dir+"/trees/work")
	want := []string{"/tmp", "/var/tmp", "/dev/shm", dir + "/cache", dir + "/homes/mine", dir + "/temp",
		dir + "/trees/work/.git"}
	slices.Sort(want)
	slices.Sort(plan.places)
	expectEqual(t, "the places", slices.Compact(plan.places), want)
	homeless := &tryPlan{dir: dir, env: []string{"TMPDIR=/tmp"}}
	expectError(t, "without HOME", homeless.findPlaces(), "HOME is not set")
	expectError(t, "nowhere", (&tryPlan{dir: dir + "/none", env: plan.env}).findPlaces(), "no such file")
}

// A scratch directory that is locked is there, whatever others sweep while it is made.
func TestTryScratchRace(t *testing.T) {
	both := make(chan bool)
	for range 2 {
		go func() {
			for range 300 {
				path, lock := newScratch()
				if _, err := os.Lstat(path); (lock == nil) != (path == "") || lock != nil && err != nil {
					t.Errorf("%q, lock %v: %v", path, lock, err)
				}
				lock.Close()
				sweepScratch()
			}
			both <- true
		}()
	}
	<-both
	<-both
}

// What nobody may enter goes; what a link leads to stays.
func TestTryRemoved(t *testing.T) {
	dir := t.TempDir()
	check(t, exec.Command("sh", "-ec", `cd "$1"; mkdir -p tree/a/b/c kept/sub; echo >kept/f
		ln -s "$1/kept" tree/a/link; ln -s "$1/kept" tree/link; chmod 0 tree/a/b tree/a`, "sh", dir).Run())
	removed := make(chan error)
	go func() { // on a thread of its own, which heeds permissions even as root's
		runtime.LockOSThread()
		var sets capabilitySets
		refused := capabilities(syscall.SYS_CAPGET, &sets)
		sets[0].effective &^= 1<<1 | 1<<2 // DAC_OVERRIDE, DAC_READ_SEARCH
		refused = errors.Join(refused, capabilities(syscall.SYS_CAPSET, &sets))
		removeTree(dir + "/tree")
		removed <- refused
	}()
	check(t, <-removed)
	left, err := exec.Command("sh", "-c", `cd "$1"; find * -perm -600`, "sh", dir).Output()
	check(t, err)
	expectEqual(t, "what is left", slices.Sorted(slices.Values(strings.Fields(string(left)))),
		[]string{"kept", "kept/f", "kept/sub"})
}
