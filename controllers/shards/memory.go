package shards

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/placement"
)

// archive is what is remembered of an Archiver, to do less. All of it can be lost.
type archive struct {
	made    *compiled        // the latest compilation
	outcome *outcome.Outcome // as told last
	told    uint64           // fingerprint of the compilation that it is of
	// settled has the fingerprints with which groups were captured last, by
	// namespace/name.
	settled map[string]uint64
	// unused has the channel lists that no shard names, and since when.
	unused  map[string]time.Time
	costs   placement.Smoother
	history placement.Memory
	moves   outcome.MovesProgress
	writes  ownWrites
	// taken has since when shards that others wait for capture their lists.
	taken map[int32]time.Time
}

// remember returns what is known of an Archiver.
func (r *Reconciler) remember(name types.NamespacedName) *archive {
	if r.known == nil {
		r.known = map[types.NamespacedName]*archive{}
	}
	if r.known[name] == nil {
		r.known[name] = &archive{unused: map[string]time.Time{}}
	}
	return r.known[name]
}

func (r *Reconciler) forget(name types.NamespacedName) {
	if r.known[name] != nil {
		delete(r.known, name)
		r.Outcomes.Delete(name)
	}
}
