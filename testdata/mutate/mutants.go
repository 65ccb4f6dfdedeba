package main

// The mutants of a package: which small changes there are, and a source that holds all of them at once.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of the package.
type mutant struct {
	id     int
	file   string // its name without a directory
	fn     string // the function, method (T.m), variable or constant
	line   int
	sum    string // of the function's text
	old    string // what is changed, in one line
	new    string
	diff   string
	edits  []edit // each holds the change; more than one for a constant
	rank   int    // in the order of pick
	bad    bool   // does not compile
	before record // what was known of it
}

// key names a mutant in results and in the list of equivalent ones, without a line number.
func (m *mutant) key() string { return fmt.Sprintf("%s %s: %s → %s", m.file, m.fn, m.old, m.new) }

// An edit puts text in the place of an expression or a statement.
type edit struct {
	file     *source
	from, to int
	kind     string // the type of the expression, "" for a statement
	text     string
}

type source struct {
	name string
	text []byte
	tree *ast.File
}

// A program is the package, parsed and with its types.
type program struct {
	dir     string
	set     *token.FileSet
	files   []*source
	info    *types.Info
	imports types.Importer
	name    string
}

// load reads the package in dir as this system builds it.
func load(dir string) (*program, error) {
	p := &program{dir: dir, set: token.NewFileSet()}
	var listed struct {
		Name    string
		GoFiles []string
	}
	if err := goList(dir, &listed, "list", "-json=Name,GoFiles", "."); err != nil {
		return nil, err
	}
	p.name = listed.Name
	var trees []*ast.File
	for _, name := range listed.GoFiles {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(p.set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files, trees = append(p.files, &source{name, text, tree}), append(trees, tree)
	}
	exports, err := exportData(dir)
	if err != nil {
		return nil, err
	}
	p.imports = importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: p.imports}
	_, err = config.Check(p.name, p.set, trees, p.info)
	return p, err
}

func goList(dir string, into any, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return json.Unmarshal(out, into)
}

// exportData returns where the compiled packages are that this one imports.
func exportData(dir string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".",
		"os", "strconv", "sync/atomic")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[path] = file
		}
	}
	return found, err
}

// A finder collects the mutants of one function, variable or constant.
type finder struct {
	*program
	file  *source
	fn    string
	stack []ast.Node
	found []*mutant
}

// mutants returns all mutants of the files that take reports true for. Those of one function stand together.
func (p *program) mutants(take func(file string) bool) (all []*mutant) {
	for _, file := range p.files {
		if !take(file.name) {
			continue
		}
		for _, decl := range file.tree.Decls {
			f := &finder{program: p, file: file}
			whole := sum(map[string][]byte{"": file.text[f.offset(decl.Pos()):f.offset(decl.End())]})
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				f.fn = decl.Name.Name
				if decl.Recv != nil {
					f.fn = strings.TrimLeft(types.ExprString(decl.Recv.List[0].Type), "*") + "." + f.fn
				}
				f.walk(decl)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
						f.fn = value.Names[0].Name
						f.walk(value)
					}
				}
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
					for _, spec := range decl.Specs {
						for _, name := range spec.(*ast.ValueSpec).Names {
							f.constant(name)
						}
					}
				}
				return true
			})
			for _, m := range f.found {
				m.sum = whole
			}
			all = append(all, f.found...)
		}
	}
	seen := map[string]int{}
	for _, m := range all {
		key := m.key()
		if seen[key]++; seen[key] > 1 {
			m.new += fmt.Sprintf(" (%d)", seen[key])
		}
	}
	return all
}

func (f *finder) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			f.stack = f.stack[:len(f.stack)-1]
			return true
		}
		f.node(n)
		f.stack = append(f.stack, n)
		return true
	})
}

func (f *finder) offset(at token.Pos) int { return f.set.Position(at).Offset }

func (f *finder) src(from, to token.Pos) string {
	return string(f.file.text[f.offset(from):f.offset(to)])
}

