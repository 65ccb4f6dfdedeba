package main

// A launch of claude is refused before anything is written; only the trial of the hooks comes behind that.
// Then claude takes ccc's place.

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
	"syscall"
	"unicode"
)

// A launch is all that ccc has to know to start claude.
type launch struct {
	trial      // claude, with its arguments and environment
	config     *configuration
	sources    []settingsSource // for a claude with these arguments
	supervisor bool
	provider   *provider // nil for none
	untried    error     // why the hooks can't be tried
}

// startClaude replaces ccc by claude; it returns only with an error. It plans the launch before it writes: a
// launch that is refused leaves every file as it was.
func startClaude(args []string, env environ) (err error) {
	l := new(launch)
	if l.dirs, err = findDirs(env, ""); err != nil {
		return err
	}
	if l.config, err = loadConfig(l.dirs); err != nil {
		return err
	}
	l.config.use(env)
	if _, err := currentDir(); err != nil {
		return err
	}
	if err := l.plan(args); err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return err
	}
	if l.supervisor && l.untried == nil {
		if err := l.tryHooks(); errors.As(err, new(untriable)) {
			l.untried = err
		} else if err != nil {
			return err
		}
	}
	l.announce()
	err = syscall.Exec(l.claude, append([]string{l.claude}, l.args...), l.env)
	return failure{code: 126, err: fmt.Errorf("starting %s: %w", l.claude, err)}
}

// plan reads the command line and Claude Code's settings, and refuses what would not work.
func (l *launch) plan(args []string) (err error) {
	env := l.dirs.env
	if err = l.parse(args); err != nil {
		return err
	}
	if l.claude, err = findClaude(env); err != nil {
		return err
	}
	if l.env, err = l.environment(); err != nil {
		return err
	}
	l.env = setEnv(l.env, claudeVariable, l.claude) // a settings file may set another PATH for hooks
	l.sources = readSources(l.dirs, l.args)
	for _, s := range l.sources {
		if s.name == argumentSource && s.err != nil && (l.supervisor || l.provider != nil) {
			return failure{code: 2, err: fmt.Errorf("%s: %w", s.name, s.err),
				hint: "give it the JSON itself, or a file that ccc can look into, too"}
		}
	}
	conflicts := providerConflicts(l.dirs, l.sources, env, l.provider, withoutProvider)
	if conflicts != nil {
		return errors.Join(conflicts...)
	}
	if l.provider != nil && givenFlag(l.args, "--bg", "--background") != "" {
		const format = "a background session calls the API that its service was started with, not that of %s"
		return failure{code: 2, err: fmt.Errorf(format, l.provider.name),
			hint: "start it without --bg, or without a provider"}
	}
	if l.supervisor {
		err = l.planSupervision()
	}
	return err
}

// parse splits the command line into ccc's part and claude's. A word with white space, or that is not ASCII,
// begins the latter: it is a prompt.
func (l *launch) parse(args []string) error {
	// With launchVariable the "1" is that of the session in which this ccc was called, and not meant for it.
	l.supervisor = l.dirs.env.get(supervisorVariable) == "1" && l.dirs.env.get(launchVariable) == ""
	at := 0 // the index of claude's part
	for ; at < len(args); at++ {
		word := args[at]
		if word == supervisorFlag {
			l.supervisor = true
			continue
		}
		if l.provider != nil || strings.HasPrefix(word, "-") {
			break
		}
		if l.provider = l.config.Providers[word]; l.provider != nil {
			continue
		}
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || r > unicode.MaxASCII }) {
			break
		}
		return unknownWord(word, l.config)
	}
	rest := args[at:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	} else if slices.Contains(untilDashes(rest), supervisorFlag) {
		err := errors.New(supervisorFlag + " is ccc's, and has to stand before claude's arguments")
		return failure{code: 2, err: err}
	}
	l.args = rest
	return nil
}

// unknownWord is the error that the command line begins with a word that ccc does not know, or knows only in
// the first place. It lists the words that there are.
func unknownWord(word string, c *configuration) error {
	if word == noProvider {
		return failure{code: 2, err: fmt.Errorf("%q is gone in 3.0: without a name there is no provider", word)}
	}
	if isSubcommand(word) {
		return failure{code: 2, err: fmt.Errorf("%q is a subcommand, and has to stand first", word)}
	}
	const format = "%q is no subcommand (%s) and no provider (%s); " +
		"a prompt needs quotes; to pass the word on to claude: %s"
	providers := cmp.Or(strings.Join(c.providerNames(), ", "), "none; see ccc help config")
	return failure{code: 2, err: fmt.Errorf(format, word, strings.Join(subcommands, ", "), providers,
		commandLine([]string{"--", word}))}
}

