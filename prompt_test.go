package main

// The default prompts, one for each language: the same skeleton, in other words.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The headings that every prompt has, in this order; the examples are between promptExamples and promptChecklist.
const (
	promptTitle = iota
	promptRole
	promptMaterials
	promptStep1
	promptStep2
	promptRunFirst
	promptCopy
	promptNoCopy
	promptStep3
	promptTrap1
	promptTrap2
	promptTrap3
	promptTrap4
	promptTrap5
	promptStep4
	promptStep5
	promptStops
	promptConditions
	promptSituations
	promptQuestions
	promptLaterRounds
	promptStep6
	promptQuality
	promptTemplates
	promptForbidden
	promptExamples
	promptChecklist
	promptOutput
	promptHeadings
)

// promptWords is what differs by language between the default prompts.
type promptWords struct {
	text       string
	sizeLimit  int // bytes
	headings   [promptHeadings]string
	notAgent   string   // says that the reviewer is no longer the agent
	trapParts  []string // each once in each trap
	example    string   // the heading of example %d begins with it
	parts      []string // each once in each example
	stop       string   // begins the line of each legitimate way to stop
	phrase     string   // encloses each forbidden phrase
	language   string   // a rule: feedback is in the user's language
	user       string   // what the feedback of an allow speaks of
	length     func(feedback string) int
	longest    int    // of a feedback, as length counts and as the prompt says
	longestSay string // as the prompt says it
	last       string // says that nothing follows the verdict
	foreign    string // a regular expression of what must not occur; "": nothing
}

var promptLanguages = map[string]promptWords{
	"zh": {
		text:      defaultPrompt.zh,
		sizeLimit: 31 << 10,
		headings: [promptHeadings]string{
			promptTitle:       "# 审查守则",
			promptRole:        "## 角色：严格的任务审查者",
			promptMaterials:   "## 你手里的材料",
			promptStep1:       "## 第一步：理解用户需求",
			promptStep2:       "## 第二步：检查实际工作",
			promptRunFirst:    "### 怎么查：先跑，再读",
			promptCopy:        "### 副本的用法",
			promptNoCopy:      "### 没有副本的时候",
			promptStep3:       "## 第三步：检查常见陷阱",
			promptTrap1:       "### 陷阱一：只问不做",
			promptTrap2:       "### 陷阱二：测试循环",
			promptTrap3:       "### 陷阱三：虚假完成",
			promptTrap4:       "### 陷阱四：缺少验证",
			promptTrap5:       "### 陷阱五：错误放弃",
			promptStep4:       "## 第四步：评估完成质量",
			promptStep5:       "## 第五步：判断完成状态",
			promptStops:       "### 六种正当的停法",
			promptConditions:  "### allow_stop=true 的 5 个必要条件",
			promptSituations:  "### allow_stop=false 的 7 种情形",
			promptQuestions:   "### 提问事件（AskUserQuestion）的规矩",
			promptLaterRounds: "### 第二轮起的规矩",
			promptStep6:       "## 第六步：提供反馈",
			promptQuality:     "### 反馈质量要求",
			promptTemplates:   "### 反馈模板",
			promptForbidden:   "### 禁止的反馈写法",
			promptExamples:    "## 示例",
			promptChecklist:   "## 快速检查清单",
			promptOutput:      "## 输出格式",
		},
		notAgent:   "不再是上面对话里的 Agent",
		trapParts:  []string{"- **样子**：", "- **查法**：", "- **无辜的情形**："},
		example:    "示例 %d：",
		parts:      []string{"**场景**：", "**判断**："},
		stop:       `- \*\*[甲乙丙丁戊己]、`,
		phrase:     `「([^」]+)」`,
		language:   "用**用户的语言**",
		user:       "用户",
		length:     utf8.RuneCountInString,
		longest:    300,
		longestSay: "三百字",
		last:       "不再说话",
	},
	"en": {
		text:      defaultPrompt.en,
		sizeLimit: 36 << 10,
		headings: [promptHeadings]string{
			promptTitle:       "# Review guide",
			promptRole:        "## Role: strict task reviewer",
			promptMaterials:   "## What you have in hand",
			promptStep1:       "## Step 1: Understand what the user asked for",
			promptStep2:       "## Step 2: Inspect the actual work",
			promptRunFirst:    "### How to look: run first, then read",
			promptCopy:        "### Using a copy",
			promptNoCopy:      "### When there is no copy",
			promptStep3:       "## Step 3: Check for common traps",
			promptTrap1:       "### Trap 1: Asking instead of doing",
			promptTrap2:       "### Trap 2: Test loop",
			promptTrap3:       "### Trap 3: Fake completion",
			promptTrap4:       "### Trap 4: Missing verification",
			promptTrap5:       "### Trap 5: Giving up too early",
			promptStep4:       "## Step 4: Assess the quality of the work",
			promptStep5:       "## Step 5: Decide whether the work is finished",
			promptStops:       "### Six legitimate ways to stop",
			promptConditions:  "### The 5 necessary conditions for allow_stop=true",
			promptSituations:  "### The 7 situations for allow_stop=false",
			promptQuestions:   "### Question events (AskUserQuestion)",
			promptLaterRounds: "### From the second round on",
			promptStep6:       "## Step 6: Write the feedback",
			promptQuality:     "### What good feedback contains",
			promptTemplates:   "### Feedback templates",
			promptForbidden:   "### Forbidden feedback",
			promptExamples:    "## Examples",
			promptChecklist:   "## Quick checklist",
			promptOutput:      "## Output format",
		},
		notAgent:   "no longer the agent in the conversation above",
		trapParts:  []string{"- **Signs**: ", "- **How to check**: ", "- **Innocent cases**: "},
		example:    "Example %d: ",
		parts:      []string{"**Scenario**: ", "**Judgement**: "},
		stop:       `- \*\*[A-F]: `,
		phrase:     `"([^"]+)"`,
		language:   "**the user's language**",
		user:       "user",
		length:     func(feedback string) int { return len(strings.Fields(feedback)) },
		longest:    180,
		longestSay: "180 words",
		last:       "say nothing more",
		// Chinese characters, and the punctuation that goes with them.
		foreign: `[\p{Han}\x{3000}-\x{303f}\x{ff00}-\x{ffef}]`,
	},
}

