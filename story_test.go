package main

// Stories: what ccc promises, told as the hook and the shell see it, in testdata/stories. CONTRIBUTING.md
// says how to write one. This is their runner; the patterns of their steps are in story_steps_test.go.

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A storyRun is a story that is being played.
type storyRun struct {
	*sandbox
	env      []string // that its steps have set
	sessions map[string]*storySession
	asked    int                 // how often a reviewer was called
	logged   int                 // the length of the log when the last step had ended
	printed  map[string][]string // what the last step printed, by what can be wanted of it
	protocol []string            // its lines, and after each step what that printed
	unmet    error               // the first wish that is not met
	fault    error               // what is wrong with the story itself
}

// wishPattern matches a wish: a line that wants something of the last step. With "not", no line that was
// printed may hold it.
var wishPattern = lazyRegexp(`^(not )?(stdout|message|stderr|exit|shown|paths|lines|log): (.+)$`)

// slip matches what looks like a step or a wish. It is not taken for stdout, even if it is neither.
var slip = lazyRegexp(`^([A-Z]('s)? [a-z]+( \S+)?(; the reviewer)?: |[A-Z]: |(not )?[a-z]+: |-- )`)

// stepOf returns the step that the line is, and what its pattern finds there; nil if the line is none.
func stepOf(line string) (*storyStep, []string) {
	for i, step := range storySteps {
		if found := step.pattern().FindStringSubmatch(line); found != nil {
			return &storySteps[i], found[1:]
		}
	}
	return nil, nil
}

// isStdout reports whether a line is nothing else: a line of what the command before it prints.
func isStdout(line string) bool {
	step, _ := stepOf(line)
	return line != "" && line[0] != '#' && step == nil && !slip().MatchString(line)
}

func TestStories(t *testing.T) {
	names, _ := filepath.Glob("testdata/stories/*")
	if len(names) == 0 {
		t.Error("there are no stories")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			s := playStory(newFakeBox(t), readPage(t, name))
			switch {
			case s.unmet != nil: // a fault after it may only come of it
				t.Error(s.unmet)
			case s.fault != nil:
				t.Errorf("%s\n%v", strings.Join(s.protocol, "\n"), s.fault)
			}
		})
	}
}

// playStory plays a story.
func playStory(box *sandbox, text string) *storyRun {
	s := &storyRun{sandbox: box, sessions: map[string]*storySession{}}
	if !strings.HasPrefix(text, "# ") || strings.Count(text, "\n") > 40 {
		s.fault = errors.New("a story begins with its promise, and has at most 40 lines")
		return s
	}
	steps, files, _ := strings.Cut(text, "\n-- ")
	s.prepare(files)
	for _, short := range shortForms {
		steps = short.pattern().ReplaceAllString(steps, short.text)
	}
	defer func() {
		if box.t.Failed() { // it is ended by what a step needs
			box.t.Log(strings.Join(s.protocol, "\n"))
		}
	}()
	isEnglish := chineseIn(text) == "" && !strings.Contains(text, "LANG=")
	prints, isWanted, lines := "", false, strings.Split(steps, "\n")
	for i := 0; i < len(lines) && s.fault == nil; i++ {
		line := lines[i]
		s.protocol = append(s.protocol, line)
		want := wishPattern().FindStringSubmatch(line)
		step, parts := stepOf(line)
		switch {
		case line == "" || line[0] == '#':
		case want != nil && slices.Contains(strings.Fields(prints), want[2]) && s.printed[want[2]] != nil:
			isWanted = true
			s.compare(line, want)
		case want != nil:
			s.fault = fmt.Errorf("%q: the step before prints nothing of that kind: it asks for no review, "+
				"or runs no hook and no command", line)
		case step == nil:
			s.fault = fmt.Errorf("%q: there is no such step", line)
		default:
			s.expectExit()
			prints, s.printed = step.prints, map[string][]string{}
			step.play(s, s.session(parts[0]), parts)
			s.showPrinted(prints)
			s.expectWords(isEnglish)
			var stdout []string
			for prints == ofCommand && i+1 < len(lines) && isStdout(lines[i+1]) {
				i++
				stdout = append(stdout, lines[i])
			}
			if stdout != nil {
				isWanted = true
				s.compareStdout(stdout)
			}
		}
	}
	s.expectExit()
	if s.fault == nil && !isWanted {
		s.fault = errors.New("it wants nothing")
	}
	return s
}

