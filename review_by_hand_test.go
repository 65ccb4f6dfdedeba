package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Which session ccc review takes: the newest of the project, else of a directory above; one that was named; none where
// it is not clear which is meant. A session in which nothing was asked is none.
func TestByHandSession(t *testing.T) {
	root := t.TempDir()
	claude, here := filepath.Join(root, "claude"), filepath.Join(root, "work")
	stored := func(session, project, words string, age time.Duration) {
		t.Helper()
		path := filepath.Join(claude, "projects/x", session+".jsonl")
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		line := agentLine("1", "", "hello")
		if words != "" {
			line = userLine("1", "", words)
		}
		check(t, os.WriteFile(path, []byte(strings.ReplaceAll(line, "/work", project)+"\n"), 0o600))
		check(t, os.Chtimes(path, time.Time{}, ago(age)))
	}
	check(t, os.MkdirAll(filepath.Join(here, "sub"), 0o700))
	stored("aa-new", here, "fix it", time.Hour)
	stored("aa-old", here, "fix that", 2*time.Hour)
	stored("ab-silent", here, "", time.Minute)
	stored("ac-elsewhere", "/elsewhere", "far away", 0)
	expect := func(word, dir, want string) {
		t.Helper()
		found, talk, err := storedSessionOf(word, dirs{claude: claude, here: filepath.Join(here, dir)})
		if err != nil {
			found.id = err.Error()
		} else if found.id += " in " + filepath.Base(filepath.Dir(found.path)); talk.newest().words == "" {
			t.Errorf("%q: nothing was asked in %s", word, found.id)
		}
		if !strings.HasPrefix(found.id, want) {
			t.Errorf("%q in %q: %s, want %s", word, dir, found.id, want)
		}
	}
	expect("", "", "aa-new")
	expect("", "sub", "aa-new")
	expect("aa-o", "", "aa-old")
	expect("ac", "", "ac-elsewhere")
	expect("aa", "", `"aa" is the beginning of 2 sessions: aa-new, aa-old`)
	stored("../copied/aa-new", here, "fix it there", time.Minute)
	stored("../copied/aa-old", here, "fix that", 4*time.Hour)
	expect("aa-new", "", "aa-new in copied")
	expect("aa-old", "", "aa-old in x")
	expect("aa", "", `"aa" is the beginning of 2 sessions: aa-new, aa-old`)
	expect("ab", "", `no session of Claude Code's ab-silent holds a request`)
	expect("", "../none", "no session of Claude Code's of this project")
	// An older transcript is not opened: of one that nobody writes to, that would not end.
	unopened := filepath.Join(claude, "projects/x/aa-unopened.jsonl")
	check(t, syscall.Mkfifo(unopened, 0o600))
	check(t, os.Chtimes(unopened, time.Time{}, ago(3*time.Hour)))
	chosen := make(chan string)
	go func() {
		found, _, _ := storedSessionOf("", dirs{claude: claude, here: here})
		chosen <- found.id
	}()
	select {
	case id := <-chosen:
		expectIs(t, "beside one that can't be read", id, "aa-new")
	case <-time.After(10 * time.Second):
		t.Fatal("an older transcript is opened")
	}
	check(t, os.Remove(unopened))
	// One of this working tree comes before newer ones of others of the repository.
	side := filepath.Join(filepath.Dir(here), "side")
	check(t, os.MkdirAll(filepath.Join(here, ".git/worktrees/side"), 0o700))
	check(t, os.WriteFile(filepath.Join(here, ".git/worktrees/side/commondir"), []byte("../..\n"), 0o600))
	check(t, os.MkdirAll(side, 0o700))
	check(t, os.WriteFile(filepath.Join(side, ".git"), []byte("gitdir: "+here+"/.git/worktrees/side\n"), 0o600))
	stored("ad-side", side, "fix the side", 3*time.Hour)
	expect("", "../side", "ad-side")
	expect("aa-new", "", "aa-new")
}