// promptSection is one heading of the prompt with the lines that belong to it, those of its subheadings included.
type promptSection struct {
	title string
	level int
	lines []string
}

func (s promptSection) text() string { return strings.Join(s.lines, "\n") }

// promptSections splits Markdown at its ATX headings; "#" inside a fenced block is no heading.
func promptSections(text string) []promptSection {
	var all []promptSection
	var open []int // indexes of the sections that the current line belongs to
	fenced := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		heading := !fenced && level > 0 && strings.HasPrefix(line[level:], " ")
		for heading && len(open) > 0 && all[open[len(open)-1]].level >= level {
			open = open[:len(open)-1]
		}
		for _, i := range open {
			all[i].lines = append(all[i].lines, line)
		}
		if heading {
			open = append(open, len(all))
			all = append(all, promptSection{title: strings.TrimSpace(line[level:]), level: level})
		}
	}
	return all
}

// numberedItems returns the top-level "1. " items of a section and fails the test unless they are numbered 1, 2, 3
// and so on.
func numberedItems(t *testing.T, s promptSection) []string {
	t.Helper()
	item := regexp.MustCompile(`^(\d+)\. (.*)`)
	var got []string
	for _, line := range s.lines {
		m := item.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		got = append(got, m[2])
		if want := strconv.Itoa(len(got)); m[1] != want {
			t.Errorf("%s: item numbered %s, want %s", s.title, m[1], want)
		}
	}
	return got
}

// exampleVerdict is the reviewer's answer; a missing or non-boolean allow_stop is told apart from false.
type exampleVerdict struct {
	AllowStop *bool   `json:"allow_stop"`
	Feedback  *string `json:"feedback"`
}

