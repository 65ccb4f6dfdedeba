package main

// The reviewer's call, prepared: which provider, model and settings the reviewer has, what it may read and
// run, what it is asked, and the flags that say so. None of its tools edits a file, and no hook runs in it.
// Whether the agent's prompt cache can be used is not predicted; the first review that tries it shows.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// givenSuffix ends the name of the file with the settings that a reviewer is given.
const givenSuffix = "-settings"

type reviewerCall struct {
	claude     string // the path of its program
	env        []string
	session    string         // the session to fork
	dir        string         // where the reviewer runs: the working tree
	addDirs    []string       // what else it may read
	shares     bool           // the agent's prompt cache: its instructions are in input then
	prompt     string         // its instructions
	tryCommand string         // what runs a command in a copy, "" if nothing does
	betas      []string       // the session's, if the reviewer asks the same API
	given      map[string]any // what the session's --settings has for the reviewer, nil for none
	givenFile  string         // the path of a file for the settings with that: everybody can read arguments
	config     supervisorConfig
	input      string      // what it is asked
	output     io.Writer   // takes each valid line of the stream, unchanged
	warn       func(error) // takes what goes wrong without ending the review
}

// call returns the call of the reviewer, and who is asked. An error means that no reviewer can be asked.
func (s *supervision) call(ctx context.Context, r review, of judgedWork) (
	c *reviewerCall, who reviewerFacts, err error,
) {
	c, who, err = s.chooseReviewer(r.occasion(), of)
	if err != nil {
		return nil, who, err
	}
	c.givenFile = s.session.runningFile(r.ID) + givenSuffix
	offer, err := s.offerCopies(ctx, c, r.ID)
	if err != nil {
		return nil, who, err
	}
	who.NoCopy = offer.noCopy
	who.Rule = offer.rule
	who.Way = "own"
	of.talk.noteReviews(s.past)
	request := reviewRequest{of: of, copies: offer, place: s.place, refusal: s.past.last.refusal,
		iteration: max(r.Iteration, 1), limit: max(r.Limit, 1), // if it counts for no limit, 1/1
		seconds: int(time.Until(r.Deadline).Round(time.Second).Seconds())}
	c.input = request.requestText(c.shares)
	if c.shares { // no flag may change the system prompt then
		who.Way = "cache"
		c.input = c.prompt + "\n\n" + say(verdictForm) + "\n\n" + c.input
	}
	return c, who, nil
}

// chooseReviewer returns the call with all that is known without a copy and a request: the instructions, the
// program, its settings, its environment, and the model.
func (s *supervision) chooseReviewer(on *occasion, of judgedWork) (
	c *reviewerCall, who reviewerFacts, err error,
) {
	source, prompt, err := supervisorPrompt(s.place.project, s.dirs.ccc)
	if err != nil {
		return nil, who, err
	}
	who.PromptSource = source
	if olderThan(of.talk.version, oldestClaude) {
		const update = "claude update / " + installClaude
		return nil, who, errors.New(say(clientTooOld, of.talk.version, oldestClaude, update))
	}
	claude, err := reviewersClaude(s.dirs.env)
	if err != nil {
		return nil, who, err
	}
	who.Provider = cmp.Or(s.config.Supervisor.Provider, s.dirs.env.get(providerVariable))
	if who.Provider == noProvider {
		who.Provider = ""
	}
	env, err := callEnv(s.reviewersDirs(), s.config, s.launched())
	if err != nil {
		return nil, who, err
	}
	_, ofSession := s.reviewersProvider()
	given, err := givenSettings(s.dirs.env.get(settingsVariable), !ofSession)
	if err != nil {
		return nil, who, err
	}
	c = &reviewerCall{claude: claude, session: s.session.id, dir: s.place.root,
		addDirs: s.readable(of.talk.dirs), prompt: prompt, env: env, given: given,
		config: s.config.Supervisor, output: io.Discard, warn: s.warnReview}
	if !on.isByHand && c.config.MaxBudgetUSD > 0 {
		c.config.MaxBudgetUSD = s.past.budgetLeft(c.config.MaxBudgetUSD)
	}
	if ofSession { // another does not know its model, and a fork may have another (2.1.280, 2.1.332)
		c.config.Model = cmp.Or(c.config.Model, of.talk.model)
		c.betas = strings.Fields(s.dirs.env.get(betasVariable))
	}
	mayShare := s.launched() && ofSession
	c.shares = sharesCache(s.config.Supervisor.Model, of.talk, s.past, mayShare, s.dirs.env)
	who.Model = cmp.Or(c.config.Model, lookupEnv(env, "ANTHROPIC_MODEL"))
	if !ofSession || of.talk.model != "" && who.Model != of.talk.model {
		who.Judge = strings.TrimSpace(who.Provider + " " + who.Model)
	}
	return c, who, nil
}

