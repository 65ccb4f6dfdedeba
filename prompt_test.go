package main

// The default prompts, one for each language: the same skeleton, in other words.

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// promptLanguages are the default prompts by their language.
var promptLanguages = map[string]string{chinese: defaultPrompt.zh, english: defaultPrompt.en}

// promptShape returns the kinds of a prompt's lines, in order: headings, points of a list, those with a name
// in bold, numbered ones, rows of a table, quotations, fences, labels in bold; "" is a paragraph.
func promptShape(prompt string) (shape []string) {
	kind := regexp.MustCompile("^(#+ |- \\*\\*|- |\\d+\\. |\\||> |\\*\\*|```.*)")
	text := regexp.MustCompile("(?s)(```\\w*)\n.*?\n```").ReplaceAllString(prompt, "$1")
	for _, block := range strings.Split(text, "\n\n") {
		for i, line := range strings.Split(strings.TrimSpace(block), "\n") {
			if found := kind.FindString(line); found != "" || i == 0 {
				shape = append(shape, found)
			}
		}
	}
	return shape
}

// A shownVerdict is a verdict that a prompt shows; a missing allow_stop is told apart from false.
type shownVerdict struct {
	AllowStop *bool   `json:"allow_stop"`
	Feedback  *string `json:"feedback"`
}

// shownVerdicts returns one for each example of a prompt, and two for its output format.
func shownVerdicts(t *testing.T, prompt string) (verdicts []shownVerdict) {
	t.Helper()
	for _, found := range regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllStringSubmatch(prompt, -1) {
		var v shownVerdict
		if json.Unmarshal([]byte(found[1]), &v) != nil || v.AllowStop == nil || v.Feedback == nil {
			t.Fatalf("it is no verdict: %q", found)
		}
		verdicts = append(verdicts, v)
	}
	examples := regexp.MustCompile(`(?m)^### (Example|示例) \d+`).FindAllString(prompt, -1)
	if len(verdicts) != len(examples)+2 {
		t.Fatalf("%d verdicts are shown, and %d examples", len(verdicts), len(examples))
	}
	return verdicts
}

// 100 KiB are fine, one byte more is not. The project's comes first. A blank one does not count, nor
// does what a launch wrote, in either language.
func TestPromptSize(t *testing.T) {
	project, cccDir := t.TempDir(), t.TempDir()
	path, global := filepath.Join(project, promptName), filepath.Join(cccDir, promptName)
	check(t, os.WriteFile(global, []byte("mine"), 0o600))
	for text, why := range map[string]string{
		strings.Repeat("x", 100<<10):   "",
		strings.Repeat("x", 100<<10+1): path + " is larger than 100 KiB; shorten it",
		"\xff":                         path + " is no text in UTF-8; save it as one",
	} {
		check(t, os.WriteFile(path, []byte(text), 0o600))
		source, got, err := supervisorPrompt(project, cccDir)
		expectIs(t, "the source", source, path)
		if why != "" {
			expectError(t, "the error", err, why)
			continue
		}
		check(t, err)
		expectIs(t, "the prompt", got, text)
	}
	for _, blank := range []string{"", " \n\t", defaultPrompt.zh, defaultPrompt.en} {
		check(t, os.WriteFile(path, []byte(blank), 0o600))
		for want, text := range map[string]string{global: "mine", builtinSource: blank} {
			check(t, os.WriteFile(global, []byte(text), 0o600))
			source, _, err := supervisorPrompt(project, cccDir)
			check(t, err)
			expectIs(t, fmt.Sprintf("%.20q and %.20q", blank, text), source, want)
		}
	}
}

// The verdicts that a prompt shows may be copied as they stand: they keep its own rules for feedback. If it
// allows, feedback is only for what is left to the user.
func TestPromptExamples(t *testing.T) {
	for language, prompt := range promptLanguages {
		verdicts := shownVerdicts(t, prompt)
		for _, v := range verdicts {
			isForUser := strings.Contains(*v.Feedback, words{zh: "你", en: "you"}.in(language))
			isNone := *v.Feedback == ""
			expectIs(t, "it is allowed: "+*v.Feedback, !*v.AllowStop || isNone || isForUser, true)
			expectIs(t, "it asks: "+*v.Feedback, strings.ContainsAny(*v.Feedback, "?？"), false)
		}
		form := verdicts[len(verdicts)-2:]
		expectEqual(t, "the format", []bool{*form[0].AllowStop, *form[1].AllowStop}, []bool{true, false})
	}
}

