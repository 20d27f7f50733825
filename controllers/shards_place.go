package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/placement"
)

// orders are those for the engines of each shard that exists, by index.
type orders map[int][]v1alpha1.ShardEngine

// place decides which engines capture which shard. Before all engines were asked
// everything stays as it is: one of them may have what nobody seems to have.
func (r *ShardsReconciler) place(in *observed, made *compiled, known *archive) (placement.Result, orders) {
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
func (r *ShardsReconciler) limits() placement.Limits {
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

// tellMoves makes events and counts of the moves that begin, one for each reason
// and engine, of those that were undone, and of the end of the last one.
func (r *ShardsReconciler) tellMoves(in *observed, known *archive, placed placement.Result) {
	type cause struct {
		reason placement.Reason
		from   string
	}
	counts := map[cause]int{}
	for _, m := range placed.Moves {
		r.metrics.moves.WithLabelValues(string(m.Reason)).Inc()
		c := cause{reason: m.Reason}
		if m.Reason == placement.Dead || m.Reason == placement.Leaving {
			c.from = m.From
		}
		counts[c]++
	}
	tell := func(kind, reason, text string, args ...any) {
		r.Recorder.Eventf(in.archiver, nil, kind, reason, "Place", "%s", fmt.Sprintf(text, args...))
	}
	for c, n := range counts {
		if known.moves.told(c.reason) {
			continue
		}
		switch c.reason {
		case placement.Dead:
			tell(corev1.EventTypeWarning, "EngineDead", "Engine %s is gone or does not renew its Lease: %d shards go to other engines", c.from, n)
		case placement.Leaving:
			tell(corev1.EventTypeNormal, "EngineLeaving", "Engine %s is leaving: %d shards move to other engines", c.from, n)
		case placement.Uneven:
			tell(corev1.EventTypeNormal, "Rebalancing", "%d shards move to even out the load", n)
		case placement.Second:
			tell(corev1.EventTypeNormal, "SecondEngines", "%d shards get a second engine", n)
		case placement.Apart:
			tell(corev1.EventTypeNormal, "MovingApart", "%d shards move so that their engines are on different nodes and in different zones", n)
		case placement.Adopted:
			tell(corev1.EventTypeNormal, "ShardsAdopted", "%d shards were captured by engines though no object said so", n)
		case placement.Unassigned:
			tell(corev1.EventTypeNormal, "ShardsAssigned", "%d shards are assigned to engines", n)
		}
	}
	r.tellUndone(in, placed.Undone)
	now := time.Now()
	if ended := known.moves.follow(now, placed); ended != nil {
		r.metrics.moveSeconds.Observe(now.Sub(ended.Since).Seconds())
		tell(corev1.EventTypeNormal, "MovesDone", "%s", ended.tell(now))
	}
}

// tellUndone makes an event for each engine that did not come to capture shards.
func (r *ShardsReconciler) tellUndone(in *observed, undone []placement.Undone) {
	counts := map[string]int{}
	for _, u := range undone {
		r.metrics.undone.Inc()
		counts[u.To]++
	}
	for to, n := range counts {
		r.Recorder.Eventf(in.archiver, nil, corev1.EventTypeWarning, "MoveUndone", "Place", "%s", fmt.Sprintf(
			"Engine %s did not come to capture %d shards within %v: they stay where they were", to, n, r.limits().Join))
	}
}
