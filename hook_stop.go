package main

// One review of a session: plan it, run it, tell and record what became of it.

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
	"syscall"
	"time"
)

// A supervision is ccc at work on a session.
type supervision struct {
	dirs     dirs // of the project
	session  sessionFiles
	project  string      // where the session was started
	launched bool        // ccc launched the session's client supervised
	isWanted func() bool // reports whether a review is still wanted, as of now
	stderr   io.Writer   // takes what people are told as it happens
}

// reviewLimit is how many reviews a request has. In a session Claude Code's own limit counts too: a launch
// raises it, and the hook's environment tells what it is, whoever started the session.
func reviewLimit(config *configuration) int {
	if !inSession() {
		return config.Supervisor.MaxIterations
	}
	return limitUnder(config.Supervisor.MaxIterations, os.Getenv(blockCapVariable))
}

// review has a reviewer judge what the request tells of, and prints, records and returns what it decided.
// entry is of the event.
func (s *supervision) review(ctx context.Context, config *configuration, entry record, request reviewRequest) record {
	in, err := supervisorPrompt(s.project, s.dirs.ccc)
	if err != nil {
		return s.failed(entry, err)
	}
	entry.PromptSource = in.Source
	entry.Top, entry.Repo = gitTree(workingTree(s.project, request.here))
	s.begin(ctx, &entry, request)
	before := make(chan judgedChange, 1) // what the reviewer is going to see
	go func() {
		defer exitOnPanic()
		before <- takeChange(ctx, s.dirs.self, workingTree(s.project, request.here), os.Environ(), request.change)
	}()
	r, err := s.planReview(ctx, config, in, request)
	judged := <-before
	if err != nil {
		return s.failed(entry, err)
	}
	judged.others = s.session.dir.wasPrompted(judged.Top, judged.time, s.session.id)
	r.request.changes = judged.text()
	entry.NoCopy, entry.Way, entry.Model = r.request.noCopy, "own", cmp.Or(r.config.Model, request.model)
	if r.shares {
		entry.Way = "cache"
	}
	path := s.session.outputFile()
	if entry.Event == eventReview {
		path = s.session.byHandFile()
	}
	s.print(say(reviewing)+"...", say(detailsIn, path))
	s.log("review started", "iteration", roundOf(entry), "prompt_source", in.Source)
	if entry.NoCopy != "" {
		s.log("no copy to run commands in", "error", entry.NoCopy)
	} else {
		r.env = setEnv(r.env, tryVariable, filepath.Join(string(s.session.dir), s.session.id, entry.Review))
	}
	r.note = func(step record) {
		step.Review = entry.Review
		s.print(map[string]string{kindCall: "  · " + step.Tool, kindRefused: "  · " + strings.TrimSpace(say(leadRefused)) + " " + step.Tool,
			kindWords: printable(step.Words)}[step.Kind])
		step.Time, step.Words = now(), cutMiddle(step.Words, 2000)
		s.warn("writing the timeline", s.session.append(step))
	}
	if entry.Iteration <= 1 { // the file holds the reviews of the present request
		_ = os.Truncate(path, 0) // opening it says what is wrong
	}
	if output, err := openAppend(path); err != nil {
		s.warn("opening the reviewer's output", err)
	} else {
		defer output.Close()
		r.output = output
	}
	entry.outcome, err = r.run(ctx)
	if entry.look = judged.look; err == nil {
		s.bind(ctx, &entry, judged, request.change.byHand)
	}
	switch {
	case err != nil:
	case !s.isWanted():
		err = errSwitchedOff
	case entry.Verdict == "":
		err = s.takeWords(&entry, request)
	}
	if err != nil {
		return s.failed(entry, err)
	}
	if entry.Verdict != verdictAllow {
		entry.Feedback = cmp.Or(entry.Feedback, say(defaultFeedback)) // a reviewer that refuses may not say why
	}
	switch {
	case entry.Event == eventReview: // no agent hears of it
	case entry.Verdict == verdictAllow:
		s.print(say(finished))
	default:
		s.print(say(unfinished, printable(entry.Feedback)))
	}
	s.record(entry)
	return entry
}

// takeWords makes feedback of an answer without a verdict, which judges no files. The agent never gets one
// that holds an approval. It is no review by hand, where no agent hears of it, where a question was asked,
// and where the answer before held an approval too.
func (s *supervision) takeWords(entry *record, request reviewRequest) error {
	withheld := holdsApproval(entry.Feedback)
	if entry.Event == eventReview || request.question != nil || withheld && request.last.Withheld {
		return errors.New(say(noVerdict, cutMiddle(entry.Feedback, 500)))
	}
	entry.Verdict, entry.NoVerdict, entry.Withheld, entry.Unbound = verdictBlock, true, withheld, errNoVerdict.Error()
	if withheld {
		entry.Feedback = ""
	}
	return nil
}

