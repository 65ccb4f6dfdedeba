package main

// Background sessions: what goes to claude for one, and whose hooks are answered.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a launch has to say to a background session is in its --settings, and no
// more in the environment that its service would pass on to every other session.
func TestBackgroundLaunch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string // FILE is a settings file of the user's
		want []string // SETTINGS are those with ccc's part
		mine string   // of the settings, what the user's own have
	}{
		{"none", []string{"--bg", "fix it"}, []string{"--settings", "SETTINGS", "--bg", "fix it"}, ""},
		{"long_name", []string{"--background", "fix it"}, []string{"--settings", "SETTINGS", "--background", "fix it"}, ""},
		{"own", []string{"--bg", "--settings", `{"model":"opus","env":{"MINE":"1"}}`, "x"}, []string{"--bg", "--settings", "SETTINGS", "x"}, "opus"},
		{"own_with_equals", []string{"--bg", `--settings={"model":"opus"}`}, []string{"--bg", "--settings=SETTINGS"}, "opus"},
		{"the_last_counts", []string{"--settings", `{"model":"sonnet"}`, "--bg", "--settings", `{"model":"opus"}`},
			[]string{"--settings", `{"model":"sonnet"}`, "--bg", "--settings", "SETTINGS"}, "opus"},
		{"file", []string{"--settings", "FILE", "--bg"}, []string{"--settings", "COPY", "--bg"}, "haiku"},
		{"operand", []string{"--bg", "--", "--settings", "x"}, []string{"--settings", "SETTINGS", "--bg", "--", "--settings", "x"}, ""},
		{"no_background", []string{"-p", "--", "--bg"}, []string{"-p", "--", "--bg"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := newFakeBox(t)
			box.write("../work/mine.json", 0o644, `{"model": "haiku", "apiKeyHelper": "secret"}`)
			box.claudeIs(`for a; do printf '%s\0' "$a"; done >"$HOME/args"; env >"$HOME/env"`)
			box.vars = append(box.vars, "CCC_SUPERVISOR=1", "CCC_LAUNCH=1-1", "CCC_PROVIDER=old")
			args := slices.Clone(test.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "FILE", "mine.json")
			}
			if got := box.run(30*time.Second, "", append([]string{"ccc", "--supervisor"}, args...)...); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			passed := strings.Split(strings.TrimSuffix(box.read("args"), "\x00"), "\x00")
			copies, _ := filepath.Glob(filepath.Join(box.home, ".claude/ccc/background-*-settings.json"))
			text := ""
			for i, want := range test.want {
				switch {
				case i >= len(passed):
				case strings.HasSuffix(want, "SETTINGS"):
					text = strings.TrimPrefix(passed[i], "--settings=")
					passed[i] = want
				case want == "COPY" && len(copies) == 1 && passed[i] == copies[0]:
					content, _ := os.ReadFile(copies[0])
					if info, err := os.Stat(copies[0]); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("the copy's mode: %v, %v", info.Mode(), err)
					}
					text, passed[i] = string(content), want
				}
			}
			if !slices.Equal(passed, test.want) {
				t.Errorf("got %q, want %q", passed, test.want)
			}
			env := box.read("env")
			if test.name == "no_background" {
				if !strings.Contains(env, "CCC_SUPERVISOR=1\n") || text != "" {
					t.Errorf("a session in the foreground: %s", env)
				}
				return
			}
			if strings.Contains(env, "CCC_SUPERVISOR=") || strings.Contains(env, "CCC_LAUNCH=") {
				t.Errorf("the service would get\n%s", env)
			}
			var settings struct {
				Model string
				Env   map[string]string
			}
			if err := json.Unmarshal([]byte(text), &settings); err != nil || settings.Model != test.mine {
				t.Fatalf("%v: %s", err, text)
			}
			for name, want := range map[string]string{supervisorVariable: "1", blockCapVariable: "10", providerVariable: "", configDirVariable: "", languageVariable: "zh"} {
				if got, ok := settings.Env[name]; !ok || got != want {
					t.Errorf("%s is %q, %v", name, got, ok)
				}
			}
			for _, name := range []string{addDirsVariable, workDirVariable, claudeVariable} { // empty, another launch's do not count
				if _, ok := settings.Env[name]; !ok {
					t.Errorf("%s is not passed on", name)
				}
			}
			if _, ok := settings.Env[attributionVariable]; ok {
				t.Errorf("what nobody has set is set: %v", settings.Env)
			}
			if !strings.HasPrefix(settings.Env[launchVariable], backgroundPrefix) || test.name == "own" && settings.Env["MINE"] != "1" {
				t.Errorf("env %v", settings.Env)
			}
			if got := box.run(30*time.Second, "", "ccc", "uninstall", "--purge"); got.code != 0 || len(slices.DeleteFunc(box.files(), func(name string) bool {
				return name == "args" || name == "env" || strings.HasSuffix(name, lockName)
			})) != 0 {
				t.Errorf("left: %q", box.files())
			}
		})
	}
	paid := newFakeBox(t)
	paid.claudeIs(`printf '%s\n' "$@" >"$HOME/args"`)
	paid.vars = append(paid.vars, "ANTHROPIC_AUTH_TOKEN=t")
	paid.write(".claude/ccc.json", 0o600, `{"supervisor":{"keep_cache":true}}`)
	if got := paid.run(30*time.Second, "", "ccc", "--supervisor", "--bg", "x"); got.code != 0 || !strings.Contains(paid.read("args"), `"CLAUDE_CODE_ATTRIBUTION_HEADER": "0"`) {
		t.Errorf("%+v, arguments %s", got, paid.read("args"))
	}
	// What the user's own --settings say of Claude Code's variables wins.
	if got := paid.run(30*time.Second, "", "ccc", "--supervisor", "--settings", `{"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"3"}}`, "--bg", "x"); got.code != 0 ||
		!strings.Contains(paid.read("args"), `"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"3"`) {
		t.Errorf("%+v, arguments %s", got, paid.read("args"))
	}
	box := newFakeBox(t) // its service would pass the provider's token on, and another's URL
	box.write(".claude/ccc.json", 0o600, twoProviders)
	before := box.files()
	if got := box.run(30*time.Second, "", "ccc", "glm", "--bg", "x"); got.code != 2 || !strings.Contains(got.stderr, "glm") || !slices.Equal(box.files(), before) {
		t.Errorf("%+v, files %v", got, box.files())
	}
	box = newFakeBox(t)
	box.claudeIs(`printf '%s\n' "$@" >"$HOME/args"`)
	if got := box.run(30*time.Second, "", "ccc", "--supervisor", "--bg", "--settings"); got.code != 0 || !strings.HasSuffix(box.read("args"), "--bg\n--settings\n") {
		t.Errorf("--settings without a value, which claude complains of: %+v, arguments %s", got, box.read("args"))
	}
	for _, settings := range []string{"no such file", "{bad", `{"env":[]}`} {
		box := newFakeBox(t)
		got := box.run(30*time.Second, "", "ccc", "--supervisor", "--bg", "--settings", settings)
		if got.code == 0 || !strings.Contains(got.stderr, "--settings: ") || len(box.files()) != 0 {
			t.Errorf("%s: %+v, files %v", settings, got, box.files())
		}
	}
}

