package main

// The house: which file may know which, and how wide a line may be.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// house lists the files from the ground up, as the package comment of main.go has them. Each knows only files
// before it, so that no two know each other. It is empty where the test's program plays ccc.
var house = func() (files []string) {
	text, _ := os.ReadFile("main.go")
	for _, found := range regexp.MustCompile(`(?m)^//\t(\S+\.go) `).FindAllSubmatch(text, -1) {
		files = append(files, string(found[1]))
	}
	return files
}()

// The files are read as for each system, without the standard library: of what comes from there no type is
// known, but all of ccc's own are, with their methods and fields. What each system has of its own, as the
// start of a copy, belongs to those who ask for it.
func TestHouse(t *testing.T) {
	t.Parallel()
	paths, _ := filepath.Glob("*.go")
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	expectEqual(t, "the files of the house", slices.Sorted(slices.Values(house)), paths)
	above := map[string][]string{} // by what is known, and where, the files above that declare it
	for _, others := range []string{"_darwin.go", "_linux.go"} {
		var files []*ast.File
		set := token.NewFileSet()
		for _, path := range paths {
			if !strings.HasSuffix(path, others) {
				file, err := parser.ParseFile(set, path, nil, 0)
				check(t, err)
				files = append(files, file)
			}
		}
		config := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
		uses := map[*ast.Ident]types.Object{}
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
		expectIs(t, fmt.Sprintf("without %s %d names were resolved", others, resolved), resolved > 5000, true)
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
	found := map[string]bool{}
	for _, path := range house {
		inspect(t, path, func(n ast.Node) {
			what := ""
			var begins ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				what, begins = "a goroutine", n.Call.Fun
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); name == "time.AfterFunc" || name == "context.AfterFunc" {
					what, begins = "a timer's function", n.Args[1]
				}
			case *ast.AssignStmt:
				if target, ok := n.Lhs[0].(*ast.SelectorExpr); ok && target.Sel.Name == "Cancel" {
					what, begins = "what os/exec calls at the end of a context", n.Rhs[0]
				}
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Write" {
					what, begins = "a Writer", &ast.FuncLit{Body: n.Body}
				}
			}
			if what == "" {
				return
			}
			found[what] = true
			if f, ok := begins.(*ast.FuncLit); ok {
				first, isDefer := f.Body.List[0].(*ast.DeferStmt)
				if isDefer && types.ExprString(first.Call) == "exitOnPanic()" {
					return
				}
			}
			t.Errorf("%s: %s, %s, does not defer exitOnPanic() first", path, what, types.ExprString(begins))
		})
	}
	expectIs(t, fmt.Sprint("the kinds of ", found), len(found), 4)
}

// No line is wider than 110 columns. A tab has 4.
func TestHouseWidth(t *testing.T) {
	paths, _ := filepath.Glob("*.go")
	tools, _ := filepath.Glob("testdata/*/*.go")
	for _, path := range append(paths, tools...) {
		for i, line := range strings.Split(readPage(t, path), "\n") {
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > 110 {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
	}
}

// emptyPackages imports packages with nothing in them.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
