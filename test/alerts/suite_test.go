package alerts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// suite has the tests in a folder.
type suite struct {
	tests map[string]map[string]bool // the literal texts of each Go test, among them the names of its cases
	specs []*regexp.Regexp           // the texts of Ginkgo's specs, with those of their containers
	texts map[string][]string        // the literal texts of fields, by the name of the field
}

// suite reads the tests in a folder. If there are none, its tests are empty.
func (n *names) suite(folder string) *suite {
	if s, read := n.suites[folder]; read {
		return s
	}
	s := &suite{tests: map[string]map[string]bool{}, texts: map[string][]string{}}
	n.suites[folder] = s
	files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go")) // the pattern is valid
	var parsed []*ast.File
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // a file that does not compile has no tests
		}
		parsed = append(parsed, f)
		s.readFile(f)
	}
	for _, f := range parsed { // texts is complete now
		ast.Walk(container{s, ""}, f)
	}
	return s
}

// readFile collects the Go tests and the texts of fields.
func (s *suite) readFile(f *ast.File) {
	for _, d := range f.Decls {
		test, is := d.(*ast.FuncDecl)
		if !is || test.Recv != nil || test.Body == nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		cases := map[string]bool{}
		s.tests[test.Name.Name] = cases
		ast.Inspect(test.Body, func(node ast.Node) bool {
			if e, is := node.(ast.Expr); is {
				if text, is := textOf(e); is {
					cases[text] = true
				}
			}
			return true
		})
	}
	ast.Inspect(f, func(node ast.Node) bool {
		if field, is := node.(*ast.KeyValueExpr); is {
			key, isName := field.Key.(*ast.Ident)
			if text, isText := textOf(field.Value); isName && isText {
				s.texts[key.Name] = append(s.texts[key.Name], text)
			}
		}
		return true
	})
}

// container is an ast.Visitor that collects the specs inside a container of Ginkgo. Its text is a regular expression.
type container struct {
	suite *suite
	text  string
}

// Visit implements ast.Visitor.
func (c container) Visit(node ast.Node) ast.Visitor {
	call, is := node.(*ast.CallExpr)
	if !is || len(call.Args) == 0 {
		return c
	}
	function, is := call.Fun.(*ast.Ident)
	if !is || !slices.Contains([]string{"Describe", "Context", "When", "DescribeTable", "It", "Entry"}, function.Name) {
		return c
	}
	text, is := c.suite.pattern(call.Args[0])
	if !is {
		return nil // nobody knows the texts inside
	}
	if function.Name == "It" || function.Name == "Entry" {
		c.suite.specs = append(c.suite.specs, regexp.MustCompile("^"+c.text+text+"$"))
		return nil
	}
	return container{c.suite, c.text + text + " "}
}

// pattern returns a regular expression for the values of a text: a literal, a sum, fmt.Sprintf with %d, or a field whose
// values are literals of this package.
func (s *suite) pattern(e ast.Expr) (string, bool) {
	if text, is := textOf(e); is {
		return regexp.QuoteMeta(text), true
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		left, isLeft := s.pattern(e.X)
		right, isRight := s.pattern(e.Y)
		return left + right, isLeft && isRight
	case *ast.SelectorExpr:
		var values []string
		for _, text := range s.texts[e.Sel.Name] {
			values = append(values, regexp.QuoteMeta(text))
		}
		return "(?:" + strings.Join(values, "|") + ")", len(values) > 0
	case *ast.CallExpr:
		function, is := e.Fun.(*ast.SelectorExpr)
		if is && function.Sel.Name == "Sprintf" && len(e.Args) > 0 {
			format, is := s.pattern(e.Args[0])
			return strings.ReplaceAll(format, "%d", `\d+`), is
		}
	}
	return "", false
}
