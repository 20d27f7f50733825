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
	counts := map[moveCause]int{}
	for _, m := range placed.Moves {
		r.metrics.moves.WithLabelValues(string(m.Reason)).Inc()
		c := moveCause{reason: m.Reason}
		switch m.Reason {
		case placement.Dead, placement.Leaving, placement.Blind:
			c.from = m.From
		case placement.Probe:
			c.to = m.To
		}
		counts[c]++
	}
	for c, n := range counts {
		if !known.moves.MarkAnnounced(c.reason) {
			r.recordMove(in, c, n)
		}
	}
	r.recordUndone(in, placed.Undone)
	now := time.Now()
	if ended := known.moves.Update(now, placed); ended != nil {
		r.metrics.moveSeconds.Observe(now.Sub(ended.Since).Seconds())
		r.record(in, corev1.EventTypeNormal, "MovesDone", ended.Summary(now))
	}
}

// moveCause is a reason for which shards move, with the engine that the reason is about.
type moveCause struct {
	reason   placement.Reason
	from, to string
}

// recordMove records an event for the moves of n shards that have the same cause.
func (r *Reconciler) recordMove(in *observed, c moveCause, n int) {
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	switch c.reason {
	case placement.Dead:
		r.record(in, warning, "EngineDead", fmt.Sprintf("Engine %s is gone or does not renew its Lease; %d shards move to other engines", c.from, n))
	case placement.Leaving:
		r.record(in, normal, "EngineLeaving", fmt.Sprintf("Engine %s is shutting down; %d shards move to other engines", c.from, n))
	case placement.Uneven:
		r.record(in, normal, "Rebalancing", fmt.Sprintf("%d shards move to even out the load of engines", n))
	case placement.Blind:
		r.record(in, warning, "MovingOffBlind", fmt.Sprintf(
			"Engine %s lacks channels of %d shards that were connected before; the shards move if other engines connect them", c.from, n))
	case placement.Probe:
		r.record(in, normal, "ProbingBlind", fmt.Sprintf(
			"%d shards test whether engine %s reaches its hosts again; their engines continue until it does", n, c.to))
	case placement.Second:
		r.record(in, normal, "SecondEngines", fmt.Sprintf("%d shards get a second engine", n))
	case placement.Apart:
		r.record(in, normal, "MovingApart", fmt.Sprintf("%d shards move so that their two engines run on different nodes and in different zones", n))
	case placement.Adopted:
		r.record(in, normal, "ShardsAdopted", fmt.Sprintf(
			"Engines captured %d shards that were not assigned to them; the shards are now assigned to these engines", n))
	case placement.Unassigned:
		r.record(in, normal, "ShardsAssigned", fmt.Sprintf("%d shards are assigned to engines", n))
	}
}

// record records an event of the Archiver.
func (r *Reconciler) record(in *observed, kind, reason, text string) {
	r.Recorder.Eventf(in.archiver, nil, kind, reason, "Place", "%s", text)
}

// recordUndone records an event for each engine that failed to capture shards in time, or to connect their channels.
func (r *Reconciler) recordUndone(in *observed, undone []placement.Undone) {
	type failure struct {
		to    string
		fewer bool
	}
	counts := map[failure]int{}
	for _, u := range undone {
		r.metrics.undone.Inc()
		counts[failure{u.To, u.Fewer}]++
	}
	for f, n := range counts {
		text := fmt.Sprintf("Engine %s did not start to capture %d shards within %v; they stay on their current engines", f.to, n, r.limits().Join)
		if f.fewer {
			text = fmt.Sprintf("Engine %s connected far fewer channels of %d shards than their current engines; they stay there", f.to, n)
		}
		r.Recorder.Eventf(in.archiver, nil, corev1.EventTypeWarning, "MoveUndone", "Place", "%s", text)
	}
}
