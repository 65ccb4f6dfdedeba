package main

// Judgement cases: short conversations with the verdict that the default prompt must lead to. They are tested
// only with a real model, which costs money:
//
//	CCC_JUDGE_CLAUDE=claude go test -timeout 3h -v -run TestJudgements .
//
// CCC_JUDGE_PROMPT=en beside it judges with the English prompt; zh is the default. Most cases are pairs: two
// versions of a story that differ in one fact and in the verdict.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// judgementCase is one of the judgement cases: what a reviewer gets to see and the verdict expected of it.
// Its file may hold, in the place of any value, one for each language ({"zh": ..., "en": ...}) or for each
// version ({"allow": ..., "block": ...}): a file with versions is two cases.
type judgementCase struct {
	Name            string
	Event           string // Stop or PreToolUse
	Prompts         []string
	Remarks         map[int]string // by the number of the prompt: interrupted or beside
	Plan            bool           // the agent is in plan mode
	Conversation    []judgementTurn
	Before          map[string]string // what the change began with; without it no change is told
	Dirty           map[string]string // what the user had changed of it and not committed
	Files           map[string]string // their state at the time of the review
	Commit          bool              // the agent has committed them
	Question        json.RawMessage   // tool_input of AskUserQuestion
	BackgroundTasks []json.RawMessage `json:"background_tasks"`
	Crons           []json.RawMessage `json:"session_crons"` // scheduled wake-ups
	Copy            bool              // the files are whole: commands can be run, in a copy
	Iteration       int
	LastFeedback    string   `json:"last_feedback"`
	AllowStop       *bool    `json:"allow_stop"` // the expected verdict
	Never           []string // what no feedback may hold
	Why             string
}

// judgementTurn is a message (role, text) or a tool call (tool, input, output).
type judgementTurn struct{ Role, Text, Tool, Input, Output string }

// choose returns value with the member of each choice in it that has one of the names in the place of the
// choice. Of a list null is left out. It tells whether there was a choice.
func choose(value any, names ...string) (chosen any, isChoice bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range names {
			if one, has := value[name]; has && len(value) == 2 {
				chosen, _ = choose(one, names...)
				return chosen, true
			}
		}
		members := map[string]any{}
		for name, member := range value {
			one, found := choose(member, names...)
			members[name], isChoice = one, isChoice || found
		}
		return members, isChoice
	case []any:
		list := []any{}
		for _, element := range value {
			one, found := choose(element, names...)
			isChoice = isChoice || found
			if one != nil {
				list = append(list, one)
			}
		}
		return list, isChoice
	}
	return value, false
}

// readJudgements returns the cases of a language by name.
func readJudgements(t *testing.T, language string) map[string]judgementCase {
	t.Helper()
	cases := map[string]judgementCase{}
	files, _ := filepath.Glob("testdata/judgements/*")
	for _, file := range files {
		var whole any
		check(t, json.Unmarshal([]byte(readPage(t, file)), &whole))
		whole, _ = choose(whole, language)
		for _, version := range []string{string(verdictAllow), string(verdictBlock)} {
			one, hasVersions := choose(whole, version)
			decoder := json.NewDecoder(bytes.NewReader(encodeJSON(one)))
			decoder.DisallowUnknownFields()
			var c judgementCase
			if err := decoder.Decode(&c); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if hasVersions {
				c.Name += "_" + version
			}
			cases[c.Name] = c
		}
	}
	return cases
}

// prepare puts the files of the case into dir, as the agent left them, and returns the change that the
// request shows.
func (c judgementCase) prepare(t *testing.T, dir string) (change judgedChange) {
	t.Helper()
	put := func(files map[string]string) {
		for name, text := range files {
			at := filepath.Join(dir, name)
			check(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)))
		}
	}
	commit := func() { // as of an hour ago
		const script = "git init -q; git add -A; GIT_COMMITTER_DATE='%d +0000' git " +
			"-c user.name=x -c user.email=x@x.org commit -qm before"
		cmd := exec.Command("sh", "-ec", fmt.Sprintf(script, ago(time.Hour).Unix()))
		cmd.Dir = dir
		check(t, cmd.Run())
	}
	if c.Before == nil {
		put(c.Files)
		return change
	}
	put(c.Before)
	commit()
	put(c.Dirty)
	state := stateDir(t.TempDir())
	p, session := state.place(dir, dir, os.Environ()), state.session("x")
	check(t, p.beginAtPrompt(session, ""))
	put(c.Files)
	if c.Commit {
		commit()
	}
	return p.takeChange(context.Background(), session, "", occasionNamed(eventStop))
}