// begin records that a review has begun. Until its end is recorded, the record reports whether it still runs.
func (s *supervision) begin(ctx context.Context, entry *record, request reviewRequest) {
	entry.Review = strconv.FormatInt(time.Now().UnixNano(), 36)
	begun := *entry
	begun.Kind = kindBegin
	_, self := processInfo(os.Getpid())
	begun.Process = self.name
	begun.Deadline, _ = ctx.Deadline()
	begun.Question, begun.LastMessage = request.question, cutMiddle(request.lastMessage, 2000)
	for _, asked := range request.requests { // the timeline's prompts are not all that stand, nor do all of them
		begun.Requests = append(begun.Requests, cutMiddle(asked.String(), 4000))
	}
	s.record(begun)
}

// bind notes in entry which files the review judged: those of the change. An approval judged only what is now as it
// was before, and none of it where its reviewer has seen too little.
func (s *supervision) bind(ctx context.Context, entry *record, judged judgedChange, byHand bool) {
	err := judged.err
	if err == nil {
		entry.Since, entry.Base, entry.Files = judged.how, judged.base, judged.Files
		entry.Moved, err = judged.again(ctx, s.dirs.self, os.Environ())
	}
	if err != nil {
		s.log("review not bound to the files", "error", err)
		if !errors.Is(err, errNoGit) { // without a repository the verdict alone counts
			entry.Unbound = oneLine(err.Error())
		}
		return
	}
	if entry.Verdict == verdictAllow {
		for _, path := range entry.Moved {
			delete(entry.Files, path)
		}
	}
	past, _ := s.session.readHistory()
	entry.SentBefore = past.sentBack(entry.Files)
	isBlind := false
	if i := past.of(entry.Review); i >= 0 {
		isBlind = len(past.Rounds[i].Tools)+len(past.Rounds[i].Runs) == 0
	}
	switch {
	case len(entry.Files) > pathsLimit && !byHand:
		entry.Unbound = say(tooManyPaths, len(entry.Files))
	case isBlind && !judged.isShownWhole():
		entry.Unbound = errNothingCalled.Error()
	case isBlind && entry.SentBefore:
		entry.Unbound = errSentBackBefore.Error()
	}
}

// planReview returns the review that answers the request.
func (s *supervision) planReview(ctx context.Context, config *configuration, in *instructions, request reviewRequest) (*reviewCall, error) {
	if olderThan(request.version, oldestClaude) {
		return nil, errors.New(say(clientTooOld, request.version, oldestClaude, installClaude))
	}
	env, err := s.environment(config)
	if err != nil {
		return nil, err
	}
	request.project, request.tree = s.project, workingTree(s.project, request.here)
	if deadline, ok := ctx.Deadline(); ok {
		request.seconds = int(time.Until(deadline).Round(time.Second).Seconds())
	}
	readable := append(strings.Split(os.Getenv(addDirsVariable), "\n"), request.dirs...)
	if request.tree != request.project {
		readable = append(readable, request.tree, request.project)
	}
	r := &reviewCall{
		session: s.session.id,
		dirs:    slices.Compact([]string{request.tree, request.project}),
		prompt:  in.Text,
		request: request,
		config:  config.Supervisor,
		env:     env,
		output:  io.Discard,
		warn:    func(err error) { s.warn("review", err) },
	}
	for _, dir := range readable {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(r.addDirs, dir) {
			r.addDirs = append(r.addDirs, dir)
		}
	}
	// From 2.1.200 on a fork has its session's model, unless a variable names another. Another provider does
	// not know the model.
	named := strings.TrimSuffix(valueIn(readSources(s.dirs, config, nil), os.Environ(), "env.ANTHROPIC_MODEL"), "[1m]")
	if hasSessionsProvider(config) && (olderThan(request.version, "2.1.200") || named != "" && named != request.model) {
		r.config.Model = cmp.Or(r.config.Model, request.model)
	}
	r.shares = sharesCache(s.dirs, config, r, s.launched)
	s.offerCopy(ctx, r)
	return r, nil
}

// workingTree is the working tree that holds here, if it is another one of the project's repository; else the
// project.
func workingTree(project, here string) string {
	top, common := gitTree(here)
	projectTop, projectCommon := gitTree(project)
	if top == "" || common != projectCommon || sameFile(top, projectTop) {
		return project
	}
	return top
}