func (f *finder) text(n ast.Node) string { return f.src(n.Pos(), n.End()) }

// parent returns the node that many levels above the one that is visited.
func (f *finder) parent(level int) ast.Node {
	if level > len(f.stack) {
		return nil
	}
	return f.stack[len(f.stack)-level]
}

// add adds the mutant that has text in the place of whole.
func (f *finder) add(whole ast.Node, kind, text string) { f.addPart(whole, kind, text, whole, text) }

// addPart is add for a change that is best shown as one of a part of whole.
func (f *finder) addPart(whole ast.Node, kind, text string, part ast.Node, partText string) {
	line := f.set.Position(part.Pos()).Line
	m := &mutant{file: f.file.name, fn: f.fn, line: line, old: oneLine(f.text(part)), new: oneLine(partText),
		edits: []edit{{f.file, f.offset(whole.Pos()), f.offset(whole.End()), kind, text}},
		diff:  diffOf(f.file.text, f.offset(part.Pos()), f.offset(part.End()), partText)}
	f.found = append(f.found, m)
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:120]) + "…"
	}
	if text == "" {
		return "nothing"
	}
	return text
}

// diffOf returns the lines of text that hold from to to, and those with the new text there.
func diffOf(text []byte, from, to int, now string) string {
	start := bytes.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if i := bytes.IndexByte(text[to:], '\n'); i >= 0 {
		end = to + i
	}
	mark := func(sign, lines string) string {
		return "\t" + sign + strings.ReplaceAll(lines, "\n", "\n\t"+sign) + "\n"
	}
	return mark("-", string(text[start:end])) + mark("+", string(text[start:from])+now+string(text[to:end]))
}

func (f *finder) typeOf(e ast.Expr) types.Type {
	if t := f.info.Types[e].Type; t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// expr adds the mutant that has text in the place of e.
func (f *finder) expr(e ast.Expr, text string) { f.exprPart(e, text, e, text) }

func (f *finder) exprPart(e ast.Expr, text string, part ast.Node, partText string) {
	if kind, ok := f.typeName(f.file, f.typeOf(e)); ok {
		f.addPart(e, kind, text, part, partText)
	}
}

// typeName is the name of t in file, if it has one there.
func (f *finder) typeName(file *source, t types.Type) (string, bool) {
	if basic, ok := t.(*types.Basic); ok && basic.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	ok := t != types.Typ[types.Invalid] && t != types.Typ[types.UntypedNil]
	name := types.TypeString(t, func(of *types.Package) string {
		if of.Path() == f.name {
			return ""
		}
		for _, spec := range file.tree.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == of.Path() {
				return of.Name()
			}
		}
		ok = false
		return of.Name()
	})
	return name, ok
}

// isListed reports whether the node so far above stands in a list of statements: not before a condition.
func (f *finder) isListed(above int) bool {
	_, isBlock := f.parent(above).(*ast.BlockStmt)
	_, isCase := f.parent(above).(*ast.CaseClause)
	return isBlock || isCase
}

// stmt adds the mutant that has text in the place of s, if s stands in a list of statements.
func (f *finder) stmt(s ast.Stmt, text string) {
	switch above := f.parent(1).(type) {
	case *ast.CommClause:
		if above.Comm == s {
			return
		}
	case *ast.BlockStmt, *ast.CaseClause:
	default:
		return
	}
	f.add(s, "", text)
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}
func isInt(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}
func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
func isDuration(t types.Type) bool { return t.String() == "time.Duration" }
func isError(t types.Type) bool    { return t.String() == "error" }

var swapped = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

