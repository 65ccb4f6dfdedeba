package main

// One look at a working tree, in an index and an object directory of its own: nothing is written into the
// repository.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long git may take for a review and for ccc verdict (50,000 files that git has not seen before take two
// seconds), and at a prompt, which the user waits for.
var (
	reviewLookPatience = 5 * time.Second
	promptLookPatience = time.Second
)

// pathsLimit is how many paths of a look are kept: nobody reads more, and each stop reads the timeline.
const pathsLimit = 2000

// isWhole reports whether l has all paths.
func (l look) isWhole() bool { return l.Unseen == "" && l.TreeID == "" }

// has reports whether the path differs.
func (s pathStates) has(path string) bool { _, differs := s[path]; return differs }

// add adds a line of git's raw list of differences.
func (s pathStates) add(line string) {
	fields, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), ":"), "\t")
	if f := strings.Fields(fields); len(f) == 5 {
		s[path] = [2]string{pathContent(f[0], f[2]), pathContent(f[1], f[3])}
	}
}

// pathContent is how ccc names what lies at a path, "" where there is nothing.
func pathContent(mode, object string) string {
	if mode == "000000" {
		return ""
	}
	return mode + " " + object
}

// changedTo returns the paths that differ between then and the present, both compared with one commit, with
// their content now. A file that was untracked then, still exists and is no longer listed is ignored now: no
// change.
func (then pathStates) changedTo(present pathStates, top string) map[string]string {
	changed := map[string]string{}
	for path, is := range present {
		if was, known := then[path]; !known || was[1] != is[1] {
			changed[path] = is[1]
		}
	}
	for path, was := range then {
		if present.has(path) || was[0] == was[1] {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, unquoted(path))); err == nil && was[0] == "" {
			continue
		}
		changed[path] = was[0]
	}
	return changed
}

// A snapshot is a working tree as `git add -A` would have it now. A repository inside that is not in the
// index is named and left out.
type snapshot struct {
	gitRunner // with an index of its own, which is that tree, and an object directory of its own
	remove    func()
	known     map[string]string     // the commits that were asked for, HEAD and MERGE_HEAD, by revision
	untracked map[string]bool       // paths that git does not track
	nested    []string              // repositories inside
	dirty     []string              // submodules with changes that are not committed there
	lists     map[string]pathStates // what differs, by commit
}

// look returns what lies in the working tree, compared with the commit that is checked out, and the snapshot
// that shows it and knows these commits, too. Its remove must be called. With an error l.Unseen is set, and s
// is nil.
func (g gitRunner) look(commits ...string) (l look, s *snapshot, err error) {
	l.tree = g.tree
	known, err := g.commits(append(commits, "HEAD", "MERGE_HEAD")...)
	if err == nil {
		l.Head = known["HEAD"]
		s, err = g.snapshot()
	}
	if err == nil {
		s.known = known
		l.Paths, err = s.differences(l.Head)
	}
	if err == nil && len(l.Paths) > pathsLimit {
		l.Paths = nil
		l.TreeID, err = s.output("write-tree", "--missing-ok")
	}
	if err != nil {
		l.Paths, l.Unseen = nil, oneLine(err.Error())
		if s != nil {
			s.remove()
		}
		return l, nil, err
	}
	return l, s, nil
}

func (g gitRunner) snapshot() (s *snapshot, err error) {
	s = &snapshot{gitRunner: g, untracked: map[string]bool{}, lists: map[string]pathStates{}}
	dir, lock := newScratch()
	s.remove = func() { lock.Close(); sweepScratch() } // what a killed one leaves, the next sweeps
	if dir == "" {                                     // there is none on disk
		if dir, err = os.MkdirTemp("", "ccc-look"); err != nil {
			return nil, err
		}
		s.remove = func() { removeTree(dir) }
	}
	objects := filepath.Join(g.tree.Repository, "objects")
	objects = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(objects)
	s.snapshotEnv = []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_OBJECT_DIRECTORY=" + dir,
		`GIT_ALTERNATE_OBJECT_DIRECTORIES="` + objects + `"`}
	err = copyIndex(filepath.Join(g.tree.gitDir(), "index"), filepath.Join(dir, "index"))
	if err == nil {
		err = s.stage()
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// copyIndex copies the index of a working tree, if it has one. By its time git finds the files that
// may have changed since without another size.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(from)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err == nil {
		err = os.Chtimes(to, time.Time{}, info.ModTime())
	}
	return err
}

