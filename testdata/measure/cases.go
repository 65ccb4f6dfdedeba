package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A measuredCase is a file NAME.txt beside this one: what an agent was asked, what it left, and what it said
// of it. CONTRIBUTING.md has the form.
type measuredCase struct {
	name  string
	head  map[string]string // source, kind, truth, tests, says, before
	files map[string]string // task, calls, last, check, before/PATH, after/PATH, gone/PATH
}

//go:embed *.txt
var caseFiles embed.FS

// readCases returns all cases.
func readCases() (cases []measuredCase) {
	entries, _ := caseFiles.ReadDir(".")
	for _, entry := range entries {
		data, _ := caseFiles.ReadFile(entry.Name())
		text := string(data)
		c := measuredCase{strings.TrimSuffix(entry.Name(), ".txt"), map[string]string{}, map[string]string{}}
		marks := regexp.MustCompile(`(?m)^-- (.+) --\n`).FindAllStringSubmatchIndex(text, -1)
		for line := range strings.Lines(text[:marks[0][0]]) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			c.head[key] = value
		}
		end := len(text)
		for _, mark := range slices.Backward(marks) {
			c.files[text[mark[2]:mark[3]]] = text[mark[1]:end]
			end = mark[0]
		}
		cases = append(cases, c)
	}
	return cases
}

// size returns how many bytes a reviewer may read of the case.
func (c measuredCase) size() (bytes int) {
	for name, text := range c.files {
		if name != "check" {
			bytes += len(text)
		}
	}
	return bytes
}

// write writes the files below the prefix into dir, those of a script executable. After "after" those below
// gone are gone.
func (c measuredCase) write(dir, prefix string) (err error) {
	for name, text := range c.files {
		of, path, _ := strings.Cut(name, "/")
		path = filepath.Join(dir, path)
		if of == "gone" && prefix == "after" {
			err = errors.Join(err, os.Remove(path))
		}
		if of != prefix {
			continue
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode))
	}
	return err
}

// commit makes dir a repository, and commits what is there as of an hour ago.
func commit(dir string) error {
	const script = "git init -q && git add -A && git -c user.name=x -c user.email=x@x.org commit -qm before"
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", time.Now().Unix()-3600))
	return cmd.Run()
}
