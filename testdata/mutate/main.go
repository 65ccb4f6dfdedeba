// Command mutate makes small changes to the package in the current directory, one at a time, and looks
// whether a test fails with each. Those with which none does are printed, each with its diff: a promise that
// no test holds, or a change that changes nothing (equivalent.txt lists those), or code that nobody needs.
//
//	go run ./testdata/mutate -files 'reviewer*.go,review.go'
//	go run ./testdata/mutate -n 20000 -files 'try*.go' -sample 30 -seed x -only '^TestTry'
//
// The second one is a sample: 30 of those files' mutants, which the seed chooses, and only these tests.
//
// A mutant has a condition that is always false or true, or without one operand, a comparison or a sum that
// is another one, a value, a literal or a constant that is another one, a statement, a loop, an assignment,
// an element of a list or a map left out, two neighbouring statements or arguments exchanged, the argument
// alone of a call that has one, or another function of the same signature called. What does not compile is
// left out.
//
// All mutants are in one test binary, each behind a condition, and a number in that binary says which one it
// is. So there is one build, and the map of which test meets which mutant is exact, processes that tests
// start included. Each story is a test of its own. A mutant is run with those tests only, the fastest and
// most specific ones first. Each run has a sandbox, which takes root on Linux. Results are kept: a run that
// is broken off goes on where it was, and after a change of the tests only survivors are run again.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed equivalent.txt
var equivalentList string

// never are files without mutants: texts, and what other systems build.
var never = []string{"text.go", "text_review.go"}

// What is met only inside a copy of ccc try can't be traced: these files' mutants are run with these tests as
// well.
var (
	insideCopy = regexp.MustCompile(`^try.*\.go$`)
	copyTests  = regexp.MustCompile(`^Test(Try|Scratch)`)
)

// skipped are tests that do nothing without a real client.
var skipped = regexp.MustCompile(`^(TestRealClient|TestJudgements)`)

var (
	number  = flag.Int("n", 1600, "make at most `N` mutants, spread over all functions of all files")
	files   = flag.String("files", "*.go", "run those of these files, `GLOB,GLOB...`")
	funcs   = flag.String("funcs", "", "run those of the functions that this `REGEXP` matches")
	seed    = flag.String("seed", "1", "`TEXT` that decides which mutants are made")
	workers = flag.Int("workers", 1, "run `N` at a time")
	each    = flag.Duration("each", time.Minute, "run at most tests that alone take `TIME` for one mutant")
	total   = flag.Duration("for", 0, "start no mutant after `TIME`")
	again   = flag.Bool("again", false, "run those, too, of which results are known")
	sample  = flag.Int("sample", 0, "of those asked for run the `N` that come first in the order of the seed")
	only    = flag.String("only", "", "know of no tests but those that this `REGEXP` matches")
	with    = flag.String("tests", "", "run survivors with the tests that this `REGEXP` matches, no others")
	dry     = flag.Bool("dry", false, "print the mutants, run none")
	work    = flag.String("work", "", "`DIR` for binary, map and results.jsonl (default: the user's cache)")
)

func main() {
	flag.Parse()
	if err := run(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A record is a line of results.jsonl.
type record struct {
	Mutant  string  `json:"mutant"`
	Source  string  `json:"source"` // checksums, of the function and of all tests
	Tests   string  `json:"tests"`
	Result  string  `json:"result"` // killed, timeout, survived, unmet
	By      string  `json:"by,omitempty"`
	Seconds float64 `json:"seconds"`
	Diff    string  `json:"diff,omitempty"`
}

func run(out io.Writer, dir string) error {
	began := time.Now()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	program, err := load(dir)
	if err != nil {
		return err
	}
	all := program.mutants(func(file string) bool { return !slices.Contains(never, file) })
	picked := pick(all, *number, *seed)
	rendered, err := program.renderAll(picked)
	if err != nil {
		return err
	}
	ofFunctions, err := regexp.Compile(*funcs)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(picked), func(m *mutant) bool {
		return !matches(*files, m.file) || !ofFunctions.MatchString(m.fn)
	})
	if *sample > 0 && *sample < len(chosen) {
		slices.SortFunc(chosen, func(a, b *mutant) int { return a.rank - b.rank })
		chosen = slices.DeleteFunc(chosen, func(m *mutant) bool { return m.bad })
		chosen = chosen[:min(*sample, len(chosen))]
		slices.SortFunc(chosen, func(a, b *mutant) int { return a.id - b.id })
	}
	fmt.Fprintf(out, "%d changes are possible, %d are made, %d of them in the files asked for\n",
		len(all), len(picked), len(chosen))
	if *dry {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s:%d %s bad=%v %s\n\t%s\n%s",
				m.file, m.line, m.fn, m.bad, m.sum, m.key(), m.diff)
		}
		return nil
	}
	if *work == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		*work = filepath.Join(cache, "ccc-mutate", fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:12])
	}
	if err := os.MkdirAll(*work, 0o755); err != nil {
		return err
	}
	binary, err := build(dir, *work, rendered)
	if err != nil {
		return err
	}
	var hands []*worker
	for n := range max(*workers, 1) {
		w, err := newWorker(dir, binary, *work, n)
		if err != nil {
			return err
		}
		defer w.close()
		hands = append(hands, w)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	s := &session{out: out, dir: dir, hands: hands, picked: picked, rendered: rendered, stop: stop}
	find := s.trace
	if *with != "" {
		find = s.given
	}
	if err := find(binary); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d tests are traced after %v\n", len(s.reach), time.Since(began).Round(time.Second))
	if err := s.play(chosen); err != nil {
		return err
	}
	s.summary(chosen)
	fmt.Fprintf(out, "in %v\n", time.Since(began).Round(time.Second))
	return nil
}

