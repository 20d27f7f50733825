package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// plant is an IOC whose PVs count, and the groups that archive them.
type plant struct {
	*epics.IOC
	pvs    []string
	groups string // directory of manifests
}

// newPlant starts an IOC with n PVs that rise by 0.1 ten times a second, alarms
// beginning after some seconds.
func newPlant(t *testing.T, n int) *plant {
	t.Helper()
	p := &plant{groups: t.TempDir(), pvs: archive.Names("T:", n)}
	const most = 1000 // channels of a group
	for from := 0; from < n; from += most {
		name := fmt.Sprintf("part-%d", from/most)
		p.write(t, name, group(name, "", p.pvs[from:min(n, from+most)]...))
	}
	p.IOC = epics.StartIOC(t, archive.Counting(p.pvs))
	return p
}

// write replaces the manifest of a name in one step.
func (p *plant) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.groups, name+".yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// remove deletes the manifest of a name.
func (p *plant) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(p.groups, name+".yaml")); err != nil {
		t.Fatal(err)
	}
}

// group returns a manifest of PVs; settings are lines of its spec.
func group(name, settings string, pvs ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: %s}\n", name)
	fmt.Fprintf(&b, "spec:\n  archiverRef: {name: main}\n")
	if settings != "" {
		fmt.Fprintf(&b, "  %s\n", settings)
	}
	b.WriteString("  channels:\n")
	for _, pv := range pvs {
		fmt.Fprintf(&b, "  - {name: %q}\n", pv)
	}
	return b.String()
}
