package main

// Whether a reviewer is asked with the agent's prompt cache, or with a prompt and a schema of its own:
// docs/cost.md has the figures.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// cacheLeast is the size of the agent's last request, in tokens, from which on its prompt cache pays.
const cacheLeast = 40_000

// oldestAlike is the first version seen where a review of an interactive session has its tools and system
// prompt; 2.1.280 has not.
const oldestAlike = "2.1.329"

// sharesCache reports whether the reviewer is asked with the agent's prompt cache: where ccc.json says so, or
// where ccc launched the session, cacheEnv found that a cache can be had, and nothing else stands in the way.
func sharesCache(sources []settingsSource, config *configuration, r *reviewCall, launched bool) bool {
	if forced := config.Supervisor.KeepCache; forced != nil {
		return *forced
	}
	hasItsTools := !isInteractive(os.Environ()) || !olderThan(r.request.version, oldestAlike)
	hasItsModel := r.config.Model == "" || r.config.Model == r.request.model
	return launched && os.Getenv(cacheVariable) != "" && r.request.context >= cacheLeast && hasItsTools &&
		hasItsModel && hasSessionsProvider(config) && !startsServers(sources, r.dirs)
}

// hasSessionsProvider reports whether the reviewer asks the API that the session of this hook does.
func hasSessionsProvider(config *configuration) bool {
	own := config.Supervisor.Provider
	return own == "" || own == os.Getenv(providerVariable)
}

// shapingFlags give a session tools, a system prompt or settings that its reviewer does not have.
var shapingFlags = []string{"--append-system-prompt", "--append-system-prompt-file", "--system-prompt",
	"--system-prompt-file", "--tools", "--disallowedTools", "--disallowed-tools", "--disable-slash-commands",
	"--json-schema", "--agent", "--agents", "--mcp-config", "--strict-mcp-config", "--plugin-dir",
	"--plugin-url", "--setting-sources"}

// cacheEnv returns env, a launch's, with what lets reviews of the session use its prompt cache, if a key, a
// token, a provider or a cloud pays for it and for its reviews. What the user has set stays.
func cacheEnv(env []string, config supervisorConfig, sources []settingsSource, args []string) []string {
	isArgument := func(s settingsSource) bool { return s.name == argumentSource }
	reviewers := slices.DeleteFunc(slices.Clone(sources), isArgument)
	pays := paysByKey(sources, env, args) && paysByKey(reviewers, env, args)
	if givenFlag(args, shapingFlags...) != "" || !pays {
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
// the agent's tools. sources are those of readSources.
func startsServers(sources []settingsSource, places []string) bool {
	account := sources[0].name
	var ofProjects struct{ Projects map[string]json.RawMessage }
	text, _ := readUserFile(account)
	_ = json.Unmarshal(unmarked(text), &ofProjects)
	managed := readSource(filepath.Join(filepath.Dir(managedSettings), "managed-mcp.json"))
	found := append(slices.Clone(sources), managed)
	for _, dir := range places {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			found = append(found, readSource(filepath.Join(dir, ".mcp.json")),
				sourceOf(account, "", ofProjects.Projects[dir], nil))
		}
	}
	return slices.ContainsFunc(found, func(s settingsSource) bool { return s.values[pluginsKey] != "" })
}
