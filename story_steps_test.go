package main

// The steps of a story: the pattern of each, and how it is played.

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

// A storyStep is a kind of step: the pattern of its line, what can be wanted of it, and how it is played.
// parts are what the pattern finds in parentheses; the first is the letter of the session a, if it has one.
type storyStep struct {
	pattern func() *regexp.Regexp
	prints  string
	play    func(s *storyRun, a *storySession, parts []string)
}

// itsReviewer is the pattern of how the reviewer of a stop or a question answers.
const itsReviewer = `(?:; the reviewer: (.+))?`

func pattern(text string) func() *regexp.Regexp { return lazyRegexp("^" + text + "$") }

var storySteps = []storyStep{
	{pattern(`env (\w+=.*)`), "", func(s *storyRun, _ *storySession, parts []string) {
		s.env = append(s.env, parts[0])
	}},
	{pattern(`the reviewer: (.*)`), "", func(s *storyRun, _ *storySession, parts []string) {
		s.answer("review", parts[0])
	}},
	{pattern(`\$ (.*)`), ofCommand, func(s *storyRun, _ *storySession, parts []string) {
		s.end(s.begin(s.work, "", s.env, "sh", "-c", parts[0]))
	}},
	{pattern(`([A-Z]) prompt: (.*)`), ofHook, (*storyRun).prompt},
	{pattern(`([A-Z]) (writes|adds) (\S+): (.*)`), "", (*storyRun).writes},
	{pattern(`([A-Z]) runs: (.*)`), ofCommand, func(s *storyRun, a *storySession, parts []string) {
		s.calls(a, "Bash", `{"command":`+inQuotes(parts[1])+`}`)
		asTool := append(slices.Clone(s.env), "CLAUDECODE=1", fmt.Sprint("CLAUDE_PID=", os.Getpid()))
		s.end(s.begin(a.here, "", asTool, "sh", "-c", parts[1]))
	}},
	{pattern(`([A-Z]) begins with the plan: (.*)`), "", func(s *storyRun, a *storySession, parts []string) {
		members := `"origin":{"kind":"auto-continuation"},"planContent":` + inQuotes(parts[1]) + `,`
		text := inQuotes("Implement the following plan:\n\n" + parts[1])
		s.add(a, "user", members, `{"type":"text","text":`+text+`}`)
	}},
	{pattern(`([A-Z]) says: (.*)`), "", func(s *storyRun, a *storySession, parts []string) {
		s.says(a, parts[1])
	}},
	{pattern(`([A-Z]) (queues|takes back): (.*)`), "", (*storyRun).queues},
	{pattern(`([A-Z]) starts: (\w+)`), ofHook, func(s *storyRun, a *storySession, parts []string) {
		s.hook(a, "", eventStart, `"source":`+inQuotes(parts[1]))
	}},
	{pattern(`([A-Z]) stops(?: while (\w+ \w+(?: and \w+ \w+)*) works?)?` + itsReviewer), ofHook,
		(*storyRun).stop},
	{pattern(`([A-Z]) asks "(.*?)"` + itsReviewer), ofHook,
		func(s *storyRun, a *storySession, parts []string) {
			const form = `"tool_name":"AskUserQuestion","tool_use_id":"q","tool_input":{"questions":[` +
				`{"question":%s,"header":"Q","multiSelect":false,"options":[]}]}`
			s.hook(a, parts[2], eventPreToolUse, fmt.Sprintf(form, inQuotes(parts[1])))
		}},
	{pattern(`([A-Z]) by hand` + itsReviewer), ofCommand, func(s *storyRun, a *storySession, parts []string) {
		begin := func() *storyCommand { return s.begin(a.here, "", s.env, "ccc", "review", a.id) }
		s.reviewed(a, parts[1], begin)
	}},
	{pattern(`([A-Z])'s reviewer: (.*)`), ofHook, func(s *storyRun, a *storySession, parts []string) {
		s.answer("verdict-"+a.id, parts[1])
		s.endRunning(a, parts[0], func(*exec.Cmd) { s.write("../fake/go-"+a.id, 0o600, "") })
	}},
	{pattern(`([A-Z]): Esc`), ofHook, func(s *storyRun, a *storySession, parts []string) {
		s.endRunning(a, parts[0], func(c *exec.Cmd) { check(s.t, c.Process.Signal(syscall.SIGTERM)) })
	}},
	{pattern(`([A-Z]) goes to (\S+)`), "", func(s *storyRun, a *storySession, parts []string) {
		a.here = filepath.Join(s.work, parts[1])
	}},
	{pattern(`([A-Z]) is (plain|supervised)`), "", func(_ *storyRun, a *storySession, parts []string) {
		a.isPlain = parts[1] == "plain"
	}},
	{pattern(`([A-Z]) is a (fork|move|background fork|clear) of ([A-Z])`), "", (*storyRun).fork},
	{pattern(`([A-Z]) is a background session`), "", func(s *storyRun, a *storySession, _ []string) {
		a.job = s.jobOf(a, "")
	}},
}

