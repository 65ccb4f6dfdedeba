package main

// What ccc remembers of a session, and whose it is. The state is changed only under the lock. A corrupt
// file is kept beside it, and the session starts anew. A session is the user's if ccc launched its client,
// and a helper's if the agent's tools started it. Claude Code (2.1.280, 2.1.332) names its own process to
// its hooks and tools in CLAUDE_PID.

import (
	"bytes"
	"cmp"
	"crypto/rand"
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

// sessionState is what ccc remembers of a session between two hooks.
type sessionState struct {
	SessionID  string    `json:"session_id"`
	Count      int       `json:"count"`                 // reviews since the last prompt or last end of a stop
	PutOffFor  []string  `json:"put_off_for,omitempty"` // for them the last stop was put off
	Enabled    mode      `json:"enabled,omitempty"`     // by its last switch or launch, "" before one
	SwitchedAt time.Time `json:"switched_at,omitzero"`  // the time of that
	Started    mode      `json:"started,omitempty"`     // by its launch, or as moved: /clear goes back to it
	Provider   string    `json:"provider,omitempty"`    // of the client that ran its last hook, or noProvider
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"` // by a hook: a session without that is in no view

	// The sessions that this one was before Claude Code moved it to the background, oldest first.
	MovedFrom []string `json:"moved_from,omitempty"`
	Forked    bool     `json:"forked,omitempty"` // the last of them goes on beside this one

	// Where its change begins, by place.key.
	Begins map[string]sessionBegin `json:"begins,omitempty"`
}

type sessionBegin struct {
	begin
	Top string `json:"worktree"`
}

var errCorrupt = errors.New("the file is corrupt")

// readState returns the state of the session, a fresh one if there is none. If the file can't be read, the
// fresh state has the timeline's last switch. If the file makes no sense, the error is errCorrupt, and
// without such a switch the session is on.
func (s sessionFiles) readState() (sessionState, error) {
	fresh := sessionState{SessionID: s.id, CreatedAt: now()}
	text, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	var state sessionState
	if err == nil && (json.Unmarshal(text, &state) != nil || state.SessionID != s.id || state.Count < 0) {
		err = fmt.Errorf("%s: %w", s.stateFile(), errCorrupt)
	}
	if err == nil {
		return state, nil
	}
	h, _ := s.readHistory()
	fresh.Enabled = h.switched
	fresh.SwitchedAt = h.switchedAt
	if errors.Is(err, errCorrupt) { // there was one, so it was supervised
		fresh.Enabled = cmp.Or(h.switched, modeOn)
		fresh.Started = modeOn
	}
	return fresh, err
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
	state, err := s.readState()
	if errors.Is(err, errCorrupt) {
		err = errors.Join(fmt.Errorf("%w, kept as %s.bad", err, path), os.Rename(path, path+".bad"))
	} else if err != nil {
		return err
	}
	change(&state)
	return errors.Join(err, replaceFile(path, append(encodeJSON(state), '\n')))
}

// keep replaces a file that ccc only writes. Whoever has it open reads the old text to its end.
func keep(path string, text []byte) error {
	_ = os.Remove(path)
	return os.WriteFile(path, text, 0o600)
}

// isBefore reports whether the last switch was made before a launch at that time, zero for none. A switch
// that is dated in the future counts as earlier: a clock was wrong.
func (s *sessionState) isBefore(launched time.Time) bool {
	isWrong := !launched.IsZero() && s.SwitchedAt.After(launched) && s.SwitchedAt.After(time.Now())
	return launched.After(s.SwitchedAt) || isWrong
}

// A client is the claude that runs a hook, or what does so in its place.
type client struct {
	pid      int       // its process, 0 if unknown or not to be seen from here
	launched time.Time // when ccc launched it supervised, zero if it did not
	isOthers bool      // its launch belongs to another client, or it is a background session
	isHelper bool      // started by one of the agent's tools: may not switch supervision
	isScript bool      // a person or a script runs the hook, no claude
	isReview bool      // no hook either: the user runs ccc review; the mode does not matter
	asked    string    // the value of CCC_SUPERVISOR
}

// newLaunchToken returns the value of CCC_LAUNCH, which everything below a launch inherits: the time in
// milliseconds, what no other launch has, and this process, which becomes the client or a wrapper of it.
func newLaunchToken() string {
	return fmt.Sprintf("%d.%s.%d", now().UnixMilli(), rand.Text(), os.Getpid())
}

// clientNow returns the client that runs this hook. The first client that asks with a launch's token claims
// that launch. After that client has ended, the next one claims it, but only while the launch's own process
// still runs, as a wrapper's does. If the claim can't be written, the token alone counts. A token of another
// form counts for nothing. A background session claims nothing: its service has the variables of whatever
// started the service (2.1.332).
func (d dirs) clientNow(claims bool) (c client, err error) {
	token := d.env.get(launchVariable)
	millis, rest, _ := strings.Cut(token, ".")
	random, number, _ := strings.Cut(rest, ".")
	process, _ := strconv.Atoi(number) // none in a token of 3.0, whose launch nobody claims a second time
	launched, parseErr := strconv.ParseInt(millis, 10, 64)
	c = client{isScript: !d.inSession(), asked: d.env.get(supervisorVariable)}
	if c.isScript {
		return c, nil
	}
	pid, _ := strconv.Atoi(d.env.get(clientVariable))
	if !isGone(pid) { // one that can't be seen from the beginning is in another PID namespace
		c.pid = pid
	}
	c.isOthers = token != "" && d.env.get(jobVariable) != ""
	if c.isOthers || !claims || parseErr != nil || !validSession(random) {
		return c, nil
	}
	claimant := pid
	if pid > 0 {
		claimant, err = d.state.claim(token, process, pid)
	}
	c.isOthers = claimant != pid
	if c.isOthers {
		c.isHelper = !isGone(claimant) && strings.HasPrefix(d.env.get(entrypointVariable), "sdk-")
	} else {
		c.launched = time.UnixMilli(launched).UTC()
	}
	return c, err
}

// claim returns the client that has claimed the launch with that token. If nobody has, or the client has gone
// and the launch's own process has not, pid claims it.
func (d stateDir) claim(token string, process, pid int) (claimant int, err error) {
	path := d.file("launch-" + token)
	read := func() bool {
		text, err := os.ReadFile(path)
		claimant, _ = strconv.Atoi(string(text))
		return err == nil && (claimant == pid || !isGone(claimant) || isGone(process))
	}
	if read() {
		return claimant, nil
	}
	if err := d.create(); err != nil {
		return pid, err
	}
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return pid, err
	}
	defer unlock()
	if read() { // another hook was faster
		return claimant, nil
	}
	return pid, replaceFile(path, []byte(strconv.Itoa(pid)))
}

