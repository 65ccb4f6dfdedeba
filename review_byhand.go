package main

// ccc review: a review of any session of this project, in the terminal.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// reviewNow is ccc review [SESSION]: a review of any session of Claude Code's in this project.
func reviewNow(c *invocation, d dirs) (err error) {
	defer func() {
		if f := failureOf(err); err != nil && f.err != nil && f.code == 1 { // 1 would say that the work is not approved
			err = failure{4, f.err, f.hint}
		}
	}()
	s := &supervision{dirs: d, isWanted: func() bool { return true }, redact: redacting(d), stderr: os.Stderr}
	state := stateDir(d.state)
	if callerOf(ancestry(os.Getpid())).agents {
		return withHint(errors.New("review: it is for the user, not for the agent"), "the user can call this in a terminal of their own")
	}
	stored, talk, err := storedSessionOf(c, d)
	if err != nil {
		return failure{code: 2, err: fmt.Errorf("review: %w", err)}
	}
	s.session, s.project = state.session(stored.id), transcriptStart(stored.path)
	s.dirs.here = s.project
	past, err := s.session.readHistory()
	if last := past.last(); err == nil && last != nil && last.Verdict == verdictReviewing {
		err = withHint(errors.New(say(reviewedNow)), "ccc log -f "+s.session.id)
	}
	if err != nil {
		return err
	}
	config, err := loadConfig(d)
	if err != nil {
		return err
	}
	if err := state.create(); err != nil {
		return err
	}
	if config.Supervisor.Provider, err = s.providerByHand(c.flags["--provider"], config); err != nil {
		return err
	}
	what := clip(firstLine(talk.prompt().words), 100)
	s.print(say(reviewingByHand, stored.id, stored.written.Local().Format(time.DateTime), what))
	if talk.last == "" || strings.HasPrefix(talk.last, toolUse) {
		s.print(say(stillWorking))
	}
	ctx, cancel := s.untilEnded(s.patience(config, ""))
	defer cancel()
	since := baseline{commit: "unknown", asked: talk.prompt().asked}
	request := reviewRequest{conversation: talk, since: since,
		here: talk.here, lastMessage: talk.last, iteration: 1, limit: 1}
	ended := s.session.round(s.review(ctx, config, record{Kind: kindEnd, Event: eventReview}, request))
	if c.has("--json") {
		_, err = os.Stdout.Write(append(encodeJSON(struct {
			Session string `json:"session_id"`
			reviewRound
		}{stored.id, ended}), '\n'))
	} else {
		_, err = fmt.Println(strings.TrimRight(verdictName(ended.Verdict)+"\n"+printable(cmp.Or(ended.Error, ended.Feedback)), "\n") + "\n" + ended.receipt())
	}
	switch {
	case err != nil:
		return err
	case ended.Verdict == verdictCancelled:
		return failure{code: 130}
	case ended.Verdict == verdictFailed:
		return failure{code: 4}
	case ended.Verdict == verdictBlock:
		return failure{code: 1}
	}
	word, why := ended.standing(d)
	if word == verdictAllow {
		return nil
	}
	s.print(string(word) + ": " + printable(why))
	return failure{code: 3}
}

// storedSessionOf returns the session that the operand begins, of all projects, else the one of this project
// that was written last. Where nobody looks on, two that were written within a minute are a question, not an
// answer.
func storedSessionOf(c *invocation, d dirs) (found storedSession, talk conversation, err error) {
	word := strings.Join(c.operands, "")
	stored := func(isMeant func(storedSession) bool) []storedSession {
		return storedSessions(d.claude, "projects/*/*.jsonl", isMeant)
	}
	sessions := stored(func(s storedSession) bool {
		if word != "" {
			return strings.HasPrefix(s.id, word)
		}
		return d.isOfProject(transcriptStart(s.path))
	})
	if len(sessions) == 0 && word == "" { // then it was started in a directory above
		sessions = stored(func(s storedSession) bool {
			start := transcriptStart(s.path)
			return start != "" && inside(resolved(d.here), resolved(start))
		})
	}
	var known []storedSession
	ids := ""
	for _, s := range sessions {
		one, err := readConversation(s.path)
		if err != nil || one.prompt().words == "" {
			continue // nothing was said in it
		}
		if known, ids = append(known, s), ids+" "+s.id; len(known) == 2 {
			break // it is a choice
		}
		talk = one
	}
	which := "in this project, " + d.here + ","
	if word != "" {
		which = fmt.Sprintf("beginning with %q", word)
	}
	const close = time.Minute
	switch {
	case len(known) == 0:
		return found, talk, fmt.Errorf("no session of Claude Code's %s holds a request", which)
	case len(known) > 1 && (word != "" && known[0].id != word || word == "" && !newScreen(os.Stdout).terminal && known[0].written.Sub(known[1].written) < close):
		return found, talk, fmt.Errorf("which of the sessions %s? Name one:%s", which, ids)
	}
	return known[0], talk, nil
}

// providerByHand returns the provider that ccc review asks: the reviewer's own, else the session's if it is
// known, else the flag's, else that of a plain ccc, which is named. "" is none.
func (s *supervision) providerByHand(flag string, config *configuration) (name string, err error) {
	state, _ := s.session.state() // one that can't be read knows nothing
	given := cmp.Or(config.Supervisor.Provider, state.Provider)
	name = cmp.Or(given, flag, config.CurrentProvider)
	switch {
	case flag != "" && name != flag:
		return "", failure{code: 2, err: fmt.Errorf("review: it goes to provider %s, as the session did or supervisor.provider says, and not to %s", name, flag)}
	case name == noProvider:
		return "", nil
	case name != "" && config.Providers[name] == nil:
		return "", failure{code: 2, err: fmt.Errorf("review: no provider %q in ccc.json", name)}
	case given == "" && name != "":
		s.print(say(reviewingWith, name))
	}
	return name, nil
}
