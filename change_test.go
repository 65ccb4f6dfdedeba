package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// gitIn runs a script of git commands in dir, which is made for it, and returns what it prints.
func (box *sandbox) gitIn(dir, script string) string {
	box.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		box.t.Skip("git is not installed here")
	}
	check(box.t, os.MkdirAll(dir, 0o700))
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(box.vars, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always", "GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main")
	out, err := cmd.CombinedOutput()
	if err != nil {
		box.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// listing describes every file below dir: its mode, size, time and, but for directories, content.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintln(&list, path, info.Mode(), info.Size(), info.ModTime(), checksum(text))
		return err
	})
	check(t, err)
	return strings.Split(list.String(), "\n")
}

// expectUnchanged wants the listing of dir to be what it was before, the times of objects and shared indices only if objectTimes
// says so: git notes on them that they are still in use.
func expectUnchanged(t *testing.T, dir string, before []string, objectTimes bool) {
	t.Helper()
	after := listing(t, dir)
	time := regexp.MustCompile(`(/objects/.*|/sharedindex.*) \d+-\d+-\d+ .*UTC `)
	for _, list := range [][]string{before, after} {
		for i := range list {
			if !objectTimes {
				list[i] = time.ReplaceAllString(list[i], "$1 ")
			}
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new or changed: %s", line)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files where %d were", len(after), len(before))
	}
}

