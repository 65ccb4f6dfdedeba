package main

// One start of claude: what the command line asks for, what could refuse it, and what is written before
// claude takes ccc's place. And ccc uninstall, which takes that out again.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

type launch struct {
	dirs       dirs
	config     *configuration
	supervisor bool
	provider   *provider        // nil: none
	named      bool             // the provider, or that there is to be none, was named, not remembered
	claude     string           // the program
	command    []string         // claude's arguments, ccc.json's and the user's
	sources    []settingsSource // of settings, for those
	env        []string
}

// providerName is the name of the provider, "" for none.
func (l *launch) providerName() string {
	if l.provider == nil {
		return ""
	}
	return l.provider.name
}

// startClaude replaces ccc with claude; it returns only with an error. All that can refuse the launch is
// asked before a file is written: a refused launch leaves every file as it was.
func startClaude(args []string) error {
	l, err := planLaunch(args)
	if err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return err
	}
	err = syscall.Exec(l.claude, append([]string{l.claude}, l.command...), l.env)
	return failure{code: 126, err: fmt.Errorf("starting %s: %w", l.claude, err)}
}

func planLaunch(args []string) (l *launch, err error) {
	l = new(launch)
	if l.dirs, err = findDirs(""); err != nil {
		return nil, err
	}
	if l.config, err = loadConfig(l.dirs); err != nil {
		return nil, err
	}
	lang = languageFor(l.config.Language)
	if err = l.parse(args); err != nil {
		return nil, err
	}
	if l.claude, err = findClaude(); err != nil {
		return nil, err
	}
	if l.env, err = l.environment(); err != nil {
		return nil, err
	}
	l.sources = readSources(l.dirs, l.config, l.command)
	for _, s := range l.sources {
		if s.name == argumentSource && s.err != nil && (l.supervisor || l.provider != nil) {
			return nil, failure{2, fmt.Errorf("%s: %w", s.name, s.err), "give it the JSON itself, or a file that ccc can look into, too"}
		}
	}
	if err := checkProvider(l.dirs, l.sources, os.Environ(), l.command, l.provider); err != nil {
		return nil, err
	}
	if l.provider != nil && givenFlag(l.command, "--bg", "--background") != "" {
		err := fmt.Errorf("a background session calls the API that its service was started with, not that of %s", l.provider.name)
		return nil, failure{code: 2, err: err, hint: "start it without --bg, or without a provider"}
	}
	if l.supervisor {
		err = l.planSupervision()
	}
	return l, err
}

// parse splits the command line into ccc's part and claude's. A first word with white space in it is a
// prompt.
func (l *launch) parse(args []string) (err error) {
	// A ccc that an agent calls has its session's variables, and they are not about it.
	l.supervisor = os.Getenv(supervisorVariable) == "1" && os.Getenv(launchVariable) == ""
	at := 0 // where claude's part begins
	for ; at < len(args); at++ {
		word := args[at]
		if word == supervisorFlag {
			l.supervisor = true
			continue
		}
		if l.named || strings.HasPrefix(word, "-") {
			break
		}
		l.provider = l.config.Providers[word]
		if l.named = l.provider != nil || word == noProvider; l.named {
			continue
		}
		if strings.ContainsFunc(word, unicode.IsSpace) {
			break
		}
		return unknownWord(args[:at], args[at:], l.config)
	}
	own, rest := args[:at], args[at:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	} else if behind := slices.Index(untilDashes(rest), supervisorFlag); behind >= 0 {
		return failure{2, errors.New(supervisorFlag + " is ccc's, and has to stand before claude's arguments"),
			"write: " + commandLine([]string{supervisorFlag}, own, rest[:behind], rest[behind+1:])}
	}
	if !l.named {
		l.provider, err = l.config.current(l.dirs)
	}
	l.command = slices.Concat(l.config.claudeArgs(l.provider), rest)
	return err
}

// unknownWord refuses rest, which begins with a word that says nothing to ccc; own is what stands before it.
func unknownWord(own, rest []string, c *configuration) error {
	word, hint := rest[0], "to pass it on to claude: "+commandLine(own, []string{"--"}, rest)
	if isSubcommand(word) {
		return failure{2, fmt.Errorf("%q is a subcommand, and has to stand first: %s", word, commandLine(rest)), hint}
	}
	names, next := slices.Concat([]string{supervisorFlag}, subcommands, slices.Sorted(maps.Keys(c.Providers))), ""
	if len(rest) > 1 {
		next = rest[1]
	}
	if slices.Contains(modes, next) {
		names = subcommands // of which supervisor-mode is one
	}
	meant := func(args ...[]string) { hint = "did you mean: " + commandLine(args...) + "\n     " + hint }
	switch name := nearestWord(word, names); {
	case isSubcommand(name):
		meant([]string{name}, rest[1:])
	case name == supervisorFlag && next != "" && c.Providers[next] == nil:
		meant(own, []string{name, "--"}, rest[1:])
	case name != "":
		meant(own, []string{name}, rest[1:])
	}
	return failure{2, fmt.Errorf("%q is neither a subcommand nor a provider (providers: %s)", word, c.providerNames()), hint}
}

