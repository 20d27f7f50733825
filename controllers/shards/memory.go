package shards

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/placement"
)

// memory holds information about an Archiver between runs of the reconciler, mostly to save
// work. Losing it does no harm.
type memory struct {
	// compiled is the latest compilation, without its data.
	compiled *compilation
	// published is the outcome that was published last. publishedFingerprint is the
	// fingerprint of its compilation, and publishedExpiry the time at which its result changes: two
	// compilations before and after such a time have the same fingerprint.
	published            *outcome.Outcome
	publishedFingerprint uint64
	publishedExpiry      time.Time
	// captured maps each group (namespace/name) to a fingerprint: that of the version of the
	// group that engines captured last.
	captured map[string]uint64
	// unusedSince maps the name of each channel list that no shard names to the time since
	// which it is unused.
	unusedSince map[string]time.Time
	// readySince maps a shard to the time since which its engines capture its lists. It has
	// only shards to which PVs move.
	readySince map[int32]time.Time

	// missingCRD is the CRD that was missing in the last run, or "".
	missingCRD string

	costs   placement.Smoother
	history placement.Memory
	moves   outcome.MovesProgress
	writes  ownWrites
}

// memoryOf returns the memory of an Archiver.
func (r *Reconciler) memoryOf(name types.NamespacedName) *memory {
	if r.known == nil {
		r.known = map[types.NamespacedName]*memory{}
	}
	if r.known[name] == nil {
		r.known[name] = &memory{unusedSince: map[string]time.Time{}}
	}
	return r.known[name]
}

// forget drops the memory of an Archiver that no longer exists.
func (r *Reconciler) forget(name types.NamespacedName) {
	if r.known[name] != nil {
		delete(r.known, name)
		r.Outcomes.Delete(name)
	}
}
