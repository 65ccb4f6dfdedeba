package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What git, the repository or the timeline may be like when somebody asks: each command answers in a line, with its exit
// code, and the gate never says yes to what no review approved.
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
			verdict --commit HEAD = 2 | in no git working tree
			verdict --pushed = 2 | in no git working tree
			report = 0 ## Reviewed by ccc |
			report --commit HEAD = 2 | in no git working tree
			review = 0 [SUPERVISOR] Review approved |`},
		{"a bare repository", first, "echo 1 >>notes.txt; git commit -qam x", "git clone -q --bare . ../bare", "../bare", `
			verdict = 3 none | No session was reviewed in this working tree
			verdict --commit HEAD = 2 | in no git working tree
			verdict --pushed = 2 | in no git working tree
			report = 3 | there is no review of`},
		{"no session", first, "", "", "", `
			verdict = 3 none | No session was reviewed
			verdict --commit HEAD = 3 none | notes.txt: no review saw it
			verdict --commit nowhere = 2 | no commit "nowhere"
			verdict --pushed = 2 | no commit "1111
			report = 3 | there is no review of
			report --base nowhere = 2 | no commit "nowhere"
			review = 2 | no session of Claude Code's`},
		{"no commit yet", "git init -q", "echo 1 >>notes.txt", "", "", `
			verdict = 0 allow |
			verdict --commit HEAD = 2 | no commit "HEAD"
			report = 0 ## Reviewed by ccc |
			report --commit HEAD = 2 | no commit "HEAD"
			report --base nowhere = 2 | no commit "nowhere"
			review = 0 [SUPERVISOR] Review approved |`},
		{"an unknown revision", first, "echo 1 >>notes.txt; git commit -qam x", "", "", `
			verdict --commit nowhere = 2 | no commit "nowhere"
			verdict --commit -- = 2 | no commit
			verdict --commit = 2 | flag needs an argument
			verdict --pushed = 2 | no commit "1111
			report --commit nowhere = 2 | no commit "nowhere"
			report --base nowhere = 2 | no commit "nowhere"
			report ffff = 2 | no session
			review ffff = 2 | no session`},
		{"a rebase under way", first, "echo 1 >>notes.txt; git commit -qam x",
			"git checkout -qb side HEAD~1; echo s >notes.txt; git commit -qam s; git checkout -q main; ! git rebase side 2>/dev/null", "", `
			verdict = 3 changed | notes.txt
			verdict --commit HEAD = 3 none | notes.txt: it is not as it was reviewed
			verdict --commit main = 0 0b6c3a52 |
			report = 0 ## Reviewed by ccc |
			report --commit HEAD = 0 ## ccc: part of it was not approved |
			review = 0 [SUPERVISOR] Review approved |`},
		{"a timeline of 1.2", first, "echo 1 >>notes.txt; git commit -qam x", timeline + `sed -i 's/"kind":"[a-z]*",//' $f`, "", `
			verdict = 3 none |
			verdict --commit HEAD = 3 none | notes.txt: no review saw it
			report = 3 | there is no review of
			review = 0 [SUPERVISOR] Review approved |`},
		{"a torn record", first, "echo 1 >>notes.txt; git commit -qam x", timeline + "head -c -40 $f >$f.new; mv $f.new $f", "", `
			verdict = 1 failed | killed
			verdict --commit HEAD = 3 none | notes.txt: no review saw it
			report = 0 ## ccc: part of it was not approved |
			review = 0 [SUPERVISOR] Review approved |`},
		{"another record behind a torn one", first, "echo 1 >>notes.txt; git commit -qam x",
			timeline + `head -c -40 $f >$f.new; echo >>$f.new; tail -n 1 $f >>$f.new; mv $f.new $f`, "", `
			verdict = 0 allow |
			verdict --commit HEAD = 0 0b6c3a52 |`},
		{"doubled records", first, "echo 1 >>notes.txt; git commit -qam x", timeline + "sed -i p $f", "", `
			verdict = 0 allow |
			verdict --commit HEAD = 0 0b6c3a52 |
			report = 0 ## ccc: all of it was reviewed |`},
		{"records of other types", first, "echo 1 >>notes.txt; git commit -qam x",
			timeline + `printf '\000\377{}[]\n{"kind":3}\n{"kind":"end","review":"x","verdict":"allow","files":7}\n' >>$f`, "", `
			verdict = 0 allow |
			verdict --commit HEAD = 0 0b6c3a52 |`},
		{"no state directory", first, "", "mkdir -p ../home/.claude; echo x >../home/.claude/ccc", "", `
			verdict = 1 | not a directory
			verdict --commit HEAD = 2 | not a directory
			report = 1 | not a directory
			status = 1 | not a directory
			log = 1 | not a directory
			SESSION review = 4 | not a directory`},
		{"2,001 files of the user's", first + "; for i in $(seq 2001); do echo $i >f$i; done", "echo 1 >>notes.txt; git commit -qam x", "", "", `
			verdict = 3 unbound | not bound
			verdict --commit HEAD = 3 none | notes.txt: no review saw it`},
		{"2,001 files of the agent's", first, "for i in $(seq 2001); do echo $i >f$i; done; git add .; git commit -qm x", "", "", `
			verdict = 3 unbound | 2001 paths differ
			verdict --commit HEAD = 3 none | and 1982 more paths
			report = 0 ## ccc: part of it was not approved |`},
		{"no git", first, "echo 1 >>notes.txt; git commit -qam x", "PATH nogit", "", `
			verdict = 3 unbound | git
			verdict --commit HEAD = 2 | git
			verdict --pushed = 2 | git
			report = 2 | git`},
		{"a git that hangs", first, "echo 1 >>notes.txt; git commit -qam x", "PATH hang", "", `
			verdict = 3 unbound | git took longer than 5s`},
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
			if dir, is := strings.CutPrefix(c.after, "PATH "); is {
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
				pushed := "refs/heads/main " + strings.Repeat("1", 40) + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
				got := box.run(100*time.Second, pushed, append([]string{"ccc"}, strings.Fields(words)...)...)
				if fmt.Sprint(got.code) != code || !strings.HasPrefix(got.stdout, stdout) || (stdout == "") != (got.stdout == "") ||
					!strings.Contains(got.stderr, strings.TrimSpace(stderr)) || code != "0" && got.stderr == "" {
					t.Errorf("ccc %s: %+v, want %s", words, got, rest)
				}
			}
		})
	}
}

