package main

// The documents: what they show runs, what they link to is there, and both languages say the same.
//
// The format for programs: what log, status and review print with --json has the members that its types have,
// and each of these is documented in both guides.

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// pages are what people read about ccc, each in English and in Chinese.
var pages = [][2]string{
	{"README.md", "README-CN.md"}, {"docs/guide.md", "docs/guide-CN.md"},
}

// notRun are the commands of these pages that TestPageCommands does not run, each with the reason.
var notRun = map[string]string{
	"git clone URL ccc && cd ccc && go install .": "it needs the network and compiles; .ci/release does that",
	"cd your-project": "the page is played in one",
	"go run . demo":   ".ci/run has this line of README.md",
	"go test ./...":   ".ci/run has this line of README.md",
	"ccc log -f":      "it never ends: TestLogFollow",
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
	block := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	for _, match := range block.FindAllStringSubmatch(readPage(t, page), -1) {
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

// Each command that README and guide show does what they say, in the order of the page: in a project with a
// remote and a supervised session, with the stand-in for Claude Code. At the end of the guide ccc is gone.
// Each is played in one language: TestPages holds the commands of the other to be the same.
func TestPageCommands(t *testing.T) {
	beside(t)
	if _, err := os.Stat("/usr/bin/sha256sum"); err != nil {
		t.Skip("the commands are shown for Linux")
	}
	all := ""
	for i, locale := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
		page := pages[i][i]
		all += readPage(t, page)
		t.Run(page, func(t *testing.T) { playPage(t, page, locale) })
	}
	for command := range notRun {
		expectIn(t, "the pages together", all, command)
	}
}

func playPage(t *testing.T, page, locale string) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG="+locale)
	box.write("../fake/turn", 0o600, "sh echo more >>notes.txt\nDone.\n")
	box.write("../work/ccc-linux-amd64", 0o600, "the program")
	box.gitIn(box.home+"/../remote", "git init -q --bare")
	box.gitIn(box.work, `sha256sum ccc-linux-amd64 >SHA256SUMS
		git init -q; git config push.default current; git add .; git commit -qm first
		git remote add origin ../remote; git push -q origin main; ccc --supervisor -p begin`)
	for _, block := range blocksOf(t, page) {
		switch block.kind {
		case "sh":
			var lines []string
			for line := range strings.Lines(block.text) {
				if notRun[strings.TrimSpace(trailingComment.ReplaceAllString(line, ""))] == "" {
					lines = append(lines, line)
				}
			}
			// Else ccc review can't tell the next session from the one of a moment ago.
			if strings.Contains(block.text, "claude -p") {
				check(t, os.RemoveAll(box.home+"/.claude/projects"))
			}
			box.gitIn(box.work, strings.Join(lines, ""))
		case "json": // TestPageJSON
		default:
			t.Errorf("%s has a block of %q that nothing runs", page, block.kind)
		}
	}
	if slices.Contains(pages[0][:], page) {
		return
	}
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
	for _, page := range pages[1] {
		for _, key := range defaultConfig().keys() {
			expectIn(t, page, readPage(t, page), "`"+key.path+"`")
		}
	}
}

// README and guide are short. README shows the six commands to begin with, and quotes what ccc says; what it
// or the guide calls in a line is a command of ccc's.
func TestReadme(t *testing.T) {
	for i, language := range []string{english, chinese} {
		speakIn(t, language)
		page := pages[0][i]
		readme := readPage(t, page)
		lines, ofGuide := strings.Count(readme, "\n"), strings.Count(readPage(t, pages[1][i]), "\n")
		isShort := lines <= 75 && len(strings.Fields(readme)) <= 600 && ofGuide <= 320
		expectIs(t, page+" and its guide are short", isShort, true)
		expectIn(t, page, readme, "`"+say(reviewing)+"`", "ccc help",
			"```sh\ngo run . demo\ngo test ./...\n```")
		first := trailingComment.ReplaceAllString(blocksOf(t, page)[0].text, "")
		expectIs(t, page+": the first commands", first, "git clone URL ccc && cd ccc && go install .\n"+
			"ccc demo\nccc doctor\ncd your-project\nccc review\nccc --supervisor\nccc log -f\n")
		for _, page := range []string{page, pages[1][i]} {
			for _, code := range codeIn(t, page) {
				call, isCall := strings.CutPrefix(code, "ccc ")
				word, _, _ := strings.Cut(call, " ")
				isKnown := slices.Contains(append(subcommands, "--supervisor", "--", "kimi"), word)
				if isCall && !isKnown {
					t.Errorf("%s has a command that ccc does not: %s", page, code)
				}
			}
		}
	}
}

