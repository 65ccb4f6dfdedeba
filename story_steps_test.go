package main

// The steps of a story: each form, and how it is played.

import (
	"bytes"
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
	"syscall"
	"testing"
	"time"
)

// A storySession is a session of Claude Code. Its name is one letter.
type storySession struct {
	id      string
	here    string // the directory of its agent
	said    string // the agent's last words, "" after anything else
	entries int    // in its transcript
	last    string // the id of the last of them
	isPlain bool   // ccc has no hooks there
	job     string // of one in the background: its directory
	running *storyCommand
}

// A storyCommand is one that runs.
type storyCommand struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// What can be wanted of a step that runs a hook, and of one that runs a command.
const (
	ofHook    = "stdout message stderr exit shown paths lines log"
	ofCommand = "stdout stderr exit shown paths lines log"
)

// A storyStep is a form of a step, what can be wanted of it, and how it is played. The first word that the form finds is
// the letter of the session a.
type storyStep struct {
	form   func() *regexp.Regexp
	prints string
	play   func(s *storyRun, a *storySession, words []string)
}

func form(text string) func() *regexp.Regexp { return lazyRegexp("^" + text + "$") }

var storySteps = []storyStep{
	{form(`(outside git)`), "", func(s *storyRun, _ *storySession, _ []string) {
		check(s.t, os.RemoveAll(filepath.Join(s.work, ".git")))
	}},
	{form(`env (\w+=.*)`), "", func(s *storyRun, _ *storySession, words []string) { s.env = append(s.env, words[0]) }},
	{form(`the reviewer: (.*)`), "", func(s *storyRun, _ *storySession, words []string) { s.answer("review", words[0]) }},
	{form(`\$ (.*)`), ofCommand, func(s *storyRun, _ *storySession, words []string) {
		s.end(s.begin(s.work, "", s.env, "sh", "-c", words[0]))
	}},
	{form(`([A-Z]) prompt: (.*)`), ofHook, (*storyRun).prompt},
	{form(`([A-Z]) (writes|adds) (\S+): (.*)`), "", (*storyRun).writes},
	{form(`([A-Z]) runs: (.*)`), ofCommand, func(s *storyRun, a *storySession, words []string) {
		s.calls(a, "Bash", `{"command":`+inQuotes(words[1])+`}`)
		asTool := append(slices.Clone(s.env), "CLAUDECODE=1", fmt.Sprint("CLAUDE_PID=", os.Getpid()))
		s.end(s.begin(a.here, "", asTool, "sh", "-c", words[1]))
	}},
	{form(`([A-Z]) says: (.*)`), "", func(s *storyRun, a *storySession, words []string) { s.says(a, words[1]) }},
	{form(`([A-Z]) (queues|takes back): (.*)`), "", (*storyRun).queues},
	{form(`([A-Z]) starts: (\w+)`), ofHook, func(s *storyRun, a *storySession, words []string) {
		s.hook(a, "", eventStart, `"source":`+inQuotes(words[1]))
	}},
	{form(`([A-Z]) stops(?: while (\w+ \w+(?: and \w+ \w+)*) works?)?(?:; the reviewer: (.+))?`), ofHook, (*storyRun).stop},
	{form(`([A-Z]) asks "(.*?)"(?:; the reviewer: (.+))?`), ofHook, func(s *storyRun, a *storySession, words []string) {
		input := `{"questions":[{"question":` + inQuotes(words[1]) + `,"header":"Q","multiSelect":false,"options":[]}]}`
		s.hook(a, words[2], eventPreToolUse, `"tool_name":"AskUserQuestion","tool_use_id":"q","tool_input":`+input)
	}},
	{form(`([A-Z]) by hand; the reviewer: (.+)`), ofCommand, func(s *storyRun, a *storySession, words []string) {
		s.reviewed(a, words[1], func() *storyCommand { return s.begin(a.here, "", s.env, "ccc", "review", a.id) })
	}},
	{form(`([A-Z])'s reviewer: (.*)`), ofHook, func(s *storyRun, a *storySession, words []string) {
		s.answer("verdict-"+a.id, words[1])
		s.endRunning(a, words[0], func(*exec.Cmd) { s.write("../fake/go-"+a.id, 0o600, "") })
	}},
	{form(`([A-Z]): Esc`), ofHook, func(s *storyRun, a *storySession, words []string) {
		s.endRunning(a, words[0], func(c *exec.Cmd) { check(s.t, c.Process.Signal(syscall.SIGTERM)) })
	}},
	{form(`([A-Z]) goes to (\S+)`), "", func(s *storyRun, a *storySession, words []string) {
		a.here = filepath.Join(s.work, words[1])
	}},
	{form(`([A-Z]) is (plain|supervised)`), "", func(_ *storyRun, a *storySession, words []string) {
		a.isPlain = words[1] == "plain"
	}},
	{form(`([A-Z]) is a (fork|move|background fork) of ([A-Z])`), "", (*storyRun).fork},
	{form(`([A-Z]) is a background session`), "", func(s *storyRun, a *storySession, _ []string) { a.job = s.jobOf(a, "") }},
}

