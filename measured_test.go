package main

import (
	"os/exec"
	"testing"
)

// The measured cases, and the command that has them reviewed, hold. They have a directory of their own.
func TestMeasuredCases(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("nothing of ours runs in a check")
	}
	printed, err := exec.Command("go", "test", "-timeout", "25m", "./testdata/measure").CombinedOutput()
	expectIs(t, string(printed), err, nil)
}