func matches(globs, name string) bool {
	return slices.ContainsFunc(strings.Split(globs, ","), func(glob string) bool {
		ok, _ := path.Match(glob, name)
		return ok
	})
}

// build builds the test binary from the rendered files.
func build(dir, into string, rendered map[string][]byte) (string, error) {
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range rendered {
		file := filepath.Join(into, "overlay_"+name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return "", err
		}
		overlay["Replace"][filepath.Join(dir, name)] = file
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(into, "overlay.json"), filepath.Join(into, "mutants.test")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, ".")
	cmd.Dir, cmd.Stderr, cmd.Stdout = dir, os.Stderr, os.Stderr
	return binary, cmd.Run()
}

// A session is one run of the tool.
type session struct {
	out      io.Writer
	dir      string
	hands    []*worker
	picked   []*mutant
	rendered map[string][]byte
	stop     chan os.Signal
	reach    map[string]*reached // by test
	results  map[string]record   // by mutant
	kills    map[string]int      // by test and file, and by test, file and function
	mu       sync.Mutex
	ended    bool
}

// reached is what one test meets.
type reached struct {
	Sum     string   `json:"sum"` // of the rendered files and the test's file
	Seconds float64  `json:"seconds"`
	Keys    []string `json:"keys"`
	meets   map[string]bool
	files   map[string]int // how many of each file
}

// interrupted reports whether the run is to end.
func (s *session) interrupted() bool {
	select {
	case <-s.stop:
		s.ended = true
	default:
	}
	return s.ended
}

