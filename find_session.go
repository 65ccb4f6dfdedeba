package main

// Which session is meant: among those that ccc knows, by a word or by the directory; among those of Claude
// Code's, by a word or by the directory.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sessionHint is the hint where a word names no session.
const sessionHint = "name one, as ccc status lists them"

// findSession returns the id of the session whose id is word, or of the only one whose id begins with it. For
// none or several the error is a failure with code 2.
func (d stateDir) findSession(word string) (string, error) {
	ids, err := d.sessions()
	if err != nil || slices.Contains(ids, word) {
		return word, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return word == "" || !strings.HasPrefix(id, word) })
	if len(ids) == 1 {
		return ids[0], nil
	}
	err = fmt.Errorf("no session %q", word)
	if len(ids) > 1 {
		err = fmt.Errorf("%q is the beginning of %d sessions", word, len(ids))
	}
	return "", failure{code: 2, err: err, hint: sessionHint}
}

// sessionsMeant returns the session that the operand names, else those of the current directory's project,
// newest first. It leaves out those in seen, and adds to seen all whose project is known by now.
func sessionsMeant(operands []string, d dirs, seen map[string]bool) (ids []string, err error) {
	if len(operands) > 0 {
		id, err := d.state.findSession(operands[0])
		if err != nil || seen[id] {
			return nil, err
		}
		seen[id] = true
		return []string{id}, nil
	}
	sessions, err := summarizeAll(d, seen)
	for _, s := range sessions {
		if d.isOfProject(s.Project) {
			ids = append(ids, s.Session)
		}
		seen[s.Session] = s.Project != ""
	}
	return ids, err
}

// storedSessionOf returns the session of Claude Code's that the operand names. Without an operand it is the
// one that was written last: of this working tree, else of this project, else of a directory above this
// one. Transcripts older than the first of this working tree are not opened.
func storedSessionOf(c *invocation, d dirs) (session storedSession, talk conversation, err error) {
	if word := strings.Join(c.operands, ""); word != "" {
		return storedSessionNamed(word, d)
	}
	here, others := treeOf(d.here), [2][]storedSession{}
	for _, s := range storedSessions(d.claude, "") {
		switch start := transcriptStart(s.path); {
		case treeOf(start) == here:
			if talk, isAsked := s.conversation(); isAsked {
				return s, talk, nil
			}
		case d.isOfProject(start):
			others[0] = append(others[0], s)
		case start != "" && inside(resolved(d.here), resolved(start)):
			others[1] = append(others[1], s)
		}
	}
	for _, s := range slices.Concat(others[:]...) {
		if talk, isAsked := s.conversation(); isAsked {
			return s, talk, nil
		}
	}
	return session, talk, noConversationIn("of this project (" + d.here + ")")
}

// storedSessionNamed returns the session of Claude Code's whose id word begins, of whichever project. That
// word begins the ids of several is an error. A session that lies in several projects, as when one was
// copied, is the transcript that was written last.
func storedSessionNamed(word string, d dirs) (session storedSession, talk conversation, err error) {
	which := fmt.Sprintf("beginning with %q", word)
	for _, s := range storedSessions(d.claude, word) {
		switch t, isAsked := s.conversation(); {
		case !isAsked:
		case session.id == "":
			session, talk = s, t
		case session.id != s.id:
			const format = "which of the sessions %s? Name one: %s %s"
			return session, talk, fmt.Errorf(format, which, session.id, s.id)
		}
	}
	if session.id == "" {
		return session, talk, noConversationIn(which)
	}
	return session, talk, nil
}

// conversation reads the session's transcript, and reports whether it holds a request.
func (s storedSession) conversation() (talk conversation, isAsked bool) {
	talk, err := readConversation(s.path)
	return talk, err == nil && talk.newest().words != ""
}

// noConversationIn is the error that there is no session to review.
func noConversationIn(which string) error {
	err := fmt.Errorf("no session of Claude Code's %s holds a request", which)
	return withHint(err, "start one with ccc --supervisor, or cd to the project of one")
}

// A storedSession is a session of Claude Code's that has a transcript.
type storedSession struct {
	id, path string
	written  time.Time // the transcript's
}

// storedSessions returns the sessions of Claude Code's, whose directory dir is, whose ids word begins, the
// newest first. A subagent's transcript, agent-*.jsonl, is no session.
func storedSessions(dir, word string) (sessions []storedSession) {
	// For filepath.Glob a bracket in dir is a pattern, too.
	names, _ := fs.Glob(os.DirFS(dir), "projects/*/*.jsonl")
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		if !strings.HasPrefix(id, word) || !validSession(id) || strings.HasPrefix(id, "agent-") {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil {
			sessions = append(sessions, storedSession{id, path, info.ModTime()})
		}
	}
	slices.SortStableFunc(sessions, func(a, b storedSession) int { return b.written.Compare(a.written) })
	return sessions
}

// transcriptStart returns the first directory that the transcript names, in which its session was started.
func transcriptStart(path string) (start string) {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewReader(io.LimitReader(file, lineLimit)); start == "" && err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		var e transcriptEntry
		if _ = json.Unmarshal(line, &e); !e.IsSidechain {
			start = e.Cwd
		}
	}
	return start
}
