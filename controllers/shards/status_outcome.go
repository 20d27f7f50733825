package shards

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/placement"
)

// publish passes the outcome on to the other reconcilers, if it has changed.
func (r *Reconciler) publish(name types.NamespacedName, in *observed, compiled *compilation, placed placement.Result, known *memory) {
	if compiled.missingCRD != "" {
		r.publishMissing(name, compiled.missingCRD, known)
		return
	}
	out := &outcome.Outcome{
		Groups: compiled.groups, Policies: compiled.policies, Generations: compiled.generations, Blind: known.history.Blind(),
		Unplaced: placed.Unplaced, Moving: placed.Moving, Moves: known.moves, Outdated: in.outdated(compiled, known.captured),
		Deletions: in.deletionStates(compiled),
	}
	known.captured = capturedFingerprints(compiled, out.Outdated, known.captured)
	if old := known.published; old != nil && known.publishedFingerprint == compiled.fingerprint && known.publishedExpiry.Equal(compiled.expiry) && old.MissingCRD == "" &&
		slices.EqualFunc(old.Blind, out.Blind, placement.BlindEngine.Equal) && old.Unplaced == out.Unplaced && old.Moving == out.Moving && old.Moves == out.Moves && maps.Equal(old.Outdated, out.Outdated) &&
		maps.Equal(old.Generations, out.Generations) && maps.EqualFunc(old.Deletions, out.Deletions, slices.Equal) {
		return
	}
	known.published, known.publishedFingerprint, known.publishedExpiry = out, compiled.fingerprint, compiled.expiry
	r.Outcomes.Put(name, out)
}

// publishMissing adds to the published outcome, which is still valid, that a CRD is missing.
func (r *Reconciler) publishMissing(name types.NamespacedName, crd string, known *memory) {
	out := outcome.Outcome{}
	if known.published != nil {
		out = *known.published
	}
	if out.MissingCRD == crd {
		return
	}
	out.MissingCRD = crd
	known.published = &out
	r.Outcomes.Put(name, &out)
}

// outdated counts, for each group, the shards whose engine does not capture the latest lists
// yet. If the engine still captures the shard and the group itself has not changed since it
// was captured, the shard does not count, because only another group has changed.
func (in *observed) outdated(compiled *compilation, captured map[string]uint64) map[string]int {
	out := map[string]int{}
	for i := range compiled.shards {
		if in.capturesLists(i, compiled.shards[i].captured()) {
			continue
		}
		isCaptured := in.isCaptured(i)
		for name, g := range compiled.groups {
			if fingerprint, known := captured[name]; g.ByShard[i] > 0 && !(isCaptured && known && fingerprint == g.Fingerprint) {
				out[name]++
			}
		}
	}
	return out
}

// capturedFingerprints returns a fingerprint for each group: that of the version that engines
// captured last. If no shard of the group is outdated, this is the fingerprint in the
// compilation. Otherwise it is the previous fingerprint.
func capturedFingerprints(compiled *compilation, outdated map[string]int, before map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, g := range compiled.groups {
		if outdated[name] == 0 {
			out[name] = g.Fingerprint
		} else if was, known := before[name]; known {
			out[name] = was
		}
	}
	return out
}

// isCaptured reports whether a living engine that should capture a shard captures it with any
// lists.
func (in *observed) isCaptured(index int) bool {
	return in.anyEngine(index, func(answer v1alpha1.ShardEngineStatus) bool { return answer.Phase == v1alpha1.Capturing })
}

// capturesLists reports whether a living engine that should capture a shard captures
// exactly these lists.
func (in *observed) capturesLists(index int, lists []string) bool {
	wanted := slices.Sorted(slices.Values(lists))
	return in.anyEngine(index, func(answer v1alpha1.ShardEngineStatus) bool {
		return slices.Equal(wanted, slices.Sorted(slices.Values(answer.Lists)))
	})
}

// anyEngine reports whether matches returns true for the answer of any living engine that
// should capture a shard.
func (in *observed) anyEngine(index int, matches func(v1alpha1.ShardEngineStatus) bool) bool {
	s := in.shards[index]
	if s == nil || s.Status == nil {
		return false
	}
	return slices.ContainsFunc(s.Status.Engines, func(answer v1alpha1.ShardEngineStatus) bool {
		captures := slices.Contains(s.Spec.Engines, v1alpha1.ShardEngine{Name: answer.Name, Order: v1alpha1.OrderCapture})
		return captures && in.isAlive(answer.Name) && matches(answer)
	})
}

// isAlive reports whether an engine has a pod and renews its Lease.
func (in *observed) isAlive(engine string) bool {
	return slices.ContainsFunc(in.engines, func(e fleet.Engine) bool { return e.Name == engine && !e.Dead })
}
