package archiver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is there is summed up without what changes by itself, and stays as it is: it is
// compared with what applying it comes to.
func TestDigestLeavesTheObjectAlone(t *testing.T) {
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
			t.Errorf("the object has changed:\n%s", diff)
		}
		return d
	}
	first := sum(datacenter("1", "100", "Updating"))
	if sum(datacenter("1", "101", "Ready")) != first {
		t.Error("a status makes a difference")
	}
	if sum(datacenter("2", "100", "Updating")) == first {
		t.Error("a size makes none")
	}
}
