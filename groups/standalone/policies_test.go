package standalone

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const vacuumPolicy = `apiVersion: varve.dev/v1alpha1
kind: ArchivePolicy
metadata: {name: vacuum}
spec: {archiverRef: {name: main}, prefixes: ["SR:A"], owners: {archiveGroups: [vacuum], users: [ann]}}
`

// policies returns the policies of a file with vacuumPolicy, and the path of the file.
func policies(t *testing.T) (*Policies, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policies.yaml")
	write(t, file, vacuumPolicy)
	p, err := OpenPolicies(file, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p, file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sees reports whether a user may read a PV now.
func (p *Policies) sees(user, pv string) bool {
	set, known := p.Current()
	return known && set.For(user, nil).Sees(pv)
}

func (p *Policies) metric(t *testing.T) float64 {
	t.Helper()
	var m dto.Metric
	if err := p.invalid.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue()
}

// TestPoliciesOfAFileDecideWhoArchives checks that a group archives only what it owns, also after an edit.
func TestPoliciesOfAFileDecideWhoArchives(t *testing.T) {
	rules, file := policies(t)
	p := startWith(t, rules)
	p.eventually("SR:B", "ArchivePolicy vacuum does not let this group archive it")
	if rules.sees("bob", "SR:A") || !rules.sees("ann", "SR:A") || !rules.sees("bob", "SR:B") {
		t.Error("the policies do not decide who reads")
	}
	write(t, file, strings.Replace(vacuumPolicy, "[vacuum]", "[vacuum, one]", 1))
	p.eventually("SR:A SR:B", "")
	write(t, file, strings.Replace(vacuumPolicy, "SR:A", "SR:X", 1))
	p.eventually("SR:A SR:B", "")
	for end := time.Now().Add(2 * time.Minute); !rules.sees("bob", "SR:A") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if !rules.sees("bob", "SR:A") {
		t.Error("a policy that was removed still hides PVs")
	}
}

// TestABrokenFileOfPoliciesKeepsTheLastOnes breaks the file in several ways, and mends it.
func TestABrokenFileOfPoliciesKeepsTheLastOnes(t *testing.T) {
	rules, file := policies(t)
	p := startWith(t, rules)
	p.eventually("SR:B", "")
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waiting until %s: the problem is %q", what, rules.Problem())
			}
		}
	}
	for text, want := range map[string]string{
		"# nothing\n":                                          "the file has no ArchivePolicy",
		vacuumPolicy + "---\n" + vacuumPolicy:                  "the ArchivePolicy vacuum is also in line 1",
		strings.Replace(vacuumPolicy, "SR:A", "SR:A*", 1):      "a prefix has no wildcards",
		strings.Replace(vacuumPolicy, "prefixes", "prefix", 1): "unknown field",
		"kind: [": "did not find expected",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n": "only ArchivePolicy",
	} {
		write(t, file, text)
		await("the error is known: "+want, func() bool { return strings.Contains(rules.Problem(), want) })
		if rules.sees("bob", "SR:A") || !rules.sees("ann", "SR:A") || rules.metric(t) != 1 || len(rules.Notices()) != 1 || strings.Contains(rules.Notices()[0], "SR:A") {
			t.Errorf("with %q, the last policies do not apply, or the notice is wrong: %q, metric %v", want, rules.Notices(), rules.metric(t))
		}
		if _, err := OpenPolicies(file, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a start with this file: %v, want %q", err, want)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await("the file is missing", func() bool { return strings.Contains(rules.Problem(), "no such file") })
	if rules.sees("bob", "SR:A") {
		t.Error("a missing file shows hidden PVs")
	}
	write(t, file, vacuumPolicy)
	await("the file is valid again", func() bool { return rules.Problem() == "" && rules.metric(t) == 0 && rules.Notices() == nil })
	p.eventually("SR:B", "")
}
