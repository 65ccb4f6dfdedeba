package main

// Ways of working, each played from the request to the push: which paths the reviewer's request shows, and what ccc
// verdict says.

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wayPrelude is the project of each way: three files that a remote has.
const wayPrelude = `git init -q --bare ../remote; git init -q; git remote add origin ../remote
echo a >a; echo b >b; echo c >c; echo '*.log' >.gitignore; rm notes.txt; git add .; git commit -qm first; git push -q origin main; git remote set-head origin main`

// A way is played line by line. "$" runs a script. The others are
//
//	prompt [WORDS]     the user's prompt; wake: one of Claude Code's own
//	withdraw           the last prompt does not stand any more
//	begin, ok, no      a review begins; it approves or refuses (and begins, if none has); blind: one that called
//	                   nothing approves
//	review, rejects    by hand
//	asked              a review of a question approves
//	limited, failed    a stop at the limit, a review that failed or was cancelled
//	in NAME, cd DIR    another session, another directory
//	shown PATHS        those that the last request listed, marked ones with a star behind
//	tells TEXT         the last request does
//	verdict WORD       what ccc verdict says
type way struct{ name, steps string }

var ways = []way{
	{"committed by the agent", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"committed by the user after the approval", `
		prompt add
		$ echo 1 >>a; echo n >new
		ok
		shown a new
		$ git add .; git commit -qm x
		verdict allow`},
	{"some of the files", `
		prompt add
		$ echo 1 >>a; echo 1 >>b
		ok
		shown a b
		$ git commit -qm x a
		verdict allow`},
	{"refused and pushed", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		shown a
		verdict block`},
	{"never reviewed", `
		$ echo 1 >>a; git commit -qam x
		verdict none`},
	{"changed after the approval", `
		prompt add
		$ echo 1 >>a
		ok
		shown a
		$ echo 2 >>a; git commit -qam x
		verdict changed`},
	{"a scratch file of the user's before", `
		$ echo s >scratch
		prompt add
		$ echo 1 >>a
		ok
		shown a
		$ git commit -qam x
		verdict allow`},
	{"a scratch file after the approval", `
		prompt add
		$ echo 1 >>a
		ok
		shown a
		$ echo s >scratch; git commit -qam x
		verdict changed`},
	{"a scratch file of the user's is committed, too", `
		$ echo s >scratch
		prompt add
		$ echo 1 >>a
		ok
		shown a
		$ git add .; git commit -qm x
		verdict allow`},
	{"a formatter in a hook of the commit", `
		prompt add
		$ echo 1 >>a; echo 1 >>b
		ok
		shown a b
		$ echo formatted >>a; git commit -qam x
		verdict changed`},
	{"rebased onto a moved main, other files", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git clone -q ../remote ../other; cd ../other; echo 2 >>b; git commit -qam y; git push -q origin main; cd ../work; git pull -q --rebase origin main
		verdict changed`},
	{"merged with a moved main, other files", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git clone -q ../remote ../other; cd ../other; echo 2 >>b; git commit -qam y; git push -q origin main; cd ../work; git pull -q --no-rebase --no-edit origin main
		verdict changed`},
	{"merged with a moved main, the same file", `
		prompt add
		$ seq 20 >b; git commit -qam seq; git push -q origin HEAD:main; sed -i 1s/1/x/ b; git commit -qam x
		ok
		$ git clone -q ../remote ../other; cd ../other; sed -i 20s/20/y/ b; git commit -qam y; git push -q origin main; cd ../work; git pull -q --no-rebase --no-edit origin main
		review
		shown b*
		verdict allow`},
	{"amended", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git commit -q --amend -m better
		verdict allow`},
	{"squashed", `
		prompt add
		$ echo 1 >>a; git commit -qam x; echo 2 >>a; git commit -qam y
		ok
		shown a
		$ git reset -q --soft HEAD~2; git commit -qm both
		verdict allow`},
	{"a new branch for work that was sent back", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		$ git checkout -qb again
		prompt go on
		$ echo 2 >>a; git commit -qam y
		ok
		shown a
		verdict allow`},
	{"sent back on another branch, which is left", `
		prompt add
		$ git checkout -qb side; echo 1 >>a; git commit -qam x
		no
		$ git checkout -q main
		prompt something else
		$ echo 1 >>b; git commit -qam y
		ok
		shown b
		verdict allow`},
	{"sent back on another branch, uncommitted work is carried over", `
		prompt add
		$ git checkout -qb side; echo 1 >>c; git commit -qam x; echo 1 >>a
		no
		$ git checkout -q main
		prompt something else
		$ echo 1 >>b; git commit -qm y b
		ok
		shown a b
		verdict allow`},
	{"several requests, the last one approved", `
		prompt one
		$ echo 1 >>a
		no
		prompt two
		$ echo 1 >>b
		ok
		shown a b
		$ git commit -qam x
		verdict allow`},
	{"several requests, each approved", `
		prompt one
		$ echo 1 >>a
		ok
		prompt two
		$ echo 1 >>b
		ok
		shown b
		$ git commit -qam x
		verdict allow`},
	{"approved, then two and two over half-done work", `
		prompt one
		$ echo 1 >>a
		no
		prompt what is two and two
		blind
		shown a
		verdict unbound
		$ git commit -qam x`},
	{"a request that is asked again after its approval", `
		prompt add
		$ echo 1 >>a
		ok
		prompt review again
		ok
		shown
		prompt commit it
		$ git commit -qam x
		ok
		verdict allow`},
	{"approved, then refused in the same content", `
		prompt add
		$ echo 1 >>a
		ok
		prompt is it right
		$ echo 2 >>a; cp a a2; rm a2
		no
		shown a
		$ git commit -qam x
		verdict block`},
	{"the next request is typed while the review runs", `
		prompt one
		$ echo 1 >>a
		begin
		prompt two
		ok
		$ echo 1 >>b
		ok
		shown b
		$ git commit -qam x
		verdict allow`},
	{"a request that was withdrawn begins nothing", `
		prompt one
		$ echo 1 >>a
		ok
		$ echo u >>c
		prompt oops
		withdraw
		$ echo u >>b
		prompt two
		$ echo 2 >>a
		ok
		shown a
		verdict allow`},
	{"a wake without a prompt", `
		prompt one
		$ echo 1 >>a
		ok
		wake
		$ echo 2 >>a
		ok
		shown a
		$ git commit -qam x
		verdict allow`},
	{"nobody told of a prompt after an approval", `
		prompt one
		$ echo 1 >>a
		ok
		$ echo 2 >>b
		ok
		shown b
		$ git commit -qam x
		verdict allow`},
	{"in mid-work, without a prompt on record", `
		$ git commit -q --allow-empty -m before
		$ echo 1 >>a
		ok
		shown a
		verdict allow`},
	{"a project that the agent makes", `
		cd ../fresh
		prompt make
		$ git init -q; echo 1 >one; git add .; git commit -qm x; echo 2 >two
		ok
		shown one two
		verdict allow`},
	{"before the first commit", `
		cd ../fresh
		$ git init -q; echo u >mine
		prompt make
		$ echo 1 >one
		ok
		shown one
		$ git add one; git commit -qm x
		verdict allow`},
	{"pulled in mid-session", `
		prompt add
		$ echo 1 >>a; git commit -qam x; git clone -q ../remote ../other; cd ../other; echo 2 >>b; git commit -qam y; git push -q origin main; cd ../work; git pull -q --rebase origin main
		ok
		shown a
		verdict allow`},
	{"pushed in mid-session", `
		prompt add
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		$ echo 2 >>b
		ok
		shown b
		verdict allow`},
	{"deleted, renamed, made executable, linked", `
		prompt add
		$ rm a; git mv b b2; chmod +x c; ln -s c link
		ok
		shown a b b2 c link
		$ git add -A; git commit -qm x
		verdict allow`},
	{"another mode than the one that was judged", `
		prompt add
		$ echo 1 >>a
		ok
		shown a
		$ chmod +x a; git commit -qam x
		verdict changed`},
	{"names that git quotes, and some that are no UTF-8", `
		prompt add
		$ echo 1 >"é b"; printf 1 >"$(printf 'x\377y')"; echo 1 >'q"t'
		ok
		$ git add .; git commit -qm x
		verdict allow`},
	{"dirty files that the agent changes further", `
		$ echo u >>a; echo u >>b
		prompt add
		$ echo 1 >>a
		ok
		shown a*
		$ git commit -qm x a
		verdict allow`},
	{"dirty files that the agent throws away", `
		$ echo u >>a; echo u >>b
		prompt add
		$ git checkout -q .
		ok
		shown a* b*
		verdict allow`},
	{"a scratch file of the user's that the agent deletes", `
		$ echo u >mine
		prompt add
		$ rm mine
		ok
		shown mine*
		verdict allow`},
	{"a file that is ignored by now", `
		$ echo u >mine
		prompt add
		$ echo mine >>.gitignore
		ok
		shown .gitignore
		verdict allow`},
	{"ignored files", `
		prompt add
		$ echo 1 >x.log; echo 1 >>a
		ok
		shown a
		$ echo 2 >x.log
		verdict allow`},
	{"a file that changes while the review runs", `
		prompt add
		$ echo 1 >>a; echo 1 >>b
		begin
		$ echo 2 >>a
		ok
		shown a b
		verdict changed
		$ git commit -qam x`},
	{"a worktree", `
		$ git worktree add -q ../side
		cd ../side
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow
		cd ../work
		verdict none
		$ git merge -q side`},
	{"the agent enters a worktree", `
		prompt add
		$ git worktree add -q ../side; echo 1 >>../side/a
		cd ../side
		ok
		shown a
		$ git commit -qam x
		verdict allow`},
	{"the agent comes back from a worktree in which it was approved", `
		$ echo u >>c
		prompt one
		$ git worktree add -q ../side; echo 1 >>../side/a
		cd ../side
		ok
		shown a
		prompt two
		cd ../work
		$ echo 1 >>b
		ok
		shown b
		tells 因此不属于本次改动：c`},
	{"two sessions in two worktrees", `
		$ git worktree add -q ../side
		prompt one
		$ echo 1 >>a
		no
		cd ../side
		in other
		prompt two
		$ echo 1 >>a
		ok
		shown a
		$ git commit -qam x
		cd ../work
		$ git commit -qam y
		verdict block`},
	{"by hand, a line of the user's own", `
		prompt add
		$ echo 1 >>a
		ok
		$ echo changelog >>b; git commit -qam x
		review
		shown a b*
		verdict allow`},
	{"by hand, without a remote", `
		cd ../fresh
		$ git init -q; echo 1 >one; git add .; git commit -qm x
		review
		shown one
		verdict allow`},
	{"by hand, of what a remote has already", `
		prompt add
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		review
		shown a
		verdict allow`},
	{"a review branch, pushed commit by commit", `
		prompt add
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		$ git push -q origin topic
		prompt more
		$ echo 1 >>b; git commit -qam y
		ok
		shown b
		$ git push -q origin topic
		verdict allow`},
	{"a new branch is pushed that a remote has nothing of", `
		prompt add
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"forced over what the remote has", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		shown a
		$ git push -q origin main; git fetch -q; git reset -q --hard HEAD~1; git commit -q --allow-empty -m z
		verdict block`},
	{"several merge bases", `
		$ git checkout -qb side; echo s >>b; git commit -qam s; git checkout -q main; echo m >>c; git commit -qam m
		$ git branch m0; git merge -q --no-edit side; git checkout -q side; git merge -q --no-edit m0; git push -q origin side main m0; git checkout -q main
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"several merge bases, and another merge of them at the remote", `
		$ git checkout -qb side; echo s >>b; git commit -qam s; git checkout -q main; echo m >>c; git commit -qam m
		$ git branch m0; git merge -q --no-edit side; git checkout -q side; git merge -q --no-edit m0; git push -q origin side; git checkout -q main
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"a shallow clone", `
		$ echo 2 >>a; git commit -qam two; git push -q origin main; git clone -q --depth 1 file://$PWD/../remote ../shallow
		cd ../shallow
		prompt add
		$ echo 1 >>b; git commit -qam x
		ok
		shown b
		verdict allow`},
	{"a repository inside", `
		prompt add
		$ git init -q inner; cd inner; echo i >i; git add .; git commit -qm i; cd ..; echo 1 >>a
		ok
		shown a
		$ git commit -qam x
		verdict allow`},
	{"a submodule", `
		$ git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main
		prompt add
		$ cd lib; echo 2 >>l; git commit -qam two; cd ..
		ok
		shown lib
		$ git commit -qam x
		verdict allow`},
	{"reverted", `
		prompt add
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		ok
		shown
		$ git revert --no-edit HEAD
		verdict changed`},
	{"stashed and popped", `
		prompt add
		$ echo 1 >>a; git stash -q; git stash pop -q
		ok
		shown a
		$ git stash -q
		verdict changed
		$ git stash pop -q; git commit -qam x
		verdict allow`},
	{"another branch is checked out after the approval", `
		prompt add
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git checkout -q main
		verdict changed`},
	{"switched branches in mid-session", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		$ git checkout -qb topic HEAD~1
		prompt more
		$ echo 1 >>b; git commit -qam y
		ok
		shown b
		verdict allow`},
	{"part of a file is committed", `
		prompt add
		$ seq 30 >b; git add b; sed -i 's/^1$/x/' b
		ok
		$ git commit -qm x
		review
		$ git stash -q
		review
		shown b*
		verdict allow`},
	{"commit -a takes the user's dirty file along", `
		$ echo u >>b
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"a dirty file of the user's is committed by the agent alone", `
		$ echo u >>b
		prompt commit b
		$ git commit -qm x b
		ok
		shown
		review
		shown b*
		verdict allow`},
	{"a commit is picked after the approval", `
		$ git checkout -qb side; echo s >>c; git commit -qam s; git checkout -q main
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git cherry-pick side
		verdict changed`},
	{"the agent picks a commit", `
		$ git checkout -qb side; echo s >>c; git commit -qam s; git checkout -q main
		prompt pick it
		$ git cherry-pick side
		ok
		shown c
		verdict allow`},
	{"a commit of the agent's is picked onto another branch", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git checkout -qb release origin/main; git cherry-pick main
		verdict allow`},
	{"a merge whose conflict the agent resolves", `
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; echo y >>b; git commit -qam y; git push -q origin main; cd ../work
		prompt add, and merge
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >a; git commit -qam merged
		ok
		shown a
		verdict allow`},
	{"a merge under way", `
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; echo y >>b; git commit -qam y; git push -q origin main; cd ../work
		prompt add, and merge
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :; echo both >a; git add a
		ok
		shown a
		$ git commit -qm merged
		verdict allow`},
	{"a conflict that nobody has resolved", `
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; git commit -qam y; git push -q origin main; cd ../work
		prompt add, and merge
		$ echo 1 >>a; git commit -qam x; git fetch -q; git merge -q origin/main || :
		no
		shown a
		prompt go on
		$ echo both >a; git commit -qam merged
		ok
		shown a
		verdict allow`},
	{"a merge whose conflict the user resolves", `
		prompt add
		$ echo 1 >>a; echo 1 >>b; git commit -qam x
		ok
		shown a b
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; git commit -qam y; git push -q origin main; cd ../work
		$ git fetch -q; git merge -q origin/main || :; echo both >a; git commit -qam merged
		verdict changed`},
	{"rebased with a conflict", `
		prompt add
		$ echo 1 >>a; echo 1 >>b; git commit -qam x
		ok
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; git commit -qam y; git push -q origin main; cd ../work
		$ git fetch -q; git rebase -q origin/main || :; echo both >a; git add a; GIT_EDITOR=: git rebase --continue
		verdict changed
		review
		shown a* b`},
	{"a rebase under way", `
		$ git clone -q ../remote ../other; cd ../other; echo y >>a; git commit -qam y; git push -q origin main; cd ../work
		prompt add, and rebase
		$ echo 1 >>a; git commit -qam x; git fetch -q; git rebase -q origin/main || :; echo both >a
		ok
		shown a
		$ git add a; GIT_EDITOR=: git rebase --continue
		verdict allow`},
	{"fetched, and not merged", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		$ git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main; cd ../work; git fetch -q
		ok
		shown a
		verdict allow`},
	{"pulled before the session", `
		$ git clone -q ../remote ../other; cd ../other; echo y >>b; git commit -qam y; git push -q origin main; cd ../work; git pull -q origin main
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"merged with a moved main in mid-session", `
		prompt add
		$ echo 1 >>a; git commit -qam x; git clone -q ../remote ../other; cd ../other; echo 2 >>b; git commit -qam y; git push -q origin main; cd ../work; git pull -q --no-rebase --no-edit origin main
		ok
		shown a
		verdict allow`},
	{"amended with another edit", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ echo 2 >>a; git commit -qa --amend -m x
		verdict changed`},
	{"merged into main as one commit", `
		prompt add
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x; echo 1 >>b; git commit -qam y
		ok
		shown a b
		$ git checkout -q main; git merge -q --squash topic; git commit -qm both
		verdict allow`},
	{"reverted before the push", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git revert --no-edit HEAD
		verdict changed`},
	{"the agent reverts what a remote has", `
		$ echo 1 >>a; git commit -qam x; git push -q origin main
		prompt revert it
		$ git revert --no-edit HEAD
		ok
		shown a
		verdict allow`},
	{"renamed after the approval", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git mv a a3; git commit -qm y
		verdict changed`},
	{"a name that differs by its case", `
		prompt rename
		$ git mv a A
		ok
		shown A a
		$ git commit -qm x
		verdict allow`},
	{"a link in the place of a file, a file in that of a directory", `
		$ mkdir d; echo 1 >d/x; git add d; git commit -qm d; git push -q origin main
		prompt add
		$ rm a; ln -s b a; rm -r d; echo 1 >d
		ok
		shown a d d/x
		$ git add -A; git commit -qm x
		verdict allow`},
	{"names like options, with line breaks and globs", `
		prompt add
		$ echo 1 >./-x; echo 1 >"$(printf 'a\nb')"; echo 1 >'*'; echo 1 >:x; mkdir 'd '; echo 1 >'d /y'
		ok
		$ git add -A; git commit -qm x
		verdict allow`},
	{"an empty file, and a large one", `
		prompt add
		$ : >empty; head -c 3000000 /dev/zero >large
		ok
		shown empty large
		$ git add .; git commit -qm x
		verdict allow`},
	{"intent to add", `
		$ echo u >mine; git add -N mine
		prompt add
		$ echo 1 >one; git add -N one
		ok
		shown one
		verdict allow
		$ git add one; git commit -qm x one`},
	{"line ends that git changes", `
		$ git config core.autocrlf true; printf 'x\r\ny\r\n' >w; git add w; git commit -qm w; git push -q origin main; rm w; git checkout -q w
		prompt add
		$ printf '1\r\n2\r\n' >n; printf 'x\r\nz\r\n' >w
		ok
		shown n w
		$ git add .; git commit -qm x
		verdict allow`},
	{"attributes that change the content", `
		prompt add
		$ echo '*.txt text eol=crlf' >.gitattributes; printf '1\n' >n.txt; git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >>.gitattributes; echo x >x.up
		ok
		shown .gitattributes n.txt x.up
		$ git add .; git commit -qm x
		verdict allow`},
	{"an ignored file is added by force", `
		prompt add
		$ echo 1 >>a; echo 1 >x.log
		ok
		shown a
		$ git add -f x.log; git commit -qam x
		verdict changed`},
	{"the agent adds an ignored file by force", `
		prompt add
		$ echo 1 >x.log; git add -f x.log
		ok
		shown x.log
		$ git commit -qm x
		verdict allow`},
	{"a file that git knows and ignores", `
		$ echo 1 >x.log; git add -f x.log; git commit -qm log; git push -q origin main
		prompt add
		$ echo 2 >>x.log
		ok
		shown x.log
		$ git commit -qam x
		verdict allow`},
	{"no longer tracked, and kept", `
		prompt untrack
		$ git rm -q --cached a; echo a >>.gitignore
		ok
		shown .gitignore a
		$ git add .gitignore; git commit -qm x
		verdict allow`},
	{"at the limit", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		$ echo 2 >>a; git commit -qam y
		limited
		verdict limit
		prompt go on
		ok
		shown a`},
	{"a review that failed", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		failed
		verdict failed
		prompt again
		ok
		shown a`},
	{"refused, failed and approved", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		failed
		ok
		shown a
		verdict allow`},
	{"two requests are typed while the agent works", `
		prompt one
		$ echo 1 >>a
		prompt two
		$ echo 1 >>b
		wake
		$ echo 1 >>c
		ok
		shown a b c
		$ git commit -qam x
		verdict allow`},
	{"the user commits between two requests", `
		prompt one
		$ echo 1 >>a; git commit -qam x
		ok
		$ echo u >>c; git commit -qam u
		prompt two
		$ echo 1 >>b; git commit -qam y
		ok
		shown b
		review
		shown a b c*
		verdict allow`},
	{"the user edits what was approved, and the agent goes on", `
		prompt one
		$ echo 1 >>a
		ok
		$ echo u >>a
		prompt two
		$ echo 2 >>a
		ok
		shown a*
		$ git commit -qam x
		verdict allow`},
	{"refused in content that comes back", `
		prompt one
		$ echo 1 >>a; git commit -qam x
		no
		$ echo 2 >>a; git commit -qam y
		ok
		shown a
		$ git revert --no-edit HEAD
		verdict changed`},
	{"stashed by the user before, popped by the agent", `
		$ echo u >>b; git stash -q
		prompt pop it
		$ git stash pop -q; echo 1 >>a
		ok
		shown a b
		$ git commit -qam x
		verdict allow`},
	{"stashed at the stop", `
		prompt add
		$ echo 1 >>a; git stash -q; echo 1 >>b
		ok
		shown b
		$ git stash pop -q; git commit -qam x
		verdict changed`},
	{"the user's dirty files are stashed and popped by the agent", `
		$ echo u >>b
		prompt add
		$ git stash -q; echo 1 >>a; git commit -qam x; git stash pop -q
		ok
		shown a
		verdict allow`},
	{"dirty files are changed and put back", `
		$ echo u >>b
		prompt add
		$ cp b b.old; echo 1 >>b; mv b.old b; echo 1 >>a
		ok
		shown a
		$ git commit -qm x a
		verdict allow`},
	{"two sessions in one working tree", `
		prompt one
		$ echo 1 >>a
		in other
		prompt two
		$ echo 1 >>b
		ok
		shown b
		in one
		no
		shown a b
		$ git commit -qam x
		verdict block`},
	{"several remotes, of which one has it", `
		$ git init -q --bare ../fork; git remote add fork ../fork; git push -q fork main
		prompt add
		$ git checkout -qb topic; echo 1 >>a; git commit -qam x
		$ git push -q fork topic
		ok
		shown
		$ echo 1 >>b; git commit -qam y
		verdict changed`},
	{"a fork that lags behind", `
		$ git init -q --bare ../fork; git remote add fork ../fork; git push -q fork main; echo m >>c; git commit -qam m; git push -q origin main
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"no common commit, the same files", `
		prompt add
		$ git checkout -q --orphan alone; echo 1 >new; git add new; git commit -qm x
		ok`},
	{"approved twice, and pushed as it was approved last", `
		prompt one
		$ echo 1 >>a; echo 1 >>b
		ok
		prompt two
		$ echo 2 >>a
		ok
		$ git commit -qam x`},
	{"pushed to a place without remote-tracking branches", `
		$ echo u >>b; git commit -qam u
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok`},
	{"amended after it was sent back", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		no
		$ git commit -q --amend -m better
		prompt go on
		$ echo 1 >>b; git commit -qam y
		ok
		shown a b`},
	{"a project inside that the agent makes", `
		prompt make
		$ git init -q sub; cd sub; echo 1 >one; git add .; git commit -qm x
		cd sub
		ok
		shown one`},
	{"only a question was approved", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		asked
		verdict none`},
	{"no common commit with any remote", `
		prompt add
		$ git checkout -q --orphan alone; git rm -qrf .; echo 1 >new; git add new; git commit -qm x
		ok
		shown .gitignore a b c new
		verdict allow`},
	{"without a remote", `
		cd ../fresh
		$ git init -q; echo 1 >one; git add .; git commit -qm x
		prompt add
		$ echo 2 >two; git add .; git commit -qm y
		ok
		shown two
		review
		shown one* two
		verdict allow`},
	{"no branch is checked out", `
		$ git checkout -q --detach
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		verdict allow`},
	{"another clone has its own reviews", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git clone -q . ../second; cd ../second; git remote set-url origin ../remote; git fetch -q
		cd ../second
		verdict none`},
	{"more paths than a review binds", `
		prompt add
		$ seq -f f%g 2001 | xargs touch; git add .; git commit -qm x
		ok
		verdict unbound
		review
		verdict allow`},
	{"a submodule with uncommitted changes", `
		$ git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main
		prompt add
		$ echo 2 >>lib/l; echo 1 >>a; git commit -qm x a
		ok
		shown a
		tells 子模块里有没提交的改动：lib
		verdict allow`},
	{"a submodule is removed", `
		$ git init -q ../lib; cd ../lib; echo l >l; git add .; git commit -qm l; cd ../work; git submodule --quiet add ../lib lib; git commit -qam lib; git push -q origin main
		prompt remove it
		$ git rm -q lib
		ok
		shown .gitmodules lib
		$ git commit -qm x
		verdict allow`},
	{"refused by hand", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		rejects
		shown a
		verdict block`},
	{"a file that was judged is deleted again", `
		prompt add
		$ echo 1 >>a; echo 1 >new; git add .; git commit -qm x
		ok
		shown a new
		$ git rm -q new; git commit -qm y
		verdict changed`},
	{"a tag of an older commit", `
		prompt add
		$ echo 1 >>a; git commit -qam x
		ok
		shown a
		$ git tag v1; echo 2 >>a; git commit -qam y; git checkout -q v1
		verdict allow`},
	{"work that nobody told of, then a request", `
		prompt one
		$ echo 1 >>a
		ok
		$ echo 1 >>b
		limited
		prompt two
		$ echo 1 >>c
		ok
		shown b c
		tells 与上次通过的审查开始时`},
	{"the user edits between an approval and a request that is sent back", `
		prompt one
		$ echo 1 >>a
		ok
		$ echo u >>c
		prompt two
		$ echo 1 >>b
		no
		$ echo 2 >>b
		ok
		shown b
		tells 因此不属于本次改动：a、c
		verdict allow`},
	{"the agent enters a worktree, the user's dirty file stays behind", `
		$ echo u >>b
		prompt add
		$ git worktree add -q ../side; echo 1 >>../side/a
		cd ../side
		ok
		shown a
		verdict allow`},
	{"sent back on another branch, which is left, and the user goes on in its files", `
		prompt add
		$ git checkout -qb side; git rm -q c; git commit -qm x; echo 1 >>a
		no
		$ git checkout -q main; echo u >>a
		prompt something else
		$ echo 1 >>b
		no
		prompt go on
		$ echo 2 >>b
		ok
		shown b
		verdict allow`},
	{"a branch without a commit", `
		prompt add
		$ git checkout -q --orphan alone; git rm -qrf .; echo 1 >new
		ok
		shown .gitignore a b c new
		verdict allow`},
	{"the branch is renamed after it was sent back", `
		prompt add
		$ git checkout -qb one; echo 1 >>a; git commit -qam x
		no
		$ git branch -m two
		prompt go on
		$ echo 2 >>a; git commit -qam y
		ok
		shown a
		verdict allow`},
}

// A player plays a way with ccc's own functions; only the reviewer is left out.
type player struct {
	t         *testing.T
	box       *sandbox
	state     stateDir
	g         gitRunner
	session   string
	withdrawn map[int]bool
	judged    *judgedChange
	entry     record
	shown     string
	request   string
	clock     time.Time
}

func (p *player) supervision() *supervision {
	return &supervision{dirs: dirs{self: p.g.self, state: string(p.state), here: p.g.top}, session: p.state.session(p.session), project: p.g.top}
}

func (p *player) append(r record) {
	p.clock = p.clock.Add(time.Second)
	r.Time, r.Project = p.clock, p.g.top
	check(p.t, p.state.session(p.session).append(r))
}

func (p *player) begin(byHand bool) {
	h, err := p.state.session(p.session).readHistory()
	check(p.t, err)
	stands := func(r numbered) bool { return !p.withdrawn[r.number] }
	event := eventStop
	if byHand {
		event = eventReview
	}
	p.entry = record{Kind: kindEnd, Event: event, Review: fmt.Sprint("r", h.records)}
	begun := p.entry
	begun.Kind, begun.Deadline = kindBegin, time.Now().Add(time.Hour)
	p.append(begun)
	judged := takeChange(context.Background(), p.g.self, p.g.top, p.g.env, changeOf{history: &h, stands: stands, byHand: byHand})
	if judged.err != nil {
		p.t.Fatal(judged.err)
	}
	var list []string
	for _, path := range slices.Sorted(maps.Keys(judged.Files)) {
		mark := ""
		if judged.touched[path] || judged.foreign[path] {
			mark = "*"
		}
		list = append(list, unquoted(path)+mark)
	}
	p.judged, p.shown = &judged, strings.Join(list, " ")
	text := judged.text()
	p.request = text
	for _, path := range list[:min(len(list), listLimit)] {
		expectIn(p.t, "the request", text, printable(strings.TrimSuffix(path, "*")))
	}
}

func (p *player) end(v verdict, calls, byHand bool) {
	if p.judged == nil {
		p.begin(byHand)
	}
	if calls {
		p.append(record{Kind: kindCall, Review: p.entry.Review, Tool: "Read(a)"})
	}
	p.entry.Verdict, p.entry.look = v, p.judged.look
	p.supervision().bind(context.Background(), &p.entry, *p.judged, byHand)
	p.append(p.entry)
	p.judged = nil
}

func TestWaysOfWorking(t *testing.T) {
	first := newSandbox(t, fakeClaude())
	first.gitIn(first.work, wayPrelude)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			box := newSandbox(t, fakeClaude())
			noCopy := filepath.Join(box.home, "no-copy")
			check(t, os.WriteFile(noCopy, []byte("#!/bin/sh\nexit 125\n"), 0o700))
			state := filepath.Join(box.home, "state")
			check(t, os.MkdirAll(state, 0o700))
			box.gitIn(box.work, "rm notes.txt; cp -a "+first.work+"/. .; cp -a "+first.work+"/../remote ..")
			p := &player{t: t, box: box, state: stateDir(state), session: "one", withdrawn: map[int]bool{}, clock: time.Now().Add(-time.Hour),
				g: gitRunner{ctx: context.Background(), patience: time.Minute, self: noCopy, top: box.work, env: box.vars}}
			for _, line := range strings.Split(strings.TrimSpace(w.steps), "\n") {
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
		p.box.gitIn(p.g.top, rest)
	case "prompt":
		p.append(record{Kind: kindPrompt, Prompt: rest, look: lookAtPrompt(p.g.self, p.g.top, p.g.env, time.Minute)})
	case "wake":
		p.append(record{Kind: kindWake, look: lookAtPrompt(p.g.self, p.g.top, p.g.env, time.Minute)})
	case "withdraw":
		h, _ := p.state.session(p.session).readHistory()
		p.withdrawn[h.records] = true
	case "in":
		p.session = rest
	case "cd":
		p.g.top = filepath.Join(p.g.top, rest)
		check(t, os.MkdirAll(p.g.top, 0o700))
	case "begin":
		p.begin(false)
	case "ok", "blind":
		p.end(verdictAllow, word == "ok", false)
	case "no":
		p.end(verdictBlock, true, false)
	case "review":
		p.end(verdictAllow, true, true)
	case "asked":
		p.begin(false)
		p.entry.Event = eventPreToolUse
		p.end(verdictAllow, true, false)
	case "tells":
		expectIn(t, "the request", p.request, rest)
	case "rejects":
		p.end(verdictBlock, true, true)
	case "limited":
		p.append(record{Kind: kindEnd, Event: eventStop, outcome: outcome{Verdict: verdictLimit}, look: look{Top: p.g.top}})
	case "failed":
		if p.judged == nil {
			p.begin(false)
		}
		p.entry.Verdict, p.entry.look = verdictFailed, p.judged.look
		p.append(p.entry)
		p.judged = nil
	case "shown":
		expectIs(t, "shown", p.shown, rest)
	case "verdict":
		d := p.supervision().dirs
		id, err := sessionHere(d)
		check(t, err)
		got := answerNone
		if id != "" {
			h, err := p.state.session(id).readHistory()
			check(t, err)
			if last := h.last(); last != nil {
				got, _ = last.standing(func(then look) ([]string, error) { return then.changedSince(context.Background(), p.g.self, p.g.env) })
			}
		}
		expectIs(t, "the verdict", got, verdict(rest))
	default:
		t.Fatalf("what is %q?", line)
	}
}
