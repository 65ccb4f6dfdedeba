package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What git, the repository or the timeline may be like when somebody asks: each command answers in a line, with its exit
// code.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const first = "git init -q; git add .; git commit -qm first"
	const timeline = "f=$(ls ../home/.claude/ccc/*-events.jsonl); "
	for _, c := range []struct {
		name, before string // what the project is like
		agent        string // what the agent does, "" for no session
		after        string
		dir          string
		wants        string // a line for each command: its words, exit code, the beginning of stdout, a part of stderr
	}{
		{"no repository", "true", "echo 1 >>notes.txt", "", "", `
			verdict = 0 allow | there is no git repository
			review = 0 [SUPERVISOR] Review: approved |`},
		{"a bare repository", first, "echo 1 >>notes.txt; git commit -qam x", "git clone -q --bare . ../bare", "../bare", `
			verdict = 3 none | No session has been reviewed here`},
		{"no session", first, "", "", "", `
			verdict = 3 none | No session has been reviewed
			review = 2 | no session of Claude Code's`},
		{"no commit yet", "git init -q", "echo 1 >>notes.txt", "", "", `
			verdict = 0 allow |
			review = 0 [SUPERVISOR] Review: approved |`},
		{"an unknown session", first, "echo 1 >>notes.txt; git commit -qam x", "", "", `
			review ffff = 2 | no session`},
		{"a rebase under way", first, "echo 1 >>notes.txt; git commit -qam x",
			"git checkout -qb side HEAD~1; echo s >notes.txt; git commit -qam s; git checkout -q main; ! git rebase side 2>/dev/null", "", `
			verdict = 3 changed | notes.txt
			review = 0 [SUPERVISOR] Review: approved |`},
		{"a torn record", first, "echo 1 >>notes.txt; git commit -qam x", timeline + "head -c -40 $f >$f.new; mv $f.new $f", "", `
			verdict = 0 allow | ended before its verdict
			review = 0 [SUPERVISOR] Review: approved |`},
		{"another record behind a torn one", first, "echo 1 >>notes.txt; git commit -qam x",
			timeline + `head -c -40 $f >$f.new; echo >>$f.new; tail -n 1 $f >>$f.new; mv $f.new $f`, "", `
			verdict = 0 allow |`},
		{"doubled records", first, "echo 1 >>notes.txt; git commit -qam x", timeline + "sed -i p $f", "", `
			verdict = 0 allow |`},
		{"records of other types", first, "echo 1 >>notes.txt; git commit -qam x",
			timeline + `printf '\000\377{}[]\n{"kind":3}\n{"kind":"end","review":"x","verdict":"allow","files":7}\n' >>$f`, "", `
			verdict = 0 allow |`},
		{"no state directory", first, "", "mkdir -p ../home/.claude; echo x >../home/.claude/ccc", "", `
			verdict = 2 | ls -ld
			status = 1 | not a directory
			log = 1 | not a directory
			SESSION review = 4 | not a directory`},
		{"2,001 files of the user's", first + "; seq -f f%g 2001 | xargs touch", "echo 1 >>notes.txt; git commit -qam x", "echo x >f1", "", `
			verdict = 0 allow | no push holds them): f1`},
		{"no home", first, "", "HOME", "", `
			verdict = 2 | HOME is not defined
			review = 4 | HOME is not defined`},
		{"no git", first, "echo 1 >>notes.txt; git commit -qam x", "PATH nogit", "", `
			verdict = 2 | "git": executable file not found`},
		{"a git that hangs", first, "echo 1 >>notes.txt; git commit -qam x", "PATH hang", "", `
			verdict = 2 | whether anything has changed since can't be told: git took longer than 5s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			box := newHookBox(t)
			box.inSession()
			box.vars = append(box.vars, "LANG=en_US.UTF-8")
			box.reviews(allows("well"))
			box.gitIn(box.work, c.before)
			if c.agent != "" {
				box.submit("do it")
				box.gitIn(box.work, c.agent)
				box.stop("")
			}
			if c.after == "HOME" {
				box.vars = append(box.vars, "HOME=")
			} else if dir, is := strings.CutPrefix(c.after, "PATH "); is {
				for _, tool := range []string{"sh", "cp", "sed", "mktemp", "grep"} {
					if path := box.gitIn(box.work, "command -v "+tool); dir == "nogit" {
						box.write("../nogit/"+tool, 0o700, "#!"+path+"\nexec "+path+" \"$@\"\n")
					}
				}
				box.write("../hang/git", 0o700, "#!/bin/sh\nexec sleep 100\n")
				box.vars = append(box.vars, testSlowGitVariable+"=1")
				rest := map[string]string{"nogit": filepath.Dir(box.program()), "hang": box.getenv("PATH")}[dir]
				box.vars = append(box.vars, "PATH="+filepath.Join(box.home, "..", dir)+":"+rest)
			} else if c.after != "" {
				box.gitIn(box.work, c.after)
			}
			box.work = filepath.Join(box.work, c.dir)
			for _, line := range strings.Split(strings.TrimSpace(c.wants), "\n") {
				line, inSession := strings.CutPrefix(strings.TrimSpace(line), "SESSION ")
				words, rest, _ := strings.Cut(line, " = ")
				output, stderr, _ := strings.Cut(rest, "|")
				code, stdout, _ := strings.Cut(strings.TrimSpace(output), " ")
				if inSession || words == "review" && strings.HasPrefix(code, "0") {
					box.run(20*time.Second, "", "claude", "-p", "another task")
				}
				got := box.run(100*time.Second, "", append([]string{"ccc"}, strings.Fields(words)...)...)
				if fmt.Sprint(got.code) != code || !strings.HasPrefix(got.stdout, stdout) || (stdout == "") != (got.stdout == "") ||
					!strings.Contains(got.stderr, strings.TrimSpace(stderr)) || code != "0" && got.stderr == "" {
					t.Errorf("ccc %s: %+v, want %s", words, got, rest)
				}
			}
		})
	}
}

// A session that is approved, and what ccc verdict says of it since.
func TestVerdictChanged(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.work, "git init -q; echo a >a; git add .; git commit -qm first")
	box.reviews(allows("well done"))
	passed := regexp.MustCompile(`\d+s ago`)
	expect := func(code int, word string, lines ...string) {
		t.Helper()
		got := box.run(20*time.Second, "", "ccc", "verdict")
		if text := strings.Join(lines, "\n"); got.code != code || strings.TrimSpace(got.stdout) != word || passed.ReplaceAllString(strings.TrimSpace(got.stderr), "0s ago") != text {
			t.Errorf("%+v, want %s, %d, %s", got, word, code, text)
		}
	}
	box.submit("do it")
	expect(3, "none", "ccc: No session has been reviewed here: "+box.work)
	if got := box.stop(""); !strings.Contains(got.stdout, `"systemMessage":"[SUPERVISOR] Review 1/8: approved`) || strings.Contains(got.stdout, "decision") {
		t.Errorf("%+v", got)
	}
	const left = "The reviewer leaves this to you: well done"
	same, changed := []string{"ccc: Review 1/8: approved 0s ago · nothing has changed since", left}, []string{"ccc: Review 1/8: approved 0s ago · changed since: notes.txt", left}
	expect(0, "allow", same...)
	box.write("../work/notes.txt", 0o600, "other\n")
	expect(3, "changed", changed...)
	box.write("../work/notes.txt", 0o600, "a note\n")
	box.gitIn(box.work, "git commit -q --allow-empty -m second")
	expect(0, "allow", same...)
	box.write("../work/junk", 0o600, "")
	box.submit("push it")
	expect(0, "allow", append(same, "A newer request has not been judged yet.", "New, changed or gone since, and not tracked by git (no push holds them): junk")...)
	// On a terminal a refusal says what to do.
	box.write("../work/notes.txt", 0o600, "other\n")
	expectIn(t, "on a terminal", onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 200), "\r\nWhat to do: ccc review judges what is here now; git push --no-verify skips this check\r\n")
	// A file that changes while the reviewer looks has changed since.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	box.stop("")
	expect(3, "changed", "ccc: Review 1/8: approved 0s ago · changed since: notes.txt")
	// Where the project is named by a link it is the same working tree.
	check(t, os.Symlink(box.work, filepath.Join(box.home, "link")))
	expectIn(t, "through a link", box.gitIn(box.home, "cd link; ccc verdict 2>&1 || :"), "changed since: notes.txt")
}

