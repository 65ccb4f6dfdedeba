package main

import (
	"encoding/json"
	"testing"
)

// One more occasion is a row: its calls are reviewed, and the hooks of a launch are of both tools.
func TestOccasionAdded(t *testing.T) {
	t.Cleanup(func() { occasions = occasions[:3] })
	occasions = append(occasions, &occasion{name: "ExitPlanMode", event: eventPreToolUse, tool: "ExitPlanMode", isQuestion: true,
		title: words{"计划审查", "Review of a plan"}, quote: func(input json.RawMessage) string { return string(input) }})
	for tool, want := range map[string]string{askUserQuestion: eventPreToolUse, "ExitPlanMode": "ExitPlanMode", "Bash": "", "": ""} {
		name := ""
		if on := occasionOf(eventPreToolUse, tool); on != nil {
			name = on.name
		}
		expectIs(t, tool, name, want)
	}
	expectIs(t, "its title", review{Event: "ExitPlanMode"}.reviewTitle(), "计划审查")
	matchers := ""
	for _, wanted := range wantedHooks("ccc", 1) {
		matchers += wanted.event + " " + wanted.Matcher + ", "
	}
	expectIs(t, "the hooks", matchers, "Stop , PreToolUse AskUserQuestion|ExitPlanMode, UserPromptSubmit , SessionStart , ")
	expectIs(t, "an occasion of a ccc to come", review{Event: "New"}.reviewTitle(), "审查")
}
