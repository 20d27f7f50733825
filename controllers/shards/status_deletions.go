package shards

import (
	"fmt"
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
)

// deletionStates returns how far the deletions of samples of each group are, by namespace/name.
func (in *observed) deletionStates(compiled *compilation) map[string][]outcome.Deletion {
	var out map[string][]outcome.Deletion
	for i := range compiled.deletions {
		d := &compiled.deletions[i]
		if out == nil {
			out = map[string][]outcome.Deletion{}
		}
		out[d.group] = append(out[d.group], in.deletionState(d))
	}
	return out
}

// deletionState returns how far a deletion is: as far as in the shard in which it is least far.
func (in *observed) deletionState(d *deletion) outcome.Deletion {
	out := outcome.Deletion{Index: d.index}
	if d.blocked != "" {
		out.Message, out.Failed = d.blocked, d.failed
		return out
	}
	out.State = v1alpha1.DeletionDone
	behind, pvs, removed := 0, 0, 0
	for _, index := range slices.Sorted(maps.Keys(d.orders)) {
		st := erasureIn(in.shards[index], d.orders[index].Name)
		pvs, removed = pvs+int(st.PVs), removed+int(st.Removed)
		switch rank := rankOf(st.State); {
		case rank < rankOf(out.State):
			out.State, out.Message, out.Failed, behind = st.State, st.Message, st.Message != "", 1
		case rank == rankOf(out.State):
			behind++
			if out.Message == "" {
				out.Message, out.Failed = st.Message, st.Message != ""
			}
		}
	}
	switch {
	case out.State == v1alpha1.DeletionHidden && out.Message == "":
		out.Message = fmt.Sprintf("no reader sees the samples any longer; they are removed from disk for %d of %d PVs", removed, pvs)
	case out.State == "" && out.Message == "":
		out.Message = fmt.Sprintf("%d of %d shards have not begun: the engine that seals a shard carries out the deletion", behind, len(d.orders))
	}
	return out
}

// erasureIn returns how far a deletion is in a shard. If several engines know, the one that knows the most counts: no state
// is ever left again. The state is empty if no engine knows anything.
func erasureIn(s *v1alpha1.ArchiveShard, name string) (best v1alpha1.ShardErasureStatus) {
	ordered := s != nil && slices.ContainsFunc(s.Spec.Erasures, func(o v1alpha1.ShardErasure) bool { return o.Name == name })
	if !ordered || s.Status == nil {
		return best
	}
	for i := range s.Status.Engines {
		e := &s.Status.Engines[i]
		for _, st := range e.Erasures {
			if st.Name != name {
				continue
			}
			if r := rankOf(st.State); r > rankOf(best.State) || r == rankOf(best.State) && e.Name == s.Status.Sealer {
				best = st
			}
		}
	}
	return best
}

// rankOf orders the states of deletions.
func rankOf(s v1alpha1.DeletionState) int {
	return slices.Index([]v1alpha1.DeletionState{"", v1alpha1.DeletionWaiting, v1alpha1.DeletionHidden, v1alpha1.DeletionDone}, s)
}
