package alerts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is a row of docs/reference/metrics.md, which a test of cmd/varve compares with the metrics of the processes.
type metric struct {
	kind   string
	labels map[string][]string // with the values that exist from the start
}

// metrics returns the metrics that exist, by name.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| (.*?) \\|")
	label := regexp.MustCompile("`(\\w+)`(?:: ([^;]*))?")
	all := map[string]metric{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		known := metric{m[2], map[string][]string{}}
		for _, l := range label.FindAllStringSubmatch(m[3], -1) {
			known.labels[l[1]] = nil
			if l[2] != "" {
				known.labels[l[1]] = strings.Split(l[2], ", ")
			}
		}
		all[m[1]] = known
	}
	if len(all) < 100 {
		t.Fatalf("docs/reference/metrics.md has only %d metrics", len(all))
	}
	return all
}

// added are the labels that Prometheus adds to the series of a target.
var added = []string{"namespace", "service", "pod", "job", "instance", "container", "endpoint"}

// find returns the metric of a series. A histogram has series with the label le, and without it.
func find(all map[string]metric, series string) (metric, bool) {
	if m, known := all[series]; known && m.kind != "histogram" {
		return m, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name, cut := strings.CutSuffix(series, suffix)
		if m, known := all[name]; cut && known && m.kind == "histogram" {
			if suffix == "_bucket" {
				m.labels["le"] = nil
			}
			return m, true
		}
	}
	return metric{}, false
}

// checkQuery checks that a query parses, and that its metrics and labels exist.
func checkQuery(t *testing.T, where, query string, all map[string]metric) {
	t.Helper()
	expr, err := parser.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			checkSelector(t, where, n, all)
		case *parser.AggregateExpr:
			checkLabels(t, where, n.Expr, n.Grouping, all)
		case *parser.Call:
			if n.Func.Name == "rate" || n.Func.Name == "increase" {
				checkCounter(t, where, n, all)
			}
		}
		return nil
	})
}

// checkSelector checks the name and the matchers of a selector.
func checkSelector(t *testing.T, where string, s *parser.VectorSelector, all map[string]metric) {
	t.Helper()
	m, known := find(all, s.Name)
	if !known {
		t.Errorf("%s: no process has the metric %s of this type", where, s.Name)
		return
	}
	for _, problem := range wrongMatchers(s, m) {
		t.Errorf("%s: %s", where, problem)
	}
}

// wrongMatchers returns what is wrong about the matchers of a selector of a metric.
func wrongMatchers(s *parser.VectorSelector, m metric) (problems []string) {
	for _, l := range s.LabelMatchers {
		values, has := m.labels[l.Name]
		switch {
		case l.Name == labels.MetricName || slices.Contains(added, l.Name):
		case !has:
			problems = append(problems, fmt.Sprintf("%s has no label %s", s.Name, l.Name))
		case len(values) > 1 && (l.Type == labels.MatchEqual || l.Type == labels.MatchRegexp):
			for value := range strings.SplitSeq(l.Value, "|") {
				if !slices.Contains(values, value) {
					problems = append(problems, fmt.Sprintf("the label %s of %s is never %s", l.Name, s.Name, value))
				}
			}
		}
	}
	return problems
}

// checkLabels checks that at least one metric below an aggregation has the labels that it groups by.
func checkLabels(t *testing.T, where string, below parser.Expr, grouping []string, all map[string]metric) {
	t.Helper()
	for _, label := range grouping {
		if slices.Contains(added, label) {
			continue
		}
		for _, s := range selectors(below) {
			if m, known := find(all, s.Name); known {
				if _, has := m.labels[label]; !has {
					t.Errorf("%s: %s has no label %s to group by", where, s.Name, label)
				}
			}
		}
	}
}

// checkCounter checks that a rate is that of a counter.
func checkCounter(t *testing.T, where string, call *parser.Call, all map[string]metric) {
	t.Helper()
	for _, s := range selectors(call) {
		if m, known := find(all, s.Name); known && m.kind == "gauge" {
			t.Errorf("%s: %s of the gauge %s", where, call.Func.Name, s.Name)
		}
	}
}

// selectors returns the selectors of an expression.
func selectors(expr parser.Expr) (all []*parser.VectorSelector) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is {
			all = append(all, s)
		}
		return nil
	})
	return all
}

// A rule with a metric, a label or a value of a label that does not exist never fires.
func TestMetricsOfAlertsExist(t *testing.T) {
	all := metrics(t)
	for name, r := range load(t) {
		checkQuery(t, name, r.Expr, all)
	}
}

// Names of metrics in documents exist, too.
func TestMetricsInDocumentsExist(t *testing.T) {
	all := metrics(t)
	name := regexp.MustCompile("`(varve_[a-z_]+[a-z])[`{]")
	for _, file := range []string{
		"backup.md", "cassandra.md", "commands.md", "conditions.md", "faults.md", "kubernetes.md", "networking.md", "operations.md",
		"runbooks.md", "security.md", "storage.md",
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			if _, known := all[m[1]]; !known {
				t.Errorf("docs/%s names the metric %s, which no process has", file, m[1])
			}
		}
	}
}
