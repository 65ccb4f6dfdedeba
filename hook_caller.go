package main

// Whose session it is: the user's, if ccc launched its client; the agent's, if a tool of an agent's did. One
// walk up from the client through the processes above it tells. What ccc remembers of a session between two
// hooks, whether it is supervised, and which one a word names.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ancestry returns the process pid and those above it, the nearest first, as far as the system tells of them.
func ancestry(pid int) (chain []process) {
	for pid > 0 && len(chain) < 1000 { // processes that end while they are asked for may show a circle
		parent, p := processInfo(pid)
		if p.name == "" {
			break
		}
		chain, pid = append(chain, p), parent
	}
	return chain
}

// clientAncestry returns the ancestry of the client that runs this process, from the client on: Claude Code
// runs hooks and status lines with `sh -c`, and some shells stay between.
func clientAncestry() []process {
	chain := ancestry(os.Getppid())
	shells := []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"}
	for len(chain) > 0 && slices.Contains(shells, chain[0].title) {
		chain = chain[1:]
	}
	return chain
}

// A caller is who stands behind a client or a call of ccc.
type caller struct {
	agents   bool      // a tool of an agent's started it: it speaks for nobody
	launched time.Time // when ccc launched the client supervised; zero: it did not
	byHand   bool      // a hook that Claude Code does not run is meant
}

// callerOf walks up the chain, and what it meets first decides: the supervised launch that CCC_LAUNCH names,
// which is the user's, or a process with the mark of a tool. That is the agent's with a living Claude Code
// above it or without a controlling terminal (2.1.120 to 2.1.330 run tools without one); else it may run in a
// terminal that an agent once opened.
func callerOf(chain []process) (c caller) {
	launched, at := parseLaunchToken(os.Getenv(launchVariable))
	claude, _ := findClaude()
	isClaude := func(p process) bool {
		return p.name == launched || filepath.Base(p.program) == "claude" || sameFile(p.program, claude)
	}
	for i, p := range chain {
		switch {
		case p.name == launched:
			c.launched = at
		case p.marked:
			c.agents = !p.terminal || slices.ContainsFunc(chain[i+1:], isClaude)
		default:
			continue
		}
		return c
	}
	if launched != "" && !isVisible(launched) { // from within a PID namespace, as of a claude in bubblewrap
		c.launched = at
	}
	return c
}

// launchToken is the value of CCC_LAUNCH: the name of this process, which becomes claude or a wrapper around
// it, and the time. Every process below inherits it; only one with that process above it is meant.
func launchToken() string {
	_, self := processInfo(os.Getpid())
	return fmt.Sprintf("%s.%d", self.name, now().UnixMilli())
}

// parseLaunchToken returns the parts of a token, "" for what is none.
func parseLaunchToken(token string) (name string, at time.Time) {
	name, millis, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return "", at
	}
	return name, time.UnixMilli(n).UTC()
}

// supervised reports whether the session is supervised in a client of c's: the latest of its supervised
// launches and its switches counts. Without any of them, CCC_SUPERVISOR decides where no launch has set it.
func (s sessionFiles) supervised(c caller) bool {
	if c.agents {
		return false
	}
	state, _ := s.state() // one that can't be read switches nothing
	launched := state.LaunchedAt
	if c.launched.After(launched) {
		launched = c.launched
	}
	if state.isSwitched(launched) {
		return *state.Enabled
	}
	if !launched.IsZero() {
		return true
	}
	variable := os.Getenv(supervisorVariable)
	return variable == "1" && os.Getenv(launchVariable) == "" || variable == "" && c.byHand
}