// promptShape returns, for each heading of a prompt, its level and the kinds of the lines below it, in order:
// points of a list ("-", with a name in bold "-*", to be ticked off "[]"), numbered ones, rows of a table,
// quotations, fences, labels in bold, paragraphs.
func promptShape(text string) []string {
	kinds := []struct {
		kind string
		form *regexp.Regexp
	}{
		{"[]", regexp.MustCompile(`^- \[ \] `)},
		{"-*", regexp.MustCompile(`^- \*\*`)},
		{"-", regexp.MustCompile(`^- `)},
		{"1.", regexp.MustCompile(`^\d+\. `)},
		{"|", regexp.MustCompile(`^\|`)},
		{">", regexp.MustCompile(`^> `)},
		{"*", regexp.MustCompile(`^\*\*[^*]+\*\*(：|: )`)},
	}
	heading := regexp.MustCompile(`^#+ `)
	shape := []string{""}
	fenced, blank := false, true
	for _, line := range strings.Split(text, "\n") {
		kind := ""
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			kind = line
		case fenced || line == "":
		case heading.MatchString(line):
			shape = append(shape, heading.FindString(line))
		default:
			if blank {
				kind = "p"
			}
			for _, k := range kinds {
				if k.form.MatchString(line) {
					kind = k.kind
					break
				}
			}
		}
		if kind != "" {
			shape[len(shape)-1] += " " + kind
		}
		blank = line == ""
	}
	return shape
}

// decodeStrict decodes exactly one JSON document without unknown fields.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON document")
	}
	return nil
}

