package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const toy = `package main

func main() {}

func named() string {
	list := []string{"of", "the"}
	list = append(list, "house")
	list = append(list, "end")
	return list[1] + list[2]
}

func held(a, b int) bool { return a < b && b < 10 }

func called(a int) int {
	if a > 1 {
		return 7
	}
	return a
}

func unmet() { println("nobody") }

func count(list []int) (n int) {
	for n < len(list) {
		n++
	}
	return n
}
`

const toyTest = `package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("TOY") != "" && !held(1, 2) {
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestHeld(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want bool
	}{{1, 2, true}, {2, 2, false}, {3, 2, false}, {1, 9, true}, {1, 10, false}} {
		if held(c.a, c.b) != c.want {
			t.Error(c)
		}
	}
}

func TestNamed(t *testing.T) {
	if got := named(); got != "thehouse" {
		t.Error(got)
	}
}

func TestCalled(t *testing.T) { called(5); called(0) }

func TestCount(t *testing.T) {
	if count([]int{1, 2}) != 2 {
		t.Error("not 2")
	}
}

func TestInAnotherProcess(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = []string{"TOY=1"}
	if cmd.Run() != nil {
		t.Error("it failed")
	}
}
`

// The tool itself: what a test holds is killed, what is only called survives, and what hangs is ended.
func TestMutate(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the sandbox takes root")
	}
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module toy\n\ngo 1.24\n", "toy.go": toy, "toy_test.go": toyTest}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	*work, shortest = t.TempDir(), 2*time.Second
	equivalentList = "toy.go called: a > 1 → true  # for this test\n"
	var out bytes.Buffer
	if err := run(&out, dir); err != nil {
		t.Fatal(err, out.String())
	}
	t.Log(out.String())
	results, err := os.ReadFile(filepath.Join(*work, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"toy.go held: b < 10 → b <= 10":                  "killed",
		"toy.go held: a < b && b < 10 → a < b || b < 10": "killed",
		"toy.go held: 10 → 10 + 1":                       "killed",
		"toy.go called: return 7 → return 0":             "survived",
		"toy.go called: a > 1 → true":                    "",
		"toy.go count: n++ → nothing":                    "timeout",
		"toy.go held: a < b && b < 10 → b < 10":          "killed",
		`toy.go named: "the" → nothing`:                  "killed",
		`toy.go named: list = append(list, "house") list = append(list, "end") → ` +
			`list = append(list, "end") list = append(list, "house")`: "killed",
		`toy.go unmet: println("nobody") → nothing`: "unmet",
	} {
		got := ""
		for line := range strings.Lines(string(results)) {
			var r record
			if json.Unmarshal([]byte(line), &r) == nil && r.Mutant == key {
				got = r.Result
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	*sample, *only = 2, "^TestHeld$"
	out.Reset()
	if err := run(&out, dir); err != nil || !strings.Contains(out.String(), "2 of them") ||
		!strings.Contains(out.String(), "1 tests") {
		t.Errorf("a sample: %v %s", err, out.String())
	}
	*sample, *only = 0, ""
	out.Reset()
	if err := run(&out, dir); err != nil || strings.Contains(out.String(), "survived toy.go") {
		t.Errorf("again: %v %s", err, out.String())
	}
}
