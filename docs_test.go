package main

// The documents: what they show runs, what they link to is there, and both languages say the same.

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are what people read about ccc, each in English and in Chinese.
var pages = [][2]string{
	{"README.md", "README-CN.md"}, {"docs/guide.md", "docs/guide-CN.md"}, {"docs/cost.md", "docs/cost-CN.md"},
	{"docs/comparison.md", "docs/comparison-CN.md"},
}

// manuals are README and guide, of which each command is run.
var manuals = pages[:2]

// notRun are the commands of these pages that TestPageCommands does not run, each with the reason.
var notRun = map[string]string{
	"git clone URL ccc && cd ccc && go install .": "it needs the network, and compiles ccc; .ci/release does that",
	"cd your-project":                 "the page is played in one",
	"go run . demo":                   ".ci/run has this line of README.md",
	"go test ./...":                   ".ci/run has this line of README.md",
	"ccc log -f":                      "it never ends: TestLogFollow",
	"wsl --install":                   "it needs Windows",
	"gh secret set ANTHROPIC_API_KEY": "it needs a login",
	"gh variable set CCC_REPOSITORY --body OWNER/ccc":               "it needs a login",
	"npm install -g @anthropic-ai/claude-code@latest":               "it needs the network",
	"(cd .ccc && go install .) && rm -rf .ccc":                      "it needs what the step before it gets from the network",
	"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0": "it needs root",
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	return string(text)
}

// A pageBlock is a fenced block of a page: the word at its fence, and its text.
type pageBlock struct{ kind, text string }

func blocksOf(t *testing.T, page string) (blocks []pageBlock) {
	t.Helper()
	for _, match := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(readPage(t, page), -1) {
		blocks = append(blocks, pageBlock{kind: match[1], text: match[2]})
	}
	return blocks
}

// codeIn returns what stands in `code` in a page, outside of its blocks.
func codeIn(t *testing.T, page string) (code []string) {
	t.Helper()
	prose := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(readPage(t, page), "")
	for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(prose, -1) {
		code = append(code, match[1])
	}
	return code
}

// trailingComment is what follows a command on its line.
var trailingComment = regexp.MustCompile(`(?m)[ \t]+# .*$`)

// Each command that README and guide show does what they say, in the order of the page: in a project with a remote and a
// supervised session, with the stand-in for Claude Code. At the end of the guide ccc is gone. Each is played in one
// language: TestPages holds the commands of the other to be the same.
func TestPageCommands(t *testing.T) {
	beside(t)
	if _, err := os.Stat("/usr/bin/sha256sum"); err != nil {
		t.Skip("the commands are shown for Linux")
	}
	all := ""
	for i, locale := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
		page := manuals[i][i]
		all += readPage(t, page)
		t.Run(page, func(t *testing.T) { playPage(t, page, locale) })
	}
	for command := range notRun {
		expectIn(t, "the pages together", all, command)
	}
}

func playPage(t *testing.T, page, locale string) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG="+locale, "TASK=fix it", "GITHUB_RUN_ID=1", "GITHUB_STEP_SUMMARY="+box.home+"/summary")
	box.write("../fake/turn", 0o600, "sh echo more >>notes.txt\nDone.\n")
	box.write("../work/ccc-linux-amd64", 0o600, "the program")
	box.gitIn(box.home+"/../remote", "git init -q --bare")
	box.gitIn(box.work, `sha256sum ccc-linux-amd64 >SHA256SUMS; git init -q; git config push.default current; git add .
		git commit -qm first; git remote add origin ../remote; git push -q origin main; ccc --supervisor -p begin`)
	run := func(script string) {
		t.Helper()
		var lines []string
		for line := range strings.Lines(script) {
			if notRun[strings.TrimSpace(trailingComment.ReplaceAllString(line, ""))] == "" {
				lines = append(lines, line)
			}
		}
		if strings.Contains(script, "claude -p") { // else ccc review can't tell it from the session of a moment ago
			check(t, os.RemoveAll(box.home+"/.claude/projects"))
		}
		box.gitIn(box.work, strings.Join(lines, ""))
	}
	for _, block := range blocksOf(t, page) {
		switch block.kind {
		case "sh":
			run(block.text)
		case "yaml": // of a workflow each step
			for _, step := range regexp.MustCompile(`(?m)^ +(?:- )?run: (.*\n)`).FindAllStringSubmatch(block.text, -1) {
				run(step[1])
			}
		case "text": // typed in a session, or elsewhere
			for line := range strings.Lines(block.text) {
				if !strings.HasPrefix(line, "/supervisor") {
					run(line)
					continue
				}
				vars := slices.Clone(box.vars)
				box.inSession()
				expectIn(t, line, box.submit(strings.TrimSpace(line)).stdout, `"decision":"block"`)
				box.vars = vars
			}
		case "json": // TestPageJSON
		default:
			t.Errorf("%s has a block of %q that nothing runs", page, block.kind)
		}
	}
	if page == pages[0][0] || page == pages[0][1] {
		return
	}
	expectIn(t, "the summary of the workflow", box.read("summary"), "~~~\n", "fix it", "SUPERVISOR.md")
	for _, name := range box.files() {
		if strings.HasPrefix(name, ".claude/") {
			t.Errorf("%s: left %s", page, name)
		}
	}
}

