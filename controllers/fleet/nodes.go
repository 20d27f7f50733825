package fleet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// zoneKept is how long the zone of a node is cached. An unknown zone is cached too, because
// the operator may have no right to read nodes.
const zoneKept = 10 * time.Minute

// nodes has the zones of nodes on which engines run.
type nodes map[string]nodeZone

// nodeZone is a cached zone.
type nodeZone struct {
	zone  string
	until time.Time
}

func (n nodes) zone(node string) string { return n[node].zone }

// updateZones looks up zones that are not cached, and forgets nodes without engines.
func (f *Fleet) updateZones(ctx context.Context, pods []corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	f.mu.Lock()
	have := f.nodes
	f.mu.Unlock()
	now := time.Now()
	next := nodes{}
	for i := range pods {
		name := pods[i].Spec.NodeName
		if _, done := next[name]; done || name == "" {
			continue
		}
		z := have[name]
		if now.After(z.until) {
			z = nodeZone{zone: f.fetchZone(ctx, name, z.zone), until: now.Add(zoneKept)}
		}
		next[name] = z
	}
	f.mu.Lock()
	f.nodes = next
	f.mu.Unlock()
}

// fetchZone returns the zone of a node. If reading the node fails, it returns the previously
// known zone.
func (f *Fleet) fetchZone(ctx context.Context, node, before string) string {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	if err := f.cfg.API.Get(ctx, client.ObjectKey{Name: node}, meta); err != nil {
		f.cfg.Log.V(1).Info("reading the zone of a node failed", "node", node, "err", err.Error())
		return before
	}
	return meta.Labels[corev1.LabelTopologyZone]
}
