package main

// One look at a working tree: what git finds there, without writing into the repository.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How long git may take before a review, after it and for ccc verdict (50,000 files that git has not seen
// before take two seconds), and at a prompt, which the user waits for.
var (
	reviewLookPatience = 5 * time.Second
	promptLookPatience = time.Second
)

// pathsLimit is how many paths the look at a prompt may find, and how many the change of a stop may have for
// its review to be bound.
const pathsLimit = 2000

// has reports whether the path differs.
func (s pathStates) has(path string) bool { _, differs := s[path]; return differs }

// changedTo returns the paths that differ between then and the present, both compared with one commit, with
// their content now. A new file of then that is ignored now is left out.
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

// lookScript prints what differs in the working tree that it stands in, commit and branch first and "end"
// last. It works on a copy of the index, whose time tells git what may have changed since. $1 is empty in a
// throw-away copy, else a directory for index and objects. The commits to compare with are $3 and those
// behind it: HEAD is the empty tree before the first commit, and so is "empty". Where $2 is not empty the
// diff from that commit follows. A repository inside, which git lists with a slash at its end, is named and
// not added.
const lookScript = `
export LC_ALL=C GIT_OPTIONAL_LOCKS=0
git() {
	command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.splitIndex=false \
		-c core.trustctime=true -c core.checkStat=default -c core.safecrlf=false -c core.looseCompression=0 \
		-c core.fsync=none -c core.quotePath=true -c diff.suppressBlankEmpty=false "$@"
}
own=$1 shown=$2
shift 2
index=$(git rev-parse --git-path index) || exit
if [ -n "$own" ]; then
	GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --git-path objects) || exit
	export GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY="$own"
else
	own=$(mktemp -d) || exit
fi
head=$(git rev-parse -q --verify HEAD)
echo "head $head"
echo "branch $(git symbolic-ref -q --short HEAD)"
cp -p "$index" "$own/index" 2>/dev/null
export GIT_INDEX_FILE="$own/index"
git add -u || exit
git ls-files -o --exclude-standard >"$own/new" || exit
if [ -s "$own/new" ]; then
	sed -n 's/^\(.*\/"\{0,1\}\)$/nested \1/p' "$own/new"
	sed '/\/"\{0,1\}$/d' "$own/new" | git update-index --add --remove --replace --stdin || exit
fi
if git ls-files -s | grep -q ^160000; then
	git diff-files --raw --ignore-submodules=none | sed -n 's/^:160000[^	]*	/dirty /p'
fi
commit() {
	[ "$1" = HEAD ] && set -- "${head:-empty}"
	case $1 in
	empty) git hash-object -t tree /dev/null ;;
	*) echo "$1" ;;
	esac
}
for base; do
	echo "list $base"
	git diff-index --cached --raw --no-renames --no-abbrev "$(commit "$base")" -- || exit
done
if [ -n "$shown" ]; then
	echo diff
	git diff --cached --no-renames -O/dev/null --no-ext-diff --no-textconv --no-color --no-relative \
		--submodule=short --src-prefix=a/ --dst-prefix=b/ "$(commit "$shown")" -- || exit
fi
echo end
`

// A lookOutput is what lookScript printed.
type lookOutput struct {
	head, branch string
	lists        map[string]pathStates // by the commit that was compared with, as it was asked for
	base         string                // that of the list that is being read
	nested       []string              // repositories inside that git does not know, as it quotes them
	dirty        []string              // submodules with changes that are not committed there
	diff         diff                  // of the commit to show
	inDiff       bool
	isWhole      bool
}

// read takes a line of what lookScript prints.
func (s *lookOutput) read(line []byte) {
	text := strings.TrimSuffix(string(line), "\n")
	word, value, _ := strings.Cut(text, " ")
	switch {
	case text == "end":
		s.isWhole = true
	case s.inDiff:
		s.diff.add(text)
	case text == "diff":
		s.inDiff = true
	case word == "list":
		s.begin(value)
	case word == "head":
		s.head = value
	case word == "branch":
		s.branch = value
	case word == "nested":
		s.nested = append(s.nested, value)
	case word == "dirty":
		s.dirty = append(s.dirty, value)
	case strings.HasPrefix(text, ":") && s.lists[s.base] != nil:
		fields, path, _ := strings.Cut(text[1:], "\t")
		if f := strings.Fields(fields); len(f) == 5 {
			s.lists[s.base][path] = [2]string{pathContent(f[0], f[2]), pathContent(f[1], f[3])}
		}
	}
}

// begin begins the list of what differs from base.
func (s *lookOutput) begin(base string) { s.base, s.lists[base] = base, pathStates{} }

// pathContent is how ccc names what lies at a path, "" where there is nothing.
func pathContent(mode, object string) string {
	if mode == "000000" {
		return ""
	}
	return mode + " " + object
}

// look returns what differs from each of the bases now, with the diff from shown, if that is not "".
func (g gitRunner) look(shown string, bases ...string) (*lookOutput, error) {
	s := &lookOutput{lists: map[string]pathStates{}}
	lines := &lineWriter{line: s.read, dropped: func(error) {
		if s.inDiff {
			s.diff.files[len(s.diff.files)-1].left++ // a line that is too long to be read
		}
	}}
	// Each once: a list of many files takes time.
	args := append([]string{shown}, slices.Compact(slices.Sorted(slices.Values(bases)))...)
	script := []string{"sh", "-c", lookScript, "sh"}
	inCopy := append([]string{g.self, trySubcommand, "--timeout", g.patience.String()}, script...)
	err := g.run(lines, slices.Concat(inCopy, []string{""}, args)...)
	if f := (failure{}); errors.As(err, &f) && f.code == tryImpossible {
		if own, lock := newScratch(); own != "" { // what one that is killed leaves there, the next removes
			defer sweepScratch()
			defer lock.Close()
			err = g.run(lines, slices.Concat(script, []string{own}, args)...)
		}
	}
	if s.isWhole { // however slowly the copy ends
		return s, nil
	}
	return s, cmp.Or(err, errors.New(say(gitUnread)))
}

// lookAtPrompt returns the look at the working tree that holds dir, without Paths where that takes too long.
func lookAtPrompt(self, dir string, env []string, patience time.Duration) (l look) {
	l.Top, l.Repo = gitTree(dir)
	if l.Top == "" {
		return look{}
	}
	g, end := gitIn(context.Background(), patience, self, l.Top, env)
	defer end()
	found, err := g.look("", "HEAD")
	l.Head, l.Branch = found.head, found.branch // told before what takes long
	if n := len(found.lists["HEAD"]); err == nil && n > pathsLimit {
		err = errors.New(say(tooManyPaths, n))
	}
	if err != nil {
		l.Unseen = oneLine(err.Error())
		return l
	}
	l.Paths = found.lists["HEAD"]
	return l
}

// goneError says that dir is gone; nil if it is there. The system's own error names the program that was to
// run in it.
func goneError(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return errors.New(say(directoryGone, dir))
	}
	return nil
}

// changedSince returns the paths of the working tree that are not as l found them.
func (l look) changedSince(ctx context.Context, self string, env []string) ([]string, error) {
	g, end := gitIn(ctx, reviewLookPatience, self, l.Top, env)
	defer end()
	base := cmp.Or(l.Head, "empty")
	present, err := g.look("", base)
	if err != nil {
		return nil, cmp.Or(goneError(l.Top), err)
	}
	return slices.Sorted(maps.Keys(l.Paths.changedTo(present.lists[base], l.Top))), nil
}
