package handover

import (
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Limits of joining: see Joining.Done.
const (
	joinAtLeast = time.Second
	joinQuiet   = 2 * time.Second
	joinAtMost  = 15 * time.Second
)

// Joining tracks how a shard's channels connect.
type Joining struct {
	Since     time.Time // when the engine received the channels
	grown     time.Time // when the number of connected channels last rose
	connected int
}

// Done reports whether joining is complete. It is complete in three cases: all channels are
// connected; some channels are connected, and no further channel has connected for joinQuiet;
// or joinAtMost has passed, for example because the IOCs are off. connected includes channels
// that will not connect: paused channels and channels of a type that cannot be archived.
//
// An engine that reaches no IOC is done as well, because the IOCs may be off. It tells how many
// channels it has connected, and the operator decides whether that is enough for the engine from
// which the shard moves to stop.
func (j *Joining) Done(now time.Time, connected, channels int) bool {
	if connected > j.connected {
		j.connected, j.grown = connected, now
	}
	age := now.Sub(j.Since)
	switch {
	case connected >= channels || age >= joinAtMost:
		return true
	case age < joinAtLeast || j.connected == 0:
		return false
	}
	return now.Sub(j.grown) >= joinQuiet
}

// Phase returns the phase to report for a shard, or "" if the engine has nothing to report.
// joined means that its channels are connected; open means that the engine has not closed its
// claim yet.
func Phase(d Decision, joined, open bool) v1alpha1.ShardPhase {
	switch {
	case d.Hold && d.Drain:
		return v1alpha1.Draining
	case d.Hold && joined:
		return v1alpha1.Capturing
	case d.Hold:
		return v1alpha1.Joining
	case open:
		return v1alpha1.Draining
	case d.Released:
		return v1alpha1.Drained
	}
	return ""
}
