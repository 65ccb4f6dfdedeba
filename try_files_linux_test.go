package main

// Copies of unusual places: what is where, of whom, and mounted how.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
		check(t, os.Chmod(home, 0o750))
		modes := ""
		for _, path := range []string{home, "/tmp"} {
			var outside syscall.Stat_t
			check(t, syscall.Stat(path, &outside))
			modes += fmt.Sprintf("%o\n", outside.Mode&0o7777)
		}
		tests := []struct{ home, dir, line, want string }{
			{home, home + "/inner", "echo g >a/b/f; echo >~/f; cat a/b/f", "g\n"},
			{home, home + "/sublink", "echo d >deep; cat deep ../notes; pwd", "d\na note\n" + home + "/sublink\n"},
			{box.base, box.work, "echo n >notes; touch ../bin/x; ls ../bin", "ccc\nx\n"},
			{"/", box.work, "echo n >notes; cat notes; touch ../bin/x; ls ../bin", "n\nccc\nx\n"},
			{home, box.work, "stat -c %a ~ /tmp", modes},
			{home, "/dev/shm", "echo x >ccc-x; cat ccc-x; pwd", "x\n/dev/shm\n"},
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
		if os.Getenv(tryTestVariable) != "all" {
			tests = tests[:12]
		}
		box.unchanged(func() {
			for _, test := range tests {
				box.work = test.dir
				cmd := box.cmd([]string{"ccc", "try", test.line})
				cmd.Env = setEnv(append(box.vars, "PWD="+test.dir), "HOME", test.home)
				if got := box.finish(cmd); got.stdout != test.want || got.stderr != "" && !strings.Contains(got.stderr, "such as ccc-") { // what another test has there
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
		for _, dir := range []string{"tree", "main/subm"} {
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

// besideMounts keeps tests that mount below a place that each copy shows (syscall.LOCK_EX) apart from tests that fail
// beside such a mount (LOCK_SH), also those of other runs. It locks /run until the test ends.
func besideMounts(t *testing.T, how int) {
	t.Helper()
	dir, err := os.Open("/run")
	check(t, errors.Join(err, syscall.Flock(int(dir.Fd()), how)))
	t.Cleanup(func() { dir.Close() })
}

// What is mounted below HOME or a temporary directory is read-only, and what is beside it is written to: for an ordinary user
// in each directory that has no mount in it. The probe tells of a HOME that can't be written to directly.
func TestTryMountsBelow(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.mounted(box.home+"/drives/net", "tmpfs", "t", "", 0)
		box.mounted(box.home+"/drives/net/inner", "tmpfs", "t", "", 0)
		const odd = "vol#u,:m e\tn\nb\\" // what mountinfo writes in octal, and what separates options
		box.mounted(box.base+"/tmp/"+odd, "tmpfs", "t", "", 0)
		box.put(map[string]string{"home/drives/net/f": "f\n", "home/drives/net/inner/f": "i\n", "home/drives/side/f": "s\n", "home/.cache/deep/f": "c\n", "tmp/" + odd + "/f": "v\n", "tmp/d/f": "d\n"})
		socket := listen(t, "unix", box.home+"/drives/net/socket")
		direct := listen(t, "unix", box.home+"/socket")
		box.unchanged(func() {
			box.want("f\ni\ns\nc\nv\nd\nmine\nro\nro\nro\n", `set -e; cat ~/drives/net/f ~/drives/net/inner/f ~/drives/side/f ~/.cache/deep/f $TMPDIR/vol*/f $TMPDIR/d/f ~/.profile
				for f in ~/drives/net/f ~/drives/net/inner/new $TMPDIR/vol*/f; do touch "$f" 2>&- || echo ro; done
				echo >>~/drives/side/f; echo >~/.cache/new; rm -r ~/.cache/deep; echo >$TMPDIR/d/f; echo >notes; mkdir made`)
			box.attack("connect,mounts", socket, direct)
			directly := box.try("touch ~/new && echo >>~/.profile")
			told := box.finish(box.cmd([]string{"ccc", "doctor"})).stdout
			if readOnly := box.uid != 0; (directly.code != 0) != readOnly || strings.Contains(told, "directly in HOME") != readOnly || !strings.Contains(told, "ok       copies: ") {
				t.Errorf("files directly in HOME: %+v, and doctor says: %s", directly, told)
			}
		})
	})
}

// Where something is mounted in the project an ordinary user's copy can't be written to as a whole, and there is none. For
// root it is a copy as all else.
func TestTryMountsInProject(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.mounted(box.work+"/node_modules", "tmpfs", "t", "mode=755", 0)
		box.put(map[string]string{"work/node_modules/m/f": "f\n"})
		box.unchanged(func() {
			if box.uid == 0 {
				box.want("f\nn\n", "cat node_modules/m/f; echo n >node_modules/m/f; cat node_modules/m/f; rm -r node_modules/m; echo >notes; mkdir new")
				return
			}
			want := "no copy can be made: " + box.work + "/node_modules is mounted in the project"
			expectEnd(t, "ccc try", box.try("echo ran"), tryImpossible, "", want)
			told := box.finish(box.cmd([]string{"ccc", "doctor"})).stdout
			expectIn(t, "doctor", strings.Join(strings.Fields(told), " "), "warning copies: "+want)
		})
	})
}

// What has another group than the user's own can't be changed in an ordinary user's copy: the session's start, the request, doctor
// and ccc try by hand say so, also from a directory of that group. What the user can't change outside is not told of.
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
	}{{madeUpUser, madeUpUser, top, false}, {madeUpUser, 0, top, true}, {madeUpUser, 0, sub, true}, {0, 0, top, false}} {
		check(t, errors.Join(os.Lchown(top+"/notes.txt", c.owner, c.group), os.Lchown(sub, madeUpUser, c.group)))
		if c.owner == 0 {
			check(t, os.Lchown(sub, 0, 0))
		}
		box.work = c.dir
		told := func(what, text, want string) {
			t.Helper()
			if strings.Contains(text, want) != c.told {
				t.Errorf("%+v: %s: %s", c, what, text)
			}
		}
		told("the session's start", box.hook(box.event(eventStart, `"source":"startup"`)).stdout, "(such as notes.txt) can't be changed in a copy: ccc doctor has the fix.")
		box.forget("reviewer-*")
		box.stop("")
		requests, _ := filepath.Glob(box.home + "/../fake/reviewer-*.stdin")
		request := box.read("../fake/" + filepath.Base(strings.Join(requests, "")))
		told("the request", request, "such as notes.txt, are of another group than the user's own")
		expectIn(t, "the request", request, "## Running commands", box.program()+" try")
		doctor := box.run(60*time.Second, "", "ccc", "doctor").stdout
		told("doctor", doctor, "warning  copies: ")
		told("doctor", doctor, `chgrp -R "$(id -gn)" `+shellQuote(top)+"\n")
		got := box.run(20*time.Second, "", "ccc", "try", "echo x >>"+top+"/notes.txt; echo $?; exit 5")
		told("ccc try", got.stderr, "\nccc: try: ")
		expectIs(t, "the exit code", got.code, 5)
		expectIs(t, "a reviewer's", box.run(20*time.Second, "", "env", tryVariable+"=/", "ccc", "try", "echo ran >&2").stderr, "ran\n")
		expectIs(t, "what can be changed", got.stdout, map[bool]string{true: "0\n", false: "2\n"}[c.group != 0])
	}
}

