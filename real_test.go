package main

// The real Claude Codes of the tests, from npm, and a scripted Messages API on loopback: no model, no key.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// realClient is an installed Claude Code.
type realClient struct{ path, version string }

// realClients returns the clients that CCC_REAL_CLAUDE lists, separated by commas: versions or tags on npm
// (2.1.280, latest), or paths. pinned stands for those of testdata/clients. Without the variable the test
// is skipped.
func realClients(t *testing.T) []realClient {
	t.Helper()
	if os.Getenv("CCC_REAL_CLAUDE") == "" {
		t.Skip("CCC_REAL_CLAUDE is not set")
	}
	clients, err := listedClients()
	if err != nil {
		t.Fatalf("CCC_REAL_CLAUDE: %v", err)
	}
	return clients
}

var listedClients = sync.OnceValues(func() (clients []realClient, err error) {
	home, err := os.MkdirTemp("", "ccc")
	cache, ofCache := os.UserCacheDir()
	if err = errors.Join(err, ofCache); err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	list := strings.Split(os.Getenv("CCC_REAL_CLAUDE"), ",")
	if list[0] == "pinned" {
		if list, err = pinnedClients(); err != nil {
			return nil, err
		}
	}
	for _, item := range list {
		path := item
		if !strings.Contains(item, "/") {
			install := exec.Command("sh", "-c", installScript, "sh", item, filepath.Join(cache, "ccc-ci"))
			install.Stderr = os.Stderr
			out, err := install.Output()
			if err != nil {
				return nil, fmt.Errorf("installing %s: %w", item, err)
			}
			path = strings.TrimSpace(string(out))
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DISABLE_AUTOUPDATER=1"}
		out, err := cmd.Output()
		version, _, found := strings.Cut(string(out), " (Claude Code)")
		if err != nil || !found {
			return nil, fmt.Errorf("%s --version: %q, %v", path, out, err)
		}
		// latest may be in the list by its number, too.
		if !slices.ContainsFunc(clients, func(c realClient) bool { return c.version == version }) {
			clients = append(clients, realClient{path, version})
		}
	}
	return clients, nil
})

// pinnedClients are the versions that ccc is tested on, oldest first.
func pinnedClients() ([]string, error) {
	text, err := os.ReadFile("testdata/clients")
	return strings.Fields(string(text)), err
}

// installScript installs version $1, or what that tag stands for, into the directory $2, unless it is
// there, and prints the path of its program.
const installScript = `set -e
name=@anthropic-ai/claude-code version=$1
case $version in *[!0-9.]*) version=$(npm view $name@$version version --loglevel=error | tail -n 1) ;; esac
dir=$2/claude-$version
if [ ! -d "$dir" ]; then
	mkdir -p "$2"
	part=$(mktemp -d "$2/part-XXXXXX")
	trap 'rm -rf "$part"' EXIT
	npm install --no-audit --no-fund --loglevel=error --prefix "$part" $name@$version >&2
	mv "$part" "$dir"
fi
ls "$dir"/node_modules/$name-*/claude | tail -n 1`

// realTest is a test on a real client, with a sandbox of its own and the API of its models.
type realTest func(t *testing.T, box *sandbox, api *scriptedAPI)

// forClients runs test on each client, with a sandbox in which "ccc" is the test binary and the models
// follow s. All rows of all tests run beside each other.
func forClients(t *testing.T, s script, test realTest) { forRow(t, "", s, test) }

// forRow is forClients for one row of a test.
func forRow(t *testing.T, row string, s script, test realTest) {
	runOn(t, realClients(t), row, s, test)
}

// forNewest is forRow for the last client of the list alone.
func forNewest(t *testing.T, row string, s script, test realTest) {
	clients := realClients(t)
	runOn(t, clients[len(clients)-1:], row, s, test)
}

func runOn(t *testing.T, clients []realClient, row string, s script, test realTest) {
	beside(t)
	for _, client := range clients {
		t.Run(path.Join(row, client.version), func(t *testing.T) {
			box := newSandbox(t, client.path)
			api := newScriptedAPI(t, s)
			box.client = client
			box.vars = append(box.vars, testTrustVariable+"=1")
			// On a busy machine Claude Code may not read the user's shell in time. Its tools then run in a
			// login shell, which sets PATH anew.
			box.write(".profile", 0o600, "PATH="+filepath.Dir(box.program())+":$PATH\n")
			box.use(api)
			defer func() {
				if t.Failed() {
					t.Logf("requests: %v\nlog:\n%s", box.api, box.log())
				}
			}()
			test(t, box, api)
		})
	}
}

// start starts a supervised session in a terminal, and waits until it takes keys.
func (box *sandbox) start(args ...string) *terminal {
	box.t.Helper()
	return box.open(box.tried(args...)...)
}

// tried is the command of a supervised launch whose hooks count as tried, which takes a start of claude:
// TestRealClientTrial and its neighbours try them.
func (box *sandbox) tried(args ...string) (command []string) {
	box.t.Helper()
	args = append([]string{"--supervisor"}, args...)
	if box.runAs == 0 { // else what this process writes is not that user's
		l, _ := box.plan(args...)
		check(box.t, cmp.Or(l.write(), os.WriteFile(l.markFile(), nil, 0o600)))
	}
	return append([]string{"ccc"}, args...)
}

// open starts a session in a terminal by that command, and waits until it takes keys.
func (box *sandbox) open(command ...string) *terminal {
	box.t.Helper()
	tty := box.terminal(command...)
	tty.waitUntil("an input line", func(screen string) bool { return inputLine(screen) != "" })
	return tty
}

// prints runs a supervised session with -p, and wants answer on stdout.
func (box *sandbox) prints(answer, prompt string, args ...string) commandResult {
	box.t.Helper()
	got := box.run(2*patience, "", box.tried(append([]string{"-p", prompt}, args...)...)...)
	if got.code != 0 || got.timedOut || strings.TrimSpace(got.stdout) != answer {
		box.t.Errorf("got %+v, want %q", got, answer)
	}
	return got
}

// expectVerdicts compares the verdicts of the one session.
func (box *sandbox) expectVerdicts(wanted ...verdict) {
	box.t.Helper()
	expectEqual(box.t, "the verdicts", box.timelineVerdicts(), wanted)
}

// awaits waits until isThere finds what it looks for.
func awaits(t *testing.T, what string, isThere func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !isThere(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s after %v", what, patience)
		}
	}
}

