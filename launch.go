package main

// The plan of a launch, which writes nothing: what is asked for, and what is refused as it would not work.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A launch is the plan of a claude: what a command line, an environment and settings ask for.
type launch struct {
	dirs       dirs
	config     *configuration
	supervisor bool
	provider   *provider // nil for none
	args       []string  // claude's
	sources    sources   // for a claude with these arguments
	claude     string    // the program
	version    string    // of a supervised one, "" if it tells none
	env        environ
	untried    error // why the hooks can't be tried

	// What it leaves, and takes back if it is refused.
	written   []writtenFile
	made      []string // what was missing: directories, and the lock
	unwritten []error  // why files that it can do without could not be written
	newest    string   // the token of the newest launch before this one
}

// plan reads the command line and Claude Code's settings, and refuses what would not work.
func (l *launch) plan(args []string) error {
	steps := []func() error{l.chooseEnvironment, l.checkProvider, l.chooseClaude}
	err := l.parse(args)
	if l.supervisor {
		steps = append(steps, l.refuse, l.checkReviewer, l.checkPrompt, l.checkFiles, l.checkVersion)
	}
	for _, step := range steps {
		if err == nil {
			err = step()
		}
	}
	return err
}

// parse splits the command line into ccc's part and claude's. Claude's begins with a prompt at the latest: a
// word with white space, or with a character that is not ASCII.
func (l *launch) parse(args []string) error {
	// Inside a session supervisorVariable is that session's, and not meant for this launch.
	l.supervisor = l.dirs.env.get(supervisorVariable) == "1" && l.dirs.env.get(launchVariable) == ""
	isOfPrompt := func(r rune) bool { return unicode.IsSpace(r) || r > unicode.MaxASCII }
	rest := args
	for ; len(rest) > 0; rest = rest[1:] {
		word := rest[0]
		isPrompt := l.config.Providers[word] == nil && strings.ContainsFunc(word, isOfPrompt)
		if word == supervisorFlag {
			l.supervisor = true
		} else if l.provider != nil || strings.HasPrefix(word, "-") || isPrompt {
			break
		} else if l.provider = l.config.Providers[word]; l.provider == nil {
			return unknownWord(word, l.config)
		}
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	} else if slices.Contains(untilDashes(rest), supervisorFlag) {
		err := errors.New(supervisorFlag + " is a flag of ccc's: put it before claude's arguments")
		return failure{code: 2, err: err}
	}
	l.args = rest
	l.sources = readSources(l.dirs, rest)
	isCommand := len(rest) > 0 && slices.Contains(sessionless, rest[0])
	if isCommand || givenFlag(rest, "--version", "-v", "--help", "-h") != "" {
		l.supervisor = false
	}
	return nil
}

// sessionless are the subcommands of claude, by the --help of 2.1.280 and 2.1.332. They start no session, or
// one of its background service, which is nobody's launch.
var sessionless = strings.Fields("agents attach auth auto-mode doctor gateway import install logs mcp " +
	"plugin plugins project purge respawn rm setup-token stop kill ultrareview update upgrade")

// unknownWord is the error of a first word that ccc does not know. It lists the words that there are.
func unknownWord(word string, c *configuration) error {
	if isSubcommand(word) {
		err := fmt.Errorf("%q goes without %s: ccc %[1]s", word, supervisorFlag)
		return failure{code: 2, err: err}
	}
	providers := cmp.Or(strings.Join(c.providerNames(), ", "), "none; see ccc help config")
	return failure{code: 2, err: fmt.Errorf("%q is no provider (%s) and no subcommand (%s); "+
		"a prompt needs quotes; to pass the word on to claude: %s", word, providers,
		strings.Join(subcommands, ", "), commandLine([]string{"--", word}))}
}

