package main

// One review of a session, of a stop, of a question or by hand: plan it, run it, record what became of it.

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
	dirs     dirs           // of the project
	config   *configuration // the defaults, where ccc.json can't be used
	session  sessionFiles
	project  string      // where the session was started
	launched bool        // ccc launched the session's client supervised
	client   int         // the nearest process above that is no shell: Claude Code; 0 if unknown
	isWanted func() bool // reports whether a review is still wanted, as of now
}

// reviewLimit returns how many reviews a request has. In a session Claude Code's own limit counts too. The
// hook's environment has it, whoever launched the session.
func (s *supervision) reviewLimit() int {
	most := s.config.Supervisor.MaxIterations
	if !inSession() {
		return most
	}
	return limitUnder(most, os.Getenv(blockCapVariable))
}

// review has a reviewer judge the request. It prints, records and returns what came of it: entry, which has
// the event and the number of the review, with the rest of its end.
func (s *supervision) review(ctx context.Context, entry record, request reviewRequest) record {
	in, err := supervisorPrompt(s.project, s.dirs.ccc)
	if err != nil {
		return s.failed(entry, err)
	}
	entry.PromptSource = in.Source
	request.project, request.tree = s.project, workingTree(s.project, request.here)
	entry.tree = treeOf(request.tree)
	s.begin(ctx, &entry, request)
	before := make(chan judgedChange, 1) // what the reviewer is going to see
	go func() {
		defer exitOnPanic()
		before <- takeChange(ctx, request.tree, os.Environ(), request.change)
	}()
	call, err := s.plan(ctx, in.Text, request)
	judged := <-before
	if err != nil {
		return s.failed(entry, err)
	}
	entry.Change = judged.listedPaths()
	if entry.look = judged.look; entry.Unseen != "" {
		s.log("no look at the working tree", "error", entry.Unseen)
	}
	call.request.changes, call.request.compares = judged.text(), judged.namesCommit()
	isUnchanged := judged.Repository != "" && judged.Unseen == "" && len(judged.paths) == 0
	call.request.wordsOnly = isUnchanged && request.question == nil && request.calledNothing()
	entry.NoCopy, entry.Way = call.request.noCopy, "own"
	entry.Model = cmp.Or(s.config.Supervisor.Model, request.modelID, request.model)
	if call.shares {
		entry.Way = "cache"
	}
	path := s.session.byHandFile()
	if entry.Event != eventReview { // ccc review has said so
		path = s.session.outputFile()
		s.print(say(reviewing)+"...", say(detailsIn, path))
	}
	s.log("review started", "iteration", entry.ordinal(), "prompt_source", in.Source)
	if entry.NoCopy != "" {
		s.log("no copy to run commands in", "error", entry.NoCopy)
	} else {
		of := filepath.Join(string(s.session.dir), s.session.id, entry.Review)
		call.env = setEnv(call.env, tryVariable, of)
	}
	call.note = func(step record) { s.step(entry.Review, step) }
	if output, err := openOutput(path); err != nil {
		s.warn("opening the reviewer's output", err)
	} else {
		defer output.Close()
		call.output = output
	}
	entry.outcome, err = call.run(ctx)
	switch {
	case err != nil:
	case errors.Is(context.Cause(ctx), errToldToEnd), s.clientEnded():
		err = errToldToEnd // the reviewer has answered, and nobody reads the decision
	case !s.isWanted():
		err = errSwitchedOff
	case entry.Verdict == "":
		err = s.takeWords(&entry, request)
	}
	if err != nil {
		return s.failed(entry, err)
	}
	if entry.Verdict != verdictAllow { // a reviewer may refuse without a word
		entry.Feedback = cmp.Or(entry.Feedback, say(defaultFeedback))
	}
	switch {
	case entry.Event == eventReview: // ccc review prints it, and no agent goes on or stops
	case entry.Verdict == verdictAllow:
		s.print(say(finished))
	default:
		s.print(say(unfinished, printable(entry.Feedback)))
	}
	s.record(entry)
	return entry
}

// step prints and records what the reviewer called, was refused, got an error for or said. Its words are
// printed whole, all else as it is recorded; an error is only recorded.
func (s *supervision) step(review string, step record) {
	step.Time, step.Review = now(), review
	text := step.Words
	if step.Kind != kindWords {
		text = "  " + step.cut().step(treeOf(s.project).Top)
	}
	if step.Kind != kindError {
		s.print(printable(text))
	}
	s.warn("writing the timeline", s.session.append(step))
}

// mostUnread is how many answers without a verdict in a row send the agent back, and mostWithheld how many
// where it would not get the words of the last.
const mostUnread, mostWithheld = 2, 1

