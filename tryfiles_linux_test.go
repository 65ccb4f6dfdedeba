package main

// Copies of unusual places: what is where, of whom, and mounted how.

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// put writes files below base, for the user of the box.
func (box *tryBox) put(files map[string]string) {
	box.t.Helper()
	for name, content := range files {
		path := filepath.Join(box.base, name)
		check(box.t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(box.t, os.WriteFile(path, []byte(content), 0o644))
	}
	box.own()
}

// unchanged runs do and expects base to be as before.
func (box *tryBox) unchanged(do func()) {
	box.t.Helper()
	before := box.snapshot()
	do()
	if after := box.snapshot(); after != before {
		box.t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func TestTryConcurrent(t *testing.T) {
	copies := 5
	if os.Getenv(tryTestVariable) == "all" {
		copies = 10
	}
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.unchanged(func() {
			var all sync.WaitGroup
			for i := range copies {
				all.Add(1)
				go func() {
					defer all.Done()
					box.want(fmt.Sprintln("a note", i), fmt.Sprintf("for n in 1 2 3 4 5; do echo %d >>notes; mkdir -p d/$n; echo $n >sub/deep; done; xargs echo $(head -1 notes) <<E | cut -c-8\n%[1]d\nE", i))
				}()
			}
			all.Wait()
		})
	})
}

// The characters that separate options of mount, quote, or mean something to a shell are nothing special in a path: of
// project, HOME and TMPDIR, and of what variables name.
func TestTryAwkwardPaths(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		names := []string{"-dash", "a,b", "a:b", `a\b`, `a\\`, `q"q'q`, "with blank", "nl\nnl", "tab\t", "$HOME", "per%cent", "[a]*?", "ünïcödé", "latin\xe9", "=", ",upperdir=x", strings.Repeat("l", 200) + "/" + strings.Repeat("m", 200)}
		name := strings.Join(names[:len(names)-1], "")
		box.put(map[string]string{name + "/project/.git/HEAD": "", name + "/project/file": "x\n", name + "/home/mine": "h\n", name + "/temp/t": "t\n"})
		line := `cat file; echo y >file; cat file "$HOME/mine"; echo >"$HOME/mine"; rm "$TMPDIR/t"; mkdir new; touch new/b; pwd`
		for i, name := range names {
			box.put(map[string]string{name + "/f": "f\n"})
			box.vars = append(box.vars, fmt.Sprintf("N%d=%s/%s", i, box.base, name))
			line += fmt.Sprintf(`; cat "$N%d/f" && echo >"$N%[1]d/g" && rm "$N%[1]d/f"`, i)
		}
		box.work = filepath.Join(box.base, name, "project")
		box.vars = append(box.vars, "HOME="+filepath.Join(box.base, name, "home"), "TMPDIR="+filepath.Join(box.base, name, "temp"))
		box.unchanged(func() { box.want("x\ny\nh\n"+box.work+"\n"+strings.Repeat("f\n", len(names)), line) })
	})
}

