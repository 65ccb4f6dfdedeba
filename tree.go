package main

// What a review speaks of. Of the files git tells: the commit checked out and the tree that `git add -A && git write-tree`
// would write; nothing is written into the repository for it. What happened while it ran is in the session's timeline.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// treePatience is how long git may take. 100,000 files that git has seen before take a second; more than this is not
// worth the user's wait, and the review is not bound to a state of the files then.
const treePatience = 5 * time.Second

// treeScript prints head and tree of the working tree that it stands in. It works on an index of its own beside the
// repository's: a copy with the same time, by which git tells what may have changed since. $1 is empty in a throw-away
// copy. Outside one it is a directory for objects, and filters, which can do anything, are not run. The others are treeCauses.
const treeScript = `
export LC_ALL=C # for what git says, and for grep
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.splitIndex=false -c core.quotePath=false "$@"; }
fail() { echo "$*" >&2; exit 1; }
own=$1 outside=$1 filter=$2 hidden=$3 quoted=$4 elsewhere=$5 inner=$6
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
links || exit # git add looks into those that it knows
git add -A || exit
links || exit
git diff-files --quiet --ignore-submodules=none || fail "$inner"
echo "head $(git rev-parse -q --verify HEAD)"
tree=$(git write-tree) && echo "tree $tree"
`

// takeTree returns the working tree that holds dir as it is. self is ccc, env the environment of git. The worktree is
// empty outside of git; with an error, which says on one line why, it has no Tree.
func takeTree(ctx context.Context, self, dir string, env []string) (w worktree, err error) {
	w.Top, w.Repo = gitTree(dir)
	if w.Top == "" {
		return worktree{}, errNoGit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, treePatience, errors.New(say(gitTooSlow, treePatience)))
	defer cancel()
	causes := []string{}
	for _, cause := range treeCauses {
		causes = append(causes, say(cause))
	}
	out, err := w.script(ctx, env, append([]string{self, trySubcommand, "--timeout", treePatience.String(), "sh", "-c", treeScript, "sh", ""}, causes...)...)
	if f := (failure{}); errors.As(err, &f) && f.code == tryImpossible {
		own, mkErr := os.MkdirTemp("", "ccc-objects-")
		if mkErr != nil {
			return w, mkErr
		}
		defer os.RemoveAll(own)
		out, err = w.script(ctx, env, append([]string{"sh", "-c", treeScript, "sh", own}, causes...)...)
	}
	if err != nil {
		return w, err
	}
	_, rest, _ := strings.Cut(out, "head ")
	w.Head, rest, _ = strings.Cut(rest, "\n")
	w.Tree, _ = strings.CutPrefix(strings.TrimSpace(rest), "tree ")
	return w, nil
}

// script runs command in the working tree, without what a git hook's environment says of repository and index, and
// returns what it prints. The error is a failure with its exit code and its complaints on one line, or why ctx ended.
func (w worktree) script(ctx context.Context, env []string, command ...string) (out string, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = w.Top
	cmd.Env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == tryVariable || strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_")
	})
	cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1") // what git replace puts in the place of a commit is not pushed for it
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // git and all that it starts end together
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		said := slices.DeleteFunc(strings.Split(complaints.String(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "hint:")
		})
		return "", failure{code: exitCode(err), err: errors.New(clip(cmp.Or(oneLine(strings.Join(said, " ")), err.Error()), 300))}
	}
	return string(text), nil
}

// A reviewRound is one review of a session, or a stop at the limit, with what was recorded while it ran.
type reviewRound struct {
	record            // how it ended; of one that runs, or ended without a word, how it began
	Runs     []record `json:"runs"`    // what ccc try ran
	Refused  []string `json:"refused"` // calls that Claude Code refused to the reviewer
	requests int      // how many prompts of the user's came before it
}

// A history is what a session's timeline tells, in order.
type history struct {
	Requests []record
	Rounds   []reviewRound
	project  string
	limit    int       // of reviews a request
	updated  time.Time // the last record's
	present  int       // the first of Rounds since the user's last prompt, or since supervision was switched off
	loose    []record  // runs of a review of ccc 1.1 that has no end yet
}

// readHistory reads the session's timeline. With an error the history holds what could be read. A review that has no
// end runs, or has failed if its process is gone or its deadline past.
func (s session) readHistory() (h history, err error) {
	err = s.readTimeline(h.add)
	for i := range h.Rounds {
		h.Rounds[i].settle()
	}
	return h, err
}

// settle says what has become by now of a review that has no end.
func (r *reviewRound) settle() {
	if r.Verdict != "" {
		return
	}
	r.Verdict = verdictReviewing
	if time.Now().After(r.Deadline) || isVisible(r.Process) && !isRunning(r.Process) {
		r.Verdict, r.Error = verdictFailed, errKilled.Error()
	}
}

// of returns the index of the review with that id, of those without, from ccc 1.1, the last; -1 for none.
func (h *history) of(review string) int {
	i := len(h.Rounds) - 1
	for i >= 0 && h.Rounds[i].Review != review {
		i--
	}
	return i
}