// compare compares a wish with what was printed.
func (s *storyRun) compare(line string, want []string) {
	key, text, printed := want[2], want[3], s.printed[want[2]]
	if len(printed) == 0 {
		printed = []string{"none"}
	}
	isNot := want[1] != ""
	isWhole := text == "none" || !isNot && slices.Contains([]string{"exit", "paths", "lines"}, key)
	isThere := slices.ContainsFunc(printed, func(actual string) bool {
		return actual == text || !isWhole && strings.Contains(actual, text)
	})
	if isThere == isNot || isNot && printed[0] == "none" {
		s.miss(line, key+": "+strings.Join(printed, "\n"))
	}
	if key == "exit" {
		delete(s.printed, key)
	}
}

// compareStdout compares the lines after a command with the whole of what it printed.
func (s *storyRun) compareStdout(lines []string) {
	s.protocol = append(s.protocol, lines...)
	if !slices.Equal(lines, s.printed["stdout"]) {
		s.miss(strings.Join(lines, "\n"), strings.Join(s.printed["stdout"], "\n"))
	}
}

// expectExit wants exit code 0 of the last command, unless a wish has told of another and compare has
// taken it away.
func (s *storyRun) expectExit() {
	if code := s.printed["exit"]; code != nil && code[0] != "0" {
		s.miss("exit: 0", "exit: "+code[0])
	}
}

// expectWords wants no value of the wrong kind in what was printed, and in an English story no Chinese.
func (s *storyRun) expectWords(isEnglish bool) {
	for key, lines := range s.printed {
		for _, line := range lines {
			if strings.Contains(line, "%!") || isEnglish && chineseIn(line) != "" {
				s.miss("words of the story's language", key+": "+line)
			}
		}
	}
}

// miss notes that something was wanted, and something else was printed.
func (s *storyRun) miss(wanted, actual string) {
	protocol := strings.Join(s.protocol, "\n")
	s.unmet = cmp.Or(s.unmet, fmt.Errorf("%s\nwanted: %s\nactual: %s", protocol, wanted, actual))
}

// showPrinted adds what a step printed to the protocol, without what the reviewer was shown: that is long.
func (s *storyRun) showPrinted(prints string) {
	for key := range strings.FieldsSeq(strings.Replace(prints, "shown", "", 1)) {
		for _, line := range s.printed[key] {
			s.protocol = append(s.protocol, "    "+key+": "+line)
		}
	}
}

// A replaced is a text of a story that stands for what a pattern matches, or the other way round.
type replaced struct {
	pattern func() *regexp.Regexp
	text    string
}

// shortForms has what is short for several lines of a story: a turn in which the agent calls no tool, and the
// exit code that goes with a verdict.
var shortForms = []replaced{
	{lazyRegexp(`(?m)^([A-Z]) answers "(.*?)"(.*; the reviewer: .*)$`), "$1 prompt: $2\n$1 stops$3"},
	{lazyRegexp(`(?m)^verdict: (allow)$`), "$$ ccc verdict\n$1\nexit: 0"},
	{lazyRegexp(`(?m)^verdict: (block|limit|failed)$`), "$$ ccc verdict\n$1\nexit: 1"},
	{lazyRegexp(`(?m)^verdict: (none|changed|reviewing|cancelled)$`), "$$ ccc verdict\n$1\nexit: 3"},
	{lazyRegexp(`(?m)^verdict: (changed since: .*)$`), "$$ ccc verdict\nchanged\nexit: 3\nstderr: $1"},
	{lazyRegexp(`(?m)^([A-Z] by hand; .*(refuse|words) ".*")$`), "$1\nexit: 1"},
	{lazyRegexp(`(?m)^([A-Z] by hand; the reviewer: fail.*)$`), "$1\nexit: 4"},
}

// names has what is another text each time, and its name in a story. No step takes 100 seconds: such a number
// was configured.
var names = []replaced{
	{lazyRegexp(`\b\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{lazyRegexp(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{lazyRegexp(`([ (=])\d{1,2}(\.\d+)?( ?s| seconds?)\b`), "${1}SECONDS"},
	{lazyRegexp(`\b[0-9a-f]{40}\b`), "TREE"},
}

// lines are the lines of what was printed, without empty ones.
func (s *storyRun) lines(text string) []string {
	for letter, a := range s.sessions {
		text = strings.NewReplacer(a.id, letter, a.id[:8], letter).Replace(text)
	}
	text = strings.NewReplacer(s.work, "WORK", s.home, "~").Replace(text)
	for _, is := range names {
		text = is.pattern().ReplaceAllString(text, is.text)
	}
	return append([]string{}, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })...)
}