func TestTryPlaces(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"home/inner/.git/HEAD": "", "home/inner/a/b/f": "f\n", "plain/f": "f\n", "home/f": "f\n"})
		os.Symlink("work", box.base+"/link")
		os.Symlink(box.base+"/work/sub", box.home+"/sublink")
		os.Symlink("home", box.base+"/homelink")
		os.Mkdir(box.base+"/closed", 0)
		home := box.home
		box.vars = append(box.vars, configDirVariable+"="+box.base) // a ccc.json that can't be read would end it
		tests := []struct{ home, dir, line, want string }{
			{home, home + "/inner", "echo g >a/b/f; echo >~/f; cat a/b/f", "g\n"},
			{home, home + "/sublink", "echo d >deep; cat deep ../notes; pwd", "d\na note\n" + home + "/sublink\n"},
			{box.base, box.work, "echo n >notes; touch ../bin/x; ls ../bin", "ccc\nx\n"},
			{"/", box.work, "echo n >notes; cat notes; echo x >/x && mkdir -p /a/b && cat /x", "n\nx\n"},
			{home, "/", "echo x >x && cat x; echo n >" + box.work + "/notes; cat " + box.work + "/notes; pwd", "x\nn\n/\n"},
			{home, "/dev/shm", "echo x >ccc-x; cat ccc-x; pwd", "x\n/dev/shm\n"},
			// The rest is no other for root, who does not show entry by entry.
			{home, box.work + "/sub", "echo n >../notes; cat ../notes; echo >deep", "n\n"},
			{home, home, "echo g >f; cat f; pwd", "g\n" + home + "\n"},
			{home, box.base + "/plain", "echo g >f; cat f; ! touch ../x 2>&- && echo ro", "g\nro\n"},
			{home, box.base + "/link", "echo n >notes; cat notes; pwd", "n\n" + box.base + "/link\n"},
			{box.base + "/homelink", box.work, "echo g >~/f; cat ~/f; echo >notes", "g\n"},
			{box.base + "/none", box.work, "echo n >notes; ! mkdir ~ 2>&- && cat notes", "n\n"},
			{box.base + "/closed", box.work, "echo n >notes; cat notes", "n\n"},
			{home + "/f", box.work, "echo n >notes; cat notes", "n\n"},
			{home, "/proc", "test -d self && pwd; echo x >~/x; cat ~/x", "/proc\nx\n"},
		}
		switch all := os.Getenv(tryTestVariable) == "all"; {
		case box.uid == 0 && !all:
			tests = tests[2:5]
		case !all:
			tests = tests[:12]
		}
		box.unchanged(func() {
			for _, test := range tests {
				box.work = test.dir
				cmd := box.cmd([]string{"ccc", "try", test.line})
				cmd.Env = setEnv(append(box.vars, "PWD="+test.dir), "HOME", test.home)
				if got := box.finish(cmd); got.stdout != test.want || got.stderr != "" {
					t.Errorf("HOME %s, in %s: %+v", test.home, test.dir, got)
				}
			}
		})
		for _, path := range []string{"/x", "/a", "/dev/shm/ccc-x"} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s was made", path)
			}
		}
	})
}

// git works in a copy, in a linked worktree and in a submodule too, whose data is elsewhere, and changes nothing
// outside.
func TestTryGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skipTry(t, err.Error())
	}
	eachUser(t, func(t *testing.T, box *tryBox) {
		git := func(line string) {
			t.Helper()
			box.vars = append(box.vars, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
			if got := box.finish(box.cmd([]string{"sh", "-ec", line})); got.code != 0 {
				t.Fatalf("%+v", got)
			}
		}
		git("cd ..; git init -q main; cd main; echo 1 >f; git add f; git commit -qm 1; git worktree add -q ../tree; mkdir sub; " +
			"git -c protocol.file.allow=always submodule -q add ../main subm; git commit -qm sub; git -C ../tree status")
		dirs := []string{"tree", "main/subm"}
		if os.Getenv(tryTestVariable) != "all" { // one for each user
			dirs = dirs[min(box.uid, 1):][:1]
		}
		for _, dir := range dirs {
			box.work = filepath.Join(box.base, dir)
			box.unchanged(func() {
				box.want("2\n", "echo 2 >>f; git add f; git commit -qm 2; echo 3 >>f; git stash -q; git branch new; git checkout -q new; git gc -q; git log -1 --format=%s")
			})
		}
	})
}

// mounted mounts something at path for the time of the test.
func (box *tryBox) mounted(path, kind, source, options string, flags uintptr) {
	box.t.Helper()
	os.MkdirAll(path, 0o755)
	if err := syscall.Mount(source, path, kind, flags, options); err != nil {
		skipTry(box.t, "mounting "+kind+": "+err.Error())
	}
	box.t.Cleanup(func() { syscall.Unmount(path, syscall.MNT_DETACH) })
}

