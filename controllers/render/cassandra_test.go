package render

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"varve.dev/varve/api/v1alpha1"
)

// managedOf returns an Archiver with a managed datacenter of the given size.
func managedOf(size int32) *v1alpha1.Archiver {
	a := inCassandra("lab", "main")
	a.Spec.Storage.Cassandra.External = nil
	a.Spec.Storage.Cassandra.Managed = &v1alpha1.ManagedCassandra{Size: size, Version: "5.0.9"}
	return a
}

// TestNodesAndReplicasChangeInSafeOrder changes the size of datacenters: nodes are added before
// the replicas that need them, and replicas are removed before the nodes that hold them.
func TestNodesAndReplicasChangeInSafeOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		want           int32
		is             Datacenter
		nodes, factors int32
	}{
		"new":                         {3, Datacenter{}, 3, 3},
		"new, with one node":          {1, Datacenter{}, 1, 1},
		"nodes starting, no tables":   {3, Datacenter{Size: 3, Scaling: true}, 3, 3},
		"grows":                       {3, Datacenter{Size: 1, Replicas: 1}, 3, 1},
		"grows, nodes join":           {3, Datacenter{Size: 3, Scaling: true, Replicas: 1}, 3, 1},
		"grows, nodes joined":         {3, Datacenter{Size: 3, Replicas: 1}, 3, 3},
		"has grown":                   {3, Datacenter{Size: 3, Replicas: 3}, 3, 3},
		"shrinks":                     {2, Datacenter{Size: 3, Replicas: 3}, 3, 2},
		"shrinks, replicas removed":   {2, Datacenter{Size: 3, Replicas: 2, Whole: 2}, 2, 2},
		"shrinks while growing":       {1, Datacenter{Size: 3, Replicas: 1}, 3, 1},
		"shrinks, a node leaves":      {2, Datacenter{Size: 2, Scaling: true, Replicas: 2}, 2, 2},
		"shrinks above 3":             {4, Datacenter{Size: 6, Replicas: 3, Whole: 3}, 4, 3},
		"shrinks to 1, replicas stay": {1, Datacenter{Size: 3, Replicas: 2}, 3, 1},
		"changed while nodes join":    {5, Datacenter{Size: 3, Scaling: true, Replicas: 1}, 3, 1},
		"reverted while nodes join":   {1, Datacenter{Size: 3, Scaling: true, Replicas: 1}, 3, 1},
		"shrinks, replicas unknown":   {2, Datacenter{Size: 3}, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tc.is.Kind = KindCassandraDatacenter
			in := Input{Archiver: managedOf(tc.want), Image: "varve:1", Datacenter: tc.is}
			if nodes, factors := in.sizeNow(), in.replicasNow(); nodes != tc.nodes || factors != tc.factors {
				t.Errorf("got %d nodes and %d replicas, want %d and %d", nodes, factors, tc.nodes, tc.factors)
			}
		})
	}
}

// TestEverySizeChangeCompletes simulates cass-operator and the schema Job for each change of
// size, step by step. It checks that they never get a request that they would reject, and that
// the datacenter reaches the size in the spec.
func TestEverySizeChangeCompletes(t *testing.T) {
	for from := int32(1); from <= 6; from++ {
		for to := int32(1); to <= 6; to++ {
			a := managedOf(to)
			is := Datacenter{Kind: KindCassandraDatacenter, Size: from, Replicas: min(3, from)}
			nodes := from // existing nodes
			for step := 0; nodes != to || is.Replicas != min(3, to); step++ {
				if step > 20 {
					t.Fatalf("%d → %d: the size stays at %d nodes: %+v", from, to, nodes, is)
				}
				in := Input{Archiver: a, Datacenter: is}
				size, factor := in.sizeNow(), in.replicasNow()
				switch {
				case is.Scaling && size != is.Size:
					t.Fatalf("%d → %d: the size changes while nodes join or leave: %+v", from, to, is)
				case factor > nodes || factor != is.Replicas && is.Scaling:
					t.Fatalf("%d → %d: %d replicas on %d nodes, %+v", from, to, factor, nodes, is)
				case size < is.Replicas:
					t.Fatalf("%d → %d: %d nodes with %d replicas", from, to, size, is.Replicas)
				}
				if is.Size = size; nodes < size {
					nodes++
				} else if nodes > size {
					nodes--
				} else {
					is.Replicas, is.Whole = factor, factor
				}
				is.Scaling = nodes != is.Size
			}
		}
	}
}

// TestNodeNamesAreValidLabels checks the longest name that Kubernetes derives from the names of
// the cluster, datacenter and rack.
func TestNodeNamesAreValidLabels(t *testing.T) {
	seen := map[string]string{}
	for _, archiver := range []string{"a", "main", "sixteen-letters0", "cut-here-at-a-hyphen", strings.Repeat("x", 40), strings.Repeat("x", 39) + "y", "a-b-c-d-e-f-g-h-i-j"} {
		name := fmt.Sprintf("%s-%s-%s-sts-%s", ClusterName(archiver), DatacenterName(archiver), "rack-name-1", "0123456789")
		if len(name) > 63 {
			t.Errorf("the name %s has %d letters, which is too long", name, len(name))
		}
		if other := seen[ClusterName(archiver)]; other != "" {
			t.Errorf("%s and %s have the same cluster name", archiver, other)
		}
		if len(ClusterName(archiver)) < 2 || strings.Contains(ClusterName(archiver), "--") {
			t.Errorf("%s has the cluster name %s", archiver, ClusterName(archiver))
		}
		seen[ClusterName(archiver)] = archiver
	}
}

func TestHeapSizeIsHalfOfMemory(t *testing.T) {
	quantity := func(s string) *resource.Quantity { q := resource.MustParse(s); return &q }
	memory := func(request, limit string) *corev1.ResourceRequirements {
		r := &corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
		if request != "" {
			r.Requests[corev1.ResourceMemory] = resource.MustParse(request)
		}
		if limit != "" {
			r.Limits[corev1.ResourceMemory] = resource.MustParse(limit)
		}
		return r
	}
	for _, tc := range []struct {
		m    v1alpha1.ManagedCassandra
		want string
	}{
		{v1alpha1.ManagedCassandra{}, "2Gi"},
		{v1alpha1.ManagedCassandra{HeapSize: quantity("512Mi")}, "512Mi"},
		{v1alpha1.ManagedCassandra{Resources: memory("8Gi", "")}, "4Gi"},
		{v1alpha1.ManagedCassandra{Resources: memory("2Gi", "6Gi")}, "3Gi"},
		{v1alpha1.ManagedCassandra{Resources: memory("128Gi", "")}, "16Gi"},
		{v1alpha1.ManagedCassandra{Resources: memory("", "")}, "2Gi"},
	} {
		if got := heapSize(&tc.m); got.Cmp(resource.MustParse(tc.want)) != 0 {
			t.Errorf("%+v: got a heap of %s, want %s", tc.m.Resources, got.String(), tc.want)
		}
	}
}
