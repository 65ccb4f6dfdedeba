package main

// Whose session it is: the user's, if ccc launched its client; the agent's, if a tool of an agent's did. One
// walk up from the client through the processes above it tells. What ccc remembers of a session between two
// hooks, whether it is supervised, and which one a word names.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ancestry returns the process pid and those above it, the nearest first, as far as the system tells of them.
func ancestry(pid int) (chain []process) {
	for pid > 0 && len(chain) < 1000 { // processes that end while they are asked for may show a circle
		parent, p := processInfo(pid)
		if p.name == "" {
			break
		}
		chain, pid = append(chain, p), parent
	}
	return chain
}

// clientAncestry returns the ancestry of the client that runs this process, from the client on: Claude Code
// runs hooks and status lines with `sh -c`, and some shells stay between.
func clientAncestry() []process {
	chain := ancestry(os.Getppid())
	shells := []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"}
	for len(chain) > 0 && slices.Contains(shells, chain[0].title) {
		chain = chain[1:]
	}
	return chain
}

// A caller is who stands behind a client or a call of ccc.
type caller struct {
	agents   bool      // a tool of an agent's started it: it speaks for nobody
	launched time.Time // when ccc launched the client supervised; zero: it did not
	byHand   bool      // a hook that Claude Code does not run is meant
}

// callerOf walks up the chain, and what it meets first decides: the supervised launch that CCC_LAUNCH names,
// which is the user's, or a process with the mark of a tool. That is the agent's with a living Claude Code
// above it or without a controlling terminal (2.1.120 to 2.1.330 run tools without one); else it may run in a
// terminal that an agent once opened.
func callerOf(chain []process) (c caller) {
	launched, at := parseLaunchToken(os.Getenv(launchVariable))
	claude, _ := findClaude()
	isClaude := func(p process) bool {
		return p.name == launched || filepath.Base(p.program) == "claude" || sameFile(p.program, claude)
	}
	for i, p := range chain {
		switch {
		case p.name == launched:
			c.launched = at
		case p.marked:
			c.agents = !p.terminal || slices.ContainsFunc(chain[i+1:], isClaude)
		default:
			continue
		}
		return c
	}
	if launched != "" && !isVisible(launched) { // from within a PID namespace, as of a claude in bubblewrap
		c.launched = at
	}
	return c
}

// launchToken is the value of CCC_LAUNCH: the name of this process, which becomes claude or a wrapper around
// it, and the time. Every process below inherits it; only one with that process above it is meant.
func launchToken() string {
	_, self := processInfo(os.Getpid())
	return fmt.Sprintf("%s.%d", self.name, now().UnixMilli())
}

// parseLaunchToken returns the parts of a token, "" for what is none.
func parseLaunchToken(token string) (name string, at time.Time) {
	name, millis, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return "", at
	}
	return name, time.UnixMilli(n).UTC()
}

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID  string    `json:"session_id"`
	Count      int       `json:"count"`                // reviews since the user's last prompt
	Request    string    `json:"request,omitempty"`    // the transcript's id of the request that these reviews are for
	Spent      int       `json:"spent,omitempty"`      // reviews for it, whatever has set Count back since
	Enabled    *bool     `json:"enabled,omitempty"`    // what the last switch of the session says, nil before the first
	SwitchedAt time.Time `json:"switched_at,omitzero"` // the time of that switch
	Provider   string    `json:"provider,omitempty"`   // of the client that ran its last hook, or the word for none
	LaunchedAt time.Time `json:"launched_at,omitzero"` // of its last supervised launch
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

var errCorrupt = errors.New("the file is corrupt")

// state returns the state of the session, a new one where it has none, and with an error, which is errCorrupt
// for a file that makes no sense.
func (s session) state() (sessionState, error) {
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
func (s session) update(change func(*sessionState)) error {
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

// supervised reports whether the session is supervised in a client of c's: the latest of its supervised
// launches and its switches counts. Without any of them, CCC_SUPERVISOR decides where no launch has set it.
func (s session) supervised(c caller) bool {
	if c.agents {
		return false
	}
	state, _ := s.state() // one that can't be read switches nothing
	launched := state.LaunchedAt
	if c.launched.After(launched) {
		launched = c.launched
	}
	if state.isSwitched(launched) {
		return *state.Enabled
	}
	if !launched.IsZero() {
		return true
	}
	variable := os.Getenv(supervisorVariable)
	return variable == "1" && os.Getenv(launchVariable) == "" || variable == "" && c.byHand
}

// switchTo turns supervision of the session on or off. Where its state is corrupt, a new one is written, and
// the switch counts.
func (s session) switchTo(on bool) error {
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
