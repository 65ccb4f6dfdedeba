package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// asked is what the event of a question holds.
const asked = `"tool_name":"AskUserQuestion","tool_use_id":"toolu_1","tool_input":` + question

// Hooks of one session at once are counted one after the other, and no line is torn.
func TestHookConcurrent(t *testing.T) {
	box := newHookBox(t)
	const hooks = 32
	results := make(chan commandResult, hooks)
	for range hooks {
		go func() { results <- box.stop(inTurn) }() // of one turn
	}
	blocked := 0
	for range hooks {
		r := <-results
		expectIs(t, "the exit code", r.code, 0)
		if decided(r.stdout) == blockNotYet {
			blocked++
		} else {
			expectIs(t, "the answer", r.stdout, "")
		}
	}
	ends := endsOf(box.timeline(testSession))
	var iterations []int
	for _, r := range ends {
		if r.Verdict == verdictBlock {
			iterations = append(iterations, r.Iteration)
		}
	}
	slices.Sort(iterations)
	expectEqual(t, "the iterations", iterations, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	expectEqual(t, "records, and refusals", []int{len(ends), blocked}, []int{hooks, 10})
	// An empty line: a line looked torn as another wrote it.
	torn := regexp.MustCompile(`(?m)^.*$`).FindAllString(strings.TrimSpace(box.log()), -1)
	whole := regexp.MustCompile(`^$|^20\S+Z [a-z -]+ session_id=\S+`)
	expectEqual(t, "torn lines", slices.DeleteFunc(torn, whole.MatchString), []string{})
}

// A state that can't be used is kept beside, and begun anew. Then no loop is reviewed that is active already.
func TestHookStateBroken(t *testing.T) {
	const of = `{"session_id":"` + testSession + `","count":`
	for _, text := range []string{"", "{", "\x00\x01", "[]", `{"count":"3"}`, of + `1,"enabled":true}`,
		of + "-1}", of + "99999999999999999999}", `{"session_id":"another","count":9}`} {
		h, r := testHook(t, eventStop), newReview(eventStop)
		prepare := func() { check(t, os.WriteFile(h.session.stateFile(), []byte(text), 0o600)) }
		prepare()
		told := stderrOf(t, func() {
			_, err := h.count(&r, false)
			check(t, err)
		})
		expectIn(t, text, told, "corrupt")
		kept, _ := os.ReadFile(h.session.stateFile() + ".bad")
		expectIs(t, text+": what is kept", string(kept), text)
		state, _ := h.session.readState()
		expectIs(t, text+": the count", fmt.Sprint(r.Iteration, state.Count), "1 1")
		prepare()
		stderrOf(t, func() {
			_, err := h.count(&r, true)
			expectIs(t, text+": in a loop", err, error(errNoCount))
		})
	}
}

// A panic ends the hook without a decision, with a message and with exit code 0, in whichever goroutine it
// comes: in the hook's own, and in those of os/exec. TestPanicsEnd knows all of ccc's.
func TestHookPanic(t *testing.T) {
	t.Parallel()
	plants := map[string]func(){
		"decision": func() { panic("planted") },
		"client": func() {
			(*supervision)(nil).untilEnded(time.Minute, nil) // of no session
			time.Sleep(time.Minute)
		},
		"complaints": func() {
			cmd := exec.Command("sh", "-c", "echo x >&2")
			cmd.Stderr = &tail{limit: -1} // it slices out of bounds
			_ = cmd.Run()
		},
	}
	const plantVariable = "CCC_TEST_PLANT"
	if plant := plants[os.Getenv(plantVariable)]; plant != nil { // this is the hook, whose stdin is empty
		check(t, supervisorHook(&invocation{}))
		func() {
			defer exitOnPanic()
			plant()
		}()
		os.Exit(1)
	}
	for name := range plants {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHookPanic$")
		cmd.Env = append(os.Environ(), plantVariable+"="+name)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		check(t, err)
		expectIs(t, name+": stdout", string(stdout), "")
		expectIn(t, name+": stderr", stderr.String(), "ccc: panic: ")
	}
}