func (f *finder) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.expr(n.Cond, "false")
		if !f.isErrCheck(n.Cond) {
			f.expr(n.Cond, "true")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.expr(n.Cond, "false")
			f.stmt(n, "")
		}
	case *ast.RangeStmt:
		f.stmt(n, "")
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if (n.Name == "true" || n.Name == "false") && isBool(f.typeOf(n)) {
			f.expr(n, strconv.FormatBool(n.Name == "false"))
		}
	case *ast.ReturnStmt:
		f.results(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !isName(call.Fun, "exitOnPanic", "panic") {
			f.stmt(n, "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.stmt(n, "")
		}
		for tok, other := range map[token.Token]string{token.ADD_ASSIGN: " -= ", token.SUB_ASSIGN: " += "} {
			if n.Tok == tok && isInt(f.typeOf(n.Lhs[0])) {
				f.stmt(n, f.text(n.Lhs[0])+other+f.text(n.Rhs[0]))
			}
		}
	case *ast.IncDecStmt, *ast.SendStmt:
		f.stmt(n.(ast.Stmt), "")
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			f.stmt(n, "")
		}
	case *ast.DeferStmt:
		if !isName(n.Call.Fun, "exitOnPanic", "Close") {
			f.stmt(n, "")
		}
	case *ast.CaseClause:
		f.caseValues(n)
		f.order(n.Body)
	case *ast.CallExpr:
		f.arguments(n)
		f.callee(n)
		f.wrapper(n)
	case *ast.CompositeLit:
		f.elements(n)
	case *ast.BlockStmt:
		f.order(n.List)
	}
}

// isName reports whether e is one of these names, or ends with one.
func isName(e ast.Expr, names ...string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return slices.Contains(names, e.Name)
	case *ast.SelectorExpr:
		return slices.Contains(names, e.Sel.Name)
	}
	return false
}

// isErrCheck reports whether e is err != nil.
func (f *finder) isErrCheck(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isName(b.Y, "nil") && isError(f.typeOf(b.X))
}

func (f *finder) binary(n *ast.BinaryExpr) {
	_, isCondition := f.parent(1).(*ast.IfStmt)
	other, ok := swapped[n.Op]
	isSum := n.Op == token.ADD || n.Op == token.SUB
	if !ok || isCondition && f.isErrCheck(n) || isSum && !isInt(f.typeOf(n)) || f.info.Types[n].Value != nil {
		return
	}
	text := f.src(n.Pos(), n.OpPos) + other.String() + f.src(n.OpPos+token.Pos(len(n.Op.String())), n.End())
	f.expr(n, text)
	if n.Op == token.LAND || n.Op == token.LOR {
		for _, e := range []ast.Expr{n.X, n.Y} {
			f.expr(n, f.text(e)) // without the other operand
			if _, isBinary := e.(*ast.BinaryExpr); !isBinary {
				f.expr(e, "!("+f.text(e)+")")
			}
		}
	}
}

func (f *finder) literal(n *ast.BasicLit) {
	for _, above := range f.stack {
		switch above := above.(type) {
		case *ast.ImportSpec, *ast.Field:
			return
		case *ast.GenDecl:
			if above.Tok == token.CONST {
				return
			}
		case *ast.CallExpr:
			if isName(above.Fun, "Errorf", "New") {
				return
			}
		}
	}
	t := f.typeOf(n)
	_, inCase := f.parent(1).(*ast.CaseClause)
	switch {
	case inCase || isDuration(t):
	case n.Kind == token.INT && isInt(t):
		f.expr(n, n.Value+" + 1")
	case n.Kind == token.STRING && isString(t):
		value, _ := strconv.Unquote(n.Value)
		above, isBinary := f.parent(1).(*ast.BinaryExpr)
		compared := isBinary && (above.Op == token.EQL || above.Op == token.NEQ)
		if !strings.ContainsAny(value, " \n。，") && !(compared && value == "") {
			f.expr(n, strconv.Quote(value+"x"))
		}
	}
}

