package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Group returns the manifest of an ArchiveGroup. settings are lines of its spec.
func Group(name, settings string, pvs ...string) string {
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

// WriteGroup atomically replaces the manifest with the given name in a directory.
func WriteGroup(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
