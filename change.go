package main

// Which change a review judges: git's look at a working tree, where the change begins, and which paths it
// has.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reviewLookPatience is how long git may take before a review, after it and for ccc verdict: 50,000 files
// that git has not seen before take two seconds. promptLookPatience is for a prompt, which the user waits for.
const (
	reviewLookPatience = 5 * time.Second
	promptLookPatience = time.Second
)

// pathsLimit is how many paths the look at a prompt may find, and how many a change may have that a stop
// leaves.
const pathsLimit = 2000

// changedTo returns the paths that differ between then and now, both compared with the same commit, with their
// content now. A new file of then that is ignored now is left out; it lies in top.
func (then paths) changedTo(now paths, top string) map[string]string {
	changed := map[string]string{}
	for path, is := range now {
		if was, known := then[path]; !known || was[1] != is[1] {
			changed[path] = is[1]
		}
	}
	for path, was := range then {
		if _, differs := now[path]; differs || was[0] == was[1] {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, unquoted(path))); err == nil && was[0] == "" {
			continue
		}
		changed[path] = was[0]
	}
	return changed
}

// lookScript prints what differs in the working tree that it stands in. It works on a copy of the index, whose
// time tells git what may have changed since. $1 is empty in a throw-away copy, else a directory for index and
// objects. The commits to compare with are $3 and those behind it: HEAD is the empty tree before the first
// commit, and so is "empty". Where $2 is not empty the diff from that commit follows. A repository inside, which
// git lists with a slash at its end, is named and not added.
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
cp -p "$index" "$own/index" 2>/dev/null
export GIT_INDEX_FILE="$own/index"
git add -u || exit
git ls-files -o --exclude-standard >"$own/new" || exit
sed -n 's/^\(.*\/"\{0,1\}\)$/nested \1/p' "$own/new"
sed '/\/"\{0,1\}$/d' "$own/new" | git update-index --add --remove --replace --stdin || exit
if git ls-files -s | grep -q ^160000; then
	git diff-files --raw --ignore-submodules=none | sed -n 's/^:160000[^	]*	/dirty /p'
fi
echo "head $(git rev-parse -q --verify HEAD)"
echo "branch $(git symbolic-ref -q --short HEAD)"
empty=$(git hash-object -t tree /dev/null)
commit() {
	[ "$1" != empty ] || set "$empty"
	[ "$1" != HEAD ] || git rev-parse -q --verify HEAD >/dev/null || set "$empty"
	echo "$1"
}
for base; do
	echo list
	git diff-index --cached --raw --no-renames --no-abbrev "$(commit "$base")" -- || exit
done
if [ -n "$shown" ]; then
	echo diff
	git diff --cached --no-renames -O/dev/null --no-ext-diff --no-textconv --no-color --no-relative \
		--submodule=short --src-prefix=a/ --dst-prefix=b/ "$(commit "$shown")" -- || exit
