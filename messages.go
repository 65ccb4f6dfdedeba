package main

// The languages that ccc speaks. What people, the agent and the reviewer read stands in messages_zh.go and
// messages_en.go, and nowhere else; a text that one of them lacks does not compile. Errors, warnings, --help,
// doctor, uninstall and demo are English in every language, and so are records that programs read.

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// lang is the language of this process. It is set once, by speak, before anything is said.
var lang messages = chinese{}

// languages are all there are, for what has to be known again in any of them.
var languages = []messages{chinese{}, english{}}

// languageFor returns the language that ccc.json names, "" for none, else the one of the locale.
func languageFor(configured string) messages {
	locale := cmp.Or(configured, os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"), "C")
	name, _, _ := strings.Cut(locale, ".")
	if name == "C" || name == "POSIX" || strings.HasPrefix(strings.ToLower(name), "zh") {
		return chinese{}
	}
	return english{}
}

// cutMiddle leaves the first and last characters of a text longer than keep characters, about keep of them in all,
// and says between them how many are missing.
func cutMiddle(text string, keep int) string {
	runes := []rune(text)
	if len(runes) <= keep {
		return text
	}
	half := keep / 2
	return fmt.Sprintf("%s\n%s\n%s", string(runes[:half]), lang.leftOut(len(runes)-2*half), string(runes[len(runes)-half:]))
}

// A messages is a language. A method that returns two values has a section of the request: its title and its text.
type messages interface {
	name() string // as language of ccc.json has it

	// The launch.
	announcement(state, log, output, follow string) string
	remembered(provider, none string) string
	// What is kept for the user: SUPERVISOR.md, and the file that makes /supervisor known.
	defaultPrompt() string
	commandFile() string

	// The hook's answers. Each stands behind [SUPERVISOR].
	introduction(limit int, provider string) string
	noReview(why, log string) string
	earlierNoReview(why, log string) string
	limitReached(limit int) string
	limitStop(limitReached, log string) string
	earlierLimit(limit int, log string) string
	approved(forUser string) string
	// What the agent reads.
	defaultFeedback() string
	feedbackCut(path string) string
	leftOut(characters int) string
	// /supervisor.
	modeIs(mode string) string
	modeUnclear(operand string) string
	modeNotForAgent() string
	modeFailed(why string) string
	modeOn(limit int) string
	modeOff() string

	// The hook's progress, in whole lines.
	begun() string
	reviewing() string // also the spinner's text
	detailsIn(path string) string
	finished() string
	unfinished(feedback string) string
	limitSkipped(limit int) string

	// The request for a review.
	opening(promptAbove bool) string
	running(tryCommand, noCopy string) (title, text string)
	requests() (title string)
	requestsUnconfirmed() string
	requestsIncomplete() string
	questionEvent() (title, text string)
	openQuestion() (title string)
	stopEvent() (title, text string)
	place(tree, project, here string) (title, text string)
	lastMessage() (title string)
	tasks(list string) (title, text string)
	lastFeedback() (title string)
	round(iteration, limit int) (title, text string)
	// The form of the verdict.
	schemaAllowStop() string
	schemaFeedback() string
	verdictForm() string

	// Sessions on a line.
	noSessions(state string) string
	statusHeads() [8]string  // session, mode, round, verdict, when, reviews, cost, project
	verdictNames() [4]string // block, allow, failed, limit
	justNow() string
	minutesAgo(n int) string
	hoursAgo(n int) string
	daysAgo(n int) string
	supervised(budget string) string
	supervisedLast(verdict, when string) string
	supervisionIsOff() string

	// A session as a story.
	waiting() string
	sessionTitle(session, chosen string) string
	newestHere() string
	newestOfAll() string
	newcomer() string
	noRecords() string
	user() string
	switchedOn() string
	switchedOff() string
	byUser() string
	byOutside() string
	byAgent() string
	review() string
	reviewOfQuestion() string
	took(seconds float64) string
	tokensUsed(fresh, cached, output string) string
	builtinPrompt() string
	promptChanged() string
	cacheSplit() string
	cacheAdvice(kept, fresh string) string
	reviewUnderWay() string
	ran(command string, exitCode int, seconds float64) string
	stoppedUnreviewed() string
	stoppedAtLimit(limit int) string
	// What leads the facts of a review, with a blank behind it.
	leadBy() string
	leadBasis() string
	leadTools() string
	leadRan() string
	leadNoCopy() string
	leadFeedback() string
	leadReason() string
	leadAdvice() string
	leadForUser() string
}