// round returns the round that found is the end of, with what else the timeline has of it.
func (s session) round(found record) reviewRound {
	h, _ := s.readHistory()
	for _, r := range slices.Backward(h.Rounds) {
		if found.Review != "" && r.Review == found.Review {
			if r.Verdict != found.Verdict { // its end could not be recorded
				r.record = found
			}
			return r
		}
	}
	return reviewRound{record: found}
}

// isUnderReview tells whether that review runs, as far as can be seen here above this process: what an agent runs is none of
// its runs, even if it says so.
func (s session) isUnderReview(review string) bool {
	h, _ := s.readHistory()
	return slices.ContainsFunc(h.Rounds, func(r reviewRound) bool {
		isAbove := func() bool {
			return slices.ContainsFunc(ancestry(os.Getpid()), func(p process) bool { return p.name == r.Process })
		}
		return r.Review == review && r.Verdict == verdictReviewing && (!isVisible(r.Process) || isAbove())
	})
}

// isRunning tells whether the process of that name runs.
func isRunning(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, _ := strconv.Atoi(number)
	_, p := processInfo(pid)
	return name != "" && p.name == name
}

func (h *history) add(r record) {
	h.project, h.limit = cmp.Or(r.Project, h.project), cmp.Or(r.Limit, h.limit)
	if r.Time.After(h.updated) {
		h.updated = r.Time
	}
	open := -1 // the review that the record belongs to
	if r.Review != "" {
		open = h.of(r.Review)
	}
	switch {
	case r.Event == eventPrompt:
		h.Requests = append(h.Requests, r)
		h.present = len(h.Rounds)
	case r.Event == eventSwitch && r.Mode == modeWord(false):
		h.present = len(h.Rounds)
		if h.present > 0 && h.Rounds[h.present-1].Verdict == "" {
			h.present-- // it ends the review that runs
		}
	case r.Event == eventTry && r.Review == "":
		h.loose = append(h.loose, r)
	case r.Event == eventTry && open >= 0:
		h.Rounds[open].Runs = append(h.Rounds[open].Runs, r)
	case r.Event == eventRefused && open >= 0:
		h.Rounds[open].Refused = append(h.Rounds[open].Refused, r.Tools...)
	case r.Review != "" && open >= 0:
		r.LastMessage, r.Question, r.Requests = h.Rounds[open].LastMessage, h.Rounds[open].Question, h.Rounds[open].Requests
		h.Rounds[open].record = r
	case r.Verdict != "" || r.Review != "" && r.Event != eventTry && r.Event != eventRefused:
		h.Rounds = append(h.Rounds, reviewRound{record: r, Runs: h.loose, requests: len(h.Requests)})
		h.loose = nil
	}
}

// lastOf returns the last of rounds that is no question's, nil for none.
func lastOf(rounds []reviewRound) *reviewRound {
	for i := len(rounds) - 1; i >= 0; i-- {
		if rounds[i].Event != eventPreToolUse {
			return &rounds[i]
		}
	}
	return nil
}

// looks are the tools that the reviewer used, without the calls of ccc try where the runs account for them.
func (r reviewRound) looks() []string {
	others := slices.DeleteFunc(slices.Clone(r.Tools), tryCall.MatchString)
	if len(r.Tools)-len(others) > len(r.Runs) {
		return r.Tools
	}
	return others
}

var tryCall = regexp.MustCompile(`^Bash\((\S*/ccc|'[^']*/ccc') try (--timeout \S+ )?`)

// recentOutput is in bytes. It holds the running review from its beginning, but for one that has looked at large
// files; then its latest steps.
const recentOutput = 1 << 20

// outputOf returns a reader of what the reviewer of r writes.
func (s session) outputOf(r reviewRound, line func([]byte)) *lineReader {
	output := s.followOutput(recentOutput, line)
	if r.Event == eventReview {
		output.path = s.byHandFile()
	}
	return output
}

// doing is what the review that runs does right now: its last tool call, of a command the command alone.
func (s session) doing(r reviewRound) (doing string) {
	output := s.outputOf(r, func(line []byte) {
		var l streamLine
		_ = json.Unmarshal(line, &l)
		if l.Type == "system" && l.Subtype == "init" {
			doing = ""
		}
		for _, step := range l.Message.Content {
			if _, tool := step.shown(); tool != "" && l.Type == "assistant" {
				doing = tool
			}
		}
	})
	defer output.close()
	if err := output.read(); err != nil || output.modified().Before(r.Time) {
		return "" // it holds the reviews before it
	}
	if tried := tryCall.ReplaceAllString(doing, ""); tried != doing {
		return strings.Trim(strings.TrimSuffix(tried, ")"), "'")
	}
	if command, isCommand := strings.CutPrefix(doing, "Bash("); isCommand {
		return strings.TrimSuffix(command, ")")
	}
	return doing
}
