package main

// Judgement cases: short conversations with the verdict that the default prompt must lead to. The form of the
// cases and the request that is made of them are tested always; the verdicts only with a real model, for
// whoever has one:
//
//	CCC_JUDGE_CLAUDE=claude go test -timeout 3h -v -run TestJudgements .
//
// runs every case through that claude, as the user is logged in there, and prints a table.
// CCC_JUDGE_PROMPT=en beside it judges with the English prompt; zh, the Chinese one, is the default. Most
// cases are pairs: two versions of a story that differ in one fact and in the verdict, in the language of the
// prompt. The others have one language each.

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
	Name            string            `json:"name"`
	Event           string            `json:"event"` // Stop or PreToolUse
	Prompts         []string          `json:"prompts"`
	Remarks         map[int]string    `json:"remarks"` // by the number of the prompt: interrupted or beside
	Plan            bool              `json:"plan"`    // the agent is in plan mode
	Conversation    []judgementTurn   `json:"conversation"`
	Before          map[string]string `json:"before"`   // what the change began with; without it no change is told
	Dirty           map[string]string `json:"dirty"`    // what the user had changed of it and not committed
	Files           map[string]string `json:"files"`    // their state at the time of the review
	Commit          bool              `json:"commit"`   // the agent has committed them
	Question        json.RawMessage   `json:"question"` // tool_input of AskUserQuestion
	BackgroundTasks []json.RawMessage `json:"background_tasks"`
	Crons           []json.RawMessage `json:"session_crons"` // scheduled wake-ups
	Copy            bool              `json:"copy"`          // the files are whole: commands can be run, in a copy
	Iteration       int               `json:"iteration"`
	LastFeedback    string            `json:"last_feedback"`
	AllowStop       *bool             `json:"allow_stop"` // the expected verdict
	Never           []string          `json:"never"`      // what no feedback may hold
	Why             string            `json:"why"`

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

// judgementGit runs git in dir and fails the test where git does.
func judgementGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	needGit(t)
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
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
	put(map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/.x": "", ".git/objects/.x": ""}) // as git init does
	judgementGit(t, dir, "add", ".")
	judgementGit(t, dir, "commit", "-qm", "before")
	put(c.Dirty)
	state := stateDir(t.TempDir())
	p, session := state.place(dir, dir, os.Environ()), state.session("x")
	check(t, p.beginAtPrompt(session, ""))
	put(c.Files)
	if c.Commit {
		judgementGit(t, dir, "commit", "-qam", "after")
	}
	return p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
}

// judgementRemark returns a remark of a request that a case may name, "" for any other name.
func judgementRemark(name string) string {
	const at = "10:20"
	return map[string]string{"interrupted": say(remarkInterrupted), "beside": say(remarkWithEsc), "approved": say(remarkPassed, at),
		"let_go": say(remarkLetGo, at), "limit": say(remarkUnapproved)}[name]
}

// isOfWords reports whether the case is a turn of words alone, in which nothing is run.
func (c judgementCase) isOfWords(change judgedChange) bool {
	isCall := func(turn judgementTurn) bool { return turn.Tool != "" }
	return c.Before != nil && c.Question == nil && len(change.paths) == 0 && !slices.ContainsFunc(c.Conversation, isCall)
}

// request is what the reviewer is asked in dir: the conversation as text, since there is no session to fork,
// and the request that ccc would send.
func (c judgementCase) request(words judgeWords, dir string, change judgedChange) string {
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
	section := sectionStop
	if c.Question != nil {
		section = sectionQuestion
	}
	request := reviewRequest{
		subject: subject{
			conversation: conversation{requests: prompts(c.Prompts...)},
			section:      section,
			question:     c.Question,
			inPlanMode:   c.Plan,
			tasks:        c.BackgroundTasks,
			crons:        c.Crons,
			change:       &change,
		},
		copyOffer: copyOffer{noCopy: noNamespaces},
		place:     place{cwd: dir},
		refusal:   review{outcome: outcome{Feedback: c.LastFeedback}},
		iteration: c.Iteration,
		limit:     10,
		seconds:   540,
	}
	request.wordsOnly = c.isOfWords(change) // its transcript has no calls
	for number, name := range c.Remarks {
		request.requests[number-1].fate = judgementRemark(name)
	}
	if c.Copy {
		request.tryCommand = tryCommand()
	}
	for _, turn := range c.Conversation {
		if turn.Role == "assistant" {
			request.lastMessage = turn.Text
		}
	}
	b.WriteString(request.requestText(false))
	return b.String()
}

