package charts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRightsOfPeople asks a real API server who may do what with which role in the namespace epics: a
// role of the chart, or a role of Kubernetes that contains roles of the chart.
func TestRightsOfPeople(t *testing.T) {
	s := commonServer(t)
	out, complaint, err := render(t, operatorChart, "--set=fullnameOverride=varve-operator", "--namespace=varve-operator", "--show-only=templates/aggregate.yaml")
	if err != nil {
		t.Fatal(complaint)
	}
	for _, u := range documents(t, out) {
		if err := s.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	kubernetes := []string{"view", "edit", "admin"}
	for _, role := range kubernetes {
		s.aggregate(t, role)
	}
	for _, role := range slices.Concat(kubernetes, []string{"varve-operator-viewer", "varve-operator-group-editor", "varve-operator-archiver-admin"}) {
		s.bind(t, role)
	}

	for user, right := range map[string]string{
		"view": "get", "edit": "create", "admin": "create",
		"varve-operator-viewer": "get", "varve-operator-group-editor": "create", "varve-operator-archiver-admin": "create",
	} {
		s.awaitRight(t, user, right, "archivegroups")
	}

	const read, edit = "get list watch", "create update patch delete deletecollection"
	for _, c := range []struct{ user, verbs, resource, may string }{
		{"varve-operator-viewer", read, "archivers archivegroups archiveshards", "yes"},
		{"varve-operator-viewer", edit, "archivers archivegroups archiveshards", "no"},
		{"varve-operator-group-editor", read, "archivers archivegroups archiveshards", "yes"},
		{"varve-operator-group-editor", edit, "archivegroups", "yes"},
		{"varve-operator-group-editor", edit, "archivers archiveshards archivers/scale archivegroups/status archivegroups/finalizers", "no"},
		{"varve-operator-archiver-admin", read, "archivers archivegroups archiveshards", "yes"},
		{"varve-operator-archiver-admin", edit, "archivers archivegroups", "yes"},
		{"varve-operator-archiver-admin", "get update patch", "archivers/scale", "yes"},
		{"varve-operator-archiver-admin", edit, "archiveshards archivers/status archiveshards/status", "no"},
		{"view", read, "archivers archivegroups archiveshards", "yes"},
		{"view", edit, "archivers archivegroups archiveshards", "no"},
		{"edit", read, "archivers archivegroups archiveshards", "yes"},
		{"edit", edit, "archivegroups", "yes"},
		{"edit", edit, "archivers archiveshards archivers/scale", "no"},
		{"admin", edit, "archivers archivegroups", "yes"},
		{"admin", "update patch", "archivers/scale", "yes"},
		{"admin", edit, "archiveshards", "no"},
		{"view", read, "archivebackups archivebackupschedules archiverestores", "yes"},
		{"edit", edit, "archivebackups archivebackupschedules archiverestores", "no"},
		{"admin", edit, "archivebackups archivebackupschedules archiverestores", "yes"},
		{"varve-operator-archiver-admin", read + " " + edit, "archivebackups archivebackupschedules archiverestores", "yes"},
		{"varve-operator-archiver-admin", edit, "archivebackups/status archiverestores/status archivebackups/finalizers", "no"},
		{"nobody", read, "archivers archivegroups archiveshards", "no"},
		{"admin", read + " " + edit, "archivepolicies archivepolicies/status", "no"},
		{"edit", read + " " + edit, "archivepolicies", "no"},
		{"view", read, "archivepolicies", "no"},
		{"varve-operator-archiver-admin", read + " " + edit, "archivepolicies", "no"},
	} {
		for _, verb := range strings.Fields(c.verbs) {
			for _, resource := range strings.Fields(c.resource) {
				if got := s.may(t, c.user, verb, resource, "epics"); got != (c.may == "yes") {
					t.Errorf("%s may %s %s: %v, want %s", c.user, verb, resource, got, c.may)
				}
				if s.may(t, c.user, verb, resource, "beamlines") {
					t.Errorf("%s may %s %s in a namespace without the role", c.user, verb, resource)
				}
			}
		}
	}
	s.tryAsEditor(t)
}

// tryAsEditor checks the answer to an editor, not only what the API server says about one.
func (s *server) tryAsEditor(t *testing.T) {
	cfg, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Impersonate.UserName = "edit"
	editor, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	manifests := documents(t, `
{apiVersion: varve.dev/v1alpha1, kind: Archiver, metadata: {name: main, namespace: epics}, spec: {storage: {embedded: {}}}}
---
{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: vacuum, namespace: epics}, spec: {archiverRef: {name: main}, channels: [{name: "SR:P"}]}}`)
	if err := editor.Create(t.Context(), manifests[0]); !apierrors.IsForbidden(err) {
		t.Error("an editor creates an Archiver:", err)
	}
	if err := editor.Create(t.Context(), manifests[1]); err != nil {
		t.Error("an editor creates an ArchiveGroup:", err)
	}
}

// aggregate adds to a role of Kubernetes the rules of the roles that it selects. The controller manager
// does this in a cluster; here is none.
func (s *server) aggregate(t *testing.T, name string) {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := s.Get(t.Context(), client.ObjectKey{Name: name}, &role); err != nil {
		t.Fatal(err)
	}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		selected, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			t.Fatal(err)
		}
		var roles rbacv1.ClusterRoleList
		if err := s.List(t.Context(), &roles, client.MatchingLabelsSelector{Selector: selected}); err != nil {
			t.Fatal(err)
		}
		for _, r := range roles.Items {
			role.Rules = append(role.Rules, r.Rules...)
		}
	}
	if err := s.Update(t.Context(), &role); err != nil {
		t.Fatal(err)
	}
}

// bind gives the user with the name of a ClusterRole this role in the namespace epics.
func (s *server) bind(t *testing.T, role string) {
	t.Helper()
	err := s.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "epics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitRight waits until a user may do something: the API server learns of new roles and bindings a
// moment after it has stored them.
func (s *server) awaitRight(t *testing.T, user, verb, resource string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !s.may(t, user, verb, resource, "epics"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s may not %s %s after a minute", user, verb, resource)
		}
	}
}

// may asks the API server whether a user may do something.
func (s *server) may(t *testing.T, user, verb, resource, namespace string) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: "varve.dev", Resource: resource, Subresource: subresource,
		},
	}}
	if err := s.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
