package main

// ccc review: a review of a session, in the terminal. Exit code 1 is kept for work that is not approved.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// reviewNow is ccc review [SESSION]. It needs no hook, and no launch by ccc.
func reviewNow(c *invocation, d dirs) error {
	if d.env.isAgents() {
		return withHint(errors.New("review: it is for the user, not for the agent"),
			"the user can call this in a terminal of their own")
	}
	r := newReview(eventReview) // requests from here on are not judged
	stored, talk, err := storedSessionOf(strings.Join(c.operands, ""), d)
	if err != nil {
		return failure{code: 2, err: fmt.Errorf("review: %w", err)}
	}
	s, err := superviseStored(c, stored, talk, d)
	if err != nil {
		return err
	}
	if s.config.Supervisor.Provider, err = s.providerByHand(c.flags["--provider"], talk.model); err != nil {
		return err
	}
	of := judgedWork{talk: talk, lastMessage: talk.lastWords, section: r.occasion().section}
	of.isWorking = talk.lastWords == "" || talk.lastCall != "" // it has not answered yet
	what := clip(oneLine(of.talk.newest().words), 100)
	short := shortID(stored.id)
	tree := printable(pathFrom("", s.place.root))
	s.print(say(reviewingByHand, short, clock(stored.written), tree, what, short))
	if of.isWorking {
		s.print(say(stillWorking))
	}
	ctx, cancel := s.untilEnded(s.patience())
	defer cancel()
	s.describe(&r, of)
	ended := s.conduct(ctx, r, of).redacted()
	if err := s.printReview(ended, c.has("--json")); err != nil {
		return err
	}
	return s.codeOf(ended)
}

// superviseStored returns what reviews a session that is in a transcript, or why none can now. Its working
// tree is that of the current directory, if that is of the session's repository, else the agent's last one.
func superviseStored(c *invocation, stored storedSession, talk conversation, d dirs) (
	s *supervision, err error,
) {
	s = &supervision{dirs: d, config: c.config, session: d.state.session(stored.id), transcript: stored.path,
		client: client{isReview: true}}
	s.dirs.here = transcriptStart(stored.path)
	s.dirs.env = withoutLaunch(d.env)
	cwd := talk.cwd
	if t := worktreeOf(d.here); t.Repository != "" && t.Repository == worktreeOf(s.dirs.here).Repository {
		cwd = d.here
	}
	s.place = d.state.place(s.dirs.here, cwd, s.dirs.env)
	s.state, _ = s.session.readState() // without it the session's provider is not known
	if s.past, err = s.session.readPast(s.state); err != nil {
		return nil, err
	}
	if last := s.past.last.result; last != nil && last.Verdict == verdictReviewing {
		return nil, withHint(errors.New(say(alreadyReviewing)), "ccc log -f "+s.session.id)
	}
	if c.configErr != nil {
		return nil, c.configErr
	}
	return s, d.state.create()
}

// printReview prints the review on stdout, for people or as JSON.
func (s *supervision) printReview(ended review, asJSON bool) error {
	out := newScreen(os.Stdout)
	if asJSON {
		out.Write(append(encodeJSON(reviewOfSession{s.session.id, s.place.project, ended, ended.did}), '\n'))
		return out.Flush()
	}
	if out.terminal && ended.Verdict == verdictCancelled { // after ^C
		fmt.Fprintln(out)
	}
	out.tag = verdictColour(ended.Verdict)
	out.writeText(supervisorTag + " " + ended.receipt())
	if text := cmp.Or(ended.Error, ended.Feedback); text != "" && ended.Verdict != verdictCancelled {
		out.writeText(printable(text))
	}
	return out.Flush()
}

// codeOf returns the exit code of the review as a failure. nil is 0: an approval of the files as they are
// now. If files have changed meanwhile, it prints which.
func (s *supervision) codeOf(ended review) error {
	switch ended.Verdict {
	case verdictCancelled:
		return failure{code: 130}
	case verdictFailed:
		switch {
		case ended.Cause == causeKey && ended.Provider == "":
			s.print(say(otherProvider))
		case ended.Cause != "":
			s.print(ended.advice())
		}
		return failure{code: 4}
	case verdictBlock:
		return failure{code: 1}
	}
	p, end := s.place.within(context.Background(), reviewLookPatience)
	defer end()
	record, _ := p.record()
	o := p.look()
	defer o.end()
	word, why, _, err := ended.answer(record, o)
	if word == verdictAllow {
		return nil
	}
	if err != nil {
		why = err.Error()
	}
	s.print(say(approvedBut, printable(why)))
	return failure{code: 3}
}

// A reviewOfSession is what ccc review --json prints: the members of a review at its end, as in the
// timeline, those of its steps, and whose it is. Secrets are redacted.
type reviewOfSession struct {
	Session string `json:"session_id"` // Claude Code's id
	Project string `json:"project"`    // the directory in which the session was started
	review
	steps
}

// providerByHand returns the provider that ccc review asks: the flag's, else the reviewer's own, else the
// session's as ccc has recorded it; "" or noProvider is none. model answered last in the session. One that
// is not Anthropic's was asked elsewhere, and if nothing tells where, that is an error.
func (s *supervision) providerByHand(flag, model string) (name string, err error) {
	name = cmp.Or(flag, s.config.Supervisor.Provider, s.state.Provider)
	switch {
	case name == "" && model != "" && !strings.Contains(model, "claude"):
		if url := readSources(s.dirs, nil).value(s.dirs.env, "env."+urlVariable); url == "" {
			const unknown = "review: the session has run with %s, and no provider of it is on record"
			err := fmt.Errorf(unknown, printable(model))
			return "", withHint(err, "ccc review --provider NAME, with a name of "+s.dirs.configFile())
		}
	case name != "" && name != noProvider && s.config.Providers[name] == nil:
		err := fmt.Errorf("review: %w", configFault(s.dirs, s.config.unknownProvider(name)))
		return "", failure{code: 2, err: err}
	}
	return name, nil
}
