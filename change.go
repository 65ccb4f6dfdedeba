package main

// The files that a review speaks of, as git tells: the commit checked out, the tree that `git add -A && git
// write-tree` would write, and what changed since the request. Nothing is written into the repository for it.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// treePatience is how long git may take. 100,000 files that git has seen before take a second; more than this
// is not worth the user's wait, and the review is not bound to a state of the files then.
const treePatience = 5 * time.Second

// treeScript prints head and tree of the working tree that it stands in. It works on an index of its own
// beside the repository's: a copy with the same time, by which git tells what may have changed since. $1 is
// empty in a throw-away copy. Outside one it is a directory for objects, and filters, which can do anything,
// are not run. Where $2 is not empty it goes on with what changed since that commit; since the empty tree
// where it is "unborn", and since what HEAD was at the time $3, or is now, where it is "unknown". The others
// are treeCauses.
const treeScript = `
export LC_ALL=C # for what git says, and for grep
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.splitIndex=false -c core.quotePath=false -c core.safecrlf=false -c diff.suppressBlankEmpty=false "$@"; }
fail() { echo "$*" >&2; exit 1; }
unsure() { why=${why:-$*}; } # the tree would not speak of all that is there, but what changed can be told
why= own=$1 outside=$1 since=$2 asked=$3 filter=$4 hidden=$5 quoted=$6 elsewhere=$7 inner=$8
look() { # refuses a repository where changes could hide, or filters would run
	[ -n "$outside" ] && git config --get-regexp '^filter\..*\.(clean|process)$' >/dev/null && fail "$filter"
	git ls-files -v | grep -q '^[a-zS]' && unsure "$hidden"
	:
}
links() { # looks into the repositories inside this one
	git ls-files -s | grep '^160000 ' | cut -f2- | while IFS= read -r path; do
		case $path in \"*) fail "$quoted" ;; esac
		[ ! -e "$path/.git" ] || (why= && unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; cd "$path" && look && [ -z "$why" ] || fail "$why"; links) || exit 1
	done
}
git rev-parse --git-dir >/dev/null || exit
[ "$(git rev-parse --is-inside-work-tree --show-prefix)" = true ] || fail "$elsewhere"
look
if [ -n "$own" ]; then
	GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --git-path objects) && export GIT_ALTERNATE_OBJECT_DIRECTORIES || exit
	export GIT_OBJECT_DIRECTORY="$own"
else
	own=$(mktemp -d) || exit
fi
cp -p "$(git rev-parse --git-path index)" "$own/index" 2>/dev/null
export GIT_INDEX_FILE="$own/index" GIT_OPTIONAL_LOCKS=0
[ -z "$since" ] || git status --porcelain --untracked-files=normal >"$own/status" || exit
links || exit # git add looks into those that it knows
git add -A || exit
links || exit
git diff-files --quiet --ignore-submodules=none || unsure "$inner"
echo "head $(git rev-parse -q --verify HEAD)"
tree=$(git write-tree) || exit
[ -n "$why" ] || echo "tree $tree"
[ -n "$since" ] || [ -n "$why" ] || exit 0
[ -n "$since" ] || fail "$why"
base=$since from=asked
if [ "$since" = unknown ]; then
	from=reflog
	[ -n "$asked" ] && base=$(git rev-parse --verify "HEAD@{$asked}" 2>"$own/said") && [ ! -s "$own/said" ] || {
		from=head
		base=$(git rev-parse -q --verify HEAD) || base=unborn
	}
fi
[ "$base" != unborn ] || { from=unborn base=$(git hash-object -t tree /dev/null); }
echo "from $from $base"
cat "$own/status"
echo diff
git diff -M -O/dev/null --no-ext-diff --no-textconv --no-color --no-relative --submodule=short --src-prefix=a/ --dst-prefix=b/ "$base" "$tree" || exit
echo end
[ -z "$why" ] || fail "$why"
`

// A baseline is what the files are compared with to tell what changed since the user's request.
type baseline struct {
	commit string // the one checked out then; "unborn" before the first, "unknown" without a record, "" where nobody asks
	asked  string // the time of the request, for one that is unknown, as a transcript has it
	status string // git status --porcelain of then, with what the user had changed already; of this directory:
	top    string
}

// A judgedTree is the working tree that a review speaks of at one time.
type judgedTree struct {
	worktree
	changes changes
	err     error // why its state can't be told, on one line; then it has no Tree
}

