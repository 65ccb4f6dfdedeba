package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testMainVariable turns the test binary into another program: "1" is ccc, so
// that a test drives the real program through its exit; "daemon" is a process
// that leaves its session, ignores SIGTERM and lives for a minute. It is not
// named like ccc's own variables, which ccc demo keeps from its session.
const testMainVariable = "TEST_MAIN_OF_CCC"

// testManagedVariable names a file to stand for the administrator's settings.
const testManagedVariable = "TEST_MANAGED_SETTINGS"

func TestMain(m *testing.M) {
	switch os.Getenv(testMainVariable) {
	case "1":
		managedSettings = os.Getenv(testManagedVariable)
		main()
	case "daemon":
		syscall.Setsid()
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	// Under nohup, or behind an & in a script, these are ignored, and what the tests start would ignore them too.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	// Many tests wait for other processes most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	fmt.Print(&results)
	os.Exit(code)
}

// introduced is what the first prompt of a supervised session is answered with.
const introduced = "UserPromptSubmit says: [SUPERVISOR] 本会话受监督：每个请求最多审查 10 次。实时查看: ccc log -f\n"

// TestSession is a whole supervised session of the built program: launch, a
// stop that is sent back, a stop that is approved.
func TestSession(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.turns("sh cd sub\nI think it is done.", "Now it is tested.")
	box.reviews(blocks("run the <tests>"), allows(""))
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it", "--model", "m")
	if want := introduced + "I think it is done.\nStop hook feedback: run the <tests>\nNow it is tested.\n"; got.code != 0 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	state := filepath.Join(box.home, ".claude/ccc")
	wantStderr := fmt.Sprintf(`Supervisor mode enabled
[Supervisor Mode] 日志文件:
  状态目录: %[1]s
  Hook 日志: %[1]s/hook-invocation.log
  审查输出: %[1]s/supervisor-<session>-output.jsonl
查看日志: tail -f %[1]s/hook-invocation.log
`, state)
	if got.stderr != wantStderr {
		t.Errorf("stderr\n%s\nwant\n%s", got.stderr, wantStderr)
	}
	if args := strings.TrimSpace(box.read("../fake/agent-1/args")); args != "-p\nfix it\n--model\nm" {
		t.Errorf("claude got the arguments %q", args)
	}
	env := box.read("../fake/agent-1/env")
	for _, want := range []string{"CCC_SUPERVISOR=1\n", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %q", want)
		}
	}
	if prompt := box.read(".claude/SUPERVISOR.md"); prompt != defaultPrompt.zh {
		t.Errorf("SUPERVISOR.md is not the default: %.80q", prompt)
	}
	for n, want := range []string{"", "I think it is done.", "Now it is tested."} {
		if request := box.read(fmt.Sprintf("../fake/reviewer-%d/stdin", n)); !strings.Contains(request, want) || n > 0 && !strings.Contains(request, "[1] fix it") {
			t.Errorf("request %d: %s", n, request)
		}
	}
	if box.read("../fake/reviewer-3/stdin") != "" {
		t.Error("a third review ran")
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, []verdict{verdictBlock, verdictAllow}) {
		t.Errorf("verdicts %q", got)
	}
}

// The limit is ccc's, not the client's own of eight.
func TestSessionLimit(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.reviews(blocks("not yet"))
	got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	if n := strings.Count(got.stdout, "Stop hook feedback: not yet"); got.code != 0 || n != 10 || strings.Contains(got.stdout, "overriding") {
		t.Errorf("%d rejections: %+v", n, got)
	}
	if got := box.timelineVerdicts(); !slices.Equal(got, append(slices.Repeat([]verdict{verdictBlock}, 10), verdictLimit)) {
		t.Errorf("verdicts %q", got)
	}
}

