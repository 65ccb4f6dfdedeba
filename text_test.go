package main

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// speakIn makes the process of the test speak a language until the test ends, which runs beside no other.
func speakIn(t *testing.T, language string) {
	t.Helper()
	alone(t)
	was := lang
	lang = language
	t.Cleanup(func() { lang = was })
}

// chineseIn returns the first Chinese character or punctuation mark of text with
// what is around it, "" for none.
func chineseIn(text string) string {
	runes := []rune(text)
	for i, r := range runes {
		if unicode.Is(unicode.Han, r) || r >= 0x3000 && r < 0x3040 || r >= 0xff00 && r < 0xffef {
			return string(runes[max(0, i-60):min(len(runes), i+60)])
		}
	}
	return ""
}

// ccc.json comes before the locale, LC_ALL before LC_MESSAGES before LANG; an
// empty variable counts as none.
func TestLanguage(t *testing.T) {
	speakIn(t, lang)
	for _, test := range []struct{ config, vars, want string }{
		{"", "LANG=", chinese},
		{"", "LANG=C.UTF-8", chinese},
		{"", "LANG=zh_CN.UTF-8", chinese},
		{"", "LANG=en_US.UTF-8", english},
		{"", "LANG=zh_CN.UTF-8 LC_MESSAGES=en_US.UTF-8", english},
		{"", "LANG=zh_CN.UTF-8 LC_MESSAGES=zh_CN.UTF-8 LC_ALL=en_GB.UTF-8", english},
		{`{"language":"en"}`, "LANG=zh_CN.UTF-8", english},
		{`{"language":"zh"}`, "LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8", chinese},
		{`{"language":"en","nonsense":1}`, "LANG=zh_CN.UTF-8", chinese}, // broken: the locale
	} {
		for _, name := range []string{"LANG", "LC_ALL", "LC_MESSAGES"} {
			t.Setenv(name, "")
		}
		for _, v := range strings.Fields(test.vars) {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		d := dirs{ccc: t.TempDir()}
		check(t, os.WriteFile(d.configFile(), []byte(cmp.Or(test.config, "{}")), 0o600))
		c, _ := loadConfig(d)
		if c.use(nil); lang != test.want {
			t.Errorf("%s %s: %s, want %s", test.config, test.vars, lang, test.want)
		}
	}
}

// What ccc says in Chinese stands in text.go, text_review.go and the Chinese prompt. What it
// reads may stand elsewhere: punctuation, words for on, off, yes and no, and names of secrets.
func TestLanguageInOnePlace(t *testing.T) {
	reads := []string{"verdict_words.go", "screen.go", "redact.go", "text.go", "text_review.go"}
	for _, path := range append(slices.Clone(house), "supervisor_prompt_default_en.md") {
		text, err := os.ReadFile(path)
		check(t, err)
		if found := chineseIn(string(text)); found != "" && !slices.Contains(reads, path) {
			t.Errorf("%s holds Chinese: %s", path, found)
		}
	}
}

// verbs returns what fmt fills in: for each value, by its number, how.
func verbs(text string) map[int]string {
	found, next := map[int]string{}, 1
	verbs := regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*[\d.]*([a-zA-Z])`)
	for _, verb := range verbs.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(verb[1]); err == nil {
			next = n
		}
		found[next] = verb[2]
		next++
	}
	return found
}

// No text is empty or in the wrong language; both languages fill in the same values, and every caller gives
// as many.
func TestWords(t *testing.T) {
	given, texts, calls := map[string]map[int]string{}, 0, 0
	var source []byte
	name := ""
	read := func(node ast.Node) {
		switch n := node.(type) {
		case *ast.ValueSpec:
			name = n.Names[0].Name
		case *ast.CompositeLit:
			kind, _ := n.Type.(*ast.Ident)
			isOther := n.Type != nil && (kind == nil || kind.Name != "words")
			if isOther || name == "defaultPrompt" {
				return // a list of texts, or files, in which nothing is filled in
			}
			text := func(i int) string {
				code := string(source[n.Elts[i].Pos()-1 : n.Elts[i].End()-1])
				value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, code)
				if err != nil {
					t.Fatal(name, err)
				}
				return constant.StringVal(value.Value)
			}
			zh, en := text(0), text(1)
			texts++
			given[name] = verbs(zh)
			if zh == "" || en == "" || chineseIn(en) != "" || !maps.Equal(verbs(zh), verbs(en)) {
				t.Errorf("%s: one is empty, not in its language, or has other verbs: %q, %q", name, zh, en)
			}
		}
	}
	for _, path := range []string{"text.go", "text_review.go"} {
		var err error
		source, err = os.ReadFile(path)
		check(t, err)
		inspect(t, path, read)
	}
	for _, path := range house {
		inspect(t, path, func(node ast.Node) {
			if call, isCall := node.(*ast.CallExpr); isCall {
				if f, _ := call.Fun.(*ast.Ident); f != nil && f.Name == "say" {
					calls++
					text, _ := call.Args[0].(*ast.Ident)
					if text == nil {
						text = &ast.Ident{}
					}
					if want, isText := given[text.Name]; isText && len(want) != len(call.Args)-1 {
						t.Errorf("%s: say(%s) has %d, want %d", path, text.Name, len(call.Args)-1, len(want))
					}
				}
			}
		})
	}
	if texts < 100 || calls < 80 {
		t.Errorf("only %d texts and %d calls were found", texts, calls)
	}
}

// inspect goes over all that a file of source holds.
func inspect(t *testing.T, path string, look func(ast.Node)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	check(t, err)
	ast.Inspect(file, func(node ast.Node) bool { look(node); return true })
}

// Claude Code wraps at blanks only what it shows of a hook: each sentence of a Chinese message is a line.
func TestWordsByLine(t *testing.T) {
	for _, text := range []words{introduction, introducedNoCopy, introducedForeign, introducedLog,
		reviewFailed, adviceContinue, adviceLog, adviceCompact, earlierCancelled, questionUnreviewed,
		questionAnswered, reviewersAnswer, answerYourself, limitQuestion, limitStop, feedbackStillOpen,
		leftToUser, modeIs, modeHow, modeUnclear, modeNotForAgent, modeFailed, switchedOn, switchedOff,
		switchedOnObserved, switchedToObserve, switchHolds, observedFeedback, introductionObserved} {
		for line := range strings.Lines(text.zh) {
			if strings.Contains(strings.TrimSuffix(strings.TrimSpace(line), "。"), "。") {
				t.Errorf("more than a sentence: %s", line)
			}
			if columns := displayWidth(strings.TrimSpace(line)); columns > 75 { // Claude Code indents by five
				t.Errorf("%d columns: %s", columns, line)
			}
		}
	}
}

// A text without values may have a percent sign.
func TestSayPercent(t *testing.T) {
	expectIs(t, "what is said", say(words{"100%", "100%"}), "100%")
}
