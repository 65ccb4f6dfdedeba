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
	"strings"
	"syscall"
	"time"
)

// A supervision is ccc at work on a session.
type supervision struct {
	dirs     dirs
	session  session
	project  string      // where the session was started
	isWanted func() bool // tells whether a review is still wanted, as of now
	stderr   io.Writer   // takes what people are told as it happens
}

// reviewLimit is how many reviews a request has. In a session Claude Code's own limit counts too: a launch raises it,
// and the hook's environment tells what it is, whoever started the session.
func reviewLimit(config *config) int {
	if !inSession() {
		return config.Supervisor.MaxIterations
	}
	return limitUnder(config.Supervisor.MaxIterations, os.Getenv(blockCapVariable))
}

// review has a reviewer judge what the request tells of, and prints, records and returns what it decided. entry holds
// what is known of the event.
func (s *supervision) review(ctx context.Context, config *config, entry record, request reviewRequest) outcome {
	in, kept, err := s.instructions()
	if err != nil {
		return s.failed(entry, err)
	}
	entry.PromptSource, entry.PromptKept = in.Source, kept
	r, err := s.planReview(ctx, config, in, request)
	if err != nil {
		return s.failed(entry, err)
	}
	entry.NoCopy = r.request.noCopy
	entry.CacheSplit = r.config.KeepCache && r.config.Provider == "" && os.Getenv(attributionVariable) != "0"
	s.print(say(reviewing)+"...", say(detailsIn, s.session.outputFile()))
	s.log("review started", "iteration", round(entry), "prompt_source", in.Source)
	if entry.NoCopy != "" {
		s.log("no copy to run commands in", "error", entry.NoCopy)
	}
	path := s.session.outputFile()
	if entry.Iteration == 1 { // the file holds the reviews of the present request
		_ = os.Truncate(path, 0) // opening it says what is wrong
	}
	if output, err := openAppend(path); err != nil {
		s.warn("opening the reviewer's output", err)
	} else {
		defer output.Close()
		r.output = output
	}
	entry.outcome, err = r.run(ctx)
	switch {
	case err != nil:
	case !s.isWanted():
		err = errSwitchedOff
	case entry.Verdict == "" && request.question != nil:
		err = fmt.Errorf("the reviewer gave no verdict: %s", cutMiddle(entry.Feedback, 500))
	case entry.Verdict == "":
		entry.Verdict = verdictBlock
	}
	if err != nil {
		return s.failed(entry, err)
	}
	if entry.Verdict == verdictAllow {
		s.print(say(finished))
	} else {
		entry.Feedback = cmp.Or(entry.Feedback, say(defaultFeedback)) // a reviewer that refuses may not say why
		s.print(say(unfinished, printable(entry.Feedback)))
	}
	s.record(entry)
	return entry.outcome
}

// planReview returns the review that answers the request: where the reviewer stands and what else it may read, its
// model and environment, and the copy that it can run commands in.
func (s *supervision) planReview(ctx context.Context, config *config, in *instructions, request reviewRequest) (*review, error) {
	if olderThan(request.version, oldestClaude) {
		return nil, fmt.Errorf("version %s of Claude Code is older than %s: %s", request.version, oldestClaude, installClaude)
	}
	env, err := s.environment(config)
	if err != nil {
		return nil, err
	}
	request.project, request.tree = s.project, workingTree(s.project, request.here)
	readable := append(strings.Split(os.Getenv(addDirsVariable), "\n"), request.dirs...)
	if request.tree != request.project {
		readable = append(readable, request.tree, request.project)
	}
	r := &review{
		session:  s.session.id,
		dirs:     slices.Compact([]string{request.tree, request.project}),
		prompt:   in.Text,
		request:  request,
		config:   config.Supervisor,
		env:      env,
		output:   io.Discard,
		progress: s.stderr,
		warn:     func(err error) { s.warn("review", err) },
	}
	for _, dir := range readable {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(r.addDirs, dir) {
			r.addDirs = append(r.addDirs, dir)
		}
	}
	// From 2.1.200 on a fork has its session's model. Another provider does not know the model.
	if r.config.Provider == "" && olderThan(request.version, "2.1.200") {
		r.config.Model = cmp.Or(r.config.Model, request.model)
	}
	s.offerCopy(ctx, r)
	return r, nil
}

// workingTree is the working tree that holds the directory here, if it is another one of the project's repository;
// else the project.
func workingTree(project, here string) string {
	top, common := gitTree(here)
	projectTop, projectCommon := gitTree(project)
	if top == "" || common != projectCommon || sameFile(top, projectTop) {
		return project
	}
	return top
}

