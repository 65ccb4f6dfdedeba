package main

// Judgement cases: short conversations with the verdict that the default prompt must lead to. Their form and
// the requests made of them are tested always, the verdicts only with a real model, which costs money:
//
//	CCC_JUDGE_CLAUDE=claude go test -timeout 3h -v -run TestJudgements .
//
// CCC_JUDGE_PROMPT=en beside it judges with the English prompt; zh is the default. Most cases are pairs: two
// versions of a story that differ in one fact and in the verdict.

import (
	"bytes"
	"cmp"
	"context"
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

// judgementCase is one of the judgement cases: what a reviewer gets to see and the verdict expected of it.
// Its file may hold, in the place of any value, one for each language ({"zh": ..., "en": ...}) or for each
// version ({"allow": ..., "block": ...}): a file with versions is two cases.
type judgementCase struct {
	Name            string
	Event           string // Stop or PreToolUse
	Prompts         []string
	Remarks         map[int]string // by the number of the prompt: interrupted or beside
	Plan            bool           // the agent is in plan mode
	Conversation    []judgementTurn
	Before          map[string]string // what the change began with; without it no change is told
	Dirty           map[string]string // what the user had changed of it and not committed
	Files           map[string]string // their state at the time of the review
	Commit          bool              // the agent has committed them
	Question        json.RawMessage   // tool_input of AskUserQuestion
	BackgroundTasks []json.RawMessage `json:"background_tasks"`
	Crons           []json.RawMessage `json:"session_crons"` // scheduled wake-ups
	Copy            bool              // the files are whole: commands can be run, in a copy
	Iteration       int
	LastFeedback    string   `json:"last_feedback"`
	AllowStop       *bool    `json:"allow_stop"` // the expected verdict
	Never           []string // what no feedback may hold
	Why             string

	inLanguages, inVersions bool // its file has values for each
}

// choose returns value with the member of each choice in it that has one of the names in the place of the
// choice. Of a list null is left out. It tells whether there was a choice.
func choose(value any, names ...string) (chosen any, isChoice bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range names {
			if one, has := value[name]; has && len(value) == 2 {
				chosen, _ = choose(one, names...)
				return chosen, true
			}
		}
		members := map[string]any{}
		for name, member := range value {
			one, found := choose(member, names...)
			members[name], isChoice = one, isChoice || found
		}
		return members, isChoice
	case []any:
		list := []any{}
		for _, element := range value {
			one, found := choose(element, names...)
			isChoice = isChoice || found
			if one != nil {
				list = append(list, one)
			}
		}
		return list, isChoice
	}
	return value, false
}

// judgementTurn is a message (role, text) or a tool call (tool, input, output).
type judgementTurn struct{ Role, Text, Tool, Input, Output string }

// judgeWords is a language and its words around the conversation.
type judgeWords struct{ in, begin, tool, result, end string }

var judgeLanguages = map[string]judgeWords{
	"zh": {chinese, "以下是 Agent 与用户的对话：", "工具", "结果", "对话到此为止。"},
	"en": {english, "This is the conversation of the agent and the user:", "tool", "result",
		"The conversation ends here."},
}

