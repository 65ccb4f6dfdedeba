package main

// What tests of all kinds want, and need.

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// raceEnabled tells whether this is the race detector's run: it multiplies memory and time.
var raceEnabled = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()

// check ends the test where something that it needs went wrong.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expectEnd wants a command to end with that code, that on stdout, receipts aside, and a text to be in its
// stderr, which is empty where that is "".
func expectEnd(t *testing.T, what string, got commandResult, code int, stdout, stderr string) {
	t.Helper()
	isSaid := strings.Contains(got.stderr, stderr) && (got.stderr == "") == (stderr == "")
	if got.code != code || decided(got.stdout) != stdout || !isSaid {
		t.Errorf("%s: %+v, want exit code %d, %q and in stderr %q", what, got, code, stdout, stderr)
	}
}

// expectIs wants a value, what names it, to be that one.
func expectIs[T comparable](t *testing.T, what any, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%v: got %#v, want %#v", what, got, wanted)
	}
}

// expectEqual is expectIs for lists.
func expectEqual[T comparable](t *testing.T, what any, got, wanted []T) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("%v: got %#v, want %#v", what, got, wanted)
	}
}

// expectIn wants each of these in a text, what names it.
func expectIn(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, part := range wanted {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// expectPrefix wants a text, what names it, to begin so.
func expectPrefix(t *testing.T, what, text, wanted string) {
	t.Helper()
	if !strings.HasPrefix(text, wanted) {
		t.Errorf("%s: got %q, want it to begin with %q", what, text, wanted)
	}
}

// expectError wants an error, what names where it comes from, that says this.
func expectError(t *testing.T, what string, err error, wanted string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), wanted) {
		t.Errorf("%s: got the error %v, want one with %q", what, err, wanted)
	}
}

// expectCounts wants each of these so often in a text, what names it.
func expectCounts(t *testing.T, what, text string, wanted map[string]int) {
	t.Helper()
	for part, want := range wanted {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%s holds %q %d times, want %d:\n%s", what, part, got, want, text)
		}
	}
}

// expectNotIn wants none of these in a text, which is there: in nothing there is nothing.
func expectNotIn(t *testing.T, what, text string, unwanted ...string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s is empty", what)
	}
	for _, part := range unwanted {
		if strings.Contains(text, part) {
			t.Errorf("%s holds %q:\n%s", what, part, text)
		}
	}
}

// onlyRoot skips a test that needs root, and files of other users.
func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can prepare this")
	}
	users, _ := os.ReadFile("/proc/self/uid_map")
	if strings.Join(strings.Fields(string(users)), " ") == "0 0 1" {
		t.Skip("in this user namespace there is no other user")
	}
}

// madeUpUser is nobody's uid and gid.
const madeUpUser = 54321

// unspaced is a text without its white space.
func unspaced(text string) string { return strings.Join(strings.Fields(text), "") }

// needGit skips the test where git is not installed.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed here")
	}
}

// snapshotOf lists what is below dir, but for programs: each name with its mode, where it leads or what it
// holds, and what more tells of it, if that is not nil.
func snapshotOf(dir string, more func(path string, info fs.FileInfo) string) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		info, unread := os.Lstat(path)
		if err != nil || unread != nil || strings.HasSuffix(path, "/bin/ccc") {
			return nil // it is gone, or may not be seen
		}
		var content []byte
		if entry.Type().IsRegular() {
			content, _ = os.ReadFile(path)
		}
		link, _ := os.Readlink(path)
		line := fmt.Sprintf("%s %v %s%q", strings.TrimPrefix(path, dir), info.Mode(), link, content)
		if more != nil {
			line += more(path, info)
		}
		list = append(list, line)
		return nil
	})
	return list
}
