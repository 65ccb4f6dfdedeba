package main

// What ccc says, in English.

import (
	_ "embed"
	"fmt"
)

type english struct{}

func (english) name() string { return "en" }

//go:embed supervisor_prompt_default_en.md
var defaultPromptEnglish string

func (english) announcement(state, log, output, follow string) string {
	return fmt.Sprintf(`Supervisor mode enabled
[Supervisor Mode] Log files:
  State directory: %s
  Hook log: %s
  Reviewer's output: %s
To follow the log: tail -f %s
`, state, log, output, follow)
}

func (english) remembered(provider, none string) string {
	return fmt.Sprintf("provider %s, remembered from an earlier launch; ccc %s goes without one", provider, none)
}

func (english) defaultPrompt() string { return defaultPromptEnglish }

func (english) commandFile() string {
	return `---
description: "Supervise this session: on, off, or a task to begin with"
argument-hint: on | off | task
---
$ARGUMENTS
`
}

func (english) introduction(limit int, provider string) string {
	if provider != "" {
		provider = ", provider: " + provider
	}
	return fmt.Sprintf("This session is supervised: at most %s a request%s. To watch: ccc log -f", count(limit, "review"), provider)
}

func (english) noReview(why, log string) string {
	return fmt.Sprintf("There was no review, so the agent's work stands unchecked. Cause: %s (log: %s)", why, log)
}

func (english) earlierNoReview(why, log string) string {
	return fmt.Sprintf("The last review did not take place, so the agent's work stands unchecked. Cause: %s (log: %s)", why, log)
}

func (english) limitReached(limit int) string {
	return fmt.Sprintf("The limit of %s is reached; there are no more for this request", count(limit, "review"))
}

func (english) limitStop(limitReached, log string) string {
	return fmt.Sprintf("%s. This stop was not reviewed (log: %s)", limitReached, log)
}

func (english) earlierLimit(limit int, log string) string {
	return fmt.Sprintf("The last request reached the limit of %s; its last stop was not reviewed (log: %s)", count(limit, "review"), log)
}

func (english) approved(forUser string) string {
	return "Approved. The reviewer leaves this to you: " + forUser
}

func (english) defaultFeedback() string { return "Please go on until the task is done." }

func (english) feedbackCut(path string) string {
	return fmt.Sprintf("... (too long; the whole feedback is in %s)", path)
}

func (english) leftOut(characters int) string {
	return fmt.Sprintf("... (%s left out) ...", count(characters, "character"))
}

func (english) modeIs(mode string) string {
	return fmt.Sprintf("Supervisor mode: %s (/supervisor on and /supervisor off switch it)", mode)
}

func (english) modeUnclear(operand string) string {
	return fmt.Sprintf("What does /supervisor %s mean? There are: /supervisor on, /supervisor off, /supervisor (how it stands), /supervisor some task",
		operand)
}

func (english) modeNotForAgent() string {
	return "Switching the supervision is for the user, not for the agent."
}

func (english) modeFailed(why string) string { return "Supervisor mode could not be switched: " + why }

func (english) modeOn(limit int) string {
	return fmt.Sprintf("Supervisor mode is on: the agent is reviewed before it stops, at most %s a request.", count(limit, "review"))
}

func (english) modeOff() string {
	return "Supervisor mode is off: the agent stops without a review."
}

func (english) begun() string { return "[SUPERVISOR HOOK] Started" }

func (english) reviewing() string { return "[SUPERVISOR] Reviewing the work..." }

func (english) detailsIn(path string) string {
	return "For details, follow this log file in another window: " + path
}

func (english) finished() string { return "[SUPERVISOR] Task finished\nThe agent may stop" }

func (english) unfinished(feedback string) string {
	return fmt.Sprintf("[SUPERVISOR] Task not finished\n%s\nThe agent goes on with this feedback", feedback)
}

func (english) limitSkipped(limit int) string {
	return fmt.Sprintf("[SUPERVISOR] Limit of reviews reached, %d/%[1]d: the agent may stop", limit)
}

