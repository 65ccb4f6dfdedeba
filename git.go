package main

// Working trees, and how git is run there: nothing here writes into a repository, and nothing of the user's
// runs but the filters of a `git add`. Paths stay as git quotes them until somebody reads them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A worktree is where work lies: a git working tree, or outside git a directory, which has no repository. Its
// paths have no links, so worktrees are compared with ==. Only worktreeOf makes one.
type worktree struct {
	Top        string `json:"worktree,omitempty"`   // its path
	Repository string `json:"repository,omitempty"` // the git directory that all its working trees share
}

// worktreeOf returns the worktree that holds dir, the zero one for "".
func worktreeOf(dir string) worktree {
	if dir == "" {
		return worktree{}
	}
	for top := dir; ; top = filepath.Dir(top) {
		if _, common := gitDirsOf(top); common != "" {
			return worktree{Top: resolved(top), Repository: resolved(common)}
		}
		if top == filepath.Dir(top) {
			return worktree{Top: resolved(dir)}
		}
	}
}

// gitDir returns the git directory of the working tree itself, which has its index and its HEAD.
func (t worktree) gitDir() string {
	dir, _ := gitDirsOf(t.Top)
	return dir
}

// gitDirsOf returns the git directory of the working tree whose top that is, and the one that it shares with
// the repository's other working trees; "" if it is the top of none.
func gitDirsOf(top string) (dir, common string) {
	dir = filepath.Join(top, ".git")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, dir
	}
	// In a worktree .git is a file that names a directory of its own, which names the common one.
	text, _ := readUserFile(dir)
	if text == nil {
		return "", ""
	}
	dir = absoluteIn(top, strings.TrimPrefix(strings.TrimSpace(string(text)), "gitdir: "))
	if text, _ = readUserFile(filepath.Join(dir, "commondir")); text != nil {
		return dir, absoluteIn(dir, strings.TrimSpace(string(text)))
	}
	return dir, dir
}

// isOfProject reports whether a session that was started in that directory belongs to the project of the
// current one: to the same repository, outside a repository to the same directory.
func (d dirs) isOfProject(start string) bool {
	here := worktreeOf(d.here)
	there := worktreeOf(start)
	return start != "" && here.Repository == there.Repository && (here.Repository != "" || here == there)
}

// A gitRunner runs git in a working tree, without writing into the repository: it takes no optional lock, and
// no hook and no file system monitor runs. Nothing is fetched.
type gitRunner struct {
	ctx      context.Context
	worktree worktree
	env      []string
	flags    []string // for each git, after gitFlags
	scope    []string // the pathspec that leaves out ccc's state directory, if that is in the tree
}

// gitIn returns a runner of git in t until ctx ends, without the variables of a git hook.
func gitIn(ctx context.Context, t worktree, env []string) gitRunner {
	// git replace would show another commit than the one that is checked out.
	return gitRunner{ctx: ctx, worktree: t, env: append(without(env, ofGit), "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")}
}

// gitFlags keep git from running anything of the user's but the filters of a `git add`, from warning, and
// from trusting a file by less than all of its stat. Objects are not synced: one that is lost costs a look.
var gitFlags = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false",
	"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.safecrlf=false",
	"-c", "core.looseCompression=1", "-c", "core.fsync=none", "-c", "core.quotePath=true",
	"-c", "diff.suppressBlankEmpty=false",
}

// alternatesVariable lists directories of objects that git reads, too; alternate is one of them.
const alternatesVariable = "GIT_ALTERNATE_OBJECT_DIRECTORIES"

func alternate(dir string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir) + `"`
}

// copyIndex copies the index of a working tree, if it has one, with its time: by that git finds the files
// that may have changed since and kept their size.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, time.Time{}, info.ModTime()))
}

// emptyTrees are the ids of a tree without files, by their length: git knows them without an object.
var emptyTrees = map[int]string{40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}

// output runs git and returns the first line of what it prints.
func (g gitRunner) output(args ...string) (string, error) {
	lines, err := g.lines(args...)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[0], nil
}