// takeWords makes a refusal of an answer without a verdict: its words are the feedback. The default feedback
// takes the place of those that say nothing, and of those that hold an approval, an order for an agent. There
// is no review, and the error says so, of a question, and where too many in a row gave no verdict.
func (s *supervision) takeWords(entry *record, request reviewRequest) error {
	said, most := entry.Feedback, mostUnread
	withheld := saysNothing(said) || entry.Event != eventReview && holdsApproval(said)
	if withheld {
		most = mostWithheld
	}
	switch {
	case request.question != nil && saysNothing(said):
		return errNoVerdict
	case request.question != nil:
		return errors.New(say(noVerdict, cutMiddle(said, 500)))
	case request.unread >= most:
		mend := ""
		if entry.Way == "cache" {
			mend = say(cacheOffMends)
		}
		return errors.New(say(noVerdictAgain, request.unread+1, mend))
	}
	entry.Verdict, entry.NoVerdict = verdictBlock, true
	if entry.Withheld = withheld; withheld {
		entry.Feedback = ""
	}
	return nil
}

// begin records that a review has begun. The end of the process that it names, or of its time, tells that a
// review without a recorded end was killed.
func (s *supervision) begin(ctx context.Context, entry *record, request reviewRequest) {
	entry.Review = strconv.FormatInt(time.Now().UnixNano(), 36)
	begun := *entry
	begun.Kind = kindBegin
	_, self := processInfo(os.Getpid())
	begun.Process = self.name
	begun.Deadline, _ = ctx.Deadline()
	begun.Question, begun.LastMessage = questionText(request.question), request.lastMessage
	for _, asked := range request.requests { // what the reviewer gets: the timeline's prompts may not stand
		begun.Requests = append(begun.Requests, asked.String())
	}
	s.record(begun)
}

// plan returns the call of the reviewer that answers the request. prompt are the reviewer's instructions.
func (s *supervision) plan(ctx context.Context, prompt string, request reviewRequest) (*reviewCall, error) {
	if olderThan(request.version, oldestClaude) {
		return nil, errors.New(say(clientTooOld, request.version, oldestClaude, updateClaude))
	}
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		request.seconds = int(time.Until(deadline).Round(time.Second).Seconds())
	}
	readable := append(strings.Split(os.Getenv(addDirsVariable), "\n"), request.dirs...)
	if request.tree != request.project {
		readable = append(readable, request.project)
	}
	call := &reviewCall{
		session: s.session.id,
		dir:     request.tree,
		prompt:  prompt,
		request: request,
		config:  s.config.Supervisor,
		env:     env,
		output:  io.Discard,
		warn:    func(err error) { s.warn("review", err) },
	}
	for _, dir := range readable {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(call.addDirs, dir) {
			call.addDirs = append(call.addDirs, dir)
		}
	}
	sources, ofSession := readSources(s.dirs, s.config, nil), s.hasSessionsProvider()
	if ofSession { // another does not know the session's model
		call.config.Model = cmp.Or(call.config.Model, s.sessionModel(request.conversation, sources))
	}
	call.shares = sharesCache(s.config, call, s.launched && ofSession)
	s.offerCopy(ctx, call)
	return call, nil
}

// hasSessionsProvider reports whether the reviewer asks the API that the session does.
func (s *supervision) hasSessionsProvider() bool {
	state, _ := s.session.state() // a review by hand knows the session's provider by its state alone
	own := s.config.Supervisor.Provider
	return own == "" || own == cmp.Or(os.Getenv(providerVariable), state.Provider)
}

// sessionModel returns the session's model as --model takes it, which a fork has to be given: by itself it has
// another, or no long context, where a flag, a mapped alias or no choice decided (2.1.200 to 2.1.332). If the
// transcript does not say it, that is the word by which it was chosen. Without a launch that is not known, "".
func (s *supervision) sessionModel(talk conversation, sources []settingsSource) string {
	switch {
	case talk.modelID != "":
		return talk.modelID
	case !s.launched:
		return ""
	case talk.switched: // Claude Code writes the choice into the user's settings
		return sources[1].values[modelKey]
	}
	return os.Getenv(modelVariable)
}

// environment returns the reviewer's environment. The error is of a provider that something overrides: the
// settings files may have changed since the launch, which checks them too.
func (s *supervision) environment() ([]string, error) {
	env := os.Environ()
	if !s.launched { // the variables of a launch are another session's
		env = withLine(env)
	}
	p := s.config.Providers[s.config.Supervisor.Provider]
	if p == nil || p.name == os.Getenv(providerVariable) { // whose values the session has
		return reviewerEnv(withoutRefusedKey(s.dirs, env), nil)
	}
	reviewers, err := reviewerEnv(env, p)
	if err != nil {
		return nil, err
	}
	return reviewers, checkProvider(s.dirs, readSources(s.dirs, s.config, nil), env, p, withoutReviewers)
}