func TestSessionQuestion(t *testing.T) {
	t.Parallel()
	for want, review := range map[string]fakeReview{
		"AskUserQuestion denied: use SQLite\nI chose SQLite.\n": blocks("use SQLite"),
		"DIALOG: Which database?\n":                             allows(""),
	} {
		box := newFakeBox(t)
		box.turns("ask " + strings.ReplaceAll(question, "\n", "") + "\nI chose SQLite.")
		box.reviews(review, allows(""))
		if got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it"); got.stdout != introduced+want || got.code != 0 {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestLaunch(t *testing.T) {
	const config = `{"claude_args":["--verbose"],"providers":{"kimi":{"env":{"ANTHROPIC_MODEL":"k2"},"claude_args":["--effort","high"]},"glm":{}}}`
	const supervised = "SUPERVISOR.md ccc/ settings.json"
	tests := []struct {
		name   string
		args   string // separated by blanks
		vars   string
		config string
		passed string // claude's arguments; "" means that claude was not started
		env    string // separated by blanks; ! is for what must not be there
		code   int
		stderr string // separated by |
		files  string // what is in .claude at the end, besides the ccc.json of the row; separated by blanks
	}{
		{name: "normal", args: "-p hi", passed: "-p hi", env: "!CCC_SUPERVISOR= !CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"},
		{name: "normal_by_variable", args: "-p hi", vars: "CCC_SUPERVISOR=0", passed: "-p hi"},
		{name: "odd_variable", args: "-p hi", vars: "CCC_SUPERVISOR=true", passed: "-p hi",
			stderr: "ccc: warning: CCC_SUPERVISOR is set to neither 0 nor 1, and counts as 0"},
		{name: "separator", args: "-- -p fix", passed: "-p fix"},
		{name: "separator_of_claudes", args: "-p -- fix", passed: "-p -- fix"},
		{name: "separator_version", args: "-- --version", passed: "--version"},
		{name: "separator_flag_is_claudes", args: "-- -p --supervisor hi", passed: "-p --supervisor hi", code: 1,
			stderr: "unknown option '--supervisor'"},
		{name: "supervisor_behind_separator_of_claudes", args: "-p -- --supervisor", passed: "-p -- --supervisor"},
		{name: "supervisor_behind_flag", args: "-p --supervisor hi", code: 2, stderr: "\n     write: ccc --supervisor -p hi\n"},
		{name: "supervisor_at_the_end", args: "kimi -p -- hi --supervisor", config: config,
			passed: "--verbose --effort high -p -- hi --supervisor"},
		{name: "supervisor_behind_provider_and_flag", args: "kimi --model m --supervisor -- --x", config: config, code: 2,
			stderr: "write: ccc --supervisor kimi --model m -- --x\n"},
		{name: "provider", args: "kimi -p hi", config: config, passed: "--verbose --effort high -p hi",
			env: "ANTHROPIC_MODEL=k2"},
		{name: "no_provider", args: "-p hi", config: config, passed: "--verbose -p hi", env: "!ANTHROPIC_MODEL"},
		{name: "unknown_provider", args: "kmi -p hi", config: config, code: 2,
			stderr: `"kmi" is neither a subcommand nor a provider: did you mean kimi?|glm, kimi|ccc -- kmi -p hi`},
		{name: "unknown_word", args: "fix", code: 2, stderr: `"fix"|none configured|ccc -- fix`},
		{name: "unknown_subcommand", args: "statu --json", code: 2, stderr: "did you mean status?|ccc -- statu --json\n"},
		{name: "unknown_word_supervised", args: "--supervisor mcp list", code: 2, stderr: "claude: ccc --supervisor -- mcp list\n"},
		{name: "subcommand_supervised", args: "--supervisor log -f", code: 2,
			stderr: `"log" is a subcommand, and has to stand first: ccc log -f|ccc --supervisor -- log -f`},
		{name: "second_provider_is_claudes", args: "kimi glm -p", config: config,
			passed: "--verbose --effort high glm -p"},
		{name: "supervisor", args: "--supervisor -p hi", passed: "-p hi",
			env: "CCC_SUPERVISOR=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=10", files: supervised,
			stderr: "Supervisor mode enabled\n"},
		{name: "supervisor_by_variable", args: "-p hi", vars: "CCC_SUPERVISOR=1", passed: "-p hi", files: supervised},
		{name: "supervisor_after_provider", args: "kimi --supervisor -- -p hi", config: config,
			passed: "--verbose --effort high -p hi", env: "CCC_SUPERVISOR=1 ANTHROPIC_MODEL=k2", files: supervised},
		{name: "supervisor_cap_of_the_users", args: "--supervisor -p hi",
			vars: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3", passed: "-p hi", env: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3",
			files: supervised},
		{name: "supervisor_limit", args: "--supervisor -p hi", config: `{"supervisor":{"max_iterations":20}}`,
			passed: "-p hi", env: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=20", files: supervised},
		{name: "no_claude", args: "--supervisor", vars: "CCC_CLAUDE=no-such-claude", code: 127,
			stderr: "exec: \"no-such-claude\"|unset CCC_CLAUDE; command -v claude || npm install -g @anthropic-ai/claude-code"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newFakeBox(t)
			box.vars = append(box.vars, strings.Fields(test.vars)...)
			if test.config != "" {
				box.write(".claude/ccc.json", 0o600, test.config)
			}
			got := box.run(30*time.Second, "", append([]string{"ccc"}, strings.Fields(test.args)...)...)
			if got.code != test.code {
				t.Errorf("got %+v, want exit %d", got, test.code)
			}
			for want := range strings.SplitSeq(test.stderr, "|") {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
				}
			}
			call := "refused-1"
			if test.code == 0 {
				call = "version-1"
			}
			if box.read("../fake/agent-1/env") != "" {
				call = "agent-1"
			}
			if passed := strings.Join(strings.Fields(box.read("../fake/"+call+"/args")), " "); passed != test.passed {
				t.Errorf("claude got %q, want %q", passed, test.passed)
			}
			env := "\n" + box.read("../fake/"+call+"/env")
			for _, want := range strings.Fields(test.env) {
				name, unwanted := strings.CutPrefix(want, "!")
				if strings.Contains(env, "\n"+name) == unwanted || strings.Count(env, "\n"+strings.SplitAfter(name, "=")[0]) > 1 {
					t.Errorf("environment: want %s", want)
				}
			}
			var files []string
			entries, _ := os.ReadDir(filepath.Join(box.home, ".claude"))
			for _, entry := range entries {
				name := entry.Name()
				if slices.Contains([]string{"projects", ".ccc.lock", ".ccc-installed.json", "commands"}, name) {
					continue
				}
				if entry.IsDir() {
					name += "/"
				}
				files = append(files, name)
			}
			want := strings.Fields(test.files)
			if test.config != "" {
				want = append(want, "ccc.json")
			}
			slices.Sort(files)
			slices.Sort(want)
			if !slices.Equal(files, want) {
				t.Errorf("files %q, want %q", files, want)
			}
		})
	}
}

