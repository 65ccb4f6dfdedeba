package main

// One start of claude: what the command line asks for, what could refuse it, and what is written before claude
// takes ccc's place. And ccc uninstall, which takes that out again.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// A launch is one start of claude.
type launch struct {
	dirs       dirs
	config     *config
	supervisor bool
	provider   *provider // nil: none
	named      bool      // the provider, or that there is to be none, was named, not remembered
	claude     string    // the program
	args       []string  // the user's, for claude
	command    []string  // claude's arguments, all of them
	sources    []source  // of settings, for those
	env        []string
}

// providerName is the name of the provider, "" for none.
func (l *launch) providerName() string {
	if l.provider == nil {
		return ""
	}
	return l.provider.name
}

// startClaude replaces ccc with claude; it returns only with an error. The order of the steps has a meaning: first
// everything is asked that can refuse the launch, then files are written, and last claude starts. A refused launch
// leaves every file as it was.
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

// planLaunch finds out what the command line asks for and whether it can be done.
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
	if l.env, err = launchEnv(os.Environ(), l.provider); err != nil {
		return nil, err
	}
	if l.env, err = countStart(l.env, l.claude); err != nil {
		return nil, err
	}
	if !l.supervisor && lookupEnv(l.env, launchVariable) != "" {
		l.env = setEnv(l.env, supervisorVariable, "", launchVariable, "")
	}
	l.command = slices.Concat(l.config.claudeArgs(l.provider), l.args)
	// The terminal may be one that another session opened, or its agent. A session may be switched on later.
	l.env = setEnv(l.env, toolVariable, "", providerVariable, l.providerName(), addDirsVariable, strings.Join(l.addDirs(), "\n"))
	l.sources = sources(l.dirs, l.config, l.command)
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

// parse splits the command line into ccc's part and claude's. A first word with white space in it is a prompt.
func (l *launch) parse(args []string) (err error) {
	// A ccc that an agent calls has its session's variables, and they are not about it.
	l.supervisor = os.Getenv(supervisorVariable) == "1" && os.Getenv(launchVariable) == ""
	whole, ended := args, false
	for ; len(args) > 0; args = args[1:] {
		switch word := args[0]; {
		case word == supervisorFlag:
			l.supervisor = true
			continue
		case word == "--":
			args, ended = args[1:], true
		case strings.HasPrefix(word, "-") || l.named:
		case word == noProvider:
			l.named = true
			continue
		default:
			l.provider = l.config.findProvider(word)
			if l.named = l.provider != nil; l.named {
				continue
			} else if !strings.ContainsFunc(word, unicode.IsSpace) {
				return unknownWord(whole[:len(whole)-len(args)], args, l.config)
			}
		}
		break
	}
	l.args = args
	isMeant := func(arg string) bool {
		return strings.HasPrefix(arg, "-") && nearest(arg, []string{supervisorFlag}) != ""
	}
	if at := slices.IndexFunc(untilDashes(args), isMeant); !ended && at >= 0 { // claude knows no flag that is near
		own, meant := slices.Concat([]string{supervisorFlag}, whole[:len(whole)-len(args)]), args[at]
		if meant != supervisorFlag {
			meant += " (" + supervisorFlag + "?)"
		}
		return failure{2, fmt.Errorf("%s is ccc's, and has to stand before claude's arguments", meant),
			"write: " + commandLine(own, args[:at], args[at+1:])}
	}
	if !l.named {
		l.provider, err = l.config.current(l.dirs)
	}
	return err
}

// unknownWord refuses rest, which begins with a word that says nothing to ccc; own is what stands before it.
func unknownWord(own, rest []string, c *config) error {
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
	line := ""
	switch name := nearest(word, names); {
	case name == supervisorFlag && isSubcommand(next):
		line = commandLine(rest[1:])
	case name == supervisorFlag && next != "" && !strings.HasPrefix(next, "-") && c.findProvider(next) == nil:
		line = commandLine(own, []string{name, "--"}, rest[1:])
	case isSubcommand(name):
		line = commandLine([]string{name}, rest[1:])
	case name != "":
		line = commandLine(own, []string{name}, rest[1:])
	}
	if line != "" {
		hint = "did you mean: " + line + "\n     " + hint
	}
	return failure{2, fmt.Errorf("%q is neither a subcommand nor a provider (providers: %s)", word, c.providerNames()), hint}
}

// startsLimit is how many claudes ccc may start in one another without an agent between them, whose tools begin to
// count anew: a wrapper around claude may call ccc once by mistake of its setting, and one that calls ccc each time
// never ends.
const startsLimit = 3

