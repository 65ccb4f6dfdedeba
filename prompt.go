package main

// What the reviewer is asked. Its role may be the user's file; request and form of the verdict are ccc's.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// supervisorPromptLimit is in bytes. Linux limits one argument to 128 KiB. A larger prompt is refused.
const supervisorPromptLimit = 100 << 10

// builtinSource is the source of the built-in prompt.
const builtinSource = "built-in"

// supervisorPrompt returns the project's prompt, else the one in ccc's directory. A prompt that is missing,
// blank or the built-in one does not count; if neither counts, the built-in one is returned. source is the
// path of the prompt, or builtinSource. A prompt that is too large or is not text is an error.
func supervisorPrompt(project, cccDir string) (source, text string, err error) {
	for _, dir := range []string{project, cccDir} {
		path := filepath.Join(dir, promptName)
		text, err := readUserFile(path)
		if len(text) > supervisorPromptLimit {
			err = fmt.Errorf("%s is larger than %d KiB; shorten it", path, supervisorPromptLimit>>10)
		} else if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			err = fmt.Errorf("%s is no text in UTF-8; save it as one", path)
		}
		isBuiltin := defaultPrompt.has(string(text)) // a launch's
		if err != nil || len(bytes.TrimSpace(text)) > 0 && !isBuiltin {
			return path, string(text), err
		}
	}
	return builtinSource, say(defaultPrompt), nil
}

// verdictSchema returns the JSON schema of the verdict, as --json-schema takes it.
func verdictSchema() string {
	return fmt.Sprintf(`{"type":"object","properties":{"allow_stop":{"type":"boolean","description":%s},`+
		`"feedback":{"type":"string","description":%s}},"required":["allow_stop","feedback"]}`,
		encodeJSON(say(schemaAllowStop)), encodeJSON(say(schemaFeedback)))
}

// A judgedWork is what a review judges, as a hook's event or the user has it.
type judgedWork struct {
	talk        conversation
	section     words           // which kind it is, of the occasion
	question    json.RawMessage // its JSON, the input of the tool; nil for a stop
	inPlanMode  bool
	isWorking   bool              // by hand: the agent seems to be at work
	lastMessage string            // the agent's
	tasks       []json.RawMessage // background tasks, as Claude Code lists them
	crons       []json.RawMessage // scheduled wake-ups, in the same way
	change      *judgedChange     // nil until it is taken
	check       string            // what came of the project's own check, "" if there is none
}

// awaited says what is still to come of the work, "" for nothing: background tasks, wake-ups, a plan, or by
// hand that the agent is at work. If something is still to come, an approval ends no request.
func (s judgedWork) awaited() string {
	var awaited []string
	for _, text := range slices.Concat(s.tasks, s.crons) {
		var of struct{ Type, Command, Description, Name, Prompt, Cron, Schedule string }
		_ = json.Unmarshal(text, &of)
		what := cmp.Or(of.Command, of.Description, of.Name, of.Prompt, of.Cron, of.Schedule, of.Type, "?")
		awaited = append(awaited, clip(oneLine(what), 40))
	}
	if s.inPlanMode {
		awaited = append(awaited, say(awaitedPlan))
	}
	if s.isWorking {
		awaited = append(awaited, say(awaitedAgent))
	}
	const most = 3
	if more := len(awaited) - most; more > 0 {
		awaited = append(awaited[:most], "+"+strconv.Itoa(more))
	}
	return strings.Join(awaited, say(listComma))
}

// isWordsOnly reports whether the agent has only talked, and no file differs: nothing has to be run.
func (s judgedWork) isWordsOnly() bool {
	return s.talk.wordsOnly && !s.talk.incomplete && s.question == nil && s.change.isEmpty()
}

// A reviewRequest is what the reviewer gets to know.
type reviewRequest struct {
	of        judgedWork
	copies    copyOffer
	place     place
	refusal   review // the last review that sent the agent back, for the same request
	iteration int    // the number of this review, from 1
	limit     int    // how many reviews the request has
	seconds   int    // what the whole review has
}

// A copyOffer is how the reviewer can run commands in a throw-away copy, or why it can't.
type copyOffer struct {
	tryCommand     string // what runs a command in one; "": nothing does
	noCopy         string // why not
	homeIsReadOnly bool   // in it files directly in HOME can't be written
	rule           string // of the user's: it keeps the reviewer from running anything
	foreign        string // in it this can't be changed, for one: it is of another group
}

// runningPart is how the reviewer runs commands, or why not. The user's own SUPERVISOR.md may lack the form.
func (r reviewRequest) runningPart() string {
	switch {
	case r.of.isWordsOnly():
		return say(sectionWordsOnly)
	case r.copies.rule != "":
		return say(sectionRule, r.copies.rule)
	case r.copies.tryCommand == "":
		return say(sectionNoCopy, r.copies.noCopy)
	}
	text := say(sectionRunning, tryExample(r.copies.tryCommand))
	if runtime.GOOS == "darwin" {
		text += "\n" + say(copyOnMac)
	}
	if base := r.of.change.base; base != "" {
		text += "\n" + say(sectionCompare, compareExample(r.copies.tryCommand, base[:min(12, len(base))]))
	}
	if r.copies.homeIsReadOnly {
		text += "\n\n" + say(homeReadOnly)
	}
	if r.copies.foreign != "" {
		text += "\n\n" + say(foreignFiles, r.copies.foreign)
	}
	return text
}

