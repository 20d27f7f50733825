package charts_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// rights returns the rights that rules grant: one line per verb and resource, sorted.
func rights(rules []rbacv1.PolicyRule) []string {
	set := map[string]bool{}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					set[strings.Join(append([]string{verb, group, resource}, r.ResourceNames...), " ")] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// granted returns the rights of the roles that the operator's chart creates, by kind and
// namespace. It omits the roles for leader election and for users.
func granted(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	out, stderr, err := render(t, operatorChart, append(args, "--show-only=templates/rbac.yaml")...)
	if err != nil {
		t.Fatal(stderr)
	}
	all := map[string][]string{}
	for _, u := range documents(t, out) {
		if !strings.HasSuffix(u.GetKind(), "Role") || strings.HasSuffix(u.GetName(), "-leader-election") {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &role); err != nil {
			t.Fatal(err)
		}
		all[u.GetKind()+" "+u.GetNamespace()] = rights(role.Rules)
	}
	return all
}

// TestRights checks that the chart grants the operator exactly the rights of the generated
// ClusterRole, whether the operator watches all namespaces or only some.
func TestRights(t *testing.T) {
	text, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var needed rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &needed); err != nil {
		t.Fatal(err)
	}
	want := rights(needed.Rules)

	t.Run("all namespaces", func(t *testing.T) {
		if d := cmp.Diff(map[string][]string{"ClusterRole ": want}, granted(t)); d != "" {
			t.Error("-want +got\n" + d)
		}
	})
	t.Run("some namespaces", func(t *testing.T) {
		got := granted(t, "--set=watchNamespaces={epics,beamlines}")
		if d := cmp.Diff(got["Role epics"], got["Role beamlines"]); d != "" {
			t.Error(d)
		}
		for _, right := range got["ClusterRole "] {
			if strings.Contains(right, "varve.dev archive") && !strings.Contains(right, "customresourcedefinitions") {
				t.Error("the operator has a right in all namespaces that it needs only in the watched ones:", right)
			}
		}
		together := slices.Sorted(slices.Values(slices.Concat(got["ClusterRole "], got["Role epics"])))
		if d := cmp.Diff(want, together); d != "" {
			t.Error("-want +got\n" + d)
		}
	})
}

// TestNoSecretIsRead checks that the operator can create Secrets, which a managed Cassandra
// needs, but has no other right to Secrets. A right to read Secrets would expose all
// credentials in the cluster. A right to patch a Secret is also a right to read it.
func TestNoSecretIsRead(t *testing.T) {
	for _, right := range granted(t)["ClusterRole "] {
		if strings.Contains(right, "secrets") && right != "create  secrets" || strings.Contains(right, "*") {
			t.Error("the operator must not have this right to Secrets or to all objects:", right)
		}
	}
}