// prepare writes the story's files, and makes the project a repository with one commit, of an hour ago. A name that begins
// with ~/ is one of the home's.
func (s *storyRun) prepare(files string) {
	s.vars = append(s.vars, "LANG=en_US.UTF-8", "TZ=UTC", "COLUMNS=100", "GIT_TEMPLATE_DIR=")
	s.write(".gitconfig", 0o600, "[user]\nname = u\nemail = u@example.com\n[init]\ndefaultBranch = main\n"+
		"[maintenance]\nauto = false\n[protocol \"file\"]\nallow = always\n[advice]\ndetachedHead = false\n")
	for file := range strings.SplitSeq(files, "\n-- ") {
		name, text, isFile := strings.Cut(file, " --\n")
		home, isHome := strings.CutPrefix(name, "~/")
		switch {
		case isHome:
			s.write(home, 0o600, text)
		case isFile:
			s.write(filepath.Join("../work", name), 0o600, text)
		case file != "":
			s.fault = fmt.Errorf("%q: it has no name between \"-- \" and \" --\"", strings.TrimSpace(file))
		}
	}
	s.repository()
}

// session returns the session of a letter, which begins with that; nil if it is none.
func (s *storyRun) session(letter string) *storySession {
	if len(letter) != 1 || letter < "A" || letter > "Z" {
		return nil
	}
	a := s.sessions[letter]
	if a == nil {
		hex := strings.Repeat(fmt.Sprintf("%x", letter), 6)
		a = &storySession{id: hex[:8] + "-" + hex[:4] + "-4000-8000-" + hex, here: s.work}
		s.sessions[letter] = a
		s.env = append(s.env, letter+"="+a.id)
		check(s.t, os.MkdirAll(filepath.Dir(s.transcript(a)), 0o700))
	}
	return a
}

// transcript is the path of the session's.
func (s *storyRun) transcript(a *storySession) string {
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(s.work, "-")
	return filepath.Join(s.home, ".claude/projects", folder, a.id+".jsonl")
}

// add adds an entry with these members and blocks, which are JSON, to the session's transcript.
func (s *storyRun) add(a *storySession, role, members, blocks string) {
	parent := "null"
	if a.last != "" {
		parent = inQuotes(a.last)
	}
	a.entries++
	a.last = fmt.Sprint(a.id, a.entries)
	a.said = ""
	line := fmt.Sprintf(`{"parentUuid":%s,"uuid":%q,"timestamp":%q,"cwd":%q,"sessionId":%q,"version":"2.1.332",`+
		`"type":%q,%s"message":{"role":%q,"model":"m-1","content":[%s]}}`+"\n",
		parent, a.last, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), a.here, a.id, role, members, role, blocks)
	check(s.t, appendFile(s.transcript(a), []byte(line)))
}

// fork makes the session one that goes on from another: a fork, one that Claude Code has moved to the background, or has
// forked there.
func (s *storyRun) fork(a *storySession, words []string) {
	of := s.session(words[2])
	text, err := os.ReadFile(s.transcript(of))
	check(s.t, err)
	check(s.t, os.WriteFile(s.transcript(a), text, 0o600))
	a.entries = of.entries
	a.last = of.last
	switch words[1] {
	case "move": // seen on 2.1.280 and 2.1.332, as the member of a job below
		line := fmt.Sprintf(`{"type":"continued-in","sessionId":%q,"continuedInSessionId":%q}`+"\n", of.id, a.id)
		check(s.t, appendFile(s.transcript(of), []byte(line)))
		a.job = s.jobOf(a, "")
	case "background fork":
		a.job = s.jobOf(a, of.id)
	}
}

// jobOf makes the directory of a background session, which was forked from that one, "" for none.
func (s *storyRun) jobOf(a *storySession, parent string) (dir string) {
	dir = filepath.Join(s.home, ".claude/jobs", a.id[:8])
	s.write(".claude/jobs/"+a.id[:8]+"/state.json", 0o600, fmt.Sprintf(`{"sessionId":%q,"forkParentSessionId":%q}`, a.id, parent))
	return dir
}

