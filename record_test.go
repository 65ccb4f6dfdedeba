package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The objects of a working tree lie in one directory of ccc's, which eight looks at once share. It goes with
// the record, or if there is too much in it; then a begin is its commit. A worktree made anew has another
// one.
func TestLookObjects(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; seq 200 | xargs touch; echo a >a")
	trees := make(chan string)
	for range 8 {
		go func() {
			l, _ := box.lookIn(box.work)
			trees <- l.Tree + l.Unseen
		}()
	}
	first := <-trees
	for range 7 {
		expectIs(t, "the tree", <-trees, first)
	}
	p, session := box.placeIn(box.work), box.stateDir().session("s")
	isKept := map[string]bool{"pack/tmp_pack_1": false, "pack/tmp_pack_2": true,
		lookPrefix + "1": false, lookPrefix + "2": true}
	for name, kept := range isKept {
		path := filepath.Join(p.objects(), name)
		check(t, os.MkdirAll(path+"/lfs", 0o700))
		at := ago(map[bool]time.Duration{true: 1, false: 2}[kept]*reviewLookPatience + time.Second)
		check(t, os.Chtimes(path, at, at))
	}
	box.lookIn(box.work)
	for name, kept := range isKept {
		expectIs(t, "is left: "+name, isThere(filepath.Join(p.objects(), name)), kept)
	}
	info, err := os.Stat(p.objects())
	check(t, err)
	expectIs(t, "the mode", info.Mode().Perm(), 0o700)
	check(t, p.beginAtPrompt(session, ""))
	box.gitIn(box.work, "git gc -q --prune=now")
	change := func() string {
		c := p.takeChange(t.Context(), session, "", occasionNamed(eventStop))
		return fmt.Sprint(len(c.paths), " ", c.isOlder, c.seen.Unseen)
	}
	expectIs(t, "the change after git gc", change(), "0 false")
	check(t, os.RemoveAll(p.objects()))
	box.write("../work/a", 0o600, "b\n")
	expectIs(t, "the change without objects", change(), "201 true")
	for size, kept := range map[int64]bool{objectsLimit / 2: true, objectsLimit + 1: false} {
		check(t, os.MkdirAll(p.objects(), 0o700))
		check(t, os.WriteFile(p.objects()+"/large", nil, 0o600))
		check(t, os.Truncate(p.objects()+"/large", size))
		check(t, box.stateDir().sweep())
		expectIs(t, fmt.Sprint("objects are kept of ", size), isThere(p.objects()), kept)
		r, err := p.record()
		check(t, err)
		expectIs(t, "what the record has open", len(r.Open), 1)
	}
	expectIs(t, "the size of objects that another sweep has removed", sizeOf(p.objects()+"/gone"), 0)
	check(t, os.MkdirAll(p.objects(), 0o700))
	stale := ago(31 * 24 * time.Hour)
	for _, suffix := range []string{".json", ".lock", ".objects"} {
		check(t, os.Chtimes(p.file(suffix), stale, stale))
	}
	check(t, box.stateDir().sweep())
	left, _ := filepath.Glob(string(box.stateDir()) + "/tree-*")
	expectIs(t, "what a sweep leaves", strings.Join(left, " "), "")
	// No session writes to what a sweep removes: it holds the lock meanwhile.
	large := box.stateDir().file("trial-x")
	check(t, os.Mkdir(large, 0o700))
	for i := range 1000 {
		check(t, os.WriteFile(fmt.Sprint(large, "/", i), nil, 0o600))
	}
	check(t, os.Chtimes(large, stale, stale))
	done := make(chan error, 1)
	go func() { done <- box.stateDir().sweep() }()
	for isWhole := true; isWhole && len(done) == 0; {
		files, _ := os.ReadDir(large)
		isWhole = len(files) == 1000
	}
	check(t, session.update(func(*sessionState) {}))
	expectIs(t, "the sweep goes on beside a write", isThere(large), false)
	check(t, <-done)
	side := box.gitIn(box.work, "git worktree add -q ../side; cd ../side; pwd -P")
	key := box.placeIn(side).key
	expectIs(t, "the same worktree", box.placeIn(filepath.Join(side, "x")).key, key)
	time.Sleep(10 * time.Millisecond) // the time of its .git file is another
	box.gitIn(box.work, "git worktree remove ../side; git worktree add -q ../side")
	expectIs(t, "a worktree made anew is the same", box.placeIn(side).key == key, false)
}