// A token says by the way it came whose it is.
func TestBackgroundHook(t *testing.T) {
	box := newHookBox(t)
	other := box.command("sleep", "60") // what another launch became, and whose service passes its token on
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	vars := append(slices.Clone(box.vars), "CCC_SUPERVISOR=1", "CLAUDE_PROJECT_DIR="+box.work)
	for token, want := range map[string]string{
		fmt.Sprintf("%d-%d", other.Process.Pid, time.Now().UnixMilli()): "",          // this test is no child of that process
		fmt.Sprintf("background-99999999-%d", time.Now().UnixMilli()):   blockNotYet, // the test has no such variable: it came by the settings
	} {
		box.vars = append(slices.Clone(vars), "CCC_LAUNCH="+token)
		if got := box.stop(""); got.code != 0 || got.stdout != want {
			t.Errorf("%s: %+v, want %q", token, got, want)
		}
	}
	// A client that was started with the token is one that the agent calls.
	box = newFakeBox(t)
	box.launch()
	box.vars = append(box.vars, "CCC_SUPERVISOR=1", fmt.Sprintf("CCC_LAUNCH=background-99999999-%d", time.Now().UnixMilli()))
	got := box.run(30*time.Second, "", "claude", "-p", "hi")
	if sessions := box.supervised(); got.code != 0 || got.stdout != "Done.\n" || len(sessions) != 0 {
		t.Errorf("%+v, supervised %q", got, sessions)
	}
}

// background has the command start a background session, and the service too if
// there is none. It returns the session's short id.
func (box *sandbox) background(command ...string) (id string) {
	box.t.Helper()
	got := box.run(30*time.Second, "", command...)
	_, line, found := strings.Cut(got.stdout, "claude attach ")
	if got.code != 0 || !found {
		box.t.Fatalf("%+v", got)
	}
	return strings.Fields(line)[0]
}

// endsService ends the background service of the sandbox when the test does.
func (box *sandbox) endsService() {
	box.t.Cleanup(func() {
		_, folder, _ := strings.Cut(box.run(30*time.Second, "", "claude", "daemon", "status").stdout, "sock dir:")
		got := box.run(30*time.Second, "", "claude", "daemon", "stop", "--any")
		box.quiet(20 * time.Second)
		if folder = strings.TrimSpace(strings.SplitN(folder, "\n", 2)[0]); strings.Contains(folder, "/cc-daemon-") {
			os.RemoveAll(folder) // it is outside of the sandbox
		} else {
			box.t.Errorf("ending the service: %q, %+v", folder, got)
		}
	})
}

// supervised lists the sessions that ccc knows: the first prompt of each and its
// verdicts, as "prompt: verdict verdict".
func (box *sandbox) supervised() (sessions []string) {
	box.t.Helper()
	ids, _ := stateDir(filepath.Join(box.home, ".claude/ccc")).sessions()
	for _, id := range ids {
		prompt, verdicts := "", ""
		for _, r := range box.timeline(id) {
			if prompt == "" {
				prompt = r.Prompt
			}
			if r.Verdict != "" {
				verdicts += " " + string(r.Verdict)
			}
		}
		sessions = append(sessions, prompt+":"+verdicts)
	}
	slices.Sort(sessions)
	return sessions
}

