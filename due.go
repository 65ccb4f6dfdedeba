package main

// Whose an event of Claude Code's is, whether it is answered, and whether a stop or a question is reviewed.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// A hook is one event on its way to a decision.
type hook struct {
	supervision
	event     *hookEvent
	operand   string // of /supervisor, if isCommand
	isCommand bool   // the prompt is /supervisor
}

// newHook returns the hook for an event of a supervised session. For another event it is nil, and answer is
// what is answered, nil for nothing. stateDir is the --state-dir flag, or "".
func newHook(env environ, stateDir string, event *hookEvent) (h *hook, answer any, err error) {
	d, err := findDirs(env, stateDir)
	if err != nil {
		return nil, nil, err
	}
	event.Cwd = cmp.Or(event.Cwd, d.here) // Claude Code runs a hook where the agent is
	d.here = cmp.Or(env.get(projectVariable), event.Cwd)
	h = &hook{event: event, supervision: supervision{dirs: d, config: defaultConfig(),
		session: d.state.session(event.SessionID), transcript: event.TranscriptPath}}
	h.findSession()
	h.operand, h.isCommand = slashCommand(string(event.Prompt))
	h.isCommand = h.isCommand && event.HookEventName == eventPrompt && theirCommand(d) == ""
	if h.mode() == modeOff && !h.isCommand {
		return nil, nil, nil
	}
	h.config, h.configErr = loadConfig(d)
	h.config.use(env)
	if h.client.isHelper {
		return nil, blocked(say(modeNotForAgent)), nil
	}
	h.place = d.state.place(d.here, event.Cwd, env)
	// A closed stderr must not end the hook in the middle of a review.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := h.session.dir.create(); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: writing to the state directory:", err)
	}
	h.log(hookSubcommand+" invoked", "event", h.event.HookEventName)
	h.warn("keeping the event", keep(h.session.eventFile(), h.event.text))
	if h.event.odd != "" {
		h.warn("reading the hook event", errors.New("of another type than expected: "+h.event.odd))
	}
	if event.AgentID != "" {
		return nil, nil, nil
	}
	h.past, err = h.session.readPast(h.state)
	h.warn("reading the timeline", err)
	return h, nil, nil
}

// findSession finds who calls the hook, and the state of the session. If Claude Code has moved an earlier
// session, this one goes on from the state of that.
func (h *hook) findSession() {
	answered := []string{eventStart, eventPrompt, eventStop, eventPreToolUse}
	claims := slices.Contains(answered, h.event.HookEventName) // a tool's `claude mcp list` has a SessionEnd
	var err error
	if h.client, err = h.dirs.clientNow(claims); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: noting whose the launch is:", err)
	}
	h.state, _ = h.session.readState() // if it can't be read, it has the last switch
	job := h.dirs.env.get(jobVariable)
	if claims && job != "" && len(h.state.MovedFrom) == 0 {
		before, isForked, isKnown := h.dirs.movedFrom(h.event.SessionID, h.event.TranscriptPath)
		switch {
		case isKnown:
			h.moved, err = h.session.goOnAs(before, isForked)
			h.warnLost("going on as the session that was moved", err)
			h.state = h.moved
		case h.state.Enabled == "" && h.dirs.isOfJob():
			h.warn("beginning as the session that was moved", h.session.beginIn(job))
			h.state, _ = h.session.readState()
		}
	}
}

// due returns what is to be judged. If no review is due, told is the message for the user, nil for none.
func (h *hook) due(ctx context.Context, on *occasion) (of judgedWork, told any, isDue bool) {
	isObservedQuestion := func() bool { return on.isQuestion && h.mode() == modeObserve }
	if isObservedQuestion() { // the user would wait for a review that answers nothing
		return of, nil, false
	}
	of = h.work(on)
	switch { // the mode now heeds what waits in the queue
	case h.mode() == modeOff:
		h.log("stop not reviewed", "queued", modeOff)
		return of, nil, false
	case isObservedQuestion():
		return of, nil, false
	case on.isStop && h.putsOff():
		return of, systemMessage(say(deferred)), false
	}
	if on.isQuestion || h.hasWorked(ctx, &of) {
		return of, nil, true
	}
	h.log("stop not reviewed", "review", reviewWork)
	h.append(entry{Unreviewed: reviewWork})
	if seen := of.change.seen; seen.Repository != "" && seen.Unseen == "" {
		h.warnLost("ending the change", h.place.endUnchanged(h.session, seen.begin))
	}
	if h.lost != nil {
		told = systemMessage(say(notRecorded, h.lost))
	}
	return of, told, false
}

// work returns what a review of the event judges. It waits until the transcript has the event's entries.
func (h *hook) work(on *occasion) judgedWork {
	e := h.event
	of := judgedWork{section: on.section, inPlanMode: e.PermissionMode == "plan", tasks: e.BackgroundTasks,
		crons: e.SessionCrons, lastMessage: string(e.LastAssistantMessage)}
	if on.isQuestion {
		of.question = encodeJSON(e.ToolInput)
	}
	var err error
	of.talk, err = e.conversation(h.past.newestPrompt)
	h.warn("reading the transcript", err)
	if theirCommand(h.dirs) == "" {
		h.queue.follow(e.TranscriptPath, of.talk)
	}
	return of
}

// putsOff reports whether the review of a stop is put off, and records that. It is if subagents of an
// interactive session still work: their end wakes the session. If the same subagents worked at the last such
// stop, one of them may hang, and the stop is reviewed. They are forgotten after a review, or after a prompt
// that Claude Code itself submits: a subagent that is resumed keeps its id (2.1.280, 2.1.332).
func (h *hook) putsOff() bool {
	ids := h.event.subagents()
	isInteractive := h.dirs.env.get(entrypointVariable) == "cli"
	if !isInteractive || len(ids) == 0 || slices.Equal(ids, h.state.PutOffFor) {
		return false
	}
	h.notePutOff(ids)
	h.append(entry{Unreviewed: unreviewedYet, Subagents: ids})
	h.log("stop not reviewed", unreviewedYet, len(ids))
	return h.lost == nil // else the next one would wait, too
}

// notePutOff notes the subagents for which a stop was put off, nil for none.
func (h *hook) notePutOff(ids []string) {
	err := h.changeState(func(s *sessionState) { s.PutOffFor = ids })
	h.warnLost("noting which subagents work", err)
}

// hasWorked reports whether a stop is to be reviewed. Every stop is, unless ccc.json has `review: "work"`.
// Then it is only if the last review did not approve, the agent has called a tool since that review began, or
// there is a change. A transcript that is not complete may hold a call. An unknown change does not count.
func (h *hook) hasWorked(ctx context.Context, of *judgedWork) bool {
	last := h.past.last.stop
	since := last.Begun
	switch {
	case h.config.Supervisor.Review != reviewWork, of.talk.incomplete, h.past.firstPrompted.IsZero():
		return true
	case last.ID == "":
		since = h.past.firstPrompted.Add(-promptTimeout) // its line may be written that late after it
	case last.Verdict != verdictAllow:
		return true
	}
	if of.talk.called.After(since) {
		return true
	}
	h.takeChange(ctx, occasionNamed(eventStop), of)
	return len(of.change.paths) > 0 || ctx.Err() != nil // Esc: judge records that
}
