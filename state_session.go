package main

// What ccc remembers of a session between two hooks, whether it is switched on, and which one a word names.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID  string    `json:"session_id"`
	Count      int       `json:"count"`                 // reviews since the user's last prompt
	Request    string    `json:"request,omitempty"`     // the transcript's id of the request that these reviews are for
	Spent      int       `json:"spent,omitempty"`       // reviews for it, whatever has set Count back since
	Enabled    *bool     `json:"enabled,omitempty"`     // what the last switch of the session says, nil before the first
	SwitchedAt time.Time `json:"switched_at,omitzero"`  // the time of that switch
	Feedback   string    `json:"feedback,omitempty"`    // the last that the agent got, as it came
	FeedbackOf string    `json:"feedback_of,omitempty"` // the review that it is of
	Provider   string    `json:"provider,omitempty"`    // of the client that ran its last hook, or the word for none
	LaunchedAt time.Time `json:"launched_at,omitzero"`  // of its last supervised launch
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

var errCorrupt = errors.New("the file is corrupt")

// state returns the state of the session, a new one where it has none, and with an error, which is errCorrupt
// for a file that makes no sense.
func (s sessionFiles) state() (sessionState, error) {
	fresh := sessionState{SessionID: s.id, CreatedAt: now()}
	text, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	var state sessionState
	if json.Unmarshal(text, &state) != nil || state.SessionID != s.id || state.Count < 0 {
		return fresh, fmt.Errorf("%s: %w", s.stateFile(), errCorrupt)
	}
	return state, nil
}

// update changes the state of the session under the lock. A corrupt file is kept as .bad and the session
// starts anew; update then still returns the error.
func (s sessionFiles) update(change func(*sessionState)) error {
	unlock, err := lockFile(s.dir.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	path := s.stateFile()
	state, err := s.state()
	if errors.Is(err, errCorrupt) {
		err = errors.Join(fmt.Errorf("%w, kept as %s.bad", err, path), os.Rename(path, path+".bad"))
	} else if err != nil {
		return err
	}
	change(&state)
	state.UpdatedAt = now()
	return errors.Join(err, replaceFile(path, append(encodeJSON(state), '\n'), false))
}

// nextIteration counts one more review and returns its number, from 1; at the limit it counts nothing and
// returns 0. request tells the user's newest request from every other, "" where that is not known: a new one
// has a fresh budget, and one that is still the same goes on with its own, even if Claude Code has submitted
// a prompt since.
func (s *sessionState) nextIteration(limit int, request string) (iteration int) {
	if request != "" && request == s.Request {
		s.Count = max(s.Count, s.Spent)
	} else if request != "" && (s.Request != "" || s.Spent == 0) {
		s.Count, s.Request = 0, request
	} else if request != "" || s.Count == 0 { // "": the next stop tells which request it was
		s.Request = request
	}
	if s.Count >= limit {
		return 0
	}
	s.Count++
	s.Spent = s.Count
	return s.Count
}

// isSwitched reports whether a switch of the session is later than the launch, and so decides.
func (s *sessionState) isSwitched(launch time.Time) bool {
	return s.Enabled != nil && !s.SwitchedAt.Before(launch)
}

// on reports whether the session is supervised, as far as can be told from outside: only supervised sessions
// have a state without a switch.
func (s *sessionState) on() bool {
	if s.isSwitched(s.LaunchedAt) {
		return *s.Enabled
	}
	return !s.UpdatedAt.IsZero()
}

// switchTo turns supervision of the session on or off. Where its state is corrupt, a new one is written, and
// the switch counts.
func (s sessionFiles) switchTo(on bool) error {
	err := s.update(func(state *sessionState) { state.Enabled, state.SwitchedAt = &on, now() })
	if errors.Is(err, errCorrupt) {
		return nil
	}
	return err
}

const nameSession = "name one, as ccc status lists them"

// findSession returns the session whose id is word, or begins with it.
func (d stateDir) findSession(word string) (string, error) {
	ids, err := d.sessions()
	if err != nil || slices.Contains(ids, word) {
		return word, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return word == "" || !strings.HasPrefix(id, word) })
	switch len(ids) {
	case 0:
		return "", failure{2, fmt.Errorf("no session %q", word), nameSession}
	case 1:
		return ids[0], nil
	}
	return "", failure{2, fmt.Errorf("%q is the beginning of %d sessions", word, len(ids)), nameSession}
}
