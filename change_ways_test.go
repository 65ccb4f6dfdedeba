package main

// Ways of working, each played from the request to the push: which paths the reviewer's request shows, and what ccc
// verdict says.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wayPrelude is the project of each way: three files that a remote has.
const wayPrelude = `git init -q --bare ../remote; git init -q; git remote add origin ../remote
echo a >a; echo b >b; echo c >c; echo '*.log' >.gitignore; rm notes.txt; git add .; git commit -qm first; git push -q origin main; git remote set-head origin main
git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main:refs/pull/1; rm -rf ../other`

// theirs and lib are parts of scripts: somebody else has pushed a line of b; the project has a submodule.
const (
	theirs = "git -C ../remote update-ref refs/heads/main refs/pull/1"
	lib    = "git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main"
)

// A way is played line by line. "$" runs a script. The others are
//
//	prompt             the user's; where there is none the agent is woken, or the user edits
//	begin, ok, no      a review begins; it approves or refuses (and begins, if none has)
//	review, rejects    by hand
//	asked              a review of a question approves
//	limited, failed    a stop at the limit, a review that failed
//	in NAME            another session
//	cd DIR, enter DIR  another project; the agent goes to another directory
//	shown PATHS        those that the last request lists, in its order: ~ before what lay so at the prompt behind the
//	                   last approval, ^ before what a remote has got, * behind what had changes before, ! if they are gone
//	tells TEXT         the last request does
//	verdict WORD TEXT  what ccc verdict says, and a part of the reason
//	silent TEXT        which is no part of that reason
type way struct{ name, steps string }

