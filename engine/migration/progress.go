package migration

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Progress counts what an Importer has read.
type Progress struct {
	// Samples is the number of samples that were read, and Files that of the files that are done. Bytes
	// is the size of these files.
	Samples, Files, Bytes atomic.Int64
	// Waiting is the number of samples that are on their way into an archive with engines, which have not sealed them.
	Waiting atomic.Int64
}

// pace limits how many samples are read per second, by all goroutines together.
type pace struct {
	rate float64 // samples per second; 0 is no limit

	mu   sync.Mutex
	next time.Time // when the next batch may continue
}

// wait waits until n more samples may be used. It returns the error of ctx if ctx ends.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(p.reserve(n))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve books the time of n samples, and returns how long the caller must wait for its end.
func (p *pace) reserve(n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return p.next.Sub(now)
}
