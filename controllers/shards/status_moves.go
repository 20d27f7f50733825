package shards

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/controllers/placement"
)

// tellMoves makes events and counts of the moves that begin, one for each reason
// and engine, of those that were undone, and of the end of the last one.
func (r *Reconciler) tellMoves(in *observed, known *archive, placed placement.Result) {
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
		if known.moves.MarkAnnounced(c.reason) {
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
	if ended := known.moves.Update(now, placed); ended != nil {
		r.metrics.moveSeconds.Observe(now.Sub(ended.Since).Seconds())
		tell(corev1.EventTypeNormal, "MovesDone", "%s", ended.Summary(now))
	}
}

// tellUndone makes an event for each engine that did not come to capture shards.
func (r *Reconciler) tellUndone(in *observed, undone []placement.Undone) {
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
