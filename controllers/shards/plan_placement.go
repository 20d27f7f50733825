package shards

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/placement"
)

// orders has the engines, with their orders, of each shard that exists, by index.
type orders map[int][]v1alpha1.ShardEngine

// place decides which engines capture which shard. It changes nothing until the operator has
// requested a report from every engine, because an engine may capture a shard that seems to be
// unassigned.
func (r *Reconciler) place(in *observed, compiled *compilation, known *memory) (placement.Result, orders) {
	now := time.Now()
	plan := placement.Input{
		Rebalance: in.archiver.Spec.Rebalance != v1alpha1.RebalanceOff, Now: now, Limits: r.limits(), Holding: in.holding(),
		Hold: cassandraHold(in.archiver),
	}
	in.observeLoads(now, &known.costs)
	channels := make([]int, len(compiled.shards))
	for i := range compiled.shards {
		channels[i] = compiled.shards[i].channels
	}
	weights := known.costs.Weights(channels)
	for i := range compiled.shards {
		if !in.exists(i, &compiled.shards[i], plan.Holding) {
			continue
		}
		s := placement.Shard{Index: i, Weight: weights[i], Replicas: in.replicas(i, &compiled.shards[i])}
		if have := in.shards[i]; have != nil {
			s.Engines = slots(have)
		}
		plan.Shards = append(plan.Shards, s)
	}
	for _, e := range in.engines {
		plan.Engines = append(plan.Engines, placement.Engine{
			Name: e.Name, Node: e.Node, Zone: e.Zone, Capacity: e.CPU,
			Usable: e.Usable() && r.Fleet.Synced(), Leaving: e.Leaving(), Dead: e.Dead,
		})
	}
	known.history.Recall(&plan)
	placed := placement.Plan(plan)
	known.history.Record(&plan, placed)
	orders := orders{}
	for i := range plan.Shards {
		orders[plan.Shards[i].Index] = placed.Engines[i]
	}
	return placed, orders
}

// limits returns the limits of moves.
func (r *Reconciler) limits() placement.Limits {
	if r.Limits == (placement.Limits{}) {
		return defaultLimits
	}
	return r.Limits
}

// replicas returns how many engines should capture a shard. A shard without channels needs
// only one engine, which seals the samples that the shard captured before.
func (in *observed) replicas(index int, s *compiledShard) int {
	if !s.busy() {
		return 1
	}
	return in.archive().Replicas(index)
}

// observeLoads adds the loads that engines report for the shards that they capture. If two
// engines capture a shard, the higher rate counts, because an engine that has just joined has
// received few samples.
func (in *observed) observeLoads(now time.Time, costs *placement.Smoother) {
	costs.HalfLife = costHalfLife
	loads := map[int]placement.Load{}
	for _, e := range in.engines {
		if e.Report == nil {
			continue
		}
		for _, s := range e.Report.Shards {
			if l, known := loads[s.Index]; s.Phase == string(v1alpha1.Capturing) && (!known || l.SamplesPerSecond < s.SamplesPerSecond) {
				loads[s.Index] = placement.Load{
					SamplesPerSecond: s.SamplesPerSecond, BytesPerSecond: s.BytesPerSecond,
					Channels: float64(s.Channels), Circuits: s.Circuits,
				}
			}
		}
	}
	for index, l := range loads {
		costs.Observe(now, index, l)
	}
}

// slots returns the engines of a shard, with their orders and answers.
func slots(s *v1alpha1.ArchiveShard) (out []placement.Slot) {
	phases := map[string]v1alpha1.ShardPhase{}
	if s.Status != nil {
		for _, e := range s.Status.Engines {
			phases[e.Name] = e.Phase
		}
	}
	for _, e := range s.Spec.Engines {
		out = append(out, placement.Slot{Name: e.Name, Order: e.Order, Phase: phases[e.Name]})
	}
	return out
}

// holding returns the engines that report each shard. Engines that seal the shard come first,
// then engines that capture it, then the others.
func (in *observed) holding() map[int][]placement.Holder {
	type holder struct {
		placement.Holder
		rank int
	}
	held := map[int][]holder{}
	for _, e := range in.engines {
		if e.Report == nil {
			continue
		}
		for _, s := range e.Report.Shards {
			if s.Phase != string(v1alpha1.Drained) {
				held[s.Index] = append(held[s.Index], holder{placement.Holder{Name: e.Name, Orphaned: s.Orphaned}, holderRank(&s)})
			}
		}
	}
	out := make(map[int][]placement.Holder, len(held))
	for index, holders := range held {
		slices.SortStableFunc(holders, func(a, b holder) int { return cmp.Compare(a.rank, b.rank) })
		for _, h := range holders {
			out[index] = append(out[index], h.Holder)
		}
	}
	return out
}

func holderRank(s *report.Shard) int {
	switch {
	case s.Sealing:
		return 0
	case s.Phase == string(v1alpha1.Capturing):
		return 1
	}
	return 2
}

// cassandraHold returns the reason why no shard may move at present, or "" if shards may move.
// Moves wait while nodes of Cassandra are added, removed or restarted, because moves cause
// additional writes.
func cassandraHold(a *v1alpha1.Archiver) string {
	if a.Status == nil {
		return ""
	}
	c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionCassandraReady)
	moving := []string{
		v1alpha1.ReasonCassandraScaling, v1alpha1.ReasonReplicating, v1alpha1.ReasonReplacingNodes, v1alpha1.ReasonCassandraUpdating,
	}
	if c == nil || !slices.Contains(moving, c.Reason) {
		return ""
	}
	return c.Message
}
