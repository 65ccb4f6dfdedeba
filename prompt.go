package main

// What the reviewer is told: its role (the supervisor prompt), the request for one review, and the form of the
// verdict.

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed supervisor_prompt_default.md
var defaultPrompt string

//go:embed supervisor_prompt_default_en.md
var defaultPromptEnglish string

// supervisorPromptLimit is in bytes. Linux limits one argument to 128 KiB; a larger prompt is refused, not cut.
const supervisorPromptLimit = 100 << 10

// builtinSource is the source of the built-in prompt.
const builtinSource = "built-in"

// supervisorPrompt returns the first prompt that exists and is not blank: the project's, the one in ccc's
// directory, the built-in one; and where it is from. With an error, source is the file that can't be used. Only a
// regular file is read, so that a FIFO or a device in a project can't hold the hook up.
func supervisorPrompt(project, cccDir string) (prompt, source string, err error) {
	for _, dir := range []string{project, cccDir} {
		path := filepath.Join(dir, promptName)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !info.Mode().IsRegular():
			err = fmt.Errorf("%s is not a regular file", path)
		case err == nil && info.Size() > supervisorPromptLimit:
			err = fmt.Errorf("%s is larger than %d KiB; shorten it", path, supervisorPromptLimit>>10)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil || len(bytes.TrimSpace(text)) > 0 {
			return string(text), path, err
		}
	}
	return defaultPrompt, builtinSource, nil
}

// keptPrompt is the built-in prompt, in ccc's directory for the user to edit.
func keptPrompt(d dirs) keptFile { return keptFile{d.promptFile(), defaultPrompt} }

// verdictSchema is the JSON schema of the verdict, as --json-schema takes it.
const verdictSchema = `{"type":"object","properties":{` +
	`"allow_stop":{"type":"boolean","description":"是否允许 Agent 停止工作（true = 工作达到无可挑剔状态，false = 需要继续改进）"},` +
	`"feedback":{"type":"string","description":"当 allow_stop 为 false 时，提供具体的、可执行的、包含足够细节的改进指令"}},` +
	`"required":["allow_stop","feedback"]}`

// verdictForm asks for the verdict where no schema does.
const verdictForm = `最后只输出一个 JSON 对象，之后不再输出任何内容：{"allow_stop": true 或 false, "feedback": "..."}`

// A reviewRequest is what the reviewer is told of one stop or question.
type reviewRequest struct {
	requests     []string        // the user's, oldest first
	unconfirmed  bool            // they are those that were submitted: which of them stand is not known
	incomplete   bool            // what came before the first was not found
	question     json.RawMessage // the input of AskUserQuestion; nil for a stop
	lastMessage  string          // the agent's
	here         string          // the agent's current directory
	tree         string          // the working tree that the agent works in
	project      string          // where the session was started
	tasks        json.RawMessage // background tasks, as Claude Code lists them
	lastFeedback string          // of the review before, for the same request
	iteration    int             // from 1
	limit        int
	keepCache    bool   // the instructions stand above the request, not in a system prompt
	tryCommand   string // what runs a command in a throw-away copy; "": nothing does
	noCopy       string // why not
}

// text is the message that asks for the review. What stays the same from one review to the next comes first, so that
// the prompt cache of the API can serve it; what varies comes last.
func (r reviewRequest) text() string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n## %s\n%s\n", title, text)
		}
	}
	where := "系统提示词"
	if r.keepCache {
		where = "上面的审查提示词"
	}
	fmt.Fprintf(&b, "你现在不是 Agent，而是审查者。以上是 Agent 与用户的完整对话。请按照%s审查 Agent 的工作，检查真实的文件和结果，然后给出判定。\n", where)
	section("运行命令", r.running())
	if len(r.requests) > 0 {
		b.WriteString("\n## 用户的要求（按时间顺序，原文）\n")
		if r.unconfirmed {
			b.WriteString("会话记录无法读取，以下是提交过的要求：其中可能有用户撤回的，也可能缺少 Agent 工作时输入的。请与对话核对。\n")
		}
		if r.incomplete {
			b.WriteString("会话记录不完整：更早的要求可能不在下面。请与对话核对。\n")
		}
		keep := min(userPromptKeep, max(userPromptKeepLeast, userPromptsKeep/len(r.requests)))
		for i, prompt := range r.requests {
			fmt.Fprintf(&b, "\n[%d] %s\n", i+1, cutMiddle(prompt, keep))
		}
	}
	if r.question != nil {
		section("事件：AskUserQuestion", "Agent 想向用户提出下面的问题。问题还没有显示给用户，也没有得到回答；"+
			"对话末尾的 \"[Tool call interrupted]\" 和 \"No response requested.\" 不是用户的回答。\n"+
			"allow_stop=true 表示把问题交给用户，false 表示不提问，Agent 按照 feedback 自己继续。")
		section("等待回答的问题", string(r.question))
	} else {
		section("事件：Stop", "Agent 想结束工作。")
	}
	section("工作目录", r.place())
	section("Agent 的最后一条消息", cutMiddle(r.lastMessage, lastMessageKeep))
	if tasks := strings.TrimSpace(string(r.tasks)); tasks != "" && tasks != "null" && tasks != "[]" {
		section("正在运行的后台任务", cutMiddle(tasks, userPromptKeep)+"\n这些任务在 Agent 的会话里仍在运行，结束时会唤醒 Agent。"+
			"对话里若说它们已经停止（stopped），那只是因为你看到的是会话的分叉，分叉里没有这些任务。")
	}
	section("上一次审查的要求", r.lastFeedback)
	section("审查轮数", fmt.Sprintf("第 %d 轮，最多 %d 轮。", r.iteration, r.limit))
	return b.String()
}

// place says where the agent works, and so where the reviewer has to look.
func (r reviewRequest) place() string {
	if r.tree == r.project {
		return "Agent 的当前目录: " + r.here
	}
	return fmt.Sprintf("Agent 在另一个 worktree 里工作: %s（当前目录: %s）。先检查那里的文件；项目的主目录 %s 是另一个工作树，对话显示 Agent 在那里也有改动时，一并检查。",
		r.tree, r.here, r.project)
}

// running says how the reviewer runs commands. It is all that a SUPERVISOR.md of the user's own may say nothing of.
func (r reviewRequest) running() string {
	if r.tryCommand == "" {
		return "除了用户的权限规则放行的命令，这里什么也不能运行，因为做不了一次性的副本：" + r.noCopy + "。只能看文件，和对话里的输出。"
	}
	return "测试、例子、任何命令，都可以在一次性的副本里运行，写法只有一种：\n\n    " + r.tryCommand + " '命令'\n\n" +
		"引号里是一行 sh 命令。副本里路径不变，可以写项目、HOME 和临时目录，写下的东西只在这一次运行里，外面看不到；副本没有网络。" +
		"五分钟后会被结束（--timeout 10m 可以改），Bash 自己的 timeout 也要给够。退出码 125 是副本没做成，只说明这台机器，不说明 Agent 的工作。"
}

// In characters: prompts of the user's are kept whole up to userPromptKeep each, as long as all of them together
// stay near userPromptsKeep; a request of that size is small beside the conversation it repeats, and even of
// hundreds of prompts each keeps userPromptKeepLeast.
const (
	userPromptKeep      = 8000
	userPromptsKeep     = 64000
	userPromptKeepLeast = 400
	// lastMessageKeep is for the agent's last message, which the conversation holds whole; what stands here is paid
	// for anew in each review.
	lastMessageKeep = 2000
)
