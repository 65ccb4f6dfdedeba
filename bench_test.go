package main

// What ccc adds, measured beside what a user would write instead:
//
//	go test -run xxx -bench . -benchtime 2s
//
// README.md has the ratios.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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

// benchEvent is a stop of a session of its own, so that no limit is reached.
func benchEvent(n int) string {
	return fmt.Sprintf(`{"session_id":"bench-%d","hook_event_name":"Stop","cwd":"/tmp"}`, n)
}

func benchCommand(b *testing.B, env []string, argv ...string) {
	b.Helper()
	env = append(env, "PATH="+os.Getenv("PATH"))
	n := 0
	for b.Loop() {
		n++
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(benchEvent(n))
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
		if _, err := exec.LookPath("jq"); err != nil {
			b.Skip("jq is not installed")
		}
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
		if _, err := exec.LookPath("jq"); err != nil {
			b.Skip("jq is not installed")
		}
		benchCommand(b, env, "sh", "-c", shellHook)
	})
}

// BenchmarkStream mirrors 64 MiB of stream-json to a file; cat_valid is
// `cat > file` with the standard library's JSON check for each line.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{2 << 10, 300 << 10} {
		line := append(encodeJSON(map[string]any{"type": "user", "session_id": "a", "message": map[string]any{
			"content": strings.Repeat("some text that a tool printed\n", size/31)}}), '\n')
		input := bytes.Repeat(line, 64<<20/len(line))
		file := func(b *testing.B) *os.File {
			file, err := openAppend(filepath.Join(b.TempDir(), "output"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { file.Close() })
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			return file
		}
		copyTo := func(b *testing.B, w io.Writer) {
			for rest := input; len(rest) > 0; {
				n := min(32<<10, len(rest)) // what os/exec reads at once
				if _, err := w.Write(rest[:n]); err != nil {
					b.Fatal(err)
				}
				rest = rest[n:]
			}
		}
		b.Run(fmt.Sprintf("lines_of_%d/ccc", size), func(b *testing.B) {
			output := file(b)
			for b.Loop() {
				s := newStream(&review{output: output, progress: io.Discard, warn: func(err error) { b.Fatal(err) }})
				copyTo(b, s)
				s.close()
				output.Truncate(0)
			}
		})
		b.Run(fmt.Sprintf("lines_of_%d/cat_valid", size), func(b *testing.B) {
			output := file(b)
			for b.Loop() {
				for _, line := range bytes.SplitAfter(input, []byte("\n")) {
					if len(line) > 0 && !json.Valid(line) {
						b.Fatal("not JSON")
					}
				}
				copyTo(b, output)
				output.Truncate(0)
			}
		})
	}
}
