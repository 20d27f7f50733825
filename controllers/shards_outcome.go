package controllers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/placement"
)

// publish tells the others what came of it, if it is news.
func (r *ShardsReconciler) publish(name types.NamespacedName, in *observed, made *compiled, placed placement.Result, known *archive) {
	if made.withdrawn {
		return // what was told before still holds
	}
	out := &Outcome{
		Groups: made.groups, Generations: made.generations,
		Unplaced: placed.Unplaced, Moving: placed.Moving, Outdated: in.outdated(made),
	}
	if old := known.outcome; old != nil && known.told == made.fingerprint &&
		old.Unplaced == out.Unplaced && old.Moving == out.Moving && maps.Equal(old.Outdated, out.Outdated) &&
		maps.Equal(old.Generations, out.Generations) {
		return
	}
	known.outcome, known.told = out, made.fingerprint
	r.Outcomes.Put(name, out)
}

// outdated counts for each group the shards whose engine does not capture the
// latest lists yet.
func (in *observed) outdated(made *compiled) map[string]int {
	out := map[string]int{}
	for i := range made.shards {
		if in.upToDate(i, made.shards[i].lists) {
			continue
		}
		for name, g := range made.groups {
			if g.ByShard[i] > 0 {
				out[name]++
			}
		}
	}
	return out
}

// upToDate says whether a living engine that is to capture a shard captures these
// lists.
func (in *observed) upToDate(index int, lists []string) bool {
	s := in.shards[index]
	if s == nil || s.Status == nil {
		return false
	}
	wanted := slices.Sorted(slices.Values(lists))
	return slices.ContainsFunc(s.Status.Engines, func(answer v1alpha1.ShardEngineStatus) bool {
		captures := slices.Contains(s.Spec.Engines, v1alpha1.ShardEngine{Name: answer.Name, Order: v1alpha1.OrderCapture})
		return captures && in.lives(answer.Name) && slices.Equal(wanted, slices.Sorted(slices.Values(answer.Lists)))
	})
}

// lives says whether an engine has a pod and gives signs of life.
func (in *observed) lives(engine string) bool {
	return slices.ContainsFunc(in.engines, func(e fleet.Engine) bool { return e.Name == engine && !e.Dead })
}
