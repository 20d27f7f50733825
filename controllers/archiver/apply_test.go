package archiver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A digest does not depend on the status or the resource version. digestOf must not modify the
// object, because the reconciler compares the object with the result of applying it.
func TestDigestIgnoresTheStatusAndKeepsTheObject(t *testing.T) {
	datacenter := func(size, version, status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind":     "CassandraDatacenter",
			"metadata": map[string]any{"name": "main", "resourceVersion": version, "managedFields": []any{map[string]any{"manager": "operator"}}},
			"spec":     map[string]any{"size": size},
			"status":   map[string]any{"progress": status},
		}}
	}
	sum := func(o *unstructured.Unstructured) digest {
		before := o.DeepCopy()
		d, err := digestOf([]byte("wanted"), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before.Object, o.Object); diff != "" {
			t.Errorf("digestOf modified the object:\n%s", diff)
		}
		return d
	}
	first := sum(datacenter("1", "100", "Updating"))
	if sum(datacenter("1", "101", "Ready")) != first {
		t.Error("a change of the status changes the digest")
	}
	if sum(datacenter("2", "100", "Updating")) == first {
		t.Error("a change of the size does not change the digest")
	}
}