// constant adds the mutant that changes a constant wherever it is used.
func (f *finder) constant(name *ast.Ident) {
	object, ok := f.info.Defs[name].(*types.Const)
	if !ok || isDuration(object.Type()) {
		return
	}
	change := ""
	switch value := object.Val(); value.Kind() {
	case constant.Int:
		change = name.Name + " + 1"
	case constant.String:
		if text := constant.StringVal(value); strings.ContainsAny(text, " \n。，") {
			return
		}
		change = name.Name + ` + "x"`
	default:
		return
	}
	saved := f.fn
	f.fn = name.Name
	f.addPart(name, "", "", name, change)
	m := f.found[len(f.found)-1]
	f.fn, m.edits = saved, nil
	for _, file := range f.files {
		ast.Inspect(file.tree, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				return false
			}
			if u, ok := n.(*ast.Ident); ok && f.info.Uses[u] == object {
				if kind, ok := f.typeName(file, f.typeOf(u)); ok && !strings.HasPrefix(kind, "time.") {
					m.edits = append(m.edits, edit{file, f.offset(u.Pos()), f.offset(u.End()), kind, change})
				}
			}
			return true
		})
	}
	if len(m.edits) == 0 {
		f.found = f.found[:len(f.found)-1]
	}
}

// results adds a return of zero values, and one without the error.
func (f *finder) results(n *ast.ReturnStmt) {
	var signature *types.Signature
	for _, above := range f.stack { // the innermost function is the last
		switch above := above.(type) {
		case *ast.FuncDecl:
			signature = f.info.Defs[above.Name].Type().(*types.Signature)
		case *ast.FuncLit:
			signature = f.typeOf(above).(*types.Signature)
		}
	}
	if len(n.Results) == 0 || signature == nil {
		return
	}
	var zeros []string
	for v := range signature.Results().Variables() {
		name, ok := f.typeName(f.file, v.Type())
		if !ok {
			return
		}
		zeros = append(zeros, zeroOf(v.Type(), name))
	}
	now, was := "return "+strings.Join(zeros, ", "), f.text(n)
	if now != was && !(len(n.Results) == 1 && isName(n.Results[0], "true", "false")) {
		f.stmt(n, now)
	}
	last := n.Results[len(n.Results)-1]
	if len(n.Results) == len(zeros) && len(zeros) > 1 && isError(f.typeOf(last)) {
		if text := f.src(n.Pos(), last.Pos()) + "nil"; text != now {
			f.stmt(n, text)
		}
	}
}

func zeroOf(t types.Type, name string) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case isBool(t):
			return "false"
		case isString(t):
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
		return "nil"
	case *types.Struct, *types.Array:
		return "*new(" + name + ")"
	}
	return "nil"
}

// caseValues adds a mutant for each value of a case that is then met by nothing.
func (f *finder) caseValues(n *ast.CaseClause) {
	above, ok := f.parent(2).(*ast.SwitchStmt)
	if !ok {
		return
	}
	for _, e := range n.List {
		t := f.typeOf(e)
		switch {
		case above.Tag == nil:
			f.expr(e, "false")
		case isString(t):
			f.expr(e, `"\x00never"`)
		case isInt(t):
			f.expr(e, "99999")
		}
	}
}

// inAnyOrder are functions for which the order of arguments is nothing, or is only that of words or options.
var inAnyOrder = []string{"min", "max", "SameFile", "sameFile", "DeepEqual", "Equal", "EqualFold", "sameJSON",
	"output", "lines"}

// arguments adds a call with two arguments of one type swapped.
func (f *finder) arguments(n *ast.CallExpr) {
	signature, ok := f.typeOf(n.Fun).Underlying().(*types.Signature)
	if !ok || n.Ellipsis.IsValid() || isName(n.Fun, inAnyOrder...) {
		return
	}
	for i := range len(n.Args) - 1 {
		a, b := n.Args[i], n.Args[i+1]
		fixed := signature.Params().Len()
		if signature.Variadic() {
			fixed--
		}
		if !types.Identical(types.Default(f.typeOf(a)), types.Default(f.typeOf(b))) ||
			f.text(a) == f.text(b) || (i < fixed) != (i+1 < fixed) {
			continue
		}
		part := f.text(b) + f.src(a.End(), b.Pos()) + f.text(a)
		text := f.src(n.Pos(), a.Pos()) + part + f.src(b.End(), n.End())
		if s, ok := f.parent(1).(*ast.ExprStmt); ok {
			if !f.isListed(2) {
				continue
			}
			f.addPart(s, "", text, n, text)
		} else if signature.Results().Len() > 0 {
			f.exprPart(n, text, n, text)
		}
	}
}

