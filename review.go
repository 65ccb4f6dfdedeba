package main

// One review of a session, of a stop, of a question or by hand. It has a line in the timeline when it begins
// and another when it ends, unless ccc is killed. What goes wrong ends as a review that failed.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A supervision is ccc at work on a session.
type supervision struct {
	dirs    dirs           // of the project
	config  *configuration // the defaults, where ccc.json can't be used
	session sessionFiles
	state   sessionState // as it was read first
	past    *history     // of the session's timeline; the end of a review reads on
	project string       // where the session was started
	caller  caller       // of a hook
	present func() mode  // returns the session's mode, as of now
	release func()       // releases the lock of a review that runs; nil before

	request reviewRequest // of the review, and the change that it judged
	judged  judgedChange

	lost error // the first that kept state, timeline or output from being written; nil if all was
}

// reviewLimit returns how many reviews a request has. In a session Claude Code's own limit counts too. The
// hook's environment has it, whoever launched the session.
func (s *supervision) reviewLimit() int {
	most := s.config.Supervisor.MaxIterations
	if !s.dirs.inSession() {
		return most
	}
	return limitUnder(most, s.dirs.env.get(blockCapVariable))
}

// newReview returns a review on the occasion of that name that begins now.
func newReview(occasion string) review {
	return review{ID: strconv.FormatInt(time.Now().UnixNano(), 36), Event: occasion, Begun: now()}
}

// describe completes what r has when it begins: whose it is, its time, and what it judges.
func (r *review) describe(ctx context.Context, request reviewRequest) {
	r.Seen.tree = treeOf(request.tree)
	if at, ok := ctx.Deadline(); ok {
		r.Deadline = at.UTC().Truncate(time.Millisecond)
	}
	r.LastMessage = cutMiddle(request.lastMessage, 2000)
	if on := r.occasion(); on.isQuestion {
		r.Question = on.quote(request.question)
	}
	for _, asked := range request.requests { // not the timeline's: some may have been withdrawn
		r.Requests = append(r.Requests, cutMiddle(asked.String(), 4000))
	}
}

// review has a reviewer judge the request. It prints and records what comes of it, and returns r with that.
func (s *supervision) review(ctx context.Context, r review, request reviewRequest) review {
	on := r.occasion()
	source, prompt, err := supervisorPrompt(s.project, s.dirs.ccc)
	if err != nil {
		return s.endReview(r, err)
	}
	request.project, request.tree = s.project, workingTree(s.project, request.here)
	request.iteration, request.limit = max(r.Iteration, 1), max(r.Limit, 1) // if it counts for no limit, 1/1
	r.PromptSource = source
	r.describe(ctx, request)
	s.release, err = s.session.hold(r.ID)
	s.warn("locking the review's file", err)
	s.record(entry{Review: &r})
	if !on.isQuestion {
		s.warnLost("noting the last review", s.place(request.here).noteLast(s.session.id, r))
	}

	call, judged, err := s.prepare(ctx, prompt, &request, on.isByHand)
	if err != nil {
		return s.endReview(r, err)
	}
	if judged.Unseen != "" {
		s.log("no look at the working tree", "error", judged.Unseen)
	}
	s.judged, s.request = judged, request
	r.Seen, r.Change, r.NoCopy, r.Way = judged.look, judged.listedPaths(), request.noCopy, "own"
	call.env = setEnv(call.env, alternatesVariable, strings.Trim(lookupEnv(call.env, alternatesVariable)+":"+
		alternate(s.place(request.here).objects()), ":"))
	r.Model = cmp.Or(call.config.Model, lookupEnv(call.env, "ANTHROPIC_MODEL"))
	if call.shares {
		r.Way = "cache"
	}
	path := s.session.byHandFile()
	if !on.isByHand { // ccc review has printed its own
		path = s.session.outputFile()
		s.print(say(on.running)+"...", say(detailsIn, path))
	}
	s.log("review started", "iteration", r.reviewNumber(), "prompt_source", source)
	if r.NoCopy != "" {
		s.log("no copy to run commands in", "error", r.NoCopy)
	} else {
		of := filepath.Join(string(s.session.dir), s.session.id, r.ID)
		call.env = setEnv(call.env, tryVariable, of)
	}
	if output, err := openOutput(path); err != nil {
		s.warnLost("opening the reviewer's output", err)
	} else {
		defer output.Close()
		call.output = &outputWriter{output, &s.lost}
	}
	r.outcome, err = call.run(ctx, func(did step) { s.noteStep(r, did) })
	if s.present() == modeObserve { // it may have been switched meanwhile
		r.Observed, r.Iteration, r.Limit = true, 0, 0
	}
	if err == nil { // the reviewer has answered
		err = s.listening(ctx)
	}
	if err == nil && r.Verdict == "" {
		err = s.takeWords(&r)
	}
	return s.endReview(r, err)
}

