package main

// The house: which file may know which.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// house lists the files from the ground up, as the package comment of main.go has them. Each knows only files before it,
// so that no two know each other.
var house = mapOf("main.go")

// mapOf returns the files that the package comment of the file at path lists, each at the beginning of a line.
func mapOf(path string) (files []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil { // where the test's program plays ccc; TestHouse misses the files
		return nil
	}
	for line := range strings.Lines(file.Doc.Text()) {
		if name, _, _ := strings.Cut(strings.TrimLeft(line, "\t "), " "); line[0] == '\t' && strings.HasSuffix(name, ".go") {
			files = append(files, name)
		}
	}
	return files
}

// The files are read as for each system, without the standard library: of what comes from there no type is known, but
// all of ccc's own are, with their methods and fields. What each system has of its own, as the start of a copy, belongs
// to those who ask for it.
func TestHouse(t *testing.T) {
	t.Parallel()
	paths, _ := filepath.Glob("*.go")
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	if sorted := slices.Sorted(slices.Values(house)); !slices.Equal(paths, sorted) {
		t.Errorf("the files are\n%q, and the house has\n%q", paths, sorted)
	}
	above := map[string][]string{} // by what is known, and where, the files above that declare it
	for _, others := range []string{"_darwin.go", "_linux.go"} {
		var files []*ast.File
		set := token.NewFileSet()
		for _, path := range paths {
			if strings.HasSuffix(path, others) {
				continue
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			check(t, err)
			files = append(files, file)
		}
		config, uses := types.Config{Importer: emptyPackages{}, Error: func(error) {}}, map[*ast.Ident]types.Object{}
		ours, _ := config.Check("main", set, files, &types.Info{Uses: uses})
		resolved := 0
		for name, object := range uses {
			if object.Pkg() != ours {
				continue
			}
			resolved++
			at, home := set.Position(name.Pos()), set.Position(object.Pos()).Filename
			if slices.Index(house, home) > slices.Index(house, at.Filename) {
				use := fmt.Sprintf("%s knows %s", at, name.Name)
				above[use] = append(above[use], home)
			}
		}
		if resolved < 5000 {
			t.Errorf("without %s only %d names were resolved", others, resolved)
		}
	}
	for use, homes := range above {
		if len(homes) == 1 || homes[0] == homes[1] {
			t.Errorf("%s of %s, which stands above it", use, homes[0])
		}
	}
}

// Each goroutine of ccc's, and what a timer or os/exec calls in one of theirs, defers exitOnPanic first.
func TestPanicsEnd(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for _, path := range house {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		check(t, err)
		want := func(what string, body *ast.BlockStmt, at token.Pos) {
			found[what]++
			if body != nil {
				if first, ok := body.List[0].(*ast.DeferStmt); ok && types.ExprString(first.Call) == "exitOnPanic()" {
					return
				}
			}
			t.Errorf("%s: %s does not begin with defer exitOnPanic()", set.Position(at), what)
		}
		bodyOf := func(e ast.Expr) *ast.BlockStmt {
			if f, ok := e.(*ast.FuncLit); ok {
				return f.Body
			}
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				want("a goroutine", bodyOf(n.Call.Fun), n.Pos())
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); name == "time.AfterFunc" || name == "context.AfterFunc" {
					want("a timer's function", bodyOf(n.Args[1]), n.Pos())
				}
			case *ast.AssignStmt:
				if target, ok := n.Lhs[0].(*ast.SelectorExpr); ok && target.Sel.Name == "Cancel" {
					want("what os/exec calls at the end of a context", bodyOf(n.Rhs[0]), n.Pos())
				}
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Write" {
					want("a Writer", n.Body, n.Pos())
				}
			}
			return true
		})
	}
	if len(found) != 4 {
		t.Errorf("found %v", found)
	}
}

// A text that a test does not want, or a file that it reads, is known elsewhere: to the source, to what tests write, or to
// another expectation. What nobody knows nobody writes, and such an expectation can't fail. Of a text its words count.
func TestExpectations(t *testing.T) {
	t.Parallel()
	type expectation struct {
		at   token.Position
		text string
	}
	var unwanted []expectation
	known := new(strings.Builder)
	isWord := func(r rune) bool { return r == ' ' || unicode.IsLetter(r) }
	set := token.NewFileSet()
	paths, _ := filepath.Glob("*.go")
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, 0)
		check(t, err)
		isUnwanted := map[ast.Expr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				first := len(call.Args)
				if method, isMethod := call.Fun.(*ast.SelectorExpr); isMethod && method.Sel.Name == "read" {
					first = 0
				} else if types.ExprString(call.Fun) == "expectNotIn" {
					first = 3
				}
				for _, argument := range call.Args[first:] {
					isUnwanted[argument] = true
				}
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value)
			switch isReal := strings.HasPrefix(path, "real_"); { // a client has words of its own
			case !isUnwanted[literal]:
				fmt.Fprintln(known, text)
			case !isReal:
				unwanted = append(unwanted, expectation{set.Position(literal.Pos()), text})
			}
			return true
		})
	}
	for _, dir := range []string{"testdata/demo", "testdata/recordings", "testdata/show", "testdata/transcripts"} {
		check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				fmt.Fprintln(known, readPage(t, path))
			}
			return err
		}))
	}
	fmt.Fprintln(known, readPage(t, "testdata/claude"), readPage(t, "supervisor_prompt_default.md"))
	stories, _ := filepath.Glob("testdata/stories/*")
	for _, path := range stories {
		for i, line := range strings.Split(readPage(t, path), "\n") {
			if found := wishPattern().FindStringSubmatch(line); found != nil && found[1] != "" {
				unwanted = append(unwanted, expectation{token.Position{Filename: path, Line: i + 1}, found[3]})
			} else {
				fmt.Fprintln(known, line)
			}
		}
	}
	all := known.String()
	for _, e := range unwanted {
		for _, words := range strings.FieldsFunc(e.text, func(r rune) bool { return !isWord(r) }) {
			if !strings.Contains(all, strings.TrimSpace(words)) {
				t.Errorf("%s: nothing knows %q of %q", e.at, words, e.text)
			}
		}
	}
	if len(unwanted) < 100 {
		t.Errorf("only %d expectations were found", len(unwanted))
	}
}

// emptyPackages imports packages with nothing in them.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
