package shards

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"varve.dev/varve/api/v1alpha1"
)

const (
	// behindInterval is how soon is looked again whether the cache has caught up.
	behindInterval = 50 * time.Millisecond
	// behindLimit is how long a cache is taken to be behind. What it has not got
	// by then was removed by somebody.
	behindLimit = 3 * time.Second
)

// ownWrites are the shards that were written, which the cache may not have yet. A
// decision on old ones would give a shard to a second engine that has just gone to
// a first. It is safe for concurrent use.
type ownWrites struct {
	mu     sync.Mutex
	shards map[int]ownWrite
}

type ownWrite struct {
	version string
	at      time.Time
}

// wrote remembers a write.
func (w *ownWrites) wrote(index int, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shards == nil {
		w.shards = map[int]ownWrite{}
	}
	w.shards[index] = ownWrite{version: version, at: time.Now()}
}

// behind says whether shards in the cache are older than what was written, and
// forgets what need not be waited for.
func (w *ownWrites) behind(cached map[int]*v1alpha1.ArchiveShard) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for index, own := range w.shards {
		if time.Since(own.at) < behindLimit && older(cached[index], own.version) {
			continue
		}
		delete(w.shards, index)
	}
	return len(w.shards) > 0
}

func older(s *v1alpha1.ArchiveShard, version string) bool {
	if s == nil {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(s.ResourceVersion, version)
	return err == nil && order < 0
}