// What a reviewer quotes of the prompt and of the request, before it approves, states no other decision: an
// approval would be unreadable. The verdicts of the examples aside, which are no headings to reason by.
func TestPromptStatesNoDecision(t *testing.T) {
	example := regexp.MustCompile("(?s)```json\n.*?\n```")
	for language, prompt := range promptLanguages {
		speakIn(t, language)
		r := requestOf("fix it")
		r.of.section, r.of.question, r.of.inPlanMode = sectionQuestion, json.RawMessage(`{}`), true
		r.copies = copyOffer{tryCommand: "ccc try", homeIsReadOnly: true}
		r.refusal.NoVerdict = true
		for name, text := range map[string]string{"the prompt": example.ReplaceAllString(prompt, ""),
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
	heading := regexp.MustCompile(`(?m)^## ([^（(:：\n]+)`)
	for language, prompt := range promptLanguages {
		text := strings.NewReplacer("“", `"`, "”", `"`).Replace(strings.Join(strings.Fields(prompt), " "))
		for _, section := range []words{sectionRunning, sectionRequests, sectionStop, sectionQuestion,
			sectionPlace, sectionLastMessage, sectionTasks, sectionCrons, sectionWordsOnly, sectionChanges,
			sectionLastFeedback, sectionReview} {
			for _, title := range heading.FindAllStringSubmatch(section.in(language), -1) {
				name := strings.TrimSpace(title[1])
				expectIs(t, language+": it names "+name, strings.Contains(text, `"`+name+`"`), true)
			}
		}
	}
}

// A rule, a condition, a template or an example that one language has, every language has.
func TestPromptsAlike(t *testing.T) {
	one, other := promptLanguages[chinese], promptLanguages[english]
	expectEqual(t, "the shape", promptShape(one), promptShape(other))
	others := shownVerdicts(t, other)
	for i, v := range shownVerdicts(t, one) {
		o := others[i]
		if *v.AllowStop != *o.AllowStop || (*v.Feedback == "") != (*o.Feedback == "") {
			t.Errorf("verdict %d is another one in the other language", i+1)
		}
	}
}

// requestOf is a request of a stop with these words of the user's.
func requestOf(words ...string) reviewRequest {
	of := judgedWork{section: sectionStop, change: &judgedChange{}}
	of.talk.requests = prompts(words...)
	return reviewRequest{of: of}
}

// The verdict has a decision and a feedback, both required, and says what each is.
func TestVerdictSchema(t *testing.T) {
	type property struct{ Type, Description string }
	var schema struct {
		Type       string
		Properties map[string]property
		Required   []string
	}
	check(t, json.Unmarshal([]byte(verdictSchema()), &schema))
	expectIs(t, "the verdict", schema.Type, "object")
	expectIs(t, "the decision", schema.Properties["allow_stop"], property{"boolean", say(schemaAllowStop)})
	expectIs(t, "the feedback", schema.Properties["feedback"], property{"string", say(schemaFeedback)})
	expectEqual(t, "what is required", schema.Required, []string{"allow_stop", "feedback"})
}

// How much of a text is kept: all of one of the most characters and a hundred, else the two ends.
func TestRequestText(t *testing.T) {
	long := func(size int) string { return strings.Repeat("长", size) }
	listed := func(size, most int) []json.RawMessage { // as JSON
		return []json.RawMessage{encodeJSON(strings.Repeat("x", most-len(`[""]`)+size))}
	}
	for requests, most := range map[int]int{8: 8000, 9: 7111, 161: 400} {
		for _, more := range []int{100, 101} {
			words := long(most + more)
			text := requestOf(slices.Repeat([]string{words}, requests)...).requestText(false)
			name := fmt.Sprintf("%d requests of %d characters are whole", requests, most+more)
			expectIs(t, name, strings.Count(text, words), requests*(101-more))
			expectIs(t, name+", or keep their ends", strings.Count(text, long(most/3)) >= requests, true)
		}
	}
	for _, more := range []int{100, 101} {
		r := requestOf()
		r.of.lastMessage, r.of.tasks, r.of.crons = long(2000+more), listed(more, 8000), listed(more, 8000)
		text := r.requestText(false)
		expectIs(t, "the last message is whole", strings.Contains(text, r.of.lastMessage), more == 100)
		expectCounts(t, "tasks and wake-ups", text, map[string]int{string(r.of.tasks[0]): 2 * (101 - more)})
	}
	// Of what was let go the newest ten are whole: a server that runs all day lets each request go.
	r := requestOf(slices.Repeat([]string{long(1000)}, 13)...)
	for i := range 12 {
		r.of.talk.requests[i].fate, r.of.talk.requests[i].letGo = "LET GO", true
	}
	text := r.requestText(false)
	expectCounts(t, "twelve let go", text, map[string]int{"LET GO " + long(1000) + "\n": 10})
	expectIn(t, "the newest", text, "\n[13] "+long(1000)+"\n")
}

// The parts of a request stand in their order: what stays the same from one review to the next comes first. A
// transcript that may lack its last lines makes no turn of words alone.
func TestRequestParts(t *testing.T) {
	r := requestOf("fix it", "add tests")
	r.of.change.seen.Repository, r.of.talk.wordsOnly, r.of.talk.incomplete = "r", true, true
	r.copies = copyOffer{tryCommand: "TRY"}
	r.place = place{root: "/project", project: "/project", cwd: "/project/here"}
	r.iteration, r.limit, r.seconds = 2, 5, 90
	expectNotIn(t, "a request", r.requestText(false), say(sectionWordsOnly))
	r.of.change.seen.Repository = ""
	r.of.inPlanMode = true
	r.of.lastMessage = "DONE"
	r.of.tasks = []json.RawMessage{[]byte("6")}
	r.of.crons = []json.RawMessage{[]byte("7")}
	r.of.change.base = "BASE"
	r.of.change.below = []string{"CHANGED"}
	r.refusal.outcome = outcome{Feedback: "NO", NoVerdict: true}
	order := []string{say(opening, say(byGuideAbove)), say(sectionRunning, tryExample("TRY")),
		say(sectionCompare, compareExample("TRY", "BASE")), say(sectionRequests), say(requestsJudged),
		"[1] fix it", "[2] add tests", say(sectionStop), say(sectionPlan), say(sectionPlace, "/project/here"),
		say(sectionLastMessage, "DONE"), say(sectionTasks, "[6]"), say(sectionCrons, "[7]"), "CHANGED",
		say(sectionLastFeedback, "NO"), say(sectionNoVerdict, say(verdictForm)),
		say(sectionReview, 2, 5, 90, 30)}
	text, before := r.requestText(true), 0
	for _, part := range order {
		next := strings.Index(text, part)
		expectIs(t, part+" is in its place in "+text, next >= before, true)
		before = next
	}
}

// The first command that the request shows works as it stands, in the one form that Claude Code lets through:
// it begins with the permitted words, and one pair of single quotes holds the rest.
func TestRequestShowsCommand(t *testing.T) {
	form := regexp.MustCompile(`(?s)^/bin/ccc try '[^']*'$`)
	for _, example := range []string{tryExample("/bin/ccc try"), compareExample("/bin/ccc try", "BASE")} {
		expectIs(t, example+" is of that form", form.MatchString(example), true)
	}
	for _, program := range []string{"python3", "awk", "mktemp"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	got := newFakeBox(t).run(20*time.Second, "", "sh", "-c", tryExample("sh -c"))
	expectEnd(t, "the command", got, 0, "61\n"+`{"name": "it's", "days": [30, 31]}`+"\nit's fine\n", "")
}

// The second one runs tests with the change and without it, in a copy, wherever the session is and whatever
// is committed. What can't be taken away ends it.
func TestRequestComparesWithout(t *testing.T) {
	const commit = "git add -A; git commit -qm change"
	const merge = "git checkout -qb x; echo x >a; git commit -qam x; git checkout -q main; echo y >a; " +
		"git commit -qam y; git merge x || :"
	for _, c := range []struct{ change, dir, test, with, without string }{
		// An ignored build that tests read is built anew, or as it is.
		{"echo new >a; sh build.sh", "", "sh build.sh && cat dist/a", "new", "old\n.\n"},
		{"echo new >b; " + commit + "; echo newer >b; echo new >c", "", "cat a b c 2>/dev/null || :",
			"old\nnewer\nnew", "old\n.\n"},
		{"echo new >a; echo new >b; echo new >sub/c; " + commit + "; echo newer >a", "sub",
			"cat ../a; ls .. | grep -cx b; ls", "newer\n1\nc\nkept", "old\n0\nkept\n.\n"},
		// The user's work in progress is part of the change, and a merge that is not finished ends it.
		{"echo mine >theirs; echo new >a", "", "cat theirs a 2>&1", "mine\nnew",
			"cat: theirs: No such file or directory\nold\n.\n"},
		{merge, "", "echo run", "run", "a: needs merge\n"},
	} {
		box := newFakeBox(t)
		needCopy(t, box)
		base := box.gitIn(box.work, `git init -q; echo old >a; echo dist >.gitignore; mkdir sub; >sub/kept
			echo 'mkdir -p dist; cp a dist' >build.sh; git add .; git commit -qm base; git rev-parse HEAD`)
		box.gitIn(box.work, c.change)
		before := box.gitIn(box.work, "git status --short; git stash list; cat a")
		box.write("test", 0o600, c.test+"; echo .")
		box.vars = append(box.vars, "LC_ALL=C")
		script := strings.ReplaceAll(compareExample("ccc try", base), "make test", "sh $HOME/test")
		cmd := box.command("sh", "-c", script)
		cmd.Dir = filepath.Join(box.work, c.dir)
		code := 0
		if c.change == merge {
			code = 1
		}
		expectEnd(t, c.change, box.finish(cmd, 20*time.Second), code, c.with+"\n.\n"+c.without, "")
		after := box.gitIn(box.work, "git status --short; git stash list; cat a")
		expectIs(t, c.change+": the project", after, before)
	}
}
