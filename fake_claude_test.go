package main

// The fake claude, testdata/claude: what a test prepares for it to play. What it recorded is under the home,
// as in box.read("../fake/reviewer-1.stdin").

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	testSession  = "0b6c3a52-51c8-4c5e-9a35-1f7d7c2e9f10"
	testReviewer = "7e571e4e-51c8-4c5e-9a35-1f7d7c2e9f11" // the session of the fake reviewer, a fork
)

// fakeClaude is the path of the fake.
func fakeClaude() string {
	path, _ := filepath.Abs("testdata/claude") // a test has a working directory
	return path
}

// newFakeBox makes a sandbox whose claude is the fake. Unless the test prepares
// something else, the agent says "Done." in each turn and each review allows.
func newFakeBox(t *testing.T) *sandbox {
	t.Helper()
	box := newSandbox(t, fakeClaude())
	box.vars = append(box.vars, "FAKE_CLAUDE_DIR="+filepath.Join(box.home, "../fake"), testTrustVariable+"=1")
	box.write("../fake/turn", 0o600, "Done.\n")
	box.reviews(allows(""))
	return box
}

// newHookBox makes a sandbox with the fake and a conversation of testSession for the reviewer to fork. The
// reviewer says "not yet", unless the test prepares something else.
func newHookBox(t *testing.T) *sandbox {
	t.Helper()
	box := newFakeBox(t)
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(box.work, "-")
	box.write(".claude/projects/"+folder+"/"+testSession+".jsonl", 0o600, "{}\n")
	box.reviews(blocks("not yet"))
	return box
}

// environment returns the variables of a call of the fake, as of "reviewer-1", each between line breaks and
// without the quotes of its value; "" if there was no such call.
func (box *sandbox) environment(call string) string {
	box.t.Helper()
	text := box.read("../fake/" + call + ".env")
	text = regexp.MustCompile(`(?m)^export (\w+=)['"]`).ReplaceAllString(text, "\n$1")
	text = regexp.MustCompile(`(?m)['"]$`).ReplaceAllString(text, "")
	return strings.ReplaceAll(text, `\$`, "$") // where sh is bash
}

// forget removes what the fake recorded of a call.
func (box *sandbox) forget(call string) {
	paths, _ := filepath.Glob(filepath.Join(box.home, "../fake", call+".*"))
	for _, path := range paths {
		check(box.t, os.Remove(path))
	}
}

// blockNotYet is ccc's answer to a stop that such a reviewer has refused.
const blockNotYet = `{"decision":"block","reason":"not yet"}` + "\n"

// decided returns an answer of ccc's without the receipt that stands beside a decision in a session.
func decided(stdout string) string {
	return regexp.MustCompile(`,"systemMessage":"(\\.|[^"\\])*"}`).ReplaceAllString(stdout, "}")
}

// turns prepares the agent's turns, from the first on. The lines of a turn are
// what the agent says, "sh CODE" or "ask JSON".
func (box *sandbox) turns(turns ...string) {
	box.t.Helper()
	for i, turn := range turns {
		box.write(fmt.Sprintf("../fake/turn-%d", i+1), 0o600, turn)
	}
}

// reviews prepares the reviewer's calls, from the first on; the last one repeats.
// The version of the fake must be set before.
func (box *sandbox) reviews(reviews ...fakeReview) {
	box.t.Helper()
	for i, review := range reviews {
		name := fmt.Sprintf("../fake/review-%d", i+1)
		if i == len(reviews)-1 {
			name = "../fake/review"
		}
		stream := &fakeStream{version: box.getenv("FAKE_CLAUDE_VERSION")}
		stream.add(`{"type":"system","subtype":"init","cwd":%s,"session_id":%q,"model":%q,"mcp_servers":[],`+
			`"tools":["Bash","Edit","Read"],"permissionMode":"dontAsk"}`,
			encodeJSON(box.work), testReviewer, fakeModel)
		for _, step := range review {
			step(stream)
		}
		box.write(name, 0o600, strings.Join(stream.lines, ""))
	}
}