var ways = []way{
	{"committed by the agent", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow 之后没有改动`},
	{"committed by the user after the approval", `
		prompt
		$ echo 1 >>a; echo n >new
		ok
		shown a new
		verdict allow
		$ git add .; git commit -qm x
		verdict allow`},
	{"some of the files are committed", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown a b
		$ git commit -qm x a
		verdict allow`},
	{"part of a file is committed", `
		prompt
		$ seq 30 >b; git add b; sed -i 's/^1$/x/' b
		ok
		$ git commit -qm x
		verdict allow`},
	{"refused, and pushed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		shown a
		$ git push -q origin main
		verdict block`},
	{"never reviewed", `
		$ echo 1 >>a; git commit -qam x
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
		$ echo 2 >>a; echo 2 >>b
		verdict changed 之后有改动：a、b
		prompt
		ok
		shown ~a* ~b
		tells 下一条消息发出时已经如此
		verdict allow`},
	{"a scratch file of the user's before", `
		$ echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown a
		tells 因此不属于本次改动：scratch
		$ git commit -qam x
		verdict allow
		silent scratch
		$ echo t >scratch
		verdict changed scratch`},
	{"untracked junk at the push", `
		prompt
		$ echo 1 >>a
		ok
		shown a
		$ echo s >scratch; git commit -qam x
		verdict allow 不会被推送）：scratch
		$ git add scratch
		verdict changed scratch`},
	{"a scratch file of the user's is committed, too", `
		$ echo s >scratch
		prompt
		$ echo 1 >>a
		ok
		shown a
		$ git add .; git commit -qm x
		verdict allow`},
	{"a formatter in a hook of the commit", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		ok
		shown a b
		$ echo formatted >>a; git commit -qam x
		verdict changed a`},
	{"rebased onto a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ THEIRS; git pull -q --rebase origin main
		verdict allow`},
	{"merged with a moved main, other files", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ THEIRS; git pull -q --no-rebase --no-edit origin main
		verdict allow`},
	{"merged with a moved main, the same file", `
		$ seq 20 >b; git commit -qam seq; git push -q origin HEAD:main
		prompt
		$ sed -i 1s/1/x/ b; git commit -qam x
		ok
		shown b
		$ git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main; cd ../work
		$ git pull -q --no-rebase --no-edit origin main
		verdict changed b
		review
		shown b
		verdict allow`},
	{"amended", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git commit -q --amend -m better
		verdict allow
		$ echo 2 >>a; git commit -qa --amend -m more
		verdict changed a`},
	{"merged into main as one commit", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; echo 1 >>b; git commit -qam y
		ok
		shown a b
		$ git checkout -q main; git merge -q --squash topic; git commit -qm both
		verdict allow`},
	{"a new branch for work that was sent back", `
		prompt
		$ echo 1 >>a; git commit -qam x
		no
		$ git checkout -qb again
		prompt
		$ echo 2 >>a; git commit -qam y
		ok
		shown a
		verdict allow`},
	{"sent back on another branch, which is left", `
		prompt
		$ git checkout -qb side; echo 1 >>a; git commit -qam x
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown b
		verdict allow`},
	{"sent back on another branch, uncommitted work is carried over", `
		prompt
		$ git checkout -qb side; echo 1 >>c; git commit -qam x; echo 1 >>a
		no
		$ git checkout -q main
		prompt
		$ echo 1 >>b; git commit -qm y b
		ok
		shown a b
		verdict allow`},
	{"several requests, the last one approved", `
		prompt
		$ echo 1 >>a
		no
		prompt
		$ echo 1 >>b
		ok
		shown a b`},
	{"several requests, each approved", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 1 >>b
		ok
		shown b
		tells 因此不属于本次改动：a
		$ git commit -qam x
		verdict allow`},
	{"approved, then refused in the same content", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ echo 2 >>a
		no
		shown a*
		tells (上次通过的审查开始时已有改动)
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
		shown b
		verdict allow`},
	{"a woken agent", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 2 >>a
		ok
		shown a*
		verdict allow`},
	{"a woken agent, then a typed prompt", `
		prompt
		$ echo 1 >>a
		ok
		$ echo 1 >>b
		limited
		prompt
		$ echo 1 >>c
		ok
		shown c ~b`},
	{"the user edits between an approval and a request that is sent back", `
		prompt
		$ echo 1 >>a
		ok
		$ echo u >>c
		prompt
		$ echo 1 >>b
		no
		$ echo 2 >>b
		ok
		shown b ~c
		tells 因此不属于本次改动：a
		verdict allow`},
	{"the user edits what was approved, and the agent goes on", `
		prompt
		$ echo 1 >>a
		ok
		$ echo u >>a
		prompt
		$ echo 2 >>a
		ok
		shown a*`},
	{"the user commits between two requests", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		$ echo u >>c; git commit -qam u
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown b ~c
		verdict allow`},
	{"in mid-work, without a prompt on record", `
		$ echo 1 >>a
		ok
		shown a ^.gitignore ^b ^c
		tells 其中可能有更早的改动
		verdict allow`},
	{"a project that the agent makes", `
		cd ../fresh
		prompt
		$ git init -q; echo 1 >one; git add .; git commit -qm x; echo 2 >two
		ok
		shown one two
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
		$ git init -q; echo u >mine
		prompt
		$ echo 1 >one
		ok
		shown one
		$ git add one; git commit -qm x
		verdict allow`},
	{"a branch without a commit", `
		prompt
		$ git checkout -q --orphan alone; git rm -qrf .; echo 1 >new
		ok
		shown .gitignore a b c new
		verdict allow`},
	{"no common commit", `
		prompt
		$ git checkout -q --orphan alone; echo 1 >new; git add new; git commit -qm x
		ok
		shown new
		verdict allow`},
	{"pulled in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; THEIRS; git pull -q --rebase origin main
		ok
		shown a ^b
		tells 远程仓库也有了同样的内容
		verdict allow`},
	{"pushed in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		$ echo 2 >>b
		ok
		shown b ^a
		verdict allow`},
	{"several remotes, of which one gets it", `
		$ git init -q --bare ../fork; git remote add fork ../fork; git push -q fork main
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; git push -q fork topic
		ok
		shown ^a
		$ echo 1 >>b; git commit -qam y
		verdict changed b`},
	{"fetched, and not merged", `
		prompt
		$ echo 1 >>a; git commit -qam x
		$ THEIRS; git fetch -q
		ok
		shown a
		verdict allow`},
	{"pulled before the session", `
		$ THEIRS; git pull -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"a merge whose conflict the agent resolves", `
		$ THEIRS
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		ok
		shown a b
		verdict allow`},
	{"a merge under way", `
		$ cd ..; git clone -q remote other; cd other; echo y >>a; echo y >>b; git commit -qam y; git push -q origin main
		prompt
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >a; git add a
		ok
		shown a ^b
		$ git commit -qm merged
		verdict allow`},
	{"a conflict that nobody has resolved", `
		$ THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git merge -q origin/main || :
		no
		shown b
		prompt
		$ echo both >b; git commit -qam merged
		ok
		shown b
		verdict allow`},
	{"a conflict that the user resolves", `
		prompt
		$ echo 1 >>a; echo 1 >>b; git commit -qam x
		ok
		shown a b
		$ THEIRS; git fetch -q; git merge -q origin/main || :; echo both >b; git commit -qam merged
		verdict changed b
		review
		shown b
		verdict allow`},
	{"a merge under way behind the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ THEIRS; git fetch -q; git merge -q --no-commit --no-ff origin/main
		verdict allow`},
	{"a rebase under way", `
		$ THEIRS
		prompt
		$ echo 1 >>b; git commit -qam x; git fetch -q; git rebase -q origin/main || :; echo both >b
		ok
		shown b
		$ git add b; GIT_EDITOR=: git rebase --continue
		verdict allow`},
	{"several merge bases", `
		$ git checkout -qb side; echo s >>b; git commit -qam s; git checkout -q main; echo m >>c; git commit -qam m
		$ git branch m0; git merge -q --no-edit side; git checkout -q side; git merge -q --no-edit m0; git push -q origin side; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"a shallow clone", `
		$ echo 2 >>a; git commit -qam two; git push -q origin main; git clone -q --depth 1 file://$PWD/../remote ../shallow
		cd ../shallow
		prompt
		$ echo 1 >>b; git commit -qam x
		ok
		shown b
		verdict allow`},
	{"stashed, and popped", `
		prompt
		$ echo 1 >>a; git stash -q; git stash pop -q
		ok
		shown a
		$ git stash -q
		verdict changed a
		$ git stash pop -q; git commit -qam x
		verdict allow`},
	{"stashed at the stop", `
		prompt
		$ echo 1 >>a; git stash -q; echo 1 >>b
		ok
		shown b
		$ git stash pop -q; git commit -qam x
		verdict changed a`},
	{"stashed by the user before, popped by the agent", `
		$ echo u >>b; git stash -q
		prompt
		$ git stash pop -q; echo 1 >>a
		ok
		shown a b`},
	{"the user's dirty files are stashed and popped by the agent", `
		$ echo u >>b
		prompt
		$ git stash -q; echo 1 >>a; git commit -qam x; git stash pop -q
		ok
		shown a
		verdict allow`},
	{"dirty files that the agent changes further", `
		$ echo u >>a; echo u >>b
		prompt
		$ echo 1 >>a
		ok
		shown a*
		tells M a  (改动开始前用户已改过)
		$ git commit -qm x a
		verdict allow`},
	{"dirty files that the agent throws away", `
		$ echo u >>a; rm b; echo u >mine
		prompt
		$ git checkout -q .; rm mine
		ok
		shown a! b! mine!
		tells D mine  (改动开始前用户已改过，现在与
		tells A b  (改动开始前用户已改过，现在与
		verdict allow`},
	{"the agent stashes the user's work, and leaves it there", `
		$ echo u >>a; echo u >mine
		prompt
		$ git stash -q -u; echo 1 >>b
		ok
		shown a! b mine!`},
	{"approved work that the agent throws away", `
		prompt
		$ echo 1 >>a
		ok
		prompt
		$ git checkout -q .
		verdict changed a
		ok
		shown a!
		tells M a  (上次通过的审查开始时已有改动（通过的，或用户自己的），现在与`},
	{"a file that is ignored by now", `
		$ echo u >mine
		prompt
		$ echo mine >>.gitignore
		ok
		shown .gitignore
		verdict allow`},
	{"ignored files", `
		prompt
		$ echo 1 >x.log; echo 1 >>a
		ok
		shown a
		$ echo 2 >x.log
		verdict allow
		$ git add -f x.log; git commit -qam x
		verdict changed x.log`},
	{"the agent adds an ignored file by force", `
		prompt
		$ echo 1 >x.log; git add -f x.log
		ok
		shown x.log
		$ git commit -qm x
		verdict allow`},
	{"a file that git knows and ignores", `
		$ echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt
		$ echo 2 >>x.log
		ok
		shown x.log`},
	{"no longer tracked, and kept", `
		prompt
		$ git rm -q --cached a; echo a >>.gitignore
		ok
		shown .gitignore a
		$ git add .gitignore; git commit -qm x
		verdict allow`},
	{"intent to add", `
		$ echo u >mine; git add -N mine
		prompt
		$ echo 1 >one; git add -N one
		ok
		shown one
		$ git add one; git commit -qm x one
		verdict allow`},
	{"a file that changes while the review runs", `
		prompt
		$ echo 1 >>a; echo 1 >>b
		begin
		$ echo 2 >>a
		ok
		shown a b
		verdict changed a
		prompt
		ok
		shown ~a*`},
	{"deleted, renamed, made executable, linked", `
		prompt
		$ rm a; git mv b b2; chmod +x c; ln -s c link
		ok
		shown a b b2 c link
		$ git add -A; git commit -qm x
		verdict allow
		$ chmod -x c; git commit -qam y
		verdict changed c`},
	{"a link in the place of a file, a file in that of a directory", `
		$ mkdir d; echo 1 >d/x; git add d; git commit -qm d; git push -q origin main
		prompt
		$ rm a; ln -s b a; rm -r d; echo 1 >d
		ok
		shown a d d/x
		$ git add -A; git commit -qm x
		verdict allow`},
	{"a name that differs by its case, names that git quotes, and some that are no UTF-8", `
		prompt
		$ git mv a A; echo 1 >"é b"; printf 1 >"$(printf 'x\377y')"; echo 1 >'q"t'
		ok
		$ git add .; git commit -qm x
		verdict allow
		$ echo 2 >"é b"
		verdict changed é b`},
	{"names like options, with line breaks and globs", `
		prompt
		$ echo 1 >./-x; echo 1 >"$(printf 'a\nb')"; echo 1 >'*'; echo 1 >:x; mkdir 'd '; echo 1 >'d /y'
		ok
		$ git add -A; git commit -qm x
		verdict allow`},
	{"line ends that git changes", `
		$ git config core.autocrlf true; printf 'x\r\ny\r\n' >w; git add w; git commit -qm w; git push -q origin main; rm w; git checkout -q w
		prompt
		$ printf '1\r\n2\r\n' >n; printf 'x\r\nz\r\n' >w
		ok
		shown n w
		$ git add .; git commit -qm x
		verdict allow`},
	{"attributes that change the content", `
		prompt
		$ echo '*.txt text eol=crlf' >.gitattributes; printf '1\n' >n.txt; git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >>.gitattributes; echo x >x.up
		ok
		shown .gitattributes n.txt x.up
		$ git add .; git commit -qm x
		verdict allow`},
	{"a file outside a sparse checkout's cone", `
		$ mkdir in out; echo i >in/i; echo o >out/o; git add .; git commit -qm dirs; git push -q origin main; git sparse-checkout set in
		prompt
		$ mkdir -p out; echo 1 >out/o; echo 1 >out/n
		ok
		shown out/n out/o
		verdict allow`},
	{"a worktree", `
		$ git worktree add -q ../side
		cd ../side
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow
		cd ../work
		verdict none`},
	{"the agent makes a worktree, and enters it", `
		$ echo u >>b
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown a
		tells 其中可能有更早的改动
		$ cd ../side; git commit -qam x
		verdict allow`},
	{"the agent enters a worktree of the user's", `
		$ git worktree add -q ../side; echo u >>../side/c
		prompt
		$ echo 1 >>../side/a
		enter ../side
		ok
		shown a c`},
	{"the agent comes back from a worktree in which it was approved", `
		$ echo u >>c
		prompt
		$ git worktree add -q ../side; echo 1 >>../side/a
		enter ../side
		ok
		shown a
		prompt
		enter .
		$ echo 1 >>b
		ok
		shown b
		tells 因此不属于本次改动：c`},
	{"two sessions in two worktrees", `
		$ git worktree add -q ../side
		prompt
		$ echo 1 >>a
		no
		cd ../side
		in other
		prompt
		$ echo 1 >>a
		ok
		shown a
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
		shown b
		in one
		no
		shown a b
		verdict block`},
	{"another clone has its own reviews", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git clone -q . ../second
		cd ../second
		verdict none`},
	{"a repository inside", `
		prompt
		$ git init -q inner; cd inner; echo i >i; git add .; git commit -qm i; cd ..; echo 1 >>a
		ok
		shown a
		tells 内层的仓库，没有看：inner/
		$ git commit -qam x
		verdict allow`},
	{"a repository inside whose name git quotes", `
		prompt
		$ git init -q 内层; git -C 内层 commit -q --allow-empty -m i; echo 1 >>a
		ok
		shown a
		tells 内层的仓库，没有看：内层/`},
	{"a submodule, of which one is moved, and one has changes of its own", `
		$ LIB; git submodule --quiet add ../lib two; git commit -qam two; git push -q origin main
		prompt
		$ cd lib; echo 2 >>l; git commit -qam two; cd ..; echo 3 >>two/l
		ok
		shown lib
		tells 子模块里有没提交的改动：two
		$ git commit -qam x
		verdict allow`},
	{"a submodule is removed", `
		$ LIB
		prompt
		$ git rm -q lib
		ok
		shown .gitmodules lib
		$ git commit -qm x
		verdict allow`},
	{"by hand, a line of the user's own", `
		prompt
		$ echo 1 >>a
		ok
		$ echo changelog >>b; git commit -qam x
		verdict changed b
		review
		shown b
		tells 这次审查是用户自己发起的
		verdict allow`},
	{"by hand, a session that nobody supervised", `
		cd ../fresh
		$ git init -q; echo 1 >one; git add .; git commit -qm x
		review
		shown one
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
		shown ^a
		$ git revert --no-edit HEAD
		verdict changed a`},
	{"the agent reverts what a remote has", `
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		prompt
		$ git revert --no-edit HEAD
		ok
		shown a
		verdict allow`},
	{"another branch is checked out after the approval", `
		prompt
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git checkout -q main
		verdict changed a`},
	{"switched branches in mid-session", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		$ git checkout -qb topic HEAD~1
		prompt
		$ echo 1 >>b; git commit -qam y
		ok
		shown b ~a
		verdict allow`},
	{"a commit is picked after the approval", `
		$ git checkout -qb side; echo s >>c; git commit -qam s; git checkout -q main
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git cherry-pick side
		verdict changed c`},
	{"a commit of the agent's is picked onto another branch", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git checkout -qb release origin/main; git cherry-pick main
		verdict allow`},
	{"commit -a takes the user's dirty file along", `
		$ echo u >>b
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"renamed after the approval", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git mv a a3; git commit -qm y
		verdict changed a、a3`},
	{"no branch is checked out", `
		$ git checkout -q --detach
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git tag v1; echo 2 >>a; git commit -qam y
		verdict changed a
		$ git checkout -q v1
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
		shown a`},
	{"a review that failed", `
		prompt
		$ echo 1 >>a; git commit -qam x
		failed
		verdict failed
		prompt
		ok
		shown a
		prompt
		failed
		verdict allow
		$ echo 2 >>a
		verdict failed`},
	{"refused, and then failed", `
		prompt
		$ echo 1 >>a
		ok
		no
		failed
		verdict failed`},
	{"an approved question in mid-work is no approval of the work", `
		prompt
		$ echo 1 >>a; git commit -qam x
		asked
		verdict none
		ok
		shown a
		verdict allow`},
	{"more paths than are kept", `
		prompt
		$ seq -f f%g 2001 | xargs touch; echo 1 >>a
		ok
		verdict allow
		$ rm f7
		verdict changed 超过 2000 个路径
		$ touch f7; mkdir .git/info; echo f >.git/info/exclude; git commit -qam x
		verdict allow
		prompt
		$ echo 1 >>b
		ok
		tells 其中可能有更早的改动
		tells A f1`},
	{"the commit of an approval is gone", `
		prompt
		$ echo 1 >>a; git commit -qam x
		ok
		$ git commit -q --amend -m better; git reflog expire --expire=all --all; git gc -q --prune=now
		verdict changed 不在了
		prompt
		$ echo 2 >>b
		ok
		shown b ~a ^.gitignore ^c
		tells 其中可能有更早的改动`},
}

// A player plays a way with ccc's own functions; only the reviewer is left out.
type player struct {
	t             *testing.T
	box           *sandbox
	state         stateDir
	project, here string // where the session was started, where the agent is
	session       string
	judged        *judgedChange
	review        review
	shown         string
	request       string
	reason        string
	clock         time.Time
}

func (p *player) append(e entry) {
	p.clock = p.clock.Add(time.Second)
	check(p.t, p.state.session(p.session).append(e.at(p.clock).in(p.project)))
}

func (p *player) begin(event string) {
	h, err := p.state.session(p.session).readHistory()
	check(p.t, err)
	p.review = review{ID: fmt.Sprint("r", len(h.Reviews)), Event: event}
	judged := takeChange(context.Background(), workingTree(p.project, p.here), p.box.vars, h, "")
	judged.byHand = event == eventReview
	if judged.Unseen != "" {
		p.t.Fatal(judged.Unseen)
	}
	p.review.Seen.tree = judged.tree
	p.append(began(p.review))
	p.review.Begun = p.clock
	var list []string
	p.judged, p.request = &judged, judged.changeText()
	for _, path := range judged.paths {
		name := unquoted(path.name)
		expectIn(p.t, "the request", p.request, path.letter+" "+printable(name))
		if path.gone {
			name += "!"
		} else if path.before {
			name += "*"
		}
		if list = append(list, []string{"", "~", "^"}[path.group]+name); len(list) == listLimit {
			break
		}
	}
	p.shown = strings.Join(list, " ")
}

func (p *player) end(v verdict, event string) {
	if p.judged == nil {
		p.begin(event)
	}
	p.review.Verdict, p.review.Seen = v, p.judged.look
	p.append(ended(p.review))
	p.judged = nil
}

func TestWaysOfWorking(t *testing.T) {
	first := newSandbox(t, fakeClaude())
	first.gitIn(first.work, wayPrelude)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			box := newSandbox(t, fakeClaude())
			state := filepath.Join(box.home, "state")
			check(t, errors.Join(os.Mkdir(state, 0o700), os.RemoveAll(box.work)))
			for _, name := range []string{"work", "remote"} {
				check(t, os.CopyFS(filepath.Join(box.home, "..", name), os.DirFS(filepath.Join(first.home, "..", name))))
			}
			p := &player{t: t, box: box, state: stateDir(state), session: "one", project: box.work, here: box.work, clock: time.Now().Add(-time.Hour)}
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
		p.box.gitIn(p.project, rest)
	case "prompt":
		p.append(prompted("x").seeing(takeLook(workingTree(p.project, p.here), p.box.vars, time.Minute)))
	case "in":
		p.session = rest
	case "cd":
		p.project = filepath.Join(p.project, rest)
		check(t, os.MkdirAll(p.project, 0o700))
		p.here = p.project
	case "enter":
		p.here = filepath.Join(p.project, rest)
	case "begin":
		p.begin(eventStop)
	case "ok":
		p.end(verdictAllow, eventStop)
	case "no":
		p.end(verdictBlock, eventStop)
	case "failed":
		p.end(verdictFailed, eventStop)
	case "review":
		p.end(verdictAllow, eventReview)
	case "rejects":
		p.end(verdictBlock, eventReview)
	case "asked":
		p.end(verdictAllow, eventPreToolUse)
	case "limited":
		p.append(ended(review{outcome: outcome{Verdict: verdictLimit}, Seen: look{tree: treeOf(p.here)}}))
	case "shown":
		expectIs(t, "shown", p.shown, rest)
	case "tells":
		expectIn(t, "the request", p.request, rest)
	case "verdict":
		wanted, part, _ := strings.Cut(rest, " ")
		stops, err := dirs{state: p.state, here: workingTree(p.project, p.here)}.stops(nil)
		check(t, err)
		got, lines := answerNone, []string(nil)
		if len(stops) > 0 {
			last, a := lastJudged(stops, p.box.vars)
			got, lines = a.word, last.reasonLines(a)
		}
		if p.reason = strings.Join(lines, "\n"); string(got) != wanted || !strings.Contains(p.reason, part) {
			t.Errorf("the verdict is %s: %s; want %s", got, p.reason, rest)
		}
	case "silent":
		expectNotIn(t, "the reason", p.reason, rest)
	default:
		t.Fatalf("what is %q?", line)
	}
}
