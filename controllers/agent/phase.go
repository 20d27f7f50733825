package agent

import (
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Limits of joining: see joining.done.
const (
	joinAtLeast = time.Second
	joinQuiet   = 2 * time.Second
	joinAtMost  = 15 * time.Second
)

// joining watches a shard's channels connect.
type joining struct {
	since     time.Time // when its channels were applied
	grown     time.Time // when the number of connected ones last rose
	connected int
}

// done reports whether every channel is connected that can be expected to: all of
// them; or some, and no more for a while; or time is up, as when the IOCs are off.
// connected counts also those that can do no better: paused ones and ones of a
// type that can not be archived.
func (j *joining) done(now time.Time, connected, channels int) bool {
	if connected > j.connected {
		j.connected, j.grown = connected, now
	}
	age := now.Sub(j.since)
	switch {
	case connected >= channels || age >= joinAtMost:
		return true
	case age < joinAtLeast || j.connected == 0:
		return false
	}
	return now.Sub(j.grown) >= joinQuiet
}

// phase returns what to say of a shard; empty: nothing any more. joined says that
// its channels are connected, open that the engine has not closed its claim yet.
func phase(d decision, joined, open bool) v1alpha1.ShardPhase {
	switch {
	case d.hold && d.drain:
		return v1alpha1.Draining
	case d.hold && joined:
		return v1alpha1.Capturing
	case d.hold:
		return v1alpha1.Joining
	case open:
		return v1alpha1.Draining
	case d.released:
		return v1alpha1.Drained
	}
	return ""
}
