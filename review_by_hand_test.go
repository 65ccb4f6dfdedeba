package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Which session ccc review takes: the newest of the project, else of a directory above; one that was named;
// none if it is not clear which is meant. A session in which nothing was asked is none.
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
		expectPrefix(t, word+" in "+dir, found.id, want)
	}
	expect("", "", "aa-new")
	expect("", "sub", "aa-new")
	expect("aa-o", "", "aa-old")
	expect("ac", "", "ac-elsewhere")
	expect("aa", "", `"aa" is the beginning of 2 sessions: aa-new, aa-old`)
	expect("ab", "", `no session of Claude Code's ab-silent holds a request`)
	expect("ffff", "", `no session "ffff"`)
	expect("", "../none", "no session of Claude Code's of this project")
	// One of this working tree comes before newer ones of others of the repository.
	side := filepath.Join(filepath.Dir(here), "side")
	check(t, os.MkdirAll(filepath.Join(here, ".git/worktrees/side"), 0o700))
	check(t, os.WriteFile(filepath.Join(here, ".git/worktrees/side/commondir"), []byte("../..\n"), 0o600))
	check(t, os.MkdirAll(side, 0o700))
	link := "gitdir: " + here + "/.git/worktrees/side\n"
	check(t, os.WriteFile(filepath.Join(side, ".git"), []byte(link), 0o600))
	stored("ad-side", side, "fix the side", 3*time.Hour)
	expect("", "../side", "ad-side")
	expect("aa-new", "", "aa-new")
}

// Which provider it asks: the flag's, else the reviewer's own, else the session's as it is on record. A name
// that ccc.json does not have is an error, and so is a model that is none of Anthropic's if nothing says
// whose it is.
func TestByHandProvider(t *testing.T) {
	const unknown = "error: review: ccc.json: \"d\" is no provider of this file (it has a, b, c) " +
		"(see ccc help config)"
	const nobodys = "error: review: the session has run with kimi-k2, and no provider of it is on record\n" +
		"     ccc review --provider NAME, with a name of ccc.json"
	for name, c := range map[string]struct {
		own, session, flag, model, url string
		want                           string
		code                           int
	}{
		"nothing":                                 {},
		"a model of Anthropic's":                  {model: "claude-x-1"},
		"the reviewer's":                          {own: "a", session: "b", model: "kimi-k2", want: "a"},
		"the session's":                           {session: "b", model: "kimi-k2", want: "b"},
		"the flag's":                              {flag: "b", model: "kimi-k2", want: "b"},
		"no provider of a session":                {session: noProvider, model: "kimi-k2", want: noProvider},
		"an unknown one":                          {session: "b", flag: "d", want: unknown, code: 2},
		"an unknown session's":                    {session: "d", want: unknown, code: 2},
		"another's model":                         {model: "kimi-k2", want: nobodys, code: 1},
		"another's model, at a URL of the user's": {model: "kimi-k2", url: "http://127.0.0.1:9"},
	} {
		d := t.TempDir()
		config := defaultConfig()
		config.Supervisor.Provider = c.own
		config.Providers = map[string]*provider{"a": {}, "b": {}, "c": {}}
		s := &supervision{config: config, state: sessionState{Provider: c.session},
			dirs: dirs{claude: d, ccc: d, here: d}}
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