// chooseEnvironment makes claude's environment: ccc's own, each variable once, with the provider's values,
// without what another session has left in this terminal. Paths are absolute: hooks run in other directories.
func (l *launch) chooseEnvironment() (err error) {
	env := (&exec.Cmd{Env: l.dirs.env}).Environ()
	name := "" // of the provider
	if l.provider == nil {
		env = withoutLaunch(env)
	} else if env, err = withProvider(withoutCacheVariables(env), l.provider); err != nil {
		return err
	} else {
		name = l.provider.name
	}
	for _, variable := range []string{configDirVariable, workDirVariable, claudeDirVariable} {
		value := lookupEnv(env, variable)
		if value != "" { // set to nothing, claude takes the current directory (2.1.280, 2.1.332)
			value = absoluteIn(l.dirs.here, value)
		}
		env = setEnv(env, variable, value)
	}
	// What a reviewer needs is for every session: it may be switched on later.
	l.env = setEnv(without(env, ofLaunch), providerVariable, name, settingsVariable, l.givenSettings(),
		addDirsVariable, strings.Join(l.addDirs(), "\n"),
		betasVariable, strings.Join(allValues(l.args, "--betas"), "\n"))
	if !l.supervisor {
		return nil
	}
	l.env = cacheEnv(l.env, l.sources, l.args)
	l.env = setEnv(l.env, supervisorVariable, "1", launchVariable, newLaunchToken())
	isOthers := l.dirs.env.get(launchVariable) != "" // so the cap is another session's
	isCapped := l.env.get(blockCapVariable) != "" && !isOthers
	if !isCapped && !l.config.Supervisor.Observe { // which blocks no stop
		l.env = setEnv(l.env, blockCapVariable, strconv.Itoa(l.config.Supervisor.MaxIterations))
	}
	return nil
}

// checkProvider returns why claude can't be run against its provider, or with its --settings.
func (l *launch) checkProvider() error {
	if err := l.sources.argument.err; err != nil && (l.supervisor || l.provider != nil) {
		return failure{code: 2, err: fmt.Errorf("%s: %w", argumentSource, err)}
	}
	err := l.sources.conflict(l.dirs, l.dirs.env, l.provider, hintNoProvider)
	if err == nil && l.provider != nil && givenFlag(l.args, "--bg", "--background") != "" {
		const format = "a background session calls the API that its service was started with, not that of %s"
		return failure{code: 2, err: fmt.Errorf(format, l.provider.name),
			hint: "start it without --bg, or without a provider"}
	}
	return err
}

// chooseClaude finds the program, and passes its path on in env: a settings file may set another PATH for
// hooks.
func (l *launch) chooseClaude() (err error) {
	l.claude, err = findClaude(l.dirs.env)
	l.env = setEnv(l.env, claudeVariable, l.claude, starterVariable, strconv.Itoa(os.Getpid()))
	return err
}

// checkVersion asks claude for its version, and refuses an old one. One that tells none can't be tried.
func (l *launch) checkVersion() error {
	version, said, err := askVersion(l.claude, l.dirs.env, "")
	if l.version = version; version == "" {
		l.untried = errors.New(said)
	}
	if err != nil || !olderThan(version, oldestClaude) {
		return err
	}
	hint := otherClaude(l.dirs.env)
	if hint == installClaude {
		hint = "claude update, or if npm has installed it:\n" + hint
	}
	err = fmt.Errorf("%s, version %s, is older than %s", l.claude, version, oldestClaude)
	return failure{code: 2, err: err, hint: hint}
}

// refuse returns why nothing of the session would be reviewed. It tells what a trial can't: a trial has no
// conversation and no project settings. Flags and variables are those of 2.1.280 and 2.1.332.
func (l *launch) refuse() (err error) {
	const (
		elsewhere = "claude would run that session elsewhere, not below this launch"
		forgetful = "claude would keep no conversation, so nothing could be reviewed"
		astray    = "claude would look for hooks and sessions elsewhere than ccc"
		hookless  = "claude would run no hooks, so nothing would be reviewed"
		switchOn  = "run ccc --supervisor once, for the hooks; then type /supervisor on in that session"
	)
	given := func(flags ...string) string { return givenFlag(l.args, flags...) }
	refuse := func(what, effect, hint string) {
		if what != "" && err == nil {
			err = failure{code: 2, err: fmt.Errorf("--supervisor with %s: %s", what, effect), hint: hint}
		}
	}
	refuseSetting := func(in source, key, effect string) {
		what, removal := in.setting(key)
		refuse(what, effect, removal)
	}
	refuse(given("--bg", "--background", "--tmux"), elsewhere, switchOn)
	refuse(given("--cloud", "--remote", "--environment", "--desktop"), elsewhere, "")
	refuse(given("--no-session-persistence"), forgetful, "")
	const skip = "env." + skipVariable
	if isTrue(l.sources.value(l.env, skip)) {
		refuseSetting(l.sources.with(skip), skip, forgetful)
	}
	for _, variable := range []string{"HOME", claudeDirVariable, configDirVariable, workDirVariable} {
		key := "env." + variable
		claudes := l.sources.value(l.env, key)
		ours := l.dirs.env.get(variable)
		if absoluteIn(l.dirs.here, claudes) != absoluteIn(l.dirs.here, ours) {
			refuseSetting(l.sources.with(key), key, astray)
		}
	}
	names, isChosen := lastValue(l.args, "--setting-sources")
	if isChosen && !slices.Contains(strings.Split(strings.ReplaceAll(names, " ", ""), ","), "user") {
		refuse("--setting-sources "+names+", without user", hookless, "")
	}
	for _, in := range l.sources.project {
		if in.at(disableKey).raw == "true" { // even if another says false: the client may drop that
			refuseSetting(in, disableKey, hookless)
		}
	}
	if given("-p", "--print") != "" && given("--json-schema") != "" {
		refuse("-p and --json-schema", "claude would end the turn, whatever a review says",
			"ask for the JSON in the prompt")
	}
	if _, isSessions := l.config.reviewersProvider(l.env.get(providerVariable)); isSessions {
		kept, hint := l.sources.keptFromHooks(l.dirs, l.env, l.args)
		refuse(kept, "claude would keep it from the reviewer", hint)
	}
	return err
}

