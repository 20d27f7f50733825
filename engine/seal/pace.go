package seal

import (
	"sync"
	"time"
)

// Limits of moving stored data, so that it takes little from the rest.
const (
	moveRate = 16 << 20 // bytes per second of all shards of an engine together
	// What asking for a bucket costs beside its bytes, and what writing one does.
	askCost   = 4 << 10
	writeCost = 32 << 10
	// A shard moves so much at a time, then others have their turn.
	moveBytes = 8 << 20
	moveTime  = 250 * time.Millisecond
)

// Pace lets one shard of an engine at a time move stored data, at a bounded rate. Its
// zero value is ready.
type Pace struct {
	busy sync.Mutex
	next time.Time // when the next one may begin
}

// begin reports whether a shard may move data now. If so, it calls end when it has.
func (p *Pace) begin() bool {
	if !p.busy.TryLock() {
		return false
	}
	if time.Now().Before(p.next) {
		p.busy.Unlock()
		return false
	}
	return true
}

// end says how many bytes were moved.
func (p *Pace) end(bytes int) {
	p.next = time.Now().Add(time.Duration(bytes) * time.Second / moveRate)
	p.busy.Unlock()
}
