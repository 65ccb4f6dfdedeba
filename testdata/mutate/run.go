package main

// One run of the test binary: as one mutant, in a sandbox.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A worker has a test binary and a directory for what the tests write.
type worker struct {
	dir     string // the package's
	binary  string
	scratch string // in memory, if there is /dev/shm
	at      int64  // where the binary's number stands
	traced  bool
}

// newWorker copies the test binary at path into dir.
func newWorker(pkg, path, dir string, n int) (*worker, error) {
	w := &worker{dir: pkg, binary: filepath.Join(dir, fmt.Sprintf("mutant-%d.test", n))}
	var err error
	if w.scratch, err = os.MkdirTemp("/dev/shm", "mutate"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.Count(text, []byte(marker)) != 1 {
		return nil, errors.New("the test binary has no place for the number of a mutant")
	}
	w.at = int64(bytes.Index(text, []byte(marker)) + len(marker))
	os.Remove(w.binary)
	return w, errors.Join(os.WriteFile(w.binary, text, 0o755), os.Chmod(w.scratch, 0o777|os.ModeSticky))
}

func (w *worker) close() { os.RemoveAll(w.scratch); os.Remove(w.binary) }

// become makes the binary that mutant. 0 is none.
func (w *worker) become(id int) error {
	text, err := os.ReadFile(w.binary)
	if err != nil {
		return err
	}
	copy(text[w.at:], fmt.Sprintf("%0*d", markerDigits, id))
	os.Remove(w.binary) // one that still runs can't be written to
	return os.WriteFile(w.binary, text, 0o755)
}

// A mutant can be one that kills or removes the wrong things. So each run has processes of its own, which end
// with it, and a file system in which nothing can be written but a directory of its own, at the places for
// scratch, and /srv and /run, which are empty: tests of ccc try want a place that is none for scratch.
const sandboxScript = `
scratch=$1; shift
mount --make-rprivate / && mount --bind "$scratch" /var/tmp || exit 99
case $PWD in /tmp/*) ;; *) mount --bind "$scratch" /tmp || exit 99 ;; esac
mount --bind "$scratch" /dev/shm || exit 99
while read -r _ _ _ _ at _; do
	case $at in /proc*|/sys*|/dev*|/tmp|/var/tmp) ;; *) mount -o remount,bind,ro "$at" 2>/dev/null ;; esac
done </proc/self/mountinfo
for at in /srv /run; do mount -t tmpfs -o mode=755 tmpfs $at || exit 99; done
(: >/etc/mutate-can-write) 2>/dev/null && exit 99
"$@"
exit $?
`

// A result is how a run ended.
type result struct {
	failed   []string // top-level tests, and stories
	code     int
	timedOut bool
	seconds  float64
	output   string
}

// run runs these tests as the binary's mutant, until one fails or the time is up: first what is no story.
func (w *worker) run(tests []string, limit time.Duration) (all *result, err error) {
	isStory := func(test string) bool { return strings.HasPrefix(test, storyPrefix) }
	others := slices.DeleteFunc(slices.Clone(tests), isStory)
	told := slices.DeleteFunc(slices.Clone(tests), func(test string) bool { return !isStory(test) })
	all = &result{}
	if len(others) > 0 {
		all, err = w.runMatching("^("+strings.Join(others, "|")+")$", others, limit)
	}
	if err != nil || all.code != 0 || len(told) == 0 {
		return all, err
	}
	names := strings.ReplaceAll(strings.Join(told, "|"), storyPrefix, "")
	r, err := w.runMatching("^"+strings.Replace(storyPrefix, "/", "$/^(", 1)+names+")$", told, limit)
	if err == nil {
		r.seconds += all.seconds
	}
	return r, err
}

// runMatching runs the tests, which are those that match the pattern.
func (w *worker) runMatching(pattern string, tests []string, limit time.Duration) (*result, error) {
	if err := w.clean(); err != nil {
		return nil, err
	}
	if w.traced {
		path := filepath.Join(w.scratch, filepath.Base(traceFile))
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Chmod(path, 0o666)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", sandboxScript, "sh", w.scratch, w.binary, "-test.run="+pattern,
		"-test.failfast", "-test.timeout="+(limit+time.Minute).String())
	cmd.Dir, cmd.WaitDelay = w.dir, 2*time.Second
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CCC_") || strings.HasPrefix(v, "TMPDIR=")
	}), "TMPDIR=/dev/shm")
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	from := time.Now()
	err := cmd.Run()
	r := &result{seconds: time.Since(from).Seconds(), timedOut: ctx.Err() != nil, output: string(output.text)}
	if cmd.ProcessState == nil {
		return nil, err
	}
	if r.code = cmd.ProcessState.ExitCode(); r.code == 99 {
		return nil, errors.New("no sandbox: " + r.output + "run as root on Linux, not below /dev or /var/tmp")
	}
	for _, m := range failure.FindAllStringSubmatch(r.output, -1) {
		if slices.Contains(tests, m[1]) && !slices.Contains(r.failed, m[1]) {
			r.failed = append(r.failed, m[1])
		}
	}
	return r, nil
}

var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// A tail keeps the last of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 1<<20 {
		t.text = append([]byte(nil), t.text[len(t.text)-1<<19:]...)
	}
	return len(p), nil
}

// clean empties the scratch directory.
func (w *worker) clean() error {
	entries, err := os.ReadDir(w.scratch)
	for _, entry := range entries {
		path := filepath.Join(w.scratch, entry.Name())
		if os.RemoveAll(path) != nil { // a directory without rights, or an immutable file
			exec.Command("chmod", "-R", "u+rwx", path).Run()
			os.RemoveAll(path)
		}
	}
	return err
}

// meet runs one test alone and returns which mutants it meets.
func (w *worker) meet(test string) ([]string, *result, error) {
	w.traced = true
	r, err := w.run([]string{test}, 2*time.Minute)
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(filepath.Join(w.scratch, filepath.Base(traceFile)))
	return strings.Fields(string(text)), r, err
}