// hookLines returns the lines of a guide that make the pre-push hook.
func hookLines(t *testing.T, page string) string {
	t.Helper()
	for _, block := range blocksOf(t, page) {
		if strings.Contains(block.text, "exec ccc verdict") {
			return block.text
		}
	}
	t.Fatalf("%s shows no pre-push hook", page)
	return ""
}

// The guide's line works wherever git looks for hooks, and behind a hook that is there already.
func TestPushHook(t *testing.T) {
	beside(t)
	lines := hookLines(t, pages[1][0])
	expectIs(t, "the lines of "+pages[1][1], hookLines(t, pages[1][1]), lines)
	for name, before := range map[string]string{
		"a clone": "rm -rf .git/hooks", "a linked worktree": "git worktree add -q ../side; cd ../side",
		"core.hooksPath": `git config core.hooksPath "$PWD/../my hooks"`,
		"another hook":   `mkdir -p .git/hooks; printf '#!/bin/sh\ncat >"$HOME/other"\n' >.git/hooks/pre-push`,
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.vars = append(box.vars, "LANG=en_US.UTF-8")
			box.gitIn(box.home+"/../remote", "git init -q --bare")
			box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git remote add origin ../remote; git push -q origin main; "+before+"; "+lines)
			push := func(wanted ...string) {
				t.Helper()
				in := map[bool]string{true: "../side", false: "."}[name == "a linked worktree"]
				expectIn(t, "the push", box.gitIn(filepath.Join(box.work, in), "git push origin HEAD:main 2>&1 && echo PUSHED || echo REFUSED"), wanted...)
			}
			box.gitIn(box.work, "echo 0 >a; git add a; git commit -qm x; git -C ../side merge -q main 2>/dev/null || :")
			push("none\n", "REFUSED")
			if name == "another hook" {
				expectIn(t, "what the other hook got", box.read("other"), "refs/heads/main")
			}
			if name == "a linked worktree" {
				return
			}
			box.inSession()
			box.submit("do it")
			box.gitIn(box.work, "echo 1 >a; git add a; git commit -qm x")
			box.reviews(allows(""))
			box.stop("")
			push("allow\n", "PUSHED")
			box.gitIn(box.work, "echo 2 >a; git commit -qam y")
			push("changed\n", "a\n", "REFUSED")
		})
	}
}

// At the limit the reason is what is still open, on the line that says which review it was.
func TestVerdictLimit(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	box.repository()
	box.reviews(blocks("add tests"))
	box.submit("do it")
	box.stop("")
	box.stop("")
	expectEnd(t, "ccc verdict", box.run(20*time.Second, "", "ccc", "verdict"), 1, "limit\n", " ago · add tests\n")
	box.submit("and that")
	expectEnd(t, "behind a prompt", box.run(20*time.Second, "", "ccc", "verdict"), 1, "limit\n", " ago · add tests\n")
}

// In a terminal ccc verdict says what to do: where Claude Code has never been, no review helps.
func TestVerdictAdvice(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	expectIn(t, "without a session", onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 100), startAdvice.en)
	box.launch()
	box.turns("Done.")
	box.run(30*time.Second, "", "claude", "-p", "hi")
	expectIn(t, "with one", onTerminal(t, box.command("sh", "-c", "ccc verdict 2>&1"), 100), verdictAdvice.en)
}