// trace finds out which test meets which mutants, as far as that is not known from an earlier run.
func (s *session) trace(binary string) error {
	tests, err := s.listed(binary, *only)
	if err != nil {
		return err
	}
	homes, err := testFiles(s.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(*work, "reach.json")
	known := map[string]*reached{}
	if text, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	sources := sum(s.rendered)
	s.reach = map[string]*reached{}
	var missing []string
	for _, test := range tests {
		home, is := homes[test]
		if !is || skipped.MatchString(test) {
			continue
		}
		want := sum(map[string][]byte{"sources": []byte(sources), "test": home})
		if r := known[test]; r != nil && r.Sum == want {
			s.reach[test] = r
			continue
		}
		s.reach[test] = &reached{Sum: want}
		missing = append(missing, test)
	}
	keys := map[string]string{}
	for _, m := range s.picked {
		keys[strconv.Itoa(m.id)] = m.key()
	}
	err = s.parallel(len(missing), func(w *worker, i int) error {
		if err := w.become(tracing); err != nil {
			return err
		}
		ids, r, err := w.meet(missing[i])
		w.traced = false
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.code != 0 {
			fmt.Fprintf(s.out, "%s fails by itself and is left out\n%s\n", missing[i], last(r.output, 400))
			delete(s.reach, missing[i])
			return nil
		}
		found := s.reach[missing[i]]
		found.Seconds = r.seconds
		for _, id := range ids {
			found.Keys = append(found.Keys, keys[id])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for test, r := range s.reach {
		if r.Seconds == 0 {
			delete(s.reach, test)
			continue
		}
		r.meets, r.files = map[string]bool{}, map[string]int{}
		for _, key := range r.Keys {
			file, _, _ := strings.Cut(key, " ")
			r.meets[key] = true
			r.files[file]++
		}
	}
	maps.Copy(known, s.reach)
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// given takes the tests that -tests asks for as what meets each mutant: new tests are looked at without a
// trace.
func (s *session) given(binary string) error {
	tests, err := s.listed(binary, *with)
	s.reach = map[string]*reached{}
	for _, test := range tests {
		r := &reached{Seconds: 0.01, meets: map[string]bool{}}
		for _, m := range s.picked {
			r.meets[m.key()] = true
		}
		s.reach[test] = r
	}
	return err
}

// listed returns the binary's tests that match the pattern. Each story is one of them: TestStories/NAME.
func (s *session) listed(binary, pattern string) (tests []string, err error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	list := exec.Command(binary, "-test.list", "^(Test|Fuzz)")
	list.Dir = s.dir
	out, err := list.Output()
	for test := range strings.FieldsSeq(string(out)) {
		if test+"/" != storyPrefix {
			tests = append(tests, test)
			continue
		}
		for _, path := range stories(s.dir) {
			tests = append(tests, storyPrefix+strings.TrimSuffix(filepath.Base(path), ".txt"))
		}
	}
	return slices.DeleteFunc(tests, func(test string) bool { return !wanted.MatchString(test) }), err
}

// storyPrefix is what comes before the name of a story in that of its test.
const storyPrefix = "TestStories/"

func stories(dir string) (paths []string) {
	paths, _ = filepath.Glob(filepath.Join(dir, "testdata/stories/*.txt"))
	return paths
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// testFiles returns the text of the file in which each test stands: of a story it is the story's own.
func testFiles(dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			return nil, err
		}
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = text
			}
		}
	}
	for _, path := range stories(dir) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found[storyPrefix+strings.TrimSuffix(filepath.Base(path), ".txt")] = text
	}
	return found, nil
}

func sum(texts map[string][]byte) string {
	h := sha256.New()
	names := []string{}
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(h, "%s %d\n%s", name, len(texts[name]), texts[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}

// parallel calls do with each number below n, in as many goroutines as there are workers, until one fails or
// the run is interrupted.
func (s *session) parallel(n int, do func(w *worker, i int) error) error {
	numbers := make(chan int)
	failed := make(chan error, len(s.hands))
	for _, w := range s.hands {
		go func() {
			var err error
			for i := range numbers {
				if err == nil {
					err = do(w, i)
				}
			}
			failed <- err
		}()
	}
	for i := range n {
		if s.interrupted() {
			break
		}
		numbers <- i
	}
	close(numbers)
	var first error
	for range s.hands {
		if err := <-failed; first == nil {
			first = err
		}
	}
	return first
}

// quick is how many seconds a test takes that is run with every mutant that it meets.
const quick = 0.15

// testsOf returns the tests to run with a mutant. Those come first that have killed others of its function or
// file, that meet much of its file and little else, and that are quick.
func (s *session) testsOf(m *mutant) (chosen []string) {
	var tests []string
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := map[string]float64{}
	for test, r := range s.reach {
		if r.meets[m.key()] || insideCopy.MatchString(m.file) && copyTests.MatchString(test) {
			tests = append(tests, test)
			ofFile := float64(1 + r.files[m.file])
			kills := 1 + s.kills[test+" "+m.file] + 4*s.kills[test+" "+m.file+" "+m.fn]
			cost[test] = r.Seconds * float64(1+len(r.Keys)) / (ofFile * ofFile * float64(kills))
		}
	}
	slices.SortFunc(tests, func(a, b string) int {
		if cost[a] != cost[b] {
			if cost[a] < cost[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	left := each.Seconds()
	for i, test := range tests { // those that do not fit make room for others, and quick ones always run
		seconds := s.reach[test].Seconds
		if i > 0 && seconds > left && seconds > quick {
			continue
		}
		left -= seconds
		chosen = append(chosen, test)
	}
	return chosen
}

// equivalents returns the keys of the mutants that equivalent.txt lists.
func equivalents(list string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(list) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), "  # "); ok {
			found[strings.TrimSpace(key)] = true
		}
	}
	return found
}

// play runs the mutants of which no result is known.
func (s *session) play(chosen []*mutant) error {
	began := time.Now()
	path := filepath.Join(*work, "results.jsonl")
	s.results, s.kills = map[string]record{}, map[string]int{}
	if text, err := os.ReadFile(path); err == nil && !*again {
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var r record
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				s.results[r.Mutant] = r
				s.noteKills(r)
			}
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	tests := map[string][]byte{}
	files, _ := filepath.Glob(filepath.Join(s.dir, "*_test.go"))
	for _, path := range append(files, stories(s.dir)...) {
		if tests[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	testSum, same := sum(tests)+*only, equivalents(equivalentList)
	var todo []*mutant
	for _, m := range chosen {
		r := s.results[m.key()]
		alive := r.Result == "survived" || r.Result == "unmet"
		if *with != "" && !(alive && r.Source == m.sum) {
			continue
		}
		if !m.bad && !same[m.key()] && (r.Source != m.sum || alive && (*with != "" || r.Tests != testSum)) {
			m.before = r
			todo = append(todo, m)
			delete(s.results, m.key())
		}
	}
	// A run that is broken off has been through all functions.
	slices.SortFunc(todo, func(a, b *mutant) int { return a.rank - b.rank })
	return s.parallel(len(todo), func(w *worker, i int) error {
		if *total > 0 && time.Since(began) > *total {
			return nil
		}
		m := todo[i]
		start := time.Now()
		verdict, by, err := s.try(w, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.key(), err)
		}
		r := record{m.key(), m.sum, testSum, verdict, by, time.Since(start).Seconds(), ""}
		if verdict == "survived" || verdict == "unmet" {
			r.Diff = m.diff
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if *with != "" && r.Result != "killed" {
			s.results[m.key()] = m.before
			return nil
		}
		s.results[m.key()] = r
		s.noteKills(r)
		if r.Diff != "" {
			fmt.Fprintf(s.out, "[%d/%d] %s %s:%d %s\n\t%s\n%s", i+1, len(todo), verdict,
				m.file, m.line, m.fn, m.key(), m.diff)
		}
		_, err = file.Write(append(line, '\n'))
		return err
	})
}

func (s *session) noteKills(r record) {
	if r.Result != "killed" {
		return
	}
	place, _, _ := strings.Cut(r.Mutant, ": ")
	file, _, _ := strings.Cut(place, " ")
	for _, test := range strings.Fields(r.By) {
		s.kills[test+" "+file]++
		s.kills[test+" "+place]++
	}
}

// batches are the seconds that the tests of each run of a mutant take, one after the other.
var batches = []float64{1, 5, 15, 30}

// shortest is what a run gets at least, before it counts as one that hangs.
var shortest = 15 * time.Second

// try runs a mutant's tests until one fails twice: machines under load have tests fail once.
func (s *session) try(w *worker, m *mutant) (verdict, by string, err error) {
	tests := s.testsOf(m)
	if len(tests) == 0 {
		return "unmet", "", nil
	}
	if err := w.become(m.id); err != nil {
		return "", "", err
	}
	for batch := 0; len(tests) > 0; batch++ {
		spent, n := 0.0, 0
		for n < len(tests) && (n == 0 || spent < batches[min(batch, len(batches)-1)]) {
			spent += s.reach[tests[n]].Seconds
			n++
		}
		limit := shortest + time.Duration(4*spent*float64(time.Second))
		for _, now := range [][]string{tests[:n], nil} {
			r, err := w.run(firstOf(now, tests[:n]), limit)
			if err != nil {
				return "", "", err
			}
			if r.code == 0 {
				break
			}
			failed := r.failed
			if len(failed) == 0 {
				failed = tests[:n]
			}
			if !r.timedOut {
				if r, err = w.run(failed, limit); err != nil {
					return "", "", err
				}
			} else if now != nil {
				continue
			}
			if r.code != 0 {
				if r.timedOut {
					return "timeout", strings.Join(failed, " "), nil
				}
				return "killed", strings.Join(failed, " "), nil
			}
		}
		tests = tests[n:]
	}
	return "survived", "", nil
}

func firstOf(a, b []string) []string {
	if a != nil {
		return a
	}
	return b
}

// summary prints the figures, by file.
func (s *session) summary(chosen []*mutant) {
	same := equivalents(equivalentList)
	columns := []string{"made", "compiled", "equivalent", "killed", "timeout", "survived", "unmet", "not run"}
	counts, all := map[string]map[string]int{}, map[string]int{}
	names := []string{}
	for _, m := range chosen {
		if counts[m.file] == nil {
			counts[m.file] = map[string]int{}
			names = append(names, m.file)
		}
		what := s.results[m.key()].Result
		switch {
		case m.bad:
			what = ""
		case same[m.key()]:
			what = "equivalent"
		case what == "":
			what = "not run"
		}
		for _, count := range []map[string]int{counts[m.file], all} {
			count["made"]++
			if what != "" {
				count["compiled"]++
				count[what]++
			}
		}
	}
	counts["all"] = all
	fmt.Fprintf(s.out, "%-22s", "")
	for _, column := range columns {
		fmt.Fprintf(s.out, "%11s", column)
	}
	fmt.Fprintln(s.out)
	for _, name := range append(names, "all") {
		fmt.Fprintf(s.out, "%-22s", name)
		for _, column := range columns {
			fmt.Fprintf(s.out, "%11d", counts[name][column])
		}
		fmt.Fprintln(s.out)
	}
	if real := all["compiled"] - all["equivalent"] - all["not run"]; real > 0 {
		fmt.Fprintf(s.out, "%.1f %% survive\n", 100*float64(all["survived"]+all["unmet"])/float64(real))
	}
}