// readJudgements returns the cases of a language by name.
func readJudgements(t *testing.T, language string) map[string]judgementCase {
	t.Helper()
	cases := map[string]judgementCase{}
	files, _ := filepath.Glob("testdata/judgements/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(t, err)
		var whole any
		if err := json.Unmarshal(data, &whole); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		whole, inLanguages := choose(whole, language)
		for _, version := range []string{string(verdictAllow), string(verdictBlock)} {
			one, inVersions := choose(whole, version)
			c := judgementCase{inLanguages: inLanguages, inVersions: inVersions}
			decoder := json.NewDecoder(bytes.NewReader(encodeJSON(one)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&c); err != nil {
				t.Errorf("%s: %v", file, err)
				break
			}
			if c.Name+".json" != filepath.Base(file) {
				t.Errorf("%s: it is named %s", file, c.Name)
			}
			if inVersions {
				c.Name += "_" + version
			}
			cases[c.Name] = c
		}
	}
	return cases
}

// prepare puts the files of the case into dir, as the agent left them, and returns the change that the
// request shows.
func (c judgementCase) prepare(t *testing.T, dir string) (change judgedChange) {
	t.Helper()
	put := func(files map[string]string) {
		for name, content := range files {
			path := filepath.Join(dir, name)
			check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
		}
	}
	if c.Before == nil {
		put(c.Files)
		return change
	}
	put(c.Before)
	needGit(t)
	commitBefore(t, dir)
	put(c.Dirty)
	state := stateDir(t.TempDir())
	p, session := state.place(dir, dir, os.Environ()), state.session("x")
	check(t, p.beginAtPrompt(session, ""))
	put(c.Files)
	if c.Commit {
		commitBefore(t, dir)
	}
	return p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
}

// judgementRemark returns a remark of a request that a case may name, "" for any other name.
func judgementRemark(name string) string {
	const at = "10:20"
	return map[string]string{"interrupted": say(remarkInterrupted), "beside": say(remarkWithEsc),
		"approved": say(remarkPassed, at), "let_go": say(remarkLetGo, at), "limit": say(remarkUnapproved)}[name]
}

// isOfWords reports whether the case is a turn of words alone, in which nothing is run.
func (c judgementCase) isOfWords(change judgedChange) bool {
	isCall := func(turn judgementTurn) bool { return turn.Tool != "" }
	isSame := c.Before != nil && len(change.paths) == 0
	return isSame && c.Question == nil && !slices.ContainsFunc(c.Conversation, isCall)
}

// request is what the reviewer is asked in dir: the conversation as text, since there is no session to fork,
// and the request that ccc would send.
func (c judgementCase) request(words judgeWords, dir string, change judgedChange) string {
	var b strings.Builder
	b.WriteString(words.begin + "\n")
	for _, turn := range c.Conversation {
		if turn.Tool != "" {
			fmt.Fprintf(&b, "\n[%s %s]\n%s\n", words.tool, turn.Tool, turn.Input)
			fmt.Fprintf(&b, "[%s]\n%s\n", words.result, turn.Output)
		} else {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", turn.Role, turn.Text)
		}
	}
	b.WriteString("\n" + words.end + "\n\n")
	section := sectionStop
	if c.Question != nil {
		section = sectionQuestion
	}
	request := reviewRequest{
		of: judgedWork{
			talk:       conversation{requests: prompts(c.Prompts...)},
			section:    section,
			question:   c.Question,
			inPlanMode: c.Plan,
			tasks:      c.BackgroundTasks,
			crons:      c.Crons,
			change:     &change,
		},
		copies:    copyOffer{noCopy: noNamespaces},
		place:     place{cwd: dir},
		refusal:   review{outcome: outcome{Feedback: c.LastFeedback}},
		iteration: c.Iteration,
		limit:     10,
		seconds:   540,
	}
	request.of.talk.wordsOnly = c.isOfWords(change) // its transcript has no calls
	for number, name := range c.Remarks {
		request.of.talk.requests[number-1].fate = judgementRemark(name)
	}
	if c.Copy {
		request.copies.tryCommand = tryCommand()
	}
	for _, turn := range c.Conversation {
		if turn.Role == "assistant" {
			request.of.lastMessage = turn.Text
		}
	}
	b.WriteString(request.requestText(false))
	return b.String()
}

// judge has claude judge the case, in a directory with the files of the case.
func (c judgementCase) judge(t *testing.T, claude string, env []string, w judgeWords) (v verdict, said string,
	err error) {
	t.Helper()
	dir := t.TempDir()
	stream := quietStream(io.Discard, func(err error) { t.Log(err) })
	complaints := &tail{limit: 2000}
	try := ""
	if c.Copy {
		try = tryCommand()
	}
	cmd := exec.Command(claude, "--print", "--verbose", "--output-format", "stream-json", "--json-schema",
		verdictSchema(), "--system-prompt", defaultPrompt.in(w.in), "--permission-mode", "dontAsk",
		"--settings", reviewerSettings(nil, try, nil, false))
	if c.Copy {
		cmd.Args = append(cmd.Args, "--allowedTools", "Bash("+try+":*)")
	}
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(env), testMainVariable+"=1") // the program of the test is ccc
	cmd.Stdin = strings.NewReader(c.request(w, dir, c.prepare(t, dir)))
	cmd.Stdout = stream
	cmd.Stderr = complaints
	err = cmd.Run()
	stream.close()
	if stream.result == nil {
		return "", "", fmt.Errorf("no result: %v %s", err, complaints.line())
	}
	return stream.result.judge()
}

// judgeAll, in the language of the words, prints the table and returns how many cases came out as expected.
func judgeAll(t *testing.T, claude string, env []string, words judgeWords) (right, all int) {
	t.Helper()
	cases := readJudgements(t, words.in)
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
		repeats := func(secret string) bool { return strings.Contains(feedback, secret) }
		if slices.ContainsFunc(c.Never, repeats) {
			got, feedback = verdictFailed, "it repeats what it must not"
		}
		if got == word[*c.AllowStop] {
			right++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.80s\n", c.Name, word[*c.AllowStop], got, oneLine(feedback))
	}
	fmt.Fprintf(table, "%d of %d as expected\n", right, len(cases))
	table.Flush()
	t.Log("\n" + text.String())
	return right, len(cases)
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
	speakIn(t, words.in)
	if right, all := judgeAll(t, claude, os.Environ(), words); right < all {
		t.Errorf("%d of %d cases came out otherwise", all-right, all)
	}
}

