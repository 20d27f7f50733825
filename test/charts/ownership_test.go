package charts_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const vacuumPolicy = `
apiVersion: varve.dev/v1alpha1
kind: ArchivePolicy
metadata: {name: vac, namespace: epics}
spec:
  archiverRef: {name: main}
  prefixes: ["SR:VAC:"]
  owners: {archiveGroups: [vacuum, "vacuum-*"], users: [ann], groups: [vacuum-team]}
`

// groupNamed is an ArchiveGroup that deletes its data when it is deleted.
func groupNamed(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return documents(t, `{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: `+name+`, namespace: epics},
spec: {archiverRef: {name: main}, deletionPolicy: Delete, channels: [{name: "SR:VAC:P"}]}}`)[0]
}

// as returns a client of a user and a group.
func (s *server) as(t *testing.T, user, group string) client.Client {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{group, "system:authenticated"}}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOnlyOwnersEditTheGroupsOfAPolicy lets people with the same role in Kubernetes try to take over, change and erase
// what a group has archived.
func TestOnlyOwnersEditTheGroupsOfAPolicy(t *testing.T) {
	s := newServer(t, crdFolder)
	for _, template := range []string{"templates/ownership.yaml", "templates/aggregate.yaml"} {
		out, complaint, err := render(t, operatorChart, "--set=fullnameOverride=varve-operator", "--namespace=varve-operator", "--show-only="+template)
		if err != nil {
			t.Fatal(complaint)
		}
		for _, u := range documents(t, out) {
			if err := s.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, binding := range documents(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: editors, namespace: epics}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: varve-operator-group-editor},
subjects: [{kind: User, name: ann}, {kind: User, name: carl}, {kind: User, name: thief}]}`) {
		if err := s.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	ann, thief, colleague := s.as(t, "ann", "staff"), s.as(t, "thief", "magnets"), s.as(t, "carl", "vacuum-team")
	s.awaitRight(t, "thief", "create", "archivegroups")
	if err := s.Create(t.Context(), documents(t, vacuumPolicy)[0]); err != nil {
		t.Fatal(err)
	}
	var err error
	eventually(t, "the name of the group is reserved", func() bool {
		err = thief.Create(t.Context(), groupNamed(t, "vacuum"), client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ArchivePolicy vac reserves the name of this ArchiveGroup for its owners")
	})
	if strings.Contains(err.Error(), "SR:VAC") {
		t.Error("the refusal names a prefix:", err)
	}
	vacuum := groupNamed(t, "vacuum")
	if err := ann.Create(t.Context(), vacuum); err != nil {
		t.Fatal("an owner cannot create a group:", err)
	}
	change := func(as client.Client, field string, value any) error {
		changed := vacuum.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, value, strings.Split(field, ".")...); err != nil {
			t.Fatal(err)
		}
		return as.Patch(t.Context(), changed, client.MergeFrom(vacuum), client.DryRunAll)
	}
	for attempt, try := range map[string]func(as client.Client) error{
		"take another name of the owners": func(as client.Client) error {
			return as.Create(t.Context(), groupNamed(t, "vacuum-2"), client.DryRunAll)
		},
		"stop the capture":           func(as client.Client) error { return change(as, "spec.paused", true) },
		"shorten the retention":      func(as client.Client) error { return change(as, "spec.retention", map[string]any{"raw": "1d"}) },
		"move it to another archive": func(as client.Client) error { return change(as, "spec.archiverRef.name", "other") },
		"make a controller erase it": func(as client.Client) error {
			return change(as, "metadata.ownerReferences", []any{map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "5b0b1f0e-0000-4000-8000-000000000000",
			}})
		},
		"make a tool erase it": func(as client.Client) error { return change(as, "metadata.labels", map[string]any{"app": "mine"}) },
		"annotate it":          func(as client.Client) error { return change(as, "metadata.annotations", map[string]any{"a": "b"}) },
		"erase its data":       func(as client.Client) error { return as.Delete(t.Context(), vacuum, client.DryRunAll) },
		"erase all groups": func(as client.Client) error {
			return as.DeleteAllOf(t.Context(), groupNamed(t, "any"), client.InNamespace("epics"), client.DryRunAll)
		},
	} {
		if err := try(thief); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", attempt, err)
		}
		for name, owner := range map[string]client.Client{"ann": ann, "a colleague": colleague, "an administrator": s.Client} {
			if err := try(owner); err != nil {
				t.Errorf("%s cannot %s: %v", name, attempt, err)
			}
		}
	}
	for allowed, err := range map[string]error{
		"create a group with another name":        thief.Create(t.Context(), groupNamed(t, "vacuums"), client.DryRunAll),
		"change only finalizers, as the operator": change(thief, "metadata.finalizers", []any{"varve.dev/delete-data"}),
		"delete all groups with their namespace": s.as(t, "system:serviceaccount:kube-system:namespace-controller", "system:serviceaccounts:kube-system").
			Delete(t.Context(), vacuum, client.DryRunAll),
	} {
		if err != nil {
			t.Errorf("somebody cannot %s: %v", allowed, err)
		}
	}
	s.checkPoliciesAreKept(t)
	if err := thief.Create(t.Context(), documents(t, strings.Replace(vacuumPolicy, "vac,", "mine,", 1))[0], client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Error("an editor of groups creates an ArchivePolicy:", err)
	}
	eventually(t, "a policy that only warns reserves no names", func() bool {
		p := s.get(t, archivePolicies, "epics", "vac")
		old := p.DeepCopy()
		if err := unstructured.SetNestedField(p.Object, "Warn", "spec", "enforcement"); err != nil {
			t.Fatal(err)
		}
		if err := s.Patch(t.Context(), p, client.MergeFrom(old)); err != nil {
			t.Fatal(err)
		}
		return thief.Create(t.Context(), groupNamed(t, "vacuum-2"), client.DryRunAll) == nil
	})
}

var archivePolicies = groups.GroupVersion().WithKind("ArchivePolicy")

// checkPoliciesAreKept checks that a policy cannot be deleted by accident.
func (s *server) checkPoliciesAreKept(t *testing.T) {
	t.Helper()
	p := s.get(t, archivePolicies, "epics", "vac")
	err := s.Delete(t.Context(), p, client.DryRunAll)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "kubectl annotate archivepolicy --namespace epics vac varve.dev/allow-deletion=true") {
		t.Error("deleting an ArchivePolicy:", err)
	}
	old := p.DeepCopy()
	p.SetAnnotations(map[string]string{"varve.dev/allow-deletion": "true"})
	if err := s.Patch(t.Context(), p, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), p, client.DryRunAll); err != nil {
		t.Error("deleting an ArchivePolicy with the annotation:", err)
	}
}
