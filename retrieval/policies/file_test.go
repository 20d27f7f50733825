package policies

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestSavedPoliciesHideUntilTheAPIServerAnswers starts pods that have never heard of the API server.
func TestSavedPoliciesHideUntilTheAPIServerAnswers(t *testing.T) {
	list := []v1alpha1.ArchivePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "vac"}, Spec: v1alpha1.ArchivePolicySpec{
		ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Prefixes: []v1alpha1.PVPrefix{"VAC:"},
		Owners: v1alpha1.PolicyOwners{Users: []v1alpha1.AccessName{"ann"}},
	}}}
	dir, damaged := t.TempDir(), t.TempDir()
	if err := save(dir, "main", list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, fileName), []byte(`{"archiver": "main", "pol`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, archiver string
		known               bool
	}{
		{"saved", dir, "main", true}, {"of another Archiver", dir, "other", false}, {"damaged", damaged, "main", false},
		{"not saved", t.TempDir(), "main", false}, {"without a directory", "", "main", false},
	} {
		p := New(nil, "ns", c.archiver, c.dir, slog.New(slog.DiscardHandler))
		set, known := p.Current()
		if known != c.known || (p.Ready() == nil) != c.known {
			t.Errorf("%s: the policies are known: %t, %v", c.name, known, p.Ready())
		}
		if known && (set.For("bob", nil).Sees("VAC:P") || !set.For("ann", nil).Sees("VAC:P")) {
			t.Errorf("%s: the policies do not apply", c.name)
		}
	}
}

// TestPoliciesThatCannotBeSavedLeaveNoOldOnes makes the temporary file impossible.
func TestPoliciesThatCannotBeSavedLeaveNoOldOnes(t *testing.T) {
	dir := t.TempDir()
	if err := save(dir, "main", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, fileName+".new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := save(dir, "main", nil); err == nil {
		t.Error("no error")
	}
	if _, found, err := load(dir, "main"); found || err != nil {
		t.Errorf("old policies are found: %t, %v", found, err)
	}
}