// stage adds to the index what `git add -A` would. Unlike that it takes files outside a sparse checkout's
// cone, and leaves out repositories inside.
func (s *snapshot) stage() error {
	paths, submodules, err := s.changedFiles()
	if err != nil {
		return err
	}
	others, err := s.lines("", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, path := range others {
		if strings.HasSuffix(path, "/") || strings.HasSuffix(path, `/"`) {
			s.nested = append(s.nested, path)
			continue
		}
		s.untracked[path] = true
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil
	}
	add := []string{"update-index", "--add", "--remove", "--replace", "--stdin"}
	if err := s.run(strings.Join(paths, "\n")+"\n", io.Discard, add...); err != nil || len(submodules) == 0 {
		return err
	}
	_, s.dirty, err = s.changedFiles() // of which the index has the commits by now
	return err
}

// changedFiles returns the tracked paths that differ from the index, and those of them that are submodules.
func (s *snapshot) changedFiles() (paths, submodules []string, err error) {
	lines, err := s.lines("", "diff-files", "--raw", "--ignore-submodules=none")
	for _, line := range lines {
		fields, path, _ := strings.Cut(line, "\t")
		paths = append(paths, path)
		if strings.HasPrefix(fields, ":160000") {
			submodules = append(submodules, path)
		}
	}
	return paths, submodules, err
}

// objectOf returns the commit, or the empty tree for "".
func (g gitRunner) objectOf(commit string) (object string, err error) {
	if commit != "" {
		return commit, nil
	}
	return g.output("hash-object", "-t", "tree", "/dev/null")
}

// differences returns what differs from the commit; "" is the empty tree.
func (s *snapshot) differences(commit string) (pathStates, error) {
	if list, known := s.lists[commit]; known {
		return list, nil
	}
	list := pathStates{}
	object, err := s.objectOf(commit)
	if err == nil {
		lines := &lineWriter{line: func(line []byte) { list.add(string(line)) }}
		err = s.run("", lines, "diff-index", "--cached", "--raw", "--no-renames", "--no-abbrev",
			"--ignore-submodules=none", object, "--")
	}
	if err != nil {
		return nil, err
	}
	s.lists[commit] = list
	return list, nil
}

// diff returns the diff from the commit.
func (s *snapshot) diff(commit string) (d diff, err error) {
	object, err := s.objectOf(commit)
	if err != nil {
		return d, err
	}
	lines := &lineWriter{
		line: func(line []byte) { d.add(strings.TrimSuffix(string(line), "\n")) },
		dropped: func(error) { // a line that is too long to be read
			d.files[len(d.files)-1].left++
		},
	}
	return d, s.run("", lines, "diff", "--cached", "--no-renames", "-O/dev/null", "--no-ext-diff",
		"--no-textconv", "--no-color", "--no-relative", "--submodule=short", "--ignore-submodules=none",
		"--src-prefix=a/", "--dst-prefix=b/", object, "--")
}

// isFromRemote reports whether one of these commits, which a remote has, has the path as it is now, and
// base does not: it was pulled, merged, rebased onto, or pushed.
func (s *snapshot) isFromRemote(path, base string, shared []string) bool {
	list, err := s.differences(base)
	if err != nil || !list.has(path) {
		return false
	}
	for _, commit := range shared {
		if list, err := s.differences(commit); err == nil && !list.has(path) {
			return true
		}
	}
	return false
}

// takeLook returns the look at the working tree around dir.
func takeLook(dir string, env []string, patience time.Duration) look {
	t := treeOf(dir)
	if t.Repository == "" {
		return look{tree: t}
	}
	g, end := gitIn(context.Background(), patience, t, env)
	defer end()
	l, s, err := g.look()
	if err == nil {
		s.remove()
	}
	return l
}
