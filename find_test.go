package main

// Which session is meant, by a word or by the directory.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Without a word it is the newest session of the project, and the view says so; others are not even opened.
func TestLogSession(t *testing.T) {
	box := newShowBox(t, 100)
	at := func(project string, age time.Duration) entry {
		return prompted("in " + project).in(project).at(ago(age))
	}
	check(t, os.Mkdir(filepath.Join(box.work, "sub"), 0o700))
	check(t, os.Symlink(box.work, filepath.Join(box.home, "link")))
	box.timelineOf("aa-elsewhere", at("/elsewhere", 0))
	box.timelineOf("aa-beside", at(box.work[:len(box.work)-1], time.Minute))
	box.timelineOf("aa-old", at(box.work, time.Hour))
	box.timelineOf("ab-new", at(filepath.Join(box.home, "link"), 30*time.Minute))
	unopened := box.stateDir().session("aa-unopened").timelineFile() // to read it would not end
	check(t, syscall.Mkfifo(unopened, 0o600))
	check(t, os.Chtimes(unopened, time.Time{}, ago(3*time.Hour)))
	for _, test := range []struct{ args, dir, stdout, stderr string }{
		{"log", box.work, "会话 ab-new（当前项目最新的会话）", ""},
		{"log aa-o", "/", "会话 aa-old\n", ""},
		{"log aa", box.work, "", "ccc: \"aa\" is the beginning of 4 sessions: aa-elsewhere, aa-beside\n" +
			"     name one, as ccc status lists them\n"},
		{"log ../x\x1b[31m", box.work, "", `ccc: no session "../x\x1b[31m"`},
	} {
		cmd := box.command(append([]string{"ccc"}, strings.Fields(test.args)...)...)
		cmd.Dir = test.dir
		got := box.finish(cmd, 10*time.Second)
		expectIs(t, test.args+": it is done", got.code == 0, test.stdout != "")
		expectIn(t, test.args+": stdout", got.stdout, test.stdout)
		expectPrefix(t, test.args+": stderr", got.stderr, test.stderr)
		expectIs(t, test.args+": stdout, stderr", got.stdout != "", got.stderr == "")
	}
	check(t, os.Remove(unopened))
	for _, dir := range []string{filepath.Join(box.work, "sub"), "/"} { // outside git the directory counts
		cmd := box.command("ccc", "log")
		cmd.Dir = dir
		expectIn(t, dir, box.finish(cmd, 10*time.Second).stdout, "里还没有受监督的会话\n")
	}
}

// A session whose first request holds a large picture is one of its directory.
func TestTranscriptStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	large := `{"type":"user","message":{"content":"` + strings.Repeat("x", 3<<20) + `"},"cwd":"/p"}` + "\n"
	const sidechain = `{"isSidechain":true,"cwd":"/of/a/subagent"}` + "\n{}\n"
	for text, want := range map[string]string{
		large: "/p",
		sidechain + `{"cwd":"/first"}` + "\n" + `{"cwd":"/later"}`: "/first",
	} {
		check(t, os.WriteFile(path, []byte(text), 0o600))
		expectIs(t, "the directory", transcriptStart(path), want)
	}
	expectIs(t, "of no file", transcriptStart(path+".gone"), "")
}

// Only transcripts are sessions: no subagent's, no file of another name; the newest is first.
func TestStoredSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]")
	for i, name := range []string{uuidOf("old"), uuidOf("new"), "agent-" + uuidOf("x"), "a b"} {
		path := filepath.Join(dir, "projects", "a", name+".jsonl")
		at := ago(time.Duration(10-i) * time.Hour)
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)))
		check(t, os.Chtimes(path, at, at))
	}
	check(t, os.Symlink("nowhere", filepath.Join(dir, "projects", "a", uuidOf("gone")+".jsonl")))
	var got []string
	for _, s := range storedSessions(dir) {
		got = append(got, s.id)
	}
	expectEqual(t, "the sessions", got, []string{uuidOf("new"), uuidOf("old")})
}