// environment is that of claude: ccc's own, each variable once, with the provider's values and with absolute
// paths, as hooks run in other directories, and without what a session, or its agent, has left in a terminal
// that it opened.
func (l *launch) environment() ([]string, error) {
	env := (&exec.Cmd{Env: withLine(os.Environ())}).Environ()
	if l.provider == nil && lookupEnv(env, providerVariable) != "" {
		env = slices.DeleteFunc(env, isAPIVariable)
	}
	for _, name := range []string{configDirVariable, workDirVariable, claudeDirVariable, claudeVariable} {
		value := lookupEnv(env, name)
		if value != "" && (name != claudeVariable || strings.Contains(value, "/")) {
			env = setEnv(env, name, absoluteIn(l.dirs.here, value))
		}
	}
	env, err := withProvider(env, l.provider)
	env = setEnv(env, toolVariable, "", supervisorVariable, "", launchVariable, "", reviewerVariable, "",
		providerVariable, l.providerName(), addDirsVariable, strings.Join(l.addDirs(), "\n")) // a session may be switched on later
	return withKept(env, os.Environ(), l.config.Providers[l.config.Supervisor.Provider]), err
}

// planSupervision adds to the launch what a supervised session needs.
func (l *launch) planSupervision() (err error) {
	supervisor := l.config.Supervisor
	// Claude Code (2.1.330) has another process run the session: a service, or tmux.
	if flag := givenFlag(l.command, "--bg", "--background", "--tmux"); flag != "" {
		return failure{code: 2, err: fmt.Errorf("--supervisor with %s: that session does not run below this launch, and would not be supervised", flag),
			hint: l.switchHint()}
	}
	if self := l.dirs.hookPath(); willVanish(self) {
		return withHint(fmt.Errorf("hooks would call %s, and what go run builds does not last", self), "go install, then ccc --supervisor")
	}
	if err := checkProvider(l.dirs, readSources(l.dirs, l.config, nil), os.Environ(), []string{"--print"}, l.config.Providers[supervisor.Provider]); err != nil {
		return fmt.Errorf("the reviewer: %w", err)
	}
	if _, err := supervisorPrompt(l.dirs.here, l.dirs.ccc); err != nil {
		return err // better said now than at the first review
	}
	if causes := hookless(l.dirs, l.sources, l.command, l.env); len(causes) > 0 {
		return causes[0]
	}
	l.env = setEnv(cacheEnv(l.env, supervisor, l.sources, l.command), supervisorVariable, "1", launchVariable, launchToken(),
		blockCapVariable, cmp.Or(lookupEnv(l.env, blockCapVariable), strconv.Itoa(supervisor.MaxIterations))) // what the user has set stays
	e, err := readSettings(l.dirs)
	if err == nil {
		_, err = e.install(l.config, l.dirs.hookPath()) // nothing is written yet
	}
	return err
}

// switchHint is the way that works: /supervisor in the session, which needs ccc's hooks.
func (l *launch) switchHint() string {
	found, err := findHooks(l.dirs)
	hint := "start it without --supervisor, then type /supervisor on in that session"
	if err != nil || len(found.missing) > 0 {
		hint = "once ccc --supervisor, which installs the hooks; then " + hint
	}
	return hint
}

// addDirs are the directories that --add-dir gives to the session. It takes all values up to the next flag.
func (l *launch) addDirs() (dirs []string) {
	taking := false
	for _, arg := range untilDashes(l.command) {
		dir, isJoined := strings.CutPrefix(arg, "--add-dir=")
		isFlag := strings.HasPrefix(arg, "-")
		if isJoined || taking && !isFlag {
			dirs = append(dirs, absoluteIn(l.dirs.here, dir))
		}
		taking = arg == "--add-dir" || taking && !isFlag
	}
	return dirs
}