// awaitVerdicts waits until the session has n verdicts.
func (box *sandbox) awaitVerdicts(n int) {
	box.t.Helper()
	awaits(box.t, fmt.Sprint("verdict ", n), func() bool { return len(box.timelineVerdicts()) >= n })
}

// scriptedAPI is a Messages API that answers from a script and remembers what it was asked. It is an HTTP
// proxy, too, one that refuses: what a client sends anywhere else ends here.
type scriptedAPI struct {
	URL    string
	answer func(apiRequest) apiReply
	aside  apiReply // answers what is no step of anybody's work

	mu    sync.Mutex
	asked []apiRequest
}

// script holds the replies to the agent and to the reviewer, in order. The last one repeats; without any
// the agent says "done", and the reviewer approves. An API error that the client tries again takes two
// places.
type script struct{ agent, reviewer []apiReply }

func newScriptedAPI(t *testing.T, s script) *scriptedAPI {
	var mu sync.Mutex
	next := map[string][]apiReply{"agent": s.agent, "review": s.reviewer}
	return newAnsweringAPI(t, func(r apiRequest) apiReply {
		mu.Lock()
		defer mu.Unlock()
		replies := next[r.Kind]
		if len(replies) == 0 {
			return usualReply(r)
		}
		if len(replies) > 1 {
			next[r.Kind] = replies[1:]
		}
		return replies[0]
	})
}

// usualReply is of an agent that is done at once, or of a reviewer that approves.
func usualReply(r apiRequest) apiReply {
	if r.Kind == "review" {
		return replyVerdict(true, "")
	}
	return replyText("done")
}

// serveHTTP serves an API until the test ends, or without one answers nothing, and returns its URL. With
// net/http each ccc that a test starts would start in twice the time.
var serveHTTP = func(t *testing.T, _ *scriptedAPI) (url string) {
	t.Fatal("the real client wants go test -tags real")
	return ""
}

// newAnsweringAPI is newScriptedAPI for a test that decides by the request. answer is called for agent and
// review requests, by many goroutines at once; a side request gets "ok", unless the test sets aside.
func newAnsweringAPI(t *testing.T, answer func(apiRequest) apiReply) *scriptedAPI {
	api := &scriptedAPI{answer: answer, aside: replyText("ok")}
	api.URL = serveHTTP(t, api)
	return api
}