func TestLaunchOutput(t *testing.T) {
	box := newFakeBox(t)
	for _, value := range []string{"", "0", "1"} {
		if got := box.run(30*time.Second, "", "env", "CCC_SUPERVISOR="+value, "ccc", "-p", "hi"); got.code != 0 || strings.Contains(got.stderr, "warning") {
			t.Errorf("CCC_SUPERVISOR=%s: %+v", value, got)
		}
	}
	// What ccc says at launch must not come between claude and a pipe.
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "--output-format", "json", "hi")
	if _, err := parseJSON([]byte(got.stdout)); err != nil {
		t.Errorf("stdout is not claude's JSON alone: %v\n%s", err, got.stdout)
	}
}

// Help and version are asked for as of every program, behind --supervisor too.
func TestHelp(t *testing.T) {
	box := newFakeBox(t)
	for line, want := range map[string]string{
		"--help": "usage:\n  ccc [--supervisor] ", "-h": "usage:\n", "help": "usage:\n", "--supervisor --help": "usage:\n", "--supervisor help": "usage:\n",
		"help --help": "usage: ccc help ", "--help -h": "usage: ccc help ",
		"--version": "ccc ", "-v": "ccc ", "version": "ccc ", "--supervisor --version": "ccc ", "--supervisor -v": "ccc ",
	} {
		got := box.run(10*time.Second, "", append([]string{"ccc"}, strings.Fields(line)...)...)
		if !strings.HasPrefix(got.stdout, want) || got.stderr != "" || got.code != 0 {
			t.Errorf("%s: %+v", line, got)
		}
		for _, c := range commands() {
			if want == "usage:\n" && !strings.Contains(got.stdout, "\n  ccc "+c.usage()) {
				t.Errorf("%s lacks %s", line, c.name)
			}
		}
	}
	if files := box.files(); len(files) > 0 {
		t.Errorf("files %q", files)
	}
}

// Of every subcommand: --help and `ccc help NAME` print its part on stdout; a wrong call is an error of six lines at
// most that ends with that part.
func TestUsage(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	for _, c := range commands() {
		part := "usage: ccc " + c.usage()
		for _, args := range [][]string{{c.name, "--help"}, {c.name, "-h"}, {"help", c.name}, {"--help", c.name}} {
			if got := box.run(10*time.Second, "", append([]string{"ccc"}, args...)...); got.stdout != part || got.stderr != "" || got.code != 0 {
				t.Errorf("%q: %+v", args, got)
			}
		}
		code := 2
		if c.name == hookSubcommand {
			code = 1
		}
		got := box.run(10*time.Second, "", "ccc", c.name, "--nonsense")
		if got.code != code || got.stdout != "" || strings.Count(got.stderr, "\n") > 6 || !strings.HasSuffix(got.stderr, part) || !strings.Contains(got.stderr, "-nonsense") {
			t.Errorf("%s --nonsense: %+v", c.name, got)
		}
	}
	if got := box.run(10*time.Second, "", "ccc", "help", "statu"); got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, `no subcommand "statu"`) {
		t.Errorf("help statu: %+v", got)
	}
}

