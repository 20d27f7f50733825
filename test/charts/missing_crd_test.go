package charts_test

import (
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestGroupsAreNotWrittenWithoutTheCRDOfPolicies checks what docs/policies.md says: without the CRD, the API server cannot
// know who owns an ArchiveGroup, so it lets nobody write one. Once the CRD is applied, everything works.
func TestGroupsAreNotWrittenWithoutTheCRDOfPolicies(t *testing.T) {
	s := newServer(t, filepath.Join(crdFolder, "varve.dev_archivegroups.yaml"))
	out, complaint, err := render(t, operatorChart, "--set=fullnameOverride=varve-operator", "--set=crds.enabled=false", "--show-only=templates/ownership.yaml")
	if err != nil {
		t.Fatal(complaint)
	}
	for _, u := range documents(t, out) {
		if err := s.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "nobody writes an ArchiveGroup", func() bool {
		err = s.Create(t.Context(), groupNamed(t, "vacuum"), client.DryRunAll)
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	})
	if !strings.Contains(err.Error(), "failed to find resource referenced by paramKind") {
		t.Error("docs/policies.md has another message:", err)
	}
	for _, u := range documents(t, rendered(t, "templates/crds.yaml")) {
		if u.GetName() == "archivepolicies.varve.dev" {
			if err := s.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the CRD is there, and ArchiveGroups are written", func() bool {
		return s.Create(t.Context(), groupNamed(t, "vacuum"), client.DryRunAll) == nil
	})
}
