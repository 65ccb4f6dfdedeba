package main

// The reviewer's claude, and the environment of a claude and its reviewer: whose provider they have and no
// other's, what pays for them, whether they share a prompt cache, and which version they are.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// reviewersClaude returns the claude that reviews a session: the one that its launch has passed on. If that
// has gone since, as when Claude Code moves to its own installer, it is the one that is there now.
func reviewersClaude(env environ) (string, error) {
	path, err := findClaude(env)
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	path, notNow := findClaude(setEnv(env, claudeVariable, ""))
	if notNow != nil {
		path = installedClaude()
	}
	if path == "" { // in a running session the variable can't be set
		return "", failure{code: 127, err: failureOf(err).err, hint: failureOf(notNow).hint}
	}
	return path, nil
}

// callEnv returns the environment of the reviewer of a session: with the provider that ccc.json names for it,
// else with the session's. The error says what overrides that provider: the settings files may have changed
// since the launch, which checks them too.
func callEnv(d dirs, c *configuration, isLaunched bool) ([]string, error) {
	env := []string(d.env)
	own, _ := c.reviewersProvider(d.env.get(providerVariable))
	// Without a launch the cache variables are another session's. With another provider a login may pay for
	// the reviewer.
	if !isLaunched || own != nil {
		env = withoutCacheVariables(env)
	}
	if own == nil {
		return reviewerEnv(withoutRefusedKey(d, env)), nil
	}
	reviewers, err := withProvider(reviewerEnv(env), own)
	return reviewers, cmp.Or(err, readSources(d, nil).conflict(d, env, own, hintNoReviewers))
}

// withProvider returns env with the values of p in the place of all API variables. It fails as values does.
func withProvider(env []string, p *provider) ([]string, error) {
	values, err := p.values(env)
	if err != nil {
		return nil, err
	}
	env = without(env, ofAPI)
	for name, value := range values {
		env = setEnv(env, name, value)
	}
	return env, nil
}

// reviewerEnv returns a reviewer's environment with the session's provider: env without what ties a process
// to its session, and without the user's advisor. Its git status does not write the index.
func reviewerEnv(env []string) []string {
	return setEnv(without(env, ofClient), reviewerVariable, "1", advisorVariable, "1",
		"GIT_OPTIONAL_LOCKS", "0", starterVariable, strconv.Itoa(os.Getpid()))
}

// attributionLeftOut is the value of cacheVariable if ccc, not the user, has set attributionVariable.
const attributionLeftOut = "line"

// withoutCacheVariables returns env without what ccc has set there for the prompt cache of a session. Claude
// Code then writes the line of attributionVariable again: a login is billed by that.
func withoutCacheVariables(env []string) []string {
	if lookupEnv(env, cacheVariable) == attributionLeftOut {
		env = setEnv(env, attributionVariable, "")
	}
	return setEnv(env, cacheVariable, "")
}

// cacheEnv returns env, a launch's, with what lets reviews of the session use its prompt cache, if a key, a
// token, a provider or a cloud pays for it and for its reviews. What the user has set stays.
func cacheEnv(env []string, session sources, args []string) []string {
	isKnown := givenFlag(args, "--setting-sources") == "" // else a source that pays here may not count there
	if !isKnown || !session.areKeyed(env, args) {
		return env
	}
	switch session.value(env, "env."+attributionVariable) {
	case "":
		return setEnv(env, attributionVariable, "0", cacheVariable, attributionLeftOut)
	case "0":
		return setEnv(env, cacheVariable, "1")
	}
	return env
}

// withoutLaunch returns env, a terminal's, without what the launch of another session has left in it.
func withoutLaunch(env []string) []string {
	env = withoutCacheVariables(env)
	if lookupEnv(env, providerVariable) != "" {
		env = without(env, ofAPI)
	}
	return without(env, ofLaunch)
}

// withoutRefusedKey returns env, a hook's, without a key that the user has not approved for interactive
// sessions: a reviewer would use it without asking, and it would pay. A provider's key stays.
func withoutRefusedKey(d dirs, env []string) []string {
	key := lookupEnv(env, keyVariable)
	isInteractive := lookupEnv(env, entrypointVariable) == "cli"
	if key == "" || !isInteractive || lookupEnv(env, providerVariable) != "" || readAccount(d).allows(key) {
		return env
	}
	return setEnv(env, keyVariable, "")
}