// callee adds a call of the next function, by name, that the file calls and that has the same signature: with
// a receiver the next method of its type.
func (f *finder) callee(n *ast.CallExpr) {
	called := f.function(n)
	if called == nil {
		return
	}
	signature, others := called.Type().(*types.Signature), map[string]bool{}
	if signature.TypeParams() != nil || signature.Results().Len() == 0 {
		return
	}
	ast.Inspect(f.file.tree, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if other := f.function(call); other != nil && other != called {
				s := other.Type().(*types.Signature)
				sameReceiver := s.Recv() == nil && signature.Recv() == nil || s.Recv() != nil &&
					signature.Recv() != nil && types.Identical(s.Recv().Type(), signature.Recv().Type())
				if sameReceiver && types.Identical(s, signature) {
					others[f.calleeText(call, n)] = true
				}
			}
		}
		return true
	})
	names := slices.Sorted(maps.Keys(others))
	if len(names) == 0 {
		return
	}
	i, _ := slices.BinarySearch(names, f.text(n.Fun))
	other := names[i%len(names)]
	f.exprPart(n, other+f.src(n.Fun.End(), n.End()), n.Fun, other)
}

// calleeText is what calls in the place of n's function the one that call does: a method of n's own value.
func (f *finder) calleeText(call, n *ast.CallExpr) string {
	if to, ok := call.Fun.(*ast.SelectorExpr); ok && f.function(n).Type().(*types.Signature).Recv() != nil {
		return f.text(n.Fun.(*ast.SelectorExpr).X) + "." + to.Sel.Name
	}
	return f.text(call.Fun)
}

// function returns the function or method that n calls by its name, or nil.
func (f *finder) function(n *ast.CallExpr) *types.Func {
	name, ok := n.Fun.(*ast.Ident)
	if selector, isSelector := n.Fun.(*ast.SelectorExpr); isSelector {
		name, ok = selector.Sel, true
	}
	if !ok {
		return nil
	}
	called, _ := f.info.Uses[name].(*types.Func)
	return called
}

// wrapper adds the argument alone of a call that has one, of the type that the call has.
func (f *finder) wrapper(n *ast.CallExpr) {
	if len(n.Args) == 1 && !n.Ellipsis.IsValid() && types.Identical(f.typeOf(n), f.typeOf(n.Args[0])) {
		f.expr(n, f.text(n.Args[0]))
	}
}

// elements adds a list or map without each of its elements.
func (f *finder) elements(n *ast.CompositeLit) {
	if _, isStruct := f.typeOf(n).Underlying().(*types.Struct); isStruct || n.Type == nil {
		return
	}
	for i, e := range n.Elts {
		from, to := e.Pos(), n.Rbrace
		if i+1 < len(n.Elts) {
			to = n.Elts[i+1].Pos()
		} else if i > 0 {
			from = n.Elts[i-1].End()
		}
		before := len(f.found)
		f.exprPart(n, f.src(n.Pos(), from)+f.src(to, n.End()), e, "")
		for _, m := range f.found[before:] { // with its comma
			m.diff = diffOf(f.file.text, f.offset(from), f.offset(to), "")
		}
	}
}

