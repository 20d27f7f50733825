package render

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func inCassandra(namespace, name string) *v1alpha1.Archiver {
	return &v1alpha1.Archiver{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ArchiverSpec{Shards: 64, Storage: v1alpha1.StorageSpec{Cassandra: &v1alpha1.CassandraSpec{
			External: &v1alpha1.ExternalCassandra{ContactPoints: []string{"cassandra"}},
		}}},
	}
}

func TestKeyspaceIsDerivedFromNames(t *testing.T) {
	for _, c := range []struct{ namespace, name, want string }{
		{"lab", "main", "lab__main"},
		{"storage-ring", "main", "storage_ring__main"},
		{"a--b", "c", "a__b__c___3a62ec0b"},
		{"2nd", "main", "v2nd__main___"},
		{strings.Repeat("n", 63), strings.Repeat("a", 40), strings.Repeat("n", 37) + "___"},
	} {
		got := Keyspace(inCassandra(c.namespace, c.name))
		if !strings.HasPrefix(got, strings.TrimRight(c.want, "0123456789abcdef")) {
			t.Errorf("%s/%s: keyspace %s, want %s", c.namespace, c.name, got, c.want)
		}
	}
	named := inCassandra("lab", "main")
	named.Spec.Storage.Cassandra.Keyspace = "plant"
	if got := Keyspace(named); got != "plant" {
		t.Errorf("keyspace %s, want the user's", got)
	}
}

// TestKeyspacesAreUnique checks names that are equal after '-' is replaced by '_'.
func TestKeyspacesAreUnique(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	long := strings.Repeat("x", 40)
	parts := []string{"a", "a-b", "b", "a--b", "b--c", "c", "v1", "v-1", "1", long, long + "-a", long + "-b"}
	seen := map[string]string{}
	for _, namespace := range parts {
		for _, name := range parts {
			k := Keyspace(inCassandra(namespace, name))
			if !valid.MatchString(k) {
				t.Errorf("%s/%s: %q is not a valid keyspace name", namespace, name, k)
			}
			if other, ok := seen[k]; ok {
				t.Errorf("%s/%s and %s share keyspace %s", namespace, name, other, k)
			}
			seen[k] = namespace + "/" + name
		}
	}
}
