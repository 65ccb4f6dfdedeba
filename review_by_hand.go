package main

// ccc review: a review of a session once, now, in the terminal.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// reviewNow is ccc review [SESSION]. It needs no hook, and no launch by ccc.
func reviewNow(c *invocation, d dirs) (err error) {
	defer func() { // exit code 1 is for work that is not approved
		f := failureOf(err)
		if f.err != nil && f.code == 1 {
			f.code = 4
			err = f
		}
	}()
	if callerOf(ancestry(os.Getpid()), d.env).agents {
		return withHint(errors.New("review: it is for the user, not for the agent"),
			"the user can call this in a terminal of their own")
	}
	stored, talk, err := storedSessionOf(c, d)
	if err != nil {
		return failure{code: 2, err: fmt.Errorf("review: %w", err)}
	}
	state := stateDir(d.state)
	s := &supervision{dirs: d, session: state.session(stored.id), project: transcriptStart(stored.path),
		isWanted: func() bool { return true }}
	s.dirs.here = s.project
	if s.past, err = s.session.readHistory(); err != nil {
		return err
	}
	s.state, _ = s.session.state() // one that can't be read knows nothing
	if last := s.past.last(); last != nil && last.Verdict == verdictReviewing {
		return withHint(errors.New(say(alreadyReviewing)), "ccc log -f "+s.session.id)
	}
	if s.config, err = loadConfig(d); err != nil {
		return err
	}
	if err := state.create(); err != nil {
		return err
	}
	if s.config.Supervisor.Provider, err = s.providerByHand(c.flags["--provider"]); err != nil {
		return err
	}
	what := clip(firstLine(talk.prompt().words), 100)
	here := talk.cwd
	if t := treeOf(d.here); t.Repository != "" && t.Repository == treeOf(s.project).Repository {
		here = d.here // what lies where this is called is judged
	}
	tree := printable(pathFrom("", workingTree(s.project, here)))
	short := stored.id[:min(8, len(stored.id))]
	s.print(say(reviewingByHand, short, clock(stored.written), tree, what, short))
	if talk.lastWords == "" || strings.HasPrefix(talk.lastWords, toolUse) {
		s.print(say(stillWorking))
	}
	ctx, cancel := s.untilEnded(s.patience(""))
	defer cancel()
	talk.noteReviews(s.past)
	of := changeOf{history: s.past, byHand: true}
	if len(talk.requests) > 0 {
		of.started = talk.requests[0].at
	}
	request := reviewRequest{conversation: talk, change: of,
		here: here, lastMessage: talk.lastWords, iteration: 1, limit: 1}
	ended := s.review(ctx, newReview(eventReview), request).shown()
	out := newScreen(os.Stdout)
	if c.has("--json") {
		out.Write(encodeJSON(reviewOfSession{stored.id, s.project, ended, ended.did}))
		fmt.Fprintln(out)
	} else {
		if out.terminal && ended.Verdict == verdictCancelled { // behind ^C
			fmt.Fprintln(out)
		}
		out.tag = verdictColour(ended.Verdict)
		out.writeText(supervisorTag + " " + ended.receipt())
		if found := cmp.Or(ended.Error, ended.Feedback); found != "" && ended.Verdict != verdictCancelled {
			out.writeText(printable(found))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	switch ended.Verdict {
	case verdictCancelled:
		return failure{code: 130}
	case verdictFailed:
		return failure{code: 4}
	case verdictBlock:
		return failure{code: 1}
	}
	now := ended.answer(context.Background(), d.env)
	if now.word == verdictAllow {
		return nil
	}
	s.print(say(approvedBut, printable(now.why)))
	return failure{code: 3}
}

// A reviewOfSession is what ccc review --json prints: the members of a review at its end, as in the timeline,
// of its steps those of steps, and whose it is. Secrets are redacted.
type reviewOfSession struct {
	Session string `json:"session_id"` // Claude Code's id
	Project string `json:"project"`    // the directory in which the session was started
	review
	steps
}

// storedSessionOf returns the session of Claude Code's whose id the operand begins, of whichever project;
// without an operand the one that was written last: of this working tree, else of this project, else of a
// directory that holds this one. A session without a request is passed over. An operand that begins the ids
// of several is an error. A session that lies in several projects, as when one was copied, is the transcript
// that was written last.
func storedSessionOf(c *invocation, d dirs) (found storedSession, talk conversation, err error) {
	word := strings.Join(c.operands, "")
	which, isMeant := "of this project ("+d.here+")", []func(storedSession) bool{
		func(s storedSession) bool { return treeOf(transcriptStart(s.path)) == treeOf(d.here) },
		func(s storedSession) bool { return d.isOfProject(transcriptStart(s.path)) },
		func(s storedSession) bool {
			start := transcriptStart(s.path)
			return start != "" && inside(resolved(d.here), resolved(start))
		},
	}
	if word != "" {
		which = fmt.Sprintf("beginning with %q", word)
		isMeant = []func(storedSession) bool{
			func(s storedSession) bool { return strings.HasPrefix(s.id, word) },
		}
	}
	for _, isOne := range isMeant {
		for _, s := range storedSessions(d.claude, "projects/*/*.jsonl", isOne) {
			one, err := readConversation(s.path)
			switch {
			case err != nil || one.prompt().words == "" || s.id == found.id:
				continue
			case word == "":
				return s, one, nil
			case found.id != "":
				const format = "which of the sessions %s? Name one: %s %s"
				return found, talk, fmt.Errorf(format, which, found.id, s.id)
			}
			found, talk = s, one
		}
	}
	if found.id == "" {
		err := fmt.Errorf("no session of Claude Code's %s holds a request", which)
		return found, talk, withHint(err, "start one with ccc --supervisor, or cd to the project of one")
	}
	return found, talk, nil
}

// providerByHand returns the provider that ccc review asks: the reviewer's own, else that of the session if
// it is known, else the flag's, else that of a launch without a name, which is told. "" is none. A flag that
// names another than the first two is an error.
func (s *supervision) providerByHand(flag string) (name string, err error) {
	given := cmp.Or(s.config.Supervisor.Provider, s.state.Provider)
	name = cmp.Or(given, flag, s.config.CurrentProvider)
	switch {
	case flag != "" && name != flag:
		const other = "review: the reviewer's provider is %s (the session's, or supervisor.provider), not %s"
		return "", failure{code: 2, err: fmt.Errorf(other, name, flag)}
	case name == noProvider:
		return "", nil
	case name != "" && s.config.Providers[name] == nil:
		return "", failure{code: 2, err: fmt.Errorf("review: %w", s.config.unknownProvider(name))}
	case given == "" && name != "":
		s.print(say(reviewingWith, name))
	}
	return name, nil
}
