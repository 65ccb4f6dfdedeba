package main

// What people read of ccc, in both of its languages. Errors, warnings, --help, doctor and uninstall are
// always English and do not stand here.

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"strings"
)

const (
	chinese = "zh" // the values of language in ccc.json
	english = "en"
)

// lang is the language of this process. It is set once, before the first text is used.
var lang = chinese

// languageFor returns configured, the language that ccc.json names, or if that is "" the locale's.
func languageFor(configured string) string {
	locale := cmp.Or(configured, os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"), "C")
	name, _, _ := strings.Cut(locale, ".")
	if name == "C" || name == "POSIX" || strings.HasPrefix(strings.ToLower(name), chinese) {
		return chinese
	}
	return english
}

// words are one text in both languages. Their literals have no field names, so that the compiler finds a
// missing one. A comment at a text names the values that are filled in.
type words struct{ zh, en string }

func (w words) in(language string) string {
	if language == english {
		return w.en
	}
	return w.zh
}

// say returns text in the language of this process, formatted as by fmt if there are values.
func say(text words, values ...any) string {
	if len(values) == 0 {
		return text.in(lang)
	}
	return fmt.Sprintf(text.in(lang), values...)
}

// A causeWords is an error whose text is in the language of this process.
type causeWords words

func (c causeWords) Error() string { return say(words(c)) }

// count returns n with what is counted, such as 1 review, 2 reviews, 2 次.
func count(n int, what words) string {
	text := fmt.Sprint(n, " ", say(what))
	if lang == english && n != 1 {
		text += "s"
	}
	return text
}

// duration writes seconds as such, from 60 on as minutes and seconds.
func duration(seconds float64) string {
	if seconds < 60 {
		return say(inSeconds, seconds)
	}
	return say(inMinutes, int(seconds)/60, int(seconds)%60)
}

// cutMiddle replaces the middle of a text of more than keep characters by a line that tells how many are left
// out. It keeps keep characters, one less if that is odd.
func cutMiddle(text string, keep int) string {
	runes := []rune(text)
	if len(runes) <= keep {
		return text
	}
	half := keep / 2
	missing := say(leftOut, count(len(runes)-2*half, characters))
	return string(runes[:half]) + "\n" + missing + "\n" + string(runes[len(runes)-half:])
}

// Figures and parts of other texts.
var (
	reviews    = words{"次", "review"}
	characters = words{"个字符", "character"}
	minutes    = words{"分钟", "minute"}
	hours      = words{"小时", "hour"}
	days       = words{"天", "day"}
	inSeconds  = words{"%.1f 秒", "%.1fs"}
	inMinutes  = words{"%d 分 %02d 秒", "%dm%02ds"}
	leftOut    = words{"……（省略 %s）……", "... (%s left out) ..."}
)

// The launch.
var (
	announcement = words{ // state directory, log, output, log quoted for a shell
		`Supervisor mode enabled
[Supervisor Mode] 日志文件:
  状态目录：%s
  Hook 日志：%s
  审查输出：%s
查看日志：tail -f %s
看审查过程：ccc log -f
`,
		`Supervisor mode enabled
[Supervisor Mode] Log files:
  State directory: %s
  Hook log: %s
  Reviewer's output: %s
To follow the log: tail -f %s
To watch the reviews: ccc log -f
`}
	providerRemembered = words{"提供商 %s（沿用上次启动的选择；ccc %s 不用提供商）", // provider, the word for none
		"provider %s, remembered from an earlier launch; ccc %s goes without one"}
)

//go:embed supervisor_prompt_default.md
var promptChinese string

//go:embed supervisor_prompt_default_en.md
var promptEnglish string

// Files for the user: SUPERVISOR.md, and the one that makes /supervisor known.
var (
	defaultPrompt = words{promptChinese, promptEnglish}
	commandFile   = words{
		`---
description: 监督本会话：on 打开，off 关闭，也可以直接给出任务
argument-hint: on | off | 任务
---
$ARGUMENTS
`,
		`---
description: "Supervise this session: on, off, or a task to begin with"
argument-hint: on | off | task
---
$ARGUMENTS
`}
)

// The hook's answers. [SUPERVISOR] stands before each.
var (
	// count of reviews, introducedProvider or nothing
	introduction = words{"本会话受监督：每个请求最多审查 %s%s。实时查看：ccc log -f",
		"This session is supervised: at most %s a request%s. To watch: ccc log -f"}
	introducedProvider = words{"，提供商：%s", ", provider: %s"}
	// cause
	reviewFailed = words{"这次没能完成审查，Agent 的工作没有检查过。原因：%s\n发“继续”会在它停下时再审；仍不行请运行 ccc doctor，详情见 ccc log",
		"There was no review, so the agent's work stands unchecked. Cause: %s\nSend \"continue\" to have " +
			"it reviewed when it stops; if that fails too, run ccc doctor. Details: ccc log"}
	questionUnreviewed = words{"这个提问没能审查，直接交给你。原因：%s\n详情见 ccc log", // cause
		"This question comes to you without a review. Cause: %s\nDetails: ccc log"}
	earlierFailed = words{"上一次没能完成审查，Agent 的工作没有检查过。原因：%s\n如果再次发生，请运行 ccc doctor；详情见 ccc log", // cause
		"The last review did not take place, so the agent's work stands unchecked. Cause: %s\n" +
			"If that fails again, run ccc doctor. Details: ccc log"}
	// count of reviews
	limitReached = words{"本请求的审查次数已用完（%s）", "The limit of %s is reached; there are no more for this request"}
	limitStop    = words{"本请求的 %s审查已用完，Agent 这次停下没有再审。你再发消息会重新计数。", // count of reviews
		"The limit of %s is reached: this stop was not reviewed. Your next prompt gives new reviews."}
	feedbackStillOpen = words{"上次的反馈还没有解决：%s", "Still open is the last feedback: %s"}
	leftToUser        = words{"审查者留给你的话：%s", "The reviewer leaves this to you: %s"}
	// /supervisor.
	modeNames = map[string]words{"on": {"已打开", "on"}, "off": {"已关闭", "off"}}
	modeCells = map[string]words{"on": {"开", "on"}, "off": {"关", "off"}} // in a table
	modeIs    = words{"监督：%s（/supervisor on 打开，/supervisor off 关闭）",
		"Supervisor mode: %s (/supervisor on and /supervisor off switch it)"}
	modeUnclear = words{
		"不明白“/supervisor %s”。可用的写法：/supervisor on（打开）、/supervisor off（关闭）、/supervisor（显示当前状态）、" +
			"/supervisor 加上任务内容",
		"What does /supervisor %s mean? There are: /supervisor on, /supervisor off, /supervisor (how it " +
			"stands), /supervisor some task"}
	modeNotForAgent = words{
		"开关监督由用户决定，不由 Agent 决定。在你自己的终端里可以运行 ccc supervisor-mode off 或 on。",
		"Switching the supervision is for the user, not for the agent. In a terminal of your own: " +
			"ccc supervisor-mode off, or on"}
	modeFailed = words{"无法切换监督：%s", "Supervisor mode could not be switched: %s"}
	modeOn     = words{"监督已打开：Agent 每次停下之前都要先经过审查，每个请求最多 %s。只对本会话有效；/clear 之后恢复为启动时的状态。", // count of reviews
		"Supervisor mode is on: the agent is reviewed before it stops, at most %s a request. " +
			"For this session; after /clear it is as it was started."}
	modeOff = words{"监督已关闭：Agent 停下时不再审查。只对本会话有效；/clear 之后恢复为启动时的状态。",
		"Supervisor mode is off: the agent stops without a review. For this session; " +
			"after /clear it is as it was started."}
)

// Why there was no review, or why a review is not bound to a state of the files, in ccc's own words.
var (
	errSwitchedOff = causeWords{"审查期间监督被关闭", "supervision was switched off during the review"}
	errToldToEnd   = causeWords{"审查被打断：按了 Esc 或 Ctrl-C，或者 Claude Code 结束了",
		"it was interrupted, by Esc or Ctrl-C or because Claude Code ended"}
	errKilled    = causeWords{"审查期间 ccc 被强行结束", "ccc was killed during the review"}
	errNoResult  = causeWords{"审查者没有给出结果就结束了", "the reviewer ended without a result"}
	errTryOff    = causeWords{"ccc.json 里 supervisor.try 为 false", "supervisor.try is false in ccc.json"}
	errNoCount   = causeWords{"计数无法保存，只审查第一次停下", "without a count only the first stop is reviewed"}
	errNoVerdict = causeWords{"审查者没有给出判定", "the reviewer gave no verdict"}
	errNoGit     = causeWords{"这里没有 git 仓库", "there is no git repository"}
	errChanged   = causeWords{"审查期间文件有改动", "files changed during the review"}
	treeCauses   = []words{ // in the order of the arguments of treeScript
		{"配置了 git filter，而这里做不了运行它的副本", "a filter is configured, and no copy can be made to run it in"},
		{"有文件标记为 assume-unchanged 或 skip-worktree", "files are marked assume-unchanged or skip-worktree"},
		{"内层的一个仓库，路径里有 git 要转义的字符", "a repository inside it has a name that git quotes"},
		{"git 的工作树是另一个目录", "git's working tree is another directory"},
		{"内层的一个仓库有自己的改动", "a repository inside it has changes of its own"},
	}
	gitTooSlow = words{"git 用时超过 %v", "git took longer than %v"}
	noVerdict  = words{"审查者没有给出判定：%s", "the reviewer gave no verdict: %s"}
	// timeLimit or timeLimitOfHook
	noVerdictWithin = words{"审查者在 %d 秒内没有给出判定：%s", "the reviewer gave no verdict within %ds: %s"}
	timeLimit       = words{"时限是 ccc.json 的 supervisor.timeout_seconds",
		"that is supervisor.timeout_seconds in ccc.json"}
	timeLimitOfHook = words{"settings.json 规定 hook 最多运行 %d 秒；运行一次 ccc --supervisor 会按 timeout_seconds 更新它",
		"Claude Code ends the hook after %ds, as settings.json says; ccc --supervisor makes that fit " +
			"timeout_seconds"}
	// version, oldestClaude, the command that updates it
	clientTooOld    = words{"Claude Code %s 太旧，至少要 %s：%s", "version %s of Claude Code is older than %s: %s"}
	notStarted      = words{"无法启动审查者", "starting the reviewer"}
	guardKilled     = words{"看护审查者的进程被强行结束", "the guard of the reviewer was killed"}
	reviewerFailed  = words{"审查者报错%s：%s", "the reviewer failed%s: %s"} // kind or nothing, its message
	malformedResult = words{"审查者的结果格式有误", "the reviewer's result is malformed"}
)

// What the hook writes to stderr, a line each.
var (
	hookBegun  = words{"[SUPERVISOR HOOK] 开始执行", "[SUPERVISOR HOOK] Started"}
	reviewing  = words{"[SUPERVISOR] 正在审查工作", "[SUPERVISOR] Reviewing the work"} // also the spinner's text
	detailsIn  = words{"请在新窗口查看日志文件了解详情：%s", "For details, follow this log file in another window: %s"}
	finished   = words{"[SUPERVISOR] 任务已完成\n允许停止", "[SUPERVISOR] Task finished\nThe agent may stop"}
	unfinished = words{"[SUPERVISOR] 任务未完成\n%s\nAgent 将根据反馈继续工作",
		"[SUPERVISOR] Task not finished\n%s\nThe agent goes on with this feedback"}
	limitSkipped = words{"[SUPERVISOR] 已达到审查次数上限 %d/%[1]d，允许停止",
		"[SUPERVISOR] Limit of reviews reached, %d/%[1]d: the agent may stop"}
)

// A session on one line: ccc status, ccc statusline.
var (
	noSessionYet = words{"这里还没有受监督的会话（%s）\n要开始：ccc --supervisor", // state directory
		"No session has been supervised here yet (%s)\nTo begin one: ccc --supervisor"}
	statusHeads = [...]words{
		{"会话", "Session"}, {"监督", "On"}, {"次数", "Round"}, {"结果", "Result"},
		{"时间", "When"}, {"审查", "Reviews"}, {"花费", "Cost"}, {"项目", "Project"}, {"要求", "Request"},
	}
	moreSessions = words{"还有 %d 个会话：ccc status --all", "%d more: ccc status --all"}
	verdictNames = map[string]words{
		"block": {"退回", "sent back"}, "allow": {"通过", "approved"}, "failed": {"未审成", "failed"},
		"limit": {"次数用完", "limit"}, "cancelled": {"已取消", "cancelled"}, "reviewing": {"审查中", "reviewing"},
	}
	runningFor       = words{"%d 秒", "%ds"}
	justNow          = words{"刚刚", "just now"}
	timeAgo          = words{"%s前", "%s ago"} // count of minutes, hours or days
	supervisedNow    = words{"监督中 %s", "supervised %s"}
	supervisedLast   = words{"上次：%s %s", "last: %s %s"} // verdict, when
	supervisionIsOff = words{"监督已关闭", "supervision is off"}
	statuslineByHand = words{ // settings.json
		"这个命令由 Claude Code 调用，在状态栏里显示审查的进展。把下面几行写进 %s：",
		"Claude Code runs this command: it shows in the status line how reviews go. Put these lines into %s:"}
)

// A session in full: ccc log.
var (
	waitingForFirst = words{"等待第一个会话……", "Waiting for the first session..."}
	sessionTitle    = words{"会话 %s", "Session %s"}
	sessionChosen   = words{"会话 %s（%s）", "Session %s (%s)"}
	newestHere      = words{"当前项目最新的会话", "the newest of this project"}
	anotherHere     = words{"当前项目的另一个会话", "another of this project"}
	titleUser       = words{"用户", "User"}
	modeSwitched    = words{"监督%s", "Supervision switched %s"} // on or off
	byUser          = words{"用户（/supervisor）", "the user (/supervisor)"}
	byOutside       = words{"会话之外（ccc supervisor-mode）", "ccc supervisor-mode, outside the session"}
	byAgent         = words{"Agent（ccc supervisor-mode）", "the agent (ccc supervisor-mode)"}
	titleReview     = words{"审查", "Review"}
	titleQuestion   = words{"提问审查", "Review of a question"}
	tokensUsed      = words{"token：新 %s，缓存 %s，输出 %s", "tokens: %s new, %s cached, %s out"}
	builtinPrompt   = words{"内置的审查提示词", "the built-in prompt"}
	underWay        = words{"进行中……", "under way..."}
	withoutVerdict  = words{"审查者没有给出判定：它的话就是反馈",
		"The reviewer gave no verdict: what it said is the feedback"}
	unreadableVerdict = words{"审查者没有给出能读取的判定：Agent 得到的是默认反馈",
		"The reviewer gave no verdict that can be read: the agent got the default feedback"}
	cacheUses = map[string]words{ // by record.Way
		"cache": {"用 Agent 的缓存", "with the agent's cache"},
		"own":   {"用审查者自己的系统提示词", "with a prompt of its own"},
	}
	exitedWith     = words{"退出码 %d", "exit %d"}
	questionPassed = words{"问题直接交给用户", "The question went to the user without a review"}
	stopPassed     = words{"没有审查，Agent 可以停下", "There was no review; the agent may stop"}
	// The first column of the facts of a review.
	leadFormat   = words{"%s ", "%-9s"}
	leadAsked    = words{"用户", "user"}
	leadSaid     = words{"自述", "agent"}
	leadAsks     = words{"提问", "asks"}
	leadBy       = words{"来自", "by"}
	leadBasis    = words{"依据", "rules"}
	leadTools    = words{"查看", "looked"}
	leadRan      = words{"实测", "ran"}
	leadNoCopy   = words{"不能实测", "not run"}
	leadRefused  = words{"被拒绝", "refused"}
	leadUnbound  = words{"未绑定", "unbound"}
	leadFeedback = words{"反馈", "feedback"}
	leadReason   = words{"原因", "reason"}
	leadForUser  = words{"留言", "for you"}
)

// ccc demo.
var (
	demoTask = words{"写 slug.sh，把标题变成 URL slug：' C++ & Go! ' 得到 c-go。再写一个测试并运行。",
		"Write slug.sh, which turns a title into a URL slug: ' C++ & Go! ' gives c-go. " +
			"Add a test and run it."}
	demoIntroduction = words{"下面是一次受监督的会话，从启动到通过，像 ccc log -f 那样展示，大约五秒。Claude Code 和审查者都由替身扮演，不需要网络和密钥；" +
		"其余都是真正的 ccc，在临时的 HOME 里运行。",
		"This is a supervised session from launch to approval, as ccc log -f tells it; " +
			"it takes about five seconds. Claude Code and the reviewer's words are played by a stand-in, " +
			"so it needs no network and no key; all the rest is the real ccc, in a temporary home."}
	demoEnd = words{"上面 [SUPERVISOR] 开头的是凭据，会话里每次审查之后都会显示：Agent 说做完了，审查者在项目的副本里运行用户的例子，Agent 一直改到例子通过为止。" +
		"演示没有留下任何东西。在你的项目里：ccc --supervisor",
		"What begins with [SUPERVISOR] are the receipts that a session shows: the agent said it was " +
			"done, the reviewer ran the user's example in a copy of the project, and the agent had to go " +
			"on until it passed. Nothing is left of this demo. In a project of yours: ccc --supervisor"}
)

// ccc review.
var (
	// the last request
	reviewingByHand  = words{"审查会话 %s（最后写入 %s）：%s", "Reviewing session %s, last written %s: %s"}
	reviewingWith    = words{"提供商 %s", "provider %s"}
	alreadyReviewing = words{"这个会话正在审查，等它结束再来", "this session is being reviewed right now: wait for the end"}
	stillWorking     = words{"Agent 还在工作：审查的是它到目前为止的状态",
		"The agent is still working: what there is so far is reviewed"}
)

// Receipts, ccc verdict, ccc report.
var (
	notBound        = words{"没有与文件的某个状态绑定", "not bound to a state of the files"}
	moreRuns        = words{"次运行未列出", "more run"}
	receiptRead     = words{"只读了文件，没有运行命令", "only files were read, nothing was run"}
	shownOnTerminal = words{"输出在终端上，没有记录", "it went to the terminal and is not recorded"}
	receiptNoCopy   = words{"没有在副本里运行命令", "nothing was run in a copy"}
	noApproval      = words{"没有哪次通过的审查见过 %s 的文件", "no review approved the files of %s"}
	// tree, session, time
	newestApproval = words{"这个仓库最近一次通过的是 tree %s（会话 %s，%s）",
		"the newest approval in this repository is of tree %s (session %s, %s)"}
	pathsThatDiffer   = words{"不同的文件：%s", "these differ: %s"}
	sessionsForgotten = words{"一个会话的最后一次审查过去 30 天后，ccc 就不再记得它",
		"ccc forgets a session 30 days after its last review"}
	noneReviewedHere = words{"没有会话在这个工作树里受过审查：%s", "no session was reviewed in this working tree: %s"}
	// session, its working tree
	newestElsewhere = words{"这个项目最新的会话 %s 审查的是另一个工作树：%s",
		"the newest session of this project, %s, was reviewed in another working tree: %s"}
	pushNotListed = words{"没有收到 git 要推送的内容，改为查询 HEAD",
		"nothing came of what git is going to push: asking for HEAD instead"}
	nothingReviewed = words{"上一条消息之后，Agent 停下还没有受过审查，或者监督已关闭",
		"no stop was reviewed since the last prompt, or supervision was switched off"}
	receiptNothing  = words{"没有查看也没有运行任何东西", "nothing was looked at or run"}
	reportTitle     = words{"ccc 审查：%s", "Reviewed by ccc: %s"} // verdict
	reportSession   = words{"会话", "session"}
	reportUnchanged = words{"文件与审查时相同", "the files are as they were reviewed"}
	reportChanged   = words{"审查之后文件有改动", "files have changed since"}
	reportRequests  = words{"用户的要求", "What the user asked for"}
	reportRuns      = words{"审查者运行了什么", "What the reviewer ran"}
	reportBefore    = words{"第 %d 次审查时：%s", "in review %d: %s"}
	reportOutput    = words{"输出的末尾", "the end of its output"}
	reportSentBack  = words{"退回过什么", "What was sent back"}
	reportFeedback  = words{"反馈", "The feedback"}
	reportReason    = words{"原因", "Why there was no review"}
	reportForUser   = words{"留给用户的话", "Left to the user"}
	reportLeftOut   = words{"（太长，已省略）", "(left out: too long)"}
)
