// Command measure finds out how often the reviewer is wrong, in both directions, on the measured cases. They
// are reviewed as a user has it done: a working tree, a session of Claude Code's, and ccc review --json. The
// login, key or provider of the environment pays, and what ccc.json says of the reviewer counts.
//
//	go run ./testdata/measure -dry
//	go run ./testdata/measure -cases '^a' -repeats 1 -prompt zh
//
// Each review is a line of a file. Those that are there with a verdict are not made again: after ^C it goes
// on from there.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	pattern  = regexp.MustCompile("")
	repeats  = flag.Int("repeats", 3, "review each `N` times")
	prompt   = flag.String("prompt", "en", "the prompt's `LANGUAGE`, en or zh")
	readOnly = flag.Bool("read-only", false, "let the reviewer run nothing")
	path     = flag.String("file", "measured.jsonl", "`FILE` of the reviews")
	dry      = flag.Bool("dry", false, "only tell how many reviews there would be, and what they may cost")
	visible  = flag.Bool("visible", false, "run the visible tests, as a Stop hook would; ask no model")
)

func main() {
	flag.TextVar(pattern, "cases", pattern, "review those whose name this `REGEXP` matches")
	flag.Parse()
	root, err := os.MkdirTemp("/tmp", "ccc-project-")
	if err == nil {
		err = run(root, os.Stdout)
	}
	os.RemoveAll(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// A measured is a review of a case. It has members of what ccc review --json prints.
type measured struct {
	Case     string          `json:"case"`
	Verdict  string          `json:"verdict"`
	Feedback string          `json:"feedback"`
	Error    string          `json:"error,omitempty"`   // why there is no verdict
	NoCopy   string          `json:"no_copy,omitempty"` // why nothing can be run
	Runs     json.RawMessage `json:"runs,omitempty"`    // in copies
	Seconds  float64         `json:"duration_seconds"`
	Cost     float64         `json:"cost_usd"`
	Tokens   json.RawMessage `json:"tokens,omitempty"`
	Ended    time.Time       `json:"ended"`
	measuredBy
}

// A measuredBy is by what a case was reviewed. Reviews by different ones have no figures together.
type measuredBy struct {
	CCC      string `json:"ccc"`    // its commit
	Client   string `json:"client"` // Claude Code's version
	Model    string `json:"model"`
	Prompt   string `json:"prompt"`
	ReadOnly bool   `json:"read_only"`
}

// run has what the flags say reviewed in root, and prints what it comes to.
func run(root string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // ccc gets it from the terminal
	defer stop()
	cases := slices.DeleteFunc(readCases(), func(c measuredCase) bool { return !pattern.MatchString(c.name) })
	if *visible {
		return runVisible(ctx, cases, root, out)
	}
	m, err := newMeasurement(root, out)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var all []measured
	made := map[string]int{}
	for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
		var one measured
		if err := lines.Decode(&one); err != nil {
			return fmt.Errorf("%s: %w", *path, err)
		}
		if !pattern.MatchString(one.Case) {
			continue
		}
		all = append(all, one)
		if one.Model = ""; one.measuredBy == m.by && one.isVerdict() {
			made[one.Case]++
		}
	}
	var left []measuredCase
	tokens := 0 // of the requests, about
	for n := range *repeats {
		for _, c := range cases {
			if made[c.name] <= n {
				left = append(left, c)
				tokens += 20_000 + c.size()/4 // Claude Code's own words and tools, the prompt, and the case
			}
		}
	}
	// Of the default model (2.1.332): $5 a million to write the request to the API's cache, $0.20 to read it
	// from there at each of some ten calls, and $20 for some 4,000 tokens of words.
	cost := float64(tokens)*(5+10*0.2)/1e6 + float64(len(left))*4000*20/1e6
	fmt.Fprintf(out, "%d reviews by %+v: some %d tokens of requests, about $%.2f at the default model's "+
		"prices\n", len(left), m.by, tokens, cost)
	if *dry {
		return nil
	}
	file, err := os.OpenFile(*path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for i, c := range left {
		one, err := m.review(c, fmt.Sprintf("%s/%d", m.root, i))
		if err = cmp.Or(ctx.Err(), err); err == nil {
			err = json.NewEncoder(file).Encode(one)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, one)
		fmt.Fprintf(out, "%d of %d: %s %s, %.0f s, $%.2f\n",
			i+1, len(left), c.name, one.Verdict, one.Seconds, one.Cost)
	}
	fmt.Fprintf(out, "the figures of %s\n%s", *path, figures(cases, all))
	return nil
}

// runVisible prints the figures of a Stop hook that sends the agent back if the visible tests fail.
func runVisible(ctx context.Context, cases []measuredCase, root string, out io.Writer) error {
	var all []measured
	for _, c := range cases {
		cmd := exec.CommandContext(ctx, "sh", "-c", c.head["tests"])
		cmd.Dir = filepath.Join(root, c.name)
		if err := errors.Join(c.write(cmd.Dir, "before"), c.write(cmd.Dir, "after")); err != nil {
			return err
		}
		one := measured{Case: c.name, Verdict: "allow", measuredBy: measuredBy{Prompt: "visible tests"}}
		printed, err := cmd.CombinedOutput()
		if ctx.Err() != nil { // ^C ends the tests, too
			return ctx.Err()
		}
		if err != nil {
			one.Verdict = "block"
			one.Feedback = c.head["says"] + string(printed)
		}
		all = append(all, one)
	}
	fmt.Fprint(out, figures(cases, all))
	return nil
}

// A measurement is how cases are reviewed: with ccc, a program in the directory root, and its environment.
type measurement struct {
	root   string
	env    []string
	claude string // CLAUDE_CONFIG_DIR
	by     measuredBy
}

// paying are variables of the environment that pay for a review.
var paying = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// newMeasurement builds ccc in root and prepares its environment, with directories of its own there. If a
// login pays, Claude Code's is the user's.
func newMeasurement(root string, out io.Writer) (m measurement, err error) {
	if m.root, err = filepath.EvalSymlinks(root); err != nil { // as Claude Code names sessions' directories
		return m, err
	}
	ask := func(name string, args ...string) string {
		said, failed := exec.Command(name, args...).Output()
		err = errors.Join(err, failed)
		return strings.TrimSpace(string(said))
	}
	ask("go", "build", "-o", m.root+"/ccc", "ccc/v3")
	client, _, _ := strings.Cut(ask(cmp.Or(os.Getenv("CCC_CLAUDE"), "claude"), "--version"), " ")
	commit, _ := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	ccc := strings.TrimSpace(string(commit))
	m.by = measuredBy{CCC: ccc, Client: client, Prompt: *prompt, ReadOnly: *readOnly}
	m.claude = cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), os.Getenv("HOME")+"/.claude")
	config := map[string]any{}
	text, unread := os.ReadFile(cmp.Or(os.Getenv("CCC_CONFIG_DIR"), m.claude) + "/ccc.json")
	if !errors.Is(unread, fs.ErrNotExist) {
		err = errors.Join(err, unread, json.Unmarshal(text, &config))
	}
	config["language"] = *prompt
	text, _ = json.Marshal(config)
	err = errors.Join(err, os.Mkdir(m.root+"/config", 0o700),
		os.WriteFile(m.root+"/config/ccc.json", text, 0o600))
	m.env = append(os.Environ(), "CCC_CONFIG_DIR="+m.root+"/config", "CCC_WORK_DIR=", "CLAUDECODE=")
	isPaying := func(name string) bool { return os.Getenv(name) != "" }
	if slices.ContainsFunc(paying, isPaying) || bytes.Contains(text, []byte(`"provider":`)) {
		m.claude = m.root + "/claude"
		m.env = append(m.env, "CLAUDE_CONFIG_DIR="+m.claude)
		return m, err
	}
	fmt.Fprintf(out, "a login pays: each session is written below %s, and taken away after its review; "+
		"Claude Code itself notes its directory in .claude.json\n", m.claude)
	tmp, _ := filepath.EvalSymlinks("/tmp") // on macOS it is a link
	folder := strings.ReplaceAll(tmp, "/", "-") + "-ccc-project-[0-9]*"
	left, _ := filepath.Glob(m.claude + "/projects/" + folder) // of a run that was killed
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return m, err
}

