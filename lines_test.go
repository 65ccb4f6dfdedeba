package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(file, add)
			file.Close()
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
		os.Truncate(path, 0) // it is begun anew
		read("six\nse", want+"four\nsix\n")
		os.Rename(path, path+".old") // another comes in its place
		read("seven\nei", want+"four\nsix\nseven\n")
		if reader.close(); got.String() != want+"four\nsix\nseven\nei\n" {
			t.Errorf("last %d: %q after close", last, got.String())
		}
	}
}

// A reader that does not read holds up nobody, and what is written after close is dropped.
func TestLinesPatientWriter(t *testing.T) {
	read, write := io.Pipe()
	p := newPatientWriter(write)
	start := time.Now()
	for range 2000 {
		if n, err := p.Write(make([]byte, 1<<10)); n != 1<<10 || err != nil {
			t.Fatal(n, err)
		}
	}
	p.close()
	if _, err := p.Write([]byte("late")); err != nil || time.Since(start) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	read.Close()
	var b strings.Builder
	p = newPatientWriter(&b)
	for range 10 {
		io.WriteString(p, "word ")
	}
	p.close()
	if b.String() != strings.Repeat("word ", 10) {
		t.Errorf("passed on %q", b.String())
	}
}
