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

// Joining watches a shard's channels connect.
type Joining struct {
	Since     time.Time // when its channels were applied
	grown     time.Time // when the number of connected ones last rose
	connected int
}

// Done reports whether every channel is connected that can be expected to: all of
// them; or some, and no more for a while; or time is up, as when the IOCs are off.
// connected counts also those that can do no better: paused ones and ones of a
// type that can not be archived.
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

// Say returns what to say of a shard; empty: nothing any more. joined says that
// its channels are connected, open that the engine has not closed its claim yet.
func Say(d Decision, joined, open bool) v1alpha1.ShardPhase {
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
