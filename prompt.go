package main

// What the reviewer is told: its role (the supervisor prompt), the request for
// one review, and the form of the verdict.

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed supervisor_prompt_default.md
var defaultPrompt string

// promptName is the file, in the project or in ccc's directory, that replaces
// the built-in prompt.
const promptName = "SUPERVISOR.md"

// promptLimit keeps the prompt below the 128 KiB that Linux allows for one
// argument, with room for none of it to be cut.
const promptLimit = 100 << 10

// supervisorPrompt returns the first prompt that exists and is not blank: the
// project's, the one in ccc's directory, the built-in one; and where it is from.
func supervisorPrompt(project, cccDir string) (prompt, source string, err error) {
	for _, dir := range []string{project, cccDir} {
		path := filepath.Join(dir, promptName)
		text, err := readPrompt(path)
		if err != nil {
			return "", "", err
		}
		if strings.TrimSpace(text) != "" {
			return text, path, nil
		}
	}
	return defaultPrompt, "built-in", nil
}

// readPrompt reads a prompt file; a missing one is empty. Only a regular file
// is read, so that a FIFO or a device in a project can't hold the hook up.
func readPrompt(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, promptLimit+1))
	if err == nil && len(text) > promptLimit {
		err = fmt.Errorf("%s is larger than %d KiB; shorten it", path, promptLimit>>10)
	}
	return string(text), err
}

// createPrompt puts text, the built-in prompt, into ccc's directory for the user
// to edit, when neither the project nor ccc's directory has a prompt. One that
// ccc put there and nobody has edited since follows a newer ccc.
func createPrompt(project string, p places, text string) error {
	global := filepath.Join(p.ccc, promptName)
	if _, err := os.Lstat(global); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(project, promptName)); err == nil {
			return nil
		}
	}
	return stateDir(p.state).keepFile(global, text)
}

// verdictSchema is the JSON schema of the verdict, as --json-schema takes it.
const verdictSchema = `{"type":"object","properties":{` +
	`"allow_stop":{"type":"boolean","description":"是否允许 Agent 停止工作（true = 工作达到无可挑剔状态，false = 需要继续改进）"},` +
	`"feedback":{"type":"string","description":"当 allow_stop 为 false 时，提供具体的、可执行的、包含足够细节的改进指令"}},` +
	`"required":["allow_stop","feedback"]}`

// verdictForm asks for the verdict where no schema does.
const verdictForm = `最后只输出一个 JSON 对象，之后不再输出任何内容：{"allow_stop": true 或 false, "feedback": "..."}`

// reviewRequest is the message that asks the reviewer for one review. What
// stays the same from one review to the next comes first, so that the prompt
// cache of the API can serve it; what varies comes last.
func reviewRequest(e hookEvent, timeline []record, iteration, limit int) string {
	var prompts []string
	var lastFeedback string
	for _, r := range timeline {
		switch {
		case r.Prompt != "":
			prompts = append(prompts, r.Prompt)
			lastFeedback = ""
		case r.Verdict == verdictBlock:
			lastFeedback = r.Feedback
		}
	}
	var b strings.Builder
	b.WriteString("你现在不是 Agent，而是审查者。以上是 Agent 与用户的完整对话。请按照系统提示词审查 Agent 的工作，检查真实的文件和结果，然后给出判定。\n")
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n## %s\n%s\n", title, text)
		}
	}
	if len(prompts) > 0 {
		b.WriteString("\n## 用户的要求（按时间顺序，原文）\n")
		keep := min(promptKeep, max(promptKeepLeast, promptsKeep/len(prompts)))
		for i, prompt := range prompts {
			fmt.Fprintf(&b, "\n[%d] %s\n", i+1, cutMiddle(prompt, keep))
		}
	}
	switch e.HookEventName {
	case eventPreToolUse:
		section("事件：AskUserQuestion", "Agent 想向用户提出下面的问题。问题还没有显示给用户，也没有得到回答；"+
			"对话末尾的 \"[Tool call interrupted]\" 和 \"No response requested.\" 不是用户的回答。\n"+
			"allow_stop=true 表示把问题交给用户，false 表示不提问，Agent 按照 feedback 自己继续。")
		section("等待回答的问题", describeQuestions(e.ToolInput))
	default:
		section("事件：Stop", "Agent 想结束工作。")
	}
	section("Agent 的最后一条消息", cutMiddle(string(e.LastAssistantMessage), lastKeep))
	if tasks := strings.TrimSpace(string(e.BackgroundTasks)); tasks != "" && tasks != "null" && tasks != "[]" {
		section("正在运行的后台任务（结束时会唤醒 Agent）", cutMiddle(tasks, promptKeep))
	}
	section("上一次审查的要求", lastFeedback)
	section("审查次数", fmt.Sprintf("第 %d 次，最多 %d 次。", iteration, limit))
	return b.String()
}

// Prompts are kept whole up to promptKeep characters each, as long as all of
// them together stay near promptsKeep; a request of that size is small beside
// the conversation it repeats, and even of hundreds of prompts each leaves
// promptKeepLeast.
const (
	promptKeep      = 8000
	promptsKeep     = 64000
	promptKeepLeast = 400
	// lastKeep is for the agent's last message, which the conversation holds
	// whole; what stands here is paid for anew in each review.
	lastKeep = 2000
)

// cutMiddle leaves the first and last characters of a long text, about keep of
// them in all.
func cutMiddle(text string, keep int) string {
	runes := []rune(text)
	if len(runes) <= keep {
		return text
	}
	half := keep / 2
	return fmt.Sprintf("%s\n……（省略 %d 个字符）……\n%s", string(runes[:half]), len(runes)-2*half, string(runes[len(runes)-half:]))
}

// describeQuestions writes out the input of AskUserQuestion; an input of
// another form comes as it is.
func describeQuestions(input json.RawMessage) string {
	var ask struct {
		Questions []struct {
			Question    string `json:"question"`
			Header      string `json:"header"`
			MultiSelect bool   `json:"multiSelect"`
			Options     []struct {
				Label       string `json:"label"`
				Description string `json:"description"`
			} `json:"options"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &ask) != nil || len(ask.Questions) == 0 {
		return string(input)
	}
	var b strings.Builder
	for i, q := range ask.Questions {
		fmt.Fprintf(&b, "问题 %d：%s", i+1, q.Question)
		if q.Header != "" {
			fmt.Fprintf(&b, "（%s）", q.Header)
		}
		if q.MultiSelect {
			b.WriteString("（可多选）")
		}
		b.WriteByte('\n')
		for _, option := range q.Options {
			fmt.Fprintf(&b, "- %s：%s\n", option.Label, option.Description)
		}
	}
	return strings.TrimSpace(b.String())
}