// Of the reviews of a path the last in each working tree counts.
func TestLastReviewCounts(t *testing.T) {
	d := stateDir(t.TempDir())
	place, files := look{Top: "/p", Repo: "/p/.git"}, map[string]string{"a": "100644 beef"}
	at := now()
	judge := func(session string, v verdict, minutes int) {
		t.Helper()
		r := record{Time: at.Add(time.Duration(minutes) * time.Minute), Event: eventStop, Review: fmt.Sprint(v, minutes), look: place}
		r.Kind = kindBegin
		check(t, d.session(session).append(r))
		r.Kind, r.Files, r.Verdict = kindEnd, files, v
		check(t, d.session(session).append(r))
	}
	answers := func() verdict {
		all, err := d.judgements("/p/.git")
		check(t, err)
		by, _ := ask(all, "/p", "a", files["a"])
		return by.Verdict
	}
	judge("one", verdictAllow, 0)
	expectIs(t, "an approval", answers(), verdictAllow)
	judge("one", verdictBlock, 1)
	expectIs(t, "a refusal after it", answers(), verdictBlock)
	judge("one", verdictAllow, 2)
	expectIs(t, "an approval after that", answers(), verdictAllow)
	judge("two", verdictBlock, 10)
	expectIs(t, "another session's refusal", answers(), verdictBlock)
	judge("two", verdictAllow, 11)
	expectIs(t, "its approval", answers(), verdictAllow)
	judge("another", verdictBlock, 20) // the time counts, not the name of the session
	expectIs(t, "a later refusal", answers(), verdictBlock)
	judge("another", verdictAllow, 21)
	expectIs(t, "its approval", answers(), verdictAllow)
	// What it rests on is this working tree's own review, if that approved.
	place.Top = "/a"
	judge("three", verdictAllow, 12)
	for top, session := range map[string]string{"/p": "another", "/a": "three"} {
		all, err := d.judgements("/p/.git")
		check(t, err)
		if by, _ := ask(all, top, "a", files["a"]); by == nil || by.session != session {
			t.Errorf("in %s it rests on %+v", top, by)
		}
	}
}

