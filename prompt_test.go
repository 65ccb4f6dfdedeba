package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// promptSection is one heading of the prompt with the lines that belong to it,
// those of its subheadings included.
type promptSection struct {
	title string
	level int
	lines []string
}

func (s promptSection) text() string { return strings.Join(s.lines, "\n") }

// promptSections splits Markdown at its ATX headings; "#" inside a fenced block
// is no heading.
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

// numberedItems returns the top-level "1. " items of a section and fails the
// test unless they are numbered 1, 2, 3 and so on.
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

// exampleVerdict is the reviewer's answer; a missing or non-boolean allow_stop is
// told apart from false.
type exampleVerdict struct {
	AllowStop *bool   `json:"allow_stop"`
	Feedback  *string `json:"feedback"`
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

func TestPromptStructure(t *testing.T) {
	if !utf8.ValidString(defaultPrompt) || strings.Contains(defaultPrompt, "\r") {
		t.Error("the prompt must be UTF-8 with Unix line ends")
	}
	if !strings.HasSuffix(defaultPrompt, "\n") {
		t.Error("the last line has no line end")
	}
	if n := strings.Count(defaultPrompt, "\n"); n < 400 || n > 500 {
		t.Errorf("%d lines, want 400 to 500", n)
	}
	// It travels with every review, so it stays far below the limit of 100 KiB.
	if n := len(defaultPrompt); n > 30<<10 {
		t.Errorf("%d bytes, want at most %d", n, 30<<10)
	}
	if n := strings.Count(defaultPrompt, "```"); n%2 != 0 {
		t.Error("a fenced block is not closed")
	}

	all := promptSections(defaultPrompt)
	byTitle := map[string]promptSection{}
	seen := map[string]int{}
	for _, s := range all {
		seen[s.title]++
		byTitle[s.title] = s
	}
	need := func(level int, title string) promptSection {
		t.Helper()
		s := byTitle[title]
		if seen[title] != 1 {
			t.Errorf("heading %q occurs %d times, want once", title, seen[title])
		} else if s.level != level {
			t.Errorf("heading %q is at level %d, want %d", title, s.level, level)
		} else if strings.TrimSpace(s.text()) == "" {
			t.Errorf("heading %q has no text", title)
		}
		return s
	}

	if s := need(2, "角色：严格的任务审查者"); !strings.Contains(s.text(), "不再是上面对话里的 Agent") {
		t.Error("the role does not say that the reviewer is no longer the agent")
	}
	steps := []string{"第一步：理解用户需求", "第二步：检查实际工作", "第三步：检查常见陷阱",
		"第四步：评估完成质量", "第五步：判断完成状态", "第六步：提供反馈"}
	inOrder := slices.Concat([]string{"角色：严格的任务审查者", "你手里的材料"}, steps,
		[]string{"示例", "快速检查清单", "输出格式"})
	last := -1
	for _, title := range inOrder {
		need(2, title)
		at := slices.IndexFunc(all, func(s promptSection) bool { return s.title == title })
		if at < last {
			t.Errorf("heading %q is out of order", title)
		}
		last = max(last, at)
	}

	traps := need(2, "第三步：检查常见陷阱")
	if n := strings.Count(traps.text(), "\n### "); n != 5 {
		t.Errorf("%d traps, want 5", n)
	}
	for i, name := range []string{"只问不做", "测试循环", "虚假完成", "缺少验证", "错误放弃"} {
		trap := need(3, "陷阱"+string([]rune("一二三四五")[i])+"："+name)
		if !strings.Contains(traps.text(), "### "+trap.title) {
			t.Errorf("%q is not under %q", trap.title, traps.title)
		}
		for _, part := range []string{"- **样子**：", "- **查法**：", "- **无辜的情形**："} {
			if strings.Count(trap.text(), part) != 1 {
				t.Errorf("%s: want one %q", trap.title, part)
			}
		}
	}

	if got := numberedItems(t, need(3, "allow_stop=true 的 5 个必要条件")); len(got) != 5 {
		t.Errorf("%d conditions for allow_stop=true, want 5", len(got))
	}
	if got := numberedItems(t, need(3, "allow_stop=false 的 7 种情形")); len(got) != 7 {
		t.Errorf("%d situations for allow_stop=false, want 7", len(got))
	}
	for _, title := range []string{"怎么查：先跑，再读", "副本的用法", "没有副本的时候", "六种正当的停法", "提问事件（AskUserQuestion）的规矩", "第二轮起的规矩",
		"反馈质量要求"} {
		need(3, title)
	}
	if n := strings.Count(need(3, "反馈模板").text(), "\n> "); n < 4 {
		t.Errorf("%d feedback templates, want at least 4", n)
	}
	if n := strings.Count(need(2, "快速检查清单").text(), "- [ ] "); n < 5 {
		t.Errorf("%d points in the checklist, want at least 5", n)
	}
	output := need(2, "输出格式").text()
	for _, word := range []string{"`allow_stop`", "`feedback`", "StructuredOutput", "不再说话"} {
		if !strings.Contains(output, word) {
			t.Errorf("the output format does not mention %s", word)
		}
	}
	if all[len(all)-1].title != "输出格式" {
		t.Error("the output format is not the last section")
	}

	var forbidden []string
	for _, m := range regexp.MustCompile(`「([^」]+)」`).FindAllStringSubmatch(need(3, "禁止的反馈写法").text(), -1) {
		forbidden = append(forbidden, strings.ToLower(m[1]))
	}
	if len(forbidden) < 10 {
		t.Errorf("%d forbidden phrases, want at least 10", len(forbidden))
	}

	number := regexp.MustCompile(`^示例 (\d+)：.+`)
	block := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	examples, allowed := 0, 0
	for _, s := range all {
		if !strings.HasPrefix(s.title, "示例 ") {
			continue
		}
		examples++
		if m := number.FindStringSubmatch(s.title); m == nil || m[1] != strconv.Itoa(examples) || s.level != 3 {
			t.Errorf("%q: want the heading ### 示例 %d：...", s.title, examples)
		}
		text := s.text()
		for _, part := range []string{"**场景**：", "**判断**："} {
			if strings.Count(text, part) != 1 {
				t.Errorf("%s: want one %q", s.title, part)
			}
		}
		found := block.FindAllStringSubmatch(text, -1)
		if len(found) != 1 {
			t.Errorf("%s: %d JSON blocks, want 1", s.title, len(found))
			continue
		}
		var v exampleVerdict
		if err := decodeStrict([]byte(found[0][1]), &v); err != nil {
			t.Errorf("%s: %v", s.title, err)
			continue
		}
		if v.AllowStop == nil || v.Feedback == nil {
			t.Errorf("%s: allow_stop and feedback are both required", s.title)
			continue
		}
		feedback := *v.Feedback
		if *v.AllowStop {
			allowed++
			// On allow, feedback is only for what is left to the user.
			if feedback != "" && !strings.Contains(feedback, "用户") {
				t.Errorf("%s: feedback of an allow that leaves nothing to the user", s.title)
			}
		} else if len([]rune(feedback)) < 30 {
			t.Errorf("%s: a refusal without usable feedback: %q", s.title, feedback)
		}
		if len([]rune(feedback)) > 300 {
			t.Errorf("%s: feedback of %d characters, the prompt allows 300", s.title, len([]rune(feedback)))
		}
		for _, phrase := range forbidden {
			if strings.Contains(strings.ToLower(feedback), phrase) {
				t.Errorf("%s: feedback holds the forbidden %q", s.title, phrase)
			}
		}
		if strings.ContainsAny(feedback, "?？") {
			t.Errorf("%s: feedback asks a question", s.title)
		}
		if !strings.HasSuffix(strings.TrimSpace(text), "```") {
			t.Errorf("%s: text after the verdict", s.title)
		}
	}
	if examples < 10 {
		t.Errorf("%d examples, want at least 10", examples)
	}
	if allowed*3 < examples || (examples-allowed)*3 < examples {
		t.Errorf("%d of %d examples allow: want at least a third of each verdict", allowed, examples)
	}

	// The file is sent byte for byte: nothing may wait to be filled in.
	if m := regexp.MustCompile(`\{\{|\$\{|%[sdv]`).FindString(defaultPrompt); m != "" {
		t.Errorf("the prompt holds the placeholder %q", m)
	}
}
