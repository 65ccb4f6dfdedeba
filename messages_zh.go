package main

// What ccc says, in Chinese.

import (
	_ "embed"
	"fmt"
)

type chinese struct{}

func (chinese) name() string { return "zh" }

//go:embed supervisor_prompt_default.md
var defaultPrompt string

func (chinese) announcement(state, log, output, follow string) string {
	return fmt.Sprintf(`Supervisor mode enabled
[Supervisor Mode] 日志文件:
  状态目录: %s
  Hook 日志: %s
  审查输出: %s
查看日志: tail -f %s
`, state, log, output, follow)
}

func (chinese) remembered(provider, none string) string {
	return fmt.Sprintf("提供商 %s（沿用上次启动的选择；ccc %s 不用提供商）", provider, none)
}

func (chinese) defaultPrompt() string { return defaultPrompt }

func (chinese) commandFile() string {
	return `---
description: 监督本会话：on 打开，off 关闭，也可以直接给出任务
argument-hint: on | off | 任务
---
$ARGUMENTS
`
}

func (chinese) introduction(limit int, provider string) string {
	if provider != "" {
		provider = "，提供商：" + provider
	}
	return fmt.Sprintf("本会话受监督：每个请求最多审查 %d 次%s。实时查看: ccc log -f", limit, provider)
}

func (chinese) noReview(why, log string) string {
	return fmt.Sprintf("审查失败，Agent 的工作未经审查：%s（日志: %s）", why, log)
}

func (chinese) earlierNoReview(why, log string) string {
	return fmt.Sprintf("上一次审查失败，Agent 的工作未经审查：%s（日志: %s）", why, log)
}

func (chinese) limitReached(limit int) string {
	return fmt.Sprintf("本请求的审查次数已用完（%d 次）", limit)
}

func (chinese) limitStop(limitReached, log string) string {
	return fmt.Sprintf("%s，这次停下未经审查；你的下一条提示重新计数（日志: %s）", limitReached, log)
}

func (chinese) earlierLimit(limit int, log string) string {
	return fmt.Sprintf("上一个请求的审查次数已用完（%d 次），最后一次停下未经审查（日志: %s）", limit, log)
}

func (chinese) approved(forUser string) string {
	return "审查通过。审查者留给你的话：" + forUser
}

func (chinese) defaultFeedback() string { return "请继续完成任务" }

func (chinese) feedbackCut(path string) string {
	return fmt.Sprintf("……（反馈过长，全文见 %s）", path)
}

func (chinese) leftOut(characters int) string {
	return fmt.Sprintf("……（省略 %d 个字符）……", characters)
}

func (chinese) modeIs(mode string) string {
	return fmt.Sprintf("监督：%s（/supervisor on 打开，/supervisor off 关闭）", mode)
}

func (chinese) modeUnclear(operand string) string {
	return fmt.Sprintf("不明白“/supervisor %s”。可用的写法：/supervisor on（打开）、/supervisor off（关闭）、/supervisor（显示当前状态）、/supervisor 加上任务内容", operand)
}

func (chinese) modeNotForAgent() string {
	return "开关监督由用户决定，不由 Agent 决定。"
}

func (chinese) modeFailed(why string) string { return "无法切换监督：" + why }

func (chinese) modeOn(limit int) string {
	return fmt.Sprintf("监督已打开：Agent 每次停下之前都要先经过审查，每个请求最多 %d 次。", limit)
}

func (chinese) modeOff() string { return "监督已关闭：Agent 停下时不再审查。" }

func (chinese) begun() string { return "[SUPERVISOR HOOK] 开始执行" }

func (chinese) reviewing() string { return "[SUPERVISOR] 正在审查工作..." }

func (chinese) detailsIn(path string) string {
	return "请在新窗口查看日志文件了解详情: " + path
}

func (chinese) finished() string { return "[SUPERVISOR] 任务已完成\n允许停止" }

func (chinese) unfinished(feedback string) string {
	return fmt.Sprintf("[SUPERVISOR] 任务未完成\n%s\nAgent 将根据反馈继续工作", feedback)
}

func (chinese) limitSkipped(limit int) string {
	return fmt.Sprintf("[SUPERVISOR] 已达到审查次数上限 %d/%[1]d，允许停止", limit)
}

