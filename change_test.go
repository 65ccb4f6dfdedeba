package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

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

// A run is one wherever ccc stands, and is told as the script that it runs; so is any other command.
func TestTryCall(t *testing.T) {
	for call, want := range map[string]struct {
		isRun bool
		doing string
	}{
		"Bash(/x/ccc try 'a')":                            {true, "a"},
		"Bash('/my tools/ccc' try --timeout 9m 'a')":      {true, "a"},
		"Bash(/x/ccc-linux-amd64 try 'a b; echo (c)')":    {true, "a b; echo (c)"},
		"Bash('/my tools/ccc-1.2' try 'a' 2>&1)":          {true, "a 2>&1"},
		"Bash(cd /x && timeout 9 ccc/ccc try go test ./)": {true, "go test ./"},
		"Bash(ls /x/ccc try)":                             {false, "ls /x/ccc try"},
		"Bash(/x/ccc/other try 'a')":                      {false, "/x/ccc/other try 'a'"},
		"Bash(echo (a))":                                  {false, "echo (a)"},
		"Read(/x/ccc try 'a')":                            {false, "Read(/x/ccc try 'a')"},
		"Read":                                            {false, "Read"},
	} {
		expectIs(t, call, tryCall().MatchString(call), want.isRun)
		expectIs(t, "what it does", doing(call), want.doing)
	}
	r := steps{Tools: []string{"Bash(/x/ccc try 'a')", "Read", "Bash(/x/ccc try 'b')", "Bash(ls)"}}
	for _, left := range [][]string{{r.Tools[0], r.Tools[2]}, {r.Tools[2]}, nil, nil} {
		expectEqual(t, fmt.Sprintf("unrecorded of %d", len(r.Runs)), r.unrecorded(), left)
		r.Runs = append(r.Runs, step{Kind: stepRun})
	}
}

// changeIn returns the change in dir of a session with that history.
func (box *sandbox) changeIn(dir string, h *history, started string) judgedChange {
	return takeChange(context.Background(), dir, box.vars, h, started)
}

// promptedIn returns the history of a session with a prompt in dir.
func (box *sandbox) promptedIn(dir string) *history {
	h := new(history)
	h.add(prompted("").seeing(takeLook(dir, box.vars, time.Minute)))
	return h
}

