package main

// The default prompts, one for each language: the same skeleton, in other words.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// promptWords is what differs by language between the default prompts.
type promptWords struct {
	text       string
	before     int                       // words (en) or characters (zh) that 1.2 had
	size       func(text string) int     // counts them
	example    string                    // the heading of example %d begins with it
	phrase     string                    // encloses each forbidden phrase
	user       string                    // whom the feedback of an allow speaks to
	length     func(feedback string) int // as the prompt counts
	longest    int                       // of a feedback, as length counts
	longestSay string                    // as the prompt says it
	says       []string                  // rules that no structure shows
	foreign    string                    // a regular expression of what must not occur; "": nothing
}

var promptLanguages = map[string]promptWords{
	"zh": {
		text: defaultPrompt.zh, before: 14187, size: utf8.RuneCountInString,
		example: "示例 %d：", phrase: `「([^」]+)」`, user: "你",
		length: utf8.RuneCountInString, longest: 800, longestSay: "3 个不超过 800 字",
		says: []string{"不再是这段对话里的 Agent", "用**用户写要求时用的语言**", "不再说话", "用“你”称呼",
			"“只有对话”", "“已安排的唤醒”", "同一个报错，才是原来就有的", "先重新构建", "用户没提交的东西是否都在", "随那项任务结束",
			"却把检查关掉或绕开", "没有用户的话就被改小（明说了也一样）", "到这一步要停下等用户同意", "又拿得出证明", "打开文件核对", "擅自改了程序的行为",
			"重跑到变绿", "说法看它是不是事实", "理由成立的，一次就关闭", "写明原因和要改的那一处", "REVIEW.md"},
	},
	"en": {
		text: defaultPrompt.en, before: 6264, size: countWords,
		example: "Example %d: ", phrase: `"([^"]+)"`, user: "you",
		length: countWords, longest: 500, longestSay: "500 for 3",
		says: []string{"no longer the agent in this conversation", "**the user's language**",
			"say nothing more", "address them as \"you\"",
			`"Words only"`, `"Scheduled wake-ups"`, "fails there with the same message", "build anew before it",
			"everything still there that the user", "ends with that task", "a check switched off or bypassed", "without the user's word (openly, too)",
			"order this stop for the user's approval", "and what shows it", "look up in the files", "a change in behaviour that nobody ordered",
			"A rerun until green", "judged by whether it is so", "One reason that holds closes it at once", "the cause and the one edit",
			"REVIEW.md"},
		foreign: `[\p{Han}\x{3000}-\x{303f}\x{ff00}-\x{ffef}]`, // Chinese characters and their punctuation
	},
}

func countWords(text string) int { return len(strings.Fields(text)) }

// A promptSection is a heading of a prompt, its marks included, with the text up to the next one.
type promptSection struct{ title, text string }

func promptSections(prompt string) (sections []promptSection) {
	for _, part := range strings.Split("\n"+prompt, "\n#") {
		title, text, _ := strings.Cut("#"+part, "\n")
		sections = append(sections, promptSection{title, text})
	}
	return sections[1:]
}

// promptShape returns the kinds of the lines below each heading of a prompt, in order: points of a list, those with a name in
// bold, numbered ones, rows of a table, quotations, fences, labels in bold, paragraphs.
func promptShape(prompt string) (shape []string) {
	kind := regexp.MustCompile("^(- \\*\\*|- |\\d+\\. |\\||> |\\*\\*|```.*)")
	fenced := regexp.MustCompile("(?s)(```\\w*)\n.*?\n```")
	for _, s := range promptSections(prompt) {
		kinds, _, _ := strings.Cut(s.title, " ")
		for _, block := range strings.Split(fenced.ReplaceAllString(s.text, "$1"), "\n\n") {
			for i, line := range strings.Split(strings.TrimSpace(block), "\n") {
				if found := kind.FindString(line); found != "" {
					kinds += " " + found
				} else if i == 0 && line != "" {
					kinds += " paragraph"
				}
			}
		}
		shape = append(shape, kinds)
	}
	return shape
}

// An exampleVerdict is the reviewer's answer; a missing allow_stop is told apart from false.
type exampleVerdict struct {
	AllowStop *bool   `json:"allow_stop"`
	Feedback  *string `json:"feedback"`
}