// write writes what the launch needs into files, and says what the user should know of it.
func (l *launch) write() error {
	d, state := l.dirs, stateDir(l.dirs.state)
	if l.supervisor {
		err := state.create()
		if err == nil {
			err = state.sweep() // which may put the log aside
		}
		if err == nil {
			err = appendFile(state.logFile(), nil) // so that `tail -f` works at once
		}
		if err != nil {
			return fmt.Errorf("preparing the state directory: %w", err)
		}
	}
	if l.supervisor || l.config.Settings != nil {
		err := withUserFiles(d, l.install)
		if l.supervisor && err != nil {
			return err
		}
		if err != nil { // settings.json is Claude Code's to judge where ccc does not need it
			fmt.Fprintln(os.Stderr, "ccc: warning: going on without the settings of ccc.json:", err)
		}
	}
	l.remember()
	if l.supervisor {
		log := state.logFile()
		fmt.Fprint(os.Stderr, say(announcement, l.dirs.state, log, state.session("<session>").outputFile(), shellQuote(log)))
	}
	if !slices.Contains([]string{"", "0", "1"}, os.Getenv(supervisorVariable)) {
		fmt.Fprintf(os.Stderr, "ccc: warning: %s is set to neither 0 nor 1, and counts as 0: use 1, or --supervisor\n", supervisorVariable)
	}
	if err := l.config.exposed(d); err != nil {
		fmt.Fprintln(os.Stderr, "ccc: warning:", err)
	}
	return nil
}

// remember records a provider that was named, and names one that was remembered. A ccc.json that can't be
// written, as where a package manager owns it, keeps nobody from working.
func (l *launch) remember() {
	switch name := l.providerName(); {
	case !l.named && name != "":
		fmt.Fprintln(os.Stderr, "ccc:", say(remembered, printable(name), noProvider))
	case l.named && name != l.config.CurrentProvider:
		if err := recordProvider(l.dirs, name); err != nil {
			fmt.Fprintf(os.Stderr, "ccc: warning: the provider counts for this session only: recording it in %s: %v\n", l.dirs.configFile(), err)
		}
	}
}

// recordProvider makes name, "" for none, the current_provider of ccc.json and changes nothing else there.
func recordProvider(d dirs, name string) error {
	return withUserFiles(d, func(*installation) error {
		text, err := os.ReadFile(d.configFile())
		if err != nil {
			return err
		}
		if _, err := parseJSON(text); err != nil {
			return err
		}
		value := "null"
		if name != "" {
			value = string(encodeJSON(name))
		}
		return replaceFile(d.configFile(), setJSON(text, value, "current_provider"), true)
	})
}

// install puts ccc's files and settings where Claude Code and the user look for them. A project's own prompt
// makes one in ccc's directory needless.
func (l *launch) install(in *installation) error {
	d, self := l.dirs, ""
	if l.supervisor {
		self = d.hookPath()
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
	}
	return installSettings(d, l.config, self, in)
}

// uninstall is ccc uninstall [--purge]. It says what became of each file. State is the user's history: only
// --purge removes it.
func uninstall(c *invocation, d dirs) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who reads the first line only must not end it halfway
	if _, err := os.Stat(d.claude); errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("%s: %s\n", d.settingsFile(), nothingThere)
	} else if err := withUserFiles(d, func(in *installation) error { return removeInstallation(d, in) }); err != nil {
		return err
	}
	if _, err := os.Stat(d.state); err != nil {
		return nil
	}
	if !c.has("--purge") {
		fmt.Printf("%s: kept; to remove it too: ccc uninstall --purge\n", d.state)
		return nil
	}
	removed, others, err := stateDir(d.state).purge()
	if err == nil {
		fmt.Printf("%s: %d files of ccc's removed, %d of others kept\n", d.state, removed, others)
	}
	return err
}

// removeInstallation takes out what launches put there, and last the record of it and the lock.
func removeInstallation(d dirs, in *installation) error {
	done, err := removeSettings(d, in)
	if err != nil {
		return fmt.Errorf("removing the hooks: %w", err)
	}
	fmt.Printf("%s: %s\n", d.settingsFile(), done)
	for _, path := range d.settingsFiles() {
		if statusLineCall().MatchString(readSource(path).values[statusLineKey]) {
			fmt.Printf("%s: its statusLine still calls ccc: take it out\n", path)
		}
	}
	for _, file := range []keptFile{keptPrompt(d), keptCommand(d)} {
		if done, err = file.remove(d, in); err != nil {
			return fmt.Errorf("removing %s: %w", file.path, err)
		} else if done != "" {
			fmt.Printf("%s: %s\n", file.path, done)
		}
	}
	return errors.Join(removeFile(d.installedFile()), removeFile(d.lockFile()))
}

var statusLineCall = lazyRegexp(`\bccc[^\s/]*["']?\s+["']?statusline\b`)

const nothingThere = "holds nothing of ccc's"

// removeSettings takes ccc's part out of settings.json and returns what became of the file, for people.
func removeSettings(d dirs, in *installation) (done string, err error) {
	e, err := readSettings(d)
	if err != nil {
		return "", err
	}
	e.uninstall(d.hookPath(), in.Added)
	switch path := d.settingsFile(); {
	case !e.isChanged():
		return nothingThere, nil
	case string(e.text) == emptySettings: // which says as much as no file, whoever wrote it
		return "removed: nothing else is in it", os.Remove(followLinks(path))
	default:
		return "ccc's part taken out", replaceFile(path, e.text, true)
	}
}
