package shards

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/controllers/placement"
)

// recordMoves counts the moves that begin, are undone, or end. It records one event for each
// reason and engine, and one event at the end of a wave.
func (r *Reconciler) recordMoves(in *observed, known *memory, placed placement.Result) {
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
	record := func(kind, reason, text string, args ...any) {
		r.Recorder.Eventf(in.archiver, nil, kind, reason, "Place", "%s", fmt.Sprintf(text, args...))
	}
	for c, n := range counts {
		if known.moves.MarkAnnounced(c.reason) {
			continue
		}
		switch c.reason {
		case placement.Dead:
			record(corev1.EventTypeWarning, "EngineDead", "Engine %s is gone or does not renew its Lease; %d shards move to other engines", c.from, n)
		case placement.Leaving:
			record(corev1.EventTypeNormal, "EngineLeaving", "Engine %s is shutting down; %d shards move to other engines", c.from, n)
		case placement.Uneven:
			record(corev1.EventTypeNormal, "Rebalancing", "%d shards move to even out the load of engines", n)
		case placement.Second:
			record(corev1.EventTypeNormal, "SecondEngines", "%d shards get a second engine", n)
		case placement.Apart:
			record(corev1.EventTypeNormal, "MovingApart", "%d shards move so that their two engines run on different nodes and in different zones", n)
		case placement.Adopted:
			record(corev1.EventTypeNormal, "ShardsAdopted", "Engines captured %d shards that were not assigned to them; the shards are now assigned to these engines", n)
		case placement.Unassigned:
			record(corev1.EventTypeNormal, "ShardsAssigned", "%d shards are assigned to engines", n)
		}
	}
	r.recordUndone(in, placed.Undone)
	now := time.Now()
	if ended := known.moves.Update(now, placed); ended != nil {
		r.metrics.moveSeconds.Observe(now.Sub(ended.Since).Seconds())
		record(corev1.EventTypeNormal, "MovesDone", "%s", ended.Summary(now))
	}
}

// recordUndone records an event for each engine that failed to capture shards in time.
func (r *Reconciler) recordUndone(in *observed, undone []placement.Undone) {
	counts := map[string]int{}
	for _, u := range undone {
		r.metrics.undone.Inc()
		counts[u.To]++
	}
	for to, n := range counts {
		r.Recorder.Eventf(in.archiver, nil, corev1.EventTypeWarning, "MoveUndone", "Place", "%s", fmt.Sprintf(
			"Engine %s did not start to capture %d shards within %v; they stay on their current engines", to, n, r.limits().Join))
	}
}
