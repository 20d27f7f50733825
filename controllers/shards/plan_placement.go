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
	weights, sights := known.costs.Weights(channels), in.sights()
	for i := range compiled.shards {
		if !in.exists(i, &compiled.shards[i], plan.Holding) {
			continue
		}
		s := placement.Shard{Index: i, Weight: weights[i], Replicas: in.replicas(i, &compiled.shards[i])}
		if have := in.shards[i]; have != nil {
			s.Engines = slots(have, sights)
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
// received few samples. If no channel is connected, the load is what it was.
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
					Channels: float64(s.Channels), Circuits: s.Circuits, Connected: float64(final(&s)),
				}
			}
		}
	}
	for index, l := range loads {
		costs.Observe(now, index, l)
	}
}

// slots returns the engines of a shard, with their orders and answers. An engine that has just
// begun to capture has not reported it yet. Until then its answer says how much it sees.
func slots(s *v1alpha1.ArchiveShard, sights map[sightKey]placement.Sight) (out []placement.Slot) {
	answers := map[string]v1alpha1.ShardEngineStatus{}
	if s.Status != nil {
		for _, e := range s.Status.Engines {
			answers[e.Name] = e
		}
	}
	for _, e := range s.Spec.Engines {
		answer := answers[e.Name]
		slot := placement.Slot{Name: e.Name, Order: e.Order, Phase: answer.Phase, Sight: sights[sightKey{e.Name, int(*s.Spec.Index)}]}
		if n := answer.Connected; n != nil && !slot.Sight.Known {
			slot.Sight = placement.Sight{Known: true, Stale: true, Channels: int(max(s.Spec.Channels, *n)), Connected: int(*n)}
		}
		out = append(out, slot)
	}
	return out
}

// sightKey is an engine and a shard.
type sightKey struct {
	engine string
	shard  int
}

// sights returns how much the living engines see of the shards that they report to capture.
func (in *observed) sights() map[sightKey]placement.Sight {
	out := map[sightKey]placement.Sight{}
	for _, e := range in.engines {
		if e.Report == nil || e.Dead {
			continue
		}
		for i := range e.Report.Shards {
			s := &e.Report.Shards[i]
			if s.Phase != string(v1alpha1.Capturing) {
				continue
			}
			sight := placement.Sight{
				Known: true, Channels: s.Channels, Connected: final(s),
				Steady: s.SteadilyConnected, Unreachable: s.Unreachable,
			}
			for _, h := range s.Hosts {
				sight.Hosts = append(sight.Hosts, placement.Host{Name: h.Host, Channels: h.Channels})
			}
			out[sightKey{e.Name, s.Index}] = sight
		}
	}
	return out
}

// final counts the channels of a shard that are connected, paused, or cannot be archived.
func final(s *report.Shard) int { return s.Connected + s.Paused + s.Unsupported }

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