// review has the case reviewed in a new directory.
func (m measurement) review(c measuredCase, project string) (one measured, err error) {
	session := newUUID()
	folder := m.claude + "/projects/" + regexp.MustCompile(`[\W_]`).ReplaceAllString(project, "-")
	defer os.RemoveAll(folder)
	defer os.RemoveAll(project)
	if *readOnly { // as a user has it
		c.files["before/.claude/settings.json"] = `{"permissions":{"deny":["Bash"]}}`
	}
	err = errors.Join(c.write(project, "before"), commit(project), c.write(project, "after"),
		os.MkdirAll(folder, 0o700),
		os.WriteFile(folder+"/"+session+".jsonl", c.transcript(session, project), 0o600))
	if err != nil {
		return one, err
	}
	cmd := exec.Command(m.root+"/ccc", "review", "--json", session)
	cmd.Dir = project
	cmd.Env = m.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output() // which fails if the work is not approved
	one = measured{Case: c.name, measuredBy: m.by}
	if json.Unmarshal(said, &one) != nil {
		return one, fmt.Errorf("ccc review: %v\n%s", err, &stderr)
	}
	if one.NoCopy != "" && !*readOnly {
		return one, fmt.Errorf("the reviewer can run nothing here, and -read-only says so: %s", one.NoCopy)
	}
	stream, _ := os.ReadFile(m.root + "/config/ccc/supervisor-" + session + "-review.jsonl")
	if model := regexp.MustCompile(`"model":"(.*?)"`).FindSubmatch(stream); model != nil {
		one.Model = string(model[1])
	}
	return one, nil
}

