package main

// How often the reviewer is wrong, in both directions, on the measured cases. A case is reviewed as a user
// has it done: a working tree, a session of Claude Code's, and ccc review --json. Here a stand-in approves
// each of them; measure_paid_test.go asks a model.

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A measured is a review of a case, a line in the file of a measurement.
type measured struct {
	Case     string  `json:"case"`
	Verdict  verdict `json:"verdict"`
	Feedback string  `json:"feedback"`
	Error    string  `json:"error,omitempty"` // why there is no verdict
	Runs     []step  `json:"runs"`            // in copies
	Seconds  float64 `json:"seconds"`
	Cost     float64 `json:"cost"` // in US dollars
	Tokens   *tokens `json:"tokens"`
	measuredBy
	Date time.Time `json:"date"`
}

// A measuredBy is by what a case was reviewed. Reviews by different ones have no figures together.
type measuredBy struct {
	CCC    string `json:"ccc"`    // its commit
	Client string `json:"client"` // Claude Code's version
	Model  string `json:"model"`
	Prompt string `json:"prompt"` // its language
	Copy   string `json:"copy"`   // none, if the reviewer could run nothing
}

// A measurement is how cases are reviewed: the program ccc, and its environment.
type measurement struct {
	ccc    string
	env    []string
	claude string // CLAUDE_CONFIG_DIR
	state  stateDir
	by     measuredBy

	withoutGit bool // the project is no repository
}

// review has the case reviewed in a new project below root.
func (m measurement) review(t *testing.T, c measuredCase, root string) measured {
	t.Helper()
	project := filepath.Join(resolved(root), "project")
	check(t, os.Mkdir(project, 0o700))
	c.write(t, project, "before")
	if !m.withoutGit {
		commitBefore(t, project)
	}
	c.write(t, project, "after")
	session := newUUID()
	dir := filepath.Join(m.claude, "projects", regexp.MustCompile(`[\W_]`).ReplaceAllString(project, "-"))
	check(t, os.MkdirAll(dir, 0o700))
	defer os.RemoveAll(dir)
	check(t, os.WriteFile(filepath.Join(dir, session+".jsonl"), c.transcript(session, project), 0o600))
	cmd := exec.Command(m.ccc, "review", "--json", session)
	cmd.Dir = project
	cmd.Env = m.env
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	stdout, err := cmd.Output() // which fails if the work is not approved
	var ended reviewOfSession
	if json.Unmarshal(stdout, &ended) != nil {
		t.Fatalf("%s: ccc review: %v\n%s", c.name, err, stderr)
	}
	if ended.NoCopy != "" && m.by.Copy == "" {
		t.Fatalf("the reviewer can run nothing here, and MEASURE_COPY=none says so: %s", ended.NoCopy)
	}
	by := m.by
	stream, _ := os.ReadFile(m.state.session(session).byHandFile())
	if model := regexp.MustCompile(`"model":"(.*?)"`).FindSubmatch(stream); model != nil {
		by.Model = string(model[1])
	}
	return measured{Case: c.name, Verdict: ended.Verdict, Feedback: ended.Feedback, Error: ended.Error,
		Runs: ended.Runs, Seconds: ended.DurationSeconds, Cost: ended.CostUSD, Tokens: ended.Tokens,
		measuredBy: by, Date: ended.Ended}
}

// newUUID returns a random one.
func newUUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6] = b[6]&0xf | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

var caseCall = regexp.MustCompile(`(?m)^\$ `)