fi
echo end
`

// A seen is what lookScript printed.
type seen struct {
	head, branch string
	lists        []paths  // for each commit that was compared with
	nested       []string // repositories inside that git does not know, as it quotes them
	dirty        []string // submodules with changes that are not committed there
	diff         *diff    // takes the lines of the diff
	inDiff       bool
	isWhole      bool
}

// read takes a line of what lookScript prints.
func (s *seen) read(line []byte) {
	text := strings.TrimSuffix(string(line), "\n")
	word, value, _ := strings.Cut(text, " ")
	switch {
	case text == "end":
		s.isWhole = true
	case s.inDiff:
		s.diff.add(text)
	case text == "diff":
		s.inDiff = true
	case text == "list":
		s.lists = append(s.lists, paths{})
	case word == "head":
		s.head = value
	case word == "branch":
		s.branch = value
	case word == "nested":
		s.nested = append(s.nested, value)
	case word == "dirty":
		s.dirty = append(s.dirty, value)
	case strings.HasPrefix(text, ":") && len(s.lists) > 0:
		fields, path, _ := strings.Cut(text[1:], "\t")
		if f := strings.Fields(fields); len(f) == 5 {
			s.lists[len(s.lists)-1][path] = [2]string{pathContent(f[0], f[2]), pathContent(f[1], f[3])}
		}
	}
}

// pathContent is how ccc names what lies at a path, "" where there is nothing.
func pathContent(mode, object string) string {
	if mode == "000000" {
		return ""
	}
	return mode + " " + object
}

// A gitRunner runs git in a working tree.
type gitRunner struct {
	self string // ccc's own path
	top  string
	env  []string
}

func (g gitRunner) look(ctx context.Context, patience time.Duration, d *diff, shown string, bases ...string) (*seen, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New(say(gitTooSlow, patience)))
	defer cancel()
	s := &seen{diff: d}
	lines := &lineWriter{line: s.read, dropped: func(error) {
		if s.inDiff {
			s.diff.add(" ") // a line that is too long counts as one, and is not shown
		}
	}}
	args := append([]string{shown}, bases...)
	inCopy := []string{g.self, trySubcommand, "--timeout", patience.String(), "sh", "-c", lookScript, "sh", ""}
	err := g.run(ctx, lines, append(inCopy, args...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == tryImpossible {
		if own, lock := newScratch(); own != "" { // what one that is killed leaves there, the next removes
			defer sweepScratch()
			defer lock.Close()
			err = g.run(ctx, lines, append([]string{"sh", "-c", lookScript, "sh", own}, args...)...)
		}
	}
	if err == nil && !s.isWhole {
		err = errors.New(say(gitUnread))
	}
	return s, err
}

// output runs git and returns the first line of what it prints.
func (g gitRunner) output(ctx context.Context, args ...string) (string, error) {
	lines, err := g.lines(ctx, args...)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[0], nil
}

// lines runs git and returns the lines that it prints.
func (g gitRunner) lines(ctx context.Context, args ...string) ([]string, error) {
	var out bytes.Buffer
	err := g.run(ctx, &out, append([]string{"git"}, args...)...)
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' }), err
}

// run runs command in the working tree, without what a git hook's environment says of repository and index.
// The error is a failure with its exit code and its complaints on one line, or why ctx ended.
func (g gitRunner) run(ctx context.Context, out io.Writer, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = g.top
	cmd.Env = slices.DeleteFunc(slices.Clone(g.env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == tryVariable || strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_")
	})
	// What git replace puts in the place of a commit is not pushed for it.
	cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
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

// lookAtPrompt returns the look at the working tree that holds dir, while the user waits. Where it takes longer than
// patience, Paths is not known.
func lookAtPrompt(self, dir string, env []string, patience time.Duration) (l look) {
	l.Top, l.Repo = gitTree(dir)
	if l.Top == "" {
		return look{}
	}
	g := gitRunner{self: self, top: l.Top, env: env}
	found, err := g.look(context.Background(), patience, nil, "", "HEAD")
	if err == nil && len(found.lists[0]) > pathsLimit {
		err = errors.New(say(tooManyPaths, len(found.lists[0])))
	}
	if err == nil {
		l.Head, l.Branch, l.Paths = found.head, found.branch, found.lists[0]
		return l
	}
	ctx, cancel := context.WithTimeout(context.Background(), promptLookPatience)
	defer cancel()
	l.Head, _ = g.output(ctx, "rev-parse", "-q", "--verify", "HEAD")
	l.Branch, _ = g.output(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	l.Unseen = oneLine(err.Error())
	return l
}

// A beginning is where a change begins.
type beginning struct {
	how   string // a key of changeBegins
	base  string // the commit that git compares with; "empty" is the empty tree
	found paths  // what differed from it already
	time  time.Time
	stays []reviewRound // stops that left another branch
}

// beginning returns where the session's change in the working tree of now begins. stands reports whether a
// prompt was not withdrawn. started is the time of the session's first prompt by its transcript, for a session
// that has none on record.
func (h *history) beginning(ctx context.Context, g gitRunner, now look, stands func(numbered) bool, started string) beginning {
	var approved *reviewRound
	for i := range h.Rounds {
		if r := &h.Rounds[i]; r.Top == now.Top && r.approves() {
			approved = r
		}
	}
	var prompts []numbered
	next := h.records + 1 // the record that follows the beginning of that review
	for _, p := range h.prompts {
		if stands(p) && (approved == nil || p.number > approved.begun) {
			prompts = append(prompts, p)
			next = min(next, p.number)
		}
	}
	for _, r := range h.Rounds {
		if approved != nil && r.begun > approved.begun && r.begun < next { // nobody told ccc of a prompt
			return sinceApproval(approved)
		}
	}
	if approved != nil && len(prompts) == 0 {
		return sinceApproval(approved)
	}
	if len(prompts) == 0 {
		return g.beginningAt(ctx, started)
	}
	var stays []reviewRound
	for len(prompts) > 1 {
		left := h.stopBetween(prompts[0].number, prompts[1].number, now.Top)
		if left == nil || left.Branch == now.Branch || g.holds(ctx, left.Head) {
			break
		}
		stays, prompts = append(stays, *left), prompts[1:]
	}
	p := prompts[0]
	b := beginningOf(p.look, p.Time)
	b.stays = stays
	if p.Top != now.Top { // a worktree, or a repository that the agent has made
		b = beginning{how: sinceWorktree, time: p.Time}
		if b.base, _ = g.output(ctx, "merge-base", "HEAD", p.Head); b.base == "" {
			b.how, b.base = sinceEver, "empty"
		}
	}
	return b
}

// sinceApproval is a beginning with what the approving review found.
func sinceApproval(r *reviewRound) beginning {
	b := beginningOf(r.look, r.start)
	b.how = sinceReview
	return b
}

// beginningOf is a beginning with what l found.
func beginningOf(l look, at time.Time) beginning {
	b := beginning{how: sinceRequest, base: cmp.Or(l.Head, "empty"), found: l.Paths, time: at}
	if l.Unseen != "" {
		b.how = sinceUnseen
	}
	return b
}

// beginningAt is where HEAD was at that time, as a transcript writes it, by its log.
func (g gitRunner) beginningAt(ctx context.Context, at string) beginning {
	began, err := time.Parse(time.RFC3339, at)
	if err == nil {
		// git counts in whole seconds: what came within that second came later.
		entry := "HEAD@{" + began.UTC().Add(-time.Second).Format("2006-01-02 15:04:05 +0000") + "}"
		// Of a log that does not reach back git names the oldest commit, and warns.
		oldest, _ := g.lines(ctx, "log", "-g", "--format=%gd", "--date=unix", "HEAD")
		reaches := false
		if len(oldest) > 0 {
			last := oldest[len(oldest)-1]
			number, _ := strconv.ParseInt(strings.Trim(strings.TrimPrefix(last, "HEAD@"), "{}"), 10, 64)
			reaches = number > 0 && number < began.Unix()
		}
		if commit, err := g.output(ctx, "rev-parse", "-q", "--verify", entry); err == nil && commit != "" && reaches {
			return beginning{how: sinceReflog, base: commit, time: began}
		}
	}
	return beginning{how: sinceEver, base: "empty", time: began}
}

// holds reports whether HEAD is that commit or comes behind it.
func (g gitRunner) holds(ctx context.Context, commit string) bool {
	return commit == "" || g.run(ctx, io.Discard, "git", "merge-base", "--is-ancestor", commit, "HEAD") == nil
}

// stopBetween returns the last stop in that working tree between two records, nil for none.
func (h *history) stopBetween(from, until int, top string) (last *reviewRound) {
	for i := range h.Rounds {
		r := &h.Rounds[i]
		if r.Event == eventStop && r.Top == top && r.begun > from && r.begun < until {
			last = r
		}
	}
	return last
}

// remoteBranches returns the commits of all remote-tracking branches.
func (g gitRunner) remoteBranches(ctx context.Context) ([]string, error) {
	found, err := g.lines(ctx, "for-each-ref", "--format=%(objectname)", "refs/remotes")
	slices.Sort(found)
	return slices.Compact(found), err
}

// mergeBases returns the best common ancestors of rev and the commits together. That there are none is no
// error.
func (g gitRunner) mergeBases(ctx context.Context, rev string, commits []string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	found, err := g.lines(ctx, append([]string{"merge-base", "--all", rev}, commits...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == 1 {
		err = nil
	}
	return found, err
}

// A change is what a review judges.
type change struct {
	look
	beginning
	list  paths             // what differs from base now
	Files map[string]string // its paths, with what lies there now

	touched map[string]bool // of these, those that the user had changed before
	remote  []string        // what a remote has already, and is no part of it
	foreign map[string]bool // by hand: what is not the session's
	nested  []string        // repositories inside that are left out
	dirty   []string        // submodules with changes that are not committed
	others  bool            // another session had a prompt in this working tree since
	diff    *diff
	err     error // why it is not known
}

// A changeOf says whose change it is.
type changeOf struct {
	history *history
	stands  func(numbered) bool
	started string // the time of the session's first prompt, as the transcript has it
	byHand  bool
}

// takeChange looks at the working tree that holds dir, and returns the change that it holds. Outside git Top is
// "".
func takeChange(ctx context.Context, self, dir string, env []string, of changeOf) (c change) {
	c.Top, c.Repo = gitTree(dir)
	if c.Top == "" {
		c.Repo, c.err = "", errNoGit
		return c
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reviewLookPatience, errors.New(say(gitTooSlow, reviewLookPatience)))
	defer cancel()
	g := gitRunner{self: self, top: c.Top, env: env}
	c.Head, _ = g.output(ctx, "rev-parse", "-q", "--verify", "HEAD")
	c.Branch, _ = g.output(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	own := of.history.beginning(ctx, g, c.look, of.stands, of.started)
	remotes, err := g.remoteBranches(ctx)
	var merged []string
	if c.Head != "" && err == nil {
		merged, err = g.mergeBases(ctx, "HEAD", remotes)
		if merging, mergeErr := g.output(ctx, "rev-parse", "-q", "--verify", "MERGE_HEAD"); mergeErr == nil && merging != "" {
			more, _ := g.mergeBases(ctx, merging, remotes)
			merged = append(merged, more...)
		}
	}
	if c.beginning = own; of.byHand {
		c.beginning = beginning{how: sinceEver, base: "empty", time: own.time}
		if len(merged) > 0 {
			c.how, c.base = sinceRemotes, merged[0]
		}
	}
	c.diff = &diff{}
	var found *seen
	if err == nil {
		found, err = g.look(ctx, reviewLookPatience, c.diff, c.base, append([]string{"HEAD", c.base, own.base}, merged...)...)
	}
	if err != nil {
		c.err = err
		return c
	}
	c.Head, c.Branch, c.Paths, c.list = found.head, found.branch, found.lists[0], found.lists[1]
	c.nested, c.dirty = found.nested, found.dirty
	var owns map[string]string
	if own.how != sinceReview { // what has changed since it without a prompt is the user's
		owns = own.files(found.lists[2], c.Paths, c.Top)
	}
	if of.byHand && len(c.list) == 0 { // a remote has all of it
		c.beginning, c.diff, merged = own, &diff{}, nil
		if found, c.err = g.look(ctx, reviewLookPatience, c.diff, c.base, "HEAD", c.base); c.err != nil {
			return c
		}
		c.list = found.lists[1]
	}
	c.Files = c.beginning.files(c.list, c.Paths, c.Top)
	c.touched, c.foreign = map[string]bool{}, map[string]bool{}
	for path := range c.Files {
		_, differs := c.list[path]
		isAsMerged := func(l paths) bool { _, other := l[path]; return !other }
		if differs && c.how != sinceRemotes && len(merged) > 0 && slices.ContainsFunc(found.lists[3:], isAsMerged) {
			c.remote = append(c.remote, path)
			delete(c.Files, path)
			continue
		}
		was, wasChanged := c.found[path]
		c.touched[path] = wasChanged && !of.history.judged(path, was[1])
		_, isOwn := owns[path]
		c.foreign[path] = of.byHand && !isOwn && !of.history.judged(path, c.Files[path])
	}
	slices.Sort(c.remote)
	return c
}

// files returns the paths of the change that begins with b, with their content. list is what differs from its
// base now, uncommitted what differs from HEAD. What a stop that left another branch judged, and lies here
// uncommitted as it was, stays part of it.
func (b beginning) files(list, uncommitted paths, top string) map[string]string {
	files := b.found.changedTo(list, top)
	for _, r := range b.stays {
		for path, content := range r.Files {
			if is, differs := uncommitted[path]; differs && is[1] == content {
				files[path] = content
			}
		}
	}
	return files
}

// again looks at the change's working tree once more, and returns the paths that are not as they were.
func (c change) again(ctx context.Context, self string, env []string) ([]string, error) {
	g := gitRunner{self: self, top: c.Top, env: env}
	now, err := g.look(ctx, reviewLookPatience, nil, "", c.base)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.list.changedTo(now.lists[0], c.Top))), nil
}

// changedSince returns the paths of the working tree that are not as l found them.
func (l look) changedSince(ctx context.Context, self string, env []string) ([]string, error) {
	g := gitRunner{self: self, top: l.Top, env: env}
	now, err := g.look(ctx, reviewLookPatience, nil, "", cmp.Or(l.Head, "empty"))
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(l.Paths.changedTo(now.lists[0], l.Top))), nil
}