// expectSupervised waits until n stops were made in all, and then for the sessions
// that ccc knows to be these.
func (box *sandbox) expectSupervised(n int, want ...string) {
	box.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		stops, got := strings.Count(box.read("stops"), "stop"), box.supervised()
		if stops >= n && slices.Equal(got, want) {
			break
		}
		if time.Now().After(deadline) {
			box.t.Fatalf("%d stops, want %d; supervised %q, want %q", stops, n, got, want)
		}
	}
	time.Sleep(2 * time.Second) // for a review that should not be
	if got := box.supervised(); !slices.Equal(got, want) {
		box.t.Errorf("supervised %q, want %q", got, want)
	}
}

// Exactly the background sessions that ccc started supervised are, whoever started
// their service.
func TestRealClientBackground(t *testing.T) {
	const bypass = "--permission-mode=bypassPermissions"
	const mine = `{"env":{"MINE":"%s"},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo $MINE >>$HOME/mine"}]}]}}`
	run := func(name string, test func(t *testing.T, box *sandbox)) {
		t.Run(name, func(t *testing.T) {
			forNewest(t, func() script { return script{} }, func(t *testing.T, client realClient, box *sandbox, _ *scriptedAPI) {
				rejections := 9
				box.use(newAnsweringAPI(t, "", func(r apiRequest) apiReply {
					last := r.last("user")
					switch _, command, isRun := strings.Cut(last, "run: "); {
					case r.Kind == "review" && strings.Contains(r.text(), "ten reviews") && rejections > 0:
						rejections--
						return replyVerdict(false, "not yet")
					case r.Kind == "review":
						return replyVerdict(true, "")
					case isRun && !strings.Contains(last, "HAS RUN"):
						return replyTool("Bash", fmt.Sprintf(`{"command":%s,"description":"run"}`, encodeJSON(strings.TrimSpace(command)+"; echo HAS RUN")))
					}
					return replyText("done")
				}))
				box.setSettings(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo stop >>$HOME/stops"}]}]}}`)
				box.endsService()
				test(t, box)
			})
		})
	}
	run("plain_service", func(t *testing.T, box *sandbox) {
		box.background("claude", bypass, "--bg", "plain")
		box.background("ccc", "--supervisor", bypass, "--bg", "asked for")
		box.expectSupervised(2, "asked for: allow")
		box.background("ccc", "--supervisor", bypass, "--settings", fmt.Sprintf(mine, "text"), "--bg", "with text")
		box.write("../work/mine.json", 0o600, fmt.Sprintf(mine, "file"))
		box.background("ccc", "--supervisor", bypass, "--bg", "--settings=mine.json", "with file")
		box.expectSupervised(4, "asked for: allow", "with file: allow", "with text: allow")
		if got := strings.Fields(box.read("mine")); !slices.Contains(got, "text") || !slices.Contains(got, "file") {
			t.Errorf("the user's own settings: %q", got)
		}
		box.background("claude", bypass, "--bg", "plain again")
		box.expectSupervised(5, "asked for: allow", "with file: allow", "with text: allow")
	})
	run("respawned", func(t *testing.T, box *sandbox) {
		if testing.Short() {
			t.Skip("needs tmux")
		}
		box.background("claude", bypass, "--bg", "plain")
		id := box.background("ccc", "--supervisor", bypass, "--bg", "asked for")
		box.expectSupervised(2, "asked for: allow")
		for _, command := range []string{"stop", "respawn"} {
			if got := box.run(30*time.Second, "", "claude", command, id); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			time.Sleep(2 * time.Second)
		}
		box.open("claude", "attach", id).prompt("and more")
		box.expectSupervised(3, "asked for: allow allow")
	})
	run("supervised_service", func(t *testing.T, box *sandbox) {
		box.background("ccc", "--supervisor", bypass, "--bg", "run: claude -p 'nested'")
		first := "run: claude -p 'nested': allow"
		box.expectSupervised(2, first)
		box.background("claude", bypass, "--bg", "plain")
		box.background("claude", bypass, "--settings", fmt.Sprintf(mine, "plain"), "--bg", "plain with settings")
		box.expectSupervised(4, first)
		box.background("ccc", "--supervisor", bypass, "--bg", "ten reviews")
		box.expectSupervised(14, first, "ten reviews:"+strings.Repeat(" block", 9)+" allow")
	})
	run("agents_service", func(t *testing.T, box *sandbox) {
		got := box.run(60*time.Second, "", "ccc", "--supervisor", bypass, "-p", "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent'")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		first := "run: claude --bg 'of the agent'; ccc -p 'ccc of the agent': allow"
		box.expectSupervised(3, first)
		box.background("claude", bypass, "--bg", "plain")
		box.background("ccc", "--supervisor", bypass, "--bg", "asked for")
		box.expectSupervised(5, "asked for: allow", first)
	})
}
