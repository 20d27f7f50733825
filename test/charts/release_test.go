package charts_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helm runs a helm command against the server and returns its output. It fails the test if the
// command fails.
func (s *server) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, complaint, err := helm(t, []string{"KUBECONFIG=" + s.kubeconfig}, args...)
	if err != nil {
		t.Fatalf("helm %s: %s", strings.Join(args, " "), complaint)
	}
	return out
}

var (
	crdKind     = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	archivers   = schema.GroupVersionKind{Group: "varve.dev", Version: "v1alpha1", Kind: "Archiver"}
	groups      = schema.GroupVersionKind{Group: "varve.dev", Version: "v1alpha1", Kind: "ArchiveGroup"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// get returns an object, or nil if there is none.
func (s *server) get(t *testing.T, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	err := s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return u
}

func (s *server) crd(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return s.get(t, crdKind, "", "archivers.varve.dev")
}

const system = "--namespace=varve-system"

func TestOperatorRelease(t *testing.T) {
	s := newServer(t)

	s.helm(t, "install", "varve-operator", operatorChart, system, "--set=crds.enabled=false")
	if s.crd(t) != nil {
		t.Error("the CRDs are installed, although crds.enabled is false")
	}
	s.helm(t, "uninstall", "varve-operator", system)

	notes := s.helm(t, "install", "varve-operator", operatorChart, system)
	if !strings.Contains(notes, "rollout status deployment/varve-operator") {
		t.Error("the notes do not name the next step:\n", notes)
	}
	if s.get(t, deployments, "varve-system", "varve-operator") == nil || s.crd(t) == nil {
		t.Fatal("the operator or its CRD is not installed")
	}
	checkProtected(t, s)

	deleteShards(t, s)
	s.helm(t, "upgrade", "varve-operator", nextVersion(t), system)
	if s.get(t, crdKind, "", "archiveshards.varve.dev") == nil {
		t.Error("the upgrade did not restore a deleted CRD")
	}
	if names, _, _ := unstructured.NestedStringSlice(s.crd(t).Object, "spec", "names", "shortNames"); len(names) != 2 {
		t.Error("the upgrade did not change the CRD:", names)
	}

	s.helm(t, "install", "main", varveChart, "--namespace=epics", "--values=testdata/varve/embedded.values.yaml")
	s.helm(t, "uninstall", "varve-operator", system)
	if s.get(t, deployments, "varve-system", "varve-operator") != nil {
		t.Error("the operator survived its release")
	}
	if s.crd(t) == nil || s.get(t, archivers, "epics", "main") == nil {
		t.Fatal("the CRDs or an Archiver were deleted with the operator's release")
	}
	checkDeletable(t, s)

	s.helm(t, "install", "varve-operator", operatorChart, system)
	if s.get(t, deployments, "varve-system", "varve-operator") == nil || s.get(t, archivers, "epics", "main") == nil {
		t.Error("after the second installation, the operator or the Archiver is missing")
	}
	s.helm(t, "uninstall", "main", "--namespace=epics")
	if s.get(t, archivers, "epics", "main") != nil {
		t.Error("the Archiver survived its release")
	}
}

// deleteShards deletes the CRD of ArchiveShards as the webhook's refusal explains.
func deleteShards(t *testing.T, s *server) {
	t.Helper()
	crd := s.get(t, crdKind, "", "archiveshards.varve.dev")
	allow(t, s, crd)
	eventually(t, "the CRD is gone", func() bool {
		return apierrors.IsNotFound(s.Delete(t.Context(), crd))
	})
}

func allow(t *testing.T, s *server, crd *unstructured.Unstructured) {
	t.Helper()
	old := crd.DeepCopy()
	annotations := crd.GetAnnotations() // includes Helm's annotations
	annotations["varve.dev/allow-deletion"] = "true"
	crd.SetAnnotations(annotations)
	if err := s.Patch(t.Context(), crd, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
}

// checkProtected checks that a CRD cannot be deleted without an annotation that allows it.
func checkProtected(t *testing.T, s *server) {
	t.Helper()
	var err error
	eventually(t, "the CRD is protected", func() bool {
		err = s.Delete(t.Context(), s.crd(t), client.DryRunAll)
		return apierrors.IsForbidden(err)
	})
	if how := "kubectl annotate crd archivers.varve.dev varve.dev/allow-deletion=true"; !strings.Contains(err.Error(), how) {
		t.Error("the refusal does not name the remedy:", err)
	}
	allowed := s.crd(t)
	allow(t, s, allowed)
	eventually(t, "a CRD with the annotation can be deleted", func() bool {
		return s.Delete(t.Context(), allowed, client.DryRunAll) == nil
	})
	// CRDs of other projects are not protected.
	crds := documents(t, strings.NewReplacer("varve.dev", "example.org").Replace(rendered(t, "templates/crds.yaml")))
	u := crds[slices.IndexFunc(crds, func(u *unstructured.Unstructured) bool { return u.GetName() == "archiveshards.example.org" })]
	if err := s.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), u); err != nil {
		t.Error("deleting a CRD of another project:", err)
	}
}

// checkDeletable checks that CRDs can be deleted once the operator's release is uninstalled.
func checkDeletable(t *testing.T, s *server) {
	t.Helper()
	crd := s.get(t, crdKind, "", "archivegroups.varve.dev")
	eventually(t, "the CRD can be deleted", func() bool {
		return s.Delete(t.Context(), crd, client.DryRunAll) == nil
	})
}

// eventually waits until ok returns true, because the API server notices some changes late.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 2 minutes:", what)
		}
	}
}

