package main

// ccc demo plays one supervised session, in a temporary home and with the stand-in that the tests use for claude,
// and tells it as ccc log -f does. Launch, hook and review are ccc's own, run as always.

import (
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
// reviewer whose findings are true of the files that are there. It takes its time, about three seconds in all, so
// that one can read along.
//
//go:embed testdata/claude testdata/demo
var demoFiles embed.FS

const demoTask = "Write slug.sh, which turns a title into a URL slug. Add a test and run it."

const demoSession = "0dec0de0-0000-4000-8000-000000000001"

const demoIntroduction = `This is a supervised session from launch to approval, as ccc log -f tells it.
Claude Code is played by a stand-in, so it needs no network and no key; all the
rest is the real ccc, in a temporary home.

  $ ccc --supervisor -p %q

`

const demoEnd = `
The agent said it was done, the reviewer looked, and the agent had to go on until
it was. Nothing is left of this demo. In a project of yours: ccc --supervisor
`

// demo is ccc demo. However it ends, it leaves nothing behind.
func demo(_ *call, d dirs) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A pipe that is closed early must not keep the directory from being removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.MkdirTemp("", "ccc-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	lang = english
	if err := prepareDemo(dir, d.self); err != nil {
		return err
	}
	if _, err := fmt.Printf(demoIntroduction, demoTask); err != nil {
		return err
	}
	if err := playDemo(ctx, dir); err != nil {
		return err
	}
	_, err = fmt.Print(demoEnd)
	return err
}

// prepareDemo writes what the session needs into dir, a copy of the ccc self too: what `go run` builds may be run, but
// not be called by hooks. Nothing has been started yet: a program that a fork still has open for writing can't be run
// (golang/go#22315).
func prepareDemo(dir, self string) error {
	program, err := os.ReadFile(self)
	if err := errors.Join(err, os.CopyFS(dir, demoFiles), os.WriteFile(filepath.Join(dir, "ccc"), program, 0o700)); err != nil {
		return err
	}
	return errors.Join(os.Chmod(filepath.Join(dir, "testdata", "claude"), 0o700), os.MkdirAll(filepath.Join(dir, "home", ".claude"), 0o700),
		os.Mkdir(filepath.Join(dir, "project"), 0o700),
		os.WriteFile(filepath.Join(dir, "home", ".claude", "ccc.json"), fmt.Appendf(nil, `{"language":%q}`, lang), 0o600))
}

// playDemo runs the session in dir and tells it until it has ended. Nothing of it runs any more when it returns.
func playDemo(ctx context.Context, dir string) error {
	complaints := &tail{limit: 2000}
	cmd := exec.Command(filepath.Join(dir, "ccc"), "--supervisor", "-p", demoTask)
	cmd.Dir, cmd.Env = filepath.Join(dir, "project"), demoEnv(os.Environ(), dir)
	cmd.Stderr = complaints
	cmd.WaitDelay = pipePatience
	lifeline, err := startGuarded(cmd)
	if err != nil {
		return err
	}
	telling, ended := context.WithCancel(ctx)
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait(); ended() }()
	page := story{screen: newScreen(os.Stdout), session: stateDir(filepath.Join(dir, "home/.claude/ccc")).session("")}
	only := page.of(demoSession)
	only.title("")
	only.tellSoFar(0)
	told := page.tellOn(telling, []*story{only}, func() []string { return nil })
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
		prefix := func(prefix string) bool { return strings.HasPrefix(entry, prefix) }
		return slices.ContainsFunc([]string{"ANTHROPIC_", "CLAUDE", "CCC_", "FAKE_CLAUDE"}, prefix)
	})
	home := filepath.Join(dir, "home")
	for name, value := range map[string]string{
		"HOME": home, "TMPDIR": dir, claudeDirVariable: filepath.Join(home, ".claude"), claudeVariable: filepath.Join(dir, "testdata", "claude"),
		"FAKE_CLAUDE_DIR": filepath.Join(dir, "testdata", "demo"), "FAKE_CLAUDE_SESSION": demoSession,
	} {
		env = setEnv(env, name, value)
	}
	return env
}
