package main

// Supervision is switched by /supervisor inside a session: by the user, never by an agent.

import "strings"

// modeLine tells of a session: its mode, the request's reviews, the last verdict, and what all have cost.
func modeLine(s summary, present mode, limit int) string {
	used := say(reviewsUsed, s.number, limit)
	if present == modeObserve { // which counts for no limit
		used = ""
	}
	first := joined(say(modeIs, say(modeNames[present])), used, s.result)
	all := joined(say(reviewsOfSession, plural(s.Reviews, reviews)), dollars(s.CostUSD))
	return strings.Join([]string{first, all, say(modeHow)}, "\n")
}

// command carries out /supervisor with its operand and returns the answer, which keeps the prompt from the
// model. A task switches supervision on and goes to the model as the user's prompt.
func (s *supervision) command(operand string) (answer string, isTask bool) {
	switch {
	case operand == "":
		return modeLine(summarize(s.session, s.config), s.mode(), s.reviewLimit()), false
	case isUnclear(operand):
		return say(modeUnclear, operand), false
	}
	to, isTask := switchTo(operand)
	at := now()
	if s.client.launched.After(at) { // by a clock that was wrong
		at = s.client.launched
	}
	err := s.changeState(func(state *sessionState) {
		state.Enabled = to
		state.SwitchedAt = at
	})
	s.warn("switching the mode", err)
	kept, _ := s.session.readState() // a corrupt one has begun anew: with the switch, if it could be written
	if err != nil && (kept.Enabled != to || !kept.SwitchedAt.Equal(at)) {
		return say(modeFailed, err.Error()), false
	}
	s.log("switched", "mode", to)
	limit := s.reviewLimit()
	s.append(entry{Switch: &switched{Mode: to, Limit: limit}})
	switch {
	case isTask:
		return "", true
	case to == modeOff:
		answer = say(switchedOff)
	case s.mode() == modeOn:
		answer = say(switchedOn, plural(limit, reviews))
	case to == modeOn:
		answer = say(switchedOnObserved)
	default:
		answer = say(switchedToObserve)
	}
	return answer + say(switchHolds), false
}
