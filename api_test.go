package main

// The harness of the real test suite: the real Claude Code client, run in a
// sandbox of its own against a scripted Messages API on loopback. No model, no
// key, no network. CCC_REAL_CLAUDE names the clients (see realClients).

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestHarness shows that the parts below fit the real client: a turn of the
// agent, a Stop hook that blocks once, and the feedback in the next request.
func TestHarness(t *testing.T) {
	for _, client := range realClients(t) {
		t.Run(client.version, func(t *testing.T) {
			api := newScriptedAPI(t, script{agent: []apiReply{
				replyText("first answer"), replyText("second answer"),
			}})
			box := newSandbox(t, api, client)
			box.write(".claude/hook.sh", 0o700, `#!/bin/sh
cat >>"$HOME/stops"; echo >>"$HOME/stops"
mkdir "$HOME/blocked" 2>/dev/null || exit 0
echo '{"decision":"block","reason":"add <tests> & 中文"}'
`)
			box.write(".claude/settings.json", 0o600, `{"hooks":{"Stop":[{"hooks":[
				{"type":"command","command":"`+box.home+`/.claude/hook.sh","timeout":20}]}]}}`)

			got := box.run(30*time.Second, "", "claude", "-p", "hello")
			if got.code != 0 || strings.TrimSpace(got.stdout) != "second answer" {
				t.Errorf("claude -p hello: %+v", got)
			}
			if n := strings.Count(box.read("stops"), `"hook_event_name":"Stop"`); n != 2 {
				t.Errorf("%d stops, want 2:\n%s", n, box.read("stops"))
			}
			agent := api.requests("agent")
			if len(agent) != 2 {
				t.Fatalf("%d agent requests, want 2: %v", len(agent), api)
			}
			if text := agent[0].last("user"); !strings.Contains(text, "hello") {
				t.Errorf("first request ends with %q", text)
			}
			if text := agent[1].last("user"); !strings.Contains(text, "Stop hook feedback:\n") ||
				!strings.Contains(text, "add <tests> & 中文") {
				t.Errorf("second request ends with %q", text)
			}
			if key := agent[0].Header.Get("X-Api-Key"); key != sandboxKey {
				t.Errorf("key %q", key)
			}
			if outside := api.outside(); len(outside) != 0 {
				t.Errorf("the client wanted to reach %q", outside)
			}
		})
	}
}

// realClient is an installed Claude Code.
type realClient struct{ path, version string }

// realClients returns the clients listed in CCC_REAL_CLAUDE, separated as in
// PATH: each the native binary, or the cli.js of an older version. It skips
// the test when the variable is not set.
func realClients(t *testing.T) []realClient {
	t.Helper()
	list := os.Getenv("CCC_REAL_CLAUDE")
	if list == "" {
		t.Skip("CCC_REAL_CLAUDE is not set")
	}
	var clients []realClient
	for _, path := range filepath.SplitList(list) {
		cmd := exec.Command(path, "--version")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DISABLE_AUTOUPDATER=1"}
		out, err := cmd.Output()
		version, _, found := strings.Cut(string(out), " (Claude Code)")
		if err != nil || !found {
			t.Fatalf("CCC_REAL_CLAUDE: %s --version: %q, %v", path, out, err)
		}
		clients = append(clients, realClient{path, version})
	}
	return clients
}

// scriptedAPI is a Messages API that answers from a script and remembers what
// it was asked. It is an HTTP proxy too, one that refuses: what a client sends
// anywhere else ends here, and outside lists it.
type scriptedAPI struct {
	*httptest.Server
	answer func(apiRequest) apiReply
	marker string
	ended  chan struct{} // closed before the server closes: lets hanging replies go

	mu       sync.Mutex
	asked    []apiRequest
	refused  []string
	replied  int
	counters map[string]int // for script
}

