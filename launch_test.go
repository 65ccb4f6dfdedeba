package main

// What ccc takes for claude.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A claude that is ccc, or calls it again and again, is told of, once.
func TestLaunchOfItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		claude string // a shell script, or LINK
		vars   string
	}{
		{name: "link", claude: "LINK"},
		{name: "named", claude: "exit 7", vars: "CCC_CLAUDE=ccc"},
		{name: "exec", claude: `exec ccc "$@"`},
		{name: "exec_supervised", claude: `exec ccc --supervisor -- "$@"`},
		{name: "child", claude: `ccc "$@"`},
		{name: "child_of_child", claude: `sh -c 'ccc "$@"; exit $?' sh "$@"`},
		{name: "exec_in_agent", claude: `exec ccc "$@"`, vars: "CLAUDECODE=1"},
		{name: "child_in_agent", claude: `ccc "$@"`, vars: "CLAUDECODE=1"},
	}
	for _, test := range tests {
		for _, flag := range []string{"-p", "--supervisor"} {
			t.Run(test.name+flag, func(t *testing.T) {
				box := newFakeBox(t)
				path := filepath.Join(filepath.Dir(box.home), "bin/claude")
				switch self, _ := os.Executable(); test.claude {
				case "LINK":
					os.Remove(path)
					if err := os.Symlink(self, path); err != nil {
						t.Fatal(err)
					}
				default:
					box.claudeIs(`echo start >>"$HOME/starts"` + "\n" + test.claude)
				}
				box.vars = append(box.vars, test.vars)
				got := box.run(60*time.Second, "", "ccc", flag, "--verbose")
				said := strings.Contains(got.stderr, "ccc itself") || strings.Contains(got.stderr, path+" calls ccc again")
				if got.code != 126 || got.timedOut || got.stdout != "" || !said || strings.Count(got.stderr, "ccc: ") != 1 {
					t.Errorf("%+v", got)
				}
				if starts := strings.Count(box.read("starts"), "start"); starts > startsLimit {
					t.Errorf("%d starts, at most %d", starts, startsLimit)
				}
				if strings.Contains(got.stderr, "ccc itself") && len(box.files()) != 0 {
					t.Errorf("files %v", box.files())
				}
			})
		}
	}
}

// A review ends as well, and the agent is not told a word of it.
func TestReviewByItself(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"exec": `exec ccc "$@"`, "child": `ccc "$@"`, "exec_supervised": `exec ccc --supervisor -- "$@"`} {
		t.Run(name, func(t *testing.T) {
			box := newHookBox(t)
			box.claudeIs(`echo start >>"$HOME/starts"` + "\n" + script)
			got := box.stop("")
			if got.code != 0 || got.timedOut || got.stdout != "" || !strings.Contains(got.stderr, "no review: ") {
				t.Errorf("%+v", got)
			}
			if starts := strings.Count(box.read("starts"), "start"); starts > 1+startsLimit {
				t.Errorf("%d starts", starts)
			}
		})
	}
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_CLAUDE="+box.program())
	if got := box.stop(""); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "is ccc itself") {
		t.Errorf("%+v", got)
	}
}

// A wrapper that calls the real claude is a claude, and an agent may call ccc.
func TestLaunchOfWrapper(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"exec": `exec "` + fakeClaude() + `" "$@"`, "child": `"` + fakeClaude() + `" "$@"; exit $?`,
		"asks_ccc": `ccc --version >/dev/null; ccc status >/dev/null; exec "` + fakeClaude() + `" "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			box := newFakeBox(t)
			box.claudeIs(script)
			box.turns("sh [ -n \"$AGAIN\" ] || AGAIN=1 ccc --supervisor -p again >\"$HOME/again\"\nDone.\n")
			got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
			if got.code != 0 || got.timedOut || !strings.HasSuffix(got.stdout, "Done.\n") || !strings.Contains(box.read("again"), "本会话受监督") || !strings.Contains(box.read("again"), "Done.") {
				t.Errorf("%+v, again: %q", got, box.read("again"))
			}
		})
	}
}

// A supervised background session is refused with the way that works: where the hooks are missing, they come first.
func TestLaunchBackground(t *testing.T) {
	box := newFakeBox(t)
	for _, hint := range []string{"once ccc --supervisor", "start it without --supervisor"} {
		for _, flag := range []string{"--bg", "--background", "--tmux=classic"} {
			got := box.run(30*time.Second, "", "ccc", "--supervisor", "--", flag, "x")
			if got.code != 2 || !strings.Contains(got.stderr, "\n     "+hint) || !strings.Contains(got.stderr, "/supervisor on") || box.read("../fake/agent-1/args") != "" {
				t.Errorf("%+v, want a hint at %q", got, hint)
			}
		}
		if hint != "start it without --supervisor" {
			box.launch()
			os.RemoveAll(filepath.Join(box.home, "../fake/agent-1"))
		}
	}
	if got := box.run(30*time.Second, "", "ccc", "--supervisor", "-p", "--", "--bg"); got.code != 0 {
		t.Errorf("behind --: %+v", got)
	}
}