// environment returns that of claude: ccc's own with each variable once, the provider's values, and absolute
// paths, since hooks run in other directories. It drops what another session has left in this terminal.
func (l *launch) environment() ([]string, error) {
	env := (&exec.Cmd{Env: withoutCacheVariables(l.dirs.env)}).Environ()
	name := "" // of the provider
	if l.provider == nil {
		env = withoutLaunch(env)
	} else {
		name = l.provider.name
	}
	for _, variable := range []string{configDirVariable, workDirVariable, claudeDirVariable} {
		if value := lookupEnv(env, variable); value != "" {
			env = setEnv(env, variable, absoluteIn(l.dirs.here, value))
		}
	}
	env, err := withProvider(env, l.provider)
	// The directories are for every session: it may be switched on later.
	env = setEnv(env, toolVariable, "", supervisorVariable, "", launchVariable, "", reviewerVariable, "",
		trialVariable, "", triedVariable, "", providerVariable, name, addDirsVariable, strings.Join(l.addDirs(), "\n"))
	return env, err
}

// planSupervision refuses what would keep the session from being reviewed, and completes its environment.
func (l *launch) planSupervision() error {
	supervisor, self := l.config.Supervisor, l.dirs.hookPath()
	if goRunFolder().MatchString(self) {
		err := fmt.Errorf("go run removes the program that the hooks would call, %s", self)
		return withHint(err, "go install . && ccc --supervisor")
	}
	if err := cmp.Or(l.refuse(), l.checkReviewer()); err != nil {
		return err
	}
	if _, _, err := supervisorPrompt(l.dirs.here, l.dirs.ccc); err != nil {
		return err
	}
	var err error
	if l.version, err = askVersion(l.claude, "", l.dirs.env); errors.As(err, new(untriable)) {
		l.untried = err
	} else if err != nil {
		return err
	}
	l.env = setEnv(cacheEnv(l.env, l.sources, l.args), supervisorVariable, "1", launchVariable, newLaunchToken())
	if lookupEnv(l.env, blockCapVariable) == "" && !supervisor.Observe { // which blocks no stop
		l.env = setEnv(l.env, blockCapVariable, strconv.Itoa(supervisor.MaxIterations))
	}
	_, err = readSettings(l.dirs) // to see whether it can be edited
	return err
}

// refuse returns why nothing of the session would be reviewed, as far as that needs no trial, which has
// neither a conversation nor the project's settings. Flags and variables are those of 2.1.280 and 2.1.332.
func (l *launch) refuse() error {
	const (
		elsewhere = "claude would run that session elsewhere, not below this launch"
		forgetful = "claude would keep no conversation, so nothing could be reviewed"
		hookless  = "claude would run no hooks, so nothing would be reviewed"
		switchOn  = "run ccc --supervisor once, which installs the hooks; then type /supervisor on in that session"
	)
	given := func(flags ...string) string { return givenFlag(l.args, flags...) }
	var json, withoutUser, skips, skipsHint, mutes, mutesHint, token string
	if given("-p", "--print") != "" && given("--json-schema") != "" {
		json = "-p and --json-schema"
	}
	sources, isChosen := lastValue(l.args, "--setting-sources")
	if names := strings.Split(strings.ReplaceAll(sources, " ", ""), ","); isChosen && !slices.Contains(names, "user") {
		withoutUser = "--setting-sources " + sources + ", without user"
	}
	if isTrue(valueIn(l.sources, l.env, "env."+skipVariable)) {
		skips, skipsHint = skipVariable, "unset it, or take it out of the provider's env"
		if s := sourceWith(l.sources, "env."+skipVariable); s.values != nil {
			skips, skipsHint = s.name+": env."+skipVariable, s.fault("", "", "remove it").hint
		}
	}
	for _, s := range l.sources {
		if s.ofProject && s.values[disableKey] == "true" { // whatever another says: the client may drop that one
			mutes, mutesHint = s.name+": "+disableKey, s.fault("", "", "remove it").hint
		}
	}
	if l.config.Supervisor.Provider == "" && paysByToken(l.dirs, l.sources, l.env, l.args) {
		token = oauthVariable + " as the only login"
	}
	for _, row := range []struct{ found, effect, hint string }{
		{given("--bg", "--background", "--tmux"), elsewhere, switchOn},
		{given("--cloud", "--remote", "--environment", "--desktop"), elsewhere, ""},
		{given("--no-session-persistence"), forgetful, ""},
		{skips, forgetful, skipsHint},
		{withoutUser, hookless, ""},
		{mutes, hookless, mutesHint},
		{json, "claude would end the turn, whatever a review says", "ask for the JSON in the prompt"},
		{token, "claude would keep it from the reviewer", "log in, with /login in:\nclaude"},
	} {
		if row.found != "" {
			return failure{code: 2, err: fmt.Errorf("--supervisor with %s: %s", row.found, row.effect), hint: row.hint}
		}
	}
	return nil
}

