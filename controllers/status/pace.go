package status

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pace remembers when the status of each object was written. Reconcilers use it to limit how
// often they write changed figures, because every member of etcd writes each change to its
// disk. The zero value is ready to use, and all methods are safe for concurrent use.
type Pace struct {
	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
}

// Since returns the time since the last Record, or the longest duration if there was no
// Record.
func (p *Pace) Since(name types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.written[name]
	if !ok {
		return math.MaxInt64
	}
	return time.Since(at)
}

// Record remembers that a status was written now.
func (p *Pace) Record(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[types.NamespacedName]time.Time{}
	}
	p.written[name] = time.Now()
}

// Forget drops an object that no longer exists.
func (p *Pace) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, name)
}
