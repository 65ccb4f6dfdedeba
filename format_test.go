package main

// The format for programs: what log, status and review print with --json has the members that its types have,
// and each of these is documented where it is defined and in both guides.

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A logLine is a line of ccc log --json.
type logLine struct {
	Session string `json:"session_id"`
	entry
}

// A memberSet has members by their paths, as in review.seen.head.
type memberSet map[string]bool

// addType adds the members of a type's JSON.
func (s memberSet) addType(of reflect.Type, under string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			s.addType(field.Type, under)
		case name != "":
			s[under+name] = true
			s.addType(field.Type, under+name+".")
		}
	}
}

// addJSON adds the members of a JSON value.
func (s memberSet) addJSON(value any, under string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			s.addJSON(item, under)
		}
	case map[string]any:
		for name, item := range value {
			if s[under+name] = true; name != "paths" {
				s.addJSON(item, under+name+".")
			}
		}
	}
}

// addText adds the members of JSON values.
func (s memberSet) addText(t *testing.T, text string) memberSet {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var value any
		check(t, d.Decode(&value))
		s.addJSON(value, "")
	}
	return s
}

// copy copies the members under one path to another.
func (s memberSet) copy(from memberSet, path, to string) {
	for name := range from {
		if rest, is := strings.CutPrefix(name, path); is {
			s[to+rest] = true
		}
	}
}

// expectMembers fails the test for each member that one of two sets lacks.
func expectMembers(t *testing.T, what string, got, want memberSet) {
	t.Helper()
	for name := range want {
		if !got[name] {
			t.Errorf("%s lacks %s", what, name)
		}
	}
	for name := range got {
		if !want[name] {
			t.Errorf("%s has %s, which does not exist", what, name)
		}
	}
}

// fill sets all that is in v to something that JSON shows.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
		if v.Type() == reflect.TypeFor[mode]() { // of which no other word is read
			v.SetString(string(modeOn))
		}
	case reflect.Int:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x"), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now()))
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				fill(v.Field(i))
			}
		}
	default:
		panic(fmt.Sprint("nobody fills a ", v.Kind()))
	}
}

// membersIn returns the members that the tables of a page list under the heading of each command: in code in
// their first column.
func membersIn(t *testing.T, page string) map[string]memberSet {
	t.Helper()
	tables := map[string]memberSet{}
	for _, section := range strings.Split(readPage(t, page), "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		command, is := strings.CutSuffix(strings.Trim(heading, "`"), " --json")
		if !is {
			continue
		}
		tables[command] = memberSet{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(text, -1) {
			for _, code := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
				tables[command][code[1]] = true
			}
		}
	}
	return tables
}

func TestFormat(t *testing.T) {
	lines, sessions, reviewed := memberSet{}, memberSet{}, memberSet{}
	lines.addType(reflect.TypeFor[logLine](), "")
	sessions.addType(reflect.TypeFor[summary](), "")
	reviewed.addType(reflect.TypeFor[reviewOfSession](), "")
	for _, page := range pages[1] {
		tables := membersIn(t, page)
		ofLog, ofStatus, ofReview := tables["ccc log"], tables["ccc status"], tables["ccc review"]
		if ofLog == nil || ofStatus == nil || ofReview == nil {
			t.Fatalf("%s lacks a section", page)
		}
		ofLog.copy(ofLog, "seen.", "review.seen.")
		for _, of := range []string{"prompt", "switch", "review", "step", "review.tokens"} {
			ofLog[of] = true // named in the prose, or as what its members are of
		}
		for name := range ofLog {
			if strings.HasPrefix(name, "seen.") {
				delete(ofLog, name)
			}
		}
		ofStatus.copy(ofLog, "review.tokens.", "tokens.")
		ofReview.copy(ofLog, "review.", "")
		ofReview.copy(ofLog, "step.", "runs.")
		expectMembers(t, page+", ccc log --json", ofLog, lines)
		expectMembers(t, page+", ccc status --json", ofStatus, sessions)
		expectMembers(t, page+", ccc review --json", ofReview, reviewed)
	}

	box := newHookBox(t)
	box.write(".claude/projects/x/"+testSession+".jsonl", 0o600, strings.ReplaceAll(
		userLine("1", "", "fix it")+"\n"+agentLine("2", "1", "done")+"\n", `"/work"`, `"`+box.work+`"`))
	box.reviews(allows("well"))
	printed := memberSet{}.addText(t, box.run(30*time.Second, "", "ccc", "review", "--json").stdout)
	for name := range printed {
		if !reviewed[name] {
			t.Errorf("ccc review --json has %s, which does not exist", name)
		}
	}
	for _, name := range strings.Fields("session_id project verdict feedback tools runs refused begun ended") {
		if !printed[name] {
			t.Errorf("ccc review --json lacks %s", name)
		}
	}
	var all reviewOfSession
	fill(reflect.ValueOf(&all).Elem())
	expectMembers(t, "a review of a session in full", memberSet{}.addText(t, string(encodeJSON(all))), reviewed)

	text := ""
	for i := range reflect.TypeFor[entry]().NumField() { // a line for each of its members
		line := entry{Time: now(), Project: "/p"}
		fill(reflect.ValueOf(&line).Elem().Field(i))
		if line.Subagents != nil { // a member beside that one
			line.Unreviewed = unreviewedYet
		}
		text += string(encodeJSON(line)) + "\n"
	}
	box.timelineOf("whole", text)
	expectMembers(t, "ccc log --json", memberSet{}.addText(t, box.ccc("log", "--json", "whole")), lines)
	box.timelineOf("runs",
		began(review{ID: "r"}),
		did(step{Kind: stepCall, Review: "r", Tool: "Read(a)"}))
	expectMembers(t, "ccc status --json", memberSet{}.addText(t, box.ccc("status", "--json")), sessions)
}

// Each member of the format has a comment where it is defined.
func TestFormatComments(t *testing.T) {
	types := strings.Fields("entry prompt switched review outcome tokens tree look step steps summary reviewOfSession")
	known := 0
	for _, path := range []string{"timeline.go", "git.go", "status.go", "review_by_hand.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		check(t, err)
		for _, declaration := range file.Decls {
			general, _ := declaration.(*ast.GenDecl)
			if general == nil || general.Tok != token.TYPE {
				continue
			}
			spec := general.Specs[0].(*ast.TypeSpec)
			fields, isStruct := spec.Type.(*ast.StructType)
			if !isStruct || !slices.Contains(types, spec.Name.Name) {
				continue
			}
			known++
			for _, field := range fields.Fields.List {
				isMember := field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`)
				if isMember && field.Doc == nil && field.Comment == nil {
					t.Errorf("%s: %s of %s has no comment", path, field.Names[0], spec.Name)
				}
			}
		}
	}
	expectIs(t, "the types", known, len(types))
}
