package main

// ccc demo plays one supervised session, in a temporary home and with the
// stand-in that the tests use for claude. Launch, hook and review are ccc's own,
// run as always; this file starts the session and tells what happens in it, as
// the session's files show it.

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed testdata/claude
var standIn []byte

const demoTask = "Write slug.sh, which turns a title into a URL slug. Add a test and run it."

const demoSession = "0dec0de0-0000-4000-8000-000000000001"

// demoScenario is what the stand-in plays (see the top of testdata/claude): the
// agent's turns, and a reviewer who looks at the files that are there. It takes
// its time, about three seconds in all, so that one can read along.
var demoScenario = map[string]string{
	"slug.sh": `printf '%s\n' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9][^a-z0-9]*/-/g; s/^-//; s/-$//'
`,
	"slug_test.sh": `check() { got=$(sh slug.sh "$1"); [ "$got" = "$2" ] || { echo "FAIL $1: $got"; exit 1; }; }
check 'Hello World' hello-world
check '  C++ & Go!  ' c-go
check '' ''
echo 'ok, 3 titles'
`,
	"turn-1": `sh sleep 0.7; cp "$FAKE_CLAUDE_DIR/slug.sh" .
Done! slug.sh turns any title into a clean slug. Everything is tested and works.
`,
	"turn-2": `sh sleep 0.7; cp "$FAKE_CLAUDE_DIR/slug_test.sh" .
True, there was no test. Now slug_test.sh checks an ordinary title, one with punctuation and an empty one. I have run it: ok, 3 titles.
`,
	"verdict": `sh
read_request
emit_init
sleep 0.4
emit_tool Bash '{"command":"ls"}' "$(ls)"
sleep 0.4
if [ ! -f slug_test.sh ]; then
    emit_text 'The agent says that everything is tested, but there is no test in the project.'
    emit_result false 'There is no test, though the user asked for one: slug.sh is the only file. Write slug_test.sh with ordinary titles, punctuation and an empty title, run it, and show its output.'
elif output=$(sh slug_test.sh); then
    emit_tool Bash '{"command":"sh slug_test.sh"}' "$output"
    sleep 0.4
    emit_text "The test is there. I have run it myself, and it passes: $output."
    emit_result true ''
else
    emit_result false "The test fails: $output"
fi
`,
}

// A demonstration is a running ccc demo.
type demonstration struct {
	ctx     context.Context
	out     io.Writer
	dir     string     // holds everything, and goes at the end
	ended   chan error // how the session ended, once it has
	output  *lineReader
	lines   [][]byte // of the reviewers' output, those not told yet
	heard   int      // so much of what claude said
	lastErr error    // of writing to out
}

// demoPatience is for a machine that is busy beyond measure; elsewhere the demo
// takes four seconds.
const demoPatience = time.Minute

// demo is ccc demo. However it ends, it leaves nothing behind.
func demo(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	if help, err := parseFlags(flags, args, 0, 0, stdout); help || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), demoPatience,
		fmt.Errorf("the session did not end within %s", demoPatience))
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A pipe that is closed early must not keep the directory from being removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.MkdirTemp("", "ccc-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demonstration{ctx: ctx, out: stdout, dir: dir, ended: make(chan error, 1)}
	d.output = d.state().readOutput(demoSession, 0, func(line []byte) { d.lines = append(d.lines, bytes.Clone(line)) })
	defer d.output.close()
	if err := d.furnish(); err != nil {
		return err
	}
	end, err := d.start()
	if err != nil {
		return err
	}
	defer end()
	return d.tell()
}

func (d *demonstration) file(name string) string { return filepath.Join(d.dir, name) }
func (d *demonstration) state() stateDir         { return stateDir(d.file("home/.claude/ccc")) }

