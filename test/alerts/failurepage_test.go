package alerts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// columns are those of each table of docs/failure-modes.md.
var columns = []string{"failure", "capture and samples", "readers", "shown by", "what to do", "test"}

const (
	shownBy = 3 // index of a column
	testOf  = 5
)

// checkPage returns the number of rows of a page of failure modes, and what is wrong with them. Each row has six cells.
// The column "shown by" has only names of the forms below, and the last column has only names of tests.
func (n *names) checkPage(page string) (rows int, problems []string) {
	problems = append(n.checkAlerts(page), n.checkLinks(page)...)
	head := 0 // lines of the head of the table that were read
	for i, line := range strings.Split(page, "\n") {
		inside, is := strings.CutPrefix(line, "|")
		if !is {
			head = 0
			continue
		}
		var found []string
		if head++; head > 2 {
			rows++
			found = n.checkRow(cellsOf(inside))
		} else {
			found = checkHead(head, line, cellsOf(inside))
		}
		for _, p := range found {
			problems = append(problems, fmt.Sprintf("line %d: %s", i+1, p))
		}
	}
	return rows, problems
}

// cellsOf returns the cells of a row without its first |.
func cellsOf(row string) []string {
	cells := strings.Split(strings.TrimSuffix(row, "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}

// checkHead checks one of the two lines before the rows of a table.
func checkHead(line int, text string, cells []string) []string {
	switch {
	case line == 1 && !slices.Equal(cells, columns):
		return []string{"the columns are not " + strings.Join(columns, ", ")}
	case line == 2 && text != strings.Repeat("|---", len(columns))+"|":
		return []string{"the line below the columns is not |---|"}
	}
	return nil
}

func (n *names) checkRow(cells []string) (problems []string) {
	if len(cells) != len(columns) {
		return []string{fmt.Sprintf("%d cells, want %d", len(cells), len(columns))}
	}
	for i, c := range cells {
		if c == "" {
			problems = append(problems, fmt.Sprintf("cell %d is empty: write – if there is nothing to say", i+1))
		}
	}
	for _, m := range header.FindAllStringSubmatch(strings.Join(cells, " "), -1) {
		if !n.source("engine/serve", m[1]) {
			problems = append(problems, "engine/serve has no header "+m[1])
		}
	}
	return append(append(problems, n.checkShown(cells[shownBy])...), n.checkTests(cells[testOf])...)
}

var (
	quoted = regexp.MustCompile("`([^`]*)`")
	header = regexp.MustCompile("`(Varve-[^`]*)`")
)

// forms are the names that may be in the column "shown by", with what is wrong with a name, or "".
var forms = []struct {
	form  *regexp.Regexp
	wrong func(n *names, parts []string) string
}{
	{regexp.MustCompile("(Archiv\\w+) `(\\w+)`(?: \\(`(\\w+)`\\))?"), (*names).wrongCondition},
	{regexp.MustCompile("mark `(\\w+)`(?: \\(`(\\w+)`\\))?"), (*names).wrongMark},
	{regexp.MustCompile("(event|state) `(\\w+)`"), (*names).wrongLiteral},
	// checkAlerts and checkLinks check these.
	{regexp.MustCompile(`\[Varve\w+\]\(runbooks\.md#\w+\)`), func(*names, []string) string { return "" }},
	{regexp.MustCompile("`((?:varve|process)_[^`]+)`"), (*names).wrongMetric},
}

// words are the other places that may show a failure.
var words = []string{"", "–", "log", "message", "varve store check"}

func (n *names) checkShown(cell string) (problems []string) {
	for _, f := range forms {
		cell = f.form.ReplaceAllStringFunc(cell, func(name string) string {
			if wrong := f.wrong(n, f.form.FindStringSubmatch(name)); wrong != "" {
				problems = append(problems, wrong)
			}
			return ""
		})
	}
	for word := range strings.SplitSeq(cell, ",") {
		if word = strings.TrimSpace(word); !slices.Contains(words, word) {
			problems = append(problems, fmt.Sprintf("%q is none of the names that this column may have", word))
		}
	}
	return problems
}

func (n *names) wrongCondition(parts []string) string {
	kind, condition, reason := parts[1], parts[2], parts[3]
	switch {
	case !n.constants["Kind"][kind]:
		return "there is no kind " + kind
	case !n.constants["Condition"][condition]:
		return "api/v1alpha1 has no condition " + condition
	case reason != "" && !n.constants["Reason"][reason]:
		return "api/v1alpha1 has no reason " + reason
	}
	return ""
}

func (n *names) wrongMark(parts []string) string {
	kind, reason := parts[1], parts[2]
	switch {
	case !n.marks[kind]:
		return "there is no mark " + kind
	case reason != "" && (kind != "lost" || !n.losses[reason]):
		return "there is no reason " + reason + " of marks " + kind
	}
	return ""
}

// wrongLiteral checks a name that the code of a folder writes as it is.
func (n *names) wrongLiteral(parts []string) string {
	folder := map[string]string{"event": "controllers", "state": "engine"}[parts[1]]
	if !n.source(folder, parts[2]) {
		return folder + " has no " + parts[1] + " " + parts[2]
	}
	return ""
}

func (n *names) wrongMetric(parts []string) string {
	name, _, _ := strings.Cut(parts[1], "{")
	m, exists := n.metrics[name]
	if !exists {
		return "no process has the metric " + name
	}
	expr, err := parser.ParseExpr(parts[1])
	if err != nil {
		return err.Error()
	}
	selector, is := expr.(*parser.VectorSelector)
	if !is {
		return parts[1] + " is not the name of a metric, with labels"
	}
	return strings.Join(wrongMatchers(selector, m), "; ")
}

// checkTests checks a cell such as `engine: TestADeathIsMarked`, `controllers: text of a spec`.
func (n *names) checkTests(cell string) (problems []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		folder, test, is := strings.Cut(m[1], ": ")
		if !is {
			problems = append(problems, m[0]+" is not `package: test`")
		} else if wrong := n.wrongTest(folder, test); wrong != "" {
			problems = append(problems, wrong)
		}
	}
	for word := range strings.SplitSeq(quoted.ReplaceAllString(cell, "`"), ",") {
		if word = strings.TrimSpace(word); word != "`" {
			problems = append(problems, fmt.Sprintf("%q is no test", word))
		}
	}
	return problems
}

func (n *names) wrongTest(folder, test string) string {
	s := n.suite(folder)
	name, part, hasPart := strings.Cut(test, "/")
	cases, isTest := s.tests[name]
	switch {
	case len(s.tests) == 0:
		return "there are no tests in " + folder
	case isTest && hasPart && !cases[part]:
		return fmt.Sprintf("%s of package %s has no case %q", name, folder, part)
	case isTest:
		return ""
	case strings.HasPrefix(test, "Test") && !strings.Contains(name, " "):
		return fmt.Sprintf("package %s has no test %s", folder, name)
	case !slices.ContainsFunc(s.specs, func(text *regexp.Regexp) bool { return text.MatchString(test) }):
		return fmt.Sprintf("package %s has no spec %q", folder, test)
	}
	return ""
}