// prepare plans a review, and meanwhile takes the change that the reviewer is going to see. It completes
// request.
func (s *supervision) prepare(ctx context.Context, prompt string, request *reviewRequest, byHand bool) (
	call *reviewerCall, judged judgedChange, err error,
) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	before := make(chan judgedChange, 1)
	go func() {
		defer exitOnPanic()
		before <- s.place(request.here).takeChange(looking, s.session, request.transcript, byHand)
	}()
	if call, err = s.plan(ctx, prompt, request); err != nil {
		stop()
	}
	judged = <-before
	if err == nil {
		err = context.Cause(ctx) // which is no reason why there is no copy, or no look
	}
	if err != nil {
		return nil, judged, err
	}
	request.addChange(judged)
	call.input = request.requestText(call.shares)
	if call.shares { // no flag may change the system prompt then
		call.input = call.prompt + "\n\n" + say(verdictForm) + "\n\n" + call.input
	}
	return call, judged, nil
}

// listening returns why nobody waits for a decision any more: a signal ended ccc, as the cause of ctx, its
// client has gone (a killed one sends no signal), or the session was switched off. nil while somebody does.
func (s *supervision) listening(ctx context.Context) error {
	switch {
	case errors.Is(context.Cause(ctx), errUserEnded), s.caller.pid > 0 && isGone(s.caller.pid):
		return errUserEnded
	case s.present() == modeOff:
		return errSwitchedOff
	}
	return nil
}

// endReview ends the review: it completes and records it, and prints what came of it. With an error no review
// took place: the agent stops, a question goes to the user. A review was cancelled if the user ended it, so
// that Claude Code no longer listens to the hook, or if supervision was switched off. The end also goes to
// the log, without feedback, and sweeps the state directory. Where nobody listens to that of a stop, the next
// prompt records it, and so tells the user.
func (s *supervision) endReview(r review, err error) review {
	switch {
	case errors.Is(err, errUserEnded), errors.Is(err, errSwitchedOff):
		r.Verdict, r.Error, r.Feedback = verdictCancelled, err.Error(), ""
	case err != nil:
		r.Verdict, r.Error, r.Feedback = verdictFailed, err.Error(), ""
	case r.Verdict == verdictBlock: // a reviewer may refuse without a word
		r.Feedback = cmp.Or(r.Feedback, say(defaultFeedback))
	}
	r.Ended = now()
	switch on := r.occasion(); {
	case on.isByHand: // ccc review prints it, and no agent goes on or stops
	case err != nil:
		fmt.Fprintln(os.Stderr, "ccc: no review:", printable(redact(r.Error))) // it may quote a key
	case r.Verdict == verdictAllow:
		s.print(say(on.allowed))
	case r.Verdict == verdictBlock && r.Observed:
		s.print(say(unfinishedObserved, printable(r.Feedback)))
	case r.Verdict == verdictBlock:
		s.print(say(on.refused, printable(r.Feedback)))
	}
	isUntold := errors.Is(err, errUserEnded) && r.occasion().isStop
	if !isUntold {
		s.record(entry{Review: &r})
	}
	s.settle(r)
	if s.release != nil {
		s.release()
	}
	s.warn("reading the timeline", s.past.read())
	if recorded := s.past.review(r.ID); recorded != nil { // what ccc try has recorded is known from there
		r.did = recorded.did
	}
	if !isUntold {
		s.logEnd(r)
	}
	s.warn("sweeping the state directory", s.session.dir.sweep())
	r.lost = s.lost
	return r
}

