package main

// Who is supervised: which client runs a hook, whether it is the one that a launch became, and what it and its
// session were switched to.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// String is the client's name in clients.json; "" for an unknown one.
func (c client) String() string {
	if c.start == "" {
		return ""
	}
	return fmt.Sprintf("%d.%s", c.pid, c.start)
}

// hookClient returns the client that runs this hook. Claude Code starts a hook with `sh -c`; some shells then
// become the hook, others stay between.
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

// nested is in the environment of what an agent's tools start.
const nested = "CLAUDECODE=1"

// launchOf returns the switch to on that a supervised launch was, if c is what it became. A launch is about one
// client: those that the agent calls inherit its variables and are not meant, nor are the background sessions of a
// service that one of them has started. The launched process may be a wrapper around claude: then the first client
// below it counts, because no agent can call another before its own client has had a prompt, and when that one has
// ended, the next may. A background session has its token by its settings, and so not in the environment that its
// process was started with; the clients that its agent calls have it there.
func launchOf(c client, d stateDir) (launch modeSwitch) {
	if os.Getenv(supervisorVariable) != "1" {
		return launch
	}
	token := os.Getenv(launchVariable)
	ofProcess, background := strings.CutPrefix(token, backgroundPrefix)
	first, second, _ := strings.Cut(ofProcess, "-")
	pid, pidErr := strconv.Atoi(first)
	millis, timeErr := strconv.ParseInt(second, 10, 64)
	switch {
	case pidErr != nil || timeErr != nil: // the user set the variable, and ccc started nothing
		return modeSwitch{On: !processHas(c.pid, nested)}
	case background:
		launch.On = !processHas(c.pid, launchVariable+"="+token)
	case c.pid == pid || c.start == "":
		launch.On = true
	case descends(c.pid, pid) && (!processHas(c.pid, nested) || processHas(pid, nested)):
		launch.On = d.claim(token, c.String())
	}
	if launch.On {
		launch.At = time.UnixMilli(millis).UTC()
	}
	return launch
}

// descends tells whether the process ancestor is above pid.
func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		pid, _, _ = processInfo(pid)
	}
	return pid == ancestor
}

// supervised tells whether a session in client c is supervised: the latest of its launch and the switches of the
// session and of the client counts.
func (d stateDir) supervised(session string, c client, launch modeSwitch) bool {
	latest := launch
	state, _ := d.read(session) // a state that can't be read switches nothing
	for _, s := range []*modeSwitch{state.Switch, d.clients().Switches[c.String()]} {
		if s != nil && !s.At.Before(latest.At) {
			latest = *s
		}
	}
	return latest.On
}

// clientRecords are what clients.json holds of the clients that run.
type clientRecords struct {
	Switches map[string]*modeSwitch `json:"switches"` // by client: what it was switched to, in any of its sessions
	Launches map[string]string      `json:"launches"` // by launch token: the client that it became
}

// clients returns what is known of clients; a file that can't be read knows none.
func (d stateDir) clients() (r clientRecords) {
	text, err := os.ReadFile(d.clientsFile())
	if err != nil || json.Unmarshal(text, &r) != nil || r.Switches == nil || r.Launches == nil {
		return clientRecords{map[string]*modeSwitch{}, map[string]string{}}
	}
	return r
}

// updateClients changes what is known of clients, under the lock, and forgets those that have ended.
func (d stateDir) updateClients(change func(*clientRecords)) error {
	unlock, err := lockFile(d.lockFile())
	if err != nil {
		return err
	}
	defer unlock()
	r := d.clients()
	maps.DeleteFunc(r.Switches, func(c string, _ *modeSwitch) bool { return !isRunning(c) })
	maps.DeleteFunc(r.Launches, func(_, c string) bool { return !isRunning(c) })
	change(&r)
	return replaceFile(d.clientsFile(), encodeJSON(r), false)
}

// isRunning tells whether the client of that name is a process that runs.
func isRunning(name string) bool {
	pid, start, _ := strings.Cut(name, ".")
	number, _ := strconv.Atoi(pid)
	_, present, _ := processInfo(number)
	return start != "" && start == present
}

// claim makes c the client of the launch, unless another is that runs, and tells whether it is. Where that can't be
// noted, it is.
func (d stateDir) claim(token, c string) (is bool) {
	if d.clients().Launches[token] == c {
		return true
	}
	err := errors.Join(d.create(), d.updateClients(func(r *clientRecords) {
		r.Launches[token] = cmp.Or(r.Launches[token], c)
		is = r.Launches[token] == c
	}))
	return is || err != nil
}

// calledByAgent tells whether a tool of an agent's runs the process: Claude Code marks the environment of its tools.
// Where the process's own environment was cleaned, that of one above it still has the mark.
func calledByAgent(pid int) bool {
	for ; pid > 1; pid, _, _ = processInfo(pid) {
		if processHas(pid, nested) {
			return true
		}
	}
	return false
}

// isGuest tells whether c is a claude that an agent calls to go on with a session that another client has open, as
// the agent's own: what it submits there is not the user's, and its stops are not the agent's.
func (d stateDir) isGuest(c client, session string) bool {
	state, _ := d.read(session)
	return state.Client != c.String() && isRunning(state.Client) && calledByAgent(c.pid)
}

// switchMode turns supervision of session on or off, and of the client that it runs in, for what /clear makes of
// it. c is that client, "" where only the session's last hook knows it.
func (d stateDir) switchMode(session string, c string, on bool) error {
	s := &modeSwitch{On: on, At: now()}
	if c == "" {
		c = d.presentClient(session)
	}
	err := d.update(session, func(state *sessionState) {
		state.Switch, state.Enabled = s, &on
		state.Client = cmp.Or(c, state.Client)
	})
	if err != nil && !errors.Is(err, errCorrupt) || c == "" { // a corrupt state is kept aside, and a new one was written
		return err
	}
	return d.updateClients(func(r *clientRecords) { r.Switches[c] = s })
}

// presentClient is the client that ran session's last hook, "" if it has gone on to another session since.
func (d stateDir) presentClient(session string) string {
	state, _ := d.read(session)
	ids, _ := d.sessions()
	for _, id := range ids {
		if other, _ := d.read(id); other.Client == state.Client && other.UpdatedAt.After(state.UpdatedAt) {
			return ""
		}
	}
	return state.Client
}
