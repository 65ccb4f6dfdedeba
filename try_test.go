package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tryTestVariable set to "required" makes a test fail that is otherwise skipped because the machine lacks
// something.
const tryTestVariable = "CCC_TEST_TRY"

func skipTry(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(tryTestVariable) == "required" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func TestTryUsage(t *testing.T) {
	box := newFakeBox(t)
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "no command"},
		{[]string{"--timeout", "0", "true"}, 2, "above zero"},
		{[]string{"--timeout=-1s", "true"}, 2, "above zero"},
		{[]string{"--timeout", "soon", "true"}, 2, "soon"},
		{[]string{"--no-such-flag", "true"}, 2, "no-such-flag"},
	} {
		got := box.run(10*time.Second, "", slices.Concat([]string{"ccc", "try"}, test.args)...)
		if got.code != test.code || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%q: %+v", test.args, got)
		}
	}
	if got := box.run(10*time.Second, "", "ccc", tryInsideSubcommand); got.code != 2 || !strings.Contains(got.stderr, "ccc try only") {
		t.Errorf("%s: %+v", tryInsideSubcommand, got)
	}
}

func TestTryOutermost(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b", "a-b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
	os.Symlink("a", filepath.Join(dir, "link"))
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	for _, test := range []struct{ dirs, want []string }{
		{at("a/b", "a", "a-b"), at("a", "a-b")},
		{at("a", "a", "link/b"), at("a")},
		{at("link"), at("a")},
		{at("c", "file", "missing"), at("c")},
		{append(at("c"), "", "relative", "/proc", "/proc/self", "/sys/kernel", "/dev"), at("c")},
		{append(at("a", "c"), "/"), []string{"/"}},
	} {
		got := outermost(test.dirs)
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.dirs, got, test.want)
		}
	}
}

func TestTryEnv(t *testing.T) {
	env := []string{"PATH=/bin", "KIMI_TOKEN=secret", "API_TIMEOUT_MS=1", "OTHER=3", "ANTHROPIC_API_KEY=secret",
		"CLAUDECODE=1", "CLAUDE_CONFIG_DIR=/x", "CCC_SUPERVISOR=1", tryVariable + "=abc"}
	c := defaultConfig()
	want := []string{"PATH=/bin", "KIMI_TOKEN=secret", "API_TIMEOUT_MS=1", "OTHER=3"}
	if got := tryEnv(env, c); !slices.Equal(got, want) {
		t.Errorf("without providers: got %q, want %q", got, want)
	}
	c.Providers = map[string]provider{"kimi": {Env: map[string]envText{"ANTHROPIC_AUTH_TOKEN": "${KIMI_TOKEN}", "API_TIMEOUT_MS": "600000"}}}
	if got := tryEnv(env, c); !slices.Equal(got, []string{"PATH=/bin", "OTHER=3"}) {
		t.Errorf("with one: got %q", got)
	}
}

// Where it is not known which variables are a provider's, nothing runs.
func TestTryBrokenConfig(t *testing.T) {
	box := newFakeBox(t)
	box.write(".claude/ccc.json", 0o600, `{"providers":{"kimi":{"env":{"TOKEN":"${KIMI_TOKEN}"}}}`)
	got := box.run(10*time.Second, "", "ccc", "try", "echo ran")
	if got.code != tryImpossible || got.stdout != "" || !strings.Contains(got.stderr, "ccc.json") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}