// givenSettings reads what a session's --settings, a path or JSON, has for its reviewer. A reviewer with a
// provider of its own gets nothing that names an API, a key or a model.
func givenSettings(value string, hasOwnProvider bool) (given map[string]any, err error) {
	if value == "" {
		return nil, nil
	}
	text := []byte(value)
	if !isInline(value) {
		text, err = readUserFile(value)
	}
	switch {
	case err == nil && text == nil:
		err = fmt.Errorf("%s: %w", value, fs.ErrNotExist)
	case err == nil && !isBlank(text): // claude takes a blank file, and a byte order mark (2.1.280, 2.1.332)
		err = json.Unmarshal(unmarked(text), &given)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argumentSource, err)
	}
	if hasOwnProvider {
		for _, key := range []string{helperKey, "env", "model"} {
			delete(given, key)
		}
	}
	return given, nil
}

// cacheLeast is how many tokens the agent's last call of the API must have for its prompt cache to pay.
const cacheLeast = 40_000

// sharesCache reports whether the reviewer is asked with the agent's prompt cache. It is if it may (ccc has
// launched the session, and the reviewer has its provider), a key pays (cacheEnv), the conversation is long
// enough, model is the agent's or "", and no earlier review of the session missed the cache or gave no
// verdict.
func sharesCache(model string, talk conversation, past *history, mayShare bool, env environ) bool {
	hasAgentsModel := model == "" || model == talk.model
	hasFailed := func(r review) bool { return r.CacheMissed || r.NoVerdict }
	return mayShare && env.get(cacheVariable) != "" && talk.context >= cacheLeast && hasAgentsModel &&
		!slices.ContainsFunc(past.Reviews, hasFailed)
}

