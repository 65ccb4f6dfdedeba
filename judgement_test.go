package main

// Judgement cases: short conversations with the verdict that the default prompt must lead to. The form of the cases
// is tested always; the verdicts only with a real model, for whoever has one:
//
//	CCC_JUDGE_CLAUDE=claude go test -timeout 2h -v -run TestJudgements .
//
// runs every case through that claude, as the user is logged in there, and prints a table. CCC_JUDGE_PROMPT=en
// beside it judges with the English prompt; zh, the Chinese one, is the default. The cases stay as they are: users
// write Chinese in them, and the feedback has to be Chinese with either prompt.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// judgementCase is one file of the judgement cases: what a reviewer gets to see and the verdict expected of it.
type judgementCase struct {
	Name            string            `json:"name"`
	Event           string            `json:"event"` // Stop or PreToolUse
	Prompts         []string          `json:"prompts"`
	Conversation    []judgementTurn   `json:"conversation"`
	Files           map[string]string `json:"files,omitempty"`    // their state at the time of the review
	Question        json.RawMessage   `json:"question,omitempty"` // tool_input of AskUserQuestion
	BackgroundTasks []json.RawMessage `json:"background_tasks,omitempty"`
	Copy            bool              `json:"copy,omitempty"` // the files are whole: commands can be run, in a copy
	Iteration       int               `json:"iteration"`
	LastFeedback    string            `json:"last_feedback"`
	AllowStop       *bool             `json:"allow_stop"` // the expected verdict
	Why             string            `json:"why"`
}