// The files below /run are there, also those of the user's own directory, which is for writing to where a variable names it;
// its sockets lead nowhere. A socket elsewhere that listens is covered.
func TestTryRun(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		besideMounts(t, syscall.LOCK_EX)
		run := "/run/ccc-test-" + filepath.Base(box.base)
		check(t, os.MkdirAll(run+"/bin", 0o755))
		t.Cleanup(func() { os.RemoveAll(run) })
		box.mounted(run+"/user", "tmpfs", "t", "mode=755", 0)
		check(t, os.MkdirAll(run+"/user/fnm/bin", 0o755))
		for path, content := range map[string]string{"/bin/f": "current\n", "/user/fnm/bin/f": "node\n", "/user/f": "own\n"} {
			check(t, os.WriteFile(run+path, []byte(content), 0o644))
		}
		for _, path := range []string{"/user", "/user/fnm", "/user/fnm/bin", "/user/fnm/bin/f"} {
			check(t, os.Lchown(run+path, box.uid, box.uid))
		}
		sockets := []string{listen(t, "unix", run+"/s"), listen(t, "unix", run+"/bin/s"), listen(t, "unix", run+"/user/s"), listen(t, "unix", run+"/user/fnm/s"), listen(t, "unix", box.base+"/bin/a b")}
		box.attack("connect", sockets...)
		box.want("current\nnode\nown\nro\nro\n", fmt.Sprintf("cat %[1]s/bin/f %[1]s/user/fnm/bin/f %[1]s/user/f; touch %[1]s/x 2>&- || echo ro; touch %[1]s/user/fnm/x 2>&- || echo ro", run))
		box.vars = append(box.vars, "XDG_RUNTIME_DIR="+run+"/user")
		box.attack("connect", sockets...)
		box.want("node\nn\n", fmt.Sprintf("cd %s/user; cat fnm/bin/f; echo n >fnm/bin/f; touch new; cat fnm/bin/f", run))
		if content, _ := os.ReadFile(run + "/user/fnm/bin/f"); string(content) != "node\n" {
			t.Errorf("outside: %q", content)
		}
	})
}