// A page says the same in both languages, as far as a program can tell: the same commands, headings, rows of
// tables and pictures. Its links lead somewhere.
func TestPages(t *testing.T) {
	t.Parallel()
	quoted := func(page string) (texts []string) { // without comments and prompts
		for _, block := range blocksOf(t, page) {
			text := block.text
			// In zsh a comment is arguments; the commands of the first page are not to be pasted at once.
			isFirst := slices.Contains(pages[0][:], page)
			if block.kind == "sh" && trailingComment.MatchString(text) && !isFirst {
				t.Errorf("%s has a comment after a command: %s", page, text)
			}
			if block.kind != "json" {
				text = regexp.MustCompile(trailingComment.String()+`|"[^"$]*"`).ReplaceAllString(text, "")
			}
			texts = append(texts, regexp.MustCompile(`"statusMessage": "[^"]*"`).ReplaceAllString(text, ""))
		}
		return texts
	}
	for _, pair := range pages {
		english, chinese := readPage(t, pair[0]), readPage(t, pair[1])
		withoutLink := regexp.MustCompile(`中文.*`).ReplaceAllString(english, "")
		expectIs(t, "the Chinese in "+pair[0], chineseIn(withoutLink), "")
		expectEqual(t, pair[1]+" quotes", quoted(pair[1]), quoted(pair[0]))
		for _, line := range []string{"#", "##", "###", "|", "-", "1.", "!"} {
			count := func(text string) int {
				return strings.Count(text, "\n"+line+" ") + strings.Count(text, "\n"+line+"[")
			}
			expectIs(t, pair[1]+": lines that begin with "+line, count(chinese), count(english))
		}
		expectLinks(t, pair[0])
		expectLinks(t, pair[1])
	}
	for _, page := range []string{"RELIABILITY.md", "docs/faults.md", "CHANGELOG.md", "CONTRIBUTING.md"} {
		expectLinks(t, page)
		for _, m := range regexp.MustCompile("`(\\w+\\.go)`").FindAllStringSubmatch(readPage(t, page), -1) {
			if _, err := os.Stat(m[1]); err != nil {
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

// A logLine is a line of ccc log --json.
type logLine struct {
	Session string `json:"session_id"`
	entry
}

// addMembers adds the members of a type's JSON by their paths, as in review.seen.tree; true are those that
// have no members of their own.
func addMembers(all map[string]bool, of reflect.Type, under string) (isPlain bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return true
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			addMembers(all, field.Type, under)
		case name != "":
			all[under+name] = addMembers(all, field.Type, under+name+".")
		}
	}
	return false
}

// Both guides list each member of the lines for programs, and no other. A path may be listed by its end.
func TestFormat(t *testing.T) {
	isOne := func(name, other string) bool {
		name, other = "."+name, "."+strings.Replace(other, "runs.", "step.", 1)
		return strings.HasSuffix(name, other) || strings.HasSuffix(other, name)
	}
	ofLog, members := map[string]bool{}, map[string]bool{}
	addMembers(ofLog, reflect.TypeFor[logLine](), "")
	for _, of := range []reflect.Type{reflect.TypeFor[summary](), reflect.TypeFor[reviewOfSession]()} {
		addMembers(members, of, "")
	}
	maps.Copy(members, ofLog)
	for _, page := range pages[1] {
		for end, members := range map[string]map[string]bool{"\n### ": ofLog, "\n## ": members} {
			_, text, _ := strings.Cut(readPage(t, page), "\n### `ccc log --json`")
			text, _, _ = strings.Cut(text, end)
			var listed []string
			for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(text, -1) {
				for _, code := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
					listed = append(listed, code[1])
					isMember := func(member string) bool { return isOne(code[1], member) }
					is := slices.ContainsFunc(slices.Collect(maps.Keys(members)), isMember)
					expectIs(t, page+" lists a member: "+code[1], is, true)
				}
			}
			for member, isPlain := range members {
				isListed := slices.ContainsFunc(listed, func(name string) bool { return isOne(name, member) })
				expectIs(t, page+" lists "+member, isListed || !isPlain, true)
			}
		}
	}
}