// judgementTurn is a message (role, text) or a tool call (tool, input, output).
type judgementTurn struct {
	Role   string `json:"role,omitempty"`
	Text   string `json:"text,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

// judgeWords is a language and its words around the conversation.
type judgeWords struct{ in, begin, tool, result, end string }

var judgeLanguages = map[string]judgeWords{
	"zh": {chinese, "以下是 Agent 与用户的对话：", "工具", "结果", "对话到此为止。"},
	"en": {english, "This is the conversation of the agent and the user:", "tool", "result", "The conversation ends here."},
}

// readJudgements returns the cases by file name.
func readJudgements(t *testing.T) map[string]judgementCase {
	t.Helper()
	cases := map[string]judgementCase{}
	files, _ := filepath.Glob("testdata/judgements/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(t, err)
		var c judgementCase
		if err := json.Unmarshal(data, &c); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		cases[filepath.Base(file)] = c
	}
	return cases
}

// request is what the reviewer is asked: the conversation as text, since there is no session to fork, and the
// request that ccc would send.
func (c judgementCase) request(words judgeWords) string {
	var b strings.Builder
	b.WriteString(words.begin + "\n")
	for _, turn := range c.Conversation {
		if turn.Tool != "" {
			fmt.Fprintf(&b, "\n[%s %s]\n%s\n[%s]\n%s\n", words.tool, turn.Tool, turn.Input, words.result, turn.Output)
		} else {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", turn.Role, turn.Text)
		}
	}
	b.WriteString("\n" + words.end + "\n\n")
	request := reviewRequest{
		conversation: conversation{requests: prompts(c.Prompts...)},
		question:     c.Question,
		tasks:        c.BackgroundTasks,
		refusal:      record{outcome: outcome{Feedback: c.LastFeedback}},
		iteration:    c.Iteration,
		limit:        10,
		noCopy:       errTryOff.Error(),
	}
	if c.Copy {
		request.tryCommand = tryCommand()
	}
	for _, turn := range c.Conversation {
		if turn.Role == "assistant" {
			request.lastMessage = turn.Text
		}
	}
	b.WriteString(request.text(false))
	return b.String()
}

// judge has claude judge the case, in a directory with the files of the case.
func (c judgementCase) judge(t *testing.T, claude string, env []string, words judgeWords) (decided verdict, feedback string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range c.Files {
		path := filepath.Join(dir, name)
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
	}
	stream := quietStream(io.Discard, func(err error) { t.Log(err) })
	complaints := &tail{limit: 2000}
	args := []string{"--print", "--verbose", "--output-format", "stream-json", "--json-schema", verdictSchema(),
		"--system-prompt", defaultPrompt.in(words.in), "--permission-mode", "dontAsk", "--settings"}
	if c.Copy {
		args = append(args, reviewerSettings(tryCommand(), nil, false), "--allowedTools", "Bash("+tryCommand()+":*)")
	} else {
		args = append(args, reviewerSettings("", nil, false))
	}
	cmd := exec.Command(claude, args...)
	env = append(slices.Clone(env), testMainVariable+"=1") // the program of the test is ccc
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, strings.NewReader(c.request(words)), stream, complaints
	err = cmd.Run()
	stream.close()
	if stream.result == nil {
		return "", "", fmt.Errorf("no result: %v %s", err, complaints.line())
	}
	return stream.result.judge()
}

// judgeAll prints the table and returns how many cases came out as expected.
func judgeAll(t *testing.T, claude string, env []string, words judgeWords) (right, all int) {
	t.Helper()
	speakIn(t, words.in)
	cases := readJudgements(t)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "case\texpected\tgot\tfeedback")
	word := map[bool]verdict{true: verdictAllow, false: verdictBlock}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		got, feedback, err := c.judge(t, claude, env, words)
		if err != nil {
			got, feedback = verdictFailed, err.Error()
		}
		all++
		if got == word[*c.AllowStop] {
			right++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.80s\n", c.Name, word[*c.AllowStop], got, strings.Join(strings.Fields(feedback), " "))
	}
	fmt.Fprintf(table, "%d of %d as expected\n", right, all)
	table.Flush()
	t.Log("\n" + text.String())
	return right, all
}

func TestJudgements(t *testing.T) {
	claude := os.Getenv("CCC_JUDGE_CLAUDE")
	if claude == "" {
		t.Skip("CCC_JUDGE_CLAUDE is not set: it names the claude that judges the cases, and costs money")
	}
	words, ok := judgeLanguages[cmp.Or(os.Getenv("CCC_JUDGE_PROMPT"), "zh")]
	if !ok {
		t.Fatalf("CCC_JUDGE_PROMPT names no prompt: want zh or en")
	}
	if right, all := judgeAll(t, claude, os.Environ(), words); right < all {
		t.Errorf("%d of %d cases came out otherwise", all-right, all)
	}
}

// The cases reach a real claude and its verdicts come back; the model is a script that always allows, so just the
// cases to allow come out right. How a prompt gets there does not depend on its language: one client is enough for the
// English one.
func TestRealClientJudgements(t *testing.T) {
	allows := func() script { return script{reviewer: []apiReply{replyVerdict(true, "")}} }
	judge := func(words judgeWords) func(*testing.T, realClient, *sandbox, *scriptedAPI) {
		return func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
			right, all := judgeAll(t, client.path, box.vars, words)
			if right*2 != all {
				t.Errorf("%d of %d, want half", right, all)
			}
			for _, r := range api.requests("review") {
				title, _, _ := strings.Cut(sectionRound.in(words.in), "\n")
				asked := strings.Contains(r.last("user"), words.end) && strings.Contains(r.last("user"), "\n"+title+"\n")
				if !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.in(words.in))) || !asked {
					t.Errorf("the model was asked %.200q", r.last("user"))
				}
			}
		}
	}
	t.Run("zh", func(t *testing.T) { forNewest(t, allows, judge(judgeLanguages["zh"])) })
	t.Run("en", func(t *testing.T) { forNewest(t, allows, judge(judgeLanguages["en"])) })
}

func TestJudgementCases(t *testing.T) {
	nameForm := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	allowed, background, kinds := 0, 0, map[string]int{}
	cases := readJudgements(t)
	for base, c := range cases {
		said := map[string]bool{}
		for i, turn := range c.Conversation {
			message := (turn.Role == "user" || turn.Role == "assistant") && turn.Text != "" && turn.Tool+turn.Input+turn.Output == ""
			call := turn.Tool != "" && turn.Input != "" && turn.Text+turn.Role == ""
			if !message && !call {
				t.Errorf("%s: turn %d is neither a message nor a tool call", base, i+1)
			}
			if turn.Role == "user" {
				said[turn.Text] = true
			}
		}
		for fault, found := range map[string]bool{
			"the name is not category_point, as in the file name": c.Name+".json" != base || !nameForm.MatchString(c.Name),
			"allow_stop is missing":                               c.AllowStop == nil,
			"why, prompts and conversation are required":          strings.TrimSpace(c.Why) == "" || len(c.Prompts) == 0 || len(c.Conversation) == 0,
			"it is no Stop, nor PreToolUse with a question":       (c.Event == "PreToolUse") != (c.Question != nil) || c.Event != "Stop" && c.Event != "PreToolUse",
			"a question needs a text and two options": c.Question != nil &&
				(!strings.Contains(string(c.Question), `"question"`) || strings.Count(string(c.Question), `"label"`) < 2),
			"iteration and last_feedback don't go together": c.Iteration < 1 || (c.Iteration == 1) != (c.LastFeedback == ""),
			"a recorded prompt is not in the conversation":  slices.ContainsFunc(c.Prompts, func(prompt string) bool { return !said[prompt] }),
			"the last feedback is not in the conversation":  c.LastFeedback != "" && !said["Stop hook feedback:\n"+c.LastFeedback],
		} {
			if found {
				t.Errorf("%s: %s", base, fault)
			}
		}
		if c.AllowStop == nil {
			continue
		}
		if *c.AllowStop {
			allowed++
		}
		if len(c.BackgroundTasks) > 0 {
			background++
		}
		kinds[fmt.Sprint("question ", c.Question != nil, *c.AllowStop)]++
		kinds[fmt.Sprint("later ", c.Iteration > 1, *c.AllowStop)]++
	}
	if refused := len(cases) - allowed; len(cases) < 16 || allowed-refused > 2 || refused-allowed > 2 {
		t.Errorf("%d of %d cases allow: want at least 16, half and half", allowed, len(cases))
	}
	for _, kind := range []string{"question true true", "question true false", "later true true", "later true false"} {
		if kinds[kind] == 0 {
			t.Errorf("no case is a %s: want a question and a later iteration of each verdict: %v", kind, kinds)
		}
	}
	if background == 0 {
		t.Error("no case with a background task")
	}
}
