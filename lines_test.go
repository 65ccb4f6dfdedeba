package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The reader begins with a whole line and goes on where it stopped.
func TestLinesReader(t *testing.T) {
	dir := t.TempDir()
	for last, want := range map[int64]string{0: "one\ntwo\nthree\n", 100: "one\ntwo\nthree\n", 14: "one\ntwo\nthree\n", 13: "two\nthree\n", 10: "two\nthree\n", 9: "three\n", 6: "three\n", 5: "", 1: ""} {
		path := filepath.Join(dir, fmt.Sprint("s", last))
		var got strings.Builder
		reader := &lineReader{path: path, last: last, lines: lineWriter{line: func(line []byte) { got.Write(line) }}}
		read := func(add, want string) {
			t.Helper()
			if err := appendFile(path, []byte(add)); err != nil {
				t.Fatal(err)
			}
			if err := reader.read(); err != nil || got.String() != want {
				t.Errorf("last %d: got %q, %v, want %q", last, got.String(), err, want)
			}
		}
		if err := reader.read(); err != nil || got.String() != "" {
			t.Errorf("without a file: %q, %v", got.String(), err)
		}
		read("one\ntwo\nthree\n", want)
		read("", want)
		read("fo", want)
		read("ur\nfi", want+"four\n")
		if reader.close(); got.String() != want+"four\nfi\n" {
			t.Errorf("last %d: %q after close", last, got.String())
		}
	}
}