func (chinese) opening(promptAbove bool) string {
	where := "系统提示词"
	if promptAbove {
		where = "上面的审查守则"
	}
	return fmt.Sprintf("你现在不是 Agent，而是审查者。以上是 Agent 与用户的完整对话。请按照%s审查 Agent 的工作，检查真实的文件和结果，然后给出判定。", where)
}

func (chinese) running(tryCommand, noCopy string) (title, text string) {
	if tryCommand == "" {
		return "运行命令", "除了用户的权限规则放行的命令，这里什么也不能运行，因为做不了一次性的副本：" + noCopy + "。只能看文件，和对话里的输出。"
	}
	return "运行命令", "运行测试、例子和任何会执行代码或写文件的命令，用这一种写法，单引号里可以有很多行：\n\n```sh\n" + tryExample(tryCommand) + "\n```\n\n" +
		`单引号里是一段 sh 脚本，里面不能再有单引号：字符串用双引号，非要不可时 printf 里写 \047、代码里写 \x27。任何一行都不能以 # 开头：不写注释。` +
		"管道、重定向、&&、$?、here-document 都写在引号里，引号后面什么也不加：退出码不是 0 时会自动显示。被 Claude Code 拒绝多半是写法不对，改成这种写法再跑。" +
		"副本里路径不变，可以写项目、HOME 和临时目录，写下的东西只在这一次运行里，外面看不到；探针放进 mktemp -d 的目录；副本没有网络。" +
		"五分钟后会被结束（try 后面加 --timeout 10m 可以改），Bash 自己的 timeout 也要给够。退出码 125 是副本没做成，只说明这台机器，不说明 Agent 的工作。"
}

func (chinese) requests() string { return "用户的要求（按时间顺序，原文）" }

func (chinese) requestsUnconfirmed() string {
	return "会话记录无法读取，以下是提交过的要求：其中可能有用户撤回的，也可能缺少 Agent 工作时输入的。请与对话核对。"
}

func (chinese) requestsIncomplete() string {
	return "会话记录不完整：更早的要求可能不在下面。请与对话核对。"
}

func (chinese) questionEvent() (title, text string) {
	return "事件：AskUserQuestion", "Agent 想向用户提出下面的问题。问题还没有显示给用户，也没有得到回答；" +
		"对话末尾的 \"[Tool call interrupted]\" 和 \"No response requested.\" 不是用户的回答。\n" +
		"allow_stop=true 表示把问题交给用户，false 表示不提问，Agent 按照 feedback 自己继续。"
}

func (chinese) openQuestion() string { return "等待回答的问题" }

func (chinese) stopEvent() (title, text string) { return "事件：Stop", "Agent 想结束工作。" }

func (chinese) place(tree, project, here string) (title, text string) {
	if tree == project {
		return "工作目录", "Agent 的当前目录: " + here
	}
	return "工作目录", fmt.Sprintf("Agent 在另一个 worktree 里工作: %s（当前目录: %s）。先检查那里的文件；项目的主目录 %s 是另一个工作树，"+
		"对话显示 Agent 在那里也有改动时，一并检查。", tree, here, project)
}

func (chinese) lastMessage() string  { return "Agent 的最后一条消息" }
func (chinese) lastFeedback() string { return "上次反馈" }

func (chinese) tasks(list string) (title, text string) {
	return "正在运行的后台任务", list + "\n这些任务在 Agent 的会话里仍在运行，结束时会唤醒 Agent。" +
		"对话里若说它们已经停止（stopped），那只是因为你看到的是会话的分叉，分叉里没有这些任务。"
}

func (chinese) round(iteration, limit int) (title, text string) {
	return "审查轮数", fmt.Sprintf("第 %d 轮，最多 %d 轮。", iteration, limit)
}

func (chinese) schemaAllowStop() string {
	return "是否允许 Agent 停止工作（true = 工作达到无可挑剔状态，false = 需要继续改进）"
}

func (chinese) schemaFeedback() string {
	return "当 allow_stop 为 false 时，提供具体的、可执行的、包含足够细节的改进指令"
}

func (chinese) verdictForm() string {
	return `最后只输出一个 JSON 对象，之后不再输出任何内容：{"allow_stop": true 或 false, "feedback": "..."}`
}

