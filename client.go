package main

// Whose session it is: the user's, if ccc launched its client; the agent's, if a tool of an agent's did. One walk up
// from the client through the processes above it tells. Whether the session is supervised, and which one a word names.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// clientAncestry returns the ancestry of the client that runs this process, from the client on: Claude Code runs hooks and
// status lines with `sh -c`, and some shells stay between.
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
	client   string    // the name of the client's process, "" where none is known
	agents   bool      // a tool of an agent's started it: it speaks for nobody
	launched time.Time // when ccc launched the client supervised; zero: it did not
	byHand   bool      // a hook that Claude Code does not run is meant
}

// callerOf walks up the chain, and what it meets first decides: the supervised launch that CCC_LAUNCH names, then the
// session is the user's; or a process with the mark of a tool. The mark alone does not tell, as whatever runs in a terminal
// that an agent once opened has it. With a living Claude Code above it, or without a controlling terminal, it is the
// agent's: Claude Code (2.1.120 to 2.1.330) runs tools without one, and what a tool leaves behind has none either.
func (d stateDir) callerOf(chain []process) (c caller) {
	launched, at := parseLaunchToken(os.Getenv(launchVariable))
	claude, _ := exec.LookPath(cmp.Or(os.Getenv(claudeVariable), "claude"))
	isClaude := func(p process) bool {
		_, err := os.Stat(d.clientFile(p.name))
		return p.name == launched || err == nil || filepath.Base(p.program) == "claude" || claude != "" && sameFile(p.program, claude)
	}
	if len(chain) > 0 {
		c.client = chain[0].name
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

// launchToken is the value of CCC_LAUNCH: the name of this process, which becomes claude or a wrapper around it, and
// the time. Every process below inherits it; only one with that process above it is meant.
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

// supervised tells whether the session is supervised in a client of c's: the latest of its supervised launches and of
// the switches of the session and of the client counts. Without any of them, CCC_SUPERVISOR decides where no launch
// has set it.
func (s session) supervised(c caller) bool {
	if c.agents {
		return false
	}
	variable := os.Getenv(supervisorVariable)
	latest := modeSwitch{On: variable == "1" && os.Getenv(launchVariable) == "" || variable == "" && c.byHand}
	state, _ := s.state() // one that can't be read switches nothing
	changes := []modeSwitch{{true, state.LaunchedAt}, {true, c.launched}, s.dir.clientSwitch(c.client)}
	if state.Switch != nil {
		changes = append(changes, *state.Switch)
	}
	for _, change := range changes {
		if !change.At.IsZero() && !change.At.Before(latest.At) {
			latest = change
		}
	}
	return latest.On
}

// clientSwitch is what the client was switched to, in any of its sessions; zero where it was not.
func (d stateDir) clientSwitch(client string) (change modeSwitch) {
	if text, err := os.ReadFile(d.clientFile(client)); err != nil || json.Unmarshal(text, &change) != nil {
		return modeSwitch{}
	}
	return change
}

// noteClient makes sure that the client has a file, which tells that ccc has answered a hook of it, and that the file
// counts as recent.
func (d stateDir) noteClient(client string) error {
	if client == "" {
		return nil
	}
	err := appendFile(d.clientFile(client), nil)
	_ = os.Chtimes(d.clientFile(client), time.Time{}, time.Now())
	return err
}

// switchTo turns supervision of the session on or off, and of its client, which may give the session another id
// (/clear). client is "" where only the record of the session's last hook knows it.
func (s session) switchTo(on bool, client string) error {
	change := &modeSwitch{On: on, At: now()}
	err := s.update(func(state *sessionState) {
		client = cmp.Or(client, state.Client)
		state.Switch, state.Enabled, state.Client = change, &on, client
	})
	if err != nil && !errors.Is(err, errCorrupt) || client == "" { // a corrupt state is kept aside, and a new one was written
		return err
	}
	return s.dir.replace(s.dir.clientFile(client), append(encodeJSON(change), '\n'))
}

// findSession returns the session whose id is word, or begins with it.
func (d stateDir) findSession(word string) (string, error) {
	ids, err := d.sessions()
	if err != nil || slices.Contains(ids, word) {
		return word, err
	}
	matches := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return word == "" || !strings.HasPrefix(id, word) })
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", withHint(fmt.Errorf("no session %q", word), "there are: "+d.someOf(ids))
	}
	return "", withHint(fmt.Errorf("%q is the beginning of %d sessions", word, len(matches)), "they are: "+d.someOf(matches))
}

// someOf names the five newest of the sessions by their beginnings.
func (d stateDir) someOf(ids []string) string {
	written := func(id string) (at time.Time) {
		if info, err := os.Stat(d.session(id).timelineFile()); err == nil {
			at = info.ModTime()
		}
		return at
	}
	slices.SortStableFunc(ids, func(a, b string) int { return written(b).Compare(written(a)) })
	const most, long = 5, 13 // as long as tells sessions of one begin apart
	var shown []string
	for _, id := range ids[:min(most, len(ids))] {
		shown = append(shown, id[:min(long, len(id))])
	}
	if more := len(ids) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more (ccc status --all)", more))
	}
	return cmp.Or(strings.Join(shown, ", "), "none")
}
