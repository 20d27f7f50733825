package relocation

import (
	"sync"
	"time"
)

// Limits of tier migration, which leave most of the store's and the engine's capacity to capture.
const (
	rateLimit = 16 << 20 // bytes per second, of all shards of an engine together
	// readCost and writeCost are what one read of a bucket, and one write, count in addition
	// to their bytes.
	readCost  = 4 << 10
	writeCost = 32 << 10
	// stepBytes and stepTime limit what a shard migrates before other shards have their turn.
	stepBytes = 8 << 20
	stepTime  = 250 * time.Millisecond
)

// Pace lets one shard of an engine at a time migrate blocks, at a bounded rate. Its zero value
// is ready.
type Pace struct {
	busy sync.Mutex
	next time.Time // when the next shard may begin
}

// begin reports whether a shard may migrate blocks now. If so, the shard calls end afterwards.
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

// end notes how many bytes were migrated.
func (p *Pace) end(bytes int) {
	p.next = time.Now().Add(time.Duration(bytes) * time.Second / rateLimit)
	p.busy.Unlock()
}