// settle records what the end of the review means for the working tree. A review that had no begin is noted
// as the last one now.
func (s *supervision) settle(r review) {
	p := s.dirs.state.place(r.Seen.Top, s.dirs.env)
	if r.Deadline.IsZero() && !r.occasion().isQuestion {
		s.warnLost("noting the last review", p.noteLast(s.session.id, r))
	}
	err := p.settle(s.session, r, s.judged.from, s.request.transcript)
	s.warnLost("recording what has become of the change", err)
}

// place returns the working tree that holds here, where that is one of the project's repository, else that of
// the project.
func (s *supervision) place(here string) place {
	return s.session.dir.place(workingTree(s.project, here), s.dirs.env)
}

// logEnd adds the end of a review to the log, without feedback.
func (s *supervision) logEnd(r review) {
	pairs := []any{"event", r.Event, "verdict", r.Verdict, "iteration", r.reviewNumber(),
		"duration", fmt.Sprintf("%.3fs", r.DurationSeconds)}
	if r.CostUSD > 0 { // else it is not known
		pairs = append(pairs, "cost_usd", r.CostUSD)
	}
	if r.NoVerdict {
		pairs = append(pairs, "no_verdict", true)
	}
	if r.Error != "" {
		pairs = append(pairs, "error", r.Error)
	}
	s.log("review ended", pairs...)
}

// noteStep prints and records what the reviewer called, was refused, got an error for or said. Its words are
// printed whole and recorded cut; an error is only recorded.
func (s *supervision) noteStep(r review, did step) {
	did.Review = r.ID
	if tool, about, ok := strings.Cut(did.Tool, "("); ok {
		columns := 80 + displayWidth(tryCall().FindString(did.Tool)) // the command of ccc try counts
		did.Tool = tool + "(" + clip(strings.TrimSuffix(about, ")"), columns) + ")"
	}
	text := did.inWords(r.Seen.Top)
	switch did.Kind {
	case stepWords:
		s.print(printable(text))
	case stepCall, stepRefused:
		s.print("  " + printable(text))
	}
	did.Words = cutMiddle(did.Words, 2000)
	s.record(entry{Step: &did})
}

// takeWords makes a refusal of an answer without a verdict: its words are the feedback. The default feedback
// takes the place of those that say nothing, and of those that hold an approval, an order for an agent. There
// is no review, and an error, of a question, and in a session where too many in a row gave no verdict.
func (s *supervision) takeWords(r *review) error {
	said, before, on := r.Feedback, s.past.countWithoutVerdict(), r.occasion()
	isBounded := s.dirs.inSession() && !on.isByHand // by hand somebody reads each
	withheld := saysNothing(said) || !on.isByHand && holdsApproval(said)
	most := 2 // so many in a row send the agent back
	if withheld {
		most = 1 // it would not get the words of another
	}
	switch {
	case on.isQuestion && saysNothing(said):
		return errNoVerdict
	case on.isQuestion:
		return errors.New(say(noVerdict, cutMiddle(said, 500)))
	case isBounded && before >= most:
		return errors.New(say(noVerdictAgain, before+1))
	}
	r.Verdict, r.NoVerdict = verdictBlock, true
	if r.Withheld = withheld; withheld {
		r.Feedback = ""
	}
	return nil
}

