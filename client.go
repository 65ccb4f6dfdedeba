package main

// A session is the user's if ccc launched its client, and a helper's if the agent's tools started it. Claude
// Code (2.1.280, 2.1.332) names its own process to its hooks and tools in CLAUDE_PID.

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A caller is the client that runs a hook.
type caller struct {
	pid      int       // its process, 0 if unknown
	launched time.Time // when ccc launched it supervised, zero if it did not
	isOthers bool      // another client has claimed its launch, and runs, or it is a background session
	isHelper bool      // and the agent's tools have started it: it switches nothing
	isScript bool      // a person or a script runs the hook, no client
	isReview bool      // nor a hook: the user calls ccc review, whatever the session's mode
	asked    string    // the value of CCC_SUPERVISOR
}

// newLaunchToken returns the value of CCC_LAUNCH, which everything below a launch inherits: the time in
// milliseconds, and what no other launch has.
func newLaunchToken() string { return fmt.Sprintf("%d.%s", now().UnixMilli(), rand.Text()) }

// callerNow returns the caller of a hook. The first client that asks with a launch's token claims that
// launch; when it has ended the next one does, as behind a wrapper. Where the claim can't be written the
// token alone counts. A token of another form is 2.0's, whose launch is in the session's state. A background
// session is nobody's launch: its service has the variables of whatever has started that (2.1.332).
func (d dirs) callerNow(claims bool) (c caller, err error) {
	token := d.env.get(launchVariable)
	millis, random, _ := strings.Cut(token, ".")
	launched, parseErr := strconv.ParseInt(millis, 10, 64)
	c = caller{isScript: !d.inSession(), asked: d.env.get(supervisorVariable)}
	if c.isScript {
		return c, nil
	}
	c.pid, _ = strconv.Atoi(d.env.get(clientVariable))
	c.isOthers = token != "" && d.env.get(jobVariable) != ""
	if c.isOthers || !claims || parseErr != nil || !validSession(random) {
		return c, nil
	}
	client := c.pid
	if c.pid > 0 {
		client, err = d.state.claim(token, c.pid)
	}
	if c.isOthers = client != c.pid; c.isOthers {
		c.isHelper = strings.HasPrefix(d.env.get(entrypointVariable), "sdk-")
	} else {
		c.launched = time.UnixMilli(launched).UTC()
	}
	return c, err
}

// claim returns the client of the launch with that token: the one that has claimed it and runs, else pid,
// which claims it.
func (d stateDir) claim(token string, pid int) (client int, err error) {
	path := d.file("launch-" + token)
	read := func() bool {
		text, _ := os.ReadFile(path)
		client, _ = strconv.Atoi(string(text))
		return client == pid || !isGone(client)
	}
	if read() {
		return client, nil
	}
	if err := d.create(); err != nil {
		return pid, err
	}
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return pid, err
	}
	defer unlock()
	if read() { // another hook was faster
		return client, nil
	}
	return pid, replaceFile(path, []byte(strconv.Itoa(pid)), false)
}

// modeOf returns the mode of a session with that state in a client of c; observe is supervisor.observe of
// ccc.json. The later of its launch and its switches counts. Where there is neither, CCC_SUPERVISOR counts,
// unless it is of another client's launch. A hook by hand is supervised unless that says otherwise.
func modeOf(state sessionState, c caller, observe bool) mode {
	isOn := c.launched.After(state.SwitchedAt)
	present := state.Enabled
	if present == "" {
		isOn = isOn || c.asked == "1" && !c.isOthers || c.asked == "" && c.isScript
		present = modeOff
	}
	switch {
	case c.isHelper:
		return modeOff
	case isOn, c.isReview:
		present = modeOn
	}
	if present == modeOn && observe {
		return modeObserve
	}
	return present
}

// isAgents reports whether a tool of a running agent's calls ccc: such have no terminal.
func (e environ) isAgents() bool {
	pid, _ := strconv.Atoi(e.get(clientVariable))
	terminal, err := os.Open("/dev/tty")
	if err == nil {
		terminal.Close()
	}
	return e.get(toolVariable) != "" && !isGone(pid) && err != nil
}
