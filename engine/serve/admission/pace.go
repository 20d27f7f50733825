package admission

import (
	"sync"
	"time"
)

// longestWait bounds what a pace predicts.
const longestWait = 30 * time.Second

// pace predicts how long reads wait, from the times at which the latest ones ended.
type pace struct {
	mu   sync.Mutex
	ends [32]time.Time // a ring
	n    int           // number of reads that have ended
}

// end notes that a read ended.
func (p *pace) end(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[p.n%len(p.ends)] = now
	p.n++
}

// wait returns how long it takes until n more reads have ended, at most longestWait. It returns 0 if too
// few reads ended lately to know.
func (p *pace) wait(n int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n < len(p.ends) {
		return 0
	}
	took := now.Sub(p.ends[p.n%len(p.ends)]) // since the oldest end
	if took > patience {
		return 0
	}
	return min(time.Duration(n)*took/time.Duration(len(p.ends)), longestWait)
}