// Each case has what its form asks for. Half of them are to be allowed, and there are some of each kind with
// each verdict.
func TestJudgementCases(t *testing.T) {
	for language, w := range judgeLanguages {
		speakIn(t, w.in)
		pairs, kinds := 0, map[string]int{}
		cases := readJudgements(t, w.in)
		for name, c := range cases {
			if c.AllowStop == nil {
				t.Fatalf("%s: allow_stop is missing", name)
			}
			allows := *c.AllowStop
			c.expectForm(t, w)
			if c.inVersions {
				pairs++
			}
			kinds[fmt.Sprint("allowed ", allows)]++
			for kind, is := range map[string]bool{"wake-up": c.Crons != nil, "lost": c.Dirty != nil, "plan": c.Plan,
				"question": c.Question != nil, "later": c.Iteration > 1} {
				if is {
					kinds[fmt.Sprint(kind, " ", allows)]++
				}
			}
			for _, remark := range c.Remarks {
				kinds[fmt.Sprint(remark, " ", allows)]++
			}
		}
		more := kinds["allowed true"] - kinds["allowed false"]
		expectIs(t, fmt.Sprintf("%s: half and half, and ten pairs: %v", language, kinds),
			pairs >= 20 && max(more, -more) <= 2, true)
		for kind := range strings.FieldsSeq("question later plan interrupted beside wake-up lost") {
			if kinds[kind+" true"] == 0 || kinds[kind+" false"] == 0 {
				t.Errorf("no case is %s, with each verdict: %v", kind, kinds)
			}
		}
	}
}

// expectForm wants the case to have all that its form asks for.
func (c judgementCase) expectForm(t *testing.T, w judgeWords) {
	said := map[string]bool{}
	for i, turn := range c.Conversation {
		isWords := turn.Role == "user" || turn.Role == "assistant"
		isMessage := isWords && turn.Text != "" && turn.Tool+turn.Input+turn.Output == ""
		isCall := turn.Tool != "" && turn.Input != "" && turn.Text+turn.Role == ""
		if !isMessage && !isCall {
			t.Errorf("%s: turn %d is neither a message nor a tool call", c.Name, i+1)
		}
		said[turn.Text] = said[turn.Text] || turn.Role == "user"
	}
	hasUnsaid, hasOdd := false, false // a prompt, a remark
	for i, prompt := range c.Prompts {
		hasUnsaid = hasUnsaid || !said[prompt] && c.Remarks[i+1] != "beside"
	}
	for number, remark := range c.Remarks {
		hasOdd = hasOdd || number < 1 || number > len(c.Prompts) || judgementRemark(remark) == ""
	}
	question := string(c.Question)
	hasOptions := strings.Contains(question, `"question"`) && strings.Count(question, `"label"`) >= 2
	isEvent := c.Event == "Stop" && question == "" || c.Event == "PreToolUse" && hasOptions
	isLater := c.LastFeedback != ""
	isNamed := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(c.Name)
	hasChinese := chineseIn(fmt.Sprint(c)) != ""
	isOfVerdict := *c.AllowStop == strings.HasSuffix(c.Name, string("_"+verdictAllow))
	for fault, isFound := range map[string]bool{
		"the name is not category_point":                !isNamed,
		"why, prompts and conversation are required":    c.Why == "" || c.Prompts == nil || c.Conversation == nil,
		"no Stop, nor a question with two options":      !isEvent,
		"a version in one language":                     c.inVersions && !c.inLanguages,
		"a remark that is none, or of no prompt":        hasOdd,
		"iteration and last_feedback don't go together": c.Iteration < 1 || (c.Iteration > 1) != isLater,
		"a recorded prompt is not in the conversation":  hasUnsaid,
		"the last feedback is not in the conversation":  isLater && !said["Stop hook feedback:\n"+c.LastFeedback],
		"its version is not its verdict":                c.inVersions && !isOfVerdict,
		"Chinese in an English one":                     c.inVersions && w.in == english && hasChinese,
	} {
		if isFound {
			t.Errorf("%s: %s", c.Name, fault)
		}
	}
}

// The request that is made of a case holds its requests with their remarks, what has changed and what will
// wake the agent, that it plans, and how to run something or that nothing can be run. Stories tell the rest.
func TestJudgementRequests(t *testing.T) {
	w := judgeLanguages[chinese]
	speakIn(t, w.in)
	for name, c := range readJudgements(t, w.in) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			change := c.prepare(t, dir)
			_, request, _ := strings.Cut(c.request(w, dir, change), "\n"+w.end+"\n")
			for i, prompt := range c.Prompts {
				remark := strings.TrimPrefix(judgementRemark(c.Remarks[i+1])+" ", " ")
				expectIn(t, "the request", request, fmt.Sprintf("\n[%d] %s%s\n", i+1, remark, prompt))
			}
			for path, content := range c.Files {
				if c.Before != nil && c.Before[path] != content && c.Dirty[path] != content {
					expectIn(t, "the request", request, " "+path+"\n")
				}
			}
			for _, wakes := range slices.Concat(c.BackgroundTasks, c.Crons) {
				expectIn(t, "the request", request, string(encodeJSON(wakes)))
			}
			ofWords := c.isOfWords(change)
			for text, want := range map[string]bool{
				say(sectionPlan): c.Plan, tryExample(tryCommand()): c.Copy && !ofWords,
				noNamespaces: !c.Copy && !ofWords, say(sectionWordsOnly): ofWords, "%!": false,
			} {
				expectIs(t, "the request has "+text+": "+request, strings.Contains(request, text), want)
			}
		})
	}
}

// noNamespaces is why there is no copy, where a case has none.
const noNamespaces = "no namespaces"