// A fakeReview is what a reviewer does once its session has begun.
type fakeReview []fakeStep

// allows and blocks are the usual reviews.
func allows(feedback string) fakeReview { return usualReview(true, feedback) }
func blocks(feedback string) fakeReview { return usualReview(false, feedback) }

func usualReview(allow bool, feedback string) fakeReview {
	return fakeReview{
		calls("Bash", `{"command":"git diff --stat","description":"See what changed"}`, " main.go | 2 +-"),
		says("I have compared the changes with the request."),
		decides(allow, feedback),
	}
}

// fails is a review that ends with an API error.
func fails(text string) fakeReview {
	return fakeReview{says(text), func(s *fakeStream) { s.result(true, text, "") }, runs("exit 1")}
}

// A fakeStep is one thing that a fake reviewer does.
type fakeStep func(s *fakeStream)

// says shows a text.
func says(text string) fakeStep {
	return func(s *fakeStream) { s.message(`{"type":"text","text":%s}`, encodeJSON(text)) }
}

// calls shows a tool call and its result; input is JSON.
func calls(tool, input, output string) fakeStep {
	return func(s *fakeStream) {
		s.message(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}`, s.messages+1, tool, input)
		s.add(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d",`+
			`"type":"tool_result","content":%s}]},"session_id":%q}`,
			s.messages, encodeJSON(output), testReviewer)
	}
}

// runs has the fake run shell code; each line is code by itself.
func runs(code string) fakeStep {
	return func(s *fakeStream) {
		for line := range strings.Lines(code) {
			s.lines = append(s.lines, "sh "+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
}

// decides gives the verdict through --json-schema.
func decides(allow bool, feedback string) fakeStep {
	return func(s *fakeStream) {
		verdict := fmt.Sprintf(`{"allow_stop":%v,"feedback":%s}`, allow, encodeJSON(feedback))
		calls("StructuredOutput", verdict, "Structured output provided successfully")(s)
		s.result(false, verdict, verdict)
	}
}

// answers ends with a text, as a reviewer without --json-schema does.
func answers(text string) fakeStep {
	return func(s *fakeStream) {
		says(text)(s)
		s.result(false, text, "")
	}
}

const fakeModel = "claude-sonnet-4-6"

// A fakeStream is a reviewer's stream in the making, as a version prints it.
type fakeStream struct {
	version  string // "" is the newest
	lines    []string
	messages int
}

func (s *fakeStream) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...)+"\n")
}

func (s *fakeStream) message(format string, args ...any) {
	s.messages++
	s.add(`{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,`+
		`"content":[%s],"stop_reason":null,"usage":%s},"session_id":%q}`,
		s.messages, fakeModel, fmt.Sprintf(format, args...), fakeUsage(1), testReviewer)
}

// result ends the stream. verdict is JSON, "" for none. The session had cost 0.25
// before this review.
func (s *fakeStream) result(isError bool, text, verdict string) {
	cost := 0.0042 * float64(s.messages)
	rest := fmt.Sprintf(`"subtype":"success","is_error":%v,"num_turns":%d,"result":%s`,
		isError, s.messages+1, encodeJSON(text))
	if verdict != "" {
		rest += `,"structured_output":` + verdict
	}
	head := fmt.Sprintf(`"duration_ms":1000,"session_id":%q,"total_cost_usd":%.4f,"usage":%s`,
		testReviewer, 0.25+cost, fakeUsage(s.messages))
	last := fmt.Sprintf(`,"model_usage_since_last_result":{%q:{"costUSD":%.4f}}`, fakeModel, cost)
	if olderThan(s.version, "2.1.329") {
		last = ""
	}
	s.add(`{%s,%s,"type":"result"%s}`, head, rest, last)
}

func fakeUsage(messages int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,`+
		`"cache_read_input_tokens":%d,"output_tokens":%d}`,
		12*messages, 340*messages, 21000*messages, 85*messages)
}