// countStart counts in env, which claude is started with, the starts of claude in one another. It refuses where a
// claude calls ccc again and again.
func countStart(env []string, claude string) ([]string, error) {
	starts, _ := strconv.Atoi(lookupEnv(env, startsVariable))
	if lookupEnv(env, toolVariable) != "" {
		starts = 0
	}
	if starts >= startsLimit {
		return nil, notClaude(claude, "calls ccc again")
	}
	return setEnv(env, startsVariable, strconv.Itoa(starts+1)), nil
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
	if err := checkProvider(l.dirs, sources(l.dirs, l.config, nil), l.env, []string{"--print"}, l.config.findProvider(supervisor.Provider)); err != nil {
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
	_, err = readSettings(l.dirs) // nothing is written yet
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
		dir, isFlag := strings.CutPrefix(arg, "--add-dir=")
		taking = !isFlag && (arg == "--add-dir" || taking && !strings.HasPrefix(arg, "-"))
		if isFlag || taking && arg != "--add-dir" {
			if dir, err := filepath.Abs(dir); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// write writes what the launch needs into files, and says what the user should know of it.
func (l *launch) write() error {
	d, state := l.dirs, stateDir(l.dirs.state)
	if l.supervisor {
		// The log is there from the beginning, so that `tail -f` works at once.
		if err := errors.Join(state.create(), appendFile(state.logFile(), nil)); err != nil {
			return fmt.Errorf("creating the state directory: %w", err)
		}
		if err := state.sweep(); err != nil {
			return fmt.Errorf("tidying the state directory: %w", err)
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

// remember records a provider that was named, and names one that was remembered. A ccc.json that can't be written,
// as where a package manager owns it, keeps nobody from working.
func (l *launch) remember() {
	switch name := l.providerName(); {
	case !l.named && name != "":
		fmt.Fprintln(os.Stderr, "ccc:", say(remembered, printable(name), noProvider))
	case l.named && name+l.config.CurrentProvider != "": // also what is recorded, for what a killed launch left there
		if err := recordProvider(l.dirs, name); err != nil && name != l.config.CurrentProvider {
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
		root, err := parseJSON(text)
		if err != nil || root.at("current_provider").str() == name {
			return err
		}
		value := "null"
		if name != "" {
			value = string(encodeJSON(name))
		}
		return replaceFile(d.configFile(), setJSON(text, value, "current_provider"), true)
	})
}

// install puts ccc's files and settings where Claude Code and the user look for them. A project's own prompt makes
// one in ccc's directory needless.
func (l *launch) install(in *installation) error {
	d, self := l.dirs, ""
	if l.supervisor {
		self = d.hookPath()
		_, projectErr := os.Lstat(filepath.Join(d.here, promptName))
		_, globalErr := os.Lstat(d.promptFile())
		if projectErr != nil || globalErr == nil {
			if err := keptPrompt(d).keep(d, in); err != nil {
				return fmt.Errorf("creating %s: %w", d.promptFile(), err)
			}
		}
		if err := keptCommand(d).keep(d, in); err != nil {
			return fmt.Errorf("creating %s: %w", d.commandFile(), err)
		}
	}
	return installSettings(d, l.config, self, in)
}

// uninstall is ccc uninstall [--purge]. It says what became of each file. State is the user's history: only --purge
// removes it.
func uninstall(c *call, d dirs) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who reads the first line only must not end it halfway
	remove := func(in *installation) error { return removeInstallation(d, in) }
	if _, err := os.Stat(d.claude); errors.Is(err, fs.ErrNotExist) {
		// Without Claude Code's directory there is nothing to lock, and the rest is soon done.
		if err := remove(&installation{}); err != nil {
			return err
		}
	} else if err := withUserFiles(d, remove); err != nil {
		return err
	}
	_, statErr := os.Stat(d.state)
	switch {
	case statErr != nil:
	case c.has("--purge"):
		removed, others, err := stateDir(d.state).purge()
		if removed+others > 0 || err == nil {
			fmt.Printf("%s: %d files of ccc's removed, %d of others kept\n", d.state, removed, others)
		}
		return err
	default:
		fmt.Printf("%s: kept; to remove it too: ccc uninstall --purge\n", d.state)
	}
	return nil
}

// removeInstallation takes out what launches put there, and last the record of it and the lock.
func removeInstallation(d dirs, in *installation) error {
	done, err := removeSettings(d, in)
	if err != nil {
		return fmt.Errorf("removing the hooks: %w", err)
	}
	fmt.Printf("%s: %s\n", d.settingsFile(), done)
	for _, path := range d.settingsFiles() {
		if own, _ := callsStatusline(readSource(path)); own {
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

const nothingThere = "holds nothing of ccc's"

// removeSettings takes ccc's part out of settings.json and returns what became of the file, for people.
func removeSettings(d dirs, in *installation) (done string, err error) {
	e, err := readSettings(d)
	if err != nil {
		return "", err
	}
	e.edits = in.Edits
	switch path := d.settingsFile(); {
	case !e.restore(d.hookPath()):
		return nothingThere, nil
	case e.known([]string{}) != nil && len(e.root.members) == 0:
		return "removed: ccc made it, and nothing else is in it", os.Remove(followLinks(path))
	default:
		return "ccc's part taken out", replaceFile(path, e.text, true)
	}
}