// takeTree returns the working tree that holds dir as it is, and what changed there since. self is ccc, env
// the environment of git. Outside of git the worktree is empty.
func takeTree(ctx context.Context, self, dir string, env []string, since baseline) (t judgedTree) {
	t.Top, t.Repo = gitTree(dir)
	if t.Top == "" {
		t.Repo, t.err = "", errNoGit
		return t
	}
	ctx, cancel := context.WithTimeoutCause(ctx, treePatience, errors.New(say(gitTooSlow, treePatience)))
	defer cancel()
	args := []string{since.commit, ""}
	if asked, err := time.Parse(time.RFC3339, since.asked); err == nil { // git counts in whole seconds: what came in that one came later
		args[1] = asked.UTC().Add(-time.Second).Format("2006-01-02 15:04:05 +0000")
	}
	for _, cause := range treeCauses {
		args = append(args, say(cause))
	}
	t.changes.baseline = since
	lines := &lineWriter{line: t.read, dropped: func(error) { t.changes.add(" ") }} // a line that is too long counts as one, and is not shown
	err := t.run(ctx, env, lines, append([]string{self, trySubcommand, "--timeout", treePatience.String(), "sh", "-c", treeScript, "sh", ""}, args...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == tryImpossible {
		if own, lock := newScratch(); own != "" { // where one that is killed leaves it, the next removes it
			defer sweepScratch()
			defer lock.Close()
			err = t.run(ctx, env, lines, append([]string{"sh", "-c", treeScript, "sh", own}, args...)...)
		}
	}
	if !t.changes.isWhole {
		t.changes.err = cmp.Or(err, t.changes.err)
	}
	if t.Tree == "" {
		t.err = err
	}
	return t
}

// read takes a line of what treeScript prints.
func (t *judgedTree) read(line []byte) {
	text := strings.TrimSuffix(string(line), "\n")
	word, value, _ := strings.Cut(text, " ")
	switch c := &t.changes; {
	case text == "end" && c.inDiff:
		c.isWhole = true
	case c.inDiff:
		c.add(text)
	case word == "head":
		t.Head = value
	case word == "tree":
		t.Tree = value
	case word == "from":
		c.from, c.base, _ = strings.Cut(value, " ")
	case text == "diff":
		c.inDiff = true
	default:
		c.short = append(c.short, text)
	}
}

// takeHead returns the working tree that holds dir with its commit, and the first lines of git status
// --porcelain there, more than statusBlock shows. The status is empty where git does not tell it in a second,
// and all where git does not work.
func takeHead(dir string, env []string) (w worktree, status string) {
	w.Top, w.Repo = gitTree(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	const script = `git rev-parse -q --verify HEAD || echo
git --no-optional-locks -c core.fsmonitor=false -c core.quotePath=false status --porcelain --untracked-files=all | head -n 100`
	out, err := w.script(ctx, env, "sh", "-c", script)
	head, status, isThere := strings.Cut(out, "\n")
	if w.Top == "" || !isThere {
		return worktree{}, ""
	}
	if w.Head = head; err != nil {
		status = ""
	}
	return w, strings.TrimRight(status, "\n")
}

// script runs command as run does, and returns what it prints.
func (w worktree) script(ctx context.Context, env []string, command ...string) (string, error) {
	var out bytes.Buffer
	err := w.run(ctx, env, &out, command...)
	return out.String(), err
}

// run runs command in the working tree, without what a git hook's environment says of repository and index.
// The error is a failure with its exit code and its complaints on one line, or why ctx ended.
func (w worktree) run(ctx context.Context, env []string, out io.Writer, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = w.Top
	cmd.Env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == tryVariable || strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_")
	})
	cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1") // what git replace puts in the place of a commit is not pushed for it
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // git and all that it starts end together
	cmd.Cancel = func() error {
		defer exitOnPanic()
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = 2 * time.Second // for what is left in the pipes
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	said := slices.DeleteFunc(strings.Split(complaints.String(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "hint:")
	})
	return failure{code: exitCode(err), err: errors.New(clip(cmp.Or(oneLine(strings.Join(said, " ")), err.Error()), 300))}
}

// changes is what git tells of the time since the baseline.
type changes struct {
	baseline
	from    string   // how base was found: "asked" by the record of the request, "reflog" by HEAD's log, "head": it is HEAD now, or "unborn"
	base    string   // a commit, or the empty tree
	short   []string // git status --porcelain
	files   []fileDiff
	kept    int   // bytes of the files' texts
	inDiff  bool  // while it is read
	isWhole bool  // all of it is known
	err     error // why it is not
}

// A fileDiff is the difference of one file.
type fileDiff struct {
	name           string   // as the file system has it
	lines          []string // git's, of many or long ones the beginning, without those of the head that repeat the name
	size           int      // characters of these
	left           int      // how many more lines there are
	added, removed int      // lines
	inHunks        bool     // the head has been read
	isNew          bool     // or has a new name
}

// changesLimit is in characters, of all differences that a request shows. changesLeast is what each shown
// file has. changesKept is in bytes, of what is held of a difference of any size.
const changesLimit, changesLeast, changesKept = 12_000, 300, 8 << 20

// add takes a line of git diff. In its hunks no line begins with a letter.
func (c *changes) add(line string) {
	names, isNext := strings.CutPrefix(line, "diff --git ")
	if isNext {
		name := strings.Replace(names[(len(names)+1)/2:], "b/", "", 1) // a/NAME b/NAME; of a renamed file git tells more
		c.files = append(c.files, fileDiff{name: unquoted(name)})
	}
	if len(c.files) == 0 {
		return
	}
	f := &c.files[len(c.files)-1]
	if to, isRename := strings.CutPrefix(line, "rename to "); isRename {
		f.name, f.isNew = unquoted(to), true
	}
	f.isNew = f.isNew || strings.HasPrefix(line, "new file mode ")
	f.inHunks = f.inHunks || strings.HasPrefix(line, "@@ ")
	isAdded, isRemoved := strings.HasPrefix(line, "+"), strings.HasPrefix(line, "-")
	switch {
	case strings.HasPrefix(line, "index "), !f.inHunks && (isAdded || isRemoved): // they repeat the name
		return
	case isAdded:
		f.added++
	case isRemoved:
		f.removed++
	}
	if c.kept >= changesKept || f.size >= changesLimit {
		f.left++
		return
	}
	line = clip(strings.ToValidUTF8(line[:min(len(line), 4*changesLimit)], "\uFFFD"), changesLimit)
	f.lines = append(f.lines, line)
	f.size += utf8.RuneCountInString(line) + 1
	c.kept += len(line)
}

// unquoted returns the name that git has put into quotes.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// text tells the reviewer what changed, "" where there is no git.
func (t judgedTree) text() string {
	c := t.changes
	var f failure
	noGit := errors.Is(t.err, errNoGit) || errors.As(c.err, &f) && f.code == 127
	switch {
	case noGit || c.commit == "":
		return ""
	case c.err != nil:
		return say(changesUnknown, oneLine(c.err.Error()))
	}
	base := c.base[:min(12, len(c.base))]
	parts := []string{say(changesSince[c.from], base) + say(changesAll)}
	if t.err != nil {
		parts[0] += "\n" + say(changesHidden, oneLine(t.err.Error()))
	} else if len(c.files) == 0 {
		return parts[0] + "\n" + say(changesNone)
	}
	if c.top == t.Top && c.status != "" {
		parts = append(parts, say(changesBefore)+"\n"+statusBlock(strings.Split(c.status, "\n")))
	}
	if len(c.short) > 0 {
		parts = append(parts, "git status --short:\n"+statusBlock(c.short))
	}
	shown, rest := shareOut(c.files, base)
	if shown != "" {
		parts = append(parts, "git diff -M "+base+", "+say(changesTop, t.Top)+"\n"+fenced("diff", shown))
	}
	if rest != "" {
		parts = append(parts, say(changesRest, rest))
	}
	return strings.Join(parts, "\n\n")
}

// statusBlock shows the first lines of git status.
func statusBlock(lines []string) string {
	const most = 60
	if len(lines) > most {
		lines = append(lines[:most:most], "...")
	}
	return fenced("", strings.Join(lines, "\n"))
}

// shareOut writes the differences of the files from base, and the names of those that are not shown, with
// their size. The short ones come first, and what they leave of changesLimit the others share.
func shareOut(files []fileDiff, base string) (shown, rest string) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b fileDiff) int { return a.size - b.size })
	var names []string
	left := changesLimit
	for i, f := range files {
		share := max(changesLeast, left/(len(files)-i))
		if size := min(f.size, share); size > 0 && size <= left {
			shown += f.beginning(share, base)
			left -= size
			continue
		}
		names = append(names, fmt.Sprintf("%s (+%d -%d)", printable(f.name), f.added, f.removed))
	}
	return shown, clip(strings.Join(names, ", "), 3000)
}

// beginning is as much of the difference as share has room for, and how to read the rest.
func (f fileDiff) beginning(share int, base string) string {
	text := strings.Join(f.lines, "\n") + "\n"
	shown := text
	if runes := []rune(text); len(runes) > share {
		shown = string(runes[:share-1]) + "…"
	}
	left := f.left + strings.Count(text, "\n") - strings.Count(shown, "\n")
	if left == 0 {
		return shown
	}
	where := say(changesRead)
	if !f.isNew {
		where = "git diff " + base + " -- " + shellQuote(":/"+f.name)
	}
	return strings.TrimSuffix(shown, "\n") + "\n" + say(changesCut, left, where) + "\n"
}
