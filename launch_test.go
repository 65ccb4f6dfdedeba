package main

// What ccc takes for claude.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A claude that is ccc, or calls it, is told of, once and at once.
func TestLaunchOfItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		claude string // a shell script; LINK and COPY are no script
		vars   string
		most   int // starts
	}{
		{name: "link", claude: "LINK"},
		{name: "copy", claude: "COPY"},
		{name: "named", claude: "exit 7", vars: "CCC_CLAUDE=ccc"},
		{name: "exec", claude: `exec ccc "$@"`, most: 1},
		{name: "exec_supervised", claude: `exec ccc --supervisor -- "$@"`, most: 1},
		{name: "child", claude: `ccc "$@"`, most: 1},
		{name: "child_of_child", claude: `sh -c 'ccc "$@"; exit $?' sh "$@"`, most: startsLimit},
		{name: "exec_in_agent", claude: `exec ccc "$@"`, vars: "CLAUDECODE=1", most: 1},
		{name: "child_in_agent", claude: `ccc "$@"`, vars: "CLAUDECODE=1", most: startsLimit},
	}
	for _, test := range tests {
		for _, flag := range []string{"-p", "--supervisor"} {
			t.Run(test.name+flag, func(t *testing.T) {
				box := newFakeBox(t)
				path := filepath.Join(filepath.Dir(box.home), "bin/claude")
				switch self, _ := os.Executable(); test.claude {
				case "LINK", "COPY":
					os.Remove(path)
					command := map[string]string{"LINK": "ln -s", "COPY": "cp"}[test.claude]
					if got := box.run(30*time.Second, "", "sh", "-c", command+` "$1" "$2"`, "sh", self, path); got.code != 0 {
						t.Fatalf("%+v", got)
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
				if starts := strings.Count(box.read("starts"), "start"); starts > test.most {
					t.Errorf("%d starts, at most %d", starts, test.most)
				}
				if test.most == 0 && len(box.files()) != 0 {
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
			if got.code != 0 || got.timedOut || got.stdout != "" || !strings.Contains(got.stderr, "calls ccc again") {
				t.Errorf("%+v", got)
			}
			if starts := box.read("starts"); starts != "start\n" {
				t.Errorf("starts: %q", starts)
			}
		})
	}
	box := newHookBox(t)
	box.vars = append(box.vars, "CCC_CLAUDE="+box.program())
	if got := box.stop(""); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "is ccc itself") {
		t.Errorf("%+v", got)
	}
}

// Where it can't be noted which client a launch became, it is supervised all the same.
func TestLaunchNotClaimed(t *testing.T) {
	box := newFakeBox(t)
	// A directory in the place of the lock.
	box.claudeIs(`cd "$HOME/.claude/ccc" && rm -f state.lock && mkdir -p state.lock; cd - >/dev/null; "` + fakeClaude() + `" "$@"; exit $?`)
	got := box.run(60*time.Second, "", "ccc", "--supervisor", "-p", "hi")
	if got.code != 0 || len(box.timelineVerdicts()) != 1 {
		t.Errorf("%+v, verdicts %v", got, box.timelineVerdicts())
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