// requestText returns the message that asks for the review. What stays the same comes first, for the API's
// prompt cache. With guideAbove the reviewer's prompt is not a system prompt but comes before it.
func (r reviewRequest) requestText(guideAbove bool) string {
	var b strings.Builder
	by := bySystemPrompt
	if guideAbove {
		by = byGuideAbove
	}
	b.WriteString(say(opening, say(by)) + "\n")
	section := func(text string) {
		if text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	section(r.runningPart())
	section(strings.Join(r.requestParts(), "\n\n"))
	if r.of.question != nil {
		section(say(r.of.section, r.of.question))
	} else {
		section(say(r.of.section))
	}
	if r.of.inPlanMode {
		section(say(sectionPlan))
	}
	if r.place.root == r.place.project {
		section(say(sectionPlace, r.place.cwd))
	} else {
		section(say(sectionWorktree, r.place.root, r.place.cwd, r.place.project))
	}
	section(sayOf(sectionLastMessage, cutMiddle(r.of.lastMessage, lastMessageKeep)))
	if len(r.of.tasks) > 0 {
		section(say(sectionTasks, cutMiddle(string(encodeJSON(r.of.tasks)), userPromptKeep)))
	}
	if len(r.of.crons) > 0 {
		section(say(sectionCrons, cutMiddle(string(encodeJSON(r.of.crons)), userPromptKeep)))
	}
	section(sayOf(sectionChanges, r.of.change.changeText()))
	section(sayOf(sectionCheck, strings.TrimSpace(r.of.check+"\n"+r.of.change.check)))
	section(sayOf(sectionLastFeedback, cutMiddle(r.refusal.Feedback, userPromptKeep)))
	if r.refusal.Observed && r.refusal.Feedback != "" {
		section(say(sectionUnseen))
	}
	if r.refusal.NoVerdict {
		section(say(sectionNoVerdict, say(verdictForm)))
	}
	section(say(sectionReview, r.iteration, r.limit, r.seconds, min(60, r.seconds/3)))
	return b.String()
}

// requestParts are the user's requests, each with its number, after what there is to know of them.
func (r reviewRequest) requestParts() []string {
	if len(r.of.talk.requests) == 0 {
		return nil
	}
	parts := []string{say(sectionRequests)}
	if len(r.of.talk.requests) > 1 || r.of.talk.requests[0].fate != "" {
		parts = append(parts, say(requestsJudged))
	}
	letGoLeft := 0 // how many that were let go the loop below still has before it
	for _, request := range r.of.talk.requests {
		if request.letGo {
			letGoLeft++
		}
	}
	for i, request := range r.of.talk.requests {
		keep := min(userPromptKeep, max(userPromptKeepLeast, userPromptsKeep/len(r.of.talk.requests)))
		if request.letGo {
			if letGoLeft > letGoWhole {
				keep = userPromptKeepLeast
			}
			letGoLeft--
		}
		text := strings.TrimSpace(request.fate + " " + cutMiddle(request.String(), keep))
		parts = append(parts, fmt.Sprintf("[%d] %s", i+1, text))
	}
	return parts
}

// tryExample returns a command of many lines in the one form that Claude Code always lets through.
func tryExample(tryCommand string) string {
	return tryCommand + ` 'dir=$(mktemp -d)
cat > "$dir/probe.py" <<"EOF"
import json
print(json.dumps({"name": "it\x27s", "days": [30, 31]}))
EOF
cat > "$dir/sum.awk" <<"EOF"
{ sum += $1 }
END { print sum }
EOF
printf "30\n31\n" | awk -f "$dir/sum.awk"
python3 "$dir/probe.py" && printf "it\047s fine\n"'`
}

// compareExample returns a command that runs tests with the change and without it, as at base. It ends if
// the change can't be taken away: tests that ran on with the change would pass for tests without.
func compareExample(tryCommand, base string) string {
	return tryCommand + " 'make test; git stash -q -u && git restore -q -SWs " + base + " :/ && make test'"
}

// How many characters are kept of what is quoted; the rest is cut out of the middle.
const (
	userPromptKeep      = 8000  // of a request of the user's
	userPromptsKeep     = 64000 // of all requests together, unless each has only userPromptKeepLeast
	userPromptKeepLeast = 400   // of a request, however many there are
	letGoWhole          = 10    // if more requests were let go, the older ones are cut to that
	lastMessageKeep     = 2000  // of the agent's last message, which is whole in the conversation
)
