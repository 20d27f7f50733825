package alerts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// board is what these tests need of a dashboard of Grafana.
type board struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []boardPanel `json:"panels"`
}

type boardPanel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Targets     []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
}

// boards returns the dashboards of the chart by the UID.
func boards(t *testing.T) map[string]board {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "charts/varve-operator/files/dashboards/*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("there are %d dashboards, want 4: %v", len(files), err)
	}
	all := map[string]board{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[b.UID] = b
	}
	return all
}

// promQL replaces Grafana's variables in a query.
func promQL(query string) string {
	return strings.NewReplacer("[$__rate_interval]", "[5m]", "$namespace", ".*", "$service", ".*", "$pod", ".*").Replace(query)
}

// A panel without data looks like an archive without problems.
func TestQueriesOfDashboardsAreRight(t *testing.T) {
	all := metrics(t)
	placeholder := regexp.MustCompile(`{{(\w+)}}`)
	for uid, b := range boards(t) {
		ids := map[int]bool{}
		for _, p := range b.Panels {
			where := fmt.Sprintf("panel %q of %s", p.Title, uid)
			if ids[p.ID] {
				t.Errorf("%s: another panel has the ID %d", where, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" {
				continue
			}
			if p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s has no description or no query", where)
			}
			for _, target := range p.Targets {
				checkQuery(t, where, promQL(target.Expr), all)
				for _, l := range placeholder.FindAllStringSubmatch(target.Legend, -1) {
					if expr, err := parser.ParseExpr(promQL(target.Expr)); err == nil && !keeps(expr, l[1]) {
						t.Errorf("%s: the legend has {{%s}}, but %s drops that label", where, l[1], target.Expr)
					}
				}
			}
		}
		checkVariables(t, &b, all)
	}
}

// keeps reports whether an aggregation of an expression keeps a label.
func keeps(expr parser.Expr, label string) (kept bool) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, is := node.(*parser.AggregateExpr); is {
			for _, l := range a.Grouping {
				kept = kept || l == label
			}
		}
		return nil
	})
	return kept
}

// checkVariables checks where the variables of a dashboard get their values from.
func checkVariables(t *testing.T, b *board, all map[string]metric) {
	t.Helper()
	values := regexp.MustCompile(`^label_values\((.*), \w+\)$`)
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		var q struct {
			Query string `json:"query"`
		}
		if err := json.Unmarshal(v.Query, &q); err != nil {
			t.Fatal(err)
		}
		m := values.FindStringSubmatch(q.Query)
		if m == nil {
			t.Errorf("the variable %s of %s has the query %s", v.Name, b.UID, q.Query)
			continue
		}
		checkQuery(t, "the variable "+v.Name+" of "+b.UID, promQL(m[1]), all)
	}
}

// A person who gets an alert opens its panel, which plots what the alert is about.
func TestEachAlertHasAPanel(t *testing.T) {
	all := boards(t)
	runbooks, err := os.ReadFile(filepath.Join(root, "docs/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`^/d/([\w-]+)\?viewPanel=(\d+)$`)
	for name, r := range load(t) {
		m := link.FindStringSubmatch(r.Annotations["dashboard"])
		if m == nil {
			t.Errorf("%s: dashboard is %q; it must be /d/UID?viewPanel=ID", name, r.Annotations["dashboard"])
			continue
		}
		panel, b := boardPanel{}, all[m[1]]
		for _, p := range b.Panels {
			if fmt.Sprint(p.ID) == m[2] && p.Type != "row" {
				panel = p
			}
		}
		if panel.Title == "" {
			t.Errorf("%s: there is no panel %s", name, r.Annotations["dashboard"])
			continue
		}
		if !shows(t, &panel, r.Expr) {
			t.Errorf("%s: the panel %q of %s has no metric of the alert", name, panel.Title, b.UID)
		}
		_, section, _ := strings.Cut(string(runbooks), "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		want := fmt.Sprintf("- Panel *%s* of the dashboard *%s*", panel.Title, b.Title)
		if !strings.Contains(strings.Join(strings.Fields(section), " "), want) {
			t.Errorf("the section %s of docs/runbooks.md lacks: %s", name, want)
		}
	}
}

// shows reports whether a panel plots a metric of an expression.
func shows(t *testing.T, p *boardPanel, alert string) bool {
	t.Helper()
	names := map[string]bool{}
	for _, target := range p.Targets {
		expr, err := parser.ParseExpr(promQL(target.Expr))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range selectors(expr) {
			names[s.Name] = true
		}
	}
	expr, err := parser.ParseExpr(alert)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range selectors(expr) {
		if names[s.Name] {
			return true
		}
	}
	return false
}
