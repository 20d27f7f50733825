package alerts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"varve.dev/varve/engine/sample"
)

const docs = root + "/docs"

// names are the names that exist in this repository. Each is read once.
type names struct {
	metrics       map[string]metric
	alerts        map[string]rule
	constants     map[string]map[string]bool // values of constants of api/v1alpha1, by the prefix of their names
	marks, losses map[string]bool            // kinds of marks, and reasons of marks of losses
	sources       map[string]string          // Go files without tests, by folder
	suites        map[string]*suite          // by folder
	sections      map[string]map[string]bool // anchors of the headings of a Markdown file, by its path
}

func newNames(t *testing.T) *names {
	t.Helper()
	n := &names{
		metrics: metrics(t), alerts: load(t), marks: map[string]bool{}, losses: map[string]bool{},
		sources: map[string]string{}, suites: map[string]*suite{}, sections: map[string]map[string]bool{},
	}
	n.constants = constantsOf(t, filepath.Join(root, "api/v1alpha1"), "Kind", "Condition", "Reason")
	for k := range sample.MarkKind(255) {
		if k.Valid() {
			n.marks[k.String()] = true
		}
	}
	for r := range sample.NumReasons {
		n.losses[sample.Reason(r).String()] = sample.Reason(r).Loss()
	}
	return n
}

// constantsOf returns the values of the text constants of a package, by the prefix of their names.
func constantsOf(t *testing.T, dir string, prefixes ...string) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]bool{}
	for _, prefix := range prefixes {
		all[prefix] = map[string]bool{}
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, name := range spec.Names {
				for _, prefix := range prefixes {
					if text, is := textOf(spec.Values[i]); is && strings.HasPrefix(name.Name, prefix) {
						all[prefix][text] = true
					}
				}
			}
			return true
		})
	}
	return all
}

// textOf returns the value of a literal text.
func textOf(e ast.Expr) (string, bool) {
	literal, is := e.(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// source reports whether the code in a folder, without its tests, has a text: as a whole literal, or before a colon in one.
func (n *names) source(folder, text string) bool {
	all, read := n.sources[folder]
	if !read {
		var b strings.Builder
		_ = filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, _ error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				file, _ := os.ReadFile(path) // a file that cannot be read lacks the text
				b.Write(file)
			}
			return nil
		})
		all = b.String()
		n.sources[folder] = all
	}
	return strings.Contains(all, `"`+text+`"`) || strings.Contains(all, `"`+text+`: `)
}

var (
	alertName = regexp.MustCompile(`\bVarve[A-Z]\w*`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// checkAlerts checks the names of alerts anywhere on a page.
func (n *names) checkAlerts(page string) (problems []string) {
	for _, name := range alertName.FindAllString(page, -1) {
		if _, exists := n.alerts[name]; !exists {
			problems = append(problems, "there is no alert "+name)
		}
	}
	return problems
}

// checkLinks checks that the files and sections exist to which a page in docs links.
func (n *names) checkLinks(page string) (problems []string) {
	for _, m := range link.FindAllStringSubmatch(page, -1) {
		file, section, hasSection := strings.Cut(m[1], "#")
		if strings.Contains(file, "://") {
			continue
		}
		sections := n.sectionsOf(file, page)
		if sections == nil {
			problems = append(problems, "there is no file "+file)
		} else if hasSection && !sections[section] {
			problems = append(problems, filepath.Join("docs", file)+" has no section #"+section)
		}
	}
	return problems
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// sectionsOf returns the anchors of the headings of a file, or nil if it does not exist. Without the name of a file it
// returns those of a page.
func (n *names) sectionsOf(file, page string) map[string]bool {
	if all, read := n.sections[file]; read && file != "" {
		return all
	}
	if file != "" {
		path := filepath.Join(docs, file)
		info, err := os.Stat(path)
		if err != nil {
			return nil
		}
		page = ""
		if !info.IsDir() {
			text, _ := os.ReadFile(path) // a file that cannot be read has no sections
			page = string(text)
		}
	}
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		all[anchor(m[1])] = true
	}
	if file != "" {
		n.sections[file] = all
	}
	return all
}

// anchor returns the name that GitHub gives to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