// offerCopy tells the reviewer how to run commands in a throw-away copy, or why it can't: it may be switched
// off, or no copy can be made here.
func (s *supervision) offerCopy(ctx context.Context, call *reviewCall) {
	var err error = errTryOff
	if call.config.Try {
		call.request.homeIsReadOnly, err = tryProbe(ctx, call.dir, call.env)
	}
	if err != nil {
		f := failureOf(err)
		call.request.noCopy = strings.TrimSpace(oneLine(f.err.Error()) + "\n" + f.hint)
		return
	}
	call.request.tryCommand = shellQuote(s.dirs.self) + " " + trySubcommand
}

// patience returns how long a review of the event may take, and the error of one that takes longer. Claude
// Code ends the hook at the timeout that a launch wrote into settings.json, even if ccc.json has a longer one
// by now.
func (s *supervision) patience(event string) (timeout time.Duration, late error) {
	seconds, why := s.config.Supervisor.TimeoutSeconds, say(timeLimit)
	found, _ := findHooks(s.dirs) // without settings.json there is no timeout
	most := int(found.timeouts[event].Seconds())
	if inSession() && most > 0 && seconds+endingTime > most {
		seconds, why = max(most-endingTime, 1), say(timeLimitOfHook, most)
	}
	return time.Duration(seconds) * time.Second, errors.New(say(noVerdictWithin, seconds, why))
}

// clientEnded reports whether the process that listens to the hook is known and has ended.
func (s *supervision) clientEnded() bool { return s.client != 0 && hasEnded(s.client) }

// untilEnded returns a context that ends after timeout, with late as its cause, when ccc is told to end, when
// its client has gone (a killed one tells nobody), or when the session is switched off.
func (s *supervision) untilEnded(timeout time.Duration, late error) (context.Context, context.CancelFunc) {
	timed, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(timed)
	signals := endSignals()
	go func() {
		defer exitOnPanic()
		for tick := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-signals:
				cancel(errToldToEnd)
			case <-ctx.Done():
				return
			case <-tick.C:
				if s.clientEnded() {
					cancel(errToldToEnd)
				} else if !s.isWanted() {
					cancel(errSwitchedOff)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil); stop() }
}

// failed is the one place that decides that no review took place: the agent stops, a question goes to the
// user. A review that the user ended, where Claude Code no longer listens to the hook, or that ended with the
// supervision, was cancelled.
func (s *supervision) failed(entry record, err error) record {
	entry.Verdict, entry.Error, entry.Feedback = verdictFailed, err.Error(), ""
	if errors.Is(err, errToldToEnd) || errors.Is(err, errSwitchedOff) {
		entry.Verdict = verdictCancelled
	}
	if entry.Event != eventReview { // ccc review tells it
		fmt.Fprintln(os.Stderr, "ccc: no review:", printable(redact(entry.Error))) // it may quote a key
	}
	s.record(entry)
	return entry
}

// roundEndedBy returns the round whose end is found, with what else the timeline has of it. If not even its
// begin could be recorded, there is only found.
func (s sessionFiles) roundEndedBy(found record) reviewRound {
	h, _ := s.readHistory()
	i := h.indexOf(found.Review)
	if i < 0 {
		found.Review = ""
		return reviewRound{record: found}
	}
	r := h.Rounds[i]
	if r.Kind != kindEnd { // its end could not be recorded
		r.record = found
	}
	return r
}

// record completes entry and adds it to the timeline. The end of a review also goes to the log,
// without feedback, and sweeps the state directory.
func (s *supervision) record(entry record) {
	entry.Time, entry.Project = now(), s.project
	s.warn("writing the timeline", s.session.append(entry))
	if entry.Kind != kindEnd {
		return
	}
	pairs := []any{"event", entry.Event, "verdict", entry.Verdict, "iteration", entry.ordinal(),
		"duration", fmt.Sprintf("%.3fs", entry.DurationSeconds)}
	if entry.CostUSD > 0 { // else it is not known
		pairs = append(pairs, "cost_usd", entry.CostUSD)
	}
	if entry.NoVerdict {
		pairs = append(pairs, "no_verdict", true)
	}
	if entry.Error != "" {
		pairs = append(pairs, "error", entry.Error)
	}
	s.log("review ended", pairs...)
	s.warn("sweeping the state directory", s.session.dir.sweep())
}

// print writes progress for people to stderr.
func (s *supervision) print(lines ...string) {
	notice(redact(strings.Join(lines, "\n")))
}

// warn tells of a fault that does not change the decision; nil is no fault.
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