// judge has claude judge the case, in a directory with the files of the case.
func (c judgementCase) judge(t *testing.T, claude string, env []string, words judgeWords) (decided verdict, feedback string, err error) {
	t.Helper()
	dir := t.TempDir()
	changes := c.prepare(t, dir)
	stream := quietStream(io.Discard, func(err error) { t.Log(err) })
	complaints := &tail{limit: 2000}
	args := []string{"--print", "--verbose", "--output-format", "stream-json", "--json-schema", verdictSchema(),
		"--system-prompt", defaultPrompt.in(words.in), "--permission-mode", "dontAsk", "--settings"}
	if c.Copy {
		args = append(args, reviewerSettings(nil, tryCommand(), nil, false), "--allowedTools", "Bash("+tryCommand()+":*)")
	} else {
		args = append(args, reviewerSettings(nil, "", nil, false))
	}
	cmd := exec.Command(claude, args...)
	env = append(slices.Clone(env), testMainVariable+"=1") // the program of the test is ccc
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, strings.NewReader(c.request(words, dir, changes)), stream, complaints
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
		all++
		repeats := func(secret string) bool { return strings.Contains(feedback, secret) }
		if slices.ContainsFunc(c.Never, repeats) {
			got, feedback = verdictFailed, "it repeats what it must not"
		}
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
	speakIn(t, words.in)
	if right, all := judgeAll(t, claude, os.Environ(), words); right < all {
		t.Errorf("%d of %d cases came out otherwise", all-right, all)
	}
}

// The cases reach a real claude and its verdicts come back; the model is a script that always allows, so just
// the cases to allow come out right. How a prompt gets there does not depend on its language.
func TestRealClientJudgements(t *testing.T) {
	beside(t)
	forNewest(t, script{}, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
		words := judgeLanguages["zh"]
		right, all := judgeAll(t, client.path, box.vars, words)
		if right*2 != all {
			t.Errorf("%d of %d, want half", right, all)
		}
		for _, r := range api.requests("review") {
			title, _, _ := strings.Cut(sectionReview.zh, "\n")
			asked := strings.Contains(r.last("user"), words.end) && strings.Contains(r.last("user"), "\n"+title+"\n")
			if !strings.Contains(r.System, strings.TrimSpace(defaultPrompt.zh)) || !asked {
				t.Errorf("the model was asked %.200q", r.last("user"))
			}
		}
	})
}

func TestJudgementCases(t *testing.T) {
	for language, w := range judgeLanguages {
		t.Run(language, func(t *testing.T) {
			speakIn(t, w.in)
			checkJudgements(t, w)
		})
	}
}