// The JSON of the pages is what ccc, or Claude Code, reads; and each key of ccc.json is named.
func TestPageJSON(t *testing.T) {
	t.Parallel()
	for _, pair := range pages {
		for _, page := range pair {
			var examples []string
			for _, block := range blocksOf(t, page) {
				if block.kind == "json" {
					examples = append(examples, block.text)
				}
			}
			for _, code := range codeIn(t, page) {
				if strings.HasPrefix(code, `{"`) {
					examples = append(examples, code)
				} else if regexp.MustCompile(`^"\w+": `).MatchString(code) {
					examples = append(examples, "{"+code+"}")
				}
			}
			for _, example := range examples {
				var keys map[string]json.RawMessage
				if err := json.Unmarshal([]byte(example), &keys); err != nil {
					t.Errorf("%s: %s: %v", page, example, err)
				}
				if keys["hooks"] != nil || keys["type"] != nil { // of Claude Code's settings
					continue
				}
				if _, ok := keys["provider"]; ok || keys["review"] != nil || keys["observe"] != nil {
					example = `{"supervisor":` + example + `}`
				}
				if keys["providers"] == nil {
					example = `{"providers":{"kimi":{}},` + strings.TrimPrefix(example, "{")
				}
				d := dirs{ccc: t.TempDir()}
				check(t, os.WriteFile(d.configFile(), []byte(example), 0o600))
				if _, err := loadConfig(d); err != nil {
					t.Errorf("%s: %s: %v", page, example, err)
				}
			}
		}
	}
	for _, page := range manuals[1] {
		for _, of := range []reflect.Type{reflect.TypeFor[configuration](), reflect.TypeFor[supervisorConfig]()} {
			for i := range of.NumField() {
				key := of.Field(i).Tag.Get("json")
				if is := regexp.MustCompile("(?:[`\"]|supervisor\\.)" + key + "[`\"]"); !is.MatchString(readPage(t, page)) {
					t.Errorf("%s does not name %s of ccc.json", page, key)
				}
			}
		}
	}
}