// script holds the replies to the agent and to the reviewer, in order. The last
// one repeats; none at all answers "ok". With CLAUDE_CODE_MAX_RETRIES=1 an API
// error of a kind that the client tries again takes two places.
type script struct {
	agent, reviewer []apiReply

	// marker tells a reviewer's request that has no StructuredOutput tool
	// (keep_cache): it occurs in the text of no other request.
	marker string
}

func newScriptedAPI(t *testing.T, s script) *scriptedAPI {
	var mu sync.Mutex
	next := map[string][]apiReply{"agent": s.agent, "review": s.reviewer}
	return newAnsweringAPI(t, s.marker, func(r apiRequest) apiReply {
		mu.Lock()
		defer mu.Unlock()
		replies := next[r.Kind]
		if len(replies) == 0 {
			return replyText("ok")
		}
		// Up to 2.1.120 the model is asked once more after its verdict.
		if r.Kind == "review" && strings.HasPrefix(r.last("user"), "Structured output provided") {
			return replyText("submitted")
		}
		if len(replies) > 1 {
			next[r.Kind] = replies[1:]
		}
		return replies[0]
	})
}

// newAnsweringAPI is newScriptedAPI for a test that decides by the request.
// answer is called for agent and review requests, by many goroutines at once;
// a side request gets "ok".
func newAnsweringAPI(t *testing.T, marker string, answer func(apiRequest) apiReply) *scriptedAPI {
	api := &scriptedAPI{answer: answer, marker: marker, ended: make(chan struct{})}
	api.Server = httptest.NewServer(http.HandlerFunc(api.serve))
	t.Cleanup(func() {
		close(api.ended)
		api.CloseClientConnections()
		api.Close()
	})
	return api
}

// apiRequest is one POST /v1/messages as it came in.
type apiRequest struct {
	// Kind is "side" without tools (titles, suggestions) or for the warm-up of
	// a subagent, "review" for a call with --json-schema or with the marker,
	// else "agent".
	Kind     string
	Model    string
	System   string // its blocks, joined by newlines
	Messages []apiMessage
	Tools    []string // names
	Stream   bool
	Body     []byte
	Header   http.Header
	At       time.Time
}

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
	var found []apiRequest
	for _, r := range api.asked {
		if kind == "" || r.Kind == kind {
			found = append(found, r)
		}
	}
	return found
}

// await returns the requests of a kind once there are n of them, and fails the
// test when that takes longer than timeout.
func (api *scriptedAPI) await(t *testing.T, kind string, n int, timeout time.Duration) []apiRequest {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		found := api.requests(kind)
		if len(found) >= n {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d %s requests after %v, want %d: %v", len(found), kind, timeout, n, api)
		}
	}
}

// outside returns the "METHOD target" of what clients tried to send elsewhere.
func (api *scriptedAPI) outside() []string {
	api.mu.Lock()
	defer api.mu.Unlock()
	return slices.Clone(api.refused)
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
	text      string
	tool      string
	input     string
	status    int
	errorType string
	hangs     bool
}

func replyText(text string) apiReply { return apiReply{text: text} }

// replyTool calls a tool with input, a JSON object.
func replyTool(name, input string) apiReply { return apiReply{tool: name, input: input} }

// replyVerdict is what the reviewer says through --json-schema.
func replyVerdict(allowStop bool, feedback string) apiReply {
	input, err := json.Marshal(map[string]any{"allow_stop": allowStop, "feedback": feedback})
	if err != nil {
		panic(err)
	}
	return replyTool("StructuredOutput", string(input))
}

// replyError fails the request: 401 authentication_error, 529 overloaded_error.
func replyError(status int, errorType, message string) apiReply {
	return apiReply{status: status, errorType: errorType, text: message}
}

// replyHang sends nothing until the client goes away or the test ends.
func replyHang() apiReply { return apiReply{hangs: true} }

func (api *scriptedAPI) serve(w http.ResponseWriter, r *http.Request) {
	// The whole body first: only then does r.Context end with the connection.
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return
	}
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		api.mu.Lock()
		api.refused = append(api.refused, r.Method+" "+r.RequestURI)
		api.mu.Unlock()
		http.Error(w, "no network in tests", http.StatusForbidden)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		api.message(w, r, body.Bytes())
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		sendJSON(w, http.StatusOK, map[string]any{"input_tokens": 10})
	default:
		sendJSON(w, http.StatusOK, map[string]any{})
	}
}