// checkReviewer returns why no reviewer could work in a session with the environment of the launch.
func (l *launch) checkReviewer() error {
	sources, reviewer := readSources(l.dirs, nil), l.config.Providers[l.config.Supervisor.Provider]
	_, err := reviewerEnv(l.env, reviewer)
	if err == nil {
		err = errors.Join(providerConflicts(l.dirs, sources, l.dirs.env, reviewer, withoutReviewers)...)
	}
	if err == nil && (reviewer == nil || reviewer == l.provider) {
		err = checkScrubbed(l.sources, l.env)
	}
	if err != nil {
		return fmt.Errorf("the reviewer: %w", err)
	}
	return nil
}

// tryHooks has claude run ccc's hooks, unless a mark says that it did, which counts once: it goes, and the
// SessionStart hook of the session, to which triedVariable names it, puts it back.
func (l *launch) tryHooks() error {
	mark := l.markFile()
	if os.Remove(mark) != nil {
		notice := func() { fmt.Fprintln(os.Stderr, "ccc:", say(tryingHooks)) }
		if err := l.trial.run(untilSignal(), notice); err != nil {
			return err
		}
		if l.markFile() != mark { // what was tried is not what is there now
			return nil
		}
	}
	l.env = setEnv(l.env, triedVariable, mark)
	return nil
}

// addDirs returns the directories that --add-dir adds to the session. The flag takes all values up to the
// next flag.
func (l *launch) addDirs() (added []string) {
	isTaking := false
	for _, arg := range untilDashes(l.args) {
		dir, isJoined := strings.CutPrefix(arg, "--add-dir=")
		isFlag := strings.HasPrefix(arg, "-")
		if isJoined || isTaking && !isFlag {
			added = append(added, absoluteIn(l.dirs.here, dir))
		}
		isTaking = arg == "--add-dir" || isTaking && !isFlag
	}
	return added
}

// write writes the files that a supervised launch needs.
func (l *launch) write() error {
	if !l.supervisor {
		return nil
	}
	d := l.dirs
	err := d.state.create()
	if err == nil {
		err = d.state.sweep() // before the log is there: it may put that aside
	}
	if err == nil {
		err = appendFile(d.state.logFile(), nil) // `tail -f` works at once
	}
	if err != nil {
		return fmt.Errorf("preparing the state directory: %w", err)
	}
	return withUserFiles(d, l.install)
}

// announce prints what the user should know to stderr.
func (l *launch) announce() {
	d := l.dirs
	if l.untried != nil {
		err := fmt.Errorf("whether claude runs ccc's hooks could not be tried: %w", l.untried)
		fmt.Fprintln(os.Stderr, "ccc: warning:", printable(err.Error()))
	}
	if l.supervisor {
		log, output := d.state.logFile(), d.state.session("<session>").outputFile()
		how := announcedOn
		if l.config.Supervisor.Observe {
			how = announcedObserve
		}
		fmt.Fprintln(os.Stderr, say(announcement, d.state, log, output, shellQuote(log))+say(how))
		fmt.Fprint(os.Stderr, l.config.englishOffer(d))
	}
	if !slices.Contains([]string{"", "0", "1"}, l.dirs.env.get(supervisorVariable)) {
		fmt.Fprintln(os.Stderr, "ccc: warning:", supervisorVariable,
			"is set to neither 0 nor 1, and counts as 0: use 1, or --supervisor")
	}
}

// install writes settings.json and ccc's files. The prompt is not written if the project has one of its own and
// ccc's directory has none.
func (l *launch) install(in *installation) error {
	d := l.dirs
	files := []keptFile{keptCommand(d)}
	_, projectErr := os.Lstat(filepath.Join(d.here, promptName))
	if _, globalErr := os.Lstat(d.promptFile()); projectErr != nil || globalErr == nil {
		files = append(files, keptPrompt(d))
	}
	for _, file := range files {
		if err := file.keep(d, in); err != nil {
			return fmt.Errorf("creating %s: %w", file.path, err)
		}
	}
	return installSettings(d, l.config, d.hookPath(), in)
}
