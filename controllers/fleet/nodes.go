package fleet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// zoneKept is for how long the zone of a node is believed, also that it is not
// known: the operator may not be allowed to read nodes.
const zoneKept = 10 * time.Minute

// nodes has the zones of the nodes that engines run on.
type nodes map[string]nodeZone

type nodeZone struct {
	zone  string
	until time.Time
}

func (n nodes) zone(node string) string { return n[node].zone }

// zones looks up the zones that are not known yet, and forgets other nodes.
func (f *Fleet) zones(ctx context.Context, pods []corev1.Pod) {
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
			z = nodeZone{zone: f.askZone(ctx, name, z.zone), until: now.Add(zoneKept)}
		}
		next[name] = z
	}
	f.mu.Lock()
	f.nodes = next
	f.mu.Unlock()
}

// askZone returns the zone of a node, or what was known before.
func (f *Fleet) askZone(ctx context.Context, node, before string) string {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	if err := f.cfg.API.Get(ctx, client.ObjectKey{Name: node}, meta); err != nil {
		f.cfg.Log.V(1).Info("The zone of a node is not known", "node", node, "err", err.Error())
		return before
	}
	return meta.Labels[corev1.LabelTopologyZone]
}