// Root without the right to mount, as in a container, makes copies as an ordinary user does, of files of all owners.
func TestTryContainer(t *testing.T) {
	onlyRoot(t)
	t.Parallel()
	box := newTryBox(t, 0)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		skipTry(t, err.Error())
	}
	check(t, os.Lchown(box.work+"/notes", madeUpUser, madeUpUser))
	check(t, os.Lchown(box.work, madeUpUser, madeUpUser))
	box.unchanged(func() {
		got := box.finish(box.cmd([]string{setpriv, "--bounding-set=-sys_admin", "ccc", "try", "grep CapEff /proc/self/status; echo n >>notes; stat -c %u notes; touch new; ! touch /etc/new 2>&-"}))
		expectEnd(t, "ccc try", got, 0, "CapEff:\t000000000000041b\n54321\n", "")
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
			"others": "mkdir -p $path/dir; chmod 700 $path; chown 54322 $path"} {
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

// A umask that takes rights from the user leaves nothing that a later copy can't use, and what an older ccc has left so
// is mended: copies are written to disk.
func TestTryUmask(t *testing.T) {
	onlyRoot(t)
	eachUser(t, func(t *testing.T, box *tryBox) {
		varTmp := filepath.Join(box.base, "var")
		const left = "mkdir -m 1777 %s; mkdir -m %s %[1]s/.ccc-try-%[3]d; chown %[3]d %[1]s/.ccc-try-%[3]d"
		for umask, mode := range map[string]string{"0777": "0", "0177": "600", "0277": "500", "022": "770"} {
			check(t, box.command("sh", "-ec", fmt.Sprintf(left, varTmp, mode, box.uid)).Run())
			got := box.inMounts("mount --bind "+varTmp+" /var/tmp; umask "+umask,
				"grep -q upperdir=/var/tmp /proc/mounts && echo disk")
			expectIs(t, "a copy with umask "+umask, got.stdout+got.stderr, "disk\n")
			check(t, os.RemoveAll(varTmp))
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
// or HOME is not for writing to.
func TestTryNamedDirectories(t *testing.T) {
	eachUser(t, func(t *testing.T, box *tryBox) {
		box.put(map[string]string{"caches/go/f": "f\n", "caches/side": "s\n", "other/f": "o\n", "trees/work/sub/f": "", "homes/mine/f": ""})
		os.Symlink("caches/go", box.base+"/link")
		box.work = box.base + "/trees/work"
		box.unchanged(func() {
			box.vars = append(box.vars, "GOCACHE="+box.base+"/caches/go", "LINK="+box.base+"/link", "ABOVE="+box.base, "MISSING="+box.base+"/none",
				"VENV="+box.work+"/sub", "OLDPWD="+box.base+"/other", "LIST="+box.base+"/other:/usr", "RELATIVE=../../other",
				"TREES="+box.base+"/trees", "HOMES="+box.base+"/homes", "HOME="+box.base+"/homes/mine")
			box.want("f\nn\n", `set -e; cat $GOCACHE/f; echo n >>$GOCACHE/f; mv $LINK/f $GOCACHE/g; tail -n 1 $LINK/g; rm -r $VENV; mkdir $VENV
				for dir in $ABOVE $ABOVE/other $ABOVE/caches $TREES $HOMES; do if touch $dir/x 2>&-; then echo "$dir is writable"; fi; done; ! mkdir $MISSING 2>&-`)
		})
	})
}

// A scratch directory that is locked is there, whatever others sweep while it is made.
func TestTryScratchRace(t *testing.T) {
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			for range 300 {
				path, lock := newScratch()
				if _, err := os.Lstat(path); (lock == nil) != (path == "") || lock != nil && err != nil {
					t.Errorf("%q, lock %v: %v", path, lock, err)
				}
				lock.Close()
				sweepScratch()
			}
		}()
	}
	both.Wait()
}

// inMounts runs prepare in mounts of its own and then line in a copy, as the user of the box, with scratch where ccc has it.
func (box *tryBox) inMounts(prepare, line string, files ...*os.File) commandResult {
	cmd := box.command("sh", "-c", "set -e; mount --make-rprivate /; setpriv=$(command -v setpriv); "+prepare+`; exec $setpriv --reuid $2 --regid $2 --clear-groups ccc try --timeout ${timeout:-1m} "$1"`,
		"sh", line, strconv.Itoa(box.uid))
	cmd.Env = append(cmd.Env, testScratchVariable+"=/var/tmp")
	cmd.ExtraFiles = files
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	return box.finish(cmd)
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
	var refused error
	removed := make(chan bool)
	go func() { // on a thread of its own, which heeds permissions even as root's
		defer close(removed)
		runtime.LockOSThread()
		var sets capabilitySets
		refused = capabilities(syscall.SYS_CAPGET, &sets)
		sets[0].effective &^= 1<<1 | 1<<2 // DAC_OVERRIDE, DAC_READ_SEARCH
		refused = errors.Join(refused, capabilities(syscall.SYS_CAPSET, &sets))
		removeTree(dir + "/tree")
	}()
	<-removed
	check(t, refused)
	if _, err := os.Lstat(dir + "/tree"); err == nil {
		t.Error("it is still there")
	}
	for _, path := range []string{dir + "/kept/f", dir + "/kept/sub"} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o600 != 0o600 {
			t.Error(info, err)
		}
	}
}