// answering has the sandbox's claude talk to an API that decides by the request.
func (box *sandbox) answering(answer func(apiRequest) apiReply) *scriptedAPI {
	api := newAnsweringAPI(box.t, answer)
	box.use(api)
	return api
}

// rule is a reply to the agent or the reviewer whose newest words of the user, or request, contain words.
type rule struct {
	kind, words string
	reply       apiReply
}

func toAgent(words string, reply apiReply) rule    { return rule{"agent", words, reply} }
func toReviewer(words string, reply apiReply) rule { return rule{"review", words, reply} }

// by has the models answer by the first rule that fits, and else as usual.
func (box *sandbox) by(rules ...rule) *scriptedAPI {
	return box.answering(func(r apiRequest) apiReply {
		words := r.last("user")
		if r.Kind == "review" {
			words = r.request()
		}
		for _, rule := range rules {
			if rule.kind == r.Kind && strings.Contains(words, rule.words) {
				return rule.reply
			}
		}
		return usualReply(r)
	})
}

// delegates is the reply with which the agent starts a subagent in the background.
func (r apiRequest) delegates(prompt string) apiReply {
	tool := "Task"
	if slices.Contains(r.Tools, "Agent") {
		tool = "Agent"
	}
	const form = `{"description":"it","prompt":%q,"subagent_type":"general-purpose","run_in_background":true}`
	return replyTool(tool, fmt.Sprintf(form, prompt))
}

// inBackground has the agent run a command in the background.
func inBackground(command string) apiReply {
	const form = `{"command":%q,"run_in_background":true,"description":"serve"}`
	return replyTool("Bash", fmt.Sprintf(form, command))
}

// apiRequest is one POST /v1/messages as it came in.
type apiRequest struct {
	// Kind is "side" for what is no step of the agent's or the reviewer's work (see sideCalls) or has no
	// tools (titles), "review" for a call that asks for a verdict, by its schema or in text, else "agent".
	Kind     string
	Model    string
	System   string // its blocks, joined by newlines
	Messages []apiMessage
	Tools    []string // names
	Body     []byte
	Header   map[string][]string
}

// header returns a header's value, "" without one.
func (r apiRequest) header(name string) string { return strings.Join(r.Header[name], ",") }

// apiMessage has as text its blocks joined by newlines; a tool call reads
// "NAME {input}", a tool result is the text of the result.
type apiMessage struct{ Role, Text string }

// last returns the text of the last message of role, "" without one.
func (r apiRequest) last(role string) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == role {
			return m.Text
		}
	}
	return ""
}

// text returns all that the model would read, tools aside.
func (r apiRequest) text() string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		b.WriteString("\n" + m.Role + ": " + m.Text)
	}
	return b.String()
}

// requests returns what was asked so far, in order: all of it, or one kind.
func (api *scriptedAPI) requests(kind string) []apiRequest {
	api.mu.Lock()
	defer api.mu.Unlock()
	isOther := func(r apiRequest) bool { return kind != "" && r.Kind != kind }
	return slices.DeleteFunc(slices.Clone(api.asked), isOther)
}

// await returns the requests of a kind once there are n of them.
func (api *scriptedAPI) await(t *testing.T, kind string, n int) []apiRequest {
	t.Helper()
	awaits(t, fmt.Sprint(kind, " request ", n), func() bool { return len(api.requests(kind)) >= n })
	return api.requests(kind)
}

// String has a line for each request, for the message of a failed test.
func (api *scriptedAPI) String() string {
	var b strings.Builder
	for i, r := range api.requests("") {
		fmt.Fprintf(&b, "\n%d %s %s, %d tools, %d messages, last %.200q", i, r.Kind, r.Model,
			len(r.Tools), len(r.Messages), r.last("user"))
	}
	return b.String()
}

// apiReply is one answer of the API; see the functions that make it.
type apiReply struct {
	text, tool, input string
	status            int
	errorType         string
	tokens            int // of the request, as its usage tells
	fresh, out        int // tokens besides: new ones of the request, and of the answer
	takes             time.Duration
	thinks            bool   // text is what it thinks, and it says nothing
	advice            string // of the advisor, which the model asks before it says text
}

// after is the reply to a request of so many tokens.
func (r apiReply) after(tokens int) apiReply {
	r.tokens = tokens
	return r
}

