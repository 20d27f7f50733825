package standalone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/serve/overview"
)

// eventuallyGroups waits until the groups are as expected.
func (p *fixture) eventuallyGroups(what string, expected func(groups []overview.Group, missing string) bool) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		groups, missing := p.driver.Groups()
		if expected(groups, missing) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waiting until %s: the groups are %+v, missing %q", what, groups, missing)
		}
	}
}

// TestGroupsSayWhatIsWrong checks that groups show what is applied, and errors in their manifests.
func TestGroupsSayWhatIsWrong(t *testing.T) {
	p := start(t)
	p.eventuallyGroups("the group is there", func(groups []overview.Group, missing string) bool {
		return missing == "" && len(groups) == 1 && groups[0].Group == "default/one" && groups[0].Settings.Channels == 2 && groups[0].Settings.Provider == "CA" && len(groups[0].Problems) == 0
	})
	p.group("two", "  redundancy: 2\n  retention: {raw: 7d}\n", "SR:C", "SR:A")
	p.eventuallyGroups("both groups have their problems", func(groups []overview.Group, _ string) bool {
		if len(groups) != 2 || len(groups[0].Problems) != 1 || len(groups[1].Problems) != 2 {
			return false
		}
		conflict, redundancy := groups[0].Problems[0], groups[1].Problems[1]
		return conflict.PV == "SR:A" && strings.Contains(conflict.Text, "default/one, default/two") && strings.Contains(redundancy.Text, "redundancy 2 has no effect")
	})
	p.group("one", "  sampling: {mode: Scan}\n", "SR:B")
	p.eventuallyGroups("the error is at its group, which keeps its settings", func(groups []overview.Group, missing string) bool {
		for _, g := range groups {
			if n := len(g.Problems); g.Group == "default/one" && n > 0 && g.Settings.Channels == 2 {
				last := g.Problems[n-1]
				return missing == "" && last.Severity == overview.SeverityError && strings.Contains(last.Text, "period is required for mode Scan")
			}
		}
		return false
	})
	if err := os.WriteFile(filepath.Join(p.dir, "three.yaml"), []byte("kind: x"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.eventuallyGroups("the error of no group is there", func(_ []overview.Group, missing string) bool { return strings.Contains(missing, "three.yaml") })
	if c := p.driver.Check([]byte("kind: x")); len(c.Errors) == 0 {
		t.Error("a manifest of another kind is right")
	}
}