// prepare writes the story's files, and makes the project a repository with one commit, of an hour ago. A
// name that begins with ~/ is one of the home's.
func (s *storyRun) prepare(files string) {
	s.vars = append(s.vars, "LANG=en_US.UTF-8", "TZ=UTC", "COLUMNS=100", "GIT_TEMPLATE_DIR=")
	s.write(".gitconfig", 0o600, gitSettings)
	for file := range strings.SplitSeq(files, "\n-- ") {
		name, text, isFile := strings.Cut(file, " --")
		text = text[min(1, len(text)):] // after a blank or a line break
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
	line := fmt.Sprintf(`{"parentUuid":%s,"uuid":%q,"timestamp":%q,"cwd":%q,"sessionId":%q,"type":%q,%s`+
		`"version":"2.1.332","message":{"role":%[6]q,"model":"m-1","content":[%[8]s]}}`+"\n",
		parent, a.last, timestamp(), a.here, a.id, role, members, blocks)
	check(s.t, appendFile(s.transcript(a), []byte(line)))
}

// timestamp is the time as a transcript has it.
func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// fork makes the session one that goes on from another: a fork, one that Claude Code has moved to the
// background, or has forked there.
func (s *storyRun) fork(a *storySession, parts []string) {
	of := s.session(parts[2])
	if parts[1] == "clear" {
		a.job = of.job
		return
	}
	text, err := os.ReadFile(s.transcript(of))
	if parts[1] == "move" && errors.Is(err, os.ErrNotExist) { // seen on 2.1.280 and 2.1.332
		const form = `{"sessionId":%q,"parkedJobId":%q}`
		s.write(".claude/sessions/1.json", 0o600, fmt.Sprintf(form, of.id, a.id[:8]))
		a.job = s.jobOf(a, "")
		return
	}
	check(s.t, err)
	check(s.t, os.WriteFile(s.transcript(a), text, 0o600))
	a.entries = of.entries
	a.last = of.last
	switch parts[1] {
	case "move": // seen on 2.1.280 and 2.1.332, as the member of a job below
		const form = `{"type":"continued-in","sessionId":%q,"continuedInSessionId":%q}` + "\n"
		check(s.t, appendFile(s.transcript(of), fmt.Appendf(nil, form, of.id, a.id)))
		a.job = s.jobOf(a, "")
	case "background fork":
		a.job = s.jobOf(a, of.id)
	}
}

// jobOf makes the directory of a background session, which was forked from that one, "" for none.
func (s *storyRun) jobOf(a *storySession, parent string) (dir string) {
	dir = ".claude/jobs/" + a.id[:8]
	state := fmt.Sprintf(`{"sessionId":%q,"forkParentSessionId":%q}`, a.id, parent)
	s.write(dir+"/state.json", 0o600, state)
	return filepath.Join(s.home, dir)
}

// queues has the user type something that waits in Claude Code's queue, or take it back with Up.
func (s *storyRun) queues(a *storySession, parts []string) {
	operation := map[string]string{"queues": "enqueue", "takes back": "popAll"}[parts[1]]
	line := fmt.Sprintf(`{"type":"queue-operation","operation":%q,"timestamp":%q,"content":%s}`+"\n",
		operation, timestamp(), inQuotes(parts[2]))
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
func (s *storyRun) prompt(a *storySession, parts []string) {
	s.hook(a, "", eventPrompt, `"prompt":`+inQuotes(parts[1]))
	members := `"promptSource":"typed","origin":{"kind":"human"},`
	if strings.HasPrefix(parts[1], "<") { // Claude Code's own
		members = `"promptSource":"system",`
	}
	isKept := slices.ContainsFunc(s.printed["stdout"], func(line string) bool {
		return strings.Contains(line, `"decision":"block"`)
	})
	if !isKept {
		s.add(a, "user", members, `{"type":"text","text":`+inQuotes(parts[1])+`}`)
	}
}

// writes has the agent write a file, or add a line to it.
func (s *storyRun) writes(a *storySession, parts []string) {
	path := filepath.Join(a.here, parts[2])
	mode := os.O_TRUNC
	if parts[1] == "adds" {
		mode = os.O_APPEND
	}
	check(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	check(s.t, err)
	_, err = file.WriteString(parts[3] + "\n")
	check(s.t, errors.Join(err, file.Close()))
	s.calls(a, "Write", `{"file_path":`+inQuotes(path)+`}`)
}

// stop has the agent stop, while background tasks work: "subagent s1 and shell b1".
func (s *storyRun) stop(a *storySession, parts []string) {
	if a.said == "" {
		s.says(a, "Done.")
	}
	tasks := []string{}
	for task := range strings.SplitSeq(parts[1], " and ") {
		if kind, id, isTask := strings.Cut(task, " "); isTask {
			tasks = append(tasks, fmt.Sprintf(`{"id":%q,"type":%q,"status":"running"}`, id, kind))
		}
	}
	listed := `,"background_tasks":[` + strings.Join(tasks, ",") + `]`
	s.hook(a, parts[2], eventStop, `"last_assistant_message":`+inQuotes(a.said)+listed)
}

// hook has ccc answer an event of the session, with a reviewer that answers so.
func (s *storyRun) hook(a *storySession, answer, event, members string) {
	if a.isPlain {
		if answer != "" {
			s.fault = errors.New("0 reviews were asked for, want 1: the session is plain")
		}
		return
	}
	input := fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":%q,"transcript_path":%q,%s}`,
		a.id, a.here, event, s.transcript(a), members)
	env := []string{"CLAUDE_PROJECT_DIR=" + s.work, "CCC_SUPERVISOR=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		blockCapVariable + "=10", fmt.Sprint("CLAUDE_PID=", os.Getpid())}
	env = append(env, s.env...)
	if a.job != "" { // below the service, which has started it with an environment of its own
		env = append(env, "CCC_SUPERVISOR=", "CLAUDE_JOB_DIR="+a.job)
		client := fmt.Sprintf(`{"jobId":%q}`, filepath.Base(a.job))
		s.write(fmt.Sprintf(".claude/sessions/%d.json", os.Getpid()), 0o600, client)
	}
	s.reviewed(a, answer, func() *storyCommand {
		return s.begin(a.here, input, env, "ccc", "supervisor-hook")
	})
}

// reviewed runs a command of ccc's with a reviewer that answers so. It wants none to be asked if that is "",
// and leaves it at work if that is "works".
func (s *storyRun) reviewed(a *storySession, answer string, begin func() *storyCommand) {
	before := s.asked
	name := fmt.Sprint("review-", s.asked+1)
	if answer == "works" {
		wait := `sh cd "$FAKE_CLAUDE_DIR"; : >at-%[1]s; until [ -f go-%[1]s ]; do sleep 0.02; done; ` +
			`rm at-%[1]s go-%[1]s; cd "$OLDPWD"; play verdict %[1]s` + "\n"
		s.write("../fake/"+name, 0o600, fmt.Sprintf(wait, a.id))
		at := filepath.Join(s.home, "../fake/at-"+a.id)
		goOn := filepath.Join(s.home, "../fake/go-"+a.id)
		check(s.t, errors.Join(os.RemoveAll(at), os.RemoveAll(goOn))) // of a review that Esc or a switch ends
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
	want := min(len(answer), 1)
	if asked := s.asked - before; asked != want {
		s.fault = fmt.Errorf("%d reviews were asked for, want %d", asked, want)
	}
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

// answerText is one thing that a reviewer does.
const answerText = `(runs|says|allow|refuse|fail|words)(?: ("(?:\\.|[^"\\])*"))?`

var (
	answerPart = lazyRegexp(answerText)
	answerForm = lazyRegexp(`^` + answerText + `(?:, ` + answerText + `)*$`)
)

// answer has the reviewer's call of that name answer so: `runs "COMMAND"` and `says "WORDS"`, with commas
// between them, and at the end `allow`, `refuse`, `fail` or `words`, which is no verdict, each with a text in
// quotes, or none. What a command prints goes nowhere.
func (s *storyRun) answer(name, text string) {
	if !answerForm().MatchString(text) {
		s.fault = fmt.Errorf("no reviewer answers %q", text)
		return
	}
	var review fakeReview
	for _, found := range answerPart().FindAllStringSubmatch(text, -1) {
		said, err := strconv.Unquote(cmp.Or(found[2], `""`))
		check(s.t, err)
		switch found[1] {
		case "runs":
			review = append(review, calls("Bash", `{"command":`+inQuotes(said)+`}`, "ok"))
			review = append(review, runs("exec 3>&1 >/dev/null"), runs(said), runs("exec >&3"))
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

// noteRequests notes what reviewers were asked since it looked last: the request, and of the change the paths
// with git's letters, and the lines of the diff, if it is in English.
func (s *storyRun) noteRequests() {
	for {
		request := s.read(fmt.Sprintf("../fake/reviewer-%d.stdin", s.asked+1))
		if request == "" {
			return
		}
		s.asked++
		_, change, _ := strings.Cut(request, strings.TrimSuffix(sectionChanges.en, "%s"))
		change, _, _ = strings.Cut(change, "\n## ")
		paths := regexp.MustCompile(`(?m)^[AMDT] .*$`).FindAllString(change, -1)
		slices.SortFunc(paths, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
		s.printed["shown"] = s.lines(request)
		s.printed["paths"] = s.lines(strings.Join(paths, ", "))
		_, diff, _ := strings.Cut(request, "```diff\n")
		diff, _, _ = strings.Cut(diff, "\n```")
		lines := regexp.MustCompile(`(?m)^[+-].+$`).FindAllString(diff, -1)
		slices.Sort(lines)
		s.printed["lines"] = s.lines(strings.Join(lines, " "))
	}
}

// inQuotes is a text as JSON.
func inQuotes(text string) string { return string(encodeJSON(text)) }

// A story that is wrong, or could not fail, is an error, whatever ccc does.
func TestStoryFaults(t *testing.T) {
	const promise = "# A promise.\n"
	s := playStory(newFakeBox(t), "$ true\nexit: 0")
	expectError(t, "a story without its promise", s.fault, "a story begins with its promise")
	for text, want := range map[string]string{
		strings.Repeat("\n", 40) + "$ :":        "at most 40 lines",
		"A prompt: do it":                       "it wants nothing",
		"A says: x\nstdout: none":               "the step before prints nothing",
		"A is plain\nA prompt: x\nstdout: none": "the step before prints nothing",
		"A prompt: x\nstdout: ":                 "there is no such step",
		"$ echo a\nA promt: x":                  "there is no such step",
		"A: Esc":                                "no review of A is at work",
		"$ :\n\n-- a\ntext":                     "it has no name between",
		"A prompt: x\nA stops\nstdout: x":       "1 reviews were asked for, want 0",
		"A is plain\nA stops; the reviewer: allow\nstdout: none": "0 reviews were asked for, want 1",
		"A stops; the reviewer: maybe\nstdout: none":             `no reviewer answers "maybe"`,
	} {
		s := playStory(newFakeBox(t), promise+text)
		expectError(t, text, s.fault, want)
	}
	for text, actual := range map[string]string{
		"$ echo a b; echo c d\nstdout: c e": "stdout: a b\nc d",
		"$ echo a b; echo c\na":             "a b\nc",
		"$ echo a\nexit: 1":                 "exit: 0",
		"$ true\nnot stdout: a":             "stdout: none",
		"$ exit 3\n# why\nexit: 4":          "exit: 3",
		"$ echo none of it\nstdout: none":   "stdout: none of it",
	} {
		s := playStory(newFakeBox(t), promise+text)
		expectIs(t, "the fault of "+text, fmt.Sprint(s.fault), "<nil>")
		expectError(t, "the unmet wish of "+text, s.unmet, "\nactual: "+actual)
	}
}
