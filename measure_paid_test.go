//go:build measure

package main

// How often the reviewer is wrong by a model, which costs money:
//
//	go test -tags measure -timeout 5h -run TestMeasure -v .
//
// MEASURE_REPEATS (3) is how often each case is reviewed, MEASURE_CASES (all) a pattern of their names, and
// MEASURE_PROMPT (en) the prompt's language. MEASURE_COPY=none has the reviewer run nothing. The reviews are
// lines of MEASURE_FILE (measured.jsonl); those that are there are not made again. What ccc.json says of the
// reviewer counts, a provider or its time for one.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestMeasure(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "ccc-project-") // not memory, as a user's project
	check(t, err)
	defer os.RemoveAll(root)
	m := newMeasurement(t, root)
	defer m.removeSessions(t)
	cases := slices.DeleteFunc(measuredCases(t), func(c measuredCase) bool {
		return !regexp.MustCompile(os.Getenv("MEASURE_CASES")).MatchString(c.name)
	})
	repeats, err := strconv.Atoi(cmp.Or(os.Getenv("MEASURE_REPEATS"), "3"))
	check(t, err)
	path := cmp.Or(os.Getenv("MEASURE_FILE"), "measured.jsonl")
	var all []measured
	made := map[string]int{}
	check(t, readLines(path, func(line []byte) {
		var one measured
		check(t, json.Unmarshal(line, &one))
		all = append(all, one)
		if one.Model = ""; one.measuredBy == m.by {
			made[one.Case]++
		}
	}))
	var left []measuredCase
	tokens := 0 // of the requests, about: Claude Code's own words and tools, the prompt and the case
	for n := range repeats {
		for _, c := range cases {
			if made[c.name] > n {
				continue
			}
			left = append(left, c)
			tokens += 12_000 + len(say(defaultPrompt))/4
			for name, text := range c.files {
				if name != "check" {
					tokens += len(text) / 4
				}
			}
		}
	}
	// Of the default model (2.1.332): $5 a million to write the request to the API's cache, $0.20 to read it
	// from there at each of some ten calls, and $20 for some 4,000 tokens of words.
	cost := float64(tokens)*(5+10*0.2)/1e6 + float64(len(left))*4000*20/1e6
	t.Logf("%d reviews by %s: some %d tokens of requests, about $%.0f at the default model's prices",
		len(left), encodeJSON(m.by), tokens, cost)
	for i, c := range left {
		dir := filepath.Join(root, strconv.Itoa(i))
		check(t, os.Mkdir(dir, 0o700))
		one := m.review(t, c, dir)
		check(t, appendFile(path, append(encodeJSON(one), '\n')))
		all = append(all, one)
		t.Logf("%d of %d: %s", i+1, len(left), encodeJSON(one))
		removeTree(dir)
	}
	t.Logf("the figures of %s\n%s", path, figures(cases, all))
}

// The visible tests, as a Stop hook runs them: it sends the agent back if they fail. No model is asked.
func TestMeasureVisibleTests(t *testing.T) {
	cases := measuredCases(t)
	var all []measured
	for _, c := range cases {
		dir := t.TempDir()
		c.write(t, dir, "before")
		c.write(t, dir, "after")
		cmd := exec.Command("sh", "-c", cmp.Or(c.head["tests"], "true"))
		cmd.Dir = dir
		one := measured{Case: c.name, Verdict: verdictAllow, measuredBy: measuredBy{Prompt: "visible tests"}}
		if printed, err := cmd.CombinedOutput(); err != nil {
			one.Verdict = verdictBlock
			one.Feedback = c.head["says"] + string(printed)
		}
		all = append(all, one)
	}
	t.Log("\n" + figures(cases, all))
}

// newMeasurement builds ccc below root and prepares its environment, with a Claude Code directory of its own,
// unless a login pays.
func newMeasurement(t *testing.T, root string) measurement {
	t.Helper()
	m := measurement{ccc: filepath.Join(root, "ccc"), claude: filepath.Join(root, "claude")}
	m.state = stateDir(filepath.Join(root, "ccc-dir/ccc"))
	run := func(name string, args ...string) string {
		printed, err := exec.Command(name, args...).Output()
		check(t, err)
		return strings.TrimSpace(string(printed))
	}
	run("go", "build", "-o", m.ccc, ".")
	m.by.CCC = run("git", "describe", "--tags", "--always", "--dirty")
	m.by.Prompt = cmp.Or(os.Getenv("MEASURE_PROMPT"), english)
	m.by.Copy = os.Getenv("MEASURE_COPY")
	m.by.Client, _, _ = strings.Cut(run(cmp.Or(os.Getenv(claudeVariable), "claude"), "--version"), " ")
	users, err := findDirs(os.Environ(), "")
	check(t, err)
	config := map[string]json.RawMessage{}
	if text, err := readUserFile(users.configFile()); len(text) > 0 {
		check(t, errors.Join(err, json.Unmarshal(text, &config)))
	}
	config["language"] = encodeJSON(m.by.Prompt)
	check(t, os.Mkdir(filepath.Join(root, "ccc-dir"), 0o700))
	check(t, os.WriteFile(filepath.Join(root, "ccc-dir/ccc.json"), encodeJSON(config), 0o600))
	// Without what TestMain sets, and as from a terminal.
	m.env = setEnv(os.Environ(), "TMPDIR", "", "GORACE", "", testScratchVariable, "", toolVariable, "",
		workDirVariable, "", configDirVariable, filepath.Join(root, "ccc-dir"))
	if m.by.Copy != "" {
		m.ccc, err = os.Executable()
		check(t, err)
		m.env = setEnv(m.env, testMainVariable, "1", testTrustVariable, "none", testManagedVariable,
			managedSettings)
	}
	isPaid := new(sources).areKeyed(os.Environ(), []string{"--print"}) || os.Getenv(oauthVariable) != "" ||
		bytes.Contains(config["supervisor"], []byte(`"provider"`))
	if isPaid {
		m.env = setEnv(m.env, claudeDirVariable, m.claude)
		return m
	}
	m.claude = users.claude
	t.Log("a login pays: each session is written below " + m.claude + ", and taken away after its review; " +
		"Claude Code itself notes its directory in .claude.json")
	m.removeSessions(t) // of a run that was broken off
	return m
}

// removeSessions takes away what sessions of measured cases are left.
func (m measurement) removeSessions(t *testing.T) {
	left, _ := filepath.Glob(filepath.Join(m.claude, "projects/*-ccc-project-*"))
	for _, dir := range left {
		check(t, os.RemoveAll(dir))
	}
}
