package main

// A session is the user's if ccc launched its client, and the agent's if a tool of an agent did. The
// processes above the client decide which of the two it is.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ancestry returns the process pid and those above it, the nearest first, as far as the system shows them.
func ancestry(pid int) (chain []process) {
	for pid > 0 && len(chain) < 1000 { // where processes end meanwhile, the parents may form a circle
		parent, p := processInfo(pid)
		if p.name == "" {
			break
		}
		chain, pid = append(chain, p), parent
	}
	return chain
}

// clientAncestry returns the ancestry of the client that runs this process, from the client on: Claude Code
// runs hooks with `sh -c`, and some shells stay between.
func clientAncestry() []process {
	chain := ancestry(os.Getppid())
	shells := []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"}
	for len(chain) > 0 && slices.Contains(shells, chain[0].title) {
		chain = chain[1:]
	}
	return chain
}

// claudeIn returns what reports whether a process runs claude, as env finds it or by its name.
func claudeIn(env environ) func(process) bool {
	claude, _ := findClaude(env)
	return func(p process) bool { return filepath.Base(p.program) == "claude" || sameFile(p.program, claude) }
}

// A caller is who has started a client or called ccc.
type caller struct {
	byAgent   bool      // a tool of an agent started it
	launched  time.Time // when ccc launched the client supervised, zero if it did not
	fromShell bool      // the hook was not started by Claude Code
	asked     string    // the value of CCC_SUPERVISOR
	token     string    // the value of CCC_LAUNCH
}

// callerOf walks up the chain. What it meets first decides: the supervised launch that CCC_LAUNCH names,
// which is the user's, or a process with the mark of an agent's tool. A marked process is the agent's if it
// has no controlling terminal (2.1.280 to 2.1.330 run tools without one) or a living Claude Code above it.
// Otherwise it is the user's, in a terminal that an agent once opened.
func callerOf(chain []process, env environ) (c caller) {
	c.asked, c.token = env.get(supervisorVariable), env.get(launchVariable)
	launched, at := parseLaunchToken(c.token)
	isClaude := claudeIn(env)
	isClient := func(p process) bool { return p.name == launched || isClaude(p) }
	for i, p := range chain {
		switch {
		case p.name == launched:
			c.launched = at
		case p.marked:
			c.byAgent = !p.terminal || slices.ContainsFunc(chain[i+1:], isClient)
		default:
			continue
		}
		return c
	}
	if launched != "" && !isVisible(launched) { // in another PID namespace, as where claude is in bubblewrap
		c.launched = at
	}
	return c
}

// launchToken returns the value of CCC_LAUNCH: the name of this process, which becomes claude or a wrapper
// around it, and the time in milliseconds. Every process below inherits it. It counts only where that process
// is still above, or can't be seen from here.
func launchToken() string {
	_, self := processInfo(os.Getpid())
	return fmt.Sprintf("%s.%d", self.name, now().UnixMilli())
}

// parseLaunchToken returns the parts of a token. The name is "" where token is not one.
func parseLaunchToken(token string) (name string, at time.Time) {
	name, millis, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return "", at
	}
	return name, time.UnixMilli(n).UTC()
}

// modeIn returns the mode of a session with that state in a client of c, as if supervisor.observe were false.
// The latest of its supervised launches and its switches counts. Where there is neither, CCC_SUPERVISOR=1
// counts if no launch has set it. A hook that was called by hand is supervised unless CCC_SUPERVISOR says
// otherwise.
func (state sessionState) modeIn(c caller) mode {
	if c.byAgent {
		return modeOff
	}
	if c.launched.After(state.LaunchedAt) {
		state.LaunchedAt = c.launched
	}
	if state.isSwitched() {
		return state.Enabled
	}
	if !state.LaunchedAt.IsZero() || c.asked == "1" && c.token == "" || c.asked == "" && c.fromShell {
		return modeOn
	}
	return modeOff
}