// readable returns what the reviewer may read beside its own directory: the launch's, the added, the project.
func (s *supervision) readable(added []string) (dirs []string) {
	launched := strings.Split(s.dirs.env.get(addDirsVariable), "\n")
	for _, dir := range slices.Concat(launched, added, []string{s.place.project}) {
		info, err := os.Stat(dir)
		isOther := dir != s.place.root && !slices.Contains(dirs, dir)
		if err == nil && info.IsDir() && filepath.IsAbs(dir) && isOther {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// offerCopies tries whether copies can be made. If they can, the reviewer may run commands in them, for the
// review with that id. The error says why nobody waits for the review any more.
func (s *supervision) offerCopies(ctx context.Context, c *reviewerCall, id string) (
	offer copyOffer, err error,
) {
	offer.homeIsReadOnly, offer.foreign, err = tryProbe(ctx, c.dir, c.env)
	if ended := context.Cause(ctx); ended != nil { // which is no reason why there is no copy, or no look
		return offer, ended
	}
	if s.place.Repository != "" {
		objects := lookupEnv(c.env, alternatesVariable) + ":" + alternate(s.place.objects())
		c.env = setEnv(c.env, alternatesVariable, strings.Trim(objects, ":"))
	}
	if err == nil {
		c.env = setEnv(c.env, tryVariable, filepath.Join(string(s.session.dir), s.session.id, id))
		offer.tryCommand = shellQuote(s.dirs.self) + " " + trySubcommand
	} else {
		offer = copyOffer{noCopy: whyNoCopy(err)}
		s.log("no copy to run commands in", "error", offer.noCopy)
	}
	offer.rule = s.bashRule()
	if offer.rule == "" {
		c.tryCommand = offer.tryCommand
	}
	return offer, nil
}

// reviewersDirs are the directories for the reviewer's claude, which reads the settings of the working tree.
func (s *supervision) reviewersDirs() dirs {
	d := s.dirs
	d.here = s.place.root
	return d
}

// bashRule says which rule of the user's keeps the reviewer from running anything, "" for none.
func (s *supervision) bashRule() string {
	d := s.reviewersDirs()
	given := []string{argumentSource, d.env.get(settingsVariable)}
	rule, file := readSources(d, given).bashRule()
	if rule == "" {
		return ""
	}
	return say(keptFromRunning, rule, file)
}

// flags returns the reviewer's flags, each with its values. If the agent's prompt cache is shared, none of
// them depends on the review: another value would miss the cache.
func (c *reviewerCall) flags() (flags [][]string) {
	allowed := c.config.AllowedTools
	isMCP := func(tool string) bool { return strings.HasPrefix(tool, "mcp__") }
	withMCP := slices.ContainsFunc(allowed, isMCP)
	if c.tryCommand != "" {
		allowed = append(slices.Clone(allowed), "Bash("+c.tryCommand+":*)")
	}
	closed := append([]string{c.dir}, c.addDirs...) // the sandbox would let it write there
	prompted := !c.shares
	budget := c.config.MaxBudgetUSD
	add := func(isWanted bool, flag string, values ...string) {
		if isWanted {
			flags = append(flags, append([]string{flag}, values...))
		}
	}
	flags = [][]string{{"--print"}, {"--fork-session"}, {"--resume", c.session}, {"--verbose"},
		{"--output-format", "stream-json"}}
	add(prompted, "--json-schema", verdictSchema())
	add(prompted, "--system-prompt", c.prompt)
	// A resumed session keeps its recorded system prompt, silently, unless this is off (2.1.280, 2.1.332).
	add(prompted, "--system-prompt-snapshot", "off")
	flags = append(flags, []string{"--no-session-persistence"},
		[]string{argumentSource, reviewerSettings(c.given, c.tryCommand, closed, withMCP)},
		[]string{"--permission-mode", reviewersPermissions})
	// Without it each review starts the user's MCP servers, whose tools a rule of the user's may let write.
	add(!withMCP, "--strict-mcp-config")
	add(c.config.Model != "", "--model", c.config.Model)
	add(len(c.betas) > 0, "--betas", c.betas...)
	add(len(c.addDirs) > 0, "--add-dir", c.addDirs...)
	add(len(allowed) > 0, "--allowedTools", allowed...)
	add(budget > 0, "--max-budget-usd", strconv.FormatFloat(budget, 'f', -1, 64))
	return flags
}

// reviewersPermissions is the reviewer's permission mode, which refuses what no rule allows. If scrubVariable
// is set, 2.1.280 takes ownPermissions, its own mode. It refuses the same, since nobody can be asked.
const reviewersPermissions, ownPermissions = "dontAsk", "default"

// asked is the call as it is kept: a comment with the source of the instructions and with the flags, in
// which the source takes the place of the text; after that the request as the reviewer gets it.
func (c *reviewerCall) asked(source string) string {
	flags := slices.Concat(c.flags()...)
	if at := slices.Index(flags, c.prompt); at >= 0 {
		flags[at] = source
	}
	quoted := redact(strings.Join(mapped(flags, shellQuote), " "))
	return fmt.Sprintf("<!-- %s\nclaude %s\n-->\n%s", source, quoted, c.input)
}

// askedTools have side effects. An ask rule refuses them, since nobody answers in a review, but keeps them
// in the list of tools: a changed list would miss the prompt cache.
var askedTools = []string{"CronCreate", "CronDelete", "EnterWorktree", "ExitWorktree", "Monitor",
	"ScheduleWakeup", "SendMessage", "Workflow"}

// reviewerSettings returns the settings of the reviewer's claude. No hook runs in it, ours included. None of
// its tools edits a file, whatever mode and rules there are: Edit, Write and NotebookEdit all heed Edit
// rules. Two slashes begin an absolute path. The pattern is //**/*: with //** each sandboxed command fails
// (2.1.329, 2.1.332). A rule by path leaves the list of tools as it is.
//
// The user may have switched on Claude Code's own sandbox. No copy can be made inside it, so command, unless
// it is "", runs outside. All other commands run inside. Being inside permits none of them, and none of them
// writes to the closed directories, whatever the user's rules allow (2.1.280, 2.1.332).
//
// given is what the session's own --settings has.
func reviewerSettings(given map[string]any, command string, closed []string, withMCP bool) string {
	asked := askedTools
	denied := []string{"Edit(//**/*)"}
	if !withMCP {
		asked = append(slices.Clone(asked), "mcp__*")
	}
	for _, dir := range closed {
		denied = append(denied, "Edit(/"+dir+"/**)")
	}
	sandbox := map[string]any{"autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": false}
	if command != "" {
		sandbox["excludedCommands"] = []string{command + ":*"}
	}
	return string(encodeJSON(merged(given, map[string]any{
		"disableAllHooks": true,
		"permissions": map[string]any{"deny": denied, "ask": asked,
			"disableBypassPermissionsMode": "disable"}, // a wrapper of claude may add it (2.1.280, 2.1.332)
		"sandbox": sandbox,
	})))
}

// merged joins two JSON values: members of objects, items of lists. Of all else the second counts.
func merged(first, second any) any {
	switch second := second.(type) {
	case map[string]any:
		object, _ := first.(map[string]any)
		object = maps.Clone(object)
		if object == nil {
			return second
		}
		for key, value := range second {
			object[key] = merged(object[key], value)
		}
		return object
	case []string:
		list, _ := first.([]any)
		list = slices.Clone(list)
		for _, item := range second {
			list = append(list, item)
		}
		return list
	}
	return second
}
