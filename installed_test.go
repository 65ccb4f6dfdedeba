package main

import (
	"os"
	"path/filepath"
	"testing"
)

// keepFile does what a launch does to a file that the user may edit.
func keepFile(d dirs, path, text string) error {
	return withInstallation(d, func(in *installation) error { return keptFile{path, func(messages) string { return text }}.keep(d, in) })
}

// A file that ccc made follows a newer ccc until the user touches it.
func TestInstalledKeep(t *testing.T) {
	d := dirs{claude: t.TempDir()}
	path := filepath.Join(t.TempDir(), "sub", "SUPERVISOR.md")
	expect := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	keep := func(text string) {
		t.Helper()
		if err := keepFile(d, path, text); err != nil {
			t.Error(err)
		}
	}
	keep("one")
	expect("one")
	keep("two")
	expect("two")
	os.WriteFile(path, []byte("mine"), 0o600)
	keep("three")
	expect("mine")
	os.WriteFile(path, nil, 0o600)
	keep("four")
	expect("")
	os.WriteFile(path, []byte("five"), 0o600)
	keep("five") // the user's own, by chance the same
	keep("six")
	expect("six")
	os.Remove(path)
	keep("seven")
	expect("seven")
}
