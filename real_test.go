package main

// The Claude Codes that the tests of ccc on the real client run on, installed
// from npm where they are not there yet.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// realClient is an installed Claude Code.
type realClient struct{ path, version string }

// realClients returns the clients that CCC_REAL_CLAUDE lists, separated by commas: versions or tags on npm (2.1.280, latest), or
// paths. pinned stands for those of testdata/clients. It skips the test when the variable is not set.
func realClients(t *testing.T) []realClient {
	t.Helper()
	if os.Getenv("CCC_REAL_CLAUDE") == "" {
		t.Skip("CCC_REAL_CLAUDE is not set")
	}
	clients, err := listedClients()
	if err != nil {
		t.Fatalf("CCC_REAL_CLAUDE: %v", err)
	}
	return clients
}

var listedClients = sync.OnceValues(func() (clients []realClient, err error) {
	home, err := os.MkdirTemp("", "ccc")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	list := strings.Split(os.Getenv("CCC_REAL_CLAUDE"), ",")
	if list[0] == "pinned" {
		if list, err = pinnedClients(); err != nil {
			return nil, err
		}
	}
	for _, item := range list {
		path := item
		if !strings.Contains(item, "/") {
			if path, err = installClient(item); err != nil {
				return nil, err
			}
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DISABLE_AUTOUPDATER=1"}
		out, err := cmd.Output()
		version, _, found := strings.Cut(string(out), " (Claude Code)")
		if err != nil || !found {
			return nil, fmt.Errorf("%s --version: %q, %v", path, out, err)
		}
		isListed := func(c realClient) bool { return c.version == version } // latest may be in the list by its number, too
		if !slices.ContainsFunc(clients, isListed) {
			clients = append(clients, realClient{path, version})
		}
	}
	return clients, nil
})

// pinnedClients are the versions that ccc is tested on, oldest first.
func pinnedClients() ([]string, error) {
	text, err := os.ReadFile("testdata/clients")
	return strings.Fields(string(text)), err
}

// installClient installs version, or what that tag stands for, into the user's
// cache directory, unless it is there, and returns the path of its program.
func installClient(version string) (path string, err error) {
	const name = "@anthropic-ai/claude-code"
	if strings.Trim(version, digits+".") != "" {
		if version, err = npm("view", name+"@"+version, "version"); err != nil {
			return "", err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "ccc-ci")
	dir := filepath.Join(cache, "claude-"+version)
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return "", err
		}
		part, err := os.MkdirTemp(cache, "part-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(part)
		if _, err := npm("install", "--no-audit", "--no-fund", "--prefix", part, name+"@"+version); err != nil {
			return "", err
		}
		if err := os.Rename(part, dir); err != nil {
			return "", err
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, "node_modules", name+"-*/claude"))
	if len(found) == 0 {
		return "", errors.New("no claude in " + dir)
	}
	return found[len(found)-1], nil
}

// npm returns the last line of what npm says.
func npm(args ...string) (answer string, err error) {
	cmd := exec.Command("npm", append(args, "--loglevel=error")...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm %s: %w: %s", strings.Join(args, " "), err, &complaints)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// forClients runs test on each client of the list, with a sandbox in which "ccc"
// is the test binary and the agent and the reviewer follow s.
func forClients(t *testing.T, s func() script, test func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI)) {
	runOn(t, realClients(t), s, test)
}

// forNewest is forClients for the last client of the list alone.
func forNewest(t *testing.T, s func() script, test func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI)) {
	clients := realClients(t)
	runOn(t, clients[len(clients)-1:], s, test)
}

// runOn runs test on these clients.
func runOn(t *testing.T, clients []realClient, s func() script, test func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI)) {
	for _, client := range clients {
		t.Run(client.version, func(t *testing.T) {
			box := newSandbox(t, client.path)
			var api *scriptedAPI
			if s != nil { // else the test has an API of its own
				api = newScriptedAPI(t, s())
				box.use(api)
			}
			defer func() {
				if t.Failed() {
					t.Logf("requests: %v\nlog:\n%s", box.api, box.log())
				}
			}()
			test(t, client, box, api)
		})
	}
}

// start starts a supervised session in a terminal and waits until it takes keys.
func (box *sandbox) start(args ...string) *terminal {
	box.t.Helper()
	return box.open(append([]string{"ccc", "--supervisor"}, args...)...)
}

// open starts a session in a terminal by that command and waits until it takes keys.
func (box *sandbox) open(command ...string) *terminal {
	box.t.Helper()
	tty := box.terminal(command...)
	tty.waitUntil("an input line", 60*time.Second, func(screen string) bool { return inputLine(screen) != "" })
	return tty
}

// awaitVerdicts waits until the session has n verdicts.
func (box *sandbox) awaitVerdicts(n int) {
	box.t.Helper()
	for range 1200 {
		if len(box.timelineVerdicts()) >= n {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	box.t.Fatalf("verdicts %q, want %d", box.timelineVerdicts(), n)
}

// expectRun checks that a print-mode run ended well with answer, and that the session's verdicts were these.
func expectRun(t *testing.T, box *sandbox, got commandResult, answer string, verdicts ...verdict) {
	t.Helper()
	if got.code != 0 || got.timedOut || strings.TrimSpace(got.stdout) != answer {
		t.Errorf("got %+v, want %q", got, answer)
	}
	expectEqual(t, "the verdicts", box.timelineVerdicts(), verdicts)
}
