package archiverstatus

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/figures"
	"varve.dev/varve/controllers/fleet"
)

// twofold returns the shards for PVs that two engines capture, if they have at least the given
// number of channels.
func twofold(in *Input, channels int32) (out []*v1alpha1.ArchiveShard) {
	for i := range in.Shards {
		if s := &in.Shards[i]; s.Spec.Index != nil && *s.Spec.Index >= in.Archiver.Spec.Shards && s.Spec.Channels >= channels {
			out = append(out, s)
		}
	}
	return out
}

// redundancy returns the additional load of second engines. Before the first report it returns
// the numbers of the last status.
func redundancy(in *Input) *v1alpha1.RedundancyStatus {
	out, old := v1alpha1.RedundancyStatus{}, v1alpha1.RedundancyStatus{}
	for _, s := range twofold(in, 1) {
		out.Channels += s.Spec.Channels
	}
	if out.Channels == 0 {
		return nil
	}
	if in.Archiver.Status != nil && in.Archiver.Status.Redundancy != nil {
		old = *in.Archiver.Status.Redundancy
	}
	var bytes float64
	reports := 0
	for i := range in.Fleet {
		r := in.Fleet[i].Report
		if r == nil {
			continue
		}
		reports++
		if r.Second != nil {
			out.Circuits += int32(r.Second.Circuits)
			bytes += r.Second.BytesPerDay
		}
	}
	if reports == 0 && !in.Synced {
		out.Circuits, out.BytesPerDay = old.Circuits, old.BytesPerDay
		return &out
	}
	out.BytesPerDay = int64(figures.Smooth(float64(old.BytesPerDay), bytes))
	return &out
}

// redundant returns the condition Redundant, or nothing without PVs of redundancy 2. The
// condition is true when two engines on different nodes capture each such PV.
func redundant(in *Input) []metav1.Condition {
	shards := twofold(in, 1)
	if len(shards) == 0 {
		return nil
	}
	nodes := map[string]string{} // of living engines
	places := map[string]bool{}
	for i := range in.Fleet {
		if e := &in.Fleet[i]; !e.Dead {
			nodes[e.Name] = e.Node
			if !e.Leaving() {
				places[e.Node] = true
			}
		}
	}
	one, near := 0, 0
	for _, s := range shards {
		switch together, two := pair(s, nodes); {
		case !two:
			one++
		case together:
			near++
		}
	}
	c := metav1.Condition{Type: v1alpha1.ConditionRedundant, Status: metav1.ConditionFalse}
	cutOff := blind(in, shards)
	of := fmt.Sprintf("of the %d shards of redundancy 2", len(shards))
	switch {
	case one > 0 && staying(in.Fleet) < 2:
		c.Reason, c.Message = v1alpha1.ReasonOneEngine, fmt.Sprintf("%s, %d have at most one engine: the archive has only one engine", of, one)
	case one > 0:
		c.Reason, c.Message = v1alpha1.ReasonJoining, fmt.Sprintf("%s, %d have at most one engine: another engine is joining", of, one)
	case near > 0 && len(places) < 2:
		c.Reason, c.Message = v1alpha1.ReasonOneNode, fmt.Sprintf("%s, %d have both engines on the same node: all engines run on one node", of, near)
	case near > 0:
		c.Reason, c.Message = v1alpha1.ReasonOneNode, fmt.Sprintf("%s, %d have both engines on the same node", of, near)
	case cutOff != "":
		c.Reason, c.Message = v1alpha1.ReasonEngineBlind, cutOff
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonTwoEngines, "two engines on different nodes capture each PV of redundancy 2"
	}
	return []metav1.Condition{c}
}

// staying counts the running engines that are not leaving.
func staying(engines []fleet.Engine) (n int) {
	for i := range engines {
		if e := &engines[i]; !e.Dead && !e.Leaving() {
			n++
		}
	}
	return n
}

// pair examines the running engines that capture or drain a shard. two reports whether there
// are at least two of them. together reports whether they run on at most one node. nodes has
// the nodes of the running engines. Unknown nodes count as different.
func pair(s *v1alpha1.ArchiveShard, nodes map[string]string) (together, two bool) {
	if s.Status == nil {
		return false, false
	}
	n, at := 0, map[string]bool{}
	for _, e := range s.Status.Engines {
		node, lives := nodes[e.Name]
		if !lives || e.Phase != v1alpha1.Capturing && e.Phase != v1alpha1.Draining {
			continue
		}
		if n++; node == "" {
			node = "of " + e.Name
		}
		at[node] = true
	}
	return len(at) < 2, n >= 2
}