func TestParse(t *testing.T) {
	c := command{name: "x", flags: []string{"-f", "--json", "--dir DIR"}, operands: "[A] [B]"}
	all := command{name: "y", flags: []string{"--dir DIR"}, operands: "A [B...]"}
	for _, test := range []struct {
		command command
		line    string
		want    string // flags and operands; "" for an error
	}{
		{c, "", "map[] []"},
		{c, "-f a --json b", "map[--json:true -f:true] [a b]"},
		{c, "--dir d a --dir=e", "map[--dir:e] [a]"},
		{c, "a -- -f", "map[] [a -f]"},
		{c, "-- --help", "map[] [--help]"},
		{c, "a b c", ""},
		{c, "--nonsense", ""},
		{c, "a --dir", ""},
		{all, "--dir d a --dir e -- -x", "map[--dir:d] [a --dir e -- -x]"},
		{all, "-- --dir e", "map[] [--dir e]"},
	} {
		got := ""
		call, err := test.command.parse(strings.Fields(test.line))
		if err == nil {
			got = fmt.Sprint(call.flags, call.operands)
		}
		if got != test.want {
			t.Errorf("%s %s: %s, %v, want %s", test.command.name, test.line, got, err, test.want)
		}
	}
}

// A first word with white space in it is a prompt, and the lines that ccc proposes work as they stand.
func TestLaunchPrompt(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"fix the bug", "fix\nit", "修复\u3000它"} {
		for _, args := range [][]string{{prompt}, {"--supervisor", prompt}, {prompt, "-p"}, {"--supervisor", "--", prompt}} {
			box := newFakeBox(t)
			got := box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
			if passed := box.read("../fake/agent-1/args"); got.code != 0 || !strings.HasPrefix(passed, prompt+"\n") ||
				strings.Contains(got.stderr, "Supervisor mode enabled") != (args[0] == "--supervisor") {
				t.Errorf("%q: claude got %q: %+v", args, passed, got)
			}
		}
	}
	for _, args := range [][]string{{"fix it", "--supervisor"}, {"-p", "fix it", "--supervisor"}, {"--supervisor", "it's"}, {"-p", "--supervisor", "--", "it's"}} {
		box := newFakeBox(t)
		got := box.run(30*time.Second, "", append([]string{"ccc"}, args...)...)
		_, line, proposed := strings.Cut(strings.TrimSpace(got.stderr), ": ccc --supervisor ")
		if got.code != 2 || strings.Count(got.stderr, "\n") != 2 || !proposed {
			t.Fatalf("%q: %+v", args, got)
		}
		got = box.run(30*time.Second, "", "sh", "-c", "ccc --supervisor "+line)
		if passed := box.read("../fake/agent-1/args"); got.code != 0 || !strings.Contains(passed, "fix it\n") && !strings.Contains(passed, "it's\n") || !strings.Contains(got.stderr, "Supervisor mode enabled") {
			t.Errorf("%s: claude got %q: %+v", line, passed, got)
		}
	}
}

// Relative directories in the environment mean the same in the hook, which runs
// elsewhere.
func TestLaunchPlaces(t *testing.T) {
	t.Parallel()
	box := newFakeBox(t)
	box.vars = append(box.vars, "CCC_CONFIG_DIR=conf", "CLAUDE_CONFIG_DIR=claude", "CCC_CLAUDE=../bin/claude")
	os.Mkdir(filepath.Join(box.work, "sub"), 0o700)
	box.turns("sh cd sub\nDone.")
	box.reviews(blocks("not yet"), allows(""))
	got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	if got.code != 0 || !strings.Contains(got.stdout, "Stop hook feedback: not yet") {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"claude/settings.json", "conf/SUPERVISOR.md", "conf/ccc/hook-invocation.log"} {
		if _, err := os.Stat(filepath.Join(box.work, name)); err != nil {
			t.Error(err)
		}
	}
	filepath.WalkDir(filepath.Join(box.work, "sub"), func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			t.Errorf("%s was written", path)
		}
		return nil
	})
	if files := box.files(); len(files) != 0 {
		t.Errorf("written in the home: %q", files)
	}
}

