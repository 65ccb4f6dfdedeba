package main

// Ways of working, each played from the request to the push: which paths the reviewer's request shows, and what ccc
// verdict says.

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

// wayPrelude is the project of each way: three files that a remote has.
const wayPrelude = `export GIT_COMMITTER_DATE=@$(($(date +%s) - 3600))
git init -q --bare ../remote; git init -q; git remote add origin ../remote
echo a >a; echo b >b; echo c >c; echo '*.log' >.gitignore; rm notes.txt; git add .; git commit -qm first; git push -q origin main; git remote set-head origin main
git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main:refs/pull/1; rm -rf ../other`

// theirs and lib are parts of scripts: somebody else has pushed a line of b; the project has a submodule.
const (
	theirs = "git -C ../remote update-ref refs/heads/main refs/pull/1"
	lib    = "git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main"
)

// A way is played line by line: "$" and a script that the agent runs, "!" and one of the user's. The others are
//
//	prompt             the user's; where there is none the agent is woken, or the user edits
//	unseen             the user's, when nobody supervised the session
//	begin, esc         a review begins; the user ends it
//	begin, ok, no      a review begins; it approves or refuses (and begins, if none has)
//	review, rejects    by hand
//	asked              a review of a question approves
//	limited, failed    a stop at the limit, a review that failed
//	in NAME            another session
//	cd DIR, enter DIR  another project; the agent goes to another directory
//	shown PATHS        those that the last request lists, by name, each behind git's letter
//	tells TEXT         the last request does
//	verdict WORD TEXT  what ccc verdict says, and a part of the reason
//	silent TEXT        which is no part of that reason
type way struct{ name, steps string }