// README is short, quotes what ccc says, and names its subcommands; what README and guide call in a line is one.
func TestReadme(t *testing.T) {
	for i, language := range []string{english, chinese} {
		speakIn(t, language)
		page := pages[0][i]
		readme := readPage(t, page)
		if lines, words := strings.Count(readme, "\n"), len(strings.Fields(readme)); lines > 90 || words > 750 {
			t.Errorf("%s has %d lines, %d words", page, lines, words)
		}
		for line := range strings.Lines(readme) {
			if displayWidth(line) > 111 { // with its end
				t.Errorf("%s: a line of %d columns: %s", page, displayWidth(line), line)
			}
		}
		expectIn(t, page, readme, "`"+say(reviewing)+"`", "```sh\ngo run . demo\ngo test ./...\n```", "ccc help")
		for _, c := range commands() {
			unnamed := []string{hookSubcommand, "version", "help"}
			if name := c.name; !slices.Contains(unnamed, name) && !strings.Contains(readme, "ccc "+name) {
				t.Errorf("%s does not name ccc %s", page, name)
			}
		}
		for _, page := range []string{page, manuals[1][i]} {
			for _, code := range codeIn(t, page) {
				call, ok := strings.CutPrefix(trailingComment.ReplaceAllString(code, ""), "ccc ")
				call, _, _ = strings.Cut(strings.ReplaceAll(call, " || ", " && "), " && ")
				words := strings.Fields(call)
				if !ok || len(words) == 0 || slices.Contains([]string{"--supervisor", "--", "kimi"}, words[0]) {
					continue
				}
				at := slices.IndexFunc(commands(), func(c subcommand) bool { return c.name == words[0] })
				if at < 0 {
					t.Errorf("%s has a command that ccc does not: %s", page, code)
				} else if _, err := commands()[at].parse(words[1:]); err != nil {
					t.Errorf("%s: %s: %v", page, code, err)
				}
			}
		}
	}
}

// A page says the same in both languages, as far as a program can tell: the same commands, headings, rows of tables and
// pictures. Its links lead somewhere.
func TestPages(t *testing.T) {
	t.Parallel()
	quoted := func(page string) (texts []string) { // without comments, prompts, and what goes into files
		for _, block := range blocksOf(t, page) {
			text := regexp.MustCompile(`(?ms)(<<'EOF'[^\n]*\n).*?^EOF$`).ReplaceAllString(block.text, "$1")
			isFirst := page == pages[0][0] || page == pages[0][1]                    // whose commands are not to be pasted at once
			if block.kind == "sh" && trailingComment.MatchString(text) && !isFirst { // in zsh it is arguments
				t.Errorf("%s has a comment behind a command: %s", page, text)
			}
			if block.kind != "json" {
				text = regexp.MustCompile(`"[^"$]*"|LANG: .*`).ReplaceAllString(trailingComment.ReplaceAllString(text, ""), "")
			}
			texts = append(texts, regexp.MustCompile(`"statusMessage": "[^"]*"`).ReplaceAllString(text, ""))
		}
		return texts
	}
	for _, pair := range pages {
		english, chinese := readPage(t, pair[0]), readPage(t, pair[1])
		expectIs(t, "the Chinese in "+pair[0], chineseIn(regexp.MustCompile(`中文.*`).ReplaceAllString(english, "")), "")
		expectEqual(t, pair[1]+" quotes", quoted(pair[1]), quoted(pair[0]))
		for _, line := range []string{"#", "##", "###", "|", "-", "1.", "!"} {
			if count := func(text string) int { return strings.Count(text, "\n"+line+" ") + strings.Count(text, "\n"+line+"[") }; count(english) != count(chinese) {
				t.Errorf("%s has %d lines that begin with %q, %s has %d", pair[0], count(english), line, pair[1], count(chinese))
			}
		}
		expectLinks(t, pair[0])
		expectLinks(t, pair[1])
	}
	for _, page := range []string{"RELIABILITY.md", "CHANGELOG.md", "CONTRIBUTING.md"} {
		expectLinks(t, page)
		for _, name := range regexp.MustCompile("`([a-z_]+\\.go)`").FindAllStringSubmatch(readPage(t, page), -1) {
			if _, err := os.Stat(name[1]); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// expectLinks fails the test where a link of the page leads to no file or to no heading.
func expectLinks(t *testing.T, page string) {
	t.Helper()
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(readPage(t, page), -1) {
		if strings.HasPrefix(link[1], "https://") {
			continue
		}
		file, anchor, _ := strings.Cut(link[1], "#")
		file = filepath.Join(filepath.Dir(page), cmp.Or(file, filepath.Base(page)))
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
			continue
		}
		anchors := []string{""}
		for _, title := range heading.FindAllStringSubmatch(readPage(t, file), -1) {
			title := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(title[1]), "")
			anchors = append(anchors, strings.ReplaceAll(title, " ", "-"))
		}
		if !slices.Contains(anchors, anchor) {
			t.Errorf("%s: %s has no heading %q", page, file, anchor)
		}
	}
}
