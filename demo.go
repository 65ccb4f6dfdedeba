package main

// ccc demo plays one supervised session, in a temporary home and with the stand-in that the tests use for
// claude, and tells it as ccc log -f does. Launch, hook and review are ccc's own, run as always.

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// demoFiles holds the stand-in and what it plays (see the top of testdata/claude): the agent's turns, and a
// reviewer whose findings are true of the files that are there.
//
//go:embed testdata/claude testdata/demo
var demoFiles embed.FS

const demoSession = "0dec0de0-0000-4000-8000-000000000001"

// demo is ccc demo. However it ends, it leaves nothing behind.
func demo(_ *invocation, d dirs) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A pipe that is closed early must not keep the directory from being removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.MkdirTemp("", "ccc-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	setLanguage(d)
	screen := newScreen(os.Stdout)
	screen.block("", say(demoIntroduction))
	fmt.Fprintf(screen, "\n  $ ccc --supervisor -p %q\n\n", say(demoTask))
	if err := errors.Join(screen.Flush(), prepareDemo(dir, d.self)); err != nil {
		return err
	}
	session := stateDir(filepath.Join(dir, "home/.claude/ccc")).session(demoSession)
	if err := playDemo(ctx, dir, (&page{screen: screen}).story(session)); err != nil {
		return err
	}
	past, err := session.readHistory()
	fmt.Fprintln(screen)
	for _, round := range past.Rounds {
		screen.block("  ", "[SUPERVISOR] "+round.receipt())
	}
	fmt.Fprintln(screen)
	screen.block("", say(demoEnd))
	return errors.Join(err, screen.Flush())
}

// prepareDemo writes what the session needs into dir, a copy of the ccc self too, as hooks refuse what `go
// run` builds. Nothing has been started yet: a program that a fork still has open for writing can't be run
// (golang/go#22315).
func prepareDemo(dir, self string) error {
	program, err := os.ReadFile(self)
	return cmp.Or(err, os.CopyFS(dir, demoFiles), os.WriteFile(filepath.Join(dir, "ccc"), program, 0o700),
		os.Chmod(filepath.Join(dir, "testdata/claude"), 0o700),
		os.Mkdir(filepath.Join(dir, "project"), 0o700), os.MkdirAll(filepath.Join(dir, "home/.claude"), 0o700),
		os.WriteFile(filepath.Join(dir, "home/.claude/ccc.json"), fmt.Appendf(nil, `{"language":%q}`, lang), 0o600))
}

// playDemo runs the session in dir and tells it until it has ended. Nothing of it runs any more when it
// returns.
func playDemo(ctx context.Context, dir string, s *story) error {
	complaints := &tail{limit: 2000}
	cmd := exec.Command(filepath.Join(dir, "ccc"), "--supervisor", "-p", say(demoTask))
	cmd.Dir, cmd.Env = filepath.Join(dir, "project"), demoEnv(os.Environ(), dir)
	cmd.Stderr = complaints
	cmd.WaitDelay = pipePatience
	lifeline, err := startGuarded(cmd)
	if err != nil {
		return err
	}
	telling, ended := context.WithCancel(ctx)
	exited := make(chan error, 1)
	go func() {
		defer exitOnPanic()
		exited <- cmd.Wait()
		ended()
	}()
	s.turn()
	told := s.follow(telling, []*story{s}, func() ([]*story, error) { return nil, nil })
	lifeline.Close() // if the session still runs, it ends now
	exit := <-exited
	switch {
	case told != nil:
		return told
	case ctx.Err() != nil:
		return failure{code: 130, err: errors.New("interrupted")} // as a shell has it
	case exit != nil:
		return fmt.Errorf("the session ended early: %w: %s", exit, complaints.line())
	}
	return nil
}

// demoEnv is env with nothing in it that leads out of the demo in dir.
func demoEnv(env []string, dir string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		begins := func(prefix string) bool { return strings.HasPrefix(entry, prefix) }
		return slices.ContainsFunc([]string{"ANTHROPIC_", "CLAUDE", "CCC_", "FAKE_CLAUDE"}, begins)
	})
	home := filepath.Join(dir, "home")
	return setEnv(env, "HOME", home, "TMPDIR", dir, claudeDirVariable, filepath.Join(home, ".claude"),
		claudeVariable, filepath.Join(dir, "testdata/claude"),
		"FAKE_CLAUDE_DIR", filepath.Join(dir, "testdata/demo", lang), "FAKE_CLAUDE_SESSION", demoSession)
}
