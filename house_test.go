package main

// The house: which file may know which.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// house lists the files from the ground up. Each knows only files before it, so
// that no two know each other.
var house = []string{
	"screen.go", "cli.go", "lines.go", "json.go", "file.go",
	"dirs.go", "messages.go",
	"installed.go", "config.go", "state.go", "transcript.go",
	"settings.go", "provider.go", "process_linux.go", "process_darwin.go", "guard.go", "client.go",
	"try.go", "tryfiles_linux.go", "try_linux.go", "try_darwin.go",
	"verdict.go", "prompt.go", "review.go",
	"event.go", "status.go", "switch.go", "stop.go", "hook.go", "log.go",
	"doctor.go", "demo.go",
	"launch.go", "main.go",
}

func TestHouse(t *testing.T) {
	paths, _ := filepath.Glob("*.go")
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	homes, files := map[string]string{}, map[string]*ast.File{}
	for _, path := range paths {
		if !slices.Contains(house, path) {
			t.Errorf("%s has no place in the house", path)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
		for _, declaration := range file.Decls {
			for _, name := range declared(declaration) {
				if homes[name] == "" || path < homes[name] { // of two for different systems either will do
					homes[name] = path
				}
			}
		}
	}
	for path, file := range files {
		for _, name := range file.Unresolved {
			home := homes[name.Name]
			if home != "" && slices.Index(house, home) > slices.Index(house, path) {
				t.Errorf("%s knows %s of %s, which stands above it", path, name.Name, home)
			}
		}
	}
	if len(files) != len(house) {
		t.Errorf("the house has %d rooms, and there are %d files", len(house), len(files))
	}
}

// declared returns the names that a declaration adds to the package; methods go
// by the name of their type.
func declared(declaration ast.Decl) (names []string) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
