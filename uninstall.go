package main

// ccc uninstall undoes what launches did in Claude Code's directory and in ccc's.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// uninstall is ccc uninstall [--purge]. It says what became of each file. State is the user's history: only --purge
// removes it.
func uninstall(c *call, d dirs) error {
	remove := func(in *installation) error { return removeInstallation(d, in) }
	if _, err := os.Stat(d.claude); errors.Is(err, fs.ErrNotExist) {
		// Without Claude Code's directory there is nothing to lock, and the rest is soon done.
		if err := remove(&installation{}); err != nil {
			return err
		}
	} else if err := withInstallation(d, remove); err != nil {
		return err
	}
	// Where ccc's directory is not Claude Code's, it has a lock of its own.
	if err := removeFile(d.configLockFile()); err != nil {
		return err
	}
	_, statErr := os.Stat(d.state)
	switch {
	case statErr != nil:
	case c.has("--purge"):
		removed, others, err := stateDir(d.state).purge()
		fmt.Printf("%s: %d files of ccc's removed, %d of others kept\n", d.state, removed, others)
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
	for _, file := range []keptFile{keptPrompt(d), keptCommand(d)} {
		if done, err = file.remove(d, in); err != nil {
			return fmt.Errorf("removing %s: %w", file.path, err)
		} else if done != "" {
			fmt.Printf("%s: %s\n", file.path, done)
		}
	}
	return errors.Join(removeFile(d.installedFile()), removeFile(d.lockFile()))
}
