package main

// Records in words: steps, paths, prices and receipts.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path is told from the project's top, or from HOME.
func TestPathFrom(t *testing.T) {
	home, err := os.UserHomeDir()
	check(t, err)
	inHome := filepath.Join(home, "x")
	for _, c := range []struct{ top, path, want string }{
		{"/p", "/p/a/b", "a/b"}, {"/p", "/p", "/p"}, {"/p", "/pp/a", "/pp/a"}, {"/p", "/q/a", "/q/a"},
		{"", "/a", "/a"}, {"/p", "a", "a"}, {"", "", ""},
		{"/p", inHome, "~/x"}, {"", home, home}, {home, inHome, "x"},
	} {
		expectIs(t, c.top+" "+c.path, pathFrom(c.top, c.path), c.want)
	}
}

// What a verdict rests on, which the receipt tells in one line and never claims more.
func TestReceipt(t *testing.T) {
	speakIn(t, english)
	type change = func(r *review)
	called := func(tools string) change {
		return func(r *review) { r.did.Tools = strings.Split(tools, "|") }
	}
	refused := func(tools ...string) change {
		return func(r *review) { r.did.Tools, r.did.Refused = tools, []string{"Bash(x)"} }
	}
	withoutCopy := func(why string, tools ...string) change {
		return func(r *review) { r.NoCopy, r.did.Tools = why, append([]string{}, tools...) }
	}
	ran := func(runs ...string) change { // each "exit code > command > output"
		return func(r *review) {
			for _, run := range runs {
				parts := strings.SplitN(run, ">", 3)
				code := int(parts[0][0] - '0')
				r.did.Runs = append(r.did.Runs, step{ExitCode: &code, Command: parts[1], Output: parts[2]})
			}
		}
	}
	const noCopy = ": no copy can be made here (ccc doctor)"
	const onlyRead, onlyTalk = "only files were read, nothing was run", "only the conversation was read"
	c60, o60 := strings.Repeat("c", 60), strings.Repeat("o", 60)
	nothing := func(*review) {}
	for _, c := range []struct {
		v      verdict
		change change
		want   string // after the name of the verdict
	}{
		{verdictAllow, nothing, onlyTalk},
		{verdictAllow, withoutCopy("no namespaces\nmend it"), "nothing was run" + noCopy},
		{verdictAllow, withoutCopy("no", "Bash(npm test)"), "nothing was run in a copy" + noCopy},
		{verdictFailed, withoutCopy("no"), ""},
		{verdictBlock, called("Read(a)"), onlyRead},
		{verdictAllow, refused("Read(a)"), onlyRead},
		{verdictAllow, called("ToolSearch|TodoWrite|Skill(x)|Reader(x)"), onlyTalk},
		{verdictAllow, refused("ToolSearch"), "Claude Code refused all its calls"},
		{verdictAllow, called("Read(a)|Bash(git status)"), "nothing was run in a copy"},
		{verdictBlock, func(r *review) { r.did.Tools, r.NoVerdict = []string{"Bash(x)"}, true },
			"nothing was run in a copy · the reviewer gave no verdict: what it said is the feedback"},
		// The last that failed and the last of the others, as they ran; what was printed where nothing
		// failed.
		{verdictAllow, ran("0>a>1", "2>b>", "0>c>2\n3\n", "0>d>x", "1>e>no"),
			"b → exit 2 · d → x · e → exit 1 · 2 more runs"},
		{verdictAllow, ran("1>a>", "2>b>", "3>c>", "4>d>", "0>e>fine"),
			"b → exit 2 · c → exit 3 · d → exit 4 · 2 more runs"},
		{verdictBlock, ran("0>a>", "1>b ||\n  c>no", "0>d>", "0>e>one\nt  wo\n"),
			"b || ⏎   c → exit 1 · d → exit 0 · e → t  wo · 1 more run"},
		{verdictAllow, ran("0>" + c60 + "c>" + o60 + "o"), c60[1:] + "… → " + o60[1:] + "…"},
		{verdictAllow, ran("0>npm test>10%\r 90%\r100%\r\n3 passed\r\n", "0>pull>10%\r100%"),
			"npm test → 3 passed · pull → 100%"},
	} {
		r := review{Event: eventStop, outcome: outcome{Verdict: c.v}, did: steps{Tools: []string{}}}
		c.change(&r)
		_, told, _ := strings.Cut(strings.TrimPrefix(r.receipt(), "Review: "+r.verdictName()), " · ")
		expectIs(t, r.receipt(), told, c.want)
	}
}

// No word that a view shows of a review holds a secret.
func TestRedactedReview(t *testing.T) {
	secret := tokenForms()["GitHub"]
	r := review{Request: secret, LastMessage: secret, Question: secret, Awaited: secret}
	r.reviewerFacts = reviewerFacts{NoCopy: secret, Rule: secret}
	r.outcome = outcome{Feedback: secret, Error: secret}
	r.Seen.Unseen = secret
	r.did = steps{Runs: []step{{Command: secret, Output: secret, Error: secret}}, Tools: []string{secret},
		Refused: []string{secret}}
	expectNotIn(t, "the review", fmt.Sprintf("%+v", r.redacted()), secret)
}

// A run is one wherever ccc stands, and is told as the script that it runs; so is any other command.
func TestTryCall(t *testing.T) {
	for call, want := range map[string]string{
		"Bash(/x/ccc try 'a')":                            "run a",
		"Bash('/my tools/ccc' try --timeout 9m 'a')":      "run a",
		"Bash('/my tools/ccc-1.2' try 'a' 2>&1)":          "run a 2>&1",
		"Bash(cd /x && timeout 9 ccc/ccc try go test ./)": "run go test ./",
		"Bash(/x/ccc/other try 'a')":                      "/x/ccc/other try 'a'",
		"Bash(echo (a))":                                  "echo (a)",
		"Read(/x/ccc try 'a')":                            "Read(/x/ccc try 'a')",
	} {
		told := doing(call)
		if tryCall().MatchString(call) {
			told = "run " + told
		}
		expectIs(t, call, told, want)
	}
}
