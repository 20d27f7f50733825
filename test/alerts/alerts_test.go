// Package alerts_test checks the alerts of the chart varve-operator, and the page of failure modes:
//
//	charts/varve-operator/files/alerts.yaml ──┬─▶ docs/runbooks.md: a section for each alert
//	                                          ├─▶ testdata/alerts.test.yaml: cases in which it fires, and does not fire
//	                                          ├─▶ files/dashboards: the panel that shows what it is about
//	                                          └─▶ docs/reference/metrics.md: the metrics exist ◀── queries of files/dashboards
//
//	docs/failure-modes.md ─▶ tests of all packages, metrics, alerts, conditions, marks, events, sections: each name exists
package alerts_test

import (
	"maps"
	"os"
	"path/filepath"
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