// environment is the reviewer's. The settings files are checked again: they may have changed since the launch, or
// the session was not launched as supervised.
func (s *supervision) environment(config *config) ([]string, error) {
	d, env := s.dirs, os.Environ()
	d.here = cmp.Or(s.project, d.here)
	p := config.findProvider(config.Supervisor.Provider)
	if p == nil {
		return reviewerEnv(withoutRefusedKey(d, env), nil)
	}
	if err := checkProvider(d, sources(d, config, nil), env, []string{"--print"}, p); err != nil {
		return nil, err
	}
	return reviewerEnv(env, p)
}

// offerCopy lets the reviewer run commands in a throw-away copy, if one can be made and holds; the request says so,
// or why not.
func (s *supervision) offerCopy(ctx context.Context, r *review) {
	err := errors.New("supervisor.try is false in ccc.json")
	if r.config.Try {
		r.request.unchangeable, err = tryProbe(ctx, r.dirs[0], r.env)
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
	r.env = setEnv(r.env, tryVariable, filepath.Join(string(s.session.dir), s.session.id))
}

// instructions returns what the reviewer is told: what held when the user submitted the request, so that the agent
// can't replace it. kept tells that it reads differently now.
func (s *supervision) instructions() (in *instructions, kept bool, err error) {
	in, err = supervisorPrompt(s.project, s.dirs.ccc)
	if earlier := s.session.keptInstructions(); earlier != nil {
		return earlier, err != nil || earlier.Text != in.Text, nil
	}
	return in, false, err
}

// keepInstructions notes what the reviewer is told as of now.
func (s *supervision) keepInstructions() {
	in, err := supervisorPrompt(s.project, s.dirs.ccc)
	if err != nil { // what was kept for an earlier request must not count; the review will say what is wrong
		s.warn("reading the reviewer's prompt", err)
		in = nil
	}
	s.warn("keeping the reviewer's prompt", s.session.keepInstructions(in))
}

var (
	errSwitchedOff = errors.New("supervision was switched off during the review")
	errToldToEnd   = errors.New("it was interrupted, by Esc or because Claude Code ended")
)

// endingTime is how long before Claude Code would end the hook the review is given up: the guard takes up to a
// second, and what a killed guard left in its pipes up to pipePatience.
const endingTime = 5 * time.Second

// patience is how long a review of the event may take, and what is wrong with one that takes longer. Claude Code ends
// the hook at the timeout that a launch has put into settings.json, whatever ccc.json says since.
func (s *supervision) patience(config *config, event string) (timeout time.Duration, late error) {
	timeout = time.Duration(config.Supervisor.TimeoutSeconds) * time.Second
	text, _ := os.ReadFile(s.dirs.settingsFile()) // without one there is no timeout
	installed := installedTimeout(text, s.dirs.hookPath(), event)
	if !inSession() || installed == 0 || timeout+endingTime <= installed {
		return timeout, fmt.Errorf("the reviewer gave no verdict within %s", timeout)
	}
	ended := max(installed-endingTime, time.Second)
	return ended, fmt.Errorf("the reviewer gave no verdict within %s: Claude Code ends the hook after %s, as settings.json says; ccc --supervisor makes that fit timeout_seconds, %d",
		ended, installed, config.Supervisor.TimeoutSeconds)
}

// untilEnded returns a context that ends after timeout, when ccc is told to end, or when the session is switched
// off; its cause says which, late the first.
func (s *supervision) untilEnded(timeout time.Duration, late error) (context.Context, context.CancelFunc) {
	timed, stop := context.WithTimeoutCause(context.Background(), timeout, late)
	ctx, cancel := context.WithCancelCause(timed)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
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

// failed is the one place that decides that no review took place: the agent stops, a question goes to the user, and
// people are told. A client that told the hook to end, or was told to end the supervision, does not listen.
func (s *supervision) failed(entry record, err error) outcome {
	entry.Verdict, entry.Error, entry.Feedback = verdictFailed, err.Error(), ""
	entry.Told = inSession() && !errors.Is(err, errToldToEnd) || errors.Is(err, errSwitchedOff)
	fmt.Fprintln(s.stderr, "ccc: no review:", printable(entry.Error))
	s.record(entry)
	if errors.Is(err, errSwitchedOff) {
		return outcome{}
	}
	return entry.outcome
}

// round is the review's number and how many the request has, as in 1/10.
func round(entry record) string { return fmt.Sprintf("%d/%d", entry.Iteration, entry.Limit) }

// record completes entry and adds it to the timeline and, without prompt and feedback, to the log.
func (s *supervision) record(entry record) {
	entry.Time, entry.Project = now(), s.project
	s.warn("writing the timeline", s.session.append(entry))
	if entry.Verdict == "" {
		return
	}
	pairs := []any{"event", entry.Event, "verdict", entry.Verdict, "iteration", round(entry),
		"duration", fmt.Sprintf("%.3fs", entry.DurationSeconds), "cost_usd", entry.CostUSD}
	if entry.Error != "" {
		pairs = append(pairs, "error", entry.Error)
	}
	s.log("review ended", pairs...)
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
