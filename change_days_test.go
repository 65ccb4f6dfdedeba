package main

// Days of work, of one session or several, in one working tree or two: which lines of the diff each reviewer is shown, and what
// ccc verdict says at the end. A model of SPEC's rules has said what is to be seen.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A day's steps are
//
//	new S, fork S T       a session begins; T is a fork of S
//	on S, off S           it is supervised from here on, or not any more
//	p S                   a prompt
//	w S FILE, d S FILE    the agent adds a line, or takes the last one away (bgw: a background task does)
//	u TREE FILE           the user adds a line
//	stop, q, hand S V     a review of a stop, of a question, by hand (and where T is behind it, something is still to come)
//	rb S, re S V          a review begins and ends
//	commit, g TREE ...    git is used
//	wt S TREE, leave S    the agent enters a worktree, and leaves it; rmwt TREE removes it
//	lookfail              the next look fails
//	lost TREE             the objects of its looks are gone
var modelDays = []struct{ name, steps, shown, verdict string }{
	{"plain", "new A;p A;w A;u main b;stop A allow;u main c;p A;w A;stop A allow",
		"A:+A.1 +u.2 | A:+A.4", "allow"},
	{"prompt in review", "new A;p A;w A;rb A;p A;re A allow;w A;stop A allow",
		"A:+A.1 | A:+A.2", "allow"},
	{"prompt in review, then prompt", "new A;p A;w A;rb A;p A;re A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"queued before stop, prompt in mid-work", "new A;p A;w A;p A;rb A;re A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"queued before stop, other session", "new A;new B;p A;w A;p A;rb A;re A allow;w A;p B;w B c;stop B allow;stop A allow",
		"A:+A.1 | B:+B.3 | A:+A.2 +B.3", "allow"},
	{"wake unknown, prompt in mid-work", "new A;p A;w A;stop A allow;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"wake known", "new A;p A;w A;stop A allow T;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"! cmd refused then prompt", "new A;p A;w A;stop A allow;w A;stop A refuse;u main b;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 | A:+A.2 +A.4 +u.3", "allow"},
	{"! cmd refused, other session", "new A;new B;p A;w A;stop A allow;w A;stop A refuse;p B;stop B allow",
		"A:+A.1 | A:+A.2 | B:+A.2", "allow"},
	{"! cmd, other approved between", "new A;new B;p A;w A;stop A allow;w A;p B;w B c;stop B allow;stop A allow",
		"A:+A.1 | B:+B.3 | A:+A.2 +B.3", "allow"},
	{"look fails at first", "new A;lookfail;p A;w A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"look fails later", "new A;p A;w A;stop A allow;commit main;u main b;lookfail;p A;w A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3 +A.4 +u.2", "allow"},
	{"plain resumed", "new P main;off P;p P;w P;commit main;u main b;on P;p P;w P;stop P allow",
		"P:+P.1 +P.3 +u.2", "allow"},
	{"plain resumed, other approved", "new P;off P;p P;w P;new B;p B;w B c;stop B allow;on P;p P;stop P allow",
		"B:+B.2 | P:+B.2 +P.1", "allow"},
	{"fork", "new A;p A;w A;stop A refuse;fork A F;p F;w F;stop F allow",
		"A:+A.1 | F:+A.1 +F.2", "allow"},
	{"fork of approved", "new A;p A;w A;stop A allow;u main b;fork A F;p F;w F;stop F allow",
		"A:+A.1 | F:+A.1 +F.3 +u.2", "allow"},
	{"mid-work on", "new A;off A;p A;w A;on A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"off between", "new A;p A;w A;stop A allow;off A;p A;w A;on A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"two, one approved", "new A;new B;p A;w A;p B;w B c;stop B allow;w A;stop A allow",
		"B:+A.1 +B.2 | A:+A.1 +A.3 +B.2", "allow"},
	{"two, one approved, again", "new A;new B;p A;w A;p B;w B c;stop B allow;p B;w B c;stop B allow;stop A allow",
		"B:+A.1 +B.2 | B:+B.3 | A:+A.1 +B.2 +B.3", "allow"},
	{"two, refused after other began", "new A;new B;p A;w A;p B;w B c;stop B allow;w A;p B;stop A refuse;w B c;stop B allow",
		"B:+A.1 +B.2 | A:+A.1 +A.3 +B.2 | B:+A.1 +A.3 +B.2 +B.4", "allow"},
	{"two, refused after B prompt, C", "new A;new B;p A;p B;w B;stop B allow;w A;p B;stop A limit;stop B allow",
		"B:+B.1 | B:+A.2 +B.1", "allow"},
	{"branch leftover", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B;stop B allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.2 | B:+B.3 | C:-", "allow"},
	{"branch same session", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A refuse;g main checkout -q main;p A;w A b;stop A allow;g main checkout -q feat;p A;stop A allow",
		"A:+A.2 | A:+A.3 -u.1 | A:+A.2 +A.3", "allow"},
	{"branch same session approved", "new A;g main checkout -q -b feat;u main a;commit main;p A;w A;commit main;stop A allow;g main checkout -q main;p A;w A b;stop A allow",
		"A:+A.2 | A:+A.3", "allow"},
	{"carried dirty to other branch", "new A;g main checkout -q -b feat;u main c;commit main;p A;w A a;stop A refuse;g main checkout -q main;new B;p B;stop B allow",
		"A:+A.2 | B:-", "allow"},
	{"limit at the end", "new A;p A;w A;stop A refuse;stop A limit",
		"A:+A.1", "limit"},
	{"limit, question", "new A;p A;w A;stop A refuse;stop A limit;new B;p B;stop B allow;u main b;p B;w B;stop B allow",
		"A:+A.1 | B:+A.1 | B:+B.3", "allow"},
	{"clear", "new A;p A;w A;stop A refuse;new B;p B;w B;stop B allow",
		"A:+A.1 | B:+A.1 +B.2", "allow"},
	{"clear unreviewed", "new A;p A;w A;new B;p B;w B;stop B allow",
		"B:+A.1 +B.2", "allow"},
	{"worktree", "new A;p A;wt A W;w A;commit W;stop A allow;leave A;u main b;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "allow"},
	{"worktree removed anew", "new A;p A;wt A W;w A;stop A allow;leave A;rmwt W;wt A W;w A;stop A allow;leave A;p A;stop A allow",
		"A:+A.1 | A:+A.2 | A:-", "allow"},
	{"worktree mid work", "new A;p A;w A;wt A W;w A;stop A allow;leave A;p A;w A;stop A allow",
		"A:+A.2 | A:+A.1 +A.3", "allow"},
	{"worktree, other session in main", "new A;p A;wt A W;w A;stop A allow;leave A;u main b;new B;p B;w B;stop B allow",
		"A:+A.1 | B:+B.3", "allow"},
	{"worktree, Esc, prompt there", "new A;p A;wt A W;w A;p A;w A;stop A allow",
		"A:+A.1 +A.2", "none"},
	{"worktree approved, prompt, again", "new A;p A;wt A W;w A;stop A allow;u W b;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "none"},
	{"work mode thanks", "new A;p A;w A;stop A allow;u main b;p A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3", "allow"},
	{"question approved", "new A;p A;w A;q A allow;w A c;stop A allow",
		"A?:+A.1 | A:+A.1 +A.2", "allow"},
	{"question approved after end", "new A;p A;w A;stop A allow T;w A;q A allow;w A c;stop A limit;new B;p B;stop B allow",
		"A:+A.1 | A?:+A.2 | B:+A.2 +A.3", "allow"},
	{"cancel after wake", "new A;p A;w A;stop A allow T;w A;rb A;re A cancel;new B;p B;stop B allow",
		"A:+A.1 | A:+A.2 | B:+A.2", "allow"},
	{"hand between", "new A;p A;w A;hand A allow;w A;stop A allow;u main b;hand A allow",
		"Ah:+A.1 | A:+A.2 | Ah:+u.3", "allow"},
	{"hand of another, with the user's edits since the approval", "new A;p A;w A;stop A allow;u main b;new B;p B;w B c;hand B allow",
		"A:+A.1 | Bh:+B.3 +u.2", "allow"},
	{"hand busy", "new A;p A;w A;hand A allow main T;w A;stop A allow",
		"Ah:+A.1 | A:+A.2", "allow"},
	{"hand of plain beside supervised", "new P;off P;p P;w P;new B;p B;w B c;stop B allow;hand P allow",
		"B:+B.2 | Ph:+B.2 +P.1", "allow"},
	{"hand of plain alone", "new P;off P;p P;w P;commit main;hand P allow",
		"Ph:+P.1", "allow"},
	{"hand: work behind look", "new A;p A;w A;rb A hand;w A;re A allow;p A;w A;stop A allow",
		"Ah:+A.1 | A:+A.2 +A.3", "allow"},
	{"failed", "new A;p A;w A;stop A fail;p A;w A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"failed look at review", "new A;p A;w A;lookfail;stop A allow;p A;w A;stop A allow",
		"A:+A.1 +A.2", "allow"},
	{"stop without prompt refused, other", "new A;new B;p A;w A;stop A allow;w A;stop A refuse;new C;p C;stop C allow",
		"A:+A.1 | A:+A.2 | C:+A.2", "allow"},
	{"user deleted by agent, G3 older", "new P;off P;p P;u main b;new A;p A;d A b;stop A refuse;on P;p P;stop P allow",
		"A:-u.1 | P:-", "allow"},
	{"objects lost", "new A;p A;w A;stop A allow;w A;p A;lost main;stop A refuse;new B;p B;stop B allow",
		"A:+A.1 | A:+A.1 +A.2 | B:+A.1 +A.2", "allow"},
	{"user dirty, own file", "u main a;new A;p A;w A a;stop A allow;u main a;p A;w A a;stop A allow",
		"A:+A.2 | A:+A.4", "allow"},
	{"old G3 in open makes others large", "new P;off P;p P;new A;p A;w A;stop A allow;on P;p P;u main b;p A;w A c;stop A allow",
		"A:+A.1 | A:+A.1 +A.3 +u.2", "allow"},
	{"three: B ended between", "new A;new B;new C;p A;w A;p B;w B c;stop B allow;w A;p C;w C b;stop C allow;stop A refuse;p C;stop C allow",
		"B:+A.1 +B.2 | C:+C.4 | A:+A.1 +A.3 +B.2 +C.4 | C:+A.1 +A.3 +B.2 +C.4", "allow"},
	{"bg task writes, known", "new A;p A;w A;stop A allow T;bgw A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.2 +A.3", "allow"},
	{"stash by user, pop", "new A;p A;w A;stop A refuse;g main stash -q -u;new B;p B;w B c;stop B allow;g main stash pop;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:-", "allow"},
	{"amend, rebase", "new A;p A;w A;commit main;stop A refuse;w A;g main commit -qam x --amend;p A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"amend, other session", "new A;p A;w A;commit main;stop A refuse;w A;g main commit -qam x --amend;new B;p B;stop B allow",
		"A:+A.1 | B:+A.1 +A.2", "allow"},
	{"refused from further back than an approval saw", "new P;off P;p P;w P;new A;p A;w A c;rb A;on P;stop P refuse;re A allow;new C;p C;stop C allow",
		"A:+A.2 | P:+A.2 +P.1 | C:+A.2 +P.1", "allow"},
	{"reset by agent", "u main a;commit main;new A;p A;g main reset -q --hard HEAD~1;stop A refuse;new B;p B;stop B allow",
		"A:-u.1 | B:-u.1", "allow"},
	{"loop", "new A;p A;w A;stop A allow T;p A;w A;stop A allow T;p A;w A;stop A allow T",
		"A:+A.1 | A:+A.2 | A:+A.3", "allow"},
	{"loop and other", "new A;new B;p A;w A;stop A allow T;u main b;p B;w B;stop B allow;u main b;p A;w A;stop A allow T;p B;w B;stop B allow",
		"A:+A.1 | B:+B.3 | A:+A.5 +B.3 +u.2 +u.4 | B:+B.6", "allow"},
	{"refused twice", "new A;p A;w A;stop A refuse;w A;stop A refuse;w A;stop A allow;p A;w A;stop A allow",
		"A:+A.1 | A:+A.1 +A.2 | A:+A.1 +A.2 +A.3 | A:+A.4", "allow"},
	{"failed behind refusal, tree as approved", "new A;new B;p A;w A;stop A allow;p B;stop B refuse;stop B fail",
		"A:+A.1 | B:- | B:-", "block"},
	{"refused by hand, other session", "new P;off P;p P;w P;hand P refuse;new B;p B;stop B allow",
		"Ph:+P.1 | B:+P.1", "allow"},
	{"own edits refused by hand, other", "new A;p A;w A;stop A allow;u main b;hand A refuse;new B;p B;stop B allow",
		"A:+A.1 | Ah:+u.2 | B:+u.2", "allow"},
	{"two reviews at once: refusal ends first", "new A;new B;p A;p B;w A;w B c;rb A;rb B;re B refuse;re A allow",
		"A:+A.1 +B.2 | B:+A.1 +B.2", "block"},
	{"two reviews at once: approval ends first", "new A;new B;p A;p B;w A;w B c;rb A;rb B;re A allow;re B refuse",
		"A:+A.1 +B.2 | B:+A.1 +B.2", "block"},
	{"two reviews at once, begun anew", "new A;new B;p A;w A;p B;w B c;stop B allow;p B;w A;rb A;w B c;rb B;re A refuse;re B allow",
		"B:+A.1 +B.2 | A:+A.1 +A.3 +B.2 | B:+A.3 +B.4", "block"},
	{"limit behind the look of another's review", "new A;new B;p A;p B;w A;rb A;w B c;stop B limit;re A allow;new C;p C;rb C;re C refuse",
		"A:+A.1 | C:+B.2", "block"},
	{"the same, and a question", "new A;new B;p A;p B;w A;rb A;w B c;stop B limit;re A allow;p A;stop A allow",
		"A:+A.1 | A:+B.2", "allow"},
	{"refused behind the look of another's review", "new A;new B;p A;p B;w A;rb A;w B c;stop B refuse;re A allow;new C;p C;stop C allow",
		"A:+A.1 | B:+A.1 +B.2 | C:+B.2", "allow"},
	{"failed behind the look by hand of another", "new A;new B;p A;p B;w A;rb A hand;w B c;stop B fail;re A allow;new C;p C;stop C allow",
		"Ah:+A.1 | B:+A.1 +B.2 | C:+B.2", "allow"},
	{"refused, then a prompt in the review that approves", "new A;p A;w A;stop A refuse;w A;rb A;p A;re A allow",
		"A:+A.1 | A:+A.1 +A.2", "allow"},
	{"begun before the look, refused behind it", "new A;new B;p A;p B;w A;w B c;rb B;rb A;re B refuse;re A allow",
		"B:+A.1 +B.2 | A:+A.1 +B.2", "block"},
	{"main edits while in worktree", "new A;p A;wt A W;w A;u main b;stop A allow;leave A;p A;w A;stop A allow",
		"A:+A.1 | A:+A.3 +u.2", "allow"},
	{"agent makes a branch, refused, main approved", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B b;stop B allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:+A.1 +B.2", "allow"},
	{"the same, merged", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;new B;p B;w B b;commit main;stop B allow;g main merge -q feat;new C;p C;stop C allow",
		"A:+A.1 | B:+B.2 | C:+A.1 +B.2", "allow"},
	{"the same, same session", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;p A;w A b;stop A allow;g main checkout -q feat;new C;p C;stop C allow",
		"A:+A.1 | A:+A.2 | C:+A.1 +A.2", "allow"},
	{"branch made, uncommitted, carried back", "new A;p A;g main checkout -q -b feat;w A;stop A refuse;g main checkout -q main;new B;p B;w B b;stop B allow",
		"A:+A.1 | B:+A.1 +B.2", "allow"},
	{"failed, tree as approved", "new A;p A;w A;stop A allow;p A;stop A fail",
		"A:+A.1 | A:-", "allow"},
	{"squash merge (limit)", "new A;p A;g main checkout -q -b feat;w A;commit main;stop A refuse;g main checkout -q main;g main merge -q --squash feat;commit main;new C;p C;stop C allow",
		"A:+A.1 | C:-", "allow"},
}

// A dayPlayer plays a day through the hook, ccc review and ccc verdict.
type dayPlayer struct {
	player
	off     map[string]bool
	tree    map[string]string    // where the agent of a session is, by session
	running map[string]*exec.Cmd // what has a review that runs, by session
	number  map[string]int       // of its reviewer's call
	lines   int
	fails   bool // the next look fails
	shown   []string
}

// as makes the session the one that acts.
func (p *dayPlayer) as(session string) {
	p.session = session
	if p.here = p.work; p.tree[session] != "" {
		p.here = filepath.Join(p.work, "..", p.tree[session])
	}
}

// edit adds a line to a file or takes one away.
func (p *dayPlayer) edit(dir, who, file string, adds bool) {
	path := filepath.Join(dir, file)
	text, _ := os.ReadFile(path)
	lines := strings.Fields(string(text))
	if adds {
		p.lines++
		at := len(lines)
		if p.lines%2 == 1 {
			at /= 2
		}
		lines = slices.Insert(lines, at, fmt.Sprintf("%s.%d", who, p.lines))
	} else if len(lines) > 0 {
		at := len(lines) - 1
		for i, line := range lines {
			if strings.HasPrefix(line, "u.") {
				at = i
			}
		}
		lines = slices.Delete(lines, at, at+1)
	}
	if len(lines) == 0 {
		check(p.t, os.Remove(path))
	} else {
		check(p.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
}

// withLook runs what takes a look, which fails if that was ordered.
func (p *dayPlayer) withLook(does func()) {
	index := filepath.Join(p.work, ".git/index")
	if p.fails {
		check(p.t, errors.Join(os.Rename(index, index+".kept"), os.WriteFile(index, []byte("broken"), 0o600)))
		defer func() { check(p.t, os.Rename(index+".kept", index)) }()
	}
	p.fails = false
	does()
}

// begin has a review begin: of a stop, by hand or of a question.
func (p *dayPlayer) begin(session, kind string, isWaiting bool) {
	p.as(session)
	p.reviews(fakeReview{runs(`until [ -f "$FAKE_CLAUDE_DIR/go-` + session + `" ]; do sleep 0.02; done; play verdict ` + session)})
	p.reviewers++
	p.number[session] = p.reviewers
	check(p.t, os.Rename(filepath.Join(p.home, "../fake/review"), filepath.Join(p.home, fmt.Sprintf("../fake/review-%d", p.reviewers))))
	asked := fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers)
	var cmd *exec.Cmd
	switch members := wayStop; {
	case kind == "hand":
		if isWaiting {
			p.tellCall()
		}
		cmd = p.command("ccc", "review", session)
		cmd.Dir = p.here
	case kind == "q":
		cmd = p.hookOf(p.event(eventPreToolUse, `"tool_name":"AskUserQuestion","tool_input":{"questions":[]}`))
	default:
		if isWaiting {
			members += `,"background_tasks":[{"id":"b1","type":"shell","status":"running"}]`
		}
		p.tell("assistant", "Done.")
		cmd = p.hookOf(p.event(eventStop, members))
	}
	p.running[session] = cmd
	p.withLook(func() {
		check(p.t, cmd.Start())
		for deadline := time.Now().Add(60 * time.Second); p.read(asked) == ""; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.t.Fatal("no review begins")
			}
		}
	})
	request := p.read(asked)
	if strings.Contains(request, strings.Split(say(changesUnknown, "|"), "|")[1]) {
		return
	}
	mark := map[string]string{"hand": "h", "q": "?"}[kind]
	p.shown = append(p.shown, session+mark+":"+shownLines(request))
}

// shownLines lists what the diff of a request adds and takes away.
func shownLines(request string) string {
	_, diff, _ := strings.Cut(request, "```diff\n")
	diff, _, _ = strings.Cut(diff, "\n```")
	lines := regexp.MustCompile(`(?m)^[+-].+$`).FindAllString(diff, -1)
	slices.Sort(lines)
	if lines == nil {
		return "-"
	}
	return strings.Join(lines, " ")
}

// tellCall adds a call of a tool to the transcript, which has no result yet.
func (p *dayPlayer) tellCall() {
	p.tell("assistant", "x")
	text, err := os.ReadFile(p.transcript())
	check(p.t, err)
	call := strings.Replace(string(text), `{"type":"text","text":"x"}`, `{"type":"tool_use","id":"t","name":"Bash","input":{}}`, 1)
	check(p.t, os.WriteFile(p.transcript(), []byte(call), 0o600))
}

// end ends a review with what its reviewer says, or by the user.
func (p *dayPlayer) end(session, verdict string) {
	cmd := p.running[session]
	delete(p.running, session)
	if verdict == "cancel" {
		check(p.t, errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()))
		return
	}
	p.reviews(map[string]fakeReview{"allow": allows(""), "refuse": blocks("not yet"), "fail": fails("overloaded")}[verdict])
	fake := func(name string) string { return filepath.Join(p.home, "../fake", name) }
	check(p.t, errors.Join(os.Rename(fake("review"), fake("verdict-"+session)), os.WriteFile(fake("go-"+session), nil, 0o600)))
	_ = cmd.Wait() // ccc review ends with the code of its verdict
	check(p.t, os.Remove(fake("go-"+session)))
}

// limit has a stop come at which the reviews are used up.
func (p *dayPlayer) limit(session string) {
	p.as(session)
	path := ".claude/ccc/supervisor-" + session + ".json"
	if text := p.read(path); strings.Contains(text, `"count":0`) {
		p.write(path, 0o600, strings.Replace(text, `"count":0`, `"count":1`, 1))
	}
	p.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	p.tell("assistant", "Done.")
	p.finish(p.hookOf(p.event(eventStop, wayStop)), 60*time.Second)
	check(p.t, os.Remove(filepath.Join(p.home, ".claude/ccc.json")))
}

func (p *dayPlayer) play(step string) {
	words := append(strings.Fields(step), "", "", "", "")
	name, of, rest := words[0], words[1], words[2:]
	dir := p.work
	if of != "main" {
		dir = filepath.Join(p.work, "..", of)
	}
	file := rest[0]
	switch name {
	case "new", "on", "off":
		p.off[of] = name == "off"
	case "fork":
		p.as(of)
		text, err := os.ReadFile(p.transcript())
		p.entries[file] = p.entries[of]
		p.as(file)
		check(p.t, errors.Join(err, os.WriteFile(p.transcript(), text, 0o600)))
	case "p":
		if p.as(of); !p.off[of] {
			p.withLook(func() { p.finish(p.hookOf(p.event(eventPrompt, `"prompt":"do it"`)), 60*time.Second) })
		}
		if p.tell("user", "do it"); p.off[of] {
			p.tell("assistant", "I begin.")
		}
	case "w", "d", "bgw":
		p.as(of)
		if file == "" {
			file = "a"
		}
		if p.edit(p.here, of, file, name != "d"); name != "bgw" {
			p.tell("assistant", "I have done that.")
		}
	case "u":
		if file == "" {
			file = "b"
		}
		p.edit(dir, "u", file, true)
	case "commit":
		p.gitIn(dir, fmt.Sprint("git add -A; git commit -q --allow-empty -m ", time.Now().UnixNano())) // as no other
	case "g":
		p.gitIn(dir, "git config user.name a; git config user.email a@example.com; git "+strings.TrimSpace(strings.Join(rest, " "))+" || :")
	case "stop":
		if file == "limit" {
			p.limit(of)
			break
		}
		p.begin(of, "", rest[1] == "T")
		p.end(of, file)
	case "q":
		p.begin(of, "q", false)
		p.end(of, file)
	case "hand":
		p.begin(of, "hand", rest[2] == "T")
		p.end(of, file)
	case "rb":
		p.begin(of, file, false)
	case "re":
		p.end(of, file)
	case "wt":
		if _, err := os.Stat(filepath.Join(p.work, "..", file)); err != nil {
			p.lines++
			p.gitIn(p.work, fmt.Sprintf("git worktree add -q -b %s%d ../%s", file, p.lines, file))
			p.lines--
		}
		p.tree[of] = file
	case "leave":
		p.tree[of] = ""
	case "rmwt":
		p.gitIn(p.work, "git worktree remove --force ../"+of)
		for session, tree := range p.tree {
			if tree == of {
				p.tree[session] = ""
			}
		}
	case "lookfail":
		p.fails = true
	case "lost":
		p.gitIn(p.work, "rm -rf $HOME/.claude/ccc/tree-*.objects")
	default:
		p.t.Fatalf("what is %q?", step)
	}
}

func TestDays(t *testing.T) {
	for _, d := range modelDays {
		t.Run(d.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.gitIn(box.work, "export GIT_COMMITTER_DATE=@$(($(date +%s) - 3600)); git init -q; rm notes.txt; for f in a b c; do printf '%s\n' ${f}0 ${f}1 ${f}2 >$f; done; git add .; git commit -qm x")
			p := &dayPlayer{player: player{sandbox: box, project: box.work, entries: map[string]int{}}, off: map[string]bool{},
				tree: map[string]string{}, running: map[string]*exec.Cmd{}, number: map[string]int{}}
			for step := range strings.SplitSeq(d.steps, ";") {
				p.play(step)
			}
			expectIs(t, "what the reviewers are shown", strings.Join(p.shown, " | "), d.shown)
			expectIs(t, "the verdict", strings.TrimSpace(p.outside(box.work, "verdict").stdout), d.verdict)
		})
	}
}