// promptVerdicts returns what the examples of a prompt decide, and fails the test where one has no verdict.
func promptVerdicts(t *testing.T, w promptWords) (verdicts []exampleVerdict) {
	t.Helper()
	block := regexp.MustCompile("(?s)```json\n(.*?)\n```\n*$")
	for _, s := range promptSections(w.text) {
		if !strings.HasPrefix(s.title, fmt.Sprintf("### "+w.example, len(verdicts)+1)) {
			continue
		}
		var v exampleVerdict
		found := block.FindStringSubmatch(s.text)
		if found == nil || json.Unmarshal([]byte(found[1]), &v) != nil || v.AllowStop == nil || v.Feedback == nil {
			t.Fatalf("%s: it does not end with a verdict: %q", s.title, found)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// 100 KiB are fine, one byte more is not; a blank one does not count, nor does what a launch wrote, in either language.
func TestPromptSize(t *testing.T) {
	project, cccDir := t.TempDir(), t.TempDir()
	path := filepath.Join(project, promptName)
	for size, fine := range map[int]bool{100 << 10: true, 100<<10 + 1: false} {
		check(t, os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600))
		source, got, err := supervisorPrompt(project, cccDir)
		name, why := fmt.Sprintf("%d bytes: ", size), "<nil>"
		if fine {
			expectIs(t, name+"the size of the prompt", len(got), size)
		} else {
			why = path + " is larger than 100 KiB; shorten it"
		}
		expectIs(t, name+"the error", fmt.Sprint(err), why)
		expectIs(t, name+"the source", source, path)
	}
	for text, fine := range map[string]bool{"审查": true, "\xff": false, "a\x00b": false, "\x00": false} {
		check(t, os.WriteFile(path, []byte(text), 0o600))
		source, _, err := supervisorPrompt(project, cccDir)
		name := fmt.Sprintf("%q: ", text)
		expectIs(t, name+"the source", source, path)
		expectIs(t, name+"it is fine", err == nil, fine)
		if !fine {
			expectError(t, name+"the error", err, path+" is no text in UTF-8")
		}
	}
	global := filepath.Join(cccDir, promptName)
	check(t, errors.Join(os.WriteFile(path, []byte("the project's"), 0o600), os.WriteFile(global, []byte("mine"), 0o600)))
	if source, got, err := supervisorPrompt(project, cccDir); err != nil || source != path || got != "the project's" {
		t.Errorf("of two: %s: %s, %v", source, got, err)
	}
	for _, blank := range []string{"", " \n\t", defaultPrompt.zh, defaultPrompt.en} {
		for want, text := range map[string]string{global: "mine", builtinSource: blank} {
			check(t, errors.Join(os.WriteFile(path, []byte(blank), 0o600), os.WriteFile(global, []byte(text), 0o600)))
			if source, _, err := supervisorPrompt(project, cccDir); err != nil || source != want {
				t.Errorf("%q and %q: %s, %v", blank, text, source, err)
			}
		}
	}
}

// What the Chinese prompt has, and, as TestPromptsAlike says, the English one with it.
func TestPromptStructure(t *testing.T) {
	sections := map[string]string{}
	for _, s := range promptSections(defaultPrompt.zh) {
		sections[strings.TrimLeft(s.title, "# ")] = s.text
	}
	for _, title := range []string{"角色：严格的任务审查者", "第一步：理解用户需求", "第二步：检查实际工作", "第四步：评估完成质量", "第五步：判断完成状态", "第六步：提供反馈", "示例"} {
		if _, there := sections[title]; !there {
			t.Errorf("no heading %q", title)
		}
	}
	const trap = `- \*\*(表现|查法|例外)\*\*：`
	for _, test := range []struct {
		title, form string // of what
		least, most int
	}{
		{"陷阱一：只问不做", trap, 3, 3}, {"陷阱二：测试循环", trap, 3, 3}, {"陷阱三：虚假完成", trap, 3, 3},
		{"陷阱四：缺少验证", trap, 3, 3}, {"陷阱五：错误放弃", trap, 3, 3},
		{"六种正当的停法", `- \*\*[甲乙丙丁戊己]、`, 6, 6},
		{"放行（`allow_stop` 为 true）的 5 个必要条件", `\d+\. `, 5, 5},
		{"退回（`allow_stop` 为 false）的 7 种情形", `\d+\. `, 7, 7},
		{"反馈模板", `> `, 3, 20},
		{"快速检查清单", `- `, 5, 20},
		{"输出格式", `.*(allow_stop|feedback|StructuredOutput)`, 3, 20},
	} {
		if n := len(regexp.MustCompile(`(?m)^`+test.form).FindAllString(sections[test.title], -1)); n < test.least || n > test.most {
			t.Errorf("%s: %d of %s, want %d to %d", test.title, n, test.form, test.least, test.most)
		}
	}
	for language, w := range promptLanguages {
		t.Run(language, func(t *testing.T) { checkPrompt(t, w) })
	}
}

func checkPrompt(t *testing.T, w promptWords) {
	if !utf8.ValidString(w.text) || strings.Contains(w.text, "\r") || !strings.HasSuffix(w.text, "\n") {
		t.Error("the prompt must be UTF-8 with Unix line ends, the last one too")
	}
	if n := strings.Count(w.text, "\n"); n < 400 || n > 500 {
		t.Errorf("%d lines, want 400 to 500", n)
	}
	// It travels with every review, so it is at least a tenth shorter than that of 1.2 was.
	if n := w.size(w.text); n > w.before*9/10 {
		t.Errorf("%d words or characters, want at most %d", n, w.before*9/10)
	}
	// How to run something stands in the request alone.
	expectNotIn(t, "the prompt", w.text, "```sh", `\047`, "<<", "--timeout", "EXDEV", "git stash -", "git restore -", "ccc try '")
	// The file is sent byte for byte: nothing may wait to be filled in.
	expectIs(t, "a placeholder in the prompt", regexp.MustCompile(`\{\{|\$\{|%[sdv]`).FindString(w.text), "")
	if w.foreign != "" {
		for _, m := range regexp.MustCompile(".*"+w.foreign+".*").FindAllString(w.text, -1) {
			t.Errorf("another language's character in %q", m)
		}
	}
	expectIn(t, "the prompt", strings.Join(strings.Fields(w.text), " "), append(w.says, w.longestSay)...)
	// The section of forbidden feedback is the one before the examples.
	var forbidden []string
	sections := promptSections(w.text)
	first := slices.IndexFunc(sections, func(s promptSection) bool { return strings.HasPrefix(s.title, "### "+fmt.Sprintf(w.example, 1)) })
	for _, m := range regexp.MustCompile(w.phrase).FindAllStringSubmatch(sections[first-2].text, -1) {
		forbidden = append(forbidden, strings.ToLower(m[1]))
	}
	if len(forbidden) < 8 {
		t.Errorf("%d forbidden phrases, want at least 8", len(forbidden))
	}
	// The output format shows an approval and a refusal that a model may copy as they stand there.
	var shown []bool
	fence := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	for _, m := range fence.FindAllStringSubmatch(sections[len(sections)-1].text, -1) {
		var v exampleVerdict
		if err := json.Unmarshal([]byte(m[1]), &v); err != nil || v.AllowStop == nil || v.Feedback == nil {
			t.Fatalf("no verdict: %s", m[1])
		}
		shown = append(shown, *v.AllowStop)
	}
	expectEqual(t, "the verdicts that the output format shows", shown, []bool{true, false})
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
		holds := func(phrase string) bool { return strings.Contains(strings.ToLower(feedback), phrase) }
		if n := w.length(feedback); n > w.longest || strings.ContainsAny(feedback, "?？") || slices.ContainsFunc(forbidden, holds) {
			t.Errorf("%s feedback of %d, the prompt allows %s, no question and no forbidden phrase: %s", name, n, w.longestSay, feedback)
		}
	}
	if refused := len(verdicts) - allowed; len(verdicts) < 10 || allowed*3 < len(verdicts) || refused*3 < len(verdicts) {
		t.Errorf("%d of %d examples allow: want at least ten, and a third of each verdict", allowed, len(verdicts))
	}
}

// What a reviewer quotes of the prompt and of the request, before it approves, states no other decision: an approval
// would be unreadable. The verdicts of the examples aside, which are no headings to reason by.
func TestPromptStatesNoDecision(t *testing.T) {
	example := regexp.MustCompile("(?s)```json\n.*?\n```")
	for language, w := range promptLanguages {
		speakIn(t, language)
		r := reviewRequest{subject: subject{section: sectionQuestion, question: json.RawMessage(`{}`), inPlanMode: true, change: &judgedChange{}},
			copyOffer: copyOffer{tryCommand: "ccc try", homeIsReadOnly: true},
			refusal:   review{outcome: outcome{NoVerdict: true}}, iteration: 2, limit: 10, seconds: 540}
		for name, text := range map[string]string{"the prompt": example.ReplaceAllString(w.text, ""),
			"the form": say(verdictForm), "the request": r.requestText(true)} {
			quoted := text + "\n\n" + `{"allow_stop": true, "feedback": ""}`
			if decided, _ := findVerdict(quoted); decided != verdictAllow {
				t.Errorf("%s in %s, quoted before an approval: %q", name, language, decided)
			}
		}
	}
}

// The prompt names the sections of the request as the request does.
func TestPromptNamesSections(t *testing.T) {
	for language, w := range promptLanguages {
		for _, section := range []words{sectionRunning, sectionRequests, sectionStop, sectionQuestion, sectionPlace, sectionLastMessage,
			sectionTasks, sectionCrons, sectionWordsOnly, sectionChanges, sectionLastFeedback, sectionReview} {
			for _, title := range regexp.MustCompile(`(?m)^## ([^（(:：\n]+)`).FindAllStringSubmatch(section.in(language), -1) {
				name := strings.TrimSpace(title[1])
				if !strings.Contains(w.text, "“"+name+"”") && !strings.Contains(strings.Join(strings.Fields(w.text), " "), `"`+name+`"`) {
					t.Errorf("the prompt in %s does not name the section %q", language, name)
				}
			}
		}
	}
}

// numbersIn returns the numbers of a section, sorted, those of the Chinese steps and traps in digits.
func numbersIn(s promptSection) (numbers []string) {
	text := s.title + "\n" + s.text
	for i, numeral := range []string{"一", "二", "三", "四", "五", "六"} {
		for _, counted := range []string{"第%s步", "陷阱%s"} {
			text = strings.ReplaceAll(text, fmt.Sprintf(counted, numeral), fmt.Sprintf(counted, strconv.Itoa(i+1)))
		}
	}
	for _, found := range regexp.MustCompile(`(^|[^\w.])(\d[\d.,]*\d|\d)`).FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, found[2])
	}
	slices.Sort(numbers)
	return numbers
}

