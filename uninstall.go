package main

// ccc uninstall takes out what launches have written, and nothing else.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// uninstall is ccc uninstall. It prints what became of each file. Only --purge removes the state.
func uninstall(c *invocation) error {
	d, err := findDirs(c.env, "")
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that goes away must not end it halfway
	if _, err := os.Stat(d.claude); errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("%s: %s\n", d.settingsFile(), nothingThere)
	} else {
		remove := func(in *installation) error { return removeInstallation(d, in) }
		if err := withUserFiles(d, remove); err != nil {
			return err
		}
	}
	if _, err := os.Stat(string(d.state)); err != nil {
		return nil
	}
	if !c.has("--purge") {
		fmt.Printf("%s: kept; to remove it too: ccc uninstall --purge\n", d.state)
		return nil
	}
	removed, others, err := d.state.purge()
	if err == nil && others == 0 {
		fmt.Printf("%s: removed\n", d.state)
	} else if err == nil {
		fmt.Printf("%s: %d files removed, %d kept that are not ccc's\n", d.state, removed, others)
	}
	return err
}

// removeInstallation removes what launches have written, and last the list and the lock.
func removeInstallation(d dirs, in *installation) error {
	done, err := removeSettings(d, in)
	if err != nil {
		return fmt.Errorf("removing the hooks: %w", err)
	}
	fmt.Printf("%s: %s\n", d.settingsFile(), done)
	for _, file := range []keptFile{keptPrompt(d), keptCommand(d)} {
		if done, err = file.remove(d, in); err != nil {
			return fmt.Errorf("removing %s: %w", file.path, err)
		} else if done != "" {
			fmt.Printf("%s: %s\n", file.path, done)
		}
	}
	return errors.Join(removeFile(d.installedFile()), removeFile(d.lockFile()))
}

// statusLineCall finds the program of a status line that is nothing but a call of 2.0's ccc statusline.
var statusLineCall = lazyRegexp(`^\s*("[^"]*"|'[^']*'|\S+)\s+statusline\s*$`)

const nothingThere = "holds nothing of ccc's"

// removeSettings removes ccc's part of settings.json and returns what became of the file, in words.
func removeSettings(d dirs, in *installation) (done string, err error) {
	e, err := readSettings(d)
	if err != nil {
		return "", err
	}
	e.uninstall(d.hookPath(), in.Added)
	call := statusLineCall().FindStringSubmatch(e.root.at("statusLine", "command").text)
	if call != nil && isCCC(strings.Trim(call[1], `"'`), d.hookPath()) {
		e.replace(dropJSON(e.text, "statusLine"))
	}
	const noMore = "; sessions that still run are not reviewed any more"
	link, _ := os.Readlink(d.settingsFile())
	switch {
	case !e.isChanged():
		return nothingThere, nil
	case string(e.text) == emptySettings && link == "": // no file says the same; a link must not lead nowhere
		return "removed: nothing else is in it" + noMore, os.Remove(d.settingsFile())
	}
	return "ccc's part taken out" + noMore, replaceDurably(d.settingsFile(), e.text)
}