// order adds the list with each two neighbours changed that both call something, of which the second needs
// nothing that the first declares.
func (f *finder) order(list []ast.Stmt) {
	for i := range len(list) - 1 {
		a, b := list[i], list[i+1]
		if !f.calls(a) || !f.calls(b) || f.declares(a, b) || i+2 == len(list) && mayReturn(b) {
			continue
		}
		part := f.text(b) + f.src(a.End(), b.Pos()) + f.text(a)
		whole, both := stretch{list[0].Pos(), list[len(list)-1].End()}, stretch{a.Pos(), b.End()}
		f.addPart(whole, "", f.src(whole.from, a.Pos())+part+f.src(b.End(), whole.to), both, part)
	}
}

// stretch is a node that ends where another one does.
type stretch struct{ from, to token.Pos }

func (s stretch) Pos() token.Pos { return s.from }
func (s stretch) End() token.Pos { return s.to }

// mayReturn reports whether s can be the last statement of a function with results.
func mayReturn(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IfStmt:
		return s.Else != nil
	case *ast.ForStmt:
		return s.Cond == nil
	case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return true
	}
	return false
}

// calls reports whether s calls something and goes on to what is behind it.
func (f *finder) calls(s ast.Stmt) (does bool) {
	switch s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.LabeledStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
		return false
	}
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		does = does || ok && !isName(call.Fun, "exitOnPanic", "Helper")
		return !does
	})
	return does
}

// declares reports whether b uses what a declares.
func (f *finder) declares(a, b ast.Stmt) (does bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			if used := f.info.Uses[name]; used != nil && a.Pos() <= used.Pos() && used.Pos() < a.End() {
				does = true
			}
		}
		return !does
	})
	return does
}

// pick returns at most n mutants, none of them without a place in the order that seed gives: of each function
// the first ones come first, and a function that can be changed in four times as many ways has twice as many.
func pick(all []*mutant, n int, seed string) []*mutant {
	hash := func(text string) uint64 {
		h := fnv.New64a()
		io.WriteString(h, seed+"\x00"+text)
		return h.Sum64() * 0x9E3779B97F4A7C15
	}
	functions := map[string][]*mutant{}
	for _, m := range all {
		functions[m.file+" "+m.fn] = append(functions[m.file+" "+m.fn], m)
	}
	type placed struct {
		m     *mutant
		place float64
	}
	var order []placed
	for name, ms := range functions {
		slices.SortFunc(ms, func(a, b *mutant) int {
			if hash(a.key()) < hash(b.key()) {
				return -1
			}
			return 1
		})
		shift := float64(hash(name)>>11) / (1 << 53)
		for i, m := range ms {
			order = append(order, placed{m, (float64(i) + shift) / root(len(ms))})
		}
	}
	slices.SortFunc(order, func(a, b placed) int {
		switch {
		case a.place != b.place && a.place < b.place:
			return -1
		case a.place != b.place:
			return 1
		}
		return strings.Compare(a.m.key(), b.m.key())
	})
	picked := make([]*mutant, 0, n)
	for _, p := range order[:min(n, len(order))] {
		p.m.rank = len(picked)
		picked = append(picked, p.m)
	}
	slices.SortStableFunc(picked, func(a, b *mutant) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	for i, m := range picked {
		m.id = i + 1
	}
	return picked
}

func root(n int) float64 {
	r := 1.0
	for range 20 {
		r = (r + float64(n)/r) / 2
	}
	return r
}

// A group is the edits of one place.
type group struct {
	from, to int
	kind     string
	edits    map[int]string // by the mutant's id
}

// A rendering is a source that holds many mutants, each behind a condition, and where in it each group
// stands.
type rendering struct {
	out   bytes.Buffer
	spans []span
}

type span struct {
	from, to int
	ids      []int
}

func (r *rendering) render(text []byte, from, to int, groups []*group) {
	for len(groups) > 0 {
		g := groups[0]
		inner := 1
		for inner < len(groups) && groups[inner].from < g.to {
			inner++
		}
		r.out.Write(text[from:g.from])
		start := r.out.Len()
		ids := []int{}
		for id := range g.edits {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		if g.kind == "" {
			for _, id := range ids {
				r.alternative(id, "if mutantOn(%d) { %s } else ", g.edits[id])
			}
			r.out.WriteString("{ ")
			r.render(text, g.from, g.to, groups[1:inner])
			r.out.WriteString(" }")
		} else {
			fmt.Fprintf(&r.out, "func() %s { ", g.kind)
			for _, id := range ids {
				r.alternative(id, "if mutantOn(%d) { return %s }; ", g.edits[id])
			}
			r.out.WriteString("return ")
			r.render(text, g.from, g.to, groups[1:inner])
			r.out.WriteString(" }()")
		}
		r.spans = append(r.spans, span{start, r.out.Len(), ids})
		from, groups = g.to, groups[inner:]
	}
	r.out.Write(text[from:to])
}

// alternative writes the text of one mutant.
func (r *rendering) alternative(id int, format, text string) {
	start := r.out.Len()
	fmt.Fprintf(&r.out, format, id, text)
	r.spans = append(r.spans, span{start, r.out.Len(), []int{id}})
}

// renderFile returns the file with all mutants that compile.
func renderFile(file *source, picked []*mutant) *rendering {
	var groups []*group
	for _, m := range picked {
		for _, e := range m.edits {
			if m.bad || e.file != file {
				continue
			}
			i := slices.IndexFunc(groups, func(g *group) bool {
				return g.from == e.from && g.to == e.to && (g.kind == "") == (e.kind == "")
			})
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{e.from, e.to, e.kind, map[int]string{}})
			}
			groups[i].edits[m.id] = e.text
		}
	}
	slices.SortFunc(groups, func(a, b *group) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.to != b.to:
			return b.to - a.to
		}
		return strings.Compare(a.kind, b.kind) // a statement is around an expression
	})
	r := &rendering{}
	r.render(file.text, 0, len(file.text), groups)
	return r
}