// newUUID returns a random one.
func newUUID() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rand.Uint32(), rand.IntN(1<<16), rand.IntN(1<<12),
		rand.IntN(1<<12), rand.Int64N(1<<48))
}

// transcript returns the session as Claude Code writes it (2.1.332): the task, the calls, the last words.
func (c measuredCase) transcript(session, project string) []byte {
	var lines bytes.Buffer
	var parent any // of the first it is null
	at := time.Now().Add(-10 * time.Minute)
	add := func(role string, message, more map[string]any) {
		at = at.Add(5 * time.Second)
		id := newUUID()
		message["role"] = role
		line := map[string]any{"type": role, "message": message, "uuid": id, "parentUuid": parent,
			"isSidechain": false, "timestamp": at, "cwd": project, "sessionId": session, "version": "2.1.332"}
		maps.Copy(line, more)
		parent = id
		_ = json.NewEncoder(&lines).Encode(line)
	}
	says := func(block map[string]any) {
		add("assistant", map[string]any{"id": "msg_" + newUUID(), "type": "message",
			"model": "claude-opus-5-5", "content": []any{block},
			"usage": map[string]int{"input_tokens": 10, "output_tokens": 5}}, nil)
	}
	typed := map[string]any{"promptSource": "typed", "origin": map[string]string{"kind": "human"}}
	add("user", map[string]any{"content": strings.TrimSpace(c.files["task"])}, typed)
	for _, call := range regexp.MustCompile(`(?m)^\$ `).Split(c.files["calls"], -1)[1:] {
		command, output, _ := strings.Cut(call, "\n")
		id := "toolu_" + newUUID()
		input := map[string]string{"command": command}
		says(map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": input})
		result := map[string]string{"type": "tool_result", "tool_use_id": id, "content": output}
		add("user", map[string]any{"content": []any{result}}, nil)
	}
	says(map[string]any{"type": "text", "text": strings.TrimSpace(c.files["last"])})
	return lines.Bytes()
}
