package main

// Which way a reviewer is asked: with the agent's prompt cache, where that costs less and can be had, or with
// a prompt and a schema of its own. docs/cost.md has the figures.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// cacheLeast is how many tokens the agent's last request has where its prompt cache pays: below that the
// reviewer's own costs less.
const cacheLeast = 40_000

// oldestAlike is the first version seen where a review of an interactive session has its tools and its system
// prompt: up to 2.1.280 it has those of --print, and finds nothing in the agent's cache.
const oldestAlike = "2.1.329"

// sharesCache reports whether the reviewer is asked with the agent's prompt cache. launched tells that there
// was a supervised launch, which has found out a part of it (cacheEnv). d is of the session's project.
func sharesCache(d dirs, config *configuration, r *reviewCall, launched bool) bool {
	if own := config.Supervisor.KeepCache; own != nil {
		return *own
	}
	return launched && os.Getenv(cacheVariable) != "" && r.request.context >= cacheLeast &&
		!(isInteractive(os.Environ()) && olderThan(r.request.version, oldestAlike)) &&
		hasSessionsProvider(config) && (r.config.Model == "" || r.config.Model == r.request.model) &&
		!startsServers(d, readSources(d, config, nil), r.dirs...)
}

// hasSessionsProvider reports whether the reviewer asks the API that the session of this hook does.
func hasSessionsProvider(config *configuration) bool {
	own := config.Supervisor.Provider
	return own == "" || own == os.Getenv(providerVariable)
}

// shapingFlags give a session tools, a system prompt or settings that its reviewer does not have.
var shapingFlags = []string{"--append-system-prompt", "--append-system-prompt-file", "--system-prompt", "--system-prompt-file", "--tools",
	"--disallowedTools", "--disallowed-tools", "--disable-slash-commands", "--json-schema", "--agent", "--agents", "--mcp-config",
	"--strict-mcp-config", "--plugin-dir", "--plugin-url", "--setting-sources"}

// cacheEnv has reviews of a session with these sources and arguments take the conversation from its prompt
// cache, where a key, a token, a provider or a cloud pays for it and for its reviews, which do not have its
// --settings. What the user has set stays.
func cacheEnv(env []string, config supervisorConfig, sources []settingsSource, args []string) []string {
	reviewers := slices.DeleteFunc(slices.Clone(sources), func(s settingsSource) bool { return s.name == argumentSource })
	if givenFlag(args, shapingFlags...) != "" || !paysByKey(sources, env, args) || !paysByKey(reviewers, env, args) {
		return env
	}
	switch valueIn(sources, env, "env."+attributionVariable) {
	case "":
		if config.KeepCache == nil || *config.KeepCache {
			return setEnv(env, attributionVariable, "0", cacheVariable, lineLeftOut)
		}
	case "0":
		return setEnv(env, cacheVariable, "1")
	}
	return env
}

// startsServers reports whether Claude Code would start MCP servers in one of places for a reviewer that has
// the agent's tools.
func startsServers(d dirs, sources []settingsSource, places ...string) bool {
	paths := []string{accountSource(d).name, filepath.Join(filepath.Dir(managedSettings), "managed-mcp.json")}
	for _, at := range places {
		for ; at != filepath.Dir(at); at = filepath.Dir(at) {
			paths = append(paths, filepath.Join(at, ".mcp.json"))
		}
	}
	for _, path := range paths {
		type servers struct{ McpServers map[string]any }
		var file struct {
			servers
			Projects map[string]servers
		}
		text, _ := readUserFile(path)
		_ = json.Unmarshal(unmarked(text), &file) // what can't be read starts none
		for project, its := range file.Projects {
			if len(its.McpServers) > 0 && slices.ContainsFunc(places, func(dir string) bool { return inside(dir, project) }) {
				return true
			}
		}
		if len(file.McpServers) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(sources, func(s settingsSource) bool { return s.values[pluginsKey] != "" })
}