func (chinese) noSessions(state string) string {
	return "还没有受监督的会话（" + state + "）\n要开始: ccc --supervisor"
}

func (chinese) statusHeads() [8]string {
	return [...]string{"会话", "监督", "轮数", "结果", "时间", "审查", "花费", "项目"}
}

func (chinese) verdictNames() [4]string {
	return [...]string{"退回", "通过", "失败", "上限"}
}

func (chinese) justNow() string         { return "刚刚" }
func (chinese) minutesAgo(n int) string { return fmt.Sprintf("%d 分钟前", n) }
func (chinese) hoursAgo(n int) string   { return fmt.Sprintf("%d 小时前", n) }
func (chinese) daysAgo(n int) string    { return fmt.Sprintf("%d 天前", n) }

func (chinese) supervised(budget string) string { return "监督中 " + budget }

func (chinese) supervisedLast(verdict, when string) string { return "上次：" + verdict + " " + when }

func (chinese) supervisionIsOff() string { return "监督已关闭" }

func (chinese) waiting() string { return "等待第一个会话……" }

func (chinese) sessionTitle(session, chosen string) string {
	if chosen != "" {
		chosen = "（" + chosen + "）"
	}
	return "会话 " + session + chosen
}

func (chinese) newestHere() string { return "当前项目最新的会话" }
func (chinese) newestOfAll() string {
	return "当前目录没有会话，这是所有会话中最新的"
}
func (chinese) newcomer() string  { return "当前项目新开始的会话" }
func (chinese) noRecords() string { return "还没有记录" }

func (chinese) user() string        { return "用户" }
func (chinese) switchedOn() string  { return "监督已打开" }
func (chinese) switchedOff() string { return "监督已关闭" }
func (chinese) byUser() string      { return "用户（/supervisor）" }
func (chinese) byOutside() string   { return "会话之外（ccc supervisor-mode）" }
func (chinese) byAgent() string     { return "Agent（ccc supervisor-mode）" }

func (chinese) review() string           { return "审查" }
func (chinese) reviewOfQuestion() string { return "提问审查" }

func (chinese) took(seconds float64) string {
	return "用时 " + duration(seconds, "%.1f 秒", "%d 分 %02d 秒")
}

func (chinese) tokensUsed(fresh, cached, output string) string {
	return fmt.Sprintf("token：新 %s，缓存 %s，输出 %s", fresh, cached, output)
}

func (chinese) builtinPrompt() string { return "内置的审查提示词" }

func (chinese) promptChanged() string {
	return "（请求提交之后改动过：这次仍按提交时的内容审查，改动从用户的下一条提示起生效）"
}

func (chinese) cacheSplit() string {
	return "keep_cache 用处不大：本会话保留 Claude Code 的归属行（订阅按它计费），审查从缓存只能取到工具列表，取不到对话"
}

func (chinese) cacheAdvice(kept, fresh string) string {
	return fmt.Sprintf(`在 ccc.json 里设 "keep_cache": true，这 %[2]s 个新 token 中约 %[1]s 个本可取自 Agent 的缓存；由密钥或令牌付费时，价格约为十分之一`,
		kept, fresh)
}

func (chinese) reviewUnderWay() string { return "审查进行中……" }

func (chinese) ran(command string, exitCode int, seconds float64) string {
	return fmt.Sprintf("%s → 退出码 %d，%s", command, exitCode, duration(seconds, "%.1f 秒", "%d 分 %02d 秒"))
}

func (chinese) stoppedUnreviewed() string { return "审查没有得出判定，Agent 可以停下" }

func (chinese) stoppedAtLimit(limit int) string {
	return fmt.Sprintf("本请求的审查次数已用完（%d 次），Agent 可以停下", limit)
}

func (chinese) leadBy() string       { return "来自 " }
func (chinese) leadBasis() string    { return "依据 " }
func (chinese) leadTools() string    { return "查看 " }
func (chinese) leadRan() string      { return "实测 " }
func (chinese) leadNoCopy() string   { return "不能实测 " }
func (chinese) leadFeedback() string { return "反馈 " }
func (chinese) leadReason() string   { return "原因 " }
func (chinese) leadAdvice() string   { return "建议 " }
func (chinese) leadForUser() string  { return "留言 " }
