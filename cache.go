package main

// Which way a reviewer is asked: with the agent's prompt cache, where that costs less and nothing stands in the way, or with a
// prompt and a schema of its own. docs/cost.md has the figures.

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// cacheLeast is how many tokens the agent's last request has where its prompt cache pays: below that the reviewer's own prompt,
// which is served from the cache of the review before, costs less (docs/cost.md).
const cacheLeast = 40_000

// oldestAlike is the first version seen where a review of an interactive session has its tools and its system prompt: up to
// 2.1.280 it has those of --print, and finds nothing in the agent's cache.
const oldestAlike = "2.1.329"

// sharesCache tells whether the reviewer is asked with the agent's prompt cache, without a prompt and a schema of its own. What
// stands in the way is asked anew each time, but for what a launch has found out; launched tells that there was one. d is of
// the session's project.
func sharesCache(d dirs, config *config, r *review, launched bool) bool {
	if own := config.Supervisor.KeepCache; own != nil {
		return *own
	}
	return launched && os.Getenv(cacheVariable) == "1" && r.request.context >= cacheLeast &&
		!(isInteractive(os.Environ()) && olderThan(r.request.version, oldestAlike)) &&
		hasSessionsProvider(config) && (r.config.Model == "" || r.config.Model == r.request.model) &&
		serversObstacle(d, sources(d, config, nil), r.dirs...) == ""
}

// hasSessionsProvider tells whether the reviewer asks the API that the session of this hook does.
func hasSessionsProvider(config *config) bool {
	own := config.Supervisor.Provider
	return own == "" || own == os.Getenv(providerVariable)
}

// modelVariable is the model that a variable or one of the settings files names for all sessions.
func modelVariable(sources []source) string {
	model := os.Getenv("ANTHROPIC_MODEL")
	for _, s := range sources {
		model = cmp.Or(s.values["env.ANTHROPIC_MODEL"], model)
	}
	return model
}

// cacheEnv has reviews of a session with these sources and arguments take the conversation from its prompt cache where they can.
// What the user has set stays.
func cacheEnv(env []string, config supervisorConfig, sources []source, args []string) []string {
	if keyPays(sources, env, args) && lookupEnv(env, attributionVariable) == "" && (config.KeepCache == nil || *config.KeepCache) {
		env = setEnv(env, attributionVariable, "0", lineVariable, "0")
	}
	if cacheObstacle(sources, env, args) == "" {
		env = setEnv(env, cacheVariable, "1")
	}
	return env
}

// keyPays tells whether a key pays for the session and for its reviews, which have neither its --settings nor its
// --setting-sources.
func keyPays(sources []source, env, args []string) bool {
	reviewers := slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.name == argumentSource })
	return givenFlag(args, "--setting-sources") == "" && paysByKey(sources, env, args) && paysByKey(reviewers, env, args)
}

// shapingFlags change the tools or the system prompt of a session, and its reviewer does not have them.
var shapingFlags = []string{"--append-system-prompt", "--append-system-prompt-file", "--system-prompt", "--system-prompt-file", "--tools", "--disallowedTools",
	"--disallowed-tools", "--disable-slash-commands", "--json-schema", "--agent", "--agents", "--mcp-config", "--strict-mcp-config", "--plugin-dir", "--plugin-url"}

// cacheObstacle says what keeps the reviews of a session with these sources, environment and arguments from taking the
// conversation from its prompt cache, "" for nothing: then a key, a token, a provider or a cloud pays for it.
func cacheObstacle(sources []source, env, args []string) string {
	line := lookupEnv(env, attributionVariable)
	for _, s := range sources {
		line = cmp.Or(s.values["env."+attributionVariable], line)
	}
	switch flag := givenFlag(args, shapingFlags...); {
	case !keyPays(sources, env, args):
		return "a login pays for the session, which is billed by a line that stands in the way"
	case line != "0":
		return attributionVariable + " leaves the line that stands in the way"
	case flag != "":
		return flag + " gives the session what a reviewer does not have"
	}
	return ""
}

// serversObstacle names where MCP servers are set that Claude Code would start in one of places for a reviewer that has the agent's
// tools, "" for nowhere.
func serversObstacle(d dirs, sources []source, places ...string) string {
	type file struct {
		McpServers map[string]any
		Projects   map[string]file
	}
	in := func(path string) (f file) {
		text, _ := readUserFile(path)
		_ = json.Unmarshal(unmarked(text), &f) // what can't be read starts none
		return f
	}
	paths := []string{accountSource(d).name, filepath.Join(filepath.Dir(managedSettings), "managed-mcp.json")}
	for _, at := range places {
		for ; at != filepath.Dir(at); at = filepath.Dir(at) {
			paths = append(paths, filepath.Join(at, ".mcp.json"))
		}
	}
	for _, path := range paths {
		f := in(path)
		n := len(f.McpServers)
		for project, its := range f.Projects {
			if slices.ContainsFunc(places, func(dir string) bool { return inside(dir, project) }) {
				n += len(its.McpServers)
			}
		}
		if n > 0 {
			return path
		}
	}
	for _, s := range sources {
		if s.values[pluginsKey] != "" {
			return s.name
		}
	}
	return ""
}