// checkReviewer returns why a reviewer with a provider of its own could not work in this session.
func (l *launch) checkReviewer() error {
	own, _ := l.config.reviewersProvider(l.env.get(providerVariable))
	err := readSources(l.dirs, nil).conflict(l.dirs, l.env, own, hintNoReviewers)
	if err != nil {
		err = fmt.Errorf("the reviewer: %w", err)
	}
	return err
}

func (l *launch) checkPrompt() error {
	source, _, err := supervisorPrompt(l.dirs.here, l.dirs.ccc)
	return withFileHint(err, editHint(source))
}

// files are those that a launch keeps beside settings.json, the prompt unless only the project has one.
func (l *launch) files() []keptFile {
	files := []keptFile{keptCommand(l.dirs)}
	_, projectErr := os.Lstat(filepath.Join(l.dirs.here, promptName))
	if _, globalErr := os.Lstat(l.dirs.promptFile()); projectErr != nil || globalErr == nil {
		files = append(files, keptPrompt(l.dirs))
	}
	return files
}

// checkFiles returns why what is missing can't be added to settings.json.
func (l *launch) checkFiles() error {
	if self := l.dirs.hookPath(); goRunFolder().MatchString(self) {
		err := fmt.Errorf("go run removes the program that the hooks would call, %s", self)
		return withHint(err, "go install . && ccc --supervisor")
	}
	_, err := readInstallation(l.dirs)
	if err == nil {
		_, _, err = planSettings(l.dirs, l.config)
	}
	return err
}

// doubled returns an error if another settings file calls a ccc, too, in other words than settings.json: each
// stop is then reviewed twice at once. Entries of the same words Claude Code runs once (2.1.280, 2.1.332).
func (l *launch) doubled() error {
	self := l.dirs.hookPath()
	isOther := func(entry ownEntry) bool { return entry.value.at("command").text != hookCommand(self) }
	lines, edit := l.sources.listed(func(in source) (events []string) {
		for _, wanted := range wantedHooks("", 0) {
			entries := ownEntries(&in.settings, wanted.event, self)
			if in.name != l.sources.user.name && slices.ContainsFunc(entries, isOther) {
				events = append(events, "hooks."+wanted.event)
			}
		}
		return events
	})
	if lines == "" {
		return nil
	}
	const format = "%s is not the only settings file that calls ccc, " +
		"so each stop is reviewed twice at once:%s"
	err := fmt.Errorf(format, l.dirs.settingsFile(), lines)
	return withHint(err, "leave it to one of them"+edit)
}

func (l *launch) addDirs() []string {
	absolute := func(dir string) string { return absoluteIn(l.dirs.here, dir) }
	return mapped(allValues(l.args, "--add-dir"), absolute)
}

// givenSettings returns the value of --settings, an absolute path or JSON, "" for none.
func (l *launch) givenSettings() string {
	value, _ := lastValue(l.args, argumentSource)
	if value == "" || isInline(value) {
		return value
	}
	return absoluteIn(l.dirs.here, value)
}