var ways = []way{
	{"committed by the agent", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow 之后没有改动`},
	{"committed by the user after the approval", `
		prompt
		$ echo 1 >>a; echo n >new
		ok
		shown M a, A new
		verdict allow
		! git add .; git commit -qm x
		verdict allow
		silent 还没有`},
	{"some of the files are committed", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown M a, M b
		! git commit -qm x a
		verdict allow`},
	{"part of a file is committed", `
		prompt
		$ seq 30 >b; git add b; sed -i 's/^1$/x/' b
		ok
		! git commit -qm x
		verdict allow`},
	{"refused, and pushed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		shown M a
		$ git push -q origin main
		verdict block`},
	{"while a review runs, and ended by the user", `
		prompt
		$ echo 1 >>a
		begin
		verdict reviewing
		esc
		verdict cancelled
		ok
		shown M a
		verdict allow`},
	{"outside git", `
		cd ../plain
		prompt
		$ echo 1 >>a
		ok
		verdict allow
		! echo 2 >>a
		verdict allow
		prompt
		verdict none`},
	{"never reviewed", `
		! echo 1 >>a; git commit -qam x
		verdict none`},
	{"push it, in the next turn", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ git commit -qam x
		verdict allow 还没有审查过
		$ git push -q origin main
		ok
		shown
		verdict allow`},
	{"please look again, behind changed", `
		prompt
		$ echo 1 >>a
		ok
		! echo 2 >>a; echo 2 >>b
		verdict changed 之后有改动：a、b
		prompt
		ok
		shown
		verdict allow`},
	{"a scratch file of the user's before", `
		! echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! git commit -qam x
		verdict allow
		silent scratch
		! echo t >scratch
		verdict changed scratch`},
	{"untracked junk at the push", `
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! echo s >scratch; git commit -qam x
		verdict allow 不会被推送）：scratch
		! git add scratch
		verdict changed scratch`},
	{"a scratch file of the user's is committed, too", `
		! echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown M a
		! git add .; git commit -qm x
		verdict allow`},
	{"a formatter in a hook of the commit", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown M a, M b
		! echo formatted >>a; git commit -qam x
		verdict changed a`},
	{"rebased onto a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git pull -q --rebase origin main
		verdict allow`},
	{"merged with a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git pull -q --no-rebase --no-edit origin main
		verdict allow`},
	{"merged with a moved main, the same file", `
		! seq 20 >b; git commit -qam seq; git push -q origin HEAD:main
		prompt
		$ sed -i 1s/1/x/ b; git commit -qam x
		ok
		shown M b
		! git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main; cd ../work
		! git pull -q --no-rebase --no-edit origin main
		verdict changed b
		review
		shown M b
		verdict allow`},
	{"amended", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git commit -q --amend -m better
		verdict allow
		! echo 2 >>a; git commit -qa --amend -m more
		verdict changed a`},
	{"merged into main as one commit", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; echo 1 >>b; git commit -qam y
		ok
		shown M a, M b
		! git checkout -q main; git merge -q --squash topic; git commit -qm both
		verdict allow`},
	{"a new branch for work that was sent back", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		$ git checkout -qb again
		prompt
		$ echo 2 >>a; git commit -qam y
		ok
		shown M a
		verdict allow`},
	{"sent back on another branch, which is left", `
		prompt
		$ git checkout -qb side; echo 1 >>a; git commit -qam x
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"sent back on another branch, uncommitted work is carried over", `
		prompt
		$ git checkout -qb side; echo 1 >>c; git commit -qam x; echo 1 >>a
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qm y b
		ok
		shown M a, M b
		verdict allow`},
	{"several requests, the last one approved", `
		prompt
		$ echo 1 >>a
		no
		prompt
		$ echo 1 >>b
		ok
		shown M a, M b`},
	{"several requests, each approved", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 1 >>b
		ok
		shown M b
		! git commit -qam x
		verdict allow`},
	{"approved, then refused in the same content", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 2 >>a
		no
		shown M a
		$ git commit -qam x
		verdict block`},
	{"the next request is typed while the review runs", `
		prompt
		$ echo 1 >>a
		begin
		prompt
		ok
		verdict allow 还没有审查过
		$ echo 1 >>b
		ok
		shown M b
		verdict allow`},
	{"a woken agent", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 2 >>a
		ok
		shown M a
		verdict allow`},
	{"a woken agent, then a typed prompt", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 1 >>b
		failed
		prompt
		$ echo 1 >>c
		ok
		shown M b, M c`},
	{"the user edits between an approval and a request that is sent back", `
		prompt
		$ echo 1 >>a
		ok
		! echo u >>c
		prompt
		$ echo 1 >>b
		no
		$ echo 2 >>b
		ok
		shown M b
		verdict allow`},
	{"the user edits what was approved, and the agent goes on", `
		prompt
		$ echo 1 >>a
		ok
		! echo u >>a
		prompt
		$ echo 2 >>a
		ok
		shown M a`},
	{"the user commits between two requests", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! echo u >>c; git commit -qam u
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"in mid-work, without a prompt on record", `
		unseen
		$ echo 1 >>a
		ok
		shown M a
		tells 其中可能有更早的改动
		verdict allow`},
	{"a project that the agent makes", `
		cd ../fresh
		prompt
		$ git init -q; echo 1 >one; git add .; git commit -qm x; echo 2 >two
		ok
		shown A one, A two
		tells 与 空目录 相比：其中可能有更早的改动
		verdict allow`},
	{"a project inside that the agent makes", `
		prompt
		$ git init -q sub; cd sub; echo 1 >one; git add .; git commit -qm x
		enter sub
		ok
		shown
		tells 内层的仓库，没有看：sub/
		verdict allow`},
	{"before the first commit", `
		cd ../fresh
		! git init -q; echo u >mine
		prompt
		$ echo 1 >one
		ok
		shown A one
		! git add one; git commit -qm x
		verdict allow`},
	{"sent back before the first commit, and the branch is renamed", `
		cd ../fresh
		! git init -q -b master
		prompt
		$ echo 1 >one
		no
		! git add .; git commit -qm x; git branch -M main
		in other
		prompt
		ok
		shown A one
		verdict allow`},
	{"a branch without a commit", `
		prompt
		$ git checkout -q --orphan alone; git rm -qrf .; echo 1 >new
		ok
		shown D .gitignore, D a, D b, D c, A new
		verdict allow`},
	{"no common commit", `
		prompt
		$ git checkout -q --orphan alone; echo 1 >new; git add new; git commit -qm x
		ok
		shown A new
		verdict allow`},
	{"pulled in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; THEIRS; git pull -q --rebase origin main
		ok
		shown M a, M b
		tells 与远程主分支上的内容相同
		verdict allow`},
	{"pushed in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		$ echo 2 >>b
		ok
		shown M a, M b
		verdict allow`},
	{"several remotes, of which one gets it", `
		! git init -q --bare ../fork; git remote add fork ../fork; git push -q fork main
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; git push -q fork topic
		ok
		shown M a
		! echo 1 >>b; git commit -qam y
		verdict changed b`},
	{"fetched, and not merged", `
		prompt
		$ echo 1 >>a; git commit -qam x
		$ THEIRS; git fetch -q
		ok
		shown M a
		verdict allow`},
	{"pulled before the session", `
		! THEIRS; git pull -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"a merge whose conflict the agent resolves", `
		! THEIRS
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		ok
		shown M a, M b
		verdict allow`},
	{"a merge under way", `
		! cd ..; git clone -q remote other; cd other; echo y >>a; echo y >>b; git commit -qam y; git push -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >a; git add a
		ok
		shown M a, M b
		! git commit -qm merged
		verdict allow`},
	{"a conflict that nobody has resolved", `
		! THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :
		no
		shown M b
		prompt
		$ echo both >b; git commit -qam merged
		ok
		shown M b
		verdict allow`},
	{"a conflict that the user resolves", `
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x
		ok
		shown M a, M b
		! THEIRS; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		verdict changed b
		review
		shown M b
		verdict allow`},
	{"a merge under way behind the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! THEIRS; git fetch -q; git merge -q --no-commit --no-ff origin/main
		verdict allow`},
	{"a rebase under way", `
		! THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git rebase -q origin/main || :; echo both >b
		ok
		shown M b
		! git add b; GIT_EDITOR=: git rebase --continue
		verdict allow`},
	{"several merge bases", `
		! git checkout -qb side; echo s >>b; git commit -qam s; git checkout -q main; echo m >>c; git commit -qam m
		! git branch m0; git merge -q --no-edit side; git checkout -q side; git merge -q --no-edit m0; git push -q origin side; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"a shallow clone", `
		! echo 2 >>a; git commit -qam two; git push -q origin main; git clone -q --depth 1 file://$PWD/../remote ../shallow
		cd ../shallow
		prompt
		$ echo 1 >>b; git commit -qam x
		ok
		shown M b
		verdict allow`},
	{"stashed, and popped", `
		prompt
		$ echo 1 >>a; git stash -q; git stash pop -q
		ok
		shown M a
		! git stash -q
		verdict changed a
		! git stash pop -q; git commit -qam x
		verdict allow`},
	{"stashed at the stop", `
		prompt
		$ echo 1 >>a; git stash -q; echo 1 >>b
		ok
		shown M b
		! git stash pop -q; git commit -qam x
		verdict changed a`},
	{"stashed by the user before, popped by the agent", `
		! echo u >>b; git stash -q
		prompt
		$ git stash pop -q; echo 1 >>a
		ok
		shown M a, M b`},
	{"the user's dirty files are stashed and popped by the agent", `
		! echo u >>b
		prompt
		$ git stash -q; echo 1 >>a; git commit -qam x; git stash pop -q
		ok
		shown M a
		verdict allow`},
	{"dirty files that the agent changes further", `
		! echo u >>a; echo u >>b
		prompt
		$ echo 1 >>a
		ok
		shown M a
		tells +1
		! git commit -qm x a
		verdict allow`},
	{"dirty files that the agent throws away", `
		! echo u >>a; rm b; echo u >mine
		prompt
		$ git checkout -q .; rm mine
		ok
		shown M a, A b, D mine
		verdict allow`},
	{"the agent stashes the user's work, and leaves it there", `
		! echo u >>a; echo u >mine
		prompt
		$ git stash -q -u; echo 1 >>b
		ok
		shown M a, M b, D mine`},
	{"approved work that the agent throws away", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ git checkout -q .
		verdict changed a
		ok
		shown M a`},
	{"a file that is ignored by now", `
		! echo u >mine
		prompt
		$ echo mine >>.gitignore
		ok
		shown M .gitignore
		verdict allow`},
	{"ignored files", `
		prompt
		$ echo 1 >x.log; echo 1 >>a
		ok
		shown M a
		! echo 2 >x.log
		verdict allow
		! git add -f x.log; git commit -qam x
		verdict changed x.log`},
	{"the agent adds an ignored file by force", `
		prompt
		$ echo 1 >x.log; git add -f x.log
		ok
		shown A x.log
		! git commit -qm x
		verdict allow`},
	{"a file that git knows and ignores", `
		! echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt
		$ echo 2 >>x.log
		ok
		shown M x.log`},
	{"no longer tracked, and kept", `
		prompt
		$ git rm -q --cached a; echo a >>.gitignore
		ok
		shown M .gitignore, D a
		! git add .gitignore; git commit -qm x
		verdict allow`},
	{"no longer tracked by a commit, and kept", `
		! echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt
		$ git rm -q --cached x.log; git commit -qm y
		ok
		shown D x.log
		verdict allow
		! git add -f x.log; git commit -qm again
		review
		! git rm -q --cached x.log; git commit -qm y
		verdict changed x.log`},
	{"3,000 files that are ignored by now", `
		! mkdir n; cd n; seq 3000 | xargs touch
		prompt
		$ echo n >>.gitignore; echo 1 >>a
		ok
		shown M .gitignore, M a
		verdict allow`},
	{"intent to add", `
		! echo u >mine; git add -N mine
		prompt
		$ echo 1 >one; git add -N one
		ok
		shown A one
		! git add one; git commit -qm x one
		verdict allow`},
	{"a file that changes while the review runs", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		begin
		$ echo 2 >>a
		ok
		shown M a, M b
		verdict changed a
		prompt
		ok
		shown M a`},
	{"deleted, renamed, made executable, linked", `
		prompt
		$ rm a; git mv b b2; chmod +x c; ln -s c link
		ok
		shown D a, D b, A b2, M c, A link
		! git add -A; git commit -qm x
		verdict allow
		! chmod -x c; git commit -qam y
		verdict changed c`},
	{"a link in the place of a file, a file in that of a directory", `
		! mkdir d; echo 1 >d/x; git add d; git commit -qm d; git push -q origin main
		prompt
		$ rm a; ln -s b a; rm -r d; echo 1 >d
		ok
		shown T a, A d, D d/x
		! git add -A; git commit -qm x
		verdict allow`},
	{"a name that differs by its case, names that git quotes, and some that are no UTF-8", `
		prompt
		$ git mv a A; echo 1 >"é b"; printf 1 >"$(printf 'x\377y')"; echo 1 >'q"t'
		ok
		! git add .; git commit -qm x
		verdict allow
		! echo 2 >"é b"
		verdict changed é b`},
	{"names like options, with line breaks and globs", `
		prompt
		$ echo 1 >./-x; echo 1 >"$(printf 'a\nb')"; echo 1 >'*'; echo 1 >:x; mkdir 'd '; echo 1 >'d /y'
		ok
		! git add -A; git commit -qm x
		verdict allow`},
	{"line ends that git changes", `
		! git config core.autocrlf true; printf 'x\r\ny\r\n' >w; git add w; git commit -qm w; git push -q origin main; rm w; git checkout -q w
		prompt
		$ printf '1\r\n2\r\n' >n; printf 'x\r\nz\r\n' >w
		ok
		shown A n, M w
		! git add .; git commit -qm x
		verdict allow`},
	{"attributes that change the content", `
		prompt
		$ echo '*.txt text eol=crlf' >.gitattributes; printf '1\n' >n.txt; git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >>.gitattributes; echo x >x.up
		ok
		shown A .gitattributes, A n.txt, A x.up
		! git add .; git commit -qm x
		verdict allow`},
	{"a file outside a sparse checkout's cone", `
		! mkdir in out; echo i >in/i; echo o >out/o; git add .; git commit -qm dirs; git push -q origin main; git sparse-checkout set in
		prompt
		$ mkdir -p out; echo 1 >out/o; echo 1 >out/n
		ok
		shown A out/n, M out/o
		verdict allow`},
	{"a worktree", `
		! git worktree add -q ../side
		cd ../side
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow
		cd ../work
		verdict none`},
	{"the agent makes a worktree, and enters it", `
		! echo u >>b
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown M a
		tells 其中可能有更早的改动
		! cd ../side; git commit -qam x
		verdict allow`},
	{"the agent enters a worktree of the user's", `
		! git worktree add -q ../side; echo u >>../side/c
		prompt
		$ echo 1 >>../side/a
		enter ../side
		ok
		shown M a, M c`},
	{"the agent comes back from a worktree in which it was approved", `
		! echo u >>c
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown M a
		prompt
		enter .
		$ echo 1 >>b
		ok
		shown M b`},
	{"two sessions in two worktrees", `
		! git worktree add -q ../side
		prompt
		$ echo 1 >>a
		no
		cd ../side
		in other
		prompt
		$ echo 1 >>a
		ok
		shown M a
		verdict allow
		cd ../work
		verdict block`},
	{"two sessions in one working tree", `
		prompt
		$ echo 1 >>a
		in other
		prompt
		$ echo 1 >>b
		ok
		shown M a, M b
		tells 另一个会话的改动，还没有通过（会话 one，
		tells 它最新的要求：do it
		in one
		no
		shown M a, M b
		verdict block`},
	{"another clone has its own reviews", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git clone -q . ../second
		cd ../second
		verdict none`},
	{"a repository inside", `
		prompt
		$ git init -q inner; cd inner; echo i >i; git add .; git commit -qm i; cd ..; echo 1 >>a
		ok
		shown M a
		tells 内层的仓库，没有看：inner/
		! git commit -qam x
		verdict allow`},
	{"a repository inside whose name git quotes", `
		prompt
		$ git init -q 内层; git -C 内层 commit -q --allow-empty -m i; echo 1 >>a
		ok
		shown M a
		tells 内层的仓库，没有看：内层/`},
	{"a submodule, of which one is moved, and one has changes of its own", `
		! LIB; git submodule --quiet add ../lib two; git commit -qam two; git push -q origin main
		prompt
		$ cd lib; echo 2 >>l; git commit -qam two; cd ..; echo 3 >>two/l
		ok
		shown M lib
		tells 子模块里有没提交的改动：two
		! git commit -qam x
		verdict allow`},
	{"a submodule is removed", `
		! LIB
		prompt
		$ git rm -q lib
		ok
		shown M .gitmodules, D lib
		! git commit -qm x
		verdict allow`},
	{"by hand, a line of the user's own", `
		prompt
		$ echo 1 >>a
		ok
		! echo changelog >>b; git commit -qam x
		verdict changed b
		review
		shown M b
		tells 这次审查是用户自己发起的
		verdict allow`},
	{"by hand, a session that nobody supervised", `
		cd ../fresh
		unseen
		$ git init -q; echo 1 >one; git add .; git commit -qm x
		review
		shown A one
		verdict allow`},
	{"refused by hand", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		rejects
		shown
		verdict block`},
	{"pushed, and reverted", `
		prompt
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		ok
		shown M a
		! git revert --no-edit HEAD
		verdict changed a`},
	{"the agent reverts what a remote has", `
		! echo 1 >>a; git commit -qam x; git push -q origin main
		prompt
		$ git revert --no-edit HEAD
		ok
		shown M a
		verdict allow`},
	{"another branch is checked out after the approval", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git checkout -q main
		verdict changed a`},
	{"switched branches in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! git checkout -qb topic HEAD~1
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown M b
		verdict allow`},
	{"a commit is picked after the approval", `
		! git checkout -qb side; echo s >>c; git commit -qam s; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git cherry-pick side
		verdict changed c`},
	{"a commit of the agent's is picked onto another branch", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git checkout -qb release origin/main; git cherry-pick main
		verdict allow`},
	{"commit -a takes the user's dirty file along", `
		! echo u >>b
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		verdict allow`},
	{"renamed after the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git mv a a3; git commit -qm y
		verdict changed a、a3`},
	{"no branch is checked out", `
		! git checkout -q --detach
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown M a
		! git tag v1; echo 2 >>a; git commit -qam y
		verdict changed a
		! git checkout -q v1
		verdict allow`},
	{"at the limit", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		$ echo 2 >>a; git commit -qam y
		limited
		verdict limit
		prompt
		ok
		shown M a`},
	{"a review that failed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		failed
		verdict failed
		prompt
		ok
		shown M a
		prompt
		failed
		verdict allow
		! echo 2 >>a
		verdict failed`},
	{"refused, and then failed", `
		prompt
		$ echo 1 >>a
		ok
		no
		failed
		verdict block 还没有通过`},
	{"an approved question in mid-work is no approval of the work", `
		prompt
		$ echo 1 >>a; git commit -qam x
		asked
		verdict none
		ok
		shown M a
		verdict allow`},
	{"2,001 paths", `
		prompt
		$ seq -f f%g 2001 | xargs touch; echo 1 >>a
		ok
		verdict allow
		! rm f7
		verdict changed f7
		! touch f7; mkdir .git/info; echo f >.git/info/exclude; git commit -qam x
		verdict allow
		prompt
		$ echo 1 >>b
		ok
		shown M b`},
	{"the commit of an approval is gone", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		! git commit -q --amend -m better; git reflog expire --expire=all --all; git gc -q --prune=now
		verdict allow
		prompt
		$ echo 2 >>b
		ok
		shown M b
		silent 还没有`},
}

// A player plays a way with ccc itself: the hook gets events, and a scripted reviewer answers.
type player struct {
	*sandbox
	project, here string // where the session was started, where the agent is
	session       string
	entries       map[string]int // of the session's transcript
	reviewers     int            // calls of the reviewer
	running       *exec.Cmd      // the hook of a review that has begun
	request       string         // what the reviewer was asked last
	reason        string         // what ccc verdict said last
}

// hook is what answers the event in the session.
func (p *player) hookOf(event string) *exec.Cmd {
	cmd := p.command("ccc", "supervisor-hook")
	cmd.Dir, cmd.Stdin = p.here, strings.NewReader(event)
	cmd.Env = append(cmd.Env, "CLAUDE_PROJECT_DIR="+p.project, "CCC_SUPERVISOR=1")
	return cmd
}

// outside runs ccc in dir, in no session.
func (p *player) outside(dir string, args ...string) commandResult {
	cmd := p.command(append([]string{"ccc"}, args...)...)
	cmd.Dir = dir
	return p.finish(cmd, 60*time.Second)
}

// transcript is the path of the session's.
func (p *player) transcript() string {
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(p.project, "-")
	return filepath.Join(p.home, ".claude/projects", folder, p.session+".jsonl")
}

// tell adds an entry of the user's or the agent's to the transcript.
func (p *player) tell(role, words string) {
	p.t.Helper()
	parent := "null"
	if n := p.entries[p.session]; n > 0 {
		parent = fmt.Sprintf("%q", fmt.Sprint("e", n))
	}
	p.entries[p.session]++
	line := fmt.Sprintf(`{"parentUuid":%s,"type":%q,"uuid":"e%d","timestamp":%q,"cwd":%q,"sessionId":%q,"version":"2.1.332",`+
		`"promptSource":"typed","message":{"role":%q,"model":"m-1","content":[{"type":"text","text":%q}]}}`+"\n",
		parent, role, p.entries[p.session], time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), p.here, p.session, role, words)
	check(p.t, errors.Join(os.MkdirAll(filepath.Dir(p.transcript()), 0o700), appendFile(p.transcript(), []byte(line))))
}

// event is one of Claude Code's in the session.
func (p *player) event(name, members string) string {
	return fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":%q,"transcript_path":%q,%s}`,
		p.session, p.here, name, p.transcript(), members)
}