// queues has the user type something that waits in Claude Code's queue, or take it back with Up.
func (s *storyRun) queues(a *storySession, words []string) {
	operation := map[string]string{"queues": "enqueue", "takes back": "popAll"}[words[1]]
	line := fmt.Sprintf(`{"type":"queue-operation","operation":%q,"timestamp":%q,"content":%s}`+"\n",
		operation, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), inQuotes(words[2]))
	check(s.t, appendFile(s.transcript(a), []byte(line)))
}

// says has the agent say something.
func (s *storyRun) says(a *storySession, text string) {
	s.add(a, "assistant", "", `{"type":"text","text":`+inQuotes(text)+`}`)
	a.said = text
}

// calls has the agent call a tool, which answers at once.
func (s *storyRun) calls(a *storySession, tool, input string) {
	id := inQuotes(fmt.Sprint("toolu_", a.id, a.entries))
	s.add(a, "assistant", "", `{"type":"tool_use","id":`+id+`,"name":`+inQuotes(tool)+`,"input":`+input+`}`)
	s.add(a, "user", "", `{"type":"tool_result","tool_use_id":`+id+`,"content":"ok"}`)
}

// prompt submits a prompt, which the agent gets unless ccc keeps it.
func (s *storyRun) prompt(a *storySession, words []string) {
	s.hook(a, "", eventPrompt, `"prompt":`+inQuotes(words[1]))
	members := `"promptSource":"typed","origin":{"kind":"human"},`
	if strings.HasPrefix(words[1], "<") { // Claude Code's own
		members = `"promptSource":"system",`
	}
	isKept := slices.ContainsFunc(s.printed["stdout"], func(line string) bool {
		return strings.Contains(line, `"decision":"block"`)
	})
	if !isKept {
		s.add(a, "user", members, `{"type":"text","text":`+inQuotes(words[1])+`}`)
	}
}

// writes has the agent write a file, or add a line to it.
func (s *storyRun) writes(a *storySession, words []string) {
	path := filepath.Join(a.here, words[2])
	mode := os.O_TRUNC
	if words[1] == "adds" {
		mode = os.O_APPEND
	}
	check(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	check(s.t, err)
	_, err = file.WriteString(words[3] + "\n")
	check(s.t, errors.Join(err, file.Close()))
	s.calls(a, "Write", `{"file_path":`+inQuotes(path)+`}`)
}

// stop has the agent stop, while background tasks work: "subagent s1 and shell b1".
func (s *storyRun) stop(a *storySession, words []string) {
	if a.said == "" {
		s.says(a, "Done.")
	}
	tasks := []string{}
	for task := range strings.SplitSeq(words[1], " and ") {
		if kind, id, isTask := strings.Cut(task, " "); isTask {
			tasks = append(tasks, fmt.Sprintf(`{"id":%q,"type":%q,"status":"running"}`, id, kind))
		}
	}
	members := `"last_assistant_message":` + inQuotes(a.said) + `,"background_tasks":[` + strings.Join(tasks, ",") + `]`
	s.hook(a, words[2], eventStop, members)
}

// hook has ccc answer an event of the session, with a reviewer that answers so.
func (s *storyRun) hook(a *storySession, answer, event, members string) {
	if a.isPlain {
		s.expectAsked(answer, s.asked)
		return
	}
	input := fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":%q,"transcript_path":%q,%s}`,
		a.id, a.here, event, s.transcript(a), members)
	env := []string{"CLAUDE_PROJECT_DIR=" + s.work, "CCC_SUPERVISOR=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		blockCapVariable + "=10", fmt.Sprint("CLAUDE_PID=", os.Getpid())}
	env = append(env, s.env...)
	if a.job != "" { // below the service, which has started it with an environment of its own
		env = append(env, "CCC_SUPERVISOR=", "CLAUDE_JOB_DIR="+a.job)
	}
	s.reviewed(a, answer, func() *storyCommand { return s.begin(a.here, input, env, "ccc", "supervisor-hook") })
}

// reviewed runs a command of ccc's with a reviewer that answers so. It wants none to be asked if that is "", and leaves it at
// work if that is "works".
func (s *storyRun) reviewed(a *storySession, answer string, begin func() *storyCommand) {
	before := s.asked
	name := fmt.Sprint("review-", s.asked+1)
	if answer == "works" {
		wait := `sh : >"$FAKE_CLAUDE_DIR/at-%[1]s"; until [ -f "$FAKE_CLAUDE_DIR/go-%[1]s" ]; do sleep 0.02; done; ` +
			`rm "$FAKE_CLAUDE_DIR/at-%[1]s" "$FAKE_CLAUDE_DIR/go-%[1]s"; play verdict %[1]s` + "\n"
		s.write("../fake/"+name, 0o600, fmt.Sprintf(wait, a.id))
		at := filepath.Join(s.home, "../fake/at-"+a.id)
		check(s.t, os.RemoveAll(at)) // of a review that Esc has ended
		a.running = begin()
		for deadline := time.Now().Add(60 * time.Second); !isThere(at); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				s.t.Fatal("no review has begun")
			}
		}
		s.noteRequests()
		s.noteLog()
		return
	}
	if answer != "" {
		s.answer(name, answer)
	}
	s.end(begin())
	s.expectAsked(answer, before)
}