// A rule, a condition, a number, a template or an example that one language has, every language has.
func TestPromptsAlike(t *testing.T) {
	one, other := promptLanguages["zh"], promptLanguages["en"]
	shape, otherShape := promptShape(one.text), promptShape(other.text)
	if len(shape) != len(otherShape) {
		t.Fatalf("%d headings and %d", len(shape), len(otherShape))
	}
	others := promptSections(other.text)
	for i, s := range promptSections(one.text) {
		expectIs(t, s.title, shape[i], otherShape[i])
		expectEqual(t, "the numbers in "+s.title, numbersIn(s), numbersIn(others[i]))
	}
	verdicts, otherVerdicts := promptVerdicts(t, one), promptVerdicts(t, other)
	if len(verdicts) != len(otherVerdicts) {
		t.Fatalf("%d examples and %d", len(verdicts), len(otherVerdicts))
	}
	for i, v := range verdicts {
		if o := otherVerdicts[i]; *v.AllowStop != *o.AllowStop || (*v.Feedback == "") != (*o.Feedback == "") {
			t.Errorf("example %d decides otherwise in the other language", i+1)
		}
	}
}

// The instructions are what SUPERVISOR.md says when the review begins, and the log and the timeline name it.
func TestInstructionsOfNow(t *testing.T) {
	box := newHookBox(t)
	path := filepath.Join(box.work, "SUPERVISOR.md")
	box.write("../work/SUPERVISOR.md", 0o600, "THE OLD ONES")
	box.submit("fix it")
	box.write("../work/SUPERVISOR.md", 0o600, "THE NEW ONES")
	box.stop("")
	expectIn(t, "what the reviewer is told", box.read("../fake/reviewer-1.args"), "THE NEW ONES")
	os.Remove(path)
	box.stop("")
	expectNotIn(t, "without the file what the reviewer is told", box.read("../fake/reviewer-2.args"), "THE")
	expectIn(t, "the log", box.log(), "prompt_source="+path, "prompt_source="+builtinSource)
	expectIn(t, "ccc log", box.run(10*time.Second, "", "ccc", "log", testSession).stdout, "提示词：SUPERVISOR.md\n")
}

