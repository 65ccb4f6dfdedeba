package main

// How much a timeline holds.

import (
	"os"
	"strings"
	"testing"
)

// A timeline grows with the work, not with its square: the last five of fifty rounds, each with a prompt of
// its own and never approved, add about what the first five did.
func TestTimelineGrows(t *testing.T) {
	h := testHook(t, eventStop)
	h.config.Supervisor.MaxIterations = 100
	h.dirs.env = setEnv(h.dirs.env, claudeVariable, "/none") // each review fails
	of, sizes := judgedWork{}, []int64{0}
	for range 50 {
		words := strings.Repeat("x", 1000)
		of.talk.requests = append(of.talk.requests, userRequest{words: words})
		h.append(entry{Prompt: &prompt{Text: words}})
		stderrOf(t, func() { h.conduct(t.Context(), newReview(eventStop), of) })
		info, err := os.Stat(h.session.timelineFile())
		check(t, err)
		sizes = append(sizes, info.Size())
	}
	if first, last := sizes[5], sizes[50]-sizes[45]; last > first+first/10 {
		t.Errorf("the first five rounds have %d bytes, the last five %d", first, last)
	}
}