func checkJudgements(t *testing.T, w judgeWords) {
	nameForm := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	allowed, pairs, kinds := 0, 0, map[string]int{}
	cases := readJudgements(t, w.in)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		said := map[string]bool{}
		for i, turn := range c.Conversation {
			message := (turn.Role == "user" || turn.Role == "assistant") && turn.Text != "" && turn.Tool+turn.Input+turn.Output == ""
			call := turn.Tool != "" && turn.Input != "" && turn.Text+turn.Role == ""
			if !message && !call {
				t.Errorf("%s: turn %d is neither a message nor a tool call", name, i+1)
			}
			if turn.Role == "user" {
				said[turn.Text] = true
			}
		}
		unsaid, odd := false, false // a prompt, a remark
		for i, prompt := range c.Prompts {
			unsaid = unsaid || !said[prompt] && c.Remarks[i+1] != "beside"
		}
		for number, remark := range c.Remarks {
			odd = odd || number < 1 || number > len(c.Prompts) || judgementRemark(remark) == ""
		}
		for fault, found := range map[string]bool{
			"the name is not category_point":                !nameForm.MatchString(c.Name),
			"allow_stop is missing":                         c.AllowStop == nil,
			"why, prompts and conversation are required":    strings.TrimSpace(c.Why) == "" || len(c.Prompts) == 0 || len(c.Conversation) == 0,
			"it is no Stop, nor PreToolUse with a question": (c.Event == "PreToolUse") != (c.Question != nil) || c.Event != "Stop" && c.Event != "PreToolUse",
			"a version in one language":                     c.inVersions && !c.inLanguages,
			"a remark that is none, or of no prompt":        odd,
			"iteration and last_feedback don't go together": c.Iteration < 1 || (c.Iteration == 1) != (c.LastFeedback == ""),
			"a recorded prompt is not in the conversation":  unsaid,
			"the last feedback is not in the conversation":  c.LastFeedback != "" && !said["Stop hook feedback:\n"+c.LastFeedback],
			"its version is not its verdict":                c.inVersions && c.AllowStop != nil && *c.AllowStop != strings.HasSuffix(name, string("_"+verdictAllow)),
			"Chinese in an English one":                     w.in == english && c.inVersions && chineseIn(fmt.Sprint(c)) != "",
			"a question needs a text and two options":       c.Question != nil && (!strings.Contains(string(c.Question), `"question"`) || strings.Count(string(c.Question), `"label"`) < 2),
		} {
			if found {
				t.Errorf("%s: %s", name, fault)
			}
		}
		if c.AllowStop == nil {
			continue
		}
		if *c.AllowStop {
			allowed++
		}
		if c.inVersions {
			pairs++
		}
		kinds[fmt.Sprint("background ", len(c.BackgroundTasks) > 0)]++
		kinds[fmt.Sprint("wake-up ", len(c.Crons) > 0, *c.AllowStop)]++
		kinds[fmt.Sprint("lost ", len(c.Dirty) > 0, *c.AllowStop)]++
		kinds[fmt.Sprint("question ", c.Question != nil, *c.AllowStop)]++
		kinds[fmt.Sprint("later ", c.Iteration > 1, *c.AllowStop)]++
		kinds[fmt.Sprint("plan ", c.Plan, *c.AllowStop)]++
		for _, remark := range c.Remarks {
			kinds[fmt.Sprint(remark, " ", *c.AllowStop)]++
		}
	}
	if refused := len(cases) - allowed; pairs < 20 || allowed-refused > 2 || refused-allowed > 2 {
		t.Errorf("%d of %d cases allow, %d are of pairs: want half and half, and ten pairs", allowed, len(cases), pairs)
	}
	for _, kind := range []string{"background true", "question true true", "question true false", "later true true", "later true false",
		"plan true true", "plan true false", "interrupted true", "interrupted false", "beside true", "beside false",
		"wake-up true true", "wake-up true false", "lost true true", "lost true false"} {
		if kinds[kind] == 0 {
			t.Errorf("no case is %s: want each kind with each verdict: %v", kind, kinds)
		}
	}
}

// The request that is made of a case holds its requests with their remarks, what changed, that the agent
// plans, and how to run something or that nothing can be run. What changed is looked at in one language of
// each version: git knows none.
func TestJudgementRequests(t *testing.T) {
	for language, w := range judgeLanguages {
		t.Run(language, func(t *testing.T) {
			speakIn(t, w.in)
			for name, c := range readJudgements(t, w.in) {
				if c.inVersions {
					if *c.AllowStop != (w.in == chinese) {
						c.Before, c.Dirty = nil, nil
					}
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						c.expectRequest(t, w)
					})
				}
			}
		})
	}
}

// expectRequest wants the case's request to show the reviewer what it needs.
func (c judgementCase) expectRequest(t *testing.T, w judgeWords) {
	dir := t.TempDir()
	change := c.prepare(t, dir)
	_, request, _ := strings.Cut(c.request(w, dir, change), "\n"+w.end+"\n")
	for i, prompt := range c.Prompts {
		remark := ""
		if named := c.Remarks[i+1]; named != "" {
			remark = judgementRemark(named) + " "
		}
		expectIn(t, "the request", request, fmt.Sprintf("\n[%d] %s%s\n", i+1, remark, prompt))
	}
	for path, content := range c.Files {
		if c.Before == nil || c.Before[path] == content || c.Dirty[path] == content {
			continue
		}
		expectIn(t, "the request", request, " "+path+"\n")
		for line := range strings.SplitSeq(strings.TrimSpace(content), "\n") {
			if !strings.Contains(request, "\n+"+line+"\n") && !strings.Contains(request, "\n "+line+"\n") {
				t.Errorf("the diff lacks %q of %s", line, path)
			}
		}
	}
	for _, wakes := range slices.Concat(c.BackgroundTasks, c.Crons) {
		expectIn(t, "the request", request, string(encodeJSON(wakes)))
	}
	ofWords := c.isOfWords(change)
	if strings.Contains(request, say(sectionPlan)) != c.Plan || strings.Contains(request, tryExample(tryCommand())) != (c.Copy && !ofWords) ||
		strings.Contains(request, noNamespaces) == (c.Copy || ofWords) || strings.Contains(request, say(sectionWordsOnly)) != ofWords || strings.Contains(request, "%!") {
		t.Errorf("the request is %s", request)
	}
}

// noNamespaces is why there is no copy, where a case has none.
const noNamespaces = "no namespaces"