func replyText(text string) apiReply { return apiReply{text: text} }

// replyTool calls a tool with input, a JSON object.
func replyTool(name, input string) apiReply { return apiReply{tool: name, input: input} }

// replyVerdict is what the reviewer says through --json-schema.
func replyVerdict(allowStop bool, feedback string) apiReply {
	verdict := map[string]any{"allow_stop": allowStop, "feedback": feedback}
	return replyTool("StructuredOutput", string(encodeJSON(verdict)))
}

// replyError fails the request: 401 authentication_error, 529 overloaded_error.
func replyError(status int, errorType, message string) apiReply {
	return apiReply{status: status, errorType: errorType, text: message}
}

// sideCalls are the beginnings of messages that Claude Code asks the model with on its own account: of a
// subagent's warm-up, and of what it proposes as the next prompt.
var sideCalls = []string{"Warmup", "[SUGGESTION MODE"}

func parseRequest(body []byte) (r apiRequest, stream bool, err error) {
	var wire struct {
		Model    string
		System   apiContent
		Messages []struct {
			Role    string
			Content apiContent
		}
		Tools  []struct{ Name string }
		Stream bool
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, false, err
	}
	r = apiRequest{Model: wire.Model, System: string(wire.System), Body: body}
	for _, m := range wire.Messages {
		r.Messages = append(r.Messages, apiMessage{m.Role, string(m.Content)})
	}
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	isStart := func(start string) bool { return strings.HasPrefix(r.last("user"), start) }
	switch {
	case len(r.Tools) == 0, slices.ContainsFunc(sideCalls, isStart):
		r.Kind = "side"
	case slices.Contains(r.Tools, "StructuredOutput"), strings.Contains(r.text(), verdictForm.zh):
		r.Kind = "review"
	default:
		r.Kind = "agent"
	}
	return r, wire.Stream, nil
}

// apiContent is the text of a content field.
type apiContent string

func (c *apiContent) UnmarshalJSON(data []byte) error {
	var content any
	err := json.Unmarshal(data, &content)
	*c = apiContent(contentText(content))
	return err
}

// contentText returns the text of a string, a block or a list of these.
func contentText(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		var parts []string
		for _, block := range content {
			if text := contentText(block); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "\n")
	case map[string]any:
		if content["type"] == "tool_use" {
			return fmt.Sprintf("%s %s", content["name"], encodeJSON(content["input"]))
		}
		return contentText(content["text"]) + contentText(content["content"])
	}
	return ""
}

// fateMark finds what became of a request, by one of the keys of fates.
var (
	fateMark = regexp.MustCompile(`^（(?:已于 [^）]* )?(通过|放行|审过)[^）]*）`)
	fates    = map[string]string{"通过": "PASSED", "放行": "LETGO", "审过": "LIMIT"}
)

// listedRequests returns the user's requests with what became of them in a word.
func listedRequests(t *testing.T, request string) (told []string) {
	t.Helper()
	_, list, found := strings.Cut(request, "## 用户的要求")
	list, _, _ = strings.Cut(list, "\n## ")
	if !found {
		t.Fatalf("the request lists none:\n%s", request)
	}
	for i := 1; ; i++ {
		_, rest, found := strings.Cut(list, fmt.Sprintf("\n\n[%d] ", i))
		if !found {
			return told
		}
		one, _, _ := strings.Cut(rest, fmt.Sprintf("\n\n[%d] ", i+1))
		told = append(told, fateMark.ReplaceAllStringFunc(strings.TrimSpace(one), func(mark string) string {
			return fates[fateMark.FindStringSubmatch(mark)[1]]
		}))
	}
}

// request returns what ccc asks a reviewer, "" in a request of the agent's.
func (r apiRequest) request() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" && strings.Contains(m.Text, "## ") {
			return m.Text
		}
	}
	return ""
}

// lastReview returns the request of the newest review.
func (api *scriptedAPI) lastReview(t *testing.T) string {
	t.Helper()
	reviews := api.requests("review")
	if len(reviews) == 0 {
		t.Fatal("no review")
	}
	return reviews[len(reviews)-1].request()
}

// agentsUserTexts are the texts of the agent's last request that are the user's.
func (api *scriptedAPI) agentsUserTexts() (texts []string) {
	requests := api.requests("agent")
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == "user" {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
