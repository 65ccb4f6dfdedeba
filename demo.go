package main

// ccc demo plays a supervised session in a temporary home and shows it as ccc log -f does. A stand-in, which
// the tests use too, plays claude; launch, hook and review are ccc's own.

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
	"syscall"
)

// demoFiles holds the stand-in, and what agent and reviewer say, in the form that testdata/claude explains.
//
//go:embed testdata/claude testdata/demo
var demoFiles embed.FS

const demoSession = "0dec0de0-0000-4000-8000-000000000001"

// demo is ccc demo. It leaves nothing behind, also when it is interrupted.
func demo(c *invocation) (err error) {
	config := defaultConfig()
	d, err := findDirs(c.env, "")
	if d.self == "" {
		return err
	}
	if err == nil { // without HOME, of which it makes its own, the demo speaks the locale's language
		config, _ = loadConfig(d)
		fmt.Fprint(os.Stderr, config.englishOffer(d))
	}
	config.use(c.env)
	ctx := untilSignal()
	// A reader of stdout that goes away must not keep the directory from being removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.MkdirTemp("", "ccc-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, syscall.EPIPE) { // as by head, which is no error for the user
			err = failure{code: 128 + int(syscall.SIGPIPE)}
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	out := newScreen(os.Stdout)
	if err := prepareDemo(dir, d.self); err != nil {
		return err
	}
	if _, _, err := tryProbe(ctx, demoProject(dir), demoEnv(d.env, dir)); err != nil && ctx.Err() == nil {
		out.writeBlock("", say(demoNoCopy))
		fmt.Fprintln(out)
	}
	out.writeBlock("", say(demoIntroduction))
	fmt.Fprintln(out)
	out.writeBlock("  $ ", fmt.Sprintf("ccc --supervisor -p %q", say(demoTask)))
	fmt.Fprintln(out)
	if err := out.Flush(); err != nil {
		return err
	}
	session := stateDir(filepath.Join(dir, "home/.claude/ccc")).session(demoSession)
	if err := playDemo(ctx, dir, d.env, (&page{screen: out}).newStory(session)); err != nil {
		return err
	}
	past, err := session.readHistory()
	fmt.Fprintln(out)
	var verdicts []verdict
	where := demoInCopy
	for _, review := range past.Reviews {
		out.writeBlock("  ", supervisorTag+" "+review.receipt())
		if verdicts = append(verdicts, review.Verdict); review.NoCopy != "" {
			where = demoInHome
		}
	}
	if err == nil && !slices.Equal(verdicts, []verdict{verdictBlock, verdictAllow}) {
		err = withHint(fmt.Errorf("the session did not go as it was written: %q", verdicts), "ccc doctor")
	}
	if err == nil {
		fmt.Fprintln(out)
		out.writeBlock("", say(demoEnd, say(where)))
	}
	return errors.Join(err, out.Flush())
}

// demoProject is the directory in dir in which the session is started.
func demoProject(dir string) string { return filepath.Join(dir, "project") }

// prepareDemo writes what the session needs into dir, with a copy of self, since a launch refuses a program
// of `go run`. It comes before any fork, which would keep the copy open for writing (golang/go#22315).
func prepareDemo(dir, self string) error {
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return errors.Join(
		os.CopyFS(dir, demoFiles),
		os.Chmod(at("testdata/claude"), 0o700),
		os.WriteFile(at("ccc"), program, 0o700),
		os.Mkdir(demoProject(dir), 0o700),
		os.MkdirAll(at("home/.claude"), 0o700),
		os.WriteFile(at("home/.claude/ccc.json"), fmt.Appendf(nil, `{"language":%q}`, lang), 0o600))
}

// playDemo runs the session in dir and shows it until its last process has ended.
func playDemo(ctx context.Context, dir string, env environ, s *story) error {
	stderr := &tail{limit: 2000}
	cmd := exec.Command(filepath.Join(dir, "ccc"), "--supervisor", "-p", say(demoTask))
	cmd.Dir = demoProject(dir)
	cmd.Env = demoEnv(env, dir)
	cmd.Stderr = stderr
	running, end := context.WithCancel(ctx)
	exited := make(chan error, 1)
	go func() {
		defer exitOnPanic()
		exited <- runToEnd(running, cmd)
		end()
	}()
	s.writeSession()
	showErr := s.follow(running, []*story{s}, func() ([]*story, error) { return nil, nil })
	end() // if it still runs
	exitErr := <-exited
	switch {
	case showErr != nil:
		return showErr
	case ctx.Err() != nil:
		return failure{code: 130, err: errors.New("interrupted")} // 130 as in a shell
	case exitErr != nil:
		return fmt.Errorf("the session ended early: %w: %s", exitErr, stderr.line())
	}
	return nil
}

// demoEnv returns env for the demo in dir, without what leads to the user's own places.
func demoEnv(env []string, dir string) []string {
	home := filepath.Join(dir, "home")
	return setEnv(without(env, ofOthers), "HOME", home, claudeDirVariable, filepath.Join(home, ".claude"),
		"TMPDIR", dir, claudeVariable, filepath.Join(dir, "testdata/claude"),
		"FAKE_CLAUDE_DIR", filepath.Join(dir, "testdata/demo", lang), "FAKE_CLAUDE_SESSION", demoSession)
}
