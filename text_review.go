package main

// What agent and reviewer read, in both languages: feedback, the request for a review, the form of a verdict.

// The feedback of a review that gave none, and what replaces the end of a long one.
var (
	defaultFeedback = words{"请继续完成任务", "Please go on until the task is done."}
	feedbackCut     = words{"……（反馈过长，全文见 %s）", "... (too long; the whole feedback is in %s)"}
)

// The request for a review.
var (
	opening = words{ // bySystemPrompt or byGuideAbove
		"你现在不是 Agent，而是审查者。以上是 Agent 与用户的对话。请按照%s审查 Agent 的工作，检查真实的文件和结果，然后给出判定。" +
			"你启动的（子代理、后台命令）都结束了，再给判定。",
		"You are not the agent now but its reviewer. Above is the conversation of the agent and the " +
			"user. Review the agent's work as %s: check the real files and results, then give your " +
			"verdict. What you have started (a subagent, a command in the background) has to have ended " +
			"before you give the verdict."}
	bySystemPrompt = words{"系统提示词", "your system prompt says"}
	byGuideAbove   = words{"上面的审查守则", "the review guide above says"}
	sectionRunning = words{ // tryExample
		"## 运行命令\n运行测试、例子和任何会执行代码或写文件的命令，都用这一种写法，单引号里可以有很多行：\n\n" +
			"```sh\n%s\n```\n\n" +
			"- 单引号里是一段 sh 脚本，里面不能再有单引号：字符串用双引号，非要不可时 printf 里写 `\\047`、" +
			"代码里写 `\\x27`。awk 和 sed 的程序写进 here-document，用 `-f` 运行。\n" +
			"- 任何一行都不能以 `#` 开头，缩进也不行：不写注释；非要不可的（`#include`、`#!`、`#[test]`、" +
			"Markdown 标题）这样写出：`printf \"\\043include <stdio.h>\\n\" >> \"$dir/probe.c\"`。\n" +
			"- 管道、重定向、`&&`、`$?`、here-document 都写在引号里；引号后面什么也不加，加了就不再是脚本，" +
			"而是一个程序名和它的参数（退出码 127）。退出码不是 0 时会自动显示。\n" +
			"- 命令被 Claude Code 拒绝，多半是写法不对：改成这种写法再跑。读文件用 Read，或单独的 `git status`、" +
			"`git diff`、`git log`、`ls`、`cat`：一行里有一段不许，整行都不许。\n" +
			"- 副本里路径不变，可以写项目、HOME 和临时目录；写下的只在这一次运行里，外面看不到，" +
			"所以相关的几步写在同一次。探针放进 `mktemp -d` 的目录，免得与 /tmp 里已有的文件撞名。\n" +
			"- 副本没有网络，也连不上本机已在运行的服务；只有同一次运行里启动的，用 127.0.0.1 连得上。\n" +
			"- 一次运行最多五分钟，`try --timeout 2m` 可以改短。Bash 自己的 timeout 单位是毫秒，" +
			"默认 120000：要跑得更久，就设大，如 300000。\n" +
			"- 退出码 125 是建不了副本，124 是超时：只说明这台机器和时限，不说明 Agent 的工作。副本里 /tmp 与项目之间的 " +
			"rename 会得到 EXDEV，chgrp 到附加组会失败，Agent 的后台任务这时改动的文件看得到。",
		"## Running commands\nRun tests, examples and whatever executes code or writes files in this one " +
			"form, with as many lines inside the quotes as you like:\n\n```sh\n%s\n```\n\n" +
			"- Between the single quotes stands a script for sh, with no other single quote in it: put " +
			"strings in double quotes; if nothing else will do, write `\\047` in printf and `\\x27` in " +
			"code. Programs for awk and sed go into a here-document and are run with `-f`.\n" +
			"- No line begins with `#`, indented or not: write no comments. If one has to (`#include`, " +
			"`#!`, `#[test]`, a Markdown heading), write it like this: " +
			"`printf \"\\043include <stdio.h>\\n\" >> \"$dir/probe.c\"`.\n" +
			"- Pipes, redirections, `&&`, `$?` and here-documents all go inside the quotes. Nothing " +
			"follows the closing quote: else the script is taken for a program's name, and what follows " +
			"for its arguments (exit code 127). An exit code other than 0 is shown anyway.\n" +
			"- If Claude Code refuses a command, its form is most likely wrong: repeat it in this form. " +
			"Read files with Read, or with `git status`, `git diff`, `git log`, `ls` or `cat` on their " +
			"own: if one part of a line is not permitted, all of it is refused.\n" +
			"- Paths are the same in the copy. It may write to the project, HOME and the temporary " +
			"directories; what it writes lasts for that one run and is not seen outside, so put steps that " +
			"need each other in one run. Probes go into a directory of `mktemp -d`, apart from what lies " +
			"in /tmp already.\n" +
			"- There is no network, and of the services on this machine only those answer, at 127.0.0.1, " +
			"that the same run starts.\n" +
			"- A run is ended after five minutes; `try --timeout 2m` makes it less. Bash's own timeout is " +
			"in milliseconds, 120000 by default: set it higher for a longer run, such as 300000.\n" +
			"- Exit code 125 means that no copy could be made, 124 that the time was up: that says " +
			"something of this machine, nothing of the agent's work. A rename between /tmp and the project " +
			"fails with EXDEV, chgrp to a supplementary group fails, and what the agent's background tasks " +
			"change meanwhile is seen."}
	copyOnMac = words{ // items of the list above
		"- 这台机器是 macOS：脚本从副本里的项目目录开始，副本的路径与原来不同，HOME 是空的，127.0.0.1 也连不上。" +
			"因此失败的，不说明 Agent 的工作。",
		"- This is macOS: a script begins in the copy of the project, whose path is another one; HOME is " +
			"empty, and nothing answers at 127.0.0.1. What fails by that says nothing of the agent's work."}
	sectionCompare = words{ // compareExample; the last item of the list above
		"- 失败是不是原来就有，同一次运行里撤掉改动、重新构建（git 不动被忽略的文件）再跑一遍就知道；报错相同才是同一个失败：\n\n```sh\n%s\n```",
		"- Whether a failure was there before, the same run tells when the tests run again without the " +
			"change, built anew (git leaves ignored files as they are). It is the same failure only with " +
			"the same message:\n\n```sh\n%s\n```"}
	sectionWordsOnly = words{
		"## 只有对话\n最后一条要求之后，Agent 没有调用工具，也没有文件不同。审它的回答，或者它该做而没做的事。不必运行什么，回答说到的文件才读。",
		"## Words only\nSince the last request the agent called no tool, and no file differs. Judge its " +
			"answer, or what it should have done and did not. Nothing needs to be run; read a file only " +
			"if the answer speaks of it."}
	homeReadOnly = words{
		"HOME 下有别的文件系统挂载：副本里 HOME 这一层的文件是只读的，也不能新建，下面的目录可以写。写这些文件时的“Read-only file system”不说明 Agent 的工作。",
		"Something is mounted below HOME: in the copy the files directly in HOME are read-only, and none " +
			"can be added there; the directories in it can be written to. \"Read-only file system\" for " +
			"such a file says nothing of the agent's work."}
	foreignFiles = words{ // one of them
		"项目里有些文件（如 %s）的用户组不是用户自己的，副本里改不了。写这些文件时的“Value too large for defined data type”不说明 Agent 的工作。",
		"Some files of the project, such as %s, are of another group than the user's own and can't be " +
			"changed in the copy. \"Value too large for defined data type\" for such a file says nothing " +
			"of the agent's work."}
	sectionNoCopy = words{ // why there is none
		"## 运行命令\n这里建不了副本（原因：%s），测试和例子不能运行；只读命令和用户规则放行的命令仍可单独运行，直接作用于真实的文件。请根据文件和对话里的输出判断。",
		"## Running commands\nThere is no throwaway copy to use here (cause: %s), so tests and examples " +
			"can't be run; read-only commands, and those that the user's rules permit, still can, each on " +
			"its own and on the files themselves. Go by the files, and by the output in the conversation."}
	sectionRule = words{ // keptFromRunning
		"## 运行命令\n%s：测试和例子不能运行，也不要试。请根据文件和对话里的输出判断。",
		"## Running commands\nHere %s: tests and examples can't be run, so don't try. Go by the files, and " +
			"by the output in the conversation."}
	sectionRequests = words{"## 用户的要求（按时间顺序，原文）", "## The user's requests (in order, verbatim)"}
	requestsJudged  = words{ // approved, let go, at the limit, and what is not listed
		"这次审的，是下面没有注明“已通过”的全部要求，审过而未通过的也算；注明“已放行”的，审当时还剩下的部分。" +
			"已通过的不再翻案，除非这次把它弄坏了。更早的要求、用户说过的其他话在上面的对话里，同样有效。",
		"Judged now is all that is not marked as approved, also what the limit left open, and of what was " +
			"let go the part that was left then. Approved ones are closed, unless this work broke them. " +
			"Earlier requests, and what else the user said, stand in the conversation above and count as " +
			"well."}
	remarkWithEsc = words{"（按 Esc 时发出：对话中可能没有，但 Agent 已收到）",
		"(sent with Esc: the agent got it, even if the conversation lacks it)"}
	remarkInterrupted = words{"（用户在此打断）", "(the user interrupted the agent at it)"}
	remarkPassed      = words{"（已于 %s 通过）", "(approved at %s)"} // the time of the review's end
	remarkLetGo       = words{"（已于 %s 放行，当时仍有后台任务）", "(let go at %s, with something still to come)"}
	remarkUnapproved  = words{"（审过，未通过）", "(its reviews ended without an approval)"}
	remarkAnswered    = words{"（回答 Agent 的提问）", "(answered to a question)"}
	remarkRefused     = words{"（拒绝一次调用或计划时说）", "(refused a call or a plan with the words)"}
	remarkPlanned     = words{"（同意了这样的计划）", "(approved the plan in this form)"}
	remarkApproved    = words{"（同意一次调用或计划时说）", "(approved a call or a plan with the words)"}
	sectionQuestion   = words{
		"## 事件：AskUserQuestion\nAgent 想向用户提出下面的问题。问题还没有显示给用户，也没有得到回答；" +
			"对话末尾的 \"[Tool call interrupted]\" 和 \"No response requested.\" 不是用户的回答。\n" +
			"放行（allow_stop 为 true）就是把问题交给用户，退回就是不提问，Agent 按照 feedback 自己继续。\n\n" +
			"## 等待回答的问题\n%s",
		"## Event: AskUserQuestion\nThe agent wants to put the question below to the user. The user has " +
			"neither seen nor answered it yet: \"[Tool call interrupted]\" and \"No response requested.\" " +
			"at the end of the conversation are not the user's answer.\n" +
			"Approving (allow_stop true) puts the question to the user; sent back, it is not asked, and " +
			"the agent goes on by your feedback.\n\n## The open question\n%s"}
	sectionStop = words{"## 事件：Stop\nAgent 想结束工作。", "## Event: Stop\nThe agent wants to stop."}
	sectionPlan = words{
		"Agent 处于计划模式（plan mode）：它什么也不能改，计划就是它要交的活。",
		"The agent is in plan mode: it may change nothing, and the plan is the work."}
	sectionPlace = words{
		"## 工作目录\nAgent 的当前目录：%s", "## Working directory\nThe agent's current directory: %s"}
	sectionWorktree = words{ // the worktree, current directory, project
		"## 工作目录\nAgent 在另一个 worktree 里工作：%s（当前目录：%s）。先检查那里的文件；项目的主目录 %s 是另一个工作树，" +
			"对话显示 Agent 在那里也有改动时，一并检查。",
		"## Working directory\nThe agent works in another worktree: %s (current directory: %s). Check the " +
			"files there first. The project's main directory, %s, is another working tree; if the " +
			"conversation shows changes of the agent's there, check them too."}
	sectionLastMessage = words{"## Agent 的最后一条消息\n%s", "## The agent's last message\n%s"}
	sectionTasks       = words{"## 正在运行的后台任务\n%s\n这些任务在 Agent 的会话里仍在运行，结束时会唤醒 Agent。" +
		"对话里若说它们已经停止（stopped），那只是因为你看到的是会话的分叉，分叉里没有这些任务。",
		"## Running background tasks\n%s\nThese tasks still run in the agent's session, and wake the agent " +
			"when they end. If the conversation calls them stopped, that is only because you see a fork of " +
			"the session, which does not have them."}
	sectionCrons = words{"## 已安排的唤醒\n%s\n到时会唤醒 Agent，届时还有一次审查。",
		"## Scheduled wake-ups\n%s\nEach wakes the agent at its time, and there will be a review then."}
	sectionChanges = words{"## 本次改动\n%s", "## The change\n%s"}
	changesBegin   = words{"与改动开始时工作树里的内容相比；此前已有的改动不算在内。",
		"Compared with what lay in the working tree when this change began; what had been changed before " +
			"is left out."}
	changesMayBeOlder = words{"改动开始时工作树里有什么，没有记录，因此与 %s 相比：其中可能有更早的改动。",
		"What lay in the working tree when this change began is not known, so this is compared with %s: " +
			"some of it may be older."}
	changesFromNothing = words{"空目录", "nothing"}
	changesNone        = words{"没有任何文件不同。", "No file differs."}
	changesNested      = words{"内层的仓库，没有看：%s", "Repositories inside, which were left out: %s"}
	changesDirty       = words{"子模块里有没提交的改动：%s", "Submodules with changes that are not committed in them: %s"}
	changesLarge       = words{"超过 10 MB、git 没有跟踪，没有看：%s",
		"Over 10 MB and not tracked by git, which were left out: %s"}
	changesUnread = words{"git 读不了，没有看：%s", "Not readable for git, which were left out: %s"}
	changesBelow  = words{"这里没有 git 仓库，改动无从得知。下面这些目录各是一个仓库，请到里面用 git status 和 git diff 查看：%s",
		"There is no git repository here, so the change is not known. These directories are one each; look " +
			"there with git status and git diff: %s"}
	changesByHand = words{"这次审查是用户自己发起的：用户可能也改过文件，对话里不会提到。这样的改动按它本身判断。",
		"The user asked for this review: they may have edited files, too, which the conversation does not " +
			"mention. Judge such edits for what they are."}
	changesOfOther = words{ // session, when, its newest request, its last feedback
		"其中也有另一个会话的改动，还没有通过（会话 %s，%s）：通过这次审查，也就通过了它。它最新的要求：%s\n它上次的反馈：%s",
		"Changes of another session, which nobody has approved, are part of this (session %s, %s): an " +
			"approval approves them, too. Its newest request: %s\nIts last feedback: %s"}
	recordTorn = words{"这个工作树的记录损坏了，保存在 %s：在下一次通过之前，这里的一切都没有通过",
		"The record of this working tree was torn, and is kept as %s: until the next approval nothing here " +
			"counts as approved"}
	changesOld = words{"下面这些与远程主分支上的内容相同，或者与这次改动开始之前的提交相同（拉取、合并、变基、检出来的，或者 Agent 自己推送的）：",
		"These are as on the remote's main branch, or in a commit from before the change (pulled, merged, " +
			"rebased, checked out, or pushed by the agent):"}
	changesDiff = words{"git diff %s %s（加上 -- 路径，只看一个文件），路径从 %s 算起：",
		"git diff %s %s (with -- PATH for one file), paths from %s:"}
	changesRest    = words{"没有完整显示的文件：%s", "Files that are not shown whole: %s"}
	changesUnknown = words{"无法得知（%s）：请用 git status 和 git diff 查看。",
		"It can't be told (%s): use git status and git diff."}
	sectionCheck = words{"## 项目自己的检查：.claude/check\n%s", "## The project's own check: .claude/check\n%s"}
	toldPassed   = words{ // how long it took, its last line
		"刚在副本里通过（%s），最后一行：%s\n不必再运行它。",
		"It has just passed in a copy (%s). Its last line: %s\nIt need not be run again."}
	toldRed = words{ // exit code, how long it took
		"连续第二次没有通过（退出码 %d，%s），所以这次由你来看。请判断问题出在改动上，还是出在检查上：它以前就不通过、时好时坏，" +
			"或者需要副本里没有的东西。输出的结尾：",
		"It has failed twice in a row (exit code %d, %s), so you are asked this time. Judge whether the " +
			"work is at fault or the check: it failed before the change, it is flaky, or it needs what a " +
			"copy does not have. Its output ends with:"}
	toldNoResult = words{"既没通过也没失败：%s（%s）。输出的结尾：",
		"It neither passed nor failed: %s (%s). Its output ends with:"}
	toldEdited = words{ // what it was, what it is
		"改动开始以来它变了。放松的检查等于放松的测试，请一并判断。\n原来：%s\n现在：%s",
		"It has changed since the change began. A loosened check is a loosened test: judge that, too.\n" +
			"It was: %s\nIt is: %s"}
	toldFile   = words{"权限 %s\n%s", "mode %s\n%s"}
	toldNoFile = words{"没有这个文件", "no such file"}
	// What the agent gets of a check that failed: its exit code, how long it took, the end of its output.
	feedbackOfCheck = words{"项目自己的检查 .claude/check 没有通过（退出码 %d，%s）。输出的结尾：\n%s",
		"The project's own check, .claude/check, failed (exit code %d, %s). Its output ends with:\n%s"}
	sectionLastFeedback = words{"## 上次反馈\n%s", "## Previous feedback\n%s"}
	sectionUnseen       = words{
		"Agent 没有看到这条反馈：会话只是被旁观，没有拦下它。用户可能转告了它，对话里看得到。",
		"The agent has not seen this feedback: the session is only observed, and it was let stop. The user " +
			"may have passed it on, which the conversation shows."}
	sectionNoVerdict = words{"## 上次没有判定\n上次审查的回答里没有能读取的判定。%s", // verdictForm
		"## No verdict last time\nThe previous review gave no verdict that can be read. %s"}
	sectionReview = words{ // the round, the most, seconds of the review, seconds for the verdict
		"## 审查轮数\n第 %d 轮，最多 %d 轮。整次审查限时 %d 秒，到时没有判定就作废：最要紧的先跑，哪次运行都不要超过剩下的时间，留出 %d 秒写判定。",
		"## Round\nRound %d of at most %d. The whole review has %d seconds, and without a verdict by then " +
			"it is void: run what matters most first, nothing longer than what is left, and leave %d " +
			"seconds for the verdict."}
	// The form of the verdict.
	schemaAllowStop = words{"是否允许 Agent 停止工作（true = 工作达到无可挑剔状态，false = 需要继续改进）",
		"Whether the agent may stop working (true = the work is impeccable, false = it needs further " +
			"improvement)"}
	schemaFeedback = words{"当 allow_stop 为 false 时，提供具体的、可执行的、包含足够细节的改进指令",
		"When allow_stop is false: specific, actionable instructions for improvement, in enough detail"}
	verdictForm = words{
		`最后只输出一个 JSON 对象，之后不再输出任何内容：{"allow_stop": true 或 false, "feedback": "..."}`,
		`End with one JSON object, and nothing after it: {"allow_stop": true or false, "feedback": "..."}`}
)
