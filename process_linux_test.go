package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A program whose name looks like fields of /proc/PID/stat is read as any other.
func TestProcessOddTitle(t *testing.T) {
	const title = "a) Z 1 (b"
	program := filepath.Join(t.TempDir(), title)
	check(t, os.Symlink("/bin/sh", program))
	cmd := exec.Command(program, "-c", "read line")
	cmd.Args[0] = "sh"
	stdin, err := cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	defer cmd.Wait()
	defer stdin.Close()
	parent, p := processInfo(cmd.Process.Pid)
	expectIs(t, "the title", p.title, title)
	expectIs(t, "the parent", parent, os.Getpid())
	expectIs(t, "the parent among all", processParents(0)[cmd.Process.Pid], os.Getpid())
}

// A process that has ended counts as such, even if nobody waits for it.
func TestProcessEnded(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "exit")
	check(t, cmd.Start())
	defer cmd.Wait()
	for range 1000 {
		if _, fields := readStat(cmd.Process.Pid); fields[stateField] == "Z" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, p := processInfo(cmd.Process.Pid)
	expectIs(t, "the name", p.name, "")
}

// A review without an end runs until its process has ended or, where that can't be seen, its time and what ends it.
func TestProcessOfReview(t *testing.T) {
	self, space := selfName(), processSpace()
	for name, test := range map[string]struct {
		process  string
		deadline time.Duration
		want     verdict
	}{
		"its process runs":                 {self, time.Hour, verdictReviewing},
		"its process runs, over its time":  {self, -time.Hour, verdictReviewing},
		"its process has ended":            {"1073741824-1-" + space, time.Hour, verdictFailed},
		"another of that number":           {strings.Replace(self, "-", "-9", 1), time.Hour, verdictFailed},
		"one that can't be seen":           {"1-1-boot-1", time.Hour, verdictReviewing},
		"one that can't be seen, just now": {"1-1-boot-1", -time.Second, verdictReviewing},
		"over its time and what ends it":   {"1-1-boot-1", -6 * time.Second, verdictFailed},
	} {
		begun := began(review{ID: "r", Process: test.process, Deadline: time.Now().Add(test.deadline)})
		round := historyOf(begun).Reviews[0]
		expectIs(t, name, round.Verdict, test.want)
		expectIs(t, name+": why", round.Error == errKilled.Error(), test.want == verdictFailed)
		end := ended(review{ID: "r", outcome: outcome{Verdict: verdictAllow}})
		expectIs(t, name+", ended", historyOf(begun, end).Reviews[0].Verdict, verdictAllow)
	}
	expectIs(t, "no process", isRunning(""), false)
	if !regexp.MustCompile(`^[0-9a-f]{8}-\d+$`).MatchString(space) {
		t.Errorf("a process is told from those of other boots and namespaces by %q", space)
	}
}