func (english) opening(promptAbove bool) string {
	where := "your system prompt says"
	if promptAbove {
		where = "the review guide above says"
	}
	return fmt.Sprintf("You are not the agent now but its reviewer. Above is the whole conversation of the agent and the user. "+
		"Review the agent's work as %s: check the real files and results, then give your verdict.", where)
}

func (english) running(tryCommand, noCopy string) (title, text string) {
	if tryCommand == "" {
		return "Running commands", "Besides what the user's permission rules allow, nothing can be run here, because no throw-away copy can be made: " +
			noCopy + ". Go by the files, and by the output in the conversation."
	}
	return "Running commands", "Run tests, examples and whatever executes code or writes files in this one form, with as many lines inside the " +
		"quotes as you like:\n\n```sh\n" + tryExample(tryCommand) + "\n```\n\n" +
		"Between the single quotes stands a script for sh, with no other single quote in it: put strings in double quotes; where nothing else " +
		`will do, write \047 in printf and \x27 in code. No line begins with #: write no comments. Pipes, redirections, &&, $? and ` +
		"here-documents all go inside the quotes, and nothing follows them: an exit code other than 0 is shown anyway. If Claude Code refuses a command, its form is most likely wrong: repeat it in " +
		"this form. Paths are the same in the copy. It may write to the project, HOME and the temporary directories; what it writes lasts for " +
		"that one run and is not seen outside. Probes go into a directory of mktemp -d. There is no network. After five minutes it is ended " +
		"(--timeout 10m behind try gives it more); give Bash a long enough timeout, too. Exit code 125 means that no copy could be made: that " +
		"says something of this machine, nothing of the agent's work."
}

func (english) requests() string { return "The user's requests (in order, verbatim)" }

func (english) requestsUnconfirmed() string {
	return "The session's transcript can't be read. These are the requests that were submitted: the user may have withdrawn some of them, " +
		"and what was typed while the agent worked may be missing. Compare them with the conversation."
}

func (english) requestsIncomplete() string {
	return "The session's transcript is incomplete: earlier requests may be missing below. Compare them with the conversation."
}

func (english) questionEvent() (title, text string) {
	return "Event: AskUserQuestion", "The agent wants to put the question below to the user. The user has neither seen nor answered it yet: " +
		"\"[Tool call interrupted]\" and \"No response requested.\" at the end of the conversation are not the user's answer.\n" +
		"allow_stop=true puts the question to the user; with false it is not asked, and the agent goes on by your feedback."
}

func (english) openQuestion() string { return "The open question" }

func (english) stopEvent() (title, text string) { return "Event: Stop", "The agent wants to stop." }

func (english) place(tree, project, here string) (title, text string) {
	if tree == project {
		return "Working directory", "The agent's current directory: " + here
	}
	return "Working directory", fmt.Sprintf("The agent works in another worktree: %s (current directory: %s). Check the files there first. "+
		"The project's main directory, %s, is another working tree; where the conversation shows changes of the agent's there, check them too.",
		tree, here, project)
}

func (english) lastMessage() string  { return "The agent's last message" }
func (english) lastFeedback() string { return "Previous feedback" }

func (english) tasks(list string) (title, text string) {
	return "Running background tasks", list + "\nThese tasks still run in the agent's session, and wake the agent when they end. " +
		"If the conversation calls them stopped, that is only because you see a fork of the session, which does not have them."
}

func (english) round(iteration, limit int) (title, text string) {
	return "Round", fmt.Sprintf("Round %d of at most %d.", iteration, limit)
}

func (english) schemaAllowStop() string {
	return "Whether the agent may stop working (true = the work is impeccable, false = it needs further improvement)"
}

func (english) schemaFeedback() string {
	return "When allow_stop is false: specific, actionable instructions for improvement, in enough detail"
}

func (english) verdictForm() string {
	return `End with one JSON object, and nothing after it: {"allow_stop": true or false, "feedback": "..."}`
}