// It judges the working tree in which it is called, and names it: another one of the repository than the session's, too.
func TestByHandElsewhere(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	box.gitIn(box.home+"/../remote", "git init -q --bare")
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git push -q ../remote HEAD:main; git remote add -f origin ../remote; git worktree add -q ../side")
	talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
	box.submit("do it")
	box.write("../work/a", 0o600, "the agent's\n")
	box.reviews(allows(""))
	box.stop("")
	side := box.gitIn(box.work, "cd ../side && echo mine >b && git add b && git commit -qm mine && pwd -P")
	got := box.gitIn(side, "ccc review 2>&1")
	expectIn(t, "the review", got, ", "+side+"): ", "Review: approved")
	expectIn(t, "the request", box.read("../fake/reviewer-2.stdin"), "A b\n", "some of it may be older", "The user asked for this review")
	box = newHookBox(t) // outside git it is of where the agent was
	talk = strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`)
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, talk)
	box.reviews(allows(""))
	box.gitIn(box.home, "ccc review "+testSession)
	expectIn(t, "outside git", box.read("../fake/reviewer-1.stdin"), fmt.Sprintf(sectionPlace.zh, box.work))
}

// What it prints of a request, a call and the feedback has no secret; the reviewer gets the request as it came.
func TestByHandRedacted(t *testing.T) {
	box := newHookBox(t)
	talk := userLine("1", "", "use "+aSecret) + "\n" + agentLine("2", "1", "done") + "\n"
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
	refuses := fakeReview{calls("Bash", `{"command":"grep `+aSecret+`"}`, ""), decides(false, "not "+aSecret)}
	box.reviews(refuses, refuses)
	for want, args := range map[string][]string{"not ***\n": {"ccc", "review"}, `"tools":["Bash(grep ***)"]`: {"ccc", "review", "--json"}} {
		got := box.run(30*time.Second, "", args...)
		expectIn(t, want, got.stdout, want)
		expectIn(t, "what it is about", got.stderr, "use ***")
		expectNotIn(t, want, got.stdout+got.stderr, aSecret)
	}
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), "use "+aSecret)
}

// Which provider it asks: the flag's, else the reviewer's own, else the session's as it is on record. A name that ccc.json does not
// have is an error, and so is a model that is none of Anthropic's where nothing says whose it is.
func TestByHandProvider(t *testing.T) {
	const unknown = `error: review: ccc.json: "d" is no provider of this file (it has a, b, c) (see ccc help config)`
	for name, c := range map[string]struct {
		own, session, flag, model, url string
		want                           string
		code                           int
	}{
		"nothing":                                 {},
		"a model of Anthropic's":                  {model: "claude-x-1"},
		"one in a cloud":                          {model: "us.anthropic.claude-x-1"},
		"the reviewer's":                          {own: "a", session: "b", model: "kimi-k2", want: "a"},
		"the session's":                           {session: "b", model: "kimi-k2", want: "b"},
		"the flag's":                              {flag: "b", model: "kimi-k2", want: "b"},
		"no provider of a session":                {session: noProvider, model: "kimi-k2", want: noProvider},
		"no provider by a flag":                   {session: "b", flag: noProvider, want: noProvider},
		"another by a flag":                       {session: "b", flag: "c", want: "c"},
		"another than its own":                    {own: "a", session: "b", flag: "b", want: "b"},
		"an unknown one":                          {session: "b", flag: "d", want: unknown, code: 2},
		"an unknown session's":                    {session: "d", want: unknown, code: 2},
		"another's model":                         {model: "kimi-k2", want: "error: review: the session has run with kimi-k2, and no provider of it is on record\n     ccc review --provider NAME, with a name of ccc.json", code: 1},
		"another's model, at a URL of the user's": {model: "kimi-k2", url: "http://127.0.0.1:9"},
	} {
		d := t.TempDir()
		config := defaultConfig()
		config.Supervisor.Provider = c.own
		config.Providers = map[string]*provider{"a": {}, "b": {}, "c": {}}
		s := &supervision{config: config, state: sessionState{Provider: c.session}, dirs: dirs{claude: d, ccc: d, here: d}}
		if c.url != "" {
			s.dirs.env = []string{urlVariable + "=" + c.url}
		}
		got, err := s.providerByHand(c.flag, c.model)
		if err != nil {
			got = "error: " + err.Error()
			expectIs(t, name+": the code", failureOf(err).code, c.code)
		}
		expectIs(t, name, strings.ReplaceAll(got, d+"/", ""), c.want)
	}
}

// A terminal may have what the launch of another session has left there, as the shell of a tmux has: its provider, what
// that had set, its directories. A review gets nothing of it, and what is the user's own stays.
func TestByHandTerminal(t *testing.T) {
	for name, test := range map[string]struct {
		vars string
		want []string
		not  []string
	}{
		"left by a session": {"CCC_PROVIDER=kimi ANTHROPIC_BASE_URL=http://127.0.0.1:9 ANTHROPIC_AUTH_TOKEN=t CCC_CACHE=line",
			nil, []string{"CCC_PROVIDER", "ANTHROPIC_", "CCC_CACHE"}},
		"the user's own": {"ANTHROPIC_API_KEY=k", []string{"\nANTHROPIC_API_KEY=k\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
			box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
			box.vars = append(box.vars, strings.Fields(test.vars)...)
			box.vars = append(box.vars, addDirsVariable+"="+box.home)
			box.reviews(allows(""))
			expectIs(t, "the exit code", box.run(30*time.Second, "", "ccc", "review").code, 0)
			expectIn(t, "the reviewer's environment", box.environment("reviewer-1"), test.want...)
			expectNotIn(t, "the reviewer's environment", box.environment("reviewer-1"), test.not...)
			if test.want == nil {
				expectNotIn(t, "its arguments", box.read("../fake/reviewer-1.args"), box.home+"\n")
			}
		})
	}
}

// What is said while it reviews, and how it ends where it can't: an agent at work is told, a broken ccc.json and a session that is not there
// are no refusal of the work.
func TestByHandSays(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	name := ".claude/projects/x/" + testSession + ".jsonl"
	talk := func(lines ...string) {
		box.write(name, 0o600, strings.ReplaceAll(strings.Join(lines, "\n")+"\n", `"/work"`, `"`+box.work+`"`))
	}
	review := func(code int, args ...string) commandResult {
		t.Helper()
		got := box.run(30*time.Second, "", append([]string{"ccc", "review"}, args...)...)
		if got.code != code || code != 0 && got.stdout != "" {
			t.Errorf("%q: %+v, want %d", args, got, code)
		}
		return got
	}
	talk(userLine("1", "", "do it\nall"))
	got := review(0)
	expectIn(t, "of an agent at work", got.stderr, "[SUPERVISOR] Reviewing session "+testSession[:8]+" (", box.work+"): do it all\n", "ccc log -f "+testSession[:8], stillWorking.en)
	talk(userLine("1", "", "do it\nall"), strings.Replace(agentLine("2", "1", ""), `{"type":"text","text":""}`, `{"type":"tool_use","id":"t1","name":"Bash","input":{}}`, 1))
	expectIn(t, "while a tool runs", review(0).stderr, stillWorking.en)
	talk(userLine("1", "", "do it\nall"), agentLine("2", "1", "done"))
	expectNotIn(t, "of one that has ended", review(0).stderr, stillWorking.en)
	expectIn(t, "of nobody", review(2, "ffff").stderr, `ccc: review: no session "ffff"`)
	box.write(".claude/ccc.json", 0o600, `{"providers":{"b":{}}}`)
	expectIn(t, "an unknown provider", review(2, "--provider", "c").stderr, `"c" is no provider of this file (it has b)`)
	// The settings that count are those of the session's project, wherever it is called.
	box.write(".claude/ccc.json", 0o600, `{"providers":{"b":{"env":{"ANTHROPIC_MODEL":"m"}}}}`)
	box.write("../work/.claude/settings.json", 0o600, `{"env":{"ANTHROPIC_MODEL":"mine"}}`)
	elsewhere := box.command("ccc", "review", "--provider", "b", testSession)
	elsewhere.Dir = box.home
	got = box.finish(elsewhere, 30*time.Second)
	expectIs(t, "exit code from elsewhere", got.code, 4)
	expectIn(t, "from elsewhere", got.stdout, "Review: not reviewed\nsettings override the provider b, or send it what is yours:\n     "+box.work+"/.claude/settings.json: env.ANTHROPIC_MODEL\n")
	box.write(".claude/ccc.json", 0o600, `{"x":1}`)
	expectIn(t, "a broken ccc.json", review(4).stderr, "ccc.json")
}

// A review by hand leaves alone what a stop's has left: the output has a file of its own, and the session's feedback and count stay.
func TestByHandApart(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "FAKE_CLAUDE_SESSION="+testSession)
	box.reviews(allows(""), blocks("by hand"))
	box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "fix it")
	output, state := box.read(outputPath), box.read(statePath)
	got := box.run(60*time.Second, "", "ccc", "review", testSession)
	if got.code != 1 || !strings.Contains(got.stdout, "by hand") || strings.Contains(got.stdout+got.stderr, reviewing.zh+"...") || strings.Contains(got.stderr, "任务未完成") {
		t.Errorf("%+v", got)
	}
	expectIs(t, "the output of the stop's review", box.read(outputPath), output)
	expectIs(t, "the state", box.read(statePath), state)
	expectIn(t, "the output of its own", box.read(".claude/ccc/supervisor-"+testSession+"-review.jsonl"), `by hand`)
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictAllow, verdictBlock})
}

// What a review by hand refused is no feedback of the hook's, and counts for no limit; nor does it make a session one that is
// supervised.
func TestByHandOfNoStop(t *testing.T) {
	box := newHookBox(t)
	talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
	box.reviews(blocks("by hand"))
	expectIs(t, "the exit code", box.run(30*time.Second, "", "ccc", "review").code, 1)
	box.vars = append(box.vars, "CLAUDE_PROJECT_DIR="+box.work)
	expectEnd(t, "a stop that is not supervised", box.stop(""), 0, "", "")
	box.inSession()
	expectIn(t, "a stop that is", box.stop("").stdout, "1/")
	request := box.read("../fake/reviewer-2.stdin")
	expectIn(t, "its request", request, "第 1 轮")
	expectNotIn(t, "its request", request, "上次反馈", "by hand")
}

// Ctrl-C ends a review by hand: 130, no verdict, and it is recorded as cancelled.
func TestByHandInterrupted(t *testing.T) {
	box := newHookBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8")
	talk := userLine("1", "", "do it") + "\n" + agentLine("2", "1", "done") + "\n"
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(talk, `"/work"`, `"`+box.work+`"`))
	box.reviews(runningReview)
	done := make(chan commandResult, 1)
	go func() { done <- box.run(60*time.Second, "", "ccc", "review", testSession) }()
	box.awaitIn(".claude/ccc/supervisor-"+testSession+"-review.jsonl", "I look at the tests.")
	for _, process := range box.processes() {
		if pid, line, _ := strings.Cut(process, " "); line == "ccc review "+testSession {
			number, _ := strconv.Atoi(pid)
			check(t, syscall.Kill(number, syscall.SIGINT))
		}
	}
	got := <-done
	if got.code != 130 || !strings.HasPrefix(got.stdout, "[SUPERVISOR] Review: cancelled") || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), []verdict{verdictCancelled})
}

// The reviewer reads which of the requests above the last are approved already.
func TestByHandClosed(t *testing.T) {
	box := newHookBox(t)
	const name = ".claude/projects/x/" + testSession + ".jsonl"
	write := func(lines ...string) {
		box.write(name, 0o600, strings.ReplaceAll(strings.Join(lines, "\n")+"\n", `"/work"`, `"`+box.work+`"`))
	}
	first, done := userLine("1", "", "do it"), agentLine("2", "1", "done")
	write(first, done)
	box.submit("do it")
	box.reviews(allows(""))
	box.stop(fmt.Sprintf(`"transcript_path":%q,"last_assistant_message":"done"`, box.home+"/"+name))
	write(first, done, userLine("3", "2", "and now?"), agentLine("4", "3", "well"))
	expectIs(t, "the exit code", box.run(30*time.Second, "", "ccc", "review", testSession).code, 0)
	expectIn(t, "the request", box.read("../fake/reviewer-2.stdin"), "\n[1] "+say(remarkPassed, clock(endsOf(box.timeline(testSession))[0].Ended))+" do it\n\n[2] and now?\n")
}

// ccc review of a session that ran without ccc.
func TestByHand(t *testing.T) {
	box := newFakeBox(t)
	box.vars = append(box.vars, "LANG=en_US.UTF-8", "COLUMNS=120")
	expect := func(code int, stdout string, argv ...string) commandResult {
		t.Helper()
		got := box.run(60*time.Second, "", append([]string{"ccc", "review"}, argv...)...)
		if got.code != code || !strings.Contains(got.stdout, stdout) {
			t.Errorf("%q: %+v, want %d and %s", argv, got, code, stdout)
		}
		return got
	}
	expectIn(t, "the answer", expect(2, "").stderr, "no session of Claude Code's of this project")
	if got := box.run(60*time.Second, "", "claude", "-p", "fix the bug"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	got := expect(0, "[SUPERVISOR] Review: approved · ")
	expectIn(t, "stderr", got.stderr, "fix the bug", "I have compared the changes", "· git diff --stat\n", "To watch it elsewhere: ccc log -f ")
	if strings.Count(got.stdout, "approved") != 1 || strings.Contains(got.stderr, "The agent") {
		t.Errorf("no receipt, or a word of the agent: %+v", got)
	}
	for _, view := range []string{"log", "status"} {
		if text := box.ccc(view); strings.Count(text, "fix the bug") != 1 {
			t.Errorf("%s: %s", view, text)
		}
	}
	box.reviews(fakeReview{answers("It is not done.")})
	for range 3 { // each is feedback
		expect(1, withoutVerdict.en+"\nIt is not done.\n")
	}
	expectEnd(t, "the verdict of words", box.run(20*time.Second, "", "ccc", "verdict"), 1, "block\n", "s ago · It is not done.")
	box.reviews(blocks("not yet"))
	if got := expect(1, "[SUPERVISOR] Review: sent back · "); !strings.HasSuffix(got.stdout, "\nnot yet\n") {
		t.Errorf("%+v", got)
	}
	box.reviews(fails("API Error: 529"))
	if got := expect(4, "[SUPERVISOR] Review: not reviewed · "); strings.Count(got.stdout, "529") != 1 || strings.Contains(got.stderr, "provider") || strings.Contains(got.stderr, "no review") {
		t.Errorf("the reason is not told once: %+v", got)
	}
	box.reviews(fails("Not logged in · Please run /login"))
	expectIn(t, "without a login", expect(4, "").stderr, otherProvider.en)
	box.write(".claude/ccc.json", 0o600, `{"language":"en","providers":{"kimi":{}}}`)
	box.reviews(fails("API Error: 401 authentication_error"))
	refused := expect(4, "", "--provider", "kimi").stderr
	expectIn(t, "a provider that refuses the key", refused, "kimi did not accept the key", "of providers.kimi in ccc.json")
	expectNotIn(t, "a provider that refuses the key", refused, otherProvider.en)
	// It does not run beside another review of that session.
	paths, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/supervisor-*-events.jsonl"))
	path := strings.Join(paths, " ")
	known, err := os.ReadFile(path)
	check(t, err)
	check(t, appendFile(path, append(encodeJSON(began(review{ID: "r"})), '\n')))
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "supervisor-"), "-events.jsonl")
	running(t, box.stateDir().session(id), "r")
	expectIn(t, "stderr", expect(4, "").stderr, "reviewed right now", "ccc log -f ")
	check(t, os.WriteFile(path, known, 0o600))
	box.reviews(allows("well"))
	var parsed struct {
		Session string `json:"session_id"`
		Project string `json:"project"`
		review
	}
	if err := json.Unmarshal([]byte(expect(0, "", "--json").stdout), &parsed); err != nil || !validSession(parsed.Session) || parsed.Verdict != verdictAllow || parsed.Feedback != "well" {
		t.Errorf("%v: %+v", err, parsed)
	}
	expect(2, "", "ffff")
	if got := box.run(20*time.Second, "", "ccc", "verdict"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if parsed.Ended.IsZero() || parsed.Project == "" {
		t.Errorf("%+v", parsed)
	}
	// It leaves a record, and no state, settings or hooks.
	for _, name := range box.files() {
		if strings.HasSuffix(name, "settings.json") || regexp.MustCompile(`supervisor-[^/]*[0-9a-f]\.json$`).MatchString(name) {
			t.Errorf("there is %s", name)
		}
	}
	// An approval of files that changed meanwhile is told from others by the exit code, in a repository.
	box.reviews(fakeReview{runs("echo new >>notes.txt"), decides(true, "")})
	expect(0, "Review: approved · ")
	box.repository()
	expectIn(t, "stderr", expect(3, "Review: approved · ").stderr, "\napproved, but changed since: notes.txt\n")
	box.asTool()
	expectIn(t, "the answer", expect(4, "").stderr, "for the user, not for the agent")
}