// What the reviews say of a path: in each working tree the last that judged it so, whichever approves; of two that overlapped the
// refusing one is later.
func TestAsk(t *testing.T) {
	at := now()
	// j is a judgement of the path a, by the minutes of its begin and its end.
	j := func(session, top string, v verdict, from, until int, content string) judgement {
		r := reviewRound{start: at.Add(time.Duration(from) * time.Minute)}
		r.Time, r.Verdict, r.Top, r.Files = at.Add(time.Duration(until)*time.Minute), v, top, map[string]string{"a": content}
		return judgement{session: session, reviewRound: r}
	}
	const no, yes = verdictBlock, verdictAllow
	for name, c := range map[string]struct {
		all    []judgement
		answer string
		by     int // index of all, -1 for none
	}{
		"nobody":                        {nil, "unseen", -1},
		"another path":                  {[]judgement{{reviewRound: reviewRound{record: record{Files: map[string]string{"b": "1"}}}}}, "unseen", -1},
		"in another content":            {[]judgement{j("one", "/p", yes, 1, 2, "2")}, "other", -1},
		"that it is gone":               {[]judgement{j("one", "/p", yes, 1, 2, "")}, "other", -1},
		"approved":                      {[]judgement{j("one", "/p", yes, 1, 2, "1")}, "approved", 0},
		"approved, then in another":     {[]judgement{j("one", "/p", yes, 1, 2, "1"), j("one", "/p", no, 3, 4, "2")}, "approved", 0},
		"refused":                       {[]judgement{j("one", "/p", no, 1, 2, "1")}, "sent back", 0},
		"refused, then approved":        {[]judgement{j("one", "/p", no, 1, 10, "1"), j("one", "/p", yes, 11, 12, "1")}, "approved", 1},
		"approved, then refused":        {[]judgement{j("one", "/p", yes, 1, 2, "1"), j("one", "/p", no, 3, 4, "1")}, "sent back", 1},
		"of one session, overlapping":   {[]judgement{j("one", "/p", no, 1, 10, "1"), j("one", "/p", yes, 9, 12, "1")}, "sent back", 0},
		"of two sessions":               {[]judgement{j("one", "/p", no, 1, 10, "1"), j("two", "/p", yes, 11, 12, "1")}, "approved", 1},
		"of two, overlapping":           {[]judgement{j("one", "/p", no, 1, 10, "1"), j("two", "/p", yes, 9, 12, "1")}, "sent back", 0},
		"of two, at the same time":      {[]judgement{j("one", "/p", no, 1, 10, "1"), j("two", "/p", yes, 10, 12, "1")}, "sent back", 0},
		"of two, the refusal is later":  {[]judgement{j("one", "/p", yes, 1, 10, "1"), j("two", "/p", no, 9, 12, "1")}, "sent back", 1},
		"of two, both approve":          {[]judgement{j("one", "/p", yes, 1, 10, "1"), j("two", "/p", yes, 9, 12, "1")}, "approved", 1},
		"of two trees, refused here":    {[]judgement{j("one", "/p", no, 1, 2, "1"), j("two", "/q", yes, 3, 4, "1")}, "approved", 1},
		"of two trees, refused there":   {[]judgement{j("one", "/o", no, 1, 2, "1"), j("two", "/p", yes, 3, 4, "1")}, "approved", 1},
		"of two trees, and overlapping": {[]judgement{j("one", "/q", no, 1, 10, "1"), j("two", "/p", yes, 9, 12, "1")}, "approved", 1},
		"of three trees":                {[]judgement{j("one", "/o", yes, 1, 2, "1"), j("two", "/p", yes, 3, 4, "1"), j("six", "/q", yes, 5, 6, "1")}, "approved", 1},
		"of two other trees":            {[]judgement{j("one", "/o", yes, 1, 2, "1"), j("two", "/q", yes, 3, 4, "1")}, "approved", 0},
		"refused in both":               {[]judgement{j("one", "/q", no, 1, 2, "1"), j("two", "/o", no, 3, 4, "1")}, "sent back", 1},
	} {
		by, isSeen := ask(c.all, "/p", "a", "1")
		answer := "unseen"
		switch {
		case by.approved():
			answer = "approved"
		case by != nil:
			answer = "sent back"
		case isSeen:
			answer = "other"
		}
		if answer != c.answer || (by == nil) != (c.by < 0) || by != nil && by != &c.all[c.by] {
			t.Errorf("%s: %s by %+v, want %s by %d", name, answer, by, c.answer, c.by)
		}
	}
}