// Without a look a change begins where HEAD was by its log, which is read; if that does not reach back, at
// what HEAD shares with the commit of the session's newest begin in another working tree, else it is all
// files.
func TestBeginningByReflog(t *testing.T) {
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; for i in 1 2 3; do echo $i >f$i; git add .; "+
		"GIT_COMMITTER_DATE=2026-02-0${i}T00:00:00Z git commit -qm $i; done; git tag three")
	commit := func(state sessionState, began string) string {
		at, _ := time.Parse(time.RFC3339, began)
		p, end := box.placeIn(box.work).within(t.Context(), time.Minute)
		defer end()
		return p.ownBegin(state, "", at).Commit
	}
	id := func(revision string) string { return box.gitIn(box.work, "git rev-parse "+revision) }
	for began, want := range map[string]string{
		"":                         "",
		"2026-01-01T00:00:00.000Z": "",
		"2026-02-01T00:00:01.000Z": id("HEAD~2"),
		"2026-02-02T00:00:00.500Z": id("HEAD~2"),
		"2026-02-02T10:00:00.000Z": id("HEAD~1"),
		"2026-03-01T00:00:00Z":     id("HEAD"),
	} {
		expectIs(t, "began "+began, commit(sessionState{SessionID: "s"}, began), want)
	}
	begins := map[string]sessionBegin{"x": {begin: begin{Commit: id("HEAD~1"), Time: now()}}}
	elsewhere := sessionState{SessionID: "s", Begins: begins}
	expectIs(t, "since another working tree's commit", commit(elsewhere, ""), id("HEAD~1"))
	box.gitIn(box.work, "git checkout -q HEAD~2; git reflog expire --expire=all --all")
	expectIs(t, "with an older commit checked out", commit(elsewhere, "2026-02-02T10:00:00Z"), id("HEAD"))
}

// A reviewer is told both ends of what another session was sent back with.
func TestOthersFeedback(t *testing.T) {
	box := newFakeBox(t)
	long := outcome{Verdict: verdictBlock, Feedback: "first" + strings.Repeat(" more", 1000) + " last"}
	box.timelineOf("other", ended(review{Event: eventStop, outcome: long}))
	told := box.placeIn(box.work).tellOther(&openChange{Session: "other"})
	expectIn(t, "the others' change", told, "first more", "more last")
}

// A prompt waits for git as long as for one look, whatever is asked: also of a session whose begin is in
// another working tree.
func TestPromptPatience(t *testing.T) {
	alone(t)
	box := newFakeBox(t)
	box.gitIn(box.work, "git init -q; git add .; git commit -qm first; git reflog expire --expire=all --all")
	session := box.stateDir().session("s")
	p := box.placeIn(box.work)
	elsewhere := map[string]sessionBegin{"elsewhere": {begin: begin{Commit: "HEAD", Time: now()}}}
	check(t, session.update(func(state *sessionState) { state.Begins = elsewhere }))
	box.write("../bin/git", 0o700, "#!/bin/sh\nsleep 60\n")
	t.Setenv("PATH", filepath.Dir(box.program())+":"+os.Getenv("PATH"))
	expectIs(t, "how long a prompt waits", promptPatience, time.Second)
	before := promptLookPatience
	defer func() { promptLookPatience = before }()
	promptLookPatience = 500 * time.Millisecond
	start := time.Now()
	check(t, p.beginAtPrompt(session, ""))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v, want half a second", took)
	}
}