// environment is the reviewer's. The settings files are checked again: they may have changed since the
// launch.
func (s *supervision) environment(config *configuration) ([]string, error) {
	d, env := s.dirs, os.Environ()
	if !s.launched { // what a launch set is of another session
		env = withLine(env)
	}
	p := config.Providers[config.Supervisor.Provider]
	if p == nil {
		return reviewerEnv(withoutRefusedKey(d, env), nil)
	}
	env = asGiven(env)
	if err := checkProvider(d, readSources(d, config, nil), env, []string{"--print"}, p); err != nil {
		return nil, err
	}
	return reviewerEnv(env, p)
}

// offerCopy lets the reviewer run commands in a throw-away copy if one can be made and holds. The request
// says so, or why not.
func (s *supervision) offerCopy(ctx context.Context, r *reviewCall) {
	var err error = errTryOff
	if r.config.Try {
		r.request.homeIsReadOnly, err = tryProbe(ctx, r.dirs[0], r.env)
	}
	var f failure
	if errors.As(err, &f) {
		err = f.err // doctor tells what mends it
	}
	if err != nil {
		r.request.noCopy = oneLine(err.Error())
		return
	}
	r.request.tryCommand = shellQuote(s.dirs.self) + " " + trySubcommand
}

// patience is how long a review of the event may take, and what is wrong with one that takes longer. Claude
// Code ends the hook at the timeout that a launch has put into settings.json, whatever ccc.json says since.
func (s *supervision) patience(config *configuration, event string) (timeout time.Duration, late error) {
	seconds, why := config.Supervisor.TimeoutSeconds, say(timeLimit)
	found, _ := findHooks(s.dirs) // without settings.json there is no timeout
	if hooks := int(found.timeouts[event].Seconds()); inSession() && hooks > 0 && seconds+endingTime > hooks {
		seconds, why = max(hooks-endingTime, 1), say(timeLimitOfHook, hooks)
	}
	return time.Duration(seconds) * time.Second, errors.New(say(noVerdictIn, seconds, why))
}

// untilEnded returns a context that ends after timeout, when ccc is told to end, or when the session is
// switched off; its cause says which, late the first.
func (s *supervision) untilEnded(timeout time.Duration, late error) (context.Context, context.CancelFunc) {
	timed, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(timed)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		defer exitOnPanic()
		for look := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-signals:
				cancel(errToldToEnd)
			case <-ctx.Done():
				return
			case <-look.C:
				if !s.isWanted() {
					cancel(errSwitchedOff)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil); stop() }
}

// failed is the one place that decides that no review took place: the agent stops, a question goes to the
// user. A client that told the hook to end, or was told to end the supervision, does not listen.
func (s *supervision) failed(entry record, err error) record {
	config, _ := loadConfig(s.dirs) // an API may quote the key that it refuses
	entry.Verdict, entry.Error, entry.Feedback = verdictFailed, redactor(os.Environ(), config)(err.Error()), ""
	if errors.Is(err, errToldToEnd) || errors.Is(err, errSwitchedOff) {
		entry.Verdict = verdictCancelled
	}
	entry.Told = inSession() && entry.Verdict == verdictFailed
	fmt.Fprintln(s.stderr, "ccc: no review:", printable(entry.Error))
	s.record(entry)
	return entry
}

// roundOf returns the round that found is the end of, with what else the timeline has of it. Of one that could
// not be recorded it is not known what it looked at.
func (s sessionFiles) round(found record) reviewRound {
	h, _ := s.readHistory()
	i := h.of(found.Review)
	if i < 0 {
		found.Review = ""
		return reviewRound{record: found}
	}
	r := h.Rounds[i]
	if r.Verdict != found.Verdict { // its end could not be recorded
		r.record = found
	}
	return r
}

// roundOf is the review's number and how many the request has, as in 1/10.
func roundOf(entry record) string { return fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit) }

// record completes entry and adds it to the timeline and, without prompt and feedback, to the log. At the end
// of a review it sweeps.
func (s *supervision) record(entry record) {
	entry.Time, entry.Project = now(), s.project
	s.warn("writing the timeline", s.session.append(entry))
	if entry.Kind != kindEnd {
		return
	}
	pairs := []any{"event", entry.Event, "verdict", entry.Verdict, "iteration", roundOf(entry),
		"duration", fmt.Sprintf("%.3fs", entry.DurationSeconds), "cost_usd", entry.CostUSD}
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
func (s *supervision) print(lines ...string) { fmt.Fprintln(s.stderr, strings.Join(lines, "\n")) }

// warn tells of a fault, if there is one, that does not change the decision.
func (s *supervision) warn(doing string, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(s.stderr, "ccc: %s: %s\n", doing, printable(err.Error()))
	s.log("warning", "during", doing, "error", err)
}

func (s *supervision) log(what string, pairs ...any) {
	pairs = append([]any{"session_id", s.session.id}, pairs...)
	if err := s.session.dir.log(what, pairs...); err != nil {
		fmt.Fprintln(s.stderr, "ccc: writing the log:", err)
	}
}