// modeOf returns the mode of a session with that state in the client c. observe is supervisor.observe of
// ccc.json. The launch and the switches decide, whichever came last. If there was neither, CCC_SUPERVISOR
// decides, unless it comes from another client's launch. A hook that is run by hand is supervised unless
// CCC_SUPERVISOR says otherwise.
func modeOf(state sessionState, c client, observe bool) mode {
	isOn := state.isBefore(c.launched)
	present := state.Enabled
	if present == "" {
		isOn = isOn || c.asked == "1" && !c.isOthers || c.asked == "" && c.isScript
		present = modeOff
	}
	switch {
	case c.isHelper:
		return modeOff
	case isOn, c.isReview:
		present = modeOn
	}
	if present == modeOn && observe {
		return modeObserve
	}
	return present
}

// goOnAs makes the session, which Claude Code has moved, go on as the one that it was before. What the user
// has switched in it since stays. The state is the session's, also if it could not be written.
func (s sessionFiles) goOnAs(before sessionFiles, isForked bool) (state sessionState, err error) {
	from, err := before.readState()
	state, _ = s.readState()
	if from.Enabled == "" {
		return state, err // it was nobody's
	}
	take := func(own *sessionState) {
		if own.SwitchedAt.IsZero() {
			own.Enabled = from.Enabled
			own.SwitchedAt = from.SwitchedAt
		}
		own.Started = cmp.Or(from.Started, from.Enabled)
		own.MovedFrom = append(slices.Clone(from.MovedFrom), before.id)
		own.Forked = isForked
		own.Count = from.Count
		own.Provider = from.Provider
		own.Begins = from.Begins
		own.UpdatedAt = from.UpdatedAt
		state = *own
	}
	take(&state)
	return state, errors.Join(err, s.update(take))
}

