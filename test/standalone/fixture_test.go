package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// fixture has an IOC with counting PVs and the manifests of the groups that archive them.
type fixture struct {
	*epics.IOC
	pvs    []string
	groups string // directory of the manifests
}

// newFixture starts an IOC with n PVs that rise by 0.1 ten times per second. Their alarms
// begin after a few seconds.
func newFixture(t *testing.T, n int) *fixture {
	t.Helper()
	return newFixtureOf(t, archive.Names("T:", n), "")
}

// newFixtureOf is newFixture with the given PVs, and with further text for the database of the IOC.
func newFixtureOf(t *testing.T, pvs []string, more string) *fixture {
	t.Helper()
	p, n := &fixture{groups: t.TempDir(), pvs: pvs}, len(pvs)
	const most = 1000 // channels per group
	for from := 0; from < n; from += most {
		name := fmt.Sprintf("part-%d", from/most)
		p.write(t, name, program.Group(name, "", p.pvs[from:min(n, from+most)]...))
	}
	p.IOC = epics.StartIOC(t, archive.Counting(p.pvs)+more)
	return p
}

// write atomically replaces the manifest with the given name.
func (p *fixture) write(t *testing.T, name, text string) {
	t.Helper()
	program.WriteGroup(t, p.groups, name, text)
}

// remove deletes the manifest with the given name.
func (p *fixture) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(p.groups, name+".yaml")); err != nil {
		t.Fatal(err)
	}
}