// pages are what people read about ccc, each in English and in Chinese.
var pages = [][2]string{
	{"README.md", "README-CN.md"}, {"docs/cost.md", "docs/cost-CN.md"}, {"docs/benchmarks.md", "docs/benchmarks-CN.md"},
	{"docs/comparison.md", "docs/comparison-CN.md"}, {"docs/versions.md", "docs/versions-CN.md"},
}

// Both READMEs quote what ccc says in their language, and name its subcommands and the test command.
func TestReadme(t *testing.T) {
	const state = "/home/you/.claude/ccc"
	for i, language := range []string{english, chinese} {
		speakIn(t, language)
		readme := readPage(t, pages[0][i])
		for _, said := range []string{say(announcement, state, state+"/hook-invocation.log", state+"/supervisor-<session>-output.jsonl",
			state+"/hook-invocation.log"), "[SUPERVISOR] " + say(introduction, count(10, reviews), ""), "`" + say(reviewing) + "`", "```sh\ngo test ./...\n```"} {
			if !strings.Contains(readme, said) {
				t.Errorf("%s lacks: %s", pages[0][i], said)
			}
		}
		_, example, _ := strings.Cut(readme, "```json\n")
		example, _, _ = strings.Cut(example, "```")
		d := dirs{ccc: t.TempDir()}
		os.WriteFile(d.configFile(), []byte(example), 0o600)
		if c, err := loadConfig(d); err != nil || len(c.Providers) != 2 {
			t.Errorf("the example of ccc.json in %s: %+v, %v", pages[0][i], c, err)
		}
		for _, c := range commands() {
			if c.name != hookSubcommand && c.name != "version" && c.name != "help" && !strings.Contains(readme, "ccc "+c.name) {
				t.Errorf("%s does not name ccc %s", pages[0][i], c.name)
			}
		}
		for _, match := range regexp.MustCompile("(?m)`ccc ([a-z-]+)[^`]*` \\|").FindAllStringSubmatch(readme, -1) {
			if !isSubcommand(match[1]) {
				t.Errorf("%s has a command that ccc does not: %s", pages[0][i], match[1])
			}
		}
	}
}

// A page says the same in both languages, as far as a program can tell: the same commands, headings, rows of tables and
// links; and its links lead somewhere.
func TestPages(t *testing.T) {
	fenced := regexp.MustCompile("(?ms)^```(sh|json)$.*?^```$")
	for _, pair := range pages {
		english, chinese := readPage(t, pair[0]), readPage(t, pair[1])
		if found := chineseIn(regexp.MustCompile(`(?m)^中文.*$`).ReplaceAllString(english, "")); found != "" {
			t.Errorf("%s holds Chinese: %s", pair[0], found)
		}
		if !slices.Equal(fenced.FindAllString(english, -1), fenced.FindAllString(chinese, -1)) {
			t.Errorf("%s and %s differ in what they quote", pair[0], pair[1])
		}
		for _, line := range []string{"#", "##", "###", "|", "-", "1.", "!"} {
			if count := func(text string) int { return strings.Count(text, "\n"+line+" ") + strings.Count(text, "\n"+line+"[") }; count(english) != count(chinese) {
				t.Errorf("%s has %d lines that begin with %q, %s has %d", pair[0], count(english), line, pair[1], count(chinese))
			}
		}
		for _, page := range pair {
			expectLinks(t, page)
		}
	}
	for _, page := range []string{"RELIABILITY.md", "CHANGELOG.md"} {
		expectLinks(t, page)
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

// The table of versions is the result of a whole run: each test, each version, and nothing failed.
func TestVersionsListed(t *testing.T) {
	versions, err := pinnedClients()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"docs/versions.md", "docs/versions-CN.md"} {
		text := readPage(t, page)
		if !strings.Contains(text, "\n| | "+strings.Join(versions, " | ")+" |\n") || strings.Contains(text, "✗") {
			t.Errorf("%s: the table is not that of %q", page, versions)
		}
		for _, test := range realClientTests(t) {
			if !strings.Contains(text, "\n| "+inWords(test)+" | ") {
				t.Errorf("%s: the table lacks %q", page, inWords(test))
			}
		}
	}
}

// realClientTests lists the tests that TestRealClient selects, without that part
// of their names.
func realClientTests(t *testing.T) (tests []string) {
	files, _ := filepath.Glob("*_test.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func TestRealClient(\w+)`).FindAllSubmatch(text, -1) {
			tests = append(tests, string(match[1]))
		}
	}
	return tests
}