// The request says that the agent is in plan mode where the event does, and how many seconds the review has, with what is
// left of them for the verdict.
func TestRequestOfModeAndTime(t *testing.T) {
	for _, test := range []struct {
		timeout int
		members string
		inPlan  bool
		time    string
	}{
		{540, `"permission_mode":"plan"`, true, `限时 5[34]\d 秒.*留出 60 秒`},
		{540, `"permission_mode":"acceptEdits"`, false, `限时 5[34]\d 秒.*留出 60 秒`},
		{90, `"permission_mode":["plan"]`, false, `限时 (90|[78]\d) 秒.*留出 (30|2\d) 秒`},
	} {
		box := newHookBox(t)
		box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"supervisor":{"timeout_seconds":%d}}`, test.timeout))
		box.stop(test.members)
		request := box.read("../fake/reviewer-1.stdin")
		if strings.Contains(request, say(sectionPlan)) != test.inPlan || !regexp.MustCompile(test.time).MatchString(request) {
			t.Errorf("%s: the request is %s", test.members, request)
		}
	}
}

// requestOf is a request of a stop with these words of the user's.
func requestOf(words ...string) reviewRequest {
	return reviewRequest{subject: subject{conversation: conversation{requests: prompts(words...)}, section: sectionStop, change: &judgedChange{}}}
}

// Of hundreds of requests each keeps its beginning and end; a few of usual length are whole.
func TestRequestText(t *testing.T) {
	long := strings.Repeat("a", 500) + strings.Repeat("b", 500)
	r := requestOf(slices.Repeat([]string{long}, 1000)...)
	beginning := strings.Repeat("a", userPromptKeepLeast/3)
	text := r.requestText(false)
	if kept := strings.Count(text, beginning); kept != 1000 {
		t.Errorf("%d of 1000 requests kept their beginning", kept)
	}
	if strings.Contains(text, long) {
		t.Error("requests are whole, however many there are")
	}
	// How much of a text is kept: all of one of the most characters and a hundred, and of a longer one the two ends.
	for _, test := range []struct{ requests, most int }{{1, 8000}, {8, 8000}, {9, 7111}, {16, 4000}, {160, 400}, {161, 400}} {
		for _, more := range []int{100, 101} {
			words := strings.Repeat("长", test.most+more)
			r := requestOf(slices.Repeat([]string{words}, test.requests)...)
			expectIs(t, fmt.Sprintf("%d requests of %d characters are whole", test.requests, test.most+more), strings.Count(r.requestText(false), words), test.requests*(101-more))
		}
	}
	for _, more := range []int{100, 101} {
		words, tasks := strings.Repeat("长", 2000+more), []json.RawMessage{encodeJSON(strings.Repeat("x", 8000-len(`[""]`)+more))}
		crons := []json.RawMessage{encodeJSON(strings.Repeat("y", 8000-len(`[""]`)+more))}
		text := reviewRequest{subject: subject{lastMessage: words, tasks: tasks, crons: crons, change: &judgedChange{}}}.requestText(false)
		expectIs(t, "the wake-ups are whole", strings.Contains(text, string(crons[0])), more == 100)
		expectIs(t, "the last message is whole", strings.Contains(text, words), more == 100)
		expectIs(t, "the tasks are whole", strings.Contains(text, string(tasks[0])), more == 100)
	}
}

// Each part of the request stands in it where it has something to say, and nowhere else; what stays the same from one review
// to the next comes first.
func TestRequestParts(t *testing.T) {
	plain := func() reviewRequest {
		r := requestOf("fix it", "add tests")
		r.copyOffer = copyOffer{tryCommand: "TRY", noCopy: "BECAUSE"}
		r.place = place{root: "/project", project: "/project", cwd: "/project/here"}
		r.iteration, r.limit, r.seconds = 2, 5, 540
		return r
	}
	guide, system := say(opening, say(byGuideAbove)), say(opening, say(bySystemPrompt))
	running, noCopy := say(sectionRunning, tryExample("TRY")), say(sectionNoCopy, "BECAUSE")
	compare := say(sectionCompare, compareExample("TRY", "BASE"))
	event, asks := say(sectionStop), say(sectionQuestion, `{"a":1}`)
	place, round := say(sectionPlace, "/project/here"), say(sectionReview, 2, 5, 540, 60)
	nothing := say(sectionChanges, say(changesBegin)+"\n\n"+say(changesNone))
	none := func(*reviewRequest) {}
	for name, test := range map[string]struct {
		with       func(r *reviewRequest)
		has, lacks []string
	}{
		"plain": {none, []string{system, running, say(sectionRequests), "\n[1] fix it\n\n[2] add tests\n", event, place, round},
			[]string{guide, noCopy, compare, say(sectionWordsOnly), asks, say(homeReadOnly), say(sectionPlan)}},
		"words only": {func(r *reviewRequest) {
			r.wordsOnly, r.change.Repository, r.change.base, r.homeIsReadOnly = true, "r", "BASE", true
		}, []string{say(sectionWordsOnly), nothing}, []string{running, compare, say(homeReadOnly)}},
		"words, no copy": {func(r *reviewRequest) { r.wordsOnly, r.change.Repository, r.tryCommand = true, "r", "" }, []string{say(sectionWordsOnly), nothing}, []string{noCopy}},
		"what became of it": {func(r *reviewRequest) {
			r.requests[0].fate, r.requests[0].stopped, r.requests[0].remark = "APPROVED", true, remarkWithEsc
		},
			[]string{say(sectionRequests) + "\n\n" + say(requestsJudged) + "\n\n[1] APPROVED " + say(remarkInterrupted) + " " + say(remarkWithEsc) + " fix it\n\n[2] add tests\n"}, nil},
		"one request":       {func(r *reviewRequest) { r.requests = r.requests[:1] }, []string{say(sectionRequests) + "\n\n[1] fix it\n"}, []string{say(requestsJudged)}},
		"one with its fate": {func(r *reviewRequest) { r.requests = r.requests[:1]; r.requests[0].fate = "LET GO" }, []string{say(requestsJudged) + "\n\n[1] LET GO fix it\n"}, nil},
		"a commit":          {func(r *reviewRequest) { r.change.base = "BASE" }, []string{running + "\n" + compare + "\n"}, nil},
		"no copy":           {func(r *reviewRequest) { r.tryCommand, r.change.base, r.noCopy = "", "BASE", "BECAUSE" }, []string{noCopy}, []string{running, compare}},
		"another group":     {func(r *reviewRequest) { r.foreign = "notes" }, []string{running, say(foreignFiles, "notes")}, nil},
		"HOME is read-only": {func(r *reviewRequest) { r.homeIsReadOnly = true }, []string{running, say(homeReadOnly)}, nil},
		"no requests":       {func(r *reviewRequest) { r.requests = nil }, []string{event}, []string{say(sectionRequests), say(requestsJudged)}},
		"a remark":          {func(r *reviewRequest) { r.requests[1].remark = remarkWithEsc }, []string{"\n[2] " + say(remarkWithEsc) + " add tests\n"}, nil},
		"a question":        {func(r *reviewRequest) { r.section, r.question = sectionQuestion, json.RawMessage(`{"a":1}`) }, []string{asks}, []string{event}},
		"plan mode":         {func(r *reviewRequest) { r.inPlanMode = true }, []string{event, say(sectionPlan)}, nil},
		"another tree":      {func(r *reviewRequest) { r.place.root = "/tree" }, []string{say(sectionWorktree, "/tree", "/project/here", "/project")}, []string{place}},
		"a last message":    {func(r *reviewRequest) { r.lastMessage = "DONE" }, []string{say(sectionLastMessage, "DONE")}, nil},
		"tasks":             {func(r *reviewRequest) { r.tasks = []json.RawMessage{[]byte(`{"id":1}`)} }, []string{say(sectionTasks, `[{"id":1}]`)}, nil},
		"wake-ups":          {func(r *reviewRequest) { r.crons = []json.RawMessage{[]byte(`{"id":2}`)} }, []string{say(sectionCrons, `[{"id":2}]`)}, nil},
		"changes":           {func(r *reviewRequest) { r.change.Repository, r.change.Unseen = "r", "CHANGED" }, []string{say(sectionChanges, say(changesUnknown, "CHANGED"))}, nil},
		"feedback":          {func(r *reviewRequest) { r.refusal.Feedback = "NO" }, []string{say(sectionLastFeedback, "NO")}, []string{say(sectionNoVerdict, say(verdictForm))}},
		"without verdict":   {func(r *reviewRequest) { r.refusal.NoVerdict = true }, []string{say(sectionNoVerdict, say(verdictForm))}, nil},
		"little time":       {func(r *reviewRequest) { r.seconds = 90 }, []string{say(sectionReview, 2, 5, 90, 30)}, []string{round}},
	} {
		r := plain()
		test.with(&r)
		text := r.requestText(false)
		expectIn(t, name, text, test.has...)
		expectNotIn(t, name, text, test.lacks...)
		for _, section := range []words{sectionLastMessage, sectionTasks, sectionCrons, sectionChanges, sectionLastFeedback, sectionNoVerdict} {
			title, _, _ := strings.Cut(say(section), "%")
			title, _, _ = strings.Cut(title, "\n")
			wanted := slices.ContainsFunc(test.has, func(part string) bool { return strings.HasPrefix(part, title) })
			expectIs(t, name+" has "+title, strings.Contains(text, title), wanted)
		}
	}
	expectIn(t, "with the guide above the request", plain().requestText(true), guide)
	all := plain()
	all.inPlanMode, all.lastMessage, all.tasks, all.change.below, all.refusal.Feedback, all.refusal.NoVerdict = true, "DONE", []json.RawMessage{[]byte(`{}`)}, []string{"CHANGED"}, "NO", true
	all.crons = []json.RawMessage{[]byte(`7`)}
	text, at := all.requestText(false), 0
	for _, part := range []string{system, running, say(sectionRequests), "[1]", "[2]", event, say(sectionPlan), place, "DONE", say(sectionTasks, "[{}]"), say(sectionCrons, "[7]"), "CHANGED", say(sectionLastFeedback, "NO"),
		say(sectionNoVerdict, say(verdictForm)), round} {
		next := strings.Index(text, part)
		if next < at {
			t.Errorf("%q is not where it belongs", part)
		}
		at = next
	}
}

// The verdict has a decision and a feedback, both required, and says what each is.
func TestVerdictSchema(t *testing.T) {
	var schema struct {
		Type       string
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	check(t, json.Unmarshal([]byte(verdictSchema()), &schema))
	expectIs(t, "the verdict", schema.Type, "object")
	expectIs(t, "the decision", schema.Properties["allow_stop"], struct{ Type, Description string }{"boolean", say(schemaAllowStop)})
	expectIs(t, "the feedback", schema.Properties["feedback"], struct{ Type, Description string }{"string", say(schemaFeedback)})
	expectIs(t, "how many", len(schema.Properties), 2)
	expectEqual(t, "what is required", schema.Required, []string{"allow_stop", "feedback"})
}

// The first command that the request shows works as it stands, in the one form that Claude Code lets through: it begins with the
// permitted words, and one pair of single quotes holds the rest.
func TestRequestShowsCommand(t *testing.T) {
	for _, example := range []string{tryExample("/bin/ccc try"), compareExample("/bin/ccc try", "BASE")} {
		if !strings.HasPrefix(example, "/bin/ccc try '") || !strings.HasSuffix(example, "'") || strings.Count(example, "'") != 2 {
			t.Errorf("not of that form: %s", example)
		}
	}
	for _, program := range []string{"python3", "awk", "mktemp"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	expectEnd(t, "the command", newFakeBox(t).run(20*time.Second, "", "sh", "-c", tryExample("sh -c")), 0, "61\n"+`{"name": "it's", "days": [30, 31]}`+"\nit's fine\n", "")
}

// What became of the requests stands at them, and only those stand that the last end has ended, and what came since. One whose stop
// waited for a task is let go; behind the limit it is judged again.
func TestRequestOutcomes(t *testing.T) {
	box := newHookBox(t)
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":1}}`)
	box.reviews(allows(""), allows(""), fakeReview{runs("exit 1")}, allows(""), blocks("not yet"), allows(""))
	var lines []string
	turn := func(prompt string, stops ...string) {
		t.Helper()
		box.submit(prompt)
		n := len(lines)
		parent := ""
		if n > 0 {
			parent = fmt.Sprint("e", n-1)
		}
		lines = append(lines, userLine(fmt.Sprint("e", n), parent, prompt), agentLine(fmt.Sprint("e", n+1), fmt.Sprint("e", n), "done"))
		for _, members := range append(stops, `"stop_hook_active":false`)[:max(1, len(stops))] {
			box.stop(box.transcript(lines...) + "," + members)
		}
	}
	const passed, letGo, limit = "PASSED ", "LETGO ", "LIMIT "
	expect := func(review int, requests ...string) {
		t.Helper()
		request := box.read(fmt.Sprintf("../fake/reviewer-%d.stdin", review))
		expectEqual(t, fmt.Sprint("the requests of review ", review), listedRequests(t, request), requests)
		expectIs(t, fmt.Sprint("what is judged, in review ", review), strings.Contains(request, say(requestsJudged)), len(requests) > 1)
	}
	turn("fix it")
	expect(1, "fix it")
	turn("serve it", `"background_tasks":[{"id":"b1","status":"running"}],"session_crons":[{"id":"c1"}]`)
	expect(2, passed+"fix it", "serve it")
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "the request", request, say(sectionTasks, `[{"id":"b1","status":"running"}]`), say(sectionCrons, `[{"id":"c1"}]`))
	turn("fail it")
	expect(3, passed+"fix it", letGo+"serve it", "fail it")
	turn("add tests")
	expect(4, passed+"fix it", letGo+"serve it", "fail it", "add tests")
	turn("and docs", `"stop_hook_active":false`, `"stop_hook_active":true`) // sent back, then the limit
	expect(5, passed+"serve it", passed+"fail it", passed+"add tests", "and docs")
	turn("thanks")
	expect(6, passed+"serve it", passed+"fail it", passed+"add tests", limit+"and docs", "thanks")
	expectIs(t, "what is told elsewhere", box.lastBegun().Request, "thanks")
}