func rendered(t *testing.T, template string) string {
	t.Helper()
	out, complaint, err := render(t, operatorChart, "--show-only="+template)
	if err != nil {
		t.Fatal(complaint)
	}
	return out
}

// nextVersion returns the directory of a later version of the operator's chart, in which the
// CRD of Archivers has another short name.
func nextVersion(t *testing.T) string {
	t.Helper()
	dir := copyOperatorChart(t)
	edit(t, filepath.Join(dir, "Chart.yaml"), "version: 0.1.0", "version: 0.1.1")
	edit(t, filepath.Join(dir, "files/crds/varve.dev_archivers.yaml"), "    - arc\n", "    - arc\n    - archive\n")
	return dir
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestArchiveRelease(t *testing.T) {
	s := commonServer(t)
	const namespace = "beamlines" // no other test has objects there
	const n = "--namespace=" + namespace
	values := "--values=testdata/varve/external.values.yaml"

	s.helm(t, "install", "main", varveChart, n, values)
	archiver := s.get(t, archivers, namespace, "storage-ring")
	secret, _, _ := unstructured.NestedString(archiver.Object, "spec", "storage", "cassandra", "external", "secretRef", "name")
	if secret != "storage-ring-cassandra" {
		t.Error("the Archiver refers to the wrong Secret:", secret)
	}
	if s.get(t, groups, namespace, "vacuum") == nil || s.get(t, groups, namespace, "magnets") == nil {
		t.Error("groups are missing")
	}

	s.helm(t, "upgrade", "main", varveChart, n, values, "--set=groups.vacuum.paused=true", "--set-json=groups.extra={}")
	if paused, _, _ := unstructured.NestedBool(s.get(t, groups, namespace, "vacuum").Object, "spec", "paused"); !paused {
		t.Error("the upgrade did not change the group")
	}
	if s.get(t, groups, namespace, "extra") == nil {
		t.Error("the upgrade did not add a group")
	}
	s.helm(t, "upgrade", "main", varveChart, n, values)
	if s.get(t, groups, namespace, "extra") != nil {
		t.Error("the upgrade did not remove a group")
	}

	s.helm(t, "uninstall", "main", n)
	if s.get(t, groups, namespace, "vacuum") != nil {
		t.Error("a group survived its release")
	}
	// The Archiver has an annotation that makes Helm keep it.
	if s.get(t, archivers, namespace, "storage-ring") == nil {
		t.Error("helm.sh/resource-policy: keep did not keep the Archiver")
	}
	s.helm(t, "install", "main", varveChart, n, values)
}