const wayStop = `"last_assistant_message":"Done."`

// review has the stop, or another event, reviewed by such a reviewer.
func (p *player) review(as fakeReview, event string) {
	p.t.Helper()
	p.reviews(as)
	switch {
	case p.running != nil:
		p.write("../fake/go", 0o600, "")
		check(p.t, p.running.Wait())
		check(p.t, os.Remove(filepath.Join(p.home, "../fake/go")))
		p.running = nil
	case event == "":
		p.outside(p.here, "review", p.session)
	default:
		p.tell("assistant", "Done.")
		p.finish(p.hookOf(event), 60*time.Second)
	}
	if asked := p.read(fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers+1)); asked != "" {
		p.reviewers++
		p.request = asked
	}
}

// shown lists the paths of the change in the last request behind their letters, by name.
func (p *player) shown() string {
	_, change, _ := strings.Cut(p.request, say(sectionChanges, ""))
	change, _, _ = strings.Cut(change, "\n## ")
	var list []string
	for _, found := range regexp.MustCompile(`(?m)^([AMDT]) (.*)$`).FindAllStringSubmatch(change, -1) {
		list = append(list, found[2]+" "+found[1])
	}
	slices.Sort(list)
	for i, line := range list {
		cut := strings.LastIndex(line, " ")
		list[i] = line[cut+1:] + " " + line[:cut]
	}
	return strings.Join(list, ", ")
}