// names lists the paths of a change.
func (c judgedChange) names() string {
	var names []string
	for _, path := range c.paths {
		names = append(names, unquoted(path.name))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// What ccc finds at each path is what git add -A would add, and nothing in or around the repository changes.
func TestLook(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; printf 'ignored\n' >.gitignore; echo a >a; echo b >b; git add .; git commit -qm first; "
	const withSubmodule = "git init -q sub; cd sub; " + begin +
		"cd ..; git init -q; git submodule --quiet add ./sub sub2; git commit -qm s; "
	const wantedOf = "cp -a '%s' copy; cd copy; rm -f .git/index.lock; git add -A;" +
		" H=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null);" +
		" git -c core.quotePath=true diff-index --cached --raw --no-renames --no-abbrev --ignore-submodules=none $H;" +
		" git write-tree >../tree; cd ..; rm -rf copy"
	for name, script := range map[string]string{
		"clean": begin,
		"all kinds": begin + "echo more >>a; rm b; echo new >'n\"e w'; echo x >ignored; echo staged >s; git add s;" +
			" ln -s a link; mkdir empty; chmod +x .gitignore",
		"unborn":    "git init -q; echo a >a",
		"same size": begin + "printf 'c\n' >a",
		"split":     begin + "git update-index --split-index; echo c >c; git add c; echo d >d",
		"conflict": begin + "git checkout -qb other; echo o >a; git rm -q b; git commit -qam o; git checkout -q main;" +
			" echo m >a; echo m >b; git commit -qam m; git merge other >/dev/null || :; rm -f b",
		"submodule": withSubmodule + "rm -rf sub; git config submodule.sub2.ignore all;" +
			" cd sub2; echo c >c; git add c; git commit -qm c",
		"no submodule":       withSubmodule + "rm -rf sub sub2",
		"locked":             begin + "echo more >>a; touch .git/index.lock",
		"file and directory": begin + "rm a; mkdir a; echo x >a/x",
		"directory and file": "git init -q; mkdir d; echo a >d/a; git add .; git commit -qm first; rm -r d; echo d >d",
		"filter": "git init -q; git config filter.large.clean 'wc -c';" +
			" echo '*.bin filter=large' >.gitattributes; echo 12345 >a.bin",
		"intent to add": begin + "echo n >n; git add -N n",
		"settings": begin + "git config diff.noprefix true; git config diff.ignoreSubmodules all;" +
			" git config core.quotePath false; echo é >é",
		"odd \"name\\: é": begin + "echo more >>a",
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, script)
		want := box.gitIn(box.work, fmt.Sprintf(wantedOf, name))
		head := box.gitIn(dir, "git rev-parse -q --verify HEAD || :")
		before := listing(t, dir)
		l := takeLook(dir, append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere"), time.Minute)
		wanted := pathStates{}
		for _, line := range strings.Split(want, "\n") {
			wanted.add(line)
		}
		expectIs(t, name+": why it is not known", l.Unseen, "")
		expectIs(t, name+": HEAD", l.Head, head)
		expectIs(t, name+": the working tree", l.tree, tree{dir, filepath.Join(dir, ".git")})
		if !maps.Equal(l.Paths, wanted) {
			t.Errorf("%s: got the paths %q, want %q", name, l.Paths, wanted)
		}
		g, end := gitIn(t.Context(), time.Minute, l.tree, box.vars)
		s, err := g.snapshot()
		check(t, err)
		id, err := s.output("write-tree")
		check(t, err)
		s.remove()
		end()
		expectIs(t, name+": the tree's id", id, strings.TrimSpace(box.read("../work/tree")))
		expectUnchanged(t, dir, before, false)
	}
	left, _ := filepath.Glob(filepath.Join(box.getenv("TMPDIR"), "*"))
	if len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// Where git can't tell, the reason is told on a line, in time.
func TestLookFails(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	late, cancel := context.WithTimeoutCause(context.Background(), 300*time.Millisecond, fmt.Errorf("too late"))
	defer cancel()
	now := context.Background()
	for name, c := range map[string]struct {
		script, want string
		ctx          context.Context
	}{
		"outside git": {"true", "", now},
		"a filter that is slow": {begin + "git config filter.slow.clean 'sleep 60; cat';" +
			" echo '* filter=slow' >.gitattributes; echo b >b", "too late", late},
		"a filter that fails": {begin + "git config filter.no.clean false; git config filter.no.required true;" +
			" echo '* filter=no' >.gitattributes; echo b >b", "fatal", now},
		"a broken HEAD":  {begin + "echo broken >.git/HEAD", "not a git repository", now},
		"a broken index": {begin + "echo broken >.git/index", "index file", now},
	} {
		dir := t.TempDir()
		box.gitIn(dir, c.script)
		start := time.Now()
		got := takeChange(c.ctx, dir, box.vars, new(history), "")
		expectIn(t, name+": the reason", got.Unseen, c.want)
		expectIs(t, name+": there is a reason", got.Unseen != "", c.want != "")
		expectNotIn(t, name+": the reason", got.Unseen, "\n")
		expectIs(t, name+": the paths", len(got.paths), 0)
		expectIs(t, name+": the reviewer is told", got.changeText() != "", c.want != "")
		if c.want != "" {
			expectIn(t, name+": what the reviewer is told", got.changeText(), "无法得知")
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: took %v, want at most 4s", name, took)
		}
	}
}

// The files are compared with the commit that the look names, though HEAD moves under it.
func TestLookOneCommit(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git config user.name a;"+
		" git config user.email a@example.com; echo b >b; git add b;"+
		" git config filter.x.clean 'env -u GIT_INDEX_FILE -u GIT_OBJECT_DIRECTORY git commit -qm moved; cat';"+
		" mkdir .git/info; echo 'c filter=x' >.git/info/attributes; echo c >c")
	head := box.gitIn(box.work, "git rev-parse HEAD")
	l := takeLook(box.work, box.vars, time.Minute)
	expectIs(t, "why it is not known", l.Unseen, "")
	expectIs(t, "the commit", l.Head, head)
	expectIs(t, "b is among the paths", l.Paths.has("b"), true)
	if now := box.gitIn(box.work, "git rev-parse HEAD"); now == head {
		t.Error("HEAD has not moved")
	}
}

// A look at a prompt that takes too long, or finds too much to be kept, is not known, but for the commit; then the change begins there,
// and that is told.
func TestLookAtPrompt(t *testing.T) {
	box := newFakeBox(t)
	const begin = "git init -q; echo a >a; git add .; git commit -qm first; "
	for name, c := range map[string]struct{ script, unseen string }{
		"few":  {begin + "echo b >b", ""},
		"2000": {begin + "for i in $(seq 2000); do echo >f$i; done", ""},
		"many": {begin + "for i in $(seq 2001); do echo >f$i; done", ""},
		"slow": {begin + "git config filter.slow.clean 'sleep 30; cat'; echo '* filter=slow' >.gitattributes; echo b >b", "5s"},
	} {
		dir := filepath.Join(box.work, name)
		box.gitIn(dir, c.script)
		head, start := box.gitIn(dir, "git rev-parse HEAD"), time.Now()
		patience := time.Minute // however slow this machine is
		if name == "slow" {
			patience = 5 * time.Second
		}
		l := takeLook(dir, box.vars, patience)
		isWhole := name == "few" || name == "2000"
		expectIs(t, name+": the commit", l.Head, head)
		expectIs(t, name+": the look is whole", l.isWhole(), isWhole)
		expectIn(t, name+": why it is not known", l.Unseen, c.unseen)
		expectIs(t, name+": it is known", l.Unseen == "", c.unseen == "")
		expectIs(t, name+": it has paths", l.Paths != nil, isWhole)
		expectIs(t, name+": it has the id of a tree", l.TreeID != "", name == "many")
		if took := time.Since(start); name == "slow" && took > 15*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		h := new(history)
		h.add(prompted("").seeing(l))
		if name == "slow" {
			check(t, os.Remove(filepath.Join(dir, ".gitattributes")))
		}
		got := box.changeIn(dir, h, "")
		expectIs(t, fmt.Sprintf("%s: of %d changed files, none", name, len(got.paths)), len(got.paths) == 0, isWhole)
		isEarlier := strings.Contains(got.changeText(), "可能有更早的改动")
		expectIs(t, name+": that there may be earlier changes", isEarlier, !isWhole)
		expectIs(t, name+": where the change begins", got.base, head)
	}
	expectIs(t, "how long a prompt waits", promptLookPatience, time.Second)
	dir := resolved(t.TempDir())
	l := takeLook(dir, box.vars, promptLookPatience)
	expectIs(t, "outside git: the tree", l.tree, tree{Top: dir})
	expectIs(t, "outside git: why it is not known", l.Unseen, "")
	expectIs(t, "outside git: it has paths", l.Paths != nil, false)
}

// Without a look a change begins where HEAD was by its log, which is read; where that does not reach back at what HEAD shares with the
// commit of the look in another working tree, else it is all files.
func TestBeginningByReflog(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; for i in 1 2 3; do echo $i >f$i; git add .;"+
		" GIT_COMMITTER_DATE=2026-02-0${i}T00:00:00Z git commit -qm $i; done; git tag three")
	expect := func(started, want string) {
		t.Helper()
		c := box.changeIn(dir, new(history), started)
		expectIs(t, "started "+started+": why it is not known", c.Unseen, "")
		expectIs(t, "started "+started+": the files", c.names(), want)
		expectIs(t, "started "+started+": since", c.how, sinceCommit)
	}
	for started, want := range map[string]string{
		"":                         "f1 f2 f3",
		"2026-01-01T00:00:00.000Z": "f1 f2 f3",
		"2026-02-01T00:00:01.000Z": "f2 f3",
		"2026-02-02T00:00:00.500Z": "f2 f3",
		"2026-02-02T10:00:00.000Z": "f3",
	} {
		expect(started, want)
	}
	box.gitIn(dir, "sed -i 1d .git/logs/HEAD") // its first entry names what was before, but not since when
	expect("2026-02-01T10:00:00.000Z", "f1 f2 f3")
	expect("2026-02-02T10:00:00.000Z", "f3")
	box.gitIn(dir, "sed -i '1i x' .git/logs/HEAD") // a line that is none of git's
	expect("2026-02-02T10:00:00.000Z", "f3")
	box.gitIn(dir, "sed -i 1d .git/logs/HEAD")
	h := new(history)
	elsewhere := look{tree: tree{Top: "/elsewhere", Repository: dir + "/.git"}, Head: box.gitIn(dir, "git rev-parse HEAD~1")}
	h.add(prompted("").seeing(elsewhere).at(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	expectIs(t, "since another working tree's commit", box.changeIn(dir, h, "").names(), "f3")
	box.gitIn(dir, "git checkout -q HEAD~2; git reflog expire --expire=all --all")
	expectIs(t, "with an older commit checked out", box.changeIn(dir, h, "").names(), "")
	const gone = "1111111111111111111111111111111111111111"
	box.gitIn(dir, "git checkout -q three;"+
		" sed -i 's/^[0-9a-f]* [0-9a-f]*/& broken/; s/ [0-9a-f]* broken/ "+gone+"/' .git/logs/HEAD")
	expect(now().Add(time.Hour).Format(time.RFC3339), "f1 f2 f3") // a commit that is gone
}

// Where the history says that a change starts: at the session's last approval in the working tree, else at the first prompt of its
// conversation, if that is on record.
func TestChangeStart(t *testing.T) {
	here, elsewhere := tree{"/p", "/p/.git"}, tree{"/q", "/p/.git"}
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	// A history is a word for each record: p a prompt, k, n, f a review that approves, refuses, fails, q an approved question, h an
	// approval by hand, b a review that only begins; in capitals in another working tree.
	for words, want := range map[string]string{
		"":                 "nothing",
		"p":                "prompt 0",
		"p p":              "prompt 0",
		"P p":              "prompt 0 elsewhere",
		"p n f q b":        "prompt 0",
		"p k":              "approval 1",
		"p k p p":          "approval 1, then 2",
		"p k p k":          "approval 3",
		"p h":              "approval 1",
		"p k n p":          "approval 1, then 3",
		"p K":              "prompt 0",
		"p k P p":          "approval 1, then 2 elsewhere",
		"k":                "approval 0",
		"n p":              "prompt 1",
		"unsupervised p":   "since the request",
		"unsupervised p k": "approval 2",
		"soon p":           "prompt 1",
	} {
		h, started := new(history), ""
		for i, word := range strings.Fields(words) {
			seen, when := look{tree: here, Head: fmt.Sprint(i)}, at.Add(time.Duration(i)*time.Minute)
			if strings.ToUpper(word) == word {
				seen.tree = elsewhere
			}
			event, isReview := map[string]string{
				"q": eventPreToolUse,
				"h": eventReview,
				"k": eventStop,
				"n": eventStop,
				"f": eventStop,
				"b": eventStop,
			}[strings.ToLower(word)]
			switch {
			case word == "unsupervised":
				started = when.Add(time.Minute - promptTimeout).Format(time.RFC3339)
				continue
			case word == "soon":
				started = when.Add(time.Minute - promptTimeout + time.Second).Format(time.RFC3339)
				continue
			case isReview:
				v := cmp.Or(map[string]verdict{"n": verdictBlock, "f": verdictFailed}[strings.ToLower(word)], verdictAllow)
				r := review{ID: fmt.Sprint(i), Event: event, Begun: when, Seen: look{tree: seen.tree}}
				if h.add(began(r)); word != "b" {
					r.Seen, r.Ended, r.Verdict = seen, when.Add(time.Second), v
					h.add(ended(r))
				}
				continue
			}
			h.add(prompted("").seeing(seen).at(when))
		}
		s := h.changeStart(here, started)
		got := "nothing"
		switch {
		case s.approved:
			got = "approval " + s.Head
			if s.behind.Head != "" {
				got += ", then " + s.behind.Head
			}
			if s.behind.tree == elsewhere {
				got += " elsewhere"
			}
		case s.Head != "":
			got = "prompt " + s.Head
			if s.tree == elsewhere {
				got += " elsewhere"
			}
		case !s.at.IsZero():
			got = "since the request"
		}
		expectIs(t, words, got, want)
		if s.Head != "" {
			minutes, _ := strconv.Atoi(s.Head)
			expectIs(t, words+": when", s.at.Equal(at.Add(time.Duration(minutes)*time.Minute)), true)
		}
	}
}

// A new file that is ignored now is there still, also where git quotes its name.
func TestChangedToIgnored(t *testing.T) {
	then := pathStates{`"n\"e\303\244"`: {"", "100644 1"}}
	dir := t.TempDir()
	expectIs(t, "removed", len(then.changedTo(nil, dir)), 1)
	check(t, os.WriteFile(filepath.Join(dir, `n"eä`), nil, 0o600))
	expectIs(t, "ignored", len(then.changedTo(nil, dir)), 0)
}

// A look leaves no directory behind; where there is none on disk, it works in another.
func TestLookSwept(t *testing.T) {
	alone(t)
	before := scratchRoot
	t.Cleanup(func() { scratchRoot = before })
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; echo a >a")
	t.Setenv("TMPDIR", t.TempDir())
	for _, scratchRoot = range []string{t.TempDir(), "/dev/null"} {
		if l := takeLook(box.work, box.vars, time.Minute); !l.Paths.has("a") {
			t.Errorf("%+v", l)
		}
		for _, dir := range []string{scratchRoot, os.Getenv("TMPDIR")} {
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("left %v in %s", left, dir)
			}
		}
	}
}

// What the request shows of a change: each path once with its marks, and the diff through one cut.
func TestChangeText(t *testing.T) {
	box := newFakeBox(t)
	dir := filepath.Join(box.work, "p")
	box.gitIn(dir, "git init -q; printf 'ignored\n' >.gitignore; seq 30 >moved; seq 3000 >long; echo a >a;"+
		" echo u >users; echo o >other; printf 'b\\0' >bin; git add .; git commit -qm first;"+
		" echo theirs >>users; echo mine >>other")
	h := box.promptedIn(dir)
	box.gitIn(dir, "echo b >>a; git commit -qm second a; git mv moved there; seq 5000 8000 >long;"+
		" printf 'b\\0c' >bin; echo new >'n\"e w'; echo x >ignored; echo KEY=1 >.env; echo more >>users;"+
		" mkdir empty; git init -q inner; git -C inner commit -qm i --allow-empty")
	text := box.changeIn(dir, h, "").changeText()
	expectIn(t, "the request's paths", text, "A .env\n", "M a\n", "M bin\n", "M long\n", "D moved\n", "A n\"e w\n",
		"A there\n", "M users  (改动开始前用户已改过)\n")
	expectIn(t, "the request's diff", text, "+KEY=1\n", "+new\n", "+theirs\n+more\n",
		"没有完整显示的文件：", "bin (+", "long (+3001 -3000)")
	expectIn(t, "the request's lists", text, "没有提交的：n\"e w、.env、bin、long",
		"没人动过，因此不属于本次改动：other", "内层的仓库，没有看：inner/")
	expectNotIn(t, "the request", text, "ignored\n", "M other", "+mine", "远程")
	if len([]rune(text)) > diffLimit+2000 {
		t.Errorf("%d characters", len([]rune(text)))
	}
	box.gitIn(dir, "git checkout -q long bin; git add -A; git commit -qm all")
	text = box.changeIn(dir, h, "").changeText()
	expectIn(t, "the request", text, "以上全部已提交")
	expectNotIn(t, "the request", text, "没有完整显示")
}

// What git is asked about commits and remotes, and how each answer is read.
func TestGitAnswers(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q -b main; for i in 1 2 3; do git commit -q --allow-empty -m $i; done;"+
		" git checkout -q --orphan other; git commit -q --allow-empty -m 4; git checkout -q main")
	env := slices.Concat(os.Environ(), []string{"GIT_DIR=/nowhere", "GIT_CONFIG_COUNT=0"})
	git, end := gitIn(t.Context(), time.Minute, treeOf(box.work), env)
	defer end()
	id := func(revision string) string { return box.gitIn(box.work, "git rev-parse "+revision) }
	first, second, third, other := id("main~2"), id("main~1"), id("main"), id("other")
	box.gitIn(box.work, "git replace HEAD other")
	none := strings.Repeat("1", 40)
	ids, err := git.commits("HEAD", "", none, "MERGE_HEAD", first, "HEAD^{tree}", "other")
	check(t, err)
	if want := map[string]string{"HEAD": third, first: first, "other": other}; !maps.Equal(ids, want) {
		t.Errorf("the commits: %q, want %q", ids, want)
	}
	expectEqual(t, "without remotes", git.onRemotes("", "HEAD"), nil)
	box.gitIn(box.work, "git update-ref refs/remotes/a/main "+second+"; git update-ref refs/remotes/b/main "+second+"; git update-ref refs/remotes/b/topic other")
	for since, want := range map[string][]string{"": {second}, first: {second}, second: nil, third: nil, other: {second}} {
		expectEqual(t, "what a remote has got since "+since, git.onRemotes(since, third, ""), want)
	}
	expectEqual(t, "with two heads", git.onRemotes("", third, other), []string{second, other})
	expectEqual(t, "of what is no commit", git.onRemotes("", none), nil)
	box.write("../work/.git/refs/remotes/b/broken", 0o600, none+"\n")
	expectEqual(t, "with a broken ref", git.onRemotes("", third), nil)
}

// What git is run with, and what is told of it where it fails: its complaint on one line, or why the time was up.
func TestGitRun(t *testing.T) {
	alone(t)
	box := newFakeBox(t)
	env := append(box.vars, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=0", "LC_ALL=zh_CN.UTF-8")
	box.write("../bin/git", 0o700, "#!/bin/sh\nwhile [ \"$1\" = -c ]; do shift 2; done\neval \"$1\"\n")
	t.Setenv("PATH", filepath.Dir(box.program())+":"+os.Getenv("PATH"))
	git, end := gitIn(t.Context(), time.Minute, tree{Top: box.work}, env)
	defer end()
	git.snapshotEnv = []string{"GIT_INDEX_FILE=/own"}
	lines, err := git.lines("", "pwd; env")
	check(t, err)
	expectIs(t, "the directory", lines[0], box.work)
	for variable, want := range map[string]bool{
		"GIT_DIR=/nowhere":         false,
		"GIT_INDEX_FILE=/nowhere":  false,
		"GIT_INDEX_FILE=/own":      true,
		"GIT_CONFIG_COUNT=0":       true,
		"LC_ALL=C":                 true,
		"LC_ALL=zh_CN.UTF-8":       false,
		"GIT_NO_REPLACE_OBJECTS=1": true,
		"GIT_OPTIONAL_LOCKS=0":     true,
		"HOME=" + box.home:         true,
	} {
		expectIs(t, variable, slices.Contains(lines, variable), want)
	}
	line, err := git.output("echo out; exit 3")
	expectIs(t, "the line of a command that fails", line+fmt.Sprint(err != nil), "true")
	line, err = git.output(":")
	expectIs(t, "the line of nothing", line+fmt.Sprint(err != nil), "false")
	lines, err = git.lines("one\ntwo\n", "cat")
	check(t, err)
	expectEqual(t, "what it is given", lines, []string{"one", "two"})
	var out strings.Builder
	for script, want := range map[string]string{
		"echo out; echo fatal: no >&2; exit 128":                                       "fatal: no",
		"echo warning: w >&2; echo hint: h >&2; echo error: a >&2; echo b >&2; exit 1": "error: a b",
		"echo hint: h >&2; exit 3":                                                     "exit status 3",
		"printf %0400d 0 >&2; exit 1":                                                  strings.Repeat("0", 299) + "…",
	} {
		expectIs(t, script, fmt.Sprint(git.run("", &out, script)), want)
	}
	late, cancel := gitIn(t.Context(), 10*time.Millisecond, tree{Top: box.work}, env)
	defer cancel()
	if err := late.run("", &out, "sleep 60 & sleep 60"); err == nil || err.Error() != say(gitTooSlow, 10*time.Millisecond) {
		t.Errorf("too late: %v", err)
	}
}

// What git leaves running does not hold up its caller, and its output is there.
func TestGitLeavesRunning(t *testing.T) {
	needGit(t)
	box := newFakeBox(t)
	git, end := gitIn(t.Context(), time.Minute, tree{Top: box.work}, box.vars)
	defer end()
	released := time.AfterFunc(30*time.Second, func() { box.write("../work/go", 0o600, "") })
	var out strings.Builder
	_ = git.run("", &out, "-c", "alias.leaves=!(until [ -e go ]; do sleep 0.05; done) & echo printed", "leaves")
	if !released.Stop() || out.String() != "printed\n" {
		t.Errorf("it is held up, or the output is lost: %q", out.String())
	}
	box.write("../work/go", 0o600, "")
}

// A diff shows 12,000 characters and names the files that it does not show whole. What is held of it is bounded.
func TestDiffCut(t *testing.T) {
	all := map[string]int{"a": 0, "b": 0, "c": 0, "one": 0}
	file := func(d *diff, name string, lines ...string) {
		for _, line := range append([]string{"diff --git a/" + name + " b/" + name, "index 1..2 100644", "--- a/" + name, "+++ b/" + name, "@@ -1 +1 @@"}, lines...) {
			d.add(line)
		}
	}
	head := len("diff --git a/a b/a\n@@ -1 +1 @@\n")
	for name, c := range map[string]struct {
		lines []string
		rest  string
	}{
		"as much as is shown":        {[]string{"+" + strings.Repeat("x", 12_000-head-2)}, ""},
		"a character more":           {[]string{"+" + strings.Repeat("x", 12_000-head-1)}, "a (+1 -0)"},
		"an empty line more":         {[]string{"+" + strings.Repeat("x", 12_000-head-2), "-"}, "a (+1 -1)"},
		"a line that is cut":         {[]string{"+" + strings.Repeat("长", 7000)}, "a (+1 -0)"},
		"lines that look like heads": {[]string{"+++ x", "--- y", "-- z"}, ""},
		"one blank line":             {[]string{" "}, ""},
	} {
		d := &diff{}
		file(d, "a", c.lines...)
		shown, rest := d.cut(all)
		expectIs(t, name, rest, c.rest)
		if n := len([]rune(shown)); n > 12_001 || c.rest == "" && n != head+len(strings.Join(c.lines, "\n")+"\n") {
			t.Errorf("%s: %d characters are shown", name, n)
		}
	}
	d := &diff{}
	file(d, "a", "+++ x", "--- y", "-z")
	whole, _ := d.cut(all)
	expectIs(t, "the diff", whole, "diff --git a/a b/a\n@@ -1 +1 @@\n+++ x\n--- y\n-z\n")
	expectIs(t, "the lines", fmt.Sprint(d.files[0].added, d.files[0].removed), "1 2")
	// What is left of the 12,000 goes to the next one, and the end of it is a line's.
	d = &diff{}
	for _, name := range []string{"a", "b", "c"} {
		file(d, name, "+"+strings.Repeat("x", 5000))
	}
	shown, rest := d.cut(all)
	if n := len(shown); n > 12_001 || n < 11_999 || !strings.HasSuffix(shown, "x\n") || rest != "c (+1 -0)" {
		t.Errorf("of three files %d characters, not whole: %s", n, rest)
	}
	// Small files come first; one that is not wanted is neither shown nor named.
	d = &diff{}
	file(d, "long", "+"+strings.Repeat("x", 11_990))
	file(d, "unwanted", "+secret")
	file(d, "short", "+short")
	shown, rest = d.cut(map[string]int{"long": 0, "short": 0})
	if !strings.HasPrefix(shown, "diff --git a/short b/short\n") || strings.Contains(shown, "secret") || rest != "long (+1 -0)" {
		t.Errorf("%.200s, %s", shown, rest)
	}
	// What comes first is shown first, however long.
	shown, rest = d.cut(map[string]int{"long": 0, "short": 1})
	if !strings.HasPrefix(shown, "diff --git a/long b/long\n") || rest != "long (+1 -0)、short (+1 -0)" {
		t.Errorf("%.200s, %s", shown, rest)
	}
	d = &diff{}
	for _, line := range []string{"diff --git a/b b/b", "index 1..2", "Binary files a/b and b/b differ"} {
		d.add(line)
	}
	_, rest = d.cut(map[string]int{"b": 0})
	expectIs(t, "a binary file", rest, "b (+0 -0)")
	d = &diff{}
	file(d, "one", slices.Repeat([]string{"+" + strings.Repeat("x", 999)}, 10_000)...)
	if n := d.kept; n > 13_000 {
		t.Errorf("%d bytes of one file are kept", n)
	}
	for i := range 1000 {
		file(d, fmt.Sprint("f", i), "+"+strings.Repeat("x", 11_000))
	}
	if n := d.kept; n > 8<<20+12_000 || n < 8<<20 {
		t.Errorf("%d bytes are kept", n)
	}
	_, rest = d.cut(map[string]int{"f999": 0})
	expectIs(t, "one that is not kept", rest, "f999 (+1 -0)")
}

// A line of the diff that is too long to be read is not shown, and that is told.
func TestLongLine(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git commit -q --allow-empty -m first; head -c 34000000 /dev/zero | tr '\\0' x >a; echo b >b")
	text := box.changeIn(box.work, new(history), "").changeText()
	expectIn(t, "the request", text, say(changesRest, "a (+0 -0)"), "+b\n")
}

// The list of a change has up to 200 paths, each with its letter, and counts the others. Which of them are not committed is told where
// some are.
func TestChangeList(t *testing.T) {
	of := func(n int) judgedChange {
		c := judgedChange{look: look{tree: tree{"/p", "/p/.git"}}, how: sinceRequest, base: strings.Repeat("c", 40)}
		for i := range n {
			c.paths = append(c.paths, changedPath{name: fmt.Sprintf("f%03d", i), letter: "M"})
			c.uncommitted = append(c.uncommitted, c.paths[i].name)
		}
		return c
	}
	for n, last := range map[int]string{1: "M f000", 199: "M f198", 200: "M f199", 201: "... (+1)", 203: "... (+3)"} {
		c := of(n)
		list := strings.Split(c.pathLists("x")[0], "\n")
		name := fmt.Sprintf("of %d paths, ", n)
		expectIs(t, name+"the lines", len(list), min(n, 201)+2)
		expectIs(t, name+"the first", list[1], "M f000")
		expectIs(t, name+"the last", list[len(list)-2], last)
		expectIn(t, name+"the request", c.changeText(), "```\nM f000\n", "（当时检出 cccccccccccc）")
		expectNotIn(t, name+"the request", c.changeText(), "没有提交", "已提交", "没有任何文件", "不属于",
			"内层", "子模块", "远程", "git diff", "完整", "用户自己")
	}
	mixed := of(203) // those that are not listed are counted behind the last that is
	mixed.paths[201].group, mixed.paths[202].group = groupRemote, groupRemote
	lists := mixed.pathLists("x")
	expectIs(t, "the lists of two groups", len(lists), 1)
	expectIn(t, "the list of two groups", lists[0], "M f199\n... (+3)\n")
	for name, c := range map[string]struct {
		change func(c *judgedChange)
		want   string
	}{
		"none":              {func(c *judgedChange) { c.paths, c.uncommitted = nil, nil }, "没有任何文件不同"},
		"all are committed": {func(c *judgedChange) { c.uncommitted = nil }, "以上全部已提交"},
		"one is not":        {func(c *judgedChange) { c.uncommitted = c.uncommitted[1:] }, "没有提交的：f001"},
		"other letters":     {func(c *judgedChange) { c.paths[0].letter, c.paths[1].letter = "A", "D" }, "```\nA f000\nD f001\n```"},
		"changed before":    {func(c *judgedChange) { c.left = []string{"g"} }, "不属于本次改动：g\n"},
		"marked": {func(c *judgedChange) { c.paths[0].before, c.paths[1].gone = true, true },
			"f000  (改动开始前用户已改过)\n" +
				"M f001  (改动开始前用户已改过，现在与 cccccccccccc 相同：那些改动没有了)\n```"},
		"marked, approved": {func(c *judgedChange) { c.how, c.paths[0].before, c.paths[1].gone = sinceReview, true, true },
			"f000  (上次通过的审查开始时已有改动)\n" +
				"M f001  (上次通过的审查开始时已有改动（通过的，或用户自己的），现在与 cccccccccccc 相同：那些改动没有了)\n```"},
		"by a commit": {func(c *judgedChange) { c.how = sinceCommit }, "与 cccccccccccc 相比：其中可能有更早的改动"},
		"of nothing":  {func(c *judgedChange) { c.how, c.base = sinceCommit, "" }, "与 空目录 相比"},
		"by hand":     {func(c *judgedChange) { c.byHand = true }, "用户自己发起的"},
		"settled, of remote": {func(c *judgedChange) { c.paths[0].group, c.paths[1].group = groupSettled, groupRemote },
			"）：\n\n```\nM f000\n```\n\n" +
				"改动开始以来，远程仓库也有了同样的内容（拉取、合并来的，或者 Agent 自己推送的）：\n\n```\nM f001\n```"},
		"a repository inside": {func(c *judgedChange) { c.nested = []string{"n/"} }, "没有看：n/"},
		"a changed submodule": {func(c *judgedChange) { c.dirty = []string{"s"} }, "没提交的改动：s"},
		"git can't tell":      {func(c *judgedChange) { c.Unseen = "no git" }, "无法得知（no git）"},
		"a diff from nothing": {func(c *judgedChange) { c.base, c.shown = "", "+1\n" }, "git diff $(git hash-object -t tree /dev/null)，路径从 /p 算起"},
	} {
		change := of(2)
		c.change(&change)
		expectIn(t, name, change.changeText()+"\n", c.want)
	}
	// Each list names 20, and counts the others.
	many := of(22)
	for i := range 21 {
		name := fmt.Sprintf("g%02d", i)
		many.left, many.nested, many.dirty = append(many.left, name), append(many.nested, name), append(many.dirty, name)
	}
	many.uncommitted = many.uncommitted[1:]
	expectIs(t, "lists with one more", strings.Count(many.changeText(), "、+1"), 4)
	expectIs(t, "without a repository", judgedChange{}.changeText(), "")
}
