package main

// What people read of ccc, in both of its languages, with why there was no review or approval. Other errors,
// warnings, --help, doctor and uninstall are always English and are not here.

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

// duration writes seconds as such, from 60 on as minutes and seconds.
func duration(seconds float64) string {
	if seconds < 60 {
		return say(inSeconds, seconds)
	}
	return say(inMinutes, int(seconds)/60, int(seconds)%60)
}

// age writes how long ago that was, in its largest unit.
func age(of time.Time) string {
	switch passed := max(0, time.Since(of)); { // a clock may be set back
	case passed < time.Minute:
		return say(secondsOld, int(passed/time.Second))
	case passed < time.Hour:
		return say(minutesOld, int(passed/time.Minute))
	case passed < 24*time.Hour:
		return say(hoursOld, int(passed/time.Hour))
	default:
		return say(daysOld, int(passed/(24*time.Hour)))
	}
}

// cutMiddle replaces the middle of a text that is clearly longer than keep characters by a line that counts
// what is left out. It keeps keep characters, one less if that is odd.
func cutMiddle(text string, keep int) string {
	const clearly = 100
	runes := []rune(text)
	if len(runes) <= keep+clearly {
		return text
	}
	half := keep / 2
	missing := say(leftOut, plural(len(runes)-2*half, characters))
	return string(runes[:half]) + "\n" + missing + "\n" + string(runes[len(runes)-half:])
}

// cutLines leaves out the lines between the first and the last of text, so many of each.
func cutLines(text string, first, last int) string {
	lines := strings.Split(text, "\n")
	missing := len(lines) - first - last
	if missing <= 1 {
		return text
	}
	kept := append(slices.Clone(lines[:first]), say(leftOut, plural(missing, linesCounted)))
	return strings.Join(append(kept, lines[len(lines)-last:]...), "\n")
}

// Figures and parts of other texts.
var (
	reviews    = words{"次", "review"}
	characters = words{"个字符", "character"}
	inSeconds  = words{"%.1f 秒", "%.1fs"}
	inMinutes  = words{"%d 分 %02d 秒", "%dm%02ds"}
	secondsOld = words{"%d 秒", "%ds"}
	minutesOld = words{"%d 分钟", "%dm"}
	hoursOld   = words{"%d 小时", "%dh"}
	daysOld    = words{"%d 天", "%dd"}
	leftOut    = words{"……（省略 %s）……", "... (%s left out) ..."}
	listComma  = words{"、", ", "}
)