// Of what was let go the newest ten are whole: a server that runs all day lets each request go.
func TestRequestsLetGo(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for n, whole := range map[int]int{3: 3, 10: 10, 12: 10} {
		r := requestOf(slices.Repeat([]string{long}, n+1)...)
		for i := range n {
			r.requests[i].fate, r.requests[i].letGo = "LET GO", true
		}
		text := r.requestText(false)
		expectIs(t, fmt.Sprint("of ", n, " those that are whole"), strings.Count(text, "LET GO "+long+"\n"), whole)
		expectIn(t, "the newest", text, fmt.Sprintf("\n[%d] %s\n", n+1, long))
	}
}

// lastBegun is the last review of testSession, as it began.
func (box *sandbox) lastBegun() (last review) {
	check(box.t, readLines(filepath.Join(box.home, eventsPath), func(line []byte) {
		if e, ok := parseEntry(line); ok && e.Review != nil && e.Review.Ended.IsZero() {
			last = *e.Review
		}
	}))
	return last
}

// Where the agent has only talked, and no file differs, the request says so in the place of how to run commands.
func TestRequestOfWordsOnly(t *testing.T) {
	const called = "user: fix it; call: t1; result: ok; agent: done"
	for _, c := range []struct {
		name, lines, change, event string
		want                       bool
	}{
		{"words", "user: hi; agent: done", "", eventStop, true},
		{"a call", strings.Replace(called, "fix it", "hi", 1), "", eventStop, false},
		{"thanks behind the work", called + "; user: thanks; agent: done", "", eventStop, true},
		{"a file differs", "user: hi; agent: done", "echo more >>notes.txt", eventStop, false},
		{"a file is left out", "user: hi; agent: done", "git init -q sub; touch sub/x", eventStop, false},
		{"a question", "user: hi; agent: done", "", eventPreToolUse, false},
		{"no transcript", "", "", eventStop, false},
		{"no repository", "user: hi; agent: done", "rm -rf .git", eventStop, false},
		{"git can't tell", "user: hi; agent: done", "echo >.git/index", eventStop, false},
	} {
		box := newHookBox(t)
		box.repository()
		box.submit(cmp.Or(map[bool]string{true: "thanks"}[strings.Contains(c.lines, "thanks")], "hi"))
		box.gitIn(box.work, ":\n"+c.change)
		members := `"tool_name":"AskUserQuestion","tool_input":` + question
		if c.lines != "" {
			members += "," + box.transcript(transcriptOf(c.lines))
		}
		box.hook(box.event(c.event, members))
		request := box.read("../fake/reviewer-1.stdin")
		expectIs(t, c.name+": words only", strings.Contains(request, say(sectionWordsOnly)), c.want)
		expectIs(t, c.name+": how to run commands", strings.Contains(request, "## 运行命令"), !c.want)
	}
}