// Where something is mounted below project or HOME, an overlay can't be laid over the whole. The parts are copies
// just the same.
func TestTryMountsBelow(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.mounted(box.work+"/node_modules", "tmpfs", "t", "mode=755", 0)
		box.mounted(box.work+"/sub/a/b/vol#u,:me", "tmpfs", "t", "", 0)
		box.mounted(box.home+"/.cache", "tmpfs", "t", "", 0)
		box.mounted(box.home+"/ro", "tmpfs", "t", "", 0)
		box.mounted(box.base+"/tmp/inner", "tmpfs", "t", "", 0)
		box.mounted(box.base+"/closed/a/one", "tmpfs", "t", "", 0)
		box.mounted(box.base+"/closed/a/two", "tmpfs", "t", "", 0)
		os.WriteFile(box.work+"/single", []byte("no line end"), 0o644)
		for _, path := range []string{box.work + "/over", box.base + "/over"} { // a file, as containers have them
			os.WriteFile(path, nil, 0o644)
			os.WriteFile(box.base+"/source", []byte("s"), 0o644)
			box.mounted(path, "", box.base+"/source", "", syscall.MS_BIND)
		}
		box.put(map[string]string{"work/node_modules/m/f": "f\n", "work/sub/a/b/vol#u,:me/f": "f\n", "work/sub/a/own": "o\n", "home/.cache/f": "f\n", "home/ro/f": "f\n", "home/big": "b\n", "tmp/inner/f": "f\n"})
		os.WriteFile(box.base+"/closed/a/f", []byte("c\n"), 0o644)
		os.Chown(box.base+"/closed", 0, 0)
		os.Chmod(box.base+"/closed", 0o711) // nothing to see, but two ways through
		os.Symlink("notes", box.work+"/link")
		syscall.Mount("", box.home+"/ro", "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		socket := listen(t, "unix", box.work+"/node_modules/socket")
		direct := listen(t, "unix", box.work+"/socket")
		box.unchanged(func() {
			box.want("a note\nn\nf\nf\no\nf\nf\nb\nf\nc\nok\n", `cat link; echo n >notes; cat link; cat node_modules/m/f "sub/a/b/vol#u,:me/f" sub/a/own ~/.cache/f ~/ro/f ~/big $TMPDIR/inner/f ../closed/a/f;
				echo >new && mv new newer && mkdir d && echo >d/x && rm -r d && echo >>~/big && echo >~/n && echo >sub/a/n && echo >$TMPDIR/n && mv sub/deep sub/deeper && rm link &&
				echo >node_modules/m/n && echo >>node_modules/m/f && echo >>~/.cache/f && echo >>$TMPDIR/inner/f &&
					test "$(od -An -c single over ../over | tr -d ' \n')" = nolineendss && echo t >over && test $(cat over) = t && ! echo t 2>&- >../over && echo ok`)
			box.attack("connect,mounts", socket, direct)
		})
		box.put(map[string]string{"work/hidden/by/notes": "h\n"})
		box.unchanged(func() { // what is mounted there is found no more, and a link leads elsewhere
			got := box.inMounts("mount --bind ~/.profile hidden/by/notes; mount -t tmpfs t hidden; ln -s $PWD hidden/by", "cat notes")
			if got.stdout != "a note\n" || got.stderr != "" {
				t.Errorf("%+v", got)
			}
		})
	})
}

// Temporary directories on tmpfs and on an overlay, as in containers, where the upper layers can't be on disk.
func TestTryScratch(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		os.Mkdir(box.base+"/m", 0o755)
		for want, prepare := range map[string]string{
			"memory\n": `m=%[1]s/m; mount -t tmpfs t $m; mkdir $m/u1 $m/u2 $m/u3 $m/w1 $m/w2 $m/w3; chmod 1777 $m/u1 $m/u2
				mount -t overlay -o lowerdir=/tmp,upperdir=$m/u1,workdir=$m/w1 o /tmp; mount -t overlay -o lowerdir=/var/tmp,upperdir=$m/u2,workdir=$m/w2 o /var/tmp
				chown $2:$2 $m/u3; mount -t overlay -o lowerdir=%[1]s,upperdir=$m/u3,workdir=$m/w3 o %[1]s; cd %[1]s/work`,
			"disk\n": `for d in /tmp /var/tmp; do mount -t tmpfs -o mode=1777 t $d; done; cd %[1]s/work`,
		} {
			box.unchanged(func() {
				got := box.inMounts(fmt.Sprintf(prepare, box.base), `echo n >notes; cat notes; for d in ~ /tmp /var/tmp $TMPDIR; do echo x >$d/ccc-x && rm $d/ccc-x && mkdir -p $d/ccc-d/e && rm -r $d/ccc-d; done
					rm -r sub; mkdir sub; ls sub; df -T . | tail -1 | cut -d' ' -f1; grep -q upperdir=/var/tmp /proc/mounts && echo disk || echo memory`)
				if got.stdout != "n\nccc-try\n"+want || got.stderr != "" {
					t.Errorf("%+v, want %s", got, want)
				}
			})
		}
	})
}