func (api *scriptedAPI) message(w http.ResponseWriter, r *http.Request, body []byte) {
	request, err := parseRequest(body, api.marker)
	if err != nil {
		sendError(w, http.StatusBadRequest, "invalid_request_error", "scripted API: "+err.Error())
		return
	}
	request.Header = r.Header.Clone()
	request.At = time.Now()
	api.mu.Lock()
	api.asked = append(api.asked, request)
	api.mu.Unlock()

	reply := replyText("ok")
	if request.Kind != "side" {
		reply = api.answer(request)
	}
	switch {
	case reply.hangs:
		select {
		case <-r.Context().Done():
		case <-api.ended:
		}
	case reply.status != 0:
		sendError(w, reply.status, reply.errorType, reply.text)
	case request.Stream:
		api.stream(w, request.Model, reply)
	default:
		id, block, reason := api.block(reply)
		sendJSON(w, http.StatusOK, map[string]any{"id": id, "type": "message", "role": "assistant",
			"model": request.Model, "content": []any{block}, "stop_reason": reason, "stop_sequence": nil,
			"usage": map[string]any{"input_tokens": 10, "output_tokens": 5}})
	}
}

func parseRequest(body []byte, marker string) (apiRequest, error) {
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
		return apiRequest{}, err
	}
	r := apiRequest{Model: wire.Model, System: string(wire.System), Stream: wire.Stream, Body: body}
	for _, m := range wire.Messages {
		r.Messages = append(r.Messages, apiMessage{m.Role, string(m.Content)})
	}
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	switch {
	case slices.Contains(r.Tools, "StructuredOutput"), marker != "" && strings.Contains(r.text(), marker):
		r.Kind = "review"
	case len(r.Tools) == 0, r.last("user") == "Warmup":
		r.Kind = "side"
	default:
		r.Kind = "agent"
	}
	return r, nil
}

// apiContent is the text of a content field, which is a string or a list of
// blocks, and in a tool's result the same again.
type apiContent string

func (c *apiContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(c))
	}
	var blocks []struct {
		Type    string
		Text    string
		Name    string
		Input   json.RawMessage
		Content apiContent
	}
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "tool_use":
			parts = append(parts, b.Name+" "+string(b.Input))
		case "tool_result":
			parts = append(parts, string(b.Content))
		}
	}
	*c = apiContent(strings.Join(parts, "\n"))
	return nil
}

// block returns a new message id, the content block of reply and the stop reason.
func (api *scriptedAPI) block(reply apiReply) (id string, block map[string]any, reason string) {
	api.mu.Lock()
	api.replied++
	n := api.replied
	api.mu.Unlock()
	id = fmt.Sprintf("msg_%024d", n)
	if reply.tool == "" {
		return id, map[string]any{"type": "text", "text": reply.text}, "end_turn"
	}
	return id, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%024d", n), "name": reply.tool,
		"input": json.RawMessage(reply.input)}, "tool_use"
}