// beginIn is for a session that /clear, /branch or /resume has begun in the background job with that
// directory: it gets the mode that the job's first session was started with. The directory's name is the
// beginning of that session's id (2.1.280, 2.1.332). If that session began in the background, both are
// nobody's.
func (s sessionFiles) beginIn(job string) error {
	ids, _ := s.dir.sessions()
	isFirst := func(id string) bool { return strings.HasPrefix(id, filepath.Base(job)) }
	first := slices.IndexFunc(ids, isFirst)
	if first < 0 {
		return nil
	}
	from, err := s.dir.session(ids[first]).readState()
	if from.Started == "" {
		return err
	}
	return errors.Join(err, s.update(func(state *sessionState) {
		state.Enabled = from.Started
		state.Started = from.Started
		state.SwitchedAt = from.SwitchedAt
		state.Provider = from.Provider
	}))
}

// readPast reads the history of the session with that state, which goes on from what it was before a move.
func (s sessionFiles) readPast(state sessionState) (*history, error) {
	ids := append(slices.Clone(state.MovedFrom), s.id)
	past, err := s.dir.session(ids[0]).readHistory()
	for _, id := range ids[1:] {
		next := s.dir.session(id)
		moved, _ := next.readState()
		err = cmp.Or(err, past.goOn(next, moved.CreatedAt))
	}
	return past, err
}

// movedFrom returns the session that this one, with that id and transcript, was before Claude Code moved or
// forked it to the background. isKnown is false if ccc knows no such session. The old transcript ends with
// the id of the new session, and a fork's job names its parent (2.1.280, 2.1.332). The new transcript does
// not exist before the first stop, and the old one not before the first prompt.
func (d dirs) movedFrom(session, transcript string) (before sessionFiles, isForked, isKnown bool) {
	ids, _ := d.state.sessions()
	job := d.readJob()
	isJobs := cmp.Or(job.ForkSessionID, session) == session // and is not started by the fork's tools
	parked := d.parkedAs(session)
	mark := []byte(`"continuedInSessionId":"` + session + `"`)
	for _, id := range ids {
		end := lastBytes(filepath.Join(filepath.Dir(transcript), id+".jsonl"), 4<<10)
		isForked = isJobs && id == job.ForkParentSessionID
		if isForked || id == parked || bytes.Contains(end, mark) {
			return d.state.session(id), isForked, true
		}
	}
	return before, false, false
}

// parkedAs returns the session that a client had as it moved it to the background, where it became the one
// with that id, "" for none. As long as that client runs, its file names the job (2.1.280, 2.1.332).
func (d dirs) parkedAs(session string) (before string) {
	names, _ := fs.Glob(os.DirFS(d.claude), "sessions/*.json")
	for _, name := range names {
		var client struct{ SessionID, ParkedJobID string }
		text, _ := os.ReadFile(filepath.Join(d.claude, name))
		_ = json.Unmarshal(text, &client)
		if client.ParkedJobID != "" && strings.HasPrefix(session, client.ParkedJobID) {
			before = client.SessionID
		}
	}
	return before
}

// A backgroundJob is a job of Claude Code's background service, as its state.json tells (2.1.280, 2.1.332).
type backgroundJob struct {
	ForkSessionID, ForkParentSessionID string
}

func (d dirs) readJob() (job backgroundJob) {
	text, _ := os.ReadFile(filepath.Join(d.env.get(jobVariable), "state.json"))
	_ = json.Unmarshal(text, &job)
	return job
}

// isOfJob reports whether the client that runs the hook is the background job that its variables name, and
// not a claude that the job's tools have started: the client's file says so (2.1.280, 2.1.332).
func (d dirs) isOfJob() bool {
	var client struct{ JobID string }
	text, _ := os.ReadFile(filepath.Join(d.claude, "sessions", d.env.get(clientVariable)+".json"))
	_ = json.Unmarshal(text, &client)
	return client.JobID == filepath.Base(d.env.get(jobVariable))
}

// isAgents reports whether one of an agent's tools calls ccc: a tool has no terminal.
func (e environ) isAgents() bool {
	terminal, err := os.Open("/dev/tty")
	if err == nil {
		terminal.Close()
	}
	return e.get(toolVariable) != "" && err != nil
}