func (english) noSessions(state string) string {
	return "No session has been supervised yet (" + state + ")\nTo begin one: ccc --supervisor"
}

func (english) statusHeads() [8]string {
	return [...]string{"Session", "On", "Round", "Result", "When", "Reviews", "Cost", "Project"}
}

func (english) verdictNames() [4]string {
	return [...]string{"sent back", "approved", "failed", "limit"}
}

func (english) justNow() string         { return "just now" }
func (english) minutesAgo(n int) string { return fmt.Sprintf("%d min ago", n) }
func (english) hoursAgo(n int) string   { return fmt.Sprintf("%d h ago", n) }
func (english) daysAgo(n int) string    { return count(n, "day") + " ago" }

func (english) supervised(budget string) string { return "supervised " + budget }

func (english) supervisedLast(verdict, when string) string { return "last: " + verdict + " " + when }

func (english) supervisionIsOff() string { return "supervision is off" }

func (english) waiting() string { return "Waiting for the first session..." }

func (english) sessionTitle(session, chosen string) string {
	if chosen != "" {
		chosen = " (" + chosen + ")"
	}
	return "Session " + session + chosen
}

func (english) newestHere() string { return "the newest of this project" }
func (english) newestOfAll() string {
	return "the newest of all; this directory has none"
}
func (english) newcomer() string  { return "it has just begun in this project" }
func (english) noRecords() string { return "Nothing is recorded yet" }

func (english) user() string        { return "User" }
func (english) switchedOn() string  { return "Supervision switched on" }
func (english) switchedOff() string { return "Supervision switched off" }
func (english) byUser() string      { return "the user (/supervisor)" }
func (english) byOutside() string   { return "ccc supervisor-mode, outside the session" }
func (english) byAgent() string     { return "the agent (ccc supervisor-mode)" }

func (english) review() string           { return "Review" }
func (english) reviewOfQuestion() string { return "Review of a question" }

func (english) took(seconds float64) string { return duration(seconds, "%.1fs", "%dm%02ds") }

func (english) tokensUsed(fresh, cached, output string) string {
	return fmt.Sprintf("tokens: %s new, %s cached, %s out", fresh, cached, output)
}

func (english) builtinPrompt() string { return "the built-in prompt" }

func (english) promptChanged() string {
	return " (changed since the request: this review still goes by what it said then; the change counts from the user's next prompt on)"
}

func (english) cacheSplit() string {
	return "keep_cache gains little: this session keeps Claude Code's attribution line, by which a subscription is billed, " +
		"so a review finds only the list of tools in the cache, and nothing of the conversation"
}

func (english) cacheAdvice(kept, fresh string) string {
	return fmt.Sprintf(`with "keep_cache": true in ccc.json about %s of these %s new tokens would have come from the agent's cache, `+
		"at a tenth of the price where a key or a token pays", kept, fresh)
}

func (english) reviewUnderWay() string { return "Review under way..." }

func (english) ran(command string, exitCode int, seconds float64) string {
	return fmt.Sprintf("%s → exit code %d, %s", command, exitCode, duration(seconds, "%.1fs", "%dm%02ds"))
}

func (english) stoppedUnreviewed() string { return "There was no review; the agent may stop" }

func (english) stoppedAtLimit(limit int) string {
	return fmt.Sprintf("The limit of %s is reached; the agent may stop without another", count(limit, "review"))
}

func (english) leadBy() string       { return "by " }
func (english) leadBasis() string    { return "rules    " }
func (english) leadTools() string    { return "looked   " }
func (english) leadRan() string      { return "ran      " }
func (english) leadNoCopy() string   { return "ran      nothing: " }
func (english) leadFeedback() string { return "feedback " }
func (english) leadReason() string   { return "reason   " }
func (english) leadAdvice() string   { return "advice   " }
func (english) leadForUser() string  { return "for you  " }

// count is n with what is counted: 1 review, 2 reviews.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