// isThere reports whether there is such a file.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// endRunning ends the command of the session a that was left at work, by what begins its end.
func (s *storyRun) endRunning(a *storySession, letter string, begin func(c *exec.Cmd)) {
	if a.running == nil {
		s.fault = fmt.Errorf("no review of %s is at work", letter)
		return
	}
	begin(a.running.Cmd)
	s.end(a.running)
	a.running = nil
}

// expectAsked wants one more reviewer than before to have been asked if there is an answer, and else none.
func (s *storyRun) expectAsked(answer string, before int) {
	wanted := before
	if answer != "" {
		wanted++
	}
	if s.asked != wanted {
		s.fault = fmt.Errorf("%d reviewers were asked: %q", s.asked-before, s.printed["stderr"])
	}
}

// answerText is one thing that a reviewer does.
const answerText = `(runs|says|allow|refuse|fail|words)(?: ("(?:\\.|[^"\\])*"))?`

var (
	answerPart = lazyRegexp(answerText)
	answerForm = lazyRegexp(`^` + answerText + `(?:, ` + answerText + `)*$`)
)

// answer has the reviewer's call of that name answer so: `runs "COMMAND"` and `says "WORDS"`, with commas between them, and at
// the end `allow`, `refuse`, `fail` or `words`, which is no verdict, each with a text in quotes, or none. What a command prints
// goes nowhere.
func (s *storyRun) answer(name, text string) {
	if !answerForm().MatchString(text) {
		s.fault = fmt.Errorf("no reviewer answers %q", text)
		return
	}
	var review fakeReview
	for _, found := range answerPart().FindAllStringSubmatch(text, -1) {
		var said string
		if found[2] != "" {
			var err error
			said, err = strconv.Unquote(found[2])
			check(s.t, err)
		}
		switch found[1] {
		case "runs":
			review = append(review, calls("Bash", `{"command":`+inQuotes(said)+`}`, "ok"), runs("exec 3>&1 >/dev/null"), runs(said), runs("exec >&3"))
		case "says":
			review = append(review, says(said))
		case "allow", "refuse":
			review = append(review, decides(found[1] == "allow", said))
		case "fail":
			review = append(review, fails(said)...)
		case "words":
			review = append(review, answers(said))
		}
	}
	s.reviews(review)
	check(s.t, os.Rename(filepath.Join(s.home, "../fake/review"), filepath.Join(s.home, "../fake", name)))
}

// begin starts a command.
func (s *storyRun) begin(dir, input string, env []string, argv ...string) *storyCommand {
	c := &storyCommand{Cmd: s.command(argv...)}
	c.Dir = dir
	c.Stdin = strings.NewReader(input)
	c.Stdout = &c.stdout
	c.Stderr = &c.stderr
	c.Env = append(slices.Clone(c.Env), env...)
	check(s.t, c.Start())
	return c
}