// furnish writes what the session needs. Nothing has been started yet: a program
// that a fork still has open for writing can't be run (golang/go#22315).
func (d *demonstration) furnish() error {
	for _, name := range []string{"home", "home/.claude", "project", "scenario"} {
		if err := os.Mkdir(d.file(name), 0o700); err != nil {
			return err
		}
	}
	for name, content := range demoScenario {
		if err := os.WriteFile(d.file("scenario/"+name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(d.file("claude"), standIn, 0o700); err != nil {
		return err
	}
	if _, err := exec.LookPath(d.file("claude")); err != nil {
		return withHint(err, "programs can't be run there; try another directory: TMPDIR=~ ccc demo")
	}
	return nil
}

// start starts ccc in the demo's project, under a guard (guard.go). The function
// it returns ends whatever of the session still runs.
func (d *demonstration) start() (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stdout, err := os.Create(d.file("stdout"))
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := os.Create(d.file("stderr"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd := exec.Command(self, "--supervisor", "-p", demoTask)
	cmd.Dir, cmd.Env = d.file("project"), d.env(os.Environ())
	cmd.Stdout, cmd.Stderr = stdout, stderr
	hold, err := startGuarded(cmd)
	if err != nil {
		return nil, err
	}
	waited := make(chan struct{})
	go func() {
		d.ended <- cmd.Wait()
		close(waited)
	}()
	return func() { hold.Close(); <-waited }, nil
}

// env is env with nothing in it that leads out of the demo.
func (d *demonstration) env(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return slices.ContainsFunc([]string{"ANTHROPIC_", "CLAUDE", "CCC_", "FAKE_CLAUDE"}, func(prefix string) bool {
			return strings.HasPrefix(entry, prefix)
		})
	})
	for _, v := range []envValue{
		{"HOME", d.file("home")}, {"TMPDIR", d.dir},
		{claudeDirVariable, d.file("home/.claude")}, {configDirVariable, d.file("home/.claude")}, {workDirVariable, d.file("home/.claude")},
		{claudeVariable, d.file("claude")}, {"FAKE_CLAUDE_DIR", d.file("scenario")}, {"FAKE_CLAUDE_SESSION", demoSession},
	} {
		env = setEnv(env, v.name, v.value)
	}
	return env
}

// tell follows the session and tells it, from what it leaves in its files.
func (d *demonstration) tell() error {
	d.say("This is a supervised session from launch to approval. Claude Code is played by\n"+
		"a stand-in, so it needs no network and no key; all the rest is the real ccc, in\n"+
		"a temporary home. You ask:\n\n  $ ccc --supervisor -p %q\n\n", demoTask)
	if err := d.await(func() bool { return bytes.Contains(d.text("stderr"), []byte("\n")) }); err != nil {
		return err
	}
	launch, _, _ := bytes.Cut(d.text("stderr"), []byte("\n"))
	d.quote(string(launch))
	d.say("\nccc has added its hooks to Claude Code's settings and started it. The agent\nworks, and wants to stop:\n\n")
	for n := 1; ; n++ {
		review, err := d.review(n)
		if err != nil {
			return err
		}
		if review.Verdict != verdictBlock {
			break
		}
		d.say("\nVerdict of review %d: not done. The agent may not stop; it is told:\n\n", n)
		d.quote(review.Feedback)
		d.heard += len("Stop hook feedback: \n") + len(review.Feedback)
		d.say("\nSo the agent goes on, and wants to stop again:\n\n")
	}
	d.say("\nVerdict: done. The agent may stop, and you get work that was checked.\n")
	if err := d.awaitEnd(); err != nil {
		return err
	}
	d.say(`
Nothing is left of this demo, and your own files were not touched. Now in a
project of yours:

  ccc --supervisor    start Claude Code, supervised
  ccc doctor          find out what is missing, if something is
  ccc uninstall       take out again what ccc put into Claude Code's settings
`)
	return d.lastErr
}

// review tells of the nth review, with what the agent said before, and returns
// its record.
func (d *demonstration) review(n int) (review record, err error) {
	if err := d.await(func() bool { return d.output.read() == nil && len(d.lines) > 0 }); err != nil {
		return review, err
	}
	said, _, _ := strings.Cut(string(d.text("stdout")[d.heard:]), "Stop hook feedback: ")
	d.heard += len(said)
	d.quote(said)
	if n == 1 {
		d.say("\nccc does not take its word for it. A reviewer reads the conversation and looks\nat the real files:\n\n")
	} else {
		d.say("\nThe reviewer looks again:\n\n")
	}
	if err := d.follow(); err != nil {
		return review, err
	}
	err = d.await(func() bool {
		records, _ := d.state().timeline(demoSession)
		records = slices.DeleteFunc(records, func(r record) bool { return r.Verdict == "" })
		if len(records) < n {
			return false
		}
		review = records[n-1]
		return true
	})
	if err == nil && review.Verdict != verdictBlock && review.Verdict != verdictAllow {
		err = fmt.Errorf("the review ended with %q: %s", review.Verdict, review.Error)
	}
	return review, err
}

// follow tells what the reviewer does, as it does it, up to its result.
func (d *demonstration) follow() error {
	var text strings.Builder
	stream := newStream(&review{output: io.Discard, progress: &text, warn: func(error) {}})
	tools := 0
	return d.await(func() bool {
		_ = d.output.read()
		for len(d.lines) > 0 && stream.result == nil {
			_, _ = stream.Write(d.lines[0])
			d.lines = d.lines[1:]
			for _, tool := range stream.outcome.tools[tools:] {
				d.quote("[" + tool + "]")
			}
			tools = len(stream.outcome.tools)
			d.quote(text.String())
			text.Reset()
		}
		return stream.result != nil
	})
}

// await waits until done says so. The pause between two looks is one that nobody
// notices.
func (d *demonstration) await(done func() bool) error {
	for {
		if done() || d.lastErr != nil {
			return d.lastErr
		}
		select {
		case err := <-d.ended:
			if d.ended <- err; err == nil && done() {
				return d.lastErr
			}
			return fmt.Errorf("the session ended early (%v): %s", err, bytes.TrimSpace(d.text("stderr")))
		case <-d.ctx.Done():
			return d.outOfTime()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// awaitEnd waits until the session has ended.
func (d *demonstration) awaitEnd() error {
	select {
	case err := <-d.ended:
		return err
	case <-d.ctx.Done():
		return d.outOfTime()
	}
}

func (d *demonstration) outOfTime() error {
	if errors.Is(d.ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(d.ctx)
	}
	return failure{code: 130, err: errors.New("interrupted")} // as a shell has it
}

func (d *demonstration) text(name string) []byte {
	text, _ := os.ReadFile(d.file(name))
	return text
}

func (d *demonstration) say(format string, args ...any) {
	if _, err := fmt.Fprintf(d.out, format, args...); err != nil && d.lastErr == nil {
		d.lastErr = err
	}
}

// quote tells what somebody in the session said, in lines of at most 76 columns.
func (d *demonstration) quote(text string) {
	for line := range strings.Lines(printable(text)) {
		column := 0
		for _, word := range strings.Fields(line) {
			switch {
			case column == 0:
				d.say("  | ")
			case column+1+len(word) > 72:
				d.say("\n  | ")
				column = 0
			default:
				d.say(" ")
				column++
			}
			d.say("%s", word)
			column += len(word)
		}
		d.say("\n")
	}
}
