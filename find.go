package main

// Which session a word or the directory means, among those that ccc knows, and among those of Claude
// Code's. The newest comes first, and older ones than the one that is meant are not opened.

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

// named returns the one of ids that is word, or the only one that begins with it. The error has that hint.
func named(word string, ids []string, hint string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == word {
			return id, nil
		}
		if word != "" && strings.HasPrefix(id, word) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	err := fmt.Errorf("no session %q", word)
	if len(found) > 1 {
		err = fmt.Errorf("%q is the beginning of %d sessions: %s, %s", word, len(found), found[0], found[1])
	}
	return "", failure{code: 2, err: err, hint: hint}
}

// sessionsMeant returns the session that the operand names, else those of the current directory's project,
// newest first: at most so many, or all for -1. It leaves out those in seen, and adds to seen each session
// that has told its project.
func (d dirs) sessionsMeant(operands []string, seen map[string]bool, most int) (meant []string, err error) {
	ids, err := d.state.sessions()
	if err == nil && len(operands) > 0 {
		id, err := named(operands[0], ids, "name one, as ccc status lists them")
		if err != nil {
			return nil, err
		}
		ids = []string{id}
	}
	for _, id := range ids {
		if seen[id] || len(meant) == most {
			continue
		}
		project := firstIn(d.state.session(id).timelineFile(), func(line []byte) string {
			e, _ := parseEntry(line)
			return e.Project
		})
		seen[id] = project != "" || len(operands) > 0
		if len(operands) > 0 || d.isOfProject(project) {
			meant = append(meant, id)
		}
	}
	return meant, err
}

// firstIn returns the first value that a line of the file has, "" for none.
func firstIn(path string, valueOf func(line []byte) string) (value string) {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewReader(io.LimitReader(file, lineLimit)); value == "" && err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		value = valueOf(line)
	}
	return value
}

// transcriptStart returns the first directory that the transcript names, in which its session was started.
func transcriptStart(path string) string {
	return firstIn(path, func(line []byte) string {
		var e transcriptEntry
		_ = json.Unmarshal(line, &e)
		if e.IsSidechain {
			return ""
		}
		return e.Cwd
	})
}

type storedSession struct {
	id, path string
	written  time.Time // the transcript's
}

// storedSessions returns the sessions in Claude Code's directory dir, newest first. A subagent's file is not
// one.
func storedSessions(dir string) (sessions []storedSession) {
	// For filepath.Glob a bracket in dir is a pattern, too.
	names, _ := fs.Glob(os.DirFS(dir), "projects/*/*.jsonl")
	for _, name := range names {
		path := filepath.Join(dir, name)
		id := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		info, err := os.Stat(path)
		if err == nil && validSession(id) && !strings.HasPrefix(id, "agent-") {
			sessions = append(sessions, storedSession{id, path, info.ModTime()})
		}
	}
	slices.SortStableFunc(sessions, func(a, b storedSession) int { return b.written.Compare(a.written) })
	return sessions
}

// storedSessionOf returns the session of Claude Code's that word names, of whichever project, with its
// conversation. If a session was copied, the transcript that was written last counts. For "" it is the one
// that was written last in this working tree, else in this project or in a directory above this one. A
// session without a request does not count.
func storedSessionOf(word string, d dirs) (session storedSession, talk conversation, err error) {
	all := storedSessions(d.claude)
	which := "of this project (" + d.here + ")"
	if word != "" {
		ids := make([]string, len(all))
		for i, s := range all {
			ids[i] = s.id
		}
		hint := "without SESSION it is the newest here; all are in:\n" +
			"ls -t " + shellQuote(d.claude) + "/projects/*"
		id, err := named(word, ids, hint)
		if err != nil {
			return session, talk, err
		}
		all = slices.DeleteFunc(all, func(s storedSession) bool { return s.id != id })
		which = id
	}
	here := worktreeOf(d.here)
	var others []storedSession
	for _, s := range all {
		start := transcriptStart(s.path)
		if word == "" && worktreeOf(start) != here {
			if d.isOfProject(start) || start != "" && inside(resolved(d.here), resolved(start)) {
				others = append(others, s)
			}
		} else if talk, isAsked := s.conversation(); isAsked {
			return s, talk, nil
		}
	}
	for _, s := range others {
		if talk, isAsked := s.conversation(); isAsked {
			return s, talk, nil
		}
	}
	err = fmt.Errorf("no session of Claude Code's %s holds a request", which)
	return session, talk, withHint(err, "start one with ccc --supervisor, or cd to the project of one")
}

// conversation reads the session's transcript, and reports whether it holds a request.
func (s storedSession) conversation() (talk conversation, isAsked bool) {
	talk, err := readConversation(s.path)
	return talk, err == nil && talk.newest().words != ""
}
