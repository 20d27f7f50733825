package controllers

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/report"
)

// place decides which engines capture which shard. Before all engines were asked
// everything stays as it is: one of them may have what nobody seems to have.
func (r *ShardsReconciler) place(in *observed, made *compiled) placement.Result {
	plan := placement.Input{Rebalance: in.archiver.Spec.Rebalance != v1alpha1.RebalanceOff, Moves: moves}
	for i := range made.shards {
		s := placement.Shard{Index: i, Weight: float64(made.shards[i].channels)}
		if have := in.shards[i]; have != nil {
			s.Engines = slots(have)
		}
		plan.Shards = append(plan.Shards, s)
	}
	for _, e := range in.engines {
		plan.Engines = append(plan.Engines, placement.Engine{
			Name: e.Name, Usable: e.Usable() && r.Fleet.Synced(), Leaving: e.Leaving(), Dead: e.Dead,
		})
	}
	plan.Holding = in.holding()
	return placement.Plan(plan)
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
// and engine, and of the end of the last one.
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
		switch c.reason {
		case placement.Dead:
			tell(corev1.EventTypeWarning, "EngineDead", "Engine %s is gone or does not renew its Lease: %d shards go to other engines", c.from, n)
		case placement.Leaving:
			tell(corev1.EventTypeNormal, "EngineLeaving", "Engine %s is leaving: %d shards move to other engines", c.from, n)
		case placement.Uneven:
			tell(corev1.EventTypeNormal, "Rebalancing", "%d shards move to even out the load", n)
		case placement.Adopted:
			tell(corev1.EventTypeNormal, "ShardsAdopted", "%d shards were captured by engines though no object said so", n)
		case placement.Unassigned:
			tell(corev1.EventTypeNormal, "ShardsAssigned", "%d shards are assigned to engines", n)
		}
	}
	if known.moving && placed.Moving == 0 {
		tell(corev1.EventTypeNormal, "MovesDone", "No shard is on the way between engines any more")
	}
	known.moving = placed.Moving > 0
}