func TestWaysOfWorking(t *testing.T) {
	first := newSandbox(t, fakeClaude())
	first.gitIn(first.work, wayPrelude)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			box := newFakeBox(t)
			check(t, os.RemoveAll(box.work))
			for _, name := range []string{"work", "remote"} {
				check(t, os.CopyFS(filepath.Join(box.home, "..", name), os.DirFS(filepath.Join(first.home, "..", name))))
			}
			p := &player{sandbox: box, session: "one", project: box.work, here: box.work, entries: map[string]int{}}
			steps := strings.NewReplacer("THEIRS", theirs, "LIB", lib).Replace(w.steps)
			for _, line := range strings.Split(strings.TrimSpace(steps), "\n") {
				p.play(strings.TrimSpace(line))
			}
		})
	}
}

func (p *player) play(line string) {
	t := p.t
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "$":
		p.gitIn(p.project, rest)
		p.tell("assistant", "I have done that.")
	case "!":
		p.gitIn(p.project, rest)
	case "prompt":
		p.finish(p.hookOf(p.event(eventPrompt, `"prompt":"do it"`)), 60*time.Second)
		p.tell("user", "do it")
	case "unseen":
		p.tell("user", "do it")
	case "in":
		p.session = rest
	case "cd":
		p.project = filepath.Join(p.project, rest)
		check(t, os.MkdirAll(p.project, 0o700))
		p.here = p.project
	case "enter":
		p.here = filepath.Join(p.project, rest)
	case "begin":
		p.reviews(fakeReview{runs(`until [ -f "$FAKE_CLAUDE_DIR/go" ]; do sleep 0.02; done; play review`)})
		check(t, os.Rename(filepath.Join(p.home, "../fake/review"), filepath.Join(p.home, fmt.Sprintf("../fake/review-%d", p.reviewers+1))))
		p.tell("assistant", "Done.")
		p.running = p.hookOf(p.event(eventStop, wayStop))
		check(t, p.running.Start())
		for deadline := time.Now().Add(20 * time.Second); p.read(fmt.Sprintf("../fake/reviewer-%d.stdin", p.reviewers+1)) == ""; {
			if time.Sleep(5 * time.Millisecond); time.Now().After(deadline) {
				t.Fatal("no review begins")
			}
		}
	case "esc":
		check(t, errors.Join(p.running.Process.Signal(syscall.SIGTERM), p.running.Wait()))
		p.reviewers, p.running = p.reviewers+1, nil
	case "ok":
		p.review(allows(""), p.event(eventStop, wayStop))
	case "no":
		p.review(blocks("not yet"), p.event(eventStop, wayStop))
	case "failed":
		p.review(fails("overloaded"), p.event(eventStop, wayStop))
	case "review":
		p.review(allows(""), "")
	case "rejects":
		p.review(blocks("not yet"), "")
	case "asked":
		p.review(allows(""), p.event(eventPreToolUse, `"tool_name":"AskUserQuestion","tool_input":{"questions":[]}`))
	case "limited":
		p.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
		p.review(allows(""), p.event(eventStop, wayStop))
		check(t, os.Remove(filepath.Join(p.home, ".claude/ccc.json")))
	case "shown":
		expectIs(t, "shown", p.shown(), rest)
	case "tells":
		expectIn(t, "the request", p.request, rest)
	case "verdict":
		wanted, part, _ := strings.Cut(rest, " ")
		got := p.outside(workingTree(p.project, p.here), "verdict")
		p.reason = got.stderr
		code := map[string]int{"allow": 0, "block": 1, "failed": 1, "limit": 1}
		if wants, is := code[wanted]; strings.TrimSpace(got.stdout) != wanted || !strings.Contains(p.reason, part) || p.reason == "" ||
			is && got.code != wants || !is && got.code != 3 {
			t.Errorf("the verdict is %s (%d): %s; want %s", got.stdout, got.code, p.reason, rest)
		}
	case "silent":
		expectNotIn(t, "the reason", p.reason, rest)
	default:
		t.Fatalf("what is %q?", line)
	}
}
