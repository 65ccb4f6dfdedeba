package main

// The answer to an event, made of the event and what came of its review. No file is read.

import (
	"maps"
	"strings"
)

// blocked is the decision that sends the agent back with a reason, or keeps a prompt from it.
func blocked(reason string) map[string]any {
	return map[string]any{"decision": "block", "reason": reason}
}

// toolDecision is the decision about a call of a tool: allow or deny.
func toolDecision(decision, reason string) map[string]any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": eventPreToolUse, "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// systemMessage is an answer that Claude Code shows to the user.
func systemMessage(text string) map[string]any {
	return map[string]any{"systemMessage": supervisorTag + " " + printable(redact(text))}
}

// decide returns the answer to the event of a review that ended so, nil for none: what the agent may do, and
// in a session what the user reads.
func (r review) decide(inSession bool) any {
	answer := map[string]any{}
	isQuestion, isBlock := r.occasion().isQuestion, r.Verdict == verdictBlock && !r.Observed
	switch {
	case !isQuestion && isBlock:
		answer = blocked(r.Feedback)
	case !isQuestion, r.Verdict == verdictFailed, r.Verdict == verdictCancelled:
	case isBlock:
		answer = toolDecision("deny", r.Feedback)
	default:
		answer = toolDecision("allow", r.Feedback)
	}
	if inSession && r.Verdict != verdictCancelled {
		text := r.message()
		if r.lost != nil {
			text += "\n" + say(notRecorded, r.lost)
		}
		maps.Copy(answer, systemMessage(text))
	}
	if len(answer) == 0 {
		return nil
	}
	return answer
}

// message is what the user reads of a review that ended so: that it failed, that the limit is reached, or
// what the verdict rests on. A question that was sent back comes with its answer: the client shows neither
// the question nor whose words the agent gets.
func (r review) message() string {
	on := r.occasion()
	switch {
	case r.Verdict == verdictFailed && on.isQuestion:
		return say(on.unreviewed, cutMiddle(r.Error, 200))
	case r.Verdict == verdictFailed:
		advice := map[cause]words{"": adviceContinue, causeTooLong: adviceCompact, causeGone: adviceLog}
		return say(reviewFailed, cutMiddle(r.Error, 200), say(advice[r.Cause]))
	case r.Verdict == verdictLimit && on.isQuestion:
		return say(on.overLimit, count(r.Limit, reviews))
	case r.Verdict == verdictLimit:
		text := say(limitStop, count(r.Limit, reviews))
		if r.Feedback != "" {
			text += "\n" + say(feedbackStillOpen, cutMiddle(r.Feedback, 1000))
		}
		return text
	case r.Verdict == verdictBlock && on.isQuestion:
		answer := say(on.answer, cutMiddle(r.Feedback, 500))
		lines := []string{say(on.answered), r.Question, answer, r.receipt(), say(on.otherwise)}
		return strings.Join(lines, "\n")
	case r.Verdict == verdictBlock && r.Observed:
		return r.receipt() + "\n" + say(observedFeedback, r.Feedback)
	case r.Verdict == verdictAllow && r.Feedback != "":
		return r.receipt() + "\n" + say(leftToUser, r.Feedback)
	}
	return r.receipt()
}