// lines runs git and returns the lines that it prints, without empty ones; also with an error.
func (g gitRunner) lines(args ...string) ([]string, error) {
	var out bytes.Buffer
	err := g.run("", &out, args...)
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' }), err
}

// run runs git in the working tree with that on stdin. The error has git's complaint, on one line, and how
// git ended, or why git could not be run to its end.
func (g gitRunner) run(stdin string, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(g.ctx, "git", slices.Concat(gitFlags, g.flags, args)...)
	cmd.Dir = g.worktree.Top
	cmd.Env = g.env
	var complaints bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout = out
	cmd.Stderr = &complaints
	runtime.LockOSThread() // as endsWithParent asks
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = endsWithParent()
	cmd.SysProcAttr.Setpgid = true // git and all that it starts end together
	cmd.Cancel = func() error {
		defer exitOnPanic()
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = 2 * time.Second // for what is left in the pipes
	err := cmd.Run()
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	said := slices.DeleteFunc(strings.Split(complaints.String(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "hint:")
	})
	if text := oneLine(strings.Join(said, " ")); err != nil && text != "" {
		return fmt.Errorf("%s (%w)", clip(text, 300), err)
	}
	return err
}

type changedPath struct {
	name    string // as git quotes it
	letter  string // git's
	content string // its new mode and id
	isOld   bool   // it is as on the remote's main branch, or in a commit from before the change
}

// diffFlags keep a diff from depending on what the user has set, and from renames.
var diffFlags = []string{"diff", "--no-renames", "-O/dev/null", "--no-ext-diff", "--no-textconv",
	"--no-color", "--no-relative", "--submodule=short", "--ignore-submodules=none",
	"--src-prefix=a/", "--dst-prefix=b/"}

// differing returns the paths in which two trees or commits differ, in git's order.
func (g gitRunner) differing(from, to string) (paths []changedPath, err error) {
	lines, err := g.lines(slices.Concat(diffFlags, []string{"--raw", "--no-abbrev", from, to}, g.scope)...)
	for _, line := range lines {
		path, isWhole := parseRaw(line)
		if !isWhole {
			break
		}
		paths = append(paths, path)
	}
	return paths, err
}

// parseRaw returns the path that a line of git's --raw is of. isWhole is false if git was cut off there.
func parseRaw(line string) (path changedPath, isWhole bool) {
	what, name, _ := strings.Cut(line, "\t")
	fields := strings.Fields(what) // two modes, two ids and a letter
	path.name = name
	if isWhole = len(fields) > 4; isWhole {
		path.letter = fields[4]
		path.content = fields[1] + fields[3]
	}
	return path, isWhole
}

// contents returns, for each path in which two trees differ, its mode and id in the second. It is empty if
// one of the trees is "".
func (g gitRunner) contents(from, to string) map[string]string {
	var paths []changedPath
	if from != "" && to != "" {
		paths, _ = g.differing(from, to)
	}
	return byName(paths)
}

// byName returns the content of each path, by its name.
func byName(paths []changedPath) map[string]string {
	contents := map[string]string{}
	for _, path := range paths {
		contents[path.name] = path.content
	}
	return contents
}

// hasAll reports whether HEAD has all commits that the ref got since. A ref that is not there got none.
func (g gitRunner) hasAll(ref string, since time.Time) bool {
	if ref == "" || since.IsZero() {
		return true
	}
	more, _ := g.output("rev-list", "-1", maxAge(since), ref, "--not", "HEAD", "--")
	return more == ""
}

// renamed returns the new names of the paths that git takes for renamed from one tree to the other.
func (g gitRunner) renamed(from, to string) map[string]string {
	names := map[string]string{}
	if from == "" {
		return names
	}
	renames := []string{"-M", "--diff-filter=R", "--raw", from, to}
	lines, _ := g.lines(slices.Concat(diffFlags, renames, g.scope)...)
	for _, line := range lines {
		fields := strings.Split(line, "\t") // what has changed, the old name and the new one
		if len(fields) == 3 {
			names[fields[1]] = fields[2]
		}
	}
	return names
}

// isOnBranch reports whether a branch other than HEAD's has got one of the contents since that time. It also
// does if such a branch has changed one of their paths, and that path is unchanged here: on that branch a
// hook of git's may have formatted it.
func (g gitRunner) isOnBranch(contents, changedHere map[string]string, since time.Time) bool {
	if len(contents) == 0 || since.IsZero() {
		return false
	}
	got, _ := g.lines("log", maxAge(since), "--all", "--not", "HEAD", "-m", "--raw", "--no-abbrev",
		"--no-renames", "--format=", "--no-show-signature")
	return slices.ContainsFunc(got, func(line string) bool {
		path, isWhole := parseRaw(line)
		isChanged := contents[path.name] != "" && changedHere[path.name] == ""
		return isChanged || isWhole && hasValue(contents, path.content)
	})
}

// hasValue reports whether one of the paths has that content, other than being deleted.
func hasValue(contents map[string]string, content string) bool {
	isDeleted := strings.HasPrefix(content, "000000")
	values := slices.Collect(maps.Values(contents))
	return !isDeleted && slices.Contains(values, content)
}

// commitsBefore returns the newest commits from before that time: ancestors of head and of what is being
// merged, and the tip that the branch had then. What a pull, a merge, a rebase or a checkout has brought is
// as in one of them. There are none before the zero time.
func (g gitRunner) commitsBefore(at time.Time, head, branch string) (commits []string) {
	if at.IsZero() {
		return nil
	}
	merging, _ := readUserFile(filepath.Join(g.worktree.gitDir(), "MERGE_HEAD"))
	tips := append(strings.Fields(string(merging)), head, g.worktree.refAt(branch, at))
	tips = slices.DeleteFunc(tips, func(id string) bool { return id == "" })
	args := slices.Concat([]string{"rev-list", "--boundary", maxAge(at)}, tips, []string{"--"})
	newer, err := g.lines(args...)
	if err != nil { // then none is known to be older
		return nil
	}
	for _, line := range newer {
		if id, isOlder := strings.CutPrefix(line, "-"); isOlder {
			tips = append(tips, id)
		}
	}
	commits = slices.DeleteFunc(tips, func(id string) bool { return slices.Contains(newer, id) })
	const most = 8
	return commits[:min(most, len(commits))]
}

// branch returns the branch that is checked out, "" for none.
func (t worktree) branch() string {
	text, _ := readUserFile(filepath.Join(t.gitDir(), "HEAD"))
	name, isBranch := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !isBranch {
		return ""
	}
	return name
}

// refAt returns the commit that the log of HEAD or of a branch has for that time, "" if it does not reach
// back so far. ccc reads the file itself: for a time before its first entry git would name the first.
func (t worktree) refAt(ref string, at time.Time) (commit string) {
	dir := t.Repository
	if ref == "HEAD" {
		dir = t.gitDir()
	}
	text, _ := readUserFile(filepath.Join(dir, "logs", ref))
	for line := range strings.Lines(string(text)) {
		entry, _, _ := strings.Cut(line, "\t")
		fields := strings.Fields(entry) // the old id, the new one, who, when, the time zone
		if len(fields) < 4 {
			continue
		}
		seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
		// Of what came within the same second it is not known whether it came before.
		if err != nil || seconds >= at.Unix() {
			break
		}
		commit = fields[1]
	}
	return commit
}

// maxAge is git's flag for the commits that are not older than that time, by whole seconds.
func maxAge(at time.Time) string { return fmt.Sprint("--max-age=", at.Unix()) }

// unquoted returns the name that git has put into quotes.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && name[0] == '"' {
		return plain
	}
	return name
}

// shownPath is a path as people read it, on one line.
func shownPath(path string) string {
	name := unquoted(path)
	if strings.ContainsAny(name, "\n\t") {
		return path
	}
	return printable(name)
}

// pathNames names the first paths, as people read them.
func pathNames(paths []string) string {
	const most = 20
	names := mapped(paths[:min(most, len(paths))], shownPath)
	if more := len(paths) - most; more > 0 {
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return strings.Join(names, say(listComma))
}
