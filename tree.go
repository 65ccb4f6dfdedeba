package main

// The files that a review speaks of, as git tells: the commit checked out, the tree that `git add -A && git write-tree` would
// write, and what changed since the request. Nothing is written into the repository for it.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// treePatience is how long git may take. 100,000 files that git has seen before take a second; more than this is not
// worth the user's wait, and the review is not bound to a state of the files then.
const treePatience = 5 * time.Second

// treeScript prints head and tree of the working tree that it stands in. It works on an index of its own beside the
// repository's: a copy with the same time, by which git tells what may have changed since. $1 is empty in a throw-away
// copy. Outside one it is a directory for objects, and filters, which can do anything, are not run. Where $2 is not empty it
// goes on with what changed since that commit; since the empty tree where it is "unborn", and since what HEAD was at the time
// $3, or is now, where it is "unknown". The others are treeCauses.
const treeScript = `
export LC_ALL=C # for what git says, and for grep
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.splitIndex=false -c core.quotePath=false "$@"; }
fail() { echo "$*" >&2; exit 1; }
own=$1 outside=$1 since=$2 asked=$3 filter=$4 hidden=$5 quoted=$6 elsewhere=$7 inner=$8
look() { # refuses a repository where changes could hide, or filters would run
	[ -n "$outside" ] && git config --get-regexp '^filter\..*\.(clean|process)$' >/dev/null && fail "$filter"
	git ls-files -v | grep -q '^[a-zS]' && fail "$hidden"
	:
}
links() { # looks into the repositories inside this one
	git ls-files -s | grep '^160000 ' | cut -f2- | while IFS= read -r path; do
		case $path in \"*) fail "$quoted" ;; esac
		[ ! -e "$path/.git" ] || (unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; cd "$path" && look && links) || exit 1
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
[ -z "$since" ] || git status --short --untracked-files=normal >"$own/status" || exit
links || exit # git add looks into those that it knows
git add -A || exit
links || exit
git diff-files --quiet --ignore-submodules=none || fail "$inner"
echo "head $(git rev-parse -q --verify HEAD)"
tree=$(git write-tree) && echo "tree $tree" || exit
[ -n "$since" ] || exit 0
base=$since from=asked
if [ "$since" = unknown ]; then
	from=reflog
	[ -n "$asked" ] && base=$(git rev-parse --verify "HEAD@{$asked}" 2>"$own/said") && [ ! -s "$own/said" ] || {
		from=head
		base=$(git rev-parse -q --verify HEAD) || base=unborn
	}
fi
[ "$base" != unborn ] || base=$(git hash-object -t tree /dev/null)
echo "$from $base"
cat "$own/status"
echo diff
git diff -M --no-ext-diff --no-textconv --no-color --no-relative --submodule=short --src-prefix=a/ --dst-prefix=b/ "$base" "$tree"
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

// takeTree returns the working tree that holds dir as it is, and what changed there since. self is ccc, env the environment of
// git. Outside of git the worktree is empty.
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
	lines := &lineWriter{line: t.read}
	err := t.run(ctx, env, lines, append([]string{self, trySubcommand, "--timeout", treePatience.String(), "sh", "-c", treeScript, "sh", ""}, args...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == tryImpossible {
		var own string
		if own, err = os.MkdirTemp("", "ccc-objects-"); err == nil {
			defer os.RemoveAll(own)
			err = t.run(ctx, env, lines, append([]string{"sh", "-c", treeScript, "sh", own}, args...)...)
		}
	}
	if t.changes.err = err; t.Tree == "" {
		t.err = err
	}
	return t
}

// read takes a line of what treeScript prints.
func (t *judgedTree) read(line []byte) {
	text := strings.TrimSuffix(string(line), "\n")
	word, value, _ := strings.Cut(text, " ")
	switch c := &t.changes; {
	case c.inDiff:
		c.add(text)
	case t.Tree == "" && word == "head":
		t.Head = value
	case t.Tree == "" && word == "tree":
		t.Tree = value
	case c.from == "":
		c.from, c.base = word, value
	case text == "diff":
		c.inDiff = true
	default:
		c.short = append(c.short, text)
	}
}

// takeHead returns the working tree that holds dir with its commit, and git status --porcelain there. Both are empty where git
// does not tell them in a second.
func takeHead(dir string, env []string) (w worktree, status string) {
	w.Top, w.Repo = gitTree(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	const script = `git rev-parse -q --verify HEAD || echo
