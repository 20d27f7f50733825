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

// publish tells the others what came of it, if it is news.
func (r *Reconciler) publish(name types.NamespacedName, in *observed, made *compiled, placed placement.Result, known *archive) {
	if made.withdrawn {
		return // what was told before still holds
	}
	out := &outcome.Outcome{
		Groups: made.groups, Generations: made.generations,
		Unplaced: placed.Unplaced, Moving: placed.Moving, Moves: known.moves, Outdated: in.outdated(made, known.settled),
	}
	known.settled = settled(made, out.Outdated, known.settled)
	if old := known.outcome; old != nil && known.told == made.fingerprint &&
		old.Unplaced == out.Unplaced && old.Moving == out.Moving && old.Moves == out.Moves && maps.Equal(old.Outdated, out.Outdated) &&
		maps.Equal(old.Generations, out.Generations) {
		return
	}
	known.outcome, known.told = out, made.fingerprint
	r.Outcomes.Put(name, out)
}

// outdated counts for each group the shards whose engine does not capture the
// latest lists yet. A group that is captured as before does not count a shard
// whose lists another group changed.
func (in *observed) outdated(made *compiled, settled map[string]uint64) map[string]int {
	out := map[string]int{}
	for i := range made.shards {
		if in.upToDate(i, made.shards[i].captured()) {
			continue
		}
		held := in.held(i)
		for name, g := range made.groups {
			if as, was := settled[name]; g.ByShard[i] > 0 && !(held && was && as == g.Fingerprint) {
				out[name]++
			}
		}
	}
	return out
}

// settled returns the fingerprints of groups that are captured as compiled, now or
// before.
func settled(made *compiled, outdated map[string]int, before map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, g := range made.groups {
		if outdated[name] == 0 {
			out[name] = g.Fingerprint
		} else if was, known := before[name]; known {
			out[name] = was
		}
	}
	return out
}

// held says whether a living engine that is to capture a shard does, whatever its
// lists.
func (in *observed) held(index int) bool {
	return in.answered(index, func(answer v1alpha1.ShardEngineStatus) bool { return answer.Phase == v1alpha1.Capturing })
}

// upToDate says whether a living engine that is to capture a shard captures these
// lists.
func (in *observed) upToDate(index int, lists []string) bool {
	wanted := slices.Sorted(slices.Values(lists))
	return in.answered(index, func(answer v1alpha1.ShardEngineStatus) bool {
		return slices.Equal(wanted, slices.Sorted(slices.Values(answer.Lists)))
	})
}

// answered says whether a living engine that is to capture a shard gave such an
// answer.
func (in *observed) answered(index int, such func(v1alpha1.ShardEngineStatus) bool) bool {
	s := in.shards[index]
	if s == nil || s.Status == nil {
		return false
	}
	return slices.ContainsFunc(s.Status.Engines, func(answer v1alpha1.ShardEngineStatus) bool {
		captures := slices.Contains(s.Spec.Engines, v1alpha1.ShardEngine{Name: answer.Name, Order: v1alpha1.OrderCapture})
		return captures && in.lives(answer.Name) && such(answer)
	})
}

// lives says whether an engine has a pod and gives signs of life.
func (in *observed) lives(engine string) bool {
	return slices.ContainsFunc(in.engines, func(e fleet.Engine) bool { return e.Name == engine && !e.Dead })
}