// renderAll returns all files with the mutants in them. It marks the mutants as bad with which they do not
// compile.
func (p *program) renderAll(picked []*mutant) (map[string][]byte, error) {
	for {
		set := token.NewFileSet()
		files, rendered := map[string]*rendering{}, map[string][]byte{}
		var trees []*ast.File
		for _, file := range p.files {
			r := renderFile(file, picked)
			files[file.name], rendered[file.name] = r, r.out.Bytes()
			tree, err := parser.ParseFile(set, file.name, r.out.Bytes(), parser.SkipObjectResolution)
			if err != nil {
				return rendered, err
			}
			trees = append(trees, tree)
		}
		rendered[switchFile] = []byte("package " + p.name + "\n" + switchSource)
		tree, err := parser.ParseFile(set, switchFile, rendered[switchFile], 0)
		if err != nil {
			return rendered, err
		}
		byID := map[int]*mutant{}
		for _, m := range picked {
			byID[m.id] = m
		}
		var lost error
		errors := 0
		config := types.Config{Importer: p.imports, Error: func(err error) {
			errors++
			e := err.(types.Error)
			at := set.Position(e.Pos)
			var inner *span
			if r := files[at.Filename]; r != nil {
				for i, s := range r.spans {
					if s.from <= at.Offset && at.Offset < s.to &&
						(inner == nil || s.to-s.from < inner.to-inner.from) {
						inner = &r.spans[i]
					}
				}
			}
			guilty := []*span{inner}
			if inner == nil { // the error is of an expression with mutants in it
				guilty = nil
				if r := files[at.Filename]; r != nil {
					end := at.Offset + bytes.IndexByte(r.out.Bytes()[at.Offset:], '\n')
					for i, s := range r.spans {
						if at.Offset <= s.from && s.from < end {
							guilty = append(guilty, &r.spans[i])
						}
					}
				}
			}
			if len(guilty) == 0 {
				lost = err
			}
			for _, s := range guilty {
				for _, id := range s.ids {
					byID[id].bad = true
				}
			}
		}}
		config.Check(p.name, set, append(trees, tree), nil)
		if errors == 0 || lost != nil {
			return rendered, lost
		}
	}
}