// end waits for a command, and notes what it has printed.
func (s *storyRun) end(c *storyCommand) {
	timeout := time.AfterFunc(60*time.Second, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	_ = c.Wait() // the exit code is noted
	if !timeout.Stop() {
		s.t.Fatal("it did not end within a minute")
	}
	stdout := c.stdout.String()
	s.printed["message"] = []string{}
	answer := map[string]any{}
	_ = json.Unmarshal([]byte(stdout), &answer) // else it is none of a hook's
	if message, isTold := answer["systemMessage"].(string); isTold {
		s.printed["message"] = s.lines(message)
		delete(answer, "systemMessage")
		stdout = ""
		if len(answer) > 0 {
			stdout = string(encodeJSON(answer))
		}
	}
	s.printed["stdout"] = s.lines(stdout)
	s.printed["stderr"] = s.lines(c.stderr.String())
	s.printed["exit"] = []string{strconv.Itoa(c.ProcessState.ExitCode())}
	s.noteRequests()
	s.noteLog()
}

// noteLog notes what the log has got since the step before ended.
func (s *storyRun) noteLog() {
	log := s.log()
	if len(log) < s.logged { // it has begun anew
		s.logged = 0
	}
	s.printed["log"] = s.lines(log[s.logged:])
	s.logged = len(log)
}

// noteRequests notes what reviewers were asked since it looked last: the request, and of the change the paths with git's
// letters, and the lines of the diff.
func (s *storyRun) noteRequests() {
	for {
		request := s.read(fmt.Sprintf("../fake/reviewer-%d.stdin", s.asked+1))
		if request == "" {
			return
		}
		s.asked++
		_, change, isEnglish := strings.Cut(request, strings.TrimSuffix(sectionChanges.en, "%s"))
		if !isEnglish {
			_, change, _ = strings.Cut(request, strings.TrimSuffix(sectionChanges.zh, "%s"))
		}
		change, _, _ = strings.Cut(change, "\n## ")
		paths := regexp.MustCompile(`(?m)^[AMDT] .*$`).FindAllString(change, -1)
		slices.SortFunc(paths, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
		s.printed["shown"] = s.lines(request)
		s.printed["paths"] = s.lines(strings.Join(paths, ", "))
		lines := shownLines(request)
		if lines == "-" { // none
			lines = ""
		}
		s.printed["lines"] = s.lines(lines)
	}
}

// inQuotes is a text as JSON.
func inQuotes(text string) string { return string(encodeJSON(text)) }

// A story that is wrong, or could not fail, is an error, whatever ccc does.
func TestStoryFaults(t *testing.T) {
	const promise = "# A promise.\n"
	for text, want := range map[string]string{
		"$ true\nexit: 0":                                                  "a story begins with its promise",
		promise + strings.Repeat("\n", 40) + "$ :":                         "at most 40 lines",
		promise + "A prompt: do it":                                        "it wants nothing",
		promise + "A promt: do it\nstdout: none":                           `"A promt: do it": there is no such step`,
		promise + "A prompt: do it\nwhat it prints":                        `"what it prints": there is no such step`,
		promise + "A says: x\nstdout: none":                                `"stdout: none": the step before prints nothing of that kind`,
		promise + "$ true\nmessage: none":                                  `"message: none": the step before prints nothing of that kind`,
		promise + "A is plain\nA prompt: x\nstdout: none":                  `"stdout: none": the step before prints nothing`,
		promise + "$ true\nshown: none":                                    `"shown: none": the step before prints nothing`,
		promise + "A prompt: x\nstdout: ":                                  `"stdout: ": there is no such step`,
		promise + "$ echo a\nA promt: x":                                   `"A promt: x": there is no such step`,
		promise + "A: Esc":                                                 "no review of A is at work",
		promise + "A stops while s1 works":                                 "there is no such step",
		promise + "$ :\n\n-- a\ntext":                                      "it has no name between",
		promise + "A prompt: x\nA stops\nstdout: x":                        "1 reviewers were asked",
		promise + "A is plain\nA stops; the reviewer: allow\nstdout: none": "0 reviewers were asked",
		promise + "A stops; the reviewer: maybe\nstdout: none":             `no reviewer answers "maybe"`,
		promise + "A stops; the reviewer: allow 'x'\nstdout: none":         `no reviewer answers "allow 'x'"`,
	} {
		s := playStory(newFakeBox(t), text)
		expectError(t, text, s.fault, want)
	}
	for text, told := range map[string]string{
		"$ echo a b; echo c d\nstdout: c e": "stdout: c d",
		"$ echo a b; echo c\na":             "a b\nc",
		"$ exit 3\nstdout: none":            "exit: 3\nstdout: none",
		"$ echo a\nexit: 1":                 "exit: 0",
		"$ echo a\nnot stdout: a":           "stdout: a",
		"$ true\nnot stdout: a":             "stdout: none",
		"$ exit 3\n# why\nexit: 4":          "# why\nexit: 3",
		"$ echo none of it\nstdout: none":   "stdout: none of it",
	} {
		s := playStory(newFakeBox(t), promise+text)
		command, _, _ := strings.Cut(text, "\n")
		expectIs(t, "the fault of "+text, fmt.Sprint(s.fault), "<nil>")
		expectIs(t, "what -update makes of "+text, strings.Join(s.told, "\n"), promise+command+"\n"+told)
		expectIn(t, "what is told of "+text, fmt.Sprint(s.missed), command, "\nwanted: ", "\nactual: ")
	}
}