// What the gate prints: what is there already, twenty of what nobody approved, and the reviews that it rests on, this working tree's own
// first, with what they judged and the commit lacks.
func TestGateTells(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8", "TZ=UTC")
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git update-ref refs/remotes/origin/topic HEAD")
	verdict := func(code int, stdin string, args ...string) commandResult {
		t.Helper()
		got := box.run(20*time.Second, stdin, append([]string{"ccc", "verdict"}, args...)...)
		if got.code != code || code == 3 && got.stdout != "none\n" {
			t.Errorf("%q: %+v, want %d", args, got, code)
		}
		return got
	}
	expectEnd(t, "no default branch", verdict(2, "", "--commit", "HEAD"), 2, "", "ccc: the default branch of no remote is known\n     git remote set-head REMOTE -a\n")
	box.gitIn(box.work, "git remote add origin ../nowhere; git update-ref refs/remotes/origin/main HEAD")
	expectEnd(t, "what a remote has", verdict(3, "", "--commit", "HEAD"), 3, "none\n", "ccc: HEAD adds nothing to what the remotes have already\n")
	for _, args := range [][]string{{"--pushed", testSession}, {"--commit", "HEAD", "--pushed"}, {"--commit", "HEAD", testSession}} {
		expectEnd(t, "two questions", verdict(2, "", args...), 2, "", "one of SESSION, --commit and --pushed")
	}
	box.gitIn(box.work, "for i in $(seq 20); do echo $i >f$i; done; git add .; git commit -qm files")
	if got := verdict(3, "", "--commit", "HEAD"); strings.Count(got.stderr, ": no review saw it\n") != 20 || strings.Contains(got.stderr, "more path") || !strings.HasSuffix(unspaced(got.stderr), unspaced(gateForUser.en)) {
		t.Errorf("20 paths: %s", got.stderr)
	}
	box.gitIn(box.work, "echo 21 >f21; git add .; git commit -qm more")
	if got := verdict(3, "", "--commit", "HEAD"); strings.Count(got.stderr, ": no review saw it\n") != 20 || !strings.Contains(got.stderr, "\n... and 1 more paths\n") {
		t.Errorf("21 paths: %s", got.stderr)
	}
	// What one of the refs adds is refused, whatever of the others is.
	zero, first, last := strings.Repeat("0", 40), box.gitIn(box.work, "git rev-parse HEAD~2"), box.gitIn(box.work, "git rev-parse HEAD")
	expectEnd(t, "one of two refs", verdict(3, "refs/heads/main "+last+" refs/heads/main "+zero+"\nrefs/tags/a "+first+" refs/tags/a "+zero+"\n", "--pushed"), 3, "none\n", "f1: no review saw it")
	expectEnd(t, "what the place has", verdict(0, "refs/heads/main "+last+" refs/heads/main "+last+"\n", "--pushed"), 0, "", "")
	expectEnd(t, "what the place has of another ref", verdict(0, "HEAD "+last+" refs/heads/main "+zero+"\nrefs/tags/a "+first+" refs/tags/a "+last+"\n", "--pushed"), 0, "", "")
	expectEnd(t, "an id that is not here", verdict(3, "HEAD "+last+" refs/heads/main "+strings.Repeat("1", 40)+"\n", "--pushed"), 3, "none\n", "f1: no review saw it")
	expectEnd(t, "three words", verdict(2, "a b c\n", "--pushed"), 2, "", `not "a b c"`)

	files := func(from, until int) map[string]string {
		found := map[string]string{"gone.py": "100644 " + zero, "f": "100644 " + zero, "a": "100644 " + zero, "z": "100644 " + zero}
		for i := from; i <= until; i++ {
			found[fmt.Sprint("f", i)] = "100644 " + box.gitIn(box.work, fmt.Sprint("git rev-parse HEAD:f", i))
		}
		return found
	}
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	review := func(id, top string, minute int, v outcome, files map[string]string) []any {
		r := record{Time: at.Add(time.Duration(minute) * time.Minute), Kind: kindBegin, Event: eventStop, Review: id, Requests: []string{"an old one", "do " + id + "\nat once"}, look: look{Top: top, Repo: box.work + "/.git"}}
		begun := r
		r.Kind, r.Files, r.outcome = kindEnd, files, v
		r.Time = r.Time.Add(time.Second)
		return []any{begun, r}
	}
	approved := outcome{Verdict: verdictAllow}
	one := review("late", box.work, 7, approved, files(11, 20))
	before := one[1].(record)
	before.SentBefore = true
	one[1] = before
	box.timelineOf("one", append(review("early", box.work, 5, approved, files(6, 10)), one...)...)
	box.timelineOf("two", append(review("elsewhere", "/side", 1, approved, files(1, 3)), review("there", "/other", 2, approved, files(4, 5))...)...)
	box.timelineOf("three", review("refused", box.work, 3, outcome{Verdict: verdictBlock, Feedback: "no"}, files(21, 21))...)
	box.timelineOf("other", review("of another repository", box.work, 9, approved, files(21, 21))...)
	path := ".claude/ccc/supervisor-other-events.jsonl"
	box.write(path, 0o600, strings.ReplaceAll(box.read(path), box.work+"/.git", "/elsewhere/.git"))
	refused := verdict(3, "", "--commit", "HEAD")
	expectIs(t, "the first line", strings.SplitN(refused.stderr, "\n", 2)[0], "f21: it was sent back (session three, 2026-01-02 03:03)")
	box.gitIn(box.work, "git rm -q f21; git commit -qm without")
	got := verdict(0, "", "--commit", "HEAD")
	expectIs(t, "what it rests on", got.stdout,
		"one 2026-01-02 03:05 · Review approved · only the conversation and the changes were read · do early …\n"+
			"one 2026-01-02 03:07 · Review approved · only the conversation and the changes were read · do late … · all of it had been sent back before, unchanged\n"+
			"two 2026-01-02 03:01 · Review approved · only the conversation and the changes were read · do elsewhere …\n"+
			"two 2026-01-02 03:02 · Review approved · only the conversation and the changes were read · do there …\n")
	expectIs(t, "what it lacks", got.stderr, "ccc: left out: a, f, gone.py, z\n")
	both := "refs/tags/a " + last + " refs/tags/a " + zero + "\nHEAD " + box.gitIn(box.work, "git rev-parse HEAD") + " refs/heads/main " + zero + "\n"
	if got := box.run(20*time.Second, both, "ccc", "verdict", "--pushed"); got.code != 3 || !strings.HasPrefix(got.stdout, "none\none ") {
		t.Errorf("one that is refused, and one that is not: %+v", got)
	}
	// It asks of what differs from all branches of the remotes; where one has the commit, of what differs from the default branch, or of all of it.
	box.gitIn(box.work, "git update-ref refs/remotes/origin/topic "+last)
	expectIn(t, "against another branch", verdict(3, "", "--commit", "HEAD").stderr, "f21: it is not as it was reviewed\n")
	box.gitIn(box.work, "git update-ref refs/remotes/origin/topic HEAD")
	expectIn(t, "on another branch", verdict(0, "", "--commit", "HEAD").stdout, "do early")
	alone := box.gitIn(box.work, "git commit-tree HEAD^{tree} -m alone")
	box.gitIn(box.work, "git update-ref refs/remotes/origin/topic "+alone)
	expectIs(t, "without a common commit", strings.SplitN(verdict(3, "", "--commit", alone).stderr, "\n", 2)[0], "notes.txt: no review saw it")
	// Where git or a timeline can't be read, it doesn't say yes.
	box.gitIn(box.work, "git update-ref -d refs/remotes/origin/topic")
	pushed := "HEAD " + box.gitIn(box.work, "git rev-parse HEAD") + " refs/heads/main " + zero + "\n"
	box.write(".claude/ccc/supervisor-broken-events.jsonl/x", 0o600, "")
	for _, args := range [][]string{{"--commit", "HEAD"}, {"--pushed"}} {
		expectEnd(t, "with a broken timeline", verdict(2, pushed, args...), 2, "", "supervisor-broken-events.jsonl")
	}
	check(t, os.RemoveAll(filepath.Join(box.home, ".claude/ccc/supervisor-broken-events.jsonl")))
	verdict(0, pushed, "--pushed")
	box.write("../work/.git/refs/remotes/origin/broken", 0o600, strings.Repeat("1", 40)+"\n")
	for _, args := range [][]string{{"--commit", "HEAD"}, {"--pushed"}} {
		if got := verdict(2, pushed, args...); got.stdout != "" || got.stderr == "" {
			t.Errorf("with a broken ref: %+v", got)
		}
	}
}

