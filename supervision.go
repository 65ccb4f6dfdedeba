package main

// ccc at work on a session: its mode, its limit, who waits, and what is printed, logged and recorded of it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
)

// A supervision is ccc at work on a session.
type supervision struct {
	dirs       dirs           // of the project
	config     *configuration // the defaults if ccc.json can't be used
	configErr  error          // why a hook can't use it
	session    sessionFiles
	transcript string       // the path of the session's
	state      sessionState // as it was read or written last
	moved      sessionState // what this session goes on from if Claude Code has just moved it; never changed
	past       *history     // of the session's timeline; the end of a review reads on
	queue      promptQueue  // of a hook's session, from a stop or a question on
	place      place
	client     client    // that runs the hook
	release    func()    // releases the lock of a review that has begun
	lost       error     // the first that kept state, timeline or output from being written, nil for none
	noLog      sync.Once // tells that the log can't be written
}

// mode returns the mode of the session: by its state as last read, and by what waits in the queue.
func (s *supervision) mode() mode { return s.modeBy(s.state) }

// modeBy is mode for that state.
func (s *supervision) modeBy(state sessionState) mode {
	return modeOf(s.queue.switched(state), s.client, s.config.Supervisor.Observe)
}

// changeState changes the state of a hook's session.
func (s *supervision) changeState(change func(*sessionState)) error {
	return s.session.update(func(state *sessionState) {
		s.remember(state)
		s.noteClient(state)
		change(state)
		state.UpdatedAt = now()
		s.state = *state
	})
}

// remember makes state, as it was read, what a moved session goes on from, if that could not be written.
func (s *supervision) remember(state *sessionState) {
	if state.Enabled == "" && len(s.moved.MovedFrom) > 0 {
		*state = s.moved
	}
}

// noteClient notes in the session's state what its client was started with.
func (s *supervision) noteClient(state *sessionState) {
	isNoted := s.dirs.env.get(jobVariable) != "" && state.Provider != ""
	if !s.client.isScript && !isNoted { // a moved session's variables may be another launch's
		state.Provider = cmp.Or(s.dirs.env.get(providerVariable), noProvider)
	}
	if state.isBefore(s.client.launched) { // a launch switches it on
		state.Enabled = modeOn
		state.Started = modeOn
		state.SwitchedAt = s.client.launched
	}
}

// reviewLimit returns how many reviews a request has. In a session Claude Code's own limit counts, too:
// there it would end the turn by force. The hook's environment has that limit, whoever launched the session.
// A value without a number means 8, and 0 means no limit (2.1.280, 2.1.332).
func (s *supervision) reviewLimit() int {
	most := s.config.Supervisor.MaxIterations
	blockCap := 8
	// Like Claude Code, it reads the digits at the beginning.
	_, _ = fmt.Sscanf(s.dirs.env.get(blockCapVariable), "%d", &blockCap)
	if !s.dirs.inSession() || blockCap <= 0 {
		return most
	}
	return min(blockCap, most)
}

// reviewersProvider returns the reviewer's own provider, nil for none, and reports whether it asks the API
// that the session does. In a review by hand, the state tells the session's provider.
func (s *supervision) reviewersProvider() (own *provider, isSessions bool) {
	return s.config.reviewersProvider(cmp.Or(s.dirs.env.get(providerVariable), s.state.Provider))
}

// launched reports whether ccc launched the session's client supervised.
func (s *supervision) launched() bool { return !s.client.launched.IsZero() }

// listening returns why nobody waits for a decision any more, nil while somebody does. There are three
// reasons. A signal has ended ccc: the cause of ctx says so. The client has gone: a killed client sends no
// signal. Or supervision was switched off, even if that command still waits in the queue.
func (s *supervision) listening(ctx context.Context) error {
	state, _ := s.session.readState() // if it can't be read, it has the last switch
	s.remember(&state)
	switch {
	case errors.Is(context.Cause(ctx), errUserEnded), s.client.pid > 0 && isGone(s.client.pid):
		return errUserEnded
	case s.modeBy(state) == modeOff:
		return errSwitchedOff
	}
	return nil
}

// patience returns how long a review may take, and the error of one that takes longer.
func (s *supervision) patience() (timeout time.Duration, late error) {
	seconds := s.config.Supervisor.TimeoutSeconds
	return time.Duration(seconds) * time.Second, errors.New(say(noVerdictWithin, seconds))
}

// untilEnded returns a context that ends after timeout, with late as its cause, or when nobody listens.
func (s *supervision) untilEnded(timeout time.Duration, late error) (context.Context, context.CancelFunc) {
	timed, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(timed)
	signals := endSignals()
	go func() {
		defer exitOnPanic()
		for tick := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-signals:
				cancel(errUserEnded)
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := s.listening(ctx); err != nil {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil); stop() }
}

// warnLost is warn for an error that kept something from being recorded. The session shows the first one.
func (s *supervision) warnLost(during string, err error) {
	s.lost = cmp.Or(s.lost, err)
	s.warn(during, err)
}

// withLost returns text, and after it what could not be recorded.
func (s *supervision) withLost(text string) string {
	if s.lost != nil {
		text = strings.TrimSpace(text) + "\n" + say(notRecorded, s.lost)
	}
	return strings.TrimSpace(text)
}

// warnReview warns of what went wrong in a review without ending it.
func (s *supervision) warnReview(err error) {
	s.warn("review", err)
	if errors.As(err, new(*fs.PathError)) { // its output could not be written
		s.lost = cmp.Or(s.lost, err)
	}
}

// append adds e to the session's timeline. What fails is a warning, and told in the session.
func (s *supervision) append(e entry) {
	e.Project = s.place.project
	s.warnLost("writing the timeline", s.session.append(e))
}

// print writes the lines to stderr, with secrets redacted.
func (s *supervision) print(lines ...string) {
	notice(redact(strings.Join(lines, "\n")))
}

// warn prints and logs a fault that does not change the decision. nil is no fault.
func (s *supervision) warn(during string, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "ccc: %s: %s\n", during, printable(redact(err.Error())))
	s.log("warning", "during", during, "error", err)
}

// log adds a line with the session's id to the log; pairs are as in stateDir.log. That it fails is said once,
// on stderr.
func (s *supervision) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", s.session.id}, pairs...)
	if err := s.session.dir.log(what, pairs...); err != nil {
		s.noLog.Do(func() { fmt.Fprintln(os.Stderr, "ccc: writing the log:", err) })
	}
}
