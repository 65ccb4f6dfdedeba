package main

// Whether a reviewer is asked with the agent's prompt cache, or with a prompt and a schema of its own:
// the guide has the figures (Cost). Whether the cache serves is not foretold: a first review that asks with
// it shows.

import "slices"

// cacheLeast is the size of the agent's last request, in tokens, from which on its prompt cache pays.
const cacheLeast = 40_000

// sharesCache reports whether the reviewer is asked with the agent's prompt cache: where ccc launched the
// session, whose provider the reviewer has, a key pays (cacheEnv), the conversation is long enough, the
// reviewer has the session's model, and no earlier review of the session missed the cache or gave no verdict.
func sharesCache(
	config *configuration, talk conversation, past *history, launched bool, env environ,
) bool {
	configured := config.Supervisor.Model
	hasAgentsModel := configured == "" || configured == talk.model
	hasFailed := func(r review) bool { return r.CacheMissed || r.NoVerdict }
	return launched && env.get(cacheVariable) != "" && talk.context >= cacheLeast && hasAgentsModel &&
		!slices.ContainsFunc(past.Reviews, hasFailed)
}

// cacheEnv returns env, a launch's, with what lets reviews of the session use its prompt cache, if a key, a
// token, a provider or a cloud pays for it and for its reviews. What the user has set stays.
func cacheEnv(env []string, session sources, args []string) []string {
	reviewers := session
	reviewers.argument = source{}                         // which a reviewer is not given
	isKnown := givenFlag(args, "--setting-sources") == "" // else a source that pays here may not count there
	if !isKnown || !session.areKeyed(env, args) || !reviewers.areKeyed(env, args) {
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