// FuzzPathLists: of two lists of what differs from a commit, as git prints them, exactly those paths have changed between whose
// content differs, whatever is in their names; and a path is told from its quoted name.
func FuzzPathLists(f *testing.F) {
	f.Add("a\nb c\n\"d\"\n文", []byte{0, 1, 2, 3, 4, 5})
	f.Add("'a'\n\\\n\t", []byte{9, 27, 70, 255})
	// quoted is a name as git writes it with core.quotePath.
	quoted := func(name string) string {
		out, marks := "", map[byte]string{'"': `\"`, '\\': `\\`, 7: `\a`, 8: `\b`, 9: `\t`, 10: `\n`, 11: `\v`, 12: `\f`, 13: `\r`}
		for _, b := range []byte(name) {
			mark, is := marks[b]
			switch {
			case is:
			case b < ' ' || b > '~':
				mark = fmt.Sprintf(`\%03o`, b)
			default:
				mark = string(b)
			}
			out += mark
		}
		if out != name {
			return `"` + out + `"`
		}
		return name
	}
	content := func(n byte) (mode, object string) {
		if n%4 == 0 {
			return "000000", strings.Repeat("0", 40)
		}
		return "100644", strings.Repeat(string('a'+rune(n%4)), 40)
	}
	f.Fuzz(func(t *testing.T, text string, states []byte) {
		base, then, present := map[string]byte{}, map[string]byte{}, map[string]byte{}
		for i, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == 0 }) {
			if i >= len(states) || i == 20 {
				break
			}
			name = strings.ReplaceAll(name, "..", "--") + "\n"[:i%2] // each second one has a newline in it
			base[name], then[name], present[name] = states[i]%4, states[i]/4%4, states[i]/16%4
		}
		list := func(now map[string]byte) pathStates {
			s := &lookOutput{lists: map[string]pathStates{"": {}}}
			lines := &lineWriter{line: s.read}
			for name := range base {
				if now[name] != base[name] {
					was, object := content(base[name])
					is, other := content(now[name])
					fmt.Fprintf(lines, ":%s %s %s %s M\t%s\n", was, is, object, other, quoted(name))
				}
			}
			lines.close()
			return s.lists[""]
		}
		got, want := list(then).changedTo(list(present), "/nowhere"), map[string]string{}
		for name := range base {
			if then[name] != present[name] {
				want[quoted(name)] = pathContent(content(present[name]))
			}
			expectIs(t, "the name", unquoted(quoted(name)), name)
		}
		if !maps.Equal(got, want) {
			t.Errorf("changed: %q, want %q of %v, %v, %v", got, want, base, then, present)
		}
	})
}

// What git begins to tell its hook is waited for, however slow the machine is: HEAD may be another commit.
func TestPushedLinesThatComeSlowly(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	check(t, err)
	defer read.Close()
	go func() {
		defer write.Close()
		_, _ = write.WriteString("one\n")
		time.Sleep(pushPatience + time.Second/2)
		_, _ = write.WriteString("two\n")
	}()
	expectEqual(t, "the lines", pushedLines(read), []string{"one\n", "two\n"})
}