// Where the directory for scratch directories is not the user's alone, copies are written to memory, and nothing
// there is touched.
func TestTryScratchRefused(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"home/dir/f": "f\n"})
		for name, prepare := range map[string]string{"link": "ln -s ~ $path", "file": ": >$path; chmod 700 $path",
			"open": "mkdir -p $path/dir; chmod 770 $path; chown $uid $path", "others": "mkdir -p $path/dir; chmod 700 $path; chown 54322 $path"} {
			varTmp := filepath.Join(box.base, name)
			prepare = fmt.Sprintf("umask 0; uid=%d; path=%s/.ccc-try-$uid; mkdir -m 1777 %[2]s; %s", box.uid, varTmp, prepare)
			if err := box.command("sh", "-ec", prepare).Run(); err != nil {
				t.Fatal(name, err)
			}
			box.unchanged(func() {
				got := box.inMounts("mount --bind "+varTmp+" /var/tmp", "echo n >notes; cat notes; echo x >/var/tmp/x; rm -r sub ~/dir; mkdir sub; ls sub; ! grep upperdir=/var/tmp /proc/mounts")
				if got.stdout != "n\n" || got.stderr != "" {
					t.Errorf("%s: %+v", name, got)
				}
			})
		}
	})
}

// What root may do to files outside it may do in a copy, whoever they belong to.
func TestTryRootsFiles(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	const stranger = 54398
	box := newTryBox(t, 0)
	box.put(map[string]string{"work/s/f": "f\n", "work/closed": "c\n", "work/d/e/g": "g\n"})
	for _, path := range []string{"work", "work/s", "work/s/f", "work/d", "work/d/e", "work/d/e/g"} {
		os.Lchown(filepath.Join(box.base, path), stranger, stranger)
	}
	os.Chmod(box.work+"/closed", 0)
	os.Chmod(box.work+"/d", 0o700)
	box.unchanged(func() {
		box.want("f\n2\nc\ng\n54398\n7:8\n", `set -e; echo 2 >>s/f; cat s/f closed d/e/g; rm d/e/g; mv s t; stat -c %u .; touch new; chown 7:8 new; tar cf a.tar new; rm new; tar xf a.tar; stat -c %u:%g new; chmod 4755 new`)
		box.want("", "env "+testMainVariable+"=attack ccc port80")
	})
}

// A directory that a variable names is for writing to. What is not there is not made, and what stands above the project
// is not for writing to.
func TestTryNamedDirectories(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"caches/go/f": "f\n", "caches/side": "s\n", "other/f": "o\n"})
		os.Symlink("caches/go", box.base+"/link")
		box.unchanged(func() {
			box.vars = append(box.vars, "GOCACHE="+box.base+"/caches/go", "LINK="+box.base+"/link", "ABOVE="+box.base, "MISSING="+box.base+"/none",
				"OLDPWD="+box.base+"/other", "LIST="+box.base+"/other:/usr", "RELATIVE=../other")
			box.want("f\nn\n", `set -e; cat $GOCACHE/f; echo n >>$GOCACHE/f; mv $LINK/f $GOCACHE/g; tail -n 1 $LINK/g; ls $LIST 2>&- || :
				for f in $ABOVE/x $OLDPWD/x $ABOVE/caches/x; do ! touch $f 2>&-; done; ! mkdir $MISSING 2>&-`)
		})
	})
}

// A file beside a mount carries no lock and no lease to the host.
func TestTryLocks(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.mounted(box.base+"/volume", "tmpfs", "t", "", 0)
		box.mounted(box.home+"/volume", "tmpfs", "t", "", 0)
		files := []string{box.base + "/file", box.home + "/.profile", box.work + "/notes"}
		box.put(map[string]string{"file": "f\n"})
		cmd := box.cmd(append([]string{"ccc", "try", "env", testMainVariable + "=attack", "ccc", "locks"}, files...))
		input, _ := cmd.StdinPipe()
		output, _ := cmd.StdoutPipe()
		check(t, cmd.Start())
		if said, _ := bufio.NewReader(output).ReadString('\n'); said != "ready\n" {
			t.Errorf("said %q", said)
		}
		for _, path := range files {
			file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
			if err == nil {
				err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
				file.Close()
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		input.Close()
		cmd.Wait()
	})
}

