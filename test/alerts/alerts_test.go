// Package alerts_test checks the alerts of the chart varve-operator:
//
//	charts/varve-operator/files/alerts.yaml ──┬─▶ docs/runbooks.md: a section for each alert
//	                                          └─▶ Go sources: the metrics exist
package alerts_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// rule is an alerting rule of Prometheus.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// load returns the rules of the chart by the name of the alert.
func load(t *testing.T) map[string]rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "charts/varve-operator/files/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	rules := map[string]rule{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, ok := rules[r.Alert]; ok {
				t.Error("two alerts have the name", r.Alert)
			}
			rules[r.Alert] = r
		}
	}
	if len(rules) == 0 {
		t.Fatal("no alerts")
	}
	return rules
}

// A person who gets an alert reads what happened, how bad it is, and what to do.
func TestAlertsSayWhatToDo(t *testing.T) {
	for name, r := range load(t) {
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity is %q; it must be critical or warning", name, s)
		}
		for _, a := range []string{"summary", "description"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s has no %s", name, a)
			}
		}
		if got, want := r.Annotations["runbook_url"], "https://varve.dev/docs/runbooks.md#"+strings.ToLower(name); got != want {
			t.Errorf("%s: runbook_url is %s; it must be %s", name, got, want)
		}
	}
}

func TestEachAlertHasARunbook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := load(t)
	sections := strings.Split(string(text), "\n## ")[1:]
	for _, s := range sections {
		name, body, _ := strings.Cut(s, "\n")
		if _, ok := rules[name]; !ok {
			t.Errorf("docs/runbooks.md has a section %s, but there is no such alert", name)
		}
		delete(rules, name)
		for _, part := range []string{"Meaning", "Impact", "Diagnosis", "Mitigation"} {
			if !strings.Contains(body, "\n**"+part+"**:") {
				t.Errorf("the section %s of docs/runbooks.md lacks %s", name, part)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Errorf("docs/runbooks.md has no section %s", name)
	}
}

var (
	metric  = regexp.MustCompile(`\bvarve_[a-z_]+`)
	literal = regexp.MustCompile(`"([a-z_]+)"`)
)

// A rule with a metric that does not exist never fires. A metric exists if the sources of a package
// have its full name, or its subsystem and the rest of its name.
func TestMetricsOfAlertsExist(t *testing.T) {
	packages := literals(t)
	text, err := os.ReadFile(filepath.Join(root, "docs/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for _, name := range metric.FindAllString(string(text), -1) {
		used[name] = "docs/runbooks.md"
	}
	for alert, r := range load(t) {
		for _, name := range metric.FindAllString(r.Expr, -1) {
			used[name] = alert
		}
	}
	for name, where := range used {
		if !slices.ContainsFunc(packages, func(p map[string]bool) bool { return has(p, strings.TrimSuffix(name, "_bucket")) }) {
			t.Errorf("%s uses the metric %s, which no package registers", where, name)
		}
	}
}

// has reports whether a package with these string literals registers a metric.
func has(literals map[string]bool, name string) bool {
	if literals[name] {
		return true
	}
	rest := strings.TrimPrefix(name, "varve_")
	for i, c := range rest {
		if c == '_' && literals[rest[:i]] && literals[rest[i+1:]] {
			return true
		}
	}
	return false
}

// literals returns, for each package, the string literals that
// can be parts of the names of metrics.
func literals(t *testing.T) []map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	for _, top := range []string{"agent", "cluster", "cmd", "controllers", "engine", "groups", "retrieval"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			if packages[dir] == nil {
				packages[dir] = map[string]bool{}
			}
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				packages[dir][m[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Collect(maps.Values(packages))
}

// promtool runs the cases (make alerts). This test finds alerts without cases.
func TestEachAlertHasCases(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name := range load(t) {
		for _, c := range []string{" fires", " does not fire"} {
			if !strings.Contains(string(text), "- name: "+name+c+"\n") {
				t.Errorf("testdata/alerts.test.yaml has no case in which %s%s", name, c)
			}
		}
	}
}
