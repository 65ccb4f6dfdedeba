package main

// When a session is reviewed. All that is particular to an occasion is in its row, and in the row's texts.

import (
	"encoding/json"
	"strings"
)

// An occasion is an event of Claude Code's that is reviewed, or the user's wish for a review.
type occasion struct {
	name  string // in the timeline
	event string // of Claude Code; "" by hand
	tool  string // whose calls are the event; "" for an event without a tool

	isStop     bool // the agent wants to stop: an approval ends the request
	isQuestion bool // it calls a tool that waits: after an approval the user answers
	isByHand   bool // no agent waits

	running words // while the review runs, also beside Claude Code's spinner
	title   words // of the review in a view
	section words // of the request: what is to be judged; a question's with its JSON
	allowed words // on stderr, once it is approved
	refused words // and once it is not, with the feedback
	skipped words // and if it is beyond the limit, with what is used up

	unreviewed words // to the user, if its review failed, with the cause and what to do
	overLimit  words // or if it is beyond the limit, with what is used up

	// Of a question alone:
	quote     func(input json.RawMessage) string // what it asks
	asks      words                              // in a view, before that
	passed    words                              // in a view, if nobody judged it
	answered  words                              // to the user, once it is refused: before what it asks
	answer    words                              // then the feedback
	otherwise words                              // and what the user can do
}

// The events that ccc answers, the tool whose calls it reviews, and the event of a review by hand.
const (
	eventStop       = "Stop"
	eventPreToolUse = "PreToolUse"
	eventPrompt     = "UserPromptSubmit"
	eventStart      = "SessionStart"
	askUserQuestion = "AskUserQuestion"
	eventReview     = "review"
)

var occasions = []*occasion{
	{name: eventStop, event: eventStop, isStop: true, running: reviewing, title: titleReview,
		section: sectionStop, allowed: finished, refused: unfinished, skipped: stopSkipped,
		unreviewed: reviewFailed, overLimit: limitStop},
	{name: eventPreToolUse, event: eventPreToolUse, tool: askUserQuestion, isQuestion: true,
		running: reviewingQuestion, title: titleQuestion, section: sectionQuestion,
		allowed: questionToUser, refused: questionSentBack, skipped: questionSkipped,
		quote: questionText, asks: leadAsks, unreviewed: questionUnreviewed, overLimit: limitQuestion,
		passed: questionPassed, answered: questionAnswered, answer: reviewersAnswer,
		otherwise: answerYourself},
	{name: eventReview, isByHand: true, title: titleReview, section: sectionStop},
}

// occasionNamed returns the occasion of that name. A later ccc may have written another name.
func occasionNamed(name string) *occasion {
	for _, o := range occasions {
		if o.name == name {
			return o
		}
	}
	return &occasion{name: name, title: titleReview}
}

// questionText is what an input of AskUserQuestion asks: the questions, and below each its options.
func questionText(input json.RawMessage) string {
	var asked struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	_ = json.Unmarshal(input, &asked)
	var lines []string
	for _, q := range asked.Questions {
		lines = append(lines, oneLine(q.Question))
		for _, option := range q.Options {
			lines = append(lines, "- "+oneLine(option.Label))
		}
	}
	return strings.Join(lines, "\n")
}