git --no-optional-locks -c core.fsmonitor=false -c core.quotePath=false status --porcelain --untracked-files=normal`
	out, err := w.script(ctx, env, "sh", "-c", script)
	if w.Top == "" || err != nil {
		return worktree{}, ""
	}
	w.Head, status, _ = strings.Cut(out, "\n")
	return w, status
}

// script runs command as run does, and returns what it prints.
func (w worktree) script(ctx context.Context, env []string, command ...string) (string, error) {
	var out bytes.Buffer
	err := w.run(ctx, env, &out, command...)
	return out.String(), err
}

// run runs command in the working tree, without what a git hook's environment says of repository and index. The error is a
// failure with its exit code and its complaints on one line, or why ctx ended.
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
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
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
	from   string   // how base was found: "asked" by the record of the request, "reflog" by HEAD's log, "head": it is HEAD now
	base   string   // a commit, or the empty tree
	short  []string // git status --short
	files  []fileDiff
	inDiff bool  // while it is read
	err    error // why it is not known
}

// A fileDiff is the difference of one file.
type fileDiff struct {
	name           string // as git writes it
	text           string // its beginning, up to changesLimit
	lines          int    // all that it has
	added, removed int    // of these
	isNew, secret  bool   // secret: it may hold a key or a token
}

// changesLimit is in characters, of all differences that a request shows. changesLeast is what each shown file has.
const changesLimit, changesLeast = 12_000, 300

// add takes a line of git diff, where only headers begin with a letter.
func (c *changes) add(line string) {
	if names, isHeader := strings.CutPrefix(line, "diff --git "); isHeader {
		name := names[(len(names)+1)/2:] // a/NAME b/NAME; of a renamed file git tells more
		c.files = append(c.files, fileDiff{name: withoutPrefix(name), secret: secretFile.MatchString(name)})
	}
	if len(c.files) == 0 {
		return
	}
	f := &c.files[len(c.files)-1]
	if to, isRename := strings.CutPrefix(line, "rename to "); isRename {
		f.name = to
	}
	f.isNew = f.isNew || strings.HasPrefix(line, "new file mode ")
	switch {
	case strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ "):
		f.added++
		f.secret = f.secret || secretLine.MatchString(line)
	case strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--- "):
		f.removed++
	}
	f.lines++
	if room := changesLimit - len(f.text); room > 0 && len(c.files) <= changesLimit/changesLeast {
		f.text += strings.ToValidUTF8(line[:min(room, len(line))], "\uFFFD") + "\n"
	}
}

// withoutPrefix takes git's b/ from a name, which may be quoted.
func withoutPrefix(name string) string {
	if rest, isQuoted := strings.CutPrefix(name, `"b/`); isQuoted {
		return `"` + rest
	}
	return strings.TrimPrefix(name, "b/")
}

// Where keys and tokens are found: in files of these names, and in lines that hold one of a well-known form or give one a value.
var (
	secretFile = regexp.MustCompile(`(?i)(^|/)("?b/)?(\.env(\.[^/]*)?|id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|credentials(\.json)?|[^/]*\.(pem|key|p12|pfx|keystore))"?$`)
	secretLine = regexp.MustCompile(`PRIVATE KEY-----|\b(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|eyJ)[A-Za-z0-9_-]{16,}|` +
		`(?i)(token|secret|passw(or)?d|api_?key)["']?\s*[:=]\s*["']?[A-Za-z0-9_./+-]{20,}`)
)

// text tells the reviewer what changed, "" outside of git.
func (t judgedTree) text() string {
	c := t.changes
	switch {
	case errors.Is(t.err, errNoGit) || c.commit == "":
		return ""
	case c.err != nil:
		return say(changesUnknown, oneLine(c.err.Error()))
	}
	var b strings.Builder
	b.WriteString(say(map[string]words{"asked": changesAsked, "reflog": changesReflog, "head": changesHead}[c.from], c.base[:min(12, len(c.base))]) + "\n")
	if len(c.files) == 0 {
		return b.String() + say(changesNone)
	}
	if c.top == t.Top {
		if own := c.before(); own != "" {
			b.WriteString(say(changesBefore, own) + "\n")
		}
	}
	const most = 60
	short := c.short[:min(most, len(c.short))]
	if len(c.short) > most {
		short = append(short[:most:most], "...")
	}
	if len(short) > 0 {
		b.WriteString("\ngit status --short:\n" + fenced("", strings.Join(short, "\n")) + "\n")
	}
	shown, rest := shareOut(c.files)
	if shown != "" {
		b.WriteString("\ngit diff -M:\n" + fenced("diff", shown) + "\n")
	}
	if rest != "" {
		b.WriteString("\n" + say(changesRest, rest))
	}
	return strings.TrimRight(b.String(), "\n")
}

// before names those of the changed files that were changed when the request came.
func (c changes) before() string {
	var names []string
	for _, f := range c.files {
		isDirty := func(line string) bool {
			_, name, _ := strings.Cut(line[min(3, len(line)):], " -> ")
			name = cmp.Or(name, line[min(3, len(line)):])
			return name == f.name || strings.HasSuffix(name, "/") && strings.HasPrefix(f.name, name)
		}
		if slices.ContainsFunc(strings.Split(c.status, "\n"), isDirty) {
			names = append(names, f.name)
		}
	}
	return clip(strings.Join(names, ", "), 1000)
}

// shareOut writes the differences of the files, none longer than its share of changesLimit, and the names of those that are not
// shown, with their size.
func shareOut(files []fileDiff) (shown, rest string) {
	var names []string
	var lengths []int
	isShown := func(f fileDiff) bool { return f.text != "" && !(f.isNew && f.secret) }
	for _, f := range files {
		if isShown(f) {
			lengths = append(lengths, len(f.text))
			continue
		}
		name := fmt.Sprintf("%s (+%d -%d)", f.name, f.added, f.removed)
		if f.isNew && f.secret {
			name += say(changesSecret)
		}
		names = append(names, name)
	}
	slices.Sort(lengths)
	share, left := changesLimit, changesLimit // what a short one leaves the others have
	for i, length := range lengths {
		share = left / (len(lengths) - i)
		left -= min(length, share)
	}
	for _, f := range files {
		if !isShown(f) {
			continue
		}
		text := f.text
		if len(text) > share {
			text = text[:strings.LastIndexByte(text[:share], '\n')+1]
		}
		if cut := f.lines - strings.Count(text, "\n"); cut > 0 {
			text += say(changesCut, cut, f.name) + "\n"
		}
		shown += text
	}
	return shown, clip(strings.Join(names, ", "), 3000)
}
