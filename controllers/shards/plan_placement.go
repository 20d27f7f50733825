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

// orders are those for the engines of each shard that exists, by index.
type orders map[int][]v1alpha1.ShardEngine

// place decides which engines capture which shard. Before all engines were asked
// everything stays as it is: one of them may have what nobody seems to have.
func (r *Reconciler) place(in *observed, made *compiled, known *archive) (placement.Result, orders) {
	now := time.Now()
	plan := placement.Input{
		Rebalance: in.archiver.Spec.Rebalance != v1alpha1.RebalanceOff, Now: now, Limits: r.limits(), Holding: in.holding(),
		Hold: cassandraHold(in.archiver),
	}
	in.measure(now, &known.costs)
	channels := make([]int, len(made.shards))
	for i := range made.shards {
		channels[i] = made.shards[i].channels
	}
	weights := known.costs.Weights(channels)
	for i := range made.shards {
		if !in.exists(i, &made.shards[i], plan.Holding) {
			continue
		}
		s := placement.Shard{Index: i, Weight: weights[i], Replicas: in.replicas(i, &made.shards[i])}
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

// limits of moves.
func (r *Reconciler) limits() placement.Limits {
	if r.Limits == (placement.Limits{}) {
		return moveLimits
	}
	return r.Limits
}

// replicas returns how many engines are to capture a shard. One that captures nothing
// needs only one to seal it.
func (in *observed) replicas(index int, s *compiledShard) int {
	if !s.busy() {
		return 1
	}
	return in.archive().Replicas(index)
}

// measure takes the rates that engines report of shards which they capture. Of two
// the higher one counts: an engine that has just come to a shard has not seen much.
func (in *observed) measure(now time.Time, costs *placement.Smoother) {
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

// slots returns what a shard says of its engines.
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

// holding returns which engines report to have which shards: first those that
// seal, then those that capture.
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
				held[s.Index] = append(held[s.Index], holder{placement.Holder{Name: e.Name, Orphaned: s.Orphaned}, rankOf(&s)})
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

func rankOf(s *report.Shard) int {
	switch {
	case s.Sealing:
		return 0
	case s.Phase == string(v1alpha1.Capturing):
		return 1
	}
	return 2
}

// cassandraHold says why shards are not to move for now: nodes of Cassandra come, go or
// restart, and moving takes writes of its own.
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