// stream sends reply as the server-sent events of a streamed message.
func (api *scriptedAPI) stream(w http.ResponseWriter, model string, reply apiReply) {
	id, block, reason := api.block(reply)
	delta := map[string]any{"type": "text_delta", "text": reply.text}
	if reply.tool != "" {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": reply.input}
	} else {
		block["text"] = ""
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []map[string]any{
		{"type": "message_start", "message": map[string]any{"id": id, "type": "message", "role": "assistant",
			"model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": map[string]any{"input_tokens": 10, "output_tokens": 1}}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": 5}},
		{"type": "message_stop"},
	} {
		data, err := json.Marshal(event)
		if err != nil {
			panic(err) // a replyTool whose input is not JSON
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data)
	}
}

func sendError(w http.ResponseWriter, status int, errorType, message string) {
	sendJSON(w, status, map[string]any{"type": "error",
		"error": map[string]any{"type": errorType, "message": message}})
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(data)
}

// sandboxKey is not a key; the client only wants something that looks like one.
const sandboxKey = "sk-dummy-000000000000000000000000"

// sandbox is a home, a working directory and an environment made from nothing,
// in which "claude" is the client under test.
type sandbox struct {
	t    *testing.T
	home string
	work string   // the project: no git repository, one file, notes.txt
	vars []string // the environment; append to it, the last of a name counts
}

// newSandbox makes a sandbox whose API is api. At the end of the test it must
// be quiet: a process that still runs then fails the test, and is killed.
func newSandbox(t *testing.T, api *scriptedAPI, client realClient) *sandbox {
	t.Helper()
	// Not t.TempDir, whose name is as long as the test's: the paths of the
	// sockets in here must stay under 104 bytes.
	dir, err := os.MkdirTemp("", "ccc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	box := &sandbox{t: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	for _, name := range []string{"home", "work", "bin", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(client.path, filepath.Join(dir, "bin", "claude")); err != nil {
		t.Fatal(err)
	}
	box.vars = []string{
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + box.home,
		"TMPDIR=" + filepath.Join(dir, "tmp"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"SHELL=/bin/sh",
		"ANTHROPIC_BASE_URL=" + api.URL,
		"ANTHROPIC_API_KEY=" + sandboxKey,
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"IS_SANDBOX=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		"HTTP_PROXY=" + api.URL,
		"HTTPS_PROXY=" + api.URL,
		"NO_PROXY=127.0.0.1",
	}
	box.write("../work/notes.txt", 0o600, "a note\n")
	// What spares an interactive session the dialogs of a first start.
	box.write(".claude.json", 0o600, fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark",
		"bypassPermissionsModeAccepted":true,"customApiKeyResponses":{"approved":[%q],"rejected":[]},
		"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`,
		sandboxKey[len(sandboxKey)-20:], box.work))
	t.Cleanup(func() {
		if left := box.quiet(2 * time.Second); len(left) != 0 {
			t.Errorf("still running at the end: %q", left)
			box.kill()
		}
	})
	return box
}

// write puts a file under the home, with the directories it needs.
func (box *sandbox) write(name string, mode os.FileMode, content string) {
	box.t.Helper()
	path := filepath.Join(box.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		box.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		box.t.Fatal(err)
	}
}

// read returns a file under the home, "" when there is none.
func (box *sandbox) read(name string) string {
	box.t.Helper()
	data, err := os.ReadFile(filepath.Join(box.home, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		box.t.Fatal(err)
	}
	return string(data)
}

// command prepares argv in the working directory, as leader of a process group.
// A name without a slash is looked up in the PATH of the sandbox.
func (box *sandbox) command(argv ...string) *exec.Cmd {
	box.t.Helper()
	path := argv[0]
	if !strings.Contains(path, "/") {
		path = ""
		for _, dir := range filepath.SplitList(box.getenv("PATH")) {
			found, err := exec.LookPath(filepath.Join(dir, argv[0]))
			if err == nil {
				path = found
				break
			}
		}
		if path == "" {
			box.t.Fatalf("%s is not in the PATH of the sandbox", argv[0])
		}
	}
	return &exec.Cmd{Path: path, Args: argv, Dir: box.work, Env: box.vars,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
}

func (box *sandbox) getenv(name string) string {
	for _, v := range slices.Backward(box.vars) {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// commandResult is how a command ended. code is -1 after a signal.
type commandResult struct {
	stdout, stderr string
	code           int
	timedOut       bool
	took           time.Duration
}

// run runs argv to its end with stdin as its input. After timeout it kills the
// process group and reports what there is.
func (box *sandbox) run(timeout time.Duration, stdin string, argv ...string) commandResult {
	box.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := box.command(argv...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A process outside the group that holds the pipes must not hold the test.
	cmd.WaitDelay = time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		box.t.Fatal(err)
	}
	var timedOut bool
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-done:
		case <-time.After(timeout):
			timedOut = true
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	err := cmd.Wait()
	close(done)
	<-watched
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		box.t.Fatal(err)
	}
	return commandResult{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), timedOut, time.Since(start)}
}

// processes lists what runs in the sandbox as "PID command line". The mark is
// the HOME in the environment: it survives setsid, a change of directory and
// the death of the parent. Only Linux shows it (/proc); elsewhere the list is
// empty and proves nothing.
func (box *sandbox) processes() []string {
	var found []string
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name) // fails for other users' and for ended ones
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+box.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		pid := filepath.Base(filepath.Dir(name))
		found = append(found, pid+" "+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return found
}

// quiet waits until nothing runs in the sandbox, and returns what still does
// after timeout.
func (box *sandbox) quiet(timeout time.Duration) []string {
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		left := box.processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// kill ends, by pid, whatever runs in the sandbox.
func (box *sandbox) kill() {
	for _, process := range box.processes() {
		pid, _, _ := strings.Cut(process, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// terminal is a command in a detached tmux of its own, 120 by 40.
type terminal struct {
	box    *sandbox
	socket string
}

// terminal starts argv, each word quoted for the shell, in the working
// directory. At the end of the test the tmux server is killed, and the sandbox
// then proves that nothing is left of it.
func (box *sandbox) terminal(argv ...string) *terminal {
	box.t.Helper()
	tty := &terminal{box, filepath.Join(filepath.Dir(box.home), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", box.work, "--"}
	args = append(args, argv...)
	// The pane outlives its command, so that its last words can be read.
	args = append(args, ";", "set-option", "-g", "remain-on-exit", "on",
		";", "set-option", "-g", "status", "off")
	box.t.Cleanup(func() { tty.tmux("kill-server") })
	if out := tty.tmux(args...); out.code != 0 {
		box.t.Fatalf("tmux: %+v", out)
	}
	return tty
}

// tmux runs one tmux command on the private socket.
func (tty *terminal) tmux(args ...string) commandResult {
	tty.box.t.Helper()
	return tty.box.run(10*time.Second, "", append([]string{"tmux", "-S", tty.socket}, args...)...)
}

// keys presses keys by their tmux names: "Enter", "Escape", "C-c", "Down".
func (tty *terminal) keys(names ...string) {
	tty.box.t.Helper()
	if out := tty.tmux(append([]string{"send-keys"}, names...)...); out.code != 0 {
		tty.box.t.Fatalf("tmux send-keys %q: %+v", names, out)
	}
}

// prompt types text literally, and sends it.
func (tty *terminal) prompt(text string) {
	tty.box.t.Helper()
	tty.keys("-l", "--", text)
	// Enter within the same burst would count as a pasted newline.
	time.Sleep(300 * time.Millisecond)
	tty.keys("Enter")
}

// screen returns what the terminal shows, with wrapped lines joined.
func (tty *terminal) screen() string {
	tty.box.t.Helper()
	return tty.tmux("capture-pane", "-p", "-J").stdout
}

// waitFor waits until the screen contains text, and fails the test when that
// takes longer than timeout.
func (tty *terminal) waitFor(text string, timeout time.Duration) {
	tty.box.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		screen := tty.screen()
		if strings.Contains(screen, text) {
			return
		}
		if time.Now().After(deadline) {
			tty.box.t.Fatalf("no %q on the screen after %v:\n%s", text, timeout, screen)
		}
	}
}

// waitExit waits for the command to end and returns its exit code.
func (tty *terminal) waitExit(timeout time.Duration) int {
	tty.box.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		out := tty.tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}").stdout
		if status, dead := strings.CutPrefix(strings.TrimSpace(out), "1 "); dead {
			code, err := strconv.Atoi(status)
			if err != nil {
				return -1 // ended by a signal
			}
			return code
		}
		if time.Now().After(deadline) {
			tty.box.t.Fatalf("still running after %v:\n%s", timeout, tty.screen())
		}
	}
}
