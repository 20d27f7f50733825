package shards

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"varve.dev/varve/api/v1alpha1"
)

const (
	// cacheInterval is how often the reconciler checks whether the cache has caught up.
	cacheInterval = 50 * time.Millisecond
	// cacheTimeout is how long the reconciler waits for the cache. If a shard is still missing
	// after that, another client has deleted it.
	cacheTimeout = 3 * time.Second
)

// ownWrites are the shards that the reconciler wrote and that the cache may not have yet. A
// decision based on older shards could assign a shard to another engine right after an engine
// got it. ownWrites is safe for concurrent use.
type ownWrites struct {
	mu     sync.Mutex
	shards map[int]ownWrite
}

type ownWrite struct {
	version string
	at      time.Time
}

// record remembers a write.
func (w *ownWrites) record(index int, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shards == nil {
		w.shards = map[int]ownWrite{}
	}
	w.shards[index] = ownWrite{version: version, at: time.Now()}
}

// cacheBehind reports whether shards in the cache are older than the last writes. It forgets
// the writes that the cache has.
func (w *ownWrites) cacheBehind(cached map[int]*v1alpha1.ArchiveShard) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for index, own := range w.shards {
		if time.Since(own.at) < cacheTimeout && isOlder(cached[index], own.version) {
			continue
		}
		delete(w.shards, index)
	}
	return len(w.shards) > 0
}

func isOlder(s *v1alpha1.ArchiveShard, version string) bool {
	if s == nil {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(s.ResourceVersion, version)
	return err == nil && order < 0
}