// What ccc says of a working tree is what git add -A && git write-tree says in a copy of it, made by a copy of ccc's and
// without one, and nothing in or around the repository changes.
func TestTree(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; printf 'ignored\n' >.gitignore; echo a >a; echo b >b; git add .; git commit -qm first; "
	for name, script := range map[string]string{
		"clean":     begin,
		"all kinds": begin + "echo more >>a; rm b; echo new >'n\"e w'; echo x >ignored; echo staged >s; git add s; ln -s a link; mkdir empty",
		"unborn":    "git init -q; echo a >a",
		"same size": begin + "printf 'c\n' >a",
		"split":     begin + "git update-index --split-index; echo c >c; git add c; echo d >d",
		"conflict":  begin + "git checkout -qb other; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge other >/dev/null || :",
		"submodule": "git init -q sub; cd sub; " + begin + "cd ..; git init -q; git submodule --quiet add ./sub sub2; git commit -qm s; rm -rf sub",
		"locked":    begin + "echo more >>a; touch .git/index.lock",
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, script)
		want := box.gitIn(box.work, fmt.Sprintf("cp -a '%s' copy; cd copy; rm -f .git/index.lock; git add -A; git write-tree; cd ..; rm -rf copy", name))
		head := box.gitIn(dir, "git rev-parse -q --verify HEAD || :")
		for way, env := range map[string][]string{"in a copy": box.vars, "without": append(box.vars, "HOME=")} {
			before := listing(t, dir)
			w := takeTree(context.Background(), box.program(), dir, append(env, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere"), baseline{})
			if w.err != nil || w.Tree != want || w.Head != head || w.Top != dir || w.Repo != filepath.Join(dir, ".git") {
				t.Errorf("%s, %s: %+v, %v; want head %s, tree %s", name, way, w, w.err, head, want)
			}
			expectUnchanged(t, dir, before, way == "in a copy")
		}
	}
	left, _ := filepath.Glob(filepath.Join(box.getenv("TMPDIR"), "*"))
	if len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// A run is one wherever ccc stands.
func TestTryCall(t *testing.T) {
	for call, want := range map[string]bool{"Bash(/x/ccc try 'a')": true, "Bash('/my tools/ccc' try --timeout 9m 'a')": true, "Bash(ls /x/ccc try)": false,
		"Bash(/x/ccc-linux-amd64 try 'a')": true, "Bash('/my tools/ccc-1.2' try 'a')": true, "Bash(/x/ccc/other try 'a')": false} {
		expectIs(t, call, tryCall().MatchString(call), want)
	}
}

// A linked worktree has its own files and shares the repository.
func TestTreeOfWorktree(t *testing.T) {
	box := newFakeBox(t)
	dir, other := filepath.Join(box.work, "main"), filepath.Join(box.work, "other")
	box.gitIn(dir, "git init -q; echo a >a; git add .; git commit -qm first; git worktree add -q ../other")
	want := box.gitIn(other, "echo b >b; git add -A; git write-tree; git rm -q --cached b")
	w := takeTree(context.Background(), box.program(), filepath.Join(other), box.vars, baseline{})
	if w.err != nil || w.Tree != want || w.Repo != filepath.Join(dir, ".git") || w.Top != other {
		t.Errorf("%+v; want %s", w, want)
	}
}

// Where the tree would not speak of all that is there, there is none.
func TestTreeNone(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	const sub = "git init -q s; cd s; " + begin + "cd ..; git init -q; git submodule --quiet add ./s sub; git commit -qm s; rm -rf s; cd sub; "
	late, cancel := context.WithTimeoutCause(context.Background(), 300*time.Millisecond, fmt.Errorf("too late"))
	defer cancel()
	for _, c := range []struct {
		script, want string
		ctx          context.Context
		env          []string
	}{
		{"true", errNoGit.zh, context.Background(), nil},
		{begin + "git update-index --assume-unchanged a", "assume-unchanged", context.Background(), nil},
		{begin + "git update-index --skip-worktree a", "skip-worktree", context.Background(), nil},
		{begin + "git clone -q . sub; echo c >sub/c", "有自己的改动", context.Background(), nil},
		{begin + "git config filter.slow.clean 'sleep 60; cat'; echo '* filter=slow' >.gitattributes; echo b >b", "too late", late, nil},
		{begin + "git config filter.x.clean cat", "做不了运行它的副本", context.Background(), []string{"HOME="}},
		// Git must not look into a submodule where it can't see, nor run its filters outside of a copy, nor into another directory.
		{sub + "git update-index --assume-unchanged a; echo b >a", "assume-unchanged", context.Background(), nil},
		{sub + "git config filter.x.clean 'touch '$PWD/ran; echo '* filter=x' >.gitattributes; sleep 1; touch a", "做不了运行它的副本", context.Background(), []string{"HOME="}},
		{begin + "mkdir q; git config core.worktree ../q; echo b >q/b", "另一个目录", context.Background(), nil},
		{begin + "echo broken >.git/HEAD", "not a git repository", context.Background(), nil},
	} {
		dir := t.TempDir()
		box.gitIn(dir, c.script)
		start := time.Now()
		w := takeTree(c.ctx, box.program(), dir, append(box.vars, c.env...), baseline{})
		if w.err == nil || w.Tree != "" || !strings.Contains(w.err.Error(), c.want) || strings.Contains(w.err.Error(), "\n") {
			t.Errorf("%s: %+v", c.script, w)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s: took %v", c.script, took)
		}
		if _, err := os.Stat(filepath.Join(dir, "sub/ran")); err == nil {
			t.Errorf("%s: the filter ran", c.script)
		}
	}
}

// A filter runs in the copy, and what it leaves behind goes with it.
func TestTreeFilter(t *testing.T) {
	box := newFakeBox(t)
	needCopy(t, box)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, `git init -q; git config filter.large.clean 'tee -a .git/kept | wc -c'; echo '*.bin filter=large' >.gitattributes; echo 12345 >a.bin`)
	before := listing(t, dir)
	w := takeTree(context.Background(), box.program(), dir, box.vars, baseline{})
	expectUnchanged(t, dir, before, true)
	if want := box.gitIn(dir, "git add -A; git write-tree"); w.err != nil || w.Tree != want {
		t.Errorf("%+v, want %s", w, want)
	}
}

// What the reviewer is told of the time since the request: all kinds of changes, each once, as the files hold them, and
// nothing of what is ignored.
func TestChanges(t *testing.T) {
	box := newFakeBox(t)
	const first = "git init -q; printf 'ignored\n' >.gitignore; seq 30 >moved; seq 3000 >long; echo a >a; echo u >users; printf 'b\\0' >bin; git add .; git commit -qm first; "
	const work = "echo theirs >>users; H=$(git rev-parse HEAD); git status --porcelain >../status; echo b >>a; git commit -qm second a; git mv moved there; seq 5000 8000 >long; " +
		"printf 'b\\0c' >bin; echo new >'n\"e w'; echo x >ignored; echo KEY=1 >.env; echo 'token = \"abcdefghijklmnopqrstuvwx\"' >conf; mkdir empty; "
	dir := filepath.Join(box.work, "all")
	box.gitIn(dir, first+work)
	head := box.gitIn(dir, "git rev-parse HEAD~1")
	status, _ := os.ReadFile(filepath.Join(box.work, "status"))
	since := baseline{commit: head, status: string(status), top: dir}
	tell := func(dir string, since baseline, env ...string) string {
		t.Helper()
		before := listing(t, dir)
		judged := takeTree(context.Background(), box.program(), dir, append(box.vars, env...), since)
		expectUnchanged(t, dir, before, len(env) == 0)
		if judged.err != nil || judged.changes.err != nil || judged.Tree == "" {
			t.Errorf("%+v", judged)
		}
		return judged.text()
	}
	for _, env := range [][]string{nil, {"HOME="}} {
		text := tell(dir, since, env...)
		expectIn(t, "the request", text, head[:12], "+b\n", "rename from moved\nrename to there\n", "Binary files a/bin and b/bin differ", "+new\n", "-30\n", "+theirs\n",
			" M users\n", "?? conf\n", "可能是用户自己的修改，不是 Agent 做的：\n```\n M users\n```\n", "+KEY=1\n", "+token = \"abcdefghijklmnopqrstuvwx\"\n", " -- :/long）")
		expectNotIn(t, "the request", text, "ignored\n", "-2999\n")
		if n := strings.Count(text, "diff --git"); n != 8 || len(text) > changesLimit+2000 {
			t.Errorf("%d differences, %d bytes:\n%s", n, len(text), text)
		}
	}
	if text := tell(dir, baseline{commit: head, status: since.status, top: "/elsewhere"}); strings.Contains(text, "可能是用户自己的") {
		t.Error(text)
	}
	// Many files: each that is shown has a beginning, and the others their names.
	many := filepath.Join(box.work, "many")
	box.gitIn(many, "git init -q; git commit -qm first --allow-empty; for i in $(seq 140 199); do seq $i 300 >f$i; done; seq 3000 >zero")
	text := tell(many, baseline{commit: box.gitIn(many, "git rev-parse HEAD")})
	if n := strings.Count(text, "diff --git"); n < 30 || strings.Count(text, "\n+1") < n || !strings.Contains(text, "zero (+3000 -0)") || !strings.Contains(text, "\n+199\n") {
		t.Errorf("%d differences:\n%s", n, text)
	}

	// What git can't see here is said, and that no file differs is not.
	for script, why := range map[string]string{"git update-index --assume-unchanged a; echo b >a": "assume-unchanged", "echo new >inner/new": "有自己的改动"} {
		hidden := filepath.Join(box.work, why)
		box.gitIn(hidden, "git init -q; echo a >a; git init -q inner; git -C inner commit -qm i --allow-empty; git add .; git commit -qm first; "+script)
		text := takeTree(context.Background(), box.program(), hidden, box.vars, baseline{commit: box.gitIn(hidden, "git rev-parse HEAD")}).text()
		expectIn(t, script, text, "看不到的改动（", why)
		expectNotIn(t, script, text, "没有任何文件不同")
	}

	// The commit where there is no record of the request.
	fresh := filepath.Join(box.work, "fresh")
	box.gitIn(fresh, "git init -q; echo a >a")
	for name, since := range map[string]baseline{"unborn": {commit: "unborn"}, "unknown": {commit: "unknown", asked: "2026-01-01T00:00:00.000Z"}} {
		if text := tell(fresh, since); !strings.Contains(text, "+a\n") {
			t.Errorf("%s: %s", name, text)
		}
	}
	box.gitIn(fresh, "for i in 1 2 3; do echo $i >a; git add .; GIT_COMMITTER_DATE=2026-02-0${i}T00:00:00Z git commit -qm $i; done")
	for asked, want := range map[string]string{"2026-02-02T10:00:00.000Z": "-2\n+3\n", "2026-01-01T00:00:00.000Z": "此后已提交的改动不在这里", "": "没有任何文件不同"} {
		if text := tell(fresh, baseline{commit: "unknown", asked: asked}); !strings.Contains(text, want) {
			t.Errorf("%q lacks %q: %s", asked, want, text)
		}
	}
	gone := takeTree(context.Background(), box.program(), fresh, box.vars, baseline{commit: strings.Repeat("1", 40)})
	if gone.err != nil || gone.Tree == "" || !strings.Contains(gone.text(), "无法得知（fatal: bad object 111") {
		t.Errorf("%+v: %s", gone, gone.text())
	}
	if text := takeTree(context.Background(), box.program(), t.TempDir(), box.vars, since).text(); text != "" {
		t.Error(text)
	}
}

// What is shown of differences of other shapes.
func TestChangesShown(t *testing.T) {
	box := newFakeBox(t)
	tell := func(name, first, then string) string {
		t.Helper()
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, "git init -q; "+first+"; git add .; git commit -qm first --allow-empty")
		box.gitIn(dir, "echo >/dev/null; "+strings.SplitN(then, "|||", 2)[0])
		w, status := takeHead(dir, box.vars)
		box.gitIn(dir, strings.SplitN(then+"|||", "|||", 3)[1])
		return takeTree(context.Background(), box.program(), dir, box.vars, baseline{commit: w.Head, status: status, top: w.Top}).text()
	}
	for _, c := range []struct{ name, first, then, want, no string }{
		{"names", "echo a >'my file'; echo b >b", "echo u >>'my file'; mkdir src; echo u >src/user|||echo a >>b; echo a >src/agent", "不是 Agent 做的：\n```\n M \"my file\"\n?? src/user\n```\n", "无法得知"},
		{"chinese", "true", "|||for i in $(seq 400); do echo 这是一行中文内容; done >zh", "+这是一行中文内容\n```", "省略"},
		{"one line", "true", "|||head -c 40000 /dev/zero | tr '\\0' x >json; for i in $(seq 45); do echo $i >snap$i; done; echo main >z.go", "+xxxx", ""},
		{"many", "true", "|||for i in $(seq 45); do echo $i >snap$i; done; echo main >z.go", "+main\n", "没有显示"},
		{"renamed", "seq 30 >.env.example", "|||git mv .env.example .env; echo X=y >>.env", "+X=y\n", "没有显示"},
		{"sparse", "echo a >a; echo b >b", "|||git update-index --skip-worktree b; echo c >>a", "+c\n", "无法得知"},
		{"cut", "seq 5000 >'a b'", "|||seq 5001 9999 >'a b'", " -- ':/a b'）", ""},
	} {
		if text := tell(c.name, c.first, c.then); !strings.Contains(text, c.want) || c.no != "" && strings.Contains(text, c.no) {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
	hidden := filepath.Join(box.work, "hidden")
	box.gitIn(hidden, "git init -q; echo a >a; git add .; git commit -qm first; git update-index --skip-worktree a; rm -r .git/logs; echo new >n")
	if w := takeTree(context.Background(), box.program(), hidden, box.vars, baseline{commit: "unknown"}); w.Tree != "" || w.err == nil || w.Head != w.changes.base ||
		!strings.Contains(w.text(), "?? n\n") || !strings.Contains(w.text(), "此后已提交的改动不在这里") {
		t.Errorf("%+v: %s", w.err, w.text())
	}
	box.gitIn(filepath.Join(box.work, "bare"), "git init -q; echo a >a")
	unborn := takeTree(context.Background(), box.program(), filepath.Join(box.work, "bare"), box.vars, baseline{commit: "unborn"})
	if text := unborn.text(); !strings.Contains(text, "还没有提交") || !strings.Contains(text, "+a\n") {
		t.Error(text)
	}
	without := append(slices.Clone(box.vars), "PATH=/nowhere")
	if none := takeTree(context.Background(), box.program(), filepath.Join(box.work, "bare"), without, baseline{commit: "unknown"}); none.text() != "" || none.err == nil {
		t.Errorf("%+v: %s", none.err, none.text())
	}
}
