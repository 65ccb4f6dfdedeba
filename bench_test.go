package main

// What ccc adds, measured beside what a user would write instead:
//
//	go test -run xxx -bench . -benchtime 2s
//
// docs/benchmarks.md has the ratios.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildProgram compiles the Go package in dir as a user would install it.
func buildProgram(b *testing.B, dir string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

// benchEvent is a stop in project of a session of its own, so that no limit is reached.
func benchEvent(n int, project string) string {
	return fmt.Sprintf(`{"session_id":"bench-%d","hook_event_name":"Stop","cwd":%q}`, n, project)
}

func benchCommand(b *testing.B, env []string, argv ...string) {
	b.Helper()
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(argv[len(argv)-1], "jq") {
		b.Skip("jq is not installed")
	}
	env = append(env, "PATH="+os.Getenv("PATH"))
	n, project := 0, b.TempDir()
	for b.Loop() {
		n++
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(benchEvent(n, project))
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHookUnsupervised(b *testing.B) {
	b.Run("empty_program", func(b *testing.B) {
		dir := b.TempDir()
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module empty\n"), 0o600)
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600)
		benchCommand(b, nil, buildProgram(b, dir))
	})
	b.Run("ccc", func(b *testing.B) {
		benchCommand(b, []string{"HOME=" + b.TempDir(), "CLAUDE_PROJECT_DIR=/tmp"}, buildProgram(b, "."), "supervisor-hook")
	})
	b.Run("sh_jq", func(b *testing.B) {
		benchCommand(b, nil, "sh", "-c", "jq -r .session_id")
	})
}

// instantReviewer answers at once; a stop through ccc takes this long and what
// ccc adds.
const instantReviewer = "#!/bin/sh\ncat >/dev/null\n" +
	`printf '%s\n' '{"type":"result","subtype":"success","structured_output":{"allow_stop":false,"feedback":"x"}}'` + "\n"

// shellHook is the same hook as a user would write it with jq.
const shellHook = `event=$(cat)
[ "$(printf %s "$event" | jq -r .hook_event_name)" = Stop ] || exit 0
result=$(printf %s "$event" | "$CCC_CLAUDE" --print --resume "$(printf %s "$event" | jq -r .session_id)" | jq -c 'select(.type=="result").structured_output')
[ "$(printf %s "$result" | jq -r .allow_stop)" = true ] || printf %s "$result" | jq -c '{decision:"block",reason:.feedback}'
`

func BenchmarkHookSupervised(b *testing.B) {
	reviewer := filepath.Join(b.TempDir(), "claude")
	if err := os.WriteFile(reviewer, []byte(instantReviewer), 0o700); err != nil {
		b.Fatal(err)
	}
	env := []string{"CCC_CLAUDE=" + reviewer, "CCC_SUPERVISOR=1", "HOME=" + b.TempDir()}
	b.Run("reviewer_alone", func(b *testing.B) { benchCommand(b, env, reviewer) })
	b.Run("ccc", func(b *testing.B) {
		os.Mkdir(filepath.Join(strings.TrimPrefix(env[2], "HOME="), ".claude"), 0o700)
		benchCommand(b, env, buildProgram(b, "."), "supervisor-hook")
	})
	b.Run("sh_jq", func(b *testing.B) {
		benchCommand(b, env, "sh", "-c", shellHook)
	})
}

// benchTimelines writes the timelines of n sessions of 20 reviews each into home, and returns their directory.
func benchTimelines(home string, n int) stateDir {
	d := stateDir(filepath.Join(home, ".claude", "ccc"))
	d.create()
	review := append(encodeJSON(ended(review{Iteration: 1, Limit: 10, outcome: outcome{
		Verdict: verdictBlock, Feedback: strings.Repeat("main.go:12 没有处理错误。\n", 20), CostUSD: 0.1}}).in("/tmp")), '\n')
	for i := range n {
		appendFile(d.session(fmt.Sprintf("s%d", i)).timelineFile(), bytes.Repeat(review, 20))
	}
	return d
}

// BenchmarkShow shows 10, 100 (a month) and 1,000 sessions of 20 reviews, and one of them.
func BenchmarkShow(b *testing.B) {
	program := buildProgram(b, ".")
	for _, n := range []int{10, 100, 1000} {
		home := b.TempDir()
		d := benchTimelines(home, n)
		show := func(name string, argv ...string) {
			b.Run(fmt.Sprintf("%s/%d_sessions", name, n), func(b *testing.B) { benchCommand(b, []string{"HOME=" + home}, argv...) })
		}
		show("status/ccc", program, "status")
		show("status/sh_jq", "sh", "-c", "cat "+d.session("s*").timelineFile()+` | jq -r '[.time, .project, .verdict, .cost_usd] | @tsv'`)
		show("log/ccc", program, "log", "s7")
		show("log/sh_jq", "sh", "-c", `jq -r ".time, .verdict, .feedback" `+d.session("s7").timelineFile())
	}
}

// BenchmarkStatusline prints the status line of a session that is reviewed at that moment, beside a timeline of 2 MB.
func BenchmarkStatusline(b *testing.B) {
	program, home := buildProgram(b, "."), b.TempDir()
	d := stateDir(filepath.Join(home, ".claude", "ccc"))
	d.create()
	begin := encodeJSON(began(review{ID: "r", Iteration: 1, Limit: 10}))
	call := encodeJSON(did(step{Kind: stepCall, Review: "r", Tool: "Read(" + strings.Repeat("/tmp/a", 20) + ")"}))
	appendFile(d.session("bench").timelineFile(), []byte(string(begin)+"\n"+strings.Repeat(string(call)+"\n", 2_000_000/len(call))))
	for b.Loop() {
		cmd := exec.Command(program, "statusline")
		cmd.Env, cmd.Stdin = []string{"HOME=" + home}, strings.NewReader(`{"session_id":"bench"}`)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCopy runs true in a throw-away copy.
func BenchmarkCopy(b *testing.B) {
	program := buildProgram(b, ".")
	best(b, "try_true", func() error { return exec.Command(program, "try", "true").Run() })
}

// best runs a benchmark and tells the shortest run beside the mean: of those that nothing else disturbed.
func best(b *testing.B, name string, run func() error) {
	b.Run(name, func(b *testing.B) {
		shortest := time.Hour
		for b.Loop() {
			start := time.Now()
			if err := run(); err != nil {
				b.Fatal(err)
			}
			shortest = min(shortest, time.Since(start))
		}
		b.ReportMetric(float64(shortest.Milliseconds()), "best-ms")
	})
}

// BenchmarkLook measures git's look at a working tree, at a prompt and at a stop, and git status beside them. It
// wants 1 GB in TMPDIR and in /var/tmp.
func BenchmarkLook(b *testing.B) {
	for _, size := range []struct{ name, script string }{
		{"500_files", "files 5"},
		{"5000_files", "files 50"},
		{"50000_files", "files 500"},
		{"300_MB_untracked", "files 50; head -c 300000000 /dev/urandom >large"},
	} {
		dir := b.TempDir()
		prepare := exec.Command("sh", "-ec", `files() {
	for d in $(seq $1); do mkdir d$d; (cd d$d; for f in $(seq 100); do echo "$d $f" >f$f; done); done
	git add .; git commit -qm first; git update-ref refs/remotes/origin/main HEAD; echo more >>d1/f1; git commit -qam second; echo new >new
}
git init -q; git config gc.auto 0; git config user.name a; git config user.email a@example.com
`+size.script)
		prepare.Dir = dir
		if out, err := prepare.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		env := append(os.Environ(), "TMPDIR="+b.TempDir())
		h := historyOf(prompted("").seeing(takeLook(dir, env, time.Minute)))
		best(b, size.name+"/prompt", func() error {
			if l := takeLook(dir, env, time.Minute); l.Unseen != "" {
				return errors.New(l.Unseen)
			}
			return nil
		})
		best(b, size.name+"/stop", func() error {
			if c := takeChange(context.Background(), dir, env, h, ""); c.Unseen != "" {
				return errors.New(c.Unseen)
			}
			return nil
		})
		best(b, size.name+"/git_status", func() error {
			status := exec.Command("git", "status", "--porcelain")
			status.Dir = dir
			return status.Run()
		})
	}
}