// promptVerdicts returns what the examples of a prompt decide, and fails the test where one has no verdict.
func promptVerdicts(t *testing.T, w promptWords) (verdicts []exampleVerdict) {
	t.Helper()
	block := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	word, _, _ := strings.Cut(w.example, "%d")
	for _, s := range promptSections(w.text) {
		if !strings.HasPrefix(s.title, word) {
			continue
		}
		if title := fmt.Sprintf(w.example, len(verdicts)+1); !strings.HasPrefix(s.title, title) || s.title == title || s.level != 3 {
			t.Errorf("%q: want the heading ### %s...", s.title, title)
		}
		for _, part := range w.parts {
			if strings.Count(s.text(), part) != 1 {
				t.Errorf("%s: want one %q", s.title, part)
			}
		}
		if !strings.HasSuffix(strings.TrimSpace(s.text()), "```") {
			t.Errorf("%s: text after the verdict", s.title)
		}
		found := block.FindAllStringSubmatch(s.text(), -1)
		if len(found) != 1 {
			t.Fatalf("%s: %d JSON blocks, want 1", s.title, len(found))
		}
		var v exampleVerdict
		if err := decodeStrict([]byte(found[0][1]), &v); err != nil {
			t.Fatalf("%s: %v", s.title, err)
		}
		if v.AllowStop == nil || v.Feedback == nil {
			t.Fatalf("%s: allow_stop and feedback are both required", s.title)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// 100 KiB are fine, one byte more is not; a blank one does not count.
func TestPromptSize(t *testing.T) {
	project, cccDir := t.TempDir(), t.TempDir()
	path := filepath.Join(project, promptName)
	for size, fine := range map[int]bool{100 << 10: true, 100<<10 + 1: false} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := supervisorPrompt(project, cccDir); (err == nil) != fine || fine && len(got.Text) != size || got.Source != path {
			t.Errorf("%d bytes: %d of %s, %v", size, len(got.Text), got.Source, err)
		}
	}
	global := filepath.Join(cccDir, promptName)
	for _, blank := range []string{"", " \n\t"} {
		for want, text := range map[string]string{global: "mine", builtinSource: blank} {
			if err := errors.Join(os.WriteFile(path, []byte(blank), 0o600), os.WriteFile(global, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			if got, err := supervisorPrompt(project, cccDir); err != nil || got.Source != want {
				t.Errorf("%q and %q: %s, %v", blank, text, got.Source, err)
			}
		}
	}
}

// Only tasks that run are told of.
func TestPromptTasks(t *testing.T) {
	title, _, _ := strings.Cut(say(sectionTasks, "x"), "\n")
	for tasks, told := range map[string]bool{"": false, "null": false, "[]": false, " [] ": false, `[{"id":"b1"}]`: true} {
		if text := (reviewRequest{tasks: json.RawMessage(tasks)}).text(false); strings.Contains(text, title) != told {
			t.Errorf("%s: %s", tasks, text)
		}
	}
}

func TestPromptStructure(t *testing.T) {
	for language, w := range promptLanguages {
		t.Run(language, func(t *testing.T) { checkPrompt(t, w) })
	}
}

func checkPrompt(t *testing.T, w promptWords) {
	if !utf8.ValidString(w.text) || strings.Contains(w.text, "\r") {
		t.Error("the prompt must be UTF-8 with Unix line ends")
	}
	if !strings.HasSuffix(w.text, "\n") {
		t.Error("the last line has no line end")
	}
	if n := strings.Count(w.text, "\n"); n < 400 || n > 500 {
		t.Errorf("%d lines, want 400 to 500", n)
	}
	// It travels with every review, so it stays far below the limit of 100 KiB.
	if n := len(w.text); n > w.sizeLimit {
		t.Errorf("%d bytes, want at most %d", n, w.sizeLimit)
	}
	if n := strings.Count(w.text, "```"); n%2 != 0 {
		t.Error("a fenced block is not closed")
	}
	// The file is sent byte for byte: nothing may wait to be filled in.
	if m := regexp.MustCompile(`\{\{|\$\{|%[sdv]`).FindString(w.text); m != "" {
		t.Errorf("the prompt holds the placeholder %q", m)
	}
	if w.foreign != "" {
		for _, m := range regexp.MustCompile(".*"+w.foreign+".*").FindAllString(w.text, -1) {
			t.Errorf("another language's character in %q", m)
		}
	}

	var headings []string
	bySection := map[string]promptSection{}
	word, _, _ := strings.Cut(w.example, "%d")
	for _, s := range promptSections(w.text) {
		if strings.TrimSpace(s.text()) == "" {
			t.Errorf("heading %q has no text", s.title)
		}
		if !strings.HasPrefix(s.title, word) {
			heading := strings.Repeat("#", s.level) + " " + s.title
			headings = append(headings, heading)
			bySection[heading] = s
		}
	}
	if !slices.Equal(headings, w.headings[:]) {
		t.Fatalf("headings\n%q, want\n%q", headings, w.headings)
	}
	section := func(heading int) promptSection { return bySection[w.headings[heading]] }
	has := func(heading int, text string) {
		t.Helper()
		if !strings.Contains(section(heading).text(), text) {
			t.Errorf("%s: does not say %q", w.headings[heading], text)
		}
	}

	has(promptRole, w.notAgent)
	for heading := promptTrap1; heading <= promptTrap5; heading++ {
		for _, part := range w.trapParts {
			if strings.Count(section(heading).text(), "\n"+part) != 1 {
				t.Errorf("%s: want one %q", w.headings[heading], part)
			}
		}
	}
	if n := len(regexp.MustCompile(`(?m)^`+w.stop).FindAllString(section(promptStops).text(), -1)); n != 6 {
		t.Errorf("%d ways to stop, want 6", n)
	}
	if got := numberedItems(t, section(promptConditions)); len(got) != 5 {
		t.Errorf("%d conditions for allow_stop=true, want 5", len(got))
	}
	if got := numberedItems(t, section(promptSituations)); len(got) != 7 {
		t.Errorf("%d situations for allow_stop=false, want 7", len(got))
	}
	has(promptQuality, w.language)
	has(promptQuality, w.longestSay)
	if n := strings.Count(section(promptTemplates).text(), "\n> "); n < 4 {
		t.Errorf("%d feedback templates, want at least 4", n)
	}
	if n := strings.Count(section(promptChecklist).text(), "- [ ] "); n < 5 {
		t.Errorf("%d points in the checklist, want at least 5", n)
	}
	for _, text := range []string{"`allow_stop`", "`feedback`", "StructuredOutput", w.last} {
		has(promptOutput, text)
	}

	var forbidden []string
	for _, m := range regexp.MustCompile(w.phrase).FindAllStringSubmatch(section(promptForbidden).text(), -1) {
		forbidden = append(forbidden, strings.ToLower(m[1]))
	}
	if len(forbidden) < 10 {
		t.Errorf("%d forbidden phrases, want at least 10", len(forbidden))
	}
	verdicts, allowed := promptVerdicts(t, w), 0
	for i, v := range verdicts {
		name, feedback := strings.TrimSpace(fmt.Sprintf(w.example, i+1)), *v.Feedback
		if *v.AllowStop {
			allowed++
			// On allow, feedback is only for what is left to the user.
			if feedback != "" && !strings.Contains(feedback, w.user) {
				t.Errorf("%s feedback of an allow that leaves nothing to the user", name)
			}
		} else if w.length(feedback) < 30 {
			t.Errorf("%s a refusal without usable feedback: %q", name, feedback)
		}
		if n := w.length(feedback); n > w.longest {
			t.Errorf("%s feedback of %d, the prompt allows %s", name, n, w.longestSay)
		}
		for _, phrase := range forbidden {
			if strings.Contains(strings.ToLower(feedback), phrase) {
				t.Errorf("%s feedback holds the forbidden %q", name, phrase)
			}
		}
		if strings.ContainsAny(feedback, "?？") {
			t.Errorf("%s feedback asks a question", name)
		}
	}
	if len(verdicts) < 10 {
		t.Errorf("%d examples, want at least 10", len(verdicts))
	}
	if refused := len(verdicts) - allowed; allowed*3 < len(verdicts) || refused*3 < len(verdicts) {
		t.Errorf("%d of %d examples allow: want at least a third of each verdict", allowed, len(verdicts))
	}
}

// A rule, a condition, a template or an example that one language has, every language has.
func TestPromptsAlike(t *testing.T) {
	one, other := promptLanguages["zh"], promptLanguages["en"]
	shape, otherShape := promptShape(one.text), promptShape(other.text)
	if len(shape) != len(otherShape) {
		t.Fatalf("%d headings and %d", len(shape), len(otherShape))
	}
	sections := append([]promptSection{{title: "before the first heading"}}, promptSections(one.text)...)
	for i := range shape {
		if shape[i] != otherShape[i] {
			t.Errorf("%s: the lines are\n%s, in the other language\n%s", sections[i].title, shape[i], otherShape[i])
		}
	}
	verdicts, otherVerdicts := promptVerdicts(t, one), promptVerdicts(t, other)
	for i, v := range verdicts {
		if o := otherVerdicts[i]; *v.AllowStop != *o.AllowStop || (*v.Feedback == "") != (*o.Feedback == "") {
			t.Errorf("example %d decides otherwise in the other language", i+1)
		}
	}
}

// The instructions are those that held at the user's prompt.
func TestInstructionsHold(t *testing.T) {
	t.Parallel()
	box := newHookBox(t)
	said := func(n int) string { return box.read(fmt.Sprintf("../fake/reviewer-%d/args", n)) }
	box.write("../work/SUPERVISOR.md", 0o600, "STRICT ONES")
	box.submit("fix it")
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	box.stop("")
	if !strings.Contains(said(1), "STRICT ONES") || strings.Contains(said(1), "MILD ONES") {
		t.Errorf("the agent's own instructions counted: %s", said(1))
	}
	os.Remove(filepath.Join(box.work, "SUPERVISOR.md"))
	box.stop("")
	if !strings.Contains(said(2), "STRICT ONES") {
		t.Errorf("removing them was enough: %s", said(2))
	}
	box.write("../work/SUPERVISOR.md", 0o600, "MILD ONES")
	box.submit("and now mildly")
	box.stop("")
	if !strings.Contains(said(3), "MILD ONES") {
		t.Errorf("the user's did not count from the next prompt on: %s", said(3))
	}
	var kept []bool
	for _, r := range box.timeline(testSession) {
		if r.Event == eventStop {
			kept = append(kept, r.PromptKept)
		}
	}
	if fmt.Sprint(kept) != "[true true false]" {
		t.Errorf("the timeline tells of kept instructions: %v", kept)
	}
}