// The launch.
var (
	// The state directory, then names in it: the log's, the output's. All of it takes four lines at 80
	// columns.
	announcement = words{
		"Supervisor mode enabled\n[Supervisor Mode] 日志文件：%s\n  %s、%s\n",
		"Supervisor mode enabled\n[Supervisor Mode] Log files: %s\n  %s, %s\n"}
	announcedLog     = words{"实时查看：ccc log -f", "To watch: ccc log -f"}
	announcedVerdict = words{"结束后看判定：ccc verdict", "Afterwards: ccc verdict"}
	tryingHooks      = words{"正在等 claude 试运行 hook……", "waiting for claude, which tries the hooks..."}
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
description: 监督本会话：on 打开，off 关闭，observe 旁观，status 状态，也可以直接给出任务
argument-hint: on | off | observe | status | 任务
---
$ARGUMENTS
`,
		`---
description: "Supervise this session: on, off, observe, status, or a task to begin with"
argument-hint: on | off | observe | status | task
---
$ARGUMENTS
`}
)

// The hook's answers. [SUPERVISOR] comes before each, but not before those to /supervisor.
var (
	// Claude Code wraps them at blanks only, so in Chinese each sentence is a line.
	// At the start of a session. Count of reviews; introducedProvider or nothing:
	introduction = words{"本会话受监督\n每项要求最多审查 %s%s", "This session is supervised: up to %s per request%s."}
	// introducedProvider or nothing
	introductionObserved = words{"本会话被旁观\n每次停下都会审查，但不退回%s",
		"This session is observed: stops are judged, nothing is sent back%s."}
	introducedProvider = words{"（提供商 %s）", " (provider %s)"}
	introducedReviewer = words{"\n由 %s 审查", "\nReviewed by %s."} // a provider, with its model
	introducedNoCopy   = words{"\n这里建不了副本，审查者只能读文件；解决办法：ccc doctor",
		"\nNo copy can be made here, so the reviewer can only read: ccc doctor has the fix."}
	introducedRule    = words{"\n%s", "\nMind that %s."}                // keptFromRunning
	introducedForeign = words{"\n项目里有些文件（如 %s）在副本里改不了；解决办法：ccc doctor", // one of them
		"\nSome files here (such as %s) can't be changed in a copy: ccc doctor has the fix."}
	introducedWork = words{"\n只说话、没动手的回合不审查", "\nTurns of words alone need no review."}
	introducedLog  = words{"\n实时查看：ccc log -f\n切换：/supervisor off（关闭）、on（打开）、observe（旁观）",
		"\nTo watch: ccc log -f. To switch: /supervisor off, on, observe."}
	introducedNoBudget = words{"\n预算不起作用：Claude Code 不报审查的花费",
		"\nThe budget does not hold: Claude Code does not tell what a review costs."}
	introducedIdleCheck = words{"\n.claude/check 不可执行，所以不会运行：chmod +x .claude/check",
		"\n.claude/check is not executable, so it does not run: chmod +x .claude/check"}
	// cause, advice
	reviewFailed = words{"这次审查未完成，Agent 的工作未经检查。\n原因：%s\n%s",
		"There was no review, so nobody checked the agent's work. Cause: %s\n%s"}
	adviceContinue = words{"发一条“继续”，它停下时会再审，或者运行 ccc review。\n仍不行请运行 ccc doctor，详情见 ccc log",
		"Send \"continue\", and the agent is reviewed when it stops, or run ccc review. " +
			"If that fails too, run ccc doctor. Details: ccc log"}
	adviceLogin = words{"登录或密钥没有被接受：请运行 /login，或检查环境变量里的密钥；\n然后发一条“继续”",
		"The login or key was not accepted: run /login, or check the key in the environment, " +
			"then send \"continue\""}
	adviceModel = words{"找不到审查者的模型：请检查 ccc.json 的 supervisor.model，或用 /model 换会话的模型",
		"The reviewer's model was not found: check supervisor.model in ccc.json, or choose the session's " +
			"with /model"}
	providersModel = words{ // its name
		"%s 没有审查者的模型：请检查 ccc.json 的 supervisor.model\n和 providers.%[1]s 的 ANTHROPIC_MODEL",
		"%s does not have the reviewer's model: check supervisor.model, and ANTHROPIC_MODEL of " +
			"providers.%[1]s, in ccc.json"}
	adviceForm = words{"换一个模型来审：ccc.json 的 supervisor.model 或 supervisor.provider；\n" +
		"用自己的 SUPERVISOR.md 的，请检查它要求的格式",
		"Choose another supervisor.model or supervisor.provider in ccc.json; if you have a SUPERVISOR.md " +
			"of your own, check which form it asks for"}
	adviceLog     = words{"详情见 ccc log", "Details: ccc log"}
	adviceCompact = words{"对话太长，审查者读不下：先运行 /compact，再发一条“继续”",
		"The conversation is too long for the reviewer: run /compact first, then send \"continue\""}
	earlierCancelled = words{"上次审查已取消，Agent 的工作未经检查。",
		"The last review was cancelled: nobody checked the agent's work."}
	deferred = words{"子代理还在工作，这次停下先不审查。\n等它们都结束，Agent 再停下时审查。",
		"Subagents are still at work: the review is put off until they have ended and the agent stops again."}
	earlierDeferred = words{"上次停下时子代理还在工作，那次停下没有审查。",
		"Subagents were at work at the last stop, so it was not reviewed."}
	questionUnreviewed = words{"这个提问的审查未完成，直接交给了你。\n原因：%s\n%s", // as in reviewFailed
		"This question went to you without a review. Cause: %s\n%s"}
	// Above the questions, and below them.
	questionAnswered = words{"审查者（不是你）回答了 Agent 的提问：",
		"The reviewer, not you, answered the agent's question:"}
	reviewersAnswer = words{"它的回答：%s", "Its answer: %s"}
	answerYourself  = words{"不同意：按 Esc，再输入你的回答", "To answer otherwise: press Esc and type it"}
	// What is used up at the limit: a count of reviews, or a budget.
	limitReached = words{"这项要求的 %s审查已用完", "The limit of %s for this request is reached"}
	budgetUsed   = words{"这项要求的 $%.2f 预算已用完", "The budget of $%.2f for this request is used up"}
	// limitReached or budgetUsed
	limitQuestion = words{"%s，这个提问没有审查。", "%s: this question had no review."}
	limitStop     = words{"%s，这次停下没有再审。\n你再发消息会重新计数。",
		"%s: this stop had no review. Your next prompt allows new reviews."}
	feedbackStillOpen = words{"上次的反馈还没有解决：%s", "The last feedback is still open: %s"}
	observedFeedback  = words{"反馈（Agent 没有收到，由你决定是否转告）：%s",
		"Feedback (the agent has not received it; pass it on if you like): %s"}
	notRecorded = words{"没能完整记录下来：%s", "Not all of it could be recorded: %s"}
	leftToUser  = words{"审查者给你的留言：%s", "The reviewer leaves this to you: %s"}
	// /supervisor.
	modeNames = map[mode]words{
		modeOn: {"已打开", "on"}, modeOff: {"已关闭", "off"}, modeObserve: {"旁观", "observed"}}
	modeCells = map[mode]words{modeOff: {"关", "off"}, modeObserve: {"旁观", "observed"}} // in a table
	// What is typed after /supervisor, in whichever language; "" is the query.
	modeOperands = map[string]mode{"on": modeOn, "打开": modeOn, "开": modeOn, "off": modeOff, "关闭": modeOff,
		"关": modeOff, "observe": modeObserve, "旁观": modeObserve, "status": "", "状态": ""}
	// In a short text these may mean off.
	offWords     = []string{"off", "stop", "don't", "disable"}
	isOfReviews  = lazyRegexp("(?i)review|supervis")
	offInChinese = lazyRegexp("[关停]|[不别].*[审监]")
	modeIs       = words{"监督：%s", "Supervision: %s"}
	// how many of how many
	reviewsUsed      = words{"这项要求已审查 %d/%d 次", "reviews of this request: %d/%d"}
	reviewsOfSession = words{"本会话共审查 %s", "This session: %s"} // count of reviews
	modeHow          = words{"要改：/supervisor on（打开）、off（关闭）、observe（旁观）",
		"To switch it: /supervisor on, off or observe"}
	modeUnclear = words{
		"不明白“/supervisor %s”。\n可用：on（打开）、off（关闭）、observe（旁观）、status（状态）\n或直接写任务",
		"\"/supervisor %s\" is not understood. It takes on, off, observe, status, or a task of several words"}
	modeNotForAgent = words{"开关监督由用户决定，不由 Agent 决定。", "Only the user switches supervision, not the agent."}
	modeFailed      = words{"无法切换监督：%s", "Supervision could not be switched: %s"}
	// switchHolds follows each of these.
	switchedOn = words{"监督已打开：Agent 每次停下之前都要先经过审查，每项要求最多 %s。", // count of reviews
		"Supervision is on: the agent is reviewed before it stops, up to %s per request."}
	switchedOnObserved = words{"监督已打开，但 ccc.json 里 supervisor.observe 为 true：只旁观，不退回。",
		"Supervision is on, but supervisor.observe is true in ccc.json: stops are judged, and nothing is " +
			"sent back."}
	switchedToObserve = words{"改为旁观：Agent 每次停下都会审查，但不退回，判定和反馈只给你看。",
		"Observed: each stop is judged for you to see, and the agent is never sent back."}
	switchedOff = words{"监督已关闭：Agent 停下时不再审查。", "Supervision is off: the agent stops without a review."}
	switchHolds = words{"\n只对本会话有效；/clear 之后恢复为启动时的状态。",
		" This holds for this session; after /clear it is again as at its start."}
)

// Why there was no review, or no look at the files, in ccc's own words.
var (
	errSwitchedOff   = errText{"审查期间监督被关闭", "supervision was switched off during the review"}
	errUserEnded     = errText{"审查没有做完就被结束了", "the review was ended before its verdict"}
	errOverBudget    = errText{"预算已用完", "the review's budget is used up"}
	errNoResult      = errText{"审查者没有给出结果就结束了", "the reviewer ended without a result"}
	errNoCount       = errText{"计数无法保存，只审查第一次停下", "the count can't be saved: only the first stop is reviewed"}
	errNoVerdict     = errText{"审查者没有给出判定", "the reviewer gave no verdict"}
	tooManyUntracked = words{"未跟踪的文件超过 %s 个（.gitignore 里没有）",
		"over %s untracked files (not in .gitignore)"}
	tooLargeUntracked = words{"未跟踪的文件超过 %d MB（.gitignore 里没有）",
		"over %d MB of untracked files (not in .gitignore)"}
	errNoNamespaces  = errText{"这里不能建新的命名空间", "no new namespaces can be made here"}
	errFewNamespaces = errText{"命名空间的上限已到（/proc/sys/user 里的 max_*_namespaces）",
		"a limit of namespaces is reached (max_*_namespaces in /proc/sys/user)"}
	errNoGit       = errText{"这里没有 git 仓库", "there is no git repository"}
	gitTooSlow     = words{"git 用时超过 %v", "git took longer than %v"}
	noVerdict      = words{"审查者没有给出判定：%s", "the reviewer gave no verdict: %s"}
	noVerdictAgain = words{"审查者连续 %d 次没有给出判定：它不按要求的格式回答", // how often in a row
		"the reviewer gave no verdict %d times in a row: it does not keep to the form"}
	noVerdictWithin = words{"审查者在 %d 秒内没有给出判定：时限是 ccc.json 的 supervisor.timeout_seconds",
		"the reviewer gave no verdict within %ds: that is supervisor.timeout_seconds in ccc.json"}
	// version, oldestClaude, the command that updates it
	clientTooOld  = words{"Claude Code %s 太旧，至少要 %s：%s", "version %s of Claude Code is older than %s: %s"}
	notStarted    = words{"无法启动审查者：%s", "the reviewer could not be started: %s"}
	directoryGone = words{"目录 %s 不在了", "the directory %s is gone"}
	// mode, the one that was asked for
	reviewersMode = words{"审查者的权限模式是 %s，不是 %s：PATH 里的 claude 是不是加了参数的包装脚本？",
		"the reviewer has the permission mode %s, not %s: does a wrapper of claude in PATH add a flag?"}
	reviewerFailed  = words{"审查者报错%s：%s", "the reviewer failed%s: %s"} // kindOfFailure or "", its message
	kindOfFailure   = words{"（%s）", " (%s)"}
	malformedResult = words{"审查者的结果格式有误：%s", "the reviewer's result is malformed: %s"}
)

// What the hook writes to stderr, a line each.
var (
	hookBegun         = words{"[SUPERVISOR HOOK] 开始执行", "[SUPERVISOR HOOK] Started"}
	reviewing         = words{"[SUPERVISOR] 正在审查工作", "[SUPERVISOR] Reviewing the work"} // also a spinner's
	reviewingQuestion = words{"[SUPERVISOR] 正在审查提问", "[SUPERVISOR] Reviewing the question"}
	detailsIn         = words{"请在新窗口查看日志文件了解详情：%s", "For details, follow this log file in another window: %s"}
	finished          = words{"[SUPERVISOR] 任务已完成\n允许停止", "[SUPERVISOR] Task finished\nThe agent may stop"}
	unfinished        = words{"[SUPERVISOR] 任务未完成\n%s\nAgent 将根据反馈继续工作",
		"[SUPERVISOR] Task not finished\n%s\nThe agent goes on with this feedback"}
	unfinishedObserved = words{"[SUPERVISOR] 任务未完成\n%s\n只旁观，不退回，允许停止",
		"[SUPERVISOR] Task not finished\n%s\nObserved only: the agent may stop"}
	questionToUser   = words{"[SUPERVISOR] 问题交给用户", "[SUPERVISOR] The question goes to the user"}
	questionSentBack = words{"[SUPERVISOR] 提问退回\n%s\nAgent 将根据反馈继续工作",
		"[SUPERVISOR] Question sent back\n%s\nThe agent goes on with this feedback"}
	// limitReached or budgetUsed
	stopSkipped     = words{"[SUPERVISOR] %s，允许停止", "[SUPERVISOR] %s: the agent may stop"}
	questionSkipped = words{"[SUPERVISOR] %s，问题交给用户", "[SUPERVISOR] %s: the question goes to the user"}
)

// A session on one line: ccc status.
var (
	noSessionYet = words{"%s 里还没有受监督的会话\n要开始：ccc --supervisor", // a directory
		"No session has been supervised in %s yet\nTo start one: ccc --supervisor"}
	sumNumbers = words{"共审查 %s · 退回 %d 次%s · 通过 %d 次 · %d 次未完成",
		"%s · %d sent back%s · %d approved · %d not reviewed"}
	sumActedOn  = words{"（其中 %d 次之后有改动）", " (%d of them acted on)"}
	statusHeads = [...]words{
		{"会话", "Session"}, {"审查", "Reviews"}, {"结果", "Result"},
		{"花费", "Cost"}, {"项目", "Project"}, {"要求", "Request"},
	}
	verdictNames = map[string]words{
		"block": {"退回", "sent back"}, "allow": {"通过", "approved"}, "failed": {"审查未完成", "not reviewed"},
		"limit": {"次数用完", "limit reached"}, "cancelled": {"已取消", "cancelled"},
		"reviewing": {"审查中", "reviewing"},
	}
	awaitsSubagents = words{"等子代理结束", "waits for subagents"}
	noBudgetLeft    = words{"预算用完", "budget used up"}
	wouldBeSentBack = words{"会被退回", "would be sent back"} // if it is observed
	withReason      = words{"%s（%s）", "%s (%s)"}          // verdict or session, why
	readingFile     = words{"查看 %s", "reading %s"}
	searchingFor    = words{"搜索 %s", "searching for %s"}
	resultAndTime   = words{"%s（%s前）", "%s %s ago"} // verdict, age
)

// A session in full: ccc log.
var (
	waitingForFirst = words{"等待第一个会话……", "Waiting for the first session..."}
	sessionTitle    = words{"会话 %s", "Session %s"}
	movedSession    = words{"此前的部分：ccc log %s", "what came before: ccc log %s"} // the id that it had
	newestHere      = words{"当前项目最新的会话", "the newest of this project"}
	titleUser       = words{"用户", "User"}
	modeSwitched    = map[mode]words{
		modeOn: {"监督已打开", "Supervision switched on"}, modeOff: {"监督已关闭", "Supervision switched off"},
		modeObserve: {"监督改为旁观", "Supervision switched to observing"}}
	titleReview       = words{"审查", "Review"}
	titleQuestion     = words{"提问审查", "Review of a question"}
	tokensUsed        = words{"token：未命中缓存 %s，命中 %s，输出 %s", "tokens: %s new, %s cached, %s out"}
	agentsCache       = words{"提示缓存：沿用 Agent 的", "prompt cache: the agent's"}
	agentsCacheMissed = words{"提示缓存：Agent 的没有命中，之后的审查不再用它",
		"prompt cache: the agent's was missed, so no later review uses it"}
	reviewBegins   = words{"开始", "begins"} // its title comes before
	withoutVerdict = words{"审查者没有给出判定，它说的话当作反馈",
		"the reviewer gave no verdict: what it said is the feedback"}
	unreadableVerdict = words{"审查者没有给出能读取的判定，反馈是默认的",
		"the reviewer gave no verdict that can be read: the feedback is the default one"}
	subagentsWork = words{"审查推迟：子代理还在工作", "Review put off: subagents are at work"}
	onlyWords     = words{"不必审查：Agent 只说话、没动手（review: \"work\"）",
		"No review needed: the agent has only talked (review: \"work\")"}
	exitedWith     = words{"退出码 %d", "exit %d"}
	questionPassed = words{"没有审查，问题直接交给用户", "The question went to the user without a review"}
	linesCounted   = words{"行", "line"}
	// The errors of ccc try that a run may end with.
	timedOut        = words{"到了时限，已结束", "ended at the timeout"}
	sentBackByCheck = words{"%s（.claude/check）", "%s by .claude/check"}
	checkNotStarted = words{"启动不了：它，或者它要运行的程序，不存在或不可执行",
		"it can't be started: it, or a program that it needs, is missing or not executable"}
	reviewedBy     = words{"审查者：%s", "reviewer: %s"}
	runWithoutCopy = words{"建不了副本：%s", "no copy can be made: %s"}
	// The first column of the facts of a review.
	leadFormat   = words{"%s：", "%-9s"}
	leadAsked    = words{"用户", "user"}
	leadSaid     = words{"Agent", "agent"}
	leadAsks     = words{"提问", "asks"}
	leadBasis    = words{"提示词", "prompt"}
	leadRan      = words{"实测", "ran"}
	leadNoCopy   = words{"不能实测", "no copy"}
	leadRefused  = words{"被拒绝", "refused"}
	leadFeedback = words{"反馈", "feedback"}
	leadReason   = words{"原因", "reason"}
	leadRequest  = words{"审查请求", "request"}
	leadForUser  = words{"留言", "for you"}
)

// ccc demo.
var (
	demoTask = words{"写 slug.sh：' C++ & Go! ' 得到 c-go。写测试并运行。",
		"Write slug.sh: ' C++ & Go! ' gives c-go. Add a test."}
	demoNoCopy = words{"这里建不了副本（ccc doctor）：演示的命令都直接在临时的 HOME 里运行。\n" +
		"在你的会话里，修好之前审查者只能看，不能运行命令。",
		"No copy can be made here (ccc doctor): all of the demo runs in a temporary home.\n" +
			"In a session of yours the reviewer can only read until that is fixed."}
	demoIntroduction = words{"下面是一次受监督的会话，从启动到通过，像 ccc log -f 那样展示，大约五秒。" +
		"会话和命令都是真的，在临时的 HOME 里运行；Agent 和审查者说的话是事先写好的，所以不需要网络和 API Key。",
		"This is a supervised session, from launch to approval, as ccc log -f shows it. It takes about " +
			"five seconds. The session and the commands are real, in a temporary home; the models' " +
			"replies are scripted, so it needs no network and no key."}
	// demoInCopy or demoInHome
	demoEnd = words{"上面 [SUPERVISOR] 开头的两行是回执，真实会话里每次审查之后都会显示。" +
		"Agent 说做完了，审查者%s运行用户的例子，Agent 一直改到例子通过为止。演示没有留下任何东西。\n" +
		"在你的项目里：ccc --supervisor",
		"The two lines that begin with [SUPERVISOR] are receipts: a real session shows one after each " +
			"review. The agent said it was done, the reviewer ran the user's example %s, and the agent " +
			"had to go on until the example passed. The demo has left nothing behind.\n" +
			"In a project of yours: ccc --supervisor"}
	demoInCopy = words{"在项目的副本里", "in a copy of the project"}
	demoInHome = words{"在临时的 HOME 里", "in the temporary home"}
)

// ccc review.
var (
	// session, when it was written last, working tree, the last request, session
	reviewingByHand = words{"[SUPERVISOR] 正在审查会话 %s（%s，%s）：%s\n在别处看审查过程：ccc log -f %s",
		"[SUPERVISOR] Reviewing session %s (%s, %s): %s\nTo watch it elsewhere: ccc log -f %s"}
	otherProvider = words{"也可以让 ccc.json 里的某个提供商来审：ccc review --provider NAME",
		"A provider of ccc.json can do it, too: ccc review --provider NAME"}
	providersLogin = words{ // its name
		"%s 没有接受密钥：请检查 ccc.json 里 providers.%[1]s 的 ANTHROPIC_AUTH_TOKEN 和 ANTHROPIC_BASE_URL",
		"%s did not accept the key: check ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL of providers.%[1]s " +
			"in ccc.json"}
	alreadyReviewing = words{"这个会话正在审查，等它结束再来", "this session is being reviewed right now: wait for the end"}
	stillWorking     = words{"Agent 还在工作：审查的是它到目前为止的状态",
		"The agent is still working: what there is so far is reviewed"}
)

// Receipts.
var (
	titleAndWord   = words{"%s：%s", "%s: %s"} // what was reviewed, and its verdict; that, and why
	moreRuns       = words{"次运行未列出", "more run"}
	receiptRead    = words{"只读了文件，没有运行命令", "only files were read, nothing was run"}
	receiptRefused = words{"审查者的调用都被 Claude Code 拒绝", "Claude Code refused all its calls"}
	receiptNothing = words{"只看了对话", "only the conversation was read"}
	receiptChange  = words{"只看了对话和改动", "only the conversation and the changes were read"}
	receiptNoCopy  = words{"没有在副本里运行命令", "nothing was run in a copy"}
	receiptNoRun   = words{"没有运行命令", "nothing was run"}
	// receiptNoRun or receiptNoCopy
	receiptLacksCopy = words{"%s：这里建不了副本（ccc doctor）", "%s: no copy can be made here (ccc doctor)"}
	receiptUnseen    = words{"改动未知：%s", "the change is not known: %s"} // why
	stillToCome      = words{"还在等：%s", "still to come: %s"}            // tasks, wake-ups or one of these
	awaitedPlan      = words{"计划等你批准", "a plan that waits for your approval"}
	awaitedAgent     = words{"Agent 还在工作", "the agent is still at work"}
	shownOnTerminal  = words{"输出在终端上，没有记录", "it went to the terminal and is not recorded"}
)

// A rule of the user's, and the file that has it: of the first line, the receipt, the log and the request.
var keptFromRunning = words{"%[2]s 里的规则 %[1]s 让审查者什么都运行不了",
	"the rule %s in %s keeps the reviewer from running anything"}

// ccc verdict, and what has become of the files since an approval.
var (
	// What has become of the files: after the verdict, or in approvedBut. notCompared is an error.
	nothingChanged = words{"之后没有改动", "nothing has changed since"}
	changedSince   = words{"之后有改动：%s", "changed since: %s"}
	notCompared    = words{"之后有没有改动无从得知：%s", "ccc can't tell whether anything has changed since: %s"}
	verdictAlone   = words{"%s，只看判定本身，到下一条消息为止", "%s, so the verdict alone counts, until the next prompt"}
	approvedBut    = words{"通过了，但%s", "approved, but %s"}

	newerRequest = words{"之后用户又有新的要求，还没有审查过。", "A newer request has not been judged yet."}
	newFromMain  = words{"与远程主分支上的内容相同、不在通过的改动里，不算：%s",
		"As on the remote's main branch, and no part of what was approved, so it does not count: %s"}
	approvedBefore = words{"%s；上次通过之后没有改动", "%s; nothing has changed since the last approval"}
	stillOpen      = words{"会话 %s 在这里退回的工作还没有通过",
		"work of session %s that was sent back here has not been approved"}
	reviewNotFound = words{"会话 %s 的记录里没有它最后一次审查", "the timeline of session %s lacks its last review"}
	newUntracked   = words{"之后新增、改动或删除的文件，git 没有跟踪（不会被推送）：%s",
		"Untracked files that are new, changed or gone since (a push does not include them): %s"}
	verdictAdvice = words{"怎么办：ccc review 审查现在的内容；git push --no-verify 跳过检查",
		"What to do: ccc review judges what is here now; git push --no-verify skips this check"}
	startAdvice = words{"怎么办：先在这里启动 Claude Code：ccc --supervisor",
		"What to do: start Claude Code here first: ccc --supervisor"}
	waitAdvice = words{"怎么办：等审查结束（ccc log -f 看过程）；git push --no-verify 跳过检查",
		"What to do: wait for the end (ccc log -f shows it); git push --no-verify skips this check"}
	nobodyHere = words{"这里还没有审查过任何会话：%s", "No session has been reviewed here: %s"}
	notSince   = words{"最新的消息之后还没有审查过。", "Nothing was reviewed since the newest request."}
	lookedIn   = words{"状态目录（由 %s 指定）：%s", "State directory (set by %s): %s"} // variable, directory
)
