package main

// Who is supervised: which client runs a hook, whether it is the one that a launch became, and what it and its session
// were switched to.

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A client is a running Claude Code, known by its process. It outlives its sessions: /clear gives it another one.
type client struct {
	pid   int
	start string // tells the process from a later one of that number; "" for an unknown client
}

// String names the client's files in the state directory; "" for an unknown one.
func (c client) String() string {
	if c.start == "" {
		return ""
	}
	return fmt.Sprintf("%d.%s", c.pid, c.start)
}

// hookClient returns the client that runs this hook. Claude Code starts a hook with `sh -c`; some shells then become
// the hook, others stay between.
func hookClient() (c client) {
	c.pid = os.Getppid()
	parent, start, name := processInfo(c.pid)
	if slices.Contains([]string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"}, name) {
		c.pid = parent
		_, start, _ = processInfo(parent)
	}
	c.start = start
	return c
}

// launchToken is what a launch puts into launchVariable: the process that becomes claude, and the time. The claude
// of a background session is a child of its service instead: then backgroundPrefix comes first.
func launchToken(background bool) string {
	token := fmt.Sprintf("%d-%d", os.Getpid(), now().UnixMilli())
	if background {
		token = backgroundPrefix + token
	}
	return token
}

const backgroundPrefix = "background-"

// launchOf tells whether c is what a supervised launch became, and when that was. A launch is about one client:
// those that the agent calls inherit its variables, and are not meant; nor are the background sessions of a service
// that one of these has started. The launched process may be a wrapper around claude; the first client below it
// that comes by then is the launched one, because no agent can call another before its own client has had a prompt.
// A background session has its token by its settings, and so not in the environment that its process was started
// with, as the clients have that its agent calls.
func launchOf(c client, d stateDir) (at time.Time, launched bool) {
	const nested = "CLAUDECODE=1" // in what an agent's tools start
	if os.Getenv(supervisorVariable) != "1" {
		return at, false
	}
	token := os.Getenv(launchVariable)
	ofProcess, background := strings.CutPrefix(token, backgroundPrefix)
	first, second, _ := strings.Cut(ofProcess, "-")
	pid, pidErr := strconv.Atoi(first)
	millis, timeErr := strconv.ParseInt(second, 10, 64)
	if pidErr != nil || timeErr != nil { // the user set the variable, and ccc started nothing
		return at, !processHas(c.pid, nested)
	}
	at = time.UnixMilli(millis).UTC()
	switch {
	case background:
		return at, !processHas(c.pid, launchVariable+"="+token)
	case c.pid == pid || c.start == "":
		return at, true
	case !descends(c.pid, pid):
		return at, false
	case processHas(c.pid, nested) && !processHas(pid, nested):
		return at, false
	}
	claimed, err := d.claim(token, c.String())
	return at, err != nil || claimed
}

// descends tells whether the process ancestor is above pid.
func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		pid, _, _ = processInfo(pid)
	}
	return pid == ancestor
}

// supervision tells whether a hook of session in client c is to review: the later of a supervised launch and a switch,
// of the session or the client, counts. launched is the time of the former, if there was one. Without either, a hook
// that Claude Code runs belongs to a session that nobody asked to supervise, and one that a person runs by hand is
// meant.
func supervision(session string, c client, d stateDir, byHand bool) (on bool, launched time.Time) {
	launched, on = launchOf(c, d)
	if byHand && os.Getenv(supervisorVariable) == "" {
		on = true
	}
	latest := launched
	state, _ := d.read(session) // a state that can't be read switches nothing
	for _, s := range []*modeSwitch{state.Switch, d.clientSwitch(c.String())} {
		if s != nil && !s.At.Before(latest) {
			on, latest = s.On, s.At
		}
	}
	return on, launched
}