// How tests run without the change is shown where it is known what lay there before, with that.
func TestRequestComparesWithCommit(t *testing.T) {
	for script, want := range map[string]bool{"": false, "git init -q": true, "git init -q; git commit -q --allow-empty -m x": true} {
		box := newHookBox(t)
		needCopy(t, box)
		if script != "" {
			box.gitIn(box.work, script)
		}
		box.submit("fix it")
		box.stop("")
		request := box.read("../fake/reviewer-1.stdin")
		base := regexp.MustCompile(`git restore -q -SWs ([0-9a-f]{12}) :/`).FindStringSubmatch(request)
		expectIs(t, "after "+script, base != nil, want)
		if want {
			expectIn(t, "the request", request, say(sectionCompare, compareExample(tryCommand(), base[1])))
		}
		expectIn(t, "the request", request, tryExample(tryCommand()))
	}
}

// The second one runs tests with the change and without it, in a copy, wherever the session is and whatever is committed. What
// can't be taken away ends it.
func TestRequestComparesWithout(t *testing.T) {
	const committed = "git add -A; git commit -qm change"
	for _, c := range []struct {
		name, change, dir, test, with, without string
		code                                   int
	}{
		{name: "an ignored build that tests read, built anew", change: "echo new >a; sh build.sh", test: "sh build.sh && cat dist/a", with: "new", without: "old"},
		{name: "an ignored build as it is", change: "echo new >a; sh build.sh", test: "cat dist/a", with: "new", without: "new"},
		{name: "a new file that the agent has committed", change: "echo new >b; " + committed, test: "cat b 2>/dev/null || echo none", with: "new", without: "none"},
		{name: "some of it committed", change: "echo new >b; " + committed + "; echo newer >b; echo new >c", test: "cat a b c 2>/dev/null || :", with: "old\nnewer\nnew", without: "old"},
		{name: "the session in a subdirectory", change: "echo new >a; echo new >b; echo new >sub/c; " + committed + "; echo newer >a", dir: "sub",
			test: "cat ../a; ls .. | grep -cx b; ls", with: "newer\n1\nc\nkept", without: "old\n0\nkept"},
		{name: "the user's work in progress", change: "echo mine >of_the_user; echo new >a", test: "cat of_the_user a 2>&1",
			with: "mine\nnew", without: "cat: of_the_user: No such file or directory\nold"},
		{name: "a merge that is not finished", change: "git checkout -qb x; echo x >a; git commit -qam x; git checkout -q main; echo y >a; git commit -qam y; git merge x || :",
			test: "echo run", with: "run", without: "a: needs merge\n", code: 1},
	} {
		box := newFakeBox(t)
		needCopy(t, box)
		base := box.gitIn(box.work, `git init -q; echo old >a; echo dist >.gitignore; echo 'mkdir -p dist; cp a dist' >build.sh; mkdir sub; echo x >sub/kept
			git add .; git commit -qm base; git rev-parse HEAD`)
		box.gitIn(box.work, c.change)
		before := box.gitIn(box.work, "git status --short; git stash list; cat a")
		box.write("test", 0o600, c.test+"; echo .")
		box.vars = append(box.vars, "LC_ALL=C")
		cmd := box.command("sh", "-c", strings.ReplaceAll(compareExample("ccc try", base), "make test", "sh $HOME/test"))
		cmd.Dir = filepath.Join(box.work, c.dir)
		want := c.with + "\n.\n" + c.without
		if c.code == 0 {
			want += "\n.\n"
		}
		expectEnd(t, c.name, box.finish(cmd, 20*time.Second), c.code, want, "")
		expectIs(t, c.name+": the project", box.gitIn(box.work, "git status --short; git stash list; cat a"), before)
	}
}