// areKeyed reports whether a key, a token or a cloud pays for such a session, and not a login.
func (s sources) areKeyed(env, args []string) bool {
	isSet := func(name string) bool { return isTrue(s.value(env, "env."+name)) }
	usesCloud := isSet("CLAUDE_CODE_USE_BEDROCK") || isSet("CLAUDE_CODE_USE_VERTEX") ||
		isSet("CLAUDE_CODE_USE_FOUNDRY")
	key := s.value(env, "env."+keyVariable)
	isPrinted := givenFlag(args, "-p", "--print") != ""
	return s.value(env, "env."+tokenVariable) != "" || s.value(env, helperKey) != "" || usesCloud ||
		key != "" && (isPrinted || s.account.allows(key))
}

// scrubVariable, if true, has Claude Code keep the keys of the environment from its hooks, and so from a
// reviewer, which reads those of settings files itself (2.1.280 to 2.1.332).
const scrubVariable = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"

// keptFromHooks returns what pays for such a session, but not for a reviewer, and what to do; else "".
func (s sources) keptFromHooks(d dirs, env, args []string) (what, hint string) {
	isOfEnv := func(name string) bool {
		return lookupEnv(env, name) != "" && s.value(nil, "env."+name) == ""
	}
	for _, name := range []string{tokenVariable, keyVariable} {
		if isOfEnv(name) && isTrue(s.value(env, "env."+scrubVariable)) {
			return name + " and " + scrubVariable, "set " + scrubVariable + " to 0"
		}
	}
	_, noLogin := os.Stat(filepath.Join(d.claude, ".credentials.json")) // on macOS a login is in no file
	if isOfEnv(oauthVariable) && noLogin != nil && runtime.GOOS != "darwin" &&
		s.account.at(primaryKey).variable() == "" && !s.areKeyed(env, args) {
		return oauthVariable + " as the only login", "log in, with /login in:\nclaude"
	}
	return "", ""
}

// tellsCost is the first version that tells what a review alone has cost (2.1.332; not 2.1.280).
const tellsCost = "2.1.329"

// budgetFails reports whether a request has a budget that does not hold, because Claude Code tells no cost:
// it knows no price of a provider's models, or it is too old to tell any.
func (c *configuration) budgetFails(env environ) bool {
	if c.Supervisor.MaxBudgetUSD == 0 {
		return false
	}
	claude, _ := reviewersClaude(env) // without one there is no version
	version, _, _ := askVersion(claude, env, "")
	hasProvider := c.Supervisor.Provider != "" || env.get(providerVariable) != ""
	return hasProvider || olderThan(version, tellsCost)
}

// versionPatience bounds the wait for claude --version: 10 to 100 ms, and a hook has 10 s. Tests set it.
var versionPatience = 5 * time.Second

var versionAnswer = lazyRegexp(`([0-9]+\.[0-9]+\.[0-9]+\S*) \(Claude Code\)`)

// askVersion asks the claude at that path for its version in dir, "" for the current directory. said is its
// answer in words. Another program has no version. The error is that claude can't be started.
func askVersion(claude string, env environ, dir string) (version, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude, "--version")
	cmd.Dir = dir
	cmd.Env = reviewerEnv(env)  // some versions refuse to run inside another claude
	cmd.WaitDelay = time.Second // what it leaves running may hold its stdout
	output, err := cmd.CombinedOutput()
	said = oneLine(string(output))
	if answer := versionAnswer().FindStringSubmatch(said); answer != nil {
		return answer[1], claude + " is version " + answer[1], nil
	} else if ctx.Err() != nil {
		return "", fmt.Sprintf("%s did not answer --version within %v", claude, versionPatience), nil
	} else if cmd.Process == nil {
		err = fmt.Errorf("starting %s: %w", claude, err)
		return "", err.Error(), err
	} else if err != nil && said == "" {
		said = err.Error()
	}
	said = fmt.Sprintf("%s is not Claude Code: to --version it says %q", claude, said)
	if cmd.ProcessState.ExitCode() == 126 { // a script says so that it can't start it
		return "", said, errors.New(said)
	}
	return "", said, nil
}

// olderThan reports whether a version is older than another. 2.1.331-dev.7 is 2.1.331; "" is never older.
func olderThan(version, other string) bool {
	number := func(v string) (n int) {
		v, _, _ = strings.Cut(v, "-")
		for _, part := range strings.SplitN(v, ".", 3) {
			value, _ := strconv.Atoi(part)
			n = n*10000 + value
		}
		return n
	}
	return version != "" && number(version) < number(other)
}