// transcript returns the session as Claude Code writes it (2.1.332): the task, the calls, the last words.
func (c measuredCase) transcript(session, project string) (lines []byte) {
	var parent any // of the first it is null
	at := ago(10 * time.Minute)
	add := func(role string, message, more map[string]any) {
		at = at.Add(5 * time.Second)
		id := newUUID()
		message["role"] = role
		line := map[string]any{"type": role, "message": message, "uuid": id, "parentUuid": parent,
			"isSidechain": false, "timestamp": at, "cwd": project, "sessionId": session, "version": "2.1.332"}
		for name, value := range more {
			line[name] = value
		}
		parent = id
		lines = append(append(lines, encodeJSON(line)...), '\n')
	}
	says := func(block map[string]any) {
		add("assistant", map[string]any{"id": "msg_" + newUUID(), "type": "message",
			"model": "claude-opus-5-5", "content": []any{block}, "usage": tokens{Input: 10, Output: 5}}, nil)
	}
	typed := map[string]any{"promptSource": "typed", "origin": map[string]string{"kind": "human"}}
	add("user", map[string]any{"content": strings.TrimSpace(c.files["task"])}, typed)
	for i, call := range caseCall.Split(c.files["calls"], -1) {
		if i == 0 {
			continue // what is before the first call
		}
		command, output, _ := strings.Cut(call, "\n")
		id := "toolu_" + newUUID()
		input := map[string]string{"command": command}
		says(map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": input})
		result := map[string]string{"type": "tool_result", "tool_use_id": id, "content": output}
		add("user", map[string]any{"content": []any{result}}, nil)
	}
	says(map[string]any{"type": "text", "text": strings.TrimSpace(c.files["last"])})
	return lines
}

// figures returns what the reviews come to, those by each apart. A case counts by its first review there.
func figures(cases []measuredCase, all []measured) string {
	var text strings.Builder
	sets := map[measuredBy][]measured{}
	var order []measuredBy
	for _, m := range all {
		if sets[m.measuredBy] == nil {
			order = append(order, m.measuredBy)
		}
		sets[m.measuredBy] = append(sets[m.measuredBy], m)
	}
	for _, by := range order {
		fmt.Fprintf(&text, "%s\n%s", encodeJSON(by), figuresOfSet(cases, sets[by]))
	}
	return text.String()
}

// figuresOfSet returns the figures of the reviews by one, and then each case that came out wrong.
func figuresOfSet(cases []measuredCase, all []measured) string {
	var text, list strings.Builder
	count := map[string]int{}
	note := func(what string, m measured) {
		count[what]++
		fmt.Fprintf(&list, "  %s, %s: %s\n", m.Case, what, oneLine(m.Feedback+m.Error))
	}
	for _, c := range cases {
		var first measured
		verdicts := map[verdict]bool{}
		for _, m := range all {
			if m.Case != c.name {
				continue
			}
			if len(verdicts) == 0 {
				first = m
			}
			verdicts[m.Verdict] = true
			if !m.isVerdict() {
				note("no verdict", m)
			}
		}
		isDone := c.head["truth"] == "done"
		isSaid := regexp.MustCompile("(?i)" + c.head["says"]).MatchString(first.Feedback)
		if first.isVerdict() {
			count[c.head["truth"]]++
		}
		switch {
		case isDone && first.Verdict == verdictBlock:
			note("sent back though done", first)
		case !isDone && first.Verdict == verdictAllow:
			note("approved though not done", first)
		case !isDone && first.Verdict == verdictBlock && !isSaid:
			note("right for another reason", first)
		}
		if verdicts[verdictAllow] && verdicts[verdictBlock] {
			count["not the same each time"]++
		}
	}
	rate := func(what, of string) {
		low, top := wilson(count[what], count[of])
		fmt.Fprintf(&text, "%s: %d of %d (%.1f to %.1f %%)\n", what, count[what], count[of], 100*low, 100*top)
	}
	rate("approved though not done", "not")
	rate("sent back though done", "done")
	fmt.Fprintf(&text, "no verdict: %d of %d reviews\n", count["no verdict"], len(all))
	fmt.Fprintf(&text, "not the same each time: %d (repetitions count here alone, and narrow no interval)\n",
		count["not the same each time"])
	fmt.Fprintf(&text, "right for another reason: %d\n", count["right for another reason"])
	quantiles := func(unit string, of func(measured) float64) {
		var values []float64
		for _, m := range all {
			values = append(values, of(m))
		}
		slices.Sort(values)
		fmt.Fprintf(&text, "%s: median %.2f, nine of ten up to %.2f\n", unit,
			values[(len(values)-1)/2], values[(9*len(values)+9)/10-1])
	}
	quantiles("seconds", func(m measured) float64 { return m.Seconds })
	quantiles("dollars", func(m measured) float64 { return m.Cost })
	return text.String() + list.String()
}

// isVerdict reports whether the review came to a verdict.
func (m measured) isVerdict() bool { return m.Verdict == verdictAllow || m.Verdict == verdictBlock }

// wilson returns the 95 % interval of k of n.
func wilson(k, n int) (low, high float64) {
	const z = 1.96
	if n == 0 {
		return 0, 1
	}
	count := float64(n)
	part := float64(k) / count
	middle := part + z*z/(2*count)
	half := z * math.Sqrt(part*(1-part)/count+z*z/(4*count*count))
	whole := 1 + z*z/count
	return max(0, (middle-half)/whole), min(1, (middle+half)/whole)
}
