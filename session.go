package main

// The state of a session changes under the lock alone. A corrupt file is kept beside it, and the session
// starts anew.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID  string    `json:"session_id"`
	Count      int       `json:"count"`                // reviews since the last prompt, or approved stop
	Enabled    mode      `json:"enabled,omitempty"`    // by its last switch or launch, "" before one
	SwitchedAt time.Time `json:"switched_at,omitzero"` // the time of that
	Provider   string    `json:"provider,omitempty"`   // of the client that ran its last hook, or noProvider
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`

	// Where its change begins, by place.key.
	Begins map[string]sessionBegin `json:"begins,omitempty"`
}

// A sessionBegin is where a session's change begins in a working tree.
type sessionBegin struct {
	begin
	Top   string    `json:"worktree"`
	Ended time.Time `json:"ended,omitzero"` // when the review began that ended it; zero while it is open
}

// An openBegin is the begin of a change that nobody has approved.
type openBegin struct {
	begin
	Session string    `json:"session_id"`
	Put     time.Time `json:"put"` // when it was put here, and what was checked out then
	At      begin     `json:"at"`
	Mark    verdict   `json:"mark,omitempty"` // block or limit: so its last stop ended
}

// setBegin sets where the session's change begins in the working tree of that key.
func (s sessionFiles) setBegin(key string, b sessionBegin) error {
	return s.rewrite(func(state *sessionState) {
		if state.Begins == nil {
			state.Begins = map[string]sessionBegin{}
		}
		state.Begins[key] = b
	})
}

// UnmarshalJSON reads a mode.
func (m *mode) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*string)(m)); err != nil || !slices.Contains(modes, string(*m)) {
		return errCorrupt
	}
	return nil
}

var errCorrupt = errors.New("the file is corrupt")

// readState returns the state of the session. Where it has none, or with an error, it returns a new one,
// which with an error has the last switch of the timeline. The error is errCorrupt for a file that makes no
// sense. In 2.0 the launch had a member of its own.
func (s sessionFiles) readState() (sessionState, error) {
	fresh := sessionState{SessionID: s.id, CreatedAt: now()}
	text, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	var state struct {
		sessionState
		LaunchedAt time.Time `json:"launched_at"`
	}
	if err == nil && (json.Unmarshal(text, &state) != nil || state.SessionID != s.id || state.Count < 0) {
		err = fmt.Errorf("%s: %w", s.stateFile(), errCorrupt)
	}
	if err == nil {
		state.noteLaunch(state.LaunchedAt)
		return state.sessionState, nil
	}
	h, _ := s.readHistory()
	fresh.Enabled, fresh.SwitchedAt = h.switched, h.switchedAt
	return fresh, err
}

// update changes the state of the session under the lock. A corrupt file is kept as .bad and the session
// starts anew; update then still returns the error.
func (s sessionFiles) update(change func(*sessionState)) error {
	return s.rewrite(func(state *sessionState) {
		change(state)
		state.UpdatedAt = now()
	})
}

// rewrite is update for what does not make a session a supervised one.
func (s sessionFiles) rewrite(change func(*sessionState)) error {
	unlock, err := lockFile(s.dir.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	path := s.stateFile()
	state, err := s.readState()
	if errors.Is(err, errCorrupt) {
		err = errors.Join(fmt.Errorf("%w, kept as %s.bad", err, path), os.Rename(path, path+".bad"))
	} else if err != nil {
		return err
	}
	change(&state)
	return errors.Join(err, replaceFile(path, append(encodeJSON(state), '\n'), false))
}

// countReview counts one more review and returns its number, from 1. At the limit it counts nothing and
// returns 0.
func (s *sessionState) countReview(limit int) int {
	if s.Count >= limit {
		return 0
	}
	s.Count++
	return s.Count
}

// limitUnder returns how many reviews a request has if blockCapVariable has that value: limit, or fewer if
// Claude Code would end the turn by force before. Claude Code takes 8 for a value without a number, and 0 for
// no cap (2.1.280, 2.1.332).
func limitUnder(limit int, blockCap string) int {
	n := 8
	_, _ = fmt.Sscanf(blockCap, "%d", &n) // like Claude Code, it reads the digits at the beginning
	if n <= 0 {
		return limit
	}
	return min(n, limit)
}

// noteLaunch switches the session on as of a supervised launch, unless it was switched since.
func (s *sessionState) noteLaunch(at time.Time) {
	if at.After(s.SwitchedAt) {
		s.Enabled, s.SwitchedAt = modeOn, at
	}
}