// inMounts runs prepare in mounts of its own and then line in a copy, as the user of the box.
func (box *tryBox) inMounts(prepare, line string, files ...*os.File) commandResult {
	cmd := box.command("sh", "-c", "set -e; mount --make-rprivate /; setpriv=$(command -v setpriv); "+prepare+`; exec $setpriv --reuid $2 --regid $2 --clear-groups ccc try --timeout ${timeout:-1m} "$1"`,
		"sh", line, strconv.Itoa(box.uid))
	cmd.ExtraFiles = files
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	return box.finish(cmd)
}

// A listener on what is mounted below /sys is not reached, and no mount shows what is written in a copy.
func TestTryOtherWays(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"a/f": "", "b/f": "", "c/f": "", "home/d/f": ""})
		attack := "env " + testMainVariable + "=attack ccc "
		got := box.inMounts("mount -t tmpfs t /sys/kernel/debug; "+attack+"listen /sys/kernel/debug/s "+box.base+"/listening >/dev/null 2>&1 & until [ -e "+box.base+"/listening ]; do sleep 0.01; done",
			attack+"connect unix:/sys/kernel/debug/s; ls /sys/class/net")
		if got.code != 0 || got.stdout != "lo\n" || got.stderr != "" {
			t.Errorf("%+v", got)
		}
		box.kill()
		base := box.base
		got = box.inMounts(fmt.Sprintf("mount --bind /var/tmp %[1]s/a; mount --bind / %[1]s/b; mount --rbind /var %[1]s/c; mount --bind /var/tmp %[1]s/home/d", base),
			fmt.Sprintf("ls -A %[1]s/a/.ccc-try-%[2]d %[1]s/b/var/tmp/.ccc-try-%[2]d %[1]s/c/tmp/.ccc-try-%[2]d ~/d/.ccc-try-%[2]d | grep -v '^/' | sort -u", base, box.uid))
		if got.code != 0 || got.stdout != "\n" || got.stderr != "" {
			t.Errorf("another copy's scratch: %+v", got)
		}
		got = box.inMounts("mount -t cgroup2 c /sys/fs/cgroup; exec 9</sys/fs/cgroup/cgroup.procs; flock -x 9",
			"flock -xn /sys/fs/cgroup/cgroup.procs echo free; cat /sys/fs/cgroup/cgroup.controllers >/dev/null")
		if got.code != 0 || got.stdout != "free\n" || got.stderr != "" {
			t.Errorf("a lock on the host's control groups: %+v", got)
		}
	})
}

// What nobody may enter goes; what a link leads to stays.
func TestTryRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"/tree/a/b/c", "/kept/sub"} {
		check(t, os.MkdirAll(dir+path, 0o700))
	}
	check(t, os.WriteFile(dir+"/kept/f", nil, 0o600))
	check(t, os.Symlink(dir+"/kept", dir+"/tree/a/link"))
	check(t, os.Symlink(dir+"/kept", dir+"/tree/link"))
	check(t, os.Chmod(dir+"/tree/a/b", 0))
	check(t, os.Chmod(dir+"/tree/a", 0))
	removeTree(dir + "/tree")
	if _, err := os.Lstat(dir + "/tree"); err == nil {
		t.Error("it is still there")
	}
	for _, path := range []string{dir + "/kept/f", dir + "/kept/sub"} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o600 != 0o600 {
			t.Error(info, err)
		}
	}
}

// A mount among many directories: those cost an ordinary user a mount each, root nothing, and it is said.
func TestTryNeighbours(t *testing.T) {
	onlyRoot(t)
	many := 60
	if os.Getenv(tryTestVariable) == "all" {
		many = 4000
	}
	eachUser(t, func(t *testing.T, box *tryBox) {
		prepare := fmt.Sprintf(`mount -t tmpfs t %[1]s; cd %[1]s; mkdir .git volume; seq -f d%%g %d | xargs mkdir; echo f >d7/f; echo g >d8/f; mount -t tmpfs t volume; echo v >volume/f; chown -R $2:$2 .`, box.work, many)
		got := box.inMounts(prepare, "cat volume/f d7/f; echo n >d7/f && mv d8/f d9/g && ls -d d* | wc -l")
		said := box.uid != 0 && many >= manyNeighbours
		if got.code != 0 || got.stdout != fmt.Sprintf("v\nf\n%d\n", many) || strings.Contains(got.stderr, box.work) != said || strings.Count(got.stderr, "\n") > 1 {
			t.Errorf("%+v", got)
		}
		t.Logf("%d neighbours: %v", many, got.took)
	})
}