// judgementRemark returns a remark of a request that a case may name, "" for any other name.
func judgementRemark(name string) string {
	const at = "10:20"
	return map[string]string{"interrupted": say(remarkInterrupted), "approved": say(remarkPassed, at),
		"beside": say(remarkWithEsc), "let_go": say(remarkLetGo, at), "limit": say(remarkUnapproved)}[name]
}

// request is what the reviewer is asked in dir: the conversation as text, since there is no session to fork,
// and the request that ccc would send.
func (c judgementCase) request(dir string, change judgedChange) string {
	request := reviewRequest{
		of: judgedWork{
			talk:       conversation{requests: prompts(c.Prompts...)},
			section:    sectionStop,
			question:   c.Question,
			inPlanMode: c.Plan,
			tasks:      c.BackgroundTasks,
			crons:      c.Crons,
			change:     &change,
		},
		copies:    copyOffer{noCopy: noNamespaces},
		place:     place{cwd: dir},
		refusal:   review{outcome: outcome{Feedback: c.LastFeedback}},
		iteration: c.Iteration,
		limit:     10,
		seconds:   540,
	}
	if c.Question != nil {
		request.of.section = sectionQuestion
	}
	if c.Copy {
		request.copies.tryCommand = tryCommand()
	}
	for number, name := range c.Remarks {
		request.of.talk.requests[number-1].fate = judgementRemark(name)
	}
	talk := ""
	hasCalled := false
	for _, turn := range c.Conversation {
		if turn.Tool != "" {
			hasCalled = true
			talk += fmt.Sprintf("\n[%s]\n%s\n[->]\n%s\n", turn.Tool, turn.Input, turn.Output)
			continue
		}
		talk += fmt.Sprintf("\n[%s]\n%s\n", turn.Role, turn.Text)
		if turn.Role == "assistant" {
			request.of.lastMessage = turn.Text
		}
	}
	request.of.talk.wordsOnly = c.Before != nil && len(change.paths) == 0 && c.Question == nil && !hasCalled
	return talk + "\n" + request.requestText(false)
}

// judge has claude judge the case, in a directory with the files of the case.
func (c judgementCase) judge(t *testing.T, claude string) (v verdict, feedback string, err error) {
	t.Helper()
	dir := t.TempDir()
	try := ""
	if c.Copy {
		try = tryCommand()
	}
	cmd := exec.Command(claude, "--print", "--output-format", "json", "--json-schema", verdictSchema(),
		"--system-prompt", say(defaultPrompt), "--permission-mode", "dontAsk",
		"--settings", reviewerSettings(nil, try, nil, false))
	if c.Copy {
		cmd.Args = append(cmd.Args, "--allowedTools", "Bash("+try+":*)")
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), testMainVariable+"=1") // the program of the test is ccc
	cmd.Stdin = strings.NewReader(c.request(dir, c.prepare(t, dir)))
	cmd.Stderr = os.Stderr
	result, _ := cmd.Output() // which fails if the result does
	return parseResult(result).judge()
}

func TestJudgements(t *testing.T) {
	claude := os.Getenv("CCC_JUDGE_CLAUDE")
	if claude == "" {
		t.Skip("CCC_JUDGE_CLAUDE is not set: it names the claude that judges the cases, and costs money")
	}
	speakIn(t, cmp.Or(os.Getenv("CCC_JUDGE_PROMPT"), chinese))
	for name, c := range readJudgements(t, lang) {
		t.Run(name, func(t *testing.T) {
			got, feedback, err := c.judge(t, claude)
			repeats := func(secret string) bool { return strings.Contains(feedback, secret) }
			expectIs(t, "it repeats what it must not", slices.ContainsFunc(c.Never, repeats), false)
			check(t, err)
			expectIs(t, fmt.Sprintf("approved (%q): %s", got, feedback), got == verdictAllow, *c.AllowStop)
		})
	}
}

// noNamespaces is why there is no copy, where a case has none.
const noNamespaces = "no namespaces"
