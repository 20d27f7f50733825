package controllers

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace remembers when statuses were written, for figures are written now and then
// only: each write goes to every disk of etcd. The zero value is ready to use.
type pace struct {
	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
}

// since returns how long ago a status was written; very long if never.
func (p *pace) since(name types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.written[name]
	if !ok {
		return math.MaxInt64
	}
	return time.Since(at)
}

// wrote says that a status was written now.
func (p *pace) wrote(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[types.NamespacedName]time.Time{}
	}
	p.written[name] = time.Now()
}

func (p *pace) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, name)
}
