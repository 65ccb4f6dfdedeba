package main

// What a review says of the files: which it judged, whether that holds, and what has changed since.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// These are the answers of ccc verdict that no review gave.
const (
	answerNone    verdict = "none"
	answerChanged verdict = "changed"
	answerUnbound verdict = "unbound"
)

// isBound reports whether the review speaks of files.
func (r record) isBound() bool { return r.Files != nil && r.Unbound == "" }

// judges reports whether the review is one of a stop or by hand, and gave a verdict.
func (r record) judges() bool {
	isVerdict := r.Verdict == verdictAllow || r.Verdict == verdictBlock
	return isVerdict && !r.NoVerdict && r.Event != eventPreToolUse
}

// approves reports whether the review approved a change.
func (r record) approves() bool { return r.judges() && r.Verdict == verdictAllow && r.isBound() }

// counts reports whether the verdict is one of files: a refusal always, an approval as far as it is bound.
func (r record) counts() bool { return r.judges() && (r.Verdict == verdictBlock || r.isBound()) }

// judged reports whether a review of the session judged the path with that content.
func (h *history) judged(path, content string) bool {
	return slices.ContainsFunc(h.Rounds, func(r reviewRound) bool {
		was, known := r.Files[path]
		return known && r.judges() && was == content
	})
}

// sentBack reports whether the session's last review of each of these paths, in this content, refused. An
// approval that is not bound takes nothing back.
func (h *history) sentBack(files map[string]string) bool {
	for path, content := range files {
		last := verdictAllow
		for _, r := range h.Rounds {
			if was, known := r.Files[path]; known && r.counts() && was == content {
				last = r.Verdict
			}
		}
		if last != verdictBlock {
			return false
		}
	}
	return len(files) > 0
}

// standing is what the review says of the files, in a word and a reason. changed returns the paths that are
// not as the review found them; with nil the files are not looked at. Without a repository the verdict alone
// counts.
func (r record) standing(changed func(look) ([]string, error)) (word verdict, why string) {
	if r.Verdict != verdictAllow {
		return r.Verdict, cmp.Or(r.Error, r.Feedback)
	}
	if r.Top == "" {
		return verdictAllow, joined(say(notBound), cmp.Or(r.Unbound, errNoGit.Error()))
	}
	if !r.isBound() {
		return answerUnbound, joined(say(notBound), r.Unbound)
	}
	if changed != nil {
		paths, err := changed(r.look)
		if err != nil {
			return answerUnbound, joined(say(notBound), oneLine(err.Error()))
		}
		if len(paths) > 0 {
			return answerChanged, say(changedSince, pathNames(paths, 20))
		}
	}
	if len(r.Moved) > 0 {
		return verdictAllow, say(movedMeanwhile, pathNames(r.Moved, 20)) + "\n" + r.Feedback
	}
	return verdictAllow, r.Feedback
}

// unquoted returns the name that git has put into quotes.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && name[0] == '"' {
		return plain
	}
	return name
}

// shownPath is a path as people read it.
func shownPath(path string) string { return printable(unquoted(path)) }

// pathNames names the first paths, most at most, as people read them.
func pathNames(found []string, most int) string {
	names := make([]string, 0, most+1)
	for _, path := range found[:min(most, len(found))] {
		names = append(names, shownPath(path))
	}
	if more := len(found) - most; more > 0 {
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return strings.Join(names, say(listComma))
}