// plan returns the call of the reviewer, complete but for its input, and completes request but for the
// change. prompt are the reviewer's instructions.
func (s *supervision) plan(
	ctx context.Context, prompt string, request *reviewRequest,
) (*reviewerCall, error) {
	if olderThan(request.version, oldestClaude) {
		const update = "claude update / " + installClaude
		return nil, errors.New(say(clientTooOld, request.version, oldestClaude, update))
	}
	claude, err := findClaude(s.dirs.env)
	if err != nil {
		return nil, err
	}
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		request.seconds = int(time.Until(deadline).Round(time.Second).Seconds())
	}
	c := &reviewerCall{claude: claude, env: env, session: s.session.id,
		dir: request.tree, prompt: prompt, config: s.config.Supervisor, output: io.Discard,
		warn: func(err error) { s.warn("review", err) }}
	readable := append(strings.Split(s.dirs.env.get(addDirsVariable), "\n"), request.dirs...)
	if request.tree != request.project {
		readable = append(readable, request.project)
	}
	for _, dir := range readable {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(c.addDirs, dir) {
			c.addDirs = append(c.addDirs, dir)
		}
	}
	ofSession := s.hasSessionsProvider()
	if ofSession { // another does not know its model, and a fork may have another (2.1.280, 2.1.332)
		c.config.Model = cmp.Or(c.config.Model, request.model)
	}
	c.shares = sharesCache(s.config, request, s.past, s.launched() && ofSession, s.dirs.env)
	request.offerCopy(ctx, c, s.dirs.self)
	c.tryCommand = request.tryCommand
	return c, nil
}

// hasSessionsProvider reports whether the reviewer asks the API that the session does.
func (s *supervision) hasSessionsProvider() bool {
	reviewers := s.config.Supervisor.Provider // by hand only the state has the session's: withoutLaunch
	return reviewers == "" || reviewers == cmp.Or(s.dirs.env.get(providerVariable), s.state.Provider)
}

// launched reports whether ccc launched the session's client supervised.
func (s *supervision) launched() bool { return !s.caller.launched.IsZero() }

// environment returns the reviewer's environment. The error is of a provider that something overrides: the
// settings files may have changed since the launch, which checks them too.
func (s *supervision) environment() ([]string, error) {
	var env []string = s.dirs.env
	if !s.launched() { // the variables of a launch are another session's
		env = withoutCacheVariables(env)
	}
	p := s.config.Providers[s.config.Supervisor.Provider]
	if p == nil || p.name == s.dirs.env.get(providerVariable) { // whose values the session has
		return reviewerEnv(withoutRefusedKey(s.dirs, env)), nil
	}
	reviewers, err := withProvider(reviewerEnv(withoutCacheVariables(env)), p) // a login may pay for it
	return reviewers, cmp.Or(err, readSources(s.dirs, nil).conflict(s.dirs, env, p, withoutReviewers))
}

// offerCopy adds to the request how to run commands in a throw-away copy, with the ccc at that path, or why
// that can't be done.
func (r *reviewRequest) offerCopy(ctx context.Context, c *reviewerCall, ccc string) {
	var err error
	if r.homeIsReadOnly, r.foreign, err = tryProbe(ctx, c.dir, c.env); err != nil {
		f := failureOf(err)
		why := strings.TrimPrefix(oneLine(f.err.Error()), noCopyMade)
		r.noCopy = strings.TrimSpace(why + "\n" + f.hint)
		return
	}
	r.tryCommand = shellQuote(ccc) + " " + trySubcommand
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

// An outputWriter keeps the first error of a write.
type outputWriter struct {
	io.Writer
	lost *error
}

func (w *outputWriter) Write(text []byte) (int, error) {
	defer exitOnPanic()
	n, err := w.Writer.Write(text)
	if *w.lost == nil {
		*w.lost = err
	}
	return n, err
}

// warnLost warns of err, which kept something from being recorded: the session is told of the first.
func (s *supervision) warnLost(during string, err error) {
	if s.lost == nil {
		s.lost = err
	}
	s.warn(during, err)
}

// record adds the entry to the timeline.
func (s *supervision) record(e entry) {
	e.Project = s.project
	s.warnLost("writing the timeline", s.session.append(e))
}

// print writes progress for people to stderr.
func (s *supervision) print(lines ...string) {
	notice(redact(strings.Join(lines, "\n")))
}

// warn prints and logs a fault that does not change the decision; nil is no fault.
func (s *supervision) warn(during string, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "ccc: %s: %s\n", during, printable(redact(err.Error())))
	s.log("warning", "during", during, "error", err)
}

// log adds a line to the log.
func (s *supervision) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", s.session.id}, pairs...)
	if err := s.session.dir.log(what, pairs...); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: writing the log:", err)
	}
}
