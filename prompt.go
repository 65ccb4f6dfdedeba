package main

// What the reviewer is told: its role (the supervisor prompt), the request for one review, and the form of the
// verdict.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// supervisorPromptLimit is in bytes. Linux limits one argument to 128 KiB; a larger prompt is refused, not cut.
const supervisorPromptLimit = 100 << 10

// builtinSource is the source of the built-in prompt.
const builtinSource = "built-in"

// supervisorPrompt returns the first prompt that exists and is not blank: the project's, the one in ccc's
// directory, the built-in one. With an error, its source is the file that can't be used. Only a regular file is
// read, so that a FIFO or a device in a project can't hold the hook up.
func supervisorPrompt(project, cccDir string) (*instructions, error) {
	for _, dir := range []string{project, cccDir} {
		path := filepath.Join(dir, promptName)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !info.Mode().IsRegular():
			err = fmt.Errorf("%s is not a regular file", path)
		case err == nil && info.Size() > supervisorPromptLimit:
			err = fmt.Errorf("%s is larger than %d KiB; shorten it", path, supervisorPromptLimit>>10)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil || len(bytes.TrimSpace(text)) > 0 {
			return &instructions{path, string(text)}, err
		}
	}
	return &instructions{builtinSource, say(defaultPrompt)}, nil
}

// verdictSchema is the JSON schema of the verdict, as --json-schema takes it.
func verdictSchema() string {
	return fmt.Sprintf(`{"type":"object","properties":{"allow_stop":{"type":"boolean","description":%s},`+
		`"feedback":{"type":"string","description":%s}},"required":["allow_stop","feedback"]}`,
		encodeJSON(say(schemaAllowStop)), encodeJSON(say(schemaFeedback)))
}

// A reviewRequest is what the reviewer is told of one stop or question.
type reviewRequest struct {
	conversation
	unconfirmed  bool            // its requests are those that were submitted: which of them stand is not known
	question     json.RawMessage // the input of AskUserQuestion; nil for a stop
	lastMessage  string          // the agent's
	tasks        json.RawMessage // background tasks, as Claude Code lists them
	here         string          // the agent's current directory
	since        baseline        // what its files are compared with
	lastFeedback string          // of the review before, for the same request
	iteration    int             // from 1
	limit        int

	// What the plan of the review adds.
	project      string // where the session was started
	tree         string // the working tree that the agent works in
	tryCommand   string // what runs a command in a throw-away copy; "": nothing does
	noCopy       string // why not
	unchangeable string // a file that no command can change there, with its group
	changes      string // what changed since the request
}

// text is the message that asks for the review. What stays the same from one review to the next comes first, so
// that the prompt cache of the API can serve it; what varies comes last. guideAbove tells that the reviewer's
// prompt stands above it and not in a system prompt.
func (r reviewRequest) text(guideAbove bool) string {
	var b strings.Builder
	section := func(text string) { b.WriteString("\n" + text + "\n") }
	by := bySystemPrompt
	if guideAbove {
		by = byGuideAbove
	}
	b.WriteString(say(opening, say(by)) + "\n")
	if r.tryCommand != "" { // all that a SUPERVISOR.md of the user's own may say nothing of
		section(say(sectionRunning, tryExample(r.tryCommand)))
		if r.unchangeable != "" {
			b.WriteString(say(unchangeable, r.unchangeable) + "\n")
		}
	} else {
		section(say(sectionNoCopy, r.noCopy))
	}
	if len(r.requests) > 0 {
		section(say(sectionRequests))
		if r.unconfirmed {
			b.WriteString(say(requestsUnconfirmed) + "\n")
		}
		if r.broken {
			b.WriteString(say(requestsIncomplete) + "\n")
		}
		keep := min(userPromptKeep, max(userPromptKeepLeast, userPromptsKeep/len(r.requests)))
		for i, prompt := range r.requests {
			fmt.Fprintf(&b, "\n[%d] %s\n", i+1, cutMiddle(prompt, keep))
		}
	}
	if r.question != nil {
		section(say(sectionQuestion))
		section(say(sectionOpenQuestion, r.question))
	} else {
		section(say(sectionStop))
	}
	if r.tree == r.project {
		section(say(sectionPlace, r.here))
	} else {
		section(say(sectionWorktree, r.tree, r.here, r.project))
	}
	if r.lastMessage != "" {
		section(say(sectionLastMessage, cutMiddle(r.lastMessage, lastMessageKeep)))
	}
	if len(r.tasks) > len("[]") {
		section(say(sectionTasks, cutMiddle(string(r.tasks), userPromptKeep)))
	}
	if r.changes != "" {
		section(say(sectionChanges, r.changes))
	}
	if r.lastFeedback != "" {
		section(say(sectionLastFeedback, r.lastFeedback))
	}
	section(say(sectionRound, r.iteration, r.limit))
	return b.String()
}

// tryExample is the one form in which Claude Code lets whatever a reviewer runs through: between single quotes, with no
// other single quote and nothing behind them. The guides hold it too.
func tryExample(tryCommand string) string {
	return tryCommand + ` 'dir=$(mktemp -d)
cat > "$dir/probe.py" <<"EOF"
import json
print(json.dumps({"name": "it\x27s", "days": [30, 31]}))
EOF
python3 "$dir/probe.py" && printf "it\047s fine\n"'`
}

// In characters: prompts of the user's are kept whole up to userPromptKeep each, as long as all of them together
// stay near userPromptsKeep; a request of that size is small beside the conversation it repeats, and even of
// hundreds of prompts each keeps userPromptKeepLeast.
const (
	userPromptKeep      = 8000
	userPromptsKeep     = 64000
	userPromptKeepLeast = 400
	// lastMessageKeep is for the agent's last message, which the conversation holds whole; what stands here is paid
	// for anew in each review.
	lastMessageKeep = 2000
)
